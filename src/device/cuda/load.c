/* Finding libcuda and libnvrtc, and cuBLASLt and cuDNN. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/packages.h"
#include "base/platform.h"
#include "device/cuda/dnn_api.h"

enum { MOST_OPTIONAL_SYMBOLS = 32 };

/* A library that is looked for once. What was loaded is never unloaded: its threads may still run.
 */
typedef struct loaded {
    mica_mutex mutex;
    bool tried;
    mica_code code;
    char reason[320];
} loaded;

/* Loads with `load`, which answers false for want of memory, and says what came of it. */
static mica_status load_once(loaded *state, bool (*load)(loaded *state)) {
    mica_mutex_lock(&state->mutex);
    if (!state->tried) {
        state->code = MICA_OK;
        state->tried = load(state);
    }
    bool tried = state->tried;
    mica_mutex_unlock(&state->mutex);
    if (!tried) return MICA_NO_MEMORY();
    return state->code == MICA_OK ? NULL : MICA_ERROR(state->code, "%s", state->reason);
}

/* Releases a failed attempt's status; whether it failed for want of memory. */
static bool is_out_of_memory(mica_status status) {
    bool out = mica_status_code(status) == MICA_OUT_OF_MEMORY;
    mica_status_release(status);
    return out;
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

static bool load_driver(loaded *state) {
    mica_library *library = NULL;
    const char *named = mica_environment("MICA_CUDA_DRIVER");
    const char *name = named && *named ? named : "libcuda.so.1";
    mica_status status = mica_library_open(name, &library);
    if (status) {
        remember(state, MICA_NOT_FOUND, "the CUDA driver (%s) is not installed", name);
        return !is_out_of_memory(status);
    }
    void *table[sizeof driver_symbols / sizeof *driver_symbols];
    const char *missing =
        fill_table(library, driver_symbols, sizeof driver_symbols / sizeof *driver_symbols, table);
    if (missing) {
        remember(state, MICA_NOT_FOUND, "the CUDA driver is too old: it has no %s", missing);
        mica_library_close(library);
        return true;
    }
    memcpy(&driver_api, table, sizeof driver_api);
    CUresult result = driver_api.init(0);
    if (result != CUDA_SUCCESS) {
        const char *error = NULL;
        driver_api.error_name(result, &error);
        remember(state, result == CUDA_ERROR_NO_DEVICE ? MICA_NOT_FOUND : MICA_DEVICE_ERROR,
                 "the CUDA driver does not start: %s", error ? error : "unknown error");
    }
    mica_library_keep(library);
    return true;
}

mica_status mica_cuda_load_driver(const mica_cuda_driver_api **out_api) {
    *out_api = &driver_api;
    return load_once(&driver_state, load_driver);
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

/* A library's files, and where the nvidia-* packages of PyPI put them, under site-packages. */
typedef struct wanted {
    const char *names[3], *wheel_folders[2]; /* fewer names end with NULL */
} wanted;
static const wanted nvrtc_wanted = {{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
                                    {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"}};
static const wanted blas_wanted = {{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
                                   {"nvidia/cu13/lib", "nvidia/cublas/lib"}};
static const wanted dnn_wanted = {{"libcudnn.so.9", "libcudnn.so", NULL},
                                  {"nvidia/cudnn/lib", "nvidia/cu13/lib"}};

/* A search ends when the library is found or memory runs out. */
typedef struct search {
    const wanted *wanted;
    mica_library *library;
    bool over;
} search;

static void try_folder(search *s, const char *folder) {
    char path[1024];
    for (size_t i = 0; i < 3 && s->wanted->names[i] && !s->over; i++) {
        int n =
            snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", s->wanted->names[i]);
        if (n < 0 || (size_t)n >= sizeof path) continue;
        mica_status status = mica_library_open(path, &s->library);
        s->over = !status || is_out_of_memory(status);
    }
}

static void try_site_packages(search *s, const char *site) {
    char path[900];
    for (size_t i = 0; i < 2; i++) {
        int n = snprintf(path, sizeof path, "%s/%s", site, s->wanted->wheel_folders[i]);
        if (n > 0 && (size_t)n < sizeof path) try_folder(s, path);
    }
}

static void try_toolkit(search *s) {
    char path[600];
    const char *root = mica_environment("CUDA_HOME");
    if (!root || strlen(root) > 512) root = "/usr/local/cuda";
    snprintf(path, sizeof path, "%s/lib64", root);
    try_folder(s, path);
}

/* In the order of preference: a folder named by MICA_CUDA_PATH, packages from PyPI, the system's
 * places, an installed toolkit. */
static search find_library(const wanted *of) {
    search s = {of, NULL, false};
    char site[800];
    const char *named = mica_environment("MICA_CUDA_PATH");
    if (named && *named) try_folder(&s, named);
    for (int i = 0; mica_packages_folder(i, site, sizeof site); i++) try_site_packages(&s, site);
    try_folder(&s, "");
    try_toolkit(&s);
    return s;
}

static bool load_nvrtc(loaded *state) {
    search found = find_library(&nvrtc_wanted);
    if (!found.library) {
        remember(state, MICA_NOT_FOUND, "%s",
                 "the run-time compiler (libnvrtc) was not found: install mica[cuda] or set "
                 "MICA_CUDA_PATH to its folder");
        return !found.over;
    }
    void *table[sizeof nvrtc_symbols / sizeof *nvrtc_symbols];
    const char *missing = fill_table(found.library, nvrtc_symbols,
                                     sizeof nvrtc_symbols / sizeof *nvrtc_symbols, table);
    if (missing) {
        remember(state, MICA_NOT_FOUND, "libnvrtc is too old: it has no %s", missing);
        mica_library_close(found.library);
        return true;
    }
    memcpy(&nvrtc_api, table, sizeof nvrtc_api);
    mica_library_keep(found.library);
    return true;
}

mica_status mica_cuda_load_nvrtc(const mica_cuda_nvrtc_api **out_api) {
    *out_api = &nvrtc_api;
    return load_once(&nvrtc_state, load_nvrtc);
}

/* ---- cuBLASLt ------------------------------------------------------------------------------- */

static const char *const blas_symbols[] = {
#define X(field, symbol, parameters) #symbol,
    MICA_CUDA_BLAS_API(X)
#undef X
};
static loaded blas_state;
static mica_cuda_blas_api blas_api;
_Static_assert(sizeof blas_api == sizeof blas_symbols / sizeof *blas_symbols * sizeof(void *),
               "one pointer per symbol");

/* A library that is not needed: what it is called, and how it is turned off. */
typedef struct optional {
    const wanted *wanted;
    const char *name, *variable;
    const char *const *symbols;
    size_t n;
    void *api;
} optional;

/* Beside the NVRTC that MICA_CUDA_PATH names, or nowhere: the two belong together. */
static bool load_optional(loaded *state, const optional *of) {
    const char *named = mica_environment("MICA_CUDA_PATH"), *asked = mica_environment(of->variable);
    search found = {of->wanted, NULL, false};
    void *table[MOST_OPTIONAL_SYMBOLS];
    if (asked && !strcmp(asked, "off")) {
        remember(state, MICA_NOT_FOUND, "%s is off", of->variable);
        return true;
    }
    if (named && *named)
        try_folder(&found, named);
    else
        found = find_library(of->wanted);
    if (!found.library) {
        remember(state, MICA_NOT_FOUND, "%s was not found", of->name);
        return !found.over;
    }
    const char *missing = fill_table(found.library, of->symbols, of->n, table);
    if (missing) {
        remember(state, MICA_NOT_FOUND, "the library is too old: it has no %s", missing);
        mica_library_close(found.library);
        return true;
    }
    memcpy(of->api, table, of->n * sizeof *table);
    mica_library_keep(found.library);
    return true;
}

static bool load_blas(loaded *state) {
    static const optional blas = {&blas_wanted,
                                  "libcublasLt",
                                  "MICA_CUBLAS",
                                  blas_symbols,
                                  sizeof blas_symbols / sizeof *blas_symbols,
                                  &blas_api};
    return load_optional(state, &blas);
}

mica_status mica_cuda_load_blas(const mica_cuda_blas_api **out_api) {
    *out_api = &blas_api;
    return load_once(&blas_state, load_blas);
}

/* ---- cuDNN ---------------------------------------------------------------------------------- */

static const char *const dnn_symbols[] = {
#define X(field, symbol, parameters) #symbol,
    MICA_CUDA_DNN_API(X)
#undef X
};
static loaded dnn_state;
static mica_cuda_dnn_api dnn_api;
_Static_assert(sizeof dnn_api == sizeof dnn_symbols / sizeof *dnn_symbols * sizeof(void *),
               "one pointer per symbol");
_Static_assert(sizeof dnn_api <= MOST_OPTIONAL_SYMBOLS * sizeof(void *) &&
                   sizeof blas_api <= MOST_OPTIONAL_SYMBOLS * sizeof(void *),
               "a table holds each");

static bool load_dnn(loaded *state) {
    static const optional dnn = {&dnn_wanted,
                                 "libcudnn",
                                 "MICA_CUDNN",
                                 dnn_symbols,
                                 sizeof dnn_symbols / sizeof *dnn_symbols,
                                 &dnn_api};
    return load_optional(state, &dnn);
}

mica_status mica_cuda_load_dnn(const mica_cuda_dnn_api **out_api) {
    *out_api = &dnn_api;
    return load_once(&dnn_state, load_dnn);
}

void mica_cuda_forget(void) {
    driver_state = nvrtc_state = blas_state = dnn_state = (loaded){0};
}
