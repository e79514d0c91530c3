/* Descriptors of tensors. */
#include <stdio.h>
#include <string.h>

#include "mlc/objects.h"

mlc_text mlc_shape_text(mica_ints shape) {
    mlc_text text;
    size_t at = 0, room = sizeof text.chars;
    at += (size_t)snprintf(text.chars, room, "(");
    for (int32_t i = 0; i < shape.n && at + 24 < room; i++)
        at += (size_t)snprintf(text.chars + at, room - at, "%s%lld", i ? "," : "",
                               (long long)shape.data[i]);
    snprintf(text.chars + at, room - at, ")");
    return text;
}

static mica_status check_shape(mica_ints shape, mlc_data_type type, mica_type *out_type) {
    mica_dtype dtype;
    if (!mlc_data_type_dtype(type, &dtype))
        return MICA_INVALID("[tensor descriptor] %d is not a data type", (int)type);
    if (shape.n < 1 || shape.n > MICA_MAX_RANK)
        return MICA_INVALID("[tensor descriptor] %d dimensions; there must be 1 to %d", shape.n,
                            MICA_MAX_RANK);
    int64_t bytes = (int64_t)mica_dtype_bytes(dtype);
    for (int32_t i = 0; i < shape.n; i++)
        if (shape.data[i] < 1 || __builtin_mul_overflow(bytes, shape.data[i], &bytes))
            return MICA_INVALID("[tensor descriptor] the shape %s is not possible: sizes are at "
                                "least 1, and the bytes must be countable",
                                mlc_shape_text(shape).chars);
    *out_type = mica_type_make(dtype, shape);
    return NULL;
}

mica_status mlc_tensor_descriptor_create(mica_ints shape, mlc_data_type type,
                                         mlc_tensor_descriptor **out_descriptor) {
    MICA_GIVEN(MICA_ARRAY(shape), out_descriptor);
    *out_descriptor = NULL;
    mica_type checked;
    MICA_TRY(check_shape(shape, type, &checked));
    mlc_tensor_descriptor *d = mica_calloc(1, sizeof *d);
    if (!d) return MICA_NO_MEMORY();
    mica_refcount_init(&d->references);
    d->data_type = type;
    d->type = checked;
    int64_t stride = (int64_t)mica_dtype_bytes(checked.dtype);
    for (int32_t i = checked.rank; i-- > 0;) {
        d->stride[i] = stride;
        stride *= checked.dims[i];
    }
    *out_descriptor = d;
    return NULL;
}

mica_status mlc_tensor_descriptor_of_type(const mica_type *type,
                                          mlc_tensor_descriptor **out_descriptor) {
    mlc_data_type data_type;
    *out_descriptor = NULL;
    if (!mlc_data_type_of(type->dtype, &data_type))
        return MICA_INVALID("[tensor descriptor] no data type is like %s",
                            mica_dtype_name(type->dtype));
    int64_t one = 1; /* scalars have one dimension here */
    mica_ints shape = type->rank ? mlc_dims(type) : (mica_ints){&one, 1};
    return mlc_tensor_descriptor_create(shape, data_type, out_descriptor);
}

static mica_status check_sequences(const mica_type *type, mica_ints lengths, bool sorted) {
    if (type->rank < 2 || lengths.n != type->dims[0])
        return MICA_INVALID("[tensor descriptor] %d sequence lengths for the shape %s: there must "
                            "be one for each of the first dimension",
                            lengths.n, mlc_shape_text(mlc_dims(type)).chars);
    for (int32_t i = 0; i < lengths.n; i++) {
        if (lengths.data[i] < 1 || lengths.data[i] > type->dims[1])
            return MICA_INVALID("[tensor descriptor] sequence length %lld is not within 1 to %lld",
                                (long long)lengths.data[i], (long long)type->dims[1]);
        if (sorted && i && lengths.data[i] > lengths.data[i - 1])
            return MICA_INVALID("[tensor descriptor] the sequence lengths %s are not sorted from "
                                "long to short",
                                mlc_shape_text(lengths).chars);
    }
    return NULL;
}

mica_status mlc_tensor_descriptor_with_sequences(mica_ints shape, mica_ints lengths, bool sorted,
                                                 mlc_data_type type,
                                                 mlc_tensor_descriptor **out_descriptor) {
    MICA_GIVEN(MICA_ARRAY(shape), MICA_ARRAY(lengths), out_descriptor);
    mlc_tensor_descriptor *d = NULL;
    *out_descriptor = NULL;
    MICA_TRY(mlc_tensor_descriptor_create(shape, type, &d));
    mica_status status = check_sequences(&d->type, lengths, sorted);
    if (!status) {
        d->is_sorted = sorted;
        d->lengths = mica_calloc((size_t)lengths.n, sizeof *d->lengths);
        if (sorted) d->steps = mica_calloc((size_t)lengths.data[0], sizeof *d->steps);
        if (!d->lengths || (sorted && !d->steps)) status = MICA_NO_MEMORY();
    }
    if (status) {
        mlc_tensor_descriptor_release(d);
        return status;
    }
    d->n_lengths = lengths.n;
    memcpy(d->lengths, lengths.data, (size_t)lengths.n * sizeof *d->lengths);
    if (sorted) {
        d->n_steps = (int32_t)lengths.data[0];
        for (int32_t i = 0; i < lengths.n; i++)
            for (int64_t t = 0; t < lengths.data[i]; t++) d->steps[t]++;
    }
    *out_descriptor = d;
    return NULL;
}

static mlc_data_type float_unless_given(mlc_data_type type) {
    return type == MLC_DATA_TYPE_INVALID ? MLC_DATA_TYPE_FLOAT32 : type;
}

mica_status mlc_tensor_descriptor_image(int64_t width, int64_t height, int64_t channels,
                                        int64_t batch, mlc_data_type type,
                                        mlc_tensor_descriptor **out_descriptor) {
    return mlc_tensor_descriptor_create(MICA_INTS(batch, channels, height, width),
                                        float_unless_given(type), out_descriptor);
}

mica_status mlc_tensor_descriptor_convolution_weights(int64_t width, int64_t height,
                                                      int64_t in_channels, int64_t out_channels,
                                                      mlc_data_type type,
                                                      mlc_tensor_descriptor **out_descriptor) {
    MICA_GIVEN(out_descriptor);
    int64_t both;
    *out_descriptor = NULL;
    if (in_channels < 1 || out_channels < 1 ||
        __builtin_mul_overflow(in_channels, out_channels, &both))
        return MICA_INVALID("[tensor descriptor] %lld input and %lld output channels: at least 1 "
                            "of each, and a product of 63 bits, are needed",
                            (long long)in_channels, (long long)out_channels);
    MICA_TRY(mlc_tensor_descriptor_create(MICA_INTS(1, both, height, width), type, out_descriptor));
    (*out_descriptor)->fan_in = in_channels * height * width;
    (*out_descriptor)->fan_out = out_channels * height * width;
    return NULL;
}

mica_status mlc_tensor_descriptor_dense_weights(int64_t in_channels, int64_t out_channels,
                                                mlc_data_type type,
                                                mlc_tensor_descriptor **out_descriptor) {
    return mlc_tensor_descriptor_convolution_weights(1, 1, in_channels, out_channels, type,
                                                     out_descriptor);
}

mica_status mlc_tensor_descriptor_biases(int64_t channels, mlc_data_type type,
                                         mlc_tensor_descriptor **out_descriptor) {
    return mlc_tensor_descriptor_create(MICA_INTS(1, channels, 1, 1), type, out_descriptor);
}

void mlc_tensor_descriptor_retain(mlc_tensor_descriptor *d) {
    if (!d) return;
    mica_refcount_retain(&d->references);
}

void mlc_tensor_descriptor_release(mlc_tensor_descriptor *d) {
    if (!d || !mica_refcount_release(&d->references)) return;
    mica_free(d->lengths);
    mica_free(d->steps);
    mica_free(d);
}

mlc_data_type mlc_tensor_descriptor_data_type(const mlc_tensor_descriptor *d) {
    if (!d) return (mlc_data_type)0;
    return d->data_type;
}

int32_t mlc_tensor_descriptor_dimension_count(const mlc_tensor_descriptor *d) {
    if (!d) return 0;
    return d->type.rank;
}

mica_ints mlc_tensor_descriptor_shape(const mlc_tensor_descriptor *d) {
    if (!d) return (mica_ints){0};
    return mlc_dims(&d->type);
}

mica_ints mlc_tensor_descriptor_stride(const mlc_tensor_descriptor *d) {
    if (!d) return (mica_ints){0};
    return (mica_ints){d->stride, d->type.rank};
}

size_t mlc_tensor_descriptor_bytes(const mlc_tensor_descriptor *d) {
    if (!d) return 0;
    return mica_type_bytes(&d->type);
}

mica_ints mlc_tensor_descriptor_sequence_lengths(const mlc_tensor_descriptor *d) {
    if (!d) return (mica_ints){0};
    return (mica_ints){d->lengths, d->n_lengths};
}

bool mlc_tensor_descriptor_sorted_sequences(const mlc_tensor_descriptor *d) {
    if (!d) return false;
    return d->is_sorted;
}

mica_ints mlc_tensor_descriptor_batch_size_per_sequence_step(const mlc_tensor_descriptor *d) {
    if (!d) return (mica_ints){0};
    return (mica_ints){d->steps, d->n_steps};
}

int32_t mlc_tensor_descriptor_max_dimensions(void) {
    return MICA_MAX_RANK;
}
