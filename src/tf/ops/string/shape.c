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

/* The pattern and what it is replaced by are one string each. */
mica_status tf_shape_regex(mica_tf_inference *c) {
    static const char *const names[] = {"Input", "Pattern", "Rewrite"};
    for (int32_t i = 1; i < c->n_inputs; i++)
        if (c->inputs[i].rank > 0)
            return MICA_INVALID("[%s] %s must be scalar, but received %s", c->info->name, names[i],
                                mica_tf_shape_text(&c->inputs[i]).chars);
    c->outputs[0] = c->inputs[0];
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

mica_status tf_shape_string_ngrams(mica_tf_inference *c) {
    for (int32_t i = 0; i < 2; i++)
        if (c->inputs[i].rank >= 0 && c->inputs[i].rank != 1)
            return MICA_INVALID("[StringNGrams] Shape must be rank 1 but is rank %d",
                                c->inputs[i].rank);
    c->outputs[0] = mica_tf_unknown_of_rank(1);
    c->outputs[1] = c->inputs[1];
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
    if (c->inputs[0].rank >= 0 && c->inputs[0].rank != 1)
        return MICA_INVALID("[%s] unique expects a 1D vector, not a tensor of shape %s",
                            c->info->name, mica_tf_shape_text(&c->inputs[0]).chars);
    c->outputs[0] = mica_tf_unknown_of_rank(1);
    c->outputs[1] = c->inputs[0];
    if (c->n_outputs > 2) c->outputs[2] = c->outputs[0];
    return NULL;
}

/* Along one axis, when it is known, the result is as long as there are slices. */
mica_status tf_shape_unique_along(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0], *axes = &c->inputs[1];
    int64_t axis;
    int32_t n = 0, at;
    if (axes->rank >= 0 && (axes->rank != 1 || axes->dims[0] > 1))
        return MICA_INVALID("[%s] axis expects a 1D vector of at most one number, not a tensor of "
                            "shape %s",
                            c->info->name, mica_tf_shape_text(axes).chars);
    c->outputs[0] = x->rank < 0 ? mica_tf_unknown() : mica_tf_unknown_of_rank(x->rank);
    c->outputs[1] = mica_tf_unknown_of_rank(1);
    if (c->n_outputs > 2) c->outputs[2] = c->outputs[1];
    if (axes->rank != 1 || axes->dims[0] < 0 || x->rank < 0) return NULL;
    if (axes->dims[0] == 0) {
        if (x->rank != 1)
            return MICA_INVALID("[%s] unique expects a 1D vector, not a tensor of shape %s: name "
                                "an axis",
                                c->info->name, mica_tf_shape_text(x).chars);
        c->outputs[1] = *x;
        return NULL;
    }
    if (!mica_tf_input_ints(c, 1, &axis, &n) || n != 1) return NULL;
    if (axis < -x->rank || axis >= x->rank)
        return MICA_INVALID("[%s] axis has to be between [0, %d), not %lld", c->info->name, x->rank,
                            (long long)axis);
    at = (int32_t)(axis < 0 ? axis + x->rank : axis);
    c->outputs[0] = *x;
    c->outputs[0].dims[at] = -1;
    c->outputs[1].dims[0] = x->dims[at];
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
