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

/* ---- training ---------------------------------------------------------------------------------*/

enum { STEPS = 40 };

/* Losses of STEPS steps, all started before the first is waited for, or one by one. */
static void train(const char *device_name, uint64_t options, float *losses) {
    mlc_device *device = NULL;
    mlc_tensor *x = empty(MICA_INTS(2, 3)), *t = empty(MICA_INTS(2, 3));
    mlc_tensor *w = filled(MICA_INTS(3, 3), 0.25);
    mlc_layer *dense = NULL, *loss = mse(MLC_REDUCTION_MEAN);
    mlc_graph *g = new_graph(), *training = NULL;
    mlc_optimizer *optimizer = NULL;
    mlc_convolution_descriptor d = mlc_convolution_descriptor_make(1, 1, 3, 3);
    mlc_optimizer_descriptor o = mlc_optimizer_descriptor_make(0.1f, 1, MLC_REGULARIZATION_NONE, 0);
    float numbers[6] = {1, 2, 3, 4, 5, 6}, labels[6] = {1, 0, 0, 1, 0, 1};
    mlc_tensor_data *xd = data_of(numbers, sizeof numbers), *td = data_of(labels, sizeof labels);
    REQUIRE_OK(mlc_device_named(device_name, &device));
    REQUIRE_OK(mlc_fully_connected_layer_create(w, NULL, &d, &dense));
    REQUIRE(add(g, dense, MLC_TENSORS(x)));
    REQUIRE_OK(mlc_adam_optimizer_create_default(&o, &optimizer));
    REQUIRE_OK(mlc_training_graph_create(MLC_GRAPHS(g), loss, optimizer, &training));
    REQUIRE_OK(mlc_training_graph_add_inputs(training, MLC_NAMED_TENSORS({"x", x}),
                                             MLC_NAMED_TENSORS({"t", t}), MLC_NO_TENSORS));
    mlc_tensor *result = mlc_graph_result_tensors(training, loss).data[0];
    REQUIRE_OK(mlc_training_graph_add_outputs(training, MLC_NAMED_TENSORS({"loss", result})));
    REQUIRE_OK(mlc_training_graph_compile(training, 0, device));
    for (int i = 0; i < STEPS; i++) {
        mlc_tensor_data *out = data_of(&losses[i], sizeof losses[i]);
        mlc_execution e = mlc_execution_make(options);
        e.inputs = MLC_NAMED_DATA({"x", xd});
        e.loss_labels = MLC_NAMED_DATA({"t", td});
        e.outputs = MLC_NAMED_DATA({"loss", out});
        CHECK_OK(mlc_training_graph_execute(training, &e));
        mlc_tensor_data_release(out);
    }
    CHECK_OK(mlc_graph_wait(training));
    mlc_tensor_data_release(xd);
    mlc_tensor_data_release(td);
    mlc_graph_release(training);
    mlc_graph_release(g);
    mlc_layer_release(loss);
    mlc_optimizer_release(optimizer);
    mlc_tensor_release(x);
    mlc_tensor_release(t);
    mlc_tensor_release(w);
    mlc_device_release(device);
}

TEST(steps_that_are_queued_do_what_steps_one_by_one_do) {
    float expected[STEPS], losses[STEPS];
    train("cpu", MLC_EXECUTION_SYNCHRONOUS, expected);
    CHECK(expected[STEPS - 1] < expected[0] / 2);
    train("cpu", MLC_EXECUTION_NONE, losses);
    CHECK(memcmp(expected, losses, sizeof losses) == 0);
    train("fake", MLC_EXECUTION_NONE, losses);
    CHECK(memcmp(expected, losses, sizeof losses) == 0);
    mica_shutdown();
}
