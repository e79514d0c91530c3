/* tf/refusals.h: what TensorFlow refuses because of the values of integers, a column of the table
 * (checks.c asks it, ops/<family>/checks.c have the answers). */
#ifndef MICA_TF_REFUSALS_H
#define MICA_TF_REFUSALS_H

#include "tf/tf.h"

/* What is checked: the type of input 0, the integers, and the value of input 2 where the op has
 * it as a shape operand. */
typedef struct mica_tf_checked {
    const mica_tf_op_info *info;
    const mica_tf_attr *attrs;
    const mica_type *x, *integers;
    const int64_t *third;
    int32_t n_third;
} mica_tf_checked;

/* An element that is refused. */
typedef struct mica_tf_refused {
    const char *op;
    const mica_tf_bounds *bounds;
    long long value, high;
    int32_t k;            /* which of the bounds */
    int64_t vector;       /* which vector along the last axis */
    mica_tf_text place;   /* "[1,0]", nothing for a scalar */
    mica_tf_text numbers; /* the vector's, "[1, 0]" */
} mica_tf_refused;

typedef struct mica_tf_refusal {
    int32_t input; /* whose integers they are */
    /* Sets the bounds, of which op, shape and nothing else is set. false: nothing is refused.
     * NULL: the lowering finds them (mica_tf_lower_check). */
    bool (*find)(const mica_tf_checked *l, mica_tf_bounds *b);
    mica_status (*say)(const mica_tf_refused *r);
} mica_tf_refusal;

extern const mica_tf_refusal tf_refuses_gather, tf_refuses_slice, tf_refuses_rows,
    tf_refuses_gather_nd, tf_refuses_scatter_nd, tf_refuses_scatter, tf_refuses_segments,
    tf_refuses_read_element, tf_refuses_write_element, tf_refuses_division, tf_refuses_power,
    tf_refuses_labels, tf_refuses_lengths, tf_refuses_counted, tf_refuses_sparse_places,
    tf_refuses_sparse_matmul;

static inline void mica_tf_one_bound(mica_tf_bounds *b, int64_t low, int64_t high) {
    b->width = 1;
    b->low[0] = low;
    b->high[0] = high;
}

#endif
