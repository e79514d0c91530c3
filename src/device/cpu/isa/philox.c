/* Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011),
 * sixteen blocks at a time. */
#include "device/cpu/isa.h"

#define LANES 16

static void ten_rounds(uint32_t key0, uint32_t key1, uint32_t c[4][LANES]) {
    for (int round = 0; round < 10; round++) {
        for (int l = 0; l < LANES; l++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * c[0][l], p1 = (uint64_t)0xCD9E8D57u * c[2][l];
            uint32_t old1 = c[1][l], old3 = c[3][l];
            c[0][l] = (uint32_t)(p1 >> 32) ^ old1 ^ key0;
            c[1][l] = (uint32_t)p1;
            c[2][l] = (uint32_t)(p0 >> 32) ^ old3 ^ key1;
            c[3][l] = (uint32_t)p0;
        }
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

void MICA_ISA_NAME(mica_cpu_philox)(const uint32_t key[2], const uint32_t counter[4], int64_t first,
                                    int64_t n, uint32_t *out) {
    for (int64_t i = 0; i < n; i += LANES) {
        uint32_t c[4][LANES];
        for (int l = 0; l < LANES; l++) { /* a 128-bit sum: counter + first + i + l */
            uint64_t low = (uint64_t)counter[1] << 32 | counter[0],
                     step = (uint64_t)(first + i + l);
            uint64_t high = (uint64_t)counter[3] << 32 | counter[2], sum = low + step;
            high += sum < low;
            c[0][l] = (uint32_t)sum;
            c[1][l] = (uint32_t)(sum >> 32);
            c[2][l] = (uint32_t)high;
            c[3][l] = (uint32_t)(high >> 32);
        }
        ten_rounds(key[0], key[1], c);
        int64_t blocks = n - i < LANES ? n - i : LANES;
        for (int64_t l = 0; l < blocks; l++)
            for (int w = 0; w < 4; w++) out[(i + l) * 4 + w] = c[w][l];
    }
}
