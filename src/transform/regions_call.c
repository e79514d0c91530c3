/* Derivatives of call, custom_gradient, remat, barrier and lists.
 *
 * A linear call is linear in its trailing operands: region 0 computes, region 1 (when it is there)
 * is the transpose, (other operands, cotangents of results) -> cotangents of linear operands. To
 * transpose it is to exchange the regions, so a composite's vjp stays whole. */
#include <string.h>

#include "transform/partial.h"
#include "transform/regions.h"
#include "transform/rules.h"

static bool *differentiable_operands(mica_transform *t, mica_graph *g, const mica_node *n) {
    bool *flags = mica_transform_alloc(t, g, (size_t)n->n_operands + 1, sizeof *flags);
    for (int32_t i = 0; flags && i < n->n_operands; i++)
        flags[i] = mica_type_is_differentiable(mica_operand_type(n, i));
    return flags;
}

static int32_t count_differentiable(const mica_type *types, int32_t n) {
    int32_t total = 0;
    for (int32_t i = 0; i < n; i++) total += mica_type_is_differentiable(&types[i]);
    return total;
}

/* Values of a node's differentiable results, in their places. */
static void spread_results(const mica_node *n, int32_t n_results, const mica_value *values,
                           mica_value *dy) {
    for (int32_t i = 0, k = 0; i < n_results; i++)
        if (mica_type_is_differentiable(&n->results[i])) dy[i] = values[k++];
}

/* "softmax" -> "softmax.jvp", in the transform's memory; "" stays. */
static const char *name_with(mica_tangent_pass *pass, const char *name, const char *suffix) {
    if (!*name) return name;
    size_t length = strlen(name), extra = strlen(suffix);
    char *text = mica_transform_alloc(pass->t, pass->g, length + extra + 1, 1);
    if (!text) return "";
    memcpy(text, name, length);
    memcpy(text + length, suffix, extra);
    return text;
}

/* ---- composites with a vjp --------------------------------------------------------------------*/

/* Parameters (operands, results, tangents of float operands) of a tangent region. */
static mica_graph *composite_region(mica_tangent_pass *pass, const mica_node *n,
                                    mica_value **out_parameters) {
    size_t room = 2 * (size_t)n->n_operands + (size_t)n->n_results + 1;
    mica_value *p = mica_transform_alloc(pass->t, pass->g, room, sizeof *p);
    mica_graph *region = p ? mica_region_create(pass->g, n->regions[0]->name) : NULL;
    if (!region) return NULL;
    *out_parameters = p;
    for (int32_t i = 0; i < n->n_operands; i++)
        *p++ = mica_parameter(region, mica_operand_type(n, i));
    for (int32_t i = 0; i < n->n_results; i++) *p++ = mica_parameter(region, &n->results[i]);
    for (int32_t i = 0; i < n->n_operands; i++)
        if (mica_type_is_differentiable(mica_operand_type(n, i)))
            *p++ = mica_parameter(region, mica_operand_type(n, i));
    return region;
}

/* Forward mode of a composite: the tangents of its body. */
static void tangent_by_body(mica_tangent_pass *pass, mica_graph *region, const mica_node *n,
                            mica_value *p) {
    bool *active = differentiable_operands(pass->t, pass->g, n);
    mica_graph *jvp =
        active ? mica_jvp_graph(pass->t, pass->g, n->regions[0], active, NULL, false) : NULL;
    mica_value *results =
        mica_transform_alloc(pass->t, pass->g, (size_t)n->n_results + 1, sizeof *results);
    if (jvp && results) {
        /* (operands, results, tangents) without the results */
        memmove(p + n->n_operands, p + n->n_operands + n->n_results,
                (size_t)(jvp->n_parameters - n->n_operands) * sizeof *p);
        mica_inline(region, jvp, p, jvp->n_parameters, results);
        mica_region_output(region, results, jvp->n_outputs);
    }
    mica_graph_release(jvp);
}

/* Forward mode of a custom gradient: the transpose of its vjp, which is linear in the cotangents,
 * so that any point will do; zero is taken. */
static void tangent_by_vjp(mica_tangent_pass *pass, mica_graph *region, const mica_node *n,
                           mica_value *p) {
    const mica_graph *vjp = n->regions[1];
    int32_t fixed = n->n_operands + n->n_results, n_cotangents = vjp->n_parameters - fixed;
    mica_value *tangents = p + fixed;
    size_t room = (size_t)(vjp->n_parameters + vjp->n_outputs + n_cotangents) + 1;
    mica_value *operands = mica_transform_alloc(pass->t, pass->g, room, sizeof *operands);
    if (!operands) return;
    mica_value *outputs = operands + vjp->n_parameters, *results = outputs + vjp->n_outputs;
    memcpy(operands, p, (size_t)fixed * sizeof *p);
    mica_node *last = mica_last_node(region);
    for (int32_t i = 0; i < n_cotangents; i++)
        operands[fixed + i] = mica_zeros(region, mica_value_type(vjp->parameters[fixed + i]));
    mica_inline(region, vjp, operands, vjp->n_parameters, outputs);
    mica_vjp_inside(pass->t, region, outputs, tangents, vjp->n_outputs, operands + fixed,
                    n_cotangents, results);
    for (int32_t i = 0; i < n_cotangents && !region->error; i++)
        mica_output(region,
                    mica_or_zeros(region, results[i], mica_value_type(vjp->parameters[fixed + i])));
    mica_sweep(region, last, NULL, 0);
}

/* The region (operands, results, tangents) -> tangents, made once per composite. */
static mica_graph *composite_tangent(mica_tangent_pass *pass, const mica_node *n) {
    bool custom = n->op == MICA_OP_custom_gradient;
    mica_graph *key = n->regions[custom ? 1 : 0];
    mica_made *made = mica_made_find(pass->t, MICA_MADE_CUSTOM, key, &custom, 1);
    if (made) return made->graph;
    mica_value *p = NULL;
    mica_graph *region = composite_region(pass, n, &p);
    if (!region) return NULL;
    if (custom)
        tangent_by_vjp(pass, region, n, p);
    else
        tangent_by_body(pass, region, n, p);
    if (!mica_region_check(pass->g, region)) {
        mica_graph_release(region);
        return NULL;
    }
    made = mica_made_add(pass->t, pass->g, MICA_MADE_CUSTOM, key, &custom, 1, region, NULL);
    return made ? made->graph : NULL;
}

/* A linear call on (operands, results, tangents) whose transpose is the composite's vjp. */
static void call_composite_tangent(mica_tangent_pass *pass, mica_node *n, const mica_value *dx,
                                   mica_value *dy) {
    mica_graph *g = pass->g;
    if (!count_differentiable(n->results, n->n_results)) return;
    mica_graph *tangent = composite_tangent(pass, n);
    size_t room = 2 * (size_t)n->n_operands + 2 * (size_t)n->n_results + 1;
    mica_value *operands = mica_transform_alloc(pass->t, g, room, sizeof *operands);
    if (!tangent || !operands) return;
    mica_value *results = operands + 2 * n->n_operands + n->n_results;
    int32_t count = 0, linear = 0;
    for (int32_t i = 0; i < n->n_operands; i++) operands[count++] = n->operands[i];
    for (int32_t i = 0; i < n->n_results; i++) operands[count++] = mica_node_result(n, i);
    for (int32_t i = 0; i < n->n_operands; i++) {
        const mica_type *type = mica_operand_type(n, i);
        if (!mica_type_is_differentiable(type)) continue;
        operands[count++] = mica_or_zeros(g, dx[i], type);
        linear++;
    }
    mica_graph *regions[] = {tangent, n->regions[1]};
    mica_make_call(g, name_with(pass, mica_node_string(n, "name"), ".jvp"),
                   mica_node_string(n, "vjp"), mica_node_string(n, "config"), linear, regions, 2,
                   operands, count, results);
    spread_results(n, n->n_results, results, dy);
}

MICA_JVP_RULE(custom_gradient) {
    call_composite_tangent(pass, n, dx, dy);
}

/* ---- calls ------------------------------------------------------------------------------------*/

/* Only trailing linear operands have tangents: the same call on them. */
static bool is_linear_here(const mica_node *n, const mica_value *dx) {
    int32_t linear = (int32_t)mica_node_int(n, "linear");
    for (int32_t i = 0; i < n->n_operands - linear; i++)
        if (!mica_is_zero(dx[i])) return false;
    return linear > 0;
}

static void call_linear(mica_tangent_pass *pass, mica_node *n, const mica_value *dx,
                        mica_value *dy) {
    int32_t fixed = n->n_operands - (int32_t)mica_node_int(n, "linear");
    mica_value *operands =
        mica_transform_alloc(pass->t, pass->g, (size_t)n->n_operands, sizeof *operands);
    if (!operands) return;
    for (int32_t i = 0; i < n->n_operands; i++)
        operands[i] =
            i < fixed ? n->operands[i] : mica_or_zeros(pass->g, dx[i], mica_operand_type(n, i));
    mica_node *tangent = mica_node_clone(pass->g, n, operands);
    for (int32_t i = 0; tangent && i < n->n_results; i++) dy[i] = mica_node_result(tangent, i);
}

static mica_graph *body_tangent(mica_tangent_pass *pass, const mica_node *n, const bool *active) {
    mica_graph *body = n->regions[0];
    mica_made *made = mica_made_find(pass->t, MICA_MADE_JVP, body, active, n->n_operands);
    if (made) return made->graph;
    mica_graph *region = mica_jvp_graph(pass->t, pass->g, body, active, NULL, false);
    if (!region) return NULL;
    made =
        mica_made_add(pass->t, pass->g, MICA_MADE_JVP, body, active, n->n_operands, region, NULL);
    return made ? made->graph : NULL;
}

/* A linear call on (operands, tangents of the active ones); `vjp` is its transpose, or NULL. */
static void call_body_tangent(mica_tangent_pass *pass, mica_node *n, const mica_value *dx,
                              mica_graph *vjp, const char *name, mica_value *dy) {
    mica_graph *g = pass->g;
    bool *active = mica_transform_alloc(pass->t, g, (size_t)n->n_operands + 1, sizeof *active);
    size_t room = 2 * (size_t)n->n_operands + (size_t)n->n_results + 1;
    mica_value *operands = mica_transform_alloc(pass->t, g, room, sizeof *operands);
    if (!active || !operands || !count_differentiable(n->results, n->n_results)) return;
    mica_value *results = operands + 2 * n->n_operands;
    int32_t count = n->n_operands;
    memcpy(operands, n->operands, (size_t)count * sizeof *operands);
    for (int32_t i = 0; i < n->n_operands; i++) {
        active[i] = !mica_is_zero(dx[i]);
        if (active[i]) operands[count++] = dx[i];
    }
    mica_graph *regions[] = {body_tangent(pass, n, active), vjp};
    if (!regions[0]) return;
    mica_make_call(g, name_with(pass, name, ".jvp"), vjp ? name_with(pass, name, ".vjp") : "",
                   mica_node_string(n, "config"), count - n->n_operands, regions, vjp ? 2 : 1,
                   operands, count, results);
    spread_results(n, n->n_results, results, dy);
}

MICA_JVP_RULE(call) {
    bool composite = n->n_regions == 2 && mica_node_int(n, "linear") == 0;
    if (is_linear_here(n, dx))
        call_linear(pass, n, dx, dy);
    else if (pass->joint && !mica_node_has_effects(n))
        call_body_tangent(pass, n, dx, NULL, mica_node_string(n, "name"), dy);
    else if (composite)
        call_composite_tangent(pass, n, dx, dy);
    else
        mica_linearize_body(pass, n, dx, dy);
}

/* Region 0 transposed, when no region 1 says how. */
static mica_graph *call_transpose(mica_transform *t, mica_graph *g, const mica_node *n) {
    mica_graph *body = n->regions[0];
    int32_t fixed = n->n_operands - (int32_t)mica_node_int(n, "linear");
    size_t room = (size_t)(n->n_operands + n->n_results) + 1;
    bool *linear = mica_transform_alloc(t, g, room, sizeof *linear);
    mica_value *values = mica_transform_alloc(t, g, (size_t)n->n_operands, sizeof *values);
    if (!linear || !values) return NULL;
    bool *given = linear + n->n_operands;
    for (int32_t i = fixed; i < n->n_operands; i++) linear[i] = true;
    for (int32_t i = 0; i < n->n_results; i++) given[i] = true;
    mica_made *made = mica_made_find(t, MICA_MADE_TRANSPOSE, body, linear, n->n_operands);
    if (made) return made->graph;
    mica_graph *region = mica_transpose_graph(t, g, body, linear, given, values);
    if (!region) return NULL;
    for (int32_t i = fixed; i < n->n_operands; i++)
        mica_output(region, mica_or_zeros(region, values[i - fixed], mica_operand_type(n, i)));
    if (!mica_region_check(g, region)) {
        mica_graph_release(region);
        return NULL;
    }
    made = mica_made_add(t, g, MICA_MADE_TRANSPOSE, body, linear, n->n_operands, region, NULL);
    return made ? made->graph : NULL;
}

/* Whether the value is zero whatever the region is given: a symbolic zero then, which nothing
 * further back can turn into a NaN. */
static bool is_constant_zero(mica_value v) {
    const mica_node *n = v.node;
    while (n->op == MICA_OP_broadcast || n->op == MICA_OP_reshape) n = n->operands[0].node;
    if (n->op != MICA_OP_constant || n->results[0].kind != MICA_TENSOR ||
        mica_type_elements(&n->results[0]) != 1)
        return false;
    const unsigned char *bytes = n->attrs[0].as.data.bytes;
    for (size_t i = 0; i < mica_type_bytes(&n->results[0]); i++)
        if (bytes[i]) return false;
    return true;
}

MICA_TRANSPOSE_RULE(call) {
    int32_t fixed = n->n_operands - (int32_t)mica_node_int(n, "linear");
    for (int32_t i = 0; i < fixed; i++)
        if (linear[i])
            mica_graph_fail(g, MICA_ERROR(MICA_INTERNAL, "[call] operand %d is not linear", i));
    mica_graph *back = n->n_regions == 2 ? n->regions[1] : call_transpose(t, g, n);
    size_t room = 2 * (size_t)n->n_operands + (size_t)n->n_results + 1;
    mica_value *operands = mica_transform_alloc(t, g, room, sizeof *operands);
    if (!back || !operands || g->error) return;
    mica_value *results = operands + n->n_operands + n->n_results;
    memcpy(operands, n->operands, (size_t)fixed * sizeof *operands);
    for (int32_t i = 0; i < n->n_results; i++)
        operands[fixed + i] = mica_or_zeros(g, dy[i], &n->results[i]);
    mica_graph *regions[] = {back, n->regions[0]};
    mica_make_call(g, mica_node_string(n, "vjp"), mica_node_string(n, "name"),
                   mica_node_string(n, "config"), n->n_results, regions, 2, operands,
                   fixed + n->n_results, results);
    for (int32_t i = fixed; i < n->n_operands; i++)
        if (!is_constant_zero(back->outputs[i - fixed])) out[i] = results[i - fixed];
}

/* ---- remat ------------------------------------------------------------------------------------*/

/* (operands, cotangents of float results) -> cotangents of active operands. The barrier holds the
 * body back until the cotangents are there, so that nothing of it is kept from the forward pass. */
static mica_graph *remat_vjp(mica_tangent_pass *pass, const mica_node *n, const mica_value *dx) {
    mica_graph *g = pass->g, *body = n->regions[0];
    size_t n_operands = (size_t)n->n_operands, n_results = (size_t)n->n_results;
    mica_value *p = mica_transform_alloc(pass->t, g, 4 * (n_operands + n_results) + 1, sizeof *p);
    mica_graph *region = p ? mica_region_create(g, body->name) : NULL;
    if (!region) return NULL;
    mica_value *held = p + n_operands + n_results, *outputs = held + n_operands + n_results;
    mica_value *cotangents = outputs + n_results, *back = cotangents + n_results;
    mica_value *inputs = p; /* the parameters are behind the barrier by then */
    int32_t count = 0, n_inputs = 0;
    for (int32_t i = 0; i < n->n_operands; i++)
        p[count++] = mica_parameter(region, mica_operand_type(n, i));
    for (int32_t i = 0; i < n->n_results; i++)
        if (mica_type_is_differentiable(&n->results[i]))
            p[count++] = mica_parameter(region, &n->results[i]);
    mica_node *last = mica_last_node(region);
    mica_barrier(region, p, count, held);
    mica_inline(region, body, held, n->n_operands, outputs);
    for (int32_t i = 0, k = n->n_operands; i < n->n_results; i++)
        if (mica_type_is_differentiable(&n->results[i])) cotangents[i] = held[k++];
    for (int32_t i = 0; i < n->n_operands; i++)
        if (!mica_is_zero(dx[i])) inputs[n_inputs++] = held[i];
    mica_vjp_inside(pass->t, region, outputs, cotangents, n->n_results, inputs, n_inputs, back);
    for (int32_t i = 0; i < n_inputs && !region->error; i++)
        mica_output(region, mica_or_zeros(region, back[i], mica_value_type(inputs[i])));
    mica_sweep(region, last, NULL, 0);
    if (mica_region_check(g, region)) return region;
    mica_graph_release(region);
    return NULL;
}

static mica_graph *remat_vjp_once(mica_tangent_pass *pass, const mica_node *n,
                                  const mica_value *dx) {
    mica_graph *body = n->regions[0];
    bool *active =
        mica_transform_alloc(pass->t, pass->g, (size_t)n->n_operands + 1, sizeof *active);
    if (!active) return NULL;
    for (int32_t i = 0; i < n->n_operands; i++) active[i] = !mica_is_zero(dx[i]);
    mica_made *made = mica_made_find(pass->t, MICA_MADE_REMAT, body, active, n->n_operands);
    if (made) return made->graph;
    mica_graph *vjp = remat_vjp(pass, n, dx);
    if (!vjp) return NULL;
    made = mica_made_add(pass->t, pass->g, MICA_MADE_REMAT, body, active, n->n_operands, vjp, NULL);
    return made ? made->graph : NULL;
}

MICA_JVP_RULE(remat) {
    if (mica_node_has_effects(n)) {
        mica_graph_fail(pass->g, MICA_ERROR(MICA_UNSUPPORTED,
                                            "[remat] '%s' has effects, which would "
                                            "happen again in its derivative",
                                            n->regions[0]->name));
        return;
    }
    mica_graph *vjp = pass->joint ? NULL : remat_vjp_once(pass, n, dx);
    if (pass->g->error) return;
    call_body_tangent(pass, n, dx, vjp, "remat", dy);
}

/* ---- barrier and lists ------------------------------------------------------------------------*/

/* The barrier of those values that are not null, in their places. */
static void barrier_of(mica_transform *t, mica_graph *g, const mica_value *x, int32_t n,
                       mica_value *y) {
    mica_value *values = mica_transform_alloc(t, g, 2 * (size_t)n + 1, sizeof *values);
    int32_t count = 0;
    if (!values) return;
    for (int32_t i = 0; i < n; i++)
        if (!mica_is_zero(x[i])) values[count++] = x[i];
    mica_barrier(g, values, count, values + n);
    for (int32_t i = 0, k = 0; i < n; i++)
        if (!mica_is_zero(x[i])) y[i] = values[n + k++];
}

MICA_JVP_RULE(barrier) {
    barrier_of(pass->t, pass->g, dx, n->n_operands, dy);
}

MICA_TRANSPOSE_RULE(barrier) {
    (void)linear;
    barrier_of(t, g, dy, n->n_operands, out);
}

MICA_JVP_RULE(list_push) {
    dy[0] = mica_list_push(pass->g, mica_or_zeros(pass->g, dx[0], mica_operand_type(n, 0)),
                           mica_or_zeros(pass->g, dx[1], mica_operand_type(n, 1)));
}

MICA_TRANSPOSE_RULE(list_push) {
    (void)t, (void)n, (void)linear;
    mica_list_pop(g, dy[0], &out[0], &out[1]);
}

MICA_JVP_RULE(list_pop) {
    (void)n;
    mica_list_pop(pass->g, dx[0], &dy[0], &dy[1]);
}

MICA_TRANSPOSE_RULE(list_pop) {
    (void)t, (void)linear;
    out[0] = mica_list_push(g, mica_or_zeros(g, dy[0], &n->results[0]),
                            mica_or_zeros(g, dy[1], &n->results[1]));
}
