/* tests/device/open_stub.h: the stand-in for CUDA's libraries (stub_libcuda.c), for tests that set
 * what goes wrong. */
#ifndef MICA_TESTS_OPEN_STUB_H
#define MICA_TESTS_OPEN_STUB_H

#include <stdlib.h>

#include "base/platform.h"
#include "device/cuda/cuda.h"
#include "test.h"

/* Loads it with a plan of what goes wrong; the caller gives it to mica_library_keep when it has
 * what it needs of it. NULL, and the test is skipped, when it is not there. */
static inline mica_library *open_stub(const char *plan) {
    mica_library *library = NULL;
    setenv("MICA_CUDA_DRIVER", MICA_STUB_FOLDER "/libnvrtc.so", 1);
    setenv("MICA_CUDA_PATH", MICA_STUB_FOLDER, 1);
    setenv("STUB_CUDA", plan, 1);
    mica_cuda_forget();
    mica_status status = mica_library_open(MICA_STUB_FOLDER "/libnvrtc.so", &library);
    if (status) {
        test_skip(mica_status_message(status));
        mica_status_release(status);
        return NULL;
    }
    return library;
}

#endif
