/* Shape functions, declared from the table; each is defined in its family's folder. */
#ifndef MICA_TF_SHAPE_RULES_H
#define MICA_TF_SHAPE_RULES_H

#include "tf/tf.h"

#define MICA_TF_OP(name, in, out, attrs, roles, shape, ...)                                        \
    mica_status tf_shape_##shape(mica_tf_inference *);
#include "tf/ops/rows.def"
#undef MICA_TF_OP

#endif
