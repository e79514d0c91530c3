#include "runtime/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "report/report.h"
#include "runtime/memory.h"
#include "runtime/replay.h"

/* Sizes are rounded up to 64 bytes, or to a power of two in four steps: at most a quarter is lost.
 */
static int32_t class_of(size_t bytes, size_t *out_rounded) {
    if (bytes <= 64) return *out_rounded = 64, 0;
    uint64_t last = bytes - 1;
    int32_t shift = 63 - __builtin_clzll(last);
    int32_t step = (int32_t)(last >> (shift - 2) & 3);
    int32_t result = (shift - 6) * 4 + step + 1;
    *out_rounded = (size_t)(step + 5) << (shift - 2);
    return result < MICA_SIZE_CLASSES ? result : -1;
}

enum {
    LEAST_CACHED_BYTES = 64 << 20,
    MOST_WAITING_BYTES = 64 << 20, /* of one size, in the pool, still in use by the device */
    LEAST_WAITING = 2,
};

/* TF_MLC_ALLOCATOR_INIT_VALUE: what memory holds, as f32, before anything is written to it; to see
 * what is read without having been written. */
static void fill_fresh(mica_device *device, const mica_buffer *buffer) {
    static int state; /* 0: the environment has not been read, 1: nothing is asked for, 2: filled */
    static float value;
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == 0) {
        const char *text = mica_environment("TF_MLC_ALLOCATOR_INIT_VALUE");
        if (text) value = strtof(text, NULL);
        __atomic_store_n(&state, text ? 2 : 1, __ATOMIC_RELEASE);
    }
    if (state == 1 || !buffer->address || !device->vtable->host_pointer) return;
    float *data = device->vtable->host_pointer(device, buffer->address);
    for (size_t i = 0; i < buffer->bytes / sizeof *data; i++) data[i] = value;
}

static uint64_t ticket_of(const mica_buffer *buffer) {
    return __atomic_load_n(&buffer->ticket, __ATOMIC_RELAXED);
}

static void note_peak(mica_device_runtime *r) {
    if (r->in_use > r->peak) r->peak = r->in_use;
    if (r->in_use > r->most) r->most = r->in_use;
}

static mica_buffer *take_from(mica_device *device, mica_buffer **link) {
    mica_device_runtime *r = device->runtime;
    mica_buffer *buffer = *link;
    *link = buffer->next;
    r->cached -= buffer->bytes;
    r->in_use += buffer->bytes;
    note_peak(r);
    mica_memory_note(r);
    buffer->is_cached = false;
    mica_buffer_set_role(buffer, MICA_HOLDS_TENSOR);
    mica_refcount_init(&buffer->references);
    fill_fresh(device, buffer);
    return buffer;
}

mica_buffer *mica_pool_take(mica_device *device, size_t bytes) {
    mica_device_runtime *r = device->runtime;
    size_t rounded;
    int32_t c = class_of(bytes, &rounded);
    return c < 0 || !r->free_buffers[c] ? NULL : take_from(device, &r->free_buffers[c]);
}

/* The lock is held. */
static mica_buffer *take_again(mica_device *device, size_t bytes, uint64_t serial) {
    size_t rounded;
    int32_t c = class_of(bytes, &rounded);
    if (c < 0) return NULL;
    for (mica_buffer **link = &device->runtime->free_buffers[c]; *link; link = &(*link)->next)
        if ((*link)->serial == serial) return take_from(device, link);
    return NULL;
}

/* A cached buffer that the device is done with. Else out_ticket is the first of those that wait for
 * it, or 0; out_many: so much waits that it is better to wait, too. */
static mica_buffer *take_done(mica_device *device, size_t bytes, uint64_t *out_ticket,
                              bool *out_many) {
    mica_device_runtime *r = device->runtime;
    size_t rounded, waiting = 0;
    int32_t c = class_of(bytes, &rounded), n = 0;
    uint64_t first = 0;
    *out_ticket = 0;
    *out_many = false;
    if (c < 0) return NULL;
    for (mica_buffer **link = &r->free_buffers[c]; *link; link = &(*link)->next) {
        uint64_t ticket = ticket_of(*link);
        if (mica_stream_is_done(&r->stream, ticket)) return take_from(device, link);
        if (!first || ticket < first) first = ticket;
        waiting += (*link)->bytes;
        n++;
    }
    *out_ticket = first;
    *out_many = waiting >= MOST_WAITING_BYTES && n >= LEAST_WAITING;
    return NULL;
}

void mica_pool_return(mica_buffer *buffer) {
    mica_device_runtime *r = buffer->device->runtime;
    mica_memory_note_holders(r);
    r->in_use -= buffer->bytes;
    buffer->next = r->free_buffers[buffer->size_class];
    r->free_buffers[buffer->size_class] = buffer;
    r->cached += buffer->bytes;
    buffer->is_cached = true;
    buffer->returned = ++r->returns;
    mica_memory_note(r);
}

/* What the pool may keep, and what pool and use may be together. */
static size_t pool_limit(const mica_device_runtime *r) {
    size_t limit = r->most > LEAST_CACHED_BYTES ? r->most : LEAST_CACHED_BYTES;
    return r->limit && r->limit < limit ? r->limit : limit;
}

bool mica_pool_give(mica_buffer *buffer) {
    mica_device_runtime *r = buffer->device->runtime;
    bool kept = r->cached + buffer->bytes <= pool_limit(r);
    if (kept) {
        mica_pool_return(buffer);
        return true;
    }
    mica_memory_note_holders(r);
    r->in_use -= buffer->bytes;
    mica_memory_note(r);
    return false;
}

void mica_buffer_destroy(mica_buffer *buffer) {
    mica_device_runtime *r = buffer->device->runtime;
    mica_stream_wait_for_ticket(&r->stream, ticket_of(buffer));
    if (buffer->size_class >= 0) {
        mica_mutex_lock(&r->lock);
        mica_memory_strike(buffer);
        mica_mutex_unlock(&r->lock);
        buffer->device->vtable->deallocate(buffer->device, buffer->address);
    } else if (buffer->free_data) {
        buffer->free_data(buffer->context);
    }
    mica_free(buffer);
}

static void destroy_all(mica_buffer *list) {
    while (list) {
        mica_buffer *buffer = list;
        list = buffer->next;
        mica_buffer_destroy(buffer);
    }
}

void mica_device_trim(mica_device *device) {
    mica_device_runtime *r = device->runtime;
    mica_buffer *all = NULL;
    mica_replay_drop_all(device);
    while (!device->vtable->synchronous && mica_stream_reap(&r->stream, true)) {
    }
    mica_mutex_lock(&r->lock);
    for (int32_t c = 0; c < MICA_SIZE_CLASSES; c++)
        while (r->free_buffers[c]) {
            mica_buffer *buffer = r->free_buffers[c];
            r->free_buffers[c] = buffer->next;
            buffer->next = all;
            all = buffer;
        }
    r->cached = 0;
    mica_mutex_unlock(&r->lock);
    destroy_all(all);
}

/* The size class that was given something back least recently; -1 when the pool is empty. */
static int32_t oldest_class(const mica_device_runtime *r) {
    int32_t oldest = -1;
    for (int32_t c = 0; c < MICA_SIZE_CLASSES; c++)
        if (r->free_buffers[c] &&
            (oldest < 0 || r->free_buffers[c]->returned < r->free_buffers[oldest]->returned))
            oldest = c;
    return oldest;
}

/* With the lock held: takes out of the pool what must go before `bytes` more are allocated. */
static mica_buffer *make_room(mica_device_runtime *r, size_t bytes) {
    size_t limit = pool_limit(r);
    mica_buffer *list = NULL;
    if (r->in_use + bytes > limit) limit = r->in_use + bytes;
    for (int32_t c; r->in_use + r->cached + bytes > limit && (c = oldest_class(r)) >= 0;) {
        mica_buffer *buffer = r->free_buffers[c];
        r->free_buffers[c] = buffer->next;
        r->cached -= buffer->bytes;
        buffer->next = list;
        list = buffer;
    }
    return list;
}

static mica_status try_to_allocate(mica_device *device, size_t bytes, mica_address *out_address) {
    if (!mica_memory_reserve(device, bytes))
        return MICA_ERROR(MICA_OUT_OF_MEMORY, "[memory] %s has reached its limit", device->name);
    mica_status status = device->vtable->allocate(device, bytes, out_address);
    if (status) mica_memory_unreserve(device, bytes);
    return status;
}

/* The bytes count as in use from then on. */
static mica_status allocate(mica_device *device, size_t bytes, mica_address *out_address) {
    mica_status status = try_to_allocate(device, bytes, out_address);
    if (!status || mica_status_code(status) != MICA_OUT_OF_MEMORY) return status;
    mica_log_write(MICA_LOG_MEMORY, "%s: out of memory for %zu bytes, emptying the pool",
                   device->name, bytes);
    mica_device_trim(device);
    mica_status_release(status);
    status = try_to_allocate(device, bytes, out_address);
    if (mica_status_code(status) != MICA_OUT_OF_MEMORY) return status;
    return mica_memory_exhausted(device, bytes, status);
}

static mica_status create_fresh(mica_device *device, size_t bytes, mica_buffer **out_buffer) {
    size_t rounded;
    int32_t c = class_of(bytes, &rounded);
    if (c < 0)
        return MICA_ERROR(MICA_OUT_OF_MEMORY, "[memory] %s has no %zu bytes", device->name, bytes);
    mica_buffer *buffer = mica_calloc(1, sizeof *buffer);
    if (!buffer) return MICA_NO_MEMORY();
    mica_status status = allocate(device, rounded, &buffer->address);
    if (status) {
        mica_free(buffer);
        return status;
    }
    mica_refcount_init(&buffer->references);
    buffer->device = device;
    buffer->bytes = rounded;
    buffer->size_class = c;
    if (device->vtable->host_pointer)
        buffer->host = device->vtable->host_pointer(device, buffer->address);
    *out_buffer = buffer;
    return NULL;
}

static mica_buffer *take_done_or_wait(mica_device *device, size_t bytes) {
    mica_device_runtime *r = device->runtime;
    uint64_t ticket;
    bool waits;
    mica_buffer *buffer = take_done(device, bytes, &ticket, &waits);
    if (buffer || !ticket) return buffer;
    mica_mutex_unlock(&r->lock);
    while (mica_stream_reap(&r->stream, false)) {
    }
    if (waits) mica_stream_wait_for_ticket(&r->stream, ticket);
    mica_mutex_lock(&r->lock);
    return take_done(device, bytes, &ticket, &waits);
}

static mica_status find_or_create(mica_device *device, size_t bytes, bool in_order,
                                  mica_buffer **out_buffer) {
    mica_device_runtime *r = device->runtime;
    mica_mutex_lock(&r->lock);
    mica_buffer *unwanted = NULL;
    size_t rounded;
    *out_buffer = in_order ? mica_pool_take(device, bytes) : take_done_or_wait(device, bytes);
    if (!*out_buffer && class_of(bytes, &rounded) >= 0) unwanted = make_room(r, rounded);
    mica_mutex_unlock(&r->lock);
    destroy_all(unwanted);
    if (*out_buffer) return NULL;
    MICA_TRY(create_fresh(device, bytes, out_buffer));
    fill_fresh(device, *out_buffer);
    mica_mutex_lock(&r->lock);
    mica_memory_enlist(*out_buffer);
    note_peak(r);
    mica_memory_note(r);
    mica_mutex_unlock(&r->lock);
    return NULL;
}

static void set_line(mica_buffer *buffer) {
    int32_t line = mica_report_is_on() ? mica_report_line() : 0;
    __atomic_store_n(&buffer->line, line, __ATOMIC_RELAXED);
}

static mica_status create(mica_device *device, size_t bytes, bool in_order,
                          mica_buffer **out_buffer) {
    MICA_TRY(find_or_create(device, bytes, in_order, out_buffer));
    set_line(*out_buffer);
    return NULL;
}

mica_status mica_buffer_create(mica_device *device, size_t bytes, mica_buffer **out_buffer) {
    return create(device, bytes, false, out_buffer);
}

mica_status mica_buffer_create_in_order(mica_device *device, size_t bytes,
                                        mica_buffer **out_buffer) {
    return create(device, bytes, true, out_buffer);
}

mica_status mica_buffer_create_again(mica_device *device, size_t bytes, uint64_t serial,
                                     mica_buffer **out_buffer) {
    mica_mutex *lock = &device->runtime->lock;
    mica_mutex_lock(lock);
    *out_buffer = serial ? take_again(device, bytes, serial) : NULL;
    mica_mutex_unlock(lock);
    if (!*out_buffer) return create(device, bytes, true, out_buffer);
    set_line(*out_buffer);
    return NULL;
}

mica_status mica_buffer_wrap(mica_device *device, void *data, size_t bytes,
                             void (*free_data)(void *), void *context, mica_buffer **out_buffer) {
    mica_buffer *buffer = *out_buffer = mica_calloc(1, sizeof *buffer);
    if (!buffer) return MICA_NO_MEMORY();
    mica_refcount_init(&buffer->references);
    buffer->device = device;
    buffer->address = (mica_address)(uintptr_t)data;
    buffer->host = data;
    buffer->bytes = bytes;
    buffer->size_class = -1;
    buffer->free_data = free_data;
    buffer->context = context;
    return NULL;
}

void mica_buffer_retain(mica_buffer *buffer) {
    mica_refcount_retain(&buffer->references);
}

void mica_buffer_release(mica_buffer *buffer) {
    if (!buffer || !mica_refcount_release(&buffer->references)) return;
    if (mica_fork_happened()) return; /* locks and threads stayed with the parent */
    bool kept = false;
    if (buffer->size_class >= 0) {
        mica_mutex_lock(&buffer->device->runtime->lock);
        kept = mica_pool_give(buffer);
        mica_mutex_unlock(&buffer->device->runtime->lock);
    }
    if (!kept) mica_buffer_destroy(buffer);
}

/* ---- arenas -----------------------------------------------------------------------------------*/

mica_status mica_arena_lease(mica_device *device, mica_arena_share *share, size_t bytes,
                             mica_buffer **out_arena) {
    mica_mutex *lock = &device->runtime->lock;
    mica_mutex_lock(lock);
    mica_buffer *arena = share->buffer && share->buffer->bytes >= bytes ? share->buffer : NULL;
    if (arena) {
        mica_buffer_retain(arena);
        share->n_leases++;
    }
    mica_mutex_unlock(lock);
    *out_arena = arena;
    if (arena) return NULL;
    MICA_TRY(mica_buffer_create_in_order(device, bytes, out_arena));
    mica_buffer_set_role(*out_arena, MICA_HOLDS_ARENA);
    mica_mutex_lock(lock);
    if (!share->buffer || share->buffer->bytes < (*out_arena)->bytes)
        *share = (mica_arena_share){*out_arena, 1};
    mica_mutex_unlock(lock);
    return NULL;
}

void mica_arena_retain(mica_device *device, mica_arena_share *share, mica_buffer *arena) {
    mica_mutex *lock = &device->runtime->lock;
    mica_buffer_retain(arena);
    mica_mutex_lock(lock);
    if (share && share->buffer == arena) share->n_leases++;
    mica_mutex_unlock(lock);
}

void mica_arena_release(mica_device *device, mica_arena_share *share, mica_buffer *arena) {
    mica_mutex *lock = &device->runtime->lock;
    mica_mutex_lock(lock);
    if (share && share->buffer == arena && --share->n_leases == 0) share->buffer = NULL;
    mica_mutex_unlock(lock);
    mica_buffer_release(arena);
}

/* ---- transfers --------------------------------------------------------------------------------*/

static void close_transfer(mica_device *device) {
    mica_device_runtime *r = device->runtime;
    if (r->transfer_event) device->vtable->event_destroy(r->transfer_event);
    if (r->transfer) device->vtable->stream_destroy(r->transfer);
    r->transfer_event = NULL;
    r->transfer = NULL;
}

static mica_status open_transfer(mica_device *device) {
    mica_device_runtime *r = device->runtime;
    if (!r->transfer) MICA_TRY(device->vtable->stream_create(device, &r->transfer));
    if (!r->transfer_event) MICA_TRY(device->vtable->event_create(device, &r->transfer_event));
    return NULL;
}

static mica_status upload_and_wait(mica_device *device, mica_address target, const void *source,
                                   size_t bytes) {
    mica_device_runtime *r = device->runtime;
    MICA_TRY(open_transfer(device));
    MICA_TRY(device->vtable->upload(r->transfer, target, source, bytes));
    MICA_TRY(device->vtable->event_record(r->transfer, r->transfer_event));
    MICA_TRY(device->vtable->event_wait(r->transfer_event));
    return NULL;
}

static mica_status download_and_wait(mica_device *device, void *target, mica_address source,
                                     size_t bytes) {
    MICA_TRY(open_transfer(device));
    MICA_TRY(device->vtable->download(device->runtime->transfer, target, source, bytes));
    return NULL;
}

mica_status mica_transfer_upload(mica_buffer *target, size_t offset, const void *source,
                                 size_t bytes) {
    if (!bytes) return NULL;
    if (target->host) {
        memcpy((char *)target->host + offset, source, bytes);
        return NULL;
    }
    mica_device *device = target->device;
    mica_mutex_lock(&device->runtime->transfer_lock);
    mica_status status = upload_and_wait(device, target->address + offset, source, bytes);
    if (status) close_transfer(device); /* a failed stream is not used again */
    mica_mutex_unlock(&device->runtime->transfer_lock);
    return status;
}

mica_status mica_transfer_download(void *target, const mica_buffer *source, size_t offset,
                                   size_t bytes) {
    if (!bytes) return NULL;
    if (source->host) {
        memcpy(target, (const char *)source->host + offset, bytes);
        return NULL;
    }
    mica_device *device = source->device;
    mica_mutex_lock(&device->runtime->transfer_lock);
    mica_status status = download_and_wait(device, target, source->address + offset, bytes);
    if (status) close_transfer(device);
    mica_mutex_unlock(&device->runtime->transfer_lock);
    return status;
}

void mica_transfer_close(mica_device *device) {
    mica_mutex_lock(&device->runtime->transfer_lock);
    close_transfer(device);
    mica_mutex_unlock(&device->runtime->transfer_lock);
}

mica_status mica_check_process(const char *where) {
    if (!__builtin_expect(mica_fork_happened(), 0)) return NULL;
    return MICA_ERROR(MICA_FAILED_PRECONDITION,
                      "[%s] the process was forked after Mica was used in it; fork first, or "
                      "start a new process",
                      where);
}
