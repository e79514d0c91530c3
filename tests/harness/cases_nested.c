/* Control flow inside control flow. Each case counts for the op of its outermost node. */
#include "harness.h"

static mica_value vector(mica_graph *g, mica_dtype dtype) {
    return harness_parameter(g, dtype, MICA_INTS(3));
}

static mica_value count(mica_graph *g) {
    return harness_parameter(g, MICA_DTYPE_i32, MICA_NO_INTS);
}

static mica_value integer(mica_graph *g, int value) {
    return mica_scalar(g, MICA_DTYPE_i32, value);
}

static mica_value is_positive(mica_graph *g, mica_value x, mica_dtype dtype) {
    return mica_compare(g, mica_sum(g, x, MICA_INTS(0)), mica_scalar(g, dtype, 0), "gt");
}

/* ---- building blocks: graphs of (w, x), vectors of three, to a vector of three ---------------*/

typedef mica_graph *(*block)(mica_dtype dtype);

static mica_graph *sine(mica_dtype dtype) {
    mica_graph *g = harness_region("sine");
    mica_value w = vector(g, dtype), x = vector(g, dtype);
    mica_output(g, mica_add(g, mica_sin(g, mica_mul(g, w, x)), x));
    return g;
}

static mica_graph *squash(mica_dtype dtype) {
    mica_graph *g = harness_region("squash");
    mica_value w = vector(g, dtype), x = vector(g, dtype);
    mica_output(g, mica_mul(g, mica_tanh(g, x), w));
    return g;
}

/* sine where the sum of x is positive, else squash. */
static mica_graph *branching(mica_dtype dtype) {
    mica_graph *g = harness_region("branching"), *yes = sine(dtype), *no = squash(dtype);
    mica_value in[2] = {vector(g, dtype), vector(g, dtype)}, out;
    mica_cond(g, is_positive(g, in[1], dtype), yes, no, in, 2, &out);
    mica_output(g, out);
    mica_graph_release(yes);
    mica_graph_release(no);
    return g;
}

/* Three times `inside`, as a scan that also stacks what it saw; their sum is added. */
static mica_graph *scanning_of(block inside, mica_dtype dtype) {
    mica_graph *g = harness_region("scanning"), *body = harness_region("step"),
               *step = inside(dtype);
    mica_value in[2] = {vector(body, dtype), vector(body, dtype)}, next;
    mica_inline(body, step, in, 2, &next);
    mica_output(body, next);
    mica_output(body, mica_mul(body, next, in[1]));
    mica_value operands[2] = {vector(g, dtype), vector(g, dtype)}, out[2];
    mica_scan(g, body, operands, 2, 1, 1, 3, false, out);
    mica_value total = mica_mean(g, mica_sin(g, out[1]), MICA_INTS(0));
    mica_output(g, mica_add(g, out[0], total));
    mica_graph_release(body);
    mica_graph_release(step);
    return g;
}

/* While the sum of squares is below 20 and at most four times: x = inside(w, x) + 1. */
static mica_graph *looping_of(block inside, mica_dtype dtype) {
    mica_graph *g = harness_region("looping"), *condition = harness_region("small"),
               *body = harness_region("step");
    mica_graph *step = inside(dtype);
    vector(condition, dtype);
    mica_value i = count(condition), x = vector(condition, dtype);
    mica_value size = mica_sum(condition, mica_mul(condition, x, x), MICA_INTS(0));
    mica_value small = mica_compare(condition, size, mica_scalar(condition, dtype, 20), "lt");
    mica_value early = mica_compare(condition, i, integer(condition, 4), "lt");
    mica_output(condition, mica_and(condition, small, early));
    mica_value w = vector(body, dtype), next;
    i = count(body);
    mica_value in[2] = {w, vector(body, dtype)};
    mica_inline(body, step, in, 2, &next);
    mica_output(body, mica_add(body, i, integer(body, 1)));
    mica_output(body, mica_add(body, next, mica_scalar(body, dtype, 1)));
    w = vector(g, dtype);
    x = vector(g, dtype);
    mica_value operands[3] = {w, integer(g, 0), x}, out[2];
    mica_while(g, condition, body, operands, 3, 1, out);
    mica_output(g, out[1]);
    mica_graph_release(condition);
    mica_graph_release(body);
    mica_graph_release(step);
    return g;
}

static mica_graph *scanning(mica_dtype dtype) {
    return scanning_of(squash, dtype);
}

static mica_graph *looping(mica_dtype dtype) {
    return looping_of(sine, dtype);
}

static mica_graph *rematerialised(mica_dtype dtype) {
    mica_graph *g = harness_region("rematerialised"), *body = branching(dtype);
    mica_value in[2] = {vector(g, dtype), vector(g, dtype)}, out;
    mica_remat(g, body, in, 2, &out);
    mica_output(g, out);
    mica_graph_release(body);
    return g;
}

/* squash with its own vjp: (w, x, y, c) -> tanh(x) c, w (1 - tanh(x)^2) c. */
static mica_graph *vjp_of_squash(mica_dtype dtype) {
    mica_graph *g = harness_region("vjp");
    mica_value w = vector(g, dtype), x = vector(g, dtype);
    vector(g, dtype);
    mica_value c = vector(g, dtype), th = mica_tanh(g, x);
    mica_value slope = mica_sub(g, mica_scalar(g, dtype, 1), mica_mul(g, th, th));
    mica_output(g, mica_mul(g, th, c));
    mica_output(g, mica_mul(g, mica_mul(g, w, slope), c));
    return g;
}

static mica_graph *custom(mica_dtype dtype) {
    mica_graph *g = harness_region("custom"), *body = squash(dtype), *vjp = vjp_of_squash(dtype);
    mica_value in[2] = {vector(g, dtype), vector(g, dtype)}, out;
    mica_custom_gradient(g, body, vjp, in, 2, &out);
    mica_output(g, out);
    mica_graph_release(body);
    mica_graph_release(vjp);
    return g;
}

static mica_graph *composite(mica_dtype dtype) {
    mica_graph *g = harness_region("composite"), *body = squash(dtype), *vjp = vjp_of_squash(dtype);
    mica_value in[2] = {vector(g, dtype), vector(g, dtype)}, out;
    mica_call(g, "squash", "", body, "squash_vjp", vjp, in, 2, &out);
    mica_output(g, out);
    mica_graph_release(body);
    mica_graph_release(vjp);
    return g;
}

/* ---- the cases: a block, inlined
 * ---------------------------------------------------------------*/

static void inline_block(mica_graph *g, const mica_value *operands, mica_graph *inside) {
    mica_value out;
    mica_inline(g, inside, operands, 2, &out);
    mica_output(g, out);
    mica_graph_release(inside);
}

#define NESTED(name, expression)                                                                   \
    static void build_##name(mica_graph *g, const mica_value *operands, mica_dtype dtype) {        \
        inline_block(g, operands, expression);                                                     \
    }
NESTED(scan_of_scan, scanning_of(scanning, dtype))
NESTED(scan_of_remat, scanning_of(rematerialised, dtype))
NESTED(scan_of_custom, scanning_of(custom, dtype))
NESTED(scan_of_call, scanning_of(composite, dtype))
NESTED(while_of_cond, looping_of(branching, dtype))
NESTED(while_of_scan, looping_of(scanning, dtype))
NESTED(while_of_while, looping_of(looping, dtype))
NESTED(while_of_remat, looping_of(rematerialised, dtype))
NESTED(while_of_custom, looping_of(custom, dtype))
NESTED(while_of_call, looping_of(composite, dtype))

/* A cond with a while in one branch and a scan in the other. */
static void build_cond_of_loops(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *yes = looping(dtype), *no = scanning(dtype);
    mica_value out;
    mica_cond(g, operands[2], yes, no, operands, 2, &out);
    mica_output(g, out);
    mica_graph_release(yes);
    mica_graph_release(no);
}

static void build_remat_of_while(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *body = looping(dtype);
    mica_value out;
    mica_remat(g, body, operands, 2, &out);
    mica_output(g, out);
    mica_graph_release(body);
}

/* Pushes a running product in one scan and pops it, backwards, in another. */
static void build_lists_through_scans(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_type element = mica_type_make(dtype, MICA_INTS(3)), list = mica_type_list_of(&element);
    mica_graph *push = harness_region("push"), *pop = harness_region("pop");
    mica_value w = vector(push, dtype), l = mica_parameter(push, &list), x = vector(push, dtype);
    mica_value next = mica_mul(push, w, mica_sin(push, x));
    mica_output(push, mica_list_push(push, l, next));
    mica_output(push, next);
    l = mica_parameter(pop, &list);
    x = vector(pop, dtype);
    mica_value rest, top;
    mica_list_pop(pop, l, &rest, &top);
    mica_output(pop, rest);
    mica_output(pop, mica_add(pop, x, mica_mul(pop, top, top)));
    mica_value in[3] = {operands[0], mica_list_empty(g, &element), operands[1]}, out[2];
    mica_scan(g, push, in, 3, 1, 2, 3, false, out);
    mica_value again[2] = {out[0], operands[1]}, last[2];
    mica_scan(g, pop, again, 2, 0, 2, 2, false, last);
    mica_output(g, last[1]);
    mica_output(g, out[1]);
    mica_graph_release(push);
    mica_graph_release(pop);
}

/* A sum over the axis inside a scan's body. */
static void build_scan_of_all_reduce(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    mica_graph *body = harness_region("collective");
    mica_value x = vector(body, dtype);
    mica_value total = mica_all_reduce(body, mica_sin(body, x), "sum", "batch");
    mica_output(body, mica_mul(body, total, x));
    mica_value out;
    mica_scan(g, body, operands, 1, 0, 1, 2, false, &out);
    mica_output(g, out);
    mica_graph_release(body);
}

static void expect_scan_of_all_reduce(mica_graph *g, const mica_value *operands, mica_dtype dtype) {
    (void)dtype;
    mica_value x = operands[0];
    for (int i = 0; i < 2; i++) x = mica_mul(g, mica_sum(g, mica_sin(g, x), MICA_INTS(0)), x);
    mica_output(g, x);
}

#define TYPICAL "f32 f64"
#define BLOCK(op_, name_, function)                                                                \
    {                                                                                              \
        .op = MICA_OP_##op_, .name = name_, .n_operands = 2,                                       \
        .operands = {SHAPED(VARIES, 0.3, 1, 3), OF(3)}, .build = function, .dtypes = TYPICAL       \
    }

static const op_case cases[] = {
    BLOCK(scan, "of scan", build_scan_of_scan),
    BLOCK(scan, "of remat of cond", build_scan_of_remat),
    BLOCK(scan, "of custom_gradient", build_scan_of_custom),
    BLOCK(scan, "of call", build_scan_of_call),
    BLOCK(scan, "with lists", build_lists_through_scans),
    BLOCK(while, "of cond", build_while_of_cond),
    BLOCK(while, "of scan", build_while_of_scan),
    BLOCK(while, "of while", build_while_of_while),
    BLOCK(while, "of remat of cond", build_while_of_remat),
    BLOCK(while, "of custom_gradient", build_while_of_custom),
    BLOCK(while, "of call", build_while_of_call),
    BLOCK(remat, "of while", build_remat_of_while),
    {.op = MICA_OP_cond,
     .name = "of loops",
     .n_operands = 3,
     .operands = {SHAPED(VARIES, 0.3, 1, 3), OF(3), SCALAR(MICA_DTYPE_bool, 0, 1)},
     .build = build_cond_of_loops,
     .dtypes = TYPICAL},
    {.op = MICA_OP_scan,
     .name = "of all_reduce",
     .n_operands = 1,
     .operands = {OF(3)},
     .build = build_scan_of_all_reduce,
     .expected = expect_scan_of_all_reduce,
     .dtypes = TYPICAL,
     .flags = NAMED_AXIS},
};

const case_table nested_cases = {cases, sizeof cases / sizeof *cases};
