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
#include "tf/refusals.h"

/* More than these are not checked. */
enum { MOST_CHECKED = 1 << 20 };

/* ---- which ------------------------------------------------------------------------------------*/

static const mica_tf_refusal *refusal_of(mica_tf_op op) {
    const mica_tf_refusal *refuses = mica_tf_traits_of[op].refuses;
    return refuses && refuses->find ? refuses : NULL;
}

bool mica_tf_checks_values(mica_tf_op op) {
    return refusal_of(op) != NULL;
}

static bool find_bounds(mica_tf_op op, const mica_tf_checked *l, mica_tf_bounds *b) {
    mica_dtype_kind kind = mica_dtype_kind_of(l->integers->dtype);
    int64_t n = mica_type_elements(l->integers);
    memset(b, 0, sizeof *b);
    b->op = op;
    b->shape = mica_tf_shape_of(l->x);
    if (kind != MICA_KIND_SIGNED && kind != MICA_KIND_UNSIGNED) return false;
    if (n == 0 || n > MOST_CHECKED) return false;
    return refusal_of(op)->find(l, b);
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
    int32_t width = b->width > 1 ? b->width : 1, k = (int32_t)(i % width);
    const mica_tf_refused r = {.op = mica_tf_op_describe(b->op)->name,
                               .bounds = b,
                               .value = integer_at(x, i),
                               .high = b->high[k],
                               .k = k,
                               .vector = i / width,
                               .place = place_text(x->type, i),
                               .numbers = vector_text(x, i - k, b->width)};
    return mica_tf_traits_of[b->op].refuses->say(&r);
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
                                 const mica_tf_attr *attrs, const mica_tf_value *inputs) {
    mica_tensor *checked = inputs[refusal_of(op)->input].object;
    /* The caller holds the lock of the variables. */
    mica_tf_value x =
        inputs[0].dtype == MICA_TF_resource ? *mica_tf_variable_cell(inputs[0]) : inputs[0];
    if (!mica_tf_is_core(x.dtype) || !x.object) return NULL;
    int64_t third[MICA_MAX_RANK * 4];
    mica_tf_checked l = {.info = info,
                         .attrs = attrs,
                         .x = mica_tensor_type(x.object),
                         .integers = mica_tensor_type(checked),
                         .third = third};
    mica_tf_bounds b;
    if (info->roles[0] && info->roles[1] && info->roles[2] == 's')
        MICA_TRY(mica_tf_tensor_ints(inputs[2].object, third, MICA_MAX_RANK * 4, &l.n_third));
    if (!find_bounds(op, &l, &b)) return NULL;
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

static void append(mica_tf_session *session, const mica_tf_check *of) {
    mica_tf_check *check = mica_arena_alloc(&session->arena, sizeof *check);
    if (!check) {
        mica_graph_fail((mica_graph *)of->g, MICA_NO_MEMORY());
        return;
    }
    *check = *of;
    check->next = session->checks;
    session->checks = check; /* the last comes first */
}

/* The graph of the node that is lowered may be a derived one, which the session outlives. */
static void append_here(mica_tf_lowering *c, mica_value value, const mica_tf_bounds *b) {
    const mica_tf_node *node = c->session->node;
    mica_tf_check check = {.g = c->g, .value = value, .bounds = *b};
    if (node && node->place) {
        check.name = mica_arena_strdup(&c->session->arena, node->name);
        check.place = mica_arena_strdup(&c->session->arena, node->place);
        if (!check.name || !check.place) {
            mica_graph_fail(c->g, MICA_NO_MEMORY());
            return;
        }
    }
    append(c->session, &check);
}

void mica_tf_lower_check(mica_tf_lowering *c, int32_t input, const mica_tf_bounds *b) {
    if (!c->session->checks_bounds || !c->inputs[input].node) return;
    mica_tensor *constant = c->frame && c->refs ? constant_of(c->frame, c->refs[input]) : NULL;
    if (!constant) {
        append_here(c, c->inputs[input], b);
        return;
    }
    mica_status status = mica_tf_bounds_check(b, constant);
    if (status) mica_graph_fail(c->g, status);
}

void mica_tf_lower_checks(mica_tf_lowering *c) {
    mica_tf_op op = c->operation->op;
    if (!c->session->checks_bounds || !mica_tf_checks_values(op)) return;
    if (op == MICA_TF_ReadElement && mica_tf_lowering_int(c, "inside")) return;
    int32_t input = refusal_of(op)->input;
    int64_t third[MICA_MAX_RANK * 4];
    mica_tf_checked l = {.info = c->info,
                         .attrs = c->attrs,
                         .x = mica_tf_type(c, 0),
                         .integers = mica_tf_type(c, input),
                         .third = third};
    mica_tf_bounds b;
    if (!l.x || !l.integers) return;
    if (c->n_inputs > 2 && mica_tf_operation_role(c->operation, 2) == 's' &&
        !mica_tf_constant_ints(c, 2, third, &l.n_third))
        return;
    if (find_bounds(op, &l, &b)) mica_tf_lower_check(c, input, &b);
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
    if (!value.node) return;
    mica_tf_check here = *check;
    here.g = g;
    here.value = value;
    append(session, &here);
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
    if (mica_value_is_null(value)) return MICA_NULL_VALUE;
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
