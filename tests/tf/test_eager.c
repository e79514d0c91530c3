/* The short way of ops that run by themselves: what has run before runs again, told by its types.
 */
#include "mica/tf/tape.h"
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

static mica_tf_value matrix_on(mica_device *where, const float data[4]) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, 2));
    mica_tensor *tensor = NULL;
    CHECK_OK(mica_tensor_from_host(where, &type, data, &tensor));
    return mica_tf_value_of(tensor);
}

static float last_and_release(mica_tf_value value) {
    float data[4] = {0};
    CHECK_OK(mica_tensor_to_host(value.object, data, sizeof data));
    mica_tf_value_release(value);
    return data[3];
}

/* The long way; the attribute that has a value is set to one. */
static mica_tf_value run(mica_tf_op op, const mica_tf_value *inputs, const char *set) {
    const mica_tf_op_info *info = mica_tf_op_describe(op);
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS];
    mica_tf_dtype dtypes[2];
    mica_tf_value out = {0};
    int32_t n;
    for (int32_t i = 0; i < info->n_attrs; i++) {
        attrs[i] = info->attrs[i].value;
        if (set && !strcmp(info->attrs[i].name, set)) attrs[i].as.integer = 1;
    }
    for (int32_t i = 0; i < info->n_inputs; i++) dtypes[i] = inputs[i].dtype;
    CHECK_OK(mica_tf_op_infer_types(op, dtypes, info->n_inputs, attrs));
    CHECK_OK(mica_tf_eager(device, op, attrs, inputs, info->n_inputs, &out, 1, &n, NULL));
    return out;
}

static bool again(mica_tf_op op, const mica_tf_value *inputs, mica_tf_value *out) {
    mica_status status;
    if (!mica_tf_eager_again(device, op, inputs, mica_tf_op_describe(op)->n_inputs, out, &status))
        return false;
    CHECK_OK(status);
    return true;
}

static const float one_to_four[4] = {1, 2, 3, 4}, fives[4] = {5, 5, 5, 5};

TEST(what_has_run_runs_again_for_the_same_op_and_types) {
    begin();
    mica_tf_value pair[2] = {matrix_on(device, one_to_four), matrix_on(device, fives)}, y;
    CHECK(!again(MICA_TF_AddV2, pair, &y));
    CHECK(last_and_release(run(MICA_TF_AddV2, pair, NULL)) == 9);
    REQUIRE(again(MICA_TF_AddV2, pair, &y));
    CHECK(y.dtype == MICA_TF_float32);
    CHECK(last_and_release(y) == 9);
    CHECK(!again(MICA_TF_Mul, pair, &y));
    float number = 1;
    mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
    mica_tensor *tensor = NULL;
    REQUIRE_OK(mica_tensor_from_host(device, &scalar, &number, &tensor));
    mica_tf_value other[2] = {pair[0], mica_tf_value_of(tensor)};
    CHECK(!again(MICA_TF_AddV2, other, &y));
    mica_tf_value_release(other[1]);
    mica_tf_eager_clear();
    CHECK(!again(MICA_TF_AddV2, pair, &y));
    mica_tf_value_release(pair[0]);
    mica_tf_value_release(pair[1]);
    end();
}

TEST(only_the_attributes_of_a_call_without_any_are_kept) {
    begin();
    mica_tf_value pair[2] = {matrix_on(device, one_to_four), matrix_on(device, one_to_four)}, y;
    CHECK(last_and_release(run(MICA_TF_MatMul, pair, "transpose_b")) == 25);
    CHECK(!again(MICA_TF_MatMul, pair, &y));
    CHECK(last_and_release(run(MICA_TF_MatMul, pair, NULL)) == 22);
    REQUIRE(again(MICA_TF_MatMul, pair, &y));
    CHECK(last_and_release(y) == 22);
    CHECK(last_and_release(run(MICA_TF_MatMul, pair, "transpose_b")) == 25);
    CHECK(last_and_release(run(MICA_TF_Relu, pair, NULL)) == 4);
    REQUIRE(again(MICA_TF_Relu, pair, &y));
    CHECK(last_and_release(y) == 4);
    mica_tf_value_release(pair[0]);
    mica_tf_value_release(pair[1]);
    end();
}

static int n_lines;

static void count_line(void *context, const char *line) {
    (void)context;
    n_lines += line[0] != 0;
}

TEST(tapes_logs_and_other_devices_are_for_the_long_way) {
    begin();
    mica_device *fake = NULL;
    REQUIRE_OK(mica_device_open("fake", &fake));
    mica_tf_value pair[2] = {matrix_on(device, one_to_four), matrix_on(device, fives)}, y,
                  far[2] = {pair[0], matrix_on(fake, fives)};
    CHECK(last_and_release(run(MICA_TF_Mul, pair, NULL)) == 20);
    CHECK(!again(MICA_TF_Mul, far, &y));
    CHECK(last_and_release(run(MICA_TF_Mul, far, NULL)) == 20);
    mica_tf_tape *tape = NULL;
    mica_tf_tape_options options = {.size = sizeof options};
    REQUIRE_OK(mica_tf_tape_create(&options, &tape));
    REQUIRE_OK(mica_tf_tape_start(tape));
    REQUIRE_OK(mica_tf_tape_watch(tape, pair[0]));
    CHECK(!again(MICA_TF_Mul, pair, &y));
    CHECK_OK(mica_tf_tape_stop(tape));
    mica_tf_tape_release(tape);
    mica_tf_set_log(count_line, NULL);
    CHECK(!again(MICA_TF_Mul, pair, &y));
    CHECK(last_and_release(run(MICA_TF_Mul, pair, NULL)) == 20);
    CHECK(n_lines == 1);
    mica_tf_set_log(NULL, NULL);
    REQUIRE(again(MICA_TF_Mul, pair, &y));
    CHECK(last_and_release(y) == 20);
    mica_tf_value_release(pair[0]);
    mica_tf_value_release(pair[1]);
    mica_tf_value_release(far[1]);
    mica_device_release(fake);
    end();
}
