/* device/cpu/winograd.h: 3 x 3 convolutions with fewer products, f32, channels last.
 *
 * Winograd's F(2x2, 3x3): a tile of 2 x 2 results comes from 4 x 4 places of the input. Both the
 * tile's places and the 3 x 3 taps are taken to 16 points (sums of a few elements), where products
 * over the channels are contractions, and 2 x 2 results come back: 16 products for 36. The gradient
 * by the kernel, a convolution whose results are 3 x 3, goes the same way with F(3x3, 2x2), the sum
 * over tiles in between.
 *
 * Whether a convolution is computed so depends on its sizes and layout alone, and so do all orders:
 * over channels (or tiles) chains of CPU_TILE_K fused multiply-adds, added in order. Rounding
 * errors are a few times those of plain sums, relative to the sum of magnitudes over a tile. Where
 * a result is not finite, the results around it are computed by definition: infinities meet only
 * what they would meet there. */
#ifndef MICA_DEVICE_CPU_WINOGRAD_H
#define MICA_DEVICE_CPU_WINOGRAD_H

#include "device/cpu/contract.h"
#include "device/cpu/conv.h"

/* One of the arrays: places with channels side by side. */
typedef struct winograd_image {
    int64_t batch, height, width, channels;
    int64_t batch_step, row_step, column_step; /* in elements; of channels 1 */
} winograd_image;

/* For tests and measurements: 1 wherever it is possible, -1 never, 0 as usual. */
void mica_cpu_winograd_prefer(int preference);

bool mica_cpu_fits_winograd(const mica_node *node, const mica_conv_layout *layout,
                            const conv_axis *axes);
MICA_MUST_CHECK mica_status mica_cpu_create_winograd(const mica_node *node,
                                                     const mica_conv_layout *layout,
                                                     const conv_axis *axes, cpu_kernel **out);
bool mica_cpu_fits_winograd_taps(const mica_node *node, const mica_conv_layout *layout,
                                 const conv_axis *axes);
MICA_MUST_CHECK mica_status mica_cpu_create_winograd_taps(const mica_node *node,
                                                          const mica_conv_layout *layout,
                                                          const conv_axis *axes, cpu_kernel **out);

/* What both ask of a convolution: f32, two dimensions, nothing strided, dilated or grouped. */
bool mica_cpu_winograd_is_plain(const mica_node *node, const mica_conv_layout *layout,
                                const conv_axis *axes);

/* Whether products at the points of that many tiles, for each pair of x and y channels, and `more`
 * per pair, cost less than `plain` multiply-adds per pair. */
bool mica_cpu_winograd_pays(double tiles, int64_t x, int64_t y, double more, double plain);

winograd_image mica_cpu_winograd_image(const mica_type *type, int32_t batch, const int32_t *spatial,
                                       int32_t channel);

/* Where size x size places from (row, column) on begin, in reading order; those outside at `zeros`.
 */
void mica_cpu_winograd_places(const winograd_image *image, const float *x, const float *zeros,
                              int64_t batch, int64_t row, int64_t column, int32_t size,
                              const float **at);

#endif
