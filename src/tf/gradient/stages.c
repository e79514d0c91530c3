/* Branches and loops that stay on the host, and their gradients.
 *
 * Forward, the functions of a stage are forward functions; what they return for later is pushed on
 * a stack, a frame for each call. A branch returns its one frame. A loop carries the stack, and its
 * backward pass is a loop that runs while there are frames: it takes the cotangents of what was
 * carried from after an iteration to before it. */
#include <string.h>

#include "tf/gradient/function.h"

enum { MOST_BRANCHES = 64 };

struct mica_tf_stage {
    mica_tf_graph *backs[MOST_BRANCHES]; /* by branch; or the loop's body and condition */
    int32_t n_backs;
    int32_t first;      /* input that is the functions' argument 0 */
    int32_t n_own;      /* results of the op itself; the stack follows */
    uint8_t *wanted;    /* by argument */
    uint8_t *given;     /* by result */
    uint8_t *connected; /* by argument */
};

void mica_tf_stage_destroy(mica_tf_stage *stage) {
    for (int32_t i = 0; i < MOST_BRANCHES; i++) mica_tf_graph_release(stage->backs[i]);
    mica_free(stage->wanted);
    mica_free(stage);
}

static bool is_loop(const mica_tf_operation *o) {
    return mica_tf_is_a(o, MICA_TF_CATEGORY_LOOP);
}

static bool is_branch(const mica_tf_operation *o) {
    return mica_tf_is_a(o, MICA_TF_CATEGORY_BRANCH);
}

bool mica_tf_is_stage(const mica_tf_operation *operation, bool take_apart) {
    if (!is_loop(operation) && !is_branch(operation)) return false;
    return take_apart || mica_tf_operation_lowers(operation) == MICA_TF_STAYS_HOST;
}

static mica_status create(int32_t n_arguments, int32_t n_results, mica_tf_stage **out_stage) {
    mica_tf_stage *stage = mica_calloc(1, sizeof *stage);
    size_t n = (size_t)n_arguments, m = (size_t)n_results;
    *out_stage = NULL;
    if (!stage) return MICA_NO_MEMORY();
    stage->wanted = mica_calloc(2 * n + m + 1, 1);
    if (!stage->wanted) {
        mica_tf_stage_destroy(stage);
        return MICA_NO_MEMORY();
    }
    stage->connected = stage->wanted + n;
    stage->given = stage->connected + n;
    stage->n_own = n_results;
    *out_stage = stage;
    return NULL;
}

static int64_t *types_of(const mica_tf_graph *g, const mica_tf_ref *refs, int32_t n) {
    int64_t *types = mica_alloc(((size_t)n + 1) * sizeof *types);
    for (int32_t i = 0; types && i < n; i++) types[i] = mica_tf_graph_type(g, refs[i], NULL);
    return types;
}

static int32_t count(const uint8_t *flags, int32_t n) {
    int32_t total = 0;
    for (int32_t i = 0; i < n; i++) total += flags[i];
    return total;
}

/* ---- the functions ----------------------------------------------------------------------------*/

/* What a forward function returns after its first n outputs becomes a frame on the stack. */
static mica_status push_residuals(mica_tf_graph *forward, int32_t n, mica_tf_ref stack) {
    int32_t n_residuals = forward->n_outputs - n;
    mica_tf_ref *refs = mica_alloc(((size_t)n_residuals + 2) * sizeof *refs), pushed;
    if (!refs) return MICA_NO_MEMORY();
    refs[0] = stack;
    memcpy(refs + 1, forward->outputs + n, (size_t)n_residuals * sizeof *refs);
    int64_t *types = types_of(forward, refs + 1, n_residuals);
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{.n = n_residuals, .as.ints = types}};
    mica_status status = types ? mica_tf_graph_add(forward, MICA_TF_StackPush, attrs, refs,
                                                   n_residuals + 1, NULL, &pushed)
                               : MICA_NO_MEMORY();
    forward->n_outputs = n;
    if (!status) status = mica_tf_graph_output(forward, pushed);
    mica_free(types);
    mica_free(refs);
    return status;
}

/* A backward function that takes its residuals from a stack: (stack, cotangents) -> gradients, or
 * for a loop (the stack below, gradients). */
static mica_status pop_residuals(const mica_tf_graph *backward, int32_t n_cotangents, bool loops,
                                 mica_tf_graph **out_graph) {
    mica_tf_graph *g = NULL;
    int32_t n = backward->n_parameters, n_residuals = n - n_cotangents;
    mica_tf_shape scalar = {.rank = 0};
    mica_tf_ref stack, popped;
    mica_tf_ref *refs = mica_alloc((size_t)(n + backward->n_outputs + 1) * sizeof *refs);
    int64_t *types = types_of(backward, backward->parameters + n_cotangents, n_residuals);
    mica_status status =
        refs && types ? mica_tf_graph_create(backward->name, &g) : MICA_NO_MEMORY();
    if (!status) status = mica_tf_graph_parameter(g, MICA_TF_variant, &scalar, "stack", &stack);
    for (int32_t i = 0; i < n_cotangents && !status; i++) {
        mica_tf_shape shape;
        mica_tf_dtype dtype = mica_tf_graph_type(backward, backward->parameters[i], &shape);
        status = mica_tf_graph_parameter(g, dtype, &shape, "cotangent", &refs[i]);
    }
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{.n = n_residuals, .as.ints = types}};
    if (!status) status = mica_tf_graph_add(g, MICA_TF_StackPop, attrs, &stack, 1, NULL, &popped);
    for (int32_t i = 0; i < n_residuals && !status; i++) {
        mica_tf_shape shape;
        mica_tf_graph_type(backward, backward->parameters[n_cotangents + i], &shape);
        refs[n_cotangents + i] = (mica_tf_ref){popped.node, i + 1};
        status = mica_tf_graph_set_shape(g, refs[n_cotangents + i], &shape);
    }
    mica_tf_copier copier = {.to = g};
    if (!status) status = mica_tf_copy_function(&copier, backward, refs, refs + n);
    if (!status && loops) status = mica_tf_graph_output(g, popped);
    for (int32_t i = 0; i < backward->n_outputs && !status; i++)
        status = mica_tf_graph_output(g, refs[n + i]);
    mica_free(refs);
    mica_free(types);
    if (status)
        mica_tf_graph_release(g);
    else
        *out_graph = g;
    return status;
}

/* ---- forward ----------------------------------------------------------------------------------*/

/* The op with other functions and inputs, with a stack as its last result. */
typedef struct rewrite {
    mica_tf_graph_walk *w;
    const mica_tf_operation *operation;
    const mica_tf_ref *inputs;
    int32_t n;
    const char *name;
    mica_tf_stage *stage;
    mica_tf_graph *forwards[MOST_BRANCHES];
} rewrite;

static mica_status add_node(rewrite *r, const mica_tf_attr *attrs, const mica_tf_ref *inputs,
                            int32_t n, mica_tf_ref *out) {
    mica_tf_graph *g = r->w->forward;
    mica_tf_ref first;
    MICA_TRY(mica_tf_graph_add(g, r->operation->op, attrs, inputs, n, r->name, &first));
    for (int32_t i = 0; i < r->stage->n_own; i++) out[i] = (mica_tf_ref){first.node, i};
    return NULL;
}

static mica_tf_graph *function_attr(const mica_tf_operation *o, const char *name) {
    return mica_tf_attr_find(o->info, o->attrs, name)->as.function;
}

static mica_status branch_functions(const rewrite *r, mica_tf_graph **bodies, int32_t *out_n) {
    const mica_tf_operation *o = r->operation;
    *out_n = 2;
    const mica_tf_attr *branches = mica_tf_attr_find(o->info, o->attrs, "branches");
    if (branches->n) { /* Case */
        if (branches->n > MOST_BRANCHES)
            return MICA_ERROR(MICA_UNSUPPORTED, "[Case] a gradient of more than %d branches",
                              MOST_BRANCHES);
        *out_n = branches->n;
        for (int32_t i = 0; i < branches->n; i++) bodies[i] = branches->as.functions[i];
        return NULL;
    }
    bodies[0] = function_attr(o, "then_branch");
    bodies[1] = function_attr(o, "else_branch");
    return NULL;
}

static mica_status derive_branch(rewrite *r, const mica_tf_graph *body, int32_t k) {
    mica_tf_stage *stage = r->stage;
    mica_tf_graph *backward = NULL;
    mica_tf_ref stack;
    mica_tf_wish wish = {stage->wanted, stage->given, true, r->w->take_apart, false};
    uint8_t *connected = mica_calloc((size_t)body->n_parameters + 1, 1);
    if (!connected) return MICA_NO_MEMORY();
    mica_status status = mica_tf_derive(body, &wish, connected, &r->forwards[k], &backward);
    for (int32_t i = 0; i < body->n_parameters && !status; i++) stage->connected[i] |= connected[i];
    if (!status)
        status = mica_tf_graph_add(r->forwards[k], MICA_TF_StackEmpty, NULL, NULL, 0, NULL, &stack);
    if (!status) status = push_residuals(r->forwards[k], stage->n_own, stack);
    if (!status)
        status =
            pop_residuals(backward, count(stage->given, stage->n_own), false, &stage->backs[k]);
    mica_free(connected);
    mica_tf_graph_release(backward);
    return status;
}

static mica_status forward_branch(rewrite *r, mica_tf_ref *out) {
    mica_tf_graph *bodies[MOST_BRANCHES];
    const mica_tf_operation *o = r->operation;
    const mica_tf_attr *results = mica_tf_attr_find(o->info, o->attrs, "Tout");
    MICA_TRY(branch_functions(r, bodies, &r->stage->n_backs));
    r->stage->first = 1;
    for (int32_t i = 0; i < r->stage->n_own; i++)
        r->stage->given[i] = mica_tf_flows((mica_tf_dtype)results->as.ints[i]);
    for (int32_t i = 1; i < r->n; i++)
        r->stage->wanted[i - 1] =
            r->w->walk.active[mica_tf_slot(r->w->forward, r->inputs[i])] &&
            mica_tf_flows(mica_tf_graph_type(r->w->forward, r->inputs[i], NULL));
    for (int32_t k = 0; k < r->stage->n_backs; k++) MICA_TRY(derive_branch(r, bodies[k], k));
    int64_t *types = mica_alloc(((size_t)results->n + 2) * sizeof *types);
    if (!types) return MICA_NO_MEMORY();
    memcpy(types, results->as.ints, (size_t)results->n * sizeof *types);
    types[results->n] = MICA_TF_variant;
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS];
    for (int32_t i = 0; i < o->info->n_attrs; i++) {
        const char *name = o->info->attrs[i].name;
        attrs[i] = o->attrs[i];
        if (!strcmp(name, "Tout"))
            attrs[i] = (mica_tf_attr){.n = results->n + 1, .as.ints = types};
        else if (!strcmp(name, "then_branch"))
            attrs[i].as.function = r->forwards[0];
        else if (!strcmp(name, "else_branch"))
            attrs[i].as.function = r->forwards[1];
        else if (!strcmp(name, "branches"))
            attrs[i].as.functions = r->forwards;
    }
    mica_status status = add_node(r, attrs, r->inputs, r->n, out);
    mica_free(types);
    return status;
}

/* What is carried depends on what is wanted as soon as one iteration makes it so. */
static mica_status settle_wanted(rewrite *r, const mica_tf_graph *body) {
    uint8_t *wanted = r->stage->wanted;
    uint8_t *active = mica_alloc((size_t)body->n_results + 1);
    if (!active) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < r->n; i++)
        wanted[i] = r->w->walk.active[mica_tf_slot(r->w->forward, r->inputs[i])] &&
                    mica_tf_flows(mica_tf_graph_type(r->w->forward, r->inputs[i], NULL));
    for (bool changed = true; changed;) {
        changed = false;
        memset(active, 0, (size_t)body->n_results);
        for (int32_t i = 0; i < r->n; i++)
            active[mica_tf_slot(body, body->parameters[i])] = wanted[i];
        mica_tf_find_active(body, 0, active);
        for (int32_t i = 0; i < r->n; i++)
            if (active[mica_tf_slot(body, body->outputs[i])] && !wanted[i])
                wanted[i] = changed = true;
    }
    memcpy(r->stage->given, wanted, (size_t)r->n);
    mica_free(active);
    return NULL;
}

/* The condition of a function with a stack as one more argument. */
static mica_status wider_condition(const mica_tf_graph *cond, mica_tf_graph **out_graph) {
    mica_tf_graph *g = NULL;
    mica_tf_shape scalar = {.rank = 0};
    mica_tf_ref *refs = mica_alloc(((size_t)cond->n_parameters + 2) * sizeof *refs), result, stack;
    mica_status status = refs ? mica_tf_graph_create(cond->name, &g) : MICA_NO_MEMORY();
    for (int32_t i = 0; i < cond->n_parameters && !status; i++) {
        mica_tf_shape shape;
        mica_tf_dtype dtype = mica_tf_graph_type(cond, cond->parameters[i], &shape);
        status = mica_tf_graph_parameter(g, dtype, &shape, NULL, &refs[i]);
    }
    if (!status) status = mica_tf_graph_parameter(g, MICA_TF_variant, &scalar, "stack", &stack);
    mica_tf_copier copier = {.to = g};
    if (!status) status = mica_tf_copy_function(&copier, cond, refs, &result);
    if (!status) status = mica_tf_graph_output(g, result);
    mica_free(refs);
    if (status)
        mica_tf_graph_release(g);
    else
        *out_graph = g;
    return status;
}

/* (stack, cotangents) -> whether there is a frame. */
static mica_status frames_left(const mica_tf_graph *back, mica_tf_graph **out_graph) {
    mica_tf_graph *g = NULL;
    mica_tf_ref first = {0, 0}, ref;
    mica_status status = mica_tf_graph_create("frames_left", &g);
    for (int32_t i = 0; i < back->n_parameters && !status; i++) {
        mica_tf_shape shape;
        mica_tf_dtype dtype = mica_tf_graph_type(back, back->parameters[i], &shape);
        status = mica_tf_graph_parameter(g, dtype, &shape, NULL, &ref);
    }
    if (!status) status = mica_tf_graph_add(g, MICA_TF_StackHas, NULL, &first, 1, NULL, &ref);
    if (!status) status = mica_tf_graph_output(g, ref);
    if (status)
        mica_tf_graph_release(g);
    else
        *out_graph = g;
    return status;
}

static mica_status derive_body(rewrite *r, const mica_tf_graph *body) {
    mica_tf_stage *stage = r->stage;
    mica_tf_graph *backward = NULL;
    mica_tf_shape scalar = {.rank = 0};
    mica_tf_ref stack;
    mica_tf_wish wish = {stage->wanted, stage->given, true, r->w->take_apart, false};
    mica_status status = mica_tf_derive(body, &wish, stage->connected, &r->forwards[0], &backward);
    if (!status)
        status = mica_tf_graph_parameter(r->forwards[0], MICA_TF_variant, &scalar, "stack", &stack);
    if (!status) status = push_residuals(r->forwards[0], stage->n_own, stack);
    if (!status)
        status = pop_residuals(backward, count(stage->given, stage->n_own), true, &stage->backs[0]);
    if (!status) status = frames_left(stage->backs[0], &stage->backs[1]);
    /* Without an iteration the cotangent passes as it is. */
    memcpy(stage->connected, stage->wanted, (size_t)r->n);
    mica_tf_graph_release(backward);
    return status;
}

static mica_status forward_loop(rewrite *r, mica_tf_ref *out) {
    const mica_tf_operation *o = r->operation;
    mica_tf_graph *body = function_attr(o, "body");
    r->stage->n_backs = 2;
    MICA_TRY(settle_wanted(r, body));
    MICA_TRY(derive_body(r, body));
    MICA_TRY(wider_condition(function_attr(o, "cond"), &r->forwards[1]));
    mica_tf_ref *inputs = mica_alloc(((size_t)r->n + 2) * sizeof *inputs);
    if (!inputs) return MICA_NO_MEMORY();
    memcpy(inputs, r->inputs, (size_t)r->n * sizeof *inputs);
    mica_status status =
        mica_tf_graph_add(r->w->forward, MICA_TF_StackEmpty, NULL, NULL, 0, NULL, &inputs[r->n]);
    int64_t *types = status ? NULL : types_of(r->w->forward, inputs, r->n + 1);
    if (!status && !types) status = MICA_NO_MEMORY();
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS];
    for (int32_t i = 0; i < o->info->n_attrs; i++) {
        const char *name = o->info->attrs[i].name;
        attrs[i] = o->attrs[i];
        if (!strcmp(name, "T"))
            attrs[i] = (mica_tf_attr){.n = r->n + 1, .as.ints = types};
        else if (!strcmp(name, "body"))
            attrs[i].as.function = r->forwards[0];
        else if (!strcmp(name, "cond"))
            attrs[i].as.function = r->forwards[1];
    }
    if (!status) status = add_node(r, attrs, inputs, r->n + 1, out);
    mica_free(types);
    mica_free(inputs);
    return status;
}

mica_status mica_tf_stage_forward(mica_tf_graph_walk *w, const mica_tf_operation *operation,
                                  const mica_tf_ref *inputs, int32_t n, const char *name,
                                  mica_tf_ref *out) {
    rewrite r = {.w = w, .operation = operation, .inputs = inputs, .n = n, .name = name};
    mica_tf_dtype dtypes[MICA_TF_MAX_VALUES];
    int32_t n_results =
        mica_tf_output_dtypes(operation->info, operation->attrs, dtypes, MICA_TF_MAX_VALUES);
    MICA_TRY(create(n, n_results, &r.stage));
    mica_status status = is_loop(operation) ? forward_loop(&r, out) : forward_branch(&r, out);
    for (int32_t i = 0; i < MOST_BRANCHES; i++) mica_tf_graph_release(r.forwards[i]);
    if (!status) status = mica_tf_catch_up(w);
    if (!status)
        w->stages[w->forward->n_nodes - 1] = r.stage;
    else
        mica_tf_stage_destroy(r.stage);
    return status;
}

/* ---- backward ---------------------------------------------------------------------------------*/

static mica_status add_backward(mica_tf_graph_walk *w, const mica_tf_node *node,
                                const mica_tf_stage *stage, const mica_tf_ref *inputs, int32_t n,
                                mica_tf_ref *out_first) {
    const mica_tf_operation *o = node->operation;
    int32_t n_gradients = count(stage->wanted, node->n_inputs - stage->first - is_loop(o));
    int64_t *types = types_of(w->backward, inputs, n);
    int64_t *results = mica_alloc(((size_t)n_gradients + 1) * sizeof *results);
    mica_status status = types && results ? NULL : MICA_NO_MEMORY();
    for (int32_t i = 0, k = 0; k < n_gradients && !status; i++)
        if (stage->wanted[i])
            results[k++] = mica_tf_graph_type(w->forward, node->inputs[stage->first + i], NULL);
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS];
    for (int32_t i = 0; i < o->info->n_attrs; i++) {
        const char *name = o->info->attrs[i].name;
        attrs[i] = o->attrs[i];
        if (!strcmp(name, "T"))
            attrs[i] = (mica_tf_attr){.n = n, .as.ints = types};
        else if (!strcmp(name, "Tin"))
            attrs[i] = (mica_tf_attr){.n = n - 1, .as.ints = types + 1};
        else if (!strcmp(name, "Tout"))
            attrs[i] = (mica_tf_attr){.n = n_gradients, .as.ints = results};
        else if (!strcmp(name, "output_shapes"))
            attrs[i].n = 0;
        else if (!strcmp(name, "body") || !strcmp(name, "then_branch"))
            attrs[i].as.function = stage->backs[0];
        else if (!strcmp(name, "cond") || !strcmp(name, "else_branch"))
            attrs[i].as.function = stage->backs[1];
        else if (!strcmp(name, "branches"))
            attrs[i].as.functions = stage->backs;
    }
    if (!status) status = mica_tf_graph_add(w->backward, o->op, attrs, inputs, n, NULL, out_first);
    mica_free(types);
    mica_free(results);
    return status;
}

mica_status mica_tf_stage_backward(mica_tf_graph_walk *w, int32_t index) {
    const mica_tf_stage *stage = w->stages[index];
    const mica_tf_node node = w->forward->nodes[index];
    bool loops = is_loop(node.operation);
    mica_tf_ref *inputs = mica_alloc(((size_t)node.n_results + 3) * sizeof *inputs), first;
    if (!inputs) return MICA_NO_MEMORY();
    int32_t n = 0;
    mica_status status = NULL;
    if (!loops) status = mica_tf_residual(w, node.inputs[0], &inputs[n++]);
    if (!status) status = mica_tf_residual(w, (mica_tf_ref){index, stage->n_own}, &inputs[n++]);
    for (int32_t i = 0; i < stage->n_own && !status; i++)
        if (stage->given[i]) status = mica_tf_cotangent_or_zeros(w, index, i, &inputs[n++]);
    if (!status) status = add_backward(w, &node, stage, inputs, n, &first);
    int32_t n_arguments = node.n_inputs - stage->first - loops, k = loops;
    for (int32_t i = 0; i < n_arguments && !status; i++) {
        if (!stage->wanted[i]) continue;
        mica_tf_ref input = node.inputs[stage->first + i], gradient = {first.node, k++};
        mica_tf_shape shape;
        mica_tf_graph_type(w->forward, input, &shape);
        status = mica_tf_graph_set_shape(w->backward, gradient, &shape);
        if (!status && stage->connected[i] && w->walk.active[mica_tf_slot(w->forward, input)])
            status = mica_tf_add_cotangent(w, mica_tf_slot(w->forward, input), gradient);
    }
    mica_free(inputs);
    return status;
}
