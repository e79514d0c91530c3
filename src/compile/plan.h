/* compile/plan.h: from a graph to commands over planned memory.
 *
 * A value lives at a place: an offset from a base. Bases are the arena, the block of constants,
 * each input, each output, and registers, which hold addresses that change while loops run. Control
 * flow holds nested lists of commands; what they need lies inside the arena too, so one lease
 * before the first command covers everything but lists (list_push), which grow while the run goes
 * on.
 *
 * Values whose lives do not overlap share memory; reshape and barrier are the same memory; a result
 * takes over the memory of an operand that dies there, where the kernel allows it.
 *
 * Loops: carry i is at the address in register `current`. The body writes the new carry in place
 * when the old one is dead by then; else to the address in `next`, and the two are exchanged. A
 * scan's x is read from, and its y written to, its slice of the whole array, without a copy.
 */
#ifndef MICA_COMPILE_PLAN_H
#define MICA_COMPILE_PLAN_H

#include "ir/graph.h"

enum {
    MICA_BASE_STORAGE = -3, /* only while planning: offset is the number of a storage */
    MICA_BASE_LIST = -2,    /* offset is the number of a list */
    MICA_BASE_NONE = -1,    /* tokens */
    MICA_BASE_ARENA = 0,
    MICA_BASE_CONSTANTS = 1,
    MICA_BASE_FIRST = 2, /* inputs, then outputs, then registers */
    MICA_PLAN_ALIGNMENT = 256,
    MICA_PLAN_IN_PLACE = 4, /* results whose operands in place a mask tells */
};

typedef struct mica_place {
    int32_t base;
    int64_t offset;
} mica_place;

/* One thing a kernel can do: write a result over the memory of an operand. */
typedef struct mica_in_place {
    int32_t result, operand;
} mica_in_place;

/* All of them: masks for the first results and operands, and pairs in ascending order of (result,
 * operand), which live as long as the kernel. */
typedef struct mica_in_place_set {
    uint32_t masks[MICA_PLAN_IN_PLACE]; /* [r] bit i: result r may take operand i's memory */
    const mica_in_place *pairs;
    int32_t n_pairs;
} mica_in_place_set;

typedef enum mica_command_kind {
    MICA_COMMAND_LAUNCH,
    MICA_COMMAND_COPY,
    MICA_COMMAND_BRANCH, /* cond, case; a call that was not inlined is a branch that is taken */
    MICA_COMMAND_WHILE,
    MICA_COMMAND_SCAN,
    MICA_COMMAND_LIST_EMPTY,
    MICA_COMMAND_LIST_PUSH,
    MICA_COMMAND_LIST_POP,
    MICA_COMMAND_LIST_COPY,
    MICA_COMMAND_CALLBACK,
    MICA_COMMAND_COLLECTIVE, /* over ranks (dist/nodes.h), in the host's memory */
} mica_command_kind;

typedef struct mica_commands {
    struct mica_command *data;
    int32_t n, capacity;
    mica_place *outputs; /* where each output is at the end */
} mica_commands;

typedef struct mica_carry {
    mica_type_kind kind;
    size_t bytes;
    mica_place initial, result;
    mica_place spare;      /* the second place of an exchanged carry, else MICA_BASE_NONE */
    int32_t current, next; /* registers (bases) of a tensor, numbers of lists */
    bool exchange;
} mica_carry;

typedef struct mica_scan_slice {
    mica_place whole;
    int32_t base; /* the register that holds the slice's address */
    size_t bytes; /* of one slice */
} mica_scan_slice;

typedef struct mica_command {
    mica_command_kind kind;
    const mica_node *node; /* NULL: a copy that the planner added */
    void *kernel;
    int32_t record; /* its number in a report, where the program has one */
    int32_t n_operands, n_results, n_regions, n_carries, n_xs, n_ys;
    mica_place *operands, *results;
    mica_place scratch;
    mica_in_place_set in_place;
    size_t bytes; /* of a copy or a list's element */
    mica_commands *regions;
    mica_carry *carries;
    mica_scan_slice *xs, *ys;
} mica_command;

/* What the target says about a node that it will launch. */
typedef struct mica_prepared {
    void *kernel;
    size_t scratch_bytes;
    mica_in_place_set in_place;
} mica_prepared;

typedef struct mica_plan_target {
    mica_status (*prepare)(void *context, const mica_node *node, mica_prepared *out_prepared);
    void (*discard)(void *context, void *kernel);
    void *context;
} mica_plan_target;

typedef struct mica_plan {
    mica_arena arena;
    mica_graph *graph; /* retained: commands point to its nodes */
    mica_commands commands;
    size_t arena_bytes;
    uint8_t *constants;
    size_t constants_bytes;
    int32_t n_bases, n_lists;
    int32_t most_operands; /* of one launch, with its results */
    size_t host_bytes;     /* most that a callback's or collective's values take on the host */
    /* Per input: the output that may be written over it, or -1. */
    int32_t *overwritten_by;
    void **kernels;
    int32_t n_kernels, kernels_capacity;
    bool has_lists, has_callbacks, has_branches; /* collectives count as callbacks */
    double work; /* a guess, in bytes and operations; infinite with loops of unknown length */
    mica_plan_target target;
} mica_plan;

/* `share` false gives every value memory of its own. */
MICA_MUST_CHECK mica_status mica_plan_create(mica_graph *g, const mica_plan_target *target,
                                             bool share, mica_plan **out_plan);
void mica_plan_destroy(mica_plan *plan); /* and its kernels; NULL is allowed */
/* The commands as text, for people. */
MICA_MUST_CHECK mica_status mica_plan_print(const mica_plan *plan, char **out_text);

#endif
