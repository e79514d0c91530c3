#include "test.h"

#include "base/arena.h"

TEST(blocks_are_counted) {
    int64_t before = mica_memory_live_blocks(), total = mica_memory_total_allocations();
    void *a = mica_alloc(10), *b = mica_calloc(3, 5), *c = mica_alloc_aligned(100);
    char *d = mica_strdup("text");
    REQUIRE(a && b && c && d);
    CHECK(mica_memory_live_blocks() == before + 4);
    CHECK(mica_memory_total_allocations() == total + 4);
    a = mica_realloc(a, 1000);
    CHECK(a && mica_memory_live_blocks() == before + 4);
    CHECK((uintptr_t)c % 64 == 0);
    CHECK(strcmp(d, "text") == 0);
    mica_free(a);
    mica_free(b);
    mica_free_aligned(c);
    mica_free(d);
    mica_free(NULL);
    mica_free_aligned(NULL);
    CHECK(mica_memory_live_blocks() == before);
}

TEST(zero_bytes_are_a_block_too) {
    void *blocks[] = {mica_alloc(0), mica_calloc(0, 8), mica_calloc(8, 0), mica_realloc(NULL, 0),
                      mica_alloc_aligned(0)};
    for (int i = 0; i < 5; i++) {
        CHECK(blocks[i] != NULL);
        mica_free(blocks[i]);
    }
}

TEST(impossible_sizes_answer_null) {
    CHECK(mica_calloc(SIZE_MAX / 2, 4) == NULL);
    CHECK(mica_alloc_aligned(SIZE_MAX - 3) == NULL);
    CHECK(mica_memory_live_blocks() == 0);
}

TEST(a_guarded_thread_is_refused_what_brings_the_process_above_the_bound) {
    int64_t before = mica_memory_live_bytes();
    void *a = mica_alloc(1 << 20);
    CHECK(mica_memory_live_bytes() >= before + (1 << 20));
    mica_memory_guard((uint64_t)mica_memory_live_bytes() + (1 << 20));
    void *b = mica_alloc_aligned(1 << 19), *c = mica_alloc(100);
    CHECK(b && c);
    CHECK(!mica_alloc(1 << 20) && !mica_alloc_aligned(1 << 20) && !mica_calloc(1 << 10, 1 << 10));
    CHECK(!mica_realloc(b, 1 << 20));
    CHECK(!mica_alloc(SIZE_MAX - 100) && !mica_calloc(SIZE_MAX / 2, 4));
    mica_free(a);
    a = mica_alloc(1 << 20);
    CHECK(a != NULL);
    mica_memory_guard(0);
    a = mica_realloc(a, 1 << 21);
    CHECK(a && mica_memory_live_bytes() >= before + (1 << 21));
    mica_free(a);
    mica_free(b);
    mica_free(c);
    CHECK(mica_memory_live_bytes() == before);
}

TEST(the_nth_allocation_fails_when_told_to) {
    mica_memory_fail_nth(2, false);
    void *a = mica_alloc(1), *b = mica_alloc(1), *c = mica_alloc(1);
    CHECK(a && !b && c);
    mica_free(a);
    mica_free(c);
    mica_memory_fail_nth(2, true);
    a = mica_alloc(1), b = mica_alloc(1), c = mica_calloc(1, 1);
    CHECK(a && !b && !c);
    CHECK(mica_alloc_aligned(1) == NULL && mica_strdup("x") == NULL);
    void *same = mica_realloc(a, 100);
    CHECK(same == NULL);
    mica_memory_fail_nth(0, false);
    mica_free(a);
    CHECK(mica_memory_live_blocks() == 0);
}

TEST(a_counted_object_knows_its_last_reference) {
    mica_refcount count;
    mica_refcount_init(&count);
    CHECK(mica_refcount_is_one(&count));
    mica_refcount_retain(&count);
    CHECK(!mica_refcount_is_one(&count));
    CHECK(!mica_refcount_release(&count));
    CHECK(mica_refcount_release(&count));
}

TEST(arena_blocks_are_zeroed_aligned_and_stay_put) {
    mica_arena arena;
    mica_arena_init(&arena);
    unsigned char *blocks[500];
    for (int i = 0; i < 500; i++) {
        size_t n = (size_t)(i * 37 % 3000);
        blocks[i] = mica_arena_alloc(&arena, n);
        REQUIRE(blocks[i] && (uintptr_t)blocks[i] % 16 == 0);
        for (size_t k = 0; k < n; k++) REQUIRE(blocks[i][k] == 0);
        memset(blocks[i], i & 255, n);
    }
    for (int i = 0; i < 500; i++)
        for (size_t k = 0; k < (size_t)(i * 37 % 3000); k++) REQUIRE(blocks[i][k] == (i & 255));
    char *large = mica_arena_alloc(&arena, (size_t)10 << 20);
    CHECK(large != NULL);
    char *text = mica_arena_strdup(&arena, "kept");
    CHECK(text && strcmp(text, "kept") == 0);
    CHECK(mica_arena_alloc(&arena, SIZE_MAX - 8) == NULL);
    mica_arena_deinit(&arena);
    CHECK(mica_memory_live_blocks() == 0);
}

TEST(an_arena_without_memory_answers_null_and_goes_on_later) {
    for (int64_t n = 1; n < 4; n++) {
        mica_arena arena;
        mica_arena_init(&arena);
        mica_memory_fail_nth(n, true);
        int failed = 0;
        for (int i = 0; i < 40; i++) failed += mica_arena_alloc(&arena, 1000) == NULL;
        CHECK(failed > 0);
        CHECK(mica_arena_strdup(&arena, "x") == NULL || n > 1);
        mica_memory_fail_nth(0, false);
        CHECK(mica_arena_alloc(&arena, 1 << 20) != NULL);
        mica_arena_deinit(&arena);
    }
    CHECK(mica_memory_live_blocks() == 0);
}
