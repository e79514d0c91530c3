/* compile/passes.h: what happens to a graph before it is planned.
 *
 * A pass makes a new graph from a graph. Passes are an array of {name, function}, in order. Each
 * can be skipped by name ("-simplify,-inline" in the options or in MICA_PASSES), its result is
 * verified in builds with assertions or with MICA_VERIFY=1, and dumped with MICA_LOG=pass.
 *
 * simplify and inline keep every bit of every result. Effects (callbacks) stay, in their order.
 * Nothing moves or is merged across a barrier: its results are values that nothing else equals.
 */
#ifndef MICA_COMPILE_PASSES_H
#define MICA_COMPILE_PASSES_H

#include <string.h>

#include "ir/graph.h"

#define MICA_CLAIMED "mica.claimed." /* how names of claimed calls begin; no user's does */

typedef struct mica_pass {
    const char *name;
    mica_status (*run)(const mica_graph *g, mica_graph **out_graph);
} mica_pass;

extern const mica_pass mica_passes[]; /* ends with a NULL name */

/* What a device computes whole. The answer depends on the call's name, settings and types only. */
typedef struct mica_claimer {
    bool (*claims)(void *context, const mica_node *call);
    void *context;
    bool computes_again; /* `fuse` makes values again that it would store for other kernels */
    bool keeps_products; /* no `contract`: products are a library's, what follows them is fused */
} mica_claimer;

static inline bool mica_node_is_claimed(const mica_node *n) {
    return n->op == MICA_OP_call &&
           !strncmp(n->attrs[0].as.string, MICA_CLAIMED, sizeof MICA_CLAIMED - 1);
}

/* Runs all passes that `selection` (or, when NULL, MICA_PASSES) does not switch off, `fuse` only
 * when asked for; where that is switched off, nodes are wrapped one by one instead. An unknown name
 * is an error. The result is the caller's. */
MICA_MUST_CHECK mica_status mica_passes_run(const mica_graph *g, const char *selection, bool fuse,
                                            mica_graph **out_graph);
/* The same after `match`, the first of them: calls that the claimer claims stay whole. */
MICA_MUST_CHECK mica_status mica_passes_run_for(const mica_graph *g, const char *selection,
                                                bool fuse, const mica_claimer *claimer,
                                                mica_graph **out_graph);
/* Claimed composites become calls whose names begin with MICA_CLAIMED. Unlike other passes it may
 * change bits: a device's own order of sums takes the place of the body's. */
mica_status mica_match(const mica_graph *g, const mica_claimer *claimer, mica_graph **out_graph);
/* call, custom_gradient and remat become the nodes of their bodies, everywhere; claimed calls
 * stay. */
mica_status mica_pass_inline(const mica_graph *g, mica_graph **out_graph);
/* Removes what nothing uses, merges what is equal, and drops what changes nothing. */
mica_status mica_pass_simplify(const mica_graph *g, mica_graph **out_graph);
/* dot and conv with what is done to their results become one call (ir/contraction.h); for devices
 * that claim calls. */
mica_status mica_pass_contract(const mica_graph *g, mica_graph **out_graph);
/* The same before `fuse`, which does long chains better: short ones only. */
mica_status mica_pass_contract_short(const mica_graph *g, mica_graph **out_graph);
/* Nodes that one loop nest can compute become one call; for devices that generate code. */
mica_status mica_pass_fuse(const mica_graph *g, mica_graph **out_graph);
/* The same for devices that compute faster than they read. */
mica_status mica_pass_fuse_again(const mica_graph *g, mica_graph **out_graph);
/* Every node that a nest can compute becomes a call of its own: generated code without fusion. */
mica_status mica_pass_wrap(const mica_graph *g, mica_graph **out_graph);
/* Moves values that cost nothing to make next to their first use, so that they live shortly. */
mica_status mica_pass_schedule(const mica_graph *g, mica_graph **out_graph);

#endif
