/* Products of a matrix and a vector, straight from memory: each element of the matrix is used once,
 * so that packing it would cost more than the product. */
#include "device/cpu/isa.h"
#include "ir/scalar.h"

#define LANES 64

#define FMA_f32(a, b, c) MICA_FMA_F32(a, b, c)
#define FMA_f64(a, b, c) MICA_FMA_F64(a, b, c)
#define FMA_i32(a, b, c) mica_add_i32(mica_mul_i32(a, b), c)
#define FMA_i64(a, b, c) mica_add_i64(mica_mul_i64(a, b), c)

#define GEMV_ROWS(dtype, type)                                                                     \
    static type product_##dtype(const type *restrict a, const type *restrict x, int64_t k) {       \
        type lanes[LANES], rest_a[LANES], rest_x[LANES];                                           \
        int64_t i = 0;                                                                             \
        for (int l = 0; l < LANES; l++) lanes[l] = rest_a[l] = rest_x[l] = 0;                      \
        for (; i + LANES <= k; i += LANES)                                                         \
            for (int l = 0; l < LANES; l++) lanes[l] = FMA_##dtype(a[i + l], x[i + l], lanes[l]);  \
        for (int l = 0; i + l < k; l++) rest_a[l] = a[i + l], rest_x[l] = x[i + l];                \
        if (i < k)                                                                                 \
            for (int l = 0; l < LANES; l++)                                                        \
                lanes[l] = FMA_##dtype(rest_a[l], rest_x[l], lanes[l]);                            \
        for (int l = 0; l < 32; l++) lanes[l] = mica_add_##dtype(lanes[l], lanes[l + 32]);         \
        for (int l = 0; l < 16; l++) lanes[l] = mica_add_##dtype(lanes[l], lanes[l + 16]);         \
        for (int l = 0; l < 8; l++) lanes[l] = mica_add_##dtype(lanes[l], lanes[l + 8]);           \
        for (int l = 0; l < 4; l++) lanes[l] = mica_add_##dtype(lanes[l], lanes[l + 4]);           \
        return mica_add_##dtype(mica_add_##dtype(lanes[0], lanes[2]),                              \
                                mica_add_##dtype(lanes[1], lanes[3]));                             \
    }                                                                                              \
    static void rows_##dtype(const void *a, int64_t stride, const void *x, int64_t m, int64_t k,   \
                             void *y) {                                                            \
        for (int64_t i = 0; i < m; i++)                                                            \
            ((type *)y)[i] = product_##dtype((const type *)a + i * stride, (const type *)x, k);    \
    }
#define GEMV_COLUMNS(dtype, type)                                                                  \
    static void columns_##dtype(const void *a, int64_t stride, const void *x, int64_t n,           \
                                int64_t k, void *y) {                                              \
        type block[CPU_GEMV_STRIP];                                                                \
        type *restrict sum = (type *)y;                                                            \
        const type *restrict factors = (const type *)x;                                            \
        for (int64_t j = 0; j < n; j++) sum[j] = 0;                                                \
        for (int64_t begin = 0; begin < k; begin += CPU_TILE_K) {                                  \
            int64_t end = k - begin < CPU_TILE_K ? k : begin + CPU_TILE_K, i = begin;              \
            for (int64_t j = 0; j < n; j++) block[j] = 0;                                          \
            for (; i + 4 <= end; i += 4) {                                                         \
                const type *restrict p = (const type *)a + i * stride, *restrict q = p + stride;   \
                const type *restrict r = q + stride, *restrict s = r + stride;                     \
                type f = factors[i], g = factors[i + 1], h = factors[i + 2], e = factors[i + 3];   \
                for (int64_t j = 0; j < n; j++) {                                                  \
                    type t = FMA_##dtype(g, q[j], FMA_##dtype(f, p[j], block[j]));                 \
                    block[j] = FMA_##dtype(e, s[j], FMA_##dtype(h, r[j], t));                      \
                }                                                                                  \
            }                                                                                      \
            for (; i < end; i++) {                                                                 \
                const type *restrict p = (const type *)a + i * stride;                             \
                for (int64_t j = 0; j < n; j++)                                                    \
                    block[j] = FMA_##dtype(factors[i], p[j], block[j]);                            \
            }                                                                                      \
            for (int64_t j = 0; j < n; j++)                                                        \
                sum[j] = begin == 0 ? block[j] : mica_add_##dtype(sum[j], block[j]);               \
        }                                                                                          \
    }
#define GEMV_BOTH(dtype, type) GEMV_ROWS(dtype, type) GEMV_COLUMNS(dtype, type)
GEMV_BOTH(f32, float)
GEMV_BOTH(f64, double)
GEMV_BOTH(i32, int32_t)
GEMV_BOTH(i64, int64_t)

#define GEMV_ENTRY(dtype) [MICA_DTYPE_##dtype] = {rows_##dtype, columns_##dtype}
const mica_cpu_gemv MICA_ISA_NAME(mica_cpu_gemv)[MICA_DTYPE_COUNT] = {
    GEMV_ENTRY(f32), GEMV_ENTRY(f64), GEMV_ENTRY(i32), GEMV_ENTRY(i64)};
