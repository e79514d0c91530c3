/* What the collectives of mica/dist.h give, by every engine that runs in one process. */
#include "dist_test.h"

static float number_of(int32_t rank, int32_t i) {
    return (float)(rank + 1) * 0.1f + (float)i * 1e3f;
}

/* The tree of mica/dist.h, written out. */
static float tree_of(int32_t first, int32_t n, int32_t power, int32_t i) {
    if (power == 1) return number_of(first, i);
    int32_t half = power / 2;
    if (n <= half) return tree_of(first, n, half, i);
    return tree_of(first, half, half, i) + tree_of(first + half, n - half, half, i);
}

static void all_collectives(test_rank *self) {
    enum { N = 7, MOST = MOST_RANKS * N };
    mica_dist *d = self->dist;
    int32_t me = self->rank, n = self->size;
    float x[MOST], y[MOST], z[N];
    EXPECT(self, mica_dist_rank(d) == me && mica_dist_size(d) == n && mica_dist_lost(d) == -1);
    for (int32_t i = 0; i < MOST; i++) x[i] = number_of(me, i);

    TRY_AS(self, mica_dist_all_reduce(d, MICA_DIST_SUM, MICA_DTYPE_f32, x, y, N));
    for (int32_t i = 0; i < N; i++) EXPECT(self, y[i] == tree_of(0, n, MOST_RANKS, i));
    memcpy(z, x, sizeof z);
    TRY_AS(self, mica_dist_all_reduce(d, MICA_DIST_MAX, MICA_DTYPE_f32, z, z, N));
    for (int32_t i = 0; i < N; i++) EXPECT(self, z[i] == number_of(n - 1, i));
    TRY_AS(self, mica_dist_all_reduce(d, MICA_DIST_MIN, MICA_DTYPE_f32, x, z, 1));
    EXPECT(self, z[0] == number_of(0, 0) && z[1] == number_of(n - 1, 1));

    TRY_AS(self, mica_dist_reduce_scatter(d, MICA_DIST_SUM, MICA_DTYPE_f32, x, y, N));
    for (int32_t i = 0; i < N; i++) EXPECT(self, y[i] == tree_of(0, n, MOST_RANKS, me * N + i));

    TRY_AS(self, mica_dist_all_gather(d, x, y, N * sizeof *x));
    for (int32_t p = 0; p < n; p++)
        for (int32_t i = 0; i < N; i++) EXPECT(self, y[p * N + i] == number_of(p, i));

    size_t sizes[MOST_RANKS];
    for (int32_t p = 0; p < n; p++) sizes[p] = (size_t)(p % 3) * sizeof *x;
    TRY_AS(self, mica_dist_all_gather_parts(d, x, y, sizes));
    for (int32_t p = 0, at = 0; p < n; p++)
        for (int32_t i = 0; i < p % 3; i++, at++) EXPECT(self, y[at] == number_of(p, i));

    memcpy(z, x, sizeof z);
    TRY_AS(self, mica_dist_broadcast(d, z, sizeof z, n - 1));
    for (int32_t i = 0; i < N; i++) EXPECT(self, z[i] == number_of(n - 1, i));

    int32_t sources[MOST_RANKS], targets[MOST_RANKS];
    for (int32_t p = 0; p < n; p++) sources[p] = p, targets[p] = (p + 1) % n;
    TRY_AS(self, mica_dist_permute(d, x, z, sizeof z, sources, targets, n));
    EXPECT(self, z[N - 1] == number_of((me + n - 1) % n, N - 1));
    TRY_AS(self, mica_dist_permute(d, x, z, sizeof z, sources, targets, 1));
    EXPECT(self, z[N - 1] == (me == targets[0] ? number_of(0, N - 1) : 0));
    TRY_AS(self, mica_dist_barrier(d));
    TRY_AS(self, mica_dist_all_reduce(d, MICA_DIST_SUM, MICA_DTYPE_f32, x, y, 0));
}

static void on_all_engines(void (*work)(test_rank *), int32_t n) {
    for (test_engine engine = TEST_THREADS; engine <= TEST_TCP; engine++) {
        test_rank ranks[MOST_RANKS] = {0};
        if (run_ranks(ranks, engine, n, work, NULL, NULL)) check_ranks(ranks, n);
    }
}

TEST(collectives_give_what_they_say_with_any_number_of_ranks) {
    for (int32_t n = 1; n <= 5; n++) on_all_engines(all_collectives, n);
}

/* Every dtype: the sum of the ranks' numbers, and for numbers with an order their largest. */
static void all_dtypes(test_rank *self) {
#define SAME(name, storage, value, sum, largest)                                                   \
    do {                                                                                           \
        storage x[3] = {value, value, value}, y[3];                                                \
        TRY_AS(self, mica_dist_all_reduce(self->dist, MICA_DIST_SUM, MICA_DTYPE_##name, x, y, 3)); \
        EXPECT(self, y[0] == (storage)(sum) && y[2] == (storage)(sum));                            \
        TRY_AS(self, mica_dist_all_reduce(self->dist, MICA_DIST_MAX, MICA_DTYPE_##name, x, y, 3)); \
        EXPECT(self, y[1] == (storage)(largest));                                                  \
    } while (0)
    int32_t r = self->rank;
    SAME(i8, int8_t, (int8_t)(60 + r), 60 + 61 + 62, 62);
    SAME(i16, int16_t, (int16_t)(r - 1), 0, 1);
    SAME(i32, int32_t, r - 1, 0, 1);
    SAME(i64, int64_t, (int64_t)r << 40, (int64_t)3 << 40, (int64_t)2 << 40);
    SAME(u8, uint8_t, (uint8_t)(100 + r), 303 % 256, 102);
    SAME(u16, uint16_t, (uint16_t)r, 3, 2);
    SAME(u32, uint32_t, (uint32_t)r, 3, 2);
    SAME(u64, uint64_t, (uint64_t)r, 3, 2);
    SAME(f64, double, 0.1 * r, (0.1 * 0 + 0.1 * 1) + 0.1 * 2, 0.1 * 2);
    static const uint16_t one_to_three_f16[] = {0x3c00, 0x4000, 0x4200};
    static const uint16_t one_to_three_bf16[] = {0x3f80, 0x4000, 0x4040};
    SAME(f16, uint16_t, one_to_three_f16[r], 0x4600, 0x4200);
    SAME(bf16, uint16_t, one_to_three_bf16[r], 0x40c0, 0x4040);
    float c64[2] = {(float)r, 1}, sum64[2];
    double c128[2] = {1, r}, sum128[2];
    TRY_AS(self, mica_dist_all_reduce(self->dist, MICA_DIST_SUM, MICA_DTYPE_c64, c64, sum64, 1));
    EXPECT(self, sum64[0] == 3 && sum64[1] == 3);
    TRY_AS(self, mica_dist_all_reduce(self->dist, MICA_DIST_SUM, MICA_DTYPE_c128, c128, sum128, 1));
    EXPECT(self, sum128[0] == 3 && sum128[1] == 3);
}

TEST(numbers_of_all_dtypes_are_reduced) {
    test_rank ranks[3] = {0};
    if (run_ranks(ranks, TEST_THREADS, 3, all_dtypes, NULL, NULL)) check_ranks(ranks, 3);
}

/* More than a socket holds, so that all send and receive side by side. */
static void large_arrays(test_rank *self) {
    enum { N = 3000001 };
    float *x = malloc(N * sizeof *x);
    for (int32_t i = 0; i < N; i++) x[i] = (float)(i % 1000) * (float)(self->rank + 1);
    self->status = mica_dist_all_reduce(self->dist, MICA_DIST_SUM, MICA_DTYPE_f32, x, x, N);
    for (int32_t i = 0; i < N; i++) EXPECT(self, x[i] == (float)(i % 1000) * 6);
    free(x);
}

TEST(arrays_larger_than_what_is_on_the_way_come_through) {
    on_all_engines(large_arrays, 3);
}

/* ---- what does not go -------------------------------------------------------------------------*/

static void wrong_arguments(test_rank *self) {
    mica_dist *d = self->dist;
    float x[4] = {0};
    int32_t pairs[4] = {0, 0, 0, 0};
    struct {
        mica_status status;
        const char *words;
    } calls[] = {
        {mica_dist_all_reduce(d, MICA_DIST_SUM, MICA_DTYPE_bool, x, x, 1), "no such reduction"},
        {mica_dist_all_reduce(d, MICA_DIST_MAX, MICA_DTYPE_c64, x, x, 1), "sum alone"},
        {mica_dist_all_reduce(d, MICA_DIST_SUM, (mica_dtype)77, x, x, 1), "no dtype 77"},
        {mica_dist_all_reduce(d, MICA_DIST_SUM, MICA_DTYPE_f32, x, x, -1), "too many"},
        {mica_dist_reduce_scatter(d, MICA_DIST_SUM, MICA_DTYPE_f32, x, x, INT64_MAX / 4),
         "too many"},
        {mica_dist_all_gather(d, x, x, SIZE_MAX), "too many"},
        {mica_dist_broadcast(d, x, 4, 2), "source 2 of 2 ranks"},
        {mica_dist_permute(d, x, x, 4, pairs, pairs, 2), "twice"},
        {mica_dist_permute(d, x, x, 4, pairs, pairs, 3), "3 pairs for 2 ranks"},
        {mica_dist_all_reduce(d, MICA_DIST_SUM, MICA_DTYPE_f32, NULL, x, 1), "NULL"},
        {mica_dist_barrier(NULL), "NULL"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        EXPECT(self, mica_status_code(calls[i].status) == MICA_INVALID_ARGUMENT &&
                         strstr(mica_status_message(calls[i].status), calls[i].words));
        mica_status_release(calls[i].status);
    }
    TRY_AS(self, mica_dist_barrier(d));
}

TEST(wrong_arguments_are_refused_and_the_ranks_go_on) {
    on_all_engines(wrong_arguments, 2);
}

/* Call `which` of rank 1 is another than that of the others. */
static mica_status differing_call(mica_dist *d, int32_t which, bool is_odd) {
    float x[8] = {0}, y[32];
    int32_t sources[1] = {0}, targets[1] = {is_odd ? 1 : 2};
    size_t sizes[3] = {4, is_odd ? 8 : 4, 4};
    switch (which) {
    case 0: return mica_dist_all_reduce(d, MICA_DIST_SUM, MICA_DTYPE_f32, x, y, is_odd ? 2 : 3);
    case 1:
        return mica_dist_all_reduce(d, MICA_DIST_SUM, is_odd ? MICA_DTYPE_i32 : MICA_DTYPE_f32, x,
                                    y, 2);
    case 2:
        return mica_dist_all_reduce(d, is_odd ? MICA_DIST_MAX : MICA_DIST_SUM, MICA_DTYPE_f32, x, y,
                                    2);
    case 3: return is_odd ? mica_dist_barrier(d) : mica_dist_all_gather(d, x, y, 4);
    case 4: return mica_dist_broadcast(d, x, 4, is_odd);
    case 5: return mica_dist_permute(d, x, y, 4, sources, targets, 1);
    case 6: return mica_dist_all_gather_parts(d, x, y, sizes);
    default:
        return mica_dist_reduce_scatter(d, MICA_DIST_SUM, MICA_DTYPE_f32, x, y, is_odd ? 1 : 2);
    }
}

static void differing_calls(test_rank *self) {
    for (int32_t which = 0; which < 8; which++) {
        mica_status status = differing_call(self->dist, which, self->rank == 1);
        EXPECT(self, mica_status_code(status) == MICA_INVALID_ARGUMENT);
        EXPECT(self, strstr(mica_status_message(status), "rank 1") != NULL);
        EXPECT(self, strstr(mica_status_message(status), "same calls") != NULL);
        mica_status_release(status);
    }
    float one = 1;
    TRY_AS(self, mica_dist_all_reduce(self->dist, MICA_DIST_SUM, MICA_DTYPE_f32, &one, &one, 1));
    EXPECT(self, one == 3);
}

TEST(ranks_whose_calls_differ_are_told_which_and_go_on) {
    on_all_engines(differing_calls, 3);
}

/* Rank 1 leaves after the first call; what it sent has come. */
static void one_leaves(test_rank *self) {
    float one = 1;
    TRY_AS(self, mica_dist_all_reduce(self->dist, MICA_DIST_SUM, MICA_DTYPE_f32, &one, &one, 1));
    EXPECT(self, one == 3);
    if (self->rank == 1) return;
    self->status = mica_dist_barrier(self->dist);
}

TEST(a_rank_that_leaves_is_named) {
    for (test_engine engine = TEST_THREADS; engine <= TEST_TCP; engine++) {
        test_rank ranks[3] = {0};
        if (!run_ranks(ranks, engine, 3, one_leaves, NULL, NULL)) return;
        for (int32_t i = 0; i < 3; i++) {
            CHECK(ranks[i].wrong == 0 && ranks[i].seconds < 10);
            if (i != 1) CHECK_FAILS(ranks[i].status, MICA_UNAVAILABLE, "rank 1");
        }
    }
}

/* Rank 2 gives up while the others wait for it; later calls answer the same at once. */
static void one_gives_up(test_rank *self) {
    if (self->rank == 2) {
        mica_sleep(0.05);
        mica_dist_abort(self->dist, "the data is not there");
    }
    for (int32_t i = 0; i < 2; i++) {
        mica_status_release(self->status);
        self->status = mica_dist_barrier(self->dist);
    }
    EXPECT(self, mica_dist_lost(self->dist) == 2);
    mica_dist_retain(self->dist);
    mica_dist_release(self->dist);
}

TEST(a_rank_that_gives_up_says_why_to_all) {
    for (test_engine engine = TEST_THREADS; engine <= TEST_TCP; engine++) {
        test_rank ranks[4] = {0};
        if (!run_ranks(ranks, engine, 4, one_gives_up, NULL, NULL)) return;
        for (int32_t i = 0; i < 4; i++) {
            CHECK(ranks[i].wrong == 0 && ranks[i].seconds < 10);
            CHECK_FAILS(ranks[i].status, MICA_UNAVAILABLE, "the data is not there");
        }
    }
}

/* Rank 0 does not come, but lives. */
static void one_is_slow(test_rank *self) {
    if (self->rank == 0)
        mica_sleep(1);
    else
        self->status = mica_dist_barrier(self->dist);
}

TEST(a_call_ends_when_a_rank_does_not_come_in_time) {
    mica_dist_options options = {.size = sizeof options, .seconds = 0.2};
    for (test_engine engine = TEST_THREADS; engine <= TEST_TCP; engine++) {
        test_rank ranks[2] = {0};
        if (!run_ranks(ranks, engine, 2, one_is_slow, NULL, &options)) return;
        CHECK(!ranks[0].status);
        CHECK_FAILS(ranks[1].status, MICA_UNAVAILABLE, "time");
    }
}

/* ---- coming together --------------------------------------------------------------------------*/

static void nothing(test_rank *self) {
    TRY_AS(self, mica_dist_barrier(self->dist));
}

TEST(ranks_that_do_not_come_are_named) {
    REQUIRE(find_addresses(2));
    mica_dist_options options = {
        .size = sizeof options, .addresses = test_addresses, .n_addresses = 2, .join_seconds = 0.3};
    mica_dist *dist = NULL;
    CHECK_FAILS(mica_dist_open(&options, &dist), MICA_UNAVAILABLE, "rank 1 (localhost:");
    options.rank = 1;
    CHECK_FAILS(mica_dist_open(&options, &dist), MICA_UNAVAILABLE, "rank 0 (localhost:");
    CHECK(dist == NULL);
}

/* Says things to the port of rank 0 until it is told to stop. */
typedef struct stranger {
    int32_t port, stop;
} stranger;

static void talk(void *context) {
    stranger *s = context;
    static const char *const texts[] = {"GET / HTTP/1.1\r\n\r\n", "MICA", "",
                                        "MICA\2\0\0\0xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"};
    int32_t held[4] = {-1, -1, -1, -1};
    for (int i = 0; !__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE); i++) {
        int32_t *number = &held[i % 4];
        mica_socket_close(*number);
        mica_status status =
            mica_socket_connect("localhost", s->port, mica_clock_seconds() + 1, number);
        if (!status) {
            mica_socket talking = {.number = *number};
            status = mica_socket_write(&talking, texts[i % 4], strlen(texts[i % 4]),
                                       mica_clock_seconds() + 1);
        }
        mica_status_release(status);
        mica_sleep(0.002);
    }
    for (int i = 0; i < 4; i++) mica_socket_close(held[i]);
}

static void come_late(test_rank *self) {
    nothing(self);
}

TEST(strangers_are_turned_away_and_the_run_goes_on) {
    setenv("MICA_CLUSTER_SECRET", "sixteen bytes and some", 1);
    test_rank ranks[3] = {0};
    stranger s = {0};
    mica_thread *thread = NULL;
    REQUIRE(find_addresses(3));
    s.port = atoi(strchr(test_addresses[0], ':') + 1);
    REQUIRE_OK(mica_thread_start(talk, &s, "stranger", &thread));
    for (int32_t i = 0; i < 3; i++) {
        ranks[i] = (test_rank){.rank = i, .size = 3, .work = come_late};
        ranks[i].options = (mica_dist_options){.size = sizeof(mica_dist_options),
                                               .addresses = test_addresses,
                                               .n_addresses = 3,
                                               .rank = i};
        CHECK_OK(mica_thread_start(run_rank, &ranks[i], "rank", &ranks[i].thread));
        mica_sleep(0.03);
    }
    for (int32_t i = 0; i < 3; i++) mica_thread_join(ranks[i].thread);
    __atomic_store_n(&s.stop, 1, __ATOMIC_RELEASE);
    mica_thread_join(thread);
    check_ranks(ranks, 3);
    unsetenv("MICA_CLUSTER_SECRET");
}

/* One that has another list of addresses is none of the run. */
static void other_list(void *context) {
    test_rank *self = context;
    self->status = mica_dist_open(&self->options, &self->dist);
    mica_dist_release(self->dist);
}

TEST(ranks_of_different_lists_do_not_meet) {
    REQUIRE(find_addresses(3));
    const char *others[2] = {test_addresses[0], test_addresses[2]};
    test_rank one = {.options = {.size = sizeof one.options,
                                 .addresses = test_addresses,
                                 .n_addresses = 2,
                                 .join_seconds = 0.5}};
    test_rank two = one;
    two.options.addresses = others;
    two.options.rank = 1;
    REQUIRE_OK(mica_thread_start(other_list, &one, "one", &one.thread));
    other_list(&two);
    mica_thread_join(one.thread);
    CHECK_FAILS(two.status, MICA_FAILED_PRECONDITION, "do not have the same addresses");
    CHECK_FAILS(one.status, MICA_UNAVAILABLE, "rank 1");
}

TEST(options_that_make_no_sense_are_refused) {
    mica_dist *dist = NULL;
    const char *address = "nowhere";
    mica_dist_options o = {.size = sizeof o, .engine = "carrier pigeon"};
    CHECK_FAILS(mica_dist_open(&o, &dist), MICA_INVALID_ARGUMENT, "carrier pigeon");
    o.engine = "nccl";
    CHECK_FAILS(mica_dist_open(&o, &dist), MICA_UNSUPPORTED, "nccl");
    o.engine = "tcp";
    CHECK_FAILS(mica_dist_open(&o, &dist), MICA_INVALID_ARGUMENT, "MICA_DIST_ADDRESSES");
    o.addresses = &address;
    o.n_addresses = 1;
    CHECK_FAILS(mica_dist_open(&(mica_dist_options){.size = 4}, &dist), MICA_INVALID_ARGUMENT,
                "size of the options");
    o.rank = 1;
    CHECK_FAILS(mica_dist_open(&o, &dist), MICA_INVALID_ARGUMENT, "rank 1 of 1");
    const char *two[] = {"nowhere", "localhost:99999"};
    o = (mica_dist_options){.size = sizeof o, .addresses = two, .n_addresses = 2};
    CHECK_FAILS(mica_dist_open(&o, &dist), MICA_INVALID_ARGUMENT, "no address");
    const char *open[] = {"0.0.0.0:1", "localhost:2"};
    unsetenv("MICA_CLUSTER_SECRET");
    o.addresses = open;
    CHECK_FAILS(mica_dist_open(&o, &dist), MICA_FAILED_PRECONDITION, "there is no secret");
    CHECK(mica_dist_size(NULL) == 1 && mica_dist_rank(NULL) == 0 && mica_dist_lost(NULL) == -1);
}
