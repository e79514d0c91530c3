/* Shape functions of pictures that are made larger or smaller. */
#include <string.h>

#include "tf/shape_rules.h"

/* Places are made for each pixel of an axis before anything is computed. */
enum { MOST_PIXELS = 1 << 24 };

static mica_status check_pictures(const mica_tf_inference *c, const mica_tf_shape *x) {
    if (x->rank >= 0 && x->rank != 4)
        return MICA_INVALID("[%s] input must be 4-dimensional: %s", c->info->name,
                            mica_tf_shape_text(x).chars);
    for (int32_t i = 1; i < 3 && x->rank == 4; i++)
        if (x->dims[i] == 0 && !c->graph)
            return MICA_INVALID("[%s] input image must be of non-zero size: %s", c->info->name,
                                mica_tf_shape_text(x).chars);
    for (int32_t i = 1; i < 3 && x->rank == 4; i++)
        if (x->dims[i] > MOST_PIXELS)
            return MICA_INVALID("[%s] pictures of at most %d pixels are possible: %s",
                                c->info->name, MOST_PIXELS, mica_tf_shape_text(x).chars);
    return NULL;
}

static mica_status check_attributes(const mica_tf_inference *c) {
    bool is_centered = false;
    for (int32_t i = 0; i < c->info->n_attrs; i++)
        if (strcmp(c->info->attrs[i].name, "half_pixel_centers") == 0)
            is_centered = c->attrs[i].as.integer != 0;
    if (is_centered && !c->graph && mica_tf_inference_int(c, "align_corners"))
        return MICA_INVALID("[%s] If half_pixel_centers is True, align_corners must be False.",
                            c->info->name);
    return NULL;
}

/* Height and width from input i; what is not known is -1. */
static mica_status read_size(const mica_tf_inference *c, int32_t i, int64_t out[2]) {
    int64_t sizes[MICA_MAX_RANK * 4];
    int32_t n;
    const mica_tf_shape *shape = &c->inputs[i];
    const mica_tf_shape pair = {.rank = 1, .dims = {2}};
    mica_tf_shape both;
    out[0] = out[1] = -1;
    if (!mica_tf_shape_merge(shape, &pair, &both))
        return MICA_INVALID("[%s] shape_t must have two elements: %s", c->info->name,
                            mica_tf_shape_text(shape).chars);
    if (!mica_tf_input_ints(c, i, sizes, &n) || n != 2) return NULL;
    for (int32_t k = 0; k < 2; k++) {
        if (sizes[k] == MICA_TF_UNKNOWN_INT) continue;
        if (sizes[k] <= 0 && !c->graph)
            return MICA_INVALID("[%s] output dimensions must be positive: %lld and %lld",
                                c->info->name, (long long)sizes[0], (long long)sizes[1]);
        if (sizes[k] > MOST_PIXELS)
            return MICA_INVALID("[%s] %lld pixels are asked for, at most %d are possible",
                                c->info->name, (long long)sizes[k], MOST_PIXELS);
        if (sizes[k] > 0) out[k] = sizes[k];
    }
    return NULL;
}

mica_status tf_shape_resize(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0];
    int64_t size[2];
    MICA_TRY(check_pictures(c, x));
    MICA_TRY(check_attributes(c));
    MICA_TRY(read_size(c, 1, size));
    c->outputs[0] = x->rank < 0 ? mica_tf_unknown_of_rank(4) : *x;
    c->outputs[0].dims[1] = size[0];
    c->outputs[0].dims[2] = size[1];
    return NULL;
}

/* The original picture, input 1, has the result's shape. */
mica_status tf_shape_resize_grad(mica_tf_inference *c) {
    mica_tf_shape dy = c->inputs[0], x = c->inputs[1];
    MICA_TRY(check_pictures(c, &dy));
    MICA_TRY(check_pictures(c, &x));
    MICA_TRY(check_attributes(c));
    c->outputs[0] = x.rank < 0 ? mica_tf_unknown_of_rank(4) : x;
    for (int32_t i = 0; i < 4 && dy.rank == 4 && x.rank == 4; i += 3)
        if (dy.dims[i] >= 0 && x.dims[i] >= 0 && dy.dims[i] != x.dims[i])
            return MICA_INVALID("[%s] gradients %s and pictures %s have different batches or "
                                "channels",
                                c->info->name, mica_tf_shape_text(&dy).chars,
                                mica_tf_shape_text(&x).chars);
    return NULL;
}

/* Height and width are input 1. */
mica_status tf_shape_resize_nearest_grad(mica_tf_inference *c) {
    return tf_shape_resize(c);
}

/* Inputs 2 and 3: a scale and a translation for height and width. */
static mica_status check_pairs(const mica_tf_inference *c) {
    static const char *const names[] = {"scale", "translation"};
    const mica_tf_shape pair = {.rank = 1, .dims = {2}};
    mica_tf_shape both;
    for (int32_t i = 0; i < 2; i++)
        if (!mica_tf_shape_merge(&c->inputs[2 + i], &pair, &both))
            return MICA_INVALID("[%s] %s must have two elements: %s", c->info->name, names[i],
                                mica_tf_shape_text(&c->inputs[2 + i]).chars);
    return NULL;
}

mica_status tf_shape_scale_and_translate(mica_tf_inference *c) {
    MICA_TRY(check_pairs(c));
    return tf_shape_resize(c);
}

mica_status tf_shape_scale_and_translate_grad(mica_tf_inference *c) {
    MICA_TRY(check_pairs(c));
    return tf_shape_resize_grad(c);
}
