/* The register tiles of contractions in f32 and f64; f16 and bf16 are packed to f32.
 *
 * Every accumulator is one chain of fused multiply-adds in the order of k, so the size of the tile
 * and of the vectors is free: no bit depends on it. */
#include "device/cpu/isa/gemm_pack.h"
#include "ir/scalar.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#define ROWS 12
#define VECTORS 2
typedef __m512 vector_f32;
typedef __m512d vector_f64;
#define FMA_f32(a, b, c) _mm512_fmadd_ps(a, b, c)
#define FMA_f64(a, b, c) _mm512_fmadd_pd(a, b, c)
#elif defined(__AVX2__)
#include <immintrin.h>
#define ROWS 6
#define VECTORS 2
typedef __m256 vector_f32;
typedef __m256d vector_f64;
#define FMA_f32(a, b, c) _mm256_fmadd_ps(a, b, c)
#define FMA_f64(a, b, c) _mm256_fmadd_pd(a, b, c)
#elif defined(__aarch64__)
#include <arm_neon.h>
#define ROWS 6
#define VECTORS 4
typedef float32x4_t vector_f32;
typedef float64x2_t vector_f64;
#define FMA_f32(a, b, c) vfmaq_f32(c, a, b)
#define FMA_f64(a, b, c) vfmaq_f64(c, a, b)
#else
#define ROWS 4
#define VECTORS 2
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
#define UNROLLED _Pragma("GCC unroll 16")
#endif

#define TILE_DEFINE(dtype, type)                                                                   \
    enum {                                                                                         \
        LANES_##dtype = sizeof(vector_##dtype) / sizeof(type),                                     \
        COLUMNS_##dtype = LANES_##dtype * VECTORS                                                  \
    };                                                                                             \
    static inline __attribute__((always_inline)) void accumulate_##dtype(                          \
        const type *a, const type *b, int64_t n_k, vector_##dtype acc[ROWS][VECTORS]) {            \
        UNROLLED for (int i = 0; i < ROWS; i++) UNROLLED for (int j = 0; j < VECTORS; j++)         \
            acc[i][j] = (vector_##dtype){0};                                                       \
        for (int64_t k = 0; k < n_k; k++) {                                                        \
            vector_##dtype row[VECTORS];                                                           \
            UNROLLED for (int j = 0; j < VECTORS; j++)                                             \
                memcpy(&row[j], b + j * LANES_##dtype, sizeof row[j]);                             \
            UNROLLED for (int i = 0; i < ROWS; i++) {                                              \
                vector_##dtype left = a[i] - (vector_##dtype){0};                                  \
                UNROLLED for (int j = 0; j < VECTORS; j++) acc[i][j] =                             \
                    FMA_##dtype(left, row[j], acc[i][j]);                                          \
            }                                                                                      \
            a += ROWS;                                                                             \
            b += COLUMNS_##dtype;                                                                  \
        }                                                                                          \
    }                                                                                              \
    static void tile_##dtype(const void *a, const void *b, int64_t n_k, void *tile) {              \
        vector_##dtype acc[ROWS][VECTORS];                                                         \
        accumulate_##dtype((const type *)a, (const type *)b, n_k, acc);                            \
        UNROLLED for (int i = 0; i < ROWS; i++) UNROLLED for (int j = 0; j < VECTORS; j++) memcpy( \
            (type *)tile + i * COLUMNS_##dtype + j * LANES_##dtype, &acc[i][j], sizeof acc[i][j]); \
    }                                                                                              \
    static void tile_to_##dtype(const void *a, const void *b, int64_t n_k, void *c,                \
                                const int64_t *rows, int first) {                                  \
        vector_##dtype acc[ROWS][VECTORS];                                                         \
        accumulate_##dtype((const type *)a, (const type *)b, n_k, acc);                            \
        UNROLLED for (int i = 0; i < ROWS; i++) UNROLLED for (int j = 0; j < VECTORS; j++) {       \
            type *cell = (type *)c + rows[i] + j * LANES_##dtype;                                  \
            vector_##dtype sum = acc[i][j], old;                                                   \
            if (!first) {                                                                          \
                memcpy(&old, cell, sizeof old);                                                    \
                sum = old + sum;                                                                   \
            }                                                                                      \
            memcpy(cell, &sum, sizeof sum);                                                        \
        }                                                                                          \
    }

TILE_DEFINE(f32, float)
TILE_DEFINE(f64, double)

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

const mica_cpu_gemm MICA_ISA_NAME(mica_cpu_gemm_float)[4] = {
    {ROWS, COLUMNS_f32, sizeof(float), 1, tile_f32, tile_to_f32, pack_f16},
    {ROWS, COLUMNS_f32, sizeof(float), 1, tile_f32, tile_to_f32, pack_bf16},
    {ROWS, COLUMNS_f32, sizeof(float), 1, tile_f32, tile_to_f32, pack_f32},
    {ROWS, COLUMNS_f64, sizeof(double), 1, tile_f64, tile_to_f64, pack_f64},
};
