/* Control flow, lists and callbacks: the commands of cpu and fake against the reference, which
 * shares nothing with them but the graph. */
#include "runtime_test.h"

static const char *const passes[] = {NULL, "-plan", "-inline,-simplify,-schedule",
                                     "-inline,-simplify,-schedule,-plan"};

/* Every device and every set of passes gives what the reference gives. Releases g. */
static void compare(mica_graph *g, const void *const *inputs, const char *file, int line) {
    outcome expected, found;
    if (test_ok(mica_graph_verify(g), file, line, "verify") &&
        evaluate("ref", NULL, g, inputs, &expected)) {
        for (int i = 0; i < 8; i++) {
            const char *device = i % 2 ? "fake" : "cpu";
            test_checks++;
            if (!evaluate(device, passes[i / 2], g, inputs, &found) ||
                memcmp(&expected, &found, sizeof found) != 0)
                test_report(file, line, "%s with passes '%s' differs from ref", device,
                            passes[i / 2] ? passes[i / 2] : "");
        }
    }
    mica_graph_release(g);
}
#define COMPARE(g, ...) compare(g, (const void *[]){__VA_ARGS__}, __FILE__, __LINE__)

static mica_value parameter_of(mica_graph *g, int64_t n) {
    mica_type type = vector(n);
    return mica_parameter(g, &type);
}

static mica_value scalar_parameter(mica_graph *g, mica_dtype dtype) {
    mica_type type = mica_type_scalar(dtype);
    return mica_parameter(g, &type);
}

/* (x, y) -> (x + y, x) or (x y, y) */
static mica_graph *branch_region(bool multiply) {
    mica_graph *r = new_graph(multiply ? "multiply" : "add");
    mica_value x = parameter_of(r, 3), y = parameter_of(r, 3);
    mica_output(r, multiply ? mica_mul(r, x, y) : mica_add(r, x, y));
    mica_output(r, multiply ? y : x);
    return r;
}

static const float three[3] = {1, 2, 3}, others[3] = {10, 20, 30};

TEST(cond_takes_the_branch_its_predicate_says) {
    for (int predicate = 0; predicate < 2; predicate++) {
        mica_graph *g = new_graph("cond"), *a = branch_region(false), *b = branch_region(true);
        mica_value p = scalar_parameter(g, MICA_DTYPE_bool), out[2];
        mica_value arguments[2] = {parameter_of(g, 3), parameter_of(g, 3)};
        mica_cond(g, p, a, b, arguments, 2, out);
        mica_output(g, mica_neg(g, out[0]));
        mica_output(g, out[1]);
        mica_output(g, out[0]);
        mica_graph_release(a);
        mica_graph_release(b);
        uint8_t value = (uint8_t)predicate;
        COMPARE(g, &value, three, others);
    }
}

TEST(case_takes_the_last_branch_when_out_of_range) {
    for (int32_t index = -1; index < 4; index++) {
        mica_graph *g = new_graph("case");
        mica_graph *branches[] = {branch_region(false), branch_region(true), branch_region(false)};
        mica_value i = scalar_parameter(g, MICA_DTYPE_i32), out[2];
        mica_value arguments[2] = {parameter_of(g, 3), parameter_of(g, 3)};
        mica_case(g, i, branches, 3, arguments, 2, out);
        mica_output(g, out[0]);
        mica_output(g, out[1]);
        for (int k = 0; k < 3; k++) mica_graph_release(branches[k]);
        COMPARE(g, &index, three, others);
    }
}

/* (limit, i, x, y) -> i < limit */
static mica_graph *counting_condition(void) {
    mica_graph *r = new_graph("condition");
    mica_value limit = scalar_parameter(r, MICA_DTYPE_i32), i = scalar_parameter(r, MICA_DTYPE_i32);
    parameter_of(r, 3);
    parameter_of(r, 3);
    mica_output(r, mica_compare(r, i, limit, "lt"));
    return r;
}

/* kind 0: (i + 1, x + y, y); 1: exchange of the two; 2: both new from both old */
static mica_graph *counting_body(int kind) {
    mica_graph *r = new_graph("body");
    scalar_parameter(r, MICA_DTYPE_i32);
    mica_value i = scalar_parameter(r, MICA_DTYPE_i32), x = parameter_of(r, 3),
               y = parameter_of(r, 3);
    mica_output(r, mica_add(r, i, mica_scalar(r, MICA_DTYPE_i32, 1)));
    mica_output(r, kind == 0 ? mica_add(r, x, y) : kind == 1 ? y : mica_sub(r, y, x));
    mica_output(r, kind == 0 ? y : kind == 1 ? x : mica_mul(r, x, y));
    return r;
}

TEST(while_repeats_and_carries_may_exchange) {
    for (int k = 0; k < 12; k++) {
        mica_graph *g = new_graph("while"), *condition = counting_condition(),
                   *body = counting_body(k % 3);
        mica_value operands[4] = {scalar_parameter(g, MICA_DTYPE_i32),
                                  mica_scalar(g, MICA_DTYPE_i32, 0)};
        operands[2] = parameter_of(g, 3);
        /* The second time round, a value that dies in the loop. */
        operands[3] = k < 6 ? parameter_of(g, 3) : mica_neg(g, parameter_of(g, 3));
        mica_value out[3];
        mica_while(g, condition, body, operands, 4, 1, out);
        for (int i = 0; i < 3; i++) mica_output(g, out[i]);
        mica_graph_release(condition);
        mica_graph_release(body);
        int32_t limit = k / 3;
        COMPARE(g, &limit, three, others);
    }
}

/* (c, s, x, z) -> (s + c x, s x, x, c) */
static mica_graph *scan_body(void) {
    mica_graph *r = new_graph("body");
    mica_value c = parameter_of(r, 2), s = parameter_of(r, 2), x = parameter_of(r, 2);
    scalar_parameter(r, MICA_DTYPE_f32);
    mica_output(r, mica_add(r, s, mica_mul(r, c, x)));
    mica_output(r, mica_mul(r, s, x));
    mica_output(r, x);
    mica_output(r, c);
    return r;
}

TEST(scan_slices_its_inputs_and_stacks_its_outputs) {
    static const float c[2] = {2, 3}, s[2] = {1, -1}, xs[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
                       zs[5] = {0};
    for (int k = 0; k < 4; k++) {
        int64_t length = k < 2 ? 5 : 0;
        mica_graph *g = new_graph("scan"), *body = scan_body();
        mica_type matrix = mica_type_make(MICA_DTYPE_f32, MICA_INTS(length, 2));
        mica_type column = vector(length);
        mica_value operands[4] = {parameter_of(g, 2), parameter_of(g, 2)}, out[4];
        operands[2] = mica_parameter(g, &matrix);
        operands[3] = mica_parameter(g, &column);
        mica_scan(g, body, operands, 4, 1, 1, length, k % 2, out);
        for (int i = 0; i < 4; i++) mica_output(g, out[i]);
        mica_graph_release(body);
        COMPARE(g, c, s, xs, zs);
    }
}

/* A scan whose body holds a while whose body holds a cond. */
TEST(control_flow_nests) {
    mica_graph *then_region = branch_region(false), *else_region = branch_region(true);
    mica_graph *loop_body = new_graph("loop_body"), *condition = counting_condition();
    {
        mica_graph *r = loop_body;
        mica_value limit = scalar_parameter(r, MICA_DTYPE_i32);
        mica_value i = scalar_parameter(r, MICA_DTYPE_i32), out[2];
        mica_value xy[2] = {parameter_of(r, 3), parameter_of(r, 3)};
        mica_value odd =
            mica_compare(r, mica_rem(r, mica_add(r, i, limit), mica_scalar(r, MICA_DTYPE_i32, 2)),
                         mica_scalar(r, MICA_DTYPE_i32, 1), "eq");
        mica_cond(r, odd, then_region, else_region, xy, 2, out);
        mica_output(r, mica_add(r, i, mica_scalar(r, MICA_DTYPE_i32, 1)));
        mica_output(r, mica_sub(r, out[0], mica_scalar(r, MICA_DTYPE_f32, 1)));
        mica_output(r, out[1]);
    }
    mica_graph *body = new_graph("scan_body");
    {
        mica_graph *r = body;
        mica_value x = parameter_of(r, 3), limit = scalar_parameter(r, MICA_DTYPE_i32), out[3];
        mica_value operands[4] = {limit, mica_scalar(r, MICA_DTYPE_i32, 0), x,
                                  mica_mul(r, x, mica_scalar(r, MICA_DTYPE_f32, 0.5))};
        mica_while(r, condition, loop_body, operands, 4, 1, out);
        mica_output(r, mica_sub(r, out[1], out[2]));
        mica_output(r, out[1]);
    }
    mica_graph *g = new_graph("nested");
    mica_type limits = mica_type_make(MICA_DTYPE_i32, MICA_INTS(4));
    mica_value operands[2] = {parameter_of(g, 3), mica_parameter(g, &limits)}, out[2];
    mica_scan(g, body, operands, 2, 0, 1, 4, false, out);
    mica_output(g, out[0]);
    mica_output(g, out[1]);
    mica_graph_release(then_region);
    mica_graph_release(else_region);
    mica_graph_release(loop_body);
    mica_graph_release(condition);
    mica_graph_release(body);
    int32_t values[4] = {2, 0, 3, 1};
    COMPARE(g, three, values);
}

/* ---- lists
 * --------------------------------------------------------------------------------------*/

/* (n, i, list, x) -> pushes x, x + 1, ... */
static mica_graph *pushing_body(const mica_type *list) {
    mica_graph *r = new_graph("push");
    scalar_parameter(r, MICA_DTYPE_i32);
    mica_value i = scalar_parameter(r, MICA_DTYPE_i32), l = mica_parameter(r, list);
    mica_value x = parameter_of(r, 3);
    mica_output(r, mica_add(r, i, mica_scalar(r, MICA_DTYPE_i32, 1)));
    mica_output(r, mica_list_push(r, l, x));
    mica_output(r, mica_add(r, x, mica_scalar(r, MICA_DTYPE_f32, 1)));
    return r;
}

static mica_graph *list_condition(const mica_type *list) {
    mica_graph *r = new_graph("condition");
    mica_value n = scalar_parameter(r, MICA_DTYPE_i32), i = scalar_parameter(r, MICA_DTYPE_i32);
    mica_parameter(r, list);
    parameter_of(r, 3);
    mica_output(r, mica_compare(r, i, n, "lt"));
    return r;
}

/* s becomes 2 s + the popped element, so that the order shows */
static mica_graph *popping_body(const mica_type *list) {
    mica_graph *r = new_graph("pop");
    scalar_parameter(r, MICA_DTYPE_i32);
    mica_value i = scalar_parameter(r, MICA_DTYPE_i32), l = mica_parameter(r, list);
    mica_value s = parameter_of(r, 3), rest, top;
    mica_list_pop(r, l, &rest, &top);
    mica_output(r, mica_add(r, i, mica_scalar(r, MICA_DTYPE_i32, 1)));
    mica_output(r, rest);
    mica_output(r, mica_add(r, mica_mul(r, s, mica_scalar(r, MICA_DTYPE_f32, 2)), top));
    return r;
}

static mica_graph *list_graph(void) {
    mica_graph *g = new_graph("lists");
    mica_type element = vector(3), list = mica_type_list_of(&element);
    mica_graph *condition = list_condition(&list), *push = pushing_body(&list),
               *pop = popping_body(&list);
    mica_value pushes = scalar_parameter(g, MICA_DTYPE_i32),
               pops = scalar_parameter(g, MICA_DTYPE_i32);
    mica_value x = parameter_of(g, 3), zero = mica_scalar(g, MICA_DTYPE_i32, 0), out[3], back[3];
    mica_value forward[4] = {pushes, zero, mica_list_empty(g, &element), x};
    mica_while(g, condition, push, forward, 4, 1, out);
    mica_value backward[4] = {pops, zero, out[1], mica_zeros_like(g, x)};
    mica_while(g, condition, pop, backward, 4, 1, back);
    mica_value rest, top, same;
    mica_list_pop(g, out[1], &rest, &top); /* the list is a value: still all there */
    mica_output(g, back[2]);
    mica_output(g, top);
    mica_list_pop(g, back[1], &rest, &same);
    mica_output(g, same);
    mica_graph_release(condition);
    mica_graph_release(push);
    mica_graph_release(pop);
    return g;
}

TEST(lists_grow_and_shrink_and_give_zeros_when_empty) {
    static const int32_t cases[][2] = {{0, 0}, {1, 1}, {5, 3}, {5, 9}, {100, 100}};
    for (int i = 0; i < 5; i++) COMPARE(list_graph(), &cases[i][0], &cases[i][1], three);
}

TEST(lists_go_through_branches) {
    for (int predicate = 0; predicate < 2; predicate++) {
        mica_graph *g = new_graph("branches"), *regions[2];
        mica_type element = vector(3), list = mica_type_list_of(&element);
        for (int k = 0; k < 2; k++) {
            mica_graph *r = regions[k] = new_graph(k ? "keep" : "push");
            mica_value l = mica_parameter(r, &list), x = parameter_of(r, 3);
            mica_output(r, k ? l : mica_list_push(r, l, x));
        }
        mica_value p = scalar_parameter(g, MICA_DTYPE_bool), x = parameter_of(g, 3);
        mica_value arguments[2] = {mica_list_push(g, mica_list_empty(g, &element), mica_neg(g, x)),
                                   x};
        mica_value out, rest, top;
        mica_cond(g, p, regions[0], regions[1], arguments, 2, &out);
        mica_list_pop(g, out, &rest, &top);
        mica_output(g, top);
        mica_graph_release(regions[0]);
        mica_graph_release(regions[1]);
        uint8_t value = (uint8_t)predicate;
        COMPARE(g, &value, three);
    }
}

/* ---- composites
 * ---------------------------------------------------------------------------------*/

TEST(calls_and_remat_are_their_bodies) {
    mica_graph *g = new_graph("calls"), *body = branch_region(true);
    mica_value arguments[2] = {parameter_of(g, 3), parameter_of(g, 3)}, out[2], again[2], fenced[2];
    mica_call(g, "product", "", body, "", NULL, arguments, 2, out);
    mica_remat(g, body, out, 2, again);
    mica_barrier(g, again, 2, fenced);
    mica_output(g, fenced[0]);
    mica_output(g, fenced[1]);
    mica_output(g, out[0]);
    mica_graph_release(body);
    COMPARE(g, three, others);
}

/* ---- callbacks
 * ----------------------------------------------------------------------------------*/

typedef struct tally {
    int calls;
    double seen;
    mica_code fails; /* the callback answers this */
} tally;

static mica_status scale_by_ten(void *context, const void *const *inputs,
                                const mica_type *input_types, int32_t n_inputs,
                                void *const *outputs, const mica_type *output_types,
                                int32_t n_outputs) {
    tally *t = context;
    t->calls++;
    if (t->fails) return mica_status_create(t->fails, "[scale] no");
    if (n_inputs != 1 || n_outputs != 1 || !mica_type_equal(&input_types[0], &output_types[0]))
        return mica_status_create(MICA_INTERNAL, "[scale] wrong arguments");
    for (int64_t i = 0; i < mica_type_elements(&input_types[0]); i++) {
        t->seen += ((const float *)inputs[0])[i];
        ((float *)outputs[0])[i] = 10 * ((const float *)inputs[0])[i];
    }
    return NULL;
}

static mica_graph *callback_graph(int64_t function) {
    mica_graph *g = new_graph("callback");
    mica_type type = vector(3);
    mica_value x = parameter_of(g, 3), y = mica_add(g, x, x), first[2], second[2];
    mica_callback(g, "scale", function, mica_token(g), &y, 1, (mica_types){&type, 1}, first);
    mica_callback(g, "scale", function, first[0], &first[1], 1, (mica_types){&type, 1}, second);
    mica_output(g, mica_sub(g, second[1], x));
    return g;
}

TEST(callbacks_get_their_arguments_and_give_results) {
    tally t = {0};
    int64_t function = mica_host_function_register(scale_by_ten, &t);
    REQUIRE(function != 0);
    COMPARE(callback_graph(function), three);
    CHECK(t.calls == 2 * (1 + 4 + 4 * 3)); /* two callbacks: on ref, cpu, and fake three times */
    mica_host_function_unregister(function);
}

TEST(a_callback_that_fails_fails_the_run) {
    tally t = {.fails = MICA_CALLBACK_ERROR};
    int64_t function = mica_host_function_register(scale_by_ten, &t);
    static const char *const names[] = {"cpu", "fake", "ref"};
    for (int d = 0; d < 3; d++) {
        mica_device *device = open_device(names[d]);
        mica_graph *g = callback_graph(function);
        mica_executable *exe = compile(device, g, NULL);
        mica_tensor *x = floats(device, three, 3), *y = NULL;
        mica_event *done = NULL;
        float data[3];
        mica_run_args args = {
            .size = sizeof args, .inputs = &x, .n_inputs = 1, .outputs = &y, .n_outputs = 1};
        REQUIRE_OK(mica_executable_run(exe, &args, &done));
        CHECK_FAILS(mica_event_wait(done), MICA_CALLBACK_ERROR, "[scale] no");
        CHECK_FAILS(mica_event_wait(done), MICA_CALLBACK_ERROR, "[scale] no");
        CHECK_FAILS(mica_tensor_to_host(y, data, sizeof data), MICA_CALLBACK_ERROR, "no");
        mica_tensor *next = NULL; /* and what is computed from its result */
        REQUIRE_OK(run(exe, &y, 1, NULL, &next, 1));
        CHECK_FAILS(mica_tensor_to_host(next, data, sizeof data), MICA_CALLBACK_ERROR, "no");
        CHECK_OK(mica_device_wait(device)); /* the device is well */
        mica_tensor_release(next);
        mica_tensor_release(x);
        mica_tensor_release(y);
        mica_event_release(done);
        mica_executable_release(exe);
        mica_graph_release(g);
        mica_device_release(device);
    }
    CHECK(t.calls == 3);
    mica_host_function_unregister(function);
}

TEST(an_unknown_callback_fails_the_run) {
    tally t = {0};
    int64_t function = mica_host_function_register(scale_by_ten, &t);
    mica_graph *g = callback_graph(function);
    mica_host_function_unregister(function);
    mica_device *device = open_device("cpu");
    mica_executable *exe = compile(device, g, NULL);
    mica_tensor *x = floats(device, three, 3), *y = NULL;
    float data[3];
    REQUIRE_OK(run(exe, &x, 1, NULL, &y, 1));
    CHECK_FAILS(mica_tensor_to_host(y, data, sizeof data), MICA_FAILED_PRECONDITION, "[callback]");
    mica_tensor_release(x);
    mica_tensor_release(y);
    mica_executable_release(exe);
    mica_graph_release(g);
    mica_device_release(device);
}
