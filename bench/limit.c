/* What the machine can do at most, with a number of threads: multiply-adds in f32, and bytes copied
 * (read and written) with ordinary and with streaming stores. Prints one JSON object; the driver
 * builds it with -O3 -march=native and runs it between the frameworks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { ROUNDS = 7, MAX_THREADS = 64, CHAINS = 12, LANES = 8 };
#define BYTES ((size_t)256 << 20)

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

typedef struct work {
    float *target;
    const float *source;
    size_t n;
    float sink;
} work;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Independent chains hide the latency of a multiply-add: four cycles in two units need eight. */
static void *multiply_add(void *argument) {
    work *w = argument;
    lanes sum[CHAINS], factor, offset;
    for (int k = 0; k < LANES; k++) factor[k] = 0.999999f, offset[k] = 1e-6f;
    for (int i = 0; i < CHAINS; i++) sum[i] = offset * (float)i;
    for (size_t step = 0; step < w->n; step++)
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) sum[i] = sum[i] * factor + offset;
    for (int i = 1; i < CHAINS; i++) sum[0] += sum[i];
    w->sink = sum[0][0];
    return NULL;
}

static void *copy_plain(void *argument) {
    work *w = argument;
    lanes *target = (lanes *)w->target;
    const lanes *source = (const lanes *)w->source;
    for (size_t i = 0; i < w->n / LANES; i++) {
        target[i] = source[i];
        __asm__ volatile("" ::: "memory"); /* a loop, not a call of memcpy */
    }
    return NULL;
}

static void *copy_stream(void *argument) {
#if defined(__AVX__)
    work *w = argument;
    for (size_t i = 0; i < w->n; i += 16) {
        _mm256_stream_ps(w->target + i, _mm256_load_ps(w->source + i));
        _mm256_stream_ps(w->target + i + 8, _mm256_load_ps(w->source + i + 8));
    }
    _mm_sfence();
    return NULL;
#else
    return copy_plain(argument);
#endif
}

static double run(void *(*body)(void *), work *parts, int threads) {
    pthread_t others[MAX_THREADS];
    double begin = now();
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, body, &parts[i])) exit(1);
    body(&parts[0]);
    for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
    return now() - begin;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median rate; the first round warms up. */
static double median_rate(void *(*body)(void *), work *parts, int threads, double amount) {
    double rates[ROUNDS];
    run(body, parts, threads);
    for (int i = 0; i < ROUNDS; i++) rates[i] = amount / run(body, parts, threads) / 1e9;
    qsort(rates, ROUNDS, sizeof *rates, by_value);
    return rates[ROUNDS / 2];
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    if (threads < 1 || threads > MAX_THREADS) return 1;
    float *source = aligned_alloc(64, BYTES), *target = aligned_alloc(64, BYTES);
    if (!source || !target) return 1;
    memset(source, 1, BYTES);
    memset(target, 2, BYTES);
    work steps[MAX_THREADS], parts[MAX_THREADS];
    size_t n = BYTES / sizeof(float) / (size_t)threads / 16 * 16;
    for (int i = 0; i < threads; i++) {
        steps[i] = (work){.n = 20000000};
        parts[i] = (work){target + (size_t)i * n, source + (size_t)i * n, n, 0};
    }
    double flops = 2.0 * LANES * CHAINS * (double)steps[0].n * threads;
    double bytes = 2.0 * (double)(n * sizeof(float)) * threads;
    printf("{\"fma_gflops\": %.2f, ", median_rate(multiply_add, steps, threads, flops));
    printf("\"copy_gbs\": %.2f, ", median_rate(copy_plain, parts, threads, bytes));
    printf("\"stream_gbs\": %.2f}\n", median_rate(copy_stream, parts, threads, bytes));
    free(source);
    free(target);
    return 0;
}
