/* The convolutional net of the MNIST example as three graphs of primitives, for tests.
 *
 *     5x5 convolution, 16 channels, relu, 2x2 max pooling
 *     5x5 convolution, 32 channels, relu, 2x2 max pooling
 *     dense 128, relu, dense to one logit per class
 *
 * The state of a training run is MNIST_STATE tensors: the parameters, Adam's first and second
 * moments of each, and the number of steps taken. */
#ifndef MICA_TESTS_CONVNET_H
#define MICA_TESTS_CONVNET_H

#include <mica/mica.h>

enum { MNIST_PARAMETERS = 8, MNIST_STATE = 3 * MNIST_PARAMETERS + 1 };

typedef struct mnist_shape {
    int64_t batch, rows, columns, classes;
} mnist_shape;

/* key u32[2] -> state. */
mica_status mnist_build_start(const mnist_shape *shape, mica_graph **out_graph);
/* state, images u8[batch,rows,columns], labels u8[batch], rate f32[] -> state, mean loss f32[]. */
mica_status mnist_build_step(const mnist_shape *shape, mica_graph **out_graph);
/* parameters, images, labels -> number of right answers i32[]. */
mica_status mnist_build_score(const mnist_shape *shape, mica_graph **out_graph);

#endif
