/* Attention, and attention of several heads with its projections. */
#include "nn/compose.h"

#include <math.h>

/* ---- attention --------------------------------------------------------------------------------*/

/* Scores with the mask in them: -inf where a bool mask is true, or the float mask added. */
static mica_value masked(mica_graph *g, mica_value scores, mica_value mask) {
    if (mica_value_is_null(mask)) return scores;
    mica_type type = mica_nn_type(scores);
    if (mica_nn_type(mask).dtype != MICA_DTYPE_bool) return mica_add(g, scores, mask);
    mask = mica_broadcast_to(g, mask, mica_nn_dims(&type));
    return mica_select(g, mask, mica_nn_number(g, scores, -INFINITY), scores);
}

/* q, k and v have the same axes before the last two. */
static bool same_leading(const mica_type *q, const mica_type *k, const mica_type *v) {
    bool same = q->rank == k->rank && q->rank == v->rank;
    for (int32_t i = 0; same && i < q->rank - 2; i++)
        same = q->dims[i] == k->dims[i] && q->dims[i] == v->dims[i];
    return same;
}

mica_value mica_nn_attention(mica_graph *g, mica_value q, mica_value k, mica_value v,
                             mica_value mask, double scale, double dropout, mica_value key) {
    mica_composite c;
    mica_value out = MICA_NULL_VALUE, operands[] = {q, k, v, mask, dropout > 0 ? key : out};
    if (!mica_nn_check(g, "attention", operands, 3, 0, true) ||
        !mica_nn_check(g, "attention", operands, 4, 8, false))
        return out;
    mica_type tq = mica_nn_type(q), tk = mica_nn_type(k), tv = mica_nn_type(v);
    if (tq.rank < 2 || tk.rank < 2 || tv.rank < 2 || tq.dims[tq.rank - 1] != tk.dims[tk.rank - 1] ||
        tk.dims[tk.rank - 2] != tv.dims[tv.rank - 2]) {
        MICA_NN_FAIL(g, "[attention] query %s, key %s and value %s do not fit",
                     mica_nn_type_text(&tq).chars, mica_nn_type_text(&tk).chars,
                     mica_nn_type_text(&tv).chars);
        return out;
    }
    if (dropout == 0 && same_leading(&tq, &tk, &tv))
        return mica_nn_attend(g, q, k, v, mask, scale, false);
    if (!mica_composite_begin(&c, g, "attention", operands, 5)) return out;
    mica_value scores = mica_nn_matmul(c.body, c.in[0], c.in[1], scale, false, true);
    int32_t last = mica_nn_type(scores).rank - 1;
    mica_value weights = mica_nn_masked_softmax(c.body, masked(c.body, scores, c.in[3]), last);
    if (dropout > 0) weights = mica_nn_dropout(c.body, weights, dropout, c.in[4], 0);
    mica_composite_result(&c, mica_matmul(c.body, weights, c.in[2]));
    mica_composite_end(&c, false, &out, "scale=%.17g dropout=%.17g", scale, dropout);
    return out;
}

/* ---- several heads ----------------------------------------------------------------------------*/

typedef struct heads {
    int64_t batch, queries, keys, model, count;
    int32_t added; /* keys after the given ones: the attention bias, the zero */
} heads;

static const char where[] = "multihead_attention";

static bool check_projection(mica_graph *g, const char *name, mica_value x, mica_value w,
                             const heads *h) {
    mica_type tx = mica_nn_type(x), tw = mica_nn_type(w);
    if (tx.rank == 3 && tw.rank == 2 && tx.dims[0] == h->batch && tw.dims[0] == h->model &&
        tw.dims[1] == tx.dims[2])
        return true;
    MICA_NN_FAIL(g, "[multihead_attention] %s weights %s do not fit %s %s", name,
                 mica_nn_type_text(&tw).chars, name, mica_nn_type_text(&tx).chars);
    return false;
}

static bool check_heads(mica_graph *g, mica_value query, mica_value key, mica_value value,
                        const mica_nn_multihead_weights *w, const mica_nn_multihead_options *o,
                        heads *h) {
    mica_value all[] = {query,
                        key,
                        value,
                        w->query,
                        w->key,
                        w->value,
                        w->output,
                        w->query_bias,
                        w->key_bias,
                        w->value_bias,
                        w->output_bias,
                        w->key_attention_bias,
                        w->value_attention_bias};
    if (!mica_nn_check(g, where, all, 13, 0x1f80, true)) return false;
    mica_type tq = mica_nn_type(query), tk = mica_nn_type(key), tv = mica_nn_type(value);
    mica_type to = mica_nn_type(w->output);
    *h = (heads){.batch = tq.dims[0],
                 .queries = tq.dims[1],
                 .keys = tk.dims[1],
                 .model = tq.rank == 3 ? tq.dims[2] : -1,
                 .count = o->head_count};
    if (!check_projection(g, "query", query, w->query, h) ||
        !check_projection(g, "key", key, w->key, h) ||
        !check_projection(g, "value", value, w->value, h))
        return false;
    bool has_bias = !mica_value_is_null(w->key_attention_bias);
    h->added = has_bias + o->adds_zero_attention;
    const char *wrong = NULL;
    if (tk.dims[1] != tv.dims[1])
        wrong = "key and value differ in length";
    else if (h->count < 1 || h->model % h->count)
        wrong = "the model's dimension is no multiple of the heads";
    else if (to.rank != 2 || to.dims[0] != h->model || to.dims[1] != h->model)
        wrong = "the output's weights must be square, of the model's dimension";
    else if (has_bias != !mica_value_is_null(w->value_attention_bias))
        wrong = "attention biases come in pairs";
    if (wrong)
        MICA_NN_FAIL(g, "[multihead_attention] %s: query %s, key %s, value %s, %lld heads", wrong,
                     mica_nn_type_text(&tq).chars, mica_nn_type_text(&tk).chars,
                     mica_nn_type_text(&tv).chars, (long long)h->count);
    return !wrong;
}

/* (N, S, E) with the attention bias and the zero after the last key. */
static mica_value with_added(mica_graph *g, mica_value x, mica_value bias, bool zero,
                             const heads *h) {
    mica_value parts[3] = {x};
    int32_t n = 1;
    mica_ints one = MICA_INTS(h->batch, 1, h->model);
    mica_type type = mica_nn_type(x);
    if (!mica_value_is_null(bias) && type.rank == 3)
        parts[n++] =
            mica_broadcast_to(g, mica_nn_along(g, where, "an attention bias", bias, &type, 2), one);
    if (zero) parts[n++] = mica_broadcast_to(g, mica_nn_number(g, x, 0), one);
    return n == 1 ? x : mica_concat(g, parts, n, 1);
}

/* (N, S, E) -> (N, heads, S, E / heads) */
static mica_value split_heads(mica_graph *g, mica_value x, const heads *h) {
    int64_t length = mica_nn_type(x).dims[1];
    x = mica_reshape(g, x, MICA_INTS(h->batch, length, h->count, h->model / h->count));
    return mica_transpose(g, x, MICA_INTS(0, 2, 1, 3));
}

/* A mask (..., S) goes on over the added keys, which it leaves alone. */
static mica_value mask_with_added(mica_graph *g, mica_value mask, const heads *h) {
    if (mica_value_is_null(mask) || h->added == 0) return mask;
    mica_type type = mica_nn_type(mask);
    int64_t zeros[MICA_MAX_RANK] = {0}, high[MICA_MAX_RANK] = {0};
    high[type.rank - 1] = h->added;
    return mica_pad(g, mask, mica_nn_number(g, mask, 0), (mica_ints){zeros, type.rank},
                    (mica_ints){high, type.rank}, (mica_ints){zeros, type.rank});
}

/* Integers are masks as bools are. */
static mica_value as_mask(mica_graph *g, mica_value mask) {
    mica_type type = mica_nn_type(mask);
    return mica_value_is_null(mask) || mica_nn_is_float(&type) ? mask : mica_nn_truth(g, mask);
}

/* Masks as (N or 1, heads or 1, L or 1, S). */
static bool shape_masks(mica_graph *g, mica_value *key_mask, mica_value *mask, const heads *h) {
    mica_type tk = mica_nn_type(*key_mask), tm = mica_nn_type(*mask);
    bool fits = true;
    if (!mica_value_is_null(*key_mask)) {
        fits = tk.rank == 2 && tk.dims[0] == h->batch && tk.dims[1] == h->keys;
        if (fits) *key_mask = mica_reshape(g, *key_mask, MICA_INTS(h->batch, 1, 1, h->keys));
    }
    if (fits && !mica_value_is_null(*mask)) {
        int64_t leading = tm.rank == 3 ? tm.dims[0] : 1;
        fits = (tm.rank == 2 || tm.rank == 3) && tm.dims[tm.rank - 2] == h->queries &&
               tm.dims[tm.rank - 1] == h->keys && (leading == 1 || leading == h->batch * h->count);
        int64_t n = leading == 1 ? 1 : h->batch, count = leading == 1 ? 1 : h->count;
        if (fits) *mask = mica_reshape(g, *mask, MICA_INTS(n, count, h->queries, h->keys));
    }
    if (!fits)
        MICA_NN_FAIL(g,
                     "[multihead_attention] key mask %s and attention mask %s do not fit %lld "
                     "examples, %lld heads, %lld queries, %lld keys",
                     mica_value_is_null(*key_mask) ? "null" : mica_nn_type_text(&tk).chars,
                     mica_value_is_null(*mask) ? "null" : mica_nn_type_text(&tm).chars,
                     (long long)h->batch, (long long)h->count, (long long)h->queries,
                     (long long)h->keys);
    return fits;
}

/* A mask that is not bool is added, so one that is becomes 0 and -inf. */
static mica_value additive(mica_graph *g, mica_value mask, mica_dtype dtype) {
    if (mica_nn_type(mask).dtype != MICA_DTYPE_bool) return mica_convert(g, mask, dtype);
    return mica_select(g, mask, mica_scalar(g, dtype, -INFINITY), mica_scalar(g, dtype, 0));
}

static mica_value join_masks(mica_graph *g, mica_value a, mica_value b, mica_dtype dtype) {
    bool both_bool = mica_nn_type(a).dtype == MICA_DTYPE_bool;
    if (mica_value_is_null(a)) a = b, both_bool = mica_nn_type(b).dtype == MICA_DTYPE_bool;
    if (mica_value_is_null(a)) return a;
    if (mica_value_is_null(b) || (a.node == b.node && a.index == b.index))
        return both_bool ? a : additive(g, a, dtype);
    both_bool = both_bool && mica_nn_type(b).dtype == MICA_DTYPE_bool;
    return both_bool ? mica_or(g, a, b) : mica_add(g, additive(g, a, dtype), additive(g, b, dtype));
}

mica_value mica_nn_multihead_attention(mica_graph *g, mica_value query, mica_value key,
                                       mica_value value, const mica_nn_multihead_weights *w,
                                       mica_value key_mask, mica_value attention_mask,
                                       mica_value random_key,
                                       const mica_nn_multihead_options *options) {
    heads h;
    mica_value none = MICA_NULL_VALUE;
    if (!mica_nn_check_options(g, where, options, sizeof *options) ||
        !mica_nn_check_options(g, where, w, sizeof *w) ||
        !check_heads(g, query, key, value, w, options, &h) ||
        !shape_masks(g, &key_mask, &attention_mask, &h))
        return none;
    key_mask = as_mask(g, key_mask);
    attention_mask = as_mask(g, attention_mask);
    mica_dtype dtype = mica_nn_type(query).dtype;
    mica_value q = mica_nn_fully_connected(g, query, w->query, w->query_bias);
    mica_value k = mica_nn_fully_connected(g, key, w->key, w->key_bias);
    mica_value v = mica_nn_fully_connected(g, value, w->value, w->value_bias);
    k = with_added(g, k, w->key_attention_bias, options->adds_zero_attention, &h);
    v = with_added(g, v, w->value_attention_bias, options->adds_zero_attention, &h);
    mica_value mask = join_masks(g, mask_with_added(g, key_mask, &h),
                                 mask_with_added(g, attention_mask, &h), dtype);
    if (mica_value_is_null(q) || mica_value_is_null(k) || mica_value_is_null(v)) return none;
    mica_value y = mica_nn_attention(
        g, split_heads(g, q, &h), split_heads(g, k, &h), split_heads(g, v, &h), mask,
        1 / sqrt((double)(h.model / h.count)), options->dropout, random_key);
    y = mica_transpose(g, y, MICA_INTS(0, 2, 1, 3));
    y = mica_reshape(g, y, MICA_INTS(h.batch, h.queries, h.model));
    return mica_value_is_null(y) ? y : mica_nn_fully_connected(g, y, w->output, w->output_bias);
}
