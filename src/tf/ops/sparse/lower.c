/* Lowerings of sparse tensors whose results have known sizes. Places beyond the sizes are refused
 * (checks.c); here they read as zeros and are not written. */
#include <math.h>

#include "mica/nn.h"
#include "tf/lower_rules.h"

/* ---- places -----------------------------------------------------------------------------------*/

/* The k-th number of each place, a vector. */
static mica_value axis_of(mica_graph *g, mica_value places, int64_t k) {
    const mica_type *type = mica_value_type(places);
    if (!type) return MICA_NULL_VALUE;
    int64_t n = type->dims[0];
    mica_value part = mica_slice(g, places, MICA_INTS(0, k), MICA_INTS(n, k + 1), MICA_INTS(1, 1));
    return mica_reshape(g, part, MICA_INTS(n));
}

/* x[i] for each i of a vector, along the first axis. */
static mica_value take(mica_graph *g, mica_value x, mica_value numbers) {
    const mica_type *type = mica_value_type(x);
    int64_t sizes[MICA_MAX_RANK] = {1}, rest[MICA_MAX_RANK];
    if (!type || mica_value_is_null(numbers)) return MICA_NULL_VALUE;
    for (int32_t i = 1; i < type->rank; i++) {
        sizes[i] = type->dims[i];
        rest[i - 1] = i;
    }
    return mica_gather(g, x, numbers, (mica_ints){rest, type->rank - 1}, MICA_INTS(0), MICA_NO_INTS,
                       MICA_NO_INTS, MICA_INTS(0), 1, (mica_ints){sizes, type->rank}, "fill");
}

/* The rows of `updates` put into a tensor of these sizes, full of `start`, by the numbers of the
 * first axes: one vector of numbers per axis. */
static mica_value put(mica_graph *g, const char *kind, double start, mica_ints dims,
                      const mica_value *numbers, int32_t n_numbers, mica_value updates) {
    const mica_type *type = mica_value_type(updates);
    int64_t window[MICA_MAX_RANK], named[MICA_MAX_RANK], all = 1;
    mica_value columns[MICA_MAX_RANK];
    if (!type) return MICA_NULL_VALUE;
    int64_t n = type->dims[0];
    mica_value target = mica_broadcast_to(g, mica_scalar(g, type->dtype, start), dims);
    for (int32_t i = 0; i < dims.n; i++) all *= dims.data[i] > 0;
    if (all == 0 || n == 0) return target;
    for (int32_t i = 0; i < n_numbers; i++) {
        named[i] = i;
        columns[i] = mica_reshape(g, numbers[i], MICA_INTS(n, 1));
    }
    for (int32_t i = 1; i < type->rank; i++) window[i - 1] = i;
    mica_value places = n_numbers == 1 ? columns[0] : mica_concat(g, columns, n_numbers, 1);
    return mica_scatter(g, target, places, updates, kind, (mica_ints){window, type->rank - 1},
                        (mica_ints){named, n_numbers}, MICA_NO_INTS, MICA_NO_INTS,
                        (mica_ints){named, n_numbers}, 1, "fill");
}

static bool is_half(mica_dtype dtype) {
    return dtype == MICA_DTYPE_f16 || dtype == MICA_DTYPE_bf16;
}

/* 16-bit numbers are computed with as f32. */
static mica_value widened(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    return type && is_half(type->dtype) ? mica_convert(g, x, MICA_DTYPE_f32) : x;
}

static mica_value narrowed(mica_graph *g, mica_value x, mica_dtype dtype) {
    const mica_type *type = mica_value_type(x);
    return type && type->dtype != dtype ? mica_convert(g, x, dtype) : x;
}

/* ---- order ------------------------------------------------------------------------------------*/

void tf_lower_sparse_reorder(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_type type = *mica_tf_type(c, 0);
    int64_t n = type.dims[0], rank = type.dims[1];
    c->outputs[0] = c->inputs[0];
    c->outputs[1] = c->inputs[1];
    if (n < 2 || rank == 0) return;
    mica_value *keys = mica_alloc(2 * ((size_t)rank + 1) * sizeof *keys);
    if (!keys) {
        mica_graph_fail(g, MICA_NO_MEMORY());
        return;
    }
    mica_value *sorted = keys + rank + 1;
    for (int64_t k = 0; k < rank; k++) keys[k] = axis_of(g, c->inputs[0], k);
    keys[rank] = mica_iota(g, MICA_INTS(n), 0, MICA_DTYPE_i64);
    mica_sort(g, keys, (int32_t)rank + 1, 0, rank, false, sorted);
    mica_value order = sorted[rank];
    mica_free(keys);
    c->outputs[0] = take(g, c->inputs[0], order);
    c->outputs[1] = take(g, c->inputs[1], order);
}

/* ---- sums -------------------------------------------------------------------------------------*/

void tf_lower_sparse_reduce_sum(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    int64_t axes[MICA_MAX_RANK * 4], sizes[MICA_MAX_RANK * 4], dims[MICA_MAX_RANK];
    int32_t n, n_sizes, left = 0;
    bool gone[MICA_MAX_RANK] = {false};
    mica_value numbers[MICA_MAX_RANK];
    mica_tf_shape shape;
    mica_dtype dtype = mica_tf_type(c, 1)->dtype;
    if (!mica_tf_constant_ints(c, 2, sizes, &n_sizes) || !mica_tf_constant_ints(c, 3, axes, &n) ||
        !mica_tf_result_dims(c, &shape))
        return;
    for (int32_t i = 0; i < n; i++) gone[axes[i] < 0 ? axes[i] + n_sizes : axes[i]] = true;
    for (int32_t k = 0; k < n_sizes; k++) {
        if (gone[k]) continue;
        numbers[left] = axis_of(g, c->inputs[0], k);
        dims[left++] = sizes[k];
    }
    mica_value values = widened(g, c->inputs[1]);
    mica_value sums = left ? put(g, "add", 0, (mica_ints){dims, left}, numbers, left, values)
                           : mica_reduce(g, values, "sum", MICA_INTS(0));
    c->outputs[0] = mica_reshape(g, narrowed(g, sums, dtype), (mica_ints){shape.dims, shape.rank});
}

/* The elements of a sparse tensor added to a dense one. */
void tf_lower_sparse_dense_add(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_type type = *mica_tf_type(c, 3);
    mica_value numbers[MICA_MAX_RANK];
    for (int32_t k = 0; k < type.rank; k++) numbers[k] = axis_of(g, c->inputs[0], k);
    mica_value sums = type.rank ? put(g, "add", 0, (mica_ints){type.dims, type.rank}, numbers,
                                      type.rank, c->inputs[1])
                                : mica_reduce(g, c->inputs[1], "sum", MICA_INTS(0));
    c->outputs[0] = mica_add(g, c->inputs[3], sums);
}

/* ---- products ---------------------------------------------------------------------------------*/

static mica_value conjugated(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    bool is_complex = type && mica_dtype_kind_of(type->dtype) == MICA_KIND_COMPLEX;
    return is_complex ? mica_conj(g, x) : x;
}

void tf_lower_sparse_matmul(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_tf_shape shape;
    bool adjoint_a = mica_tf_lowering_int(c, "adjoint_a") != 0;
    bool adjoint_b = mica_tf_lowering_int(c, "adjoint_b") != 0;
    mica_dtype dtype = mica_tf_type(c, 1)->dtype;
    int64_t n = mica_tf_type(c, 1)->dims[0];
    if (!mica_tf_result_dims(c, &shape)) return;
    mica_value values = widened(g, c->inputs[1]), b = widened(g, c->inputs[3]);
    if (adjoint_a) values = conjugated(g, values);
    if (adjoint_b) b = conjugated(g, mica_transpose(g, b, MICA_INTS(1, 0)));
    const mica_type *right = mica_value_type(b);
    if (!right) return;
    int64_t width = shape.dims[1], inner = right->dims[0];
    if (n == 0 || width == 0 || inner == 0 || shape.dims[0] == 0) {
        mica_value zero = mica_scalar(g, dtype, 0);
        c->outputs[0] = mica_broadcast_to(g, zero, (mica_ints){shape.dims, shape.rank});
        return;
    }
    mica_value rows = axis_of(g, c->inputs[0], adjoint_a), taken;
    taken = take(g, b, axis_of(g, c->inputs[0], !adjoint_a));
    mica_value spread = mica_broadcast(g, values, MICA_INTS(n, width), MICA_INTS(0));
    mica_value sums =
        put(g, "add", 0, (mica_ints){shape.dims, shape.rank}, &rows, 1, mica_mul(g, spread, taken));
    c->outputs[0] = narrowed(g, sums, dtype);
}

/* ---- beside dense elements --------------------------------------------------------------------*/

/* The dense element of each place: an axis of size 1 is stretched, missing ones come first. */
static mica_value beside(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_type dense = *mica_tf_type(c, 3);
    int64_t sizes[MICA_MAX_RANK], named[MICA_MAX_RANK], n = mica_tf_type(c, 1)->dims[0];
    int32_t rank = (int32_t)mica_tf_type(c, 0)->dims[1], used = 0;
    mica_value columns[MICA_MAX_RANK];
    mica_value x = mica_reshape(g, c->inputs[3], (mica_ints){dense.dims, dense.rank});
    int64_t squeezed[MICA_MAX_RANK];
    for (int32_t k = 0; k < dense.rank; k++) {
        if (dense.dims[k] == 1) continue;
        columns[used] =
            mica_reshape(g, axis_of(g, c->inputs[0], rank - dense.rank + k), MICA_INTS(n, 1));
        squeezed[used] = dense.dims[k];
        sizes[used] = 1;
        named[used] = used;
        used++;
    }
    x = mica_reshape(g, x, (mica_ints){squeezed, used});
    if (used == 0) return mica_broadcast_to(g, x, MICA_INTS(n));
    mica_value places = used == 1 ? columns[0] : mica_concat(g, columns, used, 1);
    mica_ints names = {named, used};
    return mica_gather(g, x, places, MICA_NO_INTS, names, MICA_NO_INTS, MICA_NO_INTS, names, 1,
                       (mica_ints){sizes, used}, "fill");
}

static bool has_elements(mica_tf_lowering *c) {
    if (mica_type_elements(mica_tf_type(c, 1)) && mica_type_elements(mica_tf_type(c, 3)))
        return true;
    c->outputs[0] = mica_zeros_like(c->g, c->inputs[1]); /* no element stands in the whole */
    return false;
}

void tf_lower_sparse_cwise_mul(mica_tf_lowering *c) {
    if (has_elements(c)) c->outputs[0] = mica_mul(c->g, c->inputs[1], beside(c));
}

void tf_lower_sparse_cwise_div(mica_tf_lowering *c) {
    if (has_elements(c)) c->outputs[0] = mica_div(c->g, c->inputs[1], beside(c));
}

void tf_lower_sparse_cwise_add(mica_tf_lowering *c) {
    if (has_elements(c)) c->outputs[0] = mica_add(c->g, c->inputs[1], beside(c));
}

/* ---- softmax ----------------------------------------------------------------------------------*/

/* The number of each element's row: how often all but the last number of the place changed. */
static mica_value row_numbers(mica_graph *g, mica_value places, int64_t n, int64_t rank) {
    mica_value changed = MICA_NULL_VALUE;
    for (int64_t k = 0; k + 1 < rank; k++) {
        mica_value x = axis_of(g, places, k);
        mica_value here = mica_slice(g, x, MICA_INTS(1), MICA_INTS(n), MICA_INTS(1));
        mica_value before = mica_slice(g, x, MICA_INTS(0), MICA_INTS(n - 1), MICA_INTS(1));
        mica_value differs = mica_convert(g, mica_compare(g, here, before, "ne"), MICA_DTYPE_i64);
        changed = mica_value_is_null(changed) ? differs : mica_max(g, changed, differs);
    }
    mica_value parts[2] = {mica_broadcast_to(g, mica_scalar(g, MICA_DTYPE_i64, 0), MICA_INTS(1)),
                           changed};
    return mica_cumulative(g, mica_concat(g, parts, 2, 0), "sum", 0, false, false);
}

void tf_lower_sparse_softmax(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_type places = *mica_tf_type(c, 0);
    mica_dtype dtype = mica_tf_type(c, 1)->dtype;
    int64_t n = places.dims[0];
    mica_value x = widened(g, c->inputs[1]);
    if (n < 2) {
        c->outputs[0] = narrowed(
            g, mica_div(g, mica_exp(g, mica_sub(g, x, x)), mica_exp(g, mica_sub(g, x, x))), dtype);
        return;
    }
    mica_value rows = row_numbers(g, c->inputs[0], n, places.dims[1]);
    mica_value still = mica_nn_stop_gradient(g, x);
    mica_value largest = put(g, "max", -INFINITY, MICA_INTS(n), &rows, 1, still);
    mica_value powers = mica_exp(g, mica_sub(g, x, take(g, largest, rows)));
    mica_value sums = put(g, "add", 0, MICA_INTS(n), &rows, 1, powers);
    c->outputs[0] = narrowed(g, mica_div(g, powers, take(g, sums, rows)), dtype);
}
