/* A node's results, found by lowering its layer into a graph of its own. */
#include "mlc/graph.h"
#include "mlc/lower.h"

#include <stdio.h>
#include <string.h>

static mica_value parameter_for(mlc_lowering *l, mlc_tensor *tensor) {
    return mica_parameter(l->g, &tensor->descriptor->type);
}

static void ignore(mlc_lowering *l, mlc_tensor *tensor, mica_value value) {
    (void)l;
    (void)tensor;
    (void)value;
}

/* The inner message with the layer's label before and the sources after it. */
static mica_status explain(const mlc_layer *layer, mlc_tensors sources, mica_status inner) {
    char shapes[256];
    size_t at = 0;
    shapes[0] = 0;
    for (int32_t i = 0; i < sources.n && at + 96 < sizeof shapes; i++)
        at += (size_t)snprintf(shapes + at, sizeof shapes - at, "%s%s %.64s", i ? ", " : "",
                               mlc_data_type_description(sources.data[i]->descriptor->data_type),
                               mlc_tensor_shape_text(sources.data[i]).chars);
    if (mica_status_code(inner) == MICA_OUT_OF_MEMORY) return inner;
    mica_status status = MICA_ERROR(mica_status_code(inner), "[%s] %s; sources: %s",
                                    mlc_layer_label(layer), mica_status_message(inner), shapes);
    mica_status_release(inner);
    return status;
}

static mica_status infer(mlc_lowering *l, const mlc_layer *layer, mlc_tensors sources,
                         mlc_tensors labels, mica_type **out_types, int32_t *out_n) {
    size_t n_all = (size_t)sources.n + (size_t)labels.n + 1;
    mica_value *values = mica_arena_alloc(&l->arena, n_all * sizeof *values), *results = NULL;
    int32_t n = 0;
    if (!values) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < sources.n; i++) values[i] = parameter_for(l, sources.data[i]);
    mica_value *label_values = values + sources.n;
    for (int32_t i = 0; i < labels.n; i++) label_values[i] = parameter_for(l, labels.data[i]);
    int32_t n_labels = labels.n;
    if (mlc_layer_is_loss(layer) && n_labels == 0) { /* declared later, usually like the source */
        label_values[0] = parameter_for(l, sources.data[0]);
        n_labels = 1;
    }
    mlc_operands operands = {values, label_values, sources.data, sources.n, n_labels, 0};
    mlc_lower_layer(l, layer, &operands, &results, &n);
    MICA_TRY(mica_graph_check(l->g));
    mica_type *types = mica_calloc((size_t)(n ? n : 1), sizeof *types);
    if (!types) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n; i++) types[i] = *mica_value_type(results[i]);
    *out_types = types;
    *out_n = n;
    return NULL;
}

mica_status mlc_infer_results(const mlc_layer *layer, mlc_tensors sources, mlc_tensors labels,
                              mica_type **out_types, int32_t *out_n) {
    mlc_lowering l = {.value_of = parameter_for, .update = ignore};
    *out_types = NULL;
    *out_n = 0;
    MICA_TRY(mica_graph_create(mlc_layer_label(layer), &l.g));
    mica_arena_init(&l.arena);
    mica_status status = infer(&l, layer, sources, labels, out_types, out_n);
    mica_arena_deinit(&l.arena);
    mica_graph_release(l.g);
    return status ? explain(layer, sources, status) : NULL;
}
