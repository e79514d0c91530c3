/* runtime/tensor.h: a type, a buffer, and when the data will be there.
 *
 * Where the host cannot address the memory, a small tensor has a host side: a copy of
 * what it was made from, or of what was first read of it. Data does not change but through views
 * that write, which drop the copy. So whoever needs sizes, axes or indices waits for no device. */
#ifndef MICA_RUNTIME_TENSOR_H
#define MICA_RUNTIME_TENSOR_H

#include "runtime/buffer.h"
#include "runtime/event.h"

struct mica_tensor {
    mica_refcount references;
    int32_t views;       /* atomic; open host views */
    int32_t consumed;    /* atomic; its memory was given to a run */
    mica_device *device; /* retained */
    mica_buffer *buffer; /* NULL once a run that consumed it has ended */
    mica_event *ready; /* atomic; NULL: the data is there. Else retained; changed under the lock. Of
                          a consumed tensor: the run that lost it */
    bool bools_written; /* atomic; by a view that is open: they are checked when the last closes */
    void *staging;      /* a view's copy on the host; under the lock */
    bool staging_written;
    void *host_side; /* what it holds, or NULL; under the lock */
    size_t bytes;
    mica_type type;
    mica_tensor *next; /* in the device's list of free ones */
};

/* A tensor on given memory; takes the buffer's reference when it succeeds. */
MICA_MUST_CHECK mica_status mica_tensor_create_on(mica_buffer *buffer, const mica_type *type,
                                                  mica_tensor **out_tensor);
/* With the device's lock held: a cached struct, or NULL; its fields are stale. And back again. */
mica_tensor *mica_tensor_take(mica_device *device);
void mica_tensor_give(mica_device *device, mica_tensor *tensor);
void mica_tensors_trim(mica_device *device);

/* A consumed tensor whose run failed: reading it answers the event's status. */
void mica_tensor_lose(mica_tensor *tensor, mica_event *event);
/* FAILED_PRECONDITION when consumed, the run's failure when lost. */
MICA_MUST_CHECK mica_status mica_tensor_check(const mica_tensor *tensor, const char *where);
/* The event the data waits for, retained, or NULL when it is there. */
mica_event *mica_tensor_pending(mica_tensor *tensor);
/* Waits for the data. */
MICA_MUST_CHECK mica_status mica_tensor_wait(mica_tensor *tensor);

#endif
