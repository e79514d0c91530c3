/* Speed of contractions beside what the machine can do: GFLOP/s and the fraction of the peak rate
 * of fused multiply-adds, which is measured in the same run.
 *
 *     cmake --build build --target bench_contractions
 *     build/bench_contractions [--cpu] [--plain] [--seconds s] [part of a name]
 *
 * --cpu counts processor time of all threads instead of time, for a machine that others use too.
 * --plain: every convolution with all its products, of which Winograd's algorithm saves some.
 * MICA_ISA and MICA_THREADS choose the instruction set and the threads. bench/contractions.py runs
 * the same cases with numpy and torch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/platform.h"
#include "base/pool.h"
#include "device/cpu/kernels.h"
#include "device/cpu/winograd.h"
#include "mica/transform.h"

static const char *wanted;
static bool counts_cpu;
static double patience = 0.3, peak;

static double now(void) {
    struct timespec t;
    clock_gettime(counts_cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the machine ------------------------------------------------------------------------------*/

typedef float lanes __attribute__((vector_size(32)));
#define CHAINS 12
#define STEPS 4000000L

#if defined(__x86_64__)
#define HAS_FMA __attribute__((target("avx2,fma")))
#else
#define HAS_FMA
#endif

/* As many independent chains as hide the latency; the products are contracted by hand. */
HAS_FMA static void multiply_add(void *context, int64_t begin, int64_t end) {
    float *sink = context;
    for (int64_t i = begin; i < end; i++) {
        lanes sum[CHAINS], x = {0}, y = {0};
        x += 0.999999f;
        y += 1e-6f;
#pragma GCC unroll 12
        for (int c = 0; c < CHAINS; c++) sum[c] = y * (float)c;
        for (long k = 0; k < STEPS; k++)
#pragma GCC unroll 12
            for (int c = 0; c < CHAINS; c++) {
#if defined(__x86_64__)
                __asm__("vfmadd213ps %2, %1, %0" : "+x"(sum[c]) : "x"(x), "x"(y));
#else
                sum[c] = sum[c] * x + y;
#endif
            }
#pragma GCC unroll 12
        for (int c = 0; c < CHAINS; c++) sink[i] += sum[c][0];
    }
}

static double peak_rate(void) {
    float sink[64] = {0};
    int64_t pieces = mica_pool_threads() < 64 ? mica_pool_threads() : 64;
    double best = 1e30;
    for (int i = 0; i < 9; i++) {
        double before = now();
        mica_parallel_for(pieces, 1, multiply_add, sink);
        double seconds = now() - before;
        best = seconds < best ? seconds : best;
    }
    return 2.0 * 8 * CHAINS * (double)STEPS * (double)pieces / best;
}

/* ---- measuring --------------------------------------------------------------------------------*/

static void fill(void *x, const mica_type *type) {
    memset(x, 0, mica_type_bytes(type));
    size_t n = (size_t)mica_type_elements(type);
    if (type->dtype == MICA_DTYPE_f32)
        for (size_t i = 0; i < n; i++) ((float *)x)[i] = (float)(i % 1000) * 0.001f - 0.5f;
    if (type->dtype == MICA_DTYPE_f64)
        for (size_t i = 0; i < n; i++) ((double *)x)[i] = (double)(i % 1000) * 0.001 - 0.5;
}

/* Runs a node for a while; prints its name, GFLOP/s, the fraction of the peak, milliseconds. */
static void measure(const char *name, const mica_node *node, double flops) {
    mica_kernel *kernel = NULL;
    mica_status status = mica_cpu_kernel_create(node, &kernel);
    if (status) {
        printf("%-40s %s\n", name, mica_status_message(status));
        mica_status_release(status);
        return;
    }
    void *operands[8] = {NULL}, *results[1];
    for (int32_t i = 0; i < node->n_operands; i++) {
        operands[i] = mica_alloc_aligned(mica_type_bytes(mica_operand_type(node, i)) + 64);
        fill(operands[i], mica_operand_type(node, i));
    }
    results[0] = mica_alloc_aligned(mica_type_bytes(&node->results[0]) + 64);
    void *scratch = mica_alloc_aligned(kernel->scratch_bytes + 64);
    double best = 1e30, start = mica_clock_seconds();
    for (int i = 0; i < 3 || mica_clock_seconds() - start < patience; i++) {
        double before = now();
        mica_cpu_kernel_run(kernel, (const void *const *)operands, results, scratch);
        double seconds = now() - before;
        best = seconds < best ? seconds : best;
    }
    printf("%-40s %8.1f GFLOP/s %5.1f %% %10.4f ms\n", name, flops / best * 1e-9,
           100 * flops / best / peak, best * 1e3);
    fflush(stdout);
    for (int32_t i = 0; i < node->n_operands; i++) mica_free_aligned(operands[i]);
    mica_free_aligned(results[0]);
    mica_free_aligned(scratch);
    mica_cpu_kernel_destroy(kernel);
}

static mica_graph *begin(const char *name) {
    mica_graph *g = NULL;
    if (wanted && !strstr(name, wanted)) return NULL;
    mica_status_release(mica_graph_create(name, &g));
    return g;
}

static mica_value parameter(mica_graph *g, mica_dtype dtype, mica_ints dims) {
    mica_type type = mica_type_make(dtype, dims);
    return mica_parameter(g, &type);
}

/* batch of m x k by k x n; 't' in `form` stands for an operand that lies transposed. */
static void gemm(mica_dtype dtype, int64_t batch, int64_t m, int64_t k, int64_t n,
                 const char *form) {
    char name[80];
    snprintf(name, sizeof name, "gemm %s %s %lldx%lldx%lldx%lld", mica_dtype_name(dtype), form,
             (long long)batch, (long long)m, (long long)k, (long long)n);
    mica_graph *g = begin(name);
    if (!g) return;
    bool left = form[0] == 't', right = form[1] == 't';
    mica_value x = parameter(g, dtype, left ? MICA_INTS(batch, k, m) : MICA_INTS(batch, m, k));
    mica_value y = parameter(g, dtype, right ? MICA_INTS(batch, n, k) : MICA_INTS(batch, k, n));
    mica_value z = mica_dot(g, x, y, MICA_INTS(left ? 1 : 2), MICA_INTS(right ? 2 : 1),
                            MICA_INTS(0), MICA_INTS(0));
    double parts = dtype >= MICA_DTYPE_c64 ? 8 : 2;
    if (z.node) measure(name, z.node, parts * (double)(batch * m) * (double)k * (double)n);
    mica_graph_release(g);
}

typedef struct conv_case {
    const char *label;
    int64_t batch, size, inputs, outputs, taps, stride, groups;
    bool pads; /* by half the taps, else not at all */
} conv_case;

/* Forward and both gradients, as reverse mode makes them; only the convolution is counted. */
static void conv(const conv_case *c, bool channels_first) {
    char name[96];
    mica_graph *g = NULL;
    mica_status_release(mica_graph_create("conv", &g));
    if (!g) return;
    int64_t half = c->pads ? c->taps / 2 : 0, per_group = c->inputs / c->groups;
    int64_t result = (c->size + 2 * half - c->taps) / c->stride + 1;
    mica_ints one = MICA_INTS(1, 1), pad = MICA_INTS(half, half);
    mica_value x = parameter(g, MICA_DTYPE_f32,
                             channels_first ? MICA_INTS(c->batch, c->inputs, c->size, c->size)
                                            : MICA_INTS(c->batch, c->size, c->size, c->inputs));
    mica_value w = parameter(g, MICA_DTYPE_f32,
                             channels_first ? MICA_INTS(c->outputs, per_group, c->taps, c->taps)
                                            : MICA_INTS(c->taps, c->taps, per_group, c->outputs));
    const char *layout = channels_first ? "NC01,OI01,NC01" : "N01C,01IO,N01C";
    mica_value y = mica_conv(g, x, w, layout, MICA_INTS(c->stride, c->stride), pad, pad, one, one,
                             c->groups, 1);
    double flops = 2.0 * (double)(c->batch * result * result) * (double)(per_group * c->outputs) *
                   (double)(c->taps * c->taps);
    mica_value dy = MICA_NULL_VALUE, in[] = {x, w}, out[2] = {MICA_NULL_VALUE, MICA_NULL_VALUE};
    if (y.node) {
        const mica_type *type = mica_value_type(y);
        dy = parameter(g, MICA_DTYPE_f32, (mica_ints){type->dims, type->rank});
        mica_vjp(g, &y, &dy, 1, in, 2, out);
    }
    static const char *const parts[] = {"forward", "input gradient", "weight gradient"};
    const mica_value values[] = {y, out[0], out[1]};
    for (int32_t i = 0; i < 3; i++) {
        const mica_node *node = values[i].node;
        while (node && node->op != MICA_OP_conv && node->n_operands > 0)
            node = node->operands[0].node;
        snprintf(name, sizeof name, "conv %s %s %s", channels_first ? "nchw" : "nhwc", c->label,
                 parts[i]);
        if (node && (!wanted || strstr(name, wanted))) measure(name, node, flops);
    }
    mica_graph_release(g);
}

static const conv_case cases[] = {
    {"3x3 64->64 56x56 b8", 8, 56, 64, 64, 3, 1, 1, true},
    {"mnist 3x3 1->32 28x28 b128", 128, 28, 1, 32, 3, 1, 1, false},
    {"mnist 3x3 32->64 26x26 b128", 128, 26, 32, 64, 3, 1, 1, false},
    {"cifar 3x3 3->64 32x32 b64", 64, 32, 3, 64, 3, 1, 1, true},
    {"cifar 3x3 64->64 32x32 b64", 64, 32, 64, 64, 3, 1, 1, true},
    {"cifar 3x3 64->128 32x32 /2 b64", 64, 32, 64, 128, 3, 2, 1, true},
    {"cifar 1x1 64->128 32x32 /2 b64", 64, 32, 64, 128, 1, 2, 1, false},
    {"cifar 3x3 128->128 16x16 b64", 64, 16, 128, 128, 3, 1, 1, true},
    {"cifar 3x3 256->256 8x8 b64", 64, 8, 256, 256, 3, 1, 1, true},
    {"cifar 3x3 256->512 8x8 /2 b64", 64, 8, 256, 512, 3, 2, 1, true},
    {"cifar 3x3 512->512 4x4 b64", 64, 4, 512, 512, 3, 1, 1, true},
    {"resnet50 7x7 3->64 224x224 /2 b1", 1, 224, 3, 64, 7, 2, 1, true},
    {"resnet50 1x1 64->256 56x56 b1", 1, 56, 64, 256, 1, 1, 1, false},
    {"resnet50 1x1 256->64 56x56 b1", 1, 56, 256, 64, 1, 1, 1, false},
    {"resnet50 3x3 64->64 56x56 b1", 1, 56, 64, 64, 3, 1, 1, true},
    {"resnet50 1x1 256->512 56x56 /2 b1", 1, 56, 256, 512, 1, 2, 1, false},
    {"resnet50 3x3 128->128 28x28 b1", 1, 28, 128, 128, 3, 1, 1, true},
    {"resnet50 1x1 1024->256 14x14 b1", 1, 14, 1024, 256, 1, 1, 1, false},
    {"resnet50 3x3 256->256 14x14 b1", 1, 14, 256, 256, 3, 1, 1, true},
    {"resnet50 1x1 2048->512 7x7 b1", 1, 7, 2048, 512, 1, 1, 1, false},
    {"resnet50 3x3 512->512 7x7 b1", 1, 7, 512, 512, 3, 1, 1, true},
    {"depthwise 3x3 128 56x56 b8", 8, 56, 128, 128, 3, 1, 128, true},
};

static void gemms(void) {
    for (int64_t n = 64; n <= 2048; n *= 2) gemm(MICA_DTYPE_f32, 1, n, n, n, "nn");
    gemm(MICA_DTYPE_f32, 1, 1024, 1024, 1024, "tn");
    gemm(MICA_DTYPE_f32, 1, 1024, 1024, 1024, "nt");
    gemm(MICA_DTYPE_f32, 1, 1000, 1000, 1000, "nn");
    gemm(MICA_DTYPE_f64, 1, 1024, 1024, 1024, "nn");
    gemm(MICA_DTYPE_c64, 1, 512, 512, 512, "nn");
    gemm(MICA_DTYPE_c128, 1, 512, 512, 512, "nn");
    gemm(MICA_DTYPE_bf16, 1, 512, 512, 512, "nn");
    gemm(MICA_DTYPE_f16, 1, 512, 512, 512, "nn");
    gemm(MICA_DTYPE_i32, 1, 512, 512, 512, "nn");
    /* The MLP 784-512-512-10 at batch 128 with its gradients, and at batch 1. */
    gemm(MICA_DTYPE_f32, 1, 128, 784, 512, "nn");
    gemm(MICA_DTYPE_f32, 1, 128, 512, 512, "nt");
    gemm(MICA_DTYPE_f32, 1, 784, 128, 512, "tn");
    gemm(MICA_DTYPE_f32, 1, 128, 512, 10, "nn");
    gemm(MICA_DTYPE_f32, 1, 512, 128, 10, "tn");
    gemm(MICA_DTYPE_f32, 1, 1, 784, 512, "nn");
    gemm(MICA_DTYPE_f32, 1, 1, 512, 512, "nt");
    /* A step of an LSTM of 128 at batch 64, with its gradients. */
    gemm(MICA_DTYPE_f32, 1, 64, 128, 512, "nn");
    gemm(MICA_DTYPE_f32, 1, 64, 512, 128, "nt");
    gemm(MICA_DTYPE_f32, 1, 128, 6400, 512, "tn");
    /* A transformer of width 256, 4 heads, T 128, batch 8. */
    gemm(MICA_DTYPE_f32, 1, 1024, 256, 768, "nn");
    gemm(MICA_DTYPE_f32, 1, 1024, 256, 1024, "nn");
    gemm(MICA_DTYPE_f32, 1, 1024, 1024, 256, "nt");
    gemm(MICA_DTYPE_f32, 1, 256, 1024, 1024, "tn");
    gemm(MICA_DTYPE_f32, 32, 128, 64, 128, "nt");
    gemm(MICA_DTYPE_f32, 32, 128, 128, 64, "nn");
    gemm(MICA_DTYPE_f32, 32, 128, 128, 64, "tn");
    gemm(MICA_DTYPE_f32, 256, 64, 64, 64, "nn");
    gemm(MICA_DTYPE_f32, 1024, 16, 16, 16, "nn");
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--cpu"))
            counts_cpu = true;
        else if (!strcmp(argv[i], "--plain"))
            mica_cpu_winograd_prefer(-1);
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            patience = atof(argv[++i]);
        else
            wanted = argv[i];
    }
    peak = peak_rate();
    printf("%s, %d threads, %s, peak of fused multiply-adds %.1f GFLOP/s\n",
           mica_machine_description(), mica_pool_threads(), mica_cpu_isa_name(), peak * 1e-9);
    gemms();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        conv(&cases[i], false);
        conv(&cases[i], true);
    }
    return 0;
}
