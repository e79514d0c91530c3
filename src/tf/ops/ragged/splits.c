/* Row splits, and slices of values by their numbers. */
#include <string.h>

#include "tf/ops/ragged/ragged.h"
#include "tf/strings.h"

mica_status tf_ragged_room(int64_t n, tf_ragged_ints *out) {
    *out = (tf_ragged_ints){.n = n};
    if (n > TF_RAGGED_MOST)
        return MICA_ERROR(MICA_RESOURCE_EXHAUSTED, "%lld elements are too many", (long long)n);
    out->data = mica_calloc((size_t)n + 1, sizeof *out->data);
    return out->data ? NULL : MICA_NO_MEMORY();
}

mica_status tf_ragged_read(mica_tf_value value, tf_ragged_ints *out) {
    const mica_type *type = mica_tensor_type(value.object);
    MICA_TRY(tf_ragged_room(mica_type_elements(type), out));
    const void *data;
    mica_status status = mica_tf_open(value, &data);
    if (status) {
        mica_free(out->data);
        out->data = NULL;
        return status;
    }
    if (type->dtype == MICA_DTYPE_i32)
        for (int64_t i = 0; i < out->n; i++) out->data[i] = ((const int32_t *)data)[i];
    else
        memcpy(out->data, data, (size_t)out->n * sizeof *out->data);
    mica_tf_close(value);
    return NULL;
}

mica_status tf_ragged_check_splits(const char *op, const tf_ragged_ints *splits, int64_t n_values) {
    if (splits->n < 1) return MICA_INVALID("[%s] row splits must not be empty", op);
    if (splits->data[0] != 0)
        return MICA_INVALID("[%s] row splits must begin with 0, not %lld", op,
                            (long long)splits->data[0]);
    for (int64_t i = 1; i < splits->n; i++)
        if (splits->data[i] < splits->data[i - 1])
            return MICA_INVALID("[%s] row splits must not decrease: %lld comes after %lld", op,
                                (long long)splits->data[i], (long long)splits->data[i - 1]);
    if (splits->data[splits->n - 1] != n_values)
        return MICA_INVALID("[%s] row splits must end with the number of values, %lld, not %lld",
                            op, (long long)n_values, (long long)splits->data[splits->n - 1]);
    return NULL;
}

mica_status tf_ragged_splits_init(const char *op, const mica_tf_value *values, int32_t n,
                                  int64_t n_values, tf_ragged_ints **out_splits) {
    tf_ragged_ints *splits = *out_splits = mica_calloc((size_t)n + 1, sizeof *splits);
    if (!splits) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n; i++) MICA_TRY(tf_ragged_read(values[i], &splits[i]));
    for (int32_t i = 0; i < n; i++)
        MICA_TRY(
            tf_ragged_check_splits(op, &splits[i], i + 1 < n ? splits[i + 1].n - 1 : n_values));
    return NULL;
}

void tf_ragged_splits_deinit(tf_ragged_ints *splits, int32_t n) {
    for (int32_t i = 0; splits && i < n; i++) mica_free(splits[i].data);
    mica_free(splits);
}

mica_status tf_ragged_vector(mica_device *device, mica_tf_dtype dtype, const int64_t *ints,
                             int64_t n, mica_tf_value *out_value) {
    mica_type type = mica_type_make(mica_tf_dtype_core(dtype), MICA_INTS(n));
    mica_tensor *tensor = NULL;
    void *data;
    MICA_TRY(mica_tensor_create(device, &type, &tensor));
    mica_status status = mica_tensor_open_view(tensor, MICA_WRITE, &data);
    if (!status && type.dtype == MICA_DTYPE_i32)
        for (int64_t i = 0; i < n; i++) ((int32_t *)data)[i] = (int32_t)ints[i];
    else if (!status)
        memcpy(data, ints, (size_t)n * sizeof *ints);
    if (!status) status = mica_tensor_close_view(tensor);
    if (status) {
        mica_tensor_release(tensor);
        return status;
    }
    *out_value = mica_tf_value_of(tensor);
    return NULL;
}

mica_status tf_ragged_give(mica_tf_host *c, int32_t i, const int64_t *ints, int64_t n) {
    for (int64_t k = 0; c->output_dtypes[i] == MICA_TF_int32 && k < n; k++)
        if (ints[k] != (int32_t)ints[k])
            return MICA_INVALID("[%s] %lld does not fit int32 row splits", c->info->name,
                                (long long)ints[k]);
    return tf_ragged_vector(c->device, c->output_dtypes[i], ints, n, &c->outputs[i]);
}

/* ---- slices -----------------------------------------------------------------------------------*/

static mica_status pick_strings(mica_tf_value values, int64_t each, const int64_t *places,
                                int64_t n, mica_tf_value fill, const mica_tf_shape *shape,
                                mica_tf_value *out) {
    mica_tf_writer w;
    mica_tf_writer_init(&w);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < each; k++) {
            size_t length;
            const char *bytes = places[i] < 0
                                    ? mica_tf_strings_get(fill, k, &length)
                                    : mica_tf_strings_get(values, places[i] * each + k, &length);
            mica_text_append_bytes(&w.bytes, bytes, length);
            if (!mica_tf_writer_end(&w)) break;
        }
    return mica_tf_writer_finish(&w, mica_tf_dims(shape), out);
}

static void copy_slices(char *out, const char *data, size_t bytes, const int64_t *places, int64_t n,
                        const char *fill) {
    for (int64_t i = 0; i < n; i++)
        memcpy(out + (size_t)i * bytes, places[i] < 0 ? fill : data + (size_t)places[i] * bytes,
               bytes);
}

static mica_status pick_numbers(mica_device *device, mica_tf_value values, int64_t each,
                                const int64_t *places, int64_t n, mica_tf_value fill,
                                const mica_tf_shape *shape, mica_tf_value *out_value) {
    mica_dtype dtype = mica_tf_dtype_core(values.dtype);
    mica_type type = mica_type_make(dtype, mica_tf_dims(shape));
    mica_tensor *tensor = NULL;
    const void *data = NULL, *filling = NULL;
    void *out;
    MICA_TRY(mica_tensor_create(device, &type, &tensor));
    mica_status status = mica_tensor_open_view(tensor, MICA_WRITE, &out);
    if (!status && n && each) {
        status = mica_tf_open(values, &data);
        if (!status && fill.object) {
            status = mica_tf_open(fill, &filling);
            if (status) mica_tf_close(values);
        }
        if (!status) {
            copy_slices(out, data, (size_t)each * mica_dtype_bytes(dtype), places, n, filling);
            mica_tf_close(values);
            if (fill.object) mica_tf_close(fill);
        }
    }
    if (!status) status = mica_tensor_close_view(tensor);
    if (status) {
        mica_tensor_release(tensor);
        return status;
    }
    *out_value = mica_tf_value_of(tensor);
    return NULL;
}

mica_status tf_ragged_pick(mica_device *device, mica_tf_value values, const int64_t *places,
                           int64_t n, mica_tf_value fill, const mica_tf_shape *shape,
                           mica_tf_value *out_value) {
    mica_tf_shape own;
    int64_t each = 1, total;
    mica_tf_value_shape(values, &own);
    for (int32_t i = 1; i < own.rank; i++) each *= own.dims[i];
    if (__builtin_mul_overflow(each, n, &total) || total > TF_RAGGED_MOST)
        return MICA_ERROR(MICA_RESOURCE_EXHAUSTED, "%lld slices of %lld elements are too many",
                          (long long)n, (long long)each);
    return values.dtype == MICA_TF_string
               ? pick_strings(values, each, places, n, fill, shape, out_value)
               : pick_numbers(device, values, each, places, n, fill, shape, out_value);
}

/* ---- joining ----------------------------------------------------------------------------------*/

static mica_status join_strings(const mica_tf_value *values, int64_t count,
                                const mica_tf_shape *shape, mica_tf_value *out) {
    mica_tf_writer w;
    mica_tf_writer_init(&w);
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0, n = mica_tf_strings_count(values[i]); k < n; k++) {
            size_t length;
            const char *bytes = mica_tf_strings_get(values[i], k, &length);
            mica_text_append_bytes(&w.bytes, bytes, length);
            if (!mica_tf_writer_end(&w)) break;
        }
    return mica_tf_writer_finish(&w, mica_tf_dims(shape), out);
}

static mica_status join_numbers(mica_device *device, const mica_tf_value *values, int64_t count,
                                const mica_tf_shape *shape, mica_tf_value *out_value) {
    mica_type type = mica_type_make(mica_tf_dtype_core(values[0].dtype), mica_tf_dims(shape));
    mica_tensor *tensor = NULL;
    void *out;
    MICA_TRY(mica_tensor_create(device, &type, &tensor));
    mica_status status = mica_tensor_open_view(tensor, MICA_WRITE, &out);
    size_t at = 0;
    for (int64_t i = 0; !status && i < count; i++) {
        size_t bytes = mica_type_bytes(mica_tensor_type(values[i].object));
        if (bytes) status = mica_tensor_to_host(values[i].object, (char *)out + at, bytes);
        at += bytes;
    }
    if (!status) status = mica_tensor_close_view(tensor);
    if (status) {
        mica_tensor_release(tensor);
        return status;
    }
    *out_value = mica_tf_value_of(tensor);
    return NULL;
}

mica_status tf_ragged_join(mica_device *device, const mica_tf_value *values, int64_t count,
                           mica_tf_value *out_value) {
    mica_tf_shape shape, own;
    mica_tf_value_shape(values[0], &shape);
    for (int64_t i = 1; i < count; i++) {
        mica_tf_value_shape(values[i], &own);
        shape.dims[0] += own.dims[0];
    }
    int64_t total = mica_tf_shape_elements(&shape);
    if (total < 0 || total > TF_RAGGED_MOST)
        return MICA_ERROR(MICA_RESOURCE_EXHAUSTED, "%lld rows have too many elements together",
                          (long long)count);
    return values[0].dtype == MICA_TF_string
               ? join_strings(values, count, &shape, out_value)
               : join_numbers(device, values, count, &shape, out_value);
}
