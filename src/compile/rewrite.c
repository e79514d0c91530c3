#include "compile/rewrite.h"

mica_status mica_rewrite_begin(mica_rewrite *w, const mica_graph *from) {
    *w = (mica_rewrite){.from = from};
    size_t n = 0;
    for (int32_t i = 0; i < from->n_nodes; i++) n += (size_t)from->nodes[i]->n_results;
    w->first = mica_alloc(sizeof *w->first * (size_t)from->n_nodes);
    w->values = mica_calloc(n, sizeof *w->values);
    mica_status status =
        w->first && w->values ? mica_graph_create(from->name, &w->to) : MICA_NO_MEMORY();
    if (status) {
        mica_free(w->first);
        mica_free(w->values);
        return status;
    }
    int32_t next = 0;
    for (int32_t i = 0; i < from->n_nodes; i++)
        w->first[i] = next, next += from->nodes[i]->n_results;
    for (int32_t i = 0; i < from->n_parameters; i++)
        *mica_rewrite_slot(w, from->parameters[i]) =
            mica_parameter(w->to, mica_value_type(from->parameters[i]));
    return NULL;
}

static mica_node *create_node(mica_rewrite *w, const mica_node *n, const mica_value *operands,
                              mica_region_rule rule) {
    if (!n->n_regions || !rule) return mica_node_clone(w->to, n, operands);
    mica_graph **regions = mica_calloc((size_t)n->n_regions, sizeof *regions);
    mica_status status = regions ? NULL : MICA_NO_MEMORY();
    for (int32_t i = 0; i < n->n_regions && !status; i++) status = rule(n->regions[i], &regions[i]);
    mica_node *made = NULL;
    if (status)
        mica_graph_fail(w->to, status);
    else
        made = mica_node_create(w->to, n->op, operands, n->n_operands, n->attrs, regions,
                                n->n_regions);
    for (int32_t i = 0; regions && i < n->n_regions; i++) mica_graph_release(regions[i]);
    mica_free(regions);
    return made;
}

mica_node *mica_rewrite_node(mica_rewrite *w, const mica_node *n, mica_region_rule rule) {
    mica_value *operands = mica_alloc(sizeof *operands * (size_t)n->n_operands);
    if (!operands) {
        mica_graph_fail(w->to, MICA_NO_MEMORY());
        return NULL;
    }
    for (int32_t i = 0; i < n->n_operands; i++) operands[i] = *mica_rewrite_slot(w, n->operands[i]);
    mica_node *made = create_node(w, n, operands, rule);
    mica_free(operands);
    return made;
}

void mica_rewrite_keep(mica_rewrite *w, const mica_node *n, mica_node *made) {
    if (made && !made->line) made->line = n->line;
    for (int32_t i = 0; i < n->n_results; i++)
        w->values[w->first[n->id] + i] = made ? mica_node_result(made, i) : MICA_NULL_VALUE;
}

mica_status mica_rewrite_end(mica_rewrite *w, mica_graph **out_graph) {
    for (int32_t i = 0; i < w->from->n_outputs; i++)
        mica_output(w->to, *mica_rewrite_slot(w, w->from->outputs[i]));
    mica_status status = mica_graph_check(w->to);
    if (status)
        mica_graph_release(w->to);
    else
        *out_graph = w->to;
    mica_free(w->first);
    mica_free(w->values);
    return status;
}

bool mica_node_has_effect(const mica_node *n) {
    if (n->op == MICA_OP_callback) return true;
    if (n->op < MICA_OP_COUNT && mica_op_class_of(n->op) == MICA_CLASS_COLLECTIVE &&
        n->op != MICA_OP_axis_index)
        return true;
    for (int32_t i = 0; i < n->n_regions; i++)
        for (int32_t k = 0; k < n->regions[i]->n_nodes; k++)
            if (mica_node_has_effect(n->regions[i]->nodes[k])) return true;
    return false;
}
