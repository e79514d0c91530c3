/* Copying functions into graphs, calls in line.
 *
 * A derivative (Vjp, Jvp) of a branch or loop that stays on the host cannot be lowered: in the copy
 * it is taken apart into the function's forward and backward functions. A Jvp is the transpose of a
 * Vjp, which is linear in the cotangents, so that any point will do: zero is taken. */
#include <string.h>

#include "tf/gradient/function.h"
#include "tf/host_rules.h"

static bool is_call(const mica_tf_operation *operation) {
    return mica_tf_is_a(operation, MICA_TF_CATEGORY_CALL);
}

/* Ops whose derivatives can be taken apart. */
bool mica_tf_has_bodies(const mica_tf_operation *operation) {
    return is_call(operation) || mica_tf_is_stage(operation, true);
}

static bool is_derivative(const mica_tf_operation *operation) {
    return mica_tf_is_a(operation, MICA_TF_CATEGORY_DERIVATIVE);
}

mica_status mica_tf_function_of(const mica_tf_operation *operation, const mica_tf_graph *g,
                                const mica_tf_ref *inputs, int32_t n,
                                mica_tf_graph **out_function) {
    mica_tf_graph *f = NULL;
    mica_tf_ref *refs = mica_alloc(((size_t)n + 1) * sizeof *refs), first = {0, 0};
    mica_status status = refs ? mica_tf_graph_create(operation->info->name, &f) : MICA_NO_MEMORY();
    for (int32_t i = 0; i < n && !status; i++) {
        mica_tf_shape shape;
        mica_tf_dtype dtype = mica_tf_graph_type(g, inputs[i], &shape);
        status = mica_tf_graph_parameter(f, dtype, &shape, NULL, &refs[i]);
    }
    if (!status)
        status = mica_tf_graph_add(f, operation->op, operation->attrs, refs, n, NULL, &first);
    for (int32_t i = 0; !status && i < f->nodes[first.node].n_results; i++)
        status = mica_tf_graph_output(f, (mica_tf_ref){first.node, i});
    mica_free(refs);
    if (status)
        mica_tf_graph_release(f);
    else
        *out_function = f;
    return status;
}

/* ---- derivatives taken apart ------------------------------------------------------------------*/

typedef struct apart {
    const mica_tf_copier *c;
    const mica_tf_operation *of; /* the op that the derivative is of */
    const mica_tf_attr *outputs, *places;
    int32_t n_inputs;
    mica_tf_graph *function, *forward, *backward;
    mica_tf_ref *refs; /* room for all that a function takes or gives */
    uint8_t *flags;
} apart;

static void release_apart(apart *a) {
    mica_tf_graph_release(a->function);
    mica_tf_graph_release(a->forward);
    mica_tf_graph_release(a->backward);
    mica_free(a->refs);
    mica_free(a->flags);
}

static mica_status room_for(apart *a, int64_t n) {
    mica_tf_ref *refs = mica_realloc(a->refs, ((size_t)n + 1) * sizeof *refs);
    if (!refs) return MICA_NO_MEMORY();
    a->refs = refs;
    return NULL;
}

static int32_t largest(const mica_tf_graph *g) {
    return g->n_parameters + g->n_outputs;
}

/* The forward and backward functions of the op. */
static mica_status derive(apart *a, const mica_tf_ref *inputs) {
    MICA_TRY(mica_tf_function_of(a->of, a->c->to, inputs, a->n_inputs, &a->function));
    a->flags = mica_calloc((size_t)(2 * a->function->n_parameters + a->function->n_outputs) + 1, 1);
    if (!a->flags) return MICA_NO_MEMORY();
    uint8_t *given = a->flags + a->function->n_parameters;
    for (int32_t i = 0; i < a->places->n; i++) a->flags[a->places->as.ints[i]] = 1;
    for (int32_t i = 0; i < a->outputs->n; i++) given[a->outputs->as.ints[i]] = 1;
    mica_tf_wish wish = {a->flags, given, true, a->c->take_apart, false};
    return mica_tf_derive(a->function, &wish, given + a->function->n_outputs, &a->forward,
                          &a->backward);
}

/* Entry `which` of a list of places among all flagged ones, which functions keep in order. */
static int32_t rank_of(const mica_tf_attr *list, int32_t which) {
    int32_t rank = 0;
    for (int32_t i = 0; i < list->n; i++) rank += list->as.ints[i] < list->as.ints[which];
    return rank;
}

/* Results of the forward function: the op's, then residuals. */
static mica_status run_forward(apart *a, const mica_tf_ref *inputs) {
    MICA_TRY(room_for(a, largest(a->forward) + largest(a->backward)));
    return mica_tf_copy_function(a->c, a->forward, inputs, a->refs);
}

static mica_status copy_vjp(apart *a, const mica_tf_ref *inputs, mica_tf_ref *out) {
    MICA_TRY(derive(a, inputs));
    MICA_TRY(run_forward(a, inputs));
    int32_t n_residuals = a->forward->n_outputs - a->function->n_outputs;
    mica_tf_ref *arguments = a->refs + a->forward->n_outputs;
    for (int32_t i = 0; i < a->outputs->n; i++)
        arguments[rank_of(a->outputs, i)] = inputs[a->n_inputs + i];
    memcpy(arguments + a->outputs->n, a->refs + a->function->n_outputs,
           (size_t)n_residuals * sizeof *arguments);
    mica_tf_ref *results = arguments + a->backward->n_parameters;
    MICA_TRY(mica_tf_copy_function(a->c, a->backward, arguments, results));
    for (int32_t i = 0; i < a->places->n; i++) out[i] = results[rank_of(a->places, i)];
    return NULL;
}

/* The transpose of the backward function in its cotangents, on the tangents. */
static mica_status transpose(apart *a, const mica_tf_ref *arguments, const mica_tf_ref *tangents,
                             mica_tf_ref *out) {
    const mica_tf_graph *back = a->backward;
    mica_tf_graph *forward = NULL, *backward = NULL;
    uint8_t *wanted = mica_calloc(2 * (size_t)back->n_parameters + 1, 1);
    if (!wanted) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < a->outputs->n; i++) wanted[i] = 1;
    mica_tf_wish wish = {wanted, NULL, true, a->c->take_apart, false};
    mica_status status =
        mica_tf_derive(back, &wish, wanted + back->n_parameters, &forward, &backward);
    mica_tf_ref *refs =
        status ? NULL
               : mica_alloc((size_t)(largest(forward) + largest(backward) + 1) * sizeof *refs);
    if (!status && !refs) status = MICA_NO_MEMORY();
    if (!status) status = mica_tf_copy_function(a->c, forward, arguments, refs);
    if (!status) {
        mica_tf_ref *given = refs + forward->n_outputs, *results = given + backward->n_parameters;
        memcpy(given, tangents, (size_t)back->n_outputs * sizeof *given);
        memcpy(given + back->n_outputs, refs + back->n_outputs,
               (size_t)(forward->n_outputs - back->n_outputs) * sizeof *given);
        status = mica_tf_copy_function(a->c, backward, given, results);
        for (int32_t i = 0; !status && i < a->outputs->n; i++)
            out[i] = results[rank_of(a->outputs, i)];
    }
    mica_free(refs);
    mica_free(wanted);
    mica_tf_graph_release(forward);
    mica_tf_graph_release(backward);
    return status;
}

static mica_status copy_jvp(apart *a, const mica_tf_ref *inputs, mica_tf_ref *out) {
    MICA_TRY(derive(a, inputs));
    MICA_TRY(run_forward(a, inputs));
    int32_t n_residuals = a->forward->n_outputs - a->function->n_outputs;
    mica_tf_ref *arguments = a->refs + a->forward->n_outputs;
    mica_tf_ref *tangents = arguments + a->backward->n_parameters;
    for (int32_t i = 0; i < a->outputs->n; i++)
        MICA_TRY(mica_tf_zeros_like(a->c->to, a->refs[a->outputs->as.ints[i]],
                                    &arguments[rank_of(a->outputs, i)]));
    memcpy(arguments + a->outputs->n, a->refs + a->function->n_outputs,
           (size_t)n_residuals * sizeof *arguments);
    for (int32_t i = 0; i < a->places->n; i++)
        tangents[rank_of(a->places, i)] = inputs[a->n_inputs + i];
    return transpose(a, arguments, tangents, out);
}

static mica_status copy_apart(const mica_tf_copier *c, const mica_tf_operation *operation,
                              const mica_tf_ref *inputs, mica_tf_ref *out) {
    bool is_vjp = operation->op == MICA_TF_Vjp;
    apart a = {.c = c,
               .of = operation->attrs[0].as.operation,
               .outputs = &operation->attrs[2],
               .places = &operation->attrs[3],
               .n_inputs = (int32_t)operation->attrs[1].as.integer};
    mica_status status = is_vjp ? copy_vjp(&a, inputs, out) : copy_jvp(&a, inputs, out);
    release_apart(&a);
    return status;
}

/* ---- nodes ------------------------------------------------------------------------------------*/

static bool comes_apart(const mica_tf_copier *c, const mica_tf_operation *operation) {
    if (!is_derivative(operation)) return false;
    return mica_tf_has_bodies(mica_tf_innermost(operation)) &&
           (c->take_apart || mica_tf_operation_lowers(operation) == MICA_TF_STAYS_HOST);
}

static bool any_active(const mica_tf_graph_walk *w, const mica_tf_operation *operation,
                       const mica_tf_ref *inputs, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        if (w->walk.active[mica_tf_slot(w->forward, inputs[i])] &&
            mica_tf_operation_role(operation, i) == 'd')
            return true;
    return false;
}

/* Room for what is known of the forward function, and what it is. */
mica_status mica_tf_catch_up(mica_tf_graph_walk *w) {
    const mica_tf_graph *g = w->forward;
    if (g->n_results > w->slots_capacity) {
        int32_t larger = 2 * g->n_results + 64;
        uint8_t *active = mica_realloc(w->walk.active, (size_t)larger);
        if (!active) return MICA_NO_MEMORY();
        memset(active + w->slots_capacity, 0, (size_t)(larger - w->slots_capacity));
        w->walk.active = active;
        w->slots_capacity = larger;
    }
    if (g->n_nodes > w->nodes_capacity) {
        int32_t larger = 2 * g->n_nodes + 64;
        mica_tf_stage **stages = mica_realloc(w->stages, (size_t)larger * sizeof *stages);
        if (!stages) return MICA_NO_MEMORY();
        memset(stages + w->nodes_capacity, 0,
               (size_t)(larger - w->nodes_capacity) * sizeof *stages);
        w->stages = stages;
        w->nodes_capacity = larger;
    }
    mica_tf_find_active(g, w->n_nodes, w->walk.active);
    w->n_nodes = g->n_nodes;
    return NULL;
}

static mica_status copy_node(const mica_tf_copier *c, const mica_tf_node *node,
                             const mica_tf_ref *inputs, mica_tf_ref *out) {
    const mica_tf_operation *o = node->operation;
    mica_tf_ref first;
    if (is_call(o))
        return mica_tf_copy_function(c, mica_tf_attr_find(o->info, o->attrs, "f")->as.function,
                                     inputs, out);
    if (comes_apart(c, o)) return copy_apart(c, o, inputs, out);
    if (c->walk) {
        MICA_TRY(mica_tf_catch_up(c->walk));
        if (mica_tf_is_stage(o, c->walk->take_apart) &&
            any_active(c->walk, o, inputs, node->n_inputs))
            return mica_tf_stage_forward(c->walk, o, inputs, node->n_inputs, node->name, out);
    }
    MICA_TRY(mica_tf_graph_add(c->to, o->op, o->attrs, inputs, node->n_inputs, node->name, &first));
    for (int32_t i = 0; i < node->n_results; i++) {
        out[i] = (mica_tf_ref){first.node, i};
        MICA_TRY(mica_tf_graph_set_shape(c->to, out[i], &node->shapes[i]));
    }
    return NULL;
}

static mica_status copy_nodes(const mica_tf_copier *c, const mica_tf_graph *f, mica_tf_ref *map,
                              mica_tf_ref *inputs) {
    for (int32_t i = 0; i < f->n_nodes; i++) {
        const mica_tf_node *node = &f->nodes[i];
        if (!node->operation) continue;
        for (int32_t k = 0; k < node->n_inputs; k++)
            inputs[k] = map[mica_tf_slot(f, node->inputs[k])];
        MICA_TRY(copy_node(c, node, inputs, map + node->first));
    }
    return NULL;
}

mica_status mica_tf_copy_function(const mica_tf_copier *c, const mica_tf_graph *f,
                                  const mica_tf_ref *arguments, mica_tf_ref *out) {
    int32_t most = 0;
    for (int32_t i = 0; i < f->n_nodes; i++)
        if (f->nodes[i].n_inputs > most) most = f->nodes[i].n_inputs;
    mica_tf_ref *map = mica_alloc((size_t)(f->n_results + most + 2) * sizeof *map);
    if (!map) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < f->n_parameters; i++)
        map[mica_tf_slot(f, f->parameters[i])] = arguments[i];
    mica_status status = copy_nodes(c, f, map, map + f->n_results + 1);
    if (!status && c->walk) status = mica_tf_catch_up(c->walk);
    for (int32_t i = 0; !status && i < f->n_outputs; i++)
        out[i] = map[mica_tf_slot(f, f->outputs[i])];
    mica_free(map);
    return status;
}

/* ---- on the host ------------------------------------------------------------------------------*/

/* The function of a derivative, taken apart. */
static mica_status make_apart(const mica_tf_operation *operation, const mica_tf_host *c,
                              mica_tf_graph **out_graph) {
    mica_tf_graph *types = NULL, *g = NULL, *node = NULL;
    size_t n = (size_t)c->n_inputs, m = (size_t)c->n_outputs;
    mica_tf_ref *refs = mica_alloc((2 * n + m + 1) * sizeof *refs);
    mica_status status = refs ? mica_tf_graph_create("types", &types) : MICA_NO_MEMORY();
    if (!status) status = mica_tf_graph_create(operation->info->name, &g);
    for (int32_t i = 0; i < c->n_inputs && !status; i++) {
        mica_tf_shape shape = mica_tf_unknown();
        status = mica_tf_graph_parameter(types, c->inputs[i].dtype, &shape, NULL, &refs[i]);
        if (!status)
            status = mica_tf_graph_parameter(g, c->inputs[i].dtype, &shape, NULL, &refs[n + i]);
    }
    if (!status) status = mica_tf_function_of(operation, types, refs, c->n_inputs, &node);
    mica_tf_copier copier = {.to = g, .take_apart = true};
    if (!status) status = mica_tf_copy_function(&copier, node, refs + n, refs + 2 * n);
    for (int32_t i = 0; i < c->n_outputs && !status; i++)
        status = mica_tf_graph_output(g, refs[2 * n + (size_t)i]);
    mica_free(refs);
    mica_tf_graph_release(types);
    mica_tf_graph_release(node);
    if (status)
        mica_tf_graph_release(g);
    else
        *out_graph = g;
    return status;
}

static mica_status run_apart(mica_tf_host *c, mica_tf_op op) {
    mica_tf_operation *o = c->operation, *own = NULL;
    mica_tf_graph *g = o ? __atomic_load_n(&o->apart, __ATOMIC_ACQUIRE) : NULL, *made = NULL;
    const mica_tf_operation *of = mica_tf_innermost(c->attrs[0].as.operation);
    if (!mica_tf_has_bodies(of))
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] has no gradient for these dtypes",
                          of->info->name);
    mica_status status = NULL;
    if (!g) {
        if (!o) status = mica_tf_operation_create(op, c->attrs, &own);
        if (!status) status = make_apart(o ? o : own, c, &made);
        mica_tf_operation_release(own);
        MICA_TRY(status);
        mica_tf_graph *none = NULL;
        g = made;
        if (o && __atomic_compare_exchange_n(&o->apart, &none, made, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE))
            made = NULL; /* the operation's from now on */
    }
    status = mica_tf_graph_run(g, c->device, c->inputs, c->n_inputs, c->outputs, c->n_outputs);
    mica_tf_graph_release(made);
    return status;
}

mica_status tf_host_vjp(mica_tf_host *c) {
    return run_apart(c, MICA_TF_Vjp);
}

mica_status tf_host_jvp(mica_tf_host *c) {
    return run_apart(c, MICA_TF_Jvp);
}
