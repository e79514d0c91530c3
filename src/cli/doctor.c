/* mica doctor: what this machine offers, found by looking, and whether devices compute rightly. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* ---- looking
 * ------------------------------------------------------------------------------------*/

bool cli_find_program(const char *name, char *path, size_t capacity) {
    if (strchr(name, '/')) {
        snprintf(path, capacity, "%s", name);
        return access(name, X_OK) == 0;
    }
    const char *folders = getenv("PATH");
    while (folders && *folders) {
        size_t n = strcspn(folders, ":");
        int length = snprintf(path, capacity, "%.*s/%s", (int)n, folders, name);
        if (length > 0 && (size_t)length < capacity && access(path, X_OK) == 0) return true;
        folders += n + (folders[n] == ':');
    }
    return false;
}

static void look_for_compiler(void) {
    char text[4400];
    if (mica_compiler_describe(text, sizeof text))
        printf("  %-12s %s (compiled kernels)\n", "C compiler", text);
    else
        printf("  %-12s not used: %s (everything runs on built-in kernels)\n", "C compiler", text);
}

/* Where a loaded library came from. */
static const char *origin(void *library, const char *symbol, const char *name) {
    Dl_info info;
    void *address = dlsym(library, symbol);
    return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : name;
}

typedef struct optional_library {
    const char *what, *symbol, *purpose;
    const char *names[6]; /* tried in order, up to a NULL */
} optional_library;

static const optional_library libraries[] = {
    {"CUDA driver", "cuInit", "NVIDIA GPUs", {"libcuda.so.1", "libcuda.dylib"}},
    {"NVRTC",
     "nvrtcVersion",
     "kernels for NVIDIA GPUs",
     {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}},
    {"cuBLASLt",
     "cublasLtCreate",
     "matrix products on NVIDIA GPUs",
     {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so"}},
    {"cuDNN",
     "cudnnCreate",
     "convolutions on NVIDIA GPUs",
     {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"}},
    {"NCCL", "ncclGetVersion", "several NVIDIA GPUs", {"libnccl.so.2", "libnccl.so"}},
    {"cuFFT",
     "cufftCreate",
     "Fourier transforms on NVIDIA GPUs",
     {"libcufft.so.12", "libcufft.so.11", "libcufft.so"}},
    {"OpenCL",
     "clGetPlatformIDs",
     "other GPUs",
     {"libOpenCL.so.1", "libOpenCL.so", "/System/Library/Frameworks/OpenCL.framework/OpenCL"}},
    {"oneDNN", "dnnl_version", "faster kernels on CPUs", {"libdnnl.so.3", "libdnnl.so"}},
    {"zlib", "zlibVersion", "compressed data", {"libz.so.1", "libz.dylib"}},
};

static void look_for_library(const optional_library *l) {
    const char *why = "";
    for (size_t i = 0; i < sizeof l->names / sizeof *l->names && l->names[i]; i++) {
        void *library = dlopen(l->names[i], RTLD_LAZY | RTLD_LOCAL);
        if (!library) {
            const char *error = dlerror();
            if (i == 0 && error) why = l->names[0];
            continue;
        }
        printf("  %-12s %s (%s)\n", l->what, origin(library, l->symbol, l->names[i]), l->purpose);
        dlclose(library);
        return;
    }
    printf("  %-12s not found: %s does not load (%s)\n", l->what, why, l->purpose);
}

static void look_for_mpi(void) {
    char text[1400];
    if (mica_mpi_describe(text, sizeof text))
        printf("  %-12s %s (several processes)\n", "MPI", text);
    else
        printf("  %-12s not found: %s (several processes meet by their addresses)\n", "MPI", text);
}

static void look_for_lapack(void) {
    char text[1100];
    if (mica_lapack_describe(text, sizeof text))
        printf("  %-12s %s (linear algebra)\n", "LAPACK", text);
    else
        printf("  %-12s not used: %s (linear algebra by built-in versions)\n", "LAPACK", text);
}

/* ---- devices
 * ------------------------------------------------------------------------------------*/

static int check_device(const char *name) {
    mica_device *device = NULL;
    mica_status status = mica_device_open(name, &device);
    if (status) {
        printf("  %-10s %s: %s\n", "FAILED", name, mica_status_message(status));
        mica_status_release(status);
        return 1;
    }
    int disagreements = cli_self_check(device);
    mica_device_release(device);
    return disagreements;
}

static int check_all(void) {
    mica_device_info info = {.size = sizeof info};
    int disagreements = 0;
    for (int32_t i = 0; mica_device_enumerate(i, &info); i++) {
        if (info.available && strncmp(info.name, "ref", 3))
            disagreements += check_device(info.name);
        info.size = sizeof info;
    }
    return disagreements;
}

int cli_doctor(int argc, char **argv) {
    const char *only = NULL;
    if (argc == 2 && !strcmp(argv[0], "--device"))
        only = argv[1];
    else if (argc > 0)
        return cli_usage("doctor: unknown argument '%s'", argv[0]);
    printf("mica %s, %d threads\n\ndevices\n", mica_version(), mica_threads());
    mica_device_info info = {.size = sizeof info};
    for (int32_t i = 0; mica_device_enumerate(i, &info); i++) {
        printf("  %-12s %s%s\n", info.name,
               info.available ? "" : "not available: ", info.description);
        info.size = sizeof info;
    }
    printf("\nfound on this machine\n");
    look_for_compiler();
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        look_for_library(&libraries[i]);
    look_for_lapack();
    look_for_mpi();
    printf("\nnumbers, against the reference\n");
    int disagreements = only ? check_device(only) : check_all();
    if (!disagreements) printf("\nAll is well.\n");
    return disagreements ? CLI_FAILED : CLI_DONE;
}
