/* codegen/prelude/contract.h: dot and conv. For one dtype.
 *
 * dot  blocks of 256 threads make tiles of 64 by 64, a thread 4 by 4 of them; tiles of the operands
 *      are kept in shared memory, 16 deep. Every sum goes from the first k to the last.
 * conv one thread per result: over the kernel's places, then the channels. */
#include "codegen/prelude/space.h"

#define TILE 64
#define DEPTH 16
#define SIDE 4 /* TILE / 16 */

typedef struct dot_sums {
    C at[SIDE][SIDE];
} dot_sums;

/* Element e of a tile of TILE by DEPTH: neighbours go down, or across. */
#define TILE_ACROSS(e, down) ((down) ? (e) / DEPTH : (e) % TILE)
#define TILE_DOWN(e, down) ((down) ? (e) % DEPTH : (e) / TILE)

MICA_KERNEL(dot, mica_dot_layout) {
    MICA_SHARED C left[DEPTH][TILE + 1];
    MICA_SHARED C right[DEPTH][TILE + 1];
    MICA_OWN(dot_sums, sums);
    const int64_t rows = a.left_rows.n, columns = a.right_columns.n, depth = a.left_depth.n;
    const int64_t down = (rows + TILE - 1) / TILE, across = (columns + TILE - 1) / TILE;
    for (int64_t tile = MICA_BLOCK; tile < a.left_batch.n * down * across; tile += MICA_BLOCKS) {
        const int64_t batch = tile / (down * across), rest = tile - batch * down * across;
        const int64_t row = rest / across * TILE, column = rest % across * TILE;
        const T *x0 = (const T *)a.at.x[0] + mica_position(&a.left_batch, batch);
        const T *x1 = (const T *)a.at.x[1] + mica_position(&a.right_batch, batch);
        MICA_EACH_THREAD {
            for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++) MICA_MINE(sums).at[i][j] = (C)0;
        }
        for (int64_t k = 0; k < depth; k += DEPTH) {
            MICA_PHASE {
                for (int64_t e = MICA_THREAD; e < TILE * DEPTH; e += MICA_THREADS) {
                    const int64_t m = TILE_ACROSS(e, a.left_runs_down);
                    const int64_t p = TILE_DOWN(e, a.left_runs_down);
                    left[p][m] = row + m < rows && k + p < depth
                                     ? LOAD(x0[mica_position(&a.left_rows, row + m) +
                                               mica_position(&a.left_depth, k + p)])
                                     : (C)0;
                }
                for (int64_t e = MICA_THREAD; e < TILE * DEPTH; e += MICA_THREADS) {
                    const int64_t n = TILE_ACROSS(e, a.right_runs_down);
                    const int64_t p = TILE_DOWN(e, a.right_runs_down);
                    right[p][n] = column + n < columns && k + p < depth
                                      ? LOAD(x1[mica_position(&a.right_columns, column + n) +
                                                mica_position(&a.right_depth, k + p)])
                                      : (C)0;
                }
            }
            MICA_PHASE {
                const int64_t m = MICA_THREAD / 16, n = MICA_THREAD % 16;
                const int64_t deep = depth - k < DEPTH ? depth - k : DEPTH;
                for (int64_t p = 0; p < deep; p++)
                    for (int i = 0; i < SIDE; i++)
                        for (int j = 0; j < SIDE; j++)
                            MICA_MINE(sums).at[i][j] =
                                MULTIPLY_ADD(left[p][m + 16 * i], right[p][n + 16 * j],
                                             MICA_MINE(sums).at[i][j]);
            }
        }
        MICA_EACH_THREAD {
            T *y = (T *)a.at.y + batch * rows * columns;
            for (int i = 0; i < SIDE; i++)
                for (int j = 0; j < SIDE; j++) {
                    const int64_t m = row + MICA_THREAD / 16 + 16 * i;
                    const int64_t n = column + MICA_THREAD % 16 + 16 * j;
                    if (m < rows && n < columns)
                        y[m * columns + n] = STORE(MICA_MINE(sums).at[i][j]);
                }
        }
    }
}

#ifdef IS_FLOAT
/* The place in x of a result and a place in the kernel along an axis; -1: on padding, which counts
 * as zero; -2: between dilated elements, where there is nothing. */
MICA_SCALAR int64_t conv_place(const mica_conv_arguments *a, int s, int64_t result, int64_t tap) {
    int64_t place = result * a->strides[s] + tap * a->k_dilation[s] - a->low[s];
    if (place % a->x_dilation[s] != 0) return -2;
    if (place < 0) return -1;
    place /= a->x_dilation[s];
    return place < a->x_sizes[s] ? place : -1;
}

MICA_KERNEL(conv, mica_conv_arguments) {
    MICA_EACH_THREAD MICA_EACH(i, a.n) {
        int64_t index[MICA_CONV_ROLES] = {0, 0, 0, 0, 0}, rest = i;
        for (int64_t d = a.rank - 1; d >= 0; d--) {
            const int64_t above = rest / a.y_sizes[d];
            index[a.y_roles[d]] = rest - above * a.y_sizes[d];
            rest = above;
        }
        const int64_t channel = index[1];
        const int64_t batch = channel / a.batch_group_outputs * a.group_batch + index[0];
        const T *x = (const T *)a.at.x[0] + batch * a.x_strides[0] +
                     channel / a.group_outputs * a.group_inputs * a.x_strides[1];
        const T *k = (const T *)a.at.x[1] + channel * a.k_strides[0];
        C sum = (C)0;
        for (int64_t u = 0; u < a.k_sizes[0]; u++) {
            const int64_t p = conv_place(&a, 0, index[2], u);
            if (p == -2) continue;
            for (int64_t v = 0; v < a.k_sizes[1]; v++) {
                const int64_t q = conv_place(&a, 1, index[3], v);
                if (q == -2) continue;
                for (int64_t w = 0; w < a.k_sizes[2]; w++) {
                    const int64_t r = conv_place(&a, 2, index[4], w);
                    if (r == -2) continue;
                    const T *taps =
                        k + u * a.k_strides[2] + v * a.k_strides[3] + w * a.k_strides[4];
                    const T *from =
                        x + p * a.x_strides[2] + q * a.x_strides[3] + r * a.x_strides[4];
                    const int inside = p >= 0 && q >= 0 && r >= 0;
                    for (int64_t c = 0; c < a.group_inputs; c++)
                        sum = MULTIPLY_ADD(inside ? LOAD(from[c * a.x_strides[1]]) : (C)0,
                                           LOAD(taps[c * a.k_strides[1]]), sum);
                }
            }
        }
        ((T *)a.at.y)[i] = STORE(sum);
    }
}
#endif
