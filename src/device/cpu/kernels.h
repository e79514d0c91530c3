/* device/cpu/kernels.h: the built-in kernels, one way in for all of them.
 *
 * A kernel is prepared once from a node (op, attributes, types) and then run on host addresses any
 * number of times, from any thread. It runs on the pool (base/pool.h), cannot fail, allocates
 * nothing, and gives the same bits for any number of threads. Used by the devices cpu and fake. */
#ifndef MICA_DEVICE_CPU_KERNELS_H
#define MICA_DEVICE_CPU_KERNELS_H

#include "runtime/device.h"

/* UNSUPPORTED, with the op and dtype in the message, for what has no kernel. */
mica_status mica_cpu_kernel_create(const mica_node *node, mica_kernel **out_kernel);
void mica_cpu_kernel_destroy(mica_kernel *kernel);
/* Results do not overlap operands, except result 0 with one operand of kernel->in_place_operands. */
void mica_cpu_kernel_run(const mica_kernel *kernel, const void *const *operands,
                         void *const *results, void *scratch);

#endif
