/* Printing and parsing: every graph reads back as what was printed. */
#include "../test.h"
#include "ir/equal.h"
#include "ir/graph.h"
#include "support/every_op.h"

/* Prints, parses, prints again; true when both texts are equal. */
static bool round_trips(const mica_graph *g) {
    char *first = NULL, *second = NULL;
    mica_graph *again = NULL;
    bool same = test_ok(mica_graph_print(g, &first), __FILE__, __LINE__, "print") &&
                test_ok(mica_graph_parse(first, &again), __FILE__, __LINE__, "parse") &&
                test_ok(mica_graph_verify(again), __FILE__, __LINE__, "verify") &&
                test_ok(mica_graph_print(again, &second), __FILE__, __LINE__, "print again") &&
                strcmp(first, second) == 0;
    mica_string_free(first);
    mica_string_free(second);
    mica_graph_release(again);
    return same;
}

TEST(every_op_is_in_the_test_graph) {
    mica_graph *g = every_op_graph();
    CHECK_OK(mica_graph_verify(g));
    for (int op = 0; op < MICA_OP_COUNT; op++) {
        CHECK(every_op_count(g, (mica_op)op) > 0);
        if (every_op_count(g, (mica_op)op) == 0)
            printf("    add '%s' to tests/support/every_op.c\n", mica_op_name((mica_op)op));
    }
    mica_graph_release(g);
}

TEST(every_op_prints_and_parses_back) {
    mica_graph *g = every_op_graph();
    CHECK(round_trips(g));
    mica_graph_release(g);
}
