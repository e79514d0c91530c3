#include "mlc/dispatch.h"

#include "base/shutdown.h"

static struct {
    mica_mutex mutex;
    mica_condition changed; /* a run was queued or ended, or stopping was asked for */
    mica_thread *thread;
    mlc_run *first, **last;
    bool is_stopping;
} dispatcher;

static _Thread_local bool is_dispatcher;
static _Thread_local mlc_run *innermost; /* whose handler runs on this thread */

static mlc_run *take(void) { /* with the mutex held */
    mlc_run *run = dispatcher.first;
    if (!run) return NULL;
    dispatcher.first = run->next;
    if (!dispatcher.first) dispatcher.last = &dispatcher.first;
    return run;
}

/* Without the mutex. */
static void end(mlc_run *run) {
    mlc_graph *graph = run->graph;
    /* Whoever started the run is done with it when the lock is free. */
    mlc_lock();
    mlc_unlock();
    run->outer = innermost;
    innermost = run;
    mica_status status = mlc_run_finish(run);
    innermost = run->outer;
    mlc_graph_retain(graph);
    mlc_run_destroy(run);
    mica_mutex_lock(&dispatcher.mutex);
    graph->pending--;
    if (status && !graph->error) {
        graph->error = status;
        status = NULL;
    }
    mica_condition_broadcast(&dispatcher.changed);
    mica_mutex_unlock(&dispatcher.mutex);
    mica_status_release(status);
    mlc_graph_release(graph);
}

static void serve(void *context) {
    (void)context;
    is_dispatcher = true;
    mica_mutex_lock(&dispatcher.mutex);
    for (;;) {
        mlc_run *run = take();
        if (run) {
            mica_mutex_unlock(&dispatcher.mutex);
            end(run);
            mica_mutex_lock(&dispatcher.mutex);
        } else if (dispatcher.is_stopping) {
            break;
        } else {
            mica_condition_wait(&dispatcher.changed, &dispatcher.mutex);
        }
    }
    mica_mutex_unlock(&dispatcher.mutex);
}

static void stop(void) {
    mica_mutex_lock(&dispatcher.mutex);
    mica_thread *thread = dispatcher.thread;
    dispatcher.thread = NULL;
    dispatcher.is_stopping = thread != NULL;
    mica_condition_broadcast(&dispatcher.changed);
    mica_mutex_unlock(&dispatcher.mutex);
    if (!thread) return;
    mica_thread_join(thread);
    mica_mutex_lock(&dispatcher.mutex);
    dispatcher.is_stopping = false;
    mica_mutex_unlock(&dispatcher.mutex);
}

mica_status mlc_dispatch_expect(mlc_run *run) {
    mica_status status = NULL;
    mica_shutdown_first(stop);
    mica_mutex_lock(&dispatcher.mutex);
    if (!dispatcher.thread) {
        if (!dispatcher.last) dispatcher.last = &dispatcher.first;
        status = mica_thread_start(serve, NULL, "mica mlc", &dispatcher.thread);
    }
    if (!status) run->graph->pending++;
    mica_mutex_unlock(&dispatcher.mutex);
    return status;
}

void mlc_dispatch_forget(mlc_run *run) {
    mica_mutex_lock(&dispatcher.mutex);
    run->graph->pending--;
    mica_condition_broadcast(&dispatcher.changed);
    mica_mutex_unlock(&dispatcher.mutex);
}

void mlc_dispatch_complete(mlc_run *run) {
    mica_mutex_lock(&dispatcher.mutex);
    run->next = NULL;
    *dispatcher.last = run;
    dispatcher.last = &run->next;
    mica_condition_broadcast(&dispatcher.changed);
    mica_mutex_unlock(&dispatcher.mutex);
}

mica_status mlc_dispatch_wait(mlc_graph *graph) {
    int32_t own = 0;
    for (const mlc_run *run = innermost; run; run = run->outer) own += run->graph == graph;
    mica_mutex_lock(&dispatcher.mutex);
    while (graph->pending > own) {
        mlc_run *run = is_dispatcher ? take() : NULL;
        if (run) {
            mica_mutex_unlock(&dispatcher.mutex);
            end(run);
            mica_mutex_lock(&dispatcher.mutex);
        } else {
            mica_condition_wait(&dispatcher.changed, &dispatcher.mutex);
        }
    }
    mica_status status = graph->error;
    graph->error = NULL;
    mica_mutex_unlock(&dispatcher.mutex);
    return status;
}
