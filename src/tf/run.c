/* Running graphs: steps one after the other; a segment's program is found by its key or made. */
#include <string.h>

#include "base/hash.h"
#include "base/interrupt.h"
#include "base/strings.h"
#include "report/report.h"
#include "tf/gradient/tape.h"
#include "tf/ops/random/generators.h"
#include "tf/steps.h"

/* ---- one run ----------------------------------------------------------------------------------*/

typedef struct run {
    mica_tf_graph *g;
    mica_tf_steps *steps;
    mica_device *device;
    mica_tf_value *slots; /* by result of the graph */
} run;

/* What a variable held when its lock was let go. */
typedef struct held_type {
    bool has_value;
    mica_type type;
} held_type;

/* A segment about to run: what its inputs are. */
typedef struct segment {
    run *run;
    mica_tf_step *step;
    int64_t *key;
    size_t key_length;
    mica_tf_value *handles; /* of different variables */
    int32_t *unique;        /* by variable of the step: its place in handles, -1: not a variable */
    int32_t n_handles;
    bool is_locked;   /* this run holds the lock of the variables */
    held_type *types; /* by handle, while a program is made: without the lock */
} segment;

static void lock_variables(segment *s) {
    if (!s->n_handles) return;
    mica_tf_variables_lock();
    s->is_locked = true;
}

static void unlock_variables(segment *s) {
    if (s->is_locked) mica_tf_variables_unlock();
    s->is_locked = false;
}

static mica_tf_value *cell_of(const segment *s, int32_t i) {
    return mica_tf_variable_cell(s->handles[i]);
}

/* The variable's value as a tensor; NULL when it has none. */
static mica_tensor *tensor_of(const segment *s, int32_t i) {
    mica_tf_value *cell = cell_of(s, i);
    return mica_tf_is_core(cell->dtype) ? cell->object : NULL;
}

/* ---- where values are -------------------------------------------------------------------------*/

static mica_status move(mica_tf_value *value, mica_device *device) {
    mica_tf_value before = *value, moved;
    if (mica_tf_value_is_on(before, device)) return NULL;
    MICA_TRY(mica_tf_value_move(before, device, &moved));
    *value = moved;
    mica_tf_value_release(before);
    return NULL;
}

/* Inputs and variables come to the device that the graph runs on; variables stay there. */
static mica_status bring_inputs(segment *s) {
    for (int32_t i = 0; i < s->step->n_inputs; i++)
        MICA_TRY(move(&s->run->slots[s->step->inputs[i]], s->run->device));
    for (int32_t i = 0; i < s->n_handles; i++) MICA_TRY(move(cell_of(s, i), s->run->device));
    return NULL;
}

/* ---- keys -------------------------------------------------------------------------------------*/

static void key_type(segment *s, const mica_type *type) {
    s->key[s->key_length++] = (int64_t)type->dtype << 32 | type->rank;
    for (int32_t i = 0; i < type->rank; i++) s->key[s->key_length++] = type->dims[i];
}

static mica_status key_value(segment *s, mica_tensor *tensor) {
    const mica_type *type = mica_tensor_type(tensor);
    size_t bytes = mica_type_bytes(type);
    if (bytes > 64 * sizeof(int64_t))
        return MICA_INVALID("[run] a shape operand has %zu bytes: too many", bytes);
    size_t words = (bytes + 7) / 8;
    if (words) s->key[s->key_length + words - 1] = 0;
    MICA_TRY(mica_tensor_to_host(tensor, &s->key[s->key_length], bytes));
    s->key_length += words;
    return NULL;
}

static mica_status make_key(segment *s) {
    const mica_tf_step *step = s->step;
    s->key_length = 0;
    s->key[s->key_length++] = (int64_t)(uintptr_t)s->run->device;
    for (int32_t i = 0; i < step->n_inputs; i++)
        key_type(s, mica_tensor_type(s->run->slots[step->inputs[i]].object));
    for (int32_t i = 0; i < step->n_values; i++)
        MICA_TRY(key_value(s, s->run->slots[step->values[i]].object));
    for (int32_t i = 0; i < step->n_variables; i++) {
        s->key[s->key_length++] = s->unique[i];
        if (s->unique[i] < 0) continue;
        mica_tensor *tensor = tensor_of(s, s->unique[i]);
        if (tensor)
            key_type(s, mica_tensor_type(tensor));
        else
            s->key[s->key_length++] = -1;
    }
    return NULL;
}

/* ---- making a program -------------------------------------------------------------------------*/

static mica_status bind(segment *s, mica_tf_session *session, mica_tf_frame *frame) {
    const mica_tf_step *step = s->step;
    for (int32_t i = 0; i < step->n_inputs; i++)
        frame->values[step->inputs[i]] =
            mica_parameter(frame->g, mica_tensor_type(s->run->slots[step->inputs[i]].object));
    for (int32_t i = 0; i < step->n_values; i++) {
        mica_tensor *tensor = s->run->slots[step->values[i]].object;
        mica_tensor_retain(tensor);
        frame->known[step->values[i]] = tensor;
    }
    session->n_variables = s->n_handles;
    session->variables =
        mica_arena_alloc(&session->arena, ((size_t)s->n_handles + 1) * sizeof *session->variables);
    if (!session->variables) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < s->n_handles; i++)
        if (s->types[i].has_value)
            session->variables[i].value = mica_parameter(frame->g, &s->types[i].type);
    for (int32_t i = 0; i < step->n_variables; i++)
        frame->variables[step->variables[i]] = s->unique[i];
    return NULL;
}

static mica_status collect_outputs(segment *s, mica_tf_session *session, mica_tf_frame *frame,
                                   mica_tf_program *program) {
    for (int32_t i = 0; i < s->step->n_outputs; i++) {
        mica_value value = frame->values[s->step->outputs[i]];
        if (!value.node) {
            MICA_TRY(mica_graph_check(frame->g));
            return MICA_ERROR(MICA_INTERNAL, "[%s] a result was not made", s->run->g->name);
        }
        mica_output(frame->g, value);
    }
    program->written = mica_alloc(((size_t)s->n_handles + 1) * sizeof *program->written);
    program->donated =
        mica_calloc((size_t)(s->step->n_inputs + s->n_handles + session->n_randoms) + 1, 1);
    program->randoms = mica_alloc(((size_t)session->n_randoms + 1) * sizeof *program->randoms);
    program->written_types =
        mica_alloc(((size_t)s->n_handles + 1) * sizeof *program->written_types);
    if (!program->written || !program->donated || !program->written_types || !program->randoms)
        return MICA_NO_MEMORY();
    for (mica_tf_random_slot *slot = session->randoms; slot; slot = slot->next)
        program->randoms[program->n_randoms++] = *slot;
    int32_t input = s->step->n_inputs;
    for (int32_t i = 0; i < s->n_handles; i++) {
        bool has_value = s->types[i].has_value;
        if (session->variables[i].written) {
            mica_value value = session->variables[i].value;
            MICA_TRY(mica_graph_check(frame->g));
            mica_output(frame->g, value);
            program->written_types[program->n_written] = *mica_value_type(value);
            program->written[program->n_written++] = i;
            if (has_value) program->donated[input] = 1;
        }
        if (has_value) input++;
    }
    return NULL;
}

static int32_t input_of(const segment *s, const mica_tf_frame *frame, mica_value value) {
    for (int32_t i = 0; i < s->step->n_inputs; i++) {
        mica_value input = frame->values[s->step->inputs[i]];
        if (input.node == value.node && input.index == value.index) return i;
    }
    return -1;
}

/* After the other outputs. */
static mica_status collect_checks(segment *s, mica_tf_session *session, mica_tf_frame *frame,
                                  mica_tf_program *program) {
    int32_t n = 0;
    const mica_tf_check *checks = mica_tf_take_checks(session, frame->g), *at;
    for (at = checks; at; at = at->next) n++;
    if (!n) return NULL;
    program->checks = mica_alloc((size_t)n * sizeof *program->checks);
    if (!program->checks) return MICA_NO_MEMORY();
    for (at = checks; at; at = at->next) {
        int32_t input = input_of(s, frame, at->value);
        mica_tf_checked *checked = &program->checks[program->n_checks++];
        *checked = (mica_tf_checked){.input = input, .bounds = at->bounds};
        if (at->place) {
            checked->name = mica_strdup(at->name);
            checked->place = mica_strdup(at->place);
            if (!checked->name || !checked->place) return MICA_NO_MEMORY();
        }
        if (input >= 0) continue;
        mica_output(frame->g, at->value);
        program->n_checked_results++;
    }
    return NULL;
}

/* 0: as MICA_TIER says. Of a graph that is to be compiled the first sizes of a segment are waited
 * for, and no others. */
static mica_tier tier_of(const segment *s) {
    if (mica_tf_is_disabled()) return MICA_TIER_BUILT_IN;
    bool waits = mica_tf_graph_is_compiled(s->run->g) &&
                 !__atomic_exchange_n(&s->step->was_compiled, true, __ATOMIC_RELAXED);
    return waits ? MICA_TIER_COMPILED : (mica_tier)0;
}

/* For those who want the graph itself: which variable each input is. */
static mica_status note_program(const segment *s, mica_tf_program *program, mica_graph *g) {
    int32_t *handles = mica_calloc((size_t)s->n_handles + 1, sizeof *handles);
    bool *has_value = mica_calloc((size_t)s->n_handles + 1, sizeof *has_value);
    mica_status status = handles && has_value ? NULL : MICA_NO_MEMORY();
    for (int32_t i = s->step->n_variables - 1; !status && i >= 0; i--)
        if (s->unique[i] >= 0) handles[s->unique[i]] = s->step->variables[i];
    for (int32_t i = 0; !status && i < s->n_handles; i++) has_value[i] = s->types[i].has_value;
    if (!status)
        status =
            mica_tf_program_note(program, s->run->g, s->step, g, handles, has_value, s->n_handles);
    mica_free(handles);
    mica_free(has_value);
    return status;
}

/* failed_node: where lowering gave up because a region's shapes vary; -1: not that. */
static mica_status lower_segment(segment *s, mica_tf_program *program, int32_t *failed_node) {
    mica_tf_session session;
    mica_graph *g = NULL;
    MICA_TRY(mica_graph_create(s->run->g->name, &g));
    mica_tf_session_init(&session, s->run->device);
    session.checks_bounds = mica_device_checks_bounds(s->run->device);
    mica_tf_frame *frame = mica_tf_frame_create(&session, s->run->g, g);
    mica_status status = frame ? bind(s, &session, frame) : mica_graph_check(g);
    for (int32_t i = 0; !status && i < s->step->n_nodes && !session.region_varies; i++) {
        mica_tf_frame_lower(frame, s->step->nodes[i]);
        if (session.region_varies) *failed_node = s->step->nodes[i];
    }
    if (!status) status = mica_graph_check(g);
    if (!status) status = collect_outputs(s, &session, frame, program);
    if (!status) status = collect_checks(s, &session, frame, program);
    if (!status) status = note_program(s, program, g);
    mica_compile_options options = {.size = sizeof options, .tier = tier_of(s)};
    if (mica_tf_is_disabled()) options.passes = "-match,-fuse";
    if (!status) status = mica_executable_create(s->run->device, g, &options, &program->executable);
    mica_tf_session_deinit(&session);
    mica_graph_release(g);
    return status;
}

static mica_status make_program(segment *s, const mica_tf_key *key, mica_tf_program **out_program,
                                int32_t *failed_node) {
    mica_tf_program *program = mica_calloc(1, sizeof *program + key->bytes);
    *out_program = NULL;
    if (!program) return MICA_NO_MEMORY();
    mica_refcount_init(&program->references);
    program->hash = key->hash;
    program->key_bytes = key->bytes;
    program->device = s->run->device;
    mica_device_retain(program->device);
    memcpy(program->key, key->words, key->bytes);
    mica_status status = lower_segment(s, program, failed_node);
    if (status)
        mica_tf_program_release(program);
    else
        *out_program = program;
    return status;
}

static void note_types(segment *s) {
    for (int32_t i = 0; i < s->n_handles; i++) {
        mica_tensor *tensor = tensor_of(s, i);
        s->types[i].has_value = tensor != NULL;
        if (tensor) s->types[i].type = *mica_tensor_type(tensor);
    }
}

/* Whether the variables still are what the program was made for. */
static bool are_noted_types(const segment *s) {
    for (int32_t i = 0; i < s->n_handles; i++) {
        mica_tensor *tensor = tensor_of(s, i);
        if (s->types[i].has_value != (tensor != NULL)) return false;
        if (tensor && !mica_type_equal(&s->types[i].type, mica_tensor_type(tensor))) return false;
    }
    return true;
}

/* Makes what was not found, while other threads use the variables. *out_program stays NULL where
 * these have become other ones meanwhile. */
static mica_status add_program(segment *s, const mica_tf_key *key, mica_tf_program **out_program,
                               int32_t *failed_node) {
    mica_tf_program *made;
    s->types = mica_alloc(((size_t)s->n_handles + 1) * sizeof *s->types);
    if (!s->types) return MICA_NO_MEMORY();
    note_types(s);
    unlock_variables(s);
    mica_status status = make_program(s, key, &made, failed_node);
    if (!status) made = mica_tf_program_keep(s->step, key, made);
    lock_variables(s);
    if (!status) status = bring_inputs(s);
    if (!status && are_noted_types(s))
        *out_program = made;
    else
        mica_tf_program_release(made);
    mica_free(s->types);
    s->types = NULL;
    return status;
}

/* Held for the caller. */
static mica_status find_program(segment *s, mica_tf_program **out_program, int32_t *failed_node) {
    *out_program = NULL;
    MICA_TRY(bring_inputs(s));
    while (!*out_program) {
        MICA_TRY_UNINTERRUPTED();
        MICA_TRY(make_key(s));
        mica_tf_key key = {.words = s->key, .bytes = s->key_length * sizeof *s->key};
        key.hash = mica_hash_bytes(MICA_HASH_SEED, key.words, key.bytes);
        *out_program = mica_tf_program_find(s->step, &key);
        if (!*out_program) MICA_TRY(add_program(s, &key, out_program, failed_node));
    }
    return NULL;
}

/* ---- running a segment ------------------------------------------------------------------------*/

enum { FEW = 48 };

static mica_status check_integers(const mica_tf_checked *checked, mica_tensor *tensor) {
    mica_status status = mica_tf_bounds_check(&checked->bounds, tensor);
    return mica_tf_status_at(status, checked->name, checked->place);
}

static mica_status check_inputs(const segment *s, const mica_tf_program *program) {
    for (int32_t i = 0; i < program->n_checks; i++) {
        const mica_tf_checked *checked = &program->checks[i];
        if (checked->input >= 0)
            MICA_TRY(
                check_integers(checked, s->run->slots[s->step->inputs[checked->input]].object));
    }
    return NULL;
}

/* Releases the results that were made to be checked. */
static mica_status check_results(const mica_tf_program *program, mica_tensor **results) {
    mica_status status = NULL;
    for (int32_t i = 0, k = 0; i < program->n_checks; i++) {
        if (program->checks[i].input >= 0) continue;
        if (!status) status = check_integers(&program->checks[i], results[k]);
        mica_tensor_release(results[k++]);
    }
    return status;
}

/* Tensors of variables that a run only reads: the lock is not needed any more. */
static void hold_tensors(segment *s, mica_tensor *const *tensors, int32_t n) {
    for (int32_t i = 0; i < n; i++) mica_tensor_retain(tensors[i]);
    unlock_variables(s);
}

/* Variables that are written give up their value for the run, so that it may work in place. Such a
 * run is only started, as their lock is held: *out_done says when it has ended. Results to be
 * checked are waited for by the check. */
static mica_status execute(segment *s, const mica_tf_program *program, mica_tensor **to_check,
                           mica_event **out_done) {
    const mica_tf_step *step = s->step;
    int32_t n_in = step->n_inputs, n_kept = step->n_outputs + program->n_written;
    int32_t n_out = n_kept + program->n_checked_results;
    mica_tensor *few[FEW], **tensors = few;
    size_t room = (size_t)(n_in + s->n_handles + program->n_randoms + n_out) + 1;
    if (room > FEW && !(tensors = mica_alloc(room * sizeof *tensors))) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < n_in; i++) tensors[i] = s->run->slots[step->inputs[i]].object;
    for (int32_t i = 0; i < s->n_handles; i++)
        if (tensor_of(s, i)) tensors[n_in++] = tensor_of(s, i);
    int32_t n_held = program->n_written ? 0 : n_in - step->n_inputs;
    if (!program->n_written) hold_tensors(s, tensors + step->n_inputs, n_held);
    mica_status status = NULL;
    int32_t first_random = n_in;
    for (int32_t i = 0; i < program->n_randoms && !status; i++) {
        const mica_tf_random_slot *slot = &program->randoms[i];
        status = mica_tf_random_tensor(s->run->device, slot->operation, false, slot->elements,
                                       slot->runs, &tensors[n_in]);
        n_in += !status;
    }
    mica_tensor **outputs = tensors + n_in;
    mica_run_args args = {.size = sizeof args,
                          .inputs = tensors,
                          .n_inputs = n_in,
                          .donate = program->n_written ? program->donated : NULL,
                          .outputs = outputs,
                          .n_outputs = n_out,
                          .waits = !s->is_locked};
    if (!status)
        status = mica_executable_run(program->executable, &args, s->is_locked ? out_done : NULL);
    for (int32_t i = first_random; i < n_in; i++) mica_tensor_release(tensors[i]);
    for (int32_t i = 0; i < n_held; i++) mica_tensor_release(tensors[step->n_inputs + i]);
    for (int32_t i = 0; !status && i < step->n_outputs; i++)
        s->run->slots[step->outputs[i]] = mica_tf_value_of(outputs[i]);
    for (int32_t i = 0; !status && i < program->n_written; i++) {
        mica_tf_value *cell = cell_of(s, program->written[i]);
        mica_tf_value before = *cell;
        *cell = mica_tf_value_of(outputs[step->n_outputs + i]);
        mica_tf_value_release(before);
    }
    for (int32_t i = n_kept; !status && i < n_out; i++) to_check[i - n_kept] = outputs[i];
    if (tensors != few) mica_free(tensors);
    return status;
}

static mica_status execute_and_check(segment *s, const mica_tf_program *program) {
    mica_tensor *few[8], **results = few;
    mica_event *done = NULL;
    mica_status status = check_inputs(s, program);
    if (!status && program->n_checked_results > 8 &&
        !(results = mica_alloc((size_t)program->n_checked_results * sizeof *results)))
        status = MICA_NO_MEMORY();
    bool runs = !status;
    if (runs) status = execute(s, program, results, &done);
    bool ran = runs && !status;
    unlock_variables(s);
    if (done) status = mica_event_wait(done);
    mica_event_release(done);
    if (ran) {
        mica_status refused = check_results(program, results);
        if (status)
            mica_status_release(refused);
        else
            status = refused;
    }
    if (results && results != few) mica_free(results);
    return status;
}

static void gather_variables(segment *s) {
    const mica_tf_step *step = s->step;
    for (int32_t i = 0; i < step->n_variables; i++) {
        mica_tf_value handle = s->run->slots[step->variables[i]];
        const mica_tf_object *object = handle.object;
        s->unique[i] = -1;
        if (!object || object->kind != &mica_tf_variable_class) continue;
        int32_t k = 0;
        while (k < s->n_handles && s->handles[k].object != handle.object) k++;
        if (k == s->n_handles) s->handles[s->n_handles++] = handle;
        s->unique[i] = k;
    }
}

static mica_status check_writes(const segment *s, const mica_tf_program *program) {
    for (int32_t i = 0; i < program->n_written; i++) {
        mica_tf_shape shape = mica_tf_shape_of(&program->written_types[i]);
        MICA_TRY(mica_tf_variable_check(s->handles[program->written[i]],
                                        mica_tf_dtype_of_core(program->written_types[i].dtype),
                                        &shape));
    }
    return NULL;
}

static mica_status run_segment(run *r, mica_tf_step *step, int32_t *failed_node) {
    size_t words = 1 + (size_t)step->n_inputs * (MICA_MAX_RANK + 1) + (size_t)step->n_values * 64 +
                   (size_t)step->n_variables * (MICA_MAX_RANK + 3);
    int64_t few_words[256];
    mica_tf_value few_handles[FEW];
    int32_t few_unique[FEW];
    segment s = {
        .run = r, .step = step, .key = few_words, .handles = few_handles, .unique = few_unique};
    size_t n_variables = (size_t)step->n_variables;
    void *room = NULL;
    if (words > 256 || n_variables > FEW) {
        room = mica_alloc(words * sizeof(int64_t) +
                          n_variables * (sizeof *s.handles + sizeof *s.unique));
        if (!room) return MICA_NO_MEMORY();
        s.key = room;
        s.handles = (mica_tf_value *)(s.key + words);
        s.unique = (int32_t *)(s.handles + n_variables);
    }
    mica_tf_program *program = NULL;
    gather_variables(&s);
    lock_variables(&s);
    mica_status status = find_program(&s, &program, failed_node);
    if (!status) status = check_writes(&s, program);
    if (!status) status = execute_and_check(&s, program);
    unlock_variables(&s);
    mica_tf_program_release(program);
    mica_free(room);
    return status;
}

/* ---- running a host op ------------------------------------------------------------------------*/

static mica_status run_host(run *r, const mica_tf_node *node) {
    const mica_tf_operation *o = node->operation;
    size_t n = (size_t)node->n_inputs;
    mica_tf_value few[FEW], *inputs = few;
    if (n > FEW && !(inputs = mica_alloc(n * sizeof *inputs))) return MICA_NO_MEMORY();
    for (size_t i = 0; i < n; i++) {
        const mica_tf_node *from = mica_tf_node_of(r->g, node->inputs[i]);
        inputs[i] = r->slots[mica_tf_slot(r->g, node->inputs[i])];
        /* What was cut anew may need a constant of a step that has run. */
        if (!inputs[i].object && from->operation && from->operation->op == MICA_TF_Const)
            inputs[i] =
                mica_tf_attr_find(from->operation->info, from->operation->attrs, "value")->as.value;
    }
    mica_tf_host c = {.device = r->device,
                      .operation = node->operation,
                      .info = o->info,
                      .attrs = o->attrs,
                      .n_inputs = node->n_inputs,
                      .n_outputs = node->n_results,
                      .inputs = inputs,
                      .output_dtypes = node->dtypes,
                      .outputs = r->slots + node->first};
    mica_status status = mica_tf_run_host(o->op, &c);
    if (inputs != few) mica_free(inputs);
    return mica_tf_status_at(status, node->name, node->place);
}

/* ---- graphs -----------------------------------------------------------------------------------*/

mica_status mica_tf_graph_steps(mica_tf_graph *g, mica_tf_steps **out_steps) {
    *out_steps = __atomic_load_n(&g->steps, __ATOMIC_ACQUIRE);
    if (*out_steps) return NULL;
    mica_tf_steps *made;
    MICA_TRY(mica_tf_steps_create(g, NULL, &made));
    mica_mutex_lock(&g->lock);
    if (!g->steps) {
        __atomic_store_n(&g->steps, made, __ATOMIC_RELEASE);
        made = NULL;
    }
    *out_steps = g->steps;
    mica_mutex_unlock(&g->lock);
    mica_tf_steps_destroy(made);
    return NULL;
}

/* A node whose regions vary in shape runs on the host from now on. */
static mica_status cut_again(mica_tf_graph *g, mica_tf_steps *old, int32_t node) {
    mica_tf_steps *made;
    bool *host_nodes = mica_arena_alloc(&g->arena, (size_t)g->n_nodes + 1);
    if (!host_nodes) return MICA_NO_MEMORY();
    if (old->host_nodes) memcpy(host_nodes, old->host_nodes, (size_t)g->n_nodes);
    host_nodes[node] = true;
    MICA_TRY(mica_tf_steps_create(g, host_nodes, &made));
    made->host_nodes = host_nodes;
    mica_mutex_lock(&g->lock);
    bool is_newest = g->steps == old;
    if (is_newest) {
        made->replaced = old;
        __atomic_store_n(&g->steps, made, __ATOMIC_RELEASE);
    }
    mica_mutex_unlock(&g->lock);
    if (!is_newest) mica_tf_steps_destroy(made);
    return NULL;
}

/* The steps before the one that failed are the same in the new cut, so the run goes on there. */
static mica_status run_step(run *r, int32_t k) {
    for (;;) {
        mica_tf_step *step = &r->steps->data[k];
        int32_t failed_node = -1;
        if (step->node >= 0) return run_host(r, &r->g->nodes[step->node]);
        if (!step->n_outputs && !step->n_variables) return NULL;
        mica_status status = run_segment(r, step, &failed_node);
        if (!status || failed_node < 0) return status;
        mica_status_release(status);
        MICA_TRY(cut_again(r->g, r->steps, failed_node));
        r->steps = __atomic_load_n(&r->g->steps, __ATOMIC_ACQUIRE);
    }
}

static mica_status run_steps(run *r) {
    for (int32_t k = 0; k < r->steps->n; k++) {
        MICA_TRY_UNINTERRUPTED();
        MICA_TRY(run_step(r, k));
        const mica_tf_step *step = &r->steps->data[k];
        for (int32_t i = 0; i < step->n_releases; i++) {
            mica_tf_value_release(r->slots[step->releases[i]]);
            r->slots[step->releases[i]].object = NULL;
        }
    }
    return NULL;
}

static mica_status run_once(run *r, const mica_tf_value *inputs, mica_tf_value *outputs) {
    mica_tf_graph *g = r->g;
    for (int32_t i = 0; i < g->n_parameters; i++) {
        mica_tf_value_retain(inputs[i]);
        r->slots[mica_tf_slot(g, g->parameters[i])] = inputs[i];
    }
    mica_status status = run_steps(r);
    for (int32_t i = 0; !status && i < g->n_outputs; i++)
        if (!r->slots[mica_tf_slot(g, g->outputs[i])].object)
            status =
                MICA_ERROR(MICA_UNSUPPORTED, "[%s] result %d, a %s, is made by no step", g->name, i,
                           mica_tf_dtype_name(mica_tf_graph_type(g, g->outputs[i], NULL)));
    for (int32_t i = 0; !status && i < g->n_outputs; i++) {
        outputs[i] = r->slots[mica_tf_slot(g, g->outputs[i])];
        mica_tf_value_retain(outputs[i]);
    }
    for (int32_t i = 0; i < g->n_results; i++) mica_tf_value_release(r->slots[i]);
    return status;
}

static mica_status check_arguments(const mica_tf_graph *g, const mica_tf_value *inputs,
                                   int32_t n_inputs, int32_t n_outputs) {
    if (n_inputs != g->n_parameters || n_outputs != g->n_outputs)
        return MICA_INVALID("[%s] takes %d arguments and gives %d results, given %d and %d",
                            g->name, g->n_parameters, g->n_outputs, n_inputs, n_outputs);
    for (int32_t i = 0; i < n_inputs; i++) {
        mica_tf_dtype dtype = mica_tf_graph_type(g, g->parameters[i], NULL);
        if (!inputs[i].object || inputs[i].dtype != dtype)
            return MICA_INVALID("[%s] argument %d is %s, expected %s", g->name, i,
                                inputs[i].object ? mica_tf_dtype_name(inputs[i].dtype) : "missing",
                                mica_tf_dtype_name(dtype));
    }
    return NULL;
}

mica_status mica_tf_graph_run(mica_tf_graph *g, mica_device *device, const mica_tf_value *inputs,
                              int32_t n_inputs, mica_tf_value *out_outputs, int32_t n_outputs) {
    MICA_GIVEN(g, MICA_MANY(inputs, n_inputs), MICA_MANY(out_outputs, n_outputs));
    for (int32_t i = 0; i < n_outputs; i++) out_outputs[i] = (mica_tf_value){0};
    MICA_TRY(check_arguments(g, inputs, n_inputs, n_outputs));
    mica_tf_value few[FEW];
    size_t n = (size_t)g->n_results + 1;
    run r = {.g = g, .device = device, .slots = few};
    MICA_TRY(mica_tf_graph_steps(g, &r.steps));
    if (n > FEW && !(r.slots = mica_alloc(n * sizeof *r.slots))) return MICA_NO_MEMORY();
    memset(r.slots, 0, n * sizeof *r.slots);
    mica_tf_tape *tapes = mica_tf_tapes_hide();
    bool is_traced = mica_trace_is_on();
    double start = is_traced ? mica_clock_seconds() : 0;
    mica_status status = run_once(&r, inputs, out_outputs);
    if (is_traced) mica_trace_add("function", g->name, start, mica_clock_seconds() - start);
    mica_tf_tapes_show(tapes);
    if (r.slots != few) mica_free(r.slots);
    return status;
}

mica_status mica_tf_graph_segments(mica_tf_graph *g, int32_t *out_n) {
    MICA_GIVEN(g, out_n);
    mica_tf_steps *steps;
    *out_n = 0;
    MICA_TRY(mica_tf_graph_steps(g, &steps));
    for (int32_t i = 0; i < steps->n; i++) *out_n += steps->data[i].node < 0;
    return NULL;
}

/* A step as a line: a host op as it is, a segment as one node. */
static void describe_step(mica_text *text, const mica_tf_graph *g, const mica_tf_step *step,
                          int32_t number) {
    if (step->node >= 0) {
        mica_text_printf(text, "  %s = %s\n", g->nodes[step->node].name,
                         g->nodes[step->node].operation->info->name);
        return;
    }
    mica_text_printf(text, "  MLCSubgraphOp_%d: %d ops:", number, step->n_nodes);
    for (int32_t i = 0; i < step->n_nodes; i++)
        mica_text_printf(text, " %s", g->nodes[step->nodes[i]].name);
    mica_text_append_char(text, '\n');
}

static mica_status describe_programs(mica_text *text, mica_tf_step *step, int32_t number) {
    mica_tf_program **held;
    int32_t n;
    MICA_TRY(mica_tf_programs_hold(step, &held, &n));
    mica_status status = NULL;
    for (int32_t i = 0; i < n; i++) {
        char *commands = NULL;
        if (!status) status = mica_executable_print(held[i]->executable, &commands);
        if (commands) mica_text_printf(text, "MLCSubgraphOp_%d runs\n%s", number, commands);
        mica_string_free(commands);
        mica_tf_program_release(held[i]);
    }
    mica_free(held);
    return status;
}

mica_status mica_tf_graph_describe(mica_tf_graph *g, char **out_text) {
    MICA_GIVEN(g, out_text);
    mica_tf_steps *steps;
    mica_text text;
    mica_status status = NULL;
    *out_text = NULL;
    MICA_TRY(mica_tf_graph_steps(g, &steps));
    mica_text_init(&text);
    int32_t n = 0;
    for (int32_t i = 0; i < steps->n; i++) n += steps->data[i].node < 0;
    mica_text_printf(&text, "%s with %d subgraphs:\n", g->name, n);
    n = 0;
    for (int32_t i = 0; i < steps->n; i++)
        describe_step(&text, g, &steps->data[i], steps->data[i].node < 0 ? n++ : 0);
    n = 0;
    for (int32_t i = 0; i < steps->n && !status; i++)
        if (steps->data[i].node < 0) status = describe_programs(&text, &steps->data[i], n++);
    if (!status) return mica_text_finish(&text, out_text);
    mica_text_deinit(&text);
    return status;
}

int32_t mica_tf_graph_segment_size(const mica_tf_graph *g, int32_t i) {
    if (!g) return 0;
    const mica_tf_steps *steps = __atomic_load_n(&g->steps, __ATOMIC_ACQUIRE);
    for (int32_t k = 0; steps && k < steps->n; k++)
        if (steps->data[k].node < 0 && i-- == 0) return steps->data[k].n_nodes;
    return 0;
}
