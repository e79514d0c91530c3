#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/platform.h"
#include "base/strings.h"
#include "mica/runtime.h"

#define NOT_READ UINT32_MAX

static const char *const topic_names[MICA_LOG_TOPICS] = {
    [MICA_LOG_PASS] = "pass",         [MICA_LOG_RUN] = "run",     [MICA_LOG_MEMORY] = "memory",
    [MICA_LOG_DEVICE] = "device",     [MICA_LOG_EAGER] = "eager", [MICA_LOG_WARNING] = "warning",
    [MICA_LOG_TRANSFER] = "transfer", [MICA_LOG_MATCH] = "match", [MICA_LOG_FUSE] = "fuse",
    [MICA_LOG_TIME] = "time",
};

uint32_t mica_log_asked = NOT_READ;

typedef void (*log_sink)(void *context, const char *topic, const char *line);

static void write_to_standard_error(void *context, const char *topic, const char *line) {
    (void)context;
    mica_text text;
    mica_text_init(&text);
    mica_text_printf(&text, "mica %s: %s", topic, line);
    mica_write_error_line(mica_text_is_failed(&text) ? line : mica_text_data(&text));
    mica_text_deinit(&text);
}

static struct {
    mica_mutex mutex;
    log_sink sink;
    void *context;
} target = {.sink = write_to_standard_error};

void mica_set_log(log_sink sink, void *context) {
    mica_mutex_lock(&target.mutex);
    target.sink = sink;
    target.context = context;
    mica_mutex_unlock(&target.mutex);
}

static bool is_name(const char *text, size_t n, const char *name) {
    return strlen(name) == n && memcmp(text, name, n) == 0;
}

static uint32_t read_environment(void) {
    uint32_t asked = 0;
    const char *text = mica_environment("MICA_LOG");
    while (text && *text) {
        size_t n = strcspn(text, ",");
        for (int i = 0; i < MICA_LOG_TOPICS; i++)
            if (is_name(text, n, topic_names[i]) || is_name(text, n, "all"))
                asked |= UINT32_C(1) << i;
        text += n + (text[n] == ',');
    }
    return asked;
}

/* A bit per topic: what the environment asks for, as it was read, and what is tapped. Those of both
 * are in mica_log_asked. */
static uint32_t from_environment = NOT_READ, tapped;
static void (*log_tap)(mica_log_topic topic, const char *text);

static uint32_t asked_for(void) {
    uint32_t asked = __atomic_load_n(&from_environment, __ATOMIC_RELAXED);
    if (asked != NOT_READ) return asked;
    asked = read_environment();
    __atomic_store_n(&from_environment, asked, __ATOMIC_RELAXED);
    return asked;
}

bool mica_log_look_up(mica_log_topic topic) {
    uint32_t asked = __atomic_load_n(&mica_log_asked, __ATOMIC_RELAXED);
    if (asked == NOT_READ) {
        asked = asked_for() | __atomic_load_n(&tapped, __ATOMIC_RELAXED);
        __atomic_store_n(&mica_log_asked, asked, __ATOMIC_RELAXED);
    }
    return asked >> topic & 1;
}

void mica_log_tap(uint32_t topics, void (*tap)(mica_log_topic topic, const char *text)) {
    __atomic_store_n(&log_tap, tap, __ATOMIC_RELEASE);
    __atomic_store_n(&tapped, topics, __ATOMIC_RELAXED);
    __atomic_store_n(&mica_log_asked, NOT_READ, __ATOMIC_RELAXED);
}

void mica_log_reset(void) {
    __atomic_store_n(&from_environment, NOT_READ, __ATOMIC_RELAXED);
    __atomic_store_n(&mica_log_asked, NOT_READ, __ATOMIC_RELAXED);
}

static void hand_over(mica_log_topic topic, const char *text) {
    void (*tap)(mica_log_topic, const char *) = __atomic_load_n(&log_tap, __ATOMIC_ACQUIRE);
    if (tap && __atomic_load_n(&tapped, __ATOMIC_RELAXED) >> topic & 1) tap(topic, text);
}

/* Cuts the text at its newlines, in place. */
static void send_lines(mica_log_topic topic, char *text) {
    hand_over(topic, text);
    if (!(asked_for() >> topic & 1)) return;
    mica_mutex_lock(&target.mutex);
    log_sink sink = target.sink;
    void *context = target.context;
    mica_mutex_unlock(&target.mutex);
    while (sink && text) {
        char *newline = strchr(text, '\n');
        if (newline) *newline = 0;
        if (!newline || newline != text) sink(context, topic_names[topic], text);
        text = newline && newline[1] ? newline + 1 : NULL;
    }
}

void mica_log_write(mica_log_topic topic, const char *format, ...) {
    if (!mica_log_on(topic)) return;
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    mica_text text;
    mica_text_init(&text);
    mica_text_vprintf(&text, format, arguments);
    if (!mica_text_is_failed(&text)) {
        send_lines(topic, mica_text_data(&text));
    } else {
        char start[256]; /* out of memory: its first characters */
        vsnprintf(start, sizeof start, format, again);
        send_lines(topic, start);
    }
    mica_text_deinit(&text);
    va_end(again);
    va_end(arguments);
}
