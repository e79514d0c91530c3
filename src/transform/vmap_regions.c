/* Batching of control flow, composites, lists and host calls. */
#include <string.h>

#include "transform/rules.h"
#include "transform/vmap.h"

static bool *flags_of(mica_batch_pass *pass, const mica_batched *x, int32_t n, int32_t room) {
    bool *flags = mica_transform_alloc(pass->t, pass->g, (size_t)(n + room) + 1, sizeof *flags);
    for (int32_t i = 0; flags && i < n; i++) flags[i] = x[i].mapped;
    return flags;
}

static mica_value *values(mica_batch_pass *pass, int32_t n) {
    return mica_transform_alloc(pass->t, pass->g, (size_t)n + 1, sizeof(mica_value));
}

/* Operands as they are, or mapped where flags say so. */
static mica_value *operands_as(mica_batch_pass *pass, const mica_batched *x, const bool *mapped,
                               int32_t n) {
    mica_value *operands = values(pass, n);
    for (int32_t i = 0; operands && i < n; i++)
        operands[i] = mapped[i] ? mica_mapped(pass, x[i]) : x[i].value;
    return operands;
}

static void take_results(const mica_node *made, const bool *mapped, mica_batched *y) {
    for (int32_t i = 0; made && i < made->n_results; i++)
        y[i] = (mica_batched){mica_node_result(made, i), mapped[i]};
}

/* predicate bool[batch]: a where it holds, else b; both mapped */
static mica_value select_examples(mica_graph *g, mica_value predicate, mica_value a, mica_value b) {
    const mica_type *type = mica_value_type(a);
    if (!type) return MICA_NULL_VALUE;
    mica_ints shape = {type->dims, type->rank};
    return mica_select(g, mica_broadcast(g, predicate, shape, MICA_INTS(0)), a, b);
}

/* A predicate that varies is answered by computing everything and selecting, which tokens and lists
 * cannot be part of. */
static bool check_selectable(mica_batch_pass *pass, const mica_node *n, const mica_type *types,
                             int32_t count) {
    bool effects = mica_node_has_effects(n);
    for (int32_t i = 0; i < count; i++) {
        if (types[i].kind == MICA_TENSOR && !effects) continue;
        mica_graph_fail(pass->g,
                        MICA_ERROR(MICA_UNSUPPORTED,
                                   "[%s] its predicate varies over the batch: result %d, a "
                                   "%s, cannot be selected example by example",
                                   mica_op_name(n->op), i,
                                   effects ? "token" : mica_type_text(&types[i]).chars));
        return false;
    }
    return true;
}

/* ---- branches ---------------------------------------------------------------------------------*/

/* index == i, or for the last branch anything left over; of cond: the predicate itself */
static mica_value takes_branch(mica_graph *g, const mica_node *n, mica_value selector, int32_t i) {
    if (n->op == MICA_OP_cond) return selector;
    return mica_compare(g, selector, mica_full_like(g, selector, i), "eq");
}

/* All branches, inlined; the last is taken where no other is. */
static void select_branches(mica_batch_pass *pass, const mica_node *n, const mica_batched *x,
                            mica_batched *y) {
    mica_graph *g = pass->g;
    bool *mapped = flags_of(pass, x + 1, n->n_operands - 1, 0);
    bool *want = flags_of(pass, x, 0, 2 * n->n_results);
    mica_value *operands = mapped ? operands_as(pass, x + 1, mapped, n->n_operands - 1) : NULL;
    mica_value *results = values(pass, n->n_results);
    if (!mapped || !want || !operands || !results ||
        !check_selectable(pass, n, n->results, n->n_results))
        return;
    for (int32_t i = 0; i < n->n_results; i++) want[i] = true;
    for (int32_t r = n->n_regions; r-- > 0 && !g->error;) {
        mica_graph *region =
            mica_vmap_region(pass, n->regions[r], mapped, want, NULL, want + n->n_results);
        if (!region) return;
        mica_inline(g, region, operands, n->n_operands - 1, results);
        mica_graph_release(region);
        bool last = r == n->n_regions - 1;
        mica_value taken = last ? MICA_NULL_VALUE : takes_branch(g, n, x[0].value, r);
        for (int32_t i = 0; i < n->n_results; i++) {
            mica_value value = results[i];
            if (!last) value = select_examples(g, taken, value, y[i].value);
            y[i] = (mica_batched){value, true};
        }
    }
}

MICA_VMAP_RULE(branches) {
    if (x[0].mapped) {
        select_branches(pass, n, x, y);
        return;
    }
    int32_t n_arguments = n->n_operands - 1, n_results = n->n_results;
    bool *mapped = flags_of(pass, x + 1, n_arguments, 2 * n_results);
    mica_graph **regions =
        mica_transform_alloc(pass->t, pass->g, (size_t)n->n_regions, sizeof *regions);
    mica_value *operands = values(pass, n->n_operands);
    if (!mapped || !regions || !operands) return;
    bool *want = mapped + n_arguments, *out = want + n_results, fine = true;
    for (int32_t r = 0; fine && r < n->n_regions; r++) { /* mapped in one branch: in all */
        mica_graph *region = mica_vmap_region(pass, n->regions[r], mapped, NULL, NULL, out);
        fine = region != NULL;
        mica_graph_release(region);
        for (int32_t i = 0; i < n_results; i++) want[i] |= out[i];
    }
    for (int32_t r = 0; fine && r < n->n_regions; r++)
        fine = (regions[r] = mica_vmap_region(pass, n->regions[r], mapped, want, NULL, out));
    for (int32_t i = 0; i < n->n_operands; i++) operands[i] = x[i].value;
    if (fine)
        take_results(mica_node_create(pass->g, n->op, operands, n->n_operands, n->attrs, regions,
                                      n->n_regions),
                     want, y);
    for (int32_t r = 0; r < n->n_regions; r++) mica_graph_release(regions[r]);
}

/* ---- loops ------------------------------------------------------------------------------------*/

/* An empty list can be made again with a batch axis; no other list can get one. */
static bool is_empty_list(mica_value v) {
    const mica_type *type = mica_value_type(v);
    return type && type->kind == MICA_LIST && v.node->op == MICA_OP_constant;
}

/* Widens mapped[consts + i], for every carry, until the body's outputs agree. Carries that start as
 * empty lists are mapped from the outset, since what will be pushed is not known. */
static bool widen(mica_batch_pass *pass, mica_graph *body, const mica_batched *x, bool *mapped,
                  int32_t consts, int32_t carry, bool *out) {
    for (int32_t i = consts; i < consts + carry; i++) mapped[i] |= is_empty_list(x[i].value);
    for (bool changed = true; changed;) {
        mica_graph *region = mica_vmap_region(pass, body, mapped, NULL, NULL, out);
        if (!region) return false;
        mica_graph_release(region);
        changed = false;
        for (int32_t i = 0; i < carry; i++) {
            if (!out[i] || mapped[consts + i]) continue;
            mapped[consts + i] = changed = true;
        }
    }
    return true;
}

MICA_VMAP_RULE(scan) {
    mica_graph *g = pass->g;
    int32_t consts = (int32_t)mica_node_int(n, "consts"),
            carry = (int32_t)mica_node_int(n, "carry");
    bool *mapped = flags_of(pass, x, n->n_operands, 2 * n->n_results);
    if (!mapped) return;
    bool *want = mapped + n->n_operands, *out = want + n->n_results;
    if (!widen(pass, n->regions[0], x, mapped, consts, carry, out)) return;
    for (int32_t i = 0; i < carry; i++) want[i] = mapped[consts + i];
    mica_graph *body = mica_vmap_region(pass, n->regions[0], mapped, want, NULL, out);
    mica_value *operands = operands_as(pass, x, mapped, n->n_operands);
    if (body && operands) {
        for (int32_t i = consts + carry; i < n->n_operands; i++)
            if (mapped[i]) operands[i] = mica_move_axis(g, operands[i], 0, 1);
        take_results(mica_node_create(g, n->op, operands, n->n_operands, n->attrs, &body, 1), out,
                     y);
        for (int32_t i = carry; i < n->n_results; i++)
            if (out[i]) y[i].value = mica_move_axis(g, y[i].value, 1, 0);
    }
    mica_graph_release(body);
}

typedef struct batched_while {
    mica_batch_pass *pass;
    const mica_node *n;
    int32_t consts, ordinary; /* carries that are not bookkeeping come first */
    bool *mapped;             /* per operand */
    bool *out;
    bool varies; /* the predicate does */
    mica_value *operands;
} batched_while;

/* Until carries and predicate agree: a predicate that varies makes every ordinary carry vary. */
static bool widen_while(batched_while *w, const mica_batched *x) {
    const mica_node *n = w->n;
    for (;;) {
        if (!widen(w->pass, n->regions[1], x, w->mapped, w->consts, n->n_results, w->out))
            return false;
        mica_graph *condition =
            mica_vmap_region(w->pass, n->regions[0], w->mapped, NULL, NULL, &w->varies);
        if (!condition) return false;
        mica_graph_release(condition);
        bool changed = false;
        for (int32_t i = 0; w->varies && i < w->ordinary; i++) {
            changed |= !w->mapped[w->consts + i];
            w->mapped[w->consts + i] = true;
        }
        if (!changed) return true;
    }
}

/* true while any example goes on */
static mica_graph *any_condition(batched_while *w, const mica_graph *condition) {
    mica_graph *region = mica_region_create(w->pass->g, condition->name);
    mica_value *parameters = values(w->pass, w->n->n_operands), predicate;
    if (region && parameters) {
        mica_region_parameters(region, w->operands, w->n->n_operands, parameters);
        mica_inline(region, condition, parameters, w->n->n_operands, &predicate);
        mica_output(region, mica_reduce(region, predicate, "or", MICA_INTS(0)));
    }
    if (mica_region_check(w->pass->g, region)) return region;
    mica_graph_release(region);
    return NULL;
}

/* Examples that have ended keep their carries; the bookkeeping is the loop's and goes on. */
static mica_graph *masked_body(batched_while *w, const mica_graph *condition,
                               const mica_graph *body) {
    mica_graph *region = mica_region_create(w->pass->g, body->name);
    mica_value *parameters = values(w->pass, 2 * w->n->n_operands), predicate;
    if (region && parameters) {
        mica_value *outputs = parameters + w->n->n_operands, *old = parameters + w->consts;
        mica_region_parameters(region, w->operands, w->n->n_operands, parameters);
        mica_inline(region, condition, parameters, w->n->n_operands, &predicate);
        mica_inline(region, body, parameters, w->n->n_operands, outputs);
        for (int32_t i = 0; i < w->ordinary; i++)
            outputs[i] = select_examples(region, predicate, outputs[i], old[i]);
        mica_region_output(region, outputs, w->n->n_results);
    }
    if (mica_region_check(w->pass->g, region)) return region;
    mica_graph_release(region);
    return NULL;
}

static void emit_while(batched_while *w, mica_graph *condition, mica_graph *body, mica_batched *y) {
    const mica_node *n = w->n;
    mica_graph *masked[2] = {NULL, NULL}, *regions[] = {condition, body};
    if (w->varies) {
        regions[0] = masked[0] = any_condition(w, condition);
        regions[1] = masked[1] = masked[0] ? masked_body(w, condition, body) : NULL;
    }
    if (regions[0] && regions[1])
        take_results(
            mica_node_create(w->pass->g, n->op, w->operands, n->n_operands, n->attrs, regions, 2),
            w->mapped + w->consts, y);
    mica_graph_release(masked[0]);
    mica_graph_release(masked[1]);
}

MICA_VMAP_RULE(while) {
    batched_while w = {.pass = pass, .n = n, .consts = (int32_t)mica_node_int(n, "consts")};
    w.ordinary = n->n_results - (int32_t)mica_node_int(n, "bookkeeping");
    w.mapped = flags_of(pass, x, n->n_operands, n->n_results);
    if (!w.mapped) return;
    w.out = w.mapped + n->n_operands;
    if (!widen_while(&w, x)) return;
    if (w.varies && !check_selectable(pass, n, n->results, w.ordinary)) return;
    w.operands = operands_as(pass, x, w.mapped, n->n_operands);
    if (!w.operands || pass->g->error) return;
    bool varies;
    mica_graph *condition = mica_vmap_region(pass, n->regions[0], w.mapped, NULL, NULL, &varies);
    mica_graph *body = condition ? mica_vmap_region(pass, n->regions[1], w.mapped,
                                                    w.mapped + w.consts, NULL, w.out)
                                 : NULL;
    if (body) emit_while(&w, condition, body, y);
    mica_graph_release(condition);
    mica_graph_release(body);
}

/* ---- composites -------------------------------------------------------------------------------*/

static bool is_batchable(const mica_type *type) {
    return type->kind != MICA_TOKEN;
}

/* The vjp of a batched composite: (operands, results, cotangents) -> cotangents. What all examples
 * share gets the sum of their cotangents. */
static mica_graph *batched_vjp(mica_batch_pass *pass, const mica_node *n, const bool *operands,
                               const bool *results) {
    mica_graph *vjp = n->regions[1];
    bool *mapped = flags_of(pass, NULL, 0, vjp->n_parameters + 3 * vjp->n_outputs);
    if (!mapped) return NULL;
    bool *want = mapped + vjp->n_parameters, *sum = want + vjp->n_outputs;
    bool *out = sum + vjp->n_outputs;
    int32_t k = 0, j = 0;
    for (int32_t i = 0; i < n->n_operands; i++) mapped[k++] = operands[i];
    for (int32_t i = 0; i < n->n_results; i++) mapped[k++] = results[i];
    for (int32_t i = 0; i < n->n_results; i++)
        if (mica_type_is_differentiable(&n->results[i])) mapped[k++] = results[i];
    for (int32_t i = 0; i < n->n_operands; i++) {
        if (!mica_type_is_differentiable(mica_operand_type(n, i))) continue;
        want[j] = operands[i];
        sum[j++] = !operands[i];
    }
    return mica_vmap_region(pass, vjp, mapped, want, sum, out);
}

/* The transpose of a linear call: (fixed operands, cotangents) -> cotangents. */
static mica_graph *batched_transpose(mica_batch_pass *pass, const mica_node *n,
                                     const bool *operands, const bool *results) {
    mica_graph *transpose = n->regions[1];
    int32_t fixed = n->n_operands - (int32_t)mica_node_int(n, "linear"), k = 0;
    bool *mapped = flags_of(pass, NULL, 0, transpose->n_parameters + 3 * transpose->n_outputs);
    if (!mapped) return NULL;
    bool *want = mapped + transpose->n_parameters, *sum = want + transpose->n_outputs;
    bool *out = sum + transpose->n_outputs;
    for (int32_t i = 0; i < fixed; i++) mapped[k++] = operands[i];
    for (int32_t i = 0; i < n->n_results; i++) mapped[k++] = results[i];
    for (int32_t i = fixed; i < n->n_operands; i++) {
        want[i - fixed] = operands[i];
        sum[i - fixed] = !operands[i];
    }
    return mica_vmap_region(pass, transpose, mapped, want, sum, out);
}

/* Both regions batched. With a second region all results are mapped as soon as one operand is, so
 * that every cotangent belongs to its own example. */
static void batch_composite(mica_batch_pass *pass, const mica_node *n, const mica_batched *x,
                            mica_batched *y) {
    bool *mapped = flags_of(pass, x, n->n_operands, 2 * n->n_results), any = false;
    int32_t linear = n->op == MICA_OP_call ? (int32_t)mica_node_int(n, "linear") : 0;
    if (!mapped) return;
    bool *want = mapped + n->n_operands, *out = want + n->n_results;
    for (int32_t i = 0; i < n->n_operands; i++) any |= x[i].mapped;
    for (int32_t i = n->n_operands - linear; i < n->n_operands; i++)
        mapped[i] |=
            any && (mica_operand_type(n, i)->kind == MICA_TENSOR || is_empty_list(x[i].value));
    for (int32_t i = 0; i < n->n_results; i++)
        want[i] = any && n->n_regions == 2 && is_batchable(&n->results[i]);
    mica_value *operands = operands_as(pass, x, mapped, n->n_operands);
    mica_graph *regions[2] = {NULL, NULL};
    if (operands && !pass->g->error)
        regions[0] = mica_vmap_region(pass, n->regions[0], mapped, want, NULL, out);
    if (regions[0] && n->n_regions == 2)
        regions[1] =
            linear ? batched_transpose(pass, n, mapped, out) : batched_vjp(pass, n, mapped, out);
    if (regions[0] && (regions[1] || n->n_regions == 1))
        take_results(mica_node_create(pass->g, n->op, operands, n->n_operands, n->attrs, regions,
                                      n->n_regions),
                     out, y);
    mica_graph_release(regions[0]);
    mica_graph_release(regions[1]);
}

MICA_VMAP_RULE(call) {
    batch_composite(pass, n, x, y);
}

MICA_VMAP_RULE(custom_gradient) {
    batch_composite(pass, n, x, y);
}

MICA_VMAP_RULE(remat) {
    batch_composite(pass, n, x, y);
}

/* ---- the rest ---------------------------------------------------------------------------------*/

MICA_VMAP_RULE(barrier) {
    bool *mapped = flags_of(pass, x, n->n_operands, 0);
    mica_value *operands = mapped ? operands_as(pass, x, mapped, n->n_operands) : NULL;
    if (operands) take_results(mica_node_clone(pass->g, n, operands), mapped, y);
}

MICA_VMAP_RULE(list_push) {
    (void)n;
    y[0].value = mica_list_push(pass->g, mica_mapped(pass, x[0]), mica_mapped(pass, x[1]));
    y[0].mapped = true;
}

MICA_VMAP_RULE(list_pop) {
    (void)n;
    mica_list_pop(pass->g, x[0].value, &y[0].value, &y[1].value);
    y[0].mapped = y[1].mapped = true;
}

/* A host function sees one example at a time, in order. */
MICA_VMAP_RULE(callback) {
    mica_vmap_by_scan(pass, n, x, y);
}
