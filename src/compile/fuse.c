/* Nodes that one loop nest can compute become one node: a `call` named MICA_FUSED.
 *
 * A group begins with a node whose users are all decided on, and takes in the nodes that make its
 * operands, the latest first. A node comes in when the nest can look at it through an index map,
 * and when nothing is computed twice that costs anything: all its users are in the group, or it is
 * free, or it is stored as one more result of the group. Groups never make a circle: no path that
 * leaves a group may come back to it.
 *
 * What is cheap and made from few arrays, some of half precision, is computed again by each group
 * that reads it (`again`), instead of being written and read back. It is stored only where
 * something else than a group reads it.
 *
 * For devices that compute faster than they read, what a group would then still keep for other
 * groups alone is made anew in each of them, where what it is made from is no larger than itself.
 *
 * The bits of every value stay what they were: see codegen/nest.h. */
#include <string.h>

#include "base/log.h"
#include "base/plant.h"
#include "base/strings.h"
#include "codegen/nest.h"
#include "compile/passes.h"
#include "compile/rewrite.h"
#include "ir/contraction.h"

#define MOST_NODES 160   /* of a group */
#define MOST_OPERANDS 24 /* that a group reads */
#define LONG_ROW 65536   /* elements; a longer reduction is shared between threads by the kernel */
#define MOST_AGAIN 32    /* nodes that are computed again for a value, free ones left out */
#define MOST_ANEW 32     /* nodes that make a value which is made anew */
#define MOST_ORIGINS 128 /* nodes that are looked at for that */
#define LEAST_AGAIN 4096 /* elements worth it */

typedef struct fusion {
    int32_t root, first; /* first: of its members, linked by next_member */
    int32_t n_nodes;
    bool keeps_rows;     /* values that are one per row may be results */
    mica_nest_role role; /* MAP: no reduction yet */
    mica_type domain;    /* the nest's loops */
    int32_t leading;     /* of a group with a reduction: see mica_nest_leading */
} fusion;

typedef struct fusing {
    mica_rewrite w;
    int32_t *group_of;    /* per node: the number of its group, or -1 */
    int32_t *next_member; /* per node of a group: another one, or -1 */
    fusion *groups;
    int32_t n_groups;
    int32_t **users; /* per node: its users, ended by -1 */
    bool *is_output, *done;
    int32_t *visited, stamp, *stack; /* of the search for circles */
    bool *candidate;
    bool *again, *stored; /* per node: each reader computes it; something reads it from memory */
    uint8_t *refused;     /* per node: why it came into no group, or not into that of its user */
    bool alone;           /* every node by itself */
    bool computes_again;  /* rather than store and read */
    bool *anew;           /* per node: other groups make it anew instead of reading it */
    bool *kept;           /* per node: what is made anew reads it */
} fusing;

/* Why a node did not join the group of one that reads it. */
enum {
    NOT_ASKED,
    GROUP_IS_FULL,
    READS_TOO_MUCH,
    OTHER_ROWS,
    WASTEFUL,
    OTHER_SHAPE,
    CIRCLE,
    NO_NEST
};
static const char *const refusals[] = {
    [NOT_ASKED] = "nothing next to it can be computed in the same loops",
    [GROUP_IS_FULL] = "the kernel that reads it has as many nodes as one may have",
    [READS_TOO_MUCH] = "the kernel would read more than 24 arrays",
    [OTHER_ROWS] = "it reduces other rows than the kernel that reads it, or too few",
    [WASTEFUL] = "the kernel that reads it would compute it many times over",
    [OTHER_SHAPE] = "it is also read elsewhere, and its shape is not that of the kernel's results",
    [CIRCLE] = "the kernel would wait for its own result",
    [NO_NEST] = "no loop nest comes of it and what reads it",
};

/* ---- the graph around a node ------------------------------------------------------------------*/

static mica_status find_users(fusing *f) {
    const mica_graph *g = f->w.from;
    int32_t total = g->n_nodes;
    for (int32_t i = 0; i < g->n_nodes; i++) total += g->nodes[i]->n_operands;
    int32_t *room = mica_alloc(sizeof *room * (size_t)total);
    int32_t *counts = mica_calloc((size_t)g->n_nodes, sizeof *counts);
    f->users = mica_calloc((size_t)g->n_nodes, sizeof *f->users);
    if (!room || !counts || !f->users) {
        mica_free(room);
        mica_free(counts);
        return MICA_NO_MEMORY();
    }
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; k < g->nodes[i]->n_operands; k++)
            counts[g->nodes[i]->operands[k].node->id]++;
    int32_t *next = room;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        f->users[i] = next;
        next += counts[i] + 1;
        next[-1] = -1;
        counts[i] = 0;
    }
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; k < g->nodes[i]->n_operands; k++) {
            int32_t x = g->nodes[i]->operands[k].node->id;
            f->users[x][counts[x]++] = i;
        }
    mica_free(counts);
    return NULL;
}

/* Everything that must be made after node i, step by step: its users, and with a node its whole
 * group. true when this comes to a member of group `number`. */
static bool leads_back(fusing *f, int32_t from, int32_t number) {
    int32_t n = 0;
    f->stamp++;
    for (const int32_t *u = f->users[from]; *u >= 0; u++)
        if (f->group_of[*u] != number && f->visited[*u] != f->stamp)
            f->visited[*u] = f->stamp, f->stack[n++] = *u;
    while (n > 0) {
        int32_t at = f->stack[--n];
        for (const int32_t *u = f->users[at]; *u >= 0; u++) {
            if (f->group_of[*u] == number) return true;
            if (f->visited[*u] != f->stamp) f->visited[*u] = f->stamp, f->stack[n++] = *u;
        }
        if (f->group_of[at] < 0) continue;
        for (int32_t k = f->groups[f->group_of[at]].first; k >= 0; k = f->next_member[k])
            if (f->visited[k] != f->stamp) f->visited[k] = f->stamp, f->stack[n++] = k;
    }
    return false;
}

/* ---- may a node come in? ----------------------------------------------------------------------*/

static bool same_dims(const mica_type *a, const mica_type *b) {
    return a->rank == b->rank && !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank);
}

static bool has_outside_users(const fusing *f, int32_t i, int32_t number) {
    if (f->is_output[i]) return true;
    for (const int32_t *u = f->users[i]; *u >= 0; u++)
        if (f->group_of[*u] != number) return true;
    return false;
}

/* Whether a group has a member as a result. */
static bool is_stored(const fusing *f, int32_t i) {
    return f->is_output[i] || f->kept[i] ||
           (!f->anew[i] && has_outside_users(f, i, f->group_of[i]));
}

/* A nest of rows that is worth it: enough of them, or short ones. */
static bool is_good_row(const mica_node *n) {
    const mica_type *x = mica_operand_type(n, 0);
    int64_t rows = 1, row = 1;
    for (int32_t i = 0; i < x->rank; i++) *(i < mica_nest_leading(n) ? &rows : &row) *= x->dims[i];
    return rows >= 8 || row <= LONG_ROW;
}

/* The reduction agrees with the loops of the group, or gives it its rows. */
static bool fits_rows(const fusion *group, const mica_node *n) {
    if (!is_good_row(n)) return false;
    if (!same_dims(mica_operand_type(n, 0), &group->domain)) return false;
    return group->role == MICA_ROLE_MAP ||
           (group->role == MICA_ROLE_ROW && group->leading == mica_nest_leading(n));
}

/* One value per row, or per turn of some of the outer loops: its axes are the domain's first. */
static bool follows_rows(const fusion *group, const mica_type *type) {
    int32_t loop = 0;
    for (int32_t i = 0; i < type->rank; i++) {
        if (type->dims[i] == 1) continue;
        while (loop < group->domain.rank && group->domain.dims[loop] == 1) loop++;
        if (loop == group->domain.rank || group->domain.dims[loop++] != type->dims[i]) return false;
    }
    return true;
}

/* A stored result must be of the nest's shape, or one per row. Columns store lines only. */
static bool may_be_stored(const fusion *group, const mica_type *type) {
    if (group->role == MICA_ROLE_COLUMN) return false;
    return same_dims(type, &group->domain) || (group->keeps_rows && follows_rows(group, type));
}

/* Looked at through a broadcast it would be computed many times over. */
static bool is_wasteful(const fusion *group, const mica_node *n) {
    return mica_nest_is_costly(n) && !follows_rows(group, &n->results[0]) &&
           4 * mica_type_elements(&n->results[0]) < mica_type_elements(&group->domain);
}

/* ---- values that are computed again -----------------------------------------------------------*/

/* What a value is made from, down to the arrays that are read. */
typedef struct origins {
    int32_t n_nodes, n_seen;
    int64_t bytes, elements; /* elements: of the value */
    bool widens;             /* some of it is half precision */
    bool has_wide;           /* some large array is not */
} origins;

static bool is_half(const mica_type *type) {
    return type->dtype == MICA_DTYPE_f16 || type->dtype == MICA_DTYPE_bf16;
}

static void find_origins(fusing *f, const mica_node *n, origins *o) {
    for (int32_t k = 0; k < n->n_operands && o->n_seen <= MOST_ORIGINS; k++) {
        const mica_node *x = n->operands[k].node;
        if (f->visited[x->id] == f->stamp) continue;
        f->visited[x->id] = f->stamp;
        bool is_free = x->op != MICA_OP_PARAMETER && mica_nest_role_of(x) == MICA_ROLE_FREE;
        if (!is_free && !f->again[x->id]) {
            const mica_type *type = mica_operand_type(n, k);
            o->bytes += (int64_t)mica_type_bytes(type);
            o->widens = o->widens || is_half(type);
            o->has_wide = o->has_wide || (mica_dtype_bytes(type->dtype) > 2 &&
                                          mica_type_elements(type) > o->elements / 8);
            continue;
        }
        o->n_nodes += !is_free;
        o->n_seen++;
        find_origins(f, x, o);
    }
}

/* Of operands on which this is decided. f32 from three arrays of half precision: each of two or
 * three readers reads six bytes instead of four, but four are not written, and most readers look at
 * one of the arrays anyway. Truth values say what an activation did, and are read like it. */
static bool is_made_again(fusing *f, const mica_node *n) {
    if (n->op == MICA_OP_PARAMETER || mica_nest_role_of(n) != MICA_ROLE_MAP ||
        mica_nest_is_costly(n))
        return false;
    const mica_type *type = &n->results[0];
    int64_t elements = mica_type_elements(type);
    bool is_truth = type->dtype == MICA_DTYPE_bool;
    if ((!is_truth && type->dtype != MICA_DTYPE_f32) || elements < LEAST_AGAIN ||
        f->is_output[n->id])
        return false;
    for (const int32_t *u = f->users[n->id]; *u >= 0; u++)
        if (mica_nest_role_of(f->w.from->nodes[*u]) == MICA_ROLE_NONE) return false;
    origins o = {.n_nodes = 1, .elements = elements};
    f->stamp++;
    find_origins(f, n, &o);
    int64_t vectors = elements / 8; /* small operands beside the large ones */
    return o.widens && !o.has_wide && o.n_nodes <= MOST_AGAIN && o.n_seen <= MOST_ORIGINS &&
           o.bytes <= elements * (is_truth ? 4 : 6) + vectors;
}

/* Whether something that is in no group, or is made by itself, reads the node. Its users are all
 * decided on. */
static bool is_read(const fusing *f, int32_t i) {
    if (f->is_output[i]) return true;
    for (const int32_t *u = f->users[i]; *u >= 0; u++) {
        const mica_node *user = f->w.from->nodes[*u];
        if (f->group_of[*u] >= 0) continue;
        bool is_copied = f->again[*u] || mica_nest_role_of(user) == MICA_ROLE_FREE;
        if (!is_copied || f->stored[*u]) return true;
    }
    return false;
}

/* ---- joining ----------------------------------------------------------------------------------*/

static int32_t count_new(fusing *f, const mica_node *n, int32_t number, int32_t more) {
    int32_t count = 0;
    for (int32_t k = 0; k < n->n_operands; k++) {
        int32_t x = n->operands[k].node->id;
        if (f->group_of[x] == number || x == more || f->visited[x] == f->stamp) continue;
        f->visited[x] = f->stamp;
        count += f->again[x] ? count_new(f, f->w.from->nodes[x], number, more) : 1;
    }
    return count;
}

/* What the group would read with one more node. */
static int32_t count_outside_operands(fusing *f, int32_t number, const mica_node *more) {
    f->stamp++;
    int32_t n = count_new(f, more, number, more->id);
    for (int32_t i = f->groups[number].first; i >= 0; i = f->next_member[i])
        n += count_new(f, f->w.from->nodes[i], number, more->id);
    return n;
}

static bool refuse(fusing *f, const mica_node *n, uint8_t why) {
    f->refused[n->id] = why;
    return false;
}

static bool may_join(fusing *f, int32_t number, const mica_node *n) {
    fusion *group = &f->groups[number];
    mica_nest_role role = mica_nest_role_of(n);
    if (role == MICA_ROLE_NONE || role == MICA_ROLE_COLUMN) return false;
    if (group->n_nodes >= MOST_NODES) return refuse(f, n, GROUP_IS_FULL);
    bool outside = has_outside_users(f, n->id, number);
    if (role == MICA_ROLE_FREE && outside) return false; /* copied when the body is made */
    if (f->again[n->id] && outside) {                    /* too, and what it reads may come in */
        for (int32_t k = 0; k < n->n_operands; k++) f->candidate[n->operands[k].node->id] = true;
        group->n_nodes++;
        return false;
    }
    if (role == MICA_ROLE_ROW && !fits_rows(group, n)) return refuse(f, n, OTHER_ROWS);
    if (role == MICA_ROLE_MAP && is_wasteful(group, n)) return refuse(f, n, WASTEFUL);
    if (outside && !may_be_stored(group, &n->results[0])) return refuse(f, n, OTHER_SHAPE);
    if (outside && leads_back(f, n->id, number)) return refuse(f, n, CIRCLE);
    return count_outside_operands(f, number, n) <= MOST_OPERANDS || refuse(f, n, READS_TOO_MUCH);
}

static void join(fusing *f, int32_t number, const mica_node *n) {
    fusion *group = &f->groups[number];
    f->group_of[n->id] = number;
    f->next_member[n->id] = group->first;
    group->first = n->id;
    group->n_nodes++;
    if (mica_nest_role_of(n) == MICA_ROLE_ROW) {
        group->role = MICA_ROLE_ROW;
        group->leading = mica_nest_leading(n);
    }
    for (int32_t k = 0; k < n->n_operands; k++) f->candidate[n->operands[k].node->id] = true;
}

static void begin_group(fusing *f, const mica_node *root, mica_nest_role role, bool keeps_rows) {
    fusion *group = &f->groups[f->n_groups];
    bool reduces = role == MICA_ROLE_ROW || role == MICA_ROLE_COLUMN;
    *group = (fusion){.root = root->id,
                      .first = -1,
                      .keeps_rows = keeps_rows,
                      .role = reduces ? role : MICA_ROLE_MAP,
                      .domain = reduces ? *mica_operand_type(root, 0) : root->results[0],
                      .leading = reduces ? mica_nest_leading(root) : 0};
    join(f, f->n_groups, root);
    if (reduces) group->role = role;
}

static void leave(fusing *f, int32_t number) {
    for (int32_t i = f->groups[number].first, next; i >= 0; i = next) {
        next = f->next_member[i];
        f->group_of[i] = -1;
        if (i != f->groups[number].root) f->refused[i] = NO_NEST;
    }
}

/* Reductions of columns that go over the same loops become one nest, where that makes no circle. */
static void join_siblings(fusing *f, int32_t number) {
    const mica_graph *g = f->w.from;
    const mica_node *root = g->nodes[f->groups[number].root];
    if (f->groups[number].role != MICA_ROLE_COLUMN) return;
    for (int32_t i = root->id - 1; i >= 0; i--) {
        const mica_node *n = g->nodes[i];
        if (n->op != MICA_OP_reduce || f->group_of[i] >= 0 ||
            mica_nest_role_of(n) != MICA_ROLE_COLUMN ||
            !same_dims(mica_operand_type(n, 0), &f->groups[number].domain) ||
            mica_nest_leading(n) != f->groups[number].leading || leads_back(f, i, number))
            continue;
        bool shares = false;
        for (const int32_t *u = f->users[n->operands[0].node->id]; *u >= 0; u++)
            shares = shares || f->group_of[*u] == number;
        if (shares) join(f, number, n);
    }
}

static void take_in(fusing *f, int32_t number) {
    const mica_graph *g = f->w.from;
    for (int32_t i = f->groups[number].root - 1; i >= 0; i--)
        if (f->candidate[i] && f->group_of[i] < 0 && may_join(f, number, g->nodes[i]))
            join(f, number, g->nodes[i]);
}

static bool form_group(fusing *f, const mica_node *root, bool keeps_rows) {
    mica_nest_role role = mica_nest_role_of(root);
    if (role == MICA_ROLE_NONE || role == MICA_ROLE_FREE) return false;
    if (role == MICA_ROLE_ROW && !is_good_row(root)) return false;
    memset(f->candidate, 0, sizeof *f->candidate * (size_t)f->w.from->n_nodes);
    begin_group(f, root, role, keeps_rows);
    if (f->alone) return true;
    take_in(f, f->n_groups);
    join_siblings(f, f->n_groups);
    take_in(f, f->n_groups);
    return true;
}

/* ---- bodies -----------------------------------------------------------------------------------*/

/* A body under construction: what outer values became, and its parameters. */
typedef struct body {
    mica_graph *graph;
    mica_value *values;    /* per node of the outer graph */
    mica_value *arguments; /* outer values, one per parameter */
    int32_t n_arguments;
    mica_value *results; /* outer values, one per output */
    int32_t n_results;
} body;

/* Outside nodes that cost nothing, and members of other groups that these do not store, are made
 * inside too, down to what they read. */
static mica_value bring_in(const fusing *f, body *b, mica_value v, int32_t number) {
    const mica_node *n = v.node;
    mica_value *slot = &b->values[n->id];
    if (n->n_results == 1 && !mica_value_is_null(*slot)) return *slot;
    bool is_free = !f->alone && n->op != MICA_OP_PARAMETER &&
                   (f->again[n->id] || mica_nest_role_of(n) == MICA_ROLE_FREE);
    bool is_anew = f->group_of[n->id] >= 0 && !is_stored(f, n->id);
    if (is_free || is_anew || f->group_of[n->id] == number) {
        mica_value operands[8];
        for (int32_t i = 0; i < n->n_operands && i < 8; i++)
            operands[i] = bring_in(f, b, n->operands[i], number);
        mica_node *made = mica_node_clone(b->graph, n, operands);
        return *slot = made ? mica_node_result(made, 0) : MICA_NULL_VALUE;
    }
    for (int32_t i = 0; i < b->n_arguments; i++)
        if (mica_value_same(b->arguments[i], v)) /* a graph that has failed stops growing */
            return i < b->graph->n_parameters ? b->graph->parameters[i] : MICA_NULL_VALUE;
    b->arguments[b->n_arguments++] = v;
    mica_value parameter = mica_parameter(b->graph, mica_value_type(v));
    if (n->n_results == 1) *slot = parameter;
    return parameter;
}

static mica_status make_body(const fusing *f, int32_t number, body *b) {
    const mica_graph *g = f->w.from;
    size_t n = (size_t)g->n_nodes, most = 1;
    for (int32_t i = 0; i < g->n_nodes; i++) most += (size_t)g->nodes[i]->n_operands;
    *b = (body){.values = mica_calloc(n, sizeof *b->values),
                .arguments = mica_alloc(sizeof *b->arguments * most),
                .results = mica_alloc(sizeof *b->results * MOST_NODES)};
    if (!b->values || !b->arguments || !b->results) return MICA_NO_MEMORY();
    MICA_TRY(mica_graph_create(MICA_FUSED, &b->graph));
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (f->group_of[i] == number && is_stored(f, i))
            bring_in(f, b, mica_node_result(g->nodes[i], 0), number);
    /* The root first: result 0 is the one that may be written in place. */
    int32_t root = f->groups[number].root;
    if (is_stored(f, root)) b->results[b->n_results++] = mica_node_result(g->nodes[root], 0);
    for (int32_t i = g->n_nodes - 1; i >= 0; i--)
        if (f->group_of[i] == number && i != root && is_stored(f, i))
            b->results[b->n_results++] = mica_node_result(g->nodes[i], 0);
    for (int32_t i = 0; i < b->n_results; i++)
        mica_output(b->graph, b->values[b->results[i].node->id]);
    return mica_graph_check(b->graph);
}

static void free_body(body *b) {
    mica_graph_release(b->graph);
    mica_free(b->values);
    mica_free(b->arguments);
    mica_free(b->results);
}

/* A group is worth a kernel when it saves one: two nodes that do something. */
static mica_status is_worth_it(fusing *f, int32_t number, bool *out_worth) {
    int32_t busy = 0;
    body b;
    mica_nest *nest = NULL;
    mica_status status = make_body(f, number, &b);
    for (int32_t i = 0; !status && i < b.graph->n_nodes; i++)
        busy +=
            b.graph->nodes[i]->op != MICA_OP_PARAMETER && b.graph->nodes[i]->op != MICA_OP_constant;
    /* A nest adds up columns faster than a GPU's reduction by itself. */
    bool is_one_enough =
        f->alone || (f->computes_again && f->groups[number].role == MICA_ROLE_COLUMN);
    *out_worth = !status && busy >= (is_one_enough ? 1 : 2);
    if (*out_worth) status = mica_nest_create(b.graph, &nest);
    if (mica_status_code(status) == MICA_UNSUPPORTED) {
        mica_status_release(status);
        status = NULL;
        *out_worth = false;
    }
    mica_nest_destroy(nest);
    free_body(&b);
    return status;
}

/* First with results that are one per row; without these when no nest comes of it. */
static mica_status group_node(fusing *f, const mica_node *n) {
    for (int attempt = 0; attempt < 2; attempt++) {
        bool worth = false;
        if (!form_group(f, n, attempt == 0)) return NULL;
        MICA_TRY(is_worth_it(f, f->n_groups, &worth));
        if (worth) {
            f->n_groups++;
            return NULL;
        }
        leave(f, f->n_groups);
    }
    return NULL;
}

/* ---- what is made anew ------------------------------------------------------------------------*/

/* What making a value anew comes to. */
typedef struct making {
    int32_t nodes;
    int64_t bytes; /* of the arrays that it reads, but for those that are one per row */
    int32_t kept[MOST_ANEW], n_kept; /* nodes that would have to be stored for it */
} making;

static bool has_ungrouped_users(const fusing *f, int32_t i) {
    for (const int32_t *u = f->users[i]; *u >= 0; u++)
        if (f->group_of[*u] < 0 && mica_nest_role_of(f->w.from->nodes[*u]) != MICA_ROLE_FREE)
            return true;
    return f->is_output[i];
}

/* Free nodes have no group: what reads them is found behind them. */
static bool is_read_by_groups(const fusing *f, int32_t i, int32_t number) {
    for (const int32_t *u = f->users[i]; *u >= 0; u++) {
        if (f->group_of[*u] == number) continue;
        if (f->group_of[*u] >= 0) continue;
        if (f->is_output[*u] || has_ungrouped_users(f, *u)) return false;
        if (!is_read_by_groups(f, *u, number)) return false;
    }
    return true;
}

/* Adds what makes node i, which is not stored. */
static bool add_making(fusing *f, int32_t i, int64_t elements, making *m) {
    const mica_node *n = f->w.from->nodes[i];
    if (f->visited[i] == f->stamp) return true;
    f->visited[i] = f->stamp;
    if (n->op == MICA_OP_constant) return true;
    int32_t number = f->group_of[i];
    mica_nest_role role = n->op == MICA_OP_PARAMETER ? MICA_ROLE_NONE : mica_nest_role_of(n);
    bool is_made = number >= 0 ? role == MICA_ROLE_MAP && !is_stored(f, i)
                               : role == MICA_ROLE_FREE || f->again[i];
    if (!is_made) {
        if (number >= 0 && !is_stored(f, i)) { /* a reduction that only its own group reads */
            if (m->n_kept == MOST_ANEW || !may_be_stored(&f->groups[number], &n->results[0]))
                return false;
            m->kept[m->n_kept++] = i;
        }
        if (n->n_results != 1 || n->results[0].kind != MICA_TENSOR) return false;
        if (8 * mica_type_elements(&n->results[0]) > elements)
            m->bytes += (int64_t)mica_type_bytes(&n->results[0]);
        return true;
    }
    if (++m->nodes > MOST_ANEW) return false;
    for (int32_t k = 0; k < n->n_operands; k++)
        if (!add_making(f, n->operands[k].node->id, elements, m)) return false;
    return true;
}

/* Nodes are asked in order, so that what they are made from is decided on. */
static void choose_anew(fusing *f, int32_t i) {
    const mica_node *n = f->w.from->nodes[i];
    int32_t number = f->group_of[i];
    making m = {0};
    if (number < 0 || mica_nest_role_of(n) != MICA_ROLE_MAP || f->kept[i] ||
        !has_outside_users(f, i, number) || has_ungrouped_users(f, i) ||
        !is_read_by_groups(f, i, number))
        return;
    f->stamp++;
    f->anew[i] = true;
    if (!add_making(f, i, mica_type_elements(&n->results[0]), &m) ||
        m.bytes > (int64_t)mica_type_bytes(&n->results[0])) {
        f->anew[i] = false;
        return;
    }
    for (int32_t k = 0; k < m.n_kept; k++) f->kept[m.kept[k]] = true;
}

/* The members of other groups that a body makes anew are stored after all. */
static bool store_anew(fusing *f, const body *b, int32_t number) {
    bool changed = false;
    for (int32_t i = 0; i < f->w.from->n_nodes; i++) {
        if (!f->anew[i] || f->group_of[i] == number || mica_value_is_null(b->values[i])) continue;
        f->anew[i] = false;
        changed = true;
    }
    return changed;
}

/* A group of which no nest comes any more reads what it read before. */
static mica_status check_group(fusing *f, int32_t number, bool *out_changed) {
    body b;
    mica_nest *nest = NULL;
    mica_status status = make_body(f, number, &b);
    if (!status && b.n_results > 0) status = mica_nest_create(b.graph, &nest);
    bool fails = mica_status_code(status) == MICA_UNSUPPORTED || b.n_arguments > MOST_OPERANDS;
    if (mica_status_code(status) == MICA_UNSUPPORTED) {
        mica_status_release(status);
        status = NULL;
    }
    *out_changed = !status && fails && store_anew(f, &b, number);
    if (!status && fails && !*out_changed) /* its own results are too many, or too different */
        for (int32_t i = 0; i < f->w.from->n_nodes; i++) {
            *out_changed = *out_changed || f->anew[i] || f->kept[i];
            f->anew[i] = f->kept[i] = false;
        }
    mica_nest_destroy(nest);
    free_body(&b);
    return status;
}

static mica_status make_anew(fusing *f) {
    bool any_changed = true;
    for (int32_t i = 0; i < f->w.from->n_nodes; i++) choose_anew(f, i);
    while (any_changed) {
        any_changed = false;
        for (int32_t i = 0; i < f->n_groups; i++) {
            bool changed;
            MICA_TRY(check_group(f, i, &changed));
            any_changed = any_changed || changed;
        }
    }
    return NULL;
}

/* ---- the new graph ----------------------------------------------------------------------------*/

static mica_status make_node(fusing *f, const mica_node *n);

static mica_status make_group(fusing *f, int32_t number) {
    body b;
    mica_status status = make_body(f, number, &b);
    for (int32_t i = 0; !status && i < b.n_arguments; i++)
        status = make_node(f, b.arguments[i].node);
    mica_value *operands = mica_alloc(sizeof *operands * (size_t)(b.n_arguments + 1));
    if (!status && !operands) status = MICA_NO_MEMORY();
    if (!status) {
        for (int32_t i = 0; i < b.n_arguments; i++)
            operands[i] = *mica_rewrite_slot(&f->w, b.arguments[i]);
        mica_attr attrs[4] = {{.kind = MICA_ATTR_STRING, .as.string = MICA_FUSED},
                              {.kind = MICA_ATTR_STRING, .as.string = ""},
                              {.kind = MICA_ATTR_INT, .as.integer = 0},
                              {.kind = MICA_ATTR_STRING, .as.string = ""}};
        mica_node *made =
            mica_node_create(f->w.to, MICA_OP_call, operands, b.n_arguments, attrs, &b.graph, 1);
        for (int32_t i = 0; i < b.n_results; i++) {
            bool swaps = mica_is_planted("fuse") &&
                         mica_type_equal(mica_value_type(b.results[0]),
                                         mica_value_type(b.results[b.n_results - 1]));
            int32_t which = swaps ? b.n_results - 1 - i : i;
            *mica_rewrite_slot(&f->w, b.results[i]) =
                made ? mica_node_result(made, which) : MICA_NULL_VALUE;
        }
    }
    mica_free(operands);
    free_body(&b);
    return status;
}

static mica_status make_node(fusing *f, const mica_node *n) {
    if (f->done[n->id]) return NULL;
    int32_t number = f->group_of[n->id];
    if (number >= 0) {
        for (int32_t i = f->groups[number].first; i >= 0; i = f->next_member[i]) f->done[i] = true;
        return make_group(f, number);
    }
    f->done[n->id] = true;
    for (int32_t i = 0; i < n->n_operands; i++) MICA_TRY(make_node(f, n->operands[i].node));
    mica_region_rule inside = f->alone            ? mica_pass_wrap
                              : f->computes_again ? mica_pass_fuse_again
                                                  : mica_pass_fuse;
    if (mica_node_is_fused(n) || mica_node_is_claimed(n) || mica_node_is_contraction(n))
        inside = NULL; /* one kernel */
    mica_rewrite_keep(&f->w, n, mica_rewrite_node(&f->w, n, inside));
    return NULL;
}

/* ---- what became of it ------------------------------------------------------------------------*/

static void explain_group(const fusing *f, int32_t number) {
    mica_text ops;
    mica_text_init(&ops);
    const mica_graph *g = f->w.from;
    int32_t count = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (f->group_of[i] != number) continue;
        mica_text_printf(&ops, "%s%s", count++ ? ", " : "", mica_op_name(g->nodes[i]->op));
    }
    static const char *const kinds[] = {[MICA_ROLE_MAP] = "loops over",
                                        [MICA_ROLE_ROW] = "rows of",
                                        [MICA_ROLE_COLUMN] = "columns of"};
    mica_log_write(MICA_LOG_FUSE, "one kernel, %s %s: %s", kinds[f->groups[number].role],
                   mica_type_text(&f->groups[number].domain).chars, mica_text_data(&ops));
    mica_text_deinit(&ops);
    for (int32_t i = f->groups[number].first; i >= 0; i = f->next_member[i])
        if (f->refused[i] && has_outside_users(f, i, number) && !f->is_output[i])
            mica_log_write(MICA_LOG_FUSE, "not with what reads it: %s of %s: %s",
                           mica_op_name(g->nodes[i]->op),
                           mica_type_text(&g->nodes[i]->results[0]).chars, refusals[f->refused[i]]);
}

static void explain_node(const fusing *f, const mica_node *n) {
    mica_nest_role role = mica_nest_role_of(n);
    if (n->op == MICA_OP_PARAMETER || n->op == MICA_OP_constant || role == MICA_ROLE_FREE) return;
    if (f->again[n->id] && !f->stored[n->id]) return;
    bool is_whole = n->op == MICA_OP_call && n->n_regions == 1;
    const char *name = is_whole ? mica_node_string(n, "name") : mica_op_name(n->op);
    mica_log_write(MICA_LOG_FUSE, "by itself: %s of %s: %s", name,
                   n->n_results ? mica_type_text(&n->results[0]).chars : "nothing",
                   is_whole                 ? "a kernel of the device computes it whole"
                   : n->n_regions           ? "control flow; what is inside is fused by itself"
                   : role == MICA_ROLE_NONE ? "it is not computed element by element"
                   : role == MICA_ROLE_ROW && !is_good_row(n)
                       ? "its few rows are long: threads share each of them"
                       : refusals[f->refused[n->id]]);
}

static void explain(const fusing *f) {
    for (int32_t i = 0; i < f->n_groups; i++) explain_group(f, i);
    for (int32_t i = 0; i < f->w.from->n_nodes; i++)
        if (f->group_of[i] < 0) explain_node(f, f->w.from->nodes[i]);
}

static mica_status fuse(fusing *f) {
    const mica_graph *g = f->w.from;
    size_t n = (size_t)g->n_nodes;
    f->group_of = mica_alloc(2 * sizeof *f->group_of * n);
    f->groups = mica_alloc(sizeof *f->groups * n);
    f->is_output = mica_calloc(8 * n, sizeof *f->is_output);
    f->visited = mica_calloc(2 * n, sizeof *f->visited);
    if (!f->group_of || !f->groups || !f->is_output || !f->visited) return MICA_NO_MEMORY();
    f->next_member = f->group_of + n;
    f->done = f->is_output + n;
    f->candidate = f->done + n;
    f->again = f->candidate + n;
    f->stored = f->again + n;
    f->refused = (uint8_t *)(f->stored + n);
    f->anew = f->stored + 2 * n;
    f->kept = f->anew + n;
    f->stack = f->visited + n;
    MICA_TRY(find_users(f));
    for (int32_t i = 0; i < g->n_nodes; i++) f->group_of[i] = -1;
    for (int32_t i = 0; i < g->n_outputs; i++) f->is_output[g->outputs[i].node->id] = true;
    for (int32_t i = 0; i < g->n_parameters; i++) f->done[g->parameters[i].node->id] = true;
    for (int32_t i = 0; i < g->n_nodes && !f->alone; i++)
        f->again[i] = is_made_again(f, g->nodes[i]);
    for (int32_t i = g->n_nodes - 1; i >= 0; i--) {
        if (f->group_of[i] >= 0) continue;
        f->stored[i] = is_read(f, i);
        if (!f->again[i] || f->stored[i]) MICA_TRY(group_node(f, g->nodes[i]));
    }
    if (f->computes_again) MICA_TRY(make_anew(f));
    if (!f->alone && mica_log_on(MICA_LOG_FUSE)) explain(f);
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (mica_node_has_effect(g->nodes[i])) MICA_TRY(make_node(f, g->nodes[i]));
    for (int32_t i = 0; i < g->n_outputs; i++) MICA_TRY(make_node(f, g->outputs[i].node));
    return NULL;
}

static mica_status run(const mica_graph *g, bool alone, bool again, mica_graph **out_graph) {
    fusing f = {.alone = alone, .computes_again = again};
    MICA_TRY(mica_rewrite_begin(&f.w, g));
    mica_status status = fuse(&f);
    if (status) mica_graph_fail(f.w.to, status);
    if (f.users && g->n_nodes) mica_free(f.users[0]);
    mica_free(f.users);
    mica_free(f.group_of);
    mica_free(f.groups);
    mica_free(f.is_output);
    mica_free(f.visited);
    return mica_rewrite_end(&f.w, out_graph);
}

mica_status mica_pass_fuse(const mica_graph *g, mica_graph **out_graph) {
    return run(g, false, false, out_graph);
}

mica_status mica_pass_fuse_again(const mica_graph *g, mica_graph **out_graph) {
    return run(g, false, true, out_graph);
}

mica_status mica_pass_wrap(const mica_graph *g, mica_graph **out_graph) {
    return run(g, true, false, out_graph);
}
