/* A stand-in for the CUDA driver library on machines without a GPU: enough of it, on host memory,
 * to walk every path of device/cuda. A module is a shared object that stub_nvrtc.c compiled; a
 * launch runs its blocks one after the other, at once; a graph keeps what was recorded. The
 * environment variable STUB_CUDA says what goes wrong:
 *     no-device        there is none
 *     init             the driver does not start
 *     late             launches fail later, as an illegal address does
 *     call:<name>:<n>  the n-th call of the function fails with "unknown error" */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stub_cuda.h"

typedef uint64_t address;
static const size_t memory_limit = (size_t)1 << 30;

static int broken;  /* an ILLEGAL_ADDRESS came up: everything answers it from now on */
static int pending; /* a launch failed, and nobody knows yet */
static int objects; /* live contexts, streams, events, modules, graphs, blocks, programs */
static int launches;
static int failures; /* that the plan asked for */

static const char *plan(void) {
    const char *text = getenv("STUB_CUDA");
    return text ? text : "";
}
int stub_fails(const char *name) {
    static char counted[64];
    static int count;
    char wanted[64] = "";
    int n = 0;
    if (sscanf(plan(), "call:%63[^:]:%d", wanted, &n) != 2 || strcmp(wanted, name) != 0) return 0;
    if (strcmp(counted, plan()) != 0) count = 0, snprintf(counted, sizeof counted, "%s", plan());
    if (++count != n) return 0;
    failures++;
    return 1;
}
int stub_is_broken(void) {
    return broken;
}
void stub_count(int change) {
    __atomic_add_fetch(&objects, change, __ATOMIC_SEQ_CST);
}
/* Waiting is when a late failure comes out. */
static int wait_for_all(void) {
    if (pending) broken = pending;
    return broken;
}

/* What the tests ask. */
EXPORT int stub_objects(void);
EXPORT int stub_launches(void);
EXPORT int stub_failures(void);
EXPORT void stub_repair(void);
int stub_objects(void) {
    return objects;
}
int stub_launches(void) {
    return launches;
}
int stub_failures(void) {
    return failures;
}
void stub_repair(void) {
    broken = pending = launches = failures = 0;
}

/* ---- commands ---------------------------------------------------------------------------------*/

typedef struct function {
    struct function *next; /* of the same module */
    void (*run)(void **arguments, int64_t block, int64_t blocks, int64_t threads);
    int64_t bytes; /* of its argument */
} function;

typedef struct module {
    void *library;
    function *functions;
} module;

typedef struct command {
    struct command *next;
    enum { LAUNCH, CALL, COPY, FILL } kind;
    void (*call)(const void *argument);
    address target, source;
    size_t bytes;
    int value;
    const function *function;
    unsigned blocks, threads;
    char argument[];
} command;

/* What is recorded, in order. Some stream records, or none does. */
static struct {
    int on;
    void *stream;
    command *first, **last;
} recording;

static void execute(const command *c) {
    void *arguments[] = {(void *)(uintptr_t)c->argument};
    switch (c->kind) {
    case LAUNCH:
        launches++;
        for (unsigned b = 0; b < c->blocks; b++)
            c->function->run(arguments, b, c->blocks, c->threads);
        break;
    case CALL:
        launches++;
        c->call(c->argument);
        break;
    case COPY:
        memmove((void *)(uintptr_t)c->target, (const void *)(uintptr_t)c->source, c->bytes);
        break;
    case FILL: memset((void *)(uintptr_t)c->target, c->value, c->bytes); break;
    }
}

/* Now, or when the graph is launched. */
static int submit(command *c) {
    if (!recording.on) {
        execute(c);
        free(c);
        return OK;
    }
    *recording.last = c;
    recording.last = &c->next;
    return OK;
}

int stub_submit(void (*run)(const void *argument), const void *argument, size_t bytes) {
    command *c = calloc(1, sizeof *c + bytes);
    *c = (command){.kind = CALL, .call = run};
    memcpy(c->argument, argument, bytes);
    return submit(c);
}

static void free_commands(command *c) {
    while (c) {
        command *next = c->next;
        free(c);
        c = next;
    }
}

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
    stub_count(1);
    *context = &objects;
    return OK;
}
API(cuDevicePrimaryCtxRelease_v2, int device) {
    (void)device;
    stub_count(-1);
    return OK;
}
API(cuCtxPushCurrent_v2, void *context) {
    (void)context;
    if (stub_fails(__func__)) return UNKNOWN;
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
    stub_count(1);
    *out = (address)(uintptr_t)block;
    return OK;
}
API(cuMemFree_v2, address block) {
    stub_count(-1);
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
    command *c = calloc(1, sizeof *c);
    *c = (command){.kind = COPY, .target = target, .source = source, .bytes = bytes};
    return submit(c);
}
API(cuMemsetD8Async, address target, unsigned char value, size_t bytes, void *stream) {
    BEGIN;
    (void)stream;
    command *c = calloc(1, sizeof *c);
    *c = (command){.kind = FILL, .target = target, .value = value, .bytes = bytes};
    return submit(c);
}
static int make(void **out) {
    stub_count(1);
    *out = malloc(1);
    return OK;
}
static int destroy(void *object) {
    stub_count(-1);
    free(object);
    return OK;
}
API(cuStreamCreate, void **stream, unsigned flags) {
    BEGIN;
    (void)flags;
    return make(stream);
}
/* A recording that was not ended goes with its stream. */
API(cuStreamDestroy_v2, void *stream) {
    if (recording.on && recording.stream == stream) {
        free_commands(recording.first);
        recording.on = 0;
    }
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
API(cuModuleLoadData, module **out, const stub_image *image) {
    BEGIN;
    char path[] = "/tmp/mica-stub-XXXXXX";
    if (memcmp(image->magic, STUB_MAGIC, 8) != 0) return UNKNOWN;
    int file = mkstemp(path);
    if (file < 0) return UNKNOWN;
    int whole = write(file, image->object, image->bytes) == (ssize_t)image->bytes;
    close(file);
    void *library = whole ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    unlink(path);
    if (!library) return UNKNOWN;
    *out = calloc(1, sizeof **out);
    (*out)->library = library;
    stub_count(1);
    return OK;
}
API(cuModuleUnload, module *m) {
    for (function *f = m->functions; f;) {
        function *next = f->next;
        free(f);
        f = next;
    }
    dlclose(m->library);
    return destroy(m);
}
API(cuModuleGetFunction, function **out, module *m, const char *name) {
    BEGIN;
    char bytes_name[120];
    snprintf(bytes_name, sizeof bytes_name, "%s_bytes", name);
    void *run = dlsym(m->library, name);
    const int64_t *bytes = dlsym(m->library, bytes_name);
    if (!run || !bytes) return UNKNOWN;
    function *f = calloc(1, sizeof *f);
    memcpy(&f->run, &run, sizeof run);
    f->bytes = *bytes;
    f->next = m->functions;
    m->functions = *out = f;
    return OK;
}
API(cuFuncSetAttribute, const function *f, int attribute, int value) {
    BEGIN;
    (void)f;
    return attribute == 8 && value > 0 && value <= 227 * 1024 ? OK : UNKNOWN;
}
API(cuLaunchKernel, const function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
    unsigned by, unsigned bz, unsigned shared, void *stream, void **arguments, void **extra) {
    BEGIN;
    (void)shared, (void)stream, (void)extra;
    if (gx < 1 || gy != 1 || gz != 1 || bx < 1 || bx > 1024 || by != 1 || bz != 1) return UNKNOWN;
    if (strcmp(plan(), "late") == 0) {
        pending = ILLEGAL_ADDRESS;
        return OK;
    }
    command *c = calloc(1, sizeof *c + (size_t)f->bytes);
    *c = (command){.kind = LAUNCH, .function = f, .blocks = gx, .threads = bx};
    memcpy(c->argument, arguments[0], (size_t)f->bytes);
    return submit(c);
}
API(cuStreamBeginCapture_v2, void *stream, int mode) {
    BEGIN;
    (void)mode;
    recording.on = 1;
    recording.stream = stream;
    recording.first = NULL;
    recording.last = &recording.first;
    return OK;
}
API(cuStreamEndCapture, void *stream, command ***graph) {
    (void)stream;
    command *first = recording.on ? recording.first : NULL;
    recording.on = 0;
    if (broken || stub_fails(__func__)) {
        free_commands(first);
        return broken ? broken : UNKNOWN;
    }
    *graph = malloc(sizeof **graph);
    **graph = first;
    stub_count(1);
    return OK;
}
API(cuGraphInstantiateWithFlags, command ****executable, command **graph,
    unsigned long long flags) {
    BEGIN;
    (void)flags;
    *executable = malloc(sizeof **executable);
    **executable = graph;
    stub_count(1);
    return OK;
}
API(cuGraphLaunch, command ***executable, void *stream) {
    BEGIN;
    (void)stream;
    for (const command *c = **executable; c; c = c->next) execute(c);
    return OK;
}
API(cuGraphExecDestroy, void *executable) {
    return destroy(executable);
}
API(cuGraphDestroy, command **graph) {
    free_commands(*graph);
    return destroy(graph);
}
