#include "test.h"

#include "base/hash.h"
#include "base/strings.h"

TEST(a_text_grows_by_strings_bytes_characters_and_formats) {
    mica_text text;
    mica_text_init(&text);
    CHECK(strcmp(mica_text_data(&text), "") == 0);
    mica_text_append(&text, "add");
    mica_text_append_char(&text, '(');
    mica_text_append_bytes(&text, "%1, xxx", 4);
    mica_text_printf(&text, "%%%d) -> %s", 2, "f32[2,3]");
    CHECK(strcmp(mica_text_data(&text), "add(%1, %2) -> f32[2,3]") == 0);
    mica_text_clear(&text);
    CHECK(strcmp(mica_text_data(&text), "") == 0);
    mica_text_append(&text, "again");
    char *string = NULL;
    REQUIRE_OK(mica_text_finish(&text, &string));
    CHECK(strcmp(string, "again") == 0);
    mica_free(string);
}

TEST(an_empty_text_finishes_as_an_empty_string) {
    mica_text text;
    mica_text_init(&text);
    char *string = NULL;
    REQUIRE_OK(mica_text_finish(&text, &string));
    CHECK(strcmp(string, "") == 0);
    mica_free(string);
}

TEST(a_long_text_is_kept_whole) {
    mica_text text;
    mica_text_init(&text);
    for (int i = 0; i < 10000; i++) mica_text_printf(&text, "%05d,", i);
    CHECK(text.length == 60000 && strlen(mica_text_data(&text)) == 60000);
    CHECK(strncmp(mica_text_data(&text) + 6 * 1234, "01234,", 6) == 0);
    mica_text_deinit(&text);
}

TEST(running_out_of_memory_sticks_to_a_text) {
    for (int64_t n = 1; n <= 5; n++) {
        mica_text text;
        mica_text_init(&text);
        mica_memory_fail_nth(n, false);
        for (int i = 0; i < 300; i++) mica_text_printf(&text, "%d words ", i);
        mica_text_append(&text, "the end");
        mica_memory_fail_nth(0, false);
        CHECK(mica_text_is_failed(&text));
        CHECK(strstr(mica_text_data(&text), "the end") == NULL);
        char *string = NULL;
        CHECK_FAILS(mica_text_finish(&text, &string), MICA_OUT_OF_MEMORY, "out of memory");
        CHECK(string == NULL && mica_memory_live_blocks() == 0);
    }
}

TEST(hashes_differ_by_content_length_order_and_seed) {
    uint64_t seen[400];
    int n = 0;
    char bytes[40] = {0};
    for (size_t length = 0; length <= 40; length++)
        seen[n++] = mica_hash_bytes(MICA_HASH_SEED, bytes, length);
    for (int i = 0; i < 40; i++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] = (char)(1 << bit);
            seen[n++] = mica_hash_bytes(MICA_HASH_SEED, bytes, 40);
            bytes[i] = 0;
        }
    seen[n++] = mica_hash_bytes(1, bytes, 40);
    seen[n++] = mica_hash_string(mica_hash_string(MICA_HASH_SEED, "ab"), "c");
    seen[n++] = mica_hash_string(mica_hash_string(MICA_HASH_SEED, "a"), "bc");
    seen[n++] = mica_hash_u64(mica_hash_u64(MICA_HASH_SEED, 1), 2);
    seen[n++] = mica_hash_u64(mica_hash_u64(MICA_HASH_SEED, 2), 1);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) REQUIRE(seen[i] != seen[k]);
}

TEST(a_flipped_bit_changes_about_half_of_the_hash) {
    int changed = 0;
    for (uint64_t i = 0; i < 1000; i++)
        changed += __builtin_popcountll(mica_hash_u64(MICA_HASH_SEED, i) ^
                                        mica_hash_u64(MICA_HASH_SEED, i ^ (uint64_t)1 << i % 64));
    CHECK(changed > 31000 && changed < 33000);
}

TEST(a_hash_is_the_same_on_every_machine) {
    CHECK(mica_hash_string(MICA_HASH_SEED, "") == UINT64_C(0x7d9b749b7621b0f7));
    CHECK(mica_hash_string(MICA_HASH_SEED, "mica and granite") == UINT64_C(0x6aaf04675ce37469));
    CHECK(mica_hash_u64(MICA_HASH_SEED, 42) == UINT64_C(0x728baed5440662));
}
