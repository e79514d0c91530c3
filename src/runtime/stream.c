#include "runtime/stream.h"

#include "runtime/executable.h"

enum {
    FEW_IN_FLIGHT = 4, /* fewer are not looked at without need */
    MOST_OWNED = 16,   /* streams one thread may own at once, through callbacks within callbacks */
};

static _Thread_local mica_stream *mine[MOST_OWNED];
static _Thread_local int32_t n_mine;

void mica_stream_init(mica_stream *stream, mica_device *device) {
    *stream = (mica_stream){.device = device};
}

/* ---- ownership --------------------------------------------------------------------------------*/

bool mica_stream_is_mine(const mica_stream *stream) {
    for (int32_t i = 0; i < n_mine; i++)
        if (mine[i] == stream) return true;
    return false;
}

static bool own(mica_stream *stream) {
    int32_t unowned = 0;
    if (n_mine == MOST_OWNED || !__atomic_compare_exchange_n(&stream->owned, &unowned, 1, false,
                                                             __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return false;
    mine[n_mine++] = stream;
    return true;
}

bool mica_stream_try_own(mica_stream *stream) {
    return __atomic_load_n(&stream->queued, __ATOMIC_SEQ_CST) == 0 && own(stream);
}

bool mica_stream_take_over(mica_stream *stream) {
    return __atomic_load_n(&stream->queued, __ATOMIC_SEQ_CST) > 0 && own(stream);
}

/* The last thing an owner does is to look for those who came meanwhile; they count themselves
 * before they look for an owner. So one of the two sees the other. */
void mica_stream_disown(mica_stream *stream) {
    n_mine--;
    __atomic_store_n(&stream->owned, 0, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&stream->queued, __ATOMIC_SEQ_CST) == 0 &&
        __atomic_load_n(&stream->waiters, __ATOMIC_SEQ_CST) == 0)
        return;
    mica_mutex_lock(&stream->lock);
    mica_condition_broadcast(&stream->changed);
    mica_mutex_unlock(&stream->lock);
}

/* ---- changes ----------------------------------------------------------------------------------*/

/* Who waits counts itself before it looks, under the lock, whether there is something to wait for;
 * who changes something looks for waiters afterwards. So one of the two sees the other. */
static void begin_waiting(mica_stream *stream) {
    __atomic_fetch_add(&stream->waiters, 1, __ATOMIC_SEQ_CST);
    mica_mutex_lock(&stream->lock);
}

static void end_waiting(mica_stream *stream) {
    mica_mutex_unlock(&stream->lock);
    __atomic_fetch_sub(&stream->waiters, 1, __ATOMIC_SEQ_CST);
}

void mica_stream_notify(mica_stream *stream) {
    if (__atomic_load_n(&stream->waiters, __ATOMIC_SEQ_CST) == 0) return;
    mica_mutex_lock(&stream->lock);
    mica_condition_broadcast(&stream->changed);
    mica_mutex_unlock(&stream->lock);
}

static int32_t live(const mica_stream *stream) {
    return __atomic_load_n(&stream->live, __ATOMIC_SEQ_CST);
}

/* ---- lists of runs ----------------------------------------------------------------------------*/

static void append(mica_run_list *list, mica_run *run) {
    run->next = NULL;
    if (list->last)
        list->last->next = run;
    else
        list->first = run;
    list->last = run;
}

static mica_run *remove_first(mica_run_list *list) {
    mica_run *run = list->first;
    if (!run) return NULL;
    list->first = run->next;
    if (!list->first) list->last = NULL;
    run->next = NULL;
    return run;
}

/* ---- the queue --------------------------------------------------------------------------------*/

static mica_run *dequeue(mica_stream *stream) {
    if (__atomic_load_n(&stream->queued, __ATOMIC_SEQ_CST) == 0) return NULL;
    mica_mutex_lock(&stream->lock);
    mica_run *run = remove_first(&stream->queue);
    if (run) __atomic_fetch_sub(&stream->queued, 1, __ATOMIC_SEQ_CST);
    mica_mutex_unlock(&stream->lock);
    return run;
}

bool mica_stream_step(mica_stream *stream) {
    mica_run *run = dequeue(stream);
    if (!run) return false;
    if (!stream->device->vtable->synchronous && stream->depth == 0) mica_stream_make_room(stream);
    mica_run_issue(run);
    return true;
}

/* The lock is held; it is let go on the way. false: there is nothing to do. */
static bool serve_once(mica_stream *stream) {
    if (stream->queue.first && own(stream)) {
        mica_mutex_unlock(&stream->lock);
        while (mica_stream_step(stream)) {
        }
        mica_stream_disown(stream);
        mica_mutex_lock(&stream->lock);
        return true;
    }
    mica_run *run = remove_first(&stream->ended);
    if (run) {
        mica_mutex_unlock(&stream->lock);
        mica_run_call_back(run);
        mica_mutex_lock(&stream->lock);
        stream->n_callbacks--;
        mica_condition_broadcast(&stream->changed);
        return true;
    }
    if (!stream->n_callbacks || !stream->flight.first || stream->reaping) return false;
    mica_mutex_unlock(&stream->lock);
    mica_stream_reap(stream, true);
    mica_mutex_lock(&stream->lock);
    return true;
}

static _Thread_local mica_stream *served; /* by this thread */

static void serve(void *context) {
    mica_stream *stream = context;
    served = stream;
    mica_mutex_lock(&stream->lock);
    for (;;) {
        if (serve_once(stream)) continue;
        if (stream->stop && !stream->queue.first && !stream->n_callbacks) break;
        mica_condition_wait(&stream->changed, &stream->lock);
    }
    mica_mutex_unlock(&stream->lock);
}

/* The lock is held. */
static mica_status start_thread(mica_stream *stream) {
    if (stream->thread) return NULL;
    MICA_TRY(mica_thread_start(serve, stream, "mica-stream", &stream->thread));
    mica_device_retain(stream->device); /* until the thread is joined */
    return NULL;
}

mica_status mica_stream_start_thread(mica_stream *stream) {
    mica_mutex_lock(&stream->lock);
    mica_status status = start_thread(stream);
    mica_mutex_unlock(&stream->lock);
    return status;
}

mica_status mica_stream_enqueue(mica_stream *stream, mica_run *run) {
    mica_mutex_lock(&stream->lock);
    mica_status status = start_thread(stream);
    if (!status) {
        append(&stream->queue, run);
        __atomic_fetch_add(&stream->queued, 1, __ATOMIC_SEQ_CST);
        mica_condition_broadcast(&stream->changed);
    }
    mica_mutex_unlock(&stream->lock);
    return status;
}

/* ---- in flight --------------------------------------------------------------------------------*/

void mica_stream_take_ticket(mica_stream *stream, mica_run *run) {
    mica_mutex_lock(&stream->lock);
    run->ticket = ++stream->issued;
    stream->issuing = run;
    mica_mutex_unlock(&stream->lock);
}

void mica_stream_launch(mica_stream *stream, mica_run *run) {
    mica_mutex_lock(&stream->lock);
    stream->issuing = NULL;
    append(&stream->flight, run);
    if (++stream->n_in_flight > stream->most_in_flight)
        stream->most_in_flight = stream->n_in_flight;
    if (run->completed) stream->n_callbacks++;
    if (run->completed || __atomic_load_n(&stream->waiters, __ATOMIC_SEQ_CST))
        mica_condition_broadcast(&stream->changed);
    mica_mutex_unlock(&stream->lock);
}

bool mica_stream_reap(mica_stream *stream, bool waits) {
    const mica_device_vtable *vtable = stream->device->vtable;
    mica_mutex_lock(&stream->lock);
    mica_run *run = stream->flight.first;
    if (!run || stream->reaping || (!waits && !vtable->event_is_done(run->device_event))) {
        mica_mutex_unlock(&stream->lock);
        return false;
    }
    stream->reaping = true;
    mica_mutex_unlock(&stream->lock);
    mica_status status = mica_run_wait(run);
    mica_mutex_lock(&stream->lock);
    remove_first(&stream->flight);
    stream->n_in_flight--;
    stream->reaping = false;
    __atomic_store_n(&stream->done, run->ticket, __ATOMIC_RELEASE);
    if (__atomic_load_n(&stream->waiters, __ATOMIC_SEQ_CST))
        mica_condition_broadcast(&stream->changed);
    mica_mutex_unlock(&stream->lock);
    mica_run_end(run, status);
    return true;
}

void mica_stream_make_room(mica_stream *stream) {
    for (;;) {
        mica_mutex_lock(&stream->lock);
        int32_t n = stream->n_in_flight;
        mica_mutex_unlock(&stream->lock);
        /* What is done goes by the way; two for one that comes, so that they become fewer. */
        for (int32_t i = 0; i < 2 && n >= FEW_IN_FLIGHT; i++)
            if (!mica_stream_reap(stream, false)) break;
        if (n < MICA_MOST_IN_FLIGHT) return;
        if (mica_stream_reap(stream, true)) continue;
        begin_waiting(stream);
        if (stream->n_in_flight >= MICA_MOST_IN_FLIGHT && stream->reaping)
            mica_condition_wait(&stream->changed, &stream->lock);
        end_waiting(stream);
    }
}

void mica_stream_call_back(mica_stream *stream, mica_run *run) {
    mica_mutex_lock(&stream->lock);
    if (!run->ticket) stream->n_callbacks++; /* else it is counted since it is in flight */
    append(&stream->ended, run);
    mica_condition_broadcast(&stream->changed);
    mica_mutex_unlock(&stream->lock);
}

void mica_stream_wait_for_ticket(mica_stream *stream, uint64_t ticket) {
    bool is_mine = mica_stream_is_mine(stream);
    while (!mica_stream_is_done(stream, ticket)) {
        if (mica_stream_reap(stream, true)) continue;
        begin_waiting(stream);
        mica_run *run = stream->issuing;
        bool is_last = is_mine && run && run->ticket == ticket && !stream->flight.first;
        if (!is_last && (run || stream->reaping) && !mica_stream_is_done(stream, ticket))
            mica_condition_wait(&stream->changed, &stream->lock);
        end_waiting(stream);
        /* The owner frees memory before its run is in flight. The end will be seen once more. */
        if (is_last) {
            mica_status_release(stream->device->vtable->event_wait(run->device_event));
            return;
        }
    }
}

/* Issues what is queued, unless somebody does; then ends the oldest in flight. */
static bool help(mica_stream *stream, bool is_mine) {
    if (is_mine && mica_stream_step(stream)) return true;
    if (!is_mine && mica_stream_take_over(stream)) {
        bool stepped = mica_stream_step(stream);
        mica_stream_disown(stream);
        if (stepped) return true;
    }
    return mica_stream_reap(stream, true);
}

/* The lock is held: `help` would find something. */
static bool can_help(const mica_stream *stream, bool is_mine) {
    return (stream->queue.first &&
            (is_mine || !__atomic_load_n(&stream->owned, __ATOMIC_SEQ_CST))) ||
           (stream->flight.first && !stream->reaping);
}

bool mica_stream_wait_for_flag(mica_stream *stream, const int32_t *flag) {
    bool is_mine = mica_stream_is_mine(stream), knotted = false;
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE) && !knotted) {
        if (help(stream, is_mine)) continue;
        begin_waiting(stream);
        if (!__atomic_load_n(flag, __ATOMIC_ACQUIRE) && !can_help(stream, is_mine)) {
            knotted = is_mine && live(stream) <= stream->depth;
            if (!knotted) mica_condition_wait(&stream->changed, &stream->lock);
        }
        end_waiting(stream);
    }
    return !knotted;
}

static void drain_beside(mica_stream *stream) {
    bool is_mine = mica_stream_is_mine(stream), done = false;
    while (!done) {
        if (help(stream, is_mine)) continue;
        begin_waiting(stream);
        if (is_mine) /* from a callback: all but the runs that called it */
            done = live(stream) <= stream->depth;
        else
            done = live(stream) == 0 && !__atomic_load_n(&stream->owned, __ATOMIC_SEQ_CST) &&
                   (served == stream || !stream->n_callbacks);
        if (!done && !can_help(stream, is_mine))
            mica_condition_wait(&stream->changed, &stream->lock);
        end_waiting(stream);
    }
}

mica_status mica_stream_take_event(mica_stream *stream, mica_device_event **out_event) {
    mica_mutex_lock(&stream->lock);
    *out_event = stream->n_events ? stream->events[--stream->n_events] : NULL;
    mica_mutex_unlock(&stream->lock);
    if (*out_event) return NULL;
    return stream->device->vtable->event_create(stream->device, out_event);
}

void mica_stream_give_event(mica_stream *stream, mica_device_event *event, bool is_clean) {
    mica_mutex_lock(&stream->lock);
    bool kept = is_clean && stream->n_events < MICA_MOST_IN_FLIGHT;
    if (kept) stream->events[stream->n_events++] = event;
    mica_mutex_unlock(&stream->lock);
    if (!kept) stream->device->vtable->event_destroy(event);
}

static void free_events(mica_stream *stream) {
    while (stream->n_events)
        stream->device->vtable->event_destroy(stream->events[--stream->n_events]);
}

/* ---- ending -----------------------------------------------------------------------------------*/

void mica_stream_drain(mica_stream *stream) {
    if (!stream->device->vtable->synchronous) {
        drain_beside(stream);
        return;
    }
    if (mica_stream_is_mine(stream)) {
        while (mica_stream_step(stream)) {
        }
        return;
    }
    begin_waiting(stream);
    while (__atomic_load_n(&stream->queued, __ATOMIC_SEQ_CST) ||
           __atomic_load_n(&stream->owned, __ATOMIC_SEQ_CST))
        mica_condition_wait(&stream->changed, &stream->lock);
    end_waiting(stream);
}

void mica_stream_close(mica_stream *stream) {
    if (stream->handle) stream->device->vtable->stream_destroy(stream->handle);
    stream->handle = NULL;
}

void mica_stream_stop(mica_stream *stream) {
    if (mica_fork_happened() || mica_stream_is_mine(stream)) return;
    mica_stream_drain(stream);
    mica_mutex_lock(&stream->lock);
    mica_thread *thread = stream->thread;
    stream->thread = NULL;
    stream->stop = true;
    mica_condition_broadcast(&stream->changed);
    mica_mutex_unlock(&stream->lock);
    if (thread) mica_thread_join(thread);
    stream->stop = false;
    mica_status_release(mica_stream_clear(stream));
    mica_stream_close(stream);
    free_events(stream);
    if (thread) mica_device_release(stream->device);
}

/* ---- the device's stream and its errors -------------------------------------------------------*/

mica_status mica_stream_handle(mica_stream *stream, mica_device_stream **out_handle) {
    if (!stream->handle)
        MICA_TRY(stream->device->vtable->stream_create(stream->device, &stream->handle));
    *out_handle = stream->handle;
    return NULL;
}

void mica_stream_poison(mica_stream *stream, mica_status error) {
    mica_mutex_lock(&stream->lock);
    if (!stream->error) stream->error = mica_status_share(error);
    __atomic_store_n(&stream->poisoned, 1, __ATOMIC_SEQ_CST);
    mica_mutex_unlock(&stream->lock);
}

mica_status mica_stream_check(mica_stream *stream) {
    if (!__builtin_expect(__atomic_load_n(&stream->poisoned, __ATOMIC_ACQUIRE), 0)) return NULL;
    mica_mutex_lock(&stream->lock);
    mica_status error = mica_status_share(stream->error);
    mica_mutex_unlock(&stream->lock);
    return error;
}

mica_status mica_stream_clear(mica_stream *stream) {
    if (!__atomic_load_n(&stream->poisoned, __ATOMIC_ACQUIRE)) return NULL;
    if (!mica_stream_is_mine(stream)) {
        while (!own(stream)) mica_stream_drain(stream);
        mica_stream_close(stream); /* a failed stream is not used again */
        mica_stream_disown(stream);
    }
    mica_mutex_lock(&stream->lock);
    mica_status error = stream->error;
    stream->error = NULL;
    __atomic_store_n(&stream->poisoned, 0, __ATOMIC_SEQ_CST);
    mica_mutex_unlock(&stream->lock);
    return error;
}
