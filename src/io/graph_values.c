/* Variables that become values. Those that branches and loops only read are given to them as
 * values, read before: so they are operands like others, and gradients find them. Those of
 * TensorFlow 1 are values wherever they are not assigned to. */
#include <string.h>

#include "io/graph_builder.h"

enum {
    MOST_DEPTH = 50,
    MOST_HANDLES = 256,      /* that are one argument */
    MOST_VISITS = 100000000, /* of inputs, for all functions of a file */
};

/* What a function does with an argument that is a variable's handle. */
typedef enum use { UNKNOWN, ASKED, READS, CHANGES } use;

static mica_tf_category category_of(const io_node *node) {
    char name[64];
    mica_tf_op op;
    if (node->op.n >= sizeof name) return MICA_TF_CATEGORY_PLAIN;
    if (node->op.n) memcpy(name, node->op.data, node->op.n);
    name[node->op.n] = 0;
    return mica_tf_op_parse(name, &op) ? mica_tf_op_describe(op)->category : MICA_TF_CATEGORY_PLAIN;
}

static bool is_branch(const io_node *node) {
    return category_of(node) == MICA_TF_CATEGORY_BRANCH;
}

static bool is_loop(const io_node *node) {
    return category_of(node) == MICA_TF_CATEGORY_LOOP;
}

static bool is_call(const io_node *node) {
    return category_of(node) == MICA_TF_CATEGORY_CALL;
}

static bool is_read(const io_node *node) {
    return io_is(node->op, "ReadVariableOp") || io_is(node->op, "ResourceGather") ||
           io_is(node->op, "ResourceGatherNd") || io_is(node->op, "VariableShape");
}

static bool only_reads(io_library *library, io_range name, int32_t argument, int32_t depth);

static bool function_reads(io_library *library, io_range message, int32_t argument, int32_t depth) {
    io_range name;
    return io_find_part(message, 1, &name) && only_reads(library, name, argument, depth + 1);
}

/* All functions of a node, for what is its input i. */
static bool functions_read(io_library *library, const io_node *node, int32_t i, int32_t depth) {
    int32_t argument = is_branch(node) ? i - 1 : i;
    for (int32_t k = 0; k < node->n_attrs; k++) {
        io_range value = node->attrs[k].value, part, list;
        io_field field;
        if (io_find_part(value, 10, &part) && !function_reads(library, part, argument, depth))
            return false;
        io_find_part(value, 1, &list);
        while (io_take_field(&list, &field))
            if (field.number == 9 && field.wire == IO_LENGTH &&
                !function_reads(library, field.part, argument, depth))
                return false;
    }
    return argument >= 0;
}

/* Whether the nodes of a function only read what `items` holds: the argument, and identities of it,
 * which nodes may name before they come. */
static bool nodes_read(io_library *library, const io_function *f, int32_t *items, int32_t depth) {
    int32_t n = 1;
    for (int32_t at = 0; at < n; at++)
        for (int32_t k = 0; k < f->n_nodes; k++) {
            const io_node *node = &f->nodes[k];
            library->n_visits += node->n_inputs + 1;
            if (library->n_visits > MOST_VISITS) return false;
            for (int32_t i = 0; i < node->n_inputs; i++) {
                if (node->inputs[i].data[0] == '^' ||
                    io_input_node(f, node->inputs[i]) != items[at])
                    continue;
                if (io_is(node->op, "Identity")) {
                    if (n == MOST_HANDLES) return false;
                    items[n++] = f->n_arguments + k;
                } else if (!is_read(node) &&
                           (!(is_branch(node) || is_loop(node) || is_call(node)) ||
                            !functions_read(library, node, i, depth))) {
                    return false;
                }
            }
        }
    return true;
}

/* One that calls itself reads if it does nothing else. */
static bool only_reads(io_library *library, io_range name, int32_t argument, int32_t depth) {
    int32_t i = io_names_find(&library->def->names, name), items[MOST_HANDLES] = {argument};
    if (i < 0 || depth > MOST_DEPTH) return false;
    const io_function *f = &library->def->functions[i];
    if (argument < 0 || argument >= f->n_arguments) return false;
    uint8_t *known = library->uses[i];
    if (known[argument] == UNKNOWN) {
        known[argument] = ASKED;
        known[argument] = nodes_read(library, f, items, depth) ? READS : CHANGES;
    }
    return known[argument] != CHANGES;
}

static bool is_same(mica_tf_ref a, mica_tf_ref b) {
    return a.node == b.node && a.index == b.index;
}

static mica_status read_variable(io_builder *b, mica_tf_ref handle, const io_fact *fact,
                                 mica_tf_ref *out_value) {
    const mica_tf_attr dtype = {.as.integer = fact->dtype};
    MICA_TRY(io_add(b, MICA_TF_ReadVariableOp, &dtype, &handle, 1, out_value));
    return mica_tf_graph_set_shape(b->graph, *out_value, &fact->shape);
}

mica_status io_read_references(io_builder *b, const io_node *node, mica_tf_ref *inputs,
                               io_fact *facts, int32_t n) {
    bool assigns = node && (io_is(node->op, "Assign") || io_is(node->op, "AssignAdd") ||
                            io_is(node->op, "AssignSub"));
    for (int32_t i = assigns ? 1 : 0; i < n; i++) {
        if (facts[i].kind != IO_REFERENCE) continue;
        MICA_TRY(read_variable(b, inputs[i], &facts[i], &inputs[i]));
        facts[i] = (io_fact){0};
    }
    return NULL;
}

mica_status io_take_value(io_builder *b, mica_tf_ref *input, io_fact *fact) {
    mica_tf_ref value;
    MICA_TRY(read_variable(b, *input, fact, &value));
    MICA_TRY(io_add(b, MICA_TF_Identity, NULL, &value, 1, input));
    fact->kind = IO_VALUE;
    return NULL;
}

bool io_only_reads(io_library *library, io_range function, int32_t argument) {
    return only_reads(library, function, argument, 0);
}

mica_status io_take_values(io_builder *b, const io_node *node, mica_tf_ref *inputs, io_fact *facts,
                           int32_t n) {
    if (!is_branch(node) && !is_loop(node)) return NULL;
    for (int32_t i = 0; i < n; i++) {
        const mica_tf_ref handle = inputs[i];
        bool reads = facts[i].kind == IO_VARIABLE && b->library->n_visits < MOST_VISITS;
        b->library->n_visits += reads ? n : 0;
        for (int32_t k = 0; k < n && reads; k++) /* it may be given twice */
            if (is_same(inputs[k], handle)) reads = functions_read(b->library, node, k, 0);
        for (int32_t k = i; k < n && reads; k++) {
            if (k > i && is_same(inputs[k], handle)) {
                inputs[k] = inputs[i];
                facts[k] = facts[i];
            } else if (k == i) {
                MICA_TRY(io_take_value(b, &inputs[i], &facts[i]));
            }
        }
    }
    return NULL;
}

/* Of an op that reads a variable, where the value is there already. */
mica_status io_make_value_node(io_builder *b, const io_making *m, bool *out_done) {
    static const io_fact nothing = {0};
    mica_tf_ref result;
    *out_done = m->n == 1 && m->facts[0].kind == IO_VALUE && is_read(m->node);
    if (!*out_done) return NULL;
    if (io_is(m->node->op, "VariableShape")) {
        io_range value;
        bool is_wide =
            io_node_attr(m->node, "out_type", &value) && io_find_number(value, 6) == MICA_TF_int64;
        const mica_tf_attr attrs[2] = {
            {0}, {.as.integer = is_wide ? MICA_TF_int64 : MICA_TF_int32}}; /* T is inferred */
        MICA_TRY(io_add(b, MICA_TF_Shape, attrs, m->inputs, 1, &result));
    } else {
        MICA_TRY(io_add(b, MICA_TF_Identity, NULL, m->inputs, 1, &result));
    }
    return io_become(b, m, result, &nothing);
}
