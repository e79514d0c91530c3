/* device/cpu/kernels.h: the built-in kernels, one way in for all of them.
 *
 * A kernel is prepared once from a node (op, attributes, types) and then run on host addresses any
 * number of times, from any thread. It runs on the pool (base/pool.h), cannot fail, allocates
 * nothing, and gives the same bits for any number of threads and on every instruction set (of a
 * NaN: that it is one). Used by the devices cpu and fake.
 *
 * Loops are built for several instruction sets (device/cpu/isa.h) and chosen when a kernel is
 * created: the best one that the machine has, or the one that MICA_ISA names. */
#ifndef MICA_DEVICE_CPU_KERNELS_H
#define MICA_DEVICE_CPU_KERNELS_H

#include "runtime/device.h"

/* UNSUPPORTED, with the op and dtype in the message, for what has no kernel. */
mica_status mica_cpu_kernel_create(const mica_node *node, mica_kernel **out_kernel);
/* Whether there is a kernel for a composite as a whole. */
bool mica_cpu_claims(const mica_node *call);
void mica_cpu_kernel_destroy(mica_kernel *kernel);
/* Results do not overlap operands, except result 0 with one operand of kernel->in_place_operands.
 * Addresses are aligned to their elements; scratch to 64 bytes. */
void mica_cpu_kernel_run(const mica_kernel *kernel, const void *const *operands,
                         void *const *results, void *scratch);

/* The kernel of `node` as C (runtime/device.h); UNSUPPORTED, with the op and its result, for what
 * has no text. */
mica_status mica_cpu_kernel_write(const mica_kernel *kernel, const mica_node *node,
                                  mica_kernel_text *out);

/* The instruction set that kernels created from now on use: "baseline", "avx2" or "avx512". */
const char *mica_cpu_isa_name(void);
/* For tests: kernels created from now on use this one; NULL goes back to the best. false, with
 * nothing changed, when it is not built in or the machine does not have it. */
bool mica_cpu_isa_force(const char *name);

#endif
