/* Kernels of linear algebra: matrices are the last two axes, the axes before are a batch, whose
 * matrices are computed on their own. */
#include "device/cpu/linalg.h"

/* Systems that go together: a row of them is worth a vector loop, and they stay in the cache. */
enum { COLUMNS_TOGETHER = 64, ROWS_TOGETHER = 8 };

typedef struct linalg_kernel {
    cpu_kernel base;
    const cpu_linalg *loops;
    int64_t batch, rows, columns; /* of operand 0 */
    int64_t bytes;                /* of an element */
    cpu_triangle triangle;        /* of triangular_solve, and its systems per matrix */
    bool left;
    int64_t systems;
} linalg_kernel;

typedef struct linalg_run {
    const linalg_kernel *kernel;
    const char *a, *b;
    char *y;
} linalg_run;

static mica_status create(const mica_node *node,
                          void (*run)(const cpu_kernel *, const void *const *, void *const *,
                                      void *),
                          linalg_kernel **out) {
    const mica_type *x = mica_operand_type(node, 0);
    const cpu_linalg *loops = x->dtype == MICA_DTYPE_f32   ? &mica_cpu_linalg_f32
                              : x->dtype == MICA_DTYPE_f64 ? &mica_cpu_linalg_f64
                                                           : NULL;
    if (!loops) return mica_cpu_unsupported(node, x->dtype);
    linalg_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run, &k));
    k->loops = loops;
    k->batch = 1;
    for (int32_t i = 0; i < x->rank - 2; i++) k->batch *= x->dims[i];
    k->rows = x->dims[x->rank - 2];
    k->columns = x->dims[x->rank - 1];
    k->bytes = (int64_t)mica_dtype_bytes(x->dtype);
    *out = k;
    return NULL;
}

/* A batch of one leaves the pool to the loops inside. */
static void for_each_matrix(const linalg_run *run, void (*body)(void *, int64_t, int64_t)) {
    int64_t batch = run->kernel->batch;
    if (batch == 1)
        body((void *)run, 0, 1);
    else
        mica_parallel_for(batch, 1, body, (void *)run);
}

/* ---- triangular_solve -------------------------------------------------------------------------*/

static int64_t together(const linalg_kernel *k) {
    return k->left ? COLUMNS_TOGETHER : ROWS_TOGETHER;
}

static void solve_range(void *context, int64_t begin, int64_t end) {
    const linalg_run *run = context;
    const linalg_kernel *k = run->kernel;
    int64_t groups = cpu_ceil_div(k->systems, together(k)), n = k->rows;
    for (int64_t i = begin; i < end; i++) {
        int64_t matrix = i / groups, first = i % groups * together(k);
        int64_t last = cpu_min(first + together(k), k->systems);
        const char *a = run->a + matrix * n * n * k->bytes;
        int64_t offset = matrix * n * k->systems * k->bytes;
        if (k->left)
            k->loops->solve_left(&k->triangle, a, run->b + offset, run->y + offset, k->systems,
                                 first, last);
        else
            k->loops->solve_right(&k->triangle, a, run->b + offset, run->y + offset, first, last);
    }
}

static void run_triangular_solve(const cpu_kernel *kernel, const void *const *operands,
                                 void *const *results, void *scratch) {
    (void)scratch;
    const linalg_kernel *k = (const linalg_kernel *)kernel;
    linalg_run run = {k, operands[0], operands[1], results[0]};
    int64_t work = k->rows * k->rows * together(k);
    mica_parallel_for(k->batch * cpu_ceil_div(k->systems, together(k)),
                      cpu_max(1, 16384 / cpu_max(1, work)), solve_range, &run);
}

mica_status mica_cpu_create_triangular_solve(const mica_node *node, cpu_kernel **out) {
    linalg_kernel *k;
    MICA_TRY(create(node, run_triangular_solve, &k));
    const mica_type *b = mica_operand_type(node, 1);
    bool transpose = mica_node_int(node, "transpose") != 0;
    k->left = mica_node_int(node, "left") != 0;
    k->systems = b->dims[b->rank - (k->left ? 1 : 2)];
    k->triangle = (cpu_triangle){.n = k->rows,
                                 .row = transpose ? 1 : k->rows,
                                 .column = transpose ? k->rows : 1,
                                 .lower = transpose != (mica_node_int(node, "lower") != 0),
                                 .unit = mica_node_int(node, "unit") != 0};
    *out = &k->base;
    return NULL;
}

/* ---- cholesky ---------------------------------------------------------------------------------*/

static void cholesky_range(void *context, int64_t begin, int64_t end) {
    const linalg_run *run = context;
    int64_t n = run->kernel->rows, bytes = n * n * run->kernel->bytes;
    for (int64_t i = begin; i < end; i++)
        run->kernel->loops->cholesky(run->a + i * bytes, run->y + i * bytes, n);
}

static void run_cholesky(const cpu_kernel *kernel, const void *const *operands,
                         void *const *results, void *scratch) {
    (void)scratch;
    linalg_run run = {(const linalg_kernel *)kernel, operands[0], NULL, results[0]};
    for_each_matrix(&run, cholesky_range);
}

mica_status mica_cpu_create_cholesky(const mica_node *node, cpu_kernel **out) {
    linalg_kernel *k;
    MICA_TRY(create(node, run_cholesky, &k));
    *out = &k->base;
    return NULL;
}
