/* Data by name: checked, shown to the device, bound. */
#include <stdio.h>
#include <string.h>

#include "mlc/execute.h"

mica_type mlc_batch_type(const mlc_tensor *tensor, int64_t batch, int64_t full_batch) {
    mica_type type = tensor->descriptor->type;
    if (batch && type.dims[0] == full_batch) type.dims[0] = batch;
    return type;
}

mica_status mlc_binding_make(const char *name, mlc_tensor *tensor, mlc_tensor_data *data,
                             mlc_device *device, int64_t batch, int64_t full_batch,
                             mlc_binding *out_binding) {
    mica_type type = mlc_batch_type(tensor, batch, full_batch);
    size_t bytes = mica_type_bytes(&type), full = mica_type_bytes(&tensor->descriptor->type);
    *out_binding = (mlc_binding){tensor, data, NULL};
    if (!data) return MICA_INVALID("[%s] the data is NULL", name);
    if (data->length != bytes && data->length != full)
        return MICA_INVALID("[%s] %zu bytes of data for %s of shape %s, which has %zu", name,
                            data->length, mlc_data_type_description(tensor->descriptor->data_type),
                            mlc_shape_text(mlc_dims(&type)).chars, bytes);
    return mlc_wrap_data(device, &type, data, &out_binding->value);
}

static mica_status bind_list(const mlc_graph *graph, const char *what,
                             const mlc_declarations *declared, mlc_named_data list, int64_t batch,
                             mlc_bindings *bindings) {
    for (int32_t i = 0; i < list.n; i++) {
        const mlc_named_item *item = &list.data[i];
        const mlc_declaration *d = mlc_declarations_find(declared, item->name);
        if (!d) {
            mlc_text known = {""};
            size_t at = 0;
            for (int32_t k = 0; k < declared->n && at + 64 < sizeof known.chars; k++)
                at += (size_t)snprintf(known.chars + at, sizeof known.chars - at, "%s%.48s",
                                       k ? ", " : "", declared->data[k].name);
            return MICA_INVALID("[execute] '%s' is no declared %s; declared are: %s",
                                item->name ? item->name : "NULL", what,
                                declared->n ? known.chars : "none");
        }
        MICA_TRY(mlc_binding_make(item->name, d->tensor, item->data, graph->device, batch,
                                  graph->full_batch, &bindings->data[bindings->n]));
        bindings->n++;
    }
    return NULL;
}

mica_status mlc_bindings_make(const mlc_graph *graph, const mlc_execution *e, int64_t batch,
                              mlc_bindings *out) {
    *out = (mlc_bindings){NULL, 0};
    int32_t n = e->inputs.n + e->loss_labels.n + e->loss_label_weights.n;
    if (e->options & MLC_EXECUTION_SKIP_WRITING_INPUT_DATA_TO_DEVICE) return NULL;
    out->data = mica_calloc((size_t)n + 1, sizeof *out->data);
    if (!out->data) return MICA_NO_MEMORY();
    MICA_TRY(bind_list(graph, "input", &graph->inputs, e->inputs, batch, out));
    MICA_TRY(bind_list(graph, "loss label", &graph->labels, e->loss_labels, batch, out));
    return bind_list(graph, "loss label weight", &graph->label_weights, e->loss_label_weights,
                     batch, out);
}

void mlc_bindings_commit(mlc_bindings *bindings, mlc_device *device) {
    for (int32_t i = 0; i < bindings->n; i++) {
        mlc_binding *b = &bindings->data[i];
        bool is_whole = b->data->length == mica_type_bytes(&b->tensor->descriptor->type);
        if (is_whole) mlc_tensor_set_host(b->tensor, b->data);
        mlc_tensor_set_value(b->tensor, b->value, device, is_whole);
        b->value = NULL;
    }
}

void mlc_bindings_deinit(mlc_bindings *bindings) {
    for (int32_t i = 0; i < bindings->n; i++) mica_tensor_release(bindings->data[i].value);
    mica_free(bindings->data);
}

mica_status mlc_graph_bind_and_write(mlc_graph *graph, mlc_named_data data,
                                     mlc_named_tensors inputs, mlc_device *device,
                                     int64_t batch_size, bool synchronous) {
    MICA_GIVEN(graph, MICA_ARRAY(data), MICA_ARRAY(inputs));
    (void)synchronous; /* the data is there when this returns: views need no time */
    if (!device) return MICA_INVALID("[bind and write] the device is NULL");
    int64_t full = graph->full_batch;
    if (!full && inputs.n && inputs.data[0].tensor)
        full = inputs.data[0].tensor->descriptor->type.dims[0];
    if (batch_size < 0 || batch_size > full)
        return MICA_INVALID("[bind and write] the batch size %lld must be between 0 and %lld",
                            (long long)batch_size, (long long)full);
    if (batch_size == full) batch_size = 0;
    mlc_bindings bindings = {mica_calloc((size_t)data.n + 1, sizeof(mlc_binding)), 0};
    mica_status status = bindings.data ? NULL : MICA_NO_MEMORY();
    for (int32_t i = 0; i < data.n && !status; i++) {
        const char *name = data.data[i].name;
        mlc_tensor *tensor = NULL;
        for (int32_t k = 0; name && k < inputs.n; k++)
            if (inputs.data[k].name && strcmp(inputs.data[k].name, name) == 0)
                tensor = inputs.data[k].tensor;
        if (!tensor)
            status = MICA_INVALID("[bind and write] there is data for '%s', but no such input",
                                  name ? name : "NULL");
        else { /* parameters and gradients have no batch, whatever their sizes */
            bool has_batch = mlc_graph_declares(graph, tensor) || !graph->inputs.n;
            status = mlc_binding_make(name, tensor, data.data[i].data, device,
                                      has_batch ? batch_size : 0, full, &bindings.data[bindings.n]);
        }
        if (!status) bindings.n++;
    }
    if (!status) {
        mlc_lock();
        mlc_bindings_commit(&bindings, device);
        mlc_unlock();
    }
    mlc_bindings_deinit(&bindings);
    return status;
}
