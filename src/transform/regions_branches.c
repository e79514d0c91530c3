/* Derivatives of cond, case and of calls that are differentiated through their body, which are the
 * same thing with one branch.
 *
 * Backward: every branch also returns its residuals. Branches share result slots of one type; what
 * a branch has no residual for, it fills with zeros. The tangent op takes the arguments that
 * residuals are, the slots and the tangents of the active arguments. */
#include <string.h>

#include "transform/partial.h"
#include "transform/regions.h"
#include "transform/rules.h"

typedef struct branches {
    mica_transform *t;
    mica_graph *g;
    mica_node *n;
    int32_t first; /* operand of the first argument */
    int32_t n_arguments, n_regions, n_results;
    bool *active;       /* per argument */
    bool *needed;       /* per argument: some residual is this very argument */
    const bool *wanted; /* per result: its tangent is asked for */
    bool *results;      /* per result: it has a tangent in some branch */
    mica_split *splits; /* per branch */
    int32_t **slots;    /* per branch and residual: slot, or -1 - argument */
    mica_type *slot_types;
    int32_t n_slots;
} branches;

static bool branches_init(branches *b, mica_tangent_pass *pass, mica_node *n, int32_t first,
                          int32_t n_regions, const mica_value *dx) {
    mica_transform *t = pass->t;
    mica_graph *g = pass->g;
    *b = (branches){.t = t,
                    .g = g,
                    .n = n,
                    .first = first,
                    .n_arguments = n->n_operands - first,
                    .n_regions = n_regions,
                    .n_results = n->n_results,
                    .wanted = pass->wanted};
    b->active = mica_transform_alloc(t, g, (size_t)b->n_arguments + 1, sizeof *b->active);
    b->needed = mica_transform_alloc(t, g, (size_t)b->n_arguments + 1, sizeof *b->needed);
    b->results = mica_transform_alloc(t, g, (size_t)b->n_results + 1, sizeof *b->results);
    b->splits = mica_transform_alloc(t, g, (size_t)n_regions, sizeof *b->splits);
    b->slots = mica_transform_alloc(t, g, (size_t)n_regions, sizeof *b->slots);
    if (!b->active || !b->needed || !b->results || !b->splits || !b->slots) return false;
    for (int32_t i = 0; i < b->n_arguments; i++) b->active[i] = !mica_is_zero(dx[first + i]);
    return true;
}

/* The first slot of this type that the branch does not use yet. */
static int32_t take_slot(branches *b, bool *taken, const mica_type *type) {
    int32_t i = 0;
    while (i < b->n_slots && (taken[i] || !mica_type_equal(&b->slot_types[i], type))) i++;
    if (i == b->n_slots) b->slot_types[b->n_slots++] = *type;
    taken[i] = true;
    return i;
}

static bool split_branches(branches *b) {
    int32_t n_residuals = 0;
    mica_split_kind kind = b->n->op == MICA_OP_call ? MICA_SPLIT_CALL : MICA_SPLIT_BRANCH;
    for (int32_t r = 0; r < b->n_regions; r++) {
        mica_split *s = &b->splits[r];
        if (!mica_split_begin(s, kind, b->t, b->g, b->n->regions[r], b->active, NULL, b->wanted))
            return false;
        for (int32_t i = 0; i < b->n_results; i++) b->results[i] |= !mica_is_zero(s->tangents[i]);
        n_residuals += s->n_residuals;
    }
    b->slot_types =
        mica_transform_alloc(b->t, b->g, (size_t)n_residuals + 1, sizeof *b->slot_types);
    if (!b->slot_types) return false;
    for (int32_t r = 0; r < b->n_regions; r++) {
        const mica_split *s = &b->splits[r];
        bool *taken = mica_transform_alloc(b->t, b->g, (size_t)n_residuals + 1, sizeof *taken);
        b->slots[r] =
            mica_transform_alloc(b->t, b->g, (size_t)s->n_residuals + 1, sizeof *b->slots[r]);
        if (!taken || !b->slots[r]) return false;
        for (int32_t i = 0; i < s->n_residuals; i++) {
            const mica_residual *residual = &s->residuals[i];
            if (residual->parameter >= 0) {
                b->slots[r][i] = -1 - residual->parameter;
                b->needed[residual->parameter] = true;
            } else {
                b->slots[r][i] = take_slot(b, taken, mica_value_type(residual->value));
            }
        }
    }
    return true;
}

/* The tangent branch: (needed arguments, slots, tangents) -> tangents of the active results. */
static mica_graph *tangent_branch(branches *b, int32_t r) {
    mica_split *s = &b->splits[r];
    mica_graph *region = mica_region_create(b->g, s->primal->name);
    size_t room = (size_t)(2 * b->n_arguments + b->n_slots + s->n_residuals + b->n_results) + 1;
    mica_value *arguments = mica_transform_alloc(b->t, b->g, room, sizeof *arguments);
    if (!region || !arguments) {
        mica_graph_release(region);
        return NULL;
    }
    mica_value *tangents = arguments + b->n_arguments, *slots = tangents + b->n_arguments;
    mica_value *residuals = slots + b->n_slots, *results = residuals + s->n_residuals;
    for (int32_t i = 0; i < b->n_arguments; i++)
        if (b->needed[i])
            arguments[i] = mica_parameter(region, mica_operand_type(b->n, b->first + i));
    for (int32_t i = 0; i < b->n_slots; i++) slots[i] = mica_parameter(region, &b->slot_types[i]);
    for (int32_t i = 0; i < b->n_arguments; i++)
        if (b->active[i])
            tangents[i] = mica_parameter(region, mica_operand_type(b->n, b->first + i));
    for (int32_t i = 0; i < s->n_residuals; i++) {
        int32_t slot = b->slots[r][i];
        residuals[i] = slot < 0 ? arguments[-1 - slot] : slots[slot];
    }
    mica_split_tangent(s, region, residuals, tangents, results);
    for (int32_t i = 0; i < b->n_results; i++)
        if (b->results[i])
            mica_output(region, mica_or_zeros(region, results[i], &b->n->results[i]));
    if (mica_region_check(b->g, region)) return region;
    mica_graph_release(region);
    return NULL;
}

/* Lets the primal branch return its residuals in their slots. */
static bool finish_primal_branch(branches *b, int32_t r) {
    mica_split *s = &b->splits[r];
    mica_value *slots = mica_transform_alloc(b->t, b->g, (size_t)b->n_slots + 1, sizeof *slots);
    if (!slots) return false;
    for (int32_t i = 0; i < s->n_residuals; i++)
        if (b->slots[r][i] >= 0) slots[b->slots[r][i]] = s->residuals[i].value;
    for (int32_t i = 0; i < b->n_slots; i++)
        mica_output(s->primal, mica_or_zeros(s->primal, slots[i], &b->slot_types[i]));
    return mica_split_end(s);
}

/* Operands of the tangent op after the selector; returns how many. */
static int32_t tangent_operands(const branches *b, const mica_value *dx, mica_value *out) {
    int32_t n = 0;
    for (int32_t i = 0; i < b->n_arguments; i++)
        if (b->needed[i]) out[n++] = b->n->operands[b->first + i];
    for (int32_t i = 0; i < b->n_slots; i++) out[n++] = mica_node_result(b->n, b->n_results + i);
    for (int32_t i = 0; i < b->n_arguments; i++)
        if (b->active[i]) out[n++] = dx[b->first + i];
    return n;
}

static int32_t count(const bool *flags, int32_t n) {
    int32_t total = 0;
    for (int32_t i = 0; i < n; i++) total += flags[i];
    return total;
}

/* Results of the tangent op, in the places of the results they belong to. */
static void spread(const bool *active, int32_t n, const mica_node *tangent, mica_value *dy) {
    for (int32_t i = 0, k = 0; tangent && i < n; i++)
        if (active[i]) dy[i] = mica_node_result(tangent, k++);
}

static void extend_primal(branches *b, mica_graph **primal) {
    mica_node *n = b->n;
    if (b->n_slots == 0) return;
    if (n->op != MICA_OP_call) {
        mica_node_extend(n, n->operands, n->n_operands, n->attrs, primal, b->n_regions);
        return;
    }
    /* With more results it is another composite, and no rule for the old one applies. */
    mica_attr attrs[] = {mica_attr_string(""), mica_attr_string(""), mica_attr_int(0),
                         mica_attr_string("")};
    mica_node_extend(n, n->operands, n->n_operands, attrs, primal, 1);
}

static void emit_branches(branches *b, mica_graph **primal, mica_graph **tangent,
                          const mica_value *dx, mica_value *dy) {
    mica_graph *g = b->g;
    extend_primal(b, primal);
    mica_value *operands = mica_transform_alloc(
        b->t, g, (size_t)(2 * b->n_arguments + b->n_slots) + 2, sizeof *operands);
    if (!operands || g->error) return;
    mica_node *n = NULL;
    if (b->n->op == MICA_OP_call) {
        int32_t n_operands = tangent_operands(b, dx, operands);
        mica_attr attrs[] = {mica_attr_string(""), mica_attr_string(""),
                             mica_attr_int(count(b->active, b->n_arguments)), mica_attr_string("")};
        n = mica_node_create(g, MICA_OP_call, operands, n_operands, attrs, tangent, 1);
    } else {
        operands[0] = b->n->operands[0];
        int32_t n_operands = 1 + tangent_operands(b, dx, operands + 1);
        n = mica_node_create(g, b->n->op, operands, n_operands, b->n->attrs, tangent, b->n_regions);
    }
    spread(b->results, b->n_results, n, dy);
}

/* What was found out about a call's body, kept with the two graphs made from it: slots, needed
 * arguments, active results. */
static bool *call_key(branches *b) {
    size_t room = (size_t)(b->n_arguments + b->n_results) + 1;
    bool *key = mica_transform_alloc(b->t, b->g, room, sizeof *key);
    if (!key) return NULL;
    memcpy(key, b->active, (size_t)b->n_arguments * sizeof *key);
    memcpy(key + b->n_arguments, b->wanted, (size_t)b->n_results * sizeof *key);
    return key;
}

static void remember(branches *b, mica_graph *primal, mica_graph *tangent) {
    mica_graph *body = b->n->regions[0];
    bool *key = call_key(b);
    if (!key) return;
    mica_graph_retain(primal);
    mica_graph_retain(tangent);
    mica_made *made = mica_made_add(b->t, b->g, MICA_MADE_SPLIT, body, key,
                                    b->n_arguments + b->n_results, primal, tangent);
    size_t room = (size_t)(1 + b->n_arguments + b->n_results);
    int32_t *integers = made ? mica_transform_alloc(b->t, b->g, room, sizeof *integers) : NULL;
    if (!integers) return;
    made->integers = integers;
    *integers++ = b->n_slots;
    for (int32_t i = 0; i < b->n_arguments; i++) *integers++ = b->needed[i];
    for (int32_t i = 0; i < b->n_results; i++) *integers++ = b->results[i];
}

static const mica_made *recall(branches *b) {
    bool *key = call_key(b);
    if (!key) return NULL;
    const mica_made *made =
        mica_made_find(b->t, MICA_MADE_SPLIT, b->n->regions[0], key, b->n_arguments + b->n_results);
    if (!made || !made->integers) return NULL;
    const int32_t *integers = made->integers;
    b->n_slots = *integers++;
    for (int32_t i = 0; i < b->n_arguments; i++) b->needed[i] = *integers++;
    for (int32_t i = 0; i < b->n_results; i++) b->results[i] = *integers++;
    return made;
}

/* Backward mode: n is extended in place, and the tangent op appended. */
static void linearize_branches(mica_tangent_pass *pass, mica_node *n, int32_t first,
                               int32_t n_regions, const mica_value *dx, mica_value *dy) {
    branches b;
    if (!branches_init(&b, pass, n, first, n_regions, dx)) return;
    mica_graph **primal =
        mica_transform_alloc(b.t, b.g, 2 * (size_t)n_regions, sizeof(mica_graph *));
    if (!primal) return;
    mica_graph **tangent = primal + n_regions;
    const mica_made *made = n->op == MICA_OP_call ? recall(&b) : NULL;
    if (made) {
        mica_graph *known = made->graph, *known_tangent = made->second;
        emit_branches(&b, &known, &known_tangent, dx, dy);
        return;
    }
    bool fine = split_branches(&b) && count(b.results, b.n_results);
    for (int32_t r = 0; fine && r < n_regions; r++)
        fine = (tangent[r] = tangent_branch(&b, r)) != NULL;
    for (int32_t r = 0; fine && r < n_regions; r++) fine = finish_primal_branch(&b, r);
    for (int32_t r = 0; fine && r < n_regions; r++) primal[r] = b.splits[r].primal;
    if (fine && n->op == MICA_OP_call) remember(&b, primal[0], tangent[0]);
    if (fine) emit_branches(&b, primal, tangent, dx, dy);
    for (int32_t r = 0; r < n_regions; r++) {
        mica_split_deinit(&b.splits[r]);
        mica_graph_release(tangent[r]);
    }
}

/* Forward mode: branches that compute tangents from arguments and their tangents. */
static void joint_branches(mica_tangent_pass *pass, mica_node *n, const mica_value *dx,
                           mica_value *dy) {
    branches b;
    mica_graph *g = pass->g;
    if (!branches_init(&b, pass, n, 1, n->n_regions, dx)) return;
    for (int32_t i = 0; i < n->n_results; i++)
        b.results[i] = b.wanted[i] && mica_type_is_differentiable(&n->results[i]);
    mica_graph **regions = mica_transform_alloc(b.t, g, (size_t)n->n_regions, sizeof *regions);
    mica_value *operands =
        mica_transform_alloc(b.t, g, 2 * (size_t)n->n_operands, sizeof *operands);
    if (!regions || !operands) return;
    bool fine = true;
    for (int32_t r = 0; fine && r < n->n_regions; r++)
        fine = (regions[r] = mica_jvp_graph(b.t, g, n->regions[r], b.active, b.results, false)) !=
               NULL;
    int32_t n_operands = 0;
    for (int32_t i = 0; i < n->n_operands; i++) operands[n_operands++] = n->operands[i];
    for (int32_t i = 0; i < b.n_arguments; i++)
        if (b.active[i]) operands[n_operands++] = dx[1 + i];
    if (fine && count(b.results, n->n_results)) {
        mica_node *tangent =
            mica_node_create(g, n->op, operands, n_operands, n->attrs, regions, n->n_regions);
        spread(b.results, n->n_results, tangent, dy);
    }
    for (int32_t r = 0; r < n->n_regions; r++) mica_graph_release(regions[r]);
}

MICA_JVP_RULE(branches) {
    if (pass->joint && !mica_node_has_effects(n))
        joint_branches(pass, n, dx, dy);
    else
        linearize_branches(pass, n, 1, n->n_regions, dx, dy);
}

void mica_linearize_body(mica_tangent_pass *pass, mica_node *n, const mica_value *dx,
                         mica_value *dy) {
    linearize_branches(pass, n, 0, 1, dx, dy);
}

/* ---- transpose --------------------------------------------------------------------------------
 * The same selector, every branch transposed: (other arguments, cotangents) -> cotangents of the
 * linear arguments, zeros where a branch has none but another has. */

MICA_TRANSPOSE_RULE(branches) {
    int32_t n_arguments = n->n_operands - 1, n_linear = count(linear + 1, n_arguments);
    mica_graph **regions = mica_transform_alloc(t, g, (size_t)n->n_regions, sizeof *regions);
    mica_value *values =
        mica_transform_alloc(t, g, (size_t)(n->n_regions * n_linear) + 1, sizeof *values);
    bool *given = mica_transform_alloc(t, g, (size_t)(n->n_results + n_linear) + 1, sizeof *given);
    mica_value *operands =
        mica_transform_alloc(t, g, (size_t)(n->n_operands + n->n_results), sizeof *operands);
    if (!regions || !values || !given || !operands) return;
    bool *some = given + n->n_results, fine = true;
    for (int32_t i = 0; i < n->n_results; i++) given[i] = !mica_is_zero(dy[i]);
    for (int32_t r = 0; fine && r < n->n_regions; r++) {
        mica_value *row = values + r * n_linear;
        fine = (regions[r] = mica_transpose_graph(t, g, n->regions[r], linear + 1, given, row)) !=
               NULL;
        for (int32_t i = 0; fine && i < n_linear; i++) some[i] |= !mica_is_zero(row[i]);
    }
    int32_t n_operands = 0;
    for (int32_t i = 0; i < n->n_operands; i++)
        if (!linear[i]) operands[n_operands++] = n->operands[i];
    for (int32_t i = 0; i < n->n_results; i++)
        if (given[i]) operands[n_operands++] = dy[i];
    for (int32_t r = 0; fine && r < n->n_regions; r++) {
        for (int32_t i = 0, k = 0; i < n_arguments; i++) {
            if (!linear[1 + i]) continue;
            const mica_type *type = mica_operand_type(n, 1 + i);
            if (some[k])
                mica_output(regions[r], mica_or_zeros(regions[r], values[r * n_linear + k], type));
            k++;
        }
        fine = mica_region_check(g, regions[r]);
    }
    if (fine && count(some, n_linear)) {
        mica_node *back =
            mica_node_create(g, n->op, operands, n_operands, n->attrs, regions, n->n_regions);
        for (int32_t i = 1, k = 0, result = 0; back && i < n->n_operands; i++) {
            if (!linear[i]) continue;
            if (some[k++]) out[i] = mica_node_result(back, result++);
        }
    }
    for (int32_t r = 0; r < n->n_regions; r++) mica_graph_release(regions[r]);
}
