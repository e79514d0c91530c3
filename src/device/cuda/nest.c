/* Fused nodes: nests, written by codegen and compiled many at a time. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "codegen/write.h"
#include "device/cuda/parts.h"
#include "report/report.h"

enum { KERNELS_OF_A_MODULE = 24, MOST_ADDRESSES = 500 /* of a kernel's argument */ };

typedef struct nest_kernel {
    cuda_kernel base;
    CUfunction function, finish;
    mica_gpu_shape shape;
    int64_t blocks, finish_blocks;
    int32_t n_operands, n_results;
} nest_kernel;

static mica_status launch_nest(const cuda_kernel *kernel, cuda_stream *stream,
                               const mica_address *operands, const mica_address *results,
                               mica_address scratch) {
    const nest_kernel *k = (const nest_kernel *)kernel;
    uint64_t argument[MOST_ADDRESSES + 4];
    int32_t n = 0;
    for (int32_t i = 0; i < k->n_operands; i++) argument[n++] = operands[i];
    if (k->n_operands == 0) argument[n++] = 0;
    for (int32_t i = 0; i < k->n_results; i++) argument[n++] = results[i];
    argument[n++] = scratch;
    argument[n++] = (uint64_t)k->shape.units;
    argument[n] = (uint64_t)k->shape.finish_units;
    MICA_TRY(cuda_launch_function(stream, k->function, k->blocks,
                                  k->shape.threads ? k->shape.threads : CUDA_THREADS, argument));
    if (!k->finish) return NULL;
    return cuda_launch_function(stream, k->finish, k->finish_blocks, CUDA_THREADS, argument);
}

/* ---- texts ------------------------------------------------------------------------------------*/

static mica_status write_nest(const mica_graph *body, mica_gpu_shape *out_shape, char **out_text) {
    mica_text text;
    mica_nest *nest = NULL;
    *out_text = NULL;
    if (body->n_parameters + body->n_outputs > MOST_ADDRESSES)
        return MICA_ERROR(MICA_UNSUPPORTED, "[fused] more than %d operands and results",
                          (int)MOST_ADDRESSES);
    MICA_TRY(mica_nest_create(body, &nest));
    mica_nest_prepare_gpu(nest);
    mica_gpu_shape_find(nest, out_shape);
    mica_text_init(&text);
    mica_write_gpu_kernel(&text, nest);
    mica_nest_destroy(nest);
    return mica_text_finish(&text, out_text);
}

static void append_kernel(mica_text *text, const char *kernel, int32_t number) {
    mica_text_printf(text, "#define ENTRY k%d\n#define FINISH_ENTRY k%d_finish\n", number, number);
    mica_text_append(text, kernel);
    mica_text_append(text, "#undef ENTRY\n#undef FINISH_ENTRY\n");
}

static mica_status create_kernel(cuda_device *device, cuda_module *module, int32_t number,
                                 const mica_gpu_shape *shape, const mica_graph *body,
                                 cuda_kernel **out_kernel) {
    nest_kernel *k;
    char name[32];
    *out_kernel = NULL;
    MICA_TRY(cuda_kernel_new(sizeof *k, &k));
    snprintf(name, sizeof name, "k%d", number);
    mica_status status = cuda_module_function(device, module, name, &k->function);
    snprintf(name, sizeof name, "k%d_finish", number);
    if (!status && shape->finish_units)
        status = cuda_module_function(device, module, name, &k->finish);
    if (status) {
        mica_free(k);
        return status;
    }
    cuda_module_retain(device, module);
    k->base.module = module;
    k->base.launch = launch_nest;
    k->shape = *shape;
    k->n_operands = body->n_parameters;
    k->n_results = body->n_outputs;
    int64_t most = (int64_t)device->multiprocessors * 64;
    k->blocks = !shape->threads       ? cuda_blocks(device, shape->units)
                : shape->units < most ? shape->units
                                      : most;
    k->finish_blocks = (shape->finish_units + MICA_FINISH_UNITS - 1) / MICA_FINISH_UNITS;
    k->base.base.scratch_bytes = shape->scratch_bytes;
    k->base.base.in_place_operands = shape->in_place[0];
    memcpy(k->base.base.in_place_more, shape->in_place + 1, sizeof k->base.base.in_place_more);
    *out_kernel = &k->base;
    return NULL;
}

/* ---- units ------------------------------------------------------------------------------------*/

typedef struct placed_kernel {
    mica_gpu_shape shape;
    int32_t number; /* of its text */
    const mica_graph *body;
} placed_kernel;

struct mica_unit {
    int32_t n, n_texts, n_modules;
    char **texts; /* different ones; only while the unit is made */
    uint64_t *hashes;
    cuda_module **modules;
    placed_kernel kernels[];
};

static int32_t add_text(mica_unit *unit, char *text) {
    uint64_t hash = mica_hash_string(MICA_HASH_SEED, text);
    for (int32_t i = 0; i < unit->n_texts; i++)
        if (unit->hashes[i] == hash && !strcmp(unit->texts[i], text)) {
            mica_free(text);
            return i;
        }
    unit->hashes[unit->n_texts] = hash;
    unit->texts[unit->n_texts] = text;
    return unit->n_texts++;
}

static mica_status write_unit(mica_unit *unit, mica_node *const *fused) {
    unit->texts = mica_calloc((size_t)unit->n, sizeof *unit->texts);
    unit->hashes = mica_calloc((size_t)unit->n, sizeof *unit->hashes);
    if (!unit->texts || !unit->hashes) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < unit->n; i++) {
        char *text = NULL;
        unit->kernels[i].body = fused[i]->regions[0];
        MICA_TRY(write_nest(fused[i]->regions[0], &unit->kernels[i].shape, &text));
        if (mica_report_is_on()) mica_report_source(i, text);
        unit->kernels[i].number = add_text(unit, text);
    }
    return NULL;
}

static mica_status compile_module(cuda_device *device, mica_unit *unit, int32_t module) {
    char *source = NULL, what[48];
    mica_text text;
    mica_text_init(&text);
    mica_write_prelude(&text, MICA_DIALECT_CUDA);
    int32_t first = module * KERNELS_OF_A_MODULE, n = 0;
    for (; n < KERNELS_OF_A_MODULE && first + n < unit->n_texts; n++)
        append_kernel(&text, unit->texts[first + n], n);
    MICA_TRY(mica_text_finish(&text, &source));
    snprintf(what, sizeof what, "%d nests", n);
    mica_status status = cuda_module_get(device, source, what, &unit->modules[module]);
    mica_free(source);
    return status;
}

static mica_status compile_unit(cuda_device *device, mica_unit *unit) {
    unit->n_modules = (unit->n_texts + KERNELS_OF_A_MODULE - 1) / KERNELS_OF_A_MODULE;
    unit->modules = mica_calloc((size_t)unit->n_modules, sizeof *unit->modules);
    if (!unit->modules) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < unit->n_modules; i++) MICA_TRY(compile_module(device, unit, i));
    return NULL;
}

static void free_texts(mica_unit *unit) {
    for (int32_t i = 0; unit->texts && i < unit->n_texts; i++) mica_free(unit->texts[i]);
    mica_free(unit->texts);
    mica_free(unit->hashes);
    unit->texts = NULL;
    unit->hashes = NULL;
}

mica_status cuda_unit_create(mica_device *base, mica_node *const *fused, int32_t n,
                             bool in_background, mica_unit **out_unit) {
    cuda_device *device = (cuda_device *)base;
    (void)in_background;
    *out_unit = NULL;
    mica_unit *unit = mica_calloc(1, sizeof *unit + sizeof *unit->kernels * (size_t)n);
    if (!unit) return MICA_NO_MEMORY();
    unit->n = n;
    mica_status status = write_unit(unit, fused);
    if (!status) status = compile_unit(device, unit);
    free_texts(unit);
    if (status)
        cuda_unit_destroy(base, unit);
    else
        *out_unit = unit;
    return status;
}

void cuda_unit_destroy(mica_device *base, mica_unit *unit) {
    for (int32_t i = 0; unit->modules && i < unit->n_modules; i++)
        cuda_module_release((cuda_device *)base, unit->modules[i]);
    mica_free(unit->modules);
    mica_free(unit);
}

mica_status cuda_unit_kernel(mica_device *base, mica_unit *unit, int32_t i,
                             mica_kernel **out_kernel) {
    const placed_kernel *placed = &unit->kernels[i];
    cuda_kernel *kernel = NULL;
    *out_kernel = NULL;
    MICA_TRY(create_kernel((cuda_device *)base, unit->modules[placed->number / KERNELS_OF_A_MODULE],
                           placed->number % KERNELS_OF_A_MODULE, &placed->shape, placed->body,
                           &kernel));
    *out_kernel = &kernel->base;
    return NULL;
}
