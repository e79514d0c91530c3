/* The forward walk: every node between inputs and outputs appends the tangents of its results. */
#include <string.h>

#include "transform/rules.h"

/* Which results outputs depend on: flags[first[id] + i] for result i of a node. By position, so it
 * holds until the graph changes. */
typedef struct needed_values {
    bool *flags;
    int32_t *first;
} needed_values;

static bool find_needed(mica_transform *t, mica_graph *g, const mica_value *outputs, int32_t n,
                        needed_values *out) {
    int32_t room = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) room += g->nodes[i]->n_results;
    bool *flags = out->flags = mica_transform_alloc(t, g, (size_t)room + 1, sizeof *flags);
    int32_t *first = out->first = mica_transform_alloc(t, g, (size_t)g->n_nodes + 1, sizeof *first);
    if (!flags || !first) return false;
    for (int32_t i = 0; i < g->n_nodes; i++) first[i + 1] = first[i] + g->nodes[i]->n_results;
    for (int32_t i = 0; i < n; i++)
        if (outputs[i].node) flags[first[outputs[i].node->id] + outputs[i].index] = true;
    for (int32_t i = g->n_nodes; i-- > 0;) {
        bool any = false;
        for (int32_t k = first[i]; k < first[i + 1]; k++) any |= flags[k];
        for (int32_t k = 0; any && k < g->nodes[i]->n_operands; k++) {
            mica_value operand = g->nodes[i]->operands[k];
            flags[first[operand.node->id] + operand.index] = true;
        }
    }
    return true;
}

/* Tangents of n's operands; false when all are zero. */
static bool operand_tangents(const mica_tangent_pass *pass, const mica_node *n, mica_value *dx) {
    bool any = false;
    for (int32_t k = 0; k < n->n_operands; k++) {
        dx[k] = mica_value_map_get(&pass->tangents, n->operands[k]);
        any |= !mica_is_zero(dx[k]);
    }
    return any;
}

static void apply_rule(mica_tangent_pass *pass, mica_node *n) {
    mica_graph *g = pass->g;
    int32_t n_results = n->n_results; /* the rule may extend n */
    mica_value *dx =
        mica_transform_alloc(pass->t, g, (size_t)n->n_operands + (size_t)n_results, sizeof *dx);
    if (!dx || !operand_tangents(pass, n, dx)) return;
    mica_value *dy = dx + n->n_operands;
    mica_jvp_rules[n->op](pass, n, dx, dy);
    for (int32_t i = 0; i < n_results && !g->error; i++) {
        mica_value y = mica_node_result(n, i);
        if (!mica_is_differentiable(y)) continue;
        if (mica_is_zero(mica_value_map_get(&pass->inputs, y)))
            mica_value_map_set(&pass->tangents, y, dy[i]);
    }
}

static void set_inputs(mica_tangent_pass *pass, const mica_value *inputs,
                       const mica_value *tangents, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        if (!mica_is_differentiable(inputs[i])) continue;
        mica_value before = mica_value_map_get(&pass->tangents, inputs[i]);
        mica_value_map_set(&pass->inputs, inputs[i], inputs[i]);
        mica_value_map_set(&pass->tangents, inputs[i], mica_sum_of(pass->g, before, tangents[i]));
    }
}

void mica_push_forward(mica_transform *t, mica_graph *g, bool joint, const mica_value *outputs,
                       int32_t n_outputs, const mica_value *inputs, const mica_value *tangents,
                       int32_t n_inputs, mica_value *out_tangents) {
    mica_tangent_pass pass = {.t = t, .g = g, .joint = joint};
    for (int32_t i = 0; i < n_outputs; i++) out_tangents[i] = MICA_NULL_VALUE;
    if (g->error) return;
    mica_value_map_init(&pass.inputs, t, g);
    mica_value_map_init(&pass.tangents, t, g);
    int32_t n_nodes = g->n_nodes;
    needed_values needed;
    mica_node **nodes = mica_transform_alloc(t, g, (size_t)n_nodes + 1, sizeof *nodes);
    if (!nodes || !find_needed(t, g, outputs, n_outputs, &needed)) return;
    memcpy(nodes, g->nodes, (size_t)n_nodes * sizeof *nodes);
    set_inputs(&pass, inputs, tangents, n_inputs);
    for (int32_t i = 0; i < n_nodes && !g->error; i++) {
        bool any = false;
        pass.wanted = needed.flags + needed.first[i];
        for (int32_t k = 0; k < nodes[i]->n_results; k++) any |= pass.wanted[k];
        if (any && nodes[i]->op != MICA_OP_PARAMETER) apply_rule(&pass, nodes[i]);
    }
    for (int32_t i = 0; i < n_outputs && !g->error; i++)
        out_tangents[i] = mica_value_map_get(&pass.tangents, outputs[i]);
}

static bool check_tangent(mica_graph *g, int32_t i, mica_value input, mica_value tangent) {
    if (mica_is_zero(tangent) || g->error) return !g->error;
    const mica_type *x = mica_value_type(input), *dx = mica_value_type(tangent);
    if (mica_type_is_differentiable(x) && mica_type_equal(x, dx)) return true;
    mica_graph_fail(g, MICA_INVALID("[jvp] tangent %d is %s and its input %s", i,
                                    mica_type_text(dx).chars, mica_type_text(x).chars));
    return false;
}

void mica_jvp(mica_graph *g, const mica_value *outputs, int32_t n_outputs, const mica_value *inputs,
              const mica_value *tangents, int32_t n_inputs, mica_value *out_tangents) {
    for (int32_t i = 0; i < n_outputs; i++) out_tangents[i] = MICA_NULL_VALUE;
    if (!mica_operands_check(g, "jvp", outputs, n_outputs) ||
        !mica_operands_check(g, "jvp", inputs, n_inputs))
        return;
    for (int32_t i = 0; i < n_inputs; i++) {
        if (!mica_is_zero(tangents[i]) && !mica_operands_check(g, "jvp", &tangents[i], 1)) return;
        if (!check_tangent(g, i, inputs[i], tangents[i])) return;
    }
    mica_transform t;
    mica_transform_init(&t);
    mica_node *last = mica_last_node(g);
    mica_push_forward(&t, g, true, outputs, n_outputs, inputs, tangents, n_inputs, out_tangents);
    mica_sweep(g, last, out_tangents, n_outputs);
    for (int32_t i = 0; g->error && i < n_outputs; i++) out_tangents[i] = MICA_NULL_VALUE;
    mica_transform_deinit(&t);
}
