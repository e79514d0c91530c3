/* map with calls side by side: a window of jobs over the next elements.
 *
 * Elements are pulled and random numbers taken by the one that asks, in order; so what a call
 * computes does not depend on when it runs. */
#include "data/archive.h"

typedef struct parallel_dataset {
    mica_dataset base;
    mica_data_call call;
    int32_t width;
    bool in_order, draws;
} parallel_dataset;

/* One element: what came of the input, and what the function makes of it. */
typedef struct map_job {
    mica_data_job job;
    parallel_dataset *dataset; /* retained */
    mica_device *device;       /* retained */
    mica_tf_generators *generators;
    int64_t number;
    bool is_made; /* nothing is left to compute */
    mica_status status;
    mica_tf_value values[]; /* the element, then the results */
} map_job;

/* Up to 2 * width jobs, in the order of the input. */
typedef struct map_state {
    mica_data_board *board;
    mica_data_job **jobs;
    int64_t n, number;
    bool input_ended;
} map_state;

static int32_t inputs_of(const parallel_dataset *d) {
    return d->base.inputs[0]->n_components;
}

static void run_call(mica_data_job *job) {
    map_job *m = (map_job *)job;
    int32_t n = inputs_of(m->dataset);
    if (m->status || m->is_made) return; /* there is no element, or it was restored */
    m->status = mica_data_call_run_in(&m->dataset->call, m->device, m->generators, m->values, n,
                                      m->values + n, m->dataset->base.n_components);
    if (m->status) m->status = mica_data_element_status("ParallelMapDataset", m->number, m->status);
    mica_values_release(m->values, n);
}

static void destroy_call(mica_data_job *job) {
    map_job *m = (map_job *)job;
    mica_values_release(m->values, inputs_of(m->dataset) + m->dataset->base.n_components);
    mica_status_release(m->status);
    mica_tf_generators_release(m->generators);
    mica_device_release(m->device);
    mica_dataset_release(&m->dataset->base);
    mica_free(m);
}

static mica_status parallel_open(mica_iterator *it) {
    const parallel_dataset *d = (const parallel_dataset *)it->dataset;
    map_state *state = it->state;
    state->board = mica_data_board_create();
    state->jobs = mica_calloc((size_t)d->width * 2, sizeof(mica_data_job *));
    return state->board && state->jobs ? mica_iterator_open_input(it, 0) : MICA_NO_MEMORY();
}

static void parallel_close(mica_iterator *it) {
    map_state *state = it->state;
    for (int64_t i = 0; i < state->n; i++) mica_data_job_leave(state->jobs[i]);
    mica_free(state->jobs);
    mica_data_board_release(state->board);
}

static map_job *make_job(mica_iterator *it) {
    parallel_dataset *d = (parallel_dataset *)it->dataset;
    map_state *state = it->state;
    size_t room = (size_t)inputs_of(d) + (size_t)d->base.n_components;
    map_job *m = (map_job *)mica_data_job_create(
        state->board, sizeof *m + room * sizeof(mica_tf_value), run_call, destroy_call);
    if (!m) return NULL;
    m->dataset = d;
    mica_dataset_retain(&d->base);
    m->device = it->device;
    mica_device_retain(m->device);
    return m;
}

/* A job for the next element. What the input fails with is told in its turn. */
static mica_status add_job(mica_iterator *it) {
    parallel_dataset *d = (parallel_dataset *)it->dataset;
    map_state *state = it->state;
    map_job *m = make_job(it);
    if (!m) return MICA_NO_MEMORY();
    m->status = mica_iterator_pull(it, 0, m->values, &state->input_ended);
    if (state->input_ended) {
        mica_data_job_leave(&m->job);
        return NULL;
    }
    if (!m->status) m->number = state->number++;
    if (!m->status && d->draws)
        m->status = mica_tf_generators_take(it->generators, d->call.graph, 1, &m->generators);
    state->jobs[state->n++] = &m->job;
    if (!m->status) mica_data_job_submit(&m->job);
    return NULL;
}

static int32_t n_open(const map_state *state) {
    return __atomic_load_n(&state->board->n_open, __ATOMIC_RELAXED);
}

static mica_status fill(mica_iterator *it) {
    const parallel_dataset *d = (const parallel_dataset *)it->dataset;
    map_state *state = it->state;
    while (!state->input_ended && state->n < 2 * (int64_t)d->width && n_open(state) < d->width)
        MICA_TRY(add_job(it));
    return NULL;
}

static mica_status parallel_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const parallel_dataset *d = (const parallel_dataset *)it->dataset;
    map_state *state = it->state;
    int64_t which = 0;
    MICA_TRY(fill(it));
    *end = state->n == 0;
    if (*end) return NULL;
    MICA_TRY(mica_data_job_wait_any(state->jobs, d->in_order ? 1 : state->n, &which));
    map_job *m = (map_job *)state->jobs[which];
    memmove(state->jobs + which, state->jobs + which + 1,
            (size_t)(--state->n - which) * sizeof(mica_data_job *));
    mica_status status = m->status;
    mica_tf_value *made = m->values + inputs_of(d);
    size_t bytes = (size_t)d->base.n_components * sizeof *out;
    m->status = NULL;
    if (!status) {
        memcpy(out, made, bytes);
        memset(made, 0, bytes);
    }
    mica_data_job_leave(&m->job);
    return status;
}

/* Calls under way are waited for: the state has what they made. */
static mica_status archive_job(mica_iterator *it, mica_archive *a, int64_t i) {
    map_state *state = it->state;
    if (a->is_saving) {
        MICA_TRY(mica_data_job_wait(state->jobs[i]));
    } else {
        map_job *made = make_job(it);
        if (!made) return MICA_NO_MEMORY();
        made->is_made = true;
        state->jobs[state->n++] = &made->job;
    }
    map_job *m = (map_job *)state->jobs[i];
    mica_tf_value *made = m->values + inputs_of(m->dataset);
    bool failed = m->status != NULL;
    MICA_TRY(mica_archive_bool(a, &failed));
    if (failed) return mica_archive_status(a, &m->status);
    return mica_archive_element(a, it->device, made, it->dataset->n_components);
}

static mica_status parallel_archive(mica_iterator *it, mica_archive *a) {
    const parallel_dataset *d = (const parallel_dataset *)it->dataset;
    map_state *state = it->state;
    int64_t n = state->n;
    MICA_TRY(mica_archive_int(a, &state->number, 0, INT64_MAX));
    MICA_TRY(mica_archive_bool(a, &state->input_ended));
    /* What another machine had under way may be more than fits here. */
    MICA_TRY(mica_archive_int(a, &n, 0, a->is_saving ? n : 4096));
    if (n > 2 * (int64_t)d->width) {
        void *grown = mica_realloc(state->jobs, (size_t)n * sizeof(mica_data_job *));
        if (!grown) return MICA_NO_MEMORY();
        state->jobs = grown;
    }
    for (int64_t i = 0; i < n; i++) MICA_TRY(archive_job(it, a, i));
    return mica_archive_draws(a, it, &d->call);
}

static void parallel_destroy(mica_dataset *dataset) {
    mica_data_call_deinit(&((parallel_dataset *)dataset)->call);
}

static int64_t parallel_count(const mica_dataset *dataset) {
    return mica_dataset_cardinality(dataset->inputs[0]);
}

static const mica_dataset_class parallel_class = {
    .name = "ParallelMapDataset",
    .bytes = sizeof(parallel_dataset),
    .state_bytes = sizeof(map_state),
    .destroy = parallel_destroy,
    .open = parallel_open,
    .next = parallel_next,
    .close = parallel_close,
    .cardinality = parallel_count,
    .archive = parallel_archive,
};

mica_status mica_dataset_parallel_map(mica_dataset *input, const mica_dataset_function *function,
                                      int64_t calls, bool in_order, mica_dataset **out_dataset) {
    MICA_GIVEN(input, function, out_dataset);
    *out_dataset = NULL;
    if (calls < 1 && calls != -1)
        return MICA_INVALID("[ParallelMapDataset] num_parallel_calls must be greater than zero, or "
                            "-1 for as many as seems good, not %lld",
                            (long long)calls);
    mica_dataset *made = NULL;
    MICA_TRY(mica_dataset_make(&parallel_class, &input, 1,
                               mica_tf_graph_output_count(function->graph), &made));
    parallel_dataset *d = (parallel_dataset *)made;
    mica_status status = mica_data_call_init(&d->call, made, function, input->n_components);
    bool is_free = !status && mica_data_call_is_free(&d->call, input);
    if (is_free) {
        d->width = mica_data_job_width(calls);
        d->in_order = in_order;
        d->draws = mica_tf_graph_order(d->call.graph) == MICA_TF_DRAWS;
        *out_dataset = made;
        return NULL;
    }
    mica_dataset_release(made);
    return status ? status : mica_dataset_map(input, function, out_dataset);
}
