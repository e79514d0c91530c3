#include "runtime/check.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/platform.h"
#include "base/strings.h"
#include "codegen/nest.h"
#include "compile/passes.h"
#include "compile/rewrite.h"
#include "ir/contraction.h"
#include "ir/scalar.h"

bool mica_check_is_on(void) {
    const char *text = mica_environment("MICA_CHECK");
    return text && *text && strcmp(text, "0") != 0;
}

/* ---- the graph --------------------------------------------------------------------------------*/

static bool is_body(const mica_node *n) {
    return mica_node_is_fused(n) || mica_node_is_contraction(n) || mica_node_is_claimed(n);
}

static bool is_compared(const mica_node *n) {
    for (int32_t i = 0; i < n->n_operands; i++)
        if (mica_operand_type(n, i)->kind != MICA_TENSOR) return false;
    for (int32_t i = 0; i < n->n_results; i++)
        if (n->results[i].kind != MICA_TENSOR) return false;
    return is_body(n) || (n->op != MICA_OP_lu && n->op != MICA_OP_qr && n->op != MICA_OP_eigh &&
                          n->op != MICA_OP_svd && n->op != MICA_OP_eig);
}

/* The body's outputs first, then all its values: how large they are says how much may be lost. */
static mica_status copy_body(const mica_graph *body, mica_graph **out_graph) {
    mica_rewrite w;
    MICA_TRY(mica_rewrite_begin(&w, body));
    for (int32_t i = 0; i < body->n_nodes; i++)
        if (body->nodes[i]->op != MICA_OP_PARAMETER)
            mica_rewrite_keep(&w, body->nodes[i], mica_rewrite_node(&w, body->nodes[i], NULL));
    MICA_TRY(mica_rewrite_end(&w, out_graph));
    mica_graph *g = *out_graph;
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->n_results == 1 && g->nodes[i]->results[0].kind == MICA_TENSOR)
            mica_output(g, mica_node_result(g->nodes[i], 0));
    return mica_graph_check(g);
}

static mica_status wrap_node(const mica_node *n, mica_graph **out_graph) {
    mica_graph *g = NULL;
    MICA_TRY(mica_graph_create("check", &g));
    mica_value *operands = mica_alloc(sizeof *operands * (size_t)(n->n_operands + 1));
    mica_status status = operands ? NULL : MICA_NO_MEMORY();
    for (int32_t i = 0; i < n->n_operands && !status; i++)
        operands[i] = mica_parameter(g, mica_operand_type(n, i));
    mica_node *made = status ? NULL : mica_node_clone(g, n, operands);
    for (int32_t i = 0; made && i < n->n_results; i++) mica_output(g, mica_node_result(made, i));
    mica_free(operands);
    if (!status) status = mica_graph_check(g);
    if (status)
        mica_graph_release(g);
    else
        *out_graph = g;
    return status;
}

static void **make_room(const mica_value *values, int32_t n) {
    void **room = mica_calloc((size_t)n + 1, sizeof *room);
    for (int32_t i = 0; room && i < n; i++) {
        room[i] = mica_alloc(mica_type_bytes(mica_value_type(values[i])) + 1);
        if (room[i]) continue;
        while (i-- > 0) mica_free(room[i]);
        mica_free(room);
        return NULL;
    }
    return room;
}

static void free_room(void **room, int32_t n) {
    for (int32_t i = 0; room && i < n; i++) mica_free(room[i]);
    mica_free(room);
}

mica_status mica_check_begin(mica_check *check, mica_device *reference, const mica_node *node) {
    *check = (mica_check){.reference = reference, .node = node};
    if (!is_compared(node)) return NULL;
    MICA_TRY(is_body(node) ? copy_body(node->regions[0], &check->graph)
                           : wrap_node(node, &check->graph));
    const mica_graph *g = check->graph;
    check->inputs = make_room(g->parameters, g->n_parameters);
    check->outputs = make_room(g->outputs, g->n_outputs);
    check->results = make_room(g->outputs, node->n_results);
    if (check->inputs && check->outputs && check->results) return NULL;
    mica_check_end(check);
    return MICA_NO_MEMORY();
}

void mica_check_end(mica_check *check) {
    if (!check->graph) return;
    free_room(check->inputs, check->graph->n_parameters);
    free_room(check->outputs, check->graph->n_outputs);
    free_room(check->results, check->node->n_results);
    mica_graph_release(check->graph);
    check->graph = NULL;
}

/* ---- numbers ----------------------------------------------------------------------------------*/

/* Number i of an array, counting the parts of complex ones. */
static double number_at(mica_dtype dtype, const void *data, int64_t i) {
    switch (dtype) {
    case MICA_DTYPE_bool:
    case MICA_DTYPE_u8: return ((const uint8_t *)data)[i];
    case MICA_DTYPE_i8: return ((const int8_t *)data)[i];
    case MICA_DTYPE_i16: return ((const int16_t *)data)[i];
    case MICA_DTYPE_u16: return ((const uint16_t *)data)[i];
    case MICA_DTYPE_i32: return ((const int32_t *)data)[i];
    case MICA_DTYPE_u32: return ((const uint32_t *)data)[i];
    case MICA_DTYPE_i64: return (double)((const int64_t *)data)[i];
    case MICA_DTYPE_u64: return (double)((const uint64_t *)data)[i];
    case MICA_DTYPE_f16: return (double)mica_convert_f16_f32(((const uint16_t *)data)[i]);
    case MICA_DTYPE_bf16: return (double)mica_convert_bf16_f32(((const uint16_t *)data)[i]);
    case MICA_DTYPE_f8e4m3fn: return (double)mica_convert_f8e4m3fn_f32(((const uint8_t *)data)[i]);
    case MICA_DTYPE_f8e5m2: return (double)mica_convert_f8e5m2_f32(((const uint8_t *)data)[i]);
    case MICA_DTYPE_f32:
    case MICA_DTYPE_c64: return (double)((const float *)data)[i];
    default: return ((const double *)data)[i];
    }
}

static bool is_complex(mica_dtype dtype) {
    return dtype == MICA_DTYPE_c64 || dtype == MICA_DTYPE_c128;
}

static bool is_exact(mica_dtype dtype) {
    return dtype < MICA_DTYPE_f16;
}

static double epsilon(mica_dtype dtype) {
    switch (dtype) {
    case MICA_DTYPE_f16: return 0x1p-10;
    case MICA_DTYPE_bf16: return 0x1p-7;
    case MICA_DTYPE_f8e4m3fn: return 0x1p-11; /* agrees() allows 256 of it: one rounding */
    case MICA_DTYPE_f8e5m2: return 0x1p-10;
    case MICA_DTYPE_f32:
    case MICA_DTYPE_c64: return 0x1p-23;
    default: return 0x1p-52;
    }
}

static int64_t count_numbers(const mica_type *type) {
    return mica_type_elements(type) * (is_complex(type->dtype) ? 2 : 1);
}

static double largest(const mica_type *type, const void *data) {
    double most = 0;
    for (int64_t i = 0; i < count_numbers(type); i++) {
        double x = fabs(number_at(type->dtype, data, i));
        if (x > most && x < (double)INFINITY) most = x;
    }
    return most;
}

/* ---- how much rounding may explain ------------------------------------------------------------*/

/* Terms of a node's sums, as many as there can be. */
static double count_terms(const mica_node *n) {
    double result = (double)mica_type_elements(&n->results[0]), most = 1;
    for (int32_t i = 0; i < n->n_operands; i++) {
        double x = (double)mica_type_elements(mica_operand_type(n, i));
        if (x > most) most = x;
    }
    mica_op_class class = mica_op_class_of(n->op);
    if (class == MICA_CLASS_MAP || class == MICA_CLASS_ELEMENTWISE) return 1;
    if (n->op == MICA_OP_cumulative || n->op == MICA_OP_fft || n->op == MICA_OP_conv ||
        n->op == MICA_OP_scatter || n->n_regions || n->op == MICA_OP_cholesky ||
        n->op == MICA_OP_triangular_solve)
        return most;
    if (n->op == MICA_OP_dot) {
        double y = (double)mica_type_elements(mica_operand_type(n, 1));
        double x = (double)mica_type_elements(mica_operand_type(n, 0));
        return result > 0 ? 1 + sqrt(x * y / result) : 1;
    }
    return result > 0 && most > result ? most / result : 1;
}

typedef struct bounds {
    double absolute;  /* times epsilon */
    bool has_jumps;   /* a value may fall on the other side of a comparison */
    bool is_one_step; /* one elementwise node: its own errors only */
} bounds;

static bool jumps(const mica_node *n) {
    switch ((int)n->op) {
    case MICA_OP_compare:
    case MICA_OP_floor:
    case MICA_OP_ceil:
    case MICA_OP_round:
    case MICA_OP_sign:
    case MICA_OP_rem:
    case MICA_OP_convert:
    case MICA_OP_argmax:
    case MICA_OP_argmin:
    case MICA_OP_sort:
    case MICA_OP_top_k: return true;
    default: return n->n_regions > 0;
    }
}

static bounds find_bounds(const mica_check *check) {
    const mica_graph *g = check->graph;
    double scale = 0, terms = 1;
    bounds b = {0};
    for (int32_t i = 0; i < g->n_parameters; i++)
        scale = fmax(scale, largest(mica_value_type(g->parameters[i]), check->inputs[i]));
    double products = scale * scale;
    for (int32_t i = 0; i < g->n_outputs; i++)
        scale = fmax(scale, largest(mica_value_type(g->outputs[i]), check->outputs[i]));
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_node *n = g->nodes[i];
        if (n->op == MICA_OP_PARAMETER) continue;
        terms = fmax(terms, count_terms(n));
        if (n->op < MICA_OP_COUNT && mica_op_class_of(n->op) == MICA_CLASS_CONTRACTION)
            scale = fmax(scale, products);
        b.has_jumps = b.has_jumps || (is_body(check->node) && jumps(n));
    }
    mica_op_class class =
        is_body(check->node) ? MICA_CLASS_CONTROL : mica_op_class_of(check->node->op);
    b.is_one_step = class == MICA_CLASS_MAP || class == MICA_CLASS_ELEMENTWISE;
    b.absolute = 16 * terms * scale;
    return b;
}

/* ---- comparing --------------------------------------------------------------------------------*/

static bool agrees(mica_dtype dtype, double got, double expected, double tolerance) {
    if (got == expected || (got != got && expected != expected)) return true;
    if (is_exact(dtype)) return false;
    if (fabs(expected) == (double)INFINITY || fabs(got) == (double)INFINITY) {
        double finite = fabs(expected) == (double)INFINITY ? got : expected;
        double most = dtype == MICA_DTYPE_f16    ? 65504
                      : epsilon(dtype) < 0x1p-40 ? 0x1p1023
                                                 : 0x1p127;
        return finite * (fabs(expected) == (double)INFINITY ? expected : got) > 0 &&
               fabs(finite) > 0.9 * most;
    }
    return fabs(got - expected) <= 256 * epsilon(dtype) * fabs(expected) + tolerance;
}

static void describe_node(const mica_node *n, mica_text *text) {
    int32_t shown = 0;
    if (is_body(n) && !mica_node_is_claimed(n))
        for (int32_t i = 0; i < n->regions[0]->n_nodes; i++) {
            mica_op op = n->regions[0]->nodes[i]->op;
            if (op >= MICA_OP_COUNT || op == MICA_OP_constant || op == MICA_OP_broadcast) continue;
            mica_text_printf(text, "%s%s", shown++ ? "+" : "", mica_op_name(op));
        }
    if (shown) return;
    mica_text_append(text,
                     mica_node_is_claimed(n) ? mica_node_string(n, "name") : mica_op_name(n->op));
}

static void describe_place(const mica_type *type, int64_t i, mica_text *text) {
    if (is_complex(type->dtype)) i /= 2;
    int64_t below = mica_type_elements(type);
    mica_text_append_char(text, '(');
    for (int32_t k = 0; k < type->rank; k++) {
        below /= type->dims[k];
        mica_text_printf(text, "%s%lld", k ? "," : "", (long long)(i / below % type->dims[k]));
    }
    mica_text_append_char(text, ')');
}

static mica_status tell(const mica_check *check, int32_t result, int64_t i) {
    const mica_type *type = mica_value_type(check->graph->outputs[result]);
    const mica_node *made = check->graph->outputs[result].node;
    mica_text text;
    char *message = NULL;
    mica_text_init(&text);
    describe_node(check->node, &text);
    mica_text_printf(&text, "] element ");
    describe_place(type, i, &text);
    mica_text_printf(&text, " of result %d (%s) %s is %.9g, the reference gives %.9g", result,
                     made->op < MICA_OP_COUNT ? mica_op_name(made->op) : "parameter",
                     mica_type_text(type).chars, number_at(type->dtype, check->results[result], i),
                     number_at(type->dtype, check->outputs[result], i));
    MICA_TRY(mica_text_finish(&text, &message));
    mica_log_write(MICA_LOG_WARNING, "[%s", message);
    mica_status status = MICA_ERROR(MICA_INTERNAL, "[%s", message);
    mica_string_free(message);
    return status;
}

static mica_status compare_result(const mica_check *check, int32_t result, const bounds *b) {
    const mica_type *type = mica_value_type(check->graph->outputs[result]);
    double own = largest(type, check->outputs[result]);
    double tolerance = epsilon(type->dtype) * (b->is_one_step ? 4 * own : b->absolute);
    bool has_roots = check->node->op == MICA_OP_lgamma || check->node->op == MICA_OP_digamma;
    if (has_roots) tolerance += epsilon(type->dtype); /* near which they are absolutely right */
    int64_t n = count_numbers(type), allowed = b->has_jumps ? 2 + n / 1000 : 0, first = -1;
    for (int64_t i = 0; i < n; i++) {
        double got = number_at(type->dtype, check->results[result], i);
        double expected = number_at(type->dtype, check->outputs[result], i);
        if (agrees(type->dtype, got, expected, tolerance)) continue;
        if (first < 0) first = i;
        if (allowed-- == 0) return tell(check, result, first);
    }
    return NULL;
}

mica_status mica_check_compare(const mica_check *check) {
    if (!check->graph) return NULL;
    mica_device *reference = check->reference;
    MICA_TRY(reference->vtable->interpret(reference, check->graph,
                                          (const void *const *)check->inputs, check->outputs));
    bounds b = find_bounds(check);
    for (int32_t i = 0; i < check->node->n_results; i++) MICA_TRY(compare_result(check, i, &b));
    return NULL;
}
