/* Elements stacked along a new first axis, and taken apart again. */
#include "data/archive.h"

typedef struct batch_dataset {
    mica_dataset base;
    int64_t size;
    bool drop_remainder;
} batch_dataset;

static mica_status batch_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const batch_dataset *b = (const batch_dataset *)it->dataset;
    int32_t width = it->dataset->n_components;
    mica_rows rows = {.width = width, .meter = {.who = "BatchDataset", .is_copied = true}};
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
    if (drop_remainder) b->base.first_size = size;
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

/* Known where all the batches are full. */
static int64_t unbatch_count(const mica_dataset *dataset) {
    const mica_dataset *input = dataset->inputs[0];
    int64_t n = mica_dataset_cardinality(input), product;
    if (n < 0) return n;
    if (input->first_size == 0) return MICA_DATASET_UNKNOWN;
    return __builtin_mul_overflow(n, input->first_size, &product) ? INT64_MAX : product;
}

static mica_status unbatch_archive(mica_iterator *it, mica_archive *a) {
    unbatch_state *state = it->state;
    int32_t width = it->dataset->n_components;
    bool has_element = state->at < state->count;
    MICA_TRY(mica_archive_bool(a, &has_element));
    if (!has_element) return NULL;
    MICA_TRY(mica_archive_element(a, it->device, state->element, width));
    int64_t at = state->at;
    if (!a->is_saving) MICA_TRY(measure_element(it));
    MICA_TRY(mica_archive_int(a, &at, 0, state->count));
    state->at = at;
    return NULL;
}

static const mica_dataset_class unbatch_class = {
    .name = "UnbatchDataset",
    .bytes = sizeof(mica_dataset),
    .state_bytes = sizeof(unbatch_state),
    .open = unbatch_open,
    .next = unbatch_next,
    .close = unbatch_close,
    .cardinality = unbatch_count,
    .archive = unbatch_archive,
};

mica_status mica_dataset_unbatch(mica_dataset *input, mica_dataset **out_dataset) {
    MICA_GIVEN(input, out_dataset);
    return mica_dataset_make(&unbatch_class, &input, 1, input->n_components, out_dataset);
}

/* ---- rebatch ----------------------------------------------------------------------------------*/

typedef struct rebatch_dataset {
    mica_dataset base; /* of single elements */
    int64_t *sizes;    /* n_sizes, in turns */
    int64_t n_sizes;
    bool drop_remainder;
} rebatch_dataset;

static void rebatch_destroy(mica_dataset *dataset) {
    mica_free(((rebatch_dataset *)dataset)->sizes);
}

static mica_status rebatch_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const rebatch_dataset *r = (const rebatch_dataset *)it->dataset;
    int64_t *at = it->state, size = r->sizes[*at];
    int32_t width = it->dataset->n_components;
    mica_rows rows = {.width = width};
    mica_status status = mica_rows_pull(&rows, it, size);
    *end = !status && rows.n < size && (rows.n == 0 || r->drop_remainder);
    for (int32_t k = 0; !status && !*end && k < width; k++)
        status = mica_value_stack("RebatchDatasetV2", it->device, rows.values + k, width, rows.n,
                                  &out[k]);
    mica_rows_deinit(&rows);
    *at = (*at + 1) % r->n_sizes;
    return status;
}

static mica_status rebatch_archive(mica_iterator *it, mica_archive *a) {
    const rebatch_dataset *r = (const rebatch_dataset *)it->dataset;
    return mica_archive_int(a, it->state, 0, r->n_sizes - 1);
}

static const mica_dataset_class rebatch_class = {
    .name = "RebatchDatasetV2",
    .bytes = sizeof(rebatch_dataset),
    .state_bytes = sizeof(int64_t),
    .destroy = rebatch_destroy,
    .next = rebatch_next,
    .archive = rebatch_archive,
};

mica_status mica_dataset_rebatch(mica_dataset *input, const int64_t *sizes, int64_t n,
                                 bool drop_remainder, mica_dataset **out_dataset) {
    MICA_GIVEN(input, MICA_MANY(sizes, n), out_dataset);
    *out_dataset = NULL;
    if (n < 1) return MICA_INVALID("[RebatchDatasetV2] there is no batch size");
    for (int64_t i = 0; i < n; i++)
        if (sizes[i] < 1)
            return MICA_INVALID("[RebatchDatasetV2] batch sizes must be greater than zero, not "
                                "%lld",
                                (long long)sizes[i]);
    mica_dataset *elements = NULL, *made = NULL;
    MICA_TRY(mica_dataset_unbatch(input, &elements));
    mica_status status =
        mica_dataset_make(&rebatch_class, &elements, 1, elements->n_components, &made);
    mica_dataset_release(elements);
    if (status) return status;
    rebatch_dataset *r = (rebatch_dataset *)made;
    r->n_sizes = n;
    r->drop_remainder = drop_remainder;
    r->sizes = mica_alloc((size_t)n * sizeof *r->sizes);
    if (!r->sizes) {
        mica_dataset_release(made);
        return MICA_NO_MEMORY();
    }
    memcpy(r->sizes, sizes, (size_t)n * sizeof *sizes);
    *out_dataset = made;
    return NULL;
}
