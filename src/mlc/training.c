/* What a trainer reads back and hands in: updates, gradients, optimizer buffers; linked graphs. */
#include <string.h>

#include "mlc/graph.h"

/* Weights and statistics with host data. */
static mica_status synchronize(mlc_tensor *tensor) {
    const mlc_tensor_data *host = mlc_tensor_data_of(tensor);
    if (!host || host->is_immutable) return NULL;
    MICA_TRY(mlc_tensor_synchronize_data(tensor));
    if (mlc_tensor_optimizer_device_data(tensor).n && mlc_tensor_optimizer_data(tensor).n)
        MICA_TRY(mlc_tensor_synchronize_optimizer_data(tensor));
    return NULL;
}

mica_status mlc_training_graph_synchronize_updates(mlc_training_graph *graph) {
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "synchronize updates"));
    if (!mlc_graph_device(graph))
        return MLC_FAILED("[synchronize updates] the graph is not compiled");
    for (int32_t i = 0; i < graph->parameters.n; i++)
        MICA_TRY(synchronize(graph->parameters.data[i]));
    for (int32_t i = 0; i < graph->all.n; i++) {
        const mlc_layer *layer = ((mlc_node *)graph->all.data[i])->layer;
        for (int32_t role = MLC_ROLE_MEAN; role <= MLC_ROLE_VARIANCE; role++)
            for (int32_t k = 0; k < layer->groups[role].n; k++)
                MICA_TRY(synchronize(layer->groups[role].tensors[k]));
    }
    return NULL;
}

static bool layer_holds(const mlc_layer *layer, const mlc_tensor *tensor) {
    for (int32_t role = 0; role < MLC_ROLES; role++)
        for (int32_t i = 0; i < layer->groups[role].n; i++)
            if (layer->groups[role].tensors[i] == tensor) return true;
    return false;
}

mica_status mlc_training_graph_gradient_data(mlc_training_graph *graph, mlc_tensor *parameter,
                                             const mlc_layer *layer, void *bytes, size_t length) {
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "gradient data"));
    if (!parameter || !bytes) return MICA_INVALID("[gradient data] the parameter or bytes is NULL");
    const char *label = mlc_tensor_label(parameter);
    if (layer && !layer_holds(layer, parameter))
        return MICA_INVALID("[%s] '%s' is not a tensor of this layer", mlc_layer_label(layer),
                            label);
    mlc_lock();
    int32_t i = mlc_list_find(&graph->parameters, parameter);
    mica_tensor *value =
        i >= 0 && graph->parameter_gradients ? graph->parameter_gradients[i] : NULL;
    if (value) mica_tensor_retain(value);
    mlc_unlock();
    if (i < 0) return MICA_INVALID("[gradient data] '%s' is not trained by this graph", label);
    if (!value)
        return MLC_FAILED("[gradient data] '%s' has no gradient: no separate gradient pass was "
                          "executed",
                          label);
    mica_status status = mica_tensor_to_host(value, bytes, length);
    mica_tensor_release(value);
    return status;
}

mica_status mlc_training_graph_bind_optimizer_data(mlc_training_graph *graph, mlc_data_list data,
                                                   mlc_device_data_list device_data,
                                                   mlc_tensor *tensor) {
    MICA_GIVEN(MICA_ARRAY(data));
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "bind optimizer data"));
    if (!tensor) return MICA_INVALID("[bind optimizer data] the tensor is NULL");
    if (graph->optimizer) {
        int32_t n = mlc_optimizer_state_count(graph->optimizer);
        if (data.n != n && device_data.n != n)
            return MICA_INVALID("[%s] %d optimizer buffers; this optimizer has %d",
                                mlc_tensor_label(tensor), data.n, n);
    }
    return mlc_tensor_bind_optimizer_data(tensor, data, device_data);
}

/* ---- linked graphs ----------------------------------------------------------------------------*/

void mlc_graph_unlink(mlc_graph *graph) {
    mlc_link *link = graph->link;
    if (!link) return;
    graph->link = NULL;
    int32_t i = mlc_list_find(&link->graphs, graph);
    if (i >= 0) link->graphs.data[i] = link->graphs.data[--link->graphs.n];
    if (!mica_refcount_release(&link->references)) return;
    mlc_list_deinit(&link->graphs);
    mica_free(link);
}

static mica_status check_link(const mlc_graph *first, const mlc_graph *graph) {
    if (!graph || graph->kind != first->kind)
        return MICA_INVALID("[link] a graph is %s",
                            graph ? "of another kind than the first" : "NULL");
    if (!graph->device || !(graph->options & MLC_COMPILATION_LINK_GRAPHS))
        return MLC_FAILED("[link] a graph was not compiled with the option LinkGraphs");
    if (graph->device->device != first->device->device)
        return MICA_INVALID("[link] the graphs are compiled for different devices");
    return NULL;
}

static mica_status join(mlc_link *link, mlc_graph *graph) {
    if (mlc_list_find(&link->graphs, graph) >= 0) return NULL;
    MICA_TRY(mlc_list_add(&link->graphs, graph));
    mlc_graph_unlink(graph);
    mica_refcount_retain(&link->references);
    graph->link = link;
    return NULL;
}

/* The gradients of what passes between the graphs are computed by those that consume it. */
static mica_status want_passed(mlc_graph *graph, const mlc_link *link) {
    for (int32_t i = 0; graph->kind == MLC_TRAINING_GRAPH && i < graph->all.n; i++) {
        const mlc_node *node = graph->all.data[i];
        for (int32_t k = 0; k < node->n_sources; k++) {
            mlc_tensor *source = node->sources[k];
            mlc_gradient *gradient = NULL;
            bool is_passed = false;
            for (int32_t m = 0; m < link->graphs.n; m++)
                is_passed |= link->graphs.data[m] != graph &&
                             mlc_graph_find_producer(link->graphs.data[m], source) != NULL;
            if (!is_passed || mlc_graph_find_producer(graph, source) ||
                !mlc_data_type_is_float(source->descriptor->data_type))
                continue;
            MICA_TRY(mlc_graph_gradient_of(graph, source, NULL, false, &gradient));
            gradient->is_wanted = true;
        }
    }
    return NULL;
}

static mica_status link_locked(mlc_graph *graph, mlc_graphs graphs) {
    MICA_TRY(check_link(graph, graph));
    for (int32_t i = 0; i < graphs.n; i++) MICA_TRY(check_link(graph, graphs.data[i]));
    mlc_link *link = graph->link;
    if (!link) {
        link = mica_calloc(1, sizeof *link);
        if (!link) return MICA_NO_MEMORY();
        mica_status status = mlc_list_add(&link->graphs, graph);
        if (status) {
            mica_free(link);
            return status;
        }
        mica_refcount_init(&link->references);
        graph->link = link;
    }
    for (int32_t i = 0; i < graphs.n; i++) MICA_TRY(join(link, graphs.data[i]));
    for (int32_t i = 0; i < link->graphs.n; i++) {
        MICA_TRY(want_passed(link->graphs.data[i], link));
        mlc_graph_drop_programs(link->graphs.data[i]);
    }
    return NULL;
}

static mica_status link_all(mlc_graph *graph, mlc_graphs graphs) {
    mlc_lock();
    mica_status status = link_locked(graph, graphs);
    mlc_unlock();
    return status;
}

mica_status mlc_inference_graph_link(mlc_inference_graph *graph, mlc_graphs graphs) {
    MICA_TRY(mlc_graph_is(graph, MLC_INFERENCE_GRAPH, "link"));
    return link_all(graph, graphs);
}

mica_status mlc_training_graph_link(mlc_training_graph *graph, mlc_graphs graphs) {
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "link"));
    return link_all(graph, graphs);
}
