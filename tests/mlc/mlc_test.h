/* What the tests of mlc/ share. */
#ifndef MICA_TESTS_MLC_TEST_H
#define MICA_TESTS_MLC_TEST_H

#include <mica/mica.h>

#include "test.h"

#define F32 MLC_DATA_TYPE_FLOAT32

static inline mlc_device *cpu(void) {
    mlc_device *device = NULL;
    CHECK_OK(mlc_device_cpu(&device));
    return device;
}

static inline mlc_tensor_data *data_of(void *bytes, size_t length) {
    mlc_tensor_data *data = NULL;
    CHECK_OK(mlc_tensor_data_create(bytes, length, &data));
    return data;
}

/* A tensor without data. */
static inline mlc_tensor *empty(mica_ints shape) {
    mlc_tensor *t = NULL;
    CHECK_OK(mlc_tensor_with_shape(shape, F32, &t));
    return t;
}

/* A tensor that views the caller's floats. */
static inline mlc_tensor *viewing(mica_ints shape, float *numbers) {
    mlc_tensor *t = NULL;
    size_t bytes = sizeof *numbers;
    for (int32_t i = 0; i < shape.n; i++) bytes *= (size_t)shape.data[i];
    mlc_tensor_data *data = data_of(numbers, bytes);
    CHECK_OK(mlc_tensor_with_shape_data(shape, data, F32, &t));
    mlc_tensor_data_release(data);
    return t;
}

/* A tensor filled with numbers of its own. */
static inline mlc_tensor *filled(mica_ints shape, double value) {
    mlc_tensor *t = NULL;
    CHECK_OK(mlc_tensor_with_shape_filled(shape, value, F32, &t));
    return t;
}

static inline mlc_graph *new_graph(void) {
    mlc_graph *graph = NULL;
    CHECK_OK(mlc_graph_create(&graph));
    return graph;
}

/* Adds a layer, which the graph then holds alone; NULL after a failure. */
static inline mlc_tensor *add(mlc_graph *graph, mlc_layer *layer, mlc_tensors sources) {
    mlc_tensor *result = NULL;
    CHECK_OK(mlc_graph_node(graph, layer, sources, &result));
    mlc_layer_release(layer);
    return result;
}

static inline mlc_layer *arithmetic(mlc_arithmetic_operation operation) {
    mlc_layer *layer = NULL;
    CHECK_OK(mlc_arithmetic_layer_create(operation, &layer));
    return layer;
}

/* The first n floats of a tensor, as the device has them. */
static inline void read_floats(mlc_tensor *t, float *out, size_t n) {
    for (size_t i = 0; i < n; i++) out[i] = NAN;
    CHECK_OK(mlc_tensor_copy_data(t, out, n * sizeof *out, true));
}

static inline mlc_optimizer *sgd(float rate) {
    mlc_optimizer *optimizer = NULL;
    mlc_optimizer_descriptor d = mlc_optimizer_descriptor_make(rate, 1, MLC_REGULARIZATION_NONE, 0);
    CHECK_OK(mlc_sgd_optimizer_create_default(&d, &optimizer));
    return optimizer;
}

static inline mlc_layer *mse(mlc_reduction_type reduction) {
    mlc_layer *layer = NULL;
    CHECK_OK(mlc_loss_layer_mean_squared_error(reduction, 1, NULL, &layer));
    return layer;
}

#endif
