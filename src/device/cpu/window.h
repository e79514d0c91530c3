/* device/cpu/window.h: what cumulative, reduce_window and select_and_scatter share. */
#ifndef MICA_DEVICE_CPU_WINDOW_H
#define MICA_DEVICE_CPU_WINDOW_H

#include "device/cpu/kernel.h"

/* kind: sum prod max min. NULL where there is none for the dtype. */
const mica_cpu_windower *mica_cpu_windower_of(const char *kind, mica_dtype dtype);

#endif
