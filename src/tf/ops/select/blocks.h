/* Blocks of space: how large they are, and what is added or cut around the axes. */
#ifndef MICA_TF_OPS_SELECT_BLOCKS_H
#define MICA_TF_OPS_SELECT_BLOCKS_H

#include "tf/tf.h"

/* As many axes as leave room for two of each, the batch and the rest. */
enum { MICA_TF_BLOCK_AXES = MICA_MAX_RANK / 2 - 1 };

typedef struct mica_tf_blocks {
    int32_t n;
    int64_t block[MICA_MAX_RANK * 4], pairs[MICA_MAX_RANK * 4];
} mica_tf_blocks;

#endif
