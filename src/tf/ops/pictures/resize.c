/* Lowerings of pictures that are made larger or smaller, as TensorFlow's kernels do it: where a
 * pixel of the result lies between those of a picture is computed in float32, an axis at a time.
 * All of it follows from sizes and attributes, so places and weights are constants of the graph. */
#include <float.h>
#include <math.h>

#include "mica/nn.h"
#include "tf/lower_rules.h"

typedef struct scaling {
    float scale; /* pixels of the picture to one of the result */
    bool is_centered;
} scaling;

static scaling scaling_of(const mica_tf_lowering *c, int64_t size, int64_t wanted) {
    bool aligns = mica_tf_lowering_int(c, "align_corners") != 0, is_centered = false;
    for (int32_t i = 0; i < c->info->n_attrs; i++)
        if (c->info->attrs[i].name[0] == 'h') is_centered = c->attrs[i].as.integer != 0;
    bool corners = aligns && wanted > 1;
    float scale = corners ? (float)(size - 1) / (float)(wanted - 1) : (float)size / (float)wanted;
    return (scaling){scale, is_centered};
}

static float place_of(const scaling *s, int64_t i) {
    return s->is_centered ? ((float)i + 0.5f) * s->scale - 0.5f : (float)i * s->scale;
}

static int64_t bound(int64_t place, int64_t size) {
    return place < 0 ? 0 : place >= size ? size - 1 : place;
}

/* ---- values of the graph ----------------------------------------------------------------------*/

/* The pixels at places along an axis, which are within it. */
static mica_value pixels_at(mica_graph *g, mica_value x, int32_t axis, const int64_t *places,
                            int64_t n) {
    if (mica_value_is_null(x)) return MICA_NULL_VALUE;
    mica_type type = *mica_value_type(x), vector = mica_type_make(MICA_DTYPE_i64, MICA_INTS(n));
    int64_t sizes[MICA_MAX_RANK], offset[MICA_MAX_RANK];
    int32_t n_offset = 0;
    for (int32_t i = 0; i < type.rank; i++) {
        sizes[i] = i == axis ? 1 : type.dims[i];
        if (i != axis) offset[n_offset++] = i;
    }
    mica_value indices = mica_constant(g, (mica_data){&vector, places});
    return mica_gather(g, x, indices, (mica_ints){offset, n_offset}, MICA_INTS(axis), MICA_NO_INTS,
                       MICA_NO_INTS, MICA_INTS(axis), 1, (mica_ints){sizes, type.rank}, "clip");
}

/* A number for each place along an axis of something like x. */
static mica_value along(mica_graph *g, mica_value x, int32_t axis, const float *numbers,
                        int64_t n) {
    const mica_type *type = mica_value_type(x);
    mica_type vector = mica_type_make(MICA_DTYPE_f32, MICA_INTS(n));
    if (!type) return MICA_NULL_VALUE;
    return mica_broadcast(g, mica_constant(g, (mica_data){&vector, numbers}),
                          (mica_ints){type->dims, type->rank}, MICA_INTS(axis));
}

/* ---- one axis ---------------------------------------------------------------------------------*/

enum { TAPS = 4 };

/* For each pixel of the result: places in the picture, and what each counts. */
typedef struct taps {
    int32_t n;
    int64_t *places[TAPS];
    float *weights[TAPS];
} taps;

typedef void (*tap_function)(const scaling *s, int64_t size, int64_t i, taps *t);

static void find_linear(const scaling *s, int64_t size, int64_t i, taps *t) {
    float place = place_of(s, i), low = floorf(place);
    t->places[0][i] = bound((int64_t)low, size);
    t->places[1][i] = bound((int64_t)ceilf(place), size);
    t->weights[1][i] = place - low;
}

/* Keys' cubic, tabulated at 1,024 places between two pixels. */
static float cubic(float a, float x) {
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static void find_cubic(const scaling *s, int64_t size, int64_t i, taps *t) {
    float a = s->is_centered ? -0.5f : -0.75f, place = place_of(s, i), low = floorf(place);
    float step = (float)lrintf((place - low) * 1024) / 1024, sum = 0;
    const float apart[TAPS] = {step + 1, step, 1 - step, 2 - step};
    for (int32_t k = 0; k < TAPS; k++) {
        int64_t wanted = (int64_t)low + k - 1;
        t->places[k][i] = bound(wanted, size);
        bool counts = !s->is_centered || t->places[k][i] == wanted;
        t->weights[k][i] = counts ? cubic(a, apart[k]) : 0;
        sum += t->weights[k][i];
    }
    if (s->is_centered && fabsf(sum) >= 1000 * FLT_MIN)
        for (int32_t k = 0; k < TAPS; k++) t->weights[k][i] /= sum;
}

static mica_value apply(mica_tf_lowering *c, mica_value x, int32_t axis, const taps *t, int64_t n) {
    mica_graph *g = c->g;
    mica_value parts[TAPS];
    for (int32_t k = 0; k < t->n; k++) parts[k] = pixels_at(g, x, axis, t->places[k], n);
    if (t->n == 2) {
        mica_value rise = mica_sub(g, parts[1], parts[0]);
        rise = mica_mul(g, rise, along(g, rise, axis, t->weights[1], n));
        return mica_add(g, parts[0], rise);
    }
    mica_value sum = mica_mul(g, parts[0], along(g, parts[0], axis, t->weights[0], n));
    for (int32_t k = 1; k < t->n; k++)
        sum = mica_add(g, sum, mica_mul(g, parts[k], along(g, parts[k], axis, t->weights[k], n)));
    return sum;
}

static mica_value resize_axis(mica_tf_lowering *c, mica_value x, int32_t axis, int64_t wanted,
                              tap_function find, int32_t n_taps) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    int64_t size = type->dims[axis];
    size_t bytes = (size_t)wanted * (sizeof(int64_t) + sizeof(float));
    char *room = mica_calloc(TAPS, bytes);
    if (!room) {
        mica_graph_fail(c->g, MICA_NO_MEMORY());
        return MICA_NULL_VALUE;
    }
    taps t = {.n = n_taps};
    for (int32_t k = 0; k < TAPS; k++) {
        t.places[k] = (int64_t *)room + (int64_t)k * wanted;
        t.weights[k] = (float *)((int64_t *)room + TAPS * wanted) + (int64_t)k * wanted;
    }
    scaling s = scaling_of(c, size, wanted);
    for (int64_t i = 0; i < wanted; i++) find(&s, size, i, &t);
    mica_value y = apply(c, x, axis, &t, wanted);
    mica_free(room);
    return y;
}

static mica_value resize(mica_tf_lowering *c, mica_value x, int64_t height, int64_t width,
                         tap_function find, int32_t n_taps) {
    x = mica_convert(c->g, x, MICA_DTYPE_f32);
    /* TensorFlow goes along rows first. */
    x = resize_axis(c, x, 2, width, find, n_taps);
    return resize_axis(c, x, 1, height, find, n_taps);
}

/* ---- rows of the table ------------------------------------------------------------------------*/

static void resize_to_result(mica_tf_lowering *c, tap_function find, int32_t n_taps) {
    mica_tf_shape shape;
    if (mica_tf_result_dims(c, &shape))
        c->outputs[0] = resize(c, c->inputs[0], shape.dims[1], shape.dims[2], find, n_taps);
}

void tf_lower_resize_bilinear(mica_tf_lowering *c) {
    resize_to_result(c, find_linear, 2);
}

void tf_lower_resize_bicubic(mica_tf_lowering *c) {
    resize_to_result(c, find_cubic, TAPS);
}

/* The transpose of a resizing: it is linear, so any picture serves to differentiate at. */
static void pull_back(mica_tf_lowering *c, mica_value picture, mica_value y) {
    mica_vjp(c->g, &y, &c->inputs[0], 1, &picture, 1, &c->outputs[0]);
    if (mica_value_is_null(c->outputs[0])) c->outputs[0] = mica_zeros_like(c->g, picture);
}

static mica_value zeros_of_result(mica_tf_lowering *c, mica_dtype dtype) {
    mica_tf_shape shape;
    if (!mica_tf_result_dims(c, &shape)) return MICA_NULL_VALUE;
    return mica_broadcast_to(c->g, mica_scalar(c->g, dtype, 0),
                             (mica_ints){shape.dims, shape.rank});
}

static void pull_back_taps(mica_tf_lowering *c, tap_function find, int32_t n_taps) {
    const mica_type dy = *mica_tf_type(c, 0);
    mica_value picture = zeros_of_result(c, mica_tf_type(c, 1)->dtype);
    if (mica_value_is_null(picture)) return;
    pull_back(c, picture, resize(c, picture, dy.dims[1], dy.dims[2], find, n_taps));
}

void tf_lower_resize_bilinear_grad(mica_tf_lowering *c) {
    pull_back_taps(c, find_linear, 2);
}

void tf_lower_resize_bicubic_grad(mica_tf_lowering *c) {
    pull_back_taps(c, find_cubic, TAPS);
}

/* ---- nearest pixels ---------------------------------------------------------------------------*/

static mica_value nearest_axis(mica_tf_lowering *c, mica_value x, int32_t axis, int64_t wanted) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    int64_t size = type->dims[axis], *places = mica_alloc(((size_t)wanted + 1) * sizeof *places);
    if (!places) {
        mica_graph_fail(c->g, MICA_NO_MEMORY());
        return MICA_NULL_VALUE;
    }
    scaling s = scaling_of(c, size, wanted);
    bool rounds = mica_tf_lowering_int(c, "align_corners") != 0;
    for (int64_t i = 0; i < wanted; i++) {
        float place = s.is_centered ? ((float)i + 0.5f) * s.scale : (float)i * s.scale;
        places[i] = bound((int64_t)(rounds ? roundf(place) : floorf(place)), size);
    }
    mica_value y = pixels_at(c->g, x, axis, places, wanted);
    mica_free(places);
    return y;
}

void tf_lower_resize_nearest(mica_tf_lowering *c) {
    mica_tf_shape shape;
    if (!mica_tf_result_dims(c, &shape)) return;
    mica_value x = nearest_axis(c, c->inputs[0], 1, shape.dims[1]);
    c->outputs[0] = nearest_axis(c, x, 2, shape.dims[2]);
}

void tf_lower_resize_nearest_grad(mica_tf_lowering *c) {
    const mica_type dy = *mica_tf_type(c, 0);
    mica_value picture = zeros_of_result(c, dy.dtype);
    if (mica_value_is_null(picture)) return;
    mica_value y = nearest_axis(c, picture, 1, dy.dims[1]);
    pull_back(c, picture, nearest_axis(c, y, 2, dy.dims[2]));
}

/* ---- areas ------------------------------------------------------------------------------------*/

enum { MOST_WEIGHTS = 1 << 26 };

/* Rows of a matrix: how much of each pixel a pixel of the result covers. */
static void find_areas(float scale, int64_t size, int64_t wanted, float *weights) {
    for (int64_t i = 0; i < wanted; i++) {
        float low = (float)i * scale, high = (float)(i + 1) * scale;
        for (int64_t k = (int64_t)floorf(low); k < (int64_t)ceilf(high); k++) {
            float from = (float)k < low ? low : (float)k;
            float to = (float)k + 1 > high ? high : (float)k + 1;
            weights[i * size + bound(k, size)] += (to - from) / scale;
        }
    }
}

static mica_value area_axis(mica_tf_lowering *c, mica_value x, int32_t axis, int64_t wanted) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    int64_t size = type->dims[axis];
    if (wanted > MOST_WEIGHTS / size) {
        mica_graph_fail(c->g, MICA_ERROR(MICA_OUT_OF_MEMORY,
                                         "[%s] %lld pixels of %lld are too many weights",
                                         c->info->name, (long long)wanted, (long long)size));
        return MICA_NULL_VALUE;
    }
    float *weights = mica_calloc((size_t)wanted * (size_t)size + 1, sizeof *weights);
    if (!weights) {
        mica_graph_fail(c->g, MICA_NO_MEMORY());
        return MICA_NULL_VALUE;
    }
    scaling s = scaling_of(c, size, wanted);
    find_areas(s.scale, size, wanted, weights);
    const mica_type matrix = mica_type_make(MICA_DTYPE_f32, MICA_INTS(wanted, size));
    mica_value w = mica_constant(c->g, (mica_data){&matrix, weights});
    mica_free(weights);
    mica_value y = mica_dot(c->g, w, x, MICA_INTS(1), MICA_INTS(axis), MICA_NO_INTS, MICA_NO_INTS);
    int64_t order[4] = {1, 0, 2, 3}; /* the new axis is the first */
    if (axis == 2) order[0] = 1, order[1] = 2, order[2] = 0;
    return mica_transpose(c->g, y, (mica_ints){order, 4});
}

void tf_lower_resize_area(mica_tf_lowering *c) {
    mica_tf_shape shape;
    if (!mica_tf_result_dims(c, &shape)) return;
    mica_value x = mica_convert(c->g, c->inputs[0], MICA_DTYPE_f32);
    c->outputs[0] = area_axis(c, area_axis(c, x, 1, shape.dims[1]), 2, shape.dims[2]);
}
