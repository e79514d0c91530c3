/* The composites mica.gru_steps and mica.gru_steps.back (nn/gru_steps.c) in f32. */
#include <string.h>

#include "device/cpu/recurrent.h"

enum { GATES = 3, KEPT = 4 };

/* ---- forward ----------------------------------------------------------------------------------*/

enum { PROJECTED, HIDDEN, WEIGHTS, BIAS };

static void forward_rows(const cpu_recurrence_run *run, int64_t first, int64_t rows, float *left,
                         float *product) {
    const cpu_recurrence *s = run->kernel;
    int64_t n = s->n, step = mica_cpu_recurrence_step(s);
    const float *before = run->in[HIDDEN] + first * n;
    for (int64_t r = 0; r < rows; r++) mica_cpu_recurrence_place(s, before + r * n, rows, r, left);
    for (int64_t i = 0; i < s->time; i++) {
        int64_t at = mica_cpu_recurrence_at(s, i) * s->batch + first;
        mica_cpu_recurrence_multiply(run, left, rows, product);
        float *y = run->out[0] + at * n;
        for (int64_t r = 0; r < rows; r++) {
            s->loops->gru_forward(run->in[PROJECTED] + (at + r) * GATES * n, product + r * step,
                                  run->in[BIAS], before + r * n, n,
                                  run->out[1] + (at + r) * KEPT * n, y + r * n);
            mica_cpu_recurrence_place(s, y + r * n, rows, r, left);
        }
        before = y;
    }
}

/* ---- backward ---------------------------------------------------------------------------------*/

enum { GATES_IN, OUTPUTS, FIRST_HIDDEN, BACK_WEIGHTS, DY, DGATES };

/* What came back without the weights is kept in the last result until it is whole. */
static void backward_rows(const cpu_recurrence_run *run, int64_t first, int64_t rows, float *left,
                          float *product) {
    const cpu_recurrence *s = run->kernel;
    int64_t n = s->n, step = mica_cpu_recurrence_step(s);
    float *direct = run->out[2] + first * n;
    memset(direct, 0, (size_t)(rows * n) * sizeof *direct);
    memset(product, 0, (size_t)(rows * step) * sizeof *product);
    for (int64_t i = 0; i < s->time; i++) {
        int64_t at = mica_cpu_recurrence_at(s, i) * s->batch + first;
        const float *before = run->in[FIRST_HIDDEN] + first * n;
        if (i + 1 < s->time)
            before = run->in[OUTPUTS] + (mica_cpu_recurrence_at(s, i + 1) * s->batch + first) * n;
        for (int64_t r = 0; r < rows; r++) {
            mica_cpu_gru_back here = {
                .gates = run->in[GATES_IN] + (at + r) * KEPT * n,
                .before = before + r * n,
                .dh = product + r * step,
                .dy = run->in[DY] + (at + r) * n,
                .dgates = run->in[DGATES] + (at + r) * KEPT * n,
            };
            float *du = run->out[1] + (at + r) * GATES * n;
            s->loops->gru_backward(&here, n, direct + r * n, run->out[0] + (at + r) * GATES * n,
                                   du);
            mica_cpu_recurrence_place(s, du, rows, r, left);
        }
        mica_cpu_recurrence_multiply(run, left, rows, product);
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < n; j++)
            direct[r * n + j] = product[r * step + j] + direct[r * n + j];
}

/* ---- kernels ----------------------------------------------------------------------------------*/

bool mica_cpu_fits_gru_steps(const mica_node *node) {
    return mica_cpu_recurrence_fits(node, "3hwb", GATES, 2);
}

bool mica_cpu_fits_gru_steps_back(const mica_node *node) {
    return mica_cpu_recurrence_fits(node, "4shws4", GATES, 3);
}

mica_status mica_cpu_create_gru_steps(const mica_node *node, cpu_kernel **out) {
    return mica_cpu_recurrence_create(node, GATES, true, WEIGHTS, forward_rows, out);
}

mica_status mica_cpu_create_gru_steps_back(const mica_node *node, cpu_kernel **out) {
    return mica_cpu_recurrence_create(node, GATES, false, BACK_WEIGHTS, backward_rows, out);
}
