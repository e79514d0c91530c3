/* All rules of collectives. vmap over the named axis is where they end: participants become places
 * along the batch axis, and what all of them are given is not mapped at all. */
#include <string.h>

#include "transform/rules.h"
#include "transform/vmap.h"

/* ---- tangents and transposes ------------------------------------------------------------------*/

/* sum is linear; the extremum over participants goes as over an axis */
MICA_JVP_RULE(all_reduce) {
    mica_graph *g = pass->g;
    const char *axis = mica_node_string(n, "axis");
    mica_value x = n->operands[0], y = mica_node_result(n, 0);
    if (!strcmp(mica_node_string(n, "kind"), "sum")) {
        dy[0] = mica_like(g, n, dx);
        return;
    }
    mica_value weight = mica_as(g, mica_compare(g, x, y, "eq"), n->results[0].dtype);
    weight = mica_div(g, weight, mica_all_reduce(g, weight, "sum", axis));
    dy[0] = mica_all_reduce(g, mica_mul(g, weight, dx[0]), "sum", axis);
}

/* The same with parts: what a participant is given is compared with everybody's. */
MICA_JVP_RULE(reduce_scatter) {
    mica_graph *g = pass->g;
    const char *axis = mica_node_string(n, "axis");
    int64_t size = mica_node_int(n, "size"), dim = mica_node_int(n, "dim");
    if (!strcmp(mica_node_string(n, "kind"), "sum")) {
        dy[0] = mica_like(g, n, dx);
        return;
    }
    mica_value all = mica_all_gather(g, mica_node_result(n, 0), axis, size, dim);
    mica_value weight = mica_as(g, mica_compare(g, n->operands[0], all, "eq"), n->results[0].dtype);
    mica_value count = mica_reduce_scatter(g, weight, "sum", axis, size, dim);
    mica_value total = mica_reduce_scatter(g, mica_mul(g, weight, dx[0]), "sum", axis, size, dim);
    dy[0] = mica_div(g, total, count);
}

/* Of a sum over participants: everybody's cotangent reaches everybody. */
MICA_TRANSPOSE_RULE(all_reduce) {
    (void)t, (void)linear;
    out[0] = mica_like(g, n, dy);
}

/* Everybody has a cotangent for each part; whose part it is gets their sum. */
MICA_TRANSPOSE_RULE(all_gather) {
    (void)t, (void)linear;
    out[0] = mica_reduce_scatter(g, dy[0], "sum", mica_node_string(n, "axis"),
                                 mica_node_int(n, "size"), mica_node_int(n, "dim"));
}

MICA_TRANSPOSE_RULE(reduce_scatter) {
    (void)t, (void)linear;
    out[0] = mica_all_gather(g, dy[0], mica_node_string(n, "axis"), mica_node_int(n, "size"),
                             mica_node_int(n, "dim"));
}

MICA_TRANSPOSE_RULE(permute) {
    (void)t, (void)linear;
    out[0] = mica_permute(g, dy[0], mica_node_string(n, "axis"), mica_node_int(n, "size"),
                          mica_node_ints(n, "targets"), mica_node_ints(n, "sources"));
}

/* The source has the sum of all cotangents, the others none. */
MICA_TRANSPOSE_RULE(broadcast_from) {
    (void)t, (void)linear;
    const char *axis = mica_node_string(n, "axis");
    mica_value sum = mica_all_reduce(g, dy[0], "sum", axis);
    mica_value source = mica_scalar(g, MICA_DTYPE_i32, (double)mica_node_int(n, "source"));
    mica_value is_source = mica_compare(g, mica_axis_index(g, axis), source, "eq");
    out[0] = mica_select(g, is_source, sum, mica_zeros(g, &n->results[0]));
}

/* ---- batching ---------------------------------------------------------------------------------*/

static bool is_this_axis(const mica_batch_pass *pass, const mica_node *n) {
    return pass->axis_name && !strcmp(mica_node_string(n, "axis"), pass->axis_name);
}

MICA_VMAP_RULE(axis_index) {
    if (!is_this_axis(pass, n)) {
        mica_vmap_constant(pass, n, x, y);
        return;
    }
    y[0].value = mica_iota(pass->g, MICA_INTS(pass->size), 0, MICA_DTYPE_i32);
    y[0].mapped = true;
}

/* Over this axis: a reduction that all share. Over another: everybody's own. */
MICA_VMAP_RULE(all_reduce) {
    mica_graph *g = pass->g;
    const char *kind = mica_node_string(n, "kind");
    if (!is_this_axis(pass, n)) {
        y[0] = (mica_batched){mica_like(g, n, &x[0].value), x[0].mapped};
    } else if (x[0].mapped) {
        y[0] = (mica_batched){mica_reduce(g, x[0].value, kind, MICA_INTS(0)), false};
    } else if (!strcmp(kind, "sum")) {
        mica_value size = mica_full_like(g, x[0].value, (double)pass->size);
        y[0] = (mica_batched){mica_mul(g, x[0].value, size), false};
    } else {
        y[0] = x[0];
    }
}

/* Over another axis: the same op, its dim moved by a batch axis in front. */
static void over_other_axis(mica_batch_pass *pass, const mica_node *n, const mica_batched *x,
                            mica_batched *y) {
    mica_graph *g = pass->g;
    const char *axis = mica_node_string(n, "axis");
    int64_t size = mica_node_int(n, "size"), dim = mica_node_int(n, "dim") + x[0].mapped;
    if (n->op == MICA_OP_all_gather)
        y[0].value = mica_all_gather(g, x[0].value, axis, size, dim);
    else if (n->op == MICA_OP_reduce_scatter)
        y[0].value =
            mica_reduce_scatter(g, x[0].value, mica_node_string(n, "kind"), axis, size, dim);
    else
        y[0].value = mica_like(g, n, &x[0].value);
    y[0].mapped = x[0].mapped;
}

/* true when the rule is to do away with the op: the axis is this one, of the size it was made for.
 */
static bool ends_here(mica_batch_pass *pass, const mica_node *n, const mica_batched *x,
                      mica_batched *y) {
    if (!is_this_axis(pass, n)) {
        over_other_axis(pass, n, x, y);
        return false;
    }
    int64_t size = mica_node_int(n, "size");
    if (size == pass->size) return true;
    mica_graph_fail(pass->g, MICA_INVALID("[%s] axis '%s' has %lld participants, not %lld",
                                          mica_op_name(n->op), pass->axis_name,
                                          (long long)pass->size, (long long)size));
    return false;
}

MICA_VMAP_RULE(all_gather) {
    mica_graph *g = pass->g;
    if (!ends_here(pass, n, x, y)) return;
    mica_value all = mica_move_axis(g, mica_mapped(pass, x[0]), 0, mica_node_int(n, "dim"));
    y[0].value = mica_reshape(g, all, (mica_ints){n->results[0].dims, n->results[0].rank});
    y[0].mapped = false;
}

/* The participants' parts become an axis of their own, which goes to the front. */
MICA_VMAP_RULE(reduce_scatter) {
    mica_graph *g = pass->g;
    if (!ends_here(pass, n, x, y)) return;
    mica_batched all;
    mica_vmap_all_reduce(pass, n, x, &all);
    int64_t split[MICA_MAX_RANK + 1];
    int32_t rank = n->results[0].rank, dim = (int32_t)mica_node_int(n, "dim");
    for (int32_t i = 0; i < rank; i++) split[i < dim ? i : i + 1] = n->results[0].dims[i];
    split[dim] = pass->size;
    mica_value parts = mica_reshape(g, all.value, (mica_ints){split, rank + 1});
    y[0] = (mica_batched){mica_move_axis(g, parts, dim, 0), true};
}

/* Of every participant the number of whom it hears from; one that hears from none finds no place.
 */
static mica_value senders_of(mica_batch_pass *pass, const mica_node *n) {
    mica_ints sources = mica_node_ints(n, "sources"), targets = mica_node_ints(n, "targets");
    mica_type type = mica_type_make(MICA_DTYPE_i64, MICA_INTS(pass->size));
    int64_t *senders = mica_transform_alloc(pass->t, pass->g, (size_t)pass->size, sizeof *senders);
    if (!senders) return MICA_NULL_VALUE;
    for (int64_t i = 0; i < pass->size; i++) senders[i] = -1;
    for (int32_t i = 0; i < sources.n; i++) senders[targets.data[i]] = sources.data[i];
    return mica_constant(pass->g, (mica_data){&type, senders});
}

MICA_VMAP_RULE(permute) {
    if (!ends_here(pass, n, x, y)) return;
    int32_t rank = n->results[0].rank;
    int64_t sizes[MICA_MAX_RANK + 1] = {1}, offsets[MICA_MAX_RANK + 1];
    for (int32_t i = 0; i < rank; i++) {
        sizes[i + 1] = n->results[0].dims[i];
        offsets[i] = i + 1;
    }
    y[0].value = mica_gather(pass->g, mica_mapped(pass, x[0]), senders_of(pass, n),
                             (mica_ints){offsets, rank}, MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS,
                             MICA_INTS(0), 1, (mica_ints){sizes, rank + 1}, "fill");
    y[0].mapped = true;
}

MICA_VMAP_RULE(broadcast_from) {
    mica_graph *g = pass->g;
    if (!ends_here(pass, n, x, y)) return;
    y[0] = x[0];
    if (!x[0].mapped) return;
    int32_t rank = n->results[0].rank;
    int64_t start[MICA_MAX_RANK + 1] = {mica_node_int(n, "source")}, stride[MICA_MAX_RANK + 1];
    int64_t limit[MICA_MAX_RANK + 1] = {start[0] + 1};
    for (int32_t i = 0; i < rank; i++) limit[i + 1] = n->results[0].dims[i];
    for (int32_t i = 0; i <= rank; i++) stride[i] = 1;
    mica_value own = mica_slice(g, x[0].value, (mica_ints){start, rank + 1},
                                (mica_ints){limit, rank + 1}, (mica_ints){stride, rank + 1});
    y[0].value = mica_reshape(g, own, (mica_ints){n->results[0].dims, rank});
    y[0].mapped = false;
}
