/* Cutting a region in two: see partial.h. */
#include "transform/partial.h"

#include <string.h>

#include "transform/rules.h"

enum {
    PRIMAL,
    LINEAR,     /* depends on a placeholder */
    RECOMPUTED, /* cloned next to the linear nodes */
};

/* What a primal value depends on. */
enum { CONSTANT_ONLY = 0, INVARIANT = 1, VARYING = 2 };

static uint8_t *find_dependence(mica_split *s, const bool *invariant) {
    mica_graph *p = s->primal;
    uint8_t *depends = mica_transform_alloc(s->t, s->g, (size_t)p->n_nodes + 1, 1);
    if (!depends) return NULL;
    for (int32_t i = 0; i < s->n_parameters; i++)
        depends[p->parameters[i].node->id] = invariant && invariant[i] ? INVARIANT : VARYING;
    for (int32_t i = 0; i < s->n_parameters; i++)
        if (s->placeholders[i].node) depends[s->placeholders[i].node->id] = VARYING;
    for (int32_t i = 0; i < p->n_nodes; i++)
        for (int32_t k = 0; k < p->nodes[i]->n_operands; k++) {
            uint8_t operand = depends[p->nodes[i]->operands[k].node->id];
            if (operand > depends[i]) depends[i] = operand;
            if (mica_node_has_effects(p->nodes[i])) depends[i] = VARYING;
        }
    return depends;
}

static void find_linear_roles(mica_split *s) {
    mica_graph *p = s->primal;
    for (int32_t i = 0; i < s->n_parameters; i++)
        if (s->placeholders[i].node) s->roles[s->placeholders[i].node->id] = LINEAR;
    for (int32_t i = 0; i < p->n_nodes; i++)
        for (int32_t k = 0; k < p->nodes[i]->n_operands; k++)
            if (s->roles[p->nodes[i]->operands[k].node->id] == LINEAR) s->roles[i] = LINEAR;
    for (int32_t i = 0; i < s->n_outputs; i++) /* a tangent that depends on none is zero */
        if (s->tangents[i].node && s->roles[s->tangents[i].node->id] != LINEAR)
            s->tangents[i] = MICA_NULL_VALUE;
}

static bool uses_a_list(const mica_node *n, const bool *used) {
    for (int32_t i = 0; i < n->n_results; i++)
        if (used[i] && n->results[i].kind == MICA_LIST) return true;
    return false;
}

/* Cheap to compute again, or impossible to keep; effects happen once. A list is not hoisted out of
 * a loop either: its cotangents could not be added up. used: per result. */
static bool is_recomputed(const mica_split *s, const mica_node *n, const bool *used,
                          uint8_t depends) {
    if (n->op == MICA_OP_PARAMETER || mica_node_has_effects(n)) return false;
    if (depends == CONSTANT_ONLY || n->op == MICA_OP_broadcast) return true;
    return s->kind != MICA_SPLIT_CALL && uses_a_list(n, used);
}

/* Result k of n is kept. Loops keep tensors only, unless every iteration has the same. */
static bool add_residual(mica_split *s, const mica_node *n, int32_t k, bool invariant) {
    mica_residual r = {.value = mica_node_result(n, k), .parameter = -1, .invariant = invariant};
    for (int32_t i = 0; i < s->n_parameters; i++)
        if (mica_value_same(s->primal->parameters[i], r.value)) r.parameter = i;
    s->residuals[s->n_residuals++] = r;
    if (s->kind != MICA_SPLIT_LOOP || invariant || n->results[k].kind == MICA_TENSOR) return true;
    mica_graph_fail(s->g, MICA_ERROR(MICA_UNSUPPORTED,
                                     "[vjp] the backward pass of a loop needs the %s of each "
                                     "iteration's %s, and can neither keep nor repeat it",
                                     mica_type_text(&n->results[k]).chars, mica_op_name(n->op)));
    return false;
}

static void reverse_residuals(mica_split *s) {
    for (int32_t i = 0, k = s->n_residuals - 1; i < k; i++, k--) {
        mica_residual swap = s->residuals[i];
        s->residuals[i] = s->residuals[k];
        s->residuals[k] = swap;
    }
}

/* Walks backwards: linear and recomputed nodes use their operands; of a used primal node either the
 * used results are kept or it is recomputed. */
static bool find_residuals(mica_split *s, const uint8_t *depends) {
    mica_graph *p = s->primal;
    int32_t room = 0;
    for (int32_t i = 0; i < p->n_nodes; i++) room += p->nodes[i]->n_results;
    bool *used = mica_transform_alloc(s->t, s->g, (size_t)room + 1, sizeof *used);
    int32_t *first = mica_transform_alloc(s->t, s->g, (size_t)p->n_nodes + 1, sizeof *first);
    s->residuals = mica_transform_alloc(s->t, s->g, (size_t)room + 1, sizeof *s->residuals);
    if (!used || !first || !s->residuals) return false;
    for (int32_t i = 0; i < p->n_nodes; i++) first[i + 1] = first[i] + p->nodes[i]->n_results;
    for (int32_t i = p->n_nodes; i-- > 0;) {
        const mica_node *n = p->nodes[i];
        bool any = false, invariant = s->kind == MICA_SPLIT_LOOP && depends[i] < VARYING;
        for (int32_t k = 0; k < n->n_results; k++) any |= used[first[i] + k];
        if (s->roles[i] == PRIMAL && !any) continue;
        if (s->roles[i] == PRIMAL && is_recomputed(s, n, used + first[i], depends[i]))
            s->roles[i] = RECOMPUTED;
        for (int32_t k = 0; s->roles[i] == PRIMAL && k < n->n_results; k++)
            if (used[first[i] + k] && !add_residual(s, n, k, invariant)) return false;
        for (int32_t k = 0; s->roles[i] != PRIMAL && k < n->n_operands; k++)
            used[first[n->operands[k].node->id] + n->operands[k].index] = true;
    }
    reverse_residuals(s); /* to the order they are computed in */
    return true;
}

static bool clone_body(mica_split *s, const mica_graph *body, mica_value *outputs) {
    mica_value *parameters =
        mica_transform_alloc(s->t, s->g, (size_t)s->n_parameters + 1, sizeof *parameters);
    s->primal = mica_region_create(s->g, body->name);
    if (!parameters || !s->primal) return false;
    mica_region_parameters(s->primal, body->parameters, s->n_parameters, parameters);
    mica_inline(s->primal, body, parameters, s->n_parameters, outputs);
    s->last = mica_last_node(s->primal);
    mica_region_output(s->primal, outputs, s->n_outputs);
    return mica_region_check(s->g, s->primal);
}

bool mica_split_begin(mica_split *s, mica_split_kind kind, mica_transform *t, mica_graph *g,
                      const mica_graph *body, const bool *active, const bool *invariant,
                      const bool *wanted) {
    *s = (mica_split){.kind = kind,
                      .t = t,
                      .g = g,
                      .n_parameters = body->n_parameters,
                      .n_outputs = body->n_outputs};
    if (g->error) return false;
    size_t n_parameters = (size_t)s->n_parameters, n_outputs = (size_t)s->n_outputs;
    s->placeholders = mica_transform_alloc(t, g, n_parameters + 1, sizeof(mica_value));
    s->tangents = mica_transform_alloc(t, g, n_outputs + 1, sizeof(mica_value));
    mica_value *outputs = mica_transform_alloc(t, g, n_outputs + 1, sizeof *outputs);
    if (!s->placeholders || !s->tangents || !outputs || !clone_body(s, body, outputs)) return false;
    mica_graph *p = s->primal;
    for (int32_t i = 0; i < s->n_parameters; i++)
        if (active[i]) s->placeholders[i] = mica_placeholder(p, mica_value_type(p->parameters[i]));
    for (int32_t i = 0; wanted && i < s->n_outputs; i++)
        if (!wanted[i]) outputs[i] = MICA_NULL_VALUE;
    mica_push_forward(t, p, false, outputs, s->n_outputs, p->parameters, s->placeholders,
                      s->n_parameters, s->tangents);
    if (!mica_region_check(g, p)) return false;
    s->n_nodes = p->n_nodes;
    s->nodes = mica_transform_alloc(t, g, (size_t)p->n_nodes + 1, sizeof *s->nodes);
    s->roles = mica_transform_alloc(t, g, (size_t)p->n_nodes + 1, sizeof *s->roles);
    uint8_t *depends = find_dependence(s, invariant);
    if (!s->nodes || !s->roles || !depends) return false;
    memcpy(s->nodes, p->nodes, (size_t)p->n_nodes * sizeof *s->nodes);
    find_linear_roles(s);
    return find_residuals(s, depends);
}

void mica_split_tangent(mica_split *s, mica_graph *to, const mica_value *residuals,
                        const mica_value *tangents, mica_value *out) {
    mica_value_map map;
    mica_value_map_init(&map, s->t, to);
    for (int32_t i = 0; i < s->n_outputs; i++) out[i] = MICA_NULL_VALUE;
    for (int32_t i = 0; i < s->n_residuals; i++)
        mica_value_map_set(&map, s->residuals[i].value, residuals[i]);
    for (int32_t i = 0; i < s->n_parameters; i++)
        if (s->placeholders[i].node) mica_value_map_set(&map, s->placeholders[i], tangents[i]);
    for (int32_t i = 0; i < s->n_nodes && !to->error; i++) {
        const mica_node *n = s->nodes[i];
        if (s->roles[i] == PRIMAL || n->op == MICA_OP_PARAMETER) continue;
        mica_value *operands =
            mica_transform_alloc(s->t, to, (size_t)n->n_operands + 1, sizeof *operands);
        if (!operands) return;
        for (int32_t k = 0; k < n->n_operands; k++)
            operands[k] = mica_value_map_get(&map, n->operands[k]);
        mica_node *copy = mica_node_clone(to, n, operands);
        for (int32_t k = 0; copy && k < n->n_results; k++)
            mica_value_map_set(&map, mica_node_result(n, k), mica_node_result(copy, k));
    }
    for (int32_t i = 0; i < s->n_outputs && !to->error; i++)
        out[i] = mica_value_map_get(&map, s->tangents[i]);
}

mica_value mica_split_hoist(mica_split *s, int32_t i, const mica_value *operands) {
    mica_value wanted = s->residuals[i].value;
    if (s->residuals[i].parameter >= 0) return operands[s->residuals[i].parameter];
    int32_t end = wanted.node->id + 1;
    bool *needed = mica_transform_alloc(s->t, s->g, (size_t)end, sizeof *needed);
    if (!needed) return MICA_NULL_VALUE;
    needed[end - 1] = true;
    mica_value_map map;
    mica_value_map_init(&map, s->t, s->g);
    for (int32_t k = end; k-- > 0;)
        for (int32_t j = 0; needed[k] && j < s->primal->nodes[k]->n_operands; j++)
            needed[s->primal->nodes[k]->operands[j].node->id] = true;
    for (int32_t k = 0; k < s->n_parameters; k++)
        mica_value_map_set(&map, s->primal->parameters[k], operands[k]);
    for (int32_t k = 0; k < end && !s->g->error; k++) {
        const mica_node *n = s->primal->nodes[k];
        if (!needed[k] || n->op == MICA_OP_PARAMETER) continue;
        mica_value *inputs =
            mica_transform_alloc(s->t, s->g, (size_t)n->n_operands + 1, sizeof *inputs);
        if (!inputs) return MICA_NULL_VALUE;
        for (int32_t j = 0; j < n->n_operands; j++)
            inputs[j] = mica_value_map_get(&map, n->operands[j]);
        mica_node *copy = mica_node_clone(s->g, n, inputs);
        for (int32_t j = 0; copy && j < n->n_results; j++)
            mica_value_map_set(&map, mica_node_result(n, j), mica_node_result(copy, j));
    }
    return mica_value_map_get(&map, wanted);
}

bool mica_split_end(mica_split *s) {
    if (!mica_region_check(s->g, s->primal)) return false;
    mica_sweep(s->primal, s->last, NULL, 0);
    return mica_region_check(s->g, s->primal);
}

void mica_split_deinit(mica_split *s) {
    mica_graph_release(s->primal);
    s->primal = NULL;
}

/* ---- activity ---------------------------------------------------------------------------------
 * An upper bound: a node's results of float type are active when an operand is, except that loops
 * are looked into, so that one carry does not drag in all others. */

static bool widen_loop(mica_transform *t, mica_graph *g, const mica_node *n, const bool *operands,
                       bool *results);

static bool results_of(mica_transform *t, mica_graph *g, const mica_node *n, const bool *operands,
                       bool *results) {
    bool any = false;
    for (int32_t k = 0; k < n->n_operands; k++) any |= operands[k];
    if (!any || n->op == MICA_OP_PARAMETER || mica_op_is_constant(n->op)) return true;
    if (n->op == MICA_OP_while || n->op == MICA_OP_scan)
        return widen_loop(t, g, n, operands, results);
    for (int32_t k = 0; k < n->n_results; k++)
        results[k] = mica_type_is_differentiable(&n->results[k]);
    return true;
}

/* One walk: out_active from active. */
static bool find_active_once(mica_transform *t, mica_graph *g, const mica_graph *body,
                             const bool *active, bool *out_active) {
    int32_t room = 0, widest = 0;
    for (int32_t i = 0; i < body->n_nodes; i++) {
        room += body->nodes[i]->n_results;
        if (body->nodes[i]->n_operands > widest) widest = body->nodes[i]->n_operands;
    }
    bool *flags = mica_transform_alloc(t, g, (size_t)(room + widest) + 1, sizeof *flags);
    int32_t *first = mica_transform_alloc(t, g, (size_t)body->n_nodes + 1, sizeof *first);
    if (!flags || !first) return false;
    bool *operands = flags + room;
    for (int32_t i = 0; i < body->n_nodes; i++) first[i + 1] = first[i] + body->nodes[i]->n_results;
    for (int32_t i = 0; i < body->n_parameters; i++)
        flags[first[body->parameters[i].node->id]] = active[i];
    for (int32_t i = 0; i < body->n_nodes; i++) {
        const mica_node *n = body->nodes[i];
        for (int32_t k = 0; k < n->n_operands; k++)
            operands[k] = flags[first[n->operands[k].node->id] + n->operands[k].index];
        if (!results_of(t, g, n, operands, flags + first[i])) return false;
    }
    for (int32_t i = 0; i < body->n_outputs; i++)
        out_active[i] = flags[first[body->outputs[i].node->id] + body->outputs[i].index];
    return true;
}

bool mica_find_active(mica_transform *t, mica_graph *g, const mica_graph *body, bool *active,
                      int32_t consts, int32_t carry, bool *out_active) {
    for (bool changed = true; changed;) {
        changed = false;
        if (!find_active_once(t, g, body, active, out_active)) return false;
        for (int32_t i = 0; i < carry; i++) {
            if (!out_active[i] || active[consts + i]) continue;
            active[consts + i] = changed = true;
        }
    }
    return true;
}

static bool widen_loop(mica_transform *t, mica_graph *g, const mica_node *n, const bool *operands,
                       bool *results) {
    const mica_graph *body = n->regions[n->op == MICA_OP_while ? 1 : 0];
    int32_t consts = (int32_t)mica_node_int(n, "consts");
    int32_t carry = n->op == MICA_OP_while ? n->n_results : (int32_t)mica_node_int(n, "carry");
    bool *active = mica_transform_alloc(t, g, (size_t)n->n_operands + 1, sizeof *active);
    if (!active) return false;
    memcpy(active, operands, (size_t)n->n_operands * sizeof *active);
    if (!mica_find_active(t, g, body, active, consts, carry, results)) return false;
    for (int32_t i = 0; i < carry; i++) results[i] |= active[consts + i];
    return true;
}

/* ---- whole graphs -----------------------------------------------------------------------------*/

mica_graph *mica_transpose_graph(mica_transform *t, mica_graph *g, const mica_graph *f,
                                 const bool *linear, const bool *given, mica_value *out) {
    size_t room = 2 * (size_t)f->n_parameters + 3 * (size_t)f->n_outputs + 1;
    mica_value *operands = mica_transform_alloc(t, g, room, sizeof *operands);
    mica_graph *region = operands ? mica_region_create(g, f->name) : NULL;
    if (!region) return NULL;
    mica_value *placeholders = operands + f->n_parameters,
               *results = placeholders + f->n_parameters;
    mica_value *cotangents = results + f->n_outputs;
    int32_t n_linear = 0;
    for (int32_t i = 0; i < f->n_parameters; i++)
        if (!linear[i]) operands[i] = mica_parameter(region, mica_value_type(f->parameters[i]));
    for (int32_t i = 0; i < f->n_outputs; i++)
        if (given[i]) cotangents[i] = mica_parameter(region, mica_value_type(f->outputs[i]));
    mica_node *last = mica_last_node(region);
    for (int32_t i = 0; i < f->n_parameters; i++) {
        if (!linear[i]) continue;
        operands[i] = mica_placeholder(region, mica_value_type(f->parameters[i]));
        placeholders[n_linear++] = operands[i];
    }
    mica_inline(region, f, operands, f->n_parameters, results);
    mica_pull_back(t, region, results, cotangents, f->n_outputs, placeholders, n_linear, out);
    mica_sweep(region, last, out, n_linear);
    if (mica_region_check(g, region)) return region;
    mica_graph_release(region);
    return NULL;
}

mica_graph *mica_jvp_graph(mica_transform *t, mica_graph *g, const mica_graph *body,
                           const bool *active, const bool *want, bool with_outputs) {
    size_t room = 2 * (size_t)body->n_parameters + 2 * (size_t)body->n_outputs + 1;
    mica_value *parameters = mica_transform_alloc(t, g, room, sizeof *parameters);
    mica_graph *region = parameters ? mica_region_create(g, body->name) : NULL;
    if (!region) return NULL;
    mica_value *tangents = parameters + body->n_parameters;
    mica_value *outputs = tangents + body->n_parameters, *results = outputs + body->n_outputs;
    mica_region_parameters(region, body->parameters, body->n_parameters, parameters);
    for (int32_t i = 0; i < body->n_parameters; i++)
        if (active[i]) tangents[i] = mica_parameter(region, mica_value_type(parameters[i]));
    mica_node *last = mica_last_node(region);
    mica_inline(region, body, parameters, body->n_parameters, outputs);
    if (with_outputs) mica_region_output(region, outputs, body->n_outputs);
    mica_push_forward(t, region, true, outputs, body->n_outputs, parameters, tangents,
                      body->n_parameters, results);
    for (int32_t i = 0; i < body->n_outputs && !region->error; i++) {
        const mica_type *type = mica_value_type(outputs[i]);
        if (want ? want[i] : mica_type_is_differentiable(type))
            mica_output(region, mica_or_zeros(region, results[i], type));
    }
    mica_sweep(region, last, NULL, 0);
    if (mica_region_check(g, region)) return region;
    mica_graph_release(region);
    return NULL;
}
