/* compile/simplify_rules.h: operations that change nothing. */
#ifndef MICA_COMPILE_SIMPLIFY_RULES_H
#define MICA_COMPILE_SIMPLIFY_RULES_H

#include "ir/graph.h"

/* An older value, or the result of one new node, that equals n's only result bit for bit; or the
 * null value. */
mica_value mica_simplify_rule(mica_graph *g, const mica_node *n);

#endif
