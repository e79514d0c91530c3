/* runtime/stream.h: where runs wait their turn.
 *
 * A stream has a queue of runs and a host thread, started when it is first needed. Whoever issues
 * commands owns the stream: its thread, a caller that issues a run by itself, or one that waits for
 * a run that the thread has not come to. A thread that owns a stream and waits for one of its
 * events (a callback that calls back) serves the queue itself while it waits, so it never waits for
 * itself.
 *
 * Devices that compute on the host: a run has ended when it was issued. Small ones are issued by
 * the caller while the stream is idle, others by the thread.
 *
 * Devices that compute beside the host: a run's commands are issued by the caller, unless it would
 * have to wait on the way (for another stream, for a predicate or for a callback: those go through
 * the queue). The run is then in flight, with a ticket: tickets are numbers in the order of issue.
 * Whoever next wants to know something ends those that are done, in that order: a thread that waits
 * for an event or for the device, one that looks for room, one that frees memory. No thread is
 * woken for it, but for runs with a completion callback, which the stream's thread calls. At most
 * MICA_MOST_IN_FLIGHT runs are in flight; who comes then waits for the oldest.
 *
 * A device error poisons the stream: later runs are refused until mica_device_wait has reported it.
 */
#ifndef MICA_RUNTIME_STREAM_H
#define MICA_RUNTIME_STREAM_H

#include "base/platform.h"
#include "runtime/device.h"

typedef struct mica_run mica_run;

enum { MICA_MOST_IN_FLIGHT = 64 };

typedef struct mica_run_list {
    mica_run *first, *last;
} mica_run_list;

typedef struct mica_stream {
    mica_device *device;
    mica_device_stream *handle; /* the owner's; made when first needed */
    int32_t owned;              /* atomic */
    int32_t queued;             /* atomic; runs in the queue */
    int32_t live;               /* atomic; runs beside the host that have not ended */
    int32_t waiters;            /* atomic; threads that wait for a change */
    int32_t poisoned;           /* atomic */
    uint64_t done;              /* atomic; what was issued up to this ticket is done */
    mica_mutex lock;            /* guards what follows */
    mica_condition changed;
    mica_run_list queue;
    mica_run_list flight;                /* issued, in the order of their tickets */
    mica_run_list ended;                 /* done; their callbacks are to be called by the thread */
    uint64_t issued;                     /* the last ticket */
    mica_run *issuing;                   /* has the last ticket, and is not yet in flight */
    int32_t n_in_flight, most_in_flight; /* now, and the highest so far */
    int32_t n_callbacks;                 /* to be called: of runs in flight or ended */
    bool reaping;                        /* a thread waits for the oldest in flight */
    mica_device_event *events[MICA_MOST_IN_FLIGHT]; /* for the next runs */
    int32_t n_events;
    mica_thread *thread;
    bool stop;
    mica_status error; /* why it is poisoned */
    int32_t depth; /* the owner's: runs being issued, each within a callback of the one before */
} mica_stream;

void mica_stream_init(mica_stream *stream, mica_device *device);
/* Ends what is queued, joins the thread, closes the device's stream. The stream can be used again.
 */
void mica_stream_stop(mica_stream *stream);

/* Makes the caller the owner if the stream is idle. */
bool mica_stream_try_own(mica_stream *stream);
/* Makes the caller the owner if runs are queued and have no owner yet. */
bool mica_stream_take_over(mica_stream *stream);
void mica_stream_disown(mica_stream *stream);
/* true when the calling thread is the owner, possibly further up its stack. */
bool mica_stream_is_mine(const mica_stream *stream);
/* Adds a run to the queue; starts the thread. On failure the run was not taken. */
MICA_MUST_CHECK mica_status mica_stream_enqueue(mica_stream *stream, mica_run *run);
/* The owner: issues the next run of the queue; false when it is empty. */
bool mica_stream_step(mica_stream *stream);
/* Waits until every run given to the stream has ended. */
void mica_stream_drain(mica_stream *stream);

/* ---- beside the host ---- */

/* Starts the thread, if there is none. */
MICA_MUST_CHECK mica_status mica_stream_start_thread(mica_stream *stream);
/* The owner: waits until fewer than MICA_MOST_IN_FLIGHT runs are in flight. */
void mica_stream_make_room(mica_stream *stream);
/* The owner: the run's last command was issued. It gets its ticket, and is then put in flight,
 * where any thread may end it. */
void mica_stream_take_ticket(mica_stream *stream, mica_run *run);
void mica_stream_launch(mica_stream *stream, mica_run *run);
/* Ends the oldest run in flight, when it is done or after waiting for it; false when there is none,
 * or another thread waits for it. */
bool mica_stream_reap(mica_stream *stream, bool waits);
/* A run has ended; its callback is the thread's to call. */
void mica_stream_call_back(mica_stream *stream, mica_run *run);
/* Waits until what was issued up to this ticket is done. */
void mica_stream_wait_for_ticket(mica_stream *stream, uint64_t ticket);
/* Waits until the flag is set by a run that ends, serving the stream meanwhile. false: only runs
 * that the caller itself is issuing are left. */
bool mica_stream_wait_for_flag(mica_stream *stream, const int32_t *flag);
/* Wakes threads that wait for a change. */
void mica_stream_notify(mica_stream *stream);
static inline bool mica_stream_is_done(const mica_stream *stream, uint64_t ticket) {
    return ticket <= __atomic_load_n(&stream->done, __ATOMIC_ACQUIRE);
}
/* A device event, from those kept or a new one; and back. */
MICA_MUST_CHECK mica_status mica_stream_take_event(mica_stream *stream,
                                                   mica_device_event **out_event);
void mica_stream_give_event(mica_stream *stream, mica_device_event *event, bool is_clean);

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
