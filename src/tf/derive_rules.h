/* tf/derive_rules.h: derivatives of ops that stay on the host, a column of the table: each is
 * defined in its family's derive.c, of other rows (gradient/walk.c asks it). */
#ifndef MICA_TF_DERIVE_RULES_H
#define MICA_TF_DERIVE_RULES_H

#include "tf/gradient/walk.h"

#define MICA_TF_DERIVE(name)                                                                       \
    mica_status tf_derive_##name(mica_tf_walk *w, const mica_tf_step *step, void *const *given)
MICA_TF_DERIVE(sparse_add);
MICA_TF_DERIVE(sparse_slice);
MICA_TF_DERIVE(sparse_fill);
MICA_TF_DERIVE(sparse_to_dense);
MICA_TF_DERIVE(sparse_segment);
MICA_TF_DERIVE(check_numerics);

#endif
