/* The executor: walks the commands of a run. One walk serves every device; where the host can
 * address the memory, predicates and callbacks' arguments are read in place. */
#include <string.h>

#include "base/interrupt.h"
#include "base/log.h"
#include "base/platform.h"
#include "report/report.h"
#include "runtime/check.h"
#include "runtime/executable.h"
#include "runtime/replay.h"

typedef struct walk {
    mica_run *run;
    const mica_device_vtable *vtable;
    mica_device_stream *handle;
    mica_device *device;
    mica_address *bases;
} walk;

static mica_status walk_list(walk *w, const mica_commands *list);

static mica_address address_of(const walk *w, mica_place place) {
    return place.base < 0 ? 0 : w->bases[place.base] + (mica_address)place.offset;
}

static mica_status copy(walk *w, mica_place target, mica_place source, size_t bytes) {
    mica_address to = address_of(w, target), from = address_of(w, source);
    if (!bytes || to == from) return NULL;
    return w->vtable->copy(w->handle, to, from, bytes);
}

static mica_status launch(walk *w, const mica_command *c) {
    mica_address *operands = w->run->addresses, *results = operands + c->n_operands;
    for (int32_t i = 0; i < c->n_operands; i++) operands[i] = address_of(w, c->operands[i]);
    for (int32_t i = 0; i < c->n_results; i++) results[i] = address_of(w, c->results[i]);
    MICA_TRY(w->vtable->launch(w->handle, c->kernel, operands, results, address_of(w, c->scratch)));
    return mica_interrupt_is_left() ? mica_interrupt_status() : NULL;
}

/* For a report: beside the host the kernel is waited for, or its time would be that of issuing. */
static mica_status launch_and_time(walk *w, const mica_command *c) {
    double start = mica_clock_seconds();
    MICA_TRY(launch(w, c));
    if (!w->vtable->synchronous) {
        MICA_TRY(w->vtable->event_record(w->handle, w->run->device_event));
        MICA_TRY(w->vtable->event_wait(w->run->device_event));
    }
    mica_report_launched(w->run->program->report, c->record, mica_clock_seconds() - start);
    return NULL;
}

/* What a trace calls the kernel of a node: a primitive, or the call that one kernel computes. */
static const char *name_of(const mica_node *n) {
    const char *name = n && n->op == MICA_OP_call ? mica_node_string(n, "name") : NULL;
    return name ? name : n ? mica_op_describe(n->op)->name : "copy";
}

static mica_status launch_and_trace(walk *w, const mica_command *c) {
    double start = mica_clock_seconds();
    mica_status status = w->run->program->report ? launch_and_time(w, c) : launch(w, c);
    mica_trace_add("kernel", name_of(c->node), start, mica_clock_seconds() - start);
    return status;
}

/* Waits for the commands so far and reads a few bytes. */
static mica_status read_back(walk *w, mica_place place, void *out, size_t bytes) {
    mica_address address = address_of(w, place);
    if (w->vtable->synchronous) {
        memcpy(out, w->vtable->host_pointer(w->device, address), bytes);
        return NULL;
    }
    return w->vtable->download(w->handle, out, address, bytes);
}

/* ---- MICA_CHECK
 * ---------------------------------------------------------------------------------*/

static mica_status read_all(walk *w, const mica_place *places, int32_t n, void *const *room,
                            const mica_value *values) {
    for (int32_t i = 0; i < n; i++) {
        size_t bytes = mica_type_bytes(mica_value_type(values[i]));
        if (bytes) MICA_TRY(read_back(w, places[i], room[i], bytes));
    }
    return NULL;
}

static mica_status launch_and_check(walk *w, const mica_command *c) {
    mica_check check;
    MICA_TRY(mica_check_begin(&check, w->run->program->reference, c->node));
    if (!check.graph) return launch(w, c);
    const mica_graph *g = check.graph;
    mica_status status = read_all(w, c->operands, c->n_operands, check.inputs, g->parameters);
    if (!status) status = launch(w, c);
    if (!status) status = read_all(w, c->results, c->n_results, check.results, g->outputs);
    if (!status) status = mica_check_compare(&check);
    mica_check_end(&check);
    return status;
}

/* ---- control flow -----------------------------------------------------------------------------*/

static mica_status branch(walk *w, const mica_command *c) {
    int32_t taken = 0;
    if (c->node->op == MICA_OP_cond) {
        uint8_t predicate = 0;
        MICA_TRY(read_back(w, c->operands[0], &predicate, 1));
        taken = predicate ? 0 : 1;
    } else if (c->node->op == MICA_OP_case) {
        MICA_TRY(read_back(w, c->operands[0], &taken, sizeof taken));
        if (taken < 0 || taken >= c->n_regions) taken = c->n_regions - 1;
    }
    return walk_list(w, &c->regions[taken]);
}

static mica_status begin_carries(walk *w, const mica_command *c) {
    for (int32_t i = 0; i < c->n_carries; i++) {
        const mica_carry *carry = &c->carries[i];
        if (carry->kind == MICA_LIST)
            mica_list_assign(&w->run->lists, carry->current, (int32_t)carry->initial.offset);
        if (carry->kind != MICA_TENSOR || !carry->bytes) continue;
        MICA_TRY(copy(w, carry->result, carry->initial, carry->bytes));
        w->bases[carry->current] = address_of(w, carry->result);
        w->bases[carry->next] = address_of(w, carry->spare);
    }
    return NULL;
}

/* All new carries become the current ones at once. */
static void advance_carries(walk *w, const mica_command *c) {
    for (int32_t i = 0; i < c->n_carries; i++) {
        const mica_carry *carry = &c->carries[i];
        if (carry->kind == MICA_LIST)
            mica_list_assign(&w->run->lists, (int32_t)carry->spare.offset, carry->next);
        if (!carry->exchange) continue;
        mica_address current = w->bases[carry->current];
        w->bases[carry->current] = w->bases[carry->next];
        w->bases[carry->next] = current;
    }
    for (int32_t i = 0; i < c->n_carries; i++) {
        const mica_carry *carry = &c->carries[i];
        if (carry->kind != MICA_LIST) continue;
        mica_list_assign(&w->run->lists, carry->current, (int32_t)carry->spare.offset);
        mica_list_clear(&w->run->lists, (int32_t)carry->spare.offset);
    }
}

static mica_status end_carries(walk *w, const mica_command *c) {
    for (int32_t i = 0; i < c->n_carries; i++) {
        const mica_carry *carry = &c->carries[i];
        if (carry->kind == MICA_LIST) {
            mica_list_assign(&w->run->lists, (int32_t)carry->result.offset, carry->current);
            mica_list_clear(&w->run->lists, carry->current);
        }
        if (carry->exchange)
            MICA_TRY(copy(w, carry->result, (mica_place){carry->current, 0}, carry->bytes));
    }
    return NULL;
}

static mica_status while_loop(walk *w, const mica_command *c) {
    MICA_TRY(begin_carries(w, c));
    for (;;) {
        uint8_t predicate = 0;
        MICA_TRY(walk_list(w, &c->regions[0]));
        MICA_TRY(read_back(w, c->regions[0].outputs[0], &predicate, 1));
        if (!predicate) break;
        if (mica_interrupt_must_leave()) return mica_interrupt_status();
        MICA_TRY(walk_list(w, &c->regions[1]));
        advance_carries(w, c);
    }
    return end_carries(w, c);
}

static void move_slices(walk *w, const mica_scan_slice *slices, int32_t n, int64_t i) {
    for (int32_t k = 0; k < n; k++)
        if (slices[k].bytes)
            w->bases[slices[k].base] =
                address_of(w, slices[k].whole) + (mica_address)i * slices[k].bytes;
}

static mica_status scan(walk *w, const mica_command *c) {
    int64_t length = mica_node_int(c->node, "length");
    bool reverse = mica_node_int(c->node, "reverse") != 0;
    MICA_TRY(begin_carries(w, c));
    for (int64_t k = 0; k < length; k++) {
        int64_t i = reverse ? length - 1 - k : k;
        if (mica_interrupt_must_leave()) return mica_interrupt_status();
        move_slices(w, c->xs, c->n_xs, i);
        move_slices(w, c->ys, c->n_ys, i);
        MICA_TRY(walk_list(w, &c->regions[0]));
        advance_carries(w, c);
    }
    return end_carries(w, c);
}

/* ---- lists ------------------------------------------------------------------------------------*/

static mica_status push(walk *w, const mica_command *c) {
    mica_address target;
    MICA_TRY(mica_list_grow(&w->run->lists, (int32_t)c->operands[0].offset,
                            (int32_t)c->results[0].offset, c->bytes, &target));
    if (!c->bytes) return NULL;
    return w->vtable->copy(w->handle, target, address_of(w, c->operands[1]), c->bytes);
}

static mica_status pop(walk *w, const mica_command *c) {
    mica_address element = mica_list_shrink(&w->run->lists, (int32_t)c->operands[0].offset,
                                            (int32_t)c->results[0].offset);
    if (!c->bytes) return NULL;
    mica_address target = address_of(w, c->results[1]);
    return element ? w->vtable->copy(w->handle, target, element, c->bytes)
                   : w->vtable->zero(w->handle, target, c->bytes);
}

/* ---- callbacks --------------------------------------------------------------------------------*/

typedef struct call {
    const void **inputs;
    void **outputs;
    mica_type *input_types, *output_types;
} call;

static void *host_memory(walk *w, mica_place place, char **next, size_t bytes) {
    if (w->vtable->synchronous && place.base >= 0)
        return w->vtable->host_pointer(w->device, address_of(w, place));
    void *memory = *next;
    *next += (bytes + 63) / 64 * 64;
    return memory;
}

static mica_status call_host(walk *w, const mica_command *c, const call *k) {
    const mica_node *n = c->node;
    int64_t number = mica_node_int(n, "function");
    mica_host_function function;
    void *context;
    if (!mica_host_function_find(number, &function, &context))
        return MICA_ERROR(MICA_FAILED_PRECONDITION,
                          "[callback] '%s': no host function is registered as number %lld",
                          mica_node_string(n, "name"), (long long)number);
    char *next = w->run->host;
    for (int32_t i = 0; i < n->n_operands - 1; i++) {
        size_t bytes = mica_type_bytes(&k->input_types[i]);
        void *memory = host_memory(w, c->operands[i + 1], &next, bytes);
        if (!w->vtable->synchronous && bytes)
            MICA_TRY(
                w->vtable->download(w->handle, memory, address_of(w, c->operands[i + 1]), bytes));
        k->inputs[i] = memory;
    }
    for (int32_t i = 0; i < n->n_results - 1; i++)
        k->outputs[i] =
            host_memory(w, c->results[i + 1], &next, mica_type_bytes(&k->output_types[i]));
    MICA_TRY(function(context, k->inputs, k->input_types, n->n_operands - 1, k->outputs,
                      k->output_types, n->n_results - 1));
    for (int32_t i = 0; i < n->n_results - 1 && !w->vtable->synchronous; i++) {
        size_t bytes = mica_type_bytes(&k->output_types[i]);
        if (bytes)
            MICA_TRY(w->vtable->upload(w->handle, address_of(w, c->results[i + 1]), k->outputs[i],
                                       bytes));
    }
    return NULL;
}

static mica_status callback(walk *w, const mica_command *c) {
    const mica_node *n = c->node;
    size_t n_in = (size_t)n->n_operands, n_out = (size_t)n->n_results;
    mica_type *types = mica_alloc((n_in + n_out) * (sizeof(mica_type) + sizeof(void *)));
    if (!types) return MICA_NO_MEMORY();
    void **pointers = (void **)(types + n_in + n_out);
    for (int32_t i = 1; i < n->n_operands; i++) types[i - 1] = *mica_operand_type(n, i);
    for (int32_t i = 1; i < n->n_results; i++) types[n_in + (size_t)i - 1] = n->results[i];
    call k = {(const void **)pointers, pointers + n_in, types, types + n_in};
    double start = w->run->program->report ? mica_clock_seconds() : 0;
    mica_status status = call_host(w, c, &k);
    if (w->run->program->report)
        mica_report_host(mica_node_string(n, "name"), "a function of the caller's, in a program",
                         mica_clock_seconds() - start);
    mica_free(types);
    return status;
}

/* ---- collectives -----------------------------------------------------------------------------*/

static mica_status exchange_values(walk *w, const mica_command *c) {
    const mica_node *n = c->node;
    const dist_axis *axis = &w->run->executable->axis;
    char *next = w->run->host;
    void *x = NULL;
    size_t given = 0, made = mica_type_bytes(&n->results[0]);
    if (n->n_operands) {
        given = mica_type_bytes(mica_operand_type(n, 0));
        x = host_memory(w, c->operands[0], &next, given);
        if (!w->vtable->synchronous && given)
            MICA_TRY(w->vtable->download(w->handle, x, address_of(w, c->operands[0]), given));
    }
    void *y = host_memory(w, c->results[0], &next, made);
    double start = mica_clock_seconds();
    MICA_TRY(dist_run_node(axis, n, x, y));
    double seconds = mica_clock_seconds() - start;
    if (w->run->program->report)
        mica_report_host(mica_op_name(n->op), "a collective over ranks, in a program", seconds);
    if (mica_trace_is_on()) mica_trace_add("collective", mica_op_name(n->op), start, seconds);
    if (w->vtable->synchronous || !made) return NULL;
    return w->vtable->upload(w->handle, address_of(w, c->results[0]), y, made);
}

/* ---- the walk ---------------------------------------------------------------------------------*/

static mica_status walk_command(walk *w, const mica_command *c) {
    switch (c->kind) {
    case MICA_COMMAND_LAUNCH:
        if (w->run->program->reference) return launch_and_check(w, c);
        if (mica_trace_is_on()) return launch_and_trace(w, c);
        return w->run->program->report ? launch_and_time(w, c) : launch(w, c);
    case MICA_COMMAND_COPY: return copy(w, c->results[0], c->operands[0], c->bytes);
    case MICA_COMMAND_BRANCH: return branch(w, c);
    case MICA_COMMAND_WHILE: return while_loop(w, c);
    case MICA_COMMAND_SCAN: return scan(w, c);
    case MICA_COMMAND_LIST_EMPTY:
        mica_list_clear(&w->run->lists, (int32_t)c->results[0].offset);
        return NULL;
    case MICA_COMMAND_LIST_PUSH: return push(w, c);
    case MICA_COMMAND_LIST_POP: return pop(w, c);
    case MICA_COMMAND_LIST_COPY:
        mica_list_assign(&w->run->lists, (int32_t)c->results[0].offset,
                         (int32_t)c->operands[0].offset);
        return NULL;
    case MICA_COMMAND_CALLBACK: return callback(w, c);
    case MICA_COMMAND_COLLECTIVE: return exchange_values(w, c);
    }
    return NULL;
}

static mica_status walk_list(walk *w, const mica_commands *list) {
    for (int32_t i = 0; i < list->n; i++) MICA_TRY(walk_command(w, &list->data[i]));
    return NULL;
}

/* A device that interprets takes host memory: its own, or nothing would be synchronous. */
static mica_status interpret(mica_run *run) {
    const mica_executable *exe = run->executable;
    const void **inputs = mica_alloc(sizeof *inputs * (size_t)(exe->n_inputs + exe->n_outputs));
    if (!inputs) return MICA_NO_MEMORY();
    void **outputs = (void **)(inputs + exe->n_inputs);
    for (int32_t i = 0; i < exe->n_inputs; i++) inputs[i] = run->inputs[i]->host;
    for (int32_t i = 0; i < exe->n_outputs; i++) outputs[i] = run->outputs[i]->host;
    dist_axis outside = dist_bind(exe->axis);
    mica_status status =
        exe->device->vtable->interpret(exe->device, run->program->graph, inputs, outputs);
    (void)dist_bind(outside);
    mica_free(inputs);
    return status;
}

mica_status mica_run_walk(mica_run *run, mica_device_stream *handle, int32_t first, int32_t end) {
    mica_device *device = run->executable->device;
    walk w = {run, device->vtable, handle, device, run->bases};
    const mica_commands *list = &run->program->plan->commands;
    for (int32_t i = first; i < end; i++) {
        if (mica_interrupt_must_leave()) return mica_interrupt_status();
        MICA_TRY(walk_command(&w, &list->data[i]));
    }
    return NULL;
}

static mica_status execute(mica_run *run, mica_device_stream *handle) {
    if (!run->program->plan) return interpret(run);
    if (run->program->replay) return mica_replay_execute(run, handle);
    return mica_run_walk(run, handle, 0, run->program->plan->commands.n);
}

mica_status mica_run_execute(mica_run *run, mica_device_stream *handle) {
    int64_t report = run->program->report;
    bool is_traced = mica_trace_is_on();
    if (!report && !is_traced) return execute(run, handle);
    double start = mica_clock_seconds();
    mica_status status = execute(run, handle);
    double seconds = mica_clock_seconds() - start;
    if (report) mica_report_ran(report, start, seconds);
    if (is_traced) mica_trace_add("program", run->program->graph->name, start, seconds);
    return status;
}
