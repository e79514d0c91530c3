/* Elements stacked along a new first axis, and taken apart again. */
#include "data/data.h"

typedef struct batch_dataset {
    mica_dataset base;
    int64_t size;
    bool drop_remainder;
} batch_dataset;

static mica_status batch_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const batch_dataset *b = (const batch_dataset *)it->dataset;
    int32_t width = it->dataset->n_components;
    mica_rows rows = {.width = width};
    mica_status status = mica_rows_pull(&rows, it, b->size);
    *end = !status && (rows.n == 0 || (rows.n < b->size && b->drop_remainder));
    for (int32_t k = 0; !status && !*end && k < width; k++)
        status =
            mica_value_stack("BatchDataset", it->device, rows.values + k, width, rows.n, &out[k]);
    mica_rows_deinit(&rows);
    return status;
}

static int64_t batch_count(const mica_dataset *dataset) {
    const batch_dataset *b = (const batch_dataset *)dataset;
    int64_t n = mica_dataset_cardinality(dataset->inputs[0]);
    if (n < 0) return n;
    return n / b->size + (n % b->size != 0 && !b->drop_remainder);
}

static int64_t batch_size_of(const mica_dataset *dataset) {
    return ((const batch_dataset *)dataset)->size;
}

static const mica_dataset_class batch_class = {
    .name = "BatchDataset",
    .bytes = sizeof(batch_dataset),
    .next = batch_next,
    .cardinality = batch_count,
    .batch_size = batch_size_of,
};

mica_status mica_dataset_batch(mica_dataset *input, int64_t size, bool drop_remainder,
                               mica_dataset **out_dataset) {
    MICA_GIVEN(input, out_dataset);
    *out_dataset = NULL;
    if (size < 1)
        return MICA_INVALID("[BatchDataset] batch_size must be greater than zero, not %lld",
                            (long long)size);
    MICA_TRY(mica_dataset_make(&batch_class, &input, 1, input->n_components, out_dataset));
    batch_dataset *b = (batch_dataset *)*out_dataset;
    b->size = size;
    b->drop_remainder = drop_remainder;
    return NULL;
}

/* ---- unbatch ----------------------------------------------------------------------------------*/

typedef struct unbatch_state {
    mica_tf_value *element; /* the one that is being taken apart */
    int64_t at, count;
} unbatch_state;

static mica_status unbatch_open(mica_iterator *it) {
    unbatch_state *state = it->state;
    state->element = mica_calloc((size_t)it->dataset->n_components + 1, sizeof *state->element);
    return state->element ? mica_iterator_open_input(it, 0) : MICA_NO_MEMORY();
}

static void unbatch_close(mica_iterator *it) {
    unbatch_state *state = it->state;
    if (state->element) mica_values_release(state->element, it->dataset->n_components);
    mica_free(state->element);
}

static mica_status measure_element(mica_iterator *it) {
    unbatch_state *state = it->state;
    state->at = state->count = 0;
    for (int32_t i = 0; i < it->dataset->n_components; i++) {
        int64_t size;
        MICA_TRY(mica_value_first_axis("UnbatchDataset", state->element[i], &size));
        if (i && size != state->count)
            return MICA_INVALID("[UnbatchDataset] first sizes %lld and %lld differ",
                                (long long)state->count, (long long)size);
        state->count = size;
    }
    return NULL;
}

static mica_status unbatch_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    unbatch_state *state = it->state;
    int32_t width = it->dataset->n_components;
    while (state->at == state->count) {
        mica_values_release(state->element, width);
        MICA_TRY(mica_iterator_pull(it, 0, state->element, end));
        if (*end) return NULL;
        mica_status status = measure_element(it);
        if (status) {
            state->at = state->count = 0;
            return status;
        }
    }
    int64_t i = state->at++;
    for (int32_t k = 0; k < width; k++) MICA_TRY(mica_value_slice(state->element[k], i, &out[k]));
    return NULL;
}

static const mica_dataset_class unbatch_class = {
    .name = "UnbatchDataset",
    .bytes = sizeof(mica_dataset),
    .state_bytes = sizeof(unbatch_state),
    .open = unbatch_open,
    .next = unbatch_next,
    .close = unbatch_close,
};

mica_status mica_dataset_unbatch(mica_dataset *input, mica_dataset **out_dataset) {
    MICA_GIVEN(input, out_dataset);
    return mica_dataset_make(&unbatch_class, &input, 1, input->n_components, out_dataset);
}
