#include "ir/graph_list.h"

#include "base/hash.h"

static uint32_t slot_of(const mica_graph_list *list, const mica_graph *g) {
    uint32_t slot = (uint32_t)mica_hash_u64(MICA_HASH_SEED, (uintptr_t)g) & (list->n_slots - 1);
    while (list->slots[slot] && list->graphs[list->slots[slot] - 1] != g)
        slot = (slot + 1) & (list->n_slots - 1);
    return slot;
}

int32_t mica_graph_list_find(const mica_graph_list *list, const mica_graph *g) {
    return list->n_slots ? list->slots[slot_of(list, g)] - 1 : -1;
}

/* The table has at least twice as many slots as there are graphs. */
static mica_status grow(mica_graph_list *list) {
    int32_t capacity = list->capacity ? list->capacity * 2 : 8;
    const mica_graph **graphs = mica_realloc(list->graphs, (size_t)capacity * sizeof *graphs);
    if (!graphs) return MICA_NO_MEMORY();
    list->graphs = graphs;
    int32_t *slots = mica_calloc((size_t)capacity * 2, sizeof *slots);
    if (!slots) return MICA_NO_MEMORY();
    mica_free(list->slots);
    list->slots = slots;
    list->n_slots = (uint32_t)capacity * 2;
    list->capacity = capacity;
    for (int32_t i = 0; i < list->n; i++) slots[slot_of(list, list->graphs[i])] = i + 1;
    return NULL;
}

static mica_status collect(mica_graph_list *list, const mica_graph *g) {
    if (mica_graph_list_find(list, g) >= 0) return NULL;
    for (int32_t i = 0; i < g->n_nodes; i++)
        for (int32_t k = 0; k < g->nodes[i]->n_regions; k++)
            MICA_TRY(collect(list, g->nodes[i]->regions[k]));
    if (list->n == list->capacity) MICA_TRY(grow(list));
    uint32_t slot = slot_of(list, g);
    list->graphs[list->n++] = g;
    list->slots[slot] = list->n;
    return NULL;
}

mica_status mica_graph_list_collect(const mica_graph *g, mica_graph_list *out_list) {
    *out_list = (mica_graph_list){0};
    mica_status status = collect(out_list, g);
    if (status) mica_graph_list_deinit(out_list);
    return status;
}

void mica_graph_list_deinit(mica_graph_list *list) {
    mica_free(list->graphs);
    mica_free(list->slots);
    *list = (mica_graph_list){0};
}
