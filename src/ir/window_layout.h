/* ir/window_layout.h: how windows lie on an array.
 *
 * Element w of window i lies at position i stride + w window_dilation - low of an array whose
 * elements are base_dilation apart: on element (that position) / base_dilation, or on none. */
#ifndef MICA_IR_WINDOW_LAYOUT_H
#define MICA_IR_WINDOW_LAYOUT_H

#include "ir/graph.h"

typedef struct mica_window_axis {
    int64_t size; /* of the array */
    int64_t window, stride, low, high, base_dilation, window_dilation;
    int64_t results; /* windows along the axis */
} mica_window_axis;

typedef struct mica_windows {
    int32_t rank;
    mica_window_axis axes[MICA_MAX_RANK];
} mica_windows;

/* Of a node of reduce_window or select_and_scatter whose shape rule has passed. */
mica_windows mica_windows_of(const mica_node *n);
/* Of a node of cumulative: one window per element, as long as the axis. */
mica_windows mica_windows_of_cumulative(const mica_node *n);

/* From the first element of a window to its last, both included. */
static inline int64_t mica_window_extent(const mica_window_axis *a) {
    return (a->window - 1) * a->window_dilation + 1;
}
/* Every window is one element, in order. */
static inline bool mica_window_is_trivial(const mica_window_axis *a) {
    return a->window == 1 && a->stride == 1 && a->low == 0 && a->high == 0 && a->base_dilation == 1;
}

#endif
