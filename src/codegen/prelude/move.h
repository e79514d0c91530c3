/* codegen/prelude/move.h: kernels that move elements, whatever they mean: by their size.
 *
 *     move<bytes>     between two spaces
 *     turn<bytes>     matrices whose rows become columns: tiles pass through shared memory, so that
 *                     neighbours are read and neighbours are written
 *     gather<bytes>   elements of windows out of x
 *     assign<bytes>, assign_sorted<bytes>
 *                     scatter of kind set */
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

#define MICA_TILE_SIDE 32
#define MICA_TILE_ROWS 8 /* MICA_MOST_THREADS / MICA_TILE_SIDE: that the threads do at once */

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
    MICA_KERNEL(turn##bytes, mica_turn_layout) {                                                   \
        MICA_SHARED type tile[MICA_TILE_SIDE][MICA_TILE_SIDE + 1];                                 \
        const int64_t down = (a.rows + MICA_TILE_SIDE - 1) / MICA_TILE_SIDE;                       \
        const int64_t across = (a.columns + MICA_TILE_SIDE - 1) / MICA_TILE_SIDE;                  \
        for (int64_t t = MICA_BLOCK; t < a.from.n * down * across; t += MICA_BLOCKS) {             \
            const int64_t matrix = t / (down * across), rest = t - matrix * down * across;         \
            const int64_t row = rest / across * MICA_TILE_SIDE;                                    \
            const int64_t column = (rest - rest / across * across) * MICA_TILE_SIDE;               \
            const type *x = (const type *)a.at.x[0] + a.from_offset +                              \
                            mica_position(&a.from, matrix) + row * a.from_stride + column;         \
            type *y = (type *)a.at.y + a.to_offset + mica_position(&a.to, matrix) +                \
                      column * a.to_stride + row;                                                  \
            const int64_t rows = a.rows - row, columns = a.columns - column;                       \
            MICA_PHASE {                                                                           \
                const int64_t c = MICA_THREAD % MICA_TILE_SIDE;                                    \
                const int64_t r = MICA_THREAD / MICA_TILE_SIDE;                                    \
                if (c < columns)                                                                   \
                    for (int i = 0; i < MICA_TILE_SIDE; i += MICA_TILE_ROWS)                       \
                        if (r + i < rows) tile[r + i][c] = x[(r + i) * a.from_stride + c];         \
            }                                                                                      \
            MICA_PHASE {                                                                           \
                const int64_t r = MICA_THREAD % MICA_TILE_SIDE;                                    \
                const int64_t c = MICA_THREAD / MICA_TILE_SIDE;                                    \
                if (r < rows)                                                                      \
                    for (int i = 0; i < MICA_TILE_SIDE; i += MICA_TILE_ROWS)                       \
                        if (c + i < columns) y[(c + i) * a.to_stride + r] = tile[r][c + i];        \
            }                                                                                      \
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
    }                                                                                              \
    MICA_KERNEL(assign_sorted##bytes, mica_index_arguments) {                                      \
        MICA_EACH_RUN({                                                                            \
            int64_t last = first;                                                                  \
            MICA_EACH_IN_RUN(r) last = r;                                                          \
            ((type *)a.at.y)[to] = ((const type *)a.at.x[2])[MICA_UPDATE_AT(last)];                \
        })                                                                                         \
    }

MICA_MOVES(1, uint8_t)
MICA_MOVES(2, uint16_t)
MICA_MOVES(4, uint32_t)
MICA_MOVES(8, uint64_t)
MICA_MOVES(16, mica_sixteen_bytes)
