/* Reading bundles. The index is a table: the key "" has a header, every other key an entry. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/platform.h"
#include "base/pool.h"
#include "io/bundle.h"
#include "io/table.h"

/* Where the elements of an entry are. */
typedef struct place {
    uint64_t offset;
    uint32_t shard, crc; /* masked */
} place;

struct mica_bundle {
    mica_arena arena; /* keys */
    char *path;       /* of the index */
    const char *prefix;
    mica_bundle_entry *entries;
    place *places;
    int64_t n, capacity;
    uint32_t n_shards;
    bool has_header;
    mica_mutex lock; /* of what follows */
    mica_file *file; /* the last shard read from */
    uint32_t file_shard;
};

static mica_status damaged(const mica_bundle *b, io_range key, const char *what) {
    return MICA_ERROR(MICA_DATA_LOSS, "[bundle] %s is damaged: the entry '%.*s' %s", b->path,
                      (int)(key.n < 200 ? key.n : 200), (const char *)key.data, what);
}

/* ---- messages ---------------------------------------------------------------------------------*/

static bool has_varints(io_range message, uint64_t number, uint64_t *out) {
    io_field field;
    while (io_take_field(&message, &field))
        if (field.number == number && field.wire == IO_VARINT) *out = field.value;
    return message.n == 0;
}

/* BundleHeaderProto: the number of shards, the order of bytes, the version. */
static mica_status take_header(mica_bundle *b, io_range message) {
    uint64_t n_shards = 0, is_big = 0, oldest_reader = 0;
    io_range rest = message, version = {NULL, 0};
    io_field field;
    while (io_take_field(&rest, &field))
        if (field.number == 3 && field.wire == IO_LENGTH) version = field.part;
    if (rest.n > 0 || !has_varints(message, 1, &n_shards) || !has_varints(message, 2, &is_big) ||
        !has_varints(version, 2, &oldest_reader) || n_shards < 1 || n_shards > IO_MOST_SHARDS)
        return MICA_ERROR(MICA_DATA_LOSS, "[bundle] %s has no header", b->path);
    if (is_big)
        return MICA_ERROR(MICA_UNSUPPORTED, "[bundle] %s was written on a big-endian machine",
                          b->path);
    if (oldest_reader > 1)
        return MICA_ERROR(MICA_UNSUPPORTED, "[bundle] %s needs a reader of version %llu", b->path,
                          (unsigned long long)oldest_reader);
    b->n_shards = (uint32_t)n_shards;
    b->has_header = true;
    return NULL;
}

/* TensorShapeProto: dimensions, each a message with a size. */
static bool take_shape(io_range message, mica_bundle_entry *entry) {
    io_field field;
    while (io_take_field(&message, &field)) {
        uint64_t size = 0;
        if (field.number != 2 || field.wire != IO_LENGTH) continue;
        if (entry->rank == MICA_MAX_RANK || !has_varints(field.part, 1, &size) || size > INT64_MAX)
            return false;
        entry->dims[entry->rank++] = (int64_t)size;
    }
    return message.n == 0;
}

static bool take_entry(io_range message, mica_bundle_entry *entry, place *where) {
    io_field field;
    while (io_take_field(&message, &field)) {
        if (field.number == 2 && field.wire == IO_LENGTH && !take_shape(field.part, entry))
            return false;
        if (field.number == 7) entry->is_sliced = true;
        if (field.number == 6 && field.wire == IO_FOUR_BYTES) where->crc = (uint32_t)field.value;
        if (field.wire != IO_VARINT) continue;
        if (field.number == 1 && field.value < 128)
            entry->dtype = (mica_tf_dtype)field.value;
        else if (field.number == 3)
            where->shard = (uint32_t)(field.value < UINT32_MAX ? field.value : UINT32_MAX);
        else if (field.number == 4)
            where->offset = field.value;
        else if (field.number == 5)
            entry->size = field.value;
    }
    return message.n == 0;
}

/* The number of elements; false when it is beyond all memory. */
static bool count_elements(const mica_bundle_entry *entry, uint64_t *out) {
    uint64_t n = 1;
    for (int32_t i = 0; i < entry->rank; i++)
        if (__builtin_mul_overflow(n, (uint64_t)entry->dims[i], &n) || n > INT64_MAX / 16)
            return false;
    *out = n;
    return true;
}

static bool is_of_numbers(mica_tf_dtype dtype) {
    return mica_tf_dtype_name(dtype) && mica_tf_dtype_core(dtype) != MICA_DTYPE_COUNT;
}

static mica_status check_entry(const mica_bundle *b, io_range key, mica_bundle_entry *entry,
                               const place *where) {
    uint64_t n;
    if (where->shard >= b->n_shards) return damaged(b, key, "is in a shard that does not exist");
    if (!count_elements(entry, &n)) return damaged(b, key, "has an impossible shape");
    if (!mica_tf_dtype_name(entry->dtype)) entry->dtype = MICA_TF_no_dtype;
    if (entry->is_sliced || !is_of_numbers(entry->dtype)) return NULL;
    mica_type element = mica_type_make(mica_tf_dtype_core(entry->dtype), MICA_NO_INTS);
    if (entry->size != n * mica_type_bytes(&element))
        return damaged(b, key, "has a size that is not that of its shape");
    return NULL;
}

static mica_status make_room(mica_bundle *b) {
    if (b->n < b->capacity) return NULL;
    int64_t capacity = b->capacity ? 2 * b->capacity : 32;
    void *entries = mica_realloc(b->entries, (size_t)capacity * sizeof *b->entries);
    if (entries) b->entries = entries;
    void *places = entries ? mica_realloc(b->places, (size_t)capacity * sizeof *b->places) : NULL;
    if (!places) return MICA_NO_MEMORY();
    b->places = places;
    b->capacity = capacity;
    return NULL;
}

static int compare_keys(const char *a, size_t n, const char *b, size_t m) {
    int order = memcmp(a, b, n < m ? n : m);
    return order ? order : n < m ? -1 : n > m;
}

static mica_status take_pair(void *context, io_range key, io_range value) {
    mica_bundle *b = context;
    if (!b->has_header) {
        if (key.n > 0) return MICA_ERROR(MICA_DATA_LOSS, "[bundle] %s has no header", b->path);
        return take_header(b, value);
    }
    MICA_TRY(make_room(b));
    mica_bundle_entry *entry = &b->entries[b->n];
    place *where = &b->places[b->n];
    *entry = (mica_bundle_entry){0};
    *where = (place){0};
    if (!take_entry(value, entry, where)) return damaged(b, key, "cannot be read");
    MICA_TRY(check_entry(b, key, entry, where));
    char *copy = mica_arena_alloc(&b->arena, key.n + 1);
    if (!copy) return MICA_NO_MEMORY();
    memcpy(copy, key.data, key.n);
    entry->key = copy;
    entry->key_length = key.n;
    if (b->n > 0 && compare_keys(entry[-1].key, entry[-1].key_length, copy, key.n) >= 0)
        return damaged(b, key, "is not in order");
    b->n++;
    return NULL;
}

/* ---- bundles ----------------------------------------------------------------------------------*/

static mica_status read_index(mica_bundle *b) {
    uint8_t *bytes;
    size_t size;
    MICA_TRY(mica_file_read(b->path, &bytes, &size));
    mica_status status = io_table_read((io_range){bytes, size}, b->path, take_pair, b);
    mica_free(bytes);
    if (!status && !b->has_header)
        status = MICA_ERROR(MICA_DATA_LOSS, "[bundle] %s has no header", b->path);
    return status;
}

static mica_status open_shard(mica_bundle *b, uint32_t shard);

/* The index, and the first file of its elements: once that is open, its elements stay readable
 * while writers replace the bundle. */
static mica_status open_files(mica_bundle *b) {
    MICA_TRY(read_index(b));
    return b->n > 0 ? open_shard(b, b->places[0].shard) : NULL;
}

static mica_status open_once(const char *prefix, mica_bundle **out_bundle) {
    *out_bundle = NULL;
    mica_bundle *b = mica_calloc(1, sizeof *b);
    if (!b) return MICA_NO_MEMORY();
    mica_arena_init(&b->arena);
    size_t n = strlen(prefix);
    char *kept = mica_arena_strdup(&b->arena, prefix);
    b->prefix = kept;
    b->path = mica_arena_alloc(&b->arena, n + sizeof ".index");
    mica_status status = kept && b->path ? NULL : MICA_NO_MEMORY();
    if (!status) {
        memcpy(b->path, prefix, n);
        strcpy(b->path + n, ".index");
        status = open_files(b);
    }
    /* An index alone can be looked at. */
    if (b->has_header && status && mica_status_code(status) == MICA_NOT_FOUND) {
        *out_bundle = b;
        return status;
    }
    if (status)
        mica_bundle_release(b);
    else
        *out_bundle = b;
    return status;
}

/* A writer that replaces the bundle removes the old elements: who had read the old index finds the
 * new one then. */
mica_status mica_bundle_open(const char *prefix, mica_bundle **out_bundle) {
    MICA_GIVEN(prefix, out_bundle);
    mica_status status = open_once(prefix, out_bundle);
    for (int tries = 0; status && *out_bundle && tries < 20; tries++) {
        mica_bundle *before = *out_bundle;
        mica_status_release(status);
        status = open_once(prefix, out_bundle);
        bool is_same = *out_bundle && (*out_bundle)->n_shards == before->n_shards;
        mica_bundle_release(before);
        if (is_same) break;
    }
    if (!status || !*out_bundle) return status;
    mica_status_release(status);
    return NULL;
}

uint32_t io_bundle_shards(const char *prefix) {
    mica_bundle *bundle;
    mica_status status = mica_bundle_open(prefix, &bundle);
    mica_status_release(status);
    uint32_t n = bundle ? bundle->n_shards : 0;
    mica_bundle_release(bundle);
    return n;
}

void mica_bundle_release(mica_bundle *b) {
    if (!b) return;
    mica_status_release(mica_file_close(b->file));
    mica_free(b->entries);
    mica_free(b->places);
    mica_arena_deinit(&b->arena);
    mica_free(b);
}

int64_t mica_bundle_count(const mica_bundle *b) {
    if (!b) return 0;
    return b->n;
}

const mica_bundle_entry *mica_bundle_entry_at(const mica_bundle *b, int64_t i) {
    if (!b) return NULL;
    return i >= 0 && i < b->n ? &b->entries[i] : NULL;
}

int64_t mica_bundle_find(const mica_bundle *b, const char *key, size_t length) {
    if (!b || !key) return 0;
    int64_t low = 0, high = b->n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const mica_bundle_entry *entry = &b->entries[middle];
        int order = compare_keys(entry->key, entry->key_length, key, length);
        if (order == 0) return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* ---- elements ---------------------------------------------------------------------------------*/

/* The file of a shard, open; the lock is held. */
static mica_status open_shard(mica_bundle *b, uint32_t shard) {
    if (b->file && b->file_shard == shard) return NULL;
    mica_text path;
    char *text;
    mica_text_init(&path);
    mica_text_printf(&path, "%s.data-%05u-of-%05u", b->prefix, shard, b->n_shards);
    MICA_TRY(mica_text_finish(&path, &text));
    mica_file *file;
    mica_status status = mica_file_open(text, &file);
    mica_free(text);
    if (status) return status;
    mica_status_release(mica_file_close(b->file));
    b->file = file;
    b->file_shard = shard;
    return NULL;
}

/* That the elements are inside the file of their shard: before memory is made for them. */
static mica_status check_place(mica_bundle *b, int64_t i) {
    const place *where = &b->places[i];
    uint64_t file_size = 0, end;
    mica_mutex_lock(&b->lock);
    mica_status status = open_shard(b, where->shard);
    if (!status) status = mica_file_size(b->file, &file_size);
    mica_mutex_unlock(&b->lock);
    if (status) return status;
    if (__builtin_add_overflow(where->offset, b->entries[i].size, &end) || end > file_size)
        return MICA_ERROR(MICA_DATA_LOSS, "[bundle] %s ends before '%s' does", b->prefix,
                          b->entries[i].key);
    return NULL;
}

/* The bytes of an entry, which threads read a stretch each of. */
typedef struct reading {
    mica_file *file;
    uint64_t offset;
    uint8_t *bytes;
    uint32_t *sums; /* by stretch */
    mica_mutex lock;
    mica_status status; /* of the first that failed */
} reading;

/* Piece by piece, so that the sum is taken of what is in the cache. */
static void read_stretch(void *context, int64_t begin, int64_t end) {
    reading *r = context;
    uint32_t crc = 0;
    mica_status status = NULL;
    for (int64_t at = begin, n; !status && at < end; at += n) {
        n = end - at < IO_BUNDLE_PIECE ? end - at : IO_BUNDLE_PIECE;
        status = mica_file_read_at(r->file, r->offset + (uint64_t)at, r->bytes + at, (size_t)n);
        if (!status) crc = io_crc(crc, r->bytes + at, (size_t)n);
    }
    r->sums[begin / IO_BUNDLE_STRETCH] = crc;
    if (!status) return;
    mica_mutex_lock(&r->lock);
    if (!r->status)
        r->status = status;
    else
        mica_status_release(status);
    mica_mutex_unlock(&r->lock);
}

static mica_status read_stretches(reading *r, int64_t size, uint32_t *out_crc) {
    int64_t n = (size + IO_BUNDLE_STRETCH - 1) / IO_BUNDLE_STRETCH;
    uint32_t few[64];
    r->sums = n <= 64 ? few : mica_alloc((size_t)n * sizeof *r->sums);
    if (!r->sums) return MICA_NO_MEMORY();
    mica_parallel_for(size, IO_BUNDLE_STRETCH, read_stretch, r);
    mica_status status = r->status;
    if (!status && mica_interrupt_is_left()) status = mica_interrupt_status();
    *out_crc = 0;
    for (int64_t i = 0; !status && i < n; i++) {
        int64_t left = size - i * IO_BUNDLE_STRETCH;
        *out_crc = io_crc_join(*out_crc, r->sums[i],
                               (uint64_t)(left < IO_BUNDLE_STRETCH ? left : IO_BUNDLE_STRETCH));
    }
    if (r->sums != few) mica_free(r->sums);
    return status;
}

static mica_status read_bytes(mica_bundle *b, int64_t i, void *bytes, uint32_t *out_crc) {
    const place *where = &b->places[i];
    *out_crc = 0;
    mica_mutex_lock(&b->lock);
    mica_status status = open_shard(b, where->shard);
    reading r = {.file = b->file, .offset = where->offset, .bytes = bytes};
    if (!status) status = read_stretches(&r, (int64_t)b->entries[i].size, out_crc);
    mica_mutex_unlock(&b->lock);
    return status;
}

static mica_status find_readable(mica_bundle *b, int64_t i, bool strings) {
    const mica_bundle_entry *entry = mica_bundle_entry_at(b, i);
    if (!entry) return MICA_INVALID("[bundle] there is no entry %lld in %s", (long long)i, b->path);
    if (entry->is_sliced)
        return MICA_ERROR(MICA_UNSUPPORTED, "[bundle] '%s' in %s is stored in slices", entry->key,
                          b->path);
    if (strings ? entry->dtype == MICA_TF_string : is_of_numbers(entry->dtype)) return NULL;
    const char *name = mica_tf_dtype_name(entry->dtype);
    return MICA_ERROR(MICA_UNSUPPORTED, "[bundle] '%s' in %s has elements of dtype %s", entry->key,
                      b->path, name ? name : "unknown");
}

static mica_status sum_is_wrong(const mica_bundle *b, int64_t i) {
    return MICA_ERROR(MICA_DATA_LOSS, "[bundle] the checksum of '%s' in %s is wrong",
                      b->entries[i].key, b->prefix);
}

mica_status mica_bundle_read(mica_bundle *b, int64_t i, void *out_bytes) {
    MICA_GIVEN(b);
    MICA_TRY(find_readable(b, i, false));
    uint32_t crc;
    MICA_TRY(read_bytes(b, i, out_bytes, &crc));
    return io_crc_mask(crc) == b->places[i].crc ? NULL : sum_is_wrong(b, i);
}

/* Lengths as varints, a sum of them, the strings. Sums take a length as 4 bytes (8 for a string
 * that needs them), whatever its varint takes. */
static mica_status take_strings(const mica_bundle *b, int64_t i, io_range bytes, uint64_t n,
                                const char **texts, size_t *lengths) {
    uint32_t crc = 0, lengths_crc;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t length;
        if (!io_take_varint(&bytes, &length)) return sum_is_wrong(b, i);
        uint8_t word[8];
        for (int byte = 0; byte < 8; byte++) word[byte] = (uint8_t)(length >> 8 * byte);
        crc = io_crc(crc, word, length <= UINT32_MAX ? 4 : 8);
        lengths[k] = (size_t)length;
    }
    const uint8_t *stored = bytes.data;
    if (!io_take_u32(&bytes, &lengths_crc) || lengths_crc != io_crc_mask(crc))
        return sum_is_wrong(b, i);
    crc = io_crc(crc, stored, 4);
    for (uint64_t k = 0; k < n; k++) {
        io_range text;
        if (!io_take(&bytes, lengths[k], &text)) return sum_is_wrong(b, i);
        crc = io_crc(crc, text.data, text.n);
        texts[k] = (const char *)text.data;
    }
    return bytes.n == 0 && io_crc_mask(crc) == b->places[i].crc ? NULL : sum_is_wrong(b, i);
}

mica_status mica_bundle_read_strings(mica_bundle *b, int64_t i, mica_tf_value *out_strings) {
    MICA_GIVEN(b, out_strings);
    *out_strings = (mica_tf_value){0};
    MICA_TRY(find_readable(b, i, true));
    const mica_bundle_entry *entry = &b->entries[i];
    uint64_t n;
    if (!count_elements(entry, &n) || n > entry->size) return sum_is_wrong(b, i);
    MICA_TRY(check_place(b, i));
    mica_status status = NULL;
    uint8_t *bytes = mica_alloc((size_t)entry->size + 1);
    const char **texts = mica_calloc((size_t)n + 1, sizeof *texts);
    size_t *lengths = mica_calloc((size_t)n + 1, sizeof *lengths);
    if (!bytes || !texts || !lengths) status = MICA_NO_MEMORY();
    uint32_t unused; /* strings have sums of their own */
    if (!status) status = read_bytes(b, i, bytes, &unused);
    if (!status)
        status = take_strings(b, i, (io_range){bytes, (size_t)entry->size}, n, texts, lengths);
    if (!status)
        status = mica_tf_strings_create((mica_ints){entry->dims, entry->rank}, texts, lengths,
                                        out_strings);
    mica_free(bytes);
    mica_free(texts);
    mica_free(lengths);
    return status;
}
