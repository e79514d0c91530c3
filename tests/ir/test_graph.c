/* Graphs: building, sticky errors, inlining, extending, host functions. */
#include "../test.h"
#include "base/platform.h"
#include "ir/graph.h"

static mica_graph *new_graph(const char *name) {
    mica_graph *g = NULL;
    mica_status_release(mica_graph_create(name, &g));
    return g;
}

static mica_value f32(mica_graph *g, mica_ints dims) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, dims);
    return mica_parameter(g, &type);
}

static bool is(mica_value value, const char *text) {
    const mica_type *type = mica_value_type(value);
    bool same = type && strcmp(mica_type_text(type).chars, text) == 0;
    if (!same) printf("    %s, expected %s\n", type ? mica_type_text(type).chars : "null", text);
    return same;
}

TEST(elementwise_builders_broadcast_like_numpy) {
    mica_graph *g = new_graph("f");
    mica_value x = f32(g, MICA_INTS(2, 3)), row = f32(g, MICA_INTS(3)),
               column = f32(g, MICA_INTS(2, 1)), scalar = f32(g, MICA_NO_INTS);
    CHECK(is(mica_add(g, x, row), "f32[2,3]"));
    CHECK(is(mica_add(g, row, column), "f32[2,3]"));
    CHECK(is(mica_clamp(g, scalar, x, scalar), "f32[2,3]"));
    mica_value y = mica_select(g, mica_compare(g, x, row, "lt"), column, scalar);
    CHECK(is(y, "f32[2,3]"));
    mica_output(g, y);
    CHECK_OK(mica_graph_check(g));
    mica_graph_release(g);
}

TEST(a_graph_that_could_not_be_made_is_tolerated_everywhere) {
    mica_value x = f32(NULL, MICA_INTS(2));
    CHECK(mica_value_is_null(x));
    CHECK(mica_value_is_null(mica_add(NULL, x, x)));
    CHECK(mica_value_is_null(mica_relu(NULL, x)));
    mica_output(NULL, x);
    CHECK_FAILS(mica_graph_check(NULL), MICA_INVALID_ARGUMENT, "[graph] there is no graph");
}

TEST(the_first_error_sticks_and_later_builders_are_silent) {
    mica_graph *g = new_graph("f");
    mica_value x = f32(g, MICA_INTS(2));
    mica_type integers = mica_type_make(MICA_DTYPE_i32, MICA_INTS(2));
    mica_value i = mica_parameter(g, &integers);
    mica_value bad = mica_add(g, x, i);
    CHECK(mica_value_is_null(bad));
    CHECK(mica_value_is_null(mica_mul(g, bad, x)));
    mica_output(g, bad);
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT,
                "[add] dtypes differ: f32[2] and i32[2]");
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT, "[add]");
    mica_graph_release(g);
}

TEST(convolution_has_the_shape_of_the_formula) {
    mica_graph *g = new_graph("f");
    mica_value x = f32(g, MICA_INTS(8, 28, 28, 3)), k = f32(g, MICA_INTS(5, 5, 3, 16));
    mica_value y = mica_conv(g, x, k, "N01C,01IO,N01C", MICA_INTS(2, 1), MICA_INTS(2, 0),
                             MICA_INTS(2, 0), MICA_INTS(1, 1), MICA_INTS(1, 2), 1, 1);
    CHECK(is(y, "f32[8,14,20,16]"));
    CHECK_OK(mica_graph_check(g));
    mica_graph_release(g);
}

TEST(inlining_copies_a_function_onto_operands) {
    mica_graph *f = new_graph("f"), *g = new_graph("g");
    mica_value a = f32(f, MICA_INTS(2)), b = f32(f, MICA_INTS(2));
    mica_output(f, mica_mul(f, a, b));
    mica_output(f, a);
    mica_value operands[] = {f32(g, MICA_INTS(2)), f32(g, MICA_INTS(2))}, results[2];
    mica_inline(g, f, operands, 2, results);
    CHECK_OK(mica_graph_check(g));
    CHECK(is(results[0], "f32[2]"));
    CHECK(mica_value_same(results[1], operands[0]));
    CHECK(results[0].node->graph == g);
    mica_graph_release(f);
    mica_graph_release(g);
}

TEST(a_null_operand_is_an_error_and_silent_after_one) {
    mica_graph *g = new_graph("f");
    mica_value x = f32(g, MICA_INTS(2));
    CHECK(mica_value_is_null(mica_add(g, x, MICA_NULL_VALUE)));
    CHECK(mica_value_is_null(
        mica_dot(g, MICA_NULL_VALUE, x, MICA_NO_INTS, MICA_NO_INTS, MICA_NO_INTS, MICA_NO_INTS)));
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT, "[add] operand 1 is null");
    mica_graph_release(g);
}

TEST(values_of_another_graph_are_refused) {
    mica_graph *f = new_graph("f"), *g = new_graph("g");
    mica_value x = f32(f, MICA_INTS(2)), y = f32(g, MICA_INTS(2));
    CHECK(mica_value_is_null(mica_add(g, y, x)));
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT,
                "[add] operand 1 is a value of graph 'f', not of 'g'");
    mica_output(f, y);
    CHECK_FAILS(mica_graph_check(f), MICA_INVALID_ARGUMENT, "[output] operand 0 is a value of");
    mica_graph_release(f);
    mica_graph_release(g);
}

TEST(types_that_cannot_be_are_refused) {
    mica_graph *g = new_graph("f");
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2, -1));
    CHECK(type.rank == -1);
    CHECK(mica_value_is_null(mica_parameter(g, &type)));
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT, "[parameter] the shape has a negative");
    mica_graph_release(g);
    g = new_graph("f");
    CHECK(mica_value_is_null(mica_parameter(g, NULL)));
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT, "[parameter] the type is null");
    mica_graph_release(g);
    g = new_graph("f");
    CHECK(mica_value_is_null(mica_constant(g, (mica_data){NULL, NULL})));
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT, "[constant] the shape");
    mica_graph_release(g);
    g = new_graph("f");
    mica_type good = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2));
    CHECK(mica_value_is_null(mica_constant(g, (mica_data){&good, NULL})));
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT,
                "[constant] the bytes of f32[2] are at a null address");
    mica_graph_release(g);
    g = new_graph("f");
    CHECK(mica_value_is_null(mica_scalar(g, (mica_dtype)99, 0)));
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT, "[scalar] there is no dtype 99");
    mica_graph_release(g);
}

TEST(shapes_that_do_not_broadcast_are_named) {
    mica_graph *g = new_graph("f");
    CHECK(mica_value_is_null(mica_mul(g, f32(g, MICA_INTS(2, 3)), f32(g, MICA_INTS(2)))));
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT,
                "[mul] shapes do not broadcast: (2,3) and (2)");
    mica_graph_release(g);
}

static mica_graph *identity(const char *name) {
    mica_graph *g = new_graph(name);
    mica_output(g, f32(g, MICA_INTS(2)));
    return g;
}

TEST(a_region_cannot_change_any_more) {
    mica_graph *g = new_graph("g"), *region = identity("region");
    mica_value x = f32(g, MICA_INTS(2)), y;
    mica_remat(g, region, &x, 1, &y);
    CHECK_OK(mica_graph_check(g));
    f32(region, MICA_INTS(2));
    CHECK_FAILS(mica_graph_check(region), MICA_FAILED_PRECONDITION,
                "[parameter] graph 'region' is a region of another graph and cannot change");
    CHECK(region->n_parameters == 1);
    mica_graph_release(region);
    mica_graph_release(g);
}

TEST(a_graph_is_no_region_of_itself_and_null_is_none) {
    mica_graph *g = identity("g"), *f = new_graph("f");
    mica_value x = g->parameters[0], y = {g->nodes[0], 5};
    mica_remat(g, g, &x, 1, &y);
    CHECK(mica_value_is_null(y));
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT, "cannot be a region of itself");
    x = f32(f, MICA_INTS(2));
    mica_remat(f, NULL, &x, 1, &y);
    CHECK_FAILS(mica_graph_check(f), MICA_INVALID_ARGUMENT, "[remat] region 0 is null");
    mica_graph_release(g);
    mica_graph_release(f);
}

TEST(the_error_of_a_region_is_the_error_of_its_user) {
    mica_graph *g = new_graph("g"), *region = new_graph("region");
    mica_value x = f32(g, MICA_INTS(2)), y;
    mica_output(region, mica_sqrt(region, MICA_NULL_VALUE));
    mica_remat(g, region, &x, 1, &y);
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT, "[sqrt] operand 0 is null");
    mica_graph_release(region);
    mica_graph_release(g);
}

TEST(regions_nest_up_to_a_limit) {
    mica_graph *inner = identity("inner");
    mica_status status = NULL;
    int depth = 0;
    for (; depth < 2 * MICA_MAX_DEPTH && !status; depth++) {
        mica_graph *outer = new_graph("outer");
        mica_value x = f32(outer, MICA_INTS(2));
        mica_remat(outer, inner, &x, 1, &x);
        mica_output(outer, x);
        status = mica_graph_check(outer);
        mica_graph_release(inner);
        inner = outer;
    }
    CHECK(depth == MICA_MAX_DEPTH + 1);
    CHECK_FAILS(status, MICA_INVALID_ARGUMENT, "[remat] regions nest deeper than");
    mica_graph_release(inner);
}

/* Each calls the one before twice: n graphs stand for 2^n nodes. */
TEST(graphs_that_call_each_other_too_often_are_refused) {
    mica_graph *inner = identity("inner");
    mica_status status = NULL;
    int levels = 0;
    for (; levels < 64 && !status; levels++) {
        mica_graph *outer = new_graph("outer");
        mica_value x = f32(outer, MICA_INTS(2));
        mica_remat(outer, inner, &x, 1, &x);
        mica_remat(outer, inner, &x, 1, &x);
        mica_output(outer, x);
        status = mica_graph_check(outer);
        mica_graph_release(inner);
        inner = outer;
    }
    CHECK(levels > 16 && levels < 22);
    CHECK_FAILS(status, MICA_RESOURCE_EXHAUSTED, "[remat] graph 'outer' would have more than");
    mica_graph_release(inner);
}

TEST(inlining_checks_what_it_is_given) {
    mica_graph *f = identity("f"), *g = new_graph("g");
    mica_value x = f32(g, MICA_INTS(3)), y;
    mica_inline(g, f, &x, 1, &y);
    CHECK(mica_value_is_null(y));
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT,
                "[inline] operand 0 of graph 'f' is f32[3], not f32[2]");
    mica_graph_release(g);
    g = new_graph("g");
    mica_inline(g, f, NULL, 0, &y);
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT,
                "[inline] graph 'f' takes 1 operands, not 0");
    mica_graph_release(g);
    mica_graph_release(f);
}

TEST(an_extension_keeps_the_first_results) {
    mica_graph *g = new_graph("g"), *one = identity("one"), *two = new_graph("two");
    mica_type flag = mica_type_scalar(MICA_DTYPE_bool);
    mica_value x = f32(two, MICA_INTS(2)), y, p = mica_parameter(g, &flag);
    mica_output(two, mica_neg(two, x));
    mica_output(two, mica_reduce(two, x, "sum", MICA_INTS(0)));
    x = f32(g, MICA_INTS(2));
    mica_cond(g, p, one, one, &x, 1, &y);
    mica_value after = mica_sin(g, y);
    mica_graph *regions[] = {two, two};
    mica_node_extend(y.node, y.node->operands, 2, NULL, regions, 2);
    CHECK_OK(mica_graph_verify(g));
    CHECK(y.node->n_results == 2 && is(y, "f32[2]") && is(mica_node_result(y.node, 1), "f32[]"));
    /* An operand that stands after the node is refused, and so is what is no region op. */
    mica_value late[] = {p, after};
    mica_node_extend(y.node, late, 2, NULL, regions, 2);
    CHECK_FAILS(mica_graph_check(g), MICA_INTERNAL, "is made after it");
    mica_graph_release(g);
    mica_graph_release(one);
    mica_graph_release(two);
}

TEST(matmul_follows_numpy) {
    static const struct {
        int64_t a[4], b[4];
        int32_t ra, rb;
        const char *result;
    } cases[] = {
        {{3}, {3}, 1, 1, "f32[]"},
        {{2, 3}, {3}, 2, 1, "f32[2]"},
        {{3}, {3, 4}, 1, 2, "f32[4]"},
        {{2, 3}, {3, 4}, 2, 2, "f32[2,4]"},
        {{5, 2, 3}, {3, 4}, 3, 2, "f32[5,2,4]"},
        {{2, 3}, {5, 3, 4}, 2, 3, "f32[5,2,4]"},
        {{3}, {5, 3, 4}, 1, 3, "f32[5,4]"},
        {{5, 2, 3}, {3}, 3, 1, "f32[5,2]"},
        {{5, 2, 3}, {5, 3, 4}, 3, 3, "f32[5,2,4]"},
        {{6, 1, 2, 3}, {5, 3, 4}, 4, 3, "f32[6,5,2,4]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mica_graph *g = new_graph("f");
        mica_value y = mica_matmul(g, f32(g, (mica_ints){cases[i].a, cases[i].ra}),
                                   f32(g, (mica_ints){cases[i].b, cases[i].rb}));
        CHECK(is(y, cases[i].result));
        CHECK_OK(mica_graph_verify(g));
        mica_graph_release(g);
    }
    mica_graph *g = new_graph("f");
    mica_matmul(g, f32(g, MICA_INTS(2, 3)), f32(g, MICA_INTS(4, 5)));
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT,
                "[matmul] inner dimensions differ: f32[2,3] x f32[4,5]");
    mica_graph_release(g);
}

TEST(short_forms_have_the_shapes_they_say) {
    mica_graph *g = new_graph("f");
    mica_value x = f32(g, MICA_INTS(2, 3));
    mica_type element = mica_type_make(MICA_DTYPE_f32, MICA_INTS(4));
    CHECK(is(mica_relu(g, x), "f32[2,3]"));
    CHECK(is(mica_sum(g, x, MICA_INTS(-1)), "f32[2]"));
    CHECK(is(mica_mean(g, x, MICA_INTS(0, 1)), "f32[]"));
    CHECK(is(mica_log_softmax(g, x, 0), "f32[2,3]"));
    CHECK(is(mica_full_like(g, x, 3), "f32[2,3]"));
    CHECK(is(mica_zeros_like(g, mica_list_empty(g, &element)), "list(f32[4])"));
    CHECK(is(mica_broadcast_to(g, x, MICA_INTS(4, 2, 3)), "f32[4,2,3]"));
    CHECK(mica_value_same(mica_broadcast_to(g, x, MICA_INTS(2, 3)), x));
    CHECK_OK(mica_graph_verify(g));
    CHECK(mica_value_is_null(mica_log_softmax(g, x, 2)));
    CHECK_FAILS(mica_graph_check(g), MICA_INVALID_ARGUMENT,
                "[log_softmax] axis 2 is out of range for (2,3)");
    mica_graph_release(g);
}

TEST(scalars_follow_the_rules_of_convert) {
    mica_graph *g = new_graph("f");
    static const struct {
        mica_dtype dtype;
        double value;
        uint64_t bits;
    } cases[] = {
        {MICA_DTYPE_i8, 1000, 0x7f},
        {MICA_DTYPE_i8, -1000, 0x80},
        {MICA_DTYPE_u16, -3, 0},
        {MICA_DTYPE_i32, -2.9, 0xfffffffe},
        {MICA_DTYPE_bool, 0.5, 1},
        {MICA_DTYPE_f16, 65504, 0x7bff},
        {MICA_DTYPE_f16, 65520, 0x7c00},
        {MICA_DTYPE_bf16, 1.00390625, 0x3f80},
        {MICA_DTYPE_u64, 1e30, UINT64_MAX},
        {MICA_DTYPE_i64, -1e30, UINT64_C(1) << 63},
        {MICA_DTYPE_f32, 0.1, 0x3dcccccd},
        {MICA_DTYPE_f16, 5.960464477539063e-08, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mica_value value = mica_scalar(g, cases[i].dtype, cases[i].value);
        uint64_t bits = 0;
        REQUIRE(!mica_value_is_null(value));
        memcpy(&bits, value.node->attrs[0].as.data.bytes, mica_dtype_bytes(cases[i].dtype));
        CHECK(bits == cases[i].bits);
    }
    mica_graph_release(g);
}

static mica_status do_nothing(void *context, const void *const *inputs,
                              const mica_type *input_types, int32_t n_inputs, void *const *outputs,
                              const mica_type *output_types, int32_t n_outputs) {
    (void)context, (void)inputs, (void)input_types, (void)n_inputs;
    (void)outputs, (void)output_types, (void)n_outputs;
    return NULL;
}

static void register_many(void *context) {
    bool *right = context;
    int64_t numbers[100];
    for (int i = 0; i < 100; i++) numbers[i] = mica_host_function_register(do_nothing, &numbers[i]);
    *right = true;
    for (int i = 0; i < 100; i++) {
        mica_host_function function;
        void *found;
        *right &= mica_host_function_find(numbers[i], &function, &found) && found == &numbers[i];
        mica_host_function_unregister(numbers[i]);
        *right &= !mica_host_function_find(numbers[i], &function, &found);
    }
}

TEST(host_functions_are_registered_from_many_threads) {
    mica_thread *threads[4];
    bool right[4] = {0};
    for (int i = 0; i < 4; i++)
        REQUIRE_OK(mica_thread_start(register_many, &right[i], "register", &threads[i]));
    for (int i = 0; i < 4; i++) mica_thread_join(threads[i]);
    for (int i = 0; i < 4; i++) CHECK(right[i]);
    CHECK(mica_host_function_register(NULL, NULL) == 0);
    mica_memory_fail_nth(1, false);
    CHECK(mica_host_function_register(do_nothing, NULL) == 0);
    mica_memory_fail_nth(0, false);
}

TEST(the_table_describes_every_op) {
    for (int i = 0; i < MICA_OP_COUNT; i++) {
        const mica_op_info *info = mica_op_describe((mica_op)i);
        mica_op op;
        REQUIRE(info != NULL);
        CHECK(mica_op_parse(info->name, &op) && op == (mica_op)i);
        CHECK(info->arity >= -1 && info->arity <= 3);
        CHECK((info->expression != NULL) == (mica_op_class_of(op) == MICA_CLASS_MAP));
        for (int32_t k = 0; k < info->n_attributes; k++)
            CHECK(info->attribute_names[k] && info->attribute_kinds[k]);
    }
    mica_op op;
    CHECK(mica_op_describe(MICA_OP_PARAMETER) == NULL);
    CHECK(!mica_op_parse("parameter", &op));
    CHECK(!mica_op_parse(NULL, &op));
}

TEST(types_print_into_any_buffer) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(12, 3));
    mica_type list = mica_type_list_of(&type);
    char text[32];
    CHECK(mica_type_format(&list, text, sizeof text) == 15 && strcmp(text, "list(f32[12,3])") == 0);
    CHECK(mica_type_format(&list, text, 6) == 15 && strcmp(text, "list(") == 0);
    CHECK(mica_type_format(&list, NULL, 0) == 15);
    CHECK(mica_type_elements(&type) == 36 && mica_type_bytes(&type) == 144);
    CHECK(mica_type_bytes(&list) == 0);
    type = mica_type_make(MICA_DTYPE_f64, MICA_INTS(INT64_MAX, INT64_MAX));
    CHECK(mica_type_elements(&type) == INT64_MAX && mica_type_bytes(&type) == SIZE_MAX);
}

TEST(an_error_taken_away_leaves_a_graph_that_can_be_built_on) {
    mica_graph *g = NULL;
    REQUIRE_OK(mica_graph_create("taken", &g));
    mica_type two = mica_type_make(MICA_DTYPE_f32, MICA_INTS(2));
    mica_type three = mica_type_make(MICA_DTYPE_f32, MICA_INTS(3));
    mica_value x = mica_parameter(g, &two), y = mica_parameter(g, &three);
    CHECK_OK(mica_graph_take_error(g));
    int32_t nodes = mica_graph_node_count(g);
    CHECK(mica_value_is_null(mica_add(g, x, y)));
    CHECK(mica_value_is_null(mica_neg(g, x)));
    CHECK_FAILS(mica_graph_take_error(g), MICA_INVALID_ARGUMENT, "[add]");
    CHECK(mica_graph_node_count(g) == nodes);
    CHECK_OK(mica_graph_check(g));
    mica_output(g, mica_neg(g, x));
    CHECK_OK(mica_graph_verify(g));
    CHECK_OK(mica_graph_take_error(NULL));
    mica_graph_release(g);
}
