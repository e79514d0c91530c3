/* Custom gradients. In files a function with a gradient of its own ends with an IdentityN over its
 * results and arguments, whose attribute _gradient_op_type is a name; the library says which
 * function is registered under it. That one takes a cotangent for each of the IdentityN's results,
 * then what it needs of the function that the IdentityN is in, which the graph of objects tells. */
#include <string.h>

#include "io/graph_builder.h"

enum { MOST_DEPTH = 100 /* of gradients whose needs are made by others */ };

/* What a custom gradient is made of. */
typedef struct custom {
    io_range name; /* of the registered function */
    const io_function *function;
    io_making needs; /* of what it needs */
    int64_t *places; /* of its results: which input each is the gradient of */
} custom;

mica_status io_read_gradients(io_library *library, io_range message) {
    int64_t n = io_count_parts(message, 3);
    if (n < 0 || n > INT32_MAX)
        return MICA_ERROR(MICA_DATA_LOSS, "[graph_def] %s: its gradients are cut off",
                          library->def->path);
    library->gradients = mica_arena_alloc(&library->arena, (size_t)n * sizeof(io_range));
    if (!library->gradients) return MICA_NO_MEMORY();
    MICA_TRY(io_names_init(&library->gradient_names, &library->arena, n));
    io_field field;
    for (int32_t i = 0; io_take_field(&message, &field);) {
        io_range name;
        if (field.number != 3 || field.wire != IO_LENGTH) continue;
        io_find_part(field.part, 2, &name);
        io_find_part(field.part, 1, &library->gradients[i]);
        (void)io_names_add(&library->gradient_names, name, i++);
    }
    return NULL;
}

/* ---- what the gradient needs ------------------------------------------------------------------*/

static mica_status lost(const io_making *m, const char *what) {
    return MICA_ERROR(MICA_UNSUPPORTED, "[IdentityN] its custom gradient %s (%.*s)", what,
                      IO_TEXT(m->node->name));
}

/* A variable that the function itself is given: its argument. */
static mica_status find_argument(io_builder *b, const io_making *m, uint64_t object,
                                 int32_t *out_item) {
    uint64_t *bound;
    int32_t n;
    MICA_TRY(io_bound_inputs(b->library->objects, b->function->name, b->scratch, &bound, &n));
    for (int32_t i = 0; i < n; i++)
        if (bound[i] == object && n <= b->function->n_arguments) {
            *out_item = b->function->n_arguments - n + i;
            return NULL;
        }
    return lost(m, "needs an object that its function is not given");
}

static mica_status make_constant(io_builder *b, const io_making *m, io_range name,
                                 mica_tf_ref *out_ref) {
    const io_function *graph = &b->library->def->graph;
    io_range value, tensor;
    int32_t i = io_input_node(graph, name);
    if (i < 0 || !io_node_attr(&graph->nodes[i], "value", &value) ||
        !io_find_part(value, 8, &tensor))
        return lost(m, "needs a constant that the file does not have");
    mica_tf_value constant;
    MICA_TRY(io_read_tensor(&b->library->values, tensor, &constant));
    const mica_tf_attr attrs[2] = {{.as.value = constant}, {.as.integer = constant.dtype}};
    mica_status status = io_add(b, MICA_TF_Const, attrs, NULL, 0, out_ref);
    mica_tf_value_release(constant);
    return status;
}

/* A tensor of the function that the IdentityN is in, "node:1". */
static mica_status find_captured(io_builder *b, const io_making *m, io_range captured,
                                 mica_tf_ref *out_ref, io_fact *out_fact) {
    io_range name, function;
    io_find_part(captured, 1, &name);
    io_find_part(captured, 2, &function);
    if (!io_same(function, b->function->name)) return lost(m, "needs a tensor of another function");
    return io_find_made(b, name, out_ref, out_fact);
}

static mica_status find_need(io_builder *b, const io_making *m, uint64_t object,
                             mica_tf_ref *out_ref, io_fact *out_fact) {
    const io_object_graph *objects = b->library->objects;
    io_range part, name;
    int32_t item = 0;
    *out_fact = (io_fact){0};
    if (object >= (uint64_t)objects->n_objects) return lost(m, "needs an object that is not there");
    if (io_find_part(objects->objects[object], 12, &part))
        return find_captured(b, m, part, out_ref, out_fact);
    if (io_find_part(objects->objects[object], 9, &part)) {
        io_find_part(part, 1, &name);
        return make_constant(b, m, name, out_ref);
    }
    MICA_TRY(find_argument(b, m, object, &item));
    return io_find_made(b, b->function->arguments[item].name, out_ref, out_fact);
}

static mica_status find_needs(io_builder *b, const io_making *m, custom *c) {
    uint64_t *bound;
    int32_t n;
    MICA_TRY(io_bound_inputs(b->library->objects, c->name, b->scratch, &bound, &n));
    if (c->function->n_arguments != m->n + n)
        return lost(m, "takes other arguments than there are");
    mica_tf_ref *refs = mica_arena_alloc(b->scratch, (size_t)n * sizeof *refs);
    io_fact *facts = mica_arena_alloc(b->scratch, (size_t)n * sizeof *facts);
    if (!refs || !facts) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n; i++) {
        MICA_TRY(find_need(b, m, bound[i], &refs[i], &facts[i]));
        if (facts[i].kind == IO_VARIABLE && io_only_reads(b->library, c->name, m->n + i))
            MICA_TRY(io_take_value(b, &refs[i], &facts[i]));
        if (facts[i].kind && facts[i].kind != IO_VALUE)
            return lost(m, "changes a variable, or needs a resource");
    }
    c->needs = (io_making){m->node, m->item, refs, facts, n};
    return NULL;
}

/* The function's results are a list, in which None stands for an input without a gradient. */
static mica_status find_places(io_builder *b, const io_making *m, custom *c) {
    const io_object_graph *objects = b->library->objects;
    int32_t i = io_names_find(&objects->names, c->name), n = 0;
    io_range signature, list, unused;
    io_field field;
    c->places = mica_arena_alloc(b->scratch, (size_t)c->function->n_results * sizeof *c->places);
    if (!c->places) return MICA_NO_MEMORY();
    if (i < 0 || !io_find_part(objects->functions[i], 4, &signature) ||
        !(io_find_part(signature, 51, &list) || io_find_part(signature, 52, &list)))
        return lost(m, "gives no list");
    for (int64_t place = 0; io_take_field(&list, &field);) {
        if (field.number != 1 || field.wire != IO_LENGTH) continue;
        if (io_find_part(field.part, 33, &unused)) {
            if (n == c->function->n_results || place >= m->n) break;
            c->places[n++] = place;
        } else if (!io_find_part(field.part, 1, &unused)) {
            return lost(m, "gives what is no tensor");
        }
        place++;
    }
    return n == c->function->n_results ? NULL : lost(m, "gives other results than it says");
}

/* ---- the node ---------------------------------------------------------------------------------*/

static bool flows(mica_tf_dtype dtype) {
    mica_dtype core = mica_tf_dtype_core(dtype);
    if (core == MICA_DTYPE_COUNT) return false;
    mica_dtype_kind kind = mica_dtype_kind_of(core);
    return kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX;
}

static mica_status add_parameter(io_builder *b, mica_tf_graph *g, mica_tf_ref like,
                                 mica_tf_ref *out_ref) {
    mica_tf_shape shape;
    mica_tf_dtype dtype = mica_tf_graph_type(b->graph, like, &shape);
    return mica_tf_graph_parameter(g, dtype, &shape, NULL, out_ref);
}

/* Of cotangents of the results that have one, then the inputs that have none, then what is needed:
 * calls the registered function. */
static mica_status build_backward(io_builder *b, const io_making *m, const custom *c,
                                  mica_tf_graph *function, mica_tf_graph *g) {
    int32_t n = c->function->n_arguments, n_results = c->function->n_results;
    mica_tf_ref *refs = mica_arena_alloc(b->scratch, (size_t)(n + 1) * sizeof *refs), first;
    int64_t *types = mica_arena_alloc(b->scratch, (size_t)(n + n_results) * sizeof *types);
    if (!refs || !types) return MICA_NO_MEMORY();
    for (int32_t round = 0; round < 2; round++)
        for (int32_t i = 0; i < m->n; i++)
            if (flows(mica_tf_graph_type(b->graph, m->inputs[i], NULL)) == (round == 0))
                MICA_TRY(add_parameter(b, g, m->inputs[i], &refs[i]));
    for (int32_t i = 0; i < c->needs.n; i++)
        MICA_TRY(add_parameter(b, g, c->needs.inputs[i], &refs[m->n + i]));
    for (int32_t i = 0; i < n; i++) types[i] = mica_tf_graph_type(g, refs[i], NULL);
    for (int32_t i = 0; i < n_results; i++)
        types[n + i] = mica_tf_graph_type(function, mica_tf_graph_output_ref(function, i), NULL);
    for (int32_t i = 0; i < m->n; i++) /* of what has no cotangent: zeros of its dtype */
        if (!flows((mica_tf_dtype)types[i]) &&
            mica_tf_dtype_core((mica_tf_dtype)types[i]) != MICA_DTYPE_COUNT)
            MICA_TRY(mica_tf_graph_add(g, MICA_TF_ZerosLike, NULL, &refs[i], 1, NULL, &refs[i]));
    const mica_tf_attr attrs[3] = {{.n = n, .as.ints = types},
                                   {.n = n_results, .as.ints = types + n},
                                   {.as.function = function}};
    MICA_TRY(mica_tf_graph_add(g, MICA_TF_StatefulPartitionedCall, attrs, refs, n, NULL, &first));
    for (int32_t i = 0; i < n_results; i++)
        MICA_TRY(mica_tf_graph_output(g, (mica_tf_ref){first.node, i}));
    return NULL;
}

/* The row takes arguments, results, and what the backward function needs: here the inputs of the
 * IdentityN are both. */
static mica_status add_node(io_builder *b, const io_making *m, const custom *c,
                            mica_tf_graph *backward) {
    int32_t n = 2 * m->n;
    size_t room = (size_t)(3 * m->n + c->needs.n);
    mica_tf_ref *inputs = mica_arena_alloc(b->scratch, room * sizeof *inputs);
    int64_t *types = mica_arena_alloc(b->scratch, room * sizeof *types);
    if (!inputs || !types) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < m->n; i++) inputs[i] = inputs[m->n + i] = m->inputs[i];
    for (int32_t i = 0; i < m->n; i++)
        if (!flows(mica_tf_graph_type(b->graph, m->inputs[i], NULL))) inputs[n++] = m->inputs[i];
    for (int32_t i = 0; i < c->needs.n; i++) inputs[n++] = c->needs.inputs[i];
    for (int32_t i = 0; i < n; i++) types[i] = mica_tf_graph_type(b->graph, inputs[i], NULL);
    const mica_tf_attr attrs[5] = {{.n = n, .as.ints = types},
                                   {.n = m->n, .as.ints = types},
                                   {.as.integer = m->n},
                                   {.as.function = backward},
                                   {.n = c->function->n_results, .as.ints = c->places}};
    b->states[m->item] = IO_MADE;
    return mica_tf_graph_add(b->graph, MICA_TF_CustomGradient, attrs, inputs, n, NULL,
                             &b->refs[m->item]);
}

static mica_status make(io_builder *b, const io_making *m, custom *c) {
    mica_tf_graph *function, *backward = NULL;
    MICA_TRY(find_needs(b, m, c));
    MICA_TRY(find_places(b, m, c));
    size_t n = (size_t)c->function->n_arguments;
    io_fact *facts = mica_arena_alloc(b->scratch, n * sizeof *facts);
    if (!facts) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < c->needs.n; i++) facts[m->n + i] = c->needs.facts[i];
    MICA_TRY(io_library_function(b->library, c->name, facts, (int32_t)n, &function));
    mica_status status = mica_tf_graph_create("custom_gradient", &backward);
    if (!status) status = build_backward(b, m, c, function, backward);
    if (!status) status = add_node(b, m, c, backward);
    mica_tf_graph_release(backward);
    return status;
}

/* A gradient that the file does not have, or that cannot be made of it, is an error when it is
 * asked for. */
static mica_status make_without(io_builder *b, const io_making *m, mica_status why) {
    static const int64_t none = -1;
    mica_tf_graph *backward = NULL;
    mica_status status = mica_tf_graph_create(mica_status_message(why), &backward);
    mica_status_release(why);
    const io_function nothing = {.n_results = 1};
    const custom c = {.function = &nothing, .places = (int64_t[]){none}};
    mica_tf_ref first = {-1, 0};
    for (int32_t i = 0; i < m->n && !status; i++) {
        mica_tf_ref ref;
        bool has_cotangent = flows(mica_tf_graph_type(b->graph, m->inputs[i], NULL));
        if (has_cotangent) status = add_parameter(b, backward, m->inputs[i], &ref);
        if (has_cotangent && first.node < 0) first = ref;
    }
    for (int32_t i = 0; i < m->n && !status; i++) {
        mica_tf_ref ref;
        if (!flows(mica_tf_graph_type(b->graph, m->inputs[i], NULL)))
            status = add_parameter(b, backward, m->inputs[i], &ref);
    }
    if (!status && first.node >= 0) status = mica_tf_graph_output(backward, first);
    if (!status && first.node >= 0) status = add_node(b, m, &c, backward);
    mica_tf_graph_release(backward);
    return status;
}

mica_status io_make_gradient_node(io_builder *b, const io_making *m, bool *out_done) {
    io_library *library = b->library;
    io_range value, name;
    custom c = {0};
    *out_done = false;
    if (!io_is(m->node->op, "IdentityN") || b->skips_control || b->part ||
        !io_node_attr(m->node, "_gradient_op_type", &value) || !io_find_part(value, 2, &name))
        return NULL;
    bool any = false;
    for (int32_t i = 0; i < m->n; i++) {
        mica_tf_dtype dtype = mica_tf_graph_type(b->graph, m->inputs[i], NULL);
        any |= flows(dtype);
        if (m->facts[i].kind || mica_tf_dtype_core(dtype) == MICA_DTYPE_COUNT) return NULL;
    }
    if (!any) return NULL;
    *out_done = true;
    int32_t i = io_names_find(&library->gradient_names, name), f = -1;
    if (i >= 0) f = io_names_find(&library->def->names, c.name = library->gradients[i]);
    mica_status status = NULL;
    if (f < 0 || !library->objects) {
        status = lost(m, "was not saved with the model");
    } else if (library->gradient_depth == MOST_DEPTH) {
        status = lost(m, "is within too many others");
    } else {
        c.function = &library->def->functions[f];
        library->gradient_depth++;
        status = make(b, m, &c);
        library->gradient_depth--;
    }
    if (status && mica_status_code(status) == MICA_UNSUPPORTED) return make_without(b, m, status);
    return status;
}
