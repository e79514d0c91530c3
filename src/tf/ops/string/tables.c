/* Tables from keys to values, of numbers or strings; a value may be a tensor of numbers. Keys and
 * values are kept as bytes. */
#include <string.h>

#include "base/hash.h"
#include "tf/strings.h"

typedef struct entry {
    char *bytes; /* the key, then the value; NULL: removed */
    size_t n_key, n_value;
} entry;

typedef struct table {
    mica_mutex lock;
    mica_tf_dtype key_dtype, value_dtype;
    mica_tf_shape value_shape; /* of a value; known with the first one */
    entry *entries;            /* in the order they came */
    int64_t n, capacity, n_removed;
    int64_t *slots; /* places of entries + 1, by hash; 0: free */
    int64_t n_slots;
} table;

static const char table_kind[] = "table";

static void destroy(void *object) {
    table *t = object;
    for (int64_t i = 0; i < t->n; i++) mica_free(t->entries[i].bytes);
    mica_free(t->entries);
    mica_free(t->slots);
    mica_free(t);
}

mica_status tf_host_hash_table(mica_tf_host *c) {
    table *t = mica_calloc(1, sizeof *t);
    if (!t) return MICA_NO_MEMORY();
    t->key_dtype = (mica_tf_dtype)mica_tf_host_attr(c, "key_dtype")->as.integer;
    t->value_dtype = (mica_tf_dtype)mica_tf_host_attr(c, "value_dtype")->as.integer;
    mica_status status =
        mica_tf_object_value(MICA_TF_resource, table_kind, t, destroy, &c->outputs[0]);
    if (status) destroy(t);
    return status;
}

/* ---- keys and values as bytes -----------------------------------------------------------------*/

typedef struct column {
    mica_tf_value value;
    const char *data; /* of numbers */
    size_t size;      /* of what belongs to one key */
} column;

static mica_status open_column(mica_tf_value value, int64_t per_key, column *out) {
    *out = (column){.value = value};
    if (value.dtype == MICA_TF_string) return NULL;
    const void *data;
    MICA_TRY(mica_tf_open(value, &data));
    out->data = data;
    out->size = (size_t)per_key * mica_dtype_bytes(mica_tf_dtype_core(value.dtype));
    return NULL;
}

static void close_column(column *c) {
    if (c->data) mica_tf_close(c->value);
}

static const char *bytes_at(const column *c, int64_t i, size_t *out_n) {
    if (!c->data) return mica_tf_strings_get(c->value, i, out_n);
    *out_n = c->size;
    return c->data + (size_t)i * c->size;
}

static int64_t *slot_of(const table *t, const char *key, size_t n) {
    uint64_t mask = (uint64_t)t->n_slots - 1, at = mica_hash_bytes(MICA_HASH_SEED, key, n) & mask;
    for (;; at = (at + 1) & mask) {
        int64_t place = t->slots[at];
        if (!place) return &t->slots[at];
        const entry *e = &t->entries[place - 1];
        if (e->bytes && e->n_key == n && (n == 0 || !memcmp(e->bytes, key, n)))
            return &t->slots[at];
    }
}

static entry *find(const table *t, const char *key, size_t n) {
    int64_t place = t->n_slots ? *slot_of(t, key, n) : 0;
    return place ? &t->entries[place - 1] : NULL;
}

/* Room for one more; removed entries leave when the slots are made anew. */
static mica_status reserve(table *t) {
    if (t->n == t->capacity) {
        int64_t capacity = t->capacity ? 2 * t->capacity : 16;
        entry *entries = mica_realloc(t->entries, (size_t)capacity * sizeof *entries);
        if (!entries) return MICA_NO_MEMORY();
        t->entries = entries;
        t->capacity = capacity;
    }
    if (2 * (t->n + 1) <= t->n_slots) return NULL;
    int64_t n_slots = t->n_slots ? 2 * t->n_slots : 32;
    int64_t *slots = mica_calloc((size_t)n_slots, sizeof *slots);
    if (!slots) return MICA_NO_MEMORY();
    mica_free(t->slots);
    t->slots = slots;
    t->n_slots = n_slots;
    int64_t kept = 0;
    for (int64_t i = 0; i < t->n; i++)
        if (t->entries[i].bytes) t->entries[kept++] = t->entries[i];
    t->n = kept;
    t->n_removed = 0;
    for (int64_t i = 0; i < t->n; i++)
        *slot_of(t, t->entries[i].bytes, t->entries[i].n_key) = i + 1;
    return NULL;
}

static mica_status insert(table *t, const char *key, size_t n_key, const char *value,
                          size_t n_value) {
    MICA_TRY(reserve(t));
    char *bytes = mica_alloc(n_key + n_value + 1);
    if (!bytes) return MICA_NO_MEMORY();
    if (n_key) memcpy(bytes, key, n_key);
    if (n_value) memcpy(bytes + n_key, value, n_value);
    int64_t *slot = slot_of(t, key, n_key);
    if (*slot) {
        mica_free(t->entries[*slot - 1].bytes);
    } else {
        *slot = ++t->n;
    }
    t->entries[*slot - 1] = (entry){bytes, n_key, n_value};
    return NULL;
}

/* ---- ops --------------------------------------------------------------------------------------*/

static mica_status table_input(const mica_tf_host *c, table **out) {
    *out = mica_tf_object_of(c->inputs[0], table_kind);
    if (!*out) return MICA_INVALID("[%s] input 0 is not a table", c->info->name);
    if (c->n_inputs > 1 && c->inputs[1].dtype != (*out)->key_dtype)
        return MICA_INVALID("[%s] Key must be type %s but got %s", c->info->name,
                            mica_tf_dtype_text((*out)->key_dtype),
                            mica_tf_dtype_text(c->inputs[1].dtype));
    if (c->n_inputs > 2 && c->inputs[2].dtype != (*out)->value_dtype)
        return MICA_INVALID("[%s] Value must be type %s but got %s", c->info->name,
                            mica_tf_dtype_text((*out)->value_dtype),
                            mica_tf_dtype_text(c->inputs[2].dtype));
    return NULL;
}

/* The shape of one value, when values stand at keys of this shape. */
static mica_status value_shape(const mica_tf_host *c, mica_tf_shape *out) {
    mica_tf_shape keys, values;
    mica_tf_value_shape(c->inputs[1], &keys);
    mica_tf_value_shape(c->inputs[2], &values);
    bool fits = values.rank >= keys.rank;
    for (int32_t i = 0; fits && i < keys.rank; i++) fits = keys.dims[i] == values.dims[i];
    if (!fits)
        return MICA_INVALID("[%s] Expected shape %s for value, got %s", c->info->name,
                            mica_tf_shape_text(&keys).chars, mica_tf_shape_text(&values).chars);
    *out = (mica_tf_shape){.rank = values.rank - keys.rank};
    for (int32_t i = 0; i < out->rank; i++) out->dims[i] = values.dims[keys.rank + i];
    if (out->rank && c->inputs[2].dtype == MICA_TF_string)
        return MICA_ERROR(MICA_UNSUPPORTED, "[%s] several strings at one key", c->info->name);
    return NULL;
}

static mica_status insert_all(const mica_tf_host *c, table *t, const mica_tf_shape *one) {
    column keys, values;
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[1], &shape);
    if (t->n > t->n_removed && !mica_tf_shape_equal(&t->value_shape, one))
        return MICA_INVALID("[%s] the values have shape %s, not %s", c->info->name,
                            mica_tf_shape_text(&t->value_shape).chars,
                            mica_tf_shape_text(one).chars);
    t->value_shape = *one;
    MICA_TRY(open_column(c->inputs[1], 1, &keys));
    mica_status status = open_column(c->inputs[2], mica_tf_shape_elements(one), &values);
    int64_t n = mica_tf_shape_elements(&shape);
    for (int64_t i = 0; i < n && !status; i++) {
        size_t n_key, n_value;
        const char *key = bytes_at(&keys, i, &n_key), *value = bytes_at(&values, i, &n_value);
        status = insert(t, key, n_key, value, n_value);
    }
    close_column(&values);
    close_column(&keys);
    return status;
}

mica_status tf_host_table_insert(mica_tf_host *c) {
    table *t;
    mica_tf_shape one;
    MICA_TRY(table_input(c, &t));
    MICA_TRY(value_shape(c, &one));
    mica_mutex_lock(&t->lock);
    mica_status status = insert_all(c, t, &one);
    mica_mutex_unlock(&t->lock);
    return status;
}

mica_status tf_host_table_remove(mica_tf_host *c) {
    table *t;
    column keys;
    mica_tf_shape shape;
    MICA_TRY(table_input(c, &t));
    mica_tf_value_shape(c->inputs[1], &shape);
    MICA_TRY(open_column(c->inputs[1], 1, &keys));
    int64_t n = mica_tf_shape_elements(&shape);
    mica_mutex_lock(&t->lock);
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        const char *key = bytes_at(&keys, i, &length);
        entry *e = find(t, key, length);
        if (!e) continue;
        mica_free(e->bytes);
        e->bytes = NULL;
        t->n_removed++;
    }
    mica_mutex_unlock(&t->lock);
    close_column(&keys);
    return NULL;
}

/* Results are written as strings, or as the bytes of numbers. */
static mica_status give_column(mica_tf_host *c, int32_t output, mica_tf_writer *w,
                               const mica_tf_shape *shape) {
    if (c->output_dtypes[output] == MICA_TF_string)
        return mica_tf_writer_finish(w, mica_tf_dims(shape), &c->outputs[output]);
    mica_status status =
        w->is_interrupted ? mica_interrupt_status()
        : w->is_failed || mica_text_is_failed(&w->bytes)
            ? MICA_NO_MEMORY()
            : mica_tf_give_numbers(c, output, mica_tf_dtype_core(c->output_dtypes[output]),
                                   mica_tf_dims(shape), mica_text_data(&w->bytes));
    mica_tf_writer_deinit(w);
    return status;
}

mica_status tf_host_table_find(mica_tf_host *c) {
    table *t;
    column keys, fallback;
    mica_tf_shape shape, one;
    MICA_TRY(table_input(c, &t));
    mica_tf_value_shape(c->inputs[1], &shape);
    mica_tf_value_shape(c->inputs[2], &one);
    if (shape.rank + one.rank > MICA_MAX_RANK)
        return MICA_INVALID("[%s] the rank is too high", c->info->name);
    if (t->n > t->n_removed && !mica_tf_shape_equal(&one, &t->value_shape))
        return MICA_INVALID("[%s] Expected shape %s for default value, got %s", c->info->name,
                            mica_tf_shape_text(&t->value_shape).chars,
                            mica_tf_shape_text(&one).chars);
    MICA_TRY(open_column(c->inputs[1], 1, &keys));
    mica_status status = open_column(c->inputs[2], mica_tf_shape_elements(&one), &fallback);
    mica_tf_writer w;
    mica_tf_writer_init(&w);
    int64_t n = status ? 0 : mica_tf_shape_elements(&shape);
    mica_mutex_lock(&t->lock);
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        const char *value = bytes_at(&keys, i, &length);
        const entry *e = find(t, value, length);
        if (e) {
            value = e->bytes + e->n_key;
            length = e->n_value;
        } else {
            value = bytes_at(&fallback, 0, &length);
        }
        mica_text_append_bytes(&w.bytes, value, length);
        if (!mica_tf_writer_end(&w)) break;
    }
    mica_mutex_unlock(&t->lock);
    close_column(&keys);
    if (!status) close_column(&fallback);
    for (int32_t i = 0; i < one.rank; i++) shape.dims[shape.rank++] = one.dims[i];
    if (!status) return give_column(c, 0, &w, &shape);
    mica_tf_writer_deinit(&w);
    return status;
}

mica_status tf_host_table_size(mica_tf_host *c) {
    table *t;
    MICA_TRY(table_input(c, &t));
    mica_mutex_lock(&t->lock);
    int64_t n = t->n - t->n_removed;
    mica_mutex_unlock(&t->lock);
    return mica_tf_give_numbers(c, 0, MICA_DTYPE_i64, MICA_NO_INTS, &n);
}

mica_status tf_host_table_export(mica_tf_host *c) {
    table *t;
    MICA_TRY(table_input(c, &t));
    if (c->output_dtypes[0] != t->key_dtype || c->output_dtypes[1] != t->value_dtype)
        return MICA_INVALID("[%s] the table has keys of %s and values of %s", c->info->name,
                            mica_tf_dtype_name(t->key_dtype), mica_tf_dtype_name(t->value_dtype));
    mica_tf_writer keys, values;
    mica_tf_writer_init(&keys);
    mica_tf_writer_init(&values);
    mica_mutex_lock(&t->lock);
    int64_t n = t->n - t->n_removed;
    for (int64_t i = 0; i < t->n; i++) {
        const entry *e = &t->entries[i];
        if (!e->bytes) continue;
        mica_text_append_bytes(&keys.bytes, e->bytes, e->n_key);
        if (!mica_tf_writer_end(&keys)) break;
        mica_text_append_bytes(&values.bytes, e->bytes + e->n_key, e->n_value);
        if (!mica_tf_writer_end(&values)) break;
    }
    mica_tf_shape of_keys = {.rank = 1, .dims = {n}}, of_values = of_keys;
    for (int32_t i = 0; i < t->value_shape.rank; i++)
        of_values.dims[of_values.rank++] = t->value_shape.dims[i];
    mica_mutex_unlock(&t->lock);
    mica_status status = give_column(c, 0, &keys, &of_keys);
    if (!status) return give_column(c, 1, &values, &of_values);
    mica_tf_writer_deinit(&values);
    return status;
}
