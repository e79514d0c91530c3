/* Elements of several datasets in turns: of those that a function gives, or as another dataset
 * chooses. */
#include "data/archive.h"

/* ---- interleave -------------------------------------------------------------------------------*/

typedef struct interleave_dataset {
    mica_dataset base;
    mica_data_call call;
    int64_t cycle_length, block_length;
} interleave_dataset;

typedef struct interleave_state {
    mica_tf_value *element;
    mica_iterator **open;    /* cycle_length; NULL: none at this place */
    mica_tf_value **sources; /* the elements that the open datasets were made of */
    int64_t n_open, at, in_block;
    bool input_ended;
} interleave_state;

static void interleave_destroy(mica_dataset *dataset) {
    mica_data_call_deinit(&((interleave_dataset *)dataset)->call);
}

static mica_status interleave_open(mica_iterator *it) {
    const interleave_dataset *d = (const interleave_dataset *)it->dataset;
    interleave_state *state = it->state;
    size_t width = (size_t)it->dataset->inputs[0]->n_components + 1;
    state->element = mica_calloc(width, sizeof *state->element);
    state->open = mica_calloc((size_t)d->cycle_length, sizeof(mica_iterator *));
    state->sources = mica_calloc((size_t)d->cycle_length, sizeof(mica_tf_value *));
    bool has_room = state->element && state->open && state->sources;
    return has_room ? mica_iterator_open_input(it, 0) : MICA_NO_MEMORY();
}

static void close_place(mica_iterator *it, int64_t i) {
    interleave_state *state = it->state;
    mica_iterator_release(state->open[i]);
    state->open[i] = NULL;
    if (state->sources[i])
        mica_values_release(state->sources[i], it->dataset->inputs[0]->n_components);
    mica_free(state->sources[i]);
    state->sources[i] = NULL;
}

static void interleave_close(mica_iterator *it) {
    const interleave_dataset *d = (const interleave_dataset *)it->dataset;
    interleave_state *state = it->state;
    for (int64_t i = 0; state->open && state->sources && i < d->cycle_length; i++)
        close_place(it, i);
    mica_free(state->open);
    mica_free(state->sources);
    mica_free(state->element);
}

static void next_place(const interleave_dataset *d, interleave_state *state) {
    state->in_block = 0;
    state->at = (state->at + 1) % d->cycle_length;
}

/* The dataset of an element, at a place. */
static mica_status open_element(mica_iterator *it, int64_t at, const mica_tf_value *element) {
    const interleave_dataset *d = (const interleave_dataset *)it->dataset;
    interleave_state *state = it->state;
    int32_t n = it->dataset->inputs[0]->n_components;
    mica_tf_value value = {0};
    mica_status status = mica_data_call_run(&d->call, it, element, n, &value, 1);
    if (status) return status;
    mica_dataset *dataset = mica_dataset_of(value);
    if (!dataset || dataset->n_components != it->dataset->n_components)
        status = MICA_INVALID("[InterleaveDataset] the function gives no dataset with elements of "
                              "%d components",
                              it->dataset->n_components);
    else
        status = mica_iterator_create_part(it, dataset, &state->open[at]);
    mica_tf_value_release(value);
    if (!status) status = mica_values_copy(element, n, &state->sources[at]);
    if (status)
        close_place(it, at);
    else
        state->n_open++;
    return status;
}

/* That of the next input element, at the present place. */
static mica_status open_place(mica_iterator *it) {
    interleave_state *state = it->state;
    MICA_TRY(mica_iterator_pull(it, 0, state->element, &state->input_ended));
    if (state->input_ended) return NULL;
    mica_status status = open_element(it, state->at, state->element);
    mica_values_release(state->element, it->dataset->inputs[0]->n_components);
    return status;
}

static mica_status interleave_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const interleave_dataset *d = (const interleave_dataset *)it->dataset;
    interleave_state *state = it->state;
    while (!state->input_ended || state->n_open) {
        mica_iterator **place = &state->open[state->at];
        if (*place) {
            MICA_TRY(mica_iterator_next(*place, out, it->dataset->n_components, end));
            if (!*end) {
                if (++state->in_block == d->block_length) next_place(d, state);
                return NULL;
            }
            close_place(it, state->at);
            state->n_open--;
            next_place(d, state);
        } else if (!state->input_ended) {
            MICA_TRY(open_place(it));
        } else {
            next_place(d, state);
        }
    }
    *end = true;
    return NULL;
}

/* A place's dataset is made again, of the element that it was made of. */
static mica_status archive_place(mica_iterator *it, mica_archive *a, int64_t at) {
    interleave_state *state = it->state;
    int32_t n = it->dataset->inputs[0]->n_components;
    if (a->is_saving) {
        MICA_TRY(mica_archive_element(a, it->device, state->sources[at], n));
    } else {
        mica_status status = mica_archive_element(a, it->device, state->element, n);
        if (!status) status = open_element(it, at, state->element);
        mica_values_release(state->element, n);
        if (status) return status;
    }
    return mica_archive_iterator(a, state->open[at]);
}

static mica_status interleave_archive(mica_iterator *it, mica_archive *a) {
    const interleave_dataset *d = (const interleave_dataset *)it->dataset;
    interleave_state *state = it->state;
    MICA_TRY(mica_archive_int(a, &state->at, 0, d->cycle_length - 1));
    MICA_TRY(mica_archive_int(a, &state->in_block, 0, d->block_length - 1));
    MICA_TRY(mica_archive_bool(a, &state->input_ended));
    for (int64_t i = 0; i < d->cycle_length; i++) {
        bool is_open = state->open[i] != NULL;
        MICA_TRY(mica_archive_bool(a, &is_open));
        if (is_open) MICA_TRY(archive_place(it, a, i));
    }
    return mica_archive_draws(a, it, &d->call);
}

static const mica_dataset_class interleave_class = {
    .name = "InterleaveDataset",
    .bytes = sizeof(interleave_dataset),
    .state_bytes = sizeof(interleave_state),
    .destroy = interleave_destroy,
    .open = interleave_open,
    .next = interleave_next,
    .close = interleave_close,
    .archive = interleave_archive,
};

mica_status mica_dataset_interleave(mica_dataset *input, const mica_dataset_function *function,
                                    int64_t cycle_length, int64_t block_length,
                                    int32_t n_components, mica_dataset **out_dataset) {
    MICA_GIVEN(input, function, out_dataset);
    *out_dataset = NULL;
    if (cycle_length < 1 || block_length < 1)
        return MICA_INVALID("[InterleaveDataset] cycle_length and block_length must be greater "
                            "than zero, not %lld and %lld",
                            (long long)cycle_length, (long long)block_length);
    if (mica_tf_graph_output_count(function->graph) != 1)
        return MICA_INVALID("[InterleaveDataset] the function '%s' does not give one dataset",
                            mica_tf_graph_name(function->graph));
    MICA_TRY(mica_dataset_make(&interleave_class, &input, 1, n_components, out_dataset));
    interleave_dataset *d = (interleave_dataset *)*out_dataset;
    d->cycle_length = cycle_length;
    d->block_length = block_length;
    mica_status status = mica_data_call_init(&d->call, *out_dataset, function, input->n_components);
    if (status) {
        mica_dataset_release(*out_dataset);
        *out_dataset = NULL;
    }
    return status;
}

/* ---- as another dataset chooses ---------------------------------------------------------------*/

typedef struct directed_dataset {
    mica_dataset base; /* input 0 chooses among the others */
    bool stop_on_empty;
} directed_dataset;

static mica_status choose(mica_iterator *it, int64_t *out, bool *end) {
    mica_tf_value value = {0};
    int64_t n = it->dataset->n_inputs - 1;
    MICA_TRY(mica_iterator_pull(it, 0, &value, end));
    if (*end) return NULL;
    mica_status status = NULL;
    if (value.dtype != MICA_TF_int64 || mica_tensor_type(value.object)->rank != 0)
        status = MICA_INVALID("[DirectedInterleaveDataset] a choice is a scalar of int64");
    if (!status) status = mica_tensor_to_host(value.object, out, sizeof *out);
    if (!status && (*out < 0 || *out >= n))
        status = MICA_INVALID("[DirectedInterleaveDataset] %lld is chosen of %lld datasets",
                              (long long)*out, (long long)n);
    mica_tf_value_release(value);
    return status;
}

static mica_status directed_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const directed_dataset *d = (const directed_dataset *)it->dataset;
    int64_t *n_ended = it->state;
    while (*n_ended < it->dataset->n_inputs - 1) {
        int64_t chosen = 0;
        MICA_TRY(choose(it, &chosen, end));
        if (*end) return NULL;
        mica_iterator **input = &it->inputs[chosen + 1];
        if (!*input) continue;
        MICA_TRY(mica_iterator_next(*input, out, it->dataset->n_components, end));
        if (!*end || d->stop_on_empty) return NULL;
        mica_iterator_release(*input);
        *input = NULL;
        ++*n_ended;
        *end = false;
    }
    *end = true;
    return NULL;
}

/* How many have ended: as many as are not open any more. */
static mica_status directed_archive(mica_iterator *it, mica_archive *a) {
    int64_t *n_ended = it->state;
    MICA_TRY(mica_archive_int(a, n_ended, 0, it->dataset->n_inputs - 1));
    return it->inputs[0] ? NULL : mica_iterator_open_input(it, 0);
}

static const mica_dataset_class directed_class = {
    .name = "DirectedInterleaveDataset",
    .bytes = sizeof(directed_dataset),
    .state_bytes = sizeof(int64_t),
    .next = directed_next,
    .archive = directed_archive,
};

mica_status mica_dataset_directed(mica_dataset *choices, mica_dataset *const *inputs, int32_t n,
                                  bool stop_on_empty, mica_dataset **out_dataset) {
    MICA_GIVEN(choices, MICA_MANY(inputs, n), out_dataset);
    for (int32_t i = 0; i < n; i++)
        if (!inputs[i]) return MICA_INVALID("[DirectedInterleaveDataset] input %d is NULL", i);
    *out_dataset = NULL;
    if (n < 1) return MICA_INVALID("[DirectedInterleaveDataset] there is no dataset to choose");
    for (int32_t i = 1; i < n; i++)
        if (inputs[i]->n_components != inputs[0]->n_components)
            return MICA_INVALID("[DirectedInterleaveDataset] elements of %d and of %d components",
                                inputs[0]->n_components, inputs[i]->n_components);
    mica_dataset **all = mica_calloc((size_t)n + 1, sizeof(mica_dataset *));
    if (!all) return MICA_NO_MEMORY();
    all[0] = choices;
    for (int32_t i = 0; i < n; i++) all[i + 1] = inputs[i];
    mica_status status =
        mica_dataset_make(&directed_class, all, n + 1, inputs[0]->n_components, out_dataset);
    mica_free(all);
    if (!status) ((directed_dataset *)*out_dataset)->stop_on_empty = stop_on_empty;
    return status;
}
