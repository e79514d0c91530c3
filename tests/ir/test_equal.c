/* When graphs and nodes are equal, what their hashes say, and what the verifier finds. */
#include "../test.h"
#include "ir/equal.h"
#include "ir/graph.h"
#include "support/every_op.h"

static mica_graph *parsed(const char *body) {
    char text[2000];
    mica_graph *g = NULL;
    snprintf(text, sizeof text,
             "mica graph 1\n"
             "graph @f(%%x: f32[2]) { %%y = sin(%%x) return %%y }\n"
             "graph @g(%%x: f32[2]) { %%y = cos(%%x) return %%y }\n"
             "graph @h(%%x: f32[2]) { %%y = sin(%%x) return %%y }\n"
             "graph @main(%%x: f32[2], %%y: f32[2]) { %s }",
             body);
    (void)test_ok(mica_graph_parse(text, &g), __FILE__, __LINE__, body);
    return g;
}

static bool equal(const char *a, const char *b) {
    mica_graph *ga = parsed(a), *gb = parsed(b);
    bool same = ga && gb && mica_graph_equal(ga, gb);
    if (ga && gb) CHECK(mica_graph_equal(gb, ga) == same);
    if (ga && gb) CHECK(!same || mica_graph_hash(ga) == mica_graph_hash(gb));
    mica_graph_release(ga);
    mica_graph_release(gb);
    return same;
}

TEST(graphs_are_equal_when_their_nodes_are) {
    CHECK(equal("%z = add(%x, %y) return %z", "%sum = add(%x, %y) return %sum"));
    CHECK(!equal("%z = add(%x, %y) return %z", "%z = add(%y, %x) return %z"));
    CHECK(!equal("%z = add(%x, %y) return %z", "%z = sub(%x, %y) return %z"));
    CHECK(!equal("%z = add(%x, %y) return %z", "%z = add(%x, %y) return %x"));
    CHECK(!equal("%z = add(%x, %y) return %z", "%z = add(%x, %y) return %z, %z"));
    CHECK(!equal("return %x", "return"));
}

TEST(attributes_count_by_their_bits) {
    CHECK(equal("%z = constant() {value = f32[] (nan)} return",
                "%z = constant() {value = f32[] (nan)} return"));
    CHECK(!equal("%z = constant() {value = f32[] (0)} return",
                 "%z = constant() {value = f32[] (-0)} return"));
    CHECK(!equal("%z = constant() {value = f32[] (0)} return",
                 "%z = constant() {value = i32[] (0)} return"));
    CHECK(!equal("%z = reshape(%x) {shape = (2,1)} return",
                 "%z = reshape(%x) {shape = (1,2)} return"));
    CHECK(!equal("%z = axis_index() {axis = \"a\"} return",
                 "%z = axis_index() {axis = \"b\"} return"));
}

TEST(regions_count_by_what_is_in_them_not_by_name) {
    CHECK(equal("%z = remat(%x) @f return %z", "%z = remat(%x) @h return %z"));
    CHECK(!equal("%z = remat(%x) @f return %z", "%z = remat(%x) @g return %z"));
}

TEST(equal_nodes_of_one_graph_are_found) {
    mica_graph *g = parsed("%a = add(%x, %y) %b = add(%x, %y) %c = add(%y, %x) return");
    CHECK(mica_node_equal(g->nodes[2], g->nodes[3]));
    CHECK(mica_node_hash(g->nodes[2]) == mica_node_hash(g->nodes[3]));
    CHECK(!mica_node_equal(g->nodes[2], g->nodes[4]));
    CHECK(!mica_node_equal(g->nodes[0], g->nodes[1])); /* parameters of one type */
    mica_graph_release(g);
}

TEST(two_builds_of_every_op_are_equal) {
    mica_graph *a = every_op_graph(), *b = every_op_graph();
    CHECK(mica_graph_equal(a, b));
    CHECK(mica_graph_hash(a) == mica_graph_hash(b));
    mica_output(b, b->outputs[0]);
    CHECK(!mica_graph_equal(a, b));
    mica_graph_release(a);
    mica_graph_release(b);
}

/* Breaks a graph by hand, verifies, and mends it before it is released. */
TEST(the_verifier_finds_what_is_broken) {
    mica_graph *g =
        parsed("%a = add(%x, %y) %b = remat(%a) @f %c = reshape(%b) {shape = (1,2)} return %c");
    CHECK_OK(mica_graph_verify(g));
    mica_node *add = g->nodes[2], *reshape = g->nodes[4];
    mica_value operand = add->operands[0];
    add->operands[0] = mica_node_result(reshape, 0);
    CHECK_FAILS(mica_graph_verify(g), MICA_INTERNAL, "add 0 does not stand before its use");
    add->operands[0] = (mica_value){operand.node, 1};
    CHECK_FAILS(mica_graph_verify(g), MICA_INTERNAL, "add 0 is result 1 of 1");
    add->operands[0] = MICA_NULL_VALUE;
    CHECK_FAILS(mica_graph_verify(g), MICA_INTERNAL, "add 0 is null");
    add->operands[0] = operand;
    add->results[0].dims[0] = 5;
    CHECK_FAILS(mica_graph_verify(g), MICA_INTERNAL,
                "result 0 of node 2 (add) is f32[5] instead of f32[2]");
    add->results[0].dims[0] = 2;
    add->id = 7;
    CHECK_FAILS(mica_graph_verify(g), MICA_INTERNAL, "node 2 is out of place");
    add->id = 2;
    reshape->attrs[0].kind = MICA_ATTR_INT;
    CHECK_FAILS(mica_graph_verify(g), MICA_INTERNAL, "attribute 0 of node 4 (reshape) is broken");
    reshape->attrs[0].kind = MICA_ATTR_INTS;
    g->n_parameters = 1;
    CHECK_FAILS(mica_graph_verify(g), MICA_INTERNAL, "1 parameters and 2 nodes for them");
    g->n_parameters = 2;
    g->n_held = 0;
    CHECK_FAILS(mica_graph_verify(g), MICA_INTERNAL, "region 0 of node 3 is not held");
    g->n_held = 1;
    mica_graph *region = g->nodes[3]->regions[0];
    region->nodes[1]->results[0].dtype = MICA_DTYPE_f64;
    CHECK_FAILS(mica_graph_verify(g), MICA_INTERNAL, "graph 'f': result 0 of node 1 (sin)");
    region->nodes[1]->results[0].dtype = MICA_DTYPE_f32;
    CHECK_OK(mica_graph_verify(g));
    mica_graph_release(g);
}
