/* tests/support/every_op.h: a graph with every op of the table in it, made by the builders. */
#ifndef MICA_TESTS_SUPPORT_EVERY_OP_H
#define MICA_TESTS_SUPPORT_EVERY_OP_H

#include "mica/graph.h"

/* NULL when there is no memory; other errors stick to the graph. */
mica_graph *every_op_graph(void);
/* How many nodes of this op are in g and its regions. */
int64_t every_op_count(const mica_graph *g, mica_op op);

#endif
