/* Files from front to back, unpacked on the way. The buffer grows with the bytes that are there, so
 * a length that somebody wrote down costs no memory. */
#include <string.h>

#include "base/memory.h"
#include "base/platform.h"
#include "io/records.h"
#include "io/zlib.h"

#define GOOD_BUFFER 262144
#define LEAST_BUFFER 16
#define MOST_BUFFER ((size_t)1 << 30)

struct mica_file_reader {
    mica_file *file;
    uint64_t place, size; /* in the file; its size when it was last looked at */
    uint8_t *buffer;      /* `n` bytes from `first` on wait to be taken */
    size_t capacity, first, n, step;
    uint64_t offset;     /* of the first of them, unpacked */
    const io_zlib *zlib; /* NULL: the file is as it is */
    io_zlib_stream stream;
    uint8_t *packed;
    bool is_inside; /* of a compressed stream that has not ended */
};

static mica_status open_stream(mica_file_reader *r, int window) {
    MICA_TRY(io_zlib_find(&r->zlib));
    io_zlib_stream_init(&r->stream);
    r->packed = mica_alloc(r->step);
    if (!r->packed) return MICA_NO_MEMORY();
    int code =
        r->zlib->inflate_init(&r->stream, 15 + window, r->zlib->version(), (int)sizeof r->stream);
    if (code == IO_ZLIB_OK) return NULL;
    if (code == IO_ZLIB_MEMORY_ERROR) return MICA_NO_MEMORY();
    return MICA_ERROR(MICA_UNSUPPORTED, "[zlib] this version, %s, cannot be used (code %d)",
                      r->zlib->version(), code);
}

mica_status mica_file_reader_open(const char *path, const char *compression, size_t buffer_size,
                                  mica_file_reader **out_reader) {
    MICA_GIVEN(path, out_reader);
    *out_reader = NULL;
    int window;
    MICA_TRY(io_compression_parse(compression, &window));
    mica_file_reader *r = mica_calloc(1, sizeof *r);
    if (!r) return MICA_NO_MEMORY();
    r->step = !buffer_size                 ? GOOD_BUFFER
              : buffer_size < LEAST_BUFFER ? LEAST_BUFFER
              : buffer_size > MOST_BUFFER  ? MOST_BUFFER
                                           : buffer_size;
    mica_status status = mica_file_open(path, &r->file);
    if (!status) status = mica_file_size(r->file, &r->size);
    if (!status && window >= 0) status = open_stream(r, window);
    if (status)
        mica_file_reader_release(r);
    else
        *out_reader = r;
    return status;
}

void mica_file_reader_release(mica_file_reader *r) {
    if (!r) return;
    if (r->stream.state) r->zlib->inflate_end(&r->stream);
    mica_status_release(mica_file_close(r->file));
    mica_free(r->packed);
    mica_free(r->buffer);
    mica_free(r);
}

uint64_t mica_file_reader_offset(const mica_file_reader *r) {
    return r ? r->offset : 0;
}

const char *io_file_reader_path(const mica_file_reader *r) {
    return mica_file_path(r->file);
}

mica_status io_file_reader_left(mica_file_reader *r, uint64_t *out_bytes) {
    *out_bytes = UINT64_MAX;
    if (r->zlib) return NULL;
    MICA_TRY(mica_file_size(r->file, &r->size));
    *out_bytes = r->n + (r->size > r->place ? r->size - r->place : 0);
    return NULL;
}

/* The next bytes of the file, as they are; 0 at its end, as it is now. */
static mica_status read_some(mica_file_reader *r, uint8_t *bytes, size_t most, size_t *out_n) {
    *out_n = 0;
    if (r->place >= r->size) MICA_TRY(mica_file_size(r->file, &r->size));
    if (r->place >= r->size) return NULL;
    size_t n = r->size - r->place < most ? (size_t)(r->size - r->place) : most;
    MICA_TRY(mica_file_read_at(r->file, r->place, bytes, n));
    r->place += n;
    *out_n = n;
    return NULL;
}

static mica_status damaged(const mica_file_reader *r, const char *what) {
    return MICA_ERROR(MICA_DATA_LOSS, "[file_reader] %s is damaged near byte %llu: %s",
                      mica_file_path(r->file), (unsigned long long)r->place, what);
}

/* Several compressed streams may follow each other; their contents are one. */
static mica_status unpack_some(mica_file_reader *r, uint8_t *bytes, size_t most, size_t *out_n) {
    io_zlib_stream *s = &r->stream;
    *out_n = 0;
    s->next_out = bytes;
    s->available_out = (unsigned)(most < MOST_BUFFER ? most : MOST_BUFFER);
    unsigned asked = s->available_out;
    while (s->available_out == asked) {
        size_t n = s->available_in;
        if (n == 0) {
            MICA_TRY(read_some(r, r->packed, r->step, &n));
            s->next_in = r->packed;
            s->available_in = (unsigned)n;
        }
        if (n == 0) return r->is_inside ? damaged(r, "its compressed bytes end too early") : NULL;
        r->is_inside = true;
        int code = r->zlib->inflate(s, IO_ZLIB_NO_FLUSH);
        if (code == IO_ZLIB_STREAM_END) {
            r->is_inside = false;
            code = r->zlib->inflate_reset(s);
        }
        if (code == IO_ZLIB_MEMORY_ERROR) return MICA_NO_MEMORY();
        if (code != IO_ZLIB_OK && code != IO_ZLIB_BUFFER_ERROR)
            return damaged(r, s->message ? s->message : "it is not compressed as it should be");
    }
    *out_n = asked - s->available_out;
    return NULL;
}

static mica_status make_room(mica_file_reader *r) {
    if (r->first > 0 && (r->n == 0 || r->first + r->n == r->capacity)) {
        memmove(r->buffer, r->buffer + r->first, r->n);
        r->first = 0;
    }
    if (r->first + r->n < r->capacity) return NULL;
    if (r->capacity > SIZE_MAX / 2) return MICA_NO_MEMORY();
    size_t capacity = r->capacity ? 2 * r->capacity : r->step;
    void *grown = mica_realloc(r->buffer, capacity);
    if (!grown) return MICA_NO_MEMORY();
    r->buffer = grown;
    r->capacity = capacity;
    return NULL;
}

/* Adds bytes to those that wait; *out_end where there are no more. */
static mica_status add_some(mica_file_reader *r, bool *out_end) {
    size_t n;
    MICA_TRY(make_room(r));
    uint8_t *to = r->buffer + r->first + r->n;
    size_t room = r->capacity - r->first - r->n;
    MICA_TRY(r->zlib ? unpack_some(r, to, room, &n) : read_some(r, to, room, &n));
    r->n += n;
    *out_end = n == 0;
    return NULL;
}

mica_status io_file_reader_peek(mica_file_reader *r, size_t size, const uint8_t **out_bytes,
                                size_t *out_size) {
    bool end = false;
    while (r->n < size && !end) MICA_TRY(add_some(r, &end));
    *out_size = r->n < size ? r->n : size;
    *out_bytes = *out_size ? r->buffer + r->first : (const uint8_t *)"";
    return NULL;
}

void io_file_reader_pass(mica_file_reader *r, size_t size) {
    r->first += size;
    r->n -= size;
    r->offset += size;
}

mica_status mica_file_reader_take(mica_file_reader *r, size_t size, const uint8_t **out_bytes,
                                  size_t *out_size) {
    MICA_GIVEN(r, out_bytes, out_size);
    MICA_TRY(io_file_reader_peek(r, size, out_bytes, out_size));
    io_file_reader_pass(r, *out_size);
    return NULL;
}

mica_status mica_file_reader_skip(mica_file_reader *r, uint64_t size) {
    MICA_GIVEN(r);
    for (bool end = false; size > 0 && !end;) {
        size_t n = r->n < size ? r->n : (size_t)size;
        io_file_reader_pass(r, n);
        size -= n;
        if (size > 0) MICA_TRY(add_some(r, &end));
    }
    return NULL;
}

/* Moves bytes together where carriage returns were; how many are left. */
static size_t drop_returns(uint8_t *line, size_t n) {
    uint8_t *at = n > 0 ? memchr(line, '\r', n) : NULL;
    if (!at) return n;
    uint8_t *to = at;
    for (; at < line + n; at++)
        if (*at != '\r') *to++ = *at;
    return (size_t)(to - line);
}

mica_status mica_file_reader_line(mica_file_reader *r, const uint8_t **out_bytes, size_t *out_size,
                                  bool *out_end) {
    MICA_GIVEN(r, out_bytes, out_size, out_end);
    const uint8_t *feed = NULL;
    *out_bytes = (const uint8_t *)"";
    *out_size = 0;
    *out_end = false;
    for (size_t seen = 0;;) {
        if (r->n > seen) feed = memchr(r->buffer + r->first + seen, '\n', r->n - seen);
        seen = r->n;
        if (feed || *out_end) break;
        MICA_TRY(add_some(r, out_end));
    }
    *out_end = !feed && r->n == 0;
    if (*out_end) return NULL;
    uint8_t *line = r->buffer + r->first;
    size_t n = feed ? (size_t)(feed - line) : r->n;
    io_file_reader_pass(r, n + (feed != NULL));
    *out_bytes = line;
    *out_size = drop_returns(line, n);
    return NULL;
}
