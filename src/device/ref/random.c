/* Philox 4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
 */
#include <string.h>

#include "device/ref/value.h"

void mica_ref_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]) {
    uint32_t k0 = key[0], k1 = key[1];
    memcpy(out, counter, 4 * sizeof *out);
    for (int round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)0xD2511F53 * out[0];
        uint64_t product1 = (uint64_t)0xCD9E8D57 * out[2];
        uint32_t high0 = (uint32_t)(product0 >> 32), high1 = (uint32_t)(product1 >> 32);
        uint32_t next[4] = {high1 ^ out[1] ^ k0, (uint32_t)product1, high0 ^ out[3] ^ k1,
                            (uint32_t)product0};
        memcpy(out, next, sizeof next);
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
}

/* The 128-bit counter, lowest word first, plus k. */
static void add_to_counter(const uint32_t counter[4], uint64_t k, uint32_t out[4]) {
    uint64_t carry = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t word = (uint64_t)counter[i] + (i < 2 ? (uint32_t)(k >> (32 * i)) : 0) + carry;
        out[i] = (uint32_t)word;
        carry = word >> 32;
    }
}

mica_status ref_rng_bits(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    const mica_type *y = &results[0]->type;
    bool wide = mica_dtype_bytes(y->dtype) == 8;
    for (int64_t i = 0, end = mica_type_elements(y); i < end; i++) {
        int64_t per_block = wide ? 2 : 4;
        uint32_t counter[4], words[4];
        add_to_counter(operands[1]->data, (uint64_t)(i / per_block), counter);
        mica_ref_philox(operands[0]->data, counter, words);
        uint64_t bits =
            wide ? words[2 * (i % 2)] | (uint64_t)words[2 * (i % 2) + 1] << 32 : words[i % 4];
        ref_store(y->dtype, results[0]->data, i, ref_from_bits(bits));
    }
    return NULL;
}
