/* Labels that name no class. */
#include "tf/refusals.h"

static bool find_labels(const mica_tf_checked *l, mica_tf_bounds *b) {
    mica_tf_one_bound(b, 0, l->x->rank == 2 ? l->x->dims[1] : 0);
    return l->x->rank == 2;
}

static mica_status say_labels(const mica_tf_refused *r) {
    return MICA_INVALID("[%s] Received a label value of %lld which is outside the valid range "
                        "of [0, %lld): label%s",
                        r->op, r->value, r->high, r->place.chars);
}

const mica_tf_refusal tf_refuses_labels = {1, find_labels, say_labels};
