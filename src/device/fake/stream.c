/* Streams of the fake device: a queue of commands and a thread that runs them. */
#include <string.h>

#include "device/fake/fake.h"

typedef enum command_kind {
    UPLOAD,
    DOWNLOAD,
    COPY,
    ZERO,
    LAUNCH,
    RECORD,
    WAIT,
    REPLAY
} command_kind;

typedef struct command {
    struct command *next;
    command_kind kind;
    mica_address target, source, scratch;
    size_t bytes;
    void *host; /* a download's target */
    bool *done; /* a download's end */
    const fake_kernel *kernel;
    mica_device_event *event;
    int64_t count;                   /* of records of the event that are waited for */
    const mica_recording *recording; /* a replay's */
    mica_address *addresses;         /* a launch's; in `data`, with room for as many pointers */
    _Alignas(16) char data[];
} command;

/* A block that a recording's commands touch, and how often it had been given back. */
typedef struct touched {
    mica_address address;
    uint32_t generation;
} touched;

struct mica_recording {
    fake_device *device;
    command *first, *last;
    touched *touched;
    size_t n_touched, touched_capacity;
};

struct mica_device_stream {
    fake_device *device;
    mica_thread *thread;
    uint64_t random;
    mica_recording *capture; /* what is being recorded; the caller's */
    mica_mutex lock;         /* guards what follows */
    mica_condition changed;
    command *first, *last;
    bool stop;
    mica_status error; /* after a command failed: all later ones are dropped */
};

/* ---- executing --------------------------------------------------------------------------------*/

static mica_status bad_address(mica_address address) {
    return MICA_ERROR(MICA_DEVICE_ERROR, "[fake] no memory at address %llx",
                      (unsigned long long)address);
}

static mica_status execute_launch(fake_device *device, const command *c) {
    int32_t n = c->kernel->n_operands + c->kernel->n_results;
    void **pointers = (void **)(c->addresses + n);
    _Static_assert(sizeof(void *) == sizeof(mica_address), "a pointer takes an address's place");
    for (int32_t i = 0; i < n; i++) {
        mica_address address = c->addresses[i];
        void *pointer = address ? fake_translate(device, address) : NULL; /* 0: nothing there */
        if (address && !pointer) return bad_address(address);
        if (address % c->kernel->alignments[i])
            return MICA_ERROR(MICA_DEVICE_ERROR, "[fake] address %llx is not a multiple of %zu",
                              (unsigned long long)address, c->kernel->alignments[i]);
        pointers[i] = pointer;
    }
    void *scratch = c->scratch ? fake_translate(device, c->scratch) : NULL;
    if (c->scratch && !scratch) return bad_address(c->scratch);
    mica_cpu_kernel_run(c->kernel->cpu, (const void *const *)pointers,
                        pointers + c->kernel->n_operands, scratch);
    return NULL;
}

static void finish_event(fake_device *device, mica_device_event *event, mica_status error) {
    mica_mutex_lock(&device->lock);
    event->finished++;
    if (error && !event->error) event->error = mica_status_share(error);
    mica_condition_broadcast(&device->events_changed);
    mica_mutex_unlock(&device->lock);
}

static void wait_for_event(fake_device *device, const command *c) {
    mica_mutex_lock(&device->lock);
    while (c->event->finished < c->count)
        mica_condition_wait(&device->events_changed, &device->lock);
    mica_mutex_unlock(&device->lock);
}

static mica_status execute_recording(mica_device_stream *stream, const mica_recording *recording);

static mica_status execute(mica_device_stream *stream, const command *c) {
    fake_device *device = stream->device;
    void *target = c->target ? fake_translate(device, c->target) : NULL;
    void *source = c->source ? fake_translate(device, c->source) : NULL;
    if (c->target && !target) return bad_address(c->target);
    if (c->source && !source) return bad_address(c->source);
    switch (c->kind) {
    case UPLOAD: memcpy(target, c->data, c->bytes); break;
    case DOWNLOAD: memcpy(c->host, source, c->bytes); break;
    case COPY: memmove(target, source, c->bytes); break;
    case ZERO: memset(target, 0, c->bytes); break;
    case LAUNCH: return execute_launch(device, c);
    case REPLAY: return execute_recording(stream, c->recording);
    case WAIT: wait_for_event(device, c); break;
    case RECORD: break;
    }
    return NULL;
}

static mica_status execute_counted(mica_device_stream *stream, const command *c) {
    fake_delay(&stream->random);
    if (c->kind != RECORD && c->kind != REPLAY && fake_count_command())
        return MICA_ERROR(MICA_DEVICE_ERROR, "[fake] a command failed on the device");
    return execute(stream, c);
}

static mica_status execute_recording(mica_device_stream *stream, const mica_recording *recording) {
    for (const command *c = recording->first; c; c = c->next) MICA_TRY(execute_counted(stream, c));
    return NULL;
}

/* Events and downloads end whatever happened, so that no caller waits for ever. */
static void step(mica_device_stream *stream, command *c) {
    mica_status error = NULL;
    if (!stream->error) error = execute_counted(stream, c); /* written by this thread alone */
    mica_mutex_lock(&stream->lock);
    if (error) stream->error = error;
    mica_status poison = mica_status_share(stream->error);
    if (c->done) {
        *c->done = true;
        mica_condition_broadcast(&stream->changed);
    }
    mica_mutex_unlock(&stream->lock);
    if (c->kind == RECORD) finish_event(stream->device, c->event, poison);
    mica_status_release(poison);
    mica_free(c);
}

static void work(void *context) {
    mica_device_stream *stream = context;
    mica_mutex_lock(&stream->lock);
    for (;;) {
        command *c = stream->first;
        if (c) {
            stream->first = c->next;
            if (!stream->first) stream->last = NULL;
            mica_mutex_unlock(&stream->lock);
            step(stream, c);
            mica_mutex_lock(&stream->lock);
        } else if (stream->stop) {
            break;
        } else {
            mica_condition_wait(&stream->changed, &stream->lock);
        }
    }
    mica_mutex_unlock(&stream->lock);
}

/* ---- queueing ---------------------------------------------------------------------------------*/

mica_status fake_stream_create(mica_device *base, mica_device_stream **out_stream) {
    *out_stream = NULL;
    MICA_TRY(fake_count_call("stream_create"));
    mica_device_stream *stream = mica_calloc(1, sizeof *stream);
    if (!stream) return MICA_NO_MEMORY();
    stream->device = (fake_device *)base;
    stream->random = fake_seed();
    mica_status status = mica_thread_start(work, stream, "mica-fake", &stream->thread);
    if (status)
        mica_free(stream);
    else
        *out_stream = stream;
    return status;
}

void fake_stream_destroy(mica_device_stream *stream) {
    fake_recording_destroy(stream->capture);
    mica_mutex_lock(&stream->lock);
    stream->stop = true;
    mica_condition_broadcast(&stream->changed);
    mica_mutex_unlock(&stream->lock);
    mica_thread_join(stream->thread);
    mica_status_release(stream->error);
    mica_free(stream);
}

static bool can_be_recorded(command_kind kind) {
    return kind == COPY || kind == ZERO || kind == LAUNCH;
}

static mica_status begin(mica_device_stream *stream, const char *name, command_kind kind,
                         size_t data_bytes, command **out_command) {
    MICA_TRY(fake_count_call(name));
    if (stream->capture && !can_be_recorded(kind))
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[%s] the stream is recording", name);
    mica_mutex_lock(&stream->lock);
    mica_status error = mica_status_share(stream->error);
    mica_mutex_unlock(&stream->lock);
    if (error) return error;
    command *c = *out_command = mica_alloc(sizeof *c + data_bytes);
    if (!c) return MICA_NO_MEMORY();
    *c = (command){.kind = kind};
    return NULL;
}

static void append(command **first, command **last, command *c) {
    if (*last)
        (*last)->next = c;
    else
        *first = c;
    *last = c;
}

static void submit(mica_device_stream *stream, command *c) {
    if (stream->capture) {
        append(&stream->capture->first, &stream->capture->last, c);
        return;
    }
    mica_mutex_lock(&stream->lock);
    append(&stream->first, &stream->last, c);
    mica_condition_broadcast(&stream->changed);
    mica_mutex_unlock(&stream->lock);
}

mica_status fake_upload(mica_device_stream *stream, mica_address target, const void *source,
                        size_t bytes) {
    command *c;
    MICA_TRY(begin(stream, "upload", UPLOAD, bytes, &c));
    c->target = target;
    c->bytes = bytes;
    memcpy(c->data, source, bytes);
    submit(stream, c);
    return NULL;
}

mica_status fake_download(mica_device_stream *stream, void *target, mica_address source,
                          size_t bytes) {
    command *c;
    bool done = false;
    MICA_TRY(begin(stream, "download", DOWNLOAD, 0, &c));
    c->source = source;
    c->host = target;
    c->bytes = bytes;
    c->done = &done;
    submit(stream, c);
    mica_mutex_lock(&stream->lock);
    while (!done) mica_condition_wait(&stream->changed, &stream->lock);
    mica_status error = mica_status_share(stream->error);
    mica_mutex_unlock(&stream->lock);
    return error;
}

mica_status fake_copy(mica_device_stream *stream, mica_address target, mica_address source,
                      size_t bytes) {
    command *c;
    MICA_TRY(begin(stream, "copy", COPY, 0, &c));
    c->target = target;
    c->source = source;
    c->bytes = bytes;
    submit(stream, c);
    return NULL;
}

mica_status fake_zero(mica_device_stream *stream, mica_address target, size_t bytes) {
    command *c;
    MICA_TRY(begin(stream, "zero", ZERO, 0, &c));
    c->target = target;
    c->bytes = bytes;
    submit(stream, c);
    return NULL;
}

mica_status fake_launch(mica_device_stream *stream, const mica_kernel *kernel,
                        const mica_address *operands, const mica_address *results,
                        mica_address scratch) {
    const fake_kernel *k = (const fake_kernel *)kernel;
    size_t n_operands = (size_t)k->n_operands, n_results = (size_t)k->n_results;
    command *c;
    MICA_TRY(begin(stream, "launch", LAUNCH, 2 * (n_operands + n_results) * sizeof *operands, &c));
    c->kernel = k;
    c->scratch = scratch;
    c->addresses = (mica_address *)c->data;
    memcpy(c->addresses, operands, n_operands * sizeof *operands);
    memcpy(c->addresses + n_operands, results, n_results * sizeof *results);
    submit(stream, c);
    return NULL;
}

mica_status fake_event_record(mica_device_stream *stream, mica_device_event *event) {
    command *c;
    MICA_TRY(begin(stream, "event_record", RECORD, 0, &c));
    c->event = event;
    mica_mutex_lock(&event->device->lock);
    event->recorded++;
    mica_mutex_unlock(&event->device->lock);
    submit(stream, c);
    return NULL;
}

mica_status fake_stream_wait(mica_device_stream *stream, mica_device_event *event) {
    command *c;
    MICA_TRY(begin(stream, "stream_wait", WAIT, 0, &c));
    c->event = event;
    mica_mutex_lock(&event->device->lock);
    c->count = event->recorded;
    mica_mutex_unlock(&event->device->lock);
    submit(stream, c);
    return NULL;
}

/* ---- recordings -------------------------------------------------------------------------------*/

mica_status fake_capture_begin(mica_device_stream *stream) {
    MICA_TRY(fake_count_call("capture_begin"));
    if (stream->capture)
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[capture_begin] the stream is recording");
    stream->capture = mica_calloc(1, sizeof *stream->capture);
    if (!stream->capture) return MICA_NO_MEMORY();
    stream->capture->device = stream->device;
    return NULL;
}

static mica_status touch(mica_recording *recording, mica_address address) {
    if (!address) return NULL;
    if (!fake_translate(recording->device, address)) return bad_address(address);
    mica_address block = address >> FAKE_SLOT_BITS;
    for (size_t i = 0; i < recording->n_touched; i++)
        if (recording->touched[i].address >> FAKE_SLOT_BITS == block) return NULL;
    if (recording->n_touched == recording->touched_capacity) {
        size_t capacity = recording->touched_capacity ? 2 * recording->touched_capacity : 16;
        touched *grown = mica_realloc(recording->touched, capacity * sizeof *grown);
        if (!grown) return MICA_NO_MEMORY();
        recording->touched = grown;
        recording->touched_capacity = capacity;
    }
    recording->touched[recording->n_touched++] =
        (touched){address, fake_generation(recording->device, address)};
    return NULL;
}

static mica_status touch_all(mica_recording *recording) {
    for (const command *c = recording->first; c; c = c->next) {
        MICA_TRY(touch(recording, c->target));
        MICA_TRY(touch(recording, c->source));
        MICA_TRY(touch(recording, c->scratch));
        int32_t n = c->kernel ? c->kernel->n_operands + c->kernel->n_results : 0;
        for (int32_t i = 0; i < n; i++) MICA_TRY(touch(recording, c->addresses[i]));
    }
    return NULL;
}

mica_status fake_capture_end(mica_device_stream *stream, mica_recording **out_recording) {
    *out_recording = NULL;
    if (!stream->capture)
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[capture_end] the stream is not recording");
    mica_recording *recording = stream->capture;
    stream->capture = NULL;
    mica_status status = fake_count_call("capture_end");
    if (!status) status = touch_all(recording);
    if (status) {
        fake_recording_destroy(recording);
        return status;
    }
    fake_count_capture();
    *out_recording = recording;
    return NULL;
}

mica_status fake_replay(mica_device_stream *stream, mica_recording *recording) {
    command *c;
    for (size_t i = 0; i < recording->n_touched; i++) {
        const touched *t = &recording->touched[i];
        if (t->generation != fake_generation(stream->device, t->address))
            return MICA_ERROR(MICA_FAILED_PRECONDITION,
                              "[replay] the memory at %llx was given back since it was recorded",
                              (unsigned long long)t->address);
    }
    MICA_TRY(begin(stream, "replay", REPLAY, 0, &c));
    c->recording = recording;
    submit(stream, c);
    fake_count_replay();
    return NULL;
}

void fake_recording_destroy(mica_recording *recording) {
    if (!recording) return;
    while (recording->first) {
        command *c = recording->first;
        recording->first = c->next;
        mica_free(c);
    }
    mica_free(recording->touched);
    mica_free(recording);
}
