/* Functions made of a graph that itself never runs: what some of its results need (prune), and a
 * function of variables as one of their values (functional). */
#include <string.h>

#include "tf/tf.h"

/* ---- pruning ----------------------------------------------------------------------------------*/

typedef struct pruner {
    const mica_tf_graph *g;
    const mica_tf_pruning *of;
    mica_tf_graph *to;
    bool *needed;     /* by node */
    bool *is_fed;     /* by slot */
    mica_tf_ref *map; /* by slot */
} pruner;

static bool node_is_valid(const mica_tf_graph *g, int32_t node) {
    return node >= 0 && node < g->n_nodes;
}

static mica_status check_ref(const mica_tf_graph *g, mica_tf_ref ref, const char *what) {
    if (node_is_valid(g, ref.node) && ref.index >= 0 && ref.index < g->nodes[ref.node].n_results)
        return NULL;
    return MICA_INVALID("[prune] %s %d:%d is not of the graph %s", what, ref.node, ref.index,
                        g->name);
}

static mica_status check_pruning(const mica_tf_graph *g, const mica_tf_pruning *of) {
    for (int32_t i = 0; i < of->n_feeds; i++) MICA_TRY(check_ref(g, of->feeds[i], "a feed"));
    for (int32_t i = 0; i < of->n_fetches; i++) MICA_TRY(check_ref(g, of->fetches[i], "a fetch"));
    for (int32_t i = 0; i < of->n_targets; i++)
        if (!node_is_valid(g, of->targets[i]))
            return MICA_INVALID("[prune] target %d is not of the graph %s", of->targets[i],
                                g->name);
    for (int32_t i = 0; i < of->n_controls; i++) {
        const mica_tf_control *c = &of->controls[i];
        if (c->before < 0 || c->before >= c->first || c->end > g->n_nodes)
            return MICA_INVALID("[prune] node %d cannot be in front of nodes %d to %d of %s",
                                c->before, c->first, c->end, g->name);
    }
    return NULL;
}

/* Inputs stand in front of what uses them, so one walk backwards finds all. */
static void find_needed(pruner *p) {
    const mica_tf_graph *g = p->g;
    for (int32_t i = 0; i < p->of->n_feeds; i++) p->is_fed[mica_tf_slot(g, p->of->feeds[i])] = true;
    for (int32_t i = 0; i < p->of->n_fetches; i++)
        if (!p->is_fed[mica_tf_slot(g, p->of->fetches[i])])
            p->needed[p->of->fetches[i].node] = true;
    for (int32_t i = 0; i < p->of->n_targets; i++) p->needed[p->of->targets[i]] = true;
    for (int32_t k = g->n_nodes; k-- > 0;) {
        const mica_tf_node *node = &g->nodes[k];
        if (!p->needed[k] || !node->operation) continue;
        for (int32_t i = 0; i < node->n_inputs; i++)
            if (!p->is_fed[mica_tf_slot(g, node->inputs[i])])
                p->needed[node->inputs[i].node] = true;
        /* A constant waits for nothing: it may stand here for all that use it. */
        if (node->operation->op == MICA_TF_Const) continue;
        for (int32_t i = 0; i < p->of->n_controls; i++) {
            const mica_tf_control *c = &p->of->controls[i];
            if (c->first <= k && k < c->end) p->needed[c->before] = true;
        }
    }
}

static mica_status add_parameter(pruner *p, mica_tf_ref ref) {
    mica_tf_shape shape;
    mica_tf_dtype dtype = mica_tf_graph_type(p->g, ref, &shape);
    return mica_tf_graph_parameter(p->to, dtype, &shape, p->g->nodes[ref.node].name,
                                   &p->map[mica_tf_slot(p->g, ref)]);
}

static mica_status copy_pruned(pruner *p, int32_t *out_parameters, int32_t *out_n) {
    const mica_tf_graph *g = p->g;
    int32_t n = 0;
    for (int32_t i = 0; i < p->of->n_feeds; i++) MICA_TRY(add_parameter(p, p->of->feeds[i]));
    for (int32_t i = 0; i < g->n_parameters; i++) {
        mica_tf_ref ref = g->parameters[i];
        if (!p->needed[ref.node] || p->is_fed[mica_tf_slot(g, ref)]) continue;
        MICA_TRY(add_parameter(p, ref));
        out_parameters[n++] = ref.node;
    }
    *out_n = n;
    for (int32_t k = 0; k < g->n_nodes; k++) {
        const mica_tf_node *node = &g->nodes[k];
        mica_tf_ref first;
        if (!p->needed[k] || !node->operation) continue;
        MICA_TRY(mica_tf_graph_append(p->to, node, g, p->map, &first));
        for (int32_t i = 0; i < node->n_results; i++)
            if (!p->is_fed[node->first + i]) p->map[node->first + i] = (mica_tf_ref){first.node, i};
    }
    for (int32_t i = 0; i < p->of->n_fetches; i++)
        MICA_TRY(mica_tf_graph_output(p->to, p->map[mica_tf_slot(g, p->of->fetches[i])]));
    return NULL;
}

mica_status mica_tf_graph_prune(const mica_tf_graph *g, const mica_tf_pruning *of,
                                int32_t *out_parameters, int32_t *out_n,
                                mica_tf_graph **out_graph) {
    MICA_GIVEN(g, of, out_parameters, out_n, out_graph);
    *out_graph = NULL;
    *out_n = 0;
    MICA_TRY(check_pruning(g, of));
    pruner p = {.g = g, .of = of};
    size_t n = (size_t)g->n_nodes + 1, m = (size_t)g->n_results + 1;
    p.needed = mica_calloc(n + m, 1);
    p.map = mica_calloc(m, sizeof *p.map);
    mica_status status = p.needed && p.map ? NULL : MICA_NO_MEMORY();
    if (!status) status = mica_tf_graph_create(g->name, &p.to);
    if (!status) {
        p.is_fed = p.needed + n;
        find_needed(&p);
        status = copy_pruned(&p, out_parameters, out_n);
    }
    mica_free(p.needed);
    mica_free(p.map);
    if (status)
        mica_tf_graph_release(p.to);
    else
        *out_graph = p.to;
    return status;
}

/* ---- variables as values ----------------------------------------------------------------------
 * A read is the value at that place, an assignment puts another one there: the nodes stand in the
 * order of their effects. A reference to a handle is written as node -2 - k of parameter k. */

typedef struct functional {
    mica_tf_graph *to;
    mica_tf_ref *values; /* by parameter: of a handle, what its variable is now */
} functional;

static bool is_handle(mica_tf_ref ref) {
    return ref.node < -1;
}
static mica_tf_ref handle_of(int32_t parameter) {
    return (mica_tf_ref){-2 - parameter, 0};
}

static mica_status refuse_handle(const mica_tf_node *node) {
    return MICA_ERROR(MICA_UNSUPPORTED,
                      "[%s] %s takes a variable itself: a function whose variables become values "
                      "may read and assign them, outside of branches and loops",
                      node->operation->info->name, node->name);
}

static mica_status walk_functional(functional *f, const mica_tf_graph *g, mica_tf_ref *map);

static mica_status call_functional(functional *f, const mica_tf_graph *g, const mica_tf_node *node,
                                   mica_tf_ref *map) {
    const mica_tf_operation *o = node->operation;
    const mica_tf_graph *body = mica_tf_attr_find(o->info, o->attrs, "f")->as.function;
    mica_tf_ref *inner = mica_calloc((size_t)body->n_results + 1, sizeof *inner);
    if (!inner) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < body->n_parameters; i++)
        inner[mica_tf_slot(body, body->parameters[i])] = map[mica_tf_slot(g, node->inputs[i])];
    mica_status status = walk_functional(f, body, inner);
    for (int32_t i = 0; !status && i < body->n_outputs; i++)
        map[node->first + i] = inner[mica_tf_slot(body, body->outputs[i])];
    mica_free(inner);
    return status;
}

static mica_status assign_functional(functional *f, const mica_tf_node *node, mica_tf_ref handle,
                                     mica_tf_ref given) {
    mica_tf_ref *value = &f->values[-2 - handle.node], inputs[2] = {*value, given};
    mica_tf_shape kept;
    mica_tf_graph_type(f->to, *value, &kept);
    mica_tf_op op = node->operation->op;
    if (op == MICA_TF_AssignVariableOp)
        *value = given;
    else if (op == MICA_TF_AssignAddVariableOp || op == MICA_TF_AssignSubVariableOp)
        MICA_TRY(mica_tf_graph_add(f->to,
                                   op == MICA_TF_AssignAddVariableOp ? MICA_TF_AddV2 : MICA_TF_Sub,
                                   NULL, inputs, 2, node->name, value));
    else
        return refuse_handle(node);
    return mica_tf_graph_set_shape(f->to, *value, &kept);
}

static mica_status node_functional(functional *f, const mica_tf_graph *g, const mica_tf_node *node,
                                   mica_tf_ref *map) {
    const mica_tf_operation *o = node->operation;
    int32_t n_handles = 0;
    for (int32_t i = 0; i < node->n_inputs; i++)
        n_handles += is_handle(map[mica_tf_slot(g, node->inputs[i])]);
    mica_tf_ref first, *inputs = n_handles ? &map[mica_tf_slot(g, node->inputs[0])] : NULL;
    if (n_handles && mica_tf_is_a(o, MICA_TF_CATEGORY_CALL))
        return call_functional(f, g, node, map);
    if (n_handles && mica_tf_is_a(o, MICA_TF_CATEGORY_READ)) {
        map[node->first] = f->values[-2 - inputs->node];
        return NULL;
    }
    if (n_handles == 1 && is_handle(*inputs) && mica_tf_is_a(o, MICA_TF_CATEGORY_ASSIGN))
        return assign_functional(f, node, *inputs, map[mica_tf_slot(g, node->inputs[1])]);
    if (n_handles && mica_tf_is_a(o, MICA_TF_CATEGORY_SAME) && node->n_inputs == 1) {
        map[node->first] = *inputs;
        return NULL;
    }
    if (n_handles) return refuse_handle(node);
    MICA_TRY(mica_tf_graph_append(f->to, node, g, map, &first));
    for (int32_t i = 0; i < node->n_results; i++)
        map[node->first + i] = (mica_tf_ref){first.node, i};
    return NULL;
}

static mica_status walk_functional(functional *f, const mica_tf_graph *g, mica_tf_ref *map) {
    for (int32_t k = 0; k < g->n_nodes; k++)
        if (g->nodes[k].operation) MICA_TRY(node_functional(f, g, &g->nodes[k], map));
    return NULL;
}

static mica_status make_functional(functional *f, const mica_tf_graph *g,
                                   const mica_tf_dtype *dtypes, const mica_tf_shape *shapes,
                                   mica_tf_ref *map) {
    for (int32_t i = 0; i < g->n_parameters; i++) {
        mica_tf_ref own = g->parameters[i], *place = &map[mica_tf_slot(g, own)];
        mica_tf_shape shape;
        mica_tf_dtype dtype = mica_tf_graph_type(g, own, &shape);
        bool is_variable = dtypes[i] != MICA_TF_no_dtype;
        MICA_TRY(mica_tf_graph_parameter(f->to, is_variable ? dtypes[i] : dtype,
                                         is_variable ? &shapes[i] : &shape, g->nodes[own.node].name,
                                         &f->values[i]));
        *place = is_variable ? handle_of(i) : f->values[i];
    }
    MICA_TRY(walk_functional(f, g, map));
    for (int32_t i = 0; i < g->n_outputs; i++)
        MICA_TRY(mica_tf_graph_output(f->to, map[mica_tf_slot(g, g->outputs[i])]));
    for (int32_t i = 0; i < g->n_parameters; i++)
        if (dtypes[i] != MICA_TF_no_dtype) MICA_TRY(mica_tf_graph_output(f->to, f->values[i]));
    return NULL;
}

mica_status mica_tf_graph_functional(const mica_tf_graph *g, const mica_tf_dtype *dtypes,
                                     const mica_tf_shape *shapes, mica_tf_graph **out_graph) {
    MICA_GIVEN(g, out_graph);
    MICA_GIVEN(MICA_MANY(dtypes, g->n_parameters), MICA_MANY(shapes, g->n_parameters));
    *out_graph = NULL;
    functional f = {0};
    mica_tf_ref *room = mica_calloc((size_t)(g->n_results + g->n_parameters) + 1, sizeof *room);
    mica_status status = room ? mica_tf_graph_create(g->name, &f.to) : MICA_NO_MEMORY();
    f.values = room ? room + g->n_results : NULL;
    if (!status) status = make_functional(&f, g, dtypes, shapes, room);
    mica_free(room);
    if (status)
        mica_tf_graph_release(f.to);
    else
        *out_graph = f.to;
    return status;
}
