/* The backward pass: one vjp per layer, last layer first. So every layer's gradients are values
 * that can be looked at, and the compiler sees one graph all the same. */
#include "mlc/builder.h"

#include <string.h>

/* What needs a gradient: parameters, inputs that it is asked for, and all that depends on them. */
static void mark_needs(mlc_builder *b) {
    mlc_graph *graph = b->graph;
    bool all = (graph->options & MLC_COMPILATION_COMPUTE_ALL_GRADIENTS) != 0;
    for (int32_t i = 0; i < b->n_entries; i++) b->entries[i].needs_gradient = false;
    for (int32_t i = 0; i < graph->parameters.n; i++) {
        mlc_entry *entry = mlc_builder_entry(b, graph->parameters.data[i]);
        if (entry) entry->needs_gradient = true;
    }
    for (int32_t i = 0; all && i < graph->inputs.n; i++) {
        mlc_entry *entry = mlc_builder_entry(b, graph->inputs.data[i].tensor);
        if (entry && mlc_data_type_is_float(entry->tensor->descriptor->data_type))
            entry->needs_gradient = true;
    }
    for (int32_t i = 0; i < graph->n_gradients; i++) {
        if (!graph->gradients[i].is_wanted) continue;
        mlc_entry *entry = mlc_builder_entry(b, graph->gradients[i].of);
        if (entry) entry->needs_gradient = true;
    }
    for (int32_t i = 0; i < graph->all.n; i++) {
        const mlc_node *node = graph->all.data[i];
        bool needs = false;
        for (int32_t k = 0; k < node->n_sources && !needs; k++) {
            mlc_entry *entry = mlc_builder_entry(b, node->sources[k]);
            needs = entry && entry->needs_gradient;
        }
        for (int32_t role = 0; role < MLC_ROLES && !needs; role++)
            for (int32_t k = 0; k < node->layer->groups[role].n && !needs; k++) {
                mlc_entry *entry = mlc_builder_entry(b, node->layer->groups[role].tensors[k]);
                needs = entry && entry->needs_gradient;
            }
        for (int32_t k = 0; k < node->n_results; k++) {
            mlc_entry *entry = mlc_builder_entry(b, node->results[k]);
            if (entry && needs && mlc_data_type_is_float(entry->tensor->descriptor->data_type))
                entry->needs_gradient = true;
        }
    }
}

static void add_to(mlc_builder *b, mica_value *sum, mica_value value) {
    if (mica_value_is_null(value)) return;
    *sum = mica_value_is_null(*sum) ? value : mica_add(b->l.g, *sum, value);
}

static bool has_loss(const mlc_graph *graph) {
    for (int32_t i = 0; i < graph->all.n; i++)
        if (mlc_layer_is_loss(((mlc_node *)graph->all.data[i])->layer)) return true;
    return false;
}

static bool is_consumed(const mlc_graph *graph, const mlc_tensor *tensor) {
    for (int32_t i = 0; i < graph->all.n; i++) {
        const mlc_node *node = graph->all.data[i];
        for (int32_t k = 0; k < node->n_sources; k++)
            if (node->sources[k] == tensor) return true;
    }
    return false;
}

/* A gradient that is given from outside. */
static void seed(mlc_builder *b, mlc_tensor *of, mlc_tensor *gradient, int32_t otherwise) {
    mlc_entry *entry = mlc_builder_entry(b, of);
    const mica_type *type = entry ? mica_value_type(entry->value) : NULL;
    if (!type) return;
    mica_value value = mlc_builder_input(
        b,
        (mlc_slot){.kind = MLC_SLOT_SEED, .tensor = gradient, .index = otherwise, .type = *type});
    add_to(b, &entry->cotangent, value);
}

/* The gradient that a linked graph has for one of its inputs, which this graph makes. */
static void seed_from_links(mlc_builder *b, mlc_tensor *tensor, bool *out_found) {
    mlc_graph *graph = b->graph;
    for (int32_t i = 0; graph->link && i < graph->link->graphs.n; i++) {
        mlc_graph *other = graph->link->graphs.data[i];
        mlc_gradient *gradient = NULL;
        if (other == graph || other->kind != MLC_TRAINING_GRAPH || !is_consumed(other, tensor))
            continue;
        mica_status status = mlc_graph_gradient_of(other, tensor, NULL, false, &gradient);
        if (status) {
            mica_graph_fail(b->l.g, status);
            return;
        }
        seed(b, tensor, gradient->gradient, 0);
        *out_found = true;
    }
}

/* What comes of a loss: its result, and all that is computed from it. */
static bool comes_of_loss(mlc_builder *b, const mlc_node *node) {
    bool found = mlc_layer_is_loss(node->layer);
    for (int32_t k = 0; k < node->n_sources && !found; k++) {
        const mlc_entry *entry = mlc_builder_entry(b, node->sources[k]);
        found = entry && entry->comes_of_loss;
    }
    for (int32_t k = 0; k < node->n_results; k++) {
        mlc_entry *entry = mlc_builder_entry(b, node->results[k]);
        if (entry) entry->comes_of_loss = found;
    }
    return found;
}

/* The pass begins at the results that nothing consumes: with losses, at those that come of one. */
static void seed_results(mlc_builder *b) {
    mlc_graph *graph = b->graph;
    bool with_loss = has_loss(graph);
    for (int32_t i = 0; i < graph->all.n; i++) {
        const mlc_node *node = graph->all.data[i];
        bool begins = comes_of_loss(b, node) || !with_loss;
        for (int32_t k = 0; k < node->n_results; k++) {
            mlc_tensor *result = node->results[k];
            mlc_entry *entry = mlc_builder_entry(b, result);
            bool is_linked = false;
            if (!entry || !entry->needs_gradient) continue;
            seed_from_links(b, result, &is_linked);
            entry = mlc_builder_entry(b, result);
            if (is_consumed(graph, result)) continue;
            if (mlc_layer_is_loss(node->layer)) {
                add_to(b, &entry->cotangent, mica_full_like(b->l.g, entry->value, 1));
            } else if (begins && !is_linked) {
                mlc_gradient *gradient = NULL;
                mica_status status = mlc_graph_gradient_of(graph, result, NULL, false, &gradient);
                if (status)
                    mica_graph_fail(b->l.g, status);
                else
                    seed(b, result, gradient->gradient, 1);
            }
        }
    }
    for (int32_t i = 0; i < graph->n_gradients; i++)
        if (graph->gradients[i].is_user)
            seed(b, graph->gradients[i].of, graph->gradients[i].gradient, 0);
}

/* ---- one layer --------------------------------------------------------------------------------*/

typedef struct differentiation {
    mlc_tensor **tensors; /* of the inputs, each once: sources first */
    mica_value *inputs, *gradients;
    int32_t n, n_sources;
} differentiation;

static void add_input(mlc_builder *b, differentiation *d, mlc_tensor *tensor) {
    mlc_entry *entry = mlc_builder_entry(b, tensor);
    if (!entry || !entry->needs_gradient || mica_value_is_null(entry->value)) return;
    for (int32_t i = 0; i < d->n; i++)
        if (d->tensors[i] == tensor) return;
    d->tensors[d->n] = tensor;
    d->inputs[d->n++] = entry->value;
}

static bool collect_inputs(mlc_builder *b, const mlc_node *node, differentiation *d) {
    int32_t most = node->n_sources + 1;
    for (int32_t role = 0; role < MLC_ROLES; role++) most += node->layer->groups[role].n;
    d->tensors = mica_arena_alloc(&b->l.arena, (size_t)most * sizeof *d->tensors);
    d->inputs = mica_arena_alloc(&b->l.arena, 2 * (size_t)most * sizeof *d->inputs);
    if (!d->tensors || !d->inputs) {
        mica_graph_fail(b->l.g, MICA_NO_MEMORY());
        return false;
    }
    d->gradients = d->inputs + most;
    for (int32_t i = 0; i < node->n_sources; i++) add_input(b, d, node->sources[i]);
    d->n_sources = d->n;
    for (int32_t role = 0; role < MLC_ROLES; role++)
        for (int32_t i = 0; i < node->layer->groups[role].n; i++)
            add_input(b, d, node->layer->groups[role].tensors[i]);
    return d->n > 0;
}

/* Cotangents of the results; false when all are zero. A stopped one is not passed on. */
static bool collect_cotangents(mlc_builder *b, const mlc_node *node, mica_value **out_values,
                               mica_value **out_cotangents) {
    size_t bytes = (size_t)node->n_results * sizeof(mica_value);
    mica_value *values = mica_arena_alloc(&b->l.arena, bytes);
    mica_value *cotangents = mica_arena_alloc(&b->l.arena, bytes);
    bool any = false;
    if (!values || !cotangents) {
        mica_graph_fail(b->l.g, MICA_NO_MEMORY());
        return false;
    }
    for (int32_t i = 0; i < node->n_results; i++) {
        mlc_entry *entry = mlc_builder_entry(b, node->results[i]);
        if (!entry) return false;
        values[i] = entry->value;
        cotangents[i] = mlc_list_find(&b->graph->stopped, node->results[i]) >= 0 ? MICA_NULL_VALUE
                                                                                 : entry->cotangent;
        any |= !mica_value_is_null(cotangents[i]);
    }
    *out_values = values;
    *out_cotangents = cotangents;
    return any;
}

static void part_output(mlc_builder *b, const mlc_node *node, const differentiation *d) {
    mlc_graph *graph = b->graph;
    for (int32_t i = 0; i < graph->n_gradients; i++) {
        const mlc_gradient *gradient = &graph->gradients[i];
        if (gradient->node != node || !gradient->is_wanted) continue;
        mica_value value = MICA_NULL_VALUE;
        for (int32_t k = 0; k < d->n; k++)
            if (d->tensors[k] == gradient->of) value = d->gradients[k];
        mlc_entry *entry = mlc_builder_entry(b, gradient->of);
        if (mica_value_is_null(value) && entry) value = mica_zeros_like(b->l.g, entry->value);
        mlc_builder_output(b, (mlc_slot){.kind = MLC_SLOT_TENSOR, .tensor = gradient->gradient},
                           value);
    }
}

static void build_node(mlc_builder *b, const mlc_node *node, int32_t place) {
    differentiation d = {0};
    mica_value *values = NULL, *cotangents = NULL;
    bool has = collect_cotangents(b, node, &values, &cotangents) && collect_inputs(b, node, &d);
    if (has) {
        mica_vjp(b->l.g, values, cotangents, node->n_results, d.inputs, d.n, d.gradients);
        for (int32_t i = 0; i < d.n; i++) {
            mlc_entry *entry = mlc_builder_entry(b, d.tensors[i]);
            if (entry) add_to(b, &entry->cotangent, d.gradients[i]);
        }
    }
    part_output(b, node, &d);
    if (!has || !(b->graph->options & MLC_COMPILATION_DEBUG_LAYERS)) return;
    mica_value flag = mlc_all_finite(b->l.g, d.gradients, d.n);
    if (!mica_value_is_null(flag))
        mlc_builder_output(
            b, (mlc_slot){.kind = MLC_SLOT_FLAG, .index = place, .is_gradient = true}, flag);
}

void mlc_build_backward(mlc_builder *b) {
    mark_needs(b);
    seed_results(b);
    for (int32_t i = b->graph->all.n; i-- > 0;) build_node(b, b->graph->all.data[i], i);
}

void mlc_build_gradient_outputs(mlc_builder *b, bool with_parameters) {
    mlc_graph *graph = b->graph;
    for (int32_t i = 0; with_parameters && i < graph->parameters.n; i++) {
        mlc_entry *entry = mlc_builder_entry(b, graph->parameters.data[i]);
        if (!entry) return;
        mica_value value = entry->cotangent;
        if (mica_value_is_null(value)) {
            value = b->l.value_of(&b->l, entry->tensor);
            value = mica_zeros_like(b->l.g, value);
        }
        mlc_builder_output(b, (mlc_slot){.kind = MLC_SLOT_GRADIENT, .index = i}, value);
    }
    for (int32_t i = 0; i < graph->n_gradients; i++) {
        const mlc_gradient *gradient = &graph->gradients[i];
        mlc_entry *entry = mlc_builder_entry(b, gradient->of);
        if (gradient->node || gradient->is_user || !gradient->is_wanted || !entry) continue;
        mica_value value = entry->cotangent;
        if (mica_value_is_null(value) && !mica_value_is_null(entry->value))
            value = mica_zeros_like(b->l.g, entry->value);
        mlc_builder_output(b, (mlc_slot){.kind = MLC_SLOT_TENSOR, .tensor = gradient->gradient},
                           value);
    }
}
