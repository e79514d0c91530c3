/* codegen/prelude/host_contract.h: contractions for programs of C that run without Mica, in the
 * order of device/cpu/contract.h: element (m, n) is the sum over groups of blocks of k, in order,
 * of sums over blocks of 256 indices, in order, of one chain of fused multiply-adds each. Which
 * vectors and tiles compute them changes no bit. */
#ifndef MICA_CODEGEN_PRELUDE_HOST_CONTRACT_H
#define MICA_CODEGEN_PRELUDE_HOST_CONTRACT_H

#include "codegen/prelude/host_space.h"

/* c[b, m, n] = the sum over k of x[b, m, k] y[b, k, n]. */
typedef struct mica_host_contraction {
    mica_space x_batch, x_m, x_k, y_batch, y_k, y_n, c_batch, c_m, c_n;
    int64_t group_blocks; /* blocks of k that are added up before they are added to c */
} mica_host_contraction;

#if defined(__AVX512F__)
#include <immintrin.h>
#define MICA_TALL 8
typedef __m512 mica_vector_f32;
typedef __m512d mica_vector_f64;
#define MICA_VECTOR_FMA_f32(a, b, c) _mm512_fmadd_ps(a, b, c)
#define MICA_VECTOR_FMA_f64(a, b, c) _mm512_fmadd_pd(a, b, c)
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define MICA_TALL 6
typedef __m256 mica_vector_f32;
typedef __m256d mica_vector_f64;
#define MICA_VECTOR_FMA_f32(a, b, c) _mm256_fmadd_ps(a, b, c)
#define MICA_VECTOR_FMA_f64(a, b, c) _mm256_fmadd_pd(a, b, c)
#elif defined(__aarch64__)
#include <arm_neon.h>
#define MICA_TALL 8
typedef float32x4_t mica_vector_f32;
typedef float64x2_t mica_vector_f64;
#define MICA_VECTOR_FMA_f32(a, b, c) vfmaq_f32(c, a, b)
#define MICA_VECTOR_FMA_f64(a, b, c) vfmaq_f64(c, a, b)
#else
#define MICA_TALL 6
typedef float mica_vector_f32 __attribute__((vector_size(16)));
typedef double mica_vector_f64 __attribute__((vector_size(16)));
MICA_CALLED mica_vector_f32 MICA_VECTOR_FMA_f32(mica_vector_f32 a, mica_vector_f32 b,
                                                mica_vector_f32 c) {
    for (int i = 0; i < 4; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
}
MICA_CALLED mica_vector_f64 MICA_VECTOR_FMA_f64(mica_vector_f64 a, mica_vector_f64 b,
                                                mica_vector_f64 c) {
    for (int i = 0; i < 2; i++) c[i] = __builtin_fma(a[i], b[i], c[i]);
    return c;
}
#endif

#if defined(__clang__)
#define MICA_UNROLLED _Pragma("unroll")
#else
#define MICA_UNROLLED _Pragma("GCC unroll 16")
#endif

#define MICA_BLOCK_K 256
#define MICA_ROWS_AT_ONCE 256 /* whose places are found together */
#define MICA_VECTOR_LANES(dtype, type) ((int)(sizeof(mica_vector_##dtype) / sizeof(type)))

/* sums[i][j] = the chain over n_k of x[rows[i] + steps[k]] panel[k][j]. */
#define MICA_HOST_TILE(dtype, type, ROWS, VECTORS)                                                 \
    MICA_CALLED void mica_tile_##dtype##_##ROWS##_##VECTORS(                                       \
        const type *x, const int64_t *rows, const int64_t *steps, const type *panel, int64_t n_k,  \
        type *sums) {                                                                              \
        enum { LANES = MICA_VECTOR_LANES(dtype, type) };                                           \
        mica_vector_##dtype acc[ROWS][VECTORS];                                                    \
        const type *at[ROWS];                                                                      \
        MICA_UNROLLED for (int i = 0; i < ROWS; i++) {                                             \
            at[i] = x + rows[i];                                                                   \
            MICA_UNROLLED for (int j = 0; j < VECTORS; j++) acc[i][j] = (mica_vector_##dtype){0};  \
        }                                                                                          \
        for (int64_t k = 0; k < n_k; k++, panel += VECTORS * LANES) {                              \
            const int64_t step = steps[k];                                                         \
            mica_vector_##dtype right[VECTORS];                                                    \
            MICA_UNROLLED for (int j = 0; j < VECTORS; j++)                                        \
                memcpy(&right[j], panel + j * LANES, sizeof right[j]);                             \
            MICA_UNROLLED for (int i = 0; i < ROWS; i++) {                                         \
                const mica_vector_##dtype left = at[i][step] - (mica_vector_##dtype){0};           \
                MICA_UNROLLED for (int j = 0; j < VECTORS; j++) acc[i][j] =                        \
                    MICA_VECTOR_FMA_##dtype(left, right[j], acc[i][j]);                            \
            }                                                                                      \
        }                                                                                          \
        MICA_UNROLLED for (int i = 0; i < ROWS; i++)                                               \
            MICA_UNROLLED for (int j = 0; j < VECTORS; j++)                                        \
                memcpy(sums + (i * VECTORS + j) * LANES, &acc[i][j], sizeof acc[i][j]);            \
    }
#define MICA_HOST_TILES(dtype, type, ROWS)                                                         \
    MICA_HOST_TILE(dtype, type, ROWS, 1)                                                           \
    MICA_HOST_TILE(dtype, type, ROWS, 2)

#define MICA_HOST_TILE_CALL(dtype, ROWS)                                                           \
    (vectors == 2 ? mica_tile_##dtype##_##ROWS##_2                                                 \
                  : mica_tile_##dtype##_##ROWS##_1)(x, rows + i, steps, panel, n_k, sums)

#define MICA_HOST_CONTRACT_NAMED(dtype, type, TALL)                                                \
    MICA_HOST_TILES(dtype, type, TALL)                                                             \
    MICA_HOST_TILES(dtype, type, 4)                                                                \
    MICA_HOST_TILES(dtype, type, 2)                                                                \
    MICA_HOST_TILES(dtype, type, 1)                                                                \
    /* n columns of y, `width` apart once they are packed; what is left of it is zeros. */         \
    MICA_CALLED void mica_pack_##dtype(const type *y, const int64_t *steps, int64_t n_k,           \
                                       const int64_t *columns, int64_t n, int64_t width,           \
                                       type *panel) {                                              \
        if (n < width) memset(panel, 0, (size_t)(n_k * width) * sizeof *panel);                    \
        if (columns[n - 1] == columns[0] + n - 1) {                                                \
            for (int64_t k = 0; k < n_k; k++)                                                      \
                memcpy(panel + k * width, y + steps[k] + columns[0], (size_t)n * sizeof *panel);   \
            return;                                                                                \
        }                                                                                          \
        for (int64_t k = 0; k < n_k; k += 16) /* columns share cache lines where k is a line */    \
            for (int64_t j = 0; j < n; j++)                                                        \
                for (int64_t l = k; l < k + 16 && l < n_k; l++)                                    \
                    panel[l * width + j] = y[steps[l] + columns[j]];                               \
    }                                                                                              \
    MICA_CALLED void mica_keep_##dtype(const type *sums, int64_t width, type *c,                   \
                                       const int64_t *rows, int64_t n_rows,                        \
                                       const int64_t *columns, int64_t n, int first) {             \
        const int is_line = columns[n - 1] == columns[0] + n - 1;                                  \
        for (int64_t i = 0; i < n_rows; i++, sums += width) {                                      \
            type *restrict to = c + rows[i];                                                       \
            if (is_line && first)                                                                  \
                memcpy(to + columns[0], sums, (size_t)n * sizeof *sums);                           \
            else if (is_line)                                                                      \
                for (int64_t j = 0; j < n; j++) to[columns[0] + j] = to[columns[0] + j] + sums[j]; \
            else                                                                                   \
                for (int64_t j = 0; j < n; j++)                                                    \
                    to[columns[j]] = first ? sums[j] : to[columns[j]] + sums[j];                   \
        }                                                                                          \
    }                                                                                              \
    /* Rows m .. m + n_m - 1 by the columns of a panel. */                                         \
    MICA_CALLED void mica_multiply_##dtype(const type *x, const int64_t *rows, int64_t n_m,        \
                                           const int64_t *steps, int64_t n_k, const type *panel,   \
                                           int64_t vectors, type *c, const int64_t *c_rows,        \
                                           const int64_t *columns, int64_t n, int first) {         \
        type sums[TALL * 2 * MICA_VECTOR_LANES(dtype, type)];                                      \
        const int64_t width = vectors * MICA_VECTOR_LANES(dtype, type);                            \
        for (int64_t i = 0, height; i < n_m; i += height) {                                        \
            const int64_t left = n_m - i;                                                          \
            height = left >= TALL ? TALL : left >= 4 ? 4 : left >= 2 ? 2 : 1;                      \
            if (height == TALL)                                                                    \
                MICA_HOST_TILE_CALL(dtype, TALL);                                                  \
            else if (height == 4)                                                                  \
                MICA_HOST_TILE_CALL(dtype, 4);                                                     \
            else if (height == 2)                                                                  \
                MICA_HOST_TILE_CALL(dtype, 2);                                                     \
            else                                                                                   \
                MICA_HOST_TILE_CALL(dtype, 1);                                                     \
            mica_keep_##dtype(sums, width, c, c_rows + i, height, columns, n, first);              \
        }                                                                                          \
    }                                                                                              \
    /* Blocks `block` .. `end` - 1 of k, of one batch. */                                          \
    MICA_CALLED void mica_group_##dtype(const mica_host_contraction *a, const type *x,             \
                                        const type *y, type *c, const mica_space *c_m,             \
                                        const mica_space *c_n, int64_t block, int64_t end) {       \
        enum { MOST = 2 * MICA_VECTOR_LANES(dtype, type) };                                        \
        int64_t rows[MICA_ROWS_AT_ONCE], c_rows[MICA_ROWS_AT_ONCE];                                \
        int64_t x_steps[MICA_BLOCK_K], y_steps[MICA_BLOCK_K];                                      \
        int64_t columns[MOST], c_columns[MOST];                                                    \
        type panel[MICA_BLOCK_K * MOST];                                                           \
        for (int64_t b = block; b < end; b++) {                                                    \
            const int64_t k = b * MICA_BLOCK_K, left = a->x_k.n - k;                               \
            const int64_t n_k = left < MICA_BLOCK_K ? left : MICA_BLOCK_K;                         \
            mica_host_positions(&a->x_k, k, n_k, x_steps);                                         \
            mica_host_positions(&a->y_k, k, n_k, y_steps);                                         \
            for (int64_t j = 0, n; j < a->y_n.n; j += n) {                                         \
                const int64_t rest = a->y_n.n - j;                                                 \
                const int64_t vectors = rest > MOST / 2 ? 2 : 1, width = vectors * MOST / 2;       \
                n = rest < width ? rest : width;                                                   \
                mica_host_positions(&a->y_n, j, n, columns);                                       \
                mica_host_positions(c_n, j, n, c_columns);                                         \
                mica_pack_##dtype(y, y_steps, n_k, columns, n, width, panel);                      \
                for (int64_t m = 0, n_m; m < a->x_m.n; m += n_m) {                                 \
                    n_m = a->x_m.n - m;                                                            \
                    if (n_m > MICA_ROWS_AT_ONCE) n_m = MICA_ROWS_AT_ONCE;                          \
                    mica_host_positions(&a->x_m, m, n_m, rows);                                    \
                    mica_host_positions(c_m, m, n_m, c_rows);                                      \
                    mica_multiply_##dtype(x, rows, n_m, x_steps, n_k, panel, vectors, c, c_rows,   \
                                          c_columns, n, b == block);                               \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    /* sums: room for m n elements where there are several groups. */                              \
    MICA_CALLED void mica_contract_##dtype(const mica_host_contraction *a, const type *x,          \
                                           const type *y, type *c, type *sums) {                   \
        const int64_t blocks = (a->x_k.n + MICA_BLOCK_K - 1) / MICA_BLOCK_K;                       \
        const int64_t m = a->x_m.n, n = a->y_n.n;                                                  \
        const mica_space dense_m = {.rank = 1, .n = m, .sizes = {m}, .strides = {n}};              \
        const mica_space dense_n = {.rank = 1, .n = n, .sizes = {n}, .strides = {1}};              \
        for (int64_t i = 0; i < a->c_batch.n; i++) {                                               \
            const type *left = x + mica_host_position(&a->x_batch, i);                             \
            const type *right = y + mica_host_position(&a->y_batch, i);                            \
            type *to = c + mica_host_position(&a->c_batch, i);                                     \
            for (int64_t b = 0, end; b < blocks; b = end) {                                        \
                end = b + a->group_blocks < blocks ? b + a->group_blocks : blocks;                 \
                if (b == 0) {                                                                      \
                    mica_group_##dtype(a, left, right, to, &a->c_m, &a->c_n, b, end);              \
                    continue;                                                                      \
                }                                                                                  \
                mica_group_##dtype(a, left, right, sums, &dense_m, &dense_n, b, end);              \
                for (int64_t r = 0; r < m; r++) {                                                  \
                    type *row = to + mica_host_position(&a->c_m, r);                               \
                    for (int64_t j = 0; j < n; j++) {                                              \
                        type *cell = row + mica_host_position(&a->c_n, j);                         \
                        *cell = *cell + sums[r * n + j];                                           \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
#define MICA_HOST_CONTRACT(dtype, type, TALL) MICA_HOST_CONTRACT_NAMED(dtype, type, TALL)

MICA_HOST_CONTRACT(f32, float, MICA_TALL)
MICA_HOST_CONTRACT(f64, double, MICA_TALL)

/* A matrix by a vector: by rows in lanes of 256 bytes, halved down; by columns in blocks of k. */
#define MICA_HOST_VECTOR(dtype, type, FMA)                                                         \
    MICA_CALLED void mica_rows_by_vector_##dtype(const type *a, int64_t stride, const type *x,     \
                                                 int64_t n, int64_t n_k, type *y) {                \
        enum { LANES = 256 / sizeof(type) };                                                       \
        for (int64_t r = 0; r < n; r++, a += stride) {                                             \
            type lanes[LANES] = {0}, rest_a[LANES] = {0}, rest_x[LANES] = {0};                     \
            int64_t i = 0;                                                                         \
            for (; i + LANES <= n_k; i += LANES)                                                   \
                for (int l = 0; l < LANES; l++) lanes[l] = FMA(a[i + l], x[i + l], lanes[l]);      \
            if (i < n_k) {                                                                         \
                for (int64_t l = 0; l < n_k - i; l++) rest_a[l] = a[i + l], rest_x[l] = x[i + l];  \
                for (int l = 0; l < LANES; l++) lanes[l] = FMA(rest_a[l], rest_x[l], lanes[l]);    \
            }                                                                                      \
            for (int half = LANES / 2; half > 2; half /= 2)                                        \
                for (int l = 0; l < half; l++) lanes[l] = lanes[l] + lanes[l + half];              \
            y[r] = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);                                  \
        }                                                                                          \
    }                                                                                              \
    MICA_CALLED void mica_columns_by_vector_##dtype(const type *a, int64_t stride, const type *x,  \
                                                    int64_t n, int64_t n_k, type *y) {             \
        enum { STRIP = 256 };                                                                      \
        for (int64_t j = 0; j < n; j += STRIP) {                                                   \
            const int64_t width = n - j < STRIP ? n - j : STRIP;                                   \
            for (int64_t k = 0; k < n_k; k += MICA_BLOCK_K) {                                      \
                type sums[STRIP] = {0};                                                            \
                for (int64_t i = k; i < k + MICA_BLOCK_K && i < n_k; i++) {                        \
                    const type *restrict row = a + i * stride + j, f = x[i];                       \
                    for (int64_t l = 0; l < width; l++) sums[l] = FMA(f, row[l], sums[l]);         \
                }                                                                                  \
                for (int64_t l = 0; l < width; l++)                                                \
                    y[j + l] = k == 0 ? sums[l] : y[j + l] + sums[l];                              \
            }                                                                                      \
        }                                                                                          \
    }
MICA_HOST_VECTOR(f32, float, MICA_FMA_F32)
MICA_HOST_VECTOR(f64, double, MICA_FMA_F64)

#endif
