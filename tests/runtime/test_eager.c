/* Eager ops: one primitive at a time. */
#include "base/platform.h"
#include "runtime_test.h"

static const char *const devices[] = {"cpu", "fake", "ref"};

TEST(eager_ops_compute_and_broadcast) {
    for (int d = 0; d < 3; d++) {
        mica_device *device = open_device(devices[d]);
        float data[6] = {1, 2, 3, 4, 5, 6}, result[6];
        mica_type matrix = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, 3));
        mica_tensor *a = NULL, *b = floats(device, data, 3), *sum = NULL, *total = NULL,
                    *back = NULL;
        REQUIRE_OK(mica_tensor_from_host(device, &matrix, data, &a));
        for (int again = 0; again < 3; again++) {
            mica_tensor *operands[] = {a, b};
            REQUIRE_OK(mica_eager(device, MICA_OP_add, operands, 2, NULL, &sum));
            CHECK(mica_type_equal(mica_tensor_type(sum), &matrix));
            CHECK_OK(mica_tensor_to_host(sum, result, sizeof result));
            CHECK(result[5] == 9);
            mica_attribute reduce[] = {{.string = "sum"}, {.ints = MICA_INTS(0, 1)}};
            REQUIRE_OK(mica_eager(device, MICA_OP_reduce, &sum, 1, reduce, &total));
            CHECK(first_float(total) == 33);
            mica_attribute permutation[] = {{.ints = MICA_INTS(1, 0)}};
            REQUIRE_OK(mica_eager(device, MICA_OP_transpose, &sum, 1, permutation, &back));
            CHECK_OK(mica_tensor_to_host(back, result, sizeof result));
            CHECK(result[1] == 5);
            mica_tensor_release(sum);
            mica_tensor_release(total);
            mica_tensor_release(back);
        }
        mica_tensor_release(a);
        mica_tensor_release(b);
        mica_device_release(device);
    }
}

TEST(attributes_are_part_of_the_key) {
    mica_device *device = open_device("cpu");
    float data[4] = {1, 2, 3, 4};
    mica_type matrix = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, 2));
    mica_tensor *a = NULL, *y = NULL;
    REQUIRE_OK(mica_tensor_from_host(device, &matrix, data, &a));
    static const float sums[2][2] = {{4, 6}, {3, 7}};
    for (int i = 0; i < 6; i++) {
        int64_t axis = i % 2;
        bool is_max = i >= 4;
        mica_attribute reduce[] = {{.string = is_max ? "max" : "sum"}, {.ints = {&axis, 1}}};
        float result[2];
        REQUIRE_OK(mica_eager(device, MICA_OP_reduce, &a, 1, reduce, &y));
        CHECK_OK(mica_tensor_to_host(y, result, sizeof result));
        CHECK(result[0] == (is_max ? (axis ? 2 : 3) : sums[axis][0]));
        mica_tensor_release(y);
    }
    mica_type scalar = mica_type_scalar(MICA_DTYPE_f32);
    for (int i = 0; i < 4; i++) {
        float value = (float)i;
        mica_attribute constant[] = {{.data = {&scalar, &value}}};
        REQUIRE_OK(mica_eager(device, MICA_OP_constant, NULL, 0, constant, &y));
        CHECK(first_float(y) == value);
        mica_tensor_release(y);
    }
    mica_tensor_release(a);
    mica_device_release(device);
}

TEST(a_hit_allocates_nothing) {
    mica_device *device = open_device("cpu");
    float data[3] = {1, 2, 3};
    mica_tensor *operands[] = {floats(device, data, 3), floats(device, data, 3)}, *y = NULL;
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(mica_eager(device, MICA_OP_mul, operands, 2, NULL, &y));
        mica_tensor_release(y);
    }
    int64_t before = mica_memory_total_allocations();
    for (int i = 0; i < 100; i++) {
        REQUIRE_OK(mica_eager(device, MICA_OP_mul, operands, 2, NULL, &y));
        mica_tensor_release(y);
    }
    CHECK(mica_memory_total_allocations() == before);
    mica_tensor_release(operands[0]);
    mica_tensor_release(operands[1]);
    mica_device_release(device);
}

TEST(the_cache_is_bounded) {
    mica_device *device = open_device("cpu");
    for (int64_t n = 1; n < 6000; n++) { /* a shape each */
        mica_type type = mica_type_make(MICA_DTYPE_u8, MICA_INTS(n % 70 + 1, n / 70 + 1));
        mica_tensor *x = NULL, *y = NULL;
        REQUIRE_OK(mica_tensor_create(device, &type, &x));
        REQUIRE_OK(mica_eager(device, MICA_OP_not, &x, 1, NULL, &y));
        mica_tensor_release(x);
        mica_tensor_release(y);
    }
    CHECK(mica_memory_live_blocks() < 80000);
    mica_device_release(device);
}

/* x * x, compiled by the caller. */
static mica_executable *square_of(mica_device *device, const mica_type *type) {
    mica_graph *g = NULL;
    mica_executable *exe = NULL;
    mica_compile_options options = {.size = sizeof options, .tier = MICA_TIER_BUILT_IN};
    CHECK_OK(mica_graph_create("square", &g));
    mica_value x = mica_parameter(g, type);
    mica_output(g, mica_mul(g, x, x));
    CHECK_OK(mica_executable_create(device, g, &options, &exe));
    mica_graph_release(g);
    return exe;
}

TEST(an_executable_of_the_caller_is_kept_by_number_and_types) {
    mica_device *device = open_device("cpu"), *fake = open_device("fake");
    float data[3] = {2, 3, 4};
    mica_tensor *x = floats(device, data, 3), *shorter = floats(device, data, 2), *y = NULL,
                *far = floats(fake, data, 3);
    mica_status status = NULL;
    mica_executable *exe = square_of(device, mica_tensor_type(x)),
                    *slow = square_of(fake, mica_tensor_type(far));
    CHECK(!mica_eager_run_kept(device, 7, &x, 1, &y, &status));
    mica_eager_keep(device, 7, &shorter, 1, exe); /* other types than the executable's */
    CHECK(!mica_eager_run_kept(device, 7, &shorter, 1, &y, &status));
    mica_eager_keep(fake, 7, &far, 1, slow); /* its runs are not direct */
    CHECK(!mica_eager_run_kept(fake, 7, &far, 1, &y, &status));
    mica_eager_keep(device, 7, &x, 1, exe);
    mica_eager_keep(device, 7, &x, 1, exe);
    mica_executable_release(exe);
    mica_executable_release(slow);
    CHECK(!mica_eager_run_kept(device, 8, &x, 1, &y, &status));
    CHECK(!mica_eager_run_kept(device, 7, &far, 1, &y, &status));
    CHECK(!mica_eager_run_kept(device, -1, &x, 1, &y, &status));
    CHECK(!mica_eager_run_kept(NULL, 7, &x, 1, &y, &status));
    REQUIRE(mica_eager_run_kept(device, 7, &x, 1, &y, &status));
    REQUIRE_OK(status);
    CHECK(first_float(y) == 4);
    mica_tensor_release(y);
    mica_eager_clear(device);
    CHECK(!mica_eager_run_kept(device, 7, &x, 1, &y, &status));
    mica_tensor_release(x);
    mica_tensor_release(shorter);
    mica_tensor_release(far);
    mica_device_release(device);
    mica_device_release(fake);
}

TEST(wrong_calls_are_refused) {
    mica_device *cpu = open_device("cpu"), *fake = open_device("fake");
    float data[3] = {1, 2, 3};
    mica_tensor *three = floats(cpu, data, 3), *two = floats(cpu, data, 2),
                *far = floats(fake, data, 3);
    mica_tensor *y = NULL, *pair[] = {three, two}, *apart[] = {three, far},
                *many[] = {three, three, three};
    CHECK_FAILS(mica_eager(cpu, MICA_OP_add, pair, 2, NULL, &y), MICA_INVALID_ARGUMENT,
                "[add] shapes do not broadcast: (3) and (2)");
    CHECK_FAILS(mica_eager(cpu, MICA_OP_add, apart, 2, NULL, &y), MICA_INVALID_ARGUMENT, "fake:0");
    CHECK_FAILS(mica_eager(cpu, MICA_OP_add, many, 3, NULL, &y), MICA_INVALID_ARGUMENT,
                "[add] takes 2 operands, 3 given");
    CHECK_FAILS(mica_eager(cpu, MICA_OP_reshape, pair, 1, NULL, &y), MICA_INVALID_ARGUMENT,
                "[reshape]");
    CHECK_FAILS(mica_eager(cpu, MICA_OP_barrier, pair, 1, NULL, &y), MICA_INVALID_ARGUMENT,
                "[barrier]");
    CHECK_FAILS(mica_eager(cpu, (mica_op)9999, pair, 1, NULL, &y), MICA_INVALID_ARGUMENT, "9999");
    CHECK(y == NULL);
    mica_tensor_release(three);
    mica_tensor_release(two);
    mica_tensor_release(far);
    mica_device_release(cpu);
    mica_device_release(fake);
}

/* Large operations go to the stream; small ones that follow must see their results. */
TEST(small_and_large_ops_mix) {
    for (int d = 0; d < 2; d++) {
        mica_device *device = open_device(devices[d]);
        enum { N = 200000 };
        float *ones = malloc(N * sizeof *ones);
        for (int i = 0; i < N; i++) ones[i] = 1;
        mica_tensor *x = floats(device, ones, N), *y = NULL, *total = NULL, *twice = NULL;
        mica_attribute reduce[] = {{.string = "sum"}, {.ints = MICA_INTS(0)}};
        for (int i = 0; i < 20; i++) {
            mica_tensor *pair[] = {x, x};
            REQUIRE_OK(mica_eager(device, MICA_OP_add, pair, 2, NULL, &y));
            REQUIRE_OK(mica_eager(device, MICA_OP_reduce, &y, 1, reduce, &total));
            mica_tensor *small[] = {total, total};
            REQUIRE_OK(mica_eager(device, MICA_OP_add, small, 2, NULL, &twice));
            CHECK(first_float(twice) == 4.0f * N);
            mica_tensor_release(y);
            mica_tensor_release(total);
            mica_tensor_release(twice);
        }
        free(ones);
        mica_tensor_release(x);
        mica_device_release(device);
    }
}

typedef struct worker {
    mica_device *device;
    mica_tensor *x;
    int wrong;
} worker;

static void add_many(void *context) {
    worker *w = context;
    for (int i = 0; i < 2000; i++) {
        mica_tensor *pair[] = {w->x, w->x}, *y = NULL;
        mica_status status =
            mica_eager(w->device, i % 2 ? MICA_OP_add : MICA_OP_mul, pair, 2, NULL, &y);
        float data[3] = {0};
        if (!status) status = mica_tensor_to_host(y, data, sizeof data);
        if (status || data[2] != (i % 2 ? 6 : 9)) w->wrong++;
        mica_status_release(status);
        mica_tensor_release(y);
    }
}

TEST(threads_share_the_cache) {
    mica_device *device = open_device("cpu");
    float data[3] = {1, 2, 3};
    worker w[2] = {{device, floats(device, data, 3), 0}, {device, NULL, 0}};
    w[1].x = w[0].x;
    mica_thread *thread = NULL;
    REQUIRE_OK(mica_thread_start(add_many, &w[1], "test", &thread));
    add_many(&w[0]);
    mica_thread_join(thread);
    CHECK(w[0].wrong == 0 && w[1].wrong == 0);
    mica_tensor_release(w[0].x);
    mica_device_release(device);
}

TEST(every_allocation_of_an_eager_op_may_fail) {
    int64_t n = 1;
    for (bool done = false; !done; n++) {
        mica_device *device = open_device("cpu");
        float data[3] = {1, 2, 3};
        mica_tensor *pair[] = {floats(device, data, 3), floats(device, data, 1)}, *y = NULL;
        int64_t first = mica_memory_total_allocations();
        mica_memory_fail_nth(n, false);
        mica_status status = mica_eager(device, MICA_OP_add, pair, 2, NULL, &y);
        mica_memory_fail_nth(0, false);
        done = mica_memory_total_allocations() - first < n;
        CHECK((y == NULL) == (status != NULL));
        mica_status_release(status);
        mica_tensor_release(y);
        REQUIRE_OK(mica_eager(device, MICA_OP_add, pair, 2, NULL, &y));
        CHECK(first_float(y) == 2);
        mica_tensor_release(y);
        mica_tensor_release(pair[0]);
        mica_tensor_release(pair[1]);
        mica_device_release(device);
        mica_shutdown();
        CHECK(mica_memory_live_blocks() == 0);
    }
    CHECK(n > 20);
}
