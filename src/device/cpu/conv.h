/* device/cpu/conv.h: what the two ways to convolve share. */
#ifndef MICA_DEVICE_CPU_CONV_H
#define MICA_DEVICE_CPU_CONV_H

#include "device/cpu/kernel.h"
#include "ir/conv_layout.h"

/* One spatial axis. Where the input is dilated, places between its elements are met by nothing. */
typedef struct conv_axis {
    int64_t input, taps, result;
    int64_t stride, low, lhs_dilation, rhs_dilation;
    int64_t reach; /* positions of the dilated, padded input that results look at */
    /* One phase of a dilated input: every phases-th result from `first` on meets every
     * tap_phases-th tap from `first_tap` on, the first of both at element `begin`. 1, 0, 1, 0 and
     * -low when nothing is dilated. */
    int64_t phases, first, tap_phases, first_tap, begin;
} conv_axis;

MICA_MUST_CHECK mica_status mica_cpu_create_conv_plain(const mica_node *node,
                                                       const mica_conv_layout *layout,
                                                       const conv_axis *axes, cpu_kernel **out);

#endif
