/* codegen/prelude/attention_hopper.h: attention.h's kernels for the tensor cores of Hopper and a
 * HEAD of 64 (CUDA C alone, for sm_90a).
 *
 * Four warps together multiply 64 rows, of which each has 16 in registers, by 64 rows of a tile in
 * shared memory, as it lies there or transposed. Rows of a tile have 128 bytes, whose pieces of 16
 * are exchanged by the row's number modulo 8, as the tensor cores want it; a tile begins at a
 * multiple of 1024 bytes. Products run while the warps go on; `settle` is where their sums may be
 * read. */
#include "codegen/prelude/attention_parts.h"

#define TILE_BYTES (TILE * 128)
#define FORWARD_GROUPS MICA_ATTENTION_FORWARD_GROUPS
#define KEY_GROUPS MICA_ATTENTION_KEY_GROUPS
#define QUERY_GROUPS MICA_ATTENTION_QUERY_GROUPS

MICA_SCALAR uint32_t piece_of(int row, int piece) {
    return (uint32_t)(row * 128 + ((piece ^ (row & 7)) << 4));
}

/* Rows first ... first + n of an array (limit, size) to shared memory; beyond it zeros. */
template <int n, int threads>
MICA_SCALAR void copy_tile(uint32_t to, const T *from, int first, int limit, int size) {
#pragma unroll
    for (int i = threadIdx.x; i < n * 8; i += threads) {
        const int row = i / 8, piece = i % 8;
        const int there = first + row < limit && piece * 8 < size;
        const T *at = there ? from + (int64_t)(first + row) * size + piece * 8 : from;
        copy_later(to + piece_of(row, piece), at, there ? 16 : 0);
    }
}

/* What was copied is there, for the tensor cores of all warps too. */
MICA_SCALAR void meet(void) {
    wait_for_copies();
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
}

/* 16 rows of a tile as left operands. */
MICA_SCALAR void load_left(uint32_t (*out)[4], uint32_t tile, int first, int lane) {
#pragma unroll
    for (int d = 0; d < DEPTH; d++)
        load_matrices(out[d], tile + piece_of(first + lane % 16, 2 * d + lane / 16));
}

MICA_SCALAR void begin_products(void) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
MICA_SCALAR void end_products(void) {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* All but the last n that were ended are done. */
template <int n> MICA_SCALAR void wait_for_products(void) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory");
}
MICA_SCALAR void settle(float (*x)[4]) {
#pragma unroll
    for (int j = 0; j < 8; j++)
        asm volatile("" : "+f"(x[j][0]), "+f"(x[j][1]), "+f"(x[j][2]), "+f"(x[j][3])::"memory");
}

/* Rows of 128 bytes with exchanged pieces; 1024 bytes further are the next eight. */
MICA_SCALAR uint64_t describe(uint32_t at) {
    return (uint64_t)((at & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)64 << 32 |
           (uint64_t)1 << 62;
}

#define FOUR(x) "+f"((x)[0]), "+f"((x)[1]), "+f"((x)[2]), "+f"((x)[3])

/* sums (64, 64) += left (64, 16) right; the 64 rows of `right` are columns of the sums, or
 * (transposed) its columns are, and it has 16 rows. */
template <int transposed>
MICA_SCALAR void multiply_64(float (*sums)[4], const uint32_t *left, uint64_t right, int adds) {
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %37, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." DTYPE "." DTYPE " "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "{%32, %33, %34, %35}, %36, adds, 1, 1, %38;\n"
                 "}\n"
                 : FOUR(sums[0]), FOUR(sums[1]), FOUR(sums[2]), FOUR(sums[3]), FOUR(sums[4]),
                   FOUR(sums[5]), FOUR(sums[6]), FOUR(sums[7])
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "r"(adds),
                   "n"(transposed));
}

/* sums = left tile^T, over the columns of both */
MICA_SCALAR void multiply_across(float (*sums)[4], const uint32_t (*left)[4], uint32_t tile) {
#pragma unroll
    for (int d = 0; d < DEPTH; d++) multiply_64<0>(sums, left[d], describe(tile + 32 * d), d > 0);
}
/* sums += left tile, over the rows of the tile */
MICA_SCALAR void multiply_down(float (*sums)[4], const uint32_t (*left)[4], uint32_t tile) {
#pragma unroll
    for (int j = 0; j < TILE / 16; j++) multiply_64<1>(sums, left[j], describe(tile + 2048 * j), 1);
}

/* 16 rows of results to memory, by way of rows in shared memory that the warp alone uses. */
MICA_SCALAR void put_rows(T *to, int first, int limit, int size, float (*sums)[4], float low,
                          float high, uint8_t *shared, int row, int lane) {
    const int own = row + lane / 4;
#pragma unroll
    for (int j = 0; j < 8; j++) {
        *(uint32_t *)(shared + piece_of(own, j) + lane % 4 * 4) =
            pack(sums[j][0] * low, sums[j][1] * low);
        *(uint32_t *)(shared + piece_of(own + 8, j) + lane % 4 * 4) =
            pack(sums[j][2] * high, sums[j][3] * high);
    }
    __syncwarp();
#pragma unroll
    for (int i = lane; i < 16 * 8; i += 32)
        if (first + i / 8 < limit && i % 8 * 8 < size)
            *(uint4 *)(to + (int64_t)(first + i / 8) * size + i % 8 * 8) =
                *(const uint4 *)(shared + piece_of(row + i / 8, i % 8));
    __syncwarp();
}

MICA_SCALAR void clear(float (*x)[4]) {
#pragma unroll
    for (int j = 0; j < 8; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) x[j][e] = 0;
}

/* Tiles, from a multiple of 1024 bytes on. */
#define SHARED_TILES                                                                               \
    extern __shared__ __align__(1024) uint8_t given[];                                             \
    const uint32_t at = (place_in_shared(given) + 1023) / 1024 * 1024;                             \
    uint8_t *shared = given + (at - place_in_shared(given))

/* ---- forward ----------------------------------------------------------------------------------*/

KERNEL(attention_forward, 128 * FORWARD_GROUPS, 2) {
    SHARED_TILES;
    const int rows = 64 * FORWARD_GROUPS;
    BLOCK_OF(a.queries, rows);
    const int queries = (int)a.queries, keys = (int)a.keys, size = (int)a.size;
    const int first = (blocks - 1 - (int)(blockIdx.x % blocks)) * rows;
    const int group = first + warp / 4 * 64, own = first + warp * 16;
    const int limit = a.causal && first + rows < keys ? first + rows : keys;
    const T *k = (const T *)a.k + batch * keys * size, *v = (const T *)a.v + batch * keys * size;
    const uint32_t tiles = at + FORWARD_GROUPS * TILE_BYTES;
    const float factor = a.scale * LOG2_E;
    uint32_t left[DEPTH][4];
    float y[8][4], top[2] = {-MICA_INF_F32, -MICA_INF_F32}, sum[2] = {0, 0};
    copy_tile<64 * FORWARD_GROUPS, 128 * FORWARD_GROUPS>(
        at, (const T *)a.q + batch * queries * size, first, queries, size);
    copy_tile<TILE, 128 * FORWARD_GROUPS>(tiles, k, 0, keys, size);
    copy_tile<TILE, 128 * FORWARD_GROUPS>(tiles + TILE_BYTES, v, 0, keys, size);
    end_copies();
    meet();
    load_left(left, at, warp * 16, lane);
    clear(y);
    for (int tile = 0, slot = 0; tile < limit; tile += TILE, slot ^= 1) {
        const uint32_t k_tile = tiles + slot * 2 * TILE_BYTES, v_tile = k_tile + TILE_BYTES;
        meet();
        if (tile + TILE < limit) {
            const uint32_t next = tiles + (slot ^ 1) * 2 * TILE_BYTES;
            copy_tile<TILE, 128 * FORWARD_GROUPS>(next, k, tile + TILE, keys, size);
            copy_tile<TILE, 128 * FORWARD_GROUPS>(next + TILE_BYTES, v, tile + TILE, keys, size);
            end_copies();
        }
        if ((a.causal && tile > group + 63) || group >= queries) continue;
        float s[8][4];
        begin_products();
        multiply_across(s, left, k_tile);
        end_products();
        wait_for_products<0>();
        settle(s);
        if (is_cut(&a, own, tile + TILE - 1)) {
#pragma unroll
            for (int j = 0; j < 8; j++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (is_hidden(&a, batch, own + lane / 4 + e / 2 * 8,
                                  tile + 8 * j + lane % 4 * 2 + e % 2))
                        s[j][e] = -MICA_INF_F32;
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float largest = top[h], part = 0;
#pragma unroll
            for (int j = 0; j < 8; j++)
                largest = fmaxf(largest, fmaxf(s[j][2 * h], s[j][2 * h + 1]));
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
            const float base = largest == -MICA_INF_F32 ? 0 : largest * factor;
            const float shrink = power_of_2(__fmaf_rn(top[h], factor, -base));
            top[h] = largest;
#pragma unroll
            for (int j = 0; j < 8; j++)
#pragma unroll
                for (int e = 2 * h; e < 2 * h + 2; e++) {
                    s[j][e] = power_of_2(__fmaf_rn(s[j][e], factor, -base));
                    part += s[j][e];
                    y[j][e] *= shrink;
                }
            sum[h] = __fmaf_rn(sum[h], shrink, part);
        }
        uint32_t p[TILE / 16][4];
#pragma unroll
        for (int j = 0; j < TILE / 16; j++) as_left(p[j], s, j);
        settle(y);
        begin_products();
        multiply_down(y, p, v_tile);
        end_products();
        wait_for_products<0>();
        settle(y);
    }
    float inverse[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int row = own + lane / 4 + 8 * h;
        float all = sum[h];
        all += __shfl_xor_sync(0xffffffff, all, 1);
        all += __shfl_xor_sync(0xffffffff, all, 2);
        inverse[h] = all == 0 ? 0 : 1 / all;
        if (lane % 4 == 0 && row < queries)
            ((float *)a.logs)[batch * queries + row] =
                all == 0 ? 0 : __fmaf_rn(top[h], a.scale, logf(all));
    }
    put_rows((T *)a.y + batch * queries * size, own, queries, size, y, inverse[0], inverse[1],
             shared, warp * 16, lane);
}

/* ---- backward ---------------------------------------------------------------------------------*/

/* A tile of queries: q, dy, and behind all tiles the two numbers of each row. */
MICA_SCALAR void copy_queries(const mica_attention_arguments *a, uint32_t at, int64_t batch,
                              int tile, int slot) {
    const int queries = (int)a->queries, size = (int)a->size;
    const uint32_t to = at + slot * 2 * TILE_BYTES;
    const uint32_t numbers = at + (4 + 2 * KEY_GROUPS) * TILE_BYTES + slot * 2 * TILE * 4;
    const float *rows = (const float *)a->rows + batch * 2 * a->padded + tile;
    copy_tile<TILE, 128 * KEY_GROUPS>(to, (const T *)a->q + batch * queries * size, tile, queries,
                                      size);
    copy_tile<TILE, 128 * KEY_GROUPS>(to + TILE_BYTES, (const T *)a->dy + batch * queries * size,
                                      tile, queries, size);
    if (threadIdx.x < 2 * TILE / 4) {
        const int which = threadIdx.x / (TILE / 4), i = threadIdx.x % (TILE / 4) * 4;
        copy_later(numbers + (which * TILE + i) * 4, rows + which * a->padded + i, 16);
    }
}

/* Scores are transposed here, (keys, queries), so that they become left operands. */
KERNEL(attention_keys, 128 * KEY_GROUPS, 1) {
    SHARED_TILES;
    const int rows = 64 * KEY_GROUPS;
    BLOCK_OF(a.keys, rows);
    const int queries = (int)a.queries, keys = (int)a.keys, size = (int)a.size;
    const int first = (int)(blockIdx.x % blocks) * rows;
    const int group = first + warp / 4 * 64, own = first + warp * 16;
    const uint32_t of_keys = at + 4 * TILE_BYTES;
    const float factor = a.scale * LOG2_E;
    uint32_t k[DEPTH][4], v[DEPTH][4];
    float dk[8][4], dv[8][4];
    const int begin = a.causal ? first : 0;
    copy_queries(&a, at, batch, begin < queries ? begin : 0, 0);
    copy_tile<64 * KEY_GROUPS, 128 * KEY_GROUPS>(of_keys, (const T *)a.k + batch * keys * size,
                                                 first, keys, size);
    copy_tile<64 * KEY_GROUPS, 128 * KEY_GROUPS>(
        of_keys + KEY_GROUPS * TILE_BYTES, (const T *)a.v + batch * keys * size, first, keys, size);
    end_copies();
    meet();
    load_left(k, of_keys, warp * 16, lane);
    load_left(v, of_keys + KEY_GROUPS * TILE_BYTES, warp * 16, lane);
    clear(dk);
    clear(dv);
    for (int tile = begin, slot = 0; tile < queries; tile += TILE, slot ^= 1) {
        const uint32_t q_tile = at + slot * 2 * TILE_BYTES, dy_tile = q_tile + TILE_BYTES;
        const float *numbers =
            (const float *)(shared + (4 + 2 * KEY_GROUPS) * TILE_BYTES) + slot * 2 * TILE;
        meet();
        if (tile + TILE < queries) {
            copy_queries(&a, at, batch, tile + TILE, slot ^ 1);
            end_copies();
        }
        if ((a.causal && tile + TILE <= group) || group >= keys) continue;
        float s[8][4], ds[8][4];
        uint32_t p[TILE / 16][4], left[TILE / 16][4];
        begin_products();
        multiply_across(s, k, q_tile);
        end_products();
        multiply_across(ds, v, dy_tile);
        end_products();
        wait_for_products<1>();
        settle(s);
        const int cut = is_cut(&a, tile, own + 15);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const float2 logs = *(const float2 *)(numbers + 8 * j + lane % 4 * 2);
#pragma unroll
            for (int e = 0; e < 4; e++) {
                s[j][e] = power_of_2(__fmaf_rn(s[j][e], factor, -(e % 2 ? logs.y : logs.x)));
                if (cut && is_hidden(&a, batch, tile + 8 * j + lane % 4 * 2 + e % 2,
                                     own + lane / 4 + e / 2 * 8))
                    s[j][e] = 0;
            }
        }
#pragma unroll
        for (int j = 0; j < TILE / 16; j++) as_left(p[j], s, j);
        begin_products();
        multiply_down(dv, p, dy_tile);
        end_products();
        wait_for_products<1>();
        settle(ds);
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const float2 less = *(const float2 *)(numbers + TILE + 8 * j + lane % 4 * 2);
#pragma unroll
            for (int e = 0; e < 4; e++) ds[j][e] = s[j][e] * (ds[j][e] - (e % 2 ? less.y : less.x));
        }
#pragma unroll
        for (int j = 0; j < TILE / 16; j++) as_left(left[j], ds, j);
        begin_products();
        multiply_down(dk, left, q_tile);
        end_products();
        wait_for_products<0>();
        settle(dv);
        settle(dk);
    }
    put_rows((T *)a.dk + batch * keys * size, own, keys, size, dk, a.scale, a.scale,
             shared + 4 * TILE_BYTES, warp * 16, lane);
    put_rows((T *)a.dv + batch * keys * size, own, keys, size, dv, 1, 1, shared + 4 * TILE_BYTES,
             warp * 16, lane);
}

KERNEL(attention_queries, 128 * QUERY_GROUPS, 1) {
    SHARED_TILES;
    const int rows = 64 * QUERY_GROUPS;
    BLOCK_OF(a.queries, rows);
    const int queries = (int)a.queries, keys = (int)a.keys, size = (int)a.size;
    const int first = (blocks - 1 - (int)(blockIdx.x % blocks)) * rows;
    const int group = first + warp / 4 * 64, own = first + warp * 16;
    const int limit = a.causal && first + rows < keys ? first + rows : keys;
    const T *k = (const T *)a.k + batch * keys * size, *v = (const T *)a.v + batch * keys * size;
    const float *of_rows = (const float *)a.rows + batch * 2 * a.padded;
    const uint32_t of_queries = at + 4 * TILE_BYTES;
    const float factor = a.scale * LOG2_E;
    uint32_t q[DEPTH][4], dy[DEPTH][4];
    float dq[8][4], logs[2], less[2];
    copy_tile<64 * QUERY_GROUPS, 128 * QUERY_GROUPS>(
        of_queries, (const T *)a.q + batch * queries * size, first, queries, size);
    copy_tile<64 * QUERY_GROUPS, 128 * QUERY_GROUPS>(of_queries + QUERY_GROUPS * TILE_BYTES,
                                                     (const T *)a.dy + batch * queries * size,
                                                     first, queries, size);
    copy_tile<TILE, 128 * QUERY_GROUPS>(at, k, 0, keys, size);
    copy_tile<TILE, 128 * QUERY_GROUPS>(at + TILE_BYTES, v, 0, keys, size);
    end_copies();
    meet();
    load_left(q, of_queries, warp * 16, lane);
    load_left(dy, of_queries + QUERY_GROUPS * TILE_BYTES, warp * 16, lane);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int row = own + lane / 4 + 8 * h;
        logs[h] = row < queries ? of_rows[row] : MICA_INF_F32;
        less[h] = row < queries ? of_rows[a.padded + row] : 0;
    }
    clear(dq);
    for (int tile = 0, slot = 0; tile < limit; tile += TILE, slot ^= 1) {
        const uint32_t k_tile = at + slot * 2 * TILE_BYTES, v_tile = k_tile + TILE_BYTES;
        meet();
        if (tile + TILE < limit) {
            const uint32_t next = at + (slot ^ 1) * 2 * TILE_BYTES;
            copy_tile<TILE, 128 * QUERY_GROUPS>(next, k, tile + TILE, keys, size);
            copy_tile<TILE, 128 * QUERY_GROUPS>(next + TILE_BYTES, v, tile + TILE, keys, size);
            end_copies();
        }
        if ((a.causal && tile > group + 63) || group >= queries) continue;
        float s[8][4], ds[8][4];
        uint32_t left[TILE / 16][4];
        begin_products();
        multiply_across(s, q, k_tile);
        end_products();
        multiply_across(ds, dy, v_tile);
        end_products();
        wait_for_products<1>();
        settle(s);
        const int cut = is_cut(&a, own, tile + TILE - 1);
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                s[j][e] = power_of_2(__fmaf_rn(s[j][e], factor, -logs[e / 2]));
                if (cut && is_hidden(&a, batch, own + lane / 4 + e / 2 * 8,
                                     tile + 8 * j + lane % 4 * 2 + e % 2))
                    s[j][e] = 0;
            }
        wait_for_products<0>();
        settle(ds);
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) ds[j][e] = s[j][e] * (ds[j][e] - less[e / 2]);
#pragma unroll
        for (int j = 0; j < TILE / 16; j++) as_left(left[j], ds, j);
        begin_products();
        multiply_down(dq, left, k_tile);
        end_products();
        wait_for_products<0>();
        settle(dq);
    }
    put_rows((T *)a.dq + batch * queries * size, own, queries, size, dq, a.scale, a.scale,
             shared + 4 * TILE_BYTES, warp * 16, lane);
}
