/* device/cuda/: NVIDIA GPUs.
 *
 * Memory, copies, streams, events, recordings (CUDA graphs), and kernels, whose source is written
 * by codegen/ or stands in its preludes, with the scalar functions (ir/scalar*.h) as headers, and
 * is compiled by NVRTC for the device at hand. So the GPU computes with the same text as the CPU:
 * contraction is off, division and square root are rounded correctly, denormals are kept, and f32
 * results have the same bits. What has no kernel here is computed by the CPU between two copies
 * (host.c), which MICA_LOG=transfer shows.
 *
 * The driver library and NVRTC are found at run time (load.c); a machine without them has no CUDA
 * device and a reason for it. A failure that comes late (an illegal address) poisons its stream:
 * every later call on it, and waiting for its events, answers DEVICE_ERROR. CUDA then refuses the
 * GPU to this process for good: opening the device again answers the same error. */
#ifndef MICA_DEVICE_CUDA_CUDA_H
#define MICA_DEVICE_CUDA_CUDA_H

#include "codegen/embedded.h"
#include "device/cuda/api.h"
#include "runtime/device.h"

/* Whether the GPU itself computes this node, not the host for it. Needs no GPU. */
bool mica_cuda_has_kernel(const mica_node *node);

/* Machine code (or PTX, when NVRTC is older than the device) for a compute capability such as 90.
 * Needs no GPU. Freed with mica_free. */
mica_status mica_cuda_compile(const char *source, int32_t capability, char **out_image,
                              size_t *out_bytes);

/* Seconds between two events that are done. */
mica_status mica_cuda_event_seconds(mica_device_event *start, mica_device_event *end,
                                    double *out_seconds);

#endif
