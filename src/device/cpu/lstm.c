/* The composites mica.lstm_steps and mica.lstm_steps.back (nn/lstm_steps.c) in f32: one loop over
 * time per few rows of the batch, which go through all steps without waiting for others. The
 * recurrent weights are packed once, by all.
 *
 * A piece is PIECE rows of the batch, cut into groups of 8, 4, 2 or 1 (device/cpu/isa/lstm.c): the
 * left side of a product lies k-major within its group. */
#include <string.h>

#include "device/cpu/kernel.h"

enum { PIECE = 8, GATES = 4 };

typedef struct lstm_kernel {
    cpu_kernel base;
    const mica_cpu_lstm *loops;
    bool is_forward;
    bool reverse;            /* the last step comes first */
    int64_t time, batch, n;  /* n: size of the hidden state */
    int64_t k, panels;       /* of the product: contracted, and panels of columns */
    size_t pieces_at, piece; /* in scratch, in floats: where pieces' memory begins, its size */
} lstm_kernel;

typedef struct lstm_run {
    const lstm_kernel *kernel;
    const float *const *in;
    float *const *out;
    float *scratch;
    const float *weights;
    int64_t row_step, column_step; /* of the weights: from one k, from one column to the next */
} lstm_run;

/* ---- weights ----------------------------------------------------------------------------------*/

/* Panel p holds columns p columns ... of all k, k-major; what is beyond the last column is 0. */
static void pack_panels(void *context, int64_t begin, int64_t end) {
    const lstm_run *run = context;
    const lstm_kernel *s = run->kernel;
    int64_t width = s->loops->columns, columns = s->is_forward ? GATES * s->n : s->n;
    for (int64_t p = begin; p < end; p++)
        for (int64_t k = 0; k < s->k; k++)
            for (int64_t j = 0; j < width; j++) {
                int64_t column = p * width + j;
                run->scratch[(p * s->k + k) * width + j] =
                    column < columns ? run->weights[k * run->row_step + column * run->column_step]
                                     : 0.0f;
            }
}

/* ---- rows -------------------------------------------------------------------------------------*/

static int64_t group_of(const lstm_kernel *s, int64_t rows) {
    int64_t group = s->loops->rows;
    while (group > rows) group /= 2;
    return group;
}

/* Row r of `rows` (n elements) becomes column r of the left side of the products. */
static void place_row(const lstm_kernel *s, const float *row, int64_t rows, int64_t r,
                      float *left) {
    int64_t first = 0, group = group_of(s, rows);
    while (r >= first + group) first += group, group = group_of(s, rows - first);
    float *target = left + first * s->k + (r - first);
    for (int64_t k = 0; k < s->k; k++) target[k * group] = row[k];
}

static void multiply(const lstm_kernel *s, const float *left, const float *panels, int64_t rows,
                     float *product) {
    int64_t step = s->panels * s->loops->columns;
    for (int64_t first = 0, group; first < rows; first += group) {
        group = group_of(s, rows - first);
        s->loops->product(left + first * s->k, group, panels, s->k, s->panels,
                          product + first * step, step);
    }
}

static int64_t step_at(const lstm_kernel *s, int64_t i, bool backward) {
    return s->reverse != backward ? s->time - 1 - i : i;
}

/* ---- forward ----------------------------------------------------------------------------------*/

enum { PROJECTED, HIDDEN, CELL, WEIGHTS };

static void forward_rows(const lstm_run *run, int64_t first, int64_t rows, float *left,
                         float *product) {
    const lstm_kernel *s = run->kernel;
    int64_t n = s->n, step = s->panels * s->loops->columns;
    for (int64_t r = 0; r < rows; r++)
        place_row(s, run->in[HIDDEN] + (first + r) * n, rows, r, left);
    const float *before = run->in[CELL] + first * n;
    for (int64_t i = 0; i < s->time; i++) {
        int64_t at = step_at(s, i, false) * s->batch + first;
        multiply(s, left, run->scratch, rows, product);
        float *y = run->out[0] + at * n, *cell = run->out[1] + at * n;
        for (int64_t r = 0; r < rows; r++) {
            s->loops->forward(run->in[PROJECTED] + (at + r) * GATES * n, product + r * step,
                              before + r * n, n, run->out[2] + (at + r) * GATES * n, cell + r * n,
                              y + r * n);
            place_row(s, y + r * n, rows, r, left);
        }
        before = cell;
    }
}

/* ---- backward ---------------------------------------------------------------------------------*/

enum { GATES_IN, CELLS, FIRST_CELL, BACK_WEIGHTS, DY, DCELLS, DGATES };

static void backward_rows(const lstm_run *run, int64_t first, int64_t rows, float *left,
                          float *product) {
    const lstm_kernel *s = run->kernel;
    int64_t n = s->n, step = s->panels * s->loops->columns;
    float *dc = run->out[2] + first * n;
    memset(dc, 0, (size_t)(rows * n) * sizeof *dc);
    memset(product, 0, (size_t)(rows * step) * sizeof *product);
    for (int64_t i = 0; i < s->time; i++) {
        int64_t at = step_at(s, i, true) * s->batch + first;
        int64_t earlier = i + 1 < s->time ? step_at(s, i + 1, true) * s->batch + first : -1;
        for (int64_t r = 0; r < rows; r++) {
            mica_cpu_lstm_back here = {
                .gates = run->in[GATES_IN] + (at + r) * GATES * n,
                .cell = run->in[CELLS] + (at + r) * n,
                .before = earlier < 0 ? run->in[FIRST_CELL] + (first + r) * n
                                      : run->in[CELLS] + (earlier + r) * n,
                .dh = product + r * step,
                .dy = run->in[DY] + (at + r) * n,
                .dcell = run->in[DCELLS] + (at + r) * n,
                .dgates = run->in[DGATES] + (at + r) * GATES * n,
            };
            float *dz = run->out[0] + (at + r) * GATES * n;
            s->loops->backward(&here, n, dc + r * n, dz);
            place_row(s, dz, rows, r, left);
        }
        multiply(s, left, run->scratch, rows, product);
    }
    for (int64_t r = 0; r < rows; r++)
        memcpy(run->out[1] + (first + r) * n, product + r * step, (size_t)n * sizeof *product);
}

/* ---- kernels ----------------------------------------------------------------------------------*/

static void run_pieces(void *context, int64_t begin, int64_t end) {
    const lstm_run *run = context;
    const lstm_kernel *s = run->kernel;
    for (int64_t i = begin; i < end; i++) {
        float *left = run->scratch + s->pieces_at + (size_t)i * s->piece;
        int64_t rows = cpu_min(PIECE, s->batch - i * PIECE);
        if (s->is_forward)
            forward_rows(run, i * PIECE, rows, left, left + PIECE * s->k);
        else
            backward_rows(run, i * PIECE, rows, left, left + PIECE * s->k);
    }
}

static void run_lstm(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                     void *scratch) {
    const lstm_kernel *s = (const lstm_kernel *)kernel;
    bool is_forward = s->is_forward;
    lstm_run run = {.kernel = s,
                    .in = (const float *const *)operands,
                    .out = (float *const *)results,
                    .scratch = scratch,
                    .weights = operands[is_forward ? WEIGHTS : BACK_WEIGHTS],
                    .row_step = is_forward ? 1 : s->n,
                    .column_step = is_forward ? s->n : 1};
    mica_parallel_for(s->panels, 1, pack_panels, &run);
    mica_parallel_for(cpu_ceil_div(s->batch, PIECE), 1, run_pieces, &run);
}

/* f32 of a shape; a batched composite has other ones. */
static bool has_shape(const mica_node *node, int32_t i, mica_ints dims) {
    mica_type wanted = mica_type_make(MICA_DTYPE_f32, dims);
    return mica_type_equal(mica_operand_type(node, i), &wanted) && mica_type_elements(&wanted) > 0;
}

/* Operands of these shapes, named by letters: steps of the gates, steps, a state, weights. */
static bool fits(const mica_node *node, const char *shapes) {
    const mica_type *steps = mica_operand_type(node, 0);
    if (node->n_operands != (int32_t)strlen(shapes) || node->n_results != 3) return false;
    if (steps->rank != 3 || steps->dims[2] % GATES) return false;
    int64_t time = steps->dims[0], batch = steps->dims[1], n = steps->dims[2] / GATES;
    for (int32_t i = 0; shapes[i]; i++) {
        bool has = shapes[i] == 'g'   ? has_shape(node, i, MICA_INTS(time, batch, GATES * n))
                   : shapes[i] == 's' ? has_shape(node, i, MICA_INTS(time, batch, n))
                   : shapes[i] == 'h' ? has_shape(node, i, MICA_INTS(batch, n))
                                      : has_shape(node, i, MICA_INTS(GATES * n, n));
        if (!has) return false;
    }
    return true;
}

bool mica_cpu_fits_lstm_steps(const mica_node *node) {
    return fits(node, "ghhw");
}

bool mica_cpu_fits_lstm_steps_back(const mica_node *node) {
    return fits(node, "gshwssg");
}

static mica_status create(const mica_node *node, const mica_type *steps, bool is_forward,
                          cpu_kernel **out) {
    lstm_kernel *s;
    MICA_TRY(mica_cpu_kernel_new(sizeof *s, run_lstm, &s));
    s->loops = mica_cpu_isa_current()->lstm;
    s->is_forward = is_forward;
    s->reverse = !strcmp(mica_node_string(node, "config"), "reverse=1");
    s->time = steps->dims[0];
    s->batch = steps->dims[1];
    s->n = steps->dims[2] / GATES;
    s->k = is_forward ? s->n : GATES * s->n;
    s->panels = cpu_ceil_div(is_forward ? GATES * s->n : s->n, s->loops->columns);
    int64_t width = s->panels * s->loops->columns;
    s->pieces_at = (size_t)((width * s->k + 15) / 16 * 16);
    s->piece = (size_t)((PIECE * (s->k + width) + 15) / 16 * 16);
    int64_t pieces = cpu_ceil_div(s->batch, PIECE);
    s->base.head.scratch_bytes = (s->pieces_at + (size_t)pieces * s->piece) * sizeof(float);
    *out = &s->base;
    return NULL;
}

mica_status mica_cpu_create_lstm_steps(const mica_node *node, cpu_kernel **out) {
    return create(node, mica_operand_type(node, 0), true, out);
}

mica_status mica_cpu_create_lstm_steps_back(const mica_node *node, cpu_kernel **out) {
    return create(node, mica_operand_type(node, 0), false, out);
}
