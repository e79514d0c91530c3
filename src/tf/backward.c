/* The gradient of a function as two functions: a forward one that also returns what is needed
 * later (residuals: inputs of ops), and a backward one of Vjp nodes over residuals and cotangents.
 *
 * Calls are inlined on the way. Both are ordinary graphs, so gradients of gradients follow. */
#include "tf/backward.h"

#include <string.h>

static const mica_tf_ref no_ref = {-1, 0};

/* ---- what carries gradients -------------------------------------------------------------------*/

static bool is_float(mica_tf_dtype dtype) {
    mica_dtype core = mica_tf_dtype_core(dtype);
    if (core == MICA_DTYPE_COUNT) return false;
    mica_dtype_kind kind = mica_dtype_kind_of(core);
    return kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX;
}

bool mica_tf_flows(mica_tf_dtype dtype) {
    return is_float(dtype) || dtype == MICA_TF_variant;
}

/* What a gradient reaches, be it zeros. */
static bool is_reached(const mica_tf_operation *operation, int32_t i) {
    char role = mica_tf_operation_role(operation, i);
    return role == 'd' || role == 'z';
}

static bool carries(const mica_tf_walk *w, const mica_tf_node *node, int32_t i) {
    return w->active[mica_tf_slot(w->forward, node->inputs[i])] && is_reached(node->operation, i);
}

void mica_tf_find_active(const mica_tf_graph *g, int32_t first_node, uint8_t *active) {
    for (int32_t i = first_node; i < g->n_nodes; i++) {
        const mica_tf_node *node = &g->nodes[i];
        bool any = false;
        for (int32_t k = 0; node->operation && k < node->n_inputs && !any; k++)
            any = active[mica_tf_slot(g, node->inputs[k])] && is_reached(node->operation, k);
        for (int32_t k = 0; any && k < node->n_results; k++)
            active[node->first + k] = mica_tf_flows(node->dtypes[k]);
    }
}

/* ---- cotangents and residuals -----------------------------------------------------------------*/

mica_status mica_tf_zeros_like(mica_tf_graph *g, mica_tf_ref like, mica_tf_ref *out) {
    mica_tf_dtype dtype = mica_tf_graph_type(g, like, NULL);
    if (dtype == MICA_TF_variant)
        return mica_tf_graph_add(g, MICA_TF_StackEmpty, NULL, NULL, 0, NULL, out);
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{.as.integer = dtype}};
    return mica_tf_graph_add(g, MICA_TF_ZerosLike, attrs, &like, 1, NULL, out);
}

mica_status mica_tf_add_cotangent(mica_tf_walk *w, int32_t slot, mica_tf_ref ref) {
    mica_tf_ref before = w->cotangents[slot];
    if (!mica_tf_is_ref(before)) {
        w->cotangents[slot] = ref;
        return NULL;
    }
    if (mica_tf_graph_type(w->backward, ref, NULL) == MICA_TF_variant)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] a stack is used twice", w->forward->name);
    mica_tf_ref both[2] = {before, ref};
    return mica_tf_graph_add(w->backward, MICA_TF_AddV2, NULL, both, 2, NULL, &w->cotangents[slot]);
}

enum { FEW_INPUTS = 4 };

/* A constant, or an integer that is computed of constants alone, such as how often a loop runs: the
 * backward pass has to know it, not only to be given it. */
static bool is_constant(const mica_tf_graph *g, const mica_tf_node *node) {
    if (!node->operation) return false;
    if (node->operation->op == MICA_TF_Const) return true;
    if (mica_tf_rows[node->operation->op].effect != MICA_TF_PURE || node->n_results != 1 ||
        node->n_inputs == 0 || node->n_inputs > FEW_INPUTS || node->shapes[0].rank != 0 ||
        (node->dtypes[0] != MICA_TF_int32 && node->dtypes[0] != MICA_TF_int64))
        return false;
    for (int32_t i = 0; i < node->n_inputs; i++) {
        const mica_tf_operation *input = mica_tf_node_of(g, node->inputs[i])->operation;
        if (!input || input->op != MICA_TF_Const) return false;
    }
    return true;
}

static mica_status repeat_constant(mica_tf_walk *w, const mica_tf_node *node, mica_tf_ref *out) {
    mica_tf_ref inputs[FEW_INPUTS];
    for (int32_t i = 0; i < node->n_inputs; i++)
        MICA_TRY(mica_tf_residual(w, node->inputs[i], &inputs[i]));
    return mica_tf_graph_add(w->backward, node->operation->op, node->operation->attrs, inputs,
                             node->n_inputs, NULL, out);
}

mica_status mica_tf_residual(mica_tf_walk *w, mica_tf_ref ref, mica_tf_ref *out) {
    *out = ref;
    if (w->forward == w->backward) return NULL;
    int32_t slot = mica_tf_slot(w->forward, ref);
    const mica_tf_node *node = mica_tf_node_of(w->forward, ref);
    if (w->residuals[slot].node < 0 && is_constant(w->forward, node))
        MICA_TRY(repeat_constant(w, node, &w->residuals[slot]));
    if (w->residuals[slot].node < 0) {
        MICA_TRY(mica_tf_graph_parameter(w->backward, node->dtypes[ref.index],
                                         &node->shapes[ref.index], "residual",
                                         &w->residuals[slot]));
        MICA_TRY(mica_tf_graph_output(w->forward, ref));
    }
    *out = w->residuals[slot];
    return NULL;
}

mica_status mica_tf_cotangent_or_zeros(mica_tf_walk *w, int32_t node, int32_t i, mica_tf_ref *out) {
    *out = w->cotangents[w->forward->nodes[node].first + i];
    if (mica_tf_is_ref(*out)) return NULL;
    mica_tf_ref like = {node, i};
    if (w->forward->nodes[node].dtypes[i] != MICA_TF_variant) {
        MICA_TRY(mica_tf_residual(w, like, &like));
        return mica_tf_zeros_like(w->backward, like, out);
    }
    return mica_tf_graph_add(w->backward, MICA_TF_StackEmpty, NULL, NULL, 0, NULL, out);
}

/* ---- ways back of their own -------------------------------------------------------------------*/

/* The function that the user gave, in line. */
static mica_status back_custom(mica_tf_walk *w, int32_t index) {
    const mica_tf_node held = w->forward->nodes[index], *node = &held; /* nodes may move */
    const mica_tf_operation *o = node->operation;
    const mica_tf_graph *f = mica_tf_attr_find(o->info, o->attrs, "backward")->as.function;
    const mica_tf_attr *connected = mica_tf_attr_find(o->info, o->attrs, "connected");
    int32_t first = (int32_t)mica_tf_attr_find(o->info, o->attrs, "n")->as.integer, k = 0;
    mica_tf_ref *refs = mica_alloc((size_t)(f->n_parameters + f->n_outputs + 1) * sizeof *refs);
    mica_status status = refs ? NULL : MICA_NO_MEMORY();
    for (int32_t i = 0; i < node->n_results && !status; i++)
        if (is_float(node->dtypes[i])) status = mica_tf_cotangent_or_zeros(w, index, i, &refs[k++]);
    for (int32_t i = first + node->n_results; i < node->n_inputs && !status; i++)
        status = mica_tf_residual(w, node->inputs[i], &refs[k++]);
    mica_tf_copier copier = {.to = w->backward};
    mica_tf_ref *results = refs + f->n_parameters;
    if (!status) status = mica_tf_copy_function(&copier, f, refs, results);
    for (int32_t i = 0; i < connected->n && !status; i++) {
        if (connected->as.ints[i] < 0) {
            status = MICA_ERROR(MICA_UNSUPPORTED, "%s", f->name);
            break;
        }
        mica_tf_ref x = node->inputs[connected->as.ints[i]];
        if (w->active[mica_tf_slot(w->forward, x)])
            status = mica_tf_add_cotangent(w, mica_tf_slot(w->forward, x), results[i]);
    }
    mica_free(refs);
    return status;
}

/* Values of a frame that carry gradients: refs in `backward`, and their dtypes. */
typedef struct frame_values {
    mica_tf_ref *refs; /* the stack, then the values */
    int64_t *types;
    int32_t n;
} frame_values;

static mica_status frame_room(const mica_tf_node *node, frame_values *f) {
    size_t n = (size_t)(node->n_inputs + node->n_results) + 1;
    f->n = 0;
    f->refs = mica_alloc(n * (sizeof *f->refs + sizeof *f->types));
    f->types = (int64_t *)(f->refs + n);
    return f->refs ? NULL : MICA_NO_MEMORY();
}

/* The cotangent of a stack is the stack of the values' cotangents. */
static mica_status back_push(mica_tf_walk *w, int32_t index) {
    const mica_tf_node held = w->forward->nodes[index], *node = &held;
    frame_values f;
    mica_tf_ref first = no_ref;
    MICA_TRY(frame_room(node, &f));
    mica_status status = mica_tf_cotangent_or_zeros(w, index, 0, &f.refs[0]);
    for (int32_t i = 1; i < node->n_inputs && !status; i++) {
        mica_tf_dtype dtype = mica_tf_graph_type(w->forward, node->inputs[i], NULL);
        if (!mica_tf_flows(dtype)) continue;
        f.types[f.n++] = dtype;
        status = mica_tf_residual(w, node->inputs[i], &f.refs[f.n]);
    }
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{.n = f.n, .as.ints = f.types}};
    if (!status)
        status = mica_tf_graph_add(w->backward, MICA_TF_StackPopLike, attrs, f.refs, f.n + 1, NULL,
                                   &first);
    for (int32_t i = 0, k = 0; i < node->n_inputs && !status; i++) {
        int32_t slot = mica_tf_slot(w->forward, node->inputs[i]);
        if (!mica_tf_flows(mica_tf_graph_type(w->forward, node->inputs[i], NULL))) continue;
        if (w->active[slot]) status = mica_tf_add_cotangent(w, slot, (mica_tf_ref){first.node, k});
        k++;
    }
    mica_free(f.refs);
    return status;
}

static mica_status back_pop(mica_tf_walk *w, int32_t index) {
    const mica_tf_node held = w->forward->nodes[index], *node = &held;
    frame_values f;
    mica_tf_ref stack = no_ref;
    MICA_TRY(frame_room(node, &f));
    mica_status status = mica_tf_cotangent_or_zeros(w, index, 0, &f.refs[0]);
    for (int32_t i = 1; i < node->n_results && !status; i++) {
        if (!mica_tf_flows(node->dtypes[i])) continue;
        f.types[f.n++] = node->dtypes[i];
        status = mica_tf_cotangent_or_zeros(w, index, i, &f.refs[f.n]);
    }
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{.n = f.n, .as.ints = f.types}};
    if (!status)
        status =
            mica_tf_graph_add(w->backward, MICA_TF_StackPush, attrs, f.refs, f.n + 1, NULL, &stack);
    if (!status)
        status = mica_tf_add_cotangent(w, mica_tf_slot(w->forward, node->inputs[0]), stack);
    mica_free(f.refs);
    return status;
}

/* Of a graph that is differentiated where it stands: a branch, loop or call that stays on the host
 * runs once more, so that it keeps what is needed. */
typedef struct again {
    mica_tf_graph *function, *forward, *backward;
    uint8_t *wanted, *given, *connected;
    mica_tf_ref *refs;
} again;

static mica_status derive_again(mica_tf_walk *w, const mica_tf_node *node, again *a) {
    size_t n = (size_t)node->n_inputs, m = (size_t)node->n_results;
    a->wanted = mica_calloc(2 * n + m + 1, 1);
    if (!a->wanted) return MICA_NO_MEMORY();
    a->given = a->wanted + n;
    a->connected = a->given + m;
    for (size_t i = 0; i < n; i++) a->wanted[i] = carries(w, node, (int32_t)i);
    for (size_t i = 0; i < m; i++)
        a->given[i] = mica_tf_is_ref(w->cotangents[(size_t)node->first + i]);
    MICA_TRY(mica_tf_function_of(node->operation, w->forward, node->inputs, node->n_inputs,
                                 &a->function));
    mica_tf_wish wish = {.wanted = a->wanted, .given = a->given};
    MICA_TRY(mica_tf_derive(a->function, &wish, a->connected, &a->forward, &a->backward));
    size_t room = (size_t)(a->forward->n_outputs + a->backward->n_parameters);
    a->refs = mica_alloc((room + (size_t)a->backward->n_outputs + 1) * sizeof *a->refs);
    return a->refs ? NULL : MICA_NO_MEMORY();
}

static mica_status run_again(mica_tf_walk *w, const mica_tf_node *node, again *a) {
    MICA_TRY(derive_again(w, node, a));
    mica_tf_copier copier = {.to = w->backward};
    mica_tf_ref *arguments = a->refs + a->forward->n_outputs;
    mica_tf_ref *results = arguments + a->backward->n_parameters;
    MICA_TRY(mica_tf_copy_function(&copier, a->forward, node->inputs, a->refs));
    int32_t k = 0;
    for (int32_t i = 0; i < node->n_results; i++)
        if (a->given[i]) arguments[k++] = w->cotangents[node->first + i];
    for (int32_t i = node->n_results; i < a->forward->n_outputs; i++) arguments[k++] = a->refs[i];
    MICA_TRY(mica_tf_copy_function(&copier, a->backward, arguments, results));
    k = 0;
    for (int32_t i = 0; i < node->n_inputs; i++)
        if (a->connected[i])
            MICA_TRY(
                mica_tf_add_cotangent(w, mica_tf_slot(w->forward, node->inputs[i]), results[k++]));
    return NULL;
}

static mica_status back_apart(mica_tf_walk *w, const mica_tf_node *node) {
    again a = {0};
    mica_status status = run_again(w, node, &a);
    mica_free(a.refs);
    mica_free(a.wanted);
    mica_tf_graph_release(a.function);
    mica_tf_graph_release(a.forward);
    mica_tf_graph_release(a.backward);
    return status;
}

/* ---- walking back -----------------------------------------------------------------------------*/

static mica_status add_zeros(mica_tf_walk *w, mica_tf_ref input, mica_tf_ref like) {
    mica_tf_ref zeros;
    MICA_TRY(mica_tf_zeros_like(w->backward, like, &zeros));
    return mica_tf_add_cotangent(w, mica_tf_slot(w->forward, input), zeros);
}

static mica_status add_vjp(mica_tf_walk *w, const mica_tf_node *node) {
    size_t n = (size_t)node->n_inputs, m = (size_t)node->n_results;
    mica_tf_ref *inputs = mica_alloc((n + m + 1) * sizeof *inputs), first;
    int64_t *ints = mica_alloc(3 * (n + m + 1) * sizeof *ints);
    mica_status status = inputs && ints ? NULL : MICA_NO_MEMORY();
    int64_t *outputs = ints, *places = ints + m, *types = places + n, *result_types = types + n + m;
    int32_t n_outputs = 0, n_places = 0, n_all = 0;
    for (int32_t i = 0; !status && i < node->n_inputs; i++) {
        status = mica_tf_residual(w, node->inputs[i], &inputs[n_all]);
        if (status) break;
        types[n_all++] = mica_tf_graph_type(w->forward, node->inputs[i], NULL);
        if (!carries(w, node, i) || !is_float((mica_tf_dtype)types[n_all - 1])) continue;
        if (mica_tf_operation_role(node->operation, i) == 'z') {
            status = add_zeros(w, node->inputs[i], inputs[n_all - 1]);
            continue;
        }
        result_types[n_places] = types[n_all - 1];
        places[n_places++] = i;
    }
    for (int32_t i = 0; !status && i < node->n_results; i++) {
        mica_tf_ref cotangent = w->cotangents[node->first + i];
        if (cotangent.node < 0) continue;
        outputs[n_outputs++] = i;
        types[n_all] = node->dtypes[i];
        inputs[n_all++] = cotangent;
    }
    if (!status && n_places) {
        mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {
            {.as.operation = node->operation},    {.as.integer = node->n_inputs},
            {.n = n_outputs, .as.ints = outputs}, {.n = n_places, .as.ints = places},
            {.n = n_all, .as.ints = types},       {.n = n_places, .as.ints = result_types}};
        status = mica_tf_graph_add(w->backward, MICA_TF_Vjp, attrs, inputs, n_all, NULL, &first);
    }
    for (int32_t i = 0; !status && i < n_places; i++)
        status = mica_tf_add_cotangent(w, mica_tf_slot(w->forward, node->inputs[places[i]]),
                                       (mica_tf_ref){first.node, i});
    mica_free(inputs);
    mica_free(ints);
    return status;
}

/* ---- gathers ----------------------------------------------------------------------------------
 * What a gather along the first axis gives back to a variable or argument is its cotangent, at its
 * indices. It is put off until it is clear that nothing else leads there. */

enum { MOST_PUT_OFF = 100 };

typedef struct mica_tf_put_off {
    struct mica_tf_put_off *next;
    int32_t node; /* the gather */
} put_off;

static bool gathers_rows(const mica_tf_walk *w, const mica_tf_node *node) {
    const mica_tf_operation *o = node->operation;
    int64_t axis[MICA_MAX_RANK * 4];
    int32_t n;
    mica_tf_shape shape;
    if (!w->put_off || o->op != MICA_TF_GatherV2 || !carries(w, node, 0) ||
        mica_tf_attr_find(o->info, o->attrs, "batch_dims")->as.integer ||
        !mica_tf_graph_ints(w->forward, node->inputs[2], axis, &n) || n != 1)
        return false;
    mica_tf_graph_type(w->forward, node->inputs[0], &shape);
    return axis[0] == 0 || (shape.rank > 0 && axis[0] == -shape.rank);
}

static mica_status put_off_gather(mica_tf_walk *w, int32_t index) {
    int32_t slot = mica_tf_slot(w->forward, w->forward->nodes[index].inputs[0]);
    put_off *entry = mica_arena_alloc(&w->arena, sizeof *entry);
    if (!entry) return MICA_NO_MEMORY();
    *entry = (put_off){w->put_off[slot], index}; /* the walk goes back */
    w->put_off[slot] = entry;
    return NULL;
}

/* As cotangents after all; of a variable, whose value the gathers read. */
static mica_status settle(mica_tf_walk *w, int32_t slot) {
    const put_off *entry = w->put_off ? w->put_off[slot] : NULL;
    if (entry) w->put_off[slot] = NULL;
    for (; entry; entry = entry->next) {
        const mica_tf_node node = w->forward->nodes[entry->node];
        int32_t own = mica_tf_slot(w->forward, node.inputs[0]);
        mica_tf_ref before = w->cotangents[own];
        if (own != slot) w->cotangents[own] = no_ref;
        MICA_TRY(add_vjp(w, &node));
        if (own == slot) continue;
        mica_tf_ref cotangent = w->cotangents[own];
        w->cotangents[own] = before;
        MICA_TRY(mica_tf_add_cotangent(w, slot, cotangent));
    }
    return NULL;
}

/* A read hands on what it was given. */
static mica_status back_read(mica_tf_walk *w, const mica_tf_node *node) {
    int32_t slot = mica_tf_slot(w->forward, node->inputs[0]);
    if (mica_tf_is_ref(w->cotangents[node->first])) {
        MICA_TRY(settle(w, node->first));
        return mica_tf_add_cotangent(w, slot, w->cotangents[node->first]);
    }
    put_off **last = &w->put_off[node->first]; /* an earlier read comes before */
    while (*last) last = &(*last)->next;
    *last = w->put_off[slot];
    w->put_off[slot] = w->put_off[node->first];
    w->put_off[node->first] = NULL;
    return NULL;
}

static int32_t count_put_off(const mica_tf_walk *w, int32_t slot) {
    int32_t n = 0;
    for (const put_off *entry = w->put_off ? w->put_off[slot] : NULL; entry; entry = entry->next)
        n++;
    return n;
}

/* The outputs of the backward function for a parameter that gathers alone lead to. */
static mica_status output_gathers(mica_tf_walk *w, int32_t slot) {
    for (const put_off *entry = w->put_off[slot]; entry; entry = entry->next) {
        const mica_tf_node node = w->forward->nodes[entry->node];
        mica_tf_ref indices;
        MICA_TRY(mica_tf_residual(w, node.inputs[1], &indices));
        MICA_TRY(mica_tf_graph_output(w->backward, w->cotangents[node.first]));
        MICA_TRY(mica_tf_graph_output(w->backward, indices));
    }
    return NULL;
}

static mica_status walk_node(mica_tf_walk *w, int32_t i) {
    const mica_tf_node held = w->forward->nodes[i], *node = &held; /* nodes may move */
    bool any = false, leads = false;
    if (node->operation && node->operation->op == MICA_TF_ReadVariableOp)
        any = count_put_off(w, node->first) > 0;
    else
        for (int32_t k = 0; node->operation && k < node->n_results; k++)
            MICA_TRY(settle(w, node->first + k));
    for (int32_t k = 0; k < node->n_results; k++)
        any |= mica_tf_is_ref(w->cotangents[node->first + k]) &&
               !(w->held && w->held[node->first + k]);
    for (int32_t k = 0; node->operation && k < node->n_inputs; k++) leads |= carries(w, node, k);
    if (!any || !leads || !node->operation) return NULL;
    if (w->stages && w->stages[i]) return mica_tf_stage_backward(w, i);
    switch ((int)node->operation->op) {
    case MICA_TF_ReadVariableOp: return back_read(w, node);
    case MICA_TF_GatherV2:
        if (gathers_rows(w, node)) return put_off_gather(w, i);
        break;
    case MICA_TF_CustomGradient: return back_custom(w, i);
    case MICA_TF_StackPush: return back_push(w, i);
    case MICA_TF_StackPop:
    case MICA_TF_StackPopLike: return back_pop(w, i);
    default: break;
    }
    if (w->forward == w->backward && mica_tf_has_bodies(node->operation) &&
        mica_tf_operation_lowers(node->operation) == MICA_TF_STAYS_HOST)
        return back_apart(w, node);
    return add_vjp(w, node);
}

static mica_status start(mica_tf_walk *w) {
    size_t n = (size_t)w->forward->n_results + 1;
    w->cotangents = mica_arena_alloc(&w->arena, 2 * n * sizeof *w->cotangents);
    if (!w->cotangents) return MICA_NO_MEMORY();
    w->residuals = w->cotangents + n;
    w->n_slots = w->forward->n_results;
    if (w->puts_off) w->put_off = mica_arena_alloc(&w->arena, n * sizeof(void *));
    if (w->puts_off && !w->put_off) return MICA_NO_MEMORY();
    for (size_t i = 0; i < 2 * n; i++) w->cotangents[i] = no_ref;
    return NULL;
}

/* The copy, its parameters active where they are wanted. */
static mica_status copy_forward(mica_tf_walk *w, const mica_tf_graph *g, const mica_tf_wish *wish) {
    mica_tf_ref *refs = mica_alloc((size_t)(g->n_parameters + g->n_outputs + 1) * sizeof *refs);
    if (!refs) return MICA_NO_MEMORY();
    mica_status status = NULL;
    for (int32_t i = 0; !status && i < g->n_parameters; i++) {
        const mica_tf_node *node = mica_tf_node_of(g, g->parameters[i]);
        status = mica_tf_graph_parameter(w->forward, node->dtypes[0], &node->shapes[0], node->name,
                                         &refs[i]);
    }
    w->slots_capacity = g->n_results + g->n_parameters + 64;
    w->active = mica_calloc((size_t)w->slots_capacity, 1);
    if (!status && !w->active) status = MICA_NO_MEMORY();
    for (int32_t i = 0; !status && i < g->n_parameters; i++)
        w->active[mica_tf_slot(w->forward, refs[i])] = wish->wanted[i];
    mica_tf_copier copier = {.to = w->forward, .walk = w, .take_apart = w->take_apart};
    mica_tf_ref *outputs = refs + g->n_parameters;
    if (!status) status = mica_tf_copy_function(&copier, g, refs, outputs);
    for (int32_t i = 0; i < g->n_outputs && !status; i++)
        status = mica_tf_graph_output(w->forward, outputs[i]);
    mica_free(refs);
    return status;
}

static mica_status build(mica_tf_walk *w, const mica_tf_graph *g, const mica_tf_wish *wish,
                         uint8_t *out_connected) {
    MICA_TRY(copy_forward(w, g, wish));
    MICA_TRY(start(w));
    for (int32_t i = 0; i < g->n_outputs; i++) {
        mica_tf_ref output = w->forward->outputs[i], cotangent;
        mica_tf_shape shape;
        mica_tf_dtype dtype = mica_tf_graph_type(w->forward, output, &shape);
        if (!mica_tf_flows(dtype) || (wish->given && !wish->given[i])) continue;
        MICA_TRY(mica_tf_graph_parameter(w->backward, dtype, &shape, "cotangent", &cotangent));
        MICA_TRY(mica_tf_add_cotangent(w, mica_tf_slot(w->forward, output), cotangent));
    }
    for (int32_t i = w->forward->n_nodes; i-- > 0;) MICA_TRY(walk_node(w, i));
    for (int32_t i = 0; i < g->n_parameters; i++) {
        mica_tf_ref parameter = w->forward->parameters[i], like;
        int32_t slot = mica_tf_slot(w->forward, parameter), n = count_put_off(w, slot);
        mica_tf_ref *gradient = &w->cotangents[slot];
        if (wish->wanted[i] && n && n <= MOST_PUT_OFF && !mica_tf_is_ref(*gradient)) {
            out_connected[i] = (uint8_t)(1 + n);
            MICA_TRY(output_gathers(w, slot));
            continue;
        }
        if (wish->wanted[i]) MICA_TRY(settle(w, slot));
        out_connected[i] = wish->wanted[i] && mica_tf_is_ref(*gradient);
        if (wish->fill && wish->wanted[i] && !out_connected[i]) {
            MICA_TRY(mica_tf_residual(w, parameter, &like));
            MICA_TRY(mica_tf_zeros_like(w->backward, like, gradient));
        }
        if (wish->wanted[i] && mica_tf_is_ref(*gradient))
            MICA_TRY(mica_tf_graph_output(w->backward, *gradient));
    }
    return NULL;
}

static void end(mica_tf_walk *w) {
    for (int32_t i = 0; i < w->nodes_capacity; i++)
        if (w->stages[i]) mica_tf_stage_destroy(w->stages[i]);
    mica_free(w->stages);
    mica_free(w->active);
    mica_arena_deinit(&w->arena);
}

mica_status mica_tf_derive(const mica_tf_graph *g, const mica_tf_wish *wish, uint8_t *out_connected,
                           mica_tf_graph **out_forward, mica_tf_graph **out_backward) {
    mica_tf_walk w = {.take_apart = wish->take_apart, .puts_off = wish->slices};
    *out_forward = *out_backward = NULL;
    mica_arena_init(&w.arena);
    mica_status status = mica_tf_graph_create(g->name, &w.forward);
    if (!status) status = mica_tf_graph_create(g->name, &w.backward);
    if (!status) status = build(&w, g, wish, out_connected);
    end(&w);
    if (status) {
        mica_tf_graph_release(w.forward);
        mica_tf_graph_release(w.backward);
        return status;
    }
    *out_forward = w.forward;
    *out_backward = w.backward;
    return NULL;
}

mica_status mica_tf_graph_backward(mica_tf_graph *g, const uint8_t *wanted, uint8_t *out_connected,
                                   mica_tf_graph **out_forward, mica_tf_graph **out_backward) {
    MICA_GIVEN(g, wanted, out_connected, out_forward, out_backward);
    mica_tf_wish wish = {.wanted = wanted, .slices = true};
    return mica_tf_derive(g, &wish, out_connected, out_forward, out_backward);
}

mica_status mica_tf_graph_gradients(mica_tf_graph *g, const mica_tf_gradient_of *of,
                                    mica_tf_ref *out_gradients) {
    MICA_GIVEN(g, of);
    mica_tf_walk w = {.forward = g, .backward = g};
    mica_arena_init(&w.arena);
    int32_t n_nodes = g->n_nodes;
    w.active = mica_calloc(2 * (size_t)g->n_results + 2, 1);
    mica_status status = w.active ? start(&w) : MICA_NO_MEMORY();
    if (!status) {
        w.held = w.active + g->n_results + 1;
        for (int32_t i = 0; i < of->n_sources; i++) w.active[mica_tf_slot(g, of->sources[i])] = 1;
        for (int32_t i = 0; i < of->n_held; i++) w.held[mica_tf_slot(g, of->held[i])] = 1;
        mica_tf_find_active(g, 0, w.active);
    }
    for (int32_t i = 0; i < of->n_targets && !status; i++)
        if (w.active[mica_tf_slot(g, of->targets[i])])
            status = mica_tf_add_cotangent(&w, mica_tf_slot(g, of->targets[i]), of->cotangents[i]);
    for (int32_t i = n_nodes; i-- > 0 && !status;) status = walk_node(&w, i);
    for (int32_t i = 0; i < of->n_sources && !status; i++)
        out_gradients[i] = w.cotangents[mica_tf_slot(g, of->sources[i])];
    end(&w);
    return status;
}

/* ---- the value of one result ------------------------------------------------------------------*/

static mica_status evaluate(const mica_tf_graph *g, mica_device *device, int32_t index,
                            mica_tf_value *slots, bool is_constant, int32_t depth) {
    const mica_tf_node *node = &g->nodes[index];
    if (node->n_results == 0 || slots[node->first].object) return NULL;
    if (!node->operation || depth > 500)
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[%s] depends on the argument %s of the function being traced", g->name,
                          node->name);
    if (is_constant && mica_tf_rows[node->operation->op].effect != MICA_TF_PURE)
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[%s] the value of %s is known when it runs",
                          g->name, node->name);
    mica_tf_value *inputs = mica_alloc(((size_t)node->n_inputs + 1) * sizeof *inputs);
    if (!inputs) return MICA_NO_MEMORY();
    mica_status status = NULL;
    for (int32_t i = 0; !status && i < node->n_inputs; i++) {
        status = evaluate(g, device, node->inputs[i].node, slots, is_constant, depth + 1);
        inputs[i] = slots[mica_tf_slot(g, node->inputs[i])];
    }
    int32_t n;
    if (!status)
        status = mica_tf_eager(device, node->operation->op, node->operation->attrs, inputs,
                               node->n_inputs, slots + node->first, node->n_results, &n, NULL);
    mica_free(inputs);
    return status;
}

mica_status mica_tf_graph_evaluate(const mica_tf_graph *g, mica_device *device, mica_tf_ref ref,
                                   const mica_tf_value *parameters, bool is_constant,
                                   mica_tf_value *out_value) {
    MICA_GIVEN(g, out_value);
    MICA_GIVEN(MICA_MANY(parameters, g->n_parameters));
    mica_tf_value *slots = mica_calloc((size_t)g->n_results + 1, sizeof *slots);
    *out_value = (mica_tf_value){0};
    if (!slots) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < g->n_parameters; i++) {
        if (!parameters[i].object) continue;
        mica_tf_value_retain(parameters[i]);
        slots[mica_tf_slot(g, g->parameters[i])] = parameters[i];
    }
    mica_status status = evaluate(g, device, ref.node, slots, is_constant, 0);
    if (!status) {
        *out_value = slots[mica_tf_slot(g, ref)];
        mica_tf_value_retain(*out_value);
    }
    for (int32_t i = 0; i < g->n_results; i++) mica_tf_value_release(slots[i]);
    mica_free(slots);
    return status;
}
