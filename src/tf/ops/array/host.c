/* Host functions of ops that make, reshape and select. */
#include <string.h>

#include "tf/host_rules.h"

static mica_status give(mica_tf_host *c, mica_tensor *tensor) {
    c->outputs[0] = mica_tf_value_of(tensor);
    return NULL;
}

mica_status tf_host_constant(mica_tf_host *c) {
    c->outputs[0] = mica_tf_host_attr(c, "value")->as.value;
    mica_tf_value_retain(c->outputs[0]);
    return NULL;
}

mica_status tf_host_identity(mica_tf_host *c) {
    c->outputs[0] = c->inputs[0];
    mica_tf_value_retain(c->outputs[0]);
    return NULL;
}

mica_status tf_host_ensure_shape(mica_tf_host *c) {
    const mica_tf_shape *wanted = mica_tf_host_attr(c, "shape")->as.shapes;
    mica_tf_shape shape, merged;
    mica_tf_value_shape(c->inputs[0], &shape);
    if (!mica_tf_shape_merge(&shape, wanted, &merged))
        return MICA_INVALID("[EnsureShape] Shape of tensor input %s is not compatible with "
                            "expected shape %s.",
                            mica_tf_shape_text(&shape).chars, mica_tf_shape_text(wanted).chars);
    return tf_host_identity(c);
}

mica_status tf_host_stop_gradient(mica_tf_host *c) {
    return tf_host_identity(c);
}

static mica_status give_ints(mica_tf_host *c, const int64_t *ints, int32_t n, int32_t rank) {
    mica_tensor *tensor = NULL;
    MICA_TRY(mica_tf_ints_tensor(c->device, mica_tf_dtype_core(c->output_dtypes[0]), ints, n, rank,
                                 &tensor));
    return give(c, tensor);
}

mica_status tf_host_shape_of(mica_tf_host *c) {
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[0], &shape);
    return give_ints(c, shape.dims, shape.rank, 1);
}

mica_status tf_host_size_of(mica_tf_host *c) {
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[0], &shape);
    int64_t n = mica_tf_shape_elements(&shape);
    return give_ints(c, &n, 1, 0);
}

mica_status tf_host_rank_of(mica_tf_host *c) {
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[0], &shape);
    int64_t rank = shape.rank;
    return give_ints(c, &rank, 1, 0);
}

/* ---- where ------------------------------------------------------------------------------------*/

static bool is_set(const uint8_t *element, size_t bytes, bool is_float) {
    bool any = false;
    for (size_t i = 0; i < bytes; i++)
        any |= (is_float && i + 1 == bytes ? element[i] & 0x7f : element[i]) != 0;
    return any;
}

static int64_t count_set(const uint8_t *data, int64_t n, size_t bytes, bool is_float) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += is_set(data + (size_t)i * bytes, bytes, is_float);
    return count;
}

static void write_places(const mica_type *type, const uint8_t *data, size_t bytes, bool is_float,
                         int64_t *out) {
    int64_t place[MICA_MAX_RANK] = {0}, n = mica_type_elements(type);
    for (int64_t i = 0; i < n; i++) {
        if (is_set(data + (size_t)i * bytes, bytes, is_float)) {
            if (type->rank) memcpy(out, place, sizeof *out * (size_t)type->rank);
            out += type->rank;
        }
        for (int32_t k = type->rank; k-- > 0;) {
            if (++place[k] < type->dims[k]) break;
            place[k] = 0;
        }
    }
}

mica_status tf_host_where(mica_tf_host *c) {
    if (!mica_tf_is_core(c->inputs[0].dtype))
        return MICA_ERROR(MICA_UNSUPPORTED, "[Where] takes numbers or bools, not strings");
    const mica_type *type = mica_tensor_type(c->inputs[0].object);
    mica_dtype_kind kind = mica_dtype_kind_of(type->dtype);
    bool is_float = kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX;
    size_t bytes = mica_dtype_bytes(type->dtype);
    const void *data;
    MICA_TRY(mica_tf_open(c->inputs[0], &data));
    int64_t n = count_set(data, mica_type_elements(type), bytes, is_float);
    mica_type result = mica_type_make(MICA_DTYPE_i64, MICA_INTS(n, type->rank));
    mica_tensor *tensor = NULL;
    void *out;
    mica_status status = mica_tensor_create(c->device, &result, &tensor);
    if (!status) status = mica_tensor_open_view(tensor, MICA_WRITE, &out);
    if (!status) {
        write_places(type, data, bytes, is_float, out);
        status = mica_tensor_close_view(tensor);
    }
    mica_tf_close(c->inputs[0]);
    if (status) {
        mica_tensor_release(tensor);
        return status;
    }
    return give(c, tensor);
}

mica_status tf_host_identity_n(mica_tf_host *c) {
    for (int32_t i = 0; i < c->n_outputs; i++) {
        c->outputs[i] = c->inputs[i];
        mica_tf_value_retain(c->outputs[i]);
    }
    return NULL;
}

mica_status tf_host_shape_n(mica_tf_host *c) {
    for (int32_t i = 0; i < c->n_outputs; i++) {
        mica_tf_host one = *c;
        one.inputs = c->inputs + i;
        one.outputs = c->outputs + i;
        MICA_TRY(tf_host_shape_of(&one));
    }
    return NULL;
}

/* places[x[i]] = i; an entry is -1 until it is named. */
static mica_status invert(const mica_tf_host *c, const void *x, bool is_wide, int64_t *places,
                          int64_t n) {
    for (int64_t i = 0; i < n; i++) places[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t place = is_wide ? ((const int64_t *)x)[i] : ((const int32_t *)x)[i];
        if (place < 0 || place >= n)
            return MICA_INVALID("[%s] %lld is not between 0 and %lld", c->info->name,
                                (long long)place, (long long)n);
        if (places[place] >= 0)
            return MICA_INVALID("[%s] %lld is duplicated in the input.", c->info->name,
                                (long long)place);
        places[place] = i;
    }
    return NULL;
}

mica_status tf_host_invert_permutation(mica_tf_host *c) {
    mica_tf_shape shape;
    const void *x;
    mica_tf_value_shape(c->inputs[0], &shape);
    int64_t n = shape.dims[0];
    if (n > INT32_MAX)
        return MICA_INVALID("[%s] permutation of nonnegative int32 must have <= %d elements",
                            c->info->name, INT32_MAX);
    int64_t *places = mica_alloc(((size_t)n + 1) * sizeof *places);
    if (!places) return MICA_NO_MEMORY();
    mica_status status = mica_tf_open(c->inputs[0], &x);
    if (!status) {
        status = invert(c, x, c->inputs[0].dtype == MICA_TF_int64, places, n);
        mica_tf_close(c->inputs[0]);
    }
    if (!status) status = give_ints(c, places, (int32_t)n, 1);
    mica_free(places);
    return status;
}
