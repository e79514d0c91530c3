/* Datasets that begin a pipeline: ranges, values, slices of values. */
#include "data/archive.h"

/* ---- range ------------------------------------------------------------------------------------*/

typedef struct range_dataset {
    mica_dataset base;
    int64_t start, stop, step;
    mica_tf_dtype dtype;
} range_dataset;

/* How many there are; differences are taken without overflow. */
static int64_t range_count(const mica_dataset *dataset) {
    const range_dataset *r = (const range_dataset *)dataset;
    bool up = r->step > 0;
    if (up ? r->start >= r->stop : r->start <= r->stop) return 0;
    uint64_t distance =
        up ? (uint64_t)r->stop - (uint64_t)r->start : (uint64_t)r->start - (uint64_t)r->stop;
    uint64_t stride = up ? (uint64_t)r->step : 0 - (uint64_t)r->step;
    uint64_t count = (distance - 1) / stride + 1;
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

typedef union range_number {
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f32;
    double f64;
} range_number;

/* The value as a number of a dtype; false for a dtype that ranges are not made of. */
static bool write_number(mica_tf_dtype dtype, int64_t value, range_number *out) {
    switch ((int)dtype) {
    case MICA_TF_int8: out->i8 = (int8_t)value; return true;
    case MICA_TF_int16: out->i16 = (int16_t)value; return true;
    case MICA_TF_int32: out->i32 = (int32_t)value; return true;
    case MICA_TF_int64: out->i64 = value; return true;
    case MICA_TF_uint8: out->u8 = (uint8_t)value; return true;
    case MICA_TF_uint16: out->u16 = (uint16_t)value; return true;
    case MICA_TF_uint32: out->u32 = (uint32_t)value; return true;
    case MICA_TF_uint64: out->u64 = (uint64_t)value; return true;
    case MICA_TF_float32: out->f32 = (float)value; return true;
    case MICA_TF_float64: out->f64 = (double)value; return true;
    default: return false;
    }
}

static mica_status make_scalar(mica_device *device, mica_tf_dtype dtype, int64_t value,
                               mica_tf_value *out) {
    mica_type type = mica_type_scalar(mica_tf_dtype_core(dtype));
    mica_tensor *tensor = NULL;
    range_number number = {0};
    write_number(dtype, value, &number);
    MICA_TRY(mica_tensor_from_host(device, &type, &number, &tensor));
    *out = (mica_tf_value){dtype, tensor};
    return NULL;
}

static mica_status range_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const range_dataset *r = (const range_dataset *)it->dataset;
    int64_t *made = it->state;
    if (*made >= range_count(it->dataset)) {
        *end = true;
        return NULL;
    }
    int64_t value = (int64_t)((uint64_t)r->start + (uint64_t)*made * (uint64_t)r->step);
    MICA_TRY(make_scalar(it->device, r->dtype, value, out));
    ++*made;
    return NULL;
}

static mica_status range_archive(mica_iterator *it, mica_archive *a) {
    return mica_archive_int(a, it->state, 0, range_count(it->dataset));
}

static const mica_dataset_class range_class = {
    .name = "RangeDataset",
    .bytes = sizeof(range_dataset),
    .state_bytes = sizeof(int64_t),
    .next = range_next,
    .cardinality = range_count,
    .archive = range_archive,
};

mica_status mica_dataset_range(int64_t start, int64_t stop, int64_t step, mica_tf_dtype dtype,
                               mica_dataset **out_dataset) {
    MICA_GIVEN(out_dataset);
    *out_dataset = NULL;
    if (step == 0) return MICA_INVALID("[RangeDataset] step cannot be 0");
    range_number number;
    if (!write_number(dtype, start, &number))
        return MICA_INVALID("[RangeDataset] numbers of 8 to 64 bits are made, not %s",
                            mica_tf_dtype_name(dtype) ? mica_tf_dtype_name(dtype) : "this dtype");
    MICA_TRY(mica_dataset_make(&range_class, NULL, 0, 1, out_dataset));
    range_dataset *r = (range_dataset *)*out_dataset;
    r->start = start;
    r->stop = stop;
    r->step = step;
    r->dtype = dtype;
    return NULL;
}

/* ---- values as they are, and their slices -----------------------------------------------------*/

typedef struct values_dataset {
    mica_dataset base;
    mica_tf_value *values; /* retained */
    int64_t count;         /* elements */
} values_dataset;

static void values_destroy(mica_dataset *dataset) {
    values_dataset *v = (values_dataset *)dataset;
    if (v->values) mica_values_release(v->values, dataset->n_components);
    mica_free(v->values);
}

static int64_t values_count(const mica_dataset *dataset) {
    return ((const values_dataset *)dataset)->count;
}

static mica_status tensors_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const values_dataset *v = (const values_dataset *)it->dataset;
    int64_t *made = it->state;
    *end = *made > 0;
    if (*end) return NULL;
    ++*made;
    for (int32_t i = 0; i < it->dataset->n_components; i++) {
        out[i] = v->values[i];
        mica_tf_value_retain(out[i]);
    }
    return NULL;
}

static mica_status slices_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const values_dataset *v = (const values_dataset *)it->dataset;
    int64_t *made = it->state;
    *end = *made >= v->count;
    if (*end) return NULL;
    int64_t i = (*made)++;
    for (int32_t k = 0; k < it->dataset->n_components; k++)
        MICA_TRY(mica_value_slice(v->values[k], i, &out[k]));
    return NULL;
}

static mica_status values_archive(mica_iterator *it, mica_archive *a) {
    return mica_archive_int(a, it->state, 0, values_count(it->dataset));
}

static const mica_dataset_class tensors_class = {
    .name = "TensorDataset",
    .bytes = sizeof(values_dataset),
    .state_bytes = sizeof(int64_t),
    .destroy = values_destroy,
    .next = tensors_next,
    .cardinality = values_count,
    .archive = values_archive,
};
static const mica_dataset_class slices_class = {
    .name = "TensorSliceDataset",
    .bytes = sizeof(values_dataset),
    .state_bytes = sizeof(int64_t),
    .destroy = values_destroy,
    .next = slices_next,
    .cardinality = values_count,
    .archive = values_archive,
};

static mica_status make_values(const mica_dataset_class *class, const mica_tf_value *values,
                               int32_t n, int64_t count, mica_dataset **out) {
    MICA_TRY(mica_dataset_make(class, NULL, 0, n, out));
    values_dataset *v = (values_dataset *)*out;
    v->count = count;
    mica_status status = mica_values_copy(values, n, &v->values);
    if (status) {
        mica_dataset_release(*out);
        *out = NULL;
    }
    return status;
}

mica_status mica_dataset_tensors(const mica_tf_value *values, int32_t n,
                                 mica_dataset **out_dataset) {
    MICA_GIVEN(MICA_MANY(values, n), out_dataset);
    MICA_TRY(make_values(&tensors_class, values, n, 1, out_dataset));
    for (int32_t i = 0; i < n; i++) {
        mica_tf_shape shape;
        mica_tf_value_shape(values[i], &shape);
        int64_t size = shape.rank > 0 ? shape.dims[0] : 0;
        (*out_dataset)->first_size = i == 0 || (*out_dataset)->first_size == size ? size : 0;
        if ((*out_dataset)->first_size == 0) break;
    }
    return NULL;
}

mica_status mica_dataset_slices(const mica_tf_value *values, int32_t n,
                                mica_dataset **out_dataset) {
    MICA_GIVEN(MICA_MANY(values, n), out_dataset);
    *out_dataset = NULL;
    int64_t count = 0;
    if (n < 1) return MICA_INVALID("[TensorSliceDataset] there is no component to slice");
    for (int32_t i = 0; i < n; i++) {
        int64_t size;
        MICA_TRY(mica_value_first_axis("TensorSliceDataset", values[i], &size));
        if (i && size != count)
            return MICA_INVALID("[TensorSliceDataset] dimensions %lld and %lld are not compatible: "
                                "all components have the same first size",
                                (long long)count, (long long)size);
        count = size;
    }
    return make_values(&slices_class, values, n, count, out_dataset);
}
