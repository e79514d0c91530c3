/* ir/conv_layout.h: the layout attribute of conv, such as "N01C,01IO,N01C": which axis of the
 * input, the kernel and the result is the batch, the channels, the spatial axes 0 1 2. */
#ifndef MICA_IR_CONV_LAYOUT_H
#define MICA_IR_CONV_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define MICA_CONV_AXES 3 /* the most spatial axes */

typedef struct mica_conv_layout {
    int32_t spatial; /* how many: 1, 2 or 3 */
    int32_t lhs_batch, lhs_channel, lhs_spatial[MICA_CONV_AXES];
    int32_t rhs_input, rhs_output, rhs_spatial[MICA_CONV_AXES];
    int32_t out_batch, out_channel, out_spatial[MICA_CONV_AXES];
} mica_conv_layout;

/* false when the text is no layout. */
bool mica_conv_layout_parse(const char *text, mica_conv_layout *out_layout);

#endif
