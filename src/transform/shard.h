/* transform/shard.h: what shard.c and shard_collectives.c share (mica_shard).
 *
 * A value that differs from shard to shard is kept stacked: those of this rank's shards along a
 * first axis. */
#ifndef MICA_TRANSFORM_SHARD_H
#define MICA_TRANSFORM_SHARD_H

#include "transform/transform.h"

typedef struct mica_sharding {
    mica_transform *t;
    mica_graph *g;         /* the new graph */
    int64_t shards, count; /* in all, and of this rank: a run of neighbours */
    int64_t ranks;         /* shards / count */
    const char *axis;
} mica_sharding;

/* The type with a first axis of `size`. */
mica_type mica_stacked_type(const mica_type *type, int64_t size);
/* x, the same for all shards, once for each of this rank. */
mica_value mica_stack_same(const mica_sharding *s, mica_value x);
/* This rank's part of the numbers of all shards. */
mica_value mica_shard_numbers(const mica_sharding *s);
/* The result of a collective along the axis whose operand is stacked: `stacked` says whether the
 * result is. */
mica_value mica_shard_collective(const mica_sharding *s, const mica_node *n, mica_value x,
                                 bool *out_stacked);
/* Whether the all_reduce of a stacked value is one of the shards here and then one over the ranks,
 * so that several can go together. */
bool mica_shard_is_bucketed(const mica_sharding *s, const mica_node *n);
/* The results of n such nodes of one kind and dtype, with one collective over the ranks. */
void mica_shard_bucket(const mica_sharding *s, const mica_node *const *nodes, const mica_value *x,
                       int32_t n, mica_value *out);
/* The result for an operand that is the same for all shards, where that is known at once; else
 * null.
 */
mica_value mica_shard_same(const mica_sharding *s, const mica_node *n, mica_value x);

#endif
