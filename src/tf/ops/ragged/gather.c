/* RaggedGather: rows by their numbers, axis by axis down to the values. */
#include "tf/ops/ragged/ragged.h"

/* The splits over the axes of indices: each of their rows has as many entries as the next. */
static mica_status give_even_splits(mica_tf_host *c, const mica_tf_shape *indices) {
    int64_t rows = 1;
    for (int32_t k = 0; k + 1 < indices->rank; k++) {
        tf_ragged_ints splits;
        int64_t last;
        if (__builtin_mul_overflow(rows, indices->dims[k], &rows) ||
            __builtin_mul_overflow(rows, indices->dims[k + 1], &last))
            return MICA_INVALID("[RaggedGather] indices have too many rows");
        MICA_TRY(tf_ragged_room(rows + 1, &splits));
        for (int64_t r = 0; r <= rows; r++) splits.data[r] = r * indices->dims[k + 1];
        mica_status status = tf_ragged_give(c, k, splits.data, splits.n);
        mica_free(splits.data);
        MICA_TRY(status);
    }
    return NULL;
}

/* `chosen` holds rows; it becomes the entries in them, one row after the other. */
static mica_status open_rows(mica_tf_host *c, int32_t result, const tf_ragged_ints *splits,
                             tf_ragged_ints *chosen) {
    tf_ragged_ints made, entries;
    MICA_TRY(tf_ragged_room(chosen->n + 1, &made));
    mica_status status = NULL;
    for (int64_t i = 0; i < chosen->n && !status; i++) {
        int64_t row = chosen->data[i];
        made.data[i + 1] = made.data[i] + splits->data[row + 1] - splits->data[row];
        if (made.data[i + 1] > TF_RAGGED_MOST)
            status = MICA_ERROR(MICA_RESOURCE_EXHAUSTED,
                                "[RaggedGather] the rows have more than "
                                "%lld values",
                                (long long)TF_RAGGED_MOST);
    }
    if (!status) status = tf_ragged_give(c, result, made.data, made.n);
    if (!status) status = tf_ragged_room(made.data[chosen->n], &entries);
    if (!status) {
        for (int64_t i = 0; i < chosen->n; i++)
            for (int64_t k = made.data[i]; k < made.data[i + 1]; k++)
                entries.data[k] = splits->data[chosen->data[i]] + k - made.data[i];
        mica_free(chosen->data);
        *chosen = entries;
    }
    mica_free(made.data);
    return status;
}

static mica_status check_indices(const tf_ragged_ints *indices, int64_t n_rows) {
    for (int64_t i = 0; i < indices->n; i++)
        if (indices->data[i] < 0 || indices->data[i] >= n_rows)
            return MICA_INVALID("[RaggedGather] indices[%lld] = %lld is not in [0, %lld)",
                                (long long)i, (long long)indices->data[i], (long long)n_rows);
    return NULL;
}

mica_status tf_host_ragged_gather(mica_tf_host *c) {
    int32_t n = c->n_inputs - 2;
    mica_tf_shape values, indices;
    mica_tf_value_shape(c->inputs[n], &values);
    mica_tf_value_shape(c->inputs[n + 1], &indices);
    tf_ragged_ints *splits = NULL, chosen = {0};
    mica_status status =
        tf_ragged_splits_init(c->info->name, c->inputs, n, values.dims[0], &splits);
    if (!status) status = tf_ragged_read(c->inputs[n + 1], &chosen);
    if (!status) status = check_indices(&chosen, splits[0].n - 1);
    if (!status) status = give_even_splits(c, &indices);
    /* A scalar's row is given as its values, or as the rows in it. */
    for (int32_t k = 0; !status && k < n; k++) {
        int32_t result = indices.rank - 1 + k;
        if (result >= 0) {
            status = open_rows(c, result, &splits[k], &chosen);
        } else {
            int64_t row = chosen.data[0], first = splits[k].data[row];
            mica_free(chosen.data);
            chosen.data = NULL;
            status = tf_ragged_room(splits[k].data[row + 1] - first, &chosen);
            for (int64_t i = 0; !status && i < chosen.n; i++) chosen.data[i] = first + i;
        }
    }
    if (!status) {
        mica_tf_shape shape = values;
        shape.dims[0] = chosen.n;
        status = tf_ragged_pick(c->device, c->inputs[n], chosen.data, chosen.n, (mica_tf_value){0},
                                &shape, &c->outputs[c->n_outputs - 1]);
    }
    mica_free(chosen.data);
    tf_ragged_splits_deinit(splits, n);
    return status;
}
