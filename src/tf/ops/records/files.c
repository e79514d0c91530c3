/* Host functions of files: whole ones, those that patterns name, datasets of what they hold. */
#include <stdlib.h>
#include <string.h>

#include "mica/data.h"
#include "mica/io.h"
#include "mica/records.h"
#include "tf/strings.h"

/* ---- operands ---------------------------------------------------------------------------------*/

mica_status mica_tf_int_input(const mica_tf_host *c, int32_t i, int64_t *out) {
    int32_t n;
    MICA_TRY(mica_tf_tensor_ints(mica_tf_tensor(c->inputs[i]), out, 1, &n));
    if (n == 1) return NULL;
    return MICA_INVALID("[%s] input %d is empty; one integer is needed", c->info->name, i);
}

mica_status mica_tf_text_input(const mica_tf_host *c, int32_t i, const char **out, size_t *out_n) {
    int64_t n = mica_tf_strings_count(c->inputs[i]);
    if (n != 1)
        return MICA_INVALID("[%s] input %d has to be one string, not %lld", c->info->name, i,
                            (long long)n);
    *out = mica_tf_strings_get(c->inputs[i], 0, out_n);
    return NULL;
}

/* A copy that is ended with 0, of a string without zeros. */
static mica_status copy_name(const mica_tf_host *c, const char *text, size_t n, char **out) {
    if (memchr(text, 0, n))
        return MICA_INVALID("[%s] the name '%.*s' has a zero byte in it", c->info->name,
                            (int)(n < 200 ? n : 200), text);
    *out = mica_calloc(n + 1, 1);
    if (!*out) return MICA_NO_MEMORY();
    memcpy(*out, text, n);
    return NULL;
}

mica_status mica_tf_name_input(const mica_tf_host *c, int32_t i, char **out) {
    const char *text;
    size_t n;
    *out = NULL;
    MICA_TRY(mica_tf_text_input(c, i, &text, &n));
    return copy_name(c, text, n, out);
}

static mica_status give_text(mica_tf_host *c, const void *bytes, size_t n) {
    const char *text = bytes;
    return mica_tf_strings_create(MICA_NO_INTS, &text, &n, &c->outputs[0]);
}

/* ---- files ------------------------------------------------------------------------------------*/

mica_status tf_host_read_file(mica_tf_host *c) {
    char *path;
    uint8_t *bytes;
    size_t n;
    MICA_TRY(mica_tf_name_input(c, 0, &path));
    mica_status status = mica_file_read(path, &bytes, &n);
    mica_free(path);
    if (status) return status;
    status = give_text(c, bytes, n);
    mica_free(bytes);
    return status;
}

static mica_status make_folder_of(char *path) {
    char *slash = strrchr(path, '/');
    if (!slash || slash == path) return NULL;
    *slash = 0;
    mica_status status = mica_folder_make(path);
    *slash = '/';
    return status;
}

mica_status tf_host_write_file(mica_tf_host *c) {
    char *path;
    const char *bytes;
    size_t n;
    MICA_TRY(mica_tf_text_input(c, 1, &bytes, &n));
    MICA_TRY(mica_tf_name_input(c, 0, &path));
    mica_status status = make_folder_of(path);
    if (!status) status = mica_file_replace(path, bytes, n);
    mica_free(path);
    return status;
}

typedef struct matches {
    char **paths;
    int64_t n, capacity;
    bool is_failed;
} matches;

static void note_path(void *context, const char *path) {
    matches *m = context;
    if (m->n == m->capacity) {
        int64_t capacity = m->capacity ? 2 * m->capacity : 16;
        char **grown = mica_realloc(m->paths, (size_t)capacity * sizeof *grown);
        m->is_failed |= !grown;
        if (!grown) return;
        m->paths = grown;
        m->capacity = capacity;
    }
    char *copy = mica_strdup(path);
    m->is_failed |= !copy;
    if (copy) m->paths[m->n++] = copy;
}

static int compare_paths(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static mica_status match_all(mica_tf_host *c, matches *m) {
    for (int64_t i = 0; i < mica_tf_strings_count(c->inputs[0]); i++) {
        size_t n;
        char *pattern = NULL;
        const char *text = mica_tf_strings_get(c->inputs[0], i, &n);
        mica_status status = copy_name(c, text, n, &pattern);
        if (!status) status = mica_file_match(pattern, note_path, m);
        mica_free(pattern);
        if (status) return status;
    }
    if (m->is_failed) return MICA_NO_MEMORY();
    if (m->n > 0) qsort(m->paths, (size_t)m->n, sizeof *m->paths, compare_paths);
    size_t *lengths = mica_calloc((size_t)m->n + 1, sizeof *lengths);
    if (!lengths) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < m->n; i++) lengths[i] = strlen(m->paths[i]);
    mica_status status = mica_tf_strings_create(MICA_INTS(m->n), (const char *const *)m->paths,
                                                lengths, &c->outputs[0]);
    mica_free(lengths);
    return status;
}

mica_status tf_host_matching_files(mica_tf_host *c) {
    matches m = {0};
    mica_status status = match_all(c, &m);
    for (int64_t i = 0; i < m.n; i++) mica_free(m.paths[i]);
    mica_free(m.paths);
    return status;
}

/* ---- tensors as messages ----------------------------------------------------------------------*/

mica_status tf_host_serialize_tensor(mica_tf_host *c) {
    uint8_t *bytes;
    size_t n;
    MICA_TRY(mica_tensor_proto_write(c->inputs[0], &bytes, &n));
    mica_status status = give_text(c, bytes, n);
    mica_free(bytes);
    return status;
}

mica_status tf_host_parse_tensor(mica_tf_host *c) {
    const char *bytes;
    size_t n;
    MICA_TRY(mica_tf_text_input(c, 0, &bytes, &n));
    mica_tf_dtype dtype = (mica_tf_dtype)mica_tf_host_attr(c, "out_type")->as.integer;
    mica_status status = mica_tensor_proto_read(c->device, bytes, n, &c->outputs[0]);
    if (mica_status_code(status) == MICA_DATA_LOSS) {
        mica_status_release(status);
        return MICA_INVALID("[ParseTensor] Could not parse `serialized` as TensorProto: it has %zu "
                            "bytes",
                            n);
    }
    if (status) return status;
    if (c->outputs[0].dtype == dtype) return NULL;
    return MICA_INVALID("[ParseTensor] Type mismatch between parsed tensor (%s) and dtype (%s)",
                        mica_tf_dtype_name(c->outputs[0].dtype), mica_tf_dtype_name(dtype));
}

/* ---- datasets ---------------------------------------------------------------------------------*/

/* The names are input 0. */
static mica_status files_dataset(mica_tf_host *c, mica_dataset_files *files, int32_t compression,
                                 int32_t buffer_size) {
    char *name;
    mica_dataset *dataset = NULL;
    files->size = sizeof *files;
    files->names = c->inputs[0];
    MICA_TRY(mica_tf_int_input(c, buffer_size, &files->buffer_size));
    MICA_TRY(mica_tf_name_input(c, compression, &name));
    files->compression = name;
    mica_status status = mica_dataset_of_files(files, &dataset);
    mica_free(name);
    if (!status) status = mica_dataset_value(dataset, &c->outputs[0]);
    mica_dataset_release(dataset);
    return status;
}

mica_status tf_host_tf_record_dataset(mica_tf_host *c) {
    return files_dataset(c, &(mica_dataset_files){.kind = MICA_DATASET_RECORDS}, 1, 2);
}

mica_status tf_host_text_line_dataset(mica_tf_host *c) {
    return files_dataset(c, &(mica_dataset_files){.kind = MICA_DATASET_LINES}, 1, 2);
}

mica_status tf_host_fixed_length_record_dataset(mica_tf_host *c) {
    mica_dataset_files files = {.kind = MICA_DATASET_PIECES};
    MICA_TRY(mica_tf_int_input(c, 1, &files.header));
    MICA_TRY(mica_tf_int_input(c, 2, &files.record));
    MICA_TRY(mica_tf_int_input(c, 3, &files.footer));
    return files_dataset(c, &files, 5, 4);
}
