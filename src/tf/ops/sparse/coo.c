/* Host functions of sparse tensors by their elements: in other shapes, joined, cut, added, filled,
 * made dense. What a result is made of is said by picks: elements of the operands. */
#include <string.h>

#include "tf/ops/sparse/sparse.h"

/* ---- reshape ----------------------------------------------------------------------------------*/

static mica_status infer_sizes(const mica_tf_host *c, const tf_sparse *x, int64_t *sizes,
                               int32_t n) {
    int64_t whole = 1, known = 1, unknown = -1;
    for (int32_t i = 0; i < x->rank; i++) whole = mica_tf_times(whole, x->shape[i]);
    for (int32_t i = 0; i < n; i++) {
        if (sizes[i] == -1 && unknown >= 0)
            return MICA_INVALID("[%s] only one output dimension may be -1, not both %lld and %d",
                                c->info->name, (long long)unknown, i);
        if (sizes[i] == -1)
            unknown = i;
        else if (sizes[i] < 0)
            return MICA_INVALID("[%s] size %d must be non-negative, not %lld", c->info->name, i,
                                (long long)sizes[i]);
        else
            known = mica_tf_times(known, sizes[i]);
    }
    if (unknown >= 0 && known == 0 && whole != 0)
        return MICA_INVALID("[%s] reshape cannot infer the missing input size for an empty tensor "
                            "unless all specified input sizes are non-zero",
                            c->info->name);
    if (unknown >= 0) {
        sizes[unknown] = known ? whole / known : 0;
        if (known && sizes[unknown] * known != whole)
            return MICA_INVALID("[%s] Input to reshape is a SparseTensor with %lld dense values, "
                                "but the requested shape requires a multiple of %lld. input_shape="
                                "%s output_shape=%s",
                                c->info->name, (long long)whole, (long long)known,
                                tf_sizes_text(x->shape, x->rank).chars,
                                tf_sizes_text(sizes, n).chars);
        known *= sizes[unknown];
    }
    if (known == whole) return NULL;
    return MICA_INVALID("[%s] Input to reshape is a tensor with %lld dense values, but the "
                        "requested shape has %lld. input_shape=%s output_shape=%s",
                        c->info->name, (long long)whole, (long long)known,
                        tf_sizes_text(x->shape, x->rank).chars, tf_sizes_text(sizes, n).chars);
}

static mica_status reshape(mica_tf_host *c, const tf_sparse *x, const tf_column *asked) {
    int64_t sizes[TF_SPARSE_MOST_AXES];
    int32_t n = (int32_t)asked->n;
    for (int32_t i = 0; i < n; i++) sizes[i] = tf_column_int(asked, i);
    for (int32_t i = 0; i < x->rank; i++)
        if (x->shape[i] < 0)
            return MICA_INVALID("[%s] size %d of the input's shape is %lld; it must be >= 0",
                                c->info->name, i, (long long)x->shape[i]);
    MICA_TRY(infer_sizes(c, x, sizes, n));
    int64_t strides[TF_SPARSE_MOST_AXES + 1] = {1}; /* of the result's axes, the last one first */
    for (int32_t k = 0; k < n; k++) strides[k + 1] = mica_tf_times(strides[k], sizes[n - 1 - k]);
    if (x->n > 0 && n > 0 && strides[n] == 0)
        return MICA_INVALID("[%s] a tensor of shape %s has no place for %lld elements",
                            c->info->name, tf_sizes_text(sizes, n).chars, (long long)x->n);
    int64_t *places = mica_alloc((size_t)x->n * (size_t)n * sizeof *places + 8);
    if (!places) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < x->n; i++) {
        const int64_t *from = tf_sparse_place(x, i);
        int64_t at = 0;
        for (int32_t k = 0; k < x->rank; k++)
            at = mica_tf_plus(mica_tf_times(at, x->shape[k]), from[k]);
        for (int32_t k = 0; k < n; k++) {
            places[i * n + k] = at / strides[n - 1 - k];
            at %= strides[n - 1 - k];
        }
    }
    mica_status status = tf_give_places(c, 0, places, x->n, n);
    if (!status) status = tf_give_vector(c, 1, sizes, n);
    mica_free(places);
    return status;
}

mica_status tf_host_sparse_reshape(mica_tf_host *c) {
    tf_sparse x;
    tf_column asked;
    MICA_TRY(tf_sparse_open(c, 0, -1, 1, &x));
    mica_status status = tf_column_open(c->inputs[2], &asked);
    if (!status) {
        status = reshape(c, &x, &asked);
        tf_column_close(&asked);
    }
    tf_sparse_close(&x);
    return status;
}

/* ---- elements of a result, one by one ---------------------------------------------------------*/

typedef struct result {
    int64_t *places;
    tf_pick *picks;
    int64_t n;
    int32_t rank;
    void *room;
} result;

static mica_status result_init(result *r, int64_t most, int32_t rank) {
    size_t n = (size_t)most;
    *r = (result){.rank = rank};
    r->room = mica_alloc(n * sizeof *r->picks + n * (size_t)rank * sizeof *r->places + 16);
    if (!r->room) return MICA_NO_MEMORY();
    r->picks = r->room;
    r->places = (int64_t *)(r->picks + n);
    return NULL;
}

static int64_t *result_add(result *r, int32_t column, int64_t i) {
    r->picks[r->n] = (tf_pick){column, i};
    return r->places + r->n++ * r->rank;
}

static mica_status result_give(mica_tf_host *c, const result *r, const tf_column *columns,
                               int32_t places, int32_t values) {
    MICA_TRY(tf_give_places(c, places, r->places, r->n, r->rank));
    return tf_give_picks(c, values, columns, r->picks, MICA_INTS(r->n));
}

static void copy_place(int64_t *to, const int64_t *from, int32_t rank) {
    if (rank) memcpy(to, from, (size_t)rank * sizeof *to);
}

/* ---- concat -----------------------------------------------------------------------------------*/

static mica_status concat_sizes(const mica_tf_host *c, const tf_sparse *x, int32_t n, int32_t axis,
                                int64_t *sizes) {
    copy_place(sizes, x[0].shape, x[0].rank);
    for (int32_t i = 1; i < n; i++) {
        if (x[i].rank != x[0].rank)
            return MICA_INVALID("[%s] Ranks of all input tensors must match: expected %d but got "
                                "%d at position %d",
                                c->info->name, x[0].rank, x[i].rank, i);
        for (int32_t k = 0; k < x[0].rank; k++) {
            if (k == axis)
                sizes[k] = mica_tf_plus(sizes[k], x[i].shape[k]);
            else if (x[i].shape[k] != x[0].shape[k])
                return MICA_INVALID("[%s] Input shapes must match: expected %lld for dimension %d "
                                    "but got %lld at position %d",
                                    c->info->name, (long long)x[0].shape[k], k,
                                    (long long)x[i].shape[k], i);
        }
    }
    return NULL;
}

static mica_status concat_ordered(mica_tf_host *c, const result *all, const tf_column *columns) {
    result r;
    int64_t *order = mica_alloc((size_t)all->n * sizeof *order + 8);
    if (!order) return MICA_NO_MEMORY();
    mica_status status = tf_places_order(all->places, all->n, all->rank, order);
    if (!status) status = result_init(&r, all->n, all->rank);
    if (!status) {
        for (int64_t i = 0; i < all->n; i++)
            copy_place(result_add(&r, all->picks[order[i]].column, all->picks[order[i]].i),
                       all->places + order[i] * all->rank, all->rank);
        status = result_give(c, &r, columns, 0, 1);
        mica_free(r.room);
    }
    mica_free(order);
    return status;
}

static mica_status concat(mica_tf_host *c, const tf_sparse *x, tf_column *columns, int32_t n) {
    int64_t sizes[TF_SPARSE_MOST_AXES], all = 0, before = 0;
    int32_t rank = x[0].rank, axis = (int32_t)mica_tf_host_attr(c, "concat_dim")->as.integer;
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank)
        return MICA_INVALID("[%s] Concat dimension must be in range [%d, %d), got %d",
                            c->info->name, -rank, rank, axis < 0 ? axis - rank : axis);
    MICA_TRY(concat_sizes(c, x, n, axis, sizes));
    for (int32_t i = 0; i < n; i++) {
        columns[i] = *tf_sparse_values(&x[i]);
        all += x[i].n;
    }
    result r;
    MICA_TRY(result_init(&r, all, rank));
    for (int32_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < x[i].n; k++) {
            int64_t *place = result_add(&r, i, k);
            copy_place(place, tf_sparse_place(&x[i], k), rank);
            place[axis] = mica_tf_plus(place[axis], before);
        }
        before = mica_tf_plus(before, x[i].shape[axis]);
    }
    mica_status status = concat_ordered(c, &r, columns);
    if (!status) status = tf_give_vector(c, 2, sizes, rank);
    mica_free(r.room);
    return status;
}

mica_status tf_host_sparse_concat(mica_tf_host *c) {
    int32_t n = c->n_inputs / 3, opened = 0;
    tf_sparse *x = mica_alloc((size_t)n * (sizeof *x + sizeof(tf_column)));
    if (!x) return MICA_NO_MEMORY();
    mica_status status = NULL;
    while (opened < n && !status) {
        status = tf_sparse_open(c, opened, n + opened, 2 * n + opened, &x[opened]);
        if (!status) opened++;
    }
    if (!status) status = concat(c, x, (tf_column *)(x + n), n);
    for (int32_t i = 0; i < opened; i++) tf_sparse_close(&x[i]);
    mica_free(x);
    return status;
}

/* ---- split and slice --------------------------------------------------------------------------*/

/* The elements from low on, below high, into results; `sizes` are those of the part. */
static mica_status give_part(mica_tf_host *c, const tf_sparse *x, const int64_t *low,
                             const int64_t *sizes, const int32_t outputs[3]) {
    result r;
    MICA_TRY(result_init(&r, x->n, x->rank));
    for (int64_t i = 0; i < x->n; i++) {
        const int64_t *place = tf_sparse_place(x, i);
        bool inside = true;
        for (int32_t k = 0; k < x->rank && inside; k++)
            inside = place[k] >= low[k] && place[k] < mica_tf_plus(low[k], sizes[k]);
        if (!inside) continue;
        int64_t *to = result_add(&r, 0, i);
        for (int32_t k = 0; k < x->rank; k++) to[k] = place[k] - low[k];
    }
    mica_status status = result_give(c, &r, tf_sparse_values(x), outputs[0], outputs[1]);
    if (!status) status = tf_give_vector(c, outputs[2], sizes, x->rank);
    mica_free(r.room);
    return status;
}

static mica_status split(mica_tf_host *c, const tf_sparse *x) {
    int64_t axis, n = mica_tf_host_attr(c, "num_split")->as.integer;
    int64_t low[TF_SPARSE_MOST_AXES] = {0}, sizes[TF_SPARSE_MOST_AXES];
    MICA_TRY(mica_tf_int_input(c, 0, &axis));
    int64_t given = axis;
    if (axis < 0 && axis >= -x->rank) axis += x->rank;
    if (axis < 0 || axis >= x->rank)
        return MICA_INVALID("[%s] Input axis should be in range [%d, %d), got %lld", c->info->name,
                            -x->rank, x->rank, (long long)given);
    if (n < 1 || n > x->shape[axis])
        return MICA_INVALID("[%s] Input num_split should be between 1 and the splitting dimension "
                            "size (%lld), got %lld",
                            c->info->name, (long long)x->shape[axis], (long long)n);
    copy_place(sizes, x->shape, x->rank);
    int64_t size = x->shape[axis] / n, longer = x->shape[axis] % n;
    for (int64_t i = 0; i < n; i++) {
        const int32_t outputs[3] = {(int32_t)i, (int32_t)(n + i), (int32_t)(2 * n + i)};
        sizes[axis] = size + (i < longer);
        MICA_TRY(give_part(c, x, low, sizes, outputs));
        low[axis] += sizes[axis];
    }
    return NULL;
}

mica_status tf_host_sparse_split(mica_tf_host *c) {
    tf_sparse x;
    MICA_TRY(tf_sparse_open(c, 1, 2, 3, &x));
    mica_status status = split(c, &x);
    tf_sparse_close(&x);
    return status;
}

static mica_status slice(mica_tf_host *c, const tf_sparse *x, const int64_t *start,
                         const int64_t *size) {
    static const int32_t outputs[3] = {0, 1, 2};
    int64_t sizes[TF_SPARSE_MOST_AXES];
    for (int32_t k = 0; k < x->rank; k++) {
        if (size[k] < 0)
            return MICA_INVALID("[%s] Expected a non-negative size, got %lld", c->info->name,
                                (long long)size[k]);
        int64_t before = start[k] == INT64_MIN ? INT64_MAX : -start[k];
        int64_t left = start[k] < x->shape[k] ? mica_tf_plus(x->shape[k], before) : 0;
        sizes[k] = size[k] < left ? size[k] : left;
    }
    return give_part(c, x, start, sizes, outputs);
}

mica_status tf_host_sparse_slice(mica_tf_host *c) {
    tf_sparse x;
    tf_column start = {0}, size = {0};
    MICA_TRY(tf_sparse_open(c, 0, 1, 2, &x));
    mica_status status = tf_column_open(c->inputs[3], &start);
    if (!status) status = tf_column_open(c->inputs[4], &size);
    if (!status) status = slice(c, &x, (const int64_t *)start.data, (const int64_t *)size.data);
    tf_column_close(&size);
    tf_column_close(&start);
    tf_sparse_close(&x);
    return status;
}

/* ---- gradients that are found again by place --------------------------------------------------*/

/* Places, in order, of what gradients belong to, each moved by `start`. */
typedef struct found {
    const int64_t *places, *start; /* start: NULL, or one number per axis */
    int64_t n;
    int32_t rank;
} found;

static int compare_moved(const found *f, int64_t i, const int64_t *place) {
    for (int32_t k = 0; k < f->rank; k++) {
        int64_t at = mica_tf_plus(f->places[i * f->rank + k], f->start ? f->start[k] : 0);
        if (at != place[k]) return at < place[k] ? -1 : 1;
    }
    return 0;
}

/* Result `output`: the gradient of each of n places, zero where it is not found. Both are in
 * order. */
static mica_status give_found(mica_tf_host *c, int32_t output, const found *f,
                              const tf_column *gradients, const tf_column *of) {
    int64_t n = f->rank ? of->n / f->rank : 0, k = 0;
    mica_tf_shape shape;
    mica_tf_value_shape(of->value, &shape);
    if (!f->rank) n = shape.dims[0];
    char *data = mica_calloc((size_t)n + 1, gradients->size);
    if (!data) return MICA_NO_MEMORY();
    const int64_t *places = (const int64_t *)of->data;
    for (int64_t i = 0; i < n && k < f->n; i++) {
        while (k < f->n && compare_moved(f, k, places + i * f->rank) < 0) k++;
        if (k >= f->n || compare_moved(f, k, places + i * f->rank) != 0) continue;
        memcpy(data + (size_t)i * gradients->size, gradients->data + (size_t)k * gradients->size,
               gradients->size);
        k++;
    }
    mica_status status = mica_tf_give_numbers(c, output, gradients->dtype, MICA_INTS(n), data);
    mica_free(data);
    return status;
}

static found found_of(const mica_tf_host *c, int32_t i, const tf_column *places) {
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[i], &shape);
    return (found){.places = (const int64_t *)places->data,
                   .n = shape.dims[0],
                   .rank = (int32_t)shape.dims[1]};
}

enum { FOUR = 4 };

static void close_columns(tf_column *columns) {
    for (int32_t i = 0; i < FOUR; i++) tf_column_close(&columns[i]);
}

static mica_status open_columns(const mica_tf_host *c, tf_column *columns) {
    memset(columns, 0, FOUR * sizeof *columns);
    mica_status status = NULL;
    for (int32_t i = 0; i < FOUR && !status; i++)
        status = tf_column_open(c->inputs[i], &columns[i]);
    if (status) close_columns(columns);
    return status;
}

mica_status tf_host_sparse_add_grad(mica_tf_host *c) {
    tf_column columns[FOUR];
    MICA_TRY(open_columns(c, columns));
    found f = found_of(c, 3, &columns[3]);
    mica_status status = give_found(c, 0, &f, &columns[0], &columns[1]);
    if (!status) status = give_found(c, 1, &f, &columns[0], &columns[2]);
    close_columns(columns);
    return status;
}

mica_status tf_host_sparse_slice_grad(mica_tf_host *c) {
    tf_column columns[FOUR];
    MICA_TRY(open_columns(c, columns));
    found f = found_of(c, 3, &columns[3]);
    f.start = (const int64_t *)columns[2].data;
    mica_status status = give_found(c, 0, &f, &columns[0], &columns[1]);
    close_columns(columns);
    return status;
}

/* ---- two tensors at once ----------------------------------------------------------------------*/

typedef tf_number (*combine)(mica_dtype dtype, tf_number a, tf_number b);

static tf_number larger(mica_dtype dtype, tf_number a, tf_number b) {
    return tf_number_less(dtype, a, b) ? b : a;
}

static tf_number smaller(mica_dtype dtype, tf_number a, tf_number b) {
    return tf_number_less(dtype, b, a) ? b : a;
}

static mica_status check_alike(const mica_tf_host *c, const tf_sparse *a, const tf_sparse *b) {
    if (a->rank != b->rank)
        return MICA_INVALID("[%s] Operands do not have the same ranks; got shapes: %s and %s",
                            c->info->name, tf_sizes_text(a->shape, a->rank).chars,
                            tf_sizes_text(b->shape, b->rank).chars);
    for (int32_t k = 0; k < a->rank; k++)
        if (a->shape[k] != b->shape[k])
            return MICA_INVALID("[%s] Operands' shapes do not match: got %lld and %lld for "
                                "dimension %d",
                                c->info->name, (long long)a->shape[k], (long long)b->shape[k], k);
    return NULL;
}

/* How large a number is, above a threshold or at it. */
static bool reaches(mica_dtype dtype, tf_number x, double threshold) {
    mica_dtype_kind kind = mica_dtype_kind_of(dtype);
    if (kind == MICA_KIND_FLOAT) return threshold <= (x.re < 0 ? -x.re : x.re);
    if (kind == MICA_KIND_COMPLEX)
        return threshold <= 0 || x.re * x.re + x.im * x.im >= threshold * threshold;
    if (kind == MICA_KIND_UNSIGNED) return threshold <= (double)(uint64_t)x.i;
    return threshold <= (double)(x.i < 0 ? -(double)x.i : (double)x.i);
}

typedef struct merged {
    int64_t *places;
    char *values;
    int64_t n;
} merged;

/* Both in order; the smaller place first, those at one place together. */
static void merge(const tf_sparse *a, const tf_sparse *b, combine with, bool with_zero,
                  const double *threshold, merged *m) {
    const tf_column *x = tf_sparse_values(a), *y = tf_sparse_values(b);
    const tf_number zero = {0, 0, 0};
    int64_t i = 0, k = 0;
    while (i < a->n || k < b->n) {
        int order = i >= a->n ? 1
                    : k >= b->n
                        ? -1
                        : tf_place_compare(tf_sparse_place(a, i), tf_sparse_place(b, k), a->rank);
        const int64_t *place = order <= 0 ? tf_sparse_place(a, i) : tf_sparse_place(b, k);
        tf_number value = order <= 0 ? tf_number_at(x, i) : tf_number_at(y, k);
        if (order == 0)
            value = with(x->dtype, value, tf_number_at(y, k));
        else if (with_zero)
            value = with(x->dtype, value, zero);
        i += order <= 0;
        k += order >= 0;
        /* As in TensorFlow, elements that only one of the two has are kept, however small. */
        if (order == 0 && threshold && !reaches(x->dtype, value, *threshold)) continue;
        copy_place(m->places + m->n * a->rank, place, a->rank);
        tf_number_store(x->dtype, value, m->values + (size_t)m->n++ * x->size);
    }
}

static mica_status two(mica_tf_host *c, combine with, bool with_zero, const double *threshold) {
    tf_sparse a, b;
    merged m = {0};
    MICA_TRY(tf_sparse_open(c, 0, 1, 2, &a));
    mica_status status = tf_sparse_open(c, 3, 4, 5, &b);
    if (status) {
        tf_sparse_close(&a);
        return status;
    }
    status = check_alike(c, &a, &b);
    const tf_column *x = tf_sparse_values(&a);
    size_t n = (size_t)(a.n + b.n);
    if (!status) {
        m.places = mica_alloc(n * ((size_t)a.rank * sizeof *m.places + x->size) + 16);
        if (!m.places) status = MICA_NO_MEMORY();
    }
    if (!status) {
        m.values = (char *)(m.places + n * (size_t)a.rank);
        merge(&a, &b, with, with_zero, threshold, &m);
        status = tf_give_places(c, 0, m.places, m.n, a.rank);
    }
    if (!status) status = mica_tf_give_numbers(c, 1, x->dtype, MICA_INTS(m.n), m.values);
    if (!status && c->n_outputs > 2) status = tf_give_vector(c, 2, a.shape, a.rank);
    mica_free(m.places);
    tf_sparse_close(&b);
    tf_sparse_close(&a);
    return status;
}

mica_status tf_host_sparse_add(mica_tf_host *c) {
    double threshold;
    MICA_TRY(mica_tf_tensor_double(mica_tf_tensor(c->inputs[6]), &threshold));
    return two(c, tf_number_add, false, &threshold);
}

mica_status tf_host_sparse_maximum(mica_tf_host *c) {
    return two(c, larger, true, NULL);
}

mica_status tf_host_sparse_minimum(mica_tf_host *c) {
    return two(c, smaller, true, NULL);
}

/* ---- empty rows -------------------------------------------------------------------------------*/

/* first[r]: how many elements stand in rows before r; of r = rows: in all. */
static mica_status count_rows(const mica_tf_host *c, const tf_sparse *x, int64_t rows,
                              int64_t *first) {
    for (int64_t i = 0; i < x->n; i++) {
        int64_t row = tf_sparse_place(x, i)[0];
        if (row < 0 || row >= rows)
            return MICA_INVALID("[%s] indices(%lld, 0) is invalid: %lld >= %lld", c->info->name,
                                (long long)i, (long long)row, (long long)rows);
        first[row + 1]++;
    }
    return NULL;
}

static mica_status fill(mica_tf_host *c, const tf_sparse *x, const tf_column *fallback) {
    int64_t rows = x->shape[0];
    if (rows < 0)
        return MICA_INVALID("[%s] dense_shape[0] is %lld; it must be >= 0", c->info->name,
                            (long long)rows);
    if (rows == 0 && x->n > 0)
        return MICA_INVALID("[%s] Received SparseTensor with dense_shape[0] = 0 but "
                            "indices.shape[0] = %lld",
                            c->info->name, (long long)x->n);
    MICA_TRY(tf_sparse_fits(c, mica_tf_plus(rows, x->n), 48 + 16 * (size_t)x->rank));
    int64_t *first = mica_calloc((size_t)rows + (size_t)x->n + 2, sizeof *first);
    uint8_t *empty = mica_calloc((size_t)rows + 1, 1);
    result r = {0};
    mica_status status = first && empty ? count_rows(c, x, rows, first) : MICA_NO_MEMORY();
    if (!status) {
        int64_t n_empty = 0, *where = first + rows + 1;
        for (int64_t i = 0; i < rows; i++) {
            empty[i] = first[i + 1] == 0;
            n_empty += empty[i];
        }
        for (int64_t i = 0; i < rows; i++) first[i + 1] += first[i] + empty[i];
        status = result_init(&r, x->n + n_empty, x->rank);
        if (!status) {
            r.n = x->n + n_empty;
            for (int64_t i = 0; i < rows; i++) {
                if (!empty[i]) continue;
                int64_t *place = r.places + first[i] * x->rank;
                r.picks[first[i]] = (tf_pick){1, 0};
                for (int32_t k = 0; k < x->rank; k++) place[k] = k ? 0 : i;
            }
            for (int64_t i = 0; i < x->n; i++) {
                const int64_t *place = tf_sparse_place(x, i);
                where[i] = first[place[0]]++;
                r.picks[where[i]] = (tf_pick){0, i};
                copy_place(r.places + where[i] * x->rank, place, x->rank);
            }
            const tf_column columns[2] = {*tf_sparse_values(x), *fallback};
            status = result_give(c, &r, columns, 0, 1);
        }
        if (!status) status = mica_tf_give_numbers(c, 2, MICA_DTYPE_bool, MICA_INTS(rows), empty);
        if (!status) status = tf_give_vector(c, 3, where, x->n);
    }
    mica_free(r.room);
    mica_free(empty);
    mica_free(first);
    return status;
}

mica_status tf_host_sparse_fill(mica_tf_host *c) {
    tf_sparse x;
    tf_column fallback;
    MICA_TRY(tf_sparse_open(c, 0, 1, 2, &x));
    mica_status status = tf_column_open(c->inputs[3], &fallback);
    if (!status) {
        status = fill(c, &x, &fallback);
        tf_column_close(&fallback);
    }
    tf_sparse_close(&x);
    return status;
}

static mica_status fill_grad(mica_tf_host *c, const tf_column *where, const tf_column *gradients) {
    size_t n = (size_t)where->n, m = (size_t)gradients->n, size = gradients->size;
    char *data = mica_calloc(n + 2, size + 1), *visited = mica_calloc(m + 1, 1);
    mica_status status = data && visited ? NULL : MICA_NO_MEMORY();
    for (size_t i = 0; i < n && !status; i++) {
        int64_t at = tf_column_int(where, (int64_t)i);
        if (at < 0 || at >= gradients->n) {
            status = MICA_INVALID("[%s] Elements in reverse index must be in [0, %lld) but got "
                                  "%lld",
                                  c->info->name, (long long)gradients->n, (long long)at);
            break;
        }
        memcpy(data + i * size, gradients->data + (size_t)at * size, size);
        visited[at] = 1;
    }
    tf_number sum = {0, 0, 0};
    for (size_t i = 0; i < m && !status; i++)
        if (!visited[i])
            sum = tf_number_add(gradients->dtype, sum, tf_number_at(gradients, (int64_t)i));
    if (!status) {
        char one[16];
        tf_number_store(gradients->dtype, sum, one);
        status = mica_tf_give_numbers(c, 0, gradients->dtype, MICA_INTS((int64_t)n), data);
        if (!status) status = mica_tf_give_numbers(c, 1, gradients->dtype, MICA_NO_INTS, one);
    }
    mica_free(visited);
    mica_free(data);
    return status;
}

mica_status tf_host_sparse_fill_grad(mica_tf_host *c) {
    tf_column where, gradients;
    MICA_TRY(tf_column_open(c->inputs[0], &where));
    mica_status status = tf_column_open(c->inputs[1], &gradients);
    if (!status) {
        status = fill_grad(c, &where, &gradients);
        tf_column_close(&gradients);
    }
    tf_column_close(&where);
    return status;
}

/* ---- dense ------------------------------------------------------------------------------------*/

typedef struct dense {
    tf_column places, sizes, columns[2]; /* values, default */
    int64_t dims[MICA_MAX_RANK], n;
    int32_t rank;
} dense;

static void close_dense(dense *d) {
    tf_column_close(&d->places);
    tf_column_close(&d->sizes);
    tf_column_close(&d->columns[0]);
    tf_column_close(&d->columns[1]);
}

static mica_status open_dense(const mica_tf_host *c, dense *d) {
    memset(d, 0, sizeof *d);
    mica_status status = tf_column_open(c->inputs[0], &d->places);
    if (!status) status = tf_column_open(c->inputs[1], &d->sizes);
    if (!status) status = tf_column_open(c->inputs[2], &d->columns[0]);
    if (!status) status = tf_column_open(c->inputs[3], &d->columns[1]);
    if (status) close_dense(d);
    return status;
}

/* Where element i goes; with `validate`, after the one before it. */
static mica_status place_of(const mica_tf_host *c, const dense *d, int64_t i, int64_t *before,
                            bool validate, int64_t *out) {
    int64_t place[MICA_MAX_RANK], at = 0;
    for (int32_t k = 0; k < d->rank; k++) place[k] = tf_column_int(&d->places, i * d->rank + k);
    for (int32_t k = 0; k < d->rank; k++) {
        if (place[k] < 0 || place[k] >= d->dims[k])
            return MICA_INVALID("[%s] indices[%lld] = %s is out of bounds: need 0 <= index < %s",
                                c->info->name, (long long)i, tf_sizes_text(place, d->rank).chars,
                                tf_sizes_text(d->dims, d->rank).chars);
        at = at * d->dims[k] + place[k];
    }
    *out = at;
    if (!validate) return NULL;
    if (at == *before)
        return MICA_INVALID("[%s] indices[%lld] = %s is repeated", c->info->name, (long long)i,
                            tf_sizes_text(place, d->rank).chars);
    if (at < *before)
        return MICA_INVALID("[%s] indices[%lld] = %s is out of order. Many sparse ops require "
                            "sorted indices.\n  Use `tf.sparse.reorder` to create a correctly "
                            "ordered copy.",
                            c->info->name, (long long)i, tf_sizes_text(place, d->rank).chars);
    *before = at;
    return NULL;
}

static mica_status make_dense(mica_tf_host *c, dense *d) {
    mica_tf_shape places, whole;
    mica_tf_value_shape(c->inputs[0], &places);
    d->rank = (int32_t)d->sizes.n;
    d->n = places.rank ? places.dims[0] : 1;
    whole = (mica_tf_shape){.rank = d->rank};
    for (int32_t k = 0; k < d->rank; k++) whole.dims[k] = d->dims[k] = tf_column_int(&d->sizes, k);
    bool validate = mica_tf_host_attr(c, "validate_indices")->as.integer != 0;
    bool is_one = d->columns[0].n == 1;
    int64_t all = mica_tf_shape_elements(&whole), before = -1;
    if (all < 0 || all >= INT64_MAX / 64)
        return MICA_INVALID("[%s] a tensor of shape %s has too many elements", c->info->name,
                            mica_tf_shape_text(&whole).chars);
    MICA_TRY(tf_sparse_fits(c, all, sizeof(tf_pick) + 16));
    tf_pick *picks = mica_alloc((size_t)all * sizeof *picks + 8);
    if (!picks) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < all; i++) picks[i] = (tf_pick){1, 0};
    mica_status status = NULL;
    for (int64_t i = 0; i < d->n && !status; i++) {
        int64_t at = 0;
        status = place_of(c, d, i, &before, validate, &at);
        if (!status) picks[at] = (tf_pick){0, is_one ? 0 : i};
    }
    if (!status) status = tf_give_picks(c, 0, d->columns, picks, mica_tf_dims(&whole));
    mica_free(picks);
    return status;
}

mica_status tf_host_sparse_to_dense(mica_tf_host *c) {
    dense d;
    MICA_TRY(open_dense(c, &d));
    mica_status status = make_dense(c, &d);
    close_dense(&d);
    return status;
}
