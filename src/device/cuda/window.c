/* reduce_window, select_and_scatter, cumulative, argmax and argmin (prelude/window.h); pooling
 * (prelude/pool.h). */
#include <stdio.h>
#include <string.h>

#include "device/cuda/steps.h"
#include "ir/window_layout.h"

bool cuda_window_takes(const mica_node *node) {
    switch ((int)node->op) {
    case MICA_OP_argmax:
    case MICA_OP_argmin: /* indices may be floats elsewhere */
        if (mica_dtype_kind_of(node->results[0].dtype) == MICA_KIND_FLOAT) return false;
        break;
    case MICA_OP_reduce_window:
    case MICA_OP_select_and_scatter:
    case MICA_OP_cumulative: break;
    default: return false;
    }
    return cuda_family_has(CUDA_WINDOW, mica_operand_type(node, 0)->dtype);
}

static void find_windows(const mica_node *node, mica_window_arguments *a) {
    const mica_type *x = mica_operand_type(node, 0);
    mica_windows windows = mica_windows_of(node);
    int64_t stride = 1;
    *a = (mica_window_arguments){
        .n = mica_type_elements(&node->results[0]), .rank = windows.rank, .window_elements = 1};
    cuda_strides(x, a->x_strides);
    for (int32_t d = windows.rank - 1; d >= 0; d--) {
        const mica_window_axis *axis = &windows.axes[d];
        a->x_sizes[d] = x->dims[d];
        a->y_sizes[d] = axis->results;
        a->y_strides[d] = stride;
        stride *= axis->results;
        a->window[d] = axis->window;
        a->window_elements *= axis->window;
        a->stride[d] = axis->stride;
        a->low[d] = axis->low;
        a->base_dilation[d] = axis->base_dilation;
        a->window_dilation[d] = axis->window_dilation;
    }
}

static mica_line_arguments find_lines(const mica_node *node) {
    const mica_type *x = mica_operand_type(node, 0);
    int64_t axis = mica_node_int(node, "axis");
    mica_line_arguments a = {.size = x->dims[axis], .inner = 1};
    for (int32_t d = (int32_t)axis + 1; d < x->rank; d++) a.inner *= x->dims[d];
    a.lines = mica_type_elements(x) / a.size;
    a.reverse = mica_node_int(node, "reverse");
    a.exclusive = mica_node_int(node, "exclusive");
    a.index_bytes = (int64_t)mica_dtype_bytes(node->results[0].dtype);
    return a;
}

static mica_status add_step(cuda_device *device, cuda_steps *steps, const mica_node *node) {
    char name[40];
    if (node->op == MICA_OP_reduce_window || node->op == MICA_OP_select_and_scatter) {
        mica_window_arguments a;
        bool selects = node->op == MICA_OP_select_and_scatter;
        find_windows(node, &a);
        snprintf(name, sizeof name, "%s_%s", selects ? "select" : "window",
                 mica_node_string(node, selects ? "select" : "kind"));
        return cuda_steps_add(device, steps, name, a.n, &a, sizeof a, 0, selects ? 1 : -1, -1);
    }
    mica_line_arguments a = find_lines(node);
    if (node->op == MICA_OP_cumulative)
        snprintf(name, sizeof name, "cumulative_%s", mica_node_string(node, "kind"));
    else
        snprintf(name, sizeof name, "arg_%s", node->op == MICA_OP_argmax ? "max" : "min");
    return cuda_steps_add(device, steps, name, a.lines, &a, sizeof a, 0, -1, -1);
}

/* ---- pooling ----------------------------------------------------------------------------------*/

enum { MOST_POOL_AXES = 3, MOST_COUNT = INT32_MAX / 2, MOST_TAPS = 254 };

typedef struct pool {
    mica_pool_arguments a;
    int64_t outer, inner, taps, elements, windows; /* elements of x */
} pool;

static bool is_small(const mica_window_axis *axis) {
    const int64_t counts[] = {
        axis->size, axis->results, axis->window,        axis->stride,
        axis->low,  -axis->low,    axis->base_dilation, axis->window_dilation};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] > MOST_COUNT) return false;
    return axis->results * axis->stride + axis->window * axis->window_dilation <= MOST_COUNT &&
           axis->size + axis->low <= MOST_COUNT;
}

/* Finds the axes with windows; false when there are too many, or too much of anything. */
static bool find_pool(const mica_node *node, pool *out) {
    mica_windows windows = mica_windows_of(node);
    int32_t first = 0, last = windows.rank - 1;
    while (last > 0 && mica_window_is_trivial(&windows.axes[last])) last--;
    while (first < last && mica_window_is_trivial(&windows.axes[first])) first++;
    if (windows.rank == 0 || last - first >= MOST_POOL_AXES) return false;
    pool p = {.outer = 1, .inner = 1, .taps = 1};
    p.elements = mica_type_elements(mica_operand_type(node, 0));
    p.windows = 1;
    for (int i = 0; i < MOST_POOL_AXES; i++) p.a.axes[i] = (mica_pool_axis){1, 1, 1, 1, 0, 1, 1};
    for (int32_t d = 0; d < windows.rank; d++) {
        const mica_window_axis *axis = &windows.axes[d];
        p.windows *= axis->results;
        if (d < first) p.outer *= axis->size;
        if (d > last) p.inner *= axis->size;
        if (d < first || d > last) continue;
        if (!is_small(axis)) return false;
        p.taps *= axis->window;
        p.a.axes[MOST_POOL_AXES - 1 - (last - d)] = (mica_pool_axis){
            (int32_t)axis->size,           (int32_t)axis->results, (int32_t)axis->window,
            (int32_t)axis->stride,         (int32_t)axis->low,     (int32_t)axis->base_dilation,
            (int32_t)axis->window_dilation};
        if (p.taps > MOST_COUNT) return false;
    }
    *out = p;
    return p.elements <= MOST_COUNT && p.windows <= MOST_COUNT;
}

/* In scratch memory: a byte per window. */
static mica_status add_choices(cuda_device *device, cuda_steps *steps, const mica_node *node,
                               pool *p, const char *wide, int64_t width) {
    char name[40];
    steps->base.base.scratch_bytes = (size_t)p->windows;
    snprintf(name, sizeof name, "%schoose_%s", wide, mica_node_string(node, "select"));
    p->a.n = p->windows / width;
    MICA_TRY(cuda_steps_add(device, steps, name, p->a.n, &p->a, sizeof p->a, 0, -1, -1));
    snprintf(name, sizeof name, "%sspread", wide);
    p->a.n = p->elements / width;
    return cuda_steps_add(device, steps, name, p->a.n, &p->a, sizeof p->a, 0, 1, -1);
}

/* *out_kernel is NULL when it is no pooling. */
static mica_status create_pool(cuda_device *device, const mica_node *node,
                               cuda_kernel **out_kernel) {
    pool p;
    cuda_steps *steps;
    char name[40];
    bool selects = node->op == MICA_OP_select_and_scatter;
    mica_dtype dtype = mica_operand_type(node, 0)->dtype;
    *out_kernel = NULL;
    if (!find_pool(node, &p) || (selects && p.taps > MOST_TAPS)) return NULL;
    int64_t width = 16 / (int64_t)mica_dtype_bytes(dtype);
    if (p.inner % width != 0) width = 1;
    const char *wide = width > 1 ? "wide_" : "";
    p.a.inner = (int32_t)(p.inner / width);
    MICA_TRY(cuda_steps_create(device, CUDA_POOL, dtype, 2, &steps));
    mica_status status;
    if (selects) {
        status = add_choices(device, steps, node, &p, wide, width);
    } else {
        snprintf(name, sizeof name, "%spool_%s", wide, mica_node_string(node, "kind"));
        p.a.n = p.windows / width;
        status = cuda_steps_add(device, steps, name, p.a.n, &p.a, sizeof p.a, 0, -1, -1);
    }
    return cuda_steps_finish(device, status, steps, out_kernel);
}

mica_status cuda_window_create(cuda_device *device, const mica_node *node,
                               cuda_kernel **out_kernel) {
    cuda_steps *steps;
    *out_kernel = NULL;
    if (node->op == MICA_OP_reduce_window || node->op == MICA_OP_select_and_scatter)
        MICA_TRY(create_pool(device, node, out_kernel));
    if (*out_kernel) return NULL;
    MICA_TRY(cuda_steps_create(device, CUDA_WINDOW, mica_operand_type(node, 0)->dtype, 1, &steps));
    return cuda_steps_finish(device, add_step(device, steps, node), steps, out_kernel);
}
