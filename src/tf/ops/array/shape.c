/* Shape functions of ops that make, reshape and select. */
#include "tf/shape_rules.h"

mica_status tf_shape_none(mica_tf_inference *c) {
    (void)c;
    return NULL;
}

mica_status tf_shape_unknown(mica_tf_inference *c) {
    (void)c;
    return NULL;
}

mica_status tf_shape_scalar(mica_tf_inference *c) {
    c->outputs[0] = (mica_tf_shape){.rank = 0};
    return NULL;
}

mica_status tf_shape_same(mica_tf_inference *c) {
    c->outputs[0] = c->inputs[0];
    return NULL;
}

mica_status tf_shape_ensure_shape(mica_tf_inference *c) {
    const mica_tf_shape *wanted = mica_tf_attr_find(c->info, c->attrs, "shape")->as.shapes;
    if (mica_tf_shape_merge(&c->inputs[0], wanted, &c->outputs[0])) return NULL;
    return MICA_INVALID("[EnsureShape] Shape of tensor input %s is not compatible with expected "
                        "shape %s.",
                        mica_tf_shape_text(&c->inputs[0]).chars, mica_tf_shape_text(wanted).chars);
}

mica_status tf_shape_constant(mica_tf_inference *c) {
    mica_tf_value_shape(mica_tf_attr_find(c->info, c->attrs, "value")->as.value, &c->outputs[0]);
    return NULL;
}

mica_status tf_shape_shape_of(mica_tf_inference *c) {
    c->outputs[0] = mica_tf_unknown_of_rank(1);
    if (c->inputs[0].rank >= 0) c->outputs[0].dims[0] = c->inputs[0].rank;
    return NULL;
}

/* The shape that operand i spells out; what is not known of it is unknown. */
static mica_status shape_from_operand(mica_tf_inference *c, int32_t i, mica_tf_shape *out) {
    int64_t ints[MICA_MAX_RANK * 4];
    int32_t n = 0;
    const mica_tf_shape *operand = &c->inputs[i];
    if (operand->rank > 1)
        return MICA_INVALID("[%s] dims must be a vector, got shape %s", c->info->name,
                            mica_tf_shape_text(operand).chars);
    if (operand->rank == 1 && operand->dims[0] > MICA_MAX_RANK)
        return MICA_INVALID("[%s] the result would have rank %lld: at most %d is possible",
                            c->info->name, (long long)operand->dims[0], MICA_MAX_RANK);
    if (mica_tf_input_ints(c, i, ints, &n) && n <= MICA_MAX_RANK) {
        *out = (mica_tf_shape){.rank = n};
        for (int32_t k = 0; k < n; k++)
            out->dims[k] = ints[k] == MICA_TF_UNKNOWN_INT ? -1 : ints[k];
        return NULL;
    }
    *out = mica_tf_unknown();
    if (operand->rank == 1 && operand->dims[0] >= 0 && operand->dims[0] <= MICA_MAX_RANK)
        *out = mica_tf_unknown_of_rank((int32_t)operand->dims[0]);
    return NULL;
}

/* `product` is that of the sizes that are given. */
static mica_status does_not_fit(const mica_tf_inference *c, int64_t elements,
                                const mica_tf_shape *wanted, int64_t product) {
    bool is_whole = mica_tf_shape_is_known(wanted);
    if (c->graph && is_whole)
        return MICA_INVALID(
            "[Reshape] Cannot reshape a tensor with %lld elements to shape %s (%lld "
            "elements)",
            (long long)elements, mica_tf_shape_text(wanted).chars, (long long)product);
    if (c->graph)
        return MICA_INVALID("[Reshape] Dimension size must be evenly divisible by %lld but is %lld",
                            (long long)product, (long long)elements);
    return MICA_INVALID("[Reshape] Input to reshape is a tensor with %lld values, but the "
                        "requested shape %s %lld",
                        (long long)elements, is_whole ? "has" : "requires a multiple of",
                        (long long)product);
}

mica_status tf_shape_reshape(mica_tf_inference *c) {
    mica_tf_shape shape;
    MICA_TRY(shape_from_operand(c, 1, &shape));
    int64_t elements = mica_tf_shape_elements(&c->inputs[0]), product = 1;
    int32_t unknown = -1, n_unknown = 0;
    for (int32_t i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < -1)
            return MICA_INVALID("[Reshape] Size %d must be non-negative, not %lld", i,
                                (long long)shape.dims[i]);
        if (shape.dims[i] < 0)
            unknown = i, n_unknown++;
        else
            product = mica_tf_times(product, shape.dims[i]);
    }
    if (n_unknown > 1 && !c->graph)
        return MICA_INVALID("[Reshape] Only one input size may be -1, not both %s",
                            mica_tf_shape_text(&shape).chars);
    c->outputs[0] = shape;
    if (shape.rank < 0 || elements < 0) return NULL;
    bool fits = n_unknown == 0
                    ? product == elements
                    : n_unknown > 1 || (product == 0 ? elements == 0 : elements % product == 0);
    if (!fits) return does_not_fit(c, elements, &shape, product);
    /* Of no elements any size can be; it is known when the operand is. */
    if (n_unknown == 1 && (product || !c->graph))
        c->outputs[0].dims[unknown] = product ? elements / product : 0;
    return NULL;
}

mica_status tf_shape_fill(mica_tf_inference *c) {
    MICA_TRY(shape_from_operand(c, 0, &c->outputs[0]));
    if (c->inputs[1].rank > 0)
        return MICA_INVALID("[Fill] value must be a scalar, got shape %s",
                            mica_tf_shape_text(&c->inputs[1]).chars);
    int64_t ints[MICA_MAX_RANK * 4];
    int32_t n = 0;
    if (!mica_tf_input_ints(c, 0, ints, &n)) n = 0;
    for (int32_t i = 0; i < n; i++)
        if (ints[i] < 0 && ints[i] != MICA_TF_UNKNOWN_INT)
            return MICA_INVALID("[Fill] Dimension %lld must be >= 0", (long long)ints[i]);
    return NULL;
}

mica_status tf_shape_fill_like(mica_tf_inference *c) {
    mica_tf_shape shape, result;
    MICA_TRY(shape_from_operand(c, 1, &shape));
    c->outputs[0] = shape;
    int32_t missing = shape.rank - c->inputs[0].rank;
    for (int32_t i = 0; c->graph && missing >= 0 && i < c->inputs[0].rank; i++)
        if (c->inputs[0].dims[i] > 1 && shape.dims[missing + i] < 0) /* not stretched */
            c->outputs[0].dims[missing + i] = c->inputs[0].dims[i];
    if (!mica_tf_shape_broadcast(&c->inputs[0], &shape, &result) ||
        (shape.rank >= 0 && c->inputs[0].rank > shape.rank))
        return MICA_INVALID("[BroadcastTo] Incompatible shapes: %s vs. %s",
                            mica_tf_shape_text(&c->inputs[0]).chars,
                            mica_tf_shape_text(&shape).chars);
    return NULL;
}

/* ---- strided slices ---------------------------------------------------------------------------*/

enum { MOST_ENTRIES = 32 }; /* as many as the masks have bits */
enum { BEGIN_MASK, END_MASK, ELLIPSIS_MASK, NEW_AXIS_MASK, SHRINK_AXIS_MASK };

/* Where an index lies in an axis of a given size; for a negative stride one step further left. */
static int64_t clamp_bound(int64_t bound, int64_t size, bool negative) {
    if (bound < 0) bound += size;
    int64_t low = negative ? -1 : 0, high = negative ? size - 1 : size;
    return bound < low ? low : bound > high ? high : bound;
}

static mica_status slice_axis(mica_tf_slice *s, int32_t axis, int64_t size, int64_t begin,
                              int64_t end, int64_t stride, bool has_begin, bool has_end,
                              bool shrink) {
    if (stride == MICA_TF_UNKNOWN_INT || (has_begin && begin == MICA_TF_UNKNOWN_INT && !shrink) ||
        (has_end && end == MICA_TF_UNKNOWN_INT && !shrink)) {
        s->begin[axis] = s->size[axis] = -1;
        return NULL;
    }
    if (stride == 0) return MICA_INVALID("[StridedSlice] strides[%d] must be non-zero", axis);
    /* A step beyond the end of any axis takes one element, as every longer one does. */
    const int64_t longest = INT64_MAX / 4;
    if (stride < -longest) stride = -longest;
    if (stride > longest) stride = longest;
    s->stride[axis] = stride;
    s->begin[axis] = s->size[axis] = -1;
    if (shrink) {
        if (stride < 0)
            return MICA_INVALID("[StridedSlice] only stride 1 allowed on non-range indexing.");
        if (size < 0 || begin == MICA_TF_UNKNOWN_INT) {
            s->begin[axis] = begin;
            s->size[axis] = 1;
            return NULL;
        }
        int64_t at = begin < 0 ? begin + size : begin;
        if (at < 0 || at >= size)
            return MICA_INVALID("[StridedSlice] slice index %lld of dimension %d out of bounds.",
                                (long long)begin, axis);
        s->begin[axis] = at;
        s->size[axis] = 1;
        s->stride[axis] = 1;
        return NULL;
    }
    if (!has_begin && !has_end && stride == 1) { /* all of it, whatever its size */
        s->begin[axis] = 0;
        s->size[axis] = size;
        return NULL;
    }
    if (size < 0) return NULL;
    bool negative = stride < 0;
    int64_t first = has_begin ? clamp_bound(begin, size, negative) : negative ? size - 1 : 0;
    int64_t last = has_end ? clamp_bound(end, size, negative) : negative ? -1 : size;
    int64_t span = negative ? first - last : last - first, step = negative ? -stride : stride;
    s->begin[axis] = first;
    s->size[axis] = span <= 0 ? 0 : (span - 1) / step + 1;
    return NULL;
}

mica_status mica_tf_slice_make(const mica_tf_shape *input, const int64_t *begin, const int64_t *end,
                               const int64_t *strides, int32_t n, const int64_t masks[5],
                               mica_tf_slice *out) {
    *out = (mica_tf_slice){.rank = input->rank};
    int32_t n_axes = 0, ellipsis = -1;
    for (int32_t i = 0; i < n; i++) {
        if (masks[ELLIPSIS_MASK] >> i & 1) {
            if (ellipsis >= 0) return MICA_INVALID("[StridedSlice] Multiple ellipses in slice");
            ellipsis = i;
        } else if (!(masks[NEW_AXIS_MASK] >> i & 1))
            n_axes++;
    }
    if (n_axes > input->rank)
        return MICA_INVALID("[StridedSlice] Index out of range using input dim %d; input has only "
                            "%d dims",
                            input->rank, input->rank);
    int32_t axis = 0, skipped = input->rank - n_axes;
    for (int32_t i = 0; i <= n; i++) {
        if (i == n || i == ellipsis) {
            if (i == n && ellipsis >= 0) break;
            if (out->result.rank + skipped > MICA_MAX_RANK)
                return MICA_INVALID("[StridedSlice] the result's rank is too high");
            for (int32_t k = 0; k < skipped; k++, axis++) {
                int64_t size = input->dims[axis];
                out->begin[axis] = 0, out->size[axis] = size, out->stride[axis] = 1;
                out->result.dims[out->result.rank++] = size;
            }
            continue;
        }
        if (out->result.rank >= MICA_MAX_RANK)
            return MICA_INVALID("[StridedSlice] the result's rank is too high");
        if (masks[NEW_AXIS_MASK] >> i & 1) {
            out->result.dims[out->result.rank++] = 1;
            continue;
        }
        bool shrink = masks[SHRINK_AXIS_MASK] >> i & 1;
        MICA_TRY(slice_axis(out, axis, input->dims[axis], begin[i], end[i], strides[i],
                            !(masks[BEGIN_MASK] >> i & 1), !(masks[END_MASK] >> i & 1), shrink));
        if (!shrink) out->result.dims[out->result.rank++] = out->size[axis];
        axis++;
    }
    return NULL;
}

static void read_masks(const mica_tf_inference *c, int64_t masks[5]) {
    static const char *const names[] = {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
                                        "shrink_axis_mask"};
    for (int32_t i = 0; i < 5; i++) masks[i] = mica_tf_inference_int(c, names[i]);
}

mica_status tf_shape_strided_slice(mica_tf_inference *c) {
    int64_t bounds[3][MICA_MAX_RANK * 4], masks[5];
    int32_t n[3];
    bool known = true;
    for (int32_t i = 1; i < 4; i++) {
        const mica_tf_shape *given = &c->inputs[i];
        if (given->rank > 1 || given->rank == 0 ||
            (given->rank == 1 && given->dims[0] > MOST_ENTRIES))
            return MICA_INVALID("[StridedSlice] begin, end and strides must be vectors of equal "
                                "length, at most %d: %s is of shape %s",
                                MOST_ENTRIES, c->info->inputs[i].name,
                                mica_tf_shape_text(given).chars);
    }
    for (int32_t i = 0; i < 3; i++) known &= mica_tf_input_ints(c, i + 1, bounds[i], &n[i]);
    if (c->inputs[0].rank < 0) return NULL;
    read_masks(c, masks);
    if (known && (n[0] != n[1] || n[0] != n[2]))
        return MICA_INVALID("[StridedSlice] begin, end and strides have %d, %d and %d entries",
                            n[0], n[1], n[2]);
    mica_tf_slice slice;
    if (known) {
        MICA_TRY(mica_tf_slice_make(&c->inputs[0], bounds[0], bounds[1], bounds[2], n[0], masks,
                                    &slice));
        c->outputs[0] = slice.result;
        return NULL;
    }
    const mica_tf_shape *count = &c->inputs[1];
    if (count->rank != 1 || count->dims[0] < 0) return NULL;
    for (int32_t i = 2; i < 4; i++)
        if (c->inputs[i].rank == 1 && c->inputs[i].dims[0] >= 0 &&
            c->inputs[i].dims[0] != count->dims[0])
            return MICA_INVALID("[StridedSlice] begin and %s have %lld and %lld entries",
                                c->info->inputs[i].name, (long long)count->dims[0],
                                (long long)c->inputs[i].dims[0]);
    int32_t entries = (int32_t)count->dims[0], rank = c->inputs[0].rank;
    for (int32_t i = 0; i < entries; i++) {
        if (masks[ELLIPSIS_MASK] >> i & 1) continue; /* whatever other masks say */
        if (masks[NEW_AXIS_MASK] >> i & 1)
            rank++;
        else if (masks[SHRINK_AXIS_MASK] >> i & 1)
            rank--;
    }
    if (rank >= 0 && rank <= MICA_MAX_RANK) c->outputs[0] = mica_tf_unknown_of_rank(rank);
    return NULL;
}

mica_status tf_shape_where(mica_tf_inference *c) {
    if (!c->graph && c->inputs[0].rank == 0)
        return MICA_INVALID("[Where] condition must have a rank of at least 1, not be a scalar");
    c->outputs[0] = mica_tf_unknown_of_rank(2);
    c->outputs[0].dims[1] = c->inputs[0].rank;
    return NULL;
}

/* ---- axes -------------------------------------------------------------------------------------*/

mica_status tf_shape_expand_dims(mica_tf_inference *c) {
    int64_t ints[MICA_MAX_RANK * 4];
    int32_t n, axis, rank = c->inputs[0].rank;
    if (rank < 0) return NULL;
    if (rank + 1 > MICA_MAX_RANK) return MICA_INVALID("[ExpandDims] rank %d is too high", rank + 1);
    if (!mica_tf_input_known(c, 1, ints, &n)) {
        c->outputs[0] = mica_tf_unknown_of_rank(rank + 1);
        return NULL;
    }
    if (n != 1) return MICA_INVALID("[ExpandDims] 'dim' must be one integer, %d given", n);
    if (ints[0] < -rank - 1 || ints[0] > rank)
        return c->graph ? MICA_INVALID("[ExpandDims] dim %lld not in the interval [%d, %d].",
                                       (long long)ints[0], -rank - 1, rank)
                        : MICA_INVALID("[ExpandDims] Tried to expand dim index %lld for tensor "
                                       "with %d dimensions.",
                                       (long long)ints[0], rank);
    axis = (int32_t)(ints[0] < 0 ? ints[0] + rank + 1 : ints[0]);
    mica_tf_shape shape = {.rank = rank + 1};
    for (int32_t i = 0, k = 0; i <= rank; i++)
        shape.dims[i] = i == axis ? 1 : c->inputs[0].dims[k++];
    c->outputs[0] = shape;
    return NULL;
}

mica_status tf_shape_squeeze(mica_tf_inference *c) {
    const mica_tf_attr *dims = mica_tf_attr_find(c->info, c->attrs, "squeeze_dims");
    const mica_tf_shape *x = &c->inputs[0];
    if (x->rank < 0) return NULL;
    uint32_t chosen = 0;
    for (int32_t i = 0; i < dims->n; i++) {
        int32_t axis;
        MICA_TRY(mica_tf_axis("Squeeze", dims->as.ints[i], x->rank, &axis));
        if (x->dims[axis] > 1 || x->dims[axis] == 0)
            return MICA_INVALID("[Squeeze] Can not squeeze dim[%d], expected a dimension of 1, got "
                                "%lld",
                                axis, (long long)x->dims[axis]);
        chosen |= UINT32_C(1) << axis;
    }
    mica_tf_shape shape = {.rank = 0};
    for (int32_t i = 0; i < x->rank; i++) {
        if (dims->n == 0 && x->dims[i] < 0) return NULL; /* may be 1: the rank is unknown */
        if (dims->n ? !(chosen >> i & 1) : x->dims[i] != 1) shape.dims[shape.rank++] = x->dims[i];
    }
    c->outputs[0] = shape;
    return NULL;
}

mica_status tf_shape_transpose(mica_tf_inference *c) {
    int64_t ints[MICA_MAX_RANK * 4];
    int32_t n;
    const mica_tf_shape *x = &c->inputs[0];
    if (!mica_tf_input_known(c, 1, ints, &n)) {
        if (x->rank >= 0) c->outputs[0] = mica_tf_unknown_of_rank(x->rank);
        return NULL;
    }
    if (x->rank >= 0 && n != x->rank)
        return MICA_INVALID("[Transpose] transpose expects a vector of size %d. But input(1) is a "
                            "vector of size %d",
                            x->rank, n);
    if (n > MICA_MAX_RANK)
        return MICA_INVALID("[Transpose] perm has %d entries: at most %d are possible", n,
                            MICA_MAX_RANK);
    mica_tf_shape shape = mica_tf_unknown_of_rank(n);
    uint32_t seen = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t axis;
        MICA_TRY(mica_tf_axis("Transpose", ints[i], n, &axis));
        seen |= UINT32_C(1) << axis;
        if (x->rank >= 0) shape.dims[i] = x->dims[axis];
    }
    for (int32_t i = 0; i < n; i++)
        if (!(seen >> i & 1)) {
            mica_tf_shape given = {.rank = n};
            for (int32_t k = 0; k < n; k++) given.dims[k] = ints[k];
            return MICA_INVALID("[Transpose] %d is missing from %s.", i,
                                mica_tf_shape_text(&given).chars);
        }
    c->outputs[0] = shape;
    return NULL;
}

static mica_status concat_differs(const mica_tf_inference *c, int32_t i, int32_t axis,
                                  int64_t first, int64_t other) {
    if (c->graph)
        return MICA_INVALID("[ConcatV2] Dimension %d in both shapes must be equal, but are %lld "
                            "and %lld. Shapes are %s and %s.",
                            axis, (long long)first, (long long)other,
                            mica_tf_shape_text(&c->inputs[0]).chars,
                            mica_tf_shape_text(&c->inputs[i]).chars);
    return MICA_INVALID("[ConcatV2] ConcatOp : Dimension %d in both shapes must be equal: shape[0] "
                        "= %s vs. shape[%d] = %s",
                        axis, mica_tf_shape_text(&c->inputs[0]).chars, i,
                        mica_tf_shape_text(&c->inputs[i]).chars);
}

mica_status tf_shape_concat(mica_tf_inference *c) {
    int64_t given;
    int32_t axis, n = c->n_inputs - 1;
    bool known;
    mica_tf_shape shape = mica_tf_unknown();
    MICA_TRY(mica_tf_input_number(c, n, &given, &known));
    for (int32_t i = 0; i < n && shape.rank < 0; i++)
        if (c->inputs[i].rank >= 0) shape = mica_tf_unknown_of_rank(c->inputs[i].rank);
    if (shape.rank < 0) return NULL;
    c->outputs[0] = shape;
    if (!known) return NULL;
    if (shape.rank == 0)
        return MICA_INVALID("[ConcatV2] Can't concatenate scalars (use tf.stack instead)");
    if (given < -shape.rank || given >= shape.rank)
        return MICA_INVALID("[ConcatV2] Expected concatenating dimensions in the range [%d, %d), "
                            "but got %lld",
                            -shape.rank, shape.rank, (long long)given);
    axis = (int32_t)(given < 0 ? given + shape.rank : given);
    shape.dims[axis] = 0;
    for (int32_t i = 0; i < n; i++) {
        mica_tf_shape part = c->inputs[i];
        if (part.rank < 0) part = mica_tf_unknown_of_rank(shape.rank);
        if (part.rank != shape.rank)
            return MICA_INVALID("[ConcatV2] ConcatOp : Ranks of all input tensors should match: "
                                "shape[0] = %s vs. shape[%d] = %s",
                                mica_tf_shape_text(&c->inputs[0]).chars, i,
                                mica_tf_shape_text(&part).chars);
        for (int32_t k = 0; k < shape.rank; k++) {
            int64_t size = part.dims[k];
            if (k == axis)
                shape.dims[k] =
                    shape.dims[k] < 0 || size < 0 ? -1 : mica_tf_plus(shape.dims[k], size);
            else if (shape.dims[k] < 0)
                shape.dims[k] = size;
            else if (size >= 0 && size != shape.dims[k])
                return concat_differs(c, i, k, shape.dims[k], size);
        }
    }
    c->outputs[0] = shape;
    return NULL;
}

mica_status tf_shape_pack(mica_tf_inference *c) {
    mica_tf_shape shape = mica_tf_unknown();
    int32_t axis;
    for (int32_t i = 0; i < c->n_inputs; i++)
        if (!mica_tf_shape_merge(&shape, &c->inputs[i], &shape))
            return MICA_INVALID("[Pack] Shapes of all inputs must match: values[0].shape = %s != "
                                "values[%d].shape = %s",
                                mica_tf_shape_text(&c->inputs[0]).chars, i,
                                mica_tf_shape_text(&c->inputs[i]).chars);
    if (shape.rank < 0) return NULL;
    if (shape.rank + 1 > MICA_MAX_RANK) return MICA_INVALID("[Pack] the rank is too high");
    MICA_TRY(mica_tf_axis("Pack", mica_tf_inference_int(c, "axis"), shape.rank + 1, &axis));
    c->outputs[0].rank = shape.rank + 1;
    for (int32_t i = 0, k = 0; i <= shape.rank; i++)
        c->outputs[0].dims[i] = i == axis ? c->n_inputs : shape.dims[k++];
    return NULL;
}

mica_status tf_shape_unpack(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0];
    int64_t num = mica_tf_inference_int(c, "num");
    int32_t axis;
    if (x->rank < 0) return NULL;
    MICA_TRY(mica_tf_axis("Unpack", mica_tf_inference_int(c, "axis"), x->rank, &axis));
    if (x->dims[axis] >= 0 && x->dims[axis] != num)
        return MICA_INVALID("[Unpack] Dimension must be %lld but is %lld", (long long)num,
                            (long long)x->dims[axis]);
    mica_tf_shape shape = {.rank = x->rank - 1};
    for (int32_t i = 0, k = 0; i < x->rank; i++)
        if (i != axis) shape.dims[k++] = x->dims[i];
    for (int32_t i = 0; i < c->n_outputs; i++) c->outputs[i] = shape;
    return NULL;
}

/* As unsigned numbers the distance and the step are exact. */
int64_t mica_tf_range_length(int64_t start, int64_t limit, int64_t delta) {
    bool is_empty = delta > 0 ? limit <= start : limit >= start;
    uint64_t span =
        delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : -(uint64_t)delta;
    uint64_t count = is_empty ? 0 : (span - 1) / step + 1;
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

mica_status tf_shape_range(mica_tf_inference *c) {
    int64_t values[3];
    bool known;
    c->outputs[0] = mica_tf_unknown_of_rank(1);
    mica_dtype_kind kind = mica_dtype_kind_of(mica_tf_dtype_core(c->dtypes[0]));
    for (int32_t i = 0; i < 3; i++) {
        if (c->inputs[i].rank > 1 || (c->inputs[i].rank == 1 && c->inputs[i].dims[0] > 1))
            return MICA_INVALID("[Range] operand %d must be a scalar, not of shape %s", i,
                                mica_tf_shape_text(&c->inputs[i]).chars);
        MICA_TRY(mica_tf_input_number(c, i, &values[i], &known));
        /* The least integer stands for what is not known, and is read as the one above it. */
        if (kind == MICA_KIND_FLOAT || !known || values[i] == MICA_TF_UNKNOWN_INT + 1) return NULL;
    }
    int64_t start = values[0], limit = values[1], delta = values[2];
    if (delta == 0) return MICA_INVALID("[Range] Requires delta != 0%s", c->graph ? "" : ": 0");
    c->outputs[0].dims[0] = mica_tf_range_length(start, limit, delta);
    return NULL;
}

mica_status tf_shape_gather(mica_tf_inference *c) {
    int64_t given;
    int32_t axis;
    bool known;
    const mica_tf_shape *x = &c->inputs[0], *indices = &c->inputs[1];
    int64_t batch = mica_tf_inference_int(c, "batch_dims");
    MICA_TRY(mica_tf_input_number(c, 2, &given, &known));
    if (x->rank < 0 || indices->rank < 0) return NULL;
    if (batch < 0) batch += indices->rank;
    if (batch < 0 || batch > indices->rank || batch > x->rank)
        return MICA_INVALID("[GatherV2] batch_dims %lld does not fit indices of rank %d",
                            (long long)batch, indices->rank);
    int32_t rank = x->rank + indices->rank - 1 - (int32_t)batch;
    if (rank < 0 || rank > MICA_MAX_RANK)
        return MICA_INVALID("[GatherV2] a result of rank %d is not possible", rank);
    c->outputs[0] = mica_tf_unknown_of_rank(rank);
    if (!known) return NULL;
    MICA_TRY(mica_tf_axis("GatherV2", given, x->rank, &axis));
    if (batch > axis)
        return MICA_INVALID("[GatherV2] batch_dims (%lld) must be less than or equal to axis (%d)",
                            (long long)batch, axis);
    int32_t k = 0;
    for (int32_t i = 0; i < axis; i++) c->outputs[0].dims[k++] = x->dims[i];
    for (int32_t i = (int32_t)batch; i < indices->rank; i++)
        c->outputs[0].dims[k++] = indices->dims[i];
    for (int32_t i = axis + 1; i < x->rank; i++) c->outputs[0].dims[k++] = x->dims[i];
    return NULL;
}

mica_status tf_shape_tile(mica_tf_inference *c) {
    int64_t ints[MICA_MAX_RANK * 4];
    int32_t n;
    const mica_tf_shape *x = &c->inputs[0];
    bool known = mica_tf_input_known(c, 1, ints, &n);
    if (x->rank >= 0 || (known && n <= MICA_MAX_RANK))
        c->outputs[0] = mica_tf_unknown_of_rank(x->rank < 0 ? n : x->rank);
    if (!known) return NULL;
    if (x->rank >= 0 && n != x->rank)
        return MICA_INVALID(
            "[Tile] Expected multiples argument to be a vector of length %d but got "
            "length %d",
            x->rank, n);
    for (int32_t i = 0; i < n; i++) {
        int64_t size = x->rank < 0 ? -1 : x->dims[i];
        if (ints[i] < 0 && !c->graph)
            return MICA_INVALID("[Tile] Expected multiples[%d] >= 0, but got %lld", i,
                                (long long)ints[i]);
        if (c->outputs[0].rank < 0 || ints[i] < 0) continue;
        c->outputs[0].dims[i] = ints[i] == 0 ? 0 : size < 0 ? -1 : mica_tf_times(size, ints[i]);
    }
    return NULL;
}

mica_status tf_shape_shape_n(mica_tf_inference *c) {
    for (int32_t i = 0; i < c->n_outputs; i++) {
        c->outputs[i] = mica_tf_unknown_of_rank(1);
        if (c->inputs[i].rank >= 0) c->outputs[i].dims[0] = c->inputs[i].rank;
    }
    return NULL;
}

static mica_status check_vector(const mica_tf_inference *c, int32_t i) {
    if (c->inputs[i].rank < 0 || c->inputs[i].rank == 1) return NULL;
    return MICA_INVALID("[%s] %s must be a vector, got shape %s", c->info->name,
                        c->info->inputs[i].name, mica_tf_shape_text(&c->inputs[i]).chars);
}

mica_status tf_shape_invert_permutation(mica_tf_inference *c) {
    MICA_TRY(check_vector(c, 0));
    c->outputs[0] = c->inputs[0].rank < 0 ? mica_tf_unknown_of_rank(1) : c->inputs[0];
    return NULL;
}
