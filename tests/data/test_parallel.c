/* Functions of pipelines that run side by side: the same elements, and nobody waits for nobody. */
#include "base/pool.h"
#include "data/data.h"
#include "test.h"

enum { MANY = 64 };

/* ---- jobs -------------------------------------------------------------------------------------*/

/* Two that each wait until the other has begun. */
typedef struct meeting {
    mica_mutex lock;
    mica_condition changed;
    int here;
} meeting;

typedef struct meeting_job {
    mica_data_job job;
    meeting *at;
} meeting_job;

static void meet(mica_data_job *job) {
    meeting *m = ((meeting_job *)job)->at;
    mica_mutex_lock(&m->lock);
    m->here++;
    mica_condition_broadcast(&m->changed);
    while (m->here < 2) mica_condition_wait(&m->changed, &m->lock);
    mica_mutex_unlock(&m->lock);
}

static void destroy(mica_data_job *job) {
    mica_free(job);
}

static mica_data_job *meeting_of(mica_data_board *board, meeting *m) {
    meeting_job *job = (meeting_job *)mica_data_job_create(board, sizeof *job, meet, destroy);
    job->at = m;
    mica_data_job_submit(&job->job);
    return &job->job;
}

TEST(two_jobs_are_inside_at_the_same_time) {
    CHECK_OK(mica_pool_set_threads(2));
    mica_data_board *board = mica_data_board_create();
    meeting m = {.here = 0};
    mica_data_job *a = meeting_of(board, &m), *b = meeting_of(board, &m);
    CHECK_OK(mica_data_job_wait(a));
    CHECK_OK(mica_data_job_wait(b));
    CHECK(mica_data_job_is_done(a) && mica_data_job_is_done(b) && m.here == 2);
    mica_data_job_leave(a);
    mica_data_job_leave(b);
    mica_data_board_release(board);
    mica_shutdown();
    CHECK_OK(mica_pool_set_threads(0));
}

/* ---- datasets ---------------------------------------------------------------------------------*/

static mica_dataset *range(int64_t n) {
    mica_dataset *dataset = NULL;
    CHECK_OK(mica_dataset_range(0, n, 1, MICA_TF_int64, &dataset));
    return dataset;
}

static mica_tf_graph *unary(mica_tf_op op) { /* op(x, x) */
    mica_tf_graph *g = NULL;
    mica_tf_shape scalar = {.rank = 0};
    mica_tf_ref x, y;
    CHECK_OK(mica_tf_graph_create("unary", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_int64, &scalar, "x", &x));
    CHECK_OK(mica_tf_graph_add(g, op, NULL, (mica_tf_ref[]){x, x}, 2, NULL, &y));
    CHECK_OK(mica_tf_graph_output(g, y));
    return g;
}

static mica_dataset *parallel(mica_dataset *input, mica_tf_op op, int64_t calls, bool in_order) {
    mica_tf_graph *g = unary(op);
    mica_dataset *made = NULL;
    CHECK_OK(mica_dataset_parallel_map(input, &(mica_dataset_function){.graph = g}, calls, in_order,
                                       &made));
    mica_tf_graph_release(g);
    return made;
}

static mica_status pull(mica_iterator *it, int64_t *out, bool *end) {
    mica_tf_value value = {0};
    MICA_TRY(mica_iterator_next(it, &value, 1, end));
    if (*end) return NULL;
    mica_status status = mica_tensor_to_host(value.object, out, sizeof *out);
    mica_tf_value_release(value);
    return status;
}

static mica_iterator *open_iterator(mica_dataset *dataset) {
    mica_iterator *it = NULL;
    CHECK_OK(mica_iterator_create(dataset, NULL, &it));
    return it;
}

TEST(a_parallel_map_keeps_the_order_or_gives_every_element_once) {
    CHECK_OK(mica_pool_set_threads(3));
    mica_dataset *numbers = range(MANY);
    for (int in_order = 0; in_order < 2; in_order++) {
        mica_dataset *doubled = parallel(numbers, MICA_TF_AddV2, in_order ? 2 : -1, in_order);
        CHECK(mica_dataset_cardinality(doubled) == MANY);
        mica_iterator *it = open_iterator(doubled);
        bool end = false, seen[MANY] = {false};
        for (int64_t i = 0; i < MANY; i++) {
            int64_t x = -1;
            CHECK_OK(pull(it, &x, &end));
            REQUIRE(!end && x >= 0 && x < 2 * MANY && x % 2 == 0);
            CHECK(!in_order || x == 2 * i);
            CHECK(!seen[x / 2]);
            seen[x / 2] = true;
        }
        int64_t x;
        CHECK_OK(pull(it, &x, &end));
        CHECK(end);
        mica_iterator_release(it);
        mica_dataset_release(doubled);
    }
    mica_dataset_release(numbers);
    mica_shutdown();
    CHECK_OK(mica_pool_set_threads(0));
}

TEST(a_call_that_fails_is_named_in_its_turn_and_the_others_follow) {
    CHECK_OK(mica_pool_set_threads(2));
    mica_dataset *numbers = range(3), *divided = parallel(numbers, MICA_TF_FloorDiv, 2, true);
    mica_iterator *it = open_iterator(divided);
    int64_t x;
    bool end;
    CHECK_FAILS(pull(it, &x, &end), MICA_INVALID_ARGUMENT, "[ParallelMapDataset] element 0");
    for (int i = 1; i < 3; i++) {
        CHECK_OK(pull(it, &x, &end));
        CHECK(!end && x == 1);
    }
    CHECK_OK(pull(it, &x, &end));
    CHECK(end);
    mica_iterator_release(it);
    mica_dataset_release(divided);
    mica_dataset *bad = NULL;
    mica_tf_graph *g = unary(MICA_TF_AddV2);
    CHECK_FAILS(
        mica_dataset_parallel_map(numbers, &(mica_dataset_function){.graph = g}, 0, true, &bad),
        MICA_INVALID_ARGUMENT, "greater than zero");
    mica_tf_graph_release(g);
    mica_dataset_release(numbers);
    mica_shutdown();
    CHECK_OK(mica_pool_set_threads(0));
}

TEST(an_iterator_may_be_left_with_calls_under_way) {
    CHECK_OK(mica_pool_set_threads(4));
    mica_dataset *numbers = range(INT64_MAX);
    mica_dataset *inner = parallel(numbers, MICA_TF_AddV2, -1, true);
    mica_dataset *outer = parallel(inner, MICA_TF_Mul, -1, false), *ahead = NULL;
    CHECK_OK(mica_dataset_prefetch(outer, 3, &ahead));
    for (int i = 0; i < 8; i++) {
        mica_iterator *it = open_iterator(ahead);
        int64_t x;
        bool end = false;
        for (int k = 0; k < i; k++) CHECK_OK(pull(it, &x, &end));
        mica_iterator_release(it);
    }
    mica_dataset_release(ahead);
    mica_dataset_release(outer);
    mica_dataset_release(inner);
    mica_dataset_release(numbers);
    mica_shutdown(); /* waits for what was left */
    CHECK_OK(mica_pool_set_threads(0));
}

/* ---- interleave -------------------------------------------------------------------------------*/

static mica_tf_graph *up_to(void) { /* x: the numbers below x */
    mica_tf_graph *g = NULL;
    mica_tf_shape scalar = {.rank = 0};
    mica_type type = mica_type_scalar(MICA_DTYPE_i64);
    mica_tf_ref x, constants[2], made;
    int64_t dtype = MICA_TF_int64;
    mica_device *device = NULL;
    CHECK_OK(mica_device_open("cpu", &device));
    CHECK_OK(mica_tf_graph_create("up_to", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_int64, &scalar, "x", &x));
    for (int64_t i = 0; i < 2; i++) {
        mica_tensor *tensor = NULL;
        CHECK_OK(mica_tensor_from_host(device, &type, &i, &tensor));
        mica_tf_attr number[2] = {{.as.value = mica_tf_value_of(tensor)},
                                  {.as.integer = MICA_TF_int64}};
        CHECK_OK(mica_tf_graph_add(g, MICA_TF_Const, number, NULL, 0, NULL, &constants[i]));
        mica_tensor_release(tensor);
    }
    mica_device_release(device);
    mica_tf_attr attrs[2] = {{.n = 1, .as.ints = &dtype}, {.n = 1, .as.shapes = &scalar}};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_RangeDataset, attrs,
                               (mica_tf_ref[]){constants[0], x, constants[1]}, 3, NULL, &made));
    CHECK_OK(mica_tf_graph_output(g, made));
    return g;
}

static int64_t drain(mica_dataset *dataset, int64_t *out, int64_t most) {
    mica_iterator *it = open_iterator(dataset);
    int64_t n = 0;
    for (bool end = false; n < most; n++) {
        CHECK_OK(pull(it, &out[n], &end));
        if (end) break;
    }
    mica_iterator_release(it);
    return n;
}

TEST(a_parallel_interleave_has_the_order_of_interleave) {
    CHECK_OK(mica_pool_set_threads(3));
    mica_dataset *numbers = range(9);
    mica_tf_graph *g = up_to();
    mica_dataset_function f = {.graph = g};
    for (int64_t cycle = 1; cycle <= 16; cycle = cycle < 4 ? cycle + 1 : cycle * 2)
        for (int64_t block = 1; block < 4; block++) {
            mica_dataset *plain = NULL, *ordered = NULL, *free_one = NULL;
            int64_t a[MANY], b[MANY], c[MANY], sums[2] = {0};
            CHECK_OK(mica_dataset_interleave(numbers, &f, cycle, block, 1, &plain));
            CHECK_OK(
                mica_dataset_parallel_interleave(numbers, &f, cycle, block, 2, true, 1, &ordered));
            CHECK_OK(mica_dataset_parallel_interleave(numbers, &f, cycle, block, -1, false, 1,
                                                      &free_one));
            CHECK(drain(plain, a, MANY) == 36 && drain(ordered, b, MANY) == 36);
            CHECK(drain(free_one, c, MANY) == 36);
            CHECK(!memcmp(a, b, 36 * sizeof *a));
            for (int i = 0; i < 36; i++) sums[0] += a[i] * a[i], sums[1] += c[i] * c[i];
            CHECK(sums[0] == sums[1]);
            mica_dataset_release(plain);
            mica_dataset_release(ordered);
            mica_dataset_release(free_one);
        }
    mica_tf_graph_release(g);
    mica_dataset_release(numbers);
    mica_shutdown();
    CHECK_OK(mica_pool_set_threads(0));
}

/* ---- memory -----------------------------------------------------------------------------------*/

static void fail_each_allocation(mica_dataset *dataset) {
    for (int64_t nth = 1; nth < 600; nth++) {
        mica_iterator *it = NULL;
        int64_t x;
        bool end = false;
        mica_memory_fail_nth(nth, false);
        mica_status status = mica_iterator_create(dataset, NULL, &it);
        for (int i = 0; !status && !end && i < 4; i++) status = pull(it, &x, &end);
        mica_memory_fail_nth(0, false);
        bool done = !status;
        if (status) CHECK(mica_status_code(status) == MICA_OUT_OF_MEMORY);
        mica_status_release(status);
        mica_iterator_release(it);
        mica_shutdown();
        if (done) break;
    }
}

TEST(running_out_of_memory_side_by_side_is_a_status_and_leaks_nothing) {
    CHECK_OK(mica_pool_set_threads(2));
    mica_dataset *numbers = range(4), *interleaved = NULL;
    mica_dataset *doubled = parallel(numbers, MICA_TF_AddV2, 2, true);
    mica_tf_graph *g = up_to();
    CHECK_OK(mica_dataset_parallel_interleave(numbers, &(mica_dataset_function){.graph = g}, 2, 1,
                                              2, true, 1, &interleaved));
    fail_each_allocation(doubled);
    fail_each_allocation(interleaved);
    mica_tf_graph_release(g);
    mica_dataset_release(interleaved);
    mica_dataset_release(doubled);
    mica_dataset_release(numbers);
    mica_shutdown();
    CHECK_OK(mica_pool_set_threads(0));
}
