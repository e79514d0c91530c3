/* device/cpu/conv.h: what the two ways to convolve share. */
#ifndef MICA_DEVICE_CPU_CONV_H
#define MICA_DEVICE_CPU_CONV_H

#include "device/cpu/kernel.h"
#include "ir/conv_layout.h"

/* One spatial axis. */
typedef struct conv_axis {
    int64_t input, taps, result;
    int64_t stride, low, lhs_dilation, rhs_dilation;
    int64_t reach; /* positions of the dilated, padded input that results look at */
} conv_axis;

MICA_MUST_CHECK mica_status mica_cpu_create_conv_plain(const mica_node *node,
                                                       const mica_conv_layout *layout,
                                                       const conv_axis *axes, cpu_kernel **out);

#endif
