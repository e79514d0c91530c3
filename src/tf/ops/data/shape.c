/* Shape functions of iterators and optional values. */
#include "tf/shape_rules.h"

mica_status tf_shape_components(mica_tf_inference *c) {
    const mica_tf_attr *shapes = mica_tf_attr_find(c->info, c->attrs, "output_shapes");
    if (shapes->n != c->n_outputs)
        return MICA_INVALID("[%s] %d shapes for %d components", c->info->name, shapes->n,
                            c->n_outputs);
    for (int32_t i = 0; i < c->n_outputs; i++) c->outputs[i] = shapes->as.shapes[i];
    return NULL;
}
