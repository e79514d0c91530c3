/* cumulative: one element after the other along the axis, several lines side by side. */
#include <string.h>

#include "device/cpu/window.h"
#include "device/cpu/write_c.h"

#define GRAIN_WORK 16384

typedef struct cumulative_kernel {
    cpu_kernel base;
    const mica_cpu_windower *windower;
    int64_t outer, size, inner, strips;
    int32_t bytes;
    bool reverse, exclusive;
} cumulative_kernel;

typedef struct cumulative_run {
    const cumulative_kernel *kernel;
    const char *x;
    char *y;
} cumulative_run;

static void run_range(void *context, int64_t begin, int64_t end) {
    const cumulative_run *run = context;
    const cumulative_kernel *k = run->kernel;
    for (int64_t i = begin; i < end; i++) {
        int64_t column = i % k->strips * CPU_WINDOW_STRIP;
        int64_t at = i / k->strips * k->size * k->inner + column;
        if (k->reverse) at += (k->size - 1) * k->inner;
        k->windower->scan(run->x + at * k->bytes, run->y + at * k->bytes,
                          k->reverse ? -k->inner : k->inner, k->size,
                          cpu_min(CPU_WINDOW_STRIP, k->inner - column), k->exclusive);
    }
}

static void run_cumulative(const cpu_kernel *kernel, const void *const *operands,
                           void *const *results, void *scratch) {
    (void)scratch;
    const cumulative_kernel *k = (const cumulative_kernel *)kernel;
    cumulative_run run = {k, operands[0], results[0]};
    int64_t work = k->size * cpu_min(CPU_WINDOW_STRIP, k->inner);
    if (work == 0) return;
    mica_parallel_walk(k->outer * k->strips, cpu_max(1, GRAIN_WORK / work), run_range, &run);
}

static mica_status write_cumulative(const cpu_kernel *kernel, const mica_node *node,
                                    mica_kernel_text *out) {
    const cumulative_kernel *k = (const cumulative_kernel *)kernel;
    const char *type, *kind = mica_node_string(node, "kind");
    MICA_TRY(mica_cpu_write_float(node, node->results[0].dtype, &type));
    const char *op = !strcmp(kind, "sum") ? "add" : !strcmp(kind, "prod") ? "mul" : kind;
    mica_text_printf(out->body,
                     "    mica_scan_%s_%s((const %s *)x[0], (%s *)y[0], %lld, %lld, %lld, %d, "
                     "%d);\n",
                     op, mica_dtype_name(node->results[0].dtype), type, type, (long long)k->outer,
                     (long long)k->size, (long long)k->inner, k->reverse, k->exclusive);
    return NULL;
}

mica_status mica_cpu_create_cumulative(const mica_node *node, cpu_kernel **out) {
    const mica_type *x = mica_operand_type(node, 0);
    int64_t axis = mica_node_int(node, "axis");
    const mica_cpu_windower *windower =
        mica_cpu_windower_of(mica_node_string(node, "kind"), x->dtype);
    if (!windower) return mica_cpu_unsupported(node, x->dtype);
    cumulative_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_cumulative, &k));
    k->base.head.in_place_operands = 1; /* an element is read before it is written */
    k->base.write = write_cumulative;
    k->windower = windower;
    k->bytes = (int32_t)mica_dtype_bytes(x->dtype);
    k->reverse = mica_node_int(node, "reverse") == 1;
    k->exclusive = mica_node_int(node, "exclusive") == 1;
    k->outer = k->inner = 1;
    for (int64_t i = 0; i < axis; i++) k->outer *= x->dims[i];
    for (int64_t i = axis + 1; i < x->rank; i++) k->inner *= x->dims[i];
    k->size = x->dims[axis];
    k->strips = cpu_ceil_div(k->inner, CPU_WINDOW_STRIP);
    *out = &k->base;
    return NULL;
}
