/* Loops over sin, cos and tan of arguments of moderate size: without the reduction of large ones,
 * with the same bits. */
#include "device/cpu/isa.h"
#include "ir/scalar.h"

#define BOUNDED_LOOP(op, suffix, type)                                                             \
    static void bounded_##op##_##suffix(const void *const *x, void *result, int64_t n) {           \
        const type *xa = (const type *)x[0];                                                       \
        type *y = (type *)result;                                                                  \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++) y[i] = mica_##op##_bounded_##suffix(xa[i]);                \
    }
BOUNDED_LOOP(sin, f32, float)
BOUNDED_LOOP(cos, f32, float)
BOUNDED_LOOP(tan, f32, float)
BOUNDED_LOOP(sin, f64, double)
BOUNDED_LOOP(cos, f64, double)
BOUNDED_LOOP(tan, f64, double)

typedef uint32_t __attribute__((may_alias)) bits32;
typedef uint64_t __attribute__((may_alias)) bits64;

/* Bits grow with the magnitude; those of infinities and NaN are above all. */
static int all_bounded_f32(const void *x, int64_t n) {
    const bits32 *bits = (const bits32 *)x;
    uint32_t far = 0;
    for (int64_t i = 0; i < n; i++)
        far |= (mica_bits_f32(MICA_BOUNDED_F32) - 1u) - (bits[i] & 0x7fffffffu);
    return far >> 31 == 0;
}
static int all_bounded_f64(const void *x, int64_t n) {
    const bits64 *bits = (const bits64 *)x;
    uint64_t far = 0;
    for (int64_t i = 0; i < n; i++)
        far |= (mica_bits_f64(MICA_BOUNDED_F64) - 1u) - (bits[i] & 0x7fffffffffffffffu);
    return far >> 63 == 0;
}

const mica_cpu_bounded MICA_ISA_NAME(mica_cpu_bounded)[CPU_BOUNDED_COUNT] = {
    {MICA_OP_sin, MICA_DTYPE_f32, bounded_sin_f32, all_bounded_f32},
    {MICA_OP_cos, MICA_DTYPE_f32, bounded_cos_f32, all_bounded_f32},
    {MICA_OP_tan, MICA_DTYPE_f32, bounded_tan_f32, all_bounded_f32},
    {MICA_OP_sin, MICA_DTYPE_f64, bounded_sin_f64, all_bounded_f64},
    {MICA_OP_cos, MICA_DTYPE_f64, bounded_cos_f64, all_bounded_f64},
    {MICA_OP_tan, MICA_DTYPE_f64, bounded_tan_f64, all_bounded_f64},
};
