/* Runs without the bookkeeping of a run: see direct.h. */
#include "runtime/direct.h"

enum { MOST_PLACES = 16 }; /* so that addresses fit on the stack */

void mica_direct_prepare(mica_executable *exe) {
    const mica_plan *plan = exe->first.plan;
    exe->is_direct = false;
    if (!plan || exe->source || exe->second || exe->first.reference || exe->first.report ||
        !exe->device->vtable->synchronous || !exe->first.is_small || !exe->first.cannot_fail ||
        exe->n_outputs != 1 || plan->n_bases > MOST_PLACES || plan->most_operands > MOST_PLACES)
        return;
    for (int32_t i = 0; i < plan->commands.n; i++)
        if (plan->commands.data[i].kind != MICA_COMMAND_LAUNCH) return;
    exe->is_direct = true;
    exe->result_bytes = mica_type_bytes(&exe->output_types[0]);
    exe->arena_bytes = mica_executable_arena_bytes(exe);
}

/* Tensor, buffer and arena, all or nothing. */
mica_tensor *mica_direct_take(const mica_executable *exe, mica_buffer **out_arena) {
    mica_device *device = exe->device;
    mica_buffer *buffer = mica_pool_take(device, exe->result_bytes);
    mica_buffer *arena = exe->arena_bytes ? mica_pool_take(device, exe->arena_bytes) : NULL;
    mica_tensor *tensor = buffer ? mica_tensor_take(device) : NULL;
    if (!buffer || !tensor || (exe->arena_bytes && !arena)) {
        if (buffer) mica_pool_return(buffer);
        if (arena) mica_pool_return(arena);
        if (tensor) mica_tensor_give(device, tensor);
        return NULL;
    }
    *out_arena = arena;
    tensor->references.count = 1;
    tensor->views = tensor->consumed = 0;
    tensor->device = device;
    tensor->buffer = buffer;
    tensor->ready = NULL;
    tensor->staging = NULL;
    tensor->staging_written = false;
    tensor->host_side = NULL;
    tensor->bytes = exe->result_bytes;
    tensor->type = exe->output_types[0];
    __atomic_store_n(&buffer->tensor, tensor, __ATOMIC_RELEASE);
    mica_device_retain(device);
    return tensor;
}

static inline mica_address address_of(const mica_address *bases, mica_place place) {
    return place.base < 0 ? 0 : bases[place.base] + (mica_address)place.offset;
}

static mica_status launch_all(const mica_executable *exe, mica_tensor *const *operands,
                              const mica_tensor *result, const mica_buffer *arena) {
    mica_device *device = exe->device;
    mica_address bases[MOST_PLACES], addresses[MOST_PLACES], *next = bases;
    mica_device_stream *handle;
    MICA_TRY(mica_stream_handle(&device->runtime->stream, &handle));
    *next++ = arena ? arena->address : 0;
    *next++ = exe->first.constants ? exe->first.constants->address : 0;
    for (int32_t i = 0; i < exe->n_inputs; i++) *next++ = operands[i]->buffer->address;
    *next++ = result->buffer->address;
    for (int32_t i = 0; i < exe->first.plan->commands.n; i++) {
        const mica_command *c = &exe->first.plan->commands.data[i];
        mica_address *results = addresses + c->n_operands;
        for (int32_t k = 0; k < c->n_operands; k++)
            addresses[k] = address_of(bases, c->operands[k]);
        for (int32_t k = 0; k < c->n_results; k++) results[k] = address_of(bases, c->results[k]);
        MICA_TRY(device->vtable->launch(handle, c->kernel, addresses, results,
                                        address_of(bases, c->scratch)));
    }
    return NULL;
}

mica_status mica_direct_launch(const mica_executable *exe, mica_tensor *const *operands,
                               mica_tensor *result, mica_buffer *arena) {
    mica_status status = launch_all(exe, operands, result, arena);
    mica_stream_disown(&exe->device->runtime->stream);
    if (arena) mica_buffer_release(arena);
    if (status) mica_tensor_release(result);
    return status;
}

bool mica_direct_run(mica_executable *exe, mica_tensor *const *operands, mica_tensor **out_result,
                     mica_status *out_status) {
    mica_device_runtime *r = exe->device->runtime;
    mica_buffer *arena = NULL;
    if (!exe->is_direct || !mica_direct_begin(exe->device, operands, exe->n_inputs)) return false;
    mica_mutex_lock(&r->lock);
    mica_tensor *result = mica_direct_take(exe, &arena);
    mica_mutex_unlock(&r->lock);
    if (!result) {
        mica_stream_disown(&r->stream);
        return false;
    }
    *out_status = mica_direct_launch(exe, operands, result, arena);
    *out_result = *out_status ? NULL : result;
    return true;
}
