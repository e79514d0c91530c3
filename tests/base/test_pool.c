#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/platform.h"
#include "base/pool.h"
#include "mica/runtime.h"

typedef struct visits {
    int64_t n, grain;
    int32_t *counts;
    bool wrong_cut;
} visits;

static void visit(void *context, int64_t begin, int64_t end) {
    visits *v = context;
    if (begin % v->grain != 0 || (end != v->n && end - begin != v->grain))
        __atomic_store_n(&v->wrong_cut, true, __ATOMIC_RELAXED);
    for (int64_t i = begin; i < end; i++) __atomic_fetch_add(&v->counts[i], 1, __ATOMIC_RELAXED);
}

/* true when every index was visited once, in pieces cut at multiples of the grain, by a job of each
 * kind. */
static bool visits_all_once(int64_t n, int64_t grain) {
    visits v = {.n = n, .grain = grain, .counts = calloc((size_t)n + 1, sizeof(int32_t))};
    mica_parallel_for(n, grain, visit, &v);
    bool right = !v.wrong_cut;
    for (int64_t i = 0; i < n; i++) right &= v.counts[i] == 1;
    mica_parallel_walk(n, grain, visit, &v);
    right &= !v.wrong_cut;
    for (int64_t i = 0; i < n; i++) right &= v.counts[i] == 2;
    free(v.counts);
    return right;
}

TEST(every_index_is_visited_once_for_any_number_of_threads) {
    static const int32_t threads[] = {1, 2, 3, 5, 16, 70};
    for (int t = 0; t < 6; t++) {
        REQUIRE_OK(mica_pool_set_threads(threads[t]));
        CHECK(mica_pool_threads() == threads[t]);
        for (int64_t n = 0; n < 40; n++)
            for (int64_t grain = 1; grain < 12; grain += 3) CHECK(visits_all_once(n, grain));
        CHECK(visits_all_once(100000, 7));
    }
    mica_pool_shutdown();
}

TEST(many_small_jobs_in_a_row_all_finish) {
    REQUIRE_OK(mica_pool_set_threads(4));
    bool right = true;
    for (int i = 0; i < 5000; i++) right &= visits_all_once(9, 1);
    CHECK(right);
    mica_pool_shutdown();
}

static void sum_piece(void *context, int64_t begin, int64_t end) {
    double *partial = context;
    double sum = 0;
    for (int64_t i = begin; i < end; i++) sum += 1.0 / (double)(i + 1);
    partial[begin / 64] = sum;
}

TEST(memory_written_by_a_body_is_seen_by_the_caller) {
    double partial[100];
    double first = 0;
    for (int32_t threads = 1; threads < 6; threads++) {
        REQUIRE_OK(mica_pool_set_threads(threads));
        for (int round = 0; round < 50; round++) {
            memset(partial, 0, sizeof partial);
            mica_parallel_for(6400, 64, sum_piece, partial);
            double sum = 0;
            for (int i = 0; i < 100; i++) sum += partial[i];
            if (threads == 1 && round == 0) first = sum;
            CHECK(sum == first);
        }
    }
    mica_pool_shutdown();
}

static void nested_body(void *context, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
        if (!visits_all_once(50, 3)) __atomic_store_n((bool *)context, false, __ATOMIC_RELAXED);
}

TEST(a_call_from_inside_a_body_runs_inline) {
    REQUIRE_OK(mica_pool_set_threads(3));
    bool right = true;
    mica_parallel_for(40, 1, nested_body, &right);
    CHECK(right);
    mica_pool_shutdown();
}

static void caller_main(void *context) {
    for (int i = 0; i < 300; i++)
        if (!visits_all_once(200, 5)) __atomic_store_n((bool *)context, false, __ATOMIC_RELAXED);
}

TEST(several_callers_may_use_the_pool_at_once) {
    REQUIRE_OK(mica_pool_set_threads(4));
    bool right = true;
    mica_thread *callers[6];
    for (int i = 0; i < 6; i++)
        REQUIRE_OK(mica_thread_start(caller_main, &right, "caller", &callers[i]));
    for (int i = 0; i < 6; i++) mica_thread_join(callers[i]);
    CHECK(right);
    mica_pool_shutdown();
}

TEST(the_number_of_threads_may_change_while_others_compute) {
    bool right = true;
    mica_thread *callers[3];
    for (int i = 0; i < 3; i++)
        REQUIRE_OK(mica_thread_start(caller_main, &right, "caller", &callers[i]));
    for (int i = 0; i < 30; i++) CHECK_OK(mica_pool_set_threads(1 + i % 5));
    for (int i = 0; i < 3; i++) mica_thread_join(callers[i]);
    CHECK(right);
    mica_pool_shutdown();
}

static void slow_body(void *context, int64_t begin, int64_t end) {
    (void)end;
    mica_sleep(begin == 0 ? 0 : 0.02);
    __atomic_fetch_add((int32_t *)context, 1, __ATOMIC_RELAXED);
}

TEST(the_caller_sleeps_until_the_slowest_piece_is_done) {
    REQUIRE_OK(mica_pool_set_threads(3));
    for (int i = 0; i < 5; i++) {
        int32_t done = 0;
        mica_parallel_for(3, 1, slow_body, &done);
        CHECK(done == 3);
        mica_sleep(0.005); /* the workers fall asleep */
    }
    mica_pool_shutdown();
}

static void set_threads_inside(void *context, int64_t begin, int64_t end) {
    (void)begin, (void)end;
    mica_status status = mica_pool_set_threads(2);
    if (mica_status_code(status) != MICA_FAILED_PRECONDITION)
        __atomic_store_n((bool *)context, false, __ATOMIC_RELAXED);
    mica_status_release(status);
}

TEST(a_wrong_number_of_threads_is_refused) {
    CHECK_FAILS(mica_pool_set_threads(-1), MICA_INVALID_ARGUMENT, "[set_threads] -1");
    CHECK_FAILS(mica_pool_set_threads(5000), MICA_INVALID_ARGUMENT, "[set_threads] 5000");
    bool right = true;
    REQUIRE_OK(mica_pool_set_threads(3));
    mica_parallel_for(30, 1, set_threads_inside, &right);
    CHECK(right);
    mica_pool_shutdown();
}

TEST(mica_threads_in_the_environment_sets_the_number) {
    REQUIRE_OK(mica_pool_set_threads(0));
    setenv("MICA_THREADS", "3", 1);
    mica_pool_shutdown();
    CHECK(mica_pool_threads() == 3);
    setenv("MICA_THREADS", "many", 1);
    mica_pool_shutdown();
    CHECK(mica_pool_threads() == mica_machine_threads());
    unsetenv("MICA_THREADS");
    mica_pool_shutdown();
    CHECK(mica_pool_threads() == mica_machine_threads());
}

TEST(without_memory_for_threads_everything_still_runs) {
    for (int64_t n = 1; n < 6; n++) {
        REQUIRE_OK(mica_pool_set_threads(4));
        mica_memory_fail_nth(n, true);
        bool right = visits_all_once(1000, 10);
        mica_memory_fail_nth(0, false);
        CHECK(right);
        CHECK(visits_all_once(1000, 10));
    }
    mica_pool_shutdown();
    CHECK(mica_memory_live_blocks() == 0);
}

TEST(the_pool_starts_again_after_a_shutdown) {
    for (int i = 0; i < 10; i++) {
        REQUIRE_OK(mica_pool_set_threads(3));
        CHECK(visits_all_once(500, 3));
        mica_pool_shutdown();
        CHECK(mica_memory_live_blocks() == 0);
    }
}

TEST(a_forked_child_computes_inline) {
    REQUIRE_OK(mica_pool_set_threads(3));
    CHECK(visits_all_once(500, 3));
    CHECK(!mica_fork_happened());
    pid_t child = fork();
    if (child == 0) {
        bool right = mica_fork_happened() && visits_all_once(500, 3);
        mica_pool_shutdown();
        _exit(right && mica_memory_live_blocks() == 0 && visits_all_once(500, 3) ? 0 : 1);
    }
    int result = -1;
    REQUIRE(waitpid(child, &result, 0) == child);
    CHECK(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    CHECK(visits_all_once(500, 3));
    mica_pool_shutdown();
}

static bool asked_to_stop;

static bool stops(void) {
    return asked_to_stop;
}

static void count_pieces(void *context, int64_t begin, int64_t end) {
    __atomic_fetch_add((int64_t *)context, end - begin, __ATOMIC_RELAXED);
}

/* Long enough that helpers do not compute all pieces before the caller is given a processor. */
static void count_slow_pieces(void *context, int64_t begin, int64_t end) {
    mica_sleep(0.0005);
    count_pieces(context, begin, end);
}

/* Outside of a scope, or in one that is kept, every piece is computed. */
TEST(pieces_are_left_out_only_inside_a_scope_that_is_left) {
    int32_t flag = 0;
    int64_t n[4] = {0};
    mica_interrupt_scope scope, inner;
    mica_interrupt_enter(&scope, &flag, false);
    mica_parallel_for(1000, 1, count_pieces, &n[0]);
    CHECK(n[0] == 1000 && !scope.is_left);
    __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
    mica_interrupt_enter(&inner, NULL, true);
    mica_parallel_for(1000, 1, count_pieces, &n[1]);
    CHECK(!mica_interrupt_leave(&inner) && n[1] == 1000);
    mica_parallel_for(1000, 1, count_slow_pieces, &n[2]);
    CHECK(n[2] < 1000 && mica_interrupt_leave(&scope));
    mica_parallel_for(1000, 1, count_pieces, &n[3]);
    CHECK(n[3] == 1000);
    mica_pool_shutdown();
}

TEST(the_first_thread_asks_whether_to_stop) {
    int64_t n = 0;
    mica_interrupt_scope scope;
    mica_set_interrupt_check(stops);
    asked_to_stop = true;
    mica_sleep(0.06);
    CHECK(mica_interrupt_poll() == mica_thread_is_first());
    mica_interrupt_enter(&scope, NULL, false);
    mica_sleep(0.06);
    mica_parallel_for(1000, 1, count_slow_pieces, &n);
    CHECK(mica_interrupt_leave(&scope) == mica_thread_is_first());
    CHECK((n < 1000) == mica_thread_is_first());
    mica_set_interrupt_check(NULL);
    asked_to_stop = false;
    CHECK(!mica_interrupt_poll() && !mica_interrupt_is_checked());
    mica_pool_shutdown();
}
