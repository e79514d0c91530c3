/* gather and scatter: every element of the array of windows is found by where it lies in x. */
#include <string.h>

#include "device/ref/value.h"

typedef struct indexing {
    mica_ints window, dropped, operand_batch, indices_batch, map;
    int64_t vector_dim;
    bool fill;
    const mica_type *x;
    const ref_value *indices;
    int64_t sizes[MICA_MAX_RANK]; /* of a window, along the axes of x */
} indexing;

static bool have(mica_ints ints, int64_t value) {
    bool found = false;
    for (int32_t i = 0; i < ints.n; i++) found |= ints.data[i] == value;
    return found;
}

/* The sizes of a window are those of the windows' array along its window axes; 1 elsewhere. */
static void find_sizes(indexing *s, const mica_type *windows) {
    int32_t next = 0;
    for (int32_t k = 0; k < s->x->rank; k++) {
        bool absent = have(s->dropped, k) || have(s->operand_batch, k);
        s->sizes[k] = absent ? 1 : windows->dims[s->window.data[next++]];
    }
}

/* Entry k of the index vector at `place`, as a start along an axis; false: out of bounds. */
static bool find_start(const indexing *s, int64_t *place, int32_t k, int64_t *out) {
    const mica_type *type = &s->indices->type;
    int64_t highest = s->x->dims[s->map.data[k]] - s->sizes[s->map.data[k]];
    if (s->vector_dim < type->rank) place[s->vector_dim] = k;
    ref_number number = ref_load(type->dtype, s->indices->data, ref_position(type, place));
    bool negative = mica_dtype_kind_of(type->dtype) == MICA_KIND_SIGNED && (int64_t)number.bits < 0;
    bool above = !negative && number.bits > (uint64_t)highest;
    *out = negative ? 0 : above ? highest : (int64_t)number.bits;
    return !s->fill || (!negative && !above);
}

/* Where element `index` of the windows' array lies in x; false: its window is out of bounds. */
static bool find_element(const indexing *s, const mica_type *windows, const int64_t *index,
                         int64_t *out_position) {
    int64_t place[MICA_MAX_RANK] = {0}, at[MICA_MAX_RANK] = {0};
    int32_t place_axis = 0, x_axis = 0;
    for (int32_t k = 0; k < windows->rank; k++) {
        if (have(s->window, k)) {
            while (have(s->dropped, x_axis) || have(s->operand_batch, x_axis)) x_axis++;
            at[x_axis++] = index[k];
        } else {
            if (place_axis == s->vector_dim) place_axis++;
            place[place_axis++] = index[k];
        }
    }
    for (int32_t k = 0; k < s->operand_batch.n; k++)
        at[s->operand_batch.data[k]] = place[s->indices_batch.data[k]];
    for (int32_t k = 0; k < s->map.n; k++) {
        int64_t start;
        if (!find_start(s, place, k, &start)) return false;
        at[s->map.data[k]] += start;
    }
    *out_position = ref_position(s->x, at);
    return true;
}

static indexing indexing_of(const mica_node *n, const mica_type *x, const ref_value *indices,
                            const char *window, const char *dropped, const char *map) {
    return (indexing){.window = mica_node_ints(n, window),
                      .dropped = mica_node_ints(n, dropped),
                      .operand_batch = mica_node_ints(n, "operand_batch_dims"),
                      .indices_batch = mica_node_ints(n, "indices_batch_dims"),
                      .map = mica_node_ints(n, map),
                      .vector_dim = mica_node_int(n, "index_vector_dim"),
                      .fill = !strcmp(mica_node_string(n, "mode"), "fill"),
                      .x = x,
                      .indices = indices};
}

mica_status ref_gather(const mica_node *n, ref_value *const *operands, ref_value **results) {
    const mica_type *x = &operands[0]->type, *y = &results[0]->type;
    indexing s = indexing_of(n, x, operands[1], "offset_dims", "collapsed_dims", "start_map");
    find_sizes(&s, y);
    int64_t index[MICA_MAX_RANK] = {0}, from;
    for (int64_t i = 0, end = mica_type_elements(y); i < end; i++, ref_advance(y, index)) {
        if (find_element(&s, y, index, &from))
            ref_copy_element(y->dtype, results[0]->data, i, operands[0]->data, from);
        else
            ref_store(y->dtype, results[0]->data, i, (ref_number){0});
    }
    return NULL;
}

static ref_number combine(const char *kind, mica_dtype dtype, ref_number a, ref_number b) {
    bool is_float = mica_dtype_kind_of(dtype) == MICA_KIND_FLOAT;
    int sign = !strcmp(kind, "max") ? 1 : -1;
    if (!strcmp(kind, "add")) return ref_reduce_step("sum", dtype, a, b);
    if (!strcmp(kind, "mul")) return ref_product(dtype, a, b);
    if (is_float) return ref_from_double(ref_extreme(a.real, b.real, sign));
    return ref_order(dtype, a, b) == sign ? a : b;
}

/* One index vector after the other: the outer walk is over the positions, the inner one over the
 * elements of a window. */
mica_status ref_scatter(const mica_node *n, ref_value *const *operands, ref_value **results) {
    const mica_type *x = &operands[0]->type, *updates = &operands[2]->type;
    const char *kind = mica_node_string(n, "kind");
    indexing s =
        indexing_of(n, x, operands[1], "update_window_dims", "inserted_window_dims", "scatter_map");
    find_sizes(&s, updates);
    memcpy(results[0]->data, operands[0]->data, mica_type_bytes(x));
    mica_type outer = {.kind = MICA_TENSOR, .rank = updates->rank}, inner = outer;
    for (int32_t k = 0; k < updates->rank; k++) {
        bool inside = have(s.window, k);
        outer.dims[k] = inside ? 1 : updates->dims[k];
        inner.dims[k] = inside ? updates->dims[k] : 1;
    }
    int64_t position[MICA_MAX_RANK] = {0};
    for (int64_t i = 0, end = mica_type_elements(&outer); i < end;
         i++, ref_advance(&outer, position)) {
        int64_t offset[MICA_MAX_RANK] = {0}, index[MICA_MAX_RANK], to;
        for (int64_t j = 0, j_end = mica_type_elements(&inner); j < j_end;
             j++, ref_advance(&inner, offset)) {
            for (int32_t k = 0; k < updates->rank; k++) index[k] = position[k] + offset[k];
            if (!find_element(&s, updates, index, &to)) continue;
            int64_t from = ref_position(updates, index);
            if (!strcmp(kind, "set"))
                ref_copy_element(x->dtype, results[0]->data, to, operands[2]->data, from);
            else
                ref_store(x->dtype, results[0]->data, to,
                          combine(kind, x->dtype, ref_load(x->dtype, results[0]->data, to),
                                  ref_load(x->dtype, operands[2]->data, from)));
        }
    }
    return NULL;
}
