/* The register tiles of contractions in f32 and f64; f16 and bf16 are packed to f32.
 *
 * Every accumulator is one chain of fused multiply-adds in the order of k, so the size of the tile
 * and of the vectors is free: no bit depends on it. */
#include "device/cpu/isa/gemm_pack.h"
#include "ir/scalar.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#define WIDE_ROWS 12
#define WIDE_VECTORS 2
#define NARROW_ROWS 24
#define NARROW_VECTORS 1
typedef __m512 vector_f32;
typedef __m512d vector_f64;
#define FMA_f32(a, b, c) _mm512_fmadd_ps(a, b, c)
#define FMA_f64(a, b, c) _mm512_fmadd_pd(a, b, c)
#elif defined(__AVX2__)
#include <immintrin.h>
#define WIDE_ROWS 6
#define WIDE_VECTORS 2
#define NARROW_ROWS 12
#define NARROW_VECTORS 1
typedef __m256 vector_f32;
typedef __m256d vector_f64;
#define FMA_f32(a, b, c) _mm256_fmadd_ps(a, b, c)
#define FMA_f64(a, b, c) _mm256_fmadd_pd(a, b, c)
#elif defined(__aarch64__)
#include <arm_neon.h>
#define WIDE_ROWS 6
#define WIDE_VECTORS 4
#define NARROW_ROWS 12
#define NARROW_VECTORS 2
typedef float32x4_t vector_f32;
typedef float64x2_t vector_f64;
#define FMA_f32(a, b, c) vfmaq_f32(c, a, b)
#define FMA_f64(a, b, c) vfmaq_f64(c, a, b)
#else
#define WIDE_ROWS 4
#define WIDE_VECTORS 2
#define NARROW_ROWS 8
#define NARROW_VECTORS 1
typedef float vector_f32 __attribute__((vector_size(16)));
typedef double vector_f64 __attribute__((vector_size(16)));
static inline vector_f32 FMA_f32(vector_f32 a, vector_f32 b, vector_f32 c) {
    for (int i = 0; i < 4; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
}
static inline vector_f64 FMA_f64(vector_f64 a, vector_f64 b, vector_f64 c) {
    for (int i = 0; i < 2; i++) c[i] = __builtin_fma(a[i], b[i], c[i]);
    return c;
}
#endif

#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 32")
#endif

#define LANES(dtype, type) ((int)(sizeof(vector_##dtype) / sizeof(type)))

#define TILE_DEFINE(dtype, type, shape, ROWS, VECTORS)                                             \
    static inline __attribute__((always_inline)) void accumulate_##dtype##_##shape(                \
        const type *a, const type *b, int64_t n_k, vector_##dtype acc[ROWS][VECTORS]) {            \
        UNROLLED for (int i = 0; i < ROWS; i++) UNROLLED for (int j = 0; j < VECTORS; j++)         \
            acc[i][j] = (vector_##dtype){0};                                                       \
        for (int64_t k = 0; k < n_k; k++) {                                                        \
            vector_##dtype row[VECTORS];                                                           \
            UNROLLED for (int j = 0; j < VECTORS; j++)                                             \
                memcpy(&row[j], b + j * LANES(dtype, type), sizeof row[j]);                        \
            UNROLLED for (int i = 0; i < ROWS; i++) {                                              \
                vector_##dtype left = a[i] - (vector_##dtype){0};                                  \
                UNROLLED for (int j = 0; j < VECTORS; j++) acc[i][j] =                             \
                    FMA_##dtype(left, row[j], acc[i][j]);                                          \
            }                                                                                      \
            a += ROWS;                                                                             \
            b += VECTORS * LANES(dtype, type);                                                     \
        }                                                                                          \
    }                                                                                              \
    static void tile_##dtype##_##shape(const void *a, const void *b, int64_t n_k, void *tile) {    \
        vector_##dtype acc[ROWS][VECTORS];                                                         \
        accumulate_##dtype##_##shape((const type *)a, (const type *)b, n_k, acc);                  \
        UNROLLED for (int i = 0; i < ROWS; i++) UNROLLED for (int j = 0; j < VECTORS; j++) memcpy( \
            (type *)tile + (i * VECTORS + j) * LANES(dtype, type), &acc[i][j], sizeof acc[i][j]);  \
    }                                                                                              \
    static void tile_to_##dtype##_##shape(const void *a, const void *b, int64_t n_k, void *c,      \
                                          const int64_t *rows, int first) {                        \
        vector_##dtype acc[ROWS][VECTORS];                                                         \
        accumulate_##dtype##_##shape((const type *)a, (const type *)b, n_k, acc);                  \
        UNROLLED for (int i = 0; i < ROWS; i++) UNROLLED for (int j = 0; j < VECTORS; j++) {       \
            type *cell = (type *)c + rows[i] + j * LANES(dtype, type);                             \
            vector_##dtype sum = acc[i][j], old;                                                   \
            if (!first) {                                                                          \
                memcpy(&old, cell, sizeof old);                                                    \
                sum = old + sum;                                                                   \
            }                                                                                      \
            memcpy(cell, &sum, sizeof sum);                                                        \
        }                                                                                          \
    }

TILE_DEFINE(f32, float, wide, WIDE_ROWS, WIDE_VECTORS)
TILE_DEFINE(f32, float, narrow, NARROW_ROWS, NARROW_VECTORS)
TILE_DEFINE(f64, double, wide, WIDE_ROWS, WIDE_VECTORS)
TILE_DEFINE(f64, double, narrow, NARROW_ROWS, NARROW_VECTORS)

/* Four steps of four rows at a time. */
typedef float four_f32 __attribute__((vector_size(16)));
static inline four_f32 load_four(const float *x) {
    four_f32 v;
    memcpy(&v, x, sizeof v);
    return v;
}
#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
typedef int four_i32 __attribute__((vector_size(16)));
#define SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (four_i32){i, j, k, l})
#endif
static inline int64_t transpose_f32(float *to, int64_t width, const float *x0, const float *x1,
                                    const float *x2, const float *x3, int64_t n) {
    int64_t t = 0;
    for (; t + 4 <= n; t += 4) {
        four_f32 a = load_four(x0 + t), b = load_four(x1 + t);
        four_f32 c = load_four(x2 + t), d = load_four(x3 + t);
        four_f32 ab_low = SHUFFLE(a, b, 0, 4, 1, 5), ab_high = SHUFFLE(a, b, 2, 6, 3, 7);
        four_f32 cd_low = SHUFFLE(c, d, 0, 4, 1, 5), cd_high = SHUFFLE(c, d, 2, 6, 3, 7);
        four_f32 column[4] = {
            SHUFFLE(ab_low, cd_low, 0, 1, 4, 5), SHUFFLE(ab_low, cd_low, 2, 3, 6, 7),
            SHUFFLE(ab_high, cd_high, 0, 1, 4, 5), SHUFFLE(ab_high, cd_high, 2, 3, 6, 7)};
        for (int i = 0; i < 4; i++) memcpy(to + (t + i) * width, &column[i], sizeof column[i]);
    }
    return t;
}

PACK_DEFINE(pack_f16, uint16_t, float, mica_convert_f16_f32, PACK_NO_TRANSPOSE)
PACK_DEFINE(pack_bf16, uint16_t, float, mica_convert_bf16_f32, PACK_NO_TRANSPOSE)
PACK_DEFINE(pack_f32, float, float, PACK_SAME, transpose_f32)
PACK_DEFINE(pack_f64, double, double, PACK_SAME, PACK_NO_TRANSPOSE)

#define GEMM(dtype, type, shape, SHAPE, pack)                                                      \
    {                                                                                              \
        SHAPE##_ROWS, SHAPE##_VECTORS *LANES(dtype, type), sizeof(type), 1,                        \
            tile_##dtype##_##shape, tile_to_##dtype##_##shape, pack                                \
    }
#define GEMMS(shape, SHAPE)                                                                        \
    {                                                                                              \
        GEMM(f32, float, shape, SHAPE, pack_f16), GEMM(f32, float, shape, SHAPE, pack_bf16),       \
            GEMM(f32, float, shape, SHAPE, pack_f32), GEMM(f64, double, shape, SHAPE, pack_f64)    \
    }
const mica_cpu_gemm MICA_ISA_NAME(mica_cpu_gemm_float)[2][4] = {GEMMS(wide, WIDE),
                                                                GEMMS(narrow, NARROW)};
