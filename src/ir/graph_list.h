/* ir/graph_list.h: a graph and all regions in it, each once, inner ones before outer ones; the
 * graph itself is the last. The order depends on the structure alone. */
#ifndef MICA_IR_GRAPH_LIST_H
#define MICA_IR_GRAPH_LIST_H

#include "ir/graph.h"

typedef struct mica_graph_list {
    const mica_graph **graphs;
    int32_t n, capacity;
    int32_t *slots; /* a hash table of places + 1; 0 is free */
    uint32_t n_slots;
} mica_graph_list;

MICA_MUST_CHECK mica_status mica_graph_list_collect(const mica_graph *g, mica_graph_list *out_list);
void mica_graph_list_deinit(mica_graph_list *list);
int32_t mica_graph_list_find(const mica_graph_list *list, const mica_graph *g); /* -1: not in it */

#endif
