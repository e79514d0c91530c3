/* Integers that are refused inside programs: arguments, results on the way, in loops. */
#include "test.h"
#include "tf/tf.h"

static mica_device *device;

static void begin(void) {
    CHECK_OK(mica_device_open("cpu", &device));
}

static void end(void) {
    mica_device_release(device);
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

static mica_tf_value tensor_of(mica_dtype dtype, const void *data, int32_t rank, int64_t n) {
    mica_type type = rank ? mica_type_make(dtype, MICA_INTS(n)) : mica_type_scalar(dtype);
    mica_tensor *tensor = NULL;
    CHECK_OK(mica_tensor_from_host(device, &type, data, &tensor));
    return mica_tf_value_of(tensor);
}

static mica_tf_ref number(mica_tf_graph *g, int32_t value) {
    mica_tf_value tensor = tensor_of(MICA_DTYPE_i32, &value, 0, 1);
    mica_tf_attr attrs[2] = {{.as.value = tensor}, {.as.integer = MICA_TF_int32}};
    mica_tf_ref ref = {-1, 0};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Const, attrs, NULL, 0, NULL, &ref));
    mica_tf_value_release(tensor);
    return ref;
}

static mica_tf_ref add(mica_tf_graph *g, mica_tf_op op, mica_tf_ref a, mica_tf_ref b) {
    mica_tf_ref out = {-1, 0};
    CHECK_OK(mica_tf_graph_add(g, op, NULL, (mica_tf_ref[]){a, b}, 2, NULL, &out));
    return out;
}

static mica_tf_ref parameter(mica_tf_graph *g, mica_tf_dtype dtype, int32_t rank) {
    mica_tf_shape shape = {.rank = rank, .dims = {-1}};
    mica_tf_ref ref = {-1, 0};
    CHECK_OK(mica_tf_graph_parameter(g, dtype, &shape, NULL, &ref));
    return ref;
}

/* x[i + more], i an argument; with more = 0 the argument itself is the place. */
static mica_tf_graph *pick(int32_t more) {
    mica_tf_graph *g = NULL;
    mica_tf_ref out;
    CHECK_OK(mica_tf_graph_create("pick", &g));
    mica_tf_ref x = parameter(g, MICA_TF_float32, 1), i = parameter(g, MICA_TF_int32, 1);
    mica_tf_ref place = more ? add(g, MICA_TF_AddV2, i, number(g, more)) : i;
    mica_tf_ref operands[] = {x, place, number(g, 0)};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_GatherV2, NULL, operands, 3, NULL, &out));
    CHECK_OK(mica_tf_graph_output(g, out));
    return g;
}

static mica_status run_pick(mica_tf_graph *g, int32_t place, float *out) {
    float data[3] = {1, 2, 3};
    mica_tf_value inputs[2] = {tensor_of(MICA_DTYPE_f32, data, 1, 3),
                               tensor_of(MICA_DTYPE_i32, &place, 1, 1)};
    mica_tf_value y = {0};
    mica_status status = mica_tf_graph_run(g, device, inputs, 2, &y, 1);
    if (!status) CHECK_OK(mica_tensor_to_host(y.object, out, sizeof *out));
    mica_tf_value_release(y);
    for (int32_t i = 0; i < 2; i++) mica_tf_value_release(inputs[i]);
    return status;
}

TEST(a_place_beyond_the_end_is_refused_whether_given_or_computed) {
    begin();
    for (int32_t more = 0; more < 2; more++) {
        mica_tf_graph *g = pick(more);
        float y = 0;
        CHECK_OK(run_pick(g, 1, &y));
        CHECK_NEAR(y, 2 + (float)more, 0);
        CHECK_FAILS(run_pick(g, 7, &y), MICA_INVALID_ARGUMENT, "is not in [0, 3)");
        CHECK_FAILS(run_pick(g, -2, &y), MICA_INVALID_ARGUMENT, "is not in [0, 3)");
        CHECK_OK(run_pick(g, 0, &y));
        mica_tf_graph_release(g);
    }
    end();
}

/* while i < n: t += x[i]; (i, t, n, x) carried */
static mica_tf_graph *sum_of_first(void) {
    mica_tf_graph *parts[3];
    mica_tf_ref out;
    const char *names[] = {"test", "body", "sum"};
    mica_tf_ref p[3][4];
    for (int32_t k = 0; k < 3; k++) {
        CHECK_OK(mica_tf_graph_create(names[k], &parts[k]));
        p[k][0] = parameter(parts[k], MICA_TF_int32, 0);
        p[k][1] = parameter(parts[k], MICA_TF_float32, 0);
        p[k][2] = parameter(parts[k], MICA_TF_int32, 0);
        p[k][3] = parameter(parts[k], MICA_TF_float32, 1);
    }
    CHECK_OK(mica_tf_graph_output(parts[0], add(parts[0], MICA_TF_Less, p[0][0], p[0][2])));
    mica_tf_ref read = add(parts[1], MICA_TF_ReadElement, p[1][3], p[1][0]);
    mica_tf_ref next[] = {add(parts[1], MICA_TF_AddV2, p[1][0], number(parts[1], 1)),
                          add(parts[1], MICA_TF_AddV2, p[1][1], read), p[1][2], p[1][3]};
    for (int32_t i = 0; i < 4; i++) CHECK_OK(mica_tf_graph_output(parts[1], next[i]));
    int64_t types[] = {MICA_TF_int32, MICA_TF_float32, MICA_TF_int32, MICA_TF_float32};
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{.n = 4, .as.ints = types},
                                             {.as.function = parts[0]},
                                             {.as.function = parts[1]},
                                             {.n = 0},
                                             {.as.integer = 10}};
    CHECK_OK(mica_tf_graph_add(parts[2], MICA_TF_StatelessWhile, attrs, p[2], 4, NULL, &out));
    CHECK_OK(mica_tf_graph_output(parts[2], (mica_tf_ref){out.node, 1}));
    mica_tf_graph_release(parts[0]);
    mica_tf_graph_release(parts[1]);
    return parts[2];
}

static mica_status run_sum(mica_tf_graph *g, int32_t n, float *out) {
    float data[3] = {1, 2, 3}, zero = 0;
    int32_t none = 0;
    mica_tf_value inputs[4] = {
        tensor_of(MICA_DTYPE_i32, &none, 0, 1), tensor_of(MICA_DTYPE_f32, &zero, 0, 1),
        tensor_of(MICA_DTYPE_i32, &n, 0, 1), tensor_of(MICA_DTYPE_f32, data, 1, 3)};
    mica_tf_value y = {0};
    mica_status status = mica_tf_graph_run(g, device, inputs, 4, &y, 1);
    if (!status) CHECK_OK(mica_tensor_to_host(y.object, out, sizeof *out));
    mica_tf_value_release(y);
    for (int32_t i = 0; i < 4; i++) mica_tf_value_release(inputs[i]);
    return status;
}

TEST(a_loop_tells_the_first_place_that_is_not_there) {
    begin();
    mica_tf_graph *g = sum_of_first();
    float y = 0;
    for (int32_t n = 0; n <= 3; n++) {
        CHECK_OK(run_sum(g, n, &y));
        CHECK_NEAR(y, (float)(n * (n + 1) / 2), 0);
    }
    CHECK_FAILS(run_sum(g, 6, &y), MICA_INVALID_ARGUMENT, "element 3 in a list with 3 elements");
    mica_tf_graph_release(g);
    end();
}

TEST(looking_that_runs_out_of_memory_leaves_nothing_behind) {
    begin();
    float data[3] = {1, 2, 3};
    int32_t place = 1;
    mica_tf_value inputs[2] = {tensor_of(MICA_DTYPE_f32, data, 1, 3),
                               tensor_of(MICA_DTYPE_i32, &place, 1, 1)};
    mica_tf_graph *g = pick(1);
    for (int64_t n = 1; n < 4000; n++) {
        mica_tf_value y = {0};
        mica_memory_fail_nth(n, false);
        mica_status status = mica_tf_graph_run(g, device, inputs, 2, &y, 1);
        mica_memory_fail_nth(0, false);
        mica_tf_value_release(y);
        if (!status) break;
        CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY && y.object == NULL);
        mica_status_release(status);
    }
    for (int32_t i = 0; i < 2; i++) mica_tf_value_release(inputs[i]);
    mica_tf_graph_release(g);
    end();
}
