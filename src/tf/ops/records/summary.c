/* Host functions of writers of summaries. */
#include <string.h>

#include "base/strings.h"
#include "mica/records.h"
#include "tf/host_rules.h"

typedef struct summary_writer {
    mica_mutex lock;
    mica_event_writer *events; /* NULL: not created, or closed */
} summary_writer;

static const char writer_kind[] = "summary writer";

static void destroy(void *object) {
    summary_writer *w = object;
    mica_event_writer_release(w->events);
    mica_free(w);
}

mica_status tf_host_summary_writer(mica_tf_host *c) {
    summary_writer *w = mica_calloc(1, sizeof *w);
    if (!w) return MICA_NO_MEMORY();
    mica_status status =
        mica_tf_object_value(MICA_TF_resource, writer_kind, w, destroy, &c->outputs[0]);
    if (status) destroy(w);
    return status;
}

/* ---- operands ---------------------------------------------------------------------------------*/

static mica_status writer_of(const mica_tf_host *c, summary_writer **out) {
    *out = mica_tf_object_of(c->inputs[0], writer_kind);
    if (*out) return NULL;
    return MICA_INVALID("[%s] the resource is not a writer of summaries", c->info->name);
}

/* ---- files ------------------------------------------------------------------------------------*/

static mica_status create(summary_writer *w, const char *folder, const char *suffix,
                          int64_t waiting, int64_t milliseconds) {
    mica_mutex_lock(&w->lock);
    mica_status status = w->events ? NULL
                                   : mica_event_writer_create(folder, suffix, (int32_t)waiting,
                                                              (int32_t)milliseconds, &w->events);
    mica_mutex_unlock(&w->lock);
    return status;
}

mica_status tf_host_create_summary_file_writer(mica_tf_host *c) {
    summary_writer *w;
    char *folder = NULL, *suffix = NULL;
    int64_t waiting, milliseconds;
    MICA_TRY(writer_of(c, &w));
    MICA_TRY(mica_tf_int_input(c, 2, &waiting));
    MICA_TRY(mica_tf_int_input(c, 3, &milliseconds));
    mica_status status = mica_tf_name_input(c, 1, &folder);
    if (!status) status = mica_tf_name_input(c, 4, &suffix);
    if (!status) status = create(w, folder, suffix, waiting, milliseconds);
    mica_free(folder);
    mica_free(suffix);
    return status;
}

mica_status tf_host_flush_summary_writer(mica_tf_host *c) {
    summary_writer *w;
    MICA_TRY(writer_of(c, &w));
    mica_mutex_lock(&w->lock);
    mica_status status = w->events ? mica_event_writer_flush(w->events) : NULL;
    mica_mutex_unlock(&w->lock);
    return status;
}

mica_status tf_host_close_summary_writer(mica_tf_host *c) {
    summary_writer *w;
    MICA_TRY(writer_of(c, &w));
    mica_mutex_lock(&w->lock);
    mica_status status = w->events ? mica_event_writer_finish(w->events) : NULL;
    mica_event_writer_release(w->events);
    w->events = NULL;
    mica_mutex_unlock(&w->lock);
    return status;
}

/* ---- summaries --------------------------------------------------------------------------------*/

/* The file of a writer, which is locked until it is unlocked; an error leaves it unlocked. */
static mica_status lock_events(const mica_tf_host *c, summary_writer **out) {
    MICA_TRY(writer_of(c, out));
    mica_mutex_lock(&(*out)->lock);
    if ((*out)->events) return NULL;
    mica_mutex_unlock(&(*out)->lock);
    return MICA_ERROR(MICA_FAILED_PRECONDITION, "[%s] the writer is closed", c->info->name);
}

mica_status tf_host_write_summary(mica_tf_host *c) {
    summary_writer *w;
    int64_t step;
    const char *tag, *metadata;
    size_t tag_length, metadata_size;
    MICA_TRY(mica_tf_int_input(c, 1, &step));
    MICA_TRY(mica_tf_text_input(c, 3, &tag, &tag_length));
    MICA_TRY(mica_tf_text_input(c, 4, &metadata, &metadata_size));
    MICA_TRY(lock_events(c, &w));
    mica_status status = mica_event_writer_add_tensor(w->events, step, tag, tag_length,
                                                      c->inputs[2], metadata, metadata_size);
    mica_mutex_unlock(&w->lock);
    return status;
}

/* Messages one after the other are one message with the values of all. */
mica_status tf_host_write_raw_proto_summary(mica_tf_host *c) {
    summary_writer *w;
    int64_t step;
    mica_text bytes;
    MICA_TRY(mica_tf_int_input(c, 1, &step));
    mica_text_init(&bytes);
    for (int64_t i = 0; i < mica_tf_strings_count(c->inputs[2]); i++) {
        size_t n;
        const char *text = mica_tf_strings_get(c->inputs[2], i, &n);
        mica_text_append_bytes(&bytes, text, n);
    }
    mica_status status = bytes.failed ? MICA_NO_MEMORY() : lock_events(c, &w);
    if (!status) {
        status = mica_event_writer_add_part(w->events, step, MICA_EVENT_SUMMARY, bytes.data,
                                            bytes.length);
        mica_mutex_unlock(&w->lock);
    }
    mica_text_deinit(&bytes);
    return status;
}

mica_status tf_host_write_graph_summary(mica_tf_host *c) {
    summary_writer *w;
    int64_t step;
    const char *graph;
    size_t n;
    MICA_TRY(mica_tf_int_input(c, 1, &step));
    MICA_TRY(mica_tf_text_input(c, 2, &graph, &n));
    MICA_TRY(lock_events(c, &w));
    mica_status status = mica_event_writer_add_part(w->events, step, MICA_EVENT_GRAPH, graph, n);
    mica_mutex_unlock(&w->lock);
    return status;
}

mica_status tf_host_import_event(mica_tf_host *c) {
    summary_writer *w;
    const char *event;
    size_t n;
    MICA_TRY(mica_tf_text_input(c, 1, &event, &n));
    MICA_TRY(lock_events(c, &w));
    mica_status status = mica_event_writer_add_event(w->events, event, n);
    mica_mutex_unlock(&w->lock);
    return status;
}
