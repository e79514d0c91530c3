/* Packing complex numbers as blocks of reals; see mica_cpu_pack. The avx512 variant has none: the
 * avx2 loops serve it. */
#include "device/cpu/isa.h"

#ifndef __AVX512F__
#define PACK_COMPLEX(name, type)                                                                   \
    static void name(const void *source, const int64_t *offsets, int64_t count,                    \
                     const int64_t *steps, int64_t n_k, int64_t width, void *target) {             \
        const type *y = (const type *)source;                                                      \
        type *panel = (type *)target;                                                              \
        for (int64_t k = 0; k < n_k; k++, panel += width) {                                        \
            int64_t second_row = steps[k] & 1;                                                     \
            if (count == width && offsets[count - 1] - offsets[0] == count - 1 &&                  \
                offsets[0] % 2 == 0) { /* pairs next to each other */                              \
                const type *row = y + offsets[0] + steps[k] - second_row;                          \
                for (int64_t r = 0; r < width && !second_row; r++) panel[r] = row[r];              \
                for (int64_t r = 0; r < width && second_row; r += 2) {                             \
                    panel[r] = -row[r + 1];                                                        \
                    panel[r + 1] = row[r];                                                         \
                }                                                                                  \
                continue;                                                                          \
            }                                                                                      \
            for (int64_t r = 0; r < count; r++) {                                                  \
                int64_t second_column = offsets[r] & 1, both = second_row & second_column;         \
                type value = y[offsets[r] + steps[k] - 2 * both];                                  \
                panel[r] = second_row > second_column ? -value : value;                            \
            }                                                                                      \
            for (int64_t r = count; r < width; r++) panel[r] = 0;                                  \
        }                                                                                          \
    }
PACK_COMPLEX(pack_c64, float)
PACK_COMPLEX(pack_c128, double)

const mica_cpu_pack MICA_ISA_NAME(mica_cpu_pack_complex)[2] = {pack_c64, pack_c128};
#endif
