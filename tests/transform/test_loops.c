/* Derivatives through scan and while, against closed forms. */
#include "calculus.h"

/* ---- scan -------------------------------------------------------------------------------------
 * h' = w h + x, y = h' h': after T steps h = w^T h0 + sum w^(T-1-i) x_i. */

static mica_graph *affine_step(void) {
    mica_graph *g = new_graph("step");
    mica_value w = scalar_parameter(g), h = scalar_parameter(g), x = scalar_parameter(g);
    mica_value next = mica_add(g, mica_mul(g, w, h), x);
    mica_output(g, next);
    mica_output(g, mica_mul(g, next, next));
    return g;
}

typedef struct scan_graph {
    mica_graph *g;
    mica_value w, h, x, last, ys;
} scan_graph;

static scan_graph build_scan(bool reverse) {
    scan_graph s = {.g = new_graph("scan")};
    mica_graph *step = affine_step();
    s.w = scalar_parameter(s.g);
    s.h = scalar_parameter(s.g);
    s.x = vector_parameter(s.g, 3);
    mica_value operands[] = {s.w, s.h, s.x}, out[2];
    mica_scan(s.g, step, operands, 3, 1, 1, 3, reverse, out);
    s.last = out[0];
    s.ys = out[1];
    mica_graph_release(step);
    return s;
}

static const double w0 = 2, h0 = 3, xs0[] = {5, 7, 11};

TEST(the_gradient_through_scan_reaches_constant_carry_and_xs) {
    scan_graph s = build_scan(false);
    mica_value inputs[] = {s.w, s.h, s.x}, d[3];
    mica_gradient(s.g, s.last, inputs, 3, d);
    for (int i = 0; i < 3; i++) mica_output(s.g, d[i]);
    mica_output(s.g, s.last);
    double dw = NAN, dh = NAN, dx[3] = {NAN, NAN, NAN}, h = NAN;
    const void *in[] = {&w0, &h0, xs0};
    void *out[] = {&dw, &dh, dx, &h};
    EVALUATE(s.g, in, out);
    CHECK_NEAR(h, 8 * 3 + 4 * 5 + 2 * 7 + 11, 0);
    CHECK_NEAR(dw, 3 * 4 * 3 + 2 * 2 * 5 + 7, 0);
    CHECK_NEAR(dh, 8, 0);
    CHECK_NEAR(dx[0], 4, 0);
    CHECK_NEAR(dx[1], 2, 0);
    CHECK_NEAR(dx[2], 1, 0);
    mica_graph_release(s.g);
}

TEST(a_scan_that_runs_backward_has_a_gradient_that_runs_forward) {
    scan_graph s = build_scan(true);
    mica_value inputs[] = {s.w, s.x}, d[2];
    mica_gradient(s.g, s.last, inputs, 2, d);
    mica_output(s.g, d[0]);
    mica_output(s.g, d[1]);
    double dw = NAN, dx[3] = {NAN, NAN, NAN};
    const void *in[] = {&w0, &h0, xs0};
    void *out[] = {&dw, dx};
    EVALUATE(s.g, in, out);
    CHECK_NEAR(dw, 3 * 4 * 3 + 2 * 2 * 11 + 7, 0);
    CHECK_NEAR(dx[0], 1, 0);
    CHECK_NEAR(dx[1], 2, 0);
    CHECK_NEAR(dx[2], 4, 0);
    mica_graph_release(s.g);
}

/* y0 = (w h + x0)^2 and so on: d sum ys / dw and its derivative, by hand. */
TEST(stacked_results_of_scan_have_gradients_of_second_order) {
    scan_graph s = build_scan(false);
    mica_value total = mica_sum(s.g, s.ys, MICA_INTS(0));
    mica_value first = gradient(s.g, total, s.w), second = gradient(s.g, first, s.w);
    mica_output(s.g, first);
    mica_output(s.g, second);
    mica_output(s.g, tangent(s.g, total, s.w, number(s.g, 1)));
    mica_output(s.g, tangent(s.g, first, s.w, number(s.g, 1)));
    mica_output(s.g, gradient(s.g, tangent(s.g, total, s.w, number(s.g, 1)), s.w));
    double d[5] = {NAN, NAN, NAN, NAN, NAN};
    const void *in[] = {&w0, &h0, xs0};
    void *out[] = {&d[0], &d[1], &d[2], &d[3], &d[4]};
    EVALUATE(s.g, in, out);
    double h = h0, dh = 0, ddh = 0, one = 0, two = 0;
    for (int i = 0; i < 3; i++) {
        ddh = 2 * dh + w0 * ddh;
        dh = h + w0 * dh;
        h = w0 * h + xs0[i];
        one += 2 * h * dh;
        two += 2 * dh * dh + 2 * h * ddh;
    }
    CHECK_NEAR(d[0], one, 0);
    CHECK_NEAR(d[1], two, 0);
    CHECK_NEAR(d[2], one, 0);
    CHECK_NEAR(d[3], two, 0);
    CHECK_NEAR(d[4], two, 0);
    mica_graph_release(s.g);
}

TEST(a_residual_that_is_constant_over_the_loop_is_not_stacked) {
    scan_graph s = build_scan(false);
    mica_output(s.g, gradient(s.g, s.last, s.h)); /* needs w alone */
    for (int32_t i = 0; i < s.g->n_nodes; i++)
        if (s.g->nodes[i]->op == MICA_OP_scan && s.g->nodes[i]->n_regions == 1)
            CHECK(s.g->nodes[i]->n_results <= 2);
    CHECK_OK(mica_graph_verify(s.g));
    mica_graph_release(s.g);
}

/* ---- while ------------------------------------------------------------------------------------
 * while x < limit: x = a x. From x0 it takes n steps, and x = a^n x0. */

static mica_graph *below_limit(int32_t n_parameters) {
    mica_graph *g = new_graph("below");
    mica_value limit = scalar_parameter(g);
    scalar_parameter(g);
    mica_value x = scalar_parameter(g);
    for (int32_t i = 3; i < n_parameters; i++) scalar_parameter(g);
    mica_output(g, mica_compare(g, x, limit, "lt"));
    return g;
}

static mica_graph *times(void) {
    mica_graph *g = new_graph("times");
    scalar_parameter(g);
    mica_value a = scalar_parameter(g), x = scalar_parameter(g);
    mica_output(g, mica_mul(g, a, x));
    return g;
}

/* parameters: a, x0 */
static mica_graph *build_growth(mica_value *a, mica_value *x, mica_value *y) {
    mica_graph *g = new_graph("growth"), *condition = below_limit(3), *body = times();
    *a = scalar_parameter(g);
    *x = scalar_parameter(g);
    mica_value operands[] = {number(g, 100), *a, *x};
    mica_while(g, condition, body, operands, 3, 2, y);
    mica_graph_release(condition);
    mica_graph_release(body);
    return g;
}

TEST(the_gradient_through_while_follows_the_trip_count) {
    mica_value a, x, y;
    mica_graph *g = build_growth(&a, &x, &y);
    mica_value inputs[] = {a, x}, d[2];
    mica_gradient(g, y, inputs, 2, d);
    mica_output(g, d[0]);
    mica_output(g, d[1]);
    mica_output(g, y);
    for (double start = 1; start < 200; start *= 3) {
        double at = 2, da = NAN, dx = NAN, end = NAN, n = 0;
        for (double v = start; v < 100; v *= at) n++;
        const void *in[] = {&at, &start};
        void *out[] = {&da, &dx, &end};
        EVALUATE(g, in, out);
        CHECK_NEAR(end, start * pow(at, n), 0);
        CHECK_NEAR(dx, pow(at, n), 0);
        CHECK_NEAR(da, n * start * pow(at, n - 1), 1e-12);
    }
    mica_graph_release(g);
}

TEST(while_has_second_and_third_derivatives_in_every_mode) {
    mica_value a, x, y;
    mica_graph *g = build_growth(&a, &x, &y);
    mica_value one = number(g, 1);
    mica_value by_a = gradient(g, y, a), twice = gradient(g, by_a, a);
    mica_output(g, twice);                                     /* n (n-1) x a^(n-2) */
    mica_output(g, gradient(g, by_a, x));                      /* n a^(n-1) */
    mica_output(g, tangent(g, by_a, a, one));                  /* forward over reverse */
    mica_output(g, gradient(g, tangent(g, y, a, one), a));     /* reverse over forward */
    mica_output(g, tangent(g, tangent(g, y, a, one), a, one)); /* forward over forward */
    mica_output(g, gradient(g, twice, a));                     /* n (n-1) (n-2) x a^(n-3) */
    double at = 2, start = 3, n = 6, d[6];
    const void *in[] = {&at, &start};
    void *out[] = {&d[0], &d[1], &d[2], &d[3], &d[4], &d[5]};
    for (int i = 0; i < 6; i++) d[i] = NAN;
    EVALUATE(g, in, out);
    CHECK_NEAR(d[0], n * (n - 1) * start * pow(at, n - 2), 1e-9);
    CHECK_NEAR(d[1], n * pow(at, n - 1), 1e-9);
    CHECK_NEAR(d[2], d[0], 1e-9);
    CHECK_NEAR(d[3], d[0], 1e-9);
    CHECK_NEAR(d[4], d[0], 1e-9);
    CHECK_NEAR(d[5], n * (n - 1) * (n - 2) * start * pow(at, n - 3), 1e-9);
    mica_graph_release(g);
}

TEST(a_loop_that_does_not_run_passes_cotangents_through) {
    mica_value a, x, y;
    mica_graph *g = build_growth(&a, &x, &y);
    mica_value inputs[] = {a, x}, d[2];
    mica_gradient(g, y, inputs, 2, d);
    mica_output(g, d[0]);
    mica_output(g, d[1]);
    double at = 2, start = 500, da = NAN, dx = NAN;
    const void *in[] = {&at, &start};
    void *out[] = {&da, &dx};
    EVALUATE(g, in, out);
    CHECK_NEAR(da, 0, 0);
    CHECK_NEAR(dx, 1, 0);
    mica_graph_release(g);
}

TEST(vmap_of_grad_of_while_runs_every_example_its_own_number_of_times) {
    mica_value a, x, y;
    mica_graph *g = build_growth(&a, &x, &y), *batched = NULL;
    mica_value inputs[] = {a, x}, d[2];
    mica_gradient(g, y, inputs, 2, d);
    mica_output(g, d[0]);
    mica_output(g, d[1]);
    mica_output(g, tangent(g, d[0], a, number(g, 1)));
    mica_output(g, gradient(g, d[0], a));
    const int32_t in_axes[] = {0, 0}, out_axes[] = {0, 0, 0, 0};
    CHECK_OK(mica_vmap(g, in_axes, out_axes, 4, NULL, &batched));
    double at[] = {2, 3, 1.5, 2}, start[] = {3, 1, 40, 500}, da[4], dx[4], daa[4], back[4];
    const void *in[] = {at, start};
    void *out[] = {da, dx, daa, back};
    if (batched && EVALUATE(batched, in, out))
        for (int i = 0; i < 4; i++) {
            double n = 0;
            for (double v = start[i]; v < 100; v *= at[i]) n++;
            CHECK_NEAR(da[i], n * start[i] * pow(at[i], n - 1), 1e-9);
            CHECK_NEAR(dx[i], pow(at[i], n), 1e-9);
            CHECK_NEAR(daa[i], n * (n - 1) * start[i] * pow(at[i], n - 2), 1e-9);
            CHECK_NEAR(back[i], daa[i], 1e-9);
        }
    mica_graph_release(batched);
    mica_graph_release(g);
}

TEST(grad_of_vmap_of_while_agrees) {
    mica_value a, x, y;
    mica_graph *g = build_growth(&a, &x, &y), *batched = NULL;
    mica_output(g, y);
    const int32_t in_axes[] = {MICA_UNMAPPED, 0}, out_axes[] = {0};
    CHECK_OK(mica_vmap(g, in_axes, out_axes, 3, NULL, &batched));
    mica_graph *whole = new_graph("whole");
    mica_value p[] = {scalar_parameter(whole), vector_parameter(whole, 3)}, ys = MICA_NULL_VALUE,
               d[2];
    if (batched) mica_inline(whole, batched, p, 2, &ys);
    mica_gradient(whole, mica_sum(whole, ys, MICA_INTS(0)), p, 2, d);
    mica_output(whole, d[0]);
    mica_output(whole, d[1]);
    double at = 2, start[] = {3, 40, 1}, da = NAN, dx[3], want = 0;
    const void *in[] = {&at, start};
    void *out[] = {&da, dx};
    if (EVALUATE(whole, in, out)) {
        for (int i = 0; i < 3; i++) {
            double n = 0;
            for (double v = start[i]; v < 100; v *= at) n++;
            want += n * start[i] * pow(at, n - 1);
            CHECK_NEAR(dx[i], pow(at, n), 1e-9);
        }
        CHECK_NEAR(da, want, 1e-9);
    }
    mica_graph_release(whole);
    mica_graph_release(batched);
    mica_graph_release(g);
}

/* ---- nesting ----------------------------------------------------------------------------------
 * outer: while x < limit: x = inner(x); inner: while v < 4: v = a v, from v = 1; x = x v. With a =
 * 2 inner's v is a^2 and every outer step multiplies by a^2. */

static mica_graph *inner_condition(void) {
    mica_graph *g = new_graph("inner_condition");
    scalar_parameter(g);
    mica_value v = scalar_parameter(g);
    mica_output(g, mica_compare(g, v, number(g, 3.9), "lt"));
    return g;
}

static mica_graph *inner_body(void) {
    mica_graph *g = new_graph("inner_body");
    mica_value a = scalar_parameter(g), v = scalar_parameter(g);
    mica_output(g, mica_mul(g, a, v));
    return g;
}

static mica_value inner_loop(mica_graph *g, mica_value a) {
    mica_graph *condition = inner_condition(), *body = inner_body();
    mica_value operands[] = {a, number(g, 1)}, v;
    mica_while(g, condition, body, operands, 2, 1, &v);
    mica_graph_release(condition);
    mica_graph_release(body);
    return v;
}

TEST(a_while_inside_a_while_has_derivatives_of_both_orders) {
    mica_graph *g = new_graph("nested"), *body = new_graph("outer"), *condition = below_limit(3);
    scalar_parameter(body);
    mica_value inner_a = scalar_parameter(body), inner_x = scalar_parameter(body);
    mica_output(body, mica_mul(body, inner_x, inner_loop(body, inner_a)));
    mica_value a = scalar_parameter(g), x = scalar_parameter(g), y;
    mica_value operands[] = {number(g, 100), a, x};
    mica_while(g, condition, body, operands, 3, 2, &y);
    mica_value first = gradient(g, y, a);
    mica_output(g, y);
    mica_output(g, first);
    mica_output(g, gradient(g, first, a));
    mica_output(g, tangent(g, y, a, number(g, 1)));
    double at = 2, start = 3, d[4] = {NAN, NAN, NAN, NAN};
    const void *in[] = {&at, &start};
    void *out[] = {&d[0], &d[1], &d[2], &d[3]};
    EVALUATE(g, in, out); /* 3, 12, 48, 192: three steps, y = x a^6 */
    CHECK_NEAR(d[0], 192, 1e-9);
    CHECK_NEAR(d[1], 6 * 3 * 32, 1e-9);
    CHECK_NEAR(d[2], 30 * 3 * 16, 1e-9);
    CHECK_NEAR(d[3], 6 * 3 * 32, 1e-9);
    mica_graph_release(condition);
    mica_graph_release(body);
    mica_graph_release(g);
}

/* A while inside a scan: y = product over i of (x_i v), v = a^2. */
TEST(a_while_inside_a_scan_has_derivatives_of_both_orders) {
    mica_graph *g = new_graph("nested"), *body = new_graph("step");
    mica_value inner_a = scalar_parameter(body), h = scalar_parameter(body),
               inner_x = scalar_parameter(body);
    mica_output(body, mica_mul(body, mica_mul(body, h, inner_x), inner_loop(body, inner_a)));
    mica_value a = scalar_parameter(g), x = vector_parameter(g, 3), y;
    mica_value operands[] = {a, number(g, 1), x};
    mica_scan(g, body, operands, 3, 1, 1, 3, false, &y);
    mica_value first = gradient(g, y, a);
    mica_output(g, first);
    mica_output(g, gradient(g, y, x));
    mica_output(g, gradient(g, first, a));
    double at = 2, d = NAN, dx[3], dd = NAN;
    const void *in[] = {&at, xs0};
    void *out[] = {&d, dx, &dd};
    EVALUATE(g, in, out);
    CHECK_NEAR(d, 6 * 32 * 5 * 7 * 11, 1e-9);
    CHECK_NEAR(dx[1], 64 * 5 * 11, 1e-9);
    CHECK_NEAR(dd, 30 * 16 * 5 * 7 * 11, 1e-9);
    mica_graph_release(body);
    mica_graph_release(g);
}
