/* Elements at random out of a buffer that is kept full, and numbers at random. */
#include "data/archive.h"

typedef struct shuffle_dataset {
    mica_dataset base;
    int64_t size;
    uint64_t seed, seed2;
    bool reshuffle;
    mica_mutex lock;
    mica_philox_stream seeds; /* of iterators, in the order in which they are made */
} shuffle_dataset;

/* A ring: the elements are those from `first` up to `end`, at their number modulo the size. Until
 * the buffer has been full once nothing wraps, so rows grow as they are needed. */
typedef struct shuffle_state {
    mica_philox_stream random;
    mica_tf_value *rows;
    int64_t capacity, first, end;
    mica_data_meter meter;
    bool input_ended;
} shuffle_state;

static mica_status shuffle_open(mica_iterator *it) {
    shuffle_dataset *s = (shuffle_dataset *)it->dataset;
    shuffle_state *state = it->state;
    uint64_t seed = s->seed, seed2 = s->seed2;
    if (s->reshuffle) {
        mica_mutex_lock(&s->lock);
        seed = mica_philox_word(&s->seeds);
        seed2 = mica_philox_word(&s->seeds);
        mica_mutex_unlock(&s->lock);
    }
    state->random = mica_philox_begin(seed, seed2);
    state->meter.who = "ShuffleDataset";
    return mica_iterator_open_input(it, 0);
}

static mica_tf_value *row(const mica_iterator *it, int64_t i) {
    const shuffle_state *state = it->state;
    int64_t size = ((const shuffle_dataset *)it->dataset)->size;
    return state->rows + i % size * it->dataset->n_components;
}

static mica_status make_room(mica_iterator *it) {
    shuffle_state *state = it->state;
    int64_t size = ((const shuffle_dataset *)it->dataset)->size;
    if (state->end < state->capacity || state->capacity == size) return NULL;
    int64_t capacity = state->capacity ? state->capacity * 2 : 64;
    if (capacity > size) capacity = size;
    size_t width = it->dataset->n_components ? (size_t)it->dataset->n_components : 1, bytes;
    mica_tf_value *rows = NULL;
    if (!__builtin_mul_overflow((size_t)capacity * sizeof *rows, width, &bytes))
        rows = mica_realloc(state->rows, bytes);
    if (!rows) return MICA_NO_MEMORY();
    state->rows = rows;
    state->capacity = capacity;
    return NULL;
}

static mica_status fill(mica_iterator *it) {
    shuffle_state *state = it->state;
    int64_t size = ((const shuffle_dataset *)it->dataset)->size;
    while (!state->input_ended && state->end - state->first < size) {
        MICA_TRY(make_room(it));
        MICA_TRY(mica_iterator_pull(it, 0, row(it, state->end), &state->input_ended));
        if (state->input_ended) break;
        state->end++;
        if (state->end > size) continue; /* it has been full: no more is kept from now on */
        MICA_TRY(mica_data_meter_add(&state->meter, row(it, state->end - 1),
                                     it->dataset->n_components, state->end - state->first));
    }
    return NULL;
}

static mica_status shuffle_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    shuffle_state *state = it->state;
    size_t bytes = (size_t)it->dataset->n_components * sizeof *out;
    MICA_TRY(fill(it));
    *end = state->first == state->end;
    if (*end) return NULL;
    uint64_t n = (uint64_t)(state->end - state->first);
    int64_t chosen = state->first + (int64_t)(mica_philox_word(&state->random) % n);
    memcpy(out, row(it, chosen), bytes);
    memmove(row(it, chosen), row(it, state->first), bytes); /* the first takes its place */
    state->first++;
    return NULL;
}

static void shuffle_close(mica_iterator *it) {
    shuffle_state *state = it->state;
    for (int64_t i = state->first; i < state->end; i++)
        mica_values_release(row(it, i), it->dataset->n_components);
    mica_free(state->rows);
}

static int64_t shuffle_count(const mica_dataset *dataset) {
    return mica_dataset_cardinality(dataset->inputs[0]);
}

/* The seeds of the iterators to come belong to the state: a repetition goes on with them. */
static mica_status archive_seeds(mica_iterator *it, mica_archive *a) {
    shuffle_dataset *s = (shuffle_dataset *)it->dataset;
    mica_mutex_lock(&s->lock);
    mica_philox_stream seeds = s->seeds;
    mica_status status = mica_archive_stream(a, &seeds);
    if (!status && !a->is_saving) s->seeds = seeds;
    mica_mutex_unlock(&s->lock);
    return status;
}

static mica_status shuffle_archive(mica_iterator *it, mica_archive *a) {
    shuffle_state *state = it->state;
    int64_t n = state->end - state->first, size = ((const shuffle_dataset *)it->dataset)->size;
    int32_t width = it->dataset->n_components;
    MICA_TRY(archive_seeds(it, a));
    MICA_TRY(mica_archive_stream(a, &state->random));
    MICA_TRY(mica_archive_bool(a, &state->input_ended));
    MICA_TRY(mica_archive_int(a, &n, 0, size));
    for (int64_t i = 0; i < n; i++) {
        if (a->is_saving) {
            MICA_TRY(mica_archive_element(a, it->device, row(it, state->first + i), width));
            continue;
        }
        MICA_TRY(make_room(it));
        memset(row(it, i), 0, (size_t)width * sizeof(mica_tf_value));
        state->end++;
        MICA_TRY(mica_archive_element(a, it->device, row(it, i), width));
    }
    return NULL;
}

static const mica_dataset_class shuffle_class = {
    .name = "ShuffleDataset",
    .bytes = sizeof(shuffle_dataset),
    .state_bytes = sizeof(shuffle_state),
    .open = shuffle_open,
    .next = shuffle_next,
    .close = shuffle_close,
    .cardinality = shuffle_count,
    .archive = shuffle_archive,
    .batch_size = mica_dataset_batch_size_of_inputs,
};

mica_status mica_dataset_shuffle(mica_dataset *input, int64_t size, uint64_t seed, uint64_t seed2,
                                 bool reshuffle, mica_dataset **out_dataset) {
    MICA_GIVEN(input, out_dataset);
    *out_dataset = NULL;
    if (size < 1)
        return MICA_INVALID("[ShuffleDataset] buffer_size must be greater than zero, not %lld",
                            (long long)size);
    MICA_TRY(mica_dataset_make(&shuffle_class, &input, 1, input->n_components, out_dataset));
    shuffle_dataset *s = (shuffle_dataset *)*out_dataset;
    s->size = size;
    s->seed = seed;
    s->seed2 = seed2;
    s->reshuffle = reshuffle;
    s->base.needs_order |= reshuffle; /* whose iterator is opened first gets the first seeds */
    s->seeds = mica_philox_begin(seed, seed2);
    return NULL;
}

/* ---- random numbers ---------------------------------------------------------------------------*/

static mica_status random_open(mica_iterator *it) {
    shuffle_dataset *s = (shuffle_dataset *)it->dataset;
    mica_philox_stream *random = it->state;
    uint64_t seed = s->seed, seed2 = s->seed2;
    if (s->reshuffle) {
        mica_mutex_lock(&s->lock);
        seed = mica_philox_word(&s->seeds);
        seed2 = mica_philox_word(&s->seeds);
        mica_mutex_unlock(&s->lock);
    }
    *random = mica_philox_begin(seed, seed2);
    return NULL;
}

static mica_status random_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    mica_type type = mica_type_scalar(MICA_DTYPE_i64);
    mica_tensor *tensor = NULL;
    int64_t number = mica_philox_word(it->state);
    *end = false;
    MICA_TRY(mica_tensor_from_host(it->device, &type, &number, &tensor));
    *out = mica_tf_value_of(tensor);
    return NULL;
}

static int64_t random_count(const mica_dataset *dataset) {
    (void)dataset;
    return MICA_DATASET_INFINITE;
}

static mica_status random_archive(mica_iterator *it, mica_archive *a) {
    MICA_TRY(archive_seeds(it, a));
    return mica_archive_stream(a, it->state);
}

static const mica_dataset_class random_class = {
    .name = "RandomDataset",
    .bytes = sizeof(shuffle_dataset),
    .state_bytes = sizeof(mica_philox_stream),
    .open = random_open,
    .next = random_next,
    .cardinality = random_count,
    .archive = random_archive,
};

mica_status mica_dataset_random(uint64_t seed, uint64_t seed2, bool reseed,
                                mica_dataset **out_dataset) {
    MICA_GIVEN(out_dataset);
    MICA_TRY(mica_dataset_make(&random_class, NULL, 0, 1, out_dataset));
    shuffle_dataset *s = (shuffle_dataset *)*out_dataset;
    s->seed = seed;
    s->seed2 = seed2;
    s->reshuffle = reseed;
    s->base.needs_order = reseed;
    s->seeds = mica_philox_begin(seed, seed2);
    return NULL;
}
