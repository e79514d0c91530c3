/* The compute pool.
 *
 * One job runs at a time; its caller holds `taken`. A second caller, a call from inside a body and
 * a forked child run their pieces inline, so no thread waits for another's job. Threads of
 * a job take pieces from atomic counters, one for each share of them: of jobs that walk through
 * memory every thread begins with a share of its own, from the front, and helps with the others'
 * when it is empty, from the back: so one call after the other the same pieces fall to the same
 * threads, whose caches hold them, but for a few at the ends. Of other jobs all pieces are one
 * share.
 *
 * `gate` is one word: the job's number, OPEN while it may be entered, and how many workers are
 * inside. A worker enters by adding one to a gate it saw open, so a late worker can never enter a
 * job that has ended, and the job's fields are rewritten only while the gate is closed and no
 * thread is inside. The caller closes the gate when no piece is left and waits for those inside.
 *
 * A worker that finds itself on the processor of the job's caller moves to another one: systems
 * leave two threads that are seldom both awake for long on one processor, where each waits for the
 * other.
 *
 * Workers look at the gate a short while after a job, then sleep. A sleeper is counted before it
 * looks a last time and a caller opens the gate before it looks for sleepers, so one of them sees
 * the other. */
#include "base/pool.h"

#include <stdlib.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/platform.h"

enum {
    MOST_THREADS = 1024,
    MOST_SHARES = 64,
    SPINS = 2000,
};
#define INSIDE_MASK ((uint64_t)0xffff)
#define OPEN ((uint64_t)1 << 16)
#define CALLER_SLEEPS ((uint64_t)1 << 17)
#define JOB_SHIFT 18
#define RETRY_SECONDS 1.0
#define SETTLED_SECONDS 0.005 /* a worker that has moved stays where it is for so long */
#define BACK ((uint64_t)1 << 32)
#define MOST_PIECES ((int64_t)1 << 31) /* so that neither count of a share runs into the other */

static struct {
    /* The job; written by its caller while the gate is closed and empty. */
    void (*body)(void *context, int64_t begin, int64_t end);
    void *context;
    int64_t n, grain, n_pieces, n_shares;
    bool is_left; /* atomic; the caller's scope was left: no piece is begun any more */
    struct {
        _Alignas(64) uint64_t taken; /* atomic; from the front, and BACK times from the back */
    } shares[MOST_SHARES];
    _Alignas(64) uint64_t gate;    /* atomic */
    _Alignas(64) int32_t sleepers; /* atomic; changed under `mutex` */
    int32_t processor;             /* atomic; of the last job's caller, or -1 */
    bool taken;                    /* atomic */
    int32_t asked;                 /* atomic; threads asked for, 0: the machine's */
    int32_t resolved;              /* atomic; threads in use, 0: not looked up yet */
    mica_mutex mutex;
    mica_condition wake, left;
    bool stop; /* under `mutex` */
    /* Of whoever holds `taken`. */
    mica_thread **workers;
    int32_t n_workers;
    double retry_time; /* when starting threads failed: not again before this */
} pool;

static _Thread_local bool inside_body;

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void run_piece(int64_t piece, int64_t n, int64_t grain,
                      void (*body)(void *, int64_t, int64_t), void *context) {
    int64_t begin = piece * grain, end = n - begin < grain ? n : begin + grain;
    body(context, begin, end);
}

static void run_inline(int64_t n_pieces, int64_t n, int64_t grain,
                       void (*body)(void *, int64_t, int64_t), void *context) {
    for (int64_t i = 0; i < n_pieces; i++) {
        if (n_pieces > 1 ? mica_interrupt_must_leave() : mica_interrupt_is_left()) return;
        run_piece(i, n, grain, body, context);
    }
}

/* The first piece of a share; that of the share after the last is n_pieces. */
static int64_t share_begin(int64_t share) {
    int64_t rest = pool.n_pieces % pool.n_shares;
    return pool.n_pieces / pool.n_shares * share + (share < rest ? share : rest);
}

/* The next piece of a share, or -1. Whoever comes when all are taken counts too, in vain. */
static int64_t next_piece(int64_t share, bool from_back) {
    int64_t begin = share_begin(share), end = share_begin(share + 1);
    uint64_t taken =
        __atomic_fetch_add(&pool.shares[share].taken, from_back ? BACK : 1, __ATOMIC_RELAXED);
    int64_t front = (int64_t)(taken % BACK), back = (int64_t)(taken / BACK);
    if (front + back >= end - begin) return -1;
    return from_back ? end - 1 - back : begin + front;
}

/* All that is left, beginning with the share of the thread that entered as the `place`th. */
static void take_pieces(int64_t place) {
    inside_body = true;
    for (int64_t i = 0; i < pool.n_shares; i++) {
        int64_t share = (place + i) % pool.n_shares, piece;
        while ((piece = next_piece(share, i > 0)) >= 0) {
            if (mica_interrupt_must_leave())
                __atomic_store_n(&pool.is_left, true, __ATOMIC_RELAXED);
            if (__atomic_load_n(&pool.is_left, __ATOMIC_RELAXED)) break;
            run_piece(piece, pool.n, pool.grain, pool.body, pool.context);
        }
    }
    inside_body = false;
}

/* ---- workers ----------------------------------------------------------------------------------*/

static bool is_new_job(uint64_t gate, uint64_t last_job) {
    return (gate & OPEN) && gate >> JOB_SHIFT != last_job;
}

/* Leaves the caller's processor to the caller. */
static void keep_apart(double *moved) {
    int32_t processor = __atomic_load_n(&pool.processor, __ATOMIC_RELAXED);
    if (processor < 0 || mica_processor() != processor) return;
    double now = mica_clock_seconds();
    if (now < *moved + SETTLED_SECONDS) return;
    *moved = now;
    mica_leave_processor(processor);
}

/* Waits for a job after last_job; false when the pool stops. */
static bool wait_for_job(uint64_t last_job, double *moved) {
    keep_apart(moved);
    for (int i = 0; i < SPINS; i++) {
        if (is_new_job(__atomic_load_n(&pool.gate, __ATOMIC_ACQUIRE), last_job)) return true;
        relax();
    }
    mica_mutex_lock(&pool.mutex);
    __atomic_fetch_add(&pool.sleepers, 1, __ATOMIC_SEQ_CST);
    while (!pool.stop && !is_new_job(__atomic_load_n(&pool.gate, __ATOMIC_SEQ_CST), last_job))
        mica_condition_wait(&pool.wake, &pool.mutex);
    __atomic_fetch_sub(&pool.sleepers, 1, __ATOMIC_SEQ_CST);
    bool goes_on = !pool.stop;
    mica_mutex_unlock(&pool.mutex);
    return goes_on;
}

static void leave_job(void) {
    uint64_t gate = __atomic_sub_fetch(&pool.gate, 1, __ATOMIC_ACQ_REL);
    if ((gate & INSIDE_MASK) != 0 || !(gate & CALLER_SLEEPS)) return;
    mica_mutex_lock(&pool.mutex);
    mica_condition_signal(&pool.left);
    mica_mutex_unlock(&pool.mutex);
}

static void worker_main(void *context) {
    (void)context;
    uint64_t last_job = 0;
    double moved = 0;
    while (wait_for_job(last_job, &moved)) {
        uint64_t gate = __atomic_load_n(&pool.gate, __ATOMIC_ACQUIRE);
        while (is_new_job(gate, last_job)) {
            if (!__atomic_compare_exchange_n(&pool.gate, &gate, gate + 1, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE))
                continue;
            last_job = gate >> JOB_SHIFT;
            keep_apart(&moved);
            take_pieces((int64_t)(gate & INSIDE_MASK) + 1);
            leave_job();
        }
    }
}

/* ---- starting and stopping; the caller holds `taken`
 * -------------------------------------------*/

static void start_workers(int32_t wanted) {
    if (pool.n_workers >= wanted || mica_clock_seconds() < pool.retry_time) return;
    if (!pool.workers) pool.workers = mica_calloc(MOST_THREADS, sizeof *pool.workers);
    if (!pool.workers) return;
    mica_fork_watch();
    while (pool.n_workers < wanted) {
        mica_status status =
            mica_thread_start(worker_main, NULL, "mica-compute", &pool.workers[pool.n_workers]);
        if (status) {
            mica_status_release(status);
            pool.retry_time = mica_clock_seconds() + RETRY_SECONDS;
            return;
        }
        pool.n_workers++;
    }
}

static void stop_workers(void) {
    bool is_child = mica_fork_happened();
    if (!is_child) {
        mica_mutex_lock(&pool.mutex);
        pool.stop = true;
        mica_condition_broadcast(&pool.wake);
        mica_mutex_unlock(&pool.mutex);
    }
    for (int32_t i = 0; i < pool.n_workers; i++) mica_thread_join(pool.workers[i]);
    mica_free(pool.workers);
    pool.workers = NULL;
    pool.n_workers = 0;
    pool.retry_time = 0;
    if (!is_child) {
        mica_mutex_lock(&pool.mutex);
        pool.stop = false;
        mica_mutex_unlock(&pool.mutex);
    }
}

static bool try_take(void) {
    return !__atomic_exchange_n(&pool.taken, true, __ATOMIC_ACQUIRE);
}

/* A forked child has one thread: whoever held the pool at the fork will not give it back. */
static void take(void) {
    while (!try_take() && !mica_fork_happened()) mica_sleep(50e-6);
}

static void give_back(void) {
    __atomic_store_n(&pool.taken, false, __ATOMIC_RELEASE);
}

/* ---- jobs -------------------------------------------------------------------------------------*/

static void wake_sleepers(int64_t wanted) {
    if (__atomic_load_n(&pool.sleepers, __ATOMIC_SEQ_CST) == 0) return;
    mica_mutex_lock(&pool.mutex);
    int32_t sleepers = __atomic_load_n(&pool.sleepers, __ATOMIC_RELAXED);
    if (wanted >= sleepers)
        mica_condition_broadcast(&pool.wake);
    else
        for (int64_t i = 0; i < wanted; i++) mica_condition_signal(&pool.wake);
    mica_mutex_unlock(&pool.mutex);
}

static bool is_empty(void) {
    return (__atomic_load_n(&pool.gate, __ATOMIC_ACQUIRE) & INSIDE_MASK) == 0;
}

static void close_gate(void) {
    uint64_t gate = __atomic_and_fetch(&pool.gate, ~OPEN, __ATOMIC_ACQ_REL);
    if ((gate & INSIDE_MASK) == 0) return;
    for (int i = 0; i < SPINS; i++) {
        if (is_empty()) return;
        relax();
    }
    gate = __atomic_fetch_or(&pool.gate, CALLER_SLEEPS, __ATOMIC_ACQ_REL);
    if ((gate & INSIDE_MASK) == 0) return;
    mica_mutex_lock(&pool.mutex);
    while (!is_empty()) mica_condition_wait(&pool.left, &pool.mutex);
    mica_mutex_unlock(&pool.mutex);
}

static void run_job(int64_t n_pieces, int64_t n_shares, int64_t n, int64_t grain,
                    void (*body)(void *, int64_t, int64_t), void *context) {
    pool.body = body;
    pool.context = context;
    pool.n = n;
    pool.grain = grain;
    pool.n_pieces = n_pieces;
    pool.n_shares = n_shares;
    pool.is_left = false;
    for (int64_t i = 0; i < n_shares; i++)
        __atomic_store_n(&pool.shares[i].taken, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&pool.processor, mica_processor(), __ATOMIC_RELAXED);
    uint64_t job = (__atomic_load_n(&pool.gate, __ATOMIC_RELAXED) >> JOB_SHIFT) + 1;
    __atomic_store_n(&pool.gate, job << JOB_SHIFT | OPEN, __ATOMIC_SEQ_CST);
    wake_sleepers(n_pieces - 1);
    take_pieces(0);
    close_gate();
}

static void run_parallel(int64_t n, int64_t grain, bool walks,
                         void (*body)(void *, int64_t, int64_t), void *context) {
    if (n <= 0) return;
    if (grain < 1) grain = 1;
    while ((n - 1) / grain >= MOST_PIECES) grain *= 2;
    int64_t n_pieces = (n - 1) / grain + 1, n_shares = 1;
    if (n_pieces == 1 || inside_body || mica_pool_threads() == 1 || mica_fork_happened() ||
        !try_take()) {
        run_inline(n_pieces, n, grain, body, context);
        return;
    }
    start_workers(mica_pool_threads() - 1);
    if (walks) n_shares = (int64_t)pool.n_workers + 1;
    if (n_shares > MOST_SHARES) n_shares = MOST_SHARES;
    if (n_shares > n_pieces) n_shares = n_pieces;
    if (pool.n_workers > 0)
        run_job(n_pieces, n_shares, n, grain, body, context);
    else
        run_inline(n_pieces, n, grain, body, context);
    give_back();
}

void mica_parallel_for(int64_t n, int64_t grain,
                       void (*body)(void *context, int64_t begin, int64_t end), void *context) {
    run_parallel(n, grain, false, body, context);
}

void mica_parallel_walk(int64_t n, int64_t grain,
                        void (*body)(void *context, int64_t begin, int64_t end), void *context) {
    run_parallel(n, grain, true, body, context);
}

/* ---- settings ---------------------------------------------------------------------------------*/

static int32_t look_up_threads(void) {
    int32_t n = __atomic_load_n(&pool.asked, __ATOMIC_RELAXED);
    if (n > 0) return n;
    const char *text = mica_environment("MICA_THREADS");
    if (text) {
        char *end;
        long value = strtol(text, &end, 10);
        if (end != text && !*end && value > 0)
            return value < MOST_THREADS ? (int32_t)value : MOST_THREADS;
    }
    n = mica_machine_threads();
    return n < MOST_THREADS ? n : MOST_THREADS;
}

int32_t mica_pool_threads(void) {
    int32_t n = __atomic_load_n(&pool.resolved, __ATOMIC_RELAXED);
    if (n) return n;
    n = look_up_threads();
    __atomic_store_n(&pool.resolved, n, __ATOMIC_RELAXED);
    return n;
}

mica_status mica_pool_set_threads(int32_t n) {
    if (n < 0 || n > MOST_THREADS)
        return MICA_ERROR(MICA_INVALID_ARGUMENT, "[set_threads] %d is not between 0 and %d", n,
                          MOST_THREADS);
    if (inside_body)
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[set_threads] called from inside a parallel computation");
    take();
    stop_workers();
    __atomic_store_n(&pool.asked, n, __ATOMIC_RELAXED);
    __atomic_store_n(&pool.resolved, 0, __ATOMIC_RELAXED);
    give_back();
    return NULL;
}

void mica_pool_shutdown(void) {
    if (inside_body) return;
    take();
    stop_workers();
    __atomic_store_n(&pool.resolved, 0, __ATOMIC_RELAXED);
    give_back();
}
