/* tests/dist/dist_test.h: the same function on several ranks, each a thread of the test. */
#ifndef MICA_TESTS_DIST_TEST_H
#define MICA_TESTS_DIST_TEST_H

#include "base/platform.h"
#include "base/socket.h"
#include "mica/dist.h"
#include "test.h"

enum { MOST_RANKS = 8 };

/* How ranks come together. */
typedef enum test_engine { TEST_THREADS, TEST_TCP } test_engine;

typedef struct test_rank test_rank;
struct test_rank {
    mica_dist *dist;
    int32_t rank, size;
    void (*work)(test_rank *self);
    void *context;
    mica_status status; /* of the work, or of opening */
    int32_t wrong;      /* what the work found wrong */
    double seconds;     /* that the work took */
    mica_dist_options options;
    mica_thread *thread;
};

/* In the work of a rank: notes what does not hold. */
#define EXPECT(self, condition) ((self)->wrong += !(condition))
/* Leaves the work with the status of a call that fails. */
#define TRY_AS(self, expr)                                                                         \
    do {                                                                                           \
        (self)->status = (expr);                                                                   \
        if ((self)->status) return;                                                                \
    } while (0)

static char test_texts[MOST_RANKS][32];
static const char *test_addresses[MOST_RANKS];

/* Ports of this machine that are free. */
static inline bool find_addresses(int32_t n) {
    int32_t numbers[MOST_RANKS], port = 0;
    bool all = true;
    for (int32_t i = 0; i < n; i++) {
        all &= test_ok(mica_socket_listen("localhost", 0, &numbers[i], &port), __FILE__, __LINE__,
                       "listen");
        snprintf(test_texts[i], sizeof *test_texts, "localhost:%d", port);
        test_addresses[i] = test_texts[i];
    }
    for (int32_t i = 0; i < n; i++) mica_socket_close(numbers[i]);
    return all;
}

static void run_rank(void *context) {
    test_rank *self = context;
    if (!self->dist) self->status = mica_dist_open(&self->options, &self->dist);
    double start = mica_clock_seconds();
    if (!self->status) self->work(self);
    self->seconds = mica_clock_seconds() - start;
    mica_dist_release(self->dist);
}

/* The ranks keep their statuses. */
static inline bool run_ranks(test_rank *ranks, test_engine engine, int32_t n,
                             void (*work)(test_rank *), void *context,
                             const mica_dist_options *options) {
    mica_dist *dists[MOST_RANKS] = {0};
    bool is_begun = engine == TEST_THREADS ? test_ok(mica_dist_open_threads(options, n, dists),
                                                     __FILE__, __LINE__, "open threads")
                                           : find_addresses(n);
    for (int32_t i = 0; is_begun && i < n; i++) {
        ranks[i] =
            (test_rank){.dist = dists[i], .rank = i, .size = n, .work = work, .context = context};
        ranks[i].options = options ? *options : (mica_dist_options){.size = sizeof *options};
        ranks[i].options.addresses = test_addresses;
        ranks[i].options.n_addresses = n;
        ranks[i].options.rank = i;
        is_begun = test_ok(mica_thread_start(run_rank, &ranks[i], "rank", &ranks[i].thread),
                           __FILE__, __LINE__, "start");
    }
    for (int32_t i = 0; i < n; i++)
        if (ranks[i].thread) mica_thread_join(ranks[i].thread);
    return is_begun;
}

/* All went well on all of them. */
static inline void check_ranks(test_rank *ranks, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        CHECK_OK(ranks[i].status);
        CHECK(ranks[i].wrong == 0);
    }
}

#endif
