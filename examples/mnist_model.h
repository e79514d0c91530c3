/* The convolutional net of the MNIST example, made of ML Compute's layers.
 *
 *     5x5 convolution, 16 channels, relu, 2x2 max pooling
 *     5x5 convolution, 32 channels, relu, 2x2 max pooling
 *     dense 128, relu, dense to one score per class; softmax cross entropy; Adam
 *
 * Everything random comes from one seed: weights are Glorot uniform in the order above (Philox, see
 * mlc_platform_set_rng_seed), the order of the images is mnist_shuffle's. */
#ifndef MNIST_MODEL_H
#define MNIST_MODEL_H

#include <mica/mlc.h>

enum { MNIST_WEIGHTS = 8 };

typedef struct mnist_model {
    int64_t batch, pixels, classes;
    mlc_device *device;
    mlc_tensor *images, *labels, *weights[MNIST_WEIGHTS];
    mlc_optimizer *optimizer;
    mlc_graph *layers;
    mlc_training_graph *training;
    mlc_inference_graph *inference;       /* the same layers, then the most likely class */
    float *image_numbers, *label_numbers; /* one batch */
    int32_t *guesses;
    mlc_tensor_data *image_data, *label_data, *guess_data;
} mnist_model;

/* device is a name: "any", "cpu", "gpu". */
mica_status mnist_model_create(mnist_model *model, const char *device, int64_t batch, int64_t rows,
                               int64_t columns, int64_t classes, uint64_t seed);
void mnist_model_release(mnist_model *model);
/* One step with `batch` images, those at the given places of a set; writes their mean loss. */
mica_status mnist_model_train(mnist_model *model, const uint8_t *images, const uint8_t *labels,
                              const int64_t *places, float rate, float *out_loss);
/* Counts the right answers for the first n <= batch images. */
mica_status mnist_model_score(mnist_model *model, const uint8_t *images, const uint8_t *labels,
                              int64_t n, int64_t *out_right);

/* Exchanges place i with a random one up to i, from the last down: splitmix64, which `state` is. */
void mnist_shuffle(int64_t *places, int64_t n, uint64_t *state);

#endif
