/* Collectives over shards: first over those of this rank, with nodes, then over the ranks. Sums are
 * a binary tree over all shards: neighbours first, then neighbouring pairs, ... Where the shards of
 * a rank are a power of two, theirs is a whole branch of it; else the ranks exchange all values and
 * each computes the tree. So no bit depends on the number of ranks. */
#include <string.h>

#include "transform/shard.h"
#include "transform/vmap.h"

mica_type mica_stacked_type(const mica_type *type, int64_t size) {
    mica_type stacked = *type;
    if (type->rank == MICA_MAX_RANK) {
        stacked.rank = -1; /* rejected by whoever makes a value of it */
        return stacked;
    }
    memmove(stacked.dims + 1, type->dims, (size_t)type->rank * sizeof *type->dims);
    stacked.dims[0] = size;
    stacked.rank = type->rank + 1;
    return stacked;
}

static mica_ints dims_of(const mica_type *type) {
    return (mica_ints){type->dims, type->rank};
}

mica_value mica_stack_same(const mica_sharding *s, mica_value x) {
    const mica_type *type = mica_value_type(x);
    int64_t axes[MICA_MAX_RANK];
    if (!type) return x;
    mica_type stacked = mica_stacked_type(type, s->count);
    for (int32_t i = 0; i < type->rank; i++) axes[i] = i + 1;
    return mica_broadcast(s->g, x, dims_of(&stacked), (mica_ints){axes, type->rank});
}

mica_value mica_shard_numbers(const mica_sharding *s) {
    mica_graph *g = s->g;
    mica_value own = mica_iota(g, MICA_INTS(s->count), 0, MICA_DTYPE_i32);
    if (s->ranks == 1) return own;
    mica_value first =
        mica_mul(g, mica_axis_index(g, s->axis), mica_scalar(g, MICA_DTYPE_i32, (double)s->count));
    return mica_add(g, own, first);
}

/* ---- pieces -----------------------------------------------------------------------------------*/

static mica_value combine(mica_graph *g, const char *kind, mica_value a, mica_value b) {
    if (!strcmp(kind, "max")) return mica_max(g, a, b);
    return !strcmp(kind, "min") ? mica_min(g, a, b) : mica_add(g, a, b);
}

/* Rows from..to of x, of every `step`. */
static mica_value rows(mica_graph *g, mica_value x, int64_t from, int64_t to, int64_t step) {
    const mica_type *type = mica_value_type(x);
    int64_t start[MICA_MAX_RANK] = {0}, limit[MICA_MAX_RANK], stride[MICA_MAX_RANK];
    if (!type) return x;
    for (int32_t i = 0; i < type->rank; i++) limit[i] = type->dims[i], stride[i] = 1;
    start[0] = from;
    limit[0] = to;
    stride[0] = step;
    return mica_slice(g, x, (mica_ints){start, type->rank}, (mica_ints){limit, type->rank},
                      (mica_ints){stride, type->rank});
}

/* x[1, ...] without its first axis. */
static mica_value without_first(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    return type ? mica_reshape(g, x, (mica_ints){type->dims + 1, type->rank - 1}) : x;
}

/* The tree over the rows of x; see dist/tree.c, which does the same with ranks. */
static mica_value tree(mica_graph *g, const char *kind, mica_value x, int64_t n) {
    for (; n > 1 && mica_value_type(x); n = (n + 1) / 2) {
        int64_t even = n / 2 * 2;
        mica_value sums = combine(g, kind, rows(g, x, 0, even, 2), rows(g, x, 1, even, 2));
        if (even < n) {
            mica_value both[] = {sums, rows(g, x, even, n, 1)};
            sums = mica_concat(g, both, 2, 0);
        }
        x = sums;
    }
    return without_first(g, x);
}

static bool is_power_of_two(int64_t n) {
    return (n & (n - 1)) == 0;
}

/* The values of all shards along the first axis. */
static mica_value all_rows(const mica_sharding *s, mica_value x) {
    return s->ranks == 1 ? x : mica_all_gather(s->g, x, s->axis, s->ranks, 0);
}

/* Row `rank` of x, which has one for each rank. */
static mica_value own_row(const mica_sharding *s, mica_value x) {
    const mica_type *type = mica_value_type(x);
    mica_graph *g = s->g;
    if (!type) return x;
    if (s->ranks == 1) return without_first(g, x);
    int64_t sizes[MICA_MAX_RANK];
    memcpy(sizes, type->dims, sizeof sizes);
    sizes[0] = 1;
    mica_value place = mica_reshape(g, mica_axis_index(g, s->axis), MICA_INTS(1));
    if (type->rank > 1) {
        mica_value zero = mica_scalar(g, MICA_DTYPE_i32, 0);
        mica_value rest = mica_broadcast(g, zero, MICA_INTS(type->rank - 1), MICA_NO_INTS);
        mica_value both[] = {place, rest};
        place = mica_concat(g, both, 2, 0);
    }
    return without_first(g, mica_dynamic_slice(g, x, place, (mica_ints){sizes, type->rank}));
}

/* x[.., n * k, ..] along dim as [n, .., k, ..]. */
static mica_value parts_first(mica_graph *g, mica_value x, int64_t n, int64_t dim) {
    const mica_type *type = mica_value_type(x);
    if (!type) return x;
    mica_type split = mica_stacked_type(type, n);
    if (split.rank < 0) return mica_broadcast(g, x, dims_of(&split), MICA_NO_INTS);
    memmove(split.dims, type->dims, (size_t)dim * sizeof *type->dims);
    split.dims[dim] = n;
    split.dims[dim + 1] = type->dims[dim] / n;
    return mica_move_axis(g, mica_reshape(g, x, dims_of(&split)), (int32_t)dim, 0);
}

/* ---- the collectives --------------------------------------------------------------------------*/

static mica_value all_reduce(const mica_sharding *s, const char *kind, mica_value x) {
    if (s->ranks > 1 && !is_power_of_two(s->count))
        return tree(s->g, kind, all_rows(s, x), s->shards);
    mica_value own = tree(s->g, kind, x, s->count);
    return s->ranks == 1 ? own : mica_all_reduce(s->g, own, kind, s->axis);
}

static mica_value reduce_scatter(const mica_sharding *s, const mica_node *n, mica_value x) {
    mica_graph *g = s->g;
    const char *kind = mica_node_string(n, "kind");
    int64_t dim = mica_node_int(n, "dim");
    mica_value own;
    if (s->ranks > 1 && !is_power_of_two(s->count))
        own = own_row(s, parts_first(g, tree(g, kind, all_rows(s, x), s->shards), s->ranks, dim));
    else if (s->ranks > 1)
        own = mica_reduce_scatter(g, tree(g, kind, x, s->count), kind, s->axis, s->ranks, dim);
    else
        own = tree(g, kind, x, s->count);
    return parts_first(g, own, s->count, dim);
}

static mica_value all_gather(const mica_sharding *s, const mica_node *n, mica_value x) {
    const mica_type *part = mica_operand_type(n, 0);
    int64_t dim = mica_node_int(n, "dim");
    mica_type own = *part;
    own.dims[dim] *= s->count;
    mica_value y = mica_reshape(s->g, mica_move_axis(s->g, x, 0, (int32_t)dim), dims_of(&own));
    return s->ranks == 1 ? y : mica_all_gather(s->g, y, s->axis, s->ranks, dim);
}

static mica_value broadcast_from(const mica_sharding *s, const mica_node *n, mica_value x) {
    int64_t source = mica_node_int(n, "source"), slot = source % s->count;
    mica_value own = without_first(s->g, rows(s->g, x, slot, slot + 1, 1));
    if (s->ranks == 1) return own;
    return mica_broadcast_from(s->g, own, s->axis, s->ranks, source / s->count);
}

/* Of each shard the number of the one it hears from; one that hears from none finds no place. */
static mica_value senders(const mica_sharding *s, const mica_node *n) {
    mica_ints sources = mica_node_ints(n, "sources"), targets = mica_node_ints(n, "targets");
    mica_type type = mica_type_make(MICA_DTYPE_i64, MICA_INTS(s->shards));
    int64_t *all = mica_transform_alloc(s->t, s->g, (size_t)s->shards, sizeof *all);
    if (!all) return MICA_NULL_VALUE;
    for (int64_t i = 0; i < s->shards; i++) all[i] = -1;
    for (int32_t i = 0; i < sources.n; i++) all[targets.data[i]] = sources.data[i];
    return own_row(s, parts_first(s->g, mica_constant(s->g, (mica_data){&type, all}), s->ranks, 0));
}

static mica_value permute(const mica_sharding *s, const mica_node *n, mica_value x) {
    const mica_type *type = &n->results[0];
    int64_t sizes[MICA_MAX_RANK + 1] = {1}, offsets[MICA_MAX_RANK + 1];
    if (s->count == 1 && s->ranks > 1)
        return mica_permute(s->g, x, s->axis, s->ranks, mica_node_ints(n, "sources"),
                            mica_node_ints(n, "targets"));
    for (int32_t i = 0; i < type->rank; i++) {
        sizes[i + 1] = type->dims[i];
        offsets[i] = i + 1;
    }
    return mica_gather(s->g, all_rows(s, x), senders(s, n), (mica_ints){offsets, type->rank},
                       MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS, MICA_INTS(0), 1,
                       (mica_ints){sizes, type->rank + 1}, "fill");
}

mica_value mica_shard_collective(const mica_sharding *s, const mica_node *n, mica_value x,
                                 bool *out_stacked) {
    *out_stacked = n->op == MICA_OP_reduce_scatter || n->op == MICA_OP_permute;
    switch ((int)n->op) {
    case MICA_OP_all_reduce: return all_reduce(s, mica_node_string(n, "kind"), x);
    case MICA_OP_reduce_scatter: return reduce_scatter(s, n, x);
    case MICA_OP_all_gather: return all_gather(s, n, x);
    case MICA_OP_broadcast_from: return broadcast_from(s, n, x);
    default: return permute(s, n, x);
    }
}

bool mica_shard_is_bucketed(const mica_sharding *s, const mica_node *n) {
    return n->op == MICA_OP_all_reduce && s->ranks > 1 && is_power_of_two(s->count);
}

/* Each element is added up by itself, so what goes together changes no bit. */
void mica_shard_bucket(const mica_sharding *s, const mica_node *const *nodes, const mica_value *x,
                       int32_t n, mica_value *out) {
    mica_graph *g = s->g;
    const char *kind = mica_node_string(nodes[0], "kind");
    int64_t at = 0;
    for (int32_t i = 0; i < n; i++) {
        mica_value own = tree(g, kind, x[i], s->count);
        const mica_type *type = mica_value_type(own);
        out[i] = type ? mica_reshape(g, own, MICA_INTS(mica_type_elements(type))) : own;
    }
    mica_value all = n > 1 ? mica_concat(g, out, n, 0) : out[0];
    all = mica_all_reduce(g, all, kind, s->axis);
    for (int32_t i = 0; i < n; i++) {
        const mica_type *type = &nodes[i]->results[0];
        int64_t count = mica_type_elements(type);
        mica_value part = mica_slice(g, all, MICA_INTS(at), MICA_INTS(at + count), MICA_INTS(1));
        out[i] = mica_reshape(g, part, dims_of(type));
        at += count;
    }
}

mica_value mica_shard_same(const mica_sharding *s, const mica_node *n, mica_value x) {
    if (n->op == MICA_OP_broadcast_from) return x;
    if (n->op != MICA_OP_all_reduce) return MICA_NULL_VALUE;
    if (strcmp(mica_node_string(n, "kind"), "sum") != 0) return x;
    return mica_mul(s->g, x, mica_full_like(s->g, x, (double)s->shards));
}
