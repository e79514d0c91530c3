/* codegen/prelude/move.h: kernels that move elements, whatever they mean: by their size.
 *
 *     move<bytes>     between two spaces
 *     gather<bytes>   elements of windows out of x
 *     assign<bytes>   scatter of kind set */
#include "codegen/prelude/index.h"

typedef struct mica_sixteen_bytes {
    uint64_t low, high;
} mica_sixteen_bytes;

/* Where a dynamic slice begins. */
MICA_SCALAR int64_t mica_slice_start(const mica_move_layout *a) {
    int64_t start = 0;
    int moved = 0;
    for (int64_t k = 0; k < a->entries; k++)
        start += a->entry_strides[k] *
                 mica_clamped(mica_load_integer(a->at.x[1], k, a->entry_bytes, a->entry_is_signed),
                              a->entry_is_signed, a->highest[k], &moved);
    return start;
}

#define MICA_MOVES(bytes, type)                                                                    \
    MICA_KERNEL(move##bytes, mica_move_layout) {                                                   \
        MICA_EACH_THREAD {                                                                         \
            const type *x = (const type *)a.at.x[0] + a.from_offset;                               \
            type *y = (type *)a.at.y + a.to_offset;                                                \
            if (a.entries > 0) {                                                                   \
                int64_t start = mica_slice_start(&a);                                              \
                if (a.in_target)                                                                   \
                    y += start;                                                                    \
                else                                                                               \
                    x += start;                                                                    \
            }                                                                                      \
            MICA_EACH(i, a.to.n)                                                                   \
            y[mica_position(&a.to, i)] = x[mica_position(&a.from, i)];                             \
        }                                                                                          \
    }                                                                                              \
    MICA_KERNEL(gather##bytes, mica_index_arguments) {                                             \
        MICA_EACH_THREAD {                                                                         \
            const type *x = (const type *)a.at.x[0];                                               \
            type *y = (type *)a.at.y;                                                              \
            MICA_EACH(i, a.n) {                                                                    \
                int64_t from = mica_find_indexed(&a, i);                                           \
                type none = {0};                                                                   \
                y[i] = from < 0 ? none : x[from];                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    MICA_KERNEL(assign##bytes, mica_index_arguments) {                                             \
        MICA_EACH_UPDATE(from, to)((type *)a.at.y)[to] = ((const type *)a.at.x[2])[from];          \
    }

MICA_MOVES(1, uint8_t)
MICA_MOVES(2, uint16_t)
MICA_MOVES(4, uint32_t)
MICA_MOVES(8, uint64_t)
MICA_MOVES(16, mica_sixteen_bytes)
