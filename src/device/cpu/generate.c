/* iota and rng_bits: values made from their position alone. */
#include <string.h>

#include "codegen/write.h"
#include "device/cpu/write_c.h"

#define CHUNK 512
#define IOTA_GRAIN 32768
#define RNG_GRAIN 4096 /* blocks of 16 bytes */

typedef struct iota_kernel {
    cpu_kernel base;
    mica_cpu_map convert; /* from i64, or from i32 where that is enough; NULL: i32 it is */
    bool is_short;
    int64_t n, size, inner;
    int32_t bytes;
} iota_kernel;

typedef struct rng_kernel {
    cpu_kernel base;
    mica_cpu_philox philox;
    size_t bytes;
} rng_kernel;

typedef struct generate_run {
    const void *kernel;
    const uint32_t *key, *counter;
    void *y;
} generate_run;

/* values[j] = the index along the axis of element begin + j; 16 bytes at a time where values count.
 */
#define FILL_DEFINE(name, type, lanes)                                                             \
    typedef type name##_lanes __attribute__((vector_size(16)));                                    \
    static void count_##name(type first, int64_t n, type *values) {                                \
        name##_lanes next = {0};                                                                   \
        int64_t i = 0;                                                                             \
        for (int l = 0; l < lanes; l++) next[l] = (type)(first + l);                               \
        for (; i + lanes <= n; i += lanes) {                                                       \
            memcpy(values + i, &next, sizeof next);                                                \
            next += lanes;                                                                         \
        }                                                                                          \
        for (; i < n; i++) values[i] = (type)(first + i);                                          \
    }                                                                                              \
    static void name(const iota_kernel *k, int64_t begin, int64_t n, type *values) {               \
        int64_t repeat = begin % k->inner, value = begin / k->inner % k->size;                     \
        for (int64_t j = 0, run; j < n; j += run) {                                                \
            if (k->inner == 1) {                                                                   \
                run = cpu_min(n - j, k->size - value);                                             \
                count_##name((type)value, run, values + j);                                        \
                value = value + run == k->size ? 0 : value + run;                                  \
                continue;                                                                          \
            }                                                                                      \
            run = cpu_min(n - j, k->inner - repeat);                                               \
            for (int64_t i = 0; i < run; i++) values[j + i] = (type)value;                         \
            repeat += run;                                                                         \
            if (repeat == k->inner) repeat = 0, value = value + 1 == k->size ? 0 : value + 1;      \
        }                                                                                          \
    }
FILL_DEFINE(fill_i32, uint32_t, 4)
FILL_DEFINE(fill_i64, uint64_t, 2)

static void run_iota_range(void *context, int64_t begin, int64_t end) {
    const generate_run *run = context;
    const iota_kernel *k = run->kernel;
    uint32_t narrow[CHUNK];
    uint64_t wide[CHUNK];
    const void *x = k->is_short ? (const void *)narrow : (const void *)wide;
    if (!k->convert) {
        fill_i32(k, begin, end - begin, (uint32_t *)run->y + begin);
        return;
    }
    for (int64_t i = begin; i < end; i += CHUNK) {
        int64_t n = cpu_min(CHUNK, end - i);
        if (k->is_short)
            fill_i32(k, i, n, narrow);
        else
            fill_i64(k, i, n, wide);
        k->convert(&x, (char *)run->y + i * k->bytes, n);
    }
}

static void run_iota(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                     void *scratch) {
    (void)operands, (void)scratch;
    const iota_kernel *k = (const iota_kernel *)kernel;
    generate_run run = {.kernel = k, .y = results[0]};
    mica_parallel_walk(k->n, IOTA_GRAIN, run_iota_range, &run);
}

static mica_status write_iota(const cpu_kernel *kernel, const mica_node *node,
                              mica_kernel_text *out) {
    const iota_kernel *k = (const iota_kernel *)kernel;
    const char *name = mica_dtype_name(node->results[0].dtype);
    const char *storage = mica_storage_type(node->results[0].dtype);
    mica_text_printf(out->body,
                     "    for (int64_t i = 0; i < %lld; i++)\n"
                     "        ((%s *)y[0])[i] = mica_convert_i64_%s(i / %lld %% %lld);\n",
                     (long long)k->n, storage, name, (long long)k->inner, (long long)k->size);
    return NULL;
}

mica_status mica_cpu_create_iota(const mica_node *node, cpu_kernel **out) {
    const mica_type *type = &node->results[0];
    int64_t axis = mica_node_int(node, "axis");
    bool is_short = type->dims[axis] <= INT32_MAX;
    mica_cpu_map convert =
        mica_cpu_isa_current()
            ->elementwise->convert[is_short ? MICA_DTYPE_i32 : MICA_DTYPE_i64][type->dtype];
    if (!convert) return mica_cpu_unsupported(node, type->dtype);
    iota_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_iota, &k));
    k->base.write = write_iota;
    k->convert = is_short && type->dtype == MICA_DTYPE_i32 ? NULL : convert;
    k->is_short = is_short;
    k->bytes = (int32_t)mica_dtype_bytes(type->dtype);
    k->n = mica_type_elements(type);
    k->size = type->dims[axis];
    k->inner = 1;
    for (int64_t i = axis + 1; i < type->rank; i++) k->inner *= type->dims[i];
    *out = &k->base;
    return NULL;
}

/* Blocks are 16 bytes; the last one may be cut. A u64 is two words, low word first. */
static void run_rng_range(void *context, int64_t begin, int64_t end) {
    const generate_run *run = context;
    const rng_kernel *k = run->kernel;
    uint32_t words[4 * CHUNK];
    for (int64_t i = begin; i < end; i += CHUNK) {
        int64_t n = cpu_min(CHUNK, end - i);
        k->philox(run->key, run->counter, i, n, words);
        size_t from = (size_t)i * 16, size = (size_t)n * 16;
        memcpy((char *)run->y + from, words, size < k->bytes - from ? size : k->bytes - from);
    }
}

static void run_rng(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                    void *scratch) {
    (void)scratch;
    const rng_kernel *k = (const rng_kernel *)kernel;
    generate_run run = {k, operands[0], operands[1], results[0]};
    mica_parallel_walk(cpu_ceil_div((int64_t)k->bytes, 16), RNG_GRAIN, run_rng_range, &run);
}

static mica_status write_rng(const cpu_kernel *kernel, const mica_node *node,
                             mica_kernel_text *out) {
    const rng_kernel *k = (const rng_kernel *)kernel;
    (void)node;
    mica_text_printf(out->body,
                     "    mica_host_random((const uint32_t *)x[0], (const uint32_t *)x[1], %zu, "
                     "y[0]);\n",
                     k->bytes);
    return NULL;
}

mica_status mica_cpu_create_rng_bits(const mica_node *node, cpu_kernel **out) {
    rng_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(sizeof *k, run_rng, &k));
    k->base.write = write_rng;
    k->philox = mica_cpu_isa_current()->philox;
    k->bytes = mica_type_bytes(&node->results[0]);
    *out = &k->base;
    return NULL;
}
