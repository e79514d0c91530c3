/* Operands and results of host functions on sparse tensors. */
#include "tf/ops/sparse/sparse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- columns ----------------------------------------------------------------------------------*/

mica_status tf_column_open(mica_tf_value value, tf_column *out) {
    mica_tf_shape shape;
    *out = (tf_column){.value = value, .dtype = MICA_DTYPE_COUNT};
    mica_tf_value_shape(value, &shape);
    out->n = mica_tf_shape_elements(&shape);
    if (value.dtype == MICA_TF_string) return NULL;
    if (!mica_tf_is_core(value.dtype))
        return MICA_INVALID("[sparse] elements are numbers, bools or strings, not %s",
                            mica_tf_dtype_name(value.dtype));
    const void *data;
    MICA_TRY(mica_tf_open(value, &data));
    out->data = data;
    out->dtype = mica_tf_dtype_core(value.dtype);
    out->size = mica_dtype_bytes(out->dtype);
    return NULL;
}

void tf_column_close(tf_column *column) {
    if (column->data) mica_tf_close(column->value);
    column->data = NULL;
}

int64_t tf_column_int(const tf_column *x, int64_t i) {
    const char *at = x->data + (size_t)i * x->size;
    switch (x->dtype) {
    case MICA_DTYPE_bool:
    case MICA_DTYPE_u8: return *(const uint8_t *)at;
    case MICA_DTYPE_i8: return *(const int8_t *)at;
    case MICA_DTYPE_u16: return *(const uint16_t *)at;
    case MICA_DTYPE_i16: return *(const int16_t *)at;
    case MICA_DTYPE_u32: return *(const uint32_t *)at;
    case MICA_DTYPE_i32: return *(const int32_t *)at;
    default: return *(const int64_t *)at;
    }
}

/* ---- sparse operands --------------------------------------------------------------------------*/

void tf_sparse_close(tf_sparse *x) {
    for (int32_t i = 0; i < 3; i++) tf_column_close(&x->columns[i]);
}

static mica_status open_int64(const mica_tf_host *c, int32_t i, tf_column *out) {
    if (c->inputs[i].dtype != MICA_TF_int64)
        return MICA_INVALID("[%s] input %d is %s; places and sizes are int64", c->info->name, i,
                            mica_tf_dtype_name(c->inputs[i].dtype));
    return tf_column_open(c->inputs[i], out);
}

static mica_status check_ranks(const mica_tf_host *c, int32_t indices, int32_t values,
                               int32_t shape, tf_sparse *x) {
    mica_tf_shape places, sizes, of_values = {.rank = 1, .dims = {-1}};
    mica_tf_value_shape(c->inputs[indices], &places);
    mica_tf_value_shape(c->inputs[shape], &sizes);
    if (values >= 0) mica_tf_value_shape(c->inputs[values], &of_values);
    if (places.rank != 2 || sizes.rank != 1 || of_values.rank != 1 ||
        places.dims[1] != sizes.dims[0])
        return MICA_INVALID("[%s] indices of shape %s, values of shape %s and a dense shape of "
                            "shape %s are no sparse tensor: [n,rank], [n] and [rank] are",
                            c->info->name, mica_tf_shape_text(&places).chars,
                            mica_tf_shape_text(&of_values).chars, mica_tf_shape_text(&sizes).chars);
    if (values >= 0 && places.dims[0] != of_values.dims[0])
        return MICA_INVALID("[%s] Number of values must match first dimension of indices. Got %lld "
                            "values, indices shape: %s",
                            c->info->name, (long long)of_values.dims[0],
                            mica_tf_shape_text(&places).chars);
    if (sizes.dims[0] > TF_SPARSE_MOST_AXES)
        return MICA_INVALID("[%s] a sparse tensor has at most %d axes, not %lld", c->info->name,
                            TF_SPARSE_MOST_AXES, (long long)sizes.dims[0]);
    x->n = places.dims[0];
    x->rank = (int32_t)places.dims[1];
    return NULL;
}

mica_status tf_sparse_open(const mica_tf_host *c, int32_t indices, int32_t values, int32_t shape,
                           tf_sparse *out) {
    memset(out, 0, sizeof *out);
    MICA_TRY(check_ranks(c, indices, values, shape, out));
    mica_status status = open_int64(c, indices, &out->columns[0]);
    if (!status) status = open_int64(c, shape, &out->columns[1]);
    if (!status && values >= 0) status = tf_column_open(c->inputs[values], &out->columns[2]);
    if (status) {
        tf_sparse_close(out);
        return status;
    }
    out->indices = (const int64_t *)out->columns[0].data;
    out->shape = (const int64_t *)out->columns[1].data;
    return NULL;
}

mica_tf_text tf_sizes_text(const int64_t *sizes, int32_t rank) {
    mica_tf_text text = {"["};
    size_t used = 1;
    for (int32_t i = 0; i < rank && used < sizeof text.chars - 32; i++)
        used += (size_t)snprintf(text.chars + used, sizeof text.chars - used, i ? ",%lld" : "%lld",
                                 (long long)sizes[i]);
    snprintf(text.chars + used, sizeof text.chars - used, "]");
    return text;
}

mica_status tf_sparse_check(const mica_tf_host *c, const tf_sparse *x) {
    for (int64_t i = 0; i < x->n; i++) {
        const int64_t *place = tf_sparse_place(x, i);
        for (int32_t k = 0; k < x->rank; k++)
            if (place[k] < 0 || place[k] >= x->shape[k])
                return MICA_INVALID("[%s] indices[%lld] = %s is out of bounds: need 0 <= index < "
                                    "%s",
                                    c->info->name, (long long)i,
                                    tf_sizes_text(place, x->rank).chars,
                                    tf_sizes_text(x->shape, x->rank).chars);
    }
    return NULL;
}

/* ---- order ------------------------------------------------------------------------------------*/

typedef struct sorter {
    const int64_t *places;
    int32_t rank;
} sorter;

static bool is_before(const sorter *s, int64_t a, int64_t b) {
    return tf_place_compare(s->places + a * s->rank, s->places + b * s->rank, s->rank) < 0;
}

/* False: it was interrupted. */
static bool merge(const sorter *s, const int64_t *from, int64_t low, int64_t middle, int64_t high,
                  int64_t *to) {
    int64_t i = low, k = middle;
    for (int64_t at = low; at < high; at++) {
        bool second = i >= middle || (k < high && is_before(s, from[k], from[i]));
        to[at] = second ? from[k++] : from[i++];
        if (mica_tf_is_interrupted(at)) return false;
    }
    return true;
}

mica_status tf_places_order(const int64_t *places, int64_t n, int32_t rank, int64_t *out_order) {
    sorter s = {places, rank};
    bool sorted = true;
    for (int64_t i = 0; i < n; i++) out_order[i] = i;
    for (int64_t i = 1; i < n && sorted; i++) sorted = !is_before(&s, i, i - 1);
    if (sorted) return NULL;
    int64_t *room = mica_alloc((size_t)n * sizeof *room);
    if (!room) return MICA_NO_MEMORY();
    int64_t *from = out_order, *to = room;
    mica_status status = NULL;
    for (int64_t width = 1; width < n && !status; width *= 2) {
        for (int64_t low = 0; low < n && !status; low += 2 * width) {
            int64_t middle = low + width < n ? low + width : n;
            int64_t high = middle + width < n ? middle + width : n;
            if (!merge(&s, from, low, middle, high, to)) status = mica_interrupt_status();
        }
        int64_t *next = from;
        from = to;
        to = next;
    }
    if (from != out_order) memcpy(out_order, from, (size_t)n * sizeof *from);
    mica_free(room);
    return status;
}

/* ---- results ----------------------------------------------------------------------------------*/

static int64_t product(mica_ints dims) {
    int64_t n = 1;
    for (int32_t i = 0; i < dims.n; i++) n *= dims.data[i];
    return n;
}

mica_status tf_give_picks(mica_tf_host *c, int32_t output, const tf_column *columns,
                          const tf_pick *picks, mica_ints dims) {
    int64_t n = product(dims);
    if (c->output_dtypes[output] == MICA_TF_string) {
        mica_tf_writer w;
        mica_tf_writer_init(&w);
        for (int64_t i = 0; i < n; i++) {
            size_t length;
            const void *bytes = tf_column_at(&columns[picks[i].column], picks[i].i, &length);
            mica_text_append_bytes(&w.bytes, bytes, length);
            if (!mica_tf_writer_end(&w)) break;
        }
        return mica_tf_writer_finish(&w, dims, &c->outputs[output]);
    }
    mica_dtype dtype = mica_tf_dtype_core(c->output_dtypes[output]);
    size_t size = mica_dtype_bytes(dtype);
    char *data = mica_alloc((size_t)n * size + 1);
    if (!data) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        memcpy(data + (size_t)i * size,
               tf_column_at(&columns[picks[i].column], picks[i].i, &length), size);
    }
    mica_status status = mica_tf_give_numbers(c, output, dtype, dims, data);
    mica_free(data);
    return status;
}

mica_status tf_give_places(mica_tf_host *c, int32_t output, const int64_t *places, int64_t n,
                           int32_t rank) {
    return mica_tf_give_numbers(c, output, MICA_DTYPE_i64, MICA_INTS(n, rank), places);
}

mica_status tf_give_vector(mica_tf_host *c, int32_t output, const int64_t *ints, int64_t n) {
    return mica_tf_give_numbers(c, output, MICA_DTYPE_i64, MICA_INTS(n), ints);
}

mica_status tf_sparse_fits(const mica_tf_host *c, int64_t count, size_t size) {
    uint64_t most = mica_machine_memory() ? mica_machine_memory() / 2 : UINT64_MAX / 2;
    if (count >= 0 && (uint64_t)count <= most / (size ? size : 1)) return NULL;
    return MICA_ERROR(MICA_OUT_OF_MEMORY, "[%s] %lld elements are more than the memory holds",
                      c->info->name, (long long)count);
}

mica_status tf_sparse_room(const mica_tf_host *c, int64_t count, size_t size, void **out) {
    *out = NULL;
    MICA_TRY(tf_sparse_fits(c, count, size));
    *out = mica_calloc((size_t)count + 1, size ? size : 1);
    return *out ? NULL : MICA_NO_MEMORY();
}

/* ---- numbers ----------------------------------------------------------------------------------*/

/* The nearest number of 16 bits, ties to even. */
static uint16_t brain_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint16_t half_bits(double x) {
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double size = fabs(x);
    if (x != x) return (uint16_t)(sign | 0x7e00);
    if (size >= 65520) return (uint16_t)(sign | 0x7c00);
    int exponent = 0;
    if (size == 0) return sign;
    (void)frexp(size, &exponent);
    if (exponent < -13) exponent = -13; /* of subnormal numbers */
    double units = nearbyint(ldexp(size, 11 - exponent));
    return (uint16_t)(sign | (uint16_t)((exponent + 13) * 1024 + (int)units));
}

tf_number tf_number_load(mica_dtype dtype, const void *at) {
    tf_number x = {0, 0, 0};
    switch (dtype) {
    case MICA_DTYPE_f32: x.re = (double)*(const float *)at; break;
    case MICA_DTYPE_f64: x.re = *(const double *)at; break;
    case MICA_DTYPE_f16:
    case MICA_DTYPE_bf16:
        x.re = mica_tf_half_value(*(const uint16_t *)at, dtype == MICA_DTYPE_bf16);
        break;
    case MICA_DTYPE_c64:
        x.re = (double)((const float *)at)[0];
        x.im = (double)((const float *)at)[1];
        break;
    case MICA_DTYPE_c128:
        x.re = ((const double *)at)[0];
        x.im = ((const double *)at)[1];
        break;
    default: {
        tf_column one = {.data = at, .dtype = dtype};
        x.i = tf_column_int(&one, 0);
    }
    }
    return x;
}

void tf_number_store(mica_dtype dtype, tf_number x, void *at) {
    switch (dtype) {
    case MICA_DTYPE_f32: *(float *)at = (float)x.re; break;
    case MICA_DTYPE_f64: *(double *)at = x.re; break;
    case MICA_DTYPE_f16: *(uint16_t *)at = half_bits(x.re); break;
    case MICA_DTYPE_bf16: *(uint16_t *)at = brain_bits((float)x.re); break;
    case MICA_DTYPE_c64:
        ((float *)at)[0] = (float)x.re;
        ((float *)at)[1] = (float)x.im;
        break;
    case MICA_DTYPE_c128:
        ((double *)at)[0] = x.re;
        ((double *)at)[1] = x.im;
        break;
    case MICA_DTYPE_bool: *(uint8_t *)at = x.i != 0; break;
    default: memcpy(at, &x.i, mica_dtype_bytes(dtype)); /* the lower bytes come first */
    }
}

tf_number tf_number_add(mica_dtype dtype, tf_number a, tf_number b) {
    (void)dtype;
    return (tf_number){a.re + b.re, a.im + b.im, (int64_t)((uint64_t)a.i + (uint64_t)b.i)};
}

bool tf_number_less(mica_dtype dtype, tf_number a, tf_number b) {
    mica_dtype_kind kind = mica_dtype_kind_of(dtype);
    if (kind == MICA_KIND_FLOAT) return a.re < b.re;
    return kind == MICA_KIND_UNSIGNED ? (uint64_t)a.i < (uint64_t)b.i : a.i < b.i;
}
