/* dot and conv (prelude/contract.h). */
#include <stdio.h>
#include <string.h>

#include "device/cuda/steps.h"
#include "ir/conv_layout.h"

bool cuda_contract_takes(const mica_node *node) {
    if (node->op != MICA_OP_dot && node->op != MICA_OP_conv) return false;
    return cuda_family_has(CUDA_CONTRACT, node->results[0].dtype);
}

/* ---- dot --------------------------------------------------------------------------------------*/

static bool has(mica_ints list, int64_t value) {
    for (int32_t i = 0; i < list.n; i++)
        if (list.data[i] == value) return true;
    return false;
}

void cuda_dot_split(const mica_type *x, mica_ints batch, mica_ints contract, mica_space *of_batch,
                    mica_space *of_rest, mica_space *of_depth) {
    int64_t strides[MICA_MAX_RANK];
    cuda_strides(x, strides);
    cuda_space_init(of_batch);
    cuda_space_init(of_rest);
    cuda_space_init(of_depth);
    for (int32_t i = 0; i < batch.n; i++)
        cuda_space_add(of_batch, x->dims[batch.data[i]], strides[batch.data[i]]);
    for (int32_t i = 0; i < contract.n; i++)
        cuda_space_add(of_depth, x->dims[contract.data[i]], strides[contract.data[i]]);
    for (int32_t i = 0; i < x->rank; i++)
        if (!has(batch, i) && !has(contract, i)) cuda_space_add(of_rest, x->dims[i], strides[i]);
}

static bool is_dense(const mica_space *space) {
    return space->rank > 0 && space->strides[space->rank - 1] == 1;
}

void cuda_dot_layout(const mica_node *node, mica_dot_layout *out) {
    mica_dot_layout a = {.left_runs_down = 0};
    cuda_dot_split(mica_operand_type(node, 0), mica_node_ints(node, "lhs_batch"),
                   mica_node_ints(node, "lhs_contract"), &a.left_batch, &a.left_rows,
                   &a.left_depth);
    cuda_dot_split(mica_operand_type(node, 1), mica_node_ints(node, "rhs_batch"),
                   mica_node_ints(node, "rhs_contract"), &a.right_batch, &a.right_columns,
                   &a.right_depth);
    a.left_runs_down = is_dense(&a.left_depth);
    a.right_runs_down = is_dense(&a.right_depth);
    *out = a;
}

static mica_status add_dot(cuda_device *device, cuda_steps *steps, const mica_node *node) {
    mica_dot_layout a;
    cuda_dot_layout(node, &a);
    int64_t tiles = a.left_batch.n * ((a.left_rows.n + 63) / 64) * ((a.right_columns.n + 63) / 64);
    return cuda_steps_add(device, steps, "dot", -(tiles < 1 << 20 ? tiles : 1 << 20), &a, sizeof a,
                          0, 1, -1);
}

/* ---- conv -------------------------------------------------------------------------------------*/

static mica_status add_conv(cuda_device *device, cuda_steps *steps, const mica_node *node) {
    const mica_type *x = mica_operand_type(node, 0), *k = mica_operand_type(node, 1),
                    *y = &node->results[0];
    mica_conv_layout layout;
    int64_t of_x[MICA_MAX_RANK], of_k[MICA_MAX_RANK];
    if (!mica_conv_layout_parse(mica_node_string(node, "layout"), &layout))
        return MICA_ERROR(MICA_INTERNAL, "[conv] the layout cannot be read");
    mica_ints strides = mica_node_ints(node, "strides"), low = mica_node_ints(node, "low");
    mica_ints x_dilation = mica_node_ints(node, "lhs_dilation");
    mica_ints k_dilation = mica_node_ints(node, "rhs_dilation");
    int64_t channels = y->dims[layout.out_channel];
    mica_conv_arguments a = {.n = mica_type_elements(y), .rank = y->rank};
    cuda_strides(x, of_x);
    cuda_strides(k, of_k);
    memcpy(a.y_sizes, y->dims, (size_t)y->rank * sizeof *a.y_sizes);
    a.y_roles[layout.out_batch] = 0;
    a.y_roles[layout.out_channel] = 1;
    a.x_strides[0] = of_x[layout.lhs_batch];
    a.x_strides[1] = of_x[layout.lhs_channel];
    a.k_strides[0] = of_k[layout.rhs_output];
    a.k_strides[1] = of_k[layout.rhs_input];
    for (int32_t s = 0; s < 3; s++) {
        bool is_there = s < layout.spatial;
        if (is_there) a.y_roles[layout.out_spatial[s]] = 2 + s;
        a.x_strides[2 + s] = is_there ? of_x[layout.lhs_spatial[s]] : 0;
        a.k_strides[2 + s] = is_there ? of_k[layout.rhs_spatial[s]] : 0;
        a.x_sizes[s] = is_there ? x->dims[layout.lhs_spatial[s]] : 1;
        a.k_sizes[s] = is_there ? k->dims[layout.rhs_spatial[s]] : 1;
        a.strides[s] = is_there ? strides.data[s] : 1;
        a.low[s] = is_there ? low.data[s] : 0;
        a.x_dilation[s] = is_there ? x_dilation.data[s] : 1;
        a.k_dilation[s] = is_there ? k_dilation.data[s] : 1;
    }
    a.group_inputs = k->dims[layout.rhs_input];
    a.group_outputs = channels / mica_node_int(node, "groups");
    a.group_batch = x->dims[layout.lhs_batch] / mica_node_int(node, "batch_groups");
    a.batch_group_outputs = channels / mica_node_int(node, "batch_groups");
    return cuda_steps_add(device, steps, "conv", a.n, &a, sizeof a, 0, 1, -1);
}

mica_status cuda_contract_create(cuda_device *device, const mica_node *node,
                                 cuda_kernel **out_kernel) {
    cuda_steps *steps;
    *out_kernel = NULL;
    MICA_TRY(node->op == MICA_OP_dot ? cuda_blas_create(device, node, out_kernel)
                                     : cuda_conv_create(device, node, out_kernel));
    if (*out_kernel) return NULL;
    MICA_TRY(cuda_steps_create(device, CUDA_CONTRACT, node->results[0].dtype, 1, &steps));
    mica_status status =
        node->op == MICA_OP_dot ? add_dot(device, steps, node) : add_conv(device, steps, node);
    return cuda_steps_finish(device, status, steps, out_kernel);
}
