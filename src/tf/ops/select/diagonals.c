/* Diagonals of matrices: taken out, put in, or made into matrices. Place p of diagonal d is at row
 * i and column j with j - i = d; in a band of diagonals, the highest first, each begins at the left
 * of its row, or ends at the right of it, as `align` says. All is one gather whose places are
 * computed, so that it takes as many nodes for a thousand diagonals as for one. */
#include <string.h>

#include "tf/lower_rules.h"
#include "tf/ops/select/diagonals.h"

static mica_value number(mica_graph *g, int64_t n) {
    const mica_type scalar = mica_type_scalar(MICA_DTYPE_i64);
    return mica_constant(g, (mica_data){&scalar, &n});
}

/* Along an axis of a table of numbers: 0, 1, ... */
static mica_value count(mica_graph *g, int64_t rows, int64_t columns, int64_t axis) {
    return mica_iota(g, MICA_INTS(rows, columns), axis, MICA_DTYPE_i64);
}

/* How many places diagonal d has. */
static mica_value length_of(mica_graph *g, const mica_tf_band *b, mica_value d) {
    mica_value rows = mica_add(g, mica_min(g, d, number(g, 0)), number(g, b->rows));
    mica_value columns = mica_sub(g, number(g, b->columns), mica_max(g, d, number(g, 0)));
    return mica_min(g, rows, columns);
}

/* Where the first place of diagonal d stands in its row of the band. */
static mica_value offset_of(mica_graph *g, const mica_tf_band *b, mica_value d) {
    mica_value zero = mica_zeros_like(g, d);
    mica_value right = mica_sub(g, number(g, b->longest), length_of(g, b, d));
    mica_value above = b->left_above ? zero : right, below = b->left_below ? zero : right;
    mica_value offset = mica_select(g, mica_compare(g, d, zero, "gt"), above, zero);
    return mica_select(g, mica_compare(g, d, zero, "lt"), below, offset);
}

/* Elements of x at places along its last axis, which are numbers of any shape; places that there
 * are not give something. */
static mica_value pick(mica_tf_lowering *c, mica_value x, mica_value places) {
    if (mica_value_is_null(x) || mica_value_is_null(places))
        return MICA_NULL_VALUE; /* the graph has failed */
    mica_type type = *mica_value_type(x), wanted = *mica_value_type(places);
    int64_t sizes[MICA_MAX_RANK], offset[MICA_MAX_RANK], flat = mica_type_elements(&wanted);
    int32_t last = type.rank - 1;
    for (int32_t i = 0; i < last; i++) sizes[i] = type.dims[i], offset[i] = i;
    sizes[last] = 1;
    x = mica_tf_with_room(c, x, sizes, last);
    return mica_gather(c->g, x, mica_reshape(c->g, places, MICA_INTS(flat)),
                       (mica_ints){offset, last}, MICA_INTS(last), MICA_NO_INTS, MICA_NO_INTS,
                       MICA_INTS(last), 1, (mica_ints){sizes, type.rank}, "fill");
}

/* x with its last `n` axes as one. */
static mica_value flatten(mica_graph *g, mica_value x, int32_t n) {
    if (mica_value_is_null(x)) return MICA_NULL_VALUE;
    mica_type type = *mica_value_type(x);
    int32_t first = type.rank - n;
    int64_t size = 1;
    for (int32_t i = first; i < type.rank; i++) size *= type.dims[i];
    type.dims[first] = size;
    return mica_reshape(g, x, (mica_ints){type.dims, first + 1});
}

/* Where `condition`, a table, holds: x, else y; both have the result's shape, or y is a scalar. */
static mica_value choose(mica_tf_lowering *c, mica_value condition, mica_value x, mica_value y,
                         const mica_tf_shape *shape) {
    if (mica_value_is_null(x) || mica_value_is_null(condition)) return MICA_NULL_VALUE;
    mica_ints dims = {shape->dims, shape->rank};
    const mica_type *table = mica_value_type(condition);
    int64_t axes[2], cells = table->dims[0] * table->dims[1];
    mica_type flat = *mica_value_type(x);
    axes[0] = flat.rank - 1;
    condition = mica_reshape(c->g, condition, MICA_INTS(cells));
    condition =
        mica_broadcast(c->g, condition, (mica_ints){flat.dims, flat.rank}, (mica_ints){axes, 1});
    x = mica_reshape(c->g, x, dims);
    return mica_select(c->g, mica_reshape(c->g, condition, dims), x,
                       mica_broadcast_to(c->g, y, dims));
}

void tf_lower_matrix_diag_part(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_tf_band b;
    mica_tf_shape shape;
    mica_type type = *mica_tf_type(c, 0);
    if (!mica_tf_result_dims(c, &shape) || !mica_tf_band_read(c, &b)) return;
    mica_tf_band_of_matrix(&b, type.dims[type.rank - 2], type.dims[type.rank - 1]);
    mica_value d = mica_sub(g, number(g, b.high), count(g, b.high - b.low + 1, b.longest, 0));
    mica_value at = mica_sub(g, count(g, b.high - b.low + 1, b.longest, 1), offset_of(g, &b, d));
    mica_value inside = mica_and(g, mica_compare(g, at, mica_zeros_like(g, at), "ge"),
                                 mica_compare(g, at, length_of(g, &b, d), "lt"));
    mica_value row = mica_sub(g, at, mica_min(g, d, mica_zeros_like(g, d)));
    mica_value column = mica_add(g, at, mica_max(g, d, mica_zeros_like(g, d)));
    mica_value places = mica_add(g, mica_mul(g, row, number(g, b.columns)), column);
    places = mica_select(g, inside, places, mica_zeros_like(g, places));
    mica_value padding = c->n_inputs > 2 ? c->inputs[2] : mica_scalar(g, type.dtype, 0);
    mica_value x = pick(c, flatten(g, c->inputs[0], 2), places);
    c->outputs[0] = choose(c, inside, x, padding, &shape);
}

/* The matrix of the band in input `diagonals`, and elements of `rest` elsewhere. */
static void put(mica_tf_lowering *c, const mica_tf_band *b, int32_t diagonals, mica_value rest,
                const mica_tf_shape *shape) {
    mica_graph *g = c->g;
    mica_value row = count(g, b->rows, b->columns, 0), column = count(g, b->rows, b->columns, 1);
    mica_value d = mica_sub(g, column, row), zero = mica_zeros_like(g, d);
    mica_value inside = mica_and(g, mica_compare(g, d, number(g, b->low), "ge"),
                                 mica_compare(g, d, number(g, b->high), "le"));
    mica_value below = mica_compare(g, d, zero, "lt");
    mica_value at = mica_add(g, mica_select(g, below, column, row), offset_of(g, b, d));
    mica_value which = mica_sub(g, number(g, b->high), d);
    mica_value places = mica_add(g, mica_mul(g, which, number(g, b->longest)), at);
    places = mica_select(g, inside, places, zero);
    mica_value x = pick(c, flatten(g, c->inputs[diagonals], b->low == b->high ? 1 : 2), places);
    c->outputs[0] = choose(c, inside, x, rest, shape);
}

void tf_lower_matrix_diag(mica_tf_lowering *c) {
    mica_tf_band b;
    mica_tf_shape shape;
    mica_type type = *mica_tf_type(c, 0);
    if (!mica_tf_result_dims(c, &shape) || !mica_tf_band_read(c, &b)) return;
    mica_tf_band_of_matrix(&b, shape.dims[shape.rank - 2], shape.dims[shape.rank - 1]);
    b.longest = type.dims[type.rank - 1];
    put(c, &b, 0, c->n_inputs > 4 ? c->inputs[4] : mica_scalar(c->g, type.dtype, 0), &shape);
}

void tf_lower_matrix_set_diag(mica_tf_lowering *c) {
    mica_tf_band b;
    mica_tf_shape shape;
    if (!mica_tf_result_dims(c, &shape) || !mica_tf_band_read(c, &b)) return;
    mica_tf_band_of_matrix(&b, shape.dims[shape.rank - 2], shape.dims[shape.rank - 1]);
    put(c, &b, 1, c->inputs[0], &shape);
}

bool mica_tf_band_read(mica_tf_lowering *c, mica_tf_band *out) {
    int64_t k[2] = {0, 0};
    int32_t n = 1, operand = mica_tf_band_operand(c->info);
    if (operand >= 0 && !mica_tf_constant_ints(c, operand, k, &n)) return false;
    *out = mica_tf_band_make(c->info, c->attrs, k[0], n == 2 ? k[1] : k[0]);
    return true;
}
