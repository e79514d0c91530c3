/* Features of tf.train.Example messages as tensors.
 *
 * Every message is read once: `found` has a place for each message and each key that is asked for.
 * What a result needs of memory follows from the counts there. */
#include <stdio.h>
#include <string.h>

#include "mica/records.h"
#include "tf/strings.h"

enum { SERIALIZED, NAMES, SPARSE_KEYS, DENSE_KEYS, RAGGED_KEYS, DENSE_DEFAULTS };

typedef struct key {
    const char *text;
    size_t length;
    mica_tf_dtype dtype;
} key;

typedef struct parsing {
    mica_tf_host *c;
    int64_t n; /* messages */
    bool is_scalar;
    key *keys; /* sparse, dense, ragged */
    int32_t n_keys, n_sparse, n_dense, n_ragged;
    mica_feature *found; /* of message i and key k: i * n_keys + k; count -1 where there is none */
    mica_feature *row;   /* of the message that is read */
} parsing;

/* ---- reading ----------------------------------------------------------------------------------*/

static void note(void *context, const mica_feature *feature) {
    parsing *p = context;
    for (int32_t k = 0; k < p->n_keys; k++)
        if (p->keys[k].length == feature->key_length &&
            !memcmp(p->keys[k].text, feature->key, feature->key_length))
            p->row[k] = *feature;
}

static const char *name_of(const parsing *p, int64_t i, size_t *n) {
    if (i < mica_tf_strings_count(p->c->inputs[NAMES]))
        return mica_tf_strings_get(p->c->inputs[NAMES], i, n);
    *n = strlen("<unknown>");
    return "<unknown>";
}

static mica_status wrong(const parsing *p, int64_t i, int32_t k, const char *what) {
    size_t n;
    const char *name = name_of(p, i, &n);
    return MICA_INVALID("[ParseExampleV2] Name: %.*s, Key: %.*s, Index: %lld.  %s",
                        (int)(n < 200 ? n : 200), name,
                        (int)(p->keys[k].length < 200 ? p->keys[k].length : 200), p->keys[k].text,
                        (long long)i, what);
}

static mica_status read_message(parsing *p, int64_t i) {
    size_t n, n_name;
    const char *bytes = mica_tf_strings_get(p->c->inputs[SERIALIZED], i, &n);
    p->row = p->found + i * p->n_keys;
    for (int32_t k = 0; k < p->n_keys; k++) p->row[k] = (mica_feature){.count = -1};
    mica_status status = mica_example_visit(bytes, n, note, p);
    if (status) {
        if (mica_status_code(status) == MICA_OUT_OF_MEMORY) return status;
        const char *name = name_of(p, i, &n_name);
        mica_status_release(status);
        return MICA_INVALID("[ParseExampleV2] Could not parse example input %lld (Name: %.*s): its "
                            "%zu bytes are no tf.train.Example message",
                            (long long)i, (int)(n_name < 200 ? n_name : 200), name, n);
    }
    for (int32_t k = 0; k < p->n_keys; k++) {
        if (p->row[k].dtype == MICA_TF_no_dtype) p->row[k].count = -1;
        if (p->row[k].count >= 0 && p->row[k].dtype != p->keys[k].dtype) {
            char text[100];
            snprintf(text, sizeof text,
                     "Data types don't match. Data type: %s but expected type: %s",
                     mica_tf_dtype_name(p->row[k].dtype), mica_tf_dtype_name(p->keys[k].dtype));
            return wrong(p, i, k, text);
        }
    }
    return NULL;
}

static mica_status take_keys(parsing *p, int32_t input, const char *types, int32_t *out_n) {
    const mica_tf_attr *attr = mica_tf_host_attr(p->c, types);
    int64_t n = mica_tf_strings_count(p->c->inputs[input]);
    if (n != attr->n)
        return MICA_INVALID("[ParseExampleV2] %lld keys for the %d dtypes of %s", (long long)n,
                            attr->n, types);
    for (int64_t i = 0; i < n; i++) {
        key *k = &p->keys[p->n_keys++];
        k->text = mica_tf_strings_get(p->c->inputs[input], i, &k->length);
        k->dtype = (mica_tf_dtype)attr->as.ints[i];
        if (k->dtype != MICA_TF_float32 && k->dtype != MICA_TF_int64 && k->dtype != MICA_TF_string)
            return MICA_INVALID("[ParseExampleV2] the key '%.*s' has dtype %s: float32, int64 and "
                                "string are possible",
                                (int)(k->length < 200 ? k->length : 200), k->text,
                                mica_tf_dtype_name(k->dtype));
    }
    *out_n = (int32_t)n;
    return NULL;
}

/* ---- results ----------------------------------------------------------------------------------*/

/* Elements of a result: numbers, or texts with their lengths. */
typedef struct column {
    mica_tf_dtype dtype;
    size_t size; /* of a number */
    char *numbers;
    const char **texts;
    size_t *lengths;
} column;

static void column_deinit(column *l) {
    mica_free(l->numbers);
    mica_free(l->texts);
    mica_free(l->lengths);
}

static mica_status column_init(column *l, mica_tf_dtype dtype, int64_t n) {
    *l = (column){.dtype = dtype};
    size_t room = (size_t)n + 1;
    if (n < 0) return MICA_NO_MEMORY();
    if (dtype == MICA_TF_string) {
        l->texts = mica_calloc(room, sizeof *l->texts);
        l->lengths = mica_calloc(room, sizeof *l->lengths);
        return l->texts && l->lengths ? NULL : MICA_NO_MEMORY();
    }
    l->size = mica_dtype_bytes(mica_tf_dtype_core(dtype));
    l->numbers = mica_calloc(room, l->size);
    return l->numbers ? NULL : MICA_NO_MEMORY();
}

static void column_put(column *l, int64_t at, const mica_feature *feature) {
    if (feature->count <= 0) return;
    if (l->numbers)
        mica_feature_numbers(feature, l->numbers + (size_t)at * l->size);
    else
        mica_feature_strings(feature, l->texts + at, l->lengths + at);
}

/* n elements of a value; of one with a single element, that n times. */
static mica_status column_fill(column *l, int64_t at, mica_tf_value value, int64_t n, bool single) {
    const void *data = NULL;
    if (l->numbers) MICA_TRY(mica_tf_open(value, &data));
    for (int64_t i = 0; i < n; i++) {
        int64_t from = single ? 0 : i;
        if (l->numbers)
            memcpy(l->numbers + (size_t)(at + i) * l->size,
                   (const char *)data + (size_t)from * l->size, l->size);
        else
            l->texts[at + i] = mica_tf_strings_get(value, from, &l->lengths[at + i]);
    }
    if (l->numbers) mica_tf_close(value);
    return NULL;
}

static mica_status column_give(column *l, mica_tf_host *c, int32_t output, mica_ints dims) {
    if (l->numbers)
        return mica_tf_give_numbers(c, output, mica_tf_dtype_core(l->dtype), dims, l->numbers);
    return mica_tf_strings_create(dims, l->texts, l->lengths, &c->outputs[output]);
}

static const mica_feature *found_at(const parsing *p, int64_t i, int32_t k) {
    return &p->found[i * p->n_keys + k];
}

static int64_t count_at(const parsing *p, int64_t i, int32_t k) {
    int64_t count = found_at(p, i, k)->count;
    return count > 0 ? count : 0;
}

/* The values of a key in all messages, one after the other; how many there are, and the most of
 * one message. Their sum is bounded by the messages' bytes. */
static mica_status give_values(parsing *p, int32_t k, int32_t output, int64_t *total,
                               int64_t *most) {
    column values;
    *total = *most = 0;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t count = count_at(p, i, k);
        *total += count;
        if (count > *most) *most = count;
    }
    mica_status status = column_init(&values, p->keys[k].dtype, *total);
    int64_t at = 0;
    for (int64_t i = 0; !status && i < p->n; at += count_at(p, i++, k))
        column_put(&values, at, found_at(p, i, k));
    if (!status) status = column_give(&values, p->c, output, MICA_INTS(*total));
    column_deinit(&values);
    return status;
}

static mica_status give_sparse(parsing *p, int32_t k) {
    int64_t total, most, at = 0, rank = p->is_scalar ? 1 : 2;
    MICA_TRY(give_values(p, k, p->n_sparse + k, &total, &most));
    int64_t *indices = mica_calloc((size_t)total + 1, 2 * sizeof *indices);
    if (!indices) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t j = 0; j < count_at(p, i, k); j++) {
            if (rank == 2) indices[at++] = i;
            indices[at++] = j;
        }
    int64_t shape[2] = {p->n, most};
    mica_status status =
        mica_tf_give_numbers(p->c, k, MICA_DTYPE_i64, MICA_INTS(total, rank), indices);
    mica_free(indices);
    if (status) return status;
    return mica_tf_give_numbers(p->c, 2 * p->n_sparse + k, MICA_DTYPE_i64, MICA_INTS(rank),
                                shape + 2 - rank);
}

static mica_status give_ragged(parsing *p, int32_t r) {
    int32_t k = p->n_sparse + p->n_dense + r, output = 3 * p->n_sparse + p->n_dense + r;
    mica_tf_dtype dtype = p->c->output_dtypes[output + p->n_ragged];
    int64_t total, most, sum = 0, n = p->is_scalar ? 0 : p->n + 1;
    MICA_TRY(give_values(p, k, output, &total, &most));
    if (dtype == MICA_TF_int32 && total > INT32_MAX)
        return MICA_INVALID("[ParseExampleV2] %lld values are too many for splits of int32",
                            (long long)total);
    int64_t *splits = mica_calloc((size_t)n + 1, sizeof *splits);
    if (!splits) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < n; i++) {
        if (dtype == MICA_TF_int32)
            ((int32_t *)(void *)splits)[i] = (int32_t)sum;
        else
            splits[i] = sum;
        if (i + 1 < n) sum += count_at(p, i, k);
    }
    mica_status status = mica_tf_give_numbers(p->c, output + p->n_ragged, mica_tf_dtype_core(dtype),
                                              MICA_INTS(n), splits);
    mica_free(splits);
    return status;
}

/* ---- results of a fixed shape -----------------------------------------------------------------*/

static mica_status missing(const parsing *p, int64_t i, int32_t k) {
    size_t n;
    const char *name = name_of(p, i, &n);
    return MICA_INVALID(
        "[ParseExampleV2] Name: %.*s, Feature: %.*s (data type: %s) is required but "
        "could not be found.",
        (int)(n < 200 ? n : 200), name, (int)(p->keys[k].length < 200 ? p->keys[k].length : 200),
        p->keys[k].text, mica_tf_dtype_name(p->keys[k].dtype));
}

/* Every message has exactly `size` values, or none and the default stands for them. */
static mica_status fill_fixed(const parsing *p, int32_t k, mica_tf_value standard, int64_t n_given,
                              const mica_tf_shape *shape, int64_t size, column *values) {
    for (int64_t i = 0; i < p->n; i++) {
        const mica_feature *feature = found_at(p, i, k);
        if (feature->count < 0 && (n_given != size || n_given == 0)) return missing(p, i, k);
        if (feature->count < 0) {
            MICA_TRY(column_fill(values, i * size, standard, size, false));
        } else if (feature->count == size) {
            column_put(values, i * size, feature);
        } else {
            char text[500];
            snprintf(text, sizeof text,
                     "Number of %s values != expected.  Values size: %lld but output shape: %s",
                     mica_tf_dtype_name(p->keys[k].dtype), (long long)feature->count,
                     mica_tf_shape_text(shape).chars);
            return wrong(p, i, k, text);
        }
    }
    return NULL;
}

/* As many values as the message with the most has; the default fills the others up. */
static mica_status fill_padded(const parsing *p, int32_t k, mica_tf_value standard, int64_t most,
                               int64_t stride, column *values) {
    for (int64_t i = 0; i < p->n; i++) {
        int64_t count = count_at(p, i, k);
        if (stride == 0 ? count > 0 : count % stride != 0)
            return wrong(p, i, k, "The number of values is no multiple of that of a step");
        column_put(values, i * most, found_at(p, i, k));
        if (count < most)
            MICA_TRY(column_fill(values, i * most + count, standard, most - count, true));
    }
    return NULL;
}

static mica_status give_dense(parsing *p, int32_t d) {
    int32_t k = p->n_sparse + d, output = 3 * p->n_sparse + d;
    const mica_tf_shape *shape = &mica_tf_host_attr(p->c, "dense_shapes")->as.shapes[d];
    mica_tf_value standard = p->c->inputs[DENSE_DEFAULTS + d];
    mica_tf_shape given, result = {.rank = 0};
    int64_t stride = 1, most = 0, total;
    bool is_padded = shape->rank > 0 && shape->dims[0] < 0;
    if (shape->rank < 0 || shape->rank + !p->is_scalar > MICA_MAX_RANK)
        return MICA_INVALID("[ParseExampleV2] a dense shape has %d dimensions", shape->rank);
    if (standard.dtype != p->keys[k].dtype)
        return MICA_INVALID("[ParseExampleV2] the default of key %d has another dtype", d);
    mica_tf_value_shape(standard, &given);
    int64_t n_given = mica_tf_shape_elements(&given);
    for (int32_t i = is_padded; i < shape->rank; i++)
        if (shape->dims[i] < 0 || __builtin_mul_overflow(stride, shape->dims[i], &stride))
            return MICA_INVALID("[ParseExampleV2] the dense shape %s is not possible",
                                mica_tf_shape_text(shape).chars);
    for (int64_t i = 0; is_padded && i < p->n; i++)
        if (count_at(p, i, k) > most) most = count_at(p, i, k);
    if (is_padded && n_given != 1 && !p->is_scalar)
        return MICA_INVALID("[ParseExampleV2] the default of a padded feature is one element, not "
                            "%lld",
                            (long long)n_given);
    int64_t size = is_padded ? most : stride;
    if (!p->is_scalar) result.dims[result.rank++] = p->n;
    for (int32_t i = 0; i < shape->rank; i++) result.dims[result.rank++] = shape->dims[i];
    if (is_padded) result.dims[!p->is_scalar] = stride ? most / stride : 0;
    column values = {0};
    mica_status status = __builtin_mul_overflow(p->n, size, &total) || total > INT64_MAX / 16
                             ? MICA_NO_MEMORY()
                             : column_init(&values, p->keys[k].dtype, total);
    if (!status)
        status = is_padded ? fill_padded(p, k, standard, most, stride, &values)
                           : fill_fixed(p, k, standard, n_given, shape, size, &values);
    if (!status) status = column_give(&values, p->c, output, mica_tf_dims(&result));
    column_deinit(&values);
    return status;
}

/* ---- the op -----------------------------------------------------------------------------------*/

static mica_status parse(parsing *p) {
    mica_tf_host *c = p->c;
    int64_t n_found;
    MICA_TRY(take_keys(p, SPARSE_KEYS, "sparse_types", &p->n_sparse));
    MICA_TRY(take_keys(p, DENSE_KEYS, "Tdense", &p->n_dense));
    MICA_TRY(take_keys(p, RAGGED_KEYS, "ragged_value_types", &p->n_ragged));
    if (p->n_sparse != mica_tf_host_attr(c, "num_sparse")->as.integer ||
        p->n_dense != mica_tf_host_attr(c, "dense_shapes")->n ||
        p->n_ragged != mica_tf_host_attr(c, "ragged_split_types")->n)
        return MICA_INVALID("[ParseExampleV2] num_sparse, dense_shapes and ragged_split_types do "
                            "not fit the keys");
    if (__builtin_mul_overflow(p->n, (int64_t)p->n_keys, &n_found)) return MICA_NO_MEMORY();
    p->found = mica_calloc((size_t)n_found + 1, sizeof *p->found);
    if (!p->found) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < p->n; i++) MICA_TRY(read_message(p, i));
    for (int32_t i = 0; i < p->n_sparse; i++) MICA_TRY(give_sparse(p, i));
    for (int32_t i = 0; i < p->n_dense; i++) MICA_TRY(give_dense(p, i));
    for (int32_t i = 0; i < p->n_ragged; i++) MICA_TRY(give_ragged(p, i));
    return NULL;
}

mica_status tf_host_parse_example(mica_tf_host *c) {
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[SERIALIZED], &shape);
    if (shape.rank > 1)
        return MICA_INVALID("[ParseExampleV2] serialized is a scalar or a vector, not of shape %s",
                            mica_tf_shape_text(&shape).chars);
    parsing p = {
        .c = c, .n = mica_tf_strings_count(c->inputs[SERIALIZED]), .is_scalar = shape.rank == 0};
    int64_t n_keys = mica_tf_strings_count(c->inputs[SPARSE_KEYS]) +
                     mica_tf_strings_count(c->inputs[DENSE_KEYS]) +
                     mica_tf_strings_count(c->inputs[RAGGED_KEYS]);
    p.keys = mica_calloc((size_t)n_keys + 1, sizeof *p.keys);
    mica_status status = p.keys ? parse(&p) : MICA_NO_MEMORY();
    mica_free(p.keys);
    mica_free(p.found);
    return status;
}
