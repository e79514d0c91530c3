/* CUDA C compiled by NVRTC. */
#include <stdio.h>
#include <string.h>

#include "device/cuda/cuda.h"

#define MOST_HEADERS 32

/* ---- NVRTC ---------------------------------------------------------------------------------- */

/* The device's own architecture when NVRTC knows it, else the newest virtual one below it. */
static mica_status choose_architecture(const mica_cuda_nvrtc_api *nvrtc, int32_t capability,
                                       char *option, size_t size, bool *out_virtual) {
    int known[128], count = 0, best = 0;
    if (nvrtc->architecture_count(&count) != NVRTC_SUCCESS || count < 1 || count > 128 ||
        nvrtc->architectures(known) != NVRTC_SUCCESS) {
        return MICA_ERROR(MICA_UNSUPPORTED, "[cuda] NVRTC does not list its architectures");
    }
    for (int i = 0; i < count; i++) {
        if (known[i] <= capability && known[i] > best) best = known[i];
    }
    if (!best) {
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[cuda] NVRTC cannot compile for compute capability %d.%d",
                          capability / 10, capability % 10);
    }
    *out_virtual = best != capability;
    snprintf(option, size, "--gpu-architecture=%s_%d", *out_virtual ? "compute" : "sm", best);
    return NULL;
}

static mica_status compile_error(const mica_cuda_nvrtc_api *nvrtc, nvrtcProgram program,
                                 nvrtcResult result) {
    size_t bytes = 0;
    if (result == NVRTC_ERROR_OUT_OF_MEMORY) return MICA_NO_MEMORY();
    if (nvrtc->log_size(program, &bytes) != NVRTC_SUCCESS || bytes == 0) bytes = 1;
    char *log = mica_calloc(bytes + 1, 1);
    if (!log) return MICA_NO_MEMORY();
    nvrtc->log(program, log);
    mica_status status = MICA_ERROR(MICA_INTERNAL, "[cuda] NVRTC error %d: %.600s", result, log);
    mica_free(log);
    return status;
}

static mica_status take_image(const mica_cuda_nvrtc_api *nvrtc, nvrtcProgram program, bool ptx,
                              char **out_image, size_t *out_bytes) {
    size_t bytes = 0;
    nvrtcResult result =
        ptx ? nvrtc->ptx_size(program, &bytes) : nvrtc->cubin_size(program, &bytes);
    if (result != NVRTC_SUCCESS) return compile_error(nvrtc, program, result);
    char *image = mica_alloc(bytes ? bytes : 1);
    if (!image) return MICA_NO_MEMORY();
    result = ptx ? nvrtc->ptx(program, image) : nvrtc->cubin(program, image);
    if (result != NVRTC_SUCCESS) {
        mica_free(image);
        return compile_error(nvrtc, program, result);
    }
    *out_image = image;
    *out_bytes = bytes;
    return NULL;
}

mica_status mica_cuda_compile(const char *source, int32_t capability, char **out_image,
                              size_t *out_bytes) {
    const mica_cuda_nvrtc_api *nvrtc;
    *out_image = NULL;
    *out_bytes = 0;
    MICA_TRY(mica_cuda_load_nvrtc(&nvrtc));
    char architecture[48];
    bool ptx = false;
    MICA_TRY(choose_architecture(nvrtc, capability, architecture, sizeof architecture, &ptx));
    /* One mathematics: the arithmetic of the host, to the last bit. */
    const char *const options[] = {architecture,
                                   "--fmad=false",
                                   "--ftz=false",
                                   "--prec-div=true",
                                   "--prec-sqrt=true",
                                   "--std=c++17",
                                   "--device-as-default-execution-space"};
    const char *texts[MOST_HEADERS], *names[MOST_HEADERS];
    if (mica_embedded_header_count > MOST_HEADERS) {
        return MICA_ERROR(MICA_INTERNAL, "[cuda] %d headers are too many",
                          mica_embedded_header_count);
    }
    for (int32_t i = 0; i < mica_embedded_header_count; i++) {
        texts[i] = mica_embedded_headers[i].text;
        names[i] = mica_embedded_headers[i].name;
    }
    nvrtcProgram program = NULL;
    nvrtcResult result =
        nvrtc->create(&program, source, "mica.cu", mica_embedded_header_count, texts, names);
    if (result != NVRTC_SUCCESS) {
        return MICA_ERROR(MICA_INTERNAL, "[cuda] NVRTC takes no program: error %d", result);
    }
    result = nvrtc->compile(program, sizeof options / sizeof *options, options);
    mica_status status = result != NVRTC_SUCCESS
                             ? compile_error(nvrtc, program, result)
                             : take_image(nvrtc, program, ptx, out_image, out_bytes);
    nvrtc->destroy(&program);
    return status;
}
