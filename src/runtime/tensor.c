#include "runtime/tensor.h"

#include <string.h>

#include "base/log.h"
#include "report/report.h"

enum { MOST_FREE_TENSORS = 1024, MOST_HOST_SIDE_BYTES = 512 };

/* ---- making and freeing -----------------------------------------------------------------------*/

static mica_status check_type(const mica_type *type, const char *where) {
    if (type->kind != MICA_TENSOR)
        return MICA_INVALID("[%s] %s is not a tensor's type", where, mica_type_text(type).chars);
    return mica_type_check(type, where);
}

mica_tensor *mica_tensor_take(mica_device *device) {
    mica_device_runtime *r = device->runtime;
    mica_tensor *tensor = r->free_tensors;
    if (!tensor) return NULL;
    r->free_tensors = tensor->next;
    r->n_free_tensors--;
    return tensor;
}

void mica_tensor_give(mica_device *device, mica_tensor *tensor) {
    mica_device_runtime *r = device->runtime;
    tensor->next = r->free_tensors;
    r->free_tensors = tensor;
    r->n_free_tensors++;
}

void mica_tensors_trim(mica_device *device) {
    mica_device_runtime *r = device->runtime;
    mica_mutex_lock(&r->lock);
    mica_tensor *first = r->free_tensors;
    r->free_tensors = NULL;
    r->n_free_tensors = 0;
    mica_mutex_unlock(&r->lock);
    while (first) {
        mica_tensor *tensor = first;
        first = tensor->next;
        mica_free(tensor);
    }
}

mica_status mica_tensor_create_on(mica_buffer *buffer, const mica_type *type,
                                  mica_tensor **out_tensor) {
    mica_device *device = buffer->device;
    mica_mutex_lock(&device->runtime->lock);
    mica_tensor *tensor = mica_tensor_take(device);
    mica_mutex_unlock(&device->runtime->lock);
    if (!tensor) tensor = mica_alloc(sizeof *tensor);
    if (!tensor) return MICA_NO_MEMORY();
    *tensor = (mica_tensor){.references = {1},
                            .device = device,
                            .buffer = buffer,
                            .bytes = mica_type_bytes(type),
                            .type = *type};
    __atomic_store_n(&buffer->tensor, tensor, __ATOMIC_RELEASE);
    mica_device_retain(device);
    *out_tensor = tensor;
    return NULL;
}

mica_status mica_tensor_create(mica_device *device, const mica_type *type,
                               mica_tensor **out_tensor) {
    MICA_GIVEN(out_tensor);
    *out_tensor = NULL;
    MICA_TRY(mica_check_process("tensor"));
    MICA_TRY(check_type(type, "tensor"));
    mica_buffer *buffer = NULL;
    MICA_TRY(mica_buffer_create(device, mica_type_bytes(type), &buffer));
    mica_status status = mica_tensor_create_on(buffer, type, out_tensor);
    if (status) mica_buffer_release(buffer);
    return status;
}

static void log_move(const mica_type *type, const char *from, const char *to) {
    if (mica_report_is_on())
        mica_report_transfer(mica_type_text(type).chars, from, to, mica_type_bytes(type));
    if (mica_log_on(MICA_LOG_TRANSFER))
        mica_log_write(MICA_LOG_TRANSFER, "%s, %zu bytes: %s -> %s", mica_type_text(type).chars,
                       mica_type_bytes(type), from, to);
}

static bool has_host_side(const mica_tensor *tensor) {
    return !tensor->buffer->host && tensor->bytes && tensor->bytes <= MOST_HOST_SIDE_BYTES;
}

/* The tensor is not shared yet, or the lock is held. Without memory there is none. */
static void keep_host_side(mica_tensor *tensor, const void *data) {
    if (tensor->host_side || !has_host_side(tensor)) return;
    tensor->host_side = mica_alloc(tensor->bytes);
    if (tensor->host_side) memcpy(tensor->host_side, data, tensor->bytes);
}

static mica_status create_from(mica_device *device, const mica_type *type, const void *data,
                               const char *from, mica_tensor **out_tensor) {
    mica_tensor *tensor = NULL;
    *out_tensor = NULL;
    if (!data && mica_type_bytes(type)) return MICA_INVALID("[tensor] the data is NULL");
    MICA_TRY(mica_tensor_create(device, type, &tensor));
    mica_status status = mica_transfer_upload(tensor->buffer, 0, data, tensor->bytes);
    if (status) {
        mica_tensor_release(tensor);
        return status;
    }
    if (!tensor->buffer->host) {
        keep_host_side(tensor, data);
        log_move(type, from, device->name);
    }
    *out_tensor = tensor;
    return NULL;
}

/* Kernels rely on bools being 0 or 1; bytes of files and of other libraries may be anything. */
static bool has_wide_bools(const mica_type *type, const void *data) {
    const uint8_t *bytes = data;
    size_t n = type->dtype == MICA_DTYPE_bool && data ? mica_type_bytes(type) : 0;
    uint8_t all = 0;
    for (size_t i = 0; i < n; i++) all |= bytes[i];
    return all > 1;
}

static void narrow_bools(uint8_t *to, const uint8_t *from, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] = from[i] != 0;
}

static mica_status create_from_wide_bools(mica_device *device, const mica_type *type,
                                          const void *data, mica_tensor **out_tensor) {
    size_t n = mica_type_bytes(type);
    uint8_t *narrow = mica_alloc(n);
    if (!narrow) return MICA_NO_MEMORY();
    narrow_bools(narrow, data, n);
    mica_status status = create_from(device, type, narrow, "host", out_tensor);
    mica_free(narrow);
    return status;
}

mica_status mica_tensor_from_host(mica_device *device, const mica_type *type, const void *data,
                                  mica_tensor **out_tensor) {
    MICA_GIVEN(out_tensor);
    if (type && type->dtype == MICA_DTYPE_bool) {
        *out_tensor = NULL;
        MICA_TRY(check_type(type, "tensor"));
        if (has_wide_bools(type, data))
            return create_from_wide_bools(device, type, data, out_tensor);
    }
    return create_from(device, type, data, "host", out_tensor);
}

mica_status mica_tensor_wrap(mica_device *device, const mica_type *type, void *data,
                             void (*free_data)(void *context), void *context,
                             mica_tensor **out_tensor) {
    MICA_GIVEN(out_tensor);
    *out_tensor = NULL;
    MICA_TRY(mica_check_process("tensor"));
    MICA_TRY(check_type(type, "tensor"));
    if (!data && mica_type_bytes(type)) return MICA_INVALID("[tensor] the data is NULL");
    /* Kernels rely on elements being aligned to their size. */
    bool is_aligned = data && (uintptr_t)data % mica_dtype_bytes(type->dtype) == 0;
    if (!device->vtable->host_pointer || !is_aligned || has_wide_bools(type, data)) {
        MICA_TRY(mica_tensor_from_host(device, type, data, out_tensor));
        if (free_data) free_data(context);
        return NULL;
    }
    mica_buffer *buffer = NULL;
    MICA_TRY(mica_buffer_wrap(device, data, mica_type_bytes(type), free_data, context, &buffer));
    mica_status status = mica_tensor_create_on(buffer, type, out_tensor);
    if (status) {
        buffer->free_data = NULL; /* a refusal changes nothing: the caller keeps the data */
        mica_buffer_release(buffer);
    }
    return status;
}

void mica_tensor_retain(mica_tensor *tensor) {
    if (!tensor) return;
    mica_refcount_retain(&tensor->references);
}

void mica_tensor_release(mica_tensor *tensor) {
    if (!tensor || !mica_refcount_release(&tensor->references)) return;
    if (mica_fork_happened()) return;
    mica_device *device = tensor->device;
    mica_device_runtime *r = device->runtime;
    mica_event *ready = tensor->ready;
    mica_buffer *buffer = tensor->buffer;
    if (__builtin_expect(tensor->staging != NULL, 0)) mica_free(tensor->staging);
    if (__builtin_expect(tensor->host_side != NULL, 0)) mica_free(tensor->host_side);
    mica_mutex_lock(&r->lock);
    mica_tensor *mine = tensor;
    if (buffer)
        __atomic_compare_exchange_n(&buffer->tensor, &mine, NULL, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    bool last = buffer && mica_refcount_release(&buffer->references);
    if (last && buffer->size_class >= 0 && mica_pool_give(buffer)) last = false;
    bool kept = r->n_free_tensors < MOST_FREE_TENSORS;
    if (kept) mica_tensor_give(device, tensor);
    mica_mutex_unlock(&r->lock);
    if (last) mica_buffer_destroy(buffer);
    if (!kept) mica_free(tensor);
    if (ready) mica_event_release(ready);
    mica_device_release(device);
}

const mica_type *mica_tensor_type(const mica_tensor *tensor) {
    return &tensor->type;
}

mica_device *mica_tensor_device(const mica_tensor *tensor) {
    if (!tensor) return NULL;
    return tensor->device;
}

/* ---- readiness --------------------------------------------------------------------------------*/

void mica_tensor_lose(mica_tensor *tensor, mica_event *event) {
    mica_device_runtime *r = tensor->device->runtime;
    mica_event_retain(event);
    mica_mutex_lock(&r->lock);
    mica_event *old = tensor->ready;
    __atomic_store_n(&tensor->ready, event, __ATOMIC_RELEASE);
    mica_mutex_unlock(&r->lock);
    mica_event_release(old);
}

/* The failure of the run that a consumed tensor was donated to, or NULL. */
static mica_status find_loss(const mica_tensor *tensor) {
    mica_mutex *lock = &tensor->device->runtime->lock;
    mica_mutex_lock(lock);
    const mica_event *event = tensor->ready;
    mica_status loss =
        event && mica_event_has_ended(event) ? mica_status_share(event->status) : NULL;
    mica_mutex_unlock(lock);
    return loss;
}

mica_status mica_tensor_check(const mica_tensor *tensor, const char *where) {
    if (!__builtin_expect(__atomic_load_n(&tensor->consumed, __ATOMIC_ACQUIRE), 0)) return NULL;
    char text[256];
    mica_type_format(&tensor->type, text, sizeof text);
    mica_status loss = find_loss(tensor);
    if (loss) {
        mica_status status =
            MICA_ERROR(mica_status_code(loss),
                       "[%s] the tensor %s was donated to a run that failed, and is lost: %s",
                       where, text, mica_status_message(loss));
        mica_status_release(loss);
        return status;
    }
    return MICA_ERROR(MICA_FAILED_PRECONDITION,
                      "[%s] the tensor %s was donated to a run and consumed", where, text);
}

static void forget_ready(mica_tensor *tensor, mica_event *event) {
    mica_device_runtime *r = tensor->device->runtime;
    mica_mutex_lock(&r->lock);
    bool mine = tensor->ready == event;
    if (mine) __atomic_store_n(&tensor->ready, NULL, __ATOMIC_RELEASE);
    mica_mutex_unlock(&r->lock);
    if (mine) mica_event_release(event);
}

mica_event *mica_tensor_pending(mica_tensor *tensor) {
    if (!__atomic_load_n(&tensor->ready, __ATOMIC_ACQUIRE)) return NULL;
    mica_device_runtime *r = tensor->device->runtime;
    mica_mutex_lock(&r->lock);
    mica_event *event = tensor->ready;
    if (event) mica_event_retain(event);
    mica_mutex_unlock(&r->lock);
    if (event && mica_event_has_ended(event) && !event->status) {
        forget_ready(tensor, event);
        mica_event_release(event);
        return NULL;
    }
    return event;
}

mica_status mica_tensor_wait(mica_tensor *tensor) {
    mica_event *event = mica_tensor_pending(tensor);
    if (!event) return NULL;
    mica_status status = mica_event_wait(event);
    if (!status) forget_ready(tensor, event);
    mica_event_release(event);
    return status;
}

/* ---- data -------------------------------------------------------------------------------------*/

static mica_status wait_for_data(mica_tensor *tensor, const char *where) {
    MICA_TRY(mica_check_process(where));
    MICA_TRY(mica_tensor_check(tensor, where));
    MICA_TRY(mica_tensor_wait(tensor));
    return NULL;
}

/* From its host side. */
static bool read_host_side(mica_tensor *tensor, void *data) {
    mica_mutex *lock = &tensor->device->runtime->lock;
    if (tensor->buffer->host) return false;
    mica_mutex_lock(lock);
    bool is_there = tensor->host_side != NULL;
    if (is_there) memcpy(data, tensor->host_side, tensor->bytes);
    mica_mutex_unlock(lock);
    return is_there;
}

/* What the tensor holds; it is there, and no view writes it. */
static mica_status read_data(mica_tensor *tensor, void *data, const char *to) {
    if (read_host_side(tensor, data)) return NULL;
    MICA_TRY(mica_transfer_download(data, tensor->buffer, 0, tensor->bytes));
    if (tensor->buffer->host) return NULL;
    log_move(&tensor->type, tensor->device->name, to);
    mica_mutex_lock(&tensor->device->runtime->lock);
    if (!tensor->staging_written) keep_host_side(tensor, data);
    mica_mutex_unlock(&tensor->device->runtime->lock);
    return NULL;
}

mica_status mica_tensor_to_host(mica_tensor *tensor, void *data, size_t bytes) {
    MICA_TRY(wait_for_data(tensor, "to_host"));
    if (bytes != tensor->bytes)
        return MICA_INVALID("[to_host] %zu bytes asked for, the tensor has %zu", bytes,
                            tensor->bytes);
    return read_data(tensor, data, "host");
}

static mica_status copy_through_host(mica_tensor *tensor, mica_device *device,
                                     mica_tensor **out_tensor) {
    void *data = mica_alloc(tensor->bytes);
    if (!data) return MICA_NO_MEMORY();
    mica_status status = read_data(tensor, data, device->name);
    if (!status)
        status = create_from(device, &tensor->type, data, tensor->device->name, out_tensor);
    mica_free(data);
    return status;
}

mica_status mica_tensor_copy_to(mica_tensor *tensor, mica_device *device,
                                mica_tensor **out_tensor) {
    MICA_GIVEN(tensor, out_tensor);
    *out_tensor = NULL;
    if (tensor->device == device) {
        MICA_TRY(mica_tensor_check(tensor, "copy_to"));
        mica_tensor_retain(tensor);
        *out_tensor = tensor;
        return NULL;
    }
    MICA_TRY(wait_for_data(tensor, "copy_to"));
    if (tensor->buffer->host)
        return create_from(device, &tensor->type, tensor->buffer->host, tensor->device->name,
                           out_tensor);
    return copy_through_host(tensor, device, out_tensor);
}

/* ---- host views -------------------------------------------------------------------------------*/

/* The lock is held. */
static void drop_host_side(mica_tensor *tensor) {
    mica_free(tensor->host_side);
    tensor->host_side = NULL;
}

/* One copy serves all views of a tensor: it is made with the first and freed with the last. */
static mica_status open_staging(mica_tensor *tensor, int access, void **out_data) {
    mica_device_runtime *r = tensor->device->runtime;
    mica_mutex_lock(&r->lock);
    void *staging = tensor->staging;
    if (staging && (access & MICA_WRITE)) tensor->staging_written = true;
    if (staging && (access & MICA_WRITE)) drop_host_side(tensor);
    mica_mutex_unlock(&r->lock);
    if (!staging) {
        staging = mica_alloc(tensor->bytes);
        if (!staging) return MICA_NO_MEMORY();
        mica_status status = read_data(tensor, staging, "host");
        if (status) {
            mica_free(staging);
            return status;
        }
        mica_mutex_lock(&r->lock);
        void *other = tensor->staging; /* another thread was faster */
        if (!other) tensor->staging = staging;
        if (access & MICA_WRITE) tensor->staging_written = true;
        if (access & MICA_WRITE) drop_host_side(tensor);
        mica_mutex_unlock(&r->lock);
        if (other) mica_free(staging), staging = other;
    }
    *out_data = staging;
    return NULL;
}

/* By runs that were started. */
static bool is_in_use(const mica_buffer *buffer) {
    return __atomic_load_n(&buffer->uses, __ATOMIC_SEQ_CST) ||
           !mica_stream_is_done(&buffer->device->runtime->stream,
                                __atomic_load_n(&buffer->ticket, __ATOMIC_RELAXED));
}

mica_status mica_tensor_open_view(mica_tensor *tensor, int access, void **out_data) {
    MICA_GIVEN(out_data);
    *out_data = NULL;
    if (!(access & (MICA_READ | MICA_WRITE)) || (access & ~(MICA_READ | MICA_WRITE)))
        return MICA_INVALID("[view] access %d is neither MICA_READ nor MICA_WRITE", access);
    MICA_TRY(wait_for_data(tensor, "view"));
    __atomic_fetch_add(&tensor->views, 1, __ATOMIC_SEQ_CST);
    /* Runs that were started before still read the old data. */
    if ((access & MICA_WRITE) && is_in_use(tensor->buffer))
        mica_stream_drain(&tensor->device->runtime->stream);
    if ((access & MICA_WRITE) && tensor->type.dtype == MICA_DTYPE_bool)
        __atomic_store_n(&tensor->bools_written, true, __ATOMIC_SEQ_CST);
    *out_data = tensor->buffer->host;
    mica_status status = *out_data ? NULL : open_staging(tensor, access, out_data);
    if (status) __atomic_fetch_sub(&tensor->views, 1, __ATOMIC_SEQ_CST);
    return status;
}

static void narrow_written_bools(mica_tensor *tensor, void *data) {
    if (tensor->type.dtype != MICA_DTYPE_bool) return;
    bool is_written = __atomic_exchange_n(&tensor->bools_written, false, __ATOMIC_SEQ_CST);
    if (is_written && has_wide_bools(&tensor->type, data)) narrow_bools(data, data, tensor->bytes);
}

mica_status mica_tensor_close_view(mica_tensor *tensor) {
    MICA_TRY(mica_check_process("view"));
    int32_t views = __atomic_load_n(&tensor->views, __ATOMIC_SEQ_CST);
    do {
        if (views <= 0) return MICA_ERROR(MICA_FAILED_PRECONDITION, "[view] no view is open");
    } while (!__atomic_compare_exchange_n(&tensor->views, &views, views - 1, false,
                                          __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    if (views > 1) return NULL;
    if (tensor->buffer->host) {
        narrow_written_bools(tensor, tensor->buffer->host);
        return NULL;
    }
    mica_device_runtime *r = tensor->device->runtime;
    mica_mutex_lock(&r->lock);
    void *staging = tensor->staging;
    bool written = tensor->staging_written;
    tensor->staging = NULL;
    tensor->staging_written = false;
    mica_mutex_unlock(&r->lock);
    mica_status status = NULL;
    narrow_written_bools(tensor, staging);
    if (written && is_in_use(tensor->buffer)) mica_stream_drain(&r->stream);
    if (written) status = mica_transfer_upload(tensor->buffer, 0, staging, tensor->bytes);
    mica_free(staging);
    return status;
}
