#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/platform.h"

/* Blocks from this size on lie on large pages where the system has them: fewer faults, fewer
 * misses of address translation. */
#define LARGE_BLOCK ((size_t)4 << 20)
#define LARGE_PAGE ((size_t)2 << 20)

#ifdef MICA_PLANT /* in builds for tests the Python tests count and fail allocations, too */
#define FOR_TESTS __attribute__((visibility("default")))
#else
#define FOR_TESTS
#endif

static int64_t live_blocks, total_allocations;
static int64_t fail_countdown; /* 0: off; the allocation that takes it from 1 to 0 fails */
static bool fail_on;           /* after the n-th, all fail */
static bool fail_rest;
static bool arenas_count;
static int64_t live_bytes;           /* of blocks of a page or more */
static _Thread_local uint64_t guard; /* 0: none */

#define LEAST_COUNTED 4096

FOR_TESTS void mica_memory_fail_nth(int64_t n, bool after_that_all) {
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

FOR_TESTS void mica_memory_count_arenas(bool on) {
    __atomic_store_n(&arenas_count, on, __ATOMIC_RELAXED);
}

bool mica_memory_arena_must_fail(void) {
    return __atomic_load_n(&arenas_count, __ATOMIC_RELAXED) && must_fail();
}

static void count_bytes(void *block, int64_t sign) {
    size_t bytes = mica_block_bytes(block);
    if (bytes >= LEAST_COUNTED)
        __atomic_fetch_add(&live_bytes, sign * (int64_t)bytes, __ATOMIC_RELAXED);
}

static void *count(void *block) {
    if (!block) return NULL;
    __atomic_fetch_add(&live_blocks, 1, __ATOMIC_RELAXED);
    count_bytes(block, 1);
    return block;
}

int64_t mica_memory_live_bytes(void) {
    return __atomic_load_n(&live_bytes, __ATOMIC_RELAXED);
}

void mica_memory_guard(uint64_t most) {
    guard = most;
}

/* Small blocks are not counted one by one, so they are not refused either. */
static bool is_refused(size_t bytes) {
    if (!guard || bytes < LEAST_COUNTED) return false;
    int64_t live = mica_memory_live_bytes();
    return bytes > guard || (live > 0 && (uint64_t)live > guard - bytes);
}

void *mica_alloc(size_t bytes) {
    return must_fail() || is_refused(bytes) ? NULL : count(malloc(bytes ? bytes : 1));
}

void *mica_calloc(size_t n, size_t bytes) {
    size_t product;
    if (must_fail()) return NULL;
    if (!n || !bytes) n = bytes = 1;
    if (__builtin_mul_overflow(n, bytes, &product) || is_refused(product)) return NULL;
    return count(calloc(n, bytes));
}

void *mica_realloc(void *block, size_t bytes) {
    if (!block) return mica_alloc(bytes);
    if (must_fail() || is_refused(bytes)) return NULL;
    count_bytes(block, -1);
    void *moved = realloc(block, bytes ? bytes : 1);
    count_bytes(moved ? moved : block, 1);
    return moved;
}

void mica_free(void *block) {
    if (!block) return;
    __atomic_fetch_sub(&live_blocks, 1, __ATOMIC_RELAXED);
    count_bytes(block, -1);
    free(block);
}

void *mica_alloc_aligned(size_t bytes) {
    if (must_fail()) return NULL;
    if (bytes > SIZE_MAX - 127 || is_refused(bytes)) return NULL;
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

FOR_TESTS int64_t mica_memory_live_blocks(void) {
    return __atomic_load_n(&live_blocks, __ATOMIC_RELAXED);
}

FOR_TESTS int64_t mica_memory_total_allocations(void) {
    return __atomic_load_n(&total_allocations, __ATOMIC_RELAXED);
}
