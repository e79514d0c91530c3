/* The tiles of contractions of integers, which wrap: narrow ones compute in 32 bits, whose low bits
 * are the answer. The avx512 variant has none: the avx2 loops serve it. */
#include "device/cpu/isa.h"

#ifndef __AVX512F__
#include "device/cpu/isa/gemm_pack.h"

#define ROWS 4
#define COLUMNS 16

#define TILE_DEFINE(suffix, type)                                                                  \
    static void tile_##suffix(const void *a, const void *b, int64_t n_k, void *tile) {             \
        type acc[ROWS][COLUMNS] = {{0}};                                                           \
        for (int64_t k = 0; k < n_k; k++)                                                          \
            for (int i = 0; i < ROWS; i++)                                                         \
                for (int j = 0; j < COLUMNS; j++)                                                  \
                    acc[i][j] +=                                                                   \
                        ((const type *)a)[k * ROWS + i] * ((const type *)b)[k * COLUMNS + j];      \
        for (int i = 0; i < ROWS; i++)                                                             \
            for (int j = 0; j < COLUMNS; j++) ((type *)tile)[i * COLUMNS + j] = acc[i][j];         \
    }                                                                                              \
    static void tile_to_##suffix(const void *a, const void *b, int64_t n_k, void *c,               \
                                 const int64_t *rows, int first) {                                 \
        type tile[ROWS * COLUMNS];                                                                 \
        tile_##suffix(a, b, n_k, tile);                                                            \
        for (int i = 0; i < ROWS; i++)                                                             \
            for (int j = 0; j < COLUMNS; j++) {                                                    \
                type *cell = (type *)c + rows[i] + j;                                              \
                *cell = first ? tile[i * COLUMNS + j] : *cell + tile[i * COLUMNS + j];             \
            }                                                                                      \
    }
TILE_DEFINE(u32, uint32_t)
TILE_DEFINE(u64, uint64_t)

#define PACK_u32(a) ((uint32_t)(a))
#define PACK_u64(a) ((uint64_t)(a))
PACK_DEFINE(pack_i8, int8_t, uint32_t, PACK_u32, PACK_NO_TRANSPOSE)
PACK_DEFINE(pack_i16, int16_t, uint32_t, PACK_u32, PACK_NO_TRANSPOSE)
PACK_DEFINE(pack_i32, int32_t, uint32_t, PACK_u32, PACK_NO_TRANSPOSE)
PACK_DEFINE(pack_i64, int64_t, uint64_t, PACK_u64, PACK_NO_TRANSPOSE)
PACK_DEFINE(pack_u8, uint8_t, uint32_t, PACK_u32, PACK_NO_TRANSPOSE)
PACK_DEFINE(pack_u16, uint16_t, uint32_t, PACK_u32, PACK_NO_TRANSPOSE)

const mica_cpu_gemm MICA_ISA_NAME(mica_cpu_gemm_int)[8] = {
    {ROWS, COLUMNS, 4, 0, tile_u32, tile_to_u32, pack_i8},
    {ROWS, COLUMNS, 4, 0, tile_u32, tile_to_u32, pack_i16},
    {ROWS, COLUMNS, 4, 0, tile_u32, tile_to_u32, pack_i32},
    {ROWS, COLUMNS, 8, 0, tile_u64, tile_to_u64, pack_i64},
    {ROWS, COLUMNS, 4, 0, tile_u32, tile_to_u32, pack_u8},
    {ROWS, COLUMNS, 4, 0, tile_u32, tile_to_u32, pack_u16},
    {ROWS, COLUMNS, 4, 0, tile_u32, tile_to_u32, pack_i32},
    {ROWS, COLUMNS, 8, 0, tile_u64, tile_to_u64, pack_i64},
};
#endif
