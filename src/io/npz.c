/* numpy's .npz: a ZIP archive of .npy files.
 *
 * An archive is read from its end: a record says where the list of entries is, an entry where its
 * file begins. Sizes and places of four bytes that are all ones stand for larger ones of eight
 * (ZIP64). Files are stored, or compressed by deflate, which zlib undoes. */
#include <string.h>

#include "base/memory.h"
#include "io/arrays.h"
#include "io/zlib.h"

#define FORMAT "npz"
enum {
    LOCAL = 30,   /* bytes of the fixed part of a file's header */
    ENTRY = 46,   /* ... of an entry of the list */
    END = 22,     /* ... of the last record */
    END64 = 56,   /* ... of the last record in ZIP64 */
    LOCATOR = 20, /* ... of the record that says where that is */
    MOST_COMMENT = 0xFFFF,
    STORED = 0,
    DEFLATED = 8,
    MOST_RATIO = 1032, /* deflate cannot compress more */
};
#define ALL_ONES 0xFFFFFFFFu

static uint64_t number_at(const uint8_t *bytes, int n) {
    uint64_t value = 0;
    for (int i = 0; i < n; i++) value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static mica_status damaged(const mica_arrays *a, const char *why) {
    return io_arrays_damaged(a, FORMAT, why);
}

/* CRC-32 as ZIP has it (reflected, 0xEDB88320), by half bytes. */
static uint32_t crc32(uint32_t before, const uint8_t *bytes, size_t n) {
    static const uint32_t table[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
    };
    uint32_t crc = ~before;
    for (size_t i = 0; i < n; i++) {
        crc = table[(crc ^ bytes[i]) & 15] ^ crc >> 4;
        crc = table[(crc ^ bytes[i] >> 4) & 15] ^ crc >> 4;
    }
    return ~crc;
}

/* ---- reading ----------------------------------------------------------------------------------*/

typedef struct listing {
    uint64_t count, at, size; /* of the list of entries */
} listing;

/* The last record may be followed by a comment, whose length it has. */
static mica_status find_listing(const mica_arrays *a, listing *out) {
    if (a->size < END) return damaged(a, "it is too short for an archive");
    size_t last = a->size - END, first = last > MOST_COMMENT ? last - MOST_COMMENT : 0;
    size_t end = last + 1;
    while (end-- > first)
        if (!memcmp(a->bytes + end, "PK\5\6", 4) &&
            number_at(a->bytes + end + 20, 2) == a->size - END - end)
            break;
    if (end == first - 1 || end > last) return damaged(a, "the archive's end is missing");
    const uint8_t *record = a->bytes + end;
    *out =
        (listing){number_at(record + 10, 2), number_at(record + 16, 4), number_at(record + 12, 4)};
    bool is_long = out->count == 0xFFFF || out->at == ALL_ONES || out->size == ALL_ONES;
    if (is_long && end >= LOCATOR && !memcmp(record - LOCATOR, "PK\6\7", 4)) {
        uint64_t at = number_at(record - LOCATOR + 8, 8);
        if (at > a->size || a->size - at < END64 || memcmp(a->bytes + at, "PK\6\6", 4) != 0)
            return damaged(a, "the archive's ZIP64 end record is missing");
        record = a->bytes + at;
        *out = (listing){number_at(record + 32, 8), number_at(record + 48, 8),
                         number_at(record + 40, 8)};
    }
    if (out->at > a->size || out->size > a->size - out->at || out->count > out->size / ENTRY)
        return damaged(a, "the list of files is not in it");
    return NULL;
}

typedef struct entry {
    io_range name;
    int method;
    uint32_t crc;
    uint64_t packed, size, at;
} entry;

/* Fields of ZIP64 take the place of those that are all ones, in this order. */
static bool take_long_fields(entry *e, io_range extra) {
    while (extra.n >= 4) {
        uint64_t id = number_at(extra.data, 2), n = number_at(extra.data + 2, 2);
        io_range head, field;
        if (!io_take(&extra, 4, &head) || !io_take(&extra, (size_t)n, &field)) return false;
        if (id != 1) continue;
        uint64_t *const targets[] = {&e->size, &e->packed, &e->at};
        for (int i = 0; i < 3; i++) {
            io_range word;
            if (*targets[i] != ALL_ONES) continue;
            if (!io_take(&field, 8, &word)) return false;
            *targets[i] = number_at(word.data, 8);
        }
    }
    return true;
}

static bool take_entry(io_range *list, entry *out, bool *out_is_secret) {
    io_range fixed, extra, comment;
    if (!io_take(list, ENTRY, &fixed) || memcmp(fixed.data, "PK\1\2", 4) != 0) return false;
    const uint8_t *f = fixed.data;
    *out_is_secret = f[8] & 1;
    *out = (entry){.method = (int)number_at(f + 10, 2),
                   .crc = (uint32_t)number_at(f + 16, 4),
                   .packed = number_at(f + 20, 4),
                   .size = number_at(f + 24, 4),
                   .at = number_at(f + 42, 4)};
    return io_take(list, (size_t)number_at(f + 28, 2), &out->name) &&
           io_take(list, (size_t)number_at(f + 30, 2), &extra) &&
           io_take(list, (size_t)number_at(f + 32, 2), &comment) && take_long_fields(out, extra);
}

static mica_status inflate_into(const mica_arrays *a, io_range packed, uint8_t *out, size_t size) {
    const io_zlib *zlib;
    io_zlib_stream stream;
    MICA_TRY(io_zlib_find(&zlib));
    io_zlib_stream_init(&stream);
    int code = zlib->inflate_init(&stream, -15, zlib->version(), (int)sizeof stream);
    if (code != IO_ZLIB_OK) return MICA_NO_MEMORY();
    stream.next_in = packed.data;
    stream.next_out = out;
    uint8_t beyond; /* where the file says that it is shorter than it is */
    size_t done = 0;
    while (code == IO_ZLIB_OK) {
        size_t left_in = packed.n - (size_t)(stream.next_in - packed.data);
        bool is_full = done == size;
        size_t room = is_full ? 1 : size - done;
        unsigned asked = room > (1u << 30) ? 1u << 30 : (unsigned)room;
        stream.available_in = left_in > (1u << 30) ? 1u << 30 : (unsigned)left_in;
        stream.available_out = asked;
        if (is_full) stream.next_out = &beyond;
        code = zlib->inflate(&stream, IO_ZLIB_NO_FLUSH);
        size_t got = asked - stream.available_out;
        if (is_full && got) code = IO_ZLIB_BUFFER_ERROR;
        if (!is_full) done += got;
        if (code == IO_ZLIB_OK && !got && left_in == 0) code = IO_ZLIB_BUFFER_ERROR;
    }
    zlib->inflate_end(&stream);
    if (code == IO_ZLIB_MEMORY_ERROR) return MICA_NO_MEMORY();
    if (code != IO_ZLIB_STREAM_END || done != size)
        return damaged(a, "a compressed file is not as it should be");
    return NULL;
}

/* The bytes of a file of the archive: where they stand, or unpacked into the arena. */
static mica_status contents(mica_arrays *a, const entry *e, io_range *out) {
    if (e->at > a->size || a->size - e->at < LOCAL || memcmp(a->bytes + e->at, "PK\3\4", 4) != 0)
        return damaged(a, "a file is not where the list says");
    const uint8_t *local = a->bytes + e->at;
    uint64_t skip = LOCAL + number_at(local + 26, 2) + number_at(local + 28, 2);
    if (skip > a->size - e->at || e->packed > a->size - e->at - skip)
        return damaged(a, "a file is cut off");
    io_range packed = {local + skip, (size_t)e->packed};
    if (e->method == STORED) {
        if (e->size != e->packed) return damaged(a, "a stored file has two sizes");
        *out = packed;
    } else if (e->method == DEFLATED) {
        if (e->size / MOST_RATIO > e->packed) return damaged(a, "a size is beyond what is there");
        uint8_t *bytes = mica_arena_alloc(&a->arena, (size_t)e->size);
        if (!bytes) return MICA_NO_MEMORY();
        MICA_TRY(inflate_into(a, packed, bytes, (size_t)e->size));
        *out = (io_range){bytes, (size_t)e->size};
    } else {
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[" FORMAT "] '%.900s' is compressed by method %d; stored and deflated "
                          "files are read",
                          a->path, e->method);
    }
    return crc32(0, out->data, out->n) == e->crc ? NULL : damaged(a, "a checksum is wrong");
}

mica_status io_npz_read(mica_arrays *a) {
    listing found = {0};
    MICA_TRY(find_listing(a, &found));
    io_range list = {a->bytes + found.at, (size_t)found.size};
    uint64_t most = a->size <= UINT64_MAX / MOST_RATIO ? a->size * MOST_RATIO : UINT64_MAX;
    for (uint64_t i = 0; i < found.count; i++) {
        entry e;
        bool is_secret;
        io_range file;
        if (!take_entry(&list, &e, &is_secret)) return damaged(a, "the list of files is cut off");
        if (is_secret)
            return MICA_ERROR(MICA_UNSUPPORTED, "[" FORMAT "] '%.900s' is encrypted", a->path);
        if (e.name.n < 4 || memcmp(e.name.data + e.name.n - 4, ".npy", 4) != 0)
            return MICA_ERROR(
                MICA_UNSUPPORTED, "[" FORMAT "] '%.900s' has the file '%.*s', which is no .npy",
                a->path, (int)(e.name.n < 200 ? e.name.n : 200), (const char *)e.name.data);
        /* entries may name the same bytes; all of them together stay within what deflate can do */
        if (e.size > most) return damaged(a, "its files are larger together than they can be");
        most -= e.size;
        MICA_TRY(contents(a, &e, &file));
        MICA_TRY(io_npy_read(a, (io_range){e.name.data, e.name.n - 4}, file));
    }
    return NULL;
}

/* ---- writing ----------------------------------------------------------------------------------*/

static void put_u16(mica_text *to, uint32_t value) {
    mica_text_append_char(to, (char)(value & 0xFF));
    mica_text_append_char(to, (char)(value >> 8 & 0xFF));
}

static uint32_t short_form(uint64_t value) {
    return value >= ALL_ONES ? ALL_ONES : (uint32_t)value;
}

typedef struct stored {
    uint32_t crc;
    uint64_t size, at;
} stored;

/* What stands in both headers of a file: from the version to the length of its name. */
static void put_common(mica_text *to, const stored *s, size_t name_length) {
    put_u16(to, 45);    /* ZIP64 */
    put_u16(to, 0x800); /* names are UTF-8 */
    put_u16(to, STORED);
    put_u16(to, 0);    /* midnight */
    put_u16(to, 0x21); /* of the first day that the format has */
    io_put_u32(to, s->crc);
    io_put_u32(to, short_form(s->size));
    io_put_u32(to, short_form(s->size));
    put_u16(to, (uint32_t)name_length);
}

/* Sizes, and in the list places, that four bytes do not hold. */
static void put_extra(mica_text *to, const stored *s, bool is_listed) {
    int n = 2 * (s->size >= ALL_ONES) + (is_listed && s->at >= ALL_ONES);
    if (!n) return;
    put_u16(to, 1);
    put_u16(to, (uint32_t)(8 * n));
    for (int i = 0; i < 2 && s->size >= ALL_ONES; i++) io_put_u64(to, s->size);
    if (is_listed && s->at >= ALL_ONES) io_put_u64(to, s->at);
}

static uint32_t extra_length(const stored *s, bool is_listed) {
    int n = 2 * (s->size >= ALL_ONES) + (is_listed && s->at >= ALL_ONES);
    return n ? (uint32_t)(4 + 8 * n) : 0;
}

static mica_status write_file(mica_file *file, const mica_array *array, stored *s, uint64_t *offset,
                              mica_text *text, mica_text *npy) {
    size_t name_length = strlen(array->name) + 4, bytes = mica_type_bytes(&array->type);
    if (name_length > 0xFFFF)
        return MICA_INVALID("[" FORMAT "] a name is longer than 65,531 bytes");
    mica_text_clear(npy);
    MICA_TRY(io_npy_put_header(npy, array));
    uint32_t crc = crc32(0, (const uint8_t *)npy->data, npy->length);
    *s = (stored){crc32(crc, array->data, bytes), npy->length + bytes, *offset};
    mica_text_clear(text);
    mica_text_append_bytes(text, "PK\3\4", 4);
    put_common(text, s, name_length);
    put_u16(text, extra_length(s, false));
    mica_text_append(text, array->name);
    mica_text_append(text, ".npy");
    put_extra(text, s, false);
    if (mica_text_is_failed(text)) return MICA_NO_MEMORY();
    *offset += text->length + s->size;
    MICA_TRY(mica_file_append(file, text->data, text->length));
    MICA_TRY(mica_file_append(file, npy->data, npy->length));
    return bytes ? mica_file_append(file, array->data, bytes) : NULL;
}

static void put_entry(mica_text *to, const mica_array *array, const stored *s) {
    mica_text_append_bytes(to, "PK\1\2", 4);
    put_u16(to, 45);
    put_common(to, s, strlen(array->name) + 4);
    put_u16(to, extra_length(s, true));
    for (int i = 0; i < 3; i++) put_u16(to, 0); /* no comment, first disk, no attributes */
    io_put_u32(to, 0);
    io_put_u32(to, short_form(s->at));
    mica_text_append(to, array->name);
    mica_text_append(to, ".npy");
    put_extra(to, s, true);
}

static void put_end(mica_text *to, uint64_t n, uint64_t at) {
    uint64_t size = to->length;
    if (n >= 0xFFFF || at >= ALL_ONES || size >= ALL_ONES) {
        mica_text_append_bytes(to, "PK\6\6", 4);
        io_put_u64(to, END64 - 12);
        put_u16(to, 45);
        put_u16(to, 45);
        io_put_u32(to, 0);
        io_put_u32(to, 0);
        io_put_u64(to, n);
        io_put_u64(to, n);
        io_put_u64(to, size);
        io_put_u64(to, at);
        mica_text_append_bytes(to, "PK\6\7", 4);
        io_put_u32(to, 0);
        io_put_u64(to, at + size);
        io_put_u32(to, 1);
    }
    uint32_t count = n >= 0xFFFF ? 0xFFFF : (uint32_t)n;
    mica_text_append_bytes(to, "PK\5\6", 4);
    put_u16(to, 0);
    put_u16(to, 0);
    put_u16(to, count);
    put_u16(to, count);
    io_put_u32(to, short_form(size));
    io_put_u32(to, short_form(at));
    put_u16(to, 0);
}

mica_status io_npz_write(mica_file *file, const mica_array *arrays, int64_t n) {
    mica_text text, npy, list;
    uint64_t offset = 0;
    mica_status status = NULL;
    mica_text_init(&text);
    mica_text_init(&npy);
    mica_text_init(&list);
    for (int64_t i = 0; !status && i < n; i++) {
        stored s;
        status = write_file(file, &arrays[i], &s, &offset, &text, &npy);
        if (!status) put_entry(&list, &arrays[i], &s);
    }
    put_end(&list, (uint64_t)n, offset);
    if (!status && mica_text_is_failed(&list)) status = MICA_NO_MEMORY();
    if (!status) status = mica_file_append(file, list.data, list.length);
    mica_text_deinit(&text);
    mica_text_deinit(&npy);
    mica_text_deinit(&list);
    return status;
}
