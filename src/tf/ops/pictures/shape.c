/* Shape functions of pictures. */
#include <string.h>

#include "tf/shape_rules.h"

/* ---- geometry ---------------------------------------------------------------------------------*/

static bool is_one_of(const char *text, const char *const *names, int32_t n) {
    if (!text) return false;
    for (int32_t i = 0; i < n; i++)
        if (!strcmp(text, names[i])) return true;
    return false;
}

static mica_status check_modes(const mica_tf_inference *c) {
    static const char *const interpolations[] = {"NEAREST", "BILINEAR"};
    static const char *const fills[] = {"CONSTANT", "REFLECT", "WRAP", "NEAREST"};
    const char *interpolation = mica_tf_attr_find(c->info, c->attrs, "interpolation")->as.string;
    const char *fill = mica_tf_attr_find(c->info, c->attrs, "fill_mode")->as.string;
    if (!is_one_of(interpolation, interpolations, 2))
        return MICA_INVALID("[%s] Invalid interpolation %.100s. Supported types: NEAREST, BILINEAR",
                            c->info->name, interpolation ? interpolation : "");
    if (!is_one_of(fill, fills, 4))
        return MICA_INVALID("[%s] Invalid mode %.100s. Supported types: REFLECT, WRAP, CONSTANT, "
                            "NEAREST",
                            c->info->name, fill ? fill : "");
    return NULL;
}

/* A vector of two positive sizes. */
static mica_status read_sizes(const mica_tf_inference *c, int32_t i, int64_t *out) {
    int64_t sizes[MICA_MAX_RANK * 4];
    int32_t n;
    const mica_tf_shape *shape = &c->inputs[i];
    out[0] = out[1] = -1;
    if (shape->rank >= 0 && shape->rank != 1)
        return MICA_INVALID("[%s] output shape must be 1-dimensional: %s", c->info->name,
                            mica_tf_shape_text(shape).chars);
    if (shape->rank == 1 && shape->dims[0] >= 0 && shape->dims[0] != 2)
        return MICA_INVALID("[%s] output shape must have two elements: %s", c->info->name,
                            mica_tf_shape_text(shape).chars);
    if (!mica_tf_input_ints(c, i, sizes, &n) || n != 2) return NULL;
    for (int32_t k = 0; k < 2; k++) {
        if (sizes[k] == MICA_TF_UNKNOWN_INT) continue;
        if (sizes[k] <= 0 && !c->graph)
            return MICA_INVALID("[%s] output dimensions must be positive, not %lld and %lld",
                                c->info->name, (long long)sizes[0], (long long)sizes[1]);
        if (sizes[k] > 0) out[k] = sizes[k];
    }
    return NULL;
}

static bool differs(int64_t size, int64_t wanted) {
    return size >= 0 && wanted >= 0 && size != wanted;
}

/* What TensorFlow refuses when the op runs is accepted while a graph is built. */
mica_status tf_shape_projective_transform(mica_tf_inference *c) {
    const mica_tf_shape *images = &c->inputs[0], *maps = &c->inputs[1];
    int64_t sizes[2], n = images->rank == 4 ? images->dims[0] : -1;
    MICA_TRY(check_modes(c));
    if (images->rank >= 0 && images->rank != 4)
        return MICA_INVALID("[%s] Input images must have rank 4, not the shape %s", c->info->name,
                            mica_tf_shape_text(images).chars);
    bool is_wrong = !c->graph && maps->rank >= 0 && maps->rank != 2;
    if (!c->graph && maps->rank == 2)
        is_wrong = differs(maps->dims[1], 8) || (maps->dims[0] != 1 && differs(maps->dims[0], n));
    if (is_wrong)
        return MICA_INVALID("[%s] Input transform should be num_images x 8 or 1 x 8: %s for images "
                            "%s",
                            c->info->name, mica_tf_shape_text(maps).chars,
                            mica_tf_shape_text(images).chars);
    if (c->n_inputs > 3 && !c->graph && c->inputs[3].rank > 0)
        return MICA_INVALID("[%s] fill_value must be a scalar, not of shape %s", c->info->name,
                            mica_tf_shape_text(&c->inputs[3]).chars);
    MICA_TRY(read_sizes(c, 2, sizes));
    int64_t depth = images->rank == 4 ? images->dims[3] : -1;
    c->outputs[0] = (mica_tf_shape){.rank = 4, .dims = {n, sizes[0], sizes[1], depth}};
    return NULL;
}

/* ---- files ------------------------------------------------------------------------------------*/

static mica_status check_scalar(const mica_tf_inference *c, int32_t i) {
    if (c->inputs[i].rank <= 0) return NULL;
    return MICA_INVALID("[%s] `%s` must be scalar but got shape %s", c->info->name,
                        c->info->inputs[i].name, mica_tf_shape_text(&c->inputs[i]).chars);
}

/* The value of an attribute that some of the rows have. */
static int64_t attr_or(const mica_tf_inference *c, const char *name, int64_t otherwise) {
    for (int32_t i = 0; i < c->info->n_attrs; i++)
        if (!strcmp(c->info->attrs[i].name, name)) return c->attrs[i].as.integer;
    return otherwise;
}

static mica_status crop_sizes(const mica_tf_inference *c, mica_tf_shape *out) {
    int64_t window[MICA_MAX_RANK * 4];
    int32_t n;
    const mica_tf_shape *shape = &c->inputs[1];
    if (shape->rank >= 0 && shape->rank != 1)
        return MICA_INVALID("[%s] crop_window must be 1-D, got shape %s", c->info->name,
                            mica_tf_shape_text(shape).chars);
    if (shape->rank == 1 && shape->dims[0] >= 0 && shape->dims[0] != 4)
        return MICA_INVALID("[%s] crop_size must have four elements, not the shape %s",
                            c->info->name, mica_tf_shape_text(shape).chars);
    if (!mica_tf_input_ints(c, 1, window, &n) || n != 4) return NULL;
    for (int32_t k = 0; k < 2; k++)
        if (window[2 + k] > 0) out->dims[k] = window[2 + k];
    return NULL;
}

mica_status tf_shape_decode_picture(mica_tf_inference *c) {
    int64_t channels = attr_or(c, "channels", 3);
    MICA_TRY(check_scalar(c, 0));
    c->outputs[0] = (mica_tf_shape){.rank = 3, .dims = {-1, -1, channels > 0 ? channels : -1}};
    if (!strcmp(c->info->name, "DecodeGif"))
        c->outputs[0] = (mica_tf_shape){.rank = 4, .dims = {-1, -1, -1, 3}};
    if (attr_or(c, "expand_animations", 0)) c->outputs[0] = mica_tf_unknown();
    return c->n_inputs > 1 ? crop_sizes(c, &c->outputs[0]) : NULL;
}

mica_status tf_shape_jpeg_shape(mica_tf_inference *c) {
    c->outputs[0] = (mica_tf_shape){.rank = 1, .dims = {3}};
    return check_scalar(c, 0);
}

mica_status tf_shape_encode_png(mica_tf_inference *c) {
    const mica_tf_shape *image = &c->inputs[0];
    if (image->rank < 0) return NULL;
    if (image->rank < 3)
        return MICA_INVALID("[EncodePng] images must be at least rank 3: %s",
                            mica_tf_shape_text(image).chars);
    c->outputs[0] = *image;
    c->outputs[0].rank -= 3;
    return NULL;
}

mica_status tf_shape_encode_jpeg(mica_tf_inference *c) {
    const mica_tf_shape *image = &c->inputs[0];
    c->outputs[0] = (mica_tf_shape){.rank = 0};
    if (image->rank >= 0 && image->rank != 3)
        return MICA_INVALID("[%s] image must be 3-dimensional: %s", c->info->name,
                            mica_tf_shape_text(image).chars);
    return c->n_inputs > 1 ? check_scalar(c, 1) : NULL;
}

mica_status tf_shape_decode_wav(mica_tf_inference *c) {
    int64_t channels = mica_tf_inference_int(c, "desired_channels");
    int64_t samples = mica_tf_inference_int(c, "desired_samples");
    c->outputs[0] = (mica_tf_shape){
        .rank = 2, .dims = {samples < 0 ? -1 : samples, channels < 0 ? -1 : channels}};
    c->outputs[1] = (mica_tf_shape){.rank = 0};
    return check_scalar(c, 0);
}

mica_status tf_shape_encode_wav(mica_tf_inference *c) {
    const mica_tf_shape *audio = &c->inputs[0];
    c->outputs[0] = (mica_tf_shape){.rank = 0};
    if (audio->rank >= 0 && audio->rank != 2)
        return MICA_INVALID("[EncodeWav] audio must be 2-dimensional: %s",
                            mica_tf_shape_text(audio).chars);
    return check_scalar(c, 1);
}
