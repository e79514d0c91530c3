#include "mnist_model.h"

#include <stdlib.h>
#include <string.h>

enum { KERNEL = 5, CHANNELS_1 = 16, CHANNELS_2 = 32, HIDDEN = 128 };

#define TRY(expr)                                                                                  \
    do {                                                                                           \
        mica_status try_status = (expr);                                                           \
        if (try_status) return try_status;                                                         \
    } while (0)

/* ---- weights ----------------------------------------------------------------------------------*/

static mica_status random_weights(int64_t kernel, int64_t in, int64_t out, mlc_tensor **tensor) {
    mlc_tensor_descriptor *d = NULL;
    TRY(mlc_tensor_descriptor_convolution_weights(kernel, kernel, in, out, MLC_DATA_TYPE_FLOAT32,
                                                  &d));
    mica_status status = mlc_tensor_create_random(d, MLC_RANDOM_INITIALIZER_GLOROT_UNIFORM, tensor);
    mlc_tensor_descriptor_release(d);
    return status;
}

/* Weights and biases of layer i. */
static mica_status make_weights(mnist_model *m, int i, int64_t kernel, int64_t in, int64_t out) {
    TRY(random_weights(kernel, in, out, &m->weights[2 * i]));
    return mlc_tensor_with_shape_filled(MICA_INTS(1, out, 1, 1), 0, MLC_DATA_TYPE_FLOAT32,
                                        &m->weights[2 * i + 1]);
}

/* ---- layers -----------------------------------------------------------------------------------*/

/* Adds a layer that the graph then holds alone. */
static mica_status add(mnist_model *m, mica_status status, mlc_layer *layer, mlc_tensor **x) {
    mlc_tensor *source = *x;
    if (!status) status = mlc_graph_node(m->layers, layer, MLC_TENSORS(source), x);
    mlc_layer_release(layer);
    return status;
}

static mica_status add_relu(mnist_model *m, mlc_tensor **x) {
    mlc_layer *layer = NULL;
    mica_status status = mlc_activation_layer_relu(&layer);
    return add(m, status, layer, x);
}

/* Convolution, relu, and pooling that leaves out an odd last row or column. */
static mica_status add_block(mnist_model *m, int i, int64_t in, int64_t out, mlc_tensor **x) {
    mlc_layer *layer = NULL;
    mlc_convolution_descriptor conv = mlc_convolution_descriptor_make(KERNEL, KERNEL, in, out);
    mlc_pooling_descriptor pool = mlc_pooling_descriptor_make_max(
        MICA_INTS(2, 2), MICA_INTS(2, 2), MICA_NO_INTS, MLC_PADDING_VALID, MICA_NO_INTS);
    TRY(make_weights(m, i, KERNEL, in, out));
    mica_status status =
        mlc_convolution_layer_create(m->weights[2 * i], m->weights[2 * i + 1], &conv, &layer);
    TRY(add(m, status, layer, x));
    TRY(add_relu(m, x));
    layer = NULL;
    status = mlc_pooling_layer_create(&pool, &layer);
    return add(m, status, layer, x);
}

static mica_status add_dense(mnist_model *m, int i, int64_t in, int64_t out, mlc_tensor **x) {
    mlc_layer *layer = NULL;
    mlc_convolution_descriptor d = mlc_convolution_descriptor_make(1, 1, in, out);
    TRY(make_weights(m, i, 1, in, out));
    mica_status status =
        mlc_fully_connected_layer_create(m->weights[2 * i], m->weights[2 * i + 1], &d, &layer);
    return add(m, status, layer, x);
}

static mica_status add_layers(mnist_model *m, int64_t rows, int64_t columns, mlc_tensor **x) {
    int64_t flat = (rows / 4) * (columns / 4) * CHANNELS_2;
    TRY(add_block(m, 0, 1, CHANNELS_1, x));
    TRY(add_block(m, 1, CHANNELS_1, CHANNELS_2, x));
    TRY(mlc_graph_reshape(m->layers, MICA_INTS(m->batch, flat), *x, x));
    TRY(add_dense(m, 2, flat, HIDDEN, x));
    TRY(add_relu(m, x));
    return add_dense(m, 3, HIDDEN, m->classes, x);
}

/* ---- graphs -----------------------------------------------------------------------------------*/

static mica_status make_training(mnist_model *m, mlc_layer *loss) {
    mlc_optimizer_descriptor d =
        mlc_optimizer_descriptor_make(1e-3f, 1, MLC_REGULARIZATION_NONE, 0);
    TRY(mlc_adam_optimizer_create_default(&d, &m->optimizer));
    TRY(mlc_training_graph_create(MLC_GRAPHS(m->layers), loss, m->optimizer, &m->training));
    TRY(mlc_training_graph_add_inputs(m->training, MLC_NAMED_TENSORS({"images", m->images}),
                                      MLC_NAMED_TENSORS({"labels", m->labels}), MLC_NO_TENSORS));
    mlc_tensors result = mlc_graph_result_tensors(m->training, loss);
    TRY(mlc_training_graph_add_outputs(m->training, MLC_NAMED_TENSORS({"loss", result.data[0]})));
    return mlc_training_graph_compile(m->training, MLC_COMPILATION_NONE, m->device);
}

static mica_status make_inference(mnist_model *m, mlc_tensor *scores) {
    mlc_layer *layer = NULL;
    mlc_tensor *guess = NULL;
    TRY(mlc_inference_graph_create(MLC_GRAPHS(m->layers), &m->inference));
    mica_status status = mlc_reduction_layer_create(MLC_REDUCTION_ARG_MAX, 1, &layer);
    if (!status) status = mlc_graph_node(m->inference, layer, MLC_TENSORS(scores), &guess);
    mlc_layer_release(layer);
    TRY(status);
    TRY(mlc_inference_graph_add_inputs(m->inference, MLC_NAMED_TENSORS({"images", m->images}),
                                       MLC_NO_TENSORS, MLC_NO_TENSORS));
    TRY(mlc_inference_graph_add_outputs(m->inference, MLC_NAMED_TENSORS({"guesses", guess})));
    return mlc_inference_graph_compile(m->inference, MLC_COMPILATION_NONE, m->device);
}

static mica_status make_data(mnist_model *m) {
    size_t images = (size_t)(m->batch * m->pixels) * sizeof *m->image_numbers;
    size_t labels = (size_t)(m->batch * m->classes) * sizeof *m->label_numbers;
    size_t guesses = (size_t)m->batch * sizeof *m->guesses;
    m->image_numbers = malloc(images);
    m->label_numbers = malloc(labels);
    m->guesses = malloc(guesses);
    if (!m->image_numbers || !m->label_numbers || !m->guesses)
        return mica_status_create(MICA_OUT_OF_MEMORY, "[mnist] out of memory");
    TRY(mlc_tensor_data_create(m->image_numbers, images, &m->image_data));
    TRY(mlc_tensor_data_create(m->label_numbers, labels, &m->label_data));
    return mlc_tensor_data_create(m->guesses, guesses, &m->guess_data);
}

mica_status mnist_model_create(mnist_model *m, const char *device, int64_t batch, int64_t rows,
                               int64_t columns, int64_t classes, uint64_t seed) {
    *m = (mnist_model){.batch = batch, .pixels = rows * columns, .classes = classes};
    mlc_platform_set_rng_seed(seed);
    TRY(strcmp(device, "gpu") == 0 ? mlc_device_gpu(&m->device)
                                   : mlc_device_named(device, &m->device));
    TRY(mlc_tensor_image(columns, rows, 1, batch, &m->images));
    TRY(mlc_tensor_with_shape(MICA_INTS(batch, classes), MLC_DATA_TYPE_FLOAT32, &m->labels));
    TRY(mlc_graph_create(&m->layers));
    mlc_tensor *x = m->images;
    TRY(add_layers(m, rows, columns, &x));
    mlc_layer *loss = NULL;
    mica_status status =
        mlc_loss_layer_softmax_cross_entropy(MLC_REDUCTION_MEAN, 0, classes, 1, NULL, &loss);
    if (!status) status = make_training(m, loss);
    mlc_layer_release(loss);
    TRY(status);
    TRY(make_inference(m, x));
    return make_data(m);
}

void mnist_model_release(mnist_model *m) {
    mlc_tensor_data_release(m->image_data);
    mlc_tensor_data_release(m->label_data);
    mlc_tensor_data_release(m->guess_data);
    mlc_graph_release(m->inference);
    mlc_graph_release(m->training);
    mlc_graph_release(m->layers);
    mlc_optimizer_release(m->optimizer);
    for (int i = 0; i < MNIST_WEIGHTS; i++) mlc_tensor_release(m->weights[i]);
    mlc_tensor_release(m->images);
    mlc_tensor_release(m->labels);
    mlc_device_release(m->device);
    free(m->image_numbers);
    free(m->label_numbers);
    free(m->guesses);
}

/* ---- execution --------------------------------------------------------------------------------*/

static void fill_image(mnist_model *m, int64_t i, const uint8_t *image) {
    float *to = m->image_numbers + i * m->pixels;
    for (int64_t k = 0; k < m->pixels; k++) to[k] = (float)image[k] / 255;
}

mica_status mnist_model_train(mnist_model *m, const uint8_t *images, const uint8_t *labels,
                              const int64_t *places, float rate, float *out_loss) {
    memset(m->label_numbers, 0, (size_t)(m->batch * m->classes) * sizeof *m->label_numbers);
    for (int64_t i = 0; i < m->batch; i++) {
        fill_image(m, i, images + places[i] * m->pixels);
        m->label_numbers[i * m->classes + labels[places[i]]] = 1;
    }
    mlc_tensor_data *loss = NULL;
    TRY(mlc_tensor_data_create(out_loss, sizeof *out_loss, &loss));
    mlc_optimizer_set_learning_rate(m->optimizer, rate);
    mlc_execution execution = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
    execution.inputs = MLC_NAMED_DATA({"images", m->image_data});
    execution.loss_labels = MLC_NAMED_DATA({"labels", m->label_data});
    execution.outputs = MLC_NAMED_DATA({"loss", loss});
    mica_status status = mlc_training_graph_execute(m->training, &execution);
    mlc_tensor_data_release(loss);
    return status;
}

mica_status mnist_model_score(mnist_model *m, const uint8_t *images, const uint8_t *labels,
                              int64_t n, int64_t *out_right) {
    *out_right = 0;
    for (int64_t i = 0; i < n; i++) fill_image(m, i, images + i * m->pixels);
    mlc_execution execution = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
    execution.inputs = MLC_NAMED_DATA({"images", m->image_data});
    execution.outputs = MLC_NAMED_DATA({"guesses", m->guess_data});
    execution.batch_size = n;
    TRY(mlc_inference_graph_execute(m->inference, &execution));
    for (int64_t i = 0; i < n; i++) *out_right += m->guesses[i] == labels[i];
    return NULL;
}

void mnist_shuffle(int64_t *places, int64_t n, uint64_t *state) {
    for (int64_t i = n - 1; i > 0; i--) {
        uint64_t z = *state += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        int64_t j = (int64_t)((z ^ z >> 31) % (uint64_t)(i + 1)), k = places[i];
        places[i] = places[j];
        places[j] = k;
    }
}
