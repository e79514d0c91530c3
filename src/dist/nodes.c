#include "dist/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "dist/communicator.h"

static _Thread_local dist_axis bound;

dist_axis dist_bind(dist_axis axis) {
    dist_axis before = bound;
    bound = axis;
    return before;
}

dist_axis dist_bound(void) {
    return bound;
}

/* ---- checking ---------------------------------------------------------------------------------*/

bool dist_is_along(const dist_axis *axis, const mica_node *n) {
    const char *name = mica_node_string(n, "axis");
    size_t length = axis->d && axis->name ? strlen(axis->name) : 0;
    return length && !strncmp(name, axis->name, length) &&
           (name[length] == 0 || name[length] == '#');
}

mica_status dist_check_node(const dist_axis *axis, const mica_node *n) {
    if (!dist_is_along(axis, n))
        return MICA_INVALID("[%s] axis '%s' is not bound: no vmap around it names it%s%s%s",
                            mica_op_name(n->op), mica_node_string(n, "axis"),
                            axis->d ? ", and the ranks are along '" : "", axis->d ? axis->name : "",
                            axis->d ? "'" : "");
    const mica_attr *size = mica_node_attr(n, "size");
    if (!size || size->as.integer == mica_dist_size(axis->d)) return NULL;
    return MICA_INVALID("[%s] axis '%s' has %d ranks, not %lld", mica_op_name(n->op), axis->name,
                        mica_dist_size(axis->d), (long long)size->as.integer);
}

static mica_dist_kind kind_of(const mica_node *n) {
    const char *kind = mica_node_string(n, "kind");
    return !strcmp(kind, "max")   ? MICA_DIST_MAX
           : !strcmp(kind, "min") ? MICA_DIST_MIN
                                  : MICA_DIST_SUM;
}

/* ---- parts along an axis of the array ---------------------------------------------------------*/

/* An array of `size` parts side by side along an axis: rows of `size` runs of bytes. */
typedef struct side_by_side {
    size_t rows, run;
} side_by_side;

static side_by_side cut(const mica_type *part, int64_t dim) {
    side_by_side s = {1, mica_dtype_bytes(part->dtype)};
    for (int64_t i = 0; i < part->rank; i++) {
        if (i < dim)
            s.rows *= (size_t)part->dims[i];
        else
            s.run *= (size_t)part->dims[i];
    }
    return s;
}

static void put_side_by_side(side_by_side s, int32_t size, const uint8_t *parts, uint8_t *whole) {
    for (size_t p = 0; p < (size_t)size; p++)
        for (size_t r = 0; r < s.rows; r++)
            memcpy(whole + (r * (size_t)size + p) * s.run, parts + (p * s.rows + r) * s.run, s.run);
}

static void take_apart(side_by_side s, int32_t size, const uint8_t *whole, uint8_t *parts) {
    for (size_t p = 0; p < (size_t)size; p++)
        for (size_t r = 0; r < s.rows; r++)
            memcpy(parts + (p * s.rows + r) * s.run, whole + (r * (size_t)size + p) * s.run, s.run);
}

static mica_status all_gather(mica_dist *d, const mica_node *n, const void *x, void *y) {
    const mica_type *part = mica_operand_type(n, 0);
    side_by_side s = cut(part, mica_node_int(n, "dim"));
    size_t bytes = mica_type_bytes(part);
    int32_t size = mica_dist_size(d);
    if (s.rows <= 1 || !bytes) return mica_dist_all_gather(d, x, y, bytes);
    uint8_t *parts = mica_alloc_aligned(bytes * (size_t)size);
    if (!parts) return MICA_NO_MEMORY();
    mica_status status = mica_dist_all_gather(d, x, parts, bytes);
    if (!status) put_side_by_side(s, size, parts, y);
    mica_free_aligned(parts);
    return status;
}

static mica_status reduce_scatter(mica_dist *d, const mica_node *n, const void *x, void *y) {
    const mica_type *part = &n->results[0];
    side_by_side s = cut(part, mica_node_int(n, "dim"));
    size_t bytes = mica_type_bytes(part);
    int32_t size = mica_dist_size(d);
    int64_t count = mica_type_elements(part);
    if (s.rows <= 1 || !bytes)
        return mica_dist_reduce_scatter(d, kind_of(n), part->dtype, x, y, count);
    uint8_t *parts = mica_alloc_aligned(bytes * (size_t)size);
    if (!parts) return MICA_NO_MEMORY();
    take_apart(s, size, x, parts);
    mica_status status = mica_dist_reduce_scatter(d, kind_of(n), part->dtype, parts, y, count);
    mica_free_aligned(parts);
    return status;
}

/* ---- the others -------------------------------------------------------------------------------*/

static mica_status permute(mica_dist *d, const mica_node *n, const void *x, void *y) {
    mica_ints sources = mica_node_ints(n, "sources"), targets = mica_node_ints(n, "targets");
    size_t bytes = mica_type_bytes(&n->results[0]);
    int32_t *pairs = mica_alloc(2 * (size_t)sources.n * sizeof *pairs);
    if (!pairs && sources.n) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < sources.n; i++) {
        pairs[i] = (int32_t)sources.data[i]; /* below the size, which is that of the ranks */
        pairs[sources.n + i] = (int32_t)targets.data[i];
    }
    mica_status status = mica_dist_permute(d, x, y, bytes, pairs, pairs + sources.n, sources.n);
    mica_free(pairs);
    return status;
}

static mica_status broadcast(mica_dist *d, const mica_node *n, const void *x, void *y) {
    size_t bytes = mica_type_bytes(&n->results[0]);
    if (bytes && x != y) memcpy(y, x, bytes);
    return mica_dist_broadcast(d, y, bytes, (int32_t)mica_node_int(n, "source"));
}

static mica_status run(mica_dist *d, const mica_node *n, const void *x, void *y) {
    switch ((int)n->op) {
    case MICA_OP_all_reduce:
        return mica_dist_all_reduce(d, kind_of(n), n->results[0].dtype, x, y,
                                    mica_type_elements(&n->results[0]));
    case MICA_OP_all_gather: return all_gather(d, n, x, y);
    case MICA_OP_reduce_scatter: return reduce_scatter(d, n, x, y);
    case MICA_OP_permute: return permute(d, n, x, y);
    case MICA_OP_broadcast_from: return broadcast(d, n, x, y);
    }
    return MICA_ERROR(MICA_UNSUPPORTED, "[%s] ranks cannot do it", mica_op_name(n->op));
}

mica_status dist_run_node(const dist_axis *axis, const mica_node *n, const void *x, void *y) {
    MICA_TRY(dist_check_node(axis, n));
    if (n->op == MICA_OP_axis_index) {
        int32_t rank = mica_dist_rank(axis->d);
        memcpy(y, &rank, sizeof rank);
        return NULL;
    }
    const char *number = strchr(mica_node_string(n, "axis"), '#');
    dist_set_tag(number ? strtoull(number + 1, NULL, 10) : 0);
    mica_status status = run(axis->d, n, x, y);
    dist_set_tag(0);
    return status;
}
