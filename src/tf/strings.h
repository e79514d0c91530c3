/* Making tensors of strings, and characters of UTF-8. */
#ifndef MICA_TF_STRINGS_H
#define MICA_TF_STRINGS_H

#include "base/strings.h"
#include "tf/host_rules.h"

/* Strings appended to `bytes`, each ended with mica_tf_writer_end. Running out of memory sticks. */
typedef struct mica_tf_writer {
    mica_text bytes;
    size_t *ends;
    int64_t n, capacity;
    bool is_failed;
} mica_tf_writer;

void mica_tf_writer_init(mica_tf_writer *w);
void mica_tf_writer_deinit(mica_tf_writer *w);
void mica_tf_writer_end(mica_tf_writer *w);
/* Ends the writer; as many strings as the sizes say. */
MICA_MUST_CHECK mica_status mica_tf_writer_finish(mica_tf_writer *w, mica_ints dims,
                                                  mica_tf_value *out_value);

/* Bytes of the character that begins at s, at least 1 and at most n; n is not 0. What is no UTF-8
 * is a character of one byte, with out_code -1. out_code may be NULL. */
size_t mica_tf_utf8_next(const char *s, size_t n, int32_t *out_code);
void mica_tf_utf8_append(mica_text *text, uint32_t code);
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
