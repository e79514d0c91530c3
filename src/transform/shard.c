/* mica_shard: one rank's part of what the participants of an axis do.
 *
 * Collectives cut the work of a participant into levels: a node's level is the number of
 * collectives on the longest way to it. What is the same for all shards is computed once. Of the
 * rest, the nodes of a level become one body, which a scan runs once for each shard of the rank (or
 * vmap for all at once); then the collectives of the level follow, over stacked values. */
#include "transform/shard.h"

#include <string.h>

/* What is known of a value of the participant's graph. */
typedef struct shard_value {
    mica_value same, stacked; /* null: not made yet */
    mica_value inside;        /* in the body that is being made; null: not there */
    bool is_needed;           /* outside of the body that makes it */
} shard_value;

typedef struct shard_pass {
    mica_sharding s;
    mica_shard_mode mode;
    mica_graph *from; /* the participant's graph, calls with collectives inside inlined */
    int32_t *first;   /* per node: its first result in values */
    int32_t *level;   /* per node */
    bool *varies, *is_collective, *is_cheap;
    shard_value *values;
    int32_t n_values, levels;
} shard_pass;

static shard_value *value_of(const shard_pass *p, mica_value v) {
    return &p->values[p->first[v.node->id] + v.index];
}

static bool is_along(const mica_node *n, const char *axis) {
    return n->op < MICA_OP_COUNT && mica_op_class_of(n->op) == MICA_CLASS_COLLECTIVE &&
           !strcmp(mica_node_string(n, "axis"), axis);
}

static bool has_inside(const mica_node *n, const char *axis) {
    for (int32_t i = 0; i < n->n_regions; i++)
        for (int32_t k = 0; k < n->regions[i]->n_nodes; k++) {
            const mica_node *inner = n->regions[i]->nodes[k];
            if (is_along(inner, axis) || has_inside(inner, axis)) return true;
        }
    return false;
}

/* ---- calls with collectives inside ------------------------------------------------------------*/

static bool flatten(mica_transform *t, mica_graph *to, const mica_graph *f, const char *axis,
                    const mica_value *parameters, mica_value *outputs) {
    mica_value **images = mica_transform_alloc(t, to, (size_t)f->n_nodes + 1, sizeof *images);
    for (int32_t i = 0; images && i < f->n_parameters; i++)
        images[f->parameters[i].node->id] = (mica_value *)(uintptr_t)&parameters[i];
    for (int32_t i = 0; images && i < f->n_nodes; i++) {
        const mica_node *n = f->nodes[i];
        if (n->op == MICA_OP_PARAMETER) continue;
        mica_value *x =
            mica_transform_alloc(t, to, (size_t)(n->n_operands + n->n_results) + 1, sizeof *x);
        if (!x) return false;
        mica_value *y = images[i] = x + n->n_operands;
        for (int32_t k = 0; k < n->n_operands; k++)
            x[k] = images[n->operands[k].node->id][n->operands[k].index];
        if (n->op == MICA_OP_call && has_inside(n, axis)) {
            if (!flatten(t, to, n->regions[0], axis, x, y)) return false;
            continue;
        }
        mica_node *copy = mica_node_clone(to, n, x);
        for (int32_t k = 0; copy && k < n->n_results; k++) y[k] = mica_node_result(copy, k);
        if (!copy) return false;
    }
    for (int32_t i = 0; images && i < f->n_outputs; i++)
        outputs[i] = images[f->outputs[i].node->id][f->outputs[i].index];
    return images && !to->error;
}

static mica_status flat_graph(mica_transform *t, const mica_graph *f, const char *axis,
                              mica_graph **out_graph) {
    mica_graph *to = NULL;
    MICA_TRY(mica_graph_create(f->name, &to));
    size_t n = (size_t)(f->n_parameters + f->n_outputs) + 1;
    mica_value *parameters = mica_transform_alloc(t, to, n, sizeof *parameters);
    if (parameters) {
        mica_value *outputs = parameters + f->n_parameters;
        for (int32_t i = 0; i < f->n_parameters; i++)
            parameters[i] = mica_parameter(to, mica_value_type(f->parameters[i]));
        if (flatten(t, to, f, axis, parameters, outputs))
            for (int32_t i = 0; i < f->n_outputs; i++) mica_output(to, outputs[i]);
    }
    mica_status status = mica_graph_check(to);
    if (status)
        mica_graph_release(to);
    else
        *out_graph = to;
    return status;
}

/* ---- levels -----------------------------------------------------------------------------------*/

static mica_status refuse(const mica_node *n, const char *why) {
    return MICA_ERROR(MICA_UNSUPPORTED, "[shard] %s %s", mica_op_name(n->op), why);
}

/* What is made again where it is needed, so that a body sees that it is constant. */
static bool is_cheap(const shard_pass *p, const mica_node *n) {
    if (n->n_results != 1 || n->results[0].kind != MICA_TENSOR) return false;
    if (n->op == MICA_OP_constant || n->op == MICA_OP_iota) return true;
    return (n->op == MICA_OP_broadcast || n->op == MICA_OP_reshape || n->op == MICA_OP_convert) &&
           p->is_cheap[n->operands[0].node->id];
}

static mica_status check_node(const shard_pass *p, const mica_node *n) {
    const mica_attr *size = mica_node_attr(n, "size");
    if (has_inside(n, p->s.axis))
        return refuse(n, "has collectives along the axis inside: they must be outside of loops, "
                         "branches and recomputations");
    if (p->is_collective[n->id] && size && size->as.integer != p->s.shards)
        return MICA_INVALID("[shard] %s is of %lld participants: there are %lld shards",
                            mica_op_name(n->op), (long long)size->as.integer,
                            (long long)p->s.shards);
    for (int32_t k = 0; p->varies[n->id] && k < n->n_results; k++)
        if (n->results[k].kind == MICA_TOKEN)
            return refuse(n, "calls a function of the host, which every shard would call");
    return NULL;
}

static mica_status find_levels(shard_pass *p, const uint8_t *mapped) {
    const mica_graph *f = p->from;
    for (int32_t i = 0; i < f->n_parameters; i++)
        p->varies[f->parameters[i].node->id] = mapped[i] != 0;
    for (int32_t i = 0; i < f->n_nodes; i++) {
        const mica_node *n = f->nodes[i];
        bool along = is_along(n, p->s.axis), is_index = along && n->op == MICA_OP_axis_index;
        p->is_collective[i] = along && !is_index;
        p->varies[i] |= is_index;
        for (int32_t k = 0; k < n->n_operands; k++) {
            int32_t from = n->operands[k].node->id;
            if (p->level[from] > p->level[i]) p->level[i] = p->level[from];
            p->varies[i] |= p->varies[from];
        }
        if (p->is_collective[i]) {
            p->level[i]++;
            p->varies[i] = n->op == MICA_OP_reduce_scatter || n->op == MICA_OP_permute;
        }
        p->is_cheap[i] = is_cheap(p, n);
        if (p->level[i] >= p->levels) p->levels = p->level[i] + 1;
        MICA_TRY(check_node(p, n));
    }
    return NULL;
}

/* Whether the node belongs into a body. */
static bool is_inside(const shard_pass *p, const mica_node *n) {
    return p->varies[n->id] && !p->is_collective[n->id] && n->op != MICA_OP_PARAMETER &&
           !is_along(n, p->s.axis);
}

/* Values that are read by another level, a collective or an output. */
static mica_status find_needed(shard_pass *p) {
    const mica_graph *f = p->from;
    for (int32_t i = 0; i < f->n_nodes; i++) {
        const mica_node *n = f->nodes[i];
        for (int32_t k = 0; k < n->n_operands; k++) {
            const mica_node *x = n->operands[k].node;
            if (is_inside(p, n) && p->level[x->id] == p->level[i]) continue;
            value_of(p, n->operands[k])->is_needed = true;
        }
    }
    for (int32_t i = 0; i < f->n_outputs; i++) value_of(p, f->outputs[i])->is_needed = true;
    for (int32_t i = 0; i < f->n_nodes; i++)
        for (int32_t k = 0; is_inside(p, f->nodes[i]) && k < f->nodes[i]->n_results; k++)
            if (f->nodes[i]->results[k].kind != MICA_TENSOR &&
                value_of(p, mica_node_result(f->nodes[i], k))->is_needed)
                return refuse(f->nodes[i], "makes a list that lives across a collective");
    return NULL;
}

/* ---- bodies -----------------------------------------------------------------------------------*/

typedef struct body {
    mica_graph *region;
    mica_value *operands; /* outside: those that are the same, then those that are stacked */
    int32_t n_same, n_stacked, n_outputs;
    shard_value **outputs;
} body;

/* Copies a cheap node, and what it is made from, into the body. */
static mica_value copy_cheap(shard_pass *p, body *b, mica_value v) {
    shard_value *known = value_of(p, v);
    if (!mica_value_is_null(known->inside)) return known->inside;
    mica_value operand = MICA_NULL_VALUE;
    if (v.node->n_operands) operand = copy_cheap(p, b, v.node->operands[0]);
    mica_node *copy = mica_node_clone(b->region, v.node, &operand);
    if (copy) known->inside = mica_node_result(copy, 0);
    return known->inside;
}

/* Makes parameters for what comes from outside: in two rounds, stacked ones last. */
static void bring_in(shard_pass *p, body *b, int32_t level, bool stacked) {
    const mica_graph *f = p->from;
    for (int32_t i = 0; i < f->n_nodes; i++) {
        const mica_node *n = f->nodes[i];
        if (!is_inside(p, n) || p->level[i] != level) continue;
        for (int32_t k = 0; k < n->n_operands; k++) {
            mica_value v = n->operands[k];
            shard_value *known = value_of(p, v);
            bool is_own = is_inside(p, v.node) && p->level[v.node->id] == level;
            if (is_own || !mica_value_is_null(known->inside)) continue;
            if (p->varies[v.node->id] != stacked || p->is_cheap[v.node->id]) continue;
            known->inside = mica_parameter(b->region, mica_value_type(v));
            b->operands[b->n_same + b->n_stacked] = stacked ? known->stacked : known->same;
            ++*(stacked ? &b->n_stacked : &b->n_same);
        }
    }
}

static void copy_inside(shard_pass *p, body *b, int32_t level) {
    const mica_graph *f = p->from;
    for (int32_t i = 0; i < f->n_nodes && !b->region->error; i++) {
        const mica_node *n = f->nodes[i];
        if (!is_inside(p, n) || p->level[i] != level) continue;
        mica_value *x =
            mica_transform_alloc(p->s.t, b->region, (size_t)n->n_operands + 1, sizeof *x);
        if (!x) return;
        for (int32_t k = 0; k < n->n_operands; k++) {
            mica_value v = n->operands[k];
            x[k] = p->is_cheap[v.node->id] ? copy_cheap(p, b, v) : value_of(p, v)->inside;
        }
        mica_node *copy = mica_node_clone(b->region, n, x);
        for (int32_t k = 0; copy && k < n->n_results; k++) {
            shard_value *known = value_of(p, mica_node_result(n, k));
            known->inside = mica_node_result(copy, k);
            if (!known->is_needed) continue;
            b->outputs[b->n_outputs++] = known;
            mica_output(b->region, known->inside);
        }
    }
}

static void run_by_vmap(shard_pass *p, const body *b, mica_value *results) {
    mica_graph *whole = NULL;
    int32_t n = b->n_same + b->n_stacked + b->n_outputs;
    int32_t *axes = mica_transform_alloc(p->s.t, p->s.g, (size_t)n + 1, sizeof *axes);
    if (!axes) return;
    for (int32_t i = 0; i < b->n_same; i++) axes[i] = MICA_UNMAPPED;
    mica_status status =
        mica_vmap(b->region, axes, axes + b->n_same + b->n_stacked, p->s.count, NULL, &whole);
    if (status)
        mica_graph_fail(p->s.g, status);
    else
        mica_inline(p->s.g, whole, b->operands, b->n_same + b->n_stacked, results);
    mica_graph_release(whole);
}

static void make_body(shard_pass *p, int32_t level) {
    mica_graph *g = p->s.g;
    body b = {.region = mica_region_create(g, p->from->name)};
    size_t n = (size_t)p->n_values + 1;
    b.operands = mica_transform_alloc(p->s.t, g, 2 * n, sizeof *b.operands);
    b.outputs = mica_transform_alloc(p->s.t, g, n, sizeof *b.outputs);
    for (int32_t i = 0; i < p->n_values; i++) p->values[i].inside = MICA_NULL_VALUE;
    if (b.region && b.operands && b.outputs) {
        mica_value *results = b.operands + n;
        bring_in(p, &b, level, false);
        bring_in(p, &b, level, true);
        copy_inside(p, &b, level);
        if (mica_region_check(g, b.region) && b.n_outputs) {
            if (p->mode == MICA_SHARD_VMAP)
                run_by_vmap(p, &b, results);
            else
                mica_scan(g, b.region, b.operands, b.n_same + b.n_stacked, b.n_same, 0, p->s.count,
                          false, results);
            for (int32_t i = 0; i < b.n_outputs; i++) b.outputs[i]->stacked = results[i];
        }
    }
    mica_graph_release(b.region);
}

/* ---- outside of them --------------------------------------------------------------------------*/

static void copy_same(shard_pass *p, const mica_node *n) {
    mica_value *x = mica_transform_alloc(p->s.t, p->s.g, (size_t)n->n_operands + 1, sizeof *x);
    if (!x) return;
    for (int32_t k = 0; k < n->n_operands; k++) x[k] = value_of(p, n->operands[k])->same;
    mica_node *copy = mica_node_clone(p->s.g, n, x);
    for (int32_t k = 0; copy && k < n->n_results; k++)
        value_of(p, mica_node_result(n, k))->same = mica_node_result(copy, k);
}

static mica_value stacked(shard_pass *p, mica_value v) {
    shard_value *known = value_of(p, v);
    if (mica_value_is_null(known->stacked)) known->stacked = mica_stack_same(&p->s, known->same);
    return known->stacked;
}

static void make_collective(shard_pass *p, const mica_node *n) {
    shard_value *result = value_of(p, mica_node_result(n, 0));
    mica_value x = n->operands[0];
    bool is_stacked = false;
    if (!p->varies[x.node->id]) {
        result->same = mica_shard_same(&p->s, n, value_of(p, x)->same);
        if (!mica_value_is_null(result->same)) return;
    }
    mica_value y = mica_shard_collective(&p->s, n, stacked(p, x), &is_stacked);
    *(is_stacked ? &result->stacked : &result->same) = y;
}

/* Whether the node goes with others into one collective over the ranks. */
static bool is_bucketed(const shard_pass *p, const mica_node *n, int32_t level) {
    return p->is_collective[n->id] && p->level[n->id] == level + 1 &&
           p->varies[n->operands[0].node->id] && mica_shard_is_bucketed(&p->s, n);
}

/* All sums of the level that are ready at the same time: those of one kind and dtype together, up
 * to so many bytes. */
static void make_buckets(shard_pass *p, int32_t level) {
    enum { MOST = 1 << 25 };
    const mica_graph *f = p->from;
    size_t n_nodes = (size_t)f->n_nodes + 1;
    const mica_node **nodes = mica_transform_alloc(p->s.t, p->s.g, n_nodes, sizeof *nodes);
    mica_value *x = mica_transform_alloc(p->s.t, p->s.g, 2 * n_nodes, sizeof *x);
    bool *is_made = mica_transform_alloc(p->s.t, p->s.g, n_nodes, sizeof *is_made);
    for (int32_t i = 0; nodes && x && is_made && i < f->n_nodes; i++) {
        const mica_node *first = f->nodes[i];
        if (is_made[i] || !is_bucketed(p, first, level)) continue;
        size_t bytes = 0;
        int32_t n = 0;
        for (int32_t k = i; k < f->n_nodes && bytes < MOST; k++) {
            const mica_node *node = f->nodes[k];
            if (is_made[k] || !is_bucketed(p, node, level)) continue;
            if (node->results[0].dtype != first->results[0].dtype ||
                strcmp(mica_node_string(node, "kind"), mica_node_string(first, "kind")) != 0)
                continue;
            is_made[k] = true;
            nodes[n] = node;
            x[n++] = value_of(p, node->operands[0])->stacked;
            bytes += mica_type_bytes(&node->results[0]);
        }
        mica_value *results = x + n_nodes;
        mica_shard_bucket(&p->s, nodes, x, n, results);
        for (int32_t k = 0; k < n; k++)
            value_of(p, mica_node_result(nodes[k], 0))->same = results[k];
    }
}

static void make_level(shard_pass *p, int32_t level) {
    const mica_graph *f = p->from;
    for (int32_t i = 0; i < f->n_nodes && !p->s.g->error; i++) {
        const mica_node *n = f->nodes[i];
        if (p->level[i] != level || n->op == MICA_OP_PARAMETER || p->is_collective[i]) continue;
        if (is_along(n, p->s.axis))
            value_of(p, mica_node_result(n, 0))->stacked = mica_shard_numbers(&p->s);
        else if (!p->varies[i])
            copy_same(p, n);
    }
    if (!p->s.g->error) make_body(p, level);
    if (!p->s.g->error) make_buckets(p, level);
    for (int32_t i = 0; i < f->n_nodes && !p->s.g->error; i++)
        if (p->is_collective[i] && p->level[i] == level + 1 && !is_bucketed(p, f->nodes[i], level))
            make_collective(p, f->nodes[i]);
}

static void take_parameters(shard_pass *p, const uint8_t *mapped) {
    const mica_graph *f = p->from;
    for (int32_t i = 0; i < f->n_parameters; i++) {
        const mica_type *type = mica_value_type(f->parameters[i]);
        shard_value *known = value_of(p, f->parameters[i]);
        if (mapped[i]) {
            mica_type whole = mica_stacked_type(type, p->s.count);
            known->stacked = mica_parameter(p->s.g, &whole);
        } else {
            known->same = mica_parameter(p->s.g, type);
        }
    }
}

static void give_outputs(shard_pass *p, const uint8_t *out_mapped) {
    const mica_graph *f = p->from;
    for (int32_t i = 0; i < f->n_outputs && !p->s.g->error; i++) {
        if (!out_mapped[i] && p->varies[f->outputs[i].node->id])
            mica_graph_fail(
                p->s.g, MICA_INVALID("[shard] output %d varies over the shards and is to be the "
                                     "same for all: reduce it, or map it",
                                     i));
        else
            mica_output(p->s.g, out_mapped[i] ? stacked(p, f->outputs[i])
                                              : value_of(p, f->outputs[i])->same);
    }
}

/* ---- mica_shard -------------------------------------------------------------------------------*/

static mica_status make_tables(shard_pass *p) {
    const mica_graph *f = p->from;
    size_t n = (size_t)f->n_nodes + 1;
    p->first = mica_transform_alloc(p->s.t, p->s.g, n, sizeof *p->first);
    p->level = mica_transform_alloc(p->s.t, p->s.g, n, sizeof *p->level);
    p->varies = mica_transform_alloc(p->s.t, p->s.g, 3 * n, sizeof *p->varies);
    if (!p->first || !p->level || !p->varies) return mica_graph_check(p->s.g);
    p->is_collective = p->varies + n;
    p->is_cheap = p->is_collective + n;
    for (int32_t i = 0; i < f->n_nodes; i++) {
        p->first[i] = p->n_values;
        p->n_values += f->nodes[i]->n_results;
    }
    p->values = mica_transform_alloc(p->s.t, p->s.g, (size_t)p->n_values + 1, sizeof *p->values);
    return mica_graph_check(p->s.g);
}

static mica_status shard(shard_pass *p, const mica_graph *function, const uint8_t *mapped,
                         const uint8_t *out_mapped) {
    MICA_TRY(flat_graph(p->s.t, function, p->s.axis, &p->from));
    MICA_TRY(make_tables(p));
    p->levels = 1;
    MICA_TRY(find_levels(p, mapped));
    MICA_TRY(find_needed(p));
    take_parameters(p, mapped);
    for (int32_t level = 0; level < p->levels && !p->s.g->error; level++) make_level(p, level);
    if (!p->s.g->error) give_outputs(p, out_mapped);
    return mica_graph_check(p->s.g);
}

static mica_status check_parameters(const mica_graph *f, const uint8_t *mapped) {
    for (int32_t i = 0; i < f->n_parameters; i++)
        if (mapped[i] && mica_value_type(f->parameters[i])->kind != MICA_TENSOR)
            return MICA_INVALID("[shard] parameter %d of '%s' is %s and cannot be mapped", i,
                                f->name, mica_type_text(mica_value_type(f->parameters[i])).chars);
    for (int32_t i = 0; i < f->n_outputs; i++)
        if (mica_value_type(f->outputs[i])->kind != MICA_TENSOR)
            return MICA_INVALID("[shard] output %d of '%s' is no tensor", i, f->name);
    return NULL;
}

mica_status mica_shard(const mica_graph *function, const uint8_t *mapped, const uint8_t *out_mapped,
                       int64_t shards, int64_t count, const char *axis, mica_shard_mode mode,
                       mica_graph **out_graph) {
    MICA_GIVEN(function, mapped, out_mapped, axis, out_graph);
    *out_graph = NULL;
    if (function->error) return mica_graph_check(function);
    if (count < 1 || shards < 1 || shards % count || shards > INT32_MAX)
        return MICA_INVALID("[shard] %lld of %lld shards: the ranks share them in equal parts",
                            (long long)count, (long long)shards);
    MICA_TRY(check_parameters(function, mapped));
    mica_transform t;
    shard_pass p = {
        .s = {.t = &t, .shards = shards, .count = count, .ranks = shards / count, .axis = axis},
        .mode = mode};
    MICA_TRY(mica_graph_create(function->name, &p.s.g));
    mica_transform_init(&t);
    mica_status status = shard(&p, function, mapped, out_mapped);
    mica_transform_deinit(&t);
    mica_graph_release(p.from);
    if (status)
        mica_graph_release(p.s.g);
    else
        *out_graph = p.s.g;
    return status;
}
