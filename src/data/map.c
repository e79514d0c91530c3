/* Functions of elements: map, flat_map, filter. */
#include "data/archive.h"

typedef struct function_dataset {
    mica_dataset base;
    mica_data_call call;
} function_dataset;

typedef struct function_state {
    mica_tf_value *element; /* room for one of the input */
    int64_t number;         /* of the next one */
} function_state;

static const mica_data_call *call_of(const mica_iterator *it) {
    return &((const function_dataset *)it->dataset)->call;
}

static void function_destroy(mica_dataset *dataset) {
    mica_data_call_deinit(&((function_dataset *)dataset)->call);
}

static mica_status function_open(mica_iterator *it) {
    function_state *state = it->state;
    size_t n = (size_t)it->dataset->inputs[0]->n_components + 1;
    state->element = mica_calloc(n, sizeof *state->element);
    return state->element ? mica_iterator_open_input(it, 0) : MICA_NO_MEMORY();
}

static void function_close(mica_iterator *it) {
    mica_free(((function_state *)it->state)->element);
}

/* The status of the call on the element before `number`. */
static mica_status named(const mica_iterator *it, int64_t number, mica_status status) {
    if (!status) return NULL;
    return mica_data_element_status(it->dataset->class->name, number - 1, status);
}

/* The function of the next element. */
static mica_status apply(mica_iterator *it, mica_tf_value *out, int32_t n_out, bool *end) {
    function_state *state = it->state;
    int32_t n = it->dataset->inputs[0]->n_components;
    MICA_TRY(mica_iterator_pull(it, 0, state->element, end));
    if (*end) return NULL;
    state->number++;
    mica_status status = mica_data_call_run(call_of(it), it, state->element, n, out, n_out);
    mica_values_release(state->element, n);
    return named(it, state->number, status);
}

static int64_t same_count(const mica_dataset *dataset) {
    return mica_dataset_cardinality(dataset->inputs[0]);
}

static mica_status make_function(const mica_dataset_class *class, mica_dataset *input,
                                 const mica_dataset_function *function, int32_t n_components,
                                 mica_dataset **out) {
    MICA_TRY(mica_dataset_make(class, &input, 1, n_components, out));
    mica_status status =
        mica_data_call_init(&((function_dataset *)*out)->call, *out, function, input->n_components);
    if (status) {
        mica_dataset_release(*out);
        *out = NULL;
    }
    return status;
}

static mica_status check_outputs(const char *who, const mica_dataset_function *function,
                                 int32_t wanted) {
    int32_t n = mica_tf_graph_output_count(function->graph);
    if (n == wanted) return NULL;
    return MICA_INVALID("[%s] the function '%s' has %d results, not %d", who,
                        mica_tf_graph_name(function->graph), n, wanted);
}

static mica_status function_archive(mica_iterator *it, mica_archive *a) {
    function_state *state = it->state;
    MICA_TRY(mica_archive_int(a, &state->number, 0, INT64_MAX));
    return mica_archive_draws(a, it, call_of(it));
}

/* ---- map --------------------------------------------------------------------------------------*/

static mica_status map_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    return apply(it, out, it->dataset->n_components, end);
}

static const mica_dataset_class map_class = {
    .name = "MapDataset",
    .bytes = sizeof(function_dataset),
    .state_bytes = sizeof(function_state),
    .destroy = function_destroy,
    .open = function_open,
    .next = map_next,
    .close = function_close,
    .archive = function_archive,
    .cardinality = same_count,
};

mica_status mica_dataset_map(mica_dataset *input, const mica_dataset_function *function,
                             mica_dataset **out_dataset) {
    MICA_GIVEN(input, function, out_dataset);
    return make_function(&map_class, input, function, mica_tf_graph_output_count(function->graph),
                         out_dataset);
}

/* ---- filter -----------------------------------------------------------------------------------*/

static mica_status is_true(mica_tf_value value, bool *out) {
    uint8_t truth = 0;
    mica_status status = NULL;
    if (value.dtype != MICA_TF_bool || mica_tensor_type(value.object)->rank != 0)
        status = MICA_INVALID("[FilterDataset] the predicate gives a %s, not a scalar of bool",
                              mica_tf_dtype_name(value.dtype));
    if (!status) status = mica_tensor_to_host(value.object, &truth, sizeof truth);
    *out = truth != 0;
    return status;
}

static mica_status filter_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    int32_t n = it->dataset->n_components;
    int64_t *number = it->state;
    for (bool keep = false; !keep;) {
        mica_tf_value answer = {0};
        MICA_TRY(mica_iterator_pull(it, 0, out, end));
        if (*end) return NULL;
        ++*number;
        MICA_TRY(named(it, *number, mica_data_call_run(call_of(it), it, out, n, &answer, 1)));
        mica_status status = is_true(answer, &keep);
        mica_tf_value_release(answer);
        if (status || !keep) mica_values_release(out, n);
        if (status) return status;
    }
    return NULL;
}

static mica_status filter_archive(mica_iterator *it, mica_archive *a) {
    MICA_TRY(mica_archive_int(a, it->state, 0, INT64_MAX));
    return mica_archive_draws(a, it, call_of(it));
}

static const mica_dataset_class filter_class = {
    .name = "FilterDataset",
    .bytes = sizeof(function_dataset),
    .state_bytes = sizeof(int64_t),
    .destroy = function_destroy,
    .next = filter_next,
    .archive = filter_archive,
    .batch_size = mica_dataset_batch_size_of_inputs,
};

mica_status mica_dataset_filter(mica_dataset *input, const mica_dataset_function *function,
                                mica_dataset **out_dataset) {
    MICA_GIVEN(input, function, out_dataset);
    *out_dataset = NULL;
    MICA_TRY(check_outputs("FilterDataset", function, 1));
    return make_function(&filter_class, input, function, input->n_components, out_dataset);
}

/* ---- take_while -------------------------------------------------------------------------------*/

static mica_status take_while_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    bool *ended = it->state, keep = false;
    int32_t n = it->dataset->n_components;
    mica_tf_value answer = {0};
    *end = *ended;
    if (*end) return NULL;
    MICA_TRY(mica_iterator_pull(it, 0, out, end));
    if (*end) return NULL;
    MICA_TRY(mica_data_call_run(call_of(it), it, out, n, &answer, 1));
    mica_status status = is_true(answer, &keep);
    mica_tf_value_release(answer);
    if (!status) *end = *ended = !keep;
    return status;
}

static mica_status take_while_archive(mica_iterator *it, mica_archive *a) {
    MICA_TRY(mica_archive_bool(a, it->state));
    return mica_archive_draws(a, it, call_of(it));
}

static const mica_dataset_class take_while_class = {
    .name = "TakeWhileDataset",
    .bytes = sizeof(function_dataset),
    .state_bytes = sizeof(bool),
    .destroy = function_destroy,
    .next = take_while_next,
    .archive = take_while_archive,
};

mica_status mica_dataset_take_while(mica_dataset *input, const mica_dataset_function *function,
                                    mica_dataset **out_dataset) {
    MICA_GIVEN(input, function, out_dataset);
    *out_dataset = NULL;
    MICA_TRY(check_outputs("TakeWhileDataset", function, 1));
    return make_function(&take_while_class, input, function, input->n_components, out_dataset);
}

/* ---- flat_map ---------------------------------------------------------------------------------*/

typedef struct flat_state {
    function_state input; /* first, as function_open has it; the element stays with `inner` */
    mica_iterator *inner; /* of the dataset that the function gave last; NULL: none yet */
} flat_state;

static void leave_inner(mica_iterator *it) {
    flat_state *state = it->state;
    mica_iterator_release(state->inner);
    state->inner = NULL;
    if (state->input.element)
        mica_values_release(state->input.element, it->dataset->inputs[0]->n_components);
}

static void flat_close(mica_iterator *it) {
    leave_inner(it);
    function_close(it);
}

/* The dataset of the element that is there. */
static mica_status open_element(mica_iterator *it) {
    flat_state *state = it->state;
    mica_tf_value value = {0};
    mica_status status = mica_data_call_run(call_of(it), it, state->input.element,
                                            it->dataset->inputs[0]->n_components, &value, 1);
    if (status) return named(it, state->input.number, status);
    mica_dataset *dataset = mica_dataset_of(value);
    if (!dataset)
        status = MICA_INVALID("[FlatMapDataset] the function gives no dataset");
    else if (dataset->n_components != it->dataset->n_components)
        status = MICA_INVALID("[FlatMapDataset] the function gives elements of %d components, not "
                              "%d",
                              dataset->n_components, it->dataset->n_components);
    else
        status = mica_iterator_create_part(it, dataset, &state->inner);
    mica_tf_value_release(value);
    return status;
}

static mica_status open_inner(mica_iterator *it, bool *end) {
    flat_state *state = it->state;
    MICA_TRY(mica_iterator_pull(it, 0, state->input.element, end));
    if (*end) return NULL;
    state->input.number++;
    mica_status status = open_element(it);
    if (status) leave_inner(it);
    return status;
}

static mica_status flat_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    flat_state *state = it->state;
    for (;;) {
        if (!state->inner) MICA_TRY(open_inner(it, end));
        if (*end) return NULL;
        MICA_TRY(mica_iterator_next(state->inner, out, it->dataset->n_components, end));
        if (!*end) return NULL;
        leave_inner(it);
        *end = false;
    }
}

/* The inner dataset is not saved but made again, of the element that it was made of. */
static mica_status flat_archive(mica_iterator *it, mica_archive *a) {
    flat_state *state = it->state;
    bool has_inner = state->inner != NULL;
    MICA_TRY(mica_archive_int(a, &state->input.number, 0, INT64_MAX));
    MICA_TRY(mica_archive_bool(a, &has_inner));
    if (has_inner) {
        MICA_TRY(mica_archive_element(a, it->device, state->input.element,
                                      it->dataset->inputs[0]->n_components));
        if (!a->is_saving) MICA_TRY(open_element(it));
        MICA_TRY(mica_archive_iterator(a, state->inner));
    }
    return mica_archive_draws(a, it, call_of(it));
}

static const mica_dataset_class flat_class = {
    .name = "FlatMapDataset",
    .bytes = sizeof(function_dataset),
    .state_bytes = sizeof(flat_state),
    .destroy = function_destroy,
    .open = function_open,
    .next = flat_next,
    .close = flat_close,
    .archive = flat_archive,
};

mica_status mica_dataset_flat_map(mica_dataset *input, const mica_dataset_function *function,
                                  int32_t n_components, mica_dataset **out_dataset) {
    MICA_GIVEN(input, function, out_dataset);
    *out_dataset = NULL;
    MICA_TRY(check_outputs("FlatMapDataset", function, 1));
    return make_function(&flat_class, input, function, n_components, out_dataset);
}
