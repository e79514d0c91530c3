/* io/wire.h: numbers as files have them: varints, little-endian words, fields of messages.
 *
 * Readers take from the front of a range and answer false, changing nothing that matters, where the
 * range ends too early: no reader looks past it. Writers append to a mica_text, whose failure
 * sticks. */
#ifndef MICA_IO_WIRE_H
#define MICA_IO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"

typedef struct io_range {
    const uint8_t *data;
    size_t n;
} io_range;

bool io_same(io_range a, io_range b); /* the same bytes */
bool io_is(io_range a, const char *text);
bool io_take(io_range *from, size_t n, io_range *out);
bool io_take_varint(io_range *from, uint64_t *out);
bool io_take_u32(io_range *from, uint32_t *out);
uint32_t io_read_u32(const uint8_t *bytes);

enum { IO_VARINT = 0, IO_EIGHT_BYTES = 1, IO_LENGTH = 2, IO_FOUR_BYTES = 5 };

typedef struct io_field {
    uint64_t number;
    int wire;       /* how it is written, as above */
    uint64_t value; /* IO_VARINT, IO_FOUR_BYTES, IO_EIGHT_BYTES */
    io_range part;  /* IO_LENGTH */
} io_field;

/* The next field of a message; false at its end too. */
bool io_take_field(io_range *from, io_field *out);

void io_put_varint(mica_text *to, uint64_t value);
void io_put_u32(mica_text *to, uint32_t value);
void io_put_u64(mica_text *to, uint64_t value);
/* Fields of messages. */
void io_put_number(mica_text *to, uint32_t field, uint64_t value); /* nothing for 0 */
void io_put_fixed32(mica_text *to, uint32_t field, uint32_t value);
void io_put_part(mica_text *to, uint32_t field, const void *bytes, size_t n);

/* CRC-32C (Castagnoli) of bytes, going on from the sum of those before; 0 starts one. */
uint32_t io_crc(uint32_t before, const void *bytes, size_t n);
/* The sum of bytes and of n that follow them, from those of each. */
uint32_t io_crc_join(uint32_t first, uint32_t second, uint64_t n);
/* The same by tables alone, for tests of the instruction. */
uint32_t io_crc_by_tables(uint32_t before, const void *bytes, size_t n);
/* Sums are stored rotated and shifted, so that sums of bytes with sums in them stay good. */
uint32_t io_crc_mask(uint32_t crc);

#endif
