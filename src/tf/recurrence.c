/* LSTMs and GRUs in loops: a While that steps through a sequence as Keras' layers do becomes one
 * product of all inputs with their weights and mica.lstm_steps or mica.gru_steps (nn.h).
 *
 * What has to be there, in the body: counters that go up by one, the step's input read at one of
 * them, states, an array of outputs that is written at that place (or always at 0); sums of the
 * products of input and state with weights, cut into gates; and nothing else that is carried. The
 * condition compares counters with numbers that are known now. All elements of the array are then
 * written, so what was in it does not count. What is the same in every step is lowered outside.
 * MICA_LOG=match tells what was recognised, and why a loop that reads and multiplies was not. */
#include <string.h>

#include "base/log.h"
#include "base/selection.h"
#include "mica/nn.h"
#include "tf/lower_rules.h"
#include "tf/recurrence.h"

enum { MOST_BIASES = 4, DEEPEST_SUM = 8, DEEPEST_CALL = 4, NONE = -1 };

/* The sum that gates are cut from. */
typedef struct gate_sum {
    mica_tf_ref kernel, recurrent, bias[MOST_BIASES];
    bool has_kernel, has_recurrent;
    int32_t n_biases;
} gate_sum;

typedef struct recurrence {
    mica_tf_lowering *c;
    mica_tf_graph *body;
    mica_tf_frame *outside; /* the body's nodes in c->g, where they are the same in every step */
    bool *varies;           /* by node of the body */
    const char *miss;       /* why it is none; NULL: not known */
    int32_t time, array, hidden, cell;
    bool writes_all; /* the array has an element per step, not one for the last */
    mica_tf_ref next_hidden, input, factor; /* factor: what each input is multiplied with */
    bool has_input, has_factor;
    int64_t steps, batch, size; /* size: of the states */
    gate_sum sums[2];           /* of an LSTM one; of a GRU those of inputs and of states */
} recurrence;

static bool miss(recurrence *r, const char *why) {
    if (!r->miss) r->miss = why;
    return false;
}

/* ---- reading the body -------------------------------------------------------------------------*/

static mica_tf_ref settle(const mica_tf_graph *g, mica_tf_ref ref) {
    for (;;) {
        const mica_tf_node *node = mica_tf_node_of(g, ref);
        if (!node->operation || node->operation->op != MICA_TF_Identity) return ref;
        ref = node->inputs[0];
    }
}

/* The node if it is of this op, through identities; else NULL. */
static const mica_tf_node *node_if(const mica_tf_graph *g, mica_tf_ref ref, mica_tf_op op) {
    const mica_tf_node *node = mica_tf_node_of(g, settle(g, ref));
    return node->operation && node->operation->op == op ? node : NULL;
}

static int32_t parameter_of(const mica_tf_graph *g, mica_tf_ref ref) {
    ref = settle(g, ref);
    if (mica_tf_node_of(g, ref)->operation) return NONE;
    for (int32_t i = 0; i < g->n_parameters; i++)
        if (g->parameters[i].node == ref.node) return i;
    return NONE;
}

static int64_t int_attr(const mica_tf_node *node, const char *name) {
    return mica_tf_attr_find(node->operation->info, node->operation->attrs, name)->as.integer;
}

static bool is_carried(const mica_tf_lowering *c, const mica_tf_graph *body, int32_t i) {
    return c->inputs[i].node && parameter_of(body, body->outputs[i]) != i;
}

/* A variable that the loop has as an operand, with its value of before the loop: none assigns. */
static bool reads_outside(const mica_tf_lowering *c, const mica_tf_graph *body,
                          const mica_tf_node *node) {
    if (node->operation->op != MICA_TF_ReadVariableOp) return false;
    int32_t i = parameter_of(body, node->inputs[0]);
    return i != NONE && c->variables[i] >= 0 &&
           c->session->variables[c->variables[i]].value.node != NULL;
}

/* flags[i]: node i is not the same in every step, or cannot be lowered outside. */
static bool *find_varying(mica_tf_lowering *c, const mica_tf_graph *body, const mica_tf_graph *g) {
    bool *varies = mica_arena_alloc(&c->session->arena, (size_t)g->n_nodes + 1);
    if (!varies) return NULL;
    for (int32_t i = 0; i < g->n_parameters; i++)
        varies[g->parameters[i].node] = is_carried(c, body, i);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_tf_node *node = &g->nodes[i];
        if (!node->operation) continue;
        varies[i] = mica_tf_rows[node->operation->op].effect != MICA_TF_PURE &&
                    !(g == body && reads_outside(c, g, node));
        for (int32_t k = 0; k < node->n_inputs; k++) varies[i] |= varies[node->inputs[k].node];
    }
    return varies;
}

/* The parameters of a graph that are the same in every step, as operands of the loop. */
static void bind_constants(mica_tf_lowering *c, const mica_tf_graph *body, mica_tf_frame *frame) {
    for (int32_t i = 0; i < frame->graph->n_parameters; i++) {
        int32_t slot = mica_tf_slot(frame->graph, frame->graph->parameters[i]);
        frame->variables[slot] = c->variables[i];
        if (!is_carried(c, body, i)) frame->values[slot] = c->inputs[i];
    }
    frame->caller = c->frame;
    frame->operands = c->refs;
}

/* What has effects is not lowered by being asked for. */
static void lower_reads(recurrence *r) {
    for (int32_t i = 0; i < r->body->n_nodes; i++)
        if (!r->varies[i] && r->body->nodes[i].operation &&
            r->body->nodes[i].operation->op == MICA_TF_ReadVariableOp)
            mica_tf_frame_lower(r->outside, i);
}

/* An integer that is known now. */
static bool known_int(mica_tf_frame *frame, mica_tf_ref ref, int64_t *out) {
    mica_tensor *tensor = NULL;
    int32_t n = 0;
    mica_status status = mica_tf_fold(frame, ref, &tensor);
    if (!status) status = mica_tf_tensor_ints(tensor, out, 1, &n);
    bool known = !status && n == 1;
    mica_status_release(status);
    return known;
}

static bool body_int(recurrence *r, mica_tf_ref ref, int64_t *out) {
    return !r->varies[settle(r->body, ref).node] && known_int(r->outside, ref, out);
}

/* ---- what is carried --------------------------------------------------------------------------*/

/* From 0 on, one more in each step. */
static bool is_counter(recurrence *r, int32_t i) {
    const mica_type *type = mica_tf_type(r->c, i);
    const mica_tf_node *sum = node_if(r->body, r->body->outputs[i], MICA_TF_AddV2);
    int64_t step, start;
    if (type->kind != MICA_TENSOR || type->rank != 0 ||
        mica_dtype_kind_of(type->dtype) == MICA_KIND_FLOAT || !sum)
        return false;
    for (int32_t k = 0; k < 2; k++)
        if (parameter_of(r->body, sum->inputs[k]) == i && body_int(r, sum->inputs[1 - k], &step) &&
            step == 1)
            return known_int(r->c->frame, r->c->refs[i], &start) && start == 0;
    return false;
}

/* The array as it came, or with room behind its elements for their unknown sizes. */
static bool is_array(recurrence *r, mica_tf_ref ref, int32_t i, int depth) {
    const mica_tf_node *wider = node_if(r->body, ref, MICA_TF_ConcatV2);
    int64_t axis;
    if (!wider) return parameter_of(r->body, ref) == i;
    return depth < MICA_MAX_RANK && body_int(r, wider->inputs[wider->n_inputs - 1], &axis) &&
           axis > 0 && is_array(r, wider->inputs[0], i, depth + 1);
}

static bool find_array(recurrence *r, int32_t i, const mica_tf_node *write) {
    int64_t place = 0;
    if (r->array != NONE || !is_array(r, write->inputs[0], i, 0))
        return miss(r, "more than one array is written");
    r->array = i;
    r->time = parameter_of(r->body, write->inputs[1]);
    r->writes_all = r->time != NONE;
    if (!r->writes_all && (!body_int(r, write->inputs[1], &place) || place != 0))
        return miss(r, "outputs are written at another place than the step's or 0");
    if (r->writes_all && !is_counter(r, r->time))
        return miss(r, "outputs are written at a place that does not count the steps");
    r->next_hidden = settle(r->body, write->inputs[2]);
    return !node_if(r->body, r->next_hidden, MICA_TF_SelectV2) ||
           miss(r, "a mask chooses between old and new states");
}

static bool same(mica_tf_ref a, mica_tf_ref b) {
    return a.node == b.node && a.index == b.index;
}

static bool is_state(recurrence *r, int32_t i) {
    const mica_type *type = mica_tf_type(r->c, i);
    return type->kind == MICA_TENSOR && type->dtype == MICA_DTYPE_f32 && type->rank == 2;
}

/* Every carried value is a counter, the array, or one of one or two states. */
static bool sort_carried(recurrence *r) {
    mica_tf_graph *body = r->body;
    for (int32_t i = 0; i < r->c->n_inputs; i++) {
        const mica_tf_node *write = node_if(body, body->outputs[i], MICA_TF_WriteElement);
        if (is_carried(r->c, body, i) && write && !find_array(r, i, write)) return false;
    }
    if (r->array == NONE) return miss(r, "no array of outputs is written");
    for (int32_t i = 0; i < r->c->n_inputs; i++) {
        if (!is_carried(r->c, body, i) || i == r->array || is_counter(r, i)) continue;
        if (!is_state(r, i)) return miss(r, "something besides f32 states is carried");
        bool is_hidden = same(settle(body, body->outputs[i]), r->next_hidden);
        int32_t *place = is_hidden && r->hidden == NONE ? &r->hidden : &r->cell;
        if (*place != NONE) return miss(r, "more than two states are carried");
        *place = i;
    }
    return r->hidden != NONE || miss(r, "the output of a step is not its state");
}

/* ---- how many steps ---------------------------------------------------------------------------*/

/* A function within the condition; `loop` says which of the loop's values a parameter is. */
typedef struct test_view {
    mica_tf_frame *frame;
    const bool *varies;
    int32_t *loop;
} test_view;

static bool limit_of(recurrence *r, const test_view *v, const mica_tf_node *less) {
    int32_t i = parameter_of(v->frame->graph, less->inputs[0]);
    mica_tf_ref limit = settle(v->frame->graph, less->inputs[1]);
    int64_t steps;
    if (i == NONE || v->loop[i] == NONE || !is_counter(r, v->loop[i]))
        return miss(r, "the condition is not that of counters");
    if (v->varies[limit.node] || !known_int(v->frame, limit, &steps))
        return miss(r, "how many steps there are is not known");
    if (r->steps < 0 || steps < r->steps) r->steps = steps;
    return true;
}

static bool read_test(recurrence *r, const test_view *v, mica_tf_ref ref, int depth);

static bool read_call(recurrence *r, const test_view *v, const mica_tf_node *call, int32_t result,
                      int depth) {
    mica_tf_lowering *c = r->c;
    mica_arena *arena = &c->session->arena;
    mica_tf_graph *g =
        mica_tf_attr_find(call->operation->info, call->operation->attrs, "f")->as.function;
    test_view in = {.frame = mica_tf_frame_create(c->session, g, c->g),
                    .loop =
                        mica_arena_alloc(arena, (size_t)(g->n_parameters + 1) * sizeof *in.loop)};
    bool *varies = mica_arena_alloc(arena, (size_t)g->n_nodes + 1);
    if (!in.frame || !in.loop || !varies) return miss(r, "there was no memory to read it");
    if (g->n_parameters != call->n_inputs || result >= g->n_outputs)
        return miss(r, "the condition calls a function with other arguments");
    in.varies = varies;
    for (int32_t i = 0; i < g->n_parameters; i++) {
        int32_t of = parameter_of(v->frame->graph, call->inputs[i]);
        in.loop[i] = of == NONE ? NONE : v->loop[of];
        varies[g->parameters[i].node] = v->varies[call->inputs[i].node];
        in.frame->values[mica_tf_slot(g, g->parameters[i])] =
            v->frame->values[mica_tf_slot(v->frame->graph, call->inputs[i])];
    }
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_tf_operation *operation = g->nodes[i].operation;
        if (operation) varies[i] = mica_tf_rows[operation->op].effect != MICA_TF_PURE;
        for (int32_t k = 0; k < g->nodes[i].n_inputs; k++)
            varies[i] |= varies[g->nodes[i].inputs[k].node];
    }
    in.frame->caller = v->frame;
    in.frame->operands = call->inputs;
    return read_test(r, &in, g->outputs[result], depth + 1);
}

static bool read_test(recurrence *r, const test_view *v, mica_tf_ref ref, int depth) {
    mica_tf_graph *g = v->frame->graph;
    const mica_tf_node *both = node_if(g, ref, MICA_TF_LogicalAnd);
    const mica_tf_node *less = node_if(g, ref, MICA_TF_Less);
    const mica_tf_node *call = node_if(g, ref, MICA_TF_PartitionedCall);
    if (depth > DEEPEST_CALL) return miss(r, "the condition has too many parts");
    if (both)
        return read_test(r, v, both->inputs[0], depth + 1) &&
               read_test(r, v, both->inputs[1], depth + 1);
    if (call) return read_call(r, v, call, settle(g, ref).index, depth);
    return less ? limit_of(r, v, less) : miss(r, "the condition is not that of counters");
}

static bool count_steps(recurrence *r, mica_tf_graph *cond) {
    mica_tf_lowering *c = r->c;
    test_view v = {
        .frame = mica_tf_frame_create(c->session, cond, c->g),
        .varies = find_varying(c, r->body, cond),
        .loop = mica_arena_alloc(&c->session->arena, (size_t)(c->n_inputs + 1) * sizeof *v.loop)};
    if (!v.frame || !v.varies || !v.loop) return miss(r, "there was no memory to read it");
    for (int32_t i = 0; i < c->n_inputs; i++) v.loop[i] = i;
    bind_constants(c, r->body, v.frame);
    r->steps = -1;
    return read_test(r, &v, cond->outputs[0], 0);
}

/* ---- the step ---------------------------------------------------------------------------------*/

/* The step's input, maybe times what is the same in every step (dropout of the inputs). */
static bool is_input(recurrence *r, mica_tf_ref ref) {
    const mica_tf_node *read = node_if(r->body, ref, MICA_TF_ReadElement);
    const mica_tf_node *product = node_if(r->body, ref, MICA_TF_Mul);
    mica_tf_ref factor = {0, 0};
    for (int32_t k = 0; product && k < 2; k++) {
        read = node_if(r->body, product->inputs[k], MICA_TF_ReadElement);
        factor = product->inputs[1 - k];
        if (read && !r->varies[factor.node]) break;
        read = NULL;
    }
    if (!read || r->varies[read->inputs[0].node]) return false;
    int32_t time = parameter_of(r->body, read->inputs[1]);
    if (time == NONE || !is_counter(r, time) || (r->writes_all && time != r->time)) return false;
    if (r->has_input && (!same(r->input, read->inputs[0]) || r->has_factor != (product != NULL) ||
                         (product && !same(r->factor, factor))))
        return false;
    r->has_input = true;
    r->has_factor = product != NULL;
    r->input = read->inputs[0];
    r->factor = factor;
    return true;
}

static bool read_sum(recurrence *r, mica_tf_ref ref, gate_sum *sum, int depth) {
    const mica_tf_node *add = node_if(r->body, ref, MICA_TF_AddV2);
    const mica_tf_node *bias = node_if(r->body, ref, MICA_TF_BiasAdd);
    const mica_tf_node *product = node_if(r->body, ref, MICA_TF_MatMul);
    if (!r->varies[settle(r->body, ref).node]) {
        if (sum->n_biases == MOST_BIASES) return miss(r, "a gate has too many biases");
        sum->bias[sum->n_biases++] = settle(r->body, ref);
        return true;
    }
    if ((add || bias) && depth < DEEPEST_SUM) {
        const mica_tf_node *node = add ? add : bias;
        return read_sum(r, node->inputs[0], sum, depth + 1) &&
               read_sum(r, node->inputs[1], sum, depth + 1);
    }
    if (!product || int_attr(product, "transpose_a") || int_attr(product, "transpose_b") ||
        r->varies[product->inputs[1].node])
        return miss(r, "a gate is not a sum of products with weights and biases");
    if (parameter_of(r->body, product->inputs[0]) == r->hidden) {
        if (sum->has_recurrent) return miss(r, "the state is multiplied twice");
        sum->has_recurrent = true;
        sum->recurrent = product->inputs[1];
        return true;
    }
    if (!is_input(r, product->inputs[0]))
        return miss(r, "weights multiply something besides the step's input and state");
    if (sum->has_kernel) return miss(r, "the input is multiplied twice");
    sum->has_kernel = true;
    sum->kernel = product->inputs[1];
    return true;
}

static bool slice_is_gate(recurrence *r, const mica_tf_node *node, int32_t gates, int32_t i) {
    static const char *const names[] = {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
                                        "shrink_axis_mask"};
    int64_t bounds[3][MICA_MAX_RANK * 4], masks[5];
    for (int32_t k = 0; k < 3; k++) {
        mica_tensor *tensor = NULL;
        int32_t n = 0;
        if (r->varies[node->inputs[k + 1].node]) return false;
        mica_status status = mica_tf_fold(r->outside, node->inputs[k + 1], &tensor);
        if (!status) status = mica_tf_tensor_ints(tensor, bounds[k], MICA_MAX_RANK * 4, &n);
        bool known = !status && n == 2;
        mica_status_release(status);
        if (!known) return false;
    }
    for (int32_t k = 0; k < 5; k++) masks[k] = int_attr(node, names[k]);
    mica_tf_shape all = {.rank = 2, .dims = {r->batch, gates * r->size}};
    mica_tf_slice slice;
    mica_status status =
        mica_tf_slice_make(&all, bounds[0], bounds[1], bounds[2], 2, masks, &slice);
    bool fits = !status && slice.result.rank == 2 && slice.begin[0] == 0 &&
                slice.size[0] == r->batch && slice.stride[0] == 1 && slice.stride[1] == 1 &&
                slice.begin[1] == i * r->size && slice.size[1] == r->size;
    mica_status_release(status);
    return fits;
}

/* ref is part i of `gates` equal parts of *whole, which is set by the first one. */
static bool is_gate(recurrence *r, mica_tf_ref ref, int32_t gates, int32_t i, mica_tf_ref *whole) {
    const mica_tf_node *split = node_if(r->body, ref, MICA_TF_Split);
    const mica_tf_node *slice = node_if(r->body, ref, MICA_TF_StridedSlice);
    mica_tf_ref of;
    int64_t axis;
    if (split) {
        of = settle(r->body, split->inputs[1]);
        if (split->n_results != gates || settle(r->body, ref).index != i ||
            !body_int(r, split->inputs[0], &axis) || (axis != 1 && axis != -1))
            return false;
    } else if (slice && slice_is_gate(r, slice, gates, i)) {
        of = settle(r->body, slice->inputs[0]);
    } else {
        return false;
    }
    if (whole->node == NONE) *whole = of;
    return same(*whole, of);
}

/* The other factor of a product with a parameter. */
static bool other_factor(recurrence *r, const mica_tf_node *product, int32_t parameter,
                         mica_tf_ref *out) {
    for (int32_t k = 0; product && k < 2; k++)
        if (parameter_of(r->body, product->inputs[k]) == parameter) {
            *out = product->inputs[1 - k];
            return true;
        }
    return false;
}

/* The operand of an op of two that is of the wanted op, and the other one. */
static const mica_tf_node *pick(recurrence *r, const mica_tf_node *node, mica_tf_op op,
                                mica_tf_ref *other) {
    for (int32_t k = 0; node && k < 2; k++) {
        const mica_tf_node *found = node_if(r->body, node->inputs[k], op);
        *other = node->inputs[1 - k];
        if (found) return found;
    }
    return NULL;
}

static bool is_gate_of(recurrence *r, const mica_tf_node *activation, int32_t gates, int32_t i,
                       mica_tf_ref *whole) {
    return activation && is_gate(r, activation->inputs[0], gates, i, whole);
}

/* h = sigmoid(z3) tanh(c), c = sigmoid(z1) c_before + sigmoid(z0) tanh(z2). */
static bool read_lstm(recurrence *r) {
    mica_tf_ref whole = {NONE, 0}, rest, forget;
    const mica_tf_node *output = node_if(r->body, r->next_hidden, MICA_TF_Mul);
    const mica_tf_node *bent = pick(r, output, MICA_TF_Tanh, &rest);
    const mica_tf_node *sum = node_if(r->body, r->body->outputs[r->cell], MICA_TF_AddV2);
    if (!bent || !sum ||
        !same(settle(r->body, bent->inputs[0]), settle(r->body, r->body->outputs[r->cell])) ||
        !is_gate_of(r, node_if(r->body, rest, MICA_TF_Sigmoid), 4, 3, &whole))
        return miss(r, "the output of a step is not sigmoid(o) tanh(cell)");
    for (int32_t k = 0; k < 2; k++) {
        const mica_tf_node *kept = node_if(r->body, sum->inputs[k], MICA_TF_Mul);
        const mica_tf_node *taken = node_if(r->body, sum->inputs[1 - k], MICA_TF_Mul);
        if (!other_factor(r, kept, r->cell, &forget)) continue;
        const mica_tf_node *candidate = pick(r, taken, MICA_TF_Tanh, &rest);
        if (is_gate_of(r, node_if(r->body, forget, MICA_TF_Sigmoid), 4, 1, &whole) &&
            is_gate_of(r, candidate, 4, 2, &whole) &&
            is_gate_of(r, node_if(r->body, rest, MICA_TF_Sigmoid), 4, 0, &whole))
            return read_sum(r, whole, &r->sums[0], 0) &&
                   ((r->sums[0].has_kernel && r->sums[0].has_recurrent) ||
                    miss(r, "the gates lack the product with the input or the state"));
    }
    return miss(r, "the cell is not sigmoid(f) cell + sigmoid(i) tanh(c)");
}

/* Of a sum of two: a gate of the inputs' part and one of the states' part, in either order. */
static bool is_pair(recurrence *r, const mica_tf_node *sum, int32_t i, mica_tf_ref whole[2]) {
    for (int32_t k = 0; sum && k < 2; k++) {
        mica_tf_ref tried[2] = {whole[0], whole[1]};
        if (is_gate(r, sum->inputs[k], 3, i, &tried[0]) &&
            is_gate(r, sum->inputs[1 - k], 3, i, &tried[1])) {
            whole[0] = tried[0];
            whole[1] = tried[1];
            return true;
        }
    }
    return false;
}

static bool is_rest(recurrence *r, mica_tf_ref ref, mica_tf_ref gate) {
    const mica_tf_node *rest = node_if(r->body, ref, MICA_TF_Sub);
    mica_tensor *tensor = NULL;
    double one = 0;
    if (!rest || r->varies[rest->inputs[0].node] ||
        !same(settle(r->body, rest->inputs[1]), settle(r->body, gate)))
        return false;
    mica_status status = mica_tf_fold(r->outside, rest->inputs[0], &tensor);
    if (!status) status = mica_tf_tensor_double(tensor, &one);
    bool is_one = !status && one == 1;
    mica_status_release(status);
    return is_one;
}

/* n = tanh(x2 + sigmoid(x1 + u1) u2) */
static bool is_candidate(recurrence *r, const mica_tf_node *bent, mica_tf_ref whole[2]) {
    const mica_tf_node *sum = bent ? node_if(r->body, bent->inputs[0], MICA_TF_AddV2) : NULL;
    mica_tf_ref own, rest;
    const mica_tf_node *product = pick(r, sum, MICA_TF_Mul, &own);
    const mica_tf_node *reset = pick(r, product, MICA_TF_Sigmoid, &rest);
    return reset && is_gate(r, own, 3, 2, &whole[0]) && is_gate(r, rest, 3, 2, &whole[1]) &&
           is_pair(r, node_if(r->body, reset->inputs[0], MICA_TF_AddV2), 1, whole);
}

/* h = z h_before + (1 - z) n, z = sigmoid(x0 + u0) */
static bool read_gru(recurrence *r) {
    const mica_tf_node *sum = node_if(r->body, r->next_hidden, MICA_TF_AddV2);
    mica_tf_ref whole[2] = {{NONE, 0}, {NONE, 0}}, gate, rest;
    for (int32_t k = 0; sum && k < 2; k++) {
        const mica_tf_node *kept = node_if(r->body, sum->inputs[k], MICA_TF_Mul);
        const mica_tf_node *taken = node_if(r->body, sum->inputs[1 - k], MICA_TF_Mul);
        if (!other_factor(r, kept, r->hidden, &gate)) continue;
        const mica_tf_node *update = node_if(r->body, gate, MICA_TF_Sigmoid);
        const mica_tf_node *candidate = pick(r, taken, MICA_TF_Tanh, &rest);
        if (!update || !candidate || !is_rest(r, rest, gate)) continue;
        if (!is_candidate(r, candidate, whole) ||
            !is_pair(r, node_if(r->body, update->inputs[0], MICA_TF_AddV2), 0, whole))
            return miss(r, "the gates are not those of a GRU with reset_after");
        gate_sum *x = &r->sums[0], *u = &r->sums[1];
        return read_sum(r, whole[0], x, 0) && read_sum(r, whole[1], u, 0) &&
               ((x->has_kernel && !x->has_recurrent && u->has_recurrent && !u->has_kernel) ||
                miss(r, "the gates lack the product with the input or the state"));
    }
    return miss(r, "the state is not z h + (1 - z) tanh(n)");
}

/* ---- as primitives ----------------------------------------------------------------------------*/

static bool has_shape(mica_value value, mica_ints dims) {
    const mica_type *type = mica_value_type(value);
    if (!type || type->dtype != MICA_DTYPE_f32 || type->rank != dims.n) return false;
    for (int32_t i = 0; i < dims.n; i++)
        if (type->dims[i] != dims.data[i]) return false;
    return true;
}

static mica_value outside(recurrence *r, mica_tf_ref ref) {
    return mica_tf_frame_value(r->outside, ref);
}

/* What read_sum found has the shapes that the composite needs. */
static bool check_sum(recurrence *r, const gate_sum *sum, int64_t features, int32_t gates) {
    int64_t width = gates * r->size;
    bool fits =
        (!sum->has_kernel || has_shape(outside(r, sum->kernel), MICA_INTS(features, width))) &&
        (!sum->has_recurrent || has_shape(outside(r, sum->recurrent), MICA_INTS(r->size, width)));
    for (int32_t i = 0; fits && i < sum->n_biases; i++)
        fits = has_shape(outside(r, sum->bias[i]), MICA_INTS(width));
    return fits || miss(r, "weights or biases have other shapes or dtypes than f32 layers'");
}

static bool check_shapes(recurrence *r, int32_t gates) {
    mica_tf_lowering *c = r->c;
    const mica_type *x = mica_value_type(outside(r, r->input));
    const mica_type *array = mica_tf_type(c, r->array);
    if (!x || x->rank != 3 || x->dtype != MICA_DTYPE_f32 || x->dims[0] != r->steps ||
        x->dims[1] != r->batch)
        return miss(r, "the inputs are not (steps, batch, features) of f32");
    if (!array || array->dtype != MICA_DTYPE_f32 ||
        array->dims[0] != (r->writes_all ? r->steps : 1))
        return miss(r, "the array of outputs has another length than the loop");
    if (r->cell != NONE && !mica_type_equal(mica_tf_type(c, r->cell), mica_tf_type(c, r->hidden)))
        return miss(r, "the states differ in shape");
    if (r->has_factor && !has_shape(outside(r, r->factor), MICA_INTS(r->batch, x->dims[2])))
        return miss(r, "what multiplies the inputs has another shape");
    return check_sum(r, &r->sums[0], x->dims[2], gates) &&
           check_sum(r, &r->sums[1], x->dims[2], gates);
}

/* All inputs times their weights, and the biases. */
static mica_value project(recurrence *r, const gate_sum *sum) {
    mica_graph *g = r->c->g;
    mica_value x = outside(r, r->input);
    if (r->has_factor) x = mica_mul(g, x, outside(r, r->factor));
    x = mica_dot(g, x, outside(r, sum->kernel), MICA_INTS(2), MICA_INTS(0), MICA_NO_INTS,
                 MICA_NO_INTS);
    for (int32_t i = 0; i < sum->n_biases; i++) x = mica_add(g, x, outside(r, sum->bias[i]));
    return x;
}

static mica_value recurrent_weights(recurrence *r, const gate_sum *sum) {
    return mica_transpose(r->c->g, outside(r, sum->recurrent), MICA_INTS(1, 0));
}

static mica_value recurrent_bias(recurrence *r, const gate_sum *sum) {
    mica_graph *g = r->c->g;
    if (!sum->n_biases)
        return mica_broadcast_to(g, mica_scalar(g, MICA_DTYPE_f32, 0), MICA_INTS(3 * r->size));
    mica_value bias = outside(r, sum->bias[0]);
    for (int32_t i = 1; i < sum->n_biases; i++) bias = mica_add(g, bias, outside(r, sum->bias[i]));
    return bias;
}

/* The last step (1, batch, size) of all. */
static mica_value last_of(recurrence *r, mica_value steps) {
    return mica_slice(r->c->g, steps, MICA_INTS(r->steps - 1, 0, 0),
                      MICA_INTS(r->steps, r->batch, r->size), MICA_INTS(1, 1, 1));
}

static mica_value state_of(recurrence *r, mica_value steps) {
    return mica_reshape(r->c->g, last_of(r, steps), MICA_INTS(r->batch, r->size));
}

static void build(recurrence *r) {
    mica_tf_lowering *c = r->c;
    if (r->steps <= 0) { /* what is carried stays as it came */
        memcpy(c->outputs, c->inputs, (size_t)c->n_inputs * sizeof *c->outputs);
        return;
    }
    mica_value steps[3] = {MICA_NULL_VALUE, MICA_NULL_VALUE, MICA_NULL_VALUE};
    mica_value projected = project(r, &r->sums[0]), hidden = c->inputs[r->hidden];
    if (r->cell != NONE)
        mica_nn_lstm_steps(c->g, projected, hidden, c->inputs[r->cell],
                           recurrent_weights(r, &r->sums[0]), false, steps);
    else
        mica_nn_gru_steps(c->g, projected, hidden, recurrent_weights(r, &r->sums[1]),
                          recurrent_bias(r, &r->sums[1]), false, steps);
    for (int32_t i = 0; i < c->n_inputs; i++) {
        c->outputs[i] = c->inputs[i];
        if (!is_carried(c, r->body, i)) continue;
        if (i == r->array)
            c->outputs[i] = r->writes_all ? steps[0] : last_of(r, steps[0]);
        else if (i == r->hidden)
            c->outputs[i] = state_of(r, steps[0]);
        else if (i == r->cell)
            c->outputs[i] = state_of(r, steps[1]);
        else
            c->outputs[i] = mica_convert(c->g, mica_scalar(c->g, MICA_DTYPE_i64, (double)r->steps),
                                         mica_tf_type(c, i)->dtype);
    }
}

/* ---- recognising ------------------------------------------------------------------------------*/

static bool is_worth_reading(const mica_tf_lowering *c, const mica_tf_graph *cond,
                             const mica_tf_graph *body) {
    int32_t products = 0, reads = 0, n = c->n_inputs;
    if (!c->frame || body->n_outputs != n || body->n_parameters != n || cond->n_parameters != n ||
        cond->n_outputs != 1)
        return false;
    for (int32_t i = 0; i < body->n_nodes; i++) {
        if (!body->nodes[i].operation) continue;
        products += body->nodes[i].operation->op == MICA_TF_MatMul;
        reads += body->nodes[i].operation->op == MICA_TF_ReadElement;
    }
    return products >= 2 && reads;
}

static bool recognise(recurrence *r, mica_tf_graph *cond) {
    if (!sort_carried(r) || !count_steps(r, cond)) return false;
    if (r->steps <= 0) return true;
    const mica_type *state = mica_tf_type(r->c, r->hidden);
    r->batch = state->dims[0];
    r->size = state->dims[1];
    return (r->cell != NONE ? read_lstm(r) : read_gru(r)) &&
           check_shapes(r, r->cell != NONE ? 4 : 3);
}

static void report(const recurrence *r, bool found) {
    const char *name = r->c->info->name;
    if (!mica_log_on(MICA_LOG_MATCH)) return;
    if (found && r->steps > 0)
        mica_log_write(MICA_LOG_MATCH, "%s: %lld steps of %lld x %lld become mica.%s", name,
                       (long long)r->steps, (long long)r->batch, (long long)r->size,
                       r->cell != NONE ? "lstm_steps" : "gru_steps");
    else
        mica_log_write(MICA_LOG_MATCH, "%s: no recurrence: %s", name,
                       found ? "there are no steps" : r->miss);
}

bool mica_tf_lower_recurrence(mica_tf_lowering *c, mica_tf_graph *cond, mica_tf_graph *body) {
    if (!is_worth_reading(c, cond, body) || mica_tf_is_disabled() ||
        !mica_selection_has(NULL, "match"))
        return false;
    recurrence r = {.c = c,
                    .body = body,
                    .varies = find_varying(c, body, body),
                    .outside = mica_tf_frame_create(c->session, body, c->g),
                    .time = NONE,
                    .array = NONE,
                    .hidden = NONE,
                    .cell = NONE};
    if (!r.varies || !r.outside) return false;
    bind_constants(c, body, r.outside);
    lower_reads(&r);
    bool found = recognise(&r, cond);
    if (found) build(&r);
    report(&r, found);
    return found;
}
