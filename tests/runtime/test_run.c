/* Tensors and executables, on every device that computes. */
#include "runtime/tensor.h"
#include "runtime_test.h"

static const char *const devices[] = {"cpu", "fake", "ref"};
enum { DEVICES = sizeof devices / sizeof *devices };

/* tanh(x + b) * x, b of one element */
static mica_graph *example(void) {
    mica_graph *g = new_graph("example");
    mica_type four = vector(4), one = vector(1);
    mica_value x = mica_parameter(g, &four), b = mica_parameter(g, &one);
    mica_output(g, mica_mul(g, mica_tanh(g, mica_add(g, x, b)), x));
    return g;
}

TEST(a_graph_gives_its_values_with_and_without_passes) {
    static const char *const passes[] = {NULL, "-simplify,-inline,-schedule,-plan", "-plan"};
    for (int k = 0; k < DEVICES * 3; k++) {
        mica_graph *g = example();
        float xs[4] = {0, 0.5f, -1, 2}, bs[1] = {0.25f};
        outcome out;
        REQUIRE(evaluate(devices[k / 3], passes[k % 3], g, (const void *[]){xs, bs}, &out));
        for (int i = 0; i < 4; i++)
            CHECK_NEAR(((float *)out.bytes[0])[i], tanh(xs[i] + 0.25) * xs[i], 1e-6);
        mica_graph_release(g);
    }
}

TEST(the_same_tensor_may_be_input_twice_and_output_twice) {
    for (int d = 0; d < DEVICES; d++) {
        mica_graph *g = new_graph("pairs");
        mica_type type = vector(2);
        mica_value a = mica_parameter(g, &type), b = mica_parameter(g, &type);
        mica_value sum = mica_add(g, a, b);
        mica_output(g, sum);
        mica_output(g, sum);
        mica_output(g, a);
        float data[2] = {1, 2};
        outcome out;
        REQUIRE(evaluate(devices[d], NULL, g, (const void *[]){data, data}, &out));
        for (int i = 0; i < 3; i++) CHECK(((float *)out.bytes[i])[1] == (i == 2 ? 2 : 4));
        mica_graph_release(g);
    }
}

TEST(arrays_without_elements_go_through) {
    for (int d = 0; d < DEVICES; d++) {
        mica_graph *g = new_graph("empty");
        mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(0, 3));
        mica_value x = mica_parameter(g, &type);
        mica_output(g, mica_exp(g, x));
        mica_output(g, mica_sum(g, x, MICA_INTS(0)));
        outcome out;
        REQUIRE(evaluate(devices[d], NULL, g, (const void *[]){""}, &out));
        CHECK(((float *)out.bytes[1])[2] == 0);
        mica_graph_release(g);
    }
}

TEST(the_mean_of_many_halves_does_not_overflow) {
    static uint16_t twos[70000];
    for (int i = 0; i < 70000; i++) twos[i] = 0x4000;
    for (int d = 0; d < DEVICES; d++) {
        mica_graph *g = new_graph("mean");
        mica_type type = mica_type_make(MICA_DTYPE_f16, MICA_INTS(70000));
        mica_output(g, mica_mean(g, mica_parameter(g, &type), MICA_INTS(0)));
        outcome out;
        REQUIRE(evaluate(devices[d], NULL, g, (const void *[]){twos}, &out));
        CHECK(*(uint16_t *)out.bytes[0] == 0x4000);
        mica_graph_release(g);
    }
}

TEST(wrong_inputs_are_refused_and_change_nothing) {
    mica_device *cpu = open_device("cpu"), *fake = open_device("fake");
    mica_graph *g = example();
    mica_executable *exe = compile(cpu, g, NULL);
    float data[4] = {1, 2, 3, 4};
    mica_tensor *x = floats(cpu, data, 4), *b = floats(cpu, data, 1),
                *other = floats(fake, data, 4);
    mica_tensor *y = NULL;
    mica_tensor *swapped[] = {b, x}, *elsewhere[] = {other, b}, *missing[] = {x, NULL};
    CHECK_FAILS(run(exe, swapped, 2, NULL, &y, 1), MICA_INVALID_ARGUMENT,
                "[run] input 0 of 'example' is f32[1], expected f32[4]");
    CHECK_FAILS(run(exe, elsewhere, 2, NULL, &y, 1), MICA_INVALID_ARGUMENT, "is on fake:0");
    CHECK_FAILS(run(exe, missing, 2, NULL, &y, 1), MICA_INVALID_ARGUMENT, "input 1");
    CHECK_FAILS(run(exe, swapped, 1, NULL, &y, 1), MICA_INVALID_ARGUMENT, "2 inputs");
    CHECK(y == NULL);
    mica_tensor_release(x);
    mica_tensor_release(b);
    mica_tensor_release(other);
    mica_executable_release(exe);
    mica_graph_release(g);
    mica_device_release(cpu);
    mica_device_release(fake);
}

TEST(a_graph_with_an_error_does_not_compile) {
    mica_device *cpu = open_device("cpu");
    mica_graph *g = new_graph("wrong");
    mica_type a = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, 3));
    mica_type b = mica_type_make(MICA_DTYPE_f32, MICA_INTS(4, 5));
    mica_value x = mica_parameter(g, &a), y = mica_parameter(g, &b);
    mica_output(g, mica_matmul(g, x, y));
    mica_executable *exe = NULL;
    CHECK_FAILS(mica_executable_create(cpu, g, NULL, &exe), MICA_INVALID_ARGUMENT,
                "inner dimensions differ");
    CHECK(exe == NULL);
    mica_graph_release(g);
    g = new_graph("collective");
    x = mica_parameter(g, &a);
    mica_output(g, mica_all_reduce(g, x, "sum", "i"));
    for (int d = 0; d < DEVICES; d++) {
        mica_device *device = open_device(devices[d]);
        CHECK_FAILS(mica_executable_create(device, g, NULL, &exe), MICA_INVALID_ARGUMENT,
                    "[all_reduce] axis 'i' is not bound");
        mica_device_release(device);
    }
    mica_graph_release(g);
    mica_device_release(cpu);
}

TEST(devices_are_found_by_name) {
    mica_device *cpu = open_device("cpu"), *again = open_device("cpu:0"), *any = open_device("any");
    mica_device *none = NULL;
    CHECK(cpu == again);
    CHECK(strcmp(mica_device_name(cpu), "cpu:0") == 0);
    CHECK(strstr(mica_device_description(cpu), "threads") != NULL);
    CHECK_FAILS(mica_device_open("abacus", &none), MICA_NOT_FOUND, "known: any, cpu");
    CHECK_FAILS(mica_device_open("cpu:1", &none), MICA_NOT_FOUND, "cpu:1");
    CHECK_FAILS(mica_device_open("cpu:x", &none), MICA_NOT_FOUND, "cpu:x");
    CHECK_FAILS(mica_device_open("", &none), MICA_NOT_FOUND, "''");
    CHECK(none == NULL);
    bool found = false;
    mica_device_info info = {.size = sizeof info};
    for (int32_t i = 0; mica_device_enumerate(i, &info); i++)
        if (strcmp(info.name, "cpu:0") == 0) found = info.available && info.priority >= 0;
    CHECK(found);
    mica_device_release(cpu);
    mica_device_release(again);
    mica_device_release(any);
}

/* ---- tensors
 * ------------------------------------------------------------------------------------*/

static void count_free(void *context) {
    ++*(int *)context;
}

TEST(wrapped_memory_is_given_back_exactly_once) {
    for (int d = 0; d < DEVICES; d++) {
        mica_device *device = open_device(devices[d]);
        float data[3] = {1, 2, 3};
        int freed = 0;
        mica_type type = vector(3);
        mica_tensor *t = NULL;
        REQUIRE_OK(mica_tensor_wrap(device, &type, data, count_free, &freed, &t));
        if (strcmp(devices[d], "fake")) {
            CHECK(address_of(t) == data);
            CHECK(freed == 0);
        }
        CHECK(first_float(t) == 1);
        mica_tensor_release(t);
        CHECK(freed == 1);
        mica_device_release(device);
    }
}

TEST(data_that_is_not_aligned_is_copied) {
    mica_device *device = open_device("cpu");
    _Alignas(8) char bytes[20] = {0};
    float one = 1;
    int freed = 0;
    mica_type type = vector(3), nothing = vector(0);
    mica_tensor *t = NULL;
    memcpy(bytes + 1, &one, sizeof one);
    REQUIRE_OK(mica_tensor_wrap(device, &type, bytes + 1, count_free, &freed, &t));
    CHECK(freed == 1);
    CHECK(first_float(t) == 1);
    mica_tensor_release(t);
    REQUIRE_OK(mica_tensor_wrap(device, &nothing, NULL, count_free, &freed, &t));
    mica_tensor_release(t);
    CHECK(freed == 2);
    CHECK_FAILS(mica_tensor_wrap(device, &type, NULL, count_free, &freed, &t),
                MICA_INVALID_ARGUMENT, "NULL");
    CHECK_FAILS(mica_tensor_from_host(device, &type, NULL, &t), MICA_INVALID_ARGUMENT, "NULL");
    mica_device_release(device);
}

TEST(a_host_view_writes_through) {
    for (int d = 0; d < DEVICES; d++) {
        mica_device *device = open_device(devices[d]);
        float data[3] = {1, 2, 3};
        mica_tensor *t = floats(device, data, 3);
        float *view = NULL, *nested = NULL;
        REQUIRE_OK(mica_tensor_open_view(t, MICA_READ | MICA_WRITE, (void **)&view));
        REQUIRE_OK(mica_tensor_open_view(t, MICA_READ, (void **)&nested));
        CHECK(view[2] == 3 && nested == view);
        view[0] = 7;
        CHECK_OK(mica_tensor_close_view(t));
        CHECK_OK(mica_tensor_close_view(t));
        CHECK(first_float(t) == 7);
        CHECK_FAILS(mica_tensor_close_view(t), MICA_FAILED_PRECONDITION, "no view");
        CHECK_FAILS(mica_tensor_open_view(t, 0, (void **)&view), MICA_INVALID_ARGUMENT, "access");
        CHECK_FAILS(mica_tensor_to_host(t, data, 4), MICA_INVALID_ARGUMENT, "12");
        mica_tensor_release(t);
        mica_device_release(device);
    }
}

/* Wrapped, copied and written: a byte of a bool that is neither 0 nor 1 counts as 1. */
TEST(bools_are_0_or_1_wherever_their_bytes_come_from) {
    const mica_type type = mica_type_make(MICA_DTYPE_bool, MICA_INTS(4));
    const uint8_t expected[4] = {0, 1, 1, 1};
    for (int d = 0; d < DEVICES; d++) {
        mica_device *device = open_device(devices[d]);
        uint8_t data[4] = {0, 1, 2, 255}, found[4], *view = NULL;
        mica_tensor *t[3];
        int freed = 0;
        REQUIRE_OK(mica_tensor_from_host(device, &type, data, &t[0]));
        REQUIRE_OK(mica_tensor_wrap(device, &type, data, count_free, &freed, &t[1]));
        CHECK(freed == 1 && data[3] == 255);
        REQUIRE_OK(mica_tensor_create(device, &type, &t[2]));
        REQUIRE_OK(mica_tensor_open_view(t[2], MICA_WRITE, (void **)&view));
        memcpy(view, data, sizeof data);
        CHECK_OK(mica_tensor_close_view(t[2]));
        for (int i = 0; i < 3; i++) {
            CHECK_OK(mica_tensor_to_host(t[i], found, sizeof found));
            CHECK(!memcmp(found, expected, sizeof found));
            mica_tensor_release(t[i]);
        }
        mica_device_release(device);
    }
}

TEST(a_write_view_waits_for_runs_that_read_the_tensor) {
    for (int d = 0; d < 2; d++) {
        mica_device *device = open_device(devices[d]);
        enum { N = 300000 };
        float *data = calloc(N, sizeof *data), *view;
        mica_graph *g = new_graph("slow");
        mica_type type = vector(N);
        mica_value x = mica_parameter(g, &type), y = x;
        for (int i = 0; i < 10; i++) y = mica_exp(g, mica_sub(g, mica_tanh(g, y), x));
        mica_output(g, y);
        mica_executable *exe = compile(device, g, NULL);
        mica_tensor *t = floats(device, data, N), *first = NULL, *second = NULL;
        CHECK_OK(run(exe, &t, 1, NULL, &first, 1));
        CHECK_OK(mica_tensor_open_view(t, MICA_WRITE, (void **)&view));
        for (int i = 0; i < N; i++) view[i] = 9;
        CHECK_OK(mica_tensor_close_view(t));
        mica_tensor *zeros = floats(device, data, N);
        CHECK_OK(run(exe, &zeros, 1, NULL, &second, 1));
        float *a = malloc(N * sizeof *a);
        CHECK_OK(mica_tensor_to_host(first, data, N * sizeof *a));
        CHECK_OK(mica_tensor_to_host(second, a, N * sizeof *a));
        CHECK(memcmp(a, data, N * sizeof *a) == 0);
        free(a);
        free(data);
        mica_tensor_release(t);
        mica_tensor_release(zeros);
        mica_tensor_release(first);
        mica_tensor_release(second);
        mica_executable_release(exe);
        mica_graph_release(g);
        mica_device_release(device);
    }
}

TEST(tensors_move_between_devices) {
    for (int i = 0; i < DEVICES * DEVICES; i++) {
        mica_device *from = open_device(devices[i / DEVICES]),
                    *to = open_device(devices[i % DEVICES]);
        float data[3] = {4, 5, 6};
        mica_tensor *a = floats(from, data, 3), *b = NULL;
        REQUIRE_OK(mica_tensor_copy_to(a, to, &b));
        CHECK(mica_tensor_device(b) == to);
        CHECK((a == b) == (from == to));
        mica_tensor_release(a);
        CHECK(first_float(b) == 4);
        mica_tensor_release(b);
        mica_device_release(from);
        mica_device_release(to);
    }
}

TEST(impossible_types_are_refused) {
    mica_device *cpu = open_device("cpu");
    mica_tensor *t = NULL;
    mica_type negative = mica_type_make(MICA_DTYPE_f32, MICA_INTS(-1)), token = mica_type_token();
    mica_type huge = mica_type_make(MICA_DTYPE_f32, MICA_INTS((int64_t)1 << 50));
    CHECK_FAILS(mica_tensor_create(cpu, &negative, &t), MICA_INVALID_ARGUMENT, "[tensor]");
    CHECK_FAILS(mica_tensor_create(cpu, &token, &t), MICA_INVALID_ARGUMENT, "token");
    CHECK_FAILS(mica_tensor_create(cpu, &huge, &t), MICA_OUT_OF_MEMORY, "");
    CHECK(t == NULL);
    mica_device_release(cpu);
}

/* ---- donation
 * -----------------------------------------------------------------------------------*/

/* w - r g, and the sum of w: a training step in small. */
static mica_graph *step_graph(void) {
    mica_graph *g = new_graph("step");
    mica_type type = vector(8), scalar = mica_type_scalar(MICA_DTYPE_f32);
    mica_value w = mica_parameter(g, &type), d = mica_parameter(g, &type);
    mica_value rate = mica_parameter(g, &scalar);
    mica_output(g, mica_sub(g, w, mica_mul(g, rate, d)));
    mica_output(g, mica_sum(g, w, MICA_INTS(0)));
    return g;
}

typedef struct step {
    mica_device *device;
    mica_graph *g;
    mica_executable *exe;
    mica_tensor *inputs[3], *outputs[2];
} step;

static step begin_step(const char *device_name) {
    step s = {.device = open_device(device_name), .g = step_graph()};
    float w[8] = {1, 1, 1, 1, 1, 1, 1, 1}, rate = 0.5f;
    s.exe = compile(s.device, s.g, NULL);
    s.inputs[0] = floats(s.device, w, 8);
    s.inputs[1] = floats(s.device, w, 8);
    s.inputs[2] = scalar_of(s.device, MICA_DTYPE_f32, &rate);
    return s;
}

static void end_step(step *s) {
    for (int i = 0; i < 3; i++) mica_tensor_release(s->inputs[i]);
    for (int i = 0; i < 2; i++) mica_tensor_release(s->outputs[i]);
    mica_executable_release(s->exe);
    mica_graph_release(s->g);
    mica_device_release(s->device);
}

static const uint8_t donate_first[3] = {1, 0, 0};

TEST(a_donated_input_becomes_the_output_in_place) {
    for (int d = 0; d < 2; d++) {
        step s = begin_step(devices[d]);
        mica_address before = s.inputs[0]->buffer->address;
        REQUIRE_OK(run(s.exe, s.inputs, 3, donate_first, s.outputs, 2));
        CHECK(first_float(s.outputs[0]) == 0.5f);
        CHECK(first_float(s.outputs[1]) == 8);
        CHECK(s.outputs[0]->buffer->address == before);
        float data[8];
        void *view = NULL;
        CHECK_FAILS(mica_tensor_to_host(s.inputs[0], data, sizeof data), MICA_FAILED_PRECONDITION,
                    "consumed");
        CHECK_FAILS(mica_tensor_open_view(s.inputs[0], MICA_READ, &view), MICA_FAILED_PRECONDITION,
                    "donated");
        mica_tensor *again[2] = {NULL};
        CHECK_FAILS(run(s.exe, s.inputs, 3, NULL, again, 2), MICA_FAILED_PRECONDITION, "[run]");
        end_step(&s);
    }
}

TEST(donation_is_only_permission) {
    for (int k = 0; k < 6; k++) {
        int why = k / 2;
        step s = begin_step(devices[k % 2]);
        void *view = NULL;
        if (why == 0) mica_tensor_retain(s.inputs[0]);
        if (why == 1) CHECK_OK(mica_tensor_open_view(s.inputs[0], MICA_READ, &view));
        if (why == 2) { /* it is another input, too */
            mica_tensor_release(s.inputs[1]);
            s.inputs[1] = s.inputs[0];
        }
        REQUIRE_OK(run(s.exe, s.inputs, 3, donate_first, s.outputs, 2));
        CHECK(first_float(s.outputs[0]) == 0.5f);
        CHECK(first_float(s.inputs[0]) == 1); /* left alone */
        if (why == 0) mica_tensor_release(s.inputs[0]);
        if (why == 1) CHECK_OK(mica_tensor_close_view(s.inputs[0]));
        if (why == 2) s.inputs[1] = NULL;
        end_step(&s);
    }
}

TEST(wrapped_memory_is_never_overwritten) {
    step s = begin_step("cpu");
    float data[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    mica_type type = vector(8);
    mica_tensor_release(s.inputs[0]);
    REQUIRE_OK(mica_tensor_wrap(s.device, &type, data, NULL, NULL, &s.inputs[0]));
    REQUIRE_OK(run(s.exe, s.inputs, 3, donate_first, s.outputs, 2));
    CHECK(first_float(s.outputs[0]) == 0.5f);
    CHECK(data[0] == 1);
    end_step(&s);
}

TEST(thousands_of_runs_keep_memory_bounded) {
    for (int d = 0; d < 2; d++) {
        step s = begin_step(devices[d]);
        size_t now = 0, peak = 0, early_peak = 0;
        for (int i = 0; i < 3000; i++) {
            REQUIRE_OK(run(s.exe, s.inputs, 3, donate_first, s.outputs, 2));
            mica_tensor_release(s.inputs[0]);
            s.inputs[0] = s.outputs[0];
            mica_tensor_release(s.outputs[1]);
            s.outputs[0] = s.outputs[1] = NULL;
            if (i % 50 == 0) CHECK_OK(mica_device_wait(s.device));
            mica_device_memory(s.device, &now, &peak);
            if (i == 500) early_peak = peak;
        }
        CHECK_OK(mica_device_wait(s.device));
        mica_device_memory(s.device, &now, &peak);
        CHECK(now <= 4096);
        CHECK(peak <= early_peak + 65536);
        CHECK(first_float(s.inputs[0]) == 1 - 3000 * 0.5f);
        end_step(&s);
    }
}

/* The sum of a product of matrices: 400 kB between the two. */
static mica_graph *sum_of_product(void) {
    mica_graph *g = new_graph("sum of product");
    mica_type tall = mica_type_make(MICA_DTYPE_f32, MICA_INTS(1000, 50));
    mica_type wide = mica_type_make(MICA_DTYPE_f32, MICA_INTS(50, 100));
    mica_value x = mica_parameter(g, &tall), y = mica_parameter(g, &wide);
    mica_output(g, mica_sum(g, mica_matmul(g, x, y), MICA_INTS(0, 1)));
    return g;
}

TEST(runs_that_wait_in_the_queue_share_one_arena) {
    enum { RUNS = 8, BETWEEN = 400000 };
    mica_type types[2] = {mica_type_make(MICA_DTYPE_f32, MICA_INTS(1000, 50)),
                          mica_type_make(MICA_DTYPE_f32, MICA_INTS(50, 100))};
    static float data[50000];
    for (int i = 0; i < 50000; i++) data[i] = 1;
    mica_device *device = open_device("cpu");
    mica_graph *g = sum_of_product();
    mica_executable *exe = compile(device, g, NULL);
    mica_tensor *inputs[2] = {NULL}, *sums[RUNS] = {NULL};
    for (int i = 0; i < 2; i++)
        REQUIRE_OK(mica_tensor_from_host(device, &types[i], data, &inputs[i]));
    size_t before, now, most = 0, peak;
    mica_device_memory(device, &before, &peak);
    for (int i = 0; i < RUNS; i++) {
        REQUIRE_OK(run(exe, inputs, 2, NULL, &sums[i], 1));
        mica_device_memory(device, &now, &peak);
        if (now > most) most = now;
    }
    CHECK(most < before + 4 * BETWEEN);
    for (int i = 0; i < RUNS; i++) {
        CHECK(first_float(sums[i]) == 5e6f);
        mica_tensor_release(sums[i]);
    }
    for (int i = 0; i < 2; i++) mica_tensor_release(inputs[i]);
    mica_executable_release(exe);
    mica_graph_release(g);
    mica_device_release(device);
}

TEST(the_commands_can_be_read) {
    step s = begin_step("cpu");
    char *text = NULL;
    REQUIRE_OK(mica_executable_print(s.exe, &text));
    CHECK(strstr(text, "sub output0 <- input0") != NULL);
    CHECK(strstr(text, "input0 may become output0") != NULL);
    mica_string_free(text);
    CHECK(mica_executable_arena_bytes(s.exe) >= 256);
    end_step(&s);
}

TEST(the_library_works_again_after_a_shutdown) {
    for (int i = 0; i < 3; i++) {
        step s = begin_step(i % 2 ? "fake" : "cpu");
        REQUIRE_OK(run(s.exe, s.inputs, 3, NULL, s.outputs, 2));
        CHECK(first_float(s.outputs[0]) == 0.5f);
        end_step(&s);
        mica_shutdown();
        CHECK(mica_memory_live_blocks() == 0);
    }
}
