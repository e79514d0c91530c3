/* Host functions of sums, means and sums over the root of their number of rows that are looked up,
 * and their gradients. */
#include <math.h>
#include <string.h>

#include "tf/ops/sparse/sparse.h"

typedef enum scale { SUM, MEAN, SQRT_N } scale;

static double factor(scale by, int64_t n) {
    if (by == SUM || n < 1) return 1;
    return by == MEAN ? 1 / (double)n : 1 / sqrt((double)n);
}

typedef struct rows {
    tf_column data, indices, ids;
    int64_t n, width; /* of the data */
    mica_tf_shape shape;
} rows;

static void close_rows(rows *r) {
    tf_column_close(&r->ids);
    tf_column_close(&r->indices);
    tf_column_close(&r->data);
}

static mica_status open_rows(const mica_tf_host *c, rows *r) {
    memset(r, 0, sizeof *r);
    mica_tf_value_shape(c->inputs[0], &r->shape);
    r->n = r->shape.dims[0];
    r->width = 1;
    for (int32_t i = 1; i < r->shape.rank; i++) r->width *= r->shape.dims[i];
    mica_status status = tf_column_open(c->inputs[0], &r->data);
    if (!status) status = tf_column_open(c->inputs[1], &r->indices);
    if (!status) status = tf_column_open(c->inputs[2], &r->ids);
    if (status) close_rows(r);
    return status;
}

/* to += factor * from; a row of numbers. */
static void add_row(mica_dtype dtype, int64_t width, const char *from, double by, tf_number *to) {
    size_t size = mica_dtype_bytes(dtype);
    for (int64_t k = 0; k < width; k++) {
        tf_number x = tf_number_load(dtype, from + (size_t)k * size);
        to[k].re += by * x.re;
        to[k].i = (int64_t)((uint64_t)to[k].i + (uint64_t)x.i);
    }
}

static mica_status check_index(const mica_tf_host *c, const rows *r, int64_t i, int64_t n) {
    int64_t index = tf_column_int(&r->indices, i);
    if (index >= 0 && index < n) return NULL;
    return MICA_INVALID("[%s] Bad: indices[%lld] == %lld out of range [0, %lld)", c->info->name,
                        (long long)i, (long long)index, (long long)n);
}

/* How many segments there are: those asked for, or up to the last one. */
static mica_status count_segments(const mica_tf_host *c, const rows *r, int64_t *out) {
    int64_t n = r->ids.n, last = n ? tf_column_int(&r->ids, n - 1) : -1;
    *out = mica_tf_plus(last, 1);
    if (c->n_inputs > 3) {
        MICA_TRY(mica_tf_int_input(c, 3, out));
        if (*out < 0)
            return MICA_INVALID("[%s] segment ids must be >= 0: num_segments is %lld",
                                c->info->name, (long long)*out);
        if (last >= *out)
            return MICA_INVALID("[%s] segment ids must be < num_segments", c->info->name);
    }
    for (int64_t i = 1; i < n; i++)
        if (tf_column_int(&r->ids, i) < tf_column_int(&r->ids, i - 1))
            return MICA_INVALID("[%s] segment ids are not increasing", c->info->name);
    for (int64_t i = 0; i < n; i++) {
        int64_t id = tf_column_int(&r->ids, i);
        if (id < 0 || id >= *out)
            return MICA_INVALID("[%s] Segment id %lld out of range [0, %lld), possibly because "
                                "'segment_ids' input is not sorted.",
                                c->info->name, (long long)id, (long long)*out);
        MICA_TRY(check_index(c, r, i, r->n));
    }
    return NULL;
}

static void fill_segments(const rows *r, scale by, tf_number *sums, char *to) {
    size_t size = r->data.size, row = size * (size_t)r->width;
    for (int64_t i = 0, end; i < r->ids.n; i = end) {
        int64_t id = tf_column_int(&r->ids, i);
        memset(sums, 0, (size_t)r->width * sizeof *sums);
        for (end = i; end < r->ids.n && tf_column_int(&r->ids, end) == id; end++)
            add_row(r->data.dtype, r->width,
                    r->data.data + (size_t)tf_column_int(&r->indices, end) * row, 1, sums);
        double share = factor(by, end - i);
        for (int64_t k = 0; k < r->width; k++) {
            sums[k].re *= share;
            tf_number_store(r->data.dtype, sums[k], to + (size_t)id * row + (size_t)k * size);
        }
    }
}

static mica_status segments(mica_tf_host *c, scale by) {
    rows r;
    int64_t n;
    void *data = NULL;
    MICA_TRY(open_rows(c, &r));
    tf_number *sums = mica_alloc((size_t)r.width * sizeof *sums + 8);
    mica_status status = sums ? count_segments(c, &r, &n) : MICA_NO_MEMORY();
    if (!status) status = tf_sparse_room(c, mica_tf_times(n, r.width), r.data.size, &data);
    if (!status) {
        fill_segments(&r, by, sums, data);
        r.shape.dims[0] = n;
        status = mica_tf_give_numbers(c, 0, r.data.dtype, mica_tf_dims(&r.shape), data);
    }
    mica_free(data);
    mica_free(sums);
    close_rows(&r);
    return status;
}

mica_status tf_host_sparse_segment_sum(mica_tf_host *c) {
    return segments(c, SUM);
}

mica_status tf_host_sparse_segment_mean(mica_tf_host *c) {
    return segments(c, MEAN);
}

mica_status tf_host_sparse_segment_sqrt_n(mica_tf_host *c) {
    return segments(c, SQRT_N);
}

/* ---- gradients --------------------------------------------------------------------------------*/

static mica_status check_gradient(const mica_tf_host *c, const rows *r, int64_t n) {
    for (int64_t i = 0; i < r->ids.n; i++) {
        int64_t id = tf_column_int(&r->ids, i), index = tf_column_int(&r->indices, i);
        if (id < 0 || id >= r->n)
            return MICA_INVALID("[%s] Segment id %lld out of range [0, %lld).", c->info->name,
                                (long long)id, (long long)r->n);
        if (index < 0 || index >= n)
            return MICA_INVALID("[%s] Index %lld out of range [0, %lld).", c->info->name,
                                (long long)index, (long long)n);
    }
    return NULL;
}

static mica_status fill_gradient(const mica_tf_host *c, const rows *r, scale by, int64_t n,
                                 char *to) {
    size_t size = r->data.size, row = size * (size_t)r->width;
    void *counts, *sums;
    MICA_TRY(tf_sparse_room(c, r->n, sizeof(int64_t), &counts));
    mica_status status = tf_sparse_room(c, mica_tf_times(n, r->width), sizeof(tf_number), &sums);
    if (status) {
        mica_free(counts);
        return status;
    }
    int64_t *count = counts;
    tf_number *sum = sums;
    for (int64_t i = 0; i < r->ids.n; i++) count[tf_column_int(&r->ids, i)]++;
    for (int64_t i = 0; i < r->ids.n; i++) {
        int64_t id = tf_column_int(&r->ids, i);
        add_row(r->data.dtype, r->width, r->data.data + (size_t)id * row, factor(by, count[id]),
                sum + tf_column_int(&r->indices, i) * r->width);
    }
    for (int64_t i = 0; i < n * r->width; i++)
        tf_number_store(r->data.dtype, sum[i], to + (size_t)i * size);
    mica_free(sums);
    mica_free(counts);
    return NULL;
}

static mica_status segments_grad(mica_tf_host *c, scale by) {
    rows r;
    int64_t n;
    void *data = NULL;
    MICA_TRY(mica_tf_int_input(c, 3, &n));
    MICA_TRY(open_rows(c, &r));
    mica_status status = check_gradient(c, &r, n);
    if (!status) status = tf_sparse_room(c, mica_tf_times(n, r.width), r.data.size, &data);
    if (!status) status = fill_gradient(c, &r, by, n, data);
    if (!status) {
        r.shape.dims[0] = n;
        status = mica_tf_give_numbers(c, 0, r.data.dtype, mica_tf_dims(&r.shape), data);
    }
    mica_free(data);
    close_rows(&r);
    return status;
}

mica_status tf_host_sparse_segment_sum_grad(mica_tf_host *c) {
    return segments_grad(c, SUM);
}

mica_status tf_host_sparse_segment_mean_grad(mica_tf_host *c) {
    return segments_grad(c, MEAN);
}

mica_status tf_host_sparse_segment_sqrt_n_grad(mica_tf_host *c) {
    return segments_grad(c, SQRT_N);
}
