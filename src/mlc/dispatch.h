/* mlc/dispatch.h: the thread that ends asynchronous executions.
 *
 * A run's completion is noted by whatever thread the runtime has; what follows (copying outputs,
 * looking at debug flags, calling the user's handler) happens here, on one thread, under no lock.
 * So a handler may use everything, also wait for executions: waiting on this thread ends others
 * meanwhile. */
#ifndef MICA_MLC_DISPATCH_H
#define MICA_MLC_DISPATCH_H

#include "mlc/graph.h"

/* An execution that has been started. */
typedef struct mlc_run {
    struct mlc_run *next;  /* in the queue */
    struct mlc_run *outer; /* whose handler waits for this one, on the same thread */
    mlc_graph *graph;      /* a reference */
    mlc_program_kind kind;
    uint64_t options;
    mlc_completion_handler handler;
    void *context;
    mica_status status; /* of the run */
    double seconds;
    int64_t batch;

    /* Outputs that are copied to the caller's memory; flags and tensors of debugged layers. */
    struct {
        mica_tensor *value;
        mlc_tensor_data *target;
    } * copies;
    struct {
        mica_tensor *value;
        int32_t node;
        bool is_gradient;
    } * flags;
    int32_t n_copies, n_flags;
    mlc_results results; /* for the handler */
} mlc_run;

/* Starts the thread when it does not run yet, and counts the run as pending. */
MICA_MUST_CHECK mica_status mlc_dispatch_expect(mlc_run *run);
/* It was not started after all. */
void mlc_dispatch_forget(mlc_run *run);
/* The run is complete: from any thread; needs no memory. */
void mlc_dispatch_complete(mlc_run *run);
/* Waits until nothing is pending but the handlers that this is called from; gives the first error.
 */
MICA_MUST_CHECK mica_status mlc_dispatch_wait(mlc_graph *graph);
/* Ends a run (execute.c): copies, checks, handler. The status is the execution's, or the handler's.
 */
MICA_MUST_CHECK mica_status mlc_run_finish(mlc_run *run);
void mlc_run_destroy(mlc_run *run);

#endif
