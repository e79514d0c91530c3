/* The verifier: everything ir/graph.h promises, checked anew. It changes nothing and infers the
 * results of every node again, in memory of its own. */
#include "ir/graph.h"
#include "ir/graph_list.h"

#define BROKEN(g, format, ...)                                                                     \
    MICA_ERROR(MICA_INTERNAL, "[verify] graph '%s': " format, (g)->name, __VA_ARGS__)

static mica_status check_value(const mica_graph *g, mica_value value, int32_t before,
                               const char *what, int32_t i) {
    const mica_node *node = value.node;
    if (!node) return BROKEN(g, "%s %d is null", what, i);
    if (node->graph != g) return BROKEN(g, "%s %d belongs to another graph", what, i);
    if (node->id < 0 || node->id >= before || g->nodes[node->id] != node)
        return BROKEN(g, "%s %d does not stand before its use", what, i);
    if (value.index < 0 || value.index >= node->n_results)
        return BROKEN(g, "%s %d is result %d of %d", what, i, value.index, node->n_results);
    return NULL;
}

static bool is_held(const mica_graph *g, const mica_graph *region) {
    for (int32_t i = 0; i < g->n_held; i++)
        if (g->held[i] == region) return true;
    return false;
}

static mica_status check_regions(const mica_graph *g, const mica_node *n) {
    for (int32_t i = 0; i < n->n_regions; i++) {
        if (!n->regions[i]) return BROKEN(g, "node %d has a null region", n->id);
        if (!is_held(g, n->regions[i]) || !n->regions[i]->is_region)
            return BROKEN(g, "region %d of node %d is not held", i, n->id);
    }
    return NULL;
}

static mica_status check_attrs(const mica_graph *g, const mica_node *n) {
    if (n->n_attrs != mica_op_describe(n->op)->n_attributes)
        return BROKEN(g, "node %d (%s) has %d attributes", n->id, mica_op_name(n->op), n->n_attrs);
    for (int32_t i = 0; i < n->n_attrs; i++) {
        const mica_attr *attr = &n->attrs[i];
        bool right = attr->kind == mica_op_attr_kind(n->op, i);
        if (right && attr->kind == MICA_ATTR_STRING) right = attr->as.string != NULL;
        if (right && attr->kind == MICA_ATTR_DTYPE)
            right = attr->as.integer >= 0 && attr->as.integer < MICA_DTYPE_COUNT;
        if (right && attr->kind == MICA_ATTR_DATA)
            right = !mica_type_bytes(&attr->as.data.type) || attr->as.data.bytes;
        if (!right)
            return BROKEN(g, "attribute %d of node %d (%s) is broken", i, n->id,
                          mica_op_name(n->op));
    }
    return NULL;
}

static mica_status check_results(mica_graph *scratch, const mica_graph *g, const mica_node *n) {
    mica_node again = *n;
    MICA_TRY(mica_node_infer(scratch, &again));
    if (again.n_results != n->n_results)
        return BROKEN(g, "node %d (%s) has %d results instead of %d", n->id, mica_op_name(n->op),
                      n->n_results, again.n_results);
    for (int32_t i = 0; i < n->n_results; i++)
        if (!mica_type_equal(&n->results[i], &again.results[i]))
            return BROKEN(g, "result %d of node %d (%s) is %s instead of %s", i, n->id,
                          mica_op_name(n->op), mica_type_text(&n->results[i]).chars,
                          mica_type_text(&again.results[i]).chars);
    return NULL;
}

static mica_status check_node(mica_graph *scratch, const mica_graph *g, int32_t i) {
    const mica_node *n = g->nodes[i];
    if (!n || n->id != i || n->graph != g) return BROKEN(g, "node %d is out of place", i);
    if (n->op == MICA_OP_PARAMETER) {
        if (n->n_results != 1 || n->n_operands || n->n_regions || n->n_attrs)
            return BROKEN(g, "parameter node %d has more than a result", i);
        return mica_type_check(&n->results[0], "parameter");
    }
    if (!mica_op_describe(n->op)) return BROKEN(g, "node %d has no op", i);
    for (int32_t k = 0; k < n->n_operands; k++)
        MICA_TRY(check_value(g, n->operands[k], i, mica_op_name(n->op), k));
    MICA_TRY(check_regions(g, n));
    MICA_TRY(check_attrs(g, n));
    return check_results(scratch, g, n);
}

static mica_status check_ends(const mica_graph *g) {
    int32_t n_parameters = 0, last = -1;
    for (int32_t i = 0; i < g->n_nodes; i++) n_parameters += g->nodes[i]->op == MICA_OP_PARAMETER;
    if (n_parameters != g->n_parameters)
        return BROKEN(g, "%d parameters and %d nodes for them", g->n_parameters, n_parameters);
    for (int32_t i = 0; i < g->n_parameters; i++) {
        MICA_TRY(check_value(g, g->parameters[i], g->n_nodes, "parameter", i));
        if (g->parameters[i].node->op != MICA_OP_PARAMETER || g->parameters[i].node->id <= last)
            return BROKEN(g, "parameter %d is out of order", i);
        last = g->parameters[i].node->id;
    }
    for (int32_t i = 0; i < g->n_outputs; i++)
        MICA_TRY(check_value(g, g->outputs[i], g->n_nodes, "output", i));
    return NULL;
}

static mica_status check_graph(const mica_graph *g) {
    MICA_TRY(mica_graph_check(g));
    mica_graph scratch = {.name = "scratch"};
    mica_arena_init(&scratch.arena);
    mica_status status = NULL;
    for (int32_t i = 0; !status && i < g->n_nodes; i++) status = check_node(&scratch, g, i);
    mica_arena_deinit(&scratch.arena);
    MICA_TRY(status);
    return check_ends(g);
}

mica_status mica_graph_verify(const mica_graph *g) {
    MICA_TRY(mica_graph_check(g));
    mica_graph_list list;
    MICA_TRY(mica_graph_list_collect(g, &list));
    mica_status status = NULL;
    for (int32_t i = 0; !status && i < list.n; i++) status = check_graph(list.graphs[i]);
    mica_graph_list_deinit(&list);
    return status;
}
