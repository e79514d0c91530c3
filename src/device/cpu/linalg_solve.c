/* The kernel of triangular_solve. Large triangles go by blocks of unknowns: what the unknowns
 * before say about a block is a contraction, over all matrices at once; the block itself is solved
 * by substitution. */
#include "device/cpu/contract.h"
#include "device/cpu/linalg.h"

/* Systems that go together: a row of them is worth a vector loop, and they stay in the cache. */
enum { COLUMNS_TOGETHER = 64, ROWS_TOGETHER = 8, BLOCK = 64 };

typedef struct solve_kernel {
    cpu_linalg_kernel head;
    cpu_triangle triangle;
    bool left;
    int64_t systems;       /* per matrix */
    int64_t n_blocks;      /* of unknowns; 1: it is not worth a contraction */
    size_t rest;           /* bytes of right-hand sides in scratch, before what contractions need */
    cpu_contract before[]; /* for each block but the first, in the order they are solved */
} solve_kernel;

/* One block: unknowns first .. first + size - 1. */
typedef struct solve_run {
    const solve_kernel *kernel;
    const char *a, *b;
    char *x, *rest;
    int64_t first, size;
    bool reduced; /* what is known is in `rest`, else in b as it came */
} solve_run;

static int64_t together(const solve_kernel *k) {
    return k->left ? COLUMNS_TOGETHER : ROWS_TOGETHER;
}

/* Whether the unknowns are found from the first to the last. */
static bool forward(const solve_kernel *k) {
    return k->triangle.lower == k->left;
}

/* The block that is solved in a step, and where the unknowns before it begin. */
static int64_t block_of(const solve_kernel *k, int64_t step, int64_t *first, int64_t *size) {
    int64_t n = k->head.rows, block = forward(k) ? step : k->n_blocks - 1 - step;
    *first = block * BLOCK;
    *size = cpu_min(n, *first + BLOCK) - *first;
    return forward(k) ? 0 : *first + *size;
}

static void solve_range(void *context, int64_t begin, int64_t end) {
    const solve_run *run = context;
    const solve_kernel *k = run->kernel;
    const cpu_linalg *loops = k->head.loops;
    int64_t groups = cpu_ceil_div(k->systems, together(k)), n = k->head.rows;
    int64_t bytes = k->head.bytes, systems = k->systems;
    cpu_triangle t = k->triangle;
    t.n = run->size;
    for (int64_t i = begin; i < end; i++) {
        int64_t matrix = i / groups, first = i % groups * together(k);
        int64_t last = cpu_min(first + together(k), systems);
        int64_t offset = run->first * (k->left ? systems : 1) + matrix * n * systems;
        const char *a = run->a + (matrix * n * n + run->first * (t.row + t.column)) * bytes;
        const char *b = run->b + offset * bytes;
        char *x = run->x + offset * bytes;
        char *rest = run->reduced ? run->rest + matrix * run->size * systems * bytes : NULL;
        int64_t steps = k->left ? run->size : last - first;
        for (int64_t j = 0; run->reduced && j < steps; j++) {
            int64_t from = k->left ? j * systems + first : (first + j) * n;
            int64_t to = k->left ? j * systems + first : (first + j) * run->size;
            loops->subtract_from(b + from * bytes, rest + to * bytes,
                                 k->left ? last - first : run->size);
        }
        if (k->left)
            loops->solve_left(&t, a, run->reduced ? rest : b, x, systems, first, last);
        else
            loops->solve_right(&t, a, run->reduced ? rest : b, run->reduced ? run->size : n, x, n,
                               first, last);
    }
}

static void run_triangular_solve(const cpu_kernel *kernel, const void *const *operands,
                                 void *const *results, void *scratch) {
    const solve_kernel *k = (const solve_kernel *)kernel;
    int64_t bytes = k->head.bytes, n = k->head.rows;
    solve_run run = {k, operands[0], operands[1], results[0], scratch, 0, n, false};
    for (int64_t step = 0; step < k->n_blocks; step++) {
        if (k->n_blocks > 1) {
            int64_t known = block_of(k, step, &run.first, &run.size);
            run.reduced = step > 0;
            int64_t row = k->left ? run.first : known, column = k->left ? known : run.first;
            const char *a = run.a + (row * k->triangle.row + column * k->triangle.column) * bytes;
            const char *x = run.x + known * (k->left ? k->systems : 1) * bytes;
            if (step > 0)
                mica_cpu_contract_run(&k->before[step - 1], k->left ? a : x, k->left ? x : a,
                                      run.rest, (char *)scratch + k->rest, NULL);
        }
        int64_t work = run.size * run.size * together(k);
        mica_parallel_for(k->head.batch * cpu_ceil_div(k->systems, together(k)),
                          cpu_max(1, 16384 / cpu_max(1, work)), solve_range, &run);
    }
}

/* rest = a x or x a, over the unknowns before the block of a step. */
static bool plan_step(const solve_kernel *k, int64_t step, mica_dtype dtype, cpu_contract *c) {
    int64_t n = k->head.rows, batch = k->head.batch, systems = k->systems, first, size;
    block_of(k, step, &first, &size);
    int64_t known = forward(k) ? first : n - first - size;
    cpu_space *const spaces[] = {&c->x_batch, &c->x_m,     &c->x_k, &c->y_batch, &c->y_k,
                                 &c->y_n,     &c->c_batch, &c->c_m, &c->c_n};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) mica_cpu_space_init(spaces[i]);
    cpu_space *a_batch = k->left ? &c->x_batch : &c->y_batch;
    cpu_space *x_batch = k->left ? &c->y_batch : &c->x_batch;
    mica_cpu_space_add(a_batch, batch, n * n);
    mica_cpu_space_add(x_batch, batch, n * systems);
    mica_cpu_space_add(&c->c_batch, batch, size * systems);
    if (k->left) {
        mica_cpu_space_add(&c->x_m, size, k->triangle.row);
        mica_cpu_space_add(&c->x_k, known, k->triangle.column);
        mica_cpu_space_add(&c->y_k, known, systems);
        mica_cpu_space_add(&c->y_n, systems, 1);
    } else {
        mica_cpu_space_add(&c->x_m, systems, n);
        mica_cpu_space_add(&c->x_k, known, 1);
        mica_cpu_space_add(&c->y_k, known, k->triangle.row);
        mica_cpu_space_add(&c->y_n, size, k->triangle.column);
    }
    mica_cpu_space_add(&c->c_m, k->left ? size : systems, k->left ? systems : size);
    mica_cpu_space_add(&c->c_n, k->left ? systems : size, 1);
    return mica_cpu_contract_init(c, dtype);
}

mica_status mica_cpu_create_triangular_solve(const mica_node *node, cpu_kernel **out) {
    solve_kernel *k;
    const mica_type *a = mica_operand_type(node, 0), *b = mica_operand_type(node, 1);
    bool transpose = mica_node_int(node, "transpose") != 0;
    bool left = mica_node_int(node, "left") != 0;
    int64_t n = a->dims[a->rank - 1], systems = b->dims[b->rank - (left ? 1 : 2)];
    int64_t n_blocks = n >= 2 * BLOCK && systems >= 8 ? cpu_ceil_div(n, BLOCK) : 1;
    MICA_TRY(mica_cpu_linalg_new(node, sizeof *k + (size_t)(n_blocks - 1) * sizeof *k->before,
                                 run_triangular_solve, &k));
    k->left = left;
    k->systems = systems;
    k->n_blocks = n_blocks;
    k->triangle = (cpu_triangle){.n = n,
                                 .row = transpose ? 1 : n,
                                 .column = transpose ? n : 1,
                                 .lower = transpose != (mica_node_int(node, "lower") != 0),
                                 .unit = mica_node_int(node, "unit") != 0};
    size_t most = 0;
    for (int64_t step = 1; step < n_blocks; step++) {
        cpu_contract *c = &k->before[step - 1];
        if (!plan_step(k, step, a->dtype, c)) {
            mica_free(k);
            return mica_cpu_unsupported(node, a->dtype);
        }
        if (c->scratch_bytes > most) most = c->scratch_bytes;
    }
    if (n_blocks > 1) {
        k->rest = cpu_align((size_t)(k->head.batch * BLOCK * systems * k->head.bytes));
        k->head.base.head.scratch_bytes = k->rest + most;
    }
    *out = &k->head.base;
    return NULL;
}
