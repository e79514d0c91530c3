/* Functions of a file by name, without its variables. */
#include <string.h>

#include "base/memory.h"
#include "io/graph_build.h"
#include "io/object_graph.h"
#include "mica/saved_model.h"

struct mica_function_library {
    mica_arena arena;
    mica_device *device;
    io_graph_def def;
    io_object_graph objects;
    io_library library;
    bool has_library;
};

void mica_function_library_release(mica_function_library *library) {
    if (!library) return;
    if (library->has_library) io_library_deinit(&library->library);
    mica_arena_deinit(&library->arena);
    mica_device_release(library->device);
    mica_free(library);
}

/* The first MetaGraphDef. */
static mica_status find_meta(io_range bytes, const char *path, io_range *out_meta) {
    io_field field;
    while (io_take_field(&bytes, &field)) {
        if (field.number != 2 || field.wire != IO_LENGTH) continue;
        *out_meta = field.part;
        return NULL;
    }
    return MICA_ERROR(MICA_DATA_LOSS, "[saved_model] %s: it is no SavedModel, or is cut off", path);
}

static mica_status read_library(mica_function_library *l, io_range bytes, const char *path) {
    io_range meta, graph, info, ops, objects;
    const char *kept = mica_arena_strdup(&l->arena, path);
    if (!kept) return MICA_NO_MEMORY();
    MICA_TRY(find_meta(bytes, kept, &meta));
    io_find_part(meta, 2, &graph);
    io_find_part(meta, 1, &info);
    io_find_part(info, 2, &ops);
    io_find_part(meta, 7, &objects);
    MICA_TRY(io_graph_def_read(graph, kept, &l->arena, &l->def));
    l->has_library = true;
    MICA_TRY(io_library_init(&l->library, &l->def, ops, l->device));
    MICA_TRY(io_object_graph_read(objects, kept, &l->arena, &l->objects));
    l->library.objects = &l->objects;
    return NULL;
}

mica_status mica_function_library_create(const void *bytes, size_t n, const char *path,
                                         mica_device *device, mica_function_library **out_library) {
    MICA_GIVEN(MICA_MANY(bytes, n), path, device, out_library);
    *out_library = NULL;
    mica_function_library *l = mica_calloc(1, sizeof *l);
    if (!l) return MICA_NO_MEMORY();
    mica_arena_init(&l->arena);
    mica_device_retain(device);
    l->device = device;
    mica_status status = read_library(l, (io_range){bytes, n}, path);
    if (status)
        mica_function_library_release(l);
    else
        *out_library = l;
    return status;
}

mica_status mica_function_library_graph(mica_function_library *library, const char *name,
                                        const mica_tf_dtype *dtypes, const mica_tf_shape *shapes,
                                        int32_t n, mica_tf_graph **out_graph) {
    MICA_GIVEN(library, name, MICA_MANY(dtypes, n), MICA_MANY(shapes, n), out_graph);
    *out_graph = NULL;
    io_range text = {(const uint8_t *)name, strlen(name)};
    int32_t k = io_names_find(&library->def.names, text);
    if (k >= 0 && library->def.functions[k].n_arguments != n)
        return MICA_INVALID("[saved_model] the function '%s' has %d arguments, %d given", name,
                            library->def.functions[k].n_arguments, n);
    io_fact *facts = mica_calloc((size_t)n + 1, sizeof *facts);
    if (!facts) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n; i++)
        if (dtypes[i] != MICA_TF_no_dtype)
            facts[i] = (io_fact){.kind = IO_VARIABLE, .dtype = dtypes[i], .shape = shapes[i]};
    mica_tf_graph *graph = NULL;
    mica_status status = io_library_function(&library->library, text, facts, n, &graph);
    mica_free(facts);
    if (status) return status;
    mica_tf_graph_retain(graph);
    *out_graph = graph;
    return NULL;
}
