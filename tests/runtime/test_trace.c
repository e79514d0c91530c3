/* A trace of what runs: mica_trace_start to mica_trace_stop. */
#include <string.h>

#include "mica/mica.h"
#include "test.h"

static void run(mica_executable *exe, mica_device *device) {
    mica_type vector = mica_type_make(MICA_DTYPE_f32, MICA_INTS(3));
    mica_tensor *x = NULL, *y = NULL;
    CHECK_OK(mica_tensor_from_host(device, &vector, (float[]){1, 2, 3}, &x));
    mica_run_args args = {
        .size = sizeof args, .inputs = &x, .n_inputs = 1, .outputs = &y, .n_outputs = 1};
    CHECK_OK(mica_executable_run(exe, &args, NULL));
    float sum = 0;
    CHECK_OK(mica_tensor_to_host(y, &sum, sizeof sum));
    CHECK_NEAR(sum, 2.7206769, 1e-5);
    mica_tensor_release(x);
    mica_tensor_release(y);
}

static mica_executable *program(mica_device *device) {
    mica_type vector = mica_type_make(MICA_DTYPE_f32, MICA_INTS(3));
    mica_graph *g = NULL;
    mica_executable *exe = NULL;
    CHECK_OK(mica_graph_create("a \"name\"", &g));
    mica_value x = mica_parameter(g, &vector);
    mica_output(g, mica_reduce(g, mica_tanh(g, x), "sum", MICA_INTS(0)));
    CHECK_OK(mica_executable_create(device, g, NULL, &exe));
    mica_graph_release(g);
    return exe;
}

TEST(a_trace_has_programs_kernels_and_notes_between_start_and_stop) {
    mica_device *device = NULL;
    char *text = NULL;
    CHECK_OK(mica_device_open("cpu", &device));
    mica_executable *exe = program(device);
    run(exe, device);
    mica_trace_note("before", mica_trace_clock(), 0.5);
    CHECK_OK(mica_trace_start());
    run(exe, device);
    mica_trace_note("a line\n", mica_trace_clock(), 0.5);
    mica_trace_note(NULL, mica_trace_clock(), 0.5);
    CHECK_OK(mica_trace_stop(&text));
    run(exe, device);
    CHECK(strstr(text, "\"cat\":\"program\""));
    CHECK(strstr(text, "\"name\":\"a \\\"name\\\"\""));
    CHECK(strstr(text, "\"cat\":\"kernel\""));
    CHECK(strstr(text, "\"name\":\"tanh\""));
    CHECK(strstr(text, "\"dur\":500000.000,\"name\":\"a line\\u000a\""));
    CHECK(!strstr(text, "before"));
    mica_string_free(text);
    mica_executable_release(exe);
    mica_device_release(device);
}

TEST(one_trace_is_on_at_a_time) {
    char *text = "left";
    CHECK_FAILS(mica_trace_stop(&text), MICA_FAILED_PRECONDITION, "no trace is on");
    CHECK(!text);
    CHECK_OK(mica_trace_start());
    CHECK_FAILS(mica_trace_start(), MICA_FAILED_PRECONDITION, "a trace is on");
    CHECK_OK(mica_trace_stop(&text));
    CHECK(strstr(text, "\"events\":0,\"lost\":0"));
    mica_string_free(text);
    CHECK_FAILS(mica_trace_stop(NULL), MICA_INVALID_ARGUMENT, "out_text");
}

TEST(events_beyond_the_bound_are_counted) {
    char *text = NULL;
    CHECK_OK(mica_trace_start());
    double start = mica_trace_clock();
    for (int i = 0; i < (1 << 18) + 7; i++) mica_trace_note("x", start, 0);
    CHECK_OK(mica_trace_stop(&text));
    CHECK(strstr(text, "\"events\":262144,\"lost\":7"));
    mica_string_free(text);
}

TEST(a_trace_that_is_on_ends_with_mica_shutdown) {
    char *text = NULL;
    CHECK_OK(mica_trace_start());
    mica_trace_note("x", mica_trace_clock(), 0);
    mica_shutdown();
    CHECK_FAILS(mica_trace_stop(&text), MICA_FAILED_PRECONDITION, "no trace is on");
}
