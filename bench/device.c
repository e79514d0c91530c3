/* What a device does in a second: `bench_device cuda`. One line per case; the first is the device.
 *
 *     bench_device DEVICE [SECONDS per case]
 */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/platform.h"

static double seconds_of_a_case = 0.5;

static void check(mica_status status, const char *what) {
    if (!status) return;
    printf("%s: %s\n", what, mica_status_message(status));
    mica_status_release(status);
    exit(1);
}

static mica_tensor *make_tensor(mica_device *device, mica_dtype dtype, mica_ints dims,
                                double spread) {
    mica_type type = mica_type_make(dtype, dims);
    size_t bytes = mica_type_bytes(&type);
    uint8_t *data = calloc(bytes, 1);
    uint64_t state = 12345;
    for (int64_t i = 0; dtype == MICA_DTYPE_f32 && i < mica_type_elements(&type); i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        ((float *)(void *)data)[i] = (float)(spread * ((double)(state >> 40) / 8388608.0 - 1.0));
    }
    mica_tensor *tensor = NULL;
    check(mica_tensor_from_host(device, &type, data, &tensor), "tensor");
    free(data);
    return tensor;
}

/* Runs per second of an executable whose first `state` outputs are the next run's inputs. */
static double measure(mica_device *device, mica_executable *exe, mica_tensor **inputs, int32_t n,
                      int32_t state, int32_t outputs) {
    mica_tensor *out[32] = {NULL};
    uint8_t donate[32] = {0};
    memset(donate, 1, (size_t)state);
    double start = 0;
    int64_t runs = -20;
    for (;; runs++) {
        if (runs == 0) {
            check(mica_device_wait(device), "wait");
            start = mica_clock_seconds();
        }
        mica_run_args args = {.size = sizeof args,
                              .inputs = inputs,
                              .n_inputs = n,
                              .donate = state ? donate : NULL,
                              .outputs = out,
                              .n_outputs = outputs};
        check(mica_executable_run(exe, &args, NULL), "run");
        for (int32_t i = 0; i < outputs; i++) {
            if (i < state) {
                mica_tensor_release(inputs[i]);
                inputs[i] = out[i];
            } else {
                mica_tensor_release(out[i]);
            }
        }
        if (runs > 0 && mica_clock_seconds() - start > seconds_of_a_case) break;
    }
    check(mica_device_wait(device), "wait");
    return (double)runs / (mica_clock_seconds() - start);
}

static double run_graph(mica_device *device, mica_graph *g, mica_tensor **inputs, int32_t n,
                        int32_t state, int32_t outputs) {
    mica_executable *exe = NULL;
    mica_compile_options options = {.size = sizeof options, .tier = MICA_TIER_COMPILED};
    double start = mica_clock_seconds();
    check(mica_executable_create(device, g, &options, &exe), "compile");
    double compiled = mica_clock_seconds() - start;
    double rate = measure(device, exe, inputs, n, state, outputs);
    printf("    (compiled in %.2f s)\n", compiled);
    mica_executable_release(exe);
    mica_graph_release(g);
    for (int32_t i = 0; i < n; i++) mica_tensor_release(inputs[i]);
    return rate;
}

static mica_graph *new_graph(const char *name) {
    mica_graph *g = NULL;
    check(mica_graph_create(name, &g), name);
    return g;
}

/* ---- cases ------------------------------------------------------------------------------------*/

static void bench_launch(mica_device *device) {
    mica_graph *g = new_graph("add");
    mica_tensor *x[2] = {make_tensor(device, MICA_DTYPE_f32, MICA_INTS(16), 1),
                         make_tensor(device, MICA_DTYPE_f32, MICA_INTS(16), 1)};
    mica_value a = mica_parameter(g, mica_tensor_type(x[0]));
    mica_value b = mica_parameter(g, mica_tensor_type(x[1]));
    mica_output(g, mica_add(g, a, b));
    double rate = run_graph(device, g, x, 2, 0, 1);
    printf("run of one small add                 %10.2f us\n", 1e6 / rate);
}

static void bench_eager(mica_device *device) {
    mica_tensor *x[2] = {make_tensor(device, MICA_DTYPE_f32, MICA_INTS(16), 1),
                         make_tensor(device, MICA_DTYPE_f32, MICA_INTS(16), 1)},
                *y = NULL;
    double start = 0;
    int64_t n = -100;
    for (; n < 20000; n++) {
        if (n == 0) start = mica_clock_seconds();
        check(mica_eager(device, MICA_OP_add, x, 2, NULL, &y), "add");
        mica_tensor_release(y);
    }
    check(mica_device_wait(device), "wait");
    printf("eager add of 16 elements             %10.2f us\n",
           1e6 * (mica_clock_seconds() - start) / (double)n);
    mica_tensor_release(x[0]);
    mica_tensor_release(x[1]);
}

typedef mica_value (*builder)(mica_graph *g, mica_value x);

/* One operand of f32, of bytes that no cache holds. */
static void bench_bytes(mica_device *device, const char *name, mica_ints dims, builder build) {
    mica_graph *g = new_graph(name);
    mica_tensor *x[1] = {make_tensor(device, MICA_DTYPE_f32, dims, 1)};
    mica_value y = build(g, mica_parameter(g, mica_tensor_type(x[0])));
    check(mica_graph_check(g), name);
    double bytes = (double)mica_type_bytes(mica_tensor_type(x[0])) +
                   (double)mica_type_bytes(mica_value_type(y));
    mica_output(g, y);
    double rate = run_graph(device, g, x, 1, 0, 1);
    printf("%-36s %10.1f GB/s\n", name, 1e-9 * bytes * rate);
}

static mica_value build_exp(mica_graph *g, mica_value x) {
    return mica_exp(g, mica_neg(g, mica_mul(g, x, x)));
}
static mica_value build_transpose(mica_graph *g, mica_value x) {
    return mica_transpose(g, x, MICA_INTS(1, 0));
}
static mica_value build_row_sum(mica_graph *g, mica_value x) {
    return mica_reduce(g, x, "sum", MICA_INTS(1));
}
static mica_value build_column_sum(mica_graph *g, mica_value x) {
    return mica_reduce(g, x, "sum", MICA_INTS(0));
}
static mica_value build_all_sum(mica_graph *g, mica_value x) {
    return mica_reduce(g, x, "sum", MICA_INTS(0, 1));
}
static mica_value build_softmax(mica_graph *g, mica_value x) {
    int64_t rows = mica_value_type(x)->dims[0], columns = mica_value_type(x)->dims[1];
    mica_ints shape = MICA_INTS(rows, columns);
    mica_value most =
        mica_broadcast(g, mica_reduce(g, x, "max", MICA_INTS(1)), shape, MICA_INTS(0));
    mica_value e = mica_exp(g, mica_sub(g, x, most));
    mica_value sum = mica_broadcast(g, mica_reduce(g, e, "sum", MICA_INTS(1)), shape, MICA_INTS(0));
    return mica_div(g, e, sum);
}

static void bench_dot(mica_device *device, mica_dtype dtype, int64_t n) {
    mica_graph *g = new_graph("dot");
    mica_tensor *x[2] = {make_tensor(device, dtype, MICA_INTS(n, n), 1),
                         make_tensor(device, dtype, MICA_INTS(n, n), 1)};
    mica_value a = mica_parameter(g, mica_tensor_type(x[0]));
    mica_value b = mica_parameter(g, mica_tensor_type(x[1]));
    mica_output(g, mica_dot(g, a, b, MICA_INTS(1), MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS));
    double rate = run_graph(device, g, x, 2, 0, 1);
    printf("dot %s %5lld x %-5lld                 %10.2f TFLOP/s\n", mica_dtype_name(dtype),
           (long long)n, (long long)n, 2e-12 * (double)n * (double)n * (double)n * rate);
}

/* A step of training: 784-512-512-10, batches of 128, plain descent. */
static mica_value dense(mica_graph *g, mica_value x, mica_value w, mica_value b) {
    int64_t rows = mica_value_type(x)->dims[0], columns = mica_value_type(w)->dims[1];
    mica_value y = mica_dot(g, x, w, MICA_INTS(1), MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS);
    return mica_add(g, y, mica_broadcast(g, b, MICA_INTS(rows, columns), MICA_INTS(1)));
}

static mica_value splat(mica_graph *g, float value, const mica_type *like) {
    mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
    mica_value v = mica_constant(g, (mica_data){&scalar, &value});
    return mica_broadcast(g, v, (mica_ints){like->dims, like->rank}, MICA_NO_INTS);
}

static void bench_mlp(mica_device *device) {
    enum { B = 128, H = 512 };
    mica_graph *g = new_graph("mlp");
    mica_tensor *x[8] = {make_tensor(device, MICA_DTYPE_f32, MICA_INTS(784, H), 0.05),
                         make_tensor(device, MICA_DTYPE_f32, MICA_INTS(H), 0),
                         make_tensor(device, MICA_DTYPE_f32, MICA_INTS(H, H), 0.05),
                         make_tensor(device, MICA_DTYPE_f32, MICA_INTS(H), 0),
                         make_tensor(device, MICA_DTYPE_f32, MICA_INTS(H, 10), 0.05),
                         make_tensor(device, MICA_DTYPE_f32, MICA_INTS(10), 0),
                         make_tensor(device, MICA_DTYPE_f32, MICA_INTS(B, 784), 1),
                         make_tensor(device, MICA_DTYPE_f32, MICA_INTS(B, 10), 1)};
    mica_value p[8], gradients[6];
    for (int i = 0; i < 8; i++) p[i] = mica_parameter(g, mica_tensor_type(x[i]));
    mica_value h = dense(g, p[6], p[0], p[1]);
    h = mica_max(g, h, splat(g, 0, mica_value_type(h)));
    h = dense(g, h, p[2], p[3]);
    h = mica_max(g, h, splat(g, 0, mica_value_type(h)));
    h = dense(g, h, p[4], p[5]);
    mica_value s = mica_log(g, build_softmax(g, h));
    mica_value loss = mica_neg(g, mica_reduce(g, mica_mul(g, s, p[7]), "sum", MICA_INTS(0, 1)));
    mica_gradient(g, loss, p, 6, gradients);
    for (int i = 0; i < 6; i++)
        mica_output(
            g, mica_sub(g, p[i],
                        mica_mul(g, gradients[i], splat(g, 1e-6f, mica_value_type(gradients[i])))));
    mica_output(g, loss);
    check(mica_graph_check(g), "mlp");
    double rate = run_graph(device, g, x, 8, 6, 7);
    printf("MLP 784-512-512-10 B128 training     %10.1f step/s\n", rate);
}

int main(int argc, char **argv) {
    mica_device *device = NULL;
    if (argc < 2) {
        printf("usage: bench_device DEVICE [SECONDS]\n");
        return 2;
    }
    if (argc > 2) seconds_of_a_case = atof(argv[2]);
    int64_t large = !strncmp(argv[1], "cuda", 4) ? 16384 : 2048;
    setvbuf(stdout, NULL, _IOLBF, 0);
    check(mica_device_open(argv[1], &device), argv[1]);
    printf("%s: %s\n", mica_device_name(device), mica_device_description(device));
    bench_launch(device);
    bench_eager(device);
    bench_bytes(device, "exp(-x x)", MICA_INTS(large, 4096), build_exp);
    bench_bytes(device, "transpose", MICA_INTS(large, 4096), build_transpose);
    bench_bytes(device, "sum of rows", MICA_INTS(large, 4096), build_row_sum);
    bench_bytes(device, "sum of columns", MICA_INTS(large, 4096), build_column_sum);
    bench_bytes(device, "sum of all", MICA_INTS(large, 4096), build_all_sum);
    bench_bytes(device, "softmax of rows of 1024", MICA_INTS(large, 1024), build_softmax);
    bench_dot(device, MICA_DTYPE_f32, large / 4);
    bench_dot(device, MICA_DTYPE_bf16, large / 4);
    bench_mlp(device);
    mica_device_release(device);
    mica_shutdown();
    return 0;
}
