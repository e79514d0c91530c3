/* ir/equal.h: when two graphs, nodes or attributes are the same; for caches and for finding common
 * subexpressions. Names of graphs do not count, the order of nodes does. Nothing here allocates. */
#ifndef MICA_IR_EQUAL_H
#define MICA_IR_EQUAL_H

#include "ir/graph.h"

uint64_t mica_graph_hash(const mica_graph *g);
bool mica_graph_equal(const mica_graph *a, const mica_graph *b);

uint64_t mica_type_hash(uint64_t seed, const mica_type *type);
uint64_t mica_attr_hash(uint64_t seed, const mica_attr *attr);
bool mica_attr_equal(const mica_attr *a, const mica_attr *b);

/* Op, attributes, regions and operands by their places: for nodes of one graph. Equal nodes compute
 * equal values, unless they have effects (callback) or are parameters, which equal only themselves.
 */
uint64_t mica_node_hash(const mica_node *n);
bool mica_node_equal(const mica_node *a, const mica_node *b);

#endif
