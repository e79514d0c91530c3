/* argmax and argmin along one axis: the first of equals; NaN beats everything. */
#include <string.h>

#include "codegen/write.h"
#include "device/cpu/write_c.h"
#include "ir/scalar.h"

#define GRAIN_WORK 16384
/* Neighbours whose best is found first, by the loops of reduce: more where the search for its place
 * is in vectors. */
#define SHORT_BLOCK 256
#define LONG_BLOCK 1024
#define GROUP 64 /* blocks at a time */
#define ROWS 16  /* of one block, at a time: they stay in the caches */

/* Writes the index of the best of n elements that are `stride` apart. */
typedef int64_t (*best_index)(const void *x, int64_t stride, int64_t n);

/* acc[i] better than *best, both of the reducer's compute type. */
typedef bool (*better_than)(const void *acc, int64_t i, const void *best);
/* The first of n elements that equals *best, which is one of them. */
typedef int64_t (*first_equal)(const void *x, int64_t n, const void *best);

typedef struct argmax_kernel {
    cpu_kernel base;
    best_index find;
    mica_cpu_reducer reducer; /* max or min */
    better_than better;
    first_equal first;
    mica_cpu_map store; /* from i64 */
    int64_t outer, size, inner;
    int64_t block;
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

#define FIRST_DEFINE(dtype, storage, compute, LOAD)                                                \
    static int64_t first_##dtype(const void *x, int64_t n, const void *best) {                     \
        const storage *at = (const storage *)x;                                                    \
        compute value = *(const compute *)best;                                                    \
        int64_t i = 0;                                                                             \
        if (value != value)                                                                        \
            while (i < n - 1 && LOAD(at[i]) == LOAD(at[i])) i++;                                   \
        else                                                                                       \
            while (i < n - 1 && LOAD(at[i]) != value) i++;                                         \
        return i;                                                                                  \
    }
FIRST_DEFINE(i8, int8_t, int32_t, SAME)
FIRST_DEFINE(i16, int16_t, int32_t, SAME)
FIRST_DEFINE(u8, uint8_t, uint32_t, SAME)
FIRST_DEFINE(u16, uint16_t, uint32_t, SAME)
FIRST_DEFINE(f16, uint16_t, float, mica_convert_f16_f32)
FIRST_DEFINE(bf16, uint16_t, float, mica_convert_bf16_f32)

/* The same for types of 4 and 8 bytes: 64 bytes that do not hold it are left behind at a time. */
typedef uint64_t two_words __attribute__((vector_size(16)));
#define FIRST_IN_VECTORS(dtype, type)                                                              \
    typedef type lanes_##dtype __attribute__((vector_size(16)));                                   \
    static int64_t first_##dtype(const void *x, int64_t n, const void *best) {                     \
        const type *at = (const type *)x;                                                          \
        type value = *(const type *)best;                                                          \
        int64_t i = 0, step = 64 / (int64_t)sizeof(type);                                          \
        lanes_##dtype want = value - (lanes_##dtype){0}, v[4];                                     \
        if (value != value) {                                                                      \
            while (i < n - 1 && at[i] == at[i]) i++;                                               \
            return i;                                                                              \
        }                                                                                          \
        for (; i + step < n; i += step) {                                                          \
            memcpy(v, at + i, sizeof v);                                                           \
            two_words found = (two_words)(v[0] == want) | (two_words)(v[1] == want) |              \
                              (two_words)(v[2] == want) | (two_words)(v[3] == want);               \
            if ((found[0] | found[1]) != 0) break;                                                 \
        }                                                                                          \
        while (i < n - 1 && at[i] != value) i++;                                                   \
        return i;                                                                                  \
    }
FIRST_IN_VECTORS(i32, int32_t)
FIRST_IN_VECTORS(i64, int64_t)
FIRST_IN_VECTORS(u32, uint32_t)
FIRST_IN_VECTORS(u64, uint64_t)
FIRST_IN_VECTORS(f32, float)
FIRST_IN_VECTORS(f64, double)
#define FIRST_ENTRY(dtype) [MICA_DTYPE_##dtype] = first_##dtype
static const first_equal firsts[MICA_DTYPE_COUNT] = {
    FIRST_ENTRY(i8),  FIRST_ENTRY(i16),  FIRST_ENTRY(i32), FIRST_ENTRY(i64),
    FIRST_ENTRY(u8),  FIRST_ENTRY(u16),  FIRST_ENTRY(u32), FIRST_ENTRY(u64),
    FIRST_ENTRY(f16), FIRST_ENTRY(bf16), FIRST_ENTRY(f32), FIRST_ENTRY(f64),
};

#define BEST_ENTRY(dtype) [MICA_DTYPE_##dtype] = {argmax_##dtype, argmin_##dtype}
static const best_index finders[MICA_DTYPE_COUNT][2] = {
    BEST_ENTRY(i8),  BEST_ENTRY(i16),  BEST_ENTRY(i32), BEST_ENTRY(i64),
    BEST_ENTRY(u8),  BEST_ENTRY(u16),  BEST_ENTRY(u32), BEST_ENTRY(u64),
    BEST_ENTRY(f16), BEST_ENTRY(bf16), BEST_ENTRY(f32), BEST_ENTRY(f64),
};

/* ---- rows of neighbours: the best block, then its place there ---------------------------------*/

#define BETTER_DEFINE(name, compute, BETTER)                                                       \
    static bool name(const void *acc, int64_t i, const void *best) {                               \
        compute a = ((const compute *)acc)[i], b = *(const compute *)best;                         \
        return BETTER(a, b);                                                                       \
    }
#define BETTER_BOTH(type, compute, larger, smaller)                                                \
    BETTER_DEFINE(larger_##type, compute, larger)                                                  \
    BETTER_DEFINE(smaller_##type, compute, smaller)
BETTER_BOTH(i32, int32_t, LARGER_INT, SMALLER_INT)
BETTER_BOTH(i64, int64_t, LARGER_INT, SMALLER_INT)
BETTER_BOTH(u32, uint32_t, LARGER_INT, SMALLER_INT)
BETTER_BOTH(u64, uint64_t, LARGER_INT, SMALLER_INT)
BETTER_BOTH(f32, float, LARGER, SMALLER)
BETTER_BOTH(f64, double, LARGER, SMALLER)

/* Narrow dtypes are reduced in 32 bits. */
static better_than find_better(mica_dtype dtype, bool smaller) {
    switch (dtype) {
    case MICA_DTYPE_i8:
    case MICA_DTYPE_i16:
    case MICA_DTYPE_i32: return smaller ? smaller_i32 : larger_i32;
    case MICA_DTYPE_i64: return smaller ? smaller_i64 : larger_i64;
    case MICA_DTYPE_u8:
    case MICA_DTYPE_u16:
    case MICA_DTYPE_u32: return smaller ? smaller_u32 : larger_u32;
    case MICA_DTYPE_u64: return smaller ? smaller_u64 : larger_u64;
    case MICA_DTYPE_f64: return smaller ? smaller_f64 : larger_f64;
    default: return smaller ? smaller_f32 : larger_f32;
    }
}

/* The first block that holds the best is the first that is better than all before it; a NaN, once
 * met, is not beaten. Zeros of both signs are equal. */
static int64_t find_in_row(const argmax_kernel *k, const char *x) {
    _Alignas(8) char parts[GROUP * 8], best[8];
    int64_t offsets[GROUP], blocks = k->size / k->block, place = 0;
    size_t bytes = (size_t)k->reducer.bytes;
    for (int64_t b = 0; b < blocks; b += GROUP) {
        int64_t n = cpu_min(GROUP, blocks - b);
        for (int64_t i = 0; i < n; i++) offsets[i] = (b + i) * k->block;
        k->reducer.rows(x, offsets, n, k->block, parts);
        for (int64_t i = 0; i < n; i++) {
            if (b + i > 0 && !k->better(parts, i, best)) continue;
            memcpy(best, parts + (size_t)i * bytes, bytes);
            place = b + i;
        }
    }
    int64_t rest = k->size - blocks * k->block, last = blocks * k->block;
    if (rest > 0) {
        k->reducer.rows(x, &last, 1, rest, parts);
        if (blocks == 0 || k->better(parts, 0, best)) {
            memcpy(best, parts, bytes);
            place = blocks;
        }
    }
    int64_t begin = place * k->block;
    return begin + k->first(x + begin * k->x_bytes, cpu_min(k->block, k->size - begin), best);
}

/* Rows of one block, several at a time: indices[i] of the n rows from x on. */
static void find_in_rows(const argmax_kernel *k, const char *x, int64_t n, int64_t *indices) {
    _Alignas(8) char parts[ROWS * 8];
    int64_t offsets[ROWS], row = k->size * k->x_bytes;
    for (int64_t i = 0; i < n; i++) offsets[i] = i * k->size;
    k->reducer.rows(x, offsets, n, k->size, parts);
    for (int64_t i = 0; i < n; i++)
        indices[i] = k->first(x + i * row, k->size, parts + i * k->reducer.bytes);
}

typedef struct argmax_run {
    const argmax_kernel *kernel;
    const char *x;
    char *y;
} argmax_run;

static void run_range(void *context, int64_t begin, int64_t end) {
    const argmax_run *run = context;
    const argmax_kernel *k = run->kernel;
    int64_t indices[ROWS];
    const void *from = indices;
    if (k->inner == 1 && k->size > SHORT_BLOCK && k->size <= k->block) {
        for (int64_t i = begin, n; i < end; i += n) {
            n = cpu_min(ROWS, end - i);
            find_in_rows(k, run->x + i * k->size * k->x_bytes, n, indices);
            k->store(&from, run->y + i * k->y_bytes, n);
        }
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        int64_t position = i / k->inner * k->size * k->inner + i % k->inner;
        const char *x = run->x + position * k->x_bytes;
        indices[0] = k->inner == 1 && k->size > SHORT_BLOCK ? find_in_row(k, x)
                                                            : k->find(x, k->inner, k->size);
        k->store(&from, run->y + i * k->y_bytes, 1);
    }
}

static void run_argmax(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                       void *scratch) {
    (void)scratch;
    const argmax_kernel *k = (const argmax_kernel *)kernel;
    argmax_run run = {k, operands[0], results[0]};
    mica_parallel_walk(k->outer * k->inner, cpu_max(1, GRAIN_WORK / cpu_max(1, k->size)), run_range,
                       &run);
}

static mica_status write_argmax(const cpu_kernel *kernel, const mica_node *node,
                                mica_kernel_text *out) {
    const argmax_kernel *k = (const argmax_kernel *)kernel;
    mica_dtype dtype = mica_operand_type(node, 0)->dtype, index = node->results[0].dtype;
    const char *type;
    MICA_TRY(mica_cpu_write_float(node, dtype, &type));
    mica_text_printf(out->body,
                     "    for (int64_t i = 0; i < %lld; i++)\n"
                     "        ((%s *)y[0])[i] = mica_convert_i64_%s(mica_best_%s_%s(\n"
                     "            (const %s *)x[0] + i / %lld * %lld + i %% %lld, %lld, %lld));\n",
                     (long long)(k->outer * k->inner), mica_storage_type(index),
                     mica_dtype_name(index), mica_op_name(node->op), mica_dtype_name(dtype), type,
                     (long long)k->inner, (long long)(k->size * k->inner), (long long)k->inner,
                     (long long)k->inner, (long long)k->size);
    return NULL;
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
    k->base.write = write_argmax;
    const mica_cpu_isa *isa = mica_cpu_isa_current();
    bool smaller = node->op == MICA_OP_argmin;
    mica_cpu_reduction kind = smaller ? CPU_MIN : CPU_MAX;
    k->find = find;
    k->reducer = x->dtype < MICA_DTYPE_f16 ? isa->reduce_int[x->dtype][kind]
                                           : isa->reduce_float[x->dtype - MICA_DTYPE_f16][kind];
    k->better = find_better(x->dtype, smaller);
    k->first = firsts[x->dtype];
    k->store = store;
    k->x_bytes = (int32_t)mica_dtype_bytes(x->dtype);
    k->block = k->x_bytes >= 4 ? LONG_BLOCK : SHORT_BLOCK;
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
