/* Rows of scores in f32. Sums go over sixteen lanes, then a tree, on every instruction set. */
#include "device/cpu/isa.h"
#include "ir/scalar.h"

enum { LANES = 16 };

static float tree(float *lane) {
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    return lane[0];
}

static float largest(const float *x, int64_t n) {
    float lane[LANES], top;
    int64_t j = 0;
    for (int i = 0; i < LANES; i++) lane[i] = -MICA_INF_F32;
    for (; j + LANES <= n; j += LANES)
        for (int i = 0; i < LANES; i++) lane[i] = x[j + i] > lane[i] ? x[j + i] : lane[i];
    top = lane[0];
    for (int i = 1; i < LANES; i++) top = lane[i] > top ? lane[i] : top;
    for (; j < n; j++) top = x[j] > top ? x[j] : top;
    return top;
}

static float powers(float *x, int64_t n, float top) {
    float lane[LANES] = {0};
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (int i = 0; i < LANES; i++) {
            x[j + i] = mica_exp_f32(x[j + i] - top);
            lane[i] += x[j + i];
        }
    for (int i = 0; j < n; j++, i++) lane[i] += x[j] = mica_exp_f32(x[j] - top);
    return tree(lane);
}

static float inner(const float *x, const float *y, int64_t n) {
    float lane[LANES] = {0};
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (int i = 0; i < LANES; i++) lane[i] += x[j + i] * y[j + i];
    for (int i = 0; j < n; j++, i++) lane[i] += x[j] * y[j];
    return tree(lane);
}

static void back(float *restrict x, float *restrict d, int64_t n, float log_sum, float more,
                 float scale) {
    for (int64_t j = 0; j < n; j++) {
        float p = mica_exp_f32(x[j] - log_sum);
        d[j] = p * (d[j] + more) * scale;
        x[j] = p;
    }
}

static void blend(float *restrict y, float factor, const float *restrict x, int64_t n) {
    for (int64_t j = 0; j < n; j++) y[j] = y[j] * factor + x[j];
}

static float logarithm(float x) {
    return mica_log_f32(x);
}

const mica_cpu_attention MICA_ISA_NAME(mica_cpu_attention) = {largest, powers, inner,
                                                              back,    blend,  logarithm};
