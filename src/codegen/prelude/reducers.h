/* codegen/prelude/reducers.h: reductions in the order of ir/scalar_reduce.h, for generated code.
 *
 *     row_add_f32(row, n)             a block of a row
 *     tree_add_f32(levels, b, part)   part b of the tree; levels[l] holds a subtree of 2^l parts
 *     root_add_f32(levels, count)     what the tree of `count` parts comes to
 *     span_add_f32(parts, n, step)    the tree over n parts that lie so far apart
 *     spans_add_f32(spans, step, whole, has_rest)
 *                                     the tree over whole spans, of a power of two of parts each,
 *                                     and a shorter one behind them
 *     lines_.., sum_lines_..          tree and root over lines of STRIP columns
 *     best_max_f32(row, n)            the largest or smallest of a row */
#ifndef MICA_CODEGEN_PRELUDE_REDUCERS_H
#define MICA_CODEGEN_PRELUDE_REDUCERS_H

#include "ir/scalar.h"
#include "ir/scalar_reduce.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define STRIP 512 /* columns that a unit holds at a time */

#define REDUCER(name, type, OP, IDENTITY)                                                          \
    MICA_REDUCE_ONE(row_##name, type, OP, (type)(IDENTITY))                                        \
    static inline void tree_##name(type *levels, uint64_t count, type part) {                      \
        int l = 0;                                                                                 \
        for (; count >> l & 1; l++) part = OP(levels[l], part);                                    \
        levels[l] = part;                                                                          \
    }                                                                                              \
    static inline type root_##name(const type *levels, uint64_t count) {                           \
        int l = 0;                                                                                 \
        while (!(count >> l & 1)) l++;                                                             \
        type all = levels[l];                                                                      \
        for (l++; count >> l; l++)                                                                 \
            if (count >> l & 1) all = OP(levels[l], all);                                          \
        return all;                                                                                \
    }                                                                                              \
    static inline type span_##name(const type *parts, int64_t n, int64_t step) {                   \
        type levels[MICA_REDUCE_LEVELS];                                                           \
        int64_t p = 0;                                                                             \
        for (; p + 8 <= n; p += 8) { /* asked for together */                                      \
            type next[8];                                                                          \
            for (int k = 0; k < 8; k++) next[k] = parts[(p + k) * step];                           \
            for (int k = 0; k < 8; k += 2) next[k] = OP(next[k], next[k + 1]);                     \
            for (int k = 0; k < 8; k += 4) next[k] = OP(next[k], next[k + 2]);                     \
            type part = OP(next[0], next[4]);                                                      \
            int l = 3;                                                                             \
            for (; p >> l & 1; l++) part = OP(levels[l], part);                                    \
            levels[l] = part;                                                                      \
        }                                                                                          \
        for (; p < n; p++) tree_##name(levels, (uint64_t)p, parts[p * step]);                      \
        return root_##name(levels, (uint64_t)n);                                                   \
    }                                                                                              \
    static inline type spans_##name(const type *spans, int64_t step, int64_t whole,                \
                                    int has_rest) {                                                \
        type levels[MICA_REDUCE_LEVELS];                                                           \
        for (int64_t s = 0; s < whole; s++) tree_##name(levels, (uint64_t)s, spans[s * step]);     \
        if (!has_rest) return root_##name(levels, (uint64_t)whole);                                \
        type all = spans[whole * step];                                                            \
        for (int l = 0; whole >> l; l++)                                                           \
            if (whole >> l & 1) all = OP(levels[l], all);                                          \
        return all;                                                                                \
    }                                                                                              \
    static inline void lines_##name(type(*levels)[STRIP], uint64_t count, type *part, int64_t n) { \
        int l = 0;                                                                                 \
        for (; count >> l & 1; l++)                                                                \
            for (int64_t j = 0; j < n; j++) part[j] = OP(levels[l][j], part[j]);                   \
        for (int64_t j = 0; j < n; j++) levels[l][j] = part[j];                                    \
    }                                                                                              \
    static inline void sum_lines_##name(type(*levels)[STRIP], uint64_t count, type *all,           \
                                        int64_t n) {                                               \
        int l = 0;                                                                                 \
        while (!(count >> l & 1)) l++;                                                             \
        for (int64_t j = 0; j < n; j++) all[j] = levels[l][j];                                     \
        for (l++; count >> l; l++)                                                                 \
            if (count >> l & 1)                                                                    \
                for (int64_t j = 0; j < n; j++) all[j] = OP(levels[l][j], all[j]);                 \
    }

#define REDUCERS(dtype, type, infinity)                                                            \
    REDUCER(add_##dtype, type, mica_add_##dtype, 0)                                                \
    REDUCER(mul_##dtype, type, mica_mul_##dtype, 1)                                                \
    REDUCER(max_##dtype, type, mica_max_##dtype, -infinity)                                        \
    REDUCER(min_##dtype, type, mica_min_##dtype, infinity)

REDUCERS(f32, float, MICA_INF_F32)
REDUCERS(f64, double, MICA_INF_F64)

MICA_REDUCE_BEST(best_max_f32, float, uint32_t, mica_bits_f32, mica_from_bits_f32, >, &,
                 -MICA_INF_F32, 0x7f800000u, MICA_NAN_F32)
MICA_REDUCE_BEST(best_min_f32, float, uint32_t, mica_bits_f32, mica_from_bits_f32, <, |,
                 MICA_INF_F32, 0x7f800000u, MICA_NAN_F32)
MICA_REDUCE_BEST(best_max_f64, double, uint64_t, mica_bits_f64, mica_from_bits_f64, >, &,
                 -MICA_INF_F64, 0x7ff0000000000000u, MICA_NAN_F64)
MICA_REDUCE_BEST(best_min_f64, double, uint64_t, mica_bits_f64, mica_from_bits_f64, <, |,
                 MICA_INF_F64, 0x7ff0000000000000u, MICA_NAN_F64)

#endif
