/* Twenty steps with dropout and Adam: whole, in parts, and with debugged layers, bit for bit. */
#include "mlc_test.h"

TEST(three_tensors_are_added) {
    mlc_device *device = cpu();
    mlc_tensor *t1 = empty(MICA_INTS(6, 1)), *t2 = empty(MICA_INTS(6, 1)),
               *t3 = empty(MICA_INTS(6, 1));
    mlc_graph *g = new_graph(), *inference = NULL;
    mlc_tensor *im = add(g, arithmetic(MLC_ARITHMETIC_OPERATION_ADD), MLC_TENSORS(t1, t2));
    REQUIRE(im);
    mlc_tensor *sum = add(g, arithmetic(MLC_ARITHMETIC_OPERATION_ADD), MLC_TENSORS(im, t3));
    float v1[] = {1, 2, 3, 4, 5, 6}, v2[] = {.1f, .2f, .3f, .4f, .5f, .6f},
          v3[] = {-.1f, -.1f, -.1f, -.1f, -.1f, -.1f}, out[6];
    mlc_tensor_data *d1 = data_of(v1, sizeof v1), *d2 = data_of(v2, sizeof v2),
                    *d3 = data_of(v3, sizeof v3);
    CHECK_OK(mlc_inference_graph_create(MLC_GRAPHS(g), &inference));
    CHECK_OK(mlc_inference_graph_add_inputs(inference,
                                            MLC_NAMED_TENSORS({"a", t1}, {"b", t2}, {"c", t3}),
                                            MLC_NO_TENSORS, MLC_NO_TENSORS));
    CHECK_OK(mlc_inference_graph_compile(inference, 0, device));
    mlc_execution e = mlc_execution_make(MLC_EXECUTION_NONE);
    e.inputs = MLC_NAMED_DATA({"a", d1}, {"b", d2}, {"c", d3});
    CHECK_OK(mlc_inference_graph_execute(inference, &e));
    CHECK_OK(mlc_graph_wait(inference));
    read_floats(sum, out, 6);
    for (int i = 0; i < 6; i++) CHECK_NEAR(out[i], v1[i] + v2[i] + v3[i], 1e-6);
    mlc_tensor_data_release(d1);
    mlc_tensor_data_release(d2);
    mlc_tensor_data_release(d3);
    mlc_graph_release(inference);
    mlc_graph_release(g);
    mlc_tensor_release(t1);
    mlc_tensor_release(t2);
    mlc_tensor_release(t3);
    mlc_device_release(device);
}

static float train(bool split, int steps, float *w_out, uint64_t options) {
    mlc_device *device = cpu();
    float w[] = {0.5f, -0.25f, 0.125f, 1}, b[] = {0, 0};
    mlc_tensor *x = empty(MICA_INTS(3, 2)), *labels = empty(MICA_INTS(3, 2));
    mlc_tensor *weights = viewing(MICA_INTS(2, 2), w), *biases = viewing(MICA_INTS(2), b);
    mlc_layer *dense = NULL, *drop = NULL;
    mlc_convolution_descriptor d = mlc_convolution_descriptor_make(1, 1, 2, 2);
    CHECK_OK(mlc_fully_connected_layer_create(weights, biases, &d, &dense));
    CHECK_OK(mlc_dropout_layer_create(0.25f, 7, &drop));
    mlc_graph *g = new_graph(), *training = NULL;
    mlc_tensor *y = add(g, dense, MLC_TENSORS(x));
    y = add(g, drop, MLC_TENSORS(y));
    mlc_optimizer *o = NULL;
    mlc_optimizer_descriptor od =
        mlc_optimizer_descriptor_make(0.1f, 1, MLC_REGULARIZATION_NONE, 0);
    CHECK_OK(mlc_adam_optimizer_create_default(&od, &o));
    mlc_layer *loss = mse(MLC_REDUCTION_MEAN);
    CHECK_OK(mlc_training_graph_create(MLC_GRAPHS(g), loss, o, &training));
    CHECK_OK(mlc_training_graph_add_inputs(training, MLC_NAMED_TENSORS({"x", x}),
                                           MLC_NAMED_TENSORS({"t", labels}), MLC_NO_TENSORS));
    CHECK_OK(mlc_training_graph_compile(training, options, device));
    float xs[] = {1, 2, 3, 4, 5, 6}, ts[] = {1, 0, 0, 1, 1, 1}, out = NAN;
    mlc_tensor_data *xd = data_of(xs, sizeof xs), *td = data_of(ts, sizeof ts);
    for (int i = 0; i < steps; i++) {
        mlc_execution e = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
        e.inputs = MLC_NAMED_DATA({"x", xd});
        e.loss_labels = MLC_NAMED_DATA({"t", td});
        mlc_execution plain = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
        if (!split) {
            CHECK_OK(mlc_training_graph_execute(training, &e));
        } else {
            CHECK_OK(mlc_training_graph_execute_forward(training, &e));
            CHECK_OK(mlc_training_graph_execute_gradient(training, &plain));
            CHECK_OK(mlc_training_graph_execute_optimizer_update(training, &plain));
        }
        mlc_tensors results = mlc_graph_result_tensors(training, loss);
        read_floats(results.data[0], &out, 1);
    }
    CHECK_OK(mlc_training_graph_synchronize_updates(training));
    memcpy(w_out, w, sizeof w);
    mlc_tensor_data_release(xd);
    mlc_tensor_data_release(td);
    mlc_graph_release(training);
    mlc_graph_release(g);
    mlc_layer_release(loss);
    mlc_optimizer_release(o);
    mlc_tensor_release(x);
    mlc_tensor_release(labels);
    mlc_tensor_release(weights);
    mlc_tensor_release(biases);
    mlc_device_release(device);
    return out;
}

TEST(split_is_the_same_as_one_shot) {
    float a[4], b[4], c[4];
    float la = train(false, 20, a, 0), lb = train(true, 20, b, 0),
          lc = train(false, 20, c, MLC_COMPILATION_DEBUG_LAYERS);
    CHECK(la == lb);
    CHECK(la == lc);
    CHECK(memcmp(a, b, sizeof a) == 0);
}
