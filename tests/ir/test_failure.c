/* Out of memory at every single allocation: a status or a sticky error, and nothing is lost. */
#include "../test.h"
#include "ir/equal.h"
#include "ir/graph.h"
#include "support/every_op.h"

static mica_status build(void) {
    mica_graph *g = every_op_graph();
    mica_status status = mica_graph_check(g);
    mica_graph_release(g);
    return status;
}

static mica_graph *source;
static char *source_text;
static uint8_t *source_bytes;
static size_t source_size;

static mica_status print(void) {
    char *text = NULL;
    mica_status status = mica_graph_print(source, &text);
    CHECK((text == NULL) == (status != NULL));
    mica_string_free(text);
    return status;
}

static mica_status parse(void) {
    mica_graph *g = NULL;
    mica_status status = mica_graph_parse(source_text, &g);
    CHECK((g == NULL) == (status != NULL));
    mica_graph_release(g);
    return status;
}

static mica_status serialize(void) {
    uint8_t *bytes = NULL;
    size_t size = 0;
    mica_status status = mica_graph_serialize(source, &bytes, &size);
    CHECK((bytes == NULL) == (status != NULL));
    mica_bytes_free(bytes);
    return status;
}

static mica_status deserialize(void) {
    mica_graph *g = NULL;
    mica_status status = mica_graph_deserialize(source_bytes, source_size, &g);
    CHECK((g == NULL) == (status != NULL));
    mica_graph_release(g);
    return status;
}

static mica_status verify(void) {
    return mica_graph_verify(source);
}

static mica_status inline_it(void) {
    mica_graph *g = NULL;
    MICA_TRY(mica_graph_create("inlined", &g));
    mica_value *results = calloc((size_t)source->n_outputs, sizeof *results);
    mica_value *operands = calloc((size_t)source->n_parameters, sizeof *operands);
    for (int32_t i = 0; i < source->n_parameters; i++)
        operands[i] = mica_parameter(g, mica_value_type(source->parameters[i]));
    mica_inline(g, source, operands, source->n_parameters, results);
    mica_status status = mica_graph_check(g);
    for (int32_t i = 0; i < source->n_outputs; i++)
        CHECK(mica_value_is_null(results[i]) == (status != NULL));
    free(results);
    free(operands);
    mica_graph_release(g);
    return status;
}

/* The same scan with a larger body, in place: after a failure the node is as it was. */
static mica_status extend(void) {
    mica_graph *g = NULL;
    static const char *const text =
        "mica graph 1\n"
        "graph @body(%c: f32[], %x: f32[]) { %y = add(%c, %x) return %y }\n"
        "graph @wide(%k: f32[], %c: f32[], %x: f32[]) { %y = add(%c, %x) return %y, %k }\n"
        "graph @main(%c: f32[], %xs: f32[3]) {\n"
        "    %y = scan(%c, %xs) @body {consts = 0, carry = 1, length = 3, reverse = 0}\n"
        "    %u:2 = scan(%c, %c, %xs) @wide {consts = 1, carry = 1, length = 3, reverse = 0}\n"
        "    return %y\n"
        "}\n";
    MICA_TRY(mica_graph_parse(text, &g));
    mica_node *n = g->nodes[2], *model = g->nodes[3], before = *n;
    mica_node_extend(n, model->operands, 3, model->attrs, model->regions, 1);
    mica_status status = mica_graph_check(g);
    if (status)
        CHECK(memcmp(&before, n, sizeof before) == 0);
    else
        CHECK(n->n_results == 2 && n->n_operands == 3 && n->regions[0] == model->regions[0]);
    if (!status) status = mica_graph_verify(g);
    mica_graph_release(g);
    return status;
}

static void fail_everywhere(mica_status (*action)(void)) {
    int64_t before = mica_memory_live_blocks(), n = 0;
    for (bool done = false; !done;) {
        n++;
        mica_memory_fail_nth(n, n % 2);
        mica_status status = action();
        mica_memory_fail_nth(0, false);
        done = status == NULL;
        mica_status_release(status);
        CHECK(mica_memory_live_blocks() == before);
        REQUIRE(n < 100000);
    }
    CHECK(n > 1);
}

static bool make_sources(void) {
    source = every_op_graph();
    return test_ok(mica_graph_print(source, &source_text), __FILE__, __LINE__, "print") &&
           test_ok(mica_graph_serialize(source, &source_bytes, &source_size), __FILE__, __LINE__,
                   "serialize");
}

static void free_sources(void) {
    mica_graph_release(source);
    mica_string_free(source_text);
    mica_bytes_free(source_bytes);
}

TEST(building_survives_any_failed_allocation) {
    fail_everywhere(build);
}

TEST(extending_survives_any_failed_allocation) {
    fail_everywhere(extend);
}

TEST(printing_parsing_serializing_and_inlining_survive_any_failed_allocation) {
    if (make_sources()) {
        fail_everywhere(print);
        fail_everywhere(parse);
        fail_everywhere(serialize);
        fail_everywhere(deserialize);
        fail_everywhere(verify);
        fail_everywhere(inline_it);
    }
    free_sources();
}
