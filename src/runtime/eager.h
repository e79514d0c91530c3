/* runtime/eager.h: the cache behind mica_eager. */
#ifndef MICA_RUNTIME_EAGER_H
#define MICA_RUNTIME_EAGER_H

#include "runtime/device.h"

/* Forgets all executables that the device keeps for eager ops. */
void mica_eager_clear(mica_device *device);

#endif
