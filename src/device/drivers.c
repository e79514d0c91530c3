/* The devices that are built in. The only list of them. */
#include "runtime/device.h"

extern const mica_driver mica_cpu_driver, mica_cuda_driver, mica_ref_driver, mica_fake_driver;

const mica_driver *const mica_drivers[] = {
    &mica_cpu_driver, &mica_cuda_driver, &mica_ref_driver, &mica_fake_driver, NULL,
};
