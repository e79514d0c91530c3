/* Patterns -> trees.
 *
 * A sequence is read atom by atom; a repetition takes the last atom of its sequence. Flags such as
 * (?i) hold to the end of the group that they stand in. Messages are RE2's: what is wrong, and the
 * part of the pattern that is. */
#include <string.h>

#include "text/regex_parts.h"

typedef struct flags {
    bool folds, many_lines, dot_takes_newline, is_lazy;
} flags;

typedef struct parser {
    text_tree *tree;
    const char *begin, *at, *end;
    flags flags;
    int32_t depth;
} parser;

static mica_status wrong(const char *what, const char *begin, const char *end) {
    return MICA_INVALID("%s: %.*s", what, (int)(end - begin > 4096 ? 4096 : end - begin), begin);
}

static size_t left(const parser *p) {
    return (size_t)(p->end - p->at);
}

static bool is_next(const parser *p, const char *text) {
    size_t n = strlen(text);
    return left(p) >= n && !memcmp(p->at, text, n);
}

/* The pattern is valid UTF-8, and not at its end. */
static uint32_t take_point(parser *p) {
    uint32_t point = 0;
    p->at += text_utf8_next(p->at, left(p), &point);
    return point;
}

/* ---- nodes ------------------------------------------------------------------------------------*/

static mica_status new_node(parser *p, text_kind kind, text_node **out) {
    *out = mica_arena_alloc(&p->tree->arena, sizeof **out);
    if (!*out) return MICA_NO_MEMORY();
    (*out)->kind = kind;
    (*out)->copies = 1;
    return NULL;
}

static void add_child(text_node *parent, text_node *child) {
    child->previous = parent->last;
    parent->last = child;
    if (child->copies > parent->copies) parent->copies = child->copies;
}

static mica_status add_value(parser *p, text_node *sequence, text_kind kind, uint32_t value) {
    text_node *node;
    MICA_TRY(new_node(p, kind, &node));
    node->value = value;
    node->can_be_empty = kind == TEXT_EMPTY || kind == TEXT_ASSERT;
    add_child(sequence, node);
    return NULL;
}

/* Takes the points over. */
static mica_status add_class(parser *p, text_node *sequence, text_points *points) {
    text_node *node = NULL;
    mica_status status = NULL;
    text_points_sort(points);
    if (points->is_failed) status = MICA_NO_MEMORY();
    if (!status) status = new_node(p, TEXT_CLASS, &node);
    if (!status && points->n) {
        size_t size = points->n * sizeof *points->ranges;
        node->ranges = mica_arena_copy(&p->tree->arena, points->ranges, size);
        node->n_ranges = points->n;
        if (!node->ranges) status = MICA_NO_MEMORY();
    }
    text_points_deinit(points);
    if (!status) add_child(sequence, node);
    return status;
}

static mica_status add_literal(parser *p, text_node *sequence, uint32_t point) {
    uint32_t other = p->flags.folds ? text_next_case(point) : point;
    if (other == point) return add_value(p, sequence, TEXT_LITERAL, point);
    text_points points = {0};
    text_points_add(&points, point, point);
    for (; other != point; other = text_next_case(other)) text_points_add(&points, other, other);
    return add_class(p, sequence, &points);
}

/* ---- escapes ----------------------------------------------------------------------------------*/

static int hex_of(uint32_t c) {
    if (c >= '0' && c <= '9') return (int)(c - '0');
    if (c >= 'a' && c <= 'f') return (int)(c - 'a' + 10);
    return c >= 'A' && c <= 'F' ? (int)(c - 'A' + 10) : -1;
}

static bool is_octal(const parser *p) {
    return p->at < p->end && *p->at >= '0' && *p->at <= '7';
}

static bool is_word(uint32_t c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* What follows \x: two digits, or some in braces. */
static bool take_hex(parser *p, uint32_t *out) {
    if (p->at == p->end) return false;
    uint32_t c = take_point(p);
    *out = 0;
    if (c != '{') {
        if (p->at == p->end) return false;
        int high = hex_of(c), low = hex_of(take_point(p));
        *out = (uint32_t)(high * 16 + low);
        return high >= 0 && low >= 0;
    }
    for (int n = 0; p->at < p->end; n++) {
        c = take_point(p);
        if (c == '}') return n > 0;
        int digit = hex_of(c);
        if (digit < 0) return false;
        *out = *out * 16 + (uint32_t)digit;
        if (*out > TEXT_LAST_POINT) return false;
    }
    return false;
}

/* An escape that is one point; p is at its backslash. */
static mica_status take_escape(parser *p, uint32_t *out) {
    static const char names[] = "ntrfav", values[] = "\n\t\r\f\a\v";
    const char *begin = p->at++;
    if (p->at == p->end) return MICA_INVALID("trailing \\");
    uint32_t c = take_point(p);
    const char *named = c && c < 0x80 ? strchr(names, (int)c) : NULL;
    bool is_valid = true;
    if (named) {
        *out = (uint32_t)values[named - names];
    } else if (c == '0' || (c >= '1' && c <= '7' && is_octal(p))) {
        *out = c - '0';
        for (int i = 0; i < 2 && is_octal(p); i++) *out = *out * 8 + (uint32_t)(*p->at++ - '0');
    } else if (c == 'x') {
        is_valid = take_hex(p, out);
    } else {
        *out = c;
        is_valid = c < 0x80 && !is_word(c);
    }
    return is_valid ? NULL : wrong("invalid escape sequence", begin, p->at);
}

/* ---- classes ----------------------------------------------------------------------------------*/

typedef struct named_class {
    const char *name;
    text_range ranges[4];
    int n;
} named_class;

#define DIGITS                                                                                     \
    { '0', '9' }
#define UPPER                                                                                      \
    { 'A', 'Z' }
#define LOWER                                                                                      \
    { 'a', 'z' }

static const named_class posix_classes[] = {
    {"alnum", {DIGITS, UPPER, LOWER}, 3},
    {"alpha", {UPPER, LOWER}, 2},
    {"ascii", {{0, 0x7f}}, 1},
    {"blank", {{'\t', '\t'}, {' ', ' '}}, 2},
    {"cntrl", {{0, 0x1f}, {0x7f, 0x7f}}, 2},
    {"digit", {DIGITS}, 1},
    {"graph", {{'!', '~'}}, 1},
    {"lower", {LOWER}, 1},
    {"print", {{' ', '~'}}, 1},
    {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}, 4},
    {"space", {{'\t', '\r'}, {' ', ' '}}, 2},
    {"upper", {UPPER}, 1},
    {"word", {DIGITS, UPPER, LOWER, {'_', '_'}}, 4},
    {"xdigit", {DIGITS, {'A', 'F'}, {'a', 'f'}}, 3},
};

/* The name is the letter after the backslash. */
static const named_class perl_classes[] = {
    {"d", {DIGITS}, 1},
    {"s", {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}, 3},
    {"w", {DIGITS, UPPER, LOWER, {'_', '_'}}, 4},
};

/* The letters' cases count before the rest is taken. */
static void add_some(const parser *p, text_points *points, text_points *some, bool is_negated) {
    if (is_negated) {
        if (p->flags.folds) text_points_fold(some);
        text_points_negate(some);
    }
    text_points_add_all(points, some);
    text_points_deinit(some);
}

static void add_named(const parser *p, text_points *points, const named_class *class,
                      bool is_negated) {
    text_points some = {0};
    for (int i = 0; i < class->n; i++)
        text_points_add(&some, class->ranges[i].low, class->ranges[i].high);
    add_some(p, points, &some, is_negated);
}

/* \d and its like; false where p is at something else. */
static bool take_perl_class(parser *p, text_points *points) {
    if (left(p) < 2 || *p->at != '\\') return false;
    char c = p->at[1], small = (char)(c | 0x20);
    for (size_t i = 0; i < sizeof perl_classes / sizeof *perl_classes; i++) {
        if (perl_classes[i].name[0] != small) continue;
        p->at += 2;
        add_named(p, points, &perl_classes[i], c != small);
        return true;
    }
    return false;
}

/* [:alpha:] and its like. */
static mica_status take_posix_class(parser *p, text_points *points, bool *out_taken) {
    *out_taken = false;
    if (!is_next(p, "[:")) return NULL;
    const char *begin = p->at, *name = begin + 2, *end = name;
    while (end + 1 < p->end && (end[0] != ':' || end[1] != ']')) end++;
    if (end + 1 >= p->end) return NULL;
    bool is_negated = *name == '^';
    name += is_negated;
    p->at = end + 2;
    size_t n = (size_t)(end - name);
    for (size_t i = 0; i < sizeof posix_classes / sizeof *posix_classes; i++) {
        const named_class *class = &posix_classes[i];
        if (strlen(class->name) != n || memcmp(class->name, name, n) != 0) continue;
        add_named(p, points, class, is_negated);
        *out_taken = true;
        return NULL;
    }
    return wrong("invalid character class range", begin, p->at);
}

/* \pN, \p{Greek}, \P{^Lu}. */
static mica_status take_unicode_class(parser *p, text_points *points, bool *out_taken) {
    *out_taken = is_next(p, "\\p") || is_next(p, "\\P");
    if (!*out_taken) return NULL;
    const char *begin = p->at, *name, *end;
    bool is_negated = p->at[1] == 'P';
    p->at += 2;
    if (p->at == p->end) return wrong("invalid character class range", begin, p->end);
    name = p->at;
    if (take_point(p) == '{') {
        name = p->at;
        end = memchr(name, '}', left(p));
        if (!end) return wrong("invalid character class range", begin, p->end);
        p->at = end + 1;
    } else {
        end = p->at;
    }
    if (name < end && *name == '^') {
        is_negated = !is_negated;
        name++;
    }
    text_points some = {0};
    if (!text_points_add_named(&some, name, (size_t)(end - name)))
        return wrong("invalid character class range", begin, p->at);
    add_some(p, points, &some, is_negated);
    return NULL;
}

static mica_status take_class_point(parser *p, const char *class, uint32_t *out) {
    if (p->at == p->end) return wrong("missing ]", class, p->end);
    if (*p->at == '\\') return take_escape(p, out);
    *out = take_point(p);
    return NULL;
}

static mica_status take_range(parser *p, const char *class, text_points *points) {
    const char *begin = p->at;
    uint32_t low, high;
    MICA_TRY(take_class_point(p, class, &low));
    high = low;
    if (left(p) >= 2 && p->at[0] == '-' && p->at[1] != ']') {
        p->at++;
        MICA_TRY(take_class_point(p, class, &high));
        if (high < low) return wrong("invalid character class range", begin, p->at);
    }
    text_points_add(points, low, high);
    return NULL;
}

/* What stands between [ and ]; a ] that comes first is a point. */
static mica_status take_members(parser *p, const char *class, text_points *points) {
    for (bool is_first = true; p->at < p->end && (*p->at != ']' || is_first); is_first = false) {
        bool is_taken;
        MICA_TRY(take_posix_class(p, points, &is_taken));
        if (!is_taken) MICA_TRY(take_unicode_class(p, points, &is_taken));
        if (!is_taken && !take_perl_class(p, points)) MICA_TRY(take_range(p, class, points));
    }
    if (p->at == p->end) return wrong("missing ]", class, p->end);
    p->at++;
    return NULL;
}

static mica_status take_class(parser *p, text_node *sequence) {
    const char *class = p->at++;
    bool is_negated = p->at < p->end && *p->at == '^';
    p->at += is_negated;
    text_points points = {0};
    mica_status status = take_members(p, class, &points);
    if (status) {
        text_points_deinit(&points);
        return status;
    }
    if (p->flags.folds) text_points_fold(&points);
    if (is_negated) text_points_negate(&points);
    return add_class(p, sequence, &points);
}

/* ---- repetitions ------------------------------------------------------------------------------*/

/* A number as RE2 reads one here: without a leading zero, not too large to be meant as one. */
static bool take_count(parser *p, int32_t *out) {
    const char *s = p->at;
    if (s == p->end || *s < '0' || *s > '9') return false;
    if (p->end - s >= 2 && *s == '0' && s[1] >= '0' && s[1] <= '9') return false;
    for (*out = 0; s < p->end && *s >= '0' && *s <= '9'; s++) {
        if (*out >= 100000000) return false;
        *out = *out * 10 + (*s - '0');
    }
    p->at = s;
    return true;
}

/* {2}, {2,} or {2,5}; anything else leaves p where it is: a brace is a brace then. */
static bool take_counts(parser *p, int32_t *out_min, int32_t *out_max) {
    const char *begin = p->at++;
    bool is_counts = take_count(p, out_min);
    *out_max = *out_min;
    if (is_counts && p->at < p->end && *p->at == ',') {
        p->at++;
        if (p->at < p->end && *p->at == '}')
            *out_max = -1;
        else
            is_counts = take_count(p, out_max);
    }
    is_counts = is_counts && p->at < p->end && *p->at == '}';
    p->at = is_counts ? p->at + 1 : begin;
    return is_counts;
}

/* The operator, from `begin` to where p is, repeats the last atom. */
static mica_status repeat(parser *p, text_node *sequence, const char *begin, int32_t min,
                          int32_t max, bool is_greedy) {
    text_node *atom = sequence->last, *node;
    if ((max >= 0 && max < min) || min > TEXT_MAX_REPEAT || max > TEXT_MAX_REPEAT)
        return wrong("invalid repetition size", begin, p->at);
    if (!atom) return wrong("no argument for repetition operator", begin, p->at);
    MICA_TRY(new_node(p, TEXT_REPEAT, &node));
    node->min = min;
    node->max = max;
    node->is_greedy = is_greedy;
    node->can_be_empty = min == 0 || atom->can_be_empty;
    sequence->last = atom->previous;
    atom->previous = NULL;
    add_child(node, atom);
    int32_t copies = max < 0 ? min : max;
    if (copies > 0) node->copies *= copies;
    if (copies >= 2 && node->copies > TEXT_MAX_REPEAT)
        return wrong("invalid repetition size", begin, p->at);
    add_child(sequence, node);
    return NULL;
}

/* *, +, ? or {2,5}, and the ? that makes it lazy. last_repeat is where the repetition began that
 * p is right behind, or NULL. */
static mica_status take_repeat(parser *p, text_node *sequence, const char *last_repeat,
                               bool *out_taken) {
    const char *begin = p->at;
    int32_t min = *begin == '+', max = *begin == '?' ? 1 : -1;
    *out_taken = true;
    if (*begin == '{') {
        *out_taken = take_counts(p, &min, &max);
        if (!*out_taken) return NULL;
    } else {
        p->at++;
    }
    bool is_lazy = p->at < p->end && *p->at == '?';
    p->at += is_lazy;
    if (last_repeat) return wrong("bad repetition operator", last_repeat, p->at);
    return repeat(p, sequence, begin, min, max, is_lazy == p->flags.is_lazy);
}

/* ---- groups -----------------------------------------------------------------------------------*/

static mica_status take_choice(parser *p, text_node *sequence);

static mica_status take_group(parser *p, text_node *sequence, const flags *inside, bool is_kept) {
    flags outside = p->flags;
    text_node *group = sequence;
    p->flags = *inside;
    if (++p->depth > TEXT_MAX_DEPTH)
        return MICA_INVALID("groups are nested deeper than %d", TEXT_MAX_DEPTH);
    if (is_kept) {
        MICA_TRY(new_node(p, TEXT_GROUP, &group));
        group->value = (uint32_t)++p->tree->n_groups;
    }
    MICA_TRY(take_choice(p, group));
    if (p->at == p->end) return wrong("missing )", p->begin, p->end);
    p->at++;
    p->depth--;
    p->flags = outside;
    if (!is_kept) return NULL;
    group->can_be_empty = group->last->can_be_empty;
    add_child(sequence, group);
    return NULL;
}

/* A group's name is letters, digits, marks and connectors of any script. */
static mica_status check_name(const char *begin, const char *name, const char *end) {
    static const char categories[][3] = {"Lu", "Ll", "Lt", "Lm", "Lo",
                                         "Nl", "Mn", "Mc", "Nd", "Pc"};
    text_points points = {0};
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        text_points_add_named(&points, categories[i], 2);
    text_points_sort(&points);
    bool is_valid = name < end;
    for (const char *s = name; is_valid && s < end;) {
        uint32_t point = 0;
        s += text_utf8_next(s, (size_t)(end - s), &point);
        is_valid = text_points_have(&points, point);
    }
    bool is_failed = points.is_failed;
    text_points_deinit(&points);
    if (is_failed) return MICA_NO_MEMORY();
    return is_valid ? NULL : wrong("invalid named capture group", begin, end + 1);
}

/* (?P<name>...): names are checked, and not kept. */
static mica_status take_named_group(parser *p, text_node *sequence) {
    const char *begin = p->at, *end = memchr(begin, '>', left(p));
    if (!end) return wrong("invalid named capture group", begin, p->end);
    MICA_TRY(check_name(begin, begin + 4, end));
    p->at = end + 1;
    return take_group(p, sequence, &p->flags, true);
}

/* (?i-s) and (?i-s:...). */
static mica_status take_flags(parser *p, text_node *sequence) {
    const char *begin = p->at;
    flags changed = p->flags;
    bool is_on = true, is_flag = false, is_valid = true;
    p->at += 2;
    while (is_valid && p->at < p->end) {
        uint32_t c = take_point(p);
        if (c == ':' || c == ')') {
            if (!is_on && !is_flag) break;
            if (c == ':') return take_group(p, sequence, &changed, false);
            p->flags = changed;
            return NULL;
        }
        bool is_minus = c == '-' && is_on;
        is_flag = !is_minus;
        if (is_minus)
            is_on = false;
        else if (c == 'i')
            changed.folds = is_on;
        else if (c == 'm')
            changed.many_lines = is_on;
        else if (c == 's')
            changed.dot_takes_newline = is_on;
        else if (c == 'U')
            changed.is_lazy = is_on;
        else
            is_valid = false;
    }
    return wrong("invalid perl operator", begin, p->at);
}

static mica_status take_parenthesis(parser *p, text_node *sequence) {
    if (is_next(p, "(?P<") && left(p) > 4) return take_named_group(p, sequence);
    if (is_next(p, "(?")) return take_flags(p, sequence);
    p->at++;
    return take_group(p, sequence, &p->flags, true);
}

/* ---- atoms, sequences, choices ----------------------------------------------------------------*/

static mica_status take_backslash(parser *p, text_node *sequence) {
    static const char letters[] = "AzbBC";
    static const uint32_t asserted[] = {TEXT_BEGIN_TEXT, TEXT_END_TEXT, TEXT_WORD_EDGE,
                                        TEXT_NO_WORD_EDGE};
    const char *letter = left(p) > 1 && p->at[1] ? strchr(letters, p->at[1]) : NULL;
    if (letter) {
        p->at += 2;
        if (*letter == 'C') return add_value(p, sequence, TEXT_BYTE, 0);
        return add_value(p, sequence, TEXT_ASSERT, asserted[letter - letters]);
    }
    if (is_next(p, "\\Q")) {
        p->at += 2;
        while (p->at < p->end && !is_next(p, "\\E"))
            MICA_TRY(add_literal(p, sequence, take_point(p)));
        p->at += p->at < p->end ? 2 : 0;
        return NULL;
    }
    text_points points = {0};
    bool is_class;
    mica_status status = take_unicode_class(p, &points, &is_class);
    if (status) {
        text_points_deinit(&points);
        return status;
    }
    if (is_class || take_perl_class(p, &points)) {
        if (p->flags.folds) text_points_fold(&points);
        return add_class(p, sequence, &points);
    }
    uint32_t point = 0;
    MICA_TRY(take_escape(p, &point));
    return add_literal(p, sequence, point);
}

static mica_status take_atom(parser *p, text_node *sequence) {
    text_points points = {0};
    switch (*p->at) {
    case '(': return take_parenthesis(p, sequence);
    case '[': return take_class(p, sequence);
    case '\\': return take_backslash(p, sequence);
    case '.':
        p->at++;
        text_points_add(&points, 0, TEXT_LAST_POINT);
        if (!p->flags.dot_takes_newline) {
            points.n = 0;
            text_points_add(&points, 0, '\n' - 1);
            text_points_add(&points, '\n' + 1, TEXT_LAST_POINT);
        }
        return add_class(p, sequence, &points);
    case '^':
        p->at++;
        return add_value(p, sequence, TEXT_ASSERT,
                         p->flags.many_lines ? TEXT_BEGIN_LINE : TEXT_BEGIN_TEXT);
    case '$':
        p->at++;
        return add_value(p, sequence, TEXT_ASSERT,
                         p->flags.many_lines ? TEXT_END_LINE : TEXT_END_TEXT);
    default: return add_literal(p, sequence, take_point(p));
    }
}

/* Up to |, ) or the end. */
static mica_status take_sequence(parser *p, text_node *choice) {
    text_node *sequence;
    MICA_TRY(new_node(p, TEXT_SEQUENCE, &sequence));
    const char *last_repeat = NULL;
    while (p->at < p->end && *p->at != '|' && *p->at != ')') {
        const char *begin = p->at;
        bool is_repeat = strchr("*+?{", *p->at) && *p->at;
        if (is_repeat) MICA_TRY(take_repeat(p, sequence, last_repeat, &is_repeat));
        if (!is_repeat) MICA_TRY(take_atom(p, sequence));
        last_repeat = is_repeat ? begin : NULL;
    }
    if (!sequence->last) MICA_TRY(add_value(p, sequence, TEXT_EMPTY, 0));
    sequence->can_be_empty = true;
    for (const text_node *atom = sequence->last; atom; atom = atom->previous)
        sequence->can_be_empty &= atom->can_be_empty;
    add_child(choice, sequence);
    return NULL;
}

static mica_status take_choice(parser *p, text_node *parent) {
    text_node *choice;
    MICA_TRY(new_node(p, TEXT_CHOICE, &choice));
    for (bool is_more = true; is_more;) {
        MICA_TRY(take_sequence(p, choice));
        choice->can_be_empty |= choice->last->can_be_empty;
        is_more = p->at < p->end && *p->at == '|';
        p->at += is_more;
    }
    add_child(parent, choice);
    return NULL;
}

mica_status text_regex_parse(const char *pattern, size_t n, text_tree *out_tree) {
    *out_tree = (text_tree){0};
    mica_arena_init(&out_tree->arena);
    parser p = {.tree = out_tree, .begin = pattern, .at = pattern, .end = pattern + n};
    uint32_t point;
    for (size_t i = 0, length; i < n; i += length) {
        length = text_utf8_next(pattern + i, n - i, &point);
        if (!length) return MICA_INVALID("invalid UTF-8");
    }
    MICA_TRY(new_node(&p, TEXT_SEQUENCE, &out_tree->root));
    MICA_TRY(take_choice(&p, out_tree->root));
    if (p.at < p.end) return wrong("unexpected )", p.begin, p.end);
    return NULL;
}

void text_tree_deinit(text_tree *tree) {
    mica_arena_deinit(&tree->arena);
}
