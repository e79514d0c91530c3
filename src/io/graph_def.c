#include "io/graph_def.h"

/* ---- pieces of messages -----------------------------------------------------------------------*/

int64_t io_count_parts(io_range message, uint64_t number) {
    io_field field;
    int64_t n = 0;
    while (io_take_field(&message, &field)) n += field.number == number && field.wire == IO_LENGTH;
    return message.n ? -1 : n;
}

bool io_find_part(io_range message, uint64_t number, io_range *out_part) {
    io_field field;
    bool found = false;
    *out_part = (io_range){NULL, 0};
    while (io_take_field(&message, &field))
        if (field.number == number && field.wire == IO_LENGTH) *out_part = field.part, found = true;
    return found;
}

uint64_t io_find_number(io_range message, uint64_t number) {
    io_field field;
    uint64_t value = 0;
    while (io_take_field(&message, &field))
        if (field.number == number && field.wire == IO_VARINT) value = field.value;
    return value;
}

bool io_node_attr(const io_node *node, const char *name, io_range *out_value) {
    for (int32_t i = 0; i < node->n_attrs; i++)
        if (io_is(node->attrs[i].name, name)) {
            *out_value = node->attrs[i].value;
            return true;
        }
    return false;
}

/* ---- nodes ------------------------------------------------------------------------------------*/

typedef struct reader {
    const char *path;
    mica_arena *arena;
} reader;

static mica_status damaged(const reader *r, const char *what) {
    return MICA_ERROR(MICA_DATA_LOSS, "[graph_def] %s: %s", r->path, what);
}

enum { MOST_PARTS = 1 << 30 };

/* Room for the parts of this number; their count is checked. */
static mica_status make_array(const reader *r, io_range message, uint64_t number, size_t size,
                              int32_t *out_n, void *out_array) {
    int64_t n = io_count_parts(message, number);
    if (n < 0 || n > MOST_PARTS) return damaged(r, "a message is cut off, or is none");
    void *array = mica_arena_alloc(r->arena, (size_t)n * size);
    if (!array) return MICA_NO_MEMORY();
    *out_n = (int32_t)n;
    *(void **)out_array = array;
    return NULL;
}

static mica_status read_node(const reader *r, io_range message, io_node *node) {
    io_range *inputs;
    io_attr *attrs;
    MICA_TRY(make_array(r, message, 3, sizeof *inputs, &node->n_inputs, &inputs));
    MICA_TRY(make_array(r, message, 5, sizeof *attrs, &node->n_attrs, &attrs));
    node->inputs = inputs;
    node->attrs = attrs;
    io_field field;
    while (io_take_field(&message, &field)) {
        if (field.wire != IO_LENGTH) continue;
        if (field.number == 1) node->name = field.part;
        if (field.number == 2) node->op = field.part;
        if (field.number == 3 && field.part.n == 0) return damaged(r, "an input has no name");
        if (field.number == 3) *inputs++ = field.part;
        if (field.number != 5) continue;
        io_find_part(field.part, 2, &attrs->value);
        if (!io_find_part(field.part, 1, &attrs->name) || attrs->name.n == 0)
            return damaged(r, "an attribute has no name");
        attrs++;
    }
    return node->name.n && node->op.n ? NULL : damaged(r, "a node has no name, or no op");
}

/* The nodes of a graph or function, and the names of arguments and nodes. */
static mica_status read_nodes(const reader *r, io_range message, uint64_t number, io_function *f) {
    MICA_TRY(make_array(r, message, number, sizeof *f->nodes, &f->n_nodes, &f->nodes));
    io_field field;
    for (io_node *node = f->nodes; io_take_field(&message, &field);)
        if (field.number == number && field.wire == IO_LENGTH)
            MICA_TRY(read_node(r, field.part, node++));
    MICA_TRY(io_names_init(&f->names, r->arena, (int64_t)f->n_arguments + f->n_nodes));
    for (int32_t i = 0; i < f->n_arguments; i++)
        if (!io_names_add(&f->names, f->arguments[i].name, i))
            return damaged(r, "two arguments have the same name");
    for (int32_t i = 0; i < f->n_nodes; i++)
        if (!io_names_add(&f->names, f->nodes[i].name, f->n_arguments + i))
            return MICA_ERROR(MICA_DATA_LOSS, "[graph_def] %s: two nodes are named '%.*s'", r->path,
                              IO_TEXT(f->nodes[i].name));
    return NULL;
}

/* ---- functions --------------------------------------------------------------------------------*/

static mica_status read_argument(const reader *r, io_range message, io_argument *argument) {
    io_range unused;
    uint64_t dtype = io_find_number(message, 3);
    if (!io_find_part(message, 1, &argument->name) || argument->name.n == 0)
        return damaged(r, "an argument of a function has no name");
    if (io_find_part(message, 5, &unused) || io_find_part(message, 6, &unused))
        return damaged(r, "an argument of a function is a list");
    argument->dtype = dtype < 128 ? (mica_tf_dtype)dtype : MICA_TF_no_dtype;
    return NULL;
}

/* The attribute _output_shapes of an argument: a list of one shape. */
static void read_argument_shape(io_range attrs, io_argument *argument) {
    io_field field;
    while (io_take_field(&attrs, &field)) {
        io_range name, value, list;
        if (field.number == 1 && field.wire == IO_LENGTH && io_find_part(field.part, 1, &name) &&
            io_is(name, "_output_shapes") && io_find_part(field.part, 2, &value) &&
            io_find_part(value, 1, &list))
            argument->has_shape = io_find_part(list, 7, &argument->shape);
    }
}

static mica_status read_signature(const reader *r, io_range signature, io_function *f) {
    io_field field;
    io_argument *next;
    MICA_TRY(make_array(r, signature, 2, sizeof *f->arguments, &f->n_arguments, &f->arguments));
    if (!io_find_part(signature, 1, &f->name) || f->name.n == 0)
        return damaged(r, "a function has no name");
    next = f->arguments;
    while (io_take_field(&signature, &field))
        if (field.number == 2 && field.wire == IO_LENGTH)
            MICA_TRY(read_argument(r, field.part, next++));
    return NULL;
}

/* Where the results come from: `ret` is a map from the names of results. */
static mica_status read_results(const reader *r, io_range message, io_range signature,
                                io_function *f) {
    int32_t n_returned, i = 0;
    io_range *returned;
    io_names names;
    io_field field;
    MICA_TRY(make_array(r, signature, 3, sizeof *f->results, &f->n_results, &f->results));
    MICA_TRY(make_array(r, message, 4, sizeof *returned, &n_returned, &returned));
    MICA_TRY(io_names_init(&names, r->arena, n_returned));
    for (io_range rest = message; io_take_field(&rest, &field);) {
        io_range name;
        if (field.number != 4 || field.wire != IO_LENGTH) continue;
        io_find_part(field.part, 1, &name);
        io_find_part(field.part, 2, &returned[i]);
        if (!io_names_add(&names, name, i++))
            return damaged(r, "a function returns a result twice");
    }
    for (i = 0; io_take_field(&signature, &field);) {
        io_range name;
        if (field.number != 3 || field.wire != IO_LENGTH) continue;
        io_find_part(field.part, 1, &name);
        int32_t found = io_names_find(&names, name);
        if (found < 0) return damaged(r, "a function does not return one of its results");
        f->results[i++] = returned[found];
    }
    return NULL;
}

static mica_status read_function(const reader *r, io_range message, io_function *f) {
    io_range signature;
    io_find_part(message, 1, &signature);
    MICA_TRY(read_signature(r, signature, f));
    for (io_range rest = message; rest.n;) {
        io_field field;
        io_range attrs;
        if (!io_take_field(&rest, &field)) break; /* read_nodes says that it is no message */
        if (field.number != 7 || field.wire != IO_LENGTH) continue;
        uint64_t i = io_find_number(field.part, 1);
        if (i < (uint64_t)f->n_arguments && io_find_part(field.part, 2, &attrs))
            read_argument_shape(attrs, &f->arguments[i]);
    }
    MICA_TRY(read_results(r, message, signature, f));
    return read_nodes(r, message, 3, f);
}

static mica_status read_functions(const reader *r, io_range library, io_graph_def *g) {
    io_field field;
    MICA_TRY(make_array(r, library, 1, sizeof *g->functions, &g->n_functions, &g->functions));
    MICA_TRY(io_names_init(&g->names, r->arena, g->n_functions));
    for (int32_t i = 0; io_take_field(&library, &field);) {
        if (field.number != 1 || field.wire != IO_LENGTH) continue;
        MICA_TRY(read_function(r, field.part, &g->functions[i]));
        if (!io_names_add(&g->names, g->functions[i].name, i))
            return MICA_ERROR(MICA_DATA_LOSS, "[graph_def] %s: two functions are named '%.*s'",
                              r->path, IO_TEXT(g->functions[i].name));
        i++;
    }
    return NULL;
}

mica_status io_graph_def_read(io_range bytes, const char *path, mica_arena *arena,
                              io_graph_def *out_graph) {
    const reader r = {path, arena};
    io_range library;
    *out_graph = (io_graph_def){.path = path};
    MICA_TRY(read_nodes(&r, bytes, 1, &out_graph->graph));
    io_find_part(bytes, 2, &library);
    out_graph->library = library;
    return read_functions(&r, library, out_graph);
}
