/* Timing layers: each is compiled and run by itself, on the values that reach it. */
#include <string.h>

#include "mlc/builder.h"

typedef struct timing {
    mlc_graph *graph;
    int64_t batch;
    bool is_training;
    mlc_list tensors, values; /* results so far: mlc_tensor, mica_tensor (references) */
} timing;

static mica_tensor *find(const timing *t, const mlc_tensor *tensor) {
    int32_t i = mlc_list_find(&t->tensors, tensor);
    return i < 0 ? NULL : t->values.data[i];
}

/* Results of layers before are inputs of this one, of the size they have. */
static void set_sources(const timing *t, mlc_builder *b, const mlc_node *node) {
    for (int32_t i = 0; i < node->n_sources; i++) {
        mica_tensor *value = find(t, node->sources[i]);
        mlc_entry *entry = value ? mlc_builder_entry(b, node->sources[i]) : NULL;
        if (!entry || !mica_value_is_null(entry->value)) continue;
        mica_value parameter = mlc_builder_input(b, (mlc_slot){.kind = MLC_SLOT_TENSOR,
                                                               .tensor = node->sources[i],
                                                               .type = *mica_tensor_type(value)});
        entry->value = parameter;
    }
}

/* A reference; with the lock held. */
static mica_status input_of(const timing *t, const mlc_slot *slot, mica_tensor **out_value) {
    mlc_graph *graph = t->graph;
    if (slot->kind == MLC_SLOT_STEP)
        return mica_tensor_from_host(graph->device->device, &slot->type, &graph->step, out_value);
    mica_tensor *value = find(t, slot->tensor);
    if (!value) {
        MICA_TRY(mlc_tensor_place(slot->tensor, graph->device));
        value = slot->tensor->value;
    }
    mica_tensor_retain(value);
    *out_value = value;
    return NULL;
}

static mica_status keep_results(timing *t, const mlc_node *node, mica_tensor **outputs) {
    for (int32_t i = 0; i < node->n_results; i++) {
        MICA_TRY(mlc_list_add(&t->tensors, node->results[i]));
        mica_status status = mlc_list_add(&t->values, outputs[i]);
        if (status) {
            t->tensors.n--;
            return status;
        }
        outputs[i] = NULL;
    }
    return NULL;
}

static mica_status run(timing *t, mlc_builder *b, mlc_node *node, mica_executable *executable,
                       mica_tensor **inputs, mica_tensor **outputs) {
    mica_event *done = NULL;
    mica_status status = NULL;
    mlc_lock();
    for (int32_t i = 0; i < b->inputs.n && !status; i++)
        status = input_of(t, &b->inputs.data[i], &inputs[i]);
    mlc_unlock();
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = b->inputs.n,
                          .outputs = outputs,
                          .n_outputs = node->n_results};
    if (!status) status = mica_executable_run(executable, &args, &done);
    if (!status) status = mica_event_wait(done);
    if (!status) {
        mlc_lock();
        node->seconds = mica_event_seconds(done);
        mlc_unlock();
        status = keep_results(t, node, outputs);
    }
    if (done) mica_event_release(done);
    return status;
}

static mica_status build(const timing *t, mlc_builder *b, const mlc_node *node, int32_t place) {
    MICA_TRY(mlc_builder_init(b, t->graph, mlc_layer_label(node->layer), t->batch, t->is_training));
    if (t->is_training) mlc_build_step_input(b);
    set_sources(t, b, node);
    (void)mlc_build_node(b, node, place);
    for (int32_t i = 0; i < node->n_results; i++) {
        mlc_entry *entry = mlc_builder_entry(b, node->results[i]);
        if (entry) mica_output(b->l.g, entry->value);
    }
    return mica_graph_check(b->l.g);
}

static mica_status time_node(timing *t, mlc_node *node, int32_t place) {
    mlc_builder b;
    mica_executable *executable = NULL;
    mica_tensor **inputs = NULL, **outputs = NULL;
    int32_t n_inputs = 0;
    mlc_lock(); /* building looks at tensors' data */
    mica_status status = build(t, &b, node, place);
    mlc_unlock();
    if (!status)
        status = mica_executable_create(t->graph->device->device, b.l.g, NULL, &executable);
    if (!status) {
        n_inputs = b.inputs.n;
        inputs = mica_calloc((size_t)n_inputs + 1, sizeof *inputs);
        outputs = mica_calloc((size_t)node->n_results + 1, sizeof *outputs);
        status =
            inputs && outputs ? run(t, &b, node, executable, inputs, outputs) : MICA_NO_MEMORY();
    }
    for (int32_t i = 0; inputs && i < n_inputs; i++) mica_tensor_release(inputs[i]);
    for (int32_t i = 0; outputs && i < node->n_results; i++) mica_tensor_release(outputs[i]);
    mica_free(inputs);
    mica_free(outputs);
    mica_executable_release(executable);
    mlc_builder_deinit(&b);
    return status;
}

mica_status mlc_graph_time_layers(mlc_graph *graph, int64_t batch, bool training) {
    timing t = {.graph = graph, .batch = batch, .is_training = training};
    mica_status status = NULL;
    for (int32_t i = 0; i < graph->all.n && !status; i++)
        status = time_node(&t, graph->all.data[i], i);
    for (int32_t i = 0; i < t.values.n; i++) mica_tensor_release(t.values.data[i]);
    mlc_list_deinit(&t.tensors);
    mlc_list_deinit(&t.values);
    return status;
}
