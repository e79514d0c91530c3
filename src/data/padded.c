/* Batches of elements of different sizes: each is filled up to a common shape. */
#include "data/data.h"

typedef struct padded_dataset {
    mica_dataset base;
    int64_t size;
    bool drop_remainder;
    mica_tf_shape *shapes;  /* by component; -1: as large as the largest of the batch */
    mica_tf_value *padding; /* by component, a scalar; retained */
} padded_dataset;

static void padded_destroy(mica_dataset *dataset) {
    padded_dataset *p = (padded_dataset *)dataset;
    if (p->padding) mica_values_release(p->padding, dataset->n_components);
    mica_free(p->padding);
    mica_free(p->shapes);
}

/* The values of a component, and the sizes that they are filled up to. */
typedef struct stack {
    const mica_tf_value *values; /* values[k * stride] is the k-th */
    int64_t stride, n;
    int64_t dims[MICA_MAX_RANK + 1]; /* the first: n */
    int32_t rank;                    /* of an element */
    int64_t each;                    /* elements of a filled-up value */
    mica_tf_value padding;
} stack;

static mica_status find_sizes(stack *s, const mica_tf_shape *wanted, int32_t component) {
    s->rank = wanted->rank;
    s->dims[0] = s->n;
    for (int32_t i = 0; i < s->rank; i++)
        s->dims[i + 1] = wanted->dims[i] < 0 ? 0 : wanted->dims[i];
    for (int64_t k = 0; k < s->n; k++) {
        mica_tf_shape shape;
        mica_tf_value_shape(s->values[k * s->stride], &shape);
        if (shape.rank != s->rank)
            return MICA_INVALID("[PaddedBatchDataset] all elements in a batch must have the same "
                                "rank as the padded shape for component %d: expected rank %d but "
                                "got element with rank %d",
                                component, s->rank, shape.rank);
        for (int32_t i = 0; i < s->rank; i++) {
            if (wanted->dims[i] < 0 && shape.dims[i] > s->dims[i + 1])
                s->dims[i + 1] = shape.dims[i];
            else if (shape.dims[i] > s->dims[i + 1])
                return MICA_ERROR(MICA_DATA_LOSS,
                                  "[PaddedBatchDataset] attempted to pad to a smaller size than "
                                  "the input element: %lld is more than %lld",
                                  (long long)shape.dims[i], (long long)s->dims[i + 1]);
        }
    }
    s->each = 1;
    for (int32_t i = 0; i < s->rank; i++)
        if (__builtin_mul_overflow(s->each, s->dims[i + 1], &s->each))
            return MICA_INVALID("[PaddedBatchDataset] a batch is too large");
    return NULL;
}

/* Where a line (along the last axis) of a value lies in the filled-up one. */
static int64_t place_of_line(const stack *s, const mica_tf_shape *shape, int64_t line) {
    int64_t place = 0, step = s->rank ? s->dims[s->rank] : 1;
    for (int32_t i = s->rank - 2; i >= 0; i--) {
        place += line % shape->dims[i] * step;
        line /= shape->dims[i];
        step *= s->dims[i + 1];
    }
    return place;
}

/* How many lines a value has; their length in *length. */
static int64_t count_lines(const mica_tf_shape *shape, int64_t *length) {
    int64_t lines = 1;
    *length = shape->rank ? shape->dims[shape->rank - 1] : 1;
    for (int32_t i = 0; i + 1 < shape->rank; i++) lines *= shape->dims[i];
    return *length ? lines : 0;
}

static mica_status copy_value(const stack *s, int64_t k, size_t bytes, char *out) {
    mica_tf_value value = s->values[k * s->stride];
    mica_tf_shape shape;
    void *data;
    mica_tf_value_shape(value, &shape);
    MICA_TRY(mica_tensor_open_view(value.object, MICA_READ, &data));
    int64_t length, lines = count_lines(&shape, &length);
    for (int64_t i = 0; i < lines; i++)
        memcpy(out + (size_t)(k * s->each + place_of_line(s, &shape, i)) * bytes,
               (const char *)data + (size_t)(i * length) * bytes, (size_t)length * bytes);
    return mica_tensor_close_view(value.object);
}

static mica_status fill_tensor(const stack *s, size_t bytes, char *out) {
    char element[16];
    MICA_TRY(mica_tensor_to_host(s->padding.object, element, bytes));
    for (int64_t i = 0; i < s->n * s->each; i++) memcpy(out + (size_t)i * bytes, element, bytes);
    for (int64_t k = 0; k < s->n; k++) MICA_TRY(copy_value(s, k, bytes, out));
    return NULL;
}

static mica_status stack_tensors(const stack *s, mica_device *device, mica_tf_value *out) {
    mica_type type =
        mica_type_make(mica_tf_dtype_core(s->values[0].dtype), (mica_ints){s->dims, s->rank + 1});
    mica_tensor *all = NULL;
    void *data = NULL;
    MICA_TRY(mica_tensor_create(device, &type, &all));
    mica_status status = mica_tensor_open_view(all, MICA_WRITE, &data);
    if (!status) {
        status = fill_tensor(s, mica_dtype_bytes(type.dtype), data);
        mica_status closed = mica_tensor_close_view(all);
        if (status)
            mica_status_release(closed);
        else
            status = closed;
    }
    if (status)
        mica_tensor_release(all);
    else
        *out = (mica_tf_value){s->values[0].dtype, all};
    return status;
}

static mica_status stack_strings(const stack *s, mica_tf_value *out) {
    int64_t count = s->n * s->each;
    const char **data = mica_calloc((size_t)count + 1, sizeof *data);
    size_t *lengths = mica_calloc((size_t)count + 1, sizeof *lengths);
    mica_status status = data && lengths ? NULL : MICA_NO_MEMORY();
    for (int64_t i = 0; !status && i < count; i++)
        data[i] = mica_tf_strings_get(s->padding, 0, &lengths[i]);
    for (int64_t k = 0; !status && k < s->n; k++) {
        mica_tf_shape shape;
        mica_tf_value_shape(s->values[k * s->stride], &shape);
        int64_t length, lines = count_lines(&shape, &length);
        for (int64_t i = 0; i < lines * length; i++) {
            int64_t at = k * s->each + place_of_line(s, &shape, i / length) + i % length;
            data[at] = mica_tf_strings_get(s->values[k * s->stride], i, &lengths[at]);
        }
    }
    if (!status)
        status = mica_tf_strings_create((mica_ints){s->dims, s->rank + 1}, data, lengths, out);
    mica_free(data);
    mica_free(lengths);
    return status;
}

static mica_status stack_component(const mica_iterator *it, const mica_rows *rows, int32_t k,
                                   mica_tf_value *out) {
    const padded_dataset *p = (const padded_dataset *)it->dataset;
    stack s = {
        .values = rows->values + k, .stride = rows->width, .n = rows->n, .padding = p->padding[k]};
    MICA_TRY(find_sizes(&s, &p->shapes[k], k));
    if (s.values[0].dtype != s.padding.dtype)
        return MICA_INVALID("[PaddedBatchDataset] component %d is %s and is padded with %s", k,
                            mica_tf_dtype_name(s.values[0].dtype),
                            mica_tf_dtype_name(s.padding.dtype));
    if (mica_tf_dtype_core(s.values[0].dtype) != MICA_DTYPE_COUNT)
        return stack_tensors(&s, it->device, out);
    if (s.values[0].dtype == MICA_TF_string) return stack_strings(&s, out);
    return MICA_INVALID("[PaddedBatchDataset] components of dtype %s cannot be stacked",
                        mica_tf_dtype_name(s.values[0].dtype));
}

static mica_status padded_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const padded_dataset *p = (const padded_dataset *)it->dataset;
    mica_rows rows = {.width = it->dataset->n_components,
                      .meter = {.who = "PaddedBatchDataset", .is_copied = true}};
    mica_status status = mica_rows_pull(&rows, it, p->size);
    *end = !status && (rows.n == 0 || (rows.n < p->size && p->drop_remainder));
    for (int32_t k = 0; !status && !*end && k < rows.width; k++)
        status = stack_component(it, &rows, k, &out[k]);
    mica_rows_deinit(&rows);
    return status;
}

static int64_t padded_count(const mica_dataset *dataset) {
    const padded_dataset *p = (const padded_dataset *)dataset;
    int64_t n = mica_dataset_cardinality(dataset->inputs[0]);
    if (n < 0) return n;
    return n / p->size + (n % p->size != 0 && !p->drop_remainder);
}

static int64_t padded_size_of(const mica_dataset *dataset) {
    return ((const padded_dataset *)dataset)->size;
}

static const mica_dataset_class padded_class = {
    .name = "PaddedBatchDataset",
    .bytes = sizeof(padded_dataset),
    .destroy = padded_destroy,
    .next = padded_next,
    .cardinality = padded_count,
    .batch_size = padded_size_of,
};

static mica_status check_padding(const mica_tf_shape *shapes, const mica_tf_value *padding,
                                 int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        mica_tf_shape shape;
        mica_tf_value_shape(padding[i], &shape);
        if (shape.rank != 0)
            return MICA_INVALID("[PaddedBatchDataset] the padding of component %d is no scalar", i);
        if (shapes[i].rank < 0 || shapes[i].rank >= MICA_MAX_RANK)
            return MICA_INVALID("[PaddedBatchDataset] component %d cannot be padded to rank %d", i,
                                shapes[i].rank);
    }
    return NULL;
}

mica_status mica_dataset_padded_batch(mica_dataset *input, int64_t size,
                                      const mica_tf_shape *shapes, const mica_tf_value *padding,
                                      bool drop_remainder, mica_dataset **out_dataset) {
    MICA_GIVEN(input, padding, out_dataset);
    int32_t n = input->n_components;
    *out_dataset = NULL;
    if (size < 1)
        return MICA_INVALID("[PaddedBatchDataset] batch_size must be greater than zero, not %lld",
                            (long long)size);
    MICA_TRY(check_padding(shapes, padding, n));
    MICA_TRY(mica_dataset_make(&padded_class, &input, 1, n, out_dataset));
    padded_dataset *p = (padded_dataset *)*out_dataset;
    p->size = size;
    p->drop_remainder = drop_remainder;
    p->shapes = mica_alloc(((size_t)n + 1) * sizeof *p->shapes);
    mica_status status = p->shapes ? mica_values_copy(padding, n, &p->padding) : MICA_NO_MEMORY();
    if (status) {
        mica_dataset_release(*out_dataset);
        *out_dataset = NULL;
        return status;
    }
    memcpy(p->shapes, shapes, (size_t)n * sizeof *shapes);
    return NULL;
}
