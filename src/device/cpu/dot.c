/* dot: batch, contracted and free axes become the index spaces of a contraction; a matrix by a
 * vector is computed in place. */
#include <string.h>

#include "device/cpu/contract.h"
#include "device/cpu/write_c.h"

typedef struct dot_kernel {
    cpu_kernel base;
    cpu_contract contract;
} dot_kernel;

static void run_dot_finished(const cpu_kernel *kernel, const void *const *operands,
                             void *const *results, void *scratch, const cpu_finish *finish) {
    const dot_kernel *k = (const dot_kernel *)kernel;
    mica_cpu_contract_run(&k->contract, operands[0], operands[1], results[0], scratch, finish);
}

static void run_dot(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                    void *scratch) {
    run_dot_finished(kernel, operands, results, scratch, NULL);
}

static mica_status write_dot(const cpu_kernel *kernel, const mica_node *node,
                             mica_kernel_text *out) {
    const dot_kernel *k = (const dot_kernel *)kernel;
    if (k->contract.mode != CONTRACT_ZERO)
        return mica_cpu_write_contraction(out, 0, node, &k->contract, "x[0]", 0, "x[1]", 0, 0, 0);
    mica_text_printf(out->body, "    memset(y[0], 0, %zu);\n", mica_type_bytes(&node->results[0]));
    return NULL;
}

/* ---- a matrix and a vector --------------------------------------------------------------------*/

#define VECTOR_PIECE 65536 /* elements of the matrix that are worth another thread */
#define FEW_BLOCKS 4       /* of k; with fewer, columns are cut into shorter pieces */

typedef struct vector_kernel {
    cpu_kernel base;
    mica_cpu_gemv gemv;
    bool by_rows;   /* k is contiguous in the matrix */
    int32_t matrix; /* which operand it is */
    int32_t bytes;  /* of an element */
    int64_t n, k;   /* of the result, contracted */
    int64_t stride; /* between the matrix's rows in memory */
    bool is_complex;
    int64_t blocks, strip; /* by columns: blocks of k, columns of a piece */
} vector_kernel;

typedef struct vector_run {
    const vector_kernel *kernel;
    const char *a, *x;
    char *y, *parts; /* the result, and scratch */
} vector_run;

static void run_vector_rows(void *context, int64_t begin, int64_t end) {
    const vector_run *run = context;
    const vector_kernel *k = run->kernel;
    k->gemv.rows(run->a + begin * k->stride * k->bytes, k->stride, run->x, end - begin, k->k,
                 run->y + begin * k->bytes);
}

/* Piece i: a block of k and a strip of columns. Of several blocks, all but the first are left in
 * scratch. */
static void run_vector_columns(void *context, int64_t begin, int64_t end) {
    const vector_run *run = context;
    const vector_kernel *k = run->kernel;
    int64_t strips = cpu_ceil_div(k->n, k->strip);
    for (int64_t i = begin; i < end; i++) {
        int64_t block = i / strips, column = i % strips * k->strip, row = block * CPU_TILE_K;
        char *y = block == 0 ? run->y : run->parts + (block - 1) * k->n * k->bytes;
        k->gemv.columns(run->a + (row * k->stride + column) * k->bytes, k->stride,
                        run->x + row * k->bytes, cpu_min(k->strip, k->n - column),
                        cpu_min(CPU_TILE_K, k->k - row), y + column * k->bytes);
    }
}

/* Adds the blocks of k in their order. */
static void add_vector_blocks(void *context, int64_t begin, int64_t end) {
    const vector_run *run = context;
    const vector_kernel *k = run->kernel;
    for (int64_t block = 1; block < k->blocks; block++)
        k->gemv.add(run->y + begin * k->bytes, run->parts + ((block - 1) * k->n + begin) * k->bytes,
                    end - begin);
}

/* Copies n complex numbers, and behind them the same with parts exchanged. */
static void exchange_parts(const char *x, int64_t n, int64_t part, char *to) {
    int64_t bytes = 2 * part;
    memcpy(to, x, (size_t)(n * bytes));
    for (int64_t i = 0; i < n; i++, x += bytes) {
        char *number = to + (n + i) * bytes;
        memcpy(number, x + part, (size_t)part);
        memcpy(number + part, x, (size_t)part);
    }
}

static void run_vector(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                       void *scratch) {
    const vector_kernel *k = (const vector_kernel *)kernel;
    vector_run run = {k, operands[k->matrix], operands[1 - k->matrix], results[0], scratch};
    if (!k->by_rows) {
        int64_t grain = cpu_max(1, VECTOR_PIECE / (k->strip * cpu_min(k->k, CPU_TILE_K)));
        mica_parallel_for(k->blocks * cpu_ceil_div(k->n, k->strip), grain, run_vector_columns,
                          &run);
        if (k->blocks > 1) mica_parallel_for(k->n, CPU_GEMV_STRIP, add_vector_blocks, &run);
        return;
    }
    if (k->is_complex) {
        exchange_parts(run.x, k->k, k->bytes / 2, scratch);
        run.x = scratch;
    }
    mica_parallel_for(k->n, cpu_max(1, VECTOR_PIECE / k->k), run_vector_rows, &run);
}

static mica_status write_vector(const cpu_kernel *kernel, const mica_node *node,
                                mica_kernel_text *out) {
    const vector_kernel *k = (const vector_kernel *)kernel;
    mica_dtype dtype = node->results[0].dtype;
    const char *type;
    MICA_TRY(mica_cpu_write_float(node, dtype, &type));
    mica_text_printf(out->body,
                     "    mica_%s_by_vector_%s((const %s *)x[%d], %lld, (const %s *)x[%d], %lld, "
                     "%lld, (%s *)y[0]);\n",
                     k->by_rows ? "rows" : "columns", mica_dtype_name(dtype), type, k->matrix,
                     (long long)k->stride, type, 1 - k->matrix, (long long)k->n, (long long)k->k,
                     type);
    return NULL;
}

/* The stride of a space of one axis at most; -1 when it has more. */
static int64_t single_stride(const cpu_space *space) {
    return space->rank == 0 ? 1 : space->rank == 1 ? space->strides[0] : -1;
}

/* Whether c is a matrix by a vector that the loops can take as they lie. */
static bool plan_vector(const cpu_contract *c, mica_dtype dtype, vector_kernel *v) {
    bool left = c->y_n.n == 1, right = c->x_m.n == 1;
    if (c->c_batch.n != 1 || left == right || c->x_k.n == 0) return false;
    const cpu_space *matrix_k = left ? &c->x_k : &c->y_k, *vector_k = left ? &c->y_k : &c->x_k;
    const cpu_space *matrix_free = left ? &c->x_m : &c->y_n;
    int64_t k_stride = single_stride(matrix_k), free_stride = single_stride(matrix_free);
    if (single_stride(vector_k) != 1 || k_stride < 0 || free_stride < 0) return false;
    if (k_stride != 1 && free_stride != 1) return false;
    v->gemv = mica_cpu_isa_current()->gemv[dtype];
    v->by_rows = k_stride == 1;
    v->matrix = left ? 0 : 1;
    v->bytes = (int32_t)mica_dtype_bytes(dtype);
    v->n = matrix_free->n;
    v->k = matrix_k->n;
    v->stride = v->by_rows ? free_stride : k_stride;
    v->is_complex = dtype >= MICA_DTYPE_c64;
    v->blocks = cpu_ceil_div(v->k, CPU_TILE_K);
    v->strip = cpu_min(CPU_GEMV_STRIP, v->n);
    if (v->blocks < FEW_BLOCKS) v->strip = cpu_min(v->strip, CPU_GEMV_STRIP / FEW_BLOCKS);
    return v->gemv.rows && v->n > 1 && v->k > 1;
}

/* ---- any other --------------------------------------------------------------------------------*/

/* The order of k is that of the axes as they lie in x, so that neighbours stay neighbours. */
static void add_contracted(cpu_contract *c, const mica_node *node, const int64_t *x,
                           const int64_t *y) {
    const mica_type *type = mica_operand_type(node, 0);
    mica_ints left = mica_node_ints(node, "lhs_contract");
    mica_ints right = mica_node_ints(node, "rhs_contract");
    for (int64_t axis = 0; axis < type->rank; axis++)
        for (int32_t i = 0; i < left.n; i++) {
            if (left.data[i] != axis) continue;
            mica_cpu_space_add(&c->x_k, type->dims[axis], x[axis]);
            mica_cpu_space_add(&c->y_k, type->dims[axis], y[right.data[i]]);
        }
}

/* Adds the axes of an operand that are not taken, in order, to the operand's and c's space. */
static int32_t add_free(cpu_space *mine, cpu_space *c, const mica_type *type,
                        const int64_t *strides, mica_ints contracted, mica_ints batched,
                        const int64_t *c_strides, int32_t c_axis) {
    uint32_t taken = 0;
    for (int32_t i = 0; i < contracted.n; i++) taken |= 1u << contracted.data[i];
    for (int32_t i = 0; i < batched.n; i++) taken |= 1u << batched.data[i];
    for (int32_t i = 0; i < type->rank; i++) {
        if (taken >> i & 1) continue;
        mica_cpu_space_add(mine, type->dims[i], strides[i]);
        mica_cpu_space_add(c, type->dims[i], c_strides[c_axis++]);
    }
    return c_axis;
}

mica_status mica_cpu_create_dot(const mica_node *node, cpu_kernel **out) {
    const mica_type *x = mica_operand_type(node, 0), *y = mica_operand_type(node, 1);
    mica_ints left = mica_node_ints(node, "lhs_batch"), right = mica_node_ints(node, "rhs_batch");
    int64_t x_strides[MICA_MAX_RANK], y_strides[MICA_MAX_RANK], c_strides[MICA_MAX_RANK];
    mica_cpu_strides(x, x_strides);
    mica_cpu_strides(y, y_strides);
    mica_cpu_strides(&node->results[0], c_strides);
    dot_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_dot, &k));
    cpu_contract *c = &k->contract;
    cpu_space *const spaces[] = {&c->x_batch, &c->x_m,     &c->x_k, &c->y_batch, &c->y_k,
                                 &c->y_n,     &c->c_batch, &c->c_m, &c->c_n};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) mica_cpu_space_init(spaces[i]);
    for (int32_t i = 0; i < left.n; i++) {
        int64_t size = x->dims[left.data[i]];
        mica_cpu_space_add(&c->x_batch, size, x_strides[left.data[i]]);
        mica_cpu_space_add(&c->y_batch, size, y_strides[right.data[i]]);
        mica_cpu_space_add(&c->c_batch, size, c_strides[i]);
    }
    add_contracted(c, node, x_strides, y_strides);
    int32_t axis = add_free(&c->x_m, &c->c_m, x, x_strides, mica_node_ints(node, "lhs_contract"),
                            left, c_strides, left.n);
    add_free(&c->y_n, &c->c_n, y, y_strides, mica_node_ints(node, "rhs_contract"), right, c_strides,
             axis);
    vector_kernel vector = {.n = 0};
    if (plan_vector(c, x->dtype, &vector)) {
        mica_free(k);
        vector_kernel *v;
        MICA_TRY(mica_cpu_kernel_new(sizeof *v, run_vector, &v));
        vector.base = v->base;
        vector.base.write = write_vector;
        *v = vector;
        if (!v->by_rows)
            v->base.head.scratch_bytes = (size_t)((v->blocks - 1) * v->n * v->bytes);
        else if (v->is_complex)
            v->base.head.scratch_bytes = (size_t)(2 * v->k * v->bytes);
        *out = &v->base;
        return NULL;
    }
    if (!mica_cpu_contract_init(c, x->dtype)) {
        mica_free(k);
        return mica_cpu_unsupported(node, x->dtype);
    }
    k->base.run_finished = run_dot_finished;
    k->base.write = write_dot;
    k->base.head.scratch_bytes = c->scratch_bytes;
    *out = &k->base;
    return NULL;
}
