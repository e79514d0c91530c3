/* What has no kernel on the GPU is computed by the CPU's: the operands come to the host, the
 * results go back. MICA_LOG=transfer shows each such launch. It waits for the device, so it cannot
 * be recorded. */
#include <string.h>

#include "base/log.h"
#include "device/cpu/kernels.h"
#include "device/cuda/parts.h"
#include "report/report.h"

typedef struct host_kernel {
    cuda_kernel base;
    mica_kernel *cpu;
    const char *name;
    int32_t n_operands, n_results;
    size_t bytes[]; /* of the operands, then of the results */
} host_kernel;

static size_t round_up(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* The operands, the results and the scratch memory are in one block. */
static size_t block_bytes(const host_kernel *k) {
    size_t bytes = round_up(k->cpu->scratch_bytes);
    for (int32_t i = 0; i < k->n_operands + k->n_results; i++) bytes += round_up(k->bytes[i]);
    return bytes;
}

static void lay_out(const host_kernel *k, char *block, void **pointers) {
    size_t at = 0;
    for (int32_t i = 0; i < k->n_operands + k->n_results; i++) {
        pointers[i] = k->bytes[i] ? block + at : NULL;
        at += round_up(k->bytes[i]);
    }
    pointers[k->n_operands + k->n_results] = block + at;
}

static mica_status run(const host_kernel *k, cuda_stream *stream, const mica_address *operands,
                       const mica_address *results, void **pointers) {
    mica_device_stream *base = (mica_device_stream *)stream;
    for (int32_t i = 0; i < k->n_operands; i++)
        if (k->bytes[i]) MICA_TRY(cuda_download(base, pointers[i], operands[i], k->bytes[i]));
    mica_cpu_kernel_run(k->cpu, (const void *const *)pointers, pointers + k->n_operands,
                        pointers[k->n_operands + k->n_results]);
    for (int32_t i = 0; i < k->n_results; i++) {
        int32_t at = k->n_operands + i;
        if (k->bytes[at]) MICA_TRY(cuda_upload(base, results[i], pointers[at], k->bytes[at]));
    }
    return NULL;
}

static mica_status launch_host(const cuda_kernel *kernel, cuda_stream *stream,
                               const mica_address *operands, const mica_address *results,
                               mica_address scratch) {
    const host_kernel *k = (const host_kernel *)kernel;
    (void)scratch;
    if (stream->capturing)
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[%s] is computed on the host and cannot be recorded", k->name);
    size_t n = (size_t)(k->n_operands + k->n_results + 1);
    void **pointers = mica_calloc(n, sizeof *pointers);
    if (!pointers) return MICA_NO_MEMORY();
    size_t bytes = block_bytes(k);
    char *block = mica_alloc_aligned(bytes ? bytes : 1);
    mica_status status = block ? NULL : MICA_NO_MEMORY();
    if (block) {
        lay_out(k, block, pointers);
        mica_log_write(MICA_LOG_TRANSFER, "%s: %s is computed on the host: %zu bytes",
                       stream->device->base.name, k->name, bytes);
        double start = mica_report_is_on() ? mica_clock_seconds() : 0;
        status = run(k, stream, operands, results, pointers);
        if (mica_report_is_on())
            mica_report_host(k->name, "the device has no kernel for it",
                             mica_clock_seconds() - start);
    }
    mica_free_aligned(block);
    mica_free(pointers);
    return status;
}

static void destroy_host(cuda_device *device, cuda_kernel *kernel) {
    (void)device;
    mica_cpu_kernel_destroy(((host_kernel *)kernel)->cpu);
    mica_free(kernel);
}

mica_status cuda_host_create(cuda_device *device, const mica_node *node, cuda_kernel **out_kernel) {
    host_kernel *k;
    (void)device;
    MICA_TRY(cuda_kernel_new(
        sizeof *k + (size_t)(node->n_operands + node->n_results) * sizeof *k->bytes, &k));
    mica_status status = mica_cpu_kernel_create(node, &k->cpu);
    if (status) {
        mica_free(k);
        return status;
    }
    k->base.base.waits = true;
    k->base.launch = launch_host;
    k->base.destroy = destroy_host;
    k->name = mica_op_name(node->op);
    k->n_operands = node->n_operands;
    k->n_results = node->n_results;
    for (int32_t i = 0; i < node->n_operands; i++)
        k->bytes[i] = mica_type_bytes(mica_operand_type(node, i));
    for (int32_t i = 0; i < node->n_results; i++)
        k->bytes[node->n_operands + i] = mica_type_bytes(&node->results[i]);
    *out_kernel = &k->base;
    return NULL;
}
