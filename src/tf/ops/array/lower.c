/* Lowerings of ops that make, reshape and select. */
#include <math.h>

#include "mica/nn.h"
#include "tf/lower_rules.h"

static mica_ints ints_of(const mica_tf_shape *shape) {
    return (mica_ints){shape->dims, shape->rank};
}

/* ---- constants and shapes ---------------------------------------------------------------------*/

static mica_value constant_tensor(mica_graph *g, mica_tensor *tensor) {
    void *data = NULL;
    mica_status status = mica_tensor_open_view(tensor, MICA_READ, &data);
    mica_value value = MICA_NULL_VALUE;
    if (!status) {
        value = mica_constant(g, (mica_data){mica_tensor_type(tensor), data});
        status = mica_tensor_close_view(tensor);
    }
    if (status) mica_graph_fail(g, status);
    return value;
}

void tf_lower_constant(mica_tf_lowering *c) {
    mica_tf_value value = mica_tf_attr_find(c->info, c->attrs, "value")->as.value;
    if (!mica_tf_is_core(value.dtype))
        MICA_TF_FAIL(c, "[Const] of %s runs on the host", mica_tf_dtype_name(value.dtype));
    else
        c->outputs[0] = constant_tensor(c->g, value.object);
}

void tf_lower_identity(mica_tf_lowering *c) {
    c->outputs[0] = c->inputs[0];
}

/* The shape function refuses what does not fit, now that all sizes are known. */
void tf_lower_ensure_shape(mica_tf_lowering *c) {
    mica_tf_shape shape;
    if (mica_tf_result_dims(c, &shape)) c->outputs[0] = c->inputs[0];
}

/* As a primitive too: inside a region no role is asked. */
void tf_lower_stop_gradient(mica_tf_lowering *c) {
    const mica_type *type = c->inputs[0].node ? mica_tf_type(c, 0) : NULL;
    c->outputs[0] = c->inputs[0];
    if (!type) return; /* a handle */
    if (mica_dtype_kind_of(type->dtype) == MICA_KIND_COMPLEX)
        c->outputs[0] =
            mica_complex(c->g, mica_nn_stop_gradient(c->g, mica_real(c->g, c->inputs[0])),
                         mica_nn_stop_gradient(c->g, mica_imag(c->g, c->inputs[0])));
    else
        c->outputs[0] = mica_nn_stop_gradient(c->g, c->inputs[0]);
}

static mica_value ints_constant(mica_tf_lowering *c, const int64_t *ints, int32_t n, int32_t rank) {
    mica_dtype dtype = c->info->n_attrs > 1
                           ? mica_tf_dtype_core((mica_tf_dtype)mica_tf_lowering_int(c, "out_type"))
                           : MICA_DTYPE_i32;
    int32_t narrow[MICA_MAX_RANK];
    mica_type type = mica_type_scalar(dtype);
    type.rank = rank;
    if (rank) type.dims[0] = n;
    for (int32_t i = 0; i < n; i++) narrow[i] = (int32_t)ints[i];
    const void *data = dtype == MICA_DTYPE_i32 ? (const void *)narrow : ints;
    return mica_constant(c->g, (mica_data){&type, data});
}

/* A handle is a scalar. */
static mica_type shape_type(const mica_tf_lowering *c) {
    const mica_type *type = mica_tf_type(c, 0);
    return type ? *type : mica_type_scalar(MICA_DTYPE_bool);
}

void tf_lower_shape_of(mica_tf_lowering *c) {
    mica_type type = shape_type(c);
    c->outputs[0] = ints_constant(c, type.dims, type.rank, 1);
}

void tf_lower_size_of(mica_tf_lowering *c) {
    mica_type type = shape_type(c);
    int64_t n = mica_type_elements(&type);
    c->outputs[0] = ints_constant(c, &n, 1, 0);
}

void tf_lower_rank_of(mica_tf_lowering *c) {
    int64_t rank = shape_type(c).rank;
    c->outputs[0] = ints_constant(c, &rank, 1, 0);
}

void tf_lower_fill(mica_tf_lowering *c) {
    mica_tf_shape shape;
    if (mica_tf_result_dims(c, &shape))
        c->outputs[0] = mica_broadcast_to(c->g, c->inputs[1], ints_of(&shape));
}

void tf_lower_zeros_like(mica_tf_lowering *c) {
    c->outputs[0] = mica_zeros_like(c->g, c->inputs[0]);
}

void tf_lower_ones_like(mica_tf_lowering *c) {
    c->outputs[0] = mica_full_like(c->g, c->inputs[0], 1.0);
}

/* A number as a float of this dtype has it, but for subnormals. */
static double rounded(double x, mica_dtype dtype) {
    int exponent, bits = dtype == MICA_DTYPE_f16 ? 11 : dtype == MICA_DTYPE_bf16 ? 8 : 24;
    if (dtype == MICA_DTYPE_f64 || x - x != 0) return x;
    double fraction = frexp(x, &exponent);
    return ldexp(rint(ldexp(fraction, bits)), exponent - bits);
}

/* How many elements a range of floats has, in the operands' own arithmetic: 0.1, 0.2, ...
 * before 1.1 are ten of float32. */
static bool float_range_length(mica_tf_lowering *c, mica_dtype dtype, int64_t *out) {
    double numbers[3] = {0};
    for (int32_t i = 0; i < 3; i++) {
        mica_status status = mica_tf_tensor_double(c->constants[i], &numbers[i]);
        if (status) {
            mica_graph_fail(c->g, status);
            return false;
        }
    }
    double start = numbers[0], limit = numbers[1], delta = numbers[2];
    if (delta == 0 || (delta > 0 ? start > limit : start < limit)) {
        MICA_TF_FAIL(c,
                     delta == 0 ? "[Range] Requires delta != 0: %g"
                                : "[Range] Requires start <= limit when delta > 0: %g",
                     delta);
        return false;
    }
    double steps = rounded(rounded(limit - start, dtype) / delta, dtype);
    if (!(steps < 0x1p59)) { /* NaN too */
        MICA_TF_FAIL(c, "[Range] from %g to %g in steps of %g are more numbers than can be counted",
                     start, limit, delta);
        return false;
    }
    *out = (int64_t)ceil(steps);
    return true;
}

static bool int_range_length(mica_tf_lowering *c, int64_t *out) {
    int64_t numbers[3];
    int32_t n;
    for (int32_t i = 0; i < 3; i++) {
        /* Not by mica_tf_constant_ints: the least integer is a number like any other here. */
        mica_status status = mica_tf_tensor_ints(c->constants[i], &numbers[i], 1, &n);
        if (!status && n != 1)
            status = MICA_INVALID("[Range] operand %d must be a scalar, not of no elements", i);
        if (status) {
            mica_graph_fail(c->g, status);
            return false;
        }
    }
    int64_t start = numbers[0], limit = numbers[1], delta = numbers[2];
    if (delta == 0 || (delta > 0 ? start > limit : start < limit)) {
        MICA_TF_FAIL(c,
                     delta == 0 ? "[Range] Requires delta != 0: %lld"
                                : "[Range] Requires start <= limit when delta > 0: %lld",
                     (long long)delta);
        return false;
    }
    *out = mica_tf_range_length(start, limit, delta);
    return true;
}

void tf_lower_range(mica_tf_lowering *c) {
    mica_dtype dtype = mica_tf_type(c, 0)->dtype;
    bool is_half = dtype == MICA_DTYPE_f16 || dtype == MICA_DTYPE_bf16;
    bool is_float = mica_dtype_kind_of(dtype) == MICA_KIND_FLOAT;
    int64_t n = 0;
    if (is_float ? !float_range_length(c, dtype, &n) : !int_range_length(c, &n)) return;
    /* Halves are rounded once, at the end. */
    mica_dtype wide = is_half ? MICA_DTYPE_f32 : dtype;
    mica_value start = mica_reshape(c->g, c->inputs[0], MICA_NO_INTS);
    mica_value delta = mica_reshape(c->g, c->inputs[2], MICA_NO_INTS);
    if (is_half) {
        start = mica_convert(c->g, start, wide);
        delta = mica_convert(c->g, delta, wide);
    }
    mica_value i = mica_iota(c->g, MICA_INTS(n), 0, wide);
    mica_value numbers = mica_add(c->g, start, mica_mul(c->g, i, delta));
    c->outputs[0] = is_half ? mica_convert(c->g, numbers, dtype) : numbers;
}

/* ---- moving elements --------------------------------------------------------------------------*/

void tf_lower_reshape_to_result(mica_tf_lowering *c) {
    mica_tf_shape shape;
    if (mica_tf_result_dims(c, &shape))
        c->outputs[0] = mica_reshape(c->g, c->inputs[0], ints_of(&shape));
}

void tf_lower_reshape(mica_tf_lowering *c) {
    tf_lower_reshape_to_result(c);
}

void tf_lower_broadcast_to(mica_tf_lowering *c) {
    mica_tf_shape shape;
    if (mica_tf_result_dims(c, &shape))
        c->outputs[0] = mica_broadcast_to(c->g, c->inputs[0], ints_of(&shape));
}

void tf_lower_transpose(mica_tf_lowering *c) {
    int64_t axes[MICA_MAX_RANK * 4];
    int32_t n;
    if (!mica_tf_constant_ints(c, 1, axes, &n)) return;
    for (int32_t i = 0; i < n; i++)
        if (axes[i] < 0) axes[i] += n;
    c->outputs[0] = mica_transpose(c->g, c->inputs[0], (mica_ints){axes, n});
}

void tf_lower_concat(mica_tf_lowering *c) {
    int64_t axis[MICA_MAX_RANK * 4];
    int32_t n = c->n_inputs - 1, n_axis;
    if (!mica_tf_constant_ints(c, n, axis, &n_axis)) return;
    int32_t rank = mica_tf_type(c, 0)->rank;
    if (n_axis != 1) {
        MICA_TF_FAIL(c, "[%s] the axis must be one number, %d given", c->info->name, n_axis);
        return;
    }
    c->outputs[0] = mica_concat(c->g, c->inputs, n, axis[0] < 0 ? axis[0] + rank : axis[0]);
}

void tf_lower_pack(mica_tf_lowering *c) {
    mica_type type = *mica_tf_type(c, 0);
    int64_t axis = mica_tf_lowering_int(c, "axis"), dims[MICA_MAX_RANK + 1];
    if (axis < 0) axis += type.rank + 1;
    for (int32_t i = 0, k = 0; i <= type.rank; i++) dims[i] = i == axis ? 1 : type.dims[k++];
    mica_value *parts = mica_arena_alloc(&c->session->arena, (size_t)c->n_inputs * sizeof *parts);
    if (!parts) {
        mica_graph_fail(c->g, MICA_NO_MEMORY());
        return;
    }
    for (int32_t i = 0; i < c->n_inputs; i++)
        parts[i] = mica_reshape(c->g, c->inputs[i], (mica_ints){dims, type.rank + 1});
    c->outputs[0] = mica_concat(c->g, parts, c->n_inputs, axis);
}

void tf_lower_unpack(mica_tf_lowering *c) {
    mica_type type = *mica_tf_type(c, 0);
    int64_t axis = mica_tf_lowering_int(c, "axis"), begin[MICA_MAX_RANK] = {0}, end[MICA_MAX_RANK];
    int64_t strides[MICA_MAX_RANK], rest[MICA_MAX_RANK];
    int32_t n_rest = 0;
    if (axis < 0) axis += type.rank;
    for (int32_t i = 0; i < type.rank; i++) {
        end[i] = type.dims[i];
        strides[i] = 1;
        if (i != axis) rest[n_rest++] = type.dims[i];
    }
    for (int32_t i = 0; i < c->n_outputs; i++) {
        begin[axis] = i;
        end[axis] = i + 1;
        mica_value part = mica_slice(c->g, c->inputs[0], (mica_ints){begin, type.rank},
                                     (mica_ints){end, type.rank}, (mica_ints){strides, type.rank});
        c->outputs[i] = mica_reshape(c->g, part, (mica_ints){rest, n_rest});
    }
}

void tf_lower_tile(mica_tf_lowering *c) {
    int64_t multiples[MICA_MAX_RANK * 4], wide[2 * MICA_MAX_RANK], dims[MICA_MAX_RANK];
    int64_t axes[MICA_MAX_RANK];
    int32_t n;
    const mica_type *type = mica_tf_type(c, 0);
    if (!mica_tf_constant_ints(c, 1, multiples, &n)) return;
    if (2 * n > MICA_MAX_RANK) {
        MICA_TF_FAIL(c, "[Tile] rank %d is too high", n);
        return;
    }
    for (int32_t i = 0; i < n; i++) {
        if (multiples[i] < 0) {
            MICA_TF_FAIL(c, "[Tile] Expected multiples[%d] >= 0, but got %lld", i,
                         (long long)multiples[i]);
            return;
        }
        wide[2 * i] = multiples[i];
        wide[2 * i + 1] = type->dims[i];
        axes[i] = 2 * i + 1;
        dims[i] = multiples[i] * type->dims[i];
    }
    mica_value copies =
        mica_broadcast(c->g, c->inputs[0], (mica_ints){wide, 2 * n}, (mica_ints){axes, n});
    c->outputs[0] = mica_reshape(c->g, copies, (mica_ints){dims, n});
}

/* ---- selecting --------------------------------------------------------------------------------*/

/* A negative stride reads forward from the last element selected, then turns around. */
static mica_value slice_strided(mica_graph *g, mica_value x, const mica_tf_slice *s) {
    int64_t begin[MICA_MAX_RANK], end[MICA_MAX_RANK], stride[MICA_MAX_RANK], axes[MICA_MAX_RANK];
    int32_t n_reversed = 0;
    for (int32_t i = 0; i < s->rank; i++) {
        int64_t span = s->size[i] > 0 ? (s->size[i] - 1) * s->stride[i] : 0;
        stride[i] = s->stride[i] < 0 ? -s->stride[i] : s->stride[i];
        begin[i] = s->stride[i] < 0 ? s->begin[i] + span : s->begin[i];
        if (s->size[i] == 0) begin[i] = 0;
        end[i] = s->size[i] == 0 ? 0 : begin[i] + (span < 0 ? -span : span) + 1;
        if (s->stride[i] < 0) axes[n_reversed++] = i;
    }
    mica_value part = mica_slice(g, x, (mica_ints){begin, s->rank}, (mica_ints){end, s->rank},
                                 (mica_ints){stride, s->rank});
    return n_reversed ? mica_reverse(g, part, (mica_ints){axes, n_reversed}) : part;
}

/* What is known of begin or end: from the graph, or, run by itself, all but the places of single
 * elements, which must not be part of the program. */
static bool known_bounds(mica_tf_lowering *c, int32_t input, int64_t shrink, int64_t *out,
                         int32_t *n) {
    if (c->constants[input] || !c->frame) {
        if (!mica_tf_constant_ints(c, input, out, n)) return false;
        for (int32_t i = 0; !c->frame && i < *n; i++)
            if (shrink >> i & 1) out[i] = MICA_TF_UNKNOWN_INT;
        return true;
    }
    if (mica_tf_graph_ints(c->frame->graph, c->refs[input], out, n)) return true;
    /* The shape function has bounded how many there are. */
    *n = (int32_t)mica_type_elements(mica_tf_type(c, input));
    for (int32_t i = 0; i < *n; i++) out[i] = MICA_TF_UNKNOWN_INT;
    return true;
}

/* Element `entry` of the vector of places, counted from the start of an axis. */
static mica_value place_at(mica_tf_lowering *c, int32_t entry, int64_t size) {
    mica_graph *g = c->g;
    mica_value at =
        mica_slice(g, c->inputs[1], MICA_INTS(entry), MICA_INTS(entry + 1), MICA_INTS(1));
    mica_value last = mica_full_like(g, at, (double)size), zero = mica_zeros_like(g, at);
    return mica_select(g, mica_compare(g, at, zero, "lt"), mica_add(g, at, last), at);
}

/* Takes the single elements whose places are not known; afterwards they are at place 0. */
static mica_value take_places(mica_tf_lowering *c, int64_t *begin, int32_t n,
                              const int64_t masks[5]) {
    mica_type type = *mica_tf_type(c, 0);
    mica_value starts[MICA_MAX_RANK];
    int64_t sizes[MICA_MAX_RANK];
    int32_t n_axes = 0, axis = 0;
    bool any = false;
    mica_tf_bounds bounds = {.op = MICA_TF_StridedSlice, .width = n};
    for (int32_t i = 0; i < n; i++) n_axes += !((masks[2] | masks[3]) >> i & 1);
    mica_value zero = mica_zeros_like(
        c->g, mica_slice(c->g, c->inputs[1], MICA_INTS(0), MICA_INTS(1), MICA_INTS(1)));
    for (int32_t i = 0; i < type.rank; i++) {
        starts[i] = zero;
        sizes[i] = type.dims[i];
    }
    for (int32_t i = 0; i < n; i++) {
        if (i < MICA_MAX_RANK) bounds.low[i] = INT64_MIN;
        if (i < MICA_MAX_RANK) bounds.high[i] = INT64_MAX;
        if (masks[2] >> i & 1) axis += type.rank - n_axes;
        if ((masks[2] | masks[3]) >> i & 1) continue;
        if (masks[4] >> i & 1 && begin[i] == MICA_TF_UNKNOWN_INT) {
            if (i < MICA_MAX_RANK) {
                bounds.low[i] = -type.dims[axis];
                bounds.high[i] = type.dims[axis];
                bounds.axes[i] = axis;
            }
            starts[axis] = place_at(c, i, type.dims[axis]);
            sizes[axis] = 1;
            begin[i] = 0;
            any = true;
        }
        axis++;
    }
    if (!any) return c->inputs[0];
    if (n <= MICA_MAX_RANK) mica_tf_lower_check(c, 1, &bounds);
    mica_value start = mica_concat(c->g, starts, type.rank, 0);
    return mica_dynamic_slice(c->g, c->inputs[0], start, (mica_ints){sizes, type.rank});
}

void tf_lower_strided_slice(mica_tf_lowering *c) {
    static const char *const names[] = {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
                                        "shrink_axis_mask"};
    int64_t bounds[3][MICA_MAX_RANK * 4], masks[5];
    int32_t n[3] = {0, 0, 0};
    for (int32_t i = 0; i < 5; i++) masks[i] = mica_tf_lowering_int(c, names[i]);
    for (int32_t i = 0; i < 2; i++)
        if (!known_bounds(c, i + 1, masks[4], bounds[i], &n[i])) return;
    if (!mica_tf_constant_ints(c, 3, bounds[2], &n[2])) return;
    mica_value x = take_places(c, bounds[0], n[0], masks);
    const mica_type *type = mica_value_type(x);
    if (!type) return;
    mica_tf_shape shape = mica_tf_shape_of(type);
    mica_tf_slice slice;
    mica_status status =
        mica_tf_slice_make(&shape, bounds[0], bounds[1], bounds[2], n[0], masks, &slice);
    if (status) {
        mica_graph_fail(c->g, status);
        return;
    }
    c->outputs[0] = mica_reshape(c->g, slice_strided(c->g, x, &slice), ints_of(&slice.result));
}

mica_value mica_tf_with_room(mica_tf_lowering *c, mica_value x, const int64_t *sizes,
                             int32_t first) {
    const mica_type *type = mica_value_type(x);
    if (!type) return x;
    int64_t none[MICA_MAX_RANK] = {0}, high[MICA_MAX_RANK];
    bool lacks = false;
    for (int32_t i = 0; i < type->rank; i++) {
        high[i] = i >= first && type->dims[i] == 0 && sizes[i] == 1;
        lacks |= high[i];
    }
    if (!lacks) return x;
    mica_ints low = {none, type->rank};
    return mica_pad(c->g, x, mica_scalar(c->g, type->dtype, 0), low, (mica_ints){high, type->rank},
                    low);
}

/* params with axes (batch..., before, axis, after), indices (batch..., rest):
 * (batch..., before, rest, after). Out of range reads as zeros, as TensorFlow does on a GPU. */
void tf_lower_gather(mica_tf_lowering *c) {
    const mica_type *x = mica_tf_type(c, 0), *indices = mica_tf_type(c, 1);
    int64_t axis[MICA_MAX_RANK * 4], batch = mica_tf_lowering_int(c, "batch_dims");
    int64_t sizes[MICA_MAX_RANK], offset[MICA_MAX_RANK], batch_dims[MICA_MAX_RANK];
    int32_t n_axis, n_offset = 0;
    if (!mica_tf_constant_ints(c, 2, axis, &n_axis)) return;
    if (n_axis == 1 && axis[0] < 0) axis[0] += x->rank;
    if (n_axis != 1 || axis[0] < 0 || axis[0] >= x->rank) {
        MICA_TF_FAIL(c, "[%s] the axis is none of an array of rank %d", c->info->name, x->rank);
        return;
    }
    if (batch < 0) batch += indices->rank;
    int32_t rest = indices->rank - (int32_t)batch;
    for (int32_t i = 0; i < x->rank; i++) {
        sizes[i] = i == axis[0] || i < batch ? 1 : x->dims[i];
        if (i >= batch && i < axis[0]) offset[n_offset++] = i;
        if (i > axis[0]) offset[n_offset++] = i + rest - 1;
    }
    for (int32_t i = 0; i < batch; i++) batch_dims[i] = i;
    mica_ints shared = {batch_dims, (int32_t)batch};
    mica_value params = mica_tf_with_room(c, c->inputs[0], sizes, (int32_t)batch);
    c->outputs[0] = mica_gather(c->g, params, c->inputs[1], (mica_ints){offset, n_offset},
                                MICA_INTS(axis[0]), shared, shared, MICA_INTS(axis[0]),
                                indices->rank, (mica_ints){sizes, x->rank}, "fill");
}

/* Where the slice at input 1 along the first axis begins. */
static mica_value element_start(mica_tf_lowering *c, int32_t rank) {
    mica_value starts[MICA_MAX_RANK];
    mica_value at = mica_reshape(c->g, c->inputs[1], MICA_INTS(1));
    for (int32_t i = 0; i < rank; i++) starts[i] = i ? mica_zeros_like(c->g, at) : at;
    return mica_concat(c->g, starts, rank, 0);
}

void tf_lower_read_element(mica_tf_lowering *c) {
    mica_type type = *mica_tf_type(c, 0);
    type.dims[0] = 1;
    mica_value slice = mica_dynamic_slice(c->g, c->inputs[0], element_start(c, type.rank),
                                          (mica_ints){type.dims, type.rank});
    c->outputs[0] = mica_reshape(c->g, slice, (mica_ints){type.dims + 1, type.rank - 1});
}

void tf_lower_write_element(mica_tf_lowering *c) {
    mica_type type = *mica_tf_type(c, 0);
    type.dims[0] = 1;
    mica_value slice = mica_reshape(c->g, c->inputs[2], (mica_ints){type.dims, type.rank});
    c->outputs[0] =
        mica_dynamic_update_slice(c->g, c->inputs[0], slice, element_start(c, type.rank));
}

void tf_lower_shape_n(mica_tf_lowering *c) {
    for (int32_t i = 0; i < c->n_outputs; i++) {
        mica_tf_lowering one = *c;
        one.inputs = c->inputs + i;
        one.outputs = c->outputs + i;
        tf_lower_shape_of(&one);
    }
}

void tf_lower_identity_n(mica_tf_lowering *c) {
    for (int32_t i = 0; i < c->n_outputs; i++) c->outputs[i] = c->inputs[i];
}
