/* The transforms of Winograd's convolution F(2x2, 3x3) in f32, and of its gradient by the kernel,
 * F(3x3, 2x2): points 0, 1, -1 and infinity. All are sums of a few terms in a fixed order, so that
 * the width of vectors changes no bit. */
#include <string.h>

#include "device/cpu/isa.h"

#if defined(__AVX512F__)
typedef float vector __attribute__((vector_size(64), may_alias));
#elif defined(__AVX2__)
typedef float vector __attribute__((vector_size(32), may_alias));
#else
typedef float vector __attribute__((vector_size(16), may_alias));
#endif

#define LANES ((int64_t)(sizeof(vector) / sizeof(float)))

#if defined(__x86_64__) && !defined(__AVX2__)
#define UNROLLED /* small code */
#elif defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

#define LOAD(type, x, from) memcpy(&(x), from, sizeof(type))
#define STORE(type, to, x) memcpy(to, &(x), sizeof(type))

/* From four places along an axis to four points, with the element in column j of row i at
 * x[i * row + j * column]. */
#define INPUT_LINE(x, row, i)                                                                      \
    {                                                                                              \
        __typeof__(x[0]) a = x[i], b = x[(i) + (row)], c = x[(i) + 2 * (row)],                     \
                         d = x[(i) + 3 * (row)];                                                   \
        x[i] = a - c;                                                                              \
        x[(i) + (row)] = b + c;                                                                    \
        x[(i) + 2 * (row)] = c - b;                                                                \
        x[(i) + 3 * (row)] = b - d;                                                                \
    }
#define INPUT_STEP(type)                                                                           \
    {                                                                                              \
        type x[16];                                                                                \
        UNROLLED for (int i = 0; i < 16; i++) LOAD(type, x[i], at[i] + lane);                      \
        UNROLLED for (int i = 0; i < 4; i++) INPUT_LINE(x, 4, i)                                   \
            UNROLLED for (int i = 0; i < 4; i++) INPUT_LINE(x, 1, 4 * i)                           \
                UNROLLED for (int i = 0; i < 16; i++) STORE(type, v + i * step + lane, x[i]);      \
    }
static void input(const float *const at[16], int64_t n, float *v, int64_t step) {
    int64_t lane = 0;
    for (; lane + LANES <= n; lane += LANES) INPUT_STEP(vector)
    for (; lane < n; lane++) INPUT_STEP(float)
}

/* Four points to two results; beyond[] becomes 0 times them: NaN where one is not finite. */
#define OUTPUT_STEP(type, beyond)                                                                  \
    {                                                                                              \
        type x[4][4], s[2][4], y[2][2];                                                            \
        UNROLLED for (int i = 0; i < 16; i++) LOAD(type, x[i / 4][i % 4], m + i * step + lane);    \
        UNROLLED for (int j = 0; j < 4; j++) {                                                     \
            s[0][j] = x[0][j] + x[1][j] + x[2][j];                                                 \
            s[1][j] = x[1][j] - x[2][j] - x[3][j];                                                 \
        }                                                                                          \
        UNROLLED for (int i = 0; i < 2; i++) {                                                     \
            y[i][0] = s[i][0] + s[i][1] + s[i][2];                                                 \
            y[i][1] = s[i][1] - s[i][2] - s[i][3];                                                 \
            beyond += y[i][0] * 0.0f;                                                              \
            beyond += y[i][1] * 0.0f;                                                              \
        }                                                                                          \
        UNROLLED for (int i = 0; i < 4; i++) if (at[i])                                            \
            STORE(type, at[i] + lane, y[i / 2][i % 2]);                                            \
    }
static int output(const float *m, int64_t step, int64_t n, float *const at[4]) {
    vector beyond = {0};
    float rest = 0;
    int64_t lane = 0;
    for (; lane + LANES <= n; lane += LANES) OUTPUT_STEP(vector, beyond)
    for (; lane < n; lane++) OUTPUT_STEP(float, rest)
    for (int64_t i = 0; i < LANES; i++) rest += beyond[i];
    return rest == 0;
}

/* Three taps to four points. */
#define KERNEL_LINE(to, a, b, c)                                                                   \
    {                                                                                              \
        to[0] = a;                                                                                 \
        to[1] = ((a) + (c) + (b)) * 0.5f;                                                          \
        to[2] = ((a) + (c) - (b)) * 0.5f;                                                          \
        to[3] = c;                                                                                 \
    }
#define KERNEL_STEP(type)                                                                          \
    {                                                                                              \
        type w[9], lines[3][4], u[4];                                                              \
        UNROLLED for (int i = 0; i < 9; i++) LOAD(type, w[i], taps + i * tap_step + lane);         \
        UNROLLED for (int j = 0; j < 3; j++) KERNEL_LINE(lines[j], w[j], w[3 + j], w[6 + j])       \
            UNROLLED for (int i = 0; i < 4; i++) {                                                 \
            KERNEL_LINE(u, lines[0][i], lines[1][i], lines[2][i])                                  \
            UNROLLED for (int j = 0; j < 4; j++)                                                   \
                STORE(type, to + (4 * i + j) * step + lane, u[j]);                                 \
        }                                                                                          \
    }
static void kernel(const float *taps, int64_t tap_step, int64_t n, float *to, int64_t step) {
    int64_t lane = 0;
    for (; lane + LANES <= n; lane += LANES) KERNEL_STEP(vector)
    for (; lane < n; lane++) KERNEL_STEP(float)
}

/* Two results' gradients to four points; the halves come with `taps`. */
#define SPREAD_LINE(to, a, b)                                                                      \
    {                                                                                              \
        to[0] = a;                                                                                 \
        to[1] = (a) + (b);                                                                         \
        to[2] = (a) - (b);                                                                         \
        to[3] = b;                                                                                 \
    }
#define SPREAD_STEP(type)                                                                          \
    {                                                                                              \
        type x[4], lines[2][4], d[4];                                                              \
        UNROLLED for (int i = 0; i < 4; i++) LOAD(type, x[i], at[i] + lane);                       \
        UNROLLED for (int j = 0; j < 2; j++) SPREAD_LINE(lines[j], x[j], x[2 + j])                 \
            UNROLLED for (int i = 0; i < 4; i++) {                                                 \
            SPREAD_LINE(d, lines[0][i], lines[1][i])                                               \
            UNROLLED for (int j = 0; j < 4; j++)                                                   \
                STORE(type, to + (4 * i + j) * step + lane, d[j]);                                 \
        }                                                                                          \
    }
static void spread(const float *const at[4], int64_t n, float *to, int64_t step) {
    int64_t lane = 0;
    for (; lane + LANES <= n; lane += LANES) SPREAD_STEP(vector)
    for (; lane < n; lane++) SPREAD_STEP(float)
}

/* Four points to three taps. */
#define TAPS_LINE(to, a, b, c, d)                                                                  \
    {                                                                                              \
        to[0] = a + ((b) + (c)) * 0.5f;                                                            \
        to[1] = ((b) - (c)) * 0.5f;                                                                \
        to[2] = ((b) + (c)) * 0.5f - (d);                                                          \
    }
#define TAPS_STEP(type, beyond)                                                                    \
    {                                                                                              \
        type x[4][4], lines[4][3], w[3];                                                           \
        UNROLLED for (int i = 0; i < 16; i++) LOAD(type, x[i / 4][i % 4], m + i * step + lane);    \
        UNROLLED for (int j = 0; j < 4; j++)                                                       \
            TAPS_LINE(lines[j], x[0][j], x[1][j], x[2][j], x[3][j])                                \
                UNROLLED for (int i = 0; i < 3; i++) {                                             \
            TAPS_LINE(w, lines[0][i], lines[1][i], lines[2][i], lines[3][i])                       \
            UNROLLED for (int j = 0; j < 3; j++) {                                                 \
                beyond += w[j] * 0.0f;                                                             \
                STORE(type, at[3 * i + j] + lane, w[j]);                                           \
            }                                                                                      \
        }                                                                                          \
    }
static int taps(const float *m, int64_t step, int64_t n, float *const at[9]) {
    vector beyond = {0};
    float rest = 0;
    int64_t lane = 0;
    for (; lane + LANES <= n; lane += LANES) TAPS_STEP(vector, beyond)
    for (; lane < n; lane++) TAPS_STEP(float, rest)
    for (int64_t i = 0; i < LANES; i++) rest += beyond[i];
    return rest == 0;
}

static void add_scaled(float *y, float factor, const float *x, int64_t step, int64_t n) {
    if (step == 1)
        for (int64_t i = 0; i < n; i++) y[i] = __builtin_fmaf(factor, x[i], y[i]);
    else
        for (int64_t i = 0; i < n; i++) y[i] = __builtin_fmaf(factor, x[i * step], y[i]);
}

const mica_cpu_winograd MICA_ISA_NAME(mica_cpu_winograd) = {input,  output, kernel,
                                                            spread, taps,   add_scaled};
