#include "runtime/executable.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/platform.h"
#include "base/selection.h"
#include "base/strings.h"
#include "codegen/nest.h"
#include "compile/passes.h"
#include "compile/rewrite.h"
#include "report/report.h"
#include "runtime/check.h"
#include "runtime/direct.h"
#include "runtime/replay.h"

/* Bytes that are touched in about the time it takes to wake another thread and to be woken by it:
 * a tenth of a millisecond on two processors. */
#define SMALL_WORK 17e6

/* ---- kernels ----------------------------------------------------------------------------------*/

static mica_status create_kernel(const mica_program *program, const mica_node *node,
                                 mica_kernel **out) {
    mica_device *device = program->device;
    if (!mica_node_is_fused(node)) return device->vtable->kernel_create(device, node, out);
    int32_t i = 0;
    while (program->generated[i] != node) i++;
    return device->vtable->unit_kernel(device, program->unit, i, out);
}

static mica_status prepare(void *context, const mica_node *node, mica_prepared *out) {
    mica_program *program = context;
    mica_kernel *kernel = NULL;
    MICA_TRY(create_kernel(program, node, &kernel));
    program->cannot_fail = program->cannot_fail && kernel->cannot_fail;
    *out = (mica_prepared){kernel,
                           kernel->scratch_bytes,
                           {{kernel->in_place_operands}, kernel->in_place, kernel->n_in_place}};
    memcpy(out->in_place.masks + 1, kernel->in_place_more, sizeof kernel->in_place_more);
    return NULL;
}

static void discard(void *context, void *kernel) {
    mica_program *program = context;
    program->device->vtable->kernel_destroy(program->device, kernel);
}

/* ---- compiling --------------------------------------------------------------------------------*/

static bool is_collective(const mica_node *n) {
    return n->op < MICA_OP_COUNT && mica_op_class_of(n->op) == MICA_CLASS_COLLECTIVE;
}

static mica_status check_collectives(const dist_axis *axis, const mica_graph *g) {
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_node *n = g->nodes[i];
        if (is_collective(n)) MICA_TRY(dist_check_node(axis, n));
        for (int32_t k = 0; k < n->n_regions; k++) MICA_TRY(check_collectives(axis, n->regions[k]));
    }
    return NULL;
}

/* The number of the collectives so far of the graph that this thread copies; 0: it has no ranks. */
static _Thread_local int32_t collectives;

/* The collective with its number behind the axis (dist/nodes.h). */
static mica_node *copy_collective(mica_rewrite *w, const mica_node *n) {
    mica_attr attrs[8];
    char axis[300];
    const char *name = mica_node_string(n, "axis");
    const mica_attr *which = mica_node_attr(n, "axis");
    snprintf(axis, sizeof axis, "%.*s#%d", (int)strcspn(name, "#"), name, collectives++);
    for (int32_t i = 0; i < n->n_attrs; i++) {
        attrs[i] = n->attrs[i];
        if (which == &n->attrs[i]) attrs[i].as.string = axis;
    }
    mica_value operand = n->n_operands ? *mica_rewrite_slot(w, n->operands[0]) : MICA_NULL_VALUE;
    return mica_node_create(w->to, n->op, &operand, n->n_operands, attrs, NULL, 0);
}

/* The caller may go on building its graph. */
static mica_status copy_graph(const mica_graph *g, mica_graph **out_graph) {
    mica_rewrite w;
    MICA_TRY(mica_rewrite_begin(&w, g));
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_node *n = g->nodes[i];
        if (n->op == MICA_OP_PARAMETER) continue;
        mica_node *made = collectives && is_collective(n)
                              ? copy_collective(&w, n)
                              : mica_rewrite_node(&w, n, collectives ? copy_graph : NULL);
        mica_rewrite_keep(&w, n, made);
    }
    return mica_rewrite_end(&w, out_graph);
}

/* Which collectives there are, in the order of the graph. */
static void write_order(const mica_graph *g, mica_text *text) {
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const mica_node *n = g->nodes[i];
        if (is_collective(n) && n->op != MICA_OP_axis_index)
            mica_text_printf(text, "%s ", mica_node_string(n, "axis"));
        for (int32_t k = 0; k < n->n_regions; k++) write_order(n->regions[k], text);
    }
}

/* Ranks change from the first program to the second by themselves: both must meet alike. */
static bool meet_alike(const mica_graph *a, const mica_graph *b) {
    mica_text first, second;
    mica_text_init(&first);
    mica_text_init(&second);
    write_order(a, &first);
    write_order(b, &second);
    const char *one = mica_text_data(&first), *other = mica_text_data(&second);
    bool is_alike = one && other ? !strcmp(one, other) : one == other;
    mica_text_deinit(&first);
    mica_text_deinit(&second);
    return is_alike;
}

static mica_status copy_types(mica_executable *exe) {
    const mica_graph *g = exe->first.graph;
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

static mica_status upload_constants(mica_device *device, mica_program *program) {
    mica_plan *plan = program->plan;
    if (!plan->constants_bytes) return NULL;
    MICA_TRY(mica_buffer_create(device, plan->constants_bytes, &program->constants));
    mica_buffer_set_role(program->constants, MICA_HOLDS_CONSTANTS);
    MICA_TRY(mica_transfer_upload(program->constants, 0, plan->constants, plan->constants_bytes));
    mica_free(plan->constants);
    plan->constants = NULL;
    return NULL;
}

/* Fused calls of a graph and its regions: counted, or listed where `out` has room. */
static int32_t list_fused(const mica_graph *g, mica_node **out, int32_t n) {
    for (int32_t i = 0; i < g->n_nodes; i++) {
        mica_node *node = g->nodes[i];
        if (mica_node_is_fused(node)) {
            if (out) out[n] = node;
            n++;
            continue;
        }
        for (int32_t k = 0; k < node->n_regions; k++) n = list_fused(node->regions[k], out, n);
    }
    return n;
}

static mica_status generate(mica_device *device, bool in_background, mica_program *program) {
    program->n_generated = list_fused(program->graph, NULL, 0);
    if (!program->n_generated) return NULL;
    program->generated = mica_alloc(sizeof *program->generated * (size_t)program->n_generated);
    if (!program->generated) return MICA_NO_MEMORY();
    list_fused(program->graph, program->generated, 0);
    return device->vtable->unit_create(device, program->generated, program->n_generated,
                                       in_background, &program->unit);
}

/* Who waits for a program: built-in kernels are never generated. */
typedef enum making { BUILT_IN, GENERATED, GENERATED_IN_BACKGROUND } making;

static bool device_claims(void *context, const mica_node *call) {
    mica_device *device = context;
    return device->vtable->claims(device, call);
}

/* See device.h. What a callback starts runs in the middle of the run that called it; lists ask for
 * memory on the way, callbacks and checks against the reference fail as they like: such a failure
 * must not cost what was donated. */
static void find_facts(mica_program *program) {
    const mica_device_vtable *vtable = program->device->vtable;
    const mica_plan *plan = program->plan;
    bool ends_early = plan->has_lists || plan->has_callbacks || program->reference;
    program->in_order = vtable->in_order && !plan->has_callbacks;
    program->cannot_fail = program->cannot_fail && !ends_early && vtable->synchronous;
    program->may_donate = vtable->may_donate && program->in_order && !ends_early &&
                          (program->cannot_fail || !vtable->synchronous);
}

static mica_status make(mica_device *device, const mica_graph *g, const char *selection, making how,
                        mica_program *program) {
    program->device = device;
    program->cannot_fail = true;
    bool fuse = how != BUILT_IN;
    mica_claimer claimer = {device_claims, device, device->vtable->computes_again,
                            device->vtable->keeps_products};
    MICA_TRY(mica_passes_run_for(g, selection, fuse, device->vtable->claims ? &claimer : NULL,
                                 &program->graph));
    if (fuse) MICA_TRY(generate(device, how == GENERATED_IN_BACKGROUND, program));
    mica_plan_target target = {prepare, discard, program};
    MICA_TRY(mica_plan_create(program->graph, &target, mica_selection_has(selection, "plan"),
                              &program->plan));
    if (mica_check_is_on()) MICA_TRY(mica_device_open("ref", &program->reference));
    find_facts(program);
    program->is_small = device->vtable->synchronous && program->plan->work <= SMALL_WORK;
    MICA_TRY(upload_constants(device, program));
    if (mica_selection_has(selection, "replay") && !program->report)
        MICA_TRY(
            mica_replay_create(program, program->graph->n_parameters, program->graph->n_outputs));
    mica_log_write(MICA_LOG_MEMORY, "'%s' on %s: arena %zu bytes, constants %zu bytes",
                   program->graph->name, device->name, program->plan->arena_bytes,
                   program->plan->constants_bytes);
    return NULL;
}

/* Nodes that passes make belong to no line but those of the nodes they are made from. */
static mica_status compile(mica_device *device, const mica_graph *g, const char *selection,
                           making how, mica_program *program) {
    if (!mica_report_is_on()) return make(device, g, selection, how, program);
    program->report =
        mica_report_begin(g->name, device->name, how == BUILT_IN ? "built-in" : "generated");
    int32_t line = mica_report_set_line(0);
    mica_status status = make(device, g, selection, how, program);
    mica_report_set_line(line);
    if (!status) mica_record_program(program);
    mica_report_made(program->report, status ? 0 : program->plan->arena_bytes,
                     status ? 0 : program->plan->constants_bytes);
    return status;
}

static void destroy_program(mica_program *program) {
    mica_free(program->spare_run);
    mica_replay_destroy(program);
    mica_buffer_release(program->constants);
    if (program->reference) mica_device_release(program->reference);
    mica_plan_destroy(program->plan);
    if (program->unit) program->device->vtable->unit_destroy(program->device, program->unit);
    mica_free(program->generated);
    mica_graph_release(program->graph);
}

/* ---- the second program -----------------------------------------------------------------------*/

static mica_tier tier_asked_for(const mica_compile_options *options) {
    static const char *const names[] = {[MICA_TIER_BUILT_IN] = "built-in",
                                        [MICA_TIER_AUTO] = "auto",
                                        [MICA_TIER_COMPILED] = "compiled"};
    if (options && options->size >= offsetof(mica_compile_options, dist) && options->tier)
        return options->tier;
    const char *text = mica_environment("MICA_TIER");
    for (int32_t i = MICA_TIER_BUILT_IN; text && i <= MICA_TIER_COMPILED; i++)
        if (!strcmp(text, names[i])) return (mica_tier)i;
    return MICA_TIER_AUTO;
}

mica_status mica_executable_compile_second(mica_executable *exe, bool in_background) {
    mica_program *program = mica_calloc(1, sizeof *program);
    if (!program) return MICA_NO_MEMORY();
    mica_status status = compile(exe->device, exe->source, exe->selection,
                                 in_background ? GENERATED_IN_BACKGROUND : GENERATED, program);
    if (!status && program->n_generated && meet_alike(exe->first.graph, program->graph)) {
        __atomic_store_n(&exe->second, program, __ATOMIC_RELEASE);
    } else {
        destroy_program(program);
        mica_free(program);
    }
    mica_graph_release(exe->source);
    exe->source = NULL;
    return status;
}

/* Without a compiler the built-in kernels serve; a log line says why. */
static mica_status compile_now(mica_executable *exe) {
    mica_status status = mica_executable_compile_second(exe, false);
    if (mica_status_code(status) == MICA_OUT_OF_MEMORY) return status;
    if (status)
        mica_log_write(MICA_LOG_PASS, "'%s' stays on built-in kernels: %s", exe->first.graph->name,
                       mica_status_message(status));
    mica_status_release(status);
    return NULL;
}

static mica_status prepare_second(mica_executable *exe, mica_graph *copy, const char *selection,
                                  mica_tier tier) {
    if (tier == MICA_TIER_BUILT_IN || !exe->device->vtable->unit_create) return NULL;
    if (tier == MICA_TIER_AUTO && !mica_selection_has(selection, "fuse")) return NULL;
    mica_graph_retain(copy);
    exe->source = copy;
    if (!selection) selection = mica_environment("MICA_PASSES");
    if (selection) {
        exe->selection = mica_strdup(selection);
        if (!exe->selection) return MICA_NO_MEMORY();
    }
    if (tier == MICA_TIER_COMPILED) return compile_now(exe);
    exe->runs = 0;
    return NULL;
}

/* ---- executables ------------------------------------------------------------------------------*/

static mica_status build(mica_executable *exe, const mica_graph *g, const char *selection,
                         mica_tier tier) {
    mica_graph *copy = NULL;
    exe->runs = INT32_MAX;
    collectives = exe->axis.d ? 1 : 0;
    MICA_TRY(copy_graph(g, &copy));
    mica_status status = check_collectives(&exe->axis, copy);
    if (!status && exe->device->vtable->interpret) {
        mica_graph_retain(copy);
        exe->first.graph = copy;
        if (mica_report_is_on()) {
            exe->first.report = mica_report_begin(copy->name, exe->device->name, "interpreted");
            mica_report_made(exe->first.report, 0, 0);
        }
        status = mica_graph_verify(copy);
    } else if (!status) {
        status = compile(exe->device, copy, selection, BUILT_IN, &exe->first);
    }
    if (!status) status = copy_types(exe);
    if (!status) status = prepare_second(exe, copy, selection, tier);
    if (!status) mica_direct_prepare(exe);
    mica_graph_release(copy);
    return status;
}

static mica_status bind_axis(mica_executable *exe, const mica_compile_options *options) {
    if (!options || options->size < sizeof *options || !options->dist) return NULL;
    if (!options->axis || !*options->axis || strchr(options->axis, '#') ||
        strlen(options->axis) > 200)
        return MICA_INVALID("[compile] ranks need the name of an axis: one of 1 to 200 characters "
                            "without '#', not '%.200s'",
                            options->axis ? options->axis : "");
    mica_dist_retain(options->dist);
    exe->axis.d = options->dist;
    exe->axis.name = mica_strdup(options->axis);
    return exe->axis.name ? NULL : MICA_NO_MEMORY();
}

mica_status mica_executable_create(mica_device *device, const mica_graph *g,
                                   const mica_compile_options *options,
                                   mica_executable **out_executable) {
    MICA_GIVEN(out_executable);
    *out_executable = NULL;
    MICA_TRY(mica_check_process("compile"));
    MICA_TRY(mica_graph_check(g));
    mica_executable *exe = mica_calloc(1, sizeof *exe);
    if (!exe) return MICA_NO_MEMORY();
    mica_refcount_init(&exe->references);
    mica_device_retain(device);
    exe->device = device;
    bool has_passes = options && options->size >= offsetof(mica_compile_options, tier);
    mica_status status = bind_axis(exe, options);
    if (!status)
        status = build(exe, g, has_passes ? options->passes : NULL, tier_asked_for(options));
    if (status)
        mica_executable_release(exe);
    else
        *out_executable = exe;
    return status;
}

void mica_executable_retain(mica_executable *exe) {
    if (!exe) return;
    mica_refcount_retain(&exe->references);
}

void mica_executable_release(mica_executable *exe) {
    if (!exe || !mica_refcount_release(&exe->references)) return;
    if (mica_fork_happened()) return;
    mica_device *device = exe->device;
    destroy_program(&exe->first);
    if (exe->second) destroy_program(exe->second);
    mica_free(exe->second);
    mica_graph_release(exe->source);
    mica_free(exe->selection);
    mica_free((char *)(uintptr_t)exe->axis.name);
    mica_dist_release(exe->axis.d);
    mica_free(exe->input_types);
    mica_free(exe);
    mica_device_release(device);
}

/* ---- looking at it ----------------------------------------------------------------------------*/

size_t mica_executable_arena_bytes(const mica_executable *exe) {
    if (!exe) return 0;
    const mica_program *program = mica_executable_program((mica_executable *)exe);
    return program->plan ? program->plan->arena_bytes : 0;
}

mica_status mica_executable_print(const mica_executable *exe, char **out_text) {
    MICA_GIVEN(exe, out_text);
    *out_text = NULL;
    const mica_program *program = mica_executable_program((mica_executable *)exe);
    if (program->plan) return mica_plan_print(program->plan, out_text);
    return mica_graph_print(program->graph, out_text);
}

bool mica_executable_is_generated(const mica_executable *exe) {
    if (!exe) return false;
    return __atomic_load_n(&exe->second, __ATOMIC_ACQUIRE) != NULL;
}
