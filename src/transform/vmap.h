/* transform/vmap.h: batching.
 *
 * Inside the pass a mapped value has its batch axis first; mica_vmap moves axes at the borders. A
 * rule gets the operands in the new graph, each with a flag, and gives results with flags. It is
 * asked only when an operand is mapped or the op cares about the axis itself (collectives of this
 * axis, host calls, regions with such ops inside); other nodes are copied. */
#ifndef MICA_TRANSFORM_VMAP_H
#define MICA_TRANSFORM_VMAP_H

#include "transform/transform.h"

typedef struct mica_batched {
    mica_value value;
    bool mapped;
} mica_batched;

typedef struct mica_batch_pass {
    mica_transform *t;
    mica_graph *g; /* the new graph */
    int64_t size;
    const char *axis_name; /* NULL: none */
} mica_batch_pass;

/* x with a leading batch axis, repeated when it has none. */
mica_value mica_mapped(mica_batch_pass *pass, mica_batched x);
/* The type with a leading batch axis; of a list: of its elements. */
mica_type mica_mapped_type(const mica_batch_pass *pass, const mica_type *type);
/* Moves an axis of x. */
mica_value mica_move_axis(mica_graph *g, mica_value x, int32_t from, int32_t to);

/* A region for batched parameters. mapped[i]: parameter i is. want[j]: output j is to be mapped
 * even when it does not vary (NULL: none); out_mapped[j] says whether it is. sum[j] (NULL: none):
 * output j is to be summed over the batch when it varies. Each such region is made once per pass.
 */
mica_graph *mica_vmap_region(mica_batch_pass *pass, mica_graph *f, const bool *mapped,
                             const bool *want, const bool *sum, bool *out_mapped);

/* The op, one example after the other: right for every op, and in order. Results are mapped. */
void mica_vmap_by_scan(mica_batch_pass *pass, const mica_node *n, const mica_batched *x,
                       mica_batched *y);

/* dynamic_slice and dynamic_update_slice with mapped starts, as gather and scatter. */
void mica_vmap_slices(mica_batch_pass *pass, const mica_node *n, const mica_batched *x,
                      mica_batched *y);
void mica_vmap_slice_updates(mica_batch_pass *pass, const mica_node *n, const mica_batched *x,
                             mica_batched *y);

#endif
