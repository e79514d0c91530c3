/* Values: tensors and objects, strings, and reading small tensors on the host. */
#include <string.h>

#include "tf/tf.h"

static bool is_tensor(mica_tf_value value) {
    return mica_tf_is_core(value.dtype);
}

void mica_tf_value_retain(mica_tf_value value) {
    if (!value.object) return;
    if (is_tensor(value))
        mica_tensor_retain(value.object);
    else
        mica_refcount_retain(value.object);
}

void mica_tf_value_release(mica_tf_value value) {
    if (!value.object) return;
    if (is_tensor(value)) {
        mica_tensor_release(value.object);
        return;
    }
    mica_tf_object *object = value.object;
    if (mica_refcount_release(&object->references)) object->kind->destroy(object);
}

mica_tf_value mica_tf_value_of(mica_tensor *tensor) {
    if (!tensor) return (mica_tf_value){0};
    return (mica_tf_value){mica_tf_dtype_of_core(mica_tensor_type(tensor)->dtype), tensor};
}

void mica_tf_value_shape(mica_tf_value value, mica_tf_shape *out) {
    if (!out) return;
    *out = (mica_tf_shape){.rank = 0};
    if (!value.object) return;
    if (is_tensor(value)) {
        *out = mica_tf_shape_of(mica_tensor_type(value.object));
        return;
    }
    const mica_tf_object *object = value.object;
    if (object->kind->shape) object->kind->shape(object, out);
}

mica_status mica_tf_value_move(mica_tf_value value, mica_device *device, mica_tf_value *out_value) {
    *out_value = value;
    if (mica_tf_value_is_on(value, device)) {
        mica_tf_value_retain(value);
        return NULL;
    }
    mica_tensor *moved = NULL;
    out_value->object = NULL;
    MICA_TRY(mica_tensor_copy_to(value.object, device, &moved));
    out_value->object = moved;
    return NULL;
}

/* ---- strings ----------------------------------------------------------------------------------*/

typedef struct strings {
    mica_tf_object object;
    int32_t rank;
    int64_t dims[MICA_MAX_RANK], n;
    size_t *ends; /* where string i ends in bytes */
    char *bytes;
} strings;

static void destroy_strings(mica_tf_object *object) {
    mica_free(object);
}

static void shape_of_strings(const mica_tf_object *object, mica_tf_shape *out) {
    const strings *s = (const strings *)object;
    out->rank = s->rank;
    memcpy(out->dims, s->dims, sizeof s->dims);
}

static const mica_tf_class strings_class = {"string", destroy_strings, shape_of_strings};

mica_status mica_tf_strings_create(mica_ints dims, const char *const *data, const size_t *lengths,
                                   mica_tf_value *out_value) {
    MICA_GIVEN(MICA_ARRAY(dims), out_value);
    *out_value = (mica_tf_value){MICA_TF_string, NULL};
    if (dims.n > MICA_MAX_RANK) return MICA_INVALID("[string] rank %d is too high", dims.n);
    int64_t n = 1;
    for (int32_t i = 0; i < dims.n; i++)
        if (dims.data[i] < 0 || __builtin_mul_overflow(n, dims.data[i], &n))
            return MICA_INVALID("[string] a size of %lld is not possible", (long long)dims.data[i]);
    MICA_GIVEN(MICA_MANY(data, n), MICA_MANY(lengths, n));
    size_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        if (lengths[i] && !data[i])
            return MICA_INVALID("[string] element %lld is NULL", (long long)i);
        total += lengths[i];
    }
    strings *s = mica_alloc(sizeof *s + (size_t)n * sizeof *s->ends + total + 1);
    if (!s) return MICA_NO_MEMORY();
    mica_refcount_init(&s->object.references);
    s->object.kind = &strings_class;
    s->rank = dims.n;
    memset(s->dims, 0, sizeof s->dims);
    for (int32_t i = 0; i < dims.n; i++) s->dims[i] = dims.data[i];
    s->n = n;
    s->ends = (size_t *)(s + 1);
    s->bytes = (char *)(s->ends + n);
    size_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        if (lengths[i]) memcpy(s->bytes + at, data[i], lengths[i]);
        s->ends[i] = at += lengths[i];
    }
    out_value->object = s;
    return NULL;
}

int64_t mica_tf_strings_count(mica_tf_value value) {
    if (!value.object || value.dtype != MICA_TF_string) return 0;
    return ((const strings *)value.object)->n;
}

const char *mica_tf_strings_get(mica_tf_value value, int64_t i, size_t *out_length) {
    const strings *s = value.dtype == MICA_TF_string ? value.object : NULL;
    if (!out_length || !s) return "";
    *out_length = 0;
    if (i < 0 || i >= s->n) return "";
    size_t begin = i ? s->ends[i - 1] : 0;
    *out_length = s->ends[i] - begin;
    return s->bytes + begin;
}

/* ---- objects of other rooms -------------------------------------------------------------------*/

typedef struct foreign {
    mica_tf_object object;
    const char *kind;
    void *content;
    void (*release)(void *content);
} foreign;

static void destroy_foreign(mica_tf_object *object) {
    foreign *f = (foreign *)object;
    f->release(f->content);
    mica_free(f);
}

static const mica_tf_class foreign_class = {"object", destroy_foreign, NULL};

mica_status mica_tf_object_value(mica_tf_dtype dtype, const char *kind, void *object,
                                 void (*release)(void *object), mica_tf_value *out_value) {
    MICA_GIVEN(out_value);
    *out_value = (mica_tf_value){dtype, NULL};
    if (is_tensor(*out_value) || dtype == MICA_TF_string)
        return MICA_INVALID("[object] %s is no dtype of objects", mica_tf_dtype_name(dtype));
    foreign *f = mica_calloc(1, sizeof *f);
    if (!f) return MICA_NO_MEMORY();
    mica_refcount_init(&f->object.references);
    f->object.kind = &foreign_class;
    f->kind = kind;
    f->content = object;
    f->release = release;
    out_value->object = f;
    return NULL;
}

void *mica_tf_object_of(mica_tf_value value, const char *kind) {
    if (is_tensor(value) || !value.object) return NULL;
    const mica_tf_object *object = value.object;
    if (object->kind != &foreign_class) return NULL;
    const foreign *f = (const foreign *)object;
    return f->kind == kind ? f->content : NULL;
}

/* ---- several objects as one value -------------------------------------------------------------*/

typedef struct variants {
    mica_tf_object object;
    int32_t rank;
    int64_t dims[MICA_MAX_RANK], n;
    mica_tf_value elements[];
} variants;

static void destroy_variants(mica_tf_object *object) {
    variants *v = (variants *)object;
    for (int64_t i = 0; i < v->n; i++) mica_tf_value_release(v->elements[i]);
    mica_free(v);
}

static void shape_of_variants(const mica_tf_object *object, mica_tf_shape *out) {
    const variants *v = (const variants *)object;
    out->rank = v->rank;
    memcpy(out->dims, v->dims, sizeof v->dims);
}

static const mica_tf_class variants_class = {"variants", destroy_variants, shape_of_variants};

static const variants *variants_of(mica_tf_value value) {
    const mica_tf_object *object = value.dtype == MICA_TF_variant ? value.object : NULL;
    return object && object->kind == &variants_class ? (const variants *)object : NULL;
}

mica_status mica_tf_variants_create(mica_ints dims, const mica_tf_value *elements,
                                    mica_tf_value *out_value) {
    MICA_GIVEN(MICA_ARRAY(dims), out_value);
    *out_value = (mica_tf_value){MICA_TF_variant, NULL};
    if (dims.n > MICA_MAX_RANK) return MICA_INVALID("[variant] rank %d is too high", dims.n);
    int64_t n = 1;
    for (int32_t i = 0; i < dims.n; i++)
        if (dims.data[i] < 0 || __builtin_mul_overflow(n, dims.data[i], &n))
            return MICA_INVALID("[variant] a size of %lld is not possible",
                                (long long)dims.data[i]);
    MICA_GIVEN(MICA_MANY(elements, n));
    for (int64_t i = 0; i < n; i++)
        if (elements[i].dtype != MICA_TF_variant || variants_of(elements[i]))
            return MICA_INVALID("[variant] element %lld is no single variant", (long long)i);
    variants *v = mica_calloc(1, sizeof *v + (size_t)n * sizeof *v->elements);
    if (!v) return MICA_NO_MEMORY();
    mica_refcount_init(&v->object.references);
    v->object.kind = &variants_class;
    v->rank = dims.n;
    for (int32_t i = 0; i < dims.n; i++) v->dims[i] = dims.data[i];
    v->n = n;
    for (int64_t i = 0; i < n; i++) mica_tf_value_retain(v->elements[i] = elements[i]);
    out_value->object = v;
    return NULL;
}

int64_t mica_tf_variants_count(mica_tf_value value) {
    const variants *v = variants_of(value);
    return v ? v->n : value.dtype == MICA_TF_variant && value.object;
}

mica_tf_value mica_tf_variants_get(mica_tf_value value, int64_t i) {
    const variants *v = variants_of(value);
    if (i < 0 || i >= mica_tf_variants_count(value)) return (mica_tf_value){MICA_TF_variant, NULL};
    return v ? v->elements[i] : value;
}

/* ---- small tensors on the host ----------------------------------------------------------------*/

mica_status mica_tf_open(mica_tf_value value, const void **out_data) {
    void *data = NULL;
    *out_data = NULL;
    MICA_TRY(mica_tensor_open_view(value.object, MICA_READ, &data));
    *out_data = data;
    return NULL;
}

void mica_tf_close(mica_tf_value value) {
    mica_status_release(mica_tensor_close_view(value.object)); /* reading has nothing to say */
}

static int64_t element_int(const void *data, mica_dtype dtype, int64_t i) {
    switch (dtype) {
    case MICA_DTYPE_bool:
    case MICA_DTYPE_u8: return ((const uint8_t *)data)[i];
    case MICA_DTYPE_i8: return ((const int8_t *)data)[i];
    case MICA_DTYPE_i16: return ((const int16_t *)data)[i];
    case MICA_DTYPE_u16: return ((const uint16_t *)data)[i];
    case MICA_DTYPE_i32: return ((const int32_t *)data)[i];
    case MICA_DTYPE_u32: return ((const uint32_t *)data)[i];
    case MICA_DTYPE_f32: return (int64_t)((const float *)data)[i];
    case MICA_DTYPE_f64: return (int64_t)((const double *)data)[i];
    default: return ((const int64_t *)data)[i];
    }
}

mica_status mica_tf_tensor_ints(mica_tensor *tensor, int64_t *out, int32_t capacity,
                                int32_t *out_n) {
    const mica_type *type = mica_tensor_type(tensor);
    int64_t n = mica_type_elements(type);
    mica_dtype_kind kind = mica_dtype_kind_of(type->dtype);
    if (kind != MICA_KIND_SIGNED && kind != MICA_KIND_UNSIGNED && kind != MICA_KIND_BOOLEAN)
        return MICA_INVALID("[shape] integers are needed, not %s", mica_dtype_name(type->dtype));
    if (n > capacity)
        return MICA_INVALID("[shape] %lld integers where at most %d are possible", (long long)n,
                            capacity);
    void *data;
    MICA_TRY(mica_tensor_open_view(tensor, MICA_READ, &data));
    for (int64_t i = 0; i < n; i++) out[i] = element_int(data, type->dtype, i);
    *out_n = (int32_t)n;
    return mica_tensor_close_view(tensor);
}

double mica_tf_half_value(uint16_t bits, bool is_bf16) {
    if (is_bf16) {
        uint32_t wide = (uint32_t)bits << 16;
        float value;
        memcpy(&value, &wide, sizeof value);
        return value;
    }
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value = exponent == 31 ? (mantissa ? (double)__builtin_nan("") : __builtin_inf())
                   : exponent     ? (1 + mantissa / 1024.0)
                                  : mantissa / 1024.0 / 16384;
    for (int i = 15; exponent && exponent < 31 && i < exponent; i++) value *= 2;
    for (int i = exponent; exponent && exponent < 31 && i < 15; i++) value /= 2;
    return bits >> 15 ? -value : value;
}

mica_status mica_tf_tensor_double(mica_tensor *tensor, double *out) {
    const mica_type *type = mica_tensor_type(tensor);
    if (mica_type_elements(type) != 1) return MICA_INVALID("[scalar] one number is needed");
    void *data;
    MICA_TRY(mica_tensor_open_view(tensor, MICA_READ, &data));
    if (type->dtype == MICA_DTYPE_f32)
        *out = *(const float *)data;
    else if (type->dtype == MICA_DTYPE_f64)
        *out = *(const double *)data;
    else if (type->dtype == MICA_DTYPE_f16 || type->dtype == MICA_DTYPE_bf16)
        *out = mica_tf_half_value(*(const uint16_t *)data, type->dtype == MICA_DTYPE_bf16);
    else
        *out = (double)element_int(data, type->dtype, 0);
    return mica_tensor_close_view(tensor);
}

mica_status mica_tf_ints_tensor(mica_device *device, mica_dtype dtype, const int64_t *ints,
                                int32_t n, int32_t rank, mica_tensor **out_tensor) {
    mica_type type = mica_type_scalar(dtype);
    type.rank = rank;
    if (rank) type.dims[0] = n;
    int32_t narrow[64];
    if (dtype != MICA_DTYPE_i32) return mica_tensor_from_host(device, &type, ints, out_tensor);
    if (n > 64) return MICA_INVALID("[shape] %d integers are too many", n);
    for (int32_t i = 0; i < n; i++) narrow[i] = (int32_t)ints[i];
    return mica_tensor_from_host(device, &type, narrow, out_tensor);
}

mica_status mica_tf_truth(mica_tf_value value, bool *out) {
    if (value.dtype == MICA_TF_string) {
        size_t length = 0;
        if (mica_tf_strings_count(value) > 0) (void)mica_tf_strings_get(value, 0, &length);
        *out = length > 0;
        return NULL;
    }
    if (!is_tensor(value)) return MICA_INVALID("[cond] a resource has no truth value");
    const mica_type *type = mica_tensor_type(value.object);
    if (type->rank != 0) { /* not a scalar: whether it is not empty */
        *out = mica_type_elements(type) > 0;
        return NULL;
    }
    const void *data = NULL;
    MICA_TRY(mica_tf_open(value, &data));
    const uint8_t *bytes = data;
    bool any = false;
    for (size_t i = 0; i < mica_type_bytes(type); i++) any |= bytes[i] != 0;
    if (mica_dtype_kind_of(type->dtype) == MICA_KIND_FLOAT) { /* -0 is false */
        size_t last = mica_type_bytes(type) - 1;
        any = (bytes[last] & 0x7f) != 0;
        for (size_t i = 0; i < last; i++) any |= bytes[i] != 0;
    }
    mica_tf_close(value);
    *out = any;
    return NULL;
}
