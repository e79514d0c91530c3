/* tf/random.h: the generators of stateful random ops. */
#ifndef MICA_TF_RANDOM_H
#define MICA_TF_RANDOM_H

#include "tf/tf.h"

/* Key and counter for drawing so many elements; the generator moves on. `is_shared`: that of all
 * ops with the same attributes, else the operation's own. */
MICA_MUST_CHECK mica_status mica_tf_random_reserve(mica_tf_operation *operation, bool is_shared,
                                                   int64_t elements, uint32_t out[6]);
/* The same as a tensor, u32[6]. */
MICA_MUST_CHECK mica_status mica_tf_random_tensor(mica_device *device, mica_tf_operation *operation,
                                                  bool is_shared, int64_t elements,
                                                  mica_tensor **out_tensor);
/* While lowering: key and counter of this op, u32[6], which each run provides anew. */
mica_value mica_tf_session_random(mica_tf_session *session, mica_graph *g,
                                  mica_tf_operation *operation, int64_t elements);
void mica_tf_philox_destroy(mica_tf_philox *philox);

#endif
