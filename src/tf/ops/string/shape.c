/* Shape functions of strings. */
#include "tf/shape_rules.h"

mica_status tf_shape_string_join(mica_tf_inference *c) {
    mica_tf_shape shape = {.rank = 0};
    bool is_known = true;
    for (int32_t i = 0; i < c->n_inputs; i++) {
        const mica_tf_shape *input = &c->inputs[i];
        if (input->rank == 0) continue;
        if (input->rank < 0)
            is_known = false;
        else if (shape.rank == 0)
            shape = *input;
        else if (!mica_tf_shape_merge(&shape, input, &shape))
            return MICA_INVALID("[StringJoin] Input shapes do not match: %s vs. %s",
                                mica_tf_shape_text(&shape).chars, mica_tf_shape_text(input).chars);
    }
    c->outputs[0] = shape.rank == 0 && !is_known ? mica_tf_unknown() : shape;
    return NULL;
}

mica_status tf_shape_substr(mica_tf_inference *c) {
    mica_tf_shape both;
    if (!mica_tf_shape_merge(&c->inputs[1], &c->inputs[2], &both))
        return MICA_INVALID("[Substr] pos and len must have the same shape, not %s and %s",
                            mica_tf_shape_text(&c->inputs[1]).chars,
                            mica_tf_shape_text(&c->inputs[2]).chars);
    if (!mica_tf_shape_broadcast(&c->inputs[0], &both, &c->outputs[0]))
        return MICA_INVALID("[Substr] Incompatible shapes: %s vs. %s",
                            mica_tf_shape_text(&c->inputs[0]).chars,
                            mica_tf_shape_text(&both).chars);
    return NULL;
}

mica_status tf_shape_string_split(mica_tf_inference *c) {
    if (c->inputs[0].rank > 1)
        return MICA_INVALID("[StringSplitV2] Shape must be rank 1 but is rank %d",
                            c->inputs[0].rank);
    c->outputs[0] = (mica_tf_shape){.rank = 2, .dims = {-1, 2}};
    c->outputs[1] = mica_tf_unknown_of_rank(1);
    c->outputs[2] = (mica_tf_shape){.rank = 1, .dims = {2}};
    return NULL;
}

mica_status tf_shape_unicode_decode(mica_tf_inference *c) {
    int64_t n = mica_tf_shape_elements(&c->inputs[0]);
    c->outputs[0] = (mica_tf_shape){.rank = 1, .dims = {n < 0 ? -1 : n + 1}};
    for (int32_t i = 1; i < c->n_outputs; i++) c->outputs[i] = mica_tf_unknown_of_rank(1);
    return NULL;
}

mica_status tf_shape_unicode_encode(mica_tf_inference *c) {
    int64_t n = c->inputs[1].rank == 1 ? c->inputs[1].dims[0] : -1;
    c->outputs[0] = (mica_tf_shape){.rank = 1, .dims = {n > 0 ? n - 1 : -1}};
    return NULL;
}

mica_status tf_shape_decode_raw(mica_tf_inference *c) {
    int64_t last = -1;
    bool known = false;
    if (c->n_inputs > 1) MICA_TRY(mica_tf_input_number(c, 1, &last, &known));
    if (known) {
        mica_dtype dtype = mica_tf_dtype_core((mica_tf_dtype)mica_tf_inference_int(c, "out_type"));
        int64_t size = dtype == MICA_DTYPE_COUNT ? 1 : (int64_t)mica_dtype_bytes(dtype);
        if (c->graph && last % size)
            return MICA_INVALID("[%s] fixed_length (%lld) must be a multiple of %lld, the size of "
                                "an element",
                                c->info->name, (long long)last, (long long)size);
        last = last > 0 ? last / size : -1; /* the op refuses the others */
    }
    if (c->inputs[0].rank < 0) return NULL;
    if (c->inputs[0].rank >= MICA_MAX_RANK)
        return MICA_INVALID("[%s] rank %d is too high", c->info->name, c->inputs[0].rank);
    c->outputs[0] = c->inputs[0];
    c->outputs[0].dims[c->outputs[0].rank++] = known ? last : -1;
    return NULL;
}

mica_status tf_shape_unique(mica_tf_inference *c) {
    if (c->inputs[0].rank > 1)
        return MICA_INVALID("[Unique] unique expects a 1D vector, not a tensor of shape %s",
                            mica_tf_shape_text(&c->inputs[0]).chars);
    c->outputs[0] = mica_tf_unknown_of_rank(1);
    c->outputs[1] = c->inputs[0];
    return NULL;
}

/* The shape of the keys, then that of a value, which the default has. */
mica_status tf_shape_table_find(mica_tf_inference *c) {
    const mica_tf_shape *keys = &c->inputs[1], *one = &c->inputs[2];
    if (keys->rank < 0 || one->rank < 0) return NULL;
    if (keys->rank + one->rank > MICA_MAX_RANK)
        return MICA_INVALID("[%s] the rank is too high", c->info->name);
    c->outputs[0] = *keys;
    for (int32_t i = 0; i < one->rank; i++) c->outputs[0].dims[c->outputs[0].rank++] = one->dims[i];
    return NULL;
}

mica_status tf_shape_table_export(mica_tf_inference *c) {
    c->outputs[0] = mica_tf_unknown_of_rank(1);
    return NULL;
}
