/* Many small functions of a vector x f64[12]: every one is checked
 *   - first order, backward: against central differences
 *   - first order, forward: v . grad = jvp(v)
 *   - second order: the gradient of v . grad, forward over reverse and reverse over forward,
 * against central differences of the gradient
 *   - vmap of value and gradient: against a loop; gradient of vmap: the same. */
#include "calculus.h"

#define N 12
#define BATCH 3

typedef struct function_case {
    const char *name;
    mica_value (*f)(mica_graph *g, mica_value x);
} function_case;

static mica_value shaped(mica_graph *g, mica_value x, mica_ints shape) {
    return mica_reshape(g, x, shape);
}
static mica_value part(mica_graph *g, mica_value x, int64_t from, int64_t to) {
    return mica_slice(g, x, MICA_INTS(from), MICA_INTS(to), MICA_INTS(1));
}

/* ---- shape ------------------------------------------------------------------------------------*/

static mica_value f_broadcast(mica_graph *g, mica_value x) {
    mica_value m = shaped(g, x, MICA_INTS(4, 1, 3));
    return mica_broadcast(g, m, MICA_INTS(2, 4, 5, 3), MICA_INTS(1, 2, 3));
}
static mica_value f_transpose(mica_graph *g, mica_value x) {
    mica_value m = mica_transpose(g, shaped(g, x, MICA_INTS(2, 3, 2)), MICA_INTS(2, 0, 1));
    return mica_mul(g, m, mica_iota(g, MICA_INTS(2, 2, 3), 2, MICA_DTYPE_f64));
}
static mica_value f_slice(mica_graph *g, mica_value x) {
    return mica_slice(g, shaped(g, x, MICA_INTS(3, 4)), MICA_INTS(0, 1), MICA_INTS(3, 4),
                      MICA_INTS(2, 2));
}
static mica_value f_pad(mica_graph *g, mica_value x) {
    mica_value m = shaped(g, part(g, x, 0, 8), MICA_INTS(2, 4));
    mica_value with = mica_reshape(g, part(g, x, 10, 11), MICA_NO_INTS);
    return mica_pad(g, m, with, MICA_INTS(1, -1), MICA_INTS(2, 3), MICA_INTS(1, 2));
}
static mica_value f_concat(mica_graph *g, mica_value x) {
    mica_value parts[] = {shaped(g, part(g, x, 0, 4), MICA_INTS(2, 2)),
                          shaped(g, part(g, x, 2, 8), MICA_INTS(2, 3)),
                          mica_zeros_like(g, shaped(g, part(g, x, 0, 2), MICA_INTS(2, 1)))};
    return mica_concat(g, parts, 3, 1);
}
static mica_value f_reverse(mica_graph *g, mica_value x) {
    mica_value m = mica_reverse(g, shaped(g, x, MICA_INTS(3, 4)), MICA_INTS(0, 1));
    return mica_mul(g, m, shaped(g, x, MICA_INTS(3, 4)));
}
/* a start that depends on the data: the index of the largest of the first three */
static mica_value some_start(mica_graph *g, mica_value x) {
    mica_value index = mica_argmax(g, part(g, x, 0, 3), 0, MICA_DTYPE_i32);
    mica_value pair[] = {mica_reshape(g, index, MICA_INTS(1)),
                         mica_reshape(g, mica_scalar(g, MICA_DTYPE_i32, 1), MICA_INTS(1))};
    return mica_concat(g, pair, 2, 0);
}
static mica_value f_dynamic_slice(mica_graph *g, mica_value x) {
    return mica_dynamic_slice(g, shaped(g, x, MICA_INTS(3, 4)), some_start(g, x), MICA_INTS(2, 2));
}
static mica_value f_dynamic_update_slice(mica_graph *g, mica_value x) {
    mica_value update = shaped(g, part(g, x, 4, 8), MICA_INTS(2, 2));
    return mica_dynamic_update_slice(g, shaped(g, x, MICA_INTS(3, 4)), mica_mul(g, update, update),
                                     some_start(g, x));
}

/* ---- reductions -------------------------------------------------------------------------------*/

static mica_value f_sum(mica_graph *g, mica_value x) {
    return mica_reduce(g, shaped(g, x, MICA_INTS(2, 3, 2)), "sum", MICA_INTS(0, 2));
}
static mica_value f_prod(mica_graph *g, mica_value x) {
    return mica_reduce(g, shaped(g, x, MICA_INTS(2, 3, 2)), "prod", MICA_INTS(2, 1));
}
static mica_value f_max(mica_graph *g, mica_value x) {
    return mica_reduce(g, shaped(g, x, MICA_INTS(2, 3, 2)), "max", MICA_INTS(0, 2));
}
static mica_value f_min(mica_graph *g, mica_value x) {
    return mica_reduce(g, shaped(g, x, MICA_INTS(3, 4)), "min", MICA_INTS(1));
}
static mica_value f_softmax(mica_graph *g, mica_value x) {
    return mica_log_softmax(g, shaped(g, x, MICA_INTS(3, 4)), 1);
}

/* ---- contractions -----------------------------------------------------------------------------*/

static mica_value f_matmul(mica_graph *g, mica_value x) {
    mica_value a = shaped(g, part(g, x, 0, 6), MICA_INTS(2, 3));
    mica_value b = shaped(g, part(g, x, 3, 12), MICA_INTS(3, 3));
    return mica_matmul(g, a, b);
}
static mica_value f_dot(mica_graph *g, mica_value x) {
    mica_value a = shaped(g, x, MICA_INTS(3, 2, 1, 2)), b = shaped(g, x, MICA_INTS(2, 3, 2, 1));
    return mica_dot(g, a, b, MICA_INTS(0, 1), MICA_INTS(1, 2), MICA_INTS(3), MICA_INTS(0));
}
static mica_value f_dot_swapped(mica_graph *g, mica_value x) {
    mica_value a = shaped(g, x, MICA_INTS(3, 2, 2)), b = shaped(g, x, MICA_INTS(2, 2, 3));
    return mica_dot(g, a, b, MICA_INTS(0, 2), MICA_INTS(2, 0), MICA_NO_INTS, MICA_NO_INTS);
}
static mica_value f_conv(mica_graph *g, mica_value x) {
    mica_value image = shaped(g, x, MICA_INTS(1, 2, 3, 2));
    mica_value kernel = shaped(g, part(g, x, 0, 8), MICA_INTS(2, 1, 2, 2));
    return mica_conv(g, image, kernel, "N01C,01IO,N01C", MICA_INTS(1, 2), MICA_INTS(1, 0),
                     MICA_INTS(0, 1), MICA_INTS(1, 2), MICA_INTS(1, 1), 1, 1);
}
static mica_value f_conv_layout(mica_graph *g, mica_value x) {
    mica_value signal = shaped(g, x, MICA_INTS(2, 3, 2));                /* C 0 N */
    mica_value kernel = shaped(g, part(g, x, 0, 8), MICA_INTS(2, 2, 2)); /* O I 0 */
    return mica_conv(g, signal, kernel, "C0N,OI0,0NC", MICA_INTS(1), MICA_INTS(2), MICA_INTS(-1),
                     MICA_INTS(1), MICA_INTS(2), 1, 1);
}
static mica_value f_conv_groups(mica_graph *g, mica_value x) {
    mica_value signal = shaped(g, x, MICA_INTS(1, 3, 4));
    mica_value kernel = shaped(g, x, MICA_INTS(1, 2, 6));
    return mica_conv(g, signal, kernel, "N0C,0IO,N0C", MICA_INTS(1), MICA_INTS(0), MICA_INTS(1),
                     MICA_INTS(1), MICA_INTS(1), 2, 1);
}
static mica_value f_conv_batch_groups(mica_graph *g, mica_value x) {
    mica_value signal = shaped(g, x, MICA_INTS(4, 3, 1));
    mica_value kernel = shaped(g, part(g, x, 0, 8), MICA_INTS(2, 1, 4));
    return mica_conv(g, signal, kernel, "N0C,0IO,N0C", MICA_INTS(2), MICA_INTS(1), MICA_INTS(1),
                     MICA_INTS(1), MICA_INTS(1), 1, 2);
}

/* ---- elementwise ------------------------------------------------------------------------------*/

static mica_value f_mixed(mica_graph *g, mica_value x) {
    mica_value y = mica_reverse(g, x, MICA_INTS(0));
    mica_value a = mica_atan2(g, mica_exp(g, x), mica_add(g, y, mica_full_like(g, y, 3)));
    mica_value b = mica_pow(g, mica_add(g, mica_mul(g, x, x), mica_full_like(g, x, 1)), y);
    mica_value c = mica_select(g, mica_compare(g, x, y, "lt"), mica_tanh(g, x), mica_log1p(g, b));
    return mica_div(g, mica_max(g, a, mica_erf(g, y)), mica_add(g, c, mica_full_like(g, x, 4)));
}
static mica_value f_clamp(mica_graph *g, mica_value x) {
    mica_value bound = mica_broadcast_to(g, number(g, 0.55), MICA_INTS(N));
    return mica_clamp(g, mica_mul(g, x, x), mica_neg(g, bound), bound);
}

static const function_case cases[] = {
    {"broadcast", f_broadcast},
    {"transpose", f_transpose},
    {"slice", f_slice},
    {"pad", f_pad},
    {"concat", f_concat},
    {"reverse", f_reverse},
    {"dynamic_slice", f_dynamic_slice},
    {"dynamic_update_slice", f_dynamic_update_slice},
    {"sum", f_sum},
    {"prod", f_prod},
    {"max", f_max},
    {"min", f_min},
    {"softmax", f_softmax},
    {"matmul", f_matmul},
    {"dot", f_dot},
    {"dot with axes swapped", f_dot_swapped},
    {"conv", f_conv},
    {"conv of another layout", f_conv_layout},
    {"conv in groups", f_conv_groups},
    {"conv in batch groups", f_conv_batch_groups},
    {"mixed", f_mixed},
    {"clamp", f_clamp},
};
#define CASES (sizeof cases / sizeof *cases)

static void sample(double *x, unsigned seed) {
    for (int i = 0; i < N; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (double)(seed >> 8) / (1 << 24) * 2 - 1;
    }
}

/* sum of sin(y) weighted by place: no symmetry hides a wrong axis */
static mica_value loss_of(mica_graph *g, mica_value y) {
    int64_t size = mica_value_type(y) ? mica_type_elements(mica_value_type(y)) : 0;
    mica_value flat = mica_reshape(g, y, MICA_INTS(size));
    mica_value weight = mica_iota(g, MICA_INTS(size), 0, MICA_DTYPE_f64);
    weight = mica_add(g, weight, mica_full_like(g, weight, 0.5));
    return mica_sum(g, mica_mul(g, weight, mica_sin(g, flat)), MICA_INTS(0));
}

/* (x) -> loss, gradient */
static mica_graph *build_gradient(const function_case *c) {
    mica_graph *g = new_graph(c->name);
    mica_value x = vector_parameter(g, N), loss = loss_of(g, c->f(g, x));
    mica_output(g, loss);
    mica_output(g, gradient(g, loss, x));
    return g;
}

static void run(const mica_graph *g, const double *x, double *loss, double *d) {
    const void *inputs[] = {x};
    void *outputs[] = {loss, d};
    EVALUATE(g, inputs, outputs);
}

static void check_close(const char *name, const char *what, double got, double want,
                        double tolerance) {
    test_checks++;
    if (fabs(got - want) <= tolerance * (1 + fabs(want))) return;
    test_report(__FILE__, __LINE__, "%s, %s: %.12g, not %.12g", name, what, got, want);
}

TEST(gradients_agree_with_differences) {
    for (size_t c = 0; c < CASES; c++) {
        mica_graph *g = build_gradient(&cases[c]);
        double x[N], loss, d[N], above, below, unused[N], h = 1e-6;
        sample(x, 7 + (unsigned)c);
        run(g, x, &loss, d);
        for (int i = 0; i < N; i++) {
            double at = x[i];
            x[i] = at + h;
            run(g, x, &above, unused);
            x[i] = at - h;
            run(g, x, &below, unused);
            x[i] = at;
            check_close(cases[c].name, "gradient", d[i], (above - below) / (2 * h), 1e-6);
        }
        mica_graph_release(g);
    }
}

TEST(tangents_and_second_derivatives_agree) {
    for (size_t c = 0; c < CASES; c++) {
        mica_graph *g = new_graph(cases[c].name), *first = build_gradient(&cases[c]);
        mica_value x = vector_parameter(g, N), v = vector_parameter(g, N);
        mica_value loss = loss_of(g, cases[c].f(g, x)), dx = gradient(g, loss, x);
        mica_value slope = tangent(g, loss, x, v);
        mica_value along = mica_sum(g, mica_mul(g, dx, v), MICA_INTS(0));
        mica_output(g, slope);
        mica_output(g, along);
        mica_output(g, gradient(g, along, x)); /* reverse over reverse */
        mica_output(g, tangent(g, dx, x, v));  /* forward over reverse */
        mica_output(g, gradient(g, slope, x)); /* reverse over forward */
        double p[N], w[N], a = NAN, b = NAN, hv[3][N], above[N], below[N], unused, h = 1e-6;
        sample(p, 7 + (unsigned)c);
        sample(w, 99 + (unsigned)c);
        const void *inputs[] = {p, w};
        void *outputs[] = {&a, &b, hv[0], hv[1], hv[2]};
        if (EVALUATE(g, inputs, outputs)) {
            check_close(cases[c].name, "tangent", a, b, 1e-12);
            for (int i = 0; i < N; i++) p[i] += h * w[i];
            run(first, p, &unused, above);
            for (int i = 0; i < N; i++) p[i] -= 2 * h * w[i];
            run(first, p, &unused, below);
            for (int i = 0; i < N; i++) {
                double want = (above[i] - below[i]) / (2 * h);
                check_close(cases[c].name, "reverse over reverse", hv[0][i], want, 1e-5);
                check_close(cases[c].name, "forward over reverse", hv[1][i], hv[0][i], 1e-10);
                check_close(cases[c].name, "reverse over forward", hv[2][i], hv[0][i], 1e-10);
            }
        }
        mica_graph_release(first);
        mica_graph_release(g);
    }
}

TEST(vmap_of_values_and_gradients_agrees_with_a_loop) {
    const int32_t in_axes[] = {1}, out_axes[] = {0, 1};
    for (size_t c = 0; c < CASES; c++) {
        mica_graph *g = build_gradient(&cases[c]), *batched = NULL;
        CHECK_OK(mica_vmap(g, in_axes, out_axes, BATCH, NULL, &batched));
        double x[BATCH][N], columns[N][BATCH], loss[BATCH], d[N][BATCH], one, row[N];
        for (int b = 0; b < BATCH; b++) {
            sample(x[b], 31 * (unsigned)b + (unsigned)c);
            for (int i = 0; i < N; i++) columns[i][b] = x[b][i];
        }
        if (batched) run(batched, columns[0], loss, d[0]);
        for (int b = 0; batched && b < BATCH; b++) {
            run(g, x[b], &one, row);
            check_close(cases[c].name, "vmap", loss[b], one, 1e-12);
            for (int i = 0; i < N; i++)
                check_close(cases[c].name, "vmap of grad", d[i][b], row[i], 1e-12);
        }
        mica_graph_release(batched);
        mica_graph_release(g);
    }
}

/* Only a part of the operands is mapped: x is split in two parameters. */
static mica_graph *build_split(const function_case *c) {
    mica_graph *g = new_graph(c->name);
    mica_value halves[] = {vector_parameter(g, N / 2), vector_parameter(g, N / 2)}, d[2];
    mica_value loss = loss_of(g, c->f(g, mica_concat(g, halves, 2, 0)));
    mica_gradient(g, loss, halves, 2, d);
    mica_output(g, loss);
    mica_output(g, d[0]);
    mica_output(g, d[1]);
    return g;
}

TEST(gradients_of_vmap_sum_over_what_is_shared) {
    const int32_t in_axes[] = {0, MICA_UNMAPPED}, out_axes[] = {0};
    for (size_t c = 0; c < CASES; c++) {
        mica_graph *each = build_split(&cases[c]), *f = new_graph(cases[c].name), *batched = NULL;
        mica_value halves[] = {vector_parameter(f, N / 2), vector_parameter(f, N / 2)};
        mica_output(f, loss_of(f, cases[c].f(f, mica_concat(f, halves, 2, 0))));
        CHECK_OK(mica_vmap(f, in_axes, out_axes, BATCH, NULL, &batched));
        mica_graph *g = new_graph("whole");
        mica_type rows = f64_type(MICA_INTS(BATCH, N / 2));
        mica_value p[] = {mica_parameter(g, &rows), vector_parameter(g, N / 2)},
                   losses = MICA_NULL_VALUE, d[2];
        if (batched) mica_inline(g, batched, p, 2, &losses);
        mica_gradient(g, mica_sum(g, losses, MICA_INTS(0)), p, 2, d);
        mica_output(g, d[0]);
        mica_output(g, d[1]);
        double x[N], first[BATCH][N / 2], shared[N / 2], by_first[BATCH][N / 2], by_shared[N / 2];
        double one, row[2][N / 2], total[N / 2] = {0};
        sample(x, 3);
        memcpy(shared, x, sizeof shared);
        for (int b = 0; b < BATCH; b++) {
            sample(x, 31 * (unsigned)b + (unsigned)c);
            memcpy(first[b], x, sizeof first[b]);
        }
        const void *inputs[] = {first, shared};
        void *outputs[] = {by_first, by_shared};
        bool ran = batched && EVALUATE(g, inputs, outputs);
        for (int b = 0; ran && b < BATCH; b++) {
            const void *in[] = {first[b], shared};
            void *out[] = {&one, row[0], row[1]};
            EVALUATE(each, in, out);
            for (int i = 0; i < N / 2; i++) {
                check_close(cases[c].name, "grad of vmap", by_first[b][i], row[0][i], 1e-12);
                total[i] += row[1][i];
            }
        }
        for (int i = 0; ran && i < N / 2; i++)
            check_close(cases[c].name, "grad of vmap, shared", by_shared[i], total[i], 1e-12);
        mica_graph_release(g);
        mica_graph_release(batched);
        mica_graph_release(f);
        mica_graph_release(each);
    }
}

/* ---- special points ---------------------------------------------------------------------------*/

TEST(products_with_zeros_have_right_and_finite_derivatives) {
    mica_graph *g = new_graph("prod");
    mica_value x = vector_parameter(g, 5), y = mica_reduce(g, x, "prod", MICA_INTS(0));
    mica_value d = gradient(g, y, x);
    mica_output(g, d);
    mica_output(g, gradient(g, mica_sum(g, d, MICA_INTS(0)), x));
    double one_zero[] = {2, 0, 3, 5, 7}, two_zeros[] = {2, 0, 3, 0, 7}, first[5], second[5];
    const void *in[] = {one_zero};
    void *out[] = {first, second};
    EVALUATE(g, in, out);
    for (int i = 0; i < 5; i++) CHECK_NEAR(first[i], i == 1 ? 210 : 0, 0);
    CHECK_NEAR(second[0], 105, 0); /* d/dx0 of x0 x2 x3 x4 */
    const void *again[] = {two_zeros};
    EVALUATE(g, again, out);
    for (int i = 0; i < 5; i++) CHECK_NEAR(first[i], 0, 0);
    CHECK_NEAR(second[1], 42, 0);
    CHECK_NEAR(second[3], 42, 0);
    CHECK_NEAR(second[0], 0, 0);
    mica_graph_release(g);
}

TEST(the_extremum_shares_its_cotangent_among_ties) {
    mica_graph *g = new_graph("ties");
    mica_value x = vector_parameter(g, 4);
    mica_output(g, gradient(g, mica_reduce(g, x, "max", MICA_INTS(0)), x));
    double at[] = {1, 3, 3, 2}, d[4];
    EVALUATE_1(g, at, d);
    CHECK_NEAR(d[0], 0, 0);
    CHECK_NEAR(d[1], 0.5, 0);
    CHECK_NEAR(d[2], 0.5, 0);
    mica_graph_release(g);
}
