/* Lists of tensors: what TensorArrays are in files. A list becomes one tensor, its elements along
 * axis 0. Where the file does not tell the shape of an element the list is pending until the first
 * is written or, in front of a loop, until it is known what the loop's body writes. */
#include "io/graph_builder.h"

static mica_status constant(io_builder *b, mica_dtype dtype, mica_ints dims, const void *data,
                            mica_tf_ref *out_ref) {
    mica_type type = mica_type_make(dtype, dims);
    mica_tensor *tensor;
    MICA_TRY(mica_tensor_from_host(b->library->values.device, &type, data, &tensor));
    mica_tf_value value = mica_tf_value_of(tensor);
    mica_tf_attr attrs[2] = {{.as.value = value}, {.as.integer = value.dtype}};
    mica_status status = io_add(b, MICA_TF_Const, attrs, NULL, 0, out_ref);
    mica_tf_value_release(value);
    return status;
}

static mica_status integer(io_builder *b, int32_t value, mica_tf_ref *out_ref) {
    return constant(b, MICA_DTYPE_i32, MICA_NO_INTS, &value, out_ref);
}

/* A list of zeros: `shape` is that of an element, as a tensor. */
static mica_status make_list(io_builder *b, mica_tf_ref size, mica_tf_ref shape,
                             const io_fact *fact, mica_tf_ref *out_ref) {
    static const uint8_t zeros[16] = {0};
    mica_dtype core = mica_tf_dtype_core(fact->dtype);
    if (core == MICA_DTYPE_COUNT)
        return MICA_ERROR(MICA_UNSUPPORTED, "[lists] lists of dtype %s are not supported",
                          mica_tf_dtype_name(fact->dtype));
    mica_tf_ref one, sizes[3], zero, operands[2];
    const int32_t once = 1;
    MICA_TRY(constant(b, MICA_DTYPE_i32, MICA_INTS(1), &once, &one));
    operands[0] = size, operands[1] = one;
    MICA_TRY(io_add(b, MICA_TF_Reshape, NULL, operands, 2, &sizes[0]));
    sizes[1] = shape;
    MICA_TRY(integer(b, 0, &sizes[2]));
    MICA_TRY(io_add(b, MICA_TF_ConcatV2, NULL, sizes, 3, &operands[0]));
    MICA_TRY(constant(b, core, MICA_NO_INTS, zeros, &zero));
    operands[1] = zero;
    MICA_TRY(io_add(b, MICA_TF_Fill, NULL, operands, 2, out_ref));
    mica_tf_shape dense = io_list_shape(&fact->shape);
    return mica_tf_graph_set_shape(b->graph, *out_ref, &dense);
}

/* A pending list, whose elements are like this tensor. */
static mica_status make_pending(io_builder *b, mica_tf_ref size, mica_tf_ref like, io_fact *fact,
                                mica_tf_ref *out_ref) {
    mica_tf_ref shape;
    mica_tf_shape known;
    mica_tf_dtype dtype = mica_tf_graph_type(b->graph, like, &known);
    if (dtype != fact->dtype)
        return MICA_ERROR(MICA_DATA_LOSS, "[lists] %s is written to a list of %s",
                          mica_tf_dtype_name(dtype), mica_tf_dtype_name(fact->dtype));
    MICA_TRY(io_add(b, MICA_TF_Shape, NULL, &like, 1, &shape));
    fact->kind = IO_LIST;
    if (known.rank >= 0) fact->shape = known;
    return make_list(b, size, shape, fact, out_ref);
}

/* The shape that an operand says: a scalar is an unknown rank, a negative size is unknown. */
static void read_element_shape(const io_builder *b, mica_tf_ref ref, mica_tf_shape *out_shape) {
    int64_t sizes[64];
    int32_t n;
    mica_tf_shape of;
    *out_shape = (mica_tf_shape){.rank = -1};
    (void)mica_tf_graph_type(b->graph, ref, &of);
    if (of.rank != 1 || !mica_tf_graph_ints(b->graph, ref, sizes, &n) || n > MICA_MAX_RANK) return;
    out_shape->rank = n;
    for (int32_t i = 0; i < n; i++) out_shape->dims[i] = sizes[i] < 0 ? -1 : sizes[i];
}

static bool is_whole(const mica_tf_shape *shape) {
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0) return false;
    return shape->rank >= 0;
}

static mica_status reserve(io_builder *b, const io_making *m) {
    io_fact fact = {.kind = IO_PENDING};
    io_range value;
    mica_tf_attr dtype;
    mica_tf_ref shape, list;
    if (!io_node_attr(m->node, "element_dtype", &value))
        return MICA_ERROR(MICA_DATA_LOSS, "[lists] the attribute element_dtype is missing");
    MICA_TRY(io_read_attr(&b->library->values, b->scratch, value, MICA_TF_TYPE, &dtype));
    if (dtype.as.integer <= 0 || dtype.as.integer > 127 ||
        !mica_tf_dtype_name((mica_tf_dtype)dtype.as.integer))
        return MICA_ERROR(MICA_UNSUPPORTED, "[lists] a list of an unknown dtype");
    fact.dtype = (mica_tf_dtype)dtype.as.integer;
    read_element_shape(b, m->inputs[0], &fact.shape);
    if (!is_whole(&fact.shape)) return io_become(b, m, m->inputs[1], &fact);
    int32_t sizes[MICA_MAX_RANK];
    for (int32_t i = 0; i < fact.shape.rank; i++) {
        if (fact.shape.dims[i] > INT32_MAX)
            return MICA_ERROR(MICA_DATA_LOSS, "[lists] an element is too large");
        sizes[i] = (int32_t)fact.shape.dims[i];
    }
    fact.kind = IO_LIST;
    MICA_TRY(constant(b, MICA_DTYPE_i32, MICA_INTS(fact.shape.rank), sizes, &shape));
    MICA_TRY(make_list(b, m->inputs[1], shape, &fact, &list));
    return io_become(b, m, list, &fact);
}

static mica_status from_tensor(io_builder *b, const io_making *m) {
    io_fact fact = {.kind = IO_LIST, .shape = {.rank = -1}};
    mica_tf_shape shape;
    mica_tf_ref list;
    fact.dtype = mica_tf_graph_type(b->graph, m->inputs[0], &shape);
    if (shape.rank > 0) {
        fact.shape.rank = shape.rank - 1;
        for (int32_t i = 1; i < shape.rank; i++) fact.shape.dims[i - 1] = shape.dims[i];
    }
    MICA_TRY(io_add(b, MICA_TF_Identity, NULL, m->inputs, 1, &list));
    return io_become(b, m, list, &fact);
}

static mica_status check_is_list(const io_making *m) {
    if (m->facts[0].kind == IO_LIST) return NULL;
    if (m->facts[0].kind == IO_PENDING)
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[lists] a list that is read before it is written is not supported");
    return MICA_ERROR(MICA_UNSUPPORTED,
                      "[lists] a list of tensors that another function made is not supported");
}

static mica_status vector(io_builder *b, int32_t value, mica_tf_ref *out_ref) {
    return constant(b, MICA_DTYPE_i32, MICA_INTS(1), &value, out_ref);
}

/* A row of two operands. */
static mica_status combine(io_builder *b, mica_tf_op op, mica_tf_ref x, mica_tf_ref y,
                           mica_tf_ref *out_ref) {
    const mica_tf_ref operands[2] = {x, y};
    return io_add(b, op, NULL, operands, 2, out_ref);
}

/* A list with room for an element at the index; new ones are zeros: max(index + 1 - n, 0) of them.
 */
static mica_status grow(io_builder *b, const io_fact *fact, mica_tf_ref index, mica_tf_ref *list) {
    static const uint8_t zeros[16] = {0};
    mica_dtype core = mica_tf_dtype_core(fact->dtype);
    if (core == MICA_DTYPE_COUNT)
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[lists] a list of dtype %s that grows is not supported",
                          mica_tf_dtype_name(fact->dtype));
    mica_tf_ref sizes, zero, one, first, n, more, operands[3], dims, filled;
    MICA_TRY(io_add(b, MICA_TF_Shape, NULL, list, 1, &sizes));
    MICA_TRY(integer(b, 0, &zero));
    MICA_TRY(integer(b, 1, &one));
    MICA_TRY(vector(b, 1, &first));
    operands[0] = sizes, operands[1] = operands[2] = zero;
    MICA_TRY(io_add(b, MICA_TF_GatherV2, NULL, operands, 3, &n));
    MICA_TRY(combine(b, MICA_TF_AddV2, index, one, &more));
    MICA_TRY(combine(b, MICA_TF_Sub, more, n, &more));
    MICA_TRY(combine(b, MICA_TF_Maximum, more, zero, &more));
    MICA_TRY(combine(b, MICA_TF_Reshape, more, first, &operands[0]));
    mica_tf_ref slice[3] = {sizes, first};
    MICA_TRY(vector(b, -1, &slice[2]));
    MICA_TRY(io_add(b, MICA_TF_Slice, NULL, slice, 3, &operands[1]));
    operands[2] = zero;
    MICA_TRY(io_add(b, MICA_TF_ConcatV2, NULL, operands, 3, &dims));
    MICA_TRY(constant(b, core, MICA_NO_INTS, zeros, &filled));
    MICA_TRY(combine(b, MICA_TF_Fill, dims, filled, &operands[1]));
    operands[0] = *list;
    return io_add(b, MICA_TF_ConcatV2, NULL, operands, 3, list);
}

static mica_status set_item(io_builder *b, const io_making *m) {
    io_range value;
    mica_tf_ref operands[3] = {m->inputs[0], m->inputs[1], m->inputs[2]}, list;
    io_fact fact = m->facts[0];
    bool grows =
        io_node_attr(m->node, "resize_if_index_out_of_bounds", &value) && io_find_number(value, 5);
    if (fact.kind == IO_PENDING)
        MICA_TRY(make_pending(b, m->inputs[0], m->inputs[2], &fact, &operands[0]));
    else
        MICA_TRY(check_is_list(m));
    if (grows) MICA_TRY(grow(b, &fact, m->inputs[1], &operands[0]));
    MICA_TRY(io_add(b, MICA_TF_WriteElement, NULL, operands, 3, &list));
    mica_tf_shape shape = io_list_shape(&fact.shape);
    MICA_TRY(mica_tf_graph_set_shape(b->graph, list, &shape));
    return io_become(b, m, list, &fact);
}

static mica_status get_item(io_builder *b, const io_making *m) {
    static const io_fact nothing = {0};
    mica_tf_ref item;
    MICA_TRY(check_is_list(m));
    MICA_TRY(io_add(b, MICA_TF_ReadElement, NULL, m->inputs, 2, &item));
    MICA_TRY(mica_tf_graph_set_shape(b->graph, item, &m->facts[0].shape));
    return io_become(b, m, item, &nothing);
}

static mica_status stack(io_builder *b, const io_making *m) {
    static const io_fact nothing = {0};
    mica_tf_ref tensor;
    MICA_TRY(check_is_list(m));
    MICA_TRY(io_add(b, MICA_TF_Identity, NULL, m->inputs, 1, &tensor));
    return io_become(b, m, tensor, &nothing);
}

static mica_status length(io_builder *b, const io_making *m) {
    static const io_fact nothing = {0};
    mica_tf_ref operands[3], result;
    if (m->facts[0].kind == IO_PENDING) {
        MICA_TRY(io_add(b, MICA_TF_Identity, NULL, m->inputs, 1, &result));
    } else {
        MICA_TRY(check_is_list(m));
        MICA_TRY(io_add(b, MICA_TF_Shape, NULL, m->inputs, 1, &operands[0]));
        MICA_TRY(integer(b, 0, &operands[1]));
        operands[2] = operands[1];
        MICA_TRY(io_add(b, MICA_TF_GatherV2, NULL, operands, 3, &result));
    }
    return io_become(b, m, result, &nothing);
}

static mica_status gather(io_builder *b, const io_making *m) {
    static const io_fact nothing = {0};
    mica_tf_ref operands[3] = {m->inputs[0], m->inputs[1]}, result;
    MICA_TRY(check_is_list(m));
    MICA_TRY(integer(b, 0, &operands[2]));
    MICA_TRY(io_add(b, MICA_TF_GatherV2, NULL, operands, 3, &result));
    return io_become(b, m, result, &nothing);
}

/* ---- loops ------------------------------------------------------------------------------------*/

enum { MOST_IDENTITIES = 16 };

/* The tensor that a body writes to the list that is its argument i, through identities; empty: it
 * does not. */
static io_range find_written(const io_function *f, int32_t i) {
    int32_t list = i;
    for (int32_t step = 0; step < MOST_IDENTITIES && list >= 0; step++) {
        int32_t next = -1;
        for (int32_t k = 0; k < f->n_nodes; k++) {
            const io_node *node = &f->nodes[k];
            if (node->n_inputs < 1 || io_input_node(f, node->inputs[0]) != list) continue;
            if (io_is(node->op, "TensorListSetItem") && node->n_inputs >= 3) return node->inputs[2];
            if (io_is(node->op, "Identity")) next = f->n_arguments + k;
        }
        list = next;
    }
    return (io_range){NULL, 0};
}

static const io_function *body_of(const io_builder *b, const io_node *node) {
    io_range value, function, name;
    if (!io_node_attr(node, "body", &value) || !io_find_part(value, 10, &function)) return NULL;
    io_find_part(function, 1, &name);
    int32_t i = io_names_find(&b->library->def->names, name);
    return i < 0 ? NULL : &b->library->def->functions[i];
}

/* Lists that are pending are made before the loop begins. */
static mica_status make_loop(io_builder *b, const io_making *m, mica_tf_op op) {
    const io_function *body = body_of(b, m->node);
    size_t n = (size_t)m->n;
    mica_tf_ref *inputs = mica_arena_alloc(b->scratch, n * sizeof *inputs);
    io_fact *facts = mica_arena_alloc(b->scratch, (n + 1) * sizeof *facts);
    if (!inputs || !facts) return MICA_NO_MEMORY();
    if (!body) return MICA_ERROR(MICA_DATA_LOSS, "[%.*s] it has no body", IO_TEXT(m->node->op));
    for (int32_t i = 0; i < m->n; i++) {
        inputs[i] = m->inputs[i];
        facts[i] = m->facts[i];
        if (facts[i].kind != IO_PENDING) continue;
        io_range written = i < body->n_arguments ? find_written(body, i) : (io_range){NULL, 0};
        mica_tf_ref item;
        if (!written.n)
            return MICA_ERROR(MICA_UNSUPPORTED,
                              "[lists] a loop has a list that its body does not write to");
        MICA_TRY(io_inline(b, body, m, written, &item));
        MICA_TRY(make_pending(b, m->inputs[i], item, &facts[i], &inputs[i]));
    }
    const io_making made = {m->node, m->item, inputs, facts, m->n};
    return io_add_row(b, &made, op);
}

/* ---- the ops ----------------------------------------------------------------------------------*/

static const struct {
    const char *op;
    int32_t n; /* inputs that it has */
    mica_status (*make)(io_builder *b, const io_making *m);
} ops[] = {
    {"TensorListReserve", 2, reserve},  {"TensorListFromTensor", 2, from_tensor},
    {"TensorListSetItem", 3, set_item}, {"TensorListGetItem", 3, get_item},
    {"TensorListStack", 2, stack},      {"TensorListLength", 1, length},
    {"TensorListGather", 3, gather},
};

mica_status io_make_list_node(io_builder *b, const io_making *m, bool *out_done) {
    bool has_lists = false, has_pending = false;
    *out_done = true;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (!io_is(m->node->op, ops[i].op)) continue;
        if (m->n != ops[i].n)
            return MICA_ERROR(MICA_DATA_LOSS, "[%s] takes %d inputs, %d given", ops[i].op, ops[i].n,
                              m->n);
        return ops[i].make(b, m);
    }
    for (int32_t i = 0; i < m->n; i++) {
        has_lists |= m->facts[i].kind == IO_LIST;
        has_pending |= m->facts[i].kind == IO_PENDING;
    }
    if ((has_lists || has_pending) && io_is(m->node->op, "While"))
        return make_loop(b, m, MICA_TF_While);
    if ((has_lists || has_pending) && io_is(m->node->op, "StatelessWhile"))
        return make_loop(b, m, MICA_TF_StatelessWhile);
    *out_done = false;
    if (!has_pending) return NULL;
    return MICA_ERROR(MICA_UNSUPPORTED,
                      "[lists] a list of tensors of unknown shape is given to %.*s",
                      IO_TEXT(m->node->op));
}
