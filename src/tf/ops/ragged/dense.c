/* Ragged tensors as dense and as sparse ones. */
#include <string.h>

#include "tf/ops/ragged/ragged.h"

/* The row of each of n values, from splits that were checked. */
static mica_status rows_of_values(const tf_ragged_ints *splits, tf_ragged_ints *out) {
    MICA_TRY(tf_ragged_room(splits->data[splits->n - 1], out));
    for (int64_t r = 0; r + 1 < splits->n; r++)
        for (int64_t i = splits->data[r]; i < splits->data[r + 1]; i++) out->data[i] = r;
    return NULL;
}

/* ---- RaggedTensorToTensor ---------------------------------------------------------------------*/

/* The rows of each axis' entries, from the outermost: rows[k].data[i] is the entry of axis k in
 * which entry i of axis k + 1 is. */
typedef struct nesting {
    int32_t depth;
    int64_t n_rows;
    tf_ragged_ints *rows;
} nesting;

static void nesting_deinit(nesting *n) {
    for (int32_t i = 0; n->rows && i < n->depth; i++) mica_free(n->rows[i].data);
    mica_free(n->rows);
}

static mica_status check_rowids(const tf_ragged_ints *ids, int64_t n_rows) {
    for (int64_t i = 0; i < ids->n; i++) {
        if (ids->data[i] < 0 || ids->data[i] >= n_rows)
            return MICA_INVALID("[RaggedTensorToTensor] value_rowids holds %lld where there are "
                                "%lld rows",
                                (long long)ids->data[i], (long long)n_rows);
        if (i && ids->data[i] < ids->data[i - 1])
            return MICA_INVALID("[RaggedTensorToTensor] value_rowids must not decrease: %lld comes "
                                "after %lld",
                                (long long)ids->data[i], (long long)ids->data[i - 1]);
    }
    return NULL;
}

static mica_status read_rowids(const mica_tf_host *c, nesting *n, int64_t n_values) {
    tf_ragged_ints size;
    MICA_TRY(tf_ragged_read(c->inputs[3], &size));
    int64_t n_rows = n->n_rows = size.data[0];
    mica_free(size.data);
    if (n_rows < 0 || n_rows > TF_RAGGED_MOST)
        return MICA_INVALID("[RaggedTensorToTensor] %lld rows are not possible", (long long)n_rows);
    for (int32_t i = 0; i < n->depth; i++) {
        MICA_TRY(tf_ragged_read(c->inputs[4 + i], &n->rows[i]));
        MICA_TRY(check_rowids(&n->rows[i], n_rows));
        n_rows = n->rows[i].n;
    }
    if (n->depth && n_rows != n_values)
        return MICA_INVALID("[RaggedTensorToTensor] the last row partition is of %lld values, not "
                            "of %lld",
                            (long long)n_rows, (long long)n_values);
    if (!n->depth && n->n_rows != n_values)
        return MICA_INVALID("[RaggedTensorToTensor] the outermost row partition has %lld rows for "
                            "%lld values: they must be as many",
                            (long long)n->n_rows, (long long)n_values);
    return NULL;
}

static mica_status read_splits(const mica_tf_host *c, nesting *n, int64_t n_values) {
    tf_ragged_ints *splits = NULL;
    mica_status status =
        tf_ragged_splits_init(c->info->name, c->inputs + 3, n->depth, n_values, &splits);
    if (!status) n->n_rows = splits[0].n - 1;
    for (int32_t i = 0; !status && i < n->depth; i++)
        status = rows_of_values(&splits[i], &n->rows[i]);
    tf_ragged_splits_deinit(splits, n->depth);
    return status;
}

/* The longest row of an axis. */
static int64_t width_of(const tf_ragged_ints *rows) {
    int64_t widest = 0, width = 0;
    for (int64_t i = 0; i < rows->n; i++) {
        width = i && rows->data[i] == rows->data[i - 1] ? width + 1 : 1;
        if (width > widest) widest = width;
    }
    return widest;
}

/* The sizes of the result: those asked for, else those that hold everything. */
static mica_status result_shape(const mica_tf_host *c, const nesting *n, mica_tf_shape *out) {
    tf_ragged_ints wanted;
    mica_tf_shape values;
    mica_tf_value_shape(c->inputs[1], &values);
    MICA_TRY(tf_ragged_read(c->inputs[0], &wanted));
    mica_tf_shape asked;
    mica_tf_value_shape(c->inputs[0], &asked);
    mica_status status = NULL;
    int64_t total = 1;
    if (!asked.rank && wanted.data[0] != -1)
        status = MICA_INVALID("[RaggedTensorToTensor] a scalar shape must be -1, not %lld",
                              (long long)wanted.data[0]);
    *out = (mica_tf_shape){.rank = n->depth + values.rank};
    for (int32_t i = 0; !status && i < out->rank; i++) {
        int64_t own = i == 0          ? n->n_rows
                      : i <= n->depth ? width_of(&n->rows[i - 1])
                                      : values.dims[i - n->depth];
        int64_t size = asked.rank && i < wanted.n ? wanted.data[i] : -1;
        if (size < -1)
            status = MICA_INVALID("[RaggedTensorToTensor] a size of %lld is not possible",
                                  (long long)size);
        out->dims[i] = size >= 0 ? size : own;
        if (__builtin_mul_overflow(total, out->dims[i], &total) || total > TF_RAGGED_MOST)
            status = MICA_ERROR(MICA_RESOURCE_EXHAUSTED,
                                "[RaggedTensorToTensor] the result would have more than %lld "
                                "elements",
                                (long long)TF_RAGGED_MOST);
        if (status) break;
    }
    mica_free(wanted.data);
    return status;
}

/* Where each entry of the next axis is in the result, -1 where it is cut off; `places` holds that
 * of this axis and is replaced. */
static mica_status descend(const tf_ragged_ints *rows, int64_t width, tf_ragged_ints *places) {
    tf_ragged_ints inner;
    MICA_TRY(tf_ragged_room(rows->n, &inner));
    int64_t at = 0;
    for (int64_t i = 0; i < rows->n; i++) {
        at = i && rows->data[i] == rows->data[i - 1] ? at + 1 : 0;
        int64_t outer = places->data[rows->data[i]];
        inner.data[i] = outer < 0 || at >= width ? -1 : outer * width + at;
    }
    mica_free(places->data);
    *places = inner;
    return NULL;
}

/* For each slice of the result, which slice of the values it is, or -1. */
static mica_status find_sources(const nesting *n, const mica_tf_shape *shape, tf_ragged_ints *out) {
    tf_ragged_ints places;
    int64_t slots = 1;
    *out = (tf_ragged_ints){0};
    for (int32_t i = 0; i <= n->depth; i++) slots *= shape->dims[i];
    MICA_TRY(tf_ragged_room(n->n_rows, &places));
    for (int64_t r = 0; r < n->n_rows; r++) places.data[r] = r < shape->dims[0] ? r : -1;
    mica_status status = NULL;
    for (int32_t i = 0; !status && i < n->depth; i++)
        status = descend(&n->rows[i], shape->dims[i + 1], &places);
    if (!status) status = tf_ragged_room(slots, out);
    if (!status) {
        for (int64_t i = 0; i < slots; i++) out->data[i] = -1;
        for (int64_t i = 0; i < places.n; i++)
            if (places.data[i] >= 0) out->data[places.data[i]] = i;
    }
    mica_free(places.data);
    return status;
}

/* The default value, stretched to the shape of one slice. */
static mica_status stretch(const mica_tf_host *c, mica_tf_value *out_value) {
    mica_tf_value fill = c->inputs[2];
    mica_tf_shape values, own, flat;
    mica_tf_value_shape(c->inputs[1], &values);
    mica_tf_value_shape(fill, &own);
    int64_t n = 1;
    int32_t rank = values.rank - 1;
    for (int32_t i = 1; i < values.rank; i++) n *= values.dims[i];
    tf_ragged_ints sources;
    MICA_TRY(tf_ragged_room(n, &sources));
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, at = 0, stride = 1;
        for (int32_t k = rank - 1, o = own.rank - 1; k >= 0 && o >= 0; k--, o--) {
            int64_t index = rest % values.dims[k + 1];
            rest /= values.dims[k + 1];
            at += own.dims[o] == 1 ? 0 : index * stride;
            stride *= own.dims[o];
        }
        sources.data[i] = at;
    }
    /* As slices of one element each. */
    flat = (mica_tf_shape){.rank = 1, .dims = {mica_tf_shape_elements(&own)}};
    mica_status status = NULL;
    mica_tf_value vector = fill;
    if (own.rank == 1) {
        mica_tf_value_retain(vector);
    } else if (fill.dtype == MICA_TF_string) {
        mica_tf_value_retain(vector); /* strings are told apart by their numbers alone */
    } else {
        mica_tensor *tensor = NULL;
        mica_type type = mica_type_make(mica_tf_dtype_core(fill.dtype), MICA_INTS(flat.dims[0]));
        const void *data;
        status = mica_tf_open(fill, &data);
        if (!status) {
            status = mica_tensor_from_host(c->device, &type, data, &tensor);
            mica_tf_close(fill);
        }
        vector = mica_tf_value_of(tensor);
    }
    mica_tf_shape result = {.rank = 1, .dims = {n}};
    if (!status && fill.dtype == MICA_TF_string && own.rank > 1)
        status = MICA_ERROR(MICA_UNSUPPORTED,
                            "[RaggedTensorToTensor] a default_value of strings has rank 0 or 1");
    if (!status)
        status = tf_ragged_pick(c->device, vector, sources.data, n, (mica_tf_value){0}, &result,
                                out_value);
    mica_tf_value_release(vector);
    mica_free(sources.data);
    return status;
}

mica_status tf_host_ragged_to_tensor(mica_tf_host *c) {
    const mica_tf_attr *types = mica_tf_host_attr(c, "row_partition_types");
    bool has_size = !strcmp(types->as.strings[0], "FIRST_DIM_SIZE");
    nesting n = {.depth = types->n - has_size};
    mica_tf_shape values, shape;
    mica_tf_value_shape(c->inputs[1], &values);
    n.rows = mica_calloc((size_t)n.depth + 1, sizeof *n.rows);
    if (!n.rows) return MICA_NO_MEMORY();
    tf_ragged_ints sources = {0};
    mica_tf_value fill = {0};
    mica_status status =
        has_size ? read_rowids(c, &n, values.dims[0]) : read_splits(c, &n, values.dims[0]);
    if (!status) status = result_shape(c, &n, &shape);
    if (!status) status = find_sources(&n, &shape, &sources);
    if (!status) status = stretch(c, &fill);
    if (!status)
        status = tf_ragged_pick(c->device, c->inputs[1], sources.data, sources.n, fill, &shape,
                                &c->outputs[0]);
    mica_tf_value_release(fill);
    mica_free(sources.data);
    nesting_deinit(&n);
    return status;
}

/* ---- RaggedTensorToSparse ---------------------------------------------------------------------*/

/* The places of all elements, `rank` integers each: the last axes are those of the values. */
static void write_places(const tf_ragged_ints *splits, int32_t n, const mica_tf_shape *values,
                         int64_t each, int64_t *out) {
    int32_t rank = n + values->rank;
    int64_t count = values->dims[0];
    for (int64_t v = 0; v < count; v++)
        for (int64_t e = 0; e < each; e++) {
            int64_t *place = out + (v * each + e) * rank, rest = e;
            for (int32_t k = values->rank - 1; k > 0; k--) {
                place[n + k] = rest % values->dims[k];
                rest /= values->dims[k];
            }
        }
    /* Axis by axis from the innermost: the row of an entry is the next axis' entry. */
    for (int64_t v = 0, entry; v < count; v++) {
        entry = v;
        for (int32_t k = n - 1; k >= 0; k--) {
            int64_t low = 0, high = splits[k].n - 1; /* splits[low] <= entry < splits[high] */
            while (high - low > 1) {
                int64_t middle = low + (high - low) / 2;
                if (splits[k].data[middle] <= entry)
                    low = middle;
                else
                    high = middle;
            }
            for (int64_t e = 0; e < each; e++)
                out[(v * each + e) * rank + k + 1] = entry - splits[k].data[low];
            entry = low;
        }
        for (int64_t e = 0; e < each; e++) out[(v * each + e) * rank] = entry;
    }
}

static mica_status give_places(mica_tf_host *c, const tf_ragged_ints *splits, int32_t n,
                               const mica_tf_shape *values) {
    int32_t rank = n + values->rank;
    int64_t each = 1, total = mica_tf_shape_elements(values), size;
    for (int32_t i = 1; i < values->rank; i++) each *= values->dims[i];
    if (__builtin_mul_overflow(total, (int64_t)rank, &size) || size > TF_RAGGED_MOST)
        return MICA_ERROR(MICA_RESOURCE_EXHAUSTED,
                          "[RaggedTensorToSparse] %lld elements are too "
                          "many",
                          (long long)total);
    mica_type type = mica_type_make(MICA_DTYPE_i64, MICA_INTS(total, rank));
    mica_tensor *tensor = NULL;
    void *out;
    MICA_TRY(mica_tensor_create(c->device, &type, &tensor));
    c->outputs[0] = mica_tf_value_of(tensor);
    MICA_TRY(mica_tensor_open_view(tensor, MICA_WRITE, &out));
    if (total) write_places(splits, n, values, each, out);
    return mica_tensor_close_view(tensor);
}

/* The values as a vector of their elements. */
static mica_status give_elements(mica_tf_host *c, mica_tf_value value, const mica_tf_shape *shape) {
    int64_t count = mica_tf_shape_elements(shape);
    tf_ragged_ints sources;
    mica_tf_shape flat = {.rank = 1, .dims = {count}};
    MICA_TRY(tf_ragged_room(shape->dims[0], &sources));
    for (int64_t i = 0; i < sources.n; i++) sources.data[i] = i;
    mica_status status = tf_ragged_pick(c->device, value, sources.data, sources.n,
                                        (mica_tf_value){0}, &flat, &c->outputs[1]);
    mica_free(sources.data);
    return status;
}

mica_status tf_host_ragged_to_sparse(mica_tf_host *c) {
    int32_t n = c->n_inputs - 1;
    tf_ragged_ints *splits = NULL;
    mica_tf_shape values;
    mica_tf_value_shape(c->inputs[n], &values);
    mica_status status =
        tf_ragged_splits_init(c->info->name, c->inputs, n, values.dims[0], &splits);
    int64_t sizes[MICA_MAX_RANK] = {0};
    if (!status) {
        sizes[0] = splits[0].n - 1;
        for (int32_t k = 0; k < n; k++)
            for (int64_t r = 0; r + 1 < splits[k].n; r++) {
                int64_t length = splits[k].data[r + 1] - splits[k].data[r];
                if (length > sizes[k + 1]) sizes[k + 1] = length;
            }
        for (int32_t k = 1; k < values.rank; k++) sizes[n + k] = values.dims[k];
        status = give_places(c, splits, n, &values);
    }
    if (!status) status = give_elements(c, c->inputs[n], &values);
    if (!status)
        status = tf_ragged_vector(c->device, MICA_TF_int64, sizes, n + values.rank, &c->outputs[2]);
    tf_ragged_splits_deinit(splits, n);
    return status;
}
