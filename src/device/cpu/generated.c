/* Generated kernels: fused calls as C, compiled by the machine's compiler for the instruction set
 * in force. */
#include <stdio.h>
#include <string.h>

#include "base/strings.h"
#include "codegen/toolchain.h"
#include "codegen/write.h"
#include "device/cpu/generated.h"
#include "device/cpu/kernel.h"

typedef void (*generated_function)(const void *const *x, void *const *y, void *scratch,
                                   int64_t begin, int64_t end);

struct mica_unit {
    mica_library *library;
    int32_t n;
    mica_kernel_shape shapes[];
};

typedef struct generated_kernel {
    cpu_kernel base;
    mica_kernel_shape shape;
    generated_function body, finish;
} generated_kernel;

typedef struct generated_run {
    generated_function function;
    const void *const *x;
    void *const *y;
    void *scratch;
} generated_run;

static void run_piece(void *context, int64_t begin, int64_t end) {
    const generated_run *run = context;
    run->function(run->x, run->y, run->scratch, begin, end);
}

static void run_generated(const cpu_kernel *kernel, const void *const *operands,
                          void *const *results, void *scratch) {
    const generated_kernel *k = (const generated_kernel *)kernel;
    generated_run run = {k->body, operands, results, scratch};
    mica_parallel_for(k->shape.units, k->shape.grain, run_piece, &run);
    if (!k->finish) return;
    run.function = k->finish;
    mica_parallel_for(k->shape.finish_units, 1, run_piece, &run);
}

/* ---- units ------------------------------------------------------------------------------------*/

/* The flags that the built-in kernels of the same name are built with. */
static const char *const *isa_flags(void) {
    static const char *const none[] = {NULL};
    static const char *const avx2[] = {"-mavx2", "-mfma", NULL};
    static const char *const avx512[] = {"-mavx2",
                                         "-mfma",
                                         "-mavx512f",
                                         "-mavx512dq",
                                         "-mavx512bw",
                                         "-mavx512vl",
                                         "-mprefer-vector-width=512",
                                         NULL};
    const char *name = mica_cpu_isa_name();
    return !strcmp(name, "avx512") ? avx512 : !strcmp(name, "avx2") ? avx2 : none;
}

static mica_status write_unit(mica_node *const *fused, int32_t n, mica_unit *unit,
                              char **out_source) {
    mica_text text;
    mica_text_init(&text);
    mica_write_prelude(&text);
    mica_status status = NULL;
    for (int32_t i = 0; i < n && !status; i++) {
        mica_nest *nest = NULL;
        status = mica_nest_create(fused[i]->regions[0], &nest);
        if (status) break;
        mica_kernel_shape_find(nest, &unit->shapes[i]);
        mica_write_kernel(&text, nest, i);
        mica_nest_destroy(nest);
    }
    if (!status) return mica_text_finish(&text, out_source);
    mica_text_deinit(&text);
    return status;
}

mica_status mica_cpu_unit_create(mica_device *device, mica_node *const *fused, int32_t n,
                                 mica_unit **out_unit) {
    (void)device;
    *out_unit = NULL;
    mica_unit *unit = mica_calloc(1, sizeof *unit + sizeof *unit->shapes * (size_t)n);
    if (!unit) return MICA_NO_MEMORY();
    unit->n = n;
    char *source = NULL;
    mica_status status = write_unit(fused, n, unit, &source);
    if (!status) status = mica_toolchain_load(source, isa_flags(), &unit->library);
    mica_free(source);
    if (status)
        mica_free(unit);
    else
        *out_unit = unit;
    return status;
}

void mica_cpu_unit_destroy(mica_device *device, mica_unit *unit) {
    (void)device;
    mica_library_close(unit->library);
    mica_free(unit);
}

static generated_function find_function(const mica_unit *unit, int32_t i, const char *suffix) {
    char name[32];
    snprintf(name, sizeof name, "k%d%s", i, suffix);
    void *symbol = mica_library_symbol(unit->library, name);
    generated_function function = NULL;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

mica_status mica_cpu_unit_kernel(mica_device *device, mica_unit *unit, int32_t i,
                                 mica_kernel **out_kernel) {
    (void)device;
    *out_kernel = NULL;
    generated_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_generated, &k));
    k->shape = unit->shapes[i];
    k->body = find_function(unit, i, "");
    k->finish = k->shape.finish_units ? find_function(unit, i, "_finish") : NULL;
    if (!k->body || (k->shape.finish_units && !k->finish)) {
        mica_free(k);
        return MICA_ERROR(MICA_INTERNAL, "[generated] the compiled unit has no kernel %d", i);
    }
    k->base.head.scratch_bytes = k->shape.scratch_bytes;
    k->base.head.in_place_operands = k->shape.in_place[0];
    memcpy(k->base.head.in_place_more, k->shape.in_place + 1, sizeof k->base.head.in_place_more);
    *out_kernel = &k->base.head;
    return NULL;
}
