/* The gradient of a function as two functions: a forward one that also returns what is needed
 * later (residuals: inputs of ops), and a backward one of Vjp nodes over residuals and cotangents.
 *
 * Calls are inlined on the way. Both are ordinary graphs, so gradients of gradients follow. */
#include "tf/gradient/function.h"

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

static bool carries(const mica_tf_graph_walk *w, const mica_tf_node *node, int32_t i) {
    return w->walk.active[mica_tf_slot(w->forward, node->inputs[i])] &&
           is_reached(node->operation, i);
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

mica_status mica_tf_add_cotangent(mica_tf_graph_walk *w, int32_t slot, mica_tf_ref ref) {
    return mica_tf_walk_add(&w->walk, slot, mica_tf_pack(ref));
}

static mica_tf_ref cotangent_of(const mica_tf_graph_walk *w, int32_t slot) {
    return w->walk.held && w->walk.held[slot] ? no_ref : mica_tf_unpack(w->walk.cotangents[slot]);
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

static mica_status repeat_constant(mica_tf_graph_walk *w, const mica_tf_node *node,
                                   mica_tf_ref *out) {
    mica_tf_ref inputs[FEW_INPUTS];
    for (int32_t i = 0; i < node->n_inputs; i++)
        MICA_TRY(mica_tf_residual(w, node->inputs[i], &inputs[i]));
    return mica_tf_graph_add(w->backward, node->operation->op, node->operation->attrs, inputs,
                             node->n_inputs, NULL, out);
}

mica_status mica_tf_residual(mica_tf_graph_walk *w, mica_tf_ref ref, mica_tf_ref *out) {
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

mica_status mica_tf_cotangent_or_zeros(mica_tf_graph_walk *w, int32_t node, int32_t i,
                                       mica_tf_ref *out) {
    *out = cotangent_of(w, w->forward->nodes[node].first + i);
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
static mica_status back_custom(mica_tf_graph_walk *w, int32_t index) {
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
        if (w->walk.active[mica_tf_slot(w->forward, x)])
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
static mica_status back_push(mica_tf_graph_walk *w, int32_t index) {
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
        if (w->walk.active[slot])
            status = mica_tf_add_cotangent(w, slot, (mica_tf_ref){first.node, k});
        k++;
    }
    mica_free(f.refs);
    return status;
}

static mica_status back_pop(mica_tf_graph_walk *w, int32_t index) {
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

static mica_status derive_again(mica_tf_graph_walk *w, const mica_tf_node *node, again *a) {
    size_t n = (size_t)node->n_inputs, m = (size_t)node->n_results;
    a->wanted = mica_calloc(2 * n + m + 1, 1);
    if (!a->wanted) return MICA_NO_MEMORY();
    a->given = a->wanted + n;
    a->connected = a->given + m;
    for (size_t i = 0; i < n; i++) a->wanted[i] = carries(w, node, (int32_t)i);
    for (size_t i = 0; i < m; i++)
        a->given[i] = mica_tf_is_ref(cotangent_of(w, node->first + (int32_t)i));
    MICA_TRY(mica_tf_function_of(node->operation, w->forward, node->inputs, node->n_inputs,
                                 &a->function));
    mica_tf_wish wish = {.wanted = a->wanted, .given = a->given};
    MICA_TRY(mica_tf_derive(a->function, &wish, a->connected, &a->forward, &a->backward));
    size_t room = (size_t)(a->forward->n_outputs + a->backward->n_parameters);
    a->refs = mica_alloc((room + (size_t)a->backward->n_outputs + 1) * sizeof *a->refs);
    return a->refs ? NULL : MICA_NO_MEMORY();
}

static mica_status run_again(mica_tf_graph_walk *w, const mica_tf_node *node, again *a) {
    MICA_TRY(derive_again(w, node, a));
    mica_tf_copier copier = {.to = w->backward};
    mica_tf_ref *arguments = a->refs + a->forward->n_outputs;
    mica_tf_ref *results = arguments + a->backward->n_parameters;
    MICA_TRY(mica_tf_copy_function(&copier, a->forward, node->inputs, a->refs));
    int32_t k = 0;
    for (int32_t i = 0; i < node->n_results; i++)
        if (a->given[i]) arguments[k++] = cotangent_of(w, node->first + i);
    for (int32_t i = node->n_results; i < a->forward->n_outputs; i++) arguments[k++] = a->refs[i];
    MICA_TRY(mica_tf_copy_function(&copier, a->backward, arguments, results));
    k = 0;
    for (int32_t i = 0; i < node->n_inputs; i++)
        if (a->connected[i])
            MICA_TRY(
                mica_tf_add_cotangent(w, mica_tf_slot(w->forward, node->inputs[i]), results[k++]));
    return NULL;
}

static mica_status back_apart(mica_tf_graph_walk *w, const mica_tf_node *node) {
    again a = {0};
    mica_status status = run_again(w, node, &a);
    mica_free(a.refs);
    mica_free(a.wanted);
    mica_tf_graph_release(a.function);
    mica_tf_graph_release(a.forward);
    mica_tf_graph_release(a.backward);
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

static mica_tf_graph_walk *graph_walk(mica_tf_walk *w) {
    return (mica_tf_graph_walk *)w;
}

static bool gathers_rows(const mica_tf_graph_walk *w, const mica_tf_node *node) {
    int64_t axis[MICA_MAX_RANK * 4];
    int32_t n;
    mica_tf_shape shape;
    if (!w->put_off || node->operation->op != MICA_TF_GatherV2 ||
        !mica_tf_graph_ints(w->forward, node->inputs[2], axis, &n) || n != 1)
        return false;
    mica_tf_graph_type(w->forward, node->inputs[0], &shape);
    return axis[0] == 0 || (shape.rank > 0 && axis[0] == -shape.rank);
}

static mica_status put_off_gather(mica_tf_walk *walk, const mica_tf_step *step, void *cotangent,
                                  bool *out_done) {
    mica_tf_graph_walk *w = graph_walk(walk);
    (void)cotangent; /* it stays in its slot */
    if (!gathers_rows(w, &w->forward->nodes[step->index])) return NULL;
    int32_t slot = step->inputs[0];
    put_off *entry = mica_arena_alloc(&w->arena, sizeof *entry);
    if (!entry) return MICA_NO_MEMORY();
    *entry = (put_off){w->put_off[slot], step->index}; /* the walk goes back */
    w->put_off[slot] = entry;
    *out_done = true;
    return NULL;
}

/* As cotangents after all; of a variable, whose value the gathers read. */
static mica_status settle(mica_tf_graph_walk *w, int32_t slot) {
    const put_off *entry = w->put_off ? w->put_off[slot] : NULL;
    if (entry) w->put_off[slot] = NULL;
    for (; entry; entry = entry->next) {
        mica_tf_step step;
        w->walk.kind->step(&w->walk, entry->node, &step);
        int32_t own = step.inputs[0];
        void *before = w->walk.cotangents[own];
        if (own != slot) w->walk.cotangents[own] = NULL;
        MICA_TRY(mica_tf_walk_vjp(&w->walk, &step, &w->walk.cotangents[step.outputs[0]]));
        if (own == slot) continue;
        void *cotangent = w->walk.cotangents[own];
        w->walk.cotangents[own] = before;
        MICA_TRY(mica_tf_walk_add(&w->walk, slot, cotangent));
    }
    return NULL;
}

/* A read that gathers alone lead to hands them on, to be put off further. */
static mica_status begin_node(mica_tf_walk *walk, int32_t index) {
    mica_tf_graph_walk *w = graph_walk(walk);
    const mica_tf_node *node = &w->forward->nodes[index];
    if (!w->put_off || !node->operation) return NULL;
    int32_t first = node->first, n = node->n_results;
    if (!mica_tf_is_a(node->operation, MICA_TF_CATEGORY_READ) || walk->cotangents[first]) {
        for (int32_t k = 0; k < n; k++) MICA_TRY(settle(w, first + k));
        return NULL;
    }
    if (!w->put_off[first] || !carries(w, node, 0)) return NULL;
    int32_t slot = mica_tf_slot(w->forward, node->inputs[0]);
    put_off **last = &w->put_off[first]; /* an earlier read comes before */
    while (*last) last = &(*last)->next;
    *last = w->put_off[slot];
    w->put_off[slot] = w->put_off[first];
    w->put_off[first] = NULL;
    return NULL;
}

static int32_t count_put_off(const mica_tf_graph_walk *w, int32_t slot) {
    int32_t n = 0;
    for (const put_off *entry = w->put_off ? w->put_off[slot] : NULL; entry; entry = entry->next)
        n++;
    return n;
}

/* The outputs of the backward function for a parameter that gathers alone lead to. */
static mica_status output_gathers(mica_tf_graph_walk *w, int32_t slot) {
    for (const put_off *entry = w->put_off[slot]; entry; entry = entry->next) {
        const mica_tf_node node = w->forward->nodes[entry->node];
        mica_tf_ref indices;
        MICA_TRY(mica_tf_residual(w, node.inputs[1], &indices));
        MICA_TRY(mica_tf_graph_output(w->backward, cotangent_of(w, node.first)));
        MICA_TRY(mica_tf_graph_output(w->backward, indices));
    }
    return NULL;
}

/* ---- nodes as steps ---------------------------------------------------------------------------*/

static void step_of(mica_tf_walk *walk, int32_t index, mica_tf_step *out) {
    mica_tf_graph_walk *w = graph_walk(walk);
    const mica_tf_node *node = &w->forward->nodes[index];
    int32_t n = node->operation ? node->n_inputs : 0;
    for (int32_t i = 0; i < n; i++) w->slots[i] = mica_tf_slot(w->forward, node->inputs[i]);
    for (int32_t i = 0; i < node->n_results; i++) w->slots[n + i] = node->first + i;
    *out = (mica_tf_step){.index = index,
                          .operation = node->operation,
                          .inputs = w->slots,
                          .outputs = w->slots + n,
                          .n_inputs = n,
                          .n_outputs = node->n_results};
}

static mica_status own_of_node(mica_tf_walk *walk, const mica_tf_step *step, void *const *given,
                               bool *out_done) {
    mica_tf_graph_walk *w = graph_walk(walk);
    (void)given;
    *out_done = true;
    if (w->stages && w->stages[step->index]) return mica_tf_stage_backward(w, step->index);
    switch ((int)step->operation->op) {
    case MICA_TF_CustomGradient: return back_custom(w, step->index);
    case MICA_TF_StackPush: return back_push(w, step->index);
    case MICA_TF_StackPop:
    case MICA_TF_StackPopLike: return back_pop(w, step->index);
    default: break;
    }
    if (w->forward == w->backward && mica_tf_has_bodies(step->operation) &&
        mica_tf_operation_lowers(step->operation) == MICA_TF_STAYS_HOST) {
        const mica_tf_node node = w->forward->nodes[step->index]; /* nodes may move */
        return back_apart(w, &node);
    }
    *out_done = false;
    return NULL;
}

static mica_tf_dtype input_dtype(mica_tf_walk *walk, const mica_tf_step *step, int32_t i) {
    const mica_tf_graph *g = graph_walk(walk)->forward;
    return mica_tf_graph_type(g, g->nodes[step->index].inputs[i], NULL);
}

static mica_status operand(mica_tf_walk *walk, const mica_tf_step *step, int32_t i, void **out) {
    mica_tf_graph_walk *w = graph_walk(walk);
    mica_tf_ref ref;
    MICA_TRY(mica_tf_residual(w, w->forward->nodes[step->index].inputs[i], &ref));
    *out = mica_tf_pack(ref);
    return NULL;
}

static mica_tf_dtype dtype_of(mica_tf_walk *walk, void *tensor) {
    return mica_tf_graph_type(graph_walk(walk)->backward, mica_tf_unpack(tensor), NULL);
}

static mica_status add_node(mica_tf_walk *walk, mica_tf_op op, const mica_tf_attr *attrs,
                            void *const *inputs, int32_t n, void **outputs, int32_t n_outputs) {
    mica_tf_ref few[16], *refs = n > 16 ? mica_alloc((size_t)n * sizeof *refs) : few, first;
    if (!refs) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n; i++) refs[i] = mica_tf_unpack(inputs[i]);
    mica_status status =
        mica_tf_graph_add(graph_walk(walk)->backward, op, attrs, refs, n, NULL, &first);
    if (refs != few) mica_free(refs);
    MICA_TRY(status);
    for (int32_t i = 0; i < n_outputs; i++) outputs[i] = mica_tf_pack((mica_tf_ref){first.node, i});
    return NULL;
}

static mica_status sum(mica_tf_walk *walk, void *a, void *b, void **out) {
    mica_tf_graph_walk *w = graph_walk(walk);
    if (dtype_of(walk, a) == MICA_TF_variant)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] a stack is used twice", w->forward->name);
    return add_node(walk, MICA_TF_AddV2, NULL, (void *[2]){a, b}, 2, out, 1);
}

static mica_status zeros_like(mica_tf_walk *walk, void *like, void **out) {
    mica_tf_ref ref;
    MICA_TRY(mica_tf_zeros_like(graph_walk(walk)->backward, mica_tf_unpack(like), &ref));
    *out = mica_tf_pack(ref);
    return NULL;
}

static const mica_tf_walk_class graph_class = {.step = step_of,
                                               .begin = begin_node,
                                               .own = own_of_node,
                                               .gather = put_off_gather,
                                               .input_dtype = input_dtype,
                                               .operand = operand,
                                               .dtype = dtype_of,
                                               .has_derivative = is_float,
                                               .run = add_node,
                                               .sum = sum,
                                               .zeros_like = zeros_like};

/* ---- walking back -----------------------------------------------------------------------------*/

static mica_status start(mica_tf_graph_walk *w) {
    const mica_tf_graph *g = w->forward;
    size_t n = (size_t)g->n_results + 1;
    int32_t most = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        int32_t all = g->nodes[i].n_inputs + g->nodes[i].n_results;
        if (all > most) most = all;
    }
    MICA_TRY(mica_tf_walk_init(&w->walk, &graph_class, g->n_nodes, g->n_results, most));
    w->residuals = mica_arena_alloc(&w->arena, n * sizeof *w->residuals);
    w->slots = mica_arena_alloc(&w->arena, ((size_t)most + 1) * sizeof *w->slots);
    if (!w->residuals || !w->slots) return MICA_NO_MEMORY();
    if (w->puts_off) w->put_off = mica_arena_alloc(&w->arena, n * sizeof(void *));
    if (w->puts_off && !w->put_off) return MICA_NO_MEMORY();
    for (size_t i = 0; i < n; i++) w->residuals[i] = no_ref;
    return NULL;
}

/* The copy, its parameters active where they are wanted. */
static mica_status copy_forward(mica_tf_graph_walk *w, const mica_tf_graph *g,
                                const mica_tf_wish *wish) {
    mica_tf_ref *refs = mica_alloc((size_t)(g->n_parameters + g->n_outputs + 1) * sizeof *refs);
    if (!refs) return MICA_NO_MEMORY();
    mica_status status = NULL;
    for (int32_t i = 0; !status && i < g->n_parameters; i++) {
        const mica_tf_node *node = mica_tf_node_of(g, g->parameters[i]);
        status = mica_tf_graph_parameter(w->forward, node->dtypes[0], &node->shapes[0], node->name,
                                         &refs[i]);
    }
    w->slots_capacity = g->n_results + g->n_parameters + 64;
    w->walk.active = mica_calloc((size_t)w->slots_capacity, 1);
    if (!status && !w->walk.active) status = MICA_NO_MEMORY();
    for (int32_t i = 0; !status && i < g->n_parameters; i++)
        w->walk.active[mica_tf_slot(w->forward, refs[i])] = wish->wanted[i];
    mica_tf_copier copier = {.to = w->forward, .walk = w, .take_apart = w->take_apart};
    mica_tf_ref *outputs = refs + g->n_parameters;
    if (!status) status = mica_tf_copy_function(&copier, g, refs, outputs);
    for (int32_t i = 0; i < g->n_outputs && !status; i++)
        status = mica_tf_graph_output(w->forward, outputs[i]);
    mica_free(refs);
    return status;
}

static mica_status build(mica_tf_graph_walk *w, const mica_tf_graph *g, const mica_tf_wish *wish,
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
    MICA_TRY(mica_tf_walk_back(&w->walk, NULL, 0));
    for (int32_t i = 0; i < g->n_parameters; i++) {
        mica_tf_ref parameter = w->forward->parameters[i], like;
        int32_t slot = mica_tf_slot(w->forward, parameter), n = count_put_off(w, slot);
        mica_tf_ref gradient = cotangent_of(w, slot);
        if (wish->wanted[i] && n && n <= MOST_PUT_OFF && !mica_tf_is_ref(gradient)) {
            out_connected[i] = (uint8_t)(1 + n);
            MICA_TRY(output_gathers(w, slot));
            continue;
        }
        if (!wish->wanted[i]) continue;
        MICA_TRY(settle(w, slot));
        gradient = cotangent_of(w, slot);
        out_connected[i] = mica_tf_is_ref(gradient);
        if (wish->fill && !out_connected[i]) {
            MICA_TRY(mica_tf_residual(w, parameter, &like));
            MICA_TRY(mica_tf_zeros_like(w->backward, like, &gradient));
        }
        if (mica_tf_is_ref(gradient)) MICA_TRY(mica_tf_graph_output(w->backward, gradient));
    }
    return NULL;
}

static void end(mica_tf_graph_walk *w) {
    for (int32_t i = 0; i < w->nodes_capacity; i++)
        if (w->stages[i]) mica_tf_stage_destroy(w->stages[i]);
    mica_tf_walk_deinit(&w->walk);
    mica_free(w->stages);
    mica_free(w->walk.active);
    mica_arena_deinit(&w->arena);
}

mica_status mica_tf_derive(const mica_tf_graph *g, const mica_tf_wish *wish, uint8_t *out_connected,
                           mica_tf_graph **out_forward, mica_tf_graph **out_backward) {
    mica_tf_graph_walk w = {.take_apart = wish->take_apart, .puts_off = wish->slices};
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
    mica_tf_graph_walk w = {.forward = g, .backward = g};
    mica_arena_init(&w.arena);
    w.walk.active = mica_calloc(2 * (size_t)g->n_results + 2, 1);
    mica_status status = w.walk.active ? start(&w) : MICA_NO_MEMORY();
    if (!status) {
        w.walk.held = w.walk.active + g->n_results + 1;
        for (int32_t i = 0; i < of->n_sources; i++)
            w.walk.active[mica_tf_slot(g, of->sources[i])] = 1;
        for (int32_t i = 0; i < of->n_held; i++) w.walk.held[mica_tf_slot(g, of->held[i])] = 1;
        mica_tf_find_active(g, 0, w.walk.active);
    }
    for (int32_t i = 0; i < of->n_targets && !status; i++)
        if (w.walk.active[mica_tf_slot(g, of->targets[i])])
            status = mica_tf_add_cotangent(&w, mica_tf_slot(g, of->targets[i]), of->cotangents[i]);
    if (!status) status = mica_tf_walk_back(&w.walk, NULL, 0);
    for (int32_t i = 0; i < of->n_sources && !status; i++)
        out_gradients[i] = mica_tf_unpack(w.walk.cotangents[mica_tf_slot(g, of->sources[i])]);
    end(&w);
    return status;
}
