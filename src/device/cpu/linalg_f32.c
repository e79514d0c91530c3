#include "device/cpu/linalg.h"

#define REAL float
#define NAME(name) name##_f32
#define SQRT sqrtf
#define ABS fabsf
#include "device/cpu/linalg_loops.h"
