/* Work of pipelines that runs side by side: a pool of threads, one for the process.
 *
 * A stage makes jobs and submits them; a thread of the pool or the one that waits for a job takes
 * it, whichever comes first. So who waits for a job waits only for a thread that is inside it: the
 * stages of a pipeline, and pipelines inside the functions of others, share one pool and cannot
 * lock each other out, and without any thread (none could be started, the library shuts down, the
 * process was forked) everything is computed by the one that asks.
 *
 * A job owns all that it works on. An iterator that is released leaves its jobs: those that have
 * not begun are never run, the others are freed by the thread inside them. Nobody waits. */
#include "base/interrupt.h"
#include "base/pool.h"
#include "base/shutdown.h"
#include "data/data.h"

#define SLICE 0.1 /* seconds between two questions whether to go on waiting */
enum { OPEN, TAKEN, DONE };
enum { MOST_THREADS = 64 };

static struct {
    mica_mutex lock; /* no other is taken while it is held */
    mica_condition changed;
    mica_data_job *first, *last; /* each retained */
    mica_thread *threads[MOST_THREADS];
    int32_t n_threads, n_idle, n_queued;
    bool stops;
} pool;

/* ---- boards -----------------------------------------------------------------------------------*/

mica_data_board *mica_data_board_create(void) {
    mica_data_board *board = mica_calloc(1, sizeof *board);
    if (board) mica_refcount_init(&board->references);
    return board;
}

void mica_data_board_release(mica_data_board *board) {
    if (board && mica_refcount_release(&board->references)) mica_free(board);
}

/* ---- jobs -------------------------------------------------------------------------------------*/

mica_data_job *mica_data_job_create(mica_data_board *board, size_t bytes,
                                    void (*run)(mica_data_job *job),
                                    void (*destroy)(mica_data_job *job)) {
    mica_data_job *job = mica_calloc(1, bytes);
    if (!job) return NULL;
    mica_refcount_init(&job->references);
    mica_refcount_retain(&board->references);
    job->board = board;
    __atomic_fetch_add(&board->n_open, 1, __ATOMIC_RELAXED);
    job->run = run;
    job->destroy = destroy;
    return job;
}

static void release(mica_data_job *job) {
    if (!mica_refcount_release(&job->references)) return;
    mica_data_board *board = job->board;
    job->destroy(job);
    mica_data_board_release(board);
}

static bool take(mica_data_job *job) {
    int32_t open = OPEN;
    return __atomic_compare_exchange_n(&job->phase, &open, TAKEN, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

static void end(mica_data_job *job) {
    mica_data_board *board = job->board;
    mica_mutex_lock(&board->lock);
    __atomic_store_n(&job->phase, DONE, __ATOMIC_RELEASE);
    __atomic_fetch_sub(&board->n_open, 1, __ATOMIC_RELAXED);
    mica_condition_broadcast(&board->changed);
    mica_mutex_unlock(&board->lock);
}

static void run(mica_data_job *job) {
    job->run(job);
    end(job);
}

bool mica_data_job_is_done(const mica_data_job *job) {
    return __atomic_load_n(&job->phase, __ATOMIC_ACQUIRE) == DONE;
}

void mica_data_job_leave(mica_data_job *job) {
    if (!job) return;
    if (take(job)) end(job); /* no thread runs it any more */
    release(job);
}

/* ---- threads ----------------------------------------------------------------------------------*/

static mica_data_job *next_job(void) {
    mica_mutex_lock(&pool.lock);
    pool.n_idle++;
    while (!pool.first && !pool.stops) mica_condition_wait(&pool.changed, &pool.lock);
    pool.n_idle--;
    mica_data_job *job = pool.stops ? NULL : pool.first;
    if (job) {
        pool.first = job->queued;
        if (!pool.first) pool.last = NULL;
        pool.n_queued--;
    }
    mica_mutex_unlock(&pool.lock);
    return job;
}

static void work(void *context) {
    (void)context;
    for (mica_data_job *job; (job = next_job());) {
        if (take(job)) run(job);
        release(job);
    }
}

/* Ends the threads; jobs that were not begun are left to the waiters. */
static void stop(void) {
    if (mica_fork_happened()) return; /* the threads are not in a child */
    mica_prefetch_wait_for_left();    /* those threads submit jobs too */
    mica_mutex_lock(&pool.lock);
    pool.stops = true;
    mica_data_job *left = pool.first;
    pool.first = pool.last = NULL;
    pool.n_queued = 0;
    int32_t n = pool.n_threads;
    mica_condition_broadcast(&pool.changed);
    mica_mutex_unlock(&pool.lock);
    for (int32_t i = 0; i < n; i++) mica_thread_join(pool.threads[i]);
    for (mica_data_job *next; left; left = next) {
        next = left->queued;
        release(left);
    }
    mica_mutex_lock(&pool.lock);
    pool.n_threads = 0;
    pool.stops = false;
    mica_mutex_unlock(&pool.lock);
}

int32_t mica_data_job_width(int64_t asked) {
    int32_t most = mica_pool_threads();
    if (most > MOST_THREADS) most = MOST_THREADS;
    return asked < 1 || asked > most ? most : (int32_t)asked;
}

void mica_data_job_submit(mica_data_job *job) {
    int32_t most = mica_data_job_width(-1);
    if (mica_fork_happened()) return;
    mica_fork_watch();
    mica_shutdown_first(stop);
    mica_refcount_retain(&job->references);
    mica_mutex_lock(&pool.lock);
    bool queued = !pool.stops;
    if (queued) {
        job->queued = NULL;
        *(pool.last ? &pool.last->queued : &pool.first) = job;
        pool.last = job;
        pool.n_queued++;
        if (pool.n_queued > pool.n_idle && pool.n_threads < most) {
            mica_status status =
                mica_thread_start(work, NULL, "mica-data", &pool.threads[pool.n_threads]);
            if (!status) pool.n_threads++;
            mica_status_release(status); /* then others compute it */
        }
        mica_condition_signal(&pool.changed);
    }
    mica_mutex_unlock(&pool.lock);
    if (!queued) release(job);
}

/* ---- waiting ----------------------------------------------------------------------------------*/

static mica_status forked(void) {
    return MICA_ERROR(MICA_FAILED_PRECONDITION,
                      "[Dataset] the process was forked, and the threads that make elements stayed "
                      "in the parent: start a new process instead");
}

static int64_t find_done(mica_data_job *const *jobs, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (mica_data_job_is_done(jobs[i])) return i;
    return -1;
}

mica_status mica_data_job_wait_any(mica_data_job *const *jobs, int64_t n, int64_t *out_which) {
    mica_data_board *board = jobs[0]->board;
    *out_which = find_done(jobs, n);
    for (int64_t i = 0; *out_which < 0 && i < n; i++)
        if (take(jobs[i])) {
            run(jobs[i]);
            *out_which = i;
        }
    if (*out_which >= 0) return NULL;
    if (mica_fork_happened()) return forked();
    mica_status status = NULL;
    bool is_checked = mica_interrupt_is_checked();
    mica_mutex_lock(&board->lock);
    while (!status && (*out_which = find_done(jobs, n)) < 0) {
        if (!is_checked)
            mica_condition_wait(&board->changed, &board->lock);
        else if (!mica_condition_wait_for(&board->changed, &board->lock, SLICE) &&
                 mica_interrupt_poll())
            status = mica_interrupt_status();
    }
    mica_mutex_unlock(&board->lock);
    return status;
}

mica_status mica_data_job_wait(mica_data_job *job) {
    int64_t which;
    return mica_data_job_wait_any(&job, 1, &which);
}
