#include "runtime/replay.h"

#include <string.h>

#include "base/log.h"

enum {
    MOST_COMMANDS = 1 << 16, /* of one piece: a longer scan is walked */
    LEAST_COMMANDS = 2,      /* of one piece: one launch is as quick as one replay */
    SMALL_OUTPUT = 64 << 10, /* bytes: copied without being asked */
    OFTEN_ENOUGH = 4,        /* replays that make a recording worth while */
    PATIENCE = 3,            /* recordings in a row that were not, before the next is put off */
    LONGEST_WAIT = 10,       /* at most 2 to this many runs */
    MOST_FAILURES = 3,       /* of recording a program; then it is walked for ever */
};

/* Commands of the outermost list, from first to before end. */
typedef struct piece {
    int32_t first, end;
    bool is_recorded;
} piece;

/* What a program needs to be recorded; its stream's owner's, but for `recorded`. Ports are the
 * inputs, then the outputs. */
struct mica_replay {
    int32_t n_inputs, n_ports, n_pieces;
    piece *pieces;
    uint64_t *last;          /* per port: the memory of the last run that was walked or recorded */
    bool *has_slot;          /* per port */
    bool was_seen;           /* `last` is known */
    int32_t failures, waits; /* waits: runs before the next recording */
    int32_t fruitless;       /* recordings in a row that were hardly replayed */
    mica_recorded *recorded; /* or NULL; guarded by replay_lock */
};

struct mica_recorded {
    mica_refcount references; /* the program's and those of runs in flight */
    mica_device *device;
    mica_program *program;       /* NULL: dropped */
    mica_recorded *next, **link; /* in the device's list, while it is the program's */
    mica_buffer *arena;          /* leased, or NULL */
    mica_arena_share *share;     /* it is leased from */
    int32_t n_ports, n_pieces;
    int64_t replays;
    uint64_t *serials;           /* per port: the memory it is bound to; 0: it has a slot */
    mica_buffer **slots;         /* per port, or NULL */
    mica_recording **recordings; /* per piece, or NULL */
};

/* ---- what can be recorded ---------------------------------------------------------------------*/

/* The number of launches and copies that a command becomes; more than MOST_COMMANDS: it cannot be
 * recorded. */
static int64_t count_command(const mica_command *c);

static int64_t count_list(const mica_commands *list) {
    int64_t n = 0;
    for (int32_t i = 0; i < list->n && n <= MOST_COMMANDS; i++) n += count_command(&list->data[i]);
    return n;
}

static int64_t count_command(const mica_command *c) {
    switch (c->kind) {
    case MICA_COMMAND_LAUNCH:
        if (((const mica_kernel *)c->kernel)->waits) break;
        return 1;
    case MICA_COMMAND_COPY: return 1;
    case MICA_COMMAND_BRANCH:
        if (c->node->op == MICA_OP_cond || c->node->op == MICA_OP_case) break;
        return count_list(&c->regions[0]);
    case MICA_COMMAND_SCAN: {
        int64_t length = mica_node_int(c->node, "length"), body = count_list(&c->regions[0]);
        for (int32_t i = 0; i < c->n_carries; i++)
            if (c->carries[i].kind == MICA_LIST) return MOST_COMMANDS + 1;
        if (length > MOST_COMMANDS || body > MOST_COMMANDS) break;
        return body * length + 2 * c->n_carries;
    }
    default: break;
    }
    return MOST_COMMANDS + 1;
}

/* Cuts the outermost list; counts the pieces where `out` is NULL. */
static int32_t cut(const mica_commands *list, piece *out) {
    int32_t n = 0;
    for (int32_t first = 0; first < list->n; n++) {
        int64_t commands = count_command(&list->data[first]);
        int32_t end = first + 1;
        bool fits = commands <= MOST_COMMANDS;
        for (; end < list->n; end++) {
            int64_t more = count_command(&list->data[end]);
            if ((more <= MOST_COMMANDS) != fits || (fits && commands + more > MOST_COMMANDS)) break;
            commands += more;
        }
        if (out) out[n] = (piece){first, end, fits && commands >= LEAST_COMMANDS};
        first = end;
    }
    return n;
}

static bool any_recorded(const mica_replay *r) {
    for (int32_t i = 0; i < r->n_pieces; i++)
        if (r->pieces[i].is_recorded) return true;
    return false;
}

mica_status mica_replay_create(mica_program *program, int32_t n_inputs, int32_t n_outputs) {
    const mica_commands *list = &program->plan->commands;
    if (!program->device->vtable->capture_begin || !program->in_order || program->reference)
        return NULL;
    size_t n_ports = (size_t)n_inputs + (size_t)n_outputs;
    int32_t n_pieces = cut(list, NULL);
    mica_replay *r = mica_calloc(1, sizeof *r + n_ports * (sizeof *r->last + sizeof *r->has_slot) +
                                        (size_t)n_pieces * sizeof *r->pieces);
    if (!r) return MICA_NO_MEMORY();
    r->n_inputs = n_inputs;
    r->n_ports = (int32_t)n_ports;
    r->n_pieces = n_pieces;
    r->last = (uint64_t *)(r + 1);
    r->pieces = (piece *)(r->last + n_ports);
    r->has_slot = (bool *)(r->pieces + n_pieces);
    cut(list, r->pieces);
    if (any_recorded(r))
        program->replay = r;
    else
        mica_free(r);
    return NULL;
}

/* ---- recordings -------------------------------------------------------------------------------*/

static void destroy_recorded(mica_recorded *recorded) {
    const mica_device_vtable *vtable = recorded->device->vtable;
    for (int32_t i = 0; i < recorded->n_pieces; i++)
        if (recorded->recordings[i]) vtable->recording_destroy(recorded->recordings[i]);
    for (int32_t i = 0; i < recorded->n_ports; i++) mica_buffer_release(recorded->slots[i]);
    if (recorded->arena) mica_arena_release(recorded->device, recorded->share, recorded->arena);
    mica_free(recorded);
}

void mica_recorded_release(mica_recorded *recorded) {
    if (recorded && mica_refcount_release(&recorded->references)) destroy_recorded(recorded);
}

/* The replay_lock is held; the program's reference is the caller's then. */
static mica_recorded *unlink_recorded(mica_recorded *recorded) {
    *recorded->link = recorded->next;
    if (recorded->next) recorded->next->link = recorded->link;
    recorded->program->replay->recorded = NULL;
    recorded->program = NULL;
    return recorded;
}

static void drop(mica_program *program) {
    mica_mutex *lock = &program->device->runtime->replay_lock;
    mica_mutex_lock(lock);
    mica_recorded *old = program->replay->recorded;
    if (old) unlink_recorded(old);
    mica_mutex_unlock(lock);
    mica_recorded_release(old);
}

void mica_replay_drop_all(mica_device *device) {
    mica_device_runtime *r = device->runtime;
    for (;;) {
        mica_mutex_lock(&r->replay_lock);
        mica_recorded *recorded = r->recorded ? unlink_recorded(r->recorded) : NULL;
        mica_mutex_unlock(&r->replay_lock);
        if (!recorded) return;
        mica_recorded_release(recorded);
    }
}

static void install(mica_program *program, mica_recorded *recorded) {
    mica_device_runtime *r = program->device->runtime;
    drop(program);
    mica_refcount_retain(&recorded->references);
    mica_mutex_lock(&r->replay_lock);
    recorded->program = program;
    recorded->next = r->recorded;
    recorded->link = &r->recorded;
    if (r->recorded) r->recorded->link = &recorded->next;
    r->recorded = program->replay->recorded = recorded;
    mica_mutex_unlock(&r->replay_lock);
}

void mica_replay_destroy(mica_program *program) {
    if (!program->replay) return;
    drop(program);
    mica_free(program->replay);
    program->replay = NULL;
}

/* ---- ports ------------------------------------------------------------------------------------*/

static mica_buffer *port_buffer(const mica_run *run, int32_t i) {
    int32_t n_inputs = run->executable->n_inputs;
    return i < n_inputs ? run->inputs[i] : run->outputs[i - n_inputs];
}

static size_t port_bytes(const mica_run *run, int32_t i) {
    const mica_executable *exe = run->executable;
    return mica_type_bytes(i < exe->n_inputs ? &exe->input_types[i]
                                             : &exe->output_types[i - exe->n_inputs]);
}

/* An input that an output is written over, or such an output: they share memory, and keep it. */
static bool is_in_place(const mica_run *run, int32_t i) {
    int32_t n_inputs = run->executable->n_inputs;
    if (i < n_inputs) return run->overwritten[i] != NULL;
    for (int32_t k = 0; k < n_inputs; k++)
        if (run->overwritten[k] && run->program->plan->overwritten_by[k] == i - n_inputs)
            return true;
    return false;
}

/* What has moved since the last run gets a slot: inputs at once, outputs when they spoiled a
 * recording. */
static void choose_slots(mica_replay *r, const mica_run *run, bool had_recording) {
    for (int32_t i = 0; i < r->n_ports; i++) {
        bool is_output = i >= r->n_inputs;
        if (r->has_slot[i] || is_in_place(run, i)) continue;
        bool has_moved = r->last[i] != port_buffer(run, i)->serial;
        if (is_output ? port_bytes(run, i) <= SMALL_OUTPUT || (has_moved && had_recording)
                      : has_moved)
            r->has_slot[i] = true;
    }
}

static void remember(mica_replay *r, const mica_run *run) {
    for (int32_t i = 0; i < r->n_ports; i++) r->last[i] = port_buffer(run, i)->serial;
    r->was_seen = true;
}

static bool matches(const mica_recorded *recorded, const mica_run *run) {
    if (recorded->arena != run->arena) return false;
    for (int32_t i = 0; i < recorded->n_ports; i++)
        if (!recorded->slots[i] && recorded->serials[i] != port_buffer(run, i)->serial)
            return false;
    return true;
}

uint64_t mica_replay_wish(mica_program *program, int32_t i) {
    mica_replay *r = program->replay;
    if (!r) return 0;
    mica_mutex *lock = &program->device->runtime->replay_lock;
    mica_mutex_lock(lock);
    uint64_t serial = r->recorded ? r->recorded->serials[r->n_inputs + i] : 0;
    mica_mutex_unlock(lock);
    return serial;
}

/* ---- recording --------------------------------------------------------------------------------*/

static mica_status create_slot(const mica_run *run, int32_t port, mica_buffer **out) {
    MICA_TRY(mica_buffer_create_in_order(run->program->device, port_bytes(run, port), out));
    mica_buffer_set_role(*out, MICA_HOLDS_SLOT);
    return NULL;
}

static mica_status create_recorded(mica_run *run, mica_recorded **out) {
    const mica_replay *r = run->program->replay;
    size_t n_ports = (size_t)r->n_ports, n_pieces = (size_t)r->n_pieces;
    mica_recorded *recorded =
        mica_calloc(1, sizeof *recorded + n_ports * (sizeof(uint64_t) + sizeof(mica_buffer *)) +
                           n_pieces * sizeof(mica_recording *));
    if (!recorded) return MICA_NO_MEMORY();
    mica_refcount_init(&recorded->references);
    recorded->device = run->program->device;
    recorded->n_ports = r->n_ports;
    recorded->n_pieces = r->n_pieces;
    recorded->serials = (uint64_t *)(recorded + 1);
    recorded->slots = (mica_buffer **)(recorded->serials + n_ports);
    recorded->recordings = (mica_recording **)(recorded->slots + n_ports);
    if (run->arena) {
        recorded->arena = run->arena;
        recorded->share = run->share;
        mica_arena_retain(recorded->device, run->share, run->arena);
    }
    *out = recorded; /* released by the caller, whatever follows */
    for (int32_t i = 0; i < r->n_ports; i++) {
        if (!r->has_slot[i] || is_in_place(run, i))
            recorded->serials[i] = port_buffer(run, i)->serial;
        else
            MICA_TRY(create_slot(run, i, &recorded->slots[i]));
    }
    return NULL;
}

/* Ports with slots are there now; mica_run_set_bases undoes it. */
static void bind_slots(mica_run *run, const mica_recorded *recorded) {
    for (int32_t i = 0; i < recorded->n_ports; i++)
        if (recorded->slots[i]) run->bases[MICA_BASE_FIRST + i] = recorded->slots[i]->address;
}

static mica_status record_piece(mica_run *run, mica_device_stream *handle, const piece *p,
                                mica_recording **out) {
    const mica_device_vtable *vtable = run->program->device->vtable;
    MICA_TRY(vtable->capture_begin(handle));
    mica_status status = mica_run_walk(run, handle, p->first, p->end);
    return mica_status_join(status, vtable->capture_end(handle, out));
}

static mica_status record(mica_run *run, mica_device_stream *handle, mica_recorded **out) {
    const mica_replay *r = run->program->replay;
    MICA_TRY(create_recorded(run, out));
    bind_slots(run, *out);
    for (int32_t i = 0; i < r->n_pieces; i++)
        if (r->pieces[i].is_recorded)
            MICA_TRY(record_piece(run, handle, &r->pieces[i], &(*out)->recordings[i]));
    return NULL;
}

/* The last recording is of no use for this run. How much it was replayed decides how soon the next
 * one may follow. */
static bool may_record(mica_replay *r, bool had_recording, int64_t replays) {
    if (r->failures >= MOST_FAILURES || !r->was_seen) return false;
    if (r->waits > 0) return r->waits--, false;
    if (had_recording) {
        r->fruitless = replays >= OFTEN_ENOUGH ? 0 : r->fruitless + 1;
        int32_t over = r->fruitless - PATIENCE;
        if (over > 0) r->waits = 1 << (over < LONGEST_WAIT ? over : LONGEST_WAIT);
    }
    return true;
}

/* A recording of this very run, or NULL: it is walked then. */
static mica_recorded *record_or_give_up(mica_run *run, mica_device_stream *handle) {
    mica_program *program = run->program;
    mica_recorded *recorded = NULL;
    mica_status status = record(run, handle, &recorded);
    if (!status) {
        install(program, recorded);
        mica_log_write(MICA_LOG_RUN, "'%s' on %s is recorded", program->graph->name,
                       program->device->name);
        return recorded;
    }
    program->replay->failures++;
    mica_log_write(MICA_LOG_RUN, "'%s' on %s is not recorded: %s", program->graph->name,
                   program->device->name, mica_status_message(status));
    mica_status_release(status);
    mica_recorded_release(recorded);
    mica_run_set_bases(run);
    return NULL;
}

/* ---- replaying --------------------------------------------------------------------------------*/

static mica_status copy_slots(mica_run *run, mica_device_stream *handle, bool out) {
    const mica_recorded *recorded = run->recorded;
    int32_t n_inputs = run->executable->n_inputs;
    for (int32_t i = out ? n_inputs : 0; i < (out ? recorded->n_ports : n_inputs); i++) {
        size_t bytes = port_bytes(run, i);
        if (!recorded->slots[i] || !bytes) continue;
        mica_address slot = recorded->slots[i]->address, port = port_buffer(run, i)->address;
        MICA_TRY(
            recorded->device->vtable->copy(handle, out ? port : slot, out ? slot : port, bytes));
    }
    return NULL;
}

static mica_status replay(mica_run *run, mica_device_stream *handle) {
    const mica_replay *r = run->program->replay;
    mica_recorded *recorded = run->recorded;
    bind_slots(run, recorded);
    MICA_TRY(copy_slots(run, handle, false));
    for (int32_t i = 0; i < r->n_pieces; i++) {
        if (recorded->recordings[i])
            MICA_TRY(recorded->device->vtable->replay(handle, recorded->recordings[i]));
        else
            MICA_TRY(mica_run_walk(run, handle, r->pieces[i].first, r->pieces[i].end));
    }
    return copy_slots(run, handle, true);
}

static mica_recorded *retain_current(mica_program *program) {
    mica_mutex *lock = &program->device->runtime->replay_lock;
    mica_mutex_lock(lock);
    mica_recorded *recorded = program->replay->recorded;
    if (recorded) mica_refcount_retain(&recorded->references);
    mica_mutex_unlock(lock);
    return recorded;
}

mica_status mica_replay_execute(mica_run *run, mica_device_stream *handle) {
    mica_program *program = run->program;
    mica_replay *r = program->replay;
    mica_recorded *recorded = retain_current(program);
    if (!recorded || !matches(recorded, run)) {
        bool had_recording = recorded != NULL;
        int64_t replays = had_recording ? recorded->replays : 0;
        mica_recorded_release(recorded);
        recorded = NULL;
        if (may_record(r, had_recording, replays)) {
            choose_slots(r, run, had_recording);
            recorded = record_or_give_up(run, handle);
        }
        remember(r, run);
    }
    if (!recorded) return mica_run_walk(run, handle, 0, program->plan->commands.n);
    run->recorded = recorded; /* until the run has ended */
    recorded->replays++;
    return replay(run, handle);
}
