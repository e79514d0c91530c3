/* mica/mlc.h: ML Compute in C. Tensors, layers, graphs of layers, inference and training graphs.
 *
 * A program builds a mlc_graph of layers, wraps it in an inference or a training graph, declares
 * inputs, labels and outputs by name, compiles for a device and executes with data by name.
 *
 * Objects are reference-counted: what a *_create function or an `out` parameter gives is a new
 * reference, released by its *_release; a list or object that a plain getter returns is borrowed.
 * The tensors that a graph makes (results, gradients) belong to the graph: they are borrowed, and
 * live as long as it does. A graph holds the layers and tensors it is given. Descriptors are plain
 * structs made by *_make functions, which fill in the defaults; layers check them.
 *
 * Data is never copied on its way in: a mlc_tensor_data is a view of the caller's memory, which
 * must stay alive and unchanged while executions use it. A device that computes on the host reads
 * it in place. Results are written to the caller's memory by `outputs`,
 * mlc_tensor_synchronize_data, mlc_tensor_copy_data and mlc_training_graph_synchronize_updates.
 *
 * Executions are asynchronous unless MLC_EXECUTION_SYNCHRONOUS is given: they run in the order they
 * were started, and a completion handler is called on a thread of the library, under no lock; it
 * may use the library, start executions and wait for them. Any thread may use any object; building
 * and compiling one graph is for one thread at a time. The same program gives the same bits every
 * time.
 *
 * Layout: images are (batch, channels, height, width). Pairs such as kernel sizes, strides,
 * dilation rates and padding sizes are [y, x]. Convolution weights are [1, out * in, height, width]
 * with the elements in the order out, in / groups, height, width (of a transposed convolution: in,
 * out / groups, height, width); biases, beta, gamma, mean and variance [1, channels, 1, 1]. Any
 * shape with as many elements will do.
 *
 * Done differently from the original, because that is right: Glorot and Xavier look at fan-in and
 * fan-out; a reshape must keep the number of elements; weights that do not fit are an error; copies
 * of descriptors are complete; compiling an empty graph is an error, not an exception.
 *
 * Each declaration names what it stands for in the original: "@mlc Class member ...", a member
 * being .property, +classMethod, -method or the name of an enum's value; docs/mlcompute.md is made
 * from it.
 *
 * @example
 *     mlc_device *device = NULL;
 *     mlc_tensor *a = NULL, *b = NULL, *sum = NULL;
 *     mlc_layer *add = NULL;
 *     mlc_graph *graph = NULL, *inference = NULL;
 *     mlc_tensor_data *data = NULL;
 *     float numbers[3] = {1, 2, 3}, result[3] = {0};
 *     mica_status status = mlc_device_cpu(&device);
 *     if (!status) status = mlc_tensor_with_shape(MICA_INTS(3), MLC_DATA_TYPE_FLOAT32, &a);
 *     if (!status) status = mlc_tensor_with_shape(MICA_INTS(3), MLC_DATA_TYPE_FLOAT32, &b);
 *     if (!status) status = mlc_arithmetic_layer_create(MLC_ARITHMETIC_OPERATION_ADD, &add);
 *     if (!status) status = mlc_graph_create(&graph);
 *     if (!status) status = mlc_graph_node(graph, add, MLC_TENSORS(a, b), &sum);
 *     if (!status) status = mlc_inference_graph_create(MLC_GRAPHS(graph), &inference);
 *     if (!status) status = mlc_inference_graph_add_inputs(
 *         inference, MLC_NAMED_TENSORS({"a", a}, {"b", b}), MLC_NO_TENSORS, MLC_NO_TENSORS);
 *     if (!status) status = mlc_inference_graph_compile(inference, MLC_COMPILATION_NONE, device);
 *     if (!status) status = mlc_tensor_data_create(numbers, sizeof numbers, &data);
 *     if (!status) {
 *         mlc_execution execution = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
 *         execution.inputs = MLC_NAMED_DATA({"a", data}, {"b", data});
 *         status = mlc_inference_graph_execute(inference, &execution);
 *     }
 *     if (!status) status = mlc_tensor_copy_data(sum, result, sizeof result, true);
 *     printf("%g %g %g\n", result[0], result[1], result[2]);
 *     mlc_tensor_data_release(data);
 *     mlc_graph_release(inference);
 *     mlc_graph_release(graph);
 *     mlc_layer_release(add);
 *     mlc_tensor_release(a);
 *     mlc_tensor_release(b);
 *     mlc_device_release(device);
 * @end
 */
#ifndef MICA_MLC_H
#define MICA_MLC_H

#include "mlc_descriptors.h"
#include "mlc_layers.h"
#include "mlc_tensor.h"
#include "mlc_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- graphs -----------------------------------------------------------------------------------
 * Result tensors are borrowed from the graph. */

/* @mlc MLCGraph +graph */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_create(mlc_graph **out_graph);
MICA_API void mlc_graph_retain(mlc_graph *graph);
MICA_API void mlc_graph_release(mlc_graph *graph);
/* NULL before it was compiled; borrowed. @mlc MLCGraph .device */
MICA_API mlc_device *mlc_graph_device(const mlc_graph *graph);
/* In the order they were added; of a wrapping graph: those of the graphs in it first.
 * @mlc MLCGraph .layers */
MICA_API mlc_layers mlc_graph_layers(const mlc_graph *graph);
/* In the DOT language, a box per layer; an edge whose gradient is stopped is dashed. Free with
 * mica_string_free. @mlc MLCGraph .summarizedDOTDescription */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_dot_description(const mlc_graph *graph,
                                                               char **out_text);
/* Adds a layer and gives its first result; sizes are checked at once.
 * @mlc MLCGraph -nodeWithLayer:source: -nodeWithLayer:sources: */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_node(mlc_graph *graph, mlc_layer *layer,
                                                    mlc_tensors sources, mlc_tensor **out_result);
/* With disable_update the layer's parameters are not trained.
 * @mlc MLCGraph -nodeWithLayer:sources:disableUpdate: */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_node_disable_update(mlc_graph *graph,
                                                                   mlc_layer *layer,
                                                                   mlc_tensors sources,
                                                                   bool disable_update,
                                                                   mlc_tensor **out_result);
/* A loss layer with its labels [and label weights].
 * @mlc MLCGraph -nodeWithLayer:sources:lossLabels: */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_node_loss(mlc_graph *graph, mlc_layer *layer,
                                                         mlc_tensors sources,
                                                         mlc_tensors loss_labels,
                                                         mlc_tensor **out_result);
/* All the parts. @mlc MLCGraph -splitWithSource:splitCount:dimension: */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_split(mlc_graph *graph, mlc_tensor *source,
                                                     int64_t count, int64_t dimension,
                                                     mlc_tensors *out_results);
/* @mlc MLCGraph -splitWithSource:splitSectionLengths:dimension: */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_split_sections(mlc_graph *graph, mlc_tensor *source,
                                                              mica_ints lengths, int64_t dimension,
                                                              mlc_tensors *out_results);
/* @mlc MLCGraph -concatenateWithSources:dimension: */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_concatenate(mlc_graph *graph, mlc_tensors sources,
                                                           int64_t dimension,
                                                           mlc_tensor **out_result);
/* @mlc MLCGraph -reshapeWithShape:source: */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_reshape(mlc_graph *graph, mica_ints shape,
                                                       mlc_tensor *source, mlc_tensor **out_result);
/* @mlc MLCGraph -transposeWithDimensions:source: */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_transpose(mlc_graph *graph, mica_ints dimensions,
                                                         mlc_tensor *source,
                                                         mlc_tensor **out_result);
/* sources: x, y. @mlc MLCGraph -selectWithSources:condition: */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_select(mlc_graph *graph, mlc_tensors sources,
                                                      mlc_tensor *condition,
                                                      mlc_tensor **out_result);
/* @mlc MLCGraph -scatterWithDimension:source:indices:copyFrom:reductionType: */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_scatter(mlc_graph *graph, int64_t dimension,
                                                       mlc_tensor *source, mlc_tensor *indices,
                                                       mlc_tensor *copy_from,
                                                       mlc_reduction_type reduction,
                                                       mlc_tensor **out_result);
/* @mlc MLCGraph -gatherWithDimension:source:indices: */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_gather(mlc_graph *graph, int64_t dimension,
                                                      mlc_tensor *source, mlc_tensor *indices,
                                                      mlc_tensor **out_result);
/* Binds data to tensors by name and writes it: before separate forward and gradient executions. A
 * batch size of 0 is the tensors'. inputs may name any tensor, gradient tensors too.
 * @mlc MLCGraph -bindAndWriteData:forInputs:toDevice:batchSize:synchronous:
 * @mlc MLCGraph -bindAndWriteData:forInputs:toDevice:synchronous: */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_bind_and_write(mlc_graph *graph, mlc_named_data data,
                                                              mlc_named_tensors inputs,
                                                              mlc_device *device,
                                                              int64_t batch_size, bool synchronous);
/* Borrowed; empty for a layer that is not in the graph. @mlc MLCGraph -sourceTensorsForLayer: */
MICA_API mlc_tensors mlc_graph_source_tensors(const mlc_graph *graph, const mlc_layer *layer);
/* @mlc MLCGraph -resultTensorsForLayer: */
MICA_API mlc_tensors mlc_graph_result_tensors(const mlc_graph *graph, const mlc_layer *layer);
/* Waits for all executions started on this graph, handlers included; answers the first error of an
 * asynchronous execution or of a handler since the last wait. */
MICA_API MICA_MUST_CHECK mica_status mlc_graph_wait(mlc_graph *graph);
/* The seconds a layer's forward pass alone took in the last execution with
 * MLC_EXECUTION_PER_LAYER_PROFILING; 0 without one. */
MICA_API double mlc_graph_layer_seconds(const mlc_graph *graph, const mlc_layer *layer);

/* Called once when an execution has ended. The result (the last layer's first, borrowed) is NULL
 * when there is an error (borrowed). seconds is 0 without MLC_EXECUTION_PROFILING. A status it
 * returns comes out of a synchronous execution, else of mlc_graph_wait; the graph stays usable.
 * What it reads of the graph's results (not of its parameters) is this execution's own, also when
 * later ones have been computed by then. */
typedef mica_status (*mlc_completion_handler)(void *context, mlc_tensor *result, mica_status error,
                                              double seconds);

/* What an execution takes; unused lists stay empty. */
typedef struct mlc_execution {
    size_t size;                /* sizeof(mlc_execution) */
    mlc_named_data inputs;      /* those that are not given again keep their data; all need some */
    mlc_named_data loss_labels; /* likewise */
    mlc_named_data loss_label_weights;
    mlc_named_data outputs;         /* where declared outputs are copied to; may be empty */
    int64_t batch_size;             /* 0: the tensors' */
    uint64_t options;               /* of mlc_execution_options */
    mlc_completion_handler handler; /* may be NULL */
    void *context;                  /* of the handler */
} mlc_execution;
MICA_API mlc_execution mlc_execution_make(uint64_t options);

/* ---- inference graphs -------------------------------------------------------------------------*/

/* @mlc MLCInferenceGraph +graphWithGraphObjects: */
MICA_API MICA_MUST_CHECK mica_status mlc_inference_graph_create(mlc_graphs graphs,
                                                                mlc_inference_graph **out_graph);
/* Names the tensors that executions get data for. Tensors with data of their own need not be named.
 * @mlc MLCInferenceGraph -addInputs: -addInputs:lossLabels:lossLabelWeights: */
MICA_API MICA_MUST_CHECK mica_status
mlc_inference_graph_add_inputs(mlc_inference_graph *graph, mlc_named_tensors inputs,
                               mlc_named_tensors loss_labels, mlc_named_tensors loss_label_weights);
/* Results that nothing consumes are outputs too. @mlc MLCInferenceGraph -addOutputs: */
MICA_API MICA_MUST_CHECK mica_status mlc_inference_graph_add_outputs(mlc_inference_graph *graph,
                                                                     mlc_named_tensors outputs);
/* @mlc MLCInferenceGraph -compileWithOptions:device: */
MICA_API MICA_MUST_CHECK mica_status mlc_inference_graph_compile(mlc_inference_graph *graph,
                                                                 uint64_t options,
                                                                 mlc_device *device);
/* The named inputs are constants from now on, and computed with at compile time.
 * @mlc MLCInferenceGraph -compileWithOptions:device:inputTensors:inputTensorsData: */
MICA_API MICA_MUST_CHECK mica_status mlc_inference_graph_compile_constants(
    mlc_inference_graph *graph, uint64_t options, mlc_device *device, mlc_named_tensors inputs,
    mlc_named_data data);
/* Tensors that pass between these graphs stay on the device: a result of one that is an input of
 * another needs no data. All must have been compiled with MLC_COMPILATION_LINK_GRAPHS for one
 * device.
 * @mlc MLCInferenceGraph -linkWithGraphs: */
MICA_API MICA_MUST_CHECK mica_status mlc_inference_graph_link(mlc_inference_graph *graph,
                                                              mlc_graphs graphs);
/* @mlc MLCInferenceGraph -executeWithInputsData:batchSize:options:completionHandler:
 * @mlc MLCInferenceGraph -executeWithInputsData:outputsData:batchSize:options:completionHandler:
 * @mlc MLCInferenceGraph
 *      -executeWithInputsData:lossLabelsData:lossLabelWeightsData:batchSize:options:completionHandler:
 * @mlc MLCInferenceGraph
 *      -executeWithInputsData:lossLabelsData:lossLabelWeightsData:outputsData:batchSize:options:completionHandler:
 */
MICA_API MICA_MUST_CHECK mica_status mlc_inference_graph_execute(mlc_inference_graph *graph,
                                                                 const mlc_execution *execution);
/* Bytes of all intermediate values of what was compiled so far.
 * @mlc MLCInferenceGraph .deviceMemorySize */
MICA_API size_t mlc_inference_graph_device_memory_size(const mlc_inference_graph *graph);

/* ---- training graphs --------------------------------------------------------------------------*/

/* loss_layer (may be NULL: a node is the loss, or gradients are given) takes the last result of the
 * graphs and the declared labels; optimizer may be NULL: mlc_training_graph_compile_optimizer.
 * @mlc MLCTrainingGraph +graphWithGraphObjects:lossLayer:optimizer: */
MICA_API MICA_MUST_CHECK mica_status mlc_training_graph_create(mlc_graphs graphs,
                                                               mlc_layer *loss_layer,
                                                               mlc_optimizer *optimizer,
                                                               mlc_training_graph **out_graph);
/* Borrowed. @mlc MLCTrainingGraph .optimizer */
MICA_API mlc_optimizer *mlc_training_graph_optimizer(const mlc_training_graph *graph);
/* @mlc MLCTrainingGraph -addInputs:lossLabels: -addInputs:lossLabels:lossLabelWeights: */
MICA_API MICA_MUST_CHECK mica_status
mlc_training_graph_add_inputs(mlc_training_graph *graph, mlc_named_tensors inputs,
                              mlc_named_tensors loss_labels, mlc_named_tensors loss_label_weights);
/* @mlc MLCTrainingGraph -addOutputs: */
MICA_API MICA_MUST_CHECK mica_status mlc_training_graph_add_outputs(mlc_training_graph *graph,
                                                                    mlc_named_tensors outputs);
/* No gradient flows back through these. @mlc MLCTrainingGraph -stopGradientForTensors: */
MICA_API MICA_MUST_CHECK mica_status mlc_training_graph_stop_gradient(mlc_training_graph *graph,
                                                                      mlc_tensors tensors);
/* Input tensors that the optimizer trains as well.
 * @mlc MLCTrainingGraph -setTrainingTensorParameters: */
MICA_API MICA_MUST_CHECK mica_status
mlc_training_graph_set_training_parameters(mlc_training_graph *graph, mlc_parameters parameters);
/* @mlc MLCTrainingGraph -compileWithOptions:device: */
MICA_API MICA_MUST_CHECK mica_status mlc_training_graph_compile(mlc_training_graph *graph,
                                                                uint64_t options,
                                                                mlc_device *device);
/* @mlc MLCTrainingGraph -compileWithOptions:device:inputTensors:inputTensorsData: */
MICA_API MICA_MUST_CHECK mica_status mlc_training_graph_compile_constants(mlc_training_graph *graph,
                                                                          uint64_t options,
                                                                          mlc_device *device,
                                                                          mlc_named_tensors inputs,
                                                                          mlc_named_data data);
/* Gives a graph its optimizer, or another one: its state starts anew.
 * @mlc MLCTrainingGraph -compileOptimizer: */
MICA_API MICA_MUST_CHECK mica_status mlc_training_graph_compile_optimizer(mlc_training_graph *graph,
                                                                          mlc_optimizer *optimizer);
/* As for inference graphs; and the gradient of such an input goes to the graph that made it when
 * that runs its gradient pass after this one. @mlc MLCTrainingGraph -linkWithGraphs: */
MICA_API MICA_MUST_CHECK mica_status mlc_training_graph_link(mlc_training_graph *graph,
                                                             mlc_graphs graphs);
/* The gradient with respect to an input; borrowed from the graph. It has data after the next
 * execution of a gradient pass; inputs of the first layers need
 * MLC_COMPILATION_COMPUTE_ALL_GRADIENTS. @mlc MLCTrainingGraph -gradientTensorForInput: */
MICA_API MICA_MUST_CHECK mica_status mlc_training_graph_gradient_tensor(mlc_training_graph *graph,
                                                                        mlc_tensor *input,
                                                                        mlc_tensor **out_gradient);
/* @mlc MLCTrainingGraph -sourceGradientTensorsForLayer: */
MICA_API MICA_MUST_CHECK mica_status mlc_training_graph_source_gradient_tensors(
    mlc_training_graph *graph, const mlc_layer *layer, mlc_tensors *out_gradients);
/* Data bound to the gradients of a result that nothing consumes, in a graph without a loss, is
 * where the gradient pass begins; ones when nothing is bound.
 * @mlc MLCTrainingGraph -resultGradientTensorsForLayer: */
MICA_API MICA_MUST_CHECK mica_status mlc_training_graph_result_gradient_tensors(
    mlc_training_graph *graph, const mlc_layer *layer, mlc_tensors *out_gradients);
/* Copies the gradient of a layer's parameter (or of a training parameter, with layer NULL) that the
 * last separate gradient pass computed; `length` must be the parameter's. Waits.
 * FAILED_PRECONDITION without such a pass. @mlc MLCTrainingGraph -gradientDataForParameter:layer:
 */
MICA_API MICA_MUST_CHECK mica_status mlc_training_graph_gradient_data(mlc_training_graph *graph,
                                                                      mlc_tensor *parameter,
                                                                      const mlc_layer *layer,
                                                                      void *bytes, size_t length);
/* For a result that code outside the graph goes on with: what is bound to the returned tensor is
 * added to the result's gradient in every gradient pass.
 * @mlc MLCTrainingGraph -allocateUserGradientForTensor: */
MICA_API MICA_MUST_CHECK mica_status mlc_training_graph_allocate_user_gradient(
    mlc_training_graph *graph, mlc_tensor *tensor, mlc_tensor **out_gradient);
/* Forward pass, gradient pass and update in one.
 * @mlc MLCTrainingGraph
 *      -executeWithInputsData:lossLabelsData:lossLabelWeightsData:batchSize:options:completionHandler:
 * @mlc MLCTrainingGraph
 *      -executeWithInputsData:lossLabelsData:lossLabelWeightsData:outputsData:batchSize:options:completionHandler:
 */
MICA_API MICA_MUST_CHECK mica_status mlc_training_graph_execute(mlc_training_graph *graph,
                                                                const mlc_execution *execution);
/* The forward pass alone; keeps what the gradient pass needs. Inputs may be bound before.
 * @mlc MLCTrainingGraph -executeForwardWithBatchSize:options:completionHandler:
 * @mlc MLCTrainingGraph -executeForwardWithBatchSize:options:outputsData:completionHandler: */
MICA_API MICA_MUST_CHECK mica_status
mlc_training_graph_execute_forward(mlc_training_graph *graph, const mlc_execution *execution);
/* After a forward pass, once.
 * @mlc MLCTrainingGraph -executeGradientWithBatchSize:options:completionHandler:
 * @mlc MLCTrainingGraph -executeGradientWithBatchSize:options:outputsData:completionHandler: */
MICA_API MICA_MUST_CHECK mica_status
mlc_training_graph_execute_gradient(mlc_training_graph *graph, const mlc_execution *execution);
/* Updates the parameters with the gradients of the last gradient pass.
 * @mlc MLCTrainingGraph -executeOptimizerUpdateWithOptions:completionHandler: */
MICA_API MICA_MUST_CHECK mica_status mlc_training_graph_execute_optimizer_update(
    mlc_training_graph *graph, const mlc_execution *execution);
/* Waits, and copies all parameters, running statistics and optimizer buffers with host data to the
 * host. @mlc MLCTrainingGraph -synchronizeUpdates */
MICA_API MICA_MUST_CHECK mica_status
mlc_training_graph_synchronize_updates(mlc_training_graph *graph);
/* Gives a parameter's optimizer buffers, before the first update (to go on from a checkpoint).
 * @mlc MLCTrainingGraph -bindOptimizerData:deviceData:withTensor: */
MICA_API MICA_MUST_CHECK mica_status
mlc_training_graph_bind_optimizer_data(mlc_training_graph *graph, mlc_data_list data,
                                       mlc_device_data_list device_data, mlc_tensor *tensor);
/* @mlc MLCTrainingGraph .deviceMemorySize */
MICA_API size_t mlc_training_graph_device_memory_size(const mlc_training_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
