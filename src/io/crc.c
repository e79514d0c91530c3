/* CRC-32C, the sum of TFRecord files, of bundles and of their tables.
 *
 * Processors that have an instruction for it take eight bytes at a time, and of long texts three
 * pieces side by side, since the instruction takes three cycles but one may begin in each. The sums
 * of the pieces become one by what a piece of zeros does to a sum, which is linear. */
#include <string.h>

#include "base/platform.h"
#include "io/wire.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define HAS_INSTRUCTION mica_machine_has_avx2_fma() /* which have SSE 4.2, where it is, too */
#define WITH_INSTRUCTION __attribute__((target("sse4.2,crc32")))
#define TAKE_8(crc, word) __builtin_ia32_crc32di(crc, word)
#define TAKE_1(crc, byte) __builtin_ia32_crc32qi((uint32_t)(crc), byte)
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#define HAS_INSTRUCTION true
#define WITH_INSTRUCTION
#define TAKE_8(crc, word) __crc32cd((uint32_t)(crc), word)
#define TAKE_1(crc, byte) __crc32cb((uint32_t)(crc), byte)
#endif

enum { PIECE = 4096 }; /* bytes, a multiple of 8 */

/* tables[k][b]: what the byte b does to the sum k bytes later. passed[k][b]: what becomes of byte k
 * of a sum, b, when PIECE zeros follow. */
static uint32_t tables[8][256], passed[4][256];
#ifdef HAS_INSTRUCTION
static bool has_instruction;
#endif
static int32_t made; /* atomic: those above are there */

static uint32_t pass_piece(uint32_t crc) {
    for (int i = 0; i < PIECE; i++) crc = crc >> 8 ^ tables[0][crc & 255];
    return crc;
}

static void make_tables(void) {
    static mica_mutex lock;
    if (__atomic_load_n(&made, __ATOMIC_ACQUIRE)) return;
    mica_mutex_lock(&lock);
    if (!made) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t crc = i;
            for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
            tables[0][i] = crc;
        }
        for (int k = 1; k < 8; k++)
            for (uint32_t i = 0; i < 256; i++)
                tables[k][i] = tables[k - 1][i] >> 8 ^ tables[0][tables[k - 1][i] & 255];
        for (int k = 0; k < 4; k++)
            for (int bit = 0; bit < 8; bit++) {
                uint32_t one = pass_piece(UINT32_C(1) << (8 * k + bit));
                for (uint32_t i = 0; i < 256; i++) passed[k][i] ^= i >> bit & 1 ? one : 0;
            }
#ifdef HAS_INSTRUCTION
        has_instruction = HAS_INSTRUCTION;
#endif
        __atomic_store_n(&made, 1, __ATOMIC_RELEASE);
    }
    mica_mutex_unlock(&lock);
}

static uint32_t by_tables(uint32_t crc, const uint8_t *at, size_t n) {
    for (; n >= 8; n -= 8, at += 8) {
        uint32_t low = crc ^ io_read_u32(at), high = io_read_u32(at + 4);
        crc = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^
              tables[4][low >> 24] ^ tables[3][high & 255] ^ tables[2][high >> 8 & 255] ^
              tables[1][high >> 16 & 255] ^ tables[0][high >> 24];
    }
    for (; n > 0; n--, at++) crc = crc >> 8 ^ tables[0][(crc ^ *at) & 255];
    return crc;
}

#ifdef HAS_INSTRUCTION
static uint32_t behind_piece(uint64_t crc) {
    return passed[0][crc & 255] ^ passed[1][crc >> 8 & 255] ^ passed[2][crc >> 16 & 255] ^
           passed[3][crc >> 24 & 255];
}

static uint64_t word_at(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

WITH_INSTRUCTION static uint32_t by_instruction(uint32_t before, const uint8_t *at, size_t n) {
    uint64_t crc = before;
    for (; n >= 3 * PIECE; n -= 3 * PIECE, at += 3 * PIECE) {
        uint64_t second = 0, third = 0;
        for (size_t i = 0; i < PIECE; i += 8) {
            crc = TAKE_8(crc, word_at(at + i));
            second = TAKE_8(second, word_at(at + PIECE + i));
            third = TAKE_8(third, word_at(at + 2 * PIECE + i));
        }
        crc = behind_piece(behind_piece(crc) ^ second) ^ third;
    }
    for (; n >= 8; n -= 8, at += 8) crc = TAKE_8(crc, word_at(at));
    for (; n > 0; n--, at++) crc = TAKE_1(crc, *at);
    return (uint32_t)crc;
}
#endif

uint32_t io_crc(uint32_t before, const void *bytes, size_t n) {
    make_tables();
#ifdef HAS_INSTRUCTION
    if (has_instruction) return ~by_instruction(~before, bytes, n);
#endif
    return ~by_tables(~before, bytes, n);
}

uint32_t io_crc_by_tables(uint32_t before, const void *bytes, size_t n) {
    make_tables();
    return ~by_tables(~before, bytes, n);
}

/* a times b times x^31 as polynomials modulo that of the sum; the highest bit is the lowest power.
 */
static uint32_t multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (; b; b <<= 1, a = a & 1 ? a >> 1 ^ 0x82f63b78u : a >> 1)
        if (b & 0x80000000u) product ^= a;
    return product;
}

/* The sum of the first bytes passes n zeros: times x^(8 n), by squares of x^8. */
uint32_t io_crc_join(uint32_t first, uint32_t second, uint64_t n) {
    uint32_t power = 0x00800000u;
    for (; n; n >>= 1, power = multiply(power, power))
        if (n & 1) first = multiply(first, power);
    return first ^ second;
}

uint32_t io_crc_mask(uint32_t crc) {
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
