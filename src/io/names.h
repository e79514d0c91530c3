/* io/names.h: names of a file, each with a number. */
#ifndef MICA_IO_NAMES_H
#define MICA_IO_NAMES_H

#include "base/arena.h"
#include "io/wire.h"

typedef struct io_names {
    struct io_name *slots; /* open addressing; a power of two, at most half full */
    size_t n_slots;
} io_names;

/* Room for n names, in the arena; the names stay where they are. */
MICA_MUST_CHECK mica_status io_names_init(io_names *names, mica_arena *arena, int64_t n);
/* false when it is there already; at most as many as there is room for. */
bool io_names_add(io_names *names, io_range name, int32_t number);
int32_t io_names_find(const io_names *names, io_range name); /* -1: it is not there */

#endif
