#include "runtime/background.h"

#include "base/log.h"
#include "base/platform.h"

typedef struct job {
    struct job *next;
    mica_executable *executable; /* retained */
} job;

static struct {
    mica_mutex lock;
    mica_condition changed;
    mica_thread *thread;
    job *first, *last;
    bool stops;
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
    }
    mica_mutex_unlock(&background.lock);
    return j;
}

static void work(void *context) {
    (void)context;
    for (job *j; (j = wait_for_job());) {
        mica_status status = mica_executable_compile_second(j->executable);
        if (status)
            mica_log_write(MICA_LOG_PASS, "'%s' stays on built-in kernels: %s",
                           j->executable->first.graph->name, mica_status_message(status));
        mica_status_release(status);
        drop(j);
    }
}

/* Failing to start is no error: the executable goes on with what it has. */
void mica_background_submit(mica_executable *exe) {
    job *j = mica_calloc(1, sizeof *j);
    if (!j) return;
    mica_executable_retain(exe);
    j->executable = exe;
    mica_mutex_lock(&background.lock);
    mica_status status = NULL;
    if (!background.thread && !background.stops)
        status = mica_thread_start(work, NULL, "mica-compile", &background.thread);
    bool takes = !status && !background.stops;
    if (takes) {
        *(background.last ? &background.last->next : &background.first) = j;
        background.last = j;
        mica_condition_signal(&background.changed);
    }
    mica_mutex_unlock(&background.lock);
    mica_status_release(status);
    if (!takes) drop(j);
}

void mica_background_stop(void) {
    mica_mutex_lock(&background.lock);
    mica_thread *thread = background.thread;
    job *j = background.first;
    background.first = background.last = NULL;
    background.stops = true;
    mica_condition_broadcast(&background.changed);
    mica_mutex_unlock(&background.lock);
    for (job *next; j; j = next) {
        next = j->next;
        drop(j);
    }
    mica_thread_join(thread);
    mica_mutex_lock(&background.lock);
    background.thread = NULL;
    background.stops = false;
    mica_mutex_unlock(&background.lock);
}
