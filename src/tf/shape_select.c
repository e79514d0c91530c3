/* Shape functions of ops that reduce, cut, pad, gather and scatter. */
#include "tf/shape_rules.h"

static mica_status known_axis(mica_tf_inference *c, int32_t input, int32_t rank, int32_t *out) {
    int64_t ints[MICA_MAX_RANK * 4];
    int32_t n;
    *out = -1;
    if (rank < 0 || !mica_tf_input_known(c, input, ints, &n) || n != 1) return NULL;
    return mica_tf_axis(c->info->name, ints[0], rank, out);
}

mica_status tf_shape_arg_reduce(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0];
    int32_t axis;
    if (x->rank < 0) return NULL;
    if (x->rank == 0)
        return MICA_INVALID("[%s] the input must have at least rank 1", c->info->name);
    MICA_TRY(known_axis(c, 1, x->rank, &axis));
    c->outputs[0] = mica_tf_unknown_of_rank(x->rank - 1);
    if (axis >= 0 && x->dims[axis] == 0)
        return MICA_INVALID("[%s] Reduction axis %d is empty in shape %s", c->info->name, axis,
                            mica_tf_shape_text(x).chars);
    for (int32_t i = 0, k = 0; axis >= 0 && i < x->rank; i++)
        if (i != axis) c->outputs[0].dims[k++] = x->dims[i];
    return NULL;
}

mica_status tf_shape_top_k(mica_tf_inference *c) {
    mica_tf_shape shape = c->inputs[0];
    int64_t k[MICA_MAX_RANK * 4];
    int32_t n;
    bool known = mica_tf_input_known(c, 1, k, &n) && n == 1;
    if (shape.rank < 0) return NULL;
    if (shape.rank == 0) return MICA_INVALID("[TopKV2] input must be >= 1-D, got shape []");
    int64_t last = shape.dims[shape.rank - 1];
    if (known && (k[0] < 0 || (last >= 0 && k[0] > last)))
        return MICA_INVALID("[TopKV2] input must have at least k columns. Had %lld, needed %lld",
                            (long long)last, (long long)k[0]);
    shape.dims[shape.rank - 1] = known ? k[0] : -1;
    c->outputs[0] = c->outputs[1] = shape;
    return NULL;
}

mica_status tf_shape_segments(mica_tf_inference *c) {
    const mica_tf_shape *data = &c->inputs[0], *ids = &c->inputs[1];
    int64_t count[MICA_MAX_RANK * 4];
    int32_t n;
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
    if (mica_tf_input_known(c, 2, count, &n) && n == 1) shape.dims[0] = count[0];
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
    if (x->rank < 0) {
        if (has_size && n_size <= MICA_MAX_RANK) c->outputs[0] = mica_tf_unknown_of_rank(n_size);
        return NULL;
    }
    if ((has_begin && n_begin != x->rank) || (has_size && n_size != x->rank))
        return MICA_INVALID(
            "[Slice] Expected begin and size arguments to be 1-D tensors of size %d", x->rank);
    mica_tf_shape shape = mica_tf_unknown_of_rank(x->rank);
    for (int32_t i = 0; i < x->rank; i++) {
        bool from = has_begin && begin[i] != MICA_TF_UNKNOWN_INT;
        if (!has_size || size[i] == MICA_TF_UNKNOWN_INT) continue;
        if (size[i] < 0) {
            if (from && x->dims[i] >= 0) shape.dims[i] = x->dims[i] - begin[i];
        } else
            shape.dims[i] = size[i];
        bool is_known = from && x->dims[i] >= 0;
        int64_t end = size[i] < 0 ? x->dims[i] : begin[i] + size[i];
        if (is_known && (begin[i] < 0 || begin[i] > x->dims[i] || end > x->dims[i]))
            return MICA_INVALID("[Slice] Expected begin[%d] in [0, %lld] and size[%d] in [0, %lld]",
                                i, (long long)x->dims[i], i, (long long)(x->dims[i] - begin[i]));
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
    bool has_sizes = mica_tf_input_known(c, 1, sizes, &n) && n == c->n_outputs;
    for (int32_t i = 0; has_sizes && i < n; i++) known += sizes[i] < 0 ? 0 : sizes[i];
    for (int32_t i = 0; i < c->n_outputs; i++) {
        if (axis >= 0) {
            int64_t rest = x->dims[axis] < 0 ? -1 : x->dims[axis] - known;
            shape.dims[axis] = !has_sizes ? -1 : sizes[i] < 0 ? rest : sizes[i];
        }
        c->outputs[i] = shape;
    }
    bool is_open = false;
    for (int32_t i = 0; has_sizes && i < n; i++) is_open |= sizes[i] < 0;
    if (has_sizes && axis >= 0 && x->dims[axis] >= 0 &&
        (is_open ? known > x->dims[axis] : known != x->dims[axis]))
        return MICA_INVALID("[SplitV] the sizes sum to %lld, the axis to split has %lld",
                            (long long)known, (long long)x->dims[axis]);
    return NULL;
}

mica_status tf_shape_pad(mica_tf_inference *c) {
    mica_tf_shape shape = c->inputs[0];
    int64_t ints[MICA_MAX_RANK * 4];
    int32_t n;
    bool known = mica_tf_input_known(c, 1, ints, &n);
    if (shape.rank < 0) return NULL;
    if (known && n != 2 * shape.rank)
        return MICA_INVALID("[%s] The first dimension of paddings must be the rank of inputs %s",
                            c->info->name, mica_tf_shape_text(&shape).chars);
    for (int32_t i = 0; i < shape.rank; i++) {
        if (known && (ints[2 * i] < 0 || ints[2 * i + 1] < 0))
            return MICA_INVALID("[%s] Paddings must be non-negative: %lld %lld", c->info->name,
                                (long long)ints[2 * i], (long long)ints[2 * i + 1]);
        if (!known || shape.dims[i] < 0)
            shape.dims[i] = -1;
        else
            shape.dims[i] += ints[2 * i] + ints[2 * i + 1];
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

mica_status tf_shape_scatter_nd(mica_tf_inference *c) {
    int64_t ints[MICA_MAX_RANK * 4];
    int32_t n;
    const mica_tf_shape *operand = &c->inputs[2];
    if (mica_tf_input_ints(c, 2, ints, &n) && n <= MICA_MAX_RANK) {
        c->outputs[0] = mica_tf_unknown_of_rank(n);
        for (int32_t i = 0; i < n; i++)
            if (ints[i] != MICA_TF_UNKNOWN_INT) c->outputs[0].dims[i] = ints[i];
    } else if (operand->rank == 1 && operand->dims[0] >= 0 && operand->dims[0] <= MICA_MAX_RANK)
        c->outputs[0] = mica_tf_unknown_of_rank((int32_t)operand->dims[0]);
    return NULL;
}

mica_status tf_shape_read_element(mica_tf_inference *c) {
    const mica_tf_shape *buffer = &c->inputs[0];
    if (buffer->rank == 0) return MICA_INVALID("[ReadElement] a scalar has no slices");
    if (buffer->rank < 0) return NULL;
    c->outputs[0].rank = buffer->rank - 1;
    for (int32_t i = 1; i < buffer->rank; i++) c->outputs[0].dims[i - 1] = buffer->dims[i];
    return NULL;
}

mica_status tf_shape_write_element(mica_tf_inference *c) {
    const mica_tf_shape *buffer = &c->inputs[0], *value = &c->inputs[2];
    c->outputs[0] = *buffer;
    if (buffer->rank == 0 || value->rank >= MICA_MAX_RANK)
        return MICA_INVALID("[WriteElement] a slice %s of %s", mica_tf_shape_text(value).chars,
                            mica_tf_shape_text(buffer).chars);
    if (value->rank < 0) return NULL;
    mica_tf_shape whole = {.rank = value->rank + 1, .dims = {-1}};
    for (int32_t i = 0; i < value->rank; i++) whole.dims[i + 1] = value->dims[i];
    if (mica_tf_shape_merge(buffer, &whole, &c->outputs[0])) return NULL;
    return MICA_INVALID("[WriteElement] elements have shape %s, the value %s",
                        mica_tf_shape_text(buffer).chars, mica_tf_shape_text(value).chars);
}

mica_status tf_shape_one_hot(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0];
    int64_t depth[MICA_MAX_RANK * 4], axis = mica_tf_inference_int(c, "axis");
    int32_t n, at;
    if (x->rank < 0) return NULL;
    if (x->rank + 1 > MICA_MAX_RANK)
        return MICA_INVALID("[OneHot] rank %d is too high", x->rank + 1);
    bool known = mica_tf_input_known(c, 1, depth, &n) && n == 1;
    if (known && depth[0] < 0)
        return MICA_INVALID("[OneHot] depth must be non-negative, got: %lld", (long long)depth[0]);
    MICA_TRY(mica_tf_axis("OneHot", axis, x->rank + 1, &at));
    mica_tf_shape shape = {.rank = x->rank + 1};
    for (int32_t i = 0, k = 0; i < shape.rank; i++)
        shape.dims[i] = i == at ? (known ? depth[0] : -1) : x->dims[k++];
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

mica_status tf_shape_non_max_suppression(mica_tf_inference *c) {
    for (int32_t i = 0; i < 2 && i < c->n_outputs; i++) c->outputs[i] = mica_tf_unknown_of_rank(1);
    if (c->n_outputs > 2) c->outputs[2] = (mica_tf_shape){.rank = 0};
    return NULL;
}

mica_status tf_shape_combined_suppression(mica_tf_inference *c) {
    int64_t n = c->inputs[0].rank > 0 ? c->inputs[0].dims[0] : -1;
    c->outputs[0] = (mica_tf_shape){.rank = 3, .dims = {n, -1, 4}};
    c->outputs[1] = c->outputs[2] = (mica_tf_shape){.rank = 2, .dims = {n, -1}};
    c->outputs[3] = (mica_tf_shape){.rank = 1, .dims = {n}};
    return NULL;
}
