#include "device/cpu/linalg.h"

#define REAL double
#define NAME(name) name##_f64
#define SQRT sqrt
#define ABS fabs
#include "device/cpu/linalg_loops.h"
