/* Cutting a graph in two: the same results, nothing computed twice. */
#include <mica/mica.h>

#include "test.h"

static mica_value vector_parameter(mica_graph *g) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(3));
    return mica_parameter(g, &type);
}

static void run(mica_device *device, mica_graph *g, mica_tensor **inputs, mica_tensor **outputs) {
    mica_executable *exe = NULL;
    REQUIRE_OK(mica_executable_create(device, g, NULL, &exe));
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = mica_graph_parameter_count(g),
                          .outputs = outputs,
                          .n_outputs = mica_graph_output_count(g)};
    CHECK_OK(mica_executable_run(exe, &args, NULL));
    mica_executable_release(exe);
}

static int count(const mica_graph *g, const char *word) {
    char *text = NULL;
    int n = 0;
    CHECK_OK(mica_graph_print(g, &text));
    for (const char *at = text; at && (at = strstr(at, word)); at++) n++;
    mica_string_free(text);
    return n;
}

TEST(a_gradient_is_cut_from_its_forward_pass) {
    mica_graph *g = NULL, *first = NULL, *second = NULL;
    mica_device *device = NULL;
    REQUIRE_OK(mica_device_open("cpu", &device));
    REQUIRE_OK(mica_graph_create("both", &g));
    mica_value x = vector_parameter(g), w = vector_parameter(g), seed = vector_parameter(g);
    mica_value y = mica_tanh(g, mica_mul(g, x, w)), gradients[2];
    mica_output(g, y);
    mica_vjp(g, &y, &seed, 1, (mica_value[]){x, w}, 2, gradients);
    mica_output(g, gradients[0]);
    mica_output(g, gradients[1]);
    uint8_t uses[3] = {9, 9, 9};
    int32_t n_residuals = 0;
    REQUIRE_OK(mica_cut(g, 2, 1, uses, &first, &second, &n_residuals));
    CHECK(uses[0] == 1 && uses[1] == 1 && uses[2] == 1);
    CHECK(mica_graph_parameter_count(first) == 2 &&
          mica_graph_output_count(first) == 1 + n_residuals);
    CHECK(mica_graph_parameter_count(second) == 3 + n_residuals);
    CHECK(mica_graph_output_count(second) == 2);
    CHECK_OK(mica_graph_verify(first));
    CHECK_OK(mica_graph_verify(second));
    CHECK(count(first, "tanh") == 1 && count(second, "tanh") == 0);

    float numbers[3][3] = {{1, 2, 3}, {0.5f, -0.25f, 0.125f}, {1, 10, 100}}, out[2][3], whole[3][3];
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(3));
    mica_tensor *inputs[8] = {NULL}, *results[8] = {NULL}, *parts[8] = {NULL}, *back[2] = {NULL};
    for (int i = 0; i < 3; i++)
        REQUIRE_OK(mica_tensor_from_host(device, &type, numbers[i], &inputs[i]));
    run(device, g, inputs, results);
    run(device, first, inputs, parts);
    for (int i = 0; i < n_residuals; i++) inputs[3 + i] = parts[1 + i];
    run(device, second, inputs, back);
    for (int i = 0; i < 3; i++) CHECK_OK(mica_tensor_to_host(results[i], whole[i], 12));
    for (int i = 0; i < 2; i++) CHECK_OK(mica_tensor_to_host(back[i], out[i], 12));
    CHECK(memcmp(whole[1], out, sizeof out) == 0);
    for (int i = 0; i < 3; i++) mica_tensor_release(inputs[i]), mica_tensor_release(results[i]);
    for (int i = 0; i <= n_residuals; i++) mica_tensor_release(parts[i]);
    for (int i = 0; i < 2; i++) mica_tensor_release(back[i]);
    mica_graph_release(first);
    mica_graph_release(second);
    mica_graph_release(g);
    mica_device_release(device);
}

TEST(constants_and_stretched_values_are_made_again) {
    mica_graph *g = NULL, *first = NULL, *second = NULL;
    REQUIRE_OK(mica_graph_create("stretched", &g));
    mica_value x = vector_parameter(g), c = mica_full_like(g, x, 2);
    mica_value wide = mica_broadcast_to(g, x, MICA_INTS(1000, 3));
    mica_output(g, mica_mul(g, wide, mica_broadcast_to(g, c, MICA_INTS(1000, 3))));
    mica_output(g, mica_add(g, wide, mica_broadcast_to(g, c, MICA_INTS(1000, 3))));
    uint8_t uses[1];
    int32_t n_residuals = -1;
    REQUIRE_OK(mica_cut(g, 1, 1, uses, &first, &second, &n_residuals));
    CHECK(n_residuals == 0 && uses[0] == 1);
    mica_graph_release(first);
    mica_graph_release(second);
    mica_graph_release(g);
}

TEST(what_cannot_be_cut_is_refused) {
    mica_graph *g = NULL, *first = NULL, *second = NULL;
    REQUIRE_OK(mica_graph_create("late", &g));
    mica_value x = vector_parameter(g), y = vector_parameter(g);
    mica_output(g, mica_add(g, x, y));
    uint8_t uses[2];
    int32_t n_residuals = 0;
    CHECK_FAILS(mica_cut(g, 1, 1, uses, &first, &second, &n_residuals), MICA_INVALID_ARGUMENT,
                "depend on parameter 1");
    CHECK_FAILS(mica_cut(g, 3, 1, uses, &first, &second, &n_residuals), MICA_INVALID_ARGUMENT,
                "cut at 3");
    CHECK(!first && !second);
    for (int64_t n = 1; n < 60; n++) { /* nothing is lost when memory runs out */
        mica_memory_fail_nth(n, false);
        mica_status status = mica_cut(g, 2, 1, uses, &first, &second, &n_residuals);
        mica_memory_fail_nth(0, false);
        CHECK(!status || mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
        mica_graph_release(first);
        mica_graph_release(second);
    }
    mica_graph_release(g);
}
