#include "io/object_graph.h"

static mica_status make_array(io_range message, uint64_t number, const char *path,
                              mica_arena *arena, int32_t *out_n, io_range **out_array) {
    int64_t n = io_count_parts(message, number);
    io_field field;
    if (n < 0 || n > 1 << 30)
        return MICA_ERROR(MICA_DATA_LOSS, "[saved_model] %s: its objects are cut off", path);
    io_range *array = mica_arena_alloc(arena, (size_t)n * sizeof *array);
    if (!array) return MICA_NO_MEMORY();
    *out_array = array;
    *out_n = (int32_t)n;
    while (io_take_field(&message, &field))
        if (field.number == number && field.wire == IO_LENGTH) *array++ = field.part;
    return NULL;
}

mica_status io_object_graph_read(io_range message, const char *path, mica_arena *arena,
                                 io_object_graph *out_graph) {
    int32_t n;
    io_object_graph *g = out_graph;
    MICA_TRY(make_array(message, 1, path, arena, &g->n_objects, &g->objects));
    MICA_TRY(make_array(message, 2, path, arena, &n, &g->functions));
    MICA_TRY(io_names_init(&g->names, arena, n));
    for (int32_t i = 0; i < n; i++) { /* entries of a map */
        io_range entry = g->functions[i], name;
        io_find_part(entry, 1, &name);
        io_find_part(entry, 2, &g->functions[i]);
        (void)io_names_add(&g->names, name, i); /* the first of a name counts */
    }
    return NULL;
}

/* Numbers come in packs, or by themselves. Fills `to` unless it is NULL. */
static int64_t take_numbers(io_range message, uint64_t number, uint64_t *to) {
    io_field field;
    int64_t n = 0;
    while (io_take_field(&message, &field)) {
        uint64_t value = field.value;
        if (field.number != number) continue;
        if (field.wire == IO_VARINT) {
            if (to) to[n] = value;
            n++;
        }
        while (field.wire == IO_LENGTH && io_take_varint(&field.part, &value)) {
            if (to) to[n] = value;
            n++;
        }
    }
    return n;
}

mica_status io_bound_inputs(const io_object_graph *graph, io_range function, mica_arena *arena,
                            uint64_t **out_objects, int32_t *out_n) {
    int32_t i = io_names_find(&graph->names, function);
    *out_objects = NULL;
    *out_n = 0;
    if (i < 0) return NULL;
    int64_t n = take_numbers(graph->functions[i], 2, NULL);
    uint64_t *objects = n < 1 << 30 ? mica_arena_alloc(arena, (size_t)n * sizeof *objects) : NULL;
    if (!objects) return MICA_NO_MEMORY();
    (void)take_numbers(graph->functions[i], 2, objects);
    *out_objects = objects;
    *out_n = (int32_t)n;
    return NULL;
}
