/* The passes: what they remove, what they must keep, and how they are chosen. */
#include "base/platform.h"
#include "base/selection.h"
#include "compile/passes.h"
#include "mica/runtime.h"
#include "mica/transform.h"
#include "test.h"

static mica_graph *new_graph(const char *name) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create(name, &g));
    return g;
}

static mica_value parameter_of(mica_graph *g, int64_t n) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(n));
    return mica_parameter(g, &type);
}

/* Nodes of one op, regions included. */
static int count(const mica_graph *g, mica_op op) {
    int n = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        n += g->nodes[i]->op == op;
        for (int32_t k = 0; k < g->nodes[i]->n_regions; k++)
            n += count(g->nodes[i]->regions[k], op);
    }
    return n;
}

static int count_all(const mica_graph *g) {
    return g->n_nodes - g->n_parameters;
}

/* The graph after all passes; releases g. */
static mica_graph *after(mica_graph *g, const char *selection) {
    mica_graph *result = NULL;
    CHECK_OK(mica_passes_run(g, selection, false, &result));
    if (result) CHECK_OK(mica_graph_verify(result));
    mica_graph_release(g);
    return result;
}

TEST(what_nothing_uses_is_removed) {
    mica_graph *g = new_graph("dead");
    mica_value x = parameter_of(g, 3);
    mica_exp(g, mica_tanh(g, x));
    mica_output(g, mica_neg(g, x));
    g = after(g, NULL);
    CHECK(count_all(g) == 1);
    CHECK(mica_graph_parameter_count(g) == 1);
    mica_graph_release(g);
}

TEST(equal_nodes_become_one) {
    mica_graph *g = new_graph("equal");
    mica_value x = parameter_of(g, 3);
    mica_value a = mica_exp(g, mica_mul(g, x, mica_full_like(g, x, 2)));
    mica_value b = mica_exp(g, mica_mul(g, x, mica_full_like(g, x, 2)));
    mica_output(g, mica_sub(g, a, b));
    mica_output(g, mica_sum(g, a, MICA_INTS(0)));
    mica_output(g, mica_sum(g, b, MICA_INTS(0)));
    g = after(g, NULL);
    CHECK(count(g, MICA_OP_exp) == 1);
    CHECK(count(g, MICA_OP_mul) == 1);
    CHECK(count(g, MICA_OP_reduce) == 1);
    CHECK(count(g, MICA_OP_constant) == 1);
    mica_graph_release(g);
}

TEST(nodes_that_differ_in_an_attribute_stay_apart) {
    mica_graph *g = new_graph("different");
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, 2));
    mica_value x = mica_parameter(g, &type);
    mica_output(g, mica_reduce(g, x, "sum", MICA_INTS(0)));
    mica_output(g, mica_reduce(g, x, "sum", MICA_INTS(1)));
    mica_output(g, mica_reduce(g, x, "max", MICA_INTS(1)));
    mica_output(g, mica_scalar(g, MICA_DTYPE_f32, 0.0));
    mica_output(g, mica_scalar(g, MICA_DTYPE_f32, -0.0));
    g = after(g, NULL);
    CHECK(count(g, MICA_OP_reduce) == 3);
    CHECK(count(g, MICA_OP_constant) == 2);
    mica_graph_release(g);
}

TEST(a_barrier_keeps_equal_values_apart) {
    mica_graph *g = new_graph("fence");
    mica_value x = parameter_of(g, 3), fenced;
    mica_barrier(g, &x, 1, &fenced);
    mica_output(g, mica_exp(g, x));
    mica_output(g, mica_exp(g, fenced));
    g = after(g, NULL);
    CHECK(count(g, MICA_OP_exp) == 2);
    CHECK(count(g, MICA_OP_barrier) == 1);
    mica_graph_release(g);
}

TEST(what_remat_recomputes_is_computed_again) {
    mica_graph *g = new_graph("remat"), *body = new_graph("body");
    mica_value b = parameter_of(body, 3);
    mica_output(body, mica_exp(body, mica_tanh(body, b)));
    mica_value x = parameter_of(g, 3), y, gradient;
    mica_remat(g, body, &x, 1, &y);
    mica_gradient(g, mica_sum(g, y, MICA_INTS(0)), &x, 1, &gradient);
    mica_output(g, y);
    mica_output(g, gradient);
    mica_graph_release(body);
    g = after(g, NULL);
    CHECK(count(g, MICA_OP_remat) == 0);
    CHECK(count(g, MICA_OP_tanh) == 2);
    mica_graph_release(g);
}

/* Results of nodes outside of regions that are f32 and at least so large. */
static int count_large(const mica_graph *g, int64_t elements) {
    int n = 0;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; k < g->nodes[i]->n_results; k++) {
            const mica_type *type = &g->nodes[i]->results[k];
            n += type->dtype == MICA_DTYPE_f32 && mica_type_elements(type) >= elements;
        }
    return n;
}

/* x - its mean, of f32 that is made from `dtype`, and its second moment. */
static mica_graph *fused_moments(mica_dtype dtype) {
    mica_graph *g = new_graph("moments"), *result = NULL;
    mica_type type = mica_type_make(dtype, MICA_INTS(100, 64));
    mica_value x = mica_convert(g, mica_parameter(g, &type), MICA_DTYPE_f32);
    mica_value sum = mica_reduce(g, x, "sum", MICA_INTS(0));
    mica_value centred = mica_sub(g, x, mica_broadcast(g, sum, MICA_INTS(100, 64), MICA_INTS(1)));
    mica_value squares = mica_reduce(g, mica_mul(g, centred, centred), "sum", MICA_INTS(0));
    mica_value scaled =
        mica_mul(g, centred, mica_broadcast(g, squares, MICA_INTS(100, 64), MICA_INTS(1)));
    mica_output(g, mica_convert(g, scaled, MICA_DTYPE_bf16));
    CHECK_OK(mica_passes_run(g, NULL, true, &result));
    CHECK_OK(mica_graph_verify(result));
    mica_graph_release(g);
    return result;
}

TEST(what_is_cheap_and_made_from_half_precision_is_made_again_by_each_kernel) {
    mica_graph *half = fused_moments(MICA_DTYPE_bf16), *wide = fused_moments(MICA_DTYPE_f64);
    CHECK(count_large(half, 6400) == 0);
    CHECK(count(half, MICA_OP_sub) == 2);
    CHECK(count_large(wide, 6400) > 0); /* eight bytes would be read for four */
    mica_graph_release(half);
    mica_graph_release(wide);
}

TEST(operations_that_change_nothing_vanish) {
    mica_graph *g = new_graph("nothing");
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, 3));
    mica_value x = mica_parameter(g, &type), y = x;
    y = mica_reshape(g, mica_reshape(g, y, MICA_INTS(6)), MICA_INTS(2, 3));
    y = mica_transpose(g, mica_transpose(g, y, MICA_INTS(1, 0)), MICA_INTS(1, 0));
    y = mica_convert(g, y, MICA_DTYPE_f32);
    y = mica_neg(g, mica_neg(g, y));
    y = mica_mul(g, y, mica_full_like(g, y, 1));
    y = mica_add(g, y, mica_full_like(g, y, -0.0));
    y = mica_sub(g, y, mica_zeros_like(g, y));
    y = mica_slice(g, y, MICA_INTS(0, 0), MICA_INTS(2, 3), MICA_INTS(1, 1));
    y = mica_concat(g, &y, 1, 0);
    mica_output(g, y);
    g = after(g, NULL);
    CHECK(count_all(g) == 0);
    mica_graph_release(g);
}

TEST(operations_that_change_bits_stay) {
    mica_graph *g = new_graph("something");
    mica_value x = parameter_of(g, 3), zero = mica_zeros_like(g, x);
    mica_output(g, mica_add(g, x, zero)); /* -0 + 0 is 0 */
    mica_output(g, mica_mul(g, x, zero)); /* NaN, infinity, -0 */
    mica_output(g, mica_sub(g, x, x));
    mica_output(g, mica_sub(g, x, mica_full_like(g, x, -0.0)));
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(3, 3));
    mica_value square = mica_parameter(g, &type);
    mica_output(g, mica_transpose(g, square, MICA_INTS(1, 0)));
    mica_output(g, mica_slice(g, square, MICA_INTS(0, 0), MICA_INTS(3, 3), MICA_INTS(1, 2)));
    g = after(g, NULL);
    CHECK(count(g, MICA_OP_add) == 1);
    CHECK(count(g, MICA_OP_mul) == 1);
    CHECK(count(g, MICA_OP_sub) == 2);
    CHECK(count(g, MICA_OP_transpose) == 1);
    CHECK(count(g, MICA_OP_slice) == 1);
    mica_graph_release(g);
}

static mica_status say_nothing(void *context, const void *const *inputs, const mica_type *in_types,
                               int32_t n_inputs, void *const *outputs, const mica_type *out_types,
                               int32_t n_outputs) {
    (void)context, (void)inputs, (void)in_types, (void)n_inputs, (void)outputs, (void)out_types,
        (void)n_outputs;
    return NULL;
}

TEST(effects_stay_though_nothing_uses_them) {
    int64_t function = mica_host_function_register(say_nothing, NULL);
    mica_graph *g = new_graph("effects"), *body = new_graph("body");
    mica_value b = parameter_of(body, 3), out[1];
    mica_callback(body, "say", function, mica_token(body), &b, 1, (mica_types){NULL, 0}, out);
    mica_output(body, b);
    mica_value x = parameter_of(g, 3), y;
    mica_callback(g, "say", function, mica_token(g), &x, 1, (mica_types){NULL, 0}, out);
    mica_scan(g, body, &x, 1, 0, 1, 2, false, &y);
    mica_output(g, x);
    mica_graph_release(body);
    g = after(g, NULL);
    CHECK(count(g, MICA_OP_callback) == 2);
    mica_graph_release(g);
    mica_host_function_unregister(function);
}

TEST(calls_are_inlined_everywhere) {
    mica_graph *g = new_graph("calls"), *inner = new_graph("inner"), *outer = new_graph("outer"),
               *body = new_graph("body");
    mica_output(inner, mica_exp(inner, parameter_of(inner, 3)));
    mica_value v = parameter_of(outer, 3), x, y;
    mica_call(outer, "inner", "", inner, "", NULL, &v, 1, &y);
    mica_output(outer, mica_neg(outer, y));
    v = parameter_of(body, 3);
    mica_call(body, "outer", "", outer, "", NULL, &v, 1, &y);
    mica_output(body, y);
    x = parameter_of(g, 3);
    mica_scan(g, body, &x, 1, 0, 1, 2, false, &y);
    mica_call(g, "outer", "", outer, "", NULL, &y, 1, &x);
    mica_output(g, x);
    mica_graph_release(inner);
    mica_graph_release(outer);
    mica_graph_release(body);
    mica_graph *kept = NULL;
    CHECK_OK(mica_passes_run(g, "-inline", false, &kept));
    CHECK(count(kept, MICA_OP_call) > 0);
    mica_graph_release(kept);
    g = after(g, NULL);
    CHECK(count(g, MICA_OP_call) == 0);
    CHECK(count(g, MICA_OP_exp) == 2);
    mica_graph_release(g);
}

TEST(passes_are_skipped_by_name) {
    mica_graph *g = new_graph("skip"), *out = NULL;
    mica_value x = parameter_of(g, 3);
    mica_output(g, mica_neg(g, mica_neg(g, x)));
    CHECK_OK(mica_passes_run(g, "-simplify", false, &out));
    CHECK(count(out, MICA_OP_neg) == 2);
    mica_graph_release(out);
    CHECK_FAILS(mica_passes_run(g, "-simplfy", false, &out), MICA_INVALID_ARGUMENT, "'-simplfy'");
    CHECK_FAILS(mica_passes_run(g, "simplify", false, &out), MICA_INVALID_ARGUMENT, "[passes]");
    CHECK(mica_selection_has("-inline,-plan", "simplify"));
    CHECK(!mica_selection_has("-inline,-plan", "plan"));
    mica_graph_release(g);
}

static void remember(void *context, const char *topic, const char *line) {
    if (strcmp(topic, "pass") == 0 && strstr(line, "tanh")) ++*(int *)context;
}

TEST(passes_show_the_graph_when_asked) {
    int lines = 0;
    mica_set_log(remember, &lines);
    setenv("MICA_LOG", "pass", 1);
    mica_shutdown(); /* reads the environment again */
    mica_graph *g = new_graph("shown");
    mica_output(g, mica_tanh(g, parameter_of(g, 3)));
    g = after(g, NULL);
    CHECK(lines >= 3);
    mica_graph_release(g);
    unsetenv("MICA_LOG");
    mica_shutdown();
}

TEST(every_allocation_of_the_passes_may_fail) {
    mica_graph *g = new_graph("step"), *body = new_graph("body");
    mica_value b = parameter_of(body, 3), x = parameter_of(g, 3), y, gradient;
    mica_output(body, mica_tanh(body, mica_mul(body, b, b)));
    mica_scan(g, body, &x, 1, 0, 1, 4, false, &y);
    mica_gradient(g, mica_sum(g, y, MICA_INTS(0)), &x, 1, &gradient);
    mica_output(g, gradient);
    mica_graph_release(body);
    int64_t live = mica_memory_live_blocks(), n = 1;
    for (bool done = false; !done; n++) {
        mica_graph *out = NULL;
        int64_t first = mica_memory_total_allocations();
        mica_memory_fail_nth(n, n % 2);
        mica_status status = mica_passes_run(g, NULL, false, &out);
        mica_memory_fail_nth(0, false);
        done = mica_memory_total_allocations() - first < n;
        CHECK((out == NULL) == (status != NULL));
        mica_status_release(status);
        mica_graph_release(out);
        CHECK(mica_memory_live_blocks() == live);
    }
    CHECK(n > 50);
    mica_graph_release(g);
}

/* ---- contractions -----------------------------------------------------------------------------*/

static mica_value matrix(mica_graph *g, int64_t n, int64_t m) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(n, m));
    return mica_parameter(g, &type);
}

static mica_graph *contracted(mica_graph *g) {
    mica_graph *result = NULL;
    CHECK_OK(mica_pass_contract(g, &result));
    if (result) CHECK_OK(mica_graph_verify(result));
    mica_graph_release(g);
    return result;
}

TEST(transposes_become_axes_of_a_dot) {
    mica_graph *g = new_graph("transposed");
    mica_value x = matrix(g, 3, 4), y = matrix(g, 5, 3);
    mica_output(g, mica_matmul(g, mica_transpose(g, x, MICA_INTS(1, 0)),
                               mica_transpose(g, y, MICA_INTS(1, 0))));
    g = after(g, NULL);
    CHECK(count(g, MICA_OP_transpose) == 0);
    CHECK(count_all(g) == 1);
    const mica_type *type = mica_value_type(g->outputs[0]);
    CHECK(type->dims[0] == 4 && type->dims[1] == 5);
    mica_graph_release(g);
}

TEST(a_transpose_that_orders_the_result_stays) {
    mica_graph *g = new_graph("kept");
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, 3, 4));
    mica_value x = mica_parameter(g, &type), y = matrix(g, 4, 5);
    mica_output(g, mica_matmul(g, mica_transpose(g, x, MICA_INTS(1, 0, 2)), y));
    g = after(g, NULL);
    CHECK(count(g, MICA_OP_transpose) == 1);
    mica_graph_release(g);
}

TEST(bias_activation_and_residual_join_their_product) {
    mica_graph *g = new_graph("dense");
    mica_value x = matrix(g, 8, 16), w = matrix(g, 16, 4), b = parameter_of(g, 4);
    mica_value r = mica_exp(g, matrix(g, 8, 4));
    mica_value z = mica_add(g, mica_matmul(g, x, w), b);
    mica_output(g, mica_add(g, mica_tanh(g, z), r));
    g = contracted(g);
    CHECK(count(g, MICA_OP_call) == 1);
    CHECK(count_all(g) <= 3); /* the call, exp, and a broadcast that nothing uses any more */
    mica_graph_release(g);
}

/* The second moment of an optimizer needs the gradient itself: two products of it are no better. */
TEST(a_product_is_not_stored_in_two_forms) {
    mica_graph *g = new_graph("adam");
    mica_value x = matrix(g, 8, 16), w = matrix(g, 16, 4);
    mica_value m = matrix(g, 8, 4), v = matrix(g, 8, 4), d = mica_matmul(g, x, w);
    mica_output(g, mica_add(g, m, mica_mul(g, d, mica_full_like(g, d, 0.1))));
    mica_output(g, mica_add(g, v, mica_mul(g, d, d)));
    g = contracted(g);
    CHECK(count(g, MICA_OP_call) == 0);
    mica_graph_release(g);
}
