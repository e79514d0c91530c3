/* The forward walk: every node between inputs and outputs appends the tangents of its results. */
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "transform/rules.h"

/* A node that outputs depend on, and which of its results they do. */
typedef struct needed_node {
    mica_node *node;
    bool *wanted;
} needed_node;

typedef struct needed_nodes {
    mica_tangent_pass *pass;
    needed_node *data;
    int32_t n, capacity;
    int32_t first;         /* position of the first node that depends on an input */
    mica_value_map places; /* index: 1 + a node's place in data */
} needed_nodes;

/* The place of a node; a new one is added. NULL with a sticky error. */
static needed_node *needed_of(needed_nodes *s, mica_node *node) {
    mica_transform *t = s->pass->t;
    mica_graph *g = s->pass->g;
    mica_value key = {node, 0}, known = mica_value_map_get(&s->places, key);
    if (known.node) return &s->data[known.index];
    if (s->n == s->capacity) {
        int32_t larger = s->capacity ? 2 * s->capacity : 32;
        needed_node *data = mica_transform_alloc(t, g, (size_t)larger, sizeof *data);
        if (!data) return NULL;
        if (s->n) memcpy(data, s->data, (size_t)s->n * sizeof *data);
        s->data = data;
        s->capacity = larger;
    }
    bool *wanted = mica_transform_alloc(t, g, (size_t)node->n_results + 1, sizeof *wanted);
    if (!wanted) return NULL;
    mica_value_map_set(&s->places, key, (mica_value){node, s->n});
    if (g->error) return NULL;
    s->data[s->n] = (needed_node){node, wanted};
    return &s->data[s->n++];
}

/* Inputs are held, and what is before all of them does not depend on any. After an error nothing
 * is looked up: a place may have been noted that was not filled. */
static void need(needed_nodes *s, mica_value v) {
    if (s->pass->g->error || !v.node || v.node->id < s->first || v.node->op == MICA_OP_PARAMETER ||
        !mica_is_zero(mica_value_map_get(&s->pass->inputs, v)))
        return;
    needed_node *place = needed_of(s, v.node);
    if (place) place->wanted[v.index] = true;
}

static int by_position(const void *a, const void *b) {
    int32_t x = ((const needed_node *)a)->node->id, y = ((const needed_node *)b)->node->id;
    return (x > y) - (x < y);
}

/* The nodes between the pass's inputs and outputs, in the order of the graph. What is looked at is
 * no more than these and what else outputs depend on after the first input, so that many
 * derivatives in one large graph cost what they are of. */
static bool find_needed(needed_nodes *s, const mica_value *outputs, int32_t n_outputs,
                        const mica_value *inputs, int32_t n_inputs) {
    s->first = INT32_MAX;
    for (int32_t i = 0; i < n_inputs; i++)
        if (inputs[i].node && inputs[i].node->id < s->first) s->first = inputs[i].node->id;
    mica_value_map_init(&s->places, s->pass->t, s->pass->g);
    for (int32_t i = 0; i < n_outputs; i++) need(s, outputs[i]);
    for (int32_t i = 0; i < s->n && !s->pass->g->error; i++) {
        const mica_node *node = s->data[i].node;
        for (int32_t k = 0; k < node->n_operands; k++) need(s, node->operands[k]);
    }
    if (s->n > 1) qsort(s->data, (size_t)s->n, sizeof *s->data, by_position);
    return !s->pass->g->error;
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
    set_inputs(&pass, inputs, tangents, n_inputs);
    needed_nodes needed = {.pass = &pass};
    if (!find_needed(&needed, outputs, n_outputs, inputs, n_inputs)) return;
    for (int32_t i = 0; i < needed.n && !g->error; i++) {
        pass.wanted = needed.data[i].wanted;
        int32_t line = mica_report_set_line(needed.data[i].node->line);
        apply_rule(&pass, needed.data[i].node);
        mica_report_set_line(line);
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
    MICA_GIVEN_TO(g, MICA_MANY(out_tangents, n_outputs));
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
