/* device/cpu/generated.h: kernels that are written and compiled while the program runs. */
#ifndef MICA_DEVICE_CPU_GENERATED_H
#define MICA_DEVICE_CPU_GENERATED_H

#include "runtime/device.h"

/* The slots of the same names in mica_device_vtable. */
mica_status mica_cpu_unit_create(mica_device *device, mica_node *const *fused, int32_t n,
                                 bool in_background, mica_unit **out_unit);
void mica_cpu_unit_destroy(mica_device *device, mica_unit *unit);
mica_status mica_cpu_unit_kernel(mica_device *device, mica_unit *unit, int32_t i,
                                 mica_kernel **out_kernel);

#endif
