/* base/memory.h: the counting allocator. All memory of the library comes from here.
 *
 * It counts live blocks, so that every test can end at zero, and can be told to fail the n-th
 * allocation from now, so that every failure path can be walked. */
#ifndef MICA_BASE_MEMORY_H
#define MICA_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *mica_alloc(size_t bytes);                /* NULL when out of memory; aligned for any type */
void *mica_calloc(size_t count, size_t bytes); /* zeroed; checks the product for overflow */
/* The old block stays valid when NULL comes back. */
void *mica_realloc(void *block, size_t bytes);
void mica_free(void *block);
/* Aligned to 64 bytes; freed with mica_free_aligned. */
void *mica_alloc_aligned(size_t bytes);
void mica_free_aligned(void *block);
char *mica_strdup(const char *text);

/* Counts. */
int64_t mica_memory_live_blocks(void);
int64_t mica_memory_total_allocations(void);

/* Bytes of live blocks, of those of a page or more. */
int64_t mica_memory_live_bytes(void);

/* From now on no allocation of this thread brings the live bytes of the process above so many: it
 * fails instead. 0 switches it off. For threads that work for strangers. */
void mica_memory_guard(uint64_t most);

/* The n-th allocation from now (1 is the next) fails, and `after_that_all` every one following it.
 * 0 switches it off. For tests. */
void mica_memory_fail_nth(int64_t n, bool after_that_all);
/* Whether pieces of arenas count as allocations too, so that each of them can fail. For tests. */
void mica_memory_count_arenas(bool on);
bool mica_memory_arena_must_fail(void); /* asked by arenas for each piece */

/* Reference counts: at offset 0 of every counted object. */
typedef struct mica_refcount {
    int32_t count;
} mica_refcount;
static inline void mica_refcount_init(mica_refcount *r) {
    __atomic_store_n(&r->count, 1, __ATOMIC_RELAXED);
}
static inline void mica_refcount_retain(mica_refcount *r) {
    __atomic_fetch_add(&r->count, 1, __ATOMIC_RELAXED);
}
/* true when this was the last one. */
static inline bool mica_refcount_release(mica_refcount *r) {
    return __atomic_sub_fetch(&r->count, 1, __ATOMIC_ACQ_REL) == 0;
}
static inline int32_t mica_refcount_load(const mica_refcount *r) {
    return __atomic_load_n(&r->count, __ATOMIC_ACQUIRE);
}
static inline bool mica_refcount_is_one(const mica_refcount *r) {
    return mica_refcount_load(r) == 1;
}

#endif
