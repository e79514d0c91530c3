/* Shape rules of contractions, reductions and collectives. */
#include <string.h>

#include "ir/conv_layout.h"
#include "ir/shape.h"

MICA_SHAPE_RULE(dot);
MICA_SHAPE_RULE(conv);
MICA_SHAPE_RULE(reduce);
MICA_SHAPE_RULE(argmax);

static mica_status check_pairs(const mica_node *n, const char *what, mica_ints left,
                               mica_ints right) {
    const mica_type *a = mica_operand_type(n, 0), *b = mica_operand_type(n, 1);
    if (left.n != right.n)
        return SHAPE_INVALID(n, "%s axes do not pair up: %s and %s", what,
                             mica_ints_text(left).chars, mica_ints_text(right).chars);
    for (int32_t i = 0; i < left.n; i++)
        if (a->dims[left.data[i]] != b->dims[right.data[i]])
            return SHAPE_INVALID(n, "%s dimensions differ: %s x %s", what, mica_dims_text(a).chars,
                                 mica_dims_text(b).chars);
    return NULL;
}

/* Appends the sizes of x's axes that are not in `taken`; false beyond the largest rank. */
static bool append_free(mica_type *type, const mica_type *x, uint32_t taken) {
    for (int32_t i = 0; i < x->rank; i++) {
        if (taken & 1u << i) continue;
        if (type->rank == MICA_MAX_RANK) return false;
        type->dims[type->rank++] = x->dims[i];
    }
    return true;
}

MICA_SHAPE_RULE(dot) {
    const mica_type *a = mica_operand_type(n, 0), *b = mica_operand_type(n, 1);
    mica_ints a_contract = mica_node_ints(n, "lhs_contract"),
              a_batch = mica_node_ints(n, "lhs_batch");
    mica_ints b_contract = mica_node_ints(n, "rhs_contract"),
              b_batch = mica_node_ints(n, "rhs_batch");
    if (a->dtype != b->dtype)
        return SHAPE_INVALID(n, "dtypes differ: %s and %s", mica_type_text(a).chars,
                             mica_type_text(b).chars);
    uint32_t a_contracted, a_batched, b_contracted, b_batched;
    MICA_TRY(shape_axes(n, "lhs_contract", a_contract, a, &a_contracted));
    MICA_TRY(shape_axes(n, "lhs_batch", a_batch, a, &a_batched));
    MICA_TRY(shape_axes(n, "rhs_contract", b_contract, b, &b_contracted));
    MICA_TRY(shape_axes(n, "rhs_batch", b_batch, b, &b_batched));
    if ((a_contracted & a_batched) || (b_contracted & b_batched))
        return SHAPE_INVALID(n, "an axis is both contracted and batched: %s x %s",
                             mica_dims_text(a).chars, mica_dims_text(b).chars);
    MICA_TRY(check_pairs(n, "inner", a_contract, b_contract));
    MICA_TRY(check_pairs(n, "batch", a_batch, b_batch));
    mica_type type = mica_type_scalar(a->dtype);
    for (int32_t i = 0; i < a_batch.n; i++) type.dims[type.rank++] = a->dims[a_batch.data[i]];
    if (!append_free(&type, a, a_contracted | a_batched) ||
        !append_free(&type, b, b_contracted | b_batched))
        return SHAPE_INVALID(n, "the result of %s x %s has more than %d axes",
                             mica_dims_text(a).chars, mica_dims_text(b).chars, MICA_MAX_RANK);
    return shape_result(g, n, &type);
}

/* Finds the axes that one part of a layout names: two letters and the digits 0 .. spatial - 1. */
static bool parse_part(const char *part, size_t length, char first, char second, int32_t *out_first,
                       int32_t *out_second, int32_t *out_spatial) {
    uint32_t seen = 0;
    for (size_t i = 0; i < length; i++) {
        int32_t bit;
        if (part[i] == first)
            bit = 0, *out_first = (int32_t)i;
        else if (part[i] == second)
            bit = 1, *out_second = (int32_t)i;
        else if (part[i] >= '0' && part[i] < '0' + (int)length - 2 &&
                 part[i] < '0' + MICA_CONV_AXES)
            bit = 2 + (part[i] - '0'), out_spatial[part[i] - '0'] = (int32_t)i;
        else
            return false;
        if (seen & 1u << bit) return false;
        seen |= 1u << bit;
    }
    return true; /* `length` distinct letters out of `length` possible ones: all were seen */
}

bool mica_conv_layout_parse(const char *text, mica_conv_layout *out_layout) {
    const char *comma = strchr(text, ',');
    const char *second = comma ? strchr(comma + 1, ',') : NULL;
    if (!second) return false;
    size_t length = (size_t)(comma - text);
    if (length < 3 || length > 2 + MICA_CONV_AXES || (size_t)(second - comma - 1) != length ||
        strlen(second + 1) != length)
        return false;
    mica_conv_layout *l = out_layout;
    l->spatial = (int32_t)length - 2;
    return parse_part(text, length, 'N', 'C', &l->lhs_batch, &l->lhs_channel, l->lhs_spatial) &&
           parse_part(comma + 1, length, 'I', 'O', &l->rhs_input, &l->rhs_output, l->rhs_spatial) &&
           parse_part(second + 1, length, 'N', 'C', &l->out_batch, &l->out_channel, l->out_spatial);
}

static mica_status check_conv_groups(const mica_node *n, const mica_conv_layout *l) {
    const mica_type *x = mica_operand_type(n, 0), *k = mica_operand_type(n, 1);
    int64_t groups = mica_node_int(n, "groups"), batch_groups = mica_node_int(n, "batch_groups");
    if (groups < 1 || batch_groups < 1 || (groups > 1 && batch_groups > 1))
        return SHAPE_INVALID(n,
                             "groups %lld and batch_groups %lld: both must be at least 1, and "
                             "one of them 1",
                             (long long)groups, (long long)batch_groups);
    int64_t channels = x->dims[l->lhs_channel], inputs = k->dims[l->rhs_input];
    int64_t outputs = k->dims[l->rhs_output], batch = x->dims[l->lhs_batch];
    if (channels % groups || channels / groups != inputs)
        return SHAPE_INVALID(n,
                             "input channels differ: %s with %lld in %lld groups, kernel %s "
                             "with %lld",
                             mica_dims_text(x).chars, (long long)channels, (long long)groups,
                             mica_dims_text(k).chars, (long long)inputs);
    if (outputs % groups || outputs % batch_groups)
        return SHAPE_INVALID(n, "%lld output channels do not divide into %lld groups",
                             (long long)outputs, (long long)(groups * batch_groups));
    if (batch % batch_groups)
        return SHAPE_INVALID(n, "a batch of %lld does not divide into %lld groups",
                             (long long)batch, (long long)batch_groups);
    return NULL;
}

/* Size of a dimension whose elements are pulled `dilation` apart; false on overflow. */
static bool dilated_size(int64_t size, int64_t dilation, int64_t *out) {
    if (size == 0) return *out = 0, true;
    return !__builtin_mul_overflow(size - 1, dilation, out) &&
           !__builtin_add_overflow(*out, 1, out);
}

static mica_status conv_spatial(const mica_node *n, const mica_conv_layout *l, int32_t i,
                                int64_t *out_size) {
    const mica_type *x = mica_operand_type(n, 0), *k = mica_operand_type(n, 1);
    int64_t stride = mica_node_ints(n, "strides").data[i];
    int64_t low = mica_node_ints(n, "low").data[i], high = mica_node_ints(n, "high").data[i];
    int64_t lhs_dilation = mica_node_ints(n, "lhs_dilation").data[i];
    int64_t rhs_dilation = mica_node_ints(n, "rhs_dilation").data[i];
    if (stride < 1 || lhs_dilation < 1 || rhs_dilation < 1)
        return SHAPE_INVALID(n, "strides and dilations must be at least 1, not %lld, %lld, %lld",
                             (long long)stride, (long long)lhs_dilation, (long long)rhs_dilation);
    int64_t input, window;
    if (!dilated_size(x->dims[l->lhs_spatial[i]], lhs_dilation, &input) ||
        !dilated_size(k->dims[l->rhs_spatial[i]], rhs_dilation, &window) ||
        __builtin_add_overflow(input, low, &input) || __builtin_add_overflow(input, high, &input))
        return SHAPE_INVALID(n, "spatial axis %d is too large: %s * %s", i, mica_dims_text(x).chars,
                             mica_dims_text(k).chars);
    *out_size = input < window ? 0 : (input - window) / stride + 1;
    return NULL;
}

MICA_SHAPE_RULE(conv) {
    const mica_type *x = mica_operand_type(n, 0), *k = mica_operand_type(n, 1);
    mica_conv_layout l;
    if (!mica_conv_layout_parse(mica_node_string(n, "layout"), &l))
        return SHAPE_INVALID(n, "layout '%s' is not like 'N01C,01IO,N01C'",
                             mica_node_string(n, "layout"));
    if (x->dtype != k->dtype)
        return SHAPE_INVALID(n, "dtypes differ: %s and %s", mica_type_text(x).chars,
                             mica_type_text(k).chars);
    if (x->rank != l.spatial + 2 || k->rank != l.spatial + 2)
        return SHAPE_INVALID(n, "layout '%s' does not fit %s * %s", mica_node_string(n, "layout"),
                             mica_dims_text(x).chars, mica_dims_text(k).chars);
    static const char *const spatial[] = {"strides", "low", "high", "lhs_dilation", "rhs_dilation"};
    for (size_t i = 0; i < sizeof spatial / sizeof *spatial; i++)
        MICA_TRY(shape_length(n, spatial[i], l.spatial));
    MICA_TRY(check_conv_groups(n, &l));
    mica_type type = {.kind = MICA_TENSOR, .dtype = x->dtype, .rank = x->rank};
    type.dims[l.out_batch] = x->dims[l.lhs_batch] / mica_node_int(n, "batch_groups");
    type.dims[l.out_channel] = k->dims[l.rhs_output];
    for (int32_t i = 0; i < l.spatial; i++)
        MICA_TRY(conv_spatial(n, &l, i, &type.dims[l.out_spatial[i]]));
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(reduce) {
    const mica_type *x = mica_operand_type(n, 0);
    const char *kind = mica_node_string(n, "kind");
    mica_dtype_set set;
    if (!strcmp(kind, "sum") || !strcmp(kind, "prod"))
        set = MICA_SET_NUMBERS_COMPLEX;
    else if (!strcmp(kind, "max") || !strcmp(kind, "min"))
        set = MICA_SET_NUMBERS;
    else if (!strcmp(kind, "and") || !strcmp(kind, "or"))
        set = MICA_SET_BITS;
    else
        return SHAPE_INVALID(n, "kind '%s' is none of sum prod max min and or", kind);
    if (!mica_dtype_in_set(x->dtype, set))
        return SHAPE_INVALID(n, "kind '%s' does not take %s", kind, mica_type_text(x).chars);
    uint32_t reduced;
    MICA_TRY(shape_axes(n, "axes", mica_node_ints(n, "axes"), x, &reduced));
    mica_type type = mica_type_scalar(x->dtype);
    append_free(&type, x, reduced);
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(argmax) {
    const mica_type *x = mica_operand_type(n, 0);
    int64_t axis = mica_node_int(n, "axis");
    mica_dtype dtype = (mica_dtype)mica_node_int(n, "dtype");
    mica_dtype_kind kind = mica_dtype_kind_of(dtype);
    MICA_TRY(shape_axis(n, axis, x));
    if (kind != MICA_KIND_SIGNED && kind != MICA_KIND_UNSIGNED)
        return SHAPE_INVALID(n, "an index is an integer, not %s", mica_dtype_name(dtype));
    if (x->dims[axis] == 0)
        return SHAPE_INVALID(n, "axis %lld of %s is empty", (long long)axis,
                             mica_dims_text(x).chars);
    int32_t bits = (int32_t)(8 * mica_dtype_bytes(dtype)) - (kind == MICA_KIND_SIGNED);
    if (bits < 63 && (x->dims[axis] - 1) >> bits)
        return SHAPE_INVALID(n, "indices along axis %lld of %s do not fit %s", (long long)axis,
                             mica_dims_text(x).chars, mica_dtype_name(dtype));
    mica_type type = mica_type_scalar(dtype);
    append_free(&type, x, 1u << axis);
    return shape_result(g, n, &type);
}
