#include "device/cpu/recurrent.h"

#include <string.h>

/* ---- weights ----------------------------------------------------------------------------------*/

/* Panel p holds columns p columns ... of all k, k-major; what is beyond the last column is 0. */
static void pack_panels(void *context, int64_t begin, int64_t end) {
    const cpu_recurrence_run *run = context;
    const cpu_recurrence *s = run->kernel;
    int64_t width = s->loops->columns;
    int64_t row_step = s->is_forward ? 1 : s->n, column_step = s->is_forward ? s->n : 1;
    for (int64_t p = begin; p < end; p++)
        for (int64_t k = 0; k < s->k; k++)
            for (int64_t j = 0; j < width; j++) {
                int64_t column = p * width + j;
                run->scratch[(p * s->k + k) * width + j] =
                    column < s->columns ? run->weights[k * row_step + column * column_step] : 0.0f;
            }
}

/* ---- rows -------------------------------------------------------------------------------------*/

static int64_t group_of(const cpu_recurrence *s, int64_t rows) {
    int64_t group = s->loops->rows;
    while (group > rows) group /= 2;
    return group;
}

void mica_cpu_recurrence_place(const cpu_recurrence *s, const float *row, int64_t rows, int64_t r,
                               float *left) {
    int64_t first = 0, group = group_of(s, rows);
    while (r >= first + group) first += group, group = group_of(s, rows - first);
    float *target = left + first * s->k + (r - first);
    for (int64_t k = 0; k < s->k; k++) target[k * group] = row[k];
}

void mica_cpu_recurrence_multiply(const cpu_recurrence_run *run, const float *left, int64_t rows,
                                  float *product) {
    const cpu_recurrence *s = run->kernel;
    int64_t step = mica_cpu_recurrence_step(s);
    for (int64_t first = 0, group; first < rows; first += group) {
        group = group_of(s, rows - first);
        s->loops->product(left + first * s->k, group, run->scratch, s->k, s->panels,
                          product + first * step, step);
    }
}

/* ---- kernels ----------------------------------------------------------------------------------*/

static void run_pieces(void *context, int64_t begin, int64_t end) {
    const cpu_recurrence_run *run = context;
    const cpu_recurrence *s = run->kernel;
    for (int64_t i = begin; i < end; i++) {
        float *left = run->scratch + s->pieces_at + (size_t)i * s->piece;
        int64_t first = i * CPU_RECURRENT_ROWS,
                rows = cpu_min(CPU_RECURRENT_ROWS, s->batch - first);
        s->run_rows(run, first, rows, left, left + CPU_RECURRENT_ROWS * s->k);
    }
}

static void run_recurrence(const cpu_kernel *kernel, const void *const *operands,
                           void *const *results, void *scratch) {
    const cpu_recurrence *s = (const cpu_recurrence *)kernel;
    cpu_recurrence_run run = {.kernel = s,
                              .in = (const float *const *)operands,
                              .out = (float *const *)results,
                              .scratch = scratch,
                              .weights = operands[s->weights_at]};
    mica_parallel_for(s->panels, 1, pack_panels, &run);
    mica_parallel_for(cpu_ceil_div(s->batch, CPU_RECURRENT_ROWS), 1, run_pieces, &run);
}

static bool has_shape(const mica_node *node, int32_t i, mica_ints dims) {
    mica_type wanted = mica_type_make(MICA_DTYPE_f32, dims);
    return mica_type_equal(mica_operand_type(node, i), &wanted) && mica_type_elements(&wanted) > 0;
}

bool mica_cpu_recurrence_fits(const mica_node *node, const char *shapes, int32_t gates,
                              int32_t n_results) {
    const mica_type *steps = mica_operand_type(node, 0);
    int32_t kept = shapes[0] - '0';
    if (node->n_operands != (int32_t)strlen(shapes) || node->n_results != n_results) return false;
    if (steps->rank != 3 || steps->dims[2] % kept) return false;
    int64_t time = steps->dims[0], batch = steps->dims[1], n = steps->dims[2] / kept;
    for (int32_t i = 0; shapes[i]; i++) {
        char c = shapes[i];
        bool has = c == 's'   ? has_shape(node, i, MICA_INTS(time, batch, n))
                   : c == 'h' ? has_shape(node, i, MICA_INTS(batch, n))
                   : c == 'w' ? has_shape(node, i, MICA_INTS(gates * n, n))
                   : c == 'b' ? has_shape(node, i, MICA_INTS(gates * n))
                              : has_shape(node, i, MICA_INTS(time, batch, (c - '0') * n));
        if (!has) return false;
    }
    return true;
}

mica_status mica_cpu_recurrence_create(const mica_node *node, int32_t gates, bool is_forward,
                                       int32_t weights_at, cpu_recurrence_rows run_rows,
                                       cpu_kernel **out) {
    cpu_recurrence *s;
    MICA_TRY(mica_cpu_kernel_new(sizeof *s, run_recurrence, &s));
    const mica_type *steps = mica_operand_type(node, 0), *w = mica_operand_type(node, weights_at);
    s->loops = mica_cpu_isa_current()->lstm;
    s->run_rows = run_rows;
    s->weights_at = weights_at;
    s->is_forward = is_forward;
    s->reverse = !strcmp(mica_node_string(node, "config"), "reverse=1");
    s->time = steps->dims[0];
    s->batch = steps->dims[1];
    s->n = w->dims[1];
    s->k = is_forward ? s->n : gates * s->n;
    s->columns = is_forward ? gates * s->n : s->n;
    s->panels = cpu_ceil_div(s->columns, s->loops->columns);
    int64_t width = mica_cpu_recurrence_step(s);
    s->pieces_at = (size_t)((width * s->k + 15) / 16 * 16);
    s->piece = (size_t)((CPU_RECURRENT_ROWS * (s->k + width) + 15) / 16 * 16);
    int64_t pieces = cpu_ceil_div(s->batch, CPU_RECURRENT_ROWS);
    s->base.head.scratch_bytes = (s->pieces_at + (size_t)pieces * s->piece) * sizeof(float);
    *out = &s->base;
    return NULL;
}
