/* The device interface, by the same tests for every device that is here. */
#include "base/platform.h"
#include "device/fake/fake.h"
#include "runtime/buffer.h"
#include "runtime_test.h"

typedef void device_test(mica_device *device);

static void on_every_device(device_test *test) {
    mica_device_info info = {.size = sizeof info};
    for (int32_t i = 0; mica_device_enumerate(i, &info); i++) {
        if (!info.available) continue;
        mica_device *device = open_device(info.name);
        if (device) test(device);
        mica_device_release(device);
    }
}

enum { N = 1000 };

static void fill(float *data, float first) {
    for (int i = 0; i < N; i++) data[i] = first + (float)i;
}

static void copies_in_order(mica_device *device) {
    const mica_device_vtable *v = device->vtable;
    mica_address a = 0, b = 0;
    mica_device_stream *stream = NULL;
    float data[N], back[N];
    REQUIRE_OK(v->allocate(device, sizeof data, &a));
    REQUIRE_OK(v->allocate(device, sizeof data, &b));
    REQUIRE_OK(v->stream_create(device, &stream));
    CHECK(a != 0 && b != 0 && a != b && a % 64 == 0);
    fill(data, 0);
    CHECK_OK(v->upload(stream, a, data, sizeof data));
    fill(data, 9); /* the upload has read its source */
    CHECK_OK(v->copy(stream, b, a, sizeof data));
    CHECK_OK(v->zero(stream, a, sizeof data / 2));
    CHECK_OK(v->upload(stream, a + sizeof data - 4, &(float){-1}, 4));
    CHECK_OK(v->download(stream, back, a, sizeof back));
    CHECK(back[0] == 0 && back[N / 2 - 1] == 0 && back[N / 2] == N / 2 && back[N - 1] == -1);
    CHECK_OK(v->download(stream, back, b, sizeof back));
    CHECK(back[1] == 1 && back[N - 1] == N - 1);
    if (v->host_pointer) CHECK(((float *)v->host_pointer(device, b))[7] == 7);
    v->stream_destroy(stream);
    v->deallocate(device, a);
    v->deallocate(device, b);
}

TEST(copies_run_in_the_order_of_their_stream) {
    on_every_device(copies_in_order);
}

static void events_across_streams(mica_device *device) {
    const mica_device_vtable *v = device->vtable;
    mica_address a = 0;
    mica_device_stream *one = NULL, *two = NULL;
    mica_device_event *event = NULL, *last = NULL;
    float data[N], back[N];
    REQUIRE_OK(v->allocate(device, sizeof data, &a));
    REQUIRE_OK(v->stream_create(device, &one));
    REQUIRE_OK(v->stream_create(device, &two));
    REQUIRE_OK(v->event_create(device, &event));
    REQUIRE_OK(v->event_create(device, &last));
    for (int round = 0; round < 20; round++) {
        fill(data, (float)round);
        for (int i = 0; i < 5; i++) CHECK_OK(v->zero(one, a, sizeof data));
        CHECK_OK(v->upload(one, a, data, sizeof data));
        CHECK_OK(v->event_record(one, event));
        CHECK_OK(v->stream_wait(two, event)); /* two goes on when one has come so far */
        CHECK_OK(v->download(two, back, a, sizeof back));
        CHECK(memcmp(back, data, sizeof data) == 0);
        CHECK_OK(v->event_record(two, last));
        CHECK_OK(v->event_wait(last));
        CHECK(v->event_is_done(last) && v->event_is_done(event));
    }
    v->event_destroy(event);
    v->event_destroy(last);
    v->stream_destroy(one);
    v->stream_destroy(two);
    v->deallocate(device, a);
}

TEST(events_order_streams) {
    on_every_device(events_across_streams);
}

static void launch_one(mica_device *device) {
    const mica_device_vtable *v = device->vtable;
    if (v->interpret) return; /* has no kernels */
    mica_graph *g = new_graph("kernel");
    mica_type type = vector(N);
    mica_value x = mica_parameter(g, &type), sum = mica_add(g, x, x);
    mica_kernel *kernel = NULL;
    mica_device_stream *stream = NULL;
    mica_address a = 0, b = 0, scratch = 0;
    float data[N], back[N];
    fill(data, 1);
    REQUIRE_OK(v->kernel_create(device, sum.node, &kernel));
    mica_graph_release(g); /* the kernel does not need the node */
    REQUIRE_OK(v->stream_create(device, &stream));
    REQUIRE_OK(v->allocate(device, sizeof data, &a));
    REQUIRE_OK(v->allocate(device, sizeof data, &b));
    if (kernel->scratch_bytes) REQUIRE_OK(v->allocate(device, kernel->scratch_bytes, &scratch));
    CHECK_OK(v->upload(stream, a, data, sizeof data));
    mica_address operands[2] = {a, a};
    CHECK_OK(v->launch(stream, kernel, operands, &b, scratch));
    operands[0] = operands[1] = 0; /* the launch has read its arguments */
    CHECK_OK(v->download(stream, back, b, sizeof back));
    CHECK(back[0] == 2 && back[N - 1] == 2 * N);
    v->stream_destroy(stream);
    v->kernel_destroy(device, kernel);
    v->deallocate(device, a);
    v->deallocate(device, b);
    if (scratch) v->deallocate(device, scratch);
}

TEST(kernels_launch) {
    on_every_device(launch_one);
}

/* ---- the fake device
 * ------------------------------------------------------------------------------*/

TEST(addresses_of_the_fake_device_are_not_pointers) {
    mica_device *device = open_device("fake");
    mica_address a = 0;
    REQUIRE_OK(device->vtable->allocate(device, 100, &a));
    CHECK(device->vtable->host_pointer == NULL);
    CHECK(a >> 47 != 0); /* no user address of the machines we run on */
    CHECK(fake_translate((fake_device *)device, a + 99) ==
          (char *)fake_translate((fake_device *)device, a) + 99);
    device->vtable->deallocate(device, a);
    CHECK(fake_translate((fake_device *)device, a) == NULL);
    mica_device_release(device);
}

TEST(a_command_on_freed_memory_poisons_the_stream) {
    mica_device *device = open_device("fake");
    const mica_device_vtable *v = device->vtable;
    mica_address a = 0;
    mica_device_stream *stream = NULL;
    mica_device_event *event = NULL;
    float x = 1;
    REQUIRE_OK(v->allocate(device, 100, &a));
    REQUIRE_OK(v->stream_create(device, &stream));
    REQUIRE_OK(v->event_create(device, &event));
    v->deallocate(device, a);
    CHECK_OK(v->upload(stream, a, &x, sizeof x)); /* asynchronous: no complaint yet */
    mica_status status = v->event_record(stream, event);
    if (!status) status = v->event_wait(event);
    CHECK_FAILS(status, MICA_DEVICE_ERROR, "no memory at address");
    CHECK_FAILS(v->zero(stream, a, 4), MICA_DEVICE_ERROR, "no memory");
    v->event_destroy(event);
    v->stream_destroy(stream);
    mica_device_release(device);
}

/* ---- the pool
 * -------------------------------------------------------------------------------------*/

TEST(memory_is_used_again_and_given_back_when_it_runs_out) {
    mica_device *device = open_device("fake");
    mica_buffer *first = NULL, *second = NULL;
    size_t now = 0, peak = 0;
    REQUIRE_OK(mica_buffer_create(device, 1000, &first));
    mica_address address = first->address;
    mica_buffer_release(first);
    REQUIRE_OK(mica_buffer_create(device, 900, &second));
    CHECK(second->address == address && second->bytes >= 1000);
    mica_device_memory(device, &now, &peak);
    CHECK(now == second->bytes && peak >= now);
    mica_buffer_release(second);
    /* The device refuses once; what the pool holds is freed and the second try succeeds. */
    int64_t live = mica_memory_live_blocks();
    mica_fake_fail_call(1);
    REQUIRE_OK(mica_buffer_create(device, 5000, &first));
    mica_fake_fail_call(0);
    CHECK(mica_memory_live_blocks() <= live);
    mica_buffer_release(first);
    mica_device_release(device);
}

TEST(what_was_not_used_for_long_makes_room_for_what_is) {
    mica_device *device = open_device("cpu");
    mica_device_trim(device);
    size_t large = (size_t)200 << 20, other = (size_t)160 << 20;
    mica_buffer *first = NULL, *second = NULL;
    mica_address before = 0;
    REQUIRE_OK(mica_buffer_create(device, large, &first));
    mica_buffer_release(first);
    for (int i = 0; i < 3; i++) { /* as a second program does after the first */
        REQUIRE_OK(mica_buffer_create(device, other, &second));
        CHECK(i == 0 || second->address == before);
        before = second->address;
        mica_buffer_release(second);
        CHECK(device->runtime->in_use + device->runtime->cached <=
              (device->runtime->peak > large * 5 / 4 ? device->runtime->peak : large * 5 / 4));
    }
    mica_device_trim(device);
    mica_device_release(device);
}

TEST(what_the_pool_keeps_is_bounded) {
    mica_device *device = open_device("cpu");
    mica_device_trim(device);
    for (size_t bytes = 1; bytes < (size_t)300 << 20; bytes += bytes / 3 + 1) {
        mica_buffer *buffer = NULL;
        REQUIRE_OK(mica_buffer_create(device, bytes, &buffer));
        CHECK(buffer->bytes >= bytes && buffer->bytes <= bytes + bytes / 4 + 64);
        mica_buffer_release(buffer);
    }
    size_t now, peak;
    mica_device_memory(device, &now, &peak);
    CHECK(device->runtime->cached <= peak);
    mica_device_release(device);
}

TEST(devices_say_whether_the_host_sees_their_memory) {
    static const char *const names[] = {"cpu", "ref", "fake"};
    for (int d = 0; d < 3; d++) {
        mica_device *device = open_device(names[d]);
        CHECK(mica_device_is_host_visible(device) == (d < 2));
        mica_device_release(device);
    }
}
