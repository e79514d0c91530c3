/* SHAPE rows: every result element is found by where it comes from. */
#include <string.h>

#include "device/ref/value.h"

/* Over the elements of an array, with their multi-indices. */
typedef struct walk {
    const mica_type *type;
    int64_t index[MICA_MAX_RANK];
    int64_t i;
    bool more;
} walk;

static walk walk_begin(const mica_type *type) {
    return (walk){.type = type, .more = mica_type_elements(type) > 0};
}

static void walk_next(walk *w) {
    w->more = ref_advance(w->type, w->index);
    w->i++;
}

mica_status ref_constant(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)operands;
    const mica_attr *value = mica_node_attr(n, "value");
    if (results[0]->type.kind == MICA_TENSOR && mica_type_bytes(&results[0]->type))
        memcpy(results[0]->data, value->as.data.bytes, mica_type_bytes(&results[0]->type));
    return NULL;
}

mica_status ref_iota(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)operands;
    int64_t axis = mica_node_int(n, "axis");
    for (walk w = walk_begin(&results[0]->type); w.more; walk_next(&w)) {
        ref_number number = {.bits = (uint64_t)w.index[axis], .real = (double)w.index[axis]};
        ref_store(w.type->dtype, results[0]->data, w.i, number);
    }
    return NULL;
}

mica_status ref_broadcast(const mica_node *n, ref_value *const *operands, ref_value **results) {
    mica_ints axes = mica_node_ints(n, "axes");
    const mica_type *x = &operands[0]->type;
    for (walk w = walk_begin(&results[0]->type); w.more; walk_next(&w)) {
        int64_t source[MICA_MAX_RANK];
        for (int32_t k = 0; k < x->rank; k++)
            source[k] = x->dims[k] == 1 ? 0 : w.index[axes.data[k]];
        ref_copy_element(x->dtype, results[0]->data, w.i, operands[0]->data,
                         ref_position(x, source));
    }
    return NULL;
}

mica_status ref_reshape(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    memcpy(results[0]->data, operands[0]->data, mica_type_bytes(&results[0]->type));
    return NULL;
}

mica_status ref_bitcast(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    memcpy(results[0]->data, operands[0]->data, mica_type_bytes(&results[0]->type));
    return NULL;
}

mica_status ref_transpose(const mica_node *n, ref_value *const *operands, ref_value **results) {
    mica_ints permutation = mica_node_ints(n, "permutation");
    const mica_type *x = &operands[0]->type;
    for (walk w = walk_begin(&results[0]->type); w.more; walk_next(&w)) {
        int64_t source[MICA_MAX_RANK];
        for (int32_t k = 0; k < x->rank; k++) source[permutation.data[k]] = w.index[k];
        ref_copy_element(x->dtype, results[0]->data, w.i, operands[0]->data,
                         ref_position(x, source));
    }
    return NULL;
}

mica_status ref_slice(const mica_node *n, ref_value *const *operands, ref_value **results) {
    mica_ints start = mica_node_ints(n, "start"), stride = mica_node_ints(n, "stride");
    const mica_type *x = &operands[0]->type;
    for (walk w = walk_begin(&results[0]->type); w.more; walk_next(&w)) {
        int64_t source[MICA_MAX_RANK];
        for (int32_t k = 0; k < x->rank; k++)
            source[k] = start.data[k] + w.index[k] * stride.data[k];
        ref_copy_element(x->dtype, results[0]->data, w.i, operands[0]->data,
                         ref_position(x, source));
    }
    return NULL;
}

/* Where element `index` of a padded array comes from; false: from the padding. */
static bool unpad(const mica_type *x, mica_ints low, mica_ints interior, const int64_t *index,
                  int64_t *source) {
    for (int32_t k = 0; k < x->rank; k++) {
        int64_t place = index[k] - low.data[k];
        uint64_t step = (uint64_t)interior.data[k] + 1; /* may be 2^63 */
        if (place < 0 || (uint64_t)place % step != 0) return false;
        source[k] = (int64_t)((uint64_t)place / step);
        if (source[k] >= x->dims[k]) return false;
    }
    return true;
}

mica_status ref_pad(const mica_node *n, ref_value *const *operands, ref_value **results) {
    mica_ints low = mica_node_ints(n, "low"), interior = mica_node_ints(n, "interior");
    const mica_type *x = &operands[0]->type;
    for (walk w = walk_begin(&results[0]->type); w.more; walk_next(&w)) {
        int64_t source[MICA_MAX_RANK];
        if (unpad(x, low, interior, w.index, source))
            ref_copy_element(x->dtype, results[0]->data, w.i, operands[0]->data,
                             ref_position(x, source));
        else
            ref_copy_element(x->dtype, results[0]->data, w.i, operands[1]->data, 0);
    }
    return NULL;
}

mica_status ref_concat(const mica_node *n, ref_value *const *operands, ref_value **results) {
    int64_t axis = mica_node_int(n, "axis");
    for (walk w = walk_begin(&results[0]->type); w.more; walk_next(&w)) {
        int64_t source[MICA_MAX_RANK];
        int32_t which = 0;
        memcpy(source, w.index, sizeof source);
        while (source[axis] >= operands[which]->type.dims[axis])
            source[axis] -= operands[which++]->type.dims[axis];
        ref_copy_element(w.type->dtype, results[0]->data, w.i, operands[which]->data,
                         ref_position(&operands[which]->type, source));
    }
    return NULL;
}

mica_status ref_reverse(const mica_node *n, ref_value *const *operands, ref_value **results) {
    mica_ints axes = mica_node_ints(n, "axes");
    const mica_type *x = &operands[0]->type;
    for (walk w = walk_begin(&results[0]->type); w.more; walk_next(&w)) {
        int64_t source[MICA_MAX_RANK];
        memcpy(source, w.index, sizeof source);
        for (int32_t k = 0; k < axes.n; k++)
            source[axes.data[k]] = x->dims[axes.data[k]] - 1 - source[axes.data[k]];
        ref_copy_element(x->dtype, results[0]->data, w.i, operands[0]->data,
                         ref_position(x, source));
    }
    return NULL;
}

/* Entry k of an integer vector, clamped to [0, highest]. */
static int64_t clamped_start(const ref_value *start, int32_t k, int64_t highest) {
    ref_number number = ref_load(start->type.dtype, start->data, k);
    if (mica_dtype_kind_of(start->type.dtype) == MICA_KIND_SIGNED && (int64_t)number.bits < 0)
        return 0;
    return number.bits > (uint64_t)highest ? highest : (int64_t)number.bits;
}

mica_status ref_dynamic_slice(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    const mica_type *x = &operands[0]->type;
    for (walk w = walk_begin(&results[0]->type); w.more; walk_next(&w)) {
        int64_t source[MICA_MAX_RANK];
        for (int32_t k = 0; k < x->rank; k++)
            source[k] = clamped_start(operands[1], k, x->dims[k] - w.type->dims[k]) + w.index[k];
        ref_copy_element(x->dtype, results[0]->data, w.i, operands[0]->data,
                         ref_position(x, source));
    }
    return NULL;
}

mica_status ref_dynamic_update_slice(const mica_node *n, ref_value *const *operands,
                                     ref_value **results) {
    (void)n;
    const mica_type *x = &operands[0]->type;
    memcpy(results[0]->data, operands[0]->data, mica_type_bytes(x));
    for (walk w = walk_begin(&operands[1]->type); w.more; walk_next(&w)) {
        int64_t target[MICA_MAX_RANK];
        for (int32_t k = 0; k < x->rank; k++)
            target[k] = clamped_start(operands[2], k, x->dims[k] - w.type->dims[k]) + w.index[k];
        ref_copy_element(x->dtype, results[0]->data, ref_position(x, target), operands[1]->data,
                         w.i);
    }
    return NULL;
}
