#include "runtime/executable.h"

#include <string.h>

#include "base/log.h"
#include "compile/passes.h"
#include "compile/rewrite.h"

/* Quicker than waking another thread: about the time to touch this many bytes. */
#define SMALL_WORK (64.0 * 1024)

/* ---- kernels ----------------------------------------------------------------------------------*/

static mica_status prepare(void *context, const mica_node *node, mica_prepared *out) {
    mica_executable *exe = context;
    mica_kernel *kernel = NULL;
    MICA_TRY(exe->device->vtable->kernel_create(exe->device, node, &kernel));
    exe->cannot_fail = exe->cannot_fail && kernel->cannot_fail;
    *out = (mica_prepared){kernel, kernel->scratch_bytes, kernel->in_place_operands};
    return NULL;
}

static void discard(void *context, void *kernel) {
    mica_executable *exe = context;
    exe->device->vtable->kernel_destroy(exe->device, kernel);
}

/* ---- compiling --------------------------------------------------------------------------------*/

static mica_status check_collectives(const mica_graph *g) {
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_node *n = g->nodes[i];
        if (n->op == MICA_OP_axis_index || n->op == MICA_OP_all_reduce)
            return MICA_INVALID("[%s] axis '%s' is not bound", mica_op_name(n->op),
                                mica_node_string(n, "axis"));
        for (int32_t k = 0; k < n->n_regions; k++) MICA_TRY(check_collectives(n->regions[k]));
    }
    return NULL;
}

/* The caller may go on building its graph. */
static mica_status copy_graph(const mica_graph *g, mica_graph **out_graph) {
    mica_rewrite w;
    MICA_TRY(mica_rewrite_begin(&w, g));
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->op != MICA_OP_PARAMETER)
            mica_rewrite_keep(&w, g->nodes[i], mica_rewrite_node(&w, g->nodes[i], NULL));
    return mica_rewrite_end(&w, out_graph);
}

static mica_status copy_types(mica_executable *exe) {
    const mica_graph *g = exe->graph;
    exe->n_inputs = g->n_parameters;
    exe->n_outputs = g->n_outputs;
    exe->input_types =
        mica_alloc(sizeof *exe->input_types * (size_t)(g->n_parameters + g->n_outputs));
    if (!exe->input_types) return MICA_NO_MEMORY();
    exe->output_types = exe->input_types + g->n_parameters;
    for (int32_t i = 0; i < g->n_parameters; i++)
        exe->input_types[i] = *mica_value_type(g->parameters[i]);
    for (int32_t i = 0; i < g->n_outputs; i++)
        exe->output_types[i] = *mica_value_type(g->outputs[i]);
    return NULL;
}

static mica_status upload_constants(mica_executable *exe) {
    mica_plan *plan = exe->plan;
    if (!plan->constants_bytes) return NULL;
    MICA_TRY(mica_buffer_create(exe->device, plan->constants_bytes, &exe->constants));
    MICA_TRY(mica_transfer_upload(exe->constants, 0, plan->constants, plan->constants_bytes));
    mica_free(plan->constants);
    plan->constants = NULL;
    return NULL;
}

static mica_status compile(mica_executable *exe, const mica_graph *copy, const char *selection) {
    MICA_TRY(mica_passes_run(copy, selection, &exe->graph));
    mica_plan_target target = {prepare, discard, exe};
    MICA_TRY(mica_plan_create(exe->graph, &target, mica_pass_is_on(selection, "plan"), &exe->plan));
    exe->cannot_fail = exe->cannot_fail && !exe->plan->has_lists && !exe->plan->has_callbacks &&
                       exe->device->vtable->synchronous;
    exe->is_small = exe->device->vtable->synchronous && exe->plan->work <= SMALL_WORK;
    MICA_TRY(copy_types(exe));
    MICA_TRY(upload_constants(exe));
    mica_log_write(MICA_LOG_MEMORY, "'%s' on %s: arena %zu bytes, constants %zu bytes",
                   exe->graph->name, exe->device->name, exe->plan->arena_bytes,
                   exe->plan->constants_bytes);
    return NULL;
}

static mica_status build(mica_executable *exe, const mica_graph *g, const char *selection) {
    mica_graph *copy = NULL;
    MICA_TRY(copy_graph(g, &copy));
    mica_status status = check_collectives(copy);
    if (!status && exe->device->vtable->interpret) {
        mica_graph_retain(copy);
        exe->graph = copy;
        status = mica_graph_verify(copy);
        if (!status) status = copy_types(exe);
        exe->cannot_fail = false;
    } else if (!status) {
        status = compile(exe, copy, selection);
    }
    mica_graph_release(copy);
    return status;
}

mica_status mica_executable_create(mica_device *device, const mica_graph *g,
                                   const mica_compile_options *options,
                                   mica_executable **out_executable) {
    *out_executable = NULL;
    MICA_TRY(mica_check_process("compile"));
    MICA_TRY(mica_graph_check(g));
    mica_executable *exe = mica_calloc(1, sizeof *exe);
    if (!exe) return MICA_NO_MEMORY();
    mica_refcount_init(&exe->references);
    mica_device_retain(device);
    exe->device = device;
    exe->cannot_fail = true;
    bool has_passes = options && options->size >= sizeof *options;
    mica_status status = build(exe, g, has_passes ? options->passes : NULL);
    if (status)
        mica_executable_release(exe);
    else
        *out_executable = exe;
    return status;
}

void mica_executable_retain(mica_executable *exe) {
    mica_refcount_retain(&exe->references);
}

void mica_executable_release(mica_executable *exe) {
    if (!exe || !mica_refcount_release(&exe->references)) return;
    if (mica_fork_happened()) return;
    mica_device *device = exe->device;
    mica_free(exe->spare_run);
    mica_buffer_release(exe->constants);
    mica_plan_destroy(exe->plan);
    mica_graph_release(exe->graph);
    mica_free(exe->input_types);
    mica_free(exe);
    mica_device_release(device);
}

/* ---- looking at it ----------------------------------------------------------------------------*/

size_t mica_executable_arena_bytes(const mica_executable *exe) {
    return exe->plan ? exe->plan->arena_bytes : 0;
}

mica_status mica_executable_print(const mica_executable *exe, char **out_text) {
    *out_text = NULL;
    if (exe->plan) return mica_plan_print(exe->plan, out_text);
    return mica_graph_print(exe->graph, out_text);
}
