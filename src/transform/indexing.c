/* Derivatives and batching of gather and scatter.
 *
 * gather is linear in x, and its transpose adds into zeros. scatter's kinds set and add are linear
 * in x and the updates: windows are put in one after the other, so with kind set the last one that
 * reaches an element wins, for tangents as for values, and its transpose gives the element's
 * cotangent to that update alone. */
#include <string.h>

#include "ir/index_layout.h"
#include "transform/rules.h"
#include "transform/vmap.h"

static const char *mode_of(const mica_index_dims *d) {
    return d->fill ? "fill" : "clip";
}

static mica_value gather_with(mica_graph *g, const mica_index_dims *d, mica_value x,
                              mica_value indices, const int64_t *sizes, int32_t rank) {
    return mica_gather(g, x, indices, d->window, d->dropped, d->operand_batch, d->indices_batch,
                       d->map, d->vector_dim, (mica_ints){sizes, rank}, mode_of(d));
}

static mica_value scatter_with(mica_graph *g, const mica_index_dims *d, const char *kind,
                               mica_value x, mica_value indices, mica_value updates) {
    return mica_scatter(g, x, indices, updates, kind, d->window, d->dropped, d->operand_batch,
                        d->indices_batch, d->map, d->vector_dim, mode_of(d));
}

/* The windows of x that a scatter's updates meet. */
static mica_value met_by_updates(mica_graph *g, const mica_node *n, mica_value x) {
    mica_index_dims d = mica_index_dims_of(n);
    mica_index_layout l = mica_index_layout_of(n);
    return gather_with(g, &d, x, n->operands[1], l.sizes, n->results[0].rank);
}

static mica_value add_updates(mica_graph *g, const mica_node *n, mica_value x, mica_value updates) {
    mica_index_dims d = mica_index_dims_of(n);
    return scatter_with(g, &d, "add", x, n->operands[1], updates);
}

static mica_ints dims_of(const mica_type *type) {
    return (mica_ints){type->dims, type->rank};
}

/* ---- tangents ---------------------------------------------------------------------------------*/

/* The indices are fixed. */
MICA_JVP_RULE(gather) {
    mica_value operands[] = {dx[0], n->operands[1]};
    dy[0] = mica_like(pass->g, n, operands);
}

/* As of a reduction: the mean of the tangents of all that attain the extremum. */
static mica_value extremum_tangent(mica_graph *g, const mica_node *n, const mica_value *dx) {
    mica_value x = n->operands[0], updates = n->operands[2], y = mica_node_result(n, 0);
    mica_dtype dtype = n->results[0].dtype;
    mica_value in_x = mica_as(g, mica_compare(g, x, y, "eq"), dtype);
    mica_value in_updates =
        mica_as(g, mica_compare(g, updates, met_by_updates(g, n, y), "eq"), dtype);
    mica_value count = add_updates(g, n, in_x, in_updates);
    mica_value total =
        mica_is_zero(dx[0]) ? mica_zeros(g, &n->results[0]) : mica_mul(g, in_x, dx[0]);
    if (!mica_is_zero(dx[2])) total = add_updates(g, n, total, mica_mul(g, in_updates, dx[2]));
    return mica_div(g, total, count);
}

/* A scatter's positions, one after the other: those that are no batch become one axis in front,
 * then come the batch axes, then the index vector or the window. */
typedef struct steps {
    int64_t length;
    mica_index_dims d; /* of one step */
    int64_t window[MICA_MAX_RANK], batch[MICA_MAX_RANK];
    int32_t n_batch;
    int64_t indices[MICA_MAX_RANK], updates[MICA_MAX_RANK]; /* permutations */
} steps;

static void find_steps(const mica_node *n, const mica_index_layout *l, steps *s) {
    const mica_type *indices = mica_operand_type(n, 1);
    int32_t count = 0;
    *s = (steps){.length = 1, .d = mica_index_dims_of(n)};
    for (int32_t batch = 0; batch < 2; batch++)
        for (int32_t i = 0; i < l->n_positions; i++) {
            if ((l->positions[i].batch >= 0) != (batch == 1)) continue;
            s->indices[count] = l->positions[i].indices;
            s->updates[count++] = l->positions[i].windows;
            if (!batch) s->length *= l->positions[i].size;
            for (int32_t k = 0; batch && k < s->d.operand_batch.n; k++)
                if (s->d.operand_batch.data[k] == l->positions[i].batch) s->batch[k] = s->n_batch;
            s->n_batch += batch;
        }
    if (s->d.vector_dim < indices->rank) s->indices[count] = s->d.vector_dim;
    for (int32_t i = 0; i < l->n_window; i++) {
        s->updates[count + i] = l->window[i].windows;
        s->window[i] = s->n_batch + i;
    }
    s->d.window.data = s->window;
    s->d.indices_batch = (mica_ints){s->batch, s->n_batch};
    s->d.vector_dim = s->n_batch;
}

/* (length, batch sizes, more) */
static mica_value in_steps(mica_graph *g, const steps *s, const mica_index_layout *l, mica_value x,
                           const int64_t *permutation, const int64_t *more, int32_t n_more) {
    const mica_type *type = mica_value_type(x);
    int64_t shape[2 * MICA_MAX_RANK] = {s->length};
    int32_t rank = 1;
    if (!type) return MICA_NULL_VALUE;
    for (int32_t i = 0; i < l->n_positions; i++)
        if (l->positions[i].batch >= 0) shape[rank++] = l->positions[i].size;
    for (int32_t i = 0; i < n_more; i++) shape[rank++] = more[i];
    x = mica_transpose(g, x, (mica_ints){permutation, type->rank});
    return mica_reshape(g, x, (mica_ints){shape, rank});
}

/* From steps to the layout of the updates. */
static mica_value from_steps(mica_graph *g, const steps *s, const mica_type *updates,
                             mica_value x) {
    int64_t shape[MICA_MAX_RANK], inverse[MICA_MAX_RANK];
    for (int32_t i = 0; i < updates->rank; i++) {
        shape[i] = updates->dims[s->updates[i]];
        inverse[s->updates[i]] = i;
    }
    x = mica_reshape(g, x, (mica_ints){shape, updates->rank});
    return mica_transpose(g, x, (mica_ints){inverse, updates->rank});
}

/* (array, index vectors, updates) -> (array times updates, what they met) */
static mica_graph *product_step(mica_graph *g, const steps *s, const mica_index_layout *l,
                                const mica_type *x, const mica_type *indices,
                                const mica_type *updates) {
    mica_graph *body = mica_region_create(g, "scatter mul");
    if (!body) return NULL;
    mica_type types[] = {*x, *indices, *updates};
    mica_value p[3];
    for (int32_t i = 0; i < 3; i++) {
        if (i > 0) { /* without the axis of steps */
            memmove(types[i].dims, types[i].dims + 1, sizeof types[i].dims - sizeof(int64_t));
            types[i].dims[--types[i].rank] = 0;
        }
        p[i] = mica_parameter(body, &types[i]);
    }
    mica_output(body, scatter_with(body, &s->d, "mul", p[0], p[1], p[2]));
    mica_output(body, gather_with(body, &s->d, p[0], p[1], l->sizes, x->rank));
    if (mica_region_check(g, body)) return body;
    mica_graph_release(body);
    return NULL;
}

/* For every update, the product of x and all other updates at its element: what comes before, by
 * going through the updates forward from x, times what comes after, by going backward from ones.
 * Nothing is divided, so it is right at zeros, and of any order. */
static mica_value product_of_others(mica_graph *g, const mica_node *n) {
    const mica_type *x = mica_operand_type(n, 0), *updates = mica_operand_type(n, 2);
    mica_index_layout l = mica_index_layout_of(n);
    steps s;
    find_steps(n, &l, &s);
    if (s.length <= 1) return met_by_updates(g, n, n->operands[0]);
    int64_t sizes[MICA_MAX_RANK], entries = s.d.map.n;
    for (int32_t i = 0; i < l.n_window; i++) sizes[i] = l.window[i].size;
    mica_value vectors = in_steps(g, &s, &l, n->operands[1], s.indices, &entries, 1);
    mica_value windows = in_steps(g, &s, &l, n->operands[2], s.updates, sizes, l.n_window);
    if (g->error) return MICA_NULL_VALUE;
    mica_graph *body =
        product_step(g, &s, &l, x, mica_value_type(vectors), mica_value_type(windows));
    if (!body) return MICA_NULL_VALUE;
    mica_value ones = mica_broadcast(g, mica_scalar(g, x->dtype, 1), dims_of(x), MICA_NO_INTS);
    mica_value forward[] = {n->operands[0], vectors, windows},
               backward[] = {ones, vectors, windows};
    mica_value before[2], after[2];
    mica_scan(g, body, forward, 3, 0, 1, s.length, false, before);
    mica_scan(g, body, backward, 3, 0, 1, s.length, true, after);
    mica_graph_release(body);
    return from_steps(g, &s, updates, mica_mul(g, before[1], after[1]));
}

/* d(x u1 u2 ...) = dx u1 u2 ... + sum over k of du_k times all others */
static mica_value product_tangent(mica_graph *g, const mica_node *n, const mica_value *dx) {
    mica_value by_x = MICA_NULL_VALUE, by_updates = MICA_NULL_VALUE;
    if (!mica_is_zero(dx[0])) {
        mica_value operands[] = {dx[0], n->operands[1], n->operands[2]};
        by_x = mica_like(g, n, operands);
    }
    if (!mica_is_zero(dx[2])) {
        by_updates = mica_mul(g, product_of_others(g, n), dx[2]);
        by_updates = add_updates(g, n, mica_zeros(g, &n->results[0]), by_updates);
    }
    return mica_sum_of(g, by_x, by_updates);
}

MICA_JVP_RULE(scatter) {
    mica_graph *g = pass->g;
    const char *kind = mica_node_string(n, "kind");
    if (!strcmp(kind, "mul")) {
        dy[0] = product_tangent(g, n, dx);
    } else if (!strcmp(kind, "min") || !strcmp(kind, "max")) {
        dy[0] = extremum_tangent(g, n, dx);
    } else if (!strcmp(kind, "add") && mica_is_zero(dx[2])) {
        dy[0] = dx[0];
    } else {
        mica_value operands[] = {mica_or_zeros(g, dx[0], mica_operand_type(n, 0)), n->operands[1],
                                 mica_or_zeros(g, dx[2], mica_operand_type(n, 2))};
        dy[0] = mica_like(g, n, operands);
    }
}

/* ---- transposes -------------------------------------------------------------------------------*/

MICA_TRANSPOSE_RULE(gather) {
    (void)t, (void)linear;
    mica_index_dims d = mica_index_dims_of(n);
    mica_value zeros = mica_zeros(g, mica_operand_type(n, 0));
    out[0] = scatter_with(g, &d, "add", zeros, n->operands[1], dy[0]);
}

/* Of kind set: which updates are the last at their element. Each one's number is put in as the
 * updates are; those that find their own are. */
static mica_value is_last(mica_graph *g, const mica_node *n) {
    mica_type numbers = n->results[0];
    const mica_type *updates = mica_operand_type(n, 2);
    int64_t count = mica_type_elements(updates);
    numbers.dtype = count <= INT32_MAX ? MICA_DTYPE_i32 : MICA_DTYPE_i64;
    mica_value number = mica_iota(g, MICA_INTS(count), 0, numbers.dtype);
    number = mica_reshape(g, number, dims_of(updates));
    mica_value operands[] = {mica_zeros(g, &numbers), n->operands[1], number};
    return mica_compare(g, met_by_updates(g, n, mica_like(g, n, operands)), number, "eq");
}

/* add: linear in both; set: linear in both; mul: linear in x, whose every element has a factor. */
MICA_TRANSPOSE_RULE(scatter) {
    (void)t;
    const char *kind = mica_node_string(n, "kind");
    const mica_type *updates = mica_operand_type(n, 2);
    if (!strcmp(kind, "mul")) {
        mica_value operands[] = {dy[0], n->operands[1], n->operands[2]};
        if (linear[0]) out[0] = mica_like(g, n, operands);
        return;
    }
    bool set = !strcmp(kind, "set");
    if (linear[0] && !set) out[0] = dy[0];
    if (linear[0] && set) {
        mica_value operands[] = {dy[0], n->operands[1], mica_zeros(g, updates)};
        out[0] = mica_like(g, n, operands);
    }
    if (linear[2]) {
        out[2] = met_by_updates(g, n, dy[0]);
        if (set) out[2] = mica_select(g, is_last(g, n), out[2], mica_zeros(g, updates));
    }
}

/* ---- batching ---------------------------------------------------------------------------------*/

/* Dims for arrays with one more axis in front. */
typedef struct wider {
    mica_index_dims d;
    int64_t window[MICA_MAX_RANK + 1], dropped[MICA_MAX_RANK + 1];
    int64_t operand_batch[MICA_MAX_RANK + 1], indices_batch[MICA_MAX_RANK + 1];
    int64_t map[MICA_MAX_RANK + 1];
} wider;

static mica_ints shifted(int64_t *into, mica_ints ints, bool first, int64_t shift) {
    int32_t n = 0;
    if (first) into[n++] = 0;
    for (int32_t i = 0; i < ints.n; i++) into[n++] = ints.data[i] + shift;
    return (mica_ints){into, n};
}

/* The new axis of x goes in step with the indices' when both have one, else it is of the window. */
static void widen(wider *w, const mica_node *n, bool x, bool indices) {
    mica_index_dims d = mica_index_dims_of(n);
    w->d = d;
    w->d.window = shifted(w->window, d.window, x && !indices, 1);
    w->d.dropped = shifted(w->dropped, d.dropped, false, x);
    w->d.operand_batch = shifted(w->operand_batch, d.operand_batch, x && indices, x);
    w->d.indices_batch = shifted(w->indices_batch, d.indices_batch, x && indices, indices);
    w->d.map = shifted(w->map, d.map, false, x);
    w->d.vector_dim += indices;
}

MICA_VMAP_RULE(gather) {
    wider w;
    int32_t rank = mica_operand_type(n, 0)->rank;
    int64_t sizes[MICA_MAX_RANK + 1] = {x[1].mapped ? 1 : pass->size};
    mica_ints old = mica_node_ints(n, "slice_sizes");
    for (int32_t i = 0; i < rank; i++) sizes[i + 1] = old.data[i];
    widen(&w, n, x[0].mapped, x[1].mapped);
    y[0].value = gather_with(pass->g, &w.d, x[0].value, x[1].value, sizes + !x[0].mapped,
                             rank + x[0].mapped);
    y[0].mapped = true;
}

MICA_VMAP_RULE(scatter) {
    wider w;
    widen(&w, n, true, x[1].mapped);
    y[0].value = scatter_with(pass->g, &w.d, mica_node_string(n, "kind"), mica_mapped(pass, x[0]),
                              x[1].value, mica_mapped(pass, x[2]));
    y[0].mapped = true;
}

/* Dims of windows of full rank, one per mapped start; x is mapped too, or common to all. */
static mica_index_dims slices_dims(wider *w, int32_t rank, bool x) {
    w->d = (mica_index_dims){.vector_dim = 1};
    for (int32_t i = 0; i < rank; i++) {
        w->window[i] = i + 1;
        w->map[i] = i + x;
    }
    w->operand_batch[0] = w->indices_batch[0] = 0;
    w->d.window = (mica_ints){w->window, rank};
    w->d.map = (mica_ints){w->map, rank};
    w->d.operand_batch = (mica_ints){w->operand_batch, x};
    w->d.indices_batch = (mica_ints){w->indices_batch, x};
    return w->d;
}

/* Where the start differs between examples: slices by index vectors. */
void mica_vmap_slices(mica_batch_pass *pass, const mica_node *n, const mica_batched *x,
                      mica_batched *y) {
    wider w;
    mica_ints old = mica_node_ints(n, "sizes");
    mica_index_dims d = slices_dims(&w, old.n, x[0].mapped);
    int64_t sizes[MICA_MAX_RANK + 1] = {1};
    for (int32_t i = 0; i < old.n; i++) sizes[i + 1] = old.data[i];
    y[0].value =
        gather_with(pass->g, &d, x[0].value, x[1].value, sizes + !x[0].mapped, old.n + x[0].mapped);
    y[0].mapped = true;
}

void mica_vmap_slice_updates(mica_batch_pass *pass, const mica_node *n, const mica_batched *x,
                             mica_batched *y) {
    wider w;
    mica_index_dims d = slices_dims(&w, n->results[0].rank, true);
    y[0].value = scatter_with(pass->g, &d, "set", mica_mapped(pass, x[0]), x[2].value,
                              mica_mapped(pass, x[1]));
    y[0].mapped = true;
}
