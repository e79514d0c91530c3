/* io/table.h: a file of pairs in the order of their keys, as LevelDB's tables are.
 *
 * Blocks of pairs, then a block that says where they are, then a footer of 48 bytes. In a block a
 * key is written as what it shares with the one before and the rest of it; every 16th is whole, and
 * the places of those stand at the block's end. A block is followed by a byte for its compression
 * (0: none, the only one here) and a sum of it all. */
#ifndef MICA_IO_TABLE_H
#define MICA_IO_TABLE_H

#include "io/wire.h"

/* Calls `visit` with every pair, in order; what it is given lives until it returns. DATA_LOSS, with
 * `path` in the message, where the bytes are no such table. */
typedef mica_status (*io_visit)(void *context, io_range key, io_range value);
MICA_MUST_CHECK mica_status io_table_read(io_range bytes, const char *path, io_visit visit,
                                          void *context);

typedef struct io_table_block {
    mica_text bytes;
    mica_text last; /* the key before */
    mica_text places;
    int32_t interval, since; /* between whole keys */
    uint32_t n_places;
    int64_t count;
} io_table_block;

typedef struct io_table_writer {
    mica_text bytes;
    io_table_block block, index;
} io_table_writer;

void io_table_writer_init(io_table_writer *writer);
void io_table_writer_deinit(io_table_writer *writer);
/* Keys in ascending order. */
void io_table_writer_add(io_table_writer *writer, io_range key, io_range value);
/* The whole table, in writer->bytes. */
MICA_MUST_CHECK mica_status io_table_writer_finish(io_table_writer *writer);

#endif
