/* Normalization over all axes but the channels', shared by FusedBatchNorm and its gradient. */
#ifndef MICA_TF_OPS_NN_NORMALIZATION_H
#define MICA_TF_OPS_NN_NORMALIZATION_H

#include "tf/tf.h"

typedef struct mica_tf_normalization {
    mica_value x;     /* in the dtype of the moments */
    mica_dtype dtype; /* of the moments */
    mica_type type;   /* of x */
    int32_t channel;  /* the axis */
    mica_ints axes;   /* all others */
    int64_t others[MICA_MAX_RANK];
    bool is_training;
    double epsilon;
} mica_tf_normalization;

/* Of the row's attributes and input `images`; false with a sticky error. `out` must not be copied:
 * its axes point into it. */
bool mica_tf_normalization_read(mica_tf_lowering *c, int32_t images, mica_tf_normalization *out);
/* The mean of each channel, and the mean square of what lies around it. */
void mica_tf_moments(mica_graph *g, const mica_tf_normalization *n, mica_value *out_mean,
                     mica_value *out_variance);
/* (variance + epsilon)^-1/2 */
mica_value mica_tf_inverse_deviation(mica_graph *g, const mica_tf_normalization *n,
                                     mica_value variance);
/* (x - mean) inverse */
mica_value mica_tf_normalized(mica_graph *g, const mica_tf_normalization *n, mica_value mean,
                              mica_value inverse);
/* A number for each channel, for each element of x. */
mica_value mica_tf_by_channel(mica_graph *g, const mica_tf_normalization *n, mica_value vector);

#endif
