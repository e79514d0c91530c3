/* Compiling: what is declared is checked against the layers, and the first program is built. */
#include <string.h>

#include "mlc/graph.h"

/* ---- labels -----------------------------------------------------------------------------------*/

static bool is_used_as_label(const mlc_graph *graph, const mlc_tensor *tensor) {
    for (int32_t i = 0; i < graph->all.n; i++) {
        const mlc_node *node = graph->all.data[i];
        for (int32_t k = 0; k < node->n_labels; k++)
            if (node->labels[k] == tensor) return true;
    }
    return false;
}

static mlc_tensor *next_unused(const mlc_graph *graph, const mlc_declarations *list) {
    for (int32_t i = 0; i < list->n; i++)
        if (!is_used_as_label(graph, list->data[i].tensor)) return list->data[i].tensor;
    return NULL;
}

/* A loss without labels takes the next ones that are declared and not yet used. */
static mica_status attach_labels(mlc_graph *graph) {
    for (int32_t i = 0; i < graph->all.n; i++) {
        mlc_node *node = graph->all.data[i];
        if (!mlc_layer_is_loss(node->layer) || node->n_labels > 0) continue;
        mlc_tensor *labels = next_unused(graph, &graph->labels);
        mlc_tensor *weights = next_unused(graph, &graph->label_weights);
        mica_type *types = NULL;
        int32_t n = 0;
        if (!labels)
            return MICA_INVALID("[%s] no loss labels are declared for the loss",
                                mlc_layer_label(node->layer));
        mlc_tensor *both[] = {labels, weights};
        mlc_tensors list = {both, weights ? 2 : 1};
        MICA_TRY(mlc_infer_results(node->layer, (mlc_tensors){node->sources, node->n_sources}, list,
                                   &types, &n));
        mica_free(types);
        mlc_tensor **kept = mica_calloc(2, sizeof *kept);
        if (!kept) return MICA_NO_MEMORY();
        for (int32_t k = 0; k < list.n; k++) kept[k] = both[k], mlc_tensor_retain(both[k]);
        mica_free(node->labels);
        node->labels = kept;
        node->n_labels = list.n;
    }
    return NULL;
}

/* ---- parameters -------------------------------------------------------------------------------*/

static mica_status add_parameter(mlc_graph *graph, mlc_tensor *tensor) {
    if (mlc_list_find(&graph->parameters, tensor) >= 0) return NULL;
    if (mlc_declarations_have(&graph->constants, tensor)) return NULL;
    return mlc_list_add(&graph->parameters, tensor);
}

static mica_status collect_parameters(mlc_graph *graph) {
    graph->parameters.n = 0;
    if (graph->kind != MLC_TRAINING_GRAPH) return NULL;
    for (int32_t i = 0; i < graph->all.n; i++) {
        const mlc_node *node = graph->all.data[i];
        for (int32_t role = 0; role < MLC_ROLES && !node->disable_update; role++) {
            const mlc_group *group = &node->layer->groups[role];
            for (int32_t k = 0; k < group->n && mlc_role_is_trained(node->layer, role); k++)
                if (group->parameters[k]->is_updatable)
                    MICA_TRY(add_parameter(graph, group->tensors[k]));
        }
    }
    for (int32_t i = 0; i < graph->trained.n; i++) {
        const mlc_tensor_parameter *p = graph->trained.data[i];
        if (p->is_updatable) MICA_TRY(add_parameter(graph, p->tensor));
    }
    return NULL;
}

/* ---- checks -----------------------------------------------------------------------------------*/

static bool is_known(const mlc_graph *graph, const mlc_tensor *tensor) {
    return mlc_declarations_have(&graph->inputs, tensor) ||
           mlc_declarations_have(&graph->labels, tensor) ||
           mlc_declarations_have(&graph->label_weights, tensor) ||
           mlc_declarations_have(&graph->constants, tensor);
}

/* Every source is made by a layer before, declared, or has data of its own. */
static mica_status check_sources(const mlc_graph *graph) {
    bool is_linked = (graph->options & MLC_COMPILATION_LINK_GRAPHS) != 0;
    for (int32_t i = 0; i < graph->all.n; i++) {
        const mlc_node *node = graph->all.data[i];
        for (int32_t k = 0; k < node->n_sources + node->n_labels; k++) {
            mlc_tensor *t =
                k < node->n_sources ? node->sources[k] : node->labels[k - node->n_sources];
            if (is_known(graph, t) || t->host || t->value || is_linked) continue;
            if (!mlc_graph_find_producer(graph, t))
                return MICA_INVALID("[%s] %s '%s' of shape %s is neither declared as an input nor "
                                    "has it data",
                                    mlc_layer_label(node->layer),
                                    k < node->n_sources ? "the source" : "the label tensor",
                                    mlc_tensor_label(t), mlc_tensor_shape_text(t).chars);
        }
        for (int32_t role = 0; role < MLC_ROLES; role++)
            for (int32_t k = 0; k < node->layer->groups[role].n; k++) {
                mlc_tensor *t = node->layer->groups[role].tensors[k];
                if (!t->host && !t->value && !is_known(graph, t))
                    return MICA_INVALID("[%s] the tensor '%s' of shape %s has no data",
                                        mlc_layer_label(node->layer), mlc_tensor_label(t),
                                        mlc_tensor_shape_text(t).chars);
            }
    }
    return NULL;
}

static mica_status check_options(const mlc_graph *graph, uint64_t options,
                                 const mlc_device *device) {
    uint64_t known = MLC_COMPILATION_DEBUG_LAYERS | MLC_COMPILATION_DISABLE_LAYER_FUSION |
                     MLC_COMPILATION_LINK_GRAPHS | MLC_COMPILATION_COMPUTE_ALL_GRADIENTS;
    if (!device) return MICA_INVALID("[compile] the device is NULL");
    if (options & ~known)
        return MICA_INVALID("[compile] unknown options 0x%llx",
                            (unsigned long long)(options & ~known));
    if (device->type == MLC_DEVICE_TYPE_ANE && graph->kind == MLC_TRAINING_GRAPH)
        return MICA_ERROR(MICA_UNSUPPORTED, "[compile] the neural engine runs inference graphs "
                                            "only");
    return NULL;
}

static mica_status set_constants(mlc_graph *graph, mlc_named_tensors inputs, mlc_named_data data) {
    mlc_declarations_deinit(&graph->constants);
    for (int32_t i = 0; i < inputs.n; i++) {
        mlc_tensor *tensor = inputs.data[i].tensor;
        const char *name = inputs.data[i].name;
        mlc_tensor_data *bytes = NULL;
        for (int32_t k = 0; name && k < data.n; k++)
            if (data.data[k].name && strcmp(data.data[k].name, name) == 0)
                bytes = data.data[k].data;
        MICA_TRY(mlc_declarations_add(&graph->constants, name, tensor, "compile"));
        if (!bytes && !tensor->host)
            return MICA_INVALID("[compile] no data for the constant '%s'", name);
        if (bytes && bytes->length != mica_type_bytes(&tensor->descriptor->type))
            return MICA_INVALID("[compile] %zu bytes of data for the constant '%s' of shape %s",
                                bytes->length, name, mlc_tensor_shape_text(tensor).chars);
        if (bytes) mlc_tensor_set_host(tensor, bytes);
    }
    return NULL;
}

/* ---- compiling --------------------------------------------------------------------------------*/

static mica_status want(mlc_graph *graph, mlc_tensor *tensor) {
    mlc_gradient *gradient = NULL;
    if (!mlc_data_type_is_float(tensor->descriptor->data_type)) return NULL;
    MICA_TRY(mlc_graph_gradient_of(graph, tensor, NULL, false, &gradient));
    gradient->is_wanted = true;
    return NULL;
}

/* All inputs have gradients when that is asked for; debugged layers' results have. */
static mica_status want_gradients(mlc_graph *graph) {
    bool all = (graph->options & MLC_COMPILATION_COMPUTE_ALL_GRADIENTS) != 0;
    if (graph->kind != MLC_TRAINING_GRAPH) return NULL;
    for (int32_t i = 0; all && i < graph->inputs.n; i++)
        if (!mlc_declarations_have(&graph->constants, graph->inputs.data[i].tensor))
            MICA_TRY(want(graph, graph->inputs.data[i].tensor));
    bool debugs = (graph->options & MLC_COMPILATION_DEBUG_LAYERS) != 0;
    for (int32_t i = 0; debugs && i < graph->all.n; i++) {
        const mlc_node *node = graph->all.data[i];
        for (int32_t k = 0; node->layer->is_debugging_enabled && k < node->n_results; k++)
            MICA_TRY(want(graph, node->results[k]));
    }
    return NULL;
}

static bool has_loss(const mlc_graph *graph) {
    for (int32_t i = 0; i < graph->all.n; i++)
        if (mlc_layer_is_loss(((mlc_node *)graph->all.data[i])->layer)) return true;
    return false;
}

/* With the lock held. */
static mica_status prepare(mlc_graph *graph) {
    mlc_program *program = NULL;
    graph->all.n = 0;
    MICA_TRY(mlc_graph_collect(graph, &graph->all));
    if (graph->all.n == 0) return MICA_INVALID("[compile] the graph has no layers");
    MICA_TRY(attach_labels(graph));
    MICA_TRY(collect_parameters(graph));
    MICA_TRY(check_sources(graph));
    MICA_TRY(want_gradients(graph));
    graph->full_batch = 0;
    if (graph->inputs.n) graph->full_batch = graph->inputs.data[0].tensor->descriptor->type.dims[0];
    mlc_node *last = graph->all.data[graph->all.n - 1];
    graph->result = last->results[0];
    for (int32_t i = 0; i < graph->parameters.n; i++)
        MICA_TRY(mlc_tensor_place(graph->parameters.data[i], graph->device));
    if (graph->kind == MLC_INFERENCE_GRAPH)
        return mlc_program_get(graph, MLC_PROGRAM_INFERENCE, 0, &program);
    if (graph->optimizer && has_loss(graph))
        return mlc_program_get(graph, MLC_PROGRAM_STEP, 0, &program);
    return mlc_program_get(graph, MLC_PROGRAM_FORWARD, 0, &program);
}

static void freeze(mlc_graph *graph) {
    graph->is_frozen = true;
    for (int32_t i = 0; i < graph->graphs.n; i++) freeze(graph->graphs.data[i]);
}

static mica_status compile(mlc_graph *graph, uint64_t options, mlc_device *device,
                           mlc_named_tensors inputs, mlc_named_data data) {
    MICA_TRY(check_options(graph, options, device));
    mlc_lock();
    mlc_graph_drop_programs(graph);
    mlc_graph_forget_gradients(graph);
    mica_status_release(graph->broken);
    graph->broken = NULL;
    mlc_device_release(graph->device);
    graph->device = device;
    mlc_device_retain(device);
    graph->options = options;
    mica_status status = set_constants(graph, inputs, data);
    if (!status) status = prepare(graph);
    if (status) {
        mlc_graph_drop_programs(graph);
        mlc_device_release(graph->device);
        graph->device = NULL;
    } else {
        freeze(graph);
    }
    for (int32_t i = 0; !status && i < graph->all.n; i++)
        __atomic_store_n(&((mlc_node *)graph->all.data[i])->layer->device_type,
                         (int32_t)device->actual, __ATOMIC_RELEASE);
    mlc_unlock();
    return status;
}

#define NO_DATA ((mlc_named_data){NULL, 0})

mica_status mlc_inference_graph_compile(mlc_inference_graph *graph, uint64_t options,
                                        mlc_device *device) {
    MICA_TRY(mlc_graph_is(graph, MLC_INFERENCE_GRAPH, "compile"));
    return compile(graph, options, device, MLC_NO_TENSORS, NO_DATA);
}

mica_status mlc_inference_graph_compile_constants(mlc_inference_graph *graph, uint64_t options,
                                                  mlc_device *device, mlc_named_tensors inputs,
                                                  mlc_named_data data) {
    MICA_GIVEN(MICA_ARRAY(inputs), MICA_ARRAY(data));
    MICA_TRY(mlc_graph_is(graph, MLC_INFERENCE_GRAPH, "compile"));
    return compile(graph, options, device, inputs, data);
}

mica_status mlc_training_graph_compile(mlc_training_graph *graph, uint64_t options,
                                       mlc_device *device) {
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "compile"));
    return compile(graph, options, device, MLC_NO_TENSORS, NO_DATA);
}

mica_status mlc_training_graph_compile_constants(mlc_training_graph *graph, uint64_t options,
                                                 mlc_device *device, mlc_named_tensors inputs,
                                                 mlc_named_data data) {
    MICA_GIVEN(MICA_ARRAY(inputs), MICA_ARRAY(data));
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "compile"));
    return compile(graph, options, device, inputs, data);
}

mica_status mlc_training_graph_compile_optimizer(mlc_training_graph *graph,
                                                 mlc_optimizer *optimizer) {
    mlc_program *program = NULL;
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "compile optimizer"));
    if (!optimizer) return MICA_INVALID("[compile optimizer] the optimizer is NULL");
    mlc_lock();
    mlc_optimizer *old = graph->optimizer;
    mlc_optimizer_retain(optimizer);
    graph->optimizer = optimizer;
    mica_status status = NULL;
    mlc_graph_drop_programs(graph);
    if (graph->device)
        status = mlc_program_get(graph, has_loss(graph) ? MLC_PROGRAM_STEP : MLC_PROGRAM_UPDATE, 0,
                                 &program);
    if (status) {
        graph->optimizer = old;
        mlc_optimizer_release(optimizer);
    } else {
        for (int32_t i = 0; old && i < graph->parameters.n; i++)
            mlc_tensor_clear_optimizer(graph->parameters.data[i], true);
        mlc_optimizer_release(old);
    }
    mlc_unlock();
    return status;
}

/* ---- sizes ------------------------------------------------------------------------------------*/

static size_t memory_of(const mlc_graph *graph) {
    size_t bytes = 0;
    mlc_lock();
    for (const mlc_program *p = graph->programs; p; p = p->next)
        bytes += mica_executable_arena_bytes(p->executable);
    for (int32_t i = 0; i < graph->n_kept; i++)
        if (graph->kept[i]) bytes += mica_type_bytes(mica_tensor_type(graph->kept[i]));
    mlc_unlock();
    return bytes;
}

size_t mlc_inference_graph_device_memory_size(const mlc_inference_graph *graph) {
    if (!graph) return 0;
    return graph->kind == MLC_INFERENCE_GRAPH ? memory_of(graph) : 0;
}

size_t mlc_training_graph_device_memory_size(const mlc_training_graph *graph) {
    if (!graph) return 0;
    return graph->kind == MLC_TRAINING_GRAPH ? memory_of(graph) : 0;
}
