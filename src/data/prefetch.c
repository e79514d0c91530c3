/* Elements made ahead by a thread of their own.
 *
 * The thread does not work for the iterator but for a worker, which owns the queue and the input.
 * An iterator may be released anywhere: by a garbage collector inside of a callback that the very
 * thread runs, or while a lock is held that a callback waits for. So a release waits for no
 * thread: it leaves the worker to its thread, which lets go of everything when it has made the
 * element it is at. Workers that were left are joined when the next one starts, and by
 * mica_shutdown, which waits for them. */
#include "base/interrupt.h"
#include "base/shutdown.h"
#include "data/archive.h"

#define SLICE 0.1 /* seconds between two questions whether to go on waiting */

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

typedef struct worker {
    mica_mutex lock;
    mica_condition changed;
    mica_iterator *input;
    mica_thread *thread;
    _Atomic(const void *) thread_id; /* of the thread, once it runs */
    made *first, *last;
    int64_t n, size; /* in the queue, and how many fit into it */
    int32_t n_components;
    bool runs;          /* the thread is inside work() */
    bool stops;         /* asked to; no other thread holds the worker */
    bool makes;         /* an element that is neither in the queue nor in the input any more */
    bool rests;         /* asked to make none for a while */
    bool ended;         /* the end was made; nothing follows it */
    bool out_of_memory; /* an element had no room: said once, then the thread goes on */
    mica_data_meter meter;
    bool is_short; /* of memory: what was made waits to be taken before more is */
    struct worker *next_left;
    bool done; /* the thread of a worker that was left has let go of everything */
} worker;

static struct {
    mica_mutex lock; /* taken before a worker's */
    mica_condition changed;
    worker *first;
} left; /* workers that only their threads use */

/* What the worker holds; its thread is outside of the input. */
static void drop_content(worker *w) {
    for (made *m = w->first, *next; m; m = next) {
        next = m->next;
        mica_values_release(m->values, w->n_components);
        mica_status_release(m->status);
        mica_free(m);
    }
    mica_iterator_release(w->input);
}

/* Takes a worker that is done out of the list; NULL: there is none. */
static worker *take_done(void) {
    for (worker **at = &left.first; *at; at = &(*at)->next_left) {
        worker *w = *at;
        if (!w->done) continue;
        *at = w->next_left;
        return w;
    }
    return NULL;
}

/* Joins what is done, or with `waits` all that were left and what those leave. */
static void join_left(bool waits) {
    mica_mutex_lock(&left.lock);
    while (left.first) {
        worker *w = take_done();
        if (!w && !waits) break;
        if (w) {
            mica_thread_join(w->thread);
            mica_free(w);
        } else {
            mica_condition_wait(&left.changed, &left.lock);
        }
    }
    mica_mutex_unlock(&left.lock);
}

/* The threads of a parent process are not in its child. */
void mica_prefetch_wait_for_left(void) {
    join_left(!mica_fork_happened());
}

/* ---- the thread -------------------------------------------------------------------------------*/

/* Where memory is short one element is made ahead, whatever the size of the queue. */
static bool waits_for_memory(worker *w) {
    if (w->is_short && w->n == 0) w->is_short = false;
    return w->is_short;
}

static bool wait_for_room(worker *w) {
    mica_mutex_lock(&w->lock);
    while (!w->stops && (w->n >= w->size || w->out_of_memory || w->rests || waits_for_memory(w)))
        mica_condition_wait(&w->changed, &w->lock);
    bool goes_on = w->makes = !w->stops;
    mica_mutex_unlock(&w->lock);
    return goes_on;
}

static bool make_one(worker *w) {
    made *m = mica_calloc(1, sizeof *m + (size_t)w->n_components * sizeof *m->values);
    if (m) m->status = mica_iterator_next(w->input, m->values, w->n_components, &m->end);
    bool end = m && m->end;
    bool is_short = m && mica_data_meter_is_short(&w->meter, m->values, w->n_components);
    mica_mutex_lock(&w->lock);
    if (m) {
        w->is_short |= is_short;
        *(w->last ? &w->last->next : &w->first) = m;
        w->last = m;
        w->n++;
    } else {
        w->out_of_memory = true;
    }
    w->makes = false;
    mica_condition_broadcast(&w->changed);
    mica_mutex_unlock(&w->lock);
    return end;
}

static void work(void *context) {
    worker *w = context;
    atomic_store_explicit(&w->thread_id, mica_thread_id(), memory_order_relaxed);
    while (wait_for_room(w) && !make_one(w)) {
    }
    mica_mutex_lock(&w->lock);
    w->runs = false;
    bool was_left = w->stops;
    mica_mutex_unlock(&w->lock);
    if (!was_left) return;
    drop_content(w);
    mica_mutex_lock(&left.lock);
    w->done = true;
    mica_condition_broadcast(&left.changed);
    mica_mutex_unlock(&left.lock);
}

/* The thread starts with the first element that is asked for. */
static mica_status start(worker *w) {
    if (w->thread || w->ended) return NULL;
    join_left(false);
    mica_shutdown_first(mica_prefetch_wait_for_left);
    w->runs = true;
    mica_status status = mica_thread_start(work, w, "mica-data", &w->thread);
    if (status) w->runs = false;
    return status;
}

/* ---- the iterator -----------------------------------------------------------------------------*/

static worker *worker_of(const mica_iterator *it) {
    return *(worker **)it->state;
}

static bool prefetch_is_served_by(const mica_iterator *it, const void *thread_id) {
    return atomic_load_explicit(&worker_of(it)->thread_id, memory_order_relaxed) == thread_id;
}

static mica_status prefetch_open(mica_iterator *it) {
    worker *w = *(worker **)it->state = mica_calloc(1, sizeof *w);
    if (!w) return MICA_NO_MEMORY();
    w->size = ((const prefetch_dataset *)it->dataset)->size;
    w->n_components = it->dataset->n_components;
    MICA_TRY(mica_iterator_open_input(it, 0));
    w->input = it->inputs[0];
    it->inputs[0] = NULL;
    return NULL;
}

static mica_status take(worker *w, made **out, bool *end) {
    mica_status status = NULL;
    mica_mutex_lock(&w->lock);
    bool is_checked = mica_interrupt_is_checked();
    while (!w->first && !w->ended && !w->out_of_memory && !status) {
        if (!is_checked)
            mica_condition_wait(&w->changed, &w->lock);
        else if (!mica_condition_wait_for(&w->changed, &w->lock, SLICE) && mica_interrupt_poll())
            status = mica_interrupt_status();
    }
    if (status) {
        mica_mutex_unlock(&w->lock);
        *out = NULL;
        *end = false;
        return status;
    }
    made *m = *out = w->first;
    if (m) {
        w->first = m->next;
        if (!w->first) w->last = NULL;
        w->n--;
        w->ended = m->end;
    } else if (w->out_of_memory) {
        w->out_of_memory = false;
        status = MICA_NO_MEMORY();
    }
    *end = w->ended;
    mica_condition_broadcast(&w->changed);
    mica_mutex_unlock(&w->lock);
    return status;
}

static mica_status prefetch_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    worker *w = worker_of(it);
    made *m = NULL;
    if (mica_fork_happened())
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[PrefetchDataset] the process was forked, and the thread that makes "
                          "elements stayed in the parent: start a new process instead");
    MICA_TRY(start(w));
    MICA_TRY(take(w, &m, end));
    if (!m) return NULL;
    mica_status status = m->status;
    memcpy(out, m->values, (size_t)w->n_components * sizeof *out);
    mica_free(m);
    return status;
}

static void prefetch_close(mica_iterator *it) {
    worker *w = worker_of(it);
    if (!w) return;
    mica_mutex_lock(&left.lock);
    mica_mutex_lock(&w->lock);
    bool runs = w->runs;
    w->stops = true;
    if (runs) {
        w->next_left = left.first;
        left.first = w;
    }
    mica_condition_broadcast(&w->changed);
    mica_mutex_unlock(&w->lock);
    mica_mutex_unlock(&left.lock);
    if (runs) return;
    mica_thread_join(w->thread);
    drop_content(w);
    mica_free(w);
}

/* ---- saving -----------------------------------------------------------------------------------*/

static mica_status archive_queue(mica_iterator *it, mica_archive *a) {
    worker *w = worker_of(it);
    int64_t n = w->n;
    made *next = w->first;
    MICA_TRY(mica_archive_bool(a, &w->ended));
    MICA_TRY(mica_archive_int(a, &n, 0, INT64_MAX));
    for (int64_t i = 0; i < n; i++) {
        made *m = next;
        if (!a->is_saving) {
            m = mica_calloc(1, sizeof *m + (size_t)w->n_components * sizeof *m->values);
            if (!m) return MICA_NO_MEMORY();
            *(w->last ? &w->last->next : &w->first) = m;
            w->last = m;
            w->n++;
        }
        next = m->next;
        bool failed = m->status != NULL;
        MICA_TRY(mica_archive_bool(a, &m->end));
        MICA_TRY(mica_archive_bool(a, &failed));
        if (failed) MICA_TRY(mica_archive_status(a, &m->status));
        if (!m->end && !failed)
            MICA_TRY(mica_archive_element(a, it->device, m->values, w->n_components));
    }
    return mica_archive_iterator(a, w->input);
}

/* With the thread between two elements: all are in the queue or still in the input. */
static mica_status prefetch_archive(mica_iterator *it, mica_archive *a) {
    worker *w = worker_of(it);
    mica_status status = NULL;
    mica_mutex_lock(&w->lock);
    w->rests = true;
    while (w->makes && !status) {
        if (!mica_condition_wait_for(&w->changed, &w->lock, SLICE) && mica_interrupt_poll())
            status = mica_interrupt_status();
    }
    if (!status) status = archive_queue(it, a);
    w->rests = false;
    mica_condition_broadcast(&w->changed);
    mica_mutex_unlock(&w->lock);
    return status;
}

static int64_t prefetch_count(const mica_dataset *dataset) {
    return mica_dataset_cardinality(dataset->inputs[0]);
}

static const mica_dataset_class prefetch_class = {
    .name = "PrefetchDataset",
    .bytes = sizeof(prefetch_dataset),
    .state_bytes = sizeof(worker *),
    .open = prefetch_open,
    .next = prefetch_next,
    .close = prefetch_close,
    .is_served_by = prefetch_is_served_by,
    .cardinality = prefetch_count,
    .archive = prefetch_archive,
    .batch_size = mica_dataset_batch_size_of_inputs,
};

mica_status mica_dataset_prefetch(mica_dataset *input, int64_t size, mica_dataset **out_dataset) {
    MICA_GIVEN(input, out_dataset);
    *out_dataset = NULL;
    if (size < 1)
        return MICA_INVALID("[PrefetchDataset] a buffer of %lld elements is not possible",
                            (long long)size);
    MICA_TRY(mica_dataset_make(&prefetch_class, &input, 1, input->n_components, out_dataset));
    ((prefetch_dataset *)*out_dataset)->size = size;
    return NULL;
}
