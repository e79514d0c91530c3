/* codegen/prelude/index.h: what gather and scatter have in common. */
#ifndef MICA_CODEGEN_PRELUDE_INDEX_H
#define MICA_CODEGEN_PRELUDE_INDEX_H

#include "codegen/prelude/space.h"

/* Where element i of the windows' array lies in x; -1: its window is out of bounds and left out. */
MICA_SCALAR int64_t mica_find_indexed(const mica_index_arguments *a, int64_t i) {
    int64_t at = 0, vector = 0;
    int moved = 0;
    for (int64_t d = a->rank - 1; d >= 0; d--) {
        int64_t above = i / a->sizes[d], digit = i - above * a->sizes[d];
        at += digit * a->x_strides[d];
        vector += digit * a->index_strides[d];
        i = above;
    }
    for (int64_t k = 0; k < a->entries; k++) {
        int64_t value = mica_load_integer(a->at.x[1], vector + k * a->entry_stride, a->index_bytes,
                                          a->index_is_signed);
        at +=
            a->entry_x_strides[k] * mica_clamped(value, a->index_is_signed, a->highest[k], &moved);
    }
    return moved && a->fills ? -1 : at;
}

/* Scatter. A thread goes over all index vectors in their order, with one element of the windows,
 * and combines what falls into its shard of x: so elements of x that are written several times are
 * written by one thread, in order. */
MICA_SCALAR int mica_is_in_shard(const mica_index_arguments *a, int64_t to, int64_t shard) {
    const uint64_t mixed = (uint64_t)to * 0x9e3779b97f4a7c15u >> 32;
    return to >= 0 && (int64_t)(mixed % (uint64_t)a->shards) == shard;
}

#define MICA_EACH_UPDATE(from, to)                                                                 \
    MICA_EACH_THREAD MICA_EACH(                                                                    \
        u,                                                                                         \
        a.window_updates.n *a.shards) for (int64_t p = 0, shard = u / a.window_updates.n,          \
                                           window = mica_position(&a.window_updates,               \
                                                                  u % a.window_updates.n),         \
                                           from, to;                                               \
                                           p < a.position_updates.n &&                             \
                                           (from = mica_position(&a.position_updates, p) + window, \
                                            to = mica_find_indexed(&a, from), 1);                  \
                                           p++) if (mica_is_in_shard(&a, to, shard))

#endif
