/* Ops of files on parts of variables, and checks of numbers. The wanted values are TensorFlow's:
 * tests/tf/saved_models/expected.json. */
#include <string.h>

#include "mica/mica.h"
#include "test.h"

#define MODEL "tests/tf/saved_models/resources"

static mica_device *device;
static mica_saved_model *model;

static bool begin(void) {
    CHECK_OK(mica_device_open("cpu", &device));
    return test_ok(mica_saved_model_load(MODEL, device, NULL, &model), __FILE__, __LINE__, MODEL);
}

static void finish(void) {
    mica_saved_model_release(model);
    mica_device_release(device);
    model = NULL;
    device = NULL;
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

static mica_tf_value value_of(mica_dtype dtype, mica_ints dims, const void *data) {
    mica_type type = mica_type_make(dtype, dims);
    mica_tensor *tensor = NULL;
    CHECK_OK(mica_tensor_from_host(device, &type, data, &tensor));
    return tensor ? mica_tf_value_of(tensor) : (mica_tf_value){0};
}

/* Runs a signature of one input, and compares one of its results, which has so many numbers. */
static void check(const char *signature, mica_tf_value x, int32_t n_results, int32_t result,
                  const float *wanted, int32_t n) {
    mica_tf_value results[6] = {{0}};
    float got[6] = {0};
    if (!test_ok(mica_saved_model_run(model, signature, &x, 1, results, n_results), __FILE__,
                 __LINE__, signature))
        return;
    REQUIRE(results[result].dtype == MICA_TF_float32);
    CHECK_OK(mica_tensor_to_host(results[result].object, got, sizeof *got * (size_t)n));
    for (int32_t i = 0; i < n; i++) CHECK_NEAR(got[i], wanted[i], 1e-6);
    for (int32_t i = 0; i < n_results; i++) mica_tf_value_release(results[i]);
}

static void check_fails(const char *signature, mica_tf_value x, int32_t n_results,
                        const char *words) {
    mica_tf_value results[6] = {{0}};
    mica_status status = mica_saved_model_run(model, signature, &x, 1, results, n_results);
    CHECK(status && mica_status_code(status) == MICA_INVALID_ARGUMENT);
    CHECK(status && strstr(mica_status_message(status), words));
    mica_status_release(status);
}

TEST(slices_of_variables_are_changed) {
    if (!begin()) return;
    mica_tf_value x = value_of(MICA_DTYPE_f32, MICA_INTS(2, 2), (float[]){1.5f, -2, 0.25f, 8});
    check("slices", x, 6, 0, (float[]){1.25f, 10, 3, 4, 6.5f, 4}, 6);
    check("slices", x, 6, 1, (float[]){1, 2, 3, 4, 5, 6}, 6);
    check("slices", x, 6, 2, (float[]){1, 8, 3, 4, 5, 6}, 6);
    check("slices", x, 6, 3, (float[]){0.25f, 8, 3, 4, 1.5f, -2}, 6);
    check("slices", x, 6, 4, (float[]){0.25f, 8, 3, 4, 1.5f, -2}, 6);
    check("slices", x, 6, 5, (float[]){1.75f, 6, 1.5f, 6, 2.75f, 7}, 6);
    mica_tf_value_release(x);
    x = value_of(MICA_DTYPE_f32, MICA_INTS(3, 2), (float[6]){0});
    check_fails("slices", x, 6, "hape");
    mica_tf_value_release(x);
    finish();
}

TEST(places_in_variables_are_changed) {
    if (!begin()) return;
    mica_tf_value x = value_of(MICA_DTYPE_f32, MICA_INTS(2), (float[]){1.5f, 0.25f});
    check("places", x, 6, 0, (float[]){1, 3.5f, 3, 4, 5.25f, 6}, 6);
    check("places", x, 6, 1, (float[]){1, 2, 3, 4, 5, 6}, 6);
    check("places", x, 6, 2, (float[]){1, 2, 3, 4, 5, 6}, 6);
    check("places", x, 6, 3, (float[]){1, 1.5f, 3, 4, 0.25f, 6}, 6);
    check("places", x, 6, 4, (float[]){1, 1.5f, 3, 4, 0.25f, 6}, 6);
    check("places", x, 6, 5, (float[]){0.875f, 1.3125f, 2.625f, 3.5f, 0.21875f, 5.25f}, 6);
    mica_tf_value_release(x);
    finish();
}

TEST(places_in_variables_are_read_and_those_beyond_refused) {
    if (!begin()) return;
    mica_tf_value x = value_of(MICA_DTYPE_i32, MICA_INTS(2, 2), (int32_t[]){0, 1, 2, 0});
    check("read", x, 3, 0, (float[]){2, 5}, 2);
    mica_tf_value_release(x);
    x = value_of(MICA_DTYPE_i32, MICA_INTS(1, 2), (int32_t[]){1, 1});
    check("read", x, 3, 2, (float[]){4}, 1);
    mica_tf_value_release(x);
    x = value_of(MICA_DTYPE_i32, MICA_INTS(1, 2), (int32_t[]){3, 0});
    check_fails("read", x, 3, "does not index into");
    mica_tf_value_release(x);
    finish();
}

TEST(places_beyond_that_are_to_be_ignored_are_an_error_of_their_function_alone) {
    if (!begin()) return;
    mica_tf_value x = value_of(MICA_DTYPE_i32, MICA_INTS(1, 1), (int32_t[]){0}), y = {0};
    mica_status status = mica_saved_model_run(model, "ignored", &x, 1, &y, 1);
    CHECK(status && mica_status_code(status) == MICA_UNSUPPORTED);
    CHECK(status && strstr(mica_status_message(status), "bad_indices_policy 'IGNORE' must be"));
    mica_status_release(status);
    mica_tf_value_release(x);
    finish();
}

TEST(numbers_are_checked) {
    if (!begin()) return;
    const float nan = (float)NAN, infinity = (float)INFINITY;
    mica_tf_value x = value_of(MICA_DTYPE_f32, MICA_INTS(2), (float[]){1, 4});
    check("checked", x, 2, 0, (float[]){2, 4}, 2);
    check("checked", x, 2, 1, (float[]){0.5f, 0.25f}, 2);
    mica_tf_value_release(x);
    x = value_of(MICA_DTYPE_f32, MICA_INTS(2), (float[]){nan, infinity});
    check_fails("checked", x, 2, "x is bad : Tensor had Inf and NaN values");
    mica_tf_value_release(x);
    x = value_of(MICA_DTYPE_f32, MICA_INTS(2), (float[]){1, -1});
    check_fails("checked", x, 2, "z is bad : Tensor had NaN values");
    mica_tf_value_release(x);
    finish();
}
