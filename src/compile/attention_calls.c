/* The composites of compile/attention.h, which say what a device's kernel computes. */
#include <math.h>
#include <stdio.h>

#include "compile/attention.h"

enum { Q, K, V, MASK, Y, LOG_SUM, DY, DLOG_SUM };

/* An axis of a contracted with one of b, both counted from the end; those before the last two are
 * shared. */
static mica_value product(mica_graph *g, mica_value a, mica_value b, int64_t from_end_a,
                          int64_t from_end_b) {
    const mica_type *type = mica_value_type(a);
    if (!type) return MICA_NULL_VALUE;
    int64_t batch[MICA_MAX_RANK];
    for (int32_t i = 0; i < type->rank; i++) batch[i] = i;
    mica_ints shared = {batch, type->rank - 2};
    return mica_dot(g, a, b, MICA_INTS(type->rank - from_end_a), MICA_INTS(type->rank - from_end_b),
                    shared, shared);
}

/* (..., L, 1) from (..., L) */
static mica_value column(mica_graph *g, mica_value x) {
    const mica_type *given = mica_value_type(x);
    if (!given) return x;
    mica_type type = *given;
    type.dims[type.rank++] = 1;
    return mica_reshape(g, x, (mica_ints){type.dims, type.rank});
}

static mica_value number(mica_graph *g, double value) {
    return mica_scalar(g, MICA_DTYPE_f32, value);
}

static bool is_hiding(mica_value mask) {
    return mask.node && mica_value_type(mask)->dtype == MICA_DTYPE_bool;
}

static mica_value scores_of(mica_graph *g, const mica_value *in, const mica_attention_settings *s) {
    mica_value scores = mica_mul(g, product(g, in[Q], in[K], 1, 1), number(g, s->scale));
    mica_value never = number(g, s->has_never ? (double)s->never : -INFINITY);
    if (is_hiding(in[MASK]))
        scores = mica_select(g, in[MASK], never, scores);
    else if (in[MASK].node)
        scores = mica_add(g, scores, in[MASK]);
    const mica_type *type = mica_value_type(scores);
    if (!s->causal || !type) return scores;
    mica_ints dims = {type->dims, type->rank};
    mica_value query = mica_iota(g, dims, type->rank - 2, MICA_DTYPE_i32);
    mica_value key = mica_iota(g, dims, type->rank - 1, MICA_DTYPE_i32);
    return mica_select(g, mica_compare(g, key, query, "gt"), never, scores);
}

static mica_value along_keys(mica_graph *g, mica_value x, const char *kind) {
    const mica_type *type = mica_value_type(x);
    return type ? mica_reduce(g, x, kind, MICA_INTS(type->rank - 1)) : x;
}

static void write_forward(mica_graph *g, const mica_value *in, const mica_attention_settings *s) {
    mica_value scores = scores_of(g, in, s), top = along_keys(g, scores, "max");
    mica_value powers = mica_exp(g, mica_sub(g, scores, column(g, top)));
    mica_value sum = along_keys(g, powers, "sum");
    mica_output(g, product(g, mica_div(g, powers, column(g, sum)), in[V], 1, 2));
    mica_value logs = mica_add(g, top, mica_log(g, sum));
    if (is_hiding(in[MASK]))
        logs = mica_select(g, mica_compare(g, top, number(g, (double)s->never), "eq"),
                           number(g, INFINITY), logs);
    mica_output(g, logs);
}

static void write_back(mica_graph *g, const mica_value *in, const mica_attention_settings *s) {
    mica_value logs = column(g, in[LOG_SUM]);
    mica_value p = mica_exp(g, mica_sub(g, scores_of(g, in, s), logs));
    const mica_type *type = mica_value_type(p);
    if (is_hiding(in[MASK]) && type)
        p = mica_select(g, mica_compare(g, logs, number(g, INFINITY), "eq"),
                        number(g, 1 / (double)type->dims[type->rank - 1]), p);
    mica_value shared = along_keys(g, mica_mul(g, in[DY], in[Y]), "sum");
    mica_value more = column(g, mica_sub(g, in[DLOG_SUM], shared));
    mica_value ds = mica_mul(g, p, mica_add(g, product(g, in[DY], in[V], 1, 1), more));
    if (is_hiding(in[MASK])) ds = mica_select(g, in[MASK], number(g, 0), ds);
    ds = mica_mul(g, ds, number(g, s->scale));
    mica_output(g, product(g, ds, in[K], 1, 2));
    mica_output(g, product(g, ds, in[Q], 2, 2));
    mica_output(g, product(g, p, in[DY], 2, 2));
}

typedef void (*body_writer)(mica_graph *g, const mica_value *in, const mica_attention_settings *s);

static mica_node *call(mica_graph *g, const char *name, const mica_value *operands, int32_t n,
                       const mica_attention_settings *s, body_writer write) {
    mica_graph *body = NULL;
    mica_value in[MICA_ATTENTION_OPERANDS] = {{NULL, 0}}, given[MICA_ATTENTION_OPERANDS];
    int32_t count = 0;
    char config[120];
    if (g->error) return NULL; /* operands may be null then */
    mica_status status = mica_graph_create(name, &body);
    if (status) {
        mica_graph_fail(g, status);
        return NULL;
    }
    for (int32_t i = 0; i < n; i++)
        if (operands[i].node) {
            in[i] = mica_parameter(body, mica_value_type(operands[i]));
            given[count++] = operands[i];
        }
    write(body, in, s);
    int length = snprintf(config, sizeof config, "scale=%.17g causal=%d", s->scale, (int)s->causal);
    if (s->has_never)
        snprintf(config + length, sizeof config - (size_t)length, " never=%.9g", (double)s->never);
    mica_attr attrs[4] = {{MICA_ATTR_STRING, {.string = name}},
                          {MICA_ATTR_STRING, {.string = ""}},
                          {MICA_ATTR_INT, {.integer = 0}},
                          {MICA_ATTR_STRING, {.string = config}}};
    mica_node *made = NULL;
    status = mica_graph_take_error(body);
    if (status)
        mica_graph_fail(g, status);
    else
        made = mica_node_create(g, MICA_OP_call, given, count, attrs, &body, 1);
    mica_graph_release(body);
    return made;
}

mica_node *mica_attention_call(mica_graph *g, const mica_value operands[4],
                               const mica_attention_settings *s) {
    return call(g, "mica.attention", operands, 4, s, write_forward);
}

mica_node *mica_attention_back_call(mica_graph *g, const mica_value operands[8],
                                    const mica_attention_settings *s) {
    return call(g, "mica.attention.back", operands, 8, s, write_back);
}
