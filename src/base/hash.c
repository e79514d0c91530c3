#include "base/hash.h"

#include <string.h>

/* Odd constants with evenly spread bits; any such would do. */
#define SPREAD_WORD UINT64_C(0x9fb21c651e98df25)
#define SPREAD_STATE UINT64_C(0xd6e8feb86659fd93)

/* One to one on the state, so words that differ leave states that differ. */
static uint64_t absorb(uint64_t state, uint64_t word) {
    state ^= word * SPREAD_WORD;
    state = state << 27 | state >> 37;
    return state * SPREAD_STATE + 1;
}

static uint64_t finish(uint64_t state) {
    state ^= state >> 32;
    state *= SPREAD_STATE;
    state ^= state >> 29;
    state *= SPREAD_WORD;
    return state ^ state >> 32;
}

/* Little-endian whatever the machine. */
static uint64_t read_word(const uint8_t *bytes, size_t n) {
    uint64_t word = 0;
    if (n == 8)
        memcpy(&word, bytes, 8);
    else
        for (size_t i = 0; i < n; i++) word |= (uint64_t)bytes[i] << 8 * i;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    if (n == 8) word = __builtin_bswap64(word);
#endif
    return word;
}

uint64_t mica_hash_bytes(uint64_t seed, const void *bytes, size_t n) {
    const uint8_t *at = bytes;
    uint64_t state = absorb(seed, n);
    size_t left = n;
    for (; left >= 8; at += 8, left -= 8) state = absorb(state, read_word(at, 8));
    if (left) state = absorb(state, read_word(at, left));
    return finish(state);
}

uint64_t mica_hash_string(uint64_t seed, const char *string) {
    return mica_hash_bytes(seed, string, strlen(string));
}

uint64_t mica_hash_u64(uint64_t seed, uint64_t value) {
    return finish(absorb(seed, value));
}
