/* Eager ops: one primitive at a time, through a cache of executables.
 *
 * The key is (op, attributes, operand types); the table belongs to a device and lies under its
 * lock. A hit allocates nothing but the result. Small ops skip the run and its bookkeeping
 * (direct.h). */
#include "mica/runtime.h"

#include <string.h>

#include "base/log.h"
#include "runtime/direct.h"

enum { MOST_ENTRIES = 4096 };

typedef struct eager_entry {
    struct eager_entry *next; /* in its bucket */
    uint64_t hash;
    mica_op op;
    int32_t n_operands, n_attributes;
    mica_executable *executable; /* retained */
    mica_type *operands;
    mica_attr *attributes;
    mica_arena arena;
} eager_entry;

typedef struct mica_eager_cache {
    eager_entry **buckets;
    uint32_t mask;
    int32_t n_entries;
} mica_eager_cache;

typedef struct eager_key {
    uint64_t hash;
    mica_op op;
    mica_tensor *const *operands;
    int32_t n_operands, n_attributes;
    const mica_attribute *attributes;
} eager_key;

/* ---- keys -------------------------------------------------------------------------------------*/

static inline uint64_t mix(uint64_t h, uint64_t word) {
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t mix_bytes(uint64_t h, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    h = mix(h, n);
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = mix(h, word);
    }
    uint64_t rest = 0;
    for (size_t i = 0; i < n; i++) rest |= (uint64_t)p[i] << 8 * i;
    return mix(h, rest);
}

static inline uint64_t mix_type(uint64_t h, const mica_type *type) {
    h = mix(h, (uint64_t)type->dtype << 8 | (uint64_t)(uint32_t)type->rank);
    for (int32_t i = 0; i < type->rank; i++) h = mix(h, (uint64_t)type->dims[i]);
    return h;
}

static inline bool same_type(const mica_type *a, const mica_type *b) {
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

static uint64_t mix_attribute(uint64_t h, mica_attr_kind kind, const mica_attribute *a) {
    switch (kind) {
    case MICA_ATTR_INTS: return mix_bytes(h, a->ints.data, sizeof(int64_t) * (size_t)a->ints.n);
    case MICA_ATTR_STRING: return mix_bytes(h, a->string, strlen(a->string));
    case MICA_ATTR_DATA:
        return mix_bytes(mix_type(h, a->data.type), a->data.bytes, mica_type_bytes(a->data.type));
    default: return mix(h, (uint64_t)a->integer);
    }
}

static bool same_attribute(const mica_attr *kept, const mica_attribute *a) {
    switch (kept->kind) {
    case MICA_ATTR_INTS:
        return kept->as.ints.n == a->ints.n &&
               (a->ints.n == 0 ||
                memcmp(kept->as.ints.data, a->ints.data, sizeof(int64_t) * (size_t)a->ints.n) == 0);
    case MICA_ATTR_STRING: return strcmp(kept->as.string, a->string) == 0;
    case MICA_ATTR_DATA:
        return same_type(&kept->as.data.type, a->data.type) &&
               memcmp(kept->as.data.bytes, a->data.bytes, mica_type_bytes(a->data.type)) == 0;
    default: return kept->as.integer == a->integer;
    }
}

static inline uint64_t hash_key(const eager_key *key) {
    uint64_t h = mix(0, (uint64_t)key->op);
    for (int32_t i = 0; i < key->n_operands; i++) h = mix_type(h, &key->operands[i]->type);
    for (int32_t i = 0; i < key->n_attributes; i++)
        h = mix_attribute(h, mica_op_attr_kind(key->op, i), &key->attributes[i]);
    return h;
}

static bool matches(const eager_entry *e, const eager_key *key) {
    if (e->hash != key->hash || e->op != key->op || e->n_operands != key->n_operands) return false;
    for (int32_t i = 0; i < e->n_operands; i++)
        if (!same_type(&e->operands[i], &key->operands[i]->type)) return false;
    for (int32_t i = 0; i < e->n_attributes; i++)
        if (!same_attribute(&e->attributes[i], &key->attributes[i])) return false;
    return true;
}

/* ---- the table --------------------------------------------------------------------------------*/

static eager_entry *find(const mica_eager_cache *cache, const eager_key *key) {
    if (!cache) return NULL;
    eager_entry *e = cache->buckets[key->hash & cache->mask];
    while (e && !matches(e, key)) e = e->next;
    return e;
}

static void destroy_entry(eager_entry *e) {
    mica_executable_release(e->executable);
    mica_arena_deinit(&e->arena);
    mica_free(e);
}

void mica_eager_clear(mica_device *device) {
    if (!device) return;
    mica_mutex_lock(&device->runtime->lock);
    mica_eager_cache *cache = device->runtime->eager;
    device->runtime->eager = NULL;
    mica_mutex_unlock(&device->runtime->lock);
    if (!cache) return;
    for (uint32_t i = 0; i <= cache->mask; i++)
        while (cache->buckets[i]) {
            eager_entry *e = cache->buckets[i];
            cache->buckets[i] = e->next;
            destroy_entry(e);
        }
    mica_free(cache->buckets);
    mica_free(cache);
}

static mica_eager_cache *create_cache(void) {
    mica_eager_cache *cache = mica_calloc(1, sizeof *cache);
    if (!cache) return NULL;
    cache->mask = 4 * MOST_ENTRIES - 1;
    cache->buckets = mica_calloc(cache->mask + 1, sizeof *cache->buckets);
    if (cache->buckets) return cache;
    mica_free(cache);
    return NULL;
}

/* Without memory for the table the entry is used once and forgotten: false. */
static bool insert(mica_device *device, eager_entry *e) {
    mica_device_runtime *r = device->runtime;
    mica_mutex_lock(&r->lock);
    bool full = r->eager && r->eager->n_entries >= MOST_ENTRIES;
    mica_mutex_unlock(&r->lock);
    if (full) {
        mica_log_write(MICA_LOG_EAGER, "%s: %d executables, starting over", device->name,
                       MOST_ENTRIES);
        mica_eager_clear(device);
    }
    mica_mutex_lock(&r->lock);
    if (!r->eager) r->eager = create_cache();
    bool inserted = r->eager != NULL;
    if (inserted) {
        eager_entry **bucket = &r->eager->buckets[e->hash & r->eager->mask];
        e->next = *bucket;
        *bucket = e;
        r->eager->n_entries++;
    }
    mica_mutex_unlock(&r->lock);
    return inserted;
}

/* ---- making entries ---------------------------------------------------------------------------*/

static mica_attr to_attr(mica_attr_kind kind, const mica_attribute *a) {
    mica_attr attr = {.kind = kind};
    if (kind == MICA_ATTR_INTS)
        attr.as.ints = a->ints;
    else if (kind == MICA_ATTR_STRING)
        attr.as.string = a->string;
    else if (kind == MICA_ATTR_DATA)
        attr.as.data.type = *a->data.type, attr.as.data.bytes = a->data.bytes;
    else
        attr.as.integer = a->integer;
    return attr;
}

static mica_status compile_op(mica_device *device, const eager_key *key, const mica_attr *attrs,
                              mica_executable **out_executable) {
    mica_graph *g = NULL;
    MICA_TRY(mica_graph_create(mica_op_name(key->op), &g));
    mica_value *operands = mica_alloc(sizeof *operands * (size_t)key->n_operands);
    mica_status status = operands ? NULL : MICA_NO_MEMORY();
    if (!status) {
        for (int32_t i = 0; i < key->n_operands; i++)
            operands[i] = mica_parameter(g, &key->operands[i]->type);
        mica_value first = mica_build(g, key->op, operands, key->n_operands, attrs);
        int32_t n_results = first.node ? first.node->n_results : 1;
        for (int32_t i = 0; i < n_results; i++) mica_output(g, (mica_value){first.node, i});
        mica_compile_options options = {.size = sizeof options, .tier = MICA_TIER_BUILT_IN};
        status = mica_executable_create(device, g, &options, out_executable);
    }
    mica_free(operands);
    mica_graph_release(g);
    return status;
}

static mica_status copy_attribute(eager_entry *e, int32_t i, const mica_attr *attr) {
    mica_attr *kept = &e->attributes[i];
    *kept = *attr;
    const void *copied = kept;
    if (attr->kind == MICA_ATTR_INTS)
        copied = kept->as.ints.data = mica_arena_copy(&e->arena, attr->as.ints.data,
                                                      sizeof(int64_t) * (size_t)attr->as.ints.n);
    else if (attr->kind == MICA_ATTR_STRING)
        copied = kept->as.string = mica_arena_strdup(&e->arena, attr->as.string);
    else if (attr->kind == MICA_ATTR_DATA)
        copied = kept->as.data.bytes =
            mica_arena_copy(&e->arena, attr->as.data.bytes, mica_type_bytes(&attr->as.data.type));
    return copied ? NULL : MICA_NO_MEMORY();
}

static mica_status fill_entry(eager_entry *e, mica_device *device, const eager_key *key) {
    size_t n_attributes = (size_t)key->n_attributes, n_operands = (size_t)key->n_operands;
    e->attributes = mica_arena_alloc(&e->arena, (n_attributes + 1) * sizeof *e->attributes);
    e->operands = mica_arena_alloc(&e->arena, n_operands * sizeof *e->operands);
    if (!e->attributes || !e->operands) return MICA_NO_MEMORY();
    for (int32_t i = 0; i < key->n_operands; i++) e->operands[i] = key->operands[i]->type;
    for (int32_t i = 0; i < key->n_attributes; i++) {
        mica_attr attr = to_attr(mica_op_attr_kind(key->op, i), &key->attributes[i]);
        MICA_TRY(copy_attribute(e, i, &attr));
    }
    return compile_op(device, key, e->attributes, &e->executable);
}

static eager_entry *new_entry(const eager_key *key) {
    eager_entry *e = mica_calloc(1, sizeof *e);
    if (!e) return NULL;
    mica_arena_init(&e->arena);
    e->hash = key->hash;
    e->op = key->op;
    e->n_operands = key->n_operands;
    e->n_attributes = key->n_attributes;
    return e;
}

static mica_status create_entry(mica_device *device, const eager_key *key,
                                eager_entry **out_entry) {
    eager_entry *e = new_entry(key);
    if (!e) return MICA_NO_MEMORY();
    mica_status status = fill_entry(e, device, key);
    if (status)
        destroy_entry(e);
    else
        *out_entry = e;
    return status;
}

/* ---- running ----------------------------------------------------------------------------------*/

static mica_status run_executable(mica_executable *exe, const eager_key *key,
                                  mica_tensor **out_results, int32_t capacity, int32_t *out_n) {
    if (exe->n_outputs > capacity)
        return MICA_INVALID("[%s] gives %d results, room for %d", mica_op_name(key->op),
                            exe->n_outputs, capacity);
    *out_n = exe->n_outputs;
    mica_run_args args = {.size = sizeof args,
                          .inputs = key->operands,
                          .n_inputs = key->n_operands,
                          .outputs = out_results,
                          .n_outputs = exe->n_outputs};
    return mica_executable_run(exe, &args, NULL);
}

static mica_status check_operands(mica_device *device, const eager_key *key,
                                  const mica_attribute *attributes) {
    if ((uint32_t)key->op >= MICA_OP_COUNT)
        return MICA_INVALID("[eager] %d is not an op", (int)key->op);
    const mica_op_info *info = mica_op_describe(key->op);
    mica_op_class class = mica_op_class_of(key->op);
    if (class == MICA_CLASS_CONTROL || class == MICA_CLASS_HOST || class == MICA_CLASS_COLLECTIVE)
        return MICA_INVALID("[%s] cannot be run by itself", info->name);
    if (info->arity >= 0 ? key->n_operands != info->arity : key->n_operands < 0)
        return MICA_INVALID("[%s] takes %d operands, %d given", info->name, info->arity,
                            key->n_operands);
    if (info->n_attributes && !attributes)
        return MICA_INVALID("[%s] takes %d attributes, none given", info->name, info->n_attributes);
    for (int32_t i = 0; i < info->n_attributes; i++) {
        mica_attr_kind kind = mica_op_attr_kind(key->op, i);
        if ((kind == MICA_ATTR_STRING && !attributes[i].string) ||
            (kind == MICA_ATTR_DATA && !attributes[i].data.type) ||
            (kind == MICA_ATTR_INTS && attributes[i].ints.n < 0))
            return MICA_INVALID("[%s] attribute '%s' is missing", info->name,
                                info->attribute_names[i]);
    }
    for (int32_t i = 0; i < key->n_operands; i++)
        if (key->operands[i]->device != device)
            return MICA_INVALID("[%s] operand %d is on %s, the op runs on %s", info->name, i,
                                key->operands[i]->device->name, device->name);
    return NULL;
}

static mica_status run_slowly(mica_device *device, const eager_key *key, mica_tensor **out_results,
                              int32_t capacity, int32_t *out_n) {
    mica_device_runtime *r = device->runtime;
    mica_executable *exe = NULL;
    mica_mutex_lock(&r->lock);
    eager_entry *e = find(r->eager, key);
    if (e) {
        exe = e->executable;
        mica_executable_retain(exe);
    }
    mica_mutex_unlock(&r->lock);
    if (!exe) {
        MICA_TRY(create_entry(device, key, &e));
        exe = e->executable;
        mica_executable_retain(exe);
        if (!insert(device, e)) destroy_entry(e);
    }
    mica_status status = run_executable(exe, key, out_results, capacity, out_n);
    mica_executable_release(exe);
    return status;
}

static mica_status make_key(mica_device *device, mica_op op, mica_tensor *const *operands,
                            int32_t n_operands, const mica_attribute *attributes, eager_key *key) {
    *key = (eager_key){
        .op = op, .operands = operands, .n_operands = n_operands, .attributes = attributes};
    MICA_TRY(mica_check_process("run"));
    MICA_TRY(check_operands(device, key, attributes));
    key->n_attributes = mica_op_describe(op)->n_attributes;
    key->hash = hash_key(key);
    return NULL;
}

mica_status mica_eager_several(mica_device *device, mica_op op, mica_tensor *const *operands,
                               int32_t n_operands, const mica_attribute *attributes,
                               mica_tensor **out_results, int32_t capacity, int32_t *out_n) {
    MICA_GIVEN(MICA_MANY(out_results, capacity), out_n);
    eager_key key;
    *out_n = 0;
    for (int32_t i = 0; i < capacity; i++) out_results[i] = NULL;
    MICA_TRY(make_key(device, op, operands, n_operands, attributes, &key));
    return run_slowly(device, &key, out_results, capacity, out_n);
}

/* Both at once, with one holding of the device's lock: the look-up and the memory. */
static bool run_directly(mica_device *device, const eager_key *key, mica_tensor **out_result,
                         mica_status *out_status) {
    if (!mica_direct_begin(device, key->operands, key->n_operands)) return false;
    mica_device_runtime *r = device->runtime;
    mica_tensor *result = NULL;
    mica_buffer *arena = NULL;
    mica_executable *exe = NULL;
    mica_mutex_lock(&r->lock);
    const eager_entry *e = find(r->eager, key);
    if (e && e->executable->is_direct) result = mica_direct_take(e->executable, &arena);
    if (result) mica_executable_retain(exe = e->executable);
    mica_mutex_unlock(&r->lock);
    if (!result) {
        mica_stream_disown(&r->stream);
        return false;
    }
    *out_status = mica_direct_launch(exe, key->operands, result, arena);
    mica_executable_release(exe);
    *out_result = *out_status ? NULL : result;
    return true;
}

mica_status mica_eager(mica_device *device, mica_op op, mica_tensor *const *operands,
                       int32_t n_operands, const mica_attribute *attributes,
                       mica_tensor **out_result) {
    MICA_GIVEN(out_result);
    eager_key key;
    int32_t n_results;
    mica_status status;
    *out_result = NULL;
    MICA_TRY(make_key(device, op, operands, n_operands, attributes, &key));
    if (run_directly(device, &key, out_result, &status)) return status;
    return run_slowly(device, &key, out_result, 1, &n_results);
}

/* ---- executables of callers -------------------------------------------------------------------*/

static eager_key key_of_kept(int32_t number, mica_tensor *const *operands, int32_t n_operands) {
    eager_key key = {
        .op = (mica_op)(MICA_OP_COUNT + number), .operands = operands, .n_operands = n_operands};
    key.hash = hash_key(&key);
    return key;
}

void mica_eager_keep(mica_device *device, int32_t number, mica_tensor *const *operands,
                     int32_t n_operands, mica_executable *executable) {
    if (!device || !operands || !executable || number < 0 || n_operands < 1) return;
    if (!executable->is_direct || executable->device != device) return;
    if (executable->n_inputs != n_operands) return;
    for (int32_t i = 0; i < n_operands; i++) /* a direct run checks no types */
        if (!same_type(&executable->input_types[i], &operands[i]->type)) return;
    eager_key key = key_of_kept(number, operands, n_operands);
    mica_device_runtime *r = device->runtime;
    mica_mutex_lock(&r->lock);
    bool is_kept = find(r->eager, &key) != NULL;
    mica_mutex_unlock(&r->lock);
    if (is_kept) return;
    eager_entry *e = new_entry(&key);
    if (!e) return;
    e->operands = mica_arena_alloc(&e->arena, (size_t)n_operands * sizeof *e->operands);
    if (e->operands) {
        for (int32_t i = 0; i < n_operands; i++) e->operands[i] = operands[i]->type;
        mica_executable_retain(e->executable = executable);
    }
    if (!e->operands || !insert(device, e)) destroy_entry(e);
}

bool mica_eager_run_kept(mica_device *device, int32_t number, mica_tensor *const *operands,
                         int32_t n_operands, mica_tensor **out_result, mica_status *out_status) {
    if (!device || !operands || number < 0 || !out_result || !out_status) return false;
    *out_result = NULL;
    *out_status = NULL;
    if (mica_fork_happened()) return false;
    for (int32_t i = 0; i < n_operands; i++)
        if (operands[i]->device != device) return false;
    eager_key key = key_of_kept(number, operands, n_operands);
    return run_directly(device, &key, out_result, out_status);
}
