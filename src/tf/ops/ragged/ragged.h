/* What the ops of ragged tensors share: row splits, and slices of values by their numbers. */
#ifndef MICA_TF_OPS_RAGGED_H
#define MICA_TF_OPS_RAGGED_H

#include "tf/host_rules.h"

/* Results have no more elements than this: sizes come from values, which may be any. */
#define TF_RAGGED_MOST ((int64_t)1 << 28)

/* A vector of integers, as 64 bits; the caller frees it. A scalar is one of size 1. */
typedef struct tf_ragged_ints {
    int64_t *data, n;
} tf_ragged_ints;

MICA_MUST_CHECK mica_status tf_ragged_read(mica_tf_value value, tf_ragged_ints *out);
MICA_MUST_CHECK mica_status tf_ragged_room(int64_t n, tf_ragged_ints *out);
/* Splits of n rows begin with 0, never decrease, and end with n_values. */
MICA_MUST_CHECK mica_status tf_ragged_check_splits(const char *op, const tf_ragged_ints *splits,
                                                   int64_t n_values);
/* Reads and checks n vectors of splits, each of the next one's rows, the last of n_values values.
 * The caller releases them with tf_ragged_splits_deinit, also after an error. */
MICA_MUST_CHECK mica_status tf_ragged_splits_init(const char *op, const mica_tf_value *values,
                                                  int32_t n, int64_t n_values,
                                                  tf_ragged_ints **out_splits);
void tf_ragged_splits_deinit(tf_ragged_ints *splits, int32_t n);
/* Result i: a vector of its dtype. */
MICA_MUST_CHECK mica_status tf_ragged_give(mica_tf_host *c, int32_t i, const int64_t *ints,
                                           int64_t n);
MICA_MUST_CHECK mica_status tf_ragged_vector(mica_device *device, mica_tf_dtype dtype,
                                             const int64_t *ints, int64_t n,
                                             mica_tf_value *out_value);

/* The slices of values along the first axis whose numbers are given, one after the other, as a
 * value of these sizes. A number of -1 stands for the fill: a value of one slice's elements. */
MICA_MUST_CHECK mica_status tf_ragged_pick(mica_device *device, mica_tf_value values,
                                           const int64_t *places, int64_t n, mica_tf_value fill,
                                           const mica_tf_shape *shape, mica_tf_value *out_value);

/* Values of one dtype, whose shapes differ in the first size at most, one after the other. */
MICA_MUST_CHECK mica_status tf_ragged_join(mica_device *device, const mica_tf_value *values,
                                           int64_t count, mica_tf_value *out_value);

#endif
