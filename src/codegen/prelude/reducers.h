/* codegen/prelude/reducers.h: reductions in the order of ir/scalar_reduce.h, for generated code.
 *
 *     row_add_f32(row, n)             a block of a row
 *     tree_add_f32(levels, b, part)   part b of the tree; levels[l] holds a subtree of 2^l parts
 *     root_add_f32(levels, count)     what the tree of `count` parts comes to
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
