/* MICA_CHECK=1: right programs pass, and a wrong kernel is named. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mica/mica.h"
#include "support/random_graph.h"
#include "test.h"

static mica_device *device;
static mica_tensor *inputs[4096], *outputs[4096];

/* What compiling and running gives. */
static mica_status run(const mica_graph *g, mica_tier tier, bool *out_generated) {
    mica_compile_options options = {.size = sizeof options, .tier = tier};
    mica_executable *exe = NULL;
    int32_t n = mica_graph_parameter_count(g), m = mica_graph_output_count(g);
    MICA_TRY(mica_executable_create(device, g, &options, &exe));
    *out_generated = mica_executable_is_generated(exe);
    for (int32_t i = 0; i < n; i++) {
        const mica_type *type = mica_value_type(mica_graph_parameter(g, i));
        void *data = malloc(mica_type_bytes(type) + 1);
        random_data((uint64_t)i, type, data);
        CHECK_OK(mica_tensor_from_host(device, type, data, &inputs[i]));
        free(data);
    }
    mica_run_args args = {
        .size = sizeof args, .inputs = inputs, .n_inputs = n, .outputs = outputs, .n_outputs = m};
    mica_event *done = NULL;
    mica_status status = mica_executable_run(exe, &args, &done);
    if (!status) status = mica_event_wait(done);
    mica_event_release(done);
    for (int32_t i = 0; i < n; i++) mica_tensor_release(inputs[i]);
    for (int32_t i = 0; i < m; i++) mica_tensor_release(outputs[i]);
    mica_executable_release(exe);
    return status;
}

static mica_graph *make_layer(void) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create("layer", &g));
    mica_type types[3] = {mica_type_make(MICA_DTYPE_f32, MICA_INTS(6, 40)),
                          mica_type_make(MICA_DTYPE_f32, MICA_INTS(40, 30)),
                          mica_type_make(MICA_DTYPE_f32, MICA_INTS(30))};
    mica_value x = mica_parameter(g, &types[0]), w = mica_parameter(g, &types[1]);
    mica_value b = mica_parameter(g, &types[2]);
    mica_value y = mica_add(g, mica_matmul(g, x, w), b);
    mica_value e = mica_exp(g, mica_reduce(g, y, "max", MICA_INTS(1)));
    mica_output(g, mica_mul(g, mica_tanh(g, e), e));
    mica_output(g, y);
    return g;
}

static char line[400];
static int lines;

static void keep_line(void *context, const char *topic, const char *text) {
    (void)context;
    if (strcmp(topic, "warning") != 0) return;
    snprintf(line, sizeof line, "%s", text);
    lines++;
}

/* A compiler that takes tanh for sin. */
static void write_compiler(const char *path) {
    FILE *file = fopen(path, "w");
    fprintf(file, "#!/bin/sh\nfor a in \"$@\"; do case $a in */unit.c) "
                  "sed -i 's/= mica_tanh_f32(a)/= mica_sin_f32(a)/' $a;; esac; done\n"
                  "exec cc \"$@\"\n");
    fclose(file);
    CHECK(chmod(path, 0700) == 0);
}

static void begin(void) {
    setenv("MICA_CHECK", "1", 1);
    CHECK_OK(mica_device_open("cpu", &device));
}

static void end(void) {
    unsetenv("MICA_CHECK");
    mica_device_release(device);
}

TEST(a_wrong_kernel_is_named_with_both_values) {
    char folder[] = "/tmp/mica-test-XXXXXX", compiler[64];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(compiler, sizeof compiler, "%s/compiler", folder);
    write_compiler(compiler);
    setenv("MICA_CC", compiler, 1);
    setenv("MICA_CACHE", "off", 1);
    setenv("MICA_LOG", "warning", 1); /* read once: this test is the first */
    mica_set_log(keep_line, NULL);
    begin();
    mica_graph *g = make_layer();
    bool generated = false;
    mica_status status = run(g, MICA_TIER_COMPILED, &generated);
    if (!generated) {
        mica_status_release(status);
        test_skip("no C compiler makes code for this machine");
    } else {
        const char *message = mica_status_message(status);
        CHECK(mica_status_code(status) == MICA_INTERNAL);
        CHECK(strstr(message, "tanh") != NULL);
        CHECK(strstr(message, "] element (0) of result 0 (mul) f32[6] is ") != NULL);
        CHECK(strstr(message, ", the reference gives ") != NULL);
        CHECK(lines == 1 && !strcmp(line, message));
        mica_status_release(status);
    }
    unsetenv("MICA_LOG");
    unsetenv("MICA_CC");
    unsetenv("MICA_CACHE");
    mica_graph_release(g);
    end();
    unlink(compiler);
    CHECK(rmdir(folder) == 0);
}

TEST(right_kernels_pass) {
    begin();
    bool generated;
    mica_graph *g = make_layer();
    CHECK_OK(run(g, MICA_TIER_BUILT_IN, &generated));
    CHECK_OK(run(g, MICA_TIER_COMPILED, &generated));
    mica_graph_release(g);
    end();
}

TEST(random_graphs_pass) {
    begin();
    int n = getenv("MICA_TEST_QUICK") ? 20 : 200;
    for (int i = 0; i < n; i++) {
        random_graph_options options = {.seed = (uint64_t)i, .n_nodes = 25};
        mica_graph *g = random_graph(&options);
        bool generated, plain = true;
        for (int32_t k = 0; k < mica_graph_output_count(g); k++)
            plain = plain && mica_value_type(mica_graph_output(g, k))->kind == MICA_TENSOR;
        mica_status status = plain ? run(g, MICA_TIER_BUILT_IN, &generated) : NULL;
        if (status) test_report(__FILE__, __LINE__, "%d: %s", i, mica_status_message(status));
        mica_status_release(status);
        mica_graph_release(g);
    }
    CHECK(true);
    end();
}

TEST(eager_operations_are_compared_too) {
    begin();
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(5));
    float data[5] = {1, -2, 3, 0.5f, 0}, result[5];
    mica_tensor *x = NULL, *y = NULL;
    CHECK_OK(mica_tensor_from_host(device, &type, data, &x));
    CHECK_OK(mica_eager(device, MICA_OP_tanh, &x, 1, NULL, &y));
    CHECK_OK(mica_tensor_to_host(y, result, sizeof result));
    CHECK(fabsf(result[0] - tanhf(1)) < 1e-6f);
    mica_tensor_release(x);
    mica_tensor_release(y);
    end();
}
