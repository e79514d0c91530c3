/* conv on the cuda device by a stand-in for cuDNN (stub_libcudnn.c): what becomes of it, and what
 * can go wrong. The op harness compares its numbers. */
#include "base/log.h"
#include "device/cuda/dnn_api.h"
#include "open_stub.h"

extern const mica_driver mica_cuda_driver;

static int (*stub_objects)(void), (*stub_failures)(void);
static void (*stub_repair)(void);
static char heard[4000];

static void hear(mica_log_topic topic, const char *text) {
    (void)topic;
    size_t n = strlen(heard);
    if (strstr(text, "compiled codegen")) return;
    snprintf(heard + n, sizeof heard - n, "%s\n", text);
}

/* Loads the stand-in with a plan of what goes wrong; false when it is not there. */
static bool load_stub(const char *plan) {
    heard[0] = 0;
    mica_library *library = open_stub(plan);
    if (!library) return false;
    *(void **)&stub_objects = mica_library_symbol(library, "stub_objects");
    *(void **)&stub_failures = mica_library_symbol(library, "stub_failures");
    *(void **)&stub_repair = mica_library_symbol(library, "stub_repair");
    mica_library_keep(library);
    stub_repair();
    return true;
}

enum { MOST = 2 * 6 * 6 * 4 };

/* A convolution of (2,6,6,3) with (3,3,3,4) by strides of 2, and its gradients. */
static const struct conv_case {
    const char *layout, *heard;
    int64_t x[4], k[4], stride, low, high, x_dilation, k_dilation;
} forward = {"N01C,01IO,N01C", "forward", {2, 6, 6, 3}, {3, 3, 3, 4}, 2, 1, 0, 1, 1},
  to_input = {"N01C,01OI,N01C", "input gradient", {2, 3, 3, 4}, {3, 3, 3, 4}, 1, 1, 2, 2, 1},
  to_filter = {"C01N,I01O,01NC", "filter gradient", {2, 6, 6, 3}, {2, 3, 3, 4}, 1, 1, 0, 1, 2};

typedef struct world {
    mica_device *device;
    mica_device_stream *stream;
    mica_graph *g;
    mica_kernel *kernel;
    mica_recording *recording;
    mica_address arrays[3], scratch;
    float result[MOST];
    int64_t n;
} world;

static mica_value build(world *w, const struct conv_case *c) {
    mica_type x = mica_type_make(MICA_DTYPE_f32, (mica_ints){c->x, 4});
    mica_type k = mica_type_make(MICA_DTYPE_f32, (mica_ints){c->k, 4});
    return mica_conv(w->g, mica_parameter(w->g, &x), mica_parameter(w->g, &k), c->layout,
                     MICA_INTS(c->stride, c->stride), MICA_INTS(c->low, c->low),
                     MICA_INTS(c->high, c->high), MICA_INTS(c->x_dilation, c->x_dilation),
                     MICA_INTS(c->k_dilation, c->k_dilation), 1, 1);
}

/* Whole numbers, so that no order of sums matters. */
static mica_status fill(world *w) {
    const mica_device_vtable *t = w->device->vtable;
    float data[MOST];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < MOST; k++) data[k] = (float)((k * 7 + i * 3) % 11 - 5);
        MICA_TRY(t->allocate(w->device, sizeof data, &w->arrays[i]));
        MICA_TRY(t->upload(w->stream, w->arrays[i], data, sizeof data));
    }
    return w->kernel->scratch_bytes ? t->allocate(w->device, w->kernel->scratch_bytes, &w->scratch)
                                    : NULL;
}

static mica_status launch(world *w, bool records) {
    const mica_device_vtable *t = w->device->vtable;
    if (records) MICA_TRY(t->capture_begin(w->stream));
    mica_status status = t->launch(w->stream, w->kernel, w->arrays, &w->arrays[2], w->scratch);
    if (records) status = mica_status_join(status, t->capture_end(w->stream, &w->recording));
    if (!status && records) status = t->replay(w->stream, w->recording);
    if (!status)
        status = t->download(w->stream, w->result, w->arrays[2], (size_t)w->n * sizeof(float));
    return status;
}

static mica_status live(world *w, const struct conv_case *c, bool records) {
    *w = (world){0};
    MICA_TRY(mica_graph_create("conv", &w->g));
    mica_value y = build(w, c);
    MICA_TRY(mica_graph_check(w->g));
    w->n = mica_type_elements(mica_value_type(y));
    MICA_TRY(mica_cuda_driver.open(0, &w->device));
    MICA_TRY(w->device->vtable->stream_create(w->device, &w->stream));
    MICA_TRY(w->device->vtable->kernel_create(w->device, y.node, &w->kernel));
    MICA_TRY(fill(w));
    return launch(w, records);
}

static void release(world *w) {
    if (w->device) {
        const mica_device_vtable *t = w->device->vtable;
        if (w->recording) t->recording_destroy(w->recording);
        if (w->kernel) t->kernel_destroy(w->device, w->kernel);
        for (int i = 0; i < 3; i++)
            if (w->arrays[i]) t->deallocate(w->device, w->arrays[i]);
        if (w->scratch) t->deallocate(w->device, w->scratch);
        if (w->stream) t->stream_destroy(w->stream);
        t->destroy(w->device);
    }
    mica_graph_release(w->g);
}

static bool same(const world *a, const world *b) {
    return a->n == b->n && !memcmp(a->result, b->result, (size_t)a->n * sizeof *a->result);
}

static void check_case(const struct conv_case *c) {
    world by_library, by_own;
    char wanted[200];
    if (!load_stub("")) return;
    mica_log_tap(1u << MICA_LOG_DEVICE, hear);
    CHECK_OK(live(&by_library, c, true));
    snprintf(wanted, sizeof wanted,
             "f32 %s of (2,3,6,6) with (4,3,3,3), strides 2 2: cuDNN's "
             "engine 4",
             c->heard);
    CHECK(strstr(heard, wanted) != NULL);
    release(&by_library);
    setenv("MICA_CUDNN", "off", 1);
    if (!load_stub("")) return;
    CHECK_OK(live(&by_own, c, false));
    CHECK(strstr(heard, "cuda:0 convolves without cuDNN: MICA_CUDNN is off") != NULL);
    CHECK(strstr(heard, "engine") == NULL);
    unsetenv("MICA_CUDNN");
    mica_log_tap(0, NULL);
    release(&by_own);
    CHECK(same(&by_library, &by_own));
    CHECK(stub_objects() == 0);
}

TEST(a_convolution_and_its_gradients_are_one_to_cudnn) {
    check_case(&forward);
    check_case(&to_input);
    check_case(&to_filter);
}

TEST(tensor_cores_round_f32_only_where_that_is_asked_for) {
    world w;
    setenv("MICA_TF32", "1", 1);
    if (!load_stub("")) return;
    mica_log_tap(1u << MICA_LOG_DEVICE, hear);
    CHECK_OK(live(&w, &forward, false));
    CHECK(strstr(heard, "engine 1 ") != NULL);
    release(&w);
    setenv("MICA_FAST", "1", 1);
    if (!load_stub("")) return;
    CHECK_OK(live(&w, &forward, false));
    CHECK(strstr(heard, "engine 0 ") != NULL);
    release(&w);
    mica_log_tap(0, NULL);
    unsetenv("MICA_TF32");
    unsetenv("MICA_FAST");
    CHECK(stub_objects() == 0);
}

/* While a kernel is made, another takes its place; a launch says what failed. */
static void fail_calls(const char *call, const world *right, int *failed, int *worked) {
    char plan[96];
    world w;
    for (int n = 1; n < 300; n++) {
        snprintf(plan, sizeof plan, "call:%s:%d", call, n);
        if (!load_stub(plan)) return;
        mica_status status = live(&w, &to_filter, true);
        *failed += status != NULL;
        CHECK(!status ? same(&w, right) : strstr(mica_status_message(status), "cuDNN") != NULL);
        bool over = stub_failures() == 0;
        *worked += !status && !over;
        mica_status_release(status);
        setenv("STUB_CUDA", "", 1);
        release(&w);
        CHECK(stub_objects() == 0);
        if (over) break;
    }
}

TEST(every_call_of_cudnn_can_fail) {
    static const char *const calls[] = {
#define X(field, symbol, parameters) #symbol,
        MICA_CUDA_DNN_API(X)
#undef X
    };
    int failed = 0, worked = 0;
    world right;
    if (!load_stub("")) return;
    mica_log_tap(1u << MICA_LOG_DEVICE, hear);
    CHECK_OK(live(&right, &to_filter, true));
    release(&right);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        fail_calls(calls[i], &right, &failed, &worked);
    mica_log_tap(0, NULL);
    CHECK(failed >= 6 && worked > 20);
}

TEST(memory_may_run_out_at_any_time) {
    world w;
    if (!load_stub("")) return;
    int64_t n = 0;
    for (bool over = false; !over && n < 1000;) {
        mica_memory_fail_nth(++n, false);
        mica_status status = live(&w, &to_input, true);
        mica_memory_fail_nth(0, false);
        over = !status;
        CHECK(!status || mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
        release(&w);
        CHECK(stub_objects() == 0);
    }
    CHECK(n > 10);
}
