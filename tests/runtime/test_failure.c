/* Every allocation and every device call of a training step is made to fail, each in turn: a status
 * comes back, nothing leaks, and the next step works. The parameters are as they were; on a device
 * that fails after it was given commands, those that were donated may be lost, and say so. */
#include "device/fake/fake.h"
#include "runtime/tensor.h"
#include "runtime_test.h"

enum { ROWS = 6, IN = 5, HIDDEN = 4, STATE = 3 };

/* state, x, rate -> state, loss: two dense layers, a loop over the second, and Adagrad. */
static mica_status build_step(mica_graph **out_graph) {
    mica_graph *g = NULL, *body = NULL;
    *out_graph = NULL;
    mica_status status = mica_graph_create("step", &g);
    if (!status) status = mica_graph_create("body", &body);
    if (status) {
        mica_graph_release(g);
        return status;
    }
    mica_type w1 = mica_type_make(MICA_DTYPE_f32, MICA_INTS(IN, HIDDEN));
    mica_type w2 = mica_type_make(MICA_DTYPE_f32, MICA_INTS(HIDDEN, HIDDEN));
    mica_type data = mica_type_make(MICA_DTYPE_f32, MICA_INTS(ROWS, IN));
    mica_type hidden = mica_type_make(MICA_DTYPE_f32, MICA_INTS(ROWS, HIDDEN));
    mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
    mica_value bw = mica_parameter(body, &w2), bh = mica_parameter(body, &hidden);
    mica_output(body, mica_tanh(body, mica_matmul(body, bh, bw)));

    mica_value parameters[2] = {mica_parameter(g, &w1), mica_parameter(g, &w2)};
    mica_value squares = mica_parameter(g, &w1), x = mica_parameter(g, &data);
    mica_value rate = mica_parameter(g, &scalar);
    mica_value h = mica_tanh(g, mica_matmul(g, x, parameters[0]));
    mica_value operands[2] = {parameters[1], h}, out, gradients[2];
    mica_scan(g, body, operands, 2, 1, 1, 3, false, &out);
    mica_value loss = mica_mean(g, mica_mul(g, out, out), MICA_INTS(0, 1));
    mica_gradient(g, loss, parameters, 2, gradients);
    mica_value sum = mica_add(g, squares, mica_mul(g, gradients[0], gradients[0]));
    mica_value scale = mica_rsqrt(g, mica_add(g, sum, mica_full_like(g, sum, 1)));
    mica_output(g, mica_sub(g, parameters[0], mica_mul(g, rate, mica_mul(g, gradients[0], scale))));
    mica_output(g, mica_sub(g, parameters[1], mica_mul(g, rate, gradients[1])));
    mica_output(g, sum);
    mica_output(g, loss);
    mica_graph_release(body);
    *out_graph = g;
    return NULL;
}

typedef struct training {
    mica_device *device;
    mica_tensor *state[STATE], *x, *rate;
} training;

static float start_value(int i, int k) {
    return i == 2 ? 0 : 0.1f * (float)((i * 7 + k * 5) % 11 - 5);
}

static mica_status begin(training *t) {
    float data[ROWS * IN], rate = 0.1f;
    mica_type types[STATE + 1] = {
        mica_type_make(MICA_DTYPE_f32, MICA_INTS(IN, HIDDEN)),
        mica_type_make(MICA_DTYPE_f32, MICA_INTS(HIDDEN, HIDDEN)),
        mica_type_make(MICA_DTYPE_f32, MICA_INTS(IN, HIDDEN)),
        mica_type_make(MICA_DTYPE_f32, MICA_INTS(ROWS, IN)),
    };
    mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
    mica_status status = NULL;
    for (int i = 0; i <= STATE && !status; i++) {
        for (int k = 0; k < ROWS * IN; k++) data[k] = start_value(i, k);
        status =
            mica_tensor_from_host(t->device, &types[i], data, i < STATE ? &t->state[i] : &t->x);
    }
    return status ? status : mica_tensor_from_host(t->device, &scalar, &rate, &t->rate);
}

static void end(training *t) {
    for (int i = 0; i < STATE; i++) mica_tensor_release(t->state[i]);
    mica_tensor_release(t->x);
    mica_tensor_release(t->rate);
    for (int i = 0; i < STATE; i++) t->state[i] = NULL;
    t->x = t->rate = NULL;
}

static bool is_consumed(const mica_tensor *t) {
    mica_status status = mica_tensor_check(t, "test");
    mica_status_release(status);
    return status != NULL;
}

/* Compiles the step and runs it once, parameters donated. The state moves on when all went well, or
 * when the run consumed it. */
static mica_status create_and_run(training *t) {
    mica_graph *g = NULL;
    mica_executable *exe = NULL;
    mica_tensor *outputs[STATE + 1] = {NULL};
    mica_tensor *inputs[STATE + 2] = {t->state[0], t->state[1], t->state[2], t->x, t->rate};
    uint8_t donate[STATE + 2] = {1, 1, 1, 0, 0};
    float loss;
    mica_status status = build_step(&g);
    if (!status) status = mica_executable_create(t->device, g, NULL, &exe);
    if (!status) status = run(exe, inputs, STATE + 2, donate, outputs, STATE + 1);
    bool started = !status;
    if (!status) status = mica_tensor_to_host(outputs[STATE], &loss, sizeof loss);
    for (int i = 0; i < STATE && started; i++) {
        mica_tensor *old = t->state[i];
        if (status && !is_consumed(old)) continue;
        t->state[i] = outputs[i];
        outputs[i] = old;
    }
    for (int i = 0; i < STATE + 1; i++) mica_tensor_release(outputs[i]);
    mica_executable_release(exe);
    mica_graph_release(g);
    return status;
}

/* All of the state, on the host. */
typedef struct snapshot {
    float data[STATE][ROWS * IN];
} snapshot;

static snapshot take(training *t) {
    snapshot s;
    memset(&s, 0, sizeof s);
    for (int i = 0; i < STATE; i++)
        CHECK_OK(mica_tensor_to_host(t->state[i], s.data[i],
                                     mica_type_bytes(mica_tensor_type(t->state[i]))));
    return s;
}

static snapshot before, after;
static int64_t n_lost;

static void find_answers(const char *device) {
    training t = {.device = open_device(device)};
    REQUIRE_OK(begin(&t));
    before = take(&t);
    REQUIRE_OK(create_and_run(&t));
    after = take(&t);
    CHECK(memcmp(&before, &after, sizeof after) != 0);
    end(&t);
    mica_device_release(t.device);
}

/* Whether the state is the one before the step, the one after it, or lost: then it says so. */
typedef enum outcome_of_step { BEFORE, AFTER, LOST, CHANGED } outcome_of_step;

static outcome_of_step look(training *t) {
    int same_before = 0, same_after = 0, lost = 0;
    for (int i = 0; i < STATE; i++) {
        float data[ROWS * IN];
        size_t bytes = mica_type_bytes(mica_tensor_type(t->state[i]));
        mica_status status = mica_tensor_to_host(t->state[i], data, bytes);
        same_before += !status && memcmp(data, before.data[i], bytes) == 0;
        same_after += !status && memcmp(data, after.data[i], bytes) == 0;
        lost += status != NULL;
        mica_status_release(status);
    }
    if (lost) return LOST;
    return same_before == STATE ? BEFORE : same_after == STATE ? AFTER : CHANGED;
}

/* After a step that may have failed: one that works, from where the state stands, or afresh. */
static void check_after(training *t, bool failed, int64_t n) {
    bool is_beside = strcmp(mica_device_name(t->device), "fake:0") == 0;
    outcome_of_step found = look(t);
    /* Beside the host, reading the loss may fail after the step was done. */
    bool good = failed ? found == BEFORE || (is_beside && found != CHANGED) : found == AFTER;
    if (!good)
        test_report(__FILE__, __LINE__, "failure %lld changed the state %s %d", (long long)n,
                    mica_device_name(t->device), failed);
    test_checks++;
    if (!failed) return;
    n_lost += found == LOST;
    if (found != BEFORE) {
        end(t);
        REQUIRE_OK(begin(t));
    }
    CHECK_OK(create_and_run(t));
    CHECK(look(t) == AFTER);
}

TEST(every_allocation_of_a_step_may_fail) {
    static const char *const devices[] = {"cpu", "fake", "ref"};
    for (int d = 0; d < 3; d++) {
        find_answers(devices[d]);
        mica_shutdown();
        CHECK(mica_memory_live_blocks() == 0);
        int64_t n = 1, failures = 0;
        for (bool done = false; !done; n += d == 0 || n < 100 ? 1 : 3) {
            training t = {.device = open_device(devices[d])};
            REQUIRE_OK(begin(&t));
            int64_t first = mica_memory_total_allocations();
            mica_memory_fail_nth(n, n % 5 == 0);
            mica_status status = create_and_run(&t);
            mica_memory_fail_nth(0, false);
            done = mica_memory_total_allocations() - first < n;
            failures += status != NULL;
            if (status) CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY);
            check_after(&t, status != NULL, n);
            mica_status_release(status);
            end(&t);
            mica_device_release(t.device);
            mica_shutdown();
            if (mica_memory_live_blocks() != 0) {
                test_report(__FILE__, __LINE__, "%s leaks when allocation %lld fails", devices[d],
                            (long long)n);
                return;
            }
        }
        CHECK(failures > 50);
    }
}

TEST(every_device_call_of_a_step_may_fail) {
    mica_fake_set_delays(false, 1);
    find_answers("fake");
    n_lost = 0;
    int64_t n = 1, failures = 0;
    for (bool done = false; !done; n++) {
        training t = {.device = open_device("fake")};
        REQUIRE_OK(begin(&t));
        int64_t first = mica_fake_calls();
        mica_fake_fail_call(n);
        mica_status status = create_and_run(&t);
        mica_status_release(mica_device_wait(t.device)); /* what failed is reported, and cleared */
        mica_fake_fail_call(0);
        done = mica_fake_calls() - first < n;
        failures += status != NULL;
        check_after(&t, status != NULL, n);
        mica_status_release(status);
        end(&t);
        mica_device_release(t.device);
        if (n % 8 == 0) {
            mica_shutdown();
            CHECK(mica_memory_live_blocks() == 0);
        }
    }
    CHECK(failures > 50);
    CHECK(n_lost > 5);
    mica_fake_set_delays(true, 1);
}

TEST(every_command_of_a_step_may_fail_on_the_device) {
    mica_fake_set_delays(false, 1);
    find_answers("fake");
    n_lost = 0;
    int64_t n = 1, failures = 0;
    for (bool done = false; !done; n++) {
        training t = {.device = open_device("fake")};
        REQUIRE_OK(begin(&t));
        int64_t first = mica_fake_commands();
        mica_fake_fail_command(n);
        mica_status status = create_and_run(&t);
        mica_status_release(mica_device_wait(t.device));
        mica_fake_fail_command(0);
        done = mica_fake_commands() - first < n;
        failures += status != NULL;
        check_after(&t, status != NULL, n);
        mica_status_release(status);
        end(&t);
        mica_device_release(t.device);
    }
    CHECK(failures > 20);
    CHECK(n_lost > 5);
    mica_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
    mica_fake_set_delays(true, 1);
}

/* Opens a device, moves a tensor through a view to another device and back. */
static mica_status tour(const char *name) {
    mica_device *device = NULL, *other = NULL;
    mica_tensor *t = NULL, *copy = NULL, *back = NULL;
    float data[3] = {1, 2, 3}, *view = NULL;
    mica_type type = vector(3);
    mica_status status = mica_device_open(name, &device);
    if (!status) status = mica_device_open("fake:1", &other);
    if (!status) status = mica_tensor_from_host(device, &type, data, &t);
    if (!status) status = mica_tensor_open_view(t, MICA_READ | MICA_WRITE, (void **)&view);
    if (view) {
        view[0] = 7;
        status = mica_tensor_close_view(t);
    }
    if (!status) status = mica_tensor_copy_to(t, other, &copy);
    if (!status) status = mica_tensor_copy_to(copy, device, &back);
    if (!status) status = mica_tensor_to_host(back, data, sizeof data);
    if (!status) CHECK(data[0] == 7 && data[2] == 3);
    mica_tensor_release(t);
    mica_tensor_release(copy);
    mica_tensor_release(back);
    mica_device_release(device);
    mica_device_release(other);
    return status;
}

TEST(every_allocation_of_devices_and_tensors_may_fail) {
    static const char *const names[] = {"cpu", "fake", "ref", "any", "nothing of the kind"};
    for (int d = 0; d < 5; d++) {
        bool is_known = d < 4;
        int64_t n = 1;
        for (bool done = false; !done; n++) {
            int64_t first = mica_memory_total_allocations();
            mica_memory_fail_nth(n, n % 3 == 0);
            mica_status status = tour(names[d]);
            mica_memory_fail_nth(0, false);
            done = mica_memory_total_allocations() - first < n;
            CHECK(status || is_known);
            mica_status_release(status);
            mica_shutdown();
            CHECK(mica_memory_live_blocks() == 0);
        }
        CHECK(n > 2);
    }
}

TEST(every_device_call_of_tensors_may_fail) {
    mica_fake_set_delays(false, 1);
    int64_t n = 1;
    for (bool done = false; !done; n++) {
        int64_t first = mica_fake_calls();
        mica_fake_fail_call(n);
        mica_status_release(tour("fake"));
        mica_fake_fail_call(0);
        done = mica_fake_calls() - first < n;
        CHECK_OK(tour("fake"));
        mica_shutdown();
        CHECK(mica_memory_live_blocks() == 0);
    }
    CHECK(n > 10);
    mica_fake_set_delays(true, 1);
}

/* x -> what a list of 50 rows gives back: the one run that asks for memory on its way. */
static mica_graph *list_graph(void) {
    mica_graph *g = new_graph("lists"), *condition = new_graph("condition"),
               *body = new_graph("body");
    mica_type row = vector(100), list = mica_type_list_of(&row);
    mica_type counter = mica_type_scalar(MICA_DTYPE_i32);
    mica_graph *regions[2] = {condition, body};
    mica_value i, l, x, out[3], rest, top;
    for (int r = 0; r < 2; r++) {
        i = mica_parameter(regions[r], &counter);
        l = mica_parameter(regions[r], &list);
        x = mica_parameter(regions[r], &row);
        if (r == 0)
            mica_output(condition, mica_compare(condition, i,
                                                mica_scalar(condition, MICA_DTYPE_i32, 50), "lt"));
    }
    mica_output(body, mica_add(body, i, mica_scalar(body, MICA_DTYPE_i32, 1)));
    mica_output(body, mica_list_push(body, l, x));
    mica_output(body, mica_add(body, x, mica_full_like(body, x, 1)));
    mica_value operands[3] = {mica_scalar(g, MICA_DTYPE_i32, 0), mica_list_empty(g, &row),
                              mica_parameter(g, &row)};
    mica_while(g, condition, body, operands, 3, 0, out);
    mica_list_pop(g, out[1], &rest, &top);
    mica_output(g, mica_add(g, top, operands[2]));
    mica_graph_release(condition);
    mica_graph_release(body);
    return g;
}

TEST(a_list_that_cannot_grow_fails_the_run_and_leaves_its_input) {
    static const char *const devices[] = {"cpu", "fake"};
    for (int d = 0; d < 2; d++) {
        mica_device *device = open_device(devices[d]);
        mica_graph *g = list_graph();
        mica_executable *exe = compile(device, g, NULL);
        float data[100] = {1}, result[100];
        mica_tensor *x = floats(device, data, 100);
        int64_t n = 1, failures = 0;
        for (bool done = false; !done; n++) {
            mica_tensor *y = NULL;
            uint8_t donate = 1;
            mica_device_trim(device);
            int64_t first = mica_memory_total_allocations();
            mica_memory_fail_nth(n, true);
            mica_status status = run(exe, &x, 1, &donate, &y, 1);
            if (!status) status = mica_tensor_to_host(y, result, sizeof result);
            mica_memory_fail_nth(0, false);
            done = mica_memory_total_allocations() - first < n;
            failures += status != NULL;
            CHECK(status ? mica_status_code(status) == MICA_OUT_OF_MEMORY : result[0] == 51);
            mica_status_release(status);
            mica_tensor_release(y);
            CHECK_OK(mica_tensor_to_host(x, result, sizeof result));
            CHECK(result[0] == 1);
        }
        CHECK(failures > 10);
        mica_tensor_release(x);
        mica_executable_release(exe);
        mica_graph_release(g);
        mica_device_release(device);
    }
}
