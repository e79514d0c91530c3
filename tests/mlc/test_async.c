/* Asynchronous executions: a thousand that overlap, handlers that use the library. */
#include "base/platform.h"
#include "mlc_test.h"

enum { THREADS = 4, EACH = 250, N = 8 };

typedef struct job {
    mlc_graph *graph;
    float numbers[N], out[N];
    int is_done; /* atomic */
    mlc_tensor_data *in_data, *out_data;
} job;

static job jobs[THREADS * EACH];
static int handled, wrong; /* atomic: other threads do not use CHECK */

static void note(bool is_right) {
    if (!is_right) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

static mica_status note_done(void *context, mlc_tensor *result, mica_status error, double seconds) {
    job *j = context;
    note(result != NULL && error == NULL && seconds > 0);
    __atomic_store_n(&j->is_done, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void start_jobs(void *context) {
    job *first = context;
    for (int i = 0; i < EACH; i++) {
        job *j = &first[i];
        mlc_execution e = mlc_execution_make(MLC_EXECUTION_PROFILING);
        e.inputs = MLC_NAMED_DATA({"x", j->in_data});
        e.outputs = MLC_NAMED_DATA({"y", j->out_data});
        e.handler = note_done;
        e.context = j;
        mica_status status = mlc_inference_graph_execute(j->graph, &e);
        note(status == NULL);
        mica_status_release(status);
    }
}

static mlc_graph *square_graph(mlc_device *device, mlc_tensor **out_x) {
    mlc_graph *g = new_graph(), *inference = NULL;
    mlc_tensor *x = empty(MICA_INTS(N));
    mlc_tensor *y = add(g, arithmetic(MLC_ARITHMETIC_OPERATION_MULTIPLY), MLC_TENSORS(x, x));
    CHECK_OK(mlc_inference_graph_create(MLC_GRAPHS(g), &inference));
    CHECK_OK(mlc_inference_graph_add_inputs(inference, MLC_NAMED_TENSORS({"x", x}), MLC_NO_TENSORS,
                                            MLC_NO_TENSORS));
    CHECK_OK(mlc_inference_graph_add_outputs(inference, MLC_NAMED_TENSORS({"y", y})));
    CHECK_OK(mlc_inference_graph_compile(inference, 0, device));
    mlc_graph_release(g);
    *out_x = x;
    return inference;
}

static void overlap(const char *device_name) {
    mlc_device *device = NULL;
    mlc_tensor *x = NULL;
    mica_thread *threads[THREADS] = {NULL};
    REQUIRE_OK(mlc_device_named(device_name, &device));
    mlc_graph *graph = square_graph(device, &x);
    handled = 0;
    for (int i = 0; i < THREADS * EACH; i++) {
        jobs[i] = (job){.graph = graph};
        for (int k = 0; k < N; k++) jobs[i].numbers[k] = (float)(i + k);
        jobs[i].in_data = data_of(jobs[i].numbers, sizeof jobs[i].numbers);
        jobs[i].out_data = data_of(jobs[i].out, sizeof jobs[i].out);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_OK(mica_thread_start(start_jobs, &jobs[i * EACH], "starter", &threads[i]));
    for (int i = 0; i < THREADS; i++) mica_thread_join(threads[i]);
    CHECK_OK(mlc_graph_wait(graph));
    CHECK(handled == THREADS * EACH && wrong == 0);
    for (int i = 0; i < THREADS * EACH; i++) {
        CHECK(jobs[i].is_done);
        for (int k = 0; k < N; k++) CHECK(jobs[i].out[k] == (float)(i + k) * (float)(i + k));
        mlc_tensor_data_release(jobs[i].in_data);
        mlc_tensor_data_release(jobs[i].out_data);
    }
    mlc_graph_release(graph);
    mlc_tensor_release(x);
    mlc_device_release(device);
    mica_shutdown();
}

TEST(a_thousand_executions_overlap_on_the_cpu) {
    overlap("cpu");
}

TEST(a_thousand_executions_overlap_on_a_device_of_its_own_memory) {
    overlap("fake");
}

/* ---- handlers that go on ----------------------------------------------------------------------*/

typedef struct chain {
    mlc_graph *graph;
    mlc_tensor_data *data, *out;
    float numbers[N], result[N];
    int left;
} chain;

static mica_status go_on(void *context, mlc_tensor *result, mica_status error, double seconds) {
    chain *c = context;
    (void)seconds;
    (void)result;
    note(error == NULL);
    memcpy(c->numbers, c->result, sizeof c->numbers);
    if (c->left-- == 0) return NULL;
    mlc_execution e = mlc_execution_make(MLC_EXECUTION_NONE);
    e.inputs = MLC_NAMED_DATA({"x", c->data});
    e.outputs = MLC_NAMED_DATA({"y", c->out});
    e.handler = go_on;
    e.context = c;
    mica_status status = mlc_inference_graph_execute(c->graph, &e);
    /* Waiting inside a handler: only this one is left out. */
    if (!status && c->left == 1) status = mlc_graph_wait(c->graph);
    return status;
}

TEST(a_handler_can_start_executions_and_wait_for_them) {
    mlc_device *device = cpu();
    mlc_tensor *x = NULL;
    chain c = {.left = 3};
    c.graph = square_graph(device, &x);
    for (int i = 0; i < N; i++) c.numbers[i] = 2;
    c.data = data_of(c.numbers, sizeof c.numbers);
    c.out = data_of(c.result, sizeof c.result);
    mlc_execution e = mlc_execution_make(MLC_EXECUTION_NONE);
    e.inputs = MLC_NAMED_DATA({"x", c.data});
    e.outputs = MLC_NAMED_DATA({"y", c.out});
    e.handler = go_on;
    e.context = &c;
    REQUIRE_OK(mlc_inference_graph_execute(c.graph, &e));
    CHECK_OK(mlc_graph_wait(c.graph));
    CHECK(wrong == 0 && c.left == -1 && c.result[0] == 65536); /* ((2^2)^2)^2)^2 */
    mlc_tensor_data_release(c.data);
    mlc_tensor_data_release(c.out);
    mlc_graph_release(c.graph);
    mlc_tensor_release(x);
    mlc_device_release(device);
    mica_shutdown();
}
