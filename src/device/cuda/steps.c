#include "device/cuda/steps.h"

#include <stdio.h>
#include <string.h>

#include "codegen/write.h"

_Static_assert(MICA_SPACE_AXES >= MICA_MAX_RANK, "a space holds any array");
_Static_assert(sizeof(mica_places) == 5 * sizeof(uint64_t), "addresses come first");

/* ---- texts ------------------------------------------------------------------------------------*/

static const struct {
    const char *header;
    bool by_dtype;
} families[] = {
    [CUDA_MOVE] = {"codegen/prelude/move.h", false},
    [CUDA_COUNTS] = {"codegen/prelude/counts.h", false},
    [CUDA_REDUCE] = {"codegen/prelude/reduce.h", true},
    [CUDA_CONTRACT] = {"codegen/prelude/contract.h", true},
    [CUDA_WINDOW] = {"codegen/prelude/window.h", true},
    [CUDA_POOL] = {"codegen/prelude/pool.h", true},
};

bool cuda_family_has(cuda_family family, mica_dtype dtype) {
    if (!families[family].by_dtype) return true;
    if (mica_dtype_kind_of(dtype) == MICA_KIND_COMPLEX) return false;
    return dtype != MICA_DTYPE_bool || family == CUDA_REDUCE;
}

static void define_function(mica_text *text, const char *macro, const char *function,
                            const char *dtype) {
    mica_text_printf(text, "#define %s(a, b) mica_%s_%s(a, b)\n", macro, function, dtype);
}

/* The least and the largest of a dtype. */
static void define_ends(mica_text *text, mica_dtype dtype) {
    int width = 8 * (int)mica_dtype_bytes(dtype);
    unsigned long long ones = ~0ull >> (64 - width), half = ones >> 1;
    if (mica_dtype_kind_of(dtype) == MICA_KIND_FLOAT) {
        const char *name = dtype == MICA_DTYPE_f64 ? "F64" : "F32";
        mica_text_printf(text, "#define LOWEST -MICA_INF_%s\n#define HIGHEST MICA_INF_%s\n", name,
                         name);
    } else if (mica_dtype_kind_of(dtype) == MICA_KIND_SIGNED) {
        mica_text_printf(text, "#define LOWEST (C)(-%lldLL - 1)\n#define HIGHEST (C)%lldLL\n",
                         (long long)half, (long long)half);
    } else {
        mica_text_printf(text, "#define LOWEST (C)0\n#define HIGHEST (C)%lluULL\n", ones);
    }
}

/* T and C: how an element is stored and computed with; LOAD and STORE between them. */
static void define_dtype(mica_text *text, mica_dtype dtype) {
    const char *stored = mica_dtype_name(dtype);
    bool is_half = dtype == MICA_DTYPE_f16 || dtype == MICA_DTYPE_bf16;
    mica_dtype compute = is_half ? MICA_DTYPE_f32 : dtype;
    const char *name = mica_dtype_name(compute);
    bool is_float = mica_dtype_kind_of(dtype) == MICA_KIND_FLOAT;
    mica_text_printf(text, "#define T %s\n#define C %s\n", mica_storage_type(dtype),
                     mica_storage_type(compute));
    if (is_half)
        mica_text_printf(text,
                         "#define LOAD(x) mica_convert_%s_f32(x)\n"
                         "#define STORE(x) mica_convert_f32_%s(x)\n",
                         stored, stored);
    else
        mica_text_append(text, "#define LOAD(x) (x)\n#define STORE(x) (x)\n");
    if (!is_float) {
        define_function(text, "AND", "and", name);
        define_function(text, "OR", "or", name);
        mica_text_append(text, dtype == MICA_DTYPE_bool ? "#define ALL_ONES (C)1\n"
                                                        : "#define ALL_ONES (C)~(C)0\n");
    }
    if (dtype == MICA_DTYPE_bool) return;
    define_function(text, "ADD", "add", name);
    define_function(text, "MUL", "mul", name);
    define_function(text, "MAX", "max", name);
    define_function(text, "MIN", "min", name);
    define_ends(text, dtype);
    if (is_float)
        mica_text_printf(text,
                         "#define IS_FLOAT\n#define MULTIPLY_ADD(a, b, c) MICA_FMA_%s(a, b, c)\n",
                         dtype == MICA_DTYPE_f64 ? "F64" : "F32");
    else
        mica_text_append(text, "#define MULTIPLY_ADD(a, b, c) ADD(MUL(a, b), c)\n");
}

mica_status cuda_family_text(cuda_family family, mica_dtype dtype, char **out_text) {
    mica_text text;
    mica_text_init(&text);
    if (families[family].by_dtype) define_dtype(&text, dtype);
    mica_text_printf(&text, "#include \"%s\"\n", families[family].header);
    return mica_text_finish(&text, out_text);
}

/* ---- kernels ----------------------------------------------------------------------------------*/

mica_status cuda_steps_create(cuda_device *device, cuda_family family, mica_dtype dtype,
                              int32_t capacity, cuda_steps **out_steps) {
    cuda_steps *steps;
    char *text = NULL, name[100];
    *out_steps = NULL;
    MICA_TRY(cuda_kernel_new(sizeof *steps + (size_t)capacity * sizeof *steps->steps, &steps));
    mica_status status = cuda_family_text(family, dtype, &text);
    snprintf(name, sizeof name, "%s%s%s", families[family].header,
             families[family].by_dtype ? " " : "",
             families[family].by_dtype ? mica_dtype_name(dtype) : "");
    if (!status) status = cuda_module_get(device, text, name, &steps->base.module);
    mica_free(text);
    if (status) {
        mica_free(steps);
        return status;
    }
    steps->base.launch = cuda_steps_launch;
    *out_steps = steps;
    return NULL;
}

mica_status cuda_steps_add(cuda_device *device, cuda_steps *steps, const char *name, int64_t n,
                           const void *argument, size_t bytes, int32_t x0, int32_t x1, int32_t x2) {
    cuda_step *step = &steps->steps[steps->n];
    if (bytes > sizeof step->argument)
        return MICA_ERROR(MICA_INTERNAL, "[cuda] an argument of %zu bytes is too large", bytes);
    MICA_TRY(cuda_module_function(device, steps->base.module, name, &step->function));
    step->blocks = n < 0 ? -n : cuda_blocks(device, n);
    step->operands[0] = x0;
    step->operands[1] = x1;
    step->operands[2] = x2;
    step->bytes = bytes;
    memcpy(step->argument, argument, bytes);
    steps->n++;
    return NULL;
}

void cuda_steps_add_copy(cuda_steps *steps, int32_t operand, size_t bytes) {
    cuda_step *step = &steps->steps[steps->n++];
    step->function = NULL;
    step->operands[0] = operand;
    step->bytes = bytes;
}

static mica_status launch_step(const cuda_step *step, cuda_stream *stream,
                               const mica_address *operands, mica_address y, mica_address scratch) {
    if (!step->function) {
        mica_address x = operands[step->operands[0]];
        return x == y ? NULL : cuda_copy((mica_device_stream *)stream, y, x, step->bytes);
    }
    uint64_t argument[sizeof step->argument / sizeof *step->argument];
    memcpy(argument, step->argument, step->bytes);
    for (int i = 0; i < 3; i++)
        if (step->operands[i] >= 0) argument[i] = operands[step->operands[i]];
    argument[3] = y;
    argument[4] = scratch;
    return cuda_launch_function(stream, step->function, step->blocks, CUDA_THREADS, argument);
}

mica_status cuda_steps_launch(const cuda_kernel *kernel, cuda_stream *stream,
                              const mica_address *operands, const mica_address *results,
                              mica_address scratch) {
    const cuda_steps *s = (const cuda_steps *)kernel;
    mica_address y = s->result == CUDA_SCRATCH ? scratch : results[s->result];
    for (int32_t i = 0; i < s->n; i++)
        MICA_TRY(launch_step(&s->steps[i], stream, operands, y, scratch));
    return NULL;
}

mica_status cuda_steps_finish(cuda_device *device, mica_status status, cuda_steps *steps,
                              cuda_kernel **out_kernel) {
    *out_kernel = status ? NULL : &steps->base;
    if (status) cuda_kernel_destroy(&device->base, &steps->base.base);
    return status;
}

/* ---- spaces -----------------------------------------------------------------------------------*/

void cuda_space_init(mica_space *space) {
    *space = (mica_space){.n = 1};
}

void cuda_space_add(mica_space *space, int64_t size, int64_t stride) {
    space->n *= size;
    if (size == 1) return;
    int64_t last = space->rank - 1;
    if (last >= 0 && space->strides[last] == stride * size) {
        space->sizes[last] *= size;
        space->strides[last] = stride;
        return;
    }
    space->sizes[space->rank] = size;
    space->strides[space->rank++] = stride;
}

void cuda_space_add_pair(mica_space *a, mica_space *b, int64_t size, int64_t a_stride,
                         int64_t b_stride) {
    int64_t last = a->rank - 1;
    a->n *= size;
    b->n *= size;
    if (size == 1) return;
    if (last >= 0 && a->strides[last] == a_stride * size && b->strides[last] == b_stride * size) {
        a->sizes[last] *= size;
        b->sizes[last] *= size;
    } else {
        last++;
        a->sizes[last] = b->sizes[last] = size;
        a->rank = b->rank = last + 1;
    }
    a->strides[last] = a_stride;
    b->strides[last] = b_stride;
}

void cuda_strides(const mica_type *type, int64_t strides[MICA_MAX_RANK]) {
    int64_t stride = 1;
    for (int32_t d = type->rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= type->dims[d];
    }
}
