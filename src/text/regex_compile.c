/* Trees -> programs of states that take bytes.
 *
 * A node is compiled for the state that follows it, so that a program is made from its end. A class
 * of points becomes states that take the bytes of their UTF-8, one after the other: each is a table
 * of ranges of bytes, so that one state follows, not many side by side. */
#include <string.h>

#include "text/regex_parts.h"

typedef struct compiler {
    text_regex *regex;
    uint32_t states_capacity, branches_capacity;
    bool is_failed; /* no memory */
    bool is_too_large;
    uint32_t n_visits;
    uint32_t class_begin; /* the first state of the class that is being made */
    uint32_t class_next;  /* what follows it */
    uint32_t any_tail[4]; /* of that class: so many bytes from 80 to BF; 0 is not made */
} compiler;

static bool grow(void **array, uint32_t n, uint32_t *capacity, size_t size) {
    if (n < *capacity) return true;
    uint32_t wanted = *capacity ? 2 * *capacity : 32;
    void *larger = mica_realloc(*array, wanted * size);
    if (!larger) return false;
    *array = larger;
    *capacity = wanted;
    return true;
}

static bool has_room(compiler *c) {
    const text_regex *r = c->regex;
    if (r->n_states >= TEXT_MAX_STATES || r->n_branches >= TEXT_MAX_BRANCHES)
        c->is_too_large = true;
    return !c->is_failed && !c->is_too_large;
}

/* State 0, which fails, stands for one that could not be made. */
static uint32_t add_state(compiler *c, text_op op, uint32_t out, uint32_t other) {
    text_regex *r = c->regex;
    if (!has_room(c)) return 0;
    if (!grow((void **)&r->states, r->n_states, &c->states_capacity, sizeof *r->states)) {
        c->is_failed = true;
        return 0;
    }
    r->states[r->n_states] = (text_state){.op = (uint8_t)op, .out = out, .other = other};
    return r->n_states++;
}

static uint32_t add_bytes(compiler *c, uint8_t low, uint8_t high, uint32_t out) {
    uint32_t state = add_state(c, TEXT_OP_RANGE, out, 0);
    if (!state) return 0;
    c->regex->states[state].low = low;
    c->regex->states[state].high = high;
    return state;
}

/* ---- classes ----------------------------------------------------------------------------------*/

/* The branches of one table, at most one for each byte. */
typedef struct table {
    text_branch branches[256];
    uint32_t n;
} table;

static void add_branch(table *t, uint32_t low, uint32_t high, uint32_t out) {
    text_branch *last = t->n ? &t->branches[t->n - 1] : NULL;
    if (last && last->out == out && last->high + 1u == low)
        last->high = (uint8_t)high;
    else
        t->branches[t->n++] = (text_branch){(uint8_t)low, (uint8_t)high, out};
}

static bool is_table(const text_regex *r, const text_state *state, const table *t) {
    if (state->op == TEXT_OP_RANGE && t->n == 1)
        return state->low == t->branches[0].low && state->high == t->branches[0].high &&
               state->out == t->branches[0].out;
    if (state->op != TEXT_OP_TABLE || state->other != t->n) return false;
    for (uint32_t i = 0; i < t->n; i++) {
        const text_branch *x = &r->branches[state->out + i], *y = &t->branches[i];
        if (x->low != y->low || x->high != y->high || x->out != y->out) return false;
    }
    return true;
}

/* A state of the table; one that this class has already serves again. */
static uint32_t add_table(compiler *c, const table *t) {
    text_regex *r = c->regex;
    if (t->n == 0) return 0;
    for (uint32_t i = c->class_begin; i < r->n_states; i++)
        if (is_table(r, &r->states[i], t)) return i;
    if (t->n == 1) return add_bytes(c, t->branches[0].low, t->branches[0].high, t->branches[0].out);
    uint32_t first = r->n_branches;
    for (uint32_t i = 0; i < t->n; i++) {
        if (!has_room(c)) return 0;
        if (!grow((void **)&r->branches, r->n_branches, &c->branches_capacity,
                  sizeof *r->branches)) {
            c->is_failed = true;
            return 0;
        }
        r->branches[r->n_branches++] = t->branches[i];
    }
    return add_state(c, TEXT_OP_TABLE, first, t->n);
}

/* Any n bytes that continue a character. */
static uint32_t any_tail(compiler *c, int n) {
    if (n == 0) return c->class_next;
    if (!c->any_tail[n]) {
        table t = {.n = 0};
        add_branch(&t, 0x80, 0xbf, any_tail(c, n - 1));
        c->any_tail[n] = add_table(c, &t);
    }
    return c->any_tail[n];
}

typedef struct ranges {
    const text_range *at;
    size_t n;
} ranges;

/* The ranges that have points from low to high. */
static ranges within(ranges all, uint32_t low, uint32_t high) {
    size_t begin = 0, end = all.n;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (all.at[middle].high < low)
            begin = middle + 1;
        else
            end = middle;
    }
    for (end = begin; end < all.n && all.at[end].low <= high;) end++;
    return (ranges){all.at + begin, end - begin};
}

/* What takes the n last bytes of the points from `low` on that share their first ones. */
static uint32_t tail_of(compiler *c, ranges points, uint32_t low, int n) {
    uint32_t high = low + (1u << 6 * n) - 1;
    points = within(points, low, high);
    if (points.n == 0) return 0;
    if (points.at[0].low <= low && points.at[0].high >= high) return any_tail(c, n);
    table t = {.n = 0};
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t out = tail_of(c, points, low + (i << 6 * (n - 1)), n - 1);
        if (out) add_branch(&t, 0x80 + i, 0x80 + i, out);
    }
    return add_table(c, &t);
}

/* Characters of `length` bytes, 2 to 4; points that take fewer are not among them. */
static void add_leads(compiler *c, table *t, ranges all, int length) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    static const uint32_t most[] = {0, 0, 0x7ff, 0xffff, TEXT_LAST_POINT};
    static const uint32_t first_lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    ranges some = within(all, least[length], most[length]);
    if (some.n == 0) return;
    text_range *clipped = mica_alloc(some.n * sizeof *clipped);
    if (!clipped) {
        c->is_failed = true;
        return;
    }
    memcpy(clipped, some.at, some.n * sizeof *clipped);
    if (clipped[0].low < least[length]) clipped[0].low = least[length];
    if (clipped[some.n - 1].high > most[length]) clipped[some.n - 1].high = most[length];
    int n_tail = length - 1;
    for (uint32_t lead = 0; lead << 6 * n_tail <= most[length]; lead++) {
        uint32_t out = tail_of(c, (ranges){clipped, some.n}, lead << 6 * n_tail, n_tail);
        if (out) add_branch(t, first_lead[length] + lead, first_lead[length] + lead, out);
    }
    mica_free(clipped);
}

static uint32_t compile_class(compiler *c, const text_node *node, uint32_t next) {
    ranges all = {node->ranges, node->n_ranges};
    table t = {.n = 0};
    c->class_begin = c->regex->n_states;
    c->class_next = next;
    memset(c->any_tail, 0, sizeof c->any_tail);
    for (size_t i = 0; i < all.n && all.at[i].low < 0x80; i++)
        add_branch(&t, all.at[i].low, all.at[i].high < 0x7f ? all.at[i].high : 0x7f, next);
    /* As RE2 has it: all that is not ASCII takes whatever looks like UTF-8. */
    if (all.n && all.at[all.n - 1].low <= 0x80 && all.at[all.n - 1].high == TEXT_LAST_POINT) {
        add_branch(&t, 0xc2, 0xdf, any_tail(c, 1));
        add_branch(&t, 0xe0, 0xef, any_tail(c, 2));
        add_branch(&t, 0xf0, 0xf4, any_tail(c, 3));
    } else {
        for (int length = 2; length <= 4; length++) add_leads(c, &t, all, length);
    }
    return add_table(c, &t);
}

/* ---- nodes ------------------------------------------------------------------------------------*/

static uint32_t compile(compiler *c, const text_node *node, uint32_t next);

static uint32_t compile_literal(compiler *c, uint32_t point, uint32_t next) {
    uint8_t bytes[4];
    for (size_t i = text_utf8_write(point, bytes); i-- > 0;)
        next = add_bytes(c, bytes[i], bytes[i], next);
    return next;
}

static void set_split(compiler *c, uint32_t split, uint32_t first, uint32_t second,
                      bool is_greedy) {
    if (!split) return;
    c->regex->states[split].out = is_greedy ? first : second;
    c->regex->states[split].other = is_greedy ? second : first;
}

static uint32_t add_optional(compiler *c, const text_node *repeat, uint32_t body, uint32_t next) {
    uint32_t split = add_state(c, TEXT_OP_SPLIT, 0, 0);
    set_split(c, split, body, next, repeat->is_greedy);
    return split;
}

/* x+; out_split is the state behind x. */
static uint32_t compile_plus(compiler *c, const text_node *repeat, uint32_t next,
                             uint32_t *out_split) {
    *out_split = add_state(c, TEXT_OP_SPLIT, 0, 0);
    uint32_t body = compile(c, repeat->last, *out_split);
    set_split(c, *out_split, body, next, repeat->is_greedy);
    return body;
}

static uint32_t compile_repeat(compiler *c, const text_node *node, uint32_t next) {
    uint32_t split;
    int32_t copies = node->min;
    if (node->max < 0) {
        uint32_t body = compile_plus(c, node, next, &split);
        if (node->min > 0)
            copies--;
        else /* where x can be empty, x* is (x+)?: only then the ways are in their order */
            body = node->last->can_be_empty ? add_optional(c, node, body, next) : split;
        next = body;
    } else {
        uint32_t end = next;
        for (int32_t i = node->min; i < node->max && has_room(c); i++)
            next = add_optional(c, node, compile(c, node->last, next), end);
    }
    for (int32_t i = 0; i < copies && has_room(c); i++) next = compile(c, node->last, next);
    return next;
}

static uint32_t compile(compiler *c, const text_node *node, uint32_t next) {
    /* What adds no state costs time nonetheless. */
    if (++c->n_visits > 4 * TEXT_MAX_STATES) c->is_too_large = true;
    if (!has_room(c)) return 0;
    uint32_t out;
    switch (node->kind) {
    case TEXT_EMPTY: return next;
    case TEXT_LITERAL: return compile_literal(c, node->value, next);
    case TEXT_CLASS: return compile_class(c, node, next);
    case TEXT_BYTE: return add_bytes(c, 0, 0xff, next);
    case TEXT_ASSERT: return add_state(c, TEXT_OP_ASSERT, next, node->value);
    case TEXT_GROUP:
        out = add_state(c, TEXT_OP_SLOT, next, 2 * node->value + 1);
        out = compile(c, node->last, out);
        return add_state(c, TEXT_OP_SLOT, out, 2 * node->value);
    case TEXT_REPEAT: return compile_repeat(c, node, next);
    case TEXT_SEQUENCE:
        for (const text_node *atom = node->last; atom; atom = atom->previous)
            next = compile(c, atom, next);
        return next;
    case TEXT_CHOICE:
        out = compile(c, node->last, next);
        for (const text_node *way = node->last->previous; way; way = way->previous)
            out = add_state(c, TEXT_OP_SPLIT, compile(c, way, next), out);
        return out;
    }
    return 0;
}

/* ---- what matches begin with ------------------------------------------------------------------*/

static void add_first(text_regex *r, const text_state *state) {
    if (state->op == TEXT_OP_RANGE) memset(r->first + state->low, 1, state->high - state->low + 1u);
    for (uint32_t i = 0; state->op == TEXT_OP_TABLE && i < state->other; i++) {
        const text_branch *b = &r->branches[state->out + i];
        memset(r->first + b->low, 1, b->high - b->low + 1u);
    }
}

static mica_status find_first(text_regex *r) {
    bool *seen = mica_calloc(r->n_states, sizeof *seen);
    uint32_t *todo = mica_calloc(r->n_states, sizeof *todo), n = 0;
    mica_status status = seen && todo ? NULL : MICA_NO_MEMORY();
    r->has_first = true;
    if (!status) seen[todo[n++] = r->start] = true;
    while (!status && n > 0) {
        const text_state *state = &r->states[todo[--n]];
        add_first(r, state);
        if (state->op == TEXT_OP_MATCH) r->has_first = false;
        bool is_split = state->op == TEXT_OP_SPLIT;
        bool goes_on = is_split || state->op == TEXT_OP_ASSERT || state->op == TEXT_OP_SLOT;
        if (goes_on && !seen[state->out]) seen[todo[n++] = state->out] = true;
        if (is_split && !seen[state->other]) seen[todo[n++] = state->other] = true;
    }
    mica_free(seen);
    mica_free(todo);
    r->only_first = -1;
    int n_first = 0;
    for (int i = 0; i < 256; i++)
        if (r->first[i]) r->only_first = n_first++ ? -1 : i;
    if (n_first > 1) r->only_first = -1;
    return status;
}

static bool is_anchored(const text_regex *r) {
    const text_state *state = &r->states[r->start];
    while (state->op == TEXT_OP_SLOT) state = &r->states[state->out];
    return state->op == TEXT_OP_ASSERT && state->other == TEXT_BEGIN_TEXT;
}

mica_status text_regex_compile(const text_tree *tree, text_regex *regex) {
    compiler c = {.regex = regex};
    add_state(&c, TEXT_OP_FAIL, 0, 0);
    uint32_t match = add_state(&c, TEXT_OP_MATCH, 0, 0);
    regex->start = compile(&c, tree->root, match);
    regex->n_groups = tree->n_groups;
    if (c.is_failed) return MICA_NO_MEMORY();
    if (c.is_too_large) return MICA_INVALID("pattern too large - compile failed");
    regex->is_anchored = is_anchored(regex);
    return find_first(regex);
}
