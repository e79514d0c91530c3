/* Cases of CONTROL, COLLECTIVE and HOST rows: graphs made by functions. */
#include "harness.h"

#include <string.h>

static void output_all(mica_graph *g, const mica_value *values, int32_t n) {
    for (int32_t i = 0; i < n; i++) mica_output(g, values[i]);
}

/* (x, y) -> (sin(x) y, x), (x, y) -> (x + y^2, y), (x, y) -> (y, x): vectors of three. */
static mica_graph *branch(int which, mica_dtype dtype) {
    mica_graph *g = harness_region("branch");
    mica_value x = harness_parameter(g, dtype, MICA_INTS(3)),
               y = harness_parameter(g, dtype, MICA_INTS(3));
    mica_value first = which == 0   ? mica_mul(g, mica_sin(g, x), y)
                       : which == 1 ? mica_add(g, x, mica_mul(g, y, y))
                                    : y;
    mica_output(g, first);
    mica_output(g, which == 1 ? y : x);
    return g;
}

static void build_cond(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *yes = branch(0, dtype), *no = branch(1, dtype);
    mica_value out[2];
    mica_cond(g, operands[0], yes, no, operands + 1, 2, out);
    output_all(g, out, 2);
    mica_graph_release(yes);
    mica_graph_release(no);
}

static void build_case(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *branches[3] = {branch(0, dtype), branch(1, dtype), branch(2, dtype)};
    mica_value out[2];
    mica_case(g, operands[0], branches, 3, operands + 1, 2, out);
    output_all(g, out, 2);
    for (int i = 0; i < 3; i++) mica_graph_release(branches[i]);
}

/* ---- while ------------------------------------------------------------------------------------*/

/* (limit, w, i, x): while i < limit, x = sin(w x) + x. The trip count is data. */
static mica_graph *counting_condition(mica_dtype dtype) {
    mica_graph *g = harness_region("counting");
    mica_value limit = harness_parameter(g, MICA_DTYPE_i32, MICA_NO_INTS);
    harness_parameter(g, dtype, MICA_INTS(3));
    mica_value i = harness_parameter(g, MICA_DTYPE_i32, MICA_NO_INTS);
    harness_parameter(g, dtype, MICA_INTS(3));
    mica_output(g, mica_compare(g, i, limit, "lt"));
    return g;
}

static mica_graph *counting_body(mica_dtype dtype) {
    mica_graph *g = harness_region("body");
    harness_parameter(g, MICA_DTYPE_i32, MICA_NO_INTS);
    mica_value w = harness_parameter(g, dtype, MICA_INTS(3));
    mica_value i = harness_parameter(g, MICA_DTYPE_i32, MICA_NO_INTS);
    mica_value x = harness_parameter(g, dtype, MICA_INTS(3));
    mica_output(g, mica_add(g, i, mica_scalar(g, MICA_DTYPE_i32, 1)));
    mica_output(g, mica_add(g, mica_sin(g, mica_mul(g, w, x)), x));
    return g;
}

/* operands: limit, w, x */
static void build_while(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *condition = counting_condition(dtype), *body = counting_body(dtype);
    mica_value in[4] = {operands[0], operands[1], mica_scalar(g, MICA_DTYPE_i32, 0), operands[2]};
    mica_value out[2];
    mica_while(g, condition, body, in, 4, 2, out);
    mica_output(g, out[1]);
    mica_output(g, out[0]);
    mica_graph_release(condition);
    mica_graph_release(body);
}

/* Newton's iteration for the square root of a, until it changes by less than 0.01: the predicate
 * looks at floats. operands: a, starting from a itself. */
static void build_newton(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *condition = harness_region("moving"), *body = harness_region("newton");
    for (int which = 0; which < 2; which++) {
        mica_graph *r = which ? body : condition;
        mica_value a = harness_parameter(r, dtype, MICA_NO_INTS),
                   x = harness_parameter(r, dtype, MICA_NO_INTS);
        mica_value half = mica_scalar(r, dtype, 0.5);
        mica_value next = mica_mul(r, half, mica_add(r, x, mica_div(r, a, x)));
        mica_value change = mica_abs(r, mica_sub(r, next, x));
        mica_output(r, which ? next : mica_compare(r, change, mica_scalar(r, dtype, 0.01), "gt"));
    }
    mica_value in[2] = {operands[0], operands[0]}, out;
    mica_while(g, condition, body, in, 2, 1, &out);
    mica_output(g, out);
    mica_graph_release(condition);
    mica_graph_release(body);
}

/* ---- scan -------------------------------------------------------------------------------------*/

/* (a, c, x) -> (tanh(a c + x), c x): a of two, c of two, x of two. */
static mica_graph *recurrence(mica_dtype dtype) {
    mica_graph *g = harness_region("recurrence");
    mica_value a = harness_parameter(g, dtype, MICA_INTS(2)),
               c = harness_parameter(g, dtype, MICA_INTS(2));
    mica_value x = harness_parameter(g, dtype, MICA_INTS(2));
    mica_output(g, mica_tanh(g, mica_add(g, mica_mul(g, a, c), x)));
    mica_output(g, mica_mul(g, c, x));
    return g;
}

static void scan_with(mica_graph *g, const mica_value *operands, mica_graph *body, bool reverse) {
    mica_value out[2];
    int64_t length = mica_value_type(operands[2])->dims[0];
    mica_scan(g, body, operands, 3, 1, 1, length, reverse, out);
    output_all(g, out, 2);
    mica_graph_release(body);
}

static void build_scan(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    scan_with(g, operands, recurrence(dtype), false);
}

static void build_reverse_scan(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    scan_with(g, operands, recurrence(dtype), true);
}

/* No xs and an integer carry: a power by repeated multiplication, four times. */
static void build_power(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *body = harness_region("power");
    mica_value x = harness_parameter(body, dtype, MICA_INTS(2));
    mica_value count = harness_parameter(body, MICA_DTYPE_i32, MICA_NO_INTS);
    mica_value y = harness_parameter(body, dtype, MICA_INTS(2));
    mica_value next = mica_mul(body, x, y);
    mica_output(body, mica_add(body, count, mica_scalar(body, MICA_DTYPE_i32, 1)));
    mica_output(body, next);
    mica_output(body, mica_mul(body, next, mica_convert(body, count, dtype)));
    mica_value in[3] = {operands[0], mica_scalar(g, MICA_DTYPE_i32, 0), operands[0]}, out[3];
    mica_scan(g, body, in, 3, 1, 2, 4, false, out);
    output_all(g, out, 3);
    mica_graph_release(body);
}

/* A scan whose body branches on the sign of the carry's first element. */
static void build_scan_of_cond(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *body = harness_region("branching"), *yes = branch(0, dtype), *no = branch(1, dtype);
    mica_value a = harness_parameter(body, dtype, MICA_INTS(3)),
               c = harness_parameter(body, dtype, MICA_INTS(3));
    mica_value x = harness_parameter(body, dtype, MICA_INTS(3)), out[2], in[2] = {c, x};
    mica_value total = mica_sum(body, mica_mul(body, a, x), MICA_INTS(0));
    mica_value positive = mica_compare(body, total, mica_scalar(body, dtype, 0), "gt");
    mica_cond(body, positive, yes, no, in, 2, out);
    mica_output(body, out[0]);
    mica_output(body, mica_mul(body, out[1], a));
    mica_graph_release(yes);
    mica_graph_release(no);
    scan_with(g, operands, body, false);
}

/* A scan whose body holds a while loop with a trip count out of its xs. */
static void build_scan_of_while(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *body = harness_region("looping"), *condition = counting_condition(dtype);
    mica_graph *inner = counting_body(dtype);
    mica_value w = harness_parameter(body, dtype, MICA_INTS(3)),
               c = harness_parameter(body, dtype, MICA_INTS(3));
    mica_value limit = harness_parameter(body, MICA_DTYPE_i32, MICA_NO_INTS), out[2];
    mica_value in[4] = {limit, w, mica_scalar(body, MICA_DTYPE_i32, 0), c};
    mica_while(body, condition, inner, in, 4, 2, out);
    mica_output(body, out[1]);
    mica_output(body, mica_sum(body, out[1], MICA_INTS(0)));
    mica_graph_release(condition);
    mica_graph_release(inner);
    scan_with(g, operands, body, false);
}

/* ---- composites -------------------------------------------------------------------------------*/

/* (x, y) -> x^2 y, sum of tanh(x). */
static mica_graph *function_of_two(mica_dtype dtype) {
    mica_graph *g = harness_region("function");
    mica_value x = harness_parameter(g, dtype, MICA_INTS(3)),
               y = harness_parameter(g, dtype, MICA_INTS(3));
    mica_output(g, mica_mul(g, mica_mul(g, x, x), y));
    mica_output(g, mica_sum(g, mica_tanh(g, x), MICA_INTS(0)));
    return g;
}

/* Its vjp: (x, y, r0, r1, c0, c1) -> 2 x y c0 + (1 - tanh(x)^2) c1, x^2 c0. */
static mica_graph *vjp_of_two(mica_dtype dtype) {
    mica_graph *g = harness_region("vjp");
    mica_value x = harness_parameter(g, dtype, MICA_INTS(3)),
               y = harness_parameter(g, dtype, MICA_INTS(3));
    harness_parameter(g, dtype, MICA_INTS(3));
    harness_parameter(g, dtype, MICA_NO_INTS);
    mica_value c0 = harness_parameter(g, dtype, MICA_INTS(3)),
               c1 = harness_parameter(g, dtype, MICA_NO_INTS);
    mica_value xy = mica_mul(g, x, y), th = mica_tanh(g, x);
    mica_value slope = mica_sub(g, mica_scalar(g, dtype, 1), mica_mul(g, th, th));
    mica_output(g, mica_add(g, mica_mul(g, mica_add(g, xy, xy), c0), mica_mul(g, slope, c1)));
    mica_output(g, mica_mul(g, mica_mul(g, x, x), c0));
    return g;
}

static void build_call(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *body = function_of_two(dtype);
    mica_value out[2];
    mica_call(g, "two", "", body, NULL, NULL, operands, 2, out);
    output_all(g, out, 2);
    mica_graph_release(body);
}

static void build_call_with_vjp(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *body = function_of_two(dtype), *vjp = vjp_of_two(dtype);
    mica_value out[2];
    mica_call(g, "two", "squared", body, "two_vjp", vjp, operands, 2, out);
    output_all(g, out, 2);
    mica_graph_release(body);
    mica_graph_release(vjp);
}

static void build_custom_gradient(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *body = function_of_two(dtype), *vjp = vjp_of_two(dtype);
    mica_value out[2];
    mica_custom_gradient(g, body, vjp, operands, 2, out);
    output_all(g, out, 2);
    mica_graph_release(body);
    mica_graph_release(vjp);
}

static void build_remat(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *body = function_of_two(dtype);
    mica_value out[2];
    mica_remat(g, body, operands, 2, out);
    output_all(g, out, 2);
    mica_graph_release(body);
}

static void build_remat_of_scan(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *body = harness_region("rematerialised");
    mica_value in[3] = {harness_parameter(body, dtype, MICA_INTS(2)),
                        harness_parameter(body, dtype, MICA_INTS(2)),
                        harness_parameter(body, dtype, MICA_INTS(4, 2))};
    mica_value out[2];
    scan_with(body, in, recurrence(dtype), false);
    mica_remat(g, body, operands, 3, out);
    output_all(g, out, 2);
    mica_graph_release(body);
}

static void build_barrier(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    (void)dtype;
    mica_value out[2];
    mica_barrier(g, operands, 2, out);
    mica_output(g, mica_mul(g, out[0], out[1]));
}

/* ---- lists ------------------------------------------------------------------------------------*/

/* Pushes x and y, pops three times; the third pop is of the empty list. */
static void build_lists(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_type element = mica_type_make(dtype, MICA_INTS(3));
    mica_value list = mica_list_empty(g, &element), top;
    list = mica_list_push(g, list, mica_mul(g, operands[0], operands[1]));
    list = mica_list_push(g, list, operands[1]);
    for (int i = 0; i < 3; i++) {
        mica_value rest;
        mica_list_pop(g, list, &rest, &top);
        mica_output(g, mica_mul(g, top, operands[0]));
        list = rest;
    }
}

/* ---- collectives ------------------------------------------------------------------------------*/

static void build_axis_index(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_value i = mica_convert(g, mica_axis_index(g, "batch"), dtype);
    mica_output(g, mica_mul(g, operands[0], i));
    mica_output(g, mica_axis_index(g, "batch"));
}

static void expect_axis_index(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_output(g, mica_mul(g, operands[0], mica_iota(g, MICA_INTS(3, 2), 0, dtype)));
    mica_output(g, mica_iota(g, MICA_INTS(3), 0, MICA_DTYPE_i32));
}

/* Of what they are given, and of what all have in common. */
static void all_reduce_of(mica_graph *g, const mica_value *operands, const char *kind) {
    mica_value total = mica_all_reduce(g, operands[0], kind, "batch");
    mica_value common = mica_all_reduce(g, mica_full_like(g, operands[0], 2), kind, "batch");
    mica_output(g, mica_mul(g, operands[0], total));
    mica_output(g, mica_mul(g, operands[0], common));
    mica_output(g, total);
}

static void expect_all_reduce(mica_graph *g, const mica_value *operands, const char *kind) {
    mica_value total = mica_reduce(g, operands[0], kind, MICA_INTS(0));
    mica_value each = mica_broadcast_to(g, total, MICA_INTS(3, 2));
    double common = strcmp(kind, "sum") ? 2 : 6;
    mica_output(g, mica_mul(g, operands[0], each));
    mica_output(g, mica_mul(g, operands[0], mica_full_like(g, operands[0], common)));
    mica_output(g, each);
}

#define ALL_REDUCE(kind)                                                                           \
    static void build_all_##kind(mica_graph *g, const mica_value *operands, mica_dtype dtype) {    \
        (void)dtype;                                                                               \
        all_reduce_of(g, operands, #kind);                                                         \
    }                                                                                              \
    static void expect_all_##kind(mica_graph *g, const mica_value *operands, mica_dtype dtype) {   \
        (void)dtype;                                                                               \
        expect_all_reduce(g, operands, #kind);                                                     \
    }
ALL_REDUCE(sum)
ALL_REDUCE(max)
ALL_REDUCE(min)

/* ---- callback ---------------------------------------------------------------------------------*/

static int64_t doubling;

/* Gives back twice its first input, element by element, and calls the library on the way. */
static mica_status twice(void *context, const void *const *inputs, const mica_type *input_types,
                         int32_t n_inputs, void *const *outputs, const mica_type *output_types,
                         int32_t n_outputs) {
    (void)context, (void)n_inputs, (void)output_types, (void)n_outputs;
    mica_graph *g = NULL;
    MICA_TRY(mica_graph_create("twice", &g));
    mica_value x = mica_parameter(g, &input_types[0]);
    mica_output(g, mica_add(g, x, x));
    mica_status status = mica_ref_evaluate(g, inputs, outputs);
    mica_graph_release(g);
    return status;
}

static void build_callback(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_type type = mica_type_make(dtype, MICA_INTS(3));
    mica_value first[2], second[2];
    if (!doubling) doubling = mica_host_function_register(twice, NULL);
    mica_callback(g, "twice", doubling, mica_token(g), operands, 1, (mica_types){&type, 1}, first);
    mica_value sum = mica_add(g, first[1], operands[1]);
    mica_callback(g, "twice", doubling, first[0], &sum, 1, (mica_types){&type, 1}, second);
    mica_output(g, second[1]);
    mica_output(g, first[1]);
}

/* A callback in every step of a scan: the token is a carry. */
static void build_scan_of_callback(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *body = harness_region("calling");
    mica_type token = mica_type_token(), type = mica_type_make(dtype, MICA_INTS(3));
    mica_value t = mica_parameter(body, &token), c = mica_parameter(body, &type);
    mica_value x = mica_parameter(body, &type), out[2];
    if (!doubling) doubling = mica_host_function_register(twice, NULL);
    mica_callback(body, "twice", doubling, t, &c, 1, (mica_types){&type, 1}, out);
    mica_output(body, out[0]);
    mica_output(body, mica_add(body, out[1], x));
    mica_output(body, mica_mul(body, out[1], x));
    mica_value in[3] = {mica_token(g), operands[0], operands[1]}, results[3];
    mica_scan(g, body, in, 3, 0, 2, 4, false, results);
    output_all(g, results + 1, 2);
    mica_graph_release(body);
}

void control_cases_close(void) {
    if (doubling) mica_host_function_unregister(doubling);
    doubling = 0;
}

/* ---- the table --------------------------------------------------------------------------------*/

#define TYPICAL "f32 f64"
#define PREDICATE SCALAR(MICA_DTYPE_bool, 0, 1)
#define TWO_VECTORS                                                                                \
    { OF(3), OF(3) }

static const op_case cases[] = {
    {.op = MICA_OP_cond,
     .n_operands = 3,
     .operands = {PREDICATE, OF(3), OF(3)},
     .build = build_cond,
     .dtypes = TYPICAL},
    {.op = MICA_OP_case,
     .n_operands = 3,
     .operands = {SCALAR(MICA_DTYPE_i32, -1, 3), OF(3), OF(3)},
     .build = build_case,
     .dtypes = TYPICAL},
    {.op = MICA_OP_while,
     .n_operands = 3,
     .operands = {SCALAR(MICA_DTYPE_i32, 0, 4), SHAPED(VARIES, 0.3, 1, 3), OF(3)},
     .build = build_while,
     .dtypes = TYPICAL},
    {.op = MICA_OP_while,
     .name = "of Newton",
     .n_operands = 1,
     .operands = {SCALAR(VARIES, 8, 9)},
     .build = build_newton,
     .dtypes = TYPICAL},
    {.op = MICA_OP_scan,
     .n_operands = 3,
     .operands = {OF(2), OF(2), OF(4, 2)},
     .build = build_scan,
     .dtypes = TYPICAL},
    {.op = MICA_OP_scan,
     .name = "in reverse",
     .n_operands = 3,
     .operands = {OF(2), OF(2), OF(3, 2)},
     .build = build_reverse_scan,
     .dtypes = TYPICAL},
    {.op = MICA_OP_scan,
     .name = "of length zero",
     .n_operands = 3,
     .operands = {OF(2), OF(2), OF(0, 2)},
     .build = build_scan,
     .dtypes = TYPICAL},
    {.op = MICA_OP_scan,
     .name = "without xs",
     .n_operands = 1,
     .operands = {SHAPED(VARIES, 0.5, 1.5, 2)},
     .build = build_power,
     .dtypes = TYPICAL},
    {.op = MICA_OP_scan,
     .name = "of cond",
     .n_operands = 3,
     .operands = {OF(3), OF(3), OF(3, 3)},
     .build = build_scan_of_cond,
     .dtypes = TYPICAL},
    {.op = MICA_OP_scan,
     .name = "of while",
     .n_operands = 3,
     .operands = {SHAPED(VARIES, 0.3, 1, 3), OF(3), SHAPED(MICA_DTYPE_i32, 0, 3, 3)},
     .build = build_scan_of_while,
     .dtypes = TYPICAL},
    {.op = MICA_OP_call,
     .n_operands = 2,
     .operands = TWO_VECTORS,
     .build = build_call,
     .dtypes = TYPICAL},
    {.op = MICA_OP_call,
     .name = "with a vjp",
     .n_operands = 2,
     .operands = TWO_VECTORS,
     .build = build_call_with_vjp,
     .dtypes = TYPICAL},
    {.op = MICA_OP_custom_gradient,
     .n_operands = 2,
     .operands = TWO_VECTORS,
     .build = build_custom_gradient,
     .dtypes = TYPICAL},
    {.op = MICA_OP_remat,
     .n_operands = 2,
     .operands = TWO_VECTORS,
     .build = build_remat,
     .dtypes = TYPICAL},
    {.op = MICA_OP_remat,
     .name = "of scan",
     .n_operands = 3,
     .operands = {OF(2), OF(2), OF(4, 2)},
     .build = build_remat_of_scan,
     .dtypes = TYPICAL},
    {.op = MICA_OP_barrier,
     .n_operands = 2,
     .operands = TWO_VECTORS,
     .build = build_barrier,
     .dtypes = TYPICAL},
    {.op = MICA_OP_list_push,
     .n_operands = 2,
     .operands = TWO_VECTORS,
     .build = build_lists,
     .dtypes = TYPICAL},
    {.op = MICA_OP_list_pop,
     .n_operands = 2,
     .operands = TWO_VECTORS,
     .build = build_lists,
     .dtypes = TYPICAL},
    {.op = MICA_OP_axis_index,
     .n_operands = 1,
     .operands = {OF(2)},
     .build = build_axis_index,
     .expected = expect_axis_index,
     .dtypes = TYPICAL,
     .flags = NAMED_AXIS},
    {.op = MICA_OP_all_reduce,
     .name = "sum",
     .n_operands = 1,
     .operands = {OF(2)},
     .build = build_all_sum,
     .expected = expect_all_sum,
     .dtypes = "i32 f32 f64 c64 c128",
     .flags = NAMED_AXIS},
    {.op = MICA_OP_all_reduce,
     .name = "max",
     .n_operands = 1,
     .operands = {OF(2)},
     .build = build_all_max,
     .expected = expect_all_max,
     .dtypes = "i32 f32 f64",
     .flags = NAMED_AXIS | DISTINCT},
    {.op = MICA_OP_all_reduce,
     .name = "min",
     .n_operands = 1,
     .operands = {OF(2)},
     .build = build_all_min,
     .expected = expect_all_min,
     .dtypes = "i32 f32 f64",
     .flags = NAMED_AXIS | DISTINCT},
    {.op = MICA_OP_callback,
     .n_operands = 2,
     .operands = TWO_VECTORS,
     .build = build_callback,
     .dtypes = "i32 f32 f64",
     .flags = OPAQUE},
    {.op = MICA_OP_scan,
     .name = "of callback",
     .n_operands = 2,
     .operands = {OF(3), OF(4, 3)},
     .build = build_scan_of_callback,
     .dtypes = "i32 f32 f64",
     .flags = OPAQUE},
};

const case_table control_cases = {cases, sizeof cases / sizeof *cases};
