/* Fourier transforms of lines side by side: every element is a pair of vectors, real and imaginary
 * parts, with one line per lane. What a line passes through does not depend on the number of lanes.
 */
#include <string.h>

#include "device/cpu/isa.h"

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#define PAIRS_2(f) f(0), f(1)
#define PAIRS_4(f) PAIRS_2(f), f(2), f(3)
#define PAIRS_8(f) PAIRS_4(f), f(4), f(5), f(6), f(7)
#define PAIRS_16(f) PAIRS_8(f), f(8), f(9), f(10), f(11), f(12), f(13), f(14), f(15)
#define EVEN(i) (2 * (i))
#define ODD(i) (2 * (i) + 1)

#define REAL float
#define NAME(name) name##_f32
#if VECTOR_BYTES == 64
#define LANES 16
#define MASK(f) PAIRS_16(f)
#elif VECTOR_BYTES == 32
#define LANES 8
#define MASK(f) PAIRS_8(f)
#else
#define LANES 4
#define MASK(f) PAIRS_4(f)
#endif
#include "device/cpu/isa/fft_loops.h"

#define REAL double
#define NAME(name) name##_f64
#if VECTOR_BYTES == 64
#define LANES 8
#define MASK(f) PAIRS_8(f)
#elif VECTOR_BYTES == 32
#define LANES 4
#define MASK(f) PAIRS_4(f)
#else
#define LANES 2
#define MASK(f) PAIRS_2(f)
#endif
#include "device/cpu/isa/fft_loops.h"

const mica_cpu_fft MICA_ISA_NAME(mica_cpu_fft)[2] = {
    {VECTOR_BYTES / 4, lines_f32, multiply_f32, split_real_f32, join_real_f32},
    {VECTOR_BYTES / 8, lines_f64, multiply_f64, split_real_f64, join_real_f64},
};
