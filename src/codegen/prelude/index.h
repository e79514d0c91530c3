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

/* Scatter of many windows, without going over all index vectors for each element: the places where
 * windows begin are put in order, those at the same place in the order of their index vectors; then
 * a thread combines all that falls on an element of x. In scratch memory, for every position: */
typedef struct mica_sorted_positions {
    int64_t *starts;        /* where its window begins; MICA_NOWHERE: it is left out */
    int64_t *sorted_starts; /* in order ... */
    int64_t *sorted;        /* ... and whose they are */
} mica_sorted_positions;

#define MICA_NOWHERE 0x7fffffffffffffffll

MICA_SCALAR mica_sorted_positions mica_sorted_of(const mica_index_arguments *a) {
    int64_t *scratch = (int64_t *)a->at.scratch;
    const mica_sorted_positions s = {scratch, scratch + a->position_updates.n,
                                     scratch + 2 * a->position_updates.n};
    return s;
}

MICA_KERNEL(scatter_starts, mica_index_arguments) {
    MICA_EACH_THREAD MICA_EACH(p, a.position_updates.n) {
        const int64_t start = mica_find_indexed(&a, mica_position(&a.position_updates, p));
        mica_sorted_of(&a).starts[p] = start < 0 ? MICA_NOWHERE : start;
    }
}

/* The place of a position among the sorted is the number of those before it: all are compared. */
MICA_KERNEL(scatter_order, mica_index_arguments) {
    MICA_SHARED int64_t others[MICA_MOST_THREADS];
    MICA_OWN(int64_t, place);
    const mica_sorted_positions s = mica_sorted_of(&a);
    const int64_t n = a.position_updates.n;
    for (int64_t first = MICA_BLOCK * MICA_THREADS; first < n;
         first += MICA_BLOCKS * MICA_THREADS) {
        MICA_EACH_THREAD MICA_MINE(place) = 0;
        for (int64_t at = 0; at < n; at += MICA_THREADS) {
            MICA_PHASE {
                const int64_t q = at + MICA_THREAD;
                others[MICA_THREAD] = q < n ? s.starts[q] : MICA_NOWHERE;
            }
            MICA_PHASE {
                const int64_t p = first + MICA_THREAD, own = p < n ? s.starts[p] : 0;
                const int many = (int)(n - at < MICA_THREADS ? n - at : MICA_THREADS);
                const int earlier = p < at ? 0 : (int)(p - at < many ? p - at : many);
                int before = 0;
                for (int q = 0; q < many; q++)
                    before += others[q] < own || (others[q] == own && q < earlier);
                MICA_MINE(place) += before;
            }
        }
        MICA_EACH_THREAD {
            const int64_t p = first + MICA_THREAD;
            if (p < n) {
                s.sorted_starts[MICA_MINE(place)] = s.starts[p];
                s.sorted[MICA_MINE(place)] = p;
            }
        }
    }
}

/* Element u % window of the window that is the first of those at its place; `to` is where it lies
 * in x, r runs over the sorted positions from there on while they are at the same place. */
#define MICA_EACH_RUN(body)                                                                        \
    const mica_sorted_positions s = mica_sorted_of(&a);                                            \
    const int64_t n = a.position_updates.n;                                                        \
    MICA_EACH_THREAD MICA_EACH(u, n *a.window_updates.n) {                                         \
        const int64_t first = u / a.window_updates.n, start = s.sorted_starts[first];              \
        const int64_t window = mica_position(&a.window_updates, u - first * a.window_updates.n);   \
        if (start == MICA_NOWHERE || (first > 0 && s.sorted_starts[first - 1] == start)) continue; \
        const int64_t to =                                                                         \
            mica_find_indexed(&a, mica_position(&a.position_updates, s.sorted[first]) + window);   \
        body                                                                                       \
    }
#define MICA_EACH_IN_RUN(r) for (int64_t r = first; r < n && s.sorted_starts[r] == start; r++)
#define MICA_UPDATE_AT(r) (mica_position(&a.position_updates, s.sorted[r]) + window)

#endif
