/* What the tests of runtime/ share. */
#ifndef MICA_TESTS_RUNTIME_TEST_H
#define MICA_TESTS_RUNTIME_TEST_H

#include <mica/mica.h>

#include "test.h"

static inline mica_type vector(int64_t n) {
    return mica_type_make(MICA_DTYPE_f32, MICA_INTS(n));
}

static inline mica_device *open_device(const char *name) {
    mica_device *device = NULL;
    CHECK_OK(mica_device_open(name, &device));
    return device;
}

static inline mica_graph *new_graph(const char *name) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create(name, &g));
    return g;
}

static inline mica_tensor *floats(mica_device *device, const float *data, int64_t n) {
    mica_tensor *t = NULL;
    mica_type type = vector(n);
    CHECK_OK(mica_tensor_from_host(device, &type, data, &t));
    return t;
}

static inline mica_tensor *scalar_of(mica_device *device, mica_dtype dtype, const void *data) {
    mica_tensor *t = NULL;
    mica_type type = mica_type_scalar(dtype);
    CHECK_OK(mica_tensor_from_host(device, &type, data, &t));
    return t;
}

static inline mica_executable *compile(mica_device *device, const mica_graph *g,
                                       const char *passes) {
    mica_executable *exe = NULL;
    mica_compile_options options = {.size = sizeof options, .passes = passes};
    CHECK_OK(mica_executable_create(device, g, &options, &exe));
    return exe;
}

/* Waits for nothing. */
static inline mica_status run(mica_executable *exe, mica_tensor *const *inputs, int32_t n_inputs,
                              const uint8_t *donate, mica_tensor **outputs, int32_t n_outputs) {
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = n_inputs,
                          .donate = donate,
                          .outputs = outputs,
                          .n_outputs = n_outputs};
    return mica_executable_run(exe, &args, NULL);
}

static inline float first_float(mica_tensor *t) {
    float data[64] = {NAN};
    size_t bytes = mica_type_bytes(mica_tensor_type(t));
    if (bytes > sizeof data) return NAN;
    CHECK_OK(mica_tensor_to_host(t, data, bytes));
    return data[0];
}

/* The address of a tensor's data on the host; only on devices that compute there. */
static inline void *address_of(mica_tensor *t) {
    void *data = NULL;
    CHECK_OK(mica_tensor_open_view(t, MICA_READ, &data));
    CHECK_OK(mica_tensor_close_view(t));
    return data;
}

/* Runs g on a device with the given inputs, on the host; outputs of at most 4096 bytes each. */
typedef struct outcome {
    char bytes[8][4096];
} outcome;

static inline bool evaluate(const char *device_name, const char *passes, const mica_graph *g,
                            const void *const *inputs, outcome *out) {
    mica_device *device = open_device(device_name);
    mica_executable *exe = compile(device, g, passes);
    mica_tensor *in[8] = {NULL}, *outputs[8] = {NULL};
    bool good = exe != NULL;
    int32_t n_inputs = mica_graph_parameter_count(g), n_outputs = mica_graph_output_count(g);
    memset(out, 0, sizeof *out);
    for (int32_t i = 0; i < n_inputs && good; i++)
        good = test_ok(mica_tensor_from_host(device, mica_value_type(mica_graph_parameter(g, i)),
                                             inputs[i], &in[i]),
                       __FILE__, __LINE__, "from_host");
    /* Where runs are recorded, the second is, and the third is replayed. */
    for (int k = strcmp(device_name, "fake") ? 2 : 0; k < 3 && good; k++) {
        for (int32_t i = 0; i < n_outputs; i++) mica_tensor_release(outputs[i]), outputs[i] = NULL;
        good = test_ok(run(exe, in, n_inputs, NULL, outputs, n_outputs), __FILE__, __LINE__,
                       device_name);
    }
    for (int32_t i = 0; i < n_outputs && good; i++)
        good = test_ok(mica_tensor_to_host(outputs[i], out->bytes[i],
                                           mica_type_bytes(mica_tensor_type(outputs[i]))),
                       __FILE__, __LINE__, device_name);
    for (int32_t i = 0; i < 8; i++) mica_tensor_release(in[i]), mica_tensor_release(outputs[i]);
    mica_executable_release(exe);
    mica_device_release(device);
    return good;
}

#endif
