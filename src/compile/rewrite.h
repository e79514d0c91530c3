/* compile/rewrite.h: making a graph anew, node by node. */
#ifndef MICA_COMPILE_REWRITE_H
#define MICA_COMPILE_REWRITE_H

#include "ir/graph.h"

typedef struct mica_rewrite {
    const mica_graph *from;
    mica_graph *to;
    int32_t *first;     /* per node of `from`: its first result in `values` */
    mica_value *values; /* what became of each value */
} mica_rewrite;

/* A graph from a region; used for regions within regions, which are shared and visited once. */
typedef mica_status (*mica_region_rule)(const mica_graph *region, mica_graph **out_region);

/* Begins: `to` has the parameters of `from`. */
MICA_MUST_CHECK mica_status mica_rewrite_begin(mica_rewrite *w, const mica_graph *from);
static inline mica_value *mica_rewrite_slot(const mica_rewrite *w, mica_value v) {
    return &w->values[w->first[v.node->id] + v.index];
}
/* n on the new operands, its regions rewritten by `rule` (NULL: kept). NULL when an error stuck. */
mica_node *mica_rewrite_node(mica_rewrite *w, const mica_node *n, mica_region_rule rule);
/* Makes n's results stand for the node's. */
void mica_rewrite_keep(mica_rewrite *w, const mica_node *n, mica_node *made);
/* Appends the outputs and hands the graph over, or answers its error; frees the rest. */
MICA_MUST_CHECK mica_status mica_rewrite_end(mica_rewrite *w, mica_graph **out_graph);

/* true when the node, or a node of its regions, has an effect on the outside: a function of the
 * caller's, or an exchange with other ranks. */
bool mica_node_has_effect(const mica_node *n);

#endif
