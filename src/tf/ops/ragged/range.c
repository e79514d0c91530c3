/* RaggedRange. */
#include <math.h>
#include <string.h>

#include "tf/ops/ragged/ragged.h"

/* Three inputs of any of the dtypes: integers, and the same as doubles. */
typedef struct progression {
    int64_t start, limit, delta;
    double real[3];
} progression;

static double real_at(const void *data, mica_dtype dtype, int64_t i) {
    if (dtype == MICA_DTYPE_f32) return ((const float *)data)[i];
    if (dtype == MICA_DTYPE_f64) return ((const double *)data)[i];
    return mica_tf_half_value(((const uint16_t *)data)[i], true);
}

static int64_t int_at(const void *data, mica_dtype dtype, int64_t i) {
    return dtype == MICA_DTYPE_i32 ? ((const int32_t *)data)[i] : ((const int64_t *)data)[i];
}

static bool is_integer(mica_dtype dtype) {
    return dtype == MICA_DTYPE_i32 || dtype == MICA_DTYPE_i64;
}

static progression row_at(const void *const *data, const int64_t *sizes, mica_dtype dtype,
                          int64_t row) {
    progression p = {0};
    int64_t ints[3] = {0};
    for (int k = 0; k < 3; k++) {
        int64_t i = sizes[k] < 0 ? 0 : row; /* a scalar is every row's */
        if (is_integer(dtype))
            ints[k] = int_at(data[k], dtype, i);
        else
            p.real[k] = real_at(data[k], dtype, i);
    }
    p.start = ints[0], p.limit = ints[1], p.delta = ints[2];
    return p;
}

static mica_status length_of(const progression *p, mica_dtype dtype, int64_t *out) {
    *out = 0;
    if (is_integer(dtype) ? p->delta == 0 : p->real[2] == 0)
        return MICA_INVALID("[RaggedRange] Requires delta != 0");
    if (is_integer(dtype)) {
        if (p->delta > 0 ? p->start >= p->limit : p->start <= p->limit) return NULL;
        uint64_t span = p->delta > 0 ? (uint64_t)p->limit - (uint64_t)p->start
                                     : (uint64_t)p->start - (uint64_t)p->limit;
        uint64_t step = p->delta > 0 ? (uint64_t)p->delta : 0 - (uint64_t)p->delta;
        uint64_t n = (span - 1) / step + 1;
        if (n > (uint64_t)TF_RAGGED_MOST)
            return MICA_INVALID("[RaggedRange] a row of %llu numbers is too long",
                                (unsigned long long)n);
        *out = (int64_t)n;
        return NULL;
    }
    double n = ceil(fabs((p->real[1] - p->real[0]) / p->real[2]));
    if (!(p->real[2] > 0 ? p->real[0] < p->real[1] : p->real[0] > p->real[1])) return NULL;
    if (!(n <= (double)TF_RAGGED_MOST))
        return MICA_INVALID("[RaggedRange] a row from %g to %g by %g is too long", p->real[0],
                            p->real[1], p->real[2]);
    *out = (int64_t)n;
    return NULL;
}

static uint16_t bf16_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void fill(void *out, mica_dtype dtype, const progression *p, int64_t n) {
    for (int64_t i = 0; i < n; i++) switch (dtype) {
        case MICA_DTYPE_i32: ((int32_t *)out)[i] = (int32_t)(p->start + i * p->delta); break;
        case MICA_DTYPE_i64:
            ((int64_t *)out)[i] = (int64_t)((uint64_t)p->start + (uint64_t)i * (uint64_t)p->delta);
            break;
        case MICA_DTYPE_f32:
            ((float *)out)[i] = i ? ((float *)out)[i - 1] + (float)p->real[2] : (float)p->real[0];
            break;
        case MICA_DTYPE_f64:
            ((double *)out)[i] = i ? ((double *)out)[i - 1] + p->real[2] : p->real[0];
            break;
        default:
            ((uint16_t *)out)[i] =
                bf16_of((float)(i ? mica_tf_half_value(((uint16_t *)out)[i - 1], true) + p->real[2]
                                  : p->real[0]));
        }
}

static mica_status write_rows(mica_tf_host *c, const void *const *data, const int64_t *sizes,
                              mica_dtype dtype, const tf_ragged_ints *splits) {
    mica_type type = mica_type_make(dtype, MICA_INTS(splits->data[splits->n - 1]));
    mica_tensor *tensor = NULL;
    void *out;
    MICA_TRY(mica_tensor_create(c->device, &type, &tensor));
    c->outputs[1] = mica_tf_value_of(tensor);
    MICA_TRY(mica_tensor_open_view(tensor, MICA_WRITE, &out));
    for (int64_t r = 0; r + 1 < splits->n; r++) {
        progression p = row_at(data, sizes, dtype, r);
        fill((char *)out + (size_t)splits->data[r] * mica_dtype_bytes(dtype), dtype, &p,
             splits->data[r + 1] - splits->data[r]);
    }
    return mica_tensor_close_view(tensor);
}

static mica_status find_splits(const void *const *data, const int64_t *sizes, mica_dtype dtype,
                               tf_ragged_ints *splits) {
    for (int64_t r = 0; r + 1 < splits->n; r++) {
        progression p = row_at(data, sizes, dtype, r);
        int64_t n;
        MICA_TRY(length_of(&p, dtype, &n));
        splits->data[r + 1] = splits->data[r] + n;
        if (splits->data[r + 1] > TF_RAGGED_MOST)
            return MICA_INVALID("[RaggedRange] the rows have more than %lld numbers together",
                                (long long)TF_RAGGED_MOST);
    }
    return NULL;
}

mica_status tf_host_ragged_range(mica_tf_host *c) {
    mica_dtype dtype = mica_tf_dtype_core(c->inputs[0].dtype);
    const void *data[3] = {NULL};
    int64_t sizes[3], rows = 1;
    for (int32_t i = 0; i < 3; i++) {
        mica_tf_shape shape;
        mica_tf_value_shape(c->inputs[i], &shape);
        sizes[i] = shape.rank ? shape.dims[0] : -1; /* the shape function has compared them */
        if (shape.rank) rows = shape.dims[0];
    }
    tf_ragged_ints splits;
    MICA_TRY(tf_ragged_room(rows + 1, &splits));
    mica_status status = NULL;
    int32_t opened = 0;
    for (; !status && opened < 3; opened += !status)
        status = mica_tf_open(c->inputs[opened], &data[opened]);
    if (!status) status = find_splits(data, sizes, dtype, &splits);
    if (!status) status = tf_ragged_give(c, 0, splits.data, splits.n);
    if (!status) status = write_rows(c, data, sizes, dtype, &splits);
    for (int32_t i = 0; i < opened; i++) mica_tf_close(c->inputs[i]);
    mica_free(splits.data);
    return status;
}
