/* argmax and argmin along one axis: the first of equals; NaN beats everything. */
#include "device/cpu/kernel.h"
#include "ir/scalar.h"

#define GRAIN_WORK 16384

/* Writes the index of the best of n elements that are `stride` apart. */
typedef int64_t (*best_index)(const void *x, int64_t stride, int64_t n);

typedef struct argmax_kernel {
    cpu_kernel base;
    best_index find;
    mica_cpu_map store; /* from i64 */
    int64_t outer, size, inner;
    int32_t x_bytes, y_bytes;
} argmax_kernel;

#define BEST_DEFINE(name, storage, compute, LOAD, BETTER)                                          \
    static int64_t name(const void *x, int64_t stride, int64_t n) {                                \
        const storage *at = (const storage *)x;                                                    \
        compute best = LOAD(at[0]);                                                                \
        int64_t index = 0;                                                                         \
        for (int64_t i = 1; i < n; i++) {                                                          \
            compute value = LOAD(at[i * stride]);                                                  \
            if (BETTER(value, best)) best = value, index = i;                                      \
        }                                                                                          \
        return index;                                                                              \
    }
/* Comparisons with NaN are false; a NaN is better than what is no NaN. */
#define LARGER(a, b) ((a) > (b) || ((a) != (a) && (b) == (b)))
#define SMALLER(a, b) ((a) < (b) || ((a) != (a) && (b) == (b)))
#define LARGER_INT(a, b) ((a) > (b))
#define SMALLER_INT(a, b) ((a) < (b))
#define SAME(a) (a)
#define BEST_INT(dtype, type)                                                                      \
    BEST_DEFINE(argmax_##dtype, type, type, SAME, LARGER_INT)                                      \
    BEST_DEFINE(argmin_##dtype, type, type, SAME, SMALLER_INT)
#define BEST_FLOAT(dtype, storage, compute, LOAD)                                                  \
    BEST_DEFINE(argmax_##dtype, storage, compute, LOAD, LARGER)                                    \
    BEST_DEFINE(argmin_##dtype, storage, compute, LOAD, SMALLER)
BEST_INT(i8, int8_t)
BEST_INT(i16, int16_t)
BEST_INT(i32, int32_t)
BEST_INT(i64, int64_t)
BEST_INT(u8, uint8_t)
BEST_INT(u16, uint16_t)
BEST_INT(u32, uint32_t)
BEST_INT(u64, uint64_t)
BEST_FLOAT(f16, uint16_t, float, mica_convert_f16_f32)
BEST_FLOAT(bf16, uint16_t, float, mica_convert_bf16_f32)
BEST_FLOAT(f32, float, float, SAME)
BEST_FLOAT(f64, double, double, SAME)

#define BEST_ENTRY(dtype) [MICA_DTYPE_##dtype] = {argmax_##dtype, argmin_##dtype}
static const best_index finders[MICA_DTYPE_COUNT][2] = {
    BEST_ENTRY(i8),  BEST_ENTRY(i16),  BEST_ENTRY(i32), BEST_ENTRY(i64),
    BEST_ENTRY(u8),  BEST_ENTRY(u16),  BEST_ENTRY(u32), BEST_ENTRY(u64),
    BEST_ENTRY(f16), BEST_ENTRY(bf16), BEST_ENTRY(f32), BEST_ENTRY(f64),
};

typedef struct argmax_run {
    const argmax_kernel *kernel;
    const char *x;
    char *y;
} argmax_run;

static void run_range(void *context, int64_t begin, int64_t end) {
    const argmax_run *run = context;
    const argmax_kernel *k = run->kernel;
    for (int64_t i = begin; i < end; i++) {
        int64_t position = i / k->inner * k->size * k->inner + i % k->inner;
        int64_t index = k->find(run->x + position * k->x_bytes, k->inner, k->size);
        const void *from = &index;
        k->store(&from, run->y + i * k->y_bytes, 1);
    }
}

static void run_argmax(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                       void *scratch) {
    (void)scratch;
    const argmax_kernel *k = (const argmax_kernel *)kernel;
    argmax_run run = {k, operands[0], results[0]};
    mica_parallel_for(k->outer * k->inner, cpu_max(1, GRAIN_WORK / cpu_max(1, k->size)), run_range,
                      &run);
}

mica_status mica_cpu_create_argmax(const mica_node *node, cpu_kernel **out) {
    const mica_type *x = mica_operand_type(node, 0);
    int64_t axis = mica_node_int(node, "axis");
    mica_dtype index = node->results[0].dtype;
    best_index find = finders[x->dtype][node->op == MICA_OP_argmin];
    mica_cpu_map store = mica_cpu_isa_current()->elementwise->convert[MICA_DTYPE_i64][index];
    if (!find || !store) return mica_cpu_unsupported(node, x->dtype);
    argmax_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_argmax, &k));
    k->find = find;
    k->store = store;
    k->x_bytes = (int32_t)mica_dtype_bytes(x->dtype);
    k->y_bytes = (int32_t)mica_dtype_bytes(index);
    k->outer = k->inner = 1;
    for (int64_t i = 0; i < axis; i++) k->outer *= x->dims[i];
    for (int64_t i = axis + 1; i < x->rank; i++) k->inner *= x->dims[i];
    k->size = x->dims[axis];
    *out = &k->base;
    return NULL;
}

mica_status mica_cpu_create_argmin(const mica_node *node, cpu_kernel **out) {
    return mica_cpu_create_argmax(node, out);
}
