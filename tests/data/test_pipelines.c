/* Pipelines: every kind of dataset, its end, its errors, and running out of memory anywhere. */
#include "mica/data.h"

#include "test.h"

enum { MOST = 32 };

/* Everything a dataset of one scalar of int64 gives; the count, or -1 after an error. */
static int32_t drain(mica_dataset *dataset, int64_t *out) {
    mica_iterator *it = NULL;
    int32_t n = 0;
    bool end = false;
    if (!test_ok(mica_iterator_create(dataset, NULL, &it), __FILE__, __LINE__, "create")) return -1;
    while (!end && n < MOST) {
        mica_tf_value value;
        mica_status status = mica_iterator_next(it, &value, 1, &end);
        if (!status && !end) {
            status = mica_tensor_to_host(value.object, &out[n++], sizeof *out);
            mica_tf_value_release(value);
        }
        if (!test_ok(status, __FILE__, __LINE__, "next")) {
            mica_iterator_release(it);
            return -1;
        }
    }
    mica_iterator_release(it);
    return n;
}

#define CHECK_GIVES(dataset, ...)                                                                  \
    do {                                                                                           \
        int64_t given[MOST], wanted[] = {__VA_ARGS__};                                             \
        int32_t n_wanted = (int32_t)(sizeof wanted / sizeof *wanted), n_given;                     \
        CHECK((n_given = drain(dataset, given)) == n_wanted);                                      \
        for (int32_t k = 0; k < n_wanted && k < n_given; k++) CHECK(given[k] == wanted[k]);        \
    } while (0)

static mica_dataset *range(int64_t start, int64_t stop, int64_t step) {
    mica_dataset *dataset = NULL;
    CHECK_OK(mica_dataset_range(start, stop, step, MICA_TF_int64, &dataset));
    return dataset;
}

static mica_tf_value tensor_of(const mica_type *type, const int64_t *data) {
    mica_device *device = NULL;
    mica_tensor *tensor = NULL;
    CHECK_OK(mica_device_open("cpu", &device));
    CHECK_OK(mica_tensor_from_host(device, type, data, &tensor));
    mica_device_release(device);
    return mica_tf_value_of(tensor);
}

static mica_tf_value vector_of(int64_t n, const int64_t *data) {
    mica_type type = mica_type_make(MICA_DTYPE_i64, MICA_INTS(n));
    return tensor_of(&type, data);
}

static mica_tf_value scalar_of(int64_t number) {
    mica_type type = mica_type_scalar(MICA_DTYPE_i64);
    return tensor_of(&type, &number);
}

TEST(a_range_counts_up_and_down_and_may_be_empty) {
    mica_dataset *up = range(2, 9, 3), *down = range(5, 0, -2), *none = range(3, 3, 1);
    CHECK_GIVES(up, 2, 5, 8);
    CHECK_GIVES(down, 5, 3, 1);
    int64_t data[MOST];
    CHECK(drain(none, data) == 0);
    CHECK(mica_dataset_cardinality(up) == 3 && mica_dataset_cardinality(none) == 0);
    mica_dataset *whole = range(INT64_MIN, INT64_MAX, 1), *bad = NULL;
    CHECK(mica_dataset_cardinality(whole) == INT64_MAX);
    CHECK_FAILS(mica_dataset_range(0, 1, 0, MICA_TF_int64, &bad), MICA_INVALID_ARGUMENT, "step");
    CHECK_FAILS(mica_dataset_range(0, 1, 1, MICA_TF_string, &bad), MICA_INVALID_ARGUMENT, "string");
    mica_dataset_release(up);
    mica_dataset_release(down);
    mica_dataset_release(none);
    mica_dataset_release(whole);
}

TEST(slices_go_along_the_first_axis_and_batches_put_them_back) {
    int64_t data[] = {1, 2, 3, 4, 5, 6}, back[6] = {0};
    mica_type type = mica_type_make(MICA_DTYPE_i64, MICA_INTS(3, 2));
    mica_tf_value rows = tensor_of(&type, data), batch;
    mica_dataset *slices = NULL, *batches = NULL, *bad = NULL;
    mica_iterator *it = NULL;
    bool end;
    CHECK_OK(mica_dataset_slices(&rows, 1, &slices));
    CHECK(mica_dataset_cardinality(slices) == 3);
    CHECK_OK(mica_dataset_batch(slices, 3, true, &batches));
    CHECK_OK(mica_iterator_create(batches, NULL, &it));
    CHECK_OK(mica_iterator_next(it, &batch, 1, &end));
    REQUIRE(!end);
    CHECK(mica_type_elements(mica_tensor_type(batch.object)) == 6);
    CHECK_OK(mica_tensor_to_host(batch.object, back, sizeof back));
    CHECK(!memcmp(back, data, sizeof data));
    mica_tf_value_release(batch);
    for (int again = 0; again < 2; again++) {
        CHECK_OK(mica_iterator_next(it, &batch, 1, &end));
        CHECK(end && !batch.object);
    }
    mica_iterator_release(it);
    mica_tf_value column = vector_of(4, data), both[2] = {rows, column};
    CHECK_FAILS(mica_dataset_slices(both, 2, &bad), MICA_INVALID_ARGUMENT, "3 and 4");
    mica_tf_value_release(column);
    mica_tf_value_release(rows);
    mica_dataset_release(slices);
    mica_dataset_release(batches);
}

TEST(strings_are_sliced_and_stacked_too) {
    const char *words[] = {"a", "bc", "", "d"};
    size_t lengths[] = {1, 2, 0, 1};
    mica_tf_value all, batch;
    mica_dataset *slices = NULL, *batches = NULL;
    mica_iterator *it = NULL;
    bool end;
    size_t length;
    CHECK_OK(mica_tf_strings_create(MICA_INTS(4), words, lengths, &all));
    CHECK_OK(mica_dataset_slices(&all, 1, &slices));
    CHECK_OK(mica_dataset_batch(slices, 3, false, &batches));
    CHECK_OK(mica_iterator_create(batches, NULL, &it));
    CHECK_OK(mica_iterator_next(it, &batch, 1, &end));
    REQUIRE(!end);
    CHECK(mica_tf_strings_count(batch) == 3);
    CHECK(!memcmp(mica_tf_strings_get(batch, 1, &length), "bc", 2) && length == 2);
    mica_tf_value_release(batch);
    mica_iterator_release(it);
    mica_dataset_release(slices);
    mica_dataset_release(batches);
    mica_tf_value_release(all);
}

TEST(a_last_batch_is_small_or_dropped_and_unbatch_undoes_both) {
    mica_dataset *numbers = range(0, 5, 1), *kept = NULL, *dropped = NULL, *again = NULL;
    CHECK_OK(mica_dataset_batch(numbers, 2, false, &kept));
    CHECK_OK(mica_dataset_batch(numbers, 2, true, &dropped));
    CHECK(mica_dataset_cardinality(kept) == 3 && mica_dataset_cardinality(dropped) == 2);
    CHECK_OK(mica_dataset_unbatch(kept, &again));
    CHECK_GIVES(again, 0, 1, 2, 3, 4);
    mica_dataset_release(again);
    CHECK_OK(mica_dataset_unbatch(dropped, &again));
    CHECK_GIVES(again, 0, 1, 2, 3);
    mica_dataset_release(again);
    CHECK_FAILS(mica_dataset_batch(numbers, 0, false, &again), MICA_INVALID_ARGUMENT,
                "greater than zero");
    mica_dataset_release(kept);
    mica_dataset_release(dropped);
    mica_dataset_release(numbers);
}

TEST(datasets_follow_each_other_repeat_and_are_cut) {
    mica_dataset *a = range(0, 2, 1), *b = range(7, 9, 1), *joined = NULL, *made = NULL;
    CHECK_OK(mica_dataset_concatenate(a, b, &joined));
    CHECK_GIVES(joined, 0, 1, 7, 8);
    CHECK_OK(mica_dataset_repeat(joined, 2, &made));
    CHECK_GIVES(made, 0, 1, 7, 8, 0, 1, 7, 8);
    CHECK(mica_dataset_cardinality(made) == 8);
    mica_dataset_release(made);
    CHECK_OK(mica_dataset_skip(joined, 3, &made));
    CHECK_GIVES(made, 8);
    mica_dataset_release(made);
    mica_dataset *for_ever = NULL, *nothing = range(0, 0, 1), *still = NULL;
    CHECK_OK(mica_dataset_repeat(a, -1, &for_ever));
    CHECK(mica_dataset_cardinality(for_ever) == MICA_DATASET_INFINITE);
    CHECK_OK(mica_dataset_take(for_ever, 5, &made));
    CHECK(mica_dataset_cardinality(made) == 5);
    CHECK_GIVES(made, 0, 1, 0, 1, 0);
    CHECK_OK(mica_dataset_repeat(nothing, -1, &still));
    int64_t data[MOST];
    CHECK(drain(still, data) == 0);
    mica_dataset_release(still);
    mica_dataset_release(nothing);
    mica_dataset_release(for_ever);
    mica_dataset_release(made);
    mica_dataset_release(joined);
    mica_dataset_release(a);
    mica_dataset_release(b);
}

TEST(zip_ends_with_the_shortest) {
    mica_dataset *a = range(0, 3, 1), *b = range(10, 20, 1), *inputs[2] = {a, b}, *both = NULL;
    mica_iterator *it = NULL;
    mica_tf_value pair[2];
    bool end = false;
    int32_t n = 0;
    CHECK_OK(mica_dataset_zip(inputs, 2, &both));
    CHECK(mica_dataset_component_count(both) == 2 && mica_dataset_cardinality(both) == 3);
    CHECK_OK(mica_iterator_create(both, NULL, &it));
    for (;; n++) {
        int64_t x = -1, y = -1;
        CHECK_OK(mica_iterator_next(it, pair, 2, &end));
        if (end) break;
        CHECK_OK(mica_tensor_to_host(pair[0].object, &x, sizeof x));
        CHECK_OK(mica_tensor_to_host(pair[1].object, &y, sizeof y));
        CHECK(x == n && y == 10 + n);
        mica_tf_value_release(pair[0]);
        mica_tf_value_release(pair[1]);
    }
    CHECK(n == 3);
    CHECK_FAILS(mica_iterator_next(it, pair, 1, &end), MICA_INVALID_ARGUMENT, "2 components");
    mica_iterator_release(it);
    mica_dataset_release(both);
    mica_dataset_release(a);
    mica_dataset_release(b);
}

/* The orders are TensorFlow 2's for range(10).shuffle(4, seed=1), whose seeds are these two. */
TEST(a_shuffle_has_tensorflows_order) {
    enum { GLOBAL = 87654321 };
    mica_dataset *numbers = range(0, 10, 1), *fixed = NULL, *other = NULL;
    CHECK_OK(mica_dataset_shuffle(numbers, 4, GLOBAL, 1, false, &fixed));
    for (int again = 0; again < 2; again++) CHECK_GIVES(fixed, 3, 4, 0, 5, 2, 7, 8, 9, 1, 6);
    CHECK_OK(mica_dataset_shuffle(numbers, 4, GLOBAL, 1, true, &other));
    CHECK_GIVES(other, 0, 4, 5, 1, 2, 7, 9, 8, 6, 3);
    CHECK_GIVES(other, 2, 1, 3, 4, 6, 8, 7, 9, 5, 0);
    mica_dataset_release(other);
    CHECK_OK(mica_dataset_shuffle(numbers, 100, GLOBAL, 7, false, &other));
    CHECK_GIVES(other, 7, 2, 0, 9, 8, 4, 5, 1, 6, 3);
    mica_dataset_release(other);
    mica_dataset_release(fixed);
    mica_dataset_release(numbers);
}

TEST(prefetch_changes_nothing_and_stops_when_it_is_released) {
    mica_dataset *numbers = range(0, 20, 1), *ahead = NULL, *for_ever = NULL;
    CHECK_OK(mica_dataset_prefetch(numbers, 3, &ahead));
    CHECK_GIVES(ahead, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19);
    mica_dataset_release(ahead);
    CHECK_OK(mica_dataset_repeat(numbers, -1, &for_ever));
    CHECK_OK(mica_dataset_prefetch(for_ever, 2, &ahead));
    mica_iterator *it = NULL;
    mica_tf_value value;
    bool end;
    CHECK_OK(mica_iterator_create(ahead, NULL, &it));
    CHECK_OK(mica_iterator_next(it, &value, 1, &end));
    mica_tf_value_release(value);
    mica_iterator_release(it);
    mica_dataset_release(ahead);
    mica_dataset_release(for_ever);
    mica_dataset_release(numbers);
}

/* ---- functions --------------------------------------------------------------------------------*/

static mica_tf_graph *twice(void) {
    mica_tf_graph *g = NULL;
    mica_tf_shape scalar = {.rank = 0};
    mica_tf_ref x, y;
    CHECK_OK(mica_tf_graph_create("twice", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_int64, &scalar, "x", &x));
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_AddV2, NULL, (mica_tf_ref[]){x, x}, 2, NULL, &y));
    CHECK_OK(mica_tf_graph_output(g, y));
    return g;
}

static mica_tf_graph *below(void) { /* of the element and a captured bound */
    mica_tf_graph *g = NULL;
    mica_tf_shape scalar = {.rank = 0};
    mica_tf_ref x, bound, y;
    CHECK_OK(mica_tf_graph_create("below", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_int64, &scalar, "x", &x));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_int64, &scalar, "bound", &bound));
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Less, NULL, (mica_tf_ref[]){x, bound}, 2, NULL, &y));
    CHECK_OK(mica_tf_graph_output(g, y));
    return g;
}

TEST(map_and_filter_run_graphs_with_captured_values) {
    mica_dataset *numbers = range(0, 5, 1), *doubled = NULL, *small = NULL, *bad = NULL;
    mica_tf_graph *f = twice(), *predicate = below();
    mica_tf_value bound = scalar_of(6);
    mica_dataset_function map = {.graph = f};
    mica_dataset_function filter = {.graph = predicate, .captured = &bound, .n_captured = 1};
    CHECK_OK(mica_dataset_map(numbers, &map, &doubled));
    CHECK_OK(mica_dataset_filter(doubled, &filter, &small));
    CHECK_GIVES(doubled, 0, 2, 4, 6, 8);
    CHECK_GIVES(small, 0, 2, 4);
    CHECK(mica_dataset_cardinality(doubled) == 5);
    CHECK(mica_dataset_cardinality(small) == MICA_DATASET_UNKNOWN);
    map.graph = predicate;
    CHECK_FAILS(mica_dataset_map(numbers, &map, &bad), MICA_INVALID_ARGUMENT, "takes 2 values");
    mica_tf_value_release(bound);
    mica_tf_graph_release(f);
    mica_tf_graph_release(predicate);
    mica_dataset_release(small);
    mica_dataset_release(doubled);
    mica_dataset_release(numbers);
}

TEST(flat_map_takes_the_datasets_that_a_graph_makes) {
    mica_tf_graph *g = NULL;
    mica_tf_shape scalar = {.rank = 0};
    mica_tf_ref x, zero, one, made;
    mica_tf_value no = scalar_of(0), yes = scalar_of(1);
    int64_t dtype = MICA_TF_int64;
    mica_tf_attr number[2] = {{.as.value = no}, {.as.integer = MICA_TF_int64}};
    mica_tf_attr attrs[2] = {{.n = 1, .as.ints = &dtype}, {.n = 1, .as.shapes = &scalar}};
    CHECK_OK(mica_tf_graph_create("upto", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_int64, &scalar, "x", &x));
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Const, number, NULL, 0, NULL, &zero));
    number[0].as.value = yes;
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_Const, number, NULL, 0, NULL, &one));
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_RangeDataset, attrs, (mica_tf_ref[]){zero, x, one}, 3,
                               NULL, &made));
    CHECK_OK(mica_tf_graph_output(g, made));
    mica_dataset *numbers = range(0, 4, 1), *flat = NULL, *bad = NULL;
    mica_dataset_function function = {.graph = g};
    CHECK_OK(mica_dataset_flat_map(numbers, &function, 1, &flat));
    CHECK_GIVES(flat, 0, 0, 1, 0, 1, 2);
    mica_dataset_release(flat);
    CHECK_OK(mica_dataset_interleave(numbers, &function, 2, 1, 1, &flat));
    CHECK_GIVES(flat, 0, 0, 1, 0, 1, 2);
    mica_dataset_release(flat);
    CHECK_OK(mica_dataset_interleave(numbers, &function, 4, 2, 1, &flat));
    CHECK_GIVES(flat, 0, 0, 1, 0, 1, 2);
    mica_dataset_release(flat);
    CHECK_FAILS(mica_dataset_interleave(numbers, &function, 0, 1, 1, &bad), MICA_INVALID_ARGUMENT,
                "cycle_length");
    mica_dataset_release(numbers);
    mica_tf_value_release(no);
    mica_tf_value_release(yes);
    mica_tf_graph_release(g);
}

/* The sum of a state and an element, twice: the next state and what is given. */
static mica_tf_graph *sums(void) {
    mica_tf_graph *g = NULL;
    mica_tf_shape scalar = {.rank = 0};
    mica_tf_ref x, y, sum;
    CHECK_OK(mica_tf_graph_create("sums", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_int64, &scalar, "state", &x));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_int64, &scalar, "x", &y));
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_AddV2, NULL, (mica_tf_ref[]){x, y}, 2, NULL, &sum));
    CHECK_OK(mica_tf_graph_output(g, sum));
    CHECK_OK(mica_tf_graph_output(g, sum));
    return g;
}

TEST(a_scan_carries_a_state_and_take_while_ends_for_good) {
    mica_dataset *numbers = range(1, 6, 1), *scanned = NULL, *taken = NULL, *bad = NULL;
    mica_tf_graph *f = sums(), *predicate = below();
    mica_tf_value zero = scalar_of(0), bound = scalar_of(4);
    mica_dataset_function function = {.graph = f};
    mica_dataset_function less = {.graph = predicate, .captured = &bound, .n_captured = 1};
    CHECK_OK(mica_dataset_scan(numbers, &zero, 1, &function, &scanned));
    CHECK_GIVES(scanned, 1, 3, 6, 10, 15);
    CHECK_GIVES(scanned, 1, 3, 6, 10, 15);
    CHECK(mica_dataset_cardinality(scanned) == 5);
    CHECK_FAILS(mica_dataset_scan(numbers, &zero, 3, &function, &bad), MICA_INVALID_ARGUMENT,
                "state of 3");
    CHECK_OK(mica_dataset_take_while(numbers, &less, &taken));
    CHECK_GIVES(taken, 1, 2, 3);
    mica_tf_value_release(zero);
    mica_tf_value_release(bound);
    mica_tf_graph_release(f);
    mica_tf_graph_release(predicate);
    mica_dataset_release(taken);
    mica_dataset_release(scanned);
    mica_dataset_release(numbers);
}

TEST(a_cache_is_full_after_the_first_whole_round) {
    mica_dataset *random = NULL, *few = NULL, *kept = NULL;
    int64_t first[MOST], second[MOST], cut;
    bool end;
    CHECK_OK(mica_dataset_random(1, 2, true, &random));
    CHECK(mica_dataset_cardinality(random) == MICA_DATASET_INFINITE);
    CHECK_OK(mica_dataset_take(random, 4, &few));
    CHECK_OK(mica_dataset_cache(few, &kept));
    mica_iterator *it = NULL;
    mica_tf_value value;
    CHECK_OK(mica_iterator_create(kept, NULL, &it));
    CHECK_OK(mica_iterator_next(it, &value, 1, &end));
    CHECK_OK(mica_tensor_to_host(value.object, &cut, sizeof cut));
    mica_tf_value_release(value);
    mica_iterator_release(it); /* not the whole: nothing is kept */
    CHECK(drain(kept, first) == 4 && drain(kept, second) == 4);
    CHECK(!memcmp(first, second, 4 * sizeof *first) && first[0] != cut);
    mica_dataset_release(kept);
    mica_dataset_release(few);
    mica_dataset_release(random);
}

TEST(another_dataset_chooses_and_those_that_end_are_passed_over_or_end_it) {
    int64_t chosen[] = {0, 1, 0, 0, 1, 2, 0};
    mica_tf_value order = vector_of(6, chosen), wrong = vector_of(7, chosen);
    mica_dataset *choices = NULL, *made = NULL, *a = range(0, 2, 1), *b = range(10, 20, 1);
    mica_dataset *three[3] = {a, b, b};
    CHECK_OK(mica_dataset_slices(&order, 1, &choices));
    CHECK_OK(mica_dataset_directed(choices, three, 3, false, &made));
    CHECK_GIVES(made, 0, 10, 1, 11, 10);
    mica_dataset_release(made);
    CHECK_OK(mica_dataset_directed(choices, three, 3, true, &made));
    CHECK_GIVES(made, 0, 10, 1);
    mica_dataset_release(made);
    mica_dataset *counted = NULL;
    CHECK_OK(mica_dataset_counted(a, 3, &counted));
    CHECK(mica_dataset_cardinality(counted) == 3);
    mica_iterator *it = NULL;
    mica_tf_value value = {0};
    mica_status status = NULL;
    bool end = false;
    CHECK_OK(mica_iterator_create(counted, NULL, &it));
    for (int i = 0; i < 3 && !status; i++) {
        status = mica_iterator_next(it, &value, 1, &end);
        if (!status && !end) mica_tf_value_release(value);
    }
    CHECK_FAILS(status, MICA_FAILED_PRECONDITION, "only 2");
    mica_iterator_release(it);
    mica_dataset_release(counted);
    mica_dataset_release(choices);
    mica_dataset_release(a);
    mica_dataset_release(b);
    mica_tf_value_release(order);
    mica_tf_value_release(wrong);
}

/* Batches of windows, padded: a pipeline whose every part keeps elements. */
static mica_dataset *padded_rows(mica_dataset *numbers) {
    mica_dataset *batches = NULL, *padded = NULL, *kept = NULL;
    mica_tf_shape shape = {.rank = 1, .dims = {-1}};
    mica_tf_value minus = scalar_of(-1);
    CHECK_OK(mica_dataset_batch(numbers, 2, false, &batches));
    CHECK_OK(mica_dataset_padded_batch(batches, 2, &shape, &minus, false, &padded));
    CHECK_OK(mica_dataset_cache(padded, &kept));
    mica_tf_value_release(minus);
    mica_dataset_release(batches);
    mica_dataset_release(padded);
    return kept;
}

TEST(elements_are_filled_up_to_the_largest_of_their_batch) {
    mica_dataset *numbers = range(0, 7, 1), *rows = padded_rows(numbers);
    int64_t wanted[2][4] = {{0, 1, 2, 3}, {4, 5, 6, -1}}, data[4];
    mica_iterator *it = NULL;
    CHECK(mica_dataset_cardinality(rows) == 2);
    CHECK_OK(mica_iterator_create(rows, NULL, &it));
    for (int i = 0; i < 2; i++) {
        mica_tf_value value;
        bool end;
        CHECK_OK(mica_iterator_next(it, &value, 1, &end));
        REQUIRE(!end && mica_type_elements(mica_tensor_type(value.object)) == 4);
        CHECK_OK(mica_tensor_to_host(value.object, data, sizeof data));
        CHECK(!memcmp(data, wanted[i], sizeof data));
        mica_tf_value_release(value);
    }
    mica_iterator_release(it);
    mica_dataset_release(rows);
    mica_dataset_release(numbers);
}

TEST(a_window_is_a_dataset_of_elements_that_follow_each_other) {
    mica_dataset *numbers = range(0, 10, 1), *windows = NULL;
    int64_t wanted[3][3] = {{0, 2, 4}, {4, 6, 8}, {8}}, counts[3] = {3, 3, 1};
    mica_iterator *it = NULL;
    mica_tf_value value;
    bool end;
    CHECK_OK(mica_dataset_window(numbers, 3, 4, 2, false, &windows));
    CHECK(mica_dataset_cardinality(windows) == 3);
    CHECK_OK(mica_iterator_create(windows, NULL, &it));
    for (int i = 0; i < 3; i++) {
        int64_t data[MOST];
        CHECK_OK(mica_iterator_next(it, &value, 1, &end));
        REQUIRE(!end);
        CHECK(drain(mica_dataset_of(value), data) == counts[i]);
        CHECK(!memcmp(data, wanted[i], (size_t)counts[i] * sizeof *data));
        mica_tf_value_release(value);
    }
    CHECK_OK(mica_iterator_next(it, &value, 1, &end));
    CHECK(end);
    mica_iterator_release(it);
    mica_dataset_release(windows);
    CHECK_FAILS(mica_dataset_window(numbers, 0, 1, 1, false, &windows), MICA_INVALID_ARGUMENT,
                "greater than zero");
    mica_dataset_release(numbers);
}

TEST(batches_of_different_shapes_are_refused_and_the_next_element_follows) {
    int64_t data[] = {1, 2, 3};
    mica_tf_value two = vector_of(2, data), three = vector_of(3, data), value;
    mica_dataset *a = NULL, *b = NULL, *joined = NULL, *batches = NULL;
    mica_iterator *it = NULL;
    bool end;
    CHECK_OK(mica_dataset_tensors(&two, 1, &a));
    CHECK_OK(mica_dataset_tensors(&three, 1, &b));
    CHECK_OK(mica_dataset_concatenate(a, b, &joined));
    CHECK_OK(mica_dataset_batch(joined, 2, false, &batches));
    CHECK_OK(mica_iterator_create(batches, NULL, &it));
    CHECK_FAILS(mica_iterator_next(it, &value, 1, &end), MICA_INVALID_ARGUMENT, "different shapes");
    CHECK_OK(mica_iterator_next(it, &value, 1, &end));
    CHECK(end);
    mica_iterator_release(it);
    mica_dataset_release(batches);
    mica_dataset_release(joined);
    mica_dataset_release(a);
    mica_dataset_release(b);
    mica_tf_value_release(two);
    mica_tf_value_release(three);
}

static void fail_each_allocation(mica_dataset *batches) {
    for (int64_t nth = 1; nth < 200; nth++) {
        mica_iterator *it = NULL;
        mica_tf_value value = {0};
        bool end = false;
        mica_memory_fail_nth(nth, false);
        mica_status status = mica_iterator_create(batches, NULL, &it);
        if (!status) status = mica_iterator_next(it, &value, 1, &end);
        mica_memory_fail_nth(0, false);
        bool done = !status;
        if (status) CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
        if (value.object) mica_tf_value_release(value);
        mica_iterator_release(it);
        if (done) break;
        CHECK(nth < 199);
    }
}

TEST(running_out_of_memory_anywhere_is_a_status_and_leaks_nothing) {
    mica_dataset *numbers = range(0, 6, 1), *shuffled = NULL, *batches = NULL, *windows = NULL;
    CHECK_OK(mica_dataset_shuffle(numbers, 3, 1, 2, false, &shuffled));
    CHECK_OK(mica_dataset_batch(shuffled, 4, false, &batches));
    CHECK_OK(mica_dataset_window(numbers, 3, 4, 1, false, &windows));
    mica_dataset *rows = padded_rows(numbers);
    fail_each_allocation(batches);
    fail_each_allocation(windows);
    fail_each_allocation(rows);
    mica_dataset_release(rows);
    mica_dataset_release(windows);
    mica_dataset_release(batches);
    mica_dataset_release(shuffled);
    mica_dataset_release(numbers);
}
