/* ir/bytes.h: little-endian bytes, written and read. Reading never goes past the end: what is not
 * there reads as 0 and `failed` sticks. */
#ifndef MICA_IR_BYTES_H
#define MICA_IR_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MICA_GRAPH_MAGIC "MICAGRPH"
#define MICA_GRAPH_CHECKSUM_AT 12
#define MICA_GRAPH_HEADER 20

typedef struct mica_byte_writer {
    uint8_t *data; /* freed by the owner with mica_free */
    size_t size, capacity;
    bool failed; /* out of memory */
} mica_byte_writer;

/* Room for n bytes at the end, or NULL after a failure. */
uint8_t *mica_write_room(mica_byte_writer *w, size_t n);
void mica_write_bytes(mica_byte_writer *w, const void *bytes, size_t n);
void mica_write_u8(mica_byte_writer *w, uint8_t value);
void mica_write_u32(mica_byte_writer *w, uint32_t value);
void mica_write_u64(mica_byte_writer *w, uint64_t value);
void mica_write_string(mica_byte_writer *w, const char *string);
void mica_put_u64(uint8_t *at, uint64_t value);

typedef struct mica_byte_reader {
    const uint8_t *at, *end;
    bool failed; /* past the end */
} mica_byte_reader;

/* n bytes in place, or NULL when they are not there. */
const uint8_t *mica_read_bytes(mica_byte_reader *r, uint64_t n);
uint8_t mica_read_u8(mica_byte_reader *r);
uint32_t mica_read_u32(mica_byte_reader *r);
uint64_t mica_read_u64(mica_byte_reader *r);
/* A count of things of at least `least` bytes each: fails when that many cannot follow. */
uint32_t mica_read_count(mica_byte_reader *r, size_t least);

/* 64-bit FNV-1a. */
uint64_t mica_checksum(const uint8_t *bytes, size_t n);

#endif
