/* Arithmetic, comparisons, selection, reductions. */
#include "nn/compose.h"

#include <string.h>

static bool is_binary(mica_nn_arithmetic_kind kind) {
    return kind <= MICA_NN_DIVIDE || kind == MICA_NN_POW || kind >= MICA_NN_MULTIPLY_NO_NAN;
}

int32_t mica_nn_arithmetic_arity(mica_nn_arithmetic_kind kind) {
    if ((unsigned)kind >= MICA_NN_ARITHMETIC_COUNT) return 0;
    return is_binary(kind) ? 2 : 1;
}

int32_t mica_nn_comparison_arity(mica_nn_comparison_kind kind) {
    if ((unsigned)kind >= MICA_NN_COMPARISON_COUNT) return 0;
    return kind == MICA_NN_LOGICAL_NOT ? 1 : 2;
}

/* ---- arithmetic -------------------------------------------------------------------------------*/

/* 0 where b is 0, else a b */
static mica_value product_no_nan(mica_graph *g, mica_value a, mica_value b) {
    mica_value zero = mica_nn_number(g, a, 0);
    return mica_select(g, mica_nn_test(g, b, "eq", 0), zero, mica_mul(g, a, b));
}

static mica_value multiply_no_nan(mica_graph *g, mica_value x, mica_value y) {
    mica_composite c;
    mica_value out = MICA_NULL_VALUE;
    mica_nn_broadcast_pair(g, "multiply_no_nan", &x, &y);
    if (mica_value_is_null(x) || mica_value_is_null(y)) return out;
    mica_type type = mica_nn_type(x);
    if (!mica_nn_is_float(&type)) return mica_mul(g, x, y);
    if (!mica_composite_begin(&c, g, "multiply_no_nan", (const mica_value[]){x, y}, 2)) return out;
    mica_composite_result(&c, product_no_nan(c.body, c.in[0], c.in[1]));
    if (mica_composite_begin_vjp(&c)) {
        mica_value dy = c.vjp_cotangent[0];
        mica_composite_cotangent(&c, product_no_nan(c.vjp, dy, c.vjp_in[1]));
        mica_composite_cotangent(&c, product_no_nan(c.vjp, c.vjp_in[0], dy));
    }
    mica_composite_end(&c, false, &out, "%s", "");
    return out;
}

/* Where y is 0 both operands are replaced, so that no infinity enters a derivative. */
static mica_value divide_no_nan(mica_graph *g, mica_value x, mica_value y) {
    mica_nn_broadcast_pair(g, "divide_no_nan", &x, &y);
    if (mica_value_is_null(x) || mica_value_is_null(y)) return MICA_NULL_VALUE;
    mica_value is_zero = mica_nn_test(g, y, "eq", 0);
    mica_value above = mica_select(g, is_zero, mica_nn_number(g, x, 0), x);
    return mica_div(g, above, mica_select(g, is_zero, mica_nn_number(g, y, 1), y));
}

/* In f64 when x is narrower, so that powers of two have whole logarithms. */
static mica_value log2_of(mica_graph *g, mica_value x) {
    mica_dtype dtype = mica_nn_type(x).dtype;
    mica_value wide = dtype == MICA_DTYPE_f64 ? x : mica_convert(g, x, MICA_DTYPE_f64);
    wide = mica_nn_scale(g, mica_log(g, wide), 1.44269504088896340736);
    return dtype == MICA_DTYPE_f64 ? wide : mica_convert(g, wide, dtype);
}

static mica_value binary(mica_graph *g, mica_nn_arithmetic_kind kind, mica_value x, mica_value y) {
    switch (kind) {
    case MICA_NN_ADD: return mica_add(g, x, y);
    case MICA_NN_SUBTRACT: return mica_sub(g, x, y);
    case MICA_NN_MULTIPLY: return mica_mul(g, x, y);
    case MICA_NN_DIVIDE: return mica_div(g, x, y);
    case MICA_NN_POW: return mica_pow(g, x, y);
    case MICA_NN_MULTIPLY_NO_NAN: return multiply_no_nan(g, x, y);
    case MICA_NN_DIVIDE_NO_NAN: return divide_no_nan(g, x, y);
    case MICA_NN_MIN: return mica_min(g, x, y);
    default: return mica_max(g, x, y);
    }
}

static mica_value unary(mica_graph *g, mica_nn_arithmetic_kind kind, mica_value x) {
    switch (kind) {
    case MICA_NN_FLOOR: return mica_floor(g, x);
    case MICA_NN_ROUND: return mica_round(g, x);
    case MICA_NN_CEIL: return mica_ceil(g, x);
    case MICA_NN_SQRT: return mica_sqrt(g, x);
    case MICA_NN_RSQRT: return mica_rsqrt(g, x);
    case MICA_NN_SIN: return mica_sin(g, x);
    case MICA_NN_COS: return mica_cos(g, x);
    case MICA_NN_TAN: return mica_tan(g, x);
    case MICA_NN_ASIN: return mica_asin(g, x);
    case MICA_NN_ACOS: return mica_acos(g, x);
    case MICA_NN_ATAN: return mica_atan(g, x);
    case MICA_NN_SINH: return mica_sinh(g, x);
    case MICA_NN_COSH: return mica_cosh(g, x);
    case MICA_NN_TANH_OF: return mica_tanh(g, x);
    case MICA_NN_ASINH: return mica_asinh(g, x);
    case MICA_NN_ACOSH: return mica_acosh(g, x);
    case MICA_NN_ATANH: return mica_atanh(g, x);
    case MICA_NN_EXP: return mica_exp(g, x);
    case MICA_NN_EXP2: return mica_pow(g, mica_nn_number(g, x, 2), x);
    case MICA_NN_LOG: return mica_log(g, x);
    default: return log2_of(g, x);
    }
}

mica_value mica_nn_arithmetic(mica_graph *g, mica_nn_arithmetic_kind kind, mica_value x,
                              mica_value y) {
    int32_t arity = mica_nn_arithmetic_arity(kind);
    if (arity == 0) {
        MICA_NN_FAIL(g, "[arithmetic] there is no kind %d", (int)kind);
        return MICA_NULL_VALUE;
    }
    if (arity == 1 && !mica_value_is_null(y)) {
        MICA_NN_FAIL(g, "[arithmetic] kind %d takes one operand, not two", (int)kind);
        return MICA_NULL_VALUE;
    }
    if (!mica_nn_check(g, "arithmetic", (const mica_value[]){x, y}, arity, 0, false))
        return MICA_NULL_VALUE;
    return arity == 2 ? binary(g, kind, x, y) : unary(g, kind, x);
}

/* ---- comparisons ------------------------------------------------------------------------------*/

static mica_value logical(mica_graph *g, mica_nn_comparison_kind kind, mica_value x, mica_value y) {
    x = mica_nn_truth(g, x);
    if (kind == MICA_NN_LOGICAL_NOT) return mica_not(g, x);
    y = mica_nn_truth(g, y);
    switch (kind) {
    case MICA_NN_LOGICAL_AND: return mica_and(g, x, y);
    case MICA_NN_LOGICAL_OR: return mica_or(g, x, y);
    case MICA_NN_LOGICAL_NAND: return mica_not(g, mica_and(g, x, y));
    case MICA_NN_LOGICAL_NOR: return mica_not(g, mica_or(g, x, y));
    default: return mica_xor(g, x, y);
    }
}

mica_value mica_nn_compare(mica_graph *g, mica_nn_comparison_kind kind, mica_value x,
                           mica_value y) {
    static const char *const directions[] = {"eq", "ne", "lt", "gt", "le", "ge"};
    int32_t arity = mica_nn_comparison_arity(kind);
    if (arity == 0) {
        MICA_NN_FAIL(g, "[comparison] there is no kind %d", (int)kind);
        return MICA_NULL_VALUE;
    }
    if (arity == 1 && !mica_value_is_null(y)) {
        MICA_NN_FAIL(g, "[comparison] kind %d takes one operand, not two", (int)kind);
        return MICA_NULL_VALUE;
    }
    if (!mica_nn_check(g, "comparison", (const mica_value[]){x, y}, arity, 0, false))
        return MICA_NULL_VALUE;
    if (kind >= MICA_NN_LOGICAL_AND) return logical(g, kind, x, y);
    return mica_compare(g, x, y, directions[kind]);
}

mica_value mica_nn_where(mica_graph *g, mica_value condition, mica_value x, mica_value y) {
    if (!mica_nn_check(g, "select", (const mica_value[]){condition, x, y}, 3, 0, false))
        return MICA_NULL_VALUE;
    return mica_select(g, mica_nn_truth(g, condition), x, y);
}

/* ---- reductions -------------------------------------------------------------------------------*/

static mica_value arg_extremum(mica_graph *g, mica_value x, bool largest, mica_ints axes) {
    mica_type type = mica_nn_type(x);
    int64_t order[MICA_MAX_RANK], shape[MICA_MAX_RANK], extent = 1;
    int32_t n = 0;
    uint32_t reduced = 0;
    for (int32_t i = 0; i < axes.n; i++) reduced |= 1u << axes.data[i];
    for (int32_t i = 0; i < type.rank; i++)
        if (!(reduced >> i & 1)) shape[n] = type.dims[i], order[n++] = i;
    int32_t n_kept = n;
    for (int32_t i = 0; i < type.rank; i++) {
        if (!(reduced >> i & 1)) continue;
        order[n++] = i;
        extent *= type.dims[i];
        type.dims[i] = 1;
    }
    x = mica_transpose(g, x, (mica_ints){order, n});
    shape[n_kept] = extent;
    x = mica_reshape(g, x, (mica_ints){shape, n_kept + 1});
    mica_value y = largest ? mica_argmax(g, x, n_kept, MICA_DTYPE_i32)
                           : mica_argmin(g, x, n_kept, MICA_DTYPE_i32);
    return mica_reshape(g, y, mica_nn_dims(&type));
}

static mica_value reduce(mica_graph *g, mica_nn_reduction_kind kind, mica_value x, mica_ints axes) {
    switch (kind) {
    case MICA_NN_REDUCE_SUM: return mica_nn_reduce_keep(g, x, "sum", axes);
    case MICA_NN_REDUCE_MEAN: return mica_nn_mean_keep(g, x, axes);
    case MICA_NN_REDUCE_MAX: return mica_nn_reduce_keep(g, x, "max", axes);
    case MICA_NN_REDUCE_MIN: return mica_nn_reduce_keep(g, x, "min", axes);
    case MICA_NN_REDUCE_ARGMAX: return arg_extremum(g, x, true, axes);
    case MICA_NN_REDUCE_ARGMIN: return arg_extremum(g, x, false, axes);
    case MICA_NN_REDUCE_L1_NORM: return mica_nn_reduce_keep(g, mica_abs(g, x), "sum", axes);
    case MICA_NN_REDUCE_ANY: return mica_nn_reduce_keep(g, mica_nn_truth(g, x), "or", axes);
    case MICA_NN_REDUCE_ALL: return mica_nn_reduce_keep(g, mica_nn_truth(g, x), "and", axes);
    default: return x;
    }
}

mica_value mica_nn_reduce(mica_graph *g, mica_nn_reduction_kind kind, mica_value x,
                          mica_ints axes) {
    if ((unsigned)kind >= MICA_NN_REDUCTION_COUNT) {
        MICA_NN_FAIL(g, "[reduce] there is no kind %d", (int)kind);
        return MICA_NULL_VALUE;
    }
    bool floats = kind == MICA_NN_REDUCE_MEAN;
    if (!mica_nn_check(g, "reduce", &x, 1, 0, floats)) return MICA_NULL_VALUE;
    mica_type type = mica_nn_type(x);
    int64_t sorted[MICA_MAX_RANK];
    uint32_t seen = 0;
    if (axes.n < 0 || axes.n > type.rank || (axes.n && !axes.data)) {
        MICA_NN_FAIL(g, "[reduce] %d axes are given for %s: at most one for each of its axes",
                     (int)axes.n, mica_nn_type_text(&type).chars);
        return MICA_NULL_VALUE;
    }
    for (int32_t i = 0; i < axes.n; i++) {
        int32_t axis = mica_nn_axis(g, "reduce", &type, axes.data[i]);
        if (axis < 0) return MICA_NULL_VALUE;
        if (seen >> axis & 1) {
            MICA_NN_FAIL(g, "[reduce] axes %s name one axis twice", mica_nn_ints_text(axes).chars);
            return MICA_NULL_VALUE;
        }
        seen |= 1u << axis;
    }
    int32_t n = 0;
    for (int32_t i = 0; i < type.rank; i++)
        if (seen >> i & 1) sorted[n++] = i;
    return reduce(g, kind, x, (mica_ints){sorted, n});
}
