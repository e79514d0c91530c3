/* Cotangents that are zero but for a strip each: a value that was cut into parts gets one from
 * every part. Strips side by side are put together instead of being padded and added; what is zero
 * but at places that indices name is added there, so that a sum over many such is not a sum over
 * all elements for each. */
#include <string.h>

#include "transform/transform.h"

enum { MOST_PARTS = 64 };

/* A value of some size along an axis, with `low` zeros before it and `high` after it. */
typedef struct strip {
    mica_value value;
    int32_t axis;
    int64_t low, size, high;
} strip;

static bool is_zero_constant(mica_value v) {
    if (v.node->op != MICA_OP_constant) return false;
    const mica_attr *value = mica_node_attr(v.node, "value");
    const char *bytes = value->as.data.bytes;
    size_t n = mica_type_bytes(&value->as.data.type);
    for (size_t i = 0; i < n; i++)
        if (bytes[i]) return false;
    return true;
}

static bool find_strip(mica_value v, strip *out) {
    const mica_node *n = v.node;
    if (n->op != MICA_OP_pad || !is_zero_constant(n->operands[1])) return false;
    const mica_type *type = mica_operand_type(n, 0);
    mica_ints low = mica_node_ints(n, "low"), high = mica_node_ints(n, "high");
    mica_ints interior = mica_node_ints(n, "interior");
    *out = (strip){.value = n->operands[0], .axis = -1};
    for (int32_t i = 0; i < low.n; i++) {
        if (interior.data[i] || low.data[i] < 0 || high.data[i] < 0) return false;
        if (!low.data[i] && !high.data[i]) continue;
        if (out->axis >= 0) return false;
        out->axis = i;
        out->low = low.data[i];
        out->size = type->dims[i];
        out->high = high.data[i];
    }
    return out->axis >= 0;
}

/* The parts that a strip was put together from. */
static int32_t add_parts(const strip *s, mica_value *parts, int32_t n) {
    const mica_node *node = s->value.node;
    if (node->op != MICA_OP_concat || mica_node_int(node, "axis") != s->axis) {
        if (n < MOST_PARTS) parts[n] = s->value;
        return n + 1;
    }
    for (int32_t i = 0; i < node->n_operands; i++, n++)
        if (n < MOST_PARTS) parts[n] = node->operands[i];
    return n;
}

mica_value mica_join_strips(mica_graph *g, mica_value a, mica_value b) {
    strip first, second;
    mica_value parts[MOST_PARTS];
    if (!find_strip(a, &first) || !find_strip(b, &second) || first.axis != second.axis)
        return MICA_NULL_VALUE;
    if (second.low < first.low) {
        strip other = first;
        first = second;
        second = other;
    }
    if (first.low + first.size != second.low) return MICA_NULL_VALUE;
    int32_t n = add_parts(&second, parts, add_parts(&first, parts, 0));
    if (n > MOST_PARTS) return MICA_NULL_VALUE;
    mica_value joined = mica_concat(g, parts, n, first.axis);
    if (!first.low && !second.high) return joined;
    int64_t low[MICA_MAX_RANK] = {0}, high[MICA_MAX_RANK] = {0}, none[MICA_MAX_RANK] = {0};
    const mica_type *type = mica_value_type(a);
    low[first.axis] = first.low;
    high[first.axis] = second.high;
    return mica_pad(g, joined, mica_scalar(g, type->dtype, 0), (mica_ints){low, type->rank},
                    (mica_ints){high, type->rank}, (mica_ints){none, type->rank});
}

static bool is_zeros(mica_value v) {
    return is_zero_constant(v.node->op == MICA_OP_broadcast ? v.node->operands[0] : v);
}

/* all + part, where part is zeros with something at some places; else null. */
static mica_value add_at_places(mica_graph *g, mica_value all, mica_value part) {
    const mica_node *n = part.node;
    bool scatters = n->op == MICA_OP_scatter && !strcmp(mica_node_string(n, "kind"), "add");
    if ((!scatters && n->op != MICA_OP_dynamic_update_slice) || !is_zeros(n->operands[0]) ||
        !mica_type_equal(mica_value_type(all), mica_value_type(part)))
        return MICA_NULL_VALUE;
    mica_value operands[] = {all, n->operands[1], n->operands[2]};
    if (!scatters) {
        const mica_type *update = mica_operand_type(n, 1);
        mica_value before =
            mica_dynamic_slice(g, all, operands[2], (mica_ints){update->dims, update->rank});
        operands[1] = mica_add(g, before, operands[1]);
    }
    return mica_like(g, n, operands);
}

mica_value mica_sum_at_places(mica_graph *g, mica_value a, mica_value b) {
    mica_value sum = add_at_places(g, a, b);
    return mica_is_zero(sum) ? add_at_places(g, b, a) : sum;
}
