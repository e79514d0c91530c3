/* Counts of numbers: each is a place that its weight, or 1, is added at. */
#include <string.h>

#include "tf/lower_rules.h"
#include "tf/shape_rules.h"

static mica_status count_shape(mica_tf_inference *c, bool by_rows) {
    int64_t size;
    bool known;
    mica_tf_shape both, x = c->inputs[0];
    const mica_tf_shape *weights = &c->inputs[2], none = {.rank = 1, .dims = {0}};
    MICA_TRY(mica_tf_input_number(c, 1, &size, &known));
    if (known && size < 0)
        return MICA_INVALID("[%s] size (%lld) must be non-negative", c->info->name,
                            (long long)size);
    if (!mica_tf_shape_merge(weights, &x, &both) && mica_tf_shape_elements(weights) != 0 &&
        !mica_tf_shape_merge(weights, &none, &both))
        return MICA_INVALID("[%s] Input indices and weights must have the same size: %s and %s",
                            c->info->name, mica_tf_shape_text(&x).chars,
                            mica_tf_shape_text(weights).chars);
    if (by_rows && x.rank < 0) return NULL;
    c->outputs[0] = mica_tf_unknown_of_rank(by_rows ? 2 : 1);
    if (by_rows) c->outputs[0].dims[0] = x.dims[0];
    c->outputs[0].dims[by_rows] = known ? size : -1;
    return NULL;
}

mica_status tf_shape_bincount(mica_tf_inference *c) {
    return count_shape(c, false);
}

mica_status tf_shape_dense_bincount(mica_tf_inference *c) {
    int32_t rank = c->inputs[0].rank;
    if (rank == 0 || rank > 2)
        return MICA_INVALID("[%s] Shape must be at most rank 2, and at least 1, but is rank %d",
                            c->info->name, rank);
    return count_shape(c, rank != 1);
}

void tf_lower_bincount(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_tf_shape shape;
    mica_type x = *mica_tf_type(c, 0);
    mica_dtype dtype = mica_tf_type(c, 2)->dtype;
    bool weighted = mica_type_elements(mica_tf_type(c, 2)) > 0, is_binary = false;
    if (!mica_tf_result_dims(c, &shape)) return;
    for (int32_t i = 0; i < c->info->n_attrs; i++)
        if (strcmp(c->info->attrs[i].name, "binary_output") == 0)
            is_binary = c->attrs[i].as.integer != 0;
    mica_value zeros =
        mica_broadcast_to(g, mica_scalar(g, dtype, 0), (mica_ints){shape.dims, shape.rank});
    c->outputs[0] = zeros;
    if (mica_type_elements(mica_value_type(zeros)) == 0 || mica_type_elements(&x) == 0) return;
    if (shape.rank == 1) {
        x.dims[0] = mica_type_elements(&x);
        x.rank = 1;
    }
    mica_ints dims = {x.dims, x.rank};
    mica_value ones = mica_broadcast_to(g, mica_scalar(g, dtype, 1), dims);
    mica_value weights = weighted && !is_binary ? mica_reshape(g, c->inputs[2], dims) : ones;
    mica_ints rows = shape.rank == 2 ? MICA_INTS(0) : MICA_NO_INTS;
    c->outputs[0] = mica_scatter(g, zeros, mica_reshape(g, c->inputs[0], dims), weights,
                                 is_binary ? "max" : "add", MICA_NO_INTS, MICA_INTS(shape.rank - 1),
                                 rows, rows, MICA_INTS(shape.rank - 1), shape.rank, "fill");
}
