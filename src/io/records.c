/* TFRecord files: the length of a record in 8 bytes, the masked sum of those, the record, its
 * masked sum. */
#include <string.h>

#include "base/memory.h"
#include "base/platform.h"
#include "io/records.h"
#include "io/wire.h"
#include "io/zlib.h"

enum { HEADER = 12, FOOTER = 4, GOOD_BUFFER = 262144 };

/* ---- reading ----------------------------------------------------------------------------------*/

struct mica_record_reader {
    mica_file_reader *file;
    size_t taken; /* bytes of the record that was given last; they are passed at the next call */
};

mica_status mica_record_reader_open(const char *path, const char *compression, size_t buffer_size,
                                    mica_record_reader **out_reader) {
    MICA_GIVEN(path, out_reader);
    *out_reader = NULL;
    mica_record_reader *r = mica_calloc(1, sizeof *r);
    if (!r) return MICA_NO_MEMORY();
    mica_status status = mica_file_reader_open(path, compression, buffer_size, &r->file);
    if (status)
        mica_record_reader_release(r);
    else
        *out_reader = r;
    return status;
}

void mica_record_reader_release(mica_record_reader *r) {
    if (!r) return;
    mica_file_reader_release(r->file);
    mica_free(r);
}

static mica_status broken(const mica_record_reader *r, const char *what) {
    return MICA_ERROR(MICA_DATA_LOSS, "[records] %s: %s at offset %llu",
                      io_file_reader_path(r->file), what,
                      (unsigned long long)mica_file_reader_offset(r->file));
}

static bool sum_is_right(const uint8_t *bytes, size_t n) {
    return io_read_u32(bytes + n) == io_crc_mask(io_crc(0, bytes, n));
}

/* The length of the record that begins here; its sum is right and its bytes can be there. */
static mica_status read_length(mica_record_reader *r, size_t *out_length, bool *out_end) {
    const uint8_t *bytes;
    size_t n;
    uint64_t left;
    MICA_TRY(io_file_reader_peek(r->file, HEADER, &bytes, &n));
    *out_end = n == 0;
    if (n == 0) return NULL;
    if (n < HEADER) return broken(r, "truncated record");
    uint64_t length = io_read_u32(bytes) | (uint64_t)io_read_u32(bytes + 4) << 32;
    if (!sum_is_right(bytes, 8)) return broken(r, "corrupted record (the checksum of its length)");
    MICA_TRY(io_file_reader_left(r->file, &left));
    if (length > SIZE_MAX / 4 || left < HEADER + FOOTER || length > left - HEADER - FOOTER)
        return broken(r, "truncated record");
    *out_length = (size_t)length;
    return NULL;
}

mica_status mica_record_reader_next(mica_record_reader *r, const uint8_t **out_bytes,
                                    size_t *out_size, bool *out_end) {
    MICA_GIVEN(r, out_bytes, out_size, out_end);
    const uint8_t *bytes;
    size_t length = 0, n;
    io_file_reader_pass(r->file, r->taken);
    r->taken = 0;
    *out_bytes = NULL;
    *out_size = 0;
    MICA_TRY(read_length(r, &length, out_end));
    if (*out_end) return NULL;
    MICA_TRY(io_file_reader_peek(r->file, HEADER + length + FOOTER, &bytes, &n));
    if (n < HEADER + length + FOOTER) return broken(r, "truncated record");
    if (!sum_is_right(bytes + HEADER, length)) return broken(r, "corrupted record");
    r->taken = n;
    *out_bytes = bytes + HEADER;
    *out_size = length;
    return NULL;
}

uint64_t mica_record_reader_offset(const mica_record_reader *r) {
    return r ? mica_file_reader_offset(r->file) + r->taken : 0;
}

mica_status mica_record_reader_skip(mica_record_reader *r, uint64_t size) {
    MICA_GIVEN(r);
    io_file_reader_pass(r->file, r->taken);
    r->taken = 0;
    return mica_file_reader_skip(r->file, size);
}

/* ---- writing ----------------------------------------------------------------------------------*/

struct mica_record_writer {
    mica_mutex lock;
    char *path;
    mica_file *file;   /* NULL: finished */
    bool is_shown;     /* the file has its name */
    mica_status fault; /* of a write: what is in the file may end in the middle of a record */
    mica_text waiting; /* whole records */
    const io_zlib *zlib;
    io_zlib_stream stream;
    uint8_t *packed;
};

static mica_status open_stream(mica_record_writer *w, const mica_record_options *options) {
    int window;
    MICA_TRY(io_compression_parse(options->compression, &window));
    if (window < 0) return NULL;
    MICA_TRY(io_zlib_find(&w->zlib));
    io_zlib_stream_init(&w->stream);
    w->packed = mica_alloc(GOOD_BUFFER);
    if (!w->packed) return MICA_NO_MEMORY();
    int bits = options->window_bits ? options->window_bits : 15;
    int memory = options->memory_level ? options->memory_level : 8;
    if (options->level < -1 || options->level > 9 || bits < 9 || bits > 15 || memory < 1 ||
        memory > 9 || options->strategy < 0 || options->strategy > 4)
        return MICA_INVALID("[records] zlib does not take level %d (-1 to 9), window_bits %d (9 to "
                            "15), memory_level %d (1 to 9), strategy %d (0 to 4)",
                            options->level, bits, memory, options->strategy);
    int code =
        w->zlib->deflate_init(&w->stream, options->level, IO_ZLIB_DEFLATED, bits + window, memory,
                              options->strategy, w->zlib->version(), (int)sizeof w->stream);
    if (code == IO_ZLIB_OK) return NULL;
    if (code == IO_ZLIB_MEMORY_ERROR) return MICA_NO_MEMORY();
    return MICA_ERROR(MICA_UNSUPPORTED, "[zlib] this version, %s, cannot be used (code %d)",
                      w->zlib->version(), code);
}

static mica_status make(const char *path, const mica_record_options *options, bool is_new,
                        mica_record_writer **out_writer) {
    *out_writer = NULL;
    mica_record_writer *w = mica_calloc(1, sizeof *w);
    if (!w) return MICA_NO_MEMORY();
    mica_text_init(&w->waiting);
    w->is_shown = is_new;
    w->path = mica_alloc(strlen(path) + 1);
    mica_status status = w->path ? NULL : MICA_NO_MEMORY();
    if (!status) strcpy(w->path, path);
    if (!status && options) status = open_stream(w, options);
    if (!status)
        status =
            is_new ? mica_file_create_new(path, &w->file) : mica_file_create_aside(path, &w->file);
    if (status)
        mica_record_writer_release(w);
    else
        *out_writer = w;
    return status;
}

mica_status mica_record_writer_create(const char *path, const mica_record_options *options,
                                      mica_record_writer **out_writer) {
    MICA_GIVEN(path, out_writer);
    *out_writer = NULL;
    if (options && options->size < sizeof *options)
        return MICA_INVALID("[records] the options' size is %zu bytes, not %zu", options->size,
                            sizeof *options);
    return make(path, options, false, out_writer);
}

mica_status io_record_writer_create_new(const char *path, mica_record_writer **out_writer) {
    return make(path, NULL, true, out_writer);
}

void mica_record_writer_release(mica_record_writer *w) {
    if (!w) return;
    if (w->stream.state) w->zlib->deflate_end(&w->stream);
    if (w->is_shown)
        mica_status_release(mica_file_close(w->file));
    else
        mica_file_discard(w->file);
    mica_status_release(w->fault);
    mica_text_deinit(&w->waiting);
    mica_free(w->packed);
    mica_free(w->path);
    mica_free(w);
}

static mica_status write_packed(mica_record_writer *w, int flush) {
    io_zlib_stream *s = &w->stream;
    s->next_in = (const uint8_t *)mica_text_data(&w->waiting);
    size_t left = w->waiting.length;
    for (int code = IO_ZLIB_OK;;) {
        if (s->available_in == 0 && left > 0) {
            s->available_in = (unsigned)(left < GOOD_BUFFER ? left : GOOD_BUFFER);
            left -= s->available_in;
        }
        s->next_out = w->packed;
        s->available_out = GOOD_BUFFER;
        code = w->zlib->deflate(s, left > 0 ? IO_ZLIB_NO_FLUSH : flush);
        if (code != IO_ZLIB_OK && code != IO_ZLIB_STREAM_END && code != IO_ZLIB_BUFFER_ERROR)
            return MICA_ERROR(MICA_INTERNAL, "[zlib] cannot compress (code %d)", code);
        MICA_TRY(mica_file_append(w->file, w->packed, GOOD_BUFFER - s->available_out));
        bool is_done = flush == IO_ZLIB_FINISH ? code == IO_ZLIB_STREAM_END : s->available_out > 0;
        if (is_done && left == 0 && s->available_in == 0) return NULL;
    }
}

/* Hands on what waits. */
static mica_status write_waiting(mica_record_writer *w, int flush) {
    if (w->fault) return mica_status_share(w->fault);
    mica_status status = NULL;
    if (w->zlib)
        status = write_packed(w, flush);
    else if (w->waiting.length > 0)
        status = mica_file_append(w->file, w->waiting.data, w->waiting.length);
    if (status) w->fault = mica_status_share(status);
    mica_text_clear(&w->waiting);
    return status;
}

static mica_status check_open(const mica_record_writer *w) {
    if (w->file) return NULL;
    return MICA_ERROR(MICA_FAILED_PRECONDITION, "[records] the writer of %s is closed", w->path);
}

static mica_status append(mica_record_writer *w, const void *bytes, size_t size) {
    uint8_t length[8];
    MICA_TRY(check_open(w));
    size_t before = w->waiting.length;
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)((uint64_t)size >> 8 * i);
    mica_text_append_bytes(&w->waiting, length, sizeof length);
    io_put_u32(&w->waiting, io_crc_mask(io_crc(0, length, sizeof length)));
    if (size > 0) mica_text_append_bytes(&w->waiting, bytes, size);
    io_put_u32(&w->waiting, io_crc_mask(io_crc(0, bytes, size)));
    if (w->waiting.failed) {
        w->waiting.failed = false; /* the records before are whole */
        w->waiting.length = before;
        return MICA_NO_MEMORY();
    }
    return w->waiting.length < GOOD_BUFFER ? NULL : write_waiting(w, IO_ZLIB_NO_FLUSH);
}

mica_status mica_record_writer_append(mica_record_writer *w, const void *bytes, size_t size) {
    MICA_GIVEN(w, MICA_MANY(bytes, size));
    mica_mutex_lock(&w->lock);
    mica_status status = append(w, bytes, size);
    mica_mutex_unlock(&w->lock);
    return status;
}

static mica_status flush_to(mica_record_writer *w, int flush) {
    MICA_TRY(check_open(w));
    MICA_TRY(write_waiting(w, flush));
    if (w->is_shown) return NULL;
    MICA_TRY(mica_file_publish(w->file, w->path));
    w->is_shown = true;
    mica_folder_remove_asides(w->path);
    return NULL;
}

mica_status mica_record_writer_flush(mica_record_writer *w) {
    MICA_GIVEN(w);
    mica_mutex_lock(&w->lock);
    mica_status status = flush_to(w, IO_ZLIB_SYNC_FLUSH);
    mica_mutex_unlock(&w->lock);
    return status;
}

static mica_status finish(mica_record_writer *w) {
    mica_status status = flush_to(w, IO_ZLIB_FINISH);
    if (!w->file) return status;
    if (w->is_shown)
        status = mica_status_join(status, mica_file_close(w->file));
    else
        mica_file_discard(w->file);
    w->file = NULL;
    return status;
}

mica_status mica_record_writer_finish(mica_record_writer *w) {
    MICA_GIVEN(w);
    mica_mutex_lock(&w->lock);
    mica_status status = finish(w);
    mica_mutex_unlock(&w->lock);
    return status;
}
