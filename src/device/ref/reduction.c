/* REDUCTION rows. */
#include <math.h>
#include <string.h>

#include "device/ref/value.h"

/* The element below (sign 1) or above (sign -1) all others: where a max or min begins. */
static ref_number extreme_start(mica_dtype dtype, int sign) {
    int width = 8 * (int)mica_dtype_bytes(dtype);
    switch (mica_dtype_kind_of(dtype)) {
    case MICA_KIND_FLOAT: return ref_from_double(sign > 0 ? -INFINITY : INFINITY);
    case MICA_KIND_SIGNED:
        return ref_from_bits(sign > 0 ? ~(uint64_t)0 << (width - 1)
                                      : ((uint64_t)1 << (width - 1)) - 1);
    default: return ref_from_bits(sign > 0 ? 0 : ~(uint64_t)0 >> (64 - width));
    }
}

ref_number ref_reduce_start(const char *kind, mica_dtype dtype) {
    if (!strcmp(kind, "prod")) return (ref_number){.bits = 1, .real = 1};
    if (!strcmp(kind, "max")) return extreme_start(dtype, 1);
    if (!strcmp(kind, "min")) return extreme_start(dtype, -1);
    if (!strcmp(kind, "and")) return ref_from_bits(~(uint64_t)0);
    return (ref_number){0}; /* sum, or */
}

static ref_number extreme(mica_dtype dtype, ref_number a, ref_number b, int sign) {
    if (mica_dtype_kind_of(dtype) == MICA_KIND_FLOAT)
        return ref_from_double(ref_extreme(a.real, b.real, sign));
    return ref_order(dtype, a, b) == sign ? a : b;
}

ref_number ref_reduce_step(const char *kind, mica_dtype dtype, ref_number a, ref_number b) {
    if (!strcmp(kind, "sum")) return ref_sum(a, b);
    if (!strcmp(kind, "prod")) return ref_product(dtype, a, b);
    if (!strcmp(kind, "max")) return extreme(dtype, a, b, 1);
    if (!strcmp(kind, "min")) return extreme(dtype, a, b, -1);
    if (!strcmp(kind, "and")) return ref_from_bits(a.bits & b.bits);
    return ref_from_bits(a.bits | b.bits); /* or */
}

/* Splits x's axes: the reduced ones get their sizes in inner, the others keep the result's. */
typedef struct reduction {
    const mica_type *x;
    mica_type inner;
    int32_t inner_axes[MICA_MAX_RANK], outer_axes[MICA_MAX_RANK];
} reduction;

static reduction reduction_of(const mica_type *x, mica_ints axes) {
    reduction r = {.x = x, .inner = {.kind = MICA_TENSOR}};
    int32_t n_outer = 0;
    for (int32_t k = 0; k < x->rank; k++) {
        bool reduced = false;
        for (int32_t j = 0; j < axes.n; j++) reduced |= axes.data[j] == k;
        if (!reduced)
            r.outer_axes[n_outer++] = k;
        else {
            r.inner_axes[r.inner.rank] = k;
            r.inner.dims[r.inner.rank++] = x->dims[k];
        }
    }
    return r;
}

static int64_t reduction_position(const reduction *r, const int64_t *outer, const int64_t *inner) {
    int64_t index[MICA_MAX_RANK];
    for (int32_t k = 0; k < r->x->rank - r->inner.rank; k++) index[r->outer_axes[k]] = outer[k];
    for (int32_t k = 0; k < r->inner.rank; k++) index[r->inner_axes[k]] = inner[k];
    return ref_position(r->x, index);
}

mica_status ref_reduce(const mica_node *n, ref_value *const *operands, ref_value **results) {
    const char *kind = mica_node_string(n, "kind");
    const mica_type *x = &operands[0]->type, *y = &results[0]->type;
    reduction r = reduction_of(x, mica_node_ints(n, "axes"));
    int64_t outer[MICA_MAX_RANK] = {0};
    for (int64_t i = 0, end = mica_type_elements(y); i < end; i++, ref_advance(y, outer)) {
        ref_number total = ref_reduce_start(kind, x->dtype);
        int64_t inner[MICA_MAX_RANK] = {0};
        for (int64_t j = 0, j_end = mica_type_elements(&r.inner); j < j_end;
             j++, ref_advance(&r.inner, inner))
            total = ref_reduce_step(
                kind, x->dtype, total,
                ref_load(x->dtype, operands[0]->data, reduction_position(&r, outer, inner)));
        ref_store(y->dtype, results[0]->data, i, total);
    }
    return NULL;
}

bool ref_beats(mica_dtype dtype, ref_number a, ref_number best, int sign) {
    int order = ref_order(dtype, a, best);
    return order == 2 ? isnan(a.real) && !isnan(best.real) : order == sign;
}

static mica_status arg_extreme(const mica_node *n, ref_value *const *operands, ref_value **results,
                               int sign) {
    const mica_type *x = &operands[0]->type, *y = &results[0]->type;
    int64_t axis = mica_node_int(n, "axis");
    reduction r = reduction_of(x, (mica_ints){&axis, 1});
    int64_t outer[MICA_MAX_RANK] = {0};
    for (int64_t i = 0, end = mica_type_elements(y); i < end; i++, ref_advance(y, outer)) {
        ref_number best = {0};
        int64_t place = 0;
        for (int64_t j = 0; j < x->dims[axis]; j++) {
            ref_number a = ref_load(x->dtype, operands[0]->data, reduction_position(&r, outer, &j));
            if (j > 0 && !ref_beats(x->dtype, a, best, sign)) continue;
            best = a;
            place = j;
        }
        ref_store(y->dtype, results[0]->data, i,
                  (ref_number){.bits = (uint64_t)place, .real = (double)place});
    }
    return NULL;
}

mica_status ref_argmax(const mica_node *n, ref_value *const *operands, ref_value **results) {
    return arg_extreme(n, operands, results, 1);
}

mica_status ref_argmin(const mica_node *n, ref_value *const *operands, ref_value **results) {
    return arg_extreme(n, operands, results, -1);
}
