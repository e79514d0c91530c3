/* Inference graphs: declaring, compiling with every option, executing with every option. */
#include "mlc_test.h"

/* y = relu(x) * w, with x (4, 3) an input and w (3) a tensor with data. */
typedef struct model {
    mlc_device *device;
    mlc_graph *graph, *inference;
    mlc_layer *relu, *product;
    mlc_tensor *x, *w, *h, *y;
    float weights[3], numbers[12], out[12];
    mlc_tensor_data *x_data, *y_data;
} model;

static void begin(model *m, const char *device) {
    *m = (model){.weights = {1, 10, 100}};
    for (int i = 0; i < 12; i++) m->numbers[i] = (float)(i - 4);
    CHECK_OK(mlc_device_named(device, &m->device));
    m->graph = new_graph();
    m->x = empty(MICA_INTS(4, 3));
    m->w = viewing(MICA_INTS(3), m->weights);
    CHECK_OK(mlc_activation_layer_relu(&m->relu));
    CHECK_OK(mlc_layer_set_label(m->relu, "relu"));
    m->product = arithmetic(MLC_ARITHMETIC_OPERATION_MULTIPLY);
    CHECK_OK(mlc_graph_node(m->graph, m->relu, MLC_TENSORS(m->x), &m->h));
    CHECK_OK(mlc_graph_node(m->graph, m->product, MLC_TENSORS(m->h, m->w), &m->y));
    CHECK_OK(mlc_inference_graph_create(MLC_GRAPHS(m->graph), &m->inference));
    CHECK_OK(mlc_inference_graph_add_inputs(m->inference, MLC_NAMED_TENSORS({"x", m->x}),
                                            MLC_NO_TENSORS, MLC_NO_TENSORS));
    CHECK_OK(mlc_inference_graph_add_outputs(m->inference, MLC_NAMED_TENSORS({"y", m->y})));
    m->x_data = data_of(m->numbers, sizeof m->numbers);
    m->y_data = data_of(m->out, sizeof m->out);
}

static void end(model *m) {
    mlc_tensor_data_release(m->x_data);
    mlc_tensor_data_release(m->y_data);
    mlc_graph_release(m->inference);
    mlc_graph_release(m->graph);
    mlc_layer_release(m->relu);
    mlc_layer_release(m->product);
    mlc_tensor_release(m->x);
    mlc_tensor_release(m->w);
    mlc_device_release(m->device);
}

static mlc_execution with_data(model *m, uint64_t options) {
    static _Thread_local mlc_named_item x, y;
    x = (mlc_named_item){"x", m->x_data};
    y = (mlc_named_item){"y", m->y_data};
    mlc_execution e = mlc_execution_make(options);
    e.inputs = (mlc_named_data){&x, 1};
    e.outputs = (mlc_named_data){&y, 1};
    return e;
}

static bool is_right(const model *m, int n) {
    for (int i = 0; i < n; i++) {
        float x = m->numbers[i] > 0 ? m->numbers[i] : 0;
        if (m->out[i] != x * m->weights[i % 3]) return false;
    }
    return true;
}

TEST(outputs_are_written_to_the_callers_memory_on_every_device) {
    const char *devices[] = {"cpu", "fake", "ref"};
    for (int i = 0; i < 3; i++) {
        model m;
        begin(&m, devices[i]);
        REQUIRE_OK(mlc_inference_graph_compile(m.inference, MLC_COMPILATION_NONE, m.device));
        CHECK(mlc_graph_device(m.inference) == m.device);
        CHECK(mlc_layer_device_type(m.relu) == MLC_DEVICE_TYPE_CPU);
        mlc_execution e = with_data(&m, MLC_EXECUTION_SYNCHRONOUS);
        CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
        CHECK(is_right(&m, 12));
        end(&m);
    }
}

TEST(a_smaller_batch_uses_the_first_examples) {
    model m;
    begin(&m, "cpu");
    REQUIRE_OK(mlc_inference_graph_compile(m.inference, 0, m.device));
    mlc_execution e = with_data(&m, MLC_EXECUTION_SYNCHRONOUS);
    for (int64_t batch = 1; batch <= 4; batch++) {
        for (int i = 0; i < 12; i++) m.out[i] = -1;
        e.batch_size = batch;
        CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
        CHECK(is_right(&m, (int)(3 * batch)));
        CHECK(batch == 4 || m.out[3 * batch] == -1);
    }
    float two[6] = {1, 2, 3, 4, 5, 6}, sums[6];
    mlc_tensor_data *small = data_of(two, sizeof two), *out = data_of(sums, sizeof sums);
    e.inputs = MLC_NAMED_DATA({"x", small});
    e.outputs = MLC_NAMED_DATA({"y", out});
    e.batch_size = 2;
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e)); /* data of the batch's own length */
    CHECK(sums[0] == 1 && sums[5] == 600);
    e.batch_size = 3;
    CHECK_FAILS(mlc_inference_graph_execute(m.inference, &e), MICA_INVALID_ARGUMENT, "24 bytes");
    e.batch_size = 5;
    CHECK_FAILS(mlc_inference_graph_execute(m.inference, &e), MICA_INVALID_ARGUMENT,
                "batch size 5");
    mlc_tensor_data_release(small);
    mlc_tensor_data_release(out);
    end(&m);
}

/* y = relu(x) through (2 n, 2) and back, times w (4, 4), which is a slice of a (2, 8) tensor in
 * another shape: its first size is that of the batch, and yet its own. */
TEST(a_size_that_equals_the_batch_is_no_batch) {
    float values[16], numbers[16], out[16];
    for (int i = 0; i < 16; i++) values[i] = (float)i, numbers[i] = (float)(i % 5 - 1);
    mlc_device *device;
    REQUIRE_OK(mlc_device_named("cpu", &device));
    mlc_graph *graph = new_graph(), *inference;
    mlc_tensor *x = empty(MICA_INTS(4, 4)), *w = viewing(MICA_INTS(2, 8), values);
    mlc_tensor *halves, *back, *square, *whole, *y;
    REQUIRE_OK(mlc_graph_reshape(graph, MICA_INTS(8, 2), x, &halves));
    REQUIRE_OK(mlc_graph_reshape(graph, MICA_INTS(4, 4), halves, &back));
    REQUIRE_OK(mlc_graph_reshape(graph, MICA_INTS(4, 4), w, &square));
    mlc_layer *slice, *product;
    REQUIRE_OK(mlc_slice_layer_create(MICA_INTS(0, 0), MICA_INTS(4, 4), MICA_INTS(1, 1), &slice));
    REQUIRE_OK(mlc_graph_node(graph, slice, MLC_TENSORS(square), &whole));
    mlc_matmul_descriptor d = mlc_matmul_descriptor_make();
    REQUIRE_OK(mlc_matmul_layer_create(&d, &product));
    REQUIRE_OK(mlc_graph_node(graph, product, MLC_TENSORS(back, whole), &y));
    REQUIRE_OK(mlc_inference_graph_create(MLC_GRAPHS(graph), &inference));
    REQUIRE_OK(mlc_inference_graph_add_inputs(inference, MLC_NAMED_TENSORS({"x", x}),
                                              MLC_NO_TENSORS, MLC_NO_TENSORS));
    REQUIRE_OK(mlc_inference_graph_add_outputs(inference, MLC_NAMED_TENSORS({"y", y})));
    REQUIRE_OK(mlc_inference_graph_compile(inference, 0, device));
    mlc_tensor_data *in = data_of(numbers, sizeof numbers), *result = data_of(out, sizeof out);
    mlc_execution e = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
    e.inputs = MLC_NAMED_DATA({"x", in});
    e.outputs = MLC_NAMED_DATA({"y", result});
    for (int64_t batch = 1; batch <= 4; batch++) {
        e.batch_size = batch;
        REQUIRE_OK(mlc_inference_graph_execute(inference, &e));
        for (int i = 0; i < 4 * batch; i++) {
            float sum = 0;
            for (int k = 0; k < 4; k++) sum += numbers[i / 4 * 4 + k] * values[4 * k + i % 4];
            CHECK(out[i] == sum);
        }
    }
    mlc_tensor_data_release(in);
    mlc_tensor_data_release(result);
    mlc_graph_release(inference);
    mlc_graph_release(graph);
    mlc_layer_release(slice);
    mlc_layer_release(product);
    mlc_tensor_release(x);
    mlc_tensor_release(w);
    mlc_device_release(device);
}

TEST(bad_executions_are_refused_and_the_graph_stays_usable) {
    model m;
    begin(&m, "cpu");
    mlc_execution e = with_data(&m, MLC_EXECUTION_SYNCHRONOUS);
    CHECK_FAILS(mlc_inference_graph_execute(m.inference, &e), MICA_FAILED_PRECONDITION,
                "not compiled");
    REQUIRE_OK(mlc_inference_graph_compile(m.inference, 0, m.device));
    mlc_execution none = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
    CHECK_FAILS(mlc_inference_graph_execute(m.inference, &none), MICA_INVALID_ARGUMENT,
                "no data for the input 'x'");
    none.inputs = MLC_NAMED_DATA({"z", m.x_data});
    CHECK_FAILS(mlc_inference_graph_execute(m.inference, &none), MICA_INVALID_ARGUMENT,
                "'z' is no declared input; declared are: x");
    none.inputs = (mlc_named_data){NULL, 0};
    none.outputs = MLC_NAMED_DATA({"h", m.y_data});
    CHECK_FAILS(mlc_inference_graph_execute(m.inference, &none), MICA_INVALID_ARGUMENT,
                "'h' is no declared output");
    mlc_tensor_data *wrong = data_of(m.out, 8), *constant = NULL;
    REQUIRE_OK(mlc_tensor_data_create_immutable(m.out, sizeof m.out, &constant));
    e.outputs = MLC_NAMED_DATA({"y", wrong});
    CHECK_FAILS(mlc_inference_graph_execute(m.inference, &e), MICA_INVALID_ARGUMENT, "8 bytes");
    e.outputs = MLC_NAMED_DATA({"y", constant});
    CHECK_FAILS(mlc_inference_graph_execute(m.inference, &e), MICA_INVALID_ARGUMENT, "immutable");
    e = with_data(&m, MLC_EXECUTION_SYNCHRONOUS);
    e.inputs = MLC_NAMED_DATA({"x", wrong});
    CHECK_FAILS(mlc_inference_graph_execute(m.inference, &e), MICA_INVALID_ARGUMENT, "8 bytes");
    mlc_layer *late = arithmetic(MLC_ARITHMETIC_OPERATION_SIN);
    mlc_tensor *result = NULL;
    CHECK_FAILS(mlc_graph_node(m.inference, late, MLC_TENSORS(m.y), &result),
                MICA_FAILED_PRECONDITION, "compiled");
    CHECK_FAILS(mlc_graph_node(m.graph, late, MLC_TENSORS(m.y), &result), MICA_FAILED_PRECONDITION,
                "compiled");
    CHECK_FAILS(mlc_inference_graph_add_inputs(m.inference, MLC_NAMED_TENSORS({"w", m.w}),
                                               MLC_NO_TENSORS, MLC_NO_TENSORS),
                MICA_FAILED_PRECONDITION, "compiled");
    CHECK_FAILS(mlc_inference_graph_add_outputs(m.inference, MLC_NAMED_TENSORS({"h", m.h})),
                MICA_FAILED_PRECONDITION, "compiled");
    mlc_layer_release(late);
    mlc_tensor_data_release(wrong);
    mlc_tensor_data_release(constant);
    e = with_data(&m, MLC_EXECUTION_SYNCHRONOUS);
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
    CHECK(is_right(&m, 12));
    e.options = 0x100;
    CHECK_FAILS(mlc_inference_graph_execute(m.inference, &e), MICA_INVALID_ARGUMENT, "0x100");
    CHECK_FAILS(mlc_inference_graph_compile(m.inference, 0x40, m.device), MICA_INVALID_ARGUMENT,
                "0x40");
    end(&m);
}

TEST(declared_names_are_checked) {
    model m;
    begin(&m, "cpu");
    CHECK_FAILS(mlc_inference_graph_add_inputs(m.inference, MLC_NAMED_TENSORS({"x", m.w}),
                                               MLC_NO_TENSORS, MLC_NO_TENSORS),
                MICA_INVALID_ARGUMENT, "'x' is already");
    CHECK_FAILS(mlc_inference_graph_add_inputs(m.inference, MLC_NAMED_TENSORS({"h", m.h}),
                                               MLC_NO_TENSORS, MLC_NO_TENSORS),
                MICA_INVALID_ARGUMENT, "a result of the graph");
    CHECK_FAILS(mlc_inference_graph_add_outputs(m.inference, MLC_NAMED_TENSORS({"x", m.x})),
                MICA_INVALID_ARGUMENT, "no result");
    mlc_graph *inference = NULL; /* x is not declared here */
    REQUIRE_OK(mlc_inference_graph_create(MLC_GRAPHS(m.graph), &inference));
    CHECK_FAILS(mlc_inference_graph_compile(inference, 0, m.device), MICA_INVALID_ARGUMENT,
                "[relu] the source");
    mlc_graph_release(inference);
    end(&m);
}

/* ---- options ----------------------------------------------------------------------------------*/

TEST(input_data_that_was_written_can_be_used_again) {
    model m;
    begin(&m, "fake"); /* whose memory is not the host's */
    REQUIRE_OK(mlc_inference_graph_compile(m.inference, 0, m.device));
    mlc_execution e =
        with_data(&m, MLC_EXECUTION_SYNCHRONOUS | MLC_EXECUTION_SKIP_WRITING_INPUT_DATA_TO_DEVICE);
    CHECK_FAILS(mlc_inference_graph_execute(m.inference, &e), MICA_INVALID_ARGUMENT, "no data");
    REQUIRE_OK(mlc_graph_bind_and_write(m.inference, MLC_NAMED_DATA({"x", m.x_data}),
                                        MLC_NAMED_TENSORS({"x", m.x}), m.device, 0, true));
    m.numbers[11] = 1000; /* not seen by the device */
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
    CHECK(m.out[11] == 700);
    e.options = MLC_EXECUTION_SYNCHRONOUS;
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
    CHECK(m.out[11] == 100000);
    CHECK_FAILS(mlc_graph_bind_and_write(m.inference, MLC_NAMED_DATA({"q", m.x_data}),
                                         MLC_NAMED_TENSORS({"x", m.x}), m.device, 0, true),
                MICA_INVALID_ARGUMENT, "'q'");
    REQUIRE_OK(mlc_graph_bind_and_write(m.inference, MLC_NAMED_DATA({"x", m.x_data}),
                                        MLC_NAMED_TENSORS({"x", m.x}), m.device, 2, false));
    e.options |= MLC_EXECUTION_SKIP_WRITING_INPUT_DATA_TO_DEVICE;
    e.batch_size = 2;
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
    end(&m);
}

typedef struct call {
    int count;
    mlc_tensor *result;
    mica_code error;
    double seconds;
    mica_code answer;
} call;

static mica_status note_call(void *context, mlc_tensor *result, mica_status error, double seconds) {
    call *c = context;
    c->count++;
    c->result = result;
    c->error = mica_status_code(error);
    c->seconds = seconds;
    return c->answer ? mica_status_create(c->answer, "the handler says no") : NULL;
}

TEST(a_handler_is_told_result_and_time) {
    model m;
    call c = {0};
    begin(&m, "cpu");
    REQUIRE_OK(mlc_inference_graph_compile(m.inference, 0, m.device));
    mlc_execution e = with_data(&m, MLC_EXECUTION_SYNCHRONOUS);
    e.handler = note_call;
    e.context = &c;
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
    CHECK(c.count == 1 && c.result == m.y && c.error == MICA_OK && c.seconds == 0);
    e.options |= MLC_EXECUTION_PROFILING;
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
    CHECK(c.count == 2 && c.seconds > 0);
    c.answer = MICA_CALLBACK_ERROR;
    CHECK_FAILS(mlc_inference_graph_execute(m.inference, &e), MICA_CALLBACK_ERROR, "says no");
    e.options = MLC_EXECUTION_NONE;
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
    CHECK_FAILS(mlc_graph_wait(m.inference), MICA_CALLBACK_ERROR, "says no");
    CHECK_OK(mlc_graph_wait(m.inference)); /* told once */
    c.answer = MICA_OK;
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
    CHECK_OK(mlc_graph_wait(m.inference));
    CHECK(c.count == 5 && is_right(&m, 12));
    end(&m);
}

TEST(layers_are_timed_one_by_one) {
    model m;
    begin(&m, "cpu");
    REQUIRE_OK(mlc_inference_graph_compile(m.inference, 0, m.device));
    CHECK(mlc_graph_layer_seconds(m.inference, m.relu) == 0);
    mlc_execution e = with_data(&m, MLC_EXECUTION_SYNCHRONOUS | MLC_EXECUTION_PER_LAYER_PROFILING);
    e.batch_size = 2;
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
    CHECK(mlc_graph_layer_seconds(m.inference, m.relu) > 0);
    CHECK(mlc_graph_layer_seconds(m.inference, m.product) > 0);
    end(&m);
}

TEST(debug_layers_name_the_first_layer_that_is_not_finite) {
    model m;
    begin(&m, "cpu");
    mlc_layer_set_is_debugging_enabled(m.relu, true);
    REQUIRE_OK(mlc_inference_graph_compile(m.inference, MLC_COMPILATION_DEBUG_LAYERS, m.device));
    mlc_execution e = with_data(&m, MLC_EXECUTION_SYNCHRONOUS);
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
    mlc_tensor_data *h = mlc_tensor_data_of(m.h); /* synchronised: the layer is flagged */
    CHECK(h && ((float *)mlc_tensor_data_bytes(h))[11] == 7);
    CHECK(mlc_tensor_data_of(m.y) == NULL);
    m.numbers[5] = INFINITY;
    CHECK_FAILS(mlc_inference_graph_execute(m.inference, &e), MICA_INVALID_ARGUMENT,
                "[relu] the result of the layer holds NaN or infinity");
    m.numbers[5] = 1;
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
    end(&m);
}

TEST(layers_are_kept_apart_when_fusion_is_disabled) {
    model m;
    float first[12];
    begin(&m, "cpu");
    REQUIRE_OK(mlc_inference_graph_compile(m.inference, 0, m.device));
    mlc_execution e = with_data(&m, MLC_EXECUTION_SYNCHRONOUS);
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
    memcpy(first, m.out, sizeof first);
    REQUIRE_OK(
        mlc_inference_graph_compile(m.inference, MLC_COMPILATION_DISABLE_LAYER_FUSION, m.device));
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
    CHECK(memcmp(first, m.out, sizeof first) == 0);
    CHECK(mlc_inference_graph_device_memory_size(m.inference) > 0);
    end(&m);
}

TEST(constants_are_computed_with_at_compile_time) {
    model m;
    begin(&m, "cpu");
    REQUIRE_OK(mlc_inference_graph_compile_constants(
        m.inference, 0, m.device, MLC_NAMED_TENSORS({"x", m.x}), MLC_NAMED_DATA({"x", m.x_data})));
    mlc_execution e = with_data(&m, MLC_EXECUTION_SYNCHRONOUS);
    e.inputs = (mlc_named_data){NULL, 0};
    m.numbers[11] = 1000; /* too late */
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e));
    CHECK(m.out[11] == 700);
    mlc_tensor_data *wrong = data_of(m.numbers, 4);
    CHECK_FAILS(mlc_inference_graph_compile_constants(m.inference, 0, m.device,
                                                      MLC_NAMED_TENSORS({"x", m.x}),
                                                      MLC_NAMED_DATA({"x", wrong})),
                MICA_INVALID_ARGUMENT, "4 bytes");
    mlc_tensor_data_release(wrong);
    end(&m);
}

TEST(linked_graphs_pass_tensors_on_the_device) {
    model m;
    begin(&m, "fake");
    mlc_graph *rest = new_graph(), *second = NULL;
    mlc_tensor *z = add(rest, arithmetic(MLC_ARITHMETIC_OPERATION_ADD), MLC_TENSORS(m.h, m.y));
    float out[12];
    REQUIRE_OK(mlc_inference_graph_create(MLC_GRAPHS(rest), &second));
    REQUIRE_OK(mlc_inference_graph_add_inputs(second, MLC_NAMED_TENSORS({"h", m.h}, {"y", m.y}),
                                              MLC_NO_TENSORS, MLC_NO_TENSORS));
    REQUIRE_OK(mlc_inference_graph_compile(m.inference, 0, m.device));
    REQUIRE_OK(mlc_inference_graph_compile(second, MLC_COMPILATION_LINK_GRAPHS, m.device));
    CHECK_FAILS(mlc_inference_graph_link(m.inference, MLC_GRAPHS(second)), MICA_FAILED_PRECONDITION,
                "LinkGraphs");
    REQUIRE_OK(mlc_inference_graph_compile(m.inference, MLC_COMPILATION_LINK_GRAPHS, m.device));
    REQUIRE_OK(mlc_inference_graph_link(m.inference, MLC_GRAPHS(second)));
    mlc_execution e = with_data(&m, MLC_EXECUTION_NONE);
    mlc_execution none = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
    CHECK_OK(mlc_inference_graph_execute(m.inference, &e)); /* not waited for */
    CHECK_OK(mlc_inference_graph_execute(second, &none)); /* h is consumed inside, and passed on */
    read_floats(z, out, 12);
    CHECK(out[11] == 707 && out[0] == 0);
    CHECK_OK(mlc_graph_wait(m.inference));
    mlc_graph_release(second);
    mlc_graph_release(rest);
    end(&m);
}

TEST(an_inference_graph_computes_losses_with_label_weights) {
    mlc_device *device = cpu();
    float scores[4] = {1, 2, 3, 4}, labels[4] = {0}, weights[2] = {1, 10}, out[4];
    mlc_tensor *x = empty(MICA_INTS(2, 2)), *t = empty(MICA_INTS(2, 2)), *w = empty(MICA_INTS(2));
    mlc_tensor *loss = NULL;
    mlc_graph *g = new_graph(), *inference = NULL;
    mlc_layer *layer = mse(MLC_REDUCTION_NONE);
    REQUIRE_OK(mlc_graph_node_loss(g, layer, MLC_TENSORS(x), MLC_TENSORS(t, w), &loss));
    mlc_layer_release(layer);
    REQUIRE_OK(mlc_inference_graph_create(MLC_GRAPHS(g), &inference));
    REQUIRE_OK(mlc_inference_graph_add_inputs(inference, MLC_NAMED_TENSORS({"x", x}),
                                              MLC_NAMED_TENSORS({"t", t}),
                                              MLC_NAMED_TENSORS({"w", w})));
    REQUIRE_OK(mlc_inference_graph_compile(inference, 0, device));
    mlc_tensor_data *xd = data_of(scores, sizeof scores), *td = data_of(labels, sizeof labels);
    mlc_tensor_data *wd = data_of(weights, sizeof weights);
    mlc_execution e = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
    e.inputs = MLC_NAMED_DATA({"x", xd});
    e.loss_labels = MLC_NAMED_DATA({"t", td});
    e.loss_label_weights = MLC_NAMED_DATA({"w", wd});
    CHECK_OK(mlc_inference_graph_execute(inference, &e));
    read_floats(loss, out, 4);
    CHECK(out[0] == 1 && out[1] == 4 && out[2] == 90 && out[3] == 160);
    mlc_tensor_data_release(xd);
    mlc_tensor_data_release(td);
    mlc_tensor_data_release(wd);
    mlc_graph_release(inference);
    mlc_graph_release(g);
    mlc_tensor_release(x);
    mlc_tensor_release(t);
    mlc_tensor_release(w);
    mlc_device_release(device);
}
