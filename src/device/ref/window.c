/* cumulative, reduce_window and select_and_scatter. */
#include <string.h>

#include "device/ref/value.h"

mica_status ref_cumulative(const mica_node *n, ref_value *const *operands, ref_value **results) {
    const mica_type *x = &operands[0]->type;
    const char *kind = mica_node_string(n, "kind");
    int64_t axis = mica_node_int(n, "axis"), size = x->dims[axis];
    bool reverse = mica_node_int(n, "reverse") == 1, exclusive = mica_node_int(n, "exclusive") == 1;
    mica_type lines = *x;
    lines.dims[axis] = 1;
    int64_t index[MICA_MAX_RANK] = {0};
    for (int64_t i = 0, end = mica_type_elements(&lines); i < end;
         i++, ref_advance(&lines, index)) {
        ref_number total = ref_reduce_start(kind, x->dtype);
        for (int64_t j = 0; j < size; j++) {
            int64_t at[MICA_MAX_RANK];
            memcpy(at, index, sizeof at);
            at[axis] = reverse ? size - 1 - j : j;
            int64_t position = ref_position(x, at);
            ref_number before = total;
            total = ref_reduce_step(kind, x->dtype, total,
                                    ref_load(x->dtype, operands[0]->data, position));
            ref_store(x->dtype, results[0]->data, position, exclusive ? before : total);
        }
    }
    return NULL;
}

/* The position in x of element w of window i; false when there is no element of x. The dilations
 * of a node without them are 1. */
static bool find_place(const mica_node *n, const mica_type *x, const int64_t *i, const int64_t *w,
                       int64_t *out_position) {
    bool dilated = n->op == MICA_OP_reduce_window;
    int64_t at[MICA_MAX_RANK];
    for (int32_t k = 0; k < x->rank; k++) {
        int64_t base = dilated ? mica_node_ints(n, "base_dilation").data[k] : 1;
        int64_t apart = dilated ? mica_node_ints(n, "window_dilation").data[k] : 1;
        int64_t place = i[k] * mica_node_ints(n, "strides").data[k] + w[k] * apart -
                        mica_node_ints(n, "low").data[k];
        if (place < 0 || place % base || place / base >= x->dims[k]) return false;
        at[k] = place / base;
    }
    *out_position = ref_position(x, at);
    return true;
}

static mica_type window_type(const mica_node *n) {
    mica_ints window = mica_node_ints(n, "window");
    mica_type type = {.kind = MICA_TENSOR, .rank = window.n};
    for (int32_t k = 0; k < window.n; k++) type.dims[k] = window.data[k];
    return type;
}

mica_status ref_reduce_window(const mica_node *n, ref_value *const *operands, ref_value **results) {
    const mica_type *x = &operands[0]->type, *y = &results[0]->type;
    const char *kind = mica_node_string(n, "kind");
    mica_type window = window_type(n);
    int64_t index[MICA_MAX_RANK] = {0}, position;
    for (int64_t i = 0, end = mica_type_elements(y); i < end; i++, ref_advance(y, index)) {
        ref_number total = ref_reduce_start(kind, x->dtype);
        int64_t w[MICA_MAX_RANK] = {0};
        for (int64_t j = 0, j_end = mica_type_elements(&window); j < j_end;
             j++, ref_advance(&window, w))
            if (find_place(n, x, index, w, &position))
                total = ref_reduce_step(kind, x->dtype, total,
                                        ref_load(x->dtype, operands[0]->data, position));
        ref_store(y->dtype, results[0]->data, i, total);
    }
    return NULL;
}

/* The position that window `index` selects; -1 when it is all padding. */
static int64_t selected(const mica_node *n, const ref_value *x, const mica_type *window,
                        const int64_t *index) {
    int sign = !strcmp(mica_node_string(n, "select"), "max") ? 1 : -1;
    ref_number best = {0};
    int64_t w[MICA_MAX_RANK] = {0}, position, place = -1;
    for (int64_t j = 0, j_end = mica_type_elements(window); j < j_end;
         j++, ref_advance(window, w)) {
        if (!find_place(n, &x->type, index, w, &position)) continue;
        ref_number value = ref_load(x->type.dtype, x->data, position);
        if (place >= 0 && !ref_beats(x->type.dtype, value, best, sign)) continue;
        best = value;
        place = position;
    }
    return place;
}

/* Floats are summed in f64, and rounded once. */
mica_status ref_select_and_scatter(const mica_node *n, ref_value *const *operands,
                                   ref_value **results) {
    const mica_type *x = &operands[0]->type, *source = &operands[1]->type;
    mica_type window = window_type(n), sums = *x;
    if (mica_dtype_kind_of(x->dtype) == MICA_KIND_FLOAT) sums.dtype = MICA_DTYPE_f64;
    ref_value *total;
    MICA_TRY(ref_value_create(&sums, &total));
    for (int64_t i = 0, end = mica_type_elements(x); i < end; i++)
        ref_store(sums.dtype, total->data, i, (ref_number){0});
    int64_t index[MICA_MAX_RANK] = {0};
    for (int64_t i = 0, end = mica_type_elements(source); i < end;
         i++, ref_advance(source, index)) {
        int64_t place = selected(n, operands[0], &window, index);
        if (place < 0) continue;
        ref_number before = ref_load(sums.dtype, total->data, place);
        ref_number number = ref_load(x->dtype, operands[1]->data, i);
        ref_store(sums.dtype, total->data, place, ref_reduce_step("sum", x->dtype, before, number));
    }
    for (int64_t i = 0, end = mica_type_elements(x); i < end; i++)
        ref_store(x->dtype, results[0]->data, i, ref_load(sums.dtype, total->data, i));
    ref_value_release(total);
    return NULL;
}
