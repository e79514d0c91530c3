/* One loop per MAP row of ops.def that takes floats, in f64. */
#include "device/cpu/isa.h"
#include "ir/scalar.h"

#define M(f) mica_##f##_f64
#define CPU_ELEMENT double
#define CPU_NAME(op) op##_f64
#include "device/cpu/isa/map_loops.h"

#define CPU_TAKES_FLOATS(...) CPU_MAP_DEFINE(__VA_ARGS__)
#define CPU_TAKES_NUMBERS(...) CPU_MAP_DEFINE(__VA_ARGS__)
#define CPU_TAKES_FLOATS_COMPLEX(...) CPU_MAP_DEFINE(__VA_ARGS__)
#define CPU_TAKES_NUMBERS_COMPLEX(...) CPU_MAP_DEFINE(__VA_ARGS__)
#define CPU_TAKES_BITS(...)
#define CPU_TAKES_INTEGERS(...)
#define MICA_OP CPU_MAP_ROW
#include "mica/ops.def"

#undef CPU_TAKES_FLOATS
#undef CPU_TAKES_NUMBERS
#undef CPU_TAKES_FLOATS_COMPLEX
#undef CPU_TAKES_NUMBERS_COMPLEX
#define CPU_TAKES_FLOATS(...) CPU_MAP_ENTRY(__VA_ARGS__)
#define CPU_TAKES_NUMBERS(...) CPU_MAP_ENTRY(__VA_ARGS__)
#define CPU_TAKES_FLOATS_COMPLEX(...) CPU_MAP_ENTRY(__VA_ARGS__)
#define CPU_TAKES_NUMBERS_COMPLEX(...) CPU_MAP_ENTRY(__VA_ARGS__)
const mica_cpu_map MICA_ISA_NAME(mica_cpu_map_f64)[MICA_OP_COUNT] = {
#include "mica/ops.def"
};
