/* mlc/lower.h: a layer as nodes of an ir graph. The same code finds the sizes of a node's results
 * and builds the programs of a whole graph; where values come from is the caller's. */
#ifndef MICA_MLC_LOWER_H
#define MICA_MLC_LOWER_H

#include "base/arena.h"
#include "mica/nn.h"
#include "mlc/objects.h"

typedef struct mlc_lowering mlc_lowering;
struct mlc_lowering {
    mica_graph *g; /* errors stick to it */
    mica_arena arena;
    bool is_training;
    int64_t batch, full_batch; /* of declared inputs: now, and when they were built; 0: as built */
    mica_value step;           /* u32[1], the number of this execution; null outside training */
    /* The current value of a tensor that a layer holds. */
    mica_value (*value_of)(mlc_lowering *l, mlc_tensor *tensor);
    /* The value that the tensor has after this execution. */
    void (*update)(mlc_lowering *l, mlc_tensor *tensor, mica_value value);
};

/* Sources and labels of a node. */
typedef struct mlc_operands {
    const mica_value *sources, *labels;
    mlc_tensor *const *tensors; /* the sources as they were built: the batch is their own */
    int32_t n_sources, n_labels;
    int32_t place; /* of the layer in its graph: tells random layers apart */
} mlc_operands;

/* INVALID_ARGUMENT or UNSUPPORTED, with the layer's label and all shapes, unless the layer takes so
 * many sources of these types. */
MICA_MUST_CHECK mica_status mlc_check_operands(const mlc_layer *layer, mlc_tensors sources,
                                               mlc_tensors labels);
/* Appends the layer. The results are in l's arena; after an error there are none. */
void mlc_lower_layer(mlc_lowering *l, const mlc_layer *layer, const mlc_operands *operands,
                     mica_value **out_results, int32_t *out_n);

#endif
