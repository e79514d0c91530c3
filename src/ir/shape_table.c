/* The table of shape rules, what the table of ops checks by itself, and helpers of the rules. */
#include <string.h>

#include "ir/shape.h"

#define MICA_OP(name, arity, class, dtypes, attributes, shape, ...) MICA_SHAPE_RULE(shape);
#include "mica/ops.def"
#undef MICA_OP

const mica_shape_rule mica_shape_rules[MICA_OP_COUNT] = {
#define MICA_OP(name, arity, class, dtypes, attributes, shape, ...) shape_##shape,
#include "mica/ops.def"
#undef MICA_OP
};

/* Tokens and lists go through control and host ops only. */
static mica_status check_operands(const mica_node *n) {
    const mica_op_info *info = mica_op_describe(n->op);
    if (info->arity >= 0 && n->n_operands != info->arity)
        return SHAPE_INVALID(n, "takes %d operands, not %d", info->arity, n->n_operands);
    mica_op_class class = mica_op_class_of(n->op);
    if (class != MICA_CLASS_CONTROL && n->n_regions != 0)
        return SHAPE_INVALID(n, "takes no regions, not %d", n->n_regions);
    if (class == MICA_CLASS_CONTROL || class == MICA_CLASS_HOST) return NULL;
    for (int32_t i = 0; i < n->n_operands; i++) {
        const mica_type *type = mica_operand_type(n, i);
        if (type->kind != MICA_TENSOR)
            return SHAPE_INVALID(n, "operand %d must be a tensor, not %s", i,
                                 mica_type_text(type).chars);
        if (!mica_dtype_in_set(type->dtype, mica_op_dtype_set(n->op)))
            return SHAPE_INVALID(n, "operand %d is %s; the op takes %s%s", i,
                                 mica_type_text(type).chars, info->dtypes,
                                 mica_dtype_kind_of(type->dtype) == MICA_KIND_FLOAT8
                                     ? ": 8-bit floats move and convert, so convert to f32 first"
                                     : "");
    }
    return NULL;
}

mica_status mica_node_infer(mica_graph *g, mica_node *n) {
    MICA_TRY(check_operands(n));
    return mica_shape_rules[n->op](g, n);
}

mica_status shape_results(mica_graph *g, mica_node *n, const mica_type *types, int32_t count) {
    for (int32_t i = 0; i < count; i++) MICA_TRY(mica_type_check(&types[i], mica_op_name(n->op)));
    n->results = mica_arena_copy(&g->arena, types, (size_t)count * sizeof *types);
    if (!n->results) return MICA_NO_MEMORY();
    n->n_results = count;
    return NULL;
}

mica_status shape_result(mica_graph *g, mica_node *n, const mica_type *type) {
    return shape_results(g, n, type, 1);
}

mica_status shape_of_attribute(const mica_node *n, const char *name, mica_dtype dtype,
                               mica_type *out_type) {
    mica_ints dims = mica_node_ints(n, name);
    *out_type = mica_type_make(dtype, dims);
    if (dims.n > MICA_MAX_RANK)
        return SHAPE_INVALID(n, "%s has %d axes; the limit is %d", name, dims.n, MICA_MAX_RANK);
    if (out_type->rank < 0)
        return SHAPE_INVALID(n, "%s has a negative size: %s", name, mica_ints_text(dims).chars);
    return mica_type_check(out_type, mica_op_name(n->op));
}

mica_status shape_axis(const mica_node *n, int64_t axis, const mica_type *type) {
    if (axis >= 0 && axis < type->rank) return NULL;
    return SHAPE_INVALID(n, "axis %lld is out of range for %s", (long long)axis,
                         mica_dims_text(type).chars);
}

mica_status shape_axes(const mica_node *n, const char *name, mica_ints axes, const mica_type *type,
                       uint32_t *out_set) {
    uint32_t set = 0;
    for (int32_t i = 0; i < axes.n; i++) {
        if (axes.data[i] < 0 || axes.data[i] >= type->rank)
            return SHAPE_INVALID(n, "%s %s are out of range for %s", name,
                                 mica_ints_text(axes).chars, mica_dims_text(type).chars);
        if (set & 1u << axes.data[i])
            return SHAPE_INVALID(n, "%s %s name an axis twice", name, mica_ints_text(axes).chars);
        set |= 1u << axes.data[i];
    }
    if (out_set) *out_set = set;
    return NULL;
}

mica_status shape_length(const mica_node *n, const char *name, int32_t rank) {
    mica_ints ints = mica_node_ints(n, name);
    if (ints.n == rank) return NULL;
    return SHAPE_INVALID(n, "%s %s must have %d entries", name, mica_ints_text(ints).chars, rank);
}

mica_status shape_flag(const mica_node *n, const char *name) {
    int64_t value = mica_node_int(n, name);
    if (value == 0 || value == 1) return NULL;
    return SHAPE_INVALID(n, "%s must be 0 or 1, not %lld", name, (long long)value);
}
