/* Shape rules of the ops that make, move and cut arrays. */
#include "ir/shape.h"

MICA_SHAPE_RULE(constant);
MICA_SHAPE_RULE(iota);
MICA_SHAPE_RULE(broadcast);
MICA_SHAPE_RULE(reshape);
MICA_SHAPE_RULE(bitcast);
MICA_SHAPE_RULE(transpose);
MICA_SHAPE_RULE(slice);
MICA_SHAPE_RULE(pad);
MICA_SHAPE_RULE(concat);
MICA_SHAPE_RULE(reverse);
MICA_SHAPE_RULE(dynamic_slice);
MICA_SHAPE_RULE(dynamic_update_slice);
MICA_SHAPE_RULE(rng_bits);

MICA_SHAPE_RULE(constant) {
    return shape_result(g, n, &mica_node_attr(n, "value")->as.data.type);
}

MICA_SHAPE_RULE(iota) {
    mica_type type;
    mica_dtype dtype = (mica_dtype)mica_node_int(n, "dtype");
    if (!mica_dtype_in_set(dtype, MICA_SET_NUMBERS_COMPLEX))
        return SHAPE_INVALID(n, "dtype %s is not a number", mica_dtype_name(dtype));
    MICA_TRY(shape_of_attribute(n, "shape", dtype, &type));
    MICA_TRY(shape_axis(n, mica_node_int(n, "axis"), &type));
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(broadcast) {
    const mica_type *x = mica_operand_type(n, 0);
    mica_type type;
    MICA_TRY(shape_of_attribute(n, "shape", x->dtype, &type));
    mica_ints axes = mica_node_ints(n, "axes");
    MICA_TRY(shape_length(n, "axes", x->rank));
    MICA_TRY(shape_axes(n, "axes", axes, &type, NULL));
    for (int32_t i = 0; i < x->rank; i++) {
        if (i && axes.data[i] <= axes.data[i - 1])
            return SHAPE_INVALID(n, "axes %s must increase", mica_ints_text(axes).chars);
        if (x->dims[i] != 1 && x->dims[i] != type.dims[axes.data[i]])
            return SHAPE_INVALID(n, "%s does not stretch to %s along axes %s",
                                 mica_dims_text(x).chars, mica_dims_text(&type).chars,
                                 mica_ints_text(axes).chars);
    }
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(reshape) {
    const mica_type *x = mica_operand_type(n, 0);
    mica_type type;
    MICA_TRY(shape_of_attribute(n, "shape", x->dtype, &type));
    if (mica_type_elements(x) != mica_type_elements(&type))
        return SHAPE_INVALID(n, "element counts differ: %s to %s", mica_dims_text(x).chars,
                             mica_dims_text(&type).chars);
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(bitcast) {
    const mica_type *x = mica_operand_type(n, 0);
    mica_dtype dtype = (mica_dtype)mica_node_int(n, "dtype");
    if (x->dtype == MICA_DTYPE_bool || dtype == MICA_DTYPE_bool)
        return SHAPE_INVALID(n, "%s as %s: bool has no bits of its own", mica_type_text(x).chars,
                             mica_dtype_name(dtype));
    int64_t from = (int64_t)mica_dtype_bytes(x->dtype), to = (int64_t)mica_dtype_bytes(dtype);
    mica_type type = *x;
    type.dtype = dtype;
    if (to < from) {
        if (x->rank == MICA_MAX_RANK)
            return SHAPE_INVALID(n, "%s as %s needs more than %d axes", mica_type_text(x).chars,
                                 mica_dtype_name(dtype), MICA_MAX_RANK);
        type.dims[type.rank++] = from / to;
    } else if (to > from) {
        if (x->rank == 0 || x->dims[x->rank - 1] != to / from)
            return SHAPE_INVALID(n, "%s as %s needs a last axis of size %lld",
                                 mica_type_text(x).chars, mica_dtype_name(dtype),
                                 (long long)(to / from));
        type.dims[--type.rank] = 0;
    }
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(transpose) {
    const mica_type *x = mica_operand_type(n, 0);
    mica_ints permutation = mica_node_ints(n, "permutation");
    MICA_TRY(shape_length(n, "permutation", x->rank));
    MICA_TRY(shape_axes(n, "permutation", permutation, x, NULL));
    mica_type type = *x;
    for (int32_t i = 0; i < x->rank; i++) type.dims[i] = x->dims[permutation.data[i]];
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(slice) {
    const mica_type *x = mica_operand_type(n, 0);
    mica_ints start = mica_node_ints(n, "start"), limit = mica_node_ints(n, "limit"),
              stride = mica_node_ints(n, "stride");
    MICA_TRY(shape_length(n, "start", x->rank));
    MICA_TRY(shape_length(n, "limit", x->rank));
    MICA_TRY(shape_length(n, "stride", x->rank));
    mica_type type = *x;
    for (int32_t i = 0; i < x->rank; i++) {
        if (start.data[i] < 0 || start.data[i] > limit.data[i] || limit.data[i] > x->dims[i])
            return SHAPE_INVALID(n, "%s to %s does not lie inside %s", mica_ints_text(start).chars,
                                 mica_ints_text(limit).chars, mica_dims_text(x).chars);
        if (stride.data[i] < 1)
            return SHAPE_INVALID(n, "strides %s must be at least 1", mica_ints_text(stride).chars);
        int64_t extent = limit.data[i] - start.data[i];
        type.dims[i] = extent / stride.data[i] + (extent % stride.data[i] != 0);
    }
    return shape_result(g, n, &type);
}

/* low + size + gaps * interior + high; false on overflow. */
static bool padded_size(int64_t size, int64_t low, int64_t high, int64_t interior, int64_t *out) {
    int64_t gaps = size > 0 ? size - 1 : 0;
    return !__builtin_mul_overflow(gaps, interior, out) &&
           !__builtin_add_overflow(*out, size, out) && !__builtin_add_overflow(*out, low, out) &&
           !__builtin_add_overflow(*out, high, out);
}

MICA_SHAPE_RULE(pad) {
    const mica_type *x = mica_operand_type(n, 0), *value = mica_operand_type(n, 1);
    mica_ints low = mica_node_ints(n, "low"), high = mica_node_ints(n, "high"),
              interior = mica_node_ints(n, "interior");
    if (value->rank != 0 || value->dtype != x->dtype)
        return SHAPE_INVALID(n, "the value for %s must be a scalar of its dtype, not %s",
                             mica_type_text(x).chars, mica_type_text(value).chars);
    MICA_TRY(shape_length(n, "low", x->rank));
    MICA_TRY(shape_length(n, "high", x->rank));
    MICA_TRY(shape_length(n, "interior", x->rank));
    mica_type type = *x;
    for (int32_t i = 0; i < x->rank; i++) {
        if (interior.data[i] < 0)
            return SHAPE_INVALID(n, "interior %s must not be negative",
                                 mica_ints_text(interior).chars);
        if (!padded_size(x->dims[i], low.data[i], high.data[i], interior.data[i], &type.dims[i]) ||
            type.dims[i] < 0)
            return SHAPE_INVALID(n, "%s with low %s, high %s, interior %s has an impossible size",
                                 mica_dims_text(x).chars, mica_ints_text(low).chars,
                                 mica_ints_text(high).chars, mica_ints_text(interior).chars);
    }
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(concat) {
    if (n->n_operands < 1) return SHAPE_INVALID(n, "takes at least %d operand", 1);
    mica_type type = *mica_operand_type(n, 0);
    int64_t axis = mica_node_int(n, "axis");
    MICA_TRY(shape_axis(n, axis, &type));
    for (int32_t i = 1; i < n->n_operands; i++) {
        const mica_type *x = mica_operand_type(n, i), *first = mica_operand_type(n, 0);
        mica_type expected = *first;
        if (x->rank == first->rank) expected.dims[axis] = x->dims[axis];
        if (!mica_type_equal(&expected, x))
            return SHAPE_INVALID(n, "operands do not fit along axis %lld: %s and %s",
                                 (long long)axis, mica_type_text(first).chars,
                                 mica_type_text(x).chars);
        if (__builtin_add_overflow(type.dims[axis], x->dims[axis], &type.dims[axis]))
            return SHAPE_INVALID(n, "the result is too large along axis %lld", (long long)axis);
    }
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(reverse) {
    const mica_type *x = mica_operand_type(n, 0);
    MICA_TRY(shape_axes(n, "axes", mica_node_ints(n, "axes"), x, NULL));
    return shape_result(g, n, x);
}

/* The start of a dynamic slice: an integer vector with an entry per axis of x. */
static mica_status check_start(const mica_node *n, const mica_type *start, const mica_type *x) {
    mica_dtype_kind kind = mica_dtype_kind_of(start->dtype);
    if ((kind == MICA_KIND_SIGNED || kind == MICA_KIND_UNSIGNED) && start->rank == 1 &&
        start->dims[0] == x->rank)
        return NULL;
    return SHAPE_INVALID(n, "the start must be %d integers, not %s", x->rank,
                         mica_type_text(start).chars);
}

MICA_SHAPE_RULE(dynamic_slice) {
    const mica_type *x = mica_operand_type(n, 0);
    mica_type type;
    MICA_TRY(check_start(n, mica_operand_type(n, 1), x));
    MICA_TRY(shape_length(n, "sizes", x->rank));
    MICA_TRY(shape_of_attribute(n, "sizes", x->dtype, &type));
    for (int32_t i = 0; i < x->rank; i++)
        if (type.dims[i] > x->dims[i])
            return SHAPE_INVALID(n, "sizes %s do not fit in %s", mica_dims_text(&type).chars,
                                 mica_dims_text(x).chars);
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(dynamic_update_slice) {
    const mica_type *x = mica_operand_type(n, 0), *update = mica_operand_type(n, 1);
    MICA_TRY(check_start(n, mica_operand_type(n, 2), x));
    bool fits = update->dtype == x->dtype && update->rank == x->rank;
    for (int32_t i = 0; fits && i < x->rank; i++) fits = update->dims[i] <= x->dims[i];
    if (!fits)
        return SHAPE_INVALID(n, "%s does not fit in %s", mica_type_text(update).chars,
                             mica_type_text(x).chars);
    return shape_result(g, n, x);
}

MICA_SHAPE_RULE(rng_bits) {
    const mica_type *key = mica_operand_type(n, 0), *counter = mica_operand_type(n, 1);
    mica_type want_key = mica_type_make(MICA_DTYPE_u32, MICA_INTS(2));
    mica_type want_counter = mica_type_make(MICA_DTYPE_u32, MICA_INTS(4));
    if (!mica_type_equal(key, &want_key) || !mica_type_equal(counter, &want_counter))
        return SHAPE_INVALID(n, "key and counter must be u32[2] and u32[4], not %s and %s",
                             mica_type_text(key).chars, mica_type_text(counter).chars);
    mica_dtype dtype = (mica_dtype)mica_node_int(n, "dtype");
    if (dtype != MICA_DTYPE_u32 && dtype != MICA_DTYPE_u64)
        return SHAPE_INVALID(n, "dtype must be u32 or u64, not %s", mica_dtype_name(dtype));
    mica_type type;
    MICA_TRY(shape_of_attribute(n, "shape", dtype, &type));
    return shape_result(g, n, &type);
}
