/* Running programs: all ways at once, a byte at a time.
 *
 * `now` has the ways that are alive, the preferred ones first, each with the places of its groups.
 * A state is entered once a byte (marks), by the way that is preferred; a way that matches ends all
 * behind it. */
#include <string.h>

#include "text/regex_parts.h"

/* Still to be done while a state is entered: go to a state, or put a slot back. */
typedef struct text_task {
    uint32_t state; /* RESTORE: slot `slot` is `value` again */
    uint32_t slot;
    size_t value;
} task;

#define RESTORE UINT32_MAX

mica_status text_matcher_init(text_matcher *m, const text_regex *regex, int32_t n_groups) {
    *m = (text_matcher){.regex = regex};
    if (n_groups > regex->n_groups) n_groups = regex->n_groups;
    if (n_groups > TEXT_REGEX_MAX_GROUP) n_groups = TEXT_REGEX_MAX_GROUP;
    m->n_slots = 2 * (n_groups + 1);
    size_t n = regex->n_states, n_slots = (size_t)m->n_slots;
    /* A state gives at most one task of each kind. */
    size_t size =
        2 * n * sizeof(task) + (2 * n + 1) * n_slots * sizeof(size_t) + 3 * n * sizeof(uint32_t);
    char *memory = mica_alloc(size);
    if (!memory) return MICA_NO_MEMORY();
    m->memory = memory;
    m->tasks = (task *)memory;
    m->slots = (size_t *)(memory + 2 * n * sizeof(task));
    m->now.slots = m->slots + n_slots;
    m->next.slots = m->now.slots + n * n_slots;
    m->marks = (uint32_t *)(m->next.slots + n * n_slots);
    m->now.states = m->marks + n;
    m->next.states = m->now.states + n;
    memset(m->marks, 0, n * sizeof *m->marks);
    return NULL;
}

void text_matcher_deinit(text_matcher *m) {
    mica_free(m->memory);
    m->memory = NULL;
}

/* States are entered anew. */
static void begin_byte(text_matcher *m) {
    if (++m->mark == 0) {
        memset(m->marks, 0, m->regex->n_states * sizeof *m->marks);
        m->mark = 1;
    }
}

static bool is_word(const char *text, size_t i) {
    unsigned char c = (unsigned char)text[i];
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool holds(uint32_t what, const char *text, size_t n, size_t at) {
    switch (what) {
    case TEXT_BEGIN_TEXT: return at == 0;
    case TEXT_END_TEXT: return at == n;
    case TEXT_BEGIN_LINE: return at == 0 || text[at - 1] == '\n';
    case TEXT_END_LINE: return at == n || text[at] == '\n';
    default: break;
    }
    bool is_edge = (at > 0 && is_word(text, at - 1)) != (at < n && is_word(text, at));
    return is_edge == (what == TEXT_WORD_EDGE);
}

/* Adds what can be reached from a state without a byte, with m->slots, which are as before then. */
static void enter(text_matcher *m, struct text_threads *threads, uint32_t state, const char *text,
                  size_t n, size_t at) {
    const text_regex *r = m->regex;
    size_t n_tasks = 0;
    m->tasks[n_tasks++] = (task){.state = state};
    while (n_tasks > 0) {
        task now = m->tasks[--n_tasks];
        if (now.state == RESTORE) {
            m->slots[now.slot] = now.value;
            continue;
        }
        for (state = now.state; m->marks[state] != m->mark;) {
            const text_state *s = &r->states[state];
            m->marks[state] = m->mark;
            m->steps++;
            if (s->op == TEXT_OP_SPLIT) {
                m->tasks[n_tasks++] = (task){.state = s->other};
            } else if (s->op == TEXT_OP_SLOT) {
                if (s->other < (uint32_t)m->n_slots) {
                    m->tasks[n_tasks++] = (task){RESTORE, s->other, m->slots[s->other]};
                    m->slots[s->other] = at;
                }
            } else if (s->op == TEXT_OP_ASSERT) {
                if (!holds(s->other, text, n, at)) break;
            } else {
                if (s->op == TEXT_OP_FAIL) break;
                size_t n_slots = (size_t)m->n_slots;
                memcpy(threads->slots + threads->n * n_slots, m->slots, n_slots * sizeof(size_t));
                threads->states[threads->n++] = state;
                break;
            }
            state = s->out;
        }
    }
}

/* The state after a byte; 0 is none. */
static uint32_t after(const text_regex *r, const text_state *s, unsigned char byte) {
    if (s->op == TEXT_OP_RANGE) return byte >= s->low && byte <= s->high ? s->out : 0;
    uint32_t begin = s->out, end = s->out + s->other;
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        if (r->branches[middle].high < byte)
            begin = middle + 1;
        else
            end = middle;
    }
    if (begin == s->out + s->other || r->branches[begin].low > byte) return 0;
    return r->branches[begin].out;
}

/* Where a match may begin, from `at` on; n where none can. */
static size_t skip(const text_regex *r, const char *text, size_t n, size_t at) {
    if (at < n && r->only_first >= 0) {
        const char *found = memchr(text + at, r->only_first, n - at);
        return found ? (size_t)(found - text) : n;
    }
    while (at < n && !r->first[(unsigned char)text[at]]) at++;
    return at;
}

/* Takes all ways through the byte at `at`. Says whether one matches, which is in out_slots. */
static bool step(text_matcher *m, const char *text, size_t n, size_t at, bool is_whole,
                 size_t *out_slots) {
    size_t n_slots = (size_t)m->n_slots;
    m->next.n = 0;
    for (uint32_t i = 0; i < m->now.n; i++) {
        const text_state *s = &m->regex->states[m->now.states[i]];
        size_t *slots = m->now.slots + i * n_slots;
        m->steps++;
        if (s->op == TEXT_OP_MATCH) {
            if (is_whole && at < n) continue;
            memcpy(out_slots, slots, n_slots * sizeof *slots);
            out_slots[1] = at;
            return true;
        }
        uint32_t out = at < n ? after(m->regex, s, (unsigned char)text[at]) : 0;
        if (!out) continue;
        memcpy(m->slots, slots, n_slots * sizeof *slots);
        enter(m, &m->next, out, text, n, at + 1);
    }
    return false;
}

static bool search(text_matcher *m, const char *text, size_t n, size_t from, bool is_whole,
                   size_t *out_slots) {
    const text_regex *r = m->regex;
    bool is_here = is_whole || r->is_anchored, is_found = false;
    if (r->is_anchored && from > 0) return false;
    m->now.n = 0;
    begin_byte(m);
    for (size_t at = from; at <= n; at++) {
        if (m->now.n == 0) {
            if (is_found || (is_here && at > from)) break;
            if (r->has_first && !is_here) {
                at = skip(r, text, n, at);
                if (at == n) break;
                begin_byte(m);
            }
        }
        if (!is_found && (!is_here || at == from)) {
            for (int32_t i = 0; i < m->n_slots; i++) m->slots[i] = TEXT_NOWHERE;
            m->slots[0] = at;
            enter(m, &m->now, r->start, text, n, at);
        }
        begin_byte(m);
        is_found |= step(m, text, n, at, is_whole, out_slots);
        struct text_threads now = m->next;
        m->next = m->now;
        m->now = now;
    }
    return is_found;
}

bool text_regex_find(text_matcher *m, const char *text, size_t n, size_t from,
                     text_span *out_spans) {
    size_t slots[2 * (TEXT_REGEX_MAX_GROUP + 1)];
    if (!search(m, text, n, from, false, slots)) return false;
    for (int32_t i = 0; i < m->n_slots / 2; i++)
        out_spans[i] = (text_span){slots[2 * i], slots[2 * i + 1]};
    return true;
}

bool text_regex_is_whole(text_matcher *m, const char *text, size_t n) {
    size_t slots[2 * (TEXT_REGEX_MAX_GROUP + 1)];
    return search(m, text, n, 0, true, slots);
}

/* ---- rewriting --------------------------------------------------------------------------------*/

int32_t text_rewrite_groups(const char *rewrite, size_t n) {
    int32_t most = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        if (rewrite[i] != '\\') continue;
        int32_t group = rewrite[++i] - '0';
        if (group > most && group <= 9) most = group;
    }
    return most;
}

/* False at an escape that is none; what is before it is there. */
static bool append_rewrite(mica_text *out, const char *text, const text_span *spans,
                           const char *rewrite, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (rewrite[i] != '\\') {
            mica_text_append_char(out, rewrite[i]);
            continue;
        }
        char c = ++i < n ? rewrite[i] : 0;
        if (c >= '0' && c <= '9') {
            text_span span = spans[c - '0'];
            if (span.end != TEXT_NOWHERE)
                mica_text_append_bytes(out, text + span.begin, span.end - span.begin);
        } else if (c == '\\') {
            mica_text_append_char(out, c);
        } else {
            return false;
        }
    }
    return true;
}

/* The character at `at`, or a byte where there is none. */
static size_t next_character(const char *text, size_t n, size_t at) {
    uint32_t point;
    size_t length = text_utf8_next(text + at, n - at, &point);
    return at + (length ? length : 1);
}

static void replace_all(text_matcher *m, const char *text, size_t n, const char *rewrite,
                        size_t n_rewrite, mica_text *out) {
    text_span spans[TEXT_REGEX_MAX_GROUP + 1];
    size_t at = 0, last_end = TEXT_NOWHERE;
    while (at <= n && text_regex_find(m, text, n, at, spans)) {
        mica_text_append_bytes(out, text + at, spans[0].begin - at);
        at = spans[0].begin;
        if (spans[0].end == at && at == last_end) {
            /* No empty match right behind a match: a character goes as it is. */
            size_t next = at < n ? next_character(text, n, at) : n + 1;
            if (at < n) mica_text_append_bytes(out, text + at, next - at);
            at = next;
            continue;
        }
        append_rewrite(out, text, spans, rewrite, n_rewrite);
        at = last_end = spans[0].end;
    }
    if (at < n) mica_text_append_bytes(out, text + at, n - at);
}

static void replace_first(text_matcher *m, const char *text, size_t n, const char *rewrite,
                          size_t n_rewrite, mica_text *out) {
    text_span spans[TEXT_REGEX_MAX_GROUP + 1];
    mica_text written;
    mica_text_init(&written);
    bool is_found = text_regex_find(m, text, n, 0, spans) &&
                    append_rewrite(&written, text, spans, rewrite, n_rewrite);
    mica_text_append_bytes(out, text, is_found ? spans[0].begin : n);
    if (is_found) {
        mica_text_append_bytes(out, written.data, written.length);
        mica_text_append_bytes(out, text + spans[0].end, n - spans[0].end);
    }
    out->failed |= written.failed;
    mica_text_deinit(&written);
}

void text_regex_replace(text_matcher *m, const char *text, size_t n, const char *rewrite,
                        size_t n_rewrite, bool is_everywhere, mica_text *out) {
    if (text_rewrite_groups(rewrite, n_rewrite) > m->regex->n_groups)
        mica_text_append_bytes(out, text, n);
    else if (is_everywhere)
        replace_all(m, text, n, rewrite, n_rewrite, out);
    else
        replace_first(m, text, n, rewrite, n_rewrite, out);
}
