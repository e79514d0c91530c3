/* Tensor data, tensors and parameters: how they are made, and their plain properties. */
#include "mlc/objects.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/scalar.h"

/* ---- tensor data ------------------------------------------------------------------------------*/

mica_status mlc_tensor_data_create_with_deallocator(void *bytes, size_t length,
                                                    void (*deallocator)(void *context, void *bytes,
                                                                        size_t length),
                                                    void *context, mlc_tensor_data **out_data) {
    MICA_GIVEN(out_data);
    *out_data = NULL;
    if (!bytes && length)
        return MICA_INVALID("[tensor data] %zu bytes at the address NULL", length);
    mlc_tensor_data *data = mica_calloc(1, sizeof *data);
    if (!data) return MICA_NO_MEMORY();
    mica_refcount_init(&data->references);
    data->bytes = bytes;
    data->length = length;
    data->deallocator = deallocator;
    data->context = context;
    *out_data = data;
    return NULL;
}

mica_status mlc_tensor_data_create(void *bytes, size_t length, mlc_tensor_data **out_data) {
    return mlc_tensor_data_create_with_deallocator(bytes, length, NULL, NULL, out_data);
}

mica_status mlc_tensor_data_create_immutable_with_deallocator(
    const void *bytes, size_t length,
    void (*deallocator)(void *context, void *bytes, size_t length), void *context,
    mlc_tensor_data **out_data) {
    MICA_GIVEN(out_data);
    MICA_TRY(mlc_tensor_data_create_with_deallocator((void *)bytes, length, deallocator, context,
                                                     out_data));
    (*out_data)->is_immutable = true;
    return NULL;
}

mica_status mlc_tensor_data_create_immutable(const void *bytes, size_t length,
                                             mlc_tensor_data **out_data) {
    return mlc_tensor_data_create_immutable_with_deallocator(bytes, length, NULL, NULL, out_data);
}

bool mlc_tensor_data_is_immutable(const mlc_tensor_data *data) {
    if (!data) return false;
    return data->is_immutable;
}

static void free_own(void *context, void *bytes, size_t length) {
    (void)context;
    (void)length;
    mica_free_aligned(bytes);
}

mica_status mlc_tensor_data_allocate(size_t length, mlc_tensor_data **out_data) {
    *out_data = NULL;
    void *bytes = mica_alloc_aligned(length ? length : 1);
    if (!bytes) return MICA_NO_MEMORY();
    memset(bytes, 0, length);
    mica_status status =
        mlc_tensor_data_create_with_deallocator(bytes, length, free_own, NULL, out_data);
    if (status) mica_free_aligned(bytes);
    return status;
}

void mlc_tensor_data_retain(mlc_tensor_data *data) {
    if (!data) return;
    mica_refcount_retain(&data->references);
}

void mlc_tensor_data_release(mlc_tensor_data *data) {
    if (data && mica_refcount_release(&data->references) && !mlc_put_aside(data))
        mlc_tensor_data_destroy(data);
}

void mlc_tensor_data_destroy(mlc_tensor_data *data) {
    if (data->deallocator) data->deallocator(data->context, data->bytes, data->length);
    mica_free(data);
}

void *mlc_tensor_data_bytes(const mlc_tensor_data *data) {
    if (!data) return NULL;
    return data->bytes;
}

size_t mlc_tensor_data_length(const mlc_tensor_data *data) {
    if (!data) return 0;
    return data->length;
}

/* ---- elements ---------------------------------------------------------------------------------*/

double mlc_element(mlc_data_type type, const void *bytes, size_t i) {
    switch (type) {
    case MLC_DATA_TYPE_FLOAT32: return ((const float *)bytes)[i];
    case MLC_DATA_TYPE_FLOAT16: return mica_convert_f16_f32(((const uint16_t *)bytes)[i]);
    case MLC_DATA_TYPE_INT64: return (double)((const int64_t *)bytes)[i];
    case MLC_DATA_TYPE_INT32: return ((const int32_t *)bytes)[i];
    case MLC_DATA_TYPE_INT8: return ((const int8_t *)bytes)[i];
    case MLC_DATA_TYPE_BOOLEAN: return ((const uint8_t *)bytes)[i] != 0;
    case MLC_DATA_TYPE_UINT8: return ((const uint8_t *)bytes)[i];
    case MLC_DATA_TYPE_INVALID: break;
    }
    return 0;
}

static double saturate(double value, double low, double high) {
    return value != value ? 0 : value < low ? low : value > high ? high : trunc(value);
}

void mlc_set_element(mlc_data_type type, void *bytes, size_t i, double value) {
    switch (type) {
    case MLC_DATA_TYPE_FLOAT32: ((float *)bytes)[i] = (float)value; break;
    case MLC_DATA_TYPE_FLOAT16: ((uint16_t *)bytes)[i] = mica_convert_f64_f16(value); break;
    case MLC_DATA_TYPE_INT64:
        ((int64_t *)bytes)[i] =
            value >= 0x1p63 ? INT64_MAX : (int64_t)saturate(value, -0x1p63, 0x1p63);
        break;
    case MLC_DATA_TYPE_INT32:
        ((int32_t *)bytes)[i] = (int32_t)saturate(value, INT32_MIN, INT32_MAX);
        break;
    case MLC_DATA_TYPE_INT8: ((int8_t *)bytes)[i] = (int8_t)saturate(value, -128, 127); break;
    case MLC_DATA_TYPE_BOOLEAN: ((uint8_t *)bytes)[i] = value != 0; break;
    case MLC_DATA_TYPE_UINT8: ((uint8_t *)bytes)[i] = (uint8_t)saturate(value, 0, 255); break;
    case MLC_DATA_TYPE_INVALID: break;
    }
}

bool mlc_bytes_are_finite(mica_dtype dtype, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (dtype == MICA_DTYPE_f32 && !isfinite(((const float *)bytes)[i])) return false;
        if (dtype == MICA_DTYPE_f16 && (((const uint16_t *)bytes)[i] & 0x7c00) == 0x7c00)
            return false;
    }
    return true;
}

/* ---- tensors ----------------------------------------------------------------------------------*/

static uint64_t last_id;

mica_status mlc_tensor_create(mlc_tensor_descriptor *descriptor, mlc_tensor **out_tensor) {
    MICA_GIVEN(out_tensor);
    *out_tensor = NULL;
    if (!descriptor) return MICA_INVALID("[tensor] the descriptor is NULL");
    mlc_tensor *t = mica_calloc(1, sizeof *t);
    if (!t) return MICA_NO_MEMORY();
    mica_refcount_init(&t->references);
    t->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
    t->descriptor = descriptor;
    mlc_tensor_descriptor_retain(descriptor);
    snprintf(t->default_label, sizeof t->default_label, "data%llu", (unsigned long long)t->id);
    *out_tensor = t;
    return NULL;
}

/* A tensor with memory of its own, filled at random or (type Invalid) with a number. */
static mica_status create_made(mlc_tensor_descriptor *d, mlc_random_initializer_type type,
                               double value, mlc_tensor **out_tensor) {
    mlc_tensor *t = NULL;
    MICA_TRY(mlc_tensor_create(d, &t));
    mica_status status = mlc_tensor_data_allocate(mica_type_bytes(&d->type), &t->host);
    if (!status && type != MLC_RANDOM_INITIALIZER_INVALID)
        status = mlc_random_fill(d, type, t->host->bytes);
    else if (!status)
        for (size_t i = 0; i < (size_t)mica_type_elements(&d->type); i++)
            mlc_set_element(d->data_type, t->host->bytes, i, value);
    if (status)
        mlc_tensor_release(t);
    else
        *out_tensor = t;
    return status;
}

mica_status mlc_tensor_create_random(mlc_tensor_descriptor *descriptor,
                                     mlc_random_initializer_type type, mlc_tensor **out_tensor) {
    MICA_GIVEN(out_tensor);
    *out_tensor = NULL;
    if (type == MLC_RANDOM_INITIALIZER_INVALID)
        return MICA_INVALID("[tensor] the random initializer is Invalid");
    return create_made(descriptor, type, 0, out_tensor);
}

mica_status mlc_tensor_create_filled(mlc_tensor_descriptor *descriptor, double value,
                                     mlc_tensor **out_tensor) {
    MICA_GIVEN(out_tensor);
    *out_tensor = NULL;
    return create_made(descriptor, MLC_RANDOM_INITIALIZER_INVALID, value, out_tensor);
}

static mica_status check_length(const mlc_tensor *t, const mlc_tensor_data *data) {
    size_t bytes = mica_type_bytes(&t->descriptor->type);
    if (!data) return MICA_INVALID("[%s] the data is NULL", mlc_tensor_label(t));
    if (data->length != bytes)
        return MICA_INVALID("[%s] %zu bytes of data for %s of shape %s, which has %zu",
                            mlc_tensor_label(t), data->length,
                            mlc_data_type_description(t->descriptor->data_type),
                            mlc_tensor_shape_text(t).chars, bytes);
    return NULL;
}

mica_status mlc_tensor_create_with_data(mlc_tensor_descriptor *descriptor, mlc_tensor_data *data,
                                        mlc_tensor **out_tensor) {
    MICA_GIVEN(out_tensor);
    mlc_tensor *t = NULL;
    *out_tensor = NULL;
    MICA_TRY(mlc_tensor_create(descriptor, &t));
    mica_status status = check_length(t, data);
    if (status) {
        mlc_tensor_release(t);
        return status;
    }
    mlc_tensor_data_retain(data);
    t->host = data;
    *out_tensor = t;
    return NULL;
}

/* The forms that make their own descriptor. Of the parts one is given: data, or an initializer, or
 * (is_filled) a number. */
typedef struct contents {
    mlc_tensor_data *data;
    bool has_data, is_random, is_filled;
    mlc_random_initializer_type initializer;
    double value;
} contents;

static mica_status create_with(mlc_tensor_descriptor *d, const contents *c,
                               mlc_tensor **out_tensor) {
    mica_status status = c->has_data    ? mlc_tensor_create_with_data(d, c->data, out_tensor)
                         : c->is_random ? mlc_tensor_create_random(d, c->initializer, out_tensor)
                         : c->is_filled ? mlc_tensor_create_filled(d, c->value, out_tensor)
                                        : mlc_tensor_create(d, out_tensor);
    mlc_tensor_descriptor_release(d);
    return status;
}

static mica_status with_shape(mica_ints shape, mlc_data_type type, const contents *c,
                              mlc_tensor **out_tensor) {
    mlc_tensor_descriptor *d = NULL;
    *out_tensor = NULL;
    if (type == MLC_DATA_TYPE_INVALID) type = MLC_DATA_TYPE_FLOAT32;
    MICA_TRY(mlc_tensor_descriptor_create(shape, type, &d));
    return create_with(d, c, out_tensor);
}

mica_status mlc_tensor_with_shape(mica_ints shape, mlc_data_type type, mlc_tensor **out_tensor) {
    MICA_GIVEN(MICA_ARRAY(shape), out_tensor);
    return with_shape(shape, type, &(contents){0}, out_tensor);
}

mica_status mlc_tensor_with_shape_random(mica_ints shape, mlc_random_initializer_type initializer,
                                         mlc_data_type type, mlc_tensor **out_tensor) {
    MICA_GIVEN(MICA_ARRAY(shape), out_tensor);
    return with_shape(shape, type, &(contents){.is_random = true, .initializer = initializer},
                      out_tensor);
}

mica_status mlc_tensor_with_shape_data(mica_ints shape, mlc_tensor_data *data, mlc_data_type type,
                                       mlc_tensor **out_tensor) {
    MICA_GIVEN(MICA_ARRAY(shape), out_tensor);
    return with_shape(shape, type, &(contents){.has_data = true, .data = data}, out_tensor);
}

mica_status mlc_tensor_with_shape_filled(mica_ints shape, double value, mlc_data_type type,
                                         mlc_tensor **out_tensor) {
    MICA_GIVEN(MICA_ARRAY(shape), out_tensor);
    return with_shape(shape, type, &(contents){.is_filled = true, .value = value}, out_tensor);
}

mica_status mlc_tensor_image(int64_t width, int64_t height, int64_t channels, int64_t batch,
                             mlc_tensor **out_tensor) {
    return mlc_tensor_with_shape(MICA_INTS(batch, channels, height, width), MLC_DATA_TYPE_FLOAT32,
                                 out_tensor);
}

mica_status mlc_tensor_image_filled(int64_t width, int64_t height, int64_t channels, int64_t batch,
                                    double value, mlc_data_type type, mlc_tensor **out_tensor) {
    return mlc_tensor_with_shape_filled(MICA_INTS(batch, channels, height, width), value, type,
                                        out_tensor);
}

mica_status mlc_tensor_image_random(int64_t width, int64_t height, int64_t channels, int64_t batch,
                                    mlc_random_initializer_type type, mlc_tensor **out_tensor) {
    return mlc_tensor_with_shape_random(MICA_INTS(batch, channels, height, width), type,
                                        MLC_DATA_TYPE_FLOAT32, out_tensor);
}

mica_status mlc_tensor_image_data(int64_t width, int64_t height, int64_t channels, int64_t batch,
                                  mlc_tensor_data *data, mlc_data_type type,
                                  mlc_tensor **out_tensor) {
    return mlc_tensor_with_shape_data(MICA_INTS(batch, channels, height, width), data, type,
                                      out_tensor);
}

mica_status mlc_tensor_sequence(int64_t length, int64_t channels, int64_t batch,
                                mlc_tensor **out_tensor) {
    return mlc_tensor_with_shape(MICA_INTS(batch, length, channels), MLC_DATA_TYPE_FLOAT32,
                                 out_tensor);
}

mica_status mlc_tensor_sequence_random(int64_t length, int64_t channels, int64_t batch,
                                       mlc_random_initializer_type type, mlc_tensor **out_tensor) {
    return mlc_tensor_with_shape_random(MICA_INTS(batch, length, channels), type,
                                        MLC_DATA_TYPE_FLOAT32, out_tensor);
}

mica_status mlc_tensor_sequence_data(int64_t length, int64_t channels, int64_t batch,
                                     mlc_tensor_data *data, mlc_tensor **out_tensor) {
    return mlc_tensor_with_shape_data(MICA_INTS(batch, length, channels), data,
                                      MLC_DATA_TYPE_FLOAT32, out_tensor);
}

static mica_status sequences(mica_ints lengths, bool sorted, int64_t channels, int64_t batch,
                             const contents *c, mlc_tensor **out_tensor) {
    mlc_tensor_descriptor *d = NULL;
    int64_t longest = 1;
    *out_tensor = NULL;
    for (int32_t i = 0; i < lengths.n; i++)
        if (lengths.data[i] > longest) longest = lengths.data[i];
    MICA_TRY(mlc_tensor_descriptor_with_sequences(MICA_INTS(batch, longest, channels), lengths,
                                                  sorted, MLC_DATA_TYPE_FLOAT32, &d));
    return create_with(d, c, out_tensor);
}

mica_status mlc_tensor_sequences_random(mica_ints lengths, bool sorted, int64_t channels,
                                        int64_t batch, mlc_random_initializer_type type,
                                        mlc_tensor **out_tensor) {
    MICA_GIVEN(MICA_ARRAY(lengths), out_tensor);
    return sequences(lengths, sorted, channels, batch,
                     &(contents){.is_random = true, .initializer = type}, out_tensor);
}

mica_status mlc_tensor_sequences_data(mica_ints lengths, bool sorted, int64_t channels,
                                      int64_t batch, mlc_tensor_data *data,
                                      mlc_tensor **out_tensor) {
    MICA_GIVEN(MICA_ARRAY(lengths), out_tensor);
    return sequences(lengths, sorted, channels, batch, &(contents){.has_data = true, .data = data},
                     out_tensor);
}

void mlc_tensor_retain(mlc_tensor *t) {
    if (!t) return;
    mica_refcount_retain(&t->references);
}

void mlc_tensor_release(mlc_tensor *t) {
    if (!t || !mica_refcount_release(&t->references)) return;
    mlc_tensor_clear_optimizer(t, true);
    mica_tensor_release(t->value);
    mlc_device_release(t->device);
    mlc_tensor_data_release(t->host);
    mlc_tensor_descriptor_release(t->descriptor);
    mica_free(t->label);
    mica_free(t);
}

uint64_t mlc_tensor_id(const mlc_tensor *t) {
    if (!t) return 0;
    return t->id;
}

mlc_tensor_descriptor *mlc_tensor_descriptor_of(const mlc_tensor *t) {
    if (!t) return NULL;
    return t->descriptor;
}

const char *mlc_tensor_label(const mlc_tensor *t) {
    if (!t) return "";
    return t->label ? t->label : t->default_label;
}

mica_status mlc_tensor_set_label(mlc_tensor *t, const char *label) {
    MICA_GIVEN(t);
    char *copy = label ? mica_strdup(label) : NULL;
    if (label && !copy) return MICA_NO_MEMORY();
    mica_free(t->label);
    t->label = copy;
    return NULL;
}

/* ---- parameters -------------------------------------------------------------------------------*/

mica_status mlc_tensor_parameter_create(mlc_tensor *tensor, mlc_tensor_parameter **out_parameter) {
    MICA_GIVEN(out_parameter);
    *out_parameter = NULL;
    if (!tensor) return MICA_INVALID("[tensor parameter] the tensor is NULL");
    mlc_tensor_parameter *p = mica_calloc(1, sizeof *p);
    if (!p) return MICA_NO_MEMORY();
    mica_refcount_init(&p->references);
    p->tensor = tensor;
    p->is_updatable = true;
    mlc_tensor_retain(tensor);
    *out_parameter = p;
    return NULL;
}

mica_status mlc_tensor_parameter_create_with_optimizer_data(mlc_tensor *tensor, mlc_data_list data,
                                                            mlc_tensor_parameter **out_parameter) {
    MICA_GIVEN(MICA_ARRAY(data), out_parameter);
    MICA_TRY(mlc_tensor_parameter_create(tensor, out_parameter));
    mica_status status =
        mlc_tensor_bind_optimizer_data(tensor, data, (mlc_device_data_list){NULL, 0});
    if (status) {
        mlc_tensor_parameter_release(*out_parameter);
        *out_parameter = NULL;
    }
    return status;
}

void mlc_tensor_parameter_retain(mlc_tensor_parameter *p) {
    if (!p) return;
    mica_refcount_retain(&p->references);
}

void mlc_tensor_parameter_release(mlc_tensor_parameter *p) {
    if (!p || !mica_refcount_release(&p->references)) return;
    mlc_tensor_release(p->tensor);
    mica_free(p);
}

mlc_tensor *mlc_tensor_parameter_tensor(const mlc_tensor_parameter *p) {
    if (!p) return NULL;
    return p->tensor;
}

bool mlc_tensor_parameter_is_updatable(const mlc_tensor_parameter *p) {
    if (!p) return false;
    return p->is_updatable;
}

void mlc_tensor_parameter_set_is_updatable(mlc_tensor_parameter *p, bool is_updatable) {
    if (!p) return;
    p->is_updatable = is_updatable;
}
