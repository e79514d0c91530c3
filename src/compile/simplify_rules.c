#include "compile/simplify_rules.h"

#include <string.h>

/* ---- values that are one number throughout ----------------------------------------------------*/

/* The bytes of the element that all elements of v equal, or NULL. */
static const void *splat_bytes(mica_value v) {
    const mica_node *n = v.node;
    while (n->op == MICA_OP_broadcast || n->op == MICA_OP_reshape) n = n->operands[0].node;
    if (n->op != MICA_OP_constant || n->results[0].kind != MICA_TENSOR) return NULL;
    return mica_type_elements(&n->results[0]) == 1 ? n->attrs[0].as.data.bytes : NULL;
}

typedef enum number { ZERO, MINUS_ZERO, ONE } number;

/* The bits of a number in each dtype; false where it has none. */
static bool number_bits(mica_dtype dtype, number which, uint64_t *out_bits) {
    mica_dtype_kind kind = mica_dtype_kind_of(dtype);
    *out_bits = 0;
    if (kind == MICA_KIND_SIGNED || kind == MICA_KIND_UNSIGNED) {
        *out_bits = which == ONE;
        return true;
    }
    if (kind != MICA_KIND_FLOAT) return false;
    size_t bytes = mica_dtype_bytes(dtype);
    if (which == MINUS_ZERO) *out_bits = UINT64_C(1) << (bytes * 8 - 1);
    if (which != ONE) return true;
    switch ((int)dtype) {
    case MICA_DTYPE_f16: *out_bits = 0x3c00; return true;
    case MICA_DTYPE_bf16: *out_bits = 0x3f80; return true;
    case MICA_DTYPE_f32: *out_bits = 0x3f800000; return true;
    case MICA_DTYPE_f64: *out_bits = UINT64_C(0x3ff0000000000000); return true;
    default: return false;
    }
}

static bool is_number(mica_value v, number which) {
    const void *bytes = splat_bytes(v);
    mica_dtype dtype = mica_value_type(v)->dtype;
    uint64_t wanted, found = 0;
    if (!bytes || mica_dtype_bytes(dtype) > 8 || !number_bits(dtype, which, &wanted)) return false;
    for (size_t i = 0; i < mica_dtype_bytes(dtype); i++)
        found |= (uint64_t)((const uint8_t *)bytes)[i] << 8 * i;
    return found == wanted;
}

/* ---- rules ------------------------------------------------------------------------------------*/

static bool all_are(mica_ints values, int64_t wanted) {
    for (int32_t i = 0; i < values.n; i++)
        if (values.data[i] != wanted) return false;
    return true;
}

static bool counts_up(mica_ints values) {
    for (int32_t i = 0; i < values.n; i++)
        if (values.data[i] != i) return false;
    return true;
}

/* Operations on shapes that give back their operand. */
static bool is_identity(const mica_node *n) {
    if (n->n_operands == 0 || !mica_type_equal(&n->results[0], mica_operand_type(n, 0)))
        return false;
    switch ((int)n->op) {
    case MICA_OP_reshape:
    case MICA_OP_bitcast:
    case MICA_OP_real:
    case MICA_OP_convert: return true;
    case MICA_OP_conj: return mica_dtype_kind_of(n->results[0].dtype) != MICA_KIND_COMPLEX;
    case MICA_OP_broadcast: return counts_up(mica_node_ints(n, "axes"));
    case MICA_OP_transpose: return counts_up(mica_node_ints(n, "permutation"));
    case MICA_OP_slice: return all_are(mica_node_ints(n, "stride"), 1);
    case MICA_OP_pad:
        return all_are(mica_node_ints(n, "low"), 0) && all_are(mica_node_ints(n, "high"), 0) &&
               all_are(mica_node_ints(n, "interior"), 0);
    case MICA_OP_concat: return n->n_operands == 1;
    case MICA_OP_reverse: return mica_node_ints(n, "axes").n == 0;
    default: return false;
    }
}

/* x - 0, x + -0, x * 1, x / 1 and their mirror images: exact for every x. */
static mica_value neutral(const mica_node *n) {
    mica_value a = n->operands[0], b = n->operands[1];
    mica_dtype_kind kind = mica_dtype_kind_of(n->results[0].dtype);
    number zero = kind == MICA_KIND_FLOAT ? MINUS_ZERO : ZERO;
    switch ((int)n->op) {
    case MICA_OP_add: return is_number(b, zero) ? a : is_number(a, zero) ? b : MICA_NULL_VALUE;
    case MICA_OP_sub: return is_number(b, ZERO) ? a : MICA_NULL_VALUE;
    case MICA_OP_mul: return is_number(b, ONE) ? a : is_number(a, ONE) ? b : MICA_NULL_VALUE;
    case MICA_OP_div: return is_number(b, ONE) ? a : MICA_NULL_VALUE;
    case MICA_OP_max:
    case MICA_OP_min:
    case MICA_OP_and:
    case MICA_OP_or: return mica_value_same(a, b) ? a : MICA_NULL_VALUE;
    default: return MICA_NULL_VALUE;
    }
}

/* op(op(x)) is x. */
static mica_value undone_twice(const mica_node *n) {
    const mica_node *inner = n->operands[0].node;
    return inner->op == n->op ? inner->operands[0] : MICA_NULL_VALUE;
}

/* real and imag of complex(a, b). */
static mica_value part_of_complex(const mica_node *n, int32_t which) {
    const mica_node *inner = n->operands[0].node;
    return inner->op == MICA_OP_complex ? inner->operands[which] : MICA_NULL_VALUE;
}

/* complex(real(z), imag(z)). */
static mica_value whole_of_parts(const mica_node *n) {
    const mica_node *a = n->operands[0].node, *b = n->operands[1].node;
    if (a->op != MICA_OP_real || b->op != MICA_OP_imag) return MICA_NULL_VALUE;
    bool same = mica_value_same(a->operands[0], b->operands[0]) &&
                mica_type_equal(mica_operand_type(a, 0), &n->results[0]);
    return same ? a->operands[0] : MICA_NULL_VALUE;
}

static mica_value joined_reshape(mica_graph *g, const mica_node *n) {
    const mica_node *inner = n->operands[0].node;
    if (inner->op != MICA_OP_reshape) return MICA_NULL_VALUE;
    return mica_reshape(g, inner->operands[0], mica_node_ints(n, "shape"));
}

static mica_value joined_transpose(mica_graph *g, const mica_node *n) {
    const mica_node *inner = n->operands[0].node;
    if (inner->op != MICA_OP_transpose) return MICA_NULL_VALUE;
    mica_ints outer = mica_node_ints(n, "permutation"),
              first = mica_node_ints(inner, "permutation");
    int64_t permutation[MICA_MAX_RANK];
    for (int32_t i = 0; i < outer.n; i++) permutation[i] = first.data[outer.data[i]];
    return mica_transpose(g, inner->operands[0], (mica_ints){permutation, outer.n});
}

/* The operand's axes under a transpose: axis i of the transposed is axis permutation[i]. */
static void look_through(mica_ints axes, mica_ints permutation, int64_t *out) {
    for (int32_t i = 0; i < axes.n; i++) out[i] = permutation.data[axes.data[i]];
}

/* Axes that are neither contracted nor batched keep their order, so the result's axes do. */
static bool keeps_order(mica_ints permutation, mica_ints contract, mica_ints batch) {
    uint32_t taken = 0;
    int64_t last = -1;
    for (int32_t i = 0; i < contract.n; i++) taken |= 1u << contract.data[i];
    for (int32_t i = 0; i < batch.n; i++) taken |= 1u << batch.data[i];
    for (int32_t i = 0; i < permutation.n; i++) {
        if (taken >> i & 1) continue;
        if (permutation.data[i] < last) return false;
        last = permutation.data[i];
    }
    return true;
}

/* dot of a transposed operand: the same products, summed in the same order, with other axes. */
static mica_value folded_transpose(mica_graph *g, const mica_node *n) {
    mica_ints axes[4] = {mica_node_ints(n, "lhs_contract"), mica_node_ints(n, "rhs_contract"),
                         mica_node_ints(n, "lhs_batch"), mica_node_ints(n, "rhs_batch")};
    int64_t room[4][MICA_MAX_RANK];
    mica_value operands[2] = {n->operands[0], n->operands[1]};
    bool any = false;
    for (int32_t k = 0; k < 2; k++) {
        const mica_node *inner = operands[k].node;
        if (inner->op != MICA_OP_transpose) continue;
        mica_ints permutation = mica_node_ints(inner, "permutation");
        if (!keeps_order(permutation, axes[k], axes[k + 2])) continue;
        for (int32_t i = k; i < 4; i += 2) {
            look_through(axes[i], permutation, room[i]);
            axes[i].data = room[i];
        }
        operands[k] = inner->operands[0];
        any = true;
    }
    if (!any) return MICA_NULL_VALUE;
    return mica_dot(g, operands[0], operands[1], axes[0], axes[1], axes[2], axes[3]);
}

mica_value mica_simplify_rule(mica_graph *g, const mica_node *n) {
    if (is_identity(n)) return n->operands[0];
    switch ((int)n->op) {
    case MICA_OP_neg:
    case MICA_OP_conj:
    case MICA_OP_not: return undone_twice(n);
    case MICA_OP_real: return part_of_complex(n, 0);
    case MICA_OP_imag: return part_of_complex(n, 1);
    case MICA_OP_complex: return whole_of_parts(n);
    case MICA_OP_reshape: return joined_reshape(g, n);
    case MICA_OP_transpose: return joined_transpose(g, n);
    case MICA_OP_dot: return folded_transpose(g, n);
    case MICA_OP_select:
        return mica_value_same(n->operands[1], n->operands[2]) ? n->operands[1] : MICA_NULL_VALUE;
    default: return n->n_operands == 2 ? neutral(n) : MICA_NULL_VALUE;
    }
}
