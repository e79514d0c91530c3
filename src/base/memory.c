#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/platform.h"

/* Blocks from this size on lie on large pages where the system has them: fewer faults, fewer
 * misses of address translation. */
#define LARGE_BLOCK ((size_t)4 << 20)
#define LARGE_PAGE ((size_t)2 << 20)

static int64_t live_blocks, total_allocations;
static int64_t fail_countdown; /* 0: off; the allocation that takes it from 1 to 0 fails */
static bool fail_on;           /* after the n-th, all fail */
static bool fail_rest;
static bool arenas_count;

void mica_memory_fail_nth(int64_t n, bool after_that_all) {
    __atomic_store_n(&fail_on, false, __ATOMIC_RELAXED);
    __atomic_store_n(&fail_rest, after_that_all, __ATOMIC_RELAXED);
    __atomic_store_n(&fail_countdown, n, __ATOMIC_RELAXED);
}

static bool must_fail(void) {
    __atomic_fetch_add(&total_allocations, 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&fail_on, __ATOMIC_RELAXED)) return true;
    if (__atomic_load_n(&fail_countdown, __ATOMIC_RELAXED) <= 0) return false;
    if (__atomic_sub_fetch(&fail_countdown, 1, __ATOMIC_RELAXED) != 0) return false;
    if (__atomic_load_n(&fail_rest, __ATOMIC_RELAXED))
        __atomic_store_n(&fail_on, true, __ATOMIC_RELAXED);
    return true;
}

void mica_memory_count_arenas(bool on) {
    __atomic_store_n(&arenas_count, on, __ATOMIC_RELAXED);
}

bool mica_memory_arena_must_fail(void) {
    return __atomic_load_n(&arenas_count, __ATOMIC_RELAXED) && must_fail();
}

static void *count(void *block) {
    if (block) __atomic_fetch_add(&live_blocks, 1, __ATOMIC_RELAXED);
    return block;
}

void *mica_alloc(size_t bytes) {
    return must_fail() ? NULL : count(malloc(bytes ? bytes : 1));
}

void *mica_calloc(size_t n, size_t bytes) {
    if (must_fail()) return NULL;
    if (!n || !bytes) n = bytes = 1;
    return count(calloc(n, bytes));
}

void *mica_realloc(void *block, size_t bytes) {
    if (!block) return mica_alloc(bytes);
    return must_fail() ? NULL : realloc(block, bytes ? bytes : 1);
}

void mica_free(void *block) {
    if (!block) return;
    __atomic_fetch_sub(&live_blocks, 1, __ATOMIC_RELAXED);
    free(block);
}

void *mica_alloc_aligned(size_t bytes) {
    if (must_fail()) return NULL;
    if (bytes > SIZE_MAX - 127) return NULL;
    void *block = NULL;
    size_t rounded = (bytes + 63) / 64 * 64 + (bytes == 0 ? 64 : 0);
    bool is_large = bytes >= LARGE_BLOCK;
    if (posix_memalign(&block, is_large ? LARGE_PAGE : 64, rounded) != 0) return NULL;
    if (is_large) mica_prefer_large_pages(block, rounded);
    return count(block);
}

void mica_free_aligned(void *block) {
    mica_free(block);
}

char *mica_strdup(const char *text) {
    size_t n = strlen(text) + 1;
    char *copy = mica_alloc(n);
    if (copy) memcpy(copy, text, n);
    return copy;
}

int64_t mica_memory_live_blocks(void) {
    return __atomic_load_n(&live_blocks, __ATOMIC_RELAXED);
}

int64_t mica_memory_total_allocations(void) {
    return __atomic_load_n(&total_allocations, __ATOMIC_RELAXED);
}
