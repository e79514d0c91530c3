/* Saving a model that was loaded: the file that it came from, and new values beside it. */
#include <string.h>

#include "base/memory.h"
#include "io/saved_model.h"

/* What belongs to a model; other entries of an old folder stay. A fingerprint holds sums of the
 * stored values: there is none for new ones. */
static const char *const entries[] = {"saved_model.pb", "variables", "assets", "assets.extra",
                                      "fingerprint.pb"};

/* ---- values -----------------------------------------------------------------------------------*/

typedef struct saving {
    const mica_saved_model *model;
    mica_bundle_writer *writer;
    mica_arena arena;
    mica_tf_value (*tables)[2]; /* of each table, once it was read: keys and values */
    uint8_t *is_saved;          /* for each resource */
} saving;

static mica_status add_tensor(saving *s, const char *key, mica_tf_value value) {
    const mica_type *type = mica_tensor_type(value.object);
    void *data = NULL;
    MICA_TRY(mica_tensor_open_view(value.object, MICA_READ, &data));
    mica_status status =
        mica_bundle_writer_add(s->writer, key, value.dtype, (mica_ints){type->dims, type->rank},
                               data, mica_type_bytes(type));
    return mica_status_join(status, mica_tensor_close_view(value.object));
}

static mica_status add_value(saving *s, const char *key, mica_tf_value value) {
    if (value.dtype == MICA_TF_string) return mica_bundle_writer_add_strings(s->writer, key, value);
    if (mica_tf_dtype_core(value.dtype) == MICA_DTYPE_COUNT)
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[saved_model] '%s' holds a %s, which has no form in "
                          "files",
                          key, mica_tf_dtype_name(value.dtype));
    return add_tensor(s, key, value);
}

static mica_status add_variable(saving *s, const char *key, int32_t i) {
    mica_tf_value value;
    MICA_TRY(mica_tf_variable_read(s->model->resources[i], &value));
    mica_status status = add_value(s, key, value);
    mica_tf_value_release(value);
    return status;
}

/* Keys and values are of one moment. */
static mica_status add_table(saving *s, const char *key, io_stored from) {
    const mica_saved_model *m = s->model;
    mica_tf_value *both = s->tables[from.resource - m->n_variables];
    int32_t n;
    if (!both[0].object) {
        mica_tf_attr attrs[2] = {
            {.as.integer = m->table_dtypes[from.resource - m->n_variables][0]},
            {.as.integer = m->table_dtypes[from.resource - m->n_variables][1]}};
        MICA_TRY(mica_tf_eager(m->device, MICA_TF_LookupTableExportV2, attrs,
                               &m->resources[from.resource], 1, both, 2, &n, NULL));
    }
    return add_value(s, key, both[from.part]);
}

/* A stored value that nothing was restored from: the graph of objects, what a saver has left. */
static mica_status add_stored(saving *s, int64_t i) {
    mica_bundle *bundle = s->model->bundle;
    const mica_bundle_entry *entry = mica_bundle_entry_at(bundle, i);
    if (entry->dtype == MICA_TF_string) {
        mica_tf_value strings;
        MICA_TRY(mica_bundle_read_strings(bundle, i, &strings));
        mica_status status = mica_bundle_writer_add_strings(s->writer, entry->key, strings);
        mica_tf_value_release(strings);
        return status;
    }
    void *bytes = NULL;
    bool is_readable = !entry->is_sliced && mica_tf_dtype_core(entry->dtype) != MICA_DTYPE_COUNT;
    if (is_readable && !(bytes = mica_alloc((size_t)entry->size + 1))) return MICA_NO_MEMORY();
    mica_status status = mica_bundle_read(bundle, i, bytes); /* which says what it cannot read */
    if (!status)
        status = mica_bundle_writer_add(s->writer, entry->key, entry->dtype,
                                        (mica_ints){entry->dims, entry->rank}, bytes,
                                        (size_t)entry->size);
    mica_free(bytes);
    return status;
}

static mica_status add_entry(saving *s, int64_t i) {
    const mica_saved_model *m = s->model;
    const mica_bundle_entry *entry = mica_bundle_entry_at(m->bundle, i);
    io_stored from = m->stored[i];
    if (strlen(entry->key) != entry->key_length)
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[saved_model] %s: the stored value '%s' has a name "
                          "with a zero in it",
                          m->path, entry->key);
    if (from.resource < 0) return add_stored(s, i);
    s->is_saved[from.resource] = 1;
    if (from.resource < m->n_variables) return add_variable(s, entry->key, from.resource);
    return add_table(s, entry->key, from);
}

/* Whether a variable holds another value than it has after loading. */
static bool is_changed(const mica_saved_model *m, int32_t i) {
    mica_tf_value value = {0};
    if (!mica_tf_variable_is_set(m->resources[i])) return false;
    mica_status_release(mica_tf_variable_read(m->resources[i], &value));
    bool is_same = value.object && value.object == m->initial[i].object;
    mica_tf_value_release(value);
    return !is_same;
}

static mica_status add_all(saving *s) {
    const mica_saved_model *m = s->model;
    size_t n_tables = (size_t)(m->n_resources - m->n_variables);
    s->is_saved = mica_arena_alloc(&s->arena, (size_t)m->n_resources + 1);
    s->tables = mica_arena_alloc(&s->arena, n_tables * sizeof *s->tables);
    if (!s->is_saved || !s->tables) return MICA_NO_MEMORY();
    for (int64_t i = 0; i < mica_bundle_count(m->bundle); i++) MICA_TRY(add_entry(s, i));
    for (int32_t i = 0; i < m->n_variables; i++)
        if (!s->is_saved[i] && is_changed(m, i))
            return MICA_ERROR(MICA_UNSUPPORTED,
                              "[saved_model] %s has no place for the value of the variable '%s'",
                              m->path, mica_tf_variable_name(m->resources[i]));
    return mica_bundle_writer_finish(s->writer);
}

static mica_status write_values(const mica_saved_model *m, const char *prefix) {
    saving s = {.model = m};
    mica_arena_init(&s.arena);
    mica_status status = mica_bundle_writer_create(prefix, &s.writer);
    if (!status) status = add_all(&s);
    for (int32_t i = 0; s.tables && i < m->n_resources - m->n_variables; i++) {
        mica_tf_value_release(s.tables[i][0]);
        mica_tf_value_release(s.tables[i][1]);
    }
    mica_bundle_writer_release(s.writer);
    mica_arena_deinit(&s.arena);
    return status;
}

/* ---- the folder -------------------------------------------------------------------------------*/

static char *join(mica_arena *arena, const char *folder, const char *name) {
    size_t n = strlen(folder), length = strlen(name) + 1;
    char *path = mica_arena_alloc(arena, n + 1 + length);
    if (!path) return NULL;
    memcpy(path, folder, n);
    path[n] = '/';
    memcpy(path + n + 1, name, length);
    return path;
}

/* Whether the folder that the model was loaded from has this model still. */
static mica_status check_unchanged(const mica_saved_model *m) {
    uint8_t *bytes;
    size_t size;
    MICA_TRY(mica_file_read(m->path, &bytes, &size));
    bool is_same = size == m->size && !memcmp(bytes, m->bytes, size);
    mica_free(bytes);
    if (is_same) return NULL;
    return MICA_ERROR(MICA_FAILED_PRECONDITION,
                      "[saved_model] another model has taken the place of %s since it was loaded: "
                      "its assets are gone",
                      m->folder);
}

static mica_status copy_assets(const mica_saved_model *m, const char *to) {
    static const char *const names[] = {"assets", "assets.extra"};
    for (int i = 0; i < 2; i++) {
        if (!mica_folder_has(m->folder, names[i])) continue;
        MICA_TRY(check_unchanged(m));
        MICA_TRY(mica_folder_copy(m->folder, names[i], to));
    }
    if (io_count_parts(m->meta, 6) > 0 && !mica_folder_has(to, names[0]))
        return MICA_ERROR(MICA_NOT_FOUND, "[saved_model] %s has no assets any more", m->folder);
    return NULL;
}

static mica_status write_file(const mica_saved_model *m, const char *path) {
    mica_file *file;
    MICA_TRY(mica_file_create_new(path, &file));
    mica_status status = mica_file_append(file, m->bytes, m->size);
    if (!status) return mica_file_close(file);
    mica_file_discard(file);
    return status;
}

static mica_status write_model(const mica_saved_model *m, mica_folder_writer *writer,
                               mica_arena *arena) {
    const char *folder = mica_folder_writer_path(writer);
    char *file = join(arena, folder, entries[0]), *variables = join(arena, folder, entries[1]);
    char *prefix = variables ? join(arena, variables, "variables") : NULL;
    if (!file || !variables || !prefix) return MICA_NO_MEMORY();
    MICA_TRY(write_file(m, file));
    MICA_TRY(copy_assets(m, folder));
    if (m->bundle || m->n_variables) {
        MICA_TRY(mica_folder_create(variables));
        MICA_TRY(write_values(m, prefix));
    }
    return mica_folder_writer_finish(writer);
}

static void note(void *context, const char *name) {
    (void)name;
    *(bool *)context = true;
}

mica_status mica_saved_model_save(const mica_saved_model *m, const char *folder,
                                  const mica_saved_model_save_options *options) {
    bool is_taken = false;
    mica_arena arena;
    mica_folder_writer *writer = NULL;
    MICA_GIVEN(m, folder);
    if (options && options->size < sizeof *options)
        return MICA_INVALID("[saved_model] size of the options is %zu, expected %zu", options->size,
                            sizeof *options);
    if (options && options->is_new) mica_folder_visit(folder, note, &is_taken);
    if (is_taken)
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[saved_model] %s has something in it already",
                          folder);
    mica_arena_init(&arena);
    mica_status status =
        mica_folder_writer_create(folder, entries, sizeof entries / sizeof *entries, &writer);
    if (!status) status = write_model(m, writer, &arena);
    mica_folder_writer_release(writer);
    mica_arena_deinit(&arena);
    return status;
}
