/* Starting and ending runs. */
#include <string.h>

#include "base/interrupt.h"
#include "base/log.h"
#include "runtime/background.h"
#include "runtime/direct.h"
#include "runtime/replay.h"

/* ---- the run's memory -------------------------------------------------------------------------*/

static mica_run *create_run(mica_executable *exe, mica_program *program) {
    mica_run *run = __atomic_exchange_n(&program->spare_run, NULL, __ATOMIC_ACQ_REL);
    size_t n_inputs = (size_t)exe->n_inputs, n_outputs = (size_t)exe->n_outputs;
    size_t n_pointers = 3 * n_inputs + n_outputs;
    size_t n_bases = program->plan ? (size_t)program->plan->n_bases : 0;
    size_t n_addresses = program->plan ? (size_t)program->plan->most_operands : 0;
    size_t bytes =
        sizeof *run + n_pointers * sizeof(void *) + (n_bases + n_addresses) * sizeof(mica_address);
    if (!run) run = mica_alloc(bytes);
    if (!run) return NULL;
    memset(run, 0, bytes - n_addresses * sizeof(mica_address));
    run->inputs = (mica_buffer **)(run + 1);
    run->outputs = run->inputs + n_inputs;
    run->overwritten = (mica_tensor **)(run->outputs + n_outputs);
    run->pending = (mica_event **)(run->overwritten + n_inputs);
    run->bases = (mica_address *)(run->pending + n_inputs);
    run->addresses = run->bases + n_bases;
    run->executable = exe;
    run->program = program;
    run->stream = &exe->device->runtime->stream;
    mica_executable_retain(exe);
    return run;
}

/* Runs of a program that calls nothing back never overlap, since their stream is in order: they
 * share one arena. On the host it is the program's, and stays in the caches; beside the host it is
 * the device's, at the same address in every run. */
static mica_status acquire_arena(mica_run *run) {
    mica_program *program = run->program;
    mica_device *device = run->executable->device;
    size_t bytes = program->plan ? program->plan->arena_bytes : 0;
    if (!bytes) return NULL;
    if (!program->in_order) {
        MICA_TRY(mica_buffer_create_in_order(device, bytes, &run->arena));
        mica_buffer_set_role(run->arena, MICA_HOLDS_ARENA);
        return NULL;
    }
    run->share = device->vtable->synchronous ? &program->arena : &device->runtime->arena;
    return mica_arena_lease(device, run->share, bytes, &run->arena);
}

static void release_arena(mica_run *run) {
    if (run->arena) mica_arena_release(run->executable->device, run->share, run->arena);
}

/* The run's commands were issued; the memory is in use until they are done. The caller owns the
 * stream, so that a later run marks it later. */
static void mark_memory(mica_run *run) {
    const mica_executable *exe = run->executable;
    for (int32_t i = 0; i < exe->n_inputs; i++)
        __atomic_store_n(&run->inputs[i]->ticket, run->ticket, __ATOMIC_RELAXED);
    for (int32_t i = 0; i < exe->n_outputs; i++)
        __atomic_store_n(&run->outputs[i]->ticket, run->ticket, __ATOMIC_RELAXED);
    if (run->arena) __atomic_store_n(&run->arena->ticket, run->ticket, __ATOMIC_RELAXED);
    if (run->lists.n) mica_lists_mark(&run->lists, run->ticket);
}

/* Gives back what the run holds, but not the events. */
static void release_memory(mica_run *run) {
    const mica_executable *exe = run->executable;
    for (int32_t i = 0; i < exe->n_inputs; i++) {
        if (run->inputs[i]) mica_buffer_unuse(run->inputs[i]);
        if (run->pending[i]) mica_event_release(run->pending[i]);
        run->inputs[i] = NULL;
        run->pending[i] = NULL;
    }
    for (int32_t i = 0; i < exe->n_outputs; i++) {
        if (run->outputs[i]) mica_buffer_unuse(run->outputs[i]);
        run->outputs[i] = NULL;
    }
    if (run->lists.n) {
        mica_lists_remember(&run->lists, &run->program->lists);
        mica_lists_deinit(&run->lists);
    }
    run->lists.n = 0;
    release_arena(run);
    run->arena = NULL;
    if (run->host) mica_free(run->host);
    run->host = NULL;
}

static void destroy_run(mica_run *run) {
    mica_executable *exe = run->executable;
    mica_run *nothing = NULL;
    if (!__atomic_compare_exchange_n(&run->program->spare_run, &nothing, run, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        mica_free(run);
    mica_executable_release(exe);
}

/* ---- donation ---------------------------------------------------------------------------------*/

/* Consumed from now on; given back if the run fails before its first command. */
static void consume(mica_run *run, int32_t i, mica_tensor *tensor) {
    __atomic_store_n(&tensor->consumed, 1, __ATOMIC_RELEASE);
    mica_tensor_retain(tensor);
    __atomic_fetch_add(&tensor->buffer->uses, 1, __ATOMIC_SEQ_CST); /* its reference is the run's */
    run->overwritten[i] = tensor;
}

static void give_back(mica_run *run, int32_t i) {
    mica_tensor *tensor = run->overwritten[i];
    run->overwritten[i] = NULL;
    __atomic_fetch_sub(&tensor->buffer->uses, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&tensor->consumed, 0, __ATOMIC_RELEASE);
    mica_tensor_release(tensor);
}

/* The commands that overwrite it were issued: its memory is the output's now. */
static void take_memory(mica_tensor *tensor) {
    mica_buffer *buffer = tensor->buffer;
    tensor->buffer = NULL;
    if (buffer) mica_buffer_unuse(buffer);
}

/* After a failure the memory holds neither value: the tensor answers the run's status. */
static void drop_consumed(mica_run *run, int32_t i, bool failed) {
    mica_tensor *tensor = run->overwritten[i];
    run->overwritten[i] = NULL;
    if (failed && run->event) mica_tensor_lose(tensor, run->event);
    take_memory(tensor);
    mica_tensor_release(tensor);
}

/* Chooses the donated inputs that become outputs. */
static void consume_donated(mica_run *run, const mica_run_args *args) {
    const mica_executable *exe = run->executable;
    if (!args->donate || !run->program->plan || !run->program->may_donate) return;
    /* From within a callback this run overtakes others, which may still read what it is given. */
    bool overtakes = mica_stream_is_mine(run->stream), any = false;
    for (int32_t i = 0; i < exe->n_inputs; i++) {
        mica_tensor *t = args->inputs[i];
        if (!args->donate[i] || run->program->plan->overwritten_by[i] < 0 ||
            !mica_refcount_is_one(&t->references) ||
            __atomic_load_n(&t->views, __ATOMIC_SEQ_CST) != 0 || !mica_buffer_is_sole(t->buffer) ||
            (overtakes && __atomic_load_n(&t->buffer->uses, __ATOMIC_SEQ_CST) != 1))
            continue;
        consume(run, i, t);
        any = true;
    }
    /* A tensor that is also another input is not the run's alone. */
    for (int32_t i = 0; i < exe->n_inputs && any; i++) {
        mica_tensor *t = args->inputs[i];
        if (run->overwritten[i] || !__atomic_load_n(&t->consumed, __ATOMIC_ACQUIRE)) continue;
        for (int32_t k = 0; k < exe->n_inputs; k++)
            if (run->overwritten[k] == t) give_back(run, k);
    }
}

/* ---- starting ---------------------------------------------------------------------------------*/

static mica_status check_input(const mica_executable *exe, int32_t i, const mica_tensor *t) {
    if (!t) return MICA_INVALID("[run] input %d of '%s' is NULL", i, exe->first.graph->name);
    if (t->device != exe->device)
        return MICA_INVALID("[run] input %d of '%s' is on %s, the executable on %s", i,
                            exe->first.graph->name, t->device->name, exe->device->name);
    if (!mica_type_equal(&t->type, &exe->input_types[i]))
        return MICA_INVALID("[run] input %d of '%s' is %s, expected %s", i, exe->first.graph->name,
                            mica_type_text(&t->type).chars,
                            mica_type_text(&exe->input_types[i]).chars);
    return mica_tensor_check(t, "run");
}

static mica_status check_args(const mica_executable *exe, const mica_run_args *args) {
    if (args->size < sizeof *args)
        return MICA_INVALID("[run] size of the arguments is %zu, expected %zu", args->size,
                            sizeof *args);
    if (args->n_inputs != exe->n_inputs || args->n_outputs != exe->n_outputs)
        return MICA_INVALID("[run] '%s' has %d inputs and %d outputs, given %d and %d",
                            exe->first.graph->name, exe->n_inputs, exe->n_outputs, args->n_inputs,
                            args->n_outputs);
    for (int32_t i = 0; i < exe->n_inputs; i++) MICA_TRY(check_input(exe, i, args->inputs[i]));
    return NULL;
}

/* The output that takes input i's memory is i's; all others get fresh memory. */
static mica_status acquire_outputs(mica_run *run, mica_tensor **outputs) {
    const mica_executable *exe = run->executable;
    for (int32_t i = 0; i < exe->n_inputs; i++) {
        if (!run->overwritten[i]) continue;
        mica_buffer *buffer = run->overwritten[i]->buffer;
        mica_buffer_use(buffer);
        run->outputs[run->program->plan->overwritten_by[i]] = buffer;
    }
    for (int32_t i = 0; i < exe->n_outputs; i++) {
        mica_buffer *buffer = run->outputs[i];
        if (buffer)
            mica_buffer_retain(buffer);
        else
            MICA_TRY(mica_buffer_create_again(exe->device, mica_type_bytes(&exe->output_types[i]),
                                              mica_replay_wish(run->program, i), &buffer));
        if (!run->outputs[i]) {
            mica_buffer_use(buffer);
            run->outputs[i] = buffer;
        }
        mica_status status = mica_tensor_create_on(buffer, &exe->output_types[i], &outputs[i]);
        if (status) {
            mica_buffer_release(buffer);
            return status;
        }
    }
    return NULL;
}

void mica_run_set_bases(mica_run *run) {
    const mica_executable *exe = run->executable;
    if (!run->program->plan) return;
    run->bases[MICA_BASE_ARENA] = run->arena ? run->arena->address : 0;
    run->bases[MICA_BASE_CONSTANTS] =
        run->program->constants ? run->program->constants->address : 0;
    mica_address *next = run->bases + MICA_BASE_FIRST;
    for (int32_t i = 0; i < exe->n_inputs; i++) *next++ = run->inputs[i]->address;
    for (int32_t i = 0; i < exe->n_outputs; i++) *next++ = run->outputs[i]->address;
}

/* All that the run needs; what it got before a failure is released with it. */
static mica_status acquire(mica_run *run, const mica_run_args *args, mica_tensor **outputs) {
    const mica_executable *exe = run->executable;
    for (int32_t i = 0; i < exe->n_inputs; i++) {
        run->inputs[i] = args->inputs[i]->buffer;
        mica_buffer_use(run->inputs[i]);
        run->pending[i] = mica_tensor_pending(args->inputs[i]);
    }
    consume_donated(run, args);
    MICA_TRY(acquire_outputs(run, outputs));
    MICA_TRY(acquire_arena(run));
    if (run->program->plan && run->program->plan->n_lists)
        MICA_TRY(mica_lists_init(&run->lists, exe->device, run->program->plan->n_lists,
                                 &run->program->lists));
    if (run->program->plan && run->program->plan->host_bytes && !exe->device->vtable->synchronous) {
        run->host = mica_alloc(run->program->plan->host_bytes);
        if (!run->host) return MICA_NO_MEMORY();
    }
    if (!exe->device->vtable->synchronous)
        MICA_TRY(mica_stream_take_event(run->stream, &run->device_event));
    mica_run_set_bases(run);
    return NULL;
}

static bool is_pending(const mica_run *run) {
    for (int32_t i = 0; i < run->executable->n_inputs; i++)
        if (run->pending[i]) return true;
    return false;
}

/* The data of the outputs arrives with the event. */
static void bind_outputs(mica_run *run, mica_tensor **outputs) {
    for (int32_t i = 0; i < run->executable->n_outputs; i++) {
        mica_event_retain(run->event);
        __atomic_store_n(&outputs[i]->ready, run->event, __ATOMIC_RELEASE);
    }
}

/* Undoes a run that was not started. */
static void cancel(mica_run *run, mica_tensor **outputs) {
    for (int32_t i = 0; i < run->executable->n_inputs; i++)
        if (run->overwritten[i]) give_back(run, i);
    for (int32_t i = 0; i < run->executable->n_outputs; i++) {
        mica_tensor_release(outputs[i]);
        outputs[i] = NULL;
    }
    release_memory(run);
    if (run->device_event) mica_stream_give_event(run->stream, run->device_event, true);
    if (run->event) mica_event_release(run->event);
    destroy_run(run);
}

/* Beside the host: no input comes from elsewhere, or from a run that waits in the queue. */
static bool is_in_stream_order(const mica_run *run) {
    for (int32_t i = 0; i < run->executable->n_inputs; i++) {
        const mica_event *event = run->pending[i];
        if (event && !mica_event_has_ended(event) &&
            (&event->device->runtime->stream != run->stream ||
             !__atomic_load_n(&event->issued, __ATOMIC_ACQUIRE)))
            return false;
    }
    return true;
}

/* Whether the caller issues the run by itself; it then owns the stream. */
static bool try_inline(mica_run *run, bool waits) {
    const mica_program *program = run->program;
    if (run->executable->device->vtable->synchronous)
        return (program->is_small || waits) && !is_pending(run) && mica_stream_try_own(run->stream);
    /* Nothing on the way is waited for. Who issues at the moment is done soon. */
    if (!program->in_order || program->plan->has_branches || !is_in_stream_order(run)) return false;
    for (int32_t i = 0; i < 100; i++)
        if (mica_stream_try_own(run->stream)) return true;
    return false;
}

/* What a run beside the host needs before it is given away. */
static mica_status prepare_beside(mica_run *run, bool is_inline, bool is_mine) {
    if (run->executable->device->vtable->synchronous) return NULL;
    if (run->completed) MICA_TRY(mica_stream_start_thread(run->stream));
    if (is_inline && !is_mine) mica_stream_make_room(run->stream);
    return NULL;
}

/* The run goes to the stream: it is issued here or queued, and no longer the caller's. */
static mica_status give_to_stream(mica_run *run, bool is_inline) {
    mica_stream *stream = run->stream;
    int32_t one = run->executable->device->vtable->synchronous ? 0 : 1;
    if (one) __atomic_fetch_add(&stream->live, one, __ATOMIC_SEQ_CST);
    if (is_inline) {
        mica_run_issue(run);
        return NULL;
    }
    mica_status status = mica_stream_enqueue(stream, run);
    if (status && one) __atomic_fetch_sub(&stream->live, one, __ATOMIC_SEQ_CST);
    return status;
}

/* Once it has started the run is no longer the caller's. */
static mica_status start(mica_run *run, const mica_run_args *args, mica_event **out_done,
                         bool *out_started) {
    mica_executable *exe = run->executable;
    mica_stream *stream = run->stream;
    bool is_mine = mica_stream_is_mine(stream);
    bool waits = args->waits && exe->device->vtable->synchronous && !is_mine;
    bool is_inline = is_mine || try_inline(run, waits);
    bool needs_event =
        !is_inline || out_done || !run->program->cannot_fail || !run->is_kept || is_pending(run);
    mica_status status = prepare_beside(run, is_inline, is_mine);
    if (!status && needs_event) status = mica_event_create(exe->device, &run->event);
    /* Without an event nothing may go wrong any more. */
    mica_device_stream *handle;
    if (!status && is_inline) status = mica_stream_handle(stream, &handle);
    mica_event *event = run->event;
    if (!status && event) {
        mica_event_retain(event); /* for the caller, below */
        bind_outputs(run, args->outputs);
    }
    if (!status) {
        status = give_to_stream(run, is_inline);
        if (status) mica_event_release(event);
    }
    if (is_inline && !is_mine) mica_stream_disown(stream);
    if (status) return status;
    if (waits && event) status = mica_event_wait(event);
    if (out_done && !status)
        *out_done = event;
    else if (event)
        mica_event_release(event);
    *out_started = true;
    return status;
}

static void drop_outputs(const mica_run_args *args) {
    for (int32_t i = 0; i < args->n_outputs; i++) {
        mica_tensor_release(args->outputs[i]);
        args->outputs[i] = NULL;
    }
}

mica_status mica_executable_run(mica_executable *exe, const mica_run_args *args,
                                mica_event **out_done) {
    MICA_GIVEN(args);
    if (out_done) *out_done = NULL;
    for (int32_t i = 0; i < args->n_outputs; i++) args->outputs[i] = NULL;
    MICA_TRY(mica_check_process("run"));
    MICA_TRY(check_args(exe, args));
    mica_status done;
    if (exe->is_direct && !args->donate && !args->completed && !out_done &&
        mica_direct_run(exe, args->inputs, &args->outputs[0], &done))
        return done;
    MICA_TRY(mica_stream_check(&exe->device->runtime->stream));
    mica_background_notice(exe);
    mica_run *run = create_run(exe, mica_executable_program(exe));
    if (!run) return MICA_NO_MEMORY();
    run->completed = args->completed;
    run->context = args->context;
    run->timed = args->completed || out_done;
    run->is_kept = args->donate || run->program->is_small;
    bool started = false;
    mica_status status = acquire(run, args, args->outputs);
    if (!status) status = start(run, args, out_done, &started);
    if (status && started)
        drop_outputs(args);
    else if (status)
        cancel(run, args->outputs);
    return status;
}

/* ---- on the stream ----------------------------------------------------------------------------*/

static void finish_event(mica_run *run, mica_status status) {
    if (!run->event) return;
    mica_event_finish(run->event, status, run->seconds);
    mica_event_release(run->event);
    run->event = NULL;
}

void mica_run_call_back(mica_run *run) {
    mica_status status = run->status;
    run->completed(run->context, status, run->seconds);
    mica_status_release(status);
    destroy_run(run);
}

void mica_run_end(mica_run *run, mica_status status) {
    mica_stream *stream = run->stream;
    bool is_beside = !run->executable->device->vtable->synchronous;
    run->seconds = run->timed && run->started ? mica_clock_seconds() - run->start_time : 0;
    for (int32_t i = 0; i < run->executable->n_inputs; i++) {
        if (!run->overwritten[i]) continue;
        if (status && !run->started)
            give_back(run, i);
        else
            drop_consumed(run, i, status != NULL);
    }
    release_memory(run);
    mica_recorded_release(run->recorded);
    run->recorded = NULL;
    if (run->device_event) mica_stream_give_event(stream, run->device_event, !status);
    run->device_event = NULL;
    if (status)
        mica_log_write(MICA_LOG_RUN, "'%s' on %s failed: %s", run->program->graph->name,
                       run->executable->device->name, mica_status_message(status));
    finish_event(run, status);
    run->status = status;
    mica_device *device = run->executable->device;
    if (is_beside) mica_device_retain(device); /* the run may hold it last, and the stream is its */
    if (run->completed && is_beside) {
        mica_stream_call_back(stream, run);
    } else if (run->completed) {
        mica_run_call_back(run);
    } else {
        mica_status_release(status);
        destroy_run(run);
    }
    if (!is_beside) return;
    __atomic_fetch_sub(&stream->live, 1, __ATOMIC_SEQ_CST);
    mica_stream_notify(stream);
    mica_device_release(device);
}

/* Inputs that earlier commands of this stream make need no waiting: the stream is in order. */
static mica_status wait_for_inputs(mica_run *run) {
    for (int32_t i = 0; i < run->executable->n_inputs; i++) {
        mica_event *event = run->pending[i];
        if (!event) continue;
        if (!mica_event_has_ended(event) && &event->device->runtime->stream == run->stream &&
            __atomic_load_n(&event->issued, __ATOMIC_ACQUIRE))
            continue;
        MICA_TRY(mica_event_wait(event));
    }
    return NULL;
}

static mica_status issue(mica_run *run) {
    mica_device_stream *handle;
    MICA_TRY(mica_stream_check(run->stream));
    MICA_TRY(wait_for_inputs(run));
    MICA_TRY(mica_stream_handle(run->stream, &handle));
    if (run->timed) run->start_time = mica_clock_seconds();
    run->started = true;
    run->stream->depth++;
    mica_interrupt_scope scope;
    mica_interrupt_enter(&scope, run->event ? &run->event->cancel : NULL, run->is_kept);
    mica_status status = mica_run_execute(run, handle);
    if (mica_interrupt_leave(&scope) && !status) status = mica_interrupt_status();
    run->stream->depth--;
    return status;
}

/* After a failure on an asynchronous device: nothing may still use the run's memory. */
static mica_status settle(mica_run *run, mica_status status) {
    const mica_device_vtable *vtable = run->executable->device->vtable;
    if (mica_status_code(status) == MICA_DEVICE_ERROR) mica_stream_poison(run->stream, status);
    if (vtable->synchronous || !run->started || !run->stream->handle) return status;
    mica_status second = vtable->event_record(run->stream->handle, run->device_event);
    if (!second) second = vtable->event_wait(run->device_event);
    if (second && run->stream->depth == 0) mica_stream_close(run->stream);
    return mica_status_join(status, second);
}

void mica_run_issue(mica_run *run) {
    const mica_device_vtable *vtable = run->executable->device->vtable;
    mica_status status = issue(run);
    if (vtable->synchronous || status) {
        mica_run_end(run, status ? settle(run, status) : NULL);
        return;
    }
    status = vtable->event_record(run->stream->handle, run->device_event);
    if (status) {
        mica_run_end(run, settle(run, status));
        return;
    }
    if (run->event) __atomic_store_n(&run->event->issued, 1, __ATOMIC_RELEASE);
    mica_stream_take_ticket(run->stream, run);
    mark_memory(run);
    for (int32_t i = 0; i < run->executable->n_inputs; i++)
        if (run->overwritten[i]) take_memory(run->overwritten[i]);
    release_memory(run);
    mica_stream_launch(run->stream, run); /* another thread may end it from now on */
}

mica_status mica_run_wait(mica_run *run) {
    const mica_device_vtable *vtable = run->executable->device->vtable;
    mica_status status = vtable->event_wait(run->device_event);
    if (!status) return NULL;
    if (mica_status_code(status) == MICA_DEVICE_ERROR) mica_stream_poison(run->stream, status);
    /* When waiting itself failed, the commands may still be under way. */
    mica_status_release(vtable->event_wait(run->device_event));
    return status;
}
