/* Programs: the executables of a graph, one per kind and batch size, built when first needed. */
#include <string.h>

#include "mlc/builder.h"
#include "mlc/optimizer.h"

void mlc_program_release(mlc_program *program) {
    if (!program) return;
    mica_executable_release(program->executable);
    mica_free(program->inputs.data);
    mica_free(program->outputs.data);
    mica_free(program);
}

void mlc_graph_drop_programs(mlc_graph *graph) {
    mlc_graph_forget_kept(graph);
    while (graph->programs) {
        mlc_program *next = graph->programs->next;
        mlc_program_release(graph->programs);
        graph->programs = next;
    }
}

static mica_status create(const mlc_graph *graph, mlc_program_kind kind, int64_t batch,
                          const mica_graph *g, mlc_program **out_program) {
    mlc_program *program = mica_calloc(1, sizeof *program);
    *out_program = NULL;
    if (!program) return MICA_NO_MEMORY();
    program->kind = kind;
    program->batch = batch;
    program->clips = graph->optimizer && graph->optimizer->descriptor.applies_gradient_clipping;
    mica_status status =
        mica_executable_create(graph->device->device, g, NULL, &program->executable);
    if (status)
        mlc_program_release(program);
    else
        *out_program = program;
    return status;
}

/* Slots change hands. */
static void take_slots(mlc_program *program, mlc_slots *inputs, mlc_slots *outputs) {
    program->inputs = *inputs;
    program->outputs = *outputs;
    *inputs = *outputs = (mlc_slots){NULL, 0, 0};
}

static void add_program(mlc_graph *graph, mlc_program *program) {
    program->next = graph->programs;
    graph->programs = program;
}

/* ---- the optimizer's update -------------------------------------------------------------------*/

typedef struct update {
    mica_value rate, time_step;
    mica_nn_optimizer mathematics;
    int32_t n_state;
} update;

static mica_value scalar_input(mlc_builder *b, mlc_slot_kind kind) {
    return mlc_builder_input(b, (mlc_slot){.kind = kind, .type = mica_type_scalar(MICA_DTYPE_f32)});
}

static void update_parameter(mlc_builder *b, const update *u, mlc_tensor *tensor,
                             mica_value gradient) {
    mica_value value = b->l.value_of(&b->l, tensor), rate = u->rate, time_step = u->time_step;
    mlc_entry *entry = mlc_builder_entry(b, tensor);
    mica_value state[MLC_MAX_STATE] = {MICA_NULL_VALUE}, out[MLC_MAX_STATE + 1];
    const mica_type *type = mica_value_type(value);
    if (!entry || !type) return;
    if (entry->slot >= 0) b->inputs.data[entry->slot].is_donated = true;
    if (!mica_value_is_null(entry->latest)) value = entry->latest;
    for (int32_t i = 0; i < u->n_state; i++)
        state[i] = mlc_builder_input(b, (mlc_slot){.kind = MLC_SLOT_STATE,
                                                   .tensor = tensor,
                                                   .index = i,
                                                   .is_donated = true,
                                                   .type = tensor->descriptor->type});
    if (type->dtype != MICA_DTYPE_f32) {
        rate = mica_convert(b->l.g, rate, type->dtype);
        if (!mica_value_is_null(time_step))
            time_step = mica_convert(b->l.g, time_step, type->dtype);
    }
    for (int32_t i = 0; i <= MLC_MAX_STATE; i++) out[i] = MICA_NULL_VALUE;
    mica_nn_optimizer_update(b->l.g, &u->mathematics, rate, time_step, value, gradient, state, out);
    mlc_builder_output(b, (mlc_slot){.kind = MLC_SLOT_TENSOR, .tensor = tensor}, out[0]);
    for (int32_t i = 0; i < u->n_state; i++)
        mlc_builder_output(b, (mlc_slot){.kind = MLC_SLOT_STATE, .tensor = tensor, .index = i},
                           out[i + 1]);
}

/* gradients: one per parameter of the graph; overwritten. */
static void build_update(mlc_builder *b, mica_value *gradients) {
    mlc_graph *graph = b->graph;
    update u = {.mathematics = mlc_optimizer_mathematics(graph->optimizer)};
    u.n_state = mica_nn_optimizer_state_count(&u.mathematics);
    u.rate = scalar_input(b, MLC_SLOT_RATE);
    if (graph->optimizer->kind == MLC_ADAM_OPTIMIZER ||
        graph->optimizer->kind == MLC_ADAMW_OPTIMIZER)
        u.time_step = scalar_input(b, MLC_SLOT_TIME_STEP);
    mica_nn_clip_gradients(b->l.g, &u.mathematics, gradients, graph->parameters.n, gradients);
    for (int32_t i = 0; i < graph->parameters.n; i++)
        update_parameter(b, &u, graph->parameters.data[i], gradients[i]);
}

static mica_value *gradient_list(mlc_builder *b) {
    size_t n = (size_t)b->graph->parameters.n + 1;
    mica_value *list = mica_arena_alloc(&b->l.arena, n * sizeof *list);
    if (!list) mica_graph_fail(b->l.g, MICA_NO_MEMORY());
    return list;
}

/* ---- kinds of programs ------------------------------------------------------------------------*/

static mica_status build_inference(mlc_builder *b) {
    mlc_build_forward(b);
    return mica_graph_check(b->l.g);
}

static mica_status build_step(mlc_builder *b) {
    b->has_update = true;
    mlc_build_forward(b);
    mlc_build_backward(b);
    mlc_build_gradient_outputs(b, false);
    mica_value *gradients = gradient_list(b);
    for (int32_t i = 0; gradients && i < b->graph->parameters.n; i++) {
        mlc_tensor *tensor = b->graph->parameters.data[i];
        mica_value value = b->l.value_of(&b->l, tensor);
        mlc_entry *entry = mlc_builder_entry(b, tensor);
        if (!entry) break;
        gradients[i] = mica_value_is_null(entry->cotangent) ? mica_zeros_like(b->l.g, value)
                                                            : entry->cotangent;
    }
    if (gradients) build_update(b, gradients);
    return mica_graph_check(b->l.g);
}

static mica_status build_only_update(mlc_builder *b) {
    mica_value *gradients = gradient_list(b);
    for (int32_t i = 0; gradients && i < b->graph->parameters.n; i++) {
        mlc_tensor *tensor = b->graph->parameters.data[i];
        gradients[i] = mlc_builder_input(
            b, (mlc_slot){.kind = MLC_SLOT_GRADIENT, .index = i, .type = tensor->descriptor->type});
    }
    if (gradients) build_update(b, gradients);
    return mica_graph_check(b->l.g);
}

static mica_status build_one(mlc_graph *graph, mlc_program_kind kind, int64_t batch,
                             mlc_program **out_program) {
    static const char *const names[] = {"inference", "step", "forward", "gradient", "update"};
    mlc_builder b;
    mica_status status =
        mlc_builder_init(&b, graph, names[kind], batch, kind != MLC_PROGRAM_INFERENCE);
    if (!status)
        status = kind == MLC_PROGRAM_INFERENCE ? build_inference(&b)
                 : kind == MLC_PROGRAM_STEP    ? build_step(&b)
                                               : build_only_update(&b);
    if (!status) status = create(graph, kind, batch, b.l.g, out_program);
    if (!status) {
        take_slots(*out_program, &b.inputs, &b.outputs);
        add_program(graph, *out_program);
    }
    mlc_builder_deinit(&b);
    return status;
}

/* ---- forward and gradient apart ---------------------------------------------------------------*/

/* The slots of the two halves of a joint graph. */
static mica_status part_slots(const mlc_builder *b, int32_t n_inputs, int32_t n_outputs,
                              const uint8_t *uses, const mica_graph *second, int32_t n_residuals,
                              mlc_program *forward, mlc_program *gradient) {
    for (int32_t i = 0; i < n_inputs; i++) {
        mlc_slot slot = b->inputs.data[i];
        if (uses[i]) slot.is_donated = false;
        MICA_TRY(mlc_slots_add(&forward->inputs, slot));
    }
    for (int32_t i = 0; i < b->outputs.n; i++)
        MICA_TRY(mlc_slots_add(i < n_outputs ? &forward->outputs : &gradient->outputs,
                               b->outputs.data[i]));
    for (int32_t i = 0; i < b->inputs.n; i++) {
        mlc_slot slot = b->inputs.data[i];
        slot.is_donated = false;
        if (!uses[i]) continue;
        /* What the forward pass has read is kept with the residuals: it may have changed since. */
        if (i < n_inputs)
            slot =
                (mlc_slot){.kind = MLC_SLOT_RESIDUAL, .index = n_residuals + i, .type = slot.type};
        MICA_TRY(mlc_slots_add(&gradient->inputs, slot));
    }
    int32_t n_uses = gradient->inputs.n;
    for (int32_t i = 0; i < n_residuals; i++) {
        mica_type type = *mica_value_type(mica_graph_parameter(second, n_uses + i));
        mlc_slot slot = {.kind = MLC_SLOT_RESIDUAL, .index = i, .is_donated = true, .type = type};
        MICA_TRY(mlc_slots_add(&gradient->inputs, slot));
        MICA_TRY(mlc_slots_add(&forward->outputs, slot));
    }
    forward->n_residuals = gradient->n_residuals = n_residuals;
    return NULL;
}

static mica_status cut_in_two(mlc_builder *b, int64_t batch, int32_t n_inputs, int32_t n_outputs,
                              mlc_program **out_forward, mlc_program **out_gradient) {
    mica_graph *first = NULL, *second = NULL;
    int32_t n_residuals = 0;
    uint8_t *uses = mica_arena_alloc(&b->l.arena, (size_t)b->inputs.n + 1);
    if (!uses) return MICA_NO_MEMORY();
    MICA_TRY(mica_cut(b->l.g, n_inputs, n_outputs, uses, &first, &second, &n_residuals));
    mica_status status = create(b->graph, MLC_PROGRAM_FORWARD, batch, first, out_forward);
    if (!status) status = create(b->graph, MLC_PROGRAM_GRADIENT, batch, second, out_gradient);
    if (!status)
        status = part_slots(b, n_inputs, n_outputs, uses, second, n_residuals, *out_forward,
                            *out_gradient);
    mica_graph_release(first);
    mica_graph_release(second);
    return status;
}

static mica_status build_both(mlc_graph *graph, int64_t batch) {
    mlc_program *forward = NULL, *gradient = NULL;
    mlc_builder b;
    mica_status status = mlc_builder_init(&b, graph, "forward", batch, true);
    if (!status) {
        mlc_build_forward(&b);
        int32_t n_inputs = b.inputs.n, n_outputs = b.outputs.n;
        mlc_build_backward(&b);
        mlc_build_gradient_outputs(&b, true);
        status = mica_graph_check(b.l.g);
        if (!status) status = cut_in_two(&b, batch, n_inputs, n_outputs, &forward, &gradient);
    }
    mlc_builder_deinit(&b);
    if (status) {
        mlc_program_release(forward);
        mlc_program_release(gradient);
        return status;
    }
    add_program(graph, forward);
    add_program(graph, gradient);
    return NULL;
}

/* ---- finding one ------------------------------------------------------------------------------*/

static mlc_program *find(const mlc_graph *graph, mlc_program_kind kind, int64_t batch) {
    bool clips = graph->optimizer && graph->optimizer->descriptor.applies_gradient_clipping;
    bool has_update = kind == MLC_PROGRAM_STEP || kind == MLC_PROGRAM_UPDATE;
    for (mlc_program *p = graph->programs; p; p = p->next)
        if (p->kind == kind && p->batch == batch && (!has_update || p->clips == clips)) return p;
    return NULL;
}

mica_status mlc_program_get(mlc_graph *graph, mlc_program_kind kind, int64_t batch,
                            mlc_program **out_program) {
    if (kind == MLC_PROGRAM_UPDATE) batch = 0;
    *out_program = find(graph, kind, batch);
    if (*out_program) return NULL;
    if (kind == MLC_PROGRAM_FORWARD || kind == MLC_PROGRAM_GRADIENT) {
        MICA_TRY(build_both(graph, batch));
        *out_program = find(graph, kind, batch);
        return NULL;
    }
    return build_one(graph, kind, batch, out_program);
}
