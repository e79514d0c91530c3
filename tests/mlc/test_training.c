/* Training graphs: whole steps and their parts, gradients of everything, optimizers' buffers. */
#include "mlc_test.h"

/* y = w x + b, loss = mean (y - t)^2 over a batch of 4; x, t (4, 1). */
typedef struct model {
    mlc_device *device;
    mlc_graph *graph, *training;
    mlc_layer *dense, *loss;
    mlc_optimizer *optimizer;
    mlc_tensor *x, *t, *w, *b, *y, *error;
    float weights[1], bias[1], numbers[4], labels[4];
    mlc_tensor_data *x_data, *t_data;
} model;

static void make(model *m, mlc_optimizer *optimizer) {
    *m = (model){.weights = {2}, .bias = {1}, .numbers = {1, 2, 3, 4}, .labels = {0, 1, 0, 1}};
    m->device = cpu();
    m->x = empty(MICA_INTS(4, 1));
    m->t = empty(MICA_INTS(4, 1));
    m->w = viewing(MICA_INTS(1, 1), m->weights);
    m->b = viewing(MICA_INTS(1, 1), m->bias);
    mlc_convolution_descriptor d = mlc_convolution_descriptor_make(1, 1, 1, 1);
    CHECK_OK(mlc_fully_connected_layer_create(m->w, m->b, &d, &m->dense));
    CHECK_OK(mlc_layer_set_label(m->dense, "dense"));
    m->graph = new_graph();
    CHECK_OK(mlc_graph_node(m->graph, m->dense, MLC_TENSORS(m->x), &m->y));
    m->loss = mse(MLC_REDUCTION_MEAN);
    m->optimizer = optimizer;
    CHECK_OK(mlc_training_graph_create(MLC_GRAPHS(m->graph), m->loss, optimizer, &m->training));
    CHECK_OK(mlc_training_graph_add_inputs(m->training, MLC_NAMED_TENSORS({"x", m->x}),
                                           MLC_NAMED_TENSORS({"t", m->t}), MLC_NO_TENSORS));
    CHECK_OK(mlc_training_graph_add_outputs(m->training, MLC_NAMED_TENSORS({"y", m->y})));
    m->error = mlc_graph_result_tensors(m->training, m->loss).data[0];
    m->x_data = data_of(m->numbers, sizeof m->numbers);
    m->t_data = data_of(m->labels, sizeof m->labels);
}

static void begin(model *m, float rate, uint64_t options) {
    make(m, sgd(rate));
    CHECK_OK(mlc_training_graph_compile(m->training, options, m->device));
}

static void end(model *m) {
    mlc_tensor_data_release(m->x_data);
    mlc_tensor_data_release(m->t_data);
    mlc_graph_release(m->training);
    mlc_graph_release(m->graph);
    mlc_layer_release(m->dense);
    mlc_layer_release(m->loss);
    mlc_optimizer_release(m->optimizer);
    mlc_tensor_release(m->x);
    mlc_tensor_release(m->t);
    mlc_tensor_release(m->w);
    mlc_tensor_release(m->b);
    mlc_device_release(m->device);
}

static mlc_execution with_data(model *m) {
    static _Thread_local mlc_named_item x, t;
    x = (mlc_named_item){"x", m->x_data};
    t = (mlc_named_item){"t", m->t_data};
    mlc_execution e = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
    e.inputs = (mlc_named_data){&x, 1};
    e.loss_labels = (mlc_named_data){&t, 1};
    return e;
}

static mica_status step(model *m) {
    mlc_execution e = with_data(m);
    return mlc_training_graph_execute(m->training, &e);
}

static const mlc_execution *plain(void) {
    static mlc_execution e;
    e = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
    return &e;
}

static float value_of(mlc_tensor *t) {
    float value = NAN;
    read_floats(t, &value, 1);
    return value;
}

/* With w = 2, b = 1: y = 3 5 7 9, y - t = 3 4 7 8; dw = 2/4 sum e x = 32, db = 11; loss 34.5. */
enum { DW = 32, DB = 11 };

TEST(a_step_is_forward_gradient_and_update) {
    model m;
    begin(&m, 0.125f, 0);
    CHECK(mlc_training_graph_optimizer(m.training) == m.optimizer);
    CHECK_OK(step(&m));
    CHECK(value_of(m.error) == 34.5f);
    CHECK(value_of(m.w) == 2 - DW * 0.125f && value_of(m.b) == 1 - DB * 0.125f);
    CHECK(m.weights[0] == 2); /* the host's, until it is synchronised */
    REQUIRE_OK(mlc_training_graph_synchronize_updates(m.training));
    CHECK(m.weights[0] == 2 - DW * 0.125f && m.bias[0] == 1 - DB * 0.125f);
    CHECK(mlc_training_graph_device_memory_size(m.training) > 0);
    mlc_optimizer_set_learning_rate(m.optimizer, 0); /* takes effect at once */
    CHECK_OK(step(&m));
    CHECK(value_of(m.w) == 2 - DW * 0.125f);
    end(&m);
}

TEST(the_parts_of_a_step_can_be_executed_one_by_one) {
    model m;
    float gradient = NAN, out[4];
    begin(&m, 0.125f, 0);
    CHECK_FAILS(mlc_training_graph_execute_gradient(m.training, plain()), MICA_FAILED_PRECONDITION,
                "forward pass");
    CHECK_FAILS(mlc_training_graph_execute_optimizer_update(m.training, plain()),
                MICA_FAILED_PRECONDITION, "no gradient");
    CHECK_FAILS(mlc_training_graph_gradient_data(m.training, m.w, m.dense, &gradient, 4),
                MICA_FAILED_PRECONDITION, "gradient pass");
    REQUIRE_OK(
        mlc_graph_bind_and_write(m.training, MLC_NAMED_DATA({"x", m.x_data}, {"t", m.t_data}),
                                 MLC_NAMED_TENSORS({"x", m.x}, {"t", m.t}), m.device, 0, true));
    mlc_tensor_data *y = data_of(out, sizeof out);
    mlc_execution e = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
    e.outputs = MLC_NAMED_DATA({"y", y});
    CHECK_OK(mlc_training_graph_execute_forward(m.training, &e));
    CHECK(out[0] == 3 && out[3] == 9 && value_of(m.error) == 34.5f);
    m.numbers[0] = 1000; /* changes the view; the gradient is of what the forward pass has kept */
    m.numbers[0] = 1;
    CHECK_OK(mlc_training_graph_execute_gradient(m.training, plain()));
    CHECK_OK(mlc_training_graph_gradient_data(m.training, m.w, m.dense, &gradient, 4));
    CHECK(gradient == DW && value_of(m.w) == 2);
    CHECK_OK(mlc_training_graph_gradient_data(m.training, m.b, NULL, &gradient, 4));
    CHECK(gradient == DB);
    CHECK_FAILS(mlc_training_graph_gradient_data(m.training, m.x, NULL, &gradient, 4),
                MICA_INVALID_ARGUMENT, "not trained");
    CHECK_FAILS(mlc_training_graph_gradient_data(m.training, m.x, m.dense, &gradient, 4),
                MICA_INVALID_ARGUMENT, "[dense]");
    CHECK_OK(mlc_training_graph_execute_optimizer_update(m.training, plain()));
    CHECK(value_of(m.w) == 2 - DW * 0.125f && value_of(m.b) == 1 - DB * 0.125f);
    CHECK_FAILS(mlc_training_graph_execute_gradient(m.training, plain()), MICA_FAILED_PRECONDITION,
                "forward pass"); /* once */
    mlc_tensor_data_release(y);
    end(&m);
}

TEST(gradients_of_inputs_sources_and_results_can_be_looked_at) {
    model m;
    float out[4];
    begin(&m, 0, MLC_COMPILATION_COMPUTE_ALL_GRADIENTS);
    mlc_tensor *dx = NULL;
    mlc_tensors sources, results;
    REQUIRE_OK(mlc_training_graph_gradient_tensor(m.training, m.x, &dx));
    REQUIRE_OK(mlc_training_graph_source_gradient_tensors(m.training, m.dense, &sources));
    REQUIRE_OK(mlc_training_graph_result_gradient_tensors(m.training, m.dense, &results));
    CHECK(sources.n == 1 && results.n == 1);
    CHECK_OK(step(&m));
    read_floats(results.data[0], out, 4);
    CHECK(out[0] == 1.5f && out[3] == 4); /* 2 e / 4 */
    read_floats(dx, out, 4);
    CHECK(out[0] == 3 && out[3] == 8); /* times w */
    read_floats(sources.data[0], out, 4);
    CHECK(out[0] == 3 && out[3] == 8);
    mlc_execution e = with_data(&m), back = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
    float given[4] = {0};
    mlc_tensor_data *data = data_of(given, sizeof given);
    CHECK_OK(mlc_training_graph_execute_forward(m.training, &e));
    back.outputs = MLC_NAMED_DATA({"x", data}); /* the gradient of the input of this name */
    CHECK_OK(mlc_training_graph_execute_gradient(m.training, &back));
    CHECK(given[0] == 3 && given[3] == 8);
    mlc_tensor *stranger = empty(MICA_INTS(1)), *none = NULL;
    CHECK_FAILS(mlc_training_graph_gradient_tensor(m.training, stranger, &none),
                MICA_INVALID_ARGUMENT, "not in the graph");
    mlc_tensor_release(stranger);
    mlc_tensor_data_release(data);
    end(&m);
}

TEST(a_stopped_gradient_and_a_disabled_update_leave_weights_alone) {
    for (int i = 0; i < 3; i++) {
        model m;
        make(&m, sgd(0.125f));
        if (i == 0) CHECK_OK(mlc_training_graph_stop_gradient(m.training, MLC_TENSORS(m.y)));
        if (i == 1)
            mlc_tensor_parameter_set_is_updatable(mlc_layer_weights_parameter(m.dense), false);
        REQUIRE_OK(mlc_training_graph_compile(m.training, 0, m.device));
        CHECK_OK(step(&m));
        CHECK(value_of(m.w) == (i == 2 ? 2 - DW * 0.125f : 2));
        CHECK(value_of(m.b) == (i == 0 ? 1 : 1 - DB * 0.125f));
        end(&m);
    }
    mlc_device *device = cpu();
    mlc_optimizer *optimizer = sgd(1);
    mlc_layer *dense = NULL, *loss = mse(MLC_REDUCTION_SUM);
    mlc_tensor *x = filled(MICA_INTS(1, 1), 1), *t = filled(MICA_INTS(1, 1), 0);
    mlc_tensor *w = filled(MICA_INTS(1, 1), 3), *y = NULL;
    mlc_graph *g = new_graph(), *training = NULL;
    mlc_convolution_descriptor d = mlc_convolution_descriptor_make(1, 1, 1, 1);
    REQUIRE_OK(mlc_fully_connected_layer_create(w, NULL, &d, &dense));
    REQUIRE_OK(mlc_graph_node_disable_update(g, dense, MLC_TENSORS(x), true, &y));
    REQUIRE_OK(mlc_graph_node_loss(g, loss, MLC_TENSORS(y), MLC_TENSORS(t), &y));
    REQUIRE_OK(mlc_training_graph_create(MLC_GRAPHS(g), NULL, optimizer, &training));
    REQUIRE_OK(mlc_training_graph_compile(training, 0, device));
    CHECK_OK(mlc_training_graph_execute(training, plain()));
    CHECK(value_of(w) == 3 && value_of(y) == 9);
    mlc_graph_release(training);
    mlc_graph_release(g);
    mlc_layer_release(dense);
    mlc_layer_release(loss);
    mlc_optimizer_release(optimizer);
    mlc_tensor_release(x);
    mlc_tensor_release(t);
    mlc_tensor_release(w);
    mlc_device_release(device);
}

TEST(input_tensors_can_be_trained_and_gradients_given) {
    mlc_device *device = cpu();
    mlc_optimizer *optimizer = sgd(0.5f);
    float numbers[2] = {1, 2}, seeds[2] = {3, 4}, more[2] = {10, 0};
    mlc_tensor *p = viewing(MICA_INTS(2), numbers), *gradient = NULL, *user = NULL;
    mlc_graph *g = new_graph(), *training = NULL;
    mlc_layer *square = arithmetic(MLC_ARITHMETIC_OPERATION_MULTIPLY);
    mlc_tensor *h = NULL, *y = NULL;
    REQUIRE_OK(mlc_graph_node(g, square, MLC_TENSORS(p, p), &h));
    mlc_layer *negate = NULL;
    REQUIRE_OK(mlc_activation_layer_linear(-1, 0, &negate));
    REQUIRE_OK(mlc_graph_node(g, negate, MLC_TENSORS(h), &y));
    mlc_tensor_parameter *parameter = NULL;
    REQUIRE_OK(mlc_tensor_parameter_create(p, &parameter));
    REQUIRE_OK(mlc_training_graph_create(MLC_GRAPHS(g), NULL, NULL, &training));
    REQUIRE_OK(mlc_training_graph_set_training_parameters(training, MLC_PARAMETERS(parameter)));
    REQUIRE_OK(mlc_training_graph_compile(training, 0, device));
    CHECK_FAILS(mlc_training_graph_execute_optimizer_update(training, plain()),
                MICA_FAILED_PRECONDITION, "no optimizer");
    REQUIRE_OK(mlc_training_graph_compile_optimizer(training, optimizer));
    CHECK(mlc_training_graph_optimizer(training) == optimizer);
    CHECK_OK(mlc_training_graph_execute_forward(training, plain()));
    CHECK_OK(mlc_training_graph_execute_gradient(training, plain())); /* begins with ones */
    float out[2];
    CHECK_OK(mlc_training_graph_gradient_data(training, p, NULL, out, sizeof out));
    CHECK(out[0] == -2 && out[1] == -4);
    mlc_tensors results;
    REQUIRE_OK(mlc_training_graph_result_gradient_tensors(training, negate, &results));
    gradient = results.data[0];
    REQUIRE_OK(mlc_training_graph_allocate_user_gradient(training, h, &user));
    CHECK(user != gradient);
    mlc_tensor_data *seed = data_of(seeds, sizeof seeds), *extra = data_of(more, sizeof more);
    REQUIRE_OK(mlc_graph_bind_and_write(training, MLC_NAMED_DATA({"dy", seed}, {"dh", extra}),
                                        MLC_NAMED_TENSORS({"dy", gradient}, {"dh", user}), device,
                                        0, true));
    CHECK_OK(mlc_training_graph_execute_forward(training, plain()));
    CHECK_OK(mlc_training_graph_execute_gradient(training, plain()));
    CHECK_OK(mlc_training_graph_gradient_data(training, p, NULL, out, sizeof out));
    CHECK(out[0] == (-3 + 10) * 2 && out[1] == -4 * 4); /* (-dy + dh) 2 p */
    CHECK_OK(mlc_training_graph_execute_optimizer_update(training, plain()));
    read_floats(p, out, 2);
    CHECK(out[0] == 1 - 0.5f * 14 && out[1] == 2 + 0.5f * 16);
    CHECK_FAILS(mlc_training_graph_allocate_user_gradient(training, p, &user),
                MICA_INVALID_ARGUMENT, "no result");
    mlc_tensor_data_release(seed);
    mlc_tensor_data_release(extra);
    mlc_tensor_parameter_release(parameter);
    mlc_graph_release(training);
    mlc_graph_release(g);
    mlc_layer_release(square);
    mlc_layer_release(negate);
    mlc_optimizer_release(optimizer);
    mlc_tensor_release(p);
    mlc_device_release(device);
}

/* ---- optimizers -------------------------------------------------------------------------------*/

TEST(the_optimizers_buffers_can_be_read_and_bound) {
    mlc_optimizer_descriptor d =
        mlc_optimizer_descriptor_make(0.125f, 1, MLC_REGULARIZATION_NONE, 0);
    mlc_optimizer *optimizer = NULL;
    model m;
    float momentum[1] = {16};
    REQUIRE_OK(mlc_sgd_optimizer_create(&d, 0.5f, false, &optimizer));
    make(&m, optimizer);
    mlc_tensor_data *data = data_of(momentum, sizeof momentum);
    REQUIRE_OK(mlc_training_graph_bind_optimizer_data(m.training, MLC_DATA_LIST(data),
                                                      (mlc_device_data_list){NULL, 0}, m.w));
    CHECK_FAILS(mlc_training_graph_bind_optimizer_data(m.training, MLC_DATA_LIST(data, data),
                                                       (mlc_device_data_list){NULL, 0}, m.w),
                MICA_INVALID_ARGUMENT, "this optimizer has 1");
    REQUIRE_OK(mlc_training_graph_compile(m.training, 0, m.device));
    CHECK_OK(step(&m)); /* v = 0.5 16 + 32 = 40 */
    CHECK(value_of(m.w) == 2 - 40 * 0.125f);
    CHECK(momentum[0] == 16);
    REQUIRE_OK(mlc_tensor_synchronize_optimizer_data(m.w));
    CHECK(momentum[0] == 40);
    mlc_device_data_list device_data = mlc_tensor_optimizer_device_data(m.w);
    REQUIRE(device_data.n == 1);
    CHECK(mlc_optimizer_device_data_bytes(device_data.data[0]) == 4);
    mlc_optimizer_device_data *held = device_data.data[0];
    mlc_optimizer_device_data_retain(held);
    /* b goes on with w's buffer. */
    REQUIRE_OK(mlc_training_graph_bind_optimizer_data(m.training, (mlc_data_list){NULL, 0},
                                                      (mlc_device_data_list){&held, 1}, m.b));
    mlc_optimizer_device_data_release(held);
    float before = value_of(m.b), db = 0;
    mlc_execution e = with_data(&m);
    CHECK_OK(mlc_training_graph_execute_forward(m.training, &e));
    CHECK_OK(mlc_training_graph_execute_gradient(m.training, plain()));
    CHECK_OK(mlc_training_graph_gradient_data(m.training, m.b, m.dense, &db, 4));
    CHECK_OK(mlc_training_graph_execute_optimizer_update(m.training, plain()));
    CHECK_NEAR(value_of(m.b), before - 0.125 * (0.5 * 40 + (double)db), 1e-5);
    mlc_tensor_data_release(data);
    end(&m);
}

/* One step with a descriptor; the new w. */
static float after_step(mlc_optimizer_descriptor d, bool is_adamw, int64_t *out_time_step) {
    mlc_optimizer *optimizer = NULL;
    model m;
    CHECK_OK(is_adamw ? mlc_adamw_optimizer_create_default(&d, &optimizer)
                      : mlc_sgd_optimizer_create_default(&d, &optimizer));
    make(&m, optimizer);
    CHECK_OK(mlc_training_graph_compile(m.training, 0, m.device));
    CHECK_OK(step(&m));
    float w = value_of(m.w);
    *out_time_step = mlc_optimizer_time_step(optimizer);
    end(&m);
    return w;
}

TEST(every_field_of_an_optimizer_is_used) {
    int64_t step_number = 0;
    mlc_optimizer_descriptor d =
        mlc_optimizer_descriptor_make(0.125f, 0.5f, MLC_REGULARIZATION_NONE, 0);
    CHECK(after_step(d, false, &step_number) == 2 - 0.125f * 0.5f * DW);
    CHECK(step_number == 2);
    d.regularization = MLC_REGULARIZATION_L2;
    d.regularization_scale = 4;
    CHECK(after_step(d, false, &step_number) == 2 - 0.125f * (0.5f * DW + 4 * 2));
    d.regularization = MLC_REGULARIZATION_L1;
    CHECK(after_step(d, false, &step_number) == 2 - 0.125f * (0.5f * DW + 4));
    d.regularization = MLC_REGULARIZATION_NONE;
    d.applies_gradient_clipping = true;
    d.gradient_clip_max = 8; /* before the rescaling */
    CHECK(after_step(d, false, &step_number) == 2 - 0.125f * 0.5f * 8);
    d.clipping = MLC_GRADIENT_CLIPPING_BY_NORM;
    d.maximum_clipping_norm = 16;
    CHECK_NEAR(after_step(d, false, &step_number), 2 - 0.125 * 0.5 * 16, 1e-6);
    d.clipping = MLC_GRADIENT_CLIPPING_BY_GLOBAL_NORM;
    double norm = sqrt(DW * DW + DB * DB);
    CHECK_NEAR(after_step(d, false, &step_number), 2 - 0.125 * 0.5 * DW * 16 / norm, 1e-6);
    d.custom_global_norm = 64;
    CHECK_NEAR(after_step(d, false, &step_number), 2 - 0.125 * 0.5 * DW * 16 / 64, 1e-6);
    mlc_optimizer_descriptor w =
        mlc_optimizer_descriptor_make(0.125f, 1, MLC_REGULARIZATION_L2, 0.5f);
    CHECK_NEAR(after_step(w, true, &step_number), 2 - 0.125 * 0.5 * 2 - 0.125, 1e-5);
    CHECK(step_number == 2);
}

TEST(clipping_can_be_switched_between_steps) {
    mlc_optimizer_descriptor d =
        mlc_optimizer_descriptor_make_clipped(0.125f, 1, false, 8, -8, MLC_REGULARIZATION_NONE, 0);
    mlc_optimizer *optimizer = NULL;
    model m;
    REQUIRE_OK(mlc_sgd_optimizer_create_default(&d, &optimizer));
    make(&m, optimizer);
    REQUIRE_OK(mlc_training_graph_compile(m.training, 0, m.device));
    mlc_optimizer_set_applies_gradient_clipping(optimizer, true);
    CHECK_OK(step(&m));
    CHECK(value_of(m.w) == 1);
    end(&m);
}

/* ---- options, errors --------------------------------------------------------------------------*/

TEST(forward_for_inference_drops_nothing_and_updates_nothing) {
    model m;
    begin(&m, 0.125f, 0);
    mlc_execution e = with_data(&m);
    e.options |= MLC_EXECUTION_FORWARD_FOR_INFERENCE;
    CHECK_OK(mlc_training_graph_execute_forward(m.training, &e));
    CHECK(value_of(m.error) == 34.5f);
    CHECK_FAILS(mlc_training_graph_execute_gradient(m.training, plain()), MICA_FAILED_PRECONDITION,
                "forward pass");
    CHECK_OK(mlc_training_graph_execute(m.training, &e));
    CHECK(value_of(m.w) == 2);
    end(&m);
}

TEST(a_smaller_batch_trains_with_the_first_examples) {
    model m;
    begin(&m, 0.125f, 0);
    mlc_execution e = with_data(&m);
    e.batch_size = 2; /* e = 3 4: dw = 2/2 (3 + 8) = 11 */
    CHECK_OK(mlc_training_graph_execute(m.training, &e));
    CHECK(value_of(m.w) == 2 - 11 * 0.125f && value_of(m.error) == 12.5f);
    e.batch_size = 3;
    CHECK_OK(mlc_training_graph_execute_forward(m.training, &e));
    mlc_execution other = *plain();
    other.batch_size = 2;
    CHECK_FAILS(mlc_training_graph_execute_gradient(m.training, &other), MICA_FAILED_PRECONDITION,
                "another batch size");
    end(&m);
}

TEST(debugged_layers_have_their_gradients_on_the_host) {
    model m;
    make(&m, sgd(0));
    mlc_layer_set_is_debugging_enabled(m.dense, true);
    REQUIRE_OK(mlc_training_graph_compile(m.training, MLC_COMPILATION_DEBUG_LAYERS, m.device));
    CHECK_OK(step(&m));
    mlc_tensors gradients;
    REQUIRE_OK(mlc_training_graph_result_gradient_tensors(m.training, m.dense, &gradients));
    mlc_tensor_data *data = mlc_tensor_data_of(gradients.data[0]);
    CHECK(data && ((float *)mlc_tensor_data_bytes(data))[3] == 4);
    CHECK(mlc_tensor_data_of(m.y) != NULL);
    m.labels[2] = NAN;
    CHECK_FAILS(step(&m), MICA_INVALID_ARGUMENT, "[Loss");
    end(&m);
}

TEST(linked_training_graphs_pass_gradients_back) {
    mlc_device *device = cpu();
    float w[1] = {3}, x[1] = {2}, t[1] = {0};
    mlc_tensor *weights = viewing(MICA_INTS(1, 1), w), *in = viewing(MICA_INTS(1, 1), x);
    mlc_tensor *label = viewing(MICA_INTS(1, 1), t), *h = NULL, *error = NULL, *y = NULL;
    mlc_layer *dense = NULL, *loss = mse(MLC_REDUCTION_SUM);
    mlc_convolution_descriptor d = mlc_convolution_descriptor_make(1, 1, 1, 1);
    REQUIRE_OK(mlc_fully_connected_layer_create(weights, NULL, &d, &dense));
    mlc_graph *first = new_graph(), *second = new_graph(), *a = NULL, *b = NULL;
    REQUIRE_OK(mlc_graph_node(first, dense, MLC_TENSORS(in), &h));
    y = add(second, arithmetic(MLC_ARITHMETIC_OPERATION_EXP2), MLC_TENSORS(h));
    REQUIRE_OK(mlc_graph_node_loss(second, loss, MLC_TENSORS(y), MLC_TENSORS(label), &error));
    mlc_optimizer *optimizer = sgd(0.5f);
    REQUIRE_OK(mlc_training_graph_create(MLC_GRAPHS(first), NULL, optimizer, &a));
    REQUIRE_OK(mlc_training_graph_create(MLC_GRAPHS(second), NULL, NULL, &b));
    REQUIRE_OK(mlc_training_graph_compile(a, MLC_COMPILATION_LINK_GRAPHS, device));
    REQUIRE_OK(mlc_training_graph_compile(b, MLC_COMPILATION_LINK_GRAPHS, device));
    REQUIRE_OK(mlc_training_graph_link(a, MLC_GRAPHS(b)));
    CHECK_OK(mlc_training_graph_execute_forward(a, plain()));
    CHECK_OK(mlc_training_graph_execute_forward(b, plain()));
    CHECK_OK(mlc_training_graph_execute_gradient(b, plain()));
    CHECK_OK(mlc_training_graph_execute_gradient(a, plain()));
    float gradient = NAN;
    CHECK_OK(mlc_training_graph_gradient_data(a, weights, dense, &gradient, 4));
    CHECK_NEAR(gradient, 2 * 64 * 64 * log(2) * 2, 1e-2); /* 2 y dy/dh x, y = 2^6 */
    mlc_graph_release(a);
    mlc_graph_release(b);
    mlc_graph_release(first);
    mlc_graph_release(second);
    mlc_layer_release(dense);
    mlc_layer_release(loss);
    mlc_optimizer_release(optimizer);
    mlc_tensor_release(weights);
    mlc_tensor_release(in);
    mlc_tensor_release(label);
    mlc_device_release(device);
}

TEST(what_is_missing_is_named_when_compiling) {
    model m;
    make(&m, sgd(1));
    mlc_graph *training = NULL, *g = new_graph();
    mlc_tensor *y = NULL;
    mlc_layer *loss = mse(MLC_REDUCTION_MEAN);
    REQUIRE_OK(mlc_layer_set_label(loss, "error"));
    REQUIRE_OK(mlc_graph_node(g, loss, MLC_TENSORS(m.x), &y));
    REQUIRE_OK(mlc_training_graph_create(MLC_GRAPHS(g), NULL, m.optimizer, &training));
    CHECK_FAILS(mlc_training_graph_compile(training, 0, m.device), MICA_INVALID_ARGUMENT,
                "[error] no loss labels");
    mlc_device *ane = NULL;
    REQUIRE_OK(mlc_device_ane(&ane));
    CHECK_FAILS(mlc_training_graph_compile(m.training, 0, ane), MICA_UNSUPPORTED,
                "inference graphs only");
    mlc_device_release(ane);
    REQUIRE_OK(mlc_training_graph_compile_constants(
        m.training, 0, m.device, MLC_NAMED_TENSORS({"x", m.x}), MLC_NAMED_DATA({"x", m.x_data})));
    mlc_execution e = with_data(&m);
    e.inputs = (mlc_named_data){NULL, 0};
    CHECK_OK(mlc_training_graph_execute(m.training, &e));
    CHECK(value_of(m.error) == 34.5f);
    mlc_layer_release(loss);
    mlc_graph_release(training);
    mlc_graph_release(g);
    end(&m);
}

TEST(batch_normalisation_updates_its_statistics) {
    mlc_device *device = cpu();
    float mean[1] = {0}, variance[1] = {1}, numbers[4] = {1, 3, 5, 7};
    mlc_tensor *mu = viewing(MICA_INTS(1), mean), *var = viewing(MICA_INTS(1), variance);
    mlc_tensor *x = viewing(MICA_INTS(4, 1), numbers), *t = filled(MICA_INTS(4, 1), 0), *y = NULL;
    mlc_layer *norm = NULL, *loss = mse(MLC_REDUCTION_MEAN);
    REQUIRE_OK(mlc_batch_normalization_layer_create(1, mu, var, NULL, NULL, 1e-5f, 0.5f, &norm));
    mlc_graph *g = new_graph(), *training = NULL;
    REQUIRE_OK(mlc_graph_node(g, norm, MLC_TENSORS(x), &y));
    REQUIRE_OK(mlc_graph_node_loss(g, loss, MLC_TENSORS(y), MLC_TENSORS(t), &y));
    mlc_optimizer *optimizer = sgd(0.5f);
    REQUIRE_OK(mlc_training_graph_create(MLC_GRAPHS(g), NULL, optimizer, &training));
    REQUIRE_OK(mlc_training_graph_compile(training, 0, device));
    CHECK_OK(mlc_training_graph_execute(training, plain()));
    CHECK_OK(mlc_training_graph_synchronize_updates(training));
    CHECK_NEAR(mean[0], 2, 1e-6);
    CHECK_NEAR(variance[0], 0.5 + 0.5 * 20 / 3.0, 1e-5);
    mlc_graph_release(training);
    mlc_graph_release(g);
    mlc_layer_release(norm);
    mlc_layer_release(loss);
    mlc_optimizer_release(optimizer);
    mlc_tensor_release(mu);
    mlc_tensor_release(var);
    mlc_tensor_release(x);
    mlc_tensor_release(t);
    mlc_device_release(device);
}
