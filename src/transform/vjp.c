/* The backward walk: linear nodes, from the last to the first, hand the cotangents of their results
 * to their linear operands. Cotangents of a value are added in the order the walk meets them, which
 * depends on the graph alone. */
#include <string.h>

#include "report/report.h"
#include "transform/rules.h"

/* Which nodes depend on placeholders, by position from `first` on. */
typedef struct linear_nodes {
    int32_t first, end;
    bool *flags;
} linear_nodes;

static bool is_linear(const linear_nodes *linear, mica_value v) {
    int32_t id = v.node->id;
    return id >= linear->first && id < linear->end && linear->flags[id - linear->first];
}

static bool find_linear(mica_transform *t, mica_graph *g, const mica_value *placeholders, int32_t n,
                        linear_nodes *out) {
    *out = (linear_nodes){.first = g->n_nodes, .end = g->n_nodes};
    for (int32_t i = 0; i < n; i++)
        if (placeholders[i].node && placeholders[i].node->id < out->first)
            out->first = placeholders[i].node->id;
    out->flags = mica_transform_alloc(t, g, (size_t)(out->end - out->first) + 1, sizeof(bool));
    if (!out->flags) return false;
    for (int32_t i = 0; i < n; i++)
        if (placeholders[i].node) out->flags[placeholders[i].node->id - out->first] = true;
    for (int32_t i = out->first; i < out->end; i++)
        for (int32_t k = 0; k < g->nodes[i]->n_operands; k++)
            out->flags[i - out->first] |= is_linear(out, g->nodes[i]->operands[k]);
    return true;
}

/* Cotangents on the way. Those of tensors are added up. Lists cannot be added, their length is not
 * known; a list's further cotangents wait in `more`, and the node that makes the list is transposed
 * once for each, which is the same since it is linear. */
typedef struct more_cotangents {
    struct more_cotangents *next;
    mica_value of, cotangent;
} more_cotangents;

typedef struct backward_pass {
    mica_transform *t;
    mica_graph *g;
    linear_nodes linear;
    mica_value_map cotangents;
    more_cotangents *more;
} backward_pass;

static void accumulate(backward_pass *pass, mica_value v, mica_value c) {
    if (mica_is_zero(c)) return;
    mica_value before = mica_value_map_get(&pass->cotangents, v);
    if (mica_is_zero(before) || mica_value_type(v)->kind == MICA_TENSOR) {
        mica_value sum = MICA_NULL_VALUE;
        if (!mica_is_zero(before)) sum = mica_join_strips(pass->g, before, c);
        if (mica_is_zero(sum)) sum = mica_sum_of(pass->g, before, c);
        mica_value_map_set(&pass->cotangents, v, sum);
        return;
    }
    more_cotangents *more = mica_transform_alloc(pass->t, pass->g, 1, sizeof *more);
    if (!more) return;
    *more = (more_cotangents){pass->more, v, c};
    pass->more = more;
}

/* dy and dx are n's, with dx null. */
static void apply_transpose(backward_pass *pass, const mica_node *n, const mica_value *dy,
                            const bool *linear, mica_value *dx) {
    mica_transpose_rules[n->op](pass->t, pass->g, n, dy, linear, dx);
    for (int32_t k = 0; k < n->n_operands && !pass->g->error; k++)
        if (linear[k]) accumulate(pass, n->operands[k], dx[k]);
}

static void transpose_node(backward_pass *pass, const mica_node *n) {
    mica_transform *t = pass->t;
    mica_graph *g = pass->g;
    size_t n_operands = (size_t)n->n_operands, n_results = (size_t)n->n_results;
    mica_value *dy = mica_transform_alloc(t, g, n_results + n_operands, sizeof *dy);
    bool *linear = mica_transform_alloc(t, g, n_operands + 1, sizeof *linear);
    if (!dy || !linear) return;
    mica_value *dx = dy + n_results;
    bool any = false;
    for (int32_t i = 0; i < n->n_results; i++) {
        dy[i] = mica_value_map_get(&pass->cotangents, mica_node_result(n, i));
        any |= !mica_is_zero(dy[i]);
    }
    if (!any) return;
    for (int32_t k = 0; k < n->n_operands; k++)
        linear[k] = is_linear(&pass->linear, n->operands[k]);
    apply_transpose(pass, n, dy, linear, dx);
    for (more_cotangents *m = pass->more; m && !g->error; m = m->next) {
        if (m->of.node != n) continue;
        memset(dy, 0, (n_results + n_operands) * sizeof *dy);
        dy[m->of.index] = m->cotangent;
        apply_transpose(pass, n, dy, linear, dx);
    }
}

void mica_pull_back(mica_transform *t, mica_graph *g, const mica_value *outputs,
                    const mica_value *cotangents, int32_t n_outputs, const mica_value *placeholders,
                    int32_t n, mica_value *out) {
    backward_pass pass = {.t = t, .g = g};
    for (int32_t i = 0; i < n; i++) out[i] = MICA_NULL_VALUE;
    if (g->error || !find_linear(t, g, placeholders, n, &pass.linear)) return;
    const linear_nodes *linear = &pass.linear;
    mica_value_map_init(&pass.cotangents, t, g);
    for (int32_t i = 0; i < n_outputs; i++) /* an output that is not linear is a zero tangent */
        if (outputs[i].node && is_linear(linear, outputs[i]))
            accumulate(&pass, outputs[i], cotangents[i]);
    for (int32_t i = linear->end - 1; i >= linear->first && !g->error; i--)
        if (linear->flags[i - linear->first] && g->nodes[i]->op != MICA_OP_PARAMETER) {
            int32_t line = mica_report_set_line(g->nodes[i]->line);
            transpose_node(&pass, g->nodes[i]);
            mica_report_set_line(line);
        }
    for (more_cotangents *m = pass.more; m && !g->error; m = m->next)
        for (int32_t i = 0; i < n; i++) /* here a single list is asked for */
            if (mica_value_same(m->of, placeholders[i]))
                mica_sum_of(g, mica_value_map_get(&pass.cotangents, m->of), m->cotangent);
    for (int32_t i = 0; i < n && !g->error; i++)
        out[i] = mica_value_map_get(&pass.cotangents, placeholders[i]);
}

/* ---- vjp --------------------------------------------------------------------------------------*/

void mica_vjp_inside(mica_transform *t, mica_graph *g, const mica_value *outputs,
                     const mica_value *cotangents, int32_t n_outputs, const mica_value *inputs,
                     int32_t n_inputs, mica_value *out_cotangents) {
    for (int32_t i = 0; i < n_inputs; i++) out_cotangents[i] = MICA_NULL_VALUE;
    size_t room = (size_t)n_inputs + 3 * (size_t)n_outputs + 1;
    mica_value *placeholders = mica_transform_alloc(t, g, room, sizeof *placeholders);
    if (!placeholders || g->error) return;
    mica_value *live = placeholders + n_inputs, *dy = live + n_outputs, *tangents = dy + n_outputs;
    int32_t n_live = 0;
    for (int32_t i = 0; i < n_outputs; i++) {
        if (mica_is_zero(cotangents[i])) continue;
        live[n_live] = outputs[i];
        dy[n_live++] = cotangents[i];
    }
    for (int32_t i = 0; i < n_inputs; i++) { /* one placeholder per value */
        for (int32_t k = 0; k < i; k++)
            if (mica_value_same(inputs[i], inputs[k])) placeholders[i] = placeholders[k];
        if (placeholders[i].node || !mica_is_differentiable(inputs[i])) continue;
        placeholders[i] = mica_placeholder(g, mica_value_type(inputs[i]));
    }
    mica_value *given = mica_transform_alloc(t, g, (size_t)n_inputs + 1, sizeof *given);
    if (!given) return;
    for (int32_t i = 0; i < n_inputs; i++) {
        given[i] = placeholders[i];
        for (int32_t k = 0; k < i; k++)
            if (mica_value_same(inputs[i], inputs[k])) given[i] = MICA_NULL_VALUE;
    }
    mica_push_forward(t, g, false, live, n_live, inputs, given, n_inputs, tangents);
    mica_pull_back(t, g, tangents, dy, n_live, placeholders, n_inputs, out_cotangents);
}

static bool check_cotangents(mica_graph *g, const mica_value *outputs, const mica_value *cotangents,
                             int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        if (mica_is_zero(cotangents[i])) continue;
        if (!mica_operands_check(g, "vjp", &cotangents[i], 1)) return false;
        const mica_type *y = mica_value_type(outputs[i]), *dy = mica_value_type(cotangents[i]);
        if (mica_type_is_differentiable(y) && mica_type_equal(y, dy)) continue;
        mica_graph_fail(g, MICA_INVALID("[vjp] cotangent %d is %s and its output %s", i,
                                        mica_type_text(dy).chars, mica_type_text(y).chars));
        return false;
    }
    return true;
}

void mica_vjp(mica_graph *g, const mica_value *outputs, const mica_value *cotangents,
              int32_t n_outputs, const mica_value *inputs, int32_t n_inputs,
              mica_value *out_cotangents) {
    MICA_GIVEN_TO(g, MICA_MANY(out_cotangents, n_inputs));
    for (int32_t i = 0; i < n_inputs; i++) out_cotangents[i] = MICA_NULL_VALUE;
    if (!mica_operands_check(g, "vjp", outputs, n_outputs) ||
        !mica_operands_check(g, "vjp", inputs, n_inputs) ||
        !check_cotangents(g, outputs, cotangents, n_outputs))
        return;
    mica_transform t;
    mica_transform_init(&t);
    mica_node *last = mica_last_node(g);
    mica_vjp_inside(&t, g, outputs, cotangents, n_outputs, inputs, n_inputs, out_cotangents);
    mica_sweep(g, last, out_cotangents, n_inputs);
    for (int32_t i = 0; g->error && i < n_inputs; i++) out_cotangents[i] = MICA_NULL_VALUE;
    mica_transform_deinit(&t);
}

void mica_gradient(mica_graph *g, mica_value scalar, const mica_value *inputs, int32_t n_inputs,
                   mica_value *out_gradients) {
    MICA_GIVEN_TO(g, MICA_MANY(out_gradients, n_inputs));
    for (int32_t i = 0; i < n_inputs; i++) out_gradients[i] = MICA_NULL_VALUE;
    if (!mica_operands_check(g, "gradient", &scalar, 1) ||
        !mica_operands_check(g, "gradient", inputs, n_inputs))
        return;
    const mica_type *type = mica_value_type(scalar);
    if (type->kind != MICA_TENSOR || type->rank != 0 ||
        mica_dtype_kind_of(type->dtype) != MICA_KIND_FLOAT) {
        mica_graph_fail(g, MICA_INVALID("[gradient] of a float scalar only, not of %s",
                                        mica_type_text(type).chars));
        return;
    }
    for (int32_t i = 0; i < n_inputs; i++) {
        const mica_type *x = mica_value_type(inputs[i]);
        if (x->kind != MICA_TOKEN) continue;
        mica_graph_fail(g, MICA_INVALID("[gradient] input %d is a token", i));
        return;
    }
    mica_value one = mica_scalar(g, type->dtype, 1.0);
    mica_vjp(g, &scalar, &one, 1, inputs, n_inputs, out_gradients);
    for (int32_t i = 0; i < n_inputs && !g->error; i++)
        out_gradients[i] = mica_or_zeros(g, out_gradients[i], mica_value_type(inputs[i]));
}
