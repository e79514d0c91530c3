/* Embedding: rows of a matrix, with PyTorch's options.
 *
 * Without options it is a gather, and differentiates as one. With options the gradient is not the
 * derivative of what is computed: rows are shrunk outside of differentiation, the padding row gets
 * none, and counts divide it. Then the composite carries its own vjp. */
#include "nn/compose.h"

/* PyTorch's: keeps a norm slightly below the maximum. */
static const double norm_epsilon = 1e-7;

typedef struct table {
    int64_t rows, columns;
    mica_type indices; /* flat */
} table;

static mica_value rows_at(mica_graph *g, mica_value weights, mica_value indices, const table *t) {
    return mica_gather(g, weights, indices, MICA_INTS(1), MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS,
                       MICA_INTS(0), 1, MICA_INTS(1, t->columns), "fill");
}

/* x (rows, ...) with updates at indices */
static mica_value put_rows(mica_graph *g, mica_value x, mica_value indices, mica_value updates,
                           const char *kind) {
    bool is_matrix = mica_nn_type(x).rank == 2;
    return mica_scatter(g, x, indices, updates, kind, is_matrix ? MICA_INTS(1) : MICA_NO_INTS,
                        MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS, MICA_INTS(0), 1, "fill");
}

/* (sum |x|^p)^(1/p) of each row, with a last axis of size 1 */
static mica_value row_norms(mica_graph *g, mica_value rows, double p) {
    mica_value size = mica_abs(g, rows);
    if (p == 2) {
        size = mica_sqrt(g, mica_nn_reduce_keep(g, mica_nn_square(g, rows), "sum", MICA_INTS(1)));
    } else if (p == 1) {
        size = mica_nn_reduce_keep(g, size, "sum", MICA_INTS(1));
    } else if (p > 1e30) {
        size = mica_nn_reduce_keep(g, size, "max", MICA_INTS(1));
    } else {
        mica_value powers = mica_pow(g, size, mica_nn_number(g, size, p));
        powers = mica_nn_reduce_keep(g, powers, "sum", MICA_INTS(1));
        size = mica_pow(g, powers, mica_nn_number(g, size, 1 / p));
    }
    return size;
}

static mica_value shrunk(mica_graph *g, mica_value rows, double maximum, double p) {
    mica_value norms = row_norms(g, rows, p);
    mica_value above = mica_add(g, norms, mica_nn_number(g, norms, norm_epsilon));
    mica_value factor = mica_div(g, mica_nn_number(g, norms, maximum), above);
    mica_value is_long = mica_nn_test(g, norms, "gt", maximum);
    return mica_mul(g, rows, mica_select(g, is_long, factor, mica_nn_number(g, norms, 1)));
}

/* How often each index occurs in the batch, per index; at least 1, so that one out of range, whose
 * count is read as 0, divides by no zero. */
static mica_value frequencies(mica_graph *g, mica_value indices, mica_dtype dtype, const table *t) {
    mica_value zeros = mica_broadcast_to(g, mica_scalar(g, dtype, 0), MICA_INTS(t->rows));
    mica_value one = mica_scalar(g, dtype, 1);
    mica_value ones = mica_broadcast_to(g, one, mica_nn_dims(&t->indices));
    mica_value counts = put_rows(g, zeros, indices, ones, "add");
    counts = mica_gather(g, counts, indices, MICA_NO_INTS, MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS,
                         MICA_INTS(0), 1, MICA_INTS(1), "fill");
    return mica_reshape(g, mica_max(g, counts, one), MICA_INTS(t->indices.dims[0], 1));
}

/* The cotangent of weights: that of weights', and those of rows added up. */
static mica_value rows_cotangent(mica_graph *g, mica_value indices, mica_value dy, mica_value dw,
                                 const mica_nn_embedding_options *o, const table *t) {
    mica_dtype dtype = mica_nn_type(dy).dtype;
    mica_value flat = indices;
    dy = mica_reshape(g, dy, MICA_INTS(t->indices.dims[0], t->columns));
    if (o->scales_gradient_by_frequency) dy = mica_div(g, dy, frequencies(g, flat, dtype, t));
    if (o->padding_index >= 0) {
        mica_value column = mica_reshape(g, flat, MICA_INTS(t->indices.dims[0], 1));
        mica_value is_padding = mica_nn_test(g, column, "eq", (double)o->padding_index);
        is_padding = mica_broadcast_to(g, is_padding, MICA_INTS(t->indices.dims[0], t->columns));
        dy = mica_select(g, is_padding, mica_scalar(g, dtype, 0), dy);
    }
    return put_rows(g, dw, flat, dy, "add");
}

void mica_nn_embedding(mica_graph *g, mica_value weights, mica_value indices,
                       const mica_nn_embedding_options *options, mica_value out[2]) {
    MICA_GIVEN_TO(g, out);
    mica_composite c;
    out[0] = out[1] = MICA_NULL_VALUE;
    if (!mica_nn_check_options(g, "embedding", options, sizeof *options) ||
        !mica_nn_check(g, "embedding", &weights, 1, 0, true) ||
        !mica_nn_check(g, "embedding", &indices, 1, 0, false))
        return;
    mica_type tw = mica_nn_type(weights), ti = mica_nn_type(indices);
    if (tw.rank != 2 || options->padding_index >= tw.dims[0] || ti.rank >= MICA_MAX_RANK ||
        options->maximum_norm < 0 || !(options->p_norm > 0)) {
        MICA_NN_FAIL(g,
                     "[embedding] weights %s must be a matrix, with padding index %lld among its "
                     "rows, maximum norm %g not negative and p %g positive",
                     mica_nn_type_text(&tw).chars, (long long)options->padding_index,
                     options->maximum_norm, options->p_norm);
        return;
    }
    table t = {tw.dims[0], tw.dims[1], mica_type_make(MICA_DTYPE_i32, MICA_NO_INTS)};
    int64_t count = mica_type_elements(&ti);
    indices = mica_reshape(g, mica_nn_indices(g, "embedding", indices), MICA_INTS(count));
    t.indices = mica_nn_type(indices);
    if (mica_value_is_null(indices)) return;
    if (!mica_composite_begin(&c, g, "embedding", (const mica_value[]){weights, indices}, 2))
        return;
    mica_value rows = rows_at(c.body, c.in[0], c.in[1], &t), after = c.in[0];
    if (options->maximum_norm > 0) {
        rows = shrunk(c.body, rows, options->maximum_norm, options->p_norm);
        after = put_rows(c.body, after, c.in[1], rows, "set");
    }
    ti.dims[ti.rank] = t.columns;
    mica_composite_result(&c, mica_reshape(c.body, rows, (mica_ints){ti.dims, ti.rank + 1}));
    mica_composite_result(&c, after);
    bool own_gradient = options->maximum_norm > 0 || options->padding_index >= 0 ||
                        options->scales_gradient_by_frequency;
    if (own_gradient && mica_composite_begin_vjp(&c))
        mica_composite_cotangent(&c, rows_cotangent(c.vjp, c.vjp_in[1], c.vjp_cotangent[0],
                                                    c.vjp_cotangent[1], options, &t));
    mica_composite_end(&c, own_gradient, out, "rows=%lld columns=%lld", (long long)t.rows,
                       (long long)t.columns);
}
