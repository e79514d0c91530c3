/* base/strings.h: a text that grows, for printers.
 *
 * Running out of memory sticks: later appends do nothing and mica_text_finish answers it, so that
 * printers need no check per call. */
#ifndef MICA_BASE_STRINGS_H
#define MICA_BASE_STRINGS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct mica_text {
    char *data; /* NULL while empty; else ends with 0 */
    size_t length, capacity;
    bool failed;
} mica_text;

void mica_text_init(mica_text *text);
void mica_text_deinit(mica_text *text);

void mica_text_append(mica_text *text, const char *string);
void mica_text_append_bytes(mica_text *text, const void *bytes, size_t n);
void mica_text_append_char(mica_text *text, char c);
void mica_text_printf(mica_text *text, const char *format, ...) MICA_PRINTF(2, 3);
void mica_text_vprintf(mica_text *text, const char *format, va_list arguments) MICA_PRINTF(2, 0);
void mica_text_clear(mica_text *text); /* keeps the memory and the failure */

bool mica_text_is_failed(const mica_text *text);
/* The text so far, ended with 0, never NULL; valid until the next append. */
char *mica_text_data(mica_text *text);
/* Hands the text over (to be freed with mica_free), or answers out of memory; deinits either way.
 */
MICA_MUST_CHECK mica_status mica_text_finish(mica_text *text, char **out_string);

#endif
