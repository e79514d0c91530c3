/* Whether runs of a function may be arranged anew: side by side, or many as one. */
#include "tf/tf.h"

/* Reads what others may change, or what lies outside; two of them do not disturb each other. */
static bool only_reads(const mica_tf_operation *o) {
    mica_tf_effect effect = mica_tf_rows[o->op].effect;
    return effect == MICA_TF_CHECK || effect == MICA_TF_READS ||
           mica_tf_is_a(o, MICA_TF_CATEGORY_READ);
}

/* Has an effect only where its functions have. */
static bool is_call(const mica_tf_operation *o) {
    return mica_tf_is_a(o, MICA_TF_CATEGORY_CALL) || mica_tf_is_a(o, MICA_TF_CATEGORY_BRANCH) ||
           mica_tf_is_a(o, MICA_TF_CATEGORY_LOOP) || o->op == MICA_TF_ReduceDataset;
}

/* A draw of one size: what it takes from its generator is known before it runs. */
static bool draws_alike(const mica_tf_node *node) {
    if (!mica_tf_traits_of[node->operation->op].draws_by_size) return false;
    const mica_tf_shape *shape = &node->shapes[0];
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0) return false;
    return shape->rank >= 0;
}

static mica_tf_order later_of(mica_tf_order a, mica_tf_order b) {
    return a > b ? a : b;
}

/* A draw inside may happen any number of times, and a dataset that is made inside draws when it is
 * iterated over. */
static mica_tf_order order_inside(const mica_tf_operation *o) {
    mica_tf_order order = MICA_TF_ANY_ORDER;
    for (int32_t i = 0; i < o->info->n_attrs; i++) {
        bool one = o->info->attrs[i].kind == MICA_TF_FUNCTION;
        bool many = o->info->attrs[i].kind == MICA_TF_FUNCTIONS;
        for (int32_t k = 0; k < (one ? 1 : many ? o->attrs[i].n : 0); k++)
            order = later_of(order, mica_tf_graph_order(one ? o->attrs[i].as.function
                                                            : o->attrs[i].as.functions[k]));
    }
    return order == MICA_TF_ANY_ORDER ? order : MICA_TF_IN_ORDER;
}

static mica_tf_order order_of(const mica_tf_node *node) {
    const mica_tf_operation *o = node->operation;
    if (!o) return MICA_TF_ANY_ORDER;
    if (mica_tf_rows[o->op].effect == MICA_TF_RANDOM)
        return draws_alike(node) ? MICA_TF_DRAWS : MICA_TF_IN_ORDER;
    bool is_free = mica_tf_rows[o->op].effect == MICA_TF_PURE || only_reads(o) || is_call(o);
    return is_free ? order_inside(o) : MICA_TF_IN_ORDER;
}

mica_tf_order mica_tf_graph_order(const mica_tf_graph *g) {
    mica_tf_order order = MICA_TF_ANY_ORDER;
    for (int32_t i = 0; g && i < g->n_nodes && order != MICA_TF_IN_ORDER; i++)
        order = later_of(order, order_of(&g->nodes[i]));
    return order;
}
