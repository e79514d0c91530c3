/* The kernel of fft: axes one after the other, the last one first; real numbers along the last one.
 * An even number of real ones goes as half as many complex ones, an odd number as it is. */
#include "device/cpu/fft.h"

#include <string.h>

enum { MOST_AXES = 3, PAIRS = 4096 };

typedef struct fft_kernel {
    cpu_kernel base;
    mica_dtype real;
    bool inverse, from_real, to_real;
    int32_t n_axes;
    int64_t outer;             /* the product of the axes before */
    int64_t dims[MOST_AXES];   /* of the complex side */
    int64_t length;            /* of the last axis on the real side */
    double factor;             /* 1 / n of all axes, of an inverse */
    cpu_fft axes[MOST_AXES];   /* along each; with real numbers the last is of half the length */
    mica_cpu_fft_roots halves; /* of `length`, when it is even and on a real side */
    size_t kept;               /* bytes of numbers in scratch, before what transforms need */
} fft_kernel;

typedef struct fft_run {
    const fft_kernel *kernel;
    const char *x;
    char *y;
    int64_t pairs, blocks; /* per line, of what is split or joined */
} fft_run;

static int64_t number_bytes(const fft_kernel *k) {
    return 2 * (int64_t)mica_dtype_bytes(k->real);
}

static int64_t product(const int64_t *sizes, int64_t n) {
    int64_t out = 1;
    for (int64_t i = 0; i < n; i++) out *= sizes[i];
    return out;
}

static int64_t lines_of_last(const fft_kernel *k) {
    return k->outer * product(k->dims, k->n_axes - 1);
}

static bool halved(const fft_kernel *k) {
    return (k->from_real || k->to_real) && k->length % 2 == 0;
}

/* Along an axis of the complex side. */
static void run_axis(const fft_kernel *k, int32_t axis, const void *x, void *y, double factor,
                     void *scratch) {
    int64_t outer = k->outer * product(k->dims, axis);
    int64_t inner = product(k->dims + axis + 1, k->n_axes - axis - 1);
    int64_t step = k->dims[axis] * inner;
    cpu_fft_layout layout = {outer, inner, step, step};
    mica_cpu_fft_run(&k->axes[axis], &layout, x, y, k->inverse, factor, scratch);
}

/* All axes before `count`, from x to y; y when there were any, else x. */
static const void *run_axes(const fft_kernel *k, int32_t count, const void *x, void *y,
                            double factor, void *scratch) {
    for (int32_t axis = count; axis-- > 0; x = y)
        run_axis(k, axis, x, y, axis == 0 ? factor : 1, scratch);
    return x;
}

/* ---- real numbers, an even number of them -----------------------------------------------------*/

static const mica_cpu_fft *loops_of(const fft_kernel *k) {
    return k->axes[k->n_axes - 1].loops;
}

static void split_range(void *context, int64_t begin, int64_t end) {
    const fft_run *run = context;
    const fft_kernel *k = run->kernel;
    int64_t m = k->length / 2;
    for (int64_t i = begin; i < end; i++) {
        int64_t line = i / run->blocks, first = i % run->blocks * PAIRS;
        loops_of(k)->split_real(run->y + line * (m + 1) * number_bytes(k), &k->halves, m, first,
                                cpu_min(first + PAIRS, run->pairs));
    }
}

static void join_range(void *context, int64_t begin, int64_t end) {
    const fft_run *run = context;
    const fft_kernel *k = run->kernel;
    int64_t m = k->length / 2, bytes = number_bytes(k);
    for (int64_t i = begin; i < end; i++) {
        int64_t line = i / run->blocks, first = i % run->blocks * PAIRS;
        loops_of(k)->join_real(run->x + line * (m + 1) * bytes, run->y + line * m * bytes,
                               &k->halves, m, first, cpu_min(first + PAIRS, run->pairs));
    }
}

static void for_pairs(const fft_kernel *k, const void *x, void *y,
                      void (*body)(void *, int64_t, int64_t)) {
    int64_t pairs = k->length / 4 + 1;
    fft_run run = {k, x, y, pairs, cpu_ceil_div(pairs, PAIRS)};
    mica_parallel_for(lines_of_last(k) * run.blocks, cpu_max(1, PAIRS / pairs), body, &run);
}

static void run_halves(const fft_kernel *k, const void *x, void *y, void *scratch) {
    int64_t m = k->length / 2, lines = lines_of_last(k);
    const cpu_fft *last = &k->axes[k->n_axes - 1];
    if (k->from_real) {
        cpu_fft_layout layout = {lines, 1, m, m + 1};
        mica_cpu_fft_run(last, &layout, x, y, false, 1, scratch);
        for_pairs(k, NULL, y, split_range);
    } else {
        cpu_fft_layout layout = {lines, 1, m, m};
        for_pairs(k, x, y, join_range);
        mica_cpu_fft_run(last, &layout, y, y, true, 2 * k->factor, scratch);
    }
}

/* ---- an odd number ----------------------------------------------------------------------------*/

#define ODD_LINES(name, type)                                                                      \
    /* Real numbers to complex ones, and the first half of those. */                               \
    static void widen_##name(const type *x, type *z, int64_t n) {                                  \
        for (int64_t i = 0; i < n; i++) z[2 * i] = x[i], z[2 * i + 1] = 0;                         \
    }                                                                                              \
    /* What is left out of x, a line's first half, is the conjugate of what is there. */           \
    static void mirror_##name(const type *x, type *z, int64_t n) {                                 \
        for (int64_t k = 0; k <= n / 2; k++) {                                                     \
            z[2 * k] = x[2 * k];                                                                   \
            z[2 * k + 1] = k ? x[2 * k + 1] : 0;                                                   \
            if (k) z[2 * (n - k)] = x[2 * k], z[2 * (n - k) + 1] = -x[2 * k + 1];                  \
        }                                                                                          \
    }                                                                                              \
    static void real_parts_##name(const type *z, type *y, int64_t n) {                             \
        for (int64_t i = 0; i < n; i++) y[i] = z[2 * i];                                           \
    }
ODD_LINES(f32, float)
ODD_LINES(f64, double)

static void load_odd(void *context, int64_t begin, int64_t end) {
    const fft_run *run = context;
    const fft_kernel *k = run->kernel;
    int64_t n = k->length, bytes = number_bytes(k);
    for (int64_t line = begin; line < end; line++) {
        const void *x = run->x + (k->from_real ? line * n * bytes / 2 : line * (n / 2 + 1) * bytes);
        void *z = run->y + line * n * bytes;
        if (k->real == MICA_DTYPE_f32)
            (k->from_real ? widen_f32 : mirror_f32)(x, z, n);
        else
            (k->from_real ? widen_f64 : mirror_f64)(x, z, n);
    }
}

static void store_odd(void *context, int64_t begin, int64_t end) {
    const fft_run *run = context;
    const fft_kernel *k = run->kernel;
    int64_t n = k->length, bytes = number_bytes(k), half = (n / 2 + 1) * bytes;
    for (int64_t line = begin; line < end; line++) {
        const void *z = run->x + line * n * bytes;
        if (k->from_real)
            memcpy(run->y + line * half, z, (size_t)half);
        else if (k->real == MICA_DTYPE_f32)
            real_parts_f32(z, (float *)run->y + line * n, n);
        else
            real_parts_f64(z, (double *)run->y + line * n, n);
    }
}

static void run_odd(const fft_kernel *k, const void *x, void *y, void *lines, void *scratch) {
    int64_t n = k->length, count = lines_of_last(k), grain = cpu_max(1, 16384 / n);
    cpu_fft_layout layout = {count, 1, n, n};
    mica_parallel_for(count, grain, load_odd, &(fft_run){.kernel = k, .x = x, .y = lines});
    mica_cpu_fft_run(&k->axes[k->n_axes - 1], &layout, lines, lines, k->inverse, k->factor,
                     scratch);
    mica_parallel_for(count, grain, store_odd, &(fft_run){.kernel = k, .x = lines, .y = y});
}

/* ---- the kernel -------------------------------------------------------------------------------*/

static void run_fft(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                    void *scratch) {
    const fft_kernel *k = (const fft_kernel *)kernel;
    char *rest = (char *)scratch + k->kept, *odd = scratch;
    const void *x = operands[0];
    void *y = results[0];
    int32_t before = k->n_axes - 1;
    if (!k->from_real && !k->to_real) {
        run_axes(k, k->n_axes, x, y, k->factor, rest);
        return;
    }
    if (k->to_real) { /* the axes before, in scratch; factors come last */
        x = run_axes(k, before, x, scratch, 1, rest);
        if (before > 0)
            odd += cpu_align((size_t)(lines_of_last(k) * k->dims[before] * number_bytes(k)));
    }
    if (halved(k))
        run_halves(k, x, y, rest);
    else
        run_odd(k, x, y, odd, rest);
    if (k->from_real) run_axes(k, before, y, y, k->factor, rest);
}

static void init_axes(fft_kernel *k, cpu_fft_memory *memory) {
    for (int32_t axis = 0; axis < k->n_axes; axis++) {
        bool last = axis == k->n_axes - 1, real = last && (k->from_real || k->to_real);
        int64_t n = !real ? k->dims[axis] : halved(k) ? k->length / 2 : k->length;
        int64_t inner = product(k->dims + axis + 1, k->n_axes - axis - 1);
        int64_t lines = k->outer * product(k->dims, axis) * inner;
        mica_cpu_fft_init(&k->axes[axis], k->real, n, lines, inner > 1, memory);
    }
    if (halved(k)) mica_cpu_fft_roots_init(&k->halves, k->length, memory);
}

static mica_status prepare(fft_kernel *k) {
    size_t most = 0;
    for (int32_t axis = 0; axis < k->n_axes; axis++) {
        MICA_TRY(mica_cpu_fft_prepare(&k->axes[axis]));
        size_t bytes = mica_cpu_fft_scratch(&k->axes[axis]);
        if (bytes > most) most = bytes;
    }
    int64_t lines = lines_of_last(k), bytes = number_bytes(k);
    if (k->to_real && k->n_axes > 1)
        k->kept += cpu_align((size_t)(lines * k->dims[k->n_axes - 1] * bytes));
    if ((k->from_real || k->to_real) && !halved(k))
        k->kept += cpu_align((size_t)(lines * k->length * bytes));
    k->base.head.scratch_bytes = k->kept + most;
    return NULL;
}

/* What the node says, without tables. */
static void describe(const mica_node *node, fft_kernel *k) {
    const char *kind = mica_node_string(node, "kind");
    mica_ints lengths = mica_node_ints(node, "lengths");
    const mica_type *x = mica_operand_type(node, 0), *y = &node->results[0];
    k->from_real = !strcmp(kind, "rfft");
    k->to_real = !strcmp(kind, "irfft");
    k->inverse = k->to_real || !strcmp(kind, "ifft");
    k->real = k->from_real                 ? x->dtype
              : x->dtype == MICA_DTYPE_c64 ? MICA_DTYPE_f32
                                           : MICA_DTYPE_f64;
    const mica_type *complex_side = k->from_real ? y : x;
    k->n_axes = (int32_t)lengths.n;
    k->outer = product(x->dims, x->rank - k->n_axes);
    k->length = lengths.data[lengths.n - 1];
    for (int32_t i = 0; i < k->n_axes; i++)
        k->dims[i] = complex_side->dims[complex_side->rank - k->n_axes + i];
    k->factor = k->inverse ? 1.0 / (double)product(lengths.data, lengths.n) : 1;
}

mica_status mica_cpu_create_fft(const mica_node *node, cpu_kernel **out) {
    fft_kernel counted = {0}, *k;
    describe(node, &counted);
    cpu_fft_memory memory = {NULL, cpu_align(sizeof *k)};
    init_axes(&counted, &memory);
    MICA_TRY(mica_cpu_kernel_new(memory.used, run_fft, &k));
    describe(node, k);
    memory = (cpu_fft_memory){(char *)k, cpu_align(sizeof *k)};
    init_axes(k, &memory);
    mica_status status = prepare(k);
    if (status) {
        mica_free(k);
        return status;
    }
    *out = &k->base;
    return NULL;
}
