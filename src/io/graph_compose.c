/* Ops of files that have no row and are made of rows. */
#include <stdio.h>
#include <string.h>

#include "io/graph_builder.h"

/* An integer as a constant. */
static mica_status add_int(io_builder *b, int32_t number, mica_tf_ref *out_ref) {
    mica_type scalar = mica_type_scalar(MICA_DTYPE_i32);
    mica_tensor *tensor;
    MICA_TRY(mica_tensor_from_host(b->library->values.device, &scalar, &number, &tensor));
    mica_tf_value constant = mica_tf_value_of(tensor);
    const mica_tf_attr attrs[2] = {{.as.value = constant}, {.as.integer = constant.dtype}};
    mica_status status = io_add(b, MICA_TF_Const, attrs, NULL, 0, out_ref);
    mica_tf_value_release(constant);
    return status;
}

/* What the node's first input holds now: a variable, or a value that was read before. */
static mica_status read_first(io_builder *b, const io_making *m, int32_t n, mica_tf_ref *out_ref) {
    if (m->n != n || (m->facts[0].kind != IO_VARIABLE && m->facts[0].kind != IO_VALUE))
        return MICA_ERROR(MICA_UNSUPPORTED, "[%.*s] it is of a variable that is not known",
                          IO_TEXT(m->node->op));
    *out_ref = m->inputs[0];
    if (m->facts[0].kind == IO_VALUE) return NULL;
    const mica_tf_attr dtype = {.as.integer = m->facts[0].dtype};
    MICA_TRY(io_add(b, MICA_TF_ReadVariableOp, &dtype, m->inputs, 1, out_ref));
    return mica_tf_graph_set_shape(b->graph, *out_ref, &m->facts[0].shape);
}

/* Slices of a variable along its first axis, or along the one after batch_dims others. */
static mica_status resource_gather(io_builder *b, const io_making *m) {
    static const io_fact nothing = {0};
    io_range value;
    int64_t batch_dims = 0;
    mica_tf_ref operands[3] = {{0}}, result;
    if (io_node_attr(m->node, "batch_dims", &value)) batch_dims = (int64_t)io_find_number(value, 3);
    if (batch_dims < 0 || batch_dims > MICA_MAX_RANK)
        return MICA_ERROR(MICA_DATA_LOSS, "[ResourceGather] batch_dims must be 0 to %d, not %lld",
                          MICA_MAX_RANK, (long long)batch_dims);
    MICA_TRY(read_first(b, m, 2, &operands[0]));
    operands[1] = m->inputs[1];
    MICA_TRY(add_int(b, (int32_t)batch_dims, &operands[2]));
    const mica_tf_attr gather_attrs[4] = {{.as.integer = batch_dims}}; /* the others are inferred */
    MICA_TRY(io_add(b, MICA_TF_GatherV2, gather_attrs, operands, 3, &result));
    return io_become(b, m, result, &nothing);
}

/* Places that TensorFlow refuses are refused: other ways to treat them are not ours. */
static mica_status check_policy(const io_making *m) {
    io_range value, policy;
    if (!io_node_attr(m->node, "bad_indices_policy", &value) || !io_find_part(value, 2, &policy))
        return NULL;
    if (!policy.n || io_is(policy, "DEFAULT") || io_is(policy, "ERROR")) return NULL;
    return MICA_ERROR(MICA_UNSUPPORTED, "[%.*s] bad_indices_policy '%.*s' must be '' or 'ERROR'",
                      IO_TEXT(m->node->op), IO_TEXT(policy));
}

static mica_status resource_gather_nd(io_builder *b, const io_making *m) {
    static const io_fact nothing = {0};
    mica_tf_ref operands[2] = {{0}}, result;
    MICA_TRY(check_policy(m));
    MICA_TRY(read_first(b, m, 2, &operands[0]));
    operands[1] = m->inputs[1];
    MICA_TRY(io_add(b, MICA_TF_GatherNd, NULL, operands, 2, &result));
    return io_become(b, m, result, &nothing);
}

static mica_status variable_shape(io_builder *b, const io_making *m) {
    static const io_fact nothing = {0};
    io_range value;
    mica_tf_ref variable, result;
    MICA_TRY(read_first(b, m, 1, &variable));
    bool is_wide =
        io_node_attr(m->node, "out_type", &value) && io_find_number(value, 6) == MICA_TF_int64;
    const mica_tf_attr attrs[2] = {
        {0}, {.as.integer = is_wide ? MICA_TF_int64 : MICA_TF_int32}}; /* T is inferred */
    MICA_TRY(io_add(b, MICA_TF_Shape, attrs, &variable, 1, &result));
    return io_become(b, m, result, &nothing);
}

/* One more axis of size 1. */
static mica_status add_axis(io_builder *b, int32_t axis, mica_tf_ref *tensor) {
    mica_tf_ref operands[2] = {*tensor};
    MICA_TRY(add_int(b, axis, &operands[1]));
    return io_add(b, MICA_TF_ExpandDims, NULL, operands, 2, tensor);
}

/* A scalar in the shape of what is at the places. */
static mica_status fill_places(io_builder *b, mica_tf_ref variable, mica_tf_ref places,
                               mica_tf_ref *scalar) {
    const mica_tf_attr attrs[2] = {{0}, {.as.integer = MICA_TF_int32}};
    mica_tf_ref there[2] = {variable, places}, old, operands[2] = {*scalar};
    MICA_TRY(io_add(b, MICA_TF_GatherNd, NULL, there, 2, &old));
    MICA_TRY(io_add(b, MICA_TF_Shape, attrs, &old, 1, &operands[1]));
    return io_add(b, MICA_TF_BroadcastTo, NULL, operands, 2, scalar);
}

/* Of ResourceScatterX: an index is a place of length 1, a single one a list of one; one number as
 * the updates is all of them. */
static mica_status spread(io_builder *b, mica_tf_ref variable, mica_tf_ref *places,
                          mica_tf_ref *updates) {
    mica_tf_shape indices, given;
    mica_tf_graph_type(b->graph, *places, &indices);
    mica_tf_graph_type(b->graph, *updates, &given);
    if (indices.rank == 0) MICA_TRY(add_axis(b, 0, places));
    MICA_TRY(add_axis(b, -1, places));
    if (given.rank == 0) return fill_places(b, variable, *places, updates);
    return indices.rank == 0 ? add_axis(b, 0, updates) : NULL;
}

/* ResourceScatterX changes slices along the first axis, ResourceScatterNdX what is at places; the
 * row is TensorScatterX. Others have none. */
static bool find_scatter(io_range name, bool *out_slices, mica_tf_op *out_row) {
    static const char prefix[] = "ResourceScatter";
    const size_t n = sizeof prefix - 1;
    char row[32];
    if (name.n <= n || memcmp(name.data, prefix, n) != 0) return false;
    const uint8_t *rest = name.data + n;
    size_t length = name.n - n;
    *out_slices = length < 3 || rest[0] != 'N' || rest[1] != 'd';
    if (!*out_slices) rest += 2, length -= 2;
    if (length >= 16) return false;
    snprintf(row, sizeof row, "TensorScatter%.*s", (int)length, (const char *)rest);
    return mica_tf_op_parse(row, out_row);
}

/* Parts of a variable: its value with them changed is its next. */
static mica_status resource_scatter(io_builder *b, const io_making *m, bool slices,
                                    mica_tf_op row) {
    mica_tf_ref operands[3] = {{0}}, assigned[2], none;
    if (m->n != 3 || m->facts[0].kind != IO_VARIABLE)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%.*s] it is of a variable that is not known",
                          IO_TEXT(m->node->op));
    MICA_TRY(check_policy(m));
    MICA_TRY(read_first(b, m, 3, &operands[0]));
    operands[1] = m->inputs[1], operands[2] = m->inputs[2];
    if (slices) MICA_TRY(spread(b, operands[0], &operands[1], &operands[2]));
    assigned[0] = m->inputs[0];
    MICA_TRY(io_add(b, row, NULL, operands, 3, &assigned[1]));
    return io_add(b, MICA_TF_AssignVariableOp, NULL, assigned, 2, &none);
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

/* What fills a table is what puts values at keys. */
static mica_status import_table(io_builder *b, const io_making *m) {
    return io_add_row(b, m, MICA_TF_LookupTableInsertV2);
}

/* A table that is named in its file is one of its own here. */
static mica_status hash_table(io_builder *b, const io_making *m) {
    return io_add_row(b, m, MICA_TF_AnonymousMutableHashTable);
}

/* Nothing is fed to it, and what debuggers ask for is not written. */
static mica_status take_default(io_builder *b, const io_making *m) {
    mica_tf_ref result;
    if (m->n != 1)
        return MICA_ERROR(MICA_DATA_LOSS, "[%.*s] takes 1 input, %d given", IO_TEXT(m->node->op),
                          m->n);
    MICA_TRY(io_add(b, MICA_TF_Identity, NULL, m->inputs, 1, &result));
    return io_become(b, m, result, &m->facts[0]);
}

static const struct {
    const char *op;
    mica_status (*make)(io_builder *b, const io_making *m);
} ops[] = {{"ResourceGather", resource_gather},
           {"ResourceGatherNd", resource_gather_nd},
           {"VariableShape", variable_shape},
           {"HashTableV2", hash_table},
           {"MutableHashTableV2", hash_table},
           {"LookupTableImportV2", import_table},
           {"Assign", assign},
           {"AssignAdd", assign},
           {"AssignSub", assign},
           {"SymbolicGradient", io_symbolic_gradient},
           {"DebugIdentityV2", take_default},
           {"PlaceholderWithDefault", take_default}};

mica_status io_compose(io_builder *b, const io_making *m, bool *out_done) {
    bool slices;
    mica_tf_op row;
    *out_done = true;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (io_is(m->node->op, ops[i].op)) return ops[i].make(b, m);
    if (find_scatter(m->node->op, &slices, &row)) return resource_scatter(b, m, slices, row);
    *out_done = false;
    return NULL;
}
