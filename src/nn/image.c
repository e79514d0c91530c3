/* Padding and resizing along axes. */
#include "nn/compose.h"

#include <math.h>

#include "base/memory.h"

/* ---- padding ----------------------------------------------------------------------------------*/

/* `count` elements of x along an axis beginning at `start`, turned over. */
static mica_value mirrored(mica_graph *g, mica_value x, int32_t axis, int64_t start,
                           int64_t count) {
    return mica_reverse(g, mica_nn_part(g, x, axis, start, start + count), MICA_INTS(axis));
}

static mica_value mirror_axis(mica_graph *g, mica_value x, int32_t axis, int64_t low, int64_t high,
                              int64_t edge) {
    mica_value parts[3];
    int32_t n = 0;
    int64_t size = mica_nn_type(x).dims[axis];
    if (low) parts[n++] = mirrored(g, x, axis, edge, low);
    parts[n++] = x;
    if (high) parts[n++] = mirrored(g, x, axis, size - edge - high, high);
    return n == 1 ? x : mica_concat(g, parts, n, axis);
}

mica_value mica_nn_pad(mica_graph *g, mica_value x, mica_nn_pad_kind kind, mica_ints low,
                       mica_ints high, double value) {
    if (!mica_nn_check(g, "pad", &x, 1, 0, false)) return MICA_NULL_VALUE;
    mica_type type = mica_nn_type(x);
    if ((unsigned)kind > MICA_NN_PAD_CONSTANT) {
        MICA_NN_FAIL(g, "[pad] there is no kind %d", (int)kind);
        return MICA_NULL_VALUE;
    }
    if (!mica_nn_check_ints(g, "pad", "low", low, type.rank) ||
        !mica_nn_check_ints(g, "pad", "high", high, type.rank))
        return MICA_NULL_VALUE;
    bool mirrors = kind == MICA_NN_PAD_REFLECT || kind == MICA_NN_PAD_SYMMETRIC;
    int64_t edge = kind == MICA_NN_PAD_REFLECT, none[MICA_MAX_RANK] = {0};
    for (int32_t i = 0; i < type.rank; i++) {
        int64_t longest = low.data[i] > high.data[i] ? low.data[i] : high.data[i];
        if (low.data[i] >= 0 && high.data[i] >= 0 &&
            (!mirrors || longest == 0 || longest <= type.dims[i] - edge))
            continue;
        MICA_NN_FAIL(g, "[pad] %s cannot be padded by %s and %s%s", mica_nn_type_text(&type).chars,
                     mica_nn_ints_text(low).chars, mica_nn_ints_text(high).chars,
                     mirrors ? ": the mirror image is too short" : "");
        return MICA_NULL_VALUE;
    }
    if (!mirrors)
        return mica_pad(g, x, mica_nn_number(g, x, kind == MICA_NN_PAD_CONSTANT ? value : 0), low,
                        high, (mica_ints){none, type.rank});
    for (int32_t i = 0; i < type.rank; i++)
        x = mirror_axis(g, x, i, low.data[i], high.data[i], edge);
    return x;
}

/* ---- resizing ---------------------------------------------------------------------------------*/

/* Where sample i of `out` lies among `in` elements. */
static double sample_place(int64_t i, int64_t in, int64_t out, mica_nn_sample_mode mode,
                           bool aligns) {
    if (aligns) return out > 1 ? (double)i * (double)(in - 1) / (double)(out - 1) : 0;
    if (mode == MICA_NN_NEAREST) return (double)i * (double)in / (double)out;
    double place = ((double)i + 0.5) * (double)in / (double)out - 0.5;
    return place > 0 ? place : 0;
}

/* Slices of x along an axis at i32 places. */
static mica_value take(mica_graph *g, mica_value x, int32_t axis, const int32_t *places,
                       int64_t count) {
    mica_type type = mica_nn_type(x),
              places_type = mica_type_make(MICA_DTYPE_i32, MICA_INTS(count));
    int64_t offsets[MICA_MAX_RANK];
    int32_t n = 0;
    for (int32_t i = 0; i < type.rank; i++)
        if (i != axis) offsets[n++] = i;
    type.dims[axis] = 1;
    return mica_gather(g, x, mica_constant(g, (mica_data){&places_type, places}),
                       (mica_ints){offsets, n}, MICA_INTS(axis), MICA_NO_INTS, MICA_NO_INTS,
                       MICA_INTS(axis), 1, mica_nn_dims(&type), "clip");
}

/* Each element `times` times. */
static mica_value repeat_axis(mica_graph *g, mica_value x, int32_t axis, int64_t times) {
    mica_type type = mica_nn_type(x);
    int64_t shape[MICA_MAX_RANK + 1], axes[MICA_MAX_RANK];
    for (int32_t i = 0; i < type.rank; i++) {
        axes[i] = i + (i > axis);
        shape[axes[i]] = type.dims[i];
    }
    shape[axis + 1] = times;
    x = mica_broadcast(g, x, (mica_ints){shape, type.rank + 1}, (mica_ints){axes, type.rank});
    type.dims[axis] *= times;
    return mica_reshape(g, x, mica_nn_dims(&type));
}

static mica_value resize_nearest(mica_graph *g, mica_value x, int32_t axis, int64_t out,
                                 bool aligns, int32_t *places) {
    int64_t in = mica_nn_type(x).dims[axis];
    if (!aligns && out % in == 0 && mica_nn_type(x).rank < MICA_MAX_RANK)
        return repeat_axis(g, x, axis, out / in);
    for (int64_t i = 0; i < out; i++) {
        double place = sample_place(i, in, out, MICA_NN_NEAREST, aligns);
        if (aligns)
            places[i] = (int32_t)(place + 0.5);
        else
            places[i] = (int32_t)(i * in / out);
    }
    return take(g, x, axis, places, out);
}

/* (1 - w) x[i] + w x[i + 1] */
static mica_value resize_linear(mica_graph *g, mica_value x, int32_t axis, int64_t out, bool aligns,
                                int32_t *places, double *weights) {
    mica_type type = mica_nn_type(x);
    int64_t in = type.dims[axis];
    for (int64_t i = 0; i < out; i++) {
        double place = sample_place(i, in, out, MICA_NN_LINEAR_SAMPLES, aligns);
        int64_t whole = (int64_t)floor(place);
        if (whole > in - 1) whole = in - 1;
        places[i] = (int32_t)whole;
        weights[i] = place - (double)whole;
    }
    mica_value left = take(g, x, axis, places, out);
    for (int64_t i = 0; i < out; i++)
        if (places[i] < in - 1) places[i]++;
    mica_value right = take(g, x, axis, places, out);
    mica_type weights_type = mica_type_make(MICA_DTYPE_f64, MICA_INTS(out));
    mica_value w = mica_constant(g, (mica_data){&weights_type, weights});
    mica_type result = mica_nn_type(left);
    w = mica_nn_along(g, "resize", "weights", mica_convert(g, w, type.dtype), &result, axis);
    mica_value rest = mica_sub(g, mica_nn_number(g, w, 1), w);
    return mica_add(g, mica_mul(g, left, rest), mica_mul(g, right, w));
}

static mica_value resize_axis(mica_graph *g, mica_value x, int32_t axis, int64_t out,
                              mica_nn_sample_mode mode, bool aligns) {
    int64_t in = mica_nn_type(x).dims[axis];
    if (in == out) return x;
    int32_t *places = mica_calloc((size_t)out + 1, sizeof *places);
    double *weights = mica_calloc((size_t)out + 1, sizeof *weights);
    mica_value y = MICA_NULL_VALUE;
    if (!places || !weights)
        mica_graph_fail(g, MICA_NO_MEMORY());
    else if (mode == MICA_NN_NEAREST)
        y = resize_nearest(g, x, axis, out, aligns, places);
    else
        y = resize_linear(g, x, axis, out, aligns, places, weights);
    mica_free(places);
    mica_free(weights);
    return y;
}

mica_value mica_nn_resize(mica_graph *g, mica_value x, mica_ints sizes, mica_nn_sample_mode mode,
                          bool aligns_corners) {
    bool linear = mode == MICA_NN_LINEAR_SAMPLES;
    if (!mica_nn_check(g, "resize", &x, 1, 0, linear)) return MICA_NULL_VALUE;
    mica_type type = mica_nn_type(x);
    bool fits = (linear || mode == MICA_NN_NEAREST) && sizes.n >= 1 && sizes.n <= 3 &&
                sizes.n <= type.rank && sizes.data;
    for (int32_t i = 0; fits && i < sizes.n; i++)
        fits = sizes.data[i] > 0 && sizes.data[i] < INT32_MAX &&
               type.dims[type.rank - sizes.n + i] > 0 &&
               type.dims[type.rank - sizes.n + i] < INT32_MAX;
    if (!fits) {
        MICA_NN_FAIL(g, "[resize] %s cannot be resized to %s in mode %d",
                     mica_nn_type_text(&type).chars,
                     sizes.data ? mica_nn_ints_text(sizes).chars : "()", (int)mode);
        return MICA_NULL_VALUE;
    }
    for (int32_t i = 0; i < sizes.n; i++) {
        x = resize_axis(g, x, type.rank - sizes.n + i, sizes.data[i], mode, aligns_corners);
        if (mica_value_is_null(x)) break;
    }
    return x;
}
