/* tests/support/golden_runs.h: running graphs on numbers, and the graphs of the golden values'
 * cases. */
#ifndef MICA_TESTS_GOLDEN_RUNS_H
#define MICA_TESTS_GOLDEN_RUNS_H

#include "mica/runtime.h"
#include "support/golden.h"

enum { GOLDEN_MOST = 256 };

/* A compiled graph. */
typedef struct program {
    mica_device *device;
    mica_executable *executable;
    int32_t n_inputs, n_outputs;
    mica_type inputs[GOLDEN_MOST], outputs[GOLDEN_MOST];
} program;

/* p is zero at first, and is deinitialised also after a failure. */
mica_status program_create(program *p, mica_graph *g, const char *device);
void program_deinit(program *p);
/* Numbers in, numbers out, converted to and from the dtypes; the caller owns all the memory. */
mica_status program_run(const program *p, double *const *inputs, double **outputs);
void program_alloc(const program *p, double **outputs);
void program_free(const program *p, double **outputs);

/* A case with a graph: its operands are parameters, its function is built on them. */
typedef struct trial {
    const golden_case *c;
    mica_dtype dtype; /* of what is f32 in the golden values */
    mica_graph *g;
    mica_value values[GOLDEN_MOST], results[GOLDEN_RESULTS];
    int32_t n_results;
    double *inputs[GOLDEN_MOST]; /* of the graph's parameters, in order; borrowed */
    int32_t n_inputs;
} trial;

mica_status trial_begin(trial *t, const golden_case *c, mica_dtype dtype);
/* One more parameter of the graph, with this tensor's numbers. */
mica_value trial_parameter(trial *t, const golden_tensor *tensor);
/* Appends the gradients of sum(results cotangents); returns how many, and of which `grad.*`. The
 * operands come too when `inputs` is given. */
int32_t trial_gradients(trial *t, const golden_tensor **found, mica_value *inputs,
                        mica_value *gradients);
/* Reports the first element with |a - b| > tolerance (1 + |b|). */
void trial_compare(const trial *t, const char *what, const double *a, const double *b, int64_t n,
                   double tolerance);

#endif
