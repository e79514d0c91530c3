/* Composites that a device computes whole become calls that are not opened: their name gets a
 * reserved beginning. What a device does not claim is left to `inline`. Before that, attention that
 * is written as products around a softmax becomes such a composite (attention.c); that is looked
 * for in the simplified graph, where equal values are one. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "compile/attention.h"
#include "compile/passes.h"
#include "compile/rewrite.h"

enum { LONGEST_NAME = 100 };

static bool is_claimed(const mica_node *n, const mica_claimer *claimer) {
    return n->op == MICA_OP_call && strlen(mica_node_string(n, "name")) < LONGEST_NAME &&
           claimer->claims(claimer->context, n);
}

static bool has_claims(const mica_graph *g, const mica_claimer *claimer) {
    if (mica_has_softmax(g)) return true;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        if (is_claimed(g->nodes[i], claimer)) return true;
        for (int32_t k = 0; k < g->nodes[i]->n_regions; k++)
            if (has_claims(g->nodes[i]->regions[k], claimer)) return true;
    }
    return false;
}

/* The call with its body alone: derivatives are taken by now. */
static mica_node *claim(mica_rewrite *w, const mica_node *n, const mica_value *operands) {
    char name[LONGEST_NAME + sizeof MICA_CLAIMED];
    mica_attr attrs[4];
    memcpy(attrs, n->attrs, sizeof attrs);
    snprintf(name, sizeof name, "%s%s", MICA_CLAIMED, mica_node_string(n, "name"));
    attrs[0].as.string = name;
    attrs[1].as.string = "";
    return mica_node_create(w->to, n->op, operands, n->n_operands, attrs, n->regions, 1);
}

static mica_status match_regions(const mica_node *n, const mica_claimer *claimer,
                                 mica_graph **regions) {
    for (int32_t i = 0; i < n->n_regions; i++) {
        if (has_claims(n->regions[i], claimer)) {
            MICA_TRY(mica_match(n->regions[i], claimer, &regions[i]));
        } else {
            mica_graph_retain(n->regions[i]);
            regions[i] = n->regions[i];
        }
    }
    return NULL;
}

static mica_node *keep(mica_rewrite *w, const mica_node *n, const mica_claimer *claimer,
                       const mica_value *operands) {
    if (!n->n_regions) return mica_node_clone(w->to, n, operands);
    mica_graph **regions = mica_calloc((size_t)n->n_regions, sizeof *regions);
    mica_status status = regions ? match_regions(n, claimer, regions) : MICA_NO_MEMORY();
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

/* One line per composite that a device might claim; those that hold such are opened, silently. */
static void report(const mica_node *n, bool claimed, const mica_claimer *claimer) {
    if (n->op != MICA_OP_call || !mica_log_on(MICA_LOG_MATCH)) return;
    const char *name = mica_node_string(n, "name");
    if (strncmp(name, "mica.", 5) != 0 || (!claimed && has_claims(n->regions[0], claimer))) return;
    mica_log_write(MICA_LOG_MATCH, "%s of %s is %s", name, mica_type_text(&n->results[0]).chars,
                   claimed ? "claimed" : "not claimed: sizes, dtype or settings");
}

static mica_status match_calls(const mica_graph *g, const mica_claimer *claimer,
                               mica_graph **out_graph) {
    mica_rewrite w;
    MICA_TRY(mica_rewrite_begin(&w, g));
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_node *n = g->nodes[i];
        if (n->op == MICA_OP_PARAMETER) continue;
        mica_value *operands = mica_alloc(sizeof *operands * (size_t)(n->n_operands + 1));
        if (!operands) {
            mica_graph_fail(w.to, MICA_NO_MEMORY());
            break;
        }
        for (int32_t k = 0; k < n->n_operands; k++)
            operands[k] = *mica_rewrite_slot(&w, n->operands[k]);
        bool claimed = is_claimed(n, claimer);
        mica_node *made = claimed ? claim(&w, n, operands) : keep(&w, n, claimer, operands);
        report(n, claimed, claimer);
        mica_rewrite_keep(&w, n, made);
        mica_free(operands);
    }
    return mica_rewrite_end(&w, out_graph);
}

static mica_status match_attention(const mica_graph *g, const mica_claimer *claimer,
                                   mica_graph **out_graph) {
    mica_graph *simple = NULL;
    *out_graph = NULL;
    if (!mica_has_softmax(g)) return NULL;
    MICA_TRY(mica_pass_simplify(g, &simple));
    mica_status status = mica_match_attention(simple, claimer, out_graph);
    mica_graph_release(simple);
    return status;
}

mica_status mica_match(const mica_graph *g, const mica_claimer *claimer, mica_graph **out_graph) {
    mica_graph *with_attention = NULL;
    *out_graph = NULL;
    MICA_TRY(match_attention(g, claimer, &with_attention));
    mica_status status = match_calls(with_attention ? with_attention : g, claimer, out_graph);
    mica_graph_release(with_attention);
    return status;
}
