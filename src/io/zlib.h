/* io/zlib.h: the zlib of this machine, found at run time.
 *
 * The layout of a stream is that of zlib's interface, which has not changed since version 1.0. */
#ifndef MICA_IO_ZLIB_H
#define MICA_IO_ZLIB_H

#include <stdint.h>

#include "base/status.h"

typedef struct io_zlib_stream {
    const uint8_t *next_in;
    unsigned available_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned available_out;
    unsigned long total_out;
    const char *message;
    void *state;
    void *(*allocate)(void *, unsigned, unsigned);
    void (*free)(void *, void *);
    void *opaque;
    int data_type;
    unsigned long checksum, reserved;
} io_zlib_stream;

enum {
    IO_ZLIB_NO_FLUSH = 0,
    IO_ZLIB_SYNC_FLUSH = 2,
    IO_ZLIB_FINISH = 4,
    IO_ZLIB_OK = 0,
    IO_ZLIB_STREAM_END = 1,
    IO_ZLIB_MEMORY_ERROR = -4,
    IO_ZLIB_BUFFER_ERROR = -5, /* nothing could be done with what there was */
    IO_ZLIB_DEFLATED = 8,
    IO_ZLIB_GZIP_WINDOW = 16, /* added to the window's bits: gzip's format instead of zlib's */
};

typedef struct io_zlib {
    const char *(*version)(void);
    int (*inflate_init)(io_zlib_stream *, int window_bits, const char *version, int stream_size);
    int (*inflate)(io_zlib_stream *, int flush);
    int (*inflate_reset)(io_zlib_stream *);
    int (*inflate_end)(io_zlib_stream *);
    int (*deflate_init)(io_zlib_stream *, int level, int method, int window_bits, int memory_level,
                        int strategy, const char *version, int stream_size);
    int (*deflate)(io_zlib_stream *, int flush);
    int (*deflate_end)(io_zlib_stream *);
} io_zlib;

/* UNSUPPORTED, with the reason, where there is none. */
MICA_MUST_CHECK mica_status io_zlib_find(const io_zlib **out_zlib);
/* What is added to the window's bits: -1 for a file that is not compressed. */
MICA_MUST_CHECK mica_status io_compression_parse(const char *compression, int *out_window);
/* Streams take their memory of the counting allocator. */
void io_zlib_stream_init(io_zlib_stream *stream);

#endif
