/* reduce over any axes (prelude/reduce.h). */
#include <stdio.h>
#include <string.h>

#include "device/cuda/steps.h"
#include "ir/scalar_reduce.h"

enum { FEW_PARTS = 64 }; /* that one thread puts together */

bool cuda_reduce_takes(const mica_node *node) {
    if (node->op != MICA_OP_reduce) return false;
    return cuda_family_has(CUDA_REDUCE, mica_operand_type(node, 0)->dtype);
}

/* As the CPU's kernel cuts it: the innermost run of axes that are alike is one axis. */
static bool find_layout(const mica_node *node, mica_reduce_layout *a) {
    const mica_type *x = mica_operand_type(node, 0);
    mica_ints axes = mica_node_ints(node, "axes");
    int64_t strides[MICA_MAX_RANK];
    uint32_t reduced = 0;
    int32_t last = x->rank - 1;
    for (int32_t i = 0; i < axes.n; i++) reduced |= 1u << axes.data[i];
    while (last >= 0 && x->dims[last] == 1) last--;
    cuda_strides(x, strides);
    *a = (mica_reduce_layout){.inner = 1, .blocks = 1};
    cuda_space_init(&a->kept);
    cuda_space_init(&a->reduced);
    bool by_rows = last < 0 || reduced >> last & 1;
    for (; last >= 0 && (x->dims[last] == 1 || (reduced >> last & 1) == by_rows); last--)
        a->inner *= x->dims[last];
    for (int32_t i = 0; i <= last; i++)
        cuda_space_add(reduced >> i & 1 ? &a->reduced : &a->kept, x->dims[i], strides[i]);
    if (by_rows) {
        a->blocks = (a->inner + MICA_REDUCE_BLOCK - 1) / MICA_REDUCE_BLOCK;
        a->parts = a->reduced.n * a->blocks;
        a->results = a->kept.n;
    } else {
        a->parts = (a->reduced.n + MICA_REDUCE_ROWS - 1) / MICA_REDUCE_ROWS;
        a->results = a->kept.n * a->inner;
    }
    return by_rows;
}

static mica_status add_steps(cuda_device *device, cuda_steps *steps, const mica_node *node) {
    const char *kind = mica_node_string(node, "kind");
    mica_dtype dtype = mica_operand_type(node, 0)->dtype;
    bool is_half = dtype == MICA_DTYPE_f16 || dtype == MICA_DTYPE_bf16;
    mica_reduce_layout a;
    char name[32];
    bool by_rows = find_layout(node, &a);
    int64_t units = a.results * a.parts;
    snprintf(name, sizeof name, "%s_%s", by_rows ? "rows" : "columns", kind);
    MICA_TRY(cuda_steps_add(device, steps, name, by_rows ? units * MICA_REDUCE_LANES : units, &a,
                            sizeof a, 0, -1, -1));
    if (a.parts == 1) return NULL;
    steps->base.base.scratch_bytes =
        (size_t)units * (is_half ? sizeof(float) : mica_dtype_bytes(dtype));
    if (by_rows) a.inner = 1;
    bool is_wide = a.parts > FEW_PARTS && a.results < 4096;
    int64_t most = (int64_t)device->multiprocessors * 8;
    int64_t blocks = a.results < most ? a.results : most;
    snprintf(name, sizeof name, "%s_%s", is_wide ? "wide_tree" : "tree", kind);
    return cuda_steps_add(device, steps, name, is_wide ? -blocks : a.results, &a, sizeof a, 0, -1,
                          -1);
}

mica_status cuda_reduce_create(cuda_device *device, const mica_node *node,
                               cuda_kernel **out_kernel) {
    cuda_steps *steps;
    MICA_TRY(cuda_steps_create(device, CUDA_REDUCE, mica_operand_type(node, 0)->dtype, 2, &steps));
    return cuda_steps_finish(device, add_steps(device, steps, node), steps, out_kernel);
}
