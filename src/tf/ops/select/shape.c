/* Shape functions of ops that reduce, cut, pad, gather and scatter. */
#include "tf/shape_rules.h"

static mica_status known_axis(mica_tf_inference *c, int32_t input, int32_t rank, int32_t *out) {
    int64_t axis;
    bool known;
    *out = -1;
    MICA_TRY(mica_tf_input_number(c, input, &axis, &known));
    return known && rank >= 0 ? mica_tf_axis(c->info->name, axis, rank, out) : NULL;
}

mica_status tf_shape_cumulative(mica_tf_inference *c) {
    int32_t axis;
    c->outputs[0] = c->inputs[0];
    if (c->graph) return NULL; /* an axis that there is not is refused when it runs */
    return known_axis(c, 1, c->inputs[0].rank, &axis);
}

/* Each of the axes that operand i names, within the rank and once. */
static mica_status known_axes(mica_tf_inference *c, int32_t i, int32_t rank) {
    int64_t axes[MICA_MAX_RANK * 4];
    int32_t n, axis;
    uint32_t seen = 0;
    if (rank < 0 || !mica_tf_input_known(c, i, axes, &n)) return NULL;
    for (int32_t k = 0; k < n; k++) {
        MICA_TRY(mica_tf_axis(c->info->name, axes[k], rank, &axis));
        if (seen >> axis & 1)
            return MICA_INVALID("[%s] axis %d specified more than once.", c->info->name, axis);
        seen |= UINT32_C(1) << axis;
    }
    return NULL;
}

mica_status tf_shape_reverse(mica_tf_inference *c) {
    c->outputs[0] = c->inputs[0];
    if (c->inputs[1].rank == 0 || c->inputs[1].rank > 1)
        return MICA_INVALID("[ReverseV2] 'dims' must be 1-dimension, not %d", c->inputs[1].rank);
    return known_axes(c, 1, c->inputs[0].rank);
}

mica_status tf_shape_roll(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0], *shift = &c->inputs[1], *axis = &c->inputs[2];
    int64_t axes[MICA_MAX_RANK * 4];
    int32_t n, at;
    c->outputs[0] = *x;
    if (x->rank == 0) return MICA_INVALID("[Roll] input must be 1-D or higher");
    if (shift->rank > 1 || axis->rank > 1)
        return MICA_INVALID("[Roll] shift and axis must be scalars or vectors, not of shapes %s "
                            "and %s",
                            mica_tf_shape_text(shift).chars, mica_tf_shape_text(axis).chars);
    int64_t n_shift = mica_tf_shape_elements(shift), n_axis = mica_tf_shape_elements(axis);
    if (n_shift >= 0 && n_axis >= 0 && n_shift != n_axis)
        return MICA_INVALID("[Roll] shift and axis must have the same size, not %lld and %lld",
                            (long long)n_shift, (long long)n_axis);
    if (x->rank < 0 || !mica_tf_input_known(c, 2, axes, &n)) return NULL;
    for (int32_t i = 0; i < n; i++) MICA_TRY(mica_tf_axis("Roll", axes[i], x->rank, &at));
    return NULL;
}

mica_status tf_shape_band(mica_tf_inference *c) {
    int64_t number;
    bool known;
    c->outputs[0] = c->inputs[0];
    if (c->inputs[0].rank >= 0 && c->inputs[0].rank < 2)
        return MICA_INVALID("[MatrixBandPart] input must be at least 2-dim, received shape: %s",
                            mica_tf_shape_text(&c->inputs[0]).chars);
    static const char *const sizes[] = {"rows", "columns"};
    for (int32_t i = 1; i < 3; i++) {
        MICA_TRY(mica_tf_input_number(c, i, &number, &known));
        int64_t size = c->inputs[0].rank < 0 ? -1 : c->inputs[0].dims[c->inputs[0].rank - 3 + i];
        if (!c->graph && known && size >= 0 && number > size)
            return MICA_INVALID("[MatrixBandPart] %s must be negative or less or equal to number "
                                "of %s (%lld) got: %lld",
                                c->info->inputs[i].name, sizes[i - 1], (long long)size,
                                (long long)number);
    }
    return NULL;
}

mica_status tf_shape_arg_reduce(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0];
    int32_t axis;
    if (x->rank < 0) return NULL;
    if (x->rank == 0)
        return MICA_INVALID("[%s] the input must have at least rank 1", c->info->name);
    MICA_TRY(known_axis(c, 1, x->rank, &axis));
    c->outputs[0] = mica_tf_unknown_of_rank(x->rank - 1);
    if (!c->graph && axis >= 0 && x->dims[axis] == 0)
        return MICA_INVALID("[%s] Reduction axis %d is empty in shape %s", c->info->name, axis,
                            mica_tf_shape_text(x).chars);
    for (int32_t i = 0, k = 0; axis >= 0 && i < x->rank; i++)
        if (i != axis) c->outputs[0].dims[k++] = x->dims[i];
    return NULL;
}

mica_status tf_shape_top_k(mica_tf_inference *c) {
    mica_tf_shape shape = c->inputs[0];
    int64_t k;
    bool known;
    MICA_TRY(mica_tf_input_number(c, 1, &k, &known));
    if (shape.rank < 0) return NULL;
    if (shape.rank == 0) return MICA_INVALID("[TopKV2] input must be >= 1-D, got shape []");
    int64_t last = shape.dims[shape.rank - 1];
    if (known && (k < 0 || (last >= 0 && k > last)))
        return MICA_INVALID("[TopKV2] input must have at least k columns. Had %lld, needed %lld",
                            (long long)last, (long long)k);
    shape.dims[shape.rank - 1] = known ? k : -1;
    c->outputs[0] = c->outputs[1] = shape;
    return NULL;
}

mica_status tf_shape_segments(mica_tf_inference *c) {
    const mica_tf_shape *data = &c->inputs[0], *ids = &c->inputs[1];
    int64_t count;
    bool known;
    MICA_TRY(mica_tf_input_number(c, 2, &count, &known));
    bool is_later = c->graph && ids->rank < 0; /* TensorFlow looks when the function runs */
    if (known && count < 0 && is_later) return NULL;
    if (known && count < 0)
        return MICA_INVALID("[%s] Input num_segments == %lld must not be negative.", c->info->name,
                            (long long)count);
    if (data->rank < 0 || ids->rank < 0) return NULL;
    mica_tf_shape start = *data, merged;
    start.rank = ids->rank;
    if (ids->rank > data->rank || !mica_tf_shape_merge(&start, ids, &merged))
        return MICA_INVALID("[%s] data.shape = %s does not start with segment_ids.shape = %s",
                            c->info->name, mica_tf_shape_text(data).chars,
                            mica_tf_shape_text(ids).chars);
    if (data->rank - ids->rank + 1 > MICA_MAX_RANK)
        return MICA_INVALID("[%s] the result's rank is too high", c->info->name);
    mica_tf_shape shape = {.rank = 1, .dims = {-1}};
    if (known) shape.dims[0] = count;
    for (int32_t i = ids->rank; i < data->rank; i++) shape.dims[shape.rank++] = data->dims[i];
    c->outputs[0] = shape;
    return NULL;
}

/* ---- cutting ----------------------------------------------------------------------------------*/

mica_status tf_shape_slice(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0];
    int64_t begin[MICA_MAX_RANK * 4], size[MICA_MAX_RANK * 4];
    int32_t n_begin = 0, n_size = 0;
    bool has_begin = mica_tf_input_ints(c, 1, begin, &n_begin);
    bool has_size = mica_tf_input_ints(c, 2, size, &n_size);
    for (int32_t i = 0; has_size && i < n_size; i++)
        if (size[i] != MICA_TF_UNKNOWN_INT && size[i] < -1)
            return MICA_INVALID("[Slice] Expected size[%d] to be -1 or not negative, not %lld", i,
                                (long long)size[i]);
    if (x->rank < 0) {
        if (!has_size || n_size > MICA_MAX_RANK) return NULL;
        c->outputs[0] = mica_tf_unknown_of_rank(n_size);
        for (int32_t i = 0; i < n_size; i++)
            if (size[i] >= 0) c->outputs[0].dims[i] = size[i];
        return NULL;
    }
    if ((has_begin && n_begin != x->rank) || (has_size && n_size != x->rank))
        return MICA_INVALID(
            "[Slice] Expected begin and size arguments to be 1-D tensors of size %d", x->rank);
    mica_tf_shape shape = mica_tf_unknown_of_rank(x->rank);
    for (int32_t i = 0; i < x->rank; i++) {
        bool from = has_begin && begin[i] != MICA_TF_UNKNOWN_INT;
        if (!has_size || size[i] == MICA_TF_UNKNOWN_INT) continue;
        bool is_known = from && x->dims[i] >= 0;
        int64_t room = is_known ? mica_tf_plus(x->dims[i], -begin[i]) : INT64_MAX;
        if (is_known && (begin[i] < 0 || room < 0))
            return MICA_INVALID("[Slice] Expected begin[%d] in [0, %lld], but got %lld", i,
                                (long long)x->dims[i], (long long)begin[i]);
        if (is_known && size[i] > room)
            return MICA_INVALID("[Slice] Expected size[%d] in [0, %lld], but got %lld", i,
                                (long long)room, (long long)size[i]);
        if (size[i] >= 0)
            shape.dims[i] = size[i];
        else if (is_known)
            shape.dims[i] = room;
    }
    c->outputs[0] = shape;
    return NULL;
}

mica_status tf_shape_split(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[1];
    int32_t axis;
    if (x->rank < 0) return NULL;
    MICA_TRY(known_axis(c, 0, x->rank, &axis));
    mica_tf_shape shape = axis >= 0 ? *x : mica_tf_unknown_of_rank(x->rank);
    if (axis >= 0 && x->dims[axis] >= 0) {
        if (c->n_outputs == 0 || x->dims[axis] % c->n_outputs)
            return MICA_INVALID("[Split] Number of ways to split should evenly divide the split "
                                "dimension, but got split_dim %d (size = %lld) and num_split %d",
                                axis, (long long)x->dims[axis], c->n_outputs);
        shape.dims[axis] = x->dims[axis] / c->n_outputs;
    }
    for (int32_t i = 0; i < c->n_outputs; i++) c->outputs[i] = shape;
    return NULL;
}

mica_status tf_shape_split_v(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0];
    int64_t sizes[MICA_MAX_RANK * 4], known = 0;
    int32_t axis, n;
    if (x->rank < 0) return NULL;
    MICA_TRY(known_axis(c, 2, x->rank, &axis));
    mica_tf_shape shape = axis >= 0 ? *x : mica_tf_unknown_of_rank(x->rank);
    int64_t given = mica_tf_shape_elements(&c->inputs[1]);
    int32_t n_open = 0;
    if (given >= 0 && given != c->n_outputs)
        return MICA_INVALID("[SplitV] size_splits must have %d entries, one for each part, not "
                            "%lld",
                            c->n_outputs, (long long)given);
    bool has_sizes = mica_tf_input_known(c, 1, sizes, &n) && n == c->n_outputs;
    for (int32_t i = 0; has_sizes && i < n; i++) {
        if (sizes[i] < -1)
            return MICA_INVALID("[SplitV] a size of %lld: it must be >= 0, or -1 for the rest",
                                (long long)sizes[i]);
        n_open += sizes[i] < 0;
        known = mica_tf_plus(known, sizes[i] < 0 ? 0 : sizes[i]);
    }
    if (n_open > 1) return MICA_INVALID("[SplitV] only one of the sizes may be -1, not %d", n_open);
    for (int32_t i = 0; i < c->n_outputs; i++) {
        if (axis >= 0) {
            int64_t rest = x->dims[axis] < known ? -1 : x->dims[axis] - known;
            shape.dims[axis] = !has_sizes ? -1 : sizes[i] < 0 ? rest : sizes[i];
        }
        c->outputs[i] = shape;
    }
    if (has_sizes && axis >= 0 && x->dims[axis] >= 0 &&
        (n_open ? known > x->dims[axis] : known != x->dims[axis]))
        return MICA_INVALID("[SplitV] the sizes sum to %lld, the axis to split has %lld",
                            (long long)known, (long long)x->dims[axis]);
    return NULL;
}

mica_status tf_shape_pad(mica_tf_inference *c) {
    mica_tf_shape shape = c->inputs[0];
    int64_t ints[MICA_MAX_RANK * 4];
    int32_t n;
    bool known = mica_tf_input_ints(c, 1, ints, &n);
    const mica_tf_shape *paddings = &c->inputs[1];
    if (paddings->rank >= 0 && paddings->rank != 2)
        return MICA_INVALID("[%s] paddings must be a matrix of two columns, not of shape %s",
                            c->info->name, mica_tf_shape_text(paddings).chars);
    if (shape.rank < 0) {
        if (paddings->rank == 2 && paddings->dims[0] >= 0 && paddings->dims[0] <= MICA_MAX_RANK)
            c->outputs[0] = mica_tf_unknown_of_rank((int32_t)paddings->dims[0]);
        return NULL;
    }
    if (c->n_inputs > 2 && c->inputs[2].rank > 0)
        return MICA_INVALID("[%s] constant_values must be a scalar, not of shape %s", c->info->name,
                            mica_tf_shape_text(&c->inputs[2]).chars);
    if (known && n != 2 * shape.rank)
        return MICA_INVALID("[%s] The first dimension of paddings must be the rank of inputs %s",
                            c->info->name, mica_tf_shape_text(&shape).chars);
    for (int32_t i = 0; i < shape.rank; i++) {
        int64_t before = known ? ints[2 * i] : MICA_TF_UNKNOWN_INT;
        int64_t after = known ? ints[2 * i + 1] : MICA_TF_UNKNOWN_INT;
        bool both = before != MICA_TF_UNKNOWN_INT && after != MICA_TF_UNKNOWN_INT;
        if (both && (before < 0 || after < 0))
            return MICA_INVALID("[%s] Paddings must be non-negative: %lld %lld", c->info->name,
                                (long long)before, (long long)after);
        shape.dims[i] = both && shape.dims[i] >= 0
                            ? mica_tf_plus(shape.dims[i], mica_tf_plus(before, after))
                            : -1;
    }
    c->outputs[0] = shape;
    return NULL;
}

/* ---- coordinates ------------------------------------------------------------------------------*/

mica_status tf_shape_gather_nd(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0], *indices = &c->inputs[1];
    if (x->rank < 0 || indices->rank < 0) return NULL;
    if (indices->rank == 0) return MICA_INVALID("[GatherNd] indices must be at least a vector");
    int64_t depth = indices->dims[indices->rank - 1];
    if (depth < 0) return NULL;
    if (depth > x->rank)
        return MICA_INVALID("[GatherNd] index innermost dimension length must be <= params rank; "
                            "saw: %lld vs. %d",
                            (long long)depth, x->rank);
    mica_tf_shape shape = *indices;
    shape.rank--;
    if (shape.rank + x->rank - depth > MICA_MAX_RANK)
        return MICA_INVALID("[GatherNd] the result's rank is too high");
    for (int32_t i = (int32_t)depth; i < x->rank; i++) shape.dims[shape.rank++] = x->dims[i];
    c->outputs[0] = shape;
    return NULL;
}

/* What TensorFlow's kernels ask of a list of places: at least a matrix of them, and as many
 * updates. */
static mica_status check_lists(const mica_tf_inference *c, const mica_tf_shape *indices,
                               const mica_tf_shape *updates) {
    if (updates->rank == 0)
        return MICA_INVALID("[%s] Updates shape must have rank at least one. Found:[]",
                            c->info->name);
    if (indices->rank == 1)
        return MICA_INVALID(
            "[%s] indices must be a matrix, one row for each element, or of a higher "
            "rank, not of shape %s",
            c->info->name, mica_tf_shape_text(indices).chars);
    return NULL;
}

/* Coordinates along the last axis of the indices, at most as many as the target has axes; the
 * updates are slices of it. */
static mica_status check_places(const mica_tf_inference *c, const mica_tf_shape *indices,
                                const mica_tf_shape *updates, const mica_tf_shape *target) {
    if (indices->rank == 0)
        return MICA_INVALID("[%s] indices must be at least a vector: %s", c->info->name,
                            mica_tf_shape_text(indices).chars);
    if (!c->graph) MICA_TRY(check_lists(c, indices, updates));
    if (indices->rank < 0 || target->rank < 0) return NULL;
    int64_t depth = indices->dims[indices->rank - 1];
    if (c->graph && depth > target->rank && c->inputs == target) return NULL; /* when it runs */
    if (depth > target->rank)
        return MICA_INVALID("[%s] index innermost dimension length must be <= the rank of the "
                            "target; saw: %lld vs. %d",
                            c->info->name, (long long)depth, target->rank);
    if (depth < 0 || updates->rank < 0) return NULL;
    mica_tf_shape wanted = {.rank = indices->rank - 1}, both;
    for (int32_t i = 0; i < wanted.rank; i++) wanted.dims[i] = indices->dims[i];
    bool fits = wanted.rank + target->rank - depth == updates->rank;
    for (int32_t i = (int32_t)depth; fits && i < target->rank; i++)
        wanted.dims[wanted.rank++] = target->dims[i];
    if (fits && mica_tf_shape_merge(&wanted, updates, &both)) return NULL;
    return MICA_INVALID("[%s] the shape %s of updates must be that of indices %s without the last "
                        "axis, then what is left of the shape %s",
                        c->info->name, mica_tf_shape_text(updates).chars,
                        mica_tf_shape_text(indices).chars, mica_tf_shape_text(target).chars);
}

mica_status tf_shape_scatter_nd(mica_tf_inference *c) {
    int64_t ints[MICA_MAX_RANK * 4];
    int32_t n;
    const mica_tf_shape *operand = &c->inputs[2];
    if (c->inputs[1].rank == 0 || operand->rank == 0 || operand->rank > 1)
        return MICA_INVALID("[ScatterNd] updates must have a rank of at least 1, and shape must be "
                            "a vector; they have the shapes %s and %s",
                            mica_tf_shape_text(&c->inputs[1]).chars,
                            mica_tf_shape_text(operand).chars);
    if (operand->rank == 1 && operand->dims[0] > MICA_MAX_RANK)
        return MICA_INVALID("[ScatterNd] the result would have rank %lld: at most %d is possible",
                            (long long)operand->dims[0], MICA_MAX_RANK);
    if (mica_tf_input_ints(c, 2, ints, &n) && n <= MICA_MAX_RANK) {
        c->outputs[0] = mica_tf_unknown_of_rank(n);
        for (int32_t i = 0; i < n; i++)
            if (ints[i] != MICA_TF_UNKNOWN_INT) c->outputs[0].dims[i] = ints[i];
    } else if (operand->rank == 1 && operand->dims[0] >= 0)
        c->outputs[0] = mica_tf_unknown_of_rank((int32_t)operand->dims[0]);
    return check_places(c, &c->inputs[0], &c->inputs[1], &c->outputs[0]);
}

mica_status tf_shape_tensor_scatter(mica_tf_inference *c) {
    c->outputs[0] = c->inputs[0];
    return check_places(c, &c->inputs[1], &c->inputs[2], &c->inputs[0]);
}

/* The place may have any value: it is moved so that the part lies inside. */
mica_status tf_shape_dynamic_update_slice(mica_tf_inference *c) {
    const mica_tf_shape *input = &c->inputs[0], *update = &c->inputs[1], *start = &c->inputs[2];
    c->outputs[0] = *input;
    if (start->rank >= 0 && start->rank != 1)
        return MICA_INVALID("[XlaDynamicUpdateSlice] index must be a vector with length equal to "
                            "the number of input dimensions, not of shape %s",
                            mica_tf_shape_text(start).chars);
    if (input->rank < 0) return NULL;
    if (start->rank == 1 && start->dims[0] >= 0 && start->dims[0] != input->rank)
        return MICA_INVALID("[XlaDynamicUpdateSlice] index must be a vector with length equal to "
                            "the number of input dimensions: %lld for the shape %s",
                            (long long)start->dims[0], mica_tf_shape_text(input).chars);
    if (update->rank < 0) return NULL;
    if (update->rank != input->rank)
        return MICA_INVALID("[XlaDynamicUpdateSlice] input and update must have the same rank, "
                            "input shape is %s; update shape is %s",
                            mica_tf_shape_text(input).chars, mica_tf_shape_text(update).chars);
    for (int32_t i = 0; i < input->rank; i++)
        if (input->dims[i] >= 0 && update->dims[i] > input->dims[i])
            return MICA_INVALID("[XlaDynamicUpdateSlice] Update dim size %lld greater than dynamic "
                                "slice dimension: %lld: an update %s of %s",
                                (long long)update->dims[i], (long long)input->dims[i],
                                mica_tf_shape_text(update).chars, mica_tf_shape_text(input).chars);
    return NULL;
}

mica_status tf_shape_read_element(mica_tf_inference *c) {
    const mica_tf_shape *buffer = &c->inputs[0];
    int64_t index;
    bool known;
    MICA_TRY(mica_tf_input_number(c, 1, &index, &known));
    if (buffer->rank == 0) return MICA_INVALID("[ReadElement] a scalar has no slices");
    if (buffer->rank < 0) return NULL;
    c->outputs[0].rank = buffer->rank - 1;
    for (int32_t i = 1; i < buffer->rank; i++) c->outputs[0].dims[i - 1] = buffer->dims[i];
    return NULL;
}

mica_status tf_shape_write_element(mica_tf_inference *c) {
    const mica_tf_shape *buffer = &c->inputs[0], *value = &c->inputs[2];
    int64_t index;
    bool known;
    MICA_TRY(mica_tf_input_number(c, 1, &index, &known));
    c->outputs[0] = *buffer;
    if (buffer->rank == 0 || value->rank >= MICA_MAX_RANK)
        return MICA_INVALID("[WriteElement] a slice of shape %s does not fit an array of shape %s",
                            mica_tf_shape_text(value).chars, mica_tf_shape_text(buffer).chars);
    if (value->rank < 0) return NULL;
    mica_tf_shape whole = {.rank = value->rank + 1, .dims = {-1}};
    for (int32_t i = 0; i < value->rank; i++) whole.dims[i + 1] = value->dims[i];
    if (mica_tf_shape_merge(buffer, &whole, &c->outputs[0])) return NULL;
    return MICA_INVALID("[WriteElement] elements have shape %s, the value %s",
                        mica_tf_shape_text(buffer).chars, mica_tf_shape_text(value).chars);
}

mica_status tf_shape_one_hot(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0];
    int64_t depth, axis = mica_tf_inference_int(c, "axis");
    int32_t at;
    bool known;
    MICA_TRY(mica_tf_input_number(c, 1, &depth, &known));
    for (int32_t i = 2; i < 4; i++)
        if (c->inputs[i].rank > 0)
            return MICA_INVALID("[OneHot] %s must be a scalar, but got %s", c->info->inputs[i].name,
                                mica_tf_shape_text(&c->inputs[i]).chars);
    if (x->rank < 0) return NULL;
    if (x->rank + 1 > MICA_MAX_RANK)
        return MICA_INVALID("[OneHot] rank %d is too high", x->rank + 1);
    if (known && depth < 0)
        return MICA_INVALID("[OneHot] depth must be non-negative, got: %lld", (long long)depth);
    if (c->graph && axis > x->rank) { /* refused when it runs */
        c->outputs[0] = mica_tf_unknown_of_rank(x->rank + 1);
        return NULL;
    }
    MICA_TRY(mica_tf_axis("OneHot", axis, x->rank + 1, &at));
    mica_tf_shape shape = {.rank = x->rank + 1};
    for (int32_t i = 0, k = 0; i < shape.rank; i++)
        shape.dims[i] = i == at ? (known ? depth : -1) : x->dims[k++];
    c->outputs[0] = shape;
    return NULL;
}

/* The same bytes in elements of another size: the last axis takes up the difference. */
mica_status tf_shape_bitcast(mica_tf_inference *c) {
    mica_dtype from = mica_tf_dtype_core(c->dtypes[0]);
    mica_dtype to = mica_tf_dtype_core((mica_tf_dtype)mica_tf_inference_int(c, "type"));
    if (from == MICA_DTYPE_COUNT || to == MICA_DTYPE_COUNT)
        return MICA_INVALID("[Bitcast] strings and handles have no bits to show");
    int64_t source = (int64_t)mica_dtype_bytes(from), target = (int64_t)mica_dtype_bytes(to);
    mica_tf_shape shape = c->inputs[0];
    if (shape.rank >= 0 && source > target) {
        if (shape.rank + 1 > MICA_MAX_RANK)
            return MICA_INVALID("[Bitcast] rank %d is too high", shape.rank + 1);
        shape.dims[shape.rank++] = source / target;
    } else if (shape.rank >= 0 && source < target) {
        int64_t last = shape.rank ? shape.dims[shape.rank - 1] : 0;
        if (last >= 0 && last != target / source)
            return MICA_INVALID("[Bitcast] the last axis of %s must have %lld elements",
                                mica_tf_shape_text(&shape).chars, (long long)(target / source));
        shape.rank--;
    }
    c->outputs[0] = shape;
    return NULL;
}

/* Boxes [n, 4] or overlaps [n, n], then scores [n]. */
static mica_status check_boxes(const mica_tf_inference *c, bool overlaps) {
    const mica_tf_shape *boxes = &c->inputs[0], *scores = &c->inputs[1];
    bool fits = boxes->rank < 0 || boxes->rank == 2;
    if (boxes->rank == 2 && boxes->dims[1] >= 0) {
        int64_t wanted = overlaps ? boxes->dims[0] : 4;
        fits = wanted < 0 || boxes->dims[1] == wanted;
    }
    fits = fits && (scores->rank < 0 || scores->rank == 1);
    if (fits && boxes->rank == 2 && scores->rank == 1)
        fits = boxes->dims[0] < 0 || scores->dims[0] < 0 || boxes->dims[0] == scores->dims[0];
    if (fits) return NULL;
    return MICA_INVALID("[%s] boxes must be of shape [n,4], overlaps of shape [n,n], scores of "
                        "shape [n]: %s and %s",
                        c->info->name, mica_tf_shape_text(boxes).chars,
                        mica_tf_shape_text(scores).chars);
}

mica_status tf_shape_non_max_suppression(mica_tf_inference *c) {
    int64_t most = -1;
    bool known = false;
    MICA_TRY(check_boxes(c, c->n_outputs < 2));
    MICA_TRY(mica_tf_input_number(c, 2, &most, &known));
    if (known && most < 0)
        return MICA_INVALID("[%s] max_output_size must be non-negative, not %lld", c->info->name,
                            (long long)most);
    for (int32_t i = 0; i < 2 && i < c->n_outputs; i++) c->outputs[i] = mica_tf_unknown_of_rank(1);
    if (c->n_outputs <= 2) return NULL;
    c->outputs[2] = (mica_tf_shape){.rank = 0};
    if (known && mica_tf_attr_find(c->info, c->attrs, "pad_to_max_output_size")->as.integer)
        c->outputs[0].dims[0] = c->outputs[1].dims[0] = most;
    return NULL;
}

mica_status tf_shape_combined_suppression(mica_tf_inference *c) {
    const mica_tf_shape *scores = &c->inputs[1];
    int64_t n = c->inputs[0].rank > 0 ? c->inputs[0].dims[0] : -1, each = 0, total = 0;
    bool known_each = false, known = false;
    MICA_TRY(mica_tf_input_number(c, 2, &each, &known_each));
    MICA_TRY(mica_tf_input_number(c, 3, &total, &known));
    if (mica_tf_attr_find(c->info, c->attrs, "pad_per_class")->as.integer) {
        known = known && known_each && scores->rank == 3 && scores->dims[2] >= 0;
        if (known && mica_tf_times(each, scores->dims[2]) < total)
            total = mica_tf_times(each, scores->dims[2]);
    }
    if (!known || total < 0) total = -1;
    c->outputs[0] = (mica_tf_shape){.rank = 3, .dims = {n, total, 4}};
    c->outputs[1] = c->outputs[2] = (mica_tf_shape){.rank = 2, .dims = {n, total}};
    c->outputs[3] = (mica_tf_shape){.rank = 1, .dims = {n}};
    return NULL;
}
