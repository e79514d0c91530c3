/* Host functions of crosses: row by row all combinations of one feature of each input, the last
 * input's features in turn, as texts or as numbers. Features are strings or int64. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tf/ops/sparse/sparse.h"
#include "tf/ops/string/fingerprint.h"

/* ---- inputs -----------------------------------------------------------------------------------*/

/* Features of one input: those of row r are first[r] to first[r + 1]. */
typedef struct features {
    tf_column values;
    int64_t *first, *elements; /* elements: their numbers among the values */
} features;

typedef struct crossed {
    features *inputs;
    int32_t n;
    int64_t rows;
    int64_t key, buckets;
    const char *separator;
    size_t n_separator;
    bool is_text, begins_with_key;
} crossed;

static mica_status check_dtype(const mica_tf_host *c, mica_tf_dtype dtype) {
    if (dtype == MICA_TF_int64 || dtype == MICA_TF_string) return NULL;
    return MICA_INVALID("[%s] features are int64 or string, not %s", c->info->name,
                        mica_tf_dtype_name(dtype));
}

static mica_status features_room(features *f, int64_t rows, int64_t n) {
    f->first = mica_calloc((size_t)rows + (size_t)n + 2, sizeof *f->first);
    if (!f->first) return MICA_NO_MEMORY();
    f->elements = f->first + rows + 1;
    return NULL;
}

static mica_status set_rows(const mica_tf_host *c, crossed *x, int64_t rows, int32_t i,
                            const char *kind) {
    if (rows < 0 || rows >= INT64_MAX / 64)
        return MICA_INVALID("[%s] a number of rows of %lld is not possible, at %s %d",
                            c->info->name, (long long)rows, kind, i);
    MICA_TRY(tf_sparse_fits(c, rows, 2 * sizeof(int64_t)));
    if (x->rows < 0) x->rows = rows;
    if (x->rows == rows) return NULL;
    return MICA_INVALID("[%s] Expected batch size %lld got %lld at %s %d", c->info->name,
                        (long long)x->rows, (long long)rows, kind, i);
}

static mica_status take_sparse(const mica_tf_host *c, const tf_sparse *s, int32_t i, crossed *x) {
    features *f = &x->inputs[i];
    if (s->rank != 2)
        return MICA_INVALID("[%s] Expected D2 of index to be 2 got %d at position %d",
                            c->info->name, s->rank, i);
    MICA_TRY(set_rows(c, x, s->shape[0], i, "sparse tensor"));
    MICA_TRY(features_room(f, x->rows, s->n));
    for (int64_t k = 0; k < s->n; k++) {
        int64_t row = tf_sparse_place(s, k)[0];
        if (row >= 0 && row < x->rows) f->first[row + 1]++;
    }
    for (int64_t r = 0; r < x->rows; r++) f->first[r + 1] += f->first[r];
    for (int64_t k = 0; k < s->n; k++) {
        int64_t row = tf_sparse_place(s, k)[0];
        if (row >= 0 && row < x->rows) f->elements[f->first[row]++] = k;
    }
    for (int64_t r = x->rows; r > 0; r--) f->first[r] = f->first[r - 1];
    f->first[0] = 0;
    return NULL;
}

static mica_status open_sparse(const mica_tf_host *c, int32_t i, int32_t n, crossed *x) {
    tf_sparse s;
    MICA_TRY(check_dtype(c, c->inputs[n + i].dtype));
    MICA_TRY(tf_sparse_open(c, i, n + i, 2 * n + i, &s));
    mica_status status = take_sparse(c, &s, i, x);
    x->inputs[i].values = s.columns[2]; /* it stays open */
    s.columns[2] = (tf_column){0};
    tf_sparse_close(&s);
    return status;
}

static mica_status open_dense(const mica_tf_host *c, int32_t input, int32_t i, int32_t n_sparse,
                              crossed *x) {
    features *f = &x->inputs[n_sparse + i];
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[input], &shape);
    MICA_TRY(check_dtype(c, c->inputs[input].dtype));
    if (shape.rank != 2)
        return MICA_INVALID("[%s] Dense inputs should be a matrix but received shape %s at position"
                            " %d",
                            c->info->name, mica_tf_shape_text(&shape).chars, i);
    MICA_TRY(set_rows(c, x, shape.dims[0], i, "dense tensor"));
    MICA_TRY(tf_column_open(c->inputs[input], &f->values));
    MICA_TRY(features_room(f, x->rows, f->values.n));
    for (int64_t r = 0; r < x->rows; r++) f->first[r + 1] = (r + 1) * shape.dims[1];
    for (int64_t k = 0; k < f->values.n; k++) f->elements[k] = k;
    return NULL;
}

static mica_status open_inputs(const mica_tf_host *c, crossed *x) {
    int32_t n = (int32_t)mica_tf_host_attr(c, "N")->as.integer;
    int32_t n_dense = mica_tf_host_attr(c, "dense_types")->n;
    if (mica_tf_host_attr(c, "sparse_types")->n != n || c->n_inputs < 3 * n + n_dense)
        return MICA_INVALID("[%s] %d sparse tensors have %d columns of values", c->info->name, n,
                            mica_tf_host_attr(c, "sparse_types")->n);
    x->rows = -1;
    x->inputs = mica_calloc((size_t)n + (size_t)n_dense + 1, sizeof *x->inputs);
    if (!x->inputs) return MICA_NO_MEMORY();
    x->n = n + n_dense;
    for (int32_t i = 0; i < n; i++) MICA_TRY(open_sparse(c, i, n, x));
    for (int32_t i = 0; i < n_dense; i++) MICA_TRY(open_dense(c, 3 * n + i, i, n, x));
    if (x->rows < 0) x->rows = 0;
    return NULL;
}

static void close_inputs(crossed *x) {
    for (int32_t i = 0; x->inputs && i < x->n; i++) {
        tf_column_close(&x->inputs[i].values);
        mica_free(x->inputs[i].first);
    }
    mica_free(x->inputs);
}

/* ---- one combination --------------------------------------------------------------------------*/

static uint64_t mixed(uint64_t x) {
    return x ^ x >> 47;
}

/* Two fingerprints as one. */
static uint64_t concatenated(uint64_t a, uint64_t b) {
    const uint64_t by = UINT64_C(0xc6a4a7935bd1e995);
    uint64_t result = (a ^ by ^ mixed(b * by) * by) * by;
    return mixed(mixed(result) * by);
}

static uint64_t number_of(const features *f, int64_t element) {
    size_t n;
    if (f->values.data) return (uint64_t)tf_column_int(&f->values, element);
    const char *bytes = tf_column_at(&f->values, element, &n);
    return mica_tf_fingerprint(bytes, n);
}

static int64_t hashed(const crossed *x, const int64_t *elements) {
    uint64_t all = (uint64_t)x->key;
    for (int32_t i = 0; i < x->n; i++) {
        uint64_t one = number_of(&x->inputs[i], elements[i]);
        all = i == 0 && !x->begins_with_key ? one : concatenated(all, one);
    }
    return (int64_t)(all % (x->buckets > 0 ? (uint64_t)x->buckets : (uint64_t)INT64_MAX));
}

static void write_text(const crossed *x, const int64_t *elements, mica_tf_writer *w) {
    for (int32_t i = 0; i < x->n; i++) {
        const features *f = &x->inputs[i];
        char digits[32];
        size_t n;
        const void *bytes = digits;
        if (f->values.data)
            n = (size_t)snprintf(digits, sizeof digits, "%" PRId64,
                                 tf_column_int(&f->values, elements[i]));
        else
            bytes = tf_column_at(&f->values, elements[i], &n);
        if (i) mica_text_append_bytes(&w->bytes, x->separator, x->n_separator);
        mica_text_append_bytes(&w->bytes, bytes, n);
    }
    (void)mica_tf_writer_end(w);
}

/* ---- all combinations -------------------------------------------------------------------------*/

static int64_t count_of(const crossed *x, int64_t row) {
    int64_t n = x->n > 0;
    for (int32_t i = 0; i < x->n; i++)
        n = mica_tf_times(n, x->inputs[i].first[row + 1] - x->inputs[i].first[row]);
    return n;
}

typedef struct made {
    int64_t *places, *numbers, *turn, *elements;
    mica_tf_writer w;
    int64_t n;
    bool is_interrupted;
} made;

/* All of one row; `turn` counts, the last input first. */
static void cross_row(const crossed *x, int64_t row, int64_t count, made *m) {
    memset(m->turn, 0, (size_t)x->n * sizeof *m->turn);
    for (int64_t k = 0; k < count; k++) {
        for (int32_t i = 0; i < x->n; i++) {
            const features *f = &x->inputs[i];
            m->elements[i] = f->elements[f->first[row] + m->turn[i]];
        }
        m->places[2 * m->n] = row;
        m->places[2 * m->n + 1] = k;
        if (x->is_text)
            write_text(x, m->elements, &m->w);
        else
            m->numbers[m->n] = hashed(x, m->elements);
        if ((m->is_interrupted = mica_tf_is_interrupted(m->n++))) return;
        for (int32_t i = x->n; i-- > 0;) {
            const features *f = &x->inputs[i];
            if (++m->turn[i] < f->first[row + 1] - f->first[row]) break;
            m->turn[i] = 0;
        }
    }
}

static mica_status give_values(mica_tf_host *c, const crossed *x, made *m) {
    if (!x->is_text) return tf_give_vector(c, 1, m->numbers, m->n);
    mica_status status = mica_tf_writer_finish(&m->w, MICA_INTS(m->n), &c->outputs[1]);
    mica_tf_writer_init(&m->w);
    return status;
}

static mica_status cross_all(mica_tf_host *c, const crossed *x) {
    int64_t all = 0, most = 0;
    for (int64_t r = 0; r < x->rows; r++) {
        int64_t n = count_of(x, r);
        all = mica_tf_plus(all, n);
        if (n > most) most = n;
    }
    void *room;
    made m = {0};
    MICA_TRY(tf_sparse_room(c, mica_tf_plus(all, 2 * (int64_t)x->n), 3 * sizeof(int64_t), &room));
    m.places = room;
    m.numbers = m.places + 2 * all;
    m.turn = m.numbers + all;
    m.elements = m.turn + x->n;
    mica_tf_writer_init(&m.w);
    for (int64_t r = 0; r < x->rows && !m.is_interrupted; r++) cross_row(x, r, count_of(x, r), &m);
    mica_status status = m.is_interrupted ? mica_interrupt_status() : give_values(c, x, &m);
    if (!status) status = tf_give_places(c, 0, m.places, m.n, 2);
    if (!status) status = tf_give_vector(c, 2, (const int64_t[2]){x->rows, most}, 2);
    mica_tf_writer_deinit(&m.w);
    mica_free(room);
    return status;
}

static mica_status cross(mica_tf_host *c, crossed *x) {
    mica_status status = open_inputs(c, x);
    if (!status) status = cross_all(c, x);
    close_inputs(x);
    return status;
}

mica_status tf_host_sparse_cross(mica_tf_host *c) {
    crossed x = {.separator = "_X_", .n_separator = 3, .begins_with_key = true};
    bool wants_numbers = mica_tf_host_attr(c, "hashed_output")->as.integer != 0;
    x.is_text = c->output_dtypes[1] == MICA_TF_string;
    x.key = mica_tf_host_attr(c, "hash_key")->as.integer;
    x.buckets = mica_tf_host_attr(c, "num_buckets")->as.integer;
    if (wants_numbers == x.is_text)
        return MICA_INVALID("[%s] hashed_output says numbers or texts; out_type says the other",
                            c->info->name);
    if (x.buckets < 0)
        return MICA_INVALID("[%s] num_buckets is %lld; it must be >= 0", c->info->name,
                            (long long)x.buckets);
    return cross(c, &x);
}

mica_status tf_host_sparse_cross_text(mica_tf_host *c) {
    crossed x = {.is_text = true};
    MICA_TRY(mica_tf_text_input(c, c->n_inputs - 1, &x.separator, &x.n_separator));
    return cross(c, &x);
}

mica_status tf_host_sparse_cross_hashed(mica_tf_host *c) {
    crossed x = {0};
    int64_t strong;
    MICA_TRY(mica_tf_int_input(c, c->n_inputs - 3, &x.buckets));
    MICA_TRY(mica_tf_int_input(c, c->n_inputs - 2, &strong));
    if (x.buckets < 0)
        return MICA_INVALID("[%s] num_buckets is %lld; it must be >= 0", c->info->name,
                            (long long)x.buckets);
    if (strong)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] strong_hash: only False is computed",
                          c->info->name);
    return cross(c, &x);
}
