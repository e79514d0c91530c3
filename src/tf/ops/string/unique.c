/* Unique: elements are told apart by a table of those that have come. */
#include <string.h>

#include "base/hash.h"
#include "tf/strings.h"

/* The elements of a vector, strings or numbers, as bytes. */
typedef struct elements {
    mica_tf_value value;
    const uint8_t *data; /* of numbers */
    size_t size;
    mica_dtype dtype;
    int64_t n;
} elements;

static const void *element(const elements *e, int64_t i, size_t *out_length) {
    if (!e->data) return mica_tf_strings_get(e->value, i, out_length);
    *out_length = e->size;
    return e->data + (size_t)i * e->size;
}

static double real_at(const elements *e, int64_t i) {
    return e->dtype == MICA_DTYPE_f32 ? (double)((const float *)e->data)[i]
                                      : ((const double *)e->data)[i];
}

/* What equal elements have in common: zeros of both signs are equal. */
static uint64_t hash_of(const elements *e, int64_t i) {
    size_t length;
    const void *bytes = element(e, i, &length);
    bool is_real = e->dtype == MICA_DTYPE_f32 || e->dtype == MICA_DTYPE_f64;
    if (is_real && real_at(e, i) == 0) return 0;
    return mica_hash_bytes(MICA_HASH_SEED, bytes, length);
}

static bool are_equal(const elements *e, int64_t i, int64_t k) {
    if (e->dtype == MICA_DTYPE_f32 || e->dtype == MICA_DTYPE_f64)
        return real_at(e, i) == real_at(e, k);
    size_t n_i, n_k;
    const void *a = element(e, i, &n_i), *b = element(e, k, &n_k);
    return n_i == n_k && (n_i == 0 || !memcmp(a, b, n_i));
}

/* Fills firsts (the place of each distinct element) and numbers; returns how many are distinct. */
static int64_t find(const elements *e, int64_t *slots, int64_t mask, int64_t *firsts,
                    int64_t *numbers) {
    int64_t count = 0;
    for (int64_t i = 0; i < e->n; i++) {
        int64_t at = (int64_t)(hash_of(e, i) & (uint64_t)mask);
        while (slots[at] && !are_equal(e, firsts[slots[at] - 1], i)) at = (at + 1) & mask;
        if (!slots[at]) {
            firsts[count] = i;
            slots[at] = ++count;
        }
        numbers[i] = slots[at] - 1;
    }
    return count;
}

static mica_status give_firsts(mica_tf_host *c, const elements *e, const int64_t *firsts,
                               int64_t count) {
    if (!e->data) {
        mica_tf_writer w;
        mica_tf_writer_init(&w);
        for (int64_t i = 0; i < count; i++) {
            size_t length;
            const void *bytes = element(e, firsts[i], &length);
            mica_text_append_bytes(&w.bytes, bytes, length);
            mica_tf_writer_end(&w);
        }
        return mica_tf_writer_finish(&w, MICA_INTS(count), &c->outputs[0]);
    }
    uint8_t *data = mica_alloc((size_t)count * e->size + 1);
    if (!data) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < count; i++) {
        size_t length;
        memcpy(data + (size_t)i * e->size, element(e, firsts[i], &length), e->size);
    }
    mica_status status = mica_tf_give_numbers(c, 0, e->dtype, MICA_INTS(count), data);
    mica_free(data);
    return status;
}

static mica_status give_places(mica_tf_host *c, int64_t *numbers, int64_t n) {
    mica_dtype dtype = mica_tf_dtype_core(c->output_dtypes[1]);
    if (dtype == MICA_DTYPE_i32)
        for (int64_t i = 0; i < n; i++) {
            int32_t narrow = (int32_t)numbers[i];
            memcpy((char *)numbers + (size_t)i * sizeof narrow, &narrow, sizeof narrow);
        }
    return mica_tf_give_numbers(c, 1, dtype, MICA_INTS(n), numbers);
}

mica_status tf_host_unique(mica_tf_host *c) {
    elements e = {.value = c->inputs[0], .dtype = MICA_DTYPE_COUNT};
    mica_tf_shape shape;
    bool is_tensor = mica_tf_is_core(e.value.dtype);
    if (!is_tensor && e.value.dtype != MICA_TF_string)
        return MICA_INVALID("[Unique] of %s", mica_tf_dtype_name(e.value.dtype));
    mica_tf_value_shape(e.value, &shape);
    e.n = mica_tf_shape_elements(&shape);
    int64_t n_slots = 16;
    while (n_slots < 2 * e.n) n_slots *= 2;
    int64_t *slots = mica_calloc((size_t)n_slots + 2 * (size_t)e.n + 1, sizeof *slots);
    if (!slots) return MICA_NO_MEMORY();
    int64_t *firsts = slots + n_slots, *numbers = firsts + e.n;
    mica_status status = NULL;
    if (is_tensor) {
        e.dtype = mica_tf_dtype_core(e.value.dtype);
        e.size = mica_dtype_bytes(e.dtype);
        const void *data = NULL;
        status = mica_tf_open(e.value, &data);
        e.data = data;
    }
    if (!status) {
        int64_t count = find(&e, slots, n_slots - 1, firsts, numbers);
        status = give_firsts(c, &e, firsts, count);
        if (is_tensor) mica_tf_close(e.value);
    }
    if (!status) status = give_places(c, numbers, e.n);
    mica_free(slots);
    return status;
}
