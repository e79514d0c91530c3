/* Derivatives through cond, case, call, custom_gradient, remat and lists. */
#include "calculus.h"

/* x -> x^n, in a region of one parameter */
static mica_graph *power(int n) {
    mica_graph *g = new_graph("power");
    mica_value x = scalar_parameter(g), y = x;
    for (int i = 1; i < n; i++) y = mica_mul(g, y, x);
    mica_output(g, y);
    return g;
}

TEST(the_gradient_through_cond_is_that_of_the_branch_taken) {
    mica_graph *g = new_graph("cond"), *square = power(2), *cube = power(3);
    mica_value x = scalar_parameter(g), y;
    mica_cond(g, mica_compare(g, x, number(g, 0), "gt"), square, cube, &x, 1, &y);
    mica_value first = gradient(g, y, x);
    mica_output(g, first);
    CHECK_NEAR(VALUE_AT(g, 2), 4, 0);
    CHECK_NEAR(VALUE_AT(g, -2), 12, 0);
    mica_graph *h = new_graph("more");
    mica_value p = scalar_parameter(h), q;
    mica_cond(h, mica_compare(h, p, number(h, 0), "gt"), square, cube, &p, 1, &q);
    mica_value d = gradient(h, q, p);
    mica_output(h, gradient(h, gradient(h, d, p), p));
    mica_output(h, tangent(h, d, p, number(h, 1)));
    mica_output(h, tangent(h, q, p, number(h, 1)));
    double at[] = {2, -2}, want[][3] = {{0, 2, 4}, {6, -12, 12}}, got[3];
    for (int i = 0; i < 2; i++) {
        const void *in[] = {&at[i]};
        void *out[] = {&got[0], &got[1], &got[2]};
        EVALUATE(h, in, out);
        for (int k = 0; k < 3; k++) CHECK_NEAR(got[k], want[i][k], 0);
    }
    mica_graph_release(h);
    mica_graph_release(square);
    mica_graph_release(cube);
    mica_graph_release(g);
}

TEST(the_gradient_through_case_is_that_of_the_branch_taken) {
    mica_graph *g = new_graph("case"), *branches[] = {power(1), power(2), power(3)};
    mica_value x = scalar_parameter(g), y;
    mica_case(g, mica_convert(g, x, MICA_DTYPE_i32), branches, 3, &x, 1, &y);
    mica_output(g, gradient(g, y, x));
    CHECK_NEAR(VALUE_AT(g, 0.5), 1, 0);
    CHECK_NEAR(VALUE_AT(g, 1.5), 3, 0);
    CHECK_NEAR(VALUE_AT(g, 2.5), 18.75, 0);
    CHECK_NEAR(VALUE_AT(g, 4), 48, 0);
    for (int i = 0; i < 3; i++) mica_graph_release(branches[i]);
    mica_graph_release(g);
}

TEST(a_branch_that_does_not_depend_on_the_input_gives_zero) {
    mica_graph *g = new_graph("cond"), *square = power(2), *fixed = new_graph("fixed");
    scalar_parameter(fixed);
    mica_output(fixed, number(fixed, 7));
    mica_value x = scalar_parameter(g), y;
    mica_cond(g, mica_compare(g, x, number(g, 0), "gt"), square, fixed, &x, 1, &y);
    mica_output(g, gradient(g, y, x));
    CHECK_NEAR(VALUE_AT(g, 2), 4, 0);
    CHECK_NEAR(VALUE_AT(g, -2), 0, 0);
    mica_graph_release(square);
    mica_graph_release(fixed);
    mica_graph_release(g);
}

/* ---- scan inside cond inside while -------------------------------------------------------------
 * while x < 100: x = (x < 10 ? product of three times w : w) x */

static mica_graph *scan_branch(void) {
    mica_graph *g = new_graph("three_times"), *step = new_graph("step");
    mica_value step_w = scalar_parameter(step), h = scalar_parameter(step);
    mica_output(step, mica_mul(step, step_w, h));
    mica_value w = scalar_parameter(g), x = scalar_parameter(g), y;
    mica_value operands[] = {w, x};
    mica_scan(g, step, operands, 2, 1, 1, 3, false, &y);
    mica_output(g, y);
    mica_graph_release(step);
    return g;
}

static mica_graph *plain_branch(void) {
    mica_graph *g = new_graph("once");
    mica_value w = scalar_parameter(g), x = scalar_parameter(g);
    mica_output(g, mica_mul(g, w, x));
    return g;
}

static mica_graph *nested(mica_value *w, mica_value *x, mica_value *y) {
    mica_graph *g = new_graph("nested"), *condition = new_graph("condition");
    mica_graph *body = new_graph("body"), *a = scan_branch(), *b = plain_branch();
    scalar_parameter(condition);
    mica_value v = scalar_parameter(condition);
    mica_output(condition, mica_compare(condition, v, number(condition, 100), "lt"));
    mica_value inside[] = {scalar_parameter(body), scalar_parameter(body)}, out;
    mica_cond(body, mica_compare(body, inside[1], number(body, 10), "lt"), a, b, inside, 2, &out);
    mica_output(body, out);
    *w = scalar_parameter(g);
    *x = scalar_parameter(g);
    mica_value operands[] = {*w, *x};
    mica_while(g, condition, body, operands, 2, 1, y);
    mica_graph_release(condition);
    mica_graph_release(body);
    mica_graph_release(a);
    mica_graph_release(b);
    return g;
}

TEST(a_scan_inside_a_cond_inside_a_while_has_derivatives_in_every_mode) {
    mica_value w, x, y;
    mica_graph *g = nested(&w, &x, &y);
    mica_value one = number(g, 1), first = gradient(g, y, w);
    mica_output(g, first);
    mica_output(g, gradient(g, first, w));
    mica_output(g, tangent(g, y, w, one));
    mica_output(g, tangent(g, first, w, one));
    mica_output(g, gradient(g, tangent(g, y, w, one), w));
    double at = 2, start = 5, d[5]; /* 5, 40, 80, 160: w^5 x */
    const void *in[] = {&at, &start};
    void *out[] = {&d[0], &d[1], &d[2], &d[3], &d[4]};
    EVALUATE(g, in, out);
    CHECK_NEAR(d[0], 5 * 16 * 5, 1e-9);
    CHECK_NEAR(d[1], 20 * 8 * 5, 1e-9);
    CHECK_NEAR(d[2], d[0], 1e-9);
    CHECK_NEAR(d[3], d[1], 1e-9);
    CHECK_NEAR(d[4], d[1], 1e-9);
    mica_graph_release(g);
}

TEST(vmap_of_grad_of_the_nested_loop_agrees_with_each_example) {
    mica_value w, x, y;
    mica_graph *g = nested(&w, &x, &y), *batched = NULL;
    mica_output(g, gradient(g, y, w));
    const int32_t in_axes[] = {MICA_UNMAPPED, 0}, out_axes[] = {0};
    CHECK_OK(mica_vmap(g, in_axes, out_axes, 3, NULL, &batched));
    double at = 2, start[] = {5, 50, 1}, d[3];
    const void *in[] = {&at, start};
    void *out[] = {d};
    if (batched && EVALUATE(batched, in, out)) {
        CHECK_NEAR(d[0], 5 * 16 * 5, 1e-9);
        CHECK_NEAR(d[1], 50, 1e-9);
        CHECK_NEAR(d[2], 7 * 64, 1e-9); /* 1 8 64 128: w^7 */
    }
    mica_graph_release(batched);
    mica_graph_release(g);
}

/* ---- composites -------------------------------------------------------------------------------*/

/* vjp of the square that is wrong on purpose: 10 x dy, so that its use shows */
static mica_graph *ten_times_vjp(void) {
    mica_graph *g = new_graph("ten_times");
    mica_value x = scalar_parameter(g);
    scalar_parameter(g);
    mica_value dy = scalar_parameter(g);
    mica_output(g, mica_mul(g, mica_mul(g, number(g, 10), x), dy));
    return g;
}

TEST(a_custom_gradient_is_used_in_every_mode) {
    mica_graph *g = new_graph("custom"), *square = power(2), *vjp = ten_times_vjp();
    mica_value x = scalar_parameter(g), y, one = number(g, 1);
    mica_custom_gradient(g, square, vjp, &x, 1, &y);
    mica_value first = gradient(g, y, x), forward = tangent(g, y, x, one);
    mica_output(g, first);
    mica_output(g, forward);
    mica_output(g, gradient(g, first, x));
    mica_output(g, tangent(g, first, x, one));
    mica_output(g, gradient(g, forward, x));
    double at = 3, d[5];
    const void *in[] = {&at};
    void *out[] = {&d[0], &d[1], &d[2], &d[3], &d[4]};
    EVALUATE(g, in, out);
    CHECK_NEAR(d[0], 30, 0);
    CHECK_NEAR(d[1], 30, 0);
    for (int i = 2; i < 5; i++) CHECK_NEAR(d[i], 10, 0);
    mica_graph_release(square);
    mica_graph_release(vjp);
    mica_graph_release(g);
}

static const mica_node *find_call(const mica_graph *g, const char *name) {
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->op == MICA_OP_call && !strcmp(mica_node_string(g->nodes[i], "name"), name))
            return g->nodes[i];
    return NULL;
}

TEST(a_composite_with_a_vjp_stays_whole_in_both_directions) {
    mica_graph *g = new_graph("composite"), *square = power(2), *vjp = ten_times_vjp();
    mica_value x = scalar_parameter(g), y;
    mica_call(g, "square", "", square, "square_vjp", vjp, &x, 1, &y);
    mica_value first = gradient(g, y, x);
    mica_output(g, first);
    const mica_node *forward = find_call(g, "square"), *backward = find_call(g, "square_vjp");
    CHECK(forward && forward->regions[0] == square && forward->n_results == 1);
    CHECK(backward && backward->regions[0] == vjp);
    CHECK_NEAR(VALUE_AT(g, 3), 30, 0);
    mica_graph_release(g);
    /* jvp goes through the body, and the vjp's own gradient through the vjp's body */
    g = new_graph("composite");
    x = scalar_parameter(g);
    mica_call(g, "square", "", square, "square_vjp", vjp, &x, 1, &y);
    mica_output(g, mica_add(g, tangent(g, y, x, number(g, 1)), gradient(g, gradient(g, y, x), x)));
    CHECK_NEAR(VALUE_AT(g, 3), 6 + 10, 0);
    mica_graph_release(square);
    mica_graph_release(vjp);
    mica_graph_release(g);
}

TEST(a_call_without_a_vjp_is_differentiated_through_its_body) {
    mica_graph *g = new_graph("call"), *cube = power(3);
    mica_value x = scalar_parameter(g), y, one = number(g, 1);
    mica_call(g, "cube", "", cube, NULL, NULL, &x, 1, &y);
    mica_value first = gradient(g, y, x);
    mica_output(g, first);
    mica_output(g, gradient(g, first, x));
    mica_output(g, tangent(g, y, x, one));
    mica_output(g, tangent(g, first, x, one));
    mica_output(g, gradient(g, gradient(g, first, x), x));
    mica_output(g, y);
    double at = 2, d[6];
    const void *in[] = {&at};
    void *out[] = {&d[0], &d[1], &d[2], &d[3], &d[4], &d[5]};
    EVALUATE(g, in, out);
    CHECK_NEAR(d[0], 12, 0);
    CHECK_NEAR(d[1], 12, 0);
    CHECK_NEAR(d[2], 12, 0);
    CHECK_NEAR(d[3], 12, 0);
    CHECK_NEAR(d[4], 6, 0);
    CHECK_NEAR(d[5], 8, 0);
    mica_graph_release(cube);
    mica_graph_release(g);
}

TEST(remat_changes_no_derivative) {
    mica_graph *g = new_graph("remat"), *body = new_graph("body");
    mica_value p = scalar_parameter(body), q = scalar_parameter(body);
    mica_output(body, mica_sin(body, mica_mul(body, mica_exp(body, p), q)));
    mica_value x[] = {scalar_parameter(g), scalar_parameter(g)}, y, plain, d[2], e[2];
    mica_value one = number(g, 1);
    mica_remat(g, body, x, 2, &y);
    mica_inline(g, body, x, 2, &plain);
    mica_gradient(g, y, x, 2, d);
    mica_gradient(g, plain, x, 2, e);
    mica_value pairs[][2] = {
        {d[0], e[0]},
        {d[1], e[1]},
        {gradient(g, d[0], x[1]), gradient(g, e[0], x[1])},
        {tangent(g, y, x[0], one), tangent(g, plain, x[0], one)},
        {tangent(g, d[0], x[0], one), tangent(g, e[0], x[0], one)},
        {gradient(g, gradient(g, d[0], x[1]), x[0]), gradient(g, gradient(g, e[0], x[1]), x[0])},
    };
    for (int i = 0; i < 6; i++) {
        mica_output(g, pairs[i][0]);
        mica_output(g, pairs[i][1]);
    }
    double at[] = {0.3, 0.7}, got[12];
    const void *in[] = {&at[0], &at[1]};
    void *out[12];
    for (int i = 0; i < 12; i++) out[i] = &got[i];
    if (EVALUATE(g, in, out))
        for (int i = 0; i < 6; i++) CHECK_NEAR(got[2 * i], got[2 * i + 1], 1e-13);
    mica_graph_release(body);
    mica_graph_release(g);
}

/* ---- lists ------------------------------------------------------------------------------------*/

TEST(lists_pass_cotangents_to_what_was_pushed) {
    mica_graph *g = new_graph("list");
    mica_value x[] = {scalar_parameter(g), scalar_parameter(g)}, d[2], top, second, rest;
    mica_type element = mica_type_scalar(MICA_DTYPE_f64);
    mica_value list = mica_list_empty(g, &element);
    list = mica_list_push(g, list, mica_mul(g, x[0], x[0]));
    list = mica_list_push(g, list, mica_mul(g, x[0], x[1]));
    mica_list_pop(g, list, &rest, &top);
    mica_list_pop(g, rest, &rest, &second);
    mica_value y = mica_add(g, top, mica_mul(g, second, x[1])); /* ab + a^2 b */
    mica_gradient(g, y, x, 2, d);
    mica_output(g, d[0]);
    mica_output(g, d[1]);
    mica_output(g, tangent(g, y, x[0], number(g, 1)));
    double at[] = {3, 5}, got[3];
    const void *in[] = {&at[0], &at[1]};
    void *out[] = {&got[0], &got[1], &got[2]};
    EVALUATE(g, in, out);
    CHECK_NEAR(got[0], 5 + 2 * 3 * 5, 0);
    CHECK_NEAR(got[1], 3 + 9, 0);
    CHECK_NEAR(got[2], 5 + 2 * 3 * 5, 0);
    mica_graph_release(g);
}
