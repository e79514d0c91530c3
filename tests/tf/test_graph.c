/* Graphs of TensorFlow's ops: unknown sizes, segments, effects, variables, gradients, failures. */
#include "test.h"
#include "tf/tf.h"

static mica_device *device;

static mica_tf_value vector(const float *data, int64_t n) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(n));
    mica_tensor *tensor = NULL;
    CHECK_OK(mica_tensor_from_host(device, &type, data, &tensor));
    return mica_tf_value_of(tensor);
}

static float first_of(mica_tf_value value) {
    float data[64] = {0};
    CHECK_OK(
        mica_tensor_to_host(value.object, data, mica_type_bytes(mica_tensor_type(value.object))));
    return data[0];
}

static void begin(void) {
    CHECK_OK(mica_device_open("cpu", &device));
}

static void end(void) {
    mica_device_release(device);
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

static mica_tf_ref ints_constant(mica_tf_graph *g, const int32_t *data, int64_t n) {
    mica_type type = mica_type_make(MICA_DTYPE_i32, MICA_INTS(n));
    mica_tensor *tensor = NULL;
    mica_tf_ref ref = {-1, 0};
    CHECK_OK(mica_tensor_from_host(device, &type, data, &tensor));
    mica_tf_attr attrs[2] = {{.as.value = mica_tf_value_of(tensor)}, {.as.integer = MICA_TF_int32}};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Const, attrs, NULL, 0, NULL, &ref));
    mica_tensor_release(tensor);
    return ref;
}

/* y = sum(x * x) of a vector of any length */
static mica_tf_graph *sum_of_squares(void) {
    mica_tf_graph *g = NULL;
    mica_tf_shape any = {.rank = 1, .dims = {-1}};
    mica_tf_ref x, y;
    CHECK_OK(mica_tf_graph_create("squares", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_float32, &any, "x", &x));
    mica_tf_ref both[2] = {x, x};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Mul, NULL, both, 2, NULL, &y));
    mica_tf_ref operands[2] = {y, ints_constant(g, (int32_t[]){0}, 1)};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Sum, NULL, operands, 2, NULL, &y));
    CHECK_OK(mica_tf_graph_output(g, y));
    return g;
}

TEST(one_graph_serves_all_sizes) {
    begin();
    mica_tf_graph *g = sum_of_squares();
    float data[4] = {1, 2, 3, 4};
    for (int64_t n = 1; n <= 4; n++) {
        mica_tf_value x = vector(data, n), y = {0};
        CHECK_OK(mica_tf_graph_run(g, device, &x, 1, &y, 1));
        float expected = 0;
        for (int64_t i = 0; i < n; i++) expected += data[i] * data[i];
        CHECK_NEAR(first_of(y), expected, 1e-5);
        mica_tf_value_release(x);
        mica_tf_value_release(y);
    }
    mica_tf_graph_release(g);
    end();
}

TEST(a_gradient_counts_a_value_that_is_used_twice_once_for_each_use) {
    begin();
    mica_tf_graph *g = sum_of_squares(), *forward = NULL, *backward = NULL;
    uint8_t wanted = 1, connected = 0;
    CHECK_OK(mica_tf_graph_backward(g, &wanted, &connected, &forward, &backward));
    CHECK(connected == 1);
    float data[2] = {3, 5}, one = 1;
    mica_tf_value x = vector(data, 2), results[8] = {{0}}, gradient = {0};
    int32_t n = mica_tf_graph_output_count(forward);
    CHECK_OK(mica_tf_graph_run(forward, device, &x, 1, results, n));
    mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
    mica_tensor *seed = NULL;
    CHECK_OK(mica_tensor_from_host(device, &scalar, &one, &seed));
    mica_tf_value output = results[0];
    results[0] = mica_tf_value_of(seed); /* the cotangent comes first, then the residuals */
    CHECK_OK(mica_tf_graph_run(backward, device, results, n, &gradient, 1));
    CHECK_NEAR(first_of(gradient), 6, 1e-6);
    mica_tf_value_release(output);
    for (int32_t i = 0; i < n; i++) mica_tf_value_release(results[i]);
    mica_tf_value_release(gradient);
    mica_tf_value_release(x);
    mica_tf_graph_release(forward);
    mica_tf_graph_release(backward);
    mica_tf_graph_release(g);
    end();
}

TEST(a_host_op_in_the_middle_splits_the_segment) {
    begin();
    mica_tf_graph *g = NULL;
    mica_tf_shape any = {.rank = 1, .dims = {-1}};
    mica_tf_ref x, y;
    CHECK_OK(mica_tf_graph_create("split", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_float32, &any, "x", &x));
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Relu, NULL, &x, 1, NULL, &y));
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Where, NULL, &y, 1, NULL, &y));
    mica_tf_ref both[2] = {y, y};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_AddV2, NULL, both, 2, NULL, &y));
    CHECK_OK(mica_tf_graph_output(g, y));
    int32_t n;
    CHECK_OK(mica_tf_graph_segments(g, &n));
    CHECK(n == 2 && mica_tf_graph_segment_size(g, 0) == 1 && mica_tf_graph_segment_size(g, 1) == 1);
    float data[4] = {-1, 2, -3, 4};
    mica_tf_value in = vector(data, 4), out = {0};
    CHECK_OK(mica_tf_graph_run(g, device, &in, 1, &out, 1));
    int64_t places[2] = {0};
    CHECK_OK(mica_tensor_to_host(out.object, places, sizeof places));
    CHECK(places[0] == 2 && places[1] == 6);
    mica_tf_value_release(in);
    mica_tf_value_release(out);
    mica_tf_graph_release(g);
    end();
}

TEST(variables_are_read_and_assigned_in_the_order_of_the_program) {
    begin();
    mica_tf_graph *g = NULL;
    mica_tf_shape two = {.rank = 1, .dims = {2}}, scalar = {.rank = 0};
    mica_tf_ref handle, before, after, unused;
    mica_tf_value variable, start = vector((float[]){1, 2}, 2);
    CHECK_OK(mica_tf_variable_create("v", MICA_TF_float32, &two, &variable));
    CHECK_FAILS(mica_tf_variable_read(variable, &(mica_tf_value){0}), MICA_FAILED_PRECONDITION,
                "v");
    CHECK_OK(mica_tf_variable_assign(variable, start));
    CHECK_OK(mica_tf_graph_create("step", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_resource, &scalar, "v", &handle));
    mica_tf_attr attrs[2] = {{.as.integer = MICA_TF_float32}, {0}};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_ReadVariableOp, attrs, &handle, 1, NULL, &before));
    mica_tf_ref operands[2] = {handle, before};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_AssignAddVariableOp, attrs, operands, 2, NULL, &unused));
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_ReadVariableOp, attrs, &handle, 1, NULL, &after));
    CHECK_OK(mica_tf_graph_output(g, before));
    CHECK_OK(mica_tf_graph_output(g, after));
    for (int i = 0; i < 3; i++) {
        mica_tf_value results[2];
        CHECK_OK(mica_tf_graph_run(g, device, &variable, 1, results, 2));
        CHECK_NEAR(first_of(results[0]), 1 << i, 0);
        CHECK_NEAR(first_of(results[1]), 2 << i, 0);
        mica_tf_value_release(results[0]);
        mica_tf_value_release(results[1]);
    }
    mica_tf_value now;
    CHECK_OK(mica_tf_variable_read(variable, &now));
    CHECK_NEAR(first_of(now), 8, 0);
    mica_tf_value_release(now);
    mica_tf_value wrong = vector((float[]){1, 2, 3}, 3);
    CHECK_FAILS(mica_tf_variable_assign(variable, wrong), MICA_INVALID_ARGUMENT, "[2]");
    mica_tf_value_release(wrong);
    mica_tf_value_release(start);
    mica_tf_value_release(variable);
    mica_tf_graph_release(g);
    end();
}

TEST(shapes_come_out_of_shape_arithmetic) {
    begin();
    mica_tf_graph *g = NULL;
    mica_tf_shape partial = {.rank = 2, .dims = {-1, 3}}, shape;
    mica_tf_ref x, sizes, y;
    CHECK_OK(mica_tf_graph_create("shapes", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_float32, &partial, "x", &x));
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Shape, NULL, &x, 1, NULL, &sizes));
    mica_tf_ref sum[2] = {sizes, ints_constant(g, (int32_t[]){1, 1}, 2)};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_AddV2, NULL, sum, 2, NULL, &sizes));
    mica_tf_ref fill[2] = {sizes, ints_constant(g, (int32_t[]){7}, 1)};
    CHECK_FAILS(mica_tf_graph_add(g, MICA_TF_Fill, NULL, fill, 2, NULL, &y), MICA_INVALID_ARGUMENT,
                "[Fill] value must be a scalar");
    mica_tf_ref reshape[2] = {fill[1], ints_constant(g, NULL, 0)};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Reshape, NULL, reshape, 2, NULL, &fill[1]));
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Fill, NULL, fill, 2, NULL, &y));
    mica_tf_graph_type(g, y, &shape);
    CHECK(shape.rank == 2 && shape.dims[0] == -1 && shape.dims[1] == 4);
    mica_tf_graph_release(g);
    end();
}

TEST(running_out_of_memory_changes_nothing_and_leaks_nothing) {
    begin();
    mica_tf_graph *g = sum_of_squares();
    float data[3] = {1, 2, 3};
    mica_tf_value x = vector(data, 3), y;
    for (int64_t n = 1; n < 4000; n++) {
        mica_memory_fail_nth(n, false);
        mica_status status = mica_tf_graph_run(g, device, &x, 1, &y, 1);
        mica_memory_fail_nth(0, false);
        if (!status) {
            CHECK_NEAR(first_of(y), 14, 1e-5);
            mica_tf_value_release(y);
            break;
        }
        CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY && y.object == NULL);
        mica_status_release(status);
    }
    mica_tf_value_release(x);
    mica_tf_graph_release(g);
    end();
}
