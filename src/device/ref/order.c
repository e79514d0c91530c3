/* sort and top_k: a merge sort of the indices of each line, by comparing elements. */
#include <math.h>
#include <string.h>

#include "device/ref/value.h"

/* -1, 0 or 1; NaN is above all numbers and equal to NaN. */
static int compare_reals(double a, double b) {
    if (isnan(a) || isnan(b)) return (isnan(a) != 0) - (isnan(b) != 0);
    return (a > b) - (a < b);
}

static int compare_elements(const ref_value *x, int64_t i, int64_t j) {
    mica_dtype dtype = x->type.dtype;
    ref_number a = ref_load(dtype, x->data, i), b = ref_load(dtype, x->data, j);
    mica_dtype_kind kind = mica_dtype_kind_of(dtype);
    if (kind != MICA_KIND_FLOAT && kind != MICA_KIND_COMPLEX) return ref_order(dtype, a, b);
    int order = compare_reals(a.real, b.real);
    return order || kind == MICA_KIND_FLOAT ? order : compare_reals(a.imaginary, b.imaginary);
}

/* A line along an axis: element i is at first + i * step, in every operand. */
typedef struct line {
    ref_value *const *keys;
    int64_t n_keys;
    bool descending;
    int64_t first, step, size;
} line;

static int compare_places(const line *l, int64_t i, int64_t j) {
    for (int64_t k = 0; k < l->n_keys; k++) {
        int order = compare_elements(l->keys[k], l->first + i * l->step, l->first + j * l->step);
        if (order) return l->descending ? -order : order;
    }
    return 0;
}

/* order[0 .. n-1] = 0 .. n-1 sorted; `other` has room for as many. */
static void sort_line(const line *l, int64_t *order, int64_t *other) {
    for (int64_t i = 0; i < l->size; i++) order[i] = i;
    for (int64_t width = 1; width < l->size; width *= 2) {
        for (int64_t begin = 0; begin < l->size; begin += 2 * width) {
            int64_t middle = begin + width < l->size ? begin + width : l->size;
            int64_t end = middle + width < l->size ? middle + width : l->size;
            int64_t left = begin, right = middle;
            for (int64_t i = begin; i < end; i++) {
                bool take_left =
                    right == end ||
                    (left < middle && compare_places(l, order[left], order[right]) <= 0);
                other[i] = take_left ? order[left++] : order[right++];
            }
        }
        memcpy(order, other, (size_t)l->size * sizeof *order);
    }
}

/* Calls put(n, operands, results, line, number of the line, order) for every line. */
typedef void (*put_line)(const mica_node *n, ref_value *const *operands, ref_value **results,
                         const line *l, int64_t number, const int64_t *order);

static mica_status sort_lines(const mica_node *n, ref_value *const *operands, ref_value **results,
                              line l, int64_t axis, put_line put) {
    const mica_type *x = &operands[0]->type;
    l.size = x->dims[axis];
    l.step = 1;
    for (int64_t k = axis + 1; k < x->rank; k++) l.step *= x->dims[k];
    int64_t *order = mica_alloc((size_t)(2 * l.size + 1) * sizeof *order);
    if (!order) return MICA_NO_MEMORY();
    int64_t lines = l.size ? mica_type_elements(x) / l.size : 0;
    for (int64_t i = 0; i < lines; i++) {
        l.first = i / l.step * l.size * l.step + i % l.step;
        sort_line(&l, order, order + l.size);
        put(n, operands, results, &l, i, order);
    }
    mica_free(order);
    return NULL;
}

static void put_sorted(const mica_node *n, ref_value *const *operands, ref_value **results,
                       const line *l, int64_t number, const int64_t *order) {
    (void)number;
    for (int32_t k = 0; k < n->n_operands; k++)
        for (int64_t i = 0; i < l->size; i++)
            ref_copy_element(operands[k]->type.dtype, results[k]->data, l->first + i * l->step,
                             operands[k]->data, l->first + order[i] * l->step);
}

mica_status ref_sort(const mica_node *n, ref_value *const *operands, ref_value **results) {
    line l = {.keys = operands,
              .n_keys = mica_node_int(n, "keys"),
              .descending = mica_node_int(n, "descending") == 1};
    return sort_lines(n, operands, results, l, mica_node_int(n, "axis"), put_sorted);
}

static void put_largest(const mica_node *n, ref_value *const *operands, ref_value **results,
                        const line *l, int64_t number, const int64_t *order) {
    int64_t k = mica_node_int(n, "k");
    for (int64_t i = 0; i < k; i++) {
        ref_copy_element(operands[0]->type.dtype, results[0]->data, number * k + i,
                         operands[0]->data, l->first + order[i]);
        ref_store(MICA_DTYPE_i32, results[1]->data, number * k + i,
                  ref_from_bits((uint64_t)order[i]));
    }
}

mica_status ref_top_k(const mica_node *n, ref_value *const *operands, ref_value **results) {
    line l = {.keys = operands, .n_keys = 1, .descending = true};
    return sort_lines(n, operands, results, l, operands[0]->type.rank - 1, put_largest);
}
