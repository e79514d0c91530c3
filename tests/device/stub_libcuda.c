/* A stand-in for the CUDA driver library on machines without a GPU: enough of it, on host memory,
 * to walk every path of device/cuda but the computing. A module is any bytes, a launch computes
 * nothing, a graph counts its launches. The environment variable STUB_CUDA says what goes wrong:
 *     no-device        there is none
 *     init             the driver does not start
 *     late             launches fail later, as an illegal address does
 *     call:<name>:<n>  the n-th call of the function fails with "unknown error" */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
typedef uint64_t address;
enum { OK = 0, NO_MEMORY = 2, NO_DEVICE = 100, ILLEGAL_ADDRESS = 700, UNKNOWN = 999 };
static const size_t memory_limit = (size_t)1 << 30;

static int broken;    /* an ILLEGAL_ADDRESS came up: everything answers it from now on */
static int pending;   /* a launch failed, and nobody knows yet */
static int objects;   /* live contexts, streams, events, modules, graphs, blocks */
static int recording; /* whether some stream records */
static int recorded;  /* launches recorded so far */
static int launches;

static const char *plan(void) {
    const char *text = getenv("STUB_CUDA");
    return text ? text : "";
}
static int fails(const char *name) {
    static char counted[64];
    static int count;
    char wanted[64] = "";
    int n = 0;
    if (sscanf(plan(), "call:%63[^:]:%d", wanted, &n) != 2 || strcmp(wanted, name) != 0) return 0;
    if (strcmp(counted, plan()) != 0) count = 0, snprintf(counted, sizeof counted, "%s", plan());
    return ++count == n;
}
#define BEGIN                                                                                      \
    if (broken) return broken;                                                                     \
    if (fails(__func__)) return UNKNOWN
/* Waiting is when a late failure comes out. */
static int wait_for_all(void) {
    if (pending) broken = pending;
    return broken;
}

/* What the tests ask. */
EXPORT int stub_objects(void);
EXPORT int stub_launches(void);
EXPORT void stub_repair(void);
int stub_objects(void) {
    return objects;
}
int stub_launches(void) {
    return launches;
}
void stub_repair(void) {
    broken = pending = launches = 0;
}

#define API(name, ...)                                                                             \
    EXPORT int name(__VA_ARGS__);                                                                  \
    int name(__VA_ARGS__)

API(cuInit, unsigned flags) {
    (void)flags;
    if (strcmp(plan(), "init") == 0) return UNKNOWN;
    return strcmp(plan(), "no-device") == 0 ? NO_DEVICE : OK;
}
API(cuDriverGetVersion, int *version) {
    *version = 13000;
    return OK;
}
API(cuGetErrorName, int result, const char **text) {
    *text = result == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_UNKNOWN";
    return OK;
}
API(cuGetErrorString, int result, const char **text) {
    (void)result;
    *text = "stub";
    return OK;
}
API(cuDeviceGetCount, int *count) {
    BEGIN;
    *count = 1;
    return OK;
}
API(cuDeviceGet, int *device, int ordinal) {
    BEGIN;
    *device = ordinal;
    return OK;
}
API(cuDeviceGetName, char *name, int capacity, int device) {
    (void)device;
    snprintf(name, (size_t)capacity, "stub");
    return OK;
}
API(cuDeviceTotalMem_v2, size_t *bytes, int device) {
    (void)device;
    *bytes = memory_limit;
    return OK;
}
API(cuDeviceGetAttribute, int *value, int attribute, int device) {
    (void)device;
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : 2;
    return OK;
}
API(cuDevicePrimaryCtxRetain, void **context, int device) {
    BEGIN;
    (void)device;
    objects++;
    *context = &objects;
    return OK;
}
API(cuDevicePrimaryCtxRelease_v2, int device) {
    (void)device;
    objects--;
    return OK;
}
API(cuCtxPushCurrent_v2, void *context) {
    (void)context;
    if (fails(__func__)) return UNKNOWN;
    return OK;
}
API(cuCtxPopCurrent_v2, void **context) {
    *context = NULL;
    return OK;
}
API(cuMemAlloc_v2, address *out, size_t bytes) {
    BEGIN;
    if (bytes > memory_limit) return NO_MEMORY;
    void *block = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!block) return NO_MEMORY;
    objects++;
    *out = (address)(uintptr_t)block;
    return OK;
}
API(cuMemFree_v2, address block) {
    objects--;
    free((void *)(uintptr_t)block);
    return OK;
}
API(cuPointerGetAttribute, void *data, int attribute, address pointer) {
    (void)data, (void)attribute, (void)pointer;
    return UNKNOWN;
}
API(cuMemcpyHtoDAsync_v2, address target, const void *source, size_t bytes, void *stream) {
    BEGIN;
    (void)stream;
    memcpy((void *)(uintptr_t)target, source, bytes);
    return OK;
}
API(cuMemcpyDtoHAsync_v2, void *target, address source, size_t bytes, void *stream) {
    BEGIN;
    (void)stream;
    memcpy(target, (const void *)(uintptr_t)source, bytes);
    return OK;
}
API(cuMemcpyDtoDAsync_v2, address target, address source, size_t bytes, void *stream) {
    BEGIN;
    (void)stream;
    memcpy((void *)(uintptr_t)target, (const void *)(uintptr_t)source, bytes);
    return OK;
}
API(cuMemsetD8Async, address target, unsigned char value, size_t bytes, void *stream) {
    BEGIN;
    (void)stream;
    memset((void *)(uintptr_t)target, value, bytes);
    return OK;
}
static int make(void **out) {
    objects++;
    *out = malloc(1);
    return OK;
}
static int destroy(void *object) {
    objects--;
    free(object);
    return OK;
}
API(cuStreamCreate, void **stream, unsigned flags) {
    BEGIN;
    (void)flags;
    return make(stream);
}
API(cuStreamDestroy_v2, void *stream) {
    return destroy(stream);
}
API(cuStreamSynchronize, void *stream) {
    BEGIN;
    (void)stream;
    return wait_for_all();
}
API(cuStreamWaitEvent, void *stream, void *event, unsigned flags) {
    BEGIN;
    (void)stream, (void)event, (void)flags;
    return OK;
}
API(cuEventCreate, void **event, unsigned flags) {
    BEGIN;
    (void)flags;
    return make(event);
}
API(cuEventDestroy_v2, void *event) {
    return destroy(event);
}
API(cuEventRecord, void *event, void *stream) {
    BEGIN;
    (void)event, (void)stream;
    return OK;
}
API(cuEventQuery, void *event) {
    BEGIN;
    (void)event;
    return wait_for_all();
}
API(cuEventSynchronize, void *event) {
    BEGIN;
    (void)event;
    return wait_for_all();
}
API(cuEventElapsedTime, float *milliseconds, void *start, void *end) {
    BEGIN;
    (void)start, (void)end;
    *milliseconds = 1;
    return OK;
}
API(cuModuleLoadData, void **module, const void *image) {
    BEGIN;
    (void)image;
    return make(module);
}
API(cuModuleUnload, void *module) {
    return destroy(module);
}
API(cuModuleGetFunction, void **function, void *module, const char *name) {
    BEGIN;
    *function = module;
    return strcmp(name, "map") == 0 ? OK : UNKNOWN;
}
API(cuLaunchKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
    unsigned bz, unsigned shared, void *stream, void **arguments, void **extra) {
    BEGIN;
    (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
    (void)stream, (void)arguments, (void)extra;
    if (recording)
        recorded++;
    else
        launches++;
    if (strcmp(plan(), "late") == 0) pending = ILLEGAL_ADDRESS;
    return OK;
}
API(cuStreamBeginCapture_v2, void *stream, int mode) {
    BEGIN;
    (void)stream, (void)mode;
    recording = 1;
    recorded = 0;
    return OK;
}
API(cuStreamEndCapture, void *stream, void **graph) {
    recording = 0;
    BEGIN;
    (void)stream;
    return make(graph);
}
API(cuGraphInstantiateWithFlags, void **executable, void *graph, unsigned long long flags) {
    BEGIN;
    (void)graph, (void)flags;
    return make(executable);
}
API(cuGraphLaunch, void *executable, void *stream) {
    BEGIN;
    (void)executable, (void)stream;
    launches += recorded;
    return OK;
}
API(cuGraphExecDestroy, void *executable) {
    return destroy(executable);
}
API(cuGraphDestroy, void *graph) {
    return destroy(graph);
}

/* ---- NVRTC ---------------------------------------------------------------------------------- */

static const char image[] = "image";
API(nvrtcVersion, int *major, int *minor) {
    *major = 13, *minor = 0;
    return OK;
}
API(nvrtcGetNumSupportedArchs, int *count) {
    BEGIN;
    *count = 2;
    return OK;
}
API(nvrtcGetSupportedArchs, int *architectures) {
    architectures[0] = 75, architectures[1] = 90;
    return OK;
}
API(nvrtcCreateProgram, void **program, const char *source, const char *name, int n,
    const char *const *headers, const char *const *names) {
    BEGIN;
    (void)name, (void)n, (void)headers, (void)names;
    make(program);
    *(char *)*program = strstr(source, "#error") != NULL;
    return OK;
}
API(nvrtcDestroyProgram, void **program) {
    return destroy(*program);
}
API(nvrtcCompileProgram, void *program, int n, const char *const *options) {
    BEGIN;
    (void)n, (void)options;
    return *(char *)program ? 6 : OK;
}
API(nvrtcGetProgramLogSize, void *program, size_t *bytes) {
    (void)program;
    *bytes = 9;
    return OK;
}
API(nvrtcGetProgramLog, void *program, char *log) {
    (void)program;
    memcpy(log, "no sense", 9);
    return OK;
}
API(nvrtcGetCUBINSize, void *program, size_t *bytes) {
    BEGIN;
    (void)program;
    *bytes = sizeof image;
    return OK;
}
API(nvrtcGetCUBIN, void *program, char *out) {
    BEGIN;
    (void)program;
    memcpy(out, image, sizeof image);
    return OK;
}
API(nvrtcGetPTXSize, void *program, size_t *bytes) {
    return nvrtcGetCUBINSize(program, bytes);
}
API(nvrtcGetPTX, void *program, char *out) {
    return nvrtcGetCUBIN(program, out);
}
