/* Shape rules of control flow, lists and host calls: regions fit what goes in and comes out. */
#include <string.h>

#include "ir/shape.h"

MICA_SHAPE_RULE(cond);
MICA_SHAPE_RULE(case);
MICA_SHAPE_RULE(while);
MICA_SHAPE_RULE(scan);
MICA_SHAPE_RULE(call);
MICA_SHAPE_RULE(custom_gradient);
MICA_SHAPE_RULE(remat);
MICA_SHAPE_RULE(barrier);
MICA_SHAPE_RULE(list_push);
MICA_SHAPE_RULE(list_pop);
MICA_SHAPE_RULE(callback);

/* A list of types while it is being put together; grows in the arena, so nothing is freed. */
typedef struct type_list {
    mica_type *types;
    int32_t n, capacity;
} type_list;

static mica_status list_init(mica_graph *g, type_list *list, int32_t capacity) {
    *list = (type_list){.capacity = capacity};
    list->types = mica_arena_alloc(&g->arena, (size_t)capacity * sizeof *list->types);
    return list->types ? NULL : MICA_NO_MEMORY();
}

static void list_add(type_list *list, const mica_type *type) {
    list->types[list->n++] = *type;
}

static const mica_type *parameter_type(const mica_graph *region, int32_t i) {
    return mica_value_type(region->parameters[i]);
}

static const mica_type *output_type(const mica_graph *region, int32_t i) {
    return mica_value_type(region->outputs[i]);
}

static mica_status check_parameters(const mica_node *n, const mica_graph *region,
                                    const type_list *types) {
    if (region->n_parameters != types->n)
        return SHAPE_INVALID(n, "region '%s' has %d parameters and gets %d operands", region->name,
                             region->n_parameters, types->n);
    for (int32_t i = 0; i < types->n; i++)
        if (!mica_type_equal(parameter_type(region, i), &types->types[i]))
            return SHAPE_INVALID(n, "parameter %d of region '%s' is %s and gets %s", i,
                                 region->name, mica_type_text(parameter_type(region, i)).chars,
                                 mica_type_text(&types->types[i]).chars);
    return NULL;
}

static mica_status check_outputs(const mica_node *n, const mica_graph *region,
                                 const type_list *types) {
    if (region->n_outputs != types->n)
        return SHAPE_INVALID(n, "region '%s' has %d outputs; it must have %d", region->name,
                             region->n_outputs, types->n);
    for (int32_t i = 0; i < types->n; i++)
        if (!mica_type_equal(output_type(region, i), &types->types[i]))
            return SHAPE_INVALID(n, "output %d of region '%s' is %s; it must be %s", i,
                                 region->name, mica_type_text(output_type(region, i)).chars,
                                 mica_type_text(&types->types[i]).chars);
    return NULL;
}

static mica_status operand_types(mica_graph *g, const mica_node *n, int32_t first, int32_t end,
                                 type_list *out) {
    MICA_TRY(list_init(g, out, end > first ? end - first : 0));
    for (int32_t i = first; i < end; i++) list_add(out, mica_operand_type(n, i));
    return NULL;
}

static mica_status output_types(mica_graph *g, const mica_graph *region, type_list *out) {
    MICA_TRY(list_init(g, out, region->n_outputs));
    for (int32_t i = 0; i < region->n_outputs; i++) list_add(out, output_type(region, i));
    return NULL;
}

static mica_status check_region_count(const mica_node *n, int32_t least, int32_t most) {
    if (n->n_regions >= least && n->n_regions <= most) return NULL;
    if (least == most) return SHAPE_INVALID(n, "takes %d regions, not %d", least, n->n_regions);
    return SHAPE_INVALID(n, "takes at least %d regions, not %d", least, n->n_regions);
}

/* ---- branches -------------------------------------------------------------------------------*/

static mica_status branches(mica_graph *g, mica_node *n) {
    type_list arguments, results;
    MICA_TRY(operand_types(g, n, 1, n->n_operands, &arguments));
    MICA_TRY(output_types(g, n->regions[0], &results));
    for (int32_t i = 0; i < n->n_regions; i++) {
        MICA_TRY(check_parameters(n, n->regions[i], &arguments));
        MICA_TRY(check_outputs(n, n->regions[i], &results));
    }
    return shape_results(g, n, results.types, results.n);
}

static mica_status check_selector(const mica_node *n, const char *what, mica_dtype dtype) {
    if (n->n_operands < 1) return SHAPE_INVALID(n, "the %s is missing", what);
    mica_type wanted = mica_type_scalar(dtype);
    const mica_type *given = mica_operand_type(n, 0);
    if (mica_type_equal(given, &wanted)) return NULL;
    return SHAPE_INVALID(n, "the %s must be %s, not %s", what, mica_type_text(&wanted).chars,
                         mica_type_text(given).chars);
}

MICA_SHAPE_RULE(cond) {
    MICA_TRY(check_region_count(n, 2, 2));
    MICA_TRY(check_selector(n, "predicate", MICA_DTYPE_bool));
    return branches(g, n);
}

MICA_SHAPE_RULE(case) {
    MICA_TRY(check_region_count(n, 1, INT32_MAX));
    MICA_TRY(check_selector(n, "index", MICA_DTYPE_i32));
    return branches(g, n);
}

/* ---- loops ----------------------------------------------------------------------------------*/

static mica_status check_count(const mica_node *n, const char *name, int64_t most) {
    int64_t count = mica_node_int(n, name);
    if (count >= 0 && count <= most) return NULL;
    return SHAPE_INVALID(n, "%s is %lld; it must lie between 0 and %lld", name, (long long)count,
                         (long long)most);
}

MICA_SHAPE_RULE(while) {
    MICA_TRY(check_region_count(n, 2, 2));
    MICA_TRY(check_count(n, "consts", n->n_operands));
    int32_t consts = (int32_t)mica_node_int(n, "consts");
    MICA_TRY(check_count(n, "bookkeeping", n->n_operands - consts));
    type_list operands, carry;
    MICA_TRY(operand_types(g, n, 0, n->n_operands, &operands));
    MICA_TRY(operand_types(g, n, consts, n->n_operands, &carry));
    mica_type boolean = mica_type_scalar(MICA_DTYPE_bool);
    type_list predicate = {&boolean, 1, 1};
    MICA_TRY(check_parameters(n, n->regions[0], &operands));
    MICA_TRY(check_outputs(n, n->regions[0], &predicate));
    MICA_TRY(check_parameters(n, n->regions[1], &operands));
    MICA_TRY(check_outputs(n, n->regions[1], &carry));
    return shape_results(g, n, carry.types, carry.n);
}

/* The type of one step's part of xs. */
static mica_status scan_step_type(const mica_node *n, int32_t i, mica_type *out_type) {
    const mica_type *xs = mica_operand_type(n, i);
    int64_t length = mica_node_int(n, "length");
    if (xs->kind != MICA_TENSOR || xs->rank < 1 || xs->dims[0] != length)
        return SHAPE_INVALID(n, "operand %d is %s; its leading axis must be %lld long", i,
                             mica_type_text(xs).chars, (long long)length);
    *out_type = mica_type_make(xs->dtype, (mica_ints){xs->dims + 1, xs->rank - 1});
    return NULL;
}

/* y with a leading axis of `length`. */
static mica_status scan_stacked_type(const mica_node *n, const mica_type *y, mica_type *out_type) {
    if (y->kind != MICA_TENSOR)
        return SHAPE_INVALID(n, "a %s cannot be stacked", mica_type_text(y).chars);
    if (y->rank == MICA_MAX_RANK)
        return SHAPE_INVALID(n, "stacked %s has more than %d axes", mica_type_text(y).chars,
                             MICA_MAX_RANK);
    *out_type = *y;
    out_type->rank++;
    memcpy(out_type->dims + 1, y->dims, (size_t)y->rank * sizeof *y->dims);
    out_type->dims[0] = mica_node_int(n, "length");
    return NULL;
}

MICA_SHAPE_RULE(scan) {
    MICA_TRY(check_region_count(n, 1, 1));
    MICA_TRY(check_count(n, "consts", n->n_operands));
    int32_t consts = (int32_t)mica_node_int(n, "consts");
    MICA_TRY(check_count(n, "carry", n->n_operands - consts));
    MICA_TRY(check_count(n, "length", INT64_MAX));
    MICA_TRY(check_count(n, "reverse", 1));
    int32_t carry = (int32_t)mica_node_int(n, "carry");
    const mica_graph *body = n->regions[0];
    type_list inputs, results;
    MICA_TRY(operand_types(g, n, 0, n->n_operands, &inputs));
    for (int32_t i = consts + carry; i < n->n_operands; i++)
        MICA_TRY(scan_step_type(n, i, &inputs.types[i]));
    MICA_TRY(check_parameters(n, body, &inputs));
    if (body->n_outputs < carry)
        return SHAPE_INVALID(n, "region '%s' has %d outputs and must return %d carries", body->name,
                             body->n_outputs, carry);
    MICA_TRY(output_types(g, body, &results));
    for (int32_t i = 0; i < results.n; i++) {
        mica_type y = results.types[i];
        if (i >= carry)
            MICA_TRY(scan_stacked_type(n, &y, &results.types[i]));
        else if (!mica_type_equal(&y, mica_operand_type(n, consts + i)))
            return SHAPE_INVALID(n, "carry %d is %s and region '%s' returns %s", i,
                                 mica_type_text(mica_operand_type(n, consts + i)).chars, body->name,
                                 mica_type_text(&y).chars);
    }
    return shape_results(g, n, results.types, results.n);
}

/* ---- composites -----------------------------------------------------------------------------*/

static void add_differentiable(type_list *to, const mica_type *types, int32_t count) {
    for (int32_t i = 0; i < count; i++)
        if (mica_type_is_differentiable(&types[i])) list_add(to, &types[i]);
}

/* (operands, results, cotangents of float results) -> cotangents of float operands */
static mica_status check_vjp(mica_graph *g, const mica_node *n, const mica_graph *vjp,
                             const type_list *operands, const type_list *results) {
    type_list inputs, outputs;
    MICA_TRY(list_init(g, &inputs, operands->n + 2 * results->n));
    MICA_TRY(list_init(g, &outputs, operands->n));
    for (int32_t i = 0; i < operands->n; i++) list_add(&inputs, &operands->types[i]);
    for (int32_t i = 0; i < results->n; i++) list_add(&inputs, &results->types[i]);
    add_differentiable(&inputs, results->types, results->n);
    add_differentiable(&outputs, operands->types, operands->n);
    MICA_TRY(check_parameters(n, vjp, &inputs));
    return check_outputs(n, vjp, &outputs);
}

/* (other operands, cotangents of results) -> cotangents of the trailing linear operands */
static mica_status check_transpose(mica_graph *g, const mica_node *n, int32_t linear,
                                   const type_list *operands, const type_list *results) {
    type_list inputs, outputs;
    MICA_TRY(list_init(g, &inputs, operands->n + results->n));
    MICA_TRY(list_init(g, &outputs, linear));
    for (int32_t i = 0; i < operands->n - linear; i++) list_add(&inputs, &operands->types[i]);
    for (int32_t i = 0; i < results->n; i++) list_add(&inputs, &results->types[i]);
    for (int32_t i = operands->n - linear; i < operands->n; i++)
        list_add(&outputs, &operands->types[i]);
    MICA_TRY(check_parameters(n, n->regions[1], &inputs));
    return check_outputs(n, n->regions[1], &outputs);
}

/* Linear functions go from floats to floats. */
static mica_status check_linear(const mica_node *n, int32_t linear, const type_list *operands,
                                const type_list *results) {
    for (int32_t i = operands->n - linear; i < operands->n; i++)
        if (!mica_type_is_differentiable(&operands->types[i]))
            return SHAPE_INVALID(n, "operand %d is %s and cannot be linear", i,
                                 mica_type_text(&operands->types[i]).chars);
    for (int32_t i = 0; i < results->n; i++)
        if (!mica_type_is_differentiable(&results->types[i]))
            return SHAPE_INVALID(n, "result %d is %s and cannot be linear", i,
                                 mica_type_text(&results->types[i]).chars);
    return NULL;
}

static mica_status apply_region(mica_graph *g, const mica_node *n, type_list *operands,
                                type_list *results) {
    MICA_TRY(operand_types(g, n, 0, n->n_operands, operands));
    MICA_TRY(check_parameters(n, n->regions[0], operands));
    return output_types(g, n->regions[0], results);
}

MICA_SHAPE_RULE(call) {
    MICA_TRY(check_region_count(n, 1, 2));
    MICA_TRY(check_count(n, "linear", n->n_operands));
    int32_t linear = (int32_t)mica_node_int(n, "linear");
    type_list operands, results;
    MICA_TRY(apply_region(g, n, &operands, &results));
    if (linear) MICA_TRY(check_linear(n, linear, &operands, &results));
    if (n->n_regions == 2 && linear) MICA_TRY(check_transpose(g, n, linear, &operands, &results));
    if (n->n_regions == 2 && !linear) MICA_TRY(check_vjp(g, n, n->regions[1], &operands, &results));
    return shape_results(g, n, results.types, results.n);
}

MICA_SHAPE_RULE(custom_gradient) {
    type_list operands, results;
    MICA_TRY(check_region_count(n, 2, 2));
    MICA_TRY(apply_region(g, n, &operands, &results));
    MICA_TRY(check_vjp(g, n, n->regions[1], &operands, &results));
    return shape_results(g, n, results.types, results.n);
}

MICA_SHAPE_RULE(remat) {
    type_list operands, results;
    MICA_TRY(check_region_count(n, 1, 1));
    MICA_TRY(apply_region(g, n, &operands, &results));
    return shape_results(g, n, results.types, results.n);
}

/* ---- without regions ------------------------------------------------------------------------*/

MICA_SHAPE_RULE(barrier) {
    type_list operands;
    MICA_TRY(check_region_count(n, 0, 0));
    MICA_TRY(operand_types(g, n, 0, n->n_operands, &operands));
    return shape_results(g, n, operands.types, operands.n);
}

static mica_status check_list(const mica_node *n) {
    MICA_TRY(check_region_count(n, 0, 0));
    const mica_type *list = mica_operand_type(n, 0);
    if (list->kind == MICA_LIST) return NULL;
    return SHAPE_INVALID(n, "operand 0 must be a list, not %s", mica_type_text(list).chars);
}

MICA_SHAPE_RULE(list_push) {
    MICA_TRY(check_list(n));
    const mica_type *list = mica_operand_type(n, 0), *element = mica_operand_type(n, 1);
    mica_type list_of_it = mica_type_list_of(element);
    if (element->kind != MICA_TENSOR || !mica_type_equal(list, &list_of_it))
        return SHAPE_INVALID(n, "%s takes no %s", mica_type_text(list).chars,
                             mica_type_text(element).chars);
    return shape_result(g, n, list);
}

MICA_SHAPE_RULE(list_pop) {
    MICA_TRY(check_list(n));
    mica_type results[2] = {*mica_operand_type(n, 0), *mica_operand_type(n, 0)};
    results[1].kind = MICA_TENSOR;
    return shape_results(g, n, results, 2);
}

MICA_SHAPE_RULE(callback) {
    if (n->n_operands < 1 || mica_operand_type(n, 0)->kind != MICA_TOKEN)
        return SHAPE_INVALID(n, "operand 0 must be a %s", "token");
    if (mica_node_int(n, "function") < 1)
        return SHAPE_INVALID(n, "there is no host function %lld",
                             (long long)mica_node_int(n, "function"));
    for (int32_t i = 1; i < n->n_operands; i++)
        if (mica_operand_type(n, i)->kind != MICA_TENSOR)
            return SHAPE_INVALID(n, "operand %d must be a tensor, not %s", i,
                                 mica_type_text(mica_operand_type(n, i)).chars);
    mica_types given = mica_node_attr(n, "results")->as.types;
    type_list results;
    mica_type token = mica_type_token();
    MICA_TRY(list_init(g, &results, given.n + 1));
    list_add(&results, &token);
    for (int32_t i = 0; i < given.n; i++) {
        if (given.data[i].kind != MICA_TENSOR)
            return SHAPE_INVALID(n, "result %d must be a tensor, not %s", i + 1,
                                 mica_type_text(&given.data[i]).chars);
        list_add(&results, &given.data[i]);
    }
    return shape_results(g, n, results.types, results.n);
}
