/* Event files: records that are Event messages of TensorFlow.
 *
 *     Event      wall_time = 1 (double), step = 2, file_version = 3, graph_def = 4, summary = 5,
 *                meta_graph_def = 9, source_metadata = 10 {writer = 1}
 *     Summary    value = 1 {tag = 1, tensor = 8, metadata = 9}
 *     Tensor     dtype = 1, shape = 2 {dim = 2 {size = 1}}, content = 4, string = 8 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/platform.h"
#include "io/attr_value.h"
#include "io/records.h"
#include "io/wire.h"

struct mica_event_writer {
    mica_mutex lock;
    mica_record_writer *records;
    int32_t n_waiting, most_waiting;
    double seconds, flushed_at;
};

/* ---- the file ---------------------------------------------------------------------------------*/

static void put_double(mica_text *to, uint32_t field, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    io_put_varint(to, field << 3 | IO_EIGHT_BYTES);
    io_put_u64(to, bits);
}

static mica_status append_text(mica_event_writer *w, const mica_text *event) {
    if (event->failed) return MICA_NO_MEMORY();
    return mica_record_writer_append(w->records, event->data, event->length);
}

/* The first event says what the file is. */
static mica_status write_version(mica_event_writer *w, int64_t seconds) {
    static const char version[] = "brain.Event:2", maker[] = "mica.event_writer";
    mica_text event, source;
    mica_text_init(&event);
    mica_text_init(&source);
    put_double(&event, 1, (double)seconds);
    io_put_part(&event, 3, version, strlen(version));
    io_put_part(&source, 1, maker, strlen(maker));
    if (!source.failed) io_put_part(&event, 10, source.data, source.length);
    event.failed |= source.failed;
    mica_status status = append_text(w, &event);
    if (!status) status = mica_record_writer_flush(w->records);
    mica_text_deinit(&event);
    mica_text_deinit(&source);
    return status;
}

static mica_status create_file(mica_event_writer *w, const char *folder, const char *suffix,
                               int64_t seconds) {
    static int32_t counter;
    char host[256], *path;
    mica_text text;
    mica_machine_name(host, sizeof host);
    mica_text_init(&text);
    mica_text_printf(&text, "%s%sevents.out.tfevents.%010lld.%s.%lld.%d%s", folder,
                     *folder && folder[strlen(folder) - 1] != '/' ? "/" : "", (long long)seconds,
                     host, (long long)mica_process_id(),
                     (int)(__atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED)), suffix);
    MICA_TRY(mica_text_finish(&text, &path));
    mica_status status = io_record_writer_create_new(path, &w->records);
    mica_free(path);
    return status;
}

mica_status mica_event_writer_create(const char *folder, const char *suffix, int32_t most_waiting,
                                     int32_t milliseconds, mica_event_writer **out_writer) {
    MICA_GIVEN(folder, suffix, out_writer);
    *out_writer = NULL;
    if (most_waiting < 0 || milliseconds < 0)
        return MICA_INVALID("[event_writer] %d events and %d milliseconds: neither may be negative",
                            most_waiting, milliseconds);
    mica_event_writer *w = mica_calloc(1, sizeof *w);
    if (!w) return MICA_NO_MEMORY();
    int64_t seconds = (int64_t)mica_clock_since_1970();
    w->most_waiting = most_waiting;
    w->seconds = milliseconds / 1000.0;
    w->flushed_at = mica_clock_seconds();
    mica_status status = *folder ? mica_folder_make(folder) : NULL;
    if (!status) status = create_file(w, folder, suffix, seconds);
    if (!status) status = write_version(w, seconds);
    if (status)
        mica_event_writer_release(w);
    else
        *out_writer = w;
    return status;
}

static mica_status flush(mica_event_writer *w) {
    w->n_waiting = 0;
    w->flushed_at = mica_clock_seconds();
    return mica_record_writer_flush(w->records);
}

mica_status mica_event_writer_flush(mica_event_writer *w) {
    MICA_GIVEN(w);
    mica_mutex_lock(&w->lock);
    mica_status status = flush(w);
    mica_mutex_unlock(&w->lock);
    return status;
}

mica_status mica_event_writer_finish(mica_event_writer *w) {
    MICA_GIVEN(w);
    mica_mutex_lock(&w->lock);
    mica_status status = mica_record_writer_finish(w->records);
    mica_mutex_unlock(&w->lock);
    return status;
}

void mica_event_writer_release(mica_event_writer *w) {
    if (!w) return;
    if (w->records) mica_status_release(mica_record_writer_finish(w->records));
    mica_record_writer_release(w->records);
    mica_free(w);
}

/* ---- events -----------------------------------------------------------------------------------*/

static mica_status add(mica_event_writer *w, const mica_text *event) {
    mica_mutex_lock(&w->lock);
    mica_status status = append_text(w, event);
    if (!status &&
        (++w->n_waiting > w->most_waiting || mica_clock_seconds() - w->flushed_at > w->seconds))
        status = flush(w);
    mica_mutex_unlock(&w->lock);
    return status;
}

static mica_status add_part(mica_event_writer *w, int64_t step, uint32_t part, const void *bytes,
                            size_t size) {
    mica_text event;
    mica_text_init(&event);
    put_double(&event, 1, mica_clock_since_1970());
    io_put_number(&event, 2, (uint64_t)step);
    io_put_part(&event, part, bytes, size);
    mica_status status = add(w, &event);
    mica_text_deinit(&event);
    return status;
}

mica_status mica_event_writer_add_part(mica_event_writer *w, int64_t step, mica_event_part part,
                                       const void *bytes, size_t size) {
    MICA_GIVEN(w, MICA_MANY(bytes, size));
    if (part != MICA_EVENT_GRAPH && part != MICA_EVENT_SUMMARY && part != MICA_EVENT_META_GRAPH)
        return MICA_INVALID("[event_writer] %d is no part of an event", (int)part);
    return add_part(w, step, (uint32_t)part, bytes, size);
}

mica_status mica_event_writer_add_event(mica_event_writer *w, const void *bytes, size_t size) {
    MICA_GIVEN(w, MICA_MANY(bytes, size));
    io_range rest = {bytes, size};
    io_field field;
    while (io_take_field(&rest, &field)) continue;
    if (rest.n > 0) return MICA_INVALID("[event_writer] these %zu bytes are no message", size);
    mica_text event;
    mica_text_init(&event);
    if (size > 0) mica_text_append_bytes(&event, bytes, size);
    mica_status status = add(w, &event);
    mica_text_deinit(&event);
    return status;
}

static void put_shape(mica_text *to, mica_tf_value value) {
    mica_tf_shape shape;
    mica_text dims, dim;
    mica_text_init(&dims);
    mica_text_init(&dim);
    mica_tf_value_shape(value, &shape);
    for (int32_t i = 0; i < shape.rank; i++) {
        mica_text_clear(&dim);
        io_put_number(&dim, 1, (uint64_t)shape.dims[i]);
        io_put_part(&dims, 2, dim.data, dim.length);
    }
    io_put_part(to, 2, dims.data, dims.length);
    to->failed |= dims.failed || dim.failed;
    mica_text_deinit(&dims);
    mica_text_deinit(&dim);
}

static mica_status put_numbers(mica_text *to, mica_tf_value value) {
    size_t size = mica_type_bytes(mica_tensor_type(value.object));
    void *bytes = mica_alloc(size + 1);
    if (!bytes) return MICA_NO_MEMORY();
    mica_status status = mica_tensor_to_host(value.object, bytes, size);
    if (!status && size > 0) io_put_part(to, 4, bytes, size);
    mica_free(bytes);
    return status;
}

mica_status io_put_tensor(mica_text *to, mica_tf_value value) {
    bool is_text = value.dtype == MICA_TF_string;
    if (!is_text && mica_tf_dtype_core(value.dtype) == MICA_DTYPE_COUNT) {
        const char *name = mica_tf_dtype_name(value.dtype);
        return MICA_INVALID("[tensor_proto] a tensor of dtype %s has no elements to write",
                            name ? name : "unknown");
    }
    io_put_number(to, 1, (uint64_t)value.dtype);
    put_shape(to, value);
    if (!is_text) return put_numbers(to, value);
    for (int64_t i = 0; i < mica_tf_strings_count(value); i++) {
        size_t n;
        const char *text = mica_tf_strings_get(value, i, &n);
        io_put_part(to, 8, text, n);
    }
    return NULL;
}

mica_status mica_tensor_proto_write(mica_tf_value tensor, uint8_t **out_bytes, size_t *out_size) {
    MICA_GIVEN(tensor.object, out_bytes, out_size);
    mica_text text;
    char *bytes = NULL;
    *out_bytes = NULL;
    *out_size = 0;
    mica_text_init(&text);
    mica_status status = io_put_tensor(&text, tensor);
    if (status) {
        mica_text_deinit(&text);
        return status;
    }
    size_t size = text.length;
    MICA_TRY(mica_text_finish(&text, &bytes));
    *out_bytes = (uint8_t *)bytes;
    *out_size = size;
    return NULL;
}

mica_status mica_tensor_proto_read(mica_device *device, const void *bytes, size_t size,
                                   mica_tf_value *out_tensor) {
    MICA_GIVEN(device, MICA_MANY(bytes, size), out_tensor);
    io_values values = {.device = device};
    io_range message = {bytes, size}, rest = message;
    io_field field;
    *out_tensor = (mica_tf_value){0};
    while (io_take_field(&rest, &field)) continue;
    if (rest.n > 0 || size == 0)
        return MICA_ERROR(MICA_DATA_LOSS, "[tensor_proto] these %zu bytes are no message", size);
    return io_read_tensor(&values, message, out_tensor);
}

mica_status mica_event_writer_add_tensor(mica_event_writer *w, int64_t step, const char *tag,
                                         size_t tag_length, mica_tf_value tensor,
                                         const void *metadata, size_t metadata_size) {
    MICA_GIVEN(w, MICA_MANY(tag, tag_length), tensor.object, MICA_MANY(metadata, metadata_size));
    mica_text content, value, summary;
    mica_text_init(&content);
    mica_text_init(&value);
    mica_text_init(&summary);
    mica_status status = io_put_tensor(&content, tensor);
    if (tag_length > 0) io_put_part(&value, 1, tag, tag_length);
    if (!status && !content.failed) io_put_part(&value, 8, content.data, content.length);
    if (metadata_size > 0) io_put_part(&value, 9, metadata, metadata_size);
    if (!value.failed) io_put_part(&summary, 1, value.data, value.length);
    if (!status && (content.failed || value.failed || summary.failed)) status = MICA_NO_MEMORY();
    if (!status) status = add_part(w, step, MICA_EVENT_SUMMARY, summary.data, summary.length);
    mica_text_deinit(&content);
    mica_text_deinit(&value);
    mica_text_deinit(&summary);
    return status;
}
