/* Values that cost next to nothing (constants, iota, and what is broadcast from them) are made
 * right before their first use; everything else stays in the order it was made. */
#include "compile/passes.h"
#include "compile/rewrite.h"

typedef struct scheduling {
    mica_rewrite w;
    bool *cheap, *done;
} scheduling;

static bool is_cheap(const scheduling *s, const mica_node *n) {
    if (n->op == MICA_OP_constant) return n->results[0].kind == MICA_TENSOR;
    if (n->op == MICA_OP_iota) return true;
    return (n->op == MICA_OP_broadcast || n->op == MICA_OP_reshape) &&
           s->cheap[n->operands[0].node->id];
}

static void make(scheduling *s, const mica_node *n) {
    if (s->done[n->id]) return;
    s->done[n->id] = true;
    for (int32_t i = 0; i < n->n_operands; i++) make(s, n->operands[i].node);
    mica_rewrite_keep(&s->w, n, mica_rewrite_node(&s->w, n, mica_pass_schedule));
}

mica_status mica_pass_schedule(const mica_graph *g, mica_graph **out_graph) {
    scheduling s = {0};
    MICA_TRY(mica_rewrite_begin(&s.w, g));
    s.cheap = mica_calloc(2 * (size_t)g->n_nodes, sizeof *s.cheap);
    s.done = s.cheap ? s.cheap + g->n_nodes : NULL;
    if (!s.cheap) mica_graph_fail(s.w.to, MICA_NO_MEMORY());
    for (int32_t i = 0; i < g->n_parameters && s.cheap; i++)
        s.done[g->parameters[i].node->id] = true;
    for (int32_t i = 0; i < g->n_nodes && s.cheap; i++) {
        s.cheap[i] = is_cheap(&s, g->nodes[i]);
        if (!s.cheap[i]) make(&s, g->nodes[i]);
    }
    for (int32_t i = 0; i < g->n_outputs && s.cheap; i++) make(&s, g->outputs[i].node);
    mica_free(s.cheap);
    return mica_rewrite_end(&s.w, out_graph);
}
