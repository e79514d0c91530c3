/* Making tensors of strings, and characters of UTF-8. */
#ifndef MICA_TF_STRINGS_H
#define MICA_TF_STRINGS_H

#include "base/strings.h"
#include "tf/host_rules.h"

/* Strings appended to `bytes`, each ended with mica_tf_writer_end. Running out of memory and being
 * interrupted stick. */
typedef struct mica_tf_writer {
    mica_text bytes;
    size_t *ends;
    int64_t n, capacity;
    bool is_failed, is_interrupted;
} mica_tf_writer;

void mica_tf_writer_init(mica_tf_writer *w);
void mica_tf_writer_deinit(mica_tf_writer *w);
/* False: no more strings are needed, mica_tf_writer_finish says why. */
bool mica_tf_writer_end(mica_tf_writer *w);
/* Ends the writer; as many strings as the sizes say. */
MICA_MUST_CHECK mica_status mica_tf_writer_finish(mica_tf_writer *w, mica_ints dims,
                                                  mica_tf_value *out_value);

/* Bytes of the character that begins at s, at least 1 and at most n; n is not 0. What is no UTF-8
 * is a character of one byte, with out_code -1. out_code may be NULL. */
size_t mica_tf_utf8_next(const char *s, size_t n, int32_t *out_code);
void mica_tf_utf8_append(mica_text *text, uint32_t code);

/* How code points are written as bytes. */
typedef enum mica_tf_encoding {
    MICA_TF_UTF8,
    MICA_TF_UTF16_BE,
    MICA_TF_UTF32_BE,
    MICA_TF_ASCII,
    MICA_TF_LATIN1,
} mica_tf_encoding;

/* Whether the name, in any case, is that of an encoding. */
bool mica_tf_encoding_parse(const char *name, mica_tf_encoding *out);
/* How many of the n > 0 bytes make the next code point, which is -1 where they make none. */
size_t mica_tf_code_next(mica_tf_encoding encoding, const char *s, size_t n, int32_t *out_code);
/* Appends a code point that is one, in UTF-8, UTF-16 or UTF-32. */
void mica_tf_code_append(mica_tf_encoding encoding, mica_text *text, uint32_t code);
size_t mica_tf_utf8_count(const char *s, size_t n);

static inline mica_ints mica_tf_dims(const mica_tf_shape *shape) {
    return (mica_ints){shape->dims, shape->rank};
}
/* White space of ASCII. */
static inline bool mica_tf_is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
/* A result that holds numbers. */
MICA_MUST_CHECK mica_status mica_tf_give_numbers(mica_tf_host *c, int32_t i, mica_dtype dtype,
                                                 mica_ints dims, const void *data);

#endif
