/* dot: batch, contracted and free axes become the index spaces of a contraction. */
#include "device/cpu/contract.h"

typedef struct dot_kernel {
    cpu_kernel base;
    cpu_contract contract;
} dot_kernel;

static void run_dot(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                    void *scratch) {
    const dot_kernel *k = (const dot_kernel *)kernel;
    mica_cpu_contract_run(&k->contract, operands[0], operands[1], results[0], scratch);
}

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
    if (!mica_cpu_contract_init(c, x->dtype)) {
        mica_free(k);
        return mica_cpu_unsupported(node, x->dtype);
    }
    k->base.head.scratch_bytes = c->scratch_bytes;
    *out = &k->base;
    return NULL;
}
