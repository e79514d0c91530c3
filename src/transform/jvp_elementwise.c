/* Tangents of elementwise ops. Each rule is its formula; coefficients are computed from primal
 * values and then multiplied by the tangent, so that the tangent's own path is linear. */
#include <string.h>

#include "transform/rules.h"

static mica_value add(mica_graph *g, mica_value a, mica_value b) {
    return mica_add(g, a, b);
}
static mica_value sub(mica_graph *g, mica_value a, mica_value b) {
    return mica_sub(g, a, b);
}
static mica_value mul(mica_graph *g, mica_value a, mica_value b) {
    return mica_mul(g, a, b);
}
static mica_value quotient(mica_graph *g, mica_value a, mica_value b) {
    return mica_div(g, a, b);
}
static mica_value constant(mica_graph *g, mica_value like, double value) {
    return mica_full_like(g, like, value);
}
static mica_value one_plus(mica_graph *g, mica_value x) {
    return add(g, constant(g, x, 1), x);
}
/* 1 - x^2 without cancellation where |x| is near 1 */
static mica_value one_minus_square(mica_graph *g, mica_value x) {
    return mul(g, sub(g, constant(g, x, 1), x), one_plus(g, x));
}

/* A rule for y = f(x), as an expression in g, x, y and dx. */
#define UNARY(rule, expression)                                                                    \
    MICA_JVP_RULE(rule) {                                                                          \
        mica_graph *g = pass->g;                                                                   \
        mica_value x = n->operands[0], y = mica_node_result(n, 0), dx0 = dx[0];                    \
        (void)x, (void)y;                                                                          \
        dy[0] = (expression);                                                                      \
    }

static bool is_complex(mica_value x) {
    const mica_type *type = mica_value_type(x);
    return type && mica_dtype_kind_of(type->dtype) == MICA_KIND_COMPLEX;
}

/* conj(x / |x|) dx: along x its real part, across x its imaginary part */
static mica_value turned(mica_graph *g, mica_value x, mica_value dx) {
    return mul(g, mica_conj(g, mica_sign(g, x)), dx);
}

/* d|x| = sign(x) dx, 0 at 0; of a complex number the part of dx along x */
UNARY(abs, is_complex(x) ? mica_real(g, turned(g, x, dx0)) : mul(g, mica_sign(g, x), dx0))

/* Constant in pieces; of a complex number y = x / |x| turns: dy = i y (the part of dx across x) /
 * |x|, 0 at 0. */
MICA_JVP_RULE(sign) {
    mica_graph *g = pass->g;
    mica_value x = n->operands[0], y = mica_node_result(n, 0);
    if (!is_complex(x)) return;
    mica_value size = mica_abs(g, x), none = constant(g, size, 0);
    size = mica_select(g, mica_compare(g, size, none, "eq"), constant(g, size, 1), size);
    mica_value angle = quotient(g, mica_imag(g, turned(g, x, dx[0])), size);
    dy[0] = mul(g, y, mica_complex(g, mica_zeros(g, mica_value_type(angle)), angle));
}
UNARY(exp, mul(g, y, dx0))
UNARY(expm1, mul(g, one_plus(g, y), dx0))
UNARY(log, quotient(g, dx0, x))
UNARY(log1p, quotient(g, dx0, one_plus(g, x)))
UNARY(sqrt, mul(g, quotient(g, constant(g, y, 0.5), y), dx0))
UNARY(rsqrt, mul(g, mul(g, constant(g, y, -0.5), quotient(g, y, x)), dx0))
UNARY(cbrt, mul(g, quotient(g, constant(g, y, 1.0 / 3), mul(g, y, y)), dx0))
UNARY(sin, mul(g, mica_cos(g, x), dx0))
UNARY(cos, mul(g, mica_neg(g, mica_sin(g, x)), dx0))
UNARY(tan, mul(g, one_plus(g, mul(g, y, y)), dx0))
UNARY(asin, mul(g, mica_rsqrt(g, one_minus_square(g, x)), dx0))
UNARY(acos, mul(g, mica_neg(g, mica_rsqrt(g, one_minus_square(g, x))), dx0))
UNARY(atan, quotient(g, dx0, one_plus(g, mul(g, x, x))))
UNARY(sinh, mul(g, mica_cosh(g, x), dx0))
UNARY(cosh, mul(g, mica_sinh(g, x), dx0))
UNARY(tanh, mul(g, one_minus_square(g, y), dx0))
UNARY(asinh, mul(g, mica_rsqrt(g, one_plus(g, mul(g, x, x))), dx0))
/* Two roots, not that of the product: the sign is right to the left of 0 too. */
UNARY(acosh,
      mul(g, mul(g, mica_rsqrt(g, sub(g, x, constant(g, x, 1))), mica_rsqrt(g, one_plus(g, x))),
          dx0))
UNARY(atanh, quotient(g, dx0, one_minus_square(g, x)))
UNARY(lgamma, mul(g, mica_digamma(g, x), dx0))
UNARY(digamma, mul(g, mica_trigamma(g, x), dx0))
/* y (1 - y), with 1 - y = logistic(-x) computed without cancellation */
UNARY(logistic, mul(g, mul(g, y, mica_logistic(g, mica_neg(g, x))), dx0))

/* 2 pi^(-1/2) e^(-x^2) */
static mica_value gaussian(mica_graph *g, mica_value x) {
    mica_value two_over_root_pi = constant(g, x, 1.12837916709551257390);
    return mul(g, two_over_root_pi, mica_exp(g, mica_neg(g, mul(g, x, x))));
}
UNARY(erf, mul(g, gaussian(g, x), dx0))
UNARY(erfc, mul(g, mica_neg(g, gaussian(g, x)), dx0))

/* y' = pi^(1/2) / 2 e^(y^2), one over the slope of erf at y */
static mica_value inverse_gaussian(mica_graph *g, mica_value y) {
    return mul(g, constant(g, y, 0.88622692545275801365), mica_exp(g, mul(g, y, y)));
}
UNARY(erfinv, mul(g, inverse_gaussian(g, y), dx0))

/* A rule for y = f(a, b) with dy = A da + B db, as expressions in g, a, b and y. */
#define BINARY(rule, coefficient_a, coefficient_b)                                                 \
    MICA_JVP_RULE(rule) {                                                                          \
        mica_graph *g = pass->g;                                                                   \
        mica_value a = n->operands[0], b = n->operands[1], y = mica_node_result(n, 0);             \
        (void)a, (void)b, (void)y;                                                                 \
        mica_value da = mica_is_zero(dx[0]) ? dx[0] : mul(g, (coefficient_a), dx[0]);              \
        mica_value db = mica_is_zero(dx[1]) ? dx[1] : mul(g, (coefficient_b), dx[1]);              \
        dy[0] = mica_sum_of(g, da, db);                                                            \
    }

BINARY(mul, b, a)
BINARY(igamma, mica_igamma_by_a(g, a, b), mica_igamma_by_x(g, a, b))

/* d(a / b) = da / b - (y / b) db */
MICA_JVP_RULE(div) {
    mica_graph *g = pass->g;
    mica_value b = n->operands[1], y = mica_node_result(n, 0);
    mica_value da = mica_is_zero(dx[0]) ? dx[0] : quotient(g, dx[0], b);
    mica_value db = dx[1];
    if (!mica_is_zero(db)) db = mul(g, mica_neg(g, quotient(g, y, b)), db);
    dy[0] = mica_sum_of(g, da, db);
}

/* d(a rem b) = da - trunc(a / b) db; (a - y) / b is that whole number up to rounding */
MICA_JVP_RULE(rem) {
    mica_graph *g = pass->g;
    mica_value a = n->operands[0], b = n->operands[1], y = mica_node_result(n, 0), db = dx[1];
    if (!mica_is_zero(db)) {
        mica_value whole = mica_round(g, quotient(g, sub(g, a, y), b));
        db = mul(g, mica_neg(g, whole), db);
    }
    dy[0] = mica_sum_of(g, dx[0], db);
}

/* p x^(p - 1). Where x and p are 0 the exponent becomes 1: the derivative of the constant 1 is 0,
 * and no infinity arises that a later derivative would multiply by 0. */
static mica_value power_by_base(mica_graph *g, mica_value x, mica_value p) {
    mica_value zero = constant(g, x, 0), one = constant(g, x, 1);
    mica_value flat = mica_and(g, mica_compare(g, x, zero, "eq"), mica_compare(g, p, zero, "eq"));
    return mul(g, p, mica_pow(g, x, mica_select(g, flat, one, sub(g, p, one))));
}

/* y ln x, and 0 where x is 0 */
static mica_value power_by_exponent(mica_graph *g, mica_value x, mica_value y) {
    mica_value zero = constant(g, x, 0);
    mica_value positive = mica_select(g, mica_compare(g, x, zero, "eq"), constant(g, x, 1), x);
    return mul(g, y, mica_log(g, positive));
}
BINARY(pow, power_by_base(g, a, b), power_by_exponent(g, a, y))

static mica_value over_square_sum(mica_graph *g, mica_value x, mica_value a, mica_value b) {
    return quotient(g, x, add(g, mul(g, a, a), mul(g, b, b)));
}
BINARY(atan2, over_square_sum(g, b, a, b), mica_neg(g, over_square_sum(g, a, a, b)))

/* 1 where a is ahead of b, one half where they are equal, 0 elsewhere */
static mica_value ahead(mica_graph *g, mica_value a, mica_value b, const char *direction) {
    const mica_type *type = mica_value_type(a);
    if (!type) return MICA_NULL_VALUE;
    mica_value is_ahead = mica_convert(g, mica_compare(g, a, b, direction), type->dtype);
    return mica_select(g, mica_compare(g, a, b, "eq"), constant(g, a, 0.5), is_ahead);
}
BINARY(max, ahead(g, a, b, "gt"), ahead(g, b, a, "gt"))
BINARY(min, ahead(g, a, b, "lt"), ahead(g, b, a, "lt"))

static mica_value where(mica_graph *g, mica_value predicate, mica_value dx) {
    if (mica_is_zero(dx)) return dx;
    return mica_select(g, predicate, dx, mica_zeros(g, mica_value_type(dx)));
}

/* min(max(x, low), high): on the bounds and between, the tangent is x's; beyond, the bound's. */
MICA_JVP_RULE(clamp) {
    mica_graph *g = pass->g;
    mica_value x = n->operands[0], low = n->operands[1], high = n->operands[2];
    mica_value below = mica_compare(g, x, low, "lt");
    mica_value above = mica_compare(g, mica_max(g, x, low), high, "gt");
    mica_value inside = mica_not(g, mica_or(g, below, above));
    mica_value at_low = mica_and(g, below, mica_not(g, above));
    dy[0] = mica_sum_of(g, where(g, inside, dx[0]), where(g, at_low, dx[1]));
    dy[0] = mica_sum_of(g, dy[0], where(g, above, dx[2]));
}

/* The predicate has no tangent. */
MICA_JVP_RULE(select) {
    mica_graph *g = pass->g;
    const mica_type *type = &n->results[0];
    if (mica_is_zero(dx[1]) && mica_is_zero(dx[2])) return;
    dy[0] = mica_select(g, n->operands[0], mica_or_zeros(g, dx[1], type),
                        mica_or_zeros(g, dx[2], type));
}

/* From one float or complex dtype to another; others have no tangents. */
MICA_JVP_RULE(convert) {
    if (!mica_type_is_differentiable(&n->results[0])) return;
    dy[0] = mica_convert(pass->g, dx[0], n->results[0].dtype);
}

/* x0 and a step that stays the same around it. */
MICA_JVP_RULE(nextafter) {
    (void)pass, (void)n;
    dy[0] = dx[0];
}

/* To the same dtype it is x; bits of another are no smooth function. */
MICA_JVP_RULE(bitcast) {
    (void)pass;
    if (n->results[0].dtype == mica_operand_type(n, 0)->dtype) dy[0] = dx[0];
}

/* ---- linear ops: the same op on tangents
 * -------------------------------------------------------*/

MICA_JVP_RULE(add) {
    (void)n;
    dy[0] = mica_sum_of(pass->g, dx[0], dx[1]);
}

MICA_JVP_RULE(sub) {
    (void)n;
    if (mica_is_zero(dx[1]))
        dy[0] = dx[0];
    else if (mica_is_zero(dx[0]))
        dy[0] = mica_neg(pass->g, dx[1]);
    else
        dy[0] = sub(pass->g, dx[0], dx[1]);
}

/* Linear in every operand that has a tangent; the others count as zeros. */
MICA_JVP_RULE(linear) {
    mica_value tangents[3];
    for (int32_t k = 0; k < n->n_operands; k++)
        tangents[k] = mica_or_zeros(pass->g, dx[k], mica_operand_type(n, k));
    dy[0] = mica_like(pass->g, n, tangents);
}
