/* Cutting a graph into a first part, which also returns what the second part needs of it, and the
 * second part. */
#include <string.h>

#include "ir/graph.h"
#include "mica/transform.h"

enum { FIRST = 1, SECOND = 2, CONSTANT = 4 }; /* roles of a node; CONSTANT: depends on nothing */

typedef struct cut {
    const mica_graph *g;
    int32_t n_parameters, n_outputs;
    uint8_t *roles, *uses;
    mica_value *residuals;
    int32_t n_residuals, capacity;
    mica_value *images; /* result 0 of every node in the part that is being built */
    mica_value *operands;
} cut;

static bool is_effect_free_constant(const cut *c, const mica_node *n) {
    if (n->op == MICA_OP_PARAMETER || n->op == MICA_OP_callback || n->op == MICA_OP_axis_index)
        return false;
    for (int32_t i = 0; i < n->n_operands; i++)
        if (!(c->roles[n->operands[i].node->id] & CONSTANT)) return false;
    return true;
}

/* Made again in the second part rather than kept. */
static bool is_made_again(const cut *c, const mica_node *n) {
    return (c->roles[n->id] & CONSTANT) || n->op == MICA_OP_broadcast;
}

static void mark_ancestors(cut *c, int32_t from, int32_t to, uint8_t role) {
    const mica_graph *g = c->g;
    for (int32_t i = from; i < to; i++) c->roles[g->outputs[i].node->id] |= role;
    for (int32_t i = g->n_nodes; i-- > 0;) {
        const mica_node *n = g->nodes[i];
        if (!(c->roles[i] & role)) continue;
        /* The second part stops at what the first has computed. */
        if (role == SECOND && (c->roles[i] & FIRST) && !is_made_again(c, n)) continue;
        for (int32_t k = 0; k < n->n_operands; k++) c->roles[n->operands[k].node->id] |= role;
    }
}

static mica_status keep(cut *c, mica_value value) {
    const mica_type *type = mica_value_type(value);
    for (int32_t i = 0; i < c->n_residuals; i++)
        if (mica_value_same(c->residuals[i], value)) return NULL;
    if (type->kind != MICA_TENSOR)
        return MICA_ERROR(MICA_UNSUPPORTED, "[cut] a value of type %s crosses the cut of '%s'",
                          mica_type_text(type).chars, c->g->name);
    if (c->n_residuals == c->capacity) {
        int32_t capacity = c->capacity ? 2 * c->capacity : 16;
        mica_value *grown = mica_realloc(c->residuals, (size_t)capacity * sizeof *grown);
        if (!grown) return MICA_NO_MEMORY();
        c->residuals = grown;
        c->capacity = capacity;
    }
    c->residuals[c->n_residuals++] = value;
    return NULL;
}

static bool is_kept(const cut *c, const mica_node *n) {
    return (c->roles[n->id] & FIRST) && n->op != MICA_OP_PARAMETER && !is_made_again(c, n);
}

static mica_status find_residuals(cut *c) {
    const mica_graph *g = c->g;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_node *n = g->nodes[i];
        if (!(c->roles[i] & SECOND) || is_kept(c, n)) continue;
        for (int32_t k = 0; k < n->n_operands; k++)
            if (is_kept(c, n->operands[k].node)) MICA_TRY(keep(c, n->operands[k]));
    }
    for (int32_t i = c->n_outputs; i < g->n_outputs; i++)
        if (is_kept(c, g->outputs[i].node)) MICA_TRY(keep(c, g->outputs[i]));
    for (int32_t i = 0; i < g->n_parameters; i++) {
        const mica_node *n = g->parameters[i].node;
        c->uses[i] = (c->roles[n->id] & SECOND) != 0;
        if ((c->roles[n->id] & FIRST) && i >= c->n_parameters)
            return MICA_INVALID("[cut] the first outputs of '%s' depend on parameter %d", g->name,
                                i);
    }
    return NULL;
}

/* The value in the part that is being built. */
static mica_value image_of(const cut *c, mica_value value, const mica_value *residuals) {
    for (int32_t i = 0; residuals && i < c->n_residuals; i++)
        if (mica_value_same(c->residuals[i], value)) return residuals[i];
    mica_value image = c->images[value.node->id];
    return image.node ? (mica_value){image.node, value.index} : MICA_NULL_VALUE;
}

static void copy_nodes(cut *c, mica_graph *to, uint8_t role, const mica_value *residuals) {
    const mica_graph *g = c->g;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_node *n = g->nodes[i];
        if (!(c->roles[i] & role) || n->op == MICA_OP_PARAMETER) continue;
        if (role == SECOND && is_kept(c, n)) continue;
        for (int32_t k = 0; k < n->n_operands; k++)
            c->operands[k] = image_of(c, n->operands[k], residuals);
        c->images[i].node = mica_node_clone(to, n, c->operands);
        if (!c->images[i].node) return;
    }
}

static mica_status build_first(cut *c, mica_graph **out_first) {
    const mica_graph *g = c->g;
    MICA_TRY(mica_graph_create(g->name, out_first));
    mica_graph *first = *out_first;
    memset(c->images, 0, (size_t)g->n_nodes * sizeof *c->images);
    for (int32_t i = 0; i < c->n_parameters; i++)
        c->images[g->parameters[i].node->id] =
            mica_parameter(first, mica_value_type(g->parameters[i]));
    copy_nodes(c, first, FIRST, NULL);
    for (int32_t i = 0; i < c->n_outputs; i++) mica_output(first, image_of(c, g->outputs[i], NULL));
    for (int32_t i = 0; i < c->n_residuals; i++)
        mica_output(first, image_of(c, c->residuals[i], NULL));
    return mica_graph_check(first);
}

static mica_status build_second(cut *c, mica_graph **out_second) {
    const mica_graph *g = c->g;
    MICA_TRY(mica_graph_create(g->name, out_second));
    mica_graph *second = *out_second;
    memset(c->images, 0, (size_t)g->n_nodes * sizeof *c->images);
    for (int32_t i = 0; i < g->n_parameters; i++)
        if (c->uses[i])
            c->images[g->parameters[i].node->id] =
                mica_parameter(second, mica_value_type(g->parameters[i]));
    mica_value *residuals = mica_calloc((size_t)c->n_residuals + 1, sizeof *residuals);
    if (!residuals) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < c->n_residuals; i++)
        residuals[i] = mica_parameter(second, mica_value_type(c->residuals[i]));
    copy_nodes(c, second, SECOND, residuals);
    for (int32_t i = c->n_outputs; i < g->n_outputs; i++)
        mica_output(second, image_of(c, g->outputs[i], residuals));
    mica_free(residuals);
    return mica_graph_check(second);
}

static mica_status run(cut *c, mica_graph **out_first, mica_graph **out_second) {
    const mica_graph *g = c->g;
    int32_t widest = 1;
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->n_operands > widest) widest = g->nodes[i]->n_operands;
    c->roles = mica_calloc((size_t)g->n_nodes + 1, 1);
    c->images = mica_calloc((size_t)g->n_nodes + 1, sizeof *c->images);
    c->operands = mica_calloc((size_t)widest, sizeof *c->operands);
    if (!c->roles || !c->images || !c->operands) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (is_effect_free_constant(c, g->nodes[i])) c->roles[i] = CONSTANT;
    mark_ancestors(c, 0, c->n_outputs, FIRST);
    mark_ancestors(c, c->n_outputs, g->n_outputs, SECOND);
    MICA_TRY(find_residuals(c));
    for (int32_t i = 0; i < c->n_residuals; i++) c->roles[c->residuals[i].node->id] |= FIRST;
    MICA_TRY(build_first(c, out_first));
    return build_second(c, out_second);
}

mica_status mica_cut(const mica_graph *g, int32_t n_parameters, int32_t n_outputs,
                     uint8_t *out_uses, mica_graph **out_first, mica_graph **out_second,
                     int32_t *out_residuals) {
    MICA_GIVEN(out_uses, out_first, out_second, out_residuals);
    *out_first = *out_second = NULL;
    *out_residuals = 0;
    MICA_TRY(mica_graph_check(g));
    if (n_parameters < 0 || n_parameters > g->n_parameters || n_outputs < 0 ||
        n_outputs > g->n_outputs)
        return MICA_INVALID("[cut] '%s' has %d parameters and %d outputs; cut at %d and %d",
                            g->name, g->n_parameters, g->n_outputs, n_parameters, n_outputs);
    cut c = {.g = g, .n_parameters = n_parameters, .n_outputs = n_outputs, .uses = out_uses};
    mica_status status = run(&c, out_first, out_second);
    if (status) {
        mica_graph_release(*out_first);
        mica_graph_release(*out_second);
        *out_first = *out_second = NULL;
    } else {
        *out_residuals = c.n_residuals;
    }
    mica_free(c.roles);
    mica_free(c.images);
    mica_free(c.operands);
    mica_free(c.residuals);
    return status;
}
