/* Host functions of matrices in compressed rows: values of dtype variant. A batch of matrices has
 * its rows one after the other. */
#include <string.h>

#include "tf/ops/sparse/sparse.h"

typedef struct matrix {
    mica_dtype dtype;
    int32_t rank; /* 2, or 3: a batch */
    int64_t sizes[3], batch, rows, columns, n;
    int64_t *first;  /* of rows in all, and one more */
    int64_t *column; /* by element */
    char *values;
} matrix;

static const char matrix_kind[] = "matrix in compressed rows";

static void destroy(void *object) {
    matrix *m = object;
    if (!m) return;
    mica_free(m->first);
    mica_free(m->column);
    mica_free(m->values);
    mica_free(m);
}

static mica_status create(const mica_tf_host *c, mica_dtype dtype, int32_t rank,
                          const int64_t *sizes, matrix **out) {
    matrix *m = mica_calloc(1, sizeof *m);
    void *first;
    *out = m;
    if (!m) return MICA_NO_MEMORY();
    m->dtype = dtype;
    m->rank = rank;
    memcpy(m->sizes, sizes, (size_t)rank * sizeof *sizes);
    m->batch = rank == 3 ? sizes[0] : 1;
    m->rows = sizes[rank - 2];
    m->columns = sizes[rank - 1];
    if (m->batch < 0 || m->rows < 0 || m->columns < 0)
        return MICA_INVALID("[%s] sizes must be >= 0, not %s", c->info->name,
                            tf_sizes_text(sizes, rank).chars);
    MICA_TRY(tf_sparse_room(c, mica_tf_plus(mica_tf_times(m->batch, m->rows), 1), sizeof(int64_t),
                            &first));
    m->first = first;
    return NULL;
}

static mica_status reserve(matrix *m, int64_t n) {
    int64_t *column = mica_realloc(m->column, (size_t)n * sizeof *column + 8);
    if (!column) return MICA_NO_MEMORY();
    m->column = column;
    char *values = mica_realloc(m->values, (size_t)n * mica_dtype_bytes(m->dtype) + 8);
    if (!values) return MICA_NO_MEMORY();
    m->values = values;
    return NULL;
}

static mica_status give(mica_tf_host *c, matrix *m) {
    mica_status status =
        mica_tf_object_value(MICA_TF_variant, matrix_kind, m, destroy, &c->outputs[0]);
    if (status) destroy(m);
    return status;
}

static mica_status fill(const tf_sparse *x, matrix *m) {
    const tf_column *values = tf_sparse_values(x);
    int64_t all = m->batch * m->rows;
    MICA_TRY(reserve(m, x->n));
    int64_t *order = mica_alloc((size_t)x->n * sizeof *order + 8);
    if (!order) return MICA_NO_MEMORY();
    mica_status status = tf_places_order(x->indices, x->n, x->rank, order);
    for (int64_t i = 0; i < x->n && !status; i++) {
        const int64_t *place = tf_sparse_place(x, order[i]);
        int64_t row = m->rank == 3 ? place[0] * m->rows + place[1] : place[0];
        m->first[row + 1]++;
        m->column[i] = place[m->rank - 1];
        memcpy(m->values + (size_t)i * values->size, values->data + (size_t)order[i] * values->size,
               values->size);
    }
    for (int64_t r = 0; r < all; r++) m->first[r + 1] += m->first[r];
    m->n = x->n;
    mica_free(order);
    return status;
}

mica_status tf_host_csr_from(mica_tf_host *c) {
    tf_sparse x;
    matrix *m = NULL;
    MICA_TRY(tf_sparse_open(c, 0, 1, 2, &x));
    mica_status status = NULL;
    if (x.rank != 2 && x.rank != 3)
        status = MICA_INVALID("[%s] SparseTensor must have rank 2 or 3; but indices have rank %d",
                              c->info->name, x.rank);
    if (!status) status = tf_sparse_check(c, &x);
    if (!status) status = create(c, tf_sparse_values(&x)->dtype, x.rank, x.shape, &m);
    if (!status) status = fill(&x, m);
    tf_sparse_close(&x);
    if (!status) return give(c, m);
    destroy(m);
    return status;
}

static mica_status matrix_input(const mica_tf_host *c, int32_t i, mica_tf_dtype dtype,
                                const matrix **out) {
    *out = mica_tf_object_of(c->inputs[i], matrix_kind);
    if (!*out)
        return MICA_INVALID("[%s] input %d is no matrix in compressed rows", c->info->name, i);
    if ((*out)->dtype == mica_tf_dtype_core(dtype)) return NULL;
    return MICA_INVALID("[%s] the matrix has elements of %s, not %s", c->info->name,
                        mica_tf_dtype_text(mica_tf_dtype_of_core((*out)->dtype)),
                        mica_tf_dtype_text(dtype));
}

mica_status tf_host_csr_to(mica_tf_host *c) {
    const matrix *m;
    MICA_TRY(matrix_input(c, 0, c->output_dtypes[1], &m));
    int64_t *places = mica_alloc((size_t)m->n * (size_t)m->rank * sizeof *places + 8), *to = places;
    if (!places) return MICA_NO_MEMORY();
    for (int64_t r = 0; r < m->batch * m->rows; r++)
        for (int64_t i = m->first[r]; i < m->first[r + 1]; i++) {
            if (m->rank == 3) *to++ = r / m->rows;
            *to++ = r % m->rows;
            *to++ = m->column[i];
        }
    mica_status status = tf_give_places(c, 0, places, m->n, m->rank);
    if (!status) status = mica_tf_give_numbers(c, 1, m->dtype, MICA_INTS(m->n), m->values);
    if (!status) status = tf_give_vector(c, 2, m->sizes, m->rank);
    mica_free(places);
    return status;
}

/* ---- products ---------------------------------------------------------------------------------*/

static tf_number conjugate(tf_number x, bool wanted) {
    return wanted ? (tf_number){x.re, -x.im, x.i} : x;
}

static mica_status transpose(const mica_tf_host *c, const matrix *x, bool conjugates,
                             matrix **out) {
    int64_t sizes[3];
    size_t size = mica_dtype_bytes(x->dtype);
    memcpy(sizes, x->sizes, sizeof sizes);
    sizes[x->rank - 2] = x->columns;
    sizes[x->rank - 1] = x->rows;
    MICA_TRY(create(c, x->dtype, x->rank, sizes, out));
    matrix *m = *out;
    MICA_TRY(reserve(m, x->n));
    m->n = x->n;
    for (int64_t r = 0; r < x->batch * x->rows; r++)
        for (int64_t i = x->first[r]; i < x->first[r + 1]; i++)
            m->first[r / x->rows * m->rows + x->column[i] + 1]++;
    int64_t all = m->batch * m->rows;
    for (int64_t r = 0; r < all; r++) m->first[r + 1] += m->first[r];
    for (int64_t r = 0; r < x->batch * x->rows; r++)
        for (int64_t i = x->first[r]; i < x->first[r + 1]; i++) {
            int64_t to = m->first[r / x->rows * m->rows + x->column[i]]++;
            m->column[to] = r % x->rows;
            tf_number value = tf_number_load(x->dtype, x->values + (size_t)i * size);
            tf_number_store(m->dtype, conjugate(value, conjugates), m->values + (size_t)to * size);
        }
    for (int64_t r = all; r > 0; r--) m->first[r] = m->first[r - 1];
    m->first[0] = 0;
    return NULL;
}

/* A row of the product: sums by column, and which columns have one. */
typedef struct row {
    tf_number *sums;
    int64_t *mark, *used, n;
} row;

static void add_rows(const matrix *a, const matrix *b, int64_t batch, int64_t r, row *w) {
    size_t size = mica_dtype_bytes(a->dtype);
    int64_t from = batch * a->rows + r;
    w->n = 0;
    for (int64_t i = a->first[from]; i < a->first[from + 1]; i++) {
        tf_number x = tf_number_load(a->dtype, a->values + (size_t)i * size);
        int64_t other = batch * b->rows + a->column[i];
        for (int64_t k = b->first[other]; k < b->first[other + 1]; k++) {
            tf_number y = tf_number_load(b->dtype, b->values + (size_t)k * size);
            int64_t column = b->column[k];
            if (w->mark[column] != from + 1) {
                w->mark[column] = from + 1;
                w->used[w->n++] = column;
                w->sums[column] = (tf_number){0, 0, 0};
            }
            w->sums[column].re += x.re * y.re - x.im * y.im;
            w->sums[column].im += x.re * y.im + x.im * y.re;
        }
    }
}

static mica_status append_row(const row *w, int64_t *capacity, matrix *m) {
    size_t size = mica_dtype_bytes(m->dtype);
    if (m->n + w->n > *capacity) {
        *capacity = 2 * (m->n + w->n);
        MICA_TRY(reserve(m, *capacity));
    }
    int64_t *order = mica_alloc((size_t)w->n * sizeof *order + 8);
    if (!order) return MICA_NO_MEMORY();
    mica_status status = tf_places_order(w->used, w->n, 1, order);
    for (int64_t i = 0; i < w->n && !status; i++) {
        int64_t column = w->used[order[i]];
        m->column[m->n] = column;
        tf_number_store(m->dtype, w->sums[column], m->values + (size_t)m->n++ * size);
    }
    mica_free(order);
    return status;
}

static mica_status multiply(const mica_tf_host *c, const matrix *a, const matrix *b, matrix **out) {
    int64_t sizes[3] = {a->batch, a->rows, b->columns}, capacity = 0;
    if (a->rank != b->rank || a->batch != b->batch || a->columns != b->rows)
        return MICA_INVALID("[%s] matrices of shapes %s and %s cannot be multiplied", c->info->name,
                            tf_sizes_text(a->sizes, a->rank).chars,
                            tf_sizes_text(b->sizes, b->rank).chars);
    MICA_TRY(create(c, a->dtype, a->rank, sizes + (a->rank == 2), out));
    matrix *m = *out;
    MICA_TRY(reserve(m, 0));
    void *room;
    MICA_TRY(tf_sparse_room(c, b->columns, sizeof(tf_number) + 2 * sizeof(int64_t), &room));
    row w = {.sums = room};
    w.mark = (int64_t *)(w.sums + b->columns);
    w.used = w.mark + b->columns;
    mica_status status = NULL;
    for (int64_t i = 0; i < a->batch * a->rows && !status; i++) {
        add_rows(a, b, i / a->rows, i % a->rows, &w);
        status = mica_interrupt_poll() ? mica_interrupt_status() : append_row(&w, &capacity, m);
        m->first[i + 1] = m->n;
    }
    mica_free(room);
    return status;
}

/* Operand i, transposed where that is asked for: then *out_own is to be destroyed. */
static mica_status operand(const mica_tf_host *c, int32_t i, const matrix **out, matrix **out_own) {
    mica_tf_dtype dtype = (mica_tf_dtype)mica_tf_host_attr(c, "type")->as.integer;
    bool turns = mica_tf_host_attr(c, i ? "transpose_b" : "transpose_a")->as.integer != 0;
    bool adjoint = mica_tf_host_attr(c, i ? "adjoint_b" : "adjoint_a")->as.integer != 0;
    *out_own = NULL;
    MICA_TRY(matrix_input(c, i, dtype, out));
    if (turns && adjoint)
        return MICA_INVALID("[%s] Only one of adjoint_%c and transpose_%c may be true.",
                            c->info->name, i ? 'b' : 'a', i ? 'b' : 'a');
    if (!turns && !adjoint) return NULL;
    MICA_TRY(transpose(c, *out, adjoint, out_own));
    *out = *out_own;
    return NULL;
}

mica_status tf_host_csr_matmul(mica_tf_host *c) {
    const matrix *a, *b;
    matrix *own_a = NULL, *own_b = NULL, *m = NULL;
    mica_status status = operand(c, 0, &a, &own_a);
    if (!status) status = operand(c, 1, &b, &own_b);
    if (!status) status = multiply(c, a, b, &m);
    destroy(own_b);
    destroy(own_a);
    if (!status) return give(c, m);
    destroy(m);
    return status;
}
