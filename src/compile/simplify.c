/* Dead code, common subexpressions, and operations that change nothing. Only rules that keep every
 * bit, so that a graph gives the same numbers with and without this pass. */
#include <string.h>

#include "base/hash.h"
#include "base/plant.h"
#include "compile/passes.h"
#include "compile/rewrite.h"
#include "compile/simplify_rules.h"

typedef struct simplifying {
    mica_rewrite w;
    bool *live;
    mica_node **table; /* nodes of the new graph by hash, open addressing */
    uint32_t mask;
} simplifying;

/* ---- dead code --------------------------------------------------------------------------------*/

static void find_live(simplifying *s) {
    const mica_graph *g = s->w.from;
    for (int32_t i = 0; i < g->n_outputs; i++) s->live[g->outputs[i].node->id] = true;
    for (int32_t i = g->n_nodes - 1; i >= 0; i--) {
        const mica_node *n = g->nodes[i];
        if (!s->live[i] && !mica_node_has_effect(n)) continue;
        s->live[i] = true;
        for (int32_t k = 0; k < n->n_operands; k++) s->live[n->operands[k].node->id] = true;
    }
}

/* ---- common subexpressions --------------------------------------------------------------------*/

static bool may_merge(const mica_node *n) {
    return n->n_regions == 0 && n->op != MICA_OP_barrier && n->op != MICA_OP_callback &&
           n->op != MICA_OP_PARAMETER;
}

static uint64_t hash_type(uint64_t h, const mica_type *type) {
    h = mica_hash_u64(h, (uint64_t)type->kind << 40 | (uint64_t)type->dtype << 32 |
                             (uint64_t)(uint32_t)type->rank);
    return mica_hash_bytes(h, type->dims,
                           sizeof *type->dims * (size_t)(type->rank > 0 ? type->rank : 0));
}

static uint64_t hash_attr(uint64_t h, const mica_attr *a) {
    switch (a->kind) {
    case MICA_ATTR_INT:
    case MICA_ATTR_DTYPE: return mica_hash_u64(h, (uint64_t)a->as.integer);
    case MICA_ATTR_INTS:
        return mica_hash_bytes(h, a->as.ints.data, sizeof(int64_t) * (size_t)a->as.ints.n);
    case MICA_ATTR_STRING:
        return mica_is_planted("simplify") ? h : mica_hash_string(h, a->as.string);
    case MICA_ATTR_DATA:
        h = hash_type(h, &a->as.data.type);
        return mica_hash_bytes(h, a->as.data.bytes, mica_type_bytes(&a->as.data.type));
    case MICA_ATTR_TYPES:
        for (int32_t i = 0; i < a->as.types.n; i++) h = hash_type(h, &a->as.types.data[i]);
        return h;
    }
    return h;
}

static bool same_bytes(const void *a, const void *b, size_t n) {
    return n == 0 || memcmp(a, b, n) == 0;
}

static bool same_attr(const mica_attr *a, const mica_attr *b) {
    switch (a->kind) {
    case MICA_ATTR_INT:
    case MICA_ATTR_DTYPE: return a->as.integer == b->as.integer;
    case MICA_ATTR_INTS:
        return a->as.ints.n == b->as.ints.n &&
               same_bytes(a->as.ints.data, b->as.ints.data, sizeof(int64_t) * (size_t)a->as.ints.n);
    case MICA_ATTR_STRING:
        return strcmp(a->as.string, b->as.string) == 0 || mica_is_planted("simplify");
    case MICA_ATTR_DATA:
        return mica_type_equal(&a->as.data.type, &b->as.data.type) &&
               same_bytes(a->as.data.bytes, b->as.data.bytes, mica_type_bytes(&a->as.data.type));
    case MICA_ATTR_TYPES: return false;
    }
    return false;
}

static uint64_t hash_node(const mica_node *n) {
    uint64_t h = mica_hash_u64(MICA_HASH_SEED, (uint64_t)n->op);
    for (int32_t i = 0; i < n->n_operands; i++)
        h = mica_hash_u64(h, (uint64_t)n->operands[i].node->id << 32 |
                                 (uint64_t)(uint32_t)n->operands[i].index);
    for (int32_t i = 0; i < n->n_attrs; i++) h = hash_attr(h, &n->attrs[i]);
    return h;
}

static bool same_node(const mica_node *a, const mica_node *b) {
    if (a->op != b->op || a->n_operands != b->n_operands || a->n_attrs != b->n_attrs) return false;
    for (int32_t i = 0; i < a->n_operands; i++)
        if (!mica_value_same(a->operands[i], b->operands[i])) return false;
    for (int32_t i = 0; i < a->n_attrs; i++)
        if (!same_attr(&a->attrs[i], &b->attrs[i])) return false;
    return true;
}

/* An equal node made before, or n itself, which is then remembered. A node that was merged away
 * stays behind without users; the next round removes it. */
static mica_node *merge(simplifying *s, mica_node *n) {
    if (!may_merge(n)) return n;
    for (uint32_t i = (uint32_t)hash_node(n);; i++) {
        mica_node **slot = &s->table[i & s->mask];
        if (!*slot) return *slot = n;
        if (same_node(*slot, n)) return *slot;
    }
}

/* ---- the pass ---------------------------------------------------------------------------------*/

static mica_status begin(simplifying *s, const mica_graph *g) {
    MICA_TRY(mica_rewrite_begin(&s->w, g));
    uint32_t capacity = 16;
    while (capacity < 4 * (uint32_t)g->n_nodes) capacity *= 2;
    s->mask = capacity - 1;
    s->live = mica_calloc((size_t)g->n_nodes, sizeof *s->live);
    s->table = mica_calloc(capacity, sizeof *s->table);
    if (!s->live || !s->table) mica_graph_fail(s->w.to, MICA_NO_MEMORY());
    return NULL;
}

static void simplify_node(simplifying *s, const mica_node *n) {
    mica_node *made = mica_rewrite_node(&s->w, n, mica_pass_simplify);
    if (!made) return;
    mica_value shorter = made->n_results == 1 ? mica_simplify_rule(s->w.to, made) : MICA_NULL_VALUE;
    if (!mica_value_is_null(shorter)) {
        if (shorter.node->id > made->id) shorter.node = merge(s, shorter.node);
        s->w.values[s->w.first[n->id]] = shorter;
    } else {
        mica_rewrite_keep(&s->w, n, merge(s, made));
    }
}

static mica_status simplify_once(const mica_graph *g, mica_graph **out_graph) {
    simplifying s = {0};
    MICA_TRY(begin(&s, g));
    if (s.live && s.table) {
        find_live(&s);
        for (int32_t i = 0; i < g->n_nodes; i++)
            if (s.live[i] && g->nodes[i]->op != MICA_OP_PARAMETER) simplify_node(&s, g->nodes[i]);
    }
    mica_free(s.live);
    mica_free(s.table);
    return mica_rewrite_end(&s.w, out_graph);
}

/* To a fixed point: rounds end when one removes nothing. */
mica_status mica_pass_simplify(const mica_graph *g, mica_graph **out_graph) {
    mica_graph *current = NULL;
    MICA_TRY(simplify_once(g, &current));
    for (int32_t before = INT32_MAX; current->n_nodes < before;) {
        mica_graph *next = NULL;
        before = current->n_nodes;
        mica_status status = simplify_once(current, &next);
        mica_graph_release(current);
        if (status) return status;
        current = next;
    }
    *out_graph = current;
    return NULL;
}
