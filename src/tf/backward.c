/* The gradient of a function as two functions: a forward one that also returns what is needed
 * later (residuals: inputs of ops), and a backward one of Vjp nodes over residuals and cotangents.
 *
 * Calls are inlined on the way. Both are ordinary graphs, so gradients of gradients follow. */
#include <string.h>

#include "tf/tf.h"

/* ---- copying ----------------------------------------------------------------------------------*/

static const mica_tf_ref no_ref = {-1, 0};

static bool is_call(const mica_tf_node *node) {
    return node->operation && (node->operation->op == MICA_TF_PartitionedCall ||
                               node->operation->op == MICA_TF_StatefulPartitionedCall);
}

static mica_status copy_nodes(const mica_tf_graph *from, mica_tf_graph *to, mica_tf_ref *map);

static mica_status copy_call(const mica_tf_node *node, mica_tf_graph *to, const mica_tf_ref *inputs,
                             mica_tf_ref *out) {
    const mica_tf_graph *f =
        mica_tf_attr_find(node->operation->info, node->operation->attrs, "f")->as.function;
    mica_tf_ref *map = mica_alloc(((size_t)f->n_results + 1) * sizeof *map);
    if (!map) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < f->n_parameters; i++)
        map[mica_tf_slot(f, f->parameters[i])] = inputs[i];
    mica_status status = copy_nodes(f, to, map);
    for (int32_t i = 0; !status && i < f->n_outputs; i++)
        out[i] = map[mica_tf_slot(f, f->outputs[i])];
    mica_free(map);
    return status;
}

static mica_status copy_node(const mica_tf_graph *from, const mica_tf_node *node, mica_tf_graph *to,
                             mica_tf_ref *map) {
    mica_tf_ref *inputs = mica_alloc(((size_t)node->n_inputs + 1) * sizeof *inputs), first;
    if (!inputs) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < node->n_inputs; i++)
        inputs[i] = map[mica_tf_slot(from, node->inputs[i])];
    mica_status status;
    if (is_call(node)) {
        status = copy_call(node, to, inputs, map + node->first);
    } else {
        status = mica_tf_graph_add(to, node->operation->op, node->operation->attrs, inputs,
                                   node->n_inputs, node->name, &first);
        for (int32_t i = 0; !status && i < node->n_results; i++) {
            map[node->first + i] = (mica_tf_ref){first.node, i};
            status = mica_tf_graph_set_shape(to, map[node->first + i], &node->shapes[i]);
        }
    }
    mica_free(inputs);
    return status;
}

/* map: by slot of `from`; parameters are set. */
static mica_status copy_nodes(const mica_tf_graph *from, mica_tf_graph *to, mica_tf_ref *map) {
    for (int32_t i = 0; i < from->n_nodes; i++)
        if (from->nodes[i].operation) MICA_TRY(copy_node(from, &from->nodes[i], to, map));
    return NULL;
}

static mica_status copy_graph(const mica_tf_graph *g, mica_tf_graph **out) {
    mica_tf_graph *copy = NULL;
    mica_tf_ref *map = mica_alloc(((size_t)g->n_results + 1) * sizeof *map);
    mica_status status = map ? mica_tf_graph_create(g->name, &copy) : MICA_NO_MEMORY();
    for (int32_t i = 0; !status && i < g->n_parameters; i++) {
        const mica_tf_node *node = mica_tf_node_of(g, g->parameters[i]);
        status = mica_tf_graph_parameter(copy, node->dtypes[0], &node->shapes[0], node->name,
                                         &map[node->first]);
    }
    if (!status) status = copy_nodes(g, copy, map);
    for (int32_t i = 0; !status && i < g->n_outputs; i++)
        status = mica_tf_graph_output(copy, map[mica_tf_slot(g, g->outputs[i])]);
    mica_free(map);
    if (status)
        mica_tf_graph_release(copy);
    else
        *out = copy;
    return status;
}

/* ---- walking back -----------------------------------------------------------------------------*/

typedef struct walk {
    mica_tf_graph *forward, *backward;
    bool *active;            /* by slot: depends on what is wanted */
    mica_tf_ref *cotangents; /* by slot: in backward */
    mica_tf_ref *residuals;  /* by slot: in backward */
} walk;

static bool is_float(mica_tf_dtype dtype) {
    mica_dtype core = mica_tf_dtype_core(dtype);
    if (core == MICA_DTYPE_COUNT) return false;
    mica_dtype_kind kind = mica_dtype_kind_of(core);
    return kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX;
}

static bool carries(const walk *w, const mica_tf_node *node, int32_t i) {
    return w->active[mica_tf_slot(w->forward, node->inputs[i])] &&
           mica_tf_operation_role(node->operation, i) == 'd';
}

static void find_active(walk *w) {
    const mica_tf_graph *g = w->forward;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_tf_node *node = &g->nodes[i];
        bool any = false;
        for (int32_t k = 0; node->operation && k < node->n_inputs; k++) any |= carries(w, node, k);
        for (int32_t k = 0; any && k < node->n_results; k++)
            w->active[node->first + k] = is_float(node->dtypes[k]);
    }
}

static mica_status add_cotangent(walk *w, int32_t slot, mica_tf_ref ref) {
    mica_tf_ref before = w->cotangents[slot];
    if (before.node < 0) {
        w->cotangents[slot] = ref;
        return NULL;
    }
    mica_tf_ref both[2] = {before, ref};
    return mica_tf_graph_add(w->backward, MICA_TF_AddV2, NULL, both, 2, NULL, &w->cotangents[slot]);
}

/* A value of the forward function in the backward one: a constant again, else a parameter. */
static mica_status residual(walk *w, mica_tf_ref ref, mica_tf_ref *out) {
    int32_t slot = mica_tf_slot(w->forward, ref);
    const mica_tf_node *node = mica_tf_node_of(w->forward, ref);
    if (w->residuals[slot].node < 0 && node->operation && node->operation->op == MICA_TF_Const)
        MICA_TRY(mica_tf_graph_add(w->backward, MICA_TF_Const, node->operation->attrs, NULL, 0,
                                   NULL, &w->residuals[slot]));
    if (w->residuals[slot].node < 0) {
        MICA_TRY(mica_tf_graph_parameter(w->backward, node->dtypes[ref.index],
                                         &node->shapes[ref.index], "residual",
                                         &w->residuals[slot]));
        MICA_TRY(mica_tf_graph_output(w->forward, ref));
    }
    *out = w->residuals[slot];
    return NULL;
}

static mica_status add_vjp(walk *w, const mica_tf_node *node) {
    size_t n = (size_t)node->n_inputs, m = (size_t)node->n_results;
    mica_tf_ref *inputs = mica_alloc((n + m + 1) * sizeof *inputs), first;
    int64_t *ints = mica_alloc(3 * (n + m + 1) * sizeof *ints);
    mica_status status = inputs && ints ? NULL : MICA_NO_MEMORY();
    int64_t *outputs = ints, *places = ints + m, *types = places + n, *result_types = types + n + m;
    int32_t n_outputs = 0, n_places = 0, n_all = 0;
    for (int32_t i = 0; !status && i < node->n_inputs; i++) {
        status = residual(w, node->inputs[i], &inputs[n_all]);
        if (status) break;
        types[n_all++] = mica_tf_graph_type(w->forward, node->inputs[i], NULL);
        if (!carries(w, node, i) || !is_float((mica_tf_dtype)types[n_all - 1])) continue;
        result_types[n_places] = types[n_all - 1];
        places[n_places++] = i;
    }
    for (int32_t i = 0; !status && i < node->n_results; i++) {
        mica_tf_ref cotangent = w->cotangents[node->first + i];
        if (cotangent.node < 0) continue;
        outputs[n_outputs++] = i;
        types[n_all] = node->dtypes[i];
        inputs[n_all++] = cotangent;
    }
    if (!status) {
        mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {
            {.as.operation = node->operation},    {.as.integer = node->n_inputs},
            {.n = n_outputs, .as.ints = outputs}, {.n = n_places, .as.ints = places},
            {.n = n_all, .as.ints = types},       {.n = n_places, .as.ints = result_types}};
        status = mica_tf_graph_add(w->backward, MICA_TF_Vjp, attrs, inputs, n_all, NULL, &first);
    }
    for (int32_t i = 0; !status && i < n_places; i++)
        status = add_cotangent(w, mica_tf_slot(w->forward, node->inputs[places[i]]),
                               (mica_tf_ref){first.node, i});
    mica_free(inputs);
    mica_free(ints);
    return status;
}

static mica_status walk_node(walk *w, int32_t i) {
    const mica_tf_node *node = &w->forward->nodes[i];
    bool any = false, leads = false;
    for (int32_t k = 0; k < node->n_results; k++) any |= w->cotangents[node->first + k].node >= 0;
    for (int32_t k = 0; node->operation && k < node->n_inputs; k++) leads |= carries(w, node, k);
    if (!any || !leads || !node->operation) return NULL;
    if (node->operation->op == MICA_TF_ReadVariableOp)
        return add_cotangent(w, mica_tf_slot(w->forward, node->inputs[0]),
                             w->cotangents[node->first]);
    return add_vjp(w, node);
}

static mica_status build(walk *w, const mica_tf_graph *g, const uint8_t *wanted,
                         uint8_t *out_connected) {
    for (int32_t i = 0; i < w->forward->n_results; i++) w->cotangents[i] = w->residuals[i] = no_ref;
    for (int32_t i = 0; i < g->n_parameters; i++)
        w->active[mica_tf_slot(w->forward, w->forward->parameters[i])] = wanted[i];
    find_active(w);
    for (int32_t i = 0; i < g->n_outputs; i++) {
        mica_tf_ref output = w->forward->outputs[i], cotangent;
        mica_tf_shape shape;
        mica_tf_dtype dtype = mica_tf_graph_type(w->forward, output, &shape);
        if (!is_float(dtype)) continue;
        MICA_TRY(mica_tf_graph_parameter(w->backward, dtype, &shape, "cotangent", &cotangent));
        MICA_TRY(add_cotangent(w, mica_tf_slot(w->forward, output), cotangent));
    }
    for (int32_t i = w->forward->n_nodes; i-- > 0;) MICA_TRY(walk_node(w, i));
    for (int32_t i = 0; i < g->n_parameters; i++) {
        int32_t slot = mica_tf_slot(w->forward, w->forward->parameters[i]);
        out_connected[i] = wanted[i] && w->cotangents[slot].node >= 0;
        if (out_connected[i]) MICA_TRY(mica_tf_graph_output(w->backward, w->cotangents[slot]));
    }
    return NULL;
}

mica_status mica_tf_graph_backward(mica_tf_graph *g, const uint8_t *wanted, uint8_t *out_connected,
                                   mica_tf_graph **out_forward, mica_tf_graph **out_backward) {
    walk w = {0};
    *out_forward = *out_backward = NULL;
    mica_status status = copy_graph(g, &w.forward);
    if (!status) status = mica_tf_graph_create(g->name, &w.backward);
    if (!status) {
        size_t n = (size_t)w.forward->n_results + 1;
        w.active = mica_calloc(n, 1);
        w.cotangents = mica_alloc(2 * n * sizeof *w.cotangents);
        w.residuals = w.cotangents + n;
        status = w.active && w.cotangents ? build(&w, g, wanted, out_connected) : MICA_NO_MEMORY();
    }
    mica_free(w.active);
    mica_free(w.cotangents);
    if (status) {
        mica_tf_graph_release(w.forward);
        mica_tf_graph_release(w.backward);
        return status;
    }
    *out_forward = w.forward;
    *out_backward = w.backward;
    return NULL;
}

/* ---- the value of one result ------------------------------------------------------------------*/

static mica_status evaluate(const mica_tf_graph *g, mica_device *device, int32_t index,
                            mica_tf_value *slots, int32_t depth) {
    const mica_tf_node *node = &g->nodes[index];
    if (node->n_results == 0 || slots[node->first].object) return NULL;
    if (!node->operation || depth > 500)
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[%s] depends on the argument %s of the function being traced", g->name,
                          node->name);
    mica_tf_value *inputs = mica_alloc(((size_t)node->n_inputs + 1) * sizeof *inputs);
    if (!inputs) return MICA_NO_MEMORY();
    mica_status status = NULL;
    for (int32_t i = 0; !status && i < node->n_inputs; i++) {
        status = evaluate(g, device, node->inputs[i].node, slots, depth + 1);
        inputs[i] = slots[mica_tf_slot(g, node->inputs[i])];
    }
    int32_t n;
    if (!status)
        status = mica_tf_eager(device, node->operation->op, node->operation->attrs, inputs,
                               node->n_inputs, slots + node->first, node->n_results, &n, NULL);
    mica_free(inputs);
    return status;
}

mica_status mica_tf_graph_evaluate(const mica_tf_graph *g, mica_device *device, mica_tf_ref ref,
                                   const mica_tf_value *parameters, mica_tf_value *out_value) {
    mica_tf_value *slots = mica_calloc((size_t)g->n_results + 1, sizeof *slots);
    *out_value = (mica_tf_value){0};
    if (!slots) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < g->n_parameters; i++) {
        if (!parameters[i].object) continue;
        mica_tf_value_retain(parameters[i]);
        slots[mica_tf_slot(g, g->parameters[i])] = parameters[i];
    }
    mica_status status = evaluate(g, device, ref.node, slots, 0);
    if (!status) {
        *out_value = slots[mica_tf_slot(g, ref)];
        mica_tf_value_retain(*out_value);
    }
    for (int32_t i = 0; i < g->n_results; i++) mica_tf_value_release(slots[i]);
    mica_free(slots);
    return status;
}
