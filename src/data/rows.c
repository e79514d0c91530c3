/* Elements that are kept: for batches, windows and caches. */
#include "data/archive.h"

mica_status mica_rows_room(mica_rows *rows, mica_tf_value **out_row) {
    size_t width = rows->width ? (size_t)rows->width : 1;
    *out_row = NULL;
    for (; rows->n_counted < rows->n; rows->n_counted++)
        MICA_TRY(mica_data_meter_add(&rows->meter, rows->values + rows->n_counted * rows->width,
                                     rows->width, rows->n));
    if (rows->n == rows->capacity) {
        int64_t capacity = rows->capacity ? rows->capacity * 2 : 16;
        mica_tf_value *values = NULL;
        size_t bytes;
        if (!__builtin_mul_overflow((size_t)capacity * sizeof *values, width, &bytes))
            values = mica_realloc(rows->values, bytes);
        if (!values) return MICA_NO_MEMORY();
        rows->values = values;
        rows->capacity = capacity;
    }
    *out_row = rows->values + rows->n * rows->width;
    memset(*out_row, 0, (size_t)rows->width * sizeof **out_row);
    return NULL;
}

mica_status mica_rows_pull(mica_rows *rows, mica_iterator *it, int64_t most) {
    while (rows->n < most) {
        mica_tf_value *row;
        bool end;
        MICA_TRY(mica_rows_room(rows, &row));
        MICA_TRY(mica_iterator_pull(it, 0, row, &end));
        if (end) return NULL;
        rows->n++;
    }
    return NULL;
}

void mica_rows_drop(mica_rows *rows, int64_t count) {
    if (count > rows->n) count = rows->n;
    for (int64_t i = 0; i < count; i++)
        mica_values_release(rows->values + i * rows->width, rows->width);
    if (rows->n) rows->meter.content -= rows->meter.content / (uint64_t)rows->n * (uint64_t)count;
    rows->n -= count;
    rows->n_counted = rows->n_counted > count ? rows->n_counted - count : 0;
    if (rows->n)
        memmove(rows->values, rows->values + count * rows->width,
                (size_t)(rows->n * rows->width) * sizeof *rows->values);
}

void mica_rows_deinit(mica_rows *rows) {
    mica_rows_drop(rows, rows->n);
    mica_free(rows->values);
    *rows = (mica_rows){0};
}

/* ---- a dataset of them ------------------------------------------------------------------------*/

typedef struct rows_dataset {
    mica_dataset base;
    mica_rows rows;
} rows_dataset;

static void rows_destroy(mica_dataset *dataset) {
    mica_rows_deinit(&((rows_dataset *)dataset)->rows);
}

static mica_status rows_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const mica_rows *rows = &((const rows_dataset *)it->dataset)->rows;
    int64_t *at = it->state;
    *end = *at >= rows->n;
    if (*end) return NULL;
    const mica_tf_value *row = rows->values + (*at)++ * rows->width;
    for (int32_t k = 0; k < rows->width; k++) {
        out[k] = row[k];
        mica_tf_value_retain(out[k]);
    }
    return NULL;
}

static int64_t rows_count(const mica_dataset *dataset) {
    return ((const rows_dataset *)dataset)->rows.n;
}

static mica_status rows_archive(mica_iterator *it, mica_archive *a) {
    return mica_archive_int(a, it->state, 0, rows_count(it->dataset));
}

static const mica_dataset_class rows_class = {
    .name = "RowsDataset",
    .bytes = sizeof(rows_dataset),
    .state_bytes = sizeof(int64_t),
    .destroy = rows_destroy,
    .next = rows_next,
    .cardinality = rows_count,
    .archive = rows_archive,
};

const mica_rows *mica_rows_of(const mica_dataset *dataset) {
    return dataset && dataset->class == &rows_class ? &((const rows_dataset *)dataset)->rows : NULL;
}

/* A dataset of `width` values of every stride-th row, from `first` on. */
static mica_status make_rows(const mica_rows *rows, int32_t first, int32_t width, int64_t stride,
                             mica_dataset **out) {
    MICA_TRY(mica_dataset_make(&rows_class, NULL, 0, width, out));
    mica_rows *kept = &((rows_dataset *)*out)->rows;
    kept->width = width;
    mica_status status = NULL;
    for (int64_t i = 0; i < rows->n && !status; i += stride) {
        mica_tf_value *row;
        status = mica_rows_room(kept, &row);
        for (int32_t k = 0; !status && k < width; k++) {
            row[k] = rows->values[i * rows->width + first + k];
            mica_tf_value_retain(row[k]);
        }
        kept->n += !status;
    }
    if (status) {
        mica_dataset_release(*out);
        *out = NULL;
    }
    return status;
}

mica_status mica_rows_dataset(const mica_rows *rows, int32_t component, int64_t stride,
                              mica_dataset **out) {
    return make_rows(rows, component, 1, stride, out);
}

mica_status mica_rows_elements(const mica_rows *rows, int32_t width, mica_dataset **out) {
    return make_rows(rows, 0, width, 1, out);
}
