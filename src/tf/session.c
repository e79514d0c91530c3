/* Lowering: nodes of tf graphs become values of a graph of primitives. */
#include <string.h>

#include "report/report.h"
#include "tf/ops/random/generators.h"

typedef struct mica_tf_memo {
    struct mica_tf_memo *next;
    const mica_tf_operation *operation;
    const mica_graph *g;
    const mica_value *inputs, *outputs;
    int32_t n_inputs;
} mica_tf_memo;

void mica_tf_session_init(mica_tf_session *session, mica_device *device) {
    memset(session, 0, sizeof *session);
    mica_arena_init(&session->arena);
    session->device = device;
}

void mica_tf_session_deinit(mica_tf_session *session) {
    for (mica_tf_frame *frame = session->frames; frame; frame = frame->next)
        for (int32_t i = 0; i < frame->graph->n_results; i++)
            if (frame->known[i]) mica_tensor_release(frame->known[i]);
    mica_arena_deinit(&session->arena);
}

mica_tf_frame *mica_tf_frame_create(mica_tf_session *session, mica_tf_graph *graph, mica_graph *g) {
    size_t n = (size_t)graph->n_results + 1;
    mica_tf_frame *frame = mica_arena_alloc(&session->arena, sizeof *frame);
    bool *done = mica_arena_alloc(&session->arena, (size_t)graph->n_nodes + 1);
    mica_value *values = mica_arena_alloc(&session->arena, n * sizeof *values);
    mica_tensor **known = mica_arena_alloc(&session->arena, n * sizeof *known);
    int32_t *variables = mica_arena_alloc(&session->arena, n * sizeof *variables);
    if (!frame || !done || !values || !known || !variables) {
        mica_graph_fail(g, MICA_NO_MEMORY());
        return NULL;
    }
    for (size_t i = 0; i < n; i++) variables[i] = -1;
    *frame = (mica_tf_frame){.session = session,
                             .next = session->frames,
                             .graph = graph,
                             .g = g,
                             .done = done,
                             .values = values,
                             .known = known,
                             .variables = variables};
    session->frames = frame;
    return frame;
}

/* ---- what was lowered -------------------------------------------------------------------------*/

static size_t memo_bucket(const mica_tf_operation *operation) {
    return ((uintptr_t)operation >> 4) % MICA_TF_MEMO_BUCKETS;
}

const mica_value *mica_tf_recall(const mica_tf_session *session, const mica_graph *g,
                                 const mica_tf_operation *operation, const mica_value *inputs,
                                 int32_t n) {
    for (const mica_tf_memo *m = session->memo[memo_bucket(operation)]; m; m = m->next) {
        if (m->operation != operation || m->g != g || m->n_inputs != n) continue;
        bool same = true;
        for (int32_t i = 0; i < n; i++)
            same &= m->inputs[i].node == inputs[i].node && m->inputs[i].index == inputs[i].index;
        if (same) return m->outputs;
    }
    return NULL;
}

void mica_tf_remember(const mica_tf_lowering *c) {
    mica_arena *arena = &c->session->arena;
    mica_tf_memo *m = mica_arena_alloc(arena, sizeof *m);
    size_t value = sizeof(mica_value);
    mica_value *inputs = mica_arena_copy(arena, c->inputs, (size_t)c->n_inputs * value);
    mica_value *outputs = mica_arena_copy(arena, c->outputs, (size_t)c->n_outputs * value);
    if (!m || !inputs || !outputs) return; /* it is lowered again then */
    mica_tf_memo **bucket = &c->session->memo[memo_bucket(c->operation)];
    *m = (mica_tf_memo){*bucket, c->operation, c->g, inputs, outputs, c->n_inputs};
    *bucket = m;
}

mica_value mica_tf_session_random(mica_tf_session *session, mica_graph *g,
                                  mica_tf_operation *operation, int64_t elements, int64_t runs) {
    mica_tf_random_slot *slot = mica_arena_alloc(&session->arena, sizeof *slot);
    mica_type type = mica_type_make(MICA_DTYPE_u32, runs ? MICA_INTS(runs, 6) : MICA_INTS(6));
    if (!slot) {
        mica_graph_fail(g, MICA_NO_MEMORY());
        return MICA_NULL_VALUE;
    }
    bool in_slice = session->slice && session->slice->region == g;
    *slot = (mica_tf_random_slot){NULL, operation, elements, runs};
    mica_tf_random_slot **last = in_slice ? &session->slice->first : &session->randoms;
    while (*last) last = &(*last)->next;
    *last = slot;
    ++*(in_slice ? &session->slice->n : &session->n_randoms);
    return mica_parameter(g, &type);
}

/* ---- constants --------------------------------------------------------------------------------*/

/* Result `index` is of that input. */
static mica_status fold_shape(mica_tf_frame *frame, const mica_tf_node *node, int32_t index,
                              mica_tensor **out_tensor) {
    mica_value input = mica_tf_frame_value(frame, node->inputs[index]);
    const mica_type *type = mica_value_type(input);
    if (!type) return mica_graph_check(frame->g);
    mica_dtype dtype = mica_tf_dtype_core(node->dtypes[0]);
    mica_tf_op op = node->operation->op;
    int64_t number = op == MICA_TF_Rank ? type->rank : mica_type_elements(type);
    if (op == MICA_TF_Shape || op == MICA_TF_ShapeN)
        return mica_tf_ints_tensor(frame->session->device, dtype, type->dims, type->rank, 1,
                                   out_tensor);
    return mica_tf_ints_tensor(frame->session->device, dtype, &number, 1, 0, out_tensor);
}

static mica_status fold_op(mica_tf_frame *frame, const mica_tf_node *node, int32_t index,
                           mica_tensor **out_tensor) {
    mica_tf_value inputs[16], outputs[16];
    int32_t n = 0;
    if (node->n_inputs > 16 || node->n_results > 16)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] has too many inputs for a constant", node->name);
    for (int32_t i = 0; i < node->n_inputs; i++) {
        mica_tensor *tensor = NULL;
        MICA_TRY(mica_tf_fold(frame, node->inputs[i], &tensor));
        inputs[i] = mica_tf_value_of(tensor);
    }
    MICA_TRY(mica_tf_eager(frame->session->device, node->operation->op, node->operation->attrs,
                           inputs, node->n_inputs, outputs, 16, &n, NULL));
    for (int32_t i = 0; i < n; i++)
        if (i != index) mica_tf_value_release(outputs[i]);
    *out_tensor = outputs[index].object;
    return NULL;
}

static int32_t parameter_number(const mica_tf_graph *g, int32_t node) {
    for (int32_t i = 0; i < g->n_parameters; i++)
        if (g->parameters[i].node == node) return i;
    return -1;
}

mica_status mica_tf_fold(mica_tf_frame *frame, mica_tf_ref ref, mica_tensor **out_tensor) {
    int32_t slot = mica_tf_slot(frame->graph, ref);
    const mica_tf_node *node = mica_tf_node_of(frame->graph, ref);
    *out_tensor = frame->known[slot];
    if (*out_tensor) return NULL;
    if (!node->operation) {
        int32_t i = parameter_number(frame->graph, ref.node);
        if (frame->caller) return mica_tf_fold(frame->caller, frame->operands[i], out_tensor);
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] the value of argument %s is not known",
                          frame->graph->name, node->name);
    }
    if (mica_tf_rows[node->operation->op].effect != MICA_TF_PURE)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] is not a constant", node->name);
    mica_tensor *tensor = NULL;
    if (mica_tf_is_a(node->operation, MICA_TF_CATEGORY_OF_SHAPE)) {
        MICA_TRY(fold_shape(frame, node, ref.index, &tensor));
    } else if (node->operation->op == MICA_TF_Const) {
        tensor = mica_tf_attr_find(node->operation->info, node->operation->attrs, "value")
                     ->as.value.object;
        mica_tensor_retain(tensor);
    } else {
        MICA_TRY(fold_op(frame, node, ref.index, &tensor));
    }
    if (!tensor) return MICA_ERROR(MICA_INTERNAL, "[%s] did not fold", node->name);
    *out_tensor = frame->known[slot] = tensor;
    return NULL;
}

/* ---- nodes ------------------------------------------------------------------------------------*/

typedef struct operand_room {
    mica_value *inputs, *outputs;
    mica_tensor **constants;
    int32_t *variables;
} operand_room;

static bool make_room(mica_tf_session *session, int32_t n_inputs, int32_t n_outputs,
                      operand_room *room) {
    size_t n = (size_t)n_inputs + 1;
    room->inputs = mica_arena_alloc(&session->arena, n * sizeof *room->inputs);
    room->constants = mica_arena_alloc(&session->arena, n * sizeof *room->constants);
    room->variables = mica_arena_alloc(&session->arena, n * sizeof *room->variables);
    room->outputs =
        mica_arena_alloc(&session->arena, ((size_t)n_outputs + 1) * sizeof *room->outputs);
    return room->inputs && room->constants && room->variables && room->outputs;
}

static bool gather_operands(mica_tf_frame *frame, const mica_tf_node *node, operand_room *room) {
    for (int32_t i = 0; i < node->n_inputs; i++) {
        mica_tf_ref ref = node->inputs[i];
        room->variables[i] = frame->variables[mica_tf_slot(frame->graph, ref)];
        if (!mica_tf_is_core(mica_tf_graph_type(frame->graph, ref, NULL))) continue;
        char role = mica_tf_operation_role(node->operation, i);
        if (role == 's' || role == 'o') {
            mica_status status = mica_tf_fold(frame, ref, &room->constants[i]);
            if (status && role == 'o' && mica_status_code(status) == MICA_UNSUPPORTED) {
                mica_status_release(status);
                status = NULL;
            }
            if (status) {
                mica_graph_fail(frame->g, status);
                return false;
            }
        }
        room->inputs[i] = mica_tf_frame_value(frame, ref);
        if (mica_value_is_null(room->inputs[i])) return false;
    }
    return true;
}

void mica_tf_frame_lower(mica_tf_frame *frame, int32_t index) {
    const mica_tf_node *node = &frame->graph->nodes[index];
    operand_room room;
    if (frame->done[index] || !node->operation) return;
    frame->done[index] = true;
    if (!make_room(frame->session, node->n_inputs, node->n_results, &room)) {
        mica_graph_fail(frame->g, MICA_NO_MEMORY());
        return;
    }
    if (!gather_operands(frame, node, &room)) return;
    mica_tf_lowering c = {.g = frame->g,
                          .operation = node->operation,
                          .info = node->operation->info,
                          .attrs = node->operation->attrs,
                          .n_inputs = node->n_inputs,
                          .n_outputs = node->n_results,
                          .inputs = room.inputs,
                          .outputs = room.outputs,
                          .constants = room.constants,
                          .variables = room.variables,
                          .session = frame->session,
                          .frame = frame,
                          .refs = node->inputs};
    int32_t line = mica_report_is_on() ? mica_report_set_line(node->line) : 0;
    const mica_tf_node *outer = frame->session->node;
    mica_status before = mica_graph_check(frame->g);
    frame->session->node = node;
    mica_tf_lower(&c);
    frame->session->node = outer;
    if (mica_report_is_on()) mica_report_set_line(line);
    mica_status failed = before ? NULL : mica_graph_take_error(frame->g);
    mica_status_release(before);
    if (failed) mica_graph_fail(frame->g, mica_tf_status_at(failed, node->name, node->place));
    for (int32_t i = 0; i < node->n_results; i++) frame->values[node->first + i] = c.outputs[i];
    if (node->operation->op == MICA_TF_Identity) /* of a handle */
        frame->variables[node->first] = room.variables[0];
}

mica_value mica_tf_frame_value(mica_tf_frame *frame, mica_tf_ref ref) {
    mica_value *value = &frame->values[mica_tf_slot(frame->graph, ref)];
    if (value->node) return *value;
    const mica_tf_node *node = mica_tf_node_of(frame->graph, ref);
    if (node->operation && mica_tf_rows[node->operation->op].effect == MICA_TF_PURE)
        mica_tf_frame_lower(frame, ref.node);
    if (!value->node)
        mica_graph_fail(frame->g, MICA_ERROR(MICA_INTERNAL, "[%s] %s is not in the segment",
                                             frame->graph->name, node->name));
    return *value;
}

/* ---- functions --------------------------------------------------------------------------------*/

void mica_tf_lower_body(mica_tf_lowering *c, mica_tf_graph *body, const mica_value *operands,
                        const int32_t *variables, int32_t first, mica_graph *g, mica_value *out) {
    mica_tf_frame *frame = mica_tf_frame_create(c->session, body, g);
    bool *needed = mica_arena_alloc(&c->session->arena, (size_t)body->n_nodes + 1);
    if (frame && !needed) mica_graph_fail(g, MICA_NO_MEMORY());
    if (!frame || !needed) return;
    for (int32_t i = 0; i < body->n_parameters; i++) {
        int32_t slot = mica_tf_slot(body, body->parameters[i]);
        frame->values[slot] = operands[i];
        frame->variables[slot] = variables[i];
        if (first >= 0 && c->constants && c->constants[first + i]) {
            frame->known[slot] = c->constants[first + i];
            mica_tensor_retain(frame->known[slot]);
        }
    }
    if (first >= 0 && c->frame) {
        frame->caller = c->frame;
        frame->operands = c->refs + first;
    }
    mica_tf_find_needed(body, needed);
    for (int32_t i = 0; i < body->n_nodes; i++)
        if (needed[i]) mica_tf_frame_lower(frame, i);
    for (int32_t i = 0; i < body->n_outputs; i++) {
        int32_t slot = mica_tf_slot(body, body->outputs[i]);
        if (mica_tf_is_core(mica_tf_graph_type(body, body->outputs[i], NULL)))
            out[i] = mica_tf_frame_value(frame, body->outputs[i]);
        else
            out[i] = frame->values[slot];
    }
}
