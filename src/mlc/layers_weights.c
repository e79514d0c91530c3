/* Layers with weights: convolutions, dense layers, normalisations, embeddings, LSTM, attention. */
#include <math.h>
#include <string.h>

#include "mlc/objects.h"

#define CHECK_SIZE(name, descriptor)                                                               \
    do {                                                                                           \
        if (!(descriptor)) return MICA_INVALID("[%s] the descriptor is NULL", name);               \
        if ((descriptor)->size != sizeof *(descriptor))                                            \
            return MICA_INVALID("[%s] the descriptor's size is %zu, expected %zu", name,           \
                                (descriptor)->size, sizeof *(descriptor));                         \
    } while (0)

/* a b of numbers that are not negative; INT64_MAX, which no tensor has as many elements as, where
 * that is more. */
static int64_t times(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* ---- convolutions and dense layers ------------------------------------------------------------*/

static mica_status check_convolution(const mlc_convolution_descriptor *d) {
    CHECK_SIZE("Convolution", d);
    if (!mlc_convolution_type_description(d->type) ||
        !mlc_padding_policy_description(d->padding_policy))
        return MICA_INVALID("[Convolution] type %d or padding policy %d is no member of its enum",
                            (int)d->type, (int)d->padding_policy);
    if (d->kernel_width < 1 || d->kernel_height < 1 || d->stride_x < 1 || d->stride_y < 1 ||
        d->dilation_x < 1 || d->dilation_y < 1 || d->padding_x < 0 || d->padding_y < 0)
        return MICA_INVALID(
            "[Convolution] kernel %lldx%lld, stride (%lld,%lld), dilation "
            "(%lld,%lld), padding (%lld,%lld): padding must be at least 0, the others at least 1",
            (long long)d->kernel_height, (long long)d->kernel_width, (long long)d->stride_y,
            (long long)d->stride_x, (long long)d->dilation_y, (long long)d->dilation_x,
            (long long)d->padding_y, (long long)d->padding_x);
    if (d->in_channels < 1 || d->out_channels < 1 || d->groups < 1 ||
        d->in_channels % d->groups != 0 || d->out_channels % d->groups != 0 ||
        (d->type == MLC_CONVOLUTION_DEPTHWISE && d->groups != d->in_channels))
        return MICA_INVALID("[Convolution] %lld input and %lld output channels in %lld groups: "
                            "each number is at least 1, groups divide both, and a depthwise "
                            "convolution has a group for each input channel",
                            (long long)d->in_channels, (long long)d->out_channels,
                            (long long)d->groups);
    return NULL;
}

mica_status mlc_convolution_layer_create(mlc_tensor *weights, mlc_tensor *biases,
                                         const mlc_convolution_descriptor *d,
                                         mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    mlc_layer *layer = NULL;
    *out_layer = NULL;
    MICA_TRY(check_convolution(d));
    int64_t elements = times(times(d->in_channels / d->groups, d->out_channels),
                             times(d->kernel_height, d->kernel_width));
    MICA_TRY(mlc_check_weights("Convolution", "weights tensor", weights, elements));
    if (biases)
        MICA_TRY(mlc_check_weights("Convolution", "biases tensor", biases, d->out_channels));
    MICA_TRY(mlc_layer_make(MLC_CONVOLUTION_LAYER, &layer));
    layer->as.convolution = *d;
    mica_status status = mlc_layer_hold_one(layer, MLC_ROLE_WEIGHTS, weights);
    if (!status) status = mlc_layer_hold_one(layer, MLC_ROLE_BIASES, biases);
    return mlc_layer_finish(layer, status, out_layer);
}

mica_status mlc_fully_connected_layer_create(mlc_tensor *weights, mlc_tensor *biases,
                                             const mlc_convolution_descriptor *d,
                                             mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    mlc_layer *layer = NULL;
    *out_layer = NULL;
    CHECK_SIZE("FullyConnected", d);
    if (d->in_channels < 1 || d->out_channels < 1)
        return MICA_INVALID(
            "[FullyConnected] %lld input and %lld output channels: at least 1 of each is needed",
            (long long)d->in_channels, (long long)d->out_channels);
    MICA_TRY(mlc_check_weights("FullyConnected", "weights tensor", weights,
                               times(d->in_channels, d->out_channels)));
    if (biases)
        MICA_TRY(mlc_check_weights("FullyConnected", "biases tensor", biases, d->out_channels));
    MICA_TRY(mlc_layer_make(MLC_FULLY_CONNECTED_LAYER, &layer));
    layer->as.convolution = *d;
    mica_status status = mlc_layer_hold_one(layer, MLC_ROLE_WEIGHTS, weights);
    if (!status) status = mlc_layer_hold_one(layer, MLC_ROLE_BIASES, biases);
    return mlc_layer_finish(layer, status, out_layer);
}

/* ---- normalisations ---------------------------------------------------------------------------*/

static mica_status normalization(mlc_layer_kind kind, int64_t channels, mlc_tensor *mean,
                                 mlc_tensor *variance, mlc_tensor *beta, mlc_tensor *gamma,
                                 float epsilon, mlc_layer **out_layer) {
    const char *name = mlc_layer_kind_description(kind);
    mlc_tensor *const tensors[] = {mean, variance, beta, gamma};
    static const char *const names[] = {"mean", "variance", "beta", "gamma"};
    static const mlc_role roles[] = {MLC_ROLE_MEAN, MLC_ROLE_VARIANCE, MLC_ROLE_BETA,
                                     MLC_ROLE_GAMMA};
    mlc_layer *layer = NULL;
    *out_layer = NULL;
    if (channels < 1)
        return MICA_INVALID("[%s] at least 1 channel is needed, not %lld", name,
                            (long long)channels);
    if (!(epsilon >= 0))
        return MICA_INVALID("[%s] epsilon must be at least 0, not %g", name, (double)epsilon);
    for (int32_t i = 0; i < 4; i++)
        if (tensors[i]) MICA_TRY(mlc_check_weights(name, names[i], tensors[i], channels));
    MICA_TRY(mlc_layer_make(kind, &layer));
    layer->channels = channels;
    layer->epsilon = epsilon;
    mica_status status = NULL;
    for (int32_t i = 0; i < 4 && !status; i++)
        status = mlc_layer_hold_one(layer, roles[i], tensors[i]);
    return mlc_layer_finish(layer, status, out_layer);
}

static mica_status check_momentum(const char *name, float momentum) {
    if (momentum >= 0 && momentum <= 1) return NULL;
    return MICA_INVALID("[%s] the momentum %g is not within [0, 1]", name, (double)momentum);
}

mica_status mlc_batch_normalization_layer_create(int64_t channels, mlc_tensor *mean,
                                                 mlc_tensor *variance, mlc_tensor *beta,
                                                 mlc_tensor *gamma, float epsilon, float momentum,
                                                 mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    *out_layer = NULL;
    MICA_TRY(check_momentum("BatchNormalization", momentum));
    if (!mean || !variance)
        return MICA_INVALID("[BatchNormalization] the %s is NULL", mean ? "variance" : "mean");
    MICA_TRY(normalization(MLC_BATCH_NORMALIZATION_LAYER, channels, mean, variance, beta, gamma,
                           epsilon, out_layer));
    (*out_layer)->momentum = momentum;
    return NULL;
}

mica_status mlc_instance_normalization_layer_create(int64_t channels, mlc_tensor *mean,
                                                    mlc_tensor *variance, mlc_tensor *beta,
                                                    mlc_tensor *gamma, float epsilon,
                                                    float momentum, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    *out_layer = NULL;
    MICA_TRY(check_momentum("InstanceNormalization", momentum));
    if (!mean != !variance)
        return MICA_INVALID("[InstanceNormalization] mean and variance come together");
    MICA_TRY(normalization(MLC_INSTANCE_NORMALIZATION_LAYER, channels, mean, variance, beta, gamma,
                           epsilon, out_layer));
    (*out_layer)->momentum = momentum;
    return NULL;
}

mica_status mlc_group_normalization_layer_create(int64_t channels, int64_t groups, mlc_tensor *beta,
                                                 mlc_tensor *gamma, float epsilon,
                                                 mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    *out_layer = NULL;
    if (groups < 1 || channels % groups != 0)
        return MICA_INVALID("[GroupNormalization] %lld channels do not divide into %lld groups",
                            (long long)channels, (long long)groups);
    MICA_TRY(normalization(MLC_GROUP_NORMALIZATION_LAYER, channels, NULL, NULL, beta, gamma,
                           epsilon, out_layer));
    (*out_layer)->count = groups;
    return NULL;
}

mica_status mlc_layer_normalization_layer_create(mica_ints normalized_shape, mlc_tensor *beta,
                                                 mlc_tensor *gamma, float epsilon,
                                                 mlc_layer **out_layer) {
    MICA_GIVEN(MICA_ARRAY(normalized_shape), out_layer);
    int64_t elements = 1;
    mlc_layer *layer = NULL;
    *out_layer = NULL;
    for (int32_t i = 0; i < normalized_shape.n; i++)
        if (normalized_shape.data[i] < 1 ||
            __builtin_mul_overflow(elements, normalized_shape.data[i], &elements))
            elements = 0;
    if (normalized_shape.n < 1 || elements < 1)
        return MICA_INVALID("[LayerNormalization] the shape %s: at least one size is needed, and "
                            "sizes are at least 1",
                            mlc_shape_text(normalized_shape).chars);
    MICA_TRY(normalization(MLC_LAYER_NORMALIZATION_LAYER, elements, NULL, NULL, beta, gamma,
                           epsilon, &layer));
    layer->channels = 0;
    return mlc_layer_finish(layer, mlc_layer_keep_list(layer, 0, normalized_shape), out_layer);
}

/* ---- embedding --------------------------------------------------------------------------------*/

mica_status mlc_embedding_layer_create(const mlc_embedding_descriptor *d, mlc_tensor *weights,
                                       mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    mlc_layer *layer = NULL;
    *out_layer = NULL;
    CHECK_SIZE("Embedding", d);
    if (d->embedding_count < 1 || d->embedding_dimension < 1 ||
        d->padding_index >= d->embedding_count || !(d->maximum_norm >= 0) || !(d->p_norm > 0))
        return MICA_INVALID("[Embedding] %lld embeddings of dimension %lld, padding index %lld, "
                            "maximum norm %g, p %g: the first two must be at least 1, the padding "
                            "index below their number, the norm at least 0 and p above 0",
                            (long long)d->embedding_count, (long long)d->embedding_dimension,
                            (long long)d->padding_index, (double)d->maximum_norm,
                            (double)d->p_norm);
    MICA_TRY(mlc_check_weights("Embedding", "weights tensor", weights,
                               times(d->embedding_count, d->embedding_dimension)));
    MICA_TRY(mlc_layer_make(MLC_EMBEDDING_LAYER, &layer));
    layer->as.embedding = *d;
    return mlc_layer_finish(layer, mlc_layer_hold_one(layer, MLC_ROLE_WEIGHTS, weights), out_layer);
}

/* ---- LSTM -------------------------------------------------------------------------------------*/

static mica_status check_lstm(const mlc_lstm_descriptor *d) {
    CHECK_SIZE("LSTM", d);
    if (d->input_size < 1 || d->hidden_size < 1 || d->layer_count < 1 || d->layer_count > 1024)
        return MICA_INVALID("[LSTM] input size %lld, hidden size %lld, %lld layers: each must be "
                            "at least 1, and at most 1024 layers are possible",
                            (long long)d->input_size, (long long)d->hidden_size,
                            (long long)d->layer_count);
    if (!d->batch_first)
        return MICA_ERROR(MICA_UNSUPPORTED, "[LSTM] sources must have the batch first");
    if (!(d->dropout >= 0 && d->dropout < 1) || !mlc_lstm_result_mode_description(d->result_mode))
        return MICA_INVALID("[LSTM] dropout %g must be at least 0 and less than 1, and result mode "
                            "%d a member of its enum",
                            (double)d->dropout, (int)d->result_mode);
    return NULL;
}

/* The number of tensors, and the elements of each. */
static mica_status check_list(const mlc_lstm_descriptor *d, const char *what, mlc_tensors list,
                              mlc_role role) {
    int64_t directions = d->is_bidirectional ? 2 : 1, hidden = d->hidden_size;
    int64_t count = 4 * d->layer_count * directions;
    if (list.n != count)
        return MICA_INVALID("[LSTM] %d %s; %lld layers in %lld directions need %lld", list.n, what,
                            (long long)d->layer_count, (long long)directions, (long long)count);
    for (int32_t i = 0; i < list.n; i++) {
        bool is_first = i / 4 % d->layer_count == 0;
        int64_t features = is_first ? d->input_size : times(hidden, directions), elements = hidden;
        if (role == MLC_ROLE_INPUT_WEIGHTS) elements = times(hidden, features);
        if (role == MLC_ROLE_HIDDEN_WEIGHTS) elements = times(hidden, hidden);
        if (role == MLC_ROLE_PEEPHOLES && list.data[i] &&
            mica_type_elements(&list.data[i]->descriptor->type) == times(hidden, hidden))
            elements = times(hidden, hidden);
        MICA_TRY(mlc_check_weights("LSTM", what, list.data[i], elements));
    }
    return NULL;
}

static mica_status check_activations(const mlc_activation_descriptor *list, int32_t n) {
    for (int32_t i = 0; list && i < n; i++)
        if (list[i].size != sizeof *list || !mlc_activation_type_description(list[i].type))
            return MICA_INVALID("[LSTM] activation %d is of type %d", i, (int)list[i].type);
    return NULL;
}

static mica_status hold_lstm(mlc_layer *layer, mlc_tensors input_weights,
                             mlc_tensors hidden_weights, mlc_tensors peephole_weights,
                             mlc_tensors biases) {
    MICA_TRY(mlc_layer_hold(layer, MLC_ROLE_INPUT_WEIGHTS, input_weights));
    MICA_TRY(mlc_layer_hold(layer, MLC_ROLE_HIDDEN_WEIGHTS, hidden_weights));
    MICA_TRY(mlc_layer_hold(layer, MLC_ROLE_PEEPHOLES, peephole_weights));
    return mlc_layer_hold(layer, MLC_ROLE_BIASES, biases);
}

mica_status mlc_lstm_layer_create(const mlc_lstm_descriptor *descriptor, mlc_tensors input_weights,
                                  mlc_tensors hidden_weights, mlc_tensors biases,
                                  mlc_layer **out_layer) {
    return mlc_lstm_layer_create_all(descriptor, input_weights, hidden_weights, MLC_NO_LIST, biases,
                                     NULL, NULL, out_layer);
}

mica_status mlc_lstm_layer_create_all(const mlc_lstm_descriptor *d, mlc_tensors input_weights,
                                      mlc_tensors hidden_weights, mlc_tensors peephole_weights,
                                      mlc_tensors biases,
                                      const mlc_activation_descriptor *gate_activations,
                                      const mlc_activation_descriptor *output_activation,
                                      mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    mlc_layer *layer = NULL;
    *out_layer = NULL;
    MICA_TRY(check_lstm(d));
    MICA_TRY(check_list(d, "input weights", input_weights, MLC_ROLE_INPUT_WEIGHTS));
    MICA_TRY(check_list(d, "hidden weights", hidden_weights, MLC_ROLE_HIDDEN_WEIGHTS));
    if (peephole_weights.n)
        MICA_TRY(check_list(d, "peephole weights", peephole_weights, MLC_ROLE_PEEPHOLES));
    if (d->uses_biases) MICA_TRY(check_list(d, "biases", biases, MLC_ROLE_BIASES));
    if (!d->uses_biases && biases.n)
        return MICA_INVALID("[LSTM] %d biases, but the descriptor uses none", biases.n);
    MICA_TRY(check_activations(gate_activations, 4));
    MICA_TRY(check_activations(output_activation, 1));
    MICA_TRY(mlc_layer_make(MLC_LSTM_LAYER, &layer));
    layer->as.lstm = *d;
    for (int32_t i = 0; i < 4; i++)
        layer->gates[i] = gate_activations
                              ? gate_activations[i]
                              : mlc_activation_descriptor_make(i == 2 ? MLC_ACTIVATION_TANH
                                                                      : MLC_ACTIVATION_SIGMOID);
    layer->output_activation = output_activation
                                   ? *output_activation
                                   : mlc_activation_descriptor_make(MLC_ACTIVATION_TANH);
    return mlc_layer_finish(
        layer, hold_lstm(layer, input_weights, hidden_weights, peephole_weights, biases),
        out_layer);
}

/* ---- attention --------------------------------------------------------------------------------*/

static mica_status check_attention(const mlc_multihead_attention_descriptor *d, mlc_tensors weights,
                                   mlc_tensors biases, mlc_tensors attention_biases) {
    CHECK_SIZE("MultiheadAttention", d);
    if (d->model_dimension < 1 || d->key_dimension < 1 || d->value_dimension < 1)
        return MICA_INVALID("[MultiheadAttention] dimensions are 1 or more: given model %lld, key "
                            "%lld, value %lld",
                            (long long)d->model_dimension, (long long)d->key_dimension,
                            (long long)d->value_dimension);
    if (d->head_count < 1 || d->model_dimension % d->head_count != 0)
        return MICA_INVALID("[MultiheadAttention] each head has an equal part of the model "
                            "dimension: %lld cannot be divided among %lld heads",
                            (long long)d->model_dimension, (long long)d->head_count);
    if (!(d->dropout >= 0 && d->dropout < 1))
        return MICA_INVALID("[MultiheadAttention] dropout is at least 0 and less than 1: given %g",
                            (double)d->dropout);
    int64_t e = d->model_dimension, columns[] = {e, d->key_dimension, d->value_dimension, e};
    int32_t n_biases = d->has_biases ? 4 : 0, n_attention = d->has_attention_biases ? 2 : 0;
    if (weights.n != 4 || biases.n != n_biases || attention_biases.n != n_attention)
        return MICA_INVALID(
            "[MultiheadAttention] %d weights, %d biases, %d attention biases; there "
            "must be 4, %d and %d",
            weights.n, biases.n, attention_biases.n, n_biases, n_attention);
    for (int32_t i = 0; i < 4; i++)
        MICA_TRY(mlc_check_weights("MultiheadAttention", "weights tensor", weights.data[i],
                                   times(e, columns[i])));
    for (int32_t i = 0; i < n_biases; i++)
        MICA_TRY(mlc_check_weights("MultiheadAttention", "biases tensor", biases.data[i], e));
    for (int32_t i = 0; i < n_attention; i++)
        MICA_TRY(mlc_check_weights("MultiheadAttention", "attention biases tensor",
                                   attention_biases.data[i], e));
    return NULL;
}

mica_status
mlc_multihead_attention_layer_create(const mlc_multihead_attention_descriptor *descriptor,
                                     mlc_tensors weights, mlc_tensors biases,
                                     mlc_tensors attention_biases, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    mlc_layer *layer = NULL;
    *out_layer = NULL;
    MICA_TRY(check_attention(descriptor, weights, biases, attention_biases));
    MICA_TRY(mlc_layer_make(MLC_MULTIHEAD_ATTENTION_LAYER, &layer));
    layer->as.attention = *descriptor;
    mica_status status = mlc_layer_hold(layer, MLC_ROLE_WEIGHTS, weights);
    if (!status) status = mlc_layer_hold(layer, MLC_ROLE_BIASES, biases);
    if (!status) status = mlc_layer_hold(layer, MLC_ROLE_ATTENTION_BIASES, attention_biases);
    return mlc_layer_finish(layer, status, out_layer);
}
