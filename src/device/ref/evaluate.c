/* The walk over a graph: every node that an output or an effect needs, in order, one array per
 * value, released after its last use. */
#include <string.h>

#include "device/ref/value.h"

#define FUNCTION_MAP(name) ref_run_map
#define FUNCTION_ELEMENTWISE(name) ref_##name
#define FUNCTION_SHAPE(name) ref_##name
#define FUNCTION_CONTRACTION(name) ref_##name
#define FUNCTION_REDUCTION(name) ref_##name
#define FUNCTION_RANDOM(name) ref_##name
#define FUNCTION_SEVERAL(name) ref_##name
#define FUNCTION_CONTROL(name) ref_##name
#define FUNCTION_COLLECTIVE(name) ref_##name
#define FUNCTION_HOST(name) ref_##name
/* Whether the walk makes the results before it calls the function. */
#define MADE_MAP true
#define MADE_ELEMENTWISE true
#define MADE_SHAPE true
#define MADE_CONTRACTION true
#define MADE_REDUCTION true
#define MADE_RANDOM true
#define MADE_SEVERAL true
#define MADE_CONTROL false
#define MADE_COLLECTIVE false
#define MADE_HOST false

typedef struct op_entry {
    ref_function function;
    bool results_made;
} op_entry;

static const op_entry table[MICA_OP_COUNT] = {
#define MICA_OP(name, arity, class, ...) [MICA_OP_##name] = {FUNCTION_##class(name), MADE_##class},
#include "mica/ops.def"
#undef MICA_OP
};

/* What one run of a graph knows about each node. */
typedef struct frame {
    const mica_graph *g;
    ref_value ***values; /* [node id][result]; NULL where it is not (or no longer) held */
    int32_t **uses;      /* how many readers are still to come; outputs count */
    bool *needed;
    mica_arena arena;
} frame;

static bool has_effect(const mica_node *n) {
    for (int32_t k = 0; k < n->n_operands; k++)
        if (mica_operand_type(n, k)->kind == MICA_TOKEN) return true;
    return false;
}

/* Finds the nodes to run, from the last to the first, and counts the uses of their operands. */
static mica_status frame_init(frame *f, const mica_graph *g) {
    *f = (frame){.g = g};
    mica_arena_init(&f->arena);
    size_t n = (size_t)g->n_nodes;
    f->values = mica_arena_alloc(&f->arena, n * sizeof *f->values);
    f->uses = mica_arena_alloc(&f->arena, n * sizeof *f->uses);
    f->needed = mica_arena_alloc(&f->arena, n * sizeof *f->needed);
    if (!f->values || !f->uses || !f->needed) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < g->n_nodes; i++) {
        size_t results = (size_t)g->nodes[i]->n_results;
        f->values[i] = mica_arena_alloc(&f->arena, results * sizeof **f->values);
        f->uses[i] = mica_arena_alloc(&f->arena, results * sizeof **f->uses);
        if (!f->values[i] || !f->uses[i]) return MICA_NO_MEMORY();
    }
    for (int32_t i = 0; i < g->n_outputs; i++) {
        mica_value output = g->outputs[i];
        f->uses[output.node->id][output.index]++;
        f->needed[output.node->id] = true;
    }
    for (int32_t i = g->n_nodes - 1; i >= 0; i--) {
        const mica_node *node = g->nodes[i];
        if (node->op != MICA_OP_PARAMETER && has_effect(node)) f->needed[i] = true;
        for (int32_t k = 0; f->needed[i] && k < node->n_operands; k++) {
            mica_value operand = node->operands[k];
            f->uses[operand.node->id][operand.index]++;
            f->needed[operand.node->id] = true;
        }
    }
    return NULL;
}

static void frame_deinit(frame *f) {
    for (int32_t i = 0; f->values && i < f->g->n_nodes; i++)
        for (int32_t k = 0; f->values[i] && k < f->g->nodes[i]->n_results; k++)
            ref_value_release(f->values[i][k]);
    mica_arena_deinit(&f->arena);
}

static void drop_if_unused(frame *f, mica_value value) {
    ref_value **held = &f->values[value.node->id][value.index];
    if (f->uses[value.node->id][value.index] > 0) return;
    ref_value_release(*held);
    *held = NULL;
}

static mica_status run_node(frame *f, const mica_node *n, ref_value **operands) {
    ref_value **results = f->values[n->id];
    for (int32_t k = 0; k < n->n_operands; k++) {
        operands[k] = f->values[n->operands[k].node->id][n->operands[k].index];
        if (!operands[k])
            return MICA_ERROR(MICA_INTERNAL, "[%s] operand %d has no value",
                              mica_op_describe(n->op)->name, k);
    }
    for (int32_t k = 0; table[n->op].results_made && k < n->n_results; k++)
        MICA_TRY(ref_value_create(&n->results[k], &results[k]));
    MICA_TRY(table[n->op].function(n, operands, results));
    for (int32_t k = 0; k < n->n_operands; k++) {
        f->uses[n->operands[k].node->id][n->operands[k].index]--;
        drop_if_unused(f, n->operands[k]);
    }
    for (int32_t k = 0; k < n->n_results; k++) drop_if_unused(f, mica_node_result(n, k));
    return NULL;
}

static mica_status run_frame(frame *f, ref_value *const *arguments, ref_value **results) {
    const mica_graph *g = f->g;
    int32_t most_operands = 1;
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->n_operands > most_operands) most_operands = g->nodes[i]->n_operands;
    ref_value **operands = mica_arena_alloc(&f->arena, (size_t)most_operands * sizeof(ref_value *));
    if (!operands) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < g->n_parameters; i++) {
        mica_value parameter = g->parameters[i];
        f->values[parameter.node->id][parameter.index] = ref_value_retain(arguments[i]);
        drop_if_unused(f, parameter);
    }
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (f->needed[i] && g->nodes[i]->op != MICA_OP_PARAMETER)
            MICA_TRY(run_node(f, g->nodes[i], operands));
    for (int32_t i = 0; i < g->n_outputs; i++) {
        mica_value output = g->outputs[i];
        ref_value *value = f->values[output.node->id][output.index];
        if (!value)
            return MICA_ERROR(MICA_INTERNAL, "output %d of graph '%s' has no value", i, g->name);
        results[i] = ref_value_retain(value);
    }
    return NULL;
}

mica_status ref_run_graph(const mica_graph *g, ref_value *const *arguments, ref_value **results) {
    frame f;
    memset(results, 0, (size_t)g->n_outputs * sizeof *results);
    mica_status status = frame_init(&f, g);
    if (!status) status = run_frame(&f, arguments, results);
    frame_deinit(&f);
    for (int32_t i = 0; status && i < g->n_outputs; i++) {
        ref_value_release(results[i]);
        results[i] = NULL;
    }
    return status;
}

/* ---- from and to the caller's arrays ----------------------------------------------------------*/

static mica_status check_boundary(const mica_graph *g, const mica_type *type, const char *what,
                                  int32_t i) {
    if (type->kind == MICA_LIST)
        return MICA_INVALID("[ref] %s %d of graph '%s' is a list, which has no array", what, i,
                            g->name);
    return NULL;
}

static mica_status borrow(const mica_type *type, const void *data, ref_value **out_value) {
    static char nothing[16]; /* where empty arrays point */
    *out_value = mica_calloc(1, sizeof **out_value);
    if (!*out_value) return MICA_NO_MEMORY();
    **out_value = (ref_value){.references = 1, .type = *type, .borrowed = true};
    (*out_value)->data = mica_type_bytes(type) ? (void *)data : nothing;
    return NULL;
}

static mica_status evaluate(const mica_graph *g, const void *const *inputs, void *const *outputs,
                            ref_value **arguments, ref_value **results) {
    for (int32_t i = 0; i < g->n_outputs; i++)
        MICA_TRY(check_boundary(g, mica_value_type(g->outputs[i]), "output", i));
    for (int32_t i = 0; i < g->n_parameters; i++) {
        const mica_type *type = mica_value_type(g->parameters[i]);
        MICA_TRY(check_boundary(g, type, "parameter", i));
        MICA_TRY(borrow(type, type->kind == MICA_TENSOR ? inputs[i] : NULL, &arguments[i]));
    }
    MICA_TRY(ref_run_graph(g, arguments, results));
    for (int32_t i = 0; i < g->n_outputs; i++) {
        size_t bytes = mica_type_bytes(&results[i]->type);
        if (bytes) memcpy(outputs[i], results[i]->data, bytes);
    }
    return NULL;
}

mica_status mica_ref_evaluate(const mica_graph *g, const void *const *inputs,
                              void *const *outputs) {
    MICA_TRY(mica_graph_check(g));
    size_t count = (size_t)g->n_parameters + (size_t)g->n_outputs;
    ref_value **values = mica_calloc(count ? count : 1, sizeof *values);
    if (!values) return MICA_NO_MEMORY();
    mica_status status = evaluate(g, inputs, outputs, values, values + g->n_parameters);
    for (size_t i = 0; i < count; i++) ref_value_release(values[i]);
    mica_free(values);
    return status;
}
