/* Datasets side by side, one after the other, again, in part. */
#include "data/archive.h"

static int64_t input_count(const mica_dataset *dataset, int32_t i) {
    return mica_dataset_cardinality(dataset->inputs[i]);
}

/* ---- zip --------------------------------------------------------------------------------------*/

static mica_status zip_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    for (int32_t i = 0, at = 0; i < it->dataset->n_inputs && !*end; i++) {
        MICA_TRY(mica_iterator_pull(it, i, out + at, end));
        at += it->dataset->inputs[i]->n_components;
    }
    return NULL;
}

/* The shortest of those that end; unknown when that is. */
static int64_t zip_count(const mica_dataset *dataset) {
    int64_t least = MICA_DATASET_INFINITE;
    for (int32_t i = 0; i < dataset->n_inputs; i++) {
        int64_t count = input_count(dataset, i);
        if (count == MICA_DATASET_UNKNOWN) return count;
        if (count >= 0 && (least < 0 || count < least)) least = count;
    }
    return least;
}

static const mica_dataset_class zip_class = {
    .name = "ZipDataset",
    .bytes = sizeof(mica_dataset),
    .next = zip_next,
    .cardinality = zip_count,
    .batch_size = mica_dataset_batch_size_of_inputs,
};

mica_status mica_dataset_zip(mica_dataset *const *inputs, int32_t n, mica_dataset **out_dataset) {
    MICA_GIVEN(MICA_MANY(inputs, n), out_dataset);
    *out_dataset = NULL;
    if (n < 1) return MICA_INVALID("[ZipDataset] there is no dataset to zip");
    int64_t components = 0;
    for (int32_t i = 0; i < n; i++) {
        if (!inputs[i]) return MICA_INVALID("[ZipDataset] input %d is NULL", i);
        components += inputs[i]->n_components;
    }
    if (components > MICA_DATA_MAX_COMPONENTS)
        return MICA_INVALID("[ZipDataset] %lld components are more than %d", (long long)components,
                            MICA_DATA_MAX_COMPONENTS);
    return mica_dataset_make(&zip_class, inputs, n, (int32_t)components, out_dataset);
}

/* ---- concatenate ------------------------------------------------------------------------------*/

static mica_status open_first(mica_iterator *it) {
    return mica_iterator_open_input(it, 0);
}

static mica_status concatenate_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    int32_t *at = it->state;
    while (*at < it->dataset->n_inputs) {
        MICA_TRY(mica_iterator_pull(it, *at, out, end));
        if (!*end) return NULL;
        if (*at + 1 == it->dataset->n_inputs) break;
        MICA_TRY(mica_iterator_open_input(it, *at + 1));
        ++*at;
        *end = false;
    }
    *end = true;
    return NULL;
}

static int64_t concatenate_count(const mica_dataset *dataset) {
    int64_t a = input_count(dataset, 0), b = input_count(dataset, 1);
    if (a == MICA_DATASET_INFINITE || b == MICA_DATASET_INFINITE) return MICA_DATASET_INFINITE;
    if (a == MICA_DATASET_UNKNOWN || b == MICA_DATASET_UNKNOWN) return MICA_DATASET_UNKNOWN;
    return a + b;
}

static mica_status concatenate_archive(mica_iterator *it, mica_archive *a) {
    int64_t at = *(int32_t *)it->state;
    MICA_TRY(mica_archive_int(a, &at, 0, it->dataset->n_inputs - 1));
    *(int32_t *)it->state = (int32_t)at;
    return it->inputs[at] ? NULL : mica_iterator_open_input(it, (int32_t)at);
}

static const mica_dataset_class concatenate_class = {
    .name = "ConcatenateDataset",
    .bytes = sizeof(mica_dataset),
    .state_bytes = sizeof(int32_t),
    .open = open_first,
    .next = concatenate_next,
    .cardinality = concatenate_count,
    .archive = concatenate_archive,
    .batch_size = mica_dataset_batch_size_of_inputs,
};

mica_status mica_dataset_concatenate(mica_dataset *first, mica_dataset *second,
                                     mica_dataset **out_dataset) {
    MICA_GIVEN(first, second, out_dataset);
    *out_dataset = NULL;
    if (first->n_components != second->n_components)
        return MICA_INVALID("[ConcatenateDataset] elements of %d and of %d components",
                            first->n_components, second->n_components);
    mica_dataset *inputs[2] = {first, second};
    return mica_dataset_make(&concatenate_class, inputs, 2, first->n_components, out_dataset);
}

/* ---- repeat, take, skip: a count
 * ----------------------------------------------------------------*/

typedef struct counted_dataset {
    mica_dataset base;
    int64_t count;
} counted_dataset;

static int64_t count_of(const mica_dataset *dataset) {
    return ((const counted_dataset *)dataset)->count;
}

typedef struct repeat_state {
    int64_t rounds; /* that have ended */
    bool any;       /* an element has come in this one */
} repeat_state;

static mica_status repeat_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    int64_t count = count_of(it->dataset);
    repeat_state *state = it->state;
    while (count < 0 || state->rounds < count) {
        MICA_TRY(mica_iterator_pull(it, 0, out, end));
        if (!*end) {
            state->any = true;
            return NULL;
        }
        if (count < 0 && !state->any) return NULL; /* nothing, for ever */
        if (count < 0 || state->rounds + 1 < count) MICA_TRY(mica_iterator_open_input(it, 0));
        state->rounds++;
        state->any = false;
        *end = false;
    }
    *end = true;
    return NULL;
}

static int64_t repeat_count(const mica_dataset *dataset) {
    int64_t count = count_of(dataset), n = input_count(dataset, 0), product;
    if (count < 0) return n == 0 ? 0 : MICA_DATASET_INFINITE;
    if (count == 0) return 0;
    if (n < 0) return n;
    return __builtin_mul_overflow(count, n, &product) ? INT64_MAX : product;
}

static mica_status take_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    int64_t *made = it->state, count = count_of(it->dataset);
    if (count >= 0 && *made >= count) {
        *end = true;
        return NULL;
    }
    MICA_TRY(mica_iterator_pull(it, 0, out, end));
    ++*made;
    return NULL;
}

static int64_t take_count(const mica_dataset *dataset) {
    int64_t count = count_of(dataset), n = input_count(dataset, 0);
    if (count < 0 || n == MICA_DATASET_UNKNOWN) return n;
    return n == MICA_DATASET_INFINITE || count < n ? count : n;
}

static mica_status skip_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    int64_t *left_out = it->state, count = count_of(it->dataset);
    if (count < 0) {
        *end = true;
        return NULL;
    }
    for (; *left_out < count; ++*left_out) {
        MICA_TRY(mica_iterator_pull(it, 0, out, end));
        if (*end) return NULL;
        mica_values_release(out, it->dataset->n_components);
    }
    return mica_iterator_pull(it, 0, out, end);
}

static int64_t skip_count(const mica_dataset *dataset) {
    int64_t count = count_of(dataset), n = input_count(dataset, 0);
    if (count < 0) return 0;
    if (n < 0) return n;
    return n > count ? n - count : 0;
}

static mica_status repeat_archive(mica_iterator *it, mica_archive *a) {
    repeat_state *state = it->state;
    MICA_TRY(mica_archive_int(a, &state->rounds, 0, INT64_MAX));
    return mica_archive_bool(a, &state->any);
}

static mica_status counted_archive(mica_iterator *it, mica_archive *a) {
    return mica_archive_int(a, it->state, 0, INT64_MAX);
}

static const mica_dataset_class repeat_class = {
    .name = "RepeatDataset",
    .bytes = sizeof(counted_dataset),
    .state_bytes = sizeof(repeat_state),
    .next = repeat_next,
    .cardinality = repeat_count,
    .archive = repeat_archive,
    .batch_size = mica_dataset_batch_size_of_inputs,
};
static const mica_dataset_class take_class = {
    .name = "TakeDataset",
    .bytes = sizeof(counted_dataset),
    .state_bytes = sizeof(int64_t),
    .next = take_next,
    .cardinality = take_count,
    .archive = counted_archive,
    .batch_size = mica_dataset_batch_size_of_inputs,
};
static const mica_dataset_class skip_class = {
    .name = "SkipDataset",
    .bytes = sizeof(counted_dataset),
    .state_bytes = sizeof(int64_t),
    .next = skip_next,
    .cardinality = skip_count,
    .archive = counted_archive,
    .batch_size = mica_dataset_batch_size_of_inputs,
};

/* ---- shard ------------------------------------------------------------------------------------*/

typedef struct shard_dataset {
    mica_dataset base;
    int64_t n_shards, index;
} shard_dataset;

/* The state is the number of elements that the input has given. */
static mica_status shard_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const shard_dataset *s = (const shard_dataset *)it->dataset;
    int64_t *given = it->state;
    for (;;) {
        MICA_TRY(mica_iterator_pull(it, 0, out, end));
        if (*end) return NULL;
        if ((*given)++ % s->n_shards == s->index) return NULL;
        mica_values_release(out, it->dataset->n_components);
    }
}

static int64_t shard_count(const mica_dataset *dataset) {
    const shard_dataset *s = (const shard_dataset *)dataset;
    int64_t n = input_count(dataset, 0);
    return n < 0 ? n : n / s->n_shards + (n % s->n_shards > s->index);
}

static const mica_dataset_class shard_class = {
    .name = "ShardDataset",
    .bytes = sizeof(shard_dataset),
    .state_bytes = sizeof(int64_t),
    .next = shard_next,
    .cardinality = shard_count,
    .batch_size = mica_dataset_batch_size_of_inputs,
    .archive = counted_archive,
};

mica_status mica_dataset_shard(mica_dataset *input, int64_t n_shards, int64_t index,
                               mica_dataset **out_dataset) {
    MICA_GIVEN(input, out_dataset);
    *out_dataset = NULL;
    if (n_shards < 1)
        return MICA_INVALID("[ShardDataset] Number of shards must be greater than zero (currently "
                            "num_shards = %lld).",
                            (long long)n_shards);
    if (index < 0 || index >= n_shards)
        return MICA_INVALID("[ShardDataset] Index must be between 0 and %lld (currently index = "
                            "%lld).",
                            (long long)n_shards - 1, (long long)index);
    MICA_TRY(mica_dataset_make(&shard_class, &input, 1, input->n_components, out_dataset));
    shard_dataset *s = (shard_dataset *)*out_dataset;
    s->n_shards = n_shards;
    s->index = index;
    return NULL;
}

/* A number of elements that is promised. */
static mica_status asserted_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    int64_t *made = it->state, count = count_of(it->dataset);
    MICA_TRY(mica_iterator_pull(it, 0, out, end));
    if (!*end) ++*made;
    if (count >= 0 && (*end ? *made < count : *made > count))
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[AssertCardinalityDataset] input dataset was expected to contain %lld "
                          "elements but contained %s %lld",
                          (long long)count, *end ? "only" : "at least", (long long)*made);
    return NULL;
}

static const mica_dataset_class asserted_class = {
    .name = "AssertCardinalityDataset",
    .bytes = sizeof(counted_dataset),
    .state_bytes = sizeof(int64_t),
    .next = asserted_next,
    .cardinality = count_of,
    .archive = counted_archive,
    .batch_size = mica_dataset_batch_size_of_inputs,
};

static mica_status make_counted(const mica_dataset_class *class, mica_dataset *input, int64_t count,
                                mica_dataset **out) {
    MICA_TRY(mica_dataset_make(class, &input, 1, input->n_components, out));
    ((counted_dataset *)*out)->count = count;
    return NULL;
}

mica_status mica_dataset_repeat(mica_dataset *input, int64_t count, mica_dataset **out_dataset) {
    MICA_GIVEN(input, out_dataset);
    return make_counted(&repeat_class, input, count, out_dataset);
}

mica_status mica_dataset_take(mica_dataset *input, int64_t count, mica_dataset **out_dataset) {
    MICA_GIVEN(input, out_dataset);
    return make_counted(&take_class, input, count, out_dataset);
}

mica_status mica_dataset_skip(mica_dataset *input, int64_t count, mica_dataset **out_dataset) {
    MICA_GIVEN(input, out_dataset);
    return make_counted(&skip_class, input, count, out_dataset);
}

mica_status mica_dataset_counted(mica_dataset *input, int64_t count, mica_dataset **out_dataset) {
    MICA_GIVEN(input, out_dataset);
    return make_counted(&asserted_class, input, count, out_dataset);
}
