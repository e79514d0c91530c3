#include "runtime/event.h"

#include "base/interrupt.h"
#include "runtime/buffer.h"

#define SLICE 0.1  /* seconds between two questions whether to go on waiting */
#define MOMENT 0.5 /* seconds for a run to notice that it is not wanted */

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
    if (!event) return false;
    if (mica_event_has_ended(event)) return true;
    if (event->device->vtable->synchronous || mica_fork_happened()) return false;
    while (!mica_event_has_ended(event) &&
           mica_stream_reap(&event->device->runtime->stream, false)) {
    }
    return mica_event_has_ended(event);
}

static mica_status knotted(void) {
    return MICA_ERROR(MICA_FAILED_PRECONDITION,
                      "[wait] a callback waits for the run that called it");
}

/* The caller owns the stream that the event's run waits on: serve it. */
static mica_status wait_while_serving(mica_event *event, mica_stream *stream) {
    while (!mica_event_has_ended(event))
        if (!mica_stream_step(stream)) return knotted();
    return mica_status_share(event->status);
}

/* Where runs are computed by the thread that issues them, the one that waits need not wait for
 * another to wake up: it serves the queue as far as the event, unless the stream's thread does. */
static void serve_until_done(mica_event *event, mica_stream *stream) {
    if (!mica_stream_take_over(stream)) return;
    while (!mica_event_has_ended(event) && mica_stream_step(stream)) {
    }
    mica_stream_disown(stream);
}

/* Another thread computes. Who is interrupted asks it to stop and gives it a moment, but does not
 * wait for what cannot be left, or for the runs before it. */
static mica_status wait_for_another(mica_event *event) {
    bool is_checked = mica_interrupt_is_checked(), is_interrupted = false;
    mica_mutex_lock(&event->lock);
    while (!mica_event_has_ended(event) && !is_interrupted) {
        if (!is_checked) {
            mica_condition_wait(&event->ended, &event->lock);
            continue;
        }
        if (mica_condition_wait_for(&event->ended, &event->lock, SLICE)) continue;
        mica_mutex_unlock(&event->lock);
        is_interrupted = mica_interrupt_poll();
        if (is_interrupted) __atomic_store_n(&event->cancel, 1, __ATOMIC_RELAXED);
        mica_mutex_lock(&event->lock);
    }
    if (is_interrupted && !mica_event_has_ended(event))
        (void)mica_condition_wait_for(&event->ended, &event->lock, MOMENT);
    mica_mutex_unlock(&event->lock);
    return is_interrupted ? mica_interrupt_status() : mica_status_share(event->status);
}

mica_status mica_event_wait(mica_event *event) {
    MICA_GIVEN(event);
    if (mica_event_has_ended(event)) return mica_status_share(event->status);
    MICA_TRY(mica_check_process("wait"));
    mica_stream *stream = &event->device->runtime->stream;
    if (!event->device->vtable->synchronous) {
        if (!mica_stream_wait_for_flag(stream, &event->done)) return knotted();
        return mica_status_share(event->status);
    }
    if (mica_stream_is_mine(stream)) return wait_while_serving(event, stream);
    serve_until_done(event, stream);
    return wait_for_another(event);
}

double mica_event_seconds(const mica_event *event) {
    if (!event) return 0;
    return mica_event_has_ended(event) ? event->seconds : 0;
}

void mica_event_retain(mica_event *event) {
    if (!event) return;
    mica_refcount_retain(&event->references);
}

void mica_event_release(mica_event *event) {
    if (!event || !mica_refcount_release(&event->references)) return;
    mica_device *device = event->device;
    mica_status_release(event->status);
    mica_free(event);
    mica_device_release(device);
}
