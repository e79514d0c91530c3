/* Host functions of CSV: records in strings, and datasets of those in files. */
#include <string.h>

#include "mica/data.h"
#include "mica/records.h"
#include "tf/strings.h"

static mica_status delimiter_of(const mica_tf_host *c, const char *text, size_t n, char *out) {
    if (n != 1) return MICA_INVALID("[%s] field_delim should be only 1 char", c->info->name);
    *out = *text;
    return NULL;
}

/* ---- records in strings -----------------------------------------------------------------------*/

/* How the records are written; what their columns become. */
typedef struct decoder {
    const mica_tf_host *c;
    char delimiter;
    bool uses_quotes;
    const mica_tf_attr *missing, *columns;
    int32_t n;             /* columns that are taken */
    void **numbers;        /* of each column, or NULL */
    mica_tf_writer *texts; /* of each column that is of strings */
} decoder;

static mica_status required(const decoder *d, int32_t i, int64_t record) {
    return MICA_INVALID("[%s] Field %d is required but missing in record %lld!", d->c->info->name,
                        i, (long long)record);
}

static mica_status put_default(const decoder *d, int32_t i, int64_t record) {
    mica_tf_value by_default = d->c->inputs[1 + i];
    mica_tf_shape shape;
    mica_tf_value_shape(by_default, &shape);
    if (mica_tf_shape_elements(&shape) != 1) return required(d, i, record);
    if (by_default.dtype == MICA_TF_string) {
        size_t n;
        const char *text = mica_tf_strings_get(by_default, 0, &n);
        mica_text_append_bytes(&d->texts[i].bytes, text, n);
        (void)mica_tf_writer_end(&d->texts[i]);
        return NULL;
    }
    size_t each = mica_type_bytes(&(mica_type){.dtype = mica_tf_dtype_core(by_default.dtype)});
    return mica_tensor_to_host(by_default.object, (char *)d->numbers[i] + (size_t)record * each,
                               each);
}

static mica_status put_field(const decoder *d, int32_t i, int64_t record, const char *text,
                             size_t n) {
    mica_tf_dtype dtype = d->c->output_dtypes[i];
    bool is_missing =
        n == 0 || (n == (size_t)d->missing->n && !memcmp(text, d->missing->as.string, n));
    if (is_missing) return put_default(d, i, record);
    if (dtype == MICA_TF_string) {
        mica_text_append_bytes(&d->texts[i].bytes, text, n);
        (void)mica_tf_writer_end(&d->texts[i]);
        return NULL;
    }
    size_t each = mica_type_bytes(&(mica_type){.dtype = mica_tf_dtype_core(dtype)});
    if (mica_csv_number(text, n, dtype, (char *)d->numbers[i] + (size_t)record * each)) return NULL;
    const char *kind = dtype == MICA_TF_float32   ? "float"
                       : dtype == MICA_TF_float64 ? "double"
                                                  : mica_tf_dtype_name(dtype);
    return MICA_INVALID("[%s] Field %d in record %lld is not a valid %s: %.*s", d->c->info->name, i,
                        (long long)record, kind, (int)(n < 200 ? n : 200), text);
}

/* A field without quotes around it, up to the delimiter. */
static mica_status take_plain(const decoder *d, const char **at, const char *end,
                              mica_text *field) {
    const char *first = *at;
    for (; *at < end && **at != d->delimiter; ++*at)
        if ((d->uses_quotes && **at == '"') || **at == '\n' || **at == '\r')
            return MICA_INVALID("[%s] Unquoted fields cannot have quotes/CRLFs inside",
                                d->c->info->name);
    mica_text_append_bytes(field, first, (size_t)(*at - first));
    return NULL;
}

/* One in quotes, of which the first is behind. */
static mica_status take_quoted(const decoder *d, const char **at, const char *end,
                               mica_text *field) {
    for (; *at < end; ++*at) {
        if (**at != '"') {
            mica_text_append_char(field, **at);
            continue;
        }
        if (*at + 1 == end || (*at)[1] == d->delimiter) {
            ++*at;
            return NULL;
        }
        if ((*at)[1] != '"')
            return MICA_INVALID("[%s] Quote inside a string has to be escaped by another quote",
                                d->c->info->name);
        mica_text_append_char(field, '"');
        ++*at;
    }
    return MICA_INVALID("[%s] Quoted field has to end with quote followed by delim or end",
                        d->c->info->name);
}

static bool is_taken(const decoder *d, int64_t column, int32_t taken) {
    if (d->columns->n == 0) return true;
    return taken < d->n && d->columns->as.ints[taken] == column;
}

/* Fields that are too many are counted and not kept. *fault: a field that cannot be read, of which
 * the caller hears when the record is whole. */
static mica_status decode_fields(const decoder *d, int64_t record, const char *text, size_t n,
                                 mica_text *field, mica_status *fault) {
    const char *at = text, *end = text + n;
    int32_t taken = 0;
    bool is_open = n > 0; /* a field is to come, if only an empty one at the end */
    for (int64_t column = 0; is_open; column++) {
        while (at < end && (*at == '\n' || *at == '\r')) at++;
        if (at == end && (column == 0 || end[-1] != d->delimiter)) break;
        mica_text_clear(field);
        bool quoted = at < end && d->uses_quotes && *at == '"';
        at += quoted;
        MICA_TRY(quoted ? take_quoted(d, &at, end, field) : take_plain(d, &at, end, field));
        if (mica_text_is_failed(field)) return MICA_NO_MEMORY();
        if (is_taken(d, column, taken)) {
            if (taken < d->n && !*fault)
                *fault = put_field(d, taken, record, mica_text_data(field), field->length);
            taken++;
        }
        is_open = at < end;
        at += is_open; /* the delimiter */
        if (d->columns->n && taken == d->n) break;
    }
    if (taken == d->n) return NULL;
    return MICA_INVALID("[%s] Expect %d fields but have %d in record %lld", d->c->info->name, d->n,
                        taken, (long long)record);
}

static mica_status decode_record(const decoder *d, int64_t record, const char *text, size_t n,
                                 mica_text *field) {
    mica_status fault = NULL;
    mica_status status = decode_fields(d, record, text, n, field, &fault);
    return mica_status_join(status, fault);
}

static mica_status give_columns(mica_tf_host *c, const decoder *d) {
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[0], &shape);
    for (int32_t i = 0; i < d->n; i++) {
        if (d->numbers[i])
            MICA_TRY(mica_tf_give_numbers(c, i, mica_tf_dtype_core(c->output_dtypes[i]),
                                          mica_tf_dims(&shape), d->numbers[i]));
        else
            MICA_TRY(mica_tf_writer_finish(&d->texts[i], mica_tf_dims(&shape), &c->outputs[i]));
    }
    return NULL;
}

static mica_status decode_all(mica_tf_host *c, const decoder *d) {
    int64_t count = mica_tf_strings_count(c->inputs[0]);
    mica_text field;
    mica_text_init(&field);
    mica_status status = NULL;
    for (int64_t k = 0; !status && k < count; k++) {
        size_t n;
        const char *text = mica_tf_strings_get(c->inputs[0], k, &n);
        status = decode_record(d, k, text, n, &field);
    }
    mica_text_deinit(&field);
    return status ? status : give_columns(c, d);
}

mica_status tf_host_decode_csv(mica_tf_host *c) {
    const mica_tf_attr *delimiter = mica_tf_host_attr(c, "field_delim");
    decoder d = {.c = c,
                 .uses_quotes = mica_tf_host_attr(c, "use_quote_delim")->as.integer != 0,
                 .missing = mica_tf_host_attr(c, "na_value"),
                 .columns = mica_tf_host_attr(c, "select_cols"),
                 .n = c->n_outputs};
    MICA_TRY(delimiter_of(c, delimiter->as.string, (size_t)delimiter->n, &d.delimiter));
    size_t room = (size_t)mica_tf_strings_count(c->inputs[0]) + 1;
    d.numbers = mica_calloc((size_t)d.n + 1, sizeof *d.numbers);
    d.texts = mica_calloc((size_t)d.n + 1, sizeof *d.texts);
    mica_status status = d.numbers && d.texts ? NULL : MICA_NO_MEMORY();
    for (int32_t i = 0; !status && i < d.n; i++) {
        mica_tf_writer_init(&d.texts[i]);
        if (c->output_dtypes[i] == MICA_TF_string) continue;
        d.numbers[i] = mica_calloc(room, sizeof(double));
        if (!d.numbers[i]) status = MICA_NO_MEMORY();
    }
    if (!status) status = decode_all(c, &d);
    for (int32_t i = 0; d.numbers && d.texts && i < d.n; i++) {
        mica_free(d.numbers[i]);
        mica_tf_writer_deinit(&d.texts[i]);
    }
    mica_free(d.numbers);
    mica_free(d.texts);
    return status;
}

/* ---- records in files -------------------------------------------------------------------------*/

static mica_status columns_input(const mica_tf_host *c, int32_t i, int64_t **out, int64_t *out_n) {
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[i], &shape);
    int32_t n;
    *out_n = mica_tf_shape_elements(&shape);
    if (*out_n > 65536)
        return MICA_INVALID("[%s] %lld columns are more than 65536", c->info->name,
                            (long long)*out_n);
    *out = mica_calloc((size_t)*out_n + 1, sizeof **out);
    if (!*out) return MICA_NO_MEMORY();
    if (*out_n == 0) return NULL;
    return mica_tf_tensor_ints(mica_tf_tensor(c->inputs[i]), *out, (int32_t)*out_n, &n);
}

static mica_status make_csv(mica_tf_host *c, mica_dataset_csv *csv) {
    const char *delimiter;
    size_t n;
    int64_t header, quotes;
    mica_dataset *dataset = NULL;
    MICA_TRY(mica_tf_int_input(c, 2, &csv->buffer_size));
    MICA_TRY(mica_tf_int_input(c, 3, &header));
    MICA_TRY(mica_tf_text_input(c, 4, &delimiter, &n));
    MICA_TRY(delimiter_of(c, delimiter, n, &csv->delimiter));
    MICA_TRY(mica_tf_int_input(c, 5, &quotes));
    MICA_TRY(mica_tf_text_input(c, 6, &csv->missing, &csv->missing_length));
    csv->has_header = header != 0;
    csv->uses_quotes = quotes != 0;
    csv->names = c->inputs[0];
    csv->n = mica_tf_host_attr(c, "output_types")->n;
    csv->defaults = c->inputs + 8;
    mica_status status = mica_dataset_of_csv(csv, &dataset);
    if (!status) status = mica_dataset_value(dataset, &c->outputs[0]);
    mica_dataset_release(dataset);
    return status;
}

mica_status tf_host_csv_dataset(mica_tf_host *c) {
    mica_dataset_csv csv = {.size = sizeof csv};
    char *compression = NULL;
    int64_t *select = NULL, *exclude = NULL;
    mica_status status = mica_tf_name_input(c, 1, &compression);
    if (!status) status = columns_input(c, 7, &select, &csv.n_select);
    if (!status) status = columns_input(c, c->n_inputs - 1, &exclude, &csv.n_exclude);
    csv.compression = compression;
    csv.select = select;
    csv.exclude = exclude;
    if (!status) status = make_csv(c, &csv);
    mica_free(compression);
    mica_free(select);
    mica_free(exclude);
    return status;
}
