#include "support/random_graph.h"

#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"
#include "ir/numbers.h"

#define MOST_ELEMENTS 400

/* splitmix64 */
uint64_t random_next(random_builder *b) {
    uint64_t z = b->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int64_t random_below(random_builder *b, int64_t n) {
    return n > 0 ? (int64_t)(random_next(b) % (uint64_t)n) : 0;
}

void random_add(random_builder *b, mica_value value) {
    const mica_type *type = mica_value_type(value);
    if (type && type->kind == MICA_TENSOR && b->n_pool < RANDOM_MOST_VALUES)
        b->pool[b->n_pool++] = value;
}

/* ---- types and operands ---------------------------------------------------------------------*/

static bool allowed(const random_builder *b, mica_dtype dtype) {
    return b->options->complex || mica_dtype_kind_of(dtype) != MICA_KIND_COMPLEX;
}

static mica_dtype random_dtype(random_builder *b, mica_dtype_set set) {
    for (;;) {
        mica_dtype dtype = (mica_dtype)random_below(b, MICA_DTYPE_COUNT);
        if (b->options->derivatives && mica_dtype_kind_of(dtype) == MICA_KIND_FLOAT)
            dtype = MICA_DTYPE_f64;
        if (allowed(b, dtype) && mica_dtype_in_set(dtype, set)) return dtype;
    }
}

static mica_type random_type(random_builder *b, mica_dtype dtype) {
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 2, 3, 6, 7};
    mica_type type = {.kind = MICA_TENSOR, .dtype = dtype, .rank = (int32_t)random_below(b, 4)};
    for (int32_t i = 0; i < type.rank; i++)
        type.dims[i] = random_below(b, 40) ? sizes[random_below(b, 9)] : 0;
    return type;
}

/* A parameter at the top, where data comes in; a constant inside a region. */
static mica_value source(random_builder *b, const mica_type *type) {
    mica_value value;
    if (b->depth == 0 && random_below(b, 3)) {
        value = mica_parameter(b->g, type);
    } else {
        size_t bytes = mica_type_bytes(type);
        void *data = malloc(bytes ? bytes : 1);
        if (data) random_data(random_next(b), type, data);
        value = mica_constant(b->g, (mica_data){type, data});
        free(data);
    }
    random_add(b, value);
    return value;
}

mica_value random_pick(random_builder *b) {
    if (b->n_pool && random_below(b, 8)) return b->pool[random_below(b, b->n_pool)];
    mica_type type = random_type(b, random_dtype(b, MICA_SET_ANY));
    return source(b, &type);
}

/* A value whose dtype is in the set and whose rank is at least `rank`. */
static mica_value pick_of(random_builder *b, mica_dtype_set set, int32_t rank) {
    for (int32_t tries = 0; tries < 12 && b->n_pool; tries++) {
        mica_value value = b->pool[random_below(b, b->n_pool)];
        const mica_type *type = mica_value_type(value);
        if (mica_dtype_in_set(type->dtype, set) && type->rank >= rank) return value;
    }
    mica_type type = random_type(b, random_dtype(b, set));
    while (type.rank < rank) type.dims[type.rank++] = 1 + random_below(b, 4);
    return source(b, &type);
}

mica_value random_zeros(random_builder *b, const mica_type *type) {
    if (type->kind != MICA_TENSOR) return mica_constant(b->g, (mica_data){type, NULL});
    return mica_broadcast_to(b->g, mica_scalar(b->g, type->dtype, 0),
                             (mica_ints){type->dims, type->rank});
}

mica_value random_of_type(random_builder *b, const mica_type *type) {
    for (int32_t tries = 0; tries < b->n_pool; tries++) {
        mica_value value = b->pool[random_below(b, b->n_pool)];
        if (mica_type_equal(mica_value_type(value), type)) return value;
    }
    return type->kind == MICA_TENSOR ? source(b, type) : random_zeros(b, type);
}

/* Something that broadcasts against x: some axes dropped in front, some of size 1. */
static mica_value pick_like(random_builder *b, mica_value x, mica_dtype dtype) {
    mica_type type = *mica_value_type(x);
    type.dtype = dtype;
    int32_t drop = random_below(b, 3) ? 0 : (int32_t)random_below(b, type.rank + 1);
    memmove(type.dims, type.dims + drop, sizeof type.dims - (size_t)drop * sizeof *type.dims);
    type.rank -= drop;
    for (int32_t i = 0; i < type.rank; i++)
        if (random_below(b, 6) == 0) type.dims[i] = 1;
    return random_of_type(b, &type);
}

static mica_ints dims_of(const mica_type *type) {
    return (mica_ints){type->dims, type->rank};
}

/* A random order of 0 .. n - 1. */
static void shuffle(random_builder *b, int64_t *out, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        int64_t k = random_below(b, i + 1);
        out[i] = out[k];
        out[k] = i;
    }
}

static mica_value limit_size(random_builder *b, mica_value x) {
    const mica_type *type = mica_value_type(x);
    if (!type || mica_type_elements(type) <= MOST_ELEMENTS) return x;
    int64_t zeros[MICA_MAX_RANK] = {0}, ones[MICA_MAX_RANK], limit[MICA_MAX_RANK];
    for (int32_t i = 0; i < type->rank; i++) {
        ones[i] = 1;
        limit[i] = type->dims[i] < 3 ? type->dims[i] : 3;
    }
    return mica_slice(b->g, x, (mica_ints){zeros, type->rank}, (mica_ints){limit, type->rank},
                      (mica_ints){ones, type->rank});
}

/* ---- elementwise ----------------------------------------------------------------------------*/

/* Ops of class MAP that are exact on floats too. */
static bool is_exact_map(mica_op op, mica_dtype dtype) {
    mica_dtype_kind kind = mica_dtype_kind_of(dtype);
    if (kind == MICA_KIND_COMPLEX)
        return op == MICA_OP_neg || op == MICA_OP_add || op == MICA_OP_sub || op == MICA_OP_mul;
    if (kind != MICA_KIND_FLOAT) return true;
    switch (op) {
    case MICA_OP_neg:
    case MICA_OP_abs:
    case MICA_OP_sign:
    case MICA_OP_floor:
    case MICA_OP_ceil:
    case MICA_OP_round:
    case MICA_OP_sqrt:
    case MICA_OP_add:
    case MICA_OP_sub:
    case MICA_OP_mul:
    case MICA_OP_div:
    case MICA_OP_max:
    case MICA_OP_min:
    case MICA_OP_clamp: return true;
    default: return false;
    }
}

/* Into (0.1, 0.9), where every function is smooth and tame; acosh has its own place above 1. */
static mica_value squash(random_builder *b, mica_op op, mica_value x) {
    double shift = op == MICA_OP_acosh ? 1.1 : 0.1;
    mica_value part =
        mica_mul(b->g, mica_logistic(b->g, x), mica_scalar(b->g, MICA_DTYPE_f64, 0.8));
    return mica_add(b->g, part, mica_scalar(b->g, MICA_DTYPE_f64, shift));
}

static bool needs_squashing(const random_builder *b, mica_op op, mica_dtype dtype) {
    if (!b->options->derivatives || dtype != MICA_DTYPE_f64) return false;
    return op == MICA_OP_div || op == MICA_OP_sqrt || !is_exact_map(op, dtype);
}

/* Broadcasts by hand where the table, not a builder, says which op it is. */
static mica_value add_map(random_builder *b, mica_op op) {
    int32_t arity = mica_op_describe(op)->arity;
    mica_value operands[3];
    operands[0] = pick_of(b, mica_op_dtype_set(op), 0);
    const mica_type *type = mica_value_type(operands[0]);
    if (!type || (b->options->exact && !is_exact_map(op, type->dtype))) return MICA_NULL_VALUE;
    for (int32_t i = 1; i < arity; i++)
        operands[i] =
            mica_broadcast_to(b->g, pick_like(b, operands[0], type->dtype), dims_of(type));
    for (int32_t i = 0; needs_squashing(b, op, type->dtype) && i < arity; i++)
        operands[i] = squash(b, op, operands[i]);
    mica_node *n = mica_node_create(b->g, op, operands, arity, NULL, NULL, 0);
    return n ? mica_node_result(n, 0) : MICA_NULL_VALUE;
}

static mica_value add_elementwise(random_builder *b, mica_op op) {
    static const char *const directions[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    mica_value x = pick_of(b, mica_op_dtype_set(op), 0);
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    bool is_complex = mica_dtype_kind_of(type->dtype) == MICA_KIND_COMPLEX;
    switch (op) {
    case MICA_OP_is_finite: return mica_is_finite(b->g, x);
    case MICA_OP_reduce_precision:
        /* exact differences need all bits */
        if (b->options->derivatives) return mica_reduce_precision(b->g, x, 11, 52);
        return mica_reduce_precision(b->g, x, 2 + random_below(b, 10), 1 + random_below(b, 52));
    case MICA_OP_nextafter: return mica_nextafter(b->g, x, pick_like(b, x, type->dtype));
    case MICA_OP_compare:
        return mica_compare(b->g, x, pick_like(b, x, type->dtype),
                            directions[random_below(b, is_complex ? 2 : 6)]);
    case MICA_OP_select:
        return mica_select(b->g, pick_like(b, x, MICA_DTYPE_bool), x, pick_like(b, x, type->dtype));
    case MICA_OP_convert: return mica_convert(b->g, x, random_dtype(b, MICA_SET_ANY));
    case MICA_OP_real: return mica_real(b->g, x);
    case MICA_OP_imag: return mica_imag(b->g, x);
    case MICA_OP_conj: return mica_conj(b->g, x);
    case MICA_OP_complex:
        return b->options->complex ? mica_complex(b->g, x, pick_like(b, x, type->dtype))
                                   : MICA_NULL_VALUE;
    default: return MICA_NULL_VALUE;
    }
}

/* ---- shape ----------------------------------------------------------------------------------*/

static mica_value add_broadcast(random_builder *b) {
    mica_value x = random_pick(b);
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    int64_t shape[MICA_MAX_RANK], axes[MICA_MAX_RANK];
    int32_t n = 0;
    for (int32_t i = 0; i <= type->rank; i++) {
        if (random_below(b, 3) == 0 && n < 5) shape[n++] = 1 + random_below(b, 3);
        if (i == type->rank || n == MICA_MAX_RANK) break;
        axes[i] = n;
        shape[n++] = type->dims[i] == 1 ? 1 + random_below(b, 3) : type->dims[i];
    }
    return mica_broadcast(b->g, x, (mica_ints){shape, n}, (mica_ints){axes, type->rank});
}

/* Merges neighbouring axes and puts in axes of size 1. */
static mica_value add_reshape(random_builder *b) {
    mica_value x = random_pick(b);
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    int64_t shape[MICA_MAX_RANK];
    int32_t n = 0;
    for (int32_t i = 0; i < type->rank && n < MICA_MAX_RANK - 2; i++) {
        if (n && random_below(b, 2))
            shape[n - 1] *= type->dims[i];
        else
            shape[n++] = type->dims[i];
        if (random_below(b, 5) == 0) shape[n++] = 1;
    }
    return mica_reshape(b->g, x, (mica_ints){shape, n});
}

/* Between integers: floats of any bits are mostly NaN or huge, and a NaN's bits are any. */
static mica_value add_bitcast(random_builder *b) {
    mica_value x = pick_of(b, MICA_SET_INTEGERS, 0);
    const mica_type *type = mica_value_type(x);
    if (!type || type->rank == MICA_MAX_RANK) return MICA_NULL_VALUE;
    mica_dtype dtype = random_dtype(b, MICA_SET_INTEGERS);
    int64_t from = (int64_t)mica_dtype_bytes(type->dtype), to = (int64_t)mica_dtype_bytes(dtype);
    if (to > from) {
        int64_t shape[MICA_MAX_RANK], axes[MICA_MAX_RANK];
        for (int32_t i = 0; i < type->rank; i++) shape[axes[i] = i] = type->dims[i];
        shape[type->rank] = to / from;
        x = mica_broadcast(b->g, x, (mica_ints){shape, type->rank + 1},
                           (mica_ints){axes, type->rank});
    }
    return mica_bitcast(b->g, x, dtype);
}

static mica_value add_slice(random_builder *b) {
    mica_value x = random_pick(b);
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    int64_t start[MICA_MAX_RANK], limit[MICA_MAX_RANK], stride[MICA_MAX_RANK];
    for (int32_t i = 0; i < type->rank; i++) {
        start[i] = random_below(b, type->dims[i]) / 2;
        limit[i] = type->dims[i] - random_below(b, type->dims[i] - start[i]) / 2;
        stride[i] = 1 + random_below(b, 3) / 2;
    }
    return mica_slice(b->g, x, (mica_ints){start, type->rank}, (mica_ints){limit, type->rank},
                      (mica_ints){stride, type->rank});
}

static mica_value add_pad(random_builder *b) {
    mica_value x = random_pick(b);
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    mica_type scalar = mica_type_scalar(type->dtype);
    int64_t low[MICA_MAX_RANK], high[MICA_MAX_RANK], interior[MICA_MAX_RANK];
    for (int32_t i = 0; i < type->rank; i++) {
        interior[i] = random_below(b, 5) == 0 ? random_below(b, 3) : 0;
        low[i] = random_below(b, 3);
        high[i] = random_below(b, 3);
        if (type->dims[i] > 1 && random_below(b, 3) == 0) low[i] = -1;
        if (type->dims[i] > 2 && random_below(b, 3) == 0) high[i] = -1;
    }
    return mica_pad(b->g, x, random_of_type(b, &scalar), (mica_ints){low, type->rank},
                    (mica_ints){high, type->rank}, (mica_ints){interior, type->rank});
}

static mica_value add_concat(random_builder *b) {
    mica_value operands[3];
    operands[0] = pick_of(b, MICA_SET_ANY, 1);
    const mica_type *type = mica_value_type(operands[0]);
    if (!type) return MICA_NULL_VALUE;
    int32_t n = 1 + (int32_t)random_below(b, 3);
    int64_t axis = random_below(b, type->rank);
    for (int32_t i = 1; i < n; i++) {
        mica_type other = *type;
        if (random_below(b, 4) == 0) other.dims[axis] = random_below(b, 4);
        operands[i] = random_of_type(b, &other);
    }
    return mica_concat(b->g, operands, n, axis);
}

static mica_value add_dynamic(random_builder *b, mica_op op) {
    static const mica_dtype integers[] = {MICA_DTYPE_i32, MICA_DTYPE_i64, MICA_DTYPE_u8};
    mica_value x = random_pick(b);
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    mica_type start = mica_type_make(integers[random_below(b, 3)], MICA_INTS(type->rank));
    mica_type part = *type;
    for (int32_t i = 0; i < type->rank; i++) part.dims[i] -= random_below(b, type->dims[i]);
    mica_value at = random_of_type(b, &start);
    if (op == MICA_OP_dynamic_slice) return mica_dynamic_slice(b->g, x, at, dims_of(&part));
    return mica_dynamic_update_slice(b->g, x, random_of_type(b, &part), at);
}

/* Every axis of x is one of the window, or goes with a batch axis of the indices, or is dropped;
 * some are indexed. */
typedef struct random_index {
    mica_value x, indices;
    int64_t offset[MICA_MAX_RANK], dropped[MICA_MAX_RANK], operand_batch[MICA_MAX_RANK],
        indices_batch[MICA_MAX_RANK], map[MICA_MAX_RANK], sizes[MICA_MAX_RANK];
    int32_t n_offset, n_dropped, n_batch, n_map;
    int64_t vector_dim;
    mica_type windows; /* gather's result */
} random_index;

static bool pick_index(random_builder *b, mica_dtype_set set, random_index *r) {
    static const mica_dtype integers[] = {MICA_DTYPE_i32, MICA_DTYPE_i64, MICA_DTYPE_u8};
    *r = (random_index){.x = pick_of(b, set, 0)};
    const mica_type *x = mica_value_type(r->x);
    if (!x || x->rank > 5) return false;
    mica_type indices = mica_type_scalar(integers[random_below(b, 3)]);
    for (int32_t i = (int32_t)random_below(b, 3); i > 0; i--)
        indices.dims[indices.rank++] = 1 + random_below(b, 4);
    for (int32_t i = 0; i < x->rank; i++) {
        r->sizes[i] = 1;
        if (random_below(b, 5) == 0 && indices.rank < 5) {
            r->operand_batch[r->n_batch] = i;
            r->indices_batch[r->n_batch++] = indices.rank;
            indices.dims[indices.rank++] = x->dims[i];
            continue;
        }
        if (random_below(b, 2)) r->map[r->n_map++] = i;
        if (x->dims[i] > 0 && random_below(b, 2)) {
            r->dropped[r->n_dropped++] = i;
        } else {
            r->sizes[i] = x->dims[i] - random_below(b, x->dims[i]) / 2;
            r->offset[r->n_offset++] = r->sizes[i]; /* for now */
        }
    }
    r->windows = indices;
    r->windows.dtype = x->dtype;
    bool first = random_below(b, 2);
    memmove(r->windows.dims + (first ? r->n_offset : 0), indices.dims,
            (size_t)indices.rank * sizeof *indices.dims);
    for (int32_t i = 0; i < r->n_offset; i++) {
        int32_t place = first ? i : indices.rank + i;
        r->windows.dims[place] = r->offset[i];
        r->offset[i] = place;
    }
    r->windows.rank += r->n_offset;
    r->vector_dim = indices.rank;
    if (r->n_map != 1) indices.dims[indices.rank++] = r->n_map;
    r->indices = random_of_type(b, &indices);
    return true;
}

static mica_value add_gather(random_builder *b) {
    random_index r;
    if (!pick_index(b, MICA_SET_ANY, &r)) return MICA_NULL_VALUE;
    return mica_gather(b->g, r.x, r.indices, (mica_ints){r.offset, r.n_offset},
                       (mica_ints){r.dropped, r.n_dropped}, (mica_ints){r.operand_batch, r.n_batch},
                       (mica_ints){r.indices_batch, r.n_batch}, (mica_ints){r.map, r.n_map},
                       r.vector_dim, (mica_ints){r.sizes, mica_value_type(r.x)->rank},
                       random_below(b, 2) ? "clip" : "fill");
}

static mica_value add_scatter(random_builder *b) {
    static const char *const kinds[] = {"set", "add", "mul", "min", "max"};
    random_index r;
    int64_t kind = random_below(b, 5);
    if (!pick_index(b, kind ? MICA_SET_NUMBERS : MICA_SET_ANY, &r)) return MICA_NULL_VALUE;
    return mica_scatter(b->g, r.x, r.indices, random_of_type(b, &r.windows), kinds[kind],
                        (mica_ints){r.offset, r.n_offset}, (mica_ints){r.dropped, r.n_dropped},
                        (mica_ints){r.operand_batch, r.n_batch},
                        (mica_ints){r.indices_batch, r.n_batch}, (mica_ints){r.map, r.n_map},
                        r.vector_dim, random_below(b, 2) ? "clip" : "fill");
}

static mica_value add_permuted(random_builder *b, mica_op op) {
    mica_value x = random_pick(b);
    const mica_type *type = mica_value_type(x);
    int64_t order[MICA_MAX_RANK];
    if (!type) return MICA_NULL_VALUE;
    shuffle(b, order, type->rank);
    if (op == MICA_OP_transpose) return mica_transpose(b->g, x, (mica_ints){order, type->rank});
    return mica_reverse(b->g, x, (mica_ints){order, (int32_t)random_below(b, type->rank + 1)});
}

static mica_value add_move(random_builder *b, mica_op op) {
    mica_type type;
    switch (op) {
    case MICA_OP_constant:
        type = random_type(b, random_dtype(b, MICA_SET_ANY));
        return source(b, &type);
    case MICA_OP_iota:
        type = random_type(b, random_dtype(b, MICA_SET_NUMBERS_COMPLEX));
        if (!type.rank) type.dims[type.rank++] = 3;
        return mica_iota(b->g, dims_of(&type), random_below(b, type.rank), type.dtype);
    case MICA_OP_broadcast: return add_broadcast(b);
    case MICA_OP_reshape: return add_reshape(b);
    case MICA_OP_bitcast: return add_bitcast(b);
    case MICA_OP_slice: return add_slice(b);
    case MICA_OP_pad: return add_pad(b);
    case MICA_OP_concat: return add_concat(b);
    case MICA_OP_transpose:
    case MICA_OP_reverse: return add_permuted(b, op);
    case MICA_OP_dynamic_slice:
    case MICA_OP_dynamic_update_slice: return add_dynamic(b, op);
    case MICA_OP_gather: return add_gather(b);
    case MICA_OP_scatter: return add_scatter(b);
    default: return MICA_NULL_VALUE;
    }
}

/* ---- contractions and reductions ------------------------------------------------------------*/

/* Integers wrap, so their sums are exact in any order. */
static mica_value exact_enough(random_builder *b, mica_dtype_set set, int32_t rank) {
    mica_value x = pick_of(b, set, rank);
    const mica_type *type = mica_value_type(x);
    if (!type) return x;
    bool is_float = mica_dtype_in_set(type->dtype, MICA_SET_FLOATS_COMPLEX);
    return b->options->exact && is_float ? MICA_NULL_VALUE : x;
}

/* Axes of x are contracted, batched or free by chance; the other operand is made to fit. */
static mica_value add_dot(random_builder *b) {
    mica_value x = exact_enough(b, MICA_SET_NUMBERS_COMPLEX, 0);
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    int64_t order[MICA_MAX_RANK], left[2][MICA_MAX_RANK], right[2][MICA_MAX_RANK];
    int32_t n[2] = {0, 0};
    mica_type other = mica_type_scalar(type->dtype);
    shuffle(b, order, type->rank);
    for (int32_t i = 0; i < type->rank; i++) {
        int64_t role = random_below(b, 3);
        if (random_below(b, 3) == 0 && other.rank < 6)
            other.dims[other.rank++] = 1 + random_below(b, 3);
        if (role == 2) continue;
        left[role][n[role]] = order[i];
        right[role][n[role]++] = other.rank;
        other.dims[other.rank++] = type->dims[order[i]];
    }
    return mica_dot(b->g, x, random_of_type(b, &other), (mica_ints){left[0], n[0]},
                    (mica_ints){right[0], n[0]}, (mica_ints){left[1], n[1]},
                    (mica_ints){right[1], n[1]});
}

static mica_value add_conv(random_builder *b) {
    static const char *const layouts[] = {"N01C,01IO,N01C", "NC01,OI01,NC01", "N01C,01IO,CN01"};
    if (b->options->exact) return MICA_NULL_VALUE;
    int64_t which = random_below(b, 3), groups = 1 + random_below(b, 2),
            channels = 1 + random_below(b, 2);
    int64_t outputs = groups * (1 + random_below(b, 2)), batch = 1 + random_below(b, 2);
    mica_dtype dtype = random_dtype(b, MICA_SET_FLOATS_COMPLEX);
    int64_t h = 3 + random_below(b, 3), w = 3 + random_below(b, 3);
    mica_type x = which == 1 ? mica_type_make(dtype, MICA_INTS(batch, channels * groups, h, w))
                             : mica_type_make(dtype, MICA_INTS(batch, h, w, channels * groups));
    mica_type k = which == 1 ? mica_type_make(dtype, MICA_INTS(outputs, channels, 2, 3))
                             : mica_type_make(dtype, MICA_INTS(2, 3, channels, outputs));
    return mica_conv(b->g, random_of_type(b, &x), random_of_type(b, &k), layouts[which],
                     MICA_INTS(1 + random_below(b, 2), 1), MICA_INTS(random_below(b, 2), -1),
                     MICA_INTS(0, 1 + random_below(b, 2)), MICA_INTS(1 + random_below(b, 2), 1),
                     MICA_INTS(1, 1 + random_below(b, 2)), groups, 1);
}

static mica_value add_reduce(random_builder *b) {
    static const char *const kinds[] = {"max", "min", "sum", "prod", "and", "or"};
    int64_t kind = random_below(b, 6), order[MICA_MAX_RANK];
    mica_value x = kind < 2   ? pick_of(b, MICA_SET_NUMBERS, 0)
                   : kind < 4 ? exact_enough(b, MICA_SET_NUMBERS_COMPLEX, 0)
                              : pick_of(b, MICA_SET_BITS, 0);
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    shuffle(b, order, type->rank);
    return mica_reduce(b->g, x, kinds[kind],
                       (mica_ints){order, (int32_t)random_below(b, type->rank + 1)});
}

static mica_value add_argmax(random_builder *b, mica_op op) {
    static const mica_dtype integers[] = {MICA_DTYPE_i32, MICA_DTYPE_u16, MICA_DTYPE_i64};
    mica_value x = pick_of(b, MICA_SET_NUMBERS, 1);
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    int64_t axis = random_below(b, type->rank);
    if (type->dims[axis] == 0) return MICA_NULL_VALUE;
    mica_dtype dtype = integers[random_below(b, 3)];
    return op == MICA_OP_argmax ? mica_argmax(b->g, x, axis, dtype)
                                : mica_argmin(b->g, x, axis, dtype);
}

static const char *random_kind(random_builder *b, mica_value *out_x, int32_t rank) {
    static const char *const kinds[] = {"max", "min", "sum", "prod"};
    int64_t kind = random_below(b, 4);
    *out_x = kind < 2 ? pick_of(b, MICA_SET_NUMBERS, rank)
                      : exact_enough(b, MICA_SET_NUMBERS_COMPLEX, rank);
    return kinds[kind];
}

static mica_value add_cumulative(random_builder *b) {
    mica_value x;
    const char *kind = random_kind(b, &x, 1);
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    return mica_cumulative(b->g, x, kind, random_below(b, type->rank), random_below(b, 2),
                           random_below(b, 2));
}

typedef struct random_windows {
    int64_t window[MICA_MAX_RANK], strides[MICA_MAX_RANK], low[MICA_MAX_RANK], high[MICA_MAX_RANK],
        base[MICA_MAX_RANK], dilation[MICA_MAX_RANK];
} random_windows;

/* Windows are larger than one element along three axes at most. */
static random_windows pick_windows(random_builder *b, const mica_type *type) {
    random_windows r;
    for (int32_t i = 0; i < type->rank; i++) {
        r.window[i] = i < 3 ? 1 + random_below(b, 3) : 1;
        r.strides[i] = 1 + random_below(b, 2);
        r.low[i] = random_below(b, 3) - (type->dims[i] > 2);
        r.high[i] = random_below(b, 3) - (type->dims[i] > 3);
        r.base[i] = random_below(b, 4) ? 1 : 2;
        r.dilation[i] = random_below(b, 4) ? 1 : 2;
    }
    return r;
}

static mica_value add_reduce_window(random_builder *b) {
    mica_value x;
    const char *kind = random_kind(b, &x, 0);
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    random_windows r = pick_windows(b, type);
    int32_t n = type->rank;
    return mica_reduce_window(b->g, x, kind, (mica_ints){r.window, n}, (mica_ints){r.strides, n},
                              (mica_ints){r.low, n}, (mica_ints){r.high, n}, (mica_ints){r.base, n},
                              (mica_ints){r.dilation, n});
}

static mica_value add_select_and_scatter(random_builder *b) {
    mica_value x = exact_enough(b, MICA_SET_NUMBERS, 0);
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    random_windows r = pick_windows(b, type);
    mica_type source = *type;
    int32_t n = type->rank;
    for (int32_t i = 0; i < n; i++) {
        int64_t room = type->dims[i] + r.low[i] + r.high[i] - r.window[i];
        source.dims[i] = room < 0 ? 0 : room / r.strides[i] + 1;
    }
    return mica_select_and_scatter(b->g, x, random_of_type(b, &source),
                                   random_below(b, 2) ? "max" : "min", (mica_ints){r.window, n},
                                   (mica_ints){r.strides, n}, (mica_ints){r.low, n},
                                   (mica_ints){r.high, n});
}

/* One to three operands; results but the first join the pool here. */
static mica_value add_sort(random_builder *b) {
    mica_value x = pick_of(b, MICA_SET_NUMBERS, 1), operands[3] = {x}, out[3];
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    int32_t n = 1 + (int32_t)random_below(b, 3);
    for (int32_t i = 0; i < 3; i++) out[i] = MICA_NULL_VALUE;
    for (int32_t i = 1; i < n; i++) {
        mica_type other = *type;
        other.dtype = random_dtype(b, MICA_SET_ANY);
        operands[i] = random_of_type(b, &other);
    }
    mica_sort(b->g, operands, n, random_below(b, type->rank), 1 + random_below(b, n),
              random_below(b, 2), out);
    for (int32_t i = 1; i < n; i++) random_add(b, out[i]);
    return out[0];
}

static mica_value add_top_k(random_builder *b) {
    mica_value x = pick_of(b, MICA_SET_NUMBERS, 1), out[2] = {MICA_NULL_VALUE, MICA_NULL_VALUE};
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    mica_top_k(b->g, x, random_below(b, type->dims[type->rank - 1] + 1), out);
    random_add(b, out[1]);
    return out[0];
}

static mica_value add_rng_bits(random_builder *b) {
    mica_type key = mica_type_make(MICA_DTYPE_u32, MICA_INTS(2));
    mica_type counter = mica_type_make(MICA_DTYPE_u32, MICA_INTS(4));
    mica_type shape = random_type(b, random_below(b, 2) ? MICA_DTYPE_u32 : MICA_DTYPE_u64);
    return mica_rng_bits(b->g, random_of_type(b, &key), random_of_type(b, &counter),
                         dims_of(&shape), shape.dtype);
}

/* Parts of x along one of its axes, as many as there are participants. */
static mica_value add_reduce_scatter(random_builder *b, mica_value x, const char *kind) {
    const mica_type *type = mica_value_type(x);
    int64_t size = b->options->axis_size, order[MICA_MAX_RANK];
    shuffle(b, order, type->rank);
    for (int32_t i = 0; i < type->rank; i++)
        if (type->dims[order[i]] % size == 0)
            return mica_reduce_scatter(b->g, x, kind, b->options->axis_name, size, order[i]);
    mica_value all = mica_all_gather(b->g, x, b->options->axis_name, size, order[0]);
    return mica_reduce_scatter(b->g, all, kind, b->options->axis_name, size, order[0]);
}

static mica_value add_collective(random_builder *b, mica_op op) {
    static const char *const kinds[] = {"sum", "max", "min"};
    const char *axis = b->options->axis_name, *kind = kinds[random_below(b, 3)];
    int64_t size = b->options->axis_size, sources[MICA_MAX_RANK], targets[MICA_MAX_RANK];
    if (!axis) return MICA_NULL_VALUE;
    if (op == MICA_OP_axis_index) return mica_axis_index(b->g, axis);
    bool reduces = op == MICA_OP_all_reduce || op == MICA_OP_reduce_scatter;
    int32_t rank = op == MICA_OP_all_gather || op == MICA_OP_reduce_scatter;
    mica_value x =
        reduces ? exact_enough(b, MICA_SET_NUMBERS, rank) : pick_of(b, MICA_SET_ANY, rank);
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    switch (op) {
    case MICA_OP_all_reduce: return mica_all_reduce(b->g, x, kind, axis);
    case MICA_OP_all_gather:
        return mica_all_gather(b->g, x, axis, size, random_below(b, type->rank));
    case MICA_OP_reduce_scatter: return add_reduce_scatter(b, x, kind);
    case MICA_OP_broadcast_from:
        return mica_broadcast_from(b->g, x, axis, size, random_below(b, size));
    default: break;
    }
    int32_t n = (int32_t)random_below(b, size + 1);
    shuffle(b, sources, (int32_t)size);
    shuffle(b, targets, (int32_t)size);
    return mica_permute(b->g, x, axis, size, (mica_ints){sources, n}, (mica_ints){targets, n});
}

/* Matrices whose diagonal outweighs the rest and rises: far from singular, as symmetric ones
 * positive definite, and with distinct eigenvalues. Two of the given sizes at times. */
static mica_value dominant_matrices(random_builder *b, int64_t rows, int64_t columns) {
    mica_dtype dtype = random_dtype(b, MICA_SET_F32_F64);
    mica_type type = mica_type_make(dtype, MICA_INTS(rows, columns));
    if (random_below(b, 2)) type = mica_type_make(dtype, MICA_INTS(2, rows, columns));
    mica_value x = mica_tanh(b->g, source(b, &type));
    mica_value i = mica_iota(b->g, MICA_INTS(rows, columns), 0, dtype);
    mica_value j = mica_iota(b->g, MICA_INTS(rows, columns), 1, dtype);
    mica_value weight = mica_scalar(b->g, dtype, 2 * (double)(rows > columns ? rows : columns));
    mica_value diagonal = mica_convert(b->g, mica_compare(b->g, i, j, "eq"), dtype);
    diagonal = mica_mul(b->g, diagonal, mica_add(b->g, mica_mul(b->g, i, weight), weight));
    return mica_add(b->g, x, diagonal);
}

/* Every result but the first joins the pool here. */
static mica_value add_factors(random_builder *b, mica_op op) {
    int64_t rows = 1 + random_below(b, 4), columns = 1 + random_below(b, 4);
    bool square = op == MICA_OP_eigh || op == MICA_OP_eig;
    mica_value x = dominant_matrices(b, rows, square ? rows : columns);
    mica_value out[3] = {MICA_NULL_VALUE, MICA_NULL_VALUE, MICA_NULL_VALUE};
    switch (op) {
    case MICA_OP_lu: mica_lu(b->g, x, out); break;
    case MICA_OP_qr: mica_qr(b->g, x, random_below(b, 2), out); break;
    case MICA_OP_eigh: mica_eigh(b->g, x, out); break;
    case MICA_OP_eig: mica_eig(b->g, x, out); break;
    default: mica_svd(b->g, x, random_below(b, 2), out);
    }
    random_add(b, out[1]);
    random_add(b, out[2]);
    return out[0];
}

static mica_value add_linear_algebra(random_builder *b, mica_op op) {
    if (b->options->exact) return MICA_NULL_VALUE;
    if (op != MICA_OP_cholesky && op != MICA_OP_triangular_solve) return add_factors(b, op);
    int64_t n = 1 + random_below(b, 4), flags = random_below(b, 16);
    mica_value a = dominant_matrices(b, n, n);
    if (op == MICA_OP_cholesky) return mica_cholesky(b->g, a);
    if (!mica_value_type(a)) return MICA_NULL_VALUE;
    mica_type right = *mica_value_type(a);
    right.dims[right.rank - (flags & 1 ? 1 : 2)] = 1 + random_below(b, 3);
    return mica_triangular_solve(b->g, a, source(b, &right), flags & 1, flags >> 1 & 1,
                                 flags >> 2 & 1, flags >> 3);
}

/* There and back along one or two axes, by a path that the last axis' length allows. */
static mica_value add_fft(random_builder *b) {
    if (b->options->exact) return MICA_NULL_VALUE;
    mica_dtype dtype = random_dtype(b, MICA_SET_F32_F64);
    int64_t dims[] = {1 + random_below(b, 4), 1 + random_below(b, 6)};
    int32_t axes = 1 + (int32_t)random_below(b, 2);
    mica_type type = mica_type_make(dtype, (mica_ints){dims, 2});
    mica_ints lengths = {dims + 2 - axes, axes};
    mica_value x = mica_fft(b->g, mica_tanh(b->g, source(b, &type)), "rfft", lengths);
    const mica_type *half = mica_value_type(x);
    if (!half) return MICA_NULL_VALUE;
    int64_t short_dims[] = {dims[0], half->dims[1]};
    x = mica_fft(b->g, x, random_below(b, 2) ? "fft" : "ifft",
                 (mica_ints){short_dims + 2 - axes, axes});
    random_add(b, x);
    return mica_fft(b->g, x, "irfft", lengths);
}

static mica_value add_reduction(random_builder *b, mica_op op) {
    switch (op) {
    case MICA_OP_dot: return add_dot(b);
    case MICA_OP_conv: return add_conv(b);
    case MICA_OP_reduce: return add_reduce(b);
    case MICA_OP_argmax:
    case MICA_OP_argmin: return add_argmax(b, op);
    case MICA_OP_cumulative: return add_cumulative(b);
    case MICA_OP_reduce_window: return add_reduce_window(b);
    case MICA_OP_select_and_scatter: return add_select_and_scatter(b);
    case MICA_OP_sort: return add_sort(b);
    case MICA_OP_top_k: return add_top_k(b);
    case MICA_OP_rng_bits: return add_rng_bits(b);
    case MICA_OP_triangular_solve:
    case MICA_OP_cholesky:
    case MICA_OP_lu:
    case MICA_OP_qr:
    case MICA_OP_eigh:
    case MICA_OP_eig:
    case MICA_OP_svd: return add_linear_algebra(b, op);
    case MICA_OP_fft: return add_fft(b);
    default: return MICA_NULL_VALUE;
    }
}

/* ---- graphs ---------------------------------------------------------------------------------*/

static void add_node(random_builder *b, mica_op op) {
    mica_value value = MICA_NULL_VALUE;
    switch (mica_op_class_of(op)) {
    case MICA_CLASS_MAP: value = add_map(b, op); break;
    case MICA_CLASS_ELEMENTWISE: value = add_elementwise(b, op); break;
    case MICA_CLASS_SHAPE: value = add_move(b, op); break;
    case MICA_CLASS_CONTRACTION:
    case MICA_CLASS_REDUCTION:
    case MICA_CLASS_RANDOM:
    case MICA_CLASS_SEVERAL: value = add_reduction(b, op); break;
    case MICA_CLASS_COLLECTIVE: value = add_collective(b, op); break;
    case MICA_CLASS_CONTROL:
    case MICA_CLASS_HOST:
        if (!b->options->no_regions) random_region_node(b, op);
        return;
    }
    random_add(b, limit_size(b, value));
}

void random_fill(random_builder *b, int32_t n) {
    for (int32_t tries = 0; b->g && !b->g->error && tries < n; tries++)
        add_node(b, (mica_op)random_below(b, MICA_OP_COUNT));
}

/* Tensors that nothing uses become outputs. */
static void output_unused(mica_graph *g) {
    bool *used = calloc((size_t)g->n_nodes + 1, sizeof *used);
    for (int32_t i = 0; used && i < g->n_nodes; i++)
        for (int32_t k = 0; k < g->nodes[i]->n_operands; k++)
            used[g->nodes[i]->operands[k].node->id] = true;
    int32_t n_nodes = g->n_nodes;
    for (int32_t i = 0; used && i < n_nodes; i++)
        for (int32_t k = 0; !used[i] && k < g->nodes[i]->n_results; k++)
            if (g->nodes[i]->results[k].kind == MICA_TENSOR)
                mica_output(g, mica_node_result(g->nodes[i], k));
    free(used);
}

mica_graph *random_graph(const random_graph_options *options) {
    random_builder *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->options = options;
    b->state = options->seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
    mica_status_release(mica_graph_create("random", &b->g));
    mica_graph *g = b->g;
    random_fill(b, options->n_nodes);
    if (g && !g->error) output_unused(g);
    free(b);
    return g;
}

uint64_t random_seeds(uint64_t n) {
    return getenv("MICA_TEST_SOAK") ? 50 * n : n;
}

void random_data(uint64_t seed, const mica_type *type, void *bytes) {
    random_builder b = {.state = seed};
    mica_dtype part = mica_number_part(type->dtype);
    size_t size = mica_dtype_bytes(part), n = mica_type_bytes(type) / (size ? size : 1);
    for (size_t i = 0; i < n; i++) {
        int64_t kind = random_below(&b, 8);
        double value = kind == 0   ? 0
                       : kind == 1 ? 1
                       : kind < 5  ? (double)(random_below(&b, 15) - 7)
                                   : (double)random_below(&b, 1 << 20) / (1 << 18) - 2;
        mica_number_store(part, value, (char *)bytes + i * size);
    }
}
