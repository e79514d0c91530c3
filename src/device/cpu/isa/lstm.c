/* The loops of the recurrences of LSTM and GRU in f32: products of a few rows with packed weights,
 * and the gates. Products sum as contractions do: chains of fused multiply-adds over CPU_TILE_K
 * indices. */
#include <string.h>

#include "device/cpu/isa.h"
#include "ir/scalar.h"

#if defined(__AVX512F__)
#include <immintrin.h>
typedef __m512 vector;
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define SPREAD(x) _mm512_set1_ps(x)
#define WIDEST 8
#elif defined(__AVX2__)
#include <immintrin.h>
typedef __m256 vector;
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define SPREAD(x) _mm256_set1_ps(x)
#define WIDEST 4
#elif defined(__aarch64__)
#include <arm_neon.h>
typedef float32x4_t vector;
#define FMA(a, b, c) vfmaq_f32(c, a, b)
#define SPREAD(x) vdupq_n_f32(x)
#define WIDEST 8
#else
typedef float vector __attribute__((vector_size(16)));
static inline vector FMA(vector a, vector b, vector c) {
    for (int i = 0; i < 4; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
}
#define SPREAD(x) ((vector){x, x, x, x})
#define WIDEST 4
#endif

#define LANES ((int64_t)(sizeof(vector) / sizeof(float)))
#define COLUMNS (2 * LANES)

#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

/* c[i c_step + j] = sum over k of a[k ROWS + i] b[k, j] for the columns j of all panels. */
#define PRODUCT_DEFINE(ROWS)                                                                       \
    static void product_##ROWS(const float *a, const float *panels, int64_t n_k, int64_t n_panels, \
                               float *c, int64_t c_step) {                                         \
        for (int64_t p = 0; p < n_panels; p++, c += COLUMNS) {                                     \
            const float *left = a;                                                                 \
            for (int64_t first = 0; first < n_k; first += CPU_TILE_K) {                            \
                int64_t n = n_k - first < CPU_TILE_K ? n_k - first : CPU_TILE_K;                   \
                vector acc[ROWS][2];                                                               \
                UNROLLED for (int i = 0; i < ROWS; i++) acc[i][0] = acc[i][1] = SPREAD(0.0f);      \
                for (int64_t k = 0; k < n; k++, left += ROWS, panels += COLUMNS) {                 \
                    vector b0, b1;                                                                 \
                    memcpy(&b0, panels, sizeof b0);                                                \
                    memcpy(&b1, panels + LANES, sizeof b1);                                        \
                    UNROLLED for (int i = 0; i < ROWS; i++) {                                      \
                        vector x = SPREAD(left[i]);                                                \
                        acc[i][0] = FMA(x, b0, acc[i][0]);                                         \
                        acc[i][1] = FMA(x, b1, acc[i][1]);                                         \
                    }                                                                              \
                }                                                                                  \
                UNROLLED for (int i = 0; i < ROWS; i++) UNROLLED for (int j = 0; j < 2; j++) {     \
                    float *cell = c + i * c_step + j * LANES;                                      \
                    vector sum = acc[i][j], old;                                                   \
                    if (first) {                                                                   \
                        memcpy(&old, cell, sizeof old);                                            \
                        sum = old + sum;                                                           \
                    }                                                                              \
                    memcpy(cell, &sum, sizeof sum);                                                \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

PRODUCT_DEFINE(1)
PRODUCT_DEFINE(2)
PRODUCT_DEFINE(4)
#if WIDEST == 8
PRODUCT_DEFINE(8)
#endif

static void product(const float *a, int64_t rows, const float *panels, int64_t n_k,
                    int64_t n_panels, float *c, int64_t c_step) {
#if WIDEST == 8
    if (rows == 8) product_8(a, panels, n_k, n_panels, c, c_step);
#endif
    if (rows == 4) product_4(a, panels, n_k, n_panels, c, c_step);
    if (rows == 2) product_2(a, panels, n_k, n_panels, c, c_step);
    if (rows == 1) product_1(a, panels, n_k, n_panels, c, c_step);
}

/* ---- gates ------------------------------------------------------------------------------------*/

static void add_logistic(const float *restrict x, const float *restrict z, float *restrict y,
                         int64_t n) {
    for (int64_t j = 0; j < n; j++) y[j] = mica_logistic_f32(x[j] + z[j]);
}

static void add_tanh(const float *restrict x, const float *restrict z, float *restrict y,
                     int64_t n) {
    for (int64_t j = 0; j < n; j++) y[j] = mica_tanh_f32(x[j] + z[j]);
}

static void forward(const float *x, const float *z, const float *before, int64_t n, float *gates,
                    float *restrict cell, float *restrict y) {
    const float *restrict i = gates, *restrict f = gates + n;
    const float *restrict g = gates + 2 * n, *restrict o = gates + 3 * n;
    add_logistic(x, z, gates, 2 * n);
    add_tanh(x + 2 * n, z + 2 * n, gates + 2 * n, n);
    add_logistic(x + 3 * n, z + 3 * n, gates + 3 * n, n);
    for (int64_t j = 0; j < n; j++) {
        float c = f[j] * before[j] + i[j] * g[j];
        cell[j] = c;
        y[j] = o[j] * mica_tanh_f32(c);
    }
}

static void backward(const mica_cpu_lstm_back *at, int64_t n, float *restrict dc,
                     float *restrict dz) {
    const float *restrict i = at->gates, *restrict f = at->gates + n;
    const float *restrict g = at->gates + 2 * n, *restrict o = at->gates + 3 * n;
    const float *restrict cell = at->cell, *restrict before = at->before, *restrict dh = at->dh;
    const float *restrict dy = at->dy, *restrict own = at->dcell, *restrict d = at->dgates;
    for (int64_t j = 0; j < n; j++) {
        float h = dy[j] + dh[j], bent = mica_tanh_f32(cell[j]);
        float c = h * o[j] * (1.0f - bent * bent) + own[j] + dc[j];
        dz[j] = (c * g[j] + d[j]) * (i[j] * (1.0f - i[j]));
        dz[n + j] = (c * before[j] + d[n + j]) * (f[j] * (1.0f - f[j]));
        dz[2 * n + j] = (c * i[j] + d[2 * n + j]) * (1.0f - g[j] * g[j]);
        dz[3 * n + j] = (h * bent + d[3 * n + j]) * (o[j] * (1.0f - o[j]));
        dc[j] = c * f[j];
    }
}

/* ---- GRU --------------------------------------------------------------------------------------*/

static void gru_forward(const float *restrict x, const float *restrict u,
                        const float *restrict bias, const float *restrict before, int64_t n,
                        float *restrict gates, float *restrict y) {
    for (int64_t j = 0; j < 2 * n; j++) gates[j] = mica_logistic_f32(x[j] + (u[j] + bias[j]));
    for (int64_t j = 0; j < n; j++) {
        float z = gates[j], r = gates[n + j], m = u[2 * n + j] + bias[2 * n + j];
        float c = mica_tanh_f32(x[2 * n + j] + r * m);
        gates[2 * n + j] = c;
        gates[3 * n + j] = m;
        y[j] = z * before[j] + (1.0f - z) * c;
    }
}

static void gru_backward(const mica_cpu_gru_back *at, int64_t n, float *restrict direct,
                         float *restrict dx, float *restrict du) {
    const float *restrict z = at->gates, *restrict r = at->gates + n;
    const float *restrict c = at->gates + 2 * n, *restrict m = at->gates + 3 * n;
    const float *restrict before = at->before, *restrict dh = at->dh, *restrict dy = at->dy;
    const float *restrict own = at->dgates;
    for (int64_t j = 0; j < n; j++) {
        float d = dy[j] + (dh[j] + direct[j]), rest = 1.0f - z[j];
        float dn = (d * rest + own[2 * n + j]) * (1.0f - c[j] * c[j]);
        float dz = (d * (before[j] - c[j]) + own[j]) * (z[j] * rest);
        float dr = (dn * m[j] + own[n + j]) * (r[j] * (1.0f - r[j]));
        dx[j] = du[j] = dz;
        dx[n + j] = du[n + j] = dr;
        dx[2 * n + j] = dn;
        du[2 * n + j] = dn * r[j] + own[3 * n + j];
        direct[j] = d * z[j];
    }
}

const mica_cpu_lstm MICA_ISA_NAME(mica_cpu_lstm) = {WIDEST,   COLUMNS,     product,     forward,
                                                    backward, gru_forward, gru_backward};
