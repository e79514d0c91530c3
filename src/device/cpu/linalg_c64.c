#include "device/cpu/linalg.h"

#define PART float
#define NAME(name) name##_c64
#include "device/cpu/linalg_loops_complex.h"
