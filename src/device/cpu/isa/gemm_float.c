/* The register tiles of contractions in f32 and f64; f16 and bf16 are packed to f32.
 *
 * Every accumulator is one chain of fused multiply-adds in the order of k, so the size of the tile
 * and of the vectors is free: no bit depends on it. */
#include "device/cpu/isa/gemm_pack.h"
#include "ir/scalar.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#define WIDE_HEIGHTS 12, 8, 6, 4, 2, 1
#define WIDE_VECTORS 2
#define NARROW_HEIGHTS 24, 12, 8, 4, 2, 1
#define NARROW_VECTORS 1
typedef __m512 vector_f32;
typedef __m512d vector_f64;
#define FMA_f32(a, b, c) _mm512_fmadd_ps(a, b, c)
#define FMA_f64(a, b, c) _mm512_fmadd_pd(a, b, c)
#elif defined(__AVX2__)
#include <immintrin.h>
#define WIDE_HEIGHTS 6, 5, 4, 3, 2, 1
#define WIDE_VECTORS 2
#define NARROW_HEIGHTS 12, 8, 6, 4, 2, 1
#define NARROW_VECTORS 1
typedef __m256 vector_f32;
typedef __m256d vector_f64;
#define FMA_f32(a, b, c) _mm256_fmadd_ps(a, b, c)
#define FMA_f64(a, b, c) _mm256_fmadd_pd(a, b, c)
#elif defined(__aarch64__)
#include <arm_neon.h>
#define WIDE_HEIGHTS 6, 5, 4, 3, 2, 1
#define WIDE_VECTORS 4
#define NARROW_HEIGHTS 12, 8, 6, 4, 2, 1
#define NARROW_VECTORS 2
typedef float32x4_t vector_f32;
typedef float64x2_t vector_f64;
#define FMA_f32(a, b, c) vfmaq_f32(c, a, b)
#define FMA_f64(a, b, c) vfmaq_f64(c, a, b)
#else
#define WIDE_HEIGHTS 6, 5, 4, 3, 2, 1
#define WIDE_VECTORS 2
#define NARROW_HEIGHTS 12, 8, 6, 4, 2, 1
#define NARROW_VECTORS 1
typedef float vector_f32 __attribute__((vector_size(16)));
typedef double vector_f64 __attribute__((vector_size(16)));
static __attribute__((noinline)) vector_f32 FMA_f32(vector_f32 a, vector_f32 b, vector_f32 c) {
    for (int i = 0; i < 4; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
}
static __attribute__((noinline)) vector_f64 FMA_f64(vector_f64 a, vector_f64 b, vector_f64 c) {
    for (int i = 0; i < 2; i++) c[i] = __builtin_fma(a[i], b[i], c[i]);
    return c;
}
#endif

/* Where a fused multiply-add is a call, unrolling is but size. */
#if !defined(__AVX2__) && !defined(__aarch64__)
#if defined(__clang__)
#define UNROLLED _Pragma("nounroll")
#else
#define UNROLLED _Pragma("GCC unroll 1")
#endif
#elif defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 32")
#endif

#define LANES(dtype, type) ((int)(sizeof(vector_##dtype) / sizeof(type)))

/* acc[i][j] += a[i * a_stride] b[j], one step of k. */
#define TILE_STEP(dtype, type, ROWS, VECTORS, a, a_stride, b)                                      \
    {                                                                                              \
        vector_##dtype row[VECTORS];                                                               \
        UNROLLED for (int j = 0; j < VECTORS; j++)                                                 \
            memcpy(&row[j], (b) + j * LANES(dtype, type), sizeof row[j]);                          \
        UNROLLED for (int i = 0; i < ROWS; i++) {                                                  \
            vector_##dtype left = (a)[i * (a_stride)] - (vector_##dtype){0};                       \
            UNROLLED for (int j = 0; j < VECTORS; j++) acc[i][j] =                                 \
                FMA_##dtype(left, row[j], acc[i][j]);                                              \
        }                                                                                          \
    }
/* c is prefetched into the second level only: rows a power of two apart fall on each other in the
 * first. */
#define TILE_BEGIN(dtype, type, ROWS, VECTORS)                                                     \
    vector_##dtype acc[ROWS][VECTORS];                                                             \
    UNROLLED for (int i = 0; i < ROWS; i++) {                                                      \
        __builtin_prefetch((type *)c + rows[i], 0, 2);                                             \
        __builtin_prefetch((type *)c + rows[i] + VECTORS * LANES(dtype, type) - 1, 0, 2);          \
        UNROLLED for (int j = 0; j < VECTORS; j++) acc[i][j] = (vector_##dtype){0};                \
    }
#define TILE_END(dtype, type, ROWS, VECTORS)                                                       \
    UNROLLED for (int i = 0; i < ROWS; i++) UNROLLED for (int j = 0; j < VECTORS; j++) {           \
        type *cell = (type *)c + rows[i] + j * LANES(dtype, type);                                 \
        vector_##dtype sum = acc[i][j], old;                                                       \
        if (!first) {                                                                              \
            memcpy(&old, cell, sizeof old);                                                        \
            sum = old + sum;                                                                       \
        }                                                                                          \
        memcpy(cell, &sum, sizeof sum);                                                            \
    }

#define TILE_DEFINE(dtype, type, shape, ROWS, VECTORS)                                             \
    static void tile_##dtype##_##shape(const void *a_panel, const void *b_panel, int64_t n_k,      \
                                       void *c, const int64_t *rows, int first, const void *next,  \
                                       int64_t next_step) {                                        \
        const type *a = (const type *)a_panel, *b = (const type *)b_panel;                         \
        const char *near = (const char *)next;                                                     \
        TILE_BEGIN(dtype, type, ROWS, VECTORS)                                                     \
        for (int64_t k = 0; k < n_k; k++) {                                                        \
            __builtin_prefetch(near);                                                              \
            TILE_STEP(dtype, type, ROWS, VECTORS, a, 1, b)                                         \
            a += ROWS;                                                                             \
            b += VECTORS * LANES(dtype, type);                                                     \
            near += next_step;                                                                     \
        }                                                                                          \
        TILE_END(dtype, type, ROWS, VECTORS)                                                       \
    }
#define TILE_AT_DEFINE(dtype, type, shape, ROWS, VECTORS)                                          \
    static void tile_at_##dtype##_##shape##ROWS(                                                   \
        const void *a, int64_t a_stride, const int64_t *a_steps, const void *b,                    \
        const int64_t *b_steps, int64_t n_k, void *c, const int64_t *rows, int first) {            \
        TILE_BEGIN(dtype, type, ROWS, VECTORS)                                                     \
        for (int64_t k = 0; k < n_k; k++) {                                                        \
            const type *left_at = (const type *)a + a_steps[k];                                    \
            const type *right_at = (const type *)b + b_steps[k];                                   \
            if (ROWS >= 8) { /* b beside this is what comes next, where b lies in rows */          \
                __builtin_prefetch(right_at + VECTORS * LANES(dtype, type), 0, 2);                 \
                __builtin_prefetch(right_at + 2 * VECTORS * LANES(dtype, type) - 1, 0, 2);         \
            }                                                                                      \
            TILE_STEP(dtype, type, ROWS, VECTORS, left_at, a_stride, right_at)                     \
        }                                                                                          \
        TILE_END(dtype, type, ROWS, VECTORS)                                                       \
    }

#define TILES_DEFINE_(dtype, type, shape, VECTORS, a, b, c, d, e, f)                               \
    TILE_DEFINE(dtype, type, shape, a, VECTORS)                                                    \
    TILE_AT_DEFINE(dtype, type, shape, a, VECTORS)                                                 \
    TILE_AT_DEFINE(dtype, type, shape, b, VECTORS)                                                 \
    TILE_AT_DEFINE(dtype, type, shape, c, VECTORS)                                                 \
    TILE_AT_DEFINE(dtype, type, shape, d, VECTORS)                                                 \
    TILE_AT_DEFINE(dtype, type, shape, e, VECTORS)                                                 \
    TILE_AT_DEFINE(dtype, type, shape, f, VECTORS)
#define TILES_DEFINE(...) TILES_DEFINE_(__VA_ARGS__)
TILES_DEFINE(f32, float, wide, WIDE_VECTORS, WIDE_HEIGHTS)
TILES_DEFINE(f32, float, narrow, NARROW_VECTORS, NARROW_HEIGHTS)
TILES_DEFINE(f64, double, wide, WIDE_VECTORS, WIDE_HEIGHTS)
TILES_DEFINE(f64, double, narrow, NARROW_VECTORS, NARROW_HEIGHTS)
/* ---- lanes ------------------------------------------------------------------------------------*/

#if defined(__AVX512F__)
static inline vector_f32 part_f32(const float *x, int64_t n) {
    return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), x);
}
static inline vector_f64 part_f64(const double *x, int64_t n) {
    return _mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1), x);
}
#else
#define PART_DEFINE(dtype, type)                                                                   \
    static inline vector_##dtype part_##dtype(const type *x, int64_t n) {                          \
        type room[LANES(dtype, type)] = {0};                                                       \
        vector_##dtype v;                                                                          \
        for (int64_t i = 0; i < n; i++) room[i] = x[i];                                            \
        memcpy(&v, room, sizeof v);                                                                \
        return v;                                                                                  \
    }
PART_DEFINE(f32, float)
PART_DEFINE(f64, double)
#endif

/* ROWS rows of up to one vector of lanes, from lane l on; WHOLE: of exactly one. */
#define LANES_DEFINE(dtype, type, ROWS, WHOLE, Y_LANES)                                            \
    static void lanes_##dtype##_##ROWS##WHOLE##Y_LANES(const mica_cpu_lanes *a, int64_t row,       \
                                                       int64_t l) {                                \
        int64_t n = a->n_lanes - l;                                                                \
        vector_##dtype acc[ROWS];                                                                  \
        const type *x[ROWS], *y[ROWS];                                                             \
        UNROLLED for (int i = 0; i < ROWS; i++) {                                                  \
            acc[i] = (vector_##dtype){0};                                                          \
            x[i] = (const type *)a->x + a->x_rows[row + i] + l;                                    \
            y[i] = (const type *)a->y + a->y_rows[Y_LANES ? 0 : row + i] + (Y_LANES ? l : 0);      \
        }                                                                                          \
        for (int64_t k = 0; k < a->n_k; k++) {                                                     \
            int64_t x_step = a->x_steps[k], y_step = a->y_steps[k];                                \
            vector_##dtype right = {0}, left;                                                      \
            if (Y_LANES && WHOLE) memcpy(&right, y[0] + y_step, sizeof right);                     \
            if (Y_LANES && !WHOLE) right = part_##dtype(y[0] + y_step, n);                         \
            UNROLLED for (int i = 0; i < ROWS; i++) {                                              \
                if (!Y_LANES) right = y[i][y_step] - (vector_##dtype){0};                          \
                if (WHOLE)                                                                         \
                    memcpy(&left, x[i] + x_step, sizeof left);                                     \
                else                                                                               \
                    left = part_##dtype(x[i] + x_step, n);                                         \
                acc[i] = FMA_##dtype(left, right, acc[i]);                                         \
            }                                                                                      \
        }                                                                                          \
        UNROLLED for (int i = 0; i < ROWS; i++) {                                                  \
            type *cell = (type *)a->c + a->c_rows[row + i] + l, sums[LANES(dtype, type)];          \
            memcpy(sums, &acc[i], sizeof sums);                                                    \
            for (int64_t j = 0; j < LANES(dtype, type) && j < n; j++)                              \
                cell[j] = a->first ? sums[j] : cell[j] + sums[j];                                  \
        }                                                                                          \
    }
#define LANES_CHOOSE(dtype, WHOLE, Y_LANES)                                                        \
    {                                                                                              \
        int64_t i = 0;                                                                             \
        for (; i + 4 <= a->n_rows; i += 4) lanes_##dtype##_4##WHOLE##Y_LANES(a, i, l);             \
        for (; i < a->n_rows; i++) lanes_##dtype##_1##WHOLE##Y_LANES(a, i, l);                     \
    }
#define LANES_ALL(dtype, type)                                                                     \
    LANES_DEFINE(dtype, type, 4, 1, 1)                                                             \
    LANES_DEFINE(dtype, type, 4, 1, 0)                                                             \
    LANES_DEFINE(dtype, type, 4, 0, 1)                                                             \
    LANES_DEFINE(dtype, type, 4, 0, 0)                                                             \
    LANES_DEFINE(dtype, type, 1, 1, 1)                                                             \
    LANES_DEFINE(dtype, type, 1, 1, 0)                                                             \
    LANES_DEFINE(dtype, type, 1, 0, 1)                                                             \
    LANES_DEFINE(dtype, type, 1, 0, 0)                                                             \
    static void lanes_##dtype(const mica_cpu_lanes *a) {                                           \
        for (int64_t l = 0; l < a->n_lanes; l += LANES(dtype, type)) {                             \
            bool whole = l + LANES(dtype, type) <= a->n_lanes;                                     \
            if (whole && a->y_has_lanes) LANES_CHOOSE(dtype, 1, 1)                                 \
            if (whole && !a->y_has_lanes) LANES_CHOOSE(dtype, 1, 0)                                \
            if (!whole && a->y_has_lanes) LANES_CHOOSE(dtype, 0, 1)                                \
            if (!whole && !a->y_has_lanes) LANES_CHOOSE(dtype, 0, 0)                               \
        }                                                                                          \
    }
LANES_ALL(f32, float)
LANES_ALL(f64, double)

SCATTER_DEFINE(f32, float)
SCATTER_DEFINE(f64, double)

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

/* Rows that are neighbours, a vector at a time. */
#if defined(__AVX512F__)
static inline void copy_f32(float *to, const float *from, int64_t n) {
    for (; n >= 16; n -= 16, to += 16, from += 16) _mm512_storeu_ps(to, _mm512_loadu_ps(from));
    __mmask16 rest = (__mmask16)((1u << n) - 1);
    if (n) _mm512_mask_storeu_ps(to, rest, _mm512_maskz_loadu_ps(rest, from));
}
#else
static inline void copy_f32(float *to, const float *from, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) memcpy(to + i, from + i, 4 * sizeof *to);
    for (; i < n; i++) to[i] = from[i];
}
#endif
static inline void copy_f64(double *to, const double *from, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) memcpy(to + i, from + i, 4 * sizeof *to);
    for (; i < n; i++) to[i] = from[i];
}
static inline void copy_f16(float *to, const uint16_t *from, int64_t n) {
    for (int64_t i = 0; i < n; i++) to[i] = mica_convert_f16_f32(from[i]);
}
static inline void copy_bf16(float *to, const uint16_t *from, int64_t n) {
    for (int64_t i = 0; i < n; i++) to[i] = mica_convert_bf16_f32(from[i]);
}

PACK_DEFINE(pack_f16, uint16_t, float, mica_convert_f16_f32, copy_f16, PACK_NO_TRANSPOSE)
PACK_DEFINE(pack_bf16, uint16_t, float, mica_convert_bf16_f32, copy_bf16, PACK_NO_TRANSPOSE)
PACK_DEFINE(pack_f32, float, float, PACK_SAME, copy_f32, transpose_f32)
PACK_DEFINE(pack_f64, double, double, PACK_SAME, copy_f64, PACK_NO_TRANSPOSE)

#define GEMM_(dtype, type, shape, VECTORS, pack, a, b, c, d, e, f)                                 \
    {                                                                                              \
        a, VECTORS *LANES(dtype, type), sizeof(type), 1, tile_##dtype##_##shape,                   \
            {a, b, c, d, e, f}, {tile_at_##dtype##_##shape##a, tile_at_##dtype##_##shape##b,       \
                                 tile_at_##dtype##_##shape##c, tile_at_##dtype##_##shape##d,       \
                                 tile_at_##dtype##_##shape##e, tile_at_##dtype##_##shape##f},      \
            scatter_##dtype, lanes_##dtype, pack                                                   \
    }
#define GEMM(...) GEMM_(__VA_ARGS__)
#define GEMMS(shape, SHAPE)                                                                        \
    {                                                                                              \
        GEMM(f32, float, shape, SHAPE##_VECTORS, pack_f16, SHAPE##_HEIGHTS),                       \
            GEMM(f32, float, shape, SHAPE##_VECTORS, pack_bf16, SHAPE##_HEIGHTS),                  \
            GEMM(f32, float, shape, SHAPE##_VECTORS, pack_f32, SHAPE##_HEIGHTS),                   \
            GEMM(f64, double, shape, SHAPE##_VECTORS, pack_f64, SHAPE##_HEIGHTS),                  \
    }
const mica_cpu_gemm MICA_ISA_NAME(mica_cpu_gemm_float)[2][4] = {GEMMS(wide, WIDE),
                                                                GEMMS(narrow, NARROW)};
