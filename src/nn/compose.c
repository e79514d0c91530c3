#include "nn/compose.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- checks -----------------------------------------------------------------------------------*/

mica_nn_text mica_nn_type_text(const mica_type *type) {
    mica_nn_text text;
    mica_type_format(type, text.chars, sizeof text.chars);
    return text;
}

mica_nn_text mica_nn_ints_text(mica_ints ints) {
    mica_nn_text text = {"("};
    size_t at = 1;
    for (int32_t i = 0; i < ints.n && at < sizeof text.chars - 24; i++)
        at += (size_t)snprintf(text.chars + at, sizeof text.chars - at, "%s%lld", i ? "," : "",
                               (long long)ints.data[i]);
    snprintf(text.chars + at, sizeof text.chars - at, ")");
    return text;
}

mica_type mica_nn_type(mica_value value) {
    const mica_type *type = mica_value_type(value);
    return type ? *type : mica_type_scalar(MICA_DTYPE_f32);
}

static bool check_one(mica_graph *g, const char *where, mica_value value, int32_t i, bool floats) {
    const mica_type *type = mica_value_type(value);
    if (!type)
        MICA_NN_FAIL(g, "[%s] operand %d is null", where, i);
    else if (type->kind != MICA_TENSOR)
        MICA_NN_FAIL(g, "[%s] operand %d must be a tensor, not %s", where, i,
                     mica_nn_type_text(type).chars);
    else if (floats && !mica_nn_is_float(type))
        MICA_NN_FAIL(g, "[%s] operand %d must be of a float dtype, not %s", where, i,
                     mica_nn_type_text(type).chars);
    else
        return true;
    return false;
}

bool mica_nn_check(mica_graph *g, const char *where, const mica_value *values, int32_t n,
                   uint32_t optional, bool floats) {
    int32_t first = -1;
    for (int32_t i = 0; i < n; i++) {
        if (mica_value_is_null(values[i]) && optional >> i & 1) continue;
        if (!check_one(g, where, values[i], i, floats)) return false;
        if (first < 0) first = i;
        mica_type a = mica_nn_type(values[first]), b = mica_nn_type(values[i]);
        if (floats && a.dtype != b.dtype) {
            MICA_NN_FAIL(g, "[%s] dtypes differ: %s and %s", where, mica_nn_type_text(&a).chars,
                         mica_nn_type_text(&b).chars);
            return false;
        }
    }
    return true;
}

bool mica_nn_check_options(mica_graph *g, const char *where, const void *options, size_t size) {
    size_t given = 0;
    if (options) memcpy(&given, options, sizeof given);
    if (given >= size) return true;
    MICA_NN_FAIL(g, "[%s] the options have size %zu, not %zu", where, given, size);
    return false;
}

int32_t mica_nn_axis(mica_graph *g, const char *where, const mica_type *type, int64_t axis) {
    int64_t from_start = axis < 0 ? axis + type->rank : axis;
    if (from_start >= 0 && from_start < type->rank) return (int32_t)from_start;
    MICA_NN_FAIL(g, "[%s] axis %lld is out of range for %s", where, (long long)axis,
                 mica_nn_type_text(type).chars);
    return -1;
}

bool mica_nn_check_ints(mica_graph *g, const char *where, const char *what, mica_ints ints,
                        int32_t n) {
    if (ints.n == n && n >= 0 && (n == 0 || ints.data)) return true;
    MICA_NN_FAIL(g, "[%s] %s has %d entries, not %d", where, what, (int)ints.n, (int)n);
    return false;
}

/* ---- expressions ------------------------------------------------------------------------------*/

mica_value mica_nn_number(mica_graph *g, mica_value like, double value) {
    return mica_scalar(g, mica_nn_type(like).dtype, value);
}

mica_value mica_nn_scale(mica_graph *g, mica_value x, double factor) {
    return factor == 1 ? x : mica_mul(g, x, mica_nn_number(g, x, factor));
}

mica_value mica_nn_square(mica_graph *g, mica_value x) {
    return mica_mul(g, x, x);
}

mica_value mica_nn_test(mica_graph *g, mica_value x, const char *direction, double number) {
    return mica_compare(g, x, mica_nn_number(g, x, number), direction);
}

mica_value mica_nn_truth(mica_graph *g, mica_value x) {
    return mica_nn_type(x).dtype == MICA_DTYPE_bool ? x : mica_nn_test(g, x, "ne", 0);
}

mica_value mica_nn_indices(mica_graph *g, const char *where, mica_value x) {
    mica_type type = mica_nn_type(x);
    mica_dtype_kind kind = mica_dtype_kind_of(type.dtype);
    if (kind != MICA_KIND_SIGNED && kind != MICA_KIND_UNSIGNED) {
        MICA_NN_FAIL(g, "[%s] indices must be integers, not %s", where,
                     mica_nn_type_text(&type).chars);
        return MICA_NULL_VALUE;
    }
    if (type.dtype == MICA_DTYPE_i32 || type.dtype == MICA_DTYPE_i64) return x;
    bool wide = mica_dtype_bytes(type.dtype) >= 4;
    return mica_convert(g, x, wide ? MICA_DTYPE_i64 : MICA_DTYPE_i32);
}

mica_value mica_nn_reduce_keep(mica_graph *g, mica_value x, const char *kind, mica_ints axes) {
    mica_type type = mica_nn_type(x);
    mica_value y = mica_reduce(g, x, kind, axes);
    if (mica_value_is_null(y)) return y;
    for (int32_t i = 0; i < axes.n; i++) type.dims[axes.data[i]] = 1;
    return mica_reshape(g, y, mica_nn_dims(&type));
}

mica_value mica_nn_mean_keep(mica_graph *g, mica_value x, mica_ints axes) {
    mica_type type = mica_nn_type(x);
    bool is_narrow = mica_dtype_bytes(type.dtype) < 4;
    if (is_narrow) x = mica_convert(g, x, MICA_DTYPE_f32);
    mica_value sum = mica_nn_reduce_keep(g, x, "sum", axes);
    if (mica_value_is_null(sum)) return sum;
    double count = 1;
    for (int32_t i = 0; i < axes.n; i++) count *= (double)type.dims[axes.data[i]];
    mica_value mean = mica_div(g, sum, mica_nn_number(g, x, count));
    return is_narrow ? mica_convert(g, mean, type.dtype) : mean;
}

mica_value mica_nn_along(mica_graph *g, const char *where, const char *name, mica_value v,
                         const mica_type *x, int32_t axis) {
    if (mica_value_is_null(v)) return v;
    mica_type type = mica_nn_type(v);
    if (mica_type_elements(&type) != x->dims[axis]) {
        MICA_NN_FAIL(g, "[%s] %s is %s, but axis %d of the input %s has %lld elements", where, name,
                     mica_nn_type_text(&type).chars, (int)axis, mica_nn_type_text(x).chars,
                     (long long)x->dims[axis]);
        return MICA_NULL_VALUE;
    }
    int64_t shape[MICA_MAX_RANK];
    for (int32_t i = 0; i < x->rank; i++) shape[i] = i == axis ? x->dims[i] : 1;
    return mica_reshape(g, v, (mica_ints){shape, x->rank});
}

void mica_nn_broadcast_pair(mica_graph *g, const char *where, mica_value *a, mica_value *b) {
    mica_type ta = mica_nn_type(*a), tb = mica_nn_type(*b);
    int32_t rank = ta.rank > tb.rank ? ta.rank : tb.rank;
    int64_t shape[MICA_MAX_RANK];
    for (int32_t i = 0; i < rank; i++) {
        int32_t ia = i - (rank - ta.rank), ib = i - (rank - tb.rank);
        int64_t da = ia >= 0 ? ta.dims[ia] : 1, db = ib >= 0 ? tb.dims[ib] : 1;
        if (da != db && da != 1 && db != 1) {
            MICA_NN_FAIL(g, "[%s] shapes do not fit: %s and %s", where,
                         mica_nn_type_text(&ta).chars, mica_nn_type_text(&tb).chars);
            *a = *b = MICA_NULL_VALUE;
            return;
        }
        shape[i] = da == 1 ? db : da;
    }
    *a = mica_broadcast_to(g, *a, (mica_ints){shape, rank});
    *b = mica_broadcast_to(g, *b, (mica_ints){shape, rank});
}

mica_value mica_nn_transpose_matrix(mica_graph *g, mica_value x) {
    mica_type type = mica_nn_type(x);
    int64_t order[MICA_MAX_RANK];
    if (type.rank < 2) return x;
    for (int32_t i = 0; i < type.rank; i++) order[i] = i;
    order[type.rank - 2] = type.rank - 1;
    order[type.rank - 1] = type.rank - 2;
    return mica_transpose(g, x, (mica_ints){order, type.rank});
}

mica_value mica_nn_part(mica_graph *g, mica_value x, int32_t axis, int64_t start, int64_t limit) {
    mica_type type = mica_nn_type(x);
    int64_t starts[MICA_MAX_RANK] = {0}, strides[MICA_MAX_RANK];
    for (int32_t i = 0; i < MICA_MAX_RANK; i++) strides[i] = 1;
    if (start == 0 && limit == type.dims[axis]) return x;
    starts[axis] = start;
    type.dims[axis] = limit;
    return mica_slice(g, x, (mica_ints){starts, type.rank}, mica_nn_dims(&type),
                      (mica_ints){strides, type.rank});
}

/* ---- composites -------------------------------------------------------------------------------*/

static bool create(mica_graph *g, const char *name, const char *suffix, mica_graph **out) {
    char text[64];
    snprintf(text, sizeof text, "%s%s", name, suffix);
    mica_status status = mica_graph_create(text, out);
    if (status) mica_graph_fail(g, status);
    return !status;
}

static mica_value parameter_like(mica_graph *g, mica_value value) {
    mica_type type = mica_nn_type(value);
    return mica_parameter(g, &type);
}

bool mica_composite_begin(mica_composite *c, mica_graph *g, const char *name,
                          const mica_value *operands, int32_t n) {
    *c = (mica_composite){.g = g, .name = name};
    for (int32_t i = 0; i < n; i++) {
        if (mica_value_is_null(operands[i])) continue;
        c->place[c->n] = i;
        c->operands[c->n++] = operands[i];
    }
    if (!create(g, name, "", &c->body)) return false;
    for (int32_t k = 0; k < c->n; k++) c->in[c->place[k]] = parameter_like(c->body, c->operands[k]);
    return true;
}

void mica_composite_result(mica_composite *c, mica_value value) {
    c->results[c->n_results++] = value;
    mica_output(c->body, value);
}

bool mica_composite_begin_vjp(mica_composite *c) {
    if (!create(c->g, c->name, ".vjp", &c->vjp)) return false;
    for (int32_t k = 0; k < c->n; k++)
        c->vjp_in[c->place[k]] = parameter_like(c->vjp, c->operands[k]);
    for (int32_t i = 0; i < c->n_results; i++)
        c->vjp_out[i] = parameter_like(c->vjp, c->results[i]);
    for (int32_t i = 0; i < c->n_results; i++) {
        mica_type type = mica_nn_type(c->results[i]);
        if (mica_nn_has_tangent(&type)) c->vjp_cotangent[i] = mica_parameter(c->vjp, &type);
    }
    return true;
}

void mica_composite_cotangent(mica_composite *c, mica_value value) {
    mica_output(c->vjp, value);
}

/* The error of a body becomes the graph's. */
static bool is_whole(mica_graph *g, mica_graph *region) {
    mica_status status = region ? mica_graph_take_error(region) : NULL;
    if (status) mica_graph_fail(g, status);
    return !status;
}

void mica_composite_end(mica_composite *c, bool custom, mica_value *out, const char *config, ...) {
    char text[256], vjp_name[64];
    va_list arguments;
    va_start(arguments, config);
    vsnprintf(text, sizeof text, config, arguments);
    va_end(arguments);
    snprintf(vjp_name, sizeof vjp_name, "%s.vjp", c->name);
    for (int32_t i = 0; i < c->n_results; i++) out[i] = MICA_NULL_VALUE;
    if (is_whole(c->g, c->body) && is_whole(c->g, c->vjp)) {
        if (custom && c->vjp)
            mica_custom_gradient(c->g, c->body, c->vjp, c->operands, c->n, out);
        else if (!custom)
            mica_call(c->g, c->name, text, c->body, c->vjp ? vjp_name : NULL, c->vjp, c->operands,
                      c->n, out);
    }
    mica_graph_release(c->body);
    mica_graph_release(c->vjp);
}
