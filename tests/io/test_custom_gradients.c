/* Custom gradients that TensorFlow saved with a model. The wanted values are those that TensorFlow
 * gives for the loaded model: tests/tf/saved_models/make.py prints them. */
#include "mica/mica.h"
#include "test.h"

#define MODELS "tests/tf/saved_models/"

static mica_device *device;
static mica_saved_model *model;

static bool begin(const char *of) {
    CHECK_OK(mica_device_open("cpu", &device));
    return test_ok(mica_saved_model_load(of, device, NULL, &model), __FILE__, __LINE__, of);
}

static void finish(void) {
    mica_saved_model_release(model);
    mica_device_release(device);
    model = NULL;
    device = NULL;
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

static mica_tf_value numbers(const float *data) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2));
    mica_tensor *tensor = NULL;
    CHECK_OK(mica_tensor_from_host(device, &type, data, &tensor));
    return tensor ? mica_tf_value_of(tensor) : (mica_tf_value){0};
}

static void check_numbers(mica_tf_value value, const float *wanted) {
    float got[2] = {0};
    REQUIRE(value.dtype == MICA_TF_float32 && value.object);
    REQUIRE_OK(mica_tensor_to_host(value.object, got, sizeof got));
    for (int i = 0; i < 2; i++) CHECK_NEAR(got[i], wanted[i], 1e-5 * (1 + fabs(wanted[i])));
}

/* The gradients of the sum of a signature's result with respect to x and w. */
static void check_gradients(const char *signature, const float *y, const float *dx,
                            const float *dw) {
    mica_tf_graph *graph = NULL, *forward = NULL, *backward = NULL;
    mica_tf_value results[16] = {{0}}, gradients[2] = {{0}};
    mica_tf_value x = numbers((float[]){0.5f, -0.25f}), one = numbers((float[]){1, 1});
    uint8_t wanted[2] = {1, 1}, connected[2] = {0};
    REQUIRE_OK(mica_saved_model_graph(model, signature, &graph, NULL, NULL));
    REQUIRE_OK(mica_tf_graph_backward(graph, wanted, connected, &forward, &backward));
    CHECK(connected[0] == 1 && connected[1] == 1);
    int32_t n = mica_tf_graph_output_count(forward);
    REQUIRE(n <= 16 && mica_tf_graph_parameter_count(backward) == n);
    mica_tf_value inputs[2] = {x, mica_saved_model_variable(model, "w")};
    REQUIRE_OK(mica_tf_graph_run(forward, device, inputs, 2, results, n));
    check_numbers(results[0], y);
    mica_tf_value_release(results[0]);
    results[0] = one;
    REQUIRE_OK(mica_tf_graph_run(backward, device, results, n, gradients, 2));
    check_numbers(gradients[0], dx);
    check_numbers(gradients[1], dw);
    for (int32_t i = 0; i < n; i++) mica_tf_value_release(results[i]);
    for (int32_t i = 0; i < 2; i++) mica_tf_value_release(gradients[i]);
    mica_tf_value_release(x);
    mica_tf_graph_release(forward);
    mica_tf_graph_release(backward);
    mica_tf_graph_release(graph);
}

TEST(a_custom_gradient_takes_the_place_of_the_values_own) {
    if (!begin(MODELS "custom")) return;
    check_gradients("four", (float[]){3, -2.5f}, (float[]){12, 20}, (float[]){1, -0.5f});
    finish();
}

/* A value of the function, an integer that has no cotangent, and the variable. */
TEST(a_custom_gradient_gets_what_it_needs) {
    if (!begin(MODELS "custom")) return;
    check_gradients("captured", (float[]){5.481689f, 1.2865047f}, (float[]){121.00559f, 21.487862f},
                    (float[]){20.167599f, -1.074393f});
    finish();
}

TEST(a_custom_gradient_that_was_not_saved_is_an_error_when_it_is_asked_for) {
    if (!begin(MODELS "lost")) return;
    mica_tf_graph *graph = NULL, *forward = NULL, *backward = NULL;
    uint8_t wanted[2] = {1, 0}, connected[2] = {0};
    mica_tf_value x = numbers((float[]){0.5f, -0.25f}), y = {0};
    CHECK_OK(mica_saved_model_run(model, "four", &x, 1, &y, 1));
    check_numbers(y, (float[]){3, -2.5f});
    mica_tf_value_release(x);
    mica_tf_value_release(y);
    REQUIRE_OK(mica_saved_model_graph(model, "four", &graph, NULL, NULL));
    CHECK_FAILS(mica_tf_graph_backward(graph, wanted, connected, &forward, &backward),
                MICA_UNSUPPORTED, "its custom gradient was not saved with the model");
    CHECK(!forward && !backward);
    mica_tf_graph_release(graph);
    finish();
}

TEST(building_a_custom_gradient_survives_the_failure_of_any_allocation) {
    if (!begin(MODELS "custom")) return;
    mica_tf_graph *graph = NULL;
    for (int64_t n = 1; n < 20000 && !graph; n++) {
        mica_memory_fail_nth(n, false);
        mica_status status = mica_saved_model_graph(model, "captured", &graph, NULL, NULL);
        mica_memory_fail_nth(0, false);
        CHECK(!status || mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
    }
    CHECK(graph);
    mica_tf_graph_release(graph);
    finish();
}
