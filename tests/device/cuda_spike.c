/* cuda_spike: proves the device interface on a real GPU, and prints what it saw.
 *
 * Built by CMake, not part of the tests: it needs a GPU, and says so and leaves when there is none.
 * docs/cuda_spike.log is its output. Exit status 0: every check held (or no GPU). */
#include "base/platform.h"
#include "device/cuda/cuda.h"
#include "ir/scalar.h"
#include "test.h"

extern const mica_driver mica_cuda_driver;
static mica_device *device;
static const mica_device_vtable *vtable;
static mica_device_stream *stream;

enum { N = 1 << 20 };

static int failures;
static void expect(bool condition, const char *text) {
    printf("  %-72s %s\n", text, condition ? "ok" : "FAILED");
    failures += !condition;
}
static bool fine(mica_status status, const char *what) {
    if (!status) return true;
    printf("  %s: %s\n", what, mica_status_trace(status));
    mica_status_release(status);
    failures++;
    return false;
}
#define FINE(call) fine(call, #call)
static bool answers(mica_status status, mica_code code) {
    bool right = mica_status_code(status) == code;
    printf("    %s: %s\n", mica_code_name(mica_status_code(status)), mica_status_message(status));
    mica_status_release(status);
    return right;
}

static mica_address new_buffer(size_t bytes, const void *data) {
    mica_address address = 0;
    if (FINE(vtable->allocate(device, bytes, &address)) && data) {
        FINE(vtable->upload(stream, address, data, bytes));
    }
    return address;
}

/* A kernel for an op on vectors of one type. */
static mica_kernel *new_kernel(mica_op op, mica_dtype dtype, int64_t n, mica_status *out_status) {
    mica_graph *g = NULL;
    mica_kernel *kernel = NULL;
    mica_type type = mica_type_make(dtype, MICA_INTS(n));
    mica_value operands[3];
    *out_status = mica_graph_create("kernel", &g);
    if (*out_status) return NULL;
    int32_t arity = mica_op_describe(op)->arity;
    for (int32_t i = 0; i < arity; i++) operands[i] = mica_parameter(g, &type);
    mica_node *node = mica_node_create(g, op, operands, arity, NULL, NULL, 0);
    *out_status = mica_graph_check(g);
    if (!*out_status) *out_status = vtable->kernel_create(device, node, &kernel);
    mica_graph_release(g);
    return kernel;
}

/* ---- memory and copies ---------------------------------------------------------------------- */

static void check_memory(void) {
    size_t bytes = (size_t)64 << 20;
    uint8_t *source = mica_alloc(bytes), *target = mica_calloc(bytes, 1);
    for (size_t i = 0; i < bytes; i++) source[i] = (uint8_t)(i * 2654435761u >> 13);
    mica_address a = new_buffer(bytes, source), b = new_buffer(bytes, NULL);
    FINE(vtable->copy(stream, b, a, bytes));
    FINE(vtable->download(stream, target, b, bytes));
    expect(memcmp(source, target, bytes) == 0, "64 MiB up, across and down again are the same");
    FINE(vtable->zero(stream, b + 1024, 4096));
    FINE(vtable->download(stream, target, b, bytes));
    bool zeroed = memcmp(source, target, 1024) == 0 &&
                  memcmp(source + 5120, target + 5120, bytes - 5120) == 0;
    for (int i = 0; i < 4096; i++) zeroed &= target[1024 + i] == 0;
    expect(zeroed, "zero clears its range and nothing else");
    mica_address huge = 0;
    expect(answers(vtable->allocate(device, (size_t)1 << 50, &huge), MICA_OUT_OF_MEMORY) && !huge,
           "a petabyte is refused as out of memory");
    expect(a % 64 == 0 && b % 64 == 0, "addresses are aligned");
    vtable->deallocate(device, a);
    vtable->deallocate(device, b);
    mica_free(source);
    mica_free(target);
}

/* ---- kernels against the host --------------------------------------------------------------- */

/* Host versions of every MAP row, out of the same table. */
#define DEFINE_HOST(name, suffix, type, expression)                                                \
    static void host_##name##_##suffix(const type *x0, const type *x1, const type *x2, type *y) {  \
        for (int i = 0; i < N; i++) {                                                              \
            type a = x0[i], b = x1[i], c = x2[i];                                                  \
            (void)a, (void)b, (void)c;                                                             \
            y[i] = expression;                                                                     \
        }                                                                                          \
    }
#define FLOAT_ROW_FLOATS(X, name, expression) X(name, expression)
#define FLOAT_ROW_NUMBERS(X, name, expression) X(name, expression)
#define FLOAT_ROW_FLOATS_COMPLEX(X, name, expression) X(name, expression)
#define FLOAT_ROW_NUMBERS_COMPLEX(X, name, expression) X(name, expression)
#define FLOAT_ROW_BITS(X, name, expression)
#define FLOAT_ROW_INTEGERS(X, name, expression)
#define INTEGER_ROW_FLOATS(X, name, expression)
#define INTEGER_ROW_FLOATS_COMPLEX(X, name, expression)
#define INTEGER_ROW_NUMBERS(X, name, expression) X(name, expression)
#define INTEGER_ROW_NUMBERS_COMPLEX(X, name, expression) X(name, expression)
#define INTEGER_ROW_BITS(X, name, expression) X(name, expression)
#define INTEGER_ROW_INTEGERS(X, name, expression) X(name, expression)

#define ROW_MAP(pick, X, name, dtypes, expression) pick##_##dtypes(X, name, expression)
#define ROW_ELEMENTWISE(pick, X, name, dtypes, expression)
#define ROW_SHAPE(pick, X, name, dtypes, expression)
#define ROW_CONTRACTION(pick, X, name, dtypes, expression)
#define ROW_REDUCTION(pick, X, name, dtypes, expression)
#define ROW_RANDOM(pick, X, name, dtypes, expression)
#define ROW_SEVERAL(pick, X, name, dtypes, expression)
#define ROW_CONTROL(pick, X, name, dtypes, expression)
#define ROW_COLLECTIVE(pick, X, name, dtypes, expression)
#define ROW_HOST(pick, X, name, dtypes, expression)

#define HOST_f32(name, expression) DEFINE_HOST(name, f32, float, expression)
#define M(f) mica_##f##_f32
#define MICA_OP(name, arity, class, dtypes, attributes, shape, jvp, transpose, vmap, expression,   \
                meaning)                                                                           \
    ROW_##class(FLOAT_ROW, HOST_f32, name, dtypes, expression)
#include "mica/ops.def"
#undef MICA_OP
#undef M
#define HOST_f64(name, expression) DEFINE_HOST(name, f64, double, expression)
#define M(f) mica_##f##_f64
#define MICA_OP(name, arity, class, dtypes, attributes, shape, jvp, transpose, vmap, expression,   \
                meaning)                                                                           \
    ROW_##class(FLOAT_ROW, HOST_f64, name, dtypes, expression)
#include "mica/ops.def"
#undef MICA_OP
#undef M
#define HOST_i32(name, expression) DEFINE_HOST(name, i32, int32_t, expression)
#define M(f) mica_##f##_i32
#define MICA_OP(name, arity, class, dtypes, attributes, shape, jvp, transpose, vmap, expression,   \
                meaning)                                                                           \
    ROW_##class(INTEGER_ROW, HOST_i32, name, dtypes, expression)
#include "mica/ops.def"
#undef MICA_OP
#undef M

typedef void (*host_function)(const void *, const void *, const void *, void *);
typedef struct host_row {
    mica_op op;
    host_function run;
} host_row;
#define TABLE_f32(name, expression) {MICA_OP_##name, (host_function)host_##name##_f32},
#define TABLE_f64(name, expression) {MICA_OP_##name, (host_function)host_##name##_f64},
#define TABLE_i32(name, expression) {MICA_OP_##name, (host_function)host_##name##_i32},
#define MICA_OP(name, arity, class, dtypes, attributes, shape, jvp, transpose, vmap, expression,   \
                meaning)                                                                           \
    ROW_##class(FLOAT_ROW, TABLE_f32, name, dtypes, expression)
static const host_row rows_f32[] = {
#include "mica/ops.def"
};
#undef MICA_OP
#define MICA_OP(name, arity, class, dtypes, attributes, shape, jvp, transpose, vmap, expression,   \
                meaning)                                                                           \
    ROW_##class(FLOAT_ROW, TABLE_f64, name, dtypes, expression)
static const host_row rows_f64[] = {
#include "mica/ops.def"
};
#undef MICA_OP
#define MICA_OP(name, arity, class, dtypes, attributes, shape, jvp, transpose, vmap, expression,   \
                meaning)                                                                           \
    ROW_##class(INTEGER_ROW, TABLE_i32, name, dtypes, expression)
static const host_row rows_i32[] = {
#include "mica/ops.def"
};
#undef MICA_OP

/* Element i of operand k: bit patterns spread over all there are, and small values in between. */
static uint64_t pattern(int i, int k) {
    uint64_t z = (uint64_t)(i * 3 + k + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    return z ^ (z >> 27);
}
static void fill_operand(mica_dtype dtype, int k, void *data) {
    for (int i = 0; i < N; i++) {
        uint64_t bits = pattern(i, k);
        double small = ((double)(int64_t)bits * 0x1p-63) * (i % 4 == 1 ? 1 : 20);
        if (dtype == MICA_DTYPE_f32) {
            ((float *)data)[i] = i % 2 ? (float)small : mica_from_bits_f32((uint32_t)bits);
        } else if (dtype == MICA_DTYPE_f64) {
            ((double *)data)[i] = i % 2 ? small : mica_from_bits_f64(bits);
        } else {
            ((int32_t *)data)[i] = i % 3 ? (int32_t)bits : (int32_t)(bits % 7) - 3;
        }
    }
}

/* How far apart two results are: 0 for the same bits or two NaN; else their distance in steps. */
static uint64_t distance(mica_dtype dtype, const void *a, const void *b, int i) {
    int64_t x, y;
    if (dtype == MICA_DTYPE_f64) {
        double u = ((const double *)a)[i], v = ((const double *)b)[i];
        if (isnan(u) && isnan(v)) return 0;
        x = (int64_t)mica_bits_f64(u), y = (int64_t)mica_bits_f64(v);
        if ((x < 0) != (y < 0)) return UINT64_MAX;
    } else if (dtype == MICA_DTYPE_f32) {
        float u = ((const float *)a)[i], v = ((const float *)b)[i];
        if (isnan(u) && isnan(v)) return 0;
        x = (int32_t)mica_bits_f32(u), y = (int32_t)mica_bits_f32(v);
        if ((x < 0) != (y < 0)) return UINT64_MAX;
    } else {
        x = ((const int32_t *)a)[i], y = ((const int32_t *)b)[i];
    }
    return x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
}

static int64_t compare_row(const host_row *row, mica_dtype dtype, void *const *host,
                           const mica_address *address, void *expected, void *got) {
    mica_status status = NULL;
    size_t bytes = N * mica_dtype_bytes(dtype);
    mica_kernel *kernel = new_kernel(row->op, dtype, N, &status);
    if (!fine(status, mica_op_describe(row->op)->name)) return N;
    memset(got, 0xa5, bytes);
    FINE(vtable->upload(stream, address[3], got, bytes));
    FINE(vtable->launch(stream, kernel, address, &address[3], 0));
    FINE(vtable->download(stream, got, address[3], bytes));
    vtable->kernel_destroy(device, kernel);
    row->run(host[0], host[1], host[2], expected);
    int64_t different = 0;
    uint64_t worst = 0;
    int at = 0;
    for (int i = 0; i < N; i++) {
        uint64_t d = distance(dtype, expected, got, i);
        different += d != 0;
        if (d > worst) worst = d, at = i;
    }
    if (different) {
        printf("    %s %s: %lld of %d differ, at most by %llu (element %d)\n",
               mica_op_describe(row->op)->name, mica_dtype_name(dtype), (long long)different, N,
               (unsigned long long)worst, at);
    }
    return different;
}

static int64_t compare_rows(const host_row *rows, size_t n, mica_dtype dtype) {
    size_t bytes = N * mica_dtype_bytes(dtype);
    void *host[5];
    mica_address address[4];
    int64_t different = 0;
    for (int k = 0; k < 5; k++) host[k] = mica_alloc(bytes);
    for (int k = 0; k < 3; k++) {
        fill_operand(dtype, k, host[k]);
        address[k] = new_buffer(bytes, host[k]);
    }
    address[3] = new_buffer(bytes, NULL);
    double start = mica_clock_seconds();
    for (size_t i = 0; i < n; i++) {
        different += compare_row(&rows[i], dtype, host, address, host[3], host[4]);
    }
    printf("  %s: %zu ops on %d elements each, %lld results differ (%.2f s with compiling)\n",
           mica_dtype_name(dtype), n, N, (long long)different, mica_clock_seconds() - start);
    for (int k = 0; k < 4; k++) vtable->deallocate(device, address[k]);
    for (int k = 0; k < 5; k++) mica_free(host[k]);
    return different;
}

static void check_kernels(void) {
    expect(compare_rows(rows_f32, sizeof rows_f32 / sizeof *rows_f32, MICA_DTYPE_f32) == 0,
           "f32: the GPU computes the bits of the host");
    expect(compare_rows(rows_i32, sizeof rows_i32 / sizeof *rows_i32, MICA_DTYPE_i32) == 0,
           "i32: the GPU computes the bits of the host");
    compare_rows(rows_f64, sizeof rows_f64 / sizeof *rows_f64, MICA_DTYPE_f64);
    printf("  (f64 goes through each side's own library: last bits may differ)\n");
    mica_graph *g = NULL;
    mica_kernel *kernel = NULL;
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(4));
    FINE(mica_graph_create("sum", &g));
    mica_value v = mica_parameter(g, &type);
    mica_value sum = mica_reduce(g, v, "sum", MICA_INTS(0));
    expect(answers(vtable->kernel_create(device, sum.node, &kernel), MICA_UNSUPPORTED) && !kernel,
           "an op without a kernel is refused with a reason");
    mica_graph_release(g);
}

/* ---- streams, events, recordings, speed -------------------------------------------------------
 */

static void check_streams(void) {
    mica_device_stream *second = NULL;
    mica_device_event *event = NULL;
    mica_status status = NULL;
    int64_t n = 1 << 24;
    float *host = mica_alloc((size_t)n * 4);
    for (int64_t i = 0; i < n; i++) host[i] = 0.5f;
    FINE(vtable->stream_create(device, &second));
    FINE(vtable->event_create(device, &event));
    mica_address x = new_buffer((size_t)n * 4, host), y = new_buffer((size_t)n * 4, NULL);
    mica_kernel *kernel = new_kernel(MICA_OP_add, MICA_DTYPE_f32, n, &status);
    FINE(status);
    mica_address pair[2] = {x, x};
    for (int i = 0; i < 100; i++) FINE(vtable->launch(stream, kernel, pair, &x, 0)); /* x = x + x */
    FINE(vtable->event_record(stream, event));
    bool early = vtable->event_is_done(event);
    FINE(vtable->stream_wait(second, event));
    FINE(vtable->copy(second, y, x, (size_t)n * 4));
    FINE(vtable->download(second, host, y, (size_t)n * 4));
    printf("    the event was %s when asked right after recording\n", early ? "done" : "pending");
    bool right = vtable->event_is_done(event);
    for (int64_t i = 0; i < n; i++) right &= host[i] == 0x1p99f;
    expect(right, "a second stream waits for an event of the first (in place, 100 launches)");
    vtable->kernel_destroy(device, kernel);
    vtable->deallocate(device, x);
    vtable->deallocate(device, y);
    vtable->event_destroy(event);
    vtable->stream_destroy(second);
    mica_free(host);
}

static double seconds_between(mica_device_event *start, mica_device_event *end) {
    double seconds = 0;
    FINE(vtable->event_wait(end));
    FINE(mica_cuda_event_seconds(start, end, &seconds));
    return seconds;
}

/* x = tanh(x a + b), `steps` times: three launches a step. */
static void launch_chain(mica_kernel *const *kernels, mica_address x, mica_address a,
                         mica_address b, int steps) {
    for (int i = 0; i < steps; i++) {
        mica_address product[2] = {x, a}, sum[2] = {x, b};
        FINE(vtable->launch(stream, kernels[0], product, &x, 0));
        FINE(vtable->launch(stream, kernels[1], sum, &x, 0));
        FINE(vtable->launch(stream, kernels[2], &x, &x, 0));
    }
}

static void check_recording(void) {
    enum { SMALL = 4096, STEPS = 20, REPEATS = 50 };
    static float x[SMALL], a[SMALL], b[SMALL], direct[SMALL], replayed[SMALL];
    const mica_op ops[3] = {MICA_OP_mul, MICA_OP_add, MICA_OP_tanh};
    mica_kernel *kernels[3];
    mica_device_event *start = NULL, *end = NULL;
    mica_recording *recording = NULL;
    mica_status status = NULL;
    for (int i = 0; i < SMALL; i++) x[i] = (float)i / SMALL, a[i] = 2.0f, b[i] = 1.0f;
    for (int i = 0; i < 3; i++) {
        kernels[i] = new_kernel(ops[i], MICA_DTYPE_f32, SMALL, &status);
        FINE(status);
    }
    mica_address dx = new_buffer(sizeof x, x), da = new_buffer(sizeof a, a);
    mica_address db = new_buffer(sizeof b, b);
    FINE(vtable->event_create(device, &start));
    FINE(vtable->event_create(device, &end));
    launch_chain(kernels, dx, da, db, STEPS);
    FINE(vtable->download(stream, direct, dx, sizeof x));
    FINE(vtable->event_record(stream, start));
    for (int i = 0; i < REPEATS; i++) launch_chain(kernels, dx, da, db, STEPS);
    FINE(vtable->event_record(stream, end));
    double launched = seconds_between(start, end);
    FINE(vtable->upload(stream, dx, x, sizeof x));
    FINE(vtable->capture_begin(stream));
    expect(answers(vtable->upload(stream, dx, x, sizeof x), MICA_FAILED_PRECONDITION),
           "a copy from the host is refused while recording");
    launch_chain(kernels, dx, da, db, STEPS);
    FINE(vtable->capture_end(stream, &recording));
    FINE(vtable->replay(stream, recording));
    FINE(vtable->download(stream, replayed, dx, sizeof x));
    expect(memcmp(direct, replayed, sizeof x) == 0,
           "60 recorded launches, replayed, give the bits of 60 launches");
    FINE(vtable->event_record(stream, start));
    for (int i = 0; i < REPEATS; i++) FINE(vtable->replay(stream, recording));
    FINE(vtable->event_record(stream, end));
    double replays = seconds_between(start, end);
    printf("    a launch takes %.2f us one by one, %.2f us in a recording\n",
           launched * 1e6 / (REPEATS * 3 * STEPS), replays * 1e6 / (REPEATS * 3 * STEPS));
    vtable->recording_destroy(recording);
    vtable->event_destroy(start);
    vtable->event_destroy(end);
    for (int i = 0; i < 3; i++) vtable->kernel_destroy(device, kernels[i]);
    vtable->deallocate(device, dx);
    vtable->deallocate(device, da);
    vtable->deallocate(device, db);
}

static void measure_speed(void) {
    const mica_op ops[] = {MICA_OP_neg,      MICA_OP_add, MICA_OP_exp,   MICA_OP_tanh,
                           MICA_OP_logistic, MICA_OP_erf, MICA_OP_log,   MICA_OP_rsqrt,
                           MICA_OP_sin,      MICA_OP_pow, MICA_OP_lgamma};
    enum { REPEATS = 20 };
    int64_t n = (int64_t)1 << 28; /* 1 GiB an operand: far beyond the caches */
    float *host = mica_alloc((size_t)n * 4);
    for (int64_t i = 0; i < n; i++)
        host[i] = (float)(pattern((int)(i & 0xffffff), 0) >> 40) * 0x1p-22f;
    mica_address x[3];
    for (int k = 0; k < 3; k++) x[k] = new_buffer((size_t)n * 4, k < 2 ? host : NULL);
    mica_device_event *start = NULL, *end = NULL;
    FINE(vtable->event_create(device, &start));
    FINE(vtable->event_create(device, &end));
    FINE(vtable->event_record(stream, start));
    for (int i = 0; i < REPEATS; i++) FINE(vtable->copy(stream, x[2], x[0], (size_t)n * 4));
    FINE(vtable->event_record(stream, end));
    printf("    %-10s %7.0f GB/s\n", "copy",
           8e-9 * (double)n * REPEATS / seconds_between(start, end));
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        mica_status status = NULL;
        mica_kernel *kernel = new_kernel(ops[i], MICA_DTYPE_f32, n, &status);
        if (!FINE(status)) continue;
        FINE(vtable->launch(stream, kernel, x, &x[2], 0));
        FINE(vtable->event_record(stream, start));
        for (int k = 0; k < REPEATS; k++) FINE(vtable->launch(stream, kernel, x, &x[2], 0));
        FINE(vtable->event_record(stream, end));
        int streams = mica_op_describe(ops[i])->arity + 1;
        printf("    %-10s %7.0f GB/s\n", mica_op_describe(ops[i])->name,
               4e-9 * streams * (double)n * REPEATS / seconds_between(start, end));
        vtable->kernel_destroy(device, kernel);
    }
    vtable->event_destroy(start);
    vtable->event_destroy(end);
    for (int k = 0; k < 3; k++) vtable->deallocate(device, x[k]);
    mica_free(host);
}

/* ---- failing -------------------------------------------------------------------------------- */

static bool open_device(void) {
    if (!FINE(mica_cuda_driver.open(0, &device))) return false;
    vtable = device->vtable;
    return FINE(vtable->stream_create(device, &stream));
}
static void close_device(void) {
    vtable->stream_destroy(stream);
    vtable->destroy(device);
}

/* A kernel that writes where nothing is: the failure comes later, from the event. */
static void check_failure(void) {
    mica_status status = NULL;
    mica_device_event *event = NULL;
    mica_kernel *kernel = new_kernel(MICA_OP_neg, MICA_DTYPE_f32, N, &status);
    FINE(status);
    FINE(vtable->event_create(device, &event));
    mica_address nowhere = 0x10000;
    mica_status launched = vtable->launch(stream, kernel, &nowhere, &nowhere, 0);
    expect(launched == NULL, "launching on a wrong address is not noticed at once");
    mica_status_release(launched);
    mica_status_release(vtable->event_record(stream, event));
    expect(answers(vtable->event_wait(event), MICA_DEVICE_ERROR), "the event answers the failure");
    uint8_t byte = 0;
    expect(answers(vtable->upload(stream, nowhere, &byte, 1), MICA_DEVICE_ERROR),
           "the stream is poisoned");
    expect(answers(vtable->upload(stream, nowhere, &byte, 1), MICA_DEVICE_ERROR), "and stays so");
    mica_status_release(vtable->event_record(stream, event));
    expect(answers(vtable->event_wait(event), MICA_DEVICE_ERROR),
           "an event recorded afterwards answers it too");
    vtable->kernel_destroy(device, kernel);
    vtable->event_destroy(event);
    close_device();
    expect(answers(mica_cuda_driver.open(0, &device), MICA_DEVICE_ERROR) && !device,
           "CUDA gives the GPU to this process no more, and opening it says so");
}

/* ---- the public API ------------------------------------------------------------------------- */

typedef struct outcome {
    float *y;
    double seconds;
} outcome;

/* y = tanh(x a + b) on the named device. */
static bool run_public(const char *name, const float *data, outcome *out) {
    mica_device *place = NULL;
    mica_graph *g = NULL;
    mica_executable *exe = NULL;
    mica_event *done = NULL;
    mica_tensor *inputs[3] = {NULL}, *y = NULL;
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(N / 1024, 1024));
    mica_status status = mica_device_open(name, &place);
    for (int i = 0; i < 3 && !status; i++) {
        status = mica_tensor_from_host(place, &type, data + i * N, &inputs[i]);
    }
    if (!status) status = mica_graph_create("affine", &g);
    if (!status) {
        mica_value x = mica_parameter(g, &type), a = mica_parameter(g, &type);
        mica_value b = mica_parameter(g, &type);
        mica_output(g, mica_tanh(g, mica_add(g, mica_mul(g, x, a), b)));
        status = mica_executable_create(place, g, NULL, &exe);
    }
    mica_run_args args = {
        .size = sizeof args, .inputs = inputs, .n_inputs = 3, .outputs = &y, .n_outputs = 1};
    for (int i = 0; i < 3 && !status; i++) { /* the first ones warm up */
        mica_tensor_release(y);
        mica_event_release(done);
        y = NULL, done = NULL;
        status = mica_executable_run(exe, &args, &done);
        if (!status) status = mica_event_wait(done);
    }
    if (!status) status = mica_tensor_to_host(y, out->y, N * sizeof(float));
    if (!status) out->seconds = mica_event_seconds(done);
    printf("    %s: %s\n", name, place ? mica_device_description(place) : "not opened");
    mica_event_release(done);
    mica_tensor_release(y);
    for (int i = 0; i < 3; i++) mica_tensor_release(inputs[i]);
    mica_executable_release(exe);
    mica_graph_release(g);
    mica_device_release(place);
    return fine(status, name);
}

static void check_refusal(void) {
    mica_device *place = NULL;
    mica_graph *g = NULL;
    mica_executable *exe = NULL;
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(4));
    FINE(mica_device_open("cuda", &place));
    FINE(mica_graph_create("sum", &g));
    mica_output(g, mica_reduce(g, mica_parameter(g, &type), "sum", MICA_INTS(0)));
    expect(answers(mica_executable_create(place, g, NULL, &exe), MICA_UNSUPPORTED) && !exe,
           "a graph with another op is refused when it is compiled");
    mica_graph_release(g);
    mica_device_release(place);
    FINE(mica_device_open("any", &place));
    expect(strncmp(mica_device_name(place), "cpu", 3) == 0,
           "\"any\" takes a device that runs every graph");
    mica_device_release(place);
}

static void check_public(void) {
    float *data = mica_alloc(3 * N * sizeof(float));
    outcome gpu = {mica_alloc(N * sizeof(float)), 0}, cpu = {mica_alloc(N * sizeof(float)), 0};
    for (int k = 0; k < 3; k++) fill_operand(MICA_DTYPE_f32, k, data + k * N);
    if (run_public("cuda", data, &gpu) && run_public("cpu", data, &cpu)) {
        int64_t different = 0;
        for (int i = 0; i < N; i++) different += distance(MICA_DTYPE_f32, gpu.y, cpu.y, i) != 0;
        printf("    tanh(x a + b), %d elements: cuda %.1f us, cpu %.1f us, %lld results differ\n",
               N, gpu.seconds * 1e6, cpu.seconds * 1e6, (long long)different);
        expect(different == 0, "an executable gives the same bits on cuda and on cpu");
    }
    check_refusal();
    mica_free(data);
    mica_free(gpu.y);
    mica_free(cpu.y);
}

int main(void) {
    char description[160] = "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    int32_t count = mica_cuda_driver.probe(description, sizeof description);
    printf("cuda: %d device(s): %s\n", count, description);
    if (count == 0) return 0;
    if (!open_device()) return 1;
    printf("opened %s: %s\n", device->name, device->description);
    printf("memory\n"), check_memory();
    printf("kernels\n"), check_kernels();
    printf("streams and events\n"), check_streams();
    printf("recordings\n"), check_recording();
    printf("speed (f32, 268 million elements, bytes read and written)\n"), measure_speed();
    printf("the public API\n"), check_public();
    mica_shutdown();
    printf("failure\n"), check_failure();
    printf("%d failure(s), %lld live blocks\n", failures, (long long)mica_memory_live_blocks());
    return failures == 0 && mica_memory_live_blocks() == 0 ? 0 : 1;
}
