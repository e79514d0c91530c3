/* ir/contraction.h: a contraction with what is done to its result at once.
 *
 * A `call` named MICA_CONTRACTION is one kernel of a device. Its body holds one dot or conv of two
 * parameters and, after it, elementwise nodes of the result's shape: a bias, an activation, a
 * residual, a mask. Their other operands are parameters of that shape, or broadcasts of parameters
 * and of constants. For example a dense layer with relu:
 *
 *     %0: f32[64,128]  %1: f32[128,512]  %2: f32[512]         parameters
 *     %3 = dot(%0, %1)                                        the product
 *     %4 = broadcast(%2, shape=[64,512], axes=[1])
 *     %5 = add(%3, %4)
 *     %6 = broadcast(constant 0, shape=[64,512], axes=[])
 *     %7 = max(%5, %6)                                        results: %7, or %5 and %7
 *
 * Results are the product itself or elementwise nodes, at most MICA_CONTRACTION_RESULTS; all have
 * the bits that the nodes have one by one. Whoever makes such calls asks mica_contraction_check;
 * a device that answers it with yes has a kernel for the dtypes that it has kernels for. */
#ifndef MICA_IR_CONTRACTION_H
#define MICA_IR_CONTRACTION_H

#include <string.h>

#include "ir/graph.h"

#define MICA_CONTRACTION "mica.contraction" /* no user's call has this name */
#define MICA_CONTRACTION_NODES 32           /* of a body, parameters and constants aside */
#define MICA_CONTRACTION_RESULTS 4

static inline bool mica_node_is_contraction(const mica_node *n) {
    return n->op == MICA_OP_call && !strcmp(n->attrs[0].as.string, MICA_CONTRACTION);
}

/* Whether n, an elementwise node, may stand after a product of type `product`. */
bool mica_contraction_takes(const mica_type *product, const mica_node *n);
/* UNSUPPORTED, with the reason, for a body that is not as above; else the dot or conv. */
MICA_MUST_CHECK mica_status mica_contraction_check(const mica_graph *body,
                                                   const mica_node **out_product);

#endif
