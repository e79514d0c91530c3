/* Modules: compiled texts. All kernels with the same text share one, whatever graph they are of. A
 * unused module is kept for the next caller, up to a number of them. */
#include <string.h>

#include "base/log.h"
#include "device/cuda/parts.h"

static void digest_of(const char *text, uint8_t digest[MICA_SHA256_BYTES]) {
    mica_sha256 sum;
    mica_sha256_init(&sum);
    mica_sha256_add_string(&sum, text);
    mica_sha256_finish(&sum, digest);
}

static cuda_module *find_module(cuda_device *device, const uint8_t *digest) {
    cuda_module *m = device->modules;
    while (m && memcmp(m->digest, digest, MICA_SHA256_BYTES) != 0) m = m->next;
    return m;
}

static mica_status load_image(cuda_device *device, const char *image, CUmodule *out) {
    CUresult result = cuda_enter(device);
    if (result == CUDA_SUCCESS) {
        result = device->api->module_load(out, image);
        cuda_leave(device);
    }
    return result == CUDA_SUCCESS ? NULL : cuda_error(device, result, "kernel_create");
}

static mica_status compile(cuda_device *device, const char *text, const char *what,
                           CUmodule *out_module) {
    char *image = NULL;
    size_t bytes = 0;
    double start = mica_clock_seconds();
    MICA_TRY(mica_cuda_compile(text, device->capability, &image, &bytes));
    mica_status status = load_image(device, image, out_module);
    mica_free(image);
    if (!status && mica_log_on(MICA_LOG_DEVICE))
        mica_log_write(MICA_LOG_DEVICE, "%s compiled %s: %zu bytes in %.3f s", device->base.name,
                       what, bytes, mica_clock_seconds() - start);
    return status;
}

/* The lock is held while it compiles: who asks for the same text waits for it. */
mica_status cuda_module_get(cuda_device *device, const char *text, const char *what,
                            cuda_module **out_module) {
    uint8_t digest[MICA_SHA256_BYTES];
    mica_status status = NULL;
    digest_of(text, digest);
    mica_mutex_lock(&device->mutex);
    cuda_module *module = find_module(device, digest);
    if (!module) {
        module = mica_calloc(1, sizeof *module);
        status = module ? compile(device, text, what, &module->handle) : MICA_NO_MEMORY();
        if (!status) {
            memcpy(module->digest, digest, sizeof digest);
            module->next = device->modules;
            device->modules = module;
        } else {
            mica_free(module);
            module = NULL;
        }
    } else if (module->references == 0) {
        device->unused_modules--;
    }
    if (module) module->references++;
    mica_mutex_unlock(&device->mutex);
    *out_module = module;
    return status;
}

void cuda_module_retain(cuda_device *device, cuda_module *module) {
    mica_mutex_lock(&device->mutex);
    module->references++;
    mica_mutex_unlock(&device->mutex);
}

void cuda_module_release(cuda_device *device, cuda_module *module) {
    if (!module) return;
    mica_mutex_lock(&device->mutex);
    bool is_unused = --module->references == 0;
    device->unused_modules += is_unused;
    bool is_full = device->unused_modules > CUDA_MOST_UNUSED_MODULES;
    mica_mutex_unlock(&device->mutex);
    if (is_full) cuda_modules_unload(device);
}

/* Those in use stay. */
void cuda_modules_unload(cuda_device *device) {
    bool entered = cuda_enter(device) == CUDA_SUCCESS;
    mica_mutex_lock(&device->mutex);
    for (cuda_module **at = &device->modules; *at;) {
        cuda_module *module = *at;
        if (module->references > 0) {
            at = &module->next;
            continue;
        }
        *at = module->next;
        if (entered) device->api->module_unload(module->handle);
        mica_free(module);
    }
    device->unused_modules = 0;
    mica_mutex_unlock(&device->mutex);
    if (entered) cuda_leave(device);
}

mica_status cuda_module_function(cuda_device *device, const cuda_module *module, const char *name,
                                 CUfunction *out_function) {
    *out_function = NULL;
    CUresult result = cuda_enter(device);
    if (result == CUDA_SUCCESS) {
        result = device->api->module_function(out_function, module->handle, name);
        cuda_leave(device);
    }
    return result == CUDA_SUCCESS ? NULL : cuda_error(device, result, "kernel_create");
}
