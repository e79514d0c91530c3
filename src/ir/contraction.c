/* What the body of a MICA_CONTRACTION may hold. */
#include "ir/contraction.h"

#define UNSUPPORTED(...) MICA_ERROR(MICA_UNSUPPORTED, "[contraction] " __VA_ARGS__)

static bool is_product(const mica_node *n) {
    return n->op == MICA_OP_dot || n->op == MICA_OP_conv;
}

static bool is_elementwise(const mica_node *n) {
    mica_op_class class = mica_op_class_of(n->op);
    return class == MICA_CLASS_MAP || class == MICA_CLASS_ELEMENTWISE;
}

static bool has_shape(const mica_type *type, const mica_type *product) {
    if (type->kind != MICA_TENSOR || type->rank != product->rank) return false;
    for (int32_t i = 0; i < type->rank; i++)
        if (type->dims[i] != product->dims[i]) return false;
    return true;
}

bool mica_contraction_takes(const mica_type *product, const mica_node *n) {
    if (!is_elementwise(n) || n->op == MICA_OP_reduce_precision || n->n_operands > 3) return false;
    bool takes = has_shape(&n->results[0], product) && mica_type_bytes(product) > 0 &&
                 mica_dtype_bytes(n->results[0].dtype) <= 8;
    for (int32_t i = 0; i < n->n_operands; i++)
        takes = takes && has_shape(mica_operand_type(n, i), product) &&
                mica_dtype_bytes(mica_operand_type(n, i)->dtype) <= 8;
    return takes;
}

static bool is_source(const mica_node *n) {
    return n->op == MICA_OP_PARAMETER || n->op == MICA_OP_constant;
}

static bool is_spread(const mica_node *n) {
    const mica_node *from = n->op == MICA_OP_broadcast ? n->operands[0].node : NULL;
    return from && is_source(from);
}

static mica_status check_node(const mica_node *n, const mica_node *product) {
    if (n->op == MICA_OP_PARAMETER || n == product) return NULL;
    if (n->op == MICA_OP_constant && mica_type_elements(&n->results[0]) == 1) return NULL;
    if (!product || n->id < product->id) {
        if (is_spread(n)) return NULL;
    } else if (mica_contraction_takes(&product->results[0], n) || is_spread(n)) {
        return NULL;
    }
    return UNSUPPORTED("%s cannot be part of it", mica_op_describe(n->op)->name);
}

mica_status mica_contraction_check(const mica_graph *body, const mica_node **out_product) {
    *out_product = NULL;
    const mica_node *product = NULL;
    int32_t n_nodes = 0;
    for (int32_t i = 0; i < body->n_nodes; i++) {
        if (is_product(body->nodes[i])) {
            if (product) return UNSUPPORTED("there is more than one product");
            product = body->nodes[i];
        }
        n_nodes += !is_source(body->nodes[i]);
    }
    if (!product) return UNSUPPORTED("there is no product");
    if (n_nodes > MICA_CONTRACTION_NODES) return UNSUPPORTED("%d nodes are too many", n_nodes);
    if (body->n_outputs > MICA_CONTRACTION_RESULTS || body->n_outputs == 0)
        return UNSUPPORTED("it has %d results", body->n_outputs);
    for (int32_t i = 0; i < 2; i++)
        if (product->operands[i].node->op != MICA_OP_PARAMETER)
            return UNSUPPORTED("an operand of the product is computed");
    for (int32_t i = 0; i < body->n_nodes; i++) MICA_TRY(check_node(body->nodes[i], product));
    for (int32_t i = 0; i < body->n_outputs; i++) {
        const mica_node *n = body->outputs[i].node;
        if (n != product && !is_elementwise(n)) return UNSUPPORTED("a result is not computed");
    }
    *out_product = product;
    return NULL;
}
