/* trigamma(x) = sum over k >= 0 of (x + k)^-2, the derivative of digamma.
 *
 * Below 1/2, trigamma(x) = (pi / sin pi x)^2 - trigamma(1 - x). Above, the sum's first terms are
 * taken as they are and the rest from the asymptotic series
 *     1/w + 1/(2 w^2) + sum B_2k / w^(2k + 1),
 * whose last term taken is below 1e-18 of the result for w >= 10.5. Everything is composed of
 * primitives, so it has derivatives of any order (polygamma). */
#include "transform/transform.h"

#define TERMS 10

/* B_2, B_4, ... B_20 */
static const double bernoulli[] = {1.0 / 6,       -1.0 / 30,      1.0 / 42, -1.0 / 30,
                                   5.0 / 66,      -691.0 / 2730,  7.0 / 6,  -3617.0 / 510,
                                   43867.0 / 798, -174611.0 / 330};

static mica_value like(mica_graph *g, mica_value x, double value) {
    return mica_full_like(g, x, value);
}

static mica_value asymptotic_series(mica_graph *g, mica_value w) {
    mica_value inverse = mica_div(g, like(g, w, 1), w), square = mica_mul(g, inverse, inverse);
    mica_value sum = like(g, w, bernoulli[TERMS - 1]);
    for (int k = TERMS - 1; k-- > 0;)
        sum = mica_add(g, like(g, w, bernoulli[k]), mica_mul(g, square, sum));
    /* 1/w (1 + 1/w (1/2 + 1/w sum)) */
    sum = mica_add(g, like(g, w, 0.5), mica_mul(g, inverse, sum));
    sum = mica_add(g, like(g, w, 1), mica_mul(g, inverse, sum));
    return mica_mul(g, inverse, sum);
}

/* For z >= 1/2; the small terms are added first. */
static mica_value trigamma_above_half(mica_graph *g, mica_value z) {
    mica_value sum = asymptotic_series(g, mica_add(g, z, like(g, z, TERMS)));
    for (int k = TERMS; k-- > 0;) {
        mica_value inverse = mica_div(g, like(g, z, 1), mica_add(g, z, like(g, z, k)));
        sum = mica_add(g, sum, mica_mul(g, inverse, inverse));
    }
    return sum;
}

mica_value mica_trigamma(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    mica_dtype dtype = type->dtype;
    if (dtype == MICA_DTYPE_f16 || dtype == MICA_DTYPE_bf16) x = mica_convert(g, x, MICA_DTYPE_f32);
    mica_value reflect = mica_compare(g, x, like(g, x, 0.5), "lt");
    mica_value above =
        trigamma_above_half(g, mica_select(g, reflect, mica_sub(g, like(g, x, 1), x), x));
    /* sin^2(pi x) has period 1; where it is not asked for, it is taken far from its zeros. */
    mica_value near = mica_sub(g, x, mica_round(g, x));
    near = mica_select(g, reflect, near, like(g, x, 0.5));
    mica_value sine = mica_sin(g, mica_mul(g, like(g, x, 3.14159265358979323846), near));
    mica_value ratio = mica_div(g, like(g, x, 3.14159265358979323846), sine);
    mica_value below = mica_sub(g, mica_mul(g, ratio, ratio), above);
    return mica_as(g, mica_select(g, reflect, below, above), dtype);
}
