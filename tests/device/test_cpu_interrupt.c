/* Kernels that put elements in order are left between passes and lines, with all places in range:
 * their results are no results, but can be read. */
#include "base/interrupt.h"
#include "base/platform.h"
#include "cpu_test.h"
#include "mica/runtime.h"

static int asked;

static bool always(void) {
    asked++;
    return true;
}

/* A question is asked 20 times a second: the next one is. */
static void wait_for_question(void) {
    mica_sleep(0.06);
}

static bool is_left(const mica_node *node, const void *x, char *const *results) {
    mica_kernel *kernel = NULL;
    if (!test_ok(mica_cpu_kernel_create(node, &kernel), __FILE__, __LINE__, "kernel_create"))
        return false;
    void *scratch = aligned_alloc(64, (kernel->scratch_bytes + 127) / 64 * 64);
    memset(scratch, 0xCD, kernel->scratch_bytes);
    const void *operands[1] = {x};
    mica_interrupt_scope scope;
    wait_for_question();
    asked = 0;
    mica_interrupt_enter(&scope, NULL, false);
    mica_cpu_kernel_run(kernel, operands, (void *const *)results, scratch);
    free(scratch);
    mica_cpu_kernel_destroy(kernel);
    return mica_interrupt_leave(&scope) && asked > 0;
}

static void check_left(mica_value y, const void *x) {
    const mica_node *node = y.node;
    char *results[2] = {NULL};
    for (int32_t i = 0; i < node->n_results; i++)
        results[i] = calloc(mica_type_bytes(&node->results[i]) + 1, 1);
    CHECK(!is_left(node, x, results)); /* there is no one to ask */
    mica_set_interrupt_check(always);
    CHECK(is_left(node, x, results));
    mica_set_interrupt_check(NULL);
    for (int32_t i = 0; i < 2; i++) free(results[i]);
}

static void check_order(mica_dtype dtype, int64_t lines, int64_t size) {
    mica_graph *g = new_graph();
    mica_value x = new_parameter(g, dtype, MICA_INTS(lines, size)), sorted[1], best[2];
    void *data = random_array(mica_value_type(x));
    mica_sort(g, &x, 1, 1, 1, false, sorted);
    mica_top_k(g, x, size / 3 + 1, best);
    CHECK_OK(mica_graph_take_error(g));
    check_left(sorted[0], data);
    check_left(best[0], data);
    free(data);
    mica_graph_release(g);
}

TEST(sorts_and_top_k_are_left_between_passes_and_lines) {
    CHECK_OK(mica_pool_set_threads(1));
    check_order(MICA_DTYPE_f32, 1, 70000);
    check_order(MICA_DTYPE_f64, 2, 3000);
    check_order(MICA_DTYPE_i32, 3000, 5);
    mica_pool_shutdown();
}

/* Whoever asks within jobs of others, or where all must be finished, goes on. */
TEST(only_the_scope_around_a_kept_one_is_left_from_within) {
    mica_interrupt_scope outer, kept, inner;
    mica_set_interrupt_check(always);
    CHECK(!mica_interrupt_must_leave_around());
    mica_interrupt_enter(&outer, NULL, true);
    mica_interrupt_enter(&kept, NULL, true);
    wait_for_question();
    CHECK(!mica_interrupt_must_leave_around());
    mica_interrupt_enter(&inner, NULL, false);
    CHECK(!mica_interrupt_must_leave_around());
    (void)mica_interrupt_leave(&inner);
    (void)mica_interrupt_leave(&kept);
    CHECK(!mica_interrupt_leave(&outer));
    mica_interrupt_enter(&outer, NULL, false);
    mica_interrupt_enter(&kept, NULL, true);
    CHECK(mica_interrupt_must_leave_around());
    CHECK(!mica_interrupt_leave(&kept));
    CHECK(mica_interrupt_leave(&outer));
    mica_set_interrupt_check(NULL);
}
