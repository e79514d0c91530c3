/* device/cpu/recurrent.h: recurrences in f32 as one loop over time per few rows of the batch, which
 * go through all steps without waiting for others. The recurrent weights are packed once, by all.
 *
 * A piece is CPU_RECURRENT_ROWS rows of the batch, cut into groups of 8, 4, 2 or 1
 * (device/cpu/isa/lstm.c): the left side of a product lies k-major within its group. */
#ifndef MICA_DEVICE_CPU_RECURRENT_H
#define MICA_DEVICE_CPU_RECURRENT_H

#include "device/cpu/kernel.h"

enum { CPU_RECURRENT_ROWS = 8 };

typedef struct cpu_recurrence cpu_recurrence;

typedef struct cpu_recurrence_run {
    const cpu_recurrence *kernel;
    const float *const *in;
    float *const *out;
    float *scratch;
    const float *weights;
} cpu_recurrence_run;

/* All steps of rows first .. first + rows - 1; left and product are the piece's own. */
typedef void (*cpu_recurrence_rows)(const cpu_recurrence_run *run, int64_t first, int64_t rows,
                                    float *left, float *product);

struct cpu_recurrence {
    cpu_kernel base;
    const mica_cpu_lstm *loops;
    cpu_recurrence_rows run_rows;
    int32_t weights_at; /* of the operands */
    bool is_forward;
    bool reverse;               /* the last step comes first */
    int64_t time, batch, n;     /* n: size of the hidden state */
    int64_t k, columns, panels; /* of the product: contracted, columns, panels of columns */
    size_t pieces_at, piece;    /* in scratch, in floats: where pieces' memory begins, its size */
};

/* Of `gates` gates: forward multiplies states with weights (gates n, n), backward what comes to
 * the gates with the same weights transposed. */
MICA_MUST_CHECK mica_status mica_cpu_recurrence_create(const mica_node *node, int32_t gates,
                                                       bool is_forward, int32_t weights_at,
                                                       cpu_recurrence_rows run_rows,
                                                       cpu_kernel **out);

/* f32 operands of these shapes, by a letter each: steps of gates (time, batch, count n) by a digit,
 * steps (s), a state (h), weights (w: (gates n, n)) and a bias (b: (gates n)); `kept` is the count
 * of the first operand's. A batched composite has other ones. */
bool mica_cpu_recurrence_fits(const mica_node *node, const char *shapes, int32_t gates,
                              int32_t n_results);

/* Row r of `rows` (k elements) becomes column r of the left side of the products. */
void mica_cpu_recurrence_place(const cpu_recurrence *s, const float *row, int64_t rows, int64_t r,
                               float *left);
/* product (rows, panels of columns) = left by the packed weights. */
void mica_cpu_recurrence_multiply(const cpu_recurrence_run *run, const float *left, int64_t rows,
                                  float *product);
/* Of a product, from one row to the next. */
static inline int64_t mica_cpu_recurrence_step(const cpu_recurrence *s) {
    return s->panels * s->loops->columns;
}
/* Which step comes i-th. */
static inline int64_t mica_cpu_recurrence_at(const cpu_recurrence *s, int64_t i) {
    return s->reverse == s->is_forward ? s->time - 1 - i : i;
}

#endif
