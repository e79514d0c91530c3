/* Layers that cannot be: each field of a descriptor out of its range, lists that do not fit, sizes
 * whose product no number holds, and no memory. Nothing is made then. */
#include "mlc_test.h"

static mlc_tensor *weights;

/* `call` gives `layer` nothing and says `part`. */
#define REFUSED(call, part)                                                                        \
    do {                                                                                           \
        mlc_layer *layer = NULL;                                                                   \
        test_fails((call), MICA_INVALID_ARGUMENT, part, __FILE__, __LINE__);                       \
        CHECK(layer == NULL);                                                                      \
    } while (0)
/* `call` is refused with `change` made to a copy of the descriptor `good`, called `d`. */
#define REFUSED_WITH(type, good, change, part, call)                                               \
    do {                                                                                           \
        type d = (good);                                                                           \
        change;                                                                                    \
        REFUSED(call, part);                                                                       \
    } while (0)

/* ---- windows ----------------------------------------------------------------------------------*/

#define CONVOLUTION(change, part)                                                                  \
    REFUSED_WITH(mlc_convolution_descriptor, good, change, part,                                   \
                 mlc_convolution_layer_create(weights, NULL, &d, &layer))

TEST(convolutions_are_refused_by_each_of_their_fields) {
    weights = filled(MICA_INTS(4, 4, 1, 1), 1);
    mlc_convolution_descriptor good = mlc_convolution_descriptor_make(1, 1, 4, 4);
    mlc_layer *made = NULL;
    CHECK_OK(mlc_convolution_layer_create(weights, NULL, &good, &made));
    mlc_layer_release(made);
    CONVOLUTION(d.size = 1, "the descriptor's size is 1");
    CONVOLUTION(d.type = (mlc_convolution_type)99, "type 99");
    CONVOLUTION(d.padding_policy = (mlc_padding_policy)99, "padding policy 99");
    CONVOLUTION(d.kernel_width = 0, "kernel 1x0");
    CONVOLUTION(d.kernel_height = 0, "kernel 0x1");
    CONVOLUTION(d.stride_x = 0, "stride (1,0)");
    CONVOLUTION(d.stride_y = 0, "stride (0,1)");
    CONVOLUTION(d.dilation_x = 0, "dilation (1,0)");
    CONVOLUTION(d.dilation_y = -1, "dilation (-1,1)");
    CONVOLUTION(d.padding_x = -1, "padding (0,-1)");
    CONVOLUTION(d.padding_y = -1, "padding (-1,0)");
    CONVOLUTION(d.in_channels = 0, "0 input");
    CONVOLUTION(d.out_channels = 0, "0 output");
    CONVOLUTION(d.groups = 0, "in 0 groups");
    CONVOLUTION((d.in_channels = 3, d.groups = 2), "in 2 groups");
    CONVOLUTION((d.out_channels = 3, d.groups = 2), "3 output");
    CONVOLUTION((d.type = MLC_CONVOLUTION_DEPTHWISE, d.groups = 2), "a group for each");
    CONVOLUTION(d.kernel_width = 2, "weights");
    CONVOLUTION((d.in_channels = d.out_channels = INT64_MAX), "weights");
    CONVOLUTION(d.kernel_height = INT64_MAX / 2, "weights");
    REFUSED(mlc_convolution_layer_create(weights, NULL, NULL, &layer), "the descriptor is NULL");
    REFUSED(mlc_convolution_layer_create(weights, weights, &good, &layer), "biases");
    REFUSED(mlc_convolution_layer_create(NULL, NULL, &good, &layer), "weights");
    REFUSED(mlc_fully_connected_layer_create(weights, weights, &good, &layer), "biases");
    REFUSED(mlc_fully_connected_layer_create(weights, NULL, NULL, &layer), "NULL");
    REFUSED_WITH(mlc_convolution_descriptor, good, d.in_channels = 0, "0 input",
                 mlc_fully_connected_layer_create(weights, NULL, &d, &layer));
    REFUSED_WITH(mlc_convolution_descriptor, good, d.out_channels = -1, "-1 output",
                 mlc_fully_connected_layer_create(weights, NULL, &d, &layer));
    REFUSED_WITH(mlc_convolution_descriptor, good, d.out_channels = (INT64_C(1) << 62) + 4,
                 "weights", mlc_fully_connected_layer_create(weights, NULL, &d, &layer));
    mlc_tensor_release(weights);
}

#define POOLING(change, part)                                                                      \
    REFUSED_WITH(mlc_pooling_descriptor, good, change, part, mlc_pooling_layer_create(&d, &layer))

TEST(pooling_is_refused_by_each_of_its_fields) {
    mlc_pooling_descriptor good = mlc_pooling_descriptor_make(MLC_POOLING_MAX, 2, 2);
    POOLING(d.size = 0, "size is 0");
    POOLING(d.type = (mlc_pooling_type)99, "type 99");
    POOLING(d.padding_policy = (mlc_padding_policy)99, "padding policy 99");
    POOLING(d.kernel_width = 0, "x0");
    POOLING(d.kernel_height = 0, "kernel 0x");
    POOLING(d.stride_x = 0, ",0)");
    POOLING(d.stride_y = 0, "stride (0,");
    POOLING(d.dilation_x = 0, "dilation (1,0)");
    POOLING(d.dilation_y = 0, "dilation (0,1)");
    POOLING(d.padding_x = -1, "padding (0,-1)");
    POOLING(d.padding_y = -1, "padding (-1,0)");
    REFUSED(mlc_pooling_layer_create(NULL, &layer), "NULL");
}

/* ---- normalisations ---------------------------------------------------------------------------*/

TEST(normalisations_are_refused_by_each_of_their_arguments) {
    mlc_tensor *t = filled(MICA_INTS(1, 4, 1, 1), 1), *three = filled(MICA_INTS(1, 3, 1, 1), 1);
    const float wrong[] = {-0.5f, 1.5f, NAN};
    for (int i = 0; i < 3; i++) {
        REFUSED(mlc_batch_normalization_layer_create(4, t, t, t, t, 0, wrong[i], &layer),
                "momentum");
        REFUSED(mlc_instance_normalization_layer_create(4, t, t, t, t, 0, wrong[i], &layer),
                "momentum");
    }
    REFUSED(mlc_batch_normalization_layer_create(4, NULL, t, t, t, 0, 0.5f, &layer), "mean");
    REFUSED(mlc_batch_normalization_layer_create(4, t, NULL, t, t, 0, 0.5f, &layer), "variance");
    REFUSED(mlc_batch_normalization_layer_create(0, t, t, t, t, 0, 0.5f, &layer), "1 channel");
    REFUSED(mlc_batch_normalization_layer_create(4, t, t, t, t, -1, 0.5f, &layer), "epsilon");
    REFUSED(mlc_batch_normalization_layer_create(4, t, t, t, t, NAN, 0.5f, &layer), "epsilon");
    REFUSED(mlc_batch_normalization_layer_create(4, three, t, t, t, 0, 0.5f, &layer), "mean");
    REFUSED(mlc_batch_normalization_layer_create(4, t, three, t, t, 0, 0.5f, &layer), "variance");
    REFUSED(mlc_batch_normalization_layer_create(4, t, t, three, t, 0, 0.5f, &layer), "beta");
    REFUSED(mlc_batch_normalization_layer_create(4, t, t, t, three, 0, 0.5f, &layer), "gamma");
    REFUSED(mlc_instance_normalization_layer_create(4, t, NULL, t, t, 0, 0.5f, &layer), "together");
    REFUSED(mlc_instance_normalization_layer_create(4, NULL, t, t, t, 0, 0.5f, &layer), "together");
    REFUSED(mlc_group_normalization_layer_create(4, 0, t, t, 0, &layer), "0 groups");
    REFUSED(mlc_group_normalization_layer_create(4, 3, t, t, 0, &layer), "3 groups");
    REFUSED(mlc_layer_normalization_layer_create(MICA_NO_INTS, t, t, 0, &layer), "one size");
    REFUSED(mlc_layer_normalization_layer_create(MICA_INTS(2, 0), t, t, 0, &layer), "one size");
    REFUSED(mlc_layer_normalization_layer_create(MICA_INTS(INT64_MAX, 4), t, t, 0, &layer),
            "one size");
    REFUSED(mlc_layer_normalization_layer_create(MICA_INTS(3), t, t, 0, &layer), "beta");
    mlc_tensor_release(t);
    mlc_tensor_release(three);
}

/* ---- embeddings, LSTM, attention --------------------------------------------------------------*/

#define EMBEDDING(change, part)                                                                    \
    REFUSED_WITH(mlc_embedding_descriptor, good, change, part,                                     \
                 mlc_embedding_layer_create(&d, weights, &layer))

TEST(embeddings_are_refused_by_each_of_their_fields) {
    weights = filled(MICA_INTS(3, 2), 1);
    mlc_embedding_descriptor good = mlc_embedding_descriptor_make(3, 2);
    EMBEDDING(d.size = 3, "size is 3");
    EMBEDDING(d.embedding_count = 0, "0 embeddings");
    EMBEDDING(d.embedding_dimension = 0, "dimension 0");
    EMBEDDING(d.padding_index = 3, "padding index 3");
    EMBEDDING(d.maximum_norm = -1, "norm -1");
    EMBEDDING(d.maximum_norm = NAN, "norm");
    EMBEDDING(d.p_norm = 0, "p 0");
    EMBEDDING(d.embedding_count = 4, "weights");
    EMBEDDING(d.embedding_count = INT64_MAX, "weights");
    REFUSED(mlc_embedding_layer_create(NULL, weights, &layer), "NULL");
    mlc_tensor_release(weights);
}

/* The same tensor for all, where its size is to fit. */
typedef struct repeated {
    mlc_tensor *data[8];
} repeated;

static mlc_tensors times(repeated *room, mlc_tensor *t, int32_t n) {
    for (int32_t i = 0; i < n; i++) room->data[i] = t;
    return (mlc_tensors){room->data, n};
}

#define LSTM(change, part)                                                                         \
    REFUSED_WITH(mlc_lstm_descriptor, good, change, part,                                          \
                 mlc_lstm_layer_create(&d, in, hidden, biases, &layer))

TEST(lstm_layers_are_refused_by_each_of_their_fields_and_lists) {
    mlc_tensor *square = filled(MICA_INTS(2, 2), 1), *two = filled(MICA_INTS(2), 1);
    repeated rooms[5];
    mlc_tensors in = times(&rooms[0], square, 4), hidden = times(&rooms[1], square, 4);
    mlc_tensors biases = times(&rooms[2], two, 4), few = times(&rooms[3], square, 3);
    mlc_lstm_descriptor good = mlc_lstm_descriptor_make(2, 2, 1);
    mlc_layer *made = NULL;
    good.uses_biases = true;
    CHECK_OK(mlc_lstm_layer_create(&good, in, hidden, biases, &made));
    mlc_layer_release(made);
    LSTM(d.size = 0, "size is 0");
    LSTM(d.input_size = 0, "input size 0");
    LSTM(d.hidden_size = 0, "hidden size 0");
    LSTM(d.layer_count = 0, "0 layers");
    LSTM(d.layer_count = 1025, "1025 layers");
    LSTM(d.dropout = 1, "dropout 1");
    LSTM(d.dropout = -1, "dropout -1");
    LSTM(d.result_mode = (mlc_lstm_result_mode)99, "mode 99");
    LSTM(d.is_bidirectional = true, "2 directions");
    LSTM(d.input_size = 3, "input weights");
    LSTM(d.input_size = INT64_MAX, "input weights");
    LSTM(d.hidden_size = INT64_MAX, "input weights");
    LSTM(d.uses_biases = false, "uses none");
    REFUSED(mlc_lstm_layer_create(NULL, in, hidden, biases, &layer), "NULL");
    REFUSED(mlc_lstm_layer_create(&good, few, hidden, biases, &layer), "3 input weights");
    REFUSED(mlc_lstm_layer_create(&good, in, few, biases, &layer), "3 hidden weights");
    REFUSED(mlc_lstm_layer_create(&good, in, biases, biases, &layer), "hidden weights");
    REFUSED(mlc_lstm_layer_create(&good, in, hidden, few, &layer), "3 biases");
    REFUSED(mlc_lstm_layer_create(&good, in, hidden, hidden, &layer), "biases");
    REFUSED(mlc_lstm_layer_create_all(&good, in, hidden, few, biases, NULL, NULL, &layer),
            "3 peephole");
    mlc_activation_descriptor gates[4];
    for (int i = 0; i < 4; i++) gates[i] = mlc_activation_descriptor_make(MLC_ACTIVATION_TANH);
    gates[2].type = (mlc_activation_type)99;
    REFUSED(mlc_lstm_layer_create_all(&good, in, hidden, MLC_NO_LIST, biases, gates, NULL, &layer),
            "activation 2");
    gates[2].size = 1;
    REFUSED(
        mlc_lstm_layer_create_all(&good, in, hidden, MLC_NO_LIST, biases, NULL, gates + 2, &layer),
        "activation 0");
    good.batch_first = false;
    test_fails(mlc_lstm_layer_create(&good, in, hidden, biases, &made), MICA_UNSUPPORTED,
               "the batch first", __FILE__, __LINE__);
    mlc_tensor_release(square);
    mlc_tensor_release(two);
}

#define ATTENTION(change, part)                                                                    \
    REFUSED_WITH(mlc_multihead_attention_descriptor, good, change, part,                           \
                 mlc_multihead_attention_layer_create(&d, all, biases, extra, &layer))

TEST(attention_is_refused_by_each_of_its_fields_and_lists) {
    mlc_tensor *square = filled(MICA_INTS(2, 2), 1), *two = filled(MICA_INTS(2), 1);
    repeated rooms[4];
    mlc_tensors all = times(&rooms[0], square, 4), biases = times(&rooms[1], two, 4);
    mlc_tensors extra = times(&rooms[2], two, 2), few = times(&rooms[3], square, 3);
    mlc_multihead_attention_descriptor good = mlc_multihead_attention_descriptor_make(2, 1);
    mlc_layer *made = NULL;
    good.has_biases = good.has_attention_biases = true;
    CHECK_OK(mlc_multihead_attention_layer_create(&good, all, biases, extra, &made));
    mlc_layer_release(made);
    ATTENTION(d.size = 0, "size is 0");
    ATTENTION(d.model_dimension = 0, "model 0");
    ATTENTION(d.key_dimension = 0, "key 0");
    ATTENTION(d.value_dimension = 0, "value 0");
    ATTENTION(d.head_count = 0, "0 heads");
    ATTENTION(d.head_count = 3, "3 heads");
    ATTENTION(d.dropout = 1, "given 1");
    ATTENTION(d.dropout = NAN, "dropout");
    ATTENTION(d.has_biases = false, "there must be 4, 0");
    ATTENTION(d.has_attention_biases = false, "and 0");
    ATTENTION(d.key_dimension = 3, "weights");
    ATTENTION(d.value_dimension = INT64_MAX, "weights");
    ATTENTION(d.model_dimension = INT64_MAX, "weights");
    REFUSED(mlc_multihead_attention_layer_create(NULL, all, biases, extra, &layer), "NULL");
    REFUSED(mlc_multihead_attention_layer_create(&good, few, biases, extra, &layer), "3 weights");
    REFUSED(mlc_multihead_attention_layer_create(&good, all, all, extra, &layer), "biases");
    REFUSED(mlc_multihead_attention_layer_create(&good, all, biases, (mlc_tensors){all.data, 2},
                                                 &layer),
            "attention biases");
    mlc_tensor_release(square);
    mlc_tensor_release(two);
}

/* ---- the plain ones ---------------------------------------------------------------------------*/

#define ACTIVATION(change, part)                                                                   \
    REFUSED_WITH(mlc_activation_descriptor, good, change, part,                                    \
                 mlc_activation_layer_create(&d, &layer))

TEST(plain_layers_are_refused_by_each_of_their_arguments) {
    mlc_activation_descriptor good = mlc_activation_descriptor_make(MLC_ACTIVATION_CELU);
    good.a = 1;
    ACTIVATION(d.size = 0, "size is 0");
    ACTIVATION(d.type = (mlc_activation_type)99, "99");
    ACTIVATION(d.a = INFINITY, "a inf");
    ACTIVATION(d.b = NAN, "no NaN");
    ACTIVATION(d.c = NAN, "no NaN");
    ACTIVATION(d.a = 0, "CELU divides");
    ACTIVATION((d.type = MLC_ACTIVATION_CLAMP, d.b = 0), "Clamp");
    REFUSED(mlc_activation_layer_create(NULL, &layer), "NULL");
    REFUSED(mlc_activation_layer_soft_plus_beta(0, &layer), "SoftPlus");
    REFUSED(mlc_arithmetic_layer_create((mlc_arithmetic_operation)99, &layer), "99");
    REFUSED(mlc_comparison_layer_create((mlc_comparison_operation)99, &layer), "99");
    REFUSED(mlc_dropout_layer_create(1, 0, &layer), "rate 1");
    REFUSED(mlc_dropout_layer_create(-1, 0, &layer), "rate -1");
    REFUSED(mlc_gather_layer_create(-1, &layer), "no dimension -1");
    REFUSED(mlc_gather_layer_create(MICA_MAX_RANK, &layer), "no dimension");
    REFUSED(mlc_scatter_layer_create(0, MLC_REDUCTION_MEAN, &layer), "None or Sum");
    REFUSED(mlc_scatter_layer_create(-1, MLC_REDUCTION_SUM, &layer), "no dimension");
    REFUSED(mlc_softmax_layer_create((mlc_softmax_operation)99, &layer), "99");
    REFUSED(mlc_split_layer_create(0, 1, &layer), "at least 1 part");
    REFUSED(mlc_split_layer_create_sections(MICA_NO_INTS, 1, &layer), "is empty");
    REFUSED(mlc_split_layer_create_sections(MICA_INTS(1, 0), 1, &layer), "at least 1");
    REFUSED(mlc_split_layer_create_sections(MICA_INTS(1), -1, &layer), "no dimension");
    REFUSED(mlc_reduction_layer_create((mlc_reduction_type)99, 1, &layer), "99");
    REFUSED(mlc_reduction_layer_create(MLC_REDUCTION_SUM, -1, &layer), "no dimension");
    REFUSED(mlc_reduction_layer_create_dimensions(MLC_REDUCTION_SUM, MICA_NO_INTS, &layer), "no");
    REFUSED(mlc_reduction_layer_create_dimensions(MLC_REDUCTION_SUM, MICA_INTS(1, 1), &layer),
            "twice");
    REFUSED(mlc_reshape_layer_create(MICA_NO_INTS, &layer), "empty");
    REFUSED(mlc_reshape_layer_create(MICA_INTS(-1, -1), &layer), "one may be -1");
    REFUSED(mlc_reshape_layer_create(MICA_INTS(2, 0), &layer), "positive");
    REFUSED(mlc_transpose_layer_create(MICA_NO_INTS, &layer), "dimension 0 stays");
    REFUSED(mlc_transpose_layer_create(MICA_INTS(1, 0), &layer), "dimension 0 stays");
    REFUSED(mlc_transpose_layer_create(MICA_INTS(0, 2), &layer), "permutation");
    REFUSED(mlc_transpose_layer_create(MICA_INTS(0, -1), &layer), "permutation");
    REFUSED(mlc_transpose_layer_create(MICA_INTS(0, 0), &layer), "permutation");
    REFUSED(mlc_slice_layer_create(MICA_NO_INTS, MICA_NO_INTS, MICA_NO_INTS, &layer), "one entry");
    REFUSED(mlc_slice_layer_create(MICA_INTS(0), MICA_INTS(1, 1), MICA_NO_INTS, &layer), "one");
    REFUSED(mlc_slice_layer_create(MICA_INTS(0), MICA_INTS(1), MICA_INTS(1, 1), &layer), "one");
    REFUSED(mlc_slice_layer_create(MICA_INTS(0), MICA_INTS(1), MICA_INTS(0), &layer), "stride 0");
    REFUSED(mlc_upsample_layer_create(MICA_NO_INTS, &layer), "positive");
    REFUSED(mlc_upsample_layer_create(MICA_INTS(1, 0), &layer), "positive");
    REFUSED(mlc_upsample_layer_create(MICA_INTS(1, 1, 1, 1), &layer), "1 to 3");
    REFUSED(mlc_upsample_layer_create_mode(MICA_INTS(2, 2), (mlc_sample_mode)99, false, &layer),
            "mode 99");
    REFUSED(mlc_padding_layer_zero(MICA_INTS(1, 2, 3), &layer), "one for all");
    REFUSED(mlc_padding_layer_reflect(MICA_INTS(-1), &layer), "negative");
    REFUSED(mlc_matmul_layer_create(NULL, &layer), "NULL");
    mlc_matmul_descriptor product = mlc_matmul_descriptor_make();
    product.size = 1;
    REFUSED(mlc_matmul_layer_create(&product, &layer), "size is 1");
}

/* ---- no memory --------------------------------------------------------------------------------*/

enum { KINDS = 24 };

/* A layer of each kind. */
static mica_status make(int kind, mlc_tensor *square, mlc_tensor *two, mlc_layer **out) {
    repeated rooms[3];
    mlc_tensors squares = times(&rooms[0], square, 4), twos = times(&rooms[1], two, 4);
    mlc_tensors pair = times(&rooms[2], two, 2);
    mlc_convolution_descriptor convolution = mlc_convolution_descriptor_make(1, 1, 2, 2);
    mlc_pooling_descriptor pooling = mlc_pooling_descriptor_make(MLC_POOLING_MAX, 2, 2);
    mlc_embedding_descriptor embedding = mlc_embedding_descriptor_make(2, 2);
    mlc_lstm_descriptor lstm = mlc_lstm_descriptor_make(2, 2, 1);
    mlc_multihead_attention_descriptor attention = mlc_multihead_attention_descriptor_make(2, 1);
    mlc_matmul_descriptor product = mlc_matmul_descriptor_make();
    lstm.uses_biases = attention.has_biases = attention.has_attention_biases = true;
    switch (kind) {
    case 0: return mlc_activation_layer_relu(out);
    case 1: return mlc_arithmetic_layer_create(MLC_ARITHMETIC_OPERATION_ADD, out);
    case 2: return mlc_comparison_layer_create(MLC_COMPARISON_OPERATION_EQUAL, out);
    case 3: return mlc_dropout_layer_create(0.5f, 1, out);
    case 4: return mlc_concatenation_layer_create(out);
    case 5: return mlc_scatter_layer_create(0, MLC_REDUCTION_SUM, out);
    case 6: return mlc_split_layer_create(2, 1, out);
    case 7: return mlc_split_layer_create_sections(MICA_INTS(1, 2), 1, out);
    case 8: return mlc_reduction_layer_create(MLC_REDUCTION_SUM, 1, out);
    case 9: return mlc_reshape_layer_create(MICA_INTS(2, -1), out);
    case 10: return mlc_transpose_layer_create(MICA_INTS(0, 2, 1), out);
    case 11: return mlc_slice_layer_create(MICA_INTS(0, 0), MICA_INTS(1, 1), MICA_INTS(1, 1), out);
    case 12: return mlc_upsample_layer_create(MICA_INTS(4, 4), out);
    case 13: return mlc_padding_layer_zero(MICA_INTS(1), out);
    case 14: return mlc_pooling_layer_create(&pooling, out);
    case 15: return mlc_matmul_layer_create(&product, out);
    case 16: return mlc_gram_matrix_layer_create(1, out);
    case 17: return mlc_convolution_layer_create(square, two, &convolution, out);
    case 18: return mlc_fully_connected_layer_create(square, two, &convolution, out);
    case 19: return mlc_batch_normalization_layer_create(2, two, two, two, two, 0, 0.5f, out);
    case 20: return mlc_layer_normalization_layer_create(MICA_INTS(2), two, two, 0, out);
    case 21: return mlc_embedding_layer_create(&embedding, square, out);
    case 22: return mlc_lstm_layer_create_all(&lstm, squares, squares, twos, twos, NULL, NULL, out);
    default: return mlc_multihead_attention_layer_create(&attention, squares, twos, pair, out);
    }
}

TEST(a_layer_without_memory_is_none) {
    mlc_tensor *square = filled(MICA_INTS(2, 2), 1), *two = filled(MICA_INTS(2), 1);
    for (int kind = 0; kind < KINDS; kind++) {
        bool ends = false;
        int64_t n = 1;
        for (; !ends && n < 100; n++) {
            mlc_layer *layer = NULL;
            int64_t blocks = mica_memory_live_blocks();
            mica_memory_fail_nth(n, false);
            mica_status status = make(kind, square, two, &layer);
            mica_memory_fail_nth(0, false);
            ends = status == NULL;
            CHECK(ends == (layer != NULL));
            CHECK(ends || mica_status_code(status) == MICA_OUT_OF_MEMORY);
            mica_status_release(status);
            mlc_layer_release(layer);
            CHECK(mica_memory_live_blocks() == blocks);
        }
        CHECK(ends && n > 2);
    }
    mlc_tensor_release(square);
    mlc_tensor_release(two);
}
