/* Writing bundles: elements go to the data file as they come, entries are sorted at the end.
 *
 * A data file is named by the number of shards that the index tells; here it is the only shard that
 * is used, so that number is free, and one that no file has is the name that the old index does not
 * use. The data file is locked while it is written: one that is not, and is not the index's, is of
 * no use to anybody. Which one the index names changes only under the folder's lock, and it is held
 * until those that went out of use are removed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/platform.h"
#include "io/bundle.h"
#include "io/table.h"

#define LOCK_SECONDS 5.0 /* no writer holds a folder's lock for so long */

typedef struct entry {
    io_range key, message;
} entry;

struct mica_bundle_writer {
    mica_arena arena; /* keys and messages */
    char *prefix, *index_path;
    mica_file *file;
    uint32_t n_shards; /* which name the data file has */
    uint64_t offset;
    entry *entries;
    int64_t n, capacity;
    int64_t *slots; /* of the set of keys: the number of an entry + 1, or 0 */
    int64_t n_slots;
    bool is_ended, is_finished; /* nothing can be added; it was also published */
};

/* ---- files ------------------------------------------------------------------------------------*/

/* Takes the first name of a data file that is free. */
static mica_status create_data(mica_bundle_writer *w) {
    size_t room = strlen(w->prefix) + 64;
    char *path = mica_alloc(room);
    mica_status status = path ? NULL : MICA_NO_MEMORY();
    for (uint32_t n = 1; path && !w->file && n <= IO_MOST_SHARDS; n++) {
        mica_status_release(status);
        snprintf(path, room, "%s.data-%05u-of-%05u", w->prefix, 0u, n);
        w->n_shards = n;
        status = mica_file_create_new(path, &w->file);
        if (status && mica_status_code(status) != MICA_FAILED_PRECONDITION) break;
    }
    if (w->file) mica_file_take_mode(w->file, w->index_path);
    mica_free(path);
    return status;
}

mica_status mica_bundle_writer_create(const char *prefix, mica_bundle_writer **out_writer) {
    MICA_GIVEN(prefix, out_writer);
    *out_writer = NULL;
    mica_bundle_writer *w = mica_calloc(1, sizeof *w);
    if (!w) return MICA_NO_MEMORY();
    mica_arena_init(&w->arena);
    w->prefix = mica_arena_strdup(&w->arena, prefix);
    w->index_path = mica_arena_alloc(&w->arena, strlen(prefix) + sizeof ".index");
    mica_status status = w->prefix && w->index_path ? NULL : MICA_NO_MEMORY();
    if (!status) {
        sprintf(w->index_path, "%s.index", prefix);
        status = create_data(w);
    }
    if (status) {
        mica_arena_deinit(&w->arena);
        mica_free(w);
        return status;
    }
    *out_writer = w;
    return NULL;
}

void mica_bundle_writer_release(mica_bundle_writer *w) {
    if (!w) return;
    if (w->is_finished)
        mica_status_release(mica_file_close(w->file));
    else
        mica_file_discard(w->file);
    mica_free(w->entries);
    mica_free(w->slots);
    mica_arena_deinit(&w->arena);
    mica_free(w);
}

typedef struct data_visit {
    const char *folder, *name; /* of the prefix; the folder is empty or ends with a slash */
    uint32_t kept, only;       /* numbers of shards whose files stay, and are removed; 0: any */
    bool failed;
} data_visit;

static void remove_data(void *context, const char *name) {
    data_visit *v = context;
    size_t n = strlen(v->name);
    unsigned shard, n_shards;
    int end = 0;
    if (strncmp(name, v->name, n) != 0 ||
        sscanf(name + n, ".data-%5u-of-%5u%n", &shard, &n_shards, &end) != 2 ||
        (size_t)end != strlen(name + n) || n_shards == v->kept || (v->only && n_shards != v->only))
        return;
    size_t room = strlen(v->folder) + strlen(name) + 1;
    char *path = mica_alloc(room);
    v->failed |= !path;
    if (!path) return;
    snprintf(path, room, "%s%s", v->folder, name);
    (void)mica_file_remove_unused(path);
    mica_free(path);
}

/* Removes the data files of a prefix that has no writer, by the numbers of shards in their names.
 */
static mica_status remove_unused_data(const char *prefix, uint32_t kept, uint32_t only) {
    const char *slash = strrchr(prefix, '/');
    size_t n = slash ? (size_t)(slash + 1 - prefix) : 0;
    char *folder = mica_calloc(1, n + 1);
    if (!folder) return MICA_NO_MEMORY();
    memcpy(folder, prefix, n);
    data_visit visit = {folder, prefix + n, kept, only, false};
    mica_folder_visit(n ? folder : ".", remove_data, &visit);
    mica_free(folder);
    return visit.failed ? MICA_NO_MEMORY() : NULL;
}

mica_status mica_bundle_remove(const char *prefix) {
    MICA_GIVEN(prefix);
    size_t room = strlen(prefix) + sizeof ".index";
    char *index = mica_alloc(room);
    if (!index) return MICA_NO_MEMORY();
    snprintf(index, room, "%s.index", prefix);
    int32_t lock = mica_folder_lock_of(prefix, LOCK_SECONDS);
    mica_file_remove(index);
    mica_status status = remove_unused_data(prefix, 0, 0);
    mica_folder_unlock(lock);
    mica_free(index);
    return status;
}

/* ---- entries ----------------------------------------------------------------------------------*/

static int64_t *slot_of(const mica_bundle_writer *w, const void *key, size_t n) {
    uint64_t mask = (uint64_t)w->n_slots - 1;
    for (uint64_t at = mica_hash_bytes(MICA_HASH_SEED, key, n) & mask;; at = (at + 1) & mask) {
        int64_t i = w->slots[at] - 1;
        if (i < 0 || (w->entries[i].key.n == n && !memcmp(w->entries[i].key.data, key, n)))
            return &w->slots[at];
    }
}

/* Twice as many slots as there is room for entries, so that every search ends soon. */
static mica_status grow(mica_bundle_writer *w) {
    int64_t capacity = w->capacity ? 2 * w->capacity : 32;
    void *entries = mica_realloc(w->entries, (size_t)capacity * sizeof *w->entries);
    if (!entries) return MICA_NO_MEMORY();
    w->entries = entries;
    int64_t *slots = mica_calloc((size_t)capacity * 2, sizeof *slots);
    if (!slots) return MICA_NO_MEMORY();
    mica_free(w->slots);
    w->slots = slots;
    w->n_slots = capacity * 2;
    w->capacity = capacity;
    for (int64_t i = 0; i < w->n; i++)
        *slot_of(w, w->entries[i].key.data, w->entries[i].key.n) = i + 1;
    return NULL;
}

static mica_status make_room(mica_bundle_writer *w, const char *key) {
    if (w->is_ended)
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[bundle] '%s' comes after the end of %s", key,
                          w->index_path);
    if (!*key) return MICA_INVALID("[bundle] an entry of %s needs a name", w->index_path);
    if (w->n == w->capacity) MICA_TRY(grow(w));
    if (*slot_of(w, key, strlen(key)))
        return MICA_INVALID("[bundle] '%s' is in %s already", key, w->index_path);
    return NULL;
}

static void put_shape(mica_text *to, mica_ints dims) {
    mica_text shape, dim;
    mica_text_init(&shape);
    mica_text_init(&dim);
    for (int32_t i = 0; i < dims.n; i++) {
        mica_text_clear(&dim);
        io_put_number(&dim, 1, (uint64_t)dims.data[i]);
        io_put_part(&shape, 2, dim.data, dim.length);
    }
    io_put_part(to, 2, shape.data, shape.length);
    to->failed |= shape.failed || dim.failed;
    mica_text_deinit(&shape);
    mica_text_deinit(&dim);
}

/* BundleEntryProto. There is room for one more entry. */
static mica_status keep_entry(mica_bundle_writer *w, const char *key, mica_tf_dtype dtype,
                              mica_ints dims, uint64_t size, uint32_t crc) {
    mica_text message;
    mica_text_init(&message);
    io_put_number(&message, 1, (uint64_t)dtype);
    put_shape(&message, dims);
    io_put_number(&message, 4, w->offset);
    io_put_number(&message, 5, size);
    io_put_fixed32(&message, 6, io_crc_mask(crc));
    size_t n = strlen(key);
    void *kept_key = mica_arena_copy(&w->arena, key, n);
    void *kept = message.failed ? NULL : mica_arena_copy(&w->arena, message.data, message.length);
    bool failed = message.failed || !kept_key || !kept;
    size_t length = message.length;
    mica_text_deinit(&message);
    if (failed) return MICA_NO_MEMORY();
    *slot_of(w, key, n) = w->n + 1;
    w->entries[w->n++] = (entry){{kept_key, n}, {kept, length}};
    w->offset += size;
    return NULL;
}

mica_status mica_bundle_writer_add(mica_bundle_writer *w, const char *key, mica_tf_dtype dtype,
                                   mica_ints dims, const void *data, size_t size) {
    MICA_GIVEN(w, key);
    MICA_TRY(make_room(w, key));
    const char *name = mica_tf_dtype_name(dtype);
    if (!name || mica_tf_dtype_core(dtype) == MICA_DTYPE_COUNT)
        return MICA_INVALID("[bundle] '%s' has elements of dtype %s, not numbers", key,
                            name ? name : "unknown");
    mica_type type = mica_type_make(mica_tf_dtype_core(dtype), dims);
    if (type.rank < 0 || mica_type_bytes(&type) != size)
        return MICA_INVALID("[bundle] '%s' has %zu bytes, which are not those of its shape", key,
                            size);
    uint32_t crc = 0;
    for (size_t at = 0, n; at < size; at += n) {
        n = size - at < (size_t)IO_BUNDLE_PIECE ? size - at : (size_t)IO_BUNDLE_PIECE;
        crc = io_crc(crc, (const uint8_t *)data + at, n); /* and then it is in the cache */
        MICA_TRY(mica_file_append(w->file, (const uint8_t *)data + at, n));
    }
    return keep_entry(w, key, dtype, dims, size, crc);
}

mica_status mica_bundle_writer_add_strings(mica_bundle_writer *w, const char *key,
                                           mica_tf_value strings) {
    MICA_GIVEN(w, key);
    MICA_TRY(make_room(w, key));
    if (strings.dtype != MICA_TF_string) return MICA_INVALID("[bundle] '%s' has no strings", key);
    mica_text bytes;
    mica_text_init(&bytes);
    uint32_t crc = 0;
    int64_t n = mica_tf_strings_count(strings);
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        uint8_t word[8];
        (void)mica_tf_strings_get(strings, i, &length);
        io_put_varint(&bytes, length);
        for (int byte = 0; byte < 8; byte++) word[byte] = (uint8_t)((uint64_t)length >> 8 * byte);
        crc = io_crc(crc, word, length <= UINT32_MAX ? 4 : 8);
    }
    uint32_t masked = io_crc_mask(crc);
    io_put_u32(&bytes, masked);
    if (!bytes.failed) crc = io_crc(crc, bytes.data + bytes.length - 4, 4);
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        const char *text = mica_tf_strings_get(strings, i, &length);
        mica_text_append_bytes(&bytes, text, length);
        crc = io_crc(crc, text, length);
    }
    mica_tf_shape shape;
    mica_tf_value_shape(strings, &shape);
    mica_status status = bytes.failed ? MICA_NO_MEMORY() : NULL;
    if (!status) status = mica_file_append(w->file, bytes.data, bytes.length);
    if (!status)
        status = keep_entry(w, key, MICA_TF_string, (mica_ints){shape.dims, shape.rank},
                            bytes.length, crc);
    mica_text_deinit(&bytes);
    return status;
}

/* ---- the end ----------------------------------------------------------------------------------*/

static int compare(const void *a, const void *b) {
    io_range x = ((const entry *)a)->key, y = ((const entry *)b)->key;
    int order = memcmp(x.data, y.data, x.n < y.n ? x.n : y.n);
    return order ? order : x.n < y.n ? -1 : x.n > y.n;
}

/* The table of all entries. Sorting them ends the use of the slots. */
static mica_status make_table(mica_bundle_writer *w, io_table_writer *table) {
    mica_text header;
    static const uint8_t version[] = {0x08, 1};
    mica_text_init(&header);
    io_put_number(&header, 1, w->n_shards);
    io_put_part(&header, 3, version, sizeof version);
    bool failed = header.failed;
    if (!failed)
        io_table_writer_add(table, (io_range){NULL, 0},
                            (io_range){(const uint8_t *)header.data, header.length});
    mica_text_deinit(&header);
    if (failed) return MICA_NO_MEMORY();
    if (w->n > 0) qsort(w->entries, (size_t)w->n, sizeof *w->entries, compare);
    for (int64_t i = 0; i < w->n; i++)
        io_table_writer_add(table, w->entries[i].key, w->entries[i].message);
    return io_table_writer_finish(table);
}

static mica_status write_index(mica_bundle_writer *w, mica_file **out_file) {
    *out_file = NULL;
    io_table_writer table;
    io_table_writer_init(&table);
    mica_status status = make_table(w, &table);
    if (!status) status = mica_file_create_aside(w->index_path, out_file);
    if (!status) status = mica_file_append(*out_file, table.bytes.data, table.bytes.length);
    if (!status) status = mica_file_sync(*out_file);
    io_table_writer_deinit(&table);
    return status;
}

/* Without the lock another writer may be between its renaming and its removing, so that only what
 * the index named before is known to be of no use. */
static mica_status publish(mica_bundle_writer *w, mica_file *index) {
    int32_t lock = mica_folder_lock_of(w->prefix, LOCK_SECONDS);
    uint32_t before = lock < 0 ? io_bundle_shards(w->prefix) : 0;
    mica_status status = mica_file_publish(index, w->index_path);
    if (!status && lock >= 0) {
        /* The bundle is whole; memory for removing what is left can be had another time. */
        mica_status_release(remove_unused_data(w->prefix, w->n_shards, 0));
        mica_folder_remove_asides(w->index_path);
    } else if (!status && before && before != w->n_shards) {
        mica_status_release(remove_unused_data(w->prefix, w->n_shards, before));
    }
    mica_folder_unlock(lock);
    return status;
}

mica_status mica_bundle_writer_finish(mica_bundle_writer *w) {
    MICA_GIVEN(w);
    if (w->is_ended)
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[bundle] %s is finished", w->index_path);
    w->is_ended = true;
    mica_file *index = NULL;
    mica_status status = mica_file_sync(w->file);
    if (!status) mica_folder_sync_of(w->prefix);
    if (!status) status = write_index(w, &index);
    if (!status) status = publish(w, index);
    if (status) {
        mica_file_discard(index);
        return status;
    }
    w->is_finished = true;
    return mica_file_close(index);
}
