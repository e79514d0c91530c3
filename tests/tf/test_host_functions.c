/* Functions of the host language: who holds them, and when they are given back. */
#include "test.h"
#include "tf/tf.h"

static int destroyed[8];

static void destroy(void *context) {
    destroyed[*(int *)context]++;
}

static int64_t create(int *which) {
    int64_t number = 0;
    destroyed[*which] = 0;
    CHECK_OK(mica_tf_host_function_create(destroy, which, &number));
    return number;
}

/* y = function(x) */
static mica_tf_graph *calling(int64_t number) {
    static const int64_t types[1] = {MICA_TF_float32};
    mica_tf_attr attrs[3] = {
        {.n = 1, .as.integer = number}, {.n = 1, .as.ints = types}, {.n = 1, .as.ints = types}};
    mica_tf_shape scalar = {.rank = 0};
    mica_tf_graph *g = NULL;
    mica_tf_ref x, y;
    CHECK_OK(mica_tf_graph_create("calling", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_float32, &scalar, "x", &x));
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_PyFunc, attrs, &x, 1, NULL, &y));
    CHECK_OK(mica_tf_graph_output(g, y));
    return g;
}

/* y = f(x), if(c, f, f)(x) */
static mica_tf_graph *referring(mica_tf_graph *f) {
    mica_tf_shape scalar = {.rank = 0};
    mica_tf_graph *g = NULL;
    mica_tf_ref c, x, y;
    const mica_tf_op_info *info = mica_tf_op_describe(MICA_TF_If);
    static const int64_t types[1] = {MICA_TF_float32};
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{0}};
    for (int32_t i = 0; i < info->n_attrs; i++) {
        attrs[i] = info->attrs[i].value;
        if (info->attrs[i].kind == MICA_TF_FUNCTION) attrs[i].as.function = f;
        if (info->attrs[i].kind == MICA_TF_TYPES)
            attrs[i] = (mica_tf_attr){.n = 1, .as.ints = types};
    }
    CHECK_OK(mica_tf_graph_create("referring", &g));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_bool, &scalar, "c", &c));
    CHECK_OK(mica_tf_graph_parameter(g, MICA_TF_float32, &scalar, "x", &x));
    mica_tf_ref both[2] = {c, x};
    CHECK_OK(mica_tf_graph_add(g, MICA_TF_If, attrs, both, 2, NULL, &y));
    CHECK_OK(mica_tf_graph_output(g, y));
    return g;
}

static void count(void *context, int64_t number) {
    (void)number;
    ++*(int *)context;
}

static int found_in(mica_tf_graph *g) {
    int n = 0;
    mica_tf_graph_host_functions(g, count, &n);
    return n;
}

TEST(a_function_lives_as_long_as_its_creator_or_an_operation) {
    int first = 0, second = 1;
    int64_t a = create(&first), b = create(&second);
    CHECK(a > 0 && b > a && mica_tf_host_function_count() == 2);
    CHECK(mica_tf_host_function_context(a) == &first);
    mica_tf_graph *g = calling(a), *again = calling(a);
    mica_tf_host_function_release(a);
    mica_tf_host_function_release(b);
    CHECK(destroyed[0] == 0 && destroyed[1] == 1);
    CHECK(mica_tf_host_function_context(b) == NULL);
    mica_tf_graph_release(g);
    CHECK(destroyed[0] == 0);
    mica_tf_graph_release(again);
    CHECK(destroyed[0] == 1);
    CHECK(mica_tf_host_function_count() == 0);
    CHECK(mica_memory_live_blocks() == 0);
}

TEST(a_creator_lets_go_once) {
    int first = 0;
    int64_t a = create(&first);
    mica_tf_graph *g = calling(a);
    mica_tf_host_function_release(a);
    mica_tf_host_function_release(a);
    CHECK(destroyed[0] == 0);
    mica_tf_graph_release(g);
    mica_tf_host_function_release(a);
    CHECK(destroyed[0] == 1);
}

TEST(numbers_that_were_not_made_are_not_counted) {
    mica_tf_graph *g = calling(-7);
    CHECK(found_in(g) == 1);
    CHECK(mica_tf_host_function_context(-7) == NULL);
    CHECK(!mica_tf_host_function_is_closed(-7));
    mica_tf_graphs_close(&g, 1);
    mica_tf_graph_release(g);
    mica_tf_host_function_release(-7);
    CHECK(mica_memory_live_blocks() == 0);
}

TEST(many_functions_go_in_any_order) {
    static int contexts[200];
    static int64_t numbers[200];
    destroyed[2] = 0;
    for (int i = 0; i < 200; i++) {
        contexts[i] = 2;
        CHECK_OK(mica_tf_host_function_create(destroy, &contexts[i], &numbers[i]));
    }
    for (int i = 0; i < 200; i++) mica_tf_host_function_release(numbers[i * 77 % 200]);
    CHECK(destroyed[2] == 200);
    CHECK(mica_memory_live_blocks() == 0);
}

TEST(a_function_is_closed_when_the_given_references_are_all) {
    int first = 0;
    int64_t a = create(&first);
    mica_tf_graph *inner = calling(a), *outer = referring(inner);
    mica_tf_graph *given[3] = {outer, inner};
    CHECK(found_in(inner) == 1 && found_in(outer) == 1);
    mica_tf_graphs_close(given, 2);
    CHECK(mica_tf_host_function_is_closed(a)); /* the creator counts as seen */
    mica_tf_graphs_close(given, 1);
    CHECK(!mica_tf_host_function_is_closed(a)); /* `inner` is held here too */
    mica_tf_graph_retain(outer);
    mica_tf_graphs_close(given, 2);
    CHECK(!mica_tf_host_function_is_closed(a)); /* so is what `outer` reaches */
    given[2] = outer;
    mica_tf_graphs_close(given, 3);
    CHECK(mica_tf_host_function_is_closed(a));
    mica_tf_graph_release(outer);
    mica_tf_graph_release(inner);
    mica_tf_graphs_close(given, 1);
    CHECK(mica_tf_host_function_is_closed(a));
    mica_tf_host_function_release(a);
    CHECK(destroyed[0] == 0);
    mica_tf_graph_release(outer);
    CHECK(destroyed[0] == 1);
    CHECK(mica_memory_live_blocks() == 0);
}
