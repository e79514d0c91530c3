#include "ir/equal.h"

#include <string.h>

#include "base/hash.h"

uint64_t mica_type_hash(uint64_t seed, const mica_type *type) {
    seed = mica_hash_u64(seed, (uint64_t)type->kind);
    if (type->kind == MICA_TOKEN) return seed;
    seed = mica_hash_u64(seed, (uint64_t)type->dtype);
    seed = mica_hash_u64(seed, (uint64_t)type->rank);
    for (int32_t i = 0; i < type->rank; i++) seed = mica_hash_u64(seed, (uint64_t)type->dims[i]);
    return seed;
}

uint64_t mica_attr_hash(uint64_t seed, const mica_attr *attr) {
    switch (attr->kind) {
    case MICA_ATTR_INT:
    case MICA_ATTR_DTYPE: return mica_hash_u64(seed, (uint64_t)attr->as.integer);
    case MICA_ATTR_INTS:
        seed = mica_hash_u64(seed, (uint64_t)attr->as.ints.n);
        for (int32_t i = 0; i < attr->as.ints.n; i++)
            seed = mica_hash_u64(seed, (uint64_t)attr->as.ints.data[i]);
        return seed;
    case MICA_ATTR_STRING: return mica_hash_string(seed, attr->as.string);
    case MICA_ATTR_DATA:
        seed = mica_type_hash(seed, &attr->as.data.type);
        return mica_hash_bytes(seed, attr->as.data.bytes, mica_type_bytes(&attr->as.data.type));
    case MICA_ATTR_TYPES:
        seed = mica_hash_u64(seed, (uint64_t)attr->as.types.n);
        for (int32_t i = 0; i < attr->as.types.n; i++)
            seed = mica_type_hash(seed, &attr->as.types.data[i]);
        return seed;
    }
    return seed;
}

/* Constants are compared by their bytes: -0 and 0 differ, a NaN equals itself. */
static bool data_equal(const mica_attr *a, const mica_attr *b) {
    if (!mica_type_equal(&a->as.data.type, &b->as.data.type)) return false;
    size_t bytes = mica_type_bytes(&a->as.data.type);
    return bytes == 0 || memcmp(a->as.data.bytes, b->as.data.bytes, bytes) == 0;
}

bool mica_attr_equal(const mica_attr *a, const mica_attr *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case MICA_ATTR_INT:
    case MICA_ATTR_DTYPE: return a->as.integer == b->as.integer;
    case MICA_ATTR_INTS:
        return a->as.ints.n == b->as.ints.n &&
               (a->as.ints.n == 0 || memcmp(a->as.ints.data, b->as.ints.data,
                                            (size_t)a->as.ints.n * sizeof(int64_t)) == 0);
    case MICA_ATTR_STRING: return strcmp(a->as.string, b->as.string) == 0;
    case MICA_ATTR_DATA: return data_equal(a, b);
    case MICA_ATTR_TYPES:
        if (a->as.types.n != b->as.types.n) return false;
        for (int32_t i = 0; i < a->as.types.n; i++)
            if (!mica_type_equal(&a->as.types.data[i], &b->as.types.data[i])) return false;
        return true;
    }
    return false;
}

/* Regions are frozen, so their hash is known. */
uint64_t mica_node_hash(const mica_node *n) {
    uint64_t seed = mica_hash_u64(MICA_HASH_SEED, (uint64_t)n->op);
    if (n->op == MICA_OP_PARAMETER) {
        seed = mica_hash_u64(seed, (uint64_t)n->id);
        return mica_type_hash(seed, &n->results[0]);
    }
    seed = mica_hash_u64(seed, (uint64_t)n->n_operands);
    for (int32_t i = 0; i < n->n_operands; i++) {
        seed = mica_hash_u64(seed, (uint64_t)n->operands[i].node->id);
        seed = mica_hash_u64(seed, (uint64_t)n->operands[i].index);
    }
    for (int32_t i = 0; i < n->n_attrs; i++) seed = mica_attr_hash(seed, &n->attrs[i]);
    seed = mica_hash_u64(seed, (uint64_t)n->n_regions);
    for (int32_t i = 0; i < n->n_regions; i++) seed = mica_hash_u64(seed, n->regions[i]->hash);
    return seed;
}

static bool place_equal(mica_value a, mica_value b) {
    return a.node->id == b.node->id && a.index == b.index;
}

static bool contents_equal(const mica_node *a, const mica_node *b) {
    if (a->op != b->op || a->n_operands != b->n_operands || a->n_regions != b->n_regions)
        return false;
    for (int32_t i = 0; i < a->n_operands; i++)
        if (!place_equal(a->operands[i], b->operands[i])) return false;
    for (int32_t i = 0; i < a->n_attrs; i++)
        if (!mica_attr_equal(&a->attrs[i], &b->attrs[i])) return false;
    for (int32_t i = 0; i < a->n_regions; i++)
        if (!mica_graph_equal(a->regions[i], b->regions[i])) return false;
    return true;
}

bool mica_node_equal(const mica_node *a, const mica_node *b) {
    if (a == b) return true;
    return a->op != MICA_OP_PARAMETER && contents_equal(a, b);
}

uint64_t mica_graph_hash(const mica_graph *g) {
    if (__atomic_load_n(&g->is_region, __ATOMIC_ACQUIRE)) return g->hash;
    uint64_t seed = mica_hash_u64(MICA_HASH_SEED, (uint64_t)g->n_nodes);
    for (int32_t i = 0; i < g->n_nodes; i++)
        seed = mica_hash_u64(seed, mica_node_hash(g->nodes[i]));
    for (int32_t i = 0; i < g->n_outputs; i++) {
        seed = mica_hash_u64(seed, (uint64_t)g->outputs[i].node->id);
        seed = mica_hash_u64(seed, (uint64_t)g->outputs[i].index);
    }
    return seed;
}

bool mica_graph_equal(const mica_graph *a, const mica_graph *b) {
    if (a == b) return true;
    if (a->n_nodes != b->n_nodes || a->n_parameters != b->n_parameters ||
        a->n_outputs != b->n_outputs || mica_graph_hash(a) != mica_graph_hash(b))
        return false;
    for (int32_t i = 0; i < a->n_outputs; i++)
        if (!place_equal(a->outputs[i], b->outputs[i])) return false;
    for (int32_t i = 0; i < a->n_nodes; i++) {
        const mica_node *x = a->nodes[i], *y = b->nodes[i];
        bool same = x->op == MICA_OP_PARAMETER
                        ? y->op == x->op && mica_type_equal(&x->results[0], &y->results[0])
                        : contents_equal(x, y);
        if (!same) return false;
    }
    return true;
}
