/* Gradients of loops that stay on the host: first and second order, forward mode, failures. */
#include "test.h"
#include "tf/gradient/function.h"

static mica_device *device;

static mica_tf_value tensor_of(const float *data, int64_t n, int32_t rank) {
    mica_type type = mica_type_scalar(MICA_DTYPE_f32);
    if (rank) type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(n));
    mica_tensor *tensor = NULL;
    CHECK_OK(mica_tensor_from_host(device, &type, data, &tensor));
    return mica_tf_value_of(tensor);
}

static float element(mica_tf_value value, int32_t i) {
    float data[16] = {0};
    CHECK_OK(
        mica_tensor_to_host(value.object, data, mica_type_bytes(mica_tensor_type(value.object))));
    return data[i];
}

static mica_tf_ref add1(mica_tf_graph *g, mica_tf_op op, const mica_tf_attr *attrs, mica_tf_ref x) {
    mica_tf_ref out = {-1, 0};
    CHECK_OK(mica_tf_graph_add(g, op, attrs, &x, 1, NULL, &out));
    return out;
}

static mica_tf_ref add2(mica_tf_graph *g, mica_tf_op op, mica_tf_ref x, mica_tf_ref y) {
    mica_tf_ref out = {-1, 0}, both[2] = {x, y};
    CHECK_OK(mica_tf_graph_add(g, op, NULL, both, 2, NULL, &out));
    return out;
}

static mica_tf_ref vector_parameter(mica_tf_graph *g) {
    mica_tf_shape any = {.rank = 1, .dims = {-1}};
    mica_tf_ref x = {-1, 0};
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_float32, &any, "x", &x));
    return x;
}

/* x * x * (how many elements are not zero): the count is made on the host. */
static mica_tf_graph *make_body(void) {
    mica_tf_graph *g = NULL;
    CHECK_OK(mica_tf_graph_create("body", &g));
    mica_tf_ref x = vector_parameter(g), limit = vector_parameter(g);
    mica_tf_attr types[MICA_TF_MAX_ATTRS] = {{.as.integer = MICA_TF_int32},
                                             {.as.integer = MICA_TF_float32}};
    mica_tf_attr size[MICA_TF_MAX_ATTRS] = {{.as.integer = MICA_TF_int64},
                                            {.as.integer = MICA_TF_int32}};
    mica_tf_ref count = add1(g, MICA_TF_Size, size, add1(g, MICA_TF_Where, NULL, x));
    count = add1(g, MICA_TF_Cast, types, count);
    CHECK_OK(mica_tf_graph_output(g, add2(g, MICA_TF_Mul, add2(g, MICA_TF_Mul, x, x), count)));
    CHECK_OK(mica_tf_graph_output(g, limit));
    return g;
}

static mica_tf_graph *make_condition(void) {
    mica_tf_graph *g = NULL;
    CHECK_OK(mica_tf_graph_create("condition", &g));
    mica_tf_ref x = vector_parameter(g), limit = vector_parameter(g);
    mica_tf_ref less = add2(g, MICA_TF_Less, x, limit);
    mica_type type = mica_type_make(MICA_DTYPE_i32, MICA_INTS(1));
    mica_tensor *axis = NULL;
    CHECK_OK(mica_tensor_from_host(device, &type, (int32_t[]){0}, &axis));
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{.as.value = mica_tf_value_of(axis)},
                                             {.as.integer = MICA_TF_int32}};
    mica_tf_ref zero = {-1, 0};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Const, attrs, NULL, 0, NULL, &zero));
    mica_tensor_release(axis);
    CHECK_OK(mica_tf_graph_output(g, add2(g, MICA_TF_All, less, zero)));
    return g;
}

/* while all x < limit: x = 2 x^2, for a vector of two */
static mica_tf_graph *make_loop(void) {
    mica_tf_graph *g = NULL, *body = make_body(), *condition = make_condition();
    CHECK_OK(mica_tf_graph_create("loop", &g));
    mica_tf_ref inputs[2] = {vector_parameter(g), vector_parameter(g)}, first = {-1, 0};
    const int64_t types[2] = {MICA_TF_float32, MICA_TF_float32};
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {
        {.n = 2, .as.ints = types}, {.as.function = condition}, {.as.function = body}, {0}, {0}};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_StatelessWhile, attrs, inputs, 2, NULL, &first));
    CHECK_OK(mica_tf_graph_output(g, first));
    mica_tf_graph_release(body);
    mica_tf_graph_release(condition);
    return g;
}

static void begin(void) {
    CHECK_OK(mica_device_open("cpu", &device));
}

static void end(void) {
    mica_device_release(device);
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

/* The function of (inputs, cotangents) that the forward and backward functions make. */
static mica_tf_graph *gradient_of(const mica_tf_graph *g) {
    mica_tf_graph *forward = NULL, *backward = NULL, *whole = NULL;
    uint8_t wanted[8] = {1}, connected[8] = {0};
    mica_tf_wish wish = {.wanted = wanted};
    CHECK_OK(mica_tf_derive(g, &wish, connected, &forward, &backward));
    CHECK(connected[0] && !connected[1]);
    CHECK_OK(mica_tf_graph_create("gradient", &whole));
    mica_tf_ref refs[32], arguments[32], result;
    int32_t n = g->n_parameters;
    for (int32_t i = 0; i <= n; i++) arguments[i] = vector_parameter(whole);
    mica_tf_copier copier = {.to = whole};
    CHECK_OK(mica_tf_copy_function(&copier, forward, arguments, refs));
    refs[0] = arguments[n]; /* in place of the output, its cotangent */
    CHECK_OK(mica_tf_copy_function(&copier, backward, refs, &result));
    CHECK_OK(mica_tf_graph_output(whole, result));
    mica_tf_graph_release(forward);
    mica_tf_graph_release(backward);
    return whole;
}

static void check_run(mica_tf_graph *g, int32_t n, float first, float second) {
    mica_tf_value inputs[4], out = {0};
    inputs[0] = tensor_of((float[]){0.6f, 0.7f}, 2, 1);
    inputs[1] = tensor_of((float[]){1.5f, 1.5f}, 2, 1);
    for (int32_t i = 2; i < n; i++) inputs[i] = tensor_of((float[]){1, 1}, 2, 1);
    CHECK_OK(mica_tf_graph_run(g, device, inputs, n, &out, 1));
    CHECK_NEAR(element(out, 0), first, 1e-4f * first);
    CHECK_NEAR(element(out, 1), second, 1e-4f * second);
    mica_tf_value_release(out);
    for (int32_t i = 0; i < n; i++) mica_tf_value_release(inputs[i]);
}

/* 0.7 -> 0.98 -> 1.9208: two iterations, y = 8 x^4 */
TEST(a_loop_on_the_host_has_gradients_of_any_order) {
    begin();
    mica_tf_graph *loop = make_loop(), *first = gradient_of(loop), *second = gradient_of(first);
    mica_tf_graph *third = gradient_of(second);
    check_run(loop, 2, 8 * 0.1296f, 8 * 0.2401f);
    check_run(first, 3, 32 * 0.216f, 32 * 0.343f);
    check_run(second, 4, 96 * 0.36f, 96 * 0.49f);
    mica_tf_graph_release(third);
    mica_tf_graph_release(second);
    mica_tf_graph_release(first);
    mica_tf_graph_release(loop);
    end();
}

/* A node Vjp or Jvp of the loop, as tapes and accumulators make them. */
static mica_tf_graph *derivative_node(mica_tf_op op, const mica_tf_graph *loop) {
    mica_tf_graph *g = NULL;
    CHECK_OK(mica_tf_graph_create("derivative", &g));
    mica_tf_ref inputs[3], out = {-1, 0};
    for (int32_t i = 0; i < 3; i++) inputs[i] = vector_parameter(g);
    const int64_t zero = 0, type = MICA_TF_float32;
    const int64_t types[3] = {MICA_TF_float32, MICA_TF_float32, MICA_TF_float32};
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{.as.operation = loop->nodes[2].operation},
                                             {.as.integer = 2},
                                             {.n = 1, .as.ints = &zero},
                                             {.n = 1, .as.ints = &zero},
                                             {.n = 3, .as.ints = types},
                                             {.n = 1, .as.ints = &type}};
    CHECK_OK(mica_tf_graph_add(g, op, attrs, inputs, 3, NULL, &out));
    CHECK_OK(mica_tf_graph_output(g, out));
    return g;
}

TEST(derivative_nodes_of_a_loop_on_the_host_are_taken_apart_when_they_run) {
    begin();
    mica_tf_graph *loop = make_loop();
    mica_tf_graph *back = derivative_node(MICA_TF_Vjp, loop);
    mica_tf_graph *ahead = derivative_node(MICA_TF_Jvp, loop);
    for (int32_t i = 0; i < 2; i++) {
        check_run(back, 3, 32 * 0.216f, 32 * 0.343f);
        check_run(ahead, 3, 32 * 0.216f, 32 * 0.343f);
    }
    mica_tf_graph_release(back);
    mica_tf_graph_release(ahead);
    mica_tf_graph_release(loop);
    end();
}

TEST(a_gradient_that_runs_out_of_memory_leaves_nothing_behind) {
    begin();
    mica_tf_graph *loop = make_loop();
    int64_t blocks = mica_memory_live_blocks();
    bool done = false;
    for (int64_t n = 1; !done && n < 3000; n++) {
        mica_tf_graph *forward = NULL, *backward = NULL;
        uint8_t wanted[2] = {1, 0}, connected[2];
        mica_memory_fail_nth(n, false);
        mica_status status = mica_tf_graph_backward(loop, wanted, connected, &forward, &backward);
        mica_memory_fail_nth(0, false);
        done = !status;
        if (status) CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY && !forward && !backward);
        mica_status_release(status);
        mica_tf_graph_release(forward);
        mica_tf_graph_release(backward);
        CHECK(mica_memory_live_blocks() == blocks);
    }
    CHECK(done);
    mica_tf_graph_release(loop);
    end();
}
