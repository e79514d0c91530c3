/* Devices by their kind, the platform's seed, and notes to the user. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "mlc/objects.h"

/* ---- notes ------------------------------------------------------------------------------------*/

enum { MOST_NOTES = 8 };

static struct {
    mica_mutex mutex;
    void (*handler)(void *context, const char *text);
    void *context;
    const char *given[MOST_NOTES]; /* keys: string literals */
    int32_t n;
} notes;

void mlc_set_note_handler(void (*handler)(void *context, const char *text), void *context) {
    mica_mutex_lock(&notes.mutex);
    notes.handler = handler;
    notes.context = context;
    notes.n = 0;
    mica_mutex_unlock(&notes.mutex);
}

void mlc_note(const char *key, const char *text) {
    bool is_new = true;
    mica_mutex_lock(&notes.mutex);
    for (int32_t i = 0; i < notes.n; i++)
        if (strcmp(notes.given[i], key) == 0) is_new = false;
    if (is_new && notes.n < MOST_NOTES) notes.given[notes.n++] = key;
    void (*handler)(void *, const char *) = notes.handler;
    void *context = notes.context;
    mica_mutex_unlock(&notes.mutex);
    if (!is_new) return;
    if (handler)
        handler(context, text);
    else
        mica_log_write(MICA_LOG_DEVICE, "%s", text);
}

/* ---- devices ----------------------------------------------------------------------------------*/

static bool is_gpu(const char *name) {
    return strncmp(name, "cuda", 4) == 0 || strncmp(name, "opencl", 6) == 0;
}

/* The name of a GPU that can compute every layer; else why there is none. */
static bool find_gpu(char *out, size_t capacity) {
    mica_device_info info = {.size = sizeof info};
    snprintf(out, capacity, "no GPU was found");
    for (int32_t i = 0; mica_device_enumerate(i, &info); i++) {
        if (!is_gpu(info.name)) continue;
        if (info.available && info.priority >= 0) {
            snprintf(out, capacity, "%s", info.name);
            return true;
        }
        snprintf(out, capacity, "%s",
                 info.available ? "it cannot compute every layer yet" : info.description);
    }
    return false;
}

static mica_status make(const char *name, mlc_device_type type, mlc_device **out_device) {
    *out_device = NULL;
    mlc_device *device = mica_calloc(1, sizeof *device);
    if (!device) return MICA_NO_MEMORY();
    mica_refcount_init(&device->references);
    device->type = type;
    mica_status status = mica_device_open(name, &device->device);
    if (status) {
        mica_free(device);
        return status;
    }
    device->actual =
        is_gpu(mica_device_name(device->device)) ? MLC_DEVICE_TYPE_GPU : MLC_DEVICE_TYPE_CPU;
    *out_device = device;
    return NULL;
}

mica_status mlc_device_cpu(mlc_device **out_device) {
    MICA_GIVEN(out_device);
    return make("cpu", MLC_DEVICE_TYPE_CPU, out_device);
}

mica_status mlc_device_gpu(mlc_device **out_device) {
    MICA_GIVEN(out_device);
    char name[160], text[256];
    if (find_gpu(name, sizeof name)) return make(name, MLC_DEVICE_TYPE_GPU, out_device);
    MICA_TRY(make("cpu", MLC_DEVICE_TYPE_GPU, out_device));
    snprintf(text, sizeof text, "no GPU can be used (%s): the CPU is used instead", name);
    mlc_note("gpu", text);
    return NULL;
}

mica_status mlc_device_ane(mlc_device **out_device) {
    MICA_GIVEN(out_device);
    MICA_TRY(make("any", MLC_DEVICE_TYPE_ANE, out_device));
    char text[256];
    snprintf(text, sizeof text, "there is no neural engine: %s is used instead",
             mica_device_name((*out_device)->device));
    mlc_note("ane", text);
    return NULL;
}

mica_status mlc_device_with_type(mlc_device_type type, mlc_device **out_device) {
    MICA_GIVEN(out_device);
    *out_device = NULL;
    switch (type) {
    case MLC_DEVICE_TYPE_CPU: return mlc_device_cpu(out_device);
    case MLC_DEVICE_TYPE_GPU: return mlc_device_gpu(out_device);
    case MLC_DEVICE_TYPE_ANY: return make("any", MLC_DEVICE_TYPE_ANY, out_device);
    case MLC_DEVICE_TYPE_ANE: return mlc_device_ane(out_device);
    }
    return MICA_INVALID("[device] %d is not a type of device: CPU 0, GPU 1, Any 2, ANE 3",
                        (int)type);
}

mica_status mlc_device_with_type_and_count(mlc_device_type type, bool selects_multiple,
                                           mlc_device **out_device) {
    MICA_GIVEN(out_device);
    MICA_TRY(mlc_device_with_type(type, out_device));
    if (selects_multiple)
        mlc_note("multiple", "several compute devices were asked for: one is used");
    return NULL;
}

mica_status mlc_device_named(const char *name, mlc_device **out_device) {
    MICA_GIVEN(out_device);
    *out_device = NULL;
    if (!name) return MICA_INVALID("[device] the name is NULL");
    mlc_device_type type = strcmp(name, "any") == 0 ? MLC_DEVICE_TYPE_ANY
                           : is_gpu(name)           ? MLC_DEVICE_TYPE_GPU
                                                    : MLC_DEVICE_TYPE_CPU;
    return make(name, type, out_device);
}

void mlc_device_retain(mlc_device *device) {
    if (!device) return;
    mica_refcount_retain(&device->references);
}

void mlc_device_release(mlc_device *device) {
    if (!device || !mica_refcount_release(&device->references)) return;
    mica_device_release(device->device);
    mica_free(device);
}

mlc_device_type mlc_device_type_of(const mlc_device *device) {
    if (!device) return MLC_DEVICE_TYPE_ANY;
    return device->type;
}

mlc_device_type mlc_device_actual_type(const mlc_device *device) {
    if (!device) return MLC_DEVICE_TYPE_ANY;
    return device->actual;
}

mica_device *mlc_device_mica_device(const mlc_device *device) {
    if (!device) return NULL;
    return device->device;
}
