/* runtime/event.h: the end of a run, to wait for. */
#ifndef MICA_RUNTIME_EVENT_H
#define MICA_RUNTIME_EVENT_H

#include "base/platform.h"
#include "runtime/device.h"
#include "runtime/stream.h"

struct mica_event {
    mica_refcount references;
    int32_t done;        /* atomic */
    int32_t cancel;      /* atomic: who waited does not want it any more */
    int32_t issued;      /* atomic: later commands on the same stream see its results */
    mica_device *device; /* retained */
    mica_status status;  /* set before done */
    double seconds;
    mica_mutex lock;
    mica_condition ended;
};

MICA_MUST_CHECK mica_status mica_event_create(mica_device *device, mica_event **out_event);
static inline bool mica_event_has_ended(const mica_event *event) {
    return __atomic_load_n(&event->done, __ATOMIC_ACQUIRE) != 0;
}
/* Ends it; shares the status. */
void mica_event_finish(mica_event *event, mica_status status, double seconds);

#endif
