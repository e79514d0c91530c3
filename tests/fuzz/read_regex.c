/* Regular expressions: a pattern, a rewrite text and a text, each ended by a zero. */
#include <string.h>

#include "fuzz/reader.h"
#include "text/regex.h"

#define MOST 1000

/* What is before the next zero, at most so much. */
static const char *take(const uint8_t **bytes, size_t *size, size_t *out_n) {
    const char *piece = (const char *)*bytes;
    const uint8_t *end = *size ? memchr(*bytes, 0, *size) : NULL;
    size_t n = end ? (size_t)(end - *bytes) : *size;
    *bytes += n + (end != NULL);
    *size -= n + (end != NULL);
    *out_n = n < MOST ? n : MOST;
    return piece;
}

static void search(text_matcher *m, const char *text, size_t n) {
    text_span spans[TEXT_REGEX_MAX_GROUP + 1];
    size_t at = 0;
    for (int i = 0; i < 20 && at <= n; i++) {
        int64_t steps = m->steps;
        bool is_found = text_regex_find(m, text, n, at, spans);
        read_check(m->steps - steps <= 2 * text_regex_size(m->regex) * (int64_t)(n - at + 2));
        if (!is_found) break;
        read_check(spans[0].begin >= at && spans[0].begin <= spans[0].end && spans[0].end <= n);
        for (int32_t k = 1; k < m->n_slots / 2; k++) {
            if (spans[k].end == TEXT_NOWHERE) continue;
            read_check(spans[k].begin >= spans[0].begin && spans[k].begin <= spans[k].end);
            read_check(spans[k].end <= spans[0].end);
        }
        at = spans[0].end + (spans[0].end == spans[0].begin);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    text_regex_forget();
    int64_t blocks = mica_memory_live_blocks();
    size_t n_pattern, n_rewrite, n_text;
    const char *pattern = take(&bytes, &size, &n_pattern);
    const char *rewrite = take(&bytes, &size, &n_rewrite);
    const char *text = take(&bytes, &size, &n_text);
    const text_regex *regex = NULL;
    text_matcher matcher = {.regex = NULL};
    mica_status status = text_regex_create(pattern, n_pattern, &regex);
    bool is_made = !status;
    read_check(is_made || mica_status_code(status) == MICA_INVALID_ARGUMENT ||
               mica_status_code(status) == MICA_OUT_OF_MEMORY);
    mica_status_release(status);
    if (is_made && read_done(text_matcher_init(&matcher, regex, TEXT_REGEX_MAX_GROUP))) {
        mica_text out;
        mica_text_init(&out);
        search(&matcher, text, n_text);
        text_regex_replace(&matcher, text, n_text, rewrite, n_rewrite, true, &out);
        mica_text_clear(&out);
        text_regex_replace(&matcher, text, n_text, rewrite, n_rewrite, false, &out);
        text_regex_is_whole(&matcher, text, n_text);
        mica_text_deinit(&out);
    }
    text_matcher_deinit(&matcher);
    text_regex_release(regex);
    text_regex_forget();
    read_check(mica_memory_live_blocks() == blocks);
    return 0;
}
