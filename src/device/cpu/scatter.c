/* The loops of scatter: set by the size of an element, add mul min max by the dtype, with the
 * functions of ir/scalar.h. f16 and bf16 compute in f32 and round after every update. */
#include <string.h>

#include "device/cpu/index.h"
#include "ir/scalar.h"

#define SAME(a) (a)
#define SECOND(a, b) (b)

#define SCATTER_LOOPS(name, storage, LOAD, STORE, COMBINE)                                         \
    static void name##_row(void *restrict x, int64_t x_step, const void *restrict u,               \
                           int64_t u_step, int64_t n) {                                            \
        storage *restrict to = x;                                                                  \
        const storage *restrict from = u;                                                          \
        if (x_step == 1 && u_step == 1)                                                            \
            for (int64_t i = 0; i < n; i++) to[i] = STORE(COMBINE(LOAD(to[i]), LOAD(from[i])));    \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                to[i * x_step] = STORE(COMBINE(LOAD(to[i * x_step]), LOAD(from[i * u_step])));     \
    }                                                                                              \
    static void name##_elements(void *x, const int64_t *at, const void *u, const int64_t *places,  \
                                int64_t n, int64_t low, int64_t high) {                            \
        storage *to = x;                                                                           \
        const storage *from = u;                                                                   \
        for (int64_t i = 0; i < n; i++)                                                            \
            if (at[i] >= low && at[i] < high)                                                      \
                to[at[i]] = STORE(COMBINE(LOAD(to[at[i]]), LOAD(from[places[i]])));                \
    }
#define SCATTER_KINDS(dtype, storage, compute, LOAD, STORE)                                        \
    SCATTER_LOOPS(add_##dtype, storage, LOAD, STORE, mica_add_##compute)                           \
    SCATTER_LOOPS(mul_##dtype, storage, LOAD, STORE, mica_mul_##compute)                           \
    SCATTER_LOOPS(min_##dtype, storage, LOAD, STORE, mica_min_##compute)                           \
    SCATTER_LOOPS(max_##dtype, storage, LOAD, STORE, mica_max_##compute)

typedef struct sixteen {
    uint64_t halves[2];
} sixteen;
SCATTER_LOOPS(set_1, uint8_t, SAME, SAME, SECOND)
SCATTER_LOOPS(set_2, uint16_t, SAME, SAME, SECOND)
SCATTER_LOOPS(set_4, uint32_t, SAME, SAME, SECOND)
SCATTER_LOOPS(set_8, uint64_t, SAME, SAME, SECOND)
SCATTER_LOOPS(set_16, sixteen, SAME, SAME, SECOND)
SCATTER_KINDS(i8, int8_t, i8, SAME, SAME)
SCATTER_KINDS(i16, int16_t, i16, SAME, SAME)
SCATTER_KINDS(i32, int32_t, i32, SAME, SAME)
SCATTER_KINDS(i64, int64_t, i64, SAME, SAME)
SCATTER_KINDS(u8, uint8_t, u8, SAME, SAME)
SCATTER_KINDS(u16, uint16_t, u16, SAME, SAME)
SCATTER_KINDS(u32, uint32_t, u32, SAME, SAME)
SCATTER_KINDS(u64, uint64_t, u64, SAME, SAME)
SCATTER_KINDS(f16, uint16_t, f32, mica_convert_f16_f32, mica_convert_f32_f16)
SCATTER_KINDS(bf16, uint16_t, f32, mica_convert_bf16_f32, mica_convert_f32_bf16)
SCATTER_KINDS(f32, float, f32, SAME, SAME)
SCATTER_KINDS(f64, double, f64, SAME, SAME)
SCATTER_LOOPS(add_c64, mica_c64, SAME, SAME, mica_add_c64)
SCATTER_LOOPS(mul_c64, mica_c64, SAME, SAME, mica_mul_c64)
SCATTER_LOOPS(add_c128, mica_c128, SAME, SAME, mica_add_c128)
SCATTER_LOOPS(mul_c128, mica_c128, SAME, SAME, mica_mul_c128)

#define LOOPS(name)                                                                                \
    { name##_row, name##_elements }
#define LOOPS_OF(dtype)                                                                            \
    [MICA_DTYPE_##                                                                                 \
        dtype] = {LOOPS(add_##dtype), LOOPS(mul_##dtype), LOOPS(min_##dtype), LOOPS(max_##dtype)}
static const mica_cpu_scatter combining[MICA_DTYPE_COUNT][4] = {
    LOOPS_OF(i8),
    LOOPS_OF(i16),
    LOOPS_OF(i32),
    LOOPS_OF(i64),
    LOOPS_OF(u8),
    LOOPS_OF(u16),
    LOOPS_OF(u32),
    LOOPS_OF(u64),
    LOOPS_OF(f16),
    LOOPS_OF(bf16),
    LOOPS_OF(f32),
    LOOPS_OF(f64),
    [MICA_DTYPE_c64] = {LOOPS(add_c64), LOOPS(mul_c64)},
    [MICA_DTYPE_c128] = {LOOPS(add_c128), LOOPS(mul_c128)}};

static const mica_cpu_scatter *setting(mica_dtype dtype) {
    static const mica_cpu_scatter by_size[] = {LOOPS(set_1), LOOPS(set_2), LOOPS(set_4),
                                               LOOPS(set_8), LOOPS(set_16)};
    switch (mica_dtype_bytes(dtype)) {
    case 1: return &by_size[0];
    case 2: return &by_size[1];
    case 4: return &by_size[2];
    case 8: return &by_size[3];
    default: return &by_size[4];
    }
}

const mica_cpu_scatter *mica_cpu_scatter_of(const char *kind, mica_dtype dtype) {
    static const char *const kinds[] = {"add", "mul", "min", "max"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(kind, kinds[i])) return &combining[dtype][i];
    return setting(dtype);
}
