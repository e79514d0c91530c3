#include "io/saved_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static mica_status damaged(const mica_saved_model *m, const char *what) {
    return MICA_ERROR(MICA_DATA_LOSS, "[saved_model] %s: %s", m->path, what);
}

static const char *text_of(mica_saved_model *m, io_range range) {
    char *text = mica_arena_alloc(&m->arena, range.n + 1);
    if (text && range.n) memcpy(text, range.data, range.n);
    return text;
}

/* ---- signatures -------------------------------------------------------------------------------*/

static int compare_feeds(const void *a, const void *b) {
    return strcmp(((const io_feed *)a)->name, ((const io_feed *)b)->name);
}

/* TensorInfo. Without a name it is a tensor of several parts, which a run says. */
static mica_status read_tensor(mica_saved_model *m, io_range entry, io_feed *out) {
    io_range key, info, shape;
    io_find_part(entry, 1, &key);
    io_find_part(entry, 2, &info);
    io_find_part(info, 1, &out->tensor);
    uint64_t dtype = io_find_number(info, 2);
    out->dtype = dtype < 128 ? (mica_tf_dtype)dtype : MICA_TF_no_dtype;
    out->shape.rank = -1;
    if (io_find_part(info, 3, &shape)) MICA_TRY(io_read_shape(shape, &out->shape));
    out->name = text_of(m, key);
    return out->name ? NULL : MICA_NO_MEMORY();
}

/* A map from names to tensors, in the order of the names. */
static mica_status read_tensors(mica_saved_model *m, io_range message, uint64_t number,
                                io_feed **out_feeds, const mica_signature_tensor **out_about,
                                int32_t *out_n) {
    int64_t n = io_count_parts(message, number), i = 0;
    if (n < 0 || n > 1 << 20) return damaged(m, "a signature is cut off");
    io_feed *feeds = mica_arena_alloc(&m->arena, (size_t)n * sizeof *feeds);
    mica_signature_tensor *about = mica_arena_alloc(&m->arena, (size_t)n * sizeof *about);
    if (!feeds || !about) return MICA_NO_MEMORY();
    io_field field;
    while (io_take_field(&message, &field))
        if (field.number == number && field.wire == IO_LENGTH)
            MICA_TRY(read_tensor(m, field.part, &feeds[i++]));
    if (n) qsort(feeds, (size_t)n, sizeof *feeds, compare_feeds);
    for (i = 0; i < n; i++) {
        if (i && !strcmp(feeds[i].name, feeds[i - 1].name))
            return damaged(m, "a signature has two tensors of one name");
        about[i] = (mica_signature_tensor){feeds[i].name, feeds[i].dtype, feeds[i].shape};
    }
    *out_feeds = feeds;
    *out_about = about;
    *out_n = (int32_t)n;
    return NULL;
}

static mica_status read_signature(mica_saved_model *m, io_range name, io_range message,
                                  io_signature *s) {
    io_feed *outputs;
    MICA_TRY(read_tensors(m, message, 1, &s->feeds, &s->about.inputs, &s->about.n_inputs));
    MICA_TRY(read_tensors(m, message, 2, &outputs, &s->about.outputs, &s->about.n_outputs));
    s->fetches = mica_arena_alloc(&m->arena, (size_t)s->about.n_outputs * sizeof *s->fetches);
    s->about.name = text_of(m, name);
    if (!s->fetches || !s->about.name) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < s->about.n_outputs; i++) s->fetches[i] = outputs[i].tensor;
    return NULL;
}

static mica_status read_signatures(mica_saved_model *m, io_range meta) {
    int64_t n = io_count_parts(meta, 5);
    if (n < 0 || n > 1 << 20) return damaged(m, "its signatures are cut off");
    m->signatures = mica_arena_alloc(&m->arena, (size_t)n * sizeof *m->signatures);
    if (!m->signatures) return MICA_NO_MEMORY();
    io_field field;
    while (io_take_field(&meta, &field)) {
        io_range name, message;
        if (field.number != 5 || field.wire != IO_LENGTH) continue;
        io_find_part(field.part, 1, &name);
        io_find_part(field.part, 2, &message);
        if (name.n > 2 && !memcmp(name.data, "__", 2)) continue; /* not for callers */
        MICA_TRY(read_signature(m, name, message, &m->signatures[m->n_signatures++]));
    }
    return NULL;
}

/* ---- variables --------------------------------------------------------------------------------*/

static mica_status create_variable(mica_saved_model *m, int32_t i) {
    const io_node *node = &m->def.graph.nodes[i];
    mica_tf_attr dtype, shape;
    io_range value, name = node->name, shared;
    if (!io_node_attr(node, "dtype", &value)) return damaged(m, "a variable has no dtype");
    MICA_TRY(io_read_attr(&m->library.values, &m->arena, value, MICA_TF_TYPE, &dtype));
    if (dtype.as.integer <= 0 || dtype.as.integer > 127 ||
        !mica_tf_dtype_name((mica_tf_dtype)dtype.as.integer))
        return damaged(m, "a variable has an unknown dtype");
    if (!io_node_attr(node, "shape", &value)) return damaged(m, "a variable has no shape");
    MICA_TRY(io_read_attr(&m->library.values, &m->arena, value, MICA_TF_SHAPE, &shape));
    if (io_node_attr(node, "shared_name", &value) && io_find_part(value, 2, &shared) && shared.n)
        name = shared;
    m->facts[i] = (io_fact){io_is_reference(node) ? IO_REFERENCE : IO_VARIABLE,
                            (mica_tf_dtype)dtype.as.integer, shape.as.shapes[0]};
    m->numbers[i] = m->n_resources;
    const char *text = text_of(m, name);
    if (!text) return MICA_NO_MEMORY();
    MICA_TRY(mica_tf_variable_create(text, m->facts[i].dtype, &m->facts[i].shape,
                                     &m->resources[m->n_resources]));
    m->n_resources++;
    return NULL;
}

static bool is_table(const io_node *node) {
    return io_is(node->op, "HashTableV2") || io_is(node->op, "MutableHashTableV2");
}

static mica_status create_table(mica_saved_model *m, int32_t i) {
    const io_node *node = &m->def.graph.nodes[i];
    mica_tf_attr attrs[2];
    io_range value;
    int32_t n;
    static const char *const names[] = {"key_dtype", "value_dtype"};
    for (int32_t k = 0; k < 2; k++) {
        if (!io_node_attr(node, names[k], &value)) return damaged(m, "a table has no dtypes");
        MICA_TRY(io_read_attr(&m->library.values, &m->arena, value, MICA_TF_TYPE, &attrs[k]));
        if (attrs[k].as.integer <= 0 || attrs[k].as.integer > 127 ||
            !mica_tf_dtype_name((mica_tf_dtype)attrs[k].as.integer))
            return damaged(m, "a table has an unknown dtype");
    }
    MICA_TRY(mica_tf_eager(m->device, MICA_TF_AnonymousMutableHashTable, attrs, NULL, 0,
                           &m->resources[m->n_resources], 1, &n, NULL));
    mica_tf_dtype *dtypes = m->table_dtypes[m->n_resources - m->n_variables];
    for (int32_t k = 0; k < 2; k++) dtypes[k] = (mica_tf_dtype)attrs[k].as.integer;
    m->facts[i].kind = IO_RESOURCE;
    m->numbers[i] = m->n_resources++;
    return NULL;
}

/* A copy of what is no copy itself. */
static bool is_copy(const mica_saved_model *m, int32_t i) {
    int32_t of = m->same_as[i];
    if (of < 0 || m->same_as[of] >= 0) return false;
    const io_node *a = &m->def.graph.nodes[i], *b = &m->def.graph.nodes[of];
    io_range dtype[2] = {{0}}, shape[2] = {{0}};
    (void)io_node_attr(a, "dtype", &dtype[0]), (void)io_node_attr(b, "dtype", &dtype[1]);
    (void)io_node_attr(a, "shape", &shape[0]), (void)io_node_attr(b, "shape", &shape[1]);
    return io_is(a->op, "VarHandleOp") && io_is(b->op, "VarHandleOp") &&
           io_same(dtype[0], dtype[1]) && io_same(shape[0], shape[1]);
}

static mica_status create_resources(mica_saved_model *m) {
    int32_t n_nodes = m->def.graph.n_nodes;
    size_t n = (size_t)n_nodes;
    m->resources = mica_arena_alloc(&m->arena, n * sizeof *m->resources);
    m->numbers = mica_arena_alloc(&m->arena, n * sizeof *m->numbers);
    m->facts = mica_arena_alloc(&m->arena, n * sizeof *m->facts);
    m->initial = mica_arena_alloc(&m->arena, n * sizeof *m->initial);
    if (!m->resources || !m->numbers || !m->facts || !m->initial) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n_nodes; i++) {
        m->numbers[i] = -1;
        if (io_is_variable(&m->def.graph.nodes[i]) && !is_copy(m, i))
            MICA_TRY(create_variable(m, i));
    }
    for (int32_t i = 0; i < n_nodes; i++)
        if (is_copy(m, i)) {
            m->numbers[i] = m->numbers[m->same_as[i]];
            m->facts[i] = m->facts[m->same_as[i]];
        }
    m->n_variables = m->n_resources;
    m->table_dtypes =
        mica_arena_alloc(&m->arena, (n - (size_t)m->n_variables) * sizeof *m->table_dtypes);
    if (!m->table_dtypes) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n_nodes; i++)
        if (is_table(&m->def.graph.nodes[i])) MICA_TRY(create_table(m, i));
    return NULL;
}

static mica_status read_entry(const mica_saved_model *m, int64_t i, mica_tf_value *out_value) {
    const mica_bundle_entry *entry = mica_bundle_entry_at(m->bundle, i);
    if (entry->dtype == MICA_TF_string) return mica_bundle_read_strings(m->bundle, i, out_value);
    mica_dtype core = mica_tf_dtype_core(entry->dtype);
    if (entry->is_sliced || core == MICA_DTYPE_COUNT)
        return MICA_ERROR(MICA_UNSUPPORTED, "[saved_model] '%s' of the variables cannot be read",
                          entry->key);
    mica_type type = mica_type_make(core, (mica_ints){entry->dims, entry->rank});
    mica_tensor *tensor;
    void *data;
    MICA_TRY(mica_tensor_create(m->device, &type, &tensor));
    mica_status status = mica_tensor_open_view(tensor, MICA_WRITE, &data);
    if (!status) {
        status = mica_bundle_read(m->bundle, i, data);
        status = mica_status_join(status, mica_tensor_close_view(tensor));
    }
    if (status)
        mica_tensor_release(tensor);
    else
        *out_value = mica_tf_value_of(tensor);
    return status;
}

/* The value of a source, which the caller releases. `name` is of what gets it. */
static mica_status read_source(mica_saved_model *m, const io_source *source, const char *name,
                               io_stored to, mica_tf_value *out_value) {
    if (!source->key) {
        mica_tf_value_retain(source->value);
        *out_value = source->value;
        return NULL;
    }
    int64_t i = m->bundle ? mica_bundle_find(m->bundle, source->key, source->length) : -1;
    if (i < 0)
        return MICA_ERROR(MICA_NOT_FOUND,
                          "[saved_model] '%s' of %s is not among the stored values: '%s' is "
                          "missing",
                          name, m->path, source->key);
    m->stored[i] = to;
    return read_entry(m, i, out_value);
}

static mica_status named(const mica_saved_model *m, const char *name, mica_status status) {
    if (!status) return NULL;
    mica_status with_name = MICA_ERROR(mica_status_code(status), "[saved_model] '%s' of %s: %s",
                                       name, m->path, mica_status_message(status));
    mica_status_release(status);
    return with_name;
}

static mica_status restore_variable(mica_saved_model *m, int32_t i, const io_source *source) {
    const char *name = mica_tf_variable_name(m->resources[i]);
    mica_tf_value value = {MICA_TF_no_dtype, NULL};
    MICA_TRY(read_source(m, source, name, (io_stored){i, 0}, &value));
    mica_status status = mica_tf_variable_assign(m->resources[i], value);
    mica_tf_value_release(m->initial[i]);
    m->initial[i] = source->key ? (mica_tf_value){0} : value;
    if (source->key) mica_tf_value_release(value);
    return named(m, name, status);
}

static mica_status fill_table(mica_saved_model *m, int32_t i, const char *name,
                              const io_source *sources) {
    mica_tf_value nothing, operands[3] = {m->resources[i], {0}, {0}};
    int32_t n;
    mica_status status = read_source(m, &sources[0], name, (io_stored){i, 0}, &operands[1]);
    if (!status) status = read_source(m, &sources[1], name, (io_stored){i, 1}, &operands[2]);
    if (!status)
        status = mica_tf_eager(m->device, MICA_TF_LookupTableInsertV2, (mica_tf_attr[2]){{0}},
                               operands, 3, &nothing, 0, &n, NULL);
    mica_tf_value_release(operands[1]);
    mica_tf_value_release(operands[2]);
    return named(m, name, status);
}

static mica_status restore_resource(void *context, int32_t node, const io_source *sources,
                                    int32_t n) {
    mica_saved_model *m = context;
    int32_t i = m->numbers[node];
    if (n == 1 && sources[0].key && is_copy(m, node)) { /* it has its value from the other */
        int64_t entry = mica_bundle_find(m->bundle, sources[0].key, sources[0].length);
        if (entry >= 0) m->stored[entry].resource = i;
        return NULL;
    }
    if (i < 0 || (i < m->n_variables) != (n == 1))
        return damaged(m, "what is restored is no variable, or no table");
    if (n == 1) return restore_variable(m, i, &sources[0]);
    const char *name = text_of(m, m->def.graph.nodes[node].name);
    return name ? fill_table(m, i, name, sources) : MICA_NO_MEMORY();
}

/* ---- assets -----------------------------------------------------------------------------------*/

/* Of AssetFileDef: the file of the asset that the tensor of this node names. */
static bool is_asset_of(io_range asset, io_range node, io_range *out_file) {
    io_range info, name;
    io_find_part(asset, 1, &info);
    io_find_part(info, 1, &name);
    return name.n > node.n && name.data[node.n] == ':' &&
           io_same((io_range){name.data, node.n}, node) && io_find_part(asset, 2, out_file);
}

/* The collection of this name. */
static bool find_collection(io_range meta, const char *name, io_range *out_collection) {
    io_field field;
    while (io_take_field(&meta, &field)) {
        io_range key;
        if (field.number == 4 && field.wire == IO_LENGTH && io_find_part(field.part, 1, &key) &&
            io_is(key, name))
            return io_find_part(field.part, 2, out_collection);
    }
    return false;
}

static bool find_asset_file(io_range meta, io_range node, io_range *out_file) {
    io_range collection = {NULL, 0}, list, asset;
    io_field field;
    for (io_range rest = meta; io_take_field(&rest, &field);)
        if (field.number == 6 && field.wire == IO_LENGTH && is_asset_of(field.part, node, out_file))
            return true;
    (void)find_collection(meta, "saved_model_assets", &collection);
    io_find_part(collection, 5, &list);
    while (io_take_field(&list, &field)) /* of Any */
        if (field.number == 1 && field.wire == IO_LENGTH && io_find_part(field.part, 2, &asset) &&
            is_asset_of(asset, node, out_file))
            return true;
    return false;
}

/* A path that stays below the folder that it begins in. */
static bool stays_below(io_range path) {
    size_t start = 0;
    for (size_t i = 0; i <= path.n; i++) {
        if (i < path.n && !path.data[i]) return false;
        if (i < path.n && path.data[i] != '/') continue;
        if (i == start || (i - start == 2 && !memcmp(path.data + start, "..", 2))) return false;
        start = i + 1;
    }
    return true;
}

static mica_status find_asset(void *context, const io_node *node, char **out_path) {
    const mica_saved_model *m = context;
    io_range file;
    *out_path = NULL;
    if (!find_asset_file(m->meta, node->name, &file))
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[saved_model] %s: the node '%.*s' names a file that is no asset",
                          m->path, IO_TEXT(node->name));
    if (!stays_below(file))
        return MICA_ERROR(MICA_DATA_LOSS, "[saved_model] %s: the asset '%.*s' is not in its folder",
                          m->path, IO_TEXT(file));
    mica_text path;
    mica_text_init(&path);
    mica_text_printf(&path, "%s/assets/%.*s", m->folder, (int)(file.n < 4096 ? file.n : 4096),
                     (const char *)file.data);
    return mica_text_finish(&path, out_path);
}

/* ---- restoring --------------------------------------------------------------------------------*/

/* The node that initialises: the only result of a signature of its own, or, of TensorFlow 1, the
 * node of a collection. */
static bool find_initialiser(io_range meta, io_range *out_node, bool *out_is_old) {
    static const char *const names[] = {"saved_model_main_op", "legacy_init_op"};
    io_field field;
    *out_is_old = false;
    for (io_range rest = meta; io_take_field(&rest, &field);) {
        io_range name, message, output, info;
        if (field.number == 5 && field.wire == IO_LENGTH && io_find_part(field.part, 1, &name) &&
            io_is(name, "__saved_model_init_op") && io_find_part(field.part, 2, &message) &&
            io_find_part(message, 2, &output) && io_find_part(output, 2, &info))
            return io_find_part(info, 1, out_node);
    }
    *out_is_old = true;
    for (int32_t i = 0; i < 2; i++) {
        io_range collection, nodes;
        if (find_collection(meta, names[i], &collection) && io_find_part(collection, 1, &nodes) &&
            io_find_part(nodes, 1, out_node))
            return true;
    }
    return false;
}

/* The node that restores variables. */
static bool find_restorer(io_range meta, io_range *out_node) {
    io_range saver;
    return io_find_part(meta, 3, &saver) && io_find_part(saver, 3, out_node) && out_node->n;
}

static mica_status restore_all(mica_saved_model *m) {
    io_range restore, initialiser;
    mica_status status = NULL;
    io_restoring how = {.def = &m->def,
                        .values = &m->library.values,
                        .visit = restore_resource,
                        .context = m,
                        .find_asset = find_asset};
    if (m->n_resources && find_restorer(m->meta, &restore))
        status = io_visit_restored(&how, restore);
    if (!status && m->n_resources && find_initialiser(m->meta, &initialiser, &how.takes_constants))
        status = io_visit_restored(&how, initialiser);
    return status;
}

static bool has_variables(const mica_saved_model *m) {
    for (int32_t i = 0; i < m->def.graph.n_nodes; i++)
        if (io_is_variable(&m->def.graph.nodes[i])) return true;
    return false;
}

/* A model without variables may have no stored values. */
static mica_status open_stored(mica_saved_model *m) {
    static const char rest[] = "/variables/variables";
    size_t n = strlen(m->folder);
    char *prefix = mica_arena_alloc(&m->arena, n + sizeof rest);
    if (!prefix) return MICA_NO_MEMORY();
    memcpy(prefix, m->folder, n);
    memcpy(prefix + n, rest, sizeof rest);
    mica_status status = mica_bundle_open(prefix, &m->bundle);
    if (status && mica_status_code(status) == MICA_NOT_FOUND && !has_variables(m)) {
        mica_status_release(status);
        return NULL;
    }
    if (status) return status;
    size_t n_stored = (size_t)mica_bundle_count(m->bundle);
    m->stored = mica_arena_alloc(&m->arena, n_stored * sizeof *m->stored);
    if (!m->stored) return MICA_NO_MEMORY();
    for (size_t i = 0; i < n_stored; i++) m->stored[i].resource = -1;
    return NULL;
}

static mica_status find_copies(mica_saved_model *m) {
    io_range restore;
    m->same_as = mica_arena_alloc(&m->arena, (size_t)m->def.graph.n_nodes * sizeof *m->same_as);
    if (!m->same_as) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < m->def.graph.n_nodes; i++) m->same_as[i] = -1;
    if (!find_restorer(m->meta, &restore)) return NULL;
    MICA_TRY(open_stored(m));
    return m->bundle ? io_find_copies(m, restore) : NULL;
}

/* ---- loading ----------------------------------------------------------------------------------*/

static bool has_tag(io_range info, const char *tag) {
    io_field field;
    while (io_take_field(&info, &field))
        if (field.number == 4 && field.wire == IO_LENGTH && io_is(field.part, tag)) return true;
    return false;
}

static bool has_tags(io_range meta, const mica_saved_model_options *options) {
    io_range info;
    if (!options || !options->tags) return true;
    io_find_part(meta, 1, &info);
    for (int32_t i = 0; i < options->n_tags; i++)
        if (!has_tag(info, options->tags[i])) return false;
    return io_count_parts(info, 4) == options->n_tags;
}

/* The first MetaGraphDef with the tags. */
static mica_status find_meta(const mica_saved_model *m, io_range bytes,
                             const mica_saved_model_options *options, io_range *out_meta) {
    io_field field;
    bool any = false;
    while (io_take_field(&bytes, &field)) {
        if (field.number != 2 || field.wire != IO_LENGTH) continue;
        any = true;
        if (!has_tags(field.part, options)) continue;
        *out_meta = field.part;
        return NULL;
    }
    if (bytes.n || !any) return damaged(m, "it is no SavedModel, or is cut off");
    return MICA_ERROR(MICA_NOT_FOUND, "[saved_model] %s: no graph was saved with these tags",
                      m->path);
}

static mica_status read_model(mica_saved_model *m, const mica_saved_model_options *options) {
    io_range graph, info, ops;
    MICA_TRY(mica_file_read(m->path, &m->bytes, &m->size));
    MICA_TRY(find_meta(m, (io_range){m->bytes, m->size}, options, &m->meta));
    io_find_part(m->meta, 2, &graph);
    MICA_TRY(io_graph_def_read(graph, m->path, &m->arena, &m->def));
    io_find_part(m->meta, 1, &info);
    io_find_part(info, 2, &ops);
    m->has_library = true;
    MICA_TRY(io_library_init(&m->library, &m->def, ops, m->device));
    io_find_part(m->meta, 7, &graph);
    MICA_TRY(io_object_graph_read(graph, m->path, &m->arena, &m->objects));
    m->library.objects = &m->objects;
    MICA_TRY(read_signatures(m, m->meta));
    MICA_TRY(find_copies(m));
    MICA_TRY(create_resources(m));
    return restore_all(m);
}

static mica_status load_once(const char *folder, const char *path, mica_device *device,
                             const mica_saved_model_options *options,
                             mica_saved_model **out_model) {
    mica_saved_model *m = mica_calloc(1, sizeof *m);
    if (!m) return MICA_NO_MEMORY();
    mica_refcount_init(&m->references);
    mica_arena_init(&m->arena);
    mica_device_retain(device);
    m->device = device;
    m->path = mica_arena_strdup(&m->arena, path);
    m->folder = mica_arena_strdup(&m->arena, folder);
    mica_status status = m->path && m->folder ? read_model(m, options) : MICA_NO_MEMORY();
    if (status)
        mica_saved_model_release(m);
    else
        *out_model = m;
    return status;
}

enum { MOST_TRIES = 20 };

typedef struct identity {
    uint64_t size;
    int64_t changed;
} identity;

static identity identity_of(const char *path) {
    identity found = {0};
    if (!path || !mica_file_describe(path, &found.size, &found.changed)) return (identity){0};
    return found;
}

/* Whoever saves a model again exchanges the whole folder: what was read meanwhile is read again. */
static mica_status load_unchanged(const char *folder, const char *path, mica_device *device,
                                  const mica_saved_model_options *options,
                                  mica_saved_model **out_model) {
    for (int32_t i = 0; i < MOST_TRIES; i++) {
        identity before = identity_of(path);
        mica_status status = load_once(folder, path, device, options, out_model);
        identity after = identity_of(path);
        if (before.size == after.size && before.changed == after.changed) return status;
        mica_status_release(status);
        mica_saved_model_release(*out_model);
        *out_model = NULL;
    }
    return MICA_ERROR(MICA_FAILED_PRECONDITION,
                      "[saved_model] %s was replaced %d times while it was read", folder,
                      MOST_TRIES);
}

mica_status mica_saved_model_load(const char *folder, mica_device *device,
                                  const mica_saved_model_options *options,
                                  mica_saved_model **out_model) {
    static const char rest[] = "/saved_model.pb";
    MICA_GIVEN(out_model);
    *out_model = NULL;
    if (!folder || !device) return MICA_INVALID("[saved_model] a folder and a device are needed");
    if (options && options->size < sizeof *options)
        return MICA_INVALID("[saved_model] size of the options is %zu, expected %zu", options->size,
                            sizeof *options);
    size_t n = strlen(folder);
    char *path = mica_alloc(n + sizeof rest);
    if (!path) return MICA_NO_MEMORY();
    memcpy(path, folder, n);
    memcpy(path + n, rest, sizeof rest);
    mica_status status = load_unchanged(folder, path, device, options, out_model);
    mica_free(path);
    return status;
}

void mica_saved_model_retain(mica_saved_model *m) {
    if (!m) return;
    mica_refcount_retain(&m->references);
}

void mica_saved_model_release(mica_saved_model *m) {
    if (!m || !mica_refcount_release(&m->references)) return;
    for (int32_t i = 0; i < m->n_signatures; i++) mica_tf_graph_release(m->signatures[i].graph);
    if (m->has_library) io_library_deinit(&m->library);
    for (int32_t i = 0; i < m->n_resources; i++) {
        mica_tf_value_release(m->resources[i]);
        mica_tf_value_release(m->initial[i]);
    }
    mica_bundle_release(m->bundle);
    mica_free(m->bytes);
    mica_arena_deinit(&m->arena);
    mica_device_release(m->device);
    mica_free(m);
}

/* ---- running ----------------------------------------------------------------------------------*/

int32_t mica_saved_model_signature_count(const mica_saved_model *m) {
    return m ? m->n_signatures : 0;
}

const mica_signature *mica_saved_model_signature(const mica_saved_model *m, int32_t i) {
    return m && i >= 0 && i < m->n_signatures ? &m->signatures[i].about : NULL;
}

static io_signature *find(const mica_saved_model *m, const char *name) {
    for (int32_t i = 0; m && name && i < m->n_signatures; i++)
        if (!strcmp(m->signatures[i].about.name, name)) return &m->signatures[i];
    return NULL;
}

const mica_signature *mica_saved_model_find(const mica_saved_model *m, const char *name) {
    const io_signature *s = find(m, name);
    return s ? &s->about : NULL;
}

/* The lock is held. */
static mica_status make_graph(mica_saved_model *m, io_signature *s) {
    const io_part part = {.name = s->about.name,
                          .feeds = s->feeds,
                          .fetches = s->fetches,
                          .n_feeds = s->about.n_inputs,
                          .n_fetches = s->about.n_outputs,
                          .resources = m->facts};
    for (int32_t i = 0; i < s->about.n_inputs; i++)
        if (!s->feeds[i].tensor.n || !mica_tf_dtype_name(s->feeds[i].dtype))
            return MICA_ERROR(MICA_UNSUPPORTED,
                              "[saved_model] the input '%s' of '%s' is no single tensor",
                              s->feeds[i].name, s->about.name);
    for (int32_t i = 0; i < s->about.n_outputs; i++)
        if (!s->fetches[i].n)
            return MICA_ERROR(MICA_UNSUPPORTED,
                              "[saved_model] the output '%s' of '%s' is no single tensor",
                              s->about.outputs[i].name, s->about.name);
    if (!s->captured) {
        s->captured =
            mica_arena_alloc(&m->arena, (size_t)m->def.graph.n_nodes * sizeof *s->captured);
        if (!s->captured) return MICA_NO_MEMORY();
    }
    mica_tf_graph *graph;
    MICA_TRY(io_library_part(&m->library, &part, &graph, s->captured, &s->n_captured));
    for (int32_t i = 0; i < s->n_captured; i++) s->captured[i] = m->numbers[s->captured[i]];
    s->graph = graph;
    return NULL;
}

static mica_status graph_of(mica_saved_model *m, const char *name, io_signature **out_signature) {
    io_signature *s = find(m, name);
    if (!s)
        return MICA_ERROR(MICA_NOT_FOUND, "[saved_model] %s has no signature '%s'", m->path,
                          name ? name : "(null)");
    mica_mutex_lock(&m->lock);
    mica_status status = s->graph ? NULL : make_graph(m, s);
    mica_mutex_unlock(&m->lock);
    *out_signature = s;
    return status;
}

mica_status mica_saved_model_graph(mica_saved_model *m, const char *name, mica_tf_graph **out_graph,
                                   int32_t *out_captured, int32_t *out_n_captured) {
    io_signature *s;
    MICA_GIVEN(m, out_graph);
    *out_graph = NULL;
    MICA_TRY(graph_of(m, name, &s));
    mica_tf_graph_retain(s->graph);
    *out_graph = s->graph;
    for (int32_t i = 0; out_captured && i < s->n_captured; i++) out_captured[i] = s->captured[i];
    if (out_n_captured) *out_n_captured = s->n_captured;
    return NULL;
}

static bool fits(const mica_tf_shape *given, const mica_tf_shape *wanted) {
    if (wanted->rank < 0) return true;
    if (given->rank != wanted->rank) return false;
    for (int32_t i = 0; i < given->rank; i++)
        if (wanted->dims[i] >= 0 && given->dims[i] != wanted->dims[i]) return false;
    return true;
}

static mica_status check_input(const io_signature *s, int32_t i, mica_tf_value value) {
    const mica_signature_tensor *wanted = &s->about.inputs[i];
    mica_tf_shape shape;
    if (!value.object)
        return MICA_INVALID("[saved_model] the input '%s' of '%s' has no value", wanted->name,
                            s->about.name);
    if (value.dtype != wanted->dtype)
        return MICA_INVALID("[saved_model] the input '%s' of '%s' is %s, given %s", wanted->name,
                            s->about.name, mica_tf_dtype_name(wanted->dtype),
                            mica_tf_dtype_name(value.dtype) ? mica_tf_dtype_name(value.dtype)
                                                            : "no dtype");
    mica_tf_value_shape(value, &shape);
    if (fits(&shape, &wanted->shape)) return NULL;
    return MICA_INVALID("[saved_model] the input '%s' of '%s' has the shape %s, given %s",
                        wanted->name, s->about.name, io_shape_text(&wanted->shape).chars,
                        io_shape_text(&shape).chars);
}

mica_status mica_saved_model_run(mica_saved_model *m, const char *name, const mica_tf_value *inputs,
                                 int32_t n_inputs, mica_tf_value *out_outputs, int32_t n_outputs) {
    io_signature *s;
    MICA_GIVEN(m, MICA_MANY(inputs, n_inputs), MICA_MANY(out_outputs, n_outputs));
    for (int32_t i = 0; i < n_outputs; i++)
        out_outputs[i] = (mica_tf_value){MICA_TF_no_dtype, NULL};
    MICA_TRY(graph_of(m, name, &s));
    if (n_inputs != s->about.n_inputs || n_outputs != s->about.n_outputs)
        return MICA_INVALID("[saved_model] '%s' has %d inputs and %d outputs, given %d and %d",
                            name, s->about.n_inputs, s->about.n_outputs, n_inputs, n_outputs);
    for (int32_t i = 0; i < n_inputs; i++) MICA_TRY(check_input(s, i, inputs[i]));
    size_t n = (size_t)n_inputs + (size_t)s->n_captured;
    mica_tf_value *all = mica_alloc((n + 1) * sizeof *all);
    if (!all) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n_inputs; i++) all[i] = inputs[i];
    for (int32_t i = 0; i < s->n_captured; i++) all[n_inputs + i] = m->resources[s->captured[i]];
    mica_status status =
        mica_tf_graph_run(s->graph, m->device, all, (int32_t)n, out_outputs, n_outputs);
    mica_free(all);
    return status;
}

/* ---- variables --------------------------------------------------------------------------------*/

int32_t mica_saved_model_variable_count(const mica_saved_model *m) {
    return m ? m->n_variables : 0;
}

int32_t mica_saved_model_handle_count(const mica_saved_model *m) {
    return m ? m->n_resources : 0;
}

mica_tf_value mica_saved_model_variable(const mica_saved_model *m, const char *name) {
    for (int32_t i = 0; m && name && i < m->n_variables; i++)
        if (!strcmp(mica_tf_variable_name(m->resources[i]), name)) return m->resources[i];
    return (mica_tf_value){MICA_TF_no_dtype, NULL};
}

mica_tf_value mica_saved_model_handle(const mica_saved_model *m, int32_t i) {
    return m && i >= 0 && i < m->n_resources ? m->resources[i]
                                             : (mica_tf_value){MICA_TF_no_dtype, NULL};
}
