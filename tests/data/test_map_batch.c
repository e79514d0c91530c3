/* Maps and the batch behind them as one stage: the elements and errors of map and batch. */
#include "base/pool.h"
#include "data/data.h"
#include "test.h"

/* op(x, x) of an array of this rank. */
static mica_tf_graph *unary(mica_tf_op op, int32_t rank) {
    mica_tf_graph *g = NULL;
    mica_tf_shape shape = {.rank = rank, .dims = {-1}};
    mica_tf_ref x, y;
    CHECK_OK(mica_tf_graph_create("unary", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_int64, &shape, "x", &x));
    CHECK_OK(mica_tf_graph_add(g, op, NULL, (mica_tf_ref[]){x, x}, 2, NULL, &y));
    CHECK_OK(mica_tf_graph_output(g, y));
    return g;
}

/* x + x, then op of that, in batches of 4 of -3 to 6. */
static mica_dataset *batches(mica_tf_op op, int64_t calls, bool drop) {
    mica_dataset *numbers = NULL, *made = NULL;
    mica_dataset_stage stages[2] = {
        {.one = {.graph = unary(MICA_TF_AddV2, 0)}, .whole = unary(MICA_TF_AddV2, 1)},
        {.one = {.graph = unary(op, 0)}, .whole = unary(op, 1), .calls = calls}};
    CHECK_OK(mica_dataset_range(-3, 7, 1, MICA_TF_int64, &numbers));
    CHECK_OK(mica_dataset_map_batch(numbers, stages, 2, 4, drop, &made));
    for (int i = 0; i < 2; i++) {
        mica_tf_graph_release(stages[i].one.graph);
        mica_tf_graph_release(stages[i].whole);
    }
    mica_dataset_release(numbers);
    return made;
}

/* The numbers of the next batch. */
static mica_status pull(mica_iterator *it, int64_t out[4], int64_t *n, bool *end) {
    mica_tf_value value = {0};
    *n = 0;
    MICA_TRY(mica_iterator_next(it, &value, 1, end));
    if (*end) return NULL;
    *n = mica_tensor_type(value.object)->dims[0];
    mica_status status = mica_tensor_to_host(value.object, out, (size_t)*n * sizeof *out);
    mica_tf_value_release(value);
    return status;
}

static mica_iterator *open_iterator(mica_dataset *dataset) {
    mica_iterator *it = NULL;
    CHECK_OK(mica_iterator_create(dataset, NULL, &it));
    return it;
}

TEST(maps_and_their_batch_give_what_they_give_one_after_the_other) {
    CHECK_OK(mica_pool_set_threads(2));
    for (int k = 0; k < 4; k++) {
        bool drop = k % 2 != 0, end = false;
        mica_dataset *made = batches(MICA_TF_Mul, k / 2 ? 2 : 0, drop);
        CHECK(mica_dataset_cardinality(made) == (drop ? 2 : 3));
        CHECK(mica_dataset_batch_size(made) == 4);
        mica_iterator *it = open_iterator(made);
        int64_t x[4], n, next = -3;
        for (int i = 0; i < (drop ? 2 : 3); i++) {
            CHECK_OK(pull(it, x, &n, &end));
            REQUIRE(!end && n == (i < 2 ? 4 : 2));
            for (int64_t j = 0; j < n; j++, next++) CHECK(x[j] == 4 * next * next);
        }
        CHECK_OK(pull(it, x, &n, &end));
        CHECK(end);
        mica_iterator_release(it);
        mica_dataset_release(made);
    }
    mica_shutdown();
    CHECK_OK(mica_pool_set_threads(0));
}

TEST(an_element_that_fails_is_named_and_those_behind_it_follow) {
    CHECK_OK(mica_pool_set_threads(2));
    for (int k = 0; k < 2; k++) {
        mica_dataset *made = batches(MICA_TF_FloorDiv, k ? 2 : 0, false);
        mica_iterator *it = open_iterator(made);
        int64_t x[4], n;
        bool end = false;
        CHECK_FAILS(pull(it, x, &n, &end), MICA_INVALID_ARGUMENT,
                    k ? "[ParallelMapDataset] element 3" : "[MapDataset] element 3");
        for (int i = 0; i < 2; i++) {
            CHECK_OK(pull(it, x, &n, &end));
            REQUIRE(!end && n == (i ? 2 : 4));
            for (int64_t j = 0; j < n; j++) CHECK(x[j] == 1);
        }
        CHECK_OK(pull(it, x, &n, &end));
        CHECK(end);
        mica_iterator_release(it);
        mica_dataset_release(made);
    }
    mica_shutdown();
    CHECK_OK(mica_pool_set_threads(0));
}

TEST(what_cannot_be_one_stage_is_refused) {
    mica_dataset *numbers = NULL, *made = NULL;
    mica_tf_graph *one = unary(MICA_TF_AddV2, 0), *whole = unary(MICA_TF_AddV2, 1);
    mica_tf_ref x = mica_tf_graph_parameter_ref(whole, 0);
    mica_dataset_stage stage = {.one = {.graph = one}, .whole = whole};
    CHECK_OK(mica_dataset_range(0, 4, 1, MICA_TF_int64, &numbers));
    CHECK_FAILS(mica_dataset_map_batch(numbers, &stage, 0, 2, false, &made), MICA_INVALID_ARGUMENT,
                "no function");
    CHECK_FAILS(mica_dataset_map_batch(numbers, &stage, 1, 0, false, &made), MICA_INVALID_ARGUMENT,
                "greater than zero, not 0");
    stage.calls = -2;
    CHECK_FAILS(mica_dataset_map_batch(numbers, &stage, 1, 2, false, &made), MICA_INVALID_ARGUMENT,
                "not -2");
    stage.calls = 0;
    CHECK_OK(mica_tf_graph_output(whole, x));
    CHECK_FAILS(mica_dataset_map_batch(numbers, &stage, 1, 2, false, &made), MICA_INVALID_ARGUMENT,
                "gives 1 results, that of a batch 2");
    mica_tf_graph_release(one);
    mica_tf_graph_release(whole);
    mica_dataset_release(numbers);
    mica_shutdown();
}

TEST(running_out_of_memory_is_a_status_and_leaks_nothing) {
    CHECK_OK(mica_pool_set_threads(2));
    for (int k = 0; k < 2; k++) {
        mica_dataset *made = batches(MICA_TF_FloorDiv, k ? 2 : 0, false);
        for (int64_t nth = 1; nth < 2000; nth++) {
            mica_iterator *it = NULL;
            int64_t x[4], n;
            bool end = false, ran = true;
            mica_memory_fail_nth(nth, false);
            mica_status status = mica_iterator_create(made, NULL, &it);
            for (int i = 0; !status && !end && i < 4; i++) {
                status = pull(it, x, &n, &end);
                ran = !status || mica_status_code(status) != MICA_OUT_OF_MEMORY;
                if (ran) mica_status_release(status);
                if (ran) status = NULL;
            }
            mica_memory_fail_nth(0, false);
            bool done = !status;
            if (status) CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY);
            mica_status_release(status);
            mica_iterator_release(it);
            mica_shutdown();
            if (done) break;
        }
        mica_dataset_release(made);
    }
    mica_shutdown();
    CHECK_OK(mica_pool_set_threads(0));
}
