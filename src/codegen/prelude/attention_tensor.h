/* codegen/prelude/attention_tensor.h: attention.h's kernels for tensor cores (CUDA C alone).
 *
 * Four warps of a block have rows of their own and share tiles of 64 rows of what they go over,
 * which are copied while the tiles before are used. Products are of 16 by 16 by 8 elements; in
 * their registers, lane l has of a result the rows l / 4 and l / 4 + 8 and the columns 2 (l % 4)
 * and the next one, which is also how a left operand lies: so a softmax becomes a left operand
 * where it is. Rows in shared memory are 16 bytes longer than HEAD, so that eight of them lie in
 * different banks. */

#define PITCH (HEAD + 8) /* elements of a row in shared memory */
#define TILE MICA_ATTENTION_TILE
#define THREADS MICA_ATTENTION_THREADS
#define DEPTH (HEAD / 16)                          /* products along a row */
#define GROUPS (MICA_ATTENTION_QUERIES(HEAD) / 64) /* of 16 queries, per warp */
#define PART 32                                    /* columns of scores at a time, backward */
#define RESIDENT (HEAD <= 64 ? 3 : HEAD <= 80 ? 2 : 1)

#if IS_BF16
#define DTYPE "bf16"
#else
#define DTYPE "f16"
#endif

MICA_SCALAR uint32_t place_in_shared(const void *x) {
    return (uint32_t)__cvta_generic_to_shared(x);
}

/* Four matrices of 8 by 8, from rows of 16 bytes that the lanes point to. */
MICA_SCALAR void load_matrices(uint32_t *out, uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(from)
                 : "memory");
}
MICA_SCALAR void load_transposed(uint32_t *out, uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(from)
                 : "memory");
}

MICA_SCALAR void multiply(float *sum, const uint32_t *left, uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32." DTYPE "." DTYPE ".f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(b0), "r"(b1));
}

MICA_SCALAR uint32_t pack(float low, float high) {
    uint32_t out;
    asm("cvt.rn." DTYPE "x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
    return out;
}

/* Within 2 ulp; 0 for -inf. */
MICA_SCALAR float power_of_2(float x) {
    float out;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
    return out;
}

/* 16 bytes, or zeros, later. */
MICA_SCALAR void copy_later(uint32_t to, const void *from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
}
MICA_SCALAR void end_copies(void) {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
MICA_SCALAR void wait_for_copies(void) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
}

/* Rows first ... first + n of an array (limit, size) to shared memory; beyond it zeros. */
MICA_SCALAR void copy_rows(uint32_t to, const T *from, int first, int n, int limit, int size) {
#pragma unroll
    for (int i = threadIdx.x; i < n * (HEAD / 8); i += THREADS) {
        const int row = i / (HEAD / 8), column = i % (HEAD / 8) * 8;
        const int there = first + row < limit && column < size;
        const T *at = there ? from + (int64_t)(first + row) * size + column : from;
        copy_later(to + (row * PITCH + column) * 2, at, there ? 16 : 0);
    }
}

/* Where a lane points for 16 rows by 16 columns: of a left operand, or of a right one that is
 * transposed in being loaded (its rows are along the sum); and of a right one whose rows are
 * columns of the result. */
MICA_SCALAR uint32_t lane_of_left(int lane) {
    return (lane % 16 * PITCH + lane / 16 * 8) * 2;
}
MICA_SCALAR uint32_t lane_of_right(int lane) {
    return ((lane % 8 + lane / 16 * 8) * PITCH + lane / 8 % 2 * 8) * 2;
}

#define AT(row, column) (((row)*PITCH + (column)) * 2)

/* sums (16 rows, 8 n) += left (16, HEAD) right^T, of rows in shared memory. */
template <int n>
MICA_SCALAR void multiply_across(float (*sums)[4], const uint32_t (*left)[4], uint32_t right) {
#pragma unroll
    for (int k = 0; k < DEPTH; k++)
#pragma unroll
        for (int j = 0; j < n; j += 2) {
            uint32_t b[4];
            load_matrices(b, right + AT(8 * j, 16 * k));
            multiply(sums[j], left[k], b[0], b[1]);
            multiply(sums[j + 1], left[k], b[2], b[3]);
        }
}

/* The results of a row of products as a left operand: columns 16 j ... */
MICA_SCALAR void as_left(uint32_t *out, const float (*x)[4], int j) {
    out[0] = pack(x[2 * j][0], x[2 * j][1]);
    out[1] = pack(x[2 * j][2], x[2 * j][3]);
    out[2] = pack(x[2 * j + 1][0], x[2 * j + 1][1]);
    out[3] = pack(x[2 * j + 1][2], x[2 * j + 1][3]);
}

/* 16 rows of results, which a warp alone has, to memory by way of its rows in shared memory. */
MICA_SCALAR void put_rows(T *to, int first, int limit, int size, float (*sums)[4], float low,
                          float high, T *shared, int lane) {
    uint32_t *words = (uint32_t *)shared;
#pragma unroll
    for (int j = 0; j < 2 * DEPTH; j++) {
        const int column = 4 * j + lane % 4;
        words[lane / 4 * (PITCH / 2) + column] = pack(sums[j][0] * low, sums[j][1] * low);
        words[(lane / 4 + 8) * (PITCH / 2) + column] = pack(sums[j][2] * high, sums[j][3] * high);
    }
    __syncwarp();
#pragma unroll
    for (int i = lane; i < 16 * (HEAD / 8); i += 32) {
        const int row = i / (HEAD / 8), column = i % (HEAD / 8) * 8;
        if (first + row < limit && column < size)
            *(uint4 *)(to + (int64_t)(first + row) * size + column) =
                *(const uint4 *)(shared + row * PITCH + column);
    }
    __syncwarp();
}

/* Whether 16 rows of queries or keys need a look at each score of a tile. */
MICA_SCALAR int is_cut(const mica_attention_arguments *a, int first_query, int last_key) {
    return MASKED || last_key >= a->keys || (a->causal && last_key > first_query);
}

#define KERNEL(name, resident)                                                                     \
    extern "C" __global__ void __launch_bounds__(THREADS, resident)                                \
        name(const __grid_constant__ mica_attention_arguments a)

/* Block b of all: the batch, and the first row of so many. The last rows first: with causal they
 * have the most to do. */
#define BLOCK_OF(rows, per_block)                                                                  \
    const int blocks = (int)(((rows) + (per_block)-1) / (per_block));                              \
    const int64_t batch = blockIdx.x / blocks;                                                     \
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32

/* ---- forward ----------------------------------------------------------------------------------*/

KERNEL(attention_forward, HEAD <= 64 ? 2 : 1) {
    extern __shared__ __align__(16) T shared[];
    const int rows = 64 * GROUPS;
    BLOCK_OF(a.queries, rows);
    const int queries = (int)a.queries, keys = (int)a.keys, size = (int)a.size;
    const int first = (blocks - 1 - (int)(blockIdx.x % blocks)) * rows;
    const int own = first + warp * 16 * GROUPS;
    const int limit = a.causal && first + rows < keys ? first + rows : keys;
    const T *k = (const T *)a.k + batch * keys * size, *v = (const T *)a.v + batch * keys * size;
    const uint32_t at = place_in_shared(shared), tiles = at + AT(rows, 0);
    const float factor = a.scale * LOG2_E;
    uint32_t left[GROUPS][DEPTH][4];
    float y[GROUPS][2 * DEPTH][4], top[GROUPS][2], sum[GROUPS][2];
    copy_rows(at, (const T *)a.q + batch * queries * size, first, rows, queries, size);
    copy_rows(tiles, k, 0, TILE, keys, size);
    copy_rows(tiles + AT(TILE, 0), v, 0, TILE, keys, size);
    end_copies();
    wait_for_copies();
    __syncthreads();
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
#pragma unroll
        for (int d = 0; d < DEPTH; d++)
            load_matrices(left[g][d],
                          at + AT((warp * GROUPS + g) * 16, 16 * d) + lane_of_left(lane));
#pragma unroll
        for (int j = 0; j < 2 * DEPTH; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) y[g][j][e] = 0;
        top[g][0] = top[g][1] = -MICA_INF_F32;
        sum[g][0] = sum[g][1] = 0;
    }
    for (int tile = 0, slot = 0; tile < limit; tile += TILE, slot ^= 1) {
        const uint32_t k_tile = tiles + AT(slot * 2 * TILE, 0), v_tile = k_tile + AT(TILE, 0);
        wait_for_copies();
        __syncthreads();
        if (tile + TILE < limit) {
            const uint32_t next = tiles + AT((slot ^ 1) * 2 * TILE, 0);
            copy_rows(next, k, tile + TILE, TILE, keys, size);
            copy_rows(next + AT(TILE, 0), v, tile + TILE, TILE, keys, size);
            end_copies();
        }
        if (a.causal && tile > own + 16 * GROUPS - 1) continue;
        float s[GROUPS][TILE / 8][4];
#pragma unroll
        for (int g = 0; g < GROUPS; g++)
#pragma unroll
            for (int j = 0; j < TILE / 8; j++)
#pragma unroll
                for (int e = 0; e < 4; e++) s[g][j][e] = 0;
#pragma unroll
        for (int d = 0; d < DEPTH; d++)
#pragma unroll
            for (int j = 0; j < TILE / 8; j += 2) {
                uint32_t b[4];
                load_matrices(b, k_tile + AT(8 * j, 16 * d) + lane_of_right(lane));
#pragma unroll
                for (int g = 0; g < GROUPS; g++) {
                    multiply(s[g][j], left[g][d], b[0], b[1]);
                    multiply(s[g][j + 1], left[g][d], b[2], b[3]);
                }
            }
#pragma unroll
        for (int g = 0; g < GROUPS; g++) {
            if (is_cut(&a, own + 16 * g, tile + TILE - 1)) {
#pragma unroll
                for (int j = 0; j < TILE / 8; j++)
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        if (is_hidden(&a, batch, own + 16 * g + lane / 4 + e / 2 * 8,
                                      tile + 8 * j + lane % 4 * 2 + e % 2))
                            s[g][j][e] = -MICA_INF_F32;
            }
#pragma unroll
            for (int h = 0; h < 2; h++) {
                float largest = top[g][h], part = 0;
#pragma unroll
                for (int j = 0; j < TILE / 8; j++)
                    largest = fmaxf(largest, fmaxf(s[g][j][2 * h], s[g][j][2 * h + 1]));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
                largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
                const float base = largest == -MICA_INF_F32 ? 0 : largest * factor;
                const float shrink = power_of_2(__fmaf_rn(top[g][h], factor, -base));
                top[g][h] = largest;
#pragma unroll
                for (int j = 0; j < TILE / 8; j++)
#pragma unroll
                    for (int e = 2 * h; e < 2 * h + 2; e++) {
                        s[g][j][e] = power_of_2(__fmaf_rn(s[g][j][e], factor, -base));
                        part += s[g][j][e];
                    }
                sum[g][h] = __fmaf_rn(sum[g][h], shrink, part);
#pragma unroll
                for (int j = 0; j < 2 * DEPTH; j++) {
                    y[g][j][2 * h] *= shrink;
                    y[g][j][2 * h + 1] *= shrink;
                }
            }
        }
#pragma unroll
        for (int j = 0; j < TILE / 16; j++) {
            uint32_t p[GROUPS][4];
#pragma unroll
            for (int g = 0; g < GROUPS; g++) as_left(p[g], s[g], j);
#pragma unroll
            for (int d = 0; d < DEPTH; d++) {
                uint32_t b[4];
                load_transposed(b, v_tile + AT(16 * j, 16 * d) + lane_of_left(lane));
#pragma unroll
                for (int g = 0; g < GROUPS; g++) {
                    multiply(y[g][2 * d], p[g], b[0], b[1]);
                    multiply(y[g][2 * d + 1], p[g], b[2], b[3]);
                }
            }
        }
    }
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        float inverse[2];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int row = own + 16 * g + lane / 4 + 8 * h;
            float all = sum[g][h];
            all += __shfl_xor_sync(0xffffffff, all, 1);
            all += __shfl_xor_sync(0xffffffff, all, 2);
            inverse[h] = all == 0 ? 0 : 1 / all;
            if (lane % 4 == 0 && row < queries)
                ((float *)a.logs)[batch * queries + row] =
                    all == 0 ? 0 : __fmaf_rn(top[g][h], a.scale, logf(all));
        }
        put_rows((T *)a.y + batch * queries * size, own + 16 * g, queries, size, y[g], inverse[0],
                 inverse[1], shared + (warp * GROUPS + g) * 16 * PITCH, lane);
    }
}

/* ---- backward ---------------------------------------------------------------------------------*/

/* Eight lanes per row. */
KERNEL(attention_rows, 8) {
    const int64_t i = (int64_t)blockIdx.x * (THREADS / 8) + threadIdx.x / 8;
    const int64_t batch = i / a.padded, query = i - batch * a.padded;
    const int64_t row = batch * a.queries + query;
    const int there = batch < a.batch && query < a.queries;
    float product = 0;
    for (int column = threadIdx.x % 8 * 8; there && column < a.size; column += 64) {
        const uint4 y = *(const uint4 *)((const T *)a.y + row * a.size + column);
        const uint4 dy = *(const uint4 *)((const T *)a.dy + row * a.size + column);
        const uint32_t ys[] = {y.x, y.y, y.z, y.w}, dys[] = {dy.x, dy.y, dy.z, dy.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            product = __fmaf_rn(LOAD((T)ys[k]), LOAD((T)dys[k]), product);
            product = __fmaf_rn(LOAD((T)(ys[k] >> 16)), LOAD((T)(dys[k] >> 16)), product);
        }
    }
    for (int step = 4; step > 0; step /= 2) product += __shfl_xor_sync(0xffffffff, product, step);
    if (threadIdx.x % 8 != 0 || batch >= a.batch) return;
    float *rows = (float *)a.rows + batch * 2 * a.padded + query;
    rows[0] = there ? ((const float *)a.logs)[row] * LOG2_E : MICA_INF_F32;
    rows[a.padded] = there ? product - ((const float *)a.dlogs)[row] : 0;
}

/* A tile of queries: q, dy, and behind the tiles of both slots the two numbers of each row. */
MICA_SCALAR void copy_queries(const mica_attention_arguments *a, uint32_t at, int64_t batch,
                              int tile, int slot) {
    const int queries = (int)a->queries, size = (int)a->size;
    const uint32_t to = at + AT(slot * 2 * TILE, 0);
    const uint32_t numbers = at + AT(4 * TILE, 0) + slot * 2 * TILE * 4;
    const float *rows = (const float *)a->rows + batch * 2 * a->padded + tile;
    copy_rows(to, (const T *)a->q + batch * queries * size, tile, TILE, queries, size);
    copy_rows(to + AT(TILE, 0), (const T *)a->dy + batch * queries * size, tile, TILE, queries,
              size);
    if (threadIdx.x < 2 * TILE / 4) {
        const int which = threadIdx.x / (TILE / 4), i = threadIdx.x % (TILE / 4) * 4;
        copy_later(numbers + (which * TILE + i) * 4, rows + which * a->padded + i, 16);
    }
}

/* Scores are transposed here, (keys, queries), so that they become left operands. */
KERNEL(attention_keys, RESIDENT) {
    extern __shared__ __align__(16) T shared[];
    BLOCK_OF(a.keys, TILE);
    const int queries = (int)a.queries, keys = (int)a.keys, size = (int)a.size;
    const int first = (int)(blockIdx.x % blocks) * TILE, own = first + warp * 16;
    const uint32_t at = place_in_shared(shared);
    const float factor = a.scale * LOG2_E;
    uint32_t k[DEPTH][4], v[DEPTH][4];
    float dk[2 * DEPTH][4], dv[2 * DEPTH][4];
    const int begin = a.causal ? first / TILE * TILE : 0;
    copy_queries(&a, at, batch, begin < queries ? begin : 0, 0);
    copy_rows(at + AT(2 * TILE, 0), (const T *)a.k + batch * keys * size, first, TILE, keys, size);
    copy_rows(at + AT(3 * TILE, 0), (const T *)a.v + batch * keys * size, first, TILE, keys, size);
    end_copies();
    wait_for_copies();
    __syncthreads();
#pragma unroll
    for (int d = 0; d < DEPTH; d++) {
        const uint32_t place = at + AT(2 * TILE + warp * 16, 16 * d) + lane_of_left(lane);
        load_matrices(k[d], place);
        load_matrices(v[d], place + AT(TILE, 0));
    }
#pragma unroll
    for (int j = 0; j < 2 * DEPTH; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) dk[j][e] = dv[j][e] = 0;
    for (int tile = begin, slot = 0; tile < queries; tile += TILE, slot ^= 1) {
        const uint32_t q_tile = at + AT(slot * 2 * TILE, 0), dy_tile = q_tile + AT(TILE, 0);
        const float *numbers = (const float *)(shared + 4 * TILE * PITCH) + slot * 2 * TILE;
        wait_for_copies();
        __syncthreads();
        if (tile + TILE < queries) {
            copy_queries(&a, at, batch, tile + TILE, slot ^ 1);
            end_copies();
        }
#pragma unroll
        for (int part = 0; part < TILE; part += PART) {
            if (a.causal && tile + part + PART <= own) continue;
            float s[PART / 8][4], ds[PART / 8][4];
#pragma unroll
            for (int j = 0; j < PART / 8; j++)
#pragma unroll
                for (int e = 0; e < 4; e++) s[j][e] = ds[j][e] = 0;
            multiply_across<PART / 8>(s, k, q_tile + AT(part, 0) + lane_of_right(lane));
            multiply_across<PART / 8>(ds, v, dy_tile + AT(part, 0) + lane_of_right(lane));
            const int cut = is_cut(&a, tile + part, own + 15);
#pragma unroll
            for (int j = 0; j < PART / 8; j++) {
                const int column = part + 8 * j + lane % 4 * 2;
                const float2 logs = *(const float2 *)(numbers + column);
                const float2 less = *(const float2 *)(numbers + TILE + column);
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const float log = e % 2 ? logs.y : logs.x;
                    s[j][e] = power_of_2(__fmaf_rn(s[j][e], factor, -log));
                    if (cut &&
                        is_hidden(&a, batch, tile + column + e % 2, own + lane / 4 + e / 2 * 8))
                        s[j][e] = 0;
                    ds[j][e] = s[j][e] * (ds[j][e] - (e % 2 ? less.y : less.x));
                }
            }
#pragma unroll
            for (int j = 0; j < PART / 16; j++) {
                uint32_t left[4], left_ds[4], b[4];
                as_left(left, s, j);
                as_left(left_ds, ds, j);
#pragma unroll
                for (int d = 0; d < DEPTH; d++) {
                    const uint32_t place = AT(part + 16 * j, 16 * d) + lane_of_left(lane);
                    load_transposed(b, dy_tile + place);
                    multiply(dv[2 * d], left, b[0], b[1]);
                    multiply(dv[2 * d + 1], left, b[2], b[3]);
                    load_transposed(b, q_tile + place);
                    multiply(dk[2 * d], left_ds, b[0], b[1]);
                    multiply(dk[2 * d + 1], left_ds, b[2], b[3]);
                }
            }
        }
    }
    __syncthreads();
    put_rows((T *)a.dk + batch * keys * size, own, keys, size, dk, a.scale, a.scale,
             shared + warp * 16 * PITCH, lane);
    put_rows((T *)a.dv + batch * keys * size, own, keys, size, dv, 1, 1, shared + warp * 16 * PITCH,
             lane);
}

KERNEL(attention_queries, HEAD <= 64 ? 2 : 1) {
    extern __shared__ __align__(16) T shared[];
    const int rows = 64 * GROUPS;
    BLOCK_OF(a.queries, rows);
    const int queries = (int)a.queries, keys = (int)a.keys, size = (int)a.size;
    const int first = (blocks - 1 - (int)(blockIdx.x % blocks)) * rows;
    const int own = first + warp * 16 * GROUPS;
    const int limit = a.causal && first + rows < keys ? first + rows : keys;
    const T *k = (const T *)a.k + batch * keys * size, *v = (const T *)a.v + batch * keys * size;
    const float *of_rows = (const float *)a.rows + batch * 2 * a.padded;
    const uint32_t at = place_in_shared(shared);
    const float factor = a.scale * LOG2_E;
    uint32_t q[GROUPS][DEPTH][4], dy[GROUPS][DEPTH][4];
    float dq[GROUPS][2 * DEPTH][4], logs[GROUPS][2], less[GROUPS][2];
    /* What belongs to the block lies where the second slot begins. */
    copy_rows(at + AT(2 * TILE, 0), (const T *)a.q + batch * queries * size, first, rows, queries,
              size);
    copy_rows(at + AT(2 * TILE + rows, 0), (const T *)a.dy + batch * queries * size, first, rows,
              queries, size);
    copy_rows(at, k, 0, TILE, keys, size);
    copy_rows(at + AT(TILE, 0), v, 0, TILE, keys, size);
    end_copies();
    wait_for_copies();
    __syncthreads();
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            const uint32_t place =
                at + lane_of_left(lane) + AT(2 * TILE + (warp * GROUPS + g) * 16, 16 * d);
            load_matrices(q[g][d], place);
            load_matrices(dy[g][d], place + AT(rows, 0));
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int row = own + 16 * g + lane / 4 + 8 * h;
            logs[g][h] = row < queries ? of_rows[row] : MICA_INF_F32;
            less[g][h] = row < queries ? of_rows[a.padded + row] : 0;
        }
#pragma unroll
        for (int j = 0; j < 2 * DEPTH; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) dq[g][j][e] = 0;
    }
    for (int tile = 0, slot = 0; tile < limit; tile += TILE, slot ^= 1) {
        const uint32_t k_tile = at + AT(slot * 2 * TILE, 0), v_tile = k_tile + AT(TILE, 0);
        wait_for_copies();
        __syncthreads();
        if (tile + TILE < limit) {
            const uint32_t next = at + AT((slot ^ 1) * 2 * TILE, 0);
            copy_rows(next, k, tile + TILE, TILE, keys, size);
            copy_rows(next + AT(TILE, 0), v, tile + TILE, TILE, keys, size);
            end_copies();
        }
#pragma unroll
        for (int part = 0; part < TILE; part += PART) {
            if (a.causal && tile + part > own + 16 * GROUPS - 1) continue;
            float s[GROUPS][PART / 8][4], ds[GROUPS][PART / 8][4];
#pragma unroll
            for (int g = 0; g < GROUPS; g++)
#pragma unroll
                for (int j = 0; j < PART / 8; j++)
#pragma unroll
                    for (int e = 0; e < 4; e++) s[g][j][e] = ds[g][j][e] = 0;
#pragma unroll
            for (int d = 0; d < DEPTH; d++)
#pragma unroll
                for (int j = 0; j < PART / 8; j += 2) {
                    const uint32_t place = AT(part + 8 * j, 16 * d) + lane_of_right(lane);
                    uint32_t b[4], c[4];
                    load_matrices(b, k_tile + place);
                    load_matrices(c, v_tile + place);
#pragma unroll
                    for (int g = 0; g < GROUPS; g++) {
                        multiply(s[g][j], q[g][d], b[0], b[1]);
                        multiply(s[g][j + 1], q[g][d], b[2], b[3]);
                        multiply(ds[g][j], dy[g][d], c[0], c[1]);
                        multiply(ds[g][j + 1], dy[g][d], c[2], c[3]);
                    }
                }
#pragma unroll
            for (int g = 0; g < GROUPS; g++) {
                const int cut = is_cut(&a, own + 16 * g, tile + part + PART - 1);
#pragma unroll
                for (int j = 0; j < PART / 8; j++)
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        const int h = e / 2;
                        float p = power_of_2(__fmaf_rn(s[g][j][e], factor, -logs[g][h]));
                        if (cut && is_hidden(&a, batch, own + 16 * g + lane / 4 + 8 * h,
                                             tile + part + 8 * j + lane % 4 * 2 + e % 2))
                            p = 0;
                        ds[g][j][e] = p * (ds[g][j][e] - less[g][h]);
                    }
            }
#pragma unroll
            for (int j = 0; j < PART / 16; j++) {
                uint32_t left[GROUPS][4], b[4];
#pragma unroll
                for (int g = 0; g < GROUPS; g++) as_left(left[g], ds[g], j);
#pragma unroll
                for (int d = 0; d < DEPTH; d++) {
                    load_transposed(b, k_tile + AT(part + 16 * j, 16 * d) + lane_of_left(lane));
#pragma unroll
                    for (int g = 0; g < GROUPS; g++) {
                        multiply(dq[g][2 * d], left[g], b[0], b[1]);
                        multiply(dq[g][2 * d + 1], left[g], b[2], b[3]);
                    }
                }
            }
        }
    }
    __syncthreads();
#pragma unroll
    for (int g = 0; g < GROUPS; g++)
        put_rows((T *)a.dq + batch * queries * size, own + 16 * g, queries, size, dq[g], a.scale,
                 a.scale, shared + warp * 16 * PITCH, lane);
}
