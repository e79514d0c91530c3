#include "io/text_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/platform.h"

typedef struct text {
    const char *path;
    const io_text_table *table;
    char **starts; /* of lines */
    size_t *lengths;
    int64_t n;
} text;

/* A line ends with a newline, or with one after a carriage return; the last may have no end. */
static mica_status find_lines(text *t, char *bytes, size_t size) {
    int64_t n = size > 0 && bytes[size - 1] != '\n';
    for (size_t i = 0; i < size; i++) n += bytes[i] == '\n';
    if (t->table->most > 0 && n > t->table->most) n = t->table->most;
    t->starts = mica_calloc((size_t)n + 1, sizeof *t->starts);
    t->lengths = mica_calloc((size_t)n + 1, sizeof *t->lengths);
    if (!t->starts || !t->lengths) return MICA_NO_MEMORY();
    char *at = bytes, *end = bytes + size;
    for (t->n = 0; t->n < n; t->n++) {
        char *newline = memchr(at, '\n', (size_t)(end - at));
        char *stop = newline ? newline : end;
        t->starts[t->n] = at;
        at = newline ? newline + 1 : end;
        if (stop > t->starts[t->n] && stop[-1] == '\r') stop--;
        t->lengths[t->n] = (size_t)(stop - t->starts[t->n]);
    }
    return NULL;
}

static mica_status find_column(const text *t, int64_t line, int64_t column, const char **out_text,
                               size_t *out_length) {
    const char *at = t->starts[line], *end = at + t->lengths[line];
    for (int64_t i = 0; i < column && at; i++) {
        at = memchr(at, t->table->delimiter, (size_t)(end - at));
        if (at) at++;
    }
    if (!at)
        return MICA_ERROR(MICA_DATA_LOSS, "[text_table] %s: line %lld has no column %lld", t->path,
                          (long long)line + 1, (long long)column);
    const char *stop = memchr(at, t->table->delimiter, (size_t)(end - at));
    if (column == IO_TEXT_LINE) stop = NULL;
    *out_text = at;
    *out_length = (size_t)((stop ? stop : end) - at);
    return NULL;
}

static mica_status make_strings(const text *t, int64_t column, mica_tf_value *out_value) {
    const char **texts = mica_calloc((size_t)t->n + 1, sizeof *texts);
    size_t *lengths = mica_calloc((size_t)t->n + 1, sizeof *lengths);
    mica_status status = texts && lengths ? NULL : MICA_NO_MEMORY();
    for (int64_t i = 0; i < t->n && !status; i++)
        status = find_column(t, i, column, &texts[i], &lengths[i]);
    if (!status) status = mica_tf_strings_create(MICA_INTS(t->n), texts, lengths, out_value);
    mica_free(texts);
    mica_free(lengths);
    return status;
}

static bool store(mica_tf_dtype dtype, void *to, int64_t i, int64_t integer, double real) {
    switch ((int)dtype) {
    case MICA_TF_int64: ((int64_t *)to)[i] = integer; return true;
    case MICA_TF_int32: ((int32_t *)to)[i] = (int32_t)integer; return integer == (int32_t)integer;
    case MICA_TF_float32: ((float *)to)[i] = (float)real; return true;
    case MICA_TF_float64: ((double *)to)[i] = real; return true;
    default: return false;
    }
}

static mica_status read_number(const text *t, int64_t line, int64_t column, mica_tf_dtype dtype,
                               void *to) {
    const char *at;
    size_t n;
    char digits[64], *end = digits;
    long long integer = 0;
    double real = 0;
    if (column == IO_TEXT_NUMBER)
        return store(dtype, to, line, t->table->offset + line, 0)
                   ? NULL
                   : MICA_ERROR(MICA_DATA_LOSS, "[text_table] %s has too many lines", t->path);
    MICA_TRY(find_column(t, line, column, &at, &n));
    bool is_real = dtype == MICA_TF_float32 || dtype == MICA_TF_float64;
    if (n > 0 && n < sizeof digits) {
        memcpy(digits, at, n);
        digits[n] = 0;
        errno = 0;
        if (is_real)
            real = strtod(digits, &end);
        else
            integer = strtoll(digits, &end, 10);
    }
    if (end == digits || *end || (!is_real && errno) || !store(dtype, to, line, integer, real))
        return MICA_ERROR(MICA_DATA_LOSS, "[text_table] %s: '%.*s' in line %lld is no %s", t->path,
                          (int)(n < 60 ? n : 60), at, (long long)line + 1,
                          mica_tf_dtype_name(dtype));
    return NULL;
}

static mica_status make_numbers(const text *t, mica_device *device, int64_t column,
                                mica_tf_dtype dtype, mica_tf_value *out_value) {
    mica_type type = mica_type_make(mica_tf_dtype_core(dtype), MICA_INTS(t->n));
    mica_tensor *tensor;
    void *data = mica_calloc((size_t)t->n + 1, 8);
    mica_status status = data ? NULL : MICA_NO_MEMORY();
    for (int64_t i = 0; i < t->n && !status; i++) status = read_number(t, i, column, dtype, data);
    if (!status) status = mica_tensor_from_host(device, &type, data, &tensor);
    if (!status) *out_value = mica_tf_value_of(tensor);
    mica_free(data);
    return status;
}

static mica_status make_part(const text *t, mica_device *device, int64_t column,
                             mica_tf_dtype dtype, mica_tf_value *out_value) {
    bool is_number = dtype == MICA_TF_int64 || dtype == MICA_TF_int32 || dtype == MICA_TF_float32 ||
                     dtype == MICA_TF_float64;
    bool counts = dtype == MICA_TF_int64 || dtype == MICA_TF_int32;
    if (column < IO_TEXT_LINE || (column == IO_TEXT_LINE && dtype != MICA_TF_string) ||
        (column == IO_TEXT_NUMBER && !counts) || (dtype != MICA_TF_string && !is_number))
        return MICA_ERROR(MICA_UNSUPPORTED, "[text_table] %s: column %lld cannot be read as %s",
                          t->path, (long long)column,
                          mica_tf_dtype_name(dtype) ? mica_tf_dtype_name(dtype) : "no dtype");
    if (dtype == MICA_TF_string) return make_strings(t, column, out_value);
    return make_numbers(t, device, column, dtype, out_value);
}

mica_status io_read_text_table(mica_device *device, const char *path, const io_text_table *table,
                               mica_tf_value *out_keys, mica_tf_value *out_values) {
    text t = {.path = path, .table = table};
    uint8_t *bytes = NULL;
    size_t size = 0;
    *out_keys = *out_values = (mica_tf_value){0};
    MICA_TRY(mica_file_read(path, &bytes, &size));
    mica_status status = find_lines(&t, (char *)bytes, size);
    if (!status) status = make_part(&t, device, table->key_column, table->dtypes[0], out_keys);
    if (!status) status = make_part(&t, device, table->value_column, table->dtypes[1], out_values);
    if (status) {
        mica_tf_value_release(*out_keys);
        *out_keys = (mica_tf_value){0};
    }
    mica_free(t.starts);
    mica_free(t.lengths);
    mica_free(bytes);
    return status;
}
