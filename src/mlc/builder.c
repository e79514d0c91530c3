#include "mlc/builder.h"

#include <string.h>

mica_status mlc_slots_add(mlc_slots *slots, mlc_slot slot) {
    if (slots->n == slots->capacity) {
        int32_t capacity = slots->capacity ? 2 * slots->capacity : 16;
        mlc_slot *grown = mica_realloc(slots->data, (size_t)capacity * sizeof *grown);
        if (!grown) return MICA_NO_MEMORY();
        slots->data = grown;
        slots->capacity = capacity;
    }
    slots->data[slots->n++] = slot;
    return NULL;
}

/* ---- entries ----------------------------------------------------------------------------------*/

static uint32_t place_of(const mlc_builder *b, const mlc_tensor *tensor) {
    uint64_t h = (uint64_t)(uintptr_t)tensor * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t place = (uint32_t)(h >> 33) & (uint32_t)(b->table_size - 1);
    while (b->table[place] && b->entries[b->table[place] - 1].tensor != tensor)
        place = (place + 1) & (uint32_t)(b->table_size - 1);
    return place;
}

static bool grow(mlc_builder *b) {
    int32_t size = b->table_size ? 2 * b->table_size : 64;
    int32_t *table = mica_calloc((size_t)size, sizeof *table);
    mlc_entry *entries = mica_realloc(b->entries, (size_t)size / 2 * sizeof *entries);
    if (entries) b->entries = entries;
    if (!table || !entries) {
        mica_free(table);
        mica_graph_fail(b->l.g, MICA_NO_MEMORY());
        return false;
    }
    mica_free(b->table);
    b->table = table;
    b->table_size = size;
    b->entries_capacity = size / 2;
    for (int32_t i = 0; i < b->n_entries; i++) b->table[place_of(b, b->entries[i].tensor)] = i + 1;
    return true;
}

mlc_entry *mlc_builder_entry(mlc_builder *b, mlc_tensor *tensor) {
    if (b->table_size) {
        int32_t found = b->table[place_of(b, tensor)];
        if (found) return &b->entries[found - 1];
    }
    if (b->n_entries == b->entries_capacity && !grow(b)) return NULL;
    mlc_entry *entry = &b->entries[b->n_entries++];
    *entry = (mlc_entry){.tensor = tensor, .slot = -1};
    b->table[place_of(b, tensor)] = b->n_entries;
    return entry;
}

/* ---- inputs and outputs -----------------------------------------------------------------------*/

mica_value mlc_builder_input(mlc_builder *b, mlc_slot slot) {
    mica_status status = mlc_slots_add(&b->inputs, slot);
    if (status) {
        mica_graph_fail(b->l.g, status);
        return MICA_NULL_VALUE;
    }
    return mica_parameter(b->l.g, &slot.type);
}

void mlc_builder_output(mlc_builder *b, mlc_slot slot, mica_value value) {
    const mica_type *type = mica_value_type(value);
    if (!type) return; /* an error sticks */
    slot.type = *type;
    mica_status status = mlc_slots_add(&b->outputs, slot);
    if (status)
        mica_graph_fail(b->l.g, status);
    else
        mica_output(b->l.g, value);
}

/* A tensor that no layer of the graph makes: a constant, or an input of the program. */
static mica_value outside_value(mlc_builder *b, mlc_tensor *tensor, int32_t *out_slot) {
    mica_type type = tensor->descriptor->type;
    *out_slot = -1;
    if (mlc_declarations_have(&b->graph->constants, tensor) && tensor->host)
        return mica_constant(b->l.g, (mica_data){&type, tensor->host->bytes});
    if (b->l.batch && mlc_graph_declares(b->graph, tensor) && type.dims[0] == b->l.full_batch)
        type.dims[0] = b->l.batch;
    *out_slot = b->inputs.n;
    return mlc_builder_input(b,
                             (mlc_slot){.kind = MLC_SLOT_TENSOR, .tensor = tensor, .type = type});
}

static mica_value value_of(mlc_lowering *l, mlc_tensor *tensor) {
    mlc_builder *b = (mlc_builder *)l;
    mlc_entry *entry = mlc_builder_entry(b, tensor);
    if (!entry) return MICA_NULL_VALUE;
    if (mica_value_is_null(entry->value)) {
        int32_t slot;
        mica_value value = outside_value(b, tensor, &slot);
        entry->value = value;
        entry->slot = slot;
    }
    return entry->value;
}

static void update(mlc_lowering *l, mlc_tensor *tensor, mica_value value) {
    mlc_builder *b = (mlc_builder *)l;
    mlc_entry *entry = mlc_builder_entry(b, tensor);
    const mica_type *type = entry ? mica_value_type(entry->value) : NULL;
    if (type) entry->latest = mica_reshape(b->l.g, value, mlc_dims(type));
}

/* ---- the beginning and the end ----------------------------------------------------------------*/

mica_status mlc_builder_init(mlc_builder *b, mlc_graph *graph, const char *name, int64_t batch,
                             bool is_training) {
    *b = (mlc_builder){.graph = graph};
    b->l.value_of = value_of;
    b->l.update = update;
    b->l.is_training = is_training;
    b->l.batch = batch;
    b->l.full_batch = batch ? graph->full_batch : 0;
    mica_arena_init(&b->l.arena);
    MICA_TRY(mica_graph_create(name, &b->l.g));
    for (int32_t i = 0; i < graph->parameters.n; i++) {
        mlc_entry *entry = mlc_builder_entry(b, graph->parameters.data[i]);
        if (entry) entry->is_parameter = true;
    }
    return mica_graph_check(b->l.g);
}

void mlc_builder_deinit(mlc_builder *b) {
    mica_graph_release(b->l.g);
    mica_arena_deinit(&b->l.arena);
    mica_free(b->entries);
    mica_free(b->table);
    mica_free(b->inputs.data);
    mica_free(b->outputs.data);
}

/* ---- the forward pass -------------------------------------------------------------------------*/

mica_value mlc_all_finite(mica_graph *g, const mica_value *values, int32_t n) {
    mica_value all = MICA_NULL_VALUE;
    for (int32_t i = 0; i < n; i++) {
        const mica_type *type = mica_value_type(values[i]);
        if (!type || mica_dtype_kind_of(type->dtype) != MICA_KIND_FLOAT) continue;
        int64_t axes[MICA_MAX_RANK];
        for (int32_t k = 0; k < type->rank; k++) axes[k] = k;
        mica_value one =
            mica_reduce(g, mica_is_finite(g, values[i]), "and", (mica_ints){axes, type->rank});
        all = mica_value_is_null(all) ? one : mica_and(g, all, one);
    }
    return all;
}

static void keep_apart(mlc_builder *b, mica_value *values, int32_t n) {
    if (!(b->graph->options &
          (MLC_COMPILATION_DISABLE_LAYER_FUSION | MLC_COMPILATION_DEBUG_LAYERS)))
        return;
    mica_barrier(b->l.g, values, n, values);
}

/* The error gets the layer's label, when it is this layer's. */
static void blame(mlc_builder *b, const mlc_node *node) {
    mica_status status = mica_graph_take_error(b->l.g);
    if (!status) return;
    if (mica_status_code(status) != MICA_OUT_OF_MEMORY) {
        mica_status full = MICA_ERROR(mica_status_code(status), "[%s] %s; the source is %s",
                                      mlc_layer_label(node->layer), mica_status_message(status),
                                      mlc_tensor_shape_text(node->sources[0]).chars);
        mica_status_release(status);
        status = full;
    }
    mica_graph_fail(b->l.g, status);
}

bool mlc_build_node(mlc_builder *b, const mlc_node *node, int32_t place) {
    int32_t n_all = node->n_sources + node->n_labels, n = 0;
    mica_value *values = mica_arena_alloc(&b->l.arena, (size_t)n_all * sizeof *values);
    mica_value *results = NULL;
    if (!values) {
        mica_graph_fail(b->l.g, MICA_NO_MEMORY());
        return false;
    }
    for (int32_t i = 0; i < node->n_sources; i++) values[i] = value_of(&b->l, node->sources[i]);
    for (int32_t i = 0; i < node->n_labels; i++)
        values[node->n_sources + i] = value_of(&b->l, node->labels[i]);
    mlc_operands operands = {values,          values + node->n_sources, node->sources,
                             node->n_sources, node->n_labels,           place};
    mlc_lower_layer(&b->l, node->layer, &operands, &results, &n);
    if (results && n == node->n_results) keep_apart(b, results, n);
    for (int32_t i = 0; i < n && i < node->n_results; i++) {
        mlc_entry *entry = mlc_builder_entry(b, node->results[i]);
        if (entry) entry->value = results[i];
    }
    mica_status status = mica_graph_check(b->l.g);
    bool good = !status;
    mica_status_release(status);
    if (!good) blame(b, node);
    return good;
}

static bool is_consumed(const mlc_graph *graph, const mlc_tensor *tensor) {
    for (int32_t i = 0; i < graph->all.n; i++) {
        const mlc_node *node = graph->all.data[i];
        for (int32_t k = 0; k < node->n_sources; k++)
            if (node->sources[k] == tensor) return true;
    }
    return false;
}

/* Some graph that this one is linked with reads the tensor. */
static bool is_passed_on(const mlc_graph *graph, const mlc_tensor *tensor) {
    for (int32_t i = 0; graph->link && i < graph->link->graphs.n; i++) {
        const mlc_graph *other = graph->link->graphs.data[i];
        if (other != graph && is_consumed(other, tensor)) return true;
    }
    return false;
}

static bool is_output(const mlc_graph *graph, const mlc_node *node, const mlc_tensor *tensor) {
    bool is_debugged =
        (graph->options & MLC_COMPILATION_DEBUG_LAYERS) && node->layer->is_debugging_enabled;
    return is_debugged || mlc_declarations_have(&graph->outputs, tensor) ||
           !is_consumed(graph, tensor) || is_passed_on(graph, tensor);
}

static void forward_outputs(mlc_builder *b) {
    mlc_graph *graph = b->graph;
    for (int32_t i = 0; i < graph->all.n; i++) {
        const mlc_node *node = graph->all.data[i];
        for (int32_t k = 0; k < node->n_results; k++) {
            mlc_entry *entry = mlc_builder_entry(b, node->results[k]);
            if (entry && is_output(graph, node, node->results[k]))
                mlc_builder_output(b,
                                   (mlc_slot){.kind = MLC_SLOT_TENSOR, .tensor = node->results[k]},
                                   entry->value);
        }
    }
    if (!(graph->options & MLC_COMPILATION_DEBUG_LAYERS)) return;
    for (int32_t i = 0; i < graph->all.n; i++) {
        const mlc_node *node = graph->all.data[i];
        mica_value *values =
            mica_arena_alloc(&b->l.arena, (size_t)node->n_results * sizeof *values);
        if (!values) {
            mica_graph_fail(b->l.g, MICA_NO_MEMORY());
            return;
        }
        for (int32_t k = 0; k < node->n_results; k++) {
            mlc_entry *entry = mlc_builder_entry(b, node->results[k]);
            values[k] = entry ? entry->value : MICA_NULL_VALUE;
        }
        mica_value flag = mlc_all_finite(b->l.g, values, node->n_results);
        if (!mica_value_is_null(flag))
            mlc_builder_output(b, (mlc_slot){.kind = MLC_SLOT_FLAG, .index = i}, flag);
    }
}

/* Statistics that the layers have updated; parameters are the optimizer's to write. */
static void state_outputs(mlc_builder *b) {
    for (int32_t i = 0; i < b->n_entries; i++) {
        const mlc_entry *entry = &b->entries[i];
        if (mica_value_is_null(entry->latest)) continue;
        if (entry->is_parameter && b->has_update) continue;
        if (entry->slot >= 0) b->inputs.data[entry->slot].is_donated = true;
        mlc_builder_output(b, (mlc_slot){.kind = MLC_SLOT_TENSOR, .tensor = entry->tensor},
                           entry->latest);
    }
}

void mlc_build_step_input(mlc_builder *b) {
    mica_type type = mica_type_make(MICA_DTYPE_u32, MICA_INTS(1));
    b->l.step = mlc_builder_input(b, (mlc_slot){.kind = MLC_SLOT_STEP, .type = type});
}

void mlc_build_forward(mlc_builder *b) {
    if (b->l.is_training) mlc_build_step_input(b);
    for (int32_t i = 0; i < b->graph->all.n; i++)
        if (!mlc_build_node(b, b->graph->all.data[i], i)) return;
    forward_outputs(b);
    state_outputs(b);
}
