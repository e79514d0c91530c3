/* The convolutional net of mnist_model.h, trained by several processes, or by one as several would.
 *
 * Every step takes one batch, which `shards` shares in equal parts: shard s of step t reads part
 * t * shards + s of the images in their order. Processes started together (mpirun, or
 * MICA_DIST_ADDRESSES) each carry as many shards; what they compute does not depend on how many
 * there are, bit for bit. */
#ifndef MNIST_SHARDS_H
#define MNIST_SHARDS_H

#include <mica/mica.h>

#include "mnist_data.h"

enum { MNIST_ARRAYS = 24 }; /* weights, and for each two arrays of the optimizer */

typedef struct mnist_shards {
    mica_dist *dist;
    mica_device *device;
    int64_t shards, count; /* in all, and of this process */
    int64_t part;          /* images of a shard in a step */
    int64_t rows, columns, classes, steps;
    mica_executable *step, *score;
    mica_tensor *arrays[MNIST_ARRAYS];
    float *images;
    int32_t *labels;
} mnist_shards;

/* Joins the other processes. `batch` is cut into equal parts. */
mica_status mnist_shards_create(mnist_shards *m, const char *device, int64_t shards, int64_t batch,
                                int64_t rows, int64_t columns, int64_t classes, uint64_t seed);
void mnist_shards_release(mnist_shards *m);
/* One step with the images at `batch` places of the set; writes the mean loss of all of them. */
mica_status mnist_shards_train(mnist_shards *m, const mnist_set *set, const int64_t *places,
                               float rate, float *out_loss);
/* The first process writes what the next run goes on from: the state and the losses so far. */
mica_status mnist_shards_save(const mnist_shards *m, const char *path, const float *losses,
                              int64_t n);
/* The first process reads it, where the file is there, and gives it to the others. out_n is the
 * number of steps that were made, at most `most`. */
mica_status mnist_shards_load(mnist_shards *m, const char *path, float *losses, int64_t most,
                              int64_t *out_n);
/* Counts the right answers, of which each process has a part. */
mica_status mnist_shards_score(mnist_shards *m, const mnist_set *set, int64_t *out_right);

#endif
