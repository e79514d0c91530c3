/* Programs that are recorded once and replayed: with fixed addresses, and never with wrong ones. */
#include "base/platform.h"
#include "device/fake/fake.h"
#include "runtime/replay.h"
#include "runtime_test.h"

enum { N = 1000, STATES = 3, WIDE = 40000 };

/* state, x -> state + x, sum of the state, and wide: x repeated (too large to be copied unasked) */
static mica_graph *step_graph(void) {
    mica_graph *g = new_graph("step");
    mica_type type = vector(N);
    mica_value state[STATES], loss = mica_scalar(g, MICA_DTYPE_f32, 0);
    for (int i = 0; i < STATES; i++) state[i] = mica_parameter(g, &type);
    mica_value x = mica_parameter(g, &type);
    for (int i = 0; i < STATES; i++) loss = mica_add(g, loss, mica_sum(g, state[i], MICA_INTS(0)));
    for (int i = 0; i < STATES; i++) mica_output(g, mica_add(g, state[i], x));
    mica_output(g, loss);
    mica_output(g, mica_broadcast(g, mica_sum(g, x, MICA_INTS(0)), MICA_INTS(WIDE), MICA_NO_INTS));
    return g;
}

typedef struct trainer {
    mica_device *device;
    mica_executable *exe;
    mica_tensor *state[STATES], *x, *loss, *wide;
    bool holds_wide; /* beyond the next step */
    int failures;
} trainer;

static mica_tensor *filled(mica_device *device, float value) {
    float data[N];
    for (int i = 0; i < N; i++) data[i] = value;
    return floats(device, data, N);
}

static trainer begin(const char *passes) {
    trainer t = {.device = open_device("fake")};
    mica_graph *g = step_graph();
    t.exe = compile(t.device, g, passes);
    t.x = filled(t.device, 1);
    for (int i = 0; i < STATES; i++) t.state[i] = filled(t.device, (float)i);
    mica_graph_release(g);
    return t;
}

static void end(trainer *t) {
    for (int i = 0; i < STATES; i++) mica_tensor_release(t->state[i]);
    mica_tensor_release(t->x);
    mica_tensor_release(t->loss);
    mica_tensor_release(t->wide);
    mica_executable_release(t->exe);
    mica_device_release(t->device);
}

/* The loss of the step before is held until this one was started, as a loop in Python does. */
static mica_status step(trainer *t) {
    mica_tensor *inputs[STATES + 1], *outputs[STATES + 2];
    uint8_t donate[STATES + 1] = {1, 1, 1, 0};
    for (int i = 0; i < STATES; i++) inputs[i] = t->state[i];
    inputs[STATES] = t->x;
    if (!t->holds_wide) mica_tensor_release(t->wide), t->wide = NULL;
    MICA_TRY(run(t->exe, inputs, STATES + 1, donate, outputs, STATES + 2));
    for (int i = 0; i < STATES; i++) {
        mica_tensor_release(t->state[i]);
        t->state[i] = outputs[i];
    }
    mica_tensor_release(t->loss);
    t->loss = outputs[STATES];
    mica_tensor_release(t->wide);
    t->wide = outputs[STATES + 1];
    return NULL;
}

static float value_of(mica_tensor *t) {
    float data[N] = {NAN};
    CHECK_OK(mica_tensor_to_host(t, data, sizeof data));
    int different = 0;
    for (int i = 1; i < N; i++) different += data[i] != data[0];
    CHECK(different == 0);
    return data[0];
}

static void check_states(trainer *t, float steps) {
    for (int i = 0; i < STATES; i++) CHECK(value_of(t->state[i]) == steps + (float)i);
}

/* The failure of the last step, wherever it comes out. */
static mica_status failure_of(trainer *t, mica_status status) {
    float loss;
    if (!status) status = mica_tensor_to_host(t->loss, &loss, sizeof loss);
    return mica_status_join(status, mica_device_wait(t->device));
}

TEST(the_second_and_later_runs_of_a_step_are_one_replay) {
    trainer t = begin(NULL);
    int64_t captures = mica_fake_captures(), replays = mica_fake_replays();
    REQUIRE_OK(step(&t));
    CHECK(mica_fake_captures() == captures && mica_fake_replays() == replays);
    for (int k = 1; k < 20; k++) {
        REQUIRE_OK(step(&t));
        CHECK(mica_fake_captures() == captures + 1);
        CHECK(mica_fake_replays() == replays + k);
    }
    CHECK_OK(mica_device_wait(t.device));
    /* One replay, the copy of the loss, the event, which is then waited for. */
    int64_t calls = mica_fake_calls();
    REQUIRE_OK(step(&t));
    CHECK_OK(mica_device_wait(t.device));
    CHECK(mica_fake_calls() - calls == 4);
    check_states(&t, 21);
    CHECK(first_float(t.loss) == 63 * N);
    end(&t);
}

TEST(an_input_that_moves_is_copied_to_its_slot) {
    trainer t = begin(NULL);
    int64_t captures = mica_fake_captures();
    float sum = 0;
    for (int k = 0; k < 12; k++) {
        mica_tensor *old = t.x;
        t.x = filled(t.device, (float)k);
        mica_tensor_release(k % 3 ? old : NULL); /* some are held, so that addresses vary */
        REQUIRE_OK(step(&t));
        if (k % 3 == 0) mica_tensor_release(old);
        sum += (float)k;
        check_states(&t, sum);
        float wide[WIDE];
        CHECK_OK(mica_tensor_to_host(t.wide, wide, sizeof wide));
        CHECK(wide[0] == (float)k * N && wide[WIDE - 1] == (float)k * N);
    }
    CHECK(mica_fake_captures() - captures <= 2);
    end(&t);
}

TEST(state_that_another_holds_moves_and_is_recorded_anew) {
    trainer t = begin(NULL);
    for (int k = 0; k < 10; k++) REQUIRE_OK(step(&t));
    int64_t captures = mica_fake_captures(), replays = mica_fake_replays();
    mica_tensor *held = t.state[1];
    mica_tensor_retain(held);
    for (int k = 0; k < 10; k++) REQUIRE_OK(step(&t));
    CHECK(mica_fake_captures() > captures && mica_fake_captures() <= captures + 3);
    CHECK(mica_fake_replays() == replays + 10);
    CHECK(value_of(held) == 11);
    check_states(&t, 20);
    mica_tensor_release(held);
    end(&t);
}

TEST(a_large_output_that_is_held_is_copied_from_then_on) {
    trainer t = begin(NULL);
    t.holds_wide = true;
    for (int k = 0; k < 4; k++) REQUIRE_OK(step(&t));
    int64_t captures = mica_fake_captures(), replays = mica_fake_replays();
    mica_tensor *held[5];
    for (int k = 0; k < 5; k++) {
        REQUIRE_OK(step(&t));
        held[k] = t.wide;
        mica_tensor_retain(held[k]);
    }
    CHECK(mica_fake_captures() == captures && mica_fake_replays() == replays + 5);
    for (int k = 0; k < 5; k++) {
        float wide[WIDE];
        CHECK_OK(mica_tensor_to_host(held[k], wide, sizeof wide));
        CHECK(wide[0] == N && wide[WIDE - 1] == N);
        mica_tensor_release(held[k]);
    }
    end(&t);
}

TEST(what_is_never_replayed_is_recorded_ever_more_rarely) {
    trainer t = begin(NULL);
    int64_t captures = mica_fake_captures();
    mica_tensor *old[100][STATES];
    for (int k = 0; k < 100; k++) { /* fresh state in every step; the old one is kept */
        for (int i = 0; i < STATES; i++) {
            old[k][i] = t.state[i];
            t.state[i] = filled(t.device, (float)(k + i));
        }
        REQUIRE_OK(step(&t));
        for (int i = 0; i < STATES; i++) CHECK(value_of(t.state[i]) == (float)(k + i + 1));
    }
    for (int k = 0; k < 100; k++)
        for (int i = 0; i < STATES; i++) mica_tensor_release(old[k][i]);
    CHECK(mica_fake_captures() - captures < 15);
    end(&t);
}

TEST(memory_does_not_grow_over_1000_steps) {
    mica_fake_set_delays(false, 1);
    trainer t = begin(NULL);
    size_t now, peak, later, highest;
    for (int k = 0; k < 80; k++) REQUIRE_OK(step(&t));
    CHECK_OK(mica_device_wait(t.device));
    mica_device_memory(t.device, &now, &peak);
    int64_t blocks = mica_memory_live_blocks(), captures = mica_fake_captures();
    for (int k = 0; k < 1000; k++) {
        if (k % 10 == 0) { /* memory that the device is still at work in is not uploaded to */
            CHECK_OK(mica_device_wait(t.device));
            mica_tensor_release(t.x);
            t.x = filled(t.device, 1);
        }
        REQUIRE_OK(step(&t));
    }
    CHECK_OK(mica_device_wait(t.device));
    mica_device_memory(t.device, &later, &highest);
    CHECK(later <= now + 8192 && highest <= peak + 8192); /* a slot for x may have come */
    CHECK(mica_memory_live_blocks() <= blocks + 16);
    CHECK(mica_fake_captures() - captures <= 1);
    check_states(&t, 1080);
    end(&t);
    mica_fake_set_delays(true, 1);
}

/* ---- control flow -----------------------------------------------------------------------------*/

/* x f32[4], p bool -> ((x + 1) * 2) and then, where p, - 1, else * 10; then + 3 and * 4. */
static mica_graph *branching_graph(void) {
    mica_graph *g = new_graph("branching"), *then = new_graph("then"), *other = new_graph("else");
    mica_type type = vector(4), truth = mica_type_scalar(MICA_DTYPE_bool);
    mica_value a = mica_parameter(then, &type), b = mica_parameter(other, &type);
    mica_output(then, mica_sub(then, a, mica_scalar(then, MICA_DTYPE_f32, 1)));
    mica_output(other, mica_mul(other, b, mica_scalar(other, MICA_DTYPE_f32, 10)));
    mica_value x = mica_parameter(g, &type), p = mica_parameter(g, &truth), y;
    x = mica_sum(g,
                 mica_broadcast(g, mica_add(g, x, mica_scalar(g, MICA_DTYPE_f32, 1)),
                                MICA_INTS(2, 4), MICA_INTS(1)),
                 MICA_INTS(0));
    mica_cond(g, p, then, other, &x, 1, &y);
    y = mica_add(g, y, mica_scalar(g, MICA_DTYPE_f32, 3));
    mica_output(g, mica_sum(g, mica_broadcast(g, y, MICA_INTS(4, 4), MICA_INTS(1)), MICA_INTS(0)));
    mica_graph_release(then);
    mica_graph_release(other);
    return g;
}

TEST(a_predicate_splits_the_recording) {
    mica_device *device = open_device("fake");
    mica_graph *g = branching_graph();
    mica_executable *exe = compile(device, g, "-simplify");
    int64_t captures = mica_fake_captures(), replays = mica_fake_replays();
    float data[4] = {1, 2, 3, 4};
    mica_tensor *x = floats(device, data, 4);
    for (int k = 0; k < 8; k++) {
        uint8_t truth = k % 3 != 0;
        mica_tensor *in[2] = {x, scalar_of(device, MICA_DTYPE_bool, &truth)}, *out = NULL;
        REQUIRE_OK(run(exe, in, 2, NULL, &out, 1));
        CHECK(first_float(out) == (truth ? (4 - 1 + 3) * 4 : (40 + 3) * 4));
        mica_tensor_release(out);
        mica_tensor_release(in[1]);
    }
    int64_t pieces = mica_fake_captures() - captures;
    CHECK(pieces >= 2 && pieces <= 4);
    CHECK(mica_fake_replays() - replays == 7 * 2);
    mica_tensor_release(x);
    mica_executable_release(exe);
    mica_graph_release(g);
    mica_device_release(device);
}

/* c, xs[5, 4] -> c + xs in turn, and each sum; the scan is one recording */
TEST(a_scan_is_recorded_unrolled) {
    mica_device *device = open_device("fake");
    mica_graph *g = new_graph("sums"), *body = new_graph("body");
    mica_type type = vector(4), all = mica_type_make(MICA_DTYPE_f32, MICA_INTS(5, 4));
    mica_value c = mica_parameter(body, &type), x = mica_parameter(body, &type);
    mica_value sum = mica_add(body, mica_mul(body, c, c), x);
    mica_output(body, sum);
    mica_output(body, sum);
    mica_value in[2] = {mica_parameter(g, &type), mica_parameter(g, &all)}, out[2];
    mica_scan(g, body, in, 2, 0, 1, 5, false, out);
    mica_output(g, out[0]);
    mica_output(g, out[1]);
    mica_graph_release(body);
    mica_executable *exe = compile(device, g, NULL);
    int64_t captures = mica_fake_captures(), replays = mica_fake_replays();
    float xs[20], c0[4] = {0.5f, 1, 0, -1}, expected[4];
    for (int k = 0; k < 6; k++) {
        for (int i = 0; i < 20; i++) xs[i] = (float)((i * 7 + k) % 5) * 0.125f;
        memcpy(expected, c0, sizeof expected);
        for (int i = 0; i < 20; i++) expected[i % 4] = expected[i % 4] * expected[i % 4] + xs[i];
        mica_tensor *inputs[2] = {floats(device, c0, 4)}, *outputs[2] = {NULL};
        CHECK_OK(mica_tensor_from_host(device, &all, xs, &inputs[1]));
        REQUIRE_OK(run(exe, inputs, 2, NULL, outputs, 2));
        float found[4], ys[20];
        CHECK_OK(mica_tensor_to_host(outputs[0], found, sizeof found));
        CHECK_OK(mica_tensor_to_host(outputs[1], ys, sizeof ys));
        CHECK(!memcmp(found, expected, sizeof found));
        CHECK(!memcmp(ys + 16, expected, sizeof found));
        for (int i = 0; i < 2; i++) mica_tensor_release(inputs[i]), mica_tensor_release(outputs[i]);
    }
    CHECK(mica_fake_captures() - captures <= 2);
    CHECK(mica_fake_replays() - replays == 5);
    mica_executable_release(exe);
    mica_graph_release(g);
    mica_device_release(device);
}

/* ---- failures ---------------------------------------------------------------------------------*/

/* Every call of the vtable that a recorded run makes fails once: the run is walked, or fails and
 * says so; afterwards everything works. */
TEST(every_call_of_a_recorded_run_may_fail) {
    mica_fake_set_delays(false, 1);
    int64_t fine = 0, failures = 0;
    for (int64_t n = 1, done = 0; !done; n++) {
        trainer t = begin(NULL);
        REQUIRE_OK(step(&t));
        CHECK_OK(mica_device_wait(t.device));
        int64_t first = mica_fake_calls();
        mica_fake_fail_call(n);
        mica_status status = failure_of(&t, step(&t));
        mica_fake_fail_call(0);
        done = mica_fake_calls() - first < n;
        if (!status) {
            fine++;
            check_states(&t, 2);
            REQUIRE_OK(step(&t));
            check_states(&t, 3);
        } else {
            failures++;
        }
        mica_status_release(status);
        end(&t);
    }
    CHECK(fine > 8);     /* the calls of a recording */
    CHECK(failures > 0); /* the replay itself */
    mica_fake_set_delays(true, 1);
}

TEST(a_program_that_cannot_be_recorded_is_walked) {
    trainer t = begin(NULL);
    REQUIRE_OK(step(&t));
    int64_t replays = mica_fake_replays();
    for (int k = 1; k < 4; k++) {
        CHECK_OK(mica_device_wait(t.device));
        mica_fake_fail_call(2 + k); /* inside of the recording */
        REQUIRE_OK(step(&t));
    }
    mica_fake_fail_call(0);
    for (int k = 0; k < 4; k++) REQUIRE_OK(step(&t));
    CHECK(mica_fake_replays() == replays);
    check_states(&t, 8);
    end(&t);
}

TEST(every_allocation_of_a_recorded_run_may_fail) {
    mica_fake_set_delays(false, 1);
    for (int64_t n = 1, done = 0; !done; n++) {
        trainer t = begin(NULL);
        REQUIRE_OK(step(&t));
        CHECK_OK(mica_device_wait(t.device));
        int64_t first = mica_memory_total_allocations();
        mica_memory_fail_nth(n, false);
        mica_status status = step(&t);
        mica_memory_fail_nth(0, false);
        done = mica_memory_total_allocations() - first < n;
        status = failure_of(&t, status);
        if (!status) {
            check_states(&t, 2);
            REQUIRE_OK(step(&t));
            check_states(&t, 3);
        }
        mica_status_release(status);
        end(&t);
    }
    mica_fake_set_delays(true, 1);
}

TEST(recordings_are_dropped_when_memory_is_wanted_back_and_made_again) {
    trainer t = begin(NULL);
    for (int k = 0; k < 5; k++) REQUIRE_OK(step(&t));
    int64_t captures = mica_fake_captures();
    mica_device_trim(t.device); /* in the middle of queued runs */
    for (int k = 0; k < 5; k++) REQUIRE_OK(step(&t));
    CHECK(mica_fake_captures() > captures);
    check_states(&t, 10);
    CHECK_OK(mica_device_wait(t.device));
    size_t now, peak, after;
    mica_device_memory(t.device, &now, &peak);
    mica_device_trim(t.device);
    mica_device_memory(t.device, &after, &peak);
    CHECK(after < now); /* the arena and the slots */
    end(&t);
}

TEST(a_pass_switches_recording_off) {
    trainer t = begin("-replay");
    int64_t captures = mica_fake_captures();
    for (int k = 0; k < 5; k++) REQUIRE_OK(step(&t));
    CHECK(mica_fake_captures() == captures);
    check_states(&t, 5);
    end(&t);
}

TEST(memory_that_was_given_back_is_not_replayed) {
    mica_device *device = open_device("fake");
    const mica_device_vtable *v = device->vtable;
    mica_device_stream *stream = NULL;
    mica_recording *recording = NULL;
    mica_address a, b;
    REQUIRE_OK(v->allocate(device, 256, &a));
    REQUIRE_OK(v->allocate(device, 256, &b));
    REQUIRE_OK(v->stream_create(device, &stream));
    REQUIRE_OK(v->capture_begin(stream));
    CHECK_FAILS(v->capture_begin(stream), MICA_FAILED_PRECONDITION, "recording");
    CHECK_FAILS(v->upload(stream, a, "x", 1), MICA_FAILED_PRECONDITION, "recording");
    CHECK_OK(v->zero(stream, a, 256));
    CHECK_OK(v->copy(stream, b, a, 256));
    REQUIRE_OK(v->capture_end(stream, &recording));
    CHECK_OK(v->replay(stream, recording));
    char data[256];
    CHECK_OK(v->download(stream, data, b, 256));
    CHECK(data[0] == 0 && data[255] == 0);
    v->deallocate(device, a);
    CHECK_FAILS(v->replay(stream, recording), MICA_FAILED_PRECONDITION, "given back");
    v->recording_destroy(recording);
    v->stream_destroy(stream);
    v->deallocate(device, b);
    mica_device_release(device);
}

TEST(a_launch_with_operands_that_are_not_aligned_is_refused_by_fake) {
    mica_device *device = open_device("fake");
    const mica_device_vtable *v = device->vtable;
    mica_device_stream *stream = NULL;
    mica_kernel *kernel = NULL;
    mica_address memory;
    char byte;
    mica_graph *g = new_graph("negation");
    mica_type type = vector(4);
    mica_value y = mica_neg(g, mica_parameter(g, &type));
    mica_output(g, y);
    REQUIRE_OK(v->kernel_create(device, y.node, &kernel));
    REQUIRE_OK(v->allocate(device, 512, &memory));
    for (int k = 0; k < 2; k++) { /* 16 bytes begin at a multiple of 16 */
        mica_address operand = memory + (k ? 8 : 16), result = memory + 256;
        REQUIRE_OK(v->stream_create(device, &stream));
        CHECK_OK(v->launch(stream, kernel, &operand, &result, 0));
        mica_status status = v->download(stream, &byte, result, 1);
        if (k)
            CHECK_FAILS(status, MICA_DEVICE_ERROR, "not a multiple of 16");
        else
            CHECK_OK(status);
        v->stream_destroy(stream);
    }
    v->deallocate(device, memory);
    v->kernel_destroy(device, kernel);
    mica_graph_release(g);
    mica_device_release(device);
}

/* ---- threads ----------------------------------------------------------------------------------*/

static void many_steps(void *context) {
    trainer *t = context;
    for (int k = 0; k < 60; k++) {
        mica_status status = step(t);
        t->failures += status != NULL;
        mica_status_release(status);
        if (k % 20 == 7) mica_device_trim(t->device);
    }
}

TEST(several_threads_record_replay_and_trim_at_once) {
    trainer t[3];
    mica_thread *threads[3];
    for (int i = 0; i < 3; i++) {
        t[i] = begin(NULL);
        if (i == 1) { /* the same program */
            mica_executable_release(t[1].exe);
            t[1].exe = t[0].exe;
            mica_executable_retain(t[0].exe);
        }
    }
    for (int i = 0; i < 3; i++)
        REQUIRE_OK(mica_thread_start(many_steps, &t[i], "steps", &threads[i]));
    for (int i = 0; i < 3; i++) mica_thread_join(threads[i]);
    for (int i = 0; i < 3; i++) {
        CHECK(t[i].failures == 0);
        check_states(&t[i], 60);
        end(&t[i]);
    }
}
