/* Lowerings of reductions, cumulative sums and segments. */
#include <math.h>

#include "tf/lower_rules.h"

/* The axes of input 1, which the shape function has bounded, counted from the start, each once. */
static bool reduced_axes(mica_tf_lowering *c, int64_t *out, int32_t *out_n) {
    int64_t axes[MICA_MAX_RANK * 4];
    int32_t n, rank = mica_tf_type(c, 0)->rank;
    bool seen[MICA_MAX_RANK] = {false};
    if (!mica_tf_constant_ints(c, 1, axes, &n)) return false;
    for (int32_t i = 0; i < n; i++) seen[axes[i] < 0 ? axes[i] + rank : axes[i]] = true;
    *out_n = 0;
    for (int32_t i = 0; i < rank; i++)
        if (seen[i]) out[(*out_n)++] = i;
    return true;
}

static void reduce(mica_tf_lowering *c, const char *kind) {
    int64_t axes[MICA_MAX_RANK];
    int32_t n;
    mica_tf_shape shape;
    if (!reduced_axes(c, axes, &n) || !mica_tf_result_dims(c, &shape)) return;
    mica_value y = mica_reduce(c->g, c->inputs[0], kind, (mica_ints){axes, n});
    c->outputs[0] = mica_reshape(c->g, y, (mica_ints){shape.dims, shape.rank});
}

void tf_lower_reduce_max(mica_tf_lowering *c) {
    reduce(c, "max");
}

void tf_lower_reduce_min(mica_tf_lowering *c) {
    reduce(c, "min");
}

void tf_lower_reduce_prod(mica_tf_lowering *c) {
    reduce(c, "prod");
}

void tf_lower_reduce_all(mica_tf_lowering *c) {
    reduce(c, "and");
}

void tf_lower_reduce_any(mica_tf_lowering *c) {
    reduce(c, "or");
}

/* ---- places of extrema ------------------------------------------------------------------------*/

static bool single_axis(mica_tf_lowering *c, int32_t input, int64_t *out) {
    int64_t axis[MICA_MAX_RANK * 4];
    int32_t n;
    if (!mica_tf_constant_ints(c, input, axis, &n)) return false;
    *out = axis[0] < 0 ? axis[0] + mica_tf_type(c, 0)->rank : axis[0];
    return true;
}

static void find_extremum(mica_tf_lowering *c, bool largest) {
    int64_t axis;
    if (!single_axis(c, 1, &axis)) return;
    mica_value x = c->inputs[0];
    mica_dtype dtype = mica_tf_dtype_core((mica_tf_dtype)mica_tf_lowering_int(c, "output_type"));
    if (mica_tf_type(c, 0)->dtype == MICA_DTYPE_bool) x = mica_convert(c->g, x, MICA_DTYPE_u8);
    c->outputs[0] = largest ? mica_argmax(c->g, x, axis, dtype) : mica_argmin(c->g, x, axis, dtype);
}

void tf_lower_arg_max(mica_tf_lowering *c) {
    find_extremum(c, true);
}

void tf_lower_arg_min(mica_tf_lowering *c) {
    find_extremum(c, false);
}

void tf_lower_top_k(mica_tf_lowering *c) {
    int64_t k[MICA_MAX_RANK * 4];
    int32_t n;
    if (!mica_tf_constant_ints(c, 1, k, &n)) return;
    mica_top_k(c->g, c->inputs[0], k[0], c->outputs);
    mica_dtype dtype = mica_tf_dtype_core((mica_tf_dtype)mica_tf_lowering_int(c, "index_type"));
    if (dtype != MICA_DTYPE_i32) c->outputs[1] = mica_convert(c->g, c->outputs[1], dtype);
}

/* ---- cumulative -------------------------------------------------------------------------------*/

static void cumulate(mica_tf_lowering *c, const char *kind) {
    int64_t axis;
    if (single_axis(c, 1, &axis))
        c->outputs[0] =
            mica_cumulative(c->g, c->inputs[0], kind, axis, mica_tf_lowering_int(c, "reverse"),
                            mica_tf_lowering_int(c, "exclusive"));
}

void tf_lower_cumsum(mica_tf_lowering *c) {
    cumulate(c, "sum");
}

void tf_lower_cumprod(mica_tf_lowering *c) {
    cumulate(c, "prod");
}

/* log(e^a + e^b), shifted by the larger one where that is finite. */
static mica_value log_add(mica_graph *g, mica_value a, mica_value b) {
    mica_value larger = mica_max(g, a, b);
    mica_value shift =
        mica_select(g, mica_is_finite(g, larger), larger, mica_zeros_like(g, larger));
    mica_value sum =
        mica_add(g, mica_exp(g, mica_sub(g, a, shift)), mica_exp(g, mica_sub(g, b, shift)));
    return mica_add(g, shift, mica_log(g, sum));
}

/* x moved by n places along an axis, -inf in front. */
static mica_value moved(mica_graph *g, mica_value x, int64_t axis, int64_t n, bool reverse) {
    if (mica_value_is_null(x)) return MICA_NULL_VALUE;
    mica_type type = *mica_value_type(x);
    int64_t low[MICA_MAX_RANK] = {0}, high[MICA_MAX_RANK] = {0}, interior[MICA_MAX_RANK] = {0};
    low[axis] = reverse ? -n : n;
    high[axis] = -low[axis];
    return mica_pad(g, x, mica_scalar(g, type.dtype, -INFINITY), (mica_ints){low, type.rank},
                    (mica_ints){high, type.rank}, (mica_ints){interior, type.rank});
}

/* By doubling: after the pass of n places, each element has the 2 n up to it. Nothing is shifted
 * by an element that it has not, so small sums beside large ones stay. */
void tf_lower_cumulative_logsumexp(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    int64_t axis;
    if (!single_axis(c, 1, &axis)) return;
    mica_type type = *mica_tf_type(c, 0);
    bool reverse = mica_tf_lowering_int(c, "reverse");
    bool narrow = mica_dtype_bytes(type.dtype) < 4;
    mica_value y = narrow ? mica_convert(g, c->inputs[0], MICA_DTYPE_f32) : c->inputs[0];
    for (int64_t n = 1; n < type.dims[axis]; n *= 2)
        y = log_add(g, y, moved(g, y, axis, n, reverse));
    if (mica_tf_lowering_int(c, "exclusive") && type.dims[axis] > 0)
        y = moved(g, y, axis, 1, reverse);
    c->outputs[0] = narrow ? mica_convert(g, y, type.dtype) : y;
}

/* ---- segments ---------------------------------------------------------------------------------*/

/* Scatters data, whose first axes are those of the numbers, into a tensor full of `start`. Indices
 * outside are left out, as are negative ones. */
static mica_value scatter_segments(mica_tf_lowering *c, const char *kind, double start) {
    mica_graph *g = c->g;
    const mica_type *data = mica_tf_type(c, 0), *ids = mica_tf_type(c, 1);
    mica_tf_shape shape;
    if (!mica_tf_result_dims(c, &shape)) return MICA_NULL_VALUE;
    int64_t window[MICA_MAX_RANK];
    int32_t n_window = 0;
    for (int32_t i = ids->rank; i < data->rank; i++) window[n_window++] = i;
    mica_value target = mica_broadcast_to(g, mica_scalar(g, data->dtype, start),
                                          (mica_ints){shape.dims, shape.rank});
    if (shape.dims[0] == 0) return target;
    return mica_scatter(g, target, c->inputs[1], c->inputs[0], kind, (mica_ints){window, n_window},
                        MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS, MICA_INTS(0), ids->rank, "fill");
}

void tf_lower_segment_sum(mica_tf_lowering *c) {
    c->outputs[0] = scatter_segments(c, "add", 0);
}

void tf_lower_segment_prod(mica_tf_lowering *c) {
    c->outputs[0] = scatter_segments(c, "mul", 1);
}

static double lowest(mica_dtype dtype) {
    switch (dtype) {
    case MICA_DTYPE_f16: return -65504.0;
    case MICA_DTYPE_bf16: return -3.3895313892515355e38;
    case MICA_DTYPE_f32: return -3.4028234663852886e38;
    case MICA_DTYPE_f64: return -1.7976931348623157e308;
    case MICA_DTYPE_i8: return -128;
    case MICA_DTYPE_i16: return -32768;
    case MICA_DTYPE_i32: return -2147483648.0;
    case MICA_DTYPE_i64: return -9223372036854775808.0;
    default: return 0;
    }
}

static double highest(mica_dtype dtype) {
    switch (dtype) {
    case MICA_DTYPE_u8: return 255;
    case MICA_DTYPE_u16: return 65535;
    case MICA_DTYPE_u32: return 4294967295.0;
    case MICA_DTYPE_i8: return 127;
    case MICA_DTYPE_i16: return 32767;
    case MICA_DTYPE_i32: return 2147483647.0;
    case MICA_DTYPE_i64: return 9223372036854774784.0;
    case MICA_DTYPE_u64: return 18446744073709549568.0;
    default: return -lowest(dtype);
    }
}

void tf_lower_segment_max(mica_tf_lowering *c) {
    c->outputs[0] = scatter_segments(c, "max", lowest(mica_tf_type(c, 0)->dtype));
}

void tf_lower_segment_min(mica_tf_lowering *c) {
    c->outputs[0] = scatter_segments(c, "min", highest(mica_tf_type(c, 0)->dtype));
}
