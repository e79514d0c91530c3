/* The composites mica.lstm_steps and mica.lstm_steps.back (nn/lstm_steps.c) in f32. */
#include <string.h>

#include "device/cpu/recurrent.h"

enum { GATES = 4 };

/* ---- forward ----------------------------------------------------------------------------------*/

enum { PROJECTED, HIDDEN, CELL, WEIGHTS };

static void forward_rows(const cpu_recurrence_run *run, int64_t first, int64_t rows, float *left,
                         float *product) {
    const cpu_recurrence *s = run->kernel;
    int64_t n = s->n, step = mica_cpu_recurrence_step(s);
    for (int64_t r = 0; r < rows; r++)
        mica_cpu_recurrence_place(s, run->in[HIDDEN] + (first + r) * n, rows, r, left);
    const float *before = run->in[CELL] + first * n;
    for (int64_t i = 0; i < s->time; i++) {
        int64_t at = mica_cpu_recurrence_at(s, i) * s->batch + first;
        mica_cpu_recurrence_multiply(run, left, rows, product);
        float *y = run->out[0] + at * n, *cell = run->out[1] + at * n;
        for (int64_t r = 0; r < rows; r++) {
            s->loops->forward(run->in[PROJECTED] + (at + r) * GATES * n, product + r * step,
                              before + r * n, n, run->out[2] + (at + r) * GATES * n, cell + r * n,
                              y + r * n);
            mica_cpu_recurrence_place(s, y + r * n, rows, r, left);
        }
        before = cell;
    }
}

/* ---- backward ---------------------------------------------------------------------------------*/

enum { GATES_IN, CELLS, FIRST_CELL, BACK_WEIGHTS, DY, DCELLS, DGATES };

static void backward_rows(const cpu_recurrence_run *run, int64_t first, int64_t rows, float *left,
                          float *product) {
    const cpu_recurrence *s = run->kernel;
    int64_t n = s->n, step = mica_cpu_recurrence_step(s);
    float *dc = run->out[2] + first * n;
    memset(dc, 0, (size_t)(rows * n) * sizeof *dc);
    memset(product, 0, (size_t)(rows * step) * sizeof *product);
    for (int64_t i = 0; i < s->time; i++) {
        int64_t at = mica_cpu_recurrence_at(s, i) * s->batch + first;
        const float *before = run->in[FIRST_CELL] + first * n;
        if (i + 1 < s->time)
            before = run->in[CELLS] + (mica_cpu_recurrence_at(s, i + 1) * s->batch + first) * n;
        for (int64_t r = 0; r < rows; r++) {
            mica_cpu_lstm_back here = {
                .gates = run->in[GATES_IN] + (at + r) * GATES * n,
                .cell = run->in[CELLS] + (at + r) * n,
                .before = before + r * n,
                .dh = product + r * step,
                .dy = run->in[DY] + (at + r) * n,
                .dcell = run->in[DCELLS] + (at + r) * n,
                .dgates = run->in[DGATES] + (at + r) * GATES * n,
            };
            float *dz = run->out[0] + (at + r) * GATES * n;
            s->loops->backward(&here, n, dc + r * n, dz);
            mica_cpu_recurrence_place(s, dz, rows, r, left);
        }
        mica_cpu_recurrence_multiply(run, left, rows, product);
    }
    for (int64_t r = 0; r < rows; r++)
        memcpy(run->out[1] + (first + r) * n, product + r * step, (size_t)n * sizeof *product);
}

/* ---- kernels ----------------------------------------------------------------------------------*/

bool mica_cpu_fits_lstm_steps(const mica_node *node) {
    return mica_cpu_recurrence_fits(node, "4hhw", GATES, 3);
}

bool mica_cpu_fits_lstm_steps_back(const mica_node *node) {
    return mica_cpu_recurrence_fits(node, "4shwss4", GATES, 3);
}

mica_status mica_cpu_create_lstm_steps(const mica_node *node, cpu_kernel **out) {
    return mica_cpu_recurrence_create(node, GATES, true, WEIGHTS, forward_rows, out);
}

mica_status mica_cpu_create_lstm_steps_back(const mica_node *node, cpu_kernel **out) {
    return mica_cpu_recurrence_create(node, GATES, false, BACK_WEIGHTS, backward_rows, out);
}
