/* Host functions of sparse tensors as strings: places, values and sizes as a message each. */
#include <string.h>

#include "mica/records.h"
#include "tf/ops/sparse/sparse.h"

/* ---- writing ----------------------------------------------------------------------------------*/

static mica_status append_message(mica_tf_value value, mica_tf_writer *w) {
    uint8_t *bytes;
    size_t n;
    MICA_TRY(mica_tensor_proto_write(value, &bytes, &n));
    mica_text_append_bytes(&w->bytes, bytes, n);
    (void)mica_tf_writer_end(w);
    mica_bytes_free(bytes);
    return NULL;
}

mica_status tf_host_serialize_sparse(mica_tf_host *c) {
    mica_tf_writer w;
    mica_tf_writer_init(&w);
    mica_status status = NULL;
    for (int32_t i = 0; i < 3 && !status; i++) status = append_message(c->inputs[i], &w);
    if (!status) return mica_tf_writer_finish(&w, MICA_INTS(3), &c->outputs[0]);
    mica_tf_writer_deinit(&w);
    return status;
}

/* Results of a host function that are made on the way, released at the end. */
typedef struct row {
    mica_tf_host c; /* results: places, values, sizes */
    mica_tf_value outputs[3];
    mica_tf_dtype dtypes[3];
} row;

static mica_status write_row(row *r, const tf_sparse *x, const int64_t *order, int64_t from,
                             int64_t to, mica_tf_writer *w) {
    int32_t rank = x->rank - 1;
    size_t n = (size_t)(to - from);
    tf_pick *picks = mica_alloc(n * (sizeof *picks + (size_t)rank * sizeof(int64_t)) + 16);
    if (!picks) return MICA_NO_MEMORY();
    int64_t *places = (int64_t *)(picks + n);
    for (int64_t i = from; i < to; i++) {
        picks[i - from] = (tf_pick){0, order[i]};
        memcpy(places + (i - from) * rank, tf_sparse_place(x, order[i]) + 1,
               (size_t)rank * sizeof *places);
    }
    memset(r->outputs, 0, sizeof r->outputs);
    mica_status status = tf_give_places(&r->c, 0, places, to - from, rank);
    if (!status) status = tf_give_picks(&r->c, 1, tf_sparse_values(x), picks, MICA_INTS(to - from));
    if (!status) status = tf_give_vector(&r->c, 2, x->shape + 1, rank);
    for (int32_t k = 0; k < 3 && !status; k++) status = append_message(r->outputs[k], w);
    for (int32_t k = 0; k < 3; k++)
        if (r->outputs[k].object) mica_tf_value_release(r->outputs[k]);
    mica_free(picks);
    return status;
}

static mica_status write_rows(mica_tf_host *c, const tf_sparse *x, mica_tf_writer *w) {
    int64_t rows = x->shape[0], at = 0;
    if (x->rank < 2)
        return MICA_INVALID("[%s] Rank of input SparseTensor should be > 1, but saw rank: %d",
                            c->info->name, x->rank);
    MICA_TRY(tf_sparse_fits(c, rows, 256));
    row r = {.c = *c, .dtypes = {MICA_TF_int64, c->inputs[1].dtype, MICA_TF_int64}};
    r.c.outputs = r.outputs;
    r.c.output_dtypes = r.dtypes;
    r.c.n_outputs = 3;
    int64_t *order = mica_alloc((size_t)x->n * sizeof *order + 8);
    if (!order) return MICA_NO_MEMORY();
    mica_status status = NULL;
    for (int64_t i = 0; i < x->n; i++) order[i] = i;
    for (int64_t i = 1; i < x->n && !status; i++)
        if (tf_sparse_place(x, i)[0] < tf_sparse_place(x, i - 1)[0])
            status = MICA_INVALID("[%s] indices[%lld] = %s is out of order: the rows ascend",
                                  c->info->name, (long long)i,
                                  tf_sizes_text(tf_sparse_place(x, i), x->rank).chars);
    if (!status && x->n &&
        (tf_sparse_place(x, 0)[0] < 0 || tf_sparse_place(x, x->n - 1)[0] >= rows))
        status = MICA_INVALID("[%s] Received unexpected column 0 value in input SparseTensor: %lld "
                              "< 0 or >= N (= %lld)",
                              c->info->name, (long long)tf_sparse_place(x, x->n - 1)[0],
                              (long long)rows);
    for (int64_t k = 0; k < rows && !status; k++) {
        int64_t from = at;
        while (at < x->n && tf_sparse_place(x, at)[0] == k) at++;
        status = write_row(&r, x, order, from, at, w);
    }
    mica_free(order);
    return status;
}

mica_status tf_host_serialize_many_sparse(mica_tf_host *c) {
    tf_sparse x;
    mica_tf_writer w;
    MICA_TRY(tf_sparse_open(c, 0, 1, 2, &x));
    int64_t rows = x.rank ? x.shape[0] : 0;
    mica_tf_writer_init(&w);
    mica_status status =
        rows < 0 || rows > INT64_MAX / 64
            ? MICA_INVALID("[%s] the dense shape begins with %lld", c->info->name, (long long)rows)
            : write_rows(c, &x, &w);
    tf_sparse_close(&x);
    if (!status) return mica_tf_writer_finish(&w, MICA_INTS(rows, 3), &c->outputs[0]);
    mica_tf_writer_deinit(&w);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------*/

typedef struct part {
    mica_tf_value values[3]; /* places, values, sizes */
    tf_column columns[3];
    int64_t n;
} part;

typedef struct parts {
    part *all;
    int64_t n; /* sparse tensors */
    int32_t rank;
} parts;

static void close_parts(parts *p) {
    for (int64_t i = 0; p->all && i < p->n; i++)
        for (int32_t k = 0; k < 3; k++) {
            tf_column_close(&p->all[i].columns[k]);
            if (p->all[i].values[k].object) mica_tf_value_release(p->all[i].values[k]);
        }
    mica_free(p->all);
}

static mica_status read_message(mica_tf_host *c, int64_t i, mica_tf_value *out, tf_column *column) {
    size_t n;
    const char *bytes = mica_tf_strings_get(c->inputs[0], i, &n);
    mica_status status = mica_tensor_proto_read(c->device, bytes, n, out);
    if (status) {
        out->object = NULL;
        if (mica_status_code(status) == MICA_OUT_OF_MEMORY) return status;
        mica_status_release(status);
        return MICA_INVALID("[%s] Could not parse serialized proto", c->info->name);
    }
    return tf_column_open(*out, column);
}

static mica_status check_part(const mica_tf_host *c, const parts *p, int64_t i) {
    const part *one = &p->all[i];
    mica_tf_shape shapes[3];
    for (int32_t k = 0; k < 3; k++) mica_tf_value_shape(one->values[k], &shapes[k]);
    if (one->values[0].dtype != MICA_TF_int64 || one->values[2].dtype != MICA_TF_int64 ||
        shapes[0].rank != 2 || shapes[1].rank != 1 || shapes[2].rank != 1 ||
        shapes[0].dims[0] != shapes[1].dims[0] || shapes[0].dims[1] != shapes[2].dims[0])
        return MICA_INVALID("[%s] SparseTensor[%lld] has indices of shape %s, values of shape %s "
                            "and a dense shape of shape %s",
                            c->info->name, (long long)i, mica_tf_shape_text(&shapes[0]).chars,
                            mica_tf_shape_text(&shapes[1]).chars,
                            mica_tf_shape_text(&shapes[2]).chars);
    if (one->values[1].dtype != c->output_dtypes[1])
        return MICA_INVALID("[%s] Requested SparseTensor of type %s but SparseTensor[%lld].values."
                            "dtype() == %s",
                            c->info->name, mica_tf_dtype_text(c->output_dtypes[1]), (long long)i,
                            mica_tf_dtype_text(one->values[1].dtype));
    if (i && shapes[2].dims[0] != p->rank)
        return MICA_INVALID("[%s] Inconsistent rank across SparseTensors: rank prior to "
                            "SparseTensor[%lld] was: %d but rank of SparseTensor[%lld] is: %lld",
                            c->info->name, (long long)i, p->rank, (long long)i,
                            (long long)shapes[2].dims[0]);
    return NULL;
}

static mica_status open_parts(mica_tf_host *c, parts *p) {
    MICA_TRY(tf_sparse_room(c, p->n, sizeof *p->all, (void **)&p->all));
    for (int64_t i = 0; i < p->n; i++) {
        part *one = &p->all[i];
        for (int32_t k = 0; k < 3; k++)
            MICA_TRY(read_message(c, 3 * i + k, &one->values[k], &one->columns[k]));
        MICA_TRY(check_part(c, p, i));
        one->n = one->columns[1].n;
        p->rank = (int32_t)one->columns[2].n;
    }
    return NULL;
}

/* The places of all, each after those of the tensor among the others. */
static void stack_places(const parts *p, const mica_tf_shape *outer, int32_t n_outer,
                         int64_t *places, int64_t *sizes) {
    int32_t rank = n_outer + p->rank;
    for (int32_t k = 0; k < n_outer; k++) sizes[k] = outer->dims[k];
    for (int32_t k = n_outer; k < rank; k++) sizes[k] = 0;
    for (int64_t i = 0; i < p->n; i++) {
        const part *one = &p->all[i];
        const int64_t *from = (const int64_t *)one->columns[0].data;
        const int64_t *shape = (const int64_t *)one->columns[2].data;
        for (int32_t k = 0; k < p->rank; k++)
            if (shape[k] > sizes[n_outer + k]) sizes[n_outer + k] = shape[k];
        for (int64_t e = 0; e < one->n; e++, places += rank) {
            int64_t left = i;
            for (int32_t k = n_outer; k-- > 0; left /= outer->dims[k])
                places[k] = left % outer->dims[k];
            for (int32_t k = 0; k < p->rank; k++) places[n_outer + k] = from[e * p->rank + k];
        }
    }
}

static mica_status give_parts(mica_tf_host *c, const parts *p, const mica_tf_shape *given) {
    int32_t n_outer = given->rank - 1, rank = n_outer + p->rank;
    int64_t all = 0, sizes[MICA_MAX_RANK + TF_SPARSE_MOST_AXES];
    if (rank > TF_SPARSE_MOST_AXES)
        return MICA_INVALID("[%s] a sparse tensor has at most %d axes, not %d", c->info->name,
                            TF_SPARSE_MOST_AXES, rank);
    for (int64_t i = 0; i < p->n; i++) all += p->all[i].n;
    size_t n = (size_t)all, m = (size_t)p->n;
    tf_pick *picks = mica_alloc(n * (sizeof *picks + (size_t)rank * sizeof(int64_t)) +
                                m * sizeof(tf_column) + 16);
    if (!picks) return MICA_NO_MEMORY();
    tf_column *columns = (tf_column *)(picks + n);
    int64_t *places = (int64_t *)(columns + m), at = 0;
    for (int64_t i = 0; i < p->n; i++) {
        columns[i] = p->all[i].columns[1];
        for (int64_t e = 0; e < p->all[i].n; e++) picks[at++] = (tf_pick){(int32_t)i, e};
    }
    stack_places(p, given, n_outer, places, sizes);
    mica_status status = tf_give_places(c, 0, places, all, rank);
    if (!status) status = tf_give_picks(c, 1, columns, picks, MICA_INTS(all));
    if (!status) status = tf_give_vector(c, 2, sizes, rank);
    mica_free(picks);
    return status;
}

mica_status tf_host_deserialize_sparse(mica_tf_host *c) {
    mica_tf_shape given;
    mica_tf_value_shape(c->inputs[0], &given);
    parts p = {.n = mica_tf_shape_elements(&given) / 3};
    if (given.rank < 1 || p.n < 1)
        return MICA_INVALID("[%s] Serialized sparse should have at least 1 serialized tensor, but "
                            "has a zero dimension %s",
                            c->info->name, mica_tf_shape_text(&given).chars);
    mica_status status = open_parts(c, &p);
    if (!status) status = give_parts(c, &p, &given);
    close_parts(&p);
    return status;
}
