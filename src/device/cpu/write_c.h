/* device/cpu/write_c.h: pieces of the C that kernels are written as; see mica_kernel_text. */
#ifndef MICA_DEVICE_CPU_WRITE_C_H
#define MICA_DEVICE_CPU_WRITE_C_H

#include "base/strings.h"
#include "device/cpu/contract.h"

/* "f32" or "f64" and their C type; UNSUPPORTED for any other dtype. */
MICA_MUST_CHECK mica_status mica_cpu_write_float(const mica_node *node, mica_dtype dtype,
                                                 const char **out_type);
/* .name = {...}, of a struct of spaces. */
void mica_cpu_write_space(mica_text *text, const char *name, int32_t rank, int64_t n,
                          const int64_t *sizes, const int64_t *strides);
/* A copy between two addresses, which are expressions; `index` tells a kernel's copies apart. */
void mica_cpu_write_copy(mica_kernel_text *out, int32_t index, const cpu_copy *copy,
                         const char *source, int64_t source_offset, const char *target,
                         int64_t target_offset);
/* A contraction, whose addresses are those of its operands' first elements and offsets in elements;
 * its sums, when it has several groups, lie in scratch from `sums_offset` on, in bytes. */
MICA_MUST_CHECK mica_status mica_cpu_write_contraction(mica_kernel_text *out, int32_t index,
                                                       const mica_node *node,
                                                       const cpu_contract *contract, const char *x,
                                                       int64_t x_offset, const char *y,
                                                       int64_t y_offset, int64_t c_offset,
                                                       size_t sums_offset);

#endif
