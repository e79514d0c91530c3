/* codegen/prelude/attention_parts.h: what kernels for tensor cores share (CUDA C alone).
 *
 * In the registers of a product, lane l has of 16 rows by 8 columns of the result the rows l / 4
 * and l / 4 + 8 and the columns 2 (l % 4) and the next one, which is also how a left operand lies:
 * so a softmax becomes a left operand where it is. Tiles of 64 rows of what a block goes over are
 * copied to shared memory while the tiles before are used. */

#define TILE MICA_ATTENTION_TILE
#define DEPTH (HEAD / 16) /* products along a row */

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

/* The results of a row of products as a left operand: columns 16 j ... */
MICA_SCALAR void as_left(uint32_t *out, const float (*x)[4], int j) {
    out[0] = pack(x[2 * j][0], x[2 * j][1]);
    out[1] = pack(x[2 * j][2], x[2 * j][3]);
    out[2] = pack(x[2 * j + 1][0], x[2 * j + 1][1]);
    out[3] = pack(x[2 * j + 1][2], x[2 * j + 1][3]);
}

/* Whether 16 rows of queries or keys need a look at each score of a tile. */
MICA_SCALAR int is_cut(const mica_attention_arguments *a, int first_query, int last_key) {
    return MASKED || last_key >= a->keys || (a->causal && last_key > first_query);
}

#define KERNEL(name, threads, resident)                                                            \
    extern "C" __global__ void __launch_bounds__(threads, resident)                                \
        name(const __grid_constant__ mica_attention_arguments a)

/* Block b of all: the batch, and the first row of so many. The last rows first: with causal they
 * have the most to do. */
#define BLOCK_OF(rows, per_block)                                                                  \
    const int blocks = (int)(((rows) + (per_block)-1) / (per_block));                              \
    const int64_t batch = blockIdx.x / blocks;                                                     \
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32

/* Eight lanes per row. */
KERNEL(attention_rows, MICA_ATTENTION_THREADS, 8) {
    const int64_t i = (int64_t)blockIdx.x * (MICA_ATTENTION_THREADS / 8) + threadIdx.x / 8;
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
