/* Every layer: its properties, and what it computes. */
#include "mlc_test.h"

/* Runs a layer on tensors that have data; gives its first result's first n floats. The layer is
 * released. */
static void evaluate(mlc_layer *layer, mlc_tensors sources, float *out, size_t n) {
    mlc_device *device = cpu();
    mlc_graph *graph = new_graph(), *inference = NULL;
    mlc_tensor *result = add(graph, layer, sources);
    REQUIRE_OK(mlc_inference_graph_create(MLC_GRAPHS(graph), &inference));
    CHECK_OK(mlc_inference_graph_compile(inference, 0, device));
    mlc_execution e = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
    CHECK_OK(mlc_inference_graph_execute(inference, &e));
    if (result) read_floats(result, out, n);
    mlc_graph_release(inference);
    mlc_graph_release(graph);
    mlc_device_release(device);
}

static mlc_tensor *integers(mica_ints shape, int32_t *numbers) {
    mlc_tensor *t = NULL;
    size_t bytes = sizeof *numbers;
    for (int32_t i = 0; i < shape.n; i++) bytes *= (size_t)shape.data[i];
    mlc_tensor_data *data = data_of(numbers, bytes);
    CHECK_OK(mlc_tensor_with_shape_data(shape, data, MLC_DATA_TYPE_INT32, &t));
    mlc_tensor_data_release(data);
    return t;
}

/* ---- activations ------------------------------------------------------------------------------*/

static void check_activation(mica_status status, mlc_layer *layer, mlc_activation_type type,
                             float at_minus_one, float at_two) {
    float x[2] = {-1, 2}, y[2];
    REQUIRE_OK(status);
    const mlc_activation_descriptor *d = mlc_layer_activation_descriptor(layer);
    CHECK(d && d->type == type);
    mlc_tensor *t = viewing(MICA_INTS(2), x);
    evaluate(layer, MLC_TENSORS(t), y, 2);
    CHECK_NEAR(y[0], at_minus_one, 1e-6);
    CHECK_NEAR(y[1], at_two, 1e-6);
    mlc_tensor_release(t);
}

#define ACTIVATION(call, type, low, high)                                                          \
    do {                                                                                           \
        mlc_layer *layer = NULL;                                                                   \
        mica_status status = call;                                                                 \
        check_activation(status, layer, type, (float)(low), (float)(high));                        \
    } while (0)

TEST(every_activation_computes_its_formula) {
    mlc_activation_descriptor d = mlc_activation_descriptor_make(MLC_ACTIVATION_NONE);
    ACTIVATION(mlc_activation_layer_create(&d, &layer), MLC_ACTIVATION_NONE, -1, 2);
    ACTIVATION(mlc_activation_layer_relu(&layer), MLC_ACTIVATION_RELU, 0, 2);
    ACTIVATION(mlc_activation_layer_relu6(&layer), MLC_ACTIVATION_RELUN, 0, 2);
    ACTIVATION(mlc_activation_layer_relun(0.5f, 1.5f, &layer), MLC_ACTIVATION_RELUN, -0.5, 1.5);
    ACTIVATION(mlc_activation_layer_leaky_relu(&layer), MLC_ACTIVATION_RELU, -0.01, 2);
    ACTIVATION(mlc_activation_layer_leaky_relu_slope(0.3f, &layer), MLC_ACTIVATION_RELU, -0.3, 2);
    ACTIVATION(mlc_activation_layer_linear(3, 1, &layer), MLC_ACTIVATION_LINEAR, -2, 7);
    ACTIVATION(mlc_activation_layer_sigmoid(&layer), MLC_ACTIVATION_SIGMOID, 1 / (1 + exp(1)),
               1 / (1 + exp(-2)));
    ACTIVATION(mlc_activation_layer_hard_sigmoid(&layer), MLC_ACTIVATION_HARD_SIGMOID, 0.3, 0.9);
    ACTIVATION(mlc_activation_layer_tanh(&layer), MLC_ACTIVATION_TANH, tanh(-1), tanh(2));
    ACTIVATION(mlc_activation_layer_absolute(&layer), MLC_ACTIVATION_ABSOLUTE, 1, 2);
    ACTIVATION(mlc_activation_layer_soft_plus(&layer), MLC_ACTIVATION_SOFT_PLUS, log1p(exp(-1)),
               log1p(exp(2)));
    ACTIVATION(mlc_activation_layer_soft_plus_beta(2, &layer), MLC_ACTIVATION_SOFT_PLUS,
               log1p(exp(-2)) / 2, log1p(exp(4)) / 2);
    ACTIVATION(mlc_activation_layer_soft_sign(&layer), MLC_ACTIVATION_SOFT_SIGN, -0.5, 2.0 / 3);
    ACTIVATION(mlc_activation_layer_elu(&layer), MLC_ACTIVATION_ELU, expm1(-1), 2);
    ACTIVATION(mlc_activation_layer_elu_a(0.5f, &layer), MLC_ACTIVATION_ELU, expm1(-1) / 2, 2);
    ACTIVATION(mlc_activation_layer_log_sigmoid(&layer), MLC_ACTIVATION_LOG_SIGMOID, -log1p(exp(1)),
               -log1p(exp(-2)));
    ACTIVATION(mlc_activation_layer_selu(&layer), MLC_ACTIVATION_SELU,
               1.0507009873554805 * 1.6732632423543772 * expm1(-1), 1.0507009873554805 * 2);
    ACTIVATION(mlc_activation_layer_celu(&layer), MLC_ACTIVATION_CELU, expm1(-1), 2);
    ACTIVATION(mlc_activation_layer_celu_a(2, &layer), MLC_ACTIVATION_CELU, 2 * expm1(-0.5), 2);
    ACTIVATION(mlc_activation_layer_hard_shrink(&layer), MLC_ACTIVATION_HARD_SHRINK, -1, 2);
    ACTIVATION(mlc_activation_layer_hard_shrink_a(1, &layer), MLC_ACTIVATION_HARD_SHRINK, 0, 2);
    ACTIVATION(mlc_activation_layer_soft_shrink(&layer), MLC_ACTIVATION_SOFT_SHRINK, -0.5, 1.5);
    ACTIVATION(mlc_activation_layer_soft_shrink_a(1, &layer), MLC_ACTIVATION_SOFT_SHRINK, 0, 1);
    ACTIVATION(mlc_activation_layer_tanh_shrink(&layer), MLC_ACTIVATION_TANH_SHRINK, -1 - tanh(-1),
               2 - tanh(2));
    ACTIVATION(mlc_activation_layer_threshold(0, 9, &layer), MLC_ACTIVATION_THRESHOLD, 9, 2);
    ACTIVATION(mlc_activation_layer_gelu(&layer), MLC_ACTIVATION_GELU, -0.15880801, 1.9545977);
    ACTIVATION(mlc_activation_layer_hard_swish(&layer), MLC_ACTIVATION_HARD_SWISH, -1.0 / 3,
               5.0 / 3);
    ACTIVATION(mlc_activation_layer_clamp(-0.5f, 1, &layer), MLC_ACTIVATION_CLAMP, -0.5, 1);
    mlc_layer *layer = NULL;
    d.type = (mlc_activation_type)33;
    CHECK_FAILS(mlc_activation_layer_create(&d, &layer), MICA_INVALID_ARGUMENT, "33");
}

/* ---- element by element -----------------------------------------------------------------------*/

TEST(every_arithmetic_operation_computes_its_formula) {
    static const struct {
        mlc_arithmetic_operation operation;
        double value; /* of 0.75 [and 0.5]; acosh: of 1.75 */
    } cases[] = {{MLC_ARITHMETIC_OPERATION_ADD, 1.25},
                 {MLC_ARITHMETIC_OPERATION_SUBTRACT, 0.25},
                 {MLC_ARITHMETIC_OPERATION_MULTIPLY, 0.375},
                 {MLC_ARITHMETIC_OPERATION_DIVIDE, 1.5},
                 {MLC_ARITHMETIC_OPERATION_FLOOR, 0},
                 {MLC_ARITHMETIC_OPERATION_ROUND, 1},
                 {MLC_ARITHMETIC_OPERATION_CEIL, 1},
                 {MLC_ARITHMETIC_OPERATION_SQRT, 0.8660254037844386},
                 {MLC_ARITHMETIC_OPERATION_RSQRT, 1.1547005383792515},
                 {MLC_ARITHMETIC_OPERATION_SIN, 0.6816387600233341},
                 {MLC_ARITHMETIC_OPERATION_COS, 0.7316888688738209},
                 {MLC_ARITHMETIC_OPERATION_TAN, 0.9315964599440725},
                 {MLC_ARITHMETIC_OPERATION_ASIN, 0.848062078981481},
                 {MLC_ARITHMETIC_OPERATION_ACOS, 0.7227342478134157},
                 {MLC_ARITHMETIC_OPERATION_ATAN, 0.6435011087932844},
                 {MLC_ARITHMETIC_OPERATION_SINH, 0.82231673193583},
                 {MLC_ARITHMETIC_OPERATION_COSH, 1.2946832846768448},
                 {MLC_ARITHMETIC_OPERATION_TANH, 0.6351489523872873},
                 {MLC_ARITHMETIC_OPERATION_ASINH, 0.6931471805599453},
                 {MLC_ARITHMETIC_OPERATION_ACOSH, 1.1588103604022522},
                 {MLC_ARITHMETIC_OPERATION_ATANH, 0.9729550745276566},
                 {MLC_ARITHMETIC_OPERATION_POW, 0.8660254037844386},
                 {MLC_ARITHMETIC_OPERATION_EXP, 2.117000016612675},
                 {MLC_ARITHMETIC_OPERATION_EXP2, 1.681792830507429},
                 {MLC_ARITHMETIC_OPERATION_LOG, -0.2876820724517809},
                 {MLC_ARITHMETIC_OPERATION_LOG2, -0.4150374992788438},
                 {MLC_ARITHMETIC_OPERATION_MULTIPLY_NO_NAN, 0.375},
                 {MLC_ARITHMETIC_OPERATION_DIVIDE_NO_NAN, 1.5},
                 {MLC_ARITHMETIC_OPERATION_MIN, 0.5},
                 {MLC_ARITHMETIC_OPERATION_MAX, 0.75}};
    CHECK(sizeof cases / sizeof *cases == 30);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mlc_arithmetic_operation operation = cases[i].operation;
        bool is_acosh = operation == MLC_ARITHMETIC_OPERATION_ACOSH;
        bool is_binary = operation <= MLC_ARITHMETIC_OPERATION_DIVIDE ||
                         operation == MLC_ARITHMETIC_OPERATION_POW ||
                         operation >= MLC_ARITHMETIC_OPERATION_MULTIPLY_NO_NAN;
        float a[1] = {is_acosh ? 1.75f : 0.75f}, b[1] = {0.5f}, out = NAN;
        mlc_tensor *x = viewing(MICA_INTS(1), a), *y = viewing(MICA_INTS(1), b);
        mlc_layer *layer = arithmetic(operation);
        CHECK(mlc_layer_arithmetic_operation(layer) == operation);
        mlc_tensor *both[] = {x, y};
        evaluate(layer, (mlc_tensors){both, is_binary ? 2 : 1}, &out, 1);
        CHECK_NEAR(out, cases[i].value, 1e-6);
        mlc_tensor_release(x);
        mlc_tensor_release(y);
    }
    float nan[1] = {NAN}, zero[1] = {0}, out = 1;
    mlc_tensor *x = viewing(MICA_INTS(1), nan), *y = viewing(MICA_INTS(1), zero);
    evaluate(arithmetic(MLC_ARITHMETIC_OPERATION_MULTIPLY_NO_NAN), MLC_TENSORS(x, y), &out, 1);
    CHECK(out == 0);
    mlc_tensor_release(x);
    mlc_tensor_release(y);
}

TEST(every_comparison_gives_one_byte) {
    static const uint8_t expected[12][3] = {{0, 1, 0}, {1, 0, 1}, {0, 0, 1}, {1, 0, 0},
                                            {0, 1, 1}, {1, 1, 0}, {0, 1, 1}, {1, 1, 1},
                                            {0, 0, 0}, {1, 0, 0}, {0, 0, 0}, {1, 0, 0}};
    float a[3] = {3, 2, 1}, b[3] = {0, 2, 4};
    for (int i = 0; i < 12; i++) {
        mlc_device *device = cpu();
        mlc_layer *layer = NULL;
        mlc_graph *graph = new_graph(), *inference = NULL;
        mlc_tensor *x = viewing(MICA_INTS(3), a), *y = viewing(MICA_INTS(3), b), *both[] = {x, y};
        uint8_t out[3] = {9, 9, 9};
        REQUIRE_OK(mlc_comparison_layer_create((mlc_comparison_operation)i, &layer));
        CHECK((int)mlc_layer_comparison_operation(layer) == i);
        bool is_not = i == MLC_COMPARISON_OPERATION_LOGICAL_NOT;
        mlc_tensor *result = add(graph, layer, (mlc_tensors){both, is_not ? 1 : 2});
        REQUIRE_OK(mlc_inference_graph_create(MLC_GRAPHS(graph), &inference));
        CHECK_OK(mlc_inference_graph_compile(inference, 0, device));
        mlc_execution e = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
        CHECK_OK(mlc_inference_graph_execute(inference, &e));
        CHECK_OK(mlc_tensor_copy_data(result, out, 3, true));
        CHECK(memcmp(out, expected[i], 3) == 0);
        mlc_graph_release(inference);
        mlc_graph_release(graph);
        mlc_tensor_release(x);
        mlc_tensor_release(y);
        mlc_device_release(device);
    }
}

/* ---- weights ----------------------------------------------------------------------------------*/

TEST(convolutions_compute_with_their_weights) {
    float image[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, kernel[4] = {1, 0, 0, 10}, bias[1] = {100}, y[4];
    mlc_tensor *x = viewing(MICA_INTS(1, 1, 3, 3), image),
               *b = viewing(MICA_INTS(1, 1, 1, 1), bias);
    mlc_tensor *w = viewing(MICA_INTS(1, 1, 2, 2), kernel);
    mlc_convolution_descriptor d = mlc_convolution_descriptor_make_sizes(
        MICA_INTS(2, 2), 1, 1, 1, MICA_NO_INTS, MICA_NO_INTS, MLC_PADDING_VALID, MICA_NO_INTS);
    mlc_layer *layer = NULL;
    REQUIRE_OK(mlc_convolution_layer_create(w, b, &d, &layer));
    CHECK(mlc_layer_weights(layer) == w && mlc_layer_biases(layer) == b);
    CHECK(mlc_tensor_parameter_tensor(mlc_layer_weights_parameter(layer)) == w);
    CHECK(mlc_tensor_parameter_tensor(mlc_layer_biases_parameter(layer)) == b);
    CHECK(mlc_layer_convolution_descriptor(layer)->kernel_width == 2);
    CHECK(mlc_layer_pooling_descriptor(layer) == NULL);
    evaluate(layer, MLC_TENSORS(x), y, 4);
    CHECK(y[0] == 151 && y[1] == 162 && y[2] == 184 && y[3] == 195);
    d.out_channels = 2;
    CHECK_FAILS(mlc_convolution_layer_create(w, b, &d, &layer), MICA_INVALID_ARGUMENT,
                "8 elements are needed");
    d.out_channels = 1;
    d.stride_x = 0;
    CHECK_FAILS(mlc_convolution_layer_create(w, b, &d, &layer), MICA_INVALID_ARGUMENT, "stride");
    mlc_tensor_release(x);
    mlc_tensor_release(w);
    mlc_tensor_release(b);
}

TEST(dense_layers_take_both_shapes_of_sources) {
    float numbers[2] = {1, 2}, weights[6] = {1, 0, 0, 1, 2, 3}, bias[3] = {0, 10, 0}, y[3];
    mlc_tensor *w = viewing(MICA_INTS(1, 6, 1, 1), weights), *b = viewing(MICA_INTS(3), bias);
    mlc_convolution_descriptor d = mlc_convolution_descriptor_make(1, 1, 2, 3);
    for (int i = 0; i < 2; i++) {
        mlc_tensor *x = viewing(i ? MICA_INTS(1, 2, 1, 1) : MICA_INTS(1, 2), numbers);
        mlc_layer *layer = NULL;
        REQUIRE_OK(mlc_fully_connected_layer_create(w, b, &d, &layer));
        CHECK(mlc_layer_convolution_descriptor(layer)->out_channels == 3);
        CHECK(mlc_layer_weights(layer) == w && mlc_layer_biases(layer) == b);
        CHECK(mlc_layer_weights_parameter(layer) && mlc_layer_biases_parameter(layer));
        evaluate(layer, MLC_TENSORS(x), y, 3);
        CHECK(y[0] == 1 && y[1] == 12 && y[2] == 8);
        mlc_tensor_release(x);
    }
    mlc_layer *layer = NULL;
    d.in_channels = 3;
    CHECK_FAILS(mlc_fully_connected_layer_create(w, b, &d, &layer), MICA_INVALID_ARGUMENT,
                "[FullyConnected]");
    mlc_tensor_release(w);
    mlc_tensor_release(b);
}

TEST(normalisations_compute_with_their_statistics) {
    float numbers[4] = {1, 3, 10, 14}, y[4];
    mlc_tensor *x = viewing(MICA_INTS(1, 2, 1, 2), numbers);
    mlc_tensor *mean = filled(MICA_INTS(1, 2, 1, 1), 1), *variance = filled(MICA_INTS(2), 4);
    mlc_tensor *beta = filled(MICA_INTS(2), 5), *gamma = filled(MICA_INTS(2), 2);
    mlc_layer *layer = NULL;
    REQUIRE_OK(mlc_batch_normalization_layer_create(2, mean, variance, beta, gamma, 0,
                                                    MLC_DEFAULT_MOMENTUM, &layer));
    CHECK(mlc_layer_feature_channel_count(layer) == 2 && mlc_layer_mean(layer) == mean);
    CHECK(mlc_layer_variance(layer) == variance && mlc_layer_beta(layer) == beta);
    CHECK(mlc_layer_gamma(layer) == gamma && mlc_layer_momentum(layer) == 0.99f);
    CHECK(mlc_tensor_parameter_tensor(mlc_layer_beta_parameter(layer)) == beta);
    CHECK(mlc_tensor_parameter_tensor(mlc_layer_gamma_parameter(layer)) == gamma);
    CHECK(mlc_layer_variance_epsilon(layer) == 0);
    evaluate(layer, MLC_TENSORS(x), y, 4);
    for (int i = 0; i < 4; i++) CHECK_NEAR(y[i], (numbers[i] - 1) / 2 * 2 + 5, 1e-5);

    REQUIRE_OK(
        mlc_instance_normalization_layer_create(2, NULL, NULL, beta, gamma, 0.25f, 0.5f, &layer));
    CHECK(mlc_layer_mean(layer) == NULL && mlc_layer_momentum(layer) == 0.5f);
    CHECK(mlc_layer_variance_epsilon(layer) == 0.25f);
    evaluate(layer, MLC_TENSORS(x), y, 4);
    CHECK_NEAR(y[1], 2 / sqrt(1.25) + 5, 1e-5);
    CHECK_NEAR(y[3], 2 * 2 / sqrt(4.25) + 5, 1e-5);
    REQUIRE_OK(
        mlc_instance_normalization_layer_create(2, mean, variance, beta, gamma, 0, 0.5f, &layer));
    CHECK(mlc_layer_variance(layer) == variance);
    evaluate(layer, MLC_TENSORS(x), y, 4); /* with the running statistics */
    CHECK_NEAR(y[3], 13 + 5, 1e-5);

    REQUIRE_OK(mlc_group_normalization_layer_create(2, 1, beta, gamma, 0, &layer));
    CHECK(mlc_layer_group_count(layer) == 1 && mlc_layer_feature_channel_count(layer) == 2);
    CHECK(mlc_layer_beta(layer) == beta && mlc_layer_gamma_parameter(layer));
    evaluate(layer, MLC_TENSORS(x), y, 4);
    CHECK_NEAR(y[0], -6 / sqrt(27.5) * 2 + 5, 1e-5);

    mlc_tensor *row = filled(MICA_INTS(2), 3);
    REQUIRE_OK(mlc_layer_normalization_layer_create(MICA_INTS(2), row, NULL, 0, &layer));
    CHECK(mlc_layer_normalized_shape(layer).n == 1 &&
          mlc_layer_normalized_shape(layer).data[0] == 2);
    CHECK(mlc_layer_gamma(layer) == NULL && mlc_layer_beta_parameter(layer));
    evaluate(layer, MLC_TENSORS(x), y, 4);
    CHECK_NEAR(y[0], 2, 1e-5);
    CHECK_NEAR(y[3], 4, 1e-5);
    CHECK_FAILS(
        mlc_batch_normalization_layer_create(3, mean, variance, NULL, NULL, 0, 0.9f, &layer),
        MICA_INVALID_ARGUMENT, "3 elements");
    CHECK_FAILS(mlc_group_normalization_layer_create(3, 2, NULL, NULL, 0, &layer),
                MICA_INVALID_ARGUMENT, "2 groups");
    mlc_tensor_release(row);
    mlc_tensor_release(x);
    mlc_tensor_release(mean);
    mlc_tensor_release(variance);
    mlc_tensor_release(beta);
    mlc_tensor_release(gamma);
}

TEST(embeddings_look_rows_up) {
    float weights[6] = {1, 2, 3, 4, 5, 6}, y[4];
    int32_t places[2] = {2, 0};
    mlc_tensor *w = viewing(MICA_INTS(3, 2), weights), *x = integers(MICA_INTS(2), places);
    mlc_embedding_descriptor d = mlc_embedding_descriptor_make(3, 2);
    mlc_layer *layer = NULL;
    REQUIRE_OK(mlc_embedding_layer_create(&d, w, &layer));
    CHECK(mlc_layer_embedding_descriptor(layer)->embedding_count == 3);
    CHECK(mlc_layer_weights(layer) == w && mlc_layer_weights_parameter(layer));
    evaluate(layer, MLC_TENSORS(x), y, 4);
    CHECK(y[0] == 5 && y[1] == 6 && y[2] == 1 && y[3] == 2);
    d.embedding_count = 4;
    CHECK_FAILS(mlc_embedding_layer_create(&d, w, &layer), MICA_INVALID_ARGUMENT, "8 elements");
    mlc_tensor_release(w);
    mlc_tensor_release(x);
}

TEST(an_lstm_holds_its_weights_and_gives_states) {
    enum { H = 2, F = 3, T = 2 };
    mlc_lstm_descriptor d = mlc_lstm_descriptor_make(F, H, 1);
    d.result_mode = MLC_LSTM_OUTPUT_AND_STATES;
    mlc_tensor *input[4], *hidden[4], *bias[4], *peephole[4];
    for (int i = 0; i < 4; i++) {
        input[i] = filled(MICA_INTS(H, F), 0.1 * (i + 1));
        hidden[i] = filled(MICA_INTS(H, H), 0.2);
        bias[i] = filled(MICA_INTS(H), 0.3);
        peephole[i] = filled(MICA_INTS(H), 0);
    }
    mlc_tensors w = {input, 4}, u = {hidden, 4}, b = {bias, 4}, p = {peephole, 4};
    mlc_activation_descriptor gates[4], out = mlc_activation_descriptor_make(MLC_ACTIVATION_TANH);
    for (int i = 0; i < 4; i++)
        gates[i] =
            mlc_activation_descriptor_make(i == 2 ? MLC_ACTIVATION_TANH : MLC_ACTIVATION_SIGMOID);
    mlc_layer *layer = NULL, *other = NULL;
    REQUIRE_OK(mlc_lstm_layer_create(&d, w, u, b, &layer));
    REQUIRE_OK(mlc_lstm_layer_create_all(&d, w, u, p, b, gates, &out, &other));
    CHECK(mlc_layer_lstm_descriptor(layer)->hidden_size == H);
    CHECK(mlc_layer_gate_activation(layer, 2)->type == MLC_ACTIVATION_TANH);
    CHECK(mlc_layer_gate_activation(layer, 4) == NULL);
    CHECK(mlc_layer_output_result_activation(layer)->type == MLC_ACTIVATION_TANH);
    CHECK(mlc_layer_input_weights(layer).n == 4 &&
          mlc_layer_input_weights(layer).data[1] == input[1]);
    CHECK(mlc_layer_hidden_weights(layer).data[3] == hidden[3]);
    CHECK(mlc_layer_biases_list(layer).n == 4 && mlc_layer_peephole_weights(layer).n == 0);
    CHECK(mlc_layer_peephole_weights(other).data[0] == peephole[0]);
    CHECK(mlc_layer_input_weights_parameters(layer).n == 4);
    CHECK(mlc_layer_hidden_weights_parameters(layer).n == 4);
    CHECK(mlc_layer_biases_parameters(layer).n == 4);
    CHECK(mlc_layer_peephole_weights_parameters(other).n == 4);
    float numbers[T * F] = {1, 0, -1, 0.5f, 0.5f, 0.5f}, y[2][T * H];
    mlc_tensor *x = viewing(MICA_INTS(1, T, F), numbers);
    mlc_graph *graph = new_graph();
    mlc_layer_retain(layer);
    REQUIRE(add(graph, layer, MLC_TENSORS(x)));
    mlc_tensors results = mlc_graph_result_tensors(graph, layer);
    CHECK(results.n == 3);
    mica_ints state = mlc_tensor_descriptor_shape(mlc_tensor_descriptor_of(results.data[2]));
    CHECK(state.n == 4 && state.data[2] == 1 && state.data[3] == H);
    mlc_graph_release(graph);
    evaluate(layer, MLC_TENSORS(x), y[0], T * H);
    evaluate(other, MLC_TENSORS(x), y[1], T * H); /* peepholes of 0 change nothing */
    CHECK(memcmp(y[0], y[1], sizeof y[0]) == 0 && y[0][0] == y[0][1] && y[0][0] > 0);
    double i = 1 / (1 + exp(-0.3)), c = i * tanh(0.3); /* inputs cancel in the first step */
    CHECK_NEAR(y[0][0], i * tanh(c), 1e-6);
    d.layer_count = 2;
    CHECK_FAILS(mlc_lstm_layer_create(&d, w, u, b, &layer), MICA_INVALID_ARGUMENT, "need 8");
    for (int k = 0; k < 4; k++) {
        mlc_tensor_release(input[k]);
        mlc_tensor_release(hidden[k]);
        mlc_tensor_release(bias[k]);
        mlc_tensor_release(peephole[k]);
    }
    mlc_tensor_release(x);
}

TEST(attention_holds_its_weights_and_masks_keys) {
    enum { E = 2 };
    float eye[4] = {1, 0, 0, 1}, q[2] = {1, 0}, k[4] = {1, 0, 0, 1}, y[2];
    mlc_tensor *w[4], *b[4], *a[2];
    for (int i = 0; i < 4; i++)
        w[i] = viewing(MICA_INTS(E, E), eye), b[i] = filled(MICA_INTS(E), 0);
    for (int i = 0; i < 2; i++) a[i] = filled(MICA_INTS(E), 0);
    mlc_multihead_attention_descriptor d = mlc_multihead_attention_descriptor_make(E, 1);
    mlc_layer *layer = NULL;
    REQUIRE_OK(mlc_multihead_attention_layer_create(&d, (mlc_tensors){w, 4}, (mlc_tensors){b, 4},
                                                    MLC_NO_LIST, &layer));
    CHECK(mlc_layer_multihead_attention_descriptor(layer)->head_count == 1);
    CHECK(mlc_layer_weights_list(layer).data[3] == w[3] && mlc_layer_biases_list(layer).n == 4);
    CHECK(mlc_layer_weights_parameters(layer).n == 4 && mlc_layer_biases_parameters(layer).n == 4);
    CHECK(mlc_layer_attention_biases(layer).n == 0);
    uint8_t hides[2] = {0, 1};
    mlc_tensor *query = viewing(MICA_INTS(1, 1, E), q), *key = viewing(MICA_INTS(1, 2, E), k);
    mlc_tensor *mask = NULL;
    mlc_tensor_data *data = data_of(hides, 2);
    REQUIRE_OK(mlc_tensor_with_shape_data(MICA_INTS(1, 2), data, MLC_DATA_TYPE_BOOLEAN, &mask));
    evaluate(layer, MLC_TENSORS(query, key, key, mask), y, 2);
    CHECK(y[0] == 1 && y[1] == 0); /* the second key is hidden */
    d.has_attention_biases = true;
    REQUIRE_OK(mlc_multihead_attention_layer_create(&d, (mlc_tensors){w, 4}, (mlc_tensors){b, 4},
                                                    (mlc_tensors){a, 2}, &layer));
    CHECK(mlc_layer_attention_biases(layer).n == 2);
    evaluate(layer, MLC_TENSORS(query, key, key), y, 2);
    double s = exp(1 / sqrt(2));
    CHECK_NEAR(y[0], s / (s + 2), 1e-6);
    CHECK_FAILS(mlc_multihead_attention_layer_create(&d, (mlc_tensors){w, 4}, MLC_NO_LIST,
                                                     (mlc_tensors){a, 2}, &layer),
                MICA_INVALID_ARGUMENT, "0 biases");
    for (int i = 0; i < 4; i++) mlc_tensor_release(w[i]), mlc_tensor_release(b[i]);
    for (int i = 0; i < 2; i++) mlc_tensor_release(a[i]);
    mlc_tensor_release(query);
    mlc_tensor_release(key);
    mlc_tensor_release(mask);
    mlc_tensor_data_release(data);
}

/* ---- shapes -----------------------------------------------------------------------------------*/

TEST(layers_that_move_elements_do) {
    float numbers[6] = {1, 2, 3, 4, 5, 6}, y[24];
    mlc_tensor *x = viewing(MICA_INTS(1, 2, 3), numbers), *z = viewing(MICA_INTS(1, 2, 3), numbers);
    mlc_layer *layer = NULL;
    REQUIRE_OK(mlc_concatenation_layer_create(&layer));
    CHECK(mlc_layer_dimension(layer) == 1);
    evaluate(layer, MLC_TENSORS(x, z), y, 12);
    CHECK(y[0] == 1 && y[6] == 1 && y[11] == 6);
    REQUIRE_OK(mlc_concatenation_layer_create_dimension(2, &layer));
    CHECK(mlc_layer_dimension(layer) == 2);
    evaluate(layer, MLC_TENSORS(x, z), y, 12);
    CHECK(y[2] == 3 && y[3] == 1 && y[11] == 6);
    REQUIRE_OK(mlc_transpose_layer_create(MICA_INTS(0, 2, 1), &layer));
    CHECK(mlc_layer_dimensions(layer).n == 3 && mlc_layer_dimensions(layer).data[1] == 2);
    evaluate(layer, MLC_TENSORS(x), y, 6);
    CHECK(y[1] == 4 && y[2] == 2);
    CHECK_FAILS(mlc_transpose_layer_create(MICA_INTS(1, 0), &layer), MICA_INVALID_ARGUMENT,
                "batch");
    CHECK_FAILS(mlc_transpose_layer_create(MICA_INTS(0, 0), &layer), MICA_INVALID_ARGUMENT,
                "permutation");
    REQUIRE_OK(mlc_reshape_layer_create(MICA_INTS(3, -1), &layer));
    CHECK(mlc_layer_shape(layer).n == 2 && mlc_layer_shape(layer).data[1] == -1);
    evaluate(layer, MLC_TENSORS(x), y, 6);
    CHECK(y[5] == 6);
    REQUIRE_OK(
        mlc_slice_layer_create(MICA_INTS(0, 0, 0), MICA_INTS(1, 2, 3), MICA_INTS(1, 1, 2), &layer));
    CHECK(mlc_layer_start(layer).n == 3 && mlc_layer_end(layer).data[2] == 3);
    CHECK(mlc_layer_stride(layer).data[2] == 2);
    evaluate(layer, MLC_TENSORS(x), y, 4);
    CHECK(y[0] == 1 && y[1] == 3 && y[2] == 4 && y[3] == 6);
    REQUIRE_OK(mlc_split_layer_create(2, 2, &layer));
    CHECK(mlc_layer_split_count(layer) == 2 && mlc_layer_dimension(layer) == 2);
    evaluate(layer, MLC_TENSORS(x), y, 4); /* the first part is the longer one */
    CHECK(y[0] == 1 && y[1] == 2 && y[2] == 4 && y[3] == 5);
    REQUIRE_OK(mlc_split_layer_create_sections(MICA_INTS(1, 2), 2, &layer));
    CHECK(mlc_layer_split_section_lengths(layer).n == 2);
    evaluate(layer, MLC_TENSORS(x), y, 2);
    CHECK(y[0] == 1 && y[1] == 4);
    REQUIRE_OK(mlc_upsample_layer_create(MICA_INTS(4, 3), &layer));
    CHECK(mlc_layer_shape(layer).data[0] == 4 &&
          mlc_layer_sample_mode(layer) == MLC_SAMPLE_NEAREST);
    CHECK(!mlc_layer_aligns_corners(layer));
    mlc_tensor *image = viewing(MICA_INTS(1, 1, 2, 3), numbers);
    evaluate(layer, MLC_TENSORS(image), y, 12);
    CHECK(y[3] == 1 && y[6] == 4 && y[11] == 6);
    REQUIRE_OK(mlc_upsample_layer_create_mode(MICA_INTS(3, 3), MLC_SAMPLE_LINEAR, true, &layer));
    CHECK(mlc_layer_sample_mode(layer) == MLC_SAMPLE_LINEAR && mlc_layer_aligns_corners(layer));
    evaluate(layer, MLC_TENSORS(image), y, 9);
    CHECK_NEAR(y[3], 2.5, 1e-6);
    mlc_tensor_release(image);
    mlc_tensor_release(x);
    mlc_tensor_release(z);
}

TEST(padding_fills_each_side) {
    float numbers[4] = {1, 2, 3, 4}, y[16];
    mlc_tensor *x = viewing(MICA_INTS(1, 1, 2, 2), numbers);
    mlc_layer *layer = NULL;
    REQUIRE_OK(mlc_padding_layer_constant(MICA_INTS(1, 0, 0, 2), 9, &layer));
    CHECK(mlc_layer_padding_type(layer) == MLC_PADDING_CONSTANT);
    CHECK(mlc_layer_padding_top(layer) == 1 && mlc_layer_padding_bottom(layer) == 0);
    CHECK(mlc_layer_padding_left(layer) == 0 && mlc_layer_padding_right(layer) == 2);
    CHECK(mlc_layer_constant_value(layer) == 9);
    evaluate(layer, MLC_TENSORS(x), y, 12);
    CHECK(y[0] == 9 && y[4] == 1 && y[6] == 9 && y[9] == 4);
    REQUIRE_OK(mlc_padding_layer_zero(MICA_INTS(1), &layer));
    CHECK(mlc_layer_padding_type(layer) == MLC_PADDING_ZERO && mlc_layer_padding_top(layer) == 1);
    evaluate(layer, MLC_TENSORS(x), y, 16);
    CHECK(y[0] == 0 && y[5] == 1 && y[15] == 0);
    REQUIRE_OK(mlc_padding_layer_reflect(MICA_INTS(1, 1), &layer));
    CHECK(mlc_layer_padding_type(layer) == MLC_PADDING_REFLECT &&
          mlc_layer_padding_top(layer) == 0);
    evaluate(layer, MLC_TENSORS(x), y, 8);
    CHECK(y[0] == 2 && y[1] == 1 && y[3] == 1);
    REQUIRE_OK(mlc_padding_layer_symmetric(MICA_INTS(1, 1), &layer));
    CHECK(mlc_layer_padding_type(layer) == MLC_PADDING_SYMMETRIC);
    evaluate(layer, MLC_TENSORS(x), y, 8);
    CHECK(y[0] == 1 && y[1] == 1 && y[3] == 2);
    CHECK_FAILS(mlc_padding_layer_zero(MICA_INTS(1, 2, 3), &layer), MICA_INVALID_ARGUMENT,
                "(1,2,3)");
    mlc_tensor_release(x);
}

TEST(reductions_keep_the_dimension) {
    float numbers[6] = {1, -2, 3, 4, 5, -6}, y[6];
    static const float expected[] = {2, 2.0f / 3, 3, -2, 0, 0, 6};
    mlc_tensor *x = viewing(MICA_INTS(2, 3), numbers);
    for (int i = MLC_REDUCTION_SUM; i <= MLC_REDUCTION_L1_NORM; i++) {
        mlc_layer *layer = NULL;
        if (i == MLC_REDUCTION_ARG_MAX || i == MLC_REDUCTION_ARG_MIN) continue;
        REQUIRE_OK(mlc_reduction_layer_create((mlc_reduction_type)i, 1, &layer));
        CHECK((int)mlc_layer_reduction_type(layer) == i && mlc_layer_dimension(layer) == 1);
        evaluate(layer, MLC_TENSORS(x), y, 2);
        CHECK_NEAR(y[0], expected[i - 1], 1e-6);
    }
    mlc_layer *layer = NULL;
    REQUIRE_OK(mlc_reduction_layer_create_dimensions(MLC_REDUCTION_SUM, MICA_INTS(0, 1), &layer));
    CHECK(mlc_layer_dimensions(layer).n == 2);
    evaluate(layer, MLC_TENSORS(x), y, 1);
    CHECK(y[0] == 5);
    REQUIRE_OK(mlc_reduction_layer_create(MLC_REDUCTION_ARG_MAX, 1, &layer));
    int32_t places[2];
    evaluate(layer, MLC_TENSORS(x), (float *)places, 2);
    CHECK(places[0] == 2 && places[1] == 1);
    CHECK_FAILS(mlc_reduction_layer_create((mlc_reduction_type)10, 0, &layer),
                MICA_INVALID_ARGUMENT, "10");
    mlc_tensor_release(x);
}

TEST(the_other_layers_compute) {
    float numbers[4] = {0, 1, 2, 3}, y[4];
    int32_t places[4] = {1, 0, 0, 1};
    mlc_tensor *x = viewing(MICA_INTS(2, 2), numbers), *at = integers(MICA_INTS(2, 2), places);
    mlc_tensor *zeros = filled(MICA_INTS(2, 2), 0);
    mlc_layer *layer = NULL;
    REQUIRE_OK(mlc_softmax_layer_create(MLC_SOFTMAX, &layer));
    CHECK(mlc_layer_dimension(layer) == 1 && mlc_layer_softmax_operation(layer) == MLC_SOFTMAX);
    evaluate(layer, MLC_TENSORS(x), y, 4);
    CHECK_NEAR(y[1], 1 / (1 + exp(-1)), 1e-6);
    REQUIRE_OK(mlc_softmax_layer_create_dimension(MLC_LOG_SOFTMAX, 0, &layer));
    CHECK(mlc_layer_dimension(layer) == 0 && mlc_layer_softmax_operation(layer) == MLC_LOG_SOFTMAX);
    evaluate(layer, MLC_TENSORS(x), y, 4);
    CHECK_NEAR(y[0], -log1p(exp(2)), 1e-6);
    REQUIRE_OK(mlc_gather_layer_create(0, &layer));
    CHECK(mlc_layer_dimension(layer) == 0);
    evaluate(layer, MLC_TENSORS(x, at), y, 4);
    CHECK(y[0] == 2 && y[1] == 1 && y[2] == 0 && y[3] == 3);
    REQUIRE_OK(mlc_scatter_layer_create(1, MLC_REDUCTION_SUM, &layer));
    CHECK(mlc_layer_dimension(layer) == 1 && mlc_layer_reduction_type(layer) == MLC_REDUCTION_SUM);
    evaluate(layer, MLC_TENSORS(x, at, zeros), y, 4);
    CHECK(y[0] == 1 && y[1] == 0 && y[2] == 2 && y[3] == 3);
    CHECK_FAILS(mlc_scatter_layer_create(0, MLC_REDUCTION_MAX, &layer), MICA_INVALID_ARGUMENT,
                "None or Sum");
    mlc_matmul_descriptor d = mlc_matmul_descriptor_make_all(2, false, true);
    REQUIRE_OK(mlc_matmul_layer_create(&d, &layer));
    CHECK(mlc_layer_matmul_descriptor(layer)->alpha == 2);
    evaluate(layer, MLC_TENSORS(x, x), y, 4);
    CHECK(y[0] == 2 && y[1] == 6 && y[3] == 26);
    REQUIRE_OK(mlc_gram_matrix_layer_create(0.5f, &layer));
    CHECK(mlc_layer_scale(layer) == 0.5f);
    mlc_tensor *image = viewing(MICA_INTS(1, 2, 1, 2), numbers);
    evaluate(layer, MLC_TENSORS(image), y, 4);
    CHECK(y[0] == 0.5f && y[1] == 1.5f && y[3] == 6.5f);
    REQUIRE_OK(mlc_dropout_layer_create(0.5f, 7, &layer));
    CHECK(mlc_layer_rate(layer) == 0.5f && mlc_layer_seed(layer) == 7);
    evaluate(layer, MLC_TENSORS(x), y, 4); /* nothing is dropped in inference */
    CHECK(memcmp(y, numbers, sizeof y) == 0);
    CHECK_FAILS(mlc_dropout_layer_create(1, 0, &layer), MICA_INVALID_ARGUMENT, "rate 1");
    uint8_t truth[4] = {1, 0, 0, 1};
    mlc_tensor *condition = NULL;
    mlc_tensor_data *data = data_of(truth, 4);
    REQUIRE_OK(
        mlc_tensor_with_shape_data(MICA_INTS(2, 2), data, MLC_DATA_TYPE_BOOLEAN, &condition));
    REQUIRE_OK(mlc_selection_layer_create(&layer));
    evaluate(layer, MLC_TENSORS(condition, zeros, x), y, 4);
    CHECK(y[0] == 0 && y[1] == 1 && y[2] == 2 && y[3] == 0);
    mlc_pooling_descriptor pool = mlc_pooling_descriptor_make(MLC_POOLING_MAX, 2, 2);
    REQUIRE_OK(mlc_pooling_layer_create(&pool, &layer));
    CHECK(mlc_layer_pooling_descriptor(layer)->kernel_width == 2);
    mlc_tensor *square = viewing(MICA_INTS(1, 1, 2, 2), numbers);
    evaluate(layer, MLC_TENSORS(square), y, 1);
    CHECK(y[0] == 3);
    pool.stride_y = 0;
    CHECK_FAILS(mlc_pooling_layer_create(&pool, &layer), MICA_INVALID_ARGUMENT, "stride");
    mlc_tensor_release(square);
    mlc_tensor_release(condition);
    mlc_tensor_data_release(data);
    mlc_tensor_release(image);
    mlc_tensor_release(x);
    mlc_tensor_release(at);
    mlc_tensor_release(zeros);
}

/* ---- losses -----------------------------------------------------------------------------------*/

/* The loss of scores (0.5, 0.25) and labels (1, 0), in an inference graph. */
static float loss_of(mica_status status, mlc_layer *layer, mlc_loss_type type) {
    float scores[2] = {0.5f, 0.25f}, labels[2] = {1, 0}, out = NAN;
    if (!test_ok(status, __FILE__, __LINE__, "a loss layer")) return NAN;
    CHECK(mlc_layer_loss_descriptor(layer)->type == type);
    mlc_device *device = cpu();
    mlc_tensor *x = viewing(MICA_INTS(1, 2), scores), *t = viewing(MICA_INTS(1, 2), labels);
    mlc_tensor *result = NULL;
    mlc_graph *graph = new_graph(), *inference = NULL;
    CHECK_OK(mlc_graph_node_loss(graph, layer, MLC_TENSORS(x), MLC_TENSORS(t), &result));
    mlc_layer_release(layer);
    CHECK_OK(mlc_inference_graph_create(MLC_GRAPHS(graph), &inference));
    CHECK_OK(mlc_inference_graph_compile(inference, 0, device));
    mlc_execution e = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
    CHECK_OK(mlc_inference_graph_execute(inference, &e));
    if (result) read_floats(result, &out, 1);
    mlc_graph_release(inference);
    mlc_graph_release(graph);
    mlc_tensor_release(x);
    mlc_tensor_release(t);
    mlc_device_release(device);
    return out;
}

#define LOSS(call, type, expected)                                                                 \
    do {                                                                                           \
        mlc_layer *layer = NULL;                                                                   \
        mica_status status = call;                                                                 \
        CHECK_NEAR(loss_of(status, layer, type), expected, 1e-6);                                  \
    } while (0)

TEST(every_loss_computes_its_formula) {
    const mlc_reduction_type mean = MLC_REDUCTION_MEAN, sum = MLC_REDUCTION_SUM;
    double s = 1 / (1 + exp(-0.25)); /* softmax of the first */
    mlc_loss_descriptor d = mlc_loss_descriptor_make_weight(MLC_LOSS_MEAN_SQUARED_ERROR, sum, 2);
    LOSS(mlc_loss_layer_create(&d, NULL, &layer), MLC_LOSS_MEAN_SQUARED_ERROR, 0.625);
    LOSS(mlc_loss_layer_mean_squared_error(mean, 1, NULL, &layer), MLC_LOSS_MEAN_SQUARED_ERROR,
         0.15625);
    LOSS(mlc_loss_layer_mean_absolute_error(mean, 1, NULL, &layer), MLC_LOSS_MEAN_ABSOLUTE_ERROR,
         0.375);
    LOSS(mlc_loss_layer_softmax_cross_entropy(mean, 0, 2, 1, NULL, &layer),
         MLC_LOSS_SOFTMAX_CROSS_ENTROPY, -log(s));
    LOSS(mlc_loss_layer_softmax_cross_entropy(sum, 0.5f, 2, 1, NULL, &layer),
         MLC_LOSS_SOFTMAX_CROSS_ENTROPY, -0.75 * log(s) - 0.25 * log(1 - s));
    LOSS(mlc_loss_layer_categorical_cross_entropy(mean, 0, 2, 3, NULL, &layer),
         MLC_LOSS_CATEGORICAL_CROSS_ENTROPY, -3 * log(0.5));
    LOSS(mlc_loss_layer_sigmoid_cross_entropy(sum, 0, 1, NULL, &layer),
         MLC_LOSS_SIGMOID_CROSS_ENTROPY, log1p(exp(-0.5)) + log1p(exp(0.25)));
    LOSS(mlc_loss_layer_log(sum, 0.125f, 1, NULL, &layer), MLC_LOSS_LOG, -log(0.625) - log(0.875));
    LOSS(mlc_loss_layer_huber(sum, 0.25f, 1, NULL, &layer), MLC_LOSS_HUBER,
         0.25 * 0.5 - 0.03125 + 0.03125);
    LOSS(mlc_loss_layer_hinge(sum, 1, NULL, &layer), MLC_LOSS_HINGE, 0.5 + 1.25);
    LOSS(mlc_loss_layer_cosine_distance(sum, 1, NULL, &layer), MLC_LOSS_COSINE_DISTANCE, 0.5);
    mlc_layer *layer = NULL;
    d.reduction = MLC_REDUCTION_ARG_MAX;
    CHECK_FAILS(mlc_loss_layer_create(&d, NULL, &layer), MICA_INVALID_ARGUMENT, "ArgMax");
}

TEST(loss_weights_multiply_in_every_form) {
    const mlc_reduction_type sum = MLC_REDUCTION_SUM;
    mlc_tensor *w = filled(MICA_INTS(1), 4);
    mlc_layer *held = NULL;
    REQUIRE_OK(mlc_loss_layer_hinge(sum, 1, w, &held));
    CHECK(mlc_layer_weights(held) == w && mlc_layer_weights_parameter(held) == NULL);
    mlc_layer_release(held);
    double s = 1 / (1 + exp(-0.25));
    mlc_loss_descriptor d = mlc_loss_descriptor_make(MLC_LOSS_HINGE, sum);
    LOSS(mlc_loss_layer_create(&d, w, &layer), MLC_LOSS_HINGE, 7);
    LOSS(mlc_loss_layer_mean_squared_error(sum, 1, w, &layer), MLC_LOSS_MEAN_SQUARED_ERROR, 1.25);
    LOSS(mlc_loss_layer_mean_absolute_error(sum, 1, w, &layer), MLC_LOSS_MEAN_ABSOLUTE_ERROR, 3);
    LOSS(mlc_loss_layer_softmax_cross_entropy(sum, 0, 2, 1, w, &layer),
         MLC_LOSS_SOFTMAX_CROSS_ENTROPY, -4 * log(s));
    LOSS(mlc_loss_layer_categorical_cross_entropy(sum, 0, 2, 1, w, &layer),
         MLC_LOSS_CATEGORICAL_CROSS_ENTROPY, -4 * log(0.5));
    LOSS(mlc_loss_layer_sigmoid_cross_entropy(sum, 0, 1, w, &layer), MLC_LOSS_SIGMOID_CROSS_ENTROPY,
         4 * (log1p(exp(-0.5)) + log1p(exp(0.25))));
    LOSS(mlc_loss_layer_log(sum, 0.125f, 1, w, &layer), MLC_LOSS_LOG,
         -4 * (log(0.625) + log(0.875)));
    LOSS(mlc_loss_layer_huber(sum, 0.25f, 1, w, &layer), MLC_LOSS_HUBER, 0.5);
    LOSS(mlc_loss_layer_cosine_distance(sum, 1, w, &layer), MLC_LOSS_COSINE_DISTANCE, 2);
    mlc_tensor_release(w);
}

TEST(the_loss_of_yolo_weighs_an_object_and_its_absence) {
    const float boxes[2] = {1, 1};
    mlc_yolo_loss_descriptor d = mlc_yolo_loss_descriptor_make(boxes, 1);
    float scores[6] = {0}, labels[6] = {0.5f, 0.5f, 1, 1, 1, 1}, out[2];
    for (int i = 0; i < 2; i++) {
        mlc_device *device = cpu();
        mlc_layer *layer = NULL;
        d.should_rescore = false;
        d.scale_object_confidence_loss = i ? 50 : 100;
        REQUIRE_OK(mlc_yolo_loss_layer_create(&d, &layer));
        const mlc_yolo_loss_descriptor *kept = mlc_layer_yolo_loss_descriptor(layer);
        CHECK(kept->anchor_boxes != boxes && kept->anchor_boxes[1] == 1 && !kept->should_rescore);
        mlc_tensor *x = viewing(MICA_INTS(1, 6, 1, 1), scores), *result = NULL;
        mlc_tensor *t = viewing(MICA_INTS(1, 6, 1, 1), labels);
        mlc_graph *graph = new_graph(), *inference = NULL;
        REQUIRE_OK(mlc_graph_node_loss(graph, layer, MLC_TENSORS(x), MLC_TENSORS(t), &result));
        mlc_layer_release(layer);
        REQUIRE_OK(mlc_inference_graph_create(MLC_GRAPHS(graph), &inference));
        CHECK_OK(mlc_inference_graph_compile(inference, 0, device));
        mlc_execution e = mlc_execution_make(MLC_EXECUTION_SYNCHRONOUS);
        CHECK_OK(mlc_inference_graph_execute(inference, &e));
        read_floats(result, &out[i], 1);
        mlc_graph_release(inference);
        mlc_graph_release(graph);
        mlc_tensor_release(x);
        mlc_tensor_release(t);
        mlc_device_release(device);
    }
    /* centre and size are right; what is left is the confidence of 1/2: scale ln 2 */
    CHECK_NEAR(out[0] - out[1], 50 * log(2), 1e-3);
    mlc_layer *layer = NULL;
    d.anchor_box_count = 0;
    CHECK_FAILS(mlc_yolo_loss_layer_create(&d, &layer), MICA_INVALID_ARGUMENT, "0 anchor boxes");
}

/* ---- what all layers have ---------------------------------------------------------------------*/

TEST(layers_have_ids_labels_and_say_what_they_support) {
    mlc_layer *a = arithmetic(MLC_ARITHMETIC_OPERATION_ADD), *b = NULL;
    mlc_device *device = cpu();
    REQUIRE_OK(mlc_selection_layer_create(&b));
    CHECK(mlc_layer_id(b) > mlc_layer_id(a));
    CHECK(mlc_layer_kind_of(a) == MLC_ARITHMETIC_LAYER);
    CHECK(strncmp(mlc_layer_label(a), "Arithmetic", 10) == 0);
    REQUIRE_OK(mlc_layer_set_label(a, "sum"));
    CHECK(strcmp(mlc_layer_label(a), "sum") == 0);
    CHECK(!mlc_layer_is_debugging_enabled(a));
    mlc_layer_set_is_debugging_enabled(a, true);
    CHECK(mlc_layer_is_debugging_enabled(a));
    CHECK(mlc_layer_device_type(a) == MLC_DEVICE_TYPE_ANY);
    CHECK(mlc_layer_supports(MLC_CONVOLUTION_LAYER, MLC_DATA_TYPE_FLOAT16, device));
    CHECK(!mlc_layer_supports(MLC_CONVOLUTION_LAYER, MLC_DATA_TYPE_INT32, device));
    CHECK(mlc_layer_supports(MLC_EMBEDDING_LAYER, MLC_DATA_TYPE_INT32, device));
    CHECK(!mlc_layer_supports(MLC_EMBEDDING_LAYER, F32, device));
    mlc_layer_retain(a);
    mlc_layer_release(a);
    mlc_layer_release(a);
    mlc_layer_release(b);
    mlc_device_release(device);
}
