#include "io/restore.h"

#include <string.h>

#include "base/memory.h"
#include "io/graph_build.h"
#include "io/text_table.h"

enum {
    MOST_DEPTH = 8,        /* of functions that restore, within others */
    MOST_STEPS = 1000,     /* from an operand to what makes it */
    MOST_NODES = 10000000, /* of all functions that are entered */
};

typedef struct frame {
    const io_function *function;
    const io_node *call; /* in the frame above */
    const struct frame *above;
    int32_t depth;
} frame;

typedef struct search {
    const io_restoring *how;
    int64_t n_nodes;
    const io_node *restore; /* whose keys are these */
    mica_tf_value keys;
} search;

static mica_status damaged(const search *s, const io_node *node, const char *what) {
    return MICA_ERROR(MICA_DATA_LOSS, "[saved_model] %s: the node '%.*s' %s", s->how->def->path,
                      IO_TEXT(node->name), what);
}

/* Takes an operand to the node that makes it, through arguments and identities. */
static const io_node *find_source(const frame *at, io_range *input, const frame **out_frame) {
    for (int32_t step = 0; step < MOST_STEPS; step++) {
        const io_function *f = at->function;
        int32_t item = io_input_node(f, *input);
        if (item < 0) return NULL;
        if (item < f->n_arguments) {
            if (!at->call || item >= at->call->n_inputs) return NULL;
            *input = at->call->inputs[item];
            at = at->above;
            continue;
        }
        const io_node *node = &f->nodes[item - f->n_arguments];
        if (!io_is(node->op, "Identity") || node->n_inputs < 1) {
            *out_frame = at;
            return node;
        }
        *input = node->inputs[0];
    }
    return NULL;
}

/* The number at the end of "node:tensors:3" or "node:3"; 0 where there is none. */
static int64_t index_of(io_range input) {
    int64_t index = 0, unit = 1;
    size_t i = input.n;
    while (i > 0 && unit < 1000000000 && input.data[i - 1] >= '0' && input.data[i - 1] <= '9') {
        index += (input.data[--i] - '0') * unit;
        unit *= 10;
    }
    return i > 0 && input.data[i - 1] == ':' ? index : 0;
}

static mica_status read_keys(search *s, const frame *at, const io_node *restore) {
    const frame *elsewhere;
    io_range value, tensor,
        input = restore->n_inputs > 1 ? restore->inputs[1] : (io_range){NULL, 0};
    const io_node *constant = find_source(at, &input, &elsewhere);
    if (!constant || !io_node_attr(constant, "value", &value) || !io_find_part(value, 8, &tensor))
        return damaged(s, restore, "has keys that are no constant");
    mica_tf_value_release(s->keys);
    s->restore = NULL;
    MICA_TRY(io_read_tensor(s->how->values, tensor, &s->keys));
    if (s->keys.dtype != MICA_TF_string) return damaged(s, restore, "has keys that are no strings");
    s->restore = restore;
    return NULL;
}

static mica_status read_constant(search *s, const io_node *node, mica_tf_value *out_value) {
    io_range value, tensor;
    if (!io_node_attr(node, "value", &value) || !io_find_part(value, 8, &tensor))
        return damaged(s, node, "is a constant without a value");
    return io_read_tensor(s->how->values, tensor, out_value);
}

/* Where an operand comes from: an entry of the checkpoint or a constant; neither, when it is
 * computed. The key is the caller's to free, the value to release. */
static mica_status find_value(search *s, const frame *at, io_range input, io_source *out) {
    const frame *where;
    const io_node *node = find_source(at, &input, &where);
    *out = (io_source){0};
    if (!node)
        return MICA_ERROR(MICA_DATA_LOSS, "[saved_model] %s: no node of the graph makes '%.*s'",
                          s->how->def->path, IO_TEXT(input));
    if (io_is(node->op, "Const")) return read_constant(s, node, &out->value);
    if (!io_is(node->op, "RestoreV2")) return NULL;
    if (s->restore != node) MICA_TRY(read_keys(s, where, node));
    int64_t i = index_of(input);
    if (i >= mica_tf_strings_count(s->keys)) return damaged(s, node, "has too few keys");
    const char *key = mica_tf_strings_get(s->keys, i, &out->length);
    char *copy = mica_alloc(out->length + 1);
    if (!copy) return MICA_NO_MEMORY();
    memcpy(copy, key, out->length);
    copy[out->length] = 0;
    out->key = copy;
    return NULL;
}

static void release_source(io_source *source) {
    mica_free((void *)source->key);
    mica_tf_value_release(source->value);
}

/* The node of the file's own graph that a handle is of. */
static mica_status find_resource(const search *s, const frame *at, const io_node *node,
                                 int32_t *out_resource) {
    const frame *where;
    io_range handle = node->n_inputs > 0 ? node->inputs[0] : (io_range){NULL, 0};
    const io_node *resource = find_source(at, &handle, &where);
    if (!resource || where->above) return damaged(s, node, "changes nothing of the file's");
    *out_resource = (int32_t)(resource - where->function->nodes);
    return NULL;
}

static mica_status take_assignment(search *s, const frame *at, const io_node *node) {
    io_source source;
    int32_t resource;
    if (node->n_inputs < 2) return damaged(s, node, "assigns nothing");
    MICA_TRY(find_resource(s, at, node, &resource));
    mica_status status = find_value(s, at, node->inputs[1], &source);
    /* What is no key is an initial value, which a restored one takes the place of. */
    bool counts = source.key || (s->how->takes_constants && source.value.object);
    if (!status && counts) status = s->how->visit(s->how->context, resource, &source, 1);
    release_source(&source);
    return status;
}

static mica_status take_import(search *s, const frame *at, const io_node *node) {
    io_source sources[2] = {{0}};
    int32_t resource;
    if (node->n_inputs < 3) return damaged(s, node, "fills no table");
    MICA_TRY(find_resource(s, at, node, &resource));
    mica_status status = find_value(s, at, node->inputs[1], &sources[0]);
    if (!status) status = find_value(s, at, node->inputs[2], &sources[1]);
    for (int32_t i = 0; !status && i < 2; i++)
        if (!sources[i].key && !sources[i].value.object)
            status = MICA_ERROR(MICA_UNSUPPORTED,
                                "[saved_model] %s: the node '%.*s' fills a table with what is "
                                "computed",
                                s->how->def->path, IO_TEXT(node->name));
    if (!status) status = s->how->visit(s->how->context, resource, sources, 2);
    release_source(&sources[0]);
    release_source(&sources[1]);
    return status;
}

/* The dtypes that a node of a table says. */
static mica_status read_dtypes(const search *s, const io_node *table, mica_tf_dtype *out_dtypes) {
    static const char *const names[] = {"key_dtype", "value_dtype"};
    io_range value;
    for (int32_t i = 0; i < 2; i++) {
        if (!io_node_attr(table, names[i], &value)) return damaged(s, table, "has no dtypes");
        uint64_t dtype = io_find_number(value, 6);
        out_dtypes[i] = dtype < 128 ? (mica_tf_dtype)dtype : MICA_TF_no_dtype;
    }
    return NULL;
}

/* The node that names a file: a constant, or what a variable of the file's own graph is given. */
static const io_node *find_file(search *s, const frame *at, const io_node *node) {
    const io_function *graph = &s->how->def->graph;
    const frame *where;
    io_range name = node->n_inputs > 1 ? node->inputs[1] : (io_range){NULL, 0};
    const io_node *file = name.n ? find_source(at, &name, &where) : NULL;
    if (!file || where->above) return NULL;
    if (!io_is(file->op, "ReadVariableOp")) return file;
    int32_t variable = file->n_inputs ? io_input_node(graph, file->inputs[0]) : -1;
    s->n_nodes += graph->n_nodes;
    for (int32_t i = 0; i < graph->n_nodes && variable >= 0 && s->n_nodes < MOST_NODES; i++) {
        const io_node *given = &graph->nodes[i];
        if (!io_is(given->op, "AssignVariableOp") || given->n_inputs < 2 ||
            io_input_node(graph, given->inputs[0]) != variable)
            continue;
        const frame top = {.function = graph};
        name = given->inputs[1];
        return find_source(&top, &name, &where);
    }
    return NULL;
}

static mica_status take_text(search *s, const frame *at, const io_node *node) {
    io_source sources[2] = {{0}};
    io_text_table text = {.key_column = IO_TEXT_LINE, .value_column = IO_TEXT_NUMBER};
    io_range value;
    int32_t resource;
    char *path = NULL;
    MICA_TRY(find_resource(s, at, node, &resource));
    const io_node *file = find_file(s, at, node);
    if (!file) return damaged(s, node, "reads a file that the graph does not name");
    MICA_TRY(read_dtypes(s, &s->how->def->graph.nodes[resource], text.dtypes));
    if (io_node_attr(node, "key_index", &value))
        text.key_column = (int64_t)io_find_number(value, 3);
    if (io_node_attr(node, "value_index", &value))
        text.value_column = (int64_t)io_find_number(value, 3);
    if (io_node_attr(node, "vocab_size", &value)) text.most = (int64_t)io_find_number(value, 3);
    if (io_node_attr(node, "offset", &value)) text.offset = (int64_t)io_find_number(value, 3);
    text.delimiter = '\t';
    if (io_node_attr(node, "delimiter", &value) && io_find_part(value, 2, &value)) {
        if (value.n != 1) return damaged(s, node, "has a delimiter that is no character");
        text.delimiter = (char)value.data[0];
    }
    MICA_TRY(s->how->find_asset(s->how->context, file, &path));
    mica_status status = io_read_text_table(s->how->values->device, path, &text, &sources[0].value,
                                            &sources[1].value);
    if (!status) status = s->how->visit(s->how->context, resource, sources, 2);
    release_source(&sources[0]);
    release_source(&sources[1]);
    mica_free(path);
    return status;
}

static mica_status take_node(search *s, const frame *at, const io_node *node);

static mica_status take_call(search *s, const frame *at, const io_node *node) {
    io_range value, function, name;
    if (!io_node_attr(node, "f", &value) || !io_find_part(value, 10, &function))
        return damaged(s, node, "calls no function");
    io_find_part(function, 1, &name);
    int32_t i = io_names_find(&s->how->def->names, name);
    if (i < 0 || at->depth == MOST_DEPTH)
        return damaged(s, node, "calls a function that is not there, or too deep");
    const frame inner = {&s->how->def->functions[i], node, at, at->depth + 1};
    s->n_nodes += inner.function->n_nodes;
    if (s->n_nodes > MOST_NODES) return damaged(s, node, "leads to too many nodes");
    for (int32_t k = 0; k < inner.function->n_nodes; k++)
        MICA_TRY(take_node(s, &inner, &inner.function->nodes[k]));
    return NULL;
}

static mica_status take_node(search *s, const frame *at, const io_node *node) {
    if (io_is(node->op, "AssignVariableOp") || io_is(node->op, "Assign"))
        return take_assignment(s, at, node);
    if (io_is(node->op, "LookupTableImportV2") || io_is(node->op, "InitializeTableV2"))
        return take_import(s, at, node);
    if (io_is(node->op, "InitializeTableFromTextFileV2")) return take_text(s, at, node);
    if (io_is(node->op, "StatefulPartitionedCall") || io_is(node->op, "PartitionedCall"))
        return take_call(s, at, node);
    return NULL;
}

/* All nodes of the graph that this one needs, each once. */
static mica_status take_needed(search *s, int32_t first, int32_t *stack, uint8_t *seen) {
    const frame top = {.function = &s->how->def->graph};
    int32_t depth = 0;
    stack[depth++] = first;
    seen[first] = 1;
    while (depth) {
        const io_node *node = &s->how->def->graph.nodes[stack[--depth]];
        MICA_TRY(take_node(s, &top, node));
        for (int32_t i = 0; i < node->n_inputs; i++) {
            int32_t from = io_input_node(&s->how->def->graph, node->inputs[i]);
            if (from < 0 || seen[from]) continue;
            seen[from] = 1;
            stack[depth++] = from;
        }
    }
    return NULL;
}

mica_status io_visit_restored(const io_restoring *how, io_range name) {
    const io_graph_def *def = how->def;
    int32_t first = io_input_node(&def->graph, name);
    size_t n = (size_t)def->graph.n_nodes;
    if (first < 0)
        return MICA_ERROR(MICA_DATA_LOSS, "[saved_model] %s: there is no node '%.*s' that restores",
                          def->path, IO_TEXT(name));
    int32_t *stack = mica_calloc(n + 1, sizeof *stack);
    uint8_t *seen = mica_calloc(n + 1, 1);
    search s = {.how = how};
    mica_status status = stack && seen ? take_needed(&s, first, stack, seen) : MICA_NO_MEMORY();
    mica_tf_value_release(s.keys);
    mica_free(stack);
    mica_free(seen);
    return status;
}
