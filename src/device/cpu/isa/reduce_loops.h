/* The loops of reductions; see mica_cpu_reducer in device/cpu/isa.h for their order, which is part
 * of the op's meaning. */
#include "device/cpu/isa.h"
#include "ir/scalar.h"
#include "ir/scalar_reduce.h"

#define REDUCE_ONE(name, compute, OP, IDENTITY) MICA_REDUCE_ONE(name##_one, compute, OP, IDENTITY)

/* The reduction of a row by an operation whose result no order changes (all but sums and products
 * of floats): several chains side by side. */
#define REDUCE_WIDTH 64
#define REDUCE_ONE_ANY_ORDER(name, compute, OP, IDENTITY)                                          \
    static compute name##_one(const compute *restrict row, int64_t n) {                            \
        compute lanes[REDUCE_WIDTH];                                                               \
        int64_t i = 0;                                                                             \
        for (int l = 0; l < REDUCE_WIDTH; l++) lanes[l] = IDENTITY;                                \
        for (; i + REDUCE_WIDTH <= n; i += REDUCE_WIDTH)                                           \
            for (int l = 0; l < REDUCE_WIDTH; l++) lanes[l] = OP(lanes[l], row[i + l]);            \
        if (i < n) {                                                                               \
            compute rest[REDUCE_WIDTH];                                                            \
            for (int l = 0; l < REDUCE_WIDTH; l++) rest[l] = IDENTITY;                             \
            for (int64_t l = 0; l < n - i; l++) rest[l] = row[i + l];                              \
            for (int l = 0; l < REDUCE_WIDTH; l++) lanes[l] = OP(lanes[l], rest[l]);               \
        }                                                                                          \
        for (int l = 0; l < 32; l++) lanes[l] = OP(lanes[l], lanes[l + 32]);                       \
        for (int l = 0; l < 16; l++) lanes[l] = OP(lanes[l], lanes[l + 16]);                       \
        for (int l = 0; l < 8; l++) lanes[l] = OP(lanes[l], lanes[l + 8]);                         \
        for (int l = 0; l < 4; l++) lanes[l] = OP(lanes[l], lanes[l + 4]);                         \
        return OP(OP(lanes[0], lanes[2]), OP(lanes[1], lanes[3]));                                 \
    }
/* Bitwise reductions of narrow elements, eight bytes at a time whatever they hold. */
typedef uint64_t __attribute__((may_alias, aligned(1))) reduce_word;
#define REDUCE_BITS_ROWS(name, storage, compute, SIGN, IDENTITY)                                   \
    static void name##_rows(const void *x, const int64_t *offsets, int64_t count, int64_t n,       \
                            void *acc) {                                                           \
        enum { WORDS = 16, EACH = WORDS * 8 / (int)sizeof(storage) };                              \
        for (int64_t r = 0; r < count; r++) {                                                      \
            const storage *row = (const storage *)x + offsets[r];                                  \
            uint64_t lanes[WORDS], all = IDENTITY;                                                 \
            storage y = (storage)(IDENTITY);                                                       \
            int64_t i = 0;                                                                         \
            for (int l = 0; l < WORDS; l++) lanes[l] = IDENTITY;                                   \
            for (; i + EACH <= n; i += EACH) {                                                     \
                const reduce_word *words = (const reduce_word *)(const void *)(row + i);           \
                for (int l = 0; l < WORDS; l++) lanes[l] = lanes[l] SIGN words[l];                 \
            }                                                                                      \
            for (int l = 0; l < WORDS; l++) all = all SIGN lanes[l];                               \
            for (; i < n; i++) y = (storage)(y SIGN row[i]);                                       \
            for (int k = 0; k < 8 / (int)sizeof(storage); k++)                                     \
                y = (storage)(y SIGN(storage)(all >> (8 * (int)sizeof(storage) * k)));             \
            ((compute *)acc)[r] = (compute)y;                                                      \
        }                                                                                          \
    }
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
/* The larger (BETTER >) or smaller of floats, see MICA_REDUCE_BEST. */
#define REDUCE_BEST(name, compute, word, bits, from_bits, BETTER, SIGN, IDENTITY, infinite, nan)   \
    MICA_REDUCE_BEST(name##_one, compute, word, bits, from_bits, BETTER, SIGN, IDENTITY, infinite, \
                     nan)                                                                          \
    static void name##_columns(const void *x, const int64_t *offsets, int64_t count, int64_t n,    \
                               void *acc) {                                                        \
        const word magnitude = (word) ~(word)0 >> 1;                                               \
        for (int64_t begin = 0; begin < n; begin += REDUCE_STRIP) {                                \
            int64_t width = n - begin < REDUCE_STRIP ? n - begin : REDUCE_STRIP;                   \
            compute *restrict y = (compute *)acc + begin;                                          \
            word marks[REDUCE_STRIP];                                                              \
            for (int64_t j = 0; j < width; j++) y[j] = IDENTITY, marks[j] = 0;                     \
            for (int64_t r = 0; r < count; r++) {                                                  \
                const compute *restrict row = (const compute *)x + offsets[r] + begin;             \
                for (int64_t j = 0; j < width; j++) {                                              \
                    compute v = row[j], a = y[j];                                                  \
                    word m = bits(v) & magnitude;                                                  \
                    word p = bits(v BETTER a ? v : a), q = bits(a BETTER v ? a : v);               \
                    y[j] = from_bits(p SIGN q);                                                    \
                    marks[j] = m > marks[j] ? m : marks[j];                                        \
                }                                                                                  \
            }                                                                                      \
            for (int64_t j = 0; j < width; j++) y[j] = marks[j] > infinite ? nan : y[j];           \
        }                                                                                          \
    }
#define REDUCE_STRIP 256
/* `math` names the combine and identity functions to use: those of the compute type. */
#define REDUCE_ENTRY(name, math, compute, stored)                                                  \
    REDUCE_ENTRY_OF(name, math, compute, stored, CPU_REDUCE_BLOCK)
#define REDUCE_ENTRY_OF(name, math, compute, stored, block)                                        \
    {                                                                                              \
        name##_rows, name##_columns, math##_combine, stored##_store, math##_identity,              \
            (int32_t)sizeof(compute), block                                                        \
    }
#define REDUCE_SAME(a) (a)
