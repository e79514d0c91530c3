/* Tensors and executables, on every device that computes. */
#include <mica/mica.h>

#include "test.h"

static const char *const devices[] = {"cpu", "fake", "ref"};
enum { DEVICES = sizeof devices / sizeof *devices };

static mica_type vector(int64_t n) {
    return mica_type_make(MICA_DTYPE_f32, MICA_INTS(n));
}

static mica_tensor *tensor_of(mica_device *device, const float *data, int64_t n) {
    mica_tensor *t = NULL;
    mica_type type = vector(n);
    CHECK_OK(mica_tensor_from_host(device, &type, data, &t));
    return t;
}

/* tanh(x + b) * x, b of one element */
static mica_executable *make_example(mica_device *device, const char *passes) {
    mica_graph *g = NULL;
    mica_executable *exe = NULL;
    CHECK_OK(mica_graph_create("example", &g));
    mica_type four = vector(4), one = vector(1);
    mica_value x = mica_parameter(g, &four), b = mica_parameter(g, &one);
    mica_output(g, mica_mul(g, mica_tanh(g, mica_add(g, x, b)), x));
    mica_compile_options options = {.size = sizeof options, .passes = passes};
    CHECK_OK(mica_executable_create(device, g, &options, &exe));
    mica_graph_release(g);
    return exe;
}

static mica_tensor *run2(mica_executable *exe, mica_tensor *a, mica_tensor *b) {
    mica_tensor *inputs[] = {a, b}, *output = NULL;
    mica_run_args args = {
        .size = sizeof args, .inputs = inputs, .n_inputs = 2, .outputs = &output, .n_outputs = 1};
    CHECK_OK(mica_executable_run(exe, &args, NULL));
    return output;
}

TEST(a_graph_runs_and_gives_its_values) {
    for (int d = 0; d < DEVICES; d++) {
        for (int p = 0; p < 2; p++) {
            mica_device *device = NULL;
            REQUIRE_OK(mica_device_open(devices[d], &device));
            mica_executable *exe =
                make_example(device, p ? "-simplify,-inline,-schedule,-plan" : NULL);
            float xs[4] = {0, 0.5f, -1, 2}, bs[1] = {0.25f}, ys[4] = {0};
            mica_tensor *x = tensor_of(device, xs, 4), *b = tensor_of(device, bs, 1);
            mica_tensor *y = run2(exe, x, b);
            REQUIRE(y);
            CHECK_OK(mica_tensor_to_host(y, ys, sizeof ys));
            for (int i = 0; i < 4; i++) CHECK_NEAR(ys[i], tanh(xs[i] + 0.25) * xs[i], 1e-6);
            mica_tensor_release(x);
            mica_tensor_release(b);
            mica_tensor_release(y);
            mica_executable_release(exe);
            mica_device_release(device);
        }
    }
}
