/* Philox against the known answers published with Random123, and the order of rng_bits' words. */
#include "device/ref/ref.h"
#include "test.h"

static bool gives(uint32_t k0, uint32_t k1, const uint32_t counter[4], const uint32_t expected[4]) {
    uint32_t key[2] = {k0, k1}, out[4];
    mica_ref_philox(key, counter, out);
    return memcmp(out, expected, sizeof out) == 0;
}

TEST(philox_of_zeros_gives_the_published_block) {
    CHECK(gives(0, 0, (uint32_t[]){0, 0, 0, 0},
                (uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(philox_of_ones_gives_the_published_block) {
    uint32_t ones[4] = {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff};
    CHECK(gives(0xffffffff, 0xffffffff, ones,
                (uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(philox_of_the_digits_of_pi_gives_the_published_block) {
    CHECK(gives(0xa4093822, 0x299f31d0,
                (uint32_t[]){0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                (uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

static void run_rng_bits(mica_dtype dtype, int64_t n, const uint32_t key[2],
                         const uint32_t counter[4], void *out) {
    mica_graph *g = NULL;
    mica_type key_type = mica_type_make(MICA_DTYPE_u32, MICA_INTS(2));
    mica_type counter_type = mica_type_make(MICA_DTYPE_u32, MICA_INTS(4));
    REQUIRE_OK(mica_graph_create("random", &g));
    mica_value k = mica_parameter(g, &key_type), c = mica_parameter(g, &counter_type);
    mica_output(g, mica_rng_bits(g, k, c, MICA_INTS(n), dtype));
    CHECK_OK(mica_ref_evaluate(g, (const void *[]){key, counter}, (void *[]){out}));
    mica_graph_release(g);
}

TEST(rng_bits_lays_blocks_one_after_the_other_and_carries_through_the_counter) {
    uint32_t key[2] = {7, 9}, counter[4] = {0xffffffff, 0xffffffff, 0xffffffff, 5};
    uint32_t next[4] = {0, 0, 0, 6}, first_block[4], second_block[4], out[7];
    mica_ref_philox(key, counter, first_block);
    mica_ref_philox(key, next, second_block);
    run_rng_bits(MICA_DTYPE_u32, 7, key, counter, out);
    CHECK(memcmp(out, first_block, sizeof first_block) == 0);
    CHECK(memcmp(out + 4, second_block, 3 * sizeof *out) == 0);
}

TEST(rng_bits_of_u64_takes_the_low_word_first) {
    uint32_t key[2] = {1, 2}, counter[4] = {3, 4, 5, 6}, block[4];
    uint64_t out[2];
    mica_ref_philox(key, counter, block);
    run_rng_bits(MICA_DTYPE_u64, 2, key, counter, out);
    CHECK(out[0] == (block[0] | (uint64_t)block[1] << 32));
    CHECK(out[1] == (block[2] | (uint64_t)block[3] << 32));
}
