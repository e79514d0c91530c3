/* Packing: from anywhere into k-major panels of the compute type. Both directions of contiguous
 * memory are worth a path of their own: along the panel's rows (r), and along k, which is a
 * transposition. */
#include "device/cpu/isa.h"

/* Runs of rows that are neighbours in memory: starts[i] .. starts[i + 1] - 1. Returns their number.
 */
static inline int64_t row_runs(const int64_t *offsets, int64_t count, int64_t *starts) {
    int64_t n = 0;
    for (int64_t r = 0; r < count; r++)
        if (r == 0 || offsets[r] != offsets[r - 1] + 1) starts[n++] = r;
    starts[n] = count;
    return n;
}

static inline int64_t step_run(const int64_t *steps, int64_t k, int64_t limit) {
    int64_t n = 1;
    while (k + n < limit && steps[k + n] == steps[k] + n) n++;
    return n;
}

#define CPU_MAX_TILE 32

/* COPY(to, from, n) converts n neighbours. TRANSPOSE(panel, width, x, offsets, r, n) moves n steps
 * of four rows and returns how many it did.
 */
#define PACK_DEFINE(name, storage, compute, LOAD, COPY, TRANSPOSE)                                 \
    static void name(const void *source, const int64_t *offsets, int64_t count,                    \
                     const int64_t *steps, int64_t n_k, int64_t width, void *target) {             \
        const storage *x = (const storage *)source;                                                \
        compute *panel = (compute *)target;                                                        \
        if (count < width)                                                                         \
            for (int64_t k = 0; k < n_k; k++)                                                      \
                for (int64_t r = count; r < width; r++) panel[k * width + r] = 0;                  \
        int64_t starts[CPU_MAX_TILE + 1];                                                          \
        int64_t runs = row_runs(offsets, count, starts);                                           \
        if (runs == 1 && count % 4 == 0) {                                                         \
            for (int64_t k = 0; k < n_k; k++) {                                                    \
                const storage *row = x + offsets[0] + steps[k];                                    \
                if (k + PACK_AHEAD < n_k) {                                                        \
                    const storage *ahead = x + offsets[0] + steps[k + PACK_AHEAD];                 \
                    for (int64_t r = 0; r < count; r += 64 / (int64_t)sizeof *ahead)               \
                        __builtin_prefetch(ahead + r);                                             \
                }                                                                                  \
                for (int64_t r = 0; r < count; r += 4)                                             \
                    for (int64_t i = 0; i < 4; i++) panel[k * width + r + i] = LOAD(row[r + i]);   \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        if (runs * 4 <= count || n_k == 1) {                                                       \
            for (int64_t k = 0; k < n_k; k++)                                                      \
                for (int64_t i = 0; i < runs; i++) {                                               \
                    const storage *row = x + offsets[starts[i]] + steps[k] - starts[i];            \
                    COPY(panel + k * width + starts[i], row + starts[i],                           \
                         starts[i + 1] - starts[i]);                                               \
                }                                                                                  \
            return;                                                                                \
        }                                                                                          \
        for (int64_t k = 0, n; k < n_k; k += n) {                                                  \
            n = step_run(steps, k, n_k);                                                           \
            compute *to = panel + k * width;                                                       \
            int64_t r = 0;                                                                         \
            for (; r + 4 <= count; r += 4) {                                                       \
                const storage *x0 = x + offsets[r] + steps[k],                                     \
                              *x1 = x + offsets[r + 1] + steps[k];                                 \
                const storage *x2 = x + offsets[r + 2] + steps[k],                                 \
                              *x3 = x + offsets[r + 3] + steps[k];                                 \
                int64_t t = TRANSPOSE(to + r, width, x0, x1, x2, x3, n);                           \
                for (; t < n; t++) {                                                               \
                    compute *cell = to + t * width + r;                                            \
                    cell[0] = LOAD(x0[t]);                                                         \
                    cell[1] = LOAD(x1[t]);                                                         \
                    cell[2] = LOAD(x2[t]);                                                         \
                    cell[3] = LOAD(x3[t]);                                                         \
                }                                                                                  \
            }                                                                                      \
            for (; r < count; r++) {                                                               \
                const storage *row = x + offsets[r] + steps[k];                                    \
                for (int64_t t = 0; t < n; t++) to[t * width + r] = LOAD(row[t]);                  \
            }                                                                                      \
        }                                                                                          \
    }

#define PACK_AHEAD 16
#define PACK_SAME(a) (a)
#define PACK_NO_TRANSPOSE(...) 0

/* Runs of columns that are neighbours are stored as lines. */
#define SCATTER_DEFINE(suffix, type)                                                               \
    static void scatter_##suffix(const void *tile, int64_t stride, void *c, const int64_t *rows,   \
                                 int64_t n_rows, const int64_t *columns, int64_t n_columns,        \
                                 int first) {                                                      \
        for (int64_t j = 0, n; j < n_columns; j += n) {                                            \
            n = step_run(columns, j, n_columns);                                                   \
            for (int64_t i = 0; i < n_rows; i++) {                                                 \
                type *restrict to = (type *)c + rows[i] + columns[j];                              \
                const type *restrict from = (const type *)tile + i * stride + j;                   \
                if (first)                                                                         \
                    for (int64_t l = 0; l < n; l++) to[l] = from[l];                               \
                else                                                                               \
                    for (int64_t l = 0; l < n; l++) to[l] = to[l] + from[l];                       \
            }                                                                                      \
        }                                                                                          \
    }
