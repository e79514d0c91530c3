/* Host functions that match patterns. */
#include "base/interrupt.h"
#include "text/regex.h"
#include "tf/strings.h"

/* A pattern or a rewrite text: an attribute, or input i. */
typedef struct piece {
    const char *bytes;
    size_t n;
} piece;

static mica_status read_piece(const mica_tf_host *c, const char *name, int32_t i, piece *out) {
    const mica_tf_attr *attr = c->n_inputs == 1 ? mica_tf_host_attr(c, name) : NULL;
    if (!attr) return mica_tf_text_input(c, i, &out->bytes, &out->n);
    *out = (piece){attr->as.string, (size_t)attr->n};
    return NULL;
}

static mica_status start(const mica_tf_host *c, int32_t n_groups, const text_regex **out_regex,
                         text_matcher *matcher) {
    piece pattern;
    MICA_TRY(read_piece(c, "pattern", 1, &pattern));
    mica_status status = text_regex_create(pattern.bytes, pattern.n, out_regex);
    if (status && mica_status_code(status) == MICA_INVALID_ARGUMENT) {
        int n = pattern.n < 4096 ? (int)pattern.n : 4096;
        mica_status told = MICA_INVALID("[%s] Invalid pattern: %.*s, error: %s", c->info->name, n,
                                        pattern.bytes, mica_status_message(status));
        mica_status_release(status);
        return told;
    }
    MICA_TRY(status);
    status = text_matcher_init(matcher, *out_regex, n_groups);
    if (status) text_regex_release(*out_regex);
    return status;
}

mica_status tf_host_regex_full_match(mica_tf_host *c) {
    mica_tf_shape shape;
    text_matcher matcher;
    const text_regex *regex;
    mica_tf_value_shape(c->inputs[0], &shape);
    int64_t n = mica_tf_strings_count(c->inputs[0]);
    MICA_TRY(start(c, 0, &regex, &matcher));
    bool *found = mica_alloc((size_t)n + 1);
    mica_status status = found ? NULL : MICA_NO_MEMORY();
    for (int64_t i = 0; !status && i < n; i++) {
        size_t length;
        const char *bytes = mica_tf_strings_get(c->inputs[0], i, &length);
        found[i] = text_regex_is_whole(&matcher, bytes, length);
        if (mica_interrupt_poll()) status = mica_interrupt_status();
    }
    if (!status) status = mica_tf_give_numbers(c, 0, MICA_DTYPE_bool, mica_tf_dims(&shape), found);
    mica_free(found);
    text_matcher_deinit(&matcher);
    text_regex_release(regex);
    return status;
}

mica_status tf_host_regex_replace(mica_tf_host *c) {
    mica_tf_shape shape;
    text_matcher matcher;
    const text_regex *regex;
    piece rewrite;
    mica_tf_value_shape(c->inputs[0], &shape);
    bool is_everywhere = mica_tf_host_attr(c, "replace_global")->as.integer != 0;
    MICA_TRY(read_piece(c, "rewrite", 2, &rewrite));
    MICA_TRY(start(c, text_rewrite_groups(rewrite.bytes, rewrite.n), &regex, &matcher));
    int64_t n = mica_tf_strings_count(c->inputs[0]);
    mica_tf_writer w;
    mica_status status = NULL;
    mica_tf_writer_init(&w);
    for (int64_t i = 0; !status && i < n; i++) {
        size_t length;
        const char *bytes = mica_tf_strings_get(c->inputs[0], i, &length);
        text_regex_replace(&matcher, bytes, length, rewrite.bytes, rewrite.n, is_everywhere,
                           &w.bytes);
        mica_tf_writer_end(&w);
        if (mica_interrupt_poll()) status = mica_interrupt_status();
    }
    text_matcher_deinit(&matcher);
    text_regex_release(regex);
    if (!status) return mica_tf_writer_finish(&w, mica_tf_dims(&shape), &c->outputs[0]);
    mica_tf_writer_deinit(&w);
    return status;
}
