/* reduce_window, select_and_scatter, cumulative, argmax and argmin (prelude/window.h). */
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

mica_status cuda_window_create(cuda_device *device, const mica_node *node,
                               cuda_kernel **out_kernel) {
    cuda_steps *steps;
    MICA_TRY(cuda_steps_create(device, CUDA_WINDOW, mica_operand_type(node, 0)->dtype, 1, &steps));
    return cuda_steps_finish(device, add_step(device, steps, node), steps, out_kernel);
}
