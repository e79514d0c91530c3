/* Datasets of what files hold: records, lines, pieces of a fixed size. One file after the other is
 * read; after an error the next element is the next file's. */
#include "data/archive.h"
#include "mica/records.h"

typedef struct files_dataset {
    mica_dataset base;
    mica_tf_value names; /* retained strings */
    char *compression;
    size_t buffer_size;
    int64_t header, record, footer; /* of pieces */
} files_dataset;

typedef struct files_state {
    int64_t n_opened; /* files so far */
    mica_record_reader *records;
    mica_file_reader *bytes;
    uint8_t *kept; /* of pieces: the next bytes, as many as a footer has, and room for a record */
} files_state;

static void files_destroy(mica_dataset *dataset) {
    files_dataset *f = (files_dataset *)dataset;
    mica_tf_value_release(f->names);
    mica_free(f->compression);
}

static void leave_file(files_state *s) {
    mica_record_reader_release(s->records);
    mica_file_reader_release(s->bytes);
    s->records = NULL;
    s->bytes = NULL;
}

static mica_status files_open(mica_iterator *it) {
    const files_dataset *f = (const files_dataset *)it->dataset;
    files_state *s = it->state;
    if (f->record == 0) return NULL;
    s->kept = mica_alloc((size_t)f->footer + (size_t)f->record);
    return s->kept ? NULL : MICA_NO_MEMORY();
}

static void files_close(mica_iterator *it) {
    files_state *s = it->state;
    leave_file(s);
    mica_free(s->kept);
}

static mica_status make_string(const void *bytes, size_t n, mica_tf_value *out) {
    const char *text = bytes;
    return mica_tf_strings_create(MICA_NO_INTS, &text, &n, out);
}

/* The path of the next file, ended with 0; NULL when there is none. */
static mica_status next_path(mica_iterator *it, char **out_path) {
    const files_dataset *f = (const files_dataset *)it->dataset;
    files_state *s = it->state;
    size_t n;
    *out_path = NULL;
    if (s->n_opened >= mica_tf_strings_count(f->names)) return NULL;
    const char *name = mica_tf_strings_get(f->names, s->n_opened++, &n);
    if (memchr(name, 0, n))
        return MICA_INVALID("[%s] the name of file %lld has a zero byte in it",
                            it->dataset->class->name, (long long)s->n_opened - 1);
    *out_path = mica_calloc(n + 1, 1);
    if (!*out_path) return MICA_NO_MEMORY();
    memcpy(*out_path, name, n);
    return NULL;
}

/* Elements of a file until it ends; then of the next. */
static mica_status next_of_files(mica_iterator *it, mica_status (*open)(mica_iterator *, char *),
                                 mica_status (*next)(mica_iterator *, mica_tf_value *, bool *),
                                 mica_tf_value *out, bool *end) {
    files_state *s = it->state;
    for (;;) {
        if (!s->records && !s->bytes) {
            char *path;
            MICA_TRY(next_path(it, &path));
            *end = !path;
            if (!path) return NULL;
            mica_status status = open(it, path);
            mica_free(path);
            if (status) {
                leave_file(s);
                return status;
            }
        }
        bool is_over = false;
        mica_status status = next(it, out, &is_over);
        if (status || is_over) leave_file(s);
        if (status || !is_over) return status;
    }
}

/* ---- records ----------------------------------------------------------------------------------*/

static mica_status open_records(mica_iterator *it, char *path) {
    const files_dataset *f = (const files_dataset *)it->dataset;
    files_state *s = it->state;
    return mica_record_reader_open(path, f->compression, f->buffer_size, &s->records);
}

static mica_status next_record(mica_iterator *it, mica_tf_value *out, bool *end) {
    const uint8_t *bytes;
    size_t n;
    MICA_TRY(mica_record_reader_next(((files_state *)it->state)->records, &bytes, &n, end));
    return *end ? NULL : make_string(bytes, n, out);
}

static mica_status records_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    return next_of_files(it, open_records, next_record, out, end);
}

/* ---- lines ------------------------------------------------------------------------------------*/

static mica_status open_bytes(mica_iterator *it, char *path) {
    const files_dataset *f = (const files_dataset *)it->dataset;
    files_state *s = it->state;
    return mica_file_reader_open(path, f->compression, f->buffer_size, &s->bytes);
}

static mica_status next_line(mica_iterator *it, mica_tf_value *out, bool *end) {
    const uint8_t *bytes;
    size_t n;
    MICA_TRY(mica_file_reader_line(((files_state *)it->state)->bytes, &bytes, &n, end));
    return *end ? NULL : make_string(bytes, n, out);
}

static mica_status lines_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    return next_of_files(it, open_bytes, next_line, out, end);
}

/* ---- pieces -----------------------------------------------------------------------------------*/

static mica_status does_not_divide(const mica_iterator *it) {
    const files_dataset *f = (const files_dataset *)it->dataset;
    const files_state *s = it->state;
    size_t n;
    const char *name = mica_tf_strings_get(f->names, s->n_opened - 1, &n);
    return MICA_INVALID(
        "[%s] Excluding the header (%lld bytes) and footer (%lld bytes), input file "
        "\"%.*s\" has a body that is no exact multiple of the record length (%lld "
        "bytes): it ends after %llu bytes",
        it->dataset->class->name, (long long)f->header, (long long)f->footer,
        (int)(n < 400 ? n : 400), name, (long long)f->record,
        (unsigned long long)mica_file_reader_offset(s->bytes));
}

/* As many bytes as a footer has are always taken ahead: the last of them are the footer. */
static mica_status open_pieces(mica_iterator *it, char *path) {
    const files_dataset *f = (const files_dataset *)it->dataset;
    files_state *s = it->state;
    const uint8_t *bytes;
    size_t n;
    MICA_TRY(open_bytes(it, path));
    MICA_TRY(mica_file_reader_skip(s->bytes, (uint64_t)f->header));
    MICA_TRY(mica_file_reader_take(s->bytes, (size_t)f->footer, &bytes, &n));
    if (n < (size_t)f->footer || mica_file_reader_offset(s->bytes) < (uint64_t)f->header)
        return does_not_divide(it);
    memcpy(s->kept, bytes, n);
    return NULL;
}

static mica_status next_piece(mica_iterator *it, mica_tf_value *out, bool *end) {
    const files_dataset *f = (const files_dataset *)it->dataset;
    files_state *s = it->state;
    const uint8_t *bytes;
    size_t n;
    MICA_TRY(mica_file_reader_take(s->bytes, (size_t)f->record, &bytes, &n));
    *end = n == 0;
    if (n == 0) return NULL;
    if (n < (size_t)f->record) return does_not_divide(it);
    memcpy(s->kept + f->footer, bytes, n);
    MICA_TRY(make_string(s->kept, n, out));
    memmove(s->kept, s->kept + f->record, (size_t)f->footer);
    return NULL;
}

static mica_status pieces_next(mica_iterator *it, mica_tf_value *out, bool *end) {
    return next_of_files(it, open_pieces, next_piece, out, end);
}

/* ---- saving -----------------------------------------------------------------------------------*/

/* The bytes that were taken of the present file are passed over again. */
static mica_status archive_place(mica_iterator *it, mica_archive *a,
                                 mica_status (*open)(mica_iterator *, char *)) {
    files_state *s = it->state;
    int64_t offset = 0, n_opened = s->n_opened;
    bool is_open = s->records || s->bytes;
    if (s->records) offset = (int64_t)mica_record_reader_offset(s->records);
    if (s->bytes) offset = (int64_t)mica_file_reader_offset(s->bytes);
    int64_t n_files = mica_tf_strings_count(((const files_dataset *)it->dataset)->names);
    MICA_TRY(mica_archive_bool(a, &is_open));
    MICA_TRY(mica_archive_int(a, &n_opened, is_open, n_files));
    MICA_TRY(mica_archive_int(a, &offset, 0, INT64_MAX));
    if (a->is_saving) return NULL;
    s->n_opened = n_opened - is_open;
    if (!is_open) return NULL;
    char *path;
    MICA_TRY(next_path(it, &path));
    mica_status status = open(it, path);
    mica_free(path);
    if (status) return status;
    if (s->records) return mica_record_reader_skip(s->records, (uint64_t)offset);
    int64_t before = (int64_t)mica_file_reader_offset(s->bytes);
    if (offset < before) return NULL;
    return mica_file_reader_skip(s->bytes, (uint64_t)(offset - before));
}

static mica_status records_archive(mica_iterator *it, mica_archive *a) {
    return archive_place(it, a, open_records);
}

static mica_status lines_archive(mica_iterator *it, mica_archive *a) {
    return archive_place(it, a, open_bytes);
}

/* And the bytes that were taken ahead. */
static mica_status pieces_archive(mica_iterator *it, mica_archive *a) {
    const files_dataset *f = (const files_dataset *)it->dataset;
    files_state *s = it->state;
    MICA_TRY(archive_place(it, a, open_pieces));
    if (!s->bytes || f->footer == 0) return NULL;
    return mica_archive_bytes(a, s->kept, (size_t)f->footer);
}

/* ---- datasets ---------------------------------------------------------------------------------*/

#define FILES_CLASS(text, kind)                                                                    \
    {                                                                                              \
        .name = text, .bytes = sizeof(files_dataset), .state_bytes = sizeof(files_state),          \
        .destroy = files_destroy, .open = files_open, .next = kind##_next, .close = files_close,   \
        .archive = kind##_archive                                                                  \
    }
static const mica_dataset_class classes[] = {
    [MICA_DATASET_RECORDS] = FILES_CLASS("TFRecordDataset", records),
    [MICA_DATASET_LINES] = FILES_CLASS("TextLineDataset", lines),
    [MICA_DATASET_PIECES] = FILES_CLASS("FixedLengthRecordDataset", pieces),
};

static mica_status check(const mica_dataset_class *class, const mica_dataset_files *files) {
    static const int64_t most = INT64_C(1) << 40;
    if (files->names.dtype != MICA_TF_string)
        return MICA_INVALID("[%s] the names of files are strings", class->name);
    if (files->kind != MICA_DATASET_PIECES) return NULL;
    if (files->record <= 0 || files->record > most)
        return MICA_INVALID("[%s] `record_bytes` must be > 0, not %lld", class->name,
                            (long long)files->record);
    if (files->header < 0 || files->footer < 0 || files->footer > most)
        return MICA_INVALID(
            "[%s] `header_bytes` and `footer_bytes` must be >= 0, not %lld and %lld", class->name,
            (long long)files->header, (long long)files->footer);
    return NULL;
}

mica_status mica_dataset_of_files(const mica_dataset_files *files, mica_dataset **out_dataset) {
    MICA_GIVEN(files, out_dataset);
    *out_dataset = NULL;
    if (files->size < sizeof *files)
        return MICA_INVALID("[files] the size is %zu bytes, not %zu", files->size, sizeof *files);
    if ((uint32_t)files->kind > MICA_DATASET_PIECES)
        return MICA_INVALID("[files] %d is no kind of dataset", (int)files->kind);
    MICA_GIVEN(files->names.object);
    const mica_dataset_class *class = &classes[files->kind];
    MICA_TRY(check(class, files));
    char *compression = mica_strdup(files->compression ? files->compression : "");
    if (!compression) return MICA_NO_MEMORY();
    mica_status status = mica_dataset_make(class, NULL, 0, 1, out_dataset);
    if (status) {
        mica_free(compression);
        return status;
    }
    files_dataset *f = (files_dataset *)*out_dataset;
    mica_tf_value_retain(files->names);
    f->names = files->names;
    f->compression = compression;
    f->buffer_size = files->buffer_size > 0 ? (size_t)files->buffer_size : 0;
    if (files->kind == MICA_DATASET_PIECES) {
        f->header = files->header;
        f->record = files->record;
        f->footer = files->footer;
    }
    return NULL;
}
