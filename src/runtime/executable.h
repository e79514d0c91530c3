/* runtime/executable.h: a compiled graph, and one run of it.
 *
 * An executable is immutable, but for one thing: a device that generates code may give it a second
 * program, made in the background, which later runs take. It gives the same bits as the first. Any
 * number of runs may be under way. A run holds all it
 * touches: input and output buffers, the arena, what callbacks and lists need. It is acquired
 * before the first command and given back when the last was issued; until that is done, the run
 * keeps the executable, and the tensors that it was given to overwrite, should it fail.
 */
#ifndef MICA_RUNTIME_EXECUTABLE_H
#define MICA_RUNTIME_EXECUTABLE_H

#include "compile/plan.h"
#include "dist/nodes.h"
#include "runtime/buffer.h"
#include "runtime/event.h"
#include "runtime/list.h"
#include "runtime/tensor.h"

typedef struct mica_replay mica_replay;
typedef struct mica_recorded mica_recorded;

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
    bool in_order;       /* its runs never overlap with others of their stream */
    bool cannot_fail;    /* no command can fail once the first has begun */
    bool may_donate;     /* outputs may take donated inputs' memory */
    bool is_small;       /* quicker done than handed to another thread */
    mica_run *spare_run; /* atomic; kept for the next run */
    /* Of the runs under way, on devices that compute on the host: what one touched is in the caches
     * of those that run it next. Beside the host all programs share the device's. */
    mica_arena_share arena;
    mica_list_rooms lists; /* what they took in the runs so far */
    mica_replay *replay;   /* NULL: its commands are walked in every run */
    int64_t report;        /* its number there, or 0: none is asked for (report/report.h) */
} mica_program;

struct mica_executable {
    mica_refcount references;
    mica_device *device; /* retained */
    dist_axis axis;      /* what its collectives are bound to: retained, and its own copy */
    int32_t n_inputs, n_outputs;
    mica_type *input_types, *output_types;
    mica_program first;               /* the built-in kernels */
    mica_program *second;             /* atomic; with generated ones, once they are there */
    mica_graph *source;               /* what the second is made from, until it is */
    char *selection;                  /* of passes, or NULL */
    int32_t runs;                     /* atomic; counted until the second is asked for */
    bool is_direct;                   /* see direct.h */
    size_t result_bytes, arena_bytes; /* of a direct one */
};

static inline mica_program *mica_executable_program(mica_executable *exe) {
    mica_program *second = __atomic_load_n(&exe->second, __ATOMIC_ACQUIRE);
    return second ? second : &exe->first;
}
/* Says what the program consists of, for the report. */
void mica_record_program(mica_program *program);
/* Makes the second program, once; the executable works without it too. */
MICA_MUST_CHECK mica_status mica_executable_compile_second(mica_executable *exe,
                                                           bool in_background);

struct mica_run {
    mica_run *next;              /* in a list of the stream's */
    mica_executable *executable; /* retained */
    mica_program *program;
    mica_stream *stream;
    mica_event *event; /* NULL: inline, no waiter */
    void (*completed)(void *context, mica_status status, double seconds);
    void *context;
    mica_buffer *arena;
    mica_arena_share *share;         /* that the arena is leased from; NULL: it is the run's own */
    mica_recorded *recorded;         /* what was replayed, retained, or NULL */
    void *host;                      /* arguments and results of callbacks */
    mica_device_event *device_event; /* the last command; NULL on synchronous devices */
    bool started, timed;
    bool is_kept; /* it is finished, not left half way: it is short, or may overwrite inputs */
    double start_time, seconds;
    mica_status status; /* of a run that has ended and whose callback is yet to be called */
    uint64_t ticket;    /* 0: not in flight */
    mica_lists lists;
    mica_buffer **inputs, **outputs;
    mica_tensor **overwritten; /* per input: retained when its memory is an output's, else NULL */
    mica_event **pending;      /* per input: what its data waits for, retained, or NULL */
    mica_address *bases;
    mica_address *addresses; /* of one launch's operands and results */
};

/* The owner of the run's stream: issues all commands. The run has then ended or is in flight. */
void mica_run_issue(mica_run *run);
/* Waits for a run in flight; answers how it went. */
MICA_MUST_CHECK mica_status mica_run_wait(mica_run *run);
/* After that. */
void mica_run_end(mica_run *run, mica_status status);
/* Calls the callback of a run that has ended, and frees the run. */
void mica_run_call_back(mica_run *run);
/* All commands, in order. */
MICA_MUST_CHECK mica_status mica_run_execute(mica_run *run, mica_device_stream *handle);
/* Commands first to end - 1 of the plan's outermost list, over the addresses in run->bases. */
MICA_MUST_CHECK mica_status mica_run_walk(mica_run *run, mica_device_stream *handle, int32_t first,
                                          int32_t end);
/* The addresses of arena, constants, inputs and outputs. */
void mica_run_set_bases(mica_run *run);

#endif
