/* Lowerings of arithmetic, comparisons, contractions and reductions. */
#include <math.h>

#include "tf/lower_rules.h"

#define LOWER_1(name, builder)                                                                     \
    void tf_lower_##name(mica_tf_lowering *c) {                                                    \
        c->outputs[0] = builder(c->g, c->inputs[0]);                                               \
    }
#define LOWER_2(name, builder)                                                                     \
    void tf_lower_##name(mica_tf_lowering *c) {                                                    \
        c->outputs[0] = builder(c->g, c->inputs[0], c->inputs[1]);                                 \
    }
#define LOWER_COMPARE(name, direction)                                                             \
    void tf_lower_##name(mica_tf_lowering *c) {                                                    \
        c->outputs[0] = mica_compare(c->g, c->inputs[0], c->inputs[1], direction);                 \
    }

LOWER_2(add, mica_add)
LOWER_2(sub, mica_sub)
LOWER_2(mul, mica_mul)
LOWER_2(div, mica_div)
LOWER_1(neg, mica_neg)
LOWER_1(exp, mica_exp)
LOWER_1(log, mica_log)
LOWER_1(tanh, mica_tanh)
LOWER_1(sigmoid, mica_logistic)
LOWER_COMPARE(less, "lt")
LOWER_COMPARE(less_equal, "le")
LOWER_COMPARE(greater, "gt")
LOWER_COMPARE(greater_equal, "ge")
LOWER_COMPARE(equal, "eq")
LOWER_COMPARE(not_equal, "ne")
LOWER_2(logical_and, mica_and)
LOWER_2(logical_or, mica_or)
LOWER_1(logical_not, mica_not)

/* x^y of integers: products of the squares that y's bits name. Seven bits suffice: beyond them only
 * 0, 1 and -1 are left, of which the squares are all the same. */
static mica_value integer_power(mica_graph *g, mica_value x, mica_value y) {
    mica_value one = mica_full_like(g, y, 1.0), power = mica_full_like(g, x, 1.0);
    for (int32_t bit = 0; bit < 7; bit++) {
        mica_value set = mica_compare(g, mica_and(g, y, one), one, "eq");
        power = mica_select(g, set, mica_mul(g, power, x), power);
        x = mica_mul(g, x, x);
        y = mica_shr(g, y, one);
    }
    return power;
}

void tf_lower_pow(mica_tf_lowering *c) {
    mica_dtype_kind kind = mica_dtype_kind_of(mica_tf_type(c, 0)->dtype);
    mica_tf_shape shape;
    if (kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX) {
        tf_lower_float_pow(c);
        return;
    }
    if (!mica_tf_result_dims(c, &shape)) return;
    mica_ints dims = {shape.dims, shape.rank};
    c->outputs[0] = integer_power(c->g, mica_broadcast_to(c->g, c->inputs[0], dims),
                                  mica_broadcast_to(c->g, c->inputs[1], dims));
}

void tf_lower_square(mica_tf_lowering *c) {
    c->outputs[0] = mica_mul(c->g, c->inputs[0], c->inputs[0]);
}

void tf_lower_add_n(mica_tf_lowering *c) {
    mica_value sum = c->inputs[0];
    for (int32_t i = 1; i < c->n_inputs; i++) sum = mica_add(c->g, sum, c->inputs[i]);
    c->outputs[0] = sum;
}

void tf_lower_select(mica_tf_lowering *c) {
    c->outputs[0] = mica_select(c->g, c->inputs[0], c->inputs[1], c->inputs[2]);
}

/* Negative numbers become the unsigned ones that are equal modulo 2^32 or 2^64, and parts of
 * complex numbers wrap around in narrow integers, as int32 does when it is cut. */
static mica_value converted(mica_graph *g, mica_value x, mica_dtype dtype) {
    if (mica_value_is_null(x)) return MICA_NULL_VALUE;
    mica_dtype from = mica_value_type(x)->dtype;
    mica_dtype_kind kind = mica_dtype_kind_of(from), wanted = mica_dtype_kind_of(dtype);
    bool is_whole = wanted == MICA_KIND_SIGNED || wanted == MICA_KIND_UNSIGNED;
    if (kind == MICA_KIND_COMPLEX && is_whole && mica_dtype_bytes(dtype) < 4)
        return mica_convert(g, mica_convert(g, x, MICA_DTYPE_i32), dtype);
    mica_value y = mica_convert(g, x, dtype);
    if ((kind != MICA_KIND_FLOAT && kind != MICA_KIND_COMPLEX) ||
        (dtype != MICA_DTYPE_u32 && dtype != MICA_DTYPE_u64))
        return y;
    mica_value whole = mica_convert(g, x, MICA_DTYPE_i64);
    mica_value below = mica_compare(g, whole, mica_zeros_like(g, whole), "lt");
    return mica_select(g, below, mica_convert(g, whole, dtype), y);
}

void tf_lower_cast(mica_tf_lowering *c) {
    mica_dtype dtype = mica_tf_dtype_core((mica_tf_dtype)mica_tf_lowering_int(c, "DstT"));
    if (dtype == MICA_DTYPE_COUNT)
        MICA_TF_FAIL(c, "[Cast] to %s is not possible",
                     mica_tf_dtype_name((mica_tf_dtype)mica_tf_lowering_int(c, "DstT")));
    else
        c->outputs[0] = mica_tf_type(c, 0)->dtype == dtype ? c->inputs[0]
                                                           : converted(c->g, c->inputs[0], dtype);
}

/* ---- products ---------------------------------------------------------------------------------*/

void tf_lower_matmul(mica_tf_lowering *c) {
    int64_t a = mica_tf_lowering_int(c, "transpose_a") ? 0 : 1;
    int64_t b = mica_tf_lowering_int(c, "transpose_b") ? 1 : 0;
    c->outputs[0] = mica_dot(c->g, c->inputs[0], c->inputs[1], MICA_INTS(a), MICA_INTS(b),
                             MICA_NO_INTS, MICA_NO_INTS);
}

static mica_value adjoint(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    int64_t axes[MICA_MAX_RANK];
    if (!type) return MICA_NULL_VALUE;
    for (int32_t i = 0; i < type->rank; i++) axes[i] = i;
    axes[type->rank - 1] = type->rank - 2;
    axes[type->rank - 2] = type->rank - 1;
    if (mica_dtype_kind_of(type->dtype) == MICA_KIND_COMPLEX) x = mica_conj(g, x);
    return mica_transpose(g, x, (mica_ints){axes, type->rank});
}

void tf_lower_batch_matmul(mica_tf_lowering *c) {
    mica_value x = c->inputs[0], y = c->inputs[1];
    if (mica_tf_lowering_int(c, "adj_x")) x = adjoint(c->g, x);
    if (mica_tf_lowering_int(c, "adj_y")) y = adjoint(c->g, y);
    c->outputs[0] = mica_matmul(c->g, x, y);
}

void tf_lower_batch_matmul_wide(mica_tf_lowering *c) {
    mica_dtype dtype = mica_tf_dtype_core((mica_tf_dtype)mica_tf_lowering_int(c, "Tout"));
    const mica_value wide[2] = {mica_convert(c->g, c->inputs[0], dtype),
                                mica_convert(c->g, c->inputs[1], dtype)};
    mica_tf_lowering inner = *c;
    inner.inputs = wide;
    tf_lower_batch_matmul(&inner);
}

/* ---- reductions -------------------------------------------------------------------------------*/

/* The axes of input 1, which the shape function has bounded, counted from the start, each once. */
static bool reduced_axes(mica_tf_lowering *c, int64_t *out, int32_t *out_n) {
    int64_t axes[MICA_MAX_RANK * 4];
    int32_t n, rank = mica_tf_type(c, 0)->rank;
    bool seen[MICA_MAX_RANK] = {false};
    if (!mica_tf_constant_ints(c, 1, axes, &n)) return false;
    for (int32_t i = 0; i < n; i++) seen[axes[i] < 0 ? axes[i] + rank : axes[i]] = true;
    *out_n = 0;
    for (int32_t i = 0; i < rank; i++)
        if (seen[i]) out[(*out_n)++] = i;
    return true;
}

static mica_value keep_axes(mica_tf_lowering *c, mica_value y) {
    mica_tf_shape shape;
    if (!mica_tf_lowering_int(c, "keep_dims") || !mica_tf_result_dims(c, &shape)) return y;
    return mica_reshape(c->g, y, (mica_ints){shape.dims, shape.rank});
}

void tf_lower_sum(mica_tf_lowering *c) {
    int64_t axes[MICA_MAX_RANK];
    int32_t n;
    if (reduced_axes(c, axes, &n))
        c->outputs[0] = keep_axes(c, mica_reduce(c->g, c->inputs[0], "sum", (mica_ints){axes, n}));
}

void tf_lower_mean(mica_tf_lowering *c) {
    int64_t axes[MICA_MAX_RANK], count = 1;
    int32_t n;
    if (!reduced_axes(c, axes, &n)) return;
    mica_type type = *mica_tf_type(c, 0);
    for (int32_t i = 0; i < n; i++) count *= type.dims[axes[i]];
    mica_value sum = mica_reduce(c->g, c->inputs[0], "sum", (mica_ints){axes, n});
    mica_value divisor = mica_scalar(c->g, type.dtype, (double)count);
    bool is_integer = mica_dtype_kind_of(type.dtype) == MICA_KIND_SIGNED ||
                      mica_dtype_kind_of(type.dtype) == MICA_KIND_UNSIGNED;
    if (count == 0 && (is_integer || mica_dtype_kind_of(type.dtype) == MICA_KIND_COMPLEX))
        c->outputs[0] = keep_axes(c, sum); /* of nothing */
    else
        c->outputs[0] = keep_axes(c, mica_div(c->g, sum, divisor));
}
