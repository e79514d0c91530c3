/* Quantized tensors: q = clamp(round(x / scale) + bias), x = (q - bias) scale. */
#include <math.h>
#include <string.h>

#include "mlc/objects.h"

/* One scale and bias, or one per place along an axis. */
typedef struct quantization {
    const mlc_tensor_data *scale, *bias;
    mlc_data_type scale_type, bias_type;
    double one_scale, one_bias;
    int64_t inner, n; /* place = element / inner % n */
} quantization;

static double scale_at(const quantization *q, size_t i) {
    size_t place = (size_t)((int64_t)i / q->inner % q->n);
    return q->scale ? mlc_element(q->scale_type, q->scale->bytes, place) : q->one_scale;
}

static double bias_at(const quantization *q, size_t i) {
    size_t place = (size_t)((int64_t)i / q->inner % q->n);
    return q->bias ? mlc_element(q->bias_type, q->bias->bytes, place) : q->one_bias;
}

static bool is_quantized(mlc_data_type type) {
    return type == MLC_DATA_TYPE_INT8 || type == MLC_DATA_TYPE_UINT8 || type == MLC_DATA_TYPE_INT32;
}

/* The values of scale or bias: one for all (axis < 0), or one per place. */
static mica_status take(mlc_tensor *t, mlc_tensor *values, const char *what, int64_t n,
                        const mlc_tensor_data **out_data, mlc_data_type *out_type) {
    if (!values) return MICA_INVALID("[%s] the %s is NULL", mlc_tensor_label(t), what);
    MICA_TRY(mlc_tensor_synchronize_data(values));
    if (mica_type_elements(&values->descriptor->type) != n)
        return MICA_INVALID("[%s] the %s has the shape %s, %lld elements are needed",
                            mlc_tensor_label(t), what, mlc_tensor_shape_text(values).chars,
                            (long long)n);
    *out_data = mlc_tensor_data_of(values);
    *out_type = values->descriptor->data_type;
    return NULL;
}

static mica_status take_both(mlc_tensor *t, mlc_tensor *scale, mlc_tensor *bias, int64_t axis,
                             bool has_axis, quantization *q) {
    const mica_type *type = &t->descriptor->type;
    if (has_axis && (axis < 0 || axis >= type->rank))
        return MICA_INVALID("[%s] axis %lld is out of range for the shape %s", mlc_tensor_label(t),
                            (long long)axis, mlc_tensor_shape_text(t).chars);
    q->n = has_axis ? type->dims[axis] : 1;
    q->inner = 1;
    for (int32_t i = type->rank; has_axis && i-- > axis + 1;) q->inner *= type->dims[i];
    MICA_TRY(take(t, scale, "scale", q->n, &q->scale, &q->scale_type));
    return take(t, bias, "bias", q->n, &q->bias, &q->bias_type);
}

static mica_status convert(mlc_tensor *t, mlc_data_type type, const quantization *q, bool quantizes,
                           mlc_tensor **out_tensor) {
    mlc_data_type from = t->descriptor->data_type;
    if (quantizes ? !mlc_data_type_is_float(from) || !is_quantized(type)
                  : !is_quantized(from) || !mlc_data_type_is_float(type))
        return MICA_INVALID("[%s] cannot %s %s to %s", mlc_tensor_label(t),
                            quantizes ? "quantize" : "dequantize", mlc_data_type_description(from),
                            mlc_data_type_description(type) ? mlc_data_type_description(type)
                                                            : "an unknown type");
    MICA_TRY(mlc_tensor_synchronize_data(t));
    const void *x = mlc_tensor_data_of(t)->bytes;
    mlc_tensor *result = NULL;
    MICA_TRY(mlc_tensor_with_shape_filled(mlc_dims(&t->descriptor->type), 0, type, &result));
    void *y = result->host->bytes;
    for (size_t i = 0; i < (size_t)mica_type_elements(&t->descriptor->type); i++) {
        double scale = scale_at(q, i), bias = bias_at(q, i), value = mlc_element(from, x, i);
        mlc_set_element(type, y, i,
                        quantizes ? nearbyint(value / scale) + bias : (value - bias) * scale);
    }
    *out_tensor = result;
    return NULL;
}

mica_status mlc_tensor_quantize(mlc_tensor *t, mlc_data_type type, float scale, int64_t bias,
                                mlc_tensor **out_tensor) {
    MICA_GIVEN(t, out_tensor);
    *out_tensor = NULL;
    if (!(scale > 0) || isinf(scale))
        return MICA_INVALID("[%s] the scale %g is not positive", mlc_tensor_label(t),
                            (double)scale);
    quantization q = {.one_scale = scale, .one_bias = (double)bias, .inner = 1, .n = 1};
    return convert(t, type, &q, true, out_tensor);
}

mica_status mlc_tensor_quantize_axis(mlc_tensor *t, mlc_data_type type, mlc_tensor *scale,
                                     mlc_tensor *bias, int64_t axis, mlc_tensor **out_tensor) {
    MICA_GIVEN(t, out_tensor);
    quantization q = {0};
    *out_tensor = NULL;
    MICA_TRY(take_both(t, scale, bias, axis, true, &q));
    return convert(t, type, &q, true, out_tensor);
}

mica_status mlc_tensor_dequantize(mlc_tensor *t, mlc_data_type type, mlc_tensor *scale,
                                  mlc_tensor *bias, mlc_tensor **out_tensor) {
    MICA_GIVEN(t, out_tensor);
    quantization q = {0};
    *out_tensor = NULL;
    MICA_TRY(take_both(t, scale, bias, 0, false, &q));
    return convert(t, type, &q, false, out_tensor);
}

mica_status mlc_tensor_dequantize_axis(mlc_tensor *t, mlc_data_type type, mlc_tensor *scale,
                                       mlc_tensor *bias, int64_t axis, mlc_tensor **out_tensor) {
    MICA_GIVEN(t, out_tensor);
    quantization q = {0};
    *out_tensor = NULL;
    MICA_TRY(take_both(t, scale, bias, axis, true, &q));
    return convert(t, type, &q, false, out_tensor);
}
