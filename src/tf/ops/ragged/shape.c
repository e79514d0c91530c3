/* Shape functions of ragged tensors. */
#include <string.h>

#include "tf/shape_rules.h"

static mica_status check_vector(const mica_tf_inference *c, int32_t i, const char *what) {
    if (c->inputs[i].rank < 0 || c->inputs[i].rank == 1) return NULL;
    return MICA_INVALID("[%s] %s must be a vector, not of shape %s", c->info->name, what,
                        mica_tf_shape_text(&c->inputs[i]).chars);
}

/* Values have a first axis: that of their slices. */
static mica_status check_values(const mica_tf_inference *c, int32_t i) {
    if (c->inputs[i].rank != 0) return NULL;
    return MICA_INVALID("[%s] the values of a ragged tensor must not be a scalar", c->info->name);
}

static int64_t rows_of(const mica_tf_shape *splits) {
    return splits->rank == 1 && splits->dims[0] > 0 ? splits->dims[0] - 1 : -1;
}

/* Any number of slices like those of the values. */
static mica_tf_shape slices_like(const mica_tf_shape *values) {
    mica_tf_shape shape = *values;
    if (shape.rank > 0) shape.dims[0] = -1;
    return shape;
}

mica_status tf_shape_ragged_range(mica_tf_inference *c) {
    int64_t rows = -1;
    bool all_scalars = true;
    for (int32_t i = 0; i < 3; i++) {
        const mica_tf_shape *input = &c->inputs[i];
        if (input->rank > 1)
            return MICA_INVALID("[RaggedRange] %s must be a scalar or vector, not of shape %s",
                                c->info->inputs[i].name, mica_tf_shape_text(input).chars);
        all_scalars &= input->rank == 0;
        if (input->rank != 1 || input->dims[0] < 0) continue;
        if (rows >= 0 && rows != input->dims[0])
            return MICA_INVALID("[RaggedRange] starts, limits, and deltas must have the same "
                                "shape: %lld rows and %lld",
                                (long long)rows, (long long)input->dims[0]);
        rows = input->dims[0];
    }
    if (all_scalars) rows = 1;
    c->outputs[0] = (mica_tf_shape){.rank = 1, .dims = {rows < 0 ? -1 : rows + 1}};
    c->outputs[1] = mica_tf_unknown_of_rank(1);
    return NULL;
}

mica_status tf_shape_ragged_gather(mica_tf_inference *c) {
    int32_t n = c->n_inputs - 2;
    int64_t wanted = mica_tf_inference_int(c, "OUTPUT_RAGGED_RANK");
    const mica_tf_shape *values = &c->inputs[n], *indices = &c->inputs[n + 1];
    if (n < 1) return MICA_INVALID("[RaggedGather] params need row splits");
    for (int32_t i = 0; i < n; i++) MICA_TRY(check_vector(c, i, "params_nested_splits"));
    MICA_TRY(check_values(c, n));
    if (indices->rank >= 0 && wanted != n + indices->rank - 1)
        return MICA_INVALID("[RaggedGather] OUTPUT_RAGGED_RANK must be %d for indices of rank %d, "
                            "not %lld",
                            n + indices->rank - 1, indices->rank, (long long)wanted);
    int64_t rows = 1;
    for (int32_t i = 0; i + 1 < c->n_outputs; i++) {
        bool known = indices->rank > i && indices->dims[i] >= 0 && rows >= 0;
        if (!known || __builtin_mul_overflow(rows, indices->dims[i], &rows)) rows = -1;
        c->outputs[i] = (mica_tf_shape){.rank = 1, .dims = {rows < 0 ? -1 : rows + 1}};
    }
    c->outputs[c->n_outputs - 1] = slices_like(values);
    return NULL;
}

static bool is_type(const mica_tf_attr *types, int32_t i, const char *name) {
    return !strcmp(types->as.strings[i], name);
}

static mica_status check_partitions(const mica_tf_inference *c, const mica_tf_attr *types) {
    int32_t n = c->n_inputs - 3;
    if (types->n != n || n < 1)
        return MICA_INVALID("[RaggedTensorToTensor] %d row partition types for %d row partition "
                            "tensors",
                            types->n, n);
    bool has_size = is_type(types, 0, "FIRST_DIM_SIZE");
    for (int32_t i = 0; i < n; i++) {
        bool is_size = i == 0 && has_size;
        const char *wanted = has_size ? "VALUE_ROWIDS" : "ROW_SPLITS";
        if (!is_size && !is_type(types, i, wanted))
            return MICA_INVALID("[RaggedTensorToTensor] row partition type %d is %.40s: "
                                "FIRST_DIM_SIZE and then VALUE_ROWIDS, or ROW_SPLITS are possible",
                                i, types->as.strings[i]);
        int32_t rank = c->inputs[3 + i].rank;
        if (rank >= 0 && rank != (is_size ? 0 : 1))
            return MICA_INVALID("[RaggedTensorToTensor] row partition tensor %d must be a %s, not "
                                "of shape %s",
                                i, is_size ? "scalar" : "vector",
                                mica_tf_shape_text(&c->inputs[3 + i]).chars);
    }
    return NULL;
}

mica_status tf_shape_ragged_to_tensor(mica_tf_inference *c) {
    const mica_tf_attr *types = mica_tf_attr_find(c->info, c->attrs, "row_partition_types");
    const mica_tf_shape *values = &c->inputs[1], *fill = &c->inputs[2];
    MICA_TRY(check_partitions(c, types));
    MICA_TRY(check_values(c, 1));
    if (c->inputs[0].rank > 1)
        return MICA_INVALID("[RaggedTensorToTensor] shape must be a scalar or vector, not of shape "
                            "%s",
                            mica_tf_shape_text(&c->inputs[0]).chars);
    if (values->rank < 0) return NULL;
    int32_t depth = types->n - (is_type(types, 0, "FIRST_DIM_SIZE") ? 1 : 0);
    if (depth + values->rank > MICA_MAX_RANK)
        return MICA_INVALID("[RaggedTensorToTensor] a rank of %d is too high",
                            depth + values->rank);
    mica_tf_shape result = mica_tf_unknown_of_rank(depth + values->rank), wanted, both;
    mica_tf_shape inner = {.rank = values->rank - 1};
    for (int32_t i = 1; i < values->rank; i++)
        inner.dims[i - 1] = result.dims[depth + i] = values->dims[i];
    if (!is_type(types, 0, "FIRST_DIM_SIZE")) result.dims[0] = rows_of(&c->inputs[3]);
    if (fill->rank > inner.rank || !mica_tf_shape_broadcast(fill, &inner, &both) ||
        !mica_tf_shape_merge(&both, &inner, &both))
        return MICA_INVALID("[RaggedTensorToTensor] default_value of shape %s does not broadcast "
                            "to the values' slices, of shape %s",
                            mica_tf_shape_text(fill).chars, mica_tf_shape_text(&inner).chars);
    int64_t ints[MICA_MAX_RANK * 4];
    int32_t n;
    if (c->inputs[0].rank == 1 && c->inputs[0].dims[0] >= 0 && c->inputs[0].dims[0] != result.rank)
        return MICA_INVALID("[RaggedTensorToTensor] shape has %lld sizes where the ragged tensor "
                            "has rank %d",
                            (long long)c->inputs[0].dims[0], result.rank);
    if (c->inputs[0].rank == 1 && mica_tf_input_known(c, 0, ints, &n) && n == result.rank) {
        wanted = (mica_tf_shape){.rank = n};
        for (int32_t i = 0; i < n; i++) {
            wanted.dims[i] = ints[i] < 0 ? -1 : ints[i];
            if (i > depth && wanted.dims[i] >= 0 && result.dims[i] >= 0 &&
                wanted.dims[i] != result.dims[i])
                return MICA_INVALID("[RaggedTensorToTensor] shape %s does not fit the values' "
                                    "slices, of shape %s",
                                    mica_tf_shape_text(&wanted).chars,
                                    mica_tf_shape_text(&inner).chars);
            if (wanted.dims[i] >= 0) result.dims[i] = wanted.dims[i];
        }
    }
    c->outputs[0] = result;
    return NULL;
}

mica_status tf_shape_ragged_to_sparse(mica_tf_inference *c) {
    int32_t n = c->n_inputs - 1;
    const mica_tf_shape *values = &c->inputs[n];
    if (n < 1) return MICA_INVALID("[RaggedTensorToSparse] row splits are needed");
    for (int32_t i = 0; i < n; i++) MICA_TRY(check_vector(c, i, "rt_nested_splits"));
    MICA_TRY(check_values(c, n));
    int64_t rank = values->rank < 0 ? -1 : n + values->rank;
    if (rank > MICA_MAX_RANK)
        return MICA_INVALID("[RaggedTensorToSparse] a rank of %lld is too high", (long long)rank);
    int64_t count = mica_tf_shape_elements(values);
    c->outputs[0] = (mica_tf_shape){.rank = 2, .dims = {count, rank}};
    c->outputs[1] = (mica_tf_shape){.rank = 1, .dims = {count}};
    c->outputs[2] = (mica_tf_shape){.rank = 1, .dims = {rank}};
    return NULL;
}

mica_status tf_shape_ragged_to_variant(mica_tf_inference *c) {
    int32_t n = c->n_inputs - 1;
    bool is_batch = mica_tf_inference_int(c, "batched_input") != 0;
    const mica_tf_shape *values = &c->inputs[n];
    for (int32_t i = 0; i < n; i++) MICA_TRY(check_vector(c, i, "rt_nested_splits"));
    if (n || is_batch) MICA_TRY(check_values(c, n));
    int64_t rows = n ? rows_of(&c->inputs[0]) : values->rank > 0 ? values->dims[0] : -1;
    c->outputs[0] = (mica_tf_shape){.rank = is_batch, .dims = {is_batch ? rows : 0}};
    return NULL;
}

mica_status tf_shape_ragged_from_variant(mica_tf_inference *c) {
    int64_t inner = mica_tf_inference_int(c, "input_ragged_rank");
    int64_t outer = mica_tf_inference_int(c, "output_ragged_rank");
    const mica_tf_shape *encoded = &c->inputs[0];
    if (inner < -1 || outer < 0)
        return MICA_INVALID("[RaggedTensorFromVariant] ragged ranks of %lld and %lld are not "
                            "possible",
                            (long long)inner, (long long)outer);
    if (encoded->rank >= 0 && (inner < 0 ? outer < encoded->rank : outer != inner + encoded->rank))
        return MICA_INVALID("[RaggedTensorFromVariant] output_ragged_rank must be the ragged rank "
                            "of the rows, %lld, and the rank of encoded_ragged, %d, together, not "
                            "%lld",
                            (long long)inner, encoded->rank, (long long)outer);
    for (int32_t i = 0; i + 1 < c->n_outputs; i++) c->outputs[i] = mica_tf_unknown_of_rank(1);
    if (c->n_outputs > 1 && encoded->rank > 0)
        c->outputs[0].dims[0] = encoded->dims[0] < 0 ? -1 : encoded->dims[0] + 1;
    return NULL;
}
