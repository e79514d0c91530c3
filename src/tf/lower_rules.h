/* Lowerings, declared from the table; each is defined in its family's folder, or gradient.c.
 *
 * A lowering reads c->inputs (values of the graph c->g) and c->attrs, and writes c->outputs.
 * Builders give null values after an error, which sticks to c->g, so nothing needs to be checked on
 * the way. The shape function has already accepted the inputs. */
#ifndef MICA_TF_LOWER_RULES_H
#define MICA_TF_LOWER_RULES_H

#include "tf/tf.h"

#define DECLARE_LOWER(f) void tf_lower_##f(mica_tf_lowering *);
#define DECLARE_BOTH(f) DECLARE_LOWER(f)
#define DECLARE_ARRAY(f) DECLARE_LOWER(f)
#define DECLARE_MOVE(f) DECLARE_LOWER(f)
#define DECLARE_HOST(f)
#define MICA_TF_OP(name, in, out, attrs, roles, shape, run, f, ...) DECLARE_##run(f)
#include "tf/ops/rows.def"
#undef MICA_TF_OP
#undef DECLARE_LOWER
#undef DECLARE_BOTH
#undef DECLARE_ARRAY
#undef DECLARE_MOVE
#undef DECLARE_HOST

/* x - y floor(x / y) of operands of one shape. */
mica_value tf_floor_mod(mica_graph *g, const mica_value *x);
void tf_lower_float_pow(mica_tf_lowering *); /* part of Pow's */

#endif
