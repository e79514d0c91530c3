/* Derivatives of scan.
 *
 * Backward: the body also returns its residuals, stacked as ys. Residuals that are the same in
 * every iteration are constants of the tangent scan, xs that are residuals go in as they came. The
 * tangent scan is linear in its trailing constants, its carry and its trailing xs; its transpose is
 * a scan the other way that carries the cotangents of carry and constants. */
#include <string.h>

#include "transform/partial.h"
#include "transform/rules.h"

typedef struct scan_shape {
    int32_t consts, carry, xs, ys;
    int64_t length;
    bool reverse;
} scan_shape;

static scan_shape shape_of(const mica_node *n) {
    scan_shape s = {.consts = (int32_t)mica_node_int(n, "consts"),
                    .carry = (int32_t)mica_node_int(n, "carry"),
                    .length = mica_node_int(n, "length"),
                    .reverse = mica_node_int(n, "reverse") != 0};
    s.xs = n->n_operands - s.consts - s.carry;
    s.ys = n->n_results - s.carry;
    return s;
}

static mica_node *make_scan(mica_graph *g, mica_graph *body, const mica_value *operands, int32_t n,
                            int32_t consts, int32_t carry, int64_t length, bool reverse) {
    mica_attr attrs[] = {mica_attr_int(consts), mica_attr_int(carry), mica_attr_int(length),
                         mica_attr_int(reverse)};
    return mica_node_create(g, MICA_OP_scan, operands, n, attrs, &body, 1);
}

/* ---- the linearized scan ----------------------------------------------------------------------*/

typedef struct linear_scan {
    mica_transform *t;
    mica_graph *g;
    mica_node *n;
    scan_shape shape;
    bool *active;  /* per operand */
    bool *results; /* per output of the body */
    bool *wanted;  /* the same: every carry, and ys that are asked for */
    mica_split split;
    int32_t n_old_results;
    /* Being put together: the tangent body with its parameters' meaning, and the operands. */
    mica_graph *body;
    mica_value *residuals, *tangents; /* in the tangent body */
    mica_value *operands;
    int32_t n_operands, n_consts, n_carry;
} linear_scan;

static bool is_stacked(const linear_scan *l, const mica_residual *r) {
    return !r->invariant && r->parameter < l->shape.consts + l->shape.carry;
}

/* The primal scan returns its stacked residuals; afterwards they are its last results. */
static bool extend_scan(linear_scan *l) {
    mica_split *s = &l->split;
    int32_t before = l->n->n_results;
    for (int32_t i = 0; i < s->n_residuals; i++)
        if (is_stacked(l, &s->residuals[i])) mica_output(s->primal, s->residuals[i].value);
    if (!mica_split_end(s)) return false;
    mica_graph *regions[] = {s->primal};
    if (s->primal->n_outputs > before)
        mica_node_extend(l->n, l->n->operands, l->n->n_operands, l->n->attrs, regions, 1);
    return !l->g->error;
}

static mica_value add_operand(linear_scan *l, mica_value operand, const mica_type *inside) {
    l->operands[l->n_operands++] = operand;
    return mica_parameter(l->body, inside);
}

/* Constants: invariant residuals, tangents of constants. Then the carry's tangents. */
static void add_constants(linear_scan *l, const mica_value *hoisted, const mica_value *dx) {
    mica_split *s = &l->split;
    for (int32_t i = 0; i < s->n_residuals; i++)
        if (s->residuals[i].invariant)
            l->residuals[i] = add_operand(l, hoisted[i], mica_value_type(hoisted[i]));
    for (int32_t i = 0; i < l->shape.consts; i++)
        if (l->active[i]) l->tangents[i] = add_operand(l, dx[i], mica_value_type(dx[i]));
    l->n_consts = l->n_operands;
    for (int32_t i = l->shape.consts; i < l->shape.consts + l->shape.carry; i++) {
        const mica_type *type = mica_operand_type(l->n, i);
        if (l->active[i]) l->tangents[i] = add_operand(l, mica_or_zeros(l->g, dx[i], type), type);
    }
    l->n_carry = l->n_operands - l->n_consts;
}

/* xs: residuals that are xs or were stacked, tangents of xs. */
static void add_xs(linear_scan *l, const mica_value *dx) {
    mica_split *s = &l->split;
    int32_t stacked = l->n_old_results;
    for (int32_t i = 0; i < s->n_residuals; i++) {
        const mica_residual *r = &s->residuals[i];
        if (r->invariant) continue;
        mica_value operand =
            is_stacked(l, r) ? mica_node_result(l->n, stacked++) : l->n->operands[r->parameter];
        l->residuals[i] = add_operand(l, operand, mica_value_type(r->value));
    }
    for (int32_t i = l->shape.consts + l->shape.carry; i < l->n->n_operands; i++)
        if (l->active[i])
            l->tangents[i] = add_operand(l, dx[i], mica_value_type(s->primal->parameters[i]));
}

static void emit_tangent_scan(linear_scan *l, mica_value *dy) {
    mica_split *s = &l->split;
    mica_value *out = mica_transform_alloc(l->t, l->g, (size_t)s->n_outputs + 1, sizeof *out);
    if (!out) return;
    mica_split_tangent(s, l->body, l->residuals, l->tangents, out);
    for (int32_t i = 0; i < s->n_outputs && !l->body->error; i++) {
        bool is_carry = i < l->shape.carry;
        l->results[i] = is_carry ? l->active[l->shape.consts + i] : !mica_is_zero(out[i]);
        if (l->results[i])
            mica_output(l->body,
                        mica_or_zeros(l->body, out[i], mica_value_type(s->primal->outputs[i])));
    }
    if (!mica_region_check(l->g, l->body)) return;
    mica_node *tangent = make_scan(l->g, l->body, l->operands, l->n_operands, l->n_consts,
                                   l->n_carry, l->shape.length, l->shape.reverse);
    for (int32_t i = 0, k = 0; tangent && i < s->n_outputs; i++)
        if (l->results[i]) dy[i] = mica_node_result(tangent, k++);
}

static bool linear_scan_init(linear_scan *l, mica_tangent_pass *pass, mica_node *n,
                             const mica_value *dx) {
    *l = (linear_scan){
        .t = pass->t, .g = pass->g, .n = n, .shape = shape_of(n), .n_old_results = n->n_results};
    size_t n_operands = (size_t)n->n_operands;
    l->active = mica_transform_alloc(l->t, l->g, n_operands + 1, sizeof *l->active);
    l->results = mica_transform_alloc(l->t, l->g, (size_t)n->n_results + 1, sizeof *l->results);
    l->wanted = mica_transform_alloc(l->t, l->g, (size_t)n->n_results + 1, sizeof *l->wanted);
    if (!l->active || !l->results || !l->wanted) return false;
    for (int32_t i = 0; i < n->n_results; i++) l->wanted[i] = i < l->shape.carry || pass->wanted[i];
    for (int32_t i = 0; i < n->n_operands; i++) l->active[i] = !mica_is_zero(dx[i]);
    return mica_find_active(l->t, l->g, n->regions[0], l->active, l->shape.consts, l->shape.carry,
                            l->results);
}

/* Splits the body, with the loop's constants as invariants. */
static bool split_scan(linear_scan *l) {
    bool *invariant =
        mica_transform_alloc(l->t, l->g, (size_t)l->n->n_operands + 1, sizeof *invariant);
    if (!invariant) return false;
    for (int32_t i = 0; i < l->shape.consts; i++) invariant[i] = true;
    if (!mica_split_begin(&l->split, MICA_SPLIT_LOOP, l->t, l->g, l->n->regions[0], l->active,
                          invariant, l->wanted))
        return false;
    size_t n_residuals = (size_t)l->split.n_residuals, n_operands = (size_t)l->n->n_operands;
    l->residuals = mica_transform_alloc(l->t, l->g, n_residuals + 1, sizeof *l->residuals);
    l->tangents = mica_transform_alloc(l->t, l->g, n_operands + 1, sizeof *l->tangents);
    l->operands =
        mica_transform_alloc(l->t, l->g, n_residuals + n_operands + 1, sizeof *l->operands);
    l->body = mica_region_create(l->g, l->split.primal->name);
    return l->residuals && l->tangents && l->operands && l->body;
}

static bool hoist_constants(linear_scan *l, mica_value **out) {
    mica_split *s = &l->split;
    mica_value *hoisted =
        mica_transform_alloc(l->t, l->g, (size_t)s->n_residuals + 1, sizeof *hoisted);
    if (!hoisted) return false;
    for (int32_t i = 0; i < s->n_residuals; i++)
        if (s->residuals[i].invariant) hoisted[i] = mica_split_hoist(s, i, l->n->operands);
    *out = hoisted;
    return !l->g->error;
}

static void linearize_scan(mica_tangent_pass *pass, mica_node *n, const mica_value *dx,
                           mica_value *dy) {
    linear_scan l;
    mica_value *hoisted;
    if (!linear_scan_init(&l, pass, n, dx)) return;
    if (split_scan(&l) && hoist_constants(&l, &hoisted) && extend_scan(&l)) {
        add_constants(&l, hoisted, dx);
        add_xs(&l, dx);
        emit_tangent_scan(&l, dy);
    }
    mica_split_deinit(&l.split);
    mica_graph_release(l.body);
}

/* ---- forward mode -----------------------------------------------------------------------------*/

/* A scan over (constants, their tangents), (carry, tangents), (xs, tangents) with the body's jvp.
 */
static mica_graph *joint_body(linear_scan *l) {
    const mica_graph *body = l->n->regions[0];
    int32_t n = body->n_parameters, n_outputs = body->n_outputs;
    const int32_t ends[] = {l->shape.consts, l->shape.consts + l->shape.carry, n};
    mica_graph *jvp = mica_jvp_graph(l->t, l->g, body, l->active, l->results, true);
    mica_graph *region = jvp ? mica_region_create(l->g, body->name) : NULL;
    size_t room = 2 * (size_t)(n + n_outputs) + 1;
    mica_value *operands = mica_transform_alloc(l->t, l->g, room, sizeof *operands);
    if (region && operands) {
        /* jvp takes all primal values first, the loop each group's tangents after the group */
        mica_value *outputs = operands + 2 * n;
        int32_t tangent = n, start = 0;
        for (int32_t group = 0; group < 3; start = ends[group++]) {
            for (int32_t i = start; i < ends[group]; i++)
                operands[i] = mica_parameter(region, mica_value_type(body->parameters[i]));
            for (int32_t i = start; i < ends[group]; i++)
                if (l->active[i])
                    operands[tangent++] =
                        mica_parameter(region, mica_value_type(body->parameters[i]));
        }
        mica_inline(region, jvp, operands, jvp->n_parameters, outputs);
        mica_region_output(region, outputs, l->shape.carry);
        for (int32_t i = 0, k = n_outputs; i < n_outputs; i++)
            if (l->results[i] && i < l->shape.carry) mica_output(region, outputs[k++]);
        for (int32_t i = 0, k = n_outputs; i < n_outputs; i++)
            if (l->results[i] && i >= l->shape.carry)
                mica_output(region, outputs[k++]);
            else if (l->results[i])
                k++;
    }
    mica_graph_release(jvp);
    if (mica_region_check(l->g, region)) return region;
    mica_graph_release(region);
    return NULL;
}

static void joint_scan(mica_tangent_pass *pass, mica_node *n, const mica_value *dx,
                       mica_value *dy) {
    linear_scan l;
    if (!linear_scan_init(&l, pass, n, dx)) return;
    const int32_t ends[] = {l.shape.consts, l.shape.consts + l.shape.carry, n->n_operands};
    mica_value *operands =
        mica_transform_alloc(l.t, l.g, 2 * (size_t)n->n_operands + 1, sizeof *operands);
    if (!operands) return;
    for (int32_t i = 0; i < l.shape.carry; i++) l.results[i] = l.active[l.shape.consts + i];
    for (int32_t i = 0; i < n->n_results; i++) l.results[i] &= l.wanted[i];
    int32_t count = 0, sizes[3], start = 0;
    for (int32_t group = 0; group < 3; start = ends[group++]) {
        int32_t before = count;
        for (int32_t i = start; i < ends[group]; i++) operands[count++] = n->operands[i];
        for (int32_t i = start; i < ends[group]; i++)
            if (l.active[i]) operands[count++] = mica_or_zeros(l.g, dx[i], mica_operand_type(n, i));
        sizes[group] = count - before;
    }
    mica_graph *body = joint_body(&l);
    mica_node *scan = body ? make_scan(l.g, body, operands, count, sizes[0], sizes[1],
                                       l.shape.length, l.shape.reverse)
                           : NULL;
    /* results: carry, tangents of carry, tangents of ys */
    for (int32_t i = 0, k = l.shape.carry; scan && i < n->n_results; i++)
        if (l.results[i]) dy[i] = mica_node_result(scan, k++);
    mica_graph_release(body);
}

MICA_JVP_RULE(scan) {
    if (pass->joint && !mica_node_has_effects(n))
        joint_scan(pass, n, dx, dy);
    else
        linearize_scan(pass, n, dx, dy);
}

/* ---- transpose --------------------------------------------------------------------------------
 * The tangent scan: body(c, dc, dh, x, dx) -> (dh', dy). Its transpose, the other way:
 * body'(c, (sum dc, dh'), (x, dy)) -> ((sum dc + ..., dh), dx). */

typedef struct back_scan {
    mica_transform *t;
    mica_graph *g;
    const mica_node *n;
    scan_shape shape;
    const bool *linear; /* per operand */
    bool *given;        /* per result: it has a cotangent */
    mica_graph *step;   /* the body, transposed */
    mica_value *back;   /* cotangents of its linear parameters, in it */
    mica_graph *body;   /* of the scan */
    mica_value *operands;
    int32_t n_operands, n_consts, n_carry;
} back_scan;

static bool back_scan_init(back_scan *b, mica_transform *t, mica_graph *g, const mica_node *n,
                           const bool *linear, const mica_value *dy) {
    *b = (back_scan){.t = t, .g = g, .n = n, .shape = shape_of(n), .linear = linear};
    size_t room = (size_t)(n->n_operands + n->n_results) + 1;
    b->given = mica_transform_alloc(t, g, (size_t)n->n_results + 1, sizeof *b->given);
    b->back = mica_transform_alloc(t, g, room, sizeof *b->back);
    b->operands = mica_transform_alloc(t, g, room, sizeof *b->operands);
    if (!b->given || !b->back || !b->operands) return false;
    for (int32_t i = 0; i < n->n_results; i++)
        b->given[i] = i < b->shape.carry || !mica_is_zero(dy[i]);
    bool *linear_inside =
        mica_transform_alloc(t, g, (size_t)n->n_operands + 1, sizeof *linear_inside);
    if (!linear_inside) return false;
    memcpy(linear_inside, linear, (size_t)n->n_operands * sizeof *linear_inside);
    for (int32_t i = 0; i < b->shape.carry; i++) /* zeros may have started a carry */
        linear_inside[b->shape.consts + i] = true;
    b->linear = linear_inside;
    b->step = mica_transpose_graph(t, g, n->regions[0], linear_inside, b->given, b->back);
    b->body = b->step ? mica_region_create(g, n->regions[0]->name) : NULL;
    return b->body != NULL;
}

static mica_value back_operand(back_scan *b, mica_value operand, const mica_type *inside) {
    b->operands[b->n_operands++] = operand;
    return mica_parameter(b->body, inside);
}

/* Operands of the scan and what each is inside. `fixed` are the step's parameters that are not
 * cotangents, in order; returns how many. sums and carry: one per linear constant and carry. */
static int32_t back_parameters(back_scan *b, const mica_value *dy, mica_value *fixed,
                               mica_value *sums, mica_value *carry, mica_value *ys) {
    const mica_node *n = b->n;
    const mica_graph *body = n->regions[0];
    int32_t consts = b->shape.consts, xs = consts + b->shape.carry, n_fixed = 0, n_sums = 0;
    for (int32_t i = 0; i < consts; i++)
        if (!b->linear[i])
            fixed[n_fixed++] = back_operand(b, n->operands[i], mica_operand_type(n, i));
    b->n_consts = b->n_operands;
    for (int32_t i = 0; i < consts; i++) {
        const mica_type *type = mica_operand_type(n, i);
        if (b->linear[i]) sums[n_sums++] = back_operand(b, mica_zeros(b->g, type), type);
    }
    for (int32_t i = 0; i < b->shape.carry; i++) {
        const mica_type *type = &n->results[i];
        carry[i] = back_operand(b, mica_or_zeros(b->g, dy[i], type), type);
    }
    b->n_carry = b->n_operands - b->n_consts;
    for (int32_t i = xs; i < n->n_operands; i++)
        if (!b->linear[i])
            fixed[n_fixed++] =
                back_operand(b, n->operands[i], mica_value_type(body->parameters[i]));
    for (int32_t i = b->shape.carry, k = 0; i < n->n_results; i++)
        if (b->given[i]) ys[k++] = back_operand(b, dy[i], mica_value_type(body->outputs[i]));
    return n_fixed;
}

/* The body: one step, and the constants' sums. */
static bool back_body(back_scan *b, mica_value *inputs, int32_t n_inputs, const mica_value *sums,
                      bool *has_xs) {
    const mica_graph *f = b->n->regions[0];
    int32_t consts = b->shape.consts, xs = consts + b->shape.carry, n_out = 0, k = 0;
    mica_value *out = mica_transform_alloc(b->t, b->g, (size_t)f->n_parameters + 1, sizeof *out);
    if (!out) return false;
    for (int32_t i = 0; i < f->n_parameters; i++) {
        if (!b->linear[i]) continue;
        has_xs[i] = i < xs || !mica_is_zero(b->back[k]);
        const mica_type *type = mica_value_type(f->parameters[i]);
        if (has_xs[i]) mica_output(b->step, mica_or_zeros(b->step, b->back[k], type));
        k++;
    }
    if (!mica_region_check(b->g, b->step)) return false;
    mica_inline(b->body, b->step, inputs, n_inputs, out);
    for (int32_t i = 0; i < f->n_parameters; i++) {
        if (!b->linear[i] || !has_xs[i]) continue;
        mica_value value = out[n_out++];
        if (i < consts) value = mica_sum_of(b->body, *sums++, value);
        mica_output(b->body, value);
    }
    return mica_region_check(b->g, b->body);
}

MICA_TRANSPOSE_RULE(scan) {
    back_scan b = {.g = g};
    size_t room = (size_t)(n->n_operands + n->n_results) + 1;
    mica_value *inputs = mica_transform_alloc(t, g, 4 * room, sizeof *inputs);
    bool *has = mica_transform_alloc(t, g, room, sizeof *has);
    if (inputs && has && back_scan_init(&b, t, g, n, linear, dy)) {
        mica_value *sums = inputs + room, *carry = sums + room, *ys = carry + room;
        int32_t n_inputs = back_parameters(&b, dy, inputs, sums, carry, ys);
        int32_t n_ys = 0;
        for (int32_t i = b.shape.carry; i < n->n_results; i++) n_ys += b.given[i];
        memcpy(inputs + n_inputs, carry, (size_t)b.shape.carry * sizeof *inputs);
        n_inputs += b.shape.carry;
        memcpy(inputs + n_inputs, ys, (size_t)n_ys * sizeof *inputs);
        n_inputs += n_ys;
        if (back_body(&b, inputs, n_inputs, sums, has)) {
            mica_node *back = make_scan(g, b.body, b.operands, b.n_operands, b.n_consts, b.n_carry,
                                        b.shape.length, !b.shape.reverse);
            for (int32_t i = 0, k = 0; back && i < n->n_operands; i++)
                if (b.linear[i] && has[i]) out[i] = mica_node_result(back, k++);
        }
    }
    mica_graph_release(b.step);
    mica_graph_release(b.body);
}
