/* A device's memory: what is counted, a limit, and running out of it in the middle of queued runs.
 */
#include "device/fake/fake.h"
#include "runtime/buffer.h"
#include "runtime_test.h"

enum { MEGABYTE = 1 << 20, N = MEGABYTE / 4 };

static mica_memory_info info_of(mica_device *device) {
    mica_memory_info info = {.size = sizeof info};
    mica_device_memory_info(device, &info);
    return info;
}

/* The device, as empty as when it was opened. */
static mica_device *begin(void) {
    mica_shutdown();
    mica_fake_set_delays(false, 1);
    return open_device("fake");
}

static void end(mica_device *device) {
    CHECK_OK(mica_device_set_memory_limit(device, 0));
    mica_device_release(device);
    mica_fake_set_delays(true, 1);
}

static mica_tensor *megabyte(mica_device *device, float first) {
    static float data[N];
    data[0] = first;
    return floats(device, data, N);
}

TEST(what_is_in_use_kept_and_the_peak_are_counted) {
    mica_device *device = begin();
    mica_tensor *a = megabyte(device, 1), *b = megabyte(device, 2);
    mica_memory_info info = info_of(device);
    CHECK(info.now == 2 * MEGABYTE && info.peak == info.now && info.cached == 0);
    CHECK(info.blocks == 2 && info.limit == 0);
    mica_tensor_release(b);
    info = info_of(device);
    CHECK(info.now == MEGABYTE && info.peak == 2 * MEGABYTE && info.cached == MEGABYTE);
    mica_device_memory_reset(device);
    CHECK(info_of(device).peak == MEGABYTE);
    mica_device_trim(device);
    CHECK(info_of(device).cached == 0 && info_of(device).blocks == 1);
    mica_tensor_release(a);
    end(device);
}

TEST(a_limit_holds_for_what_is_in_use_and_kept_together) {
    mica_device *device = begin();
    REQUIRE_OK(mica_device_set_memory_limit(device, 4 * MEGABYTE));
    mica_tensor *all[4], *more = NULL;
    for (int i = 0; i < 4; i++) all[i] = megabyte(device, (float)i);
    mica_type type = vector(N);
    CHECK_FAILS(mica_tensor_create(device, &type, &more), MICA_OUT_OF_MEMORY,
                "has no 1048576 bytes left: 4194304 in use, 0 kept for reuse, limit 4194304");
    CHECK_FAILS(mica_tensor_create(device, &type, &more), MICA_OUT_OF_MEMORY,
                "\n       4194304  4 x tensor f32[262144]");
    CHECK(more == NULL);
    mica_tensor_release(all[3]);
    /* Another size: what is kept goes. */
    type = vector(N / 2);
    REQUIRE_OK(mica_tensor_create(device, &type, &all[3]));
    CHECK(info_of(device).now + info_of(device).cached <= 4 * MEGABYTE);
    for (int i = 0; i < 3; i++) CHECK(all[i] != NULL);
    for (int i = 0; i < 4; i++) mica_tensor_release(all[i]);
    /* A lower limit lets go of what is kept. */
    CHECK(info_of(device).cached > MEGABYTE);
    REQUIRE_OK(mica_device_set_memory_limit(device, MEGABYTE));
    CHECK(info_of(device).cached == 0);
    end(device);
}

/* state, x -> state + x; the arena holds the outer product that is summed up. */
static mica_graph *hungry_graph(void) {
    mica_graph *g = new_graph("hungry");
    mica_type type = vector(512);
    mica_value state = mica_parameter(g, &type), x = mica_parameter(g, &type);
    mica_value rows = mica_broadcast(g, x, MICA_INTS(512, 512), MICA_INTS(0));
    mica_value columns = mica_broadcast(g, state, MICA_INTS(512, 512), MICA_INTS(1));
    mica_value product = mica_mul(g, mica_exp(g, rows), columns);
    mica_output(g, mica_add(g, state, x));
    mica_output(g, product);
    return g;
}

TEST(running_out_in_the_middle_of_queued_runs_is_an_error_and_the_next_step_works) {
    mica_device *device = begin();
    mica_graph *g = hungry_graph();
    mica_executable *exe = compile(device, g, "-simplify");
    float zeros[512] = {0}, ones[512];
    for (int i = 0; i < 512; i++) ones[i] = 1;
    mica_tensor *state = floats(device, zeros, 512), *x = floats(device, ones, 512);
    mica_tensor *held[64] = {NULL};
    uint8_t donate[2] = {1, 0};
    int n_held = 0, steps = 0;
    REQUIRE_OK(mica_device_set_memory_limit(device, 12 * MEGABYTE));
    mica_status status = NULL;
    while (!status && n_held < 64) { /* products are held until nothing is left */
        mica_tensor *inputs[2] = {state, x}, *outputs[2];
        status = run(exe, inputs, 2, donate, outputs, 2);
        if (status) break;
        mica_tensor_release(state);
        state = outputs[0];
        held[n_held++] = outputs[1];
        steps++;
    }
    CHECK(n_held >= 6 && n_held <= 12);
    CHECK_FAILS(status, MICA_OUT_OF_MEMORY, "x tensor f32[512,512]");
    for (int i = 0; i < n_held; i++) mica_tensor_release(held[i]);
    for (int k = 0; k < 8; k++) { /* recorded anew, and replayed */
        mica_tensor *inputs[2] = {state, x}, *outputs[2];
        REQUIRE_OK(run(exe, inputs, 2, donate, outputs, 2));
        mica_tensor_release(state);
        state = outputs[0];
        mica_tensor_release(outputs[1]);
        steps++;
    }
    float found[512];
    CHECK_OK(mica_tensor_to_host(state, found, sizeof found));
    CHECK(found[0] == (float)steps && found[511] == (float)steps);
    CHECK_OK(mica_device_wait(device));
    mica_tensor_release(state);
    mica_tensor_release(x);
    mica_executable_release(exe);
    mica_graph_release(g);
    end(device);
}

TEST(the_cache_and_recordings_make_room_before_memory_is_refused) {
    mica_device *device = begin();
    mica_graph *g = hungry_graph();
    mica_executable *exe = compile(device, g, "-simplify");
    float ones[512];
    for (int i = 0; i < 512; i++) ones[i] = 1;
    mica_tensor *inputs[2] = {floats(device, ones, 512), floats(device, ones, 512)};
    for (int k = 0; k < 4; k++) {
        mica_tensor *outputs[2];
        REQUIRE_OK(run(exe, inputs, 2, NULL, outputs, 2));
        mica_tensor_release(outputs[0]);
        mica_tensor_release(outputs[1]);
    }
    mica_memory_info before = info_of(device);
    CHECK(before.cached > 0 && before.now > MEGABYTE); /* the arena that the recording holds */
    REQUIRE_OK(mica_device_set_memory_limit(device, before.now + before.cached));
    mica_type type = vector((int64_t)(before.now + before.cached - MEGABYTE) / 5); /* rounded up */
    mica_tensor *large = NULL, *outputs[2];
    CHECK_OK(mica_tensor_create(device, &type, &large));
    mica_tensor_release(large);
    REQUIRE_OK(run(exe, inputs, 2, NULL, outputs, 2));
    for (int i = 0; i < 2; i++) mica_tensor_release(outputs[i]), mica_tensor_release(inputs[i]);
    mica_executable_release(exe);
    mica_graph_release(g);
    end(device);
}

/* n, x[16] -> x pushed n times, the list then popped once */
static mica_graph *pushing_graph(void) {
    mica_graph *g = new_graph("pushing"), *condition = new_graph("more"), *body = new_graph("push");
    mica_type scalar = mica_type_scalar(MICA_DTYPE_i32), row = vector(16);
    mica_type list = mica_type_list_of(&row);
    mica_graph *regions[2] = {condition, body};
    for (int r = 0; r < 2; r++) { /* n, x, i, list */
        mica_value n = mica_parameter(regions[r], &scalar), x = mica_parameter(regions[r], &row);
        mica_value i = mica_parameter(regions[r], &scalar), l = mica_parameter(regions[r], &list);
        if (r == 0) mica_output(condition, mica_compare(condition, i, n, "lt"));
        if (r == 1) {
            mica_output(body, mica_add(body, i, mica_scalar(body, MICA_DTYPE_i32, 1)));
            mica_output(body, mica_list_push(body, l, x));
        }
    }
    mica_value n = mica_parameter(g, &scalar), x = mica_parameter(g, &row), out[2], rest, top;
    mica_value operands[4] = {n, x, mica_scalar(g, MICA_DTYPE_i32, 0), mica_list_empty(g, &row)};
    mica_while(g, condition, body, operands, 4, 2, out);
    mica_list_pop(g, out[1], &rest, &top);
    mica_output(g, top);
    mica_graph_release(condition);
    mica_graph_release(body);
    return g;
}

TEST(lists_ask_for_no_memory_on_the_way_once_their_length_is_known) {
    mica_device *device = begin();
    mica_graph *g = pushing_graph();
    mica_executable *exe = compile(device, g, NULL);
    float data[16] = {7};
    int32_t n = 100;
    mica_tensor *inputs[2] = {scalar_of(device, MICA_DTYPE_i32, &n), floats(device, data, 16)};
    int64_t blocks[3];
    for (int k = 0; k < 3; k++) {
        mica_tensor *out = NULL;
        mica_device_trim(device); /* what lists need is allocated */
        int64_t before = info_of(device).blocks;
        REQUIRE_OK(run(exe, inputs, 2, NULL, &out, 1));
        CHECK(first_float(out) == 7);
        CHECK_OK(mica_device_wait(device));
        blocks[k] = info_of(device).blocks - before;
        mica_tensor_release(out);
    }
    CHECK(blocks[0] > blocks[1] + 3); /* it grew by steps: 8, 8, 16, ... */
    CHECK(blocks[1] == blocks[2]);    /* one block */
    for (int i = 0; i < 2; i++) mica_tensor_release(inputs[i]);
    mica_executable_release(exe);
    mica_graph_release(g);
    end(device);
}

/* ---- the host side of small tensors -----------------------------------------------------------*/

TEST(small_integers_are_read_without_asking_the_device) {
    mica_device *device = begin();
    int32_t sizes[3] = {2, 3, 5}, found[3];
    mica_type type = mica_type_make(MICA_DTYPE_i32, MICA_INTS(3));
    mica_tensor *t = NULL, *twice = NULL;
    REQUIRE_OK(mica_tensor_from_host(device, &type, sizes, &t));
    CHECK_OK(mica_device_wait(device));
    int64_t calls = mica_fake_calls();
    void *view = NULL;
    CHECK_OK(mica_tensor_to_host(t, found, sizeof found));
    CHECK(!memcmp(found, sizes, sizeof sizes));
    REQUIRE_OK(mica_tensor_open_view(t, MICA_READ, &view));
    CHECK(!memcmp(view, sizes, sizeof sizes));
    CHECK_OK(mica_tensor_close_view(t));
    CHECK(mica_fake_calls() == calls);
    /* What is computed is read once. */
    mica_tensor *operands[2] = {t, t};
    REQUIRE_OK(mica_eager(device, MICA_OP_add, operands, 2, NULL, &twice));
    CHECK_OK(mica_tensor_to_host(twice, found, sizeof found));
    CHECK(found[0] == 4 && found[2] == 10);
    calls = mica_fake_calls();
    CHECK_OK(mica_tensor_to_host(twice, found, sizeof found));
    CHECK(found[0] == 4 && found[2] == 10);
    CHECK(mica_fake_calls() == calls);
    /* What is written by a view is read again. */
    REQUIRE_OK(mica_tensor_open_view(t, MICA_READ | MICA_WRITE, &view));
    ((int32_t *)view)[1] = 30;
    CHECK_OK(mica_tensor_close_view(t));
    CHECK_OK(mica_tensor_to_host(t, found, sizeof found));
    CHECK(found[0] == 2 && found[1] == 30);
    mica_tensor_release(t);
    mica_tensor_release(twice);
    end(device);
}
