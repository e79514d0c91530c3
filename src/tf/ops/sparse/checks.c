/* Places that are beyond the sizes of the whole. */
#include "tf/refusals.h"

/* Input 0 is a row of numbers for each place, input 2 the sizes. */
static bool find_places(const mica_tf_checked *l, mica_tf_bounds *b) {
    const mica_type *places = l->integers;
    if (places->rank != 2 || places->dims[1] != l->n_third || l->n_third == 0 ||
        l->n_third > MICA_MAX_RANK)
        return false; /* the shape function's to say */
    b->width = b->shape.rank = l->n_third;
    for (int32_t i = 0; i < l->n_third; i++) b->high[i] = b->shape.dims[i] = l->third[i];
    return true;
}

static mica_status say_places(const mica_tf_refused *r) {
    return MICA_INVALID("[%s] indices[%lld] = %s is out of bounds: need 0 <= index < %s", r->op,
                        (long long)r->vector, r->numbers.chars,
                        mica_tf_shape_text(&r->bounds->shape).chars);
}

static mica_status say_matmul(const mica_tf_refused *r) {
    return MICA_INVALID("[%s] %c (%lld) from index[%lld,%d] out of bounds (>=%lld)", r->op,
                        r->k ? 'k' : 'm', r->value, (long long)r->vector, r->k, r->high);
}

const mica_tf_refusal tf_refuses_sparse_places = {0, find_places, say_places};
const mica_tf_refusal tf_refuses_sparse_matmul = {0, find_places, say_matmul};
