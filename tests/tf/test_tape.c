/* Tapes of values: gradients of what mica_tf_eager ran, of any order; variables; failures. */
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

static mica_tf_value vector(const float *data, int64_t n) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(n));
    mica_tensor *tensor = NULL;
    CHECK_OK(mica_tensor_from_host(device, &type, data, &tensor));
    return mica_tf_value_of(tensor);
}

static float element(mica_tf_value value, int32_t i) {
    float data[16] = {0};
    if (!value.object) return -12345;
    CHECK_OK(
        mica_tensor_to_host(value.object, data, mica_type_bytes(mica_tensor_type(value.object))));
    return data[i];
}

/* The op on floats; what it is given stays the caller's. */
static mica_status try_op(mica_tf_op op, const mica_tf_value *inputs, int32_t n,
                          mica_tf_value *out) {
    const mica_tf_op_info *info = mica_tf_op_describe(op);
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS];
    mica_tf_dtype dtypes[4];
    int32_t count;
    for (int32_t i = 0; i < info->n_attrs; i++) attrs[i] = info->attrs[i].value;
    if (op == MICA_TF_ReadVariableOp) attrs[0].as.integer = MICA_TF_float32;
    for (int32_t i = 0; i < n; i++) dtypes[i] = inputs[i].dtype;
    MICA_TRY(mica_tf_op_infer_types(op, dtypes, n, attrs));
    return mica_tf_eager(device, op, attrs, inputs, n, out, 1, &count, NULL);
}

static mica_tf_value op1(mica_tf_op op, mica_tf_value x) {
    mica_tf_value out = {0};
    CHECK_OK(try_op(op, &x, 1, &out));
    return out;
}

static mica_tf_value op2(mica_tf_op op, mica_tf_value x, mica_tf_value y) {
    mica_tf_value out = {0}, both[2] = {x, y};
    CHECK_OK(try_op(op, both, 2, &out));
    return out;
}

static mica_tf_tape *start_tape(bool is_persistent) {
    mica_tf_tape *tape = NULL;
    mica_tf_tape_options options = {.size = sizeof options, .is_persistent = is_persistent};
    CHECK_OK(mica_tf_tape_create(&options, &tape));
    CHECK_OK(mica_tf_tape_start(tape));
    return tape;
}

static mica_tf_value gradient(mica_tf_tape *tape, mica_tf_value target, mica_tf_value source) {
    mica_tf_value out = {0};
    CHECK_OK(mica_tf_tape_gradient(tape, device, &target, 1, NULL, &source, 1, &out));
    return out;
}

static mica_tf_value variable_of(const float *data, int64_t n) {
    mica_tf_value handle = {0}, start = vector(data, n);
    mica_tf_shape shape = {.rank = 1, .dims = {n}};
    CHECK_OK(mica_tf_variable_create("v", MICA_TF_float32, &shape, &handle));
    CHECK_OK(mica_tf_variable_assign(handle, start));
    mica_tf_value_release(start);
    return handle;
}

#define RELEASE(...)                                                                               \
    do {                                                                                           \
        mica_tf_value released_[] = {__VA_ARGS__};                                                 \
        for (size_t i_ = 0; i_ < sizeof released_ / sizeof *released_; i_++)                       \
            mica_tf_value_release(released_[i_]);                                                  \
    } while (0)

/* y = x^2 + 3 x at 2 and 5, where x is used three times */
TEST(a_gradient_adds_up_all_uses) {
    begin();
    mica_tf_value x = vector((float[]){2, 5}, 2), three = vector((float[]){3, 3}, 2);
    mica_tf_tape *tape = start_tape(false);
    CHECK_OK(mica_tf_tape_watch(tape, x));
    mica_tf_value square = op2(MICA_TF_Mul, x, x), line = op2(MICA_TF_Mul, three, x);
    mica_tf_value y = op2(MICA_TF_AddV2, square, line), g = gradient(tape, y, x);
    CHECK_NEAR(element(g, 0), 7, 0);
    CHECK_NEAR(element(g, 1), 13, 0);
    RELEASE(x, three, square, line, y, g);
    mica_tf_tape_release(tape);
    end();
}

TEST(a_cotangent_weighs_a_target_and_what_is_not_connected_has_no_gradient) {
    begin();
    mica_tf_value x = vector((float[]){2, 5}, 2), other = vector((float[]){1}, 1);
    mica_tf_value weight = vector((float[]){10, 100}, 2), out[2], refused[2];
    mica_tf_tape *tape = start_tape(true);
    CHECK_OK(mica_tf_tape_watch(tape, x));
    CHECK_OK(mica_tf_tape_watch(tape, other));
    mica_tf_value y = op1(MICA_TF_Square, x), sources[2] = {x, other};
    CHECK_OK(mica_tf_tape_gradient(tape, device, &y, 1, &weight, sources, 2, out));
    CHECK_NEAR(element(out[0], 0), 40, 0);
    CHECK_NEAR(element(out[0], 1), 1000, 0);
    CHECK(!out[1].object);
    CHECK_FAILS(mica_tf_tape_gradient(tape, device, &y, 1, &other, sources, 2, refused),
                MICA_INVALID_ARGUMENT, "cotangent 0 is float32 [1], its target float32 [2]");
    RELEASE(x, other, weight, y, out[0]);
    mica_tf_tape_release(tape); /* and stops it */
    end();
}

/* y = x^3: the outer tape records what the inner one computes. */
TEST(tapes_nest_for_derivatives_of_second_order) {
    begin();
    mica_tf_value x = vector((float[]){2, 3}, 2);
    mica_tf_tape *outer = start_tape(false), *inner = start_tape(false);
    CHECK_OK(mica_tf_tape_watch(outer, x));
    CHECK_OK(mica_tf_tape_watch(inner, x));
    mica_tf_value square = op2(MICA_TF_Mul, x, x), y = op2(MICA_TF_Mul, square, x);
    mica_tf_value first = gradient(inner, y, x), second = gradient(outer, first, x);
    CHECK_NEAR(element(first, 0), 12, 0);
    CHECK_NEAR(element(first, 1), 27, 0);
    CHECK_NEAR(element(second, 0), 12, 0);
    CHECK_NEAR(element(second, 1), 18, 0);
    RELEASE(x, square, y, first, second);
    mica_tf_tape_release(inner);
    mica_tf_tape_release(outer);
    end();
}

TEST(a_persistent_tape_answers_more_than_once_and_another_one_only_once) {
    begin();
    mica_tf_value x = vector((float[]){3}, 1), out = {0};
    mica_tf_tape *tape = start_tape(true);
    CHECK_OK(mica_tf_tape_watch(tape, x));
    mica_tf_value y = op1(MICA_TF_Square, x), z = op1(MICA_TF_Square, y);
    mica_tf_value gy = gradient(tape, y, x), gz = gradient(tape, z, x), gzy = gradient(tape, z, y);
    CHECK_NEAR(element(gy, 0), 6, 0);
    CHECK_NEAR(element(gz, 0), 108, 0);
    CHECK_NEAR(element(gzy, 0), 18, 0);
    CHECK_OK(mica_tf_tape_stop(tape));
    RELEASE(y, z, gy, gz, gzy);
    mica_tf_tape_release(tape);
    tape = start_tape(false);
    CHECK_OK(mica_tf_tape_watch(tape, x));
    y = op1(MICA_TF_Square, x);
    gy = gradient(tape, y, x);
    CHECK_FAILS(mica_tf_tape_gradient(tape, device, &y, 1, NULL, &x, 1, &out),
                MICA_FAILED_PRECONDITION, "make it persistent");
    CHECK_OK(mica_tf_tape_start(tape)); /* anew */
    CHECK_FAILS(mica_tf_tape_start(tape), MICA_FAILED_PRECONDITION, "records already");
    CHECK_OK(mica_tf_tape_stop(tape));
    CHECK_FAILS(mica_tf_tape_stop(tape), MICA_FAILED_PRECONDITION, "does not record");
    RELEASE(x, y, gy);
    mica_tf_tape_release(tape);
    end();
}

/* Two reads of a variable, one of them after an assignment, which is no part of the derivative. */
TEST(the_gradient_of_a_variable_is_over_all_reads) {
    begin();
    mica_tf_value v = variable_of((float[]){2, 4}, 2), ten = vector((float[]){10, 10}, 2);
    mica_tf_tape *tape = start_tape(true);
    mica_tf_value a = op1(MICA_TF_ReadVariableOp, v), b = op1(MICA_TF_ReadVariableOp, v);
    mica_tf_value p = op2(MICA_TF_Mul, a, b);
    CHECK_OK(mica_tf_variable_assign(v, ten));
    mica_tf_value c = op1(MICA_TF_ReadVariableOp, v), y = op2(MICA_TF_Mul, p, c);
    mica_tf_value g = gradient(tape, y, v), ga = gradient(tape, y, a), gb = gradient(tape, y, b);
    CHECK_NEAR(element(g, 0), 2 * 10 + 2 * 10 + 4, 0);
    CHECK_NEAR(element(g, 1), 4 * 10 + 4 * 10 + 16, 0);
    CHECK_NEAR(element(ga, 1), 40, 0); /* a and b are one value, and two tensors */
    CHECK_NEAR(element(gb, 1), 40, 0);
    RELEASE(v, ten, a, b, c, p, y, g, ga, gb);
    mica_tf_tape_release(tape);
    end();
}

/* What an op hands on as it is: the result is a tensor of its own, with a gradient of its own. */
TEST(a_result_that_is_an_operand_is_told_apart_from_it) {
    begin();
    mica_tf_value x = vector((float[]){3}, 1);
    mica_tf_tape *tape = start_tape(true);
    CHECK_OK(mica_tf_tape_watch(tape, x));
    mica_tf_value same = op1(MICA_TF_Identity, x), y = op2(MICA_TF_Mul, x, same);
    mica_tf_value of_x = gradient(tape, y, x), of_same = gradient(tape, y, same);
    CHECK_NEAR(element(of_x, 0), 6, 0);
    CHECK_NEAR(element(of_same, 0), 3, 0);
    RELEASE(x, same, y, of_x, of_same);
    mica_tf_tape_release(tape);
    end();
}

/* w moves to what makes w x = 6 for x = 2. */
TEST(a_loop_trains_a_variable) {
    begin();
    mica_tf_value v = variable_of((float[]){0}, 1), x = vector((float[]){2}, 1);
    mica_tf_value six = vector((float[]){6}, 1), rate = vector((float[]){0.1f}, 1);
    mica_tf_tape *tape = NULL;
    CHECK_OK(mica_tf_tape_create(NULL, &tape));
    for (int i = 0; i < 30; i++) {
        CHECK_OK(mica_tf_tape_start(tape));
        mica_tf_value w = op1(MICA_TF_ReadVariableOp, v), y = op2(MICA_TF_Mul, w, x);
        mica_tf_value error = op2(MICA_TF_Sub, y, six), loss = op1(MICA_TF_Square, error);
        mica_tf_value g = gradient(tape, loss, v), step = op2(MICA_TF_Mul, rate, g);
        mica_tf_value next = op2(MICA_TF_Sub, w, step);
        CHECK_OK(mica_tf_variable_assign(v, next));
        RELEASE(w, y, error, loss, g, step, next);
    }
    mica_tf_value w = op1(MICA_TF_ReadVariableOp, v);
    CHECK_NEAR(element(w, 0), 3, 1e-5);
    RELEASE(w, v, x, six, rate);
    mica_tf_tape_release(tape);
    end();
}

/* A function that is called, and one that merely runs. */
TEST(a_call_of_a_graph_is_recorded_and_a_run_of_one_is_not) {
    begin();
    mica_tf_graph *g = NULL;
    mica_tf_shape two = {.rank = 1, .dims = {2}};
    mica_tf_ref in, out;
    CHECK_OK(mica_tf_graph_create("cube", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_float32, &two, "x", &in));
    mica_tf_ref both[2] = {in, in};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Mul, NULL, both, 2, NULL, &out));
    both[0] = out;
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Mul, NULL, both, 2, NULL, &out));
    CHECK_OK(mica_tf_graph_output(g, out));
    mica_tf_value x = vector((float[]){2, 3}, 2), called = {0}, ran = {0};
    mica_tf_tape *tape = start_tape(true);
    CHECK_OK(mica_tf_tape_watch(tape, x));
    const mica_tf_op_info *info = mica_tf_op_describe(MICA_TF_PartitionedCall);
    const int64_t type = MICA_TF_float32;
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS];
    int32_t n;
    for (int32_t i = 0; i < info->n_attrs; i++) {
        attrs[i] = info->attrs[i].value;
        if (info->attrs[i].kind == MICA_TF_TYPES) attrs[i] = (mica_tf_attr){1, {.ints = &type}};
        if (info->attrs[i].kind == MICA_TF_FUNCTION) attrs[i].as.function = g;
    }
    CHECK_OK(mica_tf_eager(device, MICA_TF_PartitionedCall, attrs, &x, 1, &called, 1, &n, NULL));
    CHECK_OK(mica_tf_graph_run(g, device, &x, 1, &ran, 1));
    mica_tf_value d = gradient(tape, called, x), none = gradient(tape, ran, x);
    CHECK_NEAR(element(d, 0), 12, 0);
    CHECK_NEAR(element(d, 1), 27, 0);
    CHECK(!none.object);
    RELEASE(x, called, ran, d);
    mica_tf_tape_release(tape);
    mica_tf_graph_release(g);
    end();
}

TEST(what_cannot_be_watched_is_named) {
    begin();
    mica_tensor *tensor = NULL;
    mica_type type = mica_type_make(MICA_DTYPE_i32, MICA_INTS(1));
    CHECK_OK(mica_tensor_from_host(device, &type, (int32_t[]){1}, &tensor));
    mica_tf_value integer = mica_tf_value_of(tensor);
    mica_tf_tape *tape = NULL;
    mica_tf_tape_options options = {.size = 3};
    CHECK_FAILS(mica_tf_tape_create(&options, &tape), MICA_INVALID_ARGUMENT, "3 bytes");
    CHECK(!tape);
    CHECK_OK(mica_tf_tape_create(NULL, &tape));
    CHECK_FAILS(mica_tf_tape_watch(tape, integer), MICA_INVALID_ARGUMENT, "int32");
    CHECK_FAILS(mica_tf_tape_watch(tape, (mica_tf_value){0}), MICA_INVALID_ARGUMENT, "NULL");
    CHECK_FAILS(mica_tf_tape_gradient(tape, device, &integer, -1, NULL, NULL, 0, NULL),
                MICA_INVALID_ARGUMENT, "the number of targets is -1");
    RELEASE(integer);
    mica_tf_tape_release(tape);
    end();
}

/* Everything that a training step does, with one allocation after the other failing. */
static mica_status try_step(mica_tf_value v, mica_tf_value x, mica_tf_value *out) {
    mica_tf_tape *outer = NULL, *inner = NULL;
    mica_tf_value w = {0}, y = {0}, z = {0}, g = {0};
    mica_status status = mica_tf_tape_create(NULL, &outer);
    if (!status) status = mica_tf_tape_create(NULL, &inner);
    if (!status) status = mica_tf_tape_watch(inner, x);
    if (!status) status = mica_tf_tape_start(outer);
    if (!status) status = mica_tf_tape_start(inner);
    if (!status) status = try_op(MICA_TF_ReadVariableOp, &v, 1, &w);
    mica_tf_value both[2] = {w, x};
    if (!status) status = try_op(MICA_TF_Mul, both, 2, &y);
    if (!status) status = try_op(MICA_TF_Square, &y, 1, &z);
    if (!status) status = mica_tf_tape_gradient(inner, device, &z, 1, NULL, &v, 1, &g);
    if (!status) status = mica_tf_tape_gradient(outer, device, &g, 1, NULL, &v, 1, out);
    RELEASE(w, y, z, g);
    mica_tf_tape_release(inner);
    mica_tf_tape_release(outer);
    return status;
}

TEST(a_tape_that_runs_out_of_memory_leaves_nothing_behind) {
    begin();
    mica_tf_value v = variable_of((float[]){3}, 1), x = vector((float[]){2}, 1), g = {0};
    CHECK_OK(try_step(v, x, &g)); /* d2 (v x)^2 / dv2 */
    CHECK_NEAR(element(g, 0), 8, 0);
    RELEASE(g);
    bool done = false;
    for (int64_t n = 1; !done && n < 3000; n++) {
        g = (mica_tf_value){0};
        mica_memory_fail_nth(n, false);
        mica_status status = try_step(v, x, &g);
        mica_memory_fail_nth(0, false);
        done = !status;
        if (status) CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY && !g.object);
        if (done) CHECK_NEAR(element(g, 0), 8, 0);
        mica_status_release(status);
        RELEASE(g);
    }
    CHECK(done);
    RELEASE(v, x);
    end();
}
