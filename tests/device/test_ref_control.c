/* The reference's control flow, lists, tokens, callbacks and errors. */
#include "device/ref/ref.h"
#include "test.h"

static mica_graph *graph_of(const char *name) {
    mica_graph *g = NULL;
    CHECK_OK(mica_graph_create(name, &g));
    return g;
}

static mica_value parameter(mica_graph *g, mica_dtype dtype, mica_ints dims) {
    mica_type type = mica_type_make(dtype, dims);
    return mica_parameter(g, &type);
}

/* x -> x * factor, on a scalar f64. */
static mica_graph *times(double factor) {
    mica_graph *g = graph_of("times");
    mica_value x = parameter(g, MICA_DTYPE_f64, MICA_NO_INTS);
    mica_output(g, mica_mul(g, x, mica_scalar(g, MICA_DTYPE_f64, factor)));
    return g;
}

TEST(cond_runs_one_of_two_regions) {
    mica_graph *g = graph_of("cond"), *then_region = times(2), *else_region = times(3);
    mica_value p = parameter(g, MICA_DTYPE_bool, MICA_NO_INTS);
    mica_value x = parameter(g, MICA_DTYPE_f64, MICA_NO_INTS), y;
    mica_cond(g, p, then_region, else_region, &x, 1, &y);
    mica_output(g, y);
    double in = 5, out = 0;
    void *outputs[1] = {&out};
    CHECK_OK(mica_ref_evaluate(g, (const void *[]){(uint8_t[]){1}, &in}, outputs));
    CHECK(out == 10);
    CHECK_OK(mica_ref_evaluate(g, (const void *[]){(uint8_t[]){0}, &in}, outputs));
    CHECK(out == 15);
    mica_graph_release(then_region);
    mica_graph_release(else_region);
    mica_graph_release(g);
}

TEST(case_takes_the_last_branch_when_the_index_is_out_of_range) {
    mica_graph *g = graph_of("case"), *branches[3] = {times(2), times(3), times(4)};
    mica_value i = parameter(g, MICA_DTYPE_i32, MICA_NO_INTS);
    mica_value x = parameter(g, MICA_DTYPE_f64, MICA_NO_INTS), y;
    mica_case(g, i, branches, 3, &x, 1, &y);
    mica_output(g, y);
    int32_t indices[5] = {0, 1, 2, 3, -1};
    double in = 1, out = 0, expected[5] = {2, 3, 4, 4, 4};
    for (int k = 0; k < 5; k++) {
        CHECK_OK(mica_ref_evaluate(g, (const void *[]){&indices[k], &in}, (void *[]){&out}));
        CHECK(out == expected[k]);
    }
    for (int k = 0; k < 3; k++) mica_graph_release(branches[k]);
    mica_graph_release(g);
}

/* Doubles x (carry 1) while it is below a limit (const 0), counting in carry 0. */
static mica_graph *doubling(void) {
    mica_graph *condition = graph_of("condition"), *body = graph_of("body"), *g = graph_of("while");
    mica_value limit = parameter(condition, MICA_DTYPE_f64, MICA_NO_INTS);
    parameter(condition, MICA_DTYPE_i32, MICA_NO_INTS);
    mica_value x = parameter(condition, MICA_DTYPE_f64, MICA_NO_INTS);
    mica_output(condition, mica_compare(condition, x, limit, "lt"));
    parameter(body, MICA_DTYPE_f64, MICA_NO_INTS);
    mica_value count = parameter(body, MICA_DTYPE_i32, MICA_NO_INTS);
    x = parameter(body, MICA_DTYPE_f64, MICA_NO_INTS);
    mica_output(body, mica_add(body, count, mica_scalar(body, MICA_DTYPE_i32, 1)));
    mica_output(body, mica_add(body, x, x));
    mica_value operands[3], out[2];
    operands[0] = parameter(g, MICA_DTYPE_f64, MICA_NO_INTS);
    operands[1] = mica_scalar(g, MICA_DTYPE_i32, 0);
    operands[2] = parameter(g, MICA_DTYPE_f64, MICA_NO_INTS);
    mica_while(g, condition, body, operands, 3, 1, out);
    mica_output(g, out[0]);
    mica_output(g, out[1]);
    mica_graph_release(condition);
    mica_graph_release(body);
    return g;
}

TEST(while_runs_until_its_condition_is_false) {
    mica_graph *g = doubling();
    double limit = 100, x = 3, out = 0;
    int32_t count = 0;
    CHECK_OK(mica_ref_evaluate(g, (const void *[]){&limit, &x}, (void *[]){&count, &out}));
    CHECK(count == 6 && out == 192);
    x = 1000;
    CHECK_OK(mica_ref_evaluate(g, (const void *[]){&limit, &x}, (void *[]){&count, &out}));
    CHECK(count == 0 && out == 1000);
    mica_graph_release(g);
}

/* carry' = carry * a + x, y = carry'. */
static mica_graph *horner(int64_t length, bool reverse) {
    mica_graph *body = graph_of("body"), *g = graph_of("scan");
    mica_value a = parameter(body, MICA_DTYPE_f64, MICA_NO_INTS);
    mica_value carry = parameter(body, MICA_DTYPE_f64, MICA_NO_INTS);
    mica_value x = parameter(body, MICA_DTYPE_f64, MICA_NO_INTS);
    mica_value next = mica_add(body, mica_mul(body, carry, a), x);
    mica_output(body, next);
    mica_output(body, next);
    mica_value operands[3], out[2];
    operands[0] = parameter(g, MICA_DTYPE_f64, MICA_NO_INTS);
    operands[1] = parameter(g, MICA_DTYPE_f64, MICA_NO_INTS);
    operands[2] = parameter(g, MICA_DTYPE_f64, MICA_INTS(length));
    mica_scan(g, body, operands, 3, 1, 1, length, reverse, out);
    mica_output(g, out[0]);
    mica_output(g, out[1]);
    mica_graph_release(body);
    return g;
}

TEST(scan_carries_and_stacks_in_both_directions) {
    double a = 10, start = 0, xs[3] = {1, 2, 3}, carry = 0, ys[3];
    const void *inputs[3] = {&a, &start, xs};
    void *outputs[2] = {&carry, ys};
    mica_graph *g = horner(3, false);
    CHECK_OK(mica_ref_evaluate(g, inputs, outputs));
    CHECK(carry == 123 && ys[0] == 1 && ys[1] == 12 && ys[2] == 123);
    mica_graph_release(g);
    g = horner(3, true);
    CHECK_OK(mica_ref_evaluate(g, inputs, outputs));
    CHECK(carry == 321 && ys[2] == 3 && ys[1] == 32 && ys[0] == 321);
    mica_graph_release(g);
}

TEST(a_scan_of_length_zero_gives_its_first_carry) {
    double a = 10, start = 7, carry = 0;
    mica_graph *g = horner(0, false);
    CHECK_OK(mica_ref_evaluate(g, (const void *[]){&a, &start, NULL}, (void *[]){&carry, NULL}));
    CHECK(carry == 7);
    mica_graph_release(g);
}

TEST(popping_gives_the_last_pushed_and_zeros_when_nothing_is_left) {
    mica_graph *g = graph_of("lists");
    mica_type element = mica_type_scalar(MICA_DTYPE_f64);
    mica_value a = mica_parameter(g, &element), b = mica_parameter(g, &element), popped[3];
    mica_value list = mica_list_empty(g, &element);
    mica_value both = mica_list_push(g, mica_list_push(g, list, a), b), rest = both;
    for (int i = 0; i < 3; i++) mica_list_pop(g, rest, &rest, &popped[i]);
    mica_value again;
    mica_list_pop(g, both, &rest, &again); /* the list itself has not changed */
    for (int i = 0; i < 3; i++) mica_output(g, popped[i]);
    mica_output(g, again);
    double x = 1, y = 2, out[4];
    CHECK_OK(mica_ref_evaluate(g, (const void *[]){&x, &y},
                               (void *[]){&out[0], &out[1], &out[2], &out[3]}));
    CHECK(out[0] == 2 && out[1] == 1 && out[2] == 0 && out[3] == 2);
    mica_graph_release(g);
}

static mica_status note(void *context, const void *const *inputs, const mica_type *input_types,
                        int32_t n_inputs, void *const *outputs, const mica_type *output_types,
                        int32_t n_outputs) {
    (void)input_types, (void)output_types;
    double *seen = context, x = *(const double *)inputs[0];
    CHECK(n_inputs == 1 && n_outputs == 1);
    if (x < 0) return mica_status_create(MICA_CALLBACK_ERROR, "negative");
    *seen = *seen * 10 + x;
    *(double *)outputs[0] = *seen;
    return NULL;
}

TEST(callbacks_run_in_the_order_of_their_tokens_and_may_refuse) {
    double seen = 0, a = 1, b = 2, out = 0;
    int64_t number = mica_host_function_register(note, &seen);
    mica_graph *g = graph_of("effects");
    mica_type scalar = mica_type_scalar(MICA_DTYPE_f64);
    mica_value x = mica_parameter(g, &scalar), y = mica_parameter(g, &scalar);
    mica_value first[2], second[2];
    mica_callback(g, "note", number, mica_token(g), &x, 1, (mica_types){&scalar, 1}, first);
    mica_callback(g, "note", number, first[0], &y, 1, (mica_types){&scalar, 1}, second);
    mica_output(g, first[1]);
    CHECK_OK(mica_ref_evaluate(g, (const void *[]){&a, &b}, (void *[]){&out}));
    CHECK(out == 1 && seen == 12);
    b = -1;
    CHECK_FAILS(mica_ref_evaluate(g, (const void *[]){&a, &b}, (void *[]){&out}),
                MICA_CALLBACK_ERROR, "negative");
    mica_host_function_unregister(number);
    CHECK_FAILS(mica_ref_evaluate(g, (const void *[]){&a, &b}, (void *[]){&out}),
                MICA_FAILED_PRECONDITION, "[callback]");
    mica_graph_release(g);
}

TEST(composites_run_their_bodies) {
    mica_graph *g = graph_of("composites"), *body = times(2), *vjp = graph_of("vjp");
    mica_value operand = parameter(vjp, MICA_DTYPE_f64, MICA_NO_INTS);
    parameter(vjp, MICA_DTYPE_f64, MICA_NO_INTS);
    parameter(vjp, MICA_DTYPE_f64, MICA_NO_INTS);
    mica_output(vjp, operand);
    mica_value x = parameter(g, MICA_DTYPE_f64, MICA_NO_INTS);
    mica_value called, with_gradient, again, behind;
    mica_call(g, "double", "", body, "double_vjp", vjp, &x, 1, &called);
    mica_custom_gradient(g, body, vjp, &called, 1, &with_gradient);
    mica_remat(g, body, &with_gradient, 1, &again);
    mica_barrier(g, &again, 1, &behind);
    mica_output(g, behind);
    double in = 1, out = 0;
    CHECK_OK(mica_ref_evaluate(g, (const void *[]){&in}, (void *[]){&out}));
    CHECK(out == 8);
    mica_graph_release(body);
    mica_graph_release(vjp);
    mica_graph_release(g);
}

TEST(a_collective_without_its_axis_is_an_error) {
    mica_graph *g = graph_of("collective");
    mica_output(g, mica_all_reduce(g, parameter(g, MICA_DTYPE_f64, MICA_NO_INTS), "sum", "batch"));
    double in = 1, out = 0;
    CHECK_FAILS(mica_ref_evaluate(g, (const void *[]){&in}, (void *[]){&out}),
                MICA_INVALID_ARGUMENT, "[all_reduce] axis 'batch' is not bound");
    mica_graph_release(g);
}

TEST(a_broken_graph_is_refused) {
    mica_graph *g = graph_of("broken");
    mica_value x = parameter(g, MICA_DTYPE_f64, MICA_INTS(2));
    mica_value y = parameter(g, MICA_DTYPE_f32, MICA_INTS(2));
    mica_output(g, mica_add(g, x, y));
    CHECK_FAILS(mica_ref_evaluate(g, NULL, NULL), MICA_INVALID_ARGUMENT, "[add]");
    mica_graph_release(g);
}

TEST(every_failed_allocation_is_a_status_and_leaks_nothing) {
    mica_graph *loop = doubling(), *stack = horner(3, false);
    double limit = 100, x = 3, out = 0, a = 10, xs[3] = {1, 2, 3}, ys[3];
    int32_t count = 0;
    int64_t before = mica_memory_live_blocks();
    for (int which = 0; which < 2; which++) {
        bool failed = true;
        for (int64_t n = 1; failed && n < 10000; n++) {
            mica_memory_fail_nth(n, false);
            mica_status status =
                which ? mica_ref_evaluate(stack, (const void *[]){&a, &x, xs}, (void *[]){&out, ys})
                      : mica_ref_evaluate(loop, (const void *[]){&limit, &x},
                                          (void *[]){&count, &out});
            mica_memory_fail_nth(0, false);
            failed = status != NULL;
            if (failed) CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY);
            mica_status_release(status);
            CHECK(mica_memory_live_blocks() == before);
        }
        CHECK(!failed);
    }
    mica_graph_release(loop);
    mica_graph_release(stack);
}
