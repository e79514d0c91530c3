/* codegen/prelude/attention_layout.h: the argument of the kernels of attention.h, for those who
 * launch them too. */
#ifndef MICA_CODEGEN_PRELUDE_ATTENTION_LAYOUT_H
#define MICA_CODEGEN_PRELUDE_ATTENTION_LAYOUT_H

#include "codegen/prelude/layouts.h"

/* Queries of a row of `rows` are padded to so many. */
#define MICA_ATTENTION_PADDING 64

/* Arrays are dense: q, y, dy and dq (batch, queries, size), k, v, dk and dv (batch, keys, size),
 * logs and dlogs (batch, queries) in f32. rows is scratch memory: for each batch the logarithms in
 * base two, then what is taken off the derivatives of a row, for the queries with their padding. */
typedef struct mica_attention_arguments {
    uint64_t q, k, v, mask, y, logs, dy, dlogs, dq, dk, dv, rows;
    int64_t batch, queries, keys, size, padded;
    int64_t causal;
    mica_space mask_batch; /* where the mask of a batch begins */
    int64_t mask_row, mask_key;
    float scale;
} mica_attention_arguments;

/* How the kernels for tensor cores are launched: blocks of 128 threads; a block has so many rows of
 * the result, and so many bytes of shared memory. HEAD: the size, padded to a multiple of 16. */
#define MICA_ATTENTION_THREADS 128
#define MICA_ATTENTION_TILE 64
#define MICA_ATTENTION_QUERIES(head) ((head) <= 64 ? 128 : 64)
#define MICA_ATTENTION_BYTES(head, rows) ((rows) * ((head) + 8) * 2)
#define MICA_ATTENTION_FORWARD_BYTES(head)                                                         \
    MICA_ATTENTION_BYTES(head, MICA_ATTENTION_QUERIES(head) + 4 * MICA_ATTENTION_TILE)
#define MICA_ATTENTION_QUERIES_BYTES(head)                                                         \
    MICA_ATTENTION_BYTES(head, 2 * MICA_ATTENTION_TILE +                                           \
                                   2 * (MICA_ATTENTION_QUERIES(head) > MICA_ATTENTION_TILE         \
                                            ? MICA_ATTENTION_QUERIES(head)                         \
                                            : MICA_ATTENTION_TILE))
#define MICA_ATTENTION_KEYS_BYTES(head)                                                            \
    (MICA_ATTENTION_BYTES(head, 4 * MICA_ATTENTION_TILE) + 4 * MICA_ATTENTION_TILE * 4)

#endif
