/* Batching of random bits: Philox 4x32-10 written out as integer operations on all slices at once
 * where a slice draws few words, one slice after the other where the primitive's own loop is worth
 * more than that. */
#include "transform/rules.h"
#include "transform/vmap.h"

enum { ROUNDS = 10, FEW_BLOCKS = 64 };

static mica_value number(mica_graph *g, mica_dtype dtype, uint64_t value) {
    uint32_t narrow = (uint32_t)value;
    mica_type type = mica_type_scalar(dtype);
    const void *data = dtype == MICA_DTYPE_u32 ? (const void *)&narrow : (const void *)&value;
    return mica_constant(g, (mica_data){&type, data});
}

/* Column k of x, u32[b, n], as u32[b, 1]. */
static mica_value column(mica_graph *g, mica_value x, int64_t k) {
    int64_t size = mica_value_type(x)->dims[0];
    return mica_slice(g, x, MICA_INTS(0, k), MICA_INTS(size, k + 1), MICA_INTS(1, 1));
}

static mica_value wide(mica_graph *g, mica_value x) {
    return mica_convert(g, x, MICA_DTYPE_u64);
}

static mica_value low_word(mica_graph *g, mica_value x) {
    mica_value mask = number(g, MICA_DTYPE_u64, UINT32_MAX);
    return mica_convert(g, mica_and(g, x, mask), MICA_DTYPE_u32);
}

static mica_value high_word(mica_graph *g, mica_value x) {
    return mica_convert(g, mica_shr(g, x, number(g, MICA_DTYPE_u64, 32)), MICA_DTYPE_u32);
}

static mica_value pair(mica_graph *g, mica_value low, mica_value high) {
    mica_value shifted = mica_shl(g, wide(g, high), number(g, MICA_DTYPE_u64, 32));
    return mica_or(g, wide(g, low), shifted);
}

/* The counters of all blocks, four of u32[b, blocks]: 128-bit sums. */
static void counters(mica_graph *g, mica_value counter, int64_t size, int64_t blocks,
                     mica_value out[4]) {
    mica_value block = mica_iota(g, MICA_INTS(size, blocks), 1, MICA_DTYPE_u64);
    mica_value low = pair(g, column(g, counter, 0), column(g, counter, 1));
    mica_value high = pair(g, column(g, counter, 2), column(g, counter, 3));
    mica_value sum = mica_add(g, low, block);
    mica_value carry = wide(g, mica_compare(g, sum, low, "lt"));
    mica_value upper = mica_add(g, high, carry);
    out[0] = low_word(g, sum);
    out[1] = high_word(g, sum);
    out[2] = low_word(g, upper);
    out[3] = high_word(g, upper);
}

static void philox_round(mica_graph *g, mica_value x[4], mica_value k0, mica_value k1) {
    mica_value a = mica_mul(g, wide(g, x[0]), number(g, MICA_DTYPE_u64, 0xd2511f53));
    mica_value b = mica_mul(g, wide(g, x[2]), number(g, MICA_DTYPE_u64, 0xcd9e8d57));
    mica_value first = mica_xor(g, mica_xor(g, high_word(g, b), x[1]), k0);
    mica_value third = mica_xor(g, mica_xor(g, high_word(g, a), x[3]), k1);
    x[0] = first;
    x[1] = low_word(g, b);
    x[2] = third;
    x[3] = low_word(g, a);
}

/* u32[b, 4 * blocks] */
static mica_value words(mica_graph *g, mica_value key, mica_value counter, int64_t size,
                        int64_t blocks) {
    mica_value x[4], k0 = column(g, key, 0), k1 = column(g, key, 1);
    counters(g, counter, size, blocks, x);
    for (int round = 0; round < ROUNDS; round++) {
        philox_round(g, x, k0, k1);
        k0 = mica_add(g, k0, number(g, MICA_DTYPE_u32, 0x9e3779b9));
        k1 = mica_add(g, k1, number(g, MICA_DTYPE_u32, 0xbb67ae85));
    }
    for (int i = 0; i < 4; i++) x[i] = mica_reshape(g, x[i], MICA_INTS(size, blocks, 1));
    return mica_reshape(g, mica_concat(g, x, 4, 2), MICA_INTS(size, 4 * blocks));
}

MICA_VMAP_RULE(rng_bits) {
    mica_graph *g = pass->g;
    const mica_type *type = &n->results[0];
    int64_t count = mica_type_elements(type), size = pass->size;
    bool is_wide = type->dtype == MICA_DTYPE_u64;
    int64_t n_words = is_wide ? 2 * count : count, blocks = (n_words + 3) / 4;
    if (blocks < 1 || blocks > FEW_BLOCKS || type->rank == MICA_MAX_RANK ||
        (type->dtype != MICA_DTYPE_u32 && !is_wide)) {
        mica_vmap_by_scan(pass, n, x, y);
        return;
    }
    mica_value all = words(g, mica_mapped(pass, x[0]), mica_mapped(pass, x[1]), size, blocks);
    all = mica_slice(g, all, MICA_INTS(0, 0), MICA_INTS(size, n_words), MICA_INTS(1, 1));
    if (is_wide) {
        all = mica_reshape(g, all, MICA_INTS(size, count, 2));
        all = mica_reshape(g, mica_bitcast(g, all, MICA_DTYPE_u64), MICA_INTS(size, count));
    }
    int64_t dims[MICA_MAX_RANK] = {size};
    for (int32_t i = 0; i < type->rank; i++) dims[i + 1] = type->dims[i];
    y[0].value = mica_reshape(g, all, (mica_ints){dims, type->rank + 1});
    y[0].mapped = true;
}
