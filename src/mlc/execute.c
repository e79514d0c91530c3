/* One execution: under the lock, inputs are gathered, the run is started and its outputs take the
 * places of old values; then its end is waited for, or left to the dispatcher. */
#include "mlc/execute.h"

#include <string.h>

mlc_execution mlc_execution_make(uint64_t options) {
    return (mlc_execution){.size = sizeof(mlc_execution), .options = options};
}

/* ---- the end of a run -------------------------------------------------------------------------*/

void mlc_run_destroy(mlc_run *run) {
    if (!run) return;
    for (int32_t i = 0; i < run->n_copies; i++) {
        mica_tensor_release(run->copies[i].value);
        mlc_tensor_data_release(run->copies[i].target);
    }
    for (int32_t i = 0; i < run->n_flags; i++) mica_tensor_release(run->flags[i].value);
    for (int32_t i = 0; i < run->results.n; i++) mica_tensor_release(run->results.data[i].value);
    mica_free(run->results.data);
    mica_free(run->copies);
    mica_free(run->flags);
    mica_status_release(run->status);
    mlc_graph_release(run->graph);
    mica_free(run);
}

static mica_status check_flags(const mlc_run *run) {
    for (int32_t i = 0; i < run->n_flags; i++) {
        uint8_t is_finite = 0;
        MICA_TRY(mica_tensor_to_host(run->flags[i].value, &is_finite, 1));
        if (is_finite) continue;
        const mlc_node *node = run->graph->all.data[run->flags[i].node];
        return MICA_INVALID("[%s] the %s of the layer holds NaN or infinity; its result is %s",
                            mlc_layer_label(node->layer),
                            run->flags[i].is_gradient ? "gradient" : "result",
                            mlc_tensor_shape_text(node->results[0]).chars);
    }
    return NULL;
}

/* Results and gradients of debugged layers are on the host when the handler is called. */
static mica_status synchronize_debugged(const mlc_run *run) {
    mlc_graph *graph = run->graph;
    if (!(graph->options & MLC_COMPILATION_DEBUG_LAYERS) || run->kind == MLC_PROGRAM_UPDATE)
        return NULL;
    bool has_gradients = run->kind == MLC_PROGRAM_STEP || run->kind == MLC_PROGRAM_GRADIENT;
    for (int32_t i = 0; i < graph->all.n; i++) {
        const mlc_node *node = graph->all.data[i];
        for (int32_t k = 0; node->layer->is_debugging_enabled && k < node->n_results; k++) {
            MICA_TRY(mlc_tensor_synchronize_data(node->results[k]));
            for (int32_t m = 0; has_gradients && m < graph->n_gradients; m++)
                if (graph->gradients[m].of == node->results[k] && graph->gradients[m].is_wanted)
                    MICA_TRY(mlc_tensor_synchronize_data(graph->gradients[m].gradient));
        }
    }
    return NULL;
}

static mica_status deliver(const mlc_run *run) {
    for (int32_t i = 0; i < run->n_copies; i++) {
        size_t bytes = mica_type_bytes(mica_tensor_type(run->copies[i].value));
        MICA_TRY(mica_tensor_to_host(run->copies[i].value, run->copies[i].target->bytes, bytes));
    }
    MICA_TRY(synchronize_debugged(run));
    return check_flags(run);
}

static mica_status finish(mlc_run *run) {
    mica_status status = run->status;
    run->status = NULL;
    if (status && run->kind != MLC_PROGRAM_INFERENCE) {
        mlc_lock();
        if (!run->graph->broken) run->graph->broken = mica_status_share(status);
        mlc_unlock();
    }
    if (!status) status = deliver(run);
    if (!run->handler) return status;
    mica_status second = run->handler(run->context, status ? NULL : run->graph->result, status,
                                      run->options & MLC_EXECUTION_PROFILING ? run->seconds : 0);
    return mica_status_join(status, second);
}

mica_status mlc_run_finish(mlc_run *run) {
    const mlc_results *before = mlc_read_results(&run->results);
    mica_status status = finish(run);
    mlc_read_results(before);
    return status;
}

static void completed(void *context, mica_status status, double seconds) {
    mlc_run *run = context;
    run->status = status ? mica_status_share(status) : NULL;
    run->seconds = seconds;
    mlc_dispatch_complete(run);
}

/* ---- inputs -----------------------------------------------------------------------------------*/

/* Everything between the caller and a run, freed in one place. */
typedef struct start {
    mlc_graph *graph;
    mlc_program *program;
    const mlc_execution *execution;
    int64_t batch;
    mlc_bindings bindings;
    mica_tensor **inputs, **outputs;
    uint8_t *donate;
    bool *is_own; /* inputs made for this run alone */
    mlc_run *run;
} start;

static mica_status missing(const mlc_graph *graph, const mlc_tensor *tensor) {
    const mlc_declarations *lists[] = {&graph->inputs, &graph->labels, &graph->label_weights};
    static const char *const names[] = {"input", "loss label", "loss label weight"};
    for (int32_t l = 0; l < 3; l++)
        for (int32_t i = 0; i < lists[l]->n; i++)
            if (lists[l]->data[i].tensor == tensor)
                return MICA_INVALID("[execute] there is no data for the %s '%s' of shape %s",
                                    names[l], lists[l]->data[i].name,
                                    mlc_tensor_shape_text(tensor).chars);
    return MICA_INVALID("[execute] there is no data for the tensor '%s' of shape %s",
                        mlc_tensor_label(tensor), mlc_tensor_shape_text(tensor).chars);
}

static mica_status tensor_input(start *s, const mlc_slot *slot, mica_tensor **out_value) {
    mlc_tensor *t = slot->tensor;
    if (!t->value && !t->host) return missing(s->graph, t);
    MICA_TRY(mlc_tensor_place(t, s->graph->device));
    const mica_type *type = mica_tensor_type(t->value);
    if (!mica_type_equal(type, &slot->type) && t->host &&
        t->host->length == mica_type_bytes(&t->descriptor->type)) {
        /* Another batch size than the last time: the first examples of the same data. */
        mica_tensor *value = NULL;
        MICA_TRY(mlc_wrap_data(s->graph->device, &slot->type, t->host, &value));
        mlc_tensor_set_value(t, value, s->graph->device, true);
        type = mica_tensor_type(value);
    }
    if (!mica_type_equal(type, &slot->type))
        return MICA_INVALID("[execute] the data of '%s' has the shape %s, this execution needs %s",
                            mlc_tensor_label(t), mlc_shape_text(mlc_dims(type)).chars,
                            mlc_shape_text(mlc_dims(&slot->type)).chars);
    *out_value = t->value;
    return NULL;
}

/* A new tensor with the same number everywhere. */
static mica_status filled(mica_device *device, const mica_type *type, double number,
                          mica_tensor **out_value) {
    mlc_data_type data_type = MLC_DATA_TYPE_FLOAT32;
    (void)mlc_data_type_of(type->dtype, &data_type);
    void *bytes = mica_alloc(mica_type_bytes(type) + 1);
    if (!bytes) return MICA_NO_MEMORY();
    for (size_t i = 0; i < (size_t)mica_type_elements(type); i++)
        mlc_set_element(data_type, bytes, i, number);
    mica_status status = mica_tensor_from_host(device, type, bytes, out_value);
    mica_free(bytes);
    return status;
}

/* The optimizer's buffers begin as what is bound, or zeros. */
static mica_status state_input(start *s, const mlc_slot *slot, mica_tensor **out_value) {
    mlc_tensor *t = slot->tensor;
    mica_device *device = s->graph->device->device;
    for (int32_t i = t->n_optimizer_state; i <= slot->index; i++) {
        mlc_optimizer_device_data *state = mica_calloc(1, sizeof *state);
        if (!state) return MICA_NO_MEMORY();
        mica_refcount_init(&state->references);
        mica_status status = i < t->n_optimizer_data
                                 ? mica_tensor_from_host(device, &slot->type,
                                                         t->optimizer_data[i]->bytes, &state->value)
                                 : filled(device, &slot->type, 0, &state->value);
        if (status) {
            mica_free(state);
            return status;
        }
        t->optimizer_state[i] = state;
        t->n_optimizer_state = i + 1;
    }
    *out_value = t->optimizer_state[slot->index]->value;
    return NULL;
}

static mica_status seed_input(start *s, const mlc_slot *slot, mica_tensor **out_value,
                              bool *out_own) {
    mlc_tensor *t = slot->tensor;
    if (!t->value && t->host) MICA_TRY(mlc_tensor_place(t, s->graph->device));
    if (t->value && mica_type_equal(mica_tensor_type(t->value), &slot->type)) {
        MICA_TRY(mlc_tensor_place(t, s->graph->device));
        *out_value = t->value;
        return NULL;
    }
    if (t->value && slot->index == 0)
        return MICA_INVALID("[execute] the gradient bound to '%s' has the shape %s, this execution "
                            "needs %s",
                            mlc_tensor_label(t),
                            mlc_shape_text(mlc_dims(mica_tensor_type(t->value))).chars,
                            mlc_shape_text(mlc_dims(&slot->type)).chars);
    *out_own = true;
    return filled(s->graph->device->device, &slot->type, slot->index, out_value);
}

static mica_status gradient_input(const start *s, const mlc_slot *slot, mica_tensor **out_value) {
    if (!s->graph->parameter_gradients)
        return MLC_FAILED("[execute] there is no gradient: run the forward and the gradient pass "
                          "first");
    *out_value = s->graph->parameter_gradients[slot->index];
    return NULL;
}

static mica_status one_input(start *s, int32_t i) {
    const mlc_slot *slot = &s->program->inputs.data[i];
    mica_device *device = s->graph->device->device;
    float rate, time_step;
    switch (slot->kind) {
    case MLC_SLOT_TENSOR: return tensor_input(s, slot, &s->inputs[i]);
    case MLC_SLOT_STATE: return state_input(s, slot, &s->inputs[i]);
    case MLC_SLOT_SEED: return seed_input(s, slot, &s->inputs[i], &s->is_own[i]);
    case MLC_SLOT_GRADIENT: return gradient_input(s, slot, &s->inputs[i]);
    case MLC_SLOT_RESIDUAL: s->inputs[i] = s->graph->kept[slot->index]; return NULL;
    case MLC_SLOT_RATE:
        s->is_own[i] = true;
        rate = s->graph->optimizer->descriptor.learning_rate;
        return mica_tensor_from_host(device, &slot->type, &rate, &s->inputs[i]);
    case MLC_SLOT_TIME_STEP:
        s->is_own[i] = true;
        time_step = (float)s->graph->optimizer->time_step;
        return mica_tensor_from_host(device, &slot->type, &time_step, &s->inputs[i]);
    case MLC_SLOT_STEP:
        s->is_own[i] = true;
        return mica_tensor_from_host(device, &slot->type, &s->graph->step, &s->inputs[i]);
    case MLC_SLOT_FLAG: break;
    }
    return MICA_ERROR(MICA_INTERNAL, "[execute] an input of kind %d", (int)slot->kind);
}

/* ---- outputs ----------------------------------------------------------------------------------*/

void mlc_graph_forget_kept(mlc_graph *graph) {
    for (int32_t i = 0; i < graph->n_kept; i++) mica_tensor_release(graph->kept[i]);
    mica_free(graph->kept);
    graph->kept = NULL;
    graph->n_kept = 0;
    graph->kept_for = NULL;
}

void mlc_graph_forget_gradients(mlc_graph *graph) {
    for (int32_t i = 0; graph->parameter_gradients && i < graph->parameters.n; i++)
        mica_tensor_release(graph->parameter_gradients[i]);
    mica_free(graph->parameter_gradients);
    graph->parameter_gradients = NULL;
}

/* Where the run's outputs will be put; made before the run, so that nothing fails after it. */
typedef struct places {
    mica_tensor **kept, **gradients;
    const mlc_program *gradient_program;
} places;

static mica_status make_places(start *s, places *p) {
    mlc_program *gradient = NULL;
    if (s->program->kind == MLC_PROGRAM_GRADIENT) {
        p->gradients = mica_calloc((size_t)s->graph->parameters.n + 1, sizeof *p->gradients);
        return p->gradients ? NULL : MICA_NO_MEMORY();
    }
    if (s->program->kind != MLC_PROGRAM_FORWARD) return NULL;
    MICA_TRY(mlc_program_get(s->graph, MLC_PROGRAM_GRADIENT, s->batch, &gradient));
    p->gradient_program = gradient;
    size_t n = (size_t)(s->program->n_residuals + s->program->inputs.n) + 1;
    p->kept = mica_calloc(n, sizeof *p->kept);
    return p->kept ? NULL : MICA_NO_MEMORY();
}

/* Inputs of the forward pass that the gradient pass reads again. */
static void keep_inputs(start *s, places *p) {
    for (int32_t i = 0; i < p->gradient_program->inputs.n; i++) {
        const mlc_slot *slot = &p->gradient_program->inputs.data[i];
        int32_t input = slot->index - s->program->n_residuals;
        if (slot->kind != MLC_SLOT_RESIDUAL || input < 0) continue;
        p->kept[slot->index] = s->inputs[input];
        mica_tensor_retain(s->inputs[input]);
    }
}

static void commit_output(start *s, places *p, int32_t i) {
    const mlc_slot *slot = &s->program->outputs.data[i];
    mica_tensor *value = s->outputs[i];
    s->outputs[i] = NULL;
    switch (slot->kind) {
    case MLC_SLOT_TENSOR:
        mlc_tensor_set_value(slot->tensor, value, s->graph->device, false);
        return;
    case MLC_SLOT_STATE: {
        mlc_optimizer_device_data *state = slot->tensor->optimizer_state[slot->index];
        mica_tensor_release(state->value);
        state->value = value;
        return;
    }
    case MLC_SLOT_RESIDUAL: p->kept[slot->index] = value; return;
    case MLC_SLOT_GRADIENT: p->gradients[slot->index] = value; return;
    case MLC_SLOT_FLAG:
        s->run->flags[s->run->n_flags].value = value;
        s->run->flags[s->run->n_flags].node = slot->index;
        s->run->flags[s->run->n_flags++].is_gradient = slot->is_gradient;
        return;
    default: mica_tensor_release(value);
    }
}

static void commit(start *s, places *p) {
    mlc_graph *graph = s->graph;
    mlc_program_kind kind = s->program->kind;
    if (kind == MLC_PROGRAM_FORWARD) keep_inputs(s, p);
    for (int32_t i = 0; i < s->program->outputs.n; i++) commit_output(s, p, i);
    if (kind == MLC_PROGRAM_FORWARD) {
        mlc_graph_forget_kept(graph);
        graph->kept = p->kept;
        graph->n_kept = s->program->n_residuals + s->program->inputs.n;
        graph->kept_for = p->gradient_program;
        p->kept = NULL;
    }
    if (kind == MLC_PROGRAM_GRADIENT) {
        mlc_graph_forget_kept(graph);
        mlc_graph_forget_gradients(graph);
        graph->parameter_gradients = p->gradients;
        p->gradients = NULL;
    }
    if (kind == MLC_PROGRAM_STEP || kind == MLC_PROGRAM_FORWARD) graph->step++;
    if (kind == MLC_PROGRAM_STEP || kind == MLC_PROGRAM_UPDATE) graph->optimizer->time_step++;
}

/* The tensor whose data an output name means. */
static mica_status named_output(const start *s, const char *name, mlc_tensor **out_tensor) {
    const mlc_graph *graph = s->graph;
    mlc_declaration *d = mlc_declarations_find(&graph->outputs, name);
    mlc_declaration *input = mlc_declarations_find(&graph->inputs, name);
    if (d) {
        *out_tensor = d->tensor;
        return NULL;
    }
    if (input && s->program->kind == MLC_PROGRAM_GRADIENT)
        for (int32_t i = 0; i < graph->n_gradients; i++)
            if (graph->gradients[i].of == input->tensor && graph->gradients[i].is_wanted &&
                !graph->gradients[i].node) {
                *out_tensor = graph->gradients[i].gradient;
                return NULL;
            }
    return MICA_INVALID("[execute] '%s' is no declared output", name ? name : "NULL");
}

/* Checked before the run; the values are put in after it. */
static mica_status check_targets(start *s) {
    mlc_named_data list = s->execution->outputs;
    for (int32_t i = 0; i < list.n; i++) {
        mlc_tensor *tensor = NULL;
        const mlc_tensor_data *data = list.data[i].data;
        MICA_TRY(named_output(s, list.data[i].name, &tensor));
        if (!data) return MICA_INVALID("[%s] the output's data is NULL", list.data[i].name);
        if (data->is_immutable)
            return MICA_INVALID("[%s] the output's data is immutable", list.data[i].name);
        mica_type type = tensor->descriptor->type;
        for (int32_t k = 0; k < s->program->outputs.n; k++)
            if (s->program->outputs.data[k].kind == MLC_SLOT_TENSOR &&
                s->program->outputs.data[k].tensor == tensor)
                type = s->program->outputs.data[k].type;
        if (data->length != mica_type_bytes(&type) &&
            data->length != mica_type_bytes(&tensor->descriptor->type))
            return MICA_INVALID("[%s] %zu bytes for an output of shape %s, which has %zu",
                                list.data[i].name, data->length,
                                mlc_shape_text(mlc_dims(&type)).chars, mica_type_bytes(&type));
    }
    return NULL;
}

static void set_copies(start *s) {
    mlc_named_data list = s->execution->outputs;
    for (int32_t i = 0; i < list.n; i++) {
        mlc_tensor *tensor = NULL;
        mica_status status = named_output(s, list.data[i].name, &tensor);
        mica_status_release(status);
        if (status || !tensor->value) continue;
        mica_tensor_retain(tensor->value);
        mlc_tensor_data_retain(list.data[i].data);
        s->run->copies[s->run->n_copies].value = tensor->value;
        s->run->copies[s->run->n_copies++].target = list.data[i].data;
    }
}

static bool is_donated_later(const start *s, const mlc_tensor *tensor) {
    for (int32_t i = 0; i < s->program->inputs.n; i++) {
        const mlc_slot *slot = &s->program->inputs.data[i];
        if (slot->kind == MLC_SLOT_TENSOR && slot->tensor == tensor && slot->is_donated)
            return true;
    }
    return false;
}

/* The handler reads results of its own run. Not parameters: the next step overwrites these. */
static void set_results(start *s) {
    mlc_results *results = &s->run->results;
    if (!s->run->handler) return;
    for (int32_t i = 0; i < s->program->outputs.n; i++) {
        const mlc_slot *slot = &s->program->outputs.data[i];
        if (slot->kind != MLC_SLOT_TENSOR || is_donated_later(s, slot->tensor)) continue;
        mica_tensor_retain(slot->tensor->value);
        results->data[results->n].tensor = slot->tensor;
        results->data[results->n++].value = slot->tensor->value;
    }
}

/* ---- starting ---------------------------------------------------------------------------------*/

static mica_status make_run(start *s) {
    mlc_run *run = s->run = mica_calloc(1, sizeof *run);
    if (!run) return MICA_NO_MEMORY();
    mlc_graph_retain(s->graph);
    run->graph = s->graph;
    run->kind = s->program->kind;
    run->options = s->execution->options;
    run->handler = s->execution->handler;
    run->context = s->execution->context;
    run->batch = s->batch;
    run->copies = mica_calloc((size_t)s->execution->outputs.n + 1, sizeof *run->copies);
    run->flags = mica_calloc((size_t)s->program->outputs.n + 1, sizeof *run->flags);
    run->results.data = mica_calloc((size_t)s->program->outputs.n + 1, sizeof *run->results.data);
    size_t n_in = (size_t)s->program->inputs.n + 1, n_out = (size_t)s->program->outputs.n + 1;
    s->inputs = mica_calloc(n_in, sizeof *s->inputs);
    s->outputs = mica_calloc(n_out, sizeof *s->outputs);
    s->donate = mica_calloc(n_in, sizeof *s->donate);
    s->is_own = mica_calloc(n_in, sizeof *s->is_own);
    bool good = run->copies && run->flags && run->results.data && s->inputs && s->outputs &&
                s->donate && s->is_own;
    return good ? NULL : MICA_NO_MEMORY();
}

static mica_status check_state(const mlc_graph *graph, mlc_program_kind kind) {
    if (!graph->device) return MLC_FAILED("[execute] the graph is not compiled: compile it first");
    if (graph->broken)
        return MLC_FAILED("[execute] an earlier execution failed and the graph's state is lost; "
                          "bind its parameters again and compile it: %s",
                          mica_status_message(graph->broken));
    if ((kind == MLC_PROGRAM_STEP || kind == MLC_PROGRAM_UPDATE) && !graph->optimizer)
        return MLC_FAILED("[execute] the training graph has no optimizer");
    return NULL;
}

/* What was donated is the run's; what was not (a view of the caller's memory) is let go here. */
static mica_status run_program(start *s, places *p, mica_event **out_done) {
    bool is_synchronous = s->execution->options & MLC_EXECUTION_SYNCHRONOUS;
    for (int32_t i = 0; i < s->program->inputs.n; i++) {
        MICA_TRY(one_input(s, i));
        s->donate[i] = s->program->inputs.data[i].is_donated;
    }
    mica_run_args args = {.size = sizeof args,
                          .inputs = s->inputs,
                          .n_inputs = s->program->inputs.n,
                          .donate = s->donate,
                          .outputs = s->outputs,
                          .n_outputs = s->program->outputs.n,
                          .completed = is_synchronous ? NULL : completed,
                          .context = s->run};
    if (!is_synchronous) MICA_TRY(mlc_dispatch_expect(s->run));
    mica_status status =
        mica_executable_run(s->program->executable, &args, is_synchronous ? out_done : NULL);
    if (status) {
        if (!is_synchronous) mlc_dispatch_forget(s->run);
        return status;
    }
    commit(s, p);
    set_copies(s);
    set_results(s);
    return NULL;
}

/* With the lock held. */
static mica_status start_locked(start *s, mlc_program_kind kind, mica_event **out_done) {
    places p = {NULL, NULL, NULL};
    MICA_TRY(check_state(s->graph, kind));
    int64_t full = s->graph->full_batch, batch = s->execution->batch_size;
    if (batch < 0 || (batch > full && full))
        return MICA_INVALID(
            "[execute] the batch size %lld must be between 0 and that of the tensors, %lld",
            (long long)batch, (long long)full);
    s->batch = batch == full ? 0 : batch;
    if (kind == MLC_PROGRAM_GRADIENT && !s->graph->kept)
        return MLC_FAILED("[execute] the gradient pass follows a forward pass, and there is none");
    MICA_TRY(mlc_program_get(s->graph, kind, s->batch, &s->program));
    if (kind == MLC_PROGRAM_GRADIENT && s->graph->kept_for != s->program)
        return MLC_FAILED("[execute] the forward pass before was with another batch size");
    MICA_TRY(make_run(s));
    MICA_TRY(check_targets(s));
    MICA_TRY(mlc_bindings_make(s->graph, s->execution, s->batch, &s->bindings));
    mica_status status = make_places(s, &p);
    if (!status) mlc_bindings_commit(&s->bindings, s->graph->device);
    if (!status) status = run_program(s, &p, out_done);
    mica_free(p.kept);
    mica_free(p.gradients);
    return status;
}

static void clean_up(start *s) {
    for (int32_t i = 0; s->program && s->is_own && i < s->program->inputs.n; i++)
        if (s->is_own[i]) mica_tensor_release(s->inputs[i]);
    mlc_bindings_deinit(&s->bindings);
    mica_free(s->inputs);
    mica_free(s->outputs);
    mica_free(s->donate);
    mica_free(s->is_own);
}

static mica_status check_execution(const mlc_execution *e) {
    uint64_t known = 0x1f;
    if (!e) return MICA_INVALID("[execute] the execution is NULL");
    if (e->size != sizeof *e)
        return MICA_INVALID("[execute] the execution's size is %zu, expected %zu", e->size,
                            sizeof *e);
    if (e->options & ~known)
        return MICA_INVALID("[execute] unknown options 0x%llx",
                            (unsigned long long)(e->options & ~known));
    return NULL;
}

mica_status mlc_execute(mlc_graph *graph, mlc_program_kind kind, const mlc_execution *execution) {
    MICA_TRY(check_execution(execution));
    start s = {.graph = graph, .execution = execution};
    mica_event *done = NULL;
    mlc_lock();
    mica_status status = start_locked(&s, kind, &done);
    clean_up(&s);
    int64_t batch = s.batch;
    mlc_run *run = s.run;
    mlc_unlock();
    if (status) {
        mlc_run_destroy(run);
        return status;
    }
    if (done) { /* synchronous */
        run->status = mica_event_wait(done);
        run->seconds = mica_event_seconds(done);
        mica_event_release(done);
        status = mlc_run_finish(run);
        mlc_run_destroy(run);
    }
    if (!status && (execution->options & MLC_EXECUTION_PER_LAYER_PROFILING) &&
        kind != MLC_PROGRAM_UPDATE)
        status = mlc_graph_time_layers(graph, batch, kind != MLC_PROGRAM_INFERENCE);
    return status;
}

mica_status mlc_graph_wait(mlc_graph *graph) {
    MICA_GIVEN(graph);
    return mlc_dispatch_wait(graph);
}

/* ---- the ways to execute ----------------------------------------------------------------------*/

static mica_status check_labels(const mlc_graph *graph, const mlc_execution *e) {
    if (e && e->size == sizeof *e && e->loss_labels.n && !graph->labels.n)
        return MICA_INVALID("[execute] there is data for loss labels, but none are declared");
    return NULL;
}

mica_status mlc_inference_graph_execute(mlc_inference_graph *graph,
                                        const mlc_execution *execution) {
    MICA_TRY(mlc_graph_is(graph, MLC_INFERENCE_GRAPH, "execute"));
    MICA_TRY(check_labels(graph, execution));
    return mlc_execute(graph, MLC_PROGRAM_INFERENCE, execution);
}

static bool is_for_inference(const mlc_execution *e) {
    return e && e->size == sizeof *e && (e->options & MLC_EXECUTION_FORWARD_FOR_INFERENCE);
}

mica_status mlc_training_graph_execute(mlc_training_graph *graph, const mlc_execution *execution) {
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "execute"));
    MICA_TRY(check_labels(graph, execution));
    return mlc_execute(
        graph, is_for_inference(execution) ? MLC_PROGRAM_INFERENCE : MLC_PROGRAM_STEP, execution);
}

mica_status mlc_training_graph_execute_forward(mlc_training_graph *graph,
                                               const mlc_execution *execution) {
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "execute forward"));
    return mlc_execute(graph,
                       is_for_inference(execution) ? MLC_PROGRAM_INFERENCE : MLC_PROGRAM_FORWARD,
                       execution);
}

mica_status mlc_training_graph_execute_gradient(mlc_training_graph *graph,
                                                const mlc_execution *execution) {
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "execute gradient"));
    return mlc_execute(graph, MLC_PROGRAM_GRADIENT, execution);
}

mica_status mlc_training_graph_execute_optimizer_update(mlc_training_graph *graph,
                                                        const mlc_execution *execution) {
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "execute optimizer update"));
    return mlc_execute(graph, MLC_PROGRAM_UPDATE, execution);
}
