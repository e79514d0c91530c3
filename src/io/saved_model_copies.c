/* Variables that a file has twice.
 *
 * Keras exports each variable as two, with a stored value each: the graph's signatures use one, the
 * objects that TensorFlow makes when it loads the model use the other. Were only the first given a
 * new value, TensorFlow would find the old one. Here both are one variable, and saving gives both
 * places its value. Which belong together is said by calls: the graph calls a function with
 * variables, and the objects of the same are the function's bound inputs. */
#include <string.h>

#include "base/memory.h"
#include "io/saved_model.h"

typedef struct search {
    mica_saved_model *model;
    int64_t *keys; /* the stored value of each object; -1: it has none */
    int32_t n_keys;
    int32_t *users; /* of each stored value: the node that a call gives as its variable; -1: none */
} search;

/* The stored value of an object, by its attribute VARIABLE_VALUE. */
static int64_t find_key(const mica_saved_model *m, io_range object) {
    io_field field;
    while (io_take_field(&object, &field)) {
        io_range name, key;
        if (field.number == 2 && field.wire == IO_LENGTH && io_find_part(field.part, 1, &name) &&
            io_is(name, "VARIABLE_VALUE") && io_find_part(field.part, 3, &key))
            return mica_bundle_find(m->bundle, (const char *)key.data, key.n);
    }
    return -1;
}

/* TrackableObjectGraph, which is among the stored values. Its objects have the numbers of those of
 * the file. */
static mica_status read_keys(search *s, mica_arena *arena) {
    static const char name[] = "_CHECKPOINTABLE_OBJECT_GRAPH";
    mica_bundle *bundle = s->model->bundle;
    int64_t i = mica_bundle_find(bundle, name, sizeof name - 1);
    mica_tf_value value;
    size_t size;
    if (i < 0 || mica_bundle_entry_at(bundle, i)->dtype != MICA_TF_string) return NULL;
    MICA_TRY(mica_bundle_read_strings(bundle, i, &value));
    const char *bytes = mica_tf_strings_get(value, 0, &size);
    io_range objects = {(const uint8_t *)bytes, mica_tf_strings_count(value) ? size : 0};
    int64_t n = io_count_parts(objects, 1);
    if (n > INT32_MAX) n = -1;
    s->keys = n > 0 ? mica_arena_alloc(arena, (size_t)n * sizeof *s->keys) : NULL;
    io_field field;
    while (s->keys && io_take_field(&objects, &field))
        if (field.number == 1 && field.wire == IO_LENGTH)
            s->keys[s->n_keys++] = find_key(s->model, field.part);
    mica_tf_value_release(value);
    return n > 0 && !s->keys ? MICA_NO_MEMORY() : NULL;
}

/* Bound inputs are a function's last. */
static void take_bound(search *s, const io_node *node, uint64_t object, int64_t i) {
    const io_function *graph = &s->model->def.graph;
    if (i < 0 || i >= node->n_inputs || object >= (uint64_t)s->n_keys || s->keys[object] < 0)
        return;
    int32_t from = io_input_node(graph, node->inputs[i]);
    if (from < 0 || !io_is(graph->nodes[from].op, "VarHandleOp")) return;
    int32_t *user = &s->users[s->keys[object]];
    *user = *user < 0 || *user == from ? from : INT32_MAX; /* two use it: it stays alone */
}

static int32_t count_tensors(const io_node *node) {
    int32_t n = 0;
    while (n < node->n_inputs && node->inputs[n].data[0] != '^') n++;
    return n;
}

static mica_status take_call(search *s, mica_arena *arena, const io_node *node) {
    io_range value, function, name;
    uint64_t *bound;
    int32_t n;
    if (!io_node_attr(node, "f", &value) || !io_find_part(value, 10, &function)) return NULL;
    io_find_part(function, 1, &name);
    MICA_TRY(io_bound_inputs(&s->model->objects, name, arena, &bound, &n));
    int64_t first = (int64_t)count_tensors(node) - n;
    for (int32_t i = 0; i < n; i++) take_bound(s, node, bound[i], first + i);
    return NULL;
}

/* What is restored to one node belongs to the node that uses the same object. */
static mica_status take_restored(void *context, int32_t node, const io_source *sources, int32_t n) {
    search *s = context;
    mica_saved_model *m = s->model;
    if (n != 1 || !sources[0].key) return NULL;
    int64_t i = mica_bundle_find(m->bundle, sources[0].key, sources[0].length);
    int32_t user = i < 0 ? -1 : s->users[i];
    if (user >= 0 && user != INT32_MAX && user != node) m->same_as[node] = user;
    return NULL;
}

/* A file is read when tables are filled, not here. */
static mica_status no_asset(void *context, const io_node *node, char **out_path) {
    const search *s = context;
    *out_path = NULL;
    return MICA_ERROR(MICA_DATA_LOSS, "[saved_model] %s: '%.*s' is restored, a text",
                      s->model->path, IO_TEXT(node->name));
}

static mica_status find(search *s, mica_arena *arena, io_range restore) {
    mica_saved_model *m = s->model;
    if (!m->objects.n_objects) return NULL;
    MICA_TRY(read_keys(s, arena));
    size_t n_stored = (size_t)mica_bundle_count(m->bundle);
    s->users = mica_arena_alloc(arena, n_stored * sizeof *s->users);
    if (!s->users) return MICA_NO_MEMORY();
    for (size_t i = 0; i < n_stored; i++) s->users[i] = -1;
    for (int32_t i = 0; i < m->def.graph.n_nodes; i++) {
        const io_node *node = &m->def.graph.nodes[i];
        if (io_is(node->op, "StatefulPartitionedCall") || io_is(node->op, "PartitionedCall"))
            MICA_TRY(take_call(s, arena, node));
    }
    const io_restoring how = {.def = &m->def,
                              .values = &m->library.values,
                              .visit = take_restored,
                              .context = s,
                              .find_asset = no_asset};
    return io_visit_restored(&how, restore);
}

mica_status io_find_copies(mica_saved_model *m, io_range restore) {
    mica_arena arena;
    search s = {.model = m};
    mica_arena_init(&arena);
    mica_status status = find(&s, &arena, restore);
    mica_arena_deinit(&arena);
    return status;
}
