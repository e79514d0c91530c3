/* The loops of reductions; see mica_cpu_reducer in device/cpu/isa.h for their order, which is part
 * of the op's meaning. */
#include "device/cpu/isa.h"
#include "ir/scalar.h"
#include "ir/scalar_reduce.h"

#define REDUCE_ONE(name, compute, OP, IDENTITY) MICA_REDUCE_ONE(name##_one, compute, OP, IDENTITY)

#define REDUCE_ROWS(name, compute)                                                                 \
    static void name##_rows(const void *x, const int64_t *offsets, int64_t count, int64_t n,       \
                            void *acc) {                                                           \
        for (int64_t r = 0; r < count; r++)                                                        \
            ((compute *)acc)[r] = name##_one((const compute *)x + offsets[r], n);                  \
    }
/* Rows of a narrower type, widened first; `math` names the reduction of the compute type. */
#define REDUCE_NARROW_ROWS(name, storage, math, compute, LOAD)                                     \
    static void name##_rows(const void *x, const int64_t *offsets, int64_t count, int64_t n,       \
                            void *acc) {                                                           \
        compute wide[CPU_REDUCE_BLOCK];                                                            \
        for (int64_t r = 0; r < count; r++) {                                                      \
            const storage *row = (const storage *)x + offsets[r];                                  \
            for (int64_t i = 0; i < n; i++) wide[i] = LOAD(row[i]);                                \
            ((compute *)acc)[r] = math##_one(wide, n);                                             \
        }                                                                                          \
    }
#define REDUCE_COLUMNS(name, storage, compute, LOAD, OP)                                           \
    static void name##_columns(const void *x, const int64_t *offsets, int64_t count, int64_t n,    \
                               void *acc) {                                                        \
        compute *restrict y = (compute *)acc;                                                      \
        const storage *restrict first = (const storage *)x + offsets[0];                           \
        for (int64_t j = 0; j < n; j++) y[j] = LOAD(first[j]);                                     \
        int64_t r = 1;                                                                             \
        for (; r + 4 <= count; r += 4) {                                                           \
            const storage *restrict a = (const storage *)x + offsets[r];                           \
            const storage *restrict b = (const storage *)x + offsets[r + 1];                       \
            const storage *restrict c = (const storage *)x + offsets[r + 2];                       \
            const storage *restrict d = (const storage *)x + offsets[r + 3];                       \
            for (int64_t j = 0; j < n; j++)                                                        \
                y[j] = OP(OP(OP(OP(y[j], LOAD(a[j])), LOAD(b[j])), LOAD(c[j])), LOAD(d[j]));       \
        }                                                                                          \
        for (; r < count; r++) {                                                                   \
            const storage *restrict row = (const storage *)x + offsets[r];                         \
            for (int64_t j = 0; j < n; j++) y[j] = OP(y[j], LOAD(row[j]));                         \
        }                                                                                          \
    }
#define REDUCE_COMBINE(name, compute, OP, IDENTITY)                                                \
    static void name##_combine(void *into, const void *from, int64_t n) {                          \
        compute *restrict y = (compute *)into;                                                     \
        const compute *restrict x = (const compute *)from;                                         \
        for (int64_t j = 0; j < n; j++) y[j] = OP(y[j], x[j]);                                     \
    }                                                                                              \
    static void name##_identity(void *acc, int64_t n) {                                            \
        for (int64_t j = 0; j < n; j++) ((compute *)acc)[j] = IDENTITY;                            \
    }
#define REDUCE_STORE(name, storage, compute, STORE)                                                \
    static void name##_store(const void *acc, void *y, int64_t n) {                                \
        for (int64_t j = 0; j < n; j++) ((storage *)y)[j] = STORE(((const compute *)acc)[j]);      \
    }
/* `math` names the combine and identity functions to use: those of the compute type. */
#define REDUCE_ENTRY(name, math, compute, stored)                                                  \
    {                                                                                              \
        name##_rows, name##_columns, math##_combine, stored##_store, math##_identity,              \
            (int32_t)sizeof(compute)                                                               \
    }
#define REDUCE_SAME(a) (a)
