#include "base/strings.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

void mica_text_init(mica_text *text) {
    *text = (mica_text){0};
}

void mica_text_deinit(mica_text *text) {
    mica_free(text->data);
    mica_text_init(text);
}

/* Makes room for n more characters and the final 0. */
static bool reserve(mica_text *text, size_t n) {
    if (text->failed) return false;
    if (text->capacity - text->length > n) return true;
    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity - text->length <= n && capacity <= SIZE_MAX / 2) capacity *= 2;
    char *grown = capacity - text->length > n ? mica_realloc(text->data, capacity) : NULL;
    if (!grown) {
        text->failed = true;
        return false;
    }
    text->data = grown;
    text->capacity = capacity;
    return true;
}

void mica_text_append_bytes(mica_text *text, const void *bytes, size_t n) {
    if (!reserve(text, n)) return;
    if (n) memcpy(text->data + text->length, bytes, n);
    text->length += n;
    text->data[text->length] = 0;
}

void mica_text_append(mica_text *text, const char *string) {
    mica_text_append_bytes(text, string, strlen(string));
}

void mica_text_append_char(mica_text *text, char c) {
    mica_text_append_bytes(text, &c, 1);
}

void mica_text_vprintf(mica_text *text, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (n < 0 || !reserve(text, (size_t)n)) return;
    vsnprintf(text->data + text->length, (size_t)n + 1, format, arguments);
    text->length += (size_t)n;
}

void mica_text_printf(mica_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    mica_text_vprintf(text, format, arguments);
    va_end(arguments);
}

void mica_text_clear(mica_text *text) {
    text->length = 0;
    if (text->data) *text->data = 0;
}

bool mica_text_is_failed(const mica_text *text) {
    return text->failed;
}

char *mica_text_data(mica_text *text) {
    static char empty[1];
    return text->data ? text->data : empty;
}

mica_status mica_text_finish(mica_text *text, char **out_string) {
    *out_string = NULL;
    (void)reserve(text, 0);
    if (text->failed) {
        mica_text_deinit(text);
        return mica_status_out_of_memory();
    }
    text->data[text->length] = 0;
    *out_string = text->data;
    mica_text_init(text);
    return NULL;
}
