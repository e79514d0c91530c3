/* Products of a matrix and a vector, straight from memory: each element of the matrix is used once,
 * so that packing it would cost more than the product. One line or two are read at a time: more of
 * them would be more streams than the memory serves well. */
#include "device/cpu/isa.h"
#include "ir/scalar.h"

#define LANES(type) ((int)(CPU_GEMV_LANE_BYTES / sizeof(type)))

/* Lanes stay in registers only where their address is not taken. */
#define ALWAYS inline __attribute__((always_inline))

/* Adds the upper `width` of the lanes to the lower. */
#define HALVE(lanes, width, ADD)                                                                   \
    for (int l = 0; l < (width); l++) (lanes)[l] = ADD((lanes)[l], (lanes)[l + (width)])
#define PLUS(a, b) ((a) + (b))

#define FMA_f32(a, b, c) MICA_FMA_F32(a, b, c)
#define FMA_f64(a, b, c) MICA_FMA_F64(a, b, c)
#define FMA_i32(a, b, c) mica_add_i32(mica_mul_i32(a, b), c)
#define FMA_i64(a, b, c) mica_add_i64(mica_mul_i64(a, b), c)

/* ---- real numbers and integers ----------------------------------------------------------------*/

/* finish: the last, shorter step of a row whose other steps are in `lanes`, and the sum. */
#define GEMV_ROWS(dtype, type)                                                                     \
    static ALWAYS type finish_##dtype(type *restrict lanes, const type *restrict a,                \
                                      const type *restrict x, int64_t rest) {                      \
        type rest_a[LANES(type)], rest_x[LANES(type)];                                             \
        if (rest > 0) {                                                                            \
            for (int l = 0; l < LANES(type); l++) rest_a[l] = rest_x[l] = 0;                       \
            for (int64_t l = 0; l < rest; l++) rest_a[l] = a[l], rest_x[l] = x[l];                 \
            for (int l = 0; l < LANES(type); l++)                                                  \
                lanes[l] = FMA_##dtype(rest_a[l], rest_x[l], lanes[l]);                            \
        }                                                                                          \
        if (LANES(type) == 64) HALVE(lanes, 32, mica_add_##dtype);                                 \
        HALVE(lanes, 16, mica_add_##dtype);                                                        \
        HALVE(lanes, 8, mica_add_##dtype);                                                         \
        HALVE(lanes, 4, mica_add_##dtype);                                                         \
        return mica_add_##dtype(mica_add_##dtype(lanes[0], lanes[2]),                              \
                                mica_add_##dtype(lanes[1], lanes[3]));                             \
    }                                                                                              \
    static void row_##dtype(const type *restrict a, const type *restrict x, int64_t k, type *y) {  \
        type lanes[LANES(type)];                                                                   \
        int64_t i = 0;                                                                             \
        for (int l = 0; l < LANES(type); l++) lanes[l] = 0;                                        \
        for (; i + LANES(type) <= k; i += LANES(type))                                             \
            for (int l = 0; l < LANES(type); l++)                                                  \
                lanes[l] = FMA_##dtype(a[i + l], x[i + l], lanes[l]);                              \
        *y = finish_##dtype(lanes, a + i, x + i, k - i);                                           \
    }                                                                                              \
    static void rows_##dtype(const void *a, int64_t stride, const void *x, int64_t m, int64_t k,   \
                             void *y) {                                                            \
        for (int64_t i = 0; i < m; i++)                                                            \
            row_##dtype((const type *)a + i * stride, (const type *)x, k, (type *)y + i);          \
    }

#define GEMV_COLUMNS(dtype, type)                                                                  \
    static void columns_##dtype(const void *a, int64_t stride, const void *x, int64_t n,           \
                                int64_t k, void *y) {                                              \
        type *restrict sum = (type *)y;                                                            \
        int64_t i = 0;                                                                             \
        for (int64_t j = 0; j < n; j++) sum[j] = 0;                                                \
        for (; i + 2 <= k; i += 2) {                                                               \
            const type *restrict p = (const type *)a + i * stride, *restrict q = p + stride;       \
            type f = ((const type *)x)[i], g = ((const type *)x)[i + 1];                           \
            for (int64_t j = 0; j < n; j++)                                                        \
                sum[j] = FMA_##dtype(g, q[j], FMA_##dtype(f, p[j], sum[j]));                       \
        }                                                                                          \
        for (; i < k; i++) {                                                                       \
            const type *restrict p = (const type *)a + i * stride;                                 \
            type f = ((const type *)x)[i];                                                         \
            for (int64_t j = 0; j < n; j++) sum[j] = FMA_##dtype(f, p[j], sum[j]);                 \
        }                                                                                          \
    }                                                                                              \
    static void add_##dtype(void *into, const void *from, int64_t n) {                             \
        type *restrict y = (type *)into;                                                           \
        for (int64_t j = 0; j < n; j++) y[j] = mica_add_##dtype(y[j], ((const type *)from)[j]);    \
    }

/* ---- complex numbers --------------------------------------------------------------------------
 * Every part of an element is multiplied by both parts of a factor: p by the first, q by the
 * second. Which of them is subtracted where is seen to once, at the end. */

#define PARTS(type) (LANES(type) / 2) /* of numbers, in as many lanes of p and of q */

/* Two rows share what is read of the vector, where there are registers for their lanes. */
#ifdef __AVX512F__
#define TWO_ROWS 1
#else
#define TWO_ROWS 0
#endif

#define GEMV_COMPLEX_ROWS(dtype, type, real)                                                       \
    static ALWAYS void finish_##dtype(type *restrict p, type *restrict q, const type *restrict a,  \
                                      const type *restrict x, const type *restrict e,              \
                                      int64_t rest, type *y) {                                     \
        type rest_a[PARTS(type)], rest_x[PARTS(type)], rest_e[PARTS(type)];                        \
        if (rest > 0) {                                                                            \
            for (int l = 0; l < PARTS(type); l++) rest_a[l] = rest_x[l] = rest_e[l] = 0;           \
            for (int64_t l = 0; l < rest; l++)                                                     \
                rest_a[l] = a[l], rest_x[l] = x[l], rest_e[l] = e[l];                              \
            for (int l = 0; l < PARTS(type); l++) {                                                \
                p[l] = FMA_##real(rest_a[l], rest_x[l], p[l]);                                     \
                q[l] = FMA_##real(rest_a[l], rest_e[l], q[l]);                                     \
            }                                                                                      \
        }                                                                                          \
        if (PARTS(type) == 32) {                                                                   \
            HALVE(p, 16, PLUS);                                                                    \
            HALVE(q, 16, PLUS);                                                                    \
        }                                                                                          \
        HALVE(p, 8, PLUS);                                                                         \
        HALVE(q, 8, PLUS);                                                                         \
        HALVE(p, 4, PLUS);                                                                         \
        HALVE(q, 4, PLUS);                                                                         \
        HALVE(p, 2, PLUS);                                                                         \
        HALVE(q, 2, PLUS);                                                                         \
        y[0] = p[0] - p[1];                                                                        \
        y[1] = q[0] + q[1];                                                                        \
    }                                                                                              \
    static void row_##dtype(const type *restrict a, const type *restrict x,                        \
                            const type *restrict e, int64_t k, type *y) {                          \
        type p[PARTS(type)], q[PARTS(type)];                                                       \
        int64_t i = 0;                                                                             \
        for (int l = 0; l < PARTS(type); l++) p[l] = q[l] = 0;                                     \
        for (; i + PARTS(type) <= k; i += PARTS(type))                                             \
            for (int l = 0; l < PARTS(type); l++) {                                                \
                p[l] = FMA_##real(a[i + l], x[i + l], p[l]);                                       \
                q[l] = FMA_##real(a[i + l], e[i + l], q[l]);                                       \
            }                                                                                      \
        finish_##dtype(p, q, a + i, x + i, e + i, k - i, y);                                       \
    }                                                                                              \
    static void two_rows_##dtype(const type *restrict a, const type *restrict b,                   \
                                 const type *restrict x, const type *restrict e, int64_t k,        \
                                 type *y) {                                                        \
        type p[PARTS(type)], q[PARTS(type)], r[PARTS(type)], s[PARTS(type)];                       \
        int64_t i = 0;                                                                             \
        for (int l = 0; l < PARTS(type); l++) p[l] = q[l] = r[l] = s[l] = 0;                       \
        for (; i + PARTS(type) <= k; i += PARTS(type))                                             \
            for (int l = 0; l < PARTS(type); l++) {                                                \
                p[l] = FMA_##real(a[i + l], x[i + l], p[l]);                                       \
                q[l] = FMA_##real(a[i + l], e[i + l], q[l]);                                       \
                r[l] = FMA_##real(b[i + l], x[i + l], r[l]);                                       \
                s[l] = FMA_##real(b[i + l], e[i + l], s[l]);                                       \
            }                                                                                      \
        finish_##dtype(p, q, a + i, x + i, e + i, k - i, y);                                       \
        finish_##dtype(r, s, b + i, x + i, e + i, k - i, y + 2);                                   \
    }                                                                                              \
    static void rows_##dtype(const void *matrix, int64_t stride, const void *vector, int64_t m,    \
                             int64_t k, void *result) {                                            \
        const type *a = (const type *)matrix, *x = (const type *)vector, *e = x + 2 * k;           \
        type *y = (type *)result;                                                                  \
        int64_t i = 0;                                                                             \
        for (; TWO_ROWS && i + 2 <= m; i += 2)                                                     \
            two_rows_##dtype(a + 2 * i * stride, a + 2 * (i + 1) * stride, x, e, 2 * k,            \
                             y + 2 * i);                                                           \
        for (; i < m; i++) row_##dtype(a + 2 * i * stride, x, e, 2 * k, y + 2 * i);                \
    }

#define GEMV_COMPLEX_COLUMNS(dtype, type, real)                                                    \
    static void columns_##dtype(const void *matrix, int64_t stride, const void *vector, int64_t n, \
                                int64_t k, void *result) {                                         \
        const type *a = (const type *)matrix, *x = (const type *)vector;                           \
        type p[2 * CPU_GEMV_STRIP], q[2 * CPU_GEMV_STRIP], *restrict y = (type *)result;           \
        int64_t i = 0;                                                                             \
        for (int64_t j = 0; j < 2 * n; j++) p[j] = q[j] = 0;                                       \
        for (; i + 4 <= k; i += 4) {                                                               \
            const type *restrict s = a + 2 * i * stride, *restrict t = s + 2 * stride;             \
            const type *restrict u = t + 2 * stride, *restrict v = u + 2 * stride;                 \
            const type *f = x + 2 * i;                                                             \
            type f0 = f[0], f1 = f[2], f2 = f[4], f3 = f[6];                                       \
            type g0 = f[1], g1 = f[3], g2 = f[5], g3 = f[7];                                       \
            for (int64_t j = 0; j < 2 * n; j++) {                                                  \
                type first = FMA_##real(f1, t[j], FMA_##real(f0, s[j], p[j]));                     \
                type second = FMA_##real(g1, t[j], FMA_##real(g0, s[j], q[j]));                    \
                p[j] = FMA_##real(f3, v[j], FMA_##real(f2, u[j], first));                          \
                q[j] = FMA_##real(g3, v[j], FMA_##real(g2, u[j], second));                         \
            }                                                                                      \
        }                                                                                          \
        for (; i < k; i++) {                                                                       \
            const type *restrict s = a + 2 * i * stride;                                           \
            for (int64_t j = 0; j < 2 * n; j++) {                                                  \
                p[j] = FMA_##real(x[2 * i], s[j], p[j]);                                           \
                q[j] = FMA_##real(x[2 * i + 1], s[j], q[j]);                                       \
            }                                                                                      \
        }                                                                                          \
        for (int64_t j = 0; j < 2 * n; j += 2) {                                                   \
            y[j] = p[j] - q[j + 1];                                                                \
            y[j + 1] = p[j + 1] + q[j];                                                            \
        }                                                                                          \
    }                                                                                              \
    static void add_##dtype(void *into, const void *from, int64_t n) {                             \
        type *restrict y = (type *)into;                                                           \
        for (int64_t j = 0; j < 2 * n; j++) y[j] += ((const type *)from)[j];                       \
    }

#define GEMV(dtype, type) GEMV_ROWS(dtype, type) GEMV_COLUMNS(dtype, type)
#define GEMV_COMPLEX(dtype, type, real)                                                            \
    GEMV_COMPLEX_ROWS(dtype, type, real) GEMV_COMPLEX_COLUMNS(dtype, type, real)
GEMV(f32, float)
GEMV(f64, double)
GEMV(i32, int32_t)
GEMV(i64, int64_t)
GEMV_COMPLEX(c64, float, f32)
GEMV_COMPLEX(c128, double, f64)

#define GEMV_ENTRY(dtype) [MICA_DTYPE_##dtype] = {rows_##dtype, columns_##dtype, add_##dtype}
const mica_cpu_gemv MICA_ISA_NAME(mica_cpu_gemv)[MICA_DTYPE_COUNT] = {
    GEMV_ENTRY(f32), GEMV_ENTRY(f64), GEMV_ENTRY(i32),
    GEMV_ENTRY(i64), GEMV_ENTRY(c64), GEMV_ENTRY(c128)};
