/* A whole training step of a convolutional net: the same bits with any number of threads, and
 * nothing lost when anything in it fails. */
#include "device/fake/fake.h"
#include "runtime/tensor.h"
#include "runtime_test.h"
#include "support/convnet.h"

typedef struct mnist {
    mica_device *device;
    mica_executable *start, *step;
    mnist_shape shape;
    mica_tensor *state[MNIST_STATE];
} mnist;

static mica_status compile_graph(mica_device *device, const mnist_shape *shape,
                                 mica_status (*build)(const mnist_shape *, mica_graph **),
                                 const char *passes, mica_executable **out) {
    mica_graph *g = NULL;
    mica_compile_options options = {.size = sizeof options, .passes = passes};
    mica_status status = build(shape, &g);
    if (!status) status = mica_executable_create(device, g, &options, out);
    mica_graph_release(g);
    return status;
}

static mica_status start_state(mnist *m) {
    uint32_t key_data[2] = {7, 11};
    mica_type type = mica_type_make(MICA_DTYPE_u32, MICA_INTS(2));
    mica_tensor *key = NULL;
    mica_status status = mica_tensor_from_host(m->device, &type, key_data, &key);
    if (!status) status = run(m->start, &key, 1, NULL, m->state, MNIST_STATE);
    mica_tensor_release(key);
    return status ? status : mica_device_wait(m->device);
}

static void begin_with(mnist *m, const char *device, mnist_shape shape, const char *passes) {
    *m = (mnist){.device = open_device(device), .shape = shape};
    CHECK_OK(compile_graph(m->device, &shape, mnist_build_start, passes, &m->start));
    CHECK_OK(compile_graph(m->device, &shape, mnist_build_step, passes, &m->step));
}

static void begin(mnist *m, const char *device, mnist_shape shape) {
    begin_with(m, device, shape, NULL);
}

static void release_state(mnist *m) {
    for (int i = 0; i < MNIST_STATE; i++) mica_tensor_release(m->state[i]), m->state[i] = NULL;
}

static void end(mnist *m) {
    release_state(m);
    mica_executable_release(m->start);
    mica_executable_release(m->step);
    mica_device_release(m->device);
}

/* One step on made-up images; the state moves on when it was not refused. */
static mica_status train(mnist *m, mica_executable *step, int seed) {
    int64_t pixels = m->shape.batch * m->shape.rows * m->shape.columns;
    uint8_t *images = malloc((size_t)pixels), *labels = malloc((size_t)m->shape.batch);
    for (int64_t i = 0; i < pixels; i++) images[i] = (uint8_t)((i * 31 + seed * 17) % 251);
    for (int64_t i = 0; i < m->shape.batch; i++)
        labels[i] = (uint8_t)((i + seed) % m->shape.classes);
    mica_type image_type =
        mica_type_make(MICA_DTYPE_u8, MICA_INTS(m->shape.batch, m->shape.rows, m->shape.columns));
    mica_type label_type = mica_type_make(MICA_DTYPE_u8, MICA_INTS(m->shape.batch));
    mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
    float rate = 1e-2f, loss;
    mica_tensor *inputs[MNIST_STATE + 3] = {NULL}, *outputs[MNIST_STATE + 1] = {NULL};
    uint8_t donate[MNIST_STATE + 3] = {0};
    memcpy(inputs, m->state, sizeof m->state);
    memset(donate, 1, MNIST_STATE);
    mica_status status =
        mica_tensor_from_host(m->device, &image_type, images, &inputs[MNIST_STATE]);
    if (!status)
        status = mica_tensor_from_host(m->device, &label_type, labels, &inputs[MNIST_STATE + 1]);
    if (!status)
        status = mica_tensor_from_host(m->device, &scalar, &rate, &inputs[MNIST_STATE + 2]);
    if (!status) status = run(step, inputs, MNIST_STATE + 3, donate, outputs, MNIST_STATE + 1);
    for (int i = 0; i < MNIST_STATE && !status; i++) {
        mica_tensor_release(m->state[i]);
        m->state[i] = outputs[i];
        outputs[i] = NULL;
    }
    if (!status) status = mica_tensor_to_host(outputs[MNIST_STATE], &loss, sizeof loss);
    for (int i = 0; i < 3; i++) mica_tensor_release(inputs[MNIST_STATE + i]);
    for (int i = 0; i < MNIST_STATE + 1; i++) mica_tensor_release(outputs[i]);
    free(images);
    free(labels);
    return status;
}

/* The bytes of the whole state, one after the other; the caller frees them. */
static uint8_t *take(mnist *m, size_t *out_bytes) {
    *out_bytes = 0;
    for (int i = 0; i < MNIST_STATE; i++)
        *out_bytes += mica_type_bytes(mica_tensor_type(m->state[i]));
    uint8_t *bytes = malloc(*out_bytes), *next = bytes;
    for (int i = 0; i < MNIST_STATE; i++) {
        size_t n = mica_type_bytes(mica_tensor_type(m->state[i]));
        CHECK_OK(mica_tensor_to_host(m->state[i], next, n));
        next += n;
    }
    return bytes;
}

static bool equals(mnist *m, const uint8_t *expected) {
    size_t n;
    uint8_t *found = take(m, &n);
    bool same = memcmp(found, expected, n) == 0;
    free(found);
    return same;
}

TEST(a_training_step_gives_the_same_bits_with_1_2_and_5_threads) {
    static const int32_t threads[] = {1, 2, 5};
    uint8_t *expected = NULL;
    for (int k = 0; k < 4; k++) {
        mnist m;
        if (k < 3) REQUIRE_OK(mica_set_threads(threads[k]));
        begin(&m, k < 3 ? "cpu" : "fake", (mnist_shape){10, 28, 28, 10});
        REQUIRE_OK(start_state(&m));
        for (int i = 0; i < 2; i++) REQUIRE_OK(train(&m, m.step, i));
        size_t n;
        if (k == 0) expected = take(&m, &n);
        CHECK(equals(&m, expected));
        end(&m);
    }
    free(expected);
    REQUIRE_OK(mica_set_threads(0));
}

TEST(a_training_step_overwrites_its_state_in_place) {
    mnist m;
    begin(&m, "cpu", (mnist_shape){4, 8, 8, 10});
    REQUIRE_OK(start_state(&m));
    void *before[MNIST_STATE];
    int same = 0;
    for (int i = 0; i < MNIST_STATE; i++) before[i] = address_of(m.state[i]);
    REQUIRE_OK(train(&m, m.step, 0));
    for (int i = 0; i < MNIST_STATE; i++) same += address_of(m.state[i]) == before[i];
    CHECK(same == MNIST_STATE);
    end(&m);
}

TEST(a_training_step_beside_the_host_overwrites_its_state_in_place_too) {
    mnist m;
    begin(&m, "fake", (mnist_shape){4, 8, 8, 10});
    REQUIRE_OK(start_state(&m));
    mica_address before[MNIST_STATE];
    for (int i = 0; i < MNIST_STATE; i++) before[i] = m.state[i]->buffer->address;
    for (int k = 0; k < 5; k++) {
        int same = 0;
        REQUIRE_OK(train(&m, m.step, k));
        for (int i = 0; i < MNIST_STATE; i++) same += m.state[i]->buffer->address == before[i];
        CHECK(same == MNIST_STATE);
    }
    end(&m);
}

static const mnist_shape small = {2, 4, 4, 2};

/* State before and after one step; the caller frees both. */
static void find_answers(mnist *m, uint8_t **before, uint8_t **after) {
    size_t n;
    CHECK_OK(start_state(m));
    *before = take(m, &n);
    CHECK_OK(train(m, m->step, 0));
    *after = take(m, &n);
    release_state(m);
}

/* Checks what a step left behind: after a failure the state before it, or, on a device that fails
 * after it was given commands, the state after it (reading the loss failed) or one that is lost and
 * says so. true: the state is the one before the step. */
static bool check_state(mnist *m, bool failed, const uint8_t *before, const uint8_t *after,
                        int64_t *n_lost) {
    int lost = 0;
    for (int i = 0; i < MNIST_STATE; i++) {
        void *view = NULL;
        mica_status status = mica_tensor_open_view(m->state[i], MICA_READ, &view);
        if (!status) CHECK_OK(mica_tensor_close_view(m->state[i]));
        lost += status != NULL;
        mica_status_release(status);
    }
    bool is_beside = strcmp(mica_device_name(m->device), "fake:0") == 0;
    if (lost) CHECK(failed && is_beside);
    *n_lost += lost > 0;
    if (lost) return false;
    bool is_before = equals(m, before);
    if (!is_before || !failed) CHECK((!failed || is_beside) && equals(m, after));
    return is_before;
}

TEST(every_allocation_of_a_training_step_may_fail) {
    static const char *const devices[] = {"cpu", "fake"};
    for (int d = 0; d < 2; d++) {
        mnist m;
        uint8_t *before, *after;
        begin(&m, devices[d], small);
        find_answers(&m, &before, &after);
        int64_t failures = 0, n_lost = 0;
        CHECK_OK(start_state(&m));
        int64_t blocks = 0; /* live, with empty caches */
        for (int64_t n = 1, done = 0; !done; n++) {
            mica_device_trim(m.device);
            mica_tensors_trim(m.device);
            if (n == 2) blocks = mica_memory_live_blocks();
            if (n > 2) CHECK(mica_memory_live_blocks() <= blocks + 4);
            int64_t first = mica_memory_total_allocations();
            mica_memory_fail_nth(n, false);
            mica_status status = train(&m, m.step, 0);
            mica_memory_fail_nth(0, false);
            CHECK_OK(mica_device_wait(m.device));
            done = mica_memory_total_allocations() - first < n;
            failures += status != NULL;
            if (!check_state(&m, status != NULL, before, after, &n_lost) && !done) {
                release_state(&m);
                REQUIRE_OK(start_state(&m));
            }
            mica_status_release(status);
        }
        CHECK(failures > 20);
        free(before);
        free(after);
        end(&m);
    }
}

TEST(compiling_a_training_step_may_run_out_of_memory_anywhere) {
    mica_device *device = open_device("cpu");
    mica_executable *exe = NULL;
    REQUIRE_OK(compile_graph(device, &small, mnist_build_step, NULL, &exe));
    mica_executable_release(exe);
    int64_t live = mica_memory_live_blocks(), n = 1, stride = getenv("MICA_TEST_QUICK") ? 97 : 1;
    for (bool done = false; !done; n += n < 50 ? 1 : stride) {
        exe = NULL;
        int64_t first = mica_memory_total_allocations();
        mica_memory_fail_nth(n, false);
        mica_status status = compile_graph(device, &small, mnist_build_step, NULL, &exe);
        mica_memory_fail_nth(0, false);
        done = mica_memory_total_allocations() - first < n;
        CHECK((exe == NULL) == (status != NULL));
        if (status) CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
        mica_executable_release(exe);
        if (mica_memory_live_blocks() > live + 8) {
            test_report(__FILE__, __LINE__, "allocation %lld leaks", (long long)n);
            break;
        }
    }
    mica_device_release(device);
}

TEST(every_device_call_of_a_training_step_may_fail) {
    mica_fake_set_delays(false, 1);
    mnist m;
    uint8_t *before, *after;
    begin_with(&m, "fake", small, "-replay"); /* every launch is a call */
    find_answers(&m, &before, &after);
    CHECK_OK(start_state(&m));
    int64_t failures = 0, n_lost = 0;
    for (int64_t n = 1, done = 0; !done; n++) {
        int64_t first = mica_fake_calls();
        mica_fake_fail_call(n);
        mica_status status = train(&m, m.step, 0);
        mica_status_release(mica_device_wait(m.device));
        mica_fake_fail_call(0);
        done = mica_fake_calls() - first < n;
        failures += status != NULL;
        if (!check_state(&m, status != NULL, before, after, &n_lost) && !done) {
            release_state(&m);
            REQUIRE_OK(start_state(&m));
            CHECK(equals(&m, before));
        }
        mica_status_release(status);
    }
    CHECK(failures > 100);
    CHECK(n_lost > 50);
    mica_fake_set_delays(true, 1);
    free(before);
    free(after);
    end(&m);
}
