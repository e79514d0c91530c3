/* Speed of sort and top_k, in nanoseconds per element.
 *
 *     cmake --build build --target bench_order && build/bench_order [--cpu] [part of a name]
 *
 * Beside numpy: `mica bench ops sort top_k`. --cpu counts processor time of all threads instead of
 * time. MICA_ISA and MICA_THREADS choose the instruction set and the threads. */
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

/* Random bits; floats as numbers of a few magnitudes. */
static void fill(const mica_type *type, void *data) {
    uint64_t state = 1;
    size_t bytes = mica_dtype_bytes(type->dtype);
    for (int64_t i = 0; i < mica_type_elements(type); i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double number = (double)(int64_t)(state ^ state >> 29) * 1e-17;
        float single = (float)number;
        if (type->dtype == MICA_DTYPE_f32)
            memcpy((char *)data + i * 4, &single, 4);
        else if (type->dtype == MICA_DTYPE_f64)
            memcpy((char *)data + i * 8, &number, 8);
        else {
            uint64_t bits = state >> 20 ^ state << 13;
            memcpy((char *)data + (size_t)i * bytes, &bits, bytes);
        }
    }
}

static void measure(const char *name, mica_graph *g, const mica_node *n) {
    mica_kernel *kernel = NULL;
    void *operands[2] = {NULL}, *results[2] = {NULL};
    mica_status status = mica_graph_check(g);
    if (!status) status = mica_cpu_kernel_create(n, &kernel);
    if (status) {
        printf("%-40s %s\n", name, mica_status_message(status));
        mica_status_release(status);
        mica_graph_release(g);
        return;
    }
    for (int32_t i = 0; i < n->n_operands; i++) {
        operands[i] = mica_alloc_aligned(mica_type_bytes(mica_operand_type(n, i)) + 64);
        fill(mica_operand_type(n, i), operands[i]);
    }
    for (int32_t i = 0; i < n->n_results; i++)
        results[i] = mica_alloc_aligned(mica_type_bytes(&n->results[i]) + 64);
    void *scratch = mica_alloc_aligned(kernel->scratch_bytes + 64);
    double best = 1e30, start = mica_clock_seconds();
    for (int i = 0; i < 3 || mica_clock_seconds() - start < 0.3; i++) {
        double before = now();
        mica_cpu_kernel_run(kernel, (const void *const *)operands, results, scratch);
        double seconds = now() - before;
        best = seconds < best ? seconds : best;
    }
    printf("%-40s %8.3f ms %8.2f ns/element %8.1f MB scratch\n", name, best * 1e3,
           best * 1e9 / (double)mica_type_elements(mica_operand_type(n, 0)),
           (double)kernel->scratch_bytes * 1e-6);
    for (int i = 0; i < 2; i++) {
        mica_free_aligned(operands[i]);
        mica_free_aligned(results[i]);
    }
    mica_free_aligned(scratch);
    mica_cpu_kernel_destroy(kernel);
    mica_graph_release(g);
}

/* kind: 0 sort, 1 with places, 2 top_k of 10 */
static void one(mica_dtype dtype, mica_ints dims, int kind) {
    static const char *const kinds[] = {"sort", "sort with places", "top_k 10"};
    char name[100];
    mica_graph *g = NULL;
    mica_type type = mica_type_make(dtype, dims), places = mica_type_make(MICA_DTYPE_i32, dims);
    mica_value out[2] = {{NULL, 0}};
    snprintf(name, sizeof name, "%s %s[%lld,%lld]", kinds[kind], mica_dtype_name(dtype),
             (long long)dims.data[0], (long long)dims.data[1]);
    if (wanted && !strstr(name, wanted)) return;
    mica_status_release(mica_graph_create(name, &g));
    mica_value operands[] = {mica_parameter(g, &type), mica_parameter(g, &places)};
    if (kind == 2)
        mica_top_k(g, operands[0], 10, out);
    else
        mica_sort(g, operands, kind == 1 ? 2 : 1, 1, 1, 0, out);
    measure(name, g, out[0].node);
}

int main(int argc, char **argv) {
    static const mica_dtype dtypes[] = {MICA_DTYPE_f32, MICA_DTYPE_f64, MICA_DTYPE_i32,
                                        MICA_DTYPE_i64, MICA_DTYPE_i16, MICA_DTYPE_u8};
    static const int64_t shapes[][2] = {{1, 1 << 20}, {16, 65536},  {64, 16384}, {256, 4096},
                                        {1024, 1024}, {10000, 100}, {100000, 10}};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--cpu"))
            counts_cpu = true;
        else
            wanted = argv[i];
    }
    printf("%s, %d threads, %s\n", mica_machine_description(), mica_pool_threads(),
           mica_cpu_isa_name());
    for (int kind = 0; kind < 3; kind++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
                one(dtypes[d], (mica_ints){shapes[s], 2}, kind);
    mica_pool_shutdown();
    return 0;
}
