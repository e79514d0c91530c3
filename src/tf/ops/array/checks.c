/* Places that TensorFlow refuses: of slices along an axis, of elements. */
#include "tf/refusals.h"

static bool find_gather(const mica_tf_checked *l, mica_tf_bounds *b) {
    int64_t axis = l->n_third == 1 ? l->third[0] + (l->third[0] < 0) * l->x->rank : -1;
    if (axis < 0 || axis >= l->x->rank) return false; /* the shape function's to say */
    mica_tf_one_bound(b, 0, l->x->dims[axis]);
    return true;
}

static mica_status say_gather(const mica_tf_refused *r) {
    return MICA_INVALID("[%s] indices%s = %lld is not in [0, %lld)", r->op, r->place.chars,
                        r->value, r->high);
}

const mica_tf_refusal tf_refuses_gather = {1, find_gather, say_gather};

static mica_status say_slice(const mica_tf_refused *r) {
    return MICA_INVALID("[%s] slice index %lld of dimension %d out of bounds.", r->op,
                        r->value < 0 ? r->value + r->high : r->value, r->bounds->axes[r->k]);
}

const mica_tf_refusal tf_refuses_slice = {1, NULL, say_slice};

/* Slices of a variable along its first axis. */
static bool find_rows(const mica_tf_checked *l, mica_tf_bounds *b) {
    mica_tf_one_bound(b, 0, l->x->rank ? l->x->dims[0] : 0);
    return l->x->rank > 0;
}

const mica_tf_refusal tf_refuses_rows = {1, find_rows, say_gather};
