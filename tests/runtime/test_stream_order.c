/* Devices that compute beside the host, with commands in order: state that is updated in place,
 * what a failure costs, and what others that hold the state see. */
#include "base/platform.h"
#include "device/fake/fake.h"
#include "runtime/tensor.h"
#include "runtime_test.h"

enum { N = 1000, STATES = 3 };

/* state, x -> state + x, sum of the state: every state is overwritten. */
static mica_graph *step_graph(void) {
    mica_graph *g = new_graph("step");
    mica_type type = vector(N);
    mica_value state[STATES], loss = mica_scalar(g, MICA_DTYPE_f32, 0);
    for (int i = 0; i < STATES; i++) state[i] = mica_parameter(g, &type);
    mica_value x = mica_parameter(g, &type);
    for (int i = 0; i < STATES; i++) loss = mica_add(g, loss, mica_sum(g, state[i], MICA_INTS(0)));
    for (int i = 0; i < STATES; i++) mica_output(g, mica_add(g, state[i], x));
    mica_output(g, loss);
    return g;
}

typedef struct trainer {
    mica_device *device;
    mica_executable *exe;
    mica_tensor *state[STATES], *x;
} trainer;

static mica_tensor *filled(mica_device *device, float value) {
    float data[N];
    for (int i = 0; i < N; i++) data[i] = value;
    return floats(device, data, N);
}

static void fresh_state(trainer *t) {
    for (int i = 0; i < STATES; i++) {
        mica_tensor_release(t->state[i]);
        t->state[i] = filled(t->device, (float)i);
    }
}

static trainer begin_with(const char *passes) {
    trainer t = {.device = open_device("fake")};
    mica_graph *g = step_graph();
    t.exe = compile(t.device, g, passes);
    t.x = filled(t.device, 1);
    fresh_state(&t);
    mica_graph_release(g);
    return t;
}

static trainer begin(void) {
    return begin_with(NULL);
}

static void end(trainer *t) {
    for (int i = 0; i < STATES; i++) mica_tensor_release(t->state[i]);
    mica_tensor_release(t->x);
    mica_executable_release(t->exe);
    mica_device_release(t->device);
}

/* The state moves on when the step was started; nothing is waited for. */
static mica_status step(trainer *t, mica_event **out_done) {
    mica_tensor *inputs[STATES + 1], *outputs[STATES + 1];
    uint8_t donate[STATES + 1] = {1, 1, 1, 0};
    for (int i = 0; i < STATES; i++) inputs[i] = t->state[i];
    inputs[STATES] = t->x;
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = STATES + 1,
                          .donate = donate,
                          .outputs = outputs,
                          .n_outputs = STATES + 1};
    mica_status status = mica_executable_run(t->exe, &args, out_done);
    if (status) return status;
    for (int i = 0; i < STATES; i++) {
        mica_tensor_release(t->state[i]);
        t->state[i] = outputs[i];
    }
    mica_tensor_release(outputs[STATES]);
    return NULL;
}

static float value_of(mica_tensor *t) {
    float data[N];
    CHECK_OK(mica_tensor_to_host(t, data, sizeof data));
    for (int i = 1; i < N; i++) CHECK(data[i] == data[0]);
    return data[0];
}

TEST(state_stays_at_its_addresses_over_queued_steps) {
    trainer t = begin();
    mica_address before[STATES];
    for (int i = 0; i < STATES; i++) before[i] = t.state[i]->buffer->address;
    for (int k = 0; k < 50; k++) {
        REQUIRE_OK(step(&t, NULL));
        for (int i = 0; i < STATES; i++) CHECK(t.state[i]->buffer->address == before[i]);
    }
    for (int i = 0; i < STATES; i++) CHECK(value_of(t.state[i]) == 50 + (float)i);
    end(&t);
}

TEST(another_holder_of_the_state_keeps_its_value) {
    trainer t = begin();
    for (int k = 0; k < 3; k++) REQUIRE_OK(step(&t, NULL));
    mica_tensor *held = t.state[1];
    mica_tensor_retain(held);
    for (int k = 0; k < 4; k++) REQUIRE_OK(step(&t, NULL));
    CHECK(value_of(held) == 4);
    for (int i = 0; i < STATES; i++) CHECK(value_of(t.state[i]) == 7 + (float)i);
    mica_tensor_release(held);
    end(&t);
}

TEST(a_failure_in_the_middle_costs_the_donated_state_and_says_so) {
    mica_fake_set_delays(false, 1);
    for (int64_t n = 1; n < 24; n += 3) {
        trainer t = begin();
        mica_tensor *first = t.state[0];
        mica_event *done = NULL;
        mica_tensor_retain(first); /* the holder's is not overwritten */
        mica_fake_fail_command(n);
        mica_status status = NULL;
        for (int k = 0; k < 5 && !status; k++) {
            mica_event_release(done);
            done = NULL;
            status = step(&t, &done);
        }
        CHECK(!status || mica_status_code(status) == MICA_DEVICE_ERROR);
        mica_status_release(status);
        if (done) CHECK_FAILS(mica_event_wait(done), MICA_DEVICE_ERROR, "[fake]");
        mica_event_release(done);
        CHECK_FAILS(mica_device_wait(t.device), MICA_DEVICE_ERROR, "[fake]");
        float data[N];
        CHECK_FAILS(mica_tensor_to_host(t.state[1], data, sizeof data), MICA_DEVICE_ERROR,
                    "[fake]");
        CHECK(value_of(first) == 0);
        mica_tensor_release(first);
        /* The device works again, on fresh state. */
        mica_fake_fail_command(0);
        fresh_state(&t);
        REQUIRE_OK(step(&t, NULL));
        for (int i = 0; i < STATES; i++) CHECK(value_of(t.state[i]) == 1 + (float)i);
        CHECK_OK(mica_device_wait(t.device));
        end(&t);
    }
    mica_fake_set_delays(true, 1);
}

TEST(a_tensor_that_a_failed_run_consumed_is_lost) {
    trainer t = begin();
    mica_tensor *inputs[STATES + 1], *outputs[STATES + 1];
    uint8_t donate[STATES + 1] = {1, 1, 1, 0};
    for (int i = 0; i < STATES; i++) inputs[i] = t.state[i];
    inputs[STATES] = t.x;
    mica_fake_fail_command(2);
    REQUIRE_OK(run(t.exe, inputs, STATES + 1, donate, outputs, STATES + 1));
    CHECK_FAILS(mica_device_wait(t.device), MICA_DEVICE_ERROR, "[fake]");
    float data[N];
    for (int i = 0; i < STATES; i++)
        CHECK_FAILS(mica_tensor_to_host(t.state[i], data, sizeof data), MICA_DEVICE_ERROR,
                    "was donated to a run that failed, and is lost: [fake]");
    CHECK(value_of(t.x) == 1);
    for (int i = 0; i < STATES + 1; i++) mica_tensor_release(outputs[i]);
    end(&t);
}

/* ---- issuing ----------------------------------------------------------------------------------*/

TEST(runs_are_issued_by_the_caller_and_their_number_is_bounded) {
    mica_shutdown();
    mica_fake_set_delays(true, 5);
    trainer t = begin();
    const mica_stream *stream = &t.device->runtime->stream;
    for (int k = 0; k < 500; k++) {
        REQUIRE_OK(step(&t, NULL));
        CHECK(stream->n_in_flight <= MICA_MOST_IN_FLIGHT);
    }
    CHECK(stream->most_in_flight > 1);
    CHECK(stream->thread == NULL); /* nobody was woken */
    for (int i = 0; i < STATES; i++) CHECK(value_of(t.state[i]) == 500 + (float)i);
    CHECK_OK(mica_device_wait(t.device));
    CHECK(stream->n_in_flight == 0 && stream->live == 0);
    CHECK(stream->n_events > 0 && stream->n_events <= MICA_MOST_IN_FLIGHT);
    end(&t);
}

TEST(a_run_costs_no_new_event_and_no_allocation_on_the_device) {
    mica_shutdown();
    mica_fake_set_delays(false, 1);
    trainer t = begin_with("-replay");
    int64_t calls[3];
    for (int k = 0; k < 3; k++) {
        int64_t before = mica_fake_calls();
        REQUIRE_OK(step(&t, NULL));
        calls[k] = mica_fake_calls() - before;
        CHECK_OK(mica_device_wait(t.device));
    }
    CHECK(calls[1] < calls[0]);
    CHECK(calls[2] == calls[1]);
    end(&t);
    mica_fake_set_delays(true, 1);
}

/* The memory of inputs that were let go waits for the device. */
TEST(memory_that_waits_for_the_device_is_bounded) {
    enum { LARGE = 1 << 20 };
    mica_shutdown();
    mica_device *device = open_device("fake");
    mica_graph *g = new_graph("sum");
    mica_type type = vector(LARGE);
    mica_value x = mica_parameter(g, &type), y = x;
    for (int i = 0; i < 10; i++) y = mica_tanh(g, y);
    mica_output(g, mica_sum(g, y, MICA_INTS(0)));
    mica_executable *exe = compile(device, g, NULL);
    float *data = calloc(LARGE, sizeof *data);
    size_t most = 0;
    for (int k = 0; k < 80; k++) {
        mica_tensor *input = floats(device, data, LARGE), *out = NULL;
        REQUIRE_OK(run(exe, &input, 1, NULL, &out, 1));
        mica_tensor_release(input);
        mica_tensor_release(out);
        size_t all = device->runtime->in_use + device->runtime->cached;
        if (all > most) most = all;
    }
    /* 64 MiB of inputs that wait, two in use, the arena */
    CHECK(most <= (size_t)76 << 20);
    CHECK_OK(mica_device_wait(device));
    free(data);
    mica_executable_release(exe);
    mica_graph_release(g);
    mica_device_release(device);
}

typedef struct order {
    int calls, wrong;
    mica_device *device;
} order;

static void count_in_order(void *context, mica_status status, double seconds) {
    order *o = context;
    (void)seconds;
    if (status) o->wrong++;
    if (o->calls == 20) mica_status_release(mica_device_wait(o->device));
    __atomic_fetch_add(&o->calls, 1, __ATOMIC_SEQ_CST);
}

TEST(completion_callbacks_come_without_anybody_waiting) {
    trainer t = begin();
    order o = {.device = t.device};
    for (int k = 0; k < 100; k++) {
        mica_tensor *inputs[STATES + 1] = {t.state[0], t.state[1], t.state[2], t.x};
        mica_tensor *outputs[STATES + 1];
        mica_run_args args = {.size = sizeof args,
                              .inputs = inputs,
                              .n_inputs = STATES + 1,
                              .outputs = outputs,
                              .n_outputs = STATES + 1,
                              .completed = count_in_order,
                              .context = &o};
        REQUIRE_OK(mica_executable_run(t.exe, &args, NULL));
        for (int i = 0; i < STATES + 1; i++) mica_tensor_release(outputs[i]);
    }
    for (int i = 0; i < 100000 && __atomic_load_n(&o.calls, __ATOMIC_SEQ_CST) < 100; i++)
        mica_sleep(1e-4);
    CHECK(__atomic_load_n(&o.calls, __ATOMIC_SEQ_CST) == 100);
    CHECK_OK(mica_device_wait(t.device));
    CHECK(o.wrong == 0);
    end(&t);
}

TEST(an_event_is_done_without_anybody_waiting) {
    trainer t = begin();
    mica_event *done = NULL;
    REQUIRE_OK(step(&t, &done));
    bool is_done = false;
    for (int i = 0; i < 100000 && !is_done; i++) {
        is_done = mica_event_is_done(done);
        if (!is_done) mica_sleep(1e-4);
    }
    CHECK(is_done);
    mica_event_release(done);
    end(&t);
}

typedef struct stepper {
    trainer t;
    int wrong;
} stepper;

static void step_many(void *context) {
    stepper *s = context;
    for (int k = 0; k < 200; k++) {
        mica_status status = step(&s->t, NULL);
        s->wrong += status != NULL;
        mica_status_release(status);
    }
}

TEST(threads_issue_their_runs_on_one_stream) {
    stepper all[3];
    mica_thread *threads[2] = {NULL};
    for (int i = 0; i < 3; i++) all[i] = (stepper){begin(), 0};
    for (int i = 0; i < 2; i++)
        REQUIRE_OK(mica_thread_start(step_many, &all[i], "test", &threads[i]));
    step_many(&all[2]);
    for (int i = 0; i < 2; i++) mica_thread_join(threads[i]);
    for (int i = 0; i < 3; i++) {
        CHECK(all[i].wrong == 0);
        for (int k = 0; k < STATES; k++) CHECK(value_of(all[i].t.state[k]) == 200 + (float)k);
        end(&all[i].t);
    }
}
