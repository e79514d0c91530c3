/* Streams of the fake device: a queue of commands and a thread that runs them. */
#include <string.h>

#include "device/fake/fake.h"

typedef enum command_kind { UPLOAD, DOWNLOAD, COPY, ZERO, LAUNCH, RECORD, WAIT } command_kind;

typedef struct command {
    struct command *next;
    command_kind kind;
    mica_address target, source, scratch;
    size_t bytes;
    void *host; /* a download's target */
    bool *done; /* a download's end */
    const fake_kernel *kernel;
    mica_device_event *event;
    int64_t count;           /* of records of the event that are waited for */
    mica_address *addresses; /* a launch's; in `data` */
    _Alignas(16) char data[];
} command;

struct mica_device_stream {
    fake_device *device;
    mica_thread *thread;
    uint64_t random;
    mica_mutex lock; /* guards what follows */
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
    void **pointers = (void **)c->addresses; /* translated in place: it runs once */
    _Static_assert(sizeof(void *) == sizeof(mica_address), "a pointer takes an address's place");
    for (int32_t i = 0; i < n; i++) {
        mica_address address = c->addresses[i];
        void *pointer = address ? fake_translate(device, address) : NULL; /* 0: nothing there */
        if (address && !pointer) return bad_address(address);
        memcpy(&pointers[i], &pointer, sizeof pointer);
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
    case WAIT: wait_for_event(device, c); break;
    case RECORD: break;
    }
    return NULL;
}

/* Events and downloads end whatever happened, so that nobody waits for ever. */
static void step(mica_device_stream *stream, command *c) {
    mica_status error = NULL;
    if (!stream->error) { /* written by this thread alone */
        fake_delay(&stream->random);
        if (c->kind != RECORD && fake_count_command())
            error = MICA_ERROR(MICA_DEVICE_ERROR, "[fake] a command failed on the device");
        else
            error = execute(stream, c);
    }
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
    mica_mutex_lock(&stream->lock);
    stream->stop = true;
    mica_condition_broadcast(&stream->changed);
    mica_mutex_unlock(&stream->lock);
    mica_thread_join(stream->thread);
    mica_status_release(stream->error);
    mica_free(stream);
}

static mica_status begin(mica_device_stream *stream, const char *name, command_kind kind,
                         size_t data_bytes, command **out_command) {
    MICA_TRY(fake_count_call(name));
    mica_mutex_lock(&stream->lock);
    mica_status error = mica_status_share(stream->error);
    mica_mutex_unlock(&stream->lock);
    if (error) return error;
    command *c = *out_command = mica_alloc(sizeof *c + data_bytes);
    if (!c) return MICA_NO_MEMORY();
    *c = (command){.kind = kind};
    return NULL;
}

static void submit(mica_device_stream *stream, command *c) {
    mica_mutex_lock(&stream->lock);
    if (stream->last)
        stream->last->next = c;
    else
        stream->first = c;
    stream->last = c;
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
    MICA_TRY(begin(stream, "launch", LAUNCH, (n_operands + n_results) * sizeof *operands, &c));
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
