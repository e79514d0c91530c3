/* Shape rules of linear algebra: matrices are the last two axes, the axes before are a batch. */
#include "ir/shape.h"

MICA_SHAPE_RULE(triangular_solve);
MICA_SHAPE_RULE(cholesky);

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
