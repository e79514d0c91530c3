#include "runtime/stream.h"

#include "runtime/executable.h"

enum {
    MOST_IN_FLIGHT = 4,
    MOST_OWNED = 16, /* streams one thread may own at once, through callbacks within callbacks */
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
    int32_t nobody = 0;
    if (n_mine == MOST_OWNED || !__atomic_compare_exchange_n(&stream->owned, &nobody, 1, false,
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

/* ---- the queue --------------------------------------------------------------------------------*/

static mica_run *dequeue(mica_stream *stream) {
    if (__atomic_load_n(&stream->queued, __ATOMIC_SEQ_CST) == 0) return NULL;
    mica_mutex_lock(&stream->lock);
    mica_run *run = stream->first;
    if (run) {
        stream->first = run->next;
        if (!stream->first) stream->last = NULL;
        run->next = NULL;
        __atomic_fetch_sub(&stream->queued, 1, __ATOMIC_SEQ_CST);
    }
    mica_mutex_unlock(&stream->lock);
    return run;
}

bool mica_stream_step(mica_stream *stream) {
    mica_run *run = stream->n_in_flight < MOST_IN_FLIGHT ? dequeue(stream) : NULL;
    if (run) {
        if (mica_run_issue(run)) {
            if (stream->flight_last)
                stream->flight_last->next = run;
            else
                stream->flight_first = run;
            stream->flight_last = run;
            stream->n_in_flight++;
        }
        return true;
    }
    run = stream->flight_first;
    if (!run) return false;
    stream->flight_first = run->next;
    if (!stream->flight_first) stream->flight_last = NULL;
    stream->n_in_flight--;
    run->next = NULL;
    mica_run_finish(run);
    return true;
}

static void serve(void *context) {
    mica_stream *stream = context;
    mica_mutex_lock(&stream->lock);
    for (;;) {
        if (stream->first && own(stream)) {
            mica_mutex_unlock(&stream->lock);
            while (mica_stream_step(stream)) {
            }
            mica_stream_disown(stream);
            mica_mutex_lock(&stream->lock);
            continue;
        }
        if (stream->stop && !stream->first) break;
        mica_condition_wait(&stream->changed, &stream->lock);
    }
    mica_mutex_unlock(&stream->lock);
}

mica_status mica_stream_enqueue(mica_stream *stream, mica_run *run) {
    mica_status status = NULL;
    mica_mutex_lock(&stream->lock);
    if (!stream->thread) {
        status = mica_thread_start(serve, stream, "mica-stream", &stream->thread);
        if (!status) mica_device_retain(stream->device); /* until the thread is joined */
    }
    if (!status) {
        if (stream->last)
            stream->last->next = run;
        else
            stream->first = run;
        stream->last = run;
        __atomic_fetch_add(&stream->queued, 1, __ATOMIC_SEQ_CST);
        mica_condition_broadcast(&stream->changed);
    }
    mica_mutex_unlock(&stream->lock);
    return status;
}

void mica_stream_drain(mica_stream *stream) {
    if (mica_stream_is_mine(stream)) {
        while (mica_stream_step(stream)) {
        }
        return;
    }
    __atomic_fetch_add(&stream->waiters, 1, __ATOMIC_SEQ_CST);
    mica_mutex_lock(&stream->lock);
    while (__atomic_load_n(&stream->queued, __ATOMIC_SEQ_CST) ||
           __atomic_load_n(&stream->owned, __ATOMIC_SEQ_CST))
        mica_condition_wait(&stream->changed, &stream->lock);
    mica_mutex_unlock(&stream->lock);
    __atomic_fetch_sub(&stream->waiters, 1, __ATOMIC_SEQ_CST);
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
