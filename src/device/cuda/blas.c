/* dot by cuBLASLt. The plan is made when the kernel is: which algorithm, how much workspace; a
 * launch only hands it to the library, so it can be recorded. Of two schemes of splitting a sum,
 * the one that adds parts in a fixed order: the same run gives the same bits. f32 is computed in
 * f32 unless MICA_TF32=1.
 *
 * The library's matrices go down columns, ours along rows: y = x0 x1 is computed as
 * y^T = x1^T x0^T. */
#include <string.h>

#include "base/log.h"
#include "device/cuda/steps.h"

enum {
    MOST_WORKSPACE = 32 << 20,
    LEAST_WORK = 1 << 20 /* multiplications that are worth a copy of an operand */
};

typedef struct blas_kernel {
    cuda_kernel base;
    cublasLtObject desc, layouts[3]; /* of x1^T, x0^T and y^T */
    cublasLtHeuristicResult plan;
    bool is_f64;
    cuda_kernel *copies[2]; /* of operands whose axes are not those of matrices; or NULL */
    size_t copy_offsets[2]; /* in scratch memory, where they are put */
} blas_kernel;

/* ---- the library ------------------------------------------------------------------------------*/

/* The device's handle; false, with one line in the log, when there is none. */
static bool open_blas(cuda_device *device) {
    mica_mutex_lock(&device->mutex);
    if (!device->looked_for_blas) {
        device->looked_for_blas = true;
        mica_status status = mica_cuda_load_blas(&device->blas);
        if (!status && cuda_enter(device) == CUDA_SUCCESS) {
            if (device->blas->create(&device->blas_handle) != 0) device->blas_handle = NULL;
            cuda_leave(device);
        }
        if (!device->blas_handle)
            mica_log_write(MICA_LOG_DEVICE, "%s multiplies matrices without cuBLASLt: %s",
                           device->base.name,
                           status ? mica_status_message(status) : "it does not start");
        mica_status_release(status);
    }
    bool is_open = device->blas_handle != NULL;
    mica_mutex_unlock(&device->mutex);
    return is_open;
}

void cuda_blas_close(cuda_device *device) {
    if (!device->blas_handle || cuda_enter(device) != CUDA_SUCCESS) return;
    device->blas->destroy(device->blas_handle);
    cuda_leave(device);
}

/* ---- matrices ---------------------------------------------------------------------------------*/

/* One operand: rows and depth, of which one is dense and the other `leading` apart. */
typedef struct matrix {
    int64_t batch, batch_stride, leading;
    bool runs_down; /* neighbours are along depth */
} matrix;

static int64_t stride_of(const mica_space *space) {
    return space->rank == 0 ? 0 : space->strides[0];
}

static bool find_matrix(const mica_space *batch, const mica_space *rest, const mica_space *depth,
                        matrix *out) {
    if (batch->rank > 1 || rest->rank > 1 || depth->rank > 1) return false;
    int64_t across = stride_of(rest), down = stride_of(depth);
    *out = (matrix){.batch = batch->n, .batch_stride = stride_of(batch)};
    if (down == 1 || (depth->rank == 0 && across != 1)) {
        out->runs_down = true;
        out->leading = rest->rank == 0 ? depth->n : across;
        return out->leading >= depth->n;
    }
    out->leading = depth->rank == 0 ? rest->n : down;
    return (across == 1 || rest->rank == 0) && out->leading >= rest->n;
}

static bool find_dtype(mica_dtype dtype, int *out_dtype, int *out_compute, int *out_scale) {
    const char *tf32 = mica_environment("MICA_TF32");
    bool is_tf32 = tf32 && !strcmp(tf32, "1");
    *out_compute = CUBLAS_COMPUTE_32F;
    *out_scale = CUBLAS_R_32F;
    switch ((int)dtype) {
    case MICA_DTYPE_f16: *out_dtype = CUBLAS_R_16F; return true;
    case MICA_DTYPE_bf16: *out_dtype = CUBLAS_R_16BF; return true;
    case MICA_DTYPE_f32:
        *out_dtype = CUBLAS_R_32F;
        if (is_tf32) *out_compute = CUBLAS_COMPUTE_32F_TF32;
        return true;
    case MICA_DTYPE_f64:
        *out_dtype = *out_scale = CUBLAS_R_64F;
        *out_compute = CUBLAS_COMPUTE_64F;
        return true;
    default: return false;
    }
}

/* The axes of an operand, outermost first, as they will lie in a dense copy. */
static void append_axes(const mica_space *s, mica_space *list) {
    for (int64_t d = 0; d < s->rank; d++) {
        list->sizes[list->rank] = s->sizes[d];
        list->strides[list->rank++] = s->strides[d];
    }
}

/* The operand's elements, densely: its neighbours in memory stay neighbours. */
static mica_status create_copy(cuda_device *device, mica_dtype dtype, const mica_space *batch,
                               mica_space *rest, mica_space *depth, const mica_type *x, matrix *out,
                               cuda_kernel **out_kernel) {
    mica_space axes = {.rank = 0};
    mica_move_layout layout = {.entries = 0};
    bool runs_down = depth->rank > 0 && depth->strides[depth->rank - 1] == 1;
    int64_t stride = 1, strides[3 * MICA_SPACE_AXES];
    append_axes(batch, &axes);
    append_axes(runs_down ? rest : depth, &axes);
    append_axes(runs_down ? depth : rest, &axes);
    for (int64_t d = axes.rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= axes.sizes[d];
    }
    cuda_space_init(&layout.from);
    cuda_space_init(&layout.to);
    for (int64_t d = 0; d < axes.rank; d++)
        cuda_space_add_pair(&layout.from, &layout.to, axes.sizes[d], axes.strides[d], strides[d]);
    *out = (matrix){.batch = batch->n,
                    .batch_stride = rest->n * depth->n,
                    .leading = runs_down ? depth->n : rest->n,
                    .runs_down = runs_down};
    cuda_steps *steps;
    MICA_TRY(cuda_steps_create(device, CUDA_MOVE, dtype, 1, &steps));
    mica_status status = cuda_move_add(device, steps, mica_dtype_bytes(dtype),
                                       mica_alignment_of(mica_type_bytes(x)), &layout, 0, -1);
    return cuda_steps_finish(device, status, steps, out_kernel);
}

/* ---- plans ------------------------------------------------------------------------------------*/

/* A matrix of so many rows and columns, going down its columns. */
static bool make_layout(const mica_cuda_blas_api *blas, int dtype, int64_t rows, int64_t columns,
                        const matrix *m, cublasLtObject *out) {
    int32_t batch = (int32_t)m->batch;
    return blas->layout_create(out, dtype, (uint64_t)rows, (uint64_t)columns, m->leading) == 0 &&
           blas->layout_set(*out, CUBLASLT_LAYOUT_BATCH_COUNT, &batch, sizeof batch) == 0 &&
           blas->layout_set(*out, CUBLASLT_LAYOUT_BATCH_OFFSET, &m->batch_stride,
                            sizeof m->batch_stride) == 0;
}

static bool find_plan(cuda_device *device, blas_kernel *k, const mica_node *node) {
    const mica_cuda_blas_api *blas = device->blas;
    size_t workspace = MOST_WORKSPACE;
    uint32_t reductions = CUBLASLT_REDUCTION_COMPUTE_TYPE;
    cublasLtObject preference = NULL;
    int found = 0;
    if (blas->preference_create(&preference) != 0) return false;
    bool done = blas->preference_set(preference, CUBLASLT_PREFERENCE_WORKSPACE, &workspace,
                                     sizeof workspace) == 0 &&
                blas->preference_set(preference, CUBLASLT_PREFERENCE_REDUCTIONS, &reductions,
                                     sizeof reductions) == 0;
    const mica_type *types[4] = {mica_operand_type(node, 1), mica_operand_type(node, 0),
                                 &node->results[0], &node->results[0]};
    for (int i = 0; i < 4; i++) {
        bool is_copied = i < 2 && k->copies[1 - i];
        uint32_t alignment =
            is_copied ? 256 : (uint32_t)mica_alignment_of(mica_type_bytes(types[i]));
        done = done && blas->preference_set(preference, CUBLASLT_PREFERENCE_ALIGNMENT + i,
                                            &alignment, sizeof alignment) == 0;
    }
    done =
        done && blas->heuristic(device->blas_handle, k->desc, k->layouts[0], k->layouts[1],
                                k->layouts[2], k->layouts[2], preference, 1, &k->plan, &found) == 0;
    blas->preference_destroy(preference);
    return done && found == 1 && k->plan.state == 0;
}

/* The contracted axes in the order in which the left operand has them: more of them are one. */
static void sort_axes(mica_ints *left, mica_ints *right, int64_t of_left[], int64_t of_right[]) {
    for (int32_t i = 0; i < left->n; i++) {
        int32_t at = i;
        for (; at > 0 && of_left[at - 1] > left->data[i]; at--) {
            of_left[at] = of_left[at - 1];
            of_right[at] = of_right[at - 1];
        }
        of_left[at] = left->data[i];
        of_right[at] = right->data[i];
    }
    left->data = of_left;
    right->data = of_right;
}

/* An operand as a matrix, in place where its axes allow it. `rest` and `depth` count its elements.
 */
static mica_status find_operand(cuda_device *device, blas_kernel *k, const mica_node *node,
                                int32_t i, mica_ints batch, mica_ints contract, mica_space *rest,
                                mica_space *depth, matrix *out) {
    const mica_type *x = mica_operand_type(node, i);
    mica_space of_batch;
    cuda_dot_split(x, batch, contract, &of_batch, rest, depth);
    if (find_matrix(&of_batch, rest, depth, out)) return NULL;
    return create_copy(device, x->dtype, &of_batch, rest, depth, x, out, &k->copies[i]);
}

static mica_status find_operands(cuda_device *device, blas_kernel *k, const mica_node *node,
                                 mica_space *rows, mica_space *columns, int64_t *depth,
                                 matrix out[2]) {
    int64_t of_left[MICA_MAX_RANK], of_right[MICA_MAX_RANK];
    mica_ints left = mica_node_ints(node, "lhs_contract"),
              right = mica_node_ints(node, "rhs_contract");
    mica_space deep;
    sort_axes(&left, &right, of_left, of_right);
    MICA_TRY(find_operand(device, k, node, 0, mica_node_ints(node, "lhs_batch"), left, rows, &deep,
                          &out[0]));
    MICA_TRY(find_operand(device, k, node, 1, mica_node_ints(node, "rhs_batch"), right, columns,
                          &deep, &out[1]));
    *depth = deep.n;
    return NULL;
}

static bool has_work(const mica_node *node) {
    const mica_type *x = mica_operand_type(node, 0);
    mica_ints contract = mica_node_ints(node, "lhs_contract");
    int64_t depth = 1;
    for (int32_t i = 0; i < contract.n; i++) depth *= x->dims[contract.data[i]];
    return mica_type_elements(&node->results[0]) >= (LEAST_WORK + depth - 1) / depth;
}

static bool plan_matrices(cuda_device *device, blas_kernel *k, const mica_node *node, int64_t rows,
                          int64_t columns, int64_t depth, const matrix *of) {
    const mica_cuda_blas_api *blas = device->blas;
    const matrix *left = &of[0], *right = &of[1];
    int dtype, compute, scale, transposed = CUBLAS_OP_T;
    if (!find_dtype(node->results[0].dtype, &dtype, &compute, &scale) || left->batch > INT32_MAX)
        return false;
    matrix result = {.batch = left->batch, .batch_stride = rows * columns, .leading = columns};
    k->is_f64 = scale == CUBLAS_R_64F;
    /* x1^T is columns by depth: in place when it runs across, else transposed. */
    return blas->desc_create(&k->desc, compute, scale) == 0 &&
           (!right->runs_down ||
            blas->desc_set(k->desc, CUBLASLT_DESC_TRANSA, &transposed, sizeof transposed) == 0) &&
           (left->runs_down ||
            blas->desc_set(k->desc, CUBLASLT_DESC_TRANSB, &transposed, sizeof transposed) == 0) &&
           make_layout(blas, dtype, right->runs_down ? depth : columns,
                       right->runs_down ? columns : depth, right, &k->layouts[0]) &&
           make_layout(blas, dtype, left->runs_down ? depth : rows, left->runs_down ? rows : depth,
                       left, &k->layouts[1]) &&
           make_layout(blas, dtype, columns, rows, &result, &k->layouts[2]) &&
           find_plan(device, k, node);
}

/* *out_planned: whether the library takes the product. */
static mica_status make_plan(cuda_device *device, blas_kernel *k, const mica_node *node,
                             bool *out_planned) {
    mica_space rows, columns;
    matrix operands[2];
    int64_t depth = 0;
    int ignored;
    *out_planned = false;
    if (!find_dtype(node->results[0].dtype, &ignored, &ignored, &ignored)) return NULL;
    MICA_TRY(find_operands(device, k, node, &rows, &columns, &depth, operands));
    if ((k->copies[0] || k->copies[1]) && !has_work(node)) return NULL;
    CUresult entered = cuda_enter(device);
    if (entered != CUDA_SUCCESS) return cuda_error(device, entered, "kernel_create");
    *out_planned = plan_matrices(device, k, node, rows.n, columns.n, depth, operands);
    cuda_leave(device);
    return NULL;
}

/* ---- kernels ----------------------------------------------------------------------------------*/

static size_t round_up(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static mica_status launch_blas(const cuda_kernel *kernel, cuda_stream *stream,
                               const mica_address *operands, const mica_address *results,
                               mica_address scratch) {
    const blas_kernel *k = (const blas_kernel *)kernel;
    cuda_device *device = stream->device;
    const double one = 1, zero = 0;
    const float one_f32 = 1, zero_f32 = 0;
    mica_address x[2] = {operands[0], operands[1]};
    void *y = (void *)(uintptr_t)results[0];
    for (int i = 0; i < 2; i++) {
        if (!k->copies[i]) continue;
        x[i] = scratch + k->copy_offsets[i];
        MICA_TRY(k->copies[i]->launch(k->copies[i], stream, &operands[i], &x[i], 0));
    }
    if (stream->poison) return cuda_error(device, stream->poison, "launch");
    CUresult entered = cuda_enter(device);
    if (entered != CUDA_SUCCESS) return cuda_error(device, entered, "launch");
    int result = device->blas->matmul(
        device->blas_handle, k->desc, k->is_f64 ? (const void *)&one : &one_f32,
        (const void *)(uintptr_t)x[1], k->layouts[0], (const void *)(uintptr_t)x[0], k->layouts[1],
        k->is_f64 ? (const void *)&zero : &zero_f32, y, k->layouts[2], y, k->layouts[2],
        k->plan.algorithm, (void *)(uintptr_t)scratch, k->plan.workspace_bytes, stream->handle);
    cuda_leave(device);
    if (result == 0) return NULL;
    return MICA_ERROR(MICA_DEVICE_ERROR, "[dot] %s: cuBLASLt answers status %d", device->base.name,
                      result);
}

static void destroy_blas(cuda_device *device, cuda_kernel *kernel) {
    blas_kernel *k = (blas_kernel *)kernel;
    if (k->desc) device->blas->desc_destroy(k->desc);
    for (int i = 0; i < 3; i++)
        if (k->layouts[i]) device->blas->layout_destroy(k->layouts[i]);
    for (int i = 0; i < 2; i++)
        if (k->copies[i]) cuda_kernel_destroy(&device->base, &k->copies[i]->base);
    mica_free(k);
}

mica_status cuda_blas_create(cuda_device *device, const mica_node *node, cuda_kernel **out_kernel) {
    blas_kernel *k;
    *out_kernel = NULL;
    if (!open_blas(device)) return NULL;
    MICA_TRY(cuda_kernel_new(sizeof *k, &k));
    k->base.launch = launch_blas;
    k->base.destroy = destroy_blas;
    bool planned;
    mica_status status = make_plan(device, k, node, &planned);
    if (status || !planned) {
        destroy_blas(device, &k->base);
        return status;
    }
    size_t bytes = round_up(k->plan.workspace_bytes);
    for (int i = 0; i < 2; i++) {
        if (!k->copies[i]) continue;
        k->copy_offsets[i] = bytes;
        bytes += round_up(mica_type_bytes(mica_operand_type(node, i)));
    }
    k->base.base.scratch_bytes = bytes;
    *out_kernel = &k->base;
    return NULL;
}
