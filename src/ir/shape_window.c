/* Shape rules of running reductions and of windows. */
#include <string.h>

#include "ir/shape.h"
#include "ir/window_layout.h"

MICA_SHAPE_RULE(cumulative);
MICA_SHAPE_RULE(reduce_window);
MICA_SHAPE_RULE(select_and_scatter);

#define MOST_STEP INT32_MAX             /* of a window, stride or dilation */
#define MOST_PADDING (INT64_C(1) << 61) /* of low and high: no sum of these overflows */

static mica_status check_kind(const mica_node *n) {
    const char *kind = mica_node_string(n, "kind");
    const mica_type *x = mica_operand_type(n, 0);
    if (!strcmp(kind, "sum") || !strcmp(kind, "prod")) return NULL;
    if (!strcmp(kind, "max") || !strcmp(kind, "min")) {
        if (mica_dtype_kind_of(x->dtype) != MICA_KIND_COMPLEX) return NULL;
        return SHAPE_INVALID(n, "%s has no order for '%s'", mica_type_text(x).chars, kind);
    }
    return SHAPE_INVALID(n, "kind '%s' is none of sum prod max min", kind);
}

MICA_SHAPE_RULE(cumulative) {
    MICA_TRY(check_kind(n));
    MICA_TRY(shape_axis(n, mica_node_int(n, "axis"), mica_operand_type(n, 0)));
    MICA_TRY(shape_flag(n, "reverse"));
    MICA_TRY(shape_flag(n, "exclusive"));
    return shape_result(g, n, mica_operand_type(n, 0));
}

/* ---- windows ----------------------------------------------------------------------------------*/

mica_windows mica_windows_of(const mica_node *n) {
    const mica_type *x = mica_operand_type(n, 0);
    const mica_type *y = n->op == MICA_OP_reduce_window ? n->results : mica_operand_type(n, 1);
    bool dilated = n->op == MICA_OP_reduce_window;
    mica_windows windows = {.rank = x->rank};
    for (int32_t i = 0; i < x->rank; i++)
        windows.axes[i] = (mica_window_axis){
            .size = x->dims[i],
            .window = mica_node_ints(n, "window").data[i],
            .stride = mica_node_ints(n, "strides").data[i],
            .low = mica_node_ints(n, "low").data[i],
            .high = mica_node_ints(n, "high").data[i],
            .base_dilation = dilated ? mica_node_ints(n, "base_dilation").data[i] : 1,
            .window_dilation = dilated ? mica_node_ints(n, "window_dilation").data[i] : 1,
            .results = y ? y->dims[i] : 0};
    return windows;
}

mica_windows mica_windows_of_cumulative(const mica_node *n) {
    const mica_type *x = mica_operand_type(n, 0);
    int64_t axis = mica_node_int(n, "axis"), size = x->dims[axis];
    bool reverse = mica_node_int(n, "reverse") == 1;
    int64_t shift = mica_node_int(n, "exclusive"); /* before x[i], or behind it */
    mica_windows windows = {.rank = x->rank};
    for (int32_t i = 0; i < x->rank; i++)
        windows.axes[i] = (mica_window_axis){.size = x->dims[i],
                                             .window = 1,
                                             .stride = 1,
                                             .base_dilation = 1,
                                             .window_dilation = 1,
                                             .results = x->dims[i]};
    windows.axes[axis].window = size;
    windows.axes[axis].low = reverse ? -shift : size - 1 + shift;
    windows.axes[axis].high = reverse ? size - 1 + shift : -shift;
    return windows;
}

static mica_status check_axis(const mica_node *n, mica_window_axis *a) {
    const mica_type *x = mica_operand_type(n, 0);
    const int64_t steps[] = {a->window, a->stride, a->base_dilation, a->window_dilation};
    for (int32_t i = 0; i < 4; i++)
        if (steps[i] < 1 || steps[i] > MOST_STEP)
            return SHAPE_INVALID(n, "windows, strides and dilations must be 1 to %lld, not %lld",
                                 (long long)MOST_STEP, (long long)steps[i]);
    if (a->low > MOST_PADDING || a->high > MOST_PADDING || a->low < -MOST_PADDING ||
        a->high < -MOST_PADDING)
        return SHAPE_INVALID(n, "a padding of %lld or %lld is too large", (long long)a->low,
                             (long long)a->high);
    int64_t room = 0; /* from the first element to the last */
    if (a->size > 0 &&
        (__builtin_mul_overflow(a->size - 1, a->base_dilation, &room) || room >= MOST_PADDING))
        return SHAPE_INVALID(n, "%s with a dilation of %lld is too large", mica_dims_text(x).chars,
                             (long long)a->base_dilation);
    if (a->size > 0) room++;
    room += a->low + a->high;
    int64_t extent = mica_window_extent(a);
    a->results = room < extent ? 0 : (room - extent) / a->stride + 1;
    return NULL;
}

static mica_status check_windows(const mica_node *n, const char *const *names, int32_t n_names,
                                 mica_type *out_type) {
    const mica_type *x = mica_operand_type(n, 0);
    for (int32_t i = 0; i < n_names; i++) MICA_TRY(shape_length(n, names[i], x->rank));
    mica_windows windows = mica_windows_of(n);
    *out_type = *x;
    for (int32_t i = 0; i < x->rank; i++) {
        MICA_TRY(check_axis(n, &windows.axes[i]));
        out_type->dims[i] = windows.axes[i].results;
    }
    return NULL;
}

MICA_SHAPE_RULE(reduce_window) {
    static const char *const names[] = {"window", "strides",       "low",
                                        "high",   "base_dilation", "window_dilation"};
    mica_type type;
    MICA_TRY(check_kind(n));
    MICA_TRY(check_windows(n, names, 6, &type));
    return shape_result(g, n, &type);
}

MICA_SHAPE_RULE(select_and_scatter) {
    static const char *const names[] = {"window", "strides", "low", "high"};
    const mica_type *x = mica_operand_type(n, 0), *source = mica_operand_type(n, 1);
    const char *select = mica_node_string(n, "select");
    mica_type type;
    if (strcmp(select, "max") && strcmp(select, "min"))
        return SHAPE_INVALID(n, "select '%s' is neither max nor min", select);
    if (source->dtype != x->dtype || source->rank != x->rank)
        return SHAPE_INVALID(n, "the source %s does not go with %s", mica_type_text(source).chars,
                             mica_type_text(x).chars);
    MICA_TRY(check_windows(n, names, 4, &type));
    if (!mica_type_equal(&type, source))
        return SHAPE_INVALID(n, "the source %s must be one number per window of %s: %s",
                             mica_type_text(source).chars, mica_type_text(x).chars,
                             mica_type_text(&type).chars);
    return shape_result(g, n, x);
}
