/* Elementary functions of f32 and f64 against long double, in fractions of an ulp: the reference is
 * rounded to the dtype, so that agreement with it hides an error of one place.
 *
 * Bounds are a little above the errors that were measured (docs/numerics.md). Only where long
 * double has more digits than f64, and a libm that computes them. */
#include "harness.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__GLIBC__) && LDBL_MANT_DIG > DBL_MANT_DIG

#define MANY 20011

typedef struct function {
    mica_op op;
    double spread;   /* arguments are those of the case times this */
    double f32, f64; /* ulps */
    long double (*one)(long double);
    long double (*two)(long double, long double);
} function;

/* psi(x) = psi(x + 1) - 1 / x until the asymptotic series is exact; x > 0. */
static long double digammal(long double x) {
    long double less = 0;
    for (; x < 40; x++) less += 1 / x;
    long double r = 1 / (x * x);
    long double tail = 1.0L / 240 - r * (1.0L / 132 - r * (691.0L / 32760 - r / 12));
    return logl(x) - 0.5L / x - r * (1.0L / 12 - r * (1.0L / 120 - r * (1.0L / 252 - r * tail))) -
           less;
}

static const function functions[] = {
    {MICA_OP_exp, 20, 1.05, 0.85, expl, NULL},
    {MICA_OP_expm1, 10, 1.55, 1.1, expm1l, NULL},
    {MICA_OP_log, 1000, 0.9, 0.85, logl, NULL},
    {MICA_OP_log1p, 1, 1.65, 1.35, log1pl, NULL},
    {MICA_OP_cbrt, 1000, 0.53, 0.85, cbrtl, NULL},
    {MICA_OP_sin, 300, 0.53, 0.85, sinl, NULL},
    {MICA_OP_cos, 300, 0.53, 0.85, cosl, NULL},
    {MICA_OP_tan, 300, 0.55, 0.95, tanl, NULL},
    {MICA_OP_asin, 1, 0.53, 0.72, asinl, NULL},
    {MICA_OP_acos, 1, 0.53, 0.72, acosl, NULL},
    {MICA_OP_atan, 5, 0.53, 0.72, atanl, NULL},
    {MICA_OP_sinh, 5, 0.53, 2.0, sinhl, NULL},
    {MICA_OP_cosh, 5, 0.53, 1.15, coshl, NULL},
    {MICA_OP_tanh, 2, 1.45, 2.4, tanhl, NULL},
    {MICA_OP_asinh, 5, 0.53, 1.75, asinhl, NULL},
    {MICA_OP_acosh, 1, 0.53, 1.5, acoshl, NULL},
    {MICA_OP_atanh, 1, 0.53, 1.9, atanhl, NULL},
    {MICA_OP_pow, 1, 0.53, 0.72, NULL, powl},
    {MICA_OP_atan2, 1, 0.53, 0.8, NULL, atan2l},
    {MICA_OP_erf, 1, 1.1, 1, erfl, NULL},
    {MICA_OP_erfc, 1, 0.53, 2.5, erfcl, NULL},
    {MICA_OP_lgamma, 3, 0.55, 6.5, lgammal, NULL},
    /* near its zero f64 has no digits to spare */
    {MICA_OP_digamma, 3, 0.53, INFINITY, digammal, NULL},
};

static const function *find_function(mica_op op) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i].op == op) return &functions[i];
    return NULL;
}

static long double ulp_at(long double want, mica_dtype dtype) {
    int exponent, digits = dtype == MICA_DTYPE_f32 ? FLT_MANT_DIG : DBL_MANT_DIG;
    frexpl(want, &exponent);
    return ldexpl(1, exponent - digits);
}

static void check_dtype(const op_case *c, const function *f, mica_dtype dtype) {
    mica_type types[MOST_OPERANDS];
    random_state r = {7};
    for (int32_t i = 0; i < c->n_operands; i++) types[i] = mica_type_make(dtype, MICA_INTS(MANY));
    arrays inputs = draw_operands(c, types, c->n_operands, &r), out = {.n = 0};
    for (int64_t i = 0; i < MANY; i++)
        array_set(&inputs.items[0], i, array_get(&inputs.items[0], i) * f->spread);
    mica_graph *g = case_graph(c, dtype, types);
    double bound = dtype == MICA_DTYPE_f32 ? f->f32 : f->f64;
    if (dtype == MICA_DTYPE_f64 && !strcmp(harness_devices[0], "cuda"))
        bound *= 4; /* what f64 takes from libm it takes from the GPU's own there */
    if (harness_ok(run_on_device(harness_devices[0], NULL, g, &inputs, &out), case_title(c)) &&
        out.n == 1) {
        harness_count();
        for (int64_t i = 0; i < MANY; i++) {
            long double x = array_get(&inputs.items[0], i);
            long double want = f->one ? f->one(x) : f->two(x, array_get(&inputs.items[1], i));
            long double error = fabsl(array_get(&out.items[0], i) - want) / ulp_at(want, dtype);
            if (error <= bound) continue;
            harness_fail("%s %s: off by %.3Lf ulp at %.17Lg, more than %g", case_title(c),
                         mica_dtype_name(dtype), error, x, bound);
            break;
        }
    }
    arrays_free(&out);
    arrays_free(&inputs);
    mica_graph_release(g);
}

void check_ulps(const op_case *c) {
    const function *f = find_function(c->op);
    if (!f || c->build || (c->flags & (AS_GIVEN | SPRINKLED | LARGE))) return;
    if (case_takes(c, MICA_DTYPE_f32)) check_dtype(c, f, MICA_DTYPE_f32);
    if (case_takes(c, MICA_DTYPE_f64)) check_dtype(c, f, MICA_DTYPE_f64);
}

#else

void check_ulps(const op_case *c) {
    (void)c;
}

#endif
