/* Shape rules of sort and top_k. */
#include <string.h>

#include "ir/shape.h"

MICA_SHAPE_RULE(sort);
MICA_SHAPE_RULE(top_k);

MICA_SHAPE_RULE(sort) {
    int64_t keys = mica_node_int(n, "keys");
    if (n->n_operands < 1) return SHAPE_INVALID(n, "needs at least %d operand", 1);
    const mica_type *x = mica_operand_type(n, 0);
    for (int32_t i = 1; i < n->n_operands; i++) {
        const mica_type *other = mica_operand_type(n, i);
        if (other->rank != x->rank ||
            memcmp(other->dims, x->dims, (size_t)x->rank * sizeof *x->dims))
            return SHAPE_INVALID(n, "operands 0 and %d have shapes %s and %s", i,
                                 mica_dims_text(x).chars, mica_dims_text(other).chars);
    }
    MICA_TRY(shape_axis(n, mica_node_int(n, "axis"), x));
    if (keys < 1 || keys > n->n_operands)
        return SHAPE_INVALID(n, "keys is %lld with %d operands", (long long)keys, n->n_operands);
    MICA_TRY(shape_flag(n, "descending"));
    mica_type *types = mica_arena_alloc(&g->arena, (size_t)n->n_operands * sizeof *types);
    if (!types) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n->n_operands; i++) types[i] = *mica_operand_type(n, i);
    return shape_results(g, n, types, n->n_operands);
}

MICA_SHAPE_RULE(top_k) {
    const mica_type *x = mica_operand_type(n, 0);
    int64_t k = mica_node_int(n, "k");
    if (x->rank < 1) return SHAPE_INVALID(n, "%s has no last axis", mica_type_text(x).chars);
    int64_t size = x->dims[x->rank - 1];
    if (k < 0 || k > size)
        return SHAPE_INVALID(n, "k is %lld; the last axis of %s has %lld elements", (long long)k,
                             mica_dims_text(x).chars, (long long)size);
    if (size > INT32_MAX)
        return SHAPE_INVALID(n, "indices along the last axis of %s do not fit i32",
                             mica_dims_text(x).chars);
    mica_type types[] = {*x, *x};
    types[0].dims[x->rank - 1] = types[1].dims[x->rank - 1] = k;
    types[1].dtype = MICA_DTYPE_i32;
    return shape_results(g, n, types, 2);
}
