/* Maps of values, symbolic zeros, and nodes that come and go. */
#include <string.h>

#include "transform/transform.h"

void mica_transform_init(mica_transform *t) {
    *t = (mica_transform){.made = NULL};
    mica_arena_init(&t->arena);
}

void mica_transform_deinit(mica_transform *t) {
    for (mica_made *m = t->made; m; m = m->next) {
        mica_graph_release((mica_graph *)m->from);
        mica_graph_release(m->graph);
        mica_graph_release(m->second);
    }
    mica_arena_deinit(&t->arena);
}

void *mica_transform_alloc(mica_transform *t, mica_graph *g, size_t count, size_t bytes) {
    void *block = NULL;
    if (bytes == 0 || count <= SIZE_MAX / bytes) block = mica_arena_alloc(&t->arena, count * bytes);
    if (!block) mica_graph_fail(g, MICA_NO_MEMORY());
    return block;
}

mica_made *mica_made_find(mica_transform *t, mica_purpose purpose, const mica_graph *from,
                          const bool *flags, int32_t n_flags) {
    for (mica_made *m = t->made; m; m = m->next)
        if (m->purpose == purpose && m->from == from && m->n_flags == n_flags &&
            memcmp(m->flags, flags, (size_t)n_flags * sizeof *flags) == 0)
            return m;
    return NULL;
}

mica_made *mica_made_add(mica_transform *t, mica_graph *g, mica_purpose purpose, mica_graph *from,
                         const bool *flags, int32_t n_flags, mica_graph *graph,
                         mica_graph *second) {
    mica_made *m = mica_transform_alloc(t, g, 1, sizeof *m);
    bool *copy = mica_transform_alloc(t, g, (size_t)n_flags + 1, sizeof *copy);
    if (!m || !copy) {
        mica_graph_release(graph);
        mica_graph_release(second);
        return NULL;
    }
    memcpy(copy, flags, (size_t)n_flags * sizeof *flags);
    mica_graph_retain(from);
    *m = (mica_made){t->made, purpose, from, n_flags, copy, graph, second, NULL};
    t->made = m;
    return m;
}

/* ---- maps -------------------------------------------------------------------------------------
 * Open addressing on the node's address; the table is a power of two, at most half full. */

struct mica_value_row {
    const mica_node *node;
    int32_t n;
    mica_value values[];
};

void mica_value_map_init(mica_value_map *map, mica_transform *t, mica_graph *g) {
    *map = (mica_value_map){.t = t, .g = g};
}

static int32_t slot_of(const mica_value_map *map, const mica_node *node) {
    uint64_t hash = ((uint64_t)(uintptr_t)node >> 4) * UINT64_C(0x9E3779B97F4A7C15);
    int32_t slot = (int32_t)((hash >> 32) & (uint64_t)(map->capacity - 1));
    while (map->rows[slot] && map->rows[slot]->node != node)
        slot = (slot + 1) & (map->capacity - 1);
    return slot;
}

mica_value mica_value_map_get(const mica_value_map *map, mica_value key) {
    if (!map->capacity || !key.node) return MICA_NULL_VALUE;
    const struct mica_value_row *row = map->rows[slot_of(map, key.node)];
    return row && key.index < row->n ? row->values[key.index] : MICA_NULL_VALUE;
}

static bool grow(mica_value_map *map) {
    mica_value_map larger = *map;
    larger.capacity = map->capacity ? map->capacity * 2 : 64;
    larger.rows =
        mica_transform_alloc(map->t, map->g, (size_t)larger.capacity, sizeof *larger.rows);
    if (!larger.rows) return false;
    for (int32_t i = 0; i < map->capacity; i++)
        if (map->rows[i]) larger.rows[slot_of(&larger, map->rows[i]->node)] = map->rows[i];
    *map = larger;
    return true;
}

void mica_value_map_set(mica_value_map *map, mica_value key, mica_value value) {
    if (!key.node) return;
    if (map->n_rows * 2 >= map->capacity && !grow(map)) return;
    int32_t slot = slot_of(map, key.node);
    struct mica_value_row *row = map->rows[slot];
    if (!row || key.index >= row->n) { /* new, or the node was extended since */
        int32_t n = key.node->n_results;
        struct mica_value_row *wider = mica_transform_alloc(
            map->t, map->g, 1, sizeof *row + (size_t)n * sizeof row->values[0]);
        if (!wider) return;
        wider->node = key.node;
        wider->n = n;
        if (row)
            memcpy(wider->values, row->values, (size_t)row->n * sizeof row->values[0]);
        else
            map->n_rows++;
        row = map->rows[slot] = wider;
    }
    row->values[key.index] = value;
}

/* ---- zeros and sums ---------------------------------------------------------------------------*/

mica_value mica_like(mica_graph *g, const mica_node *n, const mica_value *operands) {
    mica_node *node = mica_node_clone(g, n, operands);
    return node ? mica_node_result(node, 0) : MICA_NULL_VALUE;
}

mica_type mica_list_element(const mica_type *list) {
    mica_type element = *list;
    element.kind = MICA_TENSOR;
    return element;
}

mica_value mica_empty_list(mica_graph *g, const mica_type *element) {
    return mica_list_empty(g, element);
}

mica_value mica_zeros(mica_graph *g, const mica_type *type) {
    if (!type || g->error) return MICA_NULL_VALUE;
    if (type->kind == MICA_LIST) {
        mica_type element = mica_list_element(type);
        return mica_empty_list(g, &element);
    }
    mica_value zero = mica_scalar(g, type->dtype, 0.0);
    if (type->rank == 0) return zero;
    return mica_broadcast(g, zero, (mica_ints){type->dims, type->rank}, MICA_NO_INTS);
}

mica_value mica_or_zeros(mica_graph *g, mica_value v, const mica_type *type) {
    return mica_is_zero(v) ? mica_zeros(g, type) : v;
}

mica_value mica_sum_of(mica_graph *g, mica_value a, mica_value b) {
    if (mica_is_zero(a)) return b;
    if (mica_is_zero(b)) return a;
    if (mica_value_type(a)->kind != MICA_LIST) {
        mica_value sum = mica_sum_at_places(g, a, b);
        return mica_is_zero(sum) ? mica_add(g, a, b) : sum;
    }
    mica_graph_fail(g, MICA_ERROR(MICA_UNSUPPORTED,
                                  "[vjp] a %s is used twice: the cotangents of lists cannot be "
                                  "added, their length is not known",
                                  mica_type_text(mica_value_type(a)).chars));
    return MICA_NULL_VALUE;
}

mica_value mica_as(mica_graph *g, mica_value x, mica_dtype dtype) {
    const mica_type *type = mica_value_type(x);
    return type && type->dtype == dtype ? x : mica_convert(g, x, dtype);
}

/* ---- nodes ------------------------------------------------------------------------------------*/

mica_value mica_placeholder(mica_graph *g, const mica_type *type) {
    mica_value v = mica_parameter(g, type);
    if (v.node) g->n_parameters--;
    return v;
}

mica_node *mica_last_node(const mica_graph *g) {
    return g->n_nodes ? g->nodes[g->n_nodes - 1] : NULL;
}

static void mark(uint8_t *marks, int32_t first, mica_value v) {
    if (v.node && v.node->id >= first) marks[v.node->id - first] = 1;
}

void mica_sweep(mica_graph *g, const mica_node *last, const mica_value *roots, int32_t n_roots) {
    int32_t first = last ? last->id + 1 : 0, kept = first;
    if (first == g->n_nodes || g->error) return;
    uint8_t *marks = mica_calloc((size_t)(g->n_nodes - first), 1);
    if (!marks) {
        mica_graph_fail(g, MICA_NO_MEMORY());
        return;
    }
    for (int32_t i = 0; i < n_roots; i++) mark(marks, first, roots[i]);
    for (int32_t i = 0; i < g->n_outputs; i++) mark(marks, first, g->outputs[i]);
    for (int32_t i = 0; i < g->n_parameters; i++) mark(marks, first, g->parameters[i]);
    for (int32_t i = g->n_nodes; i-- > first;)
        for (int32_t k = 0; marks[i - first] && k < g->nodes[i]->n_operands; k++)
            mark(marks, first, g->nodes[i]->operands[k]);
    for (int32_t i = first; i < g->n_nodes; i++) {
        if (!marks[i - first]) continue;
        g->nodes[kept] = g->nodes[i];
        g->nodes[kept]->id = kept;
        kept++;
    }
    g->n_nodes = kept;
    mica_free(marks);
}

void mica_move_before(mica_graph *g, int32_t first, mica_node *n) {
    int32_t moved = g->n_nodes - first, target = n->id;
    for (int32_t k = 0; k < moved; k++) { /* one node at a time: there are few */
        mica_node *node = g->nodes[first + k];
        memmove(&g->nodes[target + k + 1], &g->nodes[target + k],
                (size_t)(first - target) * sizeof(mica_node *));
        g->nodes[target + k] = node;
    }
    for (int32_t i = target; i < g->n_nodes; i++) g->nodes[i]->id = i;
}

/* ---- regions ----------------------------------------------------------------------------------*/

mica_graph *mica_region_create(mica_graph *g, const char *name) {
    mica_graph *region = NULL;
    if (g->error) return NULL;
    mica_status status = mica_graph_create(name, &region);
    if (status) mica_graph_fail(g, status);
    return region;
}

bool mica_region_check(mica_graph *g, const mica_graph *region) {
    if (region && region->error && !g->error) mica_graph_fail(g, mica_graph_check(region));
    return region && !region->error && !g->error;
}

void mica_region_parameters(mica_graph *region, const mica_value *like, int32_t n,
                            mica_value *out) {
    for (int32_t i = 0; i < n; i++) out[i] = mica_parameter(region, mica_value_type(like[i]));
}

void mica_region_output(mica_graph *region, const mica_value *values, int32_t n) {
    for (int32_t i = 0; i < n; i++) mica_output(region, values[i]);
}

void mica_make_call(mica_graph *g, const char *name, const char *vjp, const char *config,
                    int32_t linear, mica_graph *const *regions, int32_t n_regions,
                    const mica_value *operands, int32_t n, mica_value *out) {
    mica_attr attrs[] = {mica_attr_string(name), mica_attr_string(vjp), mica_attr_int(linear),
                         mica_attr_string(config)};
    for (int32_t i = 0; regions[0] && i < regions[0]->n_outputs; i++) out[i] = MICA_NULL_VALUE;
    mica_node *call = mica_node_create(g, MICA_OP_call, operands, n, attrs, regions, n_regions);
    for (int32_t i = 0; call && i < call->n_results; i++) out[i] = mica_node_result(call, i);
}

mica_node *mica_make_while(mica_graph *g, mica_graph *condition, mica_graph *body,
                           const mica_value *operands, int32_t n, int32_t consts,
                           int32_t bookkeeping) {
    mica_attr attrs[] = {mica_attr_int(consts), mica_attr_int(bookkeeping)};
    mica_graph *regions[] = {condition, body};
    return mica_node_create(g, MICA_OP_while, operands, n, attrs, regions, 2);
}

bool mica_node_has_effects(const mica_node *n) {
    for (int32_t i = 0; i < n->n_operands; i++)
        if (mica_operand_type(n, i)->kind == MICA_TOKEN) return true;
    return false;
}
