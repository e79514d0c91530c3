/* Ranks that are killed or stopped in the middle of a run: the others end in time and name them. */
#include "processes.h"

typedef struct fate {
    int32_t rank;
    int signal;
} fate;

static mica_status sums_until_the_end(mica_dist *dist, rank_report *report, const void *context) {
    const fate *f = context;
    for (int32_t i = 0; i < 2000000; i++) {
        float x[64] = {1};
        if (i == 20 && mica_dist_rank(dist) == f->rank) kill(getpid(), f->signal);
        double start = mica_clock_seconds();
        mica_status status = mica_dist_all_reduce(dist, MICA_DIST_SUM, MICA_DTYPE_f32, x, x, 64);
        report->seconds = mica_clock_seconds() - start;
        report->n = mica_dist_lost(dist);
        if (status) return status;
    }
    return NULL;
}

static void lose_one(int32_t rank, int signal) {
    rank_process processes[4];
    static rank_report reports[4];
    fate f = {rank, signal};
    char words[32];
    snprintf(words, sizeof words, "rank %d (", rank);
    REQUIRE(start_processes(processes, 4, sums_until_the_end, &f, 0.7));
    for (int32_t i = 0; i < 4; i++) {
        if (i == rank) continue;
        CHECK(end_process(&processes[i], &reports[i]));
        CHECK(reports[i].code == MICA_UNAVAILABLE && strstr(reports[i].words, words));
        CHECK(reports[i].n == rank && reports[i].seconds < 10);
        if (!strstr(reports[i].words, words)) printf("    %d: %s\n", i, reports[i].words);
    }
    kill(processes[rank].pid, SIGKILL);
    CHECK(!end_process(&processes[rank], &reports[rank]));
}

TEST(a_rank_that_is_killed_is_named_by_the_others) {
    lose_one(2, SIGKILL);
    lose_one(0, SIGKILL);
}

TEST(a_rank_that_is_stopped_is_named_by_the_others) {
    lose_one(1, SIGSTOP);
    lose_one(0, SIGSTOP);
}

/* Longer than the silence that makes a rank lost. */
static mica_status one_computes(mica_dist *dist, rank_report *report, const void *context) {
    (void)report, (void)context;
    if (mica_dist_rank(dist) == 1) sleep(2);
    return mica_dist_barrier(dist);
}

TEST(a_rank_that_is_slow_is_waited_for) {
    rank_process processes[2];
    static rank_report reports[2];
    REQUIRE(start_processes(processes, 2, one_computes, NULL, 0.7));
    for (int32_t i = 0; i < 2; i++) {
        CHECK(end_process(&processes[i], &reports[i]));
        CHECK(!*reports[i].words);
    }
}
