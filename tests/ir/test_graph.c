/* Graphs: building, sticky errors, inlining, extending, host functions. */
#include "../test.h"
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
