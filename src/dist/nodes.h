/* dist/nodes.h: the collectives of a graph, carried out by ranks.
 *
 * An executable that was compiled with ranks numbers its collectives: the axis "replicas" becomes
 * "replicas#1", "replicas#2", ... in the order of the graph. The numbers are told with every call,
 * so ranks that run another program, or one in another order, are told so before a byte is sent. */
#ifndef MICA_DIST_NODES_H
#define MICA_DIST_NODES_H

#include "ir/graph.h"
#include "mica/dist.h"

/* Ranks along an axis, as a program is bound to them; d is NULL where it is not. */
typedef struct dist_axis {
    mica_dist *d;
    const char *name;
} dist_axis;

/* Whether the node, a collective, is along this axis; its name may have a number. */
bool dist_is_along(const dist_axis *axis, const mica_node *n);
/* Not OK unless it is, and has as many participants as there are ranks. */
MICA_MUST_CHECK mica_status dist_check_node(const dist_axis *axis, const mica_node *n);
/* The node's result from its operand (NULL where there is none), both in the host's memory. */
MICA_MUST_CHECK mica_status dist_run_node(const dist_axis *axis, const mica_node *n, const void *x,
                                          void *y);

/* What graphs are bound to that this thread interprets; answers what it was before. */
dist_axis dist_bind(dist_axis axis);
dist_axis dist_bound(void);

#endif
