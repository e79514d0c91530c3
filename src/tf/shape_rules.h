/* Shape functions, declared from the table; each is defined in a shape_*.c. */
#ifndef MICA_TF_SHAPE_RULES_H
#define MICA_TF_SHAPE_RULES_H

#include "tf/tf.h"

#define MICA_TF_OP(name, in, out, attrs, roles, shape, ...)                                        \
    mica_status tf_shape_##shape(mica_tf_inference *);
#include "mica/tf_ops.def"
#undef MICA_TF_OP

#endif
