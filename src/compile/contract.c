/* A dot or conv takes in what is done to its result at once: bias, activation, residual. The nodes
 * become a `call` named MICA_CONTRACTION (ir/contraction.h), one kernel with the same bits.
 *
 * Nodes come in from the product on, each when all that it reads is inside, or was there before
 * the product. Then those go that would be stored only because they are inside: a group stores what
 * would be stored anyway, and one value in the product's place.
 *
 * Where code is generated, a fused kernel does long or costly chains quicker, and what another
 * kernel reads costs nothing there: then a group is short, cheap, and makes a kernel unnecessary.
 */
#include "base/plant.h"
#include "codegen/nest.h"
#include "compile/passes.h"
#include "compile/rewrite.h"
#include "ir/contraction.h"

#define MOST_SHORT 5 /* nodes of a short group, with the product */

typedef struct contracting {
    mica_rewrite w;
    int32_t *group_of;     /* per node: its product, or -1 */
    int32_t *users, *next; /* lists of uses: per node its first, per use the next; -1 ends them */
    int32_t *user_of;      /* per use */
    bool *is_output, *is_raw;
    bool is_short; /* groups: generated kernels do the rest */
} contracting;

/* ---- groups -----------------------------------------------------------------------------------*/

static bool is_product(const mica_node *n) {
    return (n->op == MICA_OP_dot || n->op == MICA_OP_conv) &&
           n->results[0].dtype >= MICA_DTYPE_f16 && n->results[0].dtype <= MICA_DTYPE_f64 &&
           mica_type_elements(&n->results[0]) > 0;
}

static bool has_outside_users(const contracting *c, int32_t i, int32_t product) {
    if (c->is_output[i]) return true;
    for (int32_t u = c->users[i]; u >= 0; u = c->next[u])
        if (c->group_of[c->user_of[u]] != product) return true;
    return false;
}

static bool has_inside_users(const contracting *c, int32_t i, int32_t product) {
    for (int32_t u = c->users[i]; u >= 0; u = c->next[u])
        if (c->group_of[c->user_of[u]] == product) return true;
    return false;
}

/* Somebody needs it in memory, whoever computes it. */
static bool is_stored_anyway(const contracting *c, int32_t i, int32_t product) {
    if (c->is_output[i]) return true;
    for (int32_t u = c->users[i]; u >= 0; u = c->next[u]) {
        const mica_node *user = c->w.from->nodes[c->user_of[u]];
        if (c->group_of[user->id] != product && mica_nest_role_of(user) == MICA_ROLE_NONE)
            return true;
    }
    return false;
}

/* An operand from outside: there before the product, so it cannot depend on it. Parameters of the
 * product's shape are what updates are written over: those stay nodes that work in place. */
static bool may_read(const mica_node *product, mica_value v) {
    const mica_node *n = v.node, *from = n->op == MICA_OP_broadcast ? n->operands[0].node : n;
    if (n->op == MICA_OP_PARAMETER) return false;
    if (n != from && from->op == MICA_OP_constant)
        return mica_type_elements(&from->results[0]) == 1;
    return from->op == MICA_OP_PARAMETER || from->id < product->id;
}

static bool may_join(const contracting *c, const mica_node *product, const mica_node *n) {
    bool reads_group = false;
    if (c->group_of[n->id] >= 0 || n->n_results != 1 ||
        mica_op_class_of(n->op) == MICA_CLASS_CONTRACTION ||
        !mica_contraction_takes(&product->results[0], n))
        return false;
    for (int32_t i = 0; i < n->n_operands; i++) {
        if (c->group_of[n->operands[i].node->id] == product->id)
            reads_group = true;
        else if (!may_read(product, n->operands[i]))
            return false;
    }
    return reads_group;
}

/* Whether a member can be had from the product only, not from a member that is stored anyway. */
static void find_raw(contracting *c, const mica_node *product, int32_t last) {
    for (int32_t i = product->id; i <= last; i++) {
        const mica_node *n = c->w.from->nodes[i];
        if (c->group_of[i] != product->id) continue;
        c->is_raw[i] = n == product;
        for (int32_t k = 0; k < n->n_operands && n != product; k++) {
            int32_t x = n->operands[k].node->id;
            if (c->group_of[x] == product->id && c->is_raw[x] &&
                !is_stored_anyway(c, x, product->id))
                c->is_raw[i] = true;
        }
    }
}

/* The last node that is stored only because it is inside, and that no member reads; -1 when none
 * is too much, -2 when what is too much cannot go. */
static int32_t find_useless(contracting *c, const mica_node *product, int32_t last) {
    int32_t results = 0, allowed = 1, useless = -1;
    find_raw(c, product, last);
    for (int32_t i = product->id; i <= last; i++) {
        if (c->group_of[i] != product->id || !has_outside_users(c, i, product->id)) continue;
        bool anyway = is_stored_anyway(c, i, product->id);
        bool is_last = !anyway && !has_inside_users(c, i, product->id);
        results++;
        allowed += anyway;
        if (is_last && !c->is_raw[i]) return i;
        if (is_last) useless = i;
    }
    if (results <= allowed && results <= MICA_CONTRACTION_RESULTS) return -1;
    return useless >= 0 ? useless : -2;
}

static int32_t count_members(const contracting *c, int32_t product, int32_t last) {
    int32_t n = 0;
    for (int32_t i = product; i <= last; i++) n += c->group_of[i] == product;
    return n;
}

/* Few cheap nodes, and something that is stored anyway. */
static bool is_short_group(const contracting *c, int32_t product, int32_t last) {
    bool anyway = false;
    for (int32_t i = product; i <= last; i++) {
        if (c->group_of[i] != product) continue;
        anyway = anyway || (i != product && is_stored_anyway(c, i, product));
        if (mica_nest_is_costly(c->w.from->nodes[i])) return false;
    }
    return anyway && count_members(c, product, last) <= MOST_SHORT;
}

static void leave(contracting *c, int32_t product, int32_t last) {
    for (int32_t i = product; i <= last; i++)
        if (c->group_of[i] == product) c->group_of[i] = -1;
}

static void form_group(contracting *c, const mica_node *product) {
    const mica_graph *g = c->w.from;
    int32_t last = product->id, n = 1, useless;
    c->group_of[product->id] = product->id;
    for (int32_t i = product->id + 1; i < g->n_nodes && n < MICA_CONTRACTION_NODES / 2; i++) {
        if (!may_join(c, product, g->nodes[i])) continue;
        c->group_of[i] = product->id;
        last = i;
        n++;
    }
    while ((useless = find_useless(c, product, last)) >= 0) c->group_of[useless] = -1;
    if (useless == -2 || count_members(c, product->id, last) < 2 ||
        (c->is_short && !is_short_group(c, product->id, last)))
        leave(c, product->id, last);
}

/* ---- calls ------------------------------------------------------------------------------------*/

typedef struct contraction {
    mica_graph *body;
    mica_value values[MICA_CONTRACTION_NODES * 4], arguments[MICA_CONTRACTION_NODES * 3];
    mica_value results[MICA_CONTRACTION_RESULTS];
    int32_t members[MICA_CONTRACTION_NODES * 4]; /* of which values are */
    int32_t n_members, n_arguments, n_results;
} contraction;

static mica_value find_member(const contraction *k, mica_value v) {
    for (int32_t i = 0; i < k->n_members; i++)
        if (k->members[i] == v.node->id) return k->values[i];
    return MICA_NULL_VALUE;
}

static mica_value add_argument(contraction *k, mica_value v) {
    for (int32_t i = 0; i < k->n_arguments; i++)
        if (mica_value_same(k->arguments[i], v)) /* after an error it may have no parameter */
            return i < k->body->n_parameters ? k->body->parameters[i] : MICA_NULL_VALUE;
    k->arguments[k->n_arguments++] = v;
    return mica_parameter(k->body, mica_value_type(v));
}

static void add_member(contraction *k, const mica_node *n, const mica_value *operands) {
    mica_node *made = mica_node_clone(k->body, n, operands);
    k->members[k->n_members] = n->id;
    k->values[k->n_members++] = made ? mica_node_result(made, 0) : MICA_NULL_VALUE;
}

/* Broadcasts from outside are made again inside. */
static mica_value bring_in(contraction *k, const mica_node *product, mica_value v) {
    mica_value member = find_member(k, v);
    if (!mica_value_is_null(member)) return member;
    const mica_node *n = v.node;
    bool is_spread = n->op == MICA_OP_broadcast && n != product;
    bool is_scalar = n->op == MICA_OP_constant && mica_type_elements(&n->results[0]) == 1;
    if (!is_spread && !is_scalar) return add_argument(k, v);
    mica_value from = MICA_NULL_VALUE;
    if (is_spread) from = bring_in(k, product, n->operands[0]);
    add_member(k, n, &from);
    return k->values[k->n_members - 1];
}

static mica_status make_body(const contracting *c, const mica_node *product, contraction *k) {
    const mica_graph *g = c->w.from;
    MICA_TRY(mica_graph_create(MICA_CONTRACTION, &k->body));
    for (int32_t i = product->id; i < g->n_nodes; i++) {
        const mica_node *n = g->nodes[i];
        if (c->group_of[i] != product->id) continue;
        mica_value operands[3];
        for (int32_t o = 0; o < n->n_operands; o++)
            operands[o] = n == product ? add_argument(k, n->operands[o])
                                       : bring_in(k, product, n->operands[o]);
        if (n != product && n->n_operands == 2 && mica_is_planted("contract"))
            operands[0] = operands[1];
        add_member(k, n, operands);
        if (!has_outside_users(c, i, product->id)) continue;
        k->results[k->n_results++] = mica_node_result(n, 0);
        mica_output(k->body, k->values[k->n_members - 1]);
    }
    return mica_graph_check(k->body);
}

/* false when the body is none that a device takes: nothing was made. */
static mica_status make_call(contracting *c, const mica_node *product, contraction *k,
                             bool *out_made) {
    const mica_node *found;
    mica_status status = make_body(c, product, k);
    if (!status) status = mica_contraction_check(k->body, &found);
    if (status) {
        bool refused = mica_status_code(status) == MICA_UNSUPPORTED;
        if (refused) mica_status_release(status);
        return refused ? NULL : status;
    }
    for (int32_t i = 0; i < k->n_arguments; i++)
        k->arguments[i] = *mica_rewrite_slot(&c->w, k->arguments[i]);
    mica_attr attrs[4] = {{.kind = MICA_ATTR_STRING, .as.string = MICA_CONTRACTION},
                          {.kind = MICA_ATTR_STRING, .as.string = ""},
                          {.kind = MICA_ATTR_INT, .as.integer = 0},
                          {.kind = MICA_ATTR_STRING, .as.string = ""}};
    mica_node *made =
        mica_node_create(c->w.to, MICA_OP_call, k->arguments, k->n_arguments, attrs, &k->body, 1);
    for (int32_t i = 0; i < k->n_results; i++) {
        *mica_rewrite_slot(&c->w, k->results[i]) =
            made ? mica_node_result(made, i) : MICA_NULL_VALUE;
    }
    *out_made = true;
    return NULL;
}

static mica_status make_group(contracting *c, const mica_node *product) {
    contraction *k = mica_calloc(1, sizeof *k);
    bool made = false;
    if (!k) return MICA_NO_MEMORY();
    mica_status status = make_call(c, product, k, &made);
    if (!status && !made) leave(c, product->id, c->w.from->n_nodes - 1);
    mica_graph_release(k->body);
    mica_free(k);
    return status;
}

/* ---- the pass ---------------------------------------------------------------------------------*/

static mica_status find_users(contracting *c) {
    const mica_graph *g = c->w.from;
    int32_t n_uses = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) n_uses += g->nodes[i]->n_operands;
    size_t n = (size_t)g->n_nodes, m = (size_t)n_uses;
    c->group_of = mica_alloc(sizeof *c->group_of * (2 * n + 2 * m + 1));
    c->is_output = mica_calloc(2 * n + 1, sizeof *c->is_output);
    if (!c->group_of || !c->is_output) return MICA_NO_MEMORY();
    c->is_raw = c->is_output + n;
    c->users = c->group_of + n;
    c->next = c->users + n;
    c->user_of = c->next + m;
    for (size_t i = 0; i < 2 * n; i++) c->group_of[i] = -1;
    for (int32_t i = 0; i < g->n_outputs; i++) c->is_output[g->outputs[i].node->id] = true;
    n_uses = 0;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; k < g->nodes[i]->n_operands; k++) {
            int32_t x = g->nodes[i]->operands[k].node->id;
            c->user_of[n_uses] = i;
            c->next[n_uses] = c->users[x];
            c->users[x] = n_uses++;
        }
    return NULL;
}

static mica_status contract(contracting *c) {
    const mica_graph *g = c->w.from;
    mica_region_rule inside = c->is_short ? mica_pass_contract_short : mica_pass_contract;
    MICA_TRY(find_users(c));
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (is_product(g->nodes[i])) form_group(c, g->nodes[i]);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_node *n = g->nodes[i];
        if (n->op == MICA_OP_PARAMETER) continue;
        if (c->group_of[i] == i) MICA_TRY(make_group(c, n));
        if (c->group_of[i] >= 0) continue;
        bool is_whole = mica_node_is_claimed(n) || mica_node_is_contraction(n);
        mica_rewrite_keep(&c->w, n, mica_rewrite_node(&c->w, n, is_whole ? NULL : inside));
    }
    return NULL;
}

static mica_status run(const mica_graph *g, bool is_short, mica_graph **out_graph) {
    contracting c = {.is_short = is_short};
    MICA_TRY(mica_rewrite_begin(&c.w, g));
    mica_status status = contract(&c);
    if (status) mica_graph_fail(c.w.to, status);
    mica_free(c.group_of);
    mica_free(c.is_output);
    return mica_rewrite_end(&c.w, out_graph);
}

mica_status mica_pass_contract(const mica_graph *g, mica_graph **out_graph) {
    return run(g, false, out_graph);
}

mica_status mica_pass_contract_short(const mica_graph *g, mica_graph **out_graph) {
    return run(g, true, out_graph);
}
