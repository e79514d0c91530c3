/* data/: pipelines of elements. See mica/data.h for the contract.
 *
 * A kind of dataset is a class: what its iterators keep, how they make the next element. A dataset
 * begins with its inputs; an iterator of it holds an iterator of an input when it wants one, so
 * a pipeline is pulled from its end. Only prefetch has a thread of its own; functions that run side
 * by side are jobs of the room's pool (jobs.c). The room knows tf/ by its public
 * header alone, and tf/ knows it in the same way: an element's values and the functions over them
 * are tf/'s, and datasets travel through its graphs as values. */
#ifndef MICA_DATA_DATA_H
#define MICA_DATA_DATA_H

#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/philox.h"
#include "base/platform.h"
#include "base/status.h"
#include "mica/data.h"

enum { MICA_DATA_MAX_COMPONENTS = 1024 };

typedef struct mica_archive mica_archive; /* archive.h */

typedef struct mica_dataset_class {
    const char *name;
    size_t bytes;                           /* of a dataset */
    size_t state_bytes;                     /* of what an iterator keeps, zeroed at first */
    void (*destroy)(mica_dataset *dataset); /* NULL: only inputs to release */
    mica_status (*open)(mica_iterator *it); /* NULL: one iterator for each input */
    mica_status (*next)(mica_iterator *it, mica_tf_value *out, bool *end);
    void (*close)(mica_iterator *it); /* NULL: nothing of its own */
    /* The thread makes elements for this iterator, beside the one that asks; NULL: none does. */
    bool (*is_served_by)(const mica_iterator *it, const void *thread_id);
    int64_t (*cardinality)(const mica_dataset *dataset); /* NULL: unknown */
    /* Saves or restores what an iterator keeps, beside those of its inputs; NULL: nothing is kept,
     * or with state_bytes that it cannot be saved. */
    mica_status (*archive)(mica_iterator *it, mica_archive *a);
    int64_t (*batch_size)(const mica_dataset *dataset); /* NULL: unknown */
} mica_dataset_class;

struct mica_dataset {
    mica_refcount references;
    const mica_dataset_class *class;
    int32_t n_components, n_inputs;
    mica_dataset **inputs; /* retained */
    int64_t first_size;    /* of every component of every element; 0: not known */
    bool needs_order;      /* its elements depend on when they are made: on calls of the host
                              language, effects, draws, seeds that iterators share */
};

struct mica_iterator {
    mica_refcount references;
    mica_dataset *dataset;          /* retained */
    mica_device *device;            /* retained */
    mica_iterator **inputs;         /* of the dataset's inputs; NULL where it is not open */
    mica_tf_generators *generators; /* retained; of the random ops in the pipeline */
    void *state;
    mica_mutex lock;              /* held while an element is made */
    _Atomic(const void *) inside; /* the thread that makes it (mica_thread_id), or NULL */
};

/* A dataset with everything but the fields of its class; inputs are retained. */
MICA_MUST_CHECK mica_status mica_dataset_make(const mica_dataset_class *class,
                                              mica_dataset *const *inputs, int32_t n_inputs,
                                              int32_t n_components, mica_dataset **out);
/* The batch size that all inputs agree on: of a class that leaves elements as they are. */
int64_t mica_dataset_batch_size_of_inputs(const mica_dataset *dataset);
/* An iterator that is a part of another: random numbers go on in it. */
MICA_MUST_CHECK mica_status mica_iterator_create_part(mica_iterator *whole, mica_dataset *dataset,
                                                      mica_iterator **out_iterator);
/* (Re)opens the iterator of input i. */
MICA_MUST_CHECK mica_status mica_iterator_open_input(mica_iterator *it, int32_t i);
/* The next element of input i. */
MICA_MUST_CHECK mica_status mica_iterator_pull(mica_iterator *it, int32_t i, mica_tf_value *out,
                                               bool *end);
/* The thread makes an element for this iterator: it would wait for itself. */
bool mica_iterator_is_inside(const mica_iterator *it, const void *thread_id);
void mica_values_release(mica_tf_value *values, int32_t n); /* and forgets them */
/* Retained copies of values. */
MICA_MUST_CHECK mica_status mica_values_copy(const mica_tf_value *values, int32_t n,
                                             mica_tf_value **out);

/* ---- meter.c: memory of elements that are kept
 * -------------------------------------------------*/

/* Counts what is kept, and asks now and then what is left: a buffer that would take all there is
 * ends with an error instead. */
typedef struct mica_data_meter {
    const char *who;    /* "BatchDataset"; NULL: what the message says in its place */
    uint64_t unchecked; /* bytes since it asked last */
    uint64_t content;   /* bytes of the elements themselves */
    bool is_copied;     /* at the end as much again is needed, for the elements side by side */
} mica_data_meter;

/* One element more, the n-th. RESOURCE_EXHAUSTED when there is too little left. */
MICA_MUST_CHECK mica_status mica_data_meter_add(mica_data_meter *meter, const mica_tf_value *row,
                                                int32_t width, int64_t n);
/* The same count; whether there is too little left. */
bool mica_data_meter_is_short(mica_data_meter *meter, const mica_tf_value *row, int32_t width);

/* ---- rows.c: elements that are kept -----------------------------------------------------------*/

/* Elements one after the other; it grows as they come, so that a huge size costs nothing. */
typedef struct mica_rows {
    mica_tf_value *values; /* row i begins at i * width */
    int64_t n, capacity;
    int32_t width;
    int64_t n_counted; /* by the meter */
    mica_data_meter meter;
} mica_rows;
/* Room for one more row, empty; the caller fills it and counts it in n. */
MICA_MUST_CHECK mica_status mica_rows_room(mica_rows *rows, mica_tf_value **out_row);
/* Pulls elements of input 0 until there are `most`, or no more of them. */
MICA_MUST_CHECK mica_status mica_rows_pull(mica_rows *rows, mica_iterator *it, int64_t most);
/* Lets go of the first rows. */
void mica_rows_drop(mica_rows *rows, int64_t count);
void mica_rows_deinit(mica_rows *rows);
/* A dataset of the values of one component of every stride-th row. */
MICA_MUST_CHECK mica_status mica_rows_dataset(const mica_rows *rows, int32_t component,
                                              int64_t stride, mica_dataset **out);

/* A dataset of the rows themselves, of so many values. */
MICA_MUST_CHECK mica_status mica_rows_elements(const mica_rows *rows, int32_t width,
                                               mica_dataset **out);
/* The rows of such a dataset, borrowed; NULL when it is another one. */
const mica_rows *mica_rows_of(const mica_dataset *dataset);

/* ---- elements.c: rows of values ---------------------------------------------------------------*/

/* The size of the first axis; INVALID_ARGUMENT for a scalar. */
MICA_MUST_CHECK mica_status mica_value_first_axis(const char *who, mica_tf_value value,
                                                  int64_t *out_size);
/* Index i along the first axis. */
MICA_MUST_CHECK mica_status mica_value_slice(mica_tf_value value, int64_t i, mica_tf_value *out);
/* n values of one shape along a new first axis; values[k * stride] is the k-th. */
MICA_MUST_CHECK mica_status mica_value_stack(const char *who, mica_device *device,
                                             const mica_tf_value *values, int64_t stride, int64_t n,
                                             mica_tf_value *out);

/* Calls a function with an element, for an iterator. */
typedef struct mica_data_call {
    mica_tf_graph *graph;    /* retained */
    mica_tf_value *captured; /* retained */
    int32_t n_captured;
} mica_data_call;
/* `owner`: the dataset whose function it is. */
MICA_MUST_CHECK mica_status mica_data_call_init(mica_data_call *call, mica_dataset *owner,
                                                const mica_dataset_function *function,
                                                int32_t n_components);
void mica_data_call_deinit(mica_data_call *call);
MICA_MUST_CHECK mica_status mica_data_call_run(const mica_data_call *call, mica_iterator *it,
                                               const mica_tf_value *element, int32_t n,
                                               mica_tf_value *out, int32_t n_out);
/* The same without an iterator, for jobs. */
MICA_MUST_CHECK mica_status mica_data_call_run_in(const mica_data_call *call, mica_device *device,
                                                  mica_tf_generators *generators,
                                                  const mica_tf_value *element, int32_t n,
                                                  mica_tf_value *out, int32_t n_out);
/* Whether calls on the elements of `input` may run side by side. */
bool mica_data_call_is_free(const mica_data_call *call, const mica_dataset *input);
/* The status of element `number` (from 0) in a stage; takes the given one. */
mica_status mica_data_element_status(const char *stage, int64_t number, mica_status status);

/* ---- jobs.c: work that runs side by side ------------------------------------------------------*/

/* Jobs of one stage: what they do is told here. */
typedef struct mica_data_board {
    mica_refcount references;
    mica_mutex lock;
    mica_condition changed;
    int32_t n_open; /* atomic; jobs that are not done */
} mica_data_board;
mica_data_board *mica_data_board_create(void); /* NULL: out of memory */
void mica_data_board_release(mica_data_board *board);

/* Begins a structure with what the job needs and makes. Whoever takes it, a thread of the pool or
 * the one that waits for it, runs it once. */
typedef struct mica_data_job {
    mica_refcount references;
    int32_t phase;                /* atomic; jobs.c */
    mica_data_board *board;       /* retained */
    struct mica_data_job *queued; /* of the pool: the next */
    void (*run)(struct mica_data_job *job);
    void (*destroy)(struct mica_data_job *job); /* frees it with what it holds */
} mica_data_job;
/* A job of `bytes`, zeroed but for its head; NULL: out of memory. */
mica_data_job *mica_data_job_create(mica_data_board *board, size_t bytes,
                                    void (*run)(mica_data_job *job),
                                    void (*destroy)(mica_data_job *job));
void mica_data_job_submit(mica_data_job *job);
bool mica_data_job_is_done(const mica_data_job *job);
/* It is done when this returns, or a status says why not: Ctrl-C, a fork. */
MICA_MUST_CHECK mica_status mica_data_job_wait(mica_data_job *job);
/* Waits for one of n (at least one) jobs, the first that is done, and says which. */
MICA_MUST_CHECK mica_status mica_data_job_wait_any(mica_data_job *const *jobs, int64_t n,
                                                   int64_t *out_which);
/* Lets go of a job, whose thread ends it when it has begun; NULL is fine. */
void mica_data_job_leave(mica_data_job *job);
/* Of prefetch.c: until the threads that iterators have left are gone. */
void mica_prefetch_wait_for_left(void);
/* How many run side by side when `asked` are wanted (-1: as many as seems good). */
int32_t mica_data_job_width(int64_t asked);

#endif
