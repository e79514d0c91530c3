/* runtime/buffer.h: reference-counted device memory, and what the runtime keeps per device.
 *
 * A freed buffer goes back to its device's pool, with its struct, into the list of its size class.
 * What is in use and what the pool keeps are together at most as many bytes as were ever in use at
 * once: before new memory is taken, what lay unused for longest goes. When the device runs out of
 * memory, or has reached its limit, the pool is emptied, recordings are dropped, runs in flight are
 * waited for, and the allocation is tried once more.
 *
 * Memory returns to the pool when its last user lets go of it, and a run does so when its last
 * command was issued: later commands of the same stream may have it at once. A buffer keeps the
 * ticket of the run that used it last; to another stream, to the host and back to the device it
 * goes only when that is done. While much memory of a size waits for the device, those who ask for
 * more of it wait too, instead of taking ever more.
 */
#ifndef MICA_RUNTIME_BUFFER_H
#define MICA_RUNTIME_BUFFER_H

#include "base/platform.h"
#include "runtime/device.h"
#include "runtime/stream.h"

/* What memory is used for, to be told when there is none left. */
typedef enum mica_buffer_role {
    MICA_HOLDS_TENSOR,
    MICA_HOLDS_ARENA,
    MICA_HOLDS_CONSTANTS,
    MICA_HOLDS_SLOT, /* of a recording */
    MICA_HOLDS_LIST,
} mica_buffer_role;

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
    uint64_t ticket;          /* atomic; of the last run that used it (runtime/stream.h) */
    uint64_t serial;          /* counts allocations: no two buffers of a device have the same */
    struct mica_buffer *next_of_all, **link_of_all; /* of the device; the lock guards them */
    bool is_cached;                                 /* in the pool; guarded as well */
    mica_buffer_role role;                          /* atomic */
    int32_t line;        /* of the caller's program, that asked for it; atomic; see report/ */
    mica_tensor *tensor; /* atomic; the newest that it holds, or NULL; cleared under the lock */
} mica_buffer;

static inline void mica_buffer_set_role(mica_buffer *buffer, mica_buffer_role role) {
    __atomic_store_n(&buffer->role, role, __ATOMIC_RELAXED);
}

/* Memory that runs use one after the other, in stream order: the largest that one of them needs.
 * Who leases it counts; when no lease is left, it goes back to the pool. */
typedef struct mica_arena_share {
    mica_buffer *buffer; /* guarded, as the count, by the device's lock */
    int32_t n_leases;    /* of `buffer`, each with a reference */
} mica_arena_share;

enum { MICA_SIZE_CLASSES = 168 };

typedef struct mica_device_runtime {
    mica_device *next; /* of all live devices; the registry's */
    bool is_open;      /* in the registry, which then holds a reference */
    char name[32];     /* it was opened by */

    mica_mutex lock; /* guards what follows, up to the streams */
    mica_buffer *free_buffers[MICA_SIZE_CLASSES];
    size_t cached, in_use;
    size_t peak;      /* of in_use, since it was last reset */
    size_t most;      /* the same, never reset: what the pool may keep */
    size_t limit;     /* of in_use and cached together; 0: none */
    mica_buffer *all; /* that came from the device and did not go back (runtime/memory.h) */
    uint64_t returns; /* of buffers to the pool, so far */
    uint64_t serials; /* of buffers, so far */
    mica_arena_share arena;
    mica_tensor *free_tensors;
    int32_t n_free_tensors;
    struct mica_eager_cache *eager;

    mica_mutex replay_lock;         /* runtime/replay.h */
    struct mica_recorded *recorded; /* all that programs of the device have */

    mica_stream stream; /* runs */
    mica_mutex transfer_lock;
    mica_device_stream *transfer; /* copies to and from the host; made when first needed */
    mica_device_event *transfer_event;
} mica_device_runtime;

/* At least `bytes` of device memory that no command touches; of 0 bytes: a small buffer. */
MICA_MUST_CHECK mica_status mica_buffer_create(mica_device *device, size_t bytes,
                                               mica_buffer **out_buffer);
/* The same for commands that are yet to be issued on the device's stream: earlier ones may still be
 * at work in it. */
MICA_MUST_CHECK mica_status mica_buffer_create_in_order(mica_device *device, size_t bytes,
                                                        mica_buffer **out_buffer);
/* The same; where the pool has the buffer with this serial number, that one. */
MICA_MUST_CHECK mica_status mica_buffer_create_again(mica_device *device, size_t bytes,
                                                     uint64_t serial, mica_buffer **out_buffer);
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

/* With device->runtime->lock held: a cached buffer of at least `bytes` for commands of the device's
 * stream, or NULL; and back again. */
mica_buffer *mica_pool_take(mica_device *device, size_t bytes);
bool mica_pool_give(mica_buffer *buffer);   /* false: over the limit, the caller destroys it */
void mica_pool_return(mica_buffer *buffer); /* one just taken: there is room for it */
void mica_buffer_destroy(mica_buffer *buffer);
/* Gives all cached memory back to the device, and what recordings keep. */
void mica_device_trim(mica_device *device);

/* Leases at least `bytes` of the share, which grows when that is too little. */
MICA_MUST_CHECK mica_status mica_arena_lease(mica_device *device, mica_arena_share *share,
                                             size_t bytes, mica_buffer **out_arena);
/* One more lease of an arena, and the end of one. */
void mica_arena_retain(mica_device *device, mica_arena_share *share, mica_buffer *arena);
void mica_arena_release(mica_device *device, mica_arena_share *share, mica_buffer *arena);

/* Copies between host and device memory that no pending command touches; return when done. */
MICA_MUST_CHECK mica_status mica_transfer_upload(mica_buffer *target, size_t offset,
                                                 const void *source, size_t bytes);
MICA_MUST_CHECK mica_status mica_transfer_download(void *target, const mica_buffer *source,
                                                   size_t offset, size_t bytes);
void mica_transfer_close(mica_device *device);

/* FAILED_PRECONDITION in a child forked after use. `where` is the tag of the message. */
MICA_MUST_CHECK mica_status mica_check_process(const char *where);

#endif
