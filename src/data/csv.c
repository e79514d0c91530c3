/* Records of CSV files: fields between delimiters, in quotes where they hold delimiters, quotes
 * (twice) or line feeds. A record that is not as it should be is read to its end all the same, so
 * that the one after it is the next element. */
#include "base/strings.h"
#include "data/archive.h"
#include "mica/records.h"

enum { CHUNK = 65536, END = -1 };

typedef struct csv_dataset {
    mica_dataset base;
    mica_tf_value names; /* retained strings */
    char *compression;
    int64_t buffer_size;
    bool has_header, uses_quotes;
    char delimiter;
    char *missing; /* the text of a missing value */
    size_t missing_length;
    mica_tf_value *defaults; /* retained; empty: the field is required */
    int64_t *columns;        /* that are taken, or with excludes left out; in order */
    int64_t n_columns;
    bool excludes;
} csv_dataset;

typedef struct csv_state {
    int64_t n_opened;
    mica_file_reader *reader; /* NULL: between files */
    const uint8_t *bytes;     /* of the file, from `at` to `n` */
    size_t at, n;
    bool ended;
    mica_text field;
} csv_state;

static void csv_destroy(mica_dataset *dataset) {
    csv_dataset *d = (csv_dataset *)dataset;
    mica_tf_value_release(d->names);
    if (d->defaults) mica_values_release(d->defaults, dataset->n_components);
    mica_free(d->defaults);
    mica_free(d->columns);
    mica_free(d->compression);
    mica_free(d->missing);
}

static void leave_file(csv_state *s) {
    mica_file_reader_release(s->reader);
    s->reader = NULL;
    s->at = s->n = 0;
    s->ended = false;
}

static void csv_close(mica_iterator *it) {
    csv_state *s = it->state;
    leave_file(s);
    mica_text_deinit(&s->field);
}

/* ---- bytes ------------------------------------------------------------------------------------*/

/* The next byte, which stays, or END. */
static mica_status look(csv_state *s, int *out) {
    *out = END;
    if (s->at == s->n && !s->ended) {
        s->at = s->n = 0;
        MICA_TRY(mica_file_reader_take(s->reader, CHUNK, &s->bytes, &s->n));
        s->ended = s->n == 0;
    }
    if (s->at < s->n) *out = s->bytes[s->at];
    return NULL;
}

/* A record ends here: at the end, at a line feed or at a return, with the line feed behind it. */
static mica_status pass_end(csv_state *s, int c) {
    if (c == END) return NULL;
    s->at++;
    if (c != '\r') return NULL;
    MICA_TRY(look(s, &c));
    if (c == '\n') s->at++;
    return NULL;
}

static bool ends_record(int c) {
    return c == END || c == '\n' || c == '\r';
}

/* ---- fields -----------------------------------------------------------------------------------*/

/* What is wrong with a record: the first thing. */
static void note(mica_status *fault, mica_status status) {
    if (*fault)
        mica_status_release(status);
    else
        *fault = status;
}

static mica_status read_plain(const csv_dataset *d, csv_state *s, mica_status *fault) {
    for (int c;; s->at++) {
        MICA_TRY(look(s, &c));
        if (ends_record(c) || c == (unsigned char)d->delimiter) return NULL;
        if (c == '"' && d->uses_quotes)
            note(fault, MICA_INVALID("[CSVDataset] Unquoted fields cannot have quotes inside"));
        mica_text_append_char(&s->field, (char)c);
    }
}

static mica_status read_quoted(const csv_dataset *d, csv_state *s, mica_status *fault) {
    s->at++;
    for (int c, next;; s->at++) {
        MICA_TRY(look(s, &c));
        if (c == END) {
            mica_status_release(*fault);
            *fault = MICA_INVALID("[CSVDataset] Reached end of file without closing quoted field "
                                  "in record");
            return NULL;
        }
        if (c == '"') {
            s->at++;
            MICA_TRY(look(s, &next));
            if (ends_record(next) || next == (unsigned char)d->delimiter) return NULL;
            if (next != '"') {
                note(fault, MICA_INVALID("[CSVDataset] Quote inside a string has to be escaped by "
                                         "another quote"));
                continue; /* that byte is passed over with it */
            }
        }
        mica_text_append_char(&s->field, (char)c);
    }
}

static const char *article_of(mica_tf_dtype dtype) {
    switch (dtype) {
    case MICA_TF_float32: return "a valid float";
    case MICA_TF_float64: return "a valid double";
    case MICA_TF_int32: return "a valid int32";
    default: return "a valid int64";
    }
}

/* The value of field i of those that are taken. */
static mica_status give_field(mica_iterator *it, int64_t i, mica_tf_value *out) {
    const csv_dataset *d = (const csv_dataset *)it->dataset;
    csv_state *s = it->state;
    const char *text = mica_text_data(&s->field);
    size_t n = s->field.length;
    mica_tf_value by_default = d->defaults[i];
    mica_tf_dtype dtype = by_default.dtype;
    if (n == 0 || (n == d->missing_length && !memcmp(text, d->missing, n))) {
        mica_tf_shape shape;
        mica_tf_value_shape(by_default, &shape);
        if (shape.rank == 1 && shape.dims[0] == 0)
            return MICA_INVALID("[CSVDataset] Field %lld is required but missing in record!",
                                (long long)i);
        if (shape.rank == 1) return mica_value_slice(by_default, 0, out);
        mica_tf_value_retain(by_default);
        *out = by_default;
        return NULL;
    }
    if (dtype == MICA_TF_string) return mica_tf_strings_create(MICA_NO_INTS, &text, &n, out);
    double number = 0; /* room for every dtype */
    if (!mica_csv_number(text, n, dtype, &number))
        return MICA_INVALID("[CSVDataset] Field %lld in record is not %s: %.*s", (long long)i,
                            article_of(dtype), (int)(n < 200 ? n : 200), text);
    mica_type type = mica_type_scalar(mica_tf_dtype_core(dtype));
    mica_tensor *tensor = NULL;
    MICA_TRY(mica_tensor_from_host(it->device, &type, &number, &tensor));
    *out = mica_tf_value_of(tensor);
    return NULL;
}

static bool is_taken(const csv_dataset *d, int64_t column, int64_t *at) {
    if (d->n_columns == 0) return true;
    while (*at < d->n_columns && d->columns[*at] < column) ++*at;
    bool is_named = *at < d->n_columns && d->columns[*at] == column;
    return is_named != d->excludes;
}

/* The fields up to the record's end; `out` NULL: of a header, which is only passed over. */
static mica_status read_record(mica_iterator *it, mica_tf_value *out, mica_status *fault) {
    const csv_dataset *d = (const csv_dataset *)it->dataset;
    csv_state *s = it->state;
    int64_t n = it->dataset->n_components, taken = 0, at = 0;
    for (int64_t column = 0;; column++) {
        int c;
        mica_text_clear(&s->field);
        MICA_TRY(look(s, &c));
        MICA_TRY(c == '"' && d->uses_quotes ? read_quoted(d, s, fault) : read_plain(d, s, fault));
        if (mica_text_is_failed(&s->field)) return MICA_NO_MEMORY();
        if (out && is_taken(d, column, &at)) {
            if (taken == n)
                note(fault, MICA_INVALID("[CSVDataset] Expect %lld fields but have more in record",
                                         (long long)n));
            else if (!*fault)
                note(fault, give_field(it, taken, &out[taken]));
            taken += taken < n;
        }
        MICA_TRY(look(s, &c));
        if (!ends_record(c)) {
            s->at++; /* the delimiter */
            continue;
        }
        MICA_TRY(pass_end(s, c));
        break;
    }
    if (out && taken < n)
        note(fault, MICA_INVALID("[CSVDataset] Expect %lld fields but have %lld in record",
                                 (long long)n, (long long)taken));
    return NULL;
}

/* ---- files ------------------------------------------------------------------------------------*/

static mica_status open_next(mica_iterator *it) {
    const csv_dataset *d = (const csv_dataset *)it->dataset;
    csv_state *s = it->state;
    size_t n;
    const char *name = mica_tf_strings_get(d->names, s->n_opened++, &n);
    if (memchr(name, 0, n))
        return MICA_INVALID("[CSVDataset] the name of file %lld has a zero byte in it",
                            (long long)s->n_opened - 1);
    char *path = mica_calloc(n + 1, 1);
    if (!path) return MICA_NO_MEMORY();
    memcpy(path, name, n);
    size_t buffer = d->buffer_size > 0 ? (size_t)d->buffer_size : 0;
    mica_status status = mica_file_reader_open(path, d->compression, buffer, &s->reader);
    mica_free(path);
    return status;
}

static mica_status pass_header(mica_iterator *it) {
    const csv_dataset *d = (const csv_dataset *)it->dataset;
    mica_status fault = NULL;
    int c;
    if (!d->has_header) return NULL;
    MICA_TRY(look(it->state, &c));
    if (c == END) return NULL;
    mica_status status = read_record(it, NULL, &fault);
    mica_status_release(fault);
    return status;
}

static mica_status csv_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    const csv_dataset *d = (const csv_dataset *)it->dataset;
    csv_state *s = it->state;
    mica_status status = NULL, fault = NULL;
    int c = END;
    while (!status) {
        bool opens = !s->reader;
        *end = opens && s->n_opened >= mica_tf_strings_count(d->names);
        if (*end) return NULL;
        if (opens) status = open_next(it);
        if (!status && opens) status = pass_header(it);
        if (!status) status = look(s, &c);
        if (!status && c != END) status = read_record(it, out, &fault);
        if (c != END) break;
        leave_file(s);
    }
    if (status) leave_file(s); /* of the file itself */
    return mica_status_join(status, fault);
}

static mica_status csv_archive(mica_iterator *it, mica_archive *a) {
    const csv_dataset *d = (const csv_dataset *)it->dataset;
    csv_state *s = it->state;
    bool is_open = s->reader != NULL;
    int64_t offset = 0, n_opened = s->n_opened;
    if (is_open) offset = (int64_t)(mica_file_reader_offset(s->reader) - (s->n - s->at));
    MICA_TRY(mica_archive_bool(a, &is_open));
    MICA_TRY(mica_archive_int(a, &n_opened, is_open, mica_tf_strings_count(d->names)));
    MICA_TRY(mica_archive_int(a, &offset, 0, INT64_MAX));
    if (a->is_saving) return NULL;
    s->n_opened = n_opened - is_open;
    if (!is_open) return NULL;
    MICA_TRY(open_next(it));
    return mica_file_reader_skip(s->reader, (uint64_t)offset);
}

static const mica_dataset_class csv_class = {
    .name = "CSVDataset",
    .bytes = sizeof(csv_dataset),
    .state_bytes = sizeof(csv_state),
    .destroy = csv_destroy,
    .next = csv_next,
    .close = csv_close,
    .archive = csv_archive,
};

/* ---- arguments --------------------------------------------------------------------------------*/

static mica_status check_defaults(const mica_dataset_csv *csv) {
    if (csv->n < 1) return MICA_INVALID("[CSVDataset] there is no field");
    for (int32_t i = 0; i < csv->n; i++) {
        mica_tf_dtype dtype = csv->defaults[i].dtype;
        mica_tf_shape shape;
        mica_tf_value_shape(csv->defaults[i], &shape);
        if (dtype != MICA_TF_float32 && dtype != MICA_TF_float64 && dtype != MICA_TF_int32 &&
            dtype != MICA_TF_int64 && dtype != MICA_TF_string)
            return MICA_INVALID("[CSVDataset] field %d cannot be of dtype %s", i,
                                mica_tf_dtype_name(dtype));
        if (shape.rank > 1)
            return MICA_INVALID("[CSVDataset] Each record default should be at most rank 1");
        if (shape.rank == 1 && shape.dims[0] > 1)
            return MICA_INVALID("[CSVDataset] There should only be 1 default per field but field "
                                "%d has %lld",
                                i, (long long)shape.dims[0]);
    }
    return NULL;
}

static mica_status check_columns(const int64_t *columns, int64_t n, const char *name) {
    for (int64_t i = 0; i < n; i++) {
        if (columns[i] < 0)
            return MICA_INVALID("[CSVDataset] %s should be non-negative indices", name);
        if (i && columns[i] <= columns[i - 1])
            return MICA_INVALID("[CSVDataset] %s should be strictly increasing indices", name);
    }
    return NULL;
}

static mica_status check(const mica_dataset_csv *csv) {
    if (csv->names.dtype != MICA_TF_string)
        return MICA_INVALID("[CSVDataset] the names of files are strings");
    MICA_TRY(check_defaults(csv));
    if (csv->n_select && csv->n_exclude)
        return MICA_INVALID("[CSVDataset] Either select_cols or exclude_cols should be empty");
    if (csv->n_select && csv->n_select != csv->n)
        return MICA_INVALID("[CSVDataset] select_cols should match output size: %lld and %d",
                            (long long)csv->n_select, csv->n);
    MICA_TRY(check_columns(csv->select, csv->n_select, "select_cols"));
    return check_columns(csv->exclude, csv->n_exclude, "exclude_cols");
}

static mica_status keep(csv_dataset *d, const mica_dataset_csv *csv) {
    d->n_columns = csv->n_select + csv->n_exclude;
    d->excludes = csv->n_exclude > 0;
    d->compression = mica_strdup(csv->compression ? csv->compression : "");
    d->missing = mica_calloc(csv->missing_length + 1, 1);
    d->columns = mica_calloc((size_t)d->n_columns + 1, sizeof *d->columns);
    if (!d->compression || !d->missing || !d->columns) return MICA_NO_MEMORY();
    if (csv->missing_length) memcpy(d->missing, csv->missing, csv->missing_length);
    d->missing_length = csv->missing_length;
    if (d->n_columns)
        memcpy(d->columns, d->excludes ? csv->exclude : csv->select,
               (size_t)d->n_columns * sizeof *d->columns);
    return mica_values_copy(csv->defaults, csv->n, &d->defaults);
}

mica_status mica_dataset_of_csv(const mica_dataset_csv *csv, mica_dataset **out_dataset) {
    MICA_GIVEN(csv, out_dataset);
    *out_dataset = NULL;
    if (csv->size < sizeof *csv)
        return MICA_INVALID("[CSVDataset] the size is %zu bytes, not %zu", csv->size, sizeof *csv);
    MICA_GIVEN(csv->names.object, MICA_MANY(csv->defaults, csv->n),
               MICA_MANY(csv->select, csv->n_select), MICA_MANY(csv->exclude, csv->n_exclude));
    MICA_TRY(check(csv));
    mica_dataset *made = NULL;
    MICA_TRY(mica_dataset_make(&csv_class, NULL, 0, csv->n, &made));
    csv_dataset *d = (csv_dataset *)made;
    mica_tf_value_retain(csv->names);
    d->names = csv->names;
    d->buffer_size = csv->buffer_size;
    d->has_header = csv->has_header;
    d->uses_quotes = csv->uses_quotes;
    d->delimiter = csv->delimiter;
    mica_status status = keep(d, csv);
    if (status)
        mica_dataset_release(made);
    else
        *out_dataset = made;
    return status;
}
