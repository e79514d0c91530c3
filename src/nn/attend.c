/* softmax(scale q k^T + mask) v as a composite that a device can compute without the matrix of
 * scores (mica.attention), with its vjp (mica.attention.back inside).
 *
 * Besides y it returns for every query ln sum e^score (0 for a query that may attend to nothing),
 * from which the backward pass makes the softmax again, a few rows at a time. Of f16 and bf16 the
 * scores, the softmax and this sum are f32; the softmax is rounded before its products. */
#include "nn/compose.h"

#include <math.h>

enum { Q, K, V, MASK, FORWARD_OPERANDS, Y = FORWARD_OPERANDS, LOG_SUM, DY, DLOG_SUM, OPERANDS };

typedef struct settings {
    double scale;
    bool causal;
} settings;

/* a b^T, or a^T b, over the last two axes */
static mica_value product(mica_graph *g, mica_value a, mica_value b, bool transposes_a,
                          bool transposes_b) {
    return mica_nn_matmul(g, a, b, 1, transposes_a, transposes_b);
}

/* Scores, softmax and sums of narrow numbers are computed in f32. */
static mica_value wide(mica_graph *g, mica_value x) {
    mica_dtype dtype = mica_nn_type(x).dtype;
    return dtype == MICA_DTYPE_f16 || dtype == MICA_DTYPE_bf16 ? mica_convert(g, x, MICA_DTYPE_f32)
                                                               : x;
}

static mica_value as_dtype(mica_graph *g, mica_value x, mica_value like) {
    mica_dtype dtype = mica_nn_type(like).dtype;
    return mica_nn_type(x).dtype == dtype ? x : mica_convert(g, x, dtype);
}

/* (..., L, 1) from (..., L) */
static mica_value column(mica_graph *g, mica_value x) {
    mica_type type = mica_nn_type(x);
    type.dims[type.rank++] = 1;
    return mica_reshape(g, x, mica_nn_dims(&type));
}

static mica_value row(mica_graph *g, mica_value x) {
    mica_type type = mica_nn_type(x);
    type.dims[--type.rank] = 0;
    return mica_reshape(g, x, mica_nn_dims(&type));
}

/* Scores with the mask in them, -inf for keys that are not attended to. */
static mica_value scores_of(mica_graph *g, const mica_value *in, const settings *s) {
    mica_value scores =
        mica_nn_scale(g, product(g, wide(g, in[Q]), wide(g, in[K]), false, true), s->scale);
    mica_type type = mica_nn_type(scores);
    mica_value never = mica_nn_number(g, scores, -INFINITY), mask = in[MASK];
    if (!mica_value_is_null(mask) && mica_nn_type(mask).dtype == MICA_DTYPE_bool)
        scores = mica_select(g, mica_broadcast_to(g, mask, mica_nn_dims(&type)), never, scores);
    else if (!mica_value_is_null(mask))
        scores = mica_add(g, scores, wide(g, mask));
    if (!s->causal) return scores;
    mica_value query = mica_iota(g, mica_nn_dims(&type), type.rank - 2, MICA_DTYPE_i32);
    mica_value key = mica_iota(g, mica_nn_dims(&type), type.rank - 1, MICA_DTYPE_i32);
    return mica_select(g, mica_compare(g, key, query, "gt"), never, scores);
}

/* ---- backward ---------------------------------------------------------------------------------*/

/* The sum over axes along which x was stretched, back in its shape. */
static mica_value shrink(mica_graph *g, mica_value x, const mica_type *to) {
    mica_type type = mica_nn_type(x);
    int64_t axes[MICA_MAX_RANK];
    int32_t n = 0;
    for (int32_t i = 0; i < type.rank; i++) {
        int32_t k = i - (type.rank - to->rank);
        if (k < 0 || to->dims[k] != type.dims[i]) axes[n++] = i;
    }
    if (n) x = mica_reduce(g, x, "sum", (mica_ints){axes, n});
    return mica_reshape(g, x, mica_nn_dims(to));
}

/* out: dq, dk, dv, and of a float mask dmask */
static void attention_back(mica_graph *g, const mica_value operands[OPERANDS], const settings *s,
                           mica_value out[4]) {
    mica_composite c;
    for (int32_t i = 0; i < 4; i++) out[i] = MICA_NULL_VALUE;
    if (!mica_composite_begin(&c, g, "mica.attention.back", operands, OPERANDS)) return;
    mica_graph *b = c.body;
    int32_t last = mica_nn_type(c.in[DY]).rank - 1;
    mica_value p = mica_exp(b, mica_sub(b, scores_of(b, c.in, s), column(b, c.in[LOG_SUM])));
    mica_value dy = wide(b, c.in[DY]);
    mica_value shared =
        mica_nn_reduce_keep(b, mica_mul(b, dy, wide(b, c.in[Y])), "sum", MICA_INTS(last));
    mica_value more = mica_sub(b, column(b, c.in[DLOG_SUM]), shared);
    mica_value ds =
        mica_mul(b, p, mica_add(b, product(b, dy, wide(b, c.in[V]), false, true), more));
    mica_value scaled = as_dtype(b, mica_nn_scale(b, ds, s->scale), c.in[K]);
    mica_composite_result(&c, product(b, scaled, c.in[K], false, false));
    mica_composite_result(&c, product(b, scaled, c.in[Q], true, false));
    mica_composite_result(&c, product(b, as_dtype(b, p, c.in[DY]), c.in[DY], true, false));
    mica_type mask = mica_nn_type(c.in[MASK]);
    if (!mica_value_is_null(c.in[MASK]) && mica_nn_is_float(&mask))
        mica_composite_result(&c, as_dtype(b, shrink(b, ds, &mask), c.in[MASK]));
    mica_composite_end(&c, false, out, "scale=%.17g causal=%d", s->scale, (int)s->causal);
}

static void build_vjp(mica_composite *c, const settings *s) {
    mica_value back[OPERANDS] = {c->vjp_in[Q],        c->vjp_in[K],       c->vjp_in[V],
                                 c->vjp_in[MASK],     c->vjp_out[0],      c->vjp_out[1],
                                 c->vjp_cotangent[0], c->vjp_cotangent[1]};
    mica_value d[4];
    attention_back(c->vjp, back, s, d);
    for (int32_t i = 0; i < 4; i++)
        if (!mica_value_is_null(d[i])) mica_composite_cotangent(c, d[i]);
}

/* ---- forward ----------------------------------------------------------------------------------*/

static bool check_operands(mica_graph *g, const mica_value *in) {
    if (!mica_nn_check(g, "attention", in, 3, 0, true) ||
        !mica_nn_check(g, "attention", in, FORWARD_OPERANDS, 1 << MASK, false))
        return false;
    mica_type q = mica_nn_type(in[Q]), k = mica_nn_type(in[K]), v = mica_nn_type(in[V]);
    int32_t r = q.rank;
    bool fits = r >= 2 && k.rank == r && v.rank == r && q.dims[r - 1] == k.dims[r - 1] &&
                k.dims[r - 2] == v.dims[r - 2];
    for (int32_t i = 0; fits && i < r - 2; i++)
        fits = q.dims[i] == k.dims[i] && q.dims[i] == v.dims[i];
    if (!fits)
        MICA_NN_FAIL(g, "[attention] query %s, key %s and value %s do not fit",
                     mica_nn_type_text(&q).chars, mica_nn_type_text(&k).chars,
                     mica_nn_type_text(&v).chars);
    return fits;
}

mica_value mica_nn_attend(mica_graph *g, mica_value q, mica_value k, mica_value v, mica_value mask,
                          double scale, bool causal) {
    mica_composite c;
    settings s = {scale, causal};
    mica_value out[2] = {MICA_NULL_VALUE, MICA_NULL_VALUE}, operands[] = {q, k, v, mask};
    if (!check_operands(g, operands) ||
        !mica_composite_begin(&c, g, "mica.attention", operands, FORWARD_OPERANDS))
        return out[0];
    mica_graph *b = c.body;
    mica_value scores = scores_of(b, c.in, &s), zero = mica_nn_number(b, scores, 0);
    int32_t last = mica_nn_type(scores).rank - 1;
    mica_value top = mica_nn_reduce_keep(b, scores, "max", MICA_INTS(last));
    top = mica_select(b, mica_nn_test(b, top, "eq", -INFINITY), zero, top);
    mica_value powers = mica_exp(b, mica_sub(b, scores, top));
    mica_value sum = mica_nn_reduce_keep(b, powers, "sum", MICA_INTS(last));
    mica_value idle = mica_nn_test(b, sum, "eq", 0);
    sum = mica_select(b, idle, mica_nn_number(b, sum, 1), sum);
    mica_value weights = as_dtype(b, mica_div(b, powers, sum), c.in[V]);
    mica_composite_result(&c, product(b, weights, c.in[V], false, false));
    mica_value logs = mica_add(b, top, mica_log(b, sum));
    mica_composite_result(&c, row(b, mica_select(b, idle, zero, logs)));
    if (mica_composite_begin_vjp(&c)) build_vjp(&c, &s);
    mica_composite_end(&c, false, out, "scale=%.17g causal=%d", scale, (int)causal);
    return out[0];
}
