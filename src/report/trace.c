/* What ran when, on which thread, between mica_trace_start and mica_trace_stop, as Chrome's trace
 * format: what chrome://tracing, Perfetto and TensorBoard show. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "mica/runtime.h"
#include "report/parts.h"

enum { MOST_EVENTS = 1 << 18, MOST_THREADS = 256 };

typedef struct event {
    const char *kind; /* a literal */
    char name[64];
    double start, seconds;
    int32_t thread;
} event;

int32_t mica_trace_state;

static struct {
    mica_mutex lock;
    event *events;
    int64_t n, capacity, lost;
    const void *threads[MOST_THREADS]; /* by number; those after them share the last */
    int32_t n_threads;
    double start;
} trace;

mica_status mica_trace_start(void) {
    mica_status status = NULL;
    mica_mutex_lock(&trace.lock);
    if (mica_trace_is_on()) {
        status = MICA_ERROR(MICA_FAILED_PRECONDITION, "[trace] a trace is on: end it before the "
                                                      "next one begins");
    } else {
        trace.start = mica_clock_seconds();
        __atomic_store_n(&mica_trace_state, 1, __ATOMIC_RELEASE);
    }
    mica_mutex_unlock(&trace.lock);
    return status;
}

/* ---- events, with the lock held ---------------------------------------------------------------*/

static int32_t number_of_thread(const void *id) {
    for (int32_t i = 0; i < trace.n_threads; i++)
        if (trace.threads[i] == id) return i;
    if (trace.n_threads == MOST_THREADS) return MOST_THREADS - 1;
    trace.threads[trace.n_threads] = id;
    return trace.n_threads++;
}

static event *new_event(void) {
    if (trace.n == MOST_EVENTS) return NULL;
    if (trace.n == trace.capacity) {
        int64_t more = trace.capacity ? 2 * trace.capacity : 1024;
        event *grown = mica_realloc(trace.events, (size_t)more * sizeof *grown);
        if (!grown) return NULL;
        trace.events = grown;
        trace.capacity = more;
    }
    return &trace.events[trace.n++];
}

static void add(const char *kind, const char *name, double start, double seconds) {
    event *e = new_event();
    if (!e) {
        trace.lost++;
        return;
    }
    size_t n = strlen(name);
    if (n >= sizeof e->name) {
        n = sizeof e->name - 1;
        while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80) n--; /* whole UTF-8 characters */
    }
    memcpy(e->name, name, n);
    e->name[n] = 0;
    e->kind = kind;
    e->start = start;
    e->seconds = seconds;
    e->thread = number_of_thread(mica_thread_id());
}

void mica_trace_add(const char *kind, const char *name, double start, double seconds) {
    mica_mutex_lock(&trace.lock);
    if (mica_trace_is_on() && start >= trace.start) add(kind, name, start, seconds);
    mica_mutex_unlock(&trace.lock);
}

/* ---- the text ---------------------------------------------------------------------------------*/

static void write_event(mica_text *t, const event *e) {
    mica_text_append(t, "{\"ph\":\"X\",\"pid\":1,\"cat\":");
    report_json_string(t, e->kind);
    mica_text_printf(t, ",\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":", e->thread + 1,
                     1e6 * (e->start - trace.start), 1e6 * e->seconds);
    report_json_string(t, e->name);
    mica_text_append(t, "},\n");
}

static mica_status write_all(char **out_text) {
    mica_text t;
    mica_text_init(&t);
    mica_text_printf(&t,
                     "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"events\":%lld,\"lost\":%lld},"
                     "\n\"traceEvents\":[\n",
                     (long long)trace.n, (long long)trace.lost);
    for (int64_t i = 0; i < trace.n; i++) write_event(&t, &trace.events[i]);
    for (int32_t i = 0; i < trace.n_threads; i++)
        mica_text_printf(&t,
                         "{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\","
                         "\"args\":{\"name\":\"thread %d\"}},\n",
                         i + 1, i + 1);
    mica_text_append(&t, "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\","
                         "\"args\":{\"name\":\"mica\"}}]}\n");
    return mica_text_finish(&t, out_text);
}

/* With the lock held. */
static void forget_events(void) {
    __atomic_store_n(&mica_trace_state, 0, __ATOMIC_RELEASE);
    mica_free(trace.events);
    trace.events = NULL;
    trace.n = trace.capacity = trace.lost = trace.n_threads = 0;
}

void mica_trace_drop(void) {
    mica_mutex_lock(&trace.lock);
    forget_events();
    mica_mutex_unlock(&trace.lock);
}

void mica_trace_note(const char *name, double start, double seconds) {
    if (name && mica_trace_is_on()) mica_trace_add("annotation", name, start, seconds);
}

double mica_trace_clock(void) {
    return mica_clock_seconds();
}

mica_status mica_trace_stop(char **out_text) {
    MICA_GIVEN(out_text);
    mica_status status = NULL;
    *out_text = NULL;
    mica_mutex_lock(&trace.lock);
    if (!mica_trace_is_on()) {
        status = MICA_ERROR(MICA_FAILED_PRECONDITION,
                            "[trace] no trace is on: mica_trace_start begins one");
    } else {
        status = write_all(out_text);
        forget_events();
    }
    mica_mutex_unlock(&trace.lock);
    return status;
}
