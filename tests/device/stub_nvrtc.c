/* A stand-in for NVRTC: CUDA C that keeps to codegen/prelude/kernel.h is compiled as plain C by the
 * machine's compiler. Without one (or with STUB_CUDA_CC=none) it compiles nothing, and launches
 * compute nothing. A text is compiled once per process. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stub_cuda.h"

typedef struct compiled {
    struct compiled *next;
    uint64_t hash;
    int result;
    stub_image *image;
    char log[2000];
} compiled;

typedef struct program {
    char *source;
    int n_headers;
    char **headers, **names;
    const compiled *done;
} program;

static compiled *cache;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- files ------------------------------------------------------------------------------------*/

static int write_file(const char *path, const char *bytes, size_t n) {
    FILE *file = fopen(path, "wb");
    if (!file) return 0;
    size_t written = fwrite(bytes, 1, n, file);
    return (fclose(file) == 0) & (written == n);
}

static char *read_file(const char *path, size_t *out_bytes) {
    FILE *file = fopen(path, "rb");
    *out_bytes = 0;
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    long n = ftell(file);
    rewind(file);
    char *bytes = n >= 0 ? calloc(1, (size_t)n + 1) : NULL;
    if (bytes) *out_bytes = fread(bytes, 1, (size_t)n, file);
    fclose(file);
    return bytes;
}

/* With the folders that its name has. */
static int write_named(const char *folder, const char *name, const char *text) {
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash;
         slash = strchr(slash + 1, '/'))
        *slash = 0, mkdir(path, 0700), *slash = '/';
    return write_file(path, text, strlen(text));
}

static int run(const char *format, const char *folder) {
    char command[2000];
    snprintf(command, sizeof command, format, folder, folder, folder, folder);
    return system(command);
}

/* ---- compiling --------------------------------------------------------------------------------*/

/* Without the compiler's own knowledge of libm, as the library's other compilers. */
static const char command_line[] =
    "cc -std=gnu11 -O1 -march=native -w -fPIC -shared -ffp-contract=off -fno-math-errno "
    "-fno-trapping-math -fno-builtin -D_REENTRANT -I%s -o %s/unit.so %s/unit.c -lm > %s/log 2>&1";

static void compile_in(const char *folder, const program *p, compiled *out) {
    char path[600];
    size_t bytes = 0;
    int written = write_named(folder, "unit.c", p->source);
    for (int i = 0; i < p->n_headers; i++)
        written &= write_named(folder, p->names[i], p->headers[i]);
    int failed = !written || run(command_line, folder) != 0;
    snprintf(path, sizeof path, "%s/%s", folder, failed ? "log" : "unit.so");
    char *content = read_file(path, &bytes);
    if (failed || !content) {
        out->result = CANNOT_COMPILE;
        snprintf(out->log, sizeof out->log, "%s", content ? content : "the compiler did not run");
    } else {
        out->image = calloc(1, sizeof *out->image + bytes);
        memcpy(out->image->magic, STUB_MAGIC, 8);
        memcpy(out->image->object, content, bytes);
        out->image->bytes = bytes;
    }
    free(content);
}

static uint64_t hash_of(const char *text) {
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 1099511628211u;
    return hash;
}

static const compiled *compile(const program *p) {
    uint64_t hash = hash_of(p->source);
    pthread_mutex_lock(&lock);
    compiled *c = cache;
    while (c && c->hash != hash) c = c->next;
    if (!c) {
        char folder[] = "/tmp/mica-stub-XXXXXX";
        c = calloc(1, sizeof *c);
        c->hash = hash;
        if (mkdtemp(folder)) {
            compile_in(folder, p, c);
            run("rm -rf %s", folder);
        } else {
            c->result = CANNOT_COMPILE;
        }
        c->next = cache;
        cache = c;
    }
    pthread_mutex_unlock(&lock);
    return c;
}

/* ---- the library ------------------------------------------------------------------------------*/

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
    BEGIN;
    architectures[0] = 75, architectures[1] = 90;
    return OK;
}
API(nvrtcCreateProgram, program **out, const char *source, const char *name, int n,
    const char *const *headers, const char *const *names) {
    BEGIN;
    (void)name;
    program *p = *out = calloc(1, sizeof *p);
    p->source = strdup(source);
    p->n_headers = n;
    p->headers = calloc((size_t)n + 1, sizeof *p->headers);
    p->names = calloc((size_t)n + 1, sizeof *p->names);
    for (int i = 0; i < n; i++) p->headers[i] = strdup(headers[i]), p->names[i] = strdup(names[i]);
    stub_count(1);
    return OK;
}
API(nvrtcDestroyProgram, program **out) {
    program *p = *out;
    for (int i = 0; i < p->n_headers; i++) free(p->headers[i]), free(p->names[i]);
    free(p->headers);
    free(p->names);
    free(p->source);
    free(p);
    *out = NULL;
    stub_count(-1);
    return OK;
}
API(nvrtcCompileProgram, program *p, int n, const char *const *options) {
    BEGIN;
    (void)n, (void)options;
    p->done = compile(p);
    return p->done->result;
}
API(nvrtcGetProgramLogSize, program *p, size_t *bytes) {
    BEGIN;
    *bytes = p->done ? strlen(p->done->log) + 1 : 1;
    return OK;
}
API(nvrtcGetProgramLog, program *p, char *log) {
    BEGIN;
    strcpy(log, p->done ? p->done->log : "");
    return OK;
}
API(nvrtcGetCUBINSize, program *p, size_t *bytes) {
    BEGIN;
    *bytes = sizeof *p->done->image + p->done->image->bytes;
    return OK;
}
API(nvrtcGetCUBIN, program *p, char *out) {
    BEGIN;
    memcpy(out, p->done->image, sizeof *p->done->image + p->done->image->bytes);
    return OK;
}
API(nvrtcGetPTXSize, program *p, size_t *bytes) {
    return nvrtcGetCUBINSize(p, bytes);
}
API(nvrtcGetPTX, program *p, char *out) {
    return nvrtcGetCUBIN(p, out);
}
