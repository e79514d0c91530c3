/* interleave with the open datasets making elements side by side.
 *
 * The order is that of interleave.c. Places of the cycle are visited in turns, and an empty one is
 * filled when it is visited; so the input's elements go to the places in the order in which they
 * will be visited, and may be given to them ahead, for a window of the next places. Each open
 * place has a job that fetches its next elements. */
#include "data/archive.h"

typedef struct interleave_dataset {
    mica_dataset base;
    mica_data_call call;
    int64_t cycle_length, block_length;
    int32_t width;
    bool in_order;
} interleave_dataset;

enum { MOST_AHEAD = 16 };

/* The next elements of one dataset, up to its end or an error. */
typedef struct fetch_job {
    mica_data_job job;
    mica_iterator *iterator; /* retained */
    int32_t n, most, width, at;
    bool end;
    mica_status status;     /* what followed the elements */
    mica_tf_value values[]; /* element i begins at i * width */
} fetch_job;

typedef struct place {
    mica_iterator *iterator; /* NULL: none */
    mica_tf_value *source;   /* the element that its dataset was made of */
    mica_data_job *fetch;    /* NULL: none */
    mica_status status;      /* why it could not be opened; told when it is visited */
} place;

typedef struct interleave_state {
    mica_data_board *board;
    mica_tf_value *element;
    place *places;
    mica_data_job **jobs; /* room for those that are waited for */
    int64_t *visited;     /* and their places */
    int64_t n_open, at, in_block, number;
    bool input_ended;
} interleave_state;

/* ---- fetching ---------------------------------------------------------------------------------*/

static void run_fetch(mica_data_job *job) {
    fetch_job *f = (fetch_job *)job;
    while (f->n < f->most && !f->end && !f->status) {
        f->status = mica_iterator_next(f->iterator, f->values + f->n * f->width, f->width, &f->end);
        f->n += !f->status && !f->end;
    }
}

static void destroy_fetch(mica_data_job *job) {
    fetch_job *f = (fetch_job *)job;
    mica_values_release(f->values, f->n * f->width);
    mica_status_release(f->status);
    mica_iterator_release(f->iterator);
    mica_free(f);
}

static mica_status make_fetch(const interleave_dataset *d, interleave_state *state, place *p) {
    int64_t most = d->block_length < MOST_AHEAD ? d->block_length : MOST_AHEAD;
    size_t room = (size_t)(most * d->base.n_components);
    fetch_job *f = (fetch_job *)mica_data_job_create(
        state->board, sizeof *f + room * sizeof(mica_tf_value), run_fetch, destroy_fetch);
    if (!f) return MICA_NO_MEMORY();
    f->iterator = p->iterator;
    mica_iterator_retain(f->iterator);
    f->most = (int32_t)most;
    f->width = d->base.n_components;
    p->fetch = &f->job;
    return NULL;
}

/* ---- places -----------------------------------------------------------------------------------*/

static mica_status parallel_open(mica_iterator *it) {
    const interleave_dataset *d = (const interleave_dataset *)it->dataset;
    interleave_state *state = it->state;
    size_t n = (size_t)d->cycle_length;
    state->board = mica_data_board_create();
    state->element =
        mica_calloc((size_t)it->dataset->inputs[0]->n_components + 1, sizeof *state->element);
    state->places = mica_calloc(n, sizeof *state->places);
    state->jobs = mica_calloc((size_t)d->width * 2, sizeof(mica_data_job *));
    state->visited = mica_calloc((size_t)d->width * 2, sizeof *state->visited);
    bool has_room =
        state->board && state->element && state->places && state->jobs && state->visited;
    return has_room ? mica_iterator_open_input(it, 0) : MICA_NO_MEMORY();
}

static void close_place(const mica_iterator *it, place *p) {
    mica_data_job_leave(p->fetch);
    mica_iterator_release(p->iterator);
    if (p->source) mica_values_release(p->source, it->dataset->inputs[0]->n_components);
    mica_free(p->source);
    mica_status_release(p->status);
    *p = (place){0};
}

static void parallel_close(mica_iterator *it) {
    const interleave_dataset *d = (const interleave_dataset *)it->dataset;
    interleave_state *state = it->state;
    for (int64_t i = 0; state->places && i < d->cycle_length; i++)
        close_place(it, &state->places[i]);
    mica_free(state->places);
    mica_free(state->element);
    mica_free(state->jobs);
    mica_free(state->visited);
    mica_data_board_release(state->board);
}

/* The dataset of an element comes to an empty place. */
static mica_status open_element(mica_iterator *it, place *p, int64_t number,
                                const mica_tf_value *element) {
    const interleave_dataset *d = (const interleave_dataset *)it->dataset;
    interleave_state *state = it->state;
    int32_t n = it->dataset->inputs[0]->n_components;
    mica_tf_value value = {0};
    mica_status status = mica_data_call_run(&d->call, it, element, n, &value, 1);
    if (status) return mica_data_element_status("ParallelInterleaveDataset", number, status);
    mica_dataset *dataset = mica_dataset_of(value);
    if (!dataset || dataset->n_components != it->dataset->n_components)
        status = MICA_INVALID("[ParallelInterleaveDataset] the function gives no dataset with "
                              "elements of %d components",
                              it->dataset->n_components);
    else
        status = mica_iterator_create_part(it, dataset, &p->iterator);
    mica_tf_value_release(value);
    if (!status) status = mica_values_copy(element, n, &p->source);
    if (status)
        close_place(it, p);
    else
        state->n_open++;
    return status;
}

/* That of the next input element. */
static mica_status fill_place(mica_iterator *it, place *p) {
    interleave_state *state = it->state;
    MICA_TRY(mica_iterator_pull(it, 0, state->element, &state->input_ended));
    if (state->input_ended) return NULL;
    mica_status status = open_element(it, p, state->number++, state->element);
    mica_values_release(state->element, it->dataset->inputs[0]->n_components);
    return status;
}

static int64_t window_of(const interleave_dataset *d) {
    int64_t most = 2 * (int64_t)d->width;
    return d->cycle_length < most ? d->cycle_length : most;
}

/* The next places get datasets, and those that have one elements, as far as calls are left. */
static mica_status work_ahead(mica_iterator *it) {
    const interleave_dataset *d = (const interleave_dataset *)it->dataset;
    interleave_state *state = it->state;
    for (int64_t i = 0; i < window_of(d); i++) {
        place *p = &state->places[(state->at + i) % d->cycle_length];
        if (!p->iterator && !p->status && !state->input_ended) p->status = fill_place(it, p);
        if (p->status) break; /* what comes next comes to this place */
        if (!p->iterator || p->fetch) continue;
        if (__atomic_load_n(&state->board->n_open, __ATOMIC_RELAXED) >= d->width) continue;
        MICA_TRY(make_fetch(d, state, p));
        mica_data_job_submit(p->fetch);
    }
    return NULL;
}

static void next_place(const interleave_dataset *d, interleave_state *state) {
    state->in_block = 0;
    state->at = (state->at + 1) % d->cycle_length;
}

/* ---- elements ---------------------------------------------------------------------------------*/

/* What a finished fetch has next: true with an element or a status, false when it has nothing
 * left. */
static bool take_next(place *p, mica_tf_value *out, mica_status *out_status, bool *out_end) {
    fetch_job *f = (fetch_job *)p->fetch;
    *out_status = NULL;
    *out_end = false;
    bool has_one = f->at < f->n;
    if (has_one) {
        size_t bytes = (size_t)f->width * sizeof *out;
        memcpy(out, f->values + f->at * f->width, bytes);
        memset(f->values + f->at * f->width, 0, bytes);
        f->at++;
    } else {
        *out_status = f->status;
        *out_end = f->end;
        f->status = NULL;
    }
    if (f->at < f->n || (has_one && (f->status || f->end))) return true;
    mica_data_job_leave(p->fetch);
    p->fetch = NULL;
    return has_one || *out_status || *out_end;
}

/* The fetch that is waited for now: that of the present place, or any that is done first. */
static mica_status wait_for(mica_iterator *it, place **out) {
    const interleave_dataset *d = (const interleave_dataset *)it->dataset;
    interleave_state *state = it->state;
    int64_t n = 0, which = 0;
    for (int64_t i = 0; i < (d->in_order ? 1 : window_of(d)); i++) {
        int64_t at = (state->at + i) % d->cycle_length;
        place *p = &state->places[at];
        if (!p->iterator) continue;
        if (!p->fetch && n == 0) MICA_TRY(make_fetch(d, state, p));
        if (!p->fetch) continue;
        state->jobs[n] = p->fetch;
        state->visited[n++] = at;
    }
    *out = NULL;
    if (n == 0) return NULL;
    MICA_TRY(mica_data_job_wait_any(state->jobs, n, &which));
    *out = &state->places[state->visited[which]];
    if (!d->in_order) state->at = state->visited[which];
    return NULL;
}

static mica_status parallel_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const interleave_dataset *d = (const interleave_dataset *)it->dataset;
    interleave_state *state = it->state;
    for (;;) {
        place *p = &state->places[state->at];
        bool ended = false;
        mica_status status = NULL;
        MICA_TRY(work_ahead(it));
        if (p->status) {
            status = p->status;
            p->status = NULL;
            return status;
        }
        if (state->input_ended && !state->n_open) {
            *end = true;
            return NULL;
        }
        MICA_TRY(wait_for(it, &p));
        if (!p) {
            next_place(d, state);
            continue;
        }
        if (!take_next(p, out, &status, &ended)) continue;
        if (status) return status;
        if (!ended) {
            if (++state->in_block == d->block_length) next_place(d, state);
            return NULL;
        }
        close_place(it, p);
        state->n_open--;
        next_place(d, state);
    }
}

/* ---- saving -----------------------------------------------------------------------------------*/

/* What was fetched and not yet given; a fetch under way is waited for. */
static mica_status archive_fetch(mica_iterator *it, mica_archive *a, place *p) {
    interleave_state *state = it->state;
    bool has_fetch = p->fetch != NULL;
    MICA_TRY(mica_archive_bool(a, &has_fetch));
    if (!has_fetch) return NULL;
    if (a->is_saving)
        MICA_TRY(mica_data_job_wait(p->fetch));
    else
        MICA_TRY(make_fetch((const interleave_dataset *)it->dataset, state, p));
    fetch_job *f = (fetch_job *)p->fetch;
    int64_t n = f->n - f->at;
    bool failed = f->status != NULL;
    MICA_TRY(mica_archive_int(a, &n, 0, a->is_saving ? n : f->most));
    for (int64_t i = 0; i < n; i++) {
        if (!a->is_saving) f->n++;
        mica_tf_value *element = f->values + (f->at + i) * f->width;
        MICA_TRY(mica_archive_element(a, it->device, element, f->width));
    }
    MICA_TRY(mica_archive_bool(a, &f->end));
    MICA_TRY(mica_archive_bool(a, &failed));
    return failed ? mica_archive_status(a, &f->status) : NULL;
}

/* The dataset of a place is made again, of the element that it was made of. */
static mica_status archive_place(mica_iterator *it, mica_archive *a, place *p) {
    interleave_state *state = it->state;
    int32_t n = it->dataset->inputs[0]->n_components;
    bool is_open = p->iterator != NULL, failed = p->status != NULL;
    MICA_TRY(mica_archive_bool(a, &failed));
    if (failed) MICA_TRY(mica_archive_status(a, &p->status));
    MICA_TRY(mica_archive_bool(a, &is_open));
    if (!is_open) return NULL;
    if (a->is_saving) {
        MICA_TRY(mica_archive_element(a, it->device, p->source, n));
    } else {
        mica_status status = mica_archive_element(a, it->device, state->element, n);
        if (!status) status = open_element(it, p, state->number, state->element);
        mica_values_release(state->element, n);
        if (status) return status;
    }
    MICA_TRY(archive_fetch(it, a, p)); /* first: it may move the iterator on */
    return mica_archive_iterator(a, p->iterator);
}

static mica_status parallel_archive(mica_iterator *it, mica_archive *a) {
    const interleave_dataset *d = (const interleave_dataset *)it->dataset;
    interleave_state *state = it->state;
    MICA_TRY(mica_archive_int(a, &state->at, 0, d->cycle_length - 1));
    MICA_TRY(mica_archive_int(a, &state->in_block, 0, d->block_length - 1));
    MICA_TRY(mica_archive_int(a, &state->number, 0, INT64_MAX));
    MICA_TRY(mica_archive_bool(a, &state->input_ended));
    for (int64_t i = 0; i < d->cycle_length; i++) MICA_TRY(archive_place(it, a, &state->places[i]));
    return mica_archive_draws(a, it, &d->call);
}

static void parallel_destroy(mica_dataset *dataset) {
    mica_data_call_deinit(&((interleave_dataset *)dataset)->call);
}

static const mica_dataset_class interleave_class = {
    .name = "ParallelInterleaveDataset",
    .bytes = sizeof(interleave_dataset),
    .state_bytes = sizeof(interleave_state),
    .destroy = parallel_destroy,
    .open = parallel_open,
    .next = parallel_next,
    .close = parallel_close,
    .archive = parallel_archive,
};

mica_status mica_dataset_parallel_interleave(mica_dataset *input,
                                             const mica_dataset_function *function,
                                             int64_t cycle_length, int64_t block_length,
                                             int64_t calls, bool in_order, int32_t n_components,
                                             mica_dataset **out_dataset) {
    MICA_GIVEN(input, function, out_dataset);
    *out_dataset = NULL;
    if (calls < 1 && calls != -1)
        return MICA_INVALID("[ParallelInterleaveDataset] num_parallel_calls must be greater than "
                            "zero, or -1 for as many as seems good, not %lld",
                            (long long)calls);
    mica_dataset *plain = NULL, *made = NULL;
    MICA_TRY(mica_dataset_interleave(input, function, cycle_length, block_length, n_components,
                                     &plain)); /* checks the arguments */
    mica_status status = mica_dataset_make(&interleave_class, &input, 1, n_components, &made);
    interleave_dataset *d = (interleave_dataset *)made;
    if (!status) status = mica_data_call_init(&d->call, made, function, input->n_components);
    bool is_free = !status && mica_data_call_is_free(&d->call, input);
    if (is_free) {
        d->cycle_length = cycle_length;
        d->block_length = block_length;
        d->width = mica_data_job_width(calls);
        d->in_order = in_order;
    }
    mica_dataset_release(is_free ? plain : made);
    if (status)
        mica_dataset_release(plain);
    else
        *out_dataset = is_free ? made : plain;
    return status;
}
