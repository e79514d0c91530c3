/* Coordinates, segments and elements of lists that TensorFlow refuses. */
#include "tf/refusals.h"

/* Each vector along the last axis is a place in a tensor of this shape. */
static bool find_coordinates(const mica_tf_checked *l, mica_tf_bounds *b) {
    const mica_type *integers = l->integers;
    int64_t width = integers->rank ? integers->dims[integers->rank - 1] : 0;
    if (width > b->shape.rank || width == 0) return false; /* the shape function's to say */
    b->width = (int32_t)width;
    for (int32_t i = 0; i < b->width; i++) b->high[i] = b->shape.dims[i];
    return true;
}

static bool find_of_shape(const mica_tf_checked *l, mica_tf_bounds *b) {
    if (l->n_third > MICA_MAX_RANK) return false;
    b->shape.rank = l->n_third;
    for (int32_t i = 0; i < l->n_third; i++) b->shape.dims[i] = l->third[i];
    return find_coordinates(l, b);
}

static mica_status say_coordinates(const mica_tf_refused *r, const char *what) {
    return MICA_INVALID("[%s] indices[%lld] = %s does not index into %sshape %s", r->op,
                        (long long)r->vector, r->numbers.chars, what,
                        mica_tf_shape_text(&r->bounds->shape).chars);
}

static mica_status say_gather_nd(const mica_tf_refused *r) {
    return say_coordinates(r, "param ");
}

static mica_status say_scatter(const mica_tf_refused *r) {
    return say_coordinates(r, "");
}

const mica_tf_refusal tf_refuses_gather_nd = {1, find_coordinates, say_gather_nd};
const mica_tf_refusal tf_refuses_scatter = {1, find_coordinates, say_scatter};
const mica_tf_refusal tf_refuses_scatter_nd = {0, find_of_shape, say_scatter};

/* Negative ones are left out. */
static bool find_segments(const mica_tf_checked *l, mica_tf_bounds *b) {
    mica_tf_one_bound(b, INT64_MIN, l->n_third == 1 ? l->third[0] : INT64_MAX);
    return true;
}

static mica_status say_segments(const mica_tf_refused *r) {
    return MICA_INVALID("[%s] segment_ids%s = %lld is out of range [0, %lld)", r->op,
                        r->place.chars, r->value, r->high);
}

const mica_tf_refusal tf_refuses_segments = {1, find_segments, say_segments};

static bool find_element(const mica_tf_checked *l, mica_tf_bounds *b) {
    mica_tf_one_bound(b, 0, l->x->rank ? l->x->dims[0] : 0);
    return l->x->rank > 0;
}

static mica_status say_read(const mica_tf_refused *r) {
    return MICA_INVALID("[%s] Trying to access element %lld in a list with %lld elements.", r->op,
                        r->value, r->high);
}

static mica_status say_write(const mica_tf_refused *r) {
    return MICA_INVALID("[%s] Trying to modify element %lld in a list with %lld elements.", r->op,
                        r->value, r->high);
}

const mica_tf_refusal tf_refuses_read_element = {1, find_element, say_read};
const mica_tf_refusal tf_refuses_write_element = {1, find_element, say_write};

/* Lengths of sequences are those of an axis at most. */
static bool find_lengths(const mica_tf_checked *l, mica_tf_bounds *b) {
    int64_t time = mica_tf_attr_find(l->info, l->attrs, "seq_dim")->as.integer;
    if (time < 0 || time >= l->x->rank) return false; /* the shape function's to say */
    mica_tf_one_bound(b, 0, mica_tf_plus(l->x->dims[time], 1));
    return true;
}

static mica_status say_lengths(const mica_tf_refused *r) {
    return MICA_INVALID("[%s] seq_lens%s = %lld is not between 0 and %lld", r->op, r->place.chars,
                        r->value, r->high - 1);
}

const mica_tf_refusal tf_refuses_lengths = {1, find_lengths, say_lengths};

/* Numbers beyond the size are left out. */
static bool find_counted(const mica_tf_checked *l, mica_tf_bounds *b) {
    (void)l;
    mica_tf_one_bound(b, 0, INT64_MAX);
    return true;
}

static mica_status say_counted(const mica_tf_refused *r) {
    return MICA_INVALID("[%s] Input must be non-negative! Negative input value found: %lld", r->op,
                        r->value);
}

const mica_tf_refusal tf_refuses_counted = {0, find_counted, say_counted};
