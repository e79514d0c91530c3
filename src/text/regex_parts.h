/* text/regex_parts.h: between the parts of the engine: pattern -> tree -> program. */
#ifndef MICA_TEXT_REGEX_PARTS_H
#define MICA_TEXT_REGEX_PARTS_H

#include "base/arena.h"
#include "base/memory.h"
#include "text/points.h"
#include "text/regex.h"

/* What must hold between two bytes. */
enum {
    TEXT_BEGIN_TEXT = 1,
    TEXT_END_TEXT = 2,
    TEXT_BEGIN_LINE = 4,
    TEXT_END_LINE = 8,
    TEXT_WORD_EDGE = 16,
    TEXT_NO_WORD_EDGE = 32,
};

typedef enum text_kind {
    TEXT_EMPTY,
    TEXT_LITERAL, /* a point */
    TEXT_CLASS,   /* one of some points; of none where it has none */
    TEXT_BYTE,    /* any byte */
    TEXT_ASSERT,
    TEXT_GROUP,
    TEXT_REPEAT,
    TEXT_SEQUENCE,
    TEXT_CHOICE,
} text_kind;

typedef struct text_node {
    text_kind kind;
    bool is_greedy, can_be_empty;
    uint32_t value;   /* the point, what is asserted, the number of the group */
    int32_t min, max; /* max -1: no bound */
    int32_t copies;   /* how often counted repeats inside, nested, copy what they repeat */
    const text_range *ranges;
    size_t n_ranges;
    struct text_node *last, *previous; /* children, from the last one back */
} text_node;

#define TEXT_MAX_REPEAT 1000
#define TEXT_MAX_DEPTH 500

typedef struct text_tree {
    mica_arena arena;
    text_node *root;
    int32_t n_groups;
} text_tree;

/* The tree is to be deinited in either case. */
MICA_MUST_CHECK mica_status text_regex_parse(const char *pattern, size_t n, text_tree *out_tree);
void text_tree_deinit(text_tree *tree);

typedef enum text_op {
    TEXT_OP_FAIL,
    TEXT_OP_MATCH,
    TEXT_OP_RANGE, /* a byte from low to high, then `out` */
    TEXT_OP_TABLE, /* a byte in one of `count` ranges of the table from `out` on */
    TEXT_OP_SPLIT, /* `out`, or else `other` */
    TEXT_OP_ASSERT,
    TEXT_OP_SLOT, /* keeps the place, in slot `other` */
} text_op;

typedef struct text_state {
    uint8_t op, low, high;
    uint32_t out, other;
} text_state;

/* One row of a table: a byte from low to high leads to `out`. In order. */
typedef struct text_branch {
    uint8_t low, high;
    uint32_t out;
} text_branch;

/* Bounds of a program, near to those that RE2 has by default. */
#define TEXT_MAX_STATES (1u << 18)
#define TEXT_MAX_BRANCHES (1u << 19)

struct text_regex {
    mica_refcount refcount;
    text_state *states;
    text_branch *branches;
    uint32_t n_states, n_branches, start;
    int32_t n_groups;
    bool is_anchored; /* no match begins after the text's begin */
    bool has_first;   /* each match begins with a byte of `first` */
    bool first[256];
    int only_first; /* the byte, where `first` has one; else -1 */
    uint64_t hash;  /* of the pattern */
    size_t n_pattern;
    char pattern[];
};

MICA_MUST_CHECK mica_status text_regex_compile(const text_tree *tree, text_regex *regex);

#endif
