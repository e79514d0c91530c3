/* runtime/stream.h: where runs wait their turn.
 *
 * A stream has a queue of runs and a host thread, started with the first run that is queued.
 * Whoever issues commands owns the stream: its thread, a caller that runs something small inline
 * while the stream is idle, or one that waits for a run that the thread has not come to. A thread
 * that owns a stream and waits for one of its events (a callback that calls back) serves the queue
 * itself while it waits, so it never waits for itself.
 *
 * On a device that works asynchronously, several runs are in flight: their commands are issued and
 * the thread goes on to the next run before the first has ended.
 *
 * A device error poisons the stream: later runs are refused until mica_device_wait has reported it.
 */
#ifndef MICA_RUNTIME_STREAM_H
#define MICA_RUNTIME_STREAM_H

#include "base/platform.h"
#include "runtime/device.h"

typedef struct mica_run mica_run;

typedef struct mica_stream {
    mica_device *device;
    mica_device_stream *handle; /* the owner's; made when first needed */
    int32_t owned;              /* atomic */
    int32_t queued;             /* atomic; runs in the queue */
    int32_t waiters;            /* atomic; threads that wait for the stream to be idle */
    int32_t poisoned;           /* atomic */
    mica_mutex lock;            /* guards what follows */
    mica_condition changed;
    mica_run *first, *last;
    mica_thread *thread;
    bool stop;
    mica_status error; /* why it is poisoned */
    /* The owner's: */
    mica_run *flight_first, *flight_last;
    int32_t n_in_flight;
    int32_t depth; /* runs being issued, each within a callback of the one before */
} mica_stream;

void mica_stream_init(mica_stream *stream, mica_device *device);
/* Ends what is queued, joins the thread, closes the device's stream. The stream can be used again.
 */
void mica_stream_stop(mica_stream *stream);

/* Makes the caller the owner if the stream is idle. */
bool mica_stream_try_own(mica_stream *stream);
/* Makes the caller the owner if runs are queued and nobody serves them yet. */
bool mica_stream_take_over(mica_stream *stream);
void mica_stream_disown(mica_stream *stream);
/* true when the calling thread is the owner, possibly further up its stack. */
bool mica_stream_is_mine(const mica_stream *stream);
/* Adds a run to the queue; starts the thread. On failure the run was not taken. */
MICA_MUST_CHECK mica_status mica_stream_enqueue(mica_stream *stream, mica_run *run);
/* The owner: issues the next run or ends the oldest in flight; false when there is nothing. */
bool mica_stream_step(mica_stream *stream);
/* Waits until every run given to the stream has ended. */
void mica_stream_drain(mica_stream *stream);

/* The owner: the device's stream, made when first needed. */
MICA_MUST_CHECK mica_status mica_stream_handle(mica_stream *stream,
                                               mica_device_stream **out_handle);
/* The owner: waits for the device's stream and gives it up; the next run makes a new one. */
void mica_stream_close(mica_stream *stream);
void mica_stream_poison(mica_stream *stream, mica_status error); /* shares it */
/* A poisoned stream's error, or NULL. */
MICA_MUST_CHECK mica_status mica_stream_check(mica_stream *stream);
/* Answers the error and clears it. The stream is idle. */
MICA_MUST_CHECK mica_status mica_stream_clear(mica_stream *stream);

#endif
