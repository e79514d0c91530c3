/* runtime/buffer.h: reference-counted device memory, and what the runtime keeps per device.
 *
 * A freed buffer goes back to its device's pool, with its struct, into the list of its size class.
 * What is in use and what the pool keeps are together at most as many bytes as were ever in use at
 * once: before new memory is taken, what lay unused for longest goes. When the device runs out of
 * memory the pool is emptied and the allocation tried once more.
 *
 * Memory returns to the pool only when no device command can still touch it: runs hold what they
 * use until their last command is done. So the pool needs no ordering between streams.
 */
#ifndef MICA_RUNTIME_BUFFER_H
#define MICA_RUNTIME_BUFFER_H

#include "base/platform.h"
#include "runtime/device.h"
#include "runtime/stream.h"

typedef struct mica_buffer {
    mica_refcount references;
    int32_t uses;        /* atomic: references that belong to runs which have not ended */
    mica_device *device; /* borrowed: whoever holds the buffer holds the device */
    mica_address address;
    void *host; /* NULL when the host cannot address it */
    size_t bytes;
    int32_t size_class; /* -1: the caller's memory, not the pool's */
    void (*free_data)(void *context);
    void *context;
    struct mica_buffer *next; /* in the pool */
    uint64_t returned;        /* to the pool: larger is later */
} mica_buffer;

enum { MICA_SIZE_CLASSES = 168 };

typedef struct mica_device_runtime {
    mica_device *next; /* of all live devices; the registry's */
    bool is_open;      /* in the registry, which then holds a reference */
    char name[32];     /* it was opened by */

    mica_mutex lock; /* guards what follows, up to the streams */
    mica_buffer *free_buffers[MICA_SIZE_CLASSES];
    size_t cached, in_use, peak;
    uint64_t returns; /* of buffers to the pool, so far */
    mica_tensor *free_tensors;
    int32_t n_free_tensors;
    struct mica_eager_cache *eager;

    mica_stream stream; /* runs */
    mica_mutex transfer_lock;
    mica_device_stream *transfer; /* copies to and from the host; made when first needed */
    mica_device_event *transfer_event;
} mica_device_runtime;

/* At least `bytes` of device memory; of 0 bytes: a small buffer. */
MICA_MUST_CHECK mica_status mica_buffer_create(mica_device *device, size_t bytes,
                                               mica_buffer **out_buffer);
/* The caller's memory, on a device the host can address. On failure free_data is not called. */
MICA_MUST_CHECK mica_status mica_buffer_wrap(mica_device *device, void *data, size_t bytes,
                                             void (*free_data)(void *), void *context,
                                             mica_buffer **out_buffer);
void mica_buffer_retain(mica_buffer *buffer);
void mica_buffer_release(mica_buffer *buffer); /* NULL is allowed */

/* References held by a run: they do not keep another run of the same stream from overwriting. */
static inline void mica_buffer_use(mica_buffer *buffer) {
    mica_refcount_retain(&buffer->references);
    __atomic_fetch_add(&buffer->uses, 1, __ATOMIC_SEQ_CST);
}
static inline void mica_buffer_unuse(mica_buffer *buffer) {
    __atomic_fetch_sub(&buffer->uses, 1, __ATOMIC_SEQ_CST);
    mica_buffer_release(buffer);
}
/* true when, runs aside, one reference is left and the memory is the pool's. */
static inline bool mica_buffer_is_sole(const mica_buffer *buffer) {
    return buffer->size_class >= 0 && __atomic_load_n(&buffer->references.count, __ATOMIC_SEQ_CST) -
                                              __atomic_load_n(&buffer->uses, __ATOMIC_SEQ_CST) ==
                                          1;
}

/* With device->runtime->lock held: a cached buffer of at least `bytes`, or NULL; and back again. */
mica_buffer *mica_pool_take(mica_device *device, size_t bytes);
bool mica_pool_give(mica_buffer *buffer);   /* false: over the limit, the caller destroys it */
void mica_pool_return(mica_buffer *buffer); /* one just taken: there is room for it */
void mica_buffer_destroy(mica_buffer *buffer);
/* Gives all cached memory back to the device. */
void mica_device_trim(mica_device *device);

/* Copies between host and device memory that no pending command touches; return when done. */
MICA_MUST_CHECK mica_status mica_transfer_upload(mica_buffer *target, size_t offset,
                                                 const void *source, size_t bytes);
MICA_MUST_CHECK mica_status mica_transfer_download(void *target, const mica_buffer *source,
                                                   size_t offset, size_t bytes);
void mica_transfer_close(mica_device *device);

/* FAILED_PRECONDITION in a child forked after use. `where` is the tag of the message. */
MICA_MUST_CHECK mica_status mica_check_process(const char *where);

#endif
