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
                                    .axis_size = 3,
                                    .host_function = 1};
    return random_graph(&options);
}

static void count_ops(const mica_graph *g, int64_t *counts) {
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_node *n = g->nodes[i];
        if (n->op < MICA_OP_COUNT) counts[n->op]++;
        for (int32_t r = 0; r < n->n_regions; r++) count_ops(n->regions[r], counts);
    }
}

static int by_size(const void *a, const void *b) {
    return *(const int32_t *)a - *(const int32_t *)b;
}

/* In 2,000 graphs; of fewer, in proportion. */
TEST(random_graphs_verify_are_not_small_and_have_every_op_of_the_table_in_them) {
    enum { GRAPHS = 2000 };
    const int n = getenv("MICA_TEST_QUICK") ? GRAPHS / 10 : GRAPHS, least = 20 * n / GRAPHS;
    static int32_t sizes[GRAPHS];
    int64_t counts[MICA_OP_COUNT] = {0};
    for (int seed = 0; seed < n; seed++) {
        mica_graph *g = graph_of((uint64_t)seed);
        CHECK_OK(mica_graph_verify(g));
        count_ops(g, counts);
        sizes[seed] = g->n_nodes - g->n_parameters;
        mica_graph_release(g);
    }
    qsort(sizes, (size_t)n, sizeof *sizes, by_size);
    CHECK(sizes[n / 2] >= 15);
    for (int op = 0; op < MICA_OP_COUNT; op++) {
        CHECK(counts[op] >= least);
        if (counts[op] < least)
            printf("    '%s' is %lld times in %d graphs: see tests/support/random_graph.c\n",
                   mica_op_name((mica_op)op), (long long)counts[op], n);
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
