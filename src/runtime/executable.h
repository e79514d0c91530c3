/* runtime/executable.h: a compiled graph, and one run of it.
 *
 * An executable is immutable, but for one thing: a device that generates code may give it a second
 * program, made in the background, which later runs take. It gives the same bits as the first. Any
 * number of runs may be under way. A run holds all it
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

/* One way to run the graph. */
typedef struct mica_program {
    mica_device *device; /* the executable's */
    mica_graph *graph;   /* what is run; the interpreter's input on devices that have one */
    mica_plan *plan;     /* NULL on devices that interpret */
    mica_buffer *constants;
    mica_device *reference; /* retained: what kernels are compared with; NULL: they are not */
    mica_unit *unit;        /* generated code, or NULL */
    mica_node **generated;  /* the nodes it computes, in the unit's order */
    int32_t n_generated;
    bool cannot_fail;    /* no command can fail once the first has begun */
    bool is_small;       /* quicker done than handed to another thread */
    mica_run *spare_run; /* atomic; kept for the next run */
    mica_buffer *arena;  /* of the runs under way that share one; the device's lock guards it */
    int32_t n_sharing;   /* such runs, each with a reference */
} mica_program;

struct mica_executable {
    mica_refcount references;
    mica_device *device; /* retained */
    int32_t n_inputs, n_outputs;
    mica_type *input_types, *output_types;
    mica_program first;   /* the built-in kernels */
    mica_program *second; /* atomic; with generated ones, once they are there */
    mica_graph *source;   /* what the second is made from, until it is */
    char *selection;      /* of passes, or NULL */
    int32_t runs;         /* atomic; counted until the second is asked for */
};

static inline mica_program *mica_executable_program(mica_executable *exe) {
    mica_program *second = __atomic_load_n(&exe->second, __ATOMIC_ACQUIRE);
    return second ? second : &exe->first;
}
/* Makes the second program, once; the executable works without it too. */
MICA_MUST_CHECK mica_status mica_executable_compile_second(mica_executable *exe,
                                                           bool in_background);

struct mica_run {
    mica_run *next;              /* in the stream's queue */
    mica_executable *executable; /* retained */
    mica_program *program;
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
