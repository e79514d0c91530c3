/* Host functions of how often numbers come: in a vector, or in each row of a dense, sparse or
 * ragged matrix. */
#include <string.h>

#include "tf/ops/sparse/sparse.h"

/* Numbers, the row of each, and their weights. */
typedef struct numbers {
    tf_column values, weights;
    int64_t *rows; /* NULL: all in row 0 */
    int64_t n, n_rows;
    bool is_vector; /* there are no rows */
} numbers;

static void close_numbers(numbers *x) {
    tf_column_close(&x->values);
    tf_column_close(&x->weights);
    mica_free(x->rows);
    x->rows = NULL;
}

static mica_status open_numbers(const mica_tf_host *c, int32_t values, int32_t weights,
                                numbers *x) {
    memset(x, 0, sizeof *x);
    MICA_TRY(tf_column_open(c->inputs[values], &x->values));
    mica_status status = tf_column_open(c->inputs[weights], &x->weights);
    x->n = x->values.n;
    x->rows = status ? NULL : mica_calloc((size_t)x->n + 1, sizeof *x->rows);
    if (!status && !x->rows) status = MICA_NO_MEMORY();
    if (status) close_numbers(x);
    return status;
}

static mica_status check_numbers(const mica_tf_host *c, int32_t values, int32_t weights,
                                 const numbers *x) {
    mica_tf_shape a, b;
    mica_tf_value_shape(c->inputs[values], &a);
    mica_tf_value_shape(c->inputs[weights], &b);
    bool counts = c->info->n_outputs == 3;
    if (x->weights.n && !mica_tf_shape_equal(&a, &b))
        return counts ? MICA_INVALID("[%s] Weights and data must have the same shape. Weight shape:"
                                     " %s; data shape: %s",
                                     c->info->name, mica_tf_shape_text(&b).chars,
                                     mica_tf_shape_text(&a).chars)
                      : MICA_INVALID("[%s] `weights` must be the same shape as `arr` or a length-0 "
                                     "`Tensor`, in which case it acts as all weights equal to 1. "
                                     "Received %s",
                                     c->info->name, mica_tf_shape_text(&b).chars);
    for (int64_t i = 0; i < x->n; i++)
        if (tf_column_int(&x->values, i) < 0)
            return MICA_INVALID(counts ? "[%s] Input values must all be non-negative"
                                       : "[%s] Input arr must be non-negative!",
                                c->info->name);
    return NULL;
}

/* ---- rows -------------------------------------------------------------------------------------*/

static mica_status dense_rows(const mica_tf_host *c, numbers *x) {
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[0], &shape);
    x->is_vector = shape.rank < 2;
    x->n_rows = x->is_vector ? 1 : shape.dims[0];
    for (int64_t i = 0; i < x->n && !x->is_vector; i++) x->rows[i] = i / shape.dims[1];
    return NULL;
}

static mica_status sparse_rows(const mica_tf_host *c, numbers *x) {
    tf_sparse s;
    MICA_TRY(tf_sparse_open(c, 0, -1, 2, &s));
    mica_status status = NULL;
    if (s.n != x->n || s.rank < 1 || s.rank > 2)
        status = MICA_INVALID("[%s] Input must be a 1 or 2-dimensional tensor. Got: %s",
                              c->info->name, tf_sizes_text(s.shape, s.rank).chars);
    if (!status) status = tf_sparse_check(c, &s);
    x->is_vector = s.rank < 2;
    x->n_rows = x->is_vector || status ? 1 : s.shape[0];
    for (int64_t i = 0; i < x->n && !status && !x->is_vector; i++)
        x->rows[i] = tf_sparse_place(&s, i)[0];
    tf_sparse_close(&s);
    if (!status && x->n_rows < 0)
        status = MICA_INVALID("[%s] the dense shape begins with %lld", c->info->name,
                              (long long)x->n_rows);
    return status;
}

static mica_status ragged_rows(const mica_tf_host *c, numbers *x) {
    tf_column splits;
    MICA_TRY(tf_column_open(c->inputs[0], &splits));
    const int64_t *ends = (const int64_t *)splits.data;
    mica_status status = NULL;
    if (splits.n < 2)
        status = MICA_INVALID("[%s] Must provide at least 2 elements for the splits argument",
                              c->info->name);
    else if (ends[0] != 0)
        status = MICA_INVALID("[%s] Splits must start with 0, not with %lld", c->info->name,
                              (long long)ends[0]);
    else if (ends[splits.n - 1] != x->n)
        status = MICA_INVALID("[%s] Splits must end with the number of values, got %lld instead of "
                              "%lld",
                              c->info->name, (long long)ends[splits.n - 1], (long long)x->n);
    x->n_rows = splits.n - 1;
    for (int64_t i = 0, row = 0; i < x->n && !status; i++) {
        while (row + 1 < x->n_rows && i >= ends[row + 1]) row++;
        x->rows[i] = row;
    }
    tf_column_close(&splits);
    return status;
}

/* ---- dense results ----------------------------------------------------------------------------*/

static void add_count(const numbers *x, int64_t i, bool binary, mica_dtype dtype, char *to) {
    static const tf_number one = {1, 0, 1};
    tf_number by = binary || !x->weights.n ? one : tf_number_at(&x->weights, i);
    if (!binary) by = tf_number_add(dtype, tf_number_load(dtype, to), by);
    tf_number_store(dtype, by, to);
}

static mica_status give_counts(mica_tf_host *c, const numbers *x, int64_t size) {
    bool binary = mica_tf_host_attr(c, "binary_output")->as.integer != 0;
    mica_dtype dtype = mica_tf_dtype_core(c->output_dtypes[0]);
    size_t bytes = mica_dtype_bytes(dtype);
    void *data;
    if (size < 0)
        return MICA_INVALID("[%s] size (%lld) must be non-negative", c->info->name,
                            (long long)size);
    MICA_TRY(tf_sparse_room(c, mica_tf_times(x->n_rows, size), bytes, &data));
    for (int64_t i = 0; i < x->n; i++) {
        int64_t value = tf_column_int(&x->values, i);
        if (value >= size) continue;
        add_count(x, i, binary, dtype, (char *)data + (size_t)(x->rows[i] * size + value) * bytes);
    }
    mica_ints dims = x->is_vector ? MICA_INTS(size) : MICA_INTS(x->n_rows, size);
    mica_status status = mica_tf_give_numbers(c, 0, dtype, dims, data);
    mica_free(data);
    return status;
}

typedef mica_status (*rows_function)(const mica_tf_host *c, numbers *x);

static mica_status bincount(mica_tf_host *c, int32_t values, rows_function rows) {
    numbers x;
    int64_t size;
    MICA_TRY(mica_tf_int_input(c, c->n_inputs - 2, &size));
    MICA_TRY(open_numbers(c, values, c->n_inputs - 1, &x));
    mica_status status = rows(c, &x);
    if (!status) status = check_numbers(c, values, c->n_inputs - 1, &x);
    if (!status) status = give_counts(c, &x, size);
    close_numbers(&x);
    return status;
}

mica_status tf_host_sparse_bincount(mica_tf_host *c) {
    return bincount(c, 1, sparse_rows);
}

mica_status tf_host_ragged_bincount(mica_tf_host *c) {
    return bincount(c, 1, ragged_rows);
}

/* ---- sparse results ---------------------------------------------------------------------------*/

typedef struct counts {
    int64_t *places, *order, *kept;
    char *values;
    int64_t n, largest;
} counts;

static void count_all(const numbers *x, bool binary, mica_dtype dtype, int64_t limit, counts *k) {
    size_t bytes = mica_dtype_bytes(dtype);
    int32_t rank = x->is_vector ? 1 : 2;
    const int64_t *last = NULL;
    for (int64_t i = 0; i < x->n; i++) {
        const int64_t *place = k->places + k->order[i] * 2;
        if (limit >= 0 && place[1] >= limit) continue;
        if (!last || tf_place_compare(last, place, 2)) {
            int64_t *to = k->kept + k->n * rank;
            if (rank == 2) *to++ = place[0];
            *to = place[1];
            memset(k->values + (size_t)k->n++ * bytes, 0, bytes);
        }
        last = place;
        if (place[1] > k->largest) k->largest = place[1];
        add_count(x, k->order[i], binary, dtype, k->values + (size_t)(k->n - 1) * bytes);
    }
}

static mica_status give_sparse_counts(mica_tf_host *c, const numbers *x) {
    mica_dtype dtype = mica_tf_dtype_core(c->output_dtypes[1]);
    int64_t least = mica_tf_host_attr(c, "minlength")->as.integer;
    int64_t limit = mica_tf_host_attr(c, "maxlength")->as.integer;
    bool binary = mica_tf_host_attr(c, "binary_output")->as.integer != 0;
    int32_t rank = x->is_vector ? 1 : 2;
    size_t n = (size_t)x->n;
    counts k = {0};
    k.places = mica_alloc(n * (5 * sizeof *k.places + mica_dtype_bytes(dtype)) + 16);
    if (!k.places) return MICA_NO_MEMORY();
    k.order = k.places + 2 * n;
    k.kept = k.order + n;
    k.values = (char *)(k.kept + 2 * n);
    for (int64_t i = 0; i < x->n; i++) {
        k.places[2 * i] = x->rows[i];
        k.places[2 * i + 1] = tf_column_int(&x->values, i);
    }
    mica_status status = tf_places_order(k.places, x->n, 2, k.order);
    if (!status) {
        count_all(x, binary, dtype, limit, &k);
        status = tf_give_places(c, 0, k.kept, k.n, rank);
    }
    if (!status) status = mica_tf_give_numbers(c, 1, dtype, MICA_INTS(k.n), k.values);
    int64_t size = mica_tf_plus(k.largest, 1), sizes[2] = {x->n_rows, 0};
    sizes[rank - 1] = limit >= 0 ? limit : size > least ? size : least;
    if (!status) status = tf_give_vector(c, 2, sizes, rank);
    mica_free(k.places);
    return status;
}

static mica_status count(mica_tf_host *c, int32_t values, rows_function rows) {
    numbers x;
    MICA_TRY(open_numbers(c, values, c->n_inputs - 1, &x));
    mica_status status = rows(c, &x);
    if (!status) status = check_numbers(c, values, c->n_inputs - 1, &x);
    if (!status) status = give_sparse_counts(c, &x);
    close_numbers(&x);
    return status;
}

mica_status tf_host_dense_count(mica_tf_host *c) {
    return count(c, 0, dense_rows);
}

mica_status tf_host_sparse_count(mica_tf_host *c) {
    return count(c, 1, sparse_rows);
}

mica_status tf_host_ragged_count(mica_tf_host *c) {
    return count(c, 1, ragged_rows);
}
