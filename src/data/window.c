/* Windows: datasets of some elements that follow each other. And a cache: elements kept when all
 * have come once. */
#include "data/archive.h"

typedef struct window_dataset {
    mica_dataset base;
    int64_t size, shift, stride;
    bool drop_remainder;
} window_dataset;

typedef struct window_state {
    mica_rows rows;
    bool input_ended;
} window_state;

static mica_status window_open(mica_iterator *it) {
    mica_rows *rows = &((window_state *)it->state)->rows;
    rows->width = it->dataset->inputs[0]->n_components;
    rows->meter.who = "WindowDataset";
    return mica_iterator_open_input(it, 0);
}

static void window_close(mica_iterator *it) {
    mica_rows_deinit(&((window_state *)it->state)->rows);
}

/* Leaves out what lies between two windows; `row` is room for an element. */
static mica_status skip_rows(mica_iterator *it, int64_t count) {
    window_state *state = it->state;
    mica_rows *rows = &state->rows;
    for (int64_t i = 0; i < count && !state->input_ended; i++) {
        mica_tf_value *row;
        MICA_TRY(mica_rows_room(rows, &row));
        MICA_TRY(mica_iterator_pull(it, 0, row, &state->input_ended));
        if (!state->input_ended) mica_values_release(row, rows->width);
    }
    return NULL;
}

static mica_status window_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const window_dataset *w = (const window_dataset *)it->dataset;
    window_state *state = it->state;
    int64_t wanted = (w->size - 1) * w->stride + 1;
    if (!state->input_ended) {
        MICA_TRY(mica_rows_pull(&state->rows, it, wanted));
        state->input_ended = state->rows.n < wanted;
    }
    int64_t n = state->rows.n;
    *end = n == 0 || (w->drop_remainder && n < wanted);
    if (*end) return NULL;
    for (int32_t k = 0; k < state->rows.width; k++) {
        mica_dataset *part = NULL;
        MICA_TRY(mica_rows_dataset(&state->rows, k, w->stride, &part));
        mica_status status = mica_dataset_value(part, &out[k]);
        mica_dataset_release(part);
        if (status) return status;
    }
    mica_rows_drop(&state->rows, w->shift);
    return w->shift > n ? skip_rows(it, w->shift - n) : NULL;
}

static int64_t window_count(const mica_dataset *dataset) {
    const window_dataset *w = (const window_dataset *)dataset;
    int64_t n = mica_dataset_cardinality(dataset->inputs[0]);
    if (n < 0) return n;
    int64_t wanted = (w->size - 1) * w->stride + 1;
    if (!w->drop_remainder) return n / w->shift + (n % w->shift != 0);
    return n < wanted ? 0 : (n - wanted) / w->shift + 1;
}

static mica_status window_archive(mica_iterator *it, mica_archive *a) {
    window_state *state = it->state;
    MICA_TRY(mica_archive_bool(a, &state->input_ended));
    return mica_archive_rows(a, it->device, &state->rows);
}

static const mica_dataset_class window_class = {
    .name = "WindowDataset",
    .bytes = sizeof(window_dataset),
    .state_bytes = sizeof(window_state),
    .open = window_open,
    .next = window_next,
    .close = window_close,
    .cardinality = window_count,
    .archive = window_archive,
};

mica_status mica_dataset_window(mica_dataset *input, int64_t size, int64_t shift, int64_t stride,
                                bool drop_remainder, mica_dataset **out_dataset) {
    MICA_GIVEN(input, out_dataset);
    *out_dataset = NULL;
    int64_t product;
    if (size < 1 || shift < 1 || stride < 1 || __builtin_mul_overflow(size, stride, &product))
        return MICA_INVALID("[WindowDataset] window size, shift and stride must be greater than "
                            "zero, not %lld, %lld and %lld",
                            (long long)size, (long long)shift, (long long)stride);
    MICA_TRY(mica_dataset_make(&window_class, &input, 1, input->n_components, out_dataset));
    window_dataset *w = (window_dataset *)*out_dataset;
    w->size = size;
    w->shift = shift;
    w->stride = stride;
    w->drop_remainder = drop_remainder;
    return NULL;
}

/* ---- cache ------------------------------------------------------------------------------------*/

typedef struct cache_dataset {
    mica_dataset base;
    mica_mutex lock;
    mica_rows rows; /* once is_full: all elements, which change no more */
    bool is_full;
} cache_dataset;

typedef struct cache_state {
    mica_rows rows; /* what has come, while the cache is not full */
    int64_t at;
    bool is_reading, ended;
} cache_state;

static void cache_destroy(mica_dataset *dataset) {
    mica_rows_deinit(&((cache_dataset *)dataset)->rows);
}

static bool cache_is_full(cache_dataset *c) {
    mica_mutex_lock(&c->lock);
    bool is_full = c->is_full;
    mica_mutex_unlock(&c->lock);
    return is_full;
}

static mica_status cache_open(mica_iterator *it) {
    cache_state *state = it->state;
    state->is_reading = cache_is_full((cache_dataset *)it->dataset);
    state->rows.width = it->dataset->n_components;
    state->rows.meter.who = "CacheDataset";
    return state->is_reading ? NULL : mica_iterator_open_input(it, 0);
}

static void cache_close(mica_iterator *it) {
    mica_rows_deinit(&((cache_state *)it->state)->rows);
}

static void copy_row(const mica_tf_value *row, mica_tf_value *out, int32_t width) {
    for (int32_t k = 0; k < width; k++) {
        out[k] = row[k];
        mica_tf_value_retain(out[k]);
    }
}

/* All have come: they become the cache's, unless another iterator was first. */
static void fill_cache(cache_dataset *c, mica_rows *rows) {
    mica_mutex_lock(&c->lock);
    if (!c->is_full) {
        c->rows = *rows;
        c->is_full = true;
        *rows = (mica_rows){.width = rows->width};
    }
    mica_mutex_unlock(&c->lock);
}

static mica_status cache_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    cache_dataset *c = (cache_dataset *)it->dataset;
    cache_state *state = it->state;
    int32_t width = it->dataset->n_components;
    if (state->is_reading) {
        *end = state->at >= c->rows.n;
        if (!*end) copy_row(c->rows.values + state->at++ * width, out, width);
        return NULL;
    }
    mica_tf_value *row;
    *end = state->ended;
    if (*end) return NULL;
    MICA_TRY(mica_rows_room(&state->rows, &row));
    MICA_TRY(mica_iterator_pull(it, 0, row, end));
    if (*end) {
        state->ended = true;
        fill_cache(c, &state->rows);
        return NULL;
    }
    state->rows.n++;
    copy_row(row, out, width);
    return NULL;
}

static int64_t cache_count(const mica_dataset *dataset) {
    return mica_dataset_cardinality(dataset->inputs[0]);
}

/* The kept elements belong to the state: where it is restored there may be no cache yet. */
static mica_status cache_archive(mica_iterator *it, mica_archive *a) {
    cache_dataset *c = (cache_dataset *)it->dataset;
    cache_state *state = it->state;
    bool is_reading = state->is_reading;
    MICA_TRY(mica_archive_bool(a, &is_reading));
    MICA_TRY(mica_archive_bool(a, &state->ended));
    if (!is_reading) {
        state->is_reading = false;
        return mica_archive_rows(a, it->device, &state->rows);
    }
    mica_rows rows = a->is_saving ? c->rows : (mica_rows){.width = it->dataset->n_components};
    mica_status status = mica_archive_rows(a, it->device, &rows);
    if (a->is_saving) return status ? status : mica_archive_int(a, &state->at, 0, rows.n);
    if (!status) fill_cache(c, &rows);
    mica_rows_deinit(&rows);
    if (status) return status;
    state->is_reading = true;
    return mica_archive_int(a, &state->at, 0, c->rows.n);
}

static const mica_dataset_class cache_class = {
    .name = "CacheDataset",
    .bytes = sizeof(cache_dataset),
    .state_bytes = sizeof(cache_state),
    .destroy = cache_destroy,
    .open = cache_open,
    .next = cache_next,
    .close = cache_close,
    .cardinality = cache_count,
    .archive = cache_archive,
    .batch_size = mica_dataset_batch_size_of_inputs,
};

mica_status mica_dataset_cache(mica_dataset *input, mica_dataset **out_dataset) {
    MICA_GIVEN(input, out_dataset);
    return mica_dataset_make(&cache_class, &input, 1, input->n_components, out_dataset);
}
