/* Runs, events and callbacks across threads and devices. */
#include "base/platform.h"
#include "device/fake/fake.h"
#include "runtime_test.h"

/* MICA_TEST_DEVICE names another asynchronous device to take instead of fake, such as cuda. */
static const char *devices[] = {"cpu", "fake"};

__attribute__((constructor)) static void choose_device(void) {
    if (getenv("MICA_TEST_DEVICE")) devices[1] = getenv("MICA_TEST_DEVICE");
}

/* x + x, enough times that it takes a while */
static mica_graph *doubling_graph(int64_t n, int times) {
    mica_graph *g = new_graph("doubling");
    mica_type type = vector(n);
    mica_value x = mica_parameter(g, &type);
    for (int i = 0; i < times; i++) x = mica_add(g, x, x);
    mica_output(g, x);
    return g;
}

typedef struct subject {
    mica_device *device;
    mica_executable *exe;
    mica_tensor *x;
    int64_t n;
} subject;

static subject begin(const char *device, int64_t n, int times) {
    subject s = {.device = open_device(device), .n = n};
    mica_graph *g = doubling_graph(n, times);
    float *ones = malloc((size_t)n * sizeof *ones);
    for (int64_t i = 0; i < n; i++) ones[i] = 1;
    s.exe = compile(s.device, g, NULL);
    s.x = floats(s.device, ones, n);
    free(ones);
    mica_graph_release(g);
    return s;
}

static void end(subject *s) {
    mica_tensor_release(s->x);
    mica_executable_release(s->exe);
    mica_device_release(s->device);
}

static mica_status start(const subject *s, mica_tensor *x, mica_tensor **out,
                         void (*completed)(void *, mica_status, double), void *context,
                         mica_event **out_done) {
    mica_run_args args = {.size = sizeof args,
                          .inputs = &x,
                          .n_inputs = 1,
                          .outputs = out,
                          .n_outputs = 1,
                          .completed = completed,
                          .context = context};
    return mica_executable_run(s->exe, &args, out_done);
}

/* Usable on any thread: checks are for the main one. */
static mica_status read_last(const subject *s, mica_tensor *t, float *out) {
    float *data = malloc((size_t)s->n * sizeof *data);
    mica_status status = mica_tensor_to_host(t, data, (size_t)s->n * sizeof *data);
    *out = status ? NAN : data[s->n - 1];
    free(data);
    return status;
}

static float last_of(const subject *s, mica_tensor *t) {
    float last;
    CHECK_OK(read_last(s, t, &last));
    return last;
}

TEST(a_chain_of_runs_is_started_before_the_first_has_ended) {
    for (int d = 0; d < 2; d++) {
        subject s = begin(devices[d], 100000, 4);
        mica_tensor *chain[6] = {s.x};
        mica_event *done[6] = {NULL};
        for (int i = 0; i < 5; i++)
            REQUIRE_OK(start(&s, chain[i], &chain[i + 1], NULL, NULL, &done[i + 1]));
        CHECK(last_of(&s, chain[5]) == (float)(1 << 20));
        for (int i = 1; i < 6; i++) {
            CHECK_OK(mica_event_wait(done[i]));
            CHECK(mica_event_is_done(done[i]));
            CHECK(mica_event_seconds(done[i]) > 0);
            mica_event_release(done[i]);
            mica_tensor_release(chain[i]);
        }
        end(&s);
    }
}

/* ---- completion callbacks
 * -----------------------------------------------------------------------*/

typedef struct relay {
    const subject *s;
    int left;  /* runs still to start */
    int ended; /* atomic */
    mica_tensor *y;
    bool waits; /* for the next run, inside the callback */
    mica_code code;
} relay;

static void start_next(void *context, mica_status status, double seconds) {
    relay *r = context;
    (void)seconds;
    r->code = mica_status_code(status);
    mica_tensor *x = r->y;
    r->y = NULL;
    if (r->left-- > 0 && !status) {
        mica_event *done = NULL;
        status = start(r->s, x, &r->y, start_next, r, &done);
        if (!status && r->waits) status = mica_event_wait(done);
        r->code = mica_status_code(status);
        mica_status_release(status);
        mica_event_release(done);
        mica_tensor_release(x);
    } else {
        r->y = x;
    }
    __atomic_fetch_add(&r->ended, 1, __ATOMIC_SEQ_CST);
}

static void wait_for(int *counter, int wanted) {
    for (int i = 0; i < 100000 && __atomic_load_n(counter, __ATOMIC_SEQ_CST) < wanted; i++)
        mica_sleep(1e-4);
}

TEST(a_run_that_waits_has_ended_when_it_returns) {
    subject s = begin("cpu", 1000000, 12);
    mica_tensor *out = NULL, *again = NULL;
    mica_event *done = NULL;
    mica_run_args args = {.size = sizeof args,
                          .inputs = &s.x,
                          .n_inputs = 1,
                          .outputs = &out,
                          .n_outputs = 1,
                          .waits = true};
    CHECK_OK(mica_executable_run(s.exe, &args, &done));
    CHECK(mica_event_is_done(done));
    CHECK(last_of(&s, out) == 4096);
    mica_event_release(done);
    /* Behind a run that has not ended it waits for its turn. */
    mica_tensor *first = NULL;
    CHECK_OK(start(&s, s.x, &first, NULL, NULL, NULL));
    args.outputs = &again;
    CHECK_OK(mica_executable_run(s.exe, &args, NULL));
    CHECK(last_of(&s, again) == 4096);
    mica_tensor_release(first);
    mica_tensor_release(again);
    mica_tensor_release(out);
    end(&s);
}

TEST(a_completion_callback_may_start_and_wait_for_runs) {
    for (int k = 0; k < 8; k++) {
        /* small: run inline; large: on the stream's thread */
        subject s = begin(devices[k % 2], k & 2 ? 50000 : 10, 2);
        relay r = {.s = &s, .left = 3, .waits = k & 4};
        mica_tensor *y = NULL;
        mica_event *done = NULL;
        /* The first output is handed to the callback through the relay before it can end. */
        mica_tensor_retain(s.x);
        r.y = s.x;
        REQUIRE_OK(start(&s, s.x, &y, start_next, &r, &done));
        CHECK_OK(mica_event_wait(done));
        wait_for(&r.ended, 4);
        CHECK_OK(mica_device_wait(s.device));
        CHECK(r.ended == 4);
        CHECK(r.code == MICA_OK);
        CHECK(last_of(&s, r.y) == 64);
        mica_event_release(done);
        mica_tensor_release(y);
        mica_tensor_release(r.y);
        end(&s);
    }
}

/* ---- host callbacks that call back
 * --------------------------------------------------------------*/

/* Runs an executable on the same device, waits for it, and returns its first element. */
static mica_status call_back(void *context, const void *const *inputs, const mica_type *input_types,
                             int32_t n_inputs, void *const *outputs, const mica_type *output_types,
                             int32_t n_outputs) {
    const subject *s = context;
    (void)inputs, (void)input_types, (void)n_inputs, (void)output_types, (void)n_outputs;
    mica_tensor *y = NULL, *z = NULL;
    mica_event *done = NULL;
    mica_status status = start(s, s->x, &y, NULL, NULL, &done);
    if (!status) status = mica_event_wait(done);
    if (!status) status = start(s, y, &z, NULL, NULL, NULL);
    if (!status) status = read_last(s, z, outputs[0]);
    mica_event_release(done);
    mica_tensor_release(y);
    mica_tensor_release(z);
    return status;
}

TEST(a_host_callback_may_run_executables_on_its_own_device) {
    for (int k = 0; k < 4; k++) {
        subject s = begin(devices[k % 2], k & 2 ? 50000 : 10, 2);
        int64_t function = mica_host_function_register(call_back, &s);
        mica_graph *g = new_graph("outer");
        mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
        mica_value x = mica_parameter(g, &scalar), out[2];
        mica_callback(g, "call_back", function, mica_token(g), &x, 1, (mica_types){&scalar, 1},
                      out);
        mica_output(g, mica_add(g, out[1], x));
        mica_executable *exe = compile(s.device, g, NULL);
        float one = 1;
        mica_tensor *input = scalar_of(s.device, MICA_DTYPE_f32, &one), *y[3] = {NULL};
        for (int i = 0; i < 3; i++) REQUIRE_OK(run(exe, &input, 1, NULL, &y[i], 1));
        for (int i = 0; i < 3; i++) {
            CHECK(first_float(y[i]) == 17);
            mica_tensor_release(y[i]);
        }
        mica_tensor_release(input);
        mica_executable_release(exe);
        mica_graph_release(g);
        mica_host_function_unregister(function);
        end(&s);
    }
}

typedef struct knot {
    mica_event *own; /* atomic */
    mica_code code;
} knot;

static mica_status wait_for_itself(void *context, const void *const *inputs,
                                   const mica_type *input_types, int32_t n_inputs,
                                   void *const *outputs, const mica_type *output_types,
                                   int32_t n_outputs) {
    knot *k = context;
    (void)inputs, (void)input_types, (void)n_inputs, (void)outputs, (void)output_types,
        (void)n_outputs;
    mica_event *own;
    while (!(own = __atomic_load_n(&k->own, __ATOMIC_SEQ_CST))) mica_sleep(1e-4);
    mica_status status = mica_event_wait(own);
    k->code = mica_status_code(status);
    mica_status_release(status);
    return NULL;
}

TEST(a_callback_that_waits_for_its_own_run_is_told_so) {
    for (int d = 0; d < 2; d++) {
        mica_device *device = open_device(devices[d]);
        knot k = {0};
        int64_t function = mica_host_function_register(wait_for_itself, &k);
        mica_graph *g = new_graph("knot");
        mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
        mica_value x = mica_parameter(g, &scalar), out[1];
        mica_callback(g, "knot", function, mica_token(g), &x, 1, (mica_types){NULL, 0}, out);
        mica_output(g, mica_neg(g, x));
        mica_executable *exe = compile(device, g, NULL);
        float one = 1;
        mica_tensor *input = scalar_of(device, MICA_DTYPE_f32, &one), *y = NULL;
        mica_event *done = NULL;
        mica_run_args args = {
            .size = sizeof args, .inputs = &input, .n_inputs = 1, .outputs = &y, .n_outputs = 1};
        REQUIRE_OK(mica_executable_run(exe, &args, &done));
        __atomic_store_n(&k.own, done, __ATOMIC_SEQ_CST);
        CHECK_OK(mica_event_wait(done));
        CHECK(k.code == MICA_FAILED_PRECONDITION);
        mica_event_release(done);
        mica_tensor_release(input);
        mica_tensor_release(y);
        mica_executable_release(exe);
        mica_graph_release(g);
        mica_host_function_unregister(function);
        mica_device_release(device);
    }
}

/* ---- threads
 * ------------------------------------------------------------------------------------*/

typedef struct worker {
    const subject *s;
    int runs, wrong;
} worker;

static void run_many(void *context) {
    worker *w = context;
    for (int i = 0; i < w->runs; i++) {
        mica_tensor *y = NULL, *z = NULL;
        mica_status status = start(w->s, w->s->x, &y, NULL, NULL, NULL);
        if (!status) status = start(w->s, y, &z, NULL, NULL, NULL);
        float *data = malloc((size_t)w->s->n * sizeof *data);
        if (!status) status = mica_tensor_to_host(z, data, (size_t)w->s->n * sizeof *data);
        if (status || data[w->s->n - 1] != 16) w->wrong++;
        free(data);
        mica_status_release(status);
        mica_tensor_release(y);
        mica_tensor_release(z);
    }
}

TEST(two_threads_run_one_executable_at_once) {
    for (int k = 0; k < 4; k++) {
        subject s = begin(devices[k % 2], k & 2 ? 30000 : 10, 2);
        worker workers[3] = {{&s, 60, 0}, {&s, 60, 0}, {&s, 60, 0}};
        mica_thread *threads[2] = {NULL};
        for (int i = 0; i < 2; i++)
            REQUIRE_OK(mica_thread_start(run_many, &workers[i], "test", &threads[i]));
        run_many(&workers[2]);
        for (int i = 0; i < 2; i++) mica_thread_join(threads[i]);
        for (int i = 0; i < 3; i++) CHECK(workers[i].wrong == 0);
        end(&s);
    }
}

static void wait_on(void *context) {
    mica_status_release(mica_event_wait(context));
}

TEST(many_threads_wait_for_one_event) {
    subject s = begin("fake", 100000, 30);
    mica_tensor *y = NULL;
    mica_event *done = NULL;
    mica_thread *threads[4] = {NULL};
    REQUIRE_OK(start(&s, s.x, &y, NULL, NULL, &done));
    for (int i = 0; i < 4; i++) REQUIRE_OK(mica_thread_start(wait_on, done, "test", &threads[i]));
    for (int i = 0; i < 4; i++) mica_thread_join(threads[i]);
    CHECK(mica_event_is_done(done));
    mica_event_release(done);
    mica_tensor_release(y);
    end(&s);
}

TEST(two_devices_work_in_one_process) {
    subject cpu = begin("cpu", 30000, 2), one = begin("fake:0", 30000, 2),
            two = begin("fake:1", 30000, 2);
    CHECK(one.device != two.device);
    mica_tensor *a = NULL, *b = NULL, *c = NULL, *moved = NULL, *back = NULL;
    REQUIRE_OK(start(&one, one.x, &a, NULL, NULL, NULL));
    REQUIRE_OK(start(&cpu, cpu.x, &c, NULL, NULL, NULL));
    REQUIRE_OK(mica_tensor_copy_to(a, two.device, &moved));
    REQUIRE_OK(start(&two, moved, &b, NULL, NULL, NULL));
    REQUIRE_OK(mica_tensor_copy_to(b, cpu.device, &back));
    CHECK(last_of(&cpu, back) == 16);
    CHECK(last_of(&cpu, c) == 4);
    mica_tensor *all[] = {a, b, c, moved, back};
    for (int i = 0; i < 5; i++) mica_tensor_release(all[i]);
    end(&cpu);
    end(&one);
    end(&two);
}

/* ---- device errors
 * ------------------------------------------------------------------------------*/

TEST(a_device_error_poisons_the_stream_until_it_is_reported) {
    for (int in_flight = 1; in_flight < 4; in_flight++) {
        subject s = begin("fake", 1000, 6);
        mica_tensor *y[3] = {NULL}, *more = NULL;
        mica_event *done[3] = {NULL};
        mica_fake_fail_command(3);
        for (int i = 0; i < in_flight; i++) { /* later ones may be refused already */
            mica_status status = start(&s, s.x, &y[i], NULL, NULL, &done[i]);
            CHECK(status ? i > 0 && mica_status_code(status) == MICA_DEVICE_ERROR : y[i] != NULL);
            mica_status_release(status);
        }
        CHECK_FAILS(mica_event_wait(done[0]), MICA_DEVICE_ERROR, "[fake]");
        CHECK_FAILS(start(&s, s.x, &more, NULL, NULL, NULL), MICA_DEVICE_ERROR, "[fake]");
        CHECK(more == NULL);
        CHECK_FAILS(mica_device_wait(s.device), MICA_DEVICE_ERROR, "[fake]");
        for (int i = 0; i < in_flight; i++) {
            if (done[i]) CHECK_FAILS(mica_event_wait(done[i]), MICA_DEVICE_ERROR, "[fake]");
            mica_event_release(done[i]);
            mica_tensor_release(y[i]);
        }
        CHECK_OK(mica_device_wait(s.device));
        REQUIRE_OK(start(&s, s.x, &more, NULL, NULL, NULL));
        CHECK(last_of(&s, more) == 64);
        mica_tensor_release(more);
        end(&s);
    }
    mica_fake_fail_command(0);
}
