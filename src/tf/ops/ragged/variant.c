/* Ragged tensors as single values, which pipelines carry, stack and take apart. */
#include <string.h>

#include "tf/ops/ragged/ragged.h"

/* A ragged tensor: its splits from the outermost, then its values. */
typedef struct ragged {
    int32_t depth;
    mica_tf_value parts[];
} ragged;

static const char ragged_kind[] = "ragged tensor";

static void release_ragged(void *object) {
    ragged *r = object;
    for (int32_t i = 0; i <= r->depth; i++) mica_tf_value_release(r->parts[i]);
    mica_free(r);
}

static mica_status ragged_create(int32_t depth, ragged **out) {
    *out = mica_calloc(1, sizeof **out + ((size_t)depth + 1) * sizeof(mica_tf_value));
    if (!*out) return MICA_NO_MEMORY();
    (*out)->depth = depth;
    return NULL;
}

/* Takes the object, also after an error. */
static mica_status wrap(ragged *r, mica_tf_value *out) {
    mica_status status = mica_tf_object_value(MICA_TF_variant, ragged_kind, r, release_ragged, out);
    if (status) release_ragged(r);
    return status;
}

/* ---- one value of a ragged tensor, or of each of its rows -------------------------------------*/

static mica_status encode_whole(mica_tf_host *c) {
    ragged *r;
    MICA_TRY(ragged_create(c->n_inputs - 1, &r));
    for (int32_t i = 0; i < c->n_inputs; i++) {
        r->parts[i] = c->inputs[i];
        mica_tf_value_retain(r->parts[i]);
    }
    return wrap(r, &c->outputs[0]);
}

/* Values first to last, and where the slices are scalars, the slice itself when `is_slice`. */
static mica_status cut_values(mica_tf_host *c, mica_tf_value values, int64_t first, int64_t last,
                              bool is_slice, mica_tf_value *out) {
    tf_ragged_ints places;
    mica_tf_shape shape;
    mica_tf_value_shape(values, &shape);
    MICA_TRY(tf_ragged_room(last - first, &places));
    for (int64_t i = 0; i < places.n; i++) places.data[i] = first + i;
    shape.dims[0] = last - first;
    if (is_slice) {
        memmove(shape.dims, shape.dims + 1, (size_t)(shape.rank - 1) * sizeof shape.dims[0]);
        shape.rank--;
    }
    mica_status status =
        tf_ragged_pick(c->device, values, places.data, places.n, (mica_tf_value){0}, &shape, out);
    mica_free(places.data);
    return status;
}

/* Row number `row`: its values are ragged by the inner splits. */
static mica_status encode_row(mica_tf_host *c, const tf_ragged_ints *splits, int32_t n, int64_t row,
                              mica_tf_value *out) {
    ragged *r;
    int32_t depth = n ? n - 1 : 0;
    MICA_TRY(ragged_create(depth, &r));
    int64_t first = n ? splits[0].data[row] : row, last = n ? splits[0].data[row + 1] : row + 1;
    mica_status status = NULL;
    for (int32_t k = 0; !status && k < depth; k++) {
        tf_ragged_ints own;
        const int64_t *data = splits[k + 1].data;
        status = tf_ragged_room(last - first + 1, &own);
        if (status) break;
        for (int64_t i = 0; i < own.n; i++) own.data[i] = data[first + i] - data[first];
        status = tf_ragged_vector(c->device, c->inputs[k + 1].dtype, own.data, own.n, &r->parts[k]);
        mica_free(own.data);
        int64_t begin = data[first];
        last = data[last];
        first = begin;
    }
    if (!status) status = cut_values(c, c->inputs[n], first, last, n == 0, &r->parts[depth]);
    if (status) {
        release_ragged(r);
        return status;
    }
    return wrap(r, out);
}

mica_status tf_host_ragged_to_variant(mica_tf_host *c) {
    int32_t n = c->n_inputs - 1;
    bool is_batch = mica_tf_host_attr(c, "batched_input")->as.integer != 0;
    mica_tf_shape values;
    mica_tf_value_shape(c->inputs[n], &values);
    tf_ragged_ints *splits = NULL;
    mica_status status =
        tf_ragged_splits_init(c->info->name, c->inputs, n, n ? values.dims[0] : 0, &splits);
    if (!status && !is_batch) status = encode_whole(c);
    if (!status && is_batch) {
        int64_t rows = n ? splits[0].n - 1 : values.dims[0];
        mica_tf_value *elements = mica_calloc((size_t)rows + 1, sizeof *elements);
        if (!elements) status = MICA_NO_MEMORY();
        for (int64_t i = 0; !status && i < rows; i++)
            status = encode_row(c, splits, n, i, &elements[i]);
        if (!status) status = mica_tf_variants_create(MICA_INTS(rows), elements, &c->outputs[0]);
        for (int64_t i = 0; elements && i < rows; i++) mica_tf_value_release(elements[i]);
        mica_free(elements);
    }
    tf_ragged_splits_deinit(splits, n);
    return status;
}

/* ---- and back ---------------------------------------------------------------------------------*/

static const ragged *element_of(mica_tf_value encoded, int64_t i) {
    return mica_tf_object_of(mica_tf_variants_get(encoded, i), ragged_kind);
}

static int64_t first_size(mica_tf_value value) {
    mica_tf_shape shape;
    mica_tf_value_shape(value, &shape);
    return shape.rank ? shape.dims[0] : 1;
}

/* Every element is a ragged tensor of this depth and these dtypes, with slices of one shape. */
static mica_status check_elements(const mica_tf_host *c, int64_t count, int64_t depth,
                                  bool is_stack) {
    mica_tf_dtype dtype = c->output_dtypes[c->n_outputs - 1];
    mica_tf_dtype of_splits = (mica_tf_dtype)mica_tf_host_attr(c, "Tsplits")->as.integer;
    mica_tf_shape first, other;
    for (int64_t i = 0; i < count; i++) {
        const ragged *r = element_of(c->inputs[0], i);
        if (!r)
            return MICA_INVALID("[RaggedTensorFromVariant] element %lld is no ragged tensor",
                                (long long)i);
        if (r->depth != depth)
            return MICA_INVALID("[RaggedTensorFromVariant] element %lld has ragged rank %d, not "
                                "%lld",
                                (long long)i, r->depth, (long long)depth);
        if (r->parts[r->depth].dtype != dtype)
            return MICA_INVALID("[RaggedTensorFromVariant] element %lld has values of dtype %s, "
                                "not %s",
                                (long long)i, mica_tf_dtype_name(r->parts[r->depth].dtype),
                                mica_tf_dtype_name(dtype));
        for (int32_t k = 0; k < r->depth; k++)
            if (r->parts[k].dtype != of_splits)
                return MICA_INVALID("[RaggedTensorFromVariant] element %lld has row splits of "
                                    "dtype %s, not %s",
                                    (long long)i, mica_tf_dtype_name(r->parts[k].dtype),
                                    mica_tf_dtype_name(of_splits));
        mica_tf_value_shape(r->parts[r->depth], i ? &other : &first);
        if (!i && is_stack && first.rank == 0)
            return MICA_INVALID("[RaggedTensorFromVariant] scalars are no rows");
        if (!i) continue;
        bool same = first.rank == other.rank;
        for (int32_t k = 1; same && k < first.rank; k++) same = first.dims[k] == other.dims[k];
        if (!same)
            return MICA_INVALID("[RaggedTensorFromVariant] the rows' values have shapes %s and %s",
                                mica_tf_shape_text(&first).chars, mica_tf_shape_text(&other).chars);
    }
    return NULL;
}

/* The splits over the axes of the encoded tensor: even ones, and of the last the rows' lengths. */
static mica_status give_outer_splits(mica_tf_host *c, const mica_tf_shape *encoded) {
    int64_t rows = 1;
    for (int32_t k = 0; k < encoded->rank; k++) {
        tf_ragged_ints splits;
        bool is_last = k + 1 == encoded->rank;
        rows *= encoded->dims[k];
        MICA_TRY(tf_ragged_room(rows + 1, &splits));
        for (int64_t i = 0; i < rows; i++) {
            const ragged *r = is_last ? element_of(c->inputs[0], i) : NULL;
            int64_t length = !r         ? encoded->dims[k + 1]
                             : r->depth ? first_size(r->parts[0]) - 1
                                        : first_size(r->parts[0]);
            splits.data[i + 1] = splits.data[i] + length;
        }
        mica_status status = tf_ragged_give(c, k, splits.data, splits.n);
        mica_free(splits.data);
        MICA_TRY(status);
    }
    return NULL;
}

/* Splits number k of all elements, one after the other. */
static mica_status join_splits(mica_tf_host *c, int64_t count, int32_t k, int32_t result) {
    int64_t rows = 0;
    for (int64_t i = 0; i < count; i++)
        rows += first_size(element_of(c->inputs[0], i)->parts[k]) - 1;
    tf_ragged_ints all;
    MICA_TRY(tf_ragged_room(rows + 1, &all));
    mica_status status = NULL;
    int64_t at = 0;
    for (int64_t i = 0; !status && i < count; i++) {
        tf_ragged_ints own;
        status = tf_ragged_read(element_of(c->inputs[0], i)->parts[k], &own);
        if (status) break;
        int64_t before = all.data[at];
        for (int64_t r = 1; r < own.n; r++) all.data[++at] = before + own.data[r];
        mica_free(own.data);
    }
    if (!status) status = tf_ragged_give(c, result, all.data, all.n);
    mica_free(all.data);
    return status;
}

static mica_status join_values(mica_tf_host *c, int64_t count, mica_tf_value *out) {
    mica_tf_value *values = mica_calloc((size_t)count + 1, sizeof *values);
    if (!values) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < count; i++) {
        const ragged *r = element_of(c->inputs[0], i);
        values[i] = r->parts[r->depth];
    }
    mica_status status = tf_ragged_join(c->device, values, count, out);
    mica_free(values);
    return status;
}

static mica_status give_empty(mica_tf_host *c) {
    mica_tf_dtype dtype = c->output_dtypes[c->n_outputs - 1];
    const int64_t zero = 0;
    for (int32_t i = 0; i + 1 < c->n_outputs; i++)
        if (!c->outputs[i].object) MICA_TRY(tf_ragged_give(c, i, &zero, 1));
    if (dtype == MICA_TF_string)
        return mica_tf_strings_create(MICA_INTS(0), NULL, NULL, &c->outputs[c->n_outputs - 1]);
    mica_type type = mica_type_make(mica_tf_dtype_core(dtype), MICA_INTS(0));
    mica_tensor *tensor = NULL;
    MICA_TRY(mica_tensor_create(c->device, &type, &tensor));
    c->outputs[c->n_outputs - 1] = mica_tf_value_of(tensor);
    return NULL;
}

mica_status tf_host_ragged_from_variant(mica_tf_host *c) {
    mica_tf_shape encoded;
    mica_tf_value_shape(c->inputs[0], &encoded);
    int64_t count = mica_tf_variants_count(c->inputs[0]);
    int32_t depth = c->n_outputs - 1 - encoded.rank; /* the shape function has compared them */
    MICA_TRY(check_elements(c, count, depth, encoded.rank > 0));
    if (encoded.rank == 0) {
        const ragged *r = element_of(c->inputs[0], 0);
        for (int32_t i = 0; i <= r->depth; i++) {
            c->outputs[i] = r->parts[i];
            mica_tf_value_retain(c->outputs[i]);
        }
        return NULL;
    }
    MICA_TRY(give_outer_splits(c, &encoded));
    if (count == 0) return give_empty(c);
    for (int32_t k = 0; k < depth; k++) MICA_TRY(join_splits(c, count, k, encoded.rank + k));
    return join_values(c, count, &c->outputs[c->n_outputs - 1]);
}
