/* All rules of cumulative, reduce_window and select_and_scatter.
 *
 * sum is linear. What else windows compute is folded from pairs by operations that are associative,
 * axis by axis, in a number of steps that is logarithmic in the window:
 *   prod       (product, tangent) by the product rule: right where elements are zero, and of any
 *              order, since nothing is divided
 *   max, min   (value, place) of the best element, the first of equals in the order of the array
 *              (also for a reverse cumulative); the tangent is the one at that place
 * cumulative is the case of windows as long as the axis. */
#include <string.h>

#include "ir/window_layout.h"
#include "transform/rules.h"
#include "transform/vmap.h"

static mica_ints dims_of(const mica_type *type) {
    return (mica_ints){type->dims, type->rank};
}

/* ---- folds ------------------------------------------------------------------------------------*/

typedef struct pair {
    mica_value a, b;
} pair;

typedef struct fold {
    mica_graph *g;
    pair (*combine)(const struct fold *f, pair first, pair second);
    pair padding;          /* scalars */
    const char *direction; /* places: "ge" or "le" */
    bool padded;           /* places: some windows reach beyond the elements */
} fold;

enum { LEVELS = 64 };

/* Elements start, start + stride ... (count of them) along an axis. */
static mica_value part_of(mica_graph *g, mica_value x, int32_t axis, int64_t start, int64_t count,
                          int64_t stride) {
    const mica_type *type = mica_value_type(x);
    int64_t starts[MICA_MAX_RANK] = {0}, limits[MICA_MAX_RANK], strides[MICA_MAX_RANK];
    if (!type) return MICA_NULL_VALUE;
    for (int32_t i = 0; i < type->rank; i++) limits[i] = type->dims[i], strides[i] = 1;
    starts[axis] = start;
    limits[axis] = start + (count - 1) * stride + 1;
    strides[axis] = stride;
    return mica_slice(g, x, (mica_ints){starts, type->rank}, (mica_ints){limits, type->rank},
                      (mica_ints){strides, type->rank});
}

static pair pair_part(mica_graph *g, pair p, int32_t axis, int64_t start, int64_t count,
                      int64_t stride) {
    return (pair){part_of(g, p.a, axis, start, count, stride),
                  part_of(g, p.b, axis, start, count, stride)};
}

static mica_value pad_axis(mica_graph *g, mica_value x, mica_value padding, int32_t axis,
                           const mica_window_axis *a) {
    const mica_type *type = mica_value_type(x);
    int64_t low[MICA_MAX_RANK] = {0}, high[MICA_MAX_RANK] = {0}, interior[MICA_MAX_RANK] = {0};
    if (!type) return MICA_NULL_VALUE;
    low[axis] = a->low;
    high[axis] = a->high;
    interior[axis] = a->base_dilation - 1;
    return mica_pad(g, x, padding, (mica_ints){low, type->rank}, (mica_ints){high, type->rank},
                    (mica_ints){interior, type->rank});
}

/* Cuts a window into parts whose sizes are powers of two, at least two of them if it can be. */
static int32_t cut_window(int64_t window, int32_t *levels) {
    int32_t n = 0;
    for (int32_t level = LEVELS - 2; level >= 0; level--)
        if (window >> level & 1) levels[n++] = level;
    if (n == 1 && levels[0] > 0) levels[n++] = --levels[0];
    return n;
}

/* Level l holds, for every position, the fold of the 2^l elements that begin there. */
static pair fold_axis(const fold *f, pair p, int32_t axis, const mica_window_axis *a) {
    mica_graph *g = f->g;
    if (mica_window_is_trivial(a)) return p;
    p.a = pad_axis(g, p.a, f->padding.a, axis, a);
    p.b = pad_axis(g, p.b, f->padding.b, axis, a);
    pair levels[LEVELS] = {p}, result = {MICA_NULL_VALUE, MICA_NULL_VALUE};
    int32_t parts[LEVELS], n = cut_window(a->window, parts);
    int64_t length = mica_value_type(p.a) ? mica_value_type(p.a)->dims[axis] : 0;
    for (int32_t l = 0; l < parts[0] && !g->error; l++) {
        int64_t apart = (INT64_C(1) << l) * a->window_dilation;
        length -= apart;
        levels[l + 1] = f->combine(f, pair_part(g, levels[l], axis, 0, length, 1),
                                   pair_part(g, levels[l], axis, apart, length, 1));
    }
    int64_t offset = 0;
    for (int32_t i = 0; i < n && !g->error; i++) {
        pair part = pair_part(g, levels[parts[i]], axis, offset * a->window_dilation, a->results,
                              a->stride);
        result = i ? f->combine(f, result, part) : part;
        offset += INT64_C(1) << parts[i];
    }
    return result;
}

/* The last axis first: then the order of the fold is the row-major order. */
static pair fold_windows(const fold *f, pair p, const mica_windows *windows) {
    for (int32_t i = windows->rank - 1; i >= 0 && !f->g->error; i--)
        p = fold_axis(f, p, i, &windows->axes[i]);
    return p;
}

static pair combine_products(const fold *f, pair first, pair second) {
    mica_graph *g = f->g;
    return (pair){mica_mul(g, first.a, second.a),
                  mica_add(g, mica_mul(g, second.a, first.b), mica_mul(g, first.a, second.b))};
}

static mica_value product_tangent(mica_graph *g, const mica_windows *windows, mica_value x,
                                  mica_value dx) {
    mica_dtype dtype = mica_value_type(x)->dtype;
    fold f = {.g = g,
              .combine = combine_products,
              .padding = {mica_scalar(g, dtype, 1), mica_scalar(g, dtype, 0)}};
    return fold_windows(&f, (pair){x, dx}, windows).b;
}

/* The first unless the second is better; a place below 0 is padding. */
static pair combine_places(const fold *f, pair first, pair second) {
    mica_graph *g = f->g;
    mica_value keep = mica_or(g, mica_compare(g, first.a, second.a, f->direction),
                              mica_compare(g, first.a, first.a, "ne"));
    if (f->padded) {
        mica_value none = f->padding.b;
        keep = mica_or(g, keep, mica_compare(g, second.b, none, "eq"));
        keep = mica_and(g, keep, mica_compare(g, first.b, none, "ne"));
    }
    return (pair){mica_select(g, keep, first.a, second.a), mica_select(g, keep, first.b, second.b)};
}

/* Positions in x, in row-major order, of the best elements of windows; -1 for none. */
static mica_value best_places(mica_graph *g, const mica_windows *windows, mica_value x, bool max) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    int64_t count = mica_type_elements(type);
    mica_dtype integer = count <= INT32_MAX ? MICA_DTYPE_i32 : MICA_DTYPE_i64;
    mica_value places = mica_reshape(g, mica_iota(g, MICA_INTS(count), 0, integer), dims_of(type));
    fold f = {.g = g,
              .combine = combine_places,
              .padding = {mica_scalar(g, type->dtype, 0), mica_scalar(g, integer, -1)},
              .direction = max ? "ge" : "le"};
    for (int32_t i = 0; i < windows->rank; i++) {
        const mica_window_axis *a = &windows->axes[i];
        f.padded |= a->low > 0 || a->high > 0 || a->base_dilation > 1;
    }
    return fold_windows(&f, (pair){x, places}, windows).b;
}

/* The elements of x at places; zero at -1. */
static mica_value take(mica_graph *g, mica_value x, mica_value places) {
    const mica_type *type = mica_value_type(x), *at = mica_value_type(places);
    if (!type || !at) return MICA_NULL_VALUE;
    mica_value flat = mica_reshape(g, x, MICA_INTS(mica_type_elements(type)));
    return mica_gather(g, flat, places, MICA_NO_INTS, MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS,
                       MICA_INTS(0), at->rank, MICA_INTS(1), "fill");
}

/* ---- tangents ---------------------------------------------------------------------------------*/

static mica_value window_tangent(mica_graph *g, const mica_node *n, const mica_windows *windows,
                                 mica_value dx) {
    const char *kind = mica_node_string(n, "kind");
    mica_value x = n->operands[0];
    if (!strcmp(kind, "sum")) return mica_like(g, n, &dx);
    if (!mica_type_elements(&n->results[0]) || !mica_type_elements(mica_value_type(x)))
        return MICA_NULL_VALUE;
    if (!strcmp(kind, "prod")) return product_tangent(g, windows, x, dx);
    return take(g, dx, best_places(g, windows, x, !strcmp(kind, "max")));
}

/* Whether select_and_scatter has such windows. */
static bool is_dense(const mica_windows *windows) {
    for (int32_t i = 0; i < windows->rank; i++)
        if (windows->axes[i].base_dilation != 1 || windows->axes[i].window_dilation != 1)
            return false;
    return true;
}

/* The tangent of max and min as a linear call on (x, dx), whose transpose is select_and_scatter. */
static mica_value call_best(mica_graph *g, const mica_node *n, const mica_windows *windows,
                            mica_value dx) {
    mica_value x = n->operands[0], tangent = MICA_NULL_VALUE;
    const char *kind = mica_node_string(n, "kind");
    mica_value forward[2], backward[2], like[2] = {x, mica_node_result(n, 0)};
    mica_graph *regions[] = {mica_region_create(g, "reduce_window.jvp"),
                             mica_region_create(g, "reduce_window.vjp")};
    if (regions[0] && regions[1]) {
        mica_region_parameters(regions[0], (const mica_value[]){x, x}, 2, forward);
        mica_region_parameters(regions[1], like, 2, backward);
        mica_value places = best_places(regions[0], windows, forward[0], !strcmp(kind, "max"));
        mica_value taken = take(regions[0], forward[1], places);
        mica_value spread = mica_select_and_scatter(
            regions[1], backward[0], backward[1], kind, mica_node_ints(n, "window"),
            mica_node_ints(n, "strides"), mica_node_ints(n, "low"), mica_node_ints(n, "high"));
        mica_region_output(regions[0], &taken, 1);
        mica_region_output(regions[1], &spread, 1);
        if (mica_region_check(g, regions[0]) && mica_region_check(g, regions[1]))
            mica_make_call(g, "reduce_window.jvp", "reduce_window.vjp", "", 1, regions, 2,
                           (const mica_value[]){x, dx}, 2, &tangent);
    }
    mica_graph_release(regions[0]);
    mica_graph_release(regions[1]);
    return tangent;
}

MICA_JVP_RULE(cumulative) {
    mica_windows windows = mica_windows_of_cumulative(n);
    dy[0] = window_tangent(pass->g, n, &windows, dx[0]);
}

MICA_JVP_RULE(reduce_window) {
    mica_windows windows = mica_windows_of(n);
    const char *kind = mica_node_string(n, "kind");
    bool selects = !strcmp(kind, "max") || !strcmp(kind, "min");
    if (selects && !pass->joint && is_dense(&windows) && mica_type_elements(&n->results[0]) &&
        mica_type_elements(mica_operand_type(n, 0)))
        dy[0] = call_best(pass->g, n, &windows, dx[0]);
    else
        dy[0] = window_tangent(pass->g, n, &windows, dx[0]);
}

/* Where a window's element goes is constant in pieces. */
MICA_JVP_RULE(select_and_scatter) {
    mica_value operands[] = {n->operands[0], dx[1]};
    if (!mica_is_zero(dx[1])) dy[0] = mica_like(pass->g, n, operands);
}

/* ---- transposes -------------------------------------------------------------------------------*/

/* Of a sum: what x[i] adds to lies on its other side. */
MICA_TRANSPOSE_RULE(cumulative) {
    (void)t, (void)linear;
    out[0] = mica_cumulative(g, dy[0], "sum", mica_node_int(n, "axis"),
                             !mica_node_int(n, "reverse"), mica_node_int(n, "exclusive"));
}

/* Of a sum: strides and base dilations change places, and windows are read backwards. */
MICA_TRANSPOSE_RULE(reduce_window) {
    (void)t, (void)linear;
    mica_windows windows = mica_windows_of(n);
    int64_t low[MICA_MAX_RANK], high[MICA_MAX_RANK];
    for (int32_t i = 0; i < windows.rank; i++) {
        const mica_window_axis *a = &windows.axes[i];
        int64_t extent = mica_window_extent(a);
        int64_t room = a->results ? (a->results - 1) * a->stride + 1 : 0;
        int64_t needed = a->size ? (a->size - 1) * a->base_dilation + extent : 0;
        low[i] = extent - 1 - a->low;
        high[i] = needed - room - low[i];
    }
    out[0] = mica_reduce_window(g, dy[0], "sum", mica_node_ints(n, "window"),
                                mica_node_ints(n, "base_dilation"), (mica_ints){low, windows.rank},
                                (mica_ints){high, windows.rank}, mica_node_ints(n, "strides"),
                                mica_node_ints(n, "window_dilation"));
}

MICA_TRANSPOSE_RULE(select_and_scatter) {
    (void)t;
    mica_windows windows = mica_windows_of(n);
    const mica_type *x = mica_operand_type(n, 0);
    if (!linear[1] || !mica_type_elements(x) || !mica_type_elements(mica_operand_type(n, 1)))
        return;
    bool max = !strcmp(mica_node_string(n, "select"), "max");
    out[1] = take(g, dy[0], best_places(g, &windows, n->operands[0], max));
}

/* ---- batching ---------------------------------------------------------------------------------*/

MICA_VMAP_RULE(cumulative) {
    y[0].value = mica_cumulative(pass->g, x[0].value, mica_node_string(n, "kind"),
                                 mica_node_int(n, "axis") + 1, mica_node_int(n, "reverse"),
                                 mica_node_int(n, "exclusive"));
    y[0].mapped = true;
}

/* (first, the attribute) */
typedef struct longer {
    int64_t data[MICA_MAX_RANK + 1];
    int32_t n;
} longer;
static longer prepend(int64_t first, const mica_node *n, const char *name) {
    mica_ints ints = mica_node_ints(n, name);
    longer result = {.data = {first}, .n = ints.n + 1};
    for (int32_t i = 0; i < ints.n; i++) result.data[i + 1] = ints.data[i];
    return result;
}
#define INTS(more)                                                                                 \
    (mica_ints) {                                                                                  \
        (more).data, (more).n                                                                      \
    }

MICA_VMAP_RULE(reduce_window) {
    longer window = prepend(1, n, "window"), strides = prepend(1, n, "strides"),
           low = prepend(0, n, "low"), high = prepend(0, n, "high"),
           base = prepend(1, n, "base_dilation"), dilation = prepend(1, n, "window_dilation");
    y[0].value =
        mica_reduce_window(pass->g, x[0].value, mica_node_string(n, "kind"), INTS(window),
                           INTS(strides), INTS(low), INTS(high), INTS(base), INTS(dilation));
    y[0].mapped = true;
}

MICA_VMAP_RULE(select_and_scatter) {
    longer window = prepend(1, n, "window"), strides = prepend(1, n, "strides"),
           low = prepend(0, n, "low"), high = prepend(0, n, "high");
    y[0].value = mica_select_and_scatter(pass->g, mica_mapped(pass, x[0]), mica_mapped(pass, x[1]),
                                         mica_node_string(n, "select"), INTS(window), INTS(strides),
                                         INTS(low), INTS(high));
    y[0].mapped = true;
}
