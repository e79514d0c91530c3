/* Shape functions of files of records. */
#include "tf/shape_rules.h"

/* What is asked for by dense keys has its shape, behind the number of messages; the other results
 * have what the messages hold. */
mica_status tf_shape_parse_example(mica_tf_inference *c) {
    const mica_tf_attr *shapes = mica_tf_attr_find(c->info, c->attrs, "dense_shapes");
    const mica_tf_attr *dense = mica_tf_attr_find(c->info, c->attrs, "Tdense");
    int64_t n_sparse = mica_tf_attr_find(c->info, c->attrs, "num_sparse")->as.integer;
    int64_t n_ragged = mica_tf_attr_find(c->info, c->attrs, "ragged_value_types")->n;
    const mica_tf_shape *serialized = &c->inputs[0];
    if (serialized->rank > 1)
        return MICA_INVALID("[ParseExampleV2] serialized is a scalar or a vector, not of shape %s",
                            mica_tf_shape_text(serialized).chars);
    if (n_sparse != mica_tf_attr_find(c->info, c->attrs, "sparse_types")->n ||
        shapes->n != dense->n ||
        n_ragged != mica_tf_attr_find(c->info, c->attrs, "ragged_split_types")->n)
        return MICA_INVALID("[ParseExampleV2] num_sparse, dense_shapes and ragged_split_types do "
                            "not fit the dtypes");
    for (int64_t i = 0; i < n_sparse; i++) {
        int64_t rank = serialized->rank < 0 ? -1 : serialized->rank + 1;
        c->outputs[i] = (mica_tf_shape){.rank = 2, .dims = {-1, rank}};
        c->outputs[n_sparse + i] = mica_tf_unknown_of_rank(1);
        c->outputs[2 * n_sparse + i] = (mica_tf_shape){.rank = 1, .dims = {rank}};
    }
    for (int32_t i = 0; i < dense->n && serialized->rank >= 0; i++) {
        const mica_tf_shape *own = &shapes->as.shapes[i];
        mica_tf_shape *result = &c->outputs[3 * n_sparse + i];
        if (own->rank < 0 || own->rank + serialized->rank > MICA_MAX_RANK) continue;
        *result = (mica_tf_shape){.rank = 0};
        if (serialized->rank == 1) result->dims[result->rank++] = serialized->dims[0];
        for (int32_t k = 0; k < own->rank; k++) result->dims[result->rank++] = own->dims[k];
    }
    for (int64_t i = 0; i < 2 * n_ragged; i++)
        c->outputs[3 * n_sparse + dense->n + i] = mica_tf_unknown_of_rank(1);
    return NULL;
}

mica_status tf_shape_sequence_steps(mica_tf_inference *c) {
    if (c->inputs[0].rank >= 0 && c->inputs[0].rank != 1)
        return MICA_INVALID("[SequenceSteps] serialized is a vector, not of shape %s",
                            mica_tf_shape_text(&c->inputs[0]).chars);
    c->outputs[0] = mica_tf_unknown_of_rank(1);
    c->outputs[1] = c->inputs[0].rank < 0 ? mica_tf_unknown_of_rank(1) : c->inputs[0];
    return NULL;
}

mica_status tf_shape_matching_files(mica_tf_inference *c) {
    c->outputs[0] = mica_tf_unknown_of_rank(1);
    return NULL;
}

/* Each column has the shape of the records. */
mica_status tf_shape_decode_csv(mica_tf_inference *c) {
    const mica_tf_attr *types = mica_tf_attr_find(c->info, c->attrs, "OUT_TYPE");
    const mica_tf_attr *columns = mica_tf_attr_find(c->info, c->attrs, "select_cols");
    if (types->n < 1) return MICA_INVALID("[DecodeCSV] OUT_TYPE needs at least 1 dtype, not 0");
    for (int32_t i = 0; i < types->n; i++) {
        int64_t dtype = types->as.ints[i];
        if (dtype != MICA_TF_float32 && dtype != MICA_TF_float64 && dtype != MICA_TF_int32 &&
            dtype != MICA_TF_int64 && dtype != MICA_TF_string)
            return MICA_INVALID("[DecodeCSV] field %d is float32, float64, int32, int64 or "
                                "string, not %s",
                                i, mica_tf_dtype_name((mica_tf_dtype)dtype));
        const mica_tf_shape *by_default = &c->inputs[1 + i];
        if (by_default->rank > 1)
            return MICA_INVALID("[DecodeCSV] Each record default should be at most rank 1");
        if (by_default->rank == 1 && by_default->dims[0] > 1)
            return MICA_INVALID("[DecodeCSV] There should only be 1 default per field but field %d "
                                "has %lld",
                                i, (long long)by_default->dims[0]);
        c->outputs[i] = c->inputs[0];
    }
    if (columns->n && columns->n != types->n)
        return MICA_INVALID("[DecodeCSV] select_cols should match output size: %d and %d",
                            columns->n, types->n);
    for (int32_t i = 0; i < columns->n; i++) {
        if (columns->as.ints[i] < 0)
            return MICA_INVALID("[DecodeCSV] select_cols should be non-negative indices");
        if (i && columns->as.ints[i] <= columns->as.ints[i - 1])
            return MICA_INVALID("[DecodeCSV] select_cols should be strictly increasing indices");
    }
    return NULL;
}
