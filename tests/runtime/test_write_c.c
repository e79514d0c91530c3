/* Graphs as C: what comes out, what is refused, and memory that runs out on the way. That the text
 * computes the right bits is shown by tests/python/transform/test_export.py, which compiles it. */
#include <string.h>

#include "base/memory.h"
#include "runtime_test.h"

/* y = relu(x w) and its sum, a loop, and a constant: nests, kernels with text, control flow. */
static mica_graph *new_step(void) {
    mica_graph *g = new_graph("step");
    mica_type matrix = mica_type_make(MICA_DTYPE_f32, MICA_INTS(4, 4));
    mica_value x = mica_parameter(g, &matrix), w = mica_parameter(g, &matrix);
    mica_value y = mica_dot(g, x, w, MICA_INTS(1), MICA_INTS(0), MICA_NO_INTS, MICA_NO_INTS);
    y = mica_max(g, y, mica_transpose(g, w, MICA_INTS(1, 0)));
    mica_output(g, mica_reduce(g, y, "sum", MICA_INTS(0, 1)));
    mica_output(g, mica_concat(g, (mica_value[]){y, x}, 2, 0));
    return g;
}

TEST(a_graph_becomes_a_function_of_its_name) {
    mica_graph *g = new_step();
    char *text = NULL;
    REQUIRE_OK(mica_graph_write_c(g, "my_step", &text));
    CHECK(strstr(text, "int my_step(const void *const *inputs, void *const *outputs) {"));
    CHECK(strstr(text, "inputs[1]  f32[4,4]"));
    CHECK(strstr(text, "mica_contract_f32(&contraction"));
    CHECK(!strstr(text, "#include \"")); /* nothing but the compiler's own headers */
    CHECK(!strstr(text, "malloc("));
    mica_string_free(text);
    mica_graph_release(g);
}

TEST(the_text_is_the_same_every_time) {
    mica_graph *g = new_step();
    char *one = NULL, *two = NULL;
    REQUIRE_OK(mica_graph_write_c(g, "f", &one));
    REQUIRE_OK(mica_graph_write_c(g, "f", &two));
    CHECK(!strcmp(one, two));
    mica_string_free(one);
    mica_string_free(two);
    mica_graph_release(g);
}

TEST(wrong_arguments_are_refused) {
    mica_graph *g = new_step();
    char *text = NULL;
    CHECK_FAILS(mica_graph_write_c(g, "2f", &text), MICA_INVALID_ARGUMENT, "cannot name");
    CHECK_FAILS(mica_graph_write_c(g, "", &text), MICA_INVALID_ARGUMENT, "cannot name");
    CHECK_FAILS(mica_graph_write_c(g, "double", &text), MICA_INVALID_ARGUMENT, "a word of C");
    CHECK_FAILS(mica_graph_write_c(g, "k12", &text), MICA_INVALID_ARGUMENT, "another name");
    CHECK_FAILS(mica_graph_write_c(g, NULL, &text), MICA_INVALID_ARGUMENT, "name");
    CHECK_FAILS(mica_graph_write_c(g, "f", NULL), MICA_INVALID_ARGUMENT, "out_text");
    CHECK_FAILS(mica_graph_write_c(NULL, "f", &text), MICA_INVALID_ARGUMENT, "");
    CHECK(!text);
    mica_graph_release(g);
}

TEST(a_kernel_without_text_is_named_with_its_node) {
    mica_graph *g = new_graph("spectrum");
    mica_type type = mica_type_make(MICA_DTYPE_c64, MICA_INTS(8));
    char *text = NULL;
    mica_output(g, mica_neg(g, mica_parameter(g, &type)));
    CHECK_FAILS(mica_graph_write_c(g, "f", &text), MICA_UNSUPPORTED,
                "[export] node 1, neg of c64[8]");
    CHECK(!text);
    mica_graph_release(g);
}

TEST(every_allocation_of_writing_may_fail) {
    int64_t n = 1;
    for (bool done = false; !done; n++) {
        mica_graph *g = new_step();
        char *text = NULL;
        int64_t first = mica_memory_total_allocations();
        mica_memory_fail_nth(n, false);
        mica_status status = mica_graph_write_c(g, "f", &text);
        mica_memory_fail_nth(0, false);
        done = mica_memory_total_allocations() - first < n;
        CHECK((text == NULL) == (status != NULL));
        mica_status_release(status);
        mica_string_free(text);
        mica_graph_release(g);
        mica_shutdown();
        CHECK(mica_memory_live_blocks() == 0);
    }
    CHECK(n > 50);
}
