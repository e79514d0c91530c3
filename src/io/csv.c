/* Fields of CSV records as numbers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mica/records.h"

enum { SHORT_FIELD = 64 };

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* All of the text, which is ended with 0, is a number of this dtype. */
static bool read_number(const char *text, mica_tf_dtype dtype, void *out) {
    char *end = NULL;
    errno = 0;
    if (dtype == MICA_TF_float32) {
        *(float *)out = strtof(text, &end);
    } else if (dtype == MICA_TF_float64) {
        *(double *)out = strtod(text, &end);
    } else {
        long long value = strtoll(text, &end, 10);
        if (errno) return false;
        if (dtype == MICA_TF_int64) {
            *(int64_t *)out = value;
        } else {
            if (value < INT32_MIN || value > INT32_MAX) return false;
            *(int32_t *)out = (int32_t)value;
        }
    }
    return end != text && !*end;
}

bool mica_csv_number(const char *text, size_t n, mica_tf_dtype dtype, void *out) {
    if (!text || !out) return false;
    while (n && is_space(*text)) text++, n--;
    while (n && is_space(text[n - 1])) n--;
    if (n == 0 || memchr(text, 0, n)) return false;
    char few[SHORT_FIELD], *copy = few;
    if (n >= SHORT_FIELD && !(copy = mica_alloc(n + 1))) return false;
    memcpy(copy, text, n);
    copy[n] = 0;
    bool is_one = read_number(copy, dtype, out);
    if (copy != few) mica_free(copy);
    return is_one;
}
