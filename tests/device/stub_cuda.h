/* tests/device/stub_cuda.h: between the parts of the stand-in for the CUDA libraries. */
#ifndef MICA_TESTS_STUB_CUDA_H
#define MICA_TESTS_STUB_CUDA_H

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define API(name, ...)                                                                             \
    EXPORT int name(__VA_ARGS__);                                                                  \
    int name(__VA_ARGS__)

enum {
    OK = 0,
    NO_MEMORY = 2,
    NO_DEVICE = 100,
    CANNOT_COMPILE = 6,
    ILLEGAL_ADDRESS = 700,
    UNKNOWN = 999
};

/* Whether the plan in STUB_CUDA says that this call fails. */
EXPORT int stub_fails(const char *name);
EXPORT int stub_is_broken(void); /* the error that everything answers from now on; 0: none */
/* Runs a function of the bytes at `argument`: now, or whenever what is being recorded is replayed.
 */
EXPORT int stub_submit(void (*run)(const void *argument), const void *argument, size_t bytes);
/* Objects that are alive. */
EXPORT void stub_count(int change);

/* A compiled program as bytes: a shared object behind its size. */
typedef struct stub_image {
    char magic[8];
    uint64_t bytes;
    char object[];
} stub_image;
#define STUB_MAGIC "stubcuda"

#define BEGIN                                                                                      \
    if (stub_is_broken()) return stub_is_broken();                                                 \
    if (stub_fails(__func__)) return UNKNOWN

#endif
