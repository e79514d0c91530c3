/* runtime/executable.h: a compiled graph, and one run of it.
 *
 * An executable is immutable and any number of runs of it may be under way. A run holds all it
 * touches: input and output buffers, the arena, what callbacks and lists need. It is acquired
 * before the first command and given back after the last is done.
 */
#ifndef MICA_RUNTIME_EXECUTABLE_H
#define MICA_RUNTIME_EXECUTABLE_H

#include "compile/plan.h"
#include "runtime/buffer.h"
#include "runtime/event.h"
#include "runtime/list.h"
#include "runtime/tensor.h"

struct mica_executable {
    mica_refcount references;
    mica_device *device; /* retained */
    mica_graph *graph;   /* what is run; the interpreter's input on devices that have one */
    mica_plan *plan;     /* NULL on devices that interpret */
    mica_buffer *constants;
    int32_t n_inputs, n_outputs;
    mica_type *input_types, *output_types;
    bool cannot_fail;    /* no command can fail once the first has begun */
    bool is_small;       /* quicker done than handed to another thread */
    mica_run *spare_run; /* atomic; kept for the next run */
};

struct mica_run {
    mica_run *next;              /* in the stream's queue */
    mica_executable *executable; /* retained */
    mica_stream *stream;
    mica_event *event; /* NULL: inline, nobody asks */
    void (*completed)(void *context, mica_status status, double seconds);
    void *context;
    mica_buffer *arena;
    void *host;                      /* arguments and results of callbacks */
    mica_device_event *device_event; /* the last command; NULL on synchronous devices */
    bool started, timed;
    double start_time;
    mica_lists lists;
    mica_buffer **inputs, **outputs;
    mica_tensor **overwritten; /* per input: retained when its memory is an output's, else NULL */
    mica_event **pending;      /* per input: what its data waits for, retained, or NULL */
    mica_address *bases;
    mica_address *addresses; /* of one launch's operands and results */
};

/* The owner of the run's stream. true: the run is in flight and is ended by mica_run_finish. */
bool mica_run_issue(mica_run *run);
void mica_run_finish(mica_run *run);
/* All commands, in order. */
MICA_MUST_CHECK mica_status mica_run_execute(mica_run *run, mica_device_stream *handle);

#endif
