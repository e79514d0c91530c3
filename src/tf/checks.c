/* What TensorFlow refuses because of the values of integers: places beyond the end, division by
 * zero, negative powers. An op that runs by itself is checked before. Inside a program on the
 * CPU the integers are checked where they are: an input before the run, what is computed on the
 * way as one more result after it, so that kernels have nothing to test. Such places read as zeros
 * and are not written, the quotients are what the processor gives.
 *
 * Out of a branch comes what was used in it, or 0 where it was not taken; out of a loop the first
 * that is refused, else the last. */
#include <stdio.h>
#include <string.h>

#include "base/strings.h"
#include "tf/tf.h"

/* More than these are not checked. */
enum { MOST_CHECKED = 1 << 20 };

/* ---- which ------------------------------------------------------------------------------------*/

bool mica_tf_checks_values(mica_tf_op op) {
    switch (op) {
    case MICA_TF_GatherV2:
    case MICA_TF_GatherNd:
    case MICA_TF_ScatterNd:
    case MICA_TF_TensorScatterAdd:
    case MICA_TF_TensorScatterSub:
    case MICA_TF_TensorScatterMax:
    case MICA_TF_TensorScatterMin:
    case MICA_TF_TensorScatterUpdate:
    case MICA_TF_UnsortedSegmentSum:
    case MICA_TF_UnsortedSegmentMax:
    case MICA_TF_UnsortedSegmentMin:
    case MICA_TF_UnsortedSegmentProd:
    case MICA_TF_ReadElement:
    case MICA_TF_WriteElement:
    case MICA_TF_SparseSoftmaxCrossEntropyWithLogits:
    case MICA_TF_FloorDiv:
    case MICA_TF_FloorMod:
    case MICA_TF_TruncateDiv:
    case MICA_TF_TruncateMod:
    case MICA_TF_Pow: return true;
    default: return false;
    }
}

static int32_t checked_input(mica_tf_op op) {
    return op == MICA_TF_ScatterNd ? 0 : 1;
}

static void one_bound(mica_tf_bounds *b, int64_t low, int64_t high) {
    b->width = 1;
    b->low[0] = low;
    b->high[0] = high;
}

/* Each vector along the last axis is a place in a tensor of this shape. */
static bool coordinate_bounds(mica_tf_bounds *b, const mica_type *integers) {
    int64_t width = integers->rank ? integers->dims[integers->rank - 1] : 0;
    if (width > b->shape.rank || width == 0) return false; /* the shape function's to say */
    b->width = (int32_t)width;
    for (int32_t i = 0; i < b->width; i++) b->high[i] = b->shape.dims[i];
    return true;
}

/* `x` is the type of input 0, `third` the value of input 2 where the op has it as a shape operand.
 * false: nothing is refused. */
static bool find_bounds(mica_tf_op op, const mica_type *x, const mica_type *integers,
                        const int64_t *third, int32_t n_third, mica_tf_bounds *b) {
    mica_dtype_kind kind = mica_dtype_kind_of(integers->dtype);
    int64_t axis, n = mica_type_elements(integers);
    memset(b, 0, sizeof *b);
    b->op = op;
    b->shape = mica_tf_shape_of(x);
    if (kind != MICA_KIND_SIGNED && kind != MICA_KIND_UNSIGNED) return false;
    if (n == 0 || n > MOST_CHECKED) return false;
    switch (op) {
    case MICA_TF_GatherV2:
        axis = n_third == 1 ? third[0] + (third[0] < 0) * x->rank : -1;
        if (axis < 0 || axis >= x->rank) return false; /* the shape function's to say */
        one_bound(b, 0, x->dims[axis]);
        return true;
    case MICA_TF_ScatterNd:
        if (n_third > MICA_MAX_RANK) return false;
        b->shape.rank = n_third;
        for (int32_t i = 0; i < n_third; i++) b->shape.dims[i] = third[i];
        return coordinate_bounds(b, integers);
    case MICA_TF_GatherNd:
    case MICA_TF_TensorScatterAdd:
    case MICA_TF_TensorScatterSub:
    case MICA_TF_TensorScatterMax:
    case MICA_TF_TensorScatterMin:
    case MICA_TF_TensorScatterUpdate: return coordinate_bounds(b, integers);
    case MICA_TF_UnsortedSegmentSum:
    case MICA_TF_UnsortedSegmentMax:
    case MICA_TF_UnsortedSegmentMin:
    case MICA_TF_UnsortedSegmentProd: /* negative ones are left out */
        one_bound(b, INT64_MIN, n_third == 1 ? third[0] : INT64_MAX);
        return true;
    case MICA_TF_ReadElement:
    case MICA_TF_WriteElement: one_bound(b, 0, x->rank ? x->dims[0] : 0); return x->rank > 0;
    case MICA_TF_SparseSoftmaxCrossEntropyWithLogits:
        one_bound(b, 0, x->rank == 2 ? x->dims[1] : 0);
        return x->rank == 2;
    case MICA_TF_Pow: one_bound(b, 0, INT64_MAX); return kind == MICA_KIND_SIGNED;
    default: return true; /* a divisor */
    }
}

/* ---- checking ---------------------------------------------------------------------------------*/

typedef struct integers {
    const mica_type *type;
    const void *data;
} integers;

static int64_t integer_at(const integers *x, int64_t i) {
    switch (x->type->dtype) {
    case MICA_DTYPE_u8: return ((const uint8_t *)x->data)[i];
    case MICA_DTYPE_u16: return ((const uint16_t *)x->data)[i];
    case MICA_DTYPE_u32: return ((const uint32_t *)x->data)[i];
    default: break;
    }
    switch (mica_dtype_bytes(x->type->dtype)) {
    case 1: return ((const int8_t *)x->data)[i];
    case 2: return ((const int16_t *)x->data)[i];
    case 4: return ((const int32_t *)x->data)[i];
    default: return ((const int64_t *)x->data)[i];
    }
}

/* "[1,0]" of the i-th element, nothing for a scalar. */
static mica_tf_text place_text(const mica_type *type, int64_t i) {
    mica_tf_text text = {""};
    mica_tf_shape place = {.rank = type->rank};
    for (int32_t k = type->rank; k-- > 0; i /= type->dims[k]) place.dims[k] = i % type->dims[k];
    return type->rank ? mica_tf_shape_text(&place) : text;
}

static mica_tf_text vector_text(const integers *x, int64_t first, int32_t n) {
    mica_tf_text text = {"["};
    size_t used = 1;
    for (int32_t i = 0; i < n && used < sizeof text.chars - 32; i++)
        used += (size_t)snprintf(text.chars + used, sizeof text.chars - used, i ? ", %lld" : "%lld",
                                 (long long)integer_at(x, first + i));
    snprintf(text.chars + used, sizeof text.chars - used, "]");
    return text;
}

static mica_status refused(const mica_tf_bounds *b, const integers *x, int64_t i) {
    const char *op = mica_tf_op_describe(b->op)->name;
    int32_t k = b->width ? (int32_t)(i % b->width) : 0;
    long long value = integer_at(x, i), high = b->high[k];
    switch (b->op) {
    case MICA_TF_GatherV2:
        return MICA_INVALID("[%s] indices%s = %lld is not in [0, %lld)", op,
                            place_text(x->type, i).chars, value, high);
    case MICA_TF_UnsortedSegmentSum:
    case MICA_TF_UnsortedSegmentMax:
    case MICA_TF_UnsortedSegmentMin:
    case MICA_TF_UnsortedSegmentProd:
        return MICA_INVALID("[%s] segment_ids%s = %lld is out of range [0, %lld)", op,
                            place_text(x->type, i).chars, value, high);
    case MICA_TF_StridedSlice:
        return MICA_INVALID("[%s] slice index %lld of dimension %d out of bounds.", op,
                            value < 0 ? value + high : value, b->axes[k]);
    case MICA_TF_ReadElement:
        return MICA_INVALID("[%s] Trying to access element %lld in a list with %lld elements.", op,
                            value, high);
    case MICA_TF_WriteElement:
        return MICA_INVALID("[%s] Trying to modify element %lld in a list with %lld elements.", op,
                            value, high);
    case MICA_TF_SparseSoftmaxCrossEntropyWithLogits:
        return MICA_INVALID("[%s] Received a label value of %lld which is outside the valid range "
                            "of [0, %lld): label%s",
                            op, value, high, place_text(x->type, i).chars);
    case MICA_TF_Pow:
        return MICA_INVALID("[%s] Integers to negative integer powers are not allowed", op);
    default: break;
    }
    if (!b->width) return MICA_INVALID("[%s] Integer division by zero", op);
    return MICA_INVALID("[%s] indices[%lld] = %s does not index into %sshape %s", op,
                        (long long)(i / b->width), vector_text(x, i - k, b->width).chars,
                        b->op == MICA_TF_GatherNd ? "param " : "",
                        mica_tf_shape_text(&b->shape).chars);
}

/* Whether nothing is refused, for the usual case and without a branch in it; false: find out which.
 */
static bool all_within(const mica_tf_bounds *b, const integers *x, int64_t n) {
    if (b->width != 1 || b->low[0] != 0) return false;
    uint64_t high = b->high[0] < 0 ? 0 : (uint64_t)b->high[0], bad = 0;
    if (x->type->dtype == MICA_DTYPE_i32)
        for (int64_t i = 0; i < n; i++)
            bad |= (uint64_t)(int64_t)((const int32_t *)x->data)[i] >= high;
    else if (x->type->dtype == MICA_DTYPE_i64)
        for (int64_t i = 0; i < n; i++) bad |= (uint64_t)((const int64_t *)x->data)[i] >= high;
    else
        return false;
    return !bad;
}

mica_status mica_tf_bounds_check(const mica_tf_bounds *b, mica_tensor *tensor) {
    integers x = {.type = mica_tensor_type(tensor)};
    mica_status status = NULL;
    int64_t n = mica_type_elements(x.type);
    mica_tf_value value = mica_tf_value_of(tensor);
    MICA_TRY(mica_tf_open(value, &x.data));
    if (all_within(b, &x, n)) n = 0;
    for (int64_t i = 0; i < n && !status; i++) {
        int64_t element = integer_at(&x, i);
        int32_t k = b->width > 1 ? (int32_t)(i % b->width) : 0;
        bool bad = b->width ? element < b->low[k] || element >= b->high[k] : element == 0;
        if (bad) status = refused(b, &x, i);
    }
    mica_tf_close(value);
    return status;
}

mica_status mica_tf_check_values(mica_tf_op op, const mica_tf_op_info *info,
                                 const mica_tf_value *inputs) {
    mica_tensor *checked = inputs[checked_input(op)].object;
    int64_t third[MICA_MAX_RANK * 4];
    int32_t n = 0;
    mica_tf_bounds b;
    if (info->roles[0] && info->roles[1] && info->roles[2] == 's')
        MICA_TRY(mica_tf_tensor_ints(inputs[2].object, third, MICA_MAX_RANK * 4, &n));
    if (!find_bounds(op, mica_tensor_type(inputs[0].object), mica_tensor_type(checked), third, n,
                     &b))
        return NULL;
    return mica_tf_bounds_check(&b, checked);
}

/* ---- inside a program -------------------------------------------------------------------------*/

/* The tensor that an input is a constant of, through the calls that it came by; or NULL. */
static mica_tensor *constant_of(const mica_tf_frame *frame, mica_tf_ref ref) {
    for (;;) {
        const mica_tf_node *node = mica_tf_node_of(frame->graph, ref);
        if (node->operation && node->operation->op == MICA_TF_Const)
            return mica_tf_attr_find(node->operation->info, node->operation->attrs, "value")
                ->as.value.object;
        if (node->operation || !frame->caller) return NULL;
        int32_t i = 0;
        while (frame->graph->parameters[i].node != ref.node) i++;
        ref = frame->operands[i];
        frame = frame->caller;
    }
}

static void append(mica_tf_session *session, mica_graph *g, mica_value value,
                   const mica_tf_bounds *b) {
    mica_tf_check *check = mica_arena_alloc(&session->arena, sizeof *check);
    if (!check) {
        mica_graph_fail(g, MICA_NO_MEMORY());
        return;
    }
    *check = (mica_tf_check){.next = session->checks, .g = g, .value = value, .bounds = *b};
    session->checks = check; /* the last comes first */
}

void mica_tf_lower_check(mica_tf_lowering *c, int32_t input, const mica_tf_bounds *b) {
    if (!c->session->checks_bounds || !c->inputs[input].node) return;
    mica_tensor *constant = c->frame && c->refs ? constant_of(c->frame, c->refs[input]) : NULL;
    if (!constant) {
        append(c->session, c->g, c->inputs[input], b);
        return;
    }
    mica_status status = mica_tf_bounds_check(b, constant);
    if (status) mica_graph_fail(c->g, status);
}

void mica_tf_lower_checks(mica_tf_lowering *c) {
    mica_tf_op op = c->operation->op;
    if (!c->session->checks_bounds || !mica_tf_checks_values(op)) return;
    if (op == MICA_TF_ReadElement && mica_tf_lowering_int(c, "inside")) return;
    int32_t input = checked_input(op), n = 0;
    int64_t third[MICA_MAX_RANK * 4];
    const mica_type *x = mica_tf_type(c, 0), *type = mica_tf_type(c, input);
    mica_tf_bounds b;
    if (!x || !type) return;
    if (c->n_inputs > 2 && mica_tf_operation_role(c->operation, 2) == 's' &&
        !mica_tf_constant_ints(c, 2, third, &n))
        return;
    if (find_bounds(op, x, type, third, n, &b)) mica_tf_lower_check(c, input, &b);
}

mica_tf_check *mica_tf_take_checks(mica_tf_session *session, const mica_graph *g) {
    mica_tf_check *taken = NULL, **at = &session->checks;
    while (*at) {
        mica_tf_check *check = *at;
        if (check->g != g) {
            at = &check->next;
            continue;
        }
        *at = check->next;
        check->next = taken;
        taken = check;
    }
    return taken;
}

void mica_tf_put_check(mica_tf_session *session, mica_graph *g, mica_value value,
                       const mica_tf_check *check) {
    if (value.node) append(session, g, value, &check->bounds);
}

mica_value mica_tf_check_neutral(mica_graph *g, const mica_tf_check *check) {
    const mica_type *type = mica_value_type(check->value);
    mica_type scalar = mica_type_scalar(type->dtype);
    int64_t bytes = check->bounds.width ? 0 : 1;
    mica_value number = mica_constant(g, (mica_data){&scalar, &bytes});
    return type->rank ? mica_broadcast_to(g, number, (mica_ints){type->dims, type->rank}) : number;
}

/* A bound for each element of a value, within what its dtype can hold. */
static mica_value bound_like(mica_graph *g, mica_value value, const int64_t *bounds,
                             int32_t width) {
    mica_type type = *mica_value_type(value);
    size_t size = mica_dtype_bytes(type.dtype);
    bool is_signed = mica_dtype_kind_of(type.dtype) == MICA_KIND_SIGNED;
    int64_t most = size == 8 ? INT64_MAX : ((int64_t)1 << (8 * (int)size - is_signed)) - 1;
    int64_t least = is_signed ? -most - 1 : 0;
    char bytes[MICA_MAX_RANK * sizeof(int64_t)];
    for (int32_t i = 0; i < width; i++) {
        int64_t held = bounds[i] < least ? least : bounds[i] > most ? most : bounds[i];
        memcpy(bytes + (size_t)i * size, &held, size); /* the low bytes come first */
    }
    mica_type few =
        width == 1 ? mica_type_scalar(type.dtype) : mica_type_make(type.dtype, MICA_INTS(width));
    mica_value numbers = mica_constant(g, (mica_data){&few, bytes});
    return type.rank ? mica_broadcast_to(g, numbers, (mica_ints){type.dims, type.rank}) : numbers;
}

mica_value mica_tf_check_fails(mica_graph *g, const mica_tf_check *check, mica_value value) {
    const mica_tf_bounds *b = &check->bounds;
    const mica_type *type = mica_value_type(value);
    int64_t last[MICA_MAX_RANK], axes[MICA_MAX_RANK];
    if (!type) return MICA_NULL_VALUE;
    mica_value fails;
    if (b->width) {
        for (int32_t i = 0; i < b->width; i++) last[i] = b->high[i] - 1;
        mica_value low = bound_like(g, value, b->low, b->width);
        mica_value high = bound_like(g, value, last, b->width);
        fails = mica_or(g, mica_compare(g, value, low, "lt"), mica_compare(g, value, high, "gt"));
    } else {
        fails = mica_compare(g, value, mica_zeros_like(g, value), "eq");
    }
    for (int32_t i = 0; i < type->rank; i++) axes[i] = i;
    return type->rank ? mica_reduce(g, fails, "or", (mica_ints){axes, type->rank}) : fails;
}
