/* Transposes of elementwise and shape ops, reductions and collectives: cotangents of the operands
 * in which a node is linear. */
#include <string.h>

#include "transform/rules.h"

#define UNUSED (void)t, (void)g, (void)n, (void)linear

MICA_TRANSPOSE_RULE(neg) {
    UNUSED;
    out[0] = mica_neg(g, dy[0]);
}

MICA_TRANSPOSE_RULE(add) {
    UNUSED;
    out[0] = out[1] = dy[0];
}

MICA_TRANSPOSE_RULE(sub) {
    UNUSED;
    out[0] = dy[0];
    if (linear[1]) out[1] = mica_neg(g, dy[0]);
}

/* Linear in one of the two. */
MICA_TRANSPOSE_RULE(mul) {
    UNUSED;
    int32_t k = linear[0] ? 0 : 1;
    out[k] = mica_mul(g, n->operands[1 - k], dy[0]);
}

/* Linear in the numerator. */
MICA_TRANSPOSE_RULE(div) {
    UNUSED;
    out[0] = mica_div(g, dy[0], n->operands[1]);
}

MICA_TRANSPOSE_RULE(select) {
    UNUSED;
    mica_value predicate = n->operands[0], zero = mica_zeros(g, &n->results[0]);
    if (linear[1]) out[1] = mica_select(g, predicate, dy[0], zero);
    if (linear[2]) out[2] = mica_select(g, predicate, zero, dy[0]);
}

/* A rounding counts as linear; the cotangent is rounded alike. */
MICA_TRANSPOSE_RULE(reduce_precision) {
    UNUSED;
    out[0] = mica_like(g, n, dy);
}

MICA_TRANSPOSE_RULE(convert) {
    UNUSED;
    out[0] = mica_convert(g, dy[0], mica_operand_type(n, 0)->dtype);
}

/* Cotangents of complex values pair with tangents as the real part of the plain product: from
 * Re(c t) follows that the cotangent of a real part is that of the number, that of an imaginary
 * part minus i times it. */
static bool is_complex(const mica_type *type) {
    return mica_dtype_kind_of(type->dtype) == MICA_KIND_COMPLEX;
}

MICA_TRANSPOSE_RULE(real) {
    UNUSED;
    mica_value zeros = mica_zeros(g, &n->results[0]);
    out[0] = is_complex(mica_operand_type(n, 0)) ? mica_complex(g, dy[0], zeros) : dy[0];
}

/* Of a real number it is 0. */
MICA_TRANSPOSE_RULE(imag) {
    UNUSED;
    mica_value zeros = mica_zeros(g, &n->results[0]);
    if (is_complex(mica_operand_type(n, 0))) out[0] = mica_complex(g, zeros, mica_neg(g, dy[0]));
}

MICA_TRANSPOSE_RULE(conj) {
    UNUSED;
    out[0] = mica_conj(g, dy[0]);
}

MICA_TRANSPOSE_RULE(complex) {
    UNUSED;
    if (linear[0]) out[0] = mica_real(g, dy[0]);
    if (linear[1]) out[1] = mica_neg(g, mica_imag(g, dy[0]));
}

/* ---- shape ------------------------------------------------------------------------------------*/

static mica_ints dims_of(const mica_type *type) {
    return (mica_ints){type->dims, type->rank};
}

/* The sum over all axes that were stretched or new. */
MICA_TRANSPOSE_RULE(broadcast) {
    UNUSED;
    const mica_type *x = mica_operand_type(n, 0), *y = &n->results[0];
    mica_ints axes = mica_node_ints(n, "axes");
    int64_t summed[MICA_MAX_RANK];
    int32_t n_summed = 0;
    for (int32_t i = 0; i < y->rank; i++) {
        bool kept = false;
        for (int32_t k = 0; k < axes.n; k++) kept |= axes.data[k] == i && x->dims[k] == y->dims[i];
        if (!kept) summed[n_summed++] = i;
    }
    mica_value sum = dy[0];
    if (n_summed) sum = mica_reduce(g, sum, "sum", (mica_ints){summed, n_summed});
    if (mica_value_type(sum) && !mica_type_equal(mica_value_type(sum), x))
        sum = mica_reshape(g, sum, dims_of(x));
    out[0] = sum;
}

MICA_TRANSPOSE_RULE(reshape) {
    UNUSED;
    out[0] = mica_reshape(g, dy[0], dims_of(mica_operand_type(n, 0)));
}

MICA_TRANSPOSE_RULE(transpose) {
    UNUSED;
    mica_ints permutation = mica_node_ints(n, "permutation");
    int64_t inverse[MICA_MAX_RANK];
    for (int32_t i = 0; i < permutation.n; i++) inverse[permutation.data[i]] = i;
    out[0] = mica_transpose(g, dy[0], (mica_ints){inverse, permutation.n});
}

/* The cotangent put back where it was cut out, zeros elsewhere. */
MICA_TRANSPOSE_RULE(slice) {
    UNUSED;
    const mica_type *x = mica_operand_type(n, 0), *y = &n->results[0];
    mica_ints start = mica_node_ints(n, "start"), stride = mica_node_ints(n, "stride");
    int64_t high[MICA_MAX_RANK], interior[MICA_MAX_RANK];
    for (int32_t i = 0; i < x->rank; i++) {
        int64_t extent = y->dims[i] ? (y->dims[i] - 1) * stride.data[i] + 1 : 0;
        interior[i] = stride.data[i] - 1;
        high[i] = x->dims[i] - start.data[i] - extent;
    }
    out[0] = mica_pad(g, dy[0], mica_scalar(g, x->dtype, 0), start, (mica_ints){high, x->rank},
                      (mica_ints){interior, x->rank});
}

/* Padding undone (a negative padding's opposite adds zeros), then the interior skipped. */
static mica_value unpad(mica_graph *g, const mica_node *n, mica_value dy) {
    const mica_type *x = mica_operand_type(n, 0);
    mica_ints low = mica_node_ints(n, "low"), high = mica_node_ints(n, "high");
    mica_ints interior = mica_node_ints(n, "interior");
    int64_t minus_low[MICA_MAX_RANK], minus_high[MICA_MAX_RANK], zeros[MICA_MAX_RANK] = {0};
    int64_t limit[MICA_MAX_RANK], stride[MICA_MAX_RANK];
    int32_t rank = x->rank;
    for (int32_t i = 0; i < rank; i++) {
        minus_low[i] = -low.data[i];
        minus_high[i] = -high.data[i];
        stride[i] = interior.data[i] + 1;
        limit[i] = x->dims[i] ? (x->dims[i] - 1) * stride[i] + 1 : 0;
    }
    mica_ints none = {zeros, rank};
    mica_value whole = mica_pad(g, dy, mica_scalar(g, x->dtype, 0), (mica_ints){minus_low, rank},
                                (mica_ints){minus_high, rank}, none);
    return mica_slice(g, whole, none, (mica_ints){limit, rank}, (mica_ints){stride, rank});
}

static mica_value sum_all(mica_graph *g, mica_value x) {
    int64_t axes[MICA_MAX_RANK];
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    for (int32_t i = 0; i < type->rank; i++) axes[i] = i;
    return mica_reduce(g, x, "sum", (mica_ints){axes, type->rank});
}

/* The padding scalar gets what x does not. */
MICA_TRANSPOSE_RULE(pad) {
    UNUSED;
    mica_value dx = unpad(g, n, dy[0]);
    if (linear[0]) out[0] = dx;
    if (linear[1]) out[1] = mica_sub(g, sum_all(g, dy[0]), sum_all(g, dx));
}

MICA_TRANSPOSE_RULE(concat) {
    UNUSED;
    const mica_type *y = &n->results[0];
    int64_t axis = mica_node_int(n, "axis");
    int64_t start[MICA_MAX_RANK] = {0}, limit[MICA_MAX_RANK], stride[MICA_MAX_RANK];
    for (int32_t i = 0; i < y->rank; i++) limit[i] = y->dims[i], stride[i] = 1;
    for (int32_t k = 0; k < n->n_operands; k++) {
        limit[axis] = start[axis] + mica_operand_type(n, k)->dims[axis];
        if (linear[k])
            out[k] = mica_slice(g, dy[0], (mica_ints){start, y->rank}, (mica_ints){limit, y->rank},
                                (mica_ints){stride, y->rank});
        start[axis] = limit[axis];
    }
}

MICA_TRANSPOSE_RULE(reverse) {
    UNUSED;
    out[0] = mica_reverse(g, dy[0], mica_node_ints(n, "axes"));
}

MICA_TRANSPOSE_RULE(dynamic_slice) {
    UNUSED;
    mica_value zeros = mica_zeros(g, mica_operand_type(n, 0));
    out[0] = mica_dynamic_update_slice(g, zeros, dy[0], n->operands[1]);
}

MICA_TRANSPOSE_RULE(dynamic_update_slice) {
    UNUSED;
    const mica_type *update = mica_operand_type(n, 1);
    mica_value start = n->operands[2];
    if (linear[0]) out[0] = mica_dynamic_update_slice(g, dy[0], mica_zeros(g, update), start);
    if (linear[1]) out[1] = mica_dynamic_slice(g, dy[0], start, dims_of(update));
}

/* Of a sum: every summand gets the sum's cotangent. */
MICA_TRANSPOSE_RULE(reduce) {
    UNUSED;
    const mica_type *x = mica_operand_type(n, 0);
    mica_ints axes = mica_node_ints(n, "axes");
    int64_t kept[MICA_MAX_RANK];
    int32_t n_kept = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        bool reduced = false;
        for (int32_t k = 0; k < axes.n; k++) reduced |= axes.data[k] == i;
        if (!reduced) kept[n_kept++] = i;
    }
    out[0] = mica_broadcast(g, dy[0], dims_of(x), (mica_ints){kept, n_kept});
}
