/* Variables: cells that hold a value. */
#include <string.h>

#include "tf/host_rules.h"

typedef struct variable {
    mica_tf_object object;
    mica_tf_dtype dtype;
    mica_tf_shape shape;
    mica_tf_value value; /* under the lock */
    char name[];
} variable;

static mica_mutex lock;

void mica_tf_variables_lock(void) {
    mica_mutex_lock(&lock);
}

void mica_tf_variables_unlock(void) {
    mica_mutex_unlock(&lock);
}

static void destroy(mica_tf_object *object) {
    variable *v = (variable *)object;
    mica_tf_value_release(v->value);
    mica_free(v);
}

const mica_tf_class mica_tf_variable_class = {"variable", destroy, NULL};

mica_status mica_tf_variable_create(const char *name, mica_tf_dtype dtype,
                                    const mica_tf_shape *shape, mica_tf_value *out_handle) {
    MICA_GIVEN(name, shape, out_handle);
    *out_handle = (mica_tf_value){MICA_TF_resource, NULL};
    size_t length = strlen(name);
    variable *v = mica_calloc(1, sizeof *v + length + 1);
    if (!v) return MICA_NO_MEMORY();
    mica_refcount_init(&v->object.references);
    v->object.kind = &mica_tf_variable_class;
    v->dtype = dtype;
    v->shape = *shape;
    memcpy(v->name, name, length);
    out_handle->object = v;
    return NULL;
}

static bool is_variable(mica_tf_value handle) {
    const mica_tf_object *object = handle.object;
    return handle.dtype == MICA_TF_resource && object && object->kind == &mica_tf_variable_class;
}

static mica_status check_handle(mica_tf_value handle) {
    const mica_tf_object *object = handle.object;
    if (is_variable(handle)) return NULL;
    return MICA_INVALID("[variable] a handle of a variable was expected, got that of %s",
                        object && handle.dtype == MICA_TF_resource ? object->kind->name
                                                                   : "no object");
}

mica_tf_value *mica_tf_variable_cell(mica_tf_value handle) {
    return &((variable *)handle.object)->value;
}

mica_status mica_tf_variable_check(mica_tf_value handle, mica_tf_dtype dtype,
                                   const mica_tf_shape *shape) {
    MICA_TRY(check_handle(handle));
    const variable *v = handle.object;
    if (v->dtype != dtype)
        return MICA_INVALID("[variable] %s has dtype %s and the op expects %s", v->name,
                            mica_tf_dtype_name(v->dtype), mica_tf_dtype_name(dtype));
    mica_tf_shape merged;
    if (shape && !mica_tf_shape_merge(&v->shape, shape, &merged))
        return MICA_INVALID("[variable] %s has shape %s and cannot hold a value of shape %s",
                            v->name, mica_tf_shape_text(&v->shape).chars,
                            mica_tf_shape_text(shape).chars);
    return NULL;
}

mica_status mica_tf_variable_read(mica_tf_value handle, mica_tf_value *out_value) {
    MICA_TRY(check_handle(handle));
    variable *v = handle.object;
    mica_mutex_lock(&lock);
    *out_value = v->value;
    if (v->value.object) mica_tf_value_retain(v->value);
    mica_mutex_unlock(&lock);
    if (out_value->object) return NULL;
    return MICA_ERROR(MICA_FAILED_PRECONDITION,
                      "[ReadVariableOp] Could not find variable %s: it has no value yet", v->name);
}

/* A variable that has a value stays on the device where that is. The value is retained. */
static mica_status bring_home(variable *v, mica_tf_value *value) {
    mica_tf_value given = *value;
    mica_device *home = mica_tf_variable_device((mica_tf_value){MICA_TF_resource, v});
    if (home && mica_tf_is_core(given.dtype)) return mica_tf_value_move(given, home, value);
    mica_tf_value_retain(given);
    return NULL;
}

mica_status mica_tf_variable_assign(mica_tf_value handle, mica_tf_value value) {
    MICA_GIVEN(handle.object, value.object);
    mica_tf_shape shape;
    mica_tf_value_shape(value, &shape);
    MICA_TRY(mica_tf_variable_check(handle, value.dtype, &shape));
    variable *v = handle.object;
    MICA_TRY(bring_home(v, &value));
    mica_mutex_lock(&lock);
    mica_tf_value before = v->value;
    v->value = value;
    mica_mutex_unlock(&lock);
    mica_tf_value_release(before);
    return NULL;
}

bool mica_tf_variable_is_set(mica_tf_value handle) {
    variable *v = handle.object;
    if (!is_variable(handle)) return false;
    mica_mutex_lock(&lock);
    bool set = v->value.object != NULL;
    mica_mutex_unlock(&lock);
    return set;
}

mica_device *mica_tf_variable_device(mica_tf_value handle) {
    mica_device *device = NULL;
    if (!is_variable(handle)) return NULL;
    variable *v = handle.object;
    mica_mutex_lock(&lock);
    if (v->value.object && mica_tf_is_core(v->value.dtype))
        device = mica_tensor_device(v->value.object);
    mica_mutex_unlock(&lock);
    return device;
}

mica_tf_dtype mica_tf_variable_dtype(mica_tf_value handle) {
    return is_variable(handle) ? ((const variable *)handle.object)->dtype : MICA_TF_no_dtype;
}

void mica_tf_variable_shape(mica_tf_value handle, mica_tf_shape *out_shape) {
    if (!out_shape) return;
    *out_shape = is_variable(handle) ? ((const variable *)handle.object)->shape : mica_tf_unknown();
}

const char *mica_tf_variable_name(mica_tf_value handle) {
    return is_variable(handle) ? ((const variable *)handle.object)->name : "";
}

/* ---- host functions ---------------------------------------------------------------------------*/

mica_status tf_host_read_variable(mica_tf_host *c) {
    MICA_TRY(mica_tf_variable_check(c->inputs[0], c->output_dtypes[0], NULL));
    return mica_tf_variable_read(c->inputs[0], &c->outputs[0]);
}

mica_status tf_host_assign_variable(mica_tf_host *c) {
    return mica_tf_variable_assign(c->inputs[0], c->inputs[1]);
}

mica_status tf_host_variable_is_set(mica_tf_host *c) {
    MICA_TRY(check_handle(c->inputs[0]));
    uint8_t set = mica_tf_variable_is_set(c->inputs[0]);
    mica_type type = mica_type_scalar(MICA_DTYPE_bool);
    mica_tensor *tensor = NULL;
    MICA_TRY(mica_tensor_from_host(c->device, &type, &set, &tensor));
    c->outputs[0] = mica_tf_value_of(tensor);
    return NULL;
}
