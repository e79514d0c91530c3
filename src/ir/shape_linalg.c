/* Shape rules of linear algebra: matrices are the last two axes, the axes before are a batch. */
#include "ir/shape.h"

MICA_SHAPE_RULE(triangular_solve);
MICA_SHAPE_RULE(cholesky);
MICA_SHAPE_RULE(lu);
MICA_SHAPE_RULE(qr);
MICA_SHAPE_RULE(eigh);
MICA_SHAPE_RULE(svd);
MICA_SHAPE_RULE(eig);

static mica_status check_matrix(const mica_node *n, int32_t i) {
    const mica_type *type = mica_operand_type(n, i);
    if (type->rank >= 2) return NULL;
    return SHAPE_INVALID(n, "operand %d has no matrices: %s", i, mica_dims_text(type).chars);
}

static mica_status check_square(const mica_node *n, int32_t i) {
    const mica_type *type = mica_operand_type(n, i);
    MICA_TRY(check_matrix(n, i));
    if (type->dims[type->rank - 2] == type->dims[type->rank - 1]) return NULL;
    return SHAPE_INVALID(n, "operand %d is not square: %s", i, mica_dims_text(type).chars);
}

static mica_status check_flag(const mica_node *n, const char *name) {
    int64_t value = mica_node_int(n, name);
    if (value == 0 || value == 1) return NULL;
    return SHAPE_INVALID(n, "%s is 0 or 1, not %lld", name, (long long)value);
}

MICA_SHAPE_RULE(triangular_solve) {
    static const char *const flags[] = {"left", "lower", "transpose", "unit"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) MICA_TRY(check_flag(n, flags[i]));
    const mica_type *a = mica_operand_type(n, 0), *b = mica_operand_type(n, 1);
    if (a->dtype != b->dtype)
        return SHAPE_INVALID(n, "dtypes differ: %s and %s", mica_type_text(a).chars,
                             mica_type_text(b).chars);
    MICA_TRY(check_square(n, 0));
    MICA_TRY(check_matrix(n, 1));
    bool same = a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank - 2; i++) same = a->dims[i] == b->dims[i];
    if (!same)
        return SHAPE_INVALID(n, "leading axes differ: %s and %s", mica_dims_text(a).chars,
                             mica_dims_text(b).chars);
    int32_t axis = b->rank - (mica_node_int(n, "left") ? 2 : 1);
    if (b->dims[axis] != a->dims[a->rank - 1])
        return SHAPE_INVALID(n, "sizes differ: %s solves no %s %s", mica_dims_text(a).chars,
                             mica_dims_text(b).chars,
                             mica_node_int(n, "left") ? "from the left" : "from the right");
    return shape_result(g, n, b);
}

MICA_SHAPE_RULE(cholesky) {
    MICA_TRY(check_square(n, 0));
    return shape_result(g, n, mica_operand_type(n, 0));
}

/* The type without its last `axes` axes. */
static mica_type leading_axes(const mica_type *type, int32_t axes) {
    mica_type out = *type;
    for (out.rank -= axes; axes > 0; axes--) out.dims[out.rank + axes - 1] = 0;
    return out;
}

static mica_type with_axis(mica_type type, int64_t size) {
    type.dims[type.rank++] = size;
    return type;
}

MICA_SHAPE_RULE(lu) {
    MICA_TRY(check_matrix(n, 0));
    const mica_type *x = mica_operand_type(n, 0);
    int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    if (rows > INT32_MAX)
        return SHAPE_INVALID(n, "the rows of %s do not fit i32", mica_dims_text(x).chars);
    mica_type batch = leading_axes(x, 2);
    batch.dtype = MICA_DTYPE_i32;
    mica_type types[] = {*x, with_axis(batch, rows < columns ? rows : columns),
                         with_axis(batch, rows)};
    return shape_results(g, n, types, 3);
}

MICA_SHAPE_RULE(qr) {
    MICA_TRY(check_matrix(n, 0));
    MICA_TRY(check_flag(n, "full"));
    const mica_type *x = mica_operand_type(n, 0);
    int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    int64_t inner = mica_node_int(n, "full") || rows < columns ? rows : columns;
    mica_type batch = leading_axes(x, 2);
    mica_type types[] = {with_axis(with_axis(batch, rows), inner),
                         with_axis(with_axis(batch, inner), columns)};
    return shape_results(g, n, types, 2);
}

/* Of values that are real even where the matrix is complex. */
static mica_type real_of(mica_type type) {
    if (type.dtype == MICA_DTYPE_c64) type.dtype = MICA_DTYPE_f32;
    if (type.dtype == MICA_DTYPE_c128) type.dtype = MICA_DTYPE_f64;
    return type;
}

MICA_SHAPE_RULE(eigh) {
    MICA_TRY(check_square(n, 0));
    const mica_type *x = mica_operand_type(n, 0);
    mica_type types[] = {real_of(leading_axes(x, 1)), *x};
    return shape_results(g, n, types, 2);
}

MICA_SHAPE_RULE(svd) {
    MICA_TRY(check_matrix(n, 0));
    MICA_TRY(check_flag(n, "full"));
    const mica_type *x = mica_operand_type(n, 0);
    int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    int64_t inner = rows < columns ? rows : columns;
    bool full = mica_node_int(n, "full") != 0;
    mica_type batch = leading_axes(x, 2);
    mica_type types[] = {with_axis(with_axis(batch, rows), full ? rows : inner),
                         real_of(with_axis(batch, inner)),
                         with_axis(with_axis(batch, full ? columns : inner), columns)};
    return shape_results(g, n, types, 3);
}

MICA_SHAPE_RULE(eig) {
    MICA_TRY(check_square(n, 0));
    mica_type vectors = *mica_operand_type(n, 0);
    bool narrow = vectors.dtype == MICA_DTYPE_f32 || vectors.dtype == MICA_DTYPE_c64;
    vectors.dtype = narrow ? MICA_DTYPE_c64 : MICA_DTYPE_c128;
    mica_type types[] = {leading_axes(&vectors, 1), vectors};
    return shape_results(g, n, types, 2);
}
