/* Finding libcuda and libnvrtc. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/platform.h"
#include "device/cuda/api.h"

/* A library that is looked for once. What was loaded is never unloaded: its threads may still run.
 */
typedef struct loaded {
    mica_mutex mutex;
    bool tried;
    mica_code code;
    char reason[320];
} loaded;

static mica_status remembered(const loaded *state) {
    return state->code == MICA_OK ? NULL : MICA_ERROR(state->code, "%s", state->reason);
}

static void remember(loaded *state, mica_code code, const char *format, const char *detail) {
    state->code = code;
    snprintf(state->reason, sizeof state->reason, format, detail);
}

/* Fills a table of function pointers; the name of the first missing symbol, or NULL. */
static const char *fill_table(mica_library *library, const char *const *symbols, size_t n,
                              void **table) {
    for (size_t i = 0; i < n; i++) {
        table[i] = mica_library_symbol(library, symbols[i]);
        if (!table[i]) return symbols[i];
    }
    return NULL;
}

/* ---- the driver ----------------------------------------------------------------------------- */

static const char *const driver_symbols[] = {
#define X(field, symbol, parameters) #symbol,
    MICA_CUDA_DRIVER_API(X)
#undef X
};
static loaded driver_state;
static mica_cuda_driver_api driver_api;
_Static_assert(sizeof driver_api == sizeof driver_symbols / sizeof *driver_symbols * sizeof(void *),
               "one pointer per symbol");

static void load_driver(loaded *state) {
    mica_library *library = NULL;
    mica_status status = mica_library_open("libcuda.so.1", &library);
    if (status) {
        remember(state, MICA_NOT_FOUND, "%s", "the CUDA driver (libcuda.so.1) is not installed");
        mica_status_release(status);
        return;
    }
    void *table[sizeof driver_symbols / sizeof *driver_symbols];
    const char *missing =
        fill_table(library, driver_symbols, sizeof driver_symbols / sizeof *driver_symbols, table);
    if (missing) {
        remember(state, MICA_NOT_FOUND, "the CUDA driver is too old: it has no %s", missing);
        mica_library_close(library);
        return;
    }
    memcpy(&driver_api, table, sizeof driver_api);
    CUresult result = driver_api.init(0);
    if (result != CUDA_SUCCESS) {
        const char *name = NULL;
        driver_api.error_name(result, &name);
        remember(state, result == CUDA_ERROR_NO_DEVICE ? MICA_NOT_FOUND : MICA_DEVICE_ERROR,
                 "the CUDA driver does not start: %s", name ? name : "unknown error");
    }
    mica_library_keep(library);
}

mica_status mica_cuda_load_driver(const mica_cuda_driver_api **out_api) {
    *out_api = &driver_api;
    mica_mutex_lock(&driver_state.mutex);
    if (!driver_state.tried) load_driver(&driver_state);
    driver_state.tried = true;
    mica_mutex_unlock(&driver_state.mutex);
    return remembered(&driver_state);
}

/* ---- NVRTC ---------------------------------------------------------------------------------- */

static const char *const nvrtc_symbols[] = {
#define X(field, symbol, parameters) #symbol,
    MICA_CUDA_NVRTC_API(X)
#undef X
};
static loaded nvrtc_state;
static mica_cuda_nvrtc_api nvrtc_api;
_Static_assert(sizeof nvrtc_api == sizeof nvrtc_symbols / sizeof *nvrtc_symbols * sizeof(void *),
               "one pointer per symbol");

static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
/* Where the nvidia-* packages of PyPI put it, under site-packages. */
static const char *const wheel_folders[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"};

static mica_library *try_folder(const char *folder) {
    char path[1024];
    for (size_t i = 0; i < sizeof nvrtc_names / sizeof *nvrtc_names; i++) {
        mica_library *library = NULL;
        int n = snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", nvrtc_names[i]);
        if (n < 0 || (size_t)n >= sizeof path) continue;
        mica_status status = mica_library_open(path, &library);
        if (!status) return library;
        mica_status_release(status);
    }
    return NULL;
}

static mica_library *try_site_packages(const char *site) {
    char path[900];
    mica_library *library = NULL;
    for (size_t i = 0; i < sizeof wheel_folders / sizeof *wheel_folders && !library; i++) {
        int n = snprintf(path, sizeof path, "%s/%s", site, wheel_folders[i]);
        if (n > 0 && (size_t)n < sizeof path) library = try_folder(path);
    }
    return library;
}

/* The library lies in site-packages/mica or a folder below it, when it was installed as a wheel. */
static mica_library *try_beside_the_library(void) {
    static const char *const ups[] = {"", "/..", "/../.."};
    char own[512], path[600];
    mica_library *library = NULL;
    if (!mica_library_folder(own, sizeof own)) return NULL;
    for (size_t i = 0; i < sizeof ups / sizeof *ups && !library; i++) {
        snprintf(path, sizeof path, "%s%s", own, ups[i]);
        library = try_site_packages(path);
    }
    return library;
}

static mica_library *try_virtual_environment(void) {
    char path[600];
    mica_library *library = NULL;
    const char *root = mica_environment("VIRTUAL_ENV");
    if (!root || strlen(root) > 512) return NULL;
    for (int minor = 10; minor < 20 && !library; minor++) {
        snprintf(path, sizeof path, "%s/lib/python3.%d/site-packages", root, minor);
        library = try_site_packages(path);
    }
    return library;
}

static mica_library *try_toolkit(void) {
    char path[600];
    const char *root = mica_environment("CUDA_HOME");
    if (!root || strlen(root) > 512) root = "/usr/local/cuda";
    snprintf(path, sizeof path, "%s/lib64", root);
    return try_folder(path);
}

/* In the order of preference: a folder named by MICA_CUDA_PATH, packages from PyPI, the system's
 * places, an installed toolkit. */
static mica_library *find_nvrtc(void) {
    const char *named = mica_environment("MICA_CUDA_PATH");
    mica_library *library = named && *named ? try_folder(named) : NULL;
    if (!library) library = try_beside_the_library();
    if (!library) library = try_virtual_environment();
    if (!library) library = try_folder("");
    return library ? library : try_toolkit();
}

static void load_nvrtc(loaded *state) {
    mica_library *library = find_nvrtc();
    if (!library) {
        remember(state, MICA_NOT_FOUND, "%s",
                 "the run-time compiler (libnvrtc) was not found: install mica[cuda] or set "
                 "MICA_CUDA_PATH to its folder");
        return;
    }
    void *table[sizeof nvrtc_symbols / sizeof *nvrtc_symbols];
    const char *missing =
        fill_table(library, nvrtc_symbols, sizeof nvrtc_symbols / sizeof *nvrtc_symbols, table);
    if (missing) {
        remember(state, MICA_NOT_FOUND, "libnvrtc is too old: it has no %s", missing);
        mica_library_close(library);
        return;
    }
    memcpy(&nvrtc_api, table, sizeof nvrtc_api);
    mica_library_keep(library);
}

mica_status mica_cuda_load_nvrtc(const mica_cuda_nvrtc_api **out_api) {
    *out_api = &nvrtc_api;
    mica_mutex_lock(&nvrtc_state.mutex);
    if (!nvrtc_state.tried) load_nvrtc(&nvrtc_state);
    nvrtc_state.tried = true;
    mica_mutex_unlock(&nvrtc_state.mutex);
    return remembered(&nvrtc_state);
}
