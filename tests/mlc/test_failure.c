/* Allocations that fail, one after the other: a status comes back, nothing is lost, and the graph
 * works afterwards. */
#include "mlc_test.h"

typedef struct model {
    mlc_device *device;
    mlc_tensor *x, *t, *w, *b;
    mlc_graph *graph, *training;
    mlc_optimizer *optimizer;
    float numbers[4], labels[4], loss[1];
    mlc_tensor_data *x_data, *t_data, *loss_data;
} model;

static mica_status build(model *m) {
    mlc_layer *dense = NULL, *loss = NULL;
    mlc_tensor *y = NULL;
    mlc_convolution_descriptor d = mlc_convolution_descriptor_make(1, 1, 2, 2);
    mlc_optimizer_descriptor o = mlc_optimizer_descriptor_make(0.1f, 1, MLC_REGULARIZATION_NONE, 0);
    mica_status status = mlc_tensor_with_shape(MICA_INTS(2, 2), F32, &m->x);
    if (!status) status = mlc_tensor_with_shape(MICA_INTS(2, 2), F32, &m->t);
    if (!status) status = mlc_tensor_with_shape_filled(MICA_INTS(2, 2), 0.5, F32, &m->w);
    if (!status) status = mlc_tensor_with_shape_filled(MICA_INTS(2), 0, F32, &m->b);
    if (!status) status = mlc_graph_create(&m->graph);
    if (!status) status = mlc_fully_connected_layer_create(m->w, m->b, &d, &dense);
    if (!status) status = mlc_graph_node(m->graph, dense, MLC_TENSORS(m->x), &y);
    mlc_layer_release(dense);
    if (!status) status = mlc_loss_layer_mean_squared_error(MLC_REDUCTION_MEAN, 1, NULL, &loss);
    if (!status) status = mlc_adam_optimizer_create_default(&o, &m->optimizer);
    if (!status)
        status = mlc_training_graph_create(MLC_GRAPHS(m->graph), loss, m->optimizer, &m->training);
    if (!status)
        status = mlc_training_graph_add_inputs(m->training, MLC_NAMED_TENSORS({"x", m->x}),
                                               MLC_NAMED_TENSORS({"t", m->t}), MLC_NO_TENSORS);
    if (!status)
        status = mlc_training_graph_add_outputs(
            m->training,
            MLC_NAMED_TENSORS({"loss", mlc_graph_result_tensors(m->training, loss).data[0]}));
    mlc_layer_release(loss);
    return status;
}

static void release(model *m) {
    mlc_graph_release(m->training);
    mlc_graph_release(m->graph);
    mlc_optimizer_release(m->optimizer);
    mlc_tensor_release(m->x);
    mlc_tensor_release(m->t);
    mlc_tensor_release(m->w);
    mlc_tensor_release(m->b);
    m->training = m->graph = NULL;
    m->optimizer = NULL;
    m->x = m->t = m->w = m->b = NULL;
}

static bool ran_out(mica_status status) {
    CHECK(!status || mica_status_code(status) == MICA_OUT_OF_MEMORY);
    bool failed = status != NULL;
    mica_status_release(status);
    return failed;
}

TEST(a_graph_is_built_or_nothing_is_kept) {
    for (int64_t n = 1;; n++) {
        model m = {0};
        mica_memory_fail_nth(n, false);
        bool failed = ran_out(build(&m));
        mica_memory_fail_nth(0, false);
        release(&m);
        if (!failed) break;
    }
}

static int stride(void) { /* quick runs fail a sample of the allocations */
    return getenv("MICA_TEST_QUICK") ? 17 : 3;
}

TEST(compiling_fails_and_works_afterwards) {
    model m = {.device = cpu()};
    REQUIRE_OK(build(&m));
    int failures = 0;
    for (int64_t n = 1;; n += stride()) {
        mica_memory_fail_nth(n, false);
        bool failed = ran_out(mlc_training_graph_compile(m.training, 0, m.device));
        mica_memory_fail_nth(0, false);
        if (!failed) break;
        failures++;
        CHECK(mlc_graph_device(m.training) == NULL);
    }
    CHECK(failures > 10);
    CHECK(mlc_graph_device(m.training) == m.device);
    release(&m);
    mlc_device_release(m.device);
}

static mica_status execute(model *m, int way) {
    mlc_execution e = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS), none = e;
    e.inputs = MLC_NAMED_DATA({"x", m->x_data});
    e.loss_labels = MLC_NAMED_DATA({"t", m->t_data});
    e.outputs = MLC_NAMED_DATA({"loss", m->loss_data});
    if (way == 0) return mlc_training_graph_execute(m->training, &e);
    mica_status status = mlc_training_graph_execute_forward(m->training, &e);
    if (!status) status = mlc_training_graph_execute_gradient(m->training, &none);
    if (!status) status = mlc_training_graph_execute_optimizer_update(m->training, &none);
    return status;
}

/* The losses of three steps, the first of which is tried until no allocation fails. */
static void train(int way, bool fails, float *losses) {
    model m = {.device = cpu(), .numbers = {1, 2, 3, 4}, .labels = {1, 0, 0, 1}};
    REQUIRE_OK(build(&m));
    m.x_data = data_of(m.numbers, sizeof m.numbers);
    m.t_data = data_of(m.labels, sizeof m.labels);
    m.loss_data = data_of(m.loss, sizeof m.loss);
    REQUIRE_OK(mlc_training_graph_compile(m.training, 0, m.device));
    int failures = 0;
    for (int64_t n = 1; fails; n += stride()) {
        mica_memory_fail_nth(n, false);
        bool failed = ran_out(execute(&m, way));
        mica_memory_fail_nth(0, false);
        if (!failed) break;
        failures++;
    }
    CHECK(!fails || failures > 0);
    if (!fails) CHECK_OK(execute(&m, way));
    losses[0] = m.loss[0];
    for (int i = 1; i < 3; i++) {
        CHECK_OK(execute(&m, way));
        losses[i] = m.loss[0];
    }
    mlc_tensor_data_release(m.x_data);
    mlc_tensor_data_release(m.t_data);
    mlc_tensor_data_release(m.loss_data);
    release(&m);
    mlc_device_release(m.device);
}

TEST(a_step_that_ran_out_of_memory_has_changed_nothing) {
    float expected[3], losses[3];
    train(0, false, expected);
    train(0, true, losses);
    CHECK(memcmp(expected, losses, sizeof losses) == 0);
    train(1, false, losses);
    CHECK(memcmp(expected, losses, sizeof losses) == 0); /* the parts do the same */
    train(1, true, losses);                              /* parts may repeat; nothing is lost */
    CHECK(isfinite(losses[2]));
}
