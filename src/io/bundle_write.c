/* Writing bundles: elements go to the data file as they come, entries are sorted at the end. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/platform.h"
#include "io/table.h"
#include "mica/io.h"

typedef struct entry {
    io_range key, message;
} entry;

struct mica_bundle_writer {
    mica_arena arena; /* keys and messages */
    char *index_path, *data_path, *index_aside, *data_aside;
    mica_file *file;
    uint64_t offset;
    entry *entries;
    int64_t n, capacity;
    bool is_finished;
};

static char *joined(mica_arena *arena, const char *prefix, const char *rest) {
    size_t n = strlen(prefix), m = strlen(rest);
    char *text = mica_arena_alloc(arena, n + m + 1);
    if (!text) return NULL;
    memcpy(text, prefix, n);
    memcpy(text + n, rest, m + 1);
    return text;
}

mica_status mica_bundle_writer_create(const char *prefix, mica_bundle_writer **out_writer) {
    *out_writer = NULL;
    mica_bundle_writer *w = mica_calloc(1, sizeof *w);
    if (!w) return MICA_NO_MEMORY();
    mica_arena_init(&w->arena);
    w->index_path = joined(&w->arena, prefix, ".index");
    w->data_path = joined(&w->arena, prefix, ".data-00000-of-00001");
    w->index_aside = joined(&w->arena, prefix, ".index.part");
    w->data_aside = joined(&w->arena, prefix, ".data.part");
    mica_status status = w->index_path && w->data_path && w->index_aside && w->data_aside
                             ? mica_file_create(w->data_aside, &w->file)
                             : MICA_NO_MEMORY();
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
    mica_status_release(mica_file_close(w->file));
    if (!w->is_finished) {
        mica_file_remove(w->data_aside);
        mica_file_remove(w->index_aside);
    }
    mica_free(w->entries);
    mica_arena_deinit(&w->arena);
    mica_free(w);
}

/* ---- entries ----------------------------------------------------------------------------------*/

static mica_status make_room(mica_bundle_writer *w, const char *key) {
    if (w->is_finished || !w->file)
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[bundle] '%s' comes after the end of %s", key,
                          w->index_path);
    if (!*key) return MICA_INVALID("[bundle] an entry of %s needs a name", w->index_path);
    for (int64_t i = 0; i < w->n; i++)
        if (w->entries[i].key.n == strlen(key) &&
            !memcmp(w->entries[i].key.data, key, w->entries[i].key.n))
            return MICA_INVALID("[bundle] '%s' is in %s already", key, w->index_path);
    if (w->n < w->capacity) return NULL;
    int64_t capacity = w->capacity ? 2 * w->capacity : 32;
    void *entries = mica_realloc(w->entries, (size_t)capacity * sizeof *w->entries);
    if (!entries) return MICA_NO_MEMORY();
    w->entries = entries;
    w->capacity = capacity;
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
    w->entries[w->n++] = (entry){{kept_key, n}, {kept, length}};
    w->offset += size;
    return NULL;
}

mica_status mica_bundle_writer_add(mica_bundle_writer *w, const char *key, mica_tf_dtype dtype,
                                   mica_ints dims, const void *data, size_t size) {
    MICA_TRY(make_room(w, key));
    const char *name = mica_tf_dtype_name(dtype);
    if (!name || mica_tf_dtype_core(dtype) == MICA_DTYPE_COUNT)
        return MICA_INVALID("[bundle] '%s' has elements of dtype %s, not numbers", key,
                            name ? name : "unknown");
    mica_type type = mica_type_make(mica_tf_dtype_core(dtype), dims);
    if (type.rank < 0 || mica_type_bytes(&type) != size)
        return MICA_INVALID("[bundle] '%s' has %zu bytes, which are not those of its shape", key,
                            size);
    MICA_TRY(mica_file_append(w->file, data, size));
    return keep_entry(w, key, dtype, dims, size, io_crc(0, data, size));
}

mica_status mica_bundle_writer_add_strings(mica_bundle_writer *w, const char *key,
                                           mica_tf_value strings) {
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

static mica_status write_index(mica_bundle_writer *w) {
    static const uint8_t header[] = {0x08, 1, 0x1a, 2, 0x08, 1}; /* one shard, version 1 */
    io_table_writer table;
    io_table_writer_init(&table);
    io_table_writer_add(&table, (io_range){NULL, 0}, (io_range){header, sizeof header});
    if (w->n > 0) qsort(w->entries, (size_t)w->n, sizeof *w->entries, compare);
    for (int64_t i = 0; i < w->n; i++)
        io_table_writer_add(&table, w->entries[i].key, w->entries[i].message);
    mica_status status = io_table_writer_finish(&table);
    mica_file *file = NULL;
    if (!status) status = mica_file_create(w->index_aside, &file);
    if (!status) status = mica_file_append(file, table.bytes.data, table.bytes.length);
    status = mica_status_join(status, mica_file_close(file));
    io_table_writer_deinit(&table);
    return status;
}

mica_status mica_bundle_writer_finish(mica_bundle_writer *w) {
    if (w->is_finished || !w->file)
        return MICA_ERROR(MICA_FAILED_PRECONDITION, "[bundle] %s is finished", w->index_path);
    mica_status status = mica_file_close(w->file);
    w->file = NULL;
    if (!status) status = write_index(w);
    if (status) return status;
    if (!mica_file_rename(w->data_aside, w->data_path) ||
        !mica_file_rename(w->index_aside, w->index_path))
        return MICA_INVALID("[bundle] cannot write %s", w->index_path);
    w->is_finished = true;
    return NULL;
}
