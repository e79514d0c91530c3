/* The cuda device on a stand-in for its libraries (stub_libcuda.c), on machines without a GPU: what
 * can go wrong. The op harness computes on it, and scripts/gpu.sh on a real one. */
#include "open_stub.h"

extern const mica_driver mica_cuda_driver;

static int (*stub_objects)(void), (*stub_launches)(void);
static void (*stub_repair)(void);

/* Loads the stand-in with a plan of what goes wrong; false when it is not there. */
static bool load_stub(const char *plan) {
    mica_library *library = open_stub(plan);
    if (!library) return false;
    *(void **)&stub_objects = mica_library_symbol(library, "stub_objects");
    *(void **)&stub_launches = mica_library_symbol(library, "stub_launches");
    *(void **)&stub_repair = mica_library_symbol(library, "stub_repair");
    mica_library_keep(library);
    stub_repair();
    return true;
}

enum { N = 1000 };

/* Everything one can do, one thing after the other, up to the first failure; then all is released.
 */
typedef struct world {
    mica_device *device;
    mica_device_stream *stream, *second;
    mica_device_event *event;
    mica_address x, y;
    mica_graph *g;
    mica_kernel *kernel;
    mica_recording *recording;
    float data[N];
    bool same;
} world;

static mica_status build(world *w) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(N));
    MICA_TRY(mica_graph_create("neg", &w->g));
    mica_value v = mica_neg(w->g, mica_parameter(w->g, &type));
    MICA_TRY(mica_graph_check(w->g));
    MICA_TRY(mica_cuda_driver.open(0, &w->device));
    const mica_device_vtable *t = w->device->vtable;
    MICA_TRY(t->stream_create(w->device, &w->stream));
    MICA_TRY(t->stream_create(w->device, &w->second));
    MICA_TRY(t->event_create(w->device, &w->event));
    MICA_TRY(t->allocate(w->device, sizeof w->data, &w->x));
    MICA_TRY(t->allocate(w->device, sizeof w->data, &w->y));
    return t->kernel_create(w->device, v.node, &w->kernel);
}
static mica_status use(world *w) {
    const mica_device_vtable *t = w->device->vtable;
    float back[N];
    for (int i = 0; i < N; i++) w->data[i] = (float)i;
    MICA_TRY(t->upload(w->stream, w->x, w->data, sizeof w->data));
    MICA_TRY(t->copy(w->stream, w->y, w->x, sizeof w->data));
    MICA_TRY(t->launch(w->stream, w->kernel, &w->x, &w->x, 0));
    MICA_TRY(t->capture_begin(w->stream));
    mica_status launched = t->launch(w->stream, w->kernel, &w->x, &w->x, 0);
    mica_status ended = t->capture_end(w->stream, &w->recording);
    MICA_TRY(mica_status_join(launched, ended));
    MICA_TRY(t->replay(w->stream, w->recording));
    MICA_TRY(t->event_record(w->stream, w->event));
    MICA_TRY(t->stream_wait(w->second, w->event));
    MICA_TRY(t->event_wait(w->event));
    MICA_TRY(t->zero(w->second, w->y, 4));
    MICA_TRY(t->download(w->second, back, w->y, sizeof back));
    w->data[0] = 0;
    w->same = memcmp(back, w->data, sizeof back) == 0;
    MICA_TRY(t->download(w->second, back, w->x, sizeof back));
    for (int i = 1; i < N; i++) w->same &= back[i] == (float)i; /* negated twice */
    return NULL;
}
static void release(world *w) {
    if (w->device) {
        const mica_device_vtable *t = w->device->vtable;
        if (w->recording) t->recording_destroy(w->recording);
        if (w->kernel) t->kernel_destroy(w->device, w->kernel);
        if (w->x) t->deallocate(w->device, w->x);
        if (w->y) t->deallocate(w->device, w->y);
        if (w->event) t->event_destroy(w->event);
        if (w->second) t->stream_destroy(w->second);
        if (w->stream) t->stream_destroy(w->stream);
        t->destroy(w->device);
    }
    mica_graph_release(w->g);
}
static mica_status live(world *w) {
    *w = (world){0};
    mica_status status = build(w);
    return status ? status : use(w);
}

TEST(everything_works_on_the_stand_in) {
    char description[160] = "";
    world w;
    if (!load_stub("")) return;
    CHECK(mica_cuda_driver.probe(description, sizeof description) == 1);
    CHECK(strcmp(description, "stub, 1.0 GiB, capability 9.0, CUDA 13.0") == 0);
    CHECK_OK(live(&w));
    CHECK(w.same && w.device && strcmp(w.device->name, "cuda:0") == 0);
    CHECK(stub_launches() == 2); /* one by one, one replayed */
    CHECK(w.kernel->in_place_operands == 1 && w.device->vtable->event_is_done(w.event));
    double seconds = 0;
    CHECK_OK(mica_cuda_event_seconds(w.event, w.event, &seconds));
    CHECK_NEAR(seconds, 1e-3, 1e-9);
    release(&w);
    CHECK(stub_objects() == 0);
}

TEST(a_machine_without_a_gpu_has_a_reason) {
    char description[160] = "";
    mica_device *device = NULL;
    if (!load_stub("no-device")) return;
    CHECK(mica_cuda_driver.probe(description, sizeof description) == 0);
    CHECK(strstr(description, "the CUDA driver does not start") != NULL);
    CHECK_FAILS(mica_cuda_driver.open(0, &device), MICA_NOT_FOUND, "does not start");
    if (!load_stub("init")) return;
    CHECK(mica_cuda_driver.probe(description, sizeof description) == 0);
    CHECK_FAILS(mica_cuda_driver.open(0, &device), MICA_DEVICE_ERROR, "CUDA_ERROR_UNKNOWN");
    setenv("MICA_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
    mica_cuda_forget();
    CHECK(mica_cuda_driver.probe(description, sizeof description) == 0);
    CHECK(strstr(description, "/nowhere/libcuda.so.1) is not installed") != NULL);
    CHECK_FAILS(mica_cuda_driver.open(0, &device), MICA_NOT_FOUND, "is not installed");
    if (!load_stub("")) return;
    CHECK_FAILS(mica_cuda_driver.open(7, &device), MICA_NOT_FOUND, "there is no cuda:7");
    CHECK(device == NULL);
}

TEST(too_much_memory_is_refused_and_changes_nothing) {
    world w;
    if (!load_stub("")) return;
    CHECK_OK(live(&w));
    mica_address address = 1;
    CHECK_FAILS(w.device->vtable->allocate(w.device, (size_t)1 << 40, &address), MICA_OUT_OF_MEMORY,
                "[allocate] cuda:0 has no 1099511627776 bytes left");
    CHECK(address == 0);
    CHECK_OK(w.device->vtable->zero(w.stream, w.x, 4));
    release(&w);
    CHECK(stub_objects() == 0);
}

/* The sum of the n-th row of a triangle of ones, by an op without a kernel of the GPU's own. */
static mica_status run_on_the_host(world *w, mica_kernel **out_kernel, float *out) {
    const mica_device_vtable *t = w->device->vtable;
    float key[N];
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, 2));
    for (int i = 0; i < N; i++) key[i] = i == 1 || i == 2 ? 0 : 4;
    mica_value root = mica_cholesky(w->g, mica_parameter(w->g, &type));
    MICA_TRY(mica_graph_check(w->g));
    MICA_TRY(t->kernel_create(w->device, root.node, out_kernel));
    MICA_TRY(t->upload(w->stream, w->x, key, sizeof key));
    MICA_TRY(t->launch(w->stream, *out_kernel, &w->x, &w->y, 0));
    return t->download(w->stream, out, w->y, 4 * sizeof *out);
}

TEST(what_has_no_kernel_is_computed_on_the_host_and_cannot_be_recorded) {
    world w = {0};
    float root[4] = {0};
    mica_kernel *kernel = NULL;
    mica_recording *recording = NULL;
    if (!load_stub("")) return;
    REQUIRE_OK(build(&w));
    const mica_device_vtable *t = w.device->vtable;
    CHECK_OK(run_on_the_host(&w, &kernel, root));
    CHECK(root[0] == 2 && root[1] == 0 && root[2] == 0 && root[3] == 2);
    CHECK_OK(t->capture_begin(w.stream));
    CHECK_FAILS(t->launch(w.stream, kernel, &w.x, &w.y, 0), MICA_FAILED_PRECONDITION,
                "[cholesky] is computed on the host");
    CHECK_OK(t->capture_end(w.stream, &recording));
    if (recording) t->recording_destroy(recording);
    if (kernel) t->kernel_destroy(w.device, kernel);
    release(&w);
    CHECK(stub_objects() == 0);
}

TEST(a_control_node_has_no_kernel) {
    world w = {0};
    mica_kernel *kernel = NULL;
    if (!load_stub("")) return;
    REQUIRE_OK(build(&w));
    mica_value barrier[1], x = mica_parameter(w.g, &(mica_type){.dtype = MICA_DTYPE_f32});
    mica_barrier(w.g, &x, 1, barrier);
    CHECK_FAILS(w.device->vtable->kernel_create(w.device, barrier[0].node, &kernel),
                MICA_UNSUPPORTED, "[barrier]");
    CHECK(kernel == NULL);
    release(&w);
    CHECK(stub_objects() == 0);
}

TEST(host_copies_are_refused_while_recording_and_recording_twice_too) {
    world w;
    float x = 0;
    if (!load_stub("")) return;
    CHECK_OK(live(&w));
    const mica_device_vtable *t = w.device->vtable;
    mica_recording *recording = NULL;
    CHECK_FAILS(t->capture_end(w.stream, &recording), MICA_FAILED_PRECONDITION, "not recording");
    CHECK_OK(t->capture_begin(w.stream));
    CHECK_FAILS(t->capture_begin(w.stream), MICA_FAILED_PRECONDITION, "is recording");
    CHECK_FAILS(t->upload(w.stream, w.x, &x, 4), MICA_FAILED_PRECONDITION, "[upload]");
    CHECK_FAILS(t->download(w.stream, &x, w.x, 4), MICA_FAILED_PRECONDITION, "[download]");
    CHECK_OK(t->capture_end(w.stream, &recording));
    if (recording) t->recording_destroy(recording);
    release(&w);
    CHECK(stub_objects() == 0);
}

TEST(a_late_failure_poisons_the_stream_and_comes_out_of_events) {
    world w = {0};
    float x = 0;
    if (!load_stub("late")) return;
    CHECK_OK(build(&w));
    const mica_device_vtable *t = w.device->vtable;
    CHECK_OK(t->launch(w.stream, w.kernel, &w.x, &w.x, 0));
    CHECK_OK(t->event_record(w.stream, w.event));
    CHECK_FAILS(t->event_wait(w.event), MICA_DEVICE_ERROR, "CUDA_ERROR_ILLEGAL_ADDRESS");
    CHECK_FAILS(t->download(w.stream, &x, w.x, 4), MICA_DEVICE_ERROR, "[download] cuda:0");
    CHECK_FAILS(t->launch(w.stream, w.kernel, &w.x, &w.x, 0), MICA_DEVICE_ERROR, "[launch]");
    stub_repair(); /* the stream remembers by itself */
    CHECK_FAILS(t->zero(w.stream, w.x, 4), MICA_DEVICE_ERROR, "[zero]");
    CHECK_FAILS(t->capture_begin(w.stream), MICA_DEVICE_ERROR, "[capture_begin]");
    CHECK_OK(t->event_record(w.stream, w.event));
    CHECK(t->event_is_done(w.event));
    CHECK_FAILS(t->event_wait(w.event), MICA_DEVICE_ERROR, "[event_wait]");
    CHECK_FAILS(t->stream_wait(w.second, w.event), MICA_DEVICE_ERROR, "[stream_wait]");
    CHECK_FAILS(t->copy(w.second, w.y, w.x, 4), MICA_DEVICE_ERROR, "[copy]");
    release(&w);
    CHECK(stub_objects() == 0);
}

TEST(every_call_of_the_driver_can_fail) {
    static const char *const calls[] = {
#define X(field, symbol, parameters) #symbol,
        MICA_CUDA_DRIVER_API(X) MICA_CUDA_NVRTC_API(X)
#undef X
    };
    char plan[96];
    int failed = 0;
    world w;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (int n = 1; n < 30; n++) {
            snprintf(plan, sizeof plan, "call:%s:%d", calls[i], n);
            if (!load_stub(plan)) return;
            mica_status status = live(&w);
            failed += status != NULL;
            bool over = !status;
            CHECK(!status || strlen(mica_status_message(status)) > 0);
            mica_status_release(status);
            setenv("STUB_CUDA", "", 1);
            release(&w);
            CHECK(stub_objects() == 0);
            if (over) break;
        }
    }
    CHECK(failed > 30);
}

TEST(every_allocation_can_fail) {
    world w;
    if (!load_stub("")) return;
    int64_t n = 0;
    for (bool over = false; !over && n < 1000;) {
        mica_memory_fail_nth(++n, false);
        mica_status status = live(&w);
        mica_memory_fail_nth(0, false);
        over = !status;
        CHECK(!status || mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
        release(&w);
        CHECK(stub_objects() == 0);
    }
    CHECK(n > 10);
}

/* A run of -x through the public API. */
static mica_status run_public(void) {
    mica_device *device = NULL;
    mica_graph *g = NULL;
    mica_executable *exe = NULL;
    mica_event *done = NULL;
    mica_tensor *x = NULL, *y = NULL;
    float data[N] = {1.5f}, back[N];
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(N));
    mica_status status = mica_device_open("cuda", &device);
    if (!status) status = mica_tensor_from_host(device, &type, data, &x);
    if (!status) status = mica_tensor_to_host(x, back, sizeof back);
    if (!status) CHECK(memcmp(data, back, sizeof back) == 0);
    if (!status) status = mica_graph_create("neg", &g);
    if (!status) {
        mica_output(g, mica_neg(g, mica_parameter(g, &type)));
        status = mica_executable_create(device, g, NULL, &exe);
    }
    mica_run_args args = {
        .size = sizeof args, .inputs = &x, .n_inputs = 1, .outputs = &y, .n_outputs = 1};
    if (!status) status = mica_executable_run(exe, &args, &done);
    if (!status) status = mica_event_wait(done);
    if (!status) status = mica_tensor_to_host(y, back, sizeof back);
    if (!status) CHECK(back[0] == -data[0]);
    mica_event_release(done);
    mica_tensor_release(y);
    mica_tensor_release(x);
    mica_executable_release(exe);
    mica_graph_release(g);
    mica_device_release(device);
    mica_shutdown();
    return status;
}

TEST(the_runtime_drives_the_device) {
    if (!load_stub("")) return;
    CHECK_OK(run_public());
    CHECK(stub_launches() == 1 && stub_objects() == 0);
    if (!load_stub("late")) return;
    CHECK_FAILS(run_public(), MICA_DEVICE_ERROR, "CUDA_ERROR_ILLEGAL_ADDRESS");
    stub_repair();
    CHECK(stub_objects() == 0);
    if (!load_stub("")) return;
    CHECK_OK(run_public());
    CHECK(stub_objects() == 0);
}

TEST(any_does_not_take_a_device_that_cannot_run_every_graph) {
    mica_device *device = NULL;
    if (!load_stub("")) return;
    REQUIRE_OK(mica_device_open("any", &device));
    CHECK(strncmp(mica_device_name(device), "cpu", 3) == 0);
    mica_device_release(device);
    mica_shutdown();
}
