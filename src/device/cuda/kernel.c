/* Who makes the kernel of a node: the first that takes it, else the host. */
#include "device/cuda/attention.h"
#include "device/cuda/parts.h"

mica_status cuda_kernel_new(size_t bytes, void *out_kernel) {
    void *kernel = mica_calloc(1, bytes);
    *(void **)out_kernel = kernel;
    return kernel ? NULL : MICA_NO_MEMORY();
}

int64_t cuda_blocks(const cuda_device *device, int64_t n) {
    int64_t blocks = (n + CUDA_THREADS - 1) / CUDA_THREADS;
    int64_t most = (int64_t)device->multiprocessors * CUDA_BLOCKS_PER_MULTIPROCESSOR;
    return blocks < most ? blocks : most;
}

static const struct {
    bool (*takes)(const mica_node *node);
    mica_status (*create)(cuda_device *device, const mica_node *node, cuda_kernel **out_kernel);
} creators[] = {
    {cuda_attention_takes, cuda_attention_create}, {cuda_element_takes, cuda_element_create},
    {cuda_move_takes, cuda_move_create},           {cuda_index_takes, cuda_index_create},
    {cuda_reduce_takes, cuda_reduce_create},       {cuda_window_takes, cuda_window_create},
    {cuda_count_takes, cuda_count_create},         {cuda_contract_takes, cuda_contract_create},
};
enum { N_CREATORS = sizeof creators / sizeof *creators };

static bool is_array(const mica_type *type) {
    return type->kind == MICA_TENSOR && mica_type_elements(type) > 0;
}

/* Arrays of nothing are not worth a kernel of their own. */
static int find_creator(const mica_node *node) {
    int i = 0;
    if (node->op >= MICA_OP_COUNT || node->n_results < 1) return N_CREATORS;
    for (int32_t k = 0; k < node->n_operands; k++)
        if (!is_array(mica_operand_type(node, k))) return N_CREATORS;
    for (int32_t k = 0; k < node->n_results; k++)
        if (!is_array(&node->results[k])) return N_CREATORS;
    while (i < N_CREATORS && !creators[i].takes(node)) i++;
    return i;
}

bool mica_cuda_has_kernel(const mica_node *node) {
    return find_creator(node) < N_CREATORS;
}

mica_status cuda_kernel_create(mica_device *base, const mica_node *node, mica_kernel **out_kernel) {
    cuda_device *device = (cuda_device *)base;
    cuda_kernel *kernel = NULL;
    *out_kernel = NULL;
    int i = find_creator(node);
    MICA_TRY(i < N_CREATORS ? creators[i].create(device, node, &kernel)
                            : cuda_host_create(device, node, &kernel));
    *out_kernel = &kernel->base;
    return NULL;
}

void cuda_kernel_destroy(mica_device *base, mica_kernel *base_kernel) {
    cuda_device *device = (cuda_device *)base;
    cuda_kernel *kernel = (cuda_kernel *)base_kernel;
    cuda_module *module = kernel->module;
    if (kernel->destroy)
        kernel->destroy(device, kernel);
    else
        mica_free(kernel);
    cuda_module_release(device, module);
}

mica_status cuda_launch(mica_device_stream *stream, const mica_kernel *base_kernel,
                        const mica_address *operands, const mica_address *results,
                        mica_address scratch) {
    const cuda_kernel *kernel = (const cuda_kernel *)base_kernel;
    return kernel->launch(kernel, (cuda_stream *)stream, operands, results, scratch);
}
