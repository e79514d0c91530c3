/* codegen/prelude/kernel.h: how a kernel of a GPU is written.
 *
 *     MICA_KERNEL(sums, mica_sums_layout) {
 *         MICA_SHARED float parts[MICA_MOST_THREADS];
 *         MICA_PHASE { parts[MICA_THREAD] = ...; }
 *         MICA_PHASE { if (MICA_THREAD == 0) ... }
 *     }
 *
 * A kernel has one argument, a struct `a` that is passed by value. Its blocks run in any order; the
 * threads of a block run a phase, wait for each other, and run the next. A phase is a statement:
 * what is declared in it ends with it, what a thread keeps from one phase to the next is declared
 * by MICA_OWN before them and read by MICA_MINE. Between phases stands only what is the same for
 * all threads of the block. MICA_EACH_THREAD is a phase after which no thread waits.
 *
 * The same text is CUDA C and, for tests on machines without a GPU, plain C: there a block is a
 * function, and a phase a loop over its threads. */
#ifndef MICA_CODEGEN_PRELUDE_KERNEL_H
#define MICA_CODEGEN_PRELUDE_KERNEL_H

#if defined(__CUDACC__)
#define restrict __restrict__
#define INT64_C(x) x##ll
#define UINT64_C(x) x##ull
#define MICA_HAS_TENSOR_CORES 1
#else
#define MICA_HAS_TENSOR_CORES 0
#endif

#include "ir/scalar.h"

#define MICA_MOST_THREADS 256 /* of a block */

#define INDEPENDENT
#define LAYOUT_OF(name) LAYOUT_NAMED(name)
#define LAYOUT_NAMED(name) name##_layout

#if defined(__CUDACC__)

/* Neighbours that pass in one piece of 2, 4, 8, 16 or 32 bytes, aligned to it (to 16 at most). */
template <int bytes> struct mica_wide_piece {};
template <> struct mica_wide_piece<2> { typedef uint16_t type; };
template <> struct mica_wide_piece<4> { typedef uint32_t type; };
template <> struct mica_wide_piece<8> { typedef uint2 type; };
template <> struct mica_wide_piece<16> { typedef uint4 type; };
template <> struct mica_wide_piece<32> { typedef uint4 type; };
template <int bytes> __device__ inline void mica_copy_wide(void *to, const void *from) {
    typedef typename mica_wide_piece<bytes>::type piece;
    for (int i = 0; i < bytes / (int)sizeof(piece); i++)
        ((piece *)to)[i] = ((const piece *)from)[i];
}
#define MICA_WIDE(type, name, n) __align__(16) type name[n]
#define MICA_COPY_WIDE(to, from, bytes) mica_copy_wide<bytes>(to, from)
#define MICA_UNROLLED _Pragma("unroll")
#define MICA_UNROLLED_BY_8 _Pragma("unroll 8")

#define MICA_KERNEL(name, layout)                                                                  \
    extern "C" __global__ void __launch_bounds__(MICA_MOST_THREADS)                                \
        name(const __grid_constant__ layout a)
#define MICA_BLOCK ((int64_t)blockIdx.x)
#define MICA_BLOCKS ((int64_t)gridDim.x)
#define MICA_THREADS ((int64_t)blockDim.x)
#define MICA_THREAD ((int64_t)threadIdx.x)
#define MICA_SHARED __shared__
#define MICA_OWN(type, name) type name
#define MICA_MINE(name) name
#define MICA_EACH_THREAD
#define MICA_PHASE for (int once = 1; once; once = 0, __syncthreads())

#else

#define MICA_WIDE(type, name, n) type name[n]
#define MICA_COPY_WIDE(to, from, bytes) __builtin_memcpy(to, from, bytes)
#define MICA_UNROLLED
#define MICA_UNROLLED_BY_8

#define MICA_KERNEL(name, layout) MICA_KERNEL_NAMED(name, layout)
#define MICA_KERNEL_NAMED(name, layout)                                                            \
    static void name##_block(const layout a, int64_t mica_block, int64_t mica_blocks,              \
                             int64_t mica_threads);                                                \
    extern const int64_t name##_bytes;                                                             \
    const int64_t name##_bytes = sizeof(layout);                                                   \
    void name(void **arguments, int64_t block, int64_t blocks, int64_t threads);                   \
    void name(void **arguments, int64_t block, int64_t blocks, int64_t threads) {                  \
        name##_block(*(const layout *)arguments[0], block, blocks, threads);                       \
    }                                                                                              \
    static void name##_block(const layout a, int64_t mica_block, int64_t mica_blocks,              \
                             int64_t mica_threads)
#define MICA_BLOCK mica_block
#define MICA_BLOCKS mica_blocks
#define MICA_THREADS mica_threads
#define MICA_THREAD mica_thread
#define MICA_SHARED
#define MICA_OWN(type, name) type name[MICA_MOST_THREADS]
#define MICA_MINE(name) name[mica_thread]
#define MICA_EACH_THREAD for (int64_t mica_thread = 0; mica_thread < mica_threads; mica_thread++)
#define MICA_PHASE MICA_EACH_THREAD

#endif

/* Element i of n, shared by all threads of all blocks. */
#define MICA_EACH(i, n)                                                                            \
    for (int64_t i = MICA_BLOCK * MICA_THREADS + MICA_THREAD; i < (n);                             \
         i += MICA_BLOCKS * MICA_THREADS)

#endif
