/* Datasets with a state that functions take from element to element: scan, generator. */
#include "data/archive.h"

/* ---- scan -------------------------------------------------------------------------------------*/

typedef struct scan_dataset {
    mica_dataset base;
    mica_data_call call;
    mica_tf_value *initial; /* retained */
    int32_t n_state;
} scan_dataset;

/* First the state, then an element; then room for what the function gives. */
typedef struct scan_state {
    mica_tf_value *values;
} scan_state;

static int32_t width_of(const scan_dataset *d) {
    return d->n_state + d->base.inputs[0]->n_components;
}

static void scan_destroy(mica_dataset *dataset) {
    scan_dataset *d = (scan_dataset *)dataset;
    mica_data_call_deinit(&d->call);
    if (d->initial) mica_values_release(d->initial, d->n_state);
    mica_free(d->initial);
}

static mica_status scan_open(mica_iterator *it) {
    const scan_dataset *d = (const scan_dataset *)it->dataset;
    scan_state *state = it->state;
    size_t room = (size_t)(width_of(d) + d->n_state + it->dataset->n_components) + 1;
    state->values = mica_calloc(room, sizeof *state->values);
    if (!state->values) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < d->n_state; i++) {
        state->values[i] = d->initial[i];
        mica_tf_value_retain(state->values[i]);
    }
    return mica_iterator_open_input(it, 0);
}

static void scan_close(mica_iterator *it) {
    const scan_dataset *d = (const scan_dataset *)it->dataset;
    scan_state *state = it->state;
    if (state->values) mica_values_release(state->values, d->n_state);
    mica_free(state->values);
}

static mica_status scan_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const scan_dataset *d = (const scan_dataset *)it->dataset;
    mica_tf_value *values = ((scan_state *)it->state)->values;
    int32_t width = width_of(d), n_out = it->dataset->n_components;
    mica_tf_value *given = values + width;
    MICA_TRY(mica_iterator_pull(it, 0, values + d->n_state, end));
    if (*end) return NULL;
    mica_status status = mica_data_call_run(&d->call, it, values, width, given, d->n_state + n_out);
    mica_values_release(values + d->n_state, width - d->n_state);
    if (status) return status;
    mica_values_release(values, d->n_state);
    memcpy(values, given, (size_t)d->n_state * sizeof *values);
    memcpy(out, given + d->n_state, (size_t)n_out * sizeof *out);
    memset(given, 0, (size_t)(d->n_state + n_out) * sizeof *given);
    return NULL;
}

static int64_t scan_count(const mica_dataset *dataset) {
    return mica_dataset_cardinality(dataset->inputs[0]);
}

static mica_status scan_archive(mica_iterator *it, mica_archive *a) {
    const scan_dataset *d = (const scan_dataset *)it->dataset;
    mica_tf_value *values = ((scan_state *)it->state)->values;
    if (!a->is_saving) mica_values_release(values, d->n_state);
    MICA_TRY(mica_archive_element(a, it->device, values, d->n_state));
    return mica_archive_draws(a, it, &d->call);
}

static const mica_dataset_class scan_class = {
    .name = "ScanDataset",
    .bytes = sizeof(scan_dataset),
    .state_bytes = sizeof(scan_state),
    .destroy = scan_destroy,
    .open = scan_open,
    .next = scan_next,
    .close = scan_close,
    .cardinality = scan_count,
    .archive = scan_archive,
};

mica_status mica_dataset_scan(mica_dataset *input, const mica_tf_value *initial, int32_t n_state,
                              const mica_dataset_function *function, mica_dataset **out_dataset) {
    MICA_GIVEN(input, MICA_MANY(initial, n_state), function, out_dataset);
    int32_t n_out = mica_tf_graph_output_count(function->graph) - n_state;
    *out_dataset = NULL;
    if (n_out < 0)
        return MICA_INVALID("[ScanDataset] the function '%s' gives less than a state of %d values",
                            mica_tf_graph_name(function->graph), n_state);
    MICA_TRY(mica_dataset_make(&scan_class, &input, 1, n_out, out_dataset));
    scan_dataset *d = (scan_dataset *)*out_dataset;
    d->n_state = n_state;
    mica_status status = mica_values_copy(initial, n_state, &d->initial);
    if (!status)
        status =
            mica_data_call_init(&d->call, *out_dataset, function, n_state + input->n_components);
    if (status) {
        mica_dataset_release(*out_dataset);
        *out_dataset = NULL;
    }
    return status;
}

/* ---- generator --------------------------------------------------------------------------------*/

enum { BEGIN, NEXT, END, FUNCTIONS };

typedef struct generator_dataset {
    mica_dataset base;
    mica_data_call calls[FUNCTIONS];
} generator_dataset;

typedef struct generator_state {
    mica_tf_value state; /* what the first function gave */
    bool ended;
} generator_state;

static void generator_destroy(mica_dataset *dataset) {
    for (int i = 0; i < FUNCTIONS; i++)
        mica_data_call_deinit(&((generator_dataset *)dataset)->calls[i]);
}

static mica_status generator_open(mica_iterator *it) {
    const generator_dataset *d = (const generator_dataset *)it->dataset;
    generator_state *state = it->state;
    return mica_data_call_run(&d->calls[BEGIN], it, NULL, 0, &state->state, 1);
}

static void generator_close(mica_iterator *it) {
    const generator_dataset *d = (const generator_dataset *)it->dataset;
    generator_state *state = it->state;
    mica_tf_value unused = {0};
    if (!state->state.object) return;
    mica_status_release(mica_data_call_run(&d->calls[END], it, &state->state, 1, &unused, 1));
    mica_values_release(&unused, 1);
    mica_values_release(&state->state, 1);
}

/* OUT_OF_RANGE is the end. */
static mica_status generator_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const generator_dataset *d = (const generator_dataset *)it->dataset;
    generator_state *state = it->state;
    *end = state->ended;
    if (*end) return NULL;
    mica_status status =
        mica_data_call_run(&d->calls[NEXT], it, &state->state, 1, out, it->dataset->n_components);
    if (!status || mica_status_code(status) != MICA_OUT_OF_RANGE) return status;
    mica_status_release(status);
    *end = state->ended = true;
    return NULL;
}

/* Where a generator is, its own language knows alone. */
static mica_status generator_archive(mica_iterator *it, mica_archive *a) {
    (void)a;
    return MICA_ERROR(MICA_FAILED_PRECONDITION, "[%s] PyFunc is stateful.",
                      it->dataset->class->name);
}

static const mica_dataset_class generator_class = {
    .name = "GeneratorDataset",
    .bytes = sizeof(generator_dataset),
    .state_bytes = sizeof(generator_state),
    .destroy = generator_destroy,
    .open = generator_open,
    .next = generator_next,
    .close = generator_close,
    .archive = generator_archive,
};

mica_status mica_dataset_generator(const mica_dataset_function functions[3],
                                   mica_dataset **out_dataset) {
    MICA_GIVEN(functions, out_dataset);
    static const int32_t n_inputs[FUNCTIONS] = {0, 1, 1};
    int32_t n = mica_tf_graph_output_count(functions[NEXT].graph);
    *out_dataset = NULL;
    for (int i = 0; i < FUNCTIONS; i += END)
        if (mica_tf_graph_output_count(functions[i].graph) != 1)
            return MICA_INVALID("[GeneratorDataset] the function '%s' does not give one value",
                                mica_tf_graph_name(functions[i].graph));
    MICA_TRY(mica_dataset_make(&generator_class, NULL, 0, n, out_dataset));
    generator_dataset *d = (generator_dataset *)*out_dataset;
    mica_status status = NULL;
    for (int i = 0; !status && i < FUNCTIONS; i++)
        status = mica_data_call_init(&d->calls[i], *out_dataset, &functions[i], n_inputs[i]);
    if (status) {
        mica_dataset_release(*out_dataset);
        *out_dataset = NULL;
    }
    return status;
}
