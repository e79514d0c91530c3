/* Padding and resizing along axes. */
#include "nn/compose.h"

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

/* ---- resizing -----------------------------------------------------------------------------------
 * Places are computed in the graph, in f64 or integers, and folded when it is compiled. */

/* Where the samples of `out` lie among `in` elements: f64 (out) */
static mica_value sample_places(mica_graph *g, int64_t in, int64_t out, bool aligns) {
    mica_value i = mica_iota(g, MICA_INTS(out), 0, MICA_DTYPE_f64);
    if (aligns) return mica_nn_scale(g, i, out > 1 ? (double)(in - 1) / (double)(out - 1) : 0);
    i = mica_add(g, i, mica_nn_number(g, i, 0.5));
    i = mica_sub(g, mica_nn_scale(g, i, (double)in / (double)out), mica_nn_number(g, i, 0.5));
    return mica_max(g, i, mica_nn_number(g, i, 0));
}

/* Slices of x along an axis at places (count). */
static mica_value take(mica_graph *g, mica_value x, int32_t axis, mica_value places) {
    mica_type type = mica_nn_type(x);
    int64_t offsets[MICA_MAX_RANK];
    int32_t n = 0;
    for (int32_t i = 0; i < type.rank; i++)
        if (i != axis) offsets[n++] = i;
    type.dims[axis] = 1;
    return mica_gather(g, x, places, (mica_ints){offsets, n}, MICA_INTS(axis), MICA_NO_INTS,
                       MICA_NO_INTS, MICA_INTS(axis), 1, mica_nn_dims(&type), "clip");
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
                                 bool aligns) {
    int64_t in = mica_nn_type(x).dims[axis];
    if (!aligns && out % in == 0 && mica_nn_type(x).rank < MICA_MAX_RANK)
        return repeat_axis(g, x, axis, out / in);
    if (!aligns) {
        mica_value i = mica_iota(g, MICA_INTS(out), 0, MICA_DTYPE_i64);
        i = mica_div(g, mica_mul(g, i, mica_nn_number(g, i, (double)in)),
                     mica_nn_number(g, i, (double)out));
        return take(g, x, axis, i);
    }
    mica_value places = sample_places(g, in, out, true);
    places = mica_add(g, places, mica_nn_number(g, places, 0.5));
    return take(g, x, axis, mica_convert(g, places, MICA_DTYPE_i32));
}

/* (1 - w) x[i] + w x[i + 1]; the index after the last is moved inside, where w is 0 or both are
 * the same */
static mica_value resize_linear(mica_graph *g, mica_value x, int32_t axis, int64_t out,
                                bool aligns) {
    mica_type type = mica_nn_type(x);
    mica_value places = sample_places(g, type.dims[axis], out, aligns);
    mica_value whole = mica_floor(g, places);
    mica_value w = mica_convert(g, mica_sub(g, places, whole), type.dtype);
    mica_value first = mica_convert(g, whole, MICA_DTYPE_i32);
    mica_value left = take(g, x, axis, first);
    mica_value right = take(g, x, axis, mica_add(g, first, mica_nn_number(g, first, 1)));
    mica_type result = mica_nn_type(left);
    w = mica_nn_along(g, "resize", "weights", w, &result, axis);
    mica_value rest = mica_sub(g, mica_nn_number(g, w, 1), w);
    return mica_add(g, mica_mul(g, left, rest), mica_mul(g, right, w));
}

static mica_value resize_axis(mica_graph *g, mica_value x, int32_t axis, int64_t out,
                              mica_nn_sample_mode mode, bool aligns) {
    if (mica_nn_type(x).dims[axis] == out) return x;
    return mode == MICA_NN_NEAREST ? resize_nearest(g, x, axis, out, aligns)
                                   : resize_linear(g, x, axis, out, aligns);
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
