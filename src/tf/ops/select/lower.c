/* Lowerings of ops that cut, pad, gather and scatter. */
#include <math.h>
#include <string.h>

#include "tf/lower_rules.h"

static mica_value slice_range(mica_graph *g, mica_value x, int64_t axis, int64_t begin,
                              int64_t end) {
    const mica_type *type = mica_value_type(x);
    int64_t low[MICA_MAX_RANK] = {0}, high[MICA_MAX_RANK], stride[MICA_MAX_RANK];
    if (!type) return MICA_NULL_VALUE;
    int32_t rank = type->rank;
    for (int32_t i = 0; i < rank; i++) high[i] = type->dims[i], stride[i] = 1;
    low[axis] = begin;
    high[axis] = end;
    return mica_slice(g, x, (mica_ints){low, rank}, (mica_ints){high, rank},
                      (mica_ints){stride, rank});
}

void tf_lower_slice(mica_tf_lowering *c) {
    int64_t begin[MICA_MAX_RANK * 4], size[MICA_MAX_RANK * 4], stride[MICA_MAX_RANK];
    int32_t n;
    mica_type type = *mica_tf_type(c, 0);
    if (!mica_tf_constant_ints(c, 1, begin, &n) || !mica_tf_constant_ints(c, 2, size, &n)) return;
    for (int32_t i = 0; i < n; i++) {
        size[i] = size[i] < 0 ? type.dims[i] : begin[i] + size[i]; /* within the axis */
        stride[i] = 1;
    }
    c->outputs[0] = mica_slice(c->g, c->inputs[0], (mica_ints){begin, n}, (mica_ints){size, n},
                               (mica_ints){stride, n});
}

static bool axis_of(mica_tf_lowering *c, int32_t input, int32_t rank, int64_t *out) {
    int64_t axis[MICA_MAX_RANK * 4];
    int32_t n;
    if (!mica_tf_constant_ints(c, input, axis, &n)) return false;
    *out = n != 1 ? -1 : axis[0] < 0 ? axis[0] + rank : axis[0];
    if (*out >= 0 && *out < rank) return true;
    MICA_TF_FAIL(c, "[%s] the axis is none of an array of rank %d", c->info->name, rank);
    return false;
}

void tf_lower_split(mica_tf_lowering *c) {
    int64_t axis;
    mica_type type = *mica_tf_type(c, 1);
    if (c->n_outputs == 0 || !axis_of(c, 0, type.rank, &axis)) return;
    int64_t part = type.dims[axis] / c->n_outputs;
    for (int32_t i = 0; i < c->n_outputs; i++)
        c->outputs[i] = slice_range(c->g, c->inputs[1], axis, i * part, (i + 1) * part);
}

void tf_lower_split_v(mica_tf_lowering *c) {
    int64_t axis, sizes[MICA_MAX_RANK * 4], known = 0, begin = 0;
    int32_t n;
    mica_type type = *mica_tf_type(c, 0);
    if (!axis_of(c, 2, type.rank, &axis) || !mica_tf_constant_ints(c, 1, sizes, &n)) return;
    for (int32_t i = 0; i < n; i++) known += sizes[i] < 0 ? 0 : sizes[i];
    for (int32_t i = 0; i < c->n_outputs; i++) {
        int64_t size = sizes[i] < 0 ? type.dims[axis] - known : sizes[i];
        c->outputs[i] = slice_range(c->g, c->inputs[0], axis, begin, begin + size);
        begin += size;
    }
}

/* ---- padding ----------------------------------------------------------------------------------*/

static bool read_paddings(mica_tf_lowering *c, int64_t *low, int64_t *high) {
    int64_t ints[MICA_MAX_RANK * 4];
    int32_t n;
    if (!mica_tf_constant_ints(c, 1, ints, &n)) return false;
    for (int32_t i = 0; i < n / 2; i++) low[i] = ints[2 * i], high[i] = ints[2 * i + 1];
    return true;
}

void tf_lower_pad(mica_tf_lowering *c) {
    int64_t low[MICA_MAX_RANK], high[MICA_MAX_RANK], interior[MICA_MAX_RANK] = {0};
    mica_type type = *mica_tf_type(c, 0);
    if (!read_paddings(c, low, high)) return;
    mica_value value = c->n_inputs > 2 ? c->inputs[2] : mica_scalar(c->g, type.dtype, 0);
    c->outputs[0] = mica_pad(c->g, c->inputs[0], value, (mica_ints){low, type.rank},
                             (mica_ints){high, type.rank}, (mica_ints){interior, type.rank});
}

/* Axis by axis: the tensor between its own mirrored beginning and end. */
void tf_lower_mirror_pad(mica_tf_lowering *c) {
    int64_t low[MICA_MAX_RANK], high[MICA_MAX_RANK];
    int64_t border = strcmp(mica_tf_lowering_string(c, "mode"), "REFLECT") == 0 ? 1 : 0;
    mica_value x = c->inputs[0];
    mica_type type = *mica_tf_type(c, 0);
    if (!read_paddings(c, low, high)) return;
    for (int32_t i = 0; i < type.rank; i++) {
        int64_t size = type.dims[i];
        if (low[i] > size - border || high[i] > size - border) {
            MICA_TF_FAIL(c,
                         "[MirrorPad] paddings must be no greater than the dimension size: %lld, "
                         "%lld greater than %lld",
                         (long long)low[i], (long long)high[i], (long long)(size - border));
            return;
        }
        mica_value parts[3];
        int32_t n = 0;
        if (low[i])
            parts[n++] =
                mica_reverse(c->g, slice_range(c->g, x, i, border, border + low[i]), MICA_INTS(i));
        parts[n++] = x;
        if (high[i])
            parts[n++] =
                mica_reverse(c->g, slice_range(c->g, x, i, size - border - high[i], size - border),
                             MICA_INTS(i));
        if (n > 1) x = mica_concat(c->g, parts, n, i);
    }
    c->outputs[0] = x;
}

void tf_lower_reverse(mica_tf_lowering *c) {
    int64_t axes[MICA_MAX_RANK * 4];
    int32_t n, rank = mica_tf_type(c, 0)->rank;
    if (!mica_tf_constant_ints(c, 1, axes, &n)) return;
    for (int32_t i = 0; i < n; i++) {
        if (axes[i] < 0) axes[i] += rank;
        if (axes[i] < 0 || axes[i] >= rank) {
            MICA_TF_FAIL(c, "[ReverseV2] axis[%d] is out of range for rank %d", i, rank);
            return;
        }
    }
    c->outputs[0] = n ? mica_reverse(c->g, c->inputs[0], (mica_ints){axes, n}) : c->inputs[0];
}

void tf_lower_roll(mica_tf_lowering *c) {
    int64_t shifts[MICA_MAX_RANK * 4], axes[MICA_MAX_RANK * 4];
    int32_t n, n_axes;
    mica_type type = *mica_tf_type(c, 0);
    mica_value x = c->inputs[0];
    if (!mica_tf_constant_ints(c, 1, shifts, &n) || !mica_tf_constant_ints(c, 2, axes, &n_axes))
        return;
    for (int32_t i = 0; i < n && i < n_axes; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + type.rank : axes[i];
        if (axis < 0 || axis >= type.rank) {
            MICA_TF_FAIL(c, "[Roll] axis %lld is out of range", (long long)axes[i]);
            return;
        }
        int64_t size = type.dims[axis], by = size ? (shifts[i] % size + size) % size : 0;
        if (!by) continue;
        mica_value parts[2] = {slice_range(c->g, x, axis, size - by, size),
                               slice_range(c->g, x, axis, 0, size - by)};
        x = mica_concat(c->g, parts, 2, axis);
    }
    c->outputs[0] = x;
}

/* ---- coordinates ------------------------------------------------------------------------------*/

/* params[indices[..., 0], ..., indices[..., k-1]] */
static mica_value gather(mica_graph *g, mica_value params, mica_value places) {
    const mica_type *x = mica_value_type(params), *indices = mica_value_type(places);
    int64_t sizes[MICA_MAX_RANK], offset[MICA_MAX_RANK], named[MICA_MAX_RANK];
    if (!x || !indices) return MICA_NULL_VALUE;
    int32_t depth = (int32_t)indices->dims[indices->rank - 1], n_offset = 0;
    for (int32_t i = 0; i < x->rank; i++) {
        sizes[i] = i < depth ? 1 : x->dims[i];
        if (i < depth)
            named[i] = i;
        else
            offset[n_offset] = indices->rank - 1 + n_offset, n_offset++;
    }
    return mica_gather(g, params, places, (mica_ints){offset, n_offset}, (mica_ints){named, depth},
                       MICA_NO_INTS, MICA_NO_INTS, (mica_ints){named, depth}, indices->rank - 1,
                       (mica_ints){sizes, x->rank}, "fill");
}

void tf_lower_gather_nd(mica_tf_lowering *c) {
    const mica_type *x = mica_tf_type(c, 0), *indices = mica_tf_type(c, 1);
    int64_t sizes[MICA_MAX_RANK], depth = indices->dims[indices->rank - 1];
    for (int32_t i = 0; i < x->rank; i++) sizes[i] = i < depth ? 1 : x->dims[i];
    c->outputs[0] = gather(c->g, mica_tf_with_room(c, c->inputs[0], sizes, 0), c->inputs[1]);
}

static mica_value scatter(mica_graph *g, const char *kind, mica_value target, mica_value indices,
                          mica_value updates) {
    const mica_type *x = mica_value_type(target), *places = mica_value_type(indices);
    int64_t window[MICA_MAX_RANK], named[MICA_MAX_RANK];
    if (!x || !places) return MICA_NULL_VALUE;
    if (mica_type_elements(x) == 0) return target; /* there is no place to write to */
    int32_t depth = (int32_t)places->dims[places->rank - 1], n_window = 0;
    for (int32_t i = 0; i < depth; i++) named[i] = i;
    for (int32_t i = depth; i < x->rank; i++)
        window[n_window] = places->rank - 1 + n_window, n_window++;
    return mica_scatter(g, target, indices, updates, kind, (mica_ints){window, n_window},
                        (mica_ints){named, depth}, MICA_NO_INTS, MICA_NO_INTS,
                        (mica_ints){named, depth}, places->rank - 1, "fill");
}

void tf_lower_scatter_nd(mica_tf_lowering *c) {
    mica_tf_shape shape;
    if (!mica_tf_result_dims(c, &shape)) return;
    mica_value updates = c->inputs[1];
    bool is_bool = mica_tf_type(c, 1)->dtype == MICA_DTYPE_bool; /* a sum of those is their or */
    if (is_bool) updates = mica_convert(c->g, updates, MICA_DTYPE_u8);
    mica_value zero = mica_scalar(c->g, is_bool ? MICA_DTYPE_u8 : mica_tf_type(c, 1)->dtype, 0);
    mica_value target = mica_broadcast_to(c->g, zero, (mica_ints){shape.dims, shape.rank});
    target = scatter(c->g, is_bool ? "max" : "add", target, c->inputs[0], updates);
    c->outputs[0] = is_bool ? mica_convert(c->g, target, MICA_DTYPE_bool) : target;
}

void tf_lower_dynamic_update_slice(mica_tf_lowering *c) {
    c->outputs[0] = mica_tf_type(c, 0)->rank == 0
                        ? c->inputs[1] /* of a scalar the only part is the whole */
                        : mica_dynamic_update_slice(c->g, c->inputs[0], c->inputs[1], c->inputs[2]);
}

void tf_lower_scatter_add(mica_tf_lowering *c) {
    c->outputs[0] = scatter(c->g, "add", c->inputs[0], c->inputs[1], c->inputs[2]);
}

void tf_lower_scatter_sub(mica_tf_lowering *c) {
    c->outputs[0] = scatter(c->g, "add", c->inputs[0], c->inputs[1], mica_neg(c->g, c->inputs[2]));
}

/* Updates that are no numbers change nothing. */
static mica_value numbers_or(mica_tf_lowering *c, mica_value x, double neutral) {
    const mica_type *type = mica_value_type(x);
    if (!type || mica_dtype_kind_of(type->dtype) != MICA_KIND_FLOAT) return x;
    return mica_select(c->g, mica_compare(c->g, x, x, "ne"), mica_full_like(c->g, x, neutral), x);
}

void tf_lower_scatter_max(mica_tf_lowering *c) {
    mica_value updates = numbers_or(c, c->inputs[2], -INFINITY);
    c->outputs[0] = scatter(c->g, "max", c->inputs[0], c->inputs[1], updates);
}

void tf_lower_scatter_min(mica_tf_lowering *c) {
    mica_value updates = numbers_or(c, c->inputs[2], INFINITY);
    c->outputs[0] = scatter(c->g, "min", c->inputs[0], c->inputs[1], updates);
}

/* Operands: target, indices, updates; of the gradient then the result and its cotangent. */
static mica_graph *update_region(mica_tf_lowering *c, bool backward) {
    mica_graph *g = NULL;
    mica_value x[3], cotangent;
    mica_status status = mica_graph_create(backward ? "gradient" : "function", &g);
    if (!status) {
        for (int32_t i = 0; i < 3; i++) x[i] = mica_parameter(g, mica_tf_type(c, i));
        if (backward) {
            mica_parameter(g, mica_tf_type(c, 0));
            cotangent = mica_parameter(g, mica_tf_type(c, 0));
            mica_output(g, scatter(g, "set", cotangent, x[1], mica_zeros_like(g, x[2])));
            mica_output(g, gather(g, cotangent, x[1]));
        } else {
            mica_output(g, scatter(g, "set", x[0], x[1], x[2]));
        }
        status = mica_graph_check(g);
    }
    if (!status) return g;
    mica_graph_fail(c->g, status);
    mica_graph_release(g);
    return NULL;
}

/* The cotangent of each update is that at its place, though a later update may have won there. */
void tf_lower_scatter_update(mica_tf_lowering *c) {
    const mica_type *type = mica_tf_type(c, 0);
    mica_dtype_kind kind = mica_dtype_kind_of(type->dtype);
    bool flows = kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX;
    if (!flows || mica_type_elements(type) == 0) {
        c->outputs[0] = scatter(c->g, "set", c->inputs[0], c->inputs[1], c->inputs[2]);
        return;
    }
    mica_graph *function = update_region(c, false);
    mica_graph *gradient = function ? update_region(c, true) : NULL;
    if (gradient) mica_call(c->g, "", "", function, "", gradient, c->inputs, 3, c->outputs);
    mica_graph_release(function);
    mica_graph_release(gradient);
}

void tf_lower_one_hot(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_type type = *mica_tf_type(c, 0);
    mica_tf_shape shape;
    if (!mica_tf_result_dims(c, &shape)) return;
    int64_t axis = mica_tf_lowering_int(c, "axis"), axes[MICA_MAX_RANK];
    if (axis < 0) axis += shape.rank;
    for (int32_t i = 0; i < type.rank; i++) axes[i] = i < axis ? i : i + 1;
    mica_ints dims = {shape.dims, shape.rank};
    mica_value wide = mica_convert(g, c->inputs[0], MICA_DTYPE_i64);
    mica_value indices = mica_broadcast(g, wide, dims, (mica_ints){axes, type.rank});
    mica_value places = mica_iota(g, dims, axis, MICA_DTYPE_i64);
    c->outputs[0] = mica_select(g, mica_compare(g, indices, places, "eq"),
                                mica_broadcast_to(g, c->inputs[2], dims),
                                mica_broadcast_to(g, c->inputs[3], dims));
}

void tf_lower_band_part(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_type type = *mica_tf_type(c, 0);
    int64_t lower[MICA_MAX_RANK * 4], upper[MICA_MAX_RANK * 4];
    int32_t n;
    if (!mica_tf_constant_ints(c, 1, lower, &n) || !mica_tf_constant_ints(c, 2, upper, &n)) return;
    mica_ints dims = {type.dims, type.rank};
    mica_value row = mica_iota(g, dims, type.rank - 2, MICA_DTYPE_i64);
    mica_value column = mica_iota(g, dims, type.rank - 1, MICA_DTYPE_i64);
    mica_value below = mica_sub(g, row, column);
    mica_value y = c->inputs[0], zero = mica_zeros_like(g, y);
    if (lower[0] >= 0)
        y = mica_select(g, mica_compare(g, below, mica_full_like(g, below, (double)lower[0]), "gt"),
                        zero, y);
    if (upper[0] >= 0)
        y = mica_select(
            g, mica_compare(g, below, mica_full_like(g, below, -(double)upper[0]), "lt"), zero, y);
    c->outputs[0] = y;
}

/* The elements in a row with as many zeros behind each as there are elements: of n times n numbers
 * those on the diagonal. */
void tf_lower_diag(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_tf_shape shape;
    mica_type type = *mica_tf_type(c, 0);
    int64_t n = mica_type_elements(&type);
    if (!mica_tf_result_dims(c, &shape)) return;
    mica_value flat = mica_reshape(g, c->inputs[0], MICA_INTS(n));
    mica_value zero = mica_scalar(g, type.dtype, 0);
    if (n > 1) flat = mica_pad(g, flat, zero, MICA_INTS(0), MICA_INTS(0), MICA_INTS(n));
    c->outputs[0] = mica_reshape(g, flat, (mica_ints){shape.dims, shape.rank});
}

void tf_lower_diag_part(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_tf_shape shape;
    if (!mica_tf_result_dims(c, &shape)) return;
    int64_t n = mica_tf_shape_elements(&shape);
    mica_value flat = mica_reshape(g, c->inputs[0], MICA_INTS(n * n));
    if (n > 1) flat = mica_slice(g, flat, MICA_INTS(0), MICA_INTS(n * n), MICA_INTS(n + 1));
    c->outputs[0] = mica_reshape(g, flat, (mica_ints){shape.dims, shape.rank});
}

void tf_lower_bucketize(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    const mica_tf_attr *boundaries = mica_tf_attr_find(c->info, c->attrs, "boundaries");
    mica_value x = mica_convert(g, c->inputs[0], MICA_DTYPE_f64);
    mica_value count = mica_zeros_like(g, mica_convert(g, c->inputs[0], MICA_DTYPE_i32));
    for (int32_t i = 0; i < boundaries->n; i++) {
        mica_value bound = mica_full_like(g, x, (double)(float)boundaries->as.reals[i]);
        mica_value above = mica_compare(g, x, bound, "ge");
        count = mica_add(g, count, mica_convert(g, above, MICA_DTYPE_i32));
    }
    c->outputs[0] = count;
}
