/* Random control flow: every region is a random graph of its own, one level deeper. */
#include <stdlib.h>

#include "ir/graph.h"
#include "mica/transform.h"
#include "support/random_graph.h"

#define MOST_DEPTH 2
#define MOST_ARGUMENTS 3
#define REGION_NODES 8

/* A builder of a region inside b; free it with end_region, which gives the graph. */
static random_builder *begin_region(random_builder *b, const char *name) {
    random_builder *inner = calloc(1, sizeof *inner);
    if (!inner) return NULL;
    inner->options = b->options;
    inner->depth = b->depth + 1;
    inner->state = random_next(b);
    mica_status_release(mica_graph_create(name, &inner->g));
    return inner;
}

static mica_graph *end_region(random_builder *inner) {
    mica_graph *g = inner ? inner->g : NULL;
    free(inner);
    return g;
}

static mica_value parameter(random_builder *inner, const mica_type *type) {
    if (!inner) return MICA_NULL_VALUE;
    mica_value value = mica_parameter(inner->g, type);
    random_add(inner, value);
    return value;
}

static void parameters_like(random_builder *inner, const mica_value *values, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        if (mica_value_type(values[i])) parameter(inner, mica_value_type(values[i]));
}

static int32_t pick_arguments(random_builder *b, mica_value *out) {
    int32_t n = 1 + (int32_t)random_below(b, MOST_ARGUMENTS);
    for (int32_t i = 0; i < n; i++) out[i] = random_pick(b);
    return n;
}

/* f(arguments) with outputs of the model's types, or random ones when there is no model. */
static mica_graph *function_region(random_builder *b, const char *name, const mica_value *arguments,
                                   int32_t n, const mica_graph *model) {
    random_builder *inner = begin_region(b, name);
    if (!inner) return NULL;
    parameters_like(inner, arguments, n);
    random_fill(inner, REGION_NODES);
    int32_t n_outputs = model ? model->n_outputs : 1 + (int32_t)random_below(b, 2);
    for (int32_t i = 0; i < n_outputs; i++)
        mica_output(inner->g, model ? random_of_type(inner, mica_value_type(model->outputs[i]))
                                    : random_pick(inner));
    return end_region(inner);
}

static void add_results(random_builder *b, const mica_value *results, int32_t n) {
    for (int32_t i = 0; i < n; i++) random_add(b, results[i]);
}

/* ---- branches -------------------------------------------------------------------------------*/

static void add_branches(random_builder *b, mica_op op) {
    mica_value arguments[MOST_ARGUMENTS], out[2] = {0};
    mica_type flag = mica_type_scalar(op == MICA_OP_cond ? MICA_DTYPE_bool : MICA_DTYPE_i32);
    mica_value selector = random_of_type(b, &flag);
    int32_t n = pick_arguments(b, arguments);
    mica_graph *regions[3];
    regions[0] = function_region(b, "branch", arguments, n, NULL);
    for (int32_t i = 1; i < 3; i++)
        regions[i] = function_region(b, "branch", arguments, n, regions[0]);
    if (op == MICA_OP_cond)
        mica_cond(b->g, selector, regions[0], regions[1], arguments, n, out);
    else
        mica_case(b->g, selector, regions, 3, arguments, n, out);
    add_results(b, out, mica_graph_output_count(regions[0]));
    for (int32_t i = 0; i < 3; i++) mica_graph_release(regions[i]);
}

/* ---- loops ----------------------------------------------------------------------------------*/

/* Carries a counter first, so that every loop ends after a few rounds. */
static mica_graph *while_condition(random_builder *b, const mica_value *operands, int32_t n,
                                   int32_t n_consts) {
    random_builder *inner = begin_region(b, "condition");
    if (!inner) return NULL;
    parameters_like(inner, operands, n);
    mica_graph *g = inner->g;
    mica_output(g, mica_compare(g, mica_graph_parameter(g, n_consts),
                                mica_scalar(g, MICA_DTYPE_i32, (double)random_below(b, 5)), "lt"));
    return end_region(inner);
}

static mica_graph *while_body(random_builder *b, const mica_value *operands, int32_t n,
                              int32_t n_consts) {
    random_builder *inner = begin_region(b, "body");
    if (!inner) return NULL;
    parameters_like(inner, operands, n);
    mica_graph *g = inner->g;
    random_fill(inner, REGION_NODES);
    mica_output(g,
                mica_add(g, mica_graph_parameter(g, n_consts), mica_scalar(g, MICA_DTYPE_i32, 1)));
    for (int32_t i = n_consts + 1; i < n; i++)
        mica_output(g, random_of_type(inner, mica_value_type(operands[i])));
    return end_region(inner);
}

static void add_while(random_builder *b) {
    mica_value operands[2 * MOST_ARGUMENTS + 1], out[2 * MOST_ARGUMENTS + 1] = {0};
    int32_t n_consts = pick_arguments(b, operands);
    operands[n_consts] = mica_scalar(b->g, MICA_DTYPE_i32, 0);
    int32_t n = n_consts + 1 + pick_arguments(b, operands + n_consts + 1);
    if (b->g->error) return;
    mica_graph *condition = while_condition(b, operands, n, n_consts);
    mica_graph *body = while_body(b, operands, n, n_consts);
    mica_while(b->g, condition, body, operands, n, n_consts, out);
    add_results(b, out, n - n_consts);
    mica_graph_release(condition);
    mica_graph_release(body);
}

static void add_scan(random_builder *b) {
    mica_value operands[3 * MOST_ARGUMENTS], out[2 * MOST_ARGUMENTS] = {0};
    int32_t n_consts = pick_arguments(b, operands);
    int32_t n_carry = pick_arguments(b, operands + n_consts), n = n_consts + n_carry;
    int32_t n_ys = (int32_t)random_below(b, 2) + 1;
    int64_t length = random_below(b, 9) ? 1 + random_below(b, 3) : 0;
    if (b->g->error) return;
    random_builder *inner = begin_region(b, "step");
    if (!inner) return;
    parameters_like(inner, operands, n);
    for (int32_t i = (int32_t)random_below(b, 2); i < 2; i++) {
        const mica_type *like = mica_value_type(random_pick(b));
        if (!like) break;
        mica_type xs = *like, x;
        if (xs.rank == 0) xs.rank = 1;
        xs.dims[0] = length;
        x = mica_type_make(xs.dtype, (mica_ints){xs.dims + 1, xs.rank - 1});
        operands[n++] = random_of_type(b, &xs);
        parameter(inner, &x);
    }
    random_fill(inner, REGION_NODES);
    for (int32_t i = 0; i < n_carry; i++)
        mica_output(inner->g, random_of_type(inner, mica_value_type(operands[n_consts + i])));
    for (int32_t i = 0; i < n_ys; i++) mica_output(inner->g, random_pick(inner));
    mica_graph *body = end_region(inner);
    mica_scan(b->g, body, operands, n, n_consts, n_carry, length, random_below(b, 2) != 0, out);
    add_results(b, out, n_carry + n_ys);
    mica_graph_release(body);
}

/* ---- composites, lists, effects -------------------------------------------------------------*/

/* The outputs of a vjp that is right. */
static void output_cotangents(random_builder *inner, const mica_graph *function, int32_t n,
                              const mica_value *cotangents) {
    mica_value results[2], x[MOST_ARGUMENTS], dx[MOST_ARGUMENTS], y[2];
    int32_t n_x = 0, n_y = 0;
    mica_inline(inner->g, function, inner->g->parameters, n, results);
    for (int32_t i = 0; !inner->g->error && i < n; i++)
        if (mica_type_is_differentiable(mica_value_type(inner->g->parameters[i])))
            x[n_x++] = inner->g->parameters[i];
    for (int32_t i = 0; !inner->g->error && i < mica_graph_output_count(function); i++)
        if (mica_type_is_differentiable(mica_value_type(results[i]))) y[n_y++] = results[i];
    mica_vjp(inner->g, y, cotangents, n_y, x, n_x, dx);
    for (int32_t i = 0; !inner->g->error && i < n_x; i++)
        mica_output(inner->g,
                    mica_value_is_null(dx[i]) ? random_zeros(inner, mica_value_type(x[i])) : dx[i]);
}

/* A vjp of the right signature. For tests of derivatives it is right; else it is zero. */
static mica_graph *vjp_region(random_builder *b, const mica_value *arguments, int32_t n,
                              const mica_graph *function) {
    random_builder *inner = begin_region(b, "vjp");
    if (!inner) return NULL;
    parameters_like(inner, arguments, n);
    for (int32_t i = 0; i < mica_graph_output_count(function); i++)
        parameter(inner, mica_value_type(function->outputs[i]));
    mica_value cotangents[2];
    int32_t n_y = 0;
    for (int32_t i = 0; i < mica_graph_output_count(function); i++)
        if (mica_type_is_differentiable(mica_value_type(function->outputs[i])))
            cotangents[n_y++] = parameter(inner, mica_value_type(function->outputs[i]));
    if (b->options->derivatives) {
        output_cotangents(inner, function, n, cotangents);
        return end_region(inner);
    }
    for (int32_t i = 0; i < n; i++)
        if (mica_value_type(arguments[i]) &&
            mica_type_is_differentiable(mica_value_type(arguments[i])))
            mica_output(inner->g, random_zeros(inner, mica_value_type(arguments[i])));
    return end_region(inner);
}

static void add_composite(random_builder *b, mica_op op) {
    mica_value arguments[MOST_ARGUMENTS], out[2] = {0};
    int32_t n = pick_arguments(b, arguments);
    mica_graph *f = function_region(b, "function", arguments, n, NULL);
    mica_graph *vjp = op == MICA_OP_remat ? NULL : vjp_region(b, arguments, n, f);
    if (op == MICA_OP_remat)
        mica_remat(b->g, f, arguments, n, out);
    else if (op == MICA_OP_custom_gradient)
        mica_custom_gradient(b->g, f, vjp, arguments, n, out);
    else
        mica_call(b->g, "composite", "", f, "vjp", random_below(b, 2) ? NULL : vjp, arguments, n,
                  out);
    add_results(b, out, mica_graph_output_count(f));
    mica_graph_release(f);
    mica_graph_release(vjp);
}

/* Pushes a few and pops more, down to the empty list. */
static void add_list(random_builder *b) {
    mica_value x = random_pick(b), element;
    if (!mica_value_type(x)) return;
    mica_type type = *mica_value_type(x);
    mica_value list = mica_list_empty(b->g, &type);
    int64_t pushes = random_below(b, 4);
    for (int64_t i = 0; i < pushes; i++)
        list = mica_list_push(b->g, list, random_of_type(b, &type));
    for (int64_t i = random_below(b, pushes + 2); i >= 0; i--) {
        mica_list_pop(b->g, list, &list, &element);
        random_add(b, element);
    }
}

static void add_callback(random_builder *b) {
    mica_value arguments[MOST_ARGUMENTS], out[2] = {0};
    int32_t n = pick_arguments(b, arguments);
    const mica_type *type = mica_value_type(arguments[0]);
    if (!type) return;
    mica_callback(b->g, "callback", b->options->host_function, mica_token(b->g), arguments, n,
                  (mica_types){type, 1}, out);
    random_add(b, out[1]);
}

bool random_region_node(random_builder *b, mica_op op) {
    mica_value arguments[MOST_ARGUMENTS];
    int32_t n;
    if (op == MICA_OP_list_push || op == MICA_OP_list_pop) return add_list(b), true;
    if (op == MICA_OP_barrier) {
        n = pick_arguments(b, arguments);
        mica_barrier(b->g, arguments, n, arguments);
        add_results(b, arguments, n);
        return true;
    }
    if (op == MICA_OP_callback) {
        if (!b->options->host_function) return false;
        return add_callback(b), true;
    }
    if (b->depth >= MOST_DEPTH) return false;
    switch (op) {
    case MICA_OP_cond:
    case MICA_OP_case: add_branches(b, op); return true;
    case MICA_OP_while: add_while(b); return true;
    case MICA_OP_scan: add_scan(b); return true;
    case MICA_OP_call:
    case MICA_OP_custom_gradient:
    case MICA_OP_remat: add_composite(b, op); return true;
    default: return false;
    }
}
