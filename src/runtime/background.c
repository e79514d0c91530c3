#include "runtime/background.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/platform.h"
#include "codegen/toolchain.h"

#define MOST_JOBS 64    /* that wait; an executable that finds no place asks again */
#define MOST_SIZES 64   /* of one program: shapes that go on changing are not compiled for */
#define STRUCTURES 1024 /* programs that are remembered, by hash */

typedef struct job {
    struct job *next;
    mica_executable *executable; /* retained */
} job;

static struct {
    mica_mutex lock;
    mica_condition changed;
    mica_thread *thread;
    job *first, *last;
    int32_t n_jobs;
    bool stops, ends_with_process;
} background;

static void drop(job *j) {
    mica_executable_release(j->executable);
    mica_free(j);
}

static job *wait_for_job(void) {
    mica_mutex_lock(&background.lock);
    while (!background.first && !background.stops)
        mica_condition_wait(&background.changed, &background.lock);
    job *j = background.stops ? NULL : background.first;
    if (j) {
        background.first = j->next;
        if (!background.first) background.last = NULL;
        background.n_jobs--;
    }
    mica_mutex_unlock(&background.lock);
    return j;
}

/* ---- bounds -----------------------------------------------------------------------------------*/

/* The same for programs that differ in sizes only. */
static uint64_t hash_structure(uint64_t hash, const mica_graph *g) {
    hash = mica_hash_u64(hash, (uint64_t)g->n_nodes);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_node *n = g->nodes[i];
        hash = mica_hash_u64(hash, (uint64_t)n->op);
        for (int32_t k = 0; k < n->n_operands; k++)
            hash = mica_hash_u64(hash, (uint64_t)n->operands[k].node->id);
        for (int32_t k = 0; k < n->n_regions; k++) hash = hash_structure(hash, n->regions[k]);
    }
    return hash;
}

/* Counts one more of a program's sizes; of the background thread alone. */
static bool has_too_many_sizes(const mica_graph *g) {
    static struct {
        uint64_t hash;
        int32_t sizes;
    } seen[STRUCTURES];
    uint64_t hash = hash_structure(MICA_HASH_SEED, g);
    if (seen[hash % STRUCTURES].hash != hash) {
        seen[hash % STRUCTURES].hash = hash;
        seen[hash % STRUCTURES].sizes = 0;
    }
    return ++seen[hash % STRUCTURES].sizes > MOST_SIZES;
}

/* ---- the thread -------------------------------------------------------------------------------*/

static void compile(mica_executable *exe) {
    if (mica_refcount_is_one(&exe->references)) return; /* no caller is left to run it */
    mica_status status = NULL;
    if (has_too_many_sizes(exe->first.graph))
        status = MICA_ERROR(MICA_UNSUPPORTED, "%d other sizes were compiled", MOST_SIZES);
    else
        status = mica_executable_compile_second(exe, true);
    if (status)
        mica_log_write(MICA_LOG_PASS, "'%s' stays on built-in kernels: %s", exe->first.graph->name,
                       mica_status_message(status));
    mica_status_release(status);
}

static void work(void *context) {
    (void)context;
    for (job *j; (j = wait_for_job());) {
        compile(j->executable);
        drop(j);
    }
}

/* At exit nothing stays behind: no compiler, no temporary file. */
static void end_with_process(void) {
    if (!mica_fork_happened()) mica_background_stop();
}

static mica_status start(void) {
    if (background.thread) return NULL;
    MICA_TRY(mica_thread_start(work, NULL, "mica-compile", &background.thread));
    if (!background.ends_with_process) background.ends_with_process = !atexit(end_with_process);
    return NULL;
}

/* Failing to start is no error: the executable goes on with what it has. */
void mica_background_submit(mica_executable *exe) {
    job *j = mica_calloc(1, sizeof *j);
    if (!j) return;
    mica_executable_retain(exe);
    j->executable = exe;
    mica_mutex_lock(&background.lock);
    bool is_full = background.n_jobs == MOST_JOBS;
    mica_status status = background.stops || is_full ? NULL : start();
    bool takes = !status && !background.stops && !is_full;
    if (takes) {
        *(background.last ? &background.last->next : &background.first) = j;
        background.last = j;
        background.n_jobs++;
        mica_condition_signal(&background.changed);
    }
    mica_mutex_unlock(&background.lock);
    mica_status_release(status);
    if (is_full) __atomic_store_n(&exe->runs, 0, __ATOMIC_RELAXED);
    if (!takes) drop(j);
}

void mica_background_stop(void) {
    mica_mutex_lock(&background.lock);
    mica_thread *thread = background.thread;
    job *j = background.first;
    background.first = background.last = NULL;
    background.n_jobs = 0;
    background.stops = true;
    mica_condition_broadcast(&background.changed);
    mica_mutex_unlock(&background.lock);
    mica_toolchain_cancel(true);
    for (job *next; j; j = next) {
        next = j->next;
        drop(j);
    }
    mica_thread_join(thread);
    mica_toolchain_cancel(false);
    mica_mutex_lock(&background.lock);
    background.thread = NULL;
    background.stops = false;
    mica_mutex_unlock(&background.lock);
}
