/* device/cuda/attention.h: attention as one kernel per direction. */
#ifndef MICA_DEVICE_CUDA_ATTENTION_H
#define MICA_DEVICE_CUDA_ATTENTION_H

#include <stdint.h>

#include "codegen/prelude/attention_layout.h"
#include "device/cuda/parts.h"

/* Of a call that may be claimed: whether the device computes it. */
bool cuda_attention_claims(const cuda_device *device, const mica_node *call);
/* Of one that is claimed. */
bool cuda_attention_takes(const mica_node *node);
mica_status cuda_attention_create(cuda_device *device, const mica_node *node,
                                  cuda_kernel **out_kernel);

/* The text of the module for f16 or bf16 and sizes up to `head`, a multiple of 16. For tests too.
 */
mica_status cuda_attention_text(mica_dtype dtype, int32_t head, bool has_mask, char **out_text);

#endif
