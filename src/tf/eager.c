/* One op at a time: lowered and compiled once for (op, attributes, types of inputs, values of shape
 * operands, device), and kept. */
#include <string.h>

#include "base/hash.h"
#include "base/interrupt.h"
#include "base/shutdown.h"
#include "base/strings.h"
#include "report/report.h"
#include "tf/gradient/tape.h"
#include "tf/ops/random/generators.h"

enum { MOST_ENTRIES = 8192, BUCKETS = 4096, MOST_INPUTS = 64, MOST_WRITTEN = 4 };

typedef struct entry {
    mica_refcount references;
    struct entry *next;
    uint64_t hash;
    mica_device *device; /* retained */
    mica_tf_operation *operation;
    mica_executable *executable;
    int32_t n_inputs, n_outputs;
    int32_t written[MOST_WRITTEN], n_written; /* the inputs whose variables are */
    int64_t random_elements;                  /* a random op: how many it draws; -1: it is none */
    bool is_plain;                            /* types alone tell it from others of its op */
    size_t key_length;
    int64_t key[];
} entry;

static void (*log_sink)(void *context, const char *line);
static void *log_context;

void mica_tf_set_log(void (*log)(void *context, const char *line), void *context) {
    log_sink = log;
    log_context = context;
}

static mica_mutex lock;
static entry *buckets[BUCKETS];
static int32_t n_entries; /* with the lock held, as the buckets */

static void release_entry(entry *e) {
    if (!mica_refcount_release(&e->references)) return;
    mica_executable_release(e->executable);
    mica_tf_operation_release(e->operation);
    mica_device_release(e->device);
    mica_free(e);
}

/* With the lock held. */
static void evict_all(void) {
    for (int32_t i = 0; i < BUCKETS; i++)
        while (buckets[i]) {
            entry *e = buckets[i];
            buckets[i] = e->next;
            if (e->is_plain) mica_eager_clear(e->device);
            release_entry(e);
        }
    n_entries = 0;
}

void mica_tf_eager_clear(void) {
    mica_mutex_lock(&lock);
    evict_all();
    mica_mutex_unlock(&lock);
}

/* ---- keys -------------------------------------------------------------------------------------*/

typedef struct call {
    mica_device *device;
    mica_tf_op op;
    const mica_tf_op_info *info;
    const mica_tf_attr *attrs;
    const mica_tf_value *inputs;
    mica_tensor **tensors; /* the inputs, or the values of the variables they are handles of */
    int32_t n_inputs;
    bool is_locked;  /* the variables' lock is held */
    bool is_stale;   /* it was not for a while: the inputs are to be gathered again */
    bool has_values; /* some inputs' values are part of the key */
    uint64_t hash;
    int64_t *key;
    size_t key_length, key_capacity;
} call;

static inline uint64_t mix(uint64_t h, uint64_t word) {
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static char role_of(const call *c, int32_t i) {
    mica_tf_operation borrowed = {.op = c->op, .info = c->info, .attrs = (mica_tf_attr *)c->attrs};
    return mica_tf_operation_role(&borrowed, i);
}

/* Which element x[i] is makes no other program: such entries are not part of the key. */
static void forget_places(const call *c, const mica_type *type) {
    mica_tf_operation borrowed = {.op = c->op, .info = c->info, .attrs = (mica_tf_attr *)c->attrs};
    const mica_tf_operation *slice = mica_tf_innermost(&borrowed);
    int64_t shrink = mica_tf_attr_find(slice->info, slice->attrs, "shrink_axis_mask")->as.integer;
    char *bytes = (char *)&c->key[c->key_length];
    size_t size = mica_dtype_bytes(type->dtype);
    for (int64_t i = 0; i < mica_type_elements(type) && i < 32; i++)
        if (shrink >> i & 1) memset(bytes + (size_t)i * size, 0, size);
}

static bool has_values(const mica_tf_op_info *info) {
    for (const char *role = info->roles; *role; role++)
        if (*role == 's' || *role == 'o') return true;
    return info->category == MICA_TF_CATEGORY_DERIVATIVE;
}

static mica_status make_key(call *c) {
    for (int32_t i = 0; i < c->n_inputs; i++) {
        if (!c->tensors[i]) {
            c->key[c->key_length++] = -1;
            continue;
        }
        const mica_type *type = mica_tensor_type(c->tensors[i]);
        c->key[c->key_length++] = (int64_t)type->dtype << 32 | type->rank;
        for (int32_t k = 0; k < type->rank; k++) c->key[c->key_length++] = type->dims[k];
        char role = c->has_values ? role_of(c, i) : '-';
        if (role != 's' && role != 'o') continue;
        size_t bytes = mica_type_bytes(type), words = (bytes + 7) / 8;
        if (words > 64)
            return MICA_INVALID("[%s] input %d has %zu bytes, too many for a shape", c->info->name,
                                i, bytes);
        if (words) c->key[c->key_length + words - 1] = 0;
        MICA_TRY(mica_tensor_to_host(c->tensors[i], &c->key[c->key_length], bytes));
        if (role == 'o') forget_places(c, type);
        c->key_length += words;
    }
    uint64_t h = mica_tf_attrs_hash(c->op, c->attrs);
    h = mix(h, (uint64_t)(uintptr_t)c->device);
    for (size_t i = 0; i < c->key_length; i++) h = mix(h, (uint64_t)c->key[i]);
    c->hash = h;
    return NULL;
}

static bool matches(const entry *e, const call *c) {
    return e->hash == c->hash && e->operation->op == c->op && e->device == c->device &&
           e->key_length == c->key_length &&
           memcmp(e->key, c->key, c->key_length * sizeof *c->key) == 0 &&
           mica_tf_attrs_equal(c->info, e->operation->attrs, c->attrs);
}

static entry *look_up(const call *c) {
    entry *e = buckets[c->hash % BUCKETS];
    while (e && !matches(e, c)) e = e->next;
    return e;
}

/* TF_DISABLE_MLC_EAGER=";Op1;Op2;" names ops that run as they were lowered. */
static bool is_plain(const call *c) {
    const char *list = mica_environment("TF_DISABLE_MLC_EAGER");
    mica_tf_operation borrowed = {.op = c->op, .info = c->info, .attrs = (mica_tf_attr *)c->attrs};
    if (mica_tf_is_disabled()) return true;
    if (!list) return false;
    const char *name = mica_tf_innermost(&borrowed)->info->name;
    size_t n = strlen(name);
    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ';') && (at[n] == ';' || at[n] == 0)) return true;
    return false;
}

/* ---- making entries ---------------------------------------------------------------------------*/

static mica_status check_shapes(const call *c, int32_t n_outputs) {
    mica_tf_shape shapes[MOST_INPUTS], *outputs;
    mica_tf_dtype dtypes[MOST_INPUTS];
    if (c->n_inputs > MOST_INPUTS) return NULL; /* lowering checks too */
    outputs = mica_calloc((size_t)n_outputs + 1, sizeof *outputs);
    if (!outputs) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < c->n_inputs; i++) {
        mica_tf_value_shape(c->inputs[i], &shapes[i]);
        dtypes[i] = c->inputs[i].dtype;
    }
    mica_tf_inference inference = {.info = c->info,
                                   .attrs = c->attrs,
                                   .n_inputs = c->n_inputs,
                                   .n_outputs = n_outputs,
                                   .dtypes = dtypes,
                                   .inputs = shapes,
                                   .outputs = outputs,
                                   .values = c->inputs};
    mica_status status = mica_tf_infer(&inference, c->op);
    /* Of operands that are all known only a value that is none of a size or an axis hides it;
     * Range is lowered before it has counted. */
    bool must_be_known = c->op != MICA_TF_Range;
    for (int32_t i = 0; !status && must_be_known && i < n_outputs; i++)
        if (!mica_tf_shape_is_known(&outputs[i]))
            status = MICA_INVALID("[%s] the result would have shape %s: a size or an axis must be "
                                  "one number, a size >= 0",
                                  c->info->name, mica_tf_shape_text(&outputs[i]).chars);
    mica_free(outputs);
    return status;
}

static mica_status lower_call(const call *c, entry *e, mica_tf_session *session, mica_graph *g) {
    size_t n = (size_t)c->n_inputs + 1;
    mica_value *inputs = mica_arena_alloc(&session->arena, n * sizeof *inputs);
    int32_t *variables = mica_arena_alloc(&session->arena, n * sizeof *variables);
    mica_tensor **constants = mica_arena_alloc(&session->arena, n * sizeof *constants);
    mica_value *outputs =
        mica_arena_alloc(&session->arena, ((size_t)e->n_outputs + 1) * sizeof *outputs);
    session->variables = mica_arena_alloc(&session->arena, n * sizeof *session->variables);
    if (!inputs || !variables || !constants || !outputs || !session->variables)
        return MICA_NO_MEMORY();
    session->n_variables = c->n_inputs;
    for (int32_t i = 0; i < c->n_inputs; i++) {
        bool handle = c->inputs[i].dtype == MICA_TF_resource;
        variables[i] = handle ? i : -1;
        mica_value value =
            c->tensors[i] ? mica_parameter(g, mica_tensor_type(c->tensors[i])) : MICA_NULL_VALUE;
        if (handle)
            session->variables[i].value = value;
        else
            inputs[i] = value;
        char role = role_of(c, i);
        if (role == 's' || role == 'o') constants[i] = c->tensors[i];
    }
    mica_tf_lowering lowering = {.g = g,
                                 .operation = e->operation,
                                 .info = c->info,
                                 .attrs = e->operation->attrs,
                                 .n_inputs = c->n_inputs,
                                 .n_outputs = e->n_outputs,
                                 .inputs = inputs,
                                 .outputs = outputs,
                                 .constants = constants,
                                 .variables = variables,
                                 .session = session};
    mica_tf_lower(&lowering);
    MICA_TRY(mica_graph_check(g));
    for (int32_t i = 0; i < e->n_outputs; i++) mica_output(g, outputs[i]);
    for (int32_t i = 0; i < c->n_inputs; i++)
        if (session->variables[i].written) {
            if (e->n_written == MOST_WRITTEN)
                return MICA_ERROR(MICA_UNSUPPORTED, "[%s] writes more than %d variables",
                                  c->info->name, MOST_WRITTEN);
            mica_output(g, session->variables[i].value);
            e->written[e->n_written++] = i;
        }
    if (session->n_randoms > 1 || (session->randoms && session->randoms->runs))
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] draws more than once", c->info->name);
    if (session->randoms) e->random_elements = session->randoms->elements;
    mica_compile_options options = {.size = sizeof options, .tier = MICA_TIER_BUILT_IN};
    if (is_plain(c)) options.passes = "-match,-simplify,-fuse";
    return mica_executable_create(c->device, g, &options, &e->executable);
}

static mica_status fill_entry(const call *c, entry *e) {
    mica_tf_dtype dtypes[MICA_TF_MAX_VALUES];
    e->n_outputs = mica_tf_output_dtypes(c->info, c->attrs, dtypes, MICA_TF_MAX_VALUES);
    if (e->n_outputs < 0) return MICA_INVALID("[%s] has too many outputs", c->info->name);
    MICA_TRY(check_shapes(c, e->n_outputs));
    MICA_TRY(mica_tf_operation_create(c->op, c->attrs, &e->operation));
    mica_graph *g = NULL;
    MICA_TRY(mica_graph_create(c->info->name, &g));
    mica_tf_session session;
    mica_tf_session_init(&session, c->device);
    mica_status status = lower_call(c, e, &session, g);
    mica_tf_session_deinit(&session);
    mica_graph_release(g);
    return status;
}

/* Whether the op and the types of its inputs say all about a call. */
static bool is_plain_op(mica_tf_op op) {
    const mica_tf_op_info *info = mica_tf_op_describe(op);
    const mica_tf_row *row = &mica_tf_rows[op];
    if (row->run == MICA_TF_HOST || row->run == MICA_TF_BOTH || row->effect != MICA_TF_PURE)
        return false;
    return info->category == MICA_TF_CATEGORY_PLAIN && info->n_inputs >= 1 &&
           info->n_inputs <= MICA_TF_MOST_PLAIN && info->n_outputs == 1 && !has_values(info) &&
           !mica_tf_checks_values(op) && op != MICA_TF_StridedSlice;
}

static inline bool is_tensor_of_its_dtype(mica_tf_value value) {
    return value.object && mica_tf_is_core(value.dtype) &&
           mica_tf_dtype_of_core(mica_tensor_type(value.object)->dtype) == value.dtype;
}

/* Whether the attributes are what a call without any has. */
static bool has_default_attrs(const call *c) {
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS];
    mica_tf_dtype dtypes[MICA_TF_MOST_PLAIN];
    for (int32_t i = 0; i < c->info->n_attrs; i++) attrs[i] = c->info->attrs[i].value;
    for (int32_t i = 0; i < c->n_inputs; i++) {
        dtypes[i] = c->inputs[i].dtype;
        if (!is_tensor_of_its_dtype(c->inputs[i])) return false;
    }
    for (int32_t i = 0; i < c->info->n_attrs; i++)
        if (!c->info->attrs[i].has_default && !c->info->attrs[i].is_inferred) return false;
    mica_status status = mica_tf_op_infer_types(c->op, dtypes, c->n_inputs, attrs);
    bool is_equal = !status && mica_tf_attrs_equal(c->info, attrs, c->attrs);
    mica_status_release(status);
    return is_equal;
}

static bool is_plain_call(const call *c) {
    return is_plain_op(c->op) && c->n_inputs == c->info->n_inputs && has_default_attrs(c);
}

/* Retained once for the caller. */
static mica_status create_entry(const call *c, entry **out_entry) {
    size_t bytes = c->key_length * sizeof(int64_t);
    entry *e = mica_calloc(1, sizeof *e + bytes);
    if (!e) return MICA_NO_MEMORY();
    mica_refcount_init(&e->references);
    e->hash = c->hash;
    e->device = c->device;
    mica_device_retain(e->device);
    e->n_inputs = c->n_inputs;
    e->random_elements = -1;
    e->is_plain = is_plain_call(c);
    e->key_length = c->key_length;
    memcpy(e->key, c->key, bytes);
    mica_status status = fill_entry(c, e);
    if (status)
        release_entry(e);
    else
        *out_entry = e;
    return status;
}

/* Nothing is lowered while other threads wait for the variables: their lock is let go, which makes
 * the call stale. */
static mica_status create_unlocked(call *c, entry **out_entry) {
    if (!c->is_locked) return create_entry(c, out_entry);
    for (int32_t i = 0; i < c->n_inputs; i++) mica_tensor_retain(c->tensors[i]);
    mica_tf_variables_unlock();
    mica_status status = create_entry(c, out_entry);
    for (int32_t i = 0; i < c->n_inputs; i++) mica_tensor_release(c->tensors[i]);
    mica_tf_variables_lock();
    c->is_stale = true;
    return status;
}

static mica_status find_entry(call *c, entry **out_entry, bool *out_is_new) {
    mica_mutex_lock(&lock);
    entry *e = look_up(c);
    if (e) mica_refcount_retain(&e->references);
    mica_mutex_unlock(&lock);
    *out_entry = e;
    *out_is_new = false;
    if (e) return NULL;
    MICA_TRY(create_unlocked(c, &e));
    mica_shutdown_first(mica_tf_eager_clear);
    mica_mutex_lock(&lock);
    bool is_full = n_entries >= MOST_ENTRIES;
    if (is_full) evict_all();
    *out_is_new = !look_up(c);
    if (*out_is_new) {
        entry **bucket = &buckets[c->hash % BUCKETS];
        mica_refcount_retain(&e->references);
        e->next = *bucket;
        *bucket = e;
        n_entries++;
    }
    mica_mutex_unlock(&lock);
    if (is_full && log_sink)
        log_sink(log_context, "the cache of eager ops is full: all are evicted");
    *out_entry = e;
    return NULL;
}

/* ---- running ----------------------------------------------------------------------------------*/

/* Whether the input is a variable that the op writes, and no other input's. */
static bool may_donate(const call *c, const entry *e, int32_t i) {
    bool is_written = false;
    for (int32_t k = 0; k < e->n_written; k++) is_written |= e->written[k] == i;
    for (int32_t k = 0; is_written && k < c->n_inputs; k++)
        is_written = k == i || c->tensors[k] != c->tensors[i];
    return is_written;
}

static mica_status run_entry(const call *c, const entry *e, mica_tf_value *outputs) {
    mica_tensor *given[MOST_INPUTS], *made[MOST_INPUTS], **inputs = given, **results = made;
    uint8_t donate[MOST_INPUTS] = {0};
    int32_t n = 0, n_results = e->n_outputs + e->n_written;
    size_t room = (size_t)c->n_inputs + (size_t)n_results + 1;
    mica_tensor *random = NULL;
    if (c->n_inputs >= MOST_INPUTS || n_results > MOST_INPUTS) {
        inputs = mica_alloc(room * sizeof *inputs);
        if (!inputs) return MICA_NO_MEMORY();
        results = inputs + c->n_inputs + 1;
    }
    for (int32_t i = 0; i < c->n_inputs; i++) {
        if (!c->tensors[i]) continue;
        if (n < MOST_INPUTS) donate[n] = may_donate(c, e, i);
        inputs[n++] = c->tensors[i];
    }
    mica_status status = NULL;
    if (e->random_elements >= 0) {
        status =
            mica_tf_random_tensor(c->device, e->operation, true, e->random_elements, 0, &random);
        inputs[n++] = random;
    }
    mica_run_args args = {.size = sizeof args,
                          .inputs = inputs,
                          .n_inputs = n,
                          .donate = e->n_written && inputs == given ? donate : NULL,
                          .outputs = results,
                          .n_outputs = n_results,
                          .waits = true};
    if (!status) status = mica_executable_run(e->executable, &args, NULL);
    if (random) mica_tensor_release(random);
    for (int32_t i = 0; !status && i < e->n_outputs; i++) outputs[i] = mica_tf_value_of(results[i]);
    for (int32_t i = 0; !status && i < e->n_written; i++) {
        mica_tf_value *cell = mica_tf_variable_cell(c->inputs[e->written[i]]), before = *cell;
        *cell = mica_tf_value_of(results[e->n_outputs + i]);
        mica_tf_value_release(before);
    }
    if (inputs != given) mica_free(inputs);
    return status;
}

/* "AddV2 key 0123456789abcdef: 0x7f.. f32[2] 0x7f.. f32[2] -> 0x7f.. f32[2] (inserted)" */
static void log_call(const call *c, const entry *e, const mica_tf_value *outputs, bool is_new) {
    mica_text text;
    mica_text_init(&text);
    mica_text_printf(&text, "%s key %016llx:", c->info->name, (unsigned long long)c->hash);
    for (int32_t i = 0; i < c->n_inputs + e->n_outputs; i++) {
        mica_tensor *t = i < c->n_inputs ? c->tensors[i] : outputs[i - c->n_inputs].object;
        char type[200];
        void *data = NULL;
        if (!t) continue;
        if (i == c->n_inputs) mica_text_append(&text, " ->");
        mica_type_format(mica_tensor_type(t), type, sizeof type);
        mica_status status = mica_tensor_open_view(t, MICA_READ, &data);
        if (!status) status = mica_tensor_close_view(t);
        mica_status_release(status);
        mica_text_printf(&text, " %p %s", data, type);
    }
    mica_text_append(&text, is_new ? " (inserted)" : "");
    if (!mica_text_is_failed(&text)) log_sink(log_context, mica_text_data(&text));
    mica_text_deinit(&text);
}

static mica_status run_lowered(call *c, mica_tf_value *outputs, int32_t capacity, int32_t *out_n,
                               mica_tf_operation **out_operation) {
    entry *e = NULL;
    c->key_length = 0;
    MICA_TRY(make_key(c));
    bool is_new;
    MICA_TRY(find_entry(c, &e, &is_new));
    if (c->is_stale) {
        release_entry(e);
        return NULL;
    }
    mica_status status = e->n_outputs > capacity
                             ? MICA_INVALID("[%s] gives %d results, room for %d", c->info->name,
                                            e->n_outputs, capacity)
                             : run_entry(c, e, outputs);
    if (!status) {
        *out_n = e->n_outputs;
        if (e->is_plain && !out_operation)
            mica_eager_keep(c->device, (int32_t)c->op, c->tensors, c->n_inputs, e->executable);
        if (log_sink) log_call(c, e, outputs, is_new);
        if (out_operation) {
            mica_tf_operation_retain(e->operation);
            *out_operation = e->operation;
        }
    }
    release_entry(e);
    return status;
}

static mica_status run_on_host(const call *c, mica_tf_value *outputs, int32_t capacity,
                               int32_t *out_n, mica_tf_operation **out_operation) {
    mica_tf_dtype dtypes[MICA_TF_MAX_VALUES];
    if (c->op == MICA_TF_Cast && c->n_inputs == 1)
        return MICA_ERROR(MICA_UNSUPPORTED, "[Cast] Cast %s to %s is not supported",
                          mica_tf_dtype_text(c->inputs[0].dtype),
                          mica_tf_dtype_text((mica_tf_dtype)c->attrs[1].as.integer));
    int32_t n = mica_tf_output_dtypes(c->info, c->attrs, dtypes, MICA_TF_MAX_VALUES);
    if (n < 0)
        return MICA_INVALID("[%s] the attributes ask for fewer than no results, or more than %d",
                            c->info->name, MICA_TF_MAX_VALUES);
    if (n > capacity)
        return MICA_INVALID("[%s] gives %d results, room for %d", c->info->name, n, capacity);
    mica_tf_operation *operation = NULL;
    bool is_random = mica_tf_rows[c->op].effect == MICA_TF_RANDOM;
    if (is_random) MICA_TRY(mica_tf_operation_create(c->op, c->attrs, &operation));
    mica_tf_host context = {.device = c->device,
                            .operation = operation,
                            .is_eager = true,
                            .info = c->info,
                            .attrs = c->attrs,
                            .n_inputs = c->n_inputs,
                            .n_outputs = n,
                            .inputs = c->inputs,
                            .output_dtypes = dtypes,
                            .outputs = outputs};
    mica_status status = mica_tf_run_host(c->op, &context);
    mica_tf_operation_release(operation);
    MICA_TRY(status);
    if (out_operation) status = mica_tf_operation_create(c->op, c->attrs, out_operation);
    for (int32_t i = 0; status && i < n; i++) {
        mica_tf_value_release(outputs[i]);
        outputs[i].object = NULL;
    }
    if (!status) *out_n = n;
    return status;
}

static bool runs_on_host(const call *c) {
    mica_tf_run run = mica_tf_rows[c->op].run;
    if (run == MICA_TF_HOST || run == MICA_TF_BOTH) return true;
    if (c->info->category == MICA_TF_CATEGORY_DERIVATIVE &&
        mica_tf_operation_lowers(c->attrs[0].as.operation) == MICA_TF_STAYS_HOST)
        return true;
    for (int32_t i = 0; i < c->n_inputs; i++)
        if (!mica_tf_is_core(c->inputs[i].dtype) && c->inputs[i].dtype != MICA_TF_resource)
            return true;
    return false;
}

/* An op on a variable runs where its value is. */
static mica_device *device_of(const call *c) {
    for (int32_t i = 0; i < c->n_inputs; i++)
        if (c->inputs[i].dtype == MICA_TF_resource && c->tensors[i])
            return mica_tensor_device(c->tensors[i]);
    return c->device;
}

static bool is_all_here(const call *c) {
    for (int32_t i = 0; i < c->n_inputs; i++)
        if (c->tensors[i] && mica_tensor_device(c->tensors[i]) != c->device) return false;
    return true;
}

/* With operands brought to the device. Those that are only read (shape operands) come too: a
 * program has them among its inputs. */
static mica_status run_moved(call *c, mica_tf_value *outputs, int32_t capacity, int32_t *out_n,
                             mica_tf_operation **out_operation) {
    size_t n = (size_t)c->n_inputs;
    mica_tensor **given = c->tensors;
    mica_tensor **moved = mica_calloc(n, sizeof *moved);
    if (!moved) return MICA_NO_MEMORY();
    mica_status status = NULL;
    for (size_t i = 0; i < n && !status; i++)
        if (given[i]) status = mica_tensor_copy_to(given[i], c->device, &moved[i]);
    c->tensors = moved;
    if (!status) status = run_lowered(c, outputs, capacity, out_n, out_operation);
    c->tensors = given;
    for (size_t i = 0; i < n; i++) mica_tensor_release(moved[i]);
    mica_free(moved);
    return status;
}

/* The inputs, or what the variables hold that they are handles of, checked. */
static mica_status gather_tensors(call *c) {
    for (int32_t i = 0; i < c->n_inputs; i++) {
        c->tensors[i] = c->inputs[i].object;
        if (c->inputs[i].dtype != MICA_TF_resource) continue;
        mica_tf_operation borrowed = {
            .op = c->op, .info = c->info, .attrs = (mica_tf_attr *)c->attrs};
        MICA_TRY(mica_tf_check_input(&borrowed, i, MICA_TF_resource));
        MICA_TRY(mica_tf_variable_check(c->inputs[i], mica_tf_variable_dtype(c->inputs[i]), NULL));
        const mica_tf_value *cell = mica_tf_variable_cell(c->inputs[i]);
        c->tensors[i] = mica_tf_is_core(cell->dtype) ? cell->object : NULL;
    }
    c->device = device_of(c);
    if (mica_tf_checks_values(c->op) && mica_device_checks_bounds(c->device))
        MICA_TRY(mica_tf_check_values(c->op, c->info, c->attrs, c->inputs));
    /* places, each time */
    return c->op == MICA_TF_StridedSlice ? check_shapes(c, 1) : NULL;
}

static mica_status run_op(mica_device *device, mica_tf_op op, const mica_tf_attr *attrs,
                          const mica_tf_value *inputs, int32_t n_inputs, mica_tf_value *out_outputs,
                          int32_t capacity, int32_t *out_n, mica_tf_operation **out_operation) {
    MICA_GIVEN(MICA_MANY(inputs, n_inputs), MICA_MANY(out_outputs, capacity), out_n);
    call c = {.device = device,
              .op = op,
              .info = mica_tf_op_describe(op),
              .attrs = attrs,
              .inputs = inputs,
              .n_inputs = n_inputs};
    *out_n = 0;
    if (out_operation) *out_operation = NULL;
    if (!c.info) return MICA_INVALID("[eager] %d is not an op", (int)op);
    MICA_GIVEN(MICA_MANY(attrs, c.info->n_attrs));
    if (runs_on_host(&c)) return run_on_host(&c, out_outputs, capacity, out_n, out_operation);
    mica_tensor *few_tensors[8];
    int64_t few_words[8 * 24];
    c.tensors = few_tensors;
    c.key = few_words;
    bool is_large = n_inputs > 8;
    size_t words = (size_t)n_inputs * (MICA_MAX_RANK + 1 + 64);
    c.has_values = has_values(c.info);
    void *room = NULL;
    if (is_large || c.has_values) {
        room = mica_alloc(words * sizeof(int64_t) + (size_t)n_inputs * sizeof(void *) + 8);
        if (!room) return MICA_NO_MEMORY();
        c.key = room;
        c.tensors = (mica_tensor **)(c.key + words);
    }
    if (mica_tf_rows[op].effect == MICA_TF_STATE) {
        mica_tf_variables_lock();
        c.is_locked = true;
    }
    mica_status status;
    do {
        c.is_stale = false;
        c.device = device;
        status = mica_interrupt_poll() ? mica_interrupt_status() : gather_tensors(&c);
        if (!status)
            status = is_all_here(&c) ? run_lowered(&c, out_outputs, capacity, out_n, out_operation)
                                     : run_moved(&c, out_outputs, capacity, out_n, out_operation);
    } while (!status && c.is_stale);
    if (c.is_locked) mica_tf_variables_unlock();
    mica_free(room);
    return status;
}

/* Told to the tapes of values of this thread, if it has any. */
static mica_status run_recorded(mica_device *device, mica_tf_op op, const mica_tf_attr *attrs,
                                const mica_tf_value *inputs, int32_t n_inputs,
                                mica_tf_value *out_outputs, int32_t capacity, int32_t *out_n,
                                mica_tf_operation **out_operation) {
    mica_tf_operation *operation = NULL;
    mica_tf_tape *tapes = mica_tf_tapes_hide();
    mica_status status = run_op(device, op, attrs, inputs, n_inputs, out_outputs, capacity, out_n,
                                tapes ? &operation : out_operation);
    if (!tapes) return status;
    if (!status) {
        status = mica_tf_tapes_record(tapes, operation, inputs, n_inputs, out_outputs, *out_n);
        for (int32_t i = 0; status && i < *out_n; i++) {
            mica_tf_value_release(out_outputs[i]);
            out_outputs[i].object = NULL;
        }
        if (status) *out_n = 0;
    }
    mica_tf_tapes_show(tapes);
    if (out_operation) *out_operation = NULL;
    if (out_operation && !status)
        *out_operation = operation;
    else
        mica_tf_operation_release(operation);
    return status;
}

mica_status mica_tf_eager(mica_device *device, mica_tf_op op, const mica_tf_attr *attrs,
                          const mica_tf_value *inputs, int32_t n_inputs, mica_tf_value *out_outputs,
                          int32_t capacity, int32_t *out_n, mica_tf_operation **out_operation) {
    bool may_record = __atomic_load_n(&mica_tf_n_recording, __ATOMIC_RELAXED) != 0;
    bool is_traced = mica_trace_is_on();
    double start = is_traced ? mica_clock_seconds() : 0;
    mica_status status = (may_record ? run_recorded : run_op)(
        device, op, attrs, inputs, n_inputs, out_outputs, capacity, out_n, out_operation);
    const mica_tf_op_info *info = is_traced ? mica_tf_op_describe(op) : NULL;
    if (info) mica_trace_add("op", info->name, start, mica_clock_seconds() - start);
    return status;
}

bool mica_tf_eager_again(mica_device *device, mica_tf_op op, const mica_tf_value *inputs,
                         int32_t n_inputs, mica_tf_value *out_output, mica_status *out_status) {
    mica_tensor *tensors[MICA_TF_MOST_PLAIN], *result;
    if (n_inputs > MICA_TF_MOST_PLAIN || !MICA_MANY(inputs, n_inputs) || !out_output || log_sink ||
        __atomic_load_n(&mica_tf_n_recording, __ATOMIC_RELAXED) != 0)
        return false;
    for (int32_t i = 0; i < n_inputs; i++) {
        if (!is_tensor_of_its_dtype(inputs[i])) return false;
        tensors[i] = inputs[i].object;
    }
    if (!mica_eager_run_kept(device, (int32_t)op, tensors, n_inputs, &result, out_status))
        return false;
    *out_output = mica_tf_value_of(result);
    return true;
}
