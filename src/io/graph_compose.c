/* Ops of files that have no row and are made of rows. */
#include "io/graph_builder.h"

/* Slices of a variable along its first axis, or along the one after batch_dims others. */
static mica_status resource_gather(io_builder *b, const io_making *m) {
    static const io_fact nothing = {0};
    io_range value;
    int64_t batch_dims = 0;
    mica_type scalar = mica_type_scalar(MICA_DTYPE_i32);
    mica_tensor *tensor;
    mica_tf_ref operands[3] = {{0}}, result;
    if (m->n != 2 || (m->facts[0].kind != IO_VARIABLE && m->facts[0].kind != IO_VALUE))
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[ResourceGather] it is of a variable that is not known");
    if (io_node_attr(m->node, "batch_dims", &value)) batch_dims = (int64_t)io_find_number(value, 3);
    if (batch_dims < 0 || batch_dims > MICA_MAX_RANK)
        return MICA_ERROR(MICA_DATA_LOSS, "[ResourceGather] batch_dims must be 0 to %d, not %lld",
                          MICA_MAX_RANK, (long long)batch_dims);
    const mica_tf_attr dtype = {.as.integer = m->facts[0].dtype};
    operands[0] = m->inputs[0];
    if (m->facts[0].kind == IO_VARIABLE) {
        MICA_TRY(io_add(b, MICA_TF_ReadVariableOp, &dtype, m->inputs, 1, &operands[0]));
        MICA_TRY(mica_tf_graph_set_shape(b->graph, operands[0], &m->facts[0].shape));
    }
    operands[1] = m->inputs[1];
    const int32_t axis = (int32_t)batch_dims;
    MICA_TRY(mica_tensor_from_host(b->library->values.device, &scalar, &axis, &tensor));
    mica_tf_value constant = mica_tf_value_of(tensor);
    const mica_tf_attr constant_attrs[2] = {{.as.value = constant}, {.as.integer = constant.dtype}};
    mica_status status = io_add(b, MICA_TF_Const, constant_attrs, NULL, 0, &operands[2]);
    mica_tf_value_release(constant);
    if (status) return status;
    const mica_tf_attr gather_attrs[4] = {{.as.integer = batch_dims}}; /* the others are inferred */
    MICA_TRY(io_add(b, MICA_TF_GatherV2, gather_attrs, operands, 3, &result));
    return io_become(b, m, result, &nothing);
}

/* Of a variable of TensorFlow 1: the result is the variable again. */
static mica_status assign(io_builder *b, const io_making *m) {
    mica_tf_op op = io_is(m->node->op, "Assign")      ? MICA_TF_AssignVariableOp
                    : io_is(m->node->op, "AssignAdd") ? MICA_TF_AssignAddVariableOp
                                                      : MICA_TF_AssignSubVariableOp;
    mica_tf_ref nothing;
    if (m->n != 2 || m->facts[0].kind != IO_REFERENCE)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%.*s] it is of a variable that is not known",
                          IO_TEXT(m->node->op));
    MICA_TRY(io_add(b, op, NULL, m->inputs, 2, &nothing));
    return io_become(b, m, m->inputs[0], &m->facts[0]);
}

/* Nothing is fed to it. */
static mica_status take_default(io_builder *b, const io_making *m) {
    mica_tf_ref result;
    if (m->n != 1)
        return MICA_ERROR(MICA_DATA_LOSS, "[PlaceholderWithDefault] takes 1 input, %d given", m->n);
    MICA_TRY(io_add(b, MICA_TF_Identity, NULL, m->inputs, 1, &result));
    return io_become(b, m, result, &m->facts[0]);
}

static const struct {
    const char *op;
    mica_status (*make)(io_builder *b, const io_making *m);
} ops[] = {{"ResourceGather", resource_gather},
           {"Assign", assign},
           {"AssignAdd", assign},
           {"AssignSub", assign},
           {"SymbolicGradient", io_symbolic_gradient},
           {"PlaceholderWithDefault", take_default}};

mica_status io_compose(io_builder *b, const io_making *m, bool *out_done) {
    *out_done = true;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (io_is(m->node->op, ops[i].op)) return ops[i].make(b, m);
    *out_done = false;
    return NULL;
}
