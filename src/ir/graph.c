/* Graphs and nodes: how they come to be and go. Everything that can fail is done before the first
 * change, so a failed call leaves the graph as it was, apart from the sticky error. */
#include "ir/graph.h"

#include <string.h>

#include "ir/equal.h"
#include "report/report.h"

mica_status mica_graph_create(const char *name, mica_graph **out_graph) {
    MICA_GIVEN(out_graph);
    *out_graph = NULL;
    mica_graph *g = mica_calloc(1, sizeof *g);
    if (!g) return MICA_NO_MEMORY();
    mica_refcount_init(&g->references);
    mica_arena_init(&g->arena);
    g->name = mica_arena_strdup(&g->arena, name ? name : "");
    if (!g->name) {
        mica_graph_release(g);
        return MICA_NO_MEMORY();
    }
    *out_graph = g;
    return NULL;
}

void mica_graph_retain(mica_graph *g) {
    if (g) mica_refcount_retain(&g->references);
}

void mica_graph_release(mica_graph *g) {
    if (!g || !mica_refcount_release(&g->references)) return;
    for (int32_t i = 0; i < g->n_held; i++) mica_graph_release(g->held[i]);
    mica_free(g->held);
    mica_free(g->nodes);
    mica_free(g->parameters);
    mica_free(g->outputs);
    mica_arena_deinit(&g->arena);
    mica_status_release(g->error);
    mica_free(g);
}

const char *mica_graph_name(const mica_graph *g) {
    return g ? g->name : "";
}

int32_t mica_graph_parameter_count(const mica_graph *g) {
    return g ? g->n_parameters : 0;
}

mica_value mica_graph_parameter(const mica_graph *g, int32_t i) {
    return g && i >= 0 && i < g->n_parameters ? g->parameters[i] : MICA_NULL_VALUE;
}

int32_t mica_graph_output_count(const mica_graph *g) {
    return g ? g->n_outputs : 0;
}

mica_value mica_graph_output(const mica_graph *g, int32_t i) {
    return g && i >= 0 && i < g->n_outputs ? g->outputs[i] : MICA_NULL_VALUE;
}

int32_t mica_graph_node_count(const mica_graph *g) {
    return g ? g->n_nodes : 0;
}

const mica_type *mica_value_type(mica_value value) {
    if (!value.node || value.index < 0 || value.index >= value.node->n_results) return NULL;
    return &value.node->results[value.index];
}

/* ---- errors ---------------------------------------------------------------------------------*/

mica_status mica_graph_check(const mica_graph *g) {
    if (!g) return MICA_INVALID("[graph] there is no graph");
    return mica_status_share(g->error);
}

void mica_graph_fail(mica_graph *g, mica_status status) {
    if (g && !g->error)
        g->error = status;
    else
        mica_status_release(status);
}

mica_status mica_graph_take_error(mica_graph *g) {
    mica_status status = g ? g->error : NULL;
    if (g) g->error = NULL;
    return status;
}

/* true when g may be changed; otherwise an error sticks (or did already). */
static bool open_for(mica_graph *g, const char *where) {
    if (!g || g->error) return false;
    if (!g->is_region) return true;
    mica_graph_fail(g, MICA_ERROR(MICA_FAILED_PRECONDITION,
                                  "[%s] graph '%s' is a region of another graph and cannot change",
                                  where, g->name));
    return false;
}

bool mica_operands_check(mica_graph *g, const char *where, const mica_value *operands,
                         int32_t n_operands) {
    if (!g || g->error) return false;
    if (n_operands < 0 || (n_operands && !operands)) {
        mica_graph_fail(g, MICA_INVALID("[%s] %d operands at a null address", where, n_operands));
        return false;
    }
    for (int32_t i = 0; i < n_operands; i++) {
        mica_node *node = operands[i].node;
        mica_status status = NULL;
        if (!node)
            status = MICA_INVALID("[%s] operand %d is null", where, i);
        else if (node->graph != g)
            status = MICA_INVALID("[%s] operand %d is a value of graph '%s', not of '%s'", where, i,
                                  node->graph->name, g->name);
        else if (operands[i].index < 0 || operands[i].index >= node->n_results)
            status = MICA_INVALID("[%s] operand %d is result %d of a %s with %d results", where, i,
                                  operands[i].index, mica_op_name(node->op), node->n_results);
        if (status) {
            mica_graph_fail(g, status);
            return false;
        }
    }
    return true;
}

/* ---- growing --------------------------------------------------------------------------------*/

/* Makes room for one more element; the array and its capacity change only on success. */
static mica_status reserve(void **array, int32_t *capacity, int32_t n, size_t element) {
    if (n < *capacity) return NULL;
    if (n >= INT32_MAX / 2) return MICA_NO_MEMORY();
    int32_t grown = n < 8 ? 8 : n * 2;
    void *moved = mica_realloc(*array, (size_t)grown * element);
    if (!moved) return MICA_NO_MEMORY();
    *array = moved;
    *capacity = grown;
    return NULL;
}

#define RESERVE(array, capacity, n) reserve((void **)&(array), &(capacity), (n), sizeof *(array))

/* Whether the region is among those that came last; one that is not found is held twice, so that
 * many nodes with many regions take no time that grows with their square. */
static bool holds(const mica_graph *g, const mica_graph *region) {
    int32_t first = g->n_held > 32 ? g->n_held - 32 : 0;
    for (int32_t i = g->n_held; i-- > first;)
        if (g->held[i] == region) return true;
    return false;
}

/* Room for n more regions, so that hold cannot fail. */
static mica_status reserve_held(mica_graph *g, int32_t n) {
    while (g->n_held + n > g->held_capacity)
        MICA_TRY(RESERVE(g->held, g->held_capacity, g->held_capacity));
    return NULL;
}

/* Several threads may do this to one graph at once: they all write the same. */
static void freeze(mica_graph *region) {
    if (__atomic_load_n(&region->is_region, __ATOMIC_ACQUIRE)) return;
    __atomic_store_n(&region->hash, mica_graph_hash(region), __ATOMIC_RELAXED);
    __atomic_store_n(&region->is_region, true, __ATOMIC_RELEASE);
}

static int64_t nodes_written_out(const mica_graph *region) {
    return region->n_nodes + region->n_inside;
}

static void hold(mica_graph *g, mica_graph *const *regions, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        freeze(regions[i]);
        if (g->depth <= regions[i]->depth) g->depth = regions[i]->depth + 1;
        g->n_inside += nodes_written_out(regions[i]);
        if (holds(g, regions[i])) continue;
        mica_graph_retain(regions[i]);
        g->held[g->n_held++] = regions[i];
    }
}

/* ---- nodes ----------------------------------------------------------------------------------*/

static mica_status copy_data(mica_graph *g, mica_attr *attr, const char *where) {
    const mica_type *type = &attr->as.data.type;
    MICA_TRY(mica_type_check(type, where));
    size_t bytes = mica_type_bytes(type);
    if (bytes && !attr->as.data.bytes)
        return MICA_INVALID("[%s] the bytes of %s are at a null address", where,
                            mica_type_text(type).chars);
    if (!bytes) {
        attr->as.data.bytes = NULL;
        return NULL;
    }
    if (type->dtype == MICA_DTYPE_bool)
        for (size_t i = 0; i < bytes; i++)
            if (((const uint8_t *)attr->as.data.bytes)[i] > 1)
                return MICA_INVALID("[%s] a bool is stored as 0 or 1; element %zu is %d", where, i,
                                    ((const uint8_t *)attr->as.data.bytes)[i]);
    attr->as.data.bytes = mica_arena_copy(&g->arena, attr->as.data.bytes, bytes);
    return attr->as.data.bytes ? NULL : MICA_NO_MEMORY();
}

static mica_status copy_types(mica_graph *g, mica_attr *attr, const char *where) {
    mica_types types = attr->as.types;
    if (types.n < 0 || (types.n && !types.data))
        return MICA_INVALID("[%s] %d types at a null address", where, types.n);
    for (int32_t i = 0; i < types.n; i++) MICA_TRY(mica_type_check(&types.data[i], where));
    attr->as.types.data =
        mica_arena_copy(&g->arena, types.data, (size_t)types.n * sizeof *types.data);
    return attr->as.types.data ? NULL : MICA_NO_MEMORY();
}

static mica_status copy_attr(mica_graph *g, mica_op op, int32_t i, mica_attr *attr) {
    const char *where = mica_op_name(op);
    const mica_op_info *info = mica_op_describe(op);
    if (attr->kind != mica_op_attr_kind(op, i))
        return MICA_INVALID("[%s] attribute '%s' must be of kind %s", where,
                            info->attribute_names[i], info->attribute_kinds[i]);
    switch (attr->kind) {
    case MICA_ATTR_INT: return NULL;
    case MICA_ATTR_INTS: {
        mica_ints ints = attr->as.ints;
        if (ints.n < 0 || (ints.n && !ints.data))
            return MICA_INVALID("[%s] attribute '%s' has %d numbers at a null address", where,
                                info->attribute_names[i], ints.n);
        attr->as.ints.data =
            mica_arena_copy(&g->arena, ints.data, (size_t)ints.n * sizeof *ints.data);
        return attr->as.ints.data ? NULL : MICA_NO_MEMORY();
    }
    case MICA_ATTR_STRING:
        attr->as.string = mica_arena_strdup(&g->arena, attr->as.string ? attr->as.string : "");
        return attr->as.string ? NULL : MICA_NO_MEMORY();
    case MICA_ATTR_DTYPE:
        if (attr->as.integer < 0 || attr->as.integer >= MICA_DTYPE_COUNT)
            return MICA_INVALID("[%s] there is no dtype %lld", where, (long long)attr->as.integer);
        return NULL;
    case MICA_ATTR_DATA: return copy_data(g, attr, where);
    case MICA_ATTR_TYPES: return copy_types(g, attr, where);
    }
    return MICA_INVALID("[%s] there is no kind of attribute %d", where, (int)attr->kind);
}

static mica_status check_regions(const mica_graph *g, mica_op op, mica_graph *const *regions,
                                 int32_t n_regions) {
    int64_t n_inside = g->n_inside;
    if (n_regions < 0 || (n_regions && !regions))
        return MICA_INVALID("[%s] %d regions at a null address", mica_op_name(op), n_regions);
    for (int32_t i = 0; i < n_regions; i++) {
        if (!regions[i]) return MICA_INVALID("[%s] region %d is null", mica_op_name(op), i);
        if (regions[i] == g)
            return MICA_INVALID("[%s] graph '%s' cannot be a region of itself", mica_op_name(op),
                                g->name);
        if (regions[i]->error) return mica_status_share(regions[i]->error);
        if (regions[i]->depth >= MICA_MAX_DEPTH)
            return MICA_INVALID("[%s] regions nest deeper than %d", mica_op_name(op),
                                MICA_MAX_DEPTH);
        n_inside += nodes_written_out(regions[i]);
        if (n_inside > MICA_MAX_NODES_INSIDE)
            return MICA_ERROR(MICA_RESOURCE_EXHAUSTED,
                              "[%s] graph '%s' would have more than %d nodes with its regions "
                              "written out: they call each other too often",
                              mica_op_name(op), g->name, MICA_MAX_NODES_INSIDE);
    }
    return NULL;
}

/* Fills n's parts in g's arena and infers its results; n is in no list yet. */
static mica_status fill_node(mica_graph *g, mica_node *n, const mica_value *operands,
                             const mica_attr *attrs, mica_graph *const *regions) {
    MICA_TRY(check_regions(g, n->op, regions, n->n_regions));
    n->n_attrs = mica_op_describe(n->op)->n_attributes;
    if (n->n_attrs && !attrs)
        return MICA_INVALID("[%s] attributes are missing", mica_op_name(n->op));
    n->operands = mica_arena_copy(&g->arena, operands, (size_t)n->n_operands * sizeof *operands);
    n->attrs = mica_arena_copy(&g->arena, attrs, (size_t)n->n_attrs * sizeof *attrs);
    n->regions = mica_arena_copy(&g->arena, regions, (size_t)n->n_regions * sizeof *regions);
    if (!n->operands || !n->attrs || !n->regions) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n->n_attrs; i++) MICA_TRY(copy_attr(g, n->op, i, &n->attrs[i]));
    MICA_TRY(reserve_held(g, n->n_regions));
    return mica_node_infer(g, n);
}

static void append(mica_graph *g, mica_node *n) {
    n->graph = g;
    n->id = g->n_nodes;
    g->nodes[g->n_nodes++] = n;
}

mica_node *mica_node_create(mica_graph *g, mica_op op, const mica_value *operands,
                            int32_t n_operands, const mica_attr *attrs, mica_graph *const *regions,
                            int32_t n_regions) {
    if (!open_for(g, mica_op_name(op))) return NULL;
    if (!mica_op_describe(op)) {
        mica_graph_fail(g, MICA_INVALID("[graph] there is no op %d", (int)op));
        return NULL;
    }
    if (!mica_operands_check(g, mica_op_name(op), operands, n_operands)) return NULL;
    mica_status status = RESERVE(g->nodes, g->nodes_capacity, g->n_nodes);
    mica_node *n = status ? NULL : mica_arena_alloc(&g->arena, sizeof *n);
    if (!n) {
        mica_graph_fail(g, MICA_NO_MEMORY());
        return NULL;
    }
    *n = (mica_node){.op = op, .n_operands = n_operands, .n_regions = n_regions};
    status = fill_node(g, n, operands, attrs, regions);
    if (status) {
        mica_graph_fail(g, status);
        return NULL;
    }
    hold(g, n->regions, n_regions);
    append(g, n);
    if (mica_report_is_on()) n->line = mica_report_line();
    return n;
}

mica_node *mica_node_clone(mica_graph *g, const mica_node *n, const mica_value *operands) {
    mica_node *made =
        mica_node_create(g, n->op, operands, n->n_operands, n->attrs, n->regions, n->n_regions);
    if (made && n->line) made->line = n->line;
    return made;
}

static mica_status check_extension(const mica_node *old, const mica_node *new) {
    const char *where = mica_op_name(old->op);
    if (old->op != MICA_OP_cond && old->op != MICA_OP_case && old->op != MICA_OP_while &&
        old->op != MICA_OP_scan && old->op != MICA_OP_call)
        return MICA_ERROR(MICA_INTERNAL,
                          "[%s] only cond, case, while, scan and call can be extended", where);
    for (int32_t i = 0; i < new->n_operands; i++)
        if (new->operands[i].node->id >= old->id)
            return MICA_ERROR(MICA_INTERNAL, "[%s] operand %d of an extension is made after it",
                              where, i);
    if (new->n_results < old->n_results)
        return MICA_ERROR(MICA_INTERNAL, "[%s] an extension from %d to %d results", where,
                          old->n_results, new->n_results);
    for (int32_t i = 0; i < old->n_results; i++)
        if (!mica_type_equal(&old->results[i], &new->results[i]))
            return MICA_ERROR(MICA_INTERNAL, "[%s] an extension changes result %d: %s to %s", where,
                              i, mica_type_text(&old->results[i]).chars,
                              mica_type_text(&new->results[i]).chars);
    return NULL;
}

void mica_node_extend(mica_node *n, const mica_value *operands, int32_t n_operands,
                      const mica_attr *attrs, mica_graph *const *regions, int32_t n_regions) {
    mica_graph *g = n->graph;
    if (!open_for(g, mica_op_name(n->op)) ||
        !mica_operands_check(g, mica_op_name(n->op), operands, n_operands))
        return;
    mica_node extended = *n;
    extended.n_operands = n_operands;
    extended.n_regions = n_regions;
    mica_status status = fill_node(g, &extended, operands, attrs, regions);
    if (!status) status = check_extension(n, &extended);
    if (status) {
        mica_graph_fail(g, status);
        return;
    }
    for (int32_t i = 0; i < n->n_regions; i++) g->n_inside -= nodes_written_out(n->regions[i]);
    hold(g, extended.regions, n_regions);
    *n = extended;
}

mica_value mica_parameter(mica_graph *g, const mica_type *type) {
    if (!open_for(g, "parameter")) return MICA_NULL_VALUE;
    mica_status status =
        type ? mica_type_check(type, "parameter") : MICA_INVALID("[parameter] the type is null");
    if (!status) status = RESERVE(g->nodes, g->nodes_capacity, g->n_nodes);
    if (!status) status = RESERVE(g->parameters, g->parameters_capacity, g->n_parameters);
    mica_node *n = status ? NULL : mica_arena_alloc(&g->arena, sizeof *n);
    mica_type *result = n ? mica_arena_copy(&g->arena, type, sizeof *type) : NULL;
    if (!result) {
        mica_graph_fail(g, status ? status : MICA_NO_MEMORY());
        return MICA_NULL_VALUE;
    }
    *n = (mica_node){.op = MICA_OP_PARAMETER, .n_results = 1, .results = result};
    append(g, n);
    g->parameters[g->n_parameters++] = mica_node_result(n, 0);
    return mica_node_result(n, 0);
}

void mica_output(mica_graph *g, mica_value value) {
    if (!open_for(g, "output") || !mica_operands_check(g, "output", &value, 1)) return;
    mica_status status = RESERVE(g->outputs, g->outputs_capacity, g->n_outputs);
    if (status)
        mica_graph_fail(g, status);
    else
        g->outputs[g->n_outputs++] = value;
}

/* ---- attributes -----------------------------------------------------------------------------*/

const mica_attr *mica_node_attr(const mica_node *n, const char *name) {
    const mica_op_info *info = mica_op_describe(n->op);
    for (int32_t i = 0; info && i < info->n_attributes; i++)
        if (strcmp(info->attribute_names[i], name) == 0) return &n->attrs[i];
    return NULL;
}

int64_t mica_node_int(const mica_node *n, const char *name) {
    const mica_attr *attr = mica_node_attr(n, name);
    return attr && (attr->kind == MICA_ATTR_INT || attr->kind == MICA_ATTR_DTYPE) ? attr->as.integer
                                                                                  : 0;
}

mica_ints mica_node_ints(const mica_node *n, const char *name) {
    const mica_attr *attr = mica_node_attr(n, name);
    return attr && attr->kind == MICA_ATTR_INTS ? attr->as.ints : MICA_NO_INTS;
}

const char *mica_node_string(const mica_node *n, const char *name) {
    const mica_attr *attr = mica_node_attr(n, name);
    return attr && attr->kind == MICA_ATTR_STRING ? attr->as.string : "";
}

/* ---- inlining -------------------------------------------------------------------------------*/

static mica_status check_inline(const mica_graph *f, const mica_value *operands,
                                int32_t n_operands) {
    if (f->error) return mica_status_share(f->error);
    if (n_operands != f->n_parameters)
        return MICA_INVALID("[inline] graph '%s' takes %d operands, not %d", f->name,
                            f->n_parameters, n_operands);
    for (int32_t i = 0; i < n_operands; i++) {
        const mica_type *given = mica_value_type(operands[i]);
        const mica_type *wanted = mica_value_type(f->parameters[i]);
        if (!mica_type_equal(given, wanted))
            return MICA_INVALID("[inline] operand %d of graph '%s' is %s, not %s", i, f->name,
                                mica_type_text(given).chars, mica_type_text(wanted).chars);
    }
    return NULL;
}

/* images[id] is where result 0 of a node of f went; a parameter's image is an operand. */
static mica_value image_of(const mica_value *images, mica_value value) {
    mica_value image = images[value.node->id];
    return (mica_value){image.node, image.index + value.index};
}

static bool copy_nodes(mica_graph *g, const mica_graph *f, int32_t n_nodes, mica_value *images,
                       mica_value *scratch) {
    for (int32_t i = 0; i < n_nodes; i++) {
        const mica_node *n = f->nodes[i];
        if (n->op == MICA_OP_PARAMETER) continue;
        for (int32_t k = 0; k < n->n_operands; k++) scratch[k] = image_of(images, n->operands[k]);
        images[i].node = mica_node_clone(g, n, scratch);
        if (!images[i].node) return false;
    }
    return true;
}

/* false leaves a sticky error. */
static bool inline_into(mica_graph *g, const mica_graph *f, mica_value *images) {
    int32_t n_nodes = f->n_nodes, widest = 1;
    for (int32_t i = 0; i < n_nodes; i++)
        if (f->nodes[i]->n_operands > widest) widest = f->nodes[i]->n_operands;
    mica_value *scratch = mica_calloc((size_t)widest, sizeof *scratch);
    if (!scratch) mica_graph_fail(g, MICA_NO_MEMORY());
    bool done = scratch && copy_nodes(g, f, n_nodes, images, scratch);
    mica_free(scratch);
    return done;
}

/* out_results is written last: it may be the array of the operands. */
void mica_inline(mica_graph *g, const mica_graph *function, const mica_value *operands,
                 int32_t n_operands, mica_value *out_results) {
    MICA_GIVEN_TO(g, MICA_MANY(out_results, mica_graph_output_count(function)));
    const mica_graph *f = function;
    mica_value *images = NULL;
    bool done = false;
    if (open_for(g, "inline") && mica_operands_check(g, "inline", operands, n_operands)) {
        mica_status status = f ? check_inline(f, operands, n_operands)
                               : MICA_INVALID("[inline] the function is null");
        if (!status) images = mica_calloc((size_t)f->n_nodes, sizeof *images);
        if (!images) mica_graph_fail(g, status ? status : MICA_NO_MEMORY());
    }
    if (images) {
        for (int32_t i = 0; i < n_operands; i++) images[f->parameters[i].node->id] = operands[i];
        done = inline_into(g, f, images);
    }
    for (int32_t i = 0; f && i < f->n_outputs; i++)
        out_results[i] = done ? image_of(images, f->outputs[i]) : MICA_NULL_VALUE;
    mica_free(images);
}
