/* Shape rules of elementwise ops: all operands have one shape; builders broadcast before. */
#include <string.h>

#include "ir/numbers.h"
#include "ir/shape.h"

MICA_SHAPE_RULE(same);
MICA_SHAPE_RULE(abs);
MICA_SHAPE_RULE(part);
MICA_SHAPE_RULE(complex);
MICA_SHAPE_RULE(is_finite);
MICA_SHAPE_RULE(compare);
MICA_SHAPE_RULE(select);
MICA_SHAPE_RULE(convert);
MICA_SHAPE_RULE(reduce_precision);

mica_status shape_elementwise_dtypes(mica_op op, const mica_type *const *types, int32_t n_types) {
    const char *name = mica_op_name(op);
    for (int32_t i = 0; i < n_types; i++)
        if (types[i]->kind != MICA_TENSOR)
            return MICA_INVALID("[%s] operand %d must be a tensor, not %s", name, i,
                                mica_type_text(types[i]).chars);
    int32_t first = op == MICA_OP_select ? 1 : 0;
    if (first && n_types && types[0]->dtype != MICA_DTYPE_bool)
        return MICA_INVALID("[%s] the predicate must be bool, not %s", name,
                            mica_type_text(types[0]).chars);
    for (int32_t i = first + 1; i < n_types; i++)
        if (types[i]->dtype != types[first]->dtype)
            return MICA_INVALID("[%s] dtypes differ: %s and %s", name,
                                mica_type_text(types[first]).chars, mica_type_text(types[i]).chars);
    return NULL;
}

/* All operands agree; *out_type is the type of the last. */
static mica_status common_type(const mica_node *n, mica_type *out_type) {
    const mica_type *types[3];
    for (int32_t i = 0; i < n->n_operands; i++) types[i] = mica_operand_type(n, i);
    MICA_TRY(shape_elementwise_dtypes(n->op, types, n->n_operands));
    *out_type = *types[n->n_operands - 1];
    for (int32_t i = 0; i + 1 < n->n_operands; i++) {
        mica_type other = *types[i];
        other.dtype = out_type->dtype;
        if (!mica_type_equal(&other, out_type))
            return SHAPE_INVALID(n, "shapes differ: %s and %s", mica_dims_text(&other).chars,
                                 mica_dims_text(out_type).chars);
    }
    return NULL;
}

MICA_SHAPE_RULE(same) {
    mica_type type;
    MICA_TRY(common_type(n, &type));
    return shape_result(g, n, &type);
}

/* Of complex numbers a float. */
MICA_SHAPE_RULE(part) {
    mica_type type;
    MICA_TRY(common_type(n, &type));
    type.dtype = mica_number_part(type.dtype);
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(abs) {
    return shape_part(g, n);
}

MICA_SHAPE_RULE(complex) {
    mica_type type;
    MICA_TRY(common_type(n, &type));
    type.dtype = type.dtype == MICA_DTYPE_f32 ? MICA_DTYPE_c64 : MICA_DTYPE_c128;
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(is_finite) {
    mica_type type;
    MICA_TRY(common_type(n, &type));
    type.dtype = MICA_DTYPE_bool;
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(compare) {
    static const char *const directions[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    mica_type type;
    MICA_TRY(common_type(n, &type));
    const char *direction = mica_node_string(n, "direction");
    size_t i = 0, count = sizeof directions / sizeof *directions;
    while (i < count && strcmp(direction, directions[i]) != 0) i++;
    if (i == count)
        return SHAPE_INVALID(n, "direction '%s' is none of eq ne lt le gt ge", direction);
    if (i >= 2 && mica_dtype_kind_of(type.dtype) == MICA_KIND_COMPLEX)
        return SHAPE_INVALID(n, "%s has no order for '%s'", mica_type_text(&type).chars, direction);
    type.dtype = MICA_DTYPE_bool;
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(select) {
    mica_type type;
    MICA_TRY(common_type(n, &type));
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(convert) {
    mica_type type = *mica_operand_type(n, 0);
    type.dtype = (mica_dtype)mica_node_int(n, "dtype");
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(reduce_precision) {
    int64_t exponent = mica_node_int(n, "exponent_bits"),
            mantissa = mica_node_int(n, "mantissa_bits");
    if (exponent < 2 || exponent > 11)
        return SHAPE_INVALID(n, "exponent_bits must be 2 to 11, not %lld", (long long)exponent);
    if (mantissa < 1 || mantissa > 52)
        return SHAPE_INVALID(n, "mantissa_bits must be 1 to 52, not %lld", (long long)mantissa);
    mica_type type;
    MICA_TRY(common_type(n, &type));
    return shape_result(g, n, &type);
}
