/* device/cpu/contract.h: the one contraction engine behind dot and conv.
 *
 *     c[b, m, n] = sum over k of x[b, m, k] y[b, k, n]
 *
 * where each of b, m, n, k is an index space of any axes, placed in each array by strides of its
 * own. A register tile runs over x and y, which are packed into panels first (so their layout costs
 * little), or read as they lie where that is as good and packing would be a large part of the work.
 *
 * Element (m, n) is the sum over groups of k, in order, of sums over blocks of CPU_TILE_K indices,
 * in order, of one chain of fused multiply-adds each. How many groups there are (one, but for few
 * elements with a long k) depends on the sizes of b, m n and k alone, so tiles, blocks, threads,
 * and the exchange of x and y are free to suit the machine. dot itself computes products of a
 * matrix and a vector, some of them in another order (mica_cpu_gemv).
 *
 * Complex arrays are contracted as real ones: k and n become twice as many, x is read in place,
 * (a, b) of a + i b next to each other along k, y is packed as blocks ((a, b), (-b, a)), and c
 * comes out as it is to lie. */
#ifndef MICA_DEVICE_CPU_CONTRACT_H
#define MICA_DEVICE_CPU_CONTRACT_H

#include "device/cpu/kernel.h"

typedef enum cpu_contract_mode {
    CONTRACT_ZERO,   /* nothing to sum */
    CONTRACT_LOCAL,  /* a piece packs all it needs */
    CONTRACT_SHARED, /* y is packed first, by all, into scratch */
    CONTRACT_LANES,  /* no column to speak of, but batches or rows side by side: contract_lanes.c */
    CONTRACT_SPLIT, /* little to compute but a long k: pieces take groups of k, summed at the end */
} cpu_contract_mode;

typedef struct cpu_contract {
    mica_cpu_gemm gemm;
    cpu_space x_batch, x_m, x_k, y_batch, y_k, y_n, c_batch, c_m, c_n;
    mica_cpu_map narrow;        /* compute type to c's, NULL when they are the same */
    mica_cpu_pack complex_pack; /* of the caller's y when it is complex, else NULL */
    int32_t x_bytes, c_bytes;
    bool exchanged; /* the caller's x and y are ours the other way round */
    /* The plan. */
    cpu_contract_mode mode;
    bool x_in_place, y_in_place; /* read in place, not packed */
    int64_t pieces_m, unit_m;    /* rows are cut into so many pieces of whole units, nearly equal */
    int64_t pieces_n, unit_n;    /* and columns */
    int64_t blocks_k, groups, group_blocks;
    int64_t depth; /* blocks of k that a piece of CONTRACT_SHARED passes through at a time */
    int64_t shared_n, shared_k,
        shared_batch;                  /* what is packed at a time: columns, blocks, batches */
    size_t scratch_bytes, wide_offset; /* where the wide c lies in scratch, when narrow */
} cpu_contract;

/* Fills the plan from the spaces; dtype is that of x, y and c. false when there is no such kernel.
 */
bool mica_cpu_contract_init(cpu_contract *contract, mica_dtype dtype);
/* For tests, so that small arrays take the way of large ones: how many bytes of y CONTRACT_SHARED
 * packs at a time, from now on; at least a panel; c counts as far away. 0: as usual. */
void mica_cpu_contract_share(int64_t bytes);
/* finish: told of c's lines, or NULL. */
void mica_cpu_contract_run(const cpu_contract *contract, const void *x, const void *y, void *c,
                           void *scratch, const cpu_finish *finish);

/* The highest tile for the first of `rows` rows, an index of gemm->heights. Tiles of rows that
 * are read as they lie are never higher than what is there. */
int32_t mica_cpu_contract_height(const mica_cpu_gemm *gemm, int64_t rows, bool in_place);

/* Whether indices that follow each other are neighbours in memory, most of them. */
bool mica_cpu_contract_is_line(const cpu_space *space);

/* CONTRACT_LANES, when it fits: batches of a matrix and a vector, as depthwise convolutions are.
 * The order of k is the same. */
bool mica_cpu_contract_plan_lanes(cpu_contract *contract);
void mica_cpu_contract_run_lanes(const cpu_contract *contract, const char *x, const char *y,
                                 char *c, const cpu_finish *finish);
/* x and y change places. */
void mica_cpu_contract_exchange(cpu_contract *contract);

#define CONTRACT_TILE 64  /* the most rows, and columns, that a tile has */
#define CONTRACT_ROWS 512 /* the most rows of a piece */
/* Panels that live on a piece's stack: x's, for the second-level cache, and one of y, or, where y
 * is packed already, the sums of a panel's columns. */
#define CONTRACT_X_BYTES (392 * 1024)
#define CONTRACT_Y_BYTES (32 * 1024)
#define CONTRACT_DEPTH 4 /* the most blocks of k at a time */

#endif
