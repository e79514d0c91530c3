/* The loops behind MAP rows, for one element type: CPU_ELEMENT, with M(f) its scalar functions and
 * CPU_NAME(op) the loop's name. Included once per type; see map_f32.c for the use. */

#ifndef CPU_MAP_ROW
/* A row of ops.def; only MAP rows, with a dtype set that the file takes, give anything. */
#define CPU_MAP_ROW(name, arity, class, dtypes, attributes, shape, jvp, transpose, vmap,           \
                    expression, meaning)                                                           \
    CPU_CLASS_##class(name, arity, dtypes, expression)
#define CPU_CLASS_MAP(name, arity, dtypes, expression) CPU_TAKES_##dtypes(name, arity, expression)
#define CPU_CLASS_ELEMENTWISE(...)
#define CPU_CLASS_SHAPE(...)
#define CPU_CLASS_CONTRACTION(...)
#define CPU_CLASS_REDUCTION(...)
#define CPU_CLASS_RANDOM(...)
#define CPU_CLASS_SEVERAL(...)
#define CPU_CLASS_CONTROL(...)
#define CPU_CLASS_COLLECTIVE(...)
#define CPU_CLASS_HOST(...)

#define CPU_MAP_POINTERS_1 const CPU_ELEMENT *xa = (const CPU_ELEMENT *)x[0];
#define CPU_MAP_POINTERS_2 CPU_MAP_POINTERS_1 const CPU_ELEMENT *xb = (const CPU_ELEMENT *)x[1];
#define CPU_MAP_POINTERS_3 CPU_MAP_POINTERS_2 const CPU_ELEMENT *xc = (const CPU_ELEMENT *)x[2];
#define CPU_MAP_VALUES_1 CPU_ELEMENT a = xa[i];
#define CPU_MAP_VALUES_2 CPU_MAP_VALUES_1 CPU_ELEMENT b = xb[i];
#define CPU_MAP_VALUES_3 CPU_MAP_VALUES_2 CPU_ELEMENT c = xc[i];

#define CPU_MAP_DEFINE(op, arity, expression)                                                      \
    static void CPU_NAME(op)(const void *const *x, void *result, int64_t n) {                      \
        CPU_MAP_POINTERS_##arity CPU_ELEMENT *y = (CPU_ELEMENT *)result;                           \
        CPU_INDEPENDENT                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                          \
            CPU_MAP_VALUES_##arity y[i] = expression;                                              \
        }                                                                                          \
    }
#define CPU_MAP_ENTRY(op, arity, expression) [MICA_OP_##op] = CPU_NAME(op),
#endif
