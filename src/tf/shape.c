/* Partial shapes: an unknown size is -1, an unknown rank is -1. */
#include <stdio.h>
#include <string.h>

#include "tf/tf.h"

mica_tf_text mica_tf_shape_text(const mica_tf_shape *shape) {
    mica_tf_text text = {"<unknown>"};
    if (shape->rank < 0) return text;
    size_t at = 0, room = sizeof text.chars;
    text.chars[at++] = '[';
    for (int32_t i = 0; i < shape->rank && at + 24 < room; i++) {
        if (i) text.chars[at++] = ',';
        if (shape->dims[i] < 0)
            text.chars[at++] = '?';
        else
            at += (size_t)snprintf(text.chars + at, room - at, "%lld", (long long)shape->dims[i]);
    }
    text.chars[at++] = ']';
    text.chars[at] = 0;
    return text;
}

mica_tf_shape mica_tf_unknown_of_rank(int32_t rank) {
    mica_tf_shape shape = {.rank = rank};
    if (rank < 0 || rank > MICA_MAX_RANK) return mica_tf_unknown();
    for (int32_t i = 0; i < rank; i++) shape.dims[i] = -1;
    return shape;
}

mica_tf_shape mica_tf_shape_of(const mica_type *type) {
    mica_tf_shape shape = {.rank = type->rank};
    memcpy(shape.dims, type->dims, sizeof shape.dims);
    return shape;
}

bool mica_tf_shape_is_known(const mica_tf_shape *shape) {
    if (shape->rank < 0) return false;
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0) return false;
    return true;
}

bool mica_tf_shape_equal(const mica_tf_shape *a, const mica_tf_shape *b) {
    if (a->rank != b->rank) return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

int64_t mica_tf_shape_elements(const mica_tf_shape *shape) {
    int64_t n = 1;
    if (!mica_tf_shape_is_known(shape)) return -1;
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] == 0) return 0;
    for (int32_t i = 0; i < shape->rank; i++) n = mica_tf_times(n, shape->dims[i]);
    return n;
}

bool mica_tf_shape_merge(const mica_tf_shape *a, const mica_tf_shape *b, mica_tf_shape *out) {
    if (a->rank < 0 || b->rank < 0) {
        *out = a->rank < 0 ? *b : *a;
        return true;
    }
    if (a->rank != b->rank) return false;
    mica_tf_shape merged = *a;
    for (int32_t i = 0; i < a->rank; i++) {
        if (a->dims[i] >= 0 && b->dims[i] >= 0 && a->dims[i] != b->dims[i]) return false;
        if (a->dims[i] < 0) merged.dims[i] = b->dims[i];
    }
    *out = merged;
    return true;
}

mica_tf_shape mica_tf_shape_join(const mica_tf_shape *a, const mica_tf_shape *b) {
    if (a->rank < 0 || a->rank != b->rank) return mica_tf_unknown();
    mica_tf_shape joined = *a;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) joined.dims[i] = -1;
    return joined;
}

bool mica_tf_shape_broadcast(const mica_tf_shape *a, const mica_tf_shape *b, mica_tf_shape *out) {
    if (a->rank < 0 || b->rank < 0) {
        *out = mica_tf_unknown();
        return true;
    }
    int32_t rank = a->rank > b->rank ? a->rank : b->rank;
    mica_tf_shape shape = {.rank = rank};
    for (int32_t i = 0; i < rank; i++) {
        int32_t ia = i - (rank - a->rank), ib = i - (rank - b->rank);
        int64_t x = ia < 0 ? 1 : a->dims[ia], y = ib < 0 ? 1 : b->dims[ib];
        if (x == 1)
            shape.dims[i] = y;
        else if (y == 1)
            shape.dims[i] = x;
        else if (x < 0 || y < 0)
            shape.dims[i] = x < 0 ? y : x; /* the unknown one is 1 or this */
        else if (x == y)
            shape.dims[i] = x;
        else
            return false;
    }
    *out = shape;
    return true;
}

mica_status mica_tf_axis(const char *op, int64_t axis, int32_t rank, int32_t *out) {
    if (axis < -rank || axis >= rank)
        return MICA_INVALID("[%s] Expected dimension in the range [%d, %d), but got %lld", op,
                            -rank, rank, (long long)axis);
    *out = (int32_t)(axis < 0 ? axis + rank : axis);
    return NULL;
}

int64_t mica_tf_inference_int(const mica_tf_inference *c, const char *name) {
    return mica_tf_attr_find(c->info, c->attrs, name)->as.integer;
}

bool mica_tf_input_ints(const mica_tf_inference *c, int32_t i, int64_t *out_ints, int32_t *out_n) {
    if (c->graph) return mica_tf_graph_ints(c->graph, c->refs[i], out_ints, out_n);
    if (!c->values || !c->values[i].object || !mica_tf_is_core(c->values[i].dtype)) return false;
    mica_status status =
        mica_tf_tensor_ints(c->values[i].object, out_ints, MICA_MAX_RANK * 4, out_n);
    bool read = status == NULL;
    mica_status_release(status);
    if (read) mica_tf_as_known(out_ints, *out_n);
    return read;
}

static const char *name_of(const mica_tf_inference *c, int32_t i) {
    const mica_tf_operation borrowed = {.info = c->info, .attrs = (mica_tf_attr *)c->attrs};
    const mica_tf_argument *argument = mica_tf_argument_of(&borrowed, i);
    return argument ? argument->name : "an operand";
}

mica_status mica_tf_input_number(const mica_tf_inference *c, int32_t i, int64_t *out,
                                 bool *out_known) {
    int64_t ints[MICA_MAX_RANK * 4];
    int32_t n = 0;
    int64_t elements = mica_tf_shape_elements(&c->inputs[i]);
    *out = 0;
    *out_known = false;
    if (elements >= 0 && elements != 1)
        return MICA_INVALID("[%s] %s must be one number, not of shape %s", c->info->name,
                            name_of(c, i), mica_tf_shape_text(&c->inputs[i]).chars);
    if (!mica_tf_input_known(c, i, ints, &n) || n != 1) return NULL;
    *out = ints[0];
    *out_known = true;
    return NULL;
}

bool mica_tf_input_known(const mica_tf_inference *c, int32_t i, int64_t *out_ints, int32_t *out_n) {
    if (!mica_tf_input_ints(c, i, out_ints, out_n)) return false;
    for (int32_t k = 0; k < *out_n; k++)
        if (out_ints[k] == MICA_TF_UNKNOWN_INT) return false;
    return true;
}

static mica_status check_result(const mica_tf_inference *c, const mica_tf_shape *shape) {
    int64_t elements = 1;
    bool is_empty = false;
    if (shape->rank > MICA_MAX_RANK)
        return MICA_INVALID("[%s] the result would have rank %d: at most %d is possible",
                            c->info->name, shape->rank, MICA_MAX_RANK);
    for (int32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < -1)
            return MICA_INVALID("[%s] Dimension %lld must be >= 0", c->info->name,
                                (long long)shape->dims[i]);
        is_empty |= shape->dims[i] == 0;
        if (shape->dims[i] > 0) elements = mica_tf_times(elements, shape->dims[i]);
    }
    if (is_empty || elements < INT64_MAX / 16) return NULL; /* 16: the bytes of an element */
    return MICA_INVALID("[%s] the result would have shape %s: more elements than can be counted",
                        c->info->name, mica_tf_shape_text(shape).chars);
}

mica_status mica_tf_infer(mica_tf_inference *c, mica_tf_op op) {
    for (int32_t i = 0; i < c->n_outputs; i++) c->outputs[i] = mica_tf_unknown();
    MICA_TRY(mica_tf_rows[op].shape(c));
    for (int32_t i = 0; i < c->n_outputs; i++) MICA_TRY(check_result(c, &c->outputs[i]));
    return NULL;
}
