/* What transforms leave behind: clean graphs of reasonable size, errors that stick, no leaks. */
#include "calculus.h"
#include "transform/transform.h"

TEST(inputs_on_which_nothing_depends_get_null_or_zeros) {
    mica_graph *g = new_graph("unconnected");
    mica_value x = scalar_parameter(g), other = vector_parameter(g, 3), d, one = number(g, 1);
    mica_value y = mica_mul(g, x, x), inputs[] = {x, other}, ds[2];
    mica_vjp(g, &y, &one, 1, inputs, 2, ds);
    CHECK(!mica_value_is_null(ds[0]) && mica_value_is_null(ds[1]));
    mica_gradient(g, y, &other, 1, &d);
    CHECK(mica_type_equal(mica_value_type(d), mica_value_type(other)));
    mica_value tangents[] = {MICA_NULL_VALUE, other};
    mica_jvp(g, &y, 1, inputs, tangents, 2, &d);
    CHECK(mica_value_is_null(d));
    CHECK_OK(mica_graph_verify(g));
    mica_graph_release(g);
}

TEST(an_inner_value_can_be_an_input) {
    mica_graph *g = new_graph("inner");
    mica_value x = scalar_parameter(g), square = mica_mul(g, x, x);
    mica_value y = mica_mul(g, square, x), inputs[] = {x, square}, d[2];
    mica_gradient(g, y, inputs, 2, d); /* square held fixed: dy/dx = square */
    mica_output(g, mica_sub(g, d[0], d[1]));
    CHECK_NEAR(VALUE_AT(g, 3), 9 - 3, 0);
    mica_graph_release(g);
}

TEST(no_placeholder_and_no_dead_node_stays) {
    mica_graph *g = new_graph("clean");
    mica_value x = scalar_parameter(g), y = mica_tanh(g, mica_mul(g, x, x));
    mica_output(g, gradient(g, y, x));
    char *text = NULL;
    CHECK_OK(mica_graph_print(g, &text));
    mica_string_free(text);
    CHECK(g->n_parameters == 1);
    int parameters = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        bool used = false;
        parameters += g->nodes[i]->op == MICA_OP_PARAMETER;
        CHECK(g->nodes[i]->id == i);
        for (int32_t k = i + 1; k < g->n_nodes; k++)
            for (int32_t j = 0; j < g->nodes[k]->n_operands; j++)
                used |= g->nodes[k]->operands[j].node == g->nodes[i];
        for (int32_t k = 0; k < g->n_outputs; k++) used |= g->outputs[k].node == g->nodes[i];
        CHECK(used || g->nodes[i]->op == MICA_OP_tanh);
    }
    CHECK(parameters == 1);
    mica_graph_release(g);
}

TEST(the_same_transform_gives_the_same_graph) {
    char *texts[2] = {NULL, NULL};
    for (int k = 0; k < 2; k++) {
        mica_graph *g = new_graph("same");
        mica_value x[6], d[6], y = number(g, 1);
        for (int i = 0; i < 6; i++) x[i] = scalar_parameter(g);
        for (int i = 0; i < 36; i++) /* every input many times: sums of cotangents */
            y = mica_add(g, mica_mul(g, y, x[i % 6]), mica_sin(g, mica_mul(g, x[i / 6], y)));
        mica_gradient(g, y, x, 6, d);
        for (int i = 0; i < 6; i++) mica_output(g, d[i]);
        CHECK_OK(mica_graph_print(g, &texts[k]));
        mica_graph_release(g);
    }
    CHECK(texts[0] && texts[1] && strcmp(texts[0], texts[1]) == 0);
    mica_string_free(texts[0]);
    mica_string_free(texts[1]);
}

TEST(three_gradients_of_a_long_chain_stay_small) {
    mica_graph *g = new_graph("chain");
    mica_value x = scalar_parameter(g), y = x;
    for (int i = 0; i < 50; i++) y = mica_sin(g, y);
    for (int order = 0; order < 3; order++) y = gradient(g, y, x);
    mica_output(g, y);
    CHECK(g->n_nodes < 5000);
    CHECK_OK(mica_graph_verify(g));
    mica_graph_release(g);
}

/* f_0 = sin; f_k(x) = f_{k-1}(x) / 2, applied `times` over */
static mica_graph *nest(int depth, int times) {
    mica_graph *f = new_graph("sine");
    mica_output(f, mica_sin(f, scalar_parameter(f)));
    for (int k = 0; k < depth; k++) {
        mica_graph *next = new_graph("nest");
        mica_value y = scalar_parameter(next);
        for (int i = 0; i < times; i++) {
            mica_call(next, "inner", "", f, NULL, NULL, &y, 1, &y);
            y = mica_mul(next, y, number(next, 0.5));
        }
        mica_output(next, y);
        mica_graph_release(f);
        f = next;
    }
    return f;
}

static double nested_value(int depth, int times, double x) {
    if (depth == 0) return sin(x);
    for (int i = 0; i < times; i++) x = nested_value(depth - 1, times, x) / 2;
    return x;
}

TEST(nested_composites_are_differentiated_once_each) {
    mica_graph *f = nest(30, 1), *g = new_graph("nested"), *batched = NULL;
    mica_value x = scalar_parameter(g), y = x;
    for (int i = 0; i < 30; i++) mica_call(g, "all", "", f, NULL, NULL, &y, 1, &y);
    mica_output(g, gradient(g, gradient(g, y, x), x));
    CHECK_OK(mica_graph_verify(g));
    CHECK(g->n_nodes < 2000);
    mica_graph_release(g);
    mica_graph_release(f);
    /* 2^10 sines in 11 graphs: forward mode and vmap make as many graphs, not as many nodes */
    f = nest(10, 2);
    g = new_graph("doubling");
    x = scalar_parameter(g);
    mica_call(g, "all", "", f, NULL, NULL, &x, 1, &y);
    mica_output(g, tangent(g, tangent(g, y, x, number(g, 1)), x, number(g, 1)));
    CHECK_OK(mica_graph_verify(g));
    const int32_t axes[] = {0};
    CHECK_OK(mica_vmap(g, axes, axes, 4, NULL, &batched));
    mica_graph_release(batched);
    mica_graph_release(g);
    mica_graph_release(f);
}

TEST(composites_that_double_without_end_are_refused) {
    mica_graph *f = nest(30, 2);
    CHECK_FAILS(mica_graph_verify(f), MICA_RESOURCE_EXHAUSTED, "call each other too often");
    mica_graph_release(f);
}

TEST(nested_composites_have_the_right_gradient) {
    mica_graph *f = nest(3, 2), *g = new_graph("nested");
    mica_value x = scalar_parameter(g), y;
    mica_call(g, "all", "", f, NULL, NULL, &x, 1, &y);
    mica_value first = gradient(g, y, x);
    mica_output(g, first);
    mica_output(g, tangent(g, y, x, number(g, 1)));
    mica_output(g, gradient(g, first, x));
    mica_output(g, tangent(g, tangent(g, y, x, number(g, 1)), x, number(g, 1)));
    double at = 0.7, h = 1e-6, d[4];
    double want = (nested_value(3, 2, at + h) - nested_value(3, 2, at - h)) / (2 * h);
    const void *in[] = {&at};
    void *out[] = {&d[0], &d[1], &d[2], &d[3]};
    EVALUATE(g, in, out);
    CHECK_NEAR(d[0], want, 1e-9);
    CHECK_NEAR(d[1], d[0], 1e-15);
    CHECK_NEAR(d[3], d[2], 1e-15);
    mica_graph_release(g);
    mica_graph_release(f);
}

TEST(wrong_arguments_give_errors_that_stick) {
    mica_graph *g = new_graph("wrong");
    mica_value x = scalar_parameter(g), v = vector_parameter(g, 3), y = mica_mul(g, x, x), d;
    mica_vjp(g, &y, &v, 1, &x, 1, &d);
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT, "[vjp] cotangent 0 is f64[3]");
    CHECK(mica_value_is_null(d));
    mica_graph_release(g);
    g = new_graph("wrong");
    x = scalar_parameter(g), v = vector_parameter(g, 3);
    mica_gradient(g, v, &x, 1, &d);
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT, "[gradient] of a float scalar");
    mica_graph_release(g);
    g = new_graph("wrong");
    x = scalar_parameter(g), v = vector_parameter(g, 3), y = mica_sin(g, x);
    mica_jvp(g, &y, 1, &x, &v, 1, &d);
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT, "[jvp] tangent 0");
    mica_graph_release(g);
}

/* ---- out of memory, everywhere ----------------------------------------------------------------*/

/* while x < 100: x = x (cond x < 10: scan of three, else call), then everything at once. */
static mica_status everything(void) {
    mica_graph *regions[7] = {0}, *g = NULL, *batched = NULL;
    mica_status status = NULL;
    for (int i = 0; i < 7 && !status; i++) status = mica_graph_create("region", &regions[i]);
    if (!status) status = mica_graph_create("everything", &g);
    if (!status) {
        mica_graph *step = regions[0], *a = regions[1], *b = regions[2], *body = regions[3],
                   *condition = regions[4], *square = regions[5], *vjp = regions[6];
        mica_value w = scalar_parameter(step), h = scalar_parameter(step), out, y, d, e;
        mica_output(step, mica_mul(step, w, mica_sin(step, h)));
        mica_value p[] = {scalar_parameter(a), scalar_parameter(a)};
        mica_scan(a, step, p, 2, 1, 1, 3, false, &out);
        mica_output(a, out);
        mica_value q = scalar_parameter(square);
        mica_output(square, mica_mul(square, q, q));
        q = scalar_parameter(vjp), scalar_parameter(vjp);
        mica_output(vjp, mica_mul(vjp, q, scalar_parameter(vjp)));
        mica_value r[] = {scalar_parameter(b), scalar_parameter(b)};
        mica_call(b, "square", "", square, "square_vjp", vjp, &r[1], 1, &out);
        mica_remat(b, square, &out, 1, &out);
        mica_output(b, out);
        mica_value s[] = {scalar_parameter(body), scalar_parameter(body)};
        mica_cond(body, mica_compare(body, s[1], number(body, 10), "lt"), a, b, s, 2, &out);
        mica_output(body, out);
        scalar_parameter(condition);
        q = scalar_parameter(condition);
        mica_output(condition, mica_compare(condition, q, number(condition, 100), "lt"));
        mica_value x[] = {scalar_parameter(g), scalar_parameter(g)};
        mica_while(g, condition, body, x, 2, 1, &y);
        mica_gradient(g, y, x, 1, &d);
        mica_gradient(g, d, x, 1, &e);
        mica_output(g, e);
        mica_output(g, tangent(g, y, x[1], number(g, 1)));
        status = mica_graph_verify(g);
        const int32_t axes[] = {0, 0};
        if (!status) status = mica_vmap(g, axes, axes, 2, "batch", &batched);
    }
    mica_graph_release(batched);
    mica_graph_release(g);
    for (int i = 0; i < 7; i++) mica_graph_release(regions[i]);
    return status;
}

TEST(every_allocation_may_fail) {
    int64_t live = mica_memory_live_blocks(), before = mica_memory_total_allocations();
    CHECK_OK(everything());
    int64_t total = mica_memory_total_allocations() - before;
    for (int64_t n = 1; n <= total; n++) {
        mica_memory_fail_nth(n, n % 2);
        mica_status status = everything();
        mica_memory_fail_nth(0, false);
        CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
        if (mica_memory_live_blocks() != live) {
            test_report(__FILE__, __LINE__, "%lld blocks leak when allocation %lld fails",
                        (long long)(mica_memory_live_blocks() - live), (long long)n);
            break;
        }
    }
    CHECK_OK(everything());
}

TEST(the_gradient_of_a_complex_scalar_is_refused) {
    mica_graph *g = new_graph("complex");
    mica_type type = mica_type_scalar(MICA_DTYPE_c64);
    mica_value z = mica_parameter(g, &type), out;
    mica_gradient(g, mica_mul(g, z, z), &z, 1, &out);
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT, "[gradient] of a float scalar only");
    CHECK(mica_value_is_null(out));
    mica_graph_release(g);
}
