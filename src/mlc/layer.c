/* What all layers share: names, tensors they hold, and their properties. */
#include "mlc/objects.h"

#include <stdio.h>
#include <string.h>

static uint64_t last_id;

mica_status mlc_layer_make(mlc_layer_kind kind, mlc_layer **out_layer) {
    *out_layer = NULL;
    mlc_layer *layer = mica_calloc(1, sizeof *layer);
    if (!layer) return MICA_NO_MEMORY();
    mica_refcount_init(&layer->references);
    layer->kind = kind;
    layer->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
    layer->device_type = MLC_DEVICE_TYPE_ANY;
    snprintf(layer->default_label, sizeof layer->default_label, "%s%llu",
             mlc_layer_kind_description(kind), (unsigned long long)layer->id);
    *out_layer = layer;
    return NULL;
}

mica_status mlc_layer_finish(mlc_layer *layer, mica_status status, mlc_layer **out_layer) {
    if (status)
        mlc_layer_release(layer);
    else
        *out_layer = layer;
    return status;
}

mica_status mlc_layer_hold(mlc_layer *layer, mlc_role role, mlc_tensors tensors) {
    mlc_group *group = &layer->groups[role];
    if (tensors.n == 0) return NULL;
    group->tensors = mica_calloc((size_t)tensors.n, sizeof *group->tensors);
    group->parameters = mica_calloc((size_t)tensors.n, sizeof *group->parameters);
    if (!group->tensors || !group->parameters) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < tensors.n; i++) {
        if (!tensors.data[i])
            return MICA_INVALID("[%s] tensor %d of a list is NULL", mlc_layer_label(layer), i);
        MICA_TRY(mlc_tensor_parameter_create(tensors.data[i], &group->parameters[i]));
        group->tensors[i] = tensors.data[i];
        group->n = i + 1;
    }
    return NULL;
}

mica_status mlc_layer_hold_one(mlc_layer *layer, mlc_role role, mlc_tensor *tensor) {
    return tensor ? mlc_layer_hold(layer, role, (mlc_tensors){&tensor, 1}) : NULL;
}

mica_status mlc_layer_keep_list(mlc_layer *layer, int32_t i, mica_ints list) {
    if (list.n <= 0) return NULL;
    if (list.n > MICA_MAX_RANK && layer->kind != MLC_SPLIT_LAYER)
        return MICA_INVALID("[%s] a list of %d entries; there are at most %d dimensions",
                            mlc_layer_label(layer), list.n, MICA_MAX_RANK);
    layer->lists[i] = mica_calloc((size_t)list.n, sizeof *layer->lists[i]);
    if (!layer->lists[i]) return MICA_NO_MEMORY();
    memcpy(layer->lists[i], list.data, (size_t)list.n * sizeof *list.data);
    layer->list_sizes[i] = list.n;
    return NULL;
}

mica_status mlc_check_weights(const char *where, const char *what, const mlc_tensor *tensor,
                              int64_t elements) {
    if (!tensor) return MICA_INVALID("[%s] the %s is NULL", where, what);
    if (!mlc_data_type_is_float(tensor->descriptor->data_type))
        return MICA_INVALID("[%s] the %s is %s; it must be Float32 or Float16", where, what,
                            mlc_data_type_description(tensor->descriptor->data_type));
    if (mica_type_elements(&tensor->descriptor->type) != elements)
        return MICA_INVALID("[%s] the %s has the shape %s, %lld elements are needed", where, what,
                            mlc_tensor_shape_text(tensor).chars, (long long)elements);
    return NULL;
}

void mlc_layer_retain(mlc_layer *layer) {
    if (!layer) return;
    mica_refcount_retain(&layer->references);
}

void mlc_layer_release(mlc_layer *layer) {
    if (!layer || !mica_refcount_release(&layer->references)) return;
    for (int32_t role = 0; role < MLC_ROLES; role++) {
        mlc_group *group = &layer->groups[role];
        for (int32_t i = 0; i < group->n; i++) mlc_tensor_parameter_release(group->parameters[i]);
        mica_free(group->tensors);
        mica_free(group->parameters);
    }
    for (int32_t i = 0; i < MLC_LISTS; i++) mica_free(layer->lists[i]);
    mica_free(layer->anchor_boxes);
    mica_free(layer->label);
    mica_free(layer);
}

/* ---- properties of every layer ----------------------------------------------------------------*/

mlc_layer_kind mlc_layer_kind_of(const mlc_layer *layer) {
    if (!layer) return (mlc_layer_kind)0;
    return layer->kind;
}

uint64_t mlc_layer_id(const mlc_layer *layer) {
    if (!layer) return 0;
    return layer->id;
}

const char *mlc_layer_label(const mlc_layer *layer) {
    if (!layer) return "";
    return layer->label ? layer->label : layer->default_label;
}

mica_status mlc_layer_set_label(mlc_layer *layer, const char *label) {
    MICA_GIVEN(layer);
    char *copy = label ? mica_strdup(label) : NULL;
    if (label && !copy) return MICA_NO_MEMORY();
    mica_free(layer->label);
    layer->label = copy;
    return NULL;
}

bool mlc_layer_is_debugging_enabled(const mlc_layer *layer) {
    if (!layer) return false;
    return layer->is_debugging_enabled;
}

void mlc_layer_set_is_debugging_enabled(mlc_layer *layer, bool is_enabled) {
    if (!layer) return;
    layer->is_debugging_enabled = is_enabled;
}

mlc_device_type mlc_layer_device_type(const mlc_layer *layer) {
    if (!layer) return MLC_DEVICE_TYPE_ANY;
    return (mlc_device_type)__atomic_load_n(&layer->device_type, __ATOMIC_ACQUIRE);
}

/* Sources of a class: floats compute everywhere; some classes only move or compare elements. */
bool mlc_layer_supports(mlc_layer_kind kind, mlc_data_type type, const mlc_device *device) {
    bool is_float = mlc_data_type_is_float(type);
    bool is_integer = type == MLC_DATA_TYPE_INT64 || type == MLC_DATA_TYPE_INT32 ||
                      type == MLC_DATA_TYPE_INT8 || type == MLC_DATA_TYPE_UINT8;
    bool is_any = is_float || is_integer || type == MLC_DATA_TYPE_BOOLEAN;
    if (!device) return false;
    switch (kind) {
    case MLC_COMPARISON_LAYER:
    case MLC_CONCATENATION_LAYER:
    case MLC_GATHER_LAYER:
    case MLC_PADDING_LAYER:
    case MLC_REDUCTION_LAYER:
    case MLC_RESHAPE_LAYER:
    case MLC_SELECTION_LAYER:
    case MLC_SLICE_LAYER:
    case MLC_SPLIT_LAYER:
    case MLC_TRANSPOSE_LAYER: return is_any;
    case MLC_ARITHMETIC_LAYER:
    case MLC_MATMUL_LAYER:
    case MLC_SCATTER_LAYER: return is_float || is_integer;
    case MLC_EMBEDDING_LAYER: return type == MLC_DATA_TYPE_INT32 || type == MLC_DATA_TYPE_INT64;
    case MLC_LAYER_KINDS: return false;
    default: return is_float;
    }
}

/* ---- tensors ----------------------------------------------------------------------------------*/

static mlc_tensor *one(const mlc_layer *layer, mlc_role role) {
    return layer->groups[role].n == 1 ? layer->groups[role].tensors[0] : NULL;
}

static mlc_tensor_parameter *one_parameter(const mlc_layer *layer, mlc_role role) {
    return layer->groups[role].n == 1 ? layer->groups[role].parameters[0] : NULL;
}

static mlc_tensors all(const mlc_layer *layer, mlc_role role) {
    return (mlc_tensors){layer->groups[role].tensors, layer->groups[role].n};
}

static mlc_parameters all_parameters(const mlc_layer *layer, mlc_role role) {
    return (mlc_parameters){layer->groups[role].parameters, layer->groups[role].n};
}

mlc_tensor *mlc_layer_weights(const mlc_layer *layer) {
    if (!layer) return NULL;
    return one(layer, MLC_ROLE_WEIGHTS);
}

mlc_tensor *mlc_layer_biases(const mlc_layer *layer) {
    if (!layer) return NULL;
    return one(layer, MLC_ROLE_BIASES);
}

mlc_tensor_parameter *mlc_layer_weights_parameter(const mlc_layer *layer) {
    if (!layer) return NULL;
    return layer->kind == MLC_LOSS_LAYER ? NULL : one_parameter(layer, MLC_ROLE_WEIGHTS);
}

mlc_tensor_parameter *mlc_layer_biases_parameter(const mlc_layer *layer) {
    if (!layer) return NULL;
    return one_parameter(layer, MLC_ROLE_BIASES);
}

mlc_tensor *mlc_layer_mean(const mlc_layer *layer) {
    if (!layer) return NULL;
    return one(layer, MLC_ROLE_MEAN);
}

mlc_tensor *mlc_layer_variance(const mlc_layer *layer) {
    if (!layer) return NULL;
    return one(layer, MLC_ROLE_VARIANCE);
}

mlc_tensor *mlc_layer_beta(const mlc_layer *layer) {
    if (!layer) return NULL;
    return one(layer, MLC_ROLE_BETA);
}

mlc_tensor *mlc_layer_gamma(const mlc_layer *layer) {
    if (!layer) return NULL;
    return one(layer, MLC_ROLE_GAMMA);
}

mlc_tensor_parameter *mlc_layer_beta_parameter(const mlc_layer *layer) {
    if (!layer) return NULL;
    return one_parameter(layer, MLC_ROLE_BETA);
}

mlc_tensor_parameter *mlc_layer_gamma_parameter(const mlc_layer *layer) {
    if (!layer) return NULL;
    return one_parameter(layer, MLC_ROLE_GAMMA);
}

mlc_tensors mlc_layer_weights_list(const mlc_layer *layer) {
    if (!layer) return (mlc_tensors){0};
    return all(layer, MLC_ROLE_WEIGHTS);
}

mlc_tensors mlc_layer_biases_list(const mlc_layer *layer) {
    if (!layer) return (mlc_tensors){0};
    return all(layer, MLC_ROLE_BIASES);
}

mlc_tensors mlc_layer_attention_biases(const mlc_layer *layer) {
    if (!layer) return (mlc_tensors){0};
    return all(layer, MLC_ROLE_ATTENTION_BIASES);
}

mlc_parameters mlc_layer_weights_parameters(const mlc_layer *layer) {
    if (!layer) return (mlc_parameters){0};
    return all_parameters(layer, MLC_ROLE_WEIGHTS);
}

mlc_parameters mlc_layer_biases_parameters(const mlc_layer *layer) {
    if (!layer) return (mlc_parameters){0};
    return all_parameters(layer, MLC_ROLE_BIASES);
}

mlc_tensors mlc_layer_input_weights(const mlc_layer *layer) {
    if (!layer) return (mlc_tensors){0};
    return all(layer, MLC_ROLE_INPUT_WEIGHTS);
}

mlc_tensors mlc_layer_hidden_weights(const mlc_layer *layer) {
    if (!layer) return (mlc_tensors){0};
    return all(layer, MLC_ROLE_HIDDEN_WEIGHTS);
}

mlc_tensors mlc_layer_peephole_weights(const mlc_layer *layer) {
    if (!layer) return (mlc_tensors){0};
    return all(layer, MLC_ROLE_PEEPHOLES);
}

mlc_parameters mlc_layer_input_weights_parameters(const mlc_layer *layer) {
    if (!layer) return (mlc_parameters){0};
    return all_parameters(layer, MLC_ROLE_INPUT_WEIGHTS);
}

mlc_parameters mlc_layer_hidden_weights_parameters(const mlc_layer *layer) {
    if (!layer) return (mlc_parameters){0};
    return all_parameters(layer, MLC_ROLE_HIDDEN_WEIGHTS);
}

mlc_parameters mlc_layer_peephole_weights_parameters(const mlc_layer *layer) {
    if (!layer) return (mlc_parameters){0};
    return all_parameters(layer, MLC_ROLE_PEEPHOLES);
}

/* ---- descriptors and numbers ------------------------------------------------------------------*/

#define DESCRIPTOR_OF(function, type, kind_name, member)                                           \
    const type *function(const mlc_layer *layer) {                                                 \
        return layer && layer->kind == (kind_name) ? &layer->as.member : NULL;                     \
    }
DESCRIPTOR_OF(mlc_layer_activation_descriptor, mlc_activation_descriptor, MLC_ACTIVATION_LAYER,
              activation)
DESCRIPTOR_OF(mlc_layer_pooling_descriptor, mlc_pooling_descriptor, MLC_POOLING_LAYER, pooling)
DESCRIPTOR_OF(mlc_layer_loss_descriptor, mlc_loss_descriptor, MLC_LOSS_LAYER, loss)
DESCRIPTOR_OF(mlc_layer_yolo_loss_descriptor, mlc_yolo_loss_descriptor, MLC_YOLO_LOSS_LAYER, yolo)
DESCRIPTOR_OF(mlc_layer_lstm_descriptor, mlc_lstm_descriptor, MLC_LSTM_LAYER, lstm)
DESCRIPTOR_OF(mlc_layer_multihead_attention_descriptor, mlc_multihead_attention_descriptor,
              MLC_MULTIHEAD_ATTENTION_LAYER, attention)
DESCRIPTOR_OF(mlc_layer_embedding_descriptor, mlc_embedding_descriptor, MLC_EMBEDDING_LAYER,
              embedding)
DESCRIPTOR_OF(mlc_layer_matmul_descriptor, mlc_matmul_descriptor, MLC_MATMUL_LAYER, matmul)

const mlc_convolution_descriptor *mlc_layer_convolution_descriptor(const mlc_layer *layer) {
    if (!layer) return NULL;
    bool has = layer->kind == MLC_CONVOLUTION_LAYER || layer->kind == MLC_FULLY_CONNECTED_LAYER;
    return has ? &layer->as.convolution : NULL;
}

const mlc_activation_descriptor *mlc_layer_gate_activation(const mlc_layer *layer, int32_t i) {
    if (!layer) return NULL;
    return layer->kind == MLC_LSTM_LAYER && i >= 0 && i < 4 ? &layer->gates[i] : NULL;
}

const mlc_activation_descriptor *mlc_layer_output_result_activation(const mlc_layer *layer) {
    if (!layer) return NULL;
    return layer->kind == MLC_LSTM_LAYER ? &layer->output_activation : NULL;
}

static mica_ints list_of(const mlc_layer *layer, bool has, int32_t i) {
    return has ? (mica_ints){layer->lists[i], layer->list_sizes[i]} : MICA_NO_INTS;
}

mlc_arithmetic_operation mlc_layer_arithmetic_operation(const mlc_layer *layer) {
    if (!layer) return (mlc_arithmetic_operation)0;
    return layer->kind == MLC_ARITHMETIC_LAYER ? (mlc_arithmetic_operation)layer->operation
                                               : MLC_ARITHMETIC_OPERATION_ADD;
}

mlc_comparison_operation mlc_layer_comparison_operation(const mlc_layer *layer) {
    if (!layer) return (mlc_comparison_operation)0;
    return layer->kind == MLC_COMPARISON_LAYER ? (mlc_comparison_operation)layer->operation
                                               : MLC_COMPARISON_OPERATION_EQUAL;
}

mlc_softmax_operation mlc_layer_softmax_operation(const mlc_layer *layer) {
    if (!layer) return (mlc_softmax_operation)0;
    return layer->kind == MLC_SOFTMAX_LAYER ? (mlc_softmax_operation)layer->operation : MLC_SOFTMAX;
}

mlc_reduction_type mlc_layer_reduction_type(const mlc_layer *layer) {
    if (!layer) return (mlc_reduction_type)0;
    bool has = layer->kind == MLC_REDUCTION_LAYER || layer->kind == MLC_SCATTER_LAYER;
    return has ? (mlc_reduction_type)layer->operation : MLC_REDUCTION_NONE;
}

mlc_padding_type mlc_layer_padding_type(const mlc_layer *layer) {
    if (!layer) return (mlc_padding_type)0;
    return layer->kind == MLC_PADDING_LAYER ? (mlc_padding_type)layer->operation : MLC_PADDING_ZERO;
}

mlc_sample_mode mlc_layer_sample_mode(const mlc_layer *layer) {
    if (!layer) return (mlc_sample_mode)0;
    return layer->kind == MLC_UPSAMPLE_LAYER ? (mlc_sample_mode)layer->operation
                                             : MLC_SAMPLE_NEAREST;
}

int64_t mlc_layer_dimension(const mlc_layer *layer) {
    if (!layer) return 0;
    return layer->dimension;
}

mica_ints mlc_layer_dimensions(const mlc_layer *layer) {
    if (!layer) return (mica_ints){0};
    return list_of(layer, layer->kind == MLC_REDUCTION_LAYER || layer->kind == MLC_TRANSPOSE_LAYER,
                   0);
}

mica_ints mlc_layer_shape(const mlc_layer *layer) {
    if (!layer) return (mica_ints){0};
    return list_of(layer, layer->kind == MLC_RESHAPE_LAYER || layer->kind == MLC_UPSAMPLE_LAYER, 0);
}

mica_ints mlc_layer_normalized_shape(const mlc_layer *layer) {
    if (!layer) return (mica_ints){0};
    return list_of(layer, layer->kind == MLC_LAYER_NORMALIZATION_LAYER, 0);
}

mica_ints mlc_layer_start(const mlc_layer *layer) {
    if (!layer) return (mica_ints){0};
    return list_of(layer, layer->kind == MLC_SLICE_LAYER, 0);
}

mica_ints mlc_layer_end(const mlc_layer *layer) {
    if (!layer) return (mica_ints){0};
    return list_of(layer, layer->kind == MLC_SLICE_LAYER, 1);
}

mica_ints mlc_layer_stride(const mlc_layer *layer) {
    if (!layer) return (mica_ints){0};
    return list_of(layer, layer->kind == MLC_SLICE_LAYER, 2);
}

mica_ints mlc_layer_split_section_lengths(const mlc_layer *layer) {
    if (!layer) return (mica_ints){0};
    return list_of(layer, layer->kind == MLC_SPLIT_LAYER, 0);
}

int64_t mlc_layer_split_count(const mlc_layer *layer) {
    if (!layer) return 0;
    return layer->kind == MLC_SPLIT_LAYER ? layer->count : 0;
}

int64_t mlc_layer_feature_channel_count(const mlc_layer *layer) {
    if (!layer) return 0;
    return layer->channels;
}

int64_t mlc_layer_group_count(const mlc_layer *layer) {
    if (!layer) return 0;
    return layer->kind == MLC_GROUP_NORMALIZATION_LAYER ? layer->count : 0;
}

float mlc_layer_variance_epsilon(const mlc_layer *layer) {
    if (!layer) return 0;
    bool has = layer->kind == MLC_BATCH_NORMALIZATION_LAYER ||
               layer->kind == MLC_INSTANCE_NORMALIZATION_LAYER ||
               layer->kind == MLC_GROUP_NORMALIZATION_LAYER ||
               layer->kind == MLC_LAYER_NORMALIZATION_LAYER;
    return has ? layer->epsilon : 0;
}

float mlc_layer_momentum(const mlc_layer *layer) {
    if (!layer) return 0;
    return layer->momentum;
}

float mlc_layer_rate(const mlc_layer *layer) {
    if (!layer) return 0;
    return layer->kind == MLC_DROPOUT_LAYER ? layer->epsilon : 0;
}

uint64_t mlc_layer_seed(const mlc_layer *layer) {
    if (!layer) return 0;
    return layer->seed;
}

float mlc_layer_scale(const mlc_layer *layer) {
    if (!layer) return 0;
    return layer->kind == MLC_GRAM_MATRIX_LAYER ? layer->epsilon : 0;
}

float mlc_layer_constant_value(const mlc_layer *layer) {
    if (!layer) return 0;
    return layer->kind == MLC_PADDING_LAYER ? layer->epsilon : 0;
}

int64_t mlc_layer_padding_top(const mlc_layer *layer) {
    if (!layer) return 0;
    return layer->padding[0];
}

int64_t mlc_layer_padding_bottom(const mlc_layer *layer) {
    if (!layer) return 0;
    return layer->padding[1];
}

int64_t mlc_layer_padding_left(const mlc_layer *layer) {
    if (!layer) return 0;
    return layer->padding[2];
}

int64_t mlc_layer_padding_right(const mlc_layer *layer) {
    if (!layer) return 0;
    return layer->padding[3];
}

bool mlc_layer_aligns_corners(const mlc_layer *layer) {
    if (!layer) return false;
    return layer->aligns_corners;
}
