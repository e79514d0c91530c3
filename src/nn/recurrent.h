/* nn/recurrent.h: what the loops over time of recurrent layers share. */
#ifndef MICA_NN_RECURRENT_H
#define MICA_NN_RECURRENT_H

#include "nn/compose.h"

/* One step of a loop: builds in body from its parameters, writes results (carry first). */
typedef void (*mica_nn_step)(mica_graph *body, const mica_value *in, int64_t hidden,
                             mica_value *out);

/* A scan over time: consts constants, carries of (N, H), and `steps` values (T, ...) that are read
 * step by step. */
typedef struct mica_nn_loop {
    const char *name;
    int32_t consts, carries, steps, results;
    mica_nn_step build;
    bool reverse;
} mica_nn_loop;

void mica_nn_loop_over_time(mica_graph *g, const mica_nn_loop *loop, const mica_value *operands,
                            mica_value *out);

/* Elements of gate i of (..., n H). */
mica_value mica_nn_gate(mica_graph *g, mica_value x, int32_t axis, int32_t i, int64_t hidden);
/* What each step began with: `first` (N, H), then the steps (T, N, H) without the last. */
mica_value mica_nn_before_steps(mica_graph *g, mica_value first, mica_value steps, bool reverse);

#endif
