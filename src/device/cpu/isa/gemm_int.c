/* The tiles of contractions of integers, which wrap: narrow ones compute in 32 bits, whose low bits
 * are the answer. The avx512 variant has none: the avx2 loops serve it. */
#include <string.h>

#include "device/cpu/isa.h"

#ifndef __AVX512F__
#include "device/cpu/isa/gemm_pack.h"

#define ROWS 4
#define VECTORS 2
#define COLUMNS(type) (VECTORS * 32 / (int)sizeof(type))

#define TILE_DEFINE(suffix, type)                                                                  \
    typedef type lanes_##suffix __attribute__((vector_size(32)));                                  \
    static void tile_##suffix(const void *a_panel, const void *b_panel, int64_t n_k, void *c,      \
                              const int64_t *rows, int first, const void *next,                    \
                              int64_t next_step) {                                                 \
        const type *a = (const type *)a_panel, *b = (const type *)b_panel;                         \
        lanes_##suffix acc[ROWS][VECTORS];                                                         \
        (void)next, (void)next_step;                                                               \
        memset(acc, 0, sizeof acc);                                                                \
        for (int64_t k = 0; k < n_k; k++, a += ROWS, b += COLUMNS(type)) {                         \
            lanes_##suffix row[VECTORS];                                                           \
            memcpy(row, b, sizeof row);                                                            \
            for (int i = 0; i < ROWS; i++)                                                         \
                for (int j = 0; j < VECTORS; j++) acc[i][j] += a[i] * row[j];                      \
        }                                                                                          \
        for (int i = 0; i < ROWS; i++) {                                                           \
            lanes_##suffix old[VECTORS];                                                           \
            memcpy(old, (type *)c + rows[i], sizeof old);                                          \
            for (int j = 0; j < VECTORS && !first; j++) acc[i][j] += old[j];                       \
            memcpy((type *)c + rows[i], acc[i], sizeof old);                                       \
        }                                                                                          \
    }
TILE_DEFINE(u32, uint32_t)
TILE_DEFINE(u64, uint64_t)
SCATTER_DEFINE(u32, uint32_t)
SCATTER_DEFINE(u64, uint64_t)

#define PACK_u32(a) ((uint32_t)(a))
#define PACK_u64(a) ((uint64_t)(a))
#define COPY_DEFINE(name, storage, compute)                                                        \
    static inline void name(compute *to, const storage *from, int64_t n) {                         \
        for (int64_t i = 0; i < n; i++) to[i] = (compute)from[i];                                  \
    }
COPY_DEFINE(copy_pack_i8, int8_t, uint32_t)
PACK_DEFINE(pack_i8, int8_t, uint32_t, PACK_u32, copy_pack_i8, PACK_NO_TRANSPOSE)
COPY_DEFINE(copy_pack_i16, int16_t, uint32_t)
PACK_DEFINE(pack_i16, int16_t, uint32_t, PACK_u32, copy_pack_i16, PACK_NO_TRANSPOSE)
COPY_DEFINE(copy_pack_i32, int32_t, uint32_t)
PACK_DEFINE(pack_i32, int32_t, uint32_t, PACK_u32, copy_pack_i32, PACK_NO_TRANSPOSE)
COPY_DEFINE(copy_pack_i64, int64_t, uint64_t)
PACK_DEFINE(pack_i64, int64_t, uint64_t, PACK_u64, copy_pack_i64, PACK_NO_TRANSPOSE)
COPY_DEFINE(copy_pack_u8, uint8_t, uint32_t)
PACK_DEFINE(pack_u8, uint8_t, uint32_t, PACK_u32, copy_pack_u8, PACK_NO_TRANSPOSE)
COPY_DEFINE(copy_pack_u16, uint16_t, uint32_t)
PACK_DEFINE(pack_u16, uint16_t, uint32_t, PACK_u32, copy_pack_u16, PACK_NO_TRANSPOSE)

#define INT_GEMM(suffix, type, pack)                                                               \
    {                                                                                              \
        ROWS, COLUMNS(type), sizeof(type), 0, tile_##suffix, {ROWS}, {NULL}, scatter_##suffix,     \
            NULL, pack                                                                             \
    }
const mica_cpu_gemm MICA_ISA_NAME(mica_cpu_gemm_int)[8] = {
    INT_GEMM(u32, uint32_t, pack_i8),  INT_GEMM(u32, uint32_t, pack_i16),
    INT_GEMM(u32, uint32_t, pack_i32), INT_GEMM(u64, uint64_t, pack_i64),
    INT_GEMM(u32, uint32_t, pack_u8),  INT_GEMM(u32, uint32_t, pack_u16),
    INT_GEMM(u32, uint32_t, pack_i32), INT_GEMM(u64, uint64_t, pack_i64),
};
#endif
