/* Slices and stacks of values, and functions of elements. */
#include "data/data.h"

static mica_type type_of(mica_tf_value value) {
    return *mica_tensor_type(value.object);
}

static bool is_tensor(mica_tf_value value) {
    return mica_tf_dtype_core(value.dtype) != MICA_DTYPE_COUNT;
}

mica_status mica_value_first_axis(const char *who, mica_tf_value value, int64_t *out_size) {
    mica_tf_shape shape;
    mica_tf_value_shape(value, &shape);
    if (shape.rank < 1)
        return MICA_INVALID("[%s] a component is a scalar: there is no first axis", who);
    *out_size = shape.dims[0];
    return NULL;
}

/* ---- slices -----------------------------------------------------------------------------------*/

static mica_status slice_strings(mica_tf_value value, int64_t i, mica_tf_value *out) {
    mica_tf_shape shape;
    mica_tf_value_shape(value, &shape);
    int64_t count = 1;
    for (int32_t k = 1; k < shape.rank; k++) count *= shape.dims[k];
    const char **data = mica_calloc((size_t)count + 1, sizeof *data);
    size_t *lengths = mica_calloc((size_t)count + 1, sizeof *lengths);
    mica_status status = data && lengths ? NULL : MICA_NO_MEMORY();
    for (int64_t k = 0; !status && k < count; k++)
        data[k] = mica_tf_strings_get(value, i * count + k, &lengths[k]);
    mica_ints dims = {shape.dims + 1, shape.rank - 1};
    if (!status) status = mica_tf_strings_create(dims, data, lengths, out);
    mica_free(data);
    mica_free(lengths);
    return status;
}

static void close_whole(void *context) {
    mica_tensor *whole = context;
    mica_status_release(mica_tensor_close_view(whole)); /* reading has nothing to say */
    mica_tensor_release(whole);
}

/* Where the host can see the tensor's own memory, the slice is a view of it. */
static mica_status slice_tensor(mica_tf_value value, int64_t i, mica_tf_value *out) {
    mica_tensor *whole = value.object, *part = NULL;
    mica_type type = type_of(value);
    memmove(type.dims, type.dims + 1, sizeof type.dims - sizeof type.dims[0]);
    type.rank--;
    size_t bytes = mica_type_bytes(&type);
    void *data;
    MICA_TRY(mica_tensor_open_view(whole, MICA_READ, &data));
    mica_tensor_retain(whole);
    mica_status status =
        mica_tensor_wrap(mica_tensor_device(whole), &type, (char *)data + (size_t)i * bytes,
                         close_whole, whole, &part);
    if (status) {
        close_whole(whole);
        return status;
    }
    *out = (mica_tf_value){value.dtype, part};
    return NULL;
}

static mica_status slice_variants(mica_tf_value value, int64_t i, mica_tf_value *out) {
    mica_tf_shape shape;
    mica_tf_value_shape(value, &shape);
    int64_t count = 1;
    for (int32_t k = 1; k < shape.rank; k++) count *= shape.dims[k];
    if (shape.rank == 1) {
        *out = mica_tf_variants_get(value, i);
        mica_tf_value_retain(*out);
        return NULL;
    }
    mica_tf_value *elements = mica_calloc((size_t)count + 1, sizeof *elements);
    if (!elements) return MICA_NO_MEMORY();
    for (int64_t k = 0; k < count; k++) elements[k] = mica_tf_variants_get(value, i * count + k);
    mica_ints dims = {shape.dims + 1, shape.rank - 1};
    mica_status status = mica_tf_variants_create(dims, elements, out);
    mica_free(elements);
    return status;
}

mica_status mica_value_slice(mica_tf_value value, int64_t i, mica_tf_value *out) {
    if (value.dtype == MICA_TF_variant) return slice_variants(value, i, out);
    if (is_tensor(value)) return slice_tensor(value, i, out);
    if (value.dtype == MICA_TF_string) return slice_strings(value, i, out);
    return MICA_INVALID("[TensorSliceDataset] a component of dtype %s cannot be sliced",
                        mica_tf_dtype_name(value.dtype));
}

/* ---- stacks -----------------------------------------------------------------------------------*/

static mica_status check_same_shape(const char *who, const mica_tf_shape *first,
                                    const mica_tf_shape *other, int64_t k) {
    bool same = first->rank == other->rank;
    for (int32_t i = 0; same && i < first->rank; i++) same = first->dims[i] == other->dims[i];
    if (same) return NULL;
    return MICA_INVALID(
        "[%s] cannot batch tensors with different shapes: element 0 has rank %d and "
        "leading size %lld, element %lld has rank %d and leading size %lld",
        who, first->rank, first->rank ? (long long)first->dims[0] : 1LL, (long long)k, other->rank,
        other->rank ? (long long)other->dims[0] : 1LL);
}

static mica_status stack_strings(const mica_tf_value *values, int64_t stride, int64_t n,
                                 const mica_tf_shape *shape, mica_tf_value *out) {
    int64_t each = mica_tf_strings_count(values[0]), count = each * n;
    const char **data = mica_calloc((size_t)count + 1, sizeof *data);
    size_t *lengths = mica_calloc((size_t)count + 1, sizeof *lengths);
    mica_status status = data && lengths ? NULL : MICA_NO_MEMORY();
    for (int64_t k = 0; !status && k < count; k++)
        data[k] = mica_tf_strings_get(values[k / each * stride], k % each, &lengths[k]);
    int64_t dims[MICA_MAX_RANK + 1] = {n};
    memcpy(dims + 1, shape->dims, (size_t)shape->rank * sizeof *dims);
    if (!status)
        status = mica_tf_strings_create((mica_ints){dims, shape->rank + 1}, data, lengths, out);
    mica_free(data);
    mica_free(lengths);
    return status;
}

static mica_status stack_tensors(mica_device *device, const mica_tf_value *values, int64_t stride,
                                 int64_t n, mica_tf_value *out) {
    mica_type type = type_of(values[0]);
    size_t bytes = mica_type_bytes(&type);
    memmove(type.dims + 1, type.dims, (size_t)type.rank * sizeof type.dims[0]);
    type.dims[0] = n;
    type.rank++;
    mica_tensor *all = NULL;
    void *data = NULL;
    MICA_TRY(mica_tensor_create(device, &type, &all));
    mica_status status = mica_tensor_open_view(all, MICA_WRITE, &data);
    if (status) {
        mica_tensor_release(all);
        return status;
    }
    for (int64_t k = 0; !status && k < n; k++)
        status =
            mica_tensor_to_host(values[k * stride].object, (char *)data + (size_t)k * bytes, bytes);
    mica_status closed = mica_tensor_close_view(all);
    if (!status)
        status = closed;
    else
        mica_status_release(closed);
    if (status) {
        mica_tensor_release(all);
        return status;
    }
    *out = (mica_tf_value){values[0].dtype, all};
    return NULL;
}

static mica_status stack_variants(const mica_tf_value *values, int64_t stride, int64_t n,
                                  const mica_tf_shape *shape, mica_tf_value *out) {
    int64_t each = mica_tf_variants_count(values[0]), count = each * n;
    mica_tf_value *elements = mica_calloc((size_t)count + 1, sizeof *elements);
    if (!elements) return MICA_NO_MEMORY();
    for (int64_t k = 0; k < count; k++)
        elements[k] = mica_tf_variants_get(values[k / each * stride], k % each);
    int64_t dims[MICA_MAX_RANK + 1] = {n};
    memcpy(dims + 1, shape->dims, (size_t)shape->rank * sizeof *dims);
    mica_status status = mica_tf_variants_create((mica_ints){dims, shape->rank + 1}, elements, out);
    mica_free(elements);
    return status;
}

mica_status mica_value_stack(const char *who, mica_device *device, const mica_tf_value *values,
                             int64_t stride, int64_t n, mica_tf_value *out) {
    mica_tf_shape first, other;
    mica_tf_value_shape(values[0], &first);
    if (first.rank == MICA_MAX_RANK)
        return MICA_INVALID("[%s] a component of rank %d gets no further axis", who, first.rank);
    for (int64_t k = 1; k < n; k++) {
        mica_tf_value_shape(values[k * stride], &other);
        MICA_TRY(check_same_shape(who, &first, &other, k));
    }
    if (is_tensor(values[0])) return stack_tensors(device, values, stride, n, out);
    if (values[0].dtype == MICA_TF_string) return stack_strings(values, stride, n, &first, out);
    if (values[0].dtype == MICA_TF_variant) return stack_variants(values, stride, n, &first, out);
    return MICA_INVALID("[%s] components of dtype %s cannot be stacked", who,
                        mica_tf_dtype_name(values[0].dtype));
}

/* ---- functions --------------------------------------------------------------------------------*/

mica_status mica_data_call_init(mica_data_call *call, mica_dataset *owner,
                                const mica_dataset_function *function, int32_t n_components) {
    int32_t wanted = mica_tf_graph_parameter_count(function->graph);
    if (wanted != n_components + function->n_captured)
        return MICA_INVALID("[%s] the function '%s' takes %d values; an element has %d and %d are "
                            "captured",
                            owner->class->name, mica_tf_graph_name(function->graph), wanted,
                            n_components, function->n_captured);
    MICA_TRY(mica_values_copy(function->captured, function->n_captured, &call->captured));
    call->n_captured = function->n_captured;
    call->graph = function->graph;
    mica_tf_graph_retain(call->graph);
    owner->needs_order |= mica_tf_graph_order(call->graph) != MICA_TF_ANY_ORDER;
    for (int32_t i = 0; i < call->n_captured; i++) {
        const mica_dataset *captured = mica_dataset_of(call->captured[i]);
        owner->needs_order |= captured && captured->needs_order;
    }
    return NULL;
}

void mica_data_call_deinit(mica_data_call *call) {
    if (call->captured) mica_values_release(call->captured, call->n_captured);
    mica_free(call->captured);
    mica_tf_graph_release(call->graph);
    *call = (mica_data_call){0};
}

mica_status mica_data_call_run_in(const mica_data_call *call, mica_device *device,
                                  mica_tf_generators *generators, const mica_tf_value *element,
                                  int32_t n, mica_tf_value *out, int32_t n_out) {
    mica_tf_value few[16], *inputs = few;
    int32_t n_inputs = n + call->n_captured;
    if (n_inputs > 16 && !(inputs = mica_alloc((size_t)n_inputs * sizeof *inputs)))
        return MICA_NO_MEMORY();
    memcpy(inputs, element, (size_t)n * sizeof *inputs);
    if (call->n_captured)
        memcpy(inputs + n, call->captured, (size_t)call->n_captured * sizeof *inputs);
    mica_tf_generators *before = mica_tf_generators_enter(generators);
    mica_status status = mica_tf_graph_run(call->graph, device, inputs, n_inputs, out, n_out);
    mica_tf_generators_enter(before);
    if (inputs != few) mica_free(inputs);
    return status;
}

mica_status mica_data_call_run(const mica_data_call *call, mica_iterator *it,
                               const mica_tf_value *element, int32_t n, mica_tf_value *out,
                               int32_t n_out) {
    return mica_data_call_run_in(call, it->device, it->generators, element, n, out, n_out);
}

/* A dataset among the values that a call gets may run anything when it is iterated over. */
bool mica_data_call_is_free(const mica_data_call *call, const mica_dataset *input) {
    if (mica_tf_graph_order(call->graph) == MICA_TF_IN_ORDER) return false;
    for (int32_t i = 0; i < call->n_captured; i++) {
        const mica_dataset *captured = mica_dataset_of(call->captured[i]);
        if (captured && captured->needs_order) return false;
    }
    for (int32_t i = 0; input->needs_order && i < input->n_components; i++) {
        mica_tf_ref parameter = mica_tf_graph_parameter_ref(call->graph, i);
        if (mica_tf_graph_type(call->graph, parameter, NULL) == MICA_TF_variant) return false;
    }
    return true;
}

mica_status mica_data_element_status(const char *stage, int64_t number, mica_status status) {
    mica_code code = mica_status_code(status);
    /* The host language finds its own exceptions by their message. */
    if (code == MICA_CALLBACK_ERROR || code == MICA_OUT_OF_RANGE || code == MICA_CANCELLED ||
        code == MICA_OUT_OF_MEMORY)
        return status;
    mica_status named = MICA_ERROR(code, "[%s] element %lld: %s", stage, (long long)number,
                                   mica_status_message(status));
    mica_status_release(status);
    return named;
}
