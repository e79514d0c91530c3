/* Short forms: expressions of primitives that come up everywhere. */
#include <string.h>

#include "ir/graph.h"
#include "ir/numbers.h"

/* The types of the operands of a short form; false after an error. Lists and tokens are refused. */
static bool tensors(mica_graph *g, const char *where, const mica_value *values, int32_t n,
                    const mica_type **out_types) {
    if (!mica_operands_check(g, where, values, n)) return false;
    for (int32_t i = 0; i < n; i++) {
        out_types[i] = mica_value_type(values[i]);
        if (out_types[i]->kind == MICA_TENSOR) continue;
        mica_graph_fail(g, MICA_INVALID("[%s] operand %d must be a tensor, not %s", where, i,
                                        mica_type_text(out_types[i]).chars));
        return false;
    }
    return true;
}

static mica_ints dims_of(const mica_type *type) {
    return (mica_ints){type->dims, type->rank};
}

mica_value mica_scalar(mica_graph *g, mica_dtype dtype, double value) {
    _Alignas(16) unsigned char element[16];
    if ((unsigned)dtype >= MICA_DTYPE_COUNT) {
        mica_graph_fail(g, MICA_INVALID("[scalar] there is no dtype %d", (int)dtype));
        return MICA_NULL_VALUE;
    }
    mica_number_store(dtype, value, element);
    mica_type type = mica_type_scalar(dtype);
    return mica_constant(g, (mica_data){&type, element});
}

mica_value mica_full_like(mica_graph *g, mica_value x, double value) {
    const mica_type *type;
    if (!tensors(g, "full_like", &x, 1, &type)) return MICA_NULL_VALUE;
    mica_value scalar = mica_scalar(g, type->dtype, value);
    return type->rank ? mica_broadcast(g, scalar, dims_of(type), MICA_NO_INTS) : scalar;
}

/* Of a list, the empty list, which is its zero. */
mica_value mica_zeros_like(mica_graph *g, mica_value x) {
    if (!mica_operands_check(g, "zeros_like", &x, 1)) return MICA_NULL_VALUE;
    const mica_type *type = mica_value_type(x);
    if (type->kind != MICA_TENSOR) return mica_constant(g, (mica_data){type, NULL});
    return mica_full_like(g, x, 0);
}

mica_value mica_broadcast_to(mica_graph *g, mica_value x, mica_ints shape) {
    if (shape.n > 0 && !shape.data) return (mica_value){0};
    const mica_type *type;
    if (!tensors(g, "broadcast_to", &x, 1, &type)) return MICA_NULL_VALUE;
    if (shape.n < type->rank) {
        mica_graph_fail(g, MICA_INVALID("[broadcast_to] %s does not stretch to %s",
                                        mica_dims_text(type).chars, mica_ints_text(shape).chars));
        return MICA_NULL_VALUE;
    }
    if (shape.n == type->rank &&
        (shape.n == 0 || !memcmp(shape.data, type->dims, (size_t)shape.n * sizeof *shape.data)))
        return x;
    int64_t axes[MICA_MAX_RANK];
    for (int32_t i = 0; i < type->rank; i++) axes[i] = shape.n - type->rank + i;
    return mica_broadcast(g, x, shape, (mica_ints){axes, type->rank});
}

/* ---- matmul ---------------------------------------------------------------------------------*/

static mica_value contract(mica_graph *g, mica_value a, int64_t a_axis, mica_value b,
                           int64_t b_axis, int32_t n_batch) {
    int64_t batch[MICA_MAX_RANK];
    for (int32_t i = 0; i < n_batch; i++) batch[i] = i;
    mica_ints axes = {batch, n_batch};
    return mica_dot(g, a, b, MICA_INTS(a_axis), MICA_INTS(b_axis), axes, axes);
}

/* Stretches the leading axes of x (all but the last two) to `batch`. */
static mica_value stretch_batch(mica_graph *g, mica_value x, const int64_t *batch, int32_t n) {
    const mica_type *type = mica_value_type(x);
    int64_t shape[MICA_MAX_RANK];
    memcpy(shape, batch, (size_t)n * sizeof *batch);
    shape[n] = type->dims[type->rank - 2];
    shape[n + 1] = type->dims[type->rank - 1];
    return mica_broadcast_to(g, x, (mica_ints){shape, n + 2});
}

static mica_value batched_matmul(mica_graph *g, mica_value a, mica_value b) {
    const mica_type *ta = mica_value_type(a), *tb = mica_value_type(b);
    int32_t n = (ta->rank > tb->rank ? ta->rank : tb->rank) - 2;
    int64_t batch[MICA_MAX_RANK];
    for (int32_t i = 0; i < n; i++) {
        int32_t ia = i - (n + 2 - ta->rank), ib = i - (n + 2 - tb->rank);
        int64_t da = ia >= 0 ? ta->dims[ia] : 1, db = ib >= 0 ? tb->dims[ib] : 1;
        if (da != db && da != 1 && db != 1) {
            mica_graph_fail(g, MICA_INVALID("[matmul] batch dimensions differ: %s x %s",
                                            mica_dims_text(ta).chars, mica_dims_text(tb).chars));
            return MICA_NULL_VALUE;
        }
        batch[i] = da == 1 ? db : da;
    }
    a = stretch_batch(g, a, batch, n);
    b = stretch_batch(g, b, batch, n);
    return contract(g, a, n + 1, b, n, n);
}

mica_value mica_matmul(mica_graph *g, mica_value a, mica_value b) {
    const mica_type *types[2];
    if (!tensors(g, "matmul", (const mica_value[]){a, b}, 2, types)) return MICA_NULL_VALUE;
    int32_t ra = types[0]->rank, rb = types[1]->rank;
    const char *wrong = NULL;
    if (types[0]->dtype != types[1]->dtype)
        wrong = "dtypes differ";
    else if (ra == 0 || rb == 0)
        wrong = "a scalar has no matrix product";
    else if (types[0]->dims[ra - 1] != types[1]->dims[rb == 1 ? 0 : rb - 2])
        wrong = "inner dimensions differ";
    if (wrong) {
        mica_graph_fail(g,
                        MICA_INVALID("[matmul] %s: %s x %s", wrong, mica_type_text(types[0]).chars,
                                     mica_type_text(types[1]).chars));
        return MICA_NULL_VALUE;
    }
    if (ra == 1 || rb <= 2) return contract(g, a, ra - 1, b, rb == 1 ? 0 : rb - 2, 0);
    return batched_matmul(g, a, b);
}

/* ---- reductions -----------------------------------------------------------------------------*/

/* Axes counted from the end become ordinary ones; what is out of range stays and is rejected. */
static mica_ints from_the_end(mica_ints axes, const mica_type *type, int64_t *storage) {
    if (axes.n < 0 || axes.n > MICA_MAX_RANK || (axes.n && !axes.data)) return axes;
    for (int32_t i = 0; i < axes.n; i++)
        storage[i] = axes.data[i] < 0 && axes.data[i] >= -type->rank ? axes.data[i] + type->rank
                                                                     : axes.data[i];
    return (mica_ints){storage, axes.n};
}

mica_value mica_relu(mica_graph *g, mica_value x) {
    const mica_type *type;
    if (!tensors(g, "relu", &x, 1, &type)) return MICA_NULL_VALUE;
    return mica_max(g, x, mica_scalar(g, type->dtype, 0));
}

mica_value mica_sum(mica_graph *g, mica_value x, mica_ints axes) {
    const mica_type *type;
    int64_t storage[MICA_MAX_RANK];
    if (!tensors(g, "sum", &x, 1, &type)) return MICA_NULL_VALUE;
    return mica_reduce(g, x, "sum", from_the_end(axes, type, storage));
}

mica_value mica_mean(mica_graph *g, mica_value x, mica_ints axes) {
    const mica_type *type;
    if (!tensors(g, "mean", &x, 1, &type)) return MICA_NULL_VALUE;
    if (!mica_dtype_in_set(type->dtype, MICA_SET_FLOATS_COMPLEX)) {
        mica_graph_fail(g, MICA_INVALID("[mean] takes floats, not %s", mica_type_text(type).chars));
        return MICA_NULL_VALUE;
    }
    /* A sum, or a number of terms, may be beyond what f16 holds when the mean is not. */
    bool is_half = type->dtype == MICA_DTYPE_f16 || type->dtype == MICA_DTYPE_bf16;
    mica_dtype wide = is_half ? MICA_DTYPE_f32 : type->dtype;
    mica_value sum = mica_sum(g, is_half ? mica_convert(g, x, wide) : x, axes);
    if (mica_value_is_null(sum)) return sum;
    int64_t storage[MICA_MAX_RANK];
    mica_ints valid = from_the_end(axes, type, storage);
    double count = 1;
    for (int32_t i = 0; i < valid.n; i++) count *= (double)type->dims[valid.data[i]];
    mica_value mean = mica_div(g, sum, mica_scalar(g, wide, count));
    return is_half ? mica_convert(g, mean, type->dtype) : mean;
}

/* x, which lost `axis` in a reduction of something of this shape, spread along it again. */
static mica_value spread(mica_graph *g, mica_value x, const mica_type *shape, int64_t axis) {
    int64_t axes[MICA_MAX_RANK];
    int32_t n = 0;
    for (int32_t i = 0; i < shape->rank; i++)
        if (i != axis) axes[n++] = i;
    return mica_broadcast(g, x, dims_of(shape), (mica_ints){axes, n});
}

mica_value mica_log_softmax(mica_graph *g, mica_value x, int64_t axis) {
    const mica_type *type;
    if (!tensors(g, "log_softmax", &x, 1, &type)) return MICA_NULL_VALUE;
    int64_t from_start = axis < 0 ? axis + type->rank : axis;
    if (from_start < 0 || from_start >= type->rank) {
        mica_graph_fail(g, MICA_INVALID("[log_softmax] axis %lld is out of range for %s",
                                        (long long)axis, mica_dims_text(type).chars));
        return MICA_NULL_VALUE;
    }
    mica_value largest = mica_reduce(g, x, "max", MICA_INTS(from_start));
    mica_value shifted = mica_sub(g, x, spread(g, largest, type, from_start));
    mica_value total = mica_reduce(g, mica_exp(g, shifted), "sum", MICA_INTS(from_start));
    return mica_sub(g, shifted, spread(g, mica_log(g, total), type, from_start));
}
