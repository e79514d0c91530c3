/* Windows over the spatial axes of images and volumes: what an op's attributes say about them. */
#ifndef MICA_TF_OPS_NN_WINDOWS_H
#define MICA_TF_OPS_NN_WINDOWS_H

#include "tf/tf.h"

enum { MICA_TF_SPATIAL = 3 };

typedef struct mica_tf_windows {
    int32_t rank; /* spatial axes: 2 or 3 */
    bool channels_first;
    char padding; /* 's' SAME, 'v' VALID, 'e' EXPLICIT */
    int64_t window[MICA_TF_SPATIAL], stride[MICA_TF_SPATIAL], dilation[MICA_TF_SPATIAL];
    int64_t low[MICA_TF_SPATIAL], high[MICA_TF_SPATIAL]; /* of EXPLICIT */
} mica_tf_windows;

/* Of the row's data_format: whether channels come before the spatial axes. */
MICA_MUST_CHECK mica_status mica_tf_channels_first(const mica_tf_op_info *info,
                                                   const mica_tf_attr *attrs, bool *out);
/* `rank` of the images; windows are left at 1 where the row has no ksize. */
MICA_MUST_CHECK mica_status mica_tf_windows_read(const mica_tf_op_info *info,
                                                 const mica_tf_attr *attrs, int32_t rank,
                                                 mica_tf_windows *out);
static inline int32_t mica_tf_spatial_axis(const mica_tf_windows *w, int32_t i) {
    return w->channels_first ? i + 2 : i + 1;
}
static inline int32_t mica_tf_channel_axis(const mica_tf_windows *w) {
    return w->channels_first ? 1 : w->rank + 1;
}
/* Images, whose format the row's data_format names, and vectors with a number for each channel. */
MICA_MUST_CHECK mica_status mica_tf_check_channels(mica_tf_inference *c,
                                                   const mica_tf_shape *operands, int32_t n,
                                                   mica_tf_shape *out_images,
                                                   mica_tf_shape *out_channels);
/* The number of windows along an axis of a known size, and the padding before and after. */
int64_t mica_tf_windows_fit(const mica_tf_windows *w, int32_t axis, int64_t size, int64_t *out_low,
                            int64_t *out_high);

#endif
