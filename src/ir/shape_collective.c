/* Shape rules of collectives. Who takes part is not known here; that there are as many participants
 * as an attribute says is checked when the axis is bound. */
#include <string.h>

#include "ir/shape.h"

MICA_SHAPE_RULE(axis_index);
MICA_SHAPE_RULE(all_reduce);
MICA_SHAPE_RULE(all_gather);
MICA_SHAPE_RULE(reduce_scatter);
MICA_SHAPE_RULE(permute);
MICA_SHAPE_RULE(broadcast_from);

static mica_status check_axis_name(const mica_node *n) {
    if (*mica_node_string(n, "axis")) return NULL;
    return SHAPE_INVALID(n, "the axis has no %s", "name");
}

static mica_status check_kind(const mica_node *n) {
    const char *kind = mica_node_string(n, "kind");
    const mica_type *x = mica_operand_type(n, 0);
    if (!strcmp(kind, "sum")) return NULL;
    if (strcmp(kind, "max") && strcmp(kind, "min"))
        return SHAPE_INVALID(n, "kind '%s' is none of sum max min", kind);
    if (mica_dtype_kind_of(x->dtype) != MICA_KIND_COMPLEX) return NULL;
    return SHAPE_INVALID(n, "%s has no order for '%s'", mica_type_text(x).chars, kind);
}

static mica_status check_size(const mica_node *n) {
    MICA_TRY(check_axis_name(n));
    int64_t size = mica_node_int(n, "size");
    if (size >= 1) return NULL;
    return SHAPE_INVALID(n, "an axis of %lld participants", (long long)size);
}

MICA_SHAPE_RULE(axis_index) {
    MICA_TRY(check_axis_name(n));
    mica_type type = mica_type_scalar(MICA_DTYPE_i32);
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(all_reduce) {
    MICA_TRY(check_axis_name(n));
    MICA_TRY(check_kind(n));
    return shape_result(g, n, mica_operand_type(n, 0));
}

MICA_SHAPE_RULE(all_gather) {
    mica_type type = *mica_operand_type(n, 0);
    int64_t dim = mica_node_int(n, "dim"), size = mica_node_int(n, "size");
    MICA_TRY(check_size(n));
    MICA_TRY(shape_axis(n, dim, &type));
    if (__builtin_mul_overflow(type.dims[dim], size, &type.dims[dim]))
        return SHAPE_INVALID(n, "%lld participants with %s give too large an array",
                             (long long)size, mica_dims_text(mica_operand_type(n, 0)).chars);
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(reduce_scatter) {
    mica_type type = *mica_operand_type(n, 0);
    int64_t dim = mica_node_int(n, "dim"), size = mica_node_int(n, "size");
    MICA_TRY(check_size(n));
    MICA_TRY(check_kind(n));
    MICA_TRY(shape_axis(n, dim, &type));
    if (type.dims[dim] % size)
        return SHAPE_INVALID(n, "axis %lld of %s cannot be cut into %lld equal parts",
                             (long long)dim, mica_dims_text(&type).chars, (long long)size);
    type.dims[dim] /= size;
    return shape_result(g, n, &type);
}

/* Participants in range, none of them twice. */
static mica_status check_participants(const mica_node *n, const char *name) {
    mica_ints who = mica_node_ints(n, name);
    int64_t size = mica_node_int(n, "size");
    for (int32_t i = 0; i < who.n; i++) {
        if (who.data[i] < 0 || who.data[i] >= size)
            return SHAPE_INVALID(n, "%s %s with %lld participants", name, mica_ints_text(who).chars,
                                 (long long)size);
        for (int32_t k = 0; k < i; k++)
            if (who.data[k] == who.data[i])
                return SHAPE_INVALID(n, "%s %s name a participant twice", name,
                                     mica_ints_text(who).chars);
    }
    return NULL;
}

MICA_SHAPE_RULE(permute) {
    mica_ints sources = mica_node_ints(n, "sources"), targets = mica_node_ints(n, "targets");
    MICA_TRY(check_size(n));
    if (sources.n != targets.n)
        return SHAPE_INVALID(n, "%d sources for %d targets", sources.n, targets.n);
    MICA_TRY(check_participants(n, "sources"));
    MICA_TRY(check_participants(n, "targets"));
    return shape_result(g, n, mica_operand_type(n, 0));
}

MICA_SHAPE_RULE(broadcast_from) {
    int64_t source = mica_node_int(n, "source"), size = mica_node_int(n, "size");
    MICA_TRY(check_size(n));
    if (source < 0 || source >= size)
        return SHAPE_INVALID(n, "source %lld with %lld participants", (long long)source,
                             (long long)size);
    return shape_result(g, n, mica_operand_type(n, 0));
}
