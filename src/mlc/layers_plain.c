/* Layers without weights: activations, arithmetic, shapes, reductions, pooling. */
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

/* ---- activations ------------------------------------------------------------------------------*/

mica_status mlc_activation_layer_create(const mlc_activation_descriptor *descriptor,
                                        mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    *out_layer = NULL;
    CHECK_SIZE("Activation", descriptor);
    if (!mlc_activation_type_description(descriptor->type))
        return MICA_INVALID("[Activation] %d is not a type of activation", (int)descriptor->type);
    if (!isfinite(descriptor->a) || isnan(descriptor->b) || isnan(descriptor->c))
        return MICA_INVALID("[Activation] a %g, b %g, c %g: a must be finite, b and c no NaN",
                            (double)descriptor->a, (double)descriptor->b, (double)descriptor->c);
    if (descriptor->type == MLC_ACTIVATION_CELU && descriptor->a == 0)
        return MICA_INVALID("[Activation] CELU divides by a, which is 0");
    if (descriptor->type == MLC_ACTIVATION_CLAMP && descriptor->a > descriptor->b)
        return MICA_INVALID("[Activation] Clamp to [%g, %g]: a, the lower bound, must be at most b",
                            (double)descriptor->a, (double)descriptor->b);
    MICA_TRY(mlc_layer_make(MLC_ACTIVATION_LAYER, out_layer));
    (*out_layer)->as.activation = *descriptor;
    return NULL;
}

static mica_status activation(mlc_activation_type type, mlc_layer **out_layer) {
    mlc_activation_descriptor d = mlc_activation_descriptor_make(type);
    return mlc_activation_layer_create(&d, out_layer);
}

static mica_status activation_ab(mlc_activation_type type, float a, float b,
                                 mlc_layer **out_layer) {
    mlc_activation_descriptor d = mlc_activation_descriptor_make_ab(type, a, b);
    return mlc_activation_layer_create(&d, out_layer);
}

#define PLAIN(name, type)                                                                          \
    mica_status mlc_activation_layer_##name(mlc_layer **out_layer) {                               \
        return activation(type, out_layer);                                                        \
    }
#define WITH_A(name, type)                                                                         \
    mica_status mlc_activation_layer_##name(float a, mlc_layer **out_layer) {                      \
        mlc_activation_descriptor d = mlc_activation_descriptor_make_a(type, a);                   \
        return mlc_activation_layer_create(&d, out_layer);                                         \
    }
PLAIN(relu, MLC_ACTIVATION_RELU)
PLAIN(sigmoid, MLC_ACTIVATION_SIGMOID)
PLAIN(hard_sigmoid, MLC_ACTIVATION_HARD_SIGMOID)
PLAIN(tanh, MLC_ACTIVATION_TANH)
PLAIN(absolute, MLC_ACTIVATION_ABSOLUTE)
PLAIN(soft_plus, MLC_ACTIVATION_SOFT_PLUS)
PLAIN(soft_sign, MLC_ACTIVATION_SOFT_SIGN)
PLAIN(elu, MLC_ACTIVATION_ELU)
PLAIN(log_sigmoid, MLC_ACTIVATION_LOG_SIGMOID)
PLAIN(selu, MLC_ACTIVATION_SELU)
PLAIN(celu, MLC_ACTIVATION_CELU)
PLAIN(hard_shrink, MLC_ACTIVATION_HARD_SHRINK)
PLAIN(soft_shrink, MLC_ACTIVATION_SOFT_SHRINK)
PLAIN(tanh_shrink, MLC_ACTIVATION_TANH_SHRINK)
PLAIN(gelu, MLC_ACTIVATION_GELU)
PLAIN(hard_swish, MLC_ACTIVATION_HARD_SWISH)
WITH_A(leaky_relu_slope, MLC_ACTIVATION_RELU)
WITH_A(elu_a, MLC_ACTIVATION_ELU)
WITH_A(celu_a, MLC_ACTIVATION_CELU)
WITH_A(hard_shrink_a, MLC_ACTIVATION_HARD_SHRINK)
WITH_A(soft_shrink_a, MLC_ACTIVATION_SOFT_SHRINK)

mica_status mlc_activation_layer_relu6(mlc_layer **out_layer) {
    return mlc_activation_layer_relun(0, 6, out_layer);
}

mica_status mlc_activation_layer_leaky_relu(mlc_layer **out_layer) {
    return mlc_activation_layer_leaky_relu_slope(0.01f, out_layer);
}

mica_status mlc_activation_layer_linear(float scale, float bias, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    return activation_ab(MLC_ACTIVATION_LINEAR, scale, bias, out_layer);
}

mica_status mlc_activation_layer_soft_plus_beta(float beta, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    *out_layer = NULL;
    if (beta == 0) return MICA_INVALID("[Activation] SoftPlus divides by beta, which is 0");
    return activation_ab(MLC_ACTIVATION_SOFT_PLUS, 1 / beta, beta, out_layer);
}

mica_status mlc_activation_layer_relun(float a, float b, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    return activation_ab(MLC_ACTIVATION_RELUN, a, b, out_layer);
}

mica_status mlc_activation_layer_threshold(float threshold, float replacement,
                                           mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    return activation_ab(MLC_ACTIVATION_THRESHOLD, threshold, replacement, out_layer);
}

mica_status mlc_activation_layer_clamp(float minimum, float maximum, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    return activation_ab(MLC_ACTIVATION_CLAMP, minimum, maximum, out_layer);
}

/* ---- element by element -----------------------------------------------------------------------*/

mica_status mlc_arithmetic_layer_create(mlc_arithmetic_operation operation, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    *out_layer = NULL;
    if (!mlc_arithmetic_operation_description(operation))
        return MICA_INVALID("[Arithmetic] %d is not an operation", (int)operation);
    MICA_TRY(mlc_layer_make(MLC_ARITHMETIC_LAYER, out_layer));
    (*out_layer)->operation = (int32_t)operation;
    return NULL;
}

mica_status mlc_comparison_layer_create(mlc_comparison_operation operation, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    *out_layer = NULL;
    if (!mlc_comparison_operation_description(operation))
        return MICA_INVALID("[Comparison] %d is not an operation", (int)operation);
    MICA_TRY(mlc_layer_make(MLC_COMPARISON_LAYER, out_layer));
    (*out_layer)->operation = (int32_t)operation;
    return NULL;
}

mica_status mlc_selection_layer_create(mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    return mlc_layer_make(MLC_SELECTION_LAYER, out_layer);
}

mica_status mlc_dropout_layer_create(float rate, uint64_t seed, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    *out_layer = NULL;
    if (!(rate >= 0 && rate < 1))
        return MICA_INVALID("[Dropout] the rate %g is not within [0, 1)", (double)rate);
    MICA_TRY(mlc_layer_make(MLC_DROPOUT_LAYER, out_layer));
    (*out_layer)->epsilon = rate;
    (*out_layer)->seed = seed;
    return NULL;
}

/* ---- along a dimension ------------------------------------------------------------------------*/

static mica_status along(mlc_layer_kind kind, int64_t dimension, mlc_layer **out_layer) {
    *out_layer = NULL;
    if (dimension < 0 || dimension >= MICA_MAX_RANK)
        return MICA_INVALID("[%s] there is no dimension %lld", mlc_layer_kind_description(kind),
                            (long long)dimension);
    MICA_TRY(mlc_layer_make(kind, out_layer));
    (*out_layer)->dimension = dimension;
    return NULL;
}

mica_status mlc_concatenation_layer_create(mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    return along(MLC_CONCATENATION_LAYER, 1, out_layer);
}

mica_status mlc_concatenation_layer_create_dimension(int64_t dimension, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    return along(MLC_CONCATENATION_LAYER, dimension, out_layer);
}

mica_status mlc_gather_layer_create(int64_t dimension, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    return along(MLC_GATHER_LAYER, dimension, out_layer);
}

mica_status mlc_scatter_layer_create(int64_t dimension, mlc_reduction_type reduction,
                                     mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    *out_layer = NULL;
    if (reduction != MLC_REDUCTION_NONE && reduction != MLC_REDUCTION_SUM)
        return MICA_INVALID("[Scatter] the reduction is None or Sum, not %d", (int)reduction);
    MICA_TRY(along(MLC_SCATTER_LAYER, dimension, out_layer));
    (*out_layer)->operation = (int32_t)reduction;
    return NULL;
}

mica_status mlc_softmax_layer_create(mlc_softmax_operation operation, mlc_layer **out_layer) {
    return mlc_softmax_layer_create_dimension(operation, 1, out_layer);
}

mica_status mlc_softmax_layer_create_dimension(mlc_softmax_operation operation, int64_t dimension,
                                               mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    *out_layer = NULL;
    if (!mlc_softmax_operation_description(operation))
        return MICA_INVALID("[Softmax] %d is not an operation", (int)operation);
    MICA_TRY(along(MLC_SOFTMAX_LAYER, dimension, out_layer));
    (*out_layer)->operation = (int32_t)operation;
    return NULL;
}

mica_status mlc_split_layer_create(int64_t count, int64_t dimension, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    *out_layer = NULL;
    if (count < 1)
        return MICA_INVALID("[Split] a source is split into at least 1 part, not %lld",
                            (long long)count);
    MICA_TRY(along(MLC_SPLIT_LAYER, dimension, out_layer));
    (*out_layer)->count = count;
    return NULL;
}

mica_status mlc_split_layer_create_sections(mica_ints lengths, int64_t dimension,
                                            mlc_layer **out_layer) {
    MICA_GIVEN(MICA_ARRAY(lengths), out_layer);
    mlc_layer *layer = NULL;
    *out_layer = NULL;
    if (lengths.n < 1)
        return MICA_INVALID(
            "[Split] the list of section lengths is empty: give the length of each part");
    for (int32_t i = 0; i < lengths.n; i++)
        if (lengths.data[i] < 1)
            return MICA_INVALID("[Split] section lengths must be at least 1, not %s",
                                mlc_shape_text(lengths).chars);
    MICA_TRY(along(MLC_SPLIT_LAYER, dimension, &layer));
    layer->count = lengths.n;
    return mlc_layer_finish(layer, mlc_layer_keep_list(layer, 0, lengths), out_layer);
}

mica_status mlc_reduction_layer_create(mlc_reduction_type type, int64_t dimension,
                                       mlc_layer **out_layer) {
    return mlc_reduction_layer_create_dimensions(type, MICA_INTS(dimension), out_layer);
}

mica_status mlc_reduction_layer_create_dimensions(mlc_reduction_type type, mica_ints dimensions,
                                                  mlc_layer **out_layer) {
    MICA_GIVEN(MICA_ARRAY(dimensions), out_layer);
    mlc_layer *layer = NULL;
    *out_layer = NULL;
    if (!mlc_reduction_type_description(type))
        return MICA_INVALID("[Reduction] %d is not a type of reduction", (int)type);
    if (dimensions.n < 1) return MICA_INVALID("[Reduction] no dimensions");
    for (int32_t i = 0; i < dimensions.n; i++)
        for (int32_t k = 0; k < i; k++)
            if (dimensions.data[i] == dimensions.data[k])
                return MICA_INVALID("[Reduction] a dimension is there twice: %s",
                                    mlc_shape_text(dimensions).chars);
    MICA_TRY(along(MLC_REDUCTION_LAYER, dimensions.data[0], &layer));
    layer->operation = (int32_t)type;
    return mlc_layer_finish(layer, mlc_layer_keep_list(layer, 0, dimensions), out_layer);
}

/* ---- shapes -----------------------------------------------------------------------------------*/

mica_status mlc_reshape_layer_create(mica_ints shape, mlc_layer **out_layer) {
    MICA_GIVEN(MICA_ARRAY(shape), out_layer);
    mlc_layer *layer = NULL;
    int32_t unknown = 0;
    *out_layer = NULL;
    if (shape.n < 1) return MICA_INVALID("[Reshape] the shape is empty");
    for (int32_t i = 0; i < shape.n; i++) {
        unknown += shape.data[i] == -1;
        if ((shape.data[i] < 1 && shape.data[i] != -1) || unknown > 1)
            return MICA_INVALID("[Reshape] the shape %s: sizes are positive, one may be -1",
                                mlc_shape_text(shape).chars);
    }
    MICA_TRY(mlc_layer_make(MLC_RESHAPE_LAYER, &layer));
    return mlc_layer_finish(layer, mlc_layer_keep_list(layer, 0, shape), out_layer);
}

mica_status mlc_transpose_layer_create(mica_ints dimensions, mlc_layer **out_layer) {
    MICA_GIVEN(MICA_ARRAY(dimensions), out_layer);
    mlc_layer *layer = NULL;
    *out_layer = NULL;
    bool seen[MICA_MAX_RANK] = {false};
    for (int32_t i = 0; i < dimensions.n; i++) {
        int64_t d = dimensions.data[i];
        if (dimensions.n > MICA_MAX_RANK || d < 0 || d >= dimensions.n || seen[d])
            return MICA_INVALID("[Transpose] %s is not a permutation",
                                mlc_shape_text(dimensions).chars);
        seen[d] = true;
    }
    if (dimensions.n < 1 || dimensions.data[0] != 0)
        return MICA_INVALID("[Transpose] %s moves the batch: dimension 0 stays first",
                            mlc_shape_text(dimensions).chars);
    MICA_TRY(mlc_layer_make(MLC_TRANSPOSE_LAYER, &layer));
    return mlc_layer_finish(layer, mlc_layer_keep_list(layer, 0, dimensions), out_layer);
}

mica_status mlc_slice_layer_create(mica_ints start, mica_ints end, mica_ints stride,
                                   mlc_layer **out_layer) {
    MICA_GIVEN(MICA_ARRAY(start), MICA_ARRAY(end), MICA_ARRAY(stride), out_layer);
    mlc_layer *layer = NULL;
    *out_layer = NULL;
    if (start.n < 1 || start.n != end.n || (stride.n && stride.n != start.n))
        return MICA_INVALID("[Slice] start %s, end %s, stride %s: one entry for each dimension",
                            mlc_shape_text(start).chars, mlc_shape_text(end).chars,
                            mlc_shape_text(stride).chars);
    for (int32_t i = 0; i < stride.n; i++)
        if (stride.data[i] == 0) return MICA_INVALID("[Slice] stride 0 in dimension %d", i);
    MICA_TRY(mlc_layer_make(MLC_SLICE_LAYER, &layer));
    mica_status status = mlc_layer_keep_list(layer, 0, start);
    if (!status) status = mlc_layer_keep_list(layer, 1, end);
    if (!status) status = mlc_layer_keep_list(layer, 2, stride);
    return mlc_layer_finish(layer, status, out_layer);
}

mica_status mlc_upsample_layer_create(mica_ints shape, mlc_layer **out_layer) {
    return mlc_upsample_layer_create_mode(shape, MLC_SAMPLE_NEAREST, false, out_layer);
}

mica_status mlc_upsample_layer_create_mode(mica_ints shape, mlc_sample_mode mode,
                                           bool aligns_corners, mlc_layer **out_layer) {
    MICA_GIVEN(MICA_ARRAY(shape), out_layer);
    mlc_layer *layer = NULL;
    *out_layer = NULL;
    bool good = shape.n >= 1 && shape.n <= 3 && mlc_sample_mode_description(mode);
    for (int32_t i = 0; i < shape.n && good; i++) good = shape.data[i] >= 1;
    if (!good)
        return MICA_INVALID("[Upsample] to the shape %s in mode %d: 1 to 3 positive sizes",
                            mlc_shape_text(shape).chars, (int)mode);
    MICA_TRY(mlc_layer_make(MLC_UPSAMPLE_LAYER, &layer));
    layer->operation = (int32_t)mode;
    layer->aligns_corners = aligns_corners;
    return mlc_layer_finish(layer, mlc_layer_keep_list(layer, 0, shape), out_layer);
}

static mica_status padding(mlc_padding_type type, mica_ints sizes, float value,
                           mlc_layer **out_layer) {
    *out_layer = NULL;
    bool good = sizes.n == 1 || sizes.n == 2 || sizes.n == 4;
    for (int32_t i = 0; i < sizes.n && good; i++) good = sizes.data[i] >= 0;
    if (!good)
        return MICA_INVALID("[Padding] sizes %s: one for all sides, or left, right, or top, "
                            "bottom, left, right, none of them negative",
                            mlc_shape_text(sizes).chars);
    MICA_TRY(mlc_layer_make(MLC_PADDING_LAYER, out_layer));
    mlc_layer *layer = *out_layer;
    layer->operation = (int32_t)type;
    layer->epsilon = value;
    for (int32_t i = 0; i < 4; i++)
        layer->padding[i] = sizes.n == 1   ? sizes.data[0]
                            : sizes.n == 4 ? sizes.data[i]
                            : i < 2        ? 0
                                           : sizes.data[i - 2];
    return NULL;
}

mica_status mlc_padding_layer_reflect(mica_ints sizes, mlc_layer **out_layer) {
    MICA_GIVEN(MICA_ARRAY(sizes), out_layer);
    return padding(MLC_PADDING_REFLECT, sizes, 0, out_layer);
}

mica_status mlc_padding_layer_symmetric(mica_ints sizes, mlc_layer **out_layer) {
    MICA_GIVEN(MICA_ARRAY(sizes), out_layer);
    return padding(MLC_PADDING_SYMMETRIC, sizes, 0, out_layer);
}

mica_status mlc_padding_layer_zero(mica_ints sizes, mlc_layer **out_layer) {
    MICA_GIVEN(MICA_ARRAY(sizes), out_layer);
    return padding(MLC_PADDING_ZERO, sizes, 0, out_layer);
}

mica_status mlc_padding_layer_constant(mica_ints sizes, float value, mlc_layer **out_layer) {
    MICA_GIVEN(MICA_ARRAY(sizes), out_layer);
    return padding(MLC_PADDING_CONSTANT, sizes, value, out_layer);
}

/* ---- pooling, products ------------------------------------------------------------------------*/

mica_status mlc_pooling_layer_create(const mlc_pooling_descriptor *d, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    *out_layer = NULL;
    CHECK_SIZE("Pooling", d);
    if (!mlc_pooling_type_description(d->type) ||
        !mlc_padding_policy_description(d->padding_policy))
        return MICA_INVALID("[Pooling] type %d or padding policy %d is no member of its enum",
                            (int)d->type, (int)d->padding_policy);
    if (d->kernel_width < 1 || d->kernel_height < 1 || d->stride_x < 1 || d->stride_y < 1 ||
        d->dilation_x < 1 || d->dilation_y < 1 || d->padding_x < 0 || d->padding_y < 0)
        return MICA_INVALID(
            "[Pooling] kernel %lldx%lld, stride (%lld,%lld), dilation (%lld,%lld), "
            "padding (%lld,%lld): padding must be at least 0, the others at least 1",
            (long long)d->kernel_height, (long long)d->kernel_width, (long long)d->stride_y,
            (long long)d->stride_x, (long long)d->dilation_y, (long long)d->dilation_x,
            (long long)d->padding_y, (long long)d->padding_x);
    MICA_TRY(mlc_layer_make(MLC_POOLING_LAYER, out_layer));
    (*out_layer)->as.pooling = *d;
    return NULL;
}

mica_status mlc_matmul_layer_create(const mlc_matmul_descriptor *descriptor,
                                    mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    *out_layer = NULL;
    CHECK_SIZE("MatMul", descriptor);
    MICA_TRY(mlc_layer_make(MLC_MATMUL_LAYER, out_layer));
    (*out_layer)->as.matmul = *descriptor;
    return NULL;
}

mica_status mlc_gram_matrix_layer_create(float scale, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    MICA_TRY(mlc_layer_make(MLC_GRAM_MATRIX_LAYER, out_layer));
    (*out_layer)->epsilon = scale;
    return NULL;
}
