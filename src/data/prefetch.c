/* Elements made ahead by a thread of their own. */
#include "data/data.h"

typedef struct prefetch_dataset {
    mica_dataset base;
    int64_t size;
} prefetch_dataset;

/* What the thread has made: an element, the end, or an error. */
typedef struct made {
    struct made *next;
    mica_status status;
    bool end;
    mica_tf_value values[];
} made;

typedef struct prefetch_state {
    mica_mutex lock;
    mica_condition changed;
    mica_thread *thread;
    made *first, *last;
    int64_t n;          /* in the queue */
    bool stops;         /* asked to */
    bool ended;         /* the end was made; nothing follows it */
    bool out_of_memory; /* an element had no room: said once, then the thread goes on */
} prefetch_state;

static void drop(made *m, int32_t n_components) {
    mica_values_release(m->values, n_components);
    mica_status_release(m->status);
    mica_free(m);
}

static made *make_one(mica_iterator *it) {
    made *m = mica_calloc(1, sizeof *m + (size_t)it->dataset->n_components * sizeof *m->values);
    if (m) m->status = mica_iterator_pull(it, 0, m->values, &m->end);
    return m;
}

static bool wait_for_room(mica_iterator *it) {
    prefetch_state *state = it->state;
    int64_t size = ((const prefetch_dataset *)it->dataset)->size;
    mica_mutex_lock(&state->lock);
    while (!state->stops && (state->n >= size || state->out_of_memory))
        mica_condition_wait(&state->changed, &state->lock);
    bool goes_on = !state->stops;
    mica_mutex_unlock(&state->lock);
    return goes_on;
}

static void work(void *context) {
    mica_iterator *it = context;
    prefetch_state *state = it->state;
    for (bool end = false; !end && wait_for_room(it);) {
        made *m = make_one(it);
        end = m && m->end;
        mica_mutex_lock(&state->lock);
        if (m) {
            *(state->last ? &state->last->next : &state->first) = m;
            state->last = m;
            state->n++;
        } else {
            state->out_of_memory = true;
        }
        mica_condition_broadcast(&state->changed);
        mica_mutex_unlock(&state->lock);
    }
}

/* The thread starts with the first element that is asked for. */
static mica_status start(mica_iterator *it) {
    prefetch_state *state = it->state;
    if (state->thread || state->ended) return NULL;
    return mica_thread_start(work, it, "mica-data", &state->thread);
}

static mica_status prefetch_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    prefetch_state *state = it->state;
    MICA_TRY(start(it));
    mica_mutex_lock(&state->lock);
    while (!state->first && !state->ended && !state->out_of_memory)
        mica_condition_wait(&state->changed, &state->lock);
    made *m = state->first;
    if (m) {
        state->first = m->next;
        if (!state->first) state->last = NULL;
        state->n--;
        state->ended = m->end;
    }
    bool refused = !m && state->out_of_memory;
    if (refused) state->out_of_memory = false;
    *end = state->ended;
    mica_condition_broadcast(&state->changed);
    mica_mutex_unlock(&state->lock);
    if (refused) return MICA_NO_MEMORY();
    if (!m) return NULL;
    mica_status status = m->status;
    m->status = NULL;
    memcpy(out, m->values, (size_t)it->dataset->n_components * sizeof *out);
    mica_free(m);
    return status;
}

static void prefetch_close(mica_iterator *it) {
    prefetch_state *state = it->state;
    mica_mutex_lock(&state->lock);
    state->stops = true;
    mica_condition_broadcast(&state->changed);
    mica_mutex_unlock(&state->lock);
    if (state->thread) mica_thread_join(state->thread);
    for (made *m = state->first, *next; m; m = next) {
        next = m->next;
        drop(m, it->dataset->n_components);
    }
}

static int64_t prefetch_count(const mica_dataset *dataset) {
    return mica_dataset_cardinality(dataset->inputs[0]);
}

static const mica_dataset_class prefetch_class = {
    .name = "PrefetchDataset",
    .bytes = sizeof(prefetch_dataset),
    .state_bytes = sizeof(prefetch_state),
    .next = prefetch_next,
    .close = prefetch_close,
    .cardinality = prefetch_count,
};

mica_status mica_dataset_prefetch(mica_dataset *input, int64_t size, mica_dataset **out_dataset) {
    *out_dataset = NULL;
    if (size < 1)
        return MICA_INVALID("[PrefetchDataset] a buffer of %lld elements is not possible",
                            (long long)size);
    MICA_TRY(mica_dataset_make(&prefetch_class, &input, 1, input->n_components, out_dataset));
    ((prefetch_dataset *)*out_dataset)->size = size;
    return NULL;
}
