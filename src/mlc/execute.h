/* mlc/execute.h: one execution. */
#ifndef MICA_MLC_EXECUTE_H
#define MICA_MLC_EXECUTE_H

#include "mlc/dispatch.h"

MICA_MUST_CHECK mica_status mlc_execute(mlc_graph *graph, mlc_program_kind kind,
                                        const mlc_execution *execution);

/* Data that goes to tensors by name (bind.c). */
typedef struct mlc_binding {
    mlc_tensor *tensor;
    mlc_tensor_data *data; /* borrowed */
    mica_tensor *value;    /* a view of it; a reference until it is committed */
} mlc_binding;
typedef struct mlc_bindings {
    mlc_binding *data;
    int32_t n;
} mlc_bindings;

/* Views of all the data; nothing is bound yet. Lists of `execution` that this graph has no
 * declarations for are errors. */
MICA_MUST_CHECK mica_status mlc_bindings_make(const mlc_graph *graph,
                                              const mlc_execution *execution, int64_t batch,
                                              mlc_bindings *out_bindings);
/* One item, for a tensor. */
MICA_MUST_CHECK mica_status mlc_binding_make(const char *name, mlc_tensor *tensor,
                                             mlc_tensor_data *data, mlc_device *device,
                                             int64_t batch, int64_t full_batch,
                                             mlc_binding *out_binding);
/* With the lock held: the tensors have these values from now on. */
void mlc_bindings_commit(mlc_bindings *bindings, mlc_device *device);
void mlc_bindings_deinit(mlc_bindings *bindings);
/* The type of a tensor with a batch. */
mica_type mlc_batch_type(const mlc_tensor *tensor, int64_t batch, int64_t full_batch);

#endif
