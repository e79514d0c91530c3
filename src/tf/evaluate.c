/* The value of one result of a graph that is being built, computed now, op by op. */
#include "tf/gradient/tape.h"

static mica_status evaluate(const mica_tf_graph *g, mica_device *device, int32_t index,
                            mica_tf_value *slots, bool is_constant, int32_t depth) {
    const mica_tf_node *node = &g->nodes[index];
    if (node->n_results == 0 || slots[node->first].object) return NULL;
    if (!node->operation || depth > 500)
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[%s] depends on the argument %s of the function being traced", g->name,
                          node->name);
    if (is_constant && mica_tf_rows[node->operation->op].effect != MICA_TF_PURE)
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[%s] the value of %s is known when it runs",
                          g->name, node->name);
    mica_tf_value *inputs = mica_alloc(((size_t)node->n_inputs + 1) * sizeof *inputs);
    if (!inputs) return MICA_NO_MEMORY();
    mica_status status = NULL;
    for (int32_t i = 0; !status && i < node->n_inputs; i++) {
        status = evaluate(g, device, node->inputs[i].node, slots, is_constant, depth + 1);
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
                                   const mica_tf_value *parameters, bool is_constant,
                                   mica_tf_value *out_value) {
    MICA_GIVEN(g, out_value);
    MICA_GIVEN(MICA_MANY(parameters, g->n_parameters));
    mica_tf_value *slots = mica_calloc((size_t)g->n_results + 1, sizeof *slots);
    *out_value = (mica_tf_value){0};
    if (!slots) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < g->n_parameters; i++) {
        if (!parameters[i].object) continue;
        mica_tf_value_retain(parameters[i]);
        slots[mica_tf_slot(g, g->parameters[i])] = parameters[i];
    }
    mica_tf_tape *tapes = mica_tf_tapes_hide();
    mica_status status = evaluate(g, device, ref.node, slots, is_constant, 0);
    mica_tf_tapes_show(tapes);
    if (!status) {
        *out_value = slots[mica_tf_slot(g, ref)];
        mica_tf_value_retain(*out_value);
    }
    for (int32_t i = 0; i < g->n_results; i++) mica_tf_value_release(slots[i]);
    mica_free(slots);
    return status;
}
