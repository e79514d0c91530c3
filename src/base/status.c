/* A status is one block: code, reference count, message and trace. Places are appended by
 * reallocating the block; when there is no memory for that, the trace is simply shorter. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

struct mica_status_object {
    mica_refcount references;
    mica_code code;
    size_t message_length;
    char text[]; /* message 0, then the trace: message, newline, places */
};

static struct mica_status_object out_of_memory_object = {
    .references = {1}, .code = MICA_OUT_OF_MEMORY, .message_length = 0};

static const char *const out_of_memory_message = "out of memory";

mica_status mica_status_out_of_memory(void) {
    return &out_of_memory_object;
}

static const char *base_name(const char *file) {
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

static mica_status create(const char *file, int line, mica_code code, const char *format,
                          va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) length = 0;
    char place[160] = "";
    if (file) snprintf(place, sizeof place, "\n    at %s:%d", base_name(file), line);
    size_t n = (size_t)length, place_length = strlen(place);
    mica_status s = mica_alloc(sizeof *s + 2 * n + place_length + 2);
    if (!s) return mica_status_out_of_memory();
    mica_refcount_init(&s->references);
    s->code = code;
    s->message_length = n;
    vsnprintf(s->text, n + 1, format, arguments);
    memcpy(s->text + n + 1, s->text, n);
    memcpy(s->text + n + 1 + n, place, place_length + 1);
    return s;
}

mica_status mica_status_at(const char *file, int line, mica_code code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    mica_status s = create(file, line, code, format, arguments);
    va_end(arguments);
    return s;
}

mica_status mica_status_missing(const char *file, int line, const char *function, const char *names,
                                size_t i) {
    for (int depth = 0; i > 0; names++) {
        depth += (*names == '(') - (*names == ')');
        i -= *names == ',' && depth == 0;
    }
    while (*names == ' ') names++;
    if (names[strcspn(names, ",(")] == '(') names += strcspn(names, "(") + 1; /* MICA_ARRAY(name) */
    return mica_status_at(file, line, MICA_INVALID_ARGUMENT, "[%s] %.*s is NULL", function,
                          (int)strcspn(names, ",)"), names);
}

mica_status mica_status_create(mica_code code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    mica_status s = create(NULL, 0, code, format, arguments);
    va_end(arguments);
    return s;
}

mica_status mica_status_pass(mica_status s, const char *file, int line) {
    if (!s || s == &out_of_memory_object || !mica_refcount_is_one(&s->references)) return s;
    char place[160];
    snprintf(place, sizeof place, "\n    at %s:%d", base_name(file), line);
    size_t old = s->message_length + 1 + strlen(s->text + s->message_length + 1);
    mica_status grown = mica_realloc(s, sizeof *s + old + strlen(place) + 1);
    if (!grown) return s;
    memcpy(grown->text + old, place, strlen(place) + 1);
    return grown;
}

mica_status mica_status_share(mica_status s) {
    if (s && s != &out_of_memory_object) mica_refcount_retain(&s->references);
    return s;
}

mica_status mica_status_join(mica_status first, mica_status second) {
    if (!first) return second;
    mica_status_release(second);
    return first;
}

void mica_status_release(mica_status s) {
    if (s && s != &out_of_memory_object && mica_refcount_release(&s->references)) mica_free(s);
}

mica_code mica_status_code(mica_status s) {
    return s ? s->code : MICA_OK;
}

const char *mica_status_message(mica_status s) {
    if (!s) return "";
    return s == &out_of_memory_object ? out_of_memory_message : s->text;
}

const char *mica_status_trace(mica_status s) {
    if (!s) return "";
    return s == &out_of_memory_object ? out_of_memory_message : s->text + s->message_length + 1;
}

const char *mica_code_name(mica_code code) {
    switch (code) {
    case MICA_OK: return "ok";
    case MICA_INVALID_ARGUMENT: return "invalid argument";
    case MICA_OUT_OF_MEMORY: return "out of memory";
    case MICA_NOT_FOUND: return "not found";
    case MICA_UNSUPPORTED: return "unsupported";
    case MICA_FAILED_PRECONDITION: return "failed precondition";
    case MICA_DEVICE_ERROR: return "device error";
    case MICA_CALLBACK_ERROR: return "callback error";
    case MICA_DATA_LOSS: return "data loss";
    case MICA_INTERNAL: return "internal error";
    case MICA_OUT_OF_RANGE: return "out of range";
    case MICA_RESOURCE_EXHAUSTED: return "resource exhausted";
    case MICA_UNAVAILABLE: return "unavailable";
    case MICA_CANCELLED: return "cancelled";
    }
    return "unknown code";
}
