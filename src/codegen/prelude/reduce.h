/* codegen/prelude/reduce.h: reduce over any axes, in the order of the CPU's kernel and of
 * ir/scalar_reduce.h: parts, and a tree over the parts. For one dtype: who includes it defines T,
 * C, LOAD, STORE and the operations (device/cuda/steps.c).
 *
 * rows_<kind>     the innermost axis is reduced: a part is a block of a row. Sixteen threads reduce
 *                 one, a lane each.
 * columns_<kind>  it is kept: a part is a group of rows, a thread goes down a column.
 * tree_<kind>     the parts of a result, by one thread. The parts of result r lie at
 *                 (r / inner * parts + part) * inner + r % inner; by rows inner is 1. */
#include "codegen/prelude/space.h"
#include "ir/scalar_reduce.h"

/* Elements that a thread asks for before it needs the first: a power of two, and which. */
#define MICA_IN_FLIGHT 8
#define MICA_IN_FLIGHT_LEVEL 3

#define MICA_REDUCE_KERNELS(kind, OP, IDENTITY)                                                    \
    MICA_KERNEL(rows_##kind, mica_reduce_layout) {                                                 \
        MICA_SHARED C lanes[MICA_MOST_THREADS];                                                    \
        const int64_t together = MICA_THREADS / MICA_REDUCE_LANES;                                 \
        const int64_t units = a.results * a.parts;                                                 \
        for (int64_t first = MICA_BLOCK * together; first < units;                                 \
             first += MICA_BLOCKS * together) {                                                    \
            MICA_PHASE {                                                                           \
                const int64_t unit = first + MICA_THREAD / MICA_REDUCE_LANES;                      \
                const int64_t lane = MICA_THREAD % MICA_REDUCE_LANES;                              \
                C sum = IDENTITY;                                                                  \
                if (unit < units) {                                                                \
                    const int64_t result = unit / a.parts, part = unit - result * a.parts;         \
                    const int64_t row = part / a.blocks;                                           \
                    const int64_t begin = (part - row * a.blocks) * MICA_REDUCE_BLOCK;             \
                    const int64_t left = a.inner - begin;                                          \
                    const int64_t n = left < MICA_REDUCE_BLOCK ? left : MICA_REDUCE_BLOCK;         \
                    const T *x = (const T *)a.at.x[0] + mica_position(&a.kept, result) +           \
                                 mica_position(&a.reduced, row) + begin;                           \
                    const int64_t whole = n / MICA_REDUCE_LANES * MICA_REDUCE_LANES;               \
                    for (int64_t i = lane; i < whole; i += MICA_REDUCE_LANES)                      \
                        sum = OP(sum, LOAD(x[i]));                                                 \
                    const C rest = whole + lane < n ? LOAD(x[whole + lane]) : (C)(IDENTITY);       \
                    sum = OP(sum, rest);                                                           \
                }                                                                                  \
                lanes[MICA_THREAD] = sum;                                                          \
            }                                                                                      \
            for (int64_t half = MICA_REDUCE_LANES / 2; half > 0; half /= 2) MICA_PHASE {           \
                    if (MICA_THREAD % MICA_REDUCE_LANES < half)                                    \
                        lanes[MICA_THREAD] = OP(lanes[MICA_THREAD], lanes[MICA_THREAD + half]);    \
                }                                                                                  \
            MICA_PHASE {                                                                           \
                const int64_t unit = first + MICA_THREAD / MICA_REDUCE_LANES;                      \
                if (MICA_THREAD % MICA_REDUCE_LANES == 0 && unit < units) {                        \
                    if (a.parts == 1)                                                              \
                        ((T *)a.at.y)[unit] = STORE(lanes[MICA_THREAD]);                           \
                    else                                                                           \
                        ((C *)a.at.scratch)[unit] = lanes[MICA_THREAD];                            \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    MICA_KERNEL(columns_##kind, mica_reduce_layout) {                                              \
        MICA_EACH_THREAD MICA_EACH(i, a.results *a.parts) {                                        \
            const int64_t group = i / a.inner, column = i - group * a.inner;                       \
            const int64_t line = group / a.parts, part = group - line * a.parts;                   \
            const int64_t begin = part * MICA_REDUCE_ROWS;                                         \
            const int64_t left = a.reduced.n - begin;                                              \
            const int64_t n = left < MICA_REDUCE_ROWS ? left : MICA_REDUCE_ROWS;                   \
            const T *x = (const T *)a.at.x[0] + mica_position(&a.kept, line) + column;             \
            C sum = LOAD(x[mica_position(&a.reduced, begin)]);                                     \
            int64_t r = 1;                                                                         \
            for (; r + MICA_IN_FLIGHT <= n; r += MICA_IN_FLIGHT) {                                 \
                T next[MICA_IN_FLIGHT];                                                            \
                for (int k = 0; k < MICA_IN_FLIGHT; k++)                                           \
                    next[k] = x[mica_position(&a.reduced, begin + r + k)];                         \
                for (int k = 0; k < MICA_IN_FLIGHT; k++) sum = OP(sum, LOAD(next[k]));             \
            }                                                                                      \
            for (; r < n; r++) sum = OP(sum, LOAD(x[mica_position(&a.reduced, begin + r)]));       \
            if (a.parts == 1)                                                                      \
                ((T *)a.at.y)[i] = STORE(sum);                                                     \
            else                                                                                   \
                ((C *)a.at.scratch)[i] = sum;                                                      \
        }                                                                                          \
    }                                                                                              \
    MICA_SCALAR C part_tree_##kind(const C *parts, int64_t first, int64_t n, int64_t stride) {     \
        C levels[MICA_REDUCE_LEVELS];                                                              \
        int64_t p = 0;                                                                             \
        for (; p + MICA_IN_FLIGHT <= n; p += MICA_IN_FLIGHT) {                                     \
            C next[MICA_IN_FLIGHT];                                                                \
            for (int k = 0; k < MICA_IN_FLIGHT; k++) next[k] = parts[(first + p + k) * stride];    \
            for (int width = 1; width < MICA_IN_FLIGHT; width *= 2)                                \
                for (int k = 0; k < MICA_IN_FLIGHT; k += 2 * width)                                \
                    next[k] = OP(next[k], next[k + width]);                                        \
            C part = next[0];                                                                      \
            int l = MICA_IN_FLIGHT_LEVEL;                                                          \
            for (; p >> l & 1; l++) part = OP(levels[l], part);                                    \
            levels[l] = part;                                                                      \
        }                                                                                          \
        for (; p < n; p++) {                                                                       \
            C part = parts[(first + p) * stride];                                                  \
            int l = 0;                                                                             \
            for (; p >> l & 1; l++) part = OP(levels[l], part);                                    \
            levels[l] = part;                                                                      \
        }                                                                                          \
        int l = 0;                                                                                 \
        while (!(n >> l & 1)) l++;                                                                 \
        C all = levels[l];                                                                         \
        for (l++; n >> l; l++)                                                                     \
            if (n >> l & 1) all = OP(levels[l], all);                                              \
        return all;                                                                                \
    }                                                                                              \
    MICA_KERNEL(tree_##kind, mica_reduce_layout) {                                                 \
        const int64_t columns = a.inner;                                                           \
        MICA_EACH_THREAD MICA_EACH(r, a.results) {                                                 \
            const int64_t line = r / columns, column = r - line * columns;                         \
            const C *parts = (const C *)a.at.scratch + line * a.parts * columns + column;          \
            ((T *)a.at.y)[r] = STORE(part_tree_##kind(parts, 0, a.parts, columns));                \
        }                                                                                          \
    }                                                                                              \
    /* The same with a block per result: each thread has an aligned chunk of the parts. */         \
    MICA_KERNEL(wide_tree_##kind, mica_reduce_layout) {                                            \
        MICA_SHARED C chunks[MICA_MOST_THREADS];                                                   \
        const int64_t columns = a.inner;                                                           \
        int64_t chunk = 1;                                                                         \
        while (chunk * MICA_THREADS < a.parts) chunk *= 2;                                         \
        for (int64_t r = MICA_BLOCK; r < a.results; r += MICA_BLOCKS) {                            \
            const int64_t line = r / columns, column = r - line * columns;                         \
            const C *parts = (const C *)a.at.scratch + line * a.parts * columns + column;          \
            MICA_PHASE {                                                                           \
                const int64_t first = MICA_THREAD * chunk, left = a.parts - first;                 \
                if (left > 0)                                                                      \
                    chunks[MICA_THREAD] =                                                          \
                        part_tree_##kind(parts, first, left < chunk ? left : chunk, columns);      \
            }                                                                                      \
            MICA_PHASE {                                                                           \
                if (MICA_THREAD == 0) {                                                            \
                    const int64_t whole = a.parts / chunk;                                         \
                    C all = whole > 0 ? part_tree_##kind(chunks, 0, whole, 1) : chunks[0];         \
                    if (whole > 0 && whole * chunk < a.parts) {                                    \
                        C levels[16], rest = chunks[whole];                                        \
                        for (int64_t p = 0; p < whole; p++) {                                      \
                            C part = chunks[p];                                                    \
                            int l = 0;                                                             \
                            for (; p >> l & 1; l++) part = OP(levels[l], part);                    \
                            levels[l] = part;                                                      \
                        }                                                                          \
                        for (int l = 0; whole >> l; l++)                                           \
                            if (whole >> l & 1) rest = OP(levels[l], rest);                        \
                        all = rest;                                                                \
                    }                                                                              \
                    ((T *)a.at.y)[r] = STORE(all);                                                 \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

#ifdef ADD
MICA_REDUCE_KERNELS(sum, ADD, (C)0)
MICA_REDUCE_KERNELS(prod, MUL, (C)1)
MICA_REDUCE_KERNELS(max, MAX, LOWEST)
MICA_REDUCE_KERNELS(min, MIN, HIGHEST)
#endif
#ifdef AND
MICA_REDUCE_KERNELS(and, AND, ALL_ONES)
MICA_REDUCE_KERNELS(or, OR, (C)0)
#endif
