#include <string.h>

#include "base/memory.h"
#include "io/graph_builder.h"

enum {
    MOST_DEPTH = 100,         /* of functions within functions */
    MOST_SPECIALISATIONS = 64 /* of one function */
};

typedef struct io_built {
    struct io_built *next;
    const io_fact *facts;
    int32_t n_facts;
    io_fact *results;
    mica_tf_graph *graph; /* NULL while it is being built */
} io_built;

/* ---- the library ------------------------------------------------------------------------------*/

static mica_status read_ops(io_library *library, io_range ops) {
    int64_t n = io_count_parts(ops, 1);
    int32_t i = 0;
    if (n < 0 || n > INT32_MAX)
        return MICA_ERROR(MICA_DATA_LOSS, "[graph_def] %s: its list of ops is cut off",
                          library->def->path);
    library->ops = mica_arena_alloc(&library->arena, (size_t)n * sizeof *library->ops);
    if (!library->ops) return MICA_NO_MEMORY();
    MICA_TRY(io_names_init(&library->op_names, &library->arena, n));
    io_field field;
    while (io_take_field(&ops, &field)) {
        io_range name;
        if (field.number != 1 || field.wire != IO_LENGTH) continue;
        library->ops[i] = field.part;
        if (io_find_part(field.part, 1, &name)) /* the first of a name counts */
            (void)io_names_add(&library->op_names, name, i);
        i++;
    }
    return NULL;
}

mica_status io_library_init(io_library *library, const io_graph_def *def, io_range ops,
                            mica_device *device) {
    *library = (io_library){.def = def, .values = {.device = device}};
    mica_arena_init(&library->arena);
    library->built =
        mica_arena_alloc(&library->arena, (size_t)def->n_functions * sizeof *library->built);
    library->uses =
        mica_arena_alloc(&library->arena, (size_t)def->n_functions * sizeof *library->uses);
    bool is_good = library->built && library->uses;
    for (int32_t i = 0; is_good && i < def->n_functions; i++) {
        library->uses[i] = mica_arena_alloc(&library->arena, (size_t)def->functions[i].n_arguments);
        is_good = library->uses[i];
    }
    if (!is_good) return MICA_NO_MEMORY();
    MICA_TRY(io_read_gradients(library, def->library));
    return read_ops(library, ops);
}

void io_library_deinit(io_library *library) {
    for (int32_t i = 0; library->built && i < library->def->n_functions; i++)
        for (io_built *b = library->built[i]; b; b = b->next) mica_tf_graph_release(b->graph);
    mica_arena_deinit(&library->arena);
}

static bool same_facts(const io_fact *a, const io_fact *b, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        if (a[i].kind != b[i].kind || a[i].dtype != b[i].dtype ||
            a[i].shape.rank != b[i].shape.rank)
            return false;
        for (int32_t k = 0; k < a[i].shape.rank; k++)
            if (a[i].shape.dims[k] != b[i].shape.dims[k]) return false;
    }
    return true;
}

/* ---- one graph --------------------------------------------------------------------------------*/

static const char *text_of(mica_arena *arena, io_range range) {
    char *text = mica_arena_alloc(arena, range.n + 1);
    if (text && range.n) memcpy(text, range.data, range.n);
    return text;
}

/* The error of a node, with the place where it came up. */
static mica_status at_node(const io_builder *b, const io_node *node, mica_status status) {
    if (!status) return NULL;
    io_range name = b->function->name;
    mica_status placed =
        MICA_ERROR(mica_status_code(status), "%s (the node '%.*s' of op %.*s in %s%.*s%s of %s)",
                   mica_status_message(status), IO_TEXT(node->name), IO_TEXT(node->op),
                   name.n ? "the function '" : "the graph", IO_TEXT(name), name.n ? "'" : "",
                   b->library->def->path);
    mica_status_release(status);
    return placed;
}

static mica_status damaged_input(io_range input, const char *what) {
    return MICA_ERROR(MICA_DATA_LOSS, "[graph_def] the input '%.*s' %s", IO_TEXT(input), what);
}

/* "name:rest" */
static io_range split(io_range text, io_range *out_rest) {
    const uint8_t *colon = text.n ? memchr(text.data, ':', text.n) : NULL;
    size_t n = colon ? (size_t)(colon - text.data) : text.n;
    *out_rest = colon ? (io_range){colon + 1, text.n - n - 1} : (io_range){NULL, 0};
    return (io_range){text.data, n};
}

static bool is_control(io_range input) {
    return input.n && input.data[0] == '^';
}

int32_t io_input_node(const io_function *f, io_range input) {
    io_range rest;
    if (is_control(input)) input.data++, input.n--;
    return io_names_find(&f->names, split(input, &rest));
}

bool io_is_reference(const io_node *node) {
    return io_is(node->op, "VariableV2") || io_is(node->op, "Variable");
}

bool io_is_variable(const io_node *node) {
    return io_is(node->op, "VarHandleOp") || io_is_reference(node);
}

/* A number of at most nine digits; an empty text is 0. */
static bool parse_index(io_range text, int32_t *out) {
    *out = 0;
    if (text.n > 9) return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        *out = *out * 10 + (text.data[i] - '0');
    }
    return true;
}

/* How many tensors an input or output of a row is. */
static int64_t count_of(const mica_tf_op_info *info, const mica_tf_attr *attrs,
                        const mica_tf_argument *argument) {
    if (argument->count_attr >= 0) return attrs[argument->count_attr].as.integer;
    if (argument->type_attr >= 0 && info->attrs[argument->type_attr].kind == MICA_TF_TYPES)
        return attrs[argument->type_attr].n;
    return 1;
}

/* Where the output of this name begins among a node's results; -1: there is none. */
static int64_t find_output(const mica_tf_operation *operation, io_range name) {
    const mica_tf_op_info *info = mica_tf_op_describe(mica_tf_operation_op(operation));
    const mica_tf_attr *attrs = mica_tf_operation_attrs(operation);
    int64_t at = 0;
    for (int32_t i = 0; i < info->n_outputs; i++) {
        if (io_is(name, info->outputs[i].name)) return at;
        at += count_of(info, attrs, &info->outputs[i]);
    }
    return -1;
}

static io_fact fact_of(const io_builder *b, int32_t item, int32_t i) {
    return b->facts[item] ? b->facts[item][i] : (io_fact){0};
}

/* The tensor that an input names, and what is known of it. In a function that is an argument, or
 * "node:output:0"; in the file's own graph it is "node:0". What it names is made. */
static mica_status find_tensor(const io_builder *b, io_range input, mica_tf_ref *out_ref,
                               io_fact *out_fact) {
    const io_function *f = b->function;
    io_range rest, name = split(input, &rest), output;
    int32_t item = io_names_find(&f->names, name), index;
    int64_t first = 0;
    if (item < 0 || b->states[item] < IO_MADE) return damaged_input(input, "is of no node");
    mica_tf_ref ref = b->refs[item];
    if (ref.node < 0) return damaged_input(input, "is of a node that has no results");
    bool is_node = item >= f->n_arguments && b->states[item] == IO_MADE;
    int32_t n = is_node ? mica_tf_graph_result_count(b->graph, ref.node) : 1;
    if (!b->part && item >= f->n_arguments && rest.n) {
        mica_tf_operation *operation = mica_tf_graph_operation(b->graph, ref.node);
        output = split(rest, &rest);
        first = is_node && operation ? find_output(operation, output) : 0;
    }
    if (first < 0 || !parse_index(rest, &index) || first + index >= n)
        return damaged_input(input, "is no result of its node");
    *out_fact = fact_of(b, item, (int32_t)first + index);
    *out_ref = (mica_tf_ref){ref.node, ref.index + (int32_t)first + index};
    return NULL;
}

/* ---- attributes -------------------------------------------------------------------------------*/

/* Attributes that do not change results here. */
static bool is_harmless(io_range name) {
    static const char *const names[] = {
        "config",         "config_proto", "executor_type", "lower_using_switch_merge",
        "container",      "shared_name",  "use_locking",   "parallel_iterations",
        "is_stateless",   "debug_name",   "output_shapes", "use_cudnn_on_gpu",
        "allowed_devices"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (io_is(name, names[i])) return true;
    return false;
}

/* The op's own default of an attribute, from the file's list of ops. */
static bool find_default(const io_library *library, const io_node *node, io_range name,
                         io_range *out_value) {
    int32_t i = io_names_find(&library->op_names, node->op);
    io_field field;
    if (i < 0) return false;
    for (io_range op = library->ops[i]; io_take_field(&op, &field);) {
        io_range own;
        if (field.number == 4 && field.wire == IO_LENGTH && io_find_part(field.part, 1, &own) &&
            io_same(own, name))
            return io_find_part(field.part, 3, out_value);
    }
    return false;
}

/* An attribute that the row does not have may only be what it is by default. */
static mica_status check_others(const io_builder *b, const io_node *node,
                                const mica_tf_op_info *info) {
    for (int32_t i = 0; i < node->n_attrs; i++) {
        const io_attr *attr = &node->attrs[i];
        bool known = attr->name.data[0] == '_' || is_harmless(attr->name);
        for (int32_t k = 0; k < info->n_attrs && !known; k++)
            known = io_is(attr->name, info->attrs[k].name);
        io_range value;
        io_field field;
        if (known || !find_default(b->library, node, attr->name, &value) ||
            io_same(value, attr->value))
            continue;
        io_range rest = attr->value;
        if (io_take_field(&rest, &field) && field.number <= 5)
            return MICA_ERROR(MICA_UNSUPPORTED, "[%s] the attribute %.*s is not its default",
                              info->name, IO_TEXT(attr->name));
    }
    return NULL;
}

mica_status io_read_function(const io_builder *b, io_range message, const io_fact *facts, int32_t n,
                             mica_tf_graph **out_graph) {
    io_range name;
    io_library *library = b->library;
    io_find_part(message, 1, &name);
    int32_t i = io_names_find(&library->def->names, name);
    bool fits = i >= 0 && library->def->functions[i].n_arguments == n;
    return io_library_function(library, name, facts, fits ? n : 0, out_graph);
}

static mica_status read_functions(const io_builder *b, io_range list, const io_fact *facts,
                                  int32_t n, mica_tf_attr *out) {
    int64_t count = io_count_parts(list, 9);
    if (count < 0 || count > INT32_MAX)
        return MICA_ERROR(MICA_DATA_LOSS, "[attr_value] a list of functions is cut off");
    mica_tf_graph **functions = mica_arena_alloc(b->scratch, (size_t)count * sizeof *functions);
    if (!functions) return MICA_NO_MEMORY();
    out->as.functions = functions;
    io_field field;
    while (io_take_field(&list, &field))
        if (field.number == 9 && field.wire == IO_LENGTH) {
            MICA_TRY(io_read_function(b, field.part, facts, n, functions++));
            out->n++;
        }
    return NULL;
}

static mica_status read_attr(const io_builder *b, io_range value, mica_tf_attr_kind kind,
                             const io_fact *facts, int32_t n, mica_tf_attr *out) {
    io_range part;
    *out = (mica_tf_attr){0};
    if (kind == MICA_TF_OPERATION)
        return MICA_ERROR(MICA_UNSUPPORTED, "[attr_value] derivatives have no form in files");
    if (kind != MICA_TF_FUNCTION && kind != MICA_TF_FUNCTIONS)
        return io_read_attr(&b->library->values, b->scratch, value, kind, out);
    if (!io_find_part(value, kind == MICA_TF_FUNCTION ? 10 : 1, &part))
        return MICA_ERROR(MICA_DATA_LOSS, "[attr_value] an attribute is no function");
    if (kind == MICA_TF_FUNCTIONS) return read_functions(b, part, facts, n, out);
    return io_read_function(b, part, facts, n, &out->as.function);
}

static bool is_dtype(int64_t number) {
    return number > 0 && number < 128 && mica_tf_dtype_name((mica_tf_dtype)number);
}

static mica_status check_dtypes(mica_tf_attr_kind kind, const mica_tf_attr *attr) {
    int64_t number = attr->as.integer;
    bool fits = kind != MICA_TF_TYPE || is_dtype(number);
    for (int32_t i = 0; kind == MICA_TF_TYPES && fits && i < attr->n; i++)
        fits = is_dtype(number = attr->as.ints[i]);
    if (fits) return NULL;
    return MICA_ERROR(MICA_UNSUPPORTED, "[attr_value] TensorFlow's dtype %lld is none of Mica's",
                      (long long)number);
}

/* The attributes of a row, from the node, the file's defaults or the row's. */
static mica_status read_attrs(const io_builder *b, const io_node *node, const mica_tf_op_info *info,
                              const io_fact *facts, int32_t n, mica_tf_attr *attrs) {
    int32_t before = 0; /* inputs that are not the function's */
    for (int32_t i = 0; i + 1 < info->n_inputs; i++) before++;
    if (before > n) before = n;
    for (int32_t i = 0; i < info->n_attrs; i++) {
        const mica_tf_attr_info *a = &info->attrs[i];
        io_range name = {(const uint8_t *)a->name, strlen(a->name)}, value;
        attrs[i] = a->value;
        if (io_node_attr(node, a->name, &value) ||
            (!a->has_default && find_default(b->library, node, name, &value))) {
            MICA_TRY(read_attr(b, value, a->kind, facts + before, n - before, &attrs[i]));
            MICA_TRY(check_dtypes(a->kind, &attrs[i]));
        } else if (!a->has_default && !a->is_inferred) {
            return MICA_ERROR(MICA_DATA_LOSS, "[%s] the attribute %s is missing", info->name,
                              a->name);
        }
    }
    return NULL;
}

/* The tensor itself is here, and a handle in the file. */
static bool is_other(const io_fact *fact) {
    return fact->kind == IO_LIST || fact->kind == IO_VALUE;
}

/* A function that was built for lists or values has other dtypes than the file says: those of the
 * inputs, and of its results. The file's shapes are those of handles. */
static mica_status fix_dtypes(const io_builder *b, const mica_tf_op_info *info, const io_making *m,
                              mica_tf_attr *attrs) {
    bool has_others = false;
    for (int32_t i = 0; i < m->n; i++) has_others |= is_other(&m->facts[i]);
    if (!has_others) return NULL;
    for (int32_t i = 0; i < info->n_attrs; i++)
        if (info->attrs[i].kind == MICA_TF_SHAPES) attrs[i].n = 0;
    mica_tf_graph *function = NULL;
    for (int32_t i = 0; i < info->n_attrs && !function; i++) {
        if (info->attrs[i].kind == MICA_TF_FUNCTION) function = attrs[i].as.function;
        if (info->attrs[i].kind == MICA_TF_FUNCTIONS && attrs[i].n)
            function = attrs[i].as.functions[0];
    }
    int32_t given = info->n_inputs ? info->inputs[info->n_inputs - 1].type_attr : -1;
    int32_t made = info->n_outputs == 1 ? info->outputs[0].type_attr : -1;
    if (!function || given < 0 || info->attrs[given].kind != MICA_TF_TYPES) return NULL;
    int32_t n_given = attrs[given].n;
    if (n_given > m->n) return NULL; /* the row refuses it */
    int64_t *dtypes = mica_arena_alloc(b->scratch, (size_t)n_given * sizeof *dtypes);
    if (!dtypes) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n_given; i++)
        dtypes[i] = mica_tf_graph_type(b->graph, m->inputs[m->n - n_given + i], NULL);
    attrs[given].as.ints = dtypes;
    if (made < 0 || made == given || info->attrs[made].kind != MICA_TF_TYPES ||
        attrs[made].n != mica_tf_graph_output_count(function))
        return NULL;
    dtypes = mica_arena_alloc(b->scratch, (size_t)attrs[made].n * sizeof *dtypes);
    if (!dtypes) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < attrs[made].n; i++)
        dtypes[i] = mica_tf_graph_type(function, mica_tf_graph_output_ref(function, i), NULL);
    attrs[made].as.ints = dtypes;
    return NULL;
}

static void release_attrs(const mica_tf_op_info *info, const mica_tf_attr *attrs) {
    for (int32_t i = 0; i < info->n_attrs; i++)
        if (info->attrs[i].kind == MICA_TF_TENSOR) mica_tf_value_release(attrs[i].as.value);
}

/* ---- nodes ------------------------------------------------------------------------------------*/

mica_status io_learn(io_builder *b, int32_t item, int32_t i, const io_fact *fact) {
    if (!b->facts[item]) {
        bool is_node = b->states[item] != IO_TRANSLATED && b->refs[item].node >= 0;
        int32_t n = is_node ? mica_tf_graph_result_count(b->graph, b->refs[item].node) : 1;
        b->facts[item] = mica_arena_alloc(b->scratch, (size_t)(n + 1) * sizeof **b->facts);
        if (!b->facts[item]) return MICA_NO_MEMORY();
    }
    b->facts[item][i] = *fact;
    return NULL;
}

/* What the file says about the shapes of results. */
static mica_status learn_shapes(const io_builder *b, const io_node *node, int32_t item) {
    io_range value, list;
    io_field field;
    int32_t i = 0, number = b->refs[item].node, n = mica_tf_graph_result_count(b->graph, number);
    if (!io_node_attr(node, "_output_shapes", &value) || !io_find_part(value, 1, &list))
        return NULL;
    while (i < n && io_take_field(&list, &field)) {
        if (field.number != 7 || field.wire != IO_LENGTH) continue;
        mica_tf_shape shape;
        mica_tf_ref ref = {number, i++};
        mica_tf_dtype dtype = mica_tf_graph_type(b->graph, ref, NULL);
        if (dtype == MICA_TF_resource || dtype == MICA_TF_variant) continue;
        io_fact fact = fact_of(b, item, ref.index);
        if (is_other(&fact)) continue; /* the shape of its handle */
        MICA_TRY(io_read_shape(field.part, &shape));
        MICA_TRY(mica_tf_graph_set_shape(b->graph, ref, &shape));
    }
    return NULL;
}

/* What is known of the results of a call: what was known in the function. */
static mica_status learn_results(io_builder *b, const io_making *m) {
    const mica_tf_op_info *info = NULL;
    mica_tf_operation *operation = mica_tf_graph_operation(b->graph, b->refs[m->item].node);
    info = mica_tf_op_describe(mica_tf_operation_op(operation));
    for (int32_t i = 0; i < info->n_attrs; i++) {
        if (info->attrs[i].kind != MICA_TF_FUNCTION || info->n_outputs != 1 ||
            info->outputs[0].type_attr < 0)
            continue;
        const mica_tf_graph *function = mica_tf_operation_attrs(operation)[i].as.function;
        const io_fact *facts = io_library_results(b->library, function);
        int32_t n = mica_tf_graph_output_count(function);
        if (!facts || n != mica_tf_graph_result_count(b->graph, b->refs[m->item].node)) continue;
        for (int32_t k = 0; k < n; k++)
            if (facts[k].kind) MICA_TRY(io_learn(b, m->item, k, &facts[k]));
    }
    return NULL;
}

/* What is known of a node's results. */
static mica_status learn(io_builder *b, const io_making *m, mica_tf_op op) {
    if (op == MICA_TF_Identity && m->facts[0].kind) MICA_TRY(io_learn(b, m->item, 0, &m->facts[0]));
    if (op == MICA_TF_ReadVariableOp && m->facts[0].kind == IO_VARIABLE)
        MICA_TRY(mica_tf_graph_set_shape(b->graph, b->refs[m->item], &m->facts[0].shape));
    MICA_TRY(learn_results(b, m));
    return learn_shapes(b, m->node, m->item);
}

static const char *name_of(const io_builder *b, const io_node *node) {
    char *name = (char *)text_of(b->scratch, node->name);
    for (char *c = name; c && *c; c++)
        if (*c == '/') *c = '_';
    return name;
}

mica_status io_add_row(io_builder *b, const io_making *m, mica_tf_op op) {
    const mica_tf_op_info *info = mica_tf_op_describe(op);
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{0}};
    const char *name = name_of(b, m->node);
    mica_status status = name ? check_others(b, m->node, info) : MICA_NO_MEMORY();
    if (!status) status = read_attrs(b, m->node, info, m->facts, m->n, attrs);
    if (!status) status = fix_dtypes(b, info, m, attrs);
    if (!status)
        status = mica_tf_graph_add(b->graph, op, attrs, m->inputs, m->n, name, &b->refs[m->item]);
    release_attrs(info, attrs);
    if (status) return status;
    b->states[m->item] = IO_MADE;
    return learn(b, m, op);
}

mica_status io_become(io_builder *b, const io_making *m, mica_tf_ref ref, const io_fact *fact) {
    b->states[m->item] = IO_TRANSLATED;
    b->refs[m->item] = ref;
    return io_learn(b, m->item, 0, fact);
}

mica_status io_add(io_builder *b, mica_tf_op op, const mica_tf_attr *attrs,
                   const mica_tf_ref *inputs, int32_t n, mica_tf_ref *out_ref) {
    return mica_tf_graph_add(b->graph, op, attrs, inputs, n, NULL, out_ref);
}

/* A resource of the file's own graph is a parameter. */
static mica_status capture(io_builder *b, const io_node *node, int32_t item) {
    static const mica_tf_shape scalar = {0};
    const char *name = name_of(b, node);
    if (!name) return MICA_NO_MEMORY();
    MICA_TRY(mica_tf_graph_parameter(b->graph, MICA_TF_resource, &scalar, name, &b->refs[item]));
    b->states[item] = IO_MADE;
    b->captured[b->n_captured++] = item;
    return io_learn(b, item, 0, &b->part->resources[item]);
}

static mica_status make_node(io_builder *b, int32_t item) {
    const io_node *node = &b->function->nodes[item - b->function->n_arguments];
    b->refs[item] = (mica_tf_ref){-1, 0};
    b->states[item] = IO_MADE;
    if (io_is(node->op, "NoOp") || io_is(node->op, "ControlTrigger")) return NULL;
    if (b->part && b->part->resources[item].kind) return capture(b, node, item);
    size_t room = (size_t)node->n_inputs + 1;
    mica_tf_ref *inputs = mica_arena_alloc(b->scratch, room * sizeof *inputs);
    io_fact *facts = mica_arena_alloc(b->scratch, room * sizeof *facts);
    const char *op_name = text_of(b->scratch, node->op);
    mica_tf_op op;
    io_making m = {.node = node, .item = item, .inputs = inputs, .facts = facts};
    bool done = false;
    if (!inputs || !facts || !op_name) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < node->n_inputs; i++) {
        if (is_control(node->inputs[i])) continue;
        MICA_TRY(find_tensor(b, node->inputs[i], &inputs[m.n], &facts[m.n]));
        m.n++;
    }
    MICA_TRY(io_read_references(b, node, inputs, facts, m.n));
    MICA_TRY(io_take_values(b, node, inputs, facts, m.n));
    MICA_TRY(io_make_value_node(b, &m, &done));
    if (!done) MICA_TRY(io_make_list_node(b, &m, &done));
    if (!done) MICA_TRY(io_make_gradient_node(b, &m, &done));
    if (!done) MICA_TRY(io_compose(b, &m, &done));
    if (done) return NULL;
    if (!mica_tf_op_parse(op_name, &op))
        return MICA_ERROR(MICA_UNSUPPORTED, "Op type not registered '%.200s'", op_name);
    return io_add_row(b, &m, op);
}

typedef struct visit {
    int32_t item, next; /* its next input to look at */
} visit;

/* Makes a node after what it uses and waits for. */
static mica_status make_with_inputs(io_builder *b, int32_t item, visit *stack) {
    const io_function *f = b->function;
    int32_t depth = 0;
    if (b->states[item] != IO_NEW) return NULL;
    b->states[item] = IO_ENTERED;
    stack[depth++] = (visit){item, 0};
    while (depth) {
        visit *top = &stack[depth - 1];
        const io_node *node = &f->nodes[top->item - f->n_arguments];
        if (top->next == node->n_inputs) {
            MICA_TRY(at_node(b, node, make_node(b, top->item)));
            depth--;
            continue;
        }
        io_range input = node->inputs[top->next++];
        int32_t from = io_input_node(f, input);
        if (b->skips_control && is_control(input)) continue;
        if (from < 0) return at_node(b, node, damaged_input(input, "is of no node"));
        if (b->states[from] == IO_ENTERED)
            return at_node(b, node, damaged_input(input, "needs the node's own result"));
        if (b->states[from] != IO_NEW) continue;
        b->states[from] = IO_ENTERED;
        stack[depth++] = (visit){from, 0};
    }
    return NULL;
}

static mica_status begin(io_builder *b, visit **out_stack) {
    size_t n = (size_t)b->function->n_arguments + (size_t)b->function->n_nodes;
    b->states = mica_arena_alloc(b->scratch, n);
    b->refs = mica_arena_alloc(b->scratch, n * sizeof *b->refs);
    b->facts = mica_arena_alloc(b->scratch, n * sizeof *b->facts);
    *out_stack = mica_arena_alloc(b->scratch, n * sizeof **out_stack);
    return b->states && b->refs && b->facts && *out_stack ? NULL : MICA_NO_MEMORY();
}

mica_status io_find_made(io_builder *b, io_range tensor, mica_tf_ref *out_ref, io_fact *out_fact) {
    io_range rest, name = split(tensor, &rest);
    const io_function *f = b->function;
    int32_t item = io_names_find(&f->names, name), index;
    if (item < 0) return damaged_input(tensor, "is of no node");
    if (b->states[item] == IO_ENTERED) return damaged_input(tensor, "needs the node's own result");
    size_t n = (size_t)f->n_arguments + (size_t)f->n_nodes;
    visit *stack = mica_alloc((n + 1) * sizeof *stack);
    if (!stack) return MICA_NO_MEMORY();
    mica_status status = make_with_inputs(b, item, stack);
    mica_free(stack);
    if (status) return status;
    mica_tf_ref ref = b->refs[item];
    bool is_node = item >= f->n_arguments && b->states[item] == IO_MADE;
    int32_t n_results =
        ref.node >= 0 && is_node ? mica_tf_graph_result_count(b->graph, ref.node) : 1;
    if (ref.node < 0 || !parse_index(rest, &index) || index >= n_results)
        return damaged_input(tensor, "is no result of its node");
    *out_fact = fact_of(b, item, index);
    *out_ref = (mica_tf_ref){ref.node, ref.index + index};
    return NULL;
}

/* ---- functions --------------------------------------------------------------------------------*/

static mica_status add_argument(io_builder *b, int32_t i, const io_fact *fact) {
    const io_argument *argument = &b->function->arguments[i];
    mica_tf_dtype dtype = argument->dtype;
    mica_tf_shape shape = {.rank = -1};
    const char *name = text_of(b->scratch, argument->name);
    if (!name) return MICA_NO_MEMORY();
    if (!is_dtype(dtype))
        return MICA_ERROR(MICA_UNSUPPORTED, "[graph_def] the argument '%.200s' has the dtype %d",
                          name, (int)dtype);
    if (argument->has_shape) MICA_TRY(io_read_shape(argument->shape, &shape));
    if (dtype == MICA_TF_resource || dtype == MICA_TF_variant) shape.rank = 0;
    if (fact && is_other(fact)) {
        dtype = fact->dtype;
        shape = fact->kind == IO_LIST ? io_list_shape(&fact->shape) : fact->shape;
    }
    MICA_TRY(mica_tf_graph_parameter(b->graph, dtype, &shape, name, &b->refs[i]));
    b->states[i] = IO_MADE;
    return fact && fact->kind ? io_learn(b, i, 0, fact) : NULL;
}

static mica_status build_function(io_builder *b, const io_fact *facts, int32_t n_facts,
                                  io_fact *out_results) {
    const io_function *f = b->function;
    visit *stack;
    MICA_TRY(begin(b, &stack));
    for (int32_t i = 0; i < f->n_arguments; i++)
        MICA_TRY(add_argument(b, i, i < n_facts ? &facts[i] : NULL));
    for (int32_t i = 0; i < f->n_nodes; i++)
        MICA_TRY(make_with_inputs(b, f->n_arguments + i, stack));
    for (int32_t i = 0; i < f->n_results; i++) {
        mica_tf_ref ref;
        MICA_TRY(find_tensor(b, f->results[i], &ref, &out_results[i]));
        if (out_results[i].kind == IO_PENDING)
            return MICA_ERROR(MICA_UNSUPPORTED,
                              "[graph_def] the function '%.*s' returns a list of tensors of "
                              "unknown shape",
                              IO_TEXT(f->name));
        MICA_TRY(mica_tf_graph_output(b->graph, ref));
    }
    return NULL;
}

mica_status io_inline(io_builder *b, const io_function *function, const io_making *m,
                      io_range tensor, mica_tf_ref *out_ref) {
    io_builder inner = {.library = b->library,
                        .function = function,
                        .graph = b->graph,
                        .scratch = b->scratch,
                        .skips_control = true};
    io_fact fact;
    visit *stack;
    int32_t item = io_input_node(function, tensor);
    if (function->n_arguments != m->n || item < 0)
        return damaged_input(tensor, "is of no node, or its function has other arguments");
    MICA_TRY(begin(&inner, &stack));
    for (int32_t i = 0; i < m->n; i++) {
        inner.states[i] = IO_TRANSLATED;
        inner.refs[i] = m->inputs[i];
        if (m->facts[i].kind) MICA_TRY(io_learn(&inner, i, 0, &m->facts[i]));
    }
    if (item >= function->n_arguments) MICA_TRY(make_with_inputs(&inner, item, stack));
    MICA_TRY(find_tensor(&inner, tensor, out_ref, &fact));
    return NULL;
}

static mica_status create_function(io_library *library, const io_function *f, const io_fact *facts,
                                   int32_t n_facts, io_fact *out_results,
                                   mica_tf_graph **out_graph) {
    mica_arena scratch;
    mica_arena_init(&scratch);
    io_builder b = {.library = library, .function = f, .scratch = &scratch};
    const char *name = text_of(&scratch, f->name);
    mica_status status = name ? mica_tf_graph_create(name, &b.graph) : MICA_NO_MEMORY();
    if (!status) status = build_function(&b, facts, n_facts, out_results);
    mica_arena_deinit(&scratch);
    if (status) {
        mica_tf_graph_release(b.graph);
        return status;
    }
    *out_graph = b.graph;
    return NULL;
}

/* A new entry, so that a function that calls itself is found out. */
static mica_status add_built(io_library *library, int32_t i, const io_fact *facts, int32_t n_facts,
                             io_built **out_built) {
    io_built *built = mica_arena_alloc(&library->arena, sizeof *built);
    const io_fact *kept = mica_arena_copy(&library->arena, facts, (size_t)n_facts * sizeof *facts);
    size_t n_results = (size_t)library->def->functions[i].n_results;
    io_fact *results = mica_arena_alloc(&library->arena, n_results * sizeof *results);
    if (!built || !kept || !results) return MICA_NO_MEMORY();
    *built = (io_built){library->built[i], kept, n_facts, results, NULL};
    library->built[i] = *out_built = built;
    return NULL;
}

mica_status io_library_function(io_library *library, io_range name, const io_fact *facts,
                                int32_t n_facts, mica_tf_graph **out_graph) {
    const io_graph_def *def = library->def;
    int32_t i = io_names_find(&def->names, name), n = 0;
    if (i < 0)
        return MICA_ERROR(MICA_DATA_LOSS, "[graph_def] %s has no function '%.*s'", def->path,
                          IO_TEXT(name));
    io_built **link = &library->built[i];
    for (io_built *b = *link; b; b = b->next, n++) {
        if (!b->graph)
            return MICA_ERROR(MICA_UNSUPPORTED, "[graph_def] the function '%.*s' calls itself",
                              IO_TEXT(name));
        if (b->n_facts == n_facts && same_facts(b->facts, facts, n_facts)) {
            *out_graph = b->graph;
            return NULL;
        }
    }
    if (n == MOST_SPECIALISATIONS || library->depth == MOST_DEPTH)
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[graph_def] the function '%.*s' is called with %d kinds of arguments, "
                          "or within %d others: more than %d and %d are not possible",
                          IO_TEXT(name), n, library->depth, MOST_SPECIALISATIONS, MOST_DEPTH);
    io_built *built = NULL;
    MICA_TRY(add_built(library, i, facts, n_facts, &built));
    library->depth++;
    mica_status status =
        create_function(library, &def->functions[i], facts, n_facts, built->results, &built->graph);
    library->depth--;
    if (status) *link = built->next;
    *out_graph = built->graph;
    return status;
}

const io_fact *io_library_results(const io_library *library, const mica_tf_graph *graph) {
    io_range name = {(const uint8_t *)mica_tf_graph_name(graph), strlen(mica_tf_graph_name(graph))};
    int32_t i = io_names_find(&library->def->names, name);
    for (io_built *b = i < 0 ? NULL : library->built[i]; b; b = b->next)
        if (b->graph == graph) return b->results;
    return NULL;
}

mica_tf_shape io_list_shape(const mica_tf_shape *element) {
    mica_tf_shape shape = {.rank = -1};
    if (element->rank < 0 || element->rank == MICA_MAX_RANK) return shape;
    shape.rank = element->rank + 1;
    shape.dims[0] = -1;
    for (int32_t i = 0; i < element->rank; i++) shape.dims[i + 1] = element->dims[i];
    return shape;
}

/* ---- parts of the file's own graph ------------------------------------------------------------*/

static mica_status feed(io_builder *b, const io_feed *f) {
    io_range rest;
    int32_t item = io_names_find(&b->function->names, split(f->tensor, &rest)), index;
    if (item < 0 || !parse_index(rest, &index) || index != 0)
        return damaged_input(f->tensor, "cannot be fed");
    if (b->states[item] == IO_MADE) return damaged_input(f->tensor, "is fed twice");
    b->states[item] = IO_MADE;
    return mica_tf_graph_parameter(b->graph, f->dtype, &f->shape, f->name, &b->refs[item]);
}

static mica_status build_part(io_builder *b) {
    visit *stack;
    MICA_TRY(begin(b, &stack));
    for (int32_t i = 0; i < b->part->n_feeds; i++) MICA_TRY(feed(b, &b->part->feeds[i]));
    for (int32_t i = 0; i < b->part->n_fetches; i++) {
        io_range fetch = b->part->fetches[i];
        int32_t item = io_input_node(b->function, fetch);
        mica_tf_ref ref;
        io_fact fact;
        if (item < 0) return damaged_input(fetch, "is of no node");
        MICA_TRY(make_with_inputs(b, item, stack));
        MICA_TRY(find_tensor(b, fetch, &ref, &fact));
        MICA_TRY(io_read_references(b, NULL, &ref, &fact, 1));
        MICA_TRY(mica_tf_graph_output(b->graph, ref));
    }
    return NULL;
}

mica_status io_library_part(io_library *library, const io_part *part, mica_tf_graph **out_graph,
                            int32_t *out_captured, int32_t *out_n_captured) {
    *out_graph = NULL;
    mica_arena scratch;
    mica_arena_init(&scratch);
    io_builder b = {.library = library,
                    .function = &library->def->graph,
                    .part = part,
                    .scratch = &scratch,
                    .captured = out_captured};
    mica_status status = mica_tf_graph_create(part->name, &b.graph);
    if (!status) status = build_part(&b);
    mica_arena_deinit(&scratch);
    *out_n_captured = b.n_captured;
    if (status)
        mica_tf_graph_release(b.graph);
    else
        *out_graph = b.graph;
    return status;
}
