#include "device/cpu/linalg.h"

#define PART double
#define NAME(name) name##_c128
#include "device/cpu/linalg_loops_complex.h"
