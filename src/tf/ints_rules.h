/* What is known of the integers of rows while a graph is built; each is defined in its family's
 * ints.c. */
#ifndef MICA_TF_INTS_RULES_H
#define MICA_TF_INTS_RULES_H

#include "tf/tf.h"

#define MICA_TF_INTS(name)                                                                         \
    bool tf_ints_##name(const mica_tf_graph *g, const mica_tf_node *node, int64_t *out,            \
                        int32_t *n, int depth)
MICA_TF_INTS(constant);
MICA_TF_INTS(shape);
MICA_TF_INTS(size);
MICA_TF_INTS(rank);
MICA_TF_INTS(cast);
MICA_TF_INTS(same);
MICA_TF_INTS(add);
MICA_TF_INTS(sub);
MICA_TF_INTS(mul);
MICA_TF_INTS(maximum);
MICA_TF_INTS(minimum);
MICA_TF_INTS(floor_div);
MICA_TF_INTS(floor_mod);
MICA_TF_INTS(zeros);
MICA_TF_INTS(ones);
MICA_TF_INTS(range);
MICA_TF_INTS(pack);
MICA_TF_INTS(concat);
MICA_TF_INTS(slice);

#endif
