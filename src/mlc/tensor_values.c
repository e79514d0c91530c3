/* A tensor's data on the host and on a device, and the ways between them. */
#include <math.h>
#include <string.h>

#include "mlc/objects.h"

static mica_mutex values_lock;
static _Thread_local bool holds_lock;
static mlc_tensor_data *aside; /* guarded by the lock */

void mlc_lock(void) {
    mica_mutex_lock(&values_lock);
    holds_lock = true;
}

void mlc_unlock(void) {
    mlc_tensor_data *data = aside;
    aside = NULL;
    holds_lock = false;
    mica_mutex_unlock(&values_lock);
    while (data) {
        mlc_tensor_data *next = data->next;
        mlc_tensor_data_destroy(data);
        data = next;
    }
}

bool mlc_put_aside(mlc_tensor_data *data) {
    if (!holds_lock) return false;
    data->next = aside;
    aside = data;
    return true;
}

/* ---- on the device ----------------------------------------------------------------------------*/

static void let_go(void *data) {
    mlc_tensor_data_release(data);
}

mica_status mlc_wrap_data(mlc_device *device, const mica_type *type, mlc_tensor_data *data,
                          mica_tensor **out_value) {
    mlc_tensor_data_retain(data);
    mica_status status =
        mica_tensor_wrap(device->device, type, data->bytes, let_go, data, out_value);
    if (status) mlc_tensor_data_release(data);
    return status;
}

void mlc_tensor_set_value(mlc_tensor *t, mica_tensor *value, mlc_device *device,
                          bool value_is_host) {
    mica_tensor_release(t->value);
    t->value = value;
    t->value_is_host = value_is_host;
    if (t->device == device) return;
    mlc_device_release(t->device);
    t->device = device;
    if (device) mlc_device_retain(device);
}

void mlc_tensor_set_host(mlc_tensor *t, mlc_tensor_data *data) {
    if (data) mlc_tensor_data_retain(data);
    mlc_tensor_data_release(t->host);
    t->host = data;
    t->value_is_host = false;
}

/* From another device the value comes along; else the host's data is shown to the device. */
mica_status mlc_tensor_place(mlc_tensor *t, mlc_device *device) {
    if (t->value && mica_tensor_device(t->value) == device->device) return NULL;
    mica_tensor *value = NULL;
    if (t->value)
        MICA_TRY(mica_tensor_copy_to(t->value, device->device, &value));
    else if (t->host)
        MICA_TRY(mlc_wrap_data(device, &t->descriptor->type, t->host, &value));
    else
        return MLC_FAILED("[%s] the tensor of shape %s has no data", mlc_tensor_label(t),
                          mlc_tensor_shape_text(t).chars);
    mlc_tensor_set_value(t, value, device, !t->value);
    return NULL;
}

mica_status mlc_tensor_bind_and_write(mlc_tensor *t, mlc_tensor_data *data, mlc_device *device) {
    MICA_GIVEN(t);
    if (!data || !device)
        return MICA_INVALID("[%s] the %s is NULL", mlc_tensor_label(t), data ? "device" : "data");
    size_t bytes = mica_type_bytes(&t->descriptor->type);
    if (data->length != bytes)
        return MICA_INVALID("[%s] %zu bytes of data for the shape %s, which has %zu",
                            mlc_tensor_label(t), data->length, mlc_tensor_shape_text(t).chars,
                            bytes);
    mica_tensor *value = NULL;
    MICA_TRY(mlc_wrap_data(device, &t->descriptor->type, data, &value));
    mlc_lock();
    mlc_tensor_set_host(t, data);
    mlc_tensor_set_value(t, value, device, true);
    mlc_unlock();
    return NULL;
}

static _Thread_local const mlc_results *read_here;

const mlc_results *mlc_read_results(const mlc_results *results) {
    const mlc_results *before = read_here;
    read_here = results;
    return before;
}

/* A reference to the value, or NULL. */
static mica_tensor *value_of(mlc_tensor *t, bool *out_is_host) {
    for (int32_t i = 0; read_here && i < read_here->n; i++) {
        if (read_here->data[i].tensor != t) continue;
        mica_tensor_retain(read_here->data[i].value);
        *out_is_host = false;
        return read_here->data[i].value;
    }
    mlc_lock();
    mica_tensor *value = t->value;
    if (value) mica_tensor_retain(value);
    *out_is_host = t->value_is_host;
    mlc_unlock();
    return value;
}

/* ---- to the host ------------------------------------------------------------------------------*/

mlc_tensor_data *mlc_tensor_data_of(const mlc_tensor *t) {
    if (!t) return NULL;
    mlc_lock();
    mlc_tensor_data *host = t->host;
    mlc_unlock();
    return host;
}

mlc_device *mlc_tensor_device(const mlc_tensor *t) {
    if (!t) return NULL;
    mlc_lock();
    mlc_device *device = t->device;
    mlc_unlock();
    return device;
}

static mica_status ensure_host(mlc_tensor *t) {
    if (mlc_tensor_data_of(t)) return NULL;
    mlc_tensor_data *data = NULL;
    MICA_TRY(mlc_tensor_data_allocate(mica_type_bytes(&t->descriptor->type), &data));
    mlc_lock();
    if (!t->host) mlc_tensor_set_host(t, data);
    mlc_unlock();
    mlc_tensor_data_release(data);
    return NULL;
}

mica_status mlc_tensor_synchronize_data(mlc_tensor *t) {
    MICA_GIVEN(t);
    bool is_host;
    mica_tensor *value = value_of(t, &is_host);
    if (!value) {
        if (mlc_tensor_data_of(t)) return NULL;
        return MLC_FAILED("[%s] the tensor of shape %s has no data: nothing was written to it or "
                          "computed for it (a result that layers consume is kept when it is "
                          "declared as an output)",
                          mlc_tensor_label(t), mlc_tensor_shape_text(t).chars);
    }
    mica_status status = is_host ? NULL : ensure_host(t);
    mlc_tensor_data *host = mlc_tensor_data_of(t);
    if (!status && !is_host && host->is_immutable)
        status = MLC_FAILED("[%s] the tensor's data on the host is immutable", mlc_tensor_label(t));
    size_t bytes = mica_type_bytes(mica_tensor_type(value));
    if (!status && !is_host) status = mica_tensor_to_host(value, host->bytes, bytes);
    mica_tensor_release(value);
    return status;
}

mica_status mlc_tensor_copy_data(mlc_tensor *t, void *bytes, size_t length, bool synchronize) {
    MICA_GIVEN(t);
    bool is_host;
    if (!bytes && length) return MICA_INVALID("[%s] bytes is NULL", mlc_tensor_label(t));
    mica_tensor *value = synchronize ? value_of(t, &is_host) : NULL;
    mlc_tensor_data *host = mlc_tensor_data_of(t);
    size_t full = mica_type_bytes(&t->descriptor->type);
    size_t has = value ? mica_type_bytes(mica_tensor_type(value)) : host ? host->length : 0;
    mica_status status = NULL;
    if (!value && !host)
        status = MLC_FAILED("[%s] the tensor of shape %s has no data%s", mlc_tensor_label(t),
                            mlc_tensor_shape_text(t).chars,
                            synchronize ? "" : " on the host: synchronise it");
    else if (length != has && length != full)
        status = MICA_INVALID("[%s] %zu bytes asked for, the tensor of shape %s has %zu",
                              mlc_tensor_label(t), length, mlc_tensor_shape_text(t).chars, has);
    else if (value)
        status = mica_tensor_to_host(value, bytes, has);
    else
        memcpy(bytes, host->bytes, length < has ? length : has);
    mica_tensor_release(value);
    return status;
}

mica_status mlc_tensor_has_valid_numerics(mlc_tensor *t, bool *out_valid) {
    MICA_GIVEN(t, out_valid);
    bool is_host;
    *out_valid = false;
    mica_tensor *value = value_of(t, &is_host);
    mlc_tensor_data *host = mlc_tensor_data_of(t);
    if (!value) {
        if (!host)
            return MLC_FAILED("[%s] the tensor of shape %s has no data", mlc_tensor_label(t),
                              mlc_tensor_shape_text(t).chars);
        *out_valid = mlc_bytes_are_finite(t->descriptor->type.dtype, host->bytes,
                                          (size_t)mica_type_elements(&t->descriptor->type));
        return NULL;
    }
    void *bytes = NULL;
    const mica_type *type = mica_tensor_type(value);
    mica_status status = mica_tensor_open_view(value, MICA_READ, &bytes);
    if (!status) {
        *out_valid = mlc_bytes_are_finite(type->dtype, bytes, (size_t)mica_type_elements(type));
        status = mica_tensor_close_view(value);
    }
    mica_tensor_release(value);
    return status;
}

mica_status mlc_tensor_copy(mlc_tensor *t, mlc_tensor **out_tensor) {
    MICA_GIVEN(t, out_tensor);
    mlc_tensor *copy = NULL;
    *out_tensor = NULL;
    MICA_TRY(mlc_tensor_create(t->descriptor, &copy));
    mica_status status = t->label ? mlc_tensor_set_label(copy, t->label) : NULL;
    if (!status) {
        mlc_lock();
        if (t->host) mlc_tensor_set_host(copy, t->host);
        if (t->value) {
            mica_tensor_retain(t->value);
            mlc_tensor_set_value(copy, t->value, t->device, t->value_is_host);
        }
        mlc_unlock();
        *out_tensor = copy;
        return NULL;
    }
    mlc_tensor_release(copy);
    return status;
}

/* ---- the optimizer's buffers ------------------------------------------------------------------*/

mlc_data_list mlc_tensor_optimizer_data(const mlc_tensor *t) {
    if (!t) return (mlc_data_list){0};
    mlc_lock();
    mlc_data_list list = {t->optimizer_data, t->n_optimizer_data};
    mlc_unlock();
    return list;
}

mlc_device_data_list mlc_tensor_optimizer_device_data(const mlc_tensor *t) {
    if (!t) return (mlc_device_data_list){0};
    mlc_lock();
    mlc_device_data_list list = {t->optimizer_state, t->n_optimizer_state};
    mlc_unlock();
    return list;
}

void mlc_optimizer_device_data_retain(mlc_optimizer_device_data *data) {
    if (!data) return;
    mica_refcount_retain(&data->references);
}

void mlc_optimizer_device_data_release(mlc_optimizer_device_data *data) {
    if (!data || !mica_refcount_release(&data->references)) return;
    mica_tensor_release(data->value);
    mica_free(data);
}

size_t mlc_optimizer_device_data_bytes(const mlc_optimizer_device_data *data) {
    if (!data) return 0;
    mlc_lock();
    size_t bytes = data->value ? mica_type_bytes(mica_tensor_type(data->value)) : 0;
    mlc_unlock();
    return bytes;
}

void mlc_tensor_clear_optimizer(mlc_tensor *t, bool host_too) {
    for (int32_t i = 0; i < t->n_optimizer_state; i++)
        mlc_optimizer_device_data_release(t->optimizer_state[i]);
    t->n_optimizer_state = 0;
    if (!host_too) return;
    for (int32_t i = 0; i < t->n_optimizer_data; i++) mlc_tensor_data_release(t->optimizer_data[i]);
    t->n_optimizer_data = 0;
}

static bool state_fits(const mlc_optimizer_device_data *data, const mlc_tensor *t) {
    mlc_lock();
    bool fits = data->value && mica_type_equal(mica_tensor_type(data->value), &t->descriptor->type);
    mlc_unlock();
    return fits;
}

static mica_status check_optimizer_data(const mlc_tensor *t, mlc_data_list data,
                                        mlc_device_data_list device_data) {
    size_t bytes = mica_type_bytes(&t->descriptor->type);
    if (data.n > MLC_MAX_STATE || device_data.n > MLC_MAX_STATE || data.n < 0 || device_data.n < 0)
        return MICA_INVALID("[%s] %d optimizer buffers; there are at most %d", mlc_tensor_label(t),
                            data.n > device_data.n ? data.n : device_data.n, MLC_MAX_STATE);
    for (int32_t i = 0; i < data.n; i++)
        if (!data.data[i] || data.data[i]->length != bytes)
            return MICA_INVALID(
                "[%s] optimizer buffer %d has %zu bytes, the tensor of shape %s %zu",
                mlc_tensor_label(t), i, data.data[i] ? data.data[i]->length : 0,
                mlc_tensor_shape_text(t).chars, bytes);
    for (int32_t i = 0; i < device_data.n; i++)
        if (!device_data.data[i] || !state_fits(device_data.data[i], t))
            return MICA_INVALID("[%s] the optimizer's device buffer %d is not of shape %s",
                                mlc_tensor_label(t), i, mlc_tensor_shape_text(t).chars);
    return NULL;
}

/* Device buffers are taken by value: another tensor may have had them. */
static mica_status copy_device_data(mlc_device_data_list from,
                                    mlc_optimizer_device_data *to[MLC_MAX_STATE]) {
    for (int32_t i = 0; i < from.n; i++) {
        to[i] = mica_calloc(1, sizeof *to[i]);
        if (!to[i]) return MICA_NO_MEMORY();
        mica_refcount_init(&to[i]->references);
        to[i]->value = from.data[i]->value;
        mica_tensor_retain(to[i]->value);
    }
    return NULL;
}

mica_status mlc_tensor_bind_optimizer_data(mlc_tensor *t, mlc_data_list data,
                                           mlc_device_data_list device_data) {
    MICA_GIVEN(t, MICA_ARRAY(data), MICA_ARRAY(device_data));
    mlc_optimizer_device_data *states[MLC_MAX_STATE] = {NULL};
    MICA_TRY(check_optimizer_data(t, data, device_data));
    mlc_lock();
    mica_status status = copy_device_data(device_data, states);
    if (status) {
        mlc_unlock();
        for (int32_t i = 0; i < MLC_MAX_STATE; i++) mlc_optimizer_device_data_release(states[i]);
        return status;
    }
    for (int32_t i = 0; i < data.n; i++) mlc_tensor_data_retain(data.data[i]);
    mlc_tensor_clear_optimizer(t, true);
    for (int32_t i = 0; i < data.n; i++) t->optimizer_data[i] = data.data[i];
    t->n_optimizer_data = data.n;
    memcpy(t->optimizer_state, states, sizeof states);
    t->n_optimizer_state = device_data.n;
    mlc_unlock();
    return NULL;
}

/* One buffer: waits and copies; makes the host's where there is none. */
static mica_status synchronize_state(mlc_tensor *t, int32_t i) {
    mlc_tensor_data *host = NULL;
    mlc_lock();
    mica_tensor *value = i < t->n_optimizer_state ? t->optimizer_state[i]->value : NULL;
    if (value) mica_tensor_retain(value);
    if (i < t->n_optimizer_data) host = t->optimizer_data[i], mlc_tensor_data_retain(host);
    mlc_unlock();
    mica_status status = NULL;
    bool is_new = value && !host;
    if (is_new) status = mlc_tensor_data_allocate(mica_type_bytes(&t->descriptor->type), &host);
    if (!status && value && host->is_immutable)
        status = MLC_FAILED("[%s] optimizer buffer %d is immutable", mlc_tensor_label(t), i);
    if (!status && value) status = mica_tensor_to_host(value, host->bytes, host->length);
    mica_tensor_release(value);
    if (!status && is_new) {
        mlc_lock();
        if (i == t->n_optimizer_data) {
            t->optimizer_data[t->n_optimizer_data++] = host;
            host = NULL;
        }
        mlc_unlock();
    }
    mlc_tensor_data_release(host);
    return status;
}

mica_status mlc_tensor_synchronize_optimizer_data(mlc_tensor *t) {
    MICA_GIVEN(t);
    if (!mlc_tensor_optimizer_device_data(t).n)
        return MLC_FAILED("[%s] no optimizer has buffers for this tensor", mlc_tensor_label(t));
    for (int32_t i = 0; i < mlc_tensor_optimizer_device_data(t).n; i++)
        MICA_TRY(synchronize_state(t, i));
    return NULL;
}
