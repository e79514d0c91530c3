/* Unique and its relatives: slices along an axis are told apart by a table of those that have come.
 * The elements of a vector are its slices along axis 0. */
#include <string.h>

#include "base/hash.h"
#include "tf/strings.h"

/* A tensor, of strings or numbers, as (before, n, after) elements; slice i is (before, i, after).
 */
typedef struct slices {
    mica_tf_value value;
    const uint8_t *data; /* of numbers */
    size_t size;
    mica_dtype dtype;
    int64_t before, n, after;
} slices;

static const void *element(const slices *e, int64_t at, size_t *out_length) {
    if (!e->data) return mica_tf_strings_get(e->value, at, out_length);
    *out_length = e->size;
    return e->data + (size_t)at * e->size;
}

/* Where part k of slice i is: parts are counted along `after` first. */
static int64_t place(const slices *e, int64_t i, int64_t k) {
    return (k / e->after * e->n + i) * e->after + k % e->after;
}

static double real_at(const slices *e, int64_t at) {
    return e->dtype == MICA_DTYPE_f32 ? (double)((const float *)e->data)[at]
                                      : ((const double *)e->data)[at];
}

static bool is_real(const slices *e) {
    return e->dtype == MICA_DTYPE_f32 || e->dtype == MICA_DTYPE_f64;
}

/* What equal slices have in common: zeros of both signs are equal. */
static uint64_t hash_of(const slices *e, int64_t i) {
    static const double zero = 0;
    uint64_t hash = MICA_HASH_SEED;
    for (int64_t k = 0; k < e->before * e->after; k++) {
        size_t length;
        int64_t at = place(e, i, k);
        const void *bytes = element(e, at, &length);
        if (is_real(e) && real_at(e, at) == 0) bytes = &zero;
        hash = mica_hash_bytes(hash, bytes, length);
    }
    return hash;
}

static bool are_equal(const slices *e, int64_t i, int64_t j) {
    for (int64_t k = 0; k < e->before * e->after; k++) {
        int64_t a = place(e, i, k), b = place(e, j, k);
        if (is_real(e)) {
            if (real_at(e, a) != real_at(e, b)) return false;
            continue;
        }
        size_t n_a, n_b;
        const void *x = element(e, a, &n_a), *y = element(e, b, &n_b);
        if (n_a != n_b || (n_a && memcmp(x, y, n_a) != 0)) return false;
    }
    return true;
}

/* Fills firsts (the place of each distinct slice), how often each comes, and numbers; *out_count:
 * how many are distinct. */
static mica_status find(const slices *e, int64_t *slots, int64_t mask, int64_t *firsts,
                        int64_t *counts, int64_t *numbers, int64_t *out_count) {
    int64_t count = 0;
    for (int64_t i = 0; i < e->n; i++) {
        if (mica_tf_is_interrupted(i)) return mica_interrupt_status();
        int64_t at = (int64_t)(hash_of(e, i) & (uint64_t)mask);
        while (slots[at] && !are_equal(e, firsts[slots[at] - 1], i)) at = (at + 1) & mask;
        if (!slots[at]) {
            firsts[count] = i;
            slots[at] = ++count;
        }
        numbers[i] = slots[at] - 1;
        counts[numbers[i]]++;
    }
    *out_count = count;
    return NULL;
}

static mica_status give_firsts(mica_tf_host *c, const slices *e, const int64_t *firsts,
                               mica_ints dims, int64_t count) {
    mica_tf_writer w;
    uint8_t *data = NULL, *to = NULL;
    mica_tf_writer_init(&w);
    if (e->data) {
        size_t bytes = (size_t)(e->before * count * e->after) * e->size;
        to = data = mica_alloc(bytes + 1);
        if (!data) return MICA_NO_MEMORY();
    }
    for (int64_t b = 0; b < e->before; b++)
        for (int64_t i = 0; i < count; i++)
            for (int64_t a = 0; a < e->after; a++) {
                size_t length;
                const void *bytes = element(e, place(e, firsts[i], b * e->after + a), &length);
                if (data) {
                    memcpy(to, bytes, length);
                    to += length;
                    continue;
                }
                mica_text_append_bytes(&w.bytes, bytes, length);
                if (!mica_tf_writer_end(&w)) break;
            }
    if (!data) return mica_tf_writer_finish(&w, dims, &c->outputs[0]);
    mica_status status = mica_tf_give_numbers(c, 0, e->dtype, dims, data);
    mica_free(data);
    mica_tf_writer_deinit(&w);
    return status;
}

static mica_status give_places(mica_tf_host *c, int32_t output, int64_t *numbers, int64_t n) {
    mica_dtype dtype = mica_tf_dtype_core(c->output_dtypes[output]);
    if (dtype == MICA_DTYPE_i32)
        for (int64_t i = 0; i < n; i++) {
            int32_t narrow = (int32_t)numbers[i];
            memcpy((char *)numbers + (size_t)i * sizeof narrow, &narrow, sizeof narrow);
        }
    return mica_tf_give_numbers(c, output, dtype, MICA_INTS(n), numbers);
}

/* The axis that input 1, a vector of one number or none, says; 0 where there is no such input. */
static mica_status axis_of(const mica_tf_host *c, const mica_tf_shape *shape, int32_t *out) {
    mica_tf_shape axes = {.rank = 1};
    *out = 0;
    if (c->info->n_inputs > 1) mica_tf_value_shape(c->inputs[1], &axes);
    if (axes.rank == 1 && axes.dims[0] == 0) {
        if (shape->rank == 1) return NULL;
        return MICA_INVALID("[%s] unique expects a 1D vector, not a tensor of shape %s: name an "
                            "axis",
                            c->info->name, mica_tf_shape_text(shape).chars);
    }
    if (axes.rank != 1 || axes.dims[0] != 1)
        return MICA_INVALID("[%s] axis expects a 1D vector of at most one number, not a tensor of "
                            "shape %s",
                            c->info->name, mica_tf_shape_text(&axes).chars);
    const void *data;
    MICA_TRY(mica_tf_open(c->inputs[1], &data));
    int64_t axis =
        c->inputs[1].dtype == MICA_TF_int64 ? *(const int64_t *)data : *(const int32_t *)data;
    mica_tf_close(c->inputs[1]);
    if (axis < -shape->rank || axis >= shape->rank)
        return MICA_INVALID("[%s] axis has to be between [0, %d), not %lld", c->info->name,
                            shape->rank, (long long)axis);
    *out = (int32_t)(axis < 0 ? axis + shape->rank : axis);
    return NULL;
}

mica_status tf_host_unique(mica_tf_host *c) {
    slices e = {.value = c->inputs[0], .dtype = MICA_DTYPE_COUNT, .before = 1, .after = 1};
    mica_tf_shape shape;
    int32_t axis;
    bool is_tensor = mica_tf_is_core(e.value.dtype);
    if (!is_tensor && e.value.dtype != MICA_TF_string)
        return MICA_INVALID("[%s] takes numbers, bools or strings, not %s", c->info->name,
                            mica_tf_dtype_name(e.value.dtype));
    mica_tf_value_shape(e.value, &shape);
    MICA_TRY(axis_of(c, &shape, &axis));
    for (int32_t i = 0; i < axis; i++) e.before *= shape.dims[i];
    for (int32_t i = axis + 1; i < shape.rank; i++) e.after *= shape.dims[i];
    e.n = shape.dims[axis];
    int64_t n_slots = 16;
    if (e.n >= (int64_t)1 << 56) return MICA_NO_MEMORY(); /* slices without elements */
    while (n_slots < 2 * e.n) n_slots *= 2;
    int64_t *slots = mica_calloc((size_t)n_slots + 3 * (size_t)e.n + 1, sizeof *slots);
    if (!slots) return MICA_NO_MEMORY();
    int64_t *firsts = slots + n_slots, *counts = firsts + e.n, *numbers = counts + e.n, count = 0;
    mica_status status = NULL;
    if (is_tensor) {
        e.dtype = mica_tf_dtype_core(e.value.dtype);
        e.size = mica_dtype_bytes(e.dtype);
        const void *data = NULL;
        status = mica_tf_open(e.value, &data);
        e.data = data;
    }
    if (!status) {
        status = find(&e, slots, n_slots - 1, firsts, counts, numbers, &count);
        shape.dims[axis] = count;
        if (!status) status = give_firsts(c, &e, firsts, mica_tf_dims(&shape), count);
        if (is_tensor) mica_tf_close(e.value);
    }
    if (!status) status = give_places(c, 1, numbers, e.n);
    if (!status && c->info->n_outputs > 2) status = give_places(c, 2, counts, count);
    mica_free(slots);
    return status;
}
