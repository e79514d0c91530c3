/* Graphs of layers: nodes and the ways to add them. */
#include "mlc/graph.h"
#include "mlc/lower.h"

#include <string.h>

/* ---- lists ------------------------------------------------------------------------------------*/

mica_status mlc_list_add(mlc_list *list, void *item) {
    if (list->n == list->capacity) {
        int32_t capacity = list->capacity ? 2 * list->capacity : 8;
        void **grown = mica_realloc(list->data, (size_t)capacity * sizeof *grown);
        if (!grown) return MICA_NO_MEMORY();
        list->data = grown;
        list->capacity = capacity;
    }
    list->data[list->n++] = item;
    return NULL;
}

void mlc_list_deinit(mlc_list *list) {
    mica_free(list->data);
    *list = (mlc_list){NULL, 0, 0};
}

int32_t mlc_list_find(const mlc_list *list, const void *item) {
    for (int32_t i = 0; i < list->n; i++)
        if (list->data[i] == item) return i;
    return -1;
}

/* ---- nodes ------------------------------------------------------------------------------------*/

static void release_tensors(mlc_tensor **tensors, int32_t n) {
    for (int32_t i = 0; tensors && i < n; i++) mlc_tensor_release(tensors[i]);
    mica_free(tensors);
}

void mlc_node_release(mlc_node *node) {
    if (!node) return;
    release_tensors(node->sources, node->n_sources);
    release_tensors(node->labels, node->n_labels);
    release_tensors(node->results, node->n_results);
    mlc_list_deinit(&node->source_gradients);
    mlc_list_deinit(&node->result_gradients);
    if (node->layer) {
        node->layer->graph = NULL;
        mlc_layer_release(node->layer);
    }
    mica_free(node);
}

static mica_status copy_tensors(mlc_tensors from, mlc_tensor ***to, int32_t *n) {
    *to = mica_calloc((size_t)from.n + 1, sizeof **to);
    if (!*to) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < from.n; i++) {
        (*to)[i] = from.data[i];
        mlc_tensor_retain(from.data[i]);
    }
    *n = from.n;
    return NULL;
}

static mica_status make_results(mlc_node *node, const mica_type *types, int32_t n) {
    node->results = mica_calloc((size_t)n + 1, sizeof *node->results);
    if (!node->results) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n; i++) {
        mlc_tensor_descriptor *d = NULL;
        MICA_TRY(mlc_tensor_descriptor_of_type(&types[i], &d));
        mica_status status = mlc_tensor_create(d, &node->results[i]);
        mlc_tensor_descriptor_release(d);
        MICA_TRY(status);
        node->n_results = i + 1;
    }
    return NULL;
}

static mica_status check_new(const mlc_graph *graph, const mlc_layer *layer, mlc_tensors sources,
                             mlc_tensors labels) {
    if (!layer) return MICA_INVALID("[graph] the layer is NULL");
    if (graph->is_frozen)
        return MLC_FAILED("[%s] the layer cannot be added: the graph is compiled",
                          mlc_layer_label(layer));
    if (layer->graph)
        return MICA_INVALID("[%s] the layer is already in %s graph", mlc_layer_label(layer),
                            layer->graph == graph ? "this" : "another");
    MICA_TRY(mlc_check_operands(layer, sources, labels));
    for (int32_t i = 0; i < labels.n; i++)
        if (!labels.data[i])
            return MICA_INVALID("[%s] label tensor %d is NULL", mlc_layer_label(layer), i);
    return NULL;
}

static mica_status fill_node(mlc_node *node, mlc_layer *layer, mlc_tensors sources,
                             mlc_tensors labels) {
    mica_type *types = NULL;
    int32_t n = 0;
    MICA_TRY(mlc_infer_results(layer, sources, labels, &types, &n));
    mica_status status = make_results(node, types, n);
    mica_free(types);
    if (!status) status = copy_tensors(sources, &node->sources, &node->n_sources);
    if (!status) status = copy_tensors(labels, &node->labels, &node->n_labels);
    return status;
}

mica_status mlc_graph_add(mlc_graph *graph, mlc_layer *layer, mlc_tensors sources,
                          mlc_tensors labels, bool disable_update, mlc_node **out_node) {
    *out_node = NULL;
    MICA_TRY(check_new(graph, layer, sources, labels));
    mlc_node *node = mica_calloc(1, sizeof *node);
    if (!node) return MICA_NO_MEMORY();
    mica_status status = fill_node(node, layer, sources, labels);
    if (!status) status = mlc_list_add(&graph->nodes, node);
    if (status) {
        mlc_node_release(node);
        return status;
    }
    node->layer = layer;
    node->disable_update = disable_update;
    layer->graph = graph;
    mlc_layer_retain(layer);
    *out_node = node;
    return NULL;
}

mica_status mlc_graph_collect(const mlc_graph *graph, mlc_list *list) {
    for (int32_t i = 0; i < graph->graphs.n; i++)
        MICA_TRY(mlc_graph_collect(graph->graphs.data[i], list));
    for (int32_t i = 0; i < graph->nodes.n; i++)
        if (mlc_list_find(list, graph->nodes.data[i]) < 0)
            MICA_TRY(mlc_list_add(list, graph->nodes.data[i]));
    return NULL;
}

mlc_node *mlc_graph_find_node(const mlc_graph *graph, const mlc_layer *layer) {
    for (int32_t i = 0; i < graph->nodes.n; i++)
        if (((mlc_node *)graph->nodes.data[i])->layer == layer) return graph->nodes.data[i];
    for (int32_t i = 0; i < graph->graphs.n; i++) {
        mlc_node *node = mlc_graph_find_node(graph->graphs.data[i], layer);
        if (node) return node;
    }
    return NULL;
}

mlc_node *mlc_graph_find_producer(const mlc_graph *graph, const mlc_tensor *tensor) {
    for (int32_t i = 0; i < graph->nodes.n; i++) {
        mlc_node *node = graph->nodes.data[i];
        for (int32_t k = 0; k < node->n_results; k++)
            if (node->results[k] == tensor) return node;
    }
    for (int32_t i = 0; i < graph->graphs.n; i++) {
        mlc_node *node = mlc_graph_find_producer(graph->graphs.data[i], tensor);
        if (node) return node;
    }
    return NULL;
}

/* ---- graphs -----------------------------------------------------------------------------------*/

mica_status mlc_graph_create(mlc_graph **out_graph) {
    MICA_GIVEN(out_graph);
    *out_graph = NULL;
    mlc_graph *graph = mica_calloc(1, sizeof *graph);
    if (!graph) return MICA_NO_MEMORY();
    mica_refcount_init(&graph->references);
    *out_graph = graph;
    return NULL;
}

void mlc_graph_retain(mlc_graph *graph) {
    if (!graph) return;
    mica_refcount_retain(&graph->references);
}

static void release_compiled(mlc_graph *graph) {
    mlc_lock();
    mlc_graph_unlink(graph);
    mlc_graph_forget_kept(graph);
    mlc_graph_forget_gradients(graph);
    mlc_graph_drop_programs(graph);
    mlc_unlock();
    mlc_list_deinit(&graph->all);
    mlc_list_deinit(&graph->parameters);
    mica_status_release(graph->broken);
    mica_status_release(graph->error);
    mlc_device_release(graph->device);
}

void mlc_graph_release(mlc_graph *graph) {
    if (!graph || !mica_refcount_release(&graph->references)) return;
    release_compiled(graph);
    for (int32_t i = 0; i < graph->n_gradients; i++)
        mlc_tensor_release(graph->gradients[i].gradient);
    mica_free(graph->gradients);
    for (int32_t i = 0; i < graph->stopped.n; i++) mlc_tensor_release(graph->stopped.data[i]);
    for (int32_t i = 0; i < graph->trained.n; i++)
        mlc_tensor_parameter_release(graph->trained.data[i]);
    mlc_list_deinit(&graph->stopped);
    mlc_list_deinit(&graph->trained);
    mlc_declarations_deinit(&graph->inputs);
    mlc_declarations_deinit(&graph->labels);
    mlc_declarations_deinit(&graph->label_weights);
    mlc_declarations_deinit(&graph->outputs);
    mlc_declarations_deinit(&graph->constants);
    mlc_layer_release(graph->loss_layer);
    mlc_optimizer_release(graph->optimizer);
    for (int32_t i = 0; i < graph->nodes.n; i++) mlc_node_release(graph->nodes.data[i]);
    for (int32_t i = 0; i < graph->graphs.n; i++) mlc_graph_release(graph->graphs.data[i]);
    mlc_list_deinit(&graph->nodes);
    mlc_list_deinit(&graph->graphs);
    mlc_list_deinit(&graph->layers);
    mica_free(graph);
}

mlc_device *mlc_graph_device(const mlc_graph *graph) {
    if (!graph) return NULL;
    mlc_lock();
    mlc_device *device = graph->device;
    mlc_unlock();
    return device;
}

/* The list is kept in the graph, and made anew each time: wrapped graphs may have grown. */
mlc_layers mlc_graph_layers(const mlc_graph *constant_graph) {
    if (!constant_graph) return (mlc_layers){0};
    mlc_graph *graph = (mlc_graph *)constant_graph;
    graph->layers.n = 0;
    mica_status status = mlc_graph_collect(graph, &graph->layers);
    if (status) graph->layers.n = 0;
    mica_status_release(status);
    for (int32_t i = 0; i < graph->layers.n; i++)
        graph->layers.data[i] = ((mlc_node *)graph->layers.data[i])->layer;
    return (mlc_layers){(mlc_layer *const *)graph->layers.data, graph->layers.n};
}

mlc_tensors mlc_graph_source_tensors(const mlc_graph *graph, const mlc_layer *layer) {
    if (!graph) return (mlc_tensors){0};
    mlc_node *node = mlc_graph_find_node(graph, layer);
    return node ? (mlc_tensors){node->sources, node->n_sources} : MLC_NO_LIST;
}

mlc_tensors mlc_graph_result_tensors(const mlc_graph *graph, const mlc_layer *layer) {
    if (!graph) return (mlc_tensors){0};
    mlc_node *node = mlc_graph_find_node(graph, layer);
    return node ? (mlc_tensors){node->results, node->n_results} : MLC_NO_LIST;
}

double mlc_graph_layer_seconds(const mlc_graph *graph, const mlc_layer *layer) {
    if (!graph) return 0;
    mlc_node *node = mlc_graph_find_node(graph, layer);
    mlc_lock();
    double seconds = node ? node->seconds : 0;
    mlc_unlock();
    return seconds;
}

/* ---- adding layers ----------------------------------------------------------------------------*/

static mica_status add(mlc_graph *graph, mlc_layer *layer, mlc_tensors sources, mlc_tensors labels,
                       bool disable_update, mlc_tensor **out_result) {
    mlc_node *node = NULL;
    *out_result = NULL;
    MICA_TRY(mlc_graph_add(graph, layer, sources, labels, disable_update, &node));
    *out_result = node->results[0];
    return NULL;
}

mica_status mlc_graph_node(mlc_graph *graph, mlc_layer *layer, mlc_tensors sources,
                           mlc_tensor **out_result) {
    MICA_GIVEN(graph, out_result);
    return add(graph, layer, sources, MLC_NO_LIST, false, out_result);
}

mica_status mlc_graph_node_disable_update(mlc_graph *graph, mlc_layer *layer, mlc_tensors sources,
                                          bool disable_update, mlc_tensor **out_result) {
    MICA_GIVEN(graph, out_result);
    return add(graph, layer, sources, MLC_NO_LIST, disable_update, out_result);
}

mica_status mlc_graph_node_loss(mlc_graph *graph, mlc_layer *layer, mlc_tensors sources,
                                mlc_tensors loss_labels, mlc_tensor **out_result) {
    MICA_GIVEN(out_result);
    *out_result = NULL;
    if (layer && !mlc_layer_is_loss(layer))
        return MICA_INVALID("[%s] only loss layers take labels", mlc_layer_label(layer));
    if (layer && loss_labels.n < 1)
        return MICA_INVALID("[%s] the list of loss labels is empty", mlc_layer_label(layer));
    return add(graph, layer, sources, loss_labels, false, out_result);
}

/* A node with a layer of its own. */
static mica_status add_own(mlc_graph *graph, mica_status status, mlc_layer *layer,
                           mlc_tensors sources, mlc_tensor **out_result, mlc_tensors *out_results) {
    mlc_node *node = NULL;
    if (out_result) *out_result = NULL;
    if (out_results) *out_results = MLC_NO_LIST;
    if (!status) status = mlc_graph_add(graph, layer, sources, MLC_NO_LIST, false, &node);
    mlc_layer_release(layer);
    if (status) return status;
    if (out_result) *out_result = node->results[0];
    if (out_results) *out_results = (mlc_tensors){node->results, node->n_results};
    return NULL;
}

mica_status mlc_graph_split(mlc_graph *graph, mlc_tensor *source, int64_t count, int64_t dimension,
                            mlc_tensors *out_results) {
    MICA_GIVEN(graph);
    mlc_layer *layer = NULL;
    mica_status status = mlc_split_layer_create(count, dimension, &layer);
    return add_own(graph, status, layer, MLC_TENSORS(source), NULL, out_results);
}

mica_status mlc_graph_split_sections(mlc_graph *graph, mlc_tensor *source, mica_ints lengths,
                                     int64_t dimension, mlc_tensors *out_results) {
    MICA_GIVEN(graph, MICA_ARRAY(lengths));
    mlc_layer *layer = NULL;
    mica_status status = mlc_split_layer_create_sections(lengths, dimension, &layer);
    return add_own(graph, status, layer, MLC_TENSORS(source), NULL, out_results);
}

mica_status mlc_graph_concatenate(mlc_graph *graph, mlc_tensors sources, int64_t dimension,
                                  mlc_tensor **out_result) {
    MICA_GIVEN(graph, MICA_ARRAY(sources));
    mlc_layer *layer = NULL;
    mica_status status = mlc_concatenation_layer_create_dimension(dimension, &layer);
    return add_own(graph, status, layer, sources, out_result, NULL);
}

mica_status mlc_graph_reshape(mlc_graph *graph, mica_ints shape, mlc_tensor *source,
                              mlc_tensor **out_result) {
    MICA_GIVEN(graph, MICA_ARRAY(shape));
    mlc_layer *layer = NULL;
    mica_status status = mlc_reshape_layer_create(shape, &layer);
    return add_own(graph, status, layer, MLC_TENSORS(source), out_result, NULL);
}

mica_status mlc_graph_transpose(mlc_graph *graph, mica_ints dimensions, mlc_tensor *source,
                                mlc_tensor **out_result) {
    MICA_GIVEN(MICA_ARRAY(dimensions));
    mlc_layer *layer = NULL;
    mica_status status = mlc_transpose_layer_create(dimensions, &layer);
    return add_own(graph, status, layer, MLC_TENSORS(source), out_result, NULL);
}

mica_status mlc_graph_select(mlc_graph *graph, mlc_tensors sources, mlc_tensor *condition,
                             mlc_tensor **out_result) {
    MICA_GIVEN(out_result);
    mlc_layer *layer = NULL;
    *out_result = NULL;
    if (sources.n != 2) return MICA_INVALID("[Selection] between 2 sources, not %d", sources.n);
    mica_status status = mlc_selection_layer_create(&layer);
    return add_own(graph, status, layer, MLC_TENSORS(condition, sources.data[0], sources.data[1]),
                   out_result, NULL);
}

mica_status mlc_graph_scatter(mlc_graph *graph, int64_t dimension, mlc_tensor *source,
                              mlc_tensor *indices, mlc_tensor *copy_from,
                              mlc_reduction_type reduction, mlc_tensor **out_result) {
    MICA_GIVEN(graph);
    mlc_layer *layer = NULL;
    mica_status status = mlc_scatter_layer_create(dimension, reduction, &layer);
    return add_own(graph, status, layer, MLC_TENSORS(source, indices, copy_from), out_result, NULL);
}

mica_status mlc_graph_gather(mlc_graph *graph, int64_t dimension, mlc_tensor *source,
                             mlc_tensor *indices, mlc_tensor **out_result) {
    MICA_GIVEN(graph);
    mlc_layer *layer = NULL;
    mica_status status = mlc_gather_layer_create(dimension, &layer);
    return add_own(graph, status, layer, MLC_TENSORS(source, indices), out_result, NULL);
}
