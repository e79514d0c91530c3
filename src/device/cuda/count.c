/* iota and rng_bits (prelude/counts.h). */
#include <stdio.h>

#include "device/cuda/steps.h"

bool cuda_count_takes(const mica_node *node) {
    mica_dtype_kind kind = mica_dtype_kind_of(node->results[0].dtype);
    if (node->op == MICA_OP_rng_bits) return kind == MICA_KIND_UNSIGNED || kind == MICA_KIND_SIGNED;
    return node->op == MICA_OP_iota && kind != MICA_KIND_COMPLEX && kind != MICA_KIND_BOOLEAN;
}

static mica_status add_step(cuda_device *device, cuda_steps *steps, const mica_node *node) {
    const mica_type *y = &node->results[0];
    mica_iota_layout a = {.n = mica_type_elements(y), .inner = 1, .size = 1};
    char name[32];
    if (node->op == MICA_OP_rng_bits) {
        snprintf(name, sizeof name, "philox%zu", mica_dtype_bytes(y->dtype));
        return cuda_steps_add(device, steps, name, (a.n + 1) / 2, &a, sizeof a, 0, 1, -1);
    }
    int64_t axis = mica_node_int(node, "axis");
    a.size = y->dims[axis];
    for (int32_t d = (int32_t)axis + 1; d < y->rank; d++) a.inner *= y->dims[d];
    snprintf(name, sizeof name, "iota_%s", mica_dtype_name(y->dtype));
    return cuda_steps_add(device, steps, name, a.n, &a, sizeof a, -1, -1, -1);
}

mica_status cuda_count_create(cuda_device *device, const mica_node *node,
                              cuda_kernel **out_kernel) {
    cuda_steps *steps;
    MICA_TRY(cuda_steps_create(device, CUDA_COUNTS, node->results[0].dtype, 1, &steps));
    return cuda_steps_finish(device, add_step(device, steps, node), steps, out_kernel);
}
