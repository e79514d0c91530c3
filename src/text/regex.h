/* text/regex.h: regular expressions over bytes that are mostly UTF-8, in linear time.
 *
 * A pattern (the syntax of RE2, which is Perl's without what needs backtracking: no back
 * references, no assertions about what is around) becomes a program of bounded size. It is run on a
 * text with all alternatives side by side, each state at most once a byte: at most `size` steps a
 * byte, whatever the pattern. Of several matches the leftmost counts, and of these the one that a
 * backtracking search would find first. */
#ifndef MICA_TEXT_REGEX_H
#define MICA_TEXT_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/strings.h"

typedef struct text_regex text_regex; /* immutable, for all threads */

/* Patterns that were used lately are kept. INVALID_ARGUMENT: "missing ): (a". */
MICA_MUST_CHECK mica_status text_regex_create(const char *pattern, size_t n,
                                              const text_regex **out_regex);
void text_regex_release(const text_regex *regex);
void text_regex_forget(void); /* the kept ones; mica_shutdown does so */
int32_t text_regex_groups(const text_regex *regex);
int64_t text_regex_size(const text_regex *regex); /* states of the program */

/* No group of rewrite texts has a larger number. */
#define TEXT_REGEX_MAX_GROUP 9

/* Where a group begins and ends; TEXT_NOWHERE where it took no part in the match. */
#define TEXT_NOWHERE SIZE_MAX
typedef struct text_span {
    size_t begin, end;
} text_span;

/* What a search needs beside the program; of one thread. */
typedef struct text_matcher {
    const text_regex *regex;
    int32_t n_slots; /* two for the match and for each group that is asked for */
    int64_t steps;   /* taken so far */
    uint32_t *marks, mark;
    struct text_threads {
        uint32_t *states;
        size_t *slots;
        uint32_t n;
    } now, next;
    struct text_task *tasks;
    size_t *slots;
    void *memory;
} text_matcher;

/* For groups 0 (the match) to n_groups, at most TEXT_REGEX_MAX_GROUP. */
MICA_MUST_CHECK mica_status text_matcher_init(text_matcher *m, const text_regex *regex,
                                              int32_t n_groups);
void text_matcher_deinit(text_matcher *m);

/* The first match that begins at `from` or later; what is before `from` counts for ^ and \b.
 * out_spans has a place for each group that is asked for. */
bool text_regex_find(text_matcher *m, const char *text, size_t n, size_t from,
                     text_span *out_spans);
/* Whether the pattern matches all of the text. */
bool text_regex_is_whole(text_matcher *m, const char *text, size_t n);

/* The largest group that a rewrite text speaks of; 0 for none. */
int32_t text_rewrite_groups(const char *rewrite, size_t n);
/* Appends the text with its first match, or every match, replaced: \0 is the match, \1 to \9 are
 * its groups, \\ is a backslash. As RE2 does, a rewrite with another escape is taken up to there
 * (the first match alone: nothing is replaced), and one that speaks of a group which the pattern
 * lacks replaces nothing. The matcher has text_rewrite_groups groups, or more. */
void text_regex_replace(text_matcher *m, const char *text, size_t n, const char *rewrite,
                        size_t n_rewrite, bool is_everywhere, mica_text *out);

#endif
