/* Maps and the batch behind them as one stage: many elements are stacked first, and each function
 * runs once for all of them.
 *
 * A job has the elements of a batch, so that batches are made side by side where that was asked
 * for. Elements are pulled and random numbers taken by the one that asks, in order. When a call for
 * many fails, what it was to compute and all that was pulled behind it waits in `pending` again,
 * the streams of random numbers go back to where they were, and the functions run element by
 * element: the first that fails says so in its own words, and those behind it are still there. */
#include "data/archive.h"

typedef struct stage {
    mica_data_call one, whole;
    int32_t n_out;
    bool is_parallel, draws;
} stage;

typedef struct map_batch_dataset {
    mica_dataset base;
    stage *stages;
    int32_t n_stages;
    int32_t widest; /* the most components that elements have on the way */
    int32_t jobs;   /* side by side; 0: the one that asks computes */
    int64_t size;
    bool drop_remainder;
} map_batch_dataset;

typedef struct batch_job {
    mica_data_job job;
    map_batch_dataset *dataset; /* retained */
    mica_device *device;        /* retained */
    mica_tf_generators **draws; /* by stage, of those that draw */
    uint32_t *streams;          /* where the streams of all stages were before */
    int64_t first;              /* the number of the first element */
    mica_rows rows;
    mica_status after;  /* what the input failed with, behind the rows */
    mica_status status; /* of the calls */
    mica_tf_value results[];
} batch_job;

typedef struct map_batch_state {
    mica_data_board *board;
    mica_data_job **jobs; /* up to 2 * max(jobs, 1); only the last may have an `after` */
    int64_t n, number;    /* number: of the next element that no job has */
    mica_rows pending;    /* elements in front of those of the input */
    mica_status after;    /* behind them */
    int32_t n_words;      /* of all streams */
    bool input_ended;
} map_batch_state;

static const map_batch_dataset *dataset_of(const mica_iterator *it) {
    return (const map_batch_dataset *)it->dataset;
}

static int32_t width_of(const mica_dataset *dataset) {
    return dataset->inputs[0]->n_components;
}

/* ---- the functions ----------------------------------------------------------------------------*/

/* Runs all stages on values, which are released; `at` is where one failed. */
static mica_status run_stages(const map_batch_dataset *d, mica_device *device, bool of_whole,
                              mica_tf_generators *const *draws, mica_tf_generators *all,
                              mica_tf_value *values, mica_tf_value *out, int32_t *at) {
    mica_tf_value few[32], *next = few;
    mica_status status = NULL;
    int32_t n = width_of(&d->base);
    if (d->widest > 32 && !(next = mica_alloc((size_t)d->widest * sizeof *next)))
        status = MICA_NO_MEMORY();
    for (*at = 0; !status && *at < d->n_stages; ++*at) {
        const stage *s = &d->stages[*at];
        bool is_last = *at == d->n_stages - 1;
        mica_tf_value *results = is_last ? out : next;
        status = mica_data_call_run_in(of_whole ? &s->whole : &s->one, device,
                                       draws ? draws[*at] : all, values, n, results, s->n_out);
        if (status) break;
        mica_values_release(values, n);
        n = s->n_out;
        if (!is_last) memcpy(values, next, (size_t)n * sizeof *values);
    }
    if (next != few) mica_free(next);
    mica_values_release(values, n);
    return status;
}

static mica_status stack_rows(const mica_rows *rows, mica_device *device, mica_tf_value *out) {
    mica_status status = NULL;
    for (int32_t k = 0; !status && k < rows->width; k++)
        status = mica_value_stack("BatchDataset", device, rows->values + k, rows->width, rows->n,
                                  &out[k]);
    if (status) mica_values_release(out, rows->width);
    return status;
}

static mica_tf_value *room_for(const map_batch_dataset *d) {
    return mica_calloc((size_t)d->widest + 1, sizeof(mica_tf_value));
}

static void run_batch(mica_data_job *job) {
    batch_job *m = (batch_job *)job;
    int32_t at;
    if (m->rows.n == 0) return; /* there is only an error of the input */
    mica_tf_value *values = room_for(m->dataset);
    m->status = values ? stack_rows(&m->rows, m->device, values) : MICA_NO_MEMORY();
    if (!m->status)
        m->status =
            run_stages(m->dataset, m->device, true, m->draws, NULL, values, m->results, &at);
    mica_free(values);
}

/* ---- jobs -------------------------------------------------------------------------------------*/

static void destroy_batch(mica_data_job *job) {
    batch_job *m = (batch_job *)job;
    for (int32_t i = 0; m->draws && i < m->dataset->n_stages; i++)
        mica_tf_generators_release(m->draws[i]);
    mica_free(m->draws);
    mica_free(m->streams);
    mica_rows_deinit(&m->rows);
    mica_values_release(m->results, m->dataset->base.n_components);
    mica_status_release(m->after);
    mica_status_release(m->status);
    mica_device_release(m->device);
    mica_dataset_release(&m->dataset->base);
    mica_free(m);
}

static batch_job *make_job(mica_iterator *it) {
    map_batch_dataset *d = (map_batch_dataset *)it->dataset;
    map_batch_state *state = it->state;
    batch_job *m = (batch_job *)mica_data_job_create(
        state->board, sizeof *m + (size_t)d->base.n_components * sizeof(mica_tf_value), run_batch,
        destroy_batch);
    if (!m) return NULL;
    m->dataset = d;
    mica_dataset_retain(&d->base);
    m->device = it->device;
    mica_device_retain(m->device);
    m->rows.width = width_of(&d->base);
    m->rows.meter = (mica_data_meter){.who = "BatchDataset", .is_copied = true};
    m->draws = mica_calloc((size_t)d->n_stages, sizeof(mica_tf_generators *));
    m->streams = mica_calloc((size_t)state->n_words + 1, sizeof *m->streams);
    if (m->draws && m->streams) return m;
    mica_data_job_leave(&m->job);
    return NULL;
}

/* Elements that wait come first, then what follows them, then those of the input. */
static mica_status gather(mica_iterator *it, batch_job *m) {
    const map_batch_dataset *d = dataset_of(it);
    map_batch_state *state = it->state;
    int64_t n = state->pending.n < d->size ? state->pending.n : d->size;
    for (int64_t i = 0; i < n; i++) {
        mica_tf_value *row;
        MICA_TRY(mica_rows_room(&m->rows, &row));
        size_t bytes = (size_t)m->rows.width * sizeof *row;
        memcpy(row, state->pending.values + i * m->rows.width, bytes);
        memset(state->pending.values + i * m->rows.width, 0, bytes);
        m->rows.n++;
    }
    mica_rows_drop(&state->pending, n);
    if (m->rows.n < d->size && state->after) {
        m->after = state->after;
        state->after = NULL;
    } else if (m->rows.n < d->size && !state->input_ended) {
        m->after = mica_rows_pull(&m->rows, it, d->size);
        state->input_ended = !m->after && m->rows.n < d->size;
    }
    return NULL;
}

/* What the calls of a job draw. */
static mica_status take_draws(mica_iterator *it, batch_job *m) {
    const map_batch_dataset *d = dataset_of(it);
    const map_batch_state *state = it->state;
    for (int32_t i = 0, at = 0; i < d->n_stages; i++) {
        int32_t n = 0;
        if (!d->stages[i].draws) continue;
        const mica_tf_graph *f = d->stages[i].one.graph;
        MICA_TRY(
            mica_tf_generators_save(it->generators, f, m->streams + at, state->n_words - at, &n));
        MICA_TRY(mica_tf_generators_take(it->generators, f, m->rows.n, &m->draws[i]));
        at += n;
    }
    return NULL;
}

static mica_status add_job(mica_iterator *it) {
    map_batch_state *state = it->state;
    batch_job *m = make_job(it);
    if (!m) return MICA_NO_MEMORY();
    m->first = state->number;
    mica_status status = gather(it, m);
    bool is_empty = !status && m->rows.n == 0 && !m->after;
    if (!status && !is_empty) status = take_draws(it, m);
    if (status || is_empty) {
        mica_data_job_leave(&m->job);
        return status;
    }
    state->number += m->rows.n;
    state->jobs[state->n++] = &m->job;
    if (dataset_of(it)->jobs) mica_data_job_submit(&m->job);
    return NULL;
}

static bool has_more(const map_batch_state *state) {
    if (state->n && ((batch_job *)state->jobs[state->n - 1])->after) return false;
    return state->pending.n || state->after || !state->input_ended;
}

static mica_status fill(mica_iterator *it) {
    map_batch_state *state = it->state;
    int32_t side_by_side = dataset_of(it)->jobs;
    int32_t most = side_by_side ? 2 * side_by_side : 1, open = side_by_side ? side_by_side : 1;
    while (has_more(state) && state->n < most &&
           __atomic_load_n(&state->board->n_open, __ATOMIC_RELAXED) < open)
        MICA_TRY(add_job(it));
    return NULL;
}

static void drop_first(map_batch_state *state) {
    mica_data_job *job = state->jobs[0];
    memmove(state->jobs, state->jobs + 1, (size_t)--state->n * sizeof(mica_data_job *));
    mica_data_job_leave(job);
}

/* ---- element by element -----------------------------------------------------------------------*/

static mica_status restore_streams(mica_iterator *it, const uint32_t *words) {
    const map_batch_dataset *d = dataset_of(it);
    const map_batch_state *state = it->state;
    for (int32_t i = 0, at = 0; i < d->n_stages; i++) {
        int32_t n = 0;
        if (!d->stages[i].draws) continue;
        const mica_tf_graph *f = d->stages[i].one.graph;
        MICA_TRY(mica_tf_generators_restore(it->generators, f, words + at, state->n_words - at));
        MICA_TRY(mica_tf_generators_save(it->generators, f, NULL, 0, &n));
        at += n;
    }
    return NULL;
}

/* Elements of all jobs wait again, and streams are where they were before the first job. */
static mica_status take_back(mica_iterator *it) {
    map_batch_state *state = it->state;
    mica_rows all = {.width = width_of(it->dataset)};
    if (state->n == 0) return NULL;
    for (int64_t i = 0; i < state->n; i++) MICA_TRY(mica_data_job_wait(state->jobs[i]));
    const batch_job *first = (batch_job *)state->jobs[0];
    MICA_TRY(restore_streams(it, first->streams));
    state->number = first->first;
    mica_status status = NULL;
    for (int64_t i = 0; !status && i <= state->n; i++) {
        mica_rows *from = i < state->n ? &((batch_job *)state->jobs[i])->rows : &state->pending;
        for (int64_t k = 0; !status && k < from->n; k++) {
            mica_tf_value *row;
            status = mica_rows_room(&all, &row);
            if (status) break;
            for (int32_t c = 0; c < all.width; c++) {
                row[c] = from->values[k * all.width + c];
                mica_tf_value_retain(row[c]);
            }
            all.n++;
        }
    }
    if (status) {
        mica_rows_deinit(&all);
        return status;
    }
    batch_job *last = (batch_job *)state->jobs[state->n - 1];
    if (last->after) {
        mica_status_release(state->after);
        state->after = last->after;
        last->after = NULL;
    }
    while (state->n) drop_first(state);
    mica_rows_deinit(&state->pending);
    state->pending = all;
    return NULL;
}

static mica_status map_one(mica_iterator *it, const mica_tf_value *element, mica_tf_value *out) {
    const map_batch_dataset *d = dataset_of(it);
    const map_batch_state *state = it->state;
    int32_t at = 0, n = width_of(it->dataset);
    mica_tf_value *values = room_for(d);
    if (!values) return MICA_NO_MEMORY();
    for (int32_t k = 0; k < n; k++) {
        values[k] = element[k];
        mica_tf_value_retain(values[k]);
    }
    mica_status status = run_stages(d, it->device, false, NULL, it->generators, values, out, &at);
    mica_free(values);
    if (!status) return NULL;
    bool is_parallel = at < d->n_stages && d->stages[at].is_parallel;
    return mica_data_element_status(is_parallel ? "ParallelMapDataset" : "MapDataset",
                                    state->number, status);
}

/* The next batch of so many elements that wait. */
static mica_status batch_of_ones(mica_iterator *it, int64_t n, mica_tf_value *out, bool *end) {
    const map_batch_dataset *d = dataset_of(it);
    map_batch_state *state = it->state;
    mica_rows made = {.width = it->dataset->n_components};
    mica_status status = NULL;
    for (int64_t i = 0; !status && i < n; i++) {
        mica_tf_value *row;
        status = mica_rows_room(&made, &row);
        if (!status) status = map_one(it, state->pending.values, row);
        if (!status) made.n++;
        mica_rows_drop(&state->pending, 1);
        state->number++;
    }
    if (!status && n < d->size && state->after) {
        status = state->after;
        state->after = NULL;
    }
    *end = !status && n < d->size && d->drop_remainder;
    if (!status && !*end) status = stack_rows(&made, it->device, out);
    mica_rows_deinit(&made);
    return status;
}

/* ---- the class --------------------------------------------------------------------------------*/

/* Whether a call may have failed for what an element is. */
static bool is_of_elements(mica_status status) {
    mica_code code = status ? mica_status_code(status) : MICA_CANCELLED;
    return code != MICA_CANCELLED && code != MICA_OUT_OF_MEMORY;
}

static mica_status map_batch_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const map_batch_dataset *d = dataset_of(it);
    map_batch_state *state = it->state;
    MICA_TRY(fill(it));
    *end = state->n == 0;
    if (*end) return NULL;
    MICA_TRY(mica_data_job_wait(state->jobs[0]));
    batch_job *m = (batch_job *)state->jobs[0];
    if (is_of_elements(m->status)) {
        int64_t n = m->rows.n;
        MICA_TRY(take_back(it));
        return batch_of_ones(it, n, out, end);
    }
    mica_status status = m->status ? m->status : m->after;
    *(m->status ? &m->status : &m->after) = NULL;
    *end = !status && m->rows.n < d->size && d->drop_remainder;
    if (!status && !*end) {
        size_t bytes = (size_t)it->dataset->n_components * sizeof *out;
        memcpy(out, m->results, bytes);
        memset(m->results, 0, bytes);
    }
    drop_first(state);
    return status;
}

static mica_status map_batch_open(mica_iterator *it) {
    const map_batch_dataset *d = dataset_of(it);
    map_batch_state *state = it->state;
    state->pending.width = width_of(it->dataset);
    state->board = mica_data_board_create();
    state->jobs = mica_calloc((size_t)d->jobs * 2 + 1, sizeof(mica_data_job *));
    if (!state->board || !state->jobs) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < d->n_stages; i++) {
        int32_t n = 0;
        if (!d->stages[i].draws) continue;
        MICA_TRY(mica_tf_generators_save(it->generators, d->stages[i].one.graph, NULL, 0, &n));
        state->n_words += n;
    }
    return mica_iterator_open_input(it, 0);
}

static void map_batch_close(mica_iterator *it) {
    map_batch_state *state = it->state;
    for (int64_t i = 0; i < state->n; i++) mica_data_job_leave(state->jobs[i]);
    mica_free(state->jobs);
    mica_data_board_release(state->board);
    mica_rows_deinit(&state->pending);
    mica_status_release(state->after);
}

/* What jobs have made is made again. */
static mica_status map_batch_archive(mica_iterator *it, mica_archive *a) {
    const map_batch_dataset *d = dataset_of(it);
    map_batch_state *state = it->state;
    if (a->is_saving) MICA_TRY(take_back(it));
    bool failed = state->after != NULL;
    MICA_TRY(mica_archive_int(a, &state->number, 0, INT64_MAX));
    MICA_TRY(mica_archive_bool(a, &state->input_ended));
    MICA_TRY(mica_archive_rows(a, it->device, &state->pending));
    MICA_TRY(mica_archive_bool(a, &failed));
    if (failed) MICA_TRY(mica_archive_status(a, &state->after));
    for (int32_t i = 0; i < d->n_stages; i++)
        MICA_TRY(mica_archive_draws(a, it, &d->stages[i].one));
    return NULL;
}

static void map_batch_destroy(mica_dataset *dataset) {
    map_batch_dataset *d = (map_batch_dataset *)dataset;
    for (int32_t i = 0; d->stages && i < d->n_stages; i++) {
        mica_data_call_deinit(&d->stages[i].one);
        mica_data_call_deinit(&d->stages[i].whole);
    }
    mica_free(d->stages);
}

static int64_t map_batch_count(const mica_dataset *dataset) {
    const map_batch_dataset *d = (const map_batch_dataset *)dataset;
    int64_t n = mica_dataset_cardinality(dataset->inputs[0]);
    if (n < 0) return n;
    return n / d->size + (n % d->size != 0 && !d->drop_remainder);
}

static int64_t map_batch_size(const mica_dataset *dataset) {
    return ((const map_batch_dataset *)dataset)->size;
}

static const mica_dataset_class map_batch_class = {
    .name = "MapBatchDataset",
    .bytes = sizeof(map_batch_dataset),
    .state_bytes = sizeof(map_batch_state),
    .destroy = map_batch_destroy,
    .open = map_batch_open,
    .next = map_batch_next,
    .close = map_batch_close,
    .cardinality = map_batch_count,
    .batch_size = map_batch_size,
    .archive = map_batch_archive,
};

static mica_status check_stage(const mica_dataset_stage *given) {
    MICA_GIVEN(given->one.graph, given->whole);
    if (given->calls < -1)
        return MICA_INVALID("[MapBatchDataset] calls side by side are a positive number, -1 for as "
                            "many as seems good or 0 for none, not %lld",
                            (long long)given->calls);
    if (mica_tf_graph_order(given->one.graph) == MICA_TF_IN_ORDER)
        return MICA_INVALID("[MapBatchDataset] the function '%s' has effects or calls the host "
                            "language, so it runs element by element: use map and batch",
                            mica_tf_graph_name(given->one.graph));
    int32_t n = mica_tf_graph_output_count(given->one.graph);
    int32_t n_whole = mica_tf_graph_output_count(given->whole);
    if (n == n_whole) return NULL;
    return MICA_INVALID("[MapBatchDataset] the function '%s' gives %d results, that of a batch %d",
                        mica_tf_graph_name(given->one.graph), n, n_whole);
}

static mica_status add_stages(map_batch_dataset *d, const mica_dataset_stage *given, int32_t n) {
    int32_t width = width_of(&d->base);
    d->stages = mica_calloc((size_t)n, sizeof *d->stages);
    if (!d->stages) return MICA_NO_MEMORY();
    d->n_stages = n;
    d->widest = width;
    for (int32_t i = 0; i < n; i++) {
        stage *s = &d->stages[i];
        mica_dataset_function whole = given[i].one;
        whole.graph = given[i].whole;
        MICA_TRY(mica_data_call_init(&s->one, &d->base, &given[i].one, width));
        MICA_TRY(mica_data_call_init(&s->whole, &d->base, &whole, width));
        s->is_parallel = given[i].calls != 0;
        s->draws = mica_tf_graph_order(s->one.graph) == MICA_TF_DRAWS;
        s->n_out = width = mica_tf_graph_output_count(s->one.graph);
        if (width > d->widest) d->widest = width;
        int32_t jobs = s->is_parallel ? mica_data_job_width(given[i].calls) : 0;
        if (jobs > d->jobs) d->jobs = jobs;
    }
    return NULL;
}

mica_status mica_dataset_map_batch(mica_dataset *input, const mica_dataset_stage *stages,
                                   int32_t n_stages, int64_t batch_size, bool drop_remainder,
                                   mica_dataset **out_dataset) {
    MICA_GIVEN(input, MICA_MANY(stages, n_stages), out_dataset);
    *out_dataset = NULL;
    if (n_stages < 1) return MICA_INVALID("[MapBatchDataset] there is no function");
    if (batch_size < 1)
        return MICA_INVALID("[BatchDataset] batch_size must be greater than zero, not %lld",
                            (long long)batch_size);
    for (int32_t i = 0; i < n_stages; i++) MICA_TRY(check_stage(&stages[i]));
    mica_dataset *made = NULL;
    int32_t n = mica_tf_graph_output_count(stages[n_stages - 1].one.graph);
    MICA_TRY(mica_dataset_make(&map_batch_class, &input, 1, n, &made));
    map_batch_dataset *d = (map_batch_dataset *)made;
    d->size = batch_size;
    d->drop_remainder = drop_remainder;
    if (drop_remainder) d->base.first_size = batch_size;
    mica_status status = add_stages(d, stages, n_stages);
    if (status)
        mica_dataset_release(made);
    else
        *out_dataset = made;
    return status;
}
