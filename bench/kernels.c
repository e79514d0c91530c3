/* Speed of the built-in kernels: GFLOP/s of contractions, GB/s of the rest.
 *
 *     cmake --build build --target bench_kernels && build/bench_kernels [--cpu] [part of a name]
 *
 * --cpu counts processor time of all threads instead of time, for a machine that others use too.
 * MICA_ISA and MICA_THREADS choose the instruction set and the threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/platform.h"
#include "base/pool.h"
#include "device/cpu/kernels.h"

static const char *wanted;
static bool counts_cpu;

static double now(void) {
    struct timespec t;
    clock_gettime(counts_cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static mica_value parameter(mica_graph *g, mica_dtype dtype, mica_ints dims) {
    mica_type type = mica_type_make(dtype, dims);
    return mica_parameter(g, &type);
}

/* Runs y's node for a while; prints work per second in 10^9. */
static void measure(const char *name, mica_graph *g, mica_value y, double work, const char *unit) {
    mica_kernel *kernel = NULL;
    mica_status status = mica_graph_check(g);
    if (!status) status = mica_cpu_kernel_create(y.node, &kernel);
    if (status) {
        printf("%-36s %s\n", name, mica_status_message(status));
        mica_status_release(status);
        mica_graph_release(g);
        return;
    }
    void *operands[4] = {NULL}, *results[1];
    for (int32_t i = 0; i < y.node->n_operands; i++) {
        const mica_type *type = mica_operand_type(y.node, i);
        size_t bytes = mica_type_bytes(type);
        operands[i] = mica_alloc_aligned(bytes + 64);
        memset(operands[i], 0, bytes);
        if (type->dtype == MICA_DTYPE_f32)
            for (size_t k = 0; k < bytes / 4; k++)
                ((float *)operands[i])[k] = (float)(k % 1000) * 0.001f;
    }
    results[0] = mica_alloc_aligned(mica_type_bytes(&y.node->results[0]) + 64);
    void *scratch = mica_alloc_aligned(kernel->scratch_bytes + 64);
    double best = 1e30, start = mica_clock_seconds();
    for (int i = 0; i < 3 || mica_clock_seconds() - start < 0.3; i++) {
        double before = now();
        mica_cpu_kernel_run(kernel, (const void *const *)operands, results, scratch);
        double seconds = now() - before;
        best = seconds < best ? seconds : best;
    }
    printf("%-36s %9.1f %s %10.3f ms\n", name, work / best * 1e-9, unit, best * 1e3);
    for (int32_t i = 0; i < y.node->n_operands; i++) mica_free_aligned(operands[i]);
    mica_free_aligned(results[0]);
    mica_free_aligned(scratch);
    mica_cpu_kernel_destroy(kernel);
    mica_graph_release(g);
}

static mica_graph *begin(const char *name) {
    mica_graph *g = NULL;
    if (wanted && !strstr(name, wanted)) return NULL;
    mica_status_release(mica_graph_create(name, &g));
    return g;
}

static void gemm(mica_dtype dtype, int64_t m, int64_t k, int64_t n, bool left, bool right) {
    char name[80];
    snprintf(name, sizeof name, "dot %s %lldx%lldx%lld%s%s", mica_dtype_name(dtype), (long long)m,
             (long long)k, (long long)n, left ? " x'" : "", right ? " y'" : "");
    mica_graph *g = begin(name);
    if (!g) return;
    mica_value x = parameter(g, dtype, left ? MICA_INTS(k, m) : MICA_INTS(m, k));
    mica_value y = parameter(g, dtype, right ? MICA_INTS(n, k) : MICA_INTS(k, n));
    mica_value z =
        mica_dot(g, x, y, MICA_INTS(!left), MICA_INTS(right), MICA_NO_INTS, MICA_NO_INTS);
    measure(name, g, z, 2.0 * (double)m * (double)k * (double)n, "GFLOP/s");
}

/* A layer of `taps` x `taps` on images of `size`, same padding: forward and both gradients. */
static void layer(int64_t batch, int64_t size, int64_t inputs, int64_t outputs, int64_t taps) {
    char name[80];
    int64_t half = taps / 2, input[] = {batch, size, size, inputs};
    int64_t output[] = {batch, size, size, outputs}, kernel[] = {taps, taps, inputs, outputs};
    mica_ints one = MICA_INTS(1, 1), pad = MICA_INTS(half, half);
    double work = 2.0 * (double)(batch * size * size * inputs * outputs) * (double)(taps * taps);
    static const char *const layouts[] = {"N01C,01IO,N01C", "N01C,01OI,N01C", "C01N,I01O,01NC"};
    static const char *const names[] = {"forward", "input gradient", "weight gradient"};
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "conv %lldx%lldx%lld->%lld %s", (long long)taps,
                 (long long)taps, (long long)inputs, (long long)outputs, names[i]);
        mica_graph *g = begin(name);
        if (!g) continue;
        mica_value x = parameter(g, MICA_DTYPE_f32, (mica_ints){i == 1 ? output : input, 4});
        mica_value y = parameter(g, MICA_DTYPE_f32, (mica_ints){i == 2 ? output : kernel, 4});
        mica_value z = mica_conv(g, x, y, layouts[i], one, pad, pad, one, one, 1, 1);
        measure(name, g, z, work, "GFLOP/s");
    }
}

typedef mica_value (*build)(mica_graph *g, mica_value x);

static void one_operand(const char *name, build op, mica_ints dims) {
    mica_graph *g = begin(name);
    if (!g) return;
    mica_value x = parameter(g, MICA_DTYPE_f32, dims), y = op(g, x);
    double bytes = y.node ? (double)mica_type_bytes(mica_value_type(x)) +
                                (double)mica_type_bytes(mica_value_type(y))
                          : 0;
    measure(name, g, y, bytes, "GB/s   ");
}

static mica_value add(mica_graph *g, mica_value x) {
    return mica_add(g, x, x);
}
static mica_value relu(mica_graph *g, mica_value x) {
    return mica_max(g, x, x);
}
static mica_value greater(mica_graph *g, mica_value x) {
    return mica_compare(g, x, x, "gt");
}
static mica_value half(mica_graph *g, mica_value x) {
    return mica_convert(g, x, MICA_DTYPE_f16);
}
static mica_value bytes(mica_graph *g, mica_value x) {
    return mica_convert(g, x, MICA_DTYPE_i32);
}
static mica_value sum_all(mica_graph *g, mica_value x) {
    return mica_reduce(g, x, "sum", MICA_INTS(0, 1));
}
static mica_value sum_rows(mica_graph *g, mica_value x) {
    return mica_reduce(g, x, "sum", MICA_INTS(1));
}
static mica_value sum_columns(mica_graph *g, mica_value x) {
    return mica_reduce(g, x, "sum", MICA_INTS(0));
}
static mica_value max_rows(mica_graph *g, mica_value x) {
    return mica_reduce(g, x, "max", MICA_INTS(1));
}
static mica_value max_between(mica_graph *g, mica_value x) { /* 2x2 pooling's reduction */
    return mica_reduce(g, x, "max", MICA_INTS(2, 4));
}
static mica_value argmax(mica_graph *g, mica_value x) {
    return mica_argmax(g, x, 1, MICA_DTYPE_i32);
}
static mica_value swap(mica_graph *g, mica_value x) {
    return mica_transpose(g, x, MICA_INTS(1, 0));
}
static mica_value channels_first(mica_graph *g, mica_value x) {
    return mica_transpose(g, x, MICA_INTS(0, 3, 1, 2));
}
static mica_value spread_rows(mica_graph *g, mica_value x) {
    return mica_broadcast(g, x, MICA_INTS(100352, 32), MICA_INTS(1));
}
static mica_value spread_columns(mica_graph *g, mica_value x) {
    return mica_broadcast(g, x, MICA_INTS(4096, 1024), MICA_INTS(0));
}
static mica_value spread_pool(mica_graph *g, mica_value x) {
    return mica_broadcast(g, x, MICA_INTS(128, 14, 2, 14, 2, 32), MICA_INTS(0, 1, 3, 5));
}
static mica_value backwards(mica_graph *g, mica_value x) {
    return mica_reverse(g, x, MICA_INTS(1));
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--cpu"))
            counts_cpu = true;
        else
            wanted = argv[i];
    }
    printf("%s, %d threads, %s\n", mica_machine_description(), mica_pool_threads(),
           mica_cpu_isa_name());
    gemm(MICA_DTYPE_f32, 1024, 1024, 1024, false, false);
    gemm(MICA_DTYPE_f32, 1024, 1024, 1024, true, false);
    gemm(MICA_DTYPE_f32, 1024, 1024, 1024, false, true);
    gemm(MICA_DTYPE_f64, 1024, 1024, 1024, false, false);
    gemm(MICA_DTYPE_bf16, 1024, 1024, 1024, false, false);
    gemm(MICA_DTYPE_i32, 512, 512, 512, false, false);
    gemm(MICA_DTYPE_f32, 128, 3136, 128, false, false);
    gemm(MICA_DTYPE_f32, 3136, 128, 128, true, false);
    gemm(MICA_DTYPE_f32, 128, 128, 3136, false, true);
    gemm(MICA_DTYPE_f32, 128, 128, 10, false, false);
    gemm(MICA_DTYPE_f32, 1, 1024, 1024, false, false);
    layer(128, 14, 32, 64, 5);
    layer(128, 28, 1, 16, 5);
    layer(128, 14, 16, 32, 5);
    layer(32, 28, 64, 64, 3);
    mica_ints matrix = MICA_INTS(4096, 1024);
    one_operand("add", add, matrix);
    one_operand("max", relu, matrix);
    one_operand("exp", mica_exp, matrix);
    one_operand("log", mica_log, matrix);
    one_operand("tanh", mica_tanh, matrix);
    one_operand("logistic", mica_logistic, matrix);
    one_operand("sin", mica_sin, matrix);
    one_operand("erf", mica_erf, matrix);
    one_operand("compare", greater, matrix);
    one_operand("convert f16", half, matrix);
    one_operand("convert i32", bytes, matrix);
    one_operand("reduce all", sum_all, matrix);
    one_operand("reduce rows", sum_rows, matrix);
    one_operand("reduce columns", sum_columns, matrix);
    one_operand("reduce columns 100352x32", sum_columns, MICA_INTS(100352, 32));
    one_operand("reduce max rows", max_rows, matrix);
    one_operand("reduce max rows of 10", max_rows, MICA_INTS(100000, 10));
    one_operand("reduce max pool 2x2", max_between, MICA_INTS(128, 14, 2, 14, 2, 32));
    one_operand("argmax rows", argmax, matrix);
    one_operand("transpose 4096x1024", swap, matrix);
    one_operand("transpose NHWC to NCHW", channels_first, MICA_INTS(128, 28, 28, 32));
    one_operand("broadcast rows of 32", spread_rows, MICA_INTS(32));
    one_operand("broadcast columns", spread_columns, MICA_INTS(4096));
    one_operand("broadcast pool 2x2", spread_pool, MICA_INTS(128, 14, 14, 32));
    one_operand("reverse", backwards, matrix);
    mica_pool_shutdown();
    return 0;
}
