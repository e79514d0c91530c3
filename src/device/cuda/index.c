/* gather and scatter (prelude/index.h). */
#include "ir/index_layout.h"

#include <stdio.h>
#include <string.h>

#include "device/cuda/steps.h"

enum {
    SCATTER_THREADS = 8192, /* that are worth looking at all index vectors each */
    LEAST_SORTED = 32,      /* positions: fewer are looked at by each thread */
    MOST_SORTED = 1 << 18   /* each is compared with each */
};

static const char *kernel_of(const mica_node *node) {
    const char *kind = mica_node_string(node, "kind");
    return !strcmp(kind, "add")   ? "sum"
           : !strcmp(kind, "mul") ? "prod"
           : !strcmp(kind, "max") ? "max"
           : !strcmp(kind, "min") ? "min"
                                  : NULL;
}

/* Windows that begin at different places do not overlap: an element of x belongs to one element of
 * a window. Then those are independent. */
static bool is_apart(const mica_node *node) {
    mica_index_dims dims = mica_index_dims_of(node);
    mica_index_layout layout = mica_index_layout_of(node);
    for (int32_t k = 0; k < dims.map.n; k++)
        if (layout.sizes[dims.map.data[k]] != 1) return false;
    return true;
}

bool cuda_index_takes(const mica_node *node) {
    if (node->op == MICA_OP_gather) return true;
    if (node->op != MICA_OP_scatter || !is_apart(node)) return false;
    return !kernel_of(node) || cuda_family_has(CUDA_WINDOW, node->results[0].dtype);
}

/* windows: gather's result or scatter's updates. */
static void find_arguments(const mica_node *node, const mica_type *windows,
                           mica_index_arguments *a) {
    const mica_type *x = mica_operand_type(node, 0), *indices = mica_operand_type(node, 1);
    mica_index_dims dims = mica_index_dims_of(node);
    mica_index_layout layout = mica_index_layout_of(node);
    int64_t of_x[MICA_MAX_RANK], of_indices[MICA_MAX_RANK], of_windows[MICA_MAX_RANK];
    cuda_strides(x, of_x);
    cuda_strides(indices, of_indices);
    cuda_strides(windows, of_windows);
    *a = (mica_index_arguments){.n = mica_type_elements(windows), .rank = windows->rank};
    memcpy(a->sizes, windows->dims, (size_t)windows->rank * sizeof *a->sizes);
    cuda_space_init(&a->position_updates);
    cuda_space_init(&a->window_updates);
    for (int32_t i = 0; i < layout.n_positions; i++) {
        int32_t axis = layout.positions[i].windows, batch = layout.positions[i].batch;
        a->index_strides[axis] = of_indices[layout.positions[i].indices];
        if (batch >= 0) a->x_strides[axis] = of_x[batch];
        cuda_space_add(&a->position_updates, windows->dims[axis], of_windows[axis]);
    }
    for (int32_t i = 0; i < layout.n_window; i++) {
        int32_t axis = layout.window[i].windows;
        a->x_strides[axis] = of_x[layout.window[i].x];
        cuda_space_add(&a->window_updates, windows->dims[axis], of_windows[axis]);
    }
    a->entries = dims.map.n;
    a->entry_stride = dims.vector_dim < indices->rank ? of_indices[dims.vector_dim] : 0;
    a->index_bytes = (int64_t)mica_dtype_bytes(indices->dtype);
    a->index_is_signed = mica_dtype_kind_of(indices->dtype) == MICA_KIND_SIGNED;
    a->fills = dims.fill;
    for (int32_t k = 0; k < dims.map.n; k++) {
        int64_t axis = dims.map.data[k];
        a->highest[k] = x->dims[axis] - layout.sizes[axis];
        a->entry_x_strides[k] = of_x[axis];
    }
}

/* Every thread goes over all index vectors. */
static mica_status add_plain_scatter(cuda_device *device, cuda_steps *steps, const char *name,
                                     mica_index_arguments *a) {
    a->shards = SCATTER_THREADS / a->window_updates.n;
    if (a->shards > a->position_updates.n) a->shards = a->position_updates.n;
    if (a->shards < 1) a->shards = 1;
    return cuda_steps_add(device, steps, name, a->window_updates.n * a->shards, a, sizeof *a, 0, 1,
                          2);
}

static mica_status add_sorted_scatter(cuda_device *device, cuda_steps *steps, const char *name,
                                      const mica_index_arguments *a) {
    int64_t n = a->position_updates.n;
    steps->base.base.scratch_bytes = (size_t)n * 3 * sizeof(int64_t);
    MICA_TRY(cuda_steps_add(device, steps, "scatter_starts", n, a, sizeof *a, 0, 1, 2));
    MICA_TRY(cuda_steps_add(device, steps, "scatter_order", n, a, sizeof *a, 0, 1, 2));
    return cuda_steps_add(device, steps, name, n * a->window_updates.n, a, sizeof *a, 0, 1, 2);
}

static mica_status add_scatter(cuda_device *device, cuda_steps *steps, const mica_node *node) {
    mica_index_arguments a;
    char name[32];
    const char *kernel = kernel_of(node);
    find_arguments(node, mica_operand_type(node, 2), &a);
    bool sorts = a.position_updates.n >= LEAST_SORTED && a.position_updates.n <= MOST_SORTED;
    if (kernel)
        snprintf(name, sizeof name, "scatter%s_%s", sorts ? "_sorted" : "", kernel);
    else
        snprintf(name, sizeof name, "assign%s%zu", sorts ? "_sorted" : "",
                 mica_dtype_bytes(node->results[0].dtype));
    cuda_steps_add_copy(steps, 0, mica_type_bytes(&node->results[0]));
    steps->base.base.in_place_operands = 1;
    return sorts ? add_sorted_scatter(device, steps, name, &a)
                 : add_plain_scatter(device, steps, name, &a);
}

static mica_status add_gather(cuda_device *device, cuda_steps *steps, const mica_node *node) {
    mica_index_arguments a;
    char name[32];
    find_arguments(node, &node->results[0], &a);
    snprintf(name, sizeof name, "gather%zu", mica_dtype_bytes(node->results[0].dtype));
    return cuda_steps_add(device, steps, name, a.n, &a, sizeof a, 0, 1, -1);
}

mica_status cuda_index_create(cuda_device *device, const mica_node *node,
                              cuda_kernel **out_kernel) {
    cuda_steps *steps;
    bool combines = node->op == MICA_OP_scatter && kernel_of(node);
    MICA_TRY(cuda_steps_create(device, combines ? CUDA_WINDOW : CUDA_MOVE, node->results[0].dtype,
                               4, &steps));
    mica_status status = node->op == MICA_OP_gather ? add_gather(device, steps, node)
                                                    : add_scatter(device, steps, node);
    return cuda_steps_finish(device, status, steps, out_kernel);
}
