/* device/cpu/order.h: what sort and top_k share.
 *
 * An element is sorted by its word: an unsigned integer whose order is the order of the elements.
 * Words of narrow dtypes have as many bits as the dtype. NaN is all ones, and -0 comes just before
 * +0: they are made equal where places go along.
 *
 * Items are what is moved: a word alone (when only one array is sorted, equal words mean equal
 * elements, zeros and NaN aside), a word of up to 32 bits above its place in 32 bits, or a pair. */
#ifndef MICA_DEVICE_CPU_ORDER_H
#define MICA_DEVICE_CPU_ORDER_H

#include "device/cpu/kernel.h"

typedef struct cpu_pair {
    uint64_t key, place;
} cpu_pair;

/* NULL for complex numbers. */
const mica_cpu_order *mica_cpu_order_of(mica_dtype dtype);
/* All bits of the dtype's words when descending, else 0. */
uint64_t mica_cpu_order_flip(const mica_cpu_order *dtype, bool descending);

/* Of n words, in the order of `places` (NULL: as they are), -0 and +0 with one word: keys, keys in
 * pairs with their numbers, or packed with them into 64 bits, which needs n < 2^32. */
void mica_cpu_order_keys(const mica_cpu_order *dtype, const void *words, const int64_t *places,
                         int64_t n, uint64_t flip, uint64_t *out);
void mica_cpu_order_pack(const mica_cpu_order *dtype, const void *words, const int64_t *places,
                         int64_t n, uint64_t flip, uint64_t *out);
void mica_cpu_order_pair(const mica_cpu_order *dtype, const void *words, const int64_t *places,
                         int64_t n, uint64_t flip, cpu_pair *out);

/* Stable sorts of a by bits low .. high-1 of its items (pairs: of their keys), on the pool when n
 * is large. b has room for n, counts for mica_cpu_radix_counts(n) bytes. Returns a or b, whichever
 * holds the result. */
size_t mica_cpu_radix_counts(int64_t n);
uint32_t *mica_cpu_radix_u32(uint32_t *a, uint32_t *b, int64_t n, int low, int high, void *counts);
uint64_t *mica_cpu_radix_u64(uint64_t *a, uint64_t *b, int64_t n, int low, int high, void *counts);
cpu_pair *mica_cpu_radix_pair(cpu_pair *a, cpu_pair *b, int64_t n, int low, int high, void *counts);

#endif
