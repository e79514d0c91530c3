/* Shape rules and layouts of gather and scatter. */
#include <string.h>

#include "ir/index_layout.h"
#include "ir/shape.h"

MICA_SHAPE_RULE(gather);
MICA_SHAPE_RULE(scatter);

typedef struct index_names {
    const char *window, *dropped, *map;
} index_names;

static const index_names *names_of(const mica_node *n) {
    static const index_names gather = {"offset_dims", "collapsed_dims", "start_map"};
    static const index_names scatter = {"update_window_dims", "inserted_window_dims",
                                        "scatter_map"};
    return n->op == MICA_OP_gather ? &gather : &scatter;
}

mica_index_dims mica_index_dims_of(const mica_node *n) {
    const index_names *names = names_of(n);
    return (mica_index_dims){.window = mica_node_ints(n, names->window),
                             .dropped = mica_node_ints(n, names->dropped),
                             .operand_batch = mica_node_ints(n, "operand_batch_dims"),
                             .indices_batch = mica_node_ints(n, "indices_batch_dims"),
                             .map = mica_node_ints(n, names->map),
                             .vector_dim = mica_node_int(n, "index_vector_dim"),
                             .fill = !strcmp(mica_node_string(n, "mode"), "fill")};
}

static mica_index_layout lay_out(const mica_index_dims *d, const mica_type *x,
                                 const mica_type *indices) {
    mica_index_layout l = {.n_positions = 0};
    int32_t index_axis = 0, windows = 0, x_axis = 0;
    int32_t rank = d->window.n + indices->rank - (d->vector_dim < indices->rank);
    for (; windows < rank; windows++) {
        if (mica_ints_have(d->window, windows)) {
            while (mica_ints_have(d->dropped, x_axis) || mica_ints_have(d->operand_batch, x_axis))
                x_axis++;
            l.window[l.n_window].windows = windows;
            l.window[l.n_window++].x = x_axis++;
            continue;
        }
        if (index_axis == d->vector_dim) index_axis++;
        l.positions[l.n_positions].windows = windows;
        l.positions[l.n_positions].indices = index_axis;
        l.positions[l.n_positions].size = indices->dims[index_axis];
        l.positions[l.n_positions].batch = -1;
        for (int32_t i = 0; i < d->indices_batch.n; i++)
            if (d->indices_batch.data[i] == index_axis)
                l.positions[l.n_positions].batch = (int32_t)d->operand_batch.data[i];
        l.n_positions++;
        index_axis++;
    }
    for (int32_t i = 0; i < x->rank; i++) l.sizes[i] = 1;
    return l;
}

mica_index_layout mica_index_layout_of(const mica_node *n) {
    mica_index_dims d = mica_index_dims_of(n);
    mica_index_layout l = lay_out(&d, mica_operand_type(n, 0), mica_operand_type(n, 1));
    const mica_type *windows = n->op == MICA_OP_gather ? &n->results[0] : mica_operand_type(n, 2);
    for (int32_t i = 0; i < l.n_window; i++)
        l.sizes[l.window[i].x] = l.window[i].size = windows->dims[l.window[i].windows];
    return l;
}

/* ---- checks -----------------------------------------------------------------------------------*/

static mica_status check_increasing(const mica_node *n, const char *name, mica_ints axes,
                                    int32_t rank) {
    for (int32_t i = 0; i < axes.n; i++)
        if (axes.data[i] < (i ? axes.data[i - 1] + 1 : 0) || axes.data[i] >= rank)
            return SHAPE_INVALID(n, "%s %s must increase and lie below %d", name,
                                 mica_ints_text(axes).chars, rank);
    return NULL;
}

static mica_status check_indices(const mica_node *n, const mica_index_dims *d,
                                 const mica_type *indices) {
    mica_dtype_kind kind = mica_dtype_kind_of(indices->dtype);
    const char *mode = mica_node_string(n, "mode");
    if (kind != MICA_KIND_SIGNED && kind != MICA_KIND_UNSIGNED)
        return SHAPE_INVALID(n, "the indices must be integers, not %s",
                             mica_type_text(indices).chars);
    if (d->vector_dim < 0 || d->vector_dim > indices->rank)
        return SHAPE_INVALID(n, "index_vector_dim %lld is out of range for %s",
                             (long long)d->vector_dim, mica_dims_text(indices).chars);
    int64_t entries = d->vector_dim < indices->rank ? indices->dims[d->vector_dim] : 1;
    if (d->map.n != entries)
        return SHAPE_INVALID(n, "%s %s must have %lld entries, as the vectors of indices %s do",
                             names_of(n)->map, mica_ints_text(d->map).chars, (long long)entries,
                             mica_dims_text(indices).chars);
    if (strcmp(mode, "clip") && strcmp(mode, "fill"))
        return SHAPE_INVALID(n, "mode '%.20s' is neither clip nor fill", mode);
    return NULL;
}

static mica_status check_batch(const mica_node *n, const mica_index_dims *d, const mica_type *x,
                               const mica_type *indices) {
    MICA_TRY(check_increasing(n, "operand_batch_dims", d->operand_batch, x->rank));
    MICA_TRY(shape_axes(n, "indices_batch_dims", d->indices_batch, indices, NULL));
    bool pairs = d->operand_batch.n == d->indices_batch.n;
    for (int32_t i = 0; pairs && i < d->operand_batch.n; i++)
        pairs = d->indices_batch.data[i] != d->vector_dim &&
                x->dims[d->operand_batch.data[i]] == indices->dims[d->indices_batch.data[i]];
    if (!pairs)
        return SHAPE_INVALID(n,
                             "operand_batch_dims %s of %s and indices_batch_dims %s of %s "
                             "do not go in step",
                             mica_ints_text(d->operand_batch).chars, mica_dims_text(x).chars,
                             mica_ints_text(d->indices_batch).chars, mica_dims_text(indices).chars);
    return NULL;
}

/* All but the sizes of windows. */
static mica_status check_dims(const mica_node *n, const mica_index_dims *d) {
    const mica_type *x = mica_operand_type(n, 0), *indices = mica_operand_type(n, 1);
    const index_names *names = names_of(n);
    MICA_TRY(check_indices(n, d, indices));
    MICA_TRY(check_batch(n, d, x, indices));
    MICA_TRY(check_increasing(n, names->dropped, d->dropped, x->rank));
    if (d->window.n + d->dropped.n + d->operand_batch.n != x->rank)
        return SHAPE_INVALID(n, "%s %s, %s %s and operand_batch_dims %s must be %d axes in all",
                             names->window, mica_ints_text(d->window).chars, names->dropped,
                             mica_ints_text(d->dropped).chars,
                             mica_ints_text(d->operand_batch).chars, x->rank);
    int32_t rank = d->window.n + indices->rank - (d->vector_dim < indices->rank);
    if (rank > MICA_MAX_RANK)
        return SHAPE_INVALID(n, "windows and positions have %d axes; the limit is %d", rank,
                             MICA_MAX_RANK);
    MICA_TRY(check_increasing(n, names->window, d->window, rank));
    MICA_TRY(shape_axes(n, names->map, d->map, x, NULL));
    for (int32_t i = 0; i < d->operand_batch.n; i++)
        if (mica_ints_have(d->dropped, d->operand_batch.data[i]) ||
            mica_ints_have(d->map, d->operand_batch.data[i]))
            return SHAPE_INVALID(n, "axis %lld is a batch axis, and in %s or %s as well",
                                 (long long)d->operand_batch.data[i], names->dropped, names->map);
    return NULL;
}

/* Batch axes need no room: where x has none, there are no positions. */
static mica_status check_sizes(const mica_node *n, const mica_index_dims *d, const mica_type *x,
                               mica_ints sizes) {
    for (int32_t i = 0; i < x->rank; i++) {
        bool batch = mica_ints_have(d->operand_batch, i);
        if (sizes.data[i] != 1 && (batch || mica_ints_have(d->dropped, i)))
            return SHAPE_INVALID(n,
                                 "windows of %s must be 1 along axis %d, which their array lacks",
                                 mica_ints_text(sizes).chars, i);
        if (sizes.data[i] < 0 || (!batch && sizes.data[i] > x->dims[i]))
            return SHAPE_INVALID(n, "windows of %s do not fit in %s", mica_ints_text(sizes).chars,
                                 mica_dims_text(x).chars);
    }
    return NULL;
}

MICA_SHAPE_RULE(gather) {
    const mica_type *x = mica_operand_type(n, 0);
    mica_index_dims d = mica_index_dims_of(n);
    mica_ints sizes = mica_node_ints(n, "slice_sizes");
    MICA_TRY(check_dims(n, &d));
    MICA_TRY(shape_length(n, "slice_sizes", x->rank));
    MICA_TRY(check_sizes(n, &d, x, sizes));
    mica_index_layout l = lay_out(&d, x, mica_operand_type(n, 1));
    mica_type type = {.kind = MICA_TENSOR, .dtype = x->dtype, .rank = l.n_positions + l.n_window};
    for (int32_t i = 0; i < l.n_positions; i++)
        type.dims[l.positions[i].windows] = l.positions[i].size;
    for (int32_t i = 0; i < l.n_window; i++)
        type.dims[l.window[i].windows] = sizes.data[l.window[i].x];
    return shape_result(g, n, &type);
}

static mica_status check_kind(const mica_node *n, mica_dtype dtype) {
    static const char *const kinds[] = {"set", "add", "mul", "min", "max"};
    const char *kind = mica_node_string(n, "kind");
    for (int i = 0; i < 5; i++) {
        if (strcmp(kind, kinds[i])) continue;
        mica_dtype_set set = i < 3 ? MICA_SET_NUMBERS_COMPLEX : MICA_SET_NUMBERS;
        if (i == 0 || mica_dtype_in_set(dtype, set)) return NULL;
        return SHAPE_INVALID(n, "%s takes numbers%s, not %s", kind,
                             i < 3 ? "" : " that have an order", mica_dtype_name(dtype));
    }
    return SHAPE_INVALID(n, "kind '%.20s' is none of set add mul min max", kind);
}

MICA_SHAPE_RULE(scatter) {
    const mica_type *x = mica_operand_type(n, 0), *indices = mica_operand_type(n, 1),
                    *updates = mica_operand_type(n, 2);
    mica_index_dims d = mica_index_dims_of(n);
    MICA_TRY(check_kind(n, x->dtype));
    MICA_TRY(check_dims(n, &d));
    mica_index_layout l = lay_out(&d, x, indices);
    bool fits = updates->dtype == x->dtype && updates->rank == l.n_positions + l.n_window;
    for (int32_t i = 0; fits && i < l.n_positions; i++)
        fits = updates->dims[l.positions[i].windows] == l.positions[i].size;
    if (!fits)
        return SHAPE_INVALID(n, "updates %s do not fit indices %s and %s",
                             mica_type_text(updates).chars, mica_dims_text(indices).chars,
                             mica_type_text(x).chars);
    for (int32_t i = 0; i < l.n_window; i++)
        l.sizes[l.window[i].x] = updates->dims[l.window[i].windows];
    MICA_TRY(check_sizes(n, &d, x, (mica_ints){l.sizes, x->rank}));
    return shape_result(g, n, x);
}
