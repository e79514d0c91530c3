/* What the tests of the built-in kernels share: random data, and running one node everywhere. */
#ifndef MICA_TESTS_DEVICE_CPU_TEST_H
#define MICA_TESTS_DEVICE_CPU_TEST_H

#include "../test.h"
#include "base/pool.h"
#include "device/cpu/kernels.h"
#include "ir/scalar.h"

static const char *const cpu_test_isas[] = {"baseline", "avx2", "avx512"};
static const int cpu_test_threads[] = {1, 2, 5};

/* xorshift; the same sequence in every run. */
static uint64_t cpu_test_seed = 88172645463325252u;
static inline uint64_t random_bits(void) {
    cpu_test_seed ^= cpu_test_seed << 13;
    cpu_test_seed ^= cpu_test_seed >> 7;
    cpu_test_seed ^= cpu_test_seed << 17;
    return cpu_test_seed * 2685821657736338717u;
}
static inline double random_unit(void) {
    return (double)(random_bits() >> 11) * 0x1p-53;
}

/* Element i of an array as a double, and back (rounded as convert does). */
static inline double get_element(const void *x, mica_dtype dtype, int64_t i) {
    switch (dtype) {
    case MICA_DTYPE_bool: return ((const uint8_t *)x)[i];
    case MICA_DTYPE_i8: return ((const int8_t *)x)[i];
    case MICA_DTYPE_i16: return ((const int16_t *)x)[i];
    case MICA_DTYPE_i32: return ((const int32_t *)x)[i];
    case MICA_DTYPE_i64: return (double)((const int64_t *)x)[i];
    case MICA_DTYPE_u8: return ((const uint8_t *)x)[i];
    case MICA_DTYPE_u16: return ((const uint16_t *)x)[i];
    case MICA_DTYPE_u32: return ((const uint32_t *)x)[i];
    case MICA_DTYPE_u64: return (double)((const uint64_t *)x)[i];
    case MICA_DTYPE_f16: return mica_convert_f16_f64(((const uint16_t *)x)[i]);
    case MICA_DTYPE_bf16: return mica_convert_bf16_f64(((const uint16_t *)x)[i]);
    case MICA_DTYPE_f32: return ((const float *)x)[i];
    default: return ((const double *)x)[i];
    }
}
static inline void set_element(void *x, mica_dtype dtype, int64_t i, double value) {
    switch (dtype) {
    case MICA_DTYPE_bool: ((uint8_t *)x)[i] = value != 0; break;
    case MICA_DTYPE_i8: ((int8_t *)x)[i] = mica_convert_f64_i8(value); break;
    case MICA_DTYPE_i16: ((int16_t *)x)[i] = mica_convert_f64_i16(value); break;
    case MICA_DTYPE_i32: ((int32_t *)x)[i] = mica_convert_f64_i32(value); break;
    case MICA_DTYPE_i64: ((int64_t *)x)[i] = mica_convert_f64_i64(value); break;
    case MICA_DTYPE_u8: ((uint8_t *)x)[i] = mica_convert_f64_u8(value); break;
    case MICA_DTYPE_u16: ((uint16_t *)x)[i] = mica_convert_f64_u16(value); break;
    case MICA_DTYPE_u32: ((uint32_t *)x)[i] = mica_convert_f64_u32(value); break;
    case MICA_DTYPE_u64: ((uint64_t *)x)[i] = mica_convert_f64_u64(value); break;
    case MICA_DTYPE_f16: ((uint16_t *)x)[i] = mica_convert_f64_f16(value); break;
    case MICA_DTYPE_bf16: ((uint16_t *)x)[i] = mica_convert_f64_bf16(value); break;
    case MICA_DTYPE_f32: ((float *)x)[i] = (float)value; break;
    default: ((double *)x)[i] = value; break;
    }
}

/* Unit roundoff of a float dtype, 0 for the others. */
static inline double dtype_epsilon(mica_dtype dtype) {
    switch (dtype) {
    case MICA_DTYPE_f16: return 0x1p-11;
    case MICA_DTYPE_bf16: return 0x1p-8;
    case MICA_DTYPE_f32: return 0x1p-24;
    case MICA_DTYPE_f64: return 0x1p-53;
    default: return 0;
    }
}

/* Small whole numbers for integers, numbers in (-1, 1) for floats. The caller frees it. */
static inline void *random_array(const mica_type *type) {
    int64_t n = mica_type_elements(type);
    void *x = calloc((size_t)n + 1, 16);
    mica_dtype_kind kind = mica_dtype_kind_of(type->dtype);
    for (int64_t i = 0; i < n; i++) {
        if (kind == MICA_KIND_COMPLEX) {
            mica_dtype part = type->dtype == MICA_DTYPE_c64 ? MICA_DTYPE_f32 : MICA_DTYPE_f64;
            set_element(x, part, 2 * i, random_unit());
            set_element(x, part, 2 * i + 1, random_unit());
        } else if (kind == MICA_KIND_FLOAT) {
            set_element(x, type->dtype, i, 2 * random_unit() - 1);
        } else {
            double low = kind == MICA_KIND_SIGNED ? -9 : 0;
            double high = kind == MICA_KIND_BOOLEAN ? 2 : 10;
            set_element(x, type->dtype, i, floor(low + (high - low) * random_unit()));
        }
    }
    return x;
}

static inline mica_graph *new_graph(void) {
    mica_graph *g = NULL;
    mica_status_release(mica_graph_create("test", &g));
    return g;
}

static inline mica_value new_parameter(mica_graph *g, mica_dtype dtype, mica_ints dims) {
    mica_type type = mica_type_make(dtype, dims);
    return mica_parameter(g, &type);
}

/* Runs y's node once; operand `in_place` (or none: -1) shares the result's memory. Addresses are
 * `shift` elements off a 64-byte line. The caller frees what comes back. */
static inline void *run_once(mica_value y, const void *const *operands, int32_t in_place,
                             size_t shift) {
    const mica_node *node = y.node;
    mica_kernel *kernel = NULL;
    if (!test_ok(mica_cpu_kernel_create(node, &kernel), __FILE__, __LINE__, "kernel_create"))
        return NULL;
    CHECK(kernel->cannot_fail);
    size_t bytes = mica_type_bytes(&node->results[0]);
    size_t step = shift * mica_dtype_bytes(node->results[0].dtype);
    char *memory = aligned_alloc(64, (bytes + step + 127) / 64 * 64), *result = memory + step;
    memset(memory, 0xAB, (bytes + step + 127) / 64 * 64);
    void *copies[8] = {NULL};
    const void *inputs[8];
    for (int32_t i = 0; i < node->n_operands; i++) {
        size_t size = mica_type_bytes(mica_operand_type(node, i));
        size_t offset = shift * mica_dtype_bytes(mica_operand_type(node, i)->dtype);
        copies[i] = aligned_alloc(64, (size + offset + 127) / 64 * 64);
        inputs[i] = (char *)copies[i] + offset;
        if (i == in_place) inputs[i] = result;
        memcpy((void *)inputs[i], operands[i], size);
    }
    void *scratch = aligned_alloc(64, (kernel->scratch_bytes + 127) / 64 * 64);
    memset(scratch, 0xCD, kernel->scratch_bytes);
    void *results[1] = {result};
    mica_cpu_kernel_run(kernel, inputs, results, scratch);
    for (size_t i = 0; i < 8; i++) { /* nothing is written outside */
        if (step > i) CHECK((unsigned char)result[-1 - (int)i] == 0xAB);
        CHECK((unsigned char)result[bytes + i] == 0xAB);
    }
    free(scratch);
    for (int32_t i = 0; i < node->n_operands; i++) free(copies[i]);
    mica_cpu_kernel_destroy(kernel);
    void *out = calloc(bytes + 16, 1);
    memcpy(out, result, bytes);
    free(memory);
    return out;
}

/* The same bits; of a NaN only that it is one, as IEEE 754 leaves its sign and payload open. */
static inline bool same_bits(const mica_type *type, const void *a, const void *b) {
    size_t bytes = mica_type_bytes(type);
    if (!memcmp(a, b, bytes)) return true;
    if (mica_dtype_kind_of(type->dtype) != MICA_KIND_FLOAT) return false;
    size_t size = mica_dtype_bytes(type->dtype);
    for (size_t i = 0; i < bytes / size; i++) {
        double p = get_element(a, type->dtype, (int64_t)i),
               q = get_element(b, type->dtype, (int64_t)i);
        bool same = !memcmp((const char *)a + i * size, (const char *)b + i * size, size);
        if (!same && !(p != p && q != q)) return false;
    }
    return true;
}

/* The same, on every instruction set, with 1, 2 and 5 threads, in place where allowed and at odd
 * addresses: all bits must agree. NULL when the kernel could not be made. */
static inline void *run_everywhere(mica_value y, const void *const *operands) {
    if (y.node == NULL) {
        test_report(__FILE__, __LINE__, "the node was not made");
        return NULL;
    }
    void *first = run_once(y, operands, -1, 0);
    const mica_type *type = &y.node->results[0];
    const char *name = mica_op_describe(y.node->op)->name;
    mica_kernel *kernel = NULL;
    if (!first) return NULL;
    for (size_t i = 0; i < sizeof cpu_test_isas / sizeof *cpu_test_isas; i++) {
        if (!mica_cpu_isa_force(cpu_test_isas[i])) continue;
        for (size_t t = 0; t < sizeof cpu_test_threads / sizeof *cpu_test_threads; t++) {
            CHECK_OK(mica_pool_set_threads(cpu_test_threads[t]));
            void *again = run_once(y, operands, -1, t);
            test_checks++;
            if (again && !same_bits(type, first, again))
                test_report(__FILE__, __LINE__, "%s: other bits with %s and %d threads", name,
                            cpu_test_isas[i], cpu_test_threads[t]);
            free(again);
        }
    }
    mica_cpu_isa_force(NULL);
    CHECK_OK(mica_pool_set_threads(0));
    if (test_ok(mica_cpu_kernel_create(y.node, &kernel), __FILE__, __LINE__, "kernel_create"))
        for (int32_t i = 0; i < y.node->n_operands; i++) {
            if (!(kernel->in_place_operands >> i & 1)) continue;
            void *again = run_once(y, operands, i, 0);
            test_checks++;
            if (again && !same_bits(type, first, again))
                test_report(__FILE__, __LINE__, "%s: other bits in place of %d", name, i);
            free(again);
        }
    mica_cpu_kernel_destroy(kernel);
    mica_pool_shutdown();
    return first;
}

#endif
