/* Random graphs: they verify, and survive text and bytes. */
#include "../test.h"
#include "ir/equal.h"
#include "ir/graph.h"
#include "support/every_op.h"
#include "support/random_graph.h"

#define SEEDS random_seeds(150)

static mica_graph *graph_of(uint64_t seed) {
    random_graph_options options = {.seed = seed,
                                    .n_nodes = 60,
                                    .exact = seed % 3 == 0,
                                    .complex = seed % 2 == 0,
                                    .axis_name = "axis",
                                    .host_function = 1};
    return random_graph(&options);
}

TEST(random_graphs_verify_and_cover_the_table) {
    int64_t counts[MICA_OP_COUNT] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        mica_graph *g = graph_of(seed);
        CHECK_OK(mica_graph_verify(g));
        for (int op = 0; op < MICA_OP_COUNT; op++) counts[op] += every_op_count(g, (mica_op)op);
        mica_graph_release(g);
    }
    for (int op = 0; op < MICA_OP_COUNT; op++) {
        CHECK(counts[op] > 0);
        if (!counts[op]) printf("    no '%s' in any graph\n", mica_op_name((mica_op)op));
    }
}

TEST(random_graphs_depend_on_the_seed_alone) {
    mica_graph *a = graph_of(5), *b = graph_of(5), *c = graph_of(6);
    CHECK(mica_graph_equal(a, b));
    CHECK(!mica_graph_equal(a, c));
    mica_graph_release(a);
    mica_graph_release(b);
    mica_graph_release(c);
}

TEST(random_graphs_survive_text_and_bytes) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        mica_graph *g = graph_of(seed), *read = NULL, *parsed = NULL;
        char *text = NULL, *again = NULL;
        uint8_t *bytes = NULL;
        size_t size = 0;
        CHECK_OK(mica_graph_print(g, &text));
        CHECK_OK(mica_graph_parse(text ? text : "", &parsed));
        if (parsed) CHECK_OK(mica_graph_print(parsed, &again));
        CHECK(text && again && strcmp(text, again) == 0);
        CHECK_OK(mica_graph_serialize(g, &bytes, &size));
        CHECK_OK(mica_graph_deserialize(bytes, size, &read));
        CHECK(read && mica_graph_equal(g, read));
        mica_string_free(text);
        mica_string_free(again);
        mica_bytes_free(bytes);
        mica_graph_release(g);
        mica_graph_release(read);
        mica_graph_release(parsed);
    }
}

TEST(random_graphs_survive_any_failed_allocation) {
    for (uint64_t seed = 0; seed < 6; seed++) {
        for (int64_t n = 1, failed = 1; failed; n += 1 + n / 8) {
            mica_memory_fail_nth(n, true);
            mica_graph *g = graph_of(seed);
            mica_memory_fail_nth(0, false);
            mica_status status = mica_graph_check(g);
            failed = status != NULL;
            CHECK(!g || !status || mica_status_code(status) != MICA_INTERNAL);
            mica_status_release(status);
            mica_graph_release(g);
            CHECK(mica_memory_live_blocks() == 0);
        }
    }
}
