/* Inference and training graphs: what they wrap, and what is declared about them. */
#include "mlc/graph.h"

#include <string.h>

/* ---- names ------------------------------------------------------------------------------------*/

mlc_declaration *mlc_declarations_find(const mlc_declarations *list, const char *name) {
    for (int32_t i = 0; name && i < list->n; i++)
        if (strcmp(list->data[i].name, name) == 0) return &list->data[i];
    return NULL;
}

bool mlc_declarations_have(const mlc_declarations *list, const mlc_tensor *tensor) {
    for (int32_t i = 0; i < list->n; i++)
        if (list->data[i].tensor == tensor) return true;
    return false;
}

bool mlc_graph_declares(const mlc_graph *graph, const mlc_tensor *tensor) {
    return mlc_declarations_have(&graph->inputs, tensor) ||
           mlc_declarations_have(&graph->labels, tensor) ||
           mlc_declarations_have(&graph->label_weights, tensor);
}

mica_status mlc_declarations_add(mlc_declarations *list, const char *name, mlc_tensor *tensor,
                                 const char *where) {
    if (!name || !*name) return MICA_INVALID("[%s] a name is empty", where);
    if (!tensor) return MICA_INVALID("[%s] the tensor of '%s' is NULL", where, name);
    mlc_declaration *old = mlc_declarations_find(list, name);
    if (old && old->tensor == tensor) return NULL;
    if (old) return MICA_INVALID("[%s] '%s' is already the name of another tensor", where, name);
    if (list->n == list->capacity) {
        int32_t capacity = list->capacity ? 2 * list->capacity : 8;
        mlc_declaration *grown = mica_realloc(list->data, (size_t)capacity * sizeof *grown);
        if (!grown) return MICA_NO_MEMORY();
        list->data = grown;
        list->capacity = capacity;
    }
    char *copy = mica_strdup(name);
    if (!copy) return MICA_NO_MEMORY();
    mlc_tensor_retain(tensor);
    list->data[list->n++] = (mlc_declaration){copy, tensor};
    return NULL;
}

/* Takes back what was added after the first n. */
static void cut_off(mlc_declarations *list, int32_t n) {
    while (list->n > n) {
        mlc_declaration *last = &list->data[--list->n];
        mlc_tensor_release(last->tensor);
        mica_free(last->name);
    }
}

void mlc_declarations_deinit(mlc_declarations *list) {
    cut_off(list, 0);
    mica_free(list->data);
    *list = (mlc_declarations){NULL, 0, 0};
}

static mica_status add_all(mlc_declarations *list, mlc_named_tensors tensors, const char *where) {
    int32_t before = list->n;
    for (int32_t i = 0; i < tensors.n; i++) {
        mica_status status =
            mlc_declarations_add(list, tensors.data[i].name, tensors.data[i].tensor, where);
        if (!status) continue;
        cut_off(list, before);
        return status;
    }
    return NULL;
}

/* ---- creation ---------------------------------------------------------------------------------*/

mica_status mlc_graph_is(const mlc_graph *graph, mlc_graph_kind kind, const char *where) {
    static const char *const names[] = {"graph", "inference graph", "training graph"};
    if (!graph) return MICA_INVALID("[%s] the graph is NULL", where);
    if (graph->kind != kind)
        return MICA_INVALID("[%s] this is not a %s, but a %s", where, names[kind],
                            names[graph->kind]);
    return NULL;
}

static mica_status wrap(mlc_graphs graphs, mlc_graph_kind kind, mlc_graph **out_graph) {
    const char *where = kind == MLC_INFERENCE_GRAPH ? "inference graph" : "training graph";
    *out_graph = NULL;
    for (int32_t i = 0; i < graphs.n; i++)
        if (!graphs.data[i] || graphs.data[i]->kind != MLC_GRAPH)
            return MICA_INVALID("[%s] graph %d is %s", where, i,
                                graphs.data[i] ? "not a plain graph" : "NULL");
    MICA_TRY(mlc_graph_create(out_graph));
    mlc_graph *graph = *out_graph;
    graph->kind = kind;
    mica_status status = NULL;
    for (int32_t i = 0; i < graphs.n && !status; i++) {
        if (mlc_list_find(&graph->graphs, graphs.data[i]) >= 0) continue;
        status = mlc_list_add(&graph->graphs, graphs.data[i]);
        if (!status) mlc_graph_retain(graphs.data[i]);
    }
    if (status) {
        mlc_graph_release(graph);
        *out_graph = NULL;
    }
    return status;
}

mica_status mlc_inference_graph_create(mlc_graphs graphs, mlc_inference_graph **out_graph) {
    MICA_GIVEN(MICA_ARRAY(graphs), out_graph);
    return wrap(graphs, MLC_INFERENCE_GRAPH, out_graph);
}

/* The loss takes the last result of the graphs. */
static mica_status add_loss(mlc_graph *graph) {
    mlc_list nodes = {NULL, 0, 0};
    mica_status status = mlc_graph_collect(graph, &nodes);
    mlc_node *last = !status && nodes.n ? nodes.data[nodes.n - 1] : NULL, *loss = NULL;
    mlc_list_deinit(&nodes);
    if (status) return status;
    if (!last)
        return MICA_INVALID("[%s] the graphs have no layer whose result the loss could take",
                            mlc_layer_label(graph->loss_layer));
    return mlc_graph_add(graph, graph->loss_layer, MLC_TENSORS(last->results[0]), MLC_NO_LIST,
                         false, &loss);
}

mica_status mlc_training_graph_create(mlc_graphs graphs, mlc_layer *loss_layer,
                                      mlc_optimizer *optimizer, mlc_training_graph **out_graph) {
    MICA_GIVEN(out_graph);
    *out_graph = NULL;
    if (loss_layer && !mlc_layer_is_loss(loss_layer))
        return MICA_INVALID("[%s] the loss layer is not a loss", mlc_layer_label(loss_layer));
    MICA_TRY(wrap(graphs, MLC_TRAINING_GRAPH, out_graph));
    mlc_graph *graph = *out_graph;
    graph->optimizer = optimizer;
    if (optimizer) mlc_optimizer_retain(optimizer);
    mica_status status = NULL;
    if (loss_layer) {
        graph->loss_layer = loss_layer;
        mlc_layer_retain(loss_layer);
        status = add_loss(graph);
    }
    if (status) {
        mlc_graph_release(graph);
        *out_graph = NULL;
    }
    return status;
}

mlc_optimizer *mlc_training_graph_optimizer(const mlc_training_graph *graph) {
    if (!graph) return NULL;
    return graph->optimizer;
}

/* ---- inputs and outputs -----------------------------------------------------------------------*/

static mica_status check_open(const mlc_graph *graph, const char *where) {
    if (!graph->is_frozen) return NULL;
    return MLC_FAILED("[%s] the graph is compiled: this cannot be declared any more", where);
}

static mica_status add_inputs(mlc_graph *graph, mlc_named_tensors inputs, mlc_named_tensors labels,
                              mlc_named_tensors weights) {
    MICA_TRY(check_open(graph, "add inputs"));
    for (int32_t i = 0; i < inputs.n; i++)
        if (inputs.data[i].tensor && mlc_graph_find_producer(graph, inputs.data[i].tensor))
            return MICA_INVALID("[add inputs] '%s' is a result of the graph, not an input",
                                inputs.data[i].name ? inputs.data[i].name : "");
    int32_t n_inputs = graph->inputs.n, n_labels = graph->labels.n;
    MICA_TRY(add_all(&graph->inputs, inputs, "add inputs"));
    mica_status status = add_all(&graph->labels, labels, "add inputs");
    if (!status) status = add_all(&graph->label_weights, weights, "add inputs");
    if (status) {
        cut_off(&graph->inputs, n_inputs);
        cut_off(&graph->labels, n_labels);
    }
    return status;
}

mica_status mlc_inference_graph_add_inputs(mlc_inference_graph *graph, mlc_named_tensors inputs,
                                           mlc_named_tensors loss_labels,
                                           mlc_named_tensors loss_label_weights) {
    MICA_GIVEN(MICA_ARRAY(inputs), MICA_ARRAY(loss_labels), MICA_ARRAY(loss_label_weights));
    MICA_TRY(mlc_graph_is(graph, MLC_INFERENCE_GRAPH, "add inputs"));
    return add_inputs(graph, inputs, loss_labels, loss_label_weights);
}

mica_status mlc_training_graph_add_inputs(mlc_training_graph *graph, mlc_named_tensors inputs,
                                          mlc_named_tensors loss_labels,
                                          mlc_named_tensors loss_label_weights) {
    MICA_GIVEN(MICA_ARRAY(inputs), MICA_ARRAY(loss_labels), MICA_ARRAY(loss_label_weights));
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "add inputs"));
    return add_inputs(graph, inputs, loss_labels, loss_label_weights);
}

static mica_status add_outputs(mlc_graph *graph, mlc_named_tensors outputs) {
    MICA_TRY(check_open(graph, "add outputs"));
    for (int32_t i = 0; i < outputs.n; i++)
        if (outputs.data[i].tensor && !mlc_graph_find_producer(graph, outputs.data[i].tensor))
            return MICA_INVALID("[add outputs] '%s' is no result of the graph",
                                outputs.data[i].name ? outputs.data[i].name : "");
    return add_all(&graph->outputs, outputs, "add outputs");
}

mica_status mlc_inference_graph_add_outputs(mlc_inference_graph *graph, mlc_named_tensors outputs) {
    MICA_GIVEN(MICA_ARRAY(outputs));
    MICA_TRY(mlc_graph_is(graph, MLC_INFERENCE_GRAPH, "add outputs"));
    return add_outputs(graph, outputs);
}

mica_status mlc_training_graph_add_outputs(mlc_training_graph *graph, mlc_named_tensors outputs) {
    MICA_GIVEN(MICA_ARRAY(outputs));
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "add outputs"));
    return add_outputs(graph, outputs);
}

mica_status mlc_training_graph_stop_gradient(mlc_training_graph *graph, mlc_tensors tensors) {
    MICA_GIVEN(MICA_ARRAY(tensors));
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "stop gradient"));
    MICA_TRY(check_open(graph, "stop gradient"));
    for (int32_t i = 0; i < tensors.n; i++) {
        if (!tensors.data[i]) return MICA_INVALID("[stop gradient] tensor %d is NULL", i);
        if (mlc_list_find(&graph->stopped, tensors.data[i]) >= 0) continue;
        MICA_TRY(mlc_list_add(&graph->stopped, tensors.data[i]));
        mlc_tensor_retain(tensors.data[i]);
    }
    return NULL;
}

mica_status mlc_training_graph_set_training_parameters(mlc_training_graph *graph,
                                                       mlc_parameters parameters) {
    MICA_GIVEN(MICA_ARRAY(parameters));
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "training parameters"));
    MICA_TRY(check_open(graph, "training parameters"));
    for (int32_t i = 0; i < parameters.n; i++) {
        const mlc_tensor_parameter *p = parameters.data[i];
        if (!p) return MICA_INVALID("[training parameters] parameter %d is NULL", i);
        if (!mlc_data_type_is_float(p->tensor->descriptor->data_type))
            return MICA_INVALID("[training parameters] '%s' is %s; only Float32 and Float16 can be "
                                "trained",
                                mlc_tensor_label(p->tensor),
                                mlc_data_type_description(p->tensor->descriptor->data_type));
        if (mlc_graph_find_producer(graph, p->tensor))
            return MICA_INVALID("[training parameters] '%s' is a result of the graph",
                                mlc_tensor_label(p->tensor));
    }
    for (int32_t i = 0; i < parameters.n; i++) {
        if (mlc_list_find(&graph->trained, parameters.data[i]) >= 0) continue;
        MICA_TRY(mlc_list_add(&graph->trained, parameters.data[i]));
        mlc_tensor_parameter_retain(parameters.data[i]);
    }
    return NULL;
}

/* ---- gradient tensors -------------------------------------------------------------------------*/

mica_status mlc_graph_gradient_of(mlc_graph *graph, mlc_tensor *tensor, const mlc_node *node,
                                  bool is_user, mlc_gradient **out_gradient) {
    for (int32_t i = 0; i < graph->n_gradients; i++)
        if (graph->gradients[i].of == tensor && graph->gradients[i].node == node &&
            graph->gradients[i].is_user == is_user) {
            *out_gradient = &graph->gradients[i];
            return NULL;
        }
    *out_gradient = NULL;
    if (!mlc_data_type_is_float(tensor->descriptor->data_type))
        return MICA_INVALID("[gradient] '%s' is %s: it has no gradient", mlc_tensor_label(tensor),
                            mlc_data_type_description(tensor->descriptor->data_type));
    if (graph->n_gradients == graph->gradients_capacity) {
        int32_t capacity = graph->gradients_capacity ? 2 * graph->gradients_capacity : 8;
        mlc_gradient *grown = mica_realloc(graph->gradients, (size_t)capacity * sizeof *grown);
        if (!grown) return MICA_NO_MEMORY();
        graph->gradients = grown;
        graph->gradients_capacity = capacity;
    }
    mlc_tensor *gradient = NULL;
    MICA_TRY(mlc_tensor_create(tensor->descriptor, &gradient));
    graph->gradients[graph->n_gradients] = (mlc_gradient){tensor, gradient, node, is_user, false};
    *out_gradient = &graph->gradients[graph->n_gradients++];
    return NULL;
}

static bool is_in_graph(const mlc_graph *graph, const mlc_tensor *tensor) {
    if (mlc_graph_find_producer(graph, tensor)) return true;
    mlc_list nodes = {NULL, 0, 0};
    bool found = false;
    mica_status_release(mlc_graph_collect(graph, &nodes));
    for (int32_t i = 0; i < nodes.n && !found; i++) {
        const mlc_node *node = nodes.data[i];
        for (int32_t k = 0; k < node->n_sources; k++) found |= node->sources[k] == tensor;
    }
    mlc_list_deinit(&nodes);
    return found;
}

/* Asks for a gradient to be computed; programs that do not are dropped. */
static mica_status want(mlc_graph *graph, mlc_tensor *tensor, const mlc_node *node,
                        mlc_tensor **out_gradient) {
    mlc_gradient *gradient = NULL;
    mlc_lock();
    mica_status status = mlc_graph_gradient_of(graph, tensor, node, false, &gradient);
    if (!status && !gradient->is_wanted) {
        gradient->is_wanted = true;
        mlc_graph_drop_programs(graph);
    }
    mlc_unlock();
    if (!status) *out_gradient = gradient->gradient;
    return status;
}

mica_status mlc_training_graph_gradient_tensor(mlc_training_graph *graph, mlc_tensor *input,
                                               mlc_tensor **out_gradient) {
    MICA_GIVEN(out_gradient);
    *out_gradient = NULL;
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "gradient tensor"));
    if (!input) return MICA_INVALID("[gradient tensor] the tensor is NULL");
    if (!is_in_graph(graph, input))
        return MICA_INVALID("[gradient tensor] '%s' is not in the graph", mlc_tensor_label(input));
    return want(graph, input, NULL, out_gradient);
}

/* The list is kept by the graph as long as it lives: a node's gradients are made together. */
static mica_status want_all(mlc_graph *graph, const mlc_layer *layer, bool of_results,
                            mlc_tensors *out_gradients) {
    *out_gradients = MLC_NO_LIST;
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "gradient tensors"));
    mlc_node *node = layer ? mlc_graph_find_node(graph, layer) : NULL;
    if (!node)
        return MICA_INVALID("[%s] the layer is not in the graph",
                            layer ? mlc_layer_label(layer) : "gradient tensors");
    mlc_list *list = of_results ? &node->result_gradients : &node->source_gradients;
    int32_t n = of_results ? node->n_results : node->n_sources;
    mlc_tensor **tensors = of_results ? node->results : node->sources;
    list->n = 0;
    for (int32_t i = 0; i < n; i++) {
        if (!mlc_data_type_is_float(tensors[i]->descriptor->data_type)) continue;
        mlc_tensor *gradient = NULL;
        MICA_TRY(want(graph, tensors[i], of_results ? NULL : node, &gradient));
        MICA_TRY(mlc_list_add(list, gradient));
    }
    *out_gradients = (mlc_tensors){(mlc_tensor *const *)list->data, list->n};
    return NULL;
}

mica_status mlc_training_graph_source_gradient_tensors(mlc_training_graph *graph,
                                                       const mlc_layer *layer,
                                                       mlc_tensors *out_gradients) {
    MICA_GIVEN(out_gradients);
    return want_all(graph, layer, false, out_gradients);
}

mica_status mlc_training_graph_result_gradient_tensors(mlc_training_graph *graph,
                                                       const mlc_layer *layer,
                                                       mlc_tensors *out_gradients) {
    MICA_GIVEN(out_gradients);
    return want_all(graph, layer, true, out_gradients);
}

mica_status mlc_training_graph_allocate_user_gradient(mlc_training_graph *graph, mlc_tensor *tensor,
                                                      mlc_tensor **out_gradient) {
    MICA_GIVEN(out_gradient);
    mlc_gradient *gradient = NULL;
    *out_gradient = NULL;
    MICA_TRY(mlc_graph_is(graph, MLC_TRAINING_GRAPH, "user gradient"));
    if (!tensor || !mlc_graph_find_producer(graph, tensor))
        return MICA_INVALID("[user gradient] '%s' is no result of the graph",
                            tensor ? mlc_tensor_label(tensor) : "NULL");
    mlc_lock();
    int32_t before = graph->n_gradients;
    mica_status status = mlc_graph_gradient_of(graph, tensor, NULL, true, &gradient);
    if (graph->n_gradients > before) mlc_graph_drop_programs(graph);
    mlc_unlock();
    if (!status) *out_gradient = gradient->gradient;
    return status;
}
