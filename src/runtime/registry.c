/* The devices that are open. Opening one again gives the same object; the registry holds one
 * reference to each until mica_shutdown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/pool.h"
#include "base/shutdown.h"
#include "base/strings.h"
#include "report/report.h"
#include "runtime/background.h"
#include "runtime/buffer.h"
#include "runtime/tensor.h"

static struct {
    mica_mutex lock;
    mica_device *first; /* all live devices, open or not */
} registry;

/* ---- one device -------------------------------------------------------------------------------*/

static mica_status attach_runtime(mica_device *device, const char *kind, int32_t ordinal) {
    mica_device_runtime *r = mica_calloc(1, sizeof *r);
    if (!r) return MICA_NO_MEMORY();
    mica_refcount_init(&device->references);
    snprintf(r->name, sizeof r->name, "%s:%d", kind, ordinal);
    memcpy(device->name, r->name, sizeof device->name);
    mica_stream_init(&r->stream, device);
    r->is_open = true;
    device->runtime = r;
    return NULL;
}

static void unlink_device(mica_device *device) {
    mica_mutex_lock(&registry.lock);
    mica_device **link = &registry.first;
    while (*link && *link != device) link = &(*link)->runtime->next;
    if (*link) *link = device->runtime->next;
    mica_mutex_unlock(&registry.lock);
}

static void free_caches(mica_device *device) {
    mica_eager_clear(device);
    mica_transfer_close(device);
    mica_tensors_trim(device);
    mica_device_trim(device);
}

void mica_device_retain(mica_device *device) {
    if (!device) return;
    mica_refcount_retain(&device->references);
}

void mica_device_release(mica_device *device) {
    if (!device || !mica_refcount_release(&device->references)) return;
    if (mica_fork_happened()) return;
    unlink_device(device);
    mica_stream_stop(&device->runtime->stream);
    free_caches(device);
    mica_free(device->runtime);
    device->vtable->destroy(device);
}

const char *mica_device_name(const mica_device *device) {
    return device->name;
}

const char *mica_device_description(const mica_device *device) {
    return device->description;
}

bool mica_device_is_host_visible(const mica_device *device) {
    if (!device) return false;
    return device->vtable->host_pointer != NULL;
}

bool mica_device_checks_bounds(const mica_device *device) {
    if (!device) return false;
    return device->vtable->checks_bounds;
}

void mica_device_memory(const mica_device *device, size_t *out_now, size_t *out_peak) {
    if (!device || !out_now || !out_peak) return;
    mica_device_runtime *r = device->runtime;
    if (mica_fork_happened()) {
        *out_now = *out_peak = 0;
        return;
    }
    mica_mutex_lock(&r->lock);
    *out_now = r->in_use;
    *out_peak = r->peak;
    mica_mutex_unlock(&r->lock);
}

mica_status mica_device_wait(mica_device *device) {
    MICA_TRY(mica_check_process("wait"));
    mica_stream_drain(&device->runtime->stream);
    return mica_stream_clear(&device->runtime->stream);
}

/* ---- opening ----------------------------------------------------------------------------------*/

static mica_device *find_open(const char *kind, int32_t ordinal) {
    char name[32];
    snprintf(name, sizeof name, "%s:%d", kind, ordinal);
    for (mica_device *d = registry.first; d; d = d->runtime->next)
        if (d->runtime->is_open && strcmp(d->runtime->name, name) == 0) return d;
    return NULL;
}

/* The registry is locked: opening one device twice at once opens it once. */
static mica_status open_locked(const mica_driver *driver, int32_t ordinal,
                               mica_device **out_device) {
    mica_device *device = find_open(driver->kind, ordinal);
    if (!device) {
        MICA_TRY(driver->open(ordinal, &device));
        mica_status status = attach_runtime(device, driver->kind, ordinal);
        if (status) {
            device->vtable->destroy(device);
            return status;
        }
        device->runtime->next = registry.first;
        registry.first = device;
        mica_log_write(MICA_LOG_DEVICE, "opened %s: %s", device->name, device->description);
    }
    mica_device_retain(device);
    *out_device = device;
    return NULL;
}

static mica_status open_driver(const mica_driver *driver, int32_t ordinal,
                               mica_device **out_device) {
    char reason[160] = "";
    int32_t n = driver->probe(reason, sizeof reason);
    if (n == 0)
        return MICA_ERROR(MICA_NOT_FOUND, "[device] there is no %s: %s", driver->kind, reason);
    if (ordinal >= n)
        return MICA_ERROR(MICA_NOT_FOUND, "[device] there is no %s:%d, the last is %s:%d",
                          driver->kind, ordinal, driver->kind, n - 1);
    mica_mutex_lock(&registry.lock);
    mica_status status = open_locked(driver, ordinal, out_device);
    mica_mutex_unlock(&registry.lock);
    return status;
}

static mica_status unknown_device(const char *name) {
    mica_text known;
    mica_text_init(&known);
    for (int32_t i = 0; mica_drivers[i]; i++) {
        char reason[160] = "";
        int32_t n = mica_drivers[i]->probe(reason, sizeof reason);
        mica_text_printf(&known, "%s%s", i ? ", " : "", mica_drivers[i]->kind);
        if (n == 0) mica_text_printf(&known, " (%s)", reason);
    }
    mica_status status =
        MICA_ERROR(MICA_NOT_FOUND, "[device] no device is called '%s'; known: any, %s", name,
                   mica_text_data(&known));
    mica_text_deinit(&known);
    return status;
}

/* The best device that opens; the reasons of better ones go to the log. */
static mica_status open_any(mica_device **out_device) {
    int32_t below = INT32_MAX;
    mica_status last = NULL;
    for (;;) {
        const mica_driver *best = NULL;
        for (int32_t i = 0; mica_drivers[i]; i++) {
            const mica_driver *d = mica_drivers[i];
            if (d->priority >= 0 && d->priority < below && (!best || d->priority > best->priority))
                best = d;
        }
        if (!best) break;
        below = best->priority;
        mica_status status = open_driver(best, 0, out_device);
        if (!status) {
            mica_status_release(last);
            return NULL;
        }
        mica_log_write(MICA_LOG_DEVICE, "any: not %s: %s", best->kind, mica_status_message(status));
        mica_status_release(last);
        last = status;
    }
    return last ? last : MICA_ERROR(MICA_NOT_FOUND, "[device] no device is built in");
}

mica_status mica_device_open(const char *name, mica_device **out_device) {
    MICA_GIVEN(out_device);
    *out_device = NULL;
    MICA_TRY(mica_check_process("device"));
    mica_fork_watch();
    if (!name) return MICA_INVALID("[device] the name is NULL");
    if (strcmp(name, "any") == 0) return open_any(out_device);
    const char *colon = strchr(name, ':');
    size_t length = colon ? (size_t)(colon - name) : strlen(name);
    char *end = NULL;
    long ordinal = colon ? strtol(colon + 1, &end, 10) : 0;
    bool is_number = !colon || (colon[1] >= '0' && colon[1] <= '9' && !*end && ordinal < 4096);
    for (int32_t i = 0; is_number && mica_drivers[i]; i++)
        if (strlen(mica_drivers[i]->kind) == length &&
            memcmp(mica_drivers[i]->kind, name, length) == 0)
            return open_driver(mica_drivers[i], (int32_t)ordinal, out_device);
    return unknown_device(name);
}

bool mica_device_enumerate(int32_t i, mica_device_info *out_info) {
    if (!out_info) return false;
    for (int32_t d = 0; mica_drivers[d]; d++) {
        char description[160] = "";
        int32_t n = mica_drivers[d]->probe(description, sizeof description);
        int32_t entries = n ? n : 1;
        if (i >= entries) {
            i -= entries;
            continue;
        }
        mica_device_info info = {
            .size = sizeof info, .available = n > 0, .priority = mica_drivers[d]->priority};
        if (n)
            snprintf(info.name, sizeof info.name, "%s:%d", mica_drivers[d]->kind, i);
        else
            snprintf(info.name, sizeof info.name, "%s", mica_drivers[d]->kind);
        memcpy(info.description, description, sizeof info.description);
        size_t size = out_info->size < sizeof info ? out_info->size : sizeof info;
        info.size = out_info->size;
        memcpy(out_info, &info, size);
        return true;
    }
    return false;
}

/* ---- the whole library ------------------------------------------------------------------------*/

mica_status mica_set_threads(int32_t n) {
    MICA_TRY(mica_check_process("set_threads"));
    MICA_TRY(mica_pool_set_threads(n));
    return NULL;
}

int32_t mica_threads(void) {
    return mica_pool_threads();
}

static mica_device *first_to_close(void) {
    mica_mutex_lock(&registry.lock);
    mica_device *device = registry.first;
    while (device && !device->runtime->is_open && !device->runtime->stream.thread &&
           !__atomic_load_n(&device->runtime->stream.live, __ATOMIC_SEQ_CST))
        device = device->runtime->next;
    if (device) mica_device_retain(device);
    mica_mutex_unlock(&registry.lock);
    return device;
}

void mica_shutdown(void) {
    if (mica_fork_happened()) return;
    mica_shutdown_run_first();
    mica_background_stop();
    mica_report_finish();
    mica_trace_drop();
    mica_device *device;
    while ((device = first_to_close())) {
        bool was_open = device->runtime->is_open;
        mica_stream_stop(&device->runtime->stream);
        free_caches(device);
        mica_mutex_lock(&registry.lock);
        device->runtime->is_open = false;
        mica_mutex_unlock(&registry.lock);
        if (was_open) mica_device_release(device);
        mica_device_release(device);
    }
    mica_pool_shutdown();
    mica_log_reset();
}
