#include "runtime/event.h"

#include "runtime/buffer.h"

mica_status mica_event_create(mica_device *device, mica_event **out_event) {
    mica_event *event = *out_event = mica_calloc(1, sizeof *event);
    if (!event) return MICA_NO_MEMORY();
    mica_refcount_init(&event->references);
    mica_device_retain(device);
    event->device = device;
    return NULL;
}

void mica_event_finish(mica_event *event, mica_status status, double seconds) {
    mica_mutex_lock(&event->lock);
    event->status = mica_status_share(status);
    event->seconds = seconds;
    __atomic_store_n(&event->done, 1, __ATOMIC_RELEASE);
    mica_condition_broadcast(&event->ended);
    mica_mutex_unlock(&event->lock);
}

bool mica_event_is_done(const mica_event *event) {
    return __atomic_load_n(&event->done, __ATOMIC_ACQUIRE) != 0;
}

/* The caller owns the stream that the event's run waits on: serve it. */
static mica_status wait_while_serving(mica_event *event, mica_stream *stream) {
    while (!mica_event_is_done(event))
        if (!mica_stream_step(stream))
            return MICA_ERROR(MICA_FAILED_PRECONDITION,
                              "[wait] a callback waits for the run that called it");
    return mica_status_share(event->status);
}

/* Where runs are computed by the thread that issues them, the one that waits need not wait for
 * another to wake up: it serves the queue as far as the event, unless the stream's thread does. */
static void serve_until_done(mica_event *event, mica_stream *stream) {
    if (!event->device->vtable->synchronous || !mica_stream_take_over(stream)) return;
    while (!mica_event_is_done(event) && mica_stream_step(stream)) {
    }
    mica_stream_disown(stream);
}

mica_status mica_event_wait(mica_event *event) {
    if (mica_event_is_done(event)) return mica_status_share(event->status);
    MICA_TRY(mica_check_process("wait"));
    mica_stream *stream = &event->device->runtime->stream;
    if (mica_stream_is_mine(stream)) return wait_while_serving(event, stream);
    serve_until_done(event, stream);
    mica_mutex_lock(&event->lock);
    while (!mica_event_is_done(event)) mica_condition_wait(&event->ended, &event->lock);
    mica_mutex_unlock(&event->lock);
    return mica_status_share(event->status);
}

double mica_event_seconds(const mica_event *event) {
    return mica_event_is_done(event) ? event->seconds : 0;
}

void mica_event_retain(mica_event *event) {
    mica_refcount_retain(&event->references);
}

void mica_event_release(mica_event *event) {
    if (!event || !mica_refcount_release(&event->references)) return;
    mica_device *device = event->device;
    mica_status_release(event->status);
    mica_free(event);
    mica_device_release(device);
}
