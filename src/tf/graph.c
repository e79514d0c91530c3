/* Graphs: nodes in the order of the program, with partial shapes. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/strings.h"
#include "report/report.h"
#include "tf/tf.h"

/* ---- making -----------------------------------------------------------------------------------*/

mica_status mica_tf_graph_create(const char *name, mica_tf_graph **out_graph) {
    MICA_GIVEN(name, out_graph);
    *out_graph = NULL;
    mica_tf_graph *g = mica_calloc(1, sizeof *g);
    if (!g) return MICA_NO_MEMORY();
    mica_refcount_init(&g->references);
    mica_arena_init(&g->arena);
    g->name = mica_arena_strdup(&g->arena, name);
    if (!g->name) {
        mica_arena_deinit(&g->arena);
        mica_free(g);
        return MICA_NO_MEMORY();
    }
    *out_graph = g;
    return NULL;
}

void mica_tf_graph_retain(mica_tf_graph *g) {
    if (!g) return;
    mica_refcount_retain(&g->references);
}

void mica_tf_graph_release(mica_tf_graph *g) {
    if (!g || !mica_refcount_release(&g->references)) return;
    mica_tf_steps_destroy(g->steps);
    for (int32_t i = 0; i < g->n_nodes; i++) mica_tf_operation_release(g->nodes[i].operation);
    mica_free(g->nodes);
    mica_free(g->names);
    mica_free(g->parameters);
    mica_free(g->outputs);
    mica_arena_deinit(&g->arena);
    mica_free(g);
}

/* Room for one more entry of `size` bytes. */
static mica_status grow(void *array, int32_t n, int32_t *capacity, size_t size) {
    if (n < *capacity) return NULL;
    int32_t larger = *capacity ? 2 * *capacity : 16;
    void **place = array;
    void *block = mica_realloc(*place, (size_t)larger * size);
    if (!block) return MICA_NO_MEMORY();
    *place = block;
    *capacity = larger;
    return NULL;
}

/* ---- names ------------------------------------------------------------------------------------
 * Open addressing on the name; a power of two, at most half full. */

struct mica_tf_name {
    int32_t node; /* 1 + the node that has it; 0: free */
    int32_t next; /* the first number that may make it new */
};

static uint32_t name_slot(const mica_tf_graph *g, const char *name) {
    uint32_t mask = (uint32_t)g->names_capacity - 1;
    uint32_t slot = (uint32_t)mica_hash_string(MICA_HASH_SEED, name) & mask;
    while (g->names[slot].node && strcmp(g->nodes[g->names[slot].node - 1].name, name) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

/* Room for one more, so that taking a name cannot fail. */
static mica_status grow_names(mica_tf_graph *g) {
    if (2 * (g->n_nodes + 1) <= g->names_capacity) return NULL;
    struct mica_tf_name *before = g->names;
    int32_t n = g->names_capacity, larger = n ? 2 * n : 64;
    struct mica_tf_name *names = mica_calloc((size_t)larger, sizeof *names);
    if (!names) return MICA_NO_MEMORY();
    g->names = names;
    g->names_capacity = larger;
    for (int32_t i = 0; i < n; i++)
        if (before[i].node) names[name_slot(g, g->nodes[before[i].node - 1].name)] = before[i];
    mica_free(before);
    return NULL;
}

/* The name itself, or with the first number that makes it new. */
static mica_status unique_name(mica_tf_graph *g, const char *name, const char **out_name) {
    char numbered[160];
    MICA_TRY(grow_names(g));
    struct mica_tf_name *taken = &g->names[name_slot(g, name)];
    if (taken->node) {
        if (!taken->next) taken->next = 1;
        for (;; taken->next++) {
            snprintf(numbered, sizeof numbered, "%.140s_%d", name, taken->next);
            if (!g->names[name_slot(g, numbered)].node) break;
        }
        name = numbered;
    }
    *out_name = mica_arena_strdup(&g->arena, name);
    return *out_name ? NULL : MICA_NO_MEMORY();
}

/* The node after the last is one of the graph. */
static void count_node(mica_tf_graph *g) {
    const mica_tf_node *node = &g->nodes[g->n_nodes];
    g->names[name_slot(g, node->name)].node = ++g->n_nodes;
    g->n_results += node->n_results;
}

static mica_status check_open(const mica_tf_graph *g) {
    if (!__atomic_load_n(&g->steps, __ATOMIC_ACQUIRE)) return NULL;
    return MICA_ERROR(MICA_FAILED_PRECONDITION, "[graph] %s has run: it cannot change any more",
                      g->name);
}

/* A node with room for its results, not yet counted. */
static mica_status begin_node(mica_tf_graph *g, int32_t n_inputs, int32_t n_results,
                              mica_tf_node **out_node) {
    MICA_TRY(check_open(g));
    MICA_TRY(grow(&g->nodes, g->n_nodes, &g->nodes_capacity, sizeof *g->nodes));
    mica_tf_node *node = &g->nodes[g->n_nodes];
    memset(node, 0, sizeof *node);
    node->inputs = mica_arena_alloc(&g->arena, (size_t)(n_inputs + 1) * sizeof *node->inputs);
    node->dtypes = mica_arena_alloc(&g->arena, (size_t)(n_results + 1) * sizeof *node->dtypes);
    node->shapes = mica_arena_alloc(&g->arena, (size_t)(n_results + 1) * sizeof *node->shapes);
    if (!node->inputs || !node->dtypes || !node->shapes) return MICA_NO_MEMORY();
    node->n_inputs = n_inputs;
    node->n_results = n_results;
    node->first = g->n_results;
    *out_node = node;
    return NULL;
}

mica_status mica_tf_graph_parameter(mica_tf_graph *g, mica_tf_dtype dtype,
                                    const mica_tf_shape *shape, const char *name,
                                    mica_tf_ref *out_ref) {
    MICA_GIVEN(g, shape, out_ref);
    mica_tf_node *node;
    MICA_TRY(grow(&g->parameters, g->n_parameters, &g->parameters_capacity, sizeof(mica_tf_ref)));
    MICA_TRY(begin_node(g, 0, 1, &node));
    MICA_TRY(unique_name(g, name ? name : "args", &node->name));
    node->dtypes[0] = dtype;
    node->shapes[0] = *shape;
    *out_ref = (mica_tf_ref){g->n_nodes, 0};
    g->parameters[g->n_parameters++] = *out_ref;
    count_node(g);
    return NULL;
}

static bool ref_is_valid(const mica_tf_graph *g, mica_tf_ref ref) {
    return ref.node >= 0 && ref.node < g->n_nodes && ref.index >= 0 &&
           ref.index < g->nodes[ref.node].n_results;
}

static mica_status infer_node(mica_tf_graph *g, mica_tf_node *node) {
    size_t n = (size_t)node->n_inputs;
    mica_tf_shape *shapes = mica_alloc((n + 1) * (sizeof *shapes + sizeof(mica_tf_dtype)));
    if (!shapes) return MICA_NO_MEMORY();
    mica_tf_dtype *dtypes = (mica_tf_dtype *)(shapes + n + 1);
    for (size_t i = 0; i < n; i++) dtypes[i] = mica_tf_graph_type(g, node->inputs[i], &shapes[i]);
    mica_tf_inference c = {.info = node->operation->info,
                           .attrs = node->operation->attrs,
                           .n_inputs = node->n_inputs,
                           .n_outputs = node->n_results,
                           .dtypes = dtypes,
                           .inputs = shapes,
                           .outputs = node->shapes,
                           .graph = g,
                           .refs = node->inputs};
    mica_status status = mica_tf_infer(&c, node->operation->op);
    mica_free(shapes);
    return status;
}

/* Counts a function that a node refers to. */
static mica_status add_function(mica_tf_graph *g, const mica_tf_operation *operation,
                                const mica_tf_graph *function, int32_t *depth, int64_t *n_inside) {
    if (function->has_host_functions) g->has_host_functions = true;
    if (*depth <= function->depth) *depth = function->depth + 1;
    *n_inside += function->n_nodes + function->n_inside;
    if (*depth > MICA_TF_MAX_DEPTH)
        return MICA_INVALID("[%s] functions nest deeper than %d in %s", operation->info->name,
                            MICA_TF_MAX_DEPTH, g->name);
    if (*n_inside > MICA_TF_MAX_NODES_INSIDE)
        return MICA_ERROR(MICA_RESOURCE_EXHAUSTED,
                          "[%s] %s would have more than %d nodes with its functions written out: "
                          "they call each other too often",
                          operation->info->name, g->name, MICA_TF_MAX_NODES_INSIDE);
    return NULL;
}

static mica_status add_functions(mica_tf_graph *g, const mica_tf_operation *operation) {
    const mica_tf_operation *o = mica_tf_innermost(operation);
    if (o->op == MICA_TF_PyFunc) g->has_host_functions = true;
    int32_t depth = g->depth;
    int64_t n_inside = g->n_inside;
    for (int32_t i = 0; i < o->info->n_attrs; i++) {
        const mica_tf_attr *attr = &o->attrs[i];
        if (o->info->attrs[i].kind == MICA_TF_FUNCTION && attr->as.function)
            MICA_TRY(add_function(g, o, attr->as.function, &depth, &n_inside));
        for (int32_t k = 0; o->info->attrs[i].kind == MICA_TF_FUNCTIONS && k < attr->n; k++)
            MICA_TRY(add_function(g, o, attr->as.functions[k], &depth, &n_inside));
    }
    g->depth = depth;
    g->n_inside = n_inside;
    return NULL;
}

mica_status mica_tf_graph_add(mica_tf_graph *g, mica_tf_op op, const mica_tf_attr *attrs,
                              const mica_tf_ref *inputs, int32_t n_inputs, const char *name,
                              mica_tf_ref *out_first) {
    MICA_GIVEN(g, MICA_MANY(inputs, n_inputs), out_first);
    const mica_tf_op_info *info = mica_tf_op_describe(op);
    if (!info) return MICA_INVALID("[graph] %d is not an op", (int)op);
    mica_tf_attr own[MICA_TF_MAX_ATTRS];
    mica_tf_dtype dtypes[MICA_TF_MAX_VALUES];
    if (n_inputs > MICA_TF_MAX_VALUES)
        return MICA_INVALID("[%s] has %d inputs, at most %d are possible", info->name, n_inputs,
                            MICA_TF_MAX_VALUES);
    for (int32_t i = 0; i < info->n_attrs; i++) own[i] = attrs ? attrs[i] : info->attrs[i].value;
    for (int32_t i = 0; i < n_inputs; i++) {
        if (!ref_is_valid(g, inputs[i]))
            return MICA_INVALID("[%s] input %d is not of the graph %s", info->name, i, g->name);
        dtypes[i] = mica_tf_graph_type(g, inputs[i], NULL);
    }
    MICA_TRY(mica_tf_op_infer_types(op, dtypes, n_inputs, own));
    int32_t n_results = mica_tf_output_dtypes(info, own, dtypes, MICA_TF_MAX_VALUES);
    if (n_results < 0) return MICA_INVALID("[%s] has too many results", info->name);
    mica_tf_node *node;
    MICA_TRY(begin_node(g, n_inputs, n_results, &node));
    for (int32_t i = 0; i < n_inputs; i++) node->inputs[i] = inputs[i];
    for (int32_t i = 0; i < n_results; i++) node->dtypes[i] = dtypes[i];
    MICA_TRY(unique_name(g, name ? name : info->name, &node->name));
    MICA_TRY(mica_tf_place_find(g, &node->place));
    if (mica_report_is_on()) node->line = mica_report_line_of(node->name);
    MICA_TRY(mica_tf_operation_create(op, own, &node->operation));
    mica_status status = add_functions(g, node->operation);
    if (!status) status = infer_node(g, node);
    if (status) {
        mica_tf_operation_release(node->operation);
        return status;
    }
    *out_first = (mica_tf_ref){g->n_nodes, 0};
    count_node(g);
    return NULL;
}

/* A node of another graph once more, with its operation: what that keeps (the numbers it has drawn)
 * is shared. `map` has what stands here for each slot there. */
mica_status mica_tf_graph_append(mica_tf_graph *g, const mica_tf_node *of,
                                 const mica_tf_graph *from, const mica_tf_ref *map,
                                 mica_tf_ref *out_first) {
    mica_tf_node *node;
    MICA_TRY(begin_node(g, of->n_inputs, of->n_results, &node));
    for (int32_t i = 0; i < of->n_inputs; i++)
        node->inputs[i] = map[mica_tf_slot(from, of->inputs[i])];
    for (int32_t i = 0; i < of->n_results; i++) node->dtypes[i] = of->dtypes[i];
    MICA_TRY(unique_name(g, of->name, &node->name));
    MICA_TRY(mica_tf_place_keep(g, of->place, &node->place));
    MICA_TRY(add_functions(g, of->operation));
    node->operation = of->operation;
    MICA_TRY(infer_node(g, node));
    for (int32_t i = 0; i < of->n_results; i++)
        if (!mica_tf_shape_merge(&node->shapes[i], &of->shapes[i], &node->shapes[i]))
            return MICA_INVALID("[%s] %s would have the shape %s, not %s",
                                of->operation->info->name, of->name,
                                mica_tf_shape_text(&node->shapes[i]).chars,
                                mica_tf_shape_text(&of->shapes[i]).chars);
    mica_tf_operation_retain(of->operation);
    *out_first = (mica_tf_ref){g->n_nodes, 0};
    count_node(g);
    return NULL;
}

mica_status mica_tf_graph_output(mica_tf_graph *g, mica_tf_ref ref) {
    MICA_GIVEN(g);
    MICA_TRY(check_open(g));
    if (!ref_is_valid(g, ref)) return MICA_INVALID("[graph] an output is not of %s", g->name);
    MICA_TRY(grow(&g->outputs, g->n_outputs, &g->outputs_capacity, sizeof(mica_tf_ref)));
    g->outputs[g->n_outputs++] = ref;
    return NULL;
}

mica_status mica_tf_graph_set_shape(mica_tf_graph *g, mica_tf_ref ref, const mica_tf_shape *shape) {
    MICA_GIVEN(g, shape);
    if (!ref_is_valid(g, ref)) return MICA_INVALID("[set_shape] not a tensor of %s", g->name);
    mica_tf_shape *known = &mica_tf_node_of(g, ref)->shapes[ref.index];
    if (mica_tf_shape_merge(known, shape, known)) return NULL;
    return MICA_INVALID("[set_shape] Shapes %s and %s are not compatible",
                        mica_tf_shape_text(known).chars, mica_tf_shape_text(shape).chars);
}

/* ---- checking ---------------------------------------------------------------------------------*/

const char *mica_tf_graph_name(const mica_tf_graph *g) {
    if (!g) return "";
    return g->name;
}
int32_t mica_tf_graph_parameter_count(const mica_tf_graph *g) {
    if (!g) return 0;
    return g->n_parameters;
}
int32_t mica_tf_graph_output_count(const mica_tf_graph *g) {
    if (!g) return 0;
    return g->n_outputs;
}
mica_tf_ref mica_tf_graph_parameter_ref(const mica_tf_graph *g, int32_t i) {
    if (!g) return (mica_tf_ref){0};
    return g->parameters[i];
}
mica_tf_ref mica_tf_graph_output_ref(const mica_tf_graph *g, int32_t i) {
    if (!g) return (mica_tf_ref){0};
    return g->outputs[i];
}
int32_t mica_tf_graph_node_count(const mica_tf_graph *g) {
    if (!g) return 0;
    return g->n_nodes;
}
mica_tf_operation *mica_tf_graph_operation(const mica_tf_graph *g, int32_t node) {
    if (!g) return NULL;
    return g->nodes[node].operation;
}
const char *mica_tf_graph_node_name(const mica_tf_graph *g, int32_t node) {
    if (!g) return "";
    return g->nodes[node].name;
}
int32_t mica_tf_graph_inputs(const mica_tf_graph *g, int32_t node, const mica_tf_ref **out_inputs) {
    if (!g || !out_inputs) return 0;
    *out_inputs = g->nodes[node].inputs;
    return g->nodes[node].n_inputs;
}
int32_t mica_tf_graph_result_count(const mica_tf_graph *g, int32_t node) {
    if (!g) return 0;
    return g->nodes[node].n_results;
}

mica_tf_dtype mica_tf_graph_type(const mica_tf_graph *g, mica_tf_ref ref,
                                 mica_tf_shape *out_shape) {
    if (!g) return MICA_TF_no_dtype;
    const mica_tf_node *node = mica_tf_node_of(g, ref);
    if (out_shape) *out_shape = node->shapes[ref.index];
    return node->dtypes[ref.index];
}

bool mica_tf_graph_has_effects(const mica_tf_graph *g) {
    if (!g) return false;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_tf_operation *o = g->nodes[i].operation;
        if (o && mica_tf_rows[o->op].effect != MICA_TF_PURE) return true;
    }
    return false;
}

void mica_tf_graph_set_compiled(mica_tf_graph *g) {
    if (!g || __atomic_exchange_n(&g->is_compiled, true, __ATOMIC_RELAXED)) return;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_tf_operation *o = g->nodes[i].operation;
        for (int32_t a = 0; o && a < o->info->n_attrs; a++) {
            bool one = o->info->attrs[a].kind == MICA_TF_FUNCTION;
            bool many = o->info->attrs[a].kind == MICA_TF_FUNCTIONS;
            if (one) mica_tf_graph_set_compiled(o->attrs[a].as.function);
            for (int32_t k = 0; many && k < o->attrs[a].n; k++)
                mica_tf_graph_set_compiled(o->attrs[a].as.functions[k]);
        }
    }
}

bool mica_tf_graph_is_compiled(const mica_tf_graph *g) {
    return g && __atomic_load_n(&g->is_compiled, __ATOMIC_RELAXED);
}

static void print_node(mica_text *text, const mica_tf_graph *g, const mica_tf_node *node) {
    mica_text_printf(text, "  %s =", node->name);
    mica_text_printf(text, " %s(", node->operation ? node->operation->info->name : "Placeholder");
    for (int32_t i = 0; i < node->n_inputs; i++) {
        mica_tf_ref in = node->inputs[i];
        mica_text_printf(text, i ? ", %s:%d" : "%s:%d", g->nodes[in.node].name, in.index);
    }
    mica_text_append(text, ") ->");
    for (int32_t i = 0; i < node->n_results; i++)
        mica_text_printf(text, " %s%s", mica_tf_dtype_name(node->dtypes[i]),
                         mica_tf_shape_text(&node->shapes[i]).chars);
    mica_text_append_char(text, '\n');
}

mica_status mica_tf_graph_print(const mica_tf_graph *g, char **out_text) {
    MICA_GIVEN(g, out_text);
    mica_text text;
    mica_text_init(&text);
    mica_text_printf(&text, "%s:\n", g->name);
    for (int32_t i = 0; i < g->n_nodes; i++) print_node(&text, g, &g->nodes[i]);
    mica_text_append(&text, "  return");
    for (int32_t i = 0; i < g->n_outputs; i++)
        mica_text_printf(&text, " %s:%d", mica_tf_node_of(g, g->outputs[i])->name,
                         g->outputs[i].index);
    mica_text_append_char(&text, '\n');
    return mica_text_finish(&text, out_text);
}
