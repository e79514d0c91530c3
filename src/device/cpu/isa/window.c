/* Running reductions and reductions in windows, for every number; of complex ones sum and prod. f16
 * and bf16 are accumulated in f32. */
#include "device/cpu/isa.h"
#include "ir/scalar.h"

#define SAME(a) (a)

#define WINDOW_SCAN(name, storage, compute, LOAD, STORE, COMBINE, IDENTITY)                        \
    static void scan_line_##name(const storage *x, storage *y, int64_t step, int64_t n,            \
                                 int exclusive) {                                                  \
        compute acc = IDENTITY;                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                          \
            compute next = COMBINE(acc, LOAD(x[i * step]));                                        \
            y[i * step] = STORE(exclusive ? acc : next);                                           \
            acc = next;                                                                            \
        }                                                                                          \
    }                                                                                              \
    static void scan_##name(const void *from, void *to, int64_t step, int64_t n, int64_t width,    \
                            int exclusive) {                                                       \
        const storage *x = from;                                                                   \
        storage *y = to;                                                                           \
        compute acc[CPU_WINDOW_STRIP];                                                             \
        if (width == 1) {                                                                          \
            scan_line_##name(x, y, step, n, exclusive);                                            \
            return;                                                                                \
        }                                                                                          \
        for (int64_t j = 0; j < width; j++) acc[j] = IDENTITY;                                     \
        for (int64_t i = 0; i < n; i++, x += step, y += step) CPU_INDEPENDENT                      \
        for (int64_t j = 0; j < width; j++) {                                                      \
            compute next = COMBINE(acc[j], LOAD(x[j]));                                            \
            y[j] = STORE(exclusive ? acc[j] : next);                                               \
            acc[j] = next;                                                                         \
        }                                                                                          \
    }

#define WINDOW_REDUCE(name, storage, compute, LOAD, STORE, COMBINE, IDENTITY)                      \
    static void accumulate_##name(void *into, int64_t acc_step, const void *from, int64_t x_step,  \
                                  int64_t n) {                                                     \
        compute *restrict acc = into;                                                              \
        const storage *restrict x = from;                                                          \
        if (acc_step == 1 && x_step == 1)                                                          \
            for (int64_t i = 0; i < n; i++) acc[i] = COMBINE(acc[i], LOAD(x[i]));                  \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                acc[i * acc_step] = COMBINE(acc[i * acc_step], LOAD(x[i * x_step]));               \
    }                                                                                              \
    static void identity_##name(void *into, int64_t n) {                                           \
        compute *acc = into;                                                                       \
        for (int64_t i = 0; i < n; i++) acc[i] = IDENTITY;                                         \
    }                                                                                              \
    static void scatter_##name(void *into, const int64_t *places, const void *from, int64_t n,     \
                               int64_t low, int64_t high) {                                        \
        compute *acc = into;                                                                       \
        const storage *x = from;                                                                   \
        for (int64_t i = 0; i < n; i++)                                                            \
            if (places[i] >= low && places[i] < high)                                              \
                acc[places[i]] = COMBINE(acc[places[i]], LOAD(x[i]));                              \
    }

#define WINDOW_CHOOSE(name, storage, compute, LOAD, BETTER)                                        \
    static void choose_##name(void *best_values, int64_t *places, int64_t step, const void *from,  \
                              int64_t at, int64_t x_step, int64_t n) {                             \
        compute *restrict best = best_values;                                                      \
        const storage *restrict x = from;                                                          \
        for (int64_t i = 0; i < n; i++, at += x_step) {                                            \
            compute value = LOAD(x[at]), old = best[i * step];                                     \
            int64_t place = places[i * step];                                                      \
            int take = place < 0 || BETTER(value, old);                                            \
            best[i * step] = take ? value : old;                                                   \
            places[i * step] = take ? at : place;                                                  \
        }                                                                                          \
    }
/* The best of a window first, then the first element that equals it; of elements that are NaN the
 * first, and then no other is. In vectors of 64 bytes, the last one of what is left. */
#define WINDOW_PLACE(name, type, mark, BETTER)                                                     \
    typedef type values_##name __attribute__((vector_size(64), aligned(sizeof(type))));            \
    typedef mark marks_##name __attribute__((vector_size(64), aligned(sizeof(mark))));             \
    static inline void place_vector_##name(const type *x, const type *source, type *y,             \
                                           const int64_t *offsets, int64_t count, int64_t n) {     \
        values_##name added = {0}, value = {0}, best = {0};                                        \
        marks_##name open = {0}, take;                                                             \
        memcpy(&best, x + offsets[0], (size_t)n * sizeof *x);                                      \
        for (int64_t e = 1; e < count; e++) {                                                      \
            memcpy(&value, x + offsets[e], (size_t)n * sizeof *x);                                 \
            take = (marks_##name)(value BETTER best) | (marks_##name)(value != value);             \
            best = (values_##name)(((marks_##name)value & take) | ((marks_##name)best & ~take));   \
        }                                                                                          \
        memcpy(&added, source, (size_t)n * sizeof *source);                                        \
        added = (values_##name){0} + added;                                                        \
        open = ~open;                                                                              \
        for (int64_t e = 0; e < count; e++) {                                                      \
            memcpy(&value, x + offsets[e], (size_t)n * sizeof *x);                                 \
            take = (marks_##name)(value == best) | (marks_##name)(value != value);                 \
            take &= open;                                                                          \
            open &= ~take;                                                                         \
            value = (values_##name)((marks_##name)added & take);                                   \
            memcpy(y + offsets[e], &value, (size_t)n * sizeof *y);                                 \
        }                                                                                          \
    }                                                                                              \
    static void place_##name(const void *from, const void *source, void *to,                       \
                             const int64_t *offsets, int64_t count, int64_t n) {                   \
        enum { LANES = 64 / sizeof(type) };                                                        \
        const type *x = from, *s = source;                                                         \
        type *y = to;                                                                              \
        int64_t i = 0;                                                                             \
        for (; i + LANES <= n; i += LANES)                                                         \
            place_vector_##name(x + i, s + i, y + i, offsets, count, LANES);                       \
        if (i < n) place_vector_##name(x + i, s + i, y + i, offsets, count, n - i);                \
    }

#define LARGER(a, b) ((a) > (b) || ((a) != (a) && (b) == (b)))
#define SMALLER(a, b) ((a) < (b) || ((a) != (a) && (b) == (b)))
#define LARGER_INT(a, b) ((a) > (b))
#define SMALLER_INT(a, b) ((a) < (b))

#define WINDOW_KIND(name, storage, compute, LOAD, STORE, COMBINE, IDENTITY)                        \
    WINDOW_SCAN(name, storage, compute, LOAD, STORE, COMBINE, IDENTITY)                            \
    WINDOW_REDUCE(name, storage, compute, LOAD, STORE, COMBINE, IDENTITY)
#define WINDOW(dtype, storage, compute, math, LOAD, STORE, LOWEST, HIGHEST, UP, DOWN)              \
    WINDOW_KIND(add_##dtype, storage, compute, LOAD, STORE, mica_add_##math, 0)                    \
    WINDOW_KIND(mul_##dtype, storage, compute, LOAD, STORE, mica_mul_##math, 1)                    \
    WINDOW_KIND(max_##dtype, storage, compute, LOAD, STORE, mica_max_##math, LOWEST)               \
    WINDOW_KIND(min_##dtype, storage, compute, LOAD, STORE, mica_min_##math, HIGHEST)              \
    WINDOW_CHOOSE(max_##dtype, storage, compute, LOAD, UP)                                         \
    WINDOW_CHOOSE(min_##dtype, storage, compute, LOAD, DOWN)                                       \
    static void store_##dtype(const void *from, void *to, int64_t n) {                             \
        const compute *acc = from;                                                                 \
        storage *y = to;                                                                           \
        for (int64_t i = 0; i < n; i++) y[i] = STORE(acc[i]);                                      \
    }
#define WINDOW_INT(dtype, type, LOWEST, HIGHEST)                                                   \
    WINDOW(dtype, type, type, dtype, SAME, SAME, LOWEST, HIGHEST, LARGER_INT, SMALLER_INT)

WINDOW_INT(i8, int8_t, INT8_MIN, INT8_MAX)
WINDOW_INT(i16, int16_t, INT16_MIN, INT16_MAX)
WINDOW_INT(i32, int32_t, INT32_MIN, INT32_MAX)
WINDOW_INT(i64, int64_t, INT64_MIN, INT64_MAX)
WINDOW_INT(u8, uint8_t, 0, UINT8_MAX)
WINDOW_INT(u16, uint16_t, 0, UINT16_MAX)
WINDOW_INT(u32, uint32_t, 0, UINT32_MAX)
WINDOW_INT(u64, uint64_t, 0, UINT64_MAX)
WINDOW(f16, uint16_t, float, f32, mica_convert_f16_f32, mica_convert_f32_f16, -MICA_INF_F32,
       MICA_INF_F32, LARGER, SMALLER)
WINDOW(bf16, uint16_t, float, f32, mica_convert_bf16_f32, mica_convert_f32_bf16, -MICA_INF_F32,
       MICA_INF_F32, LARGER, SMALLER)
WINDOW(f32, float, float, f32, SAME, SAME, -MICA_INF_F32, MICA_INF_F32, LARGER, SMALLER)
WINDOW(f64, double, double, f64, SAME, SAME, -MICA_INF_F64, MICA_INF_F64, LARGER, SMALLER)

WINDOW_PLACE(max_f32, float, int32_t, >)
WINDOW_PLACE(min_f32, float, int32_t, <)
WINDOW_PLACE(max_f64, double, int64_t, >)
WINDOW_PLACE(min_f64, double, int64_t, <)

#define WINDOW_COMPLEX(dtype)                                                                      \
    WINDOW_KIND(add_##dtype, mica_##dtype, mica_##dtype, SAME, SAME, mica_add_##dtype,             \
                mica_make_##dtype(0, 0))                                                           \
    WINDOW_KIND(mul_##dtype, mica_##dtype, mica_##dtype, SAME, SAME, mica_mul_##dtype,             \
                mica_make_##dtype(1, 0))                                                           \
    static void store_##dtype(const void *from, void *to, int64_t n) {                             \
        memcpy(to, from, (size_t)n * sizeof(mica_##dtype));                                        \
    }
WINDOW_COMPLEX(c64)
WINDOW_COMPLEX(c128)

#define ENTRY(name, dtype, compute, ...)                                                           \
    {                                                                                              \
        .scan = scan_##name, .accumulate = accumulate_##name, .identity = identity_##name,         \
        .store = store_##dtype, .scatter = scatter_##name, .bytes = sizeof(compute), __VA_ARGS__   \
    }
#define EXTREMUM_ENTRY(name, dtype, compute, ...)                                                  \
    ENTRY(name, dtype, compute, .choose = choose_##name, __VA_ARGS__)
#define SUM_ENTRIES(dtype, compute)                                                                \
    ENTRY(add_##dtype, dtype, compute), ENTRY(mul_##dtype, dtype, compute)
#define ENTRIES(dtype, compute)                                                                    \
    [MICA_DTYPE_##dtype] = {SUM_ENTRIES(dtype, compute),                                           \
                            EXTREMUM_ENTRY(max_##dtype, dtype, compute),                           \
                            EXTREMUM_ENTRY(min_##dtype, dtype, compute)}
#define FLOAT_ENTRIES(dtype, compute)                                                              \
    [MICA_DTYPE_##                                                                                 \
        dtype] = {SUM_ENTRIES(dtype, compute),                                                     \
                  EXTREMUM_ENTRY(max_##dtype, dtype, compute, .place = place_max_##dtype),         \
                  EXTREMUM_ENTRY(min_##dtype, dtype, compute, .place = place_min_##dtype)}
#define COMPLEX_ENTRIES(dtype) [MICA_DTYPE_##dtype] = {SUM_ENTRIES(dtype, mica_##dtype)}

const mica_cpu_windower MICA_ISA_NAME(mica_cpu_window)[MICA_DTYPE_COUNT][4] = {
    ENTRIES(i8, int8_t),    ENTRIES(i16, int16_t),     ENTRIES(i32, int32_t),
    ENTRIES(i64, int64_t),  ENTRIES(u8, uint8_t),      ENTRIES(u16, uint16_t),
    ENTRIES(u32, uint32_t), ENTRIES(u64, uint64_t),    ENTRIES(f16, float),
    ENTRIES(bf16, float),   FLOAT_ENTRIES(f32, float), FLOAT_ENTRIES(f64, double),
    COMPLEX_ENTRIES(c64),   COMPLEX_ENTRIES(c128),
};
