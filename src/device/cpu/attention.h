/* device/cpu/attention.h: what both directions of attention share.
 *
 * The composites mica.attention and mica.attention.back (nn/attend.c) in f32. Keys and
 * values are packed into panels (device/cpu/isa.h, mica_cpu_lstm.product, which multiplies a few
 * rows by panels); scores exist for some rows and ATTENTION_KEYS keys at a time. What is summed in
 * which order depends on the sizes alone. */
#ifndef MICA_DEVICE_CPU_ATTENTION_H
#define MICA_DEVICE_CPU_ATTENTION_H

#include "device/cpu/kernel.h"

enum {
    ATTENTION_ROWS = 32,   /* queries of a block */
    ATTENTION_GROUP = 8,   /* of a product, at most */
    ATTENTION_KEYS = 128,  /* of a block: a multiple of a panel's columns */
    ATTENTION_WIDEST = 256 /* of d and e */
};

typedef enum attention_mask { MASK_NONE, MASK_BOOL, MASK_ADDED } attention_mask;

typedef struct attention_sizes {
    const mica_cpu_lstm *loops;
    const mica_cpu_attention *rows;
    int64_t batch, queries, keys, d, e; /* d: of queries and keys, e: of values */
    int64_t keys_padded, d_panels, e_panels, d_padded, e_padded;
    float scale, never; /* never: the score of a hidden key; -inf unless `keeps` */
    bool keeps;         /* of a query whose keys are all hidden the mean of v, not 0 */
    bool causal;
    attention_mask mask;
    cpu_space mask_batch; /* where the mask of a batch begins */
    int64_t mask_row, mask_key;
} attention_sizes;

/* false when the kernels cannot take the node. */
bool mica_cpu_attention_sizes(const mica_node *node, bool is_back, attention_sizes *out);

/* left[k group + i] = factor x[i step + k]: the left side of a product. */
static inline void attention_left(const float *x, int64_t step, int64_t n_k, int64_t group,
                                  float factor, float *left) {
    for (int64_t i = 0; i < group; i++)
        for (int64_t k = 0; k < n_k; k++) left[k * group + i] = factor * x[i * step + k];
}

/* The largest group of rows that a product takes. */
static inline int64_t attention_group(const attention_sizes *s, int64_t rows) {
    int64_t group = s->loops->rows;
    while (group > rows) group /= 2;
    return group;
}

/* Panels of x (n_k, n) in place: columns are its columns; or with `across` those of its
 * transpose: x is then (n, n_k). Beyond n: zeros. */
void mica_cpu_attention_pack(const attention_sizes *s, const float *x, int64_t step, int64_t n_k,
                             int64_t n, bool across, float *panels);

/* Puts the mask into a row of scores, which begins at key j; gives how many of n count, for what is
 * causal. Of the others the caller makes zeros. */
int64_t mica_cpu_attention_mask(const attention_sizes *s, const void *mask, int64_t batch,
                                int64_t query, int64_t j, int64_t n, float *scores);

#endif
