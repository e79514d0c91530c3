/* io/pictures.h: what readers and writers of pictures share. Each reader takes options that are
 * there and a picture without pixels; pixels that it has made when it fails are its caller's. */
#ifndef MICA_IO_PICTURES_H
#define MICA_IO_PICTURES_H

#include "base/memory.h"
#include "base/status.h"
#include "mica/media.h"

typedef struct io_bytes {
    const uint8_t *data;
    size_t size;
} io_bytes;

MICA_MUST_CHECK mica_status io_jpeg_read(io_bytes file, const mica_picture_options *options,
                                         mica_picture *out);
MICA_MUST_CHECK mica_status io_png_read(io_bytes file, const mica_picture_options *options,
                                        mica_picture *out);
MICA_MUST_CHECK mica_status io_gif_read(io_bytes file, const mica_picture_options *options,
                                        mica_picture *out);
MICA_MUST_CHECK mica_status io_bmp_read(io_bytes file, const mica_picture_options *options,
                                        mica_picture *out);

/* Makes room for the pixels of a picture whose sizes are set: INVALID_ARGUMENT, with `what` in the
 * message, where there are none, or more than most bytes. */
enum { IO_MOST_PICTURE_BYTES = 1 << 29 };
MICA_MUST_CHECK mica_status io_picture_allocate(mica_picture *picture, const char *what);

static inline uint32_t io_little_u16(const uint8_t *bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8;
}
static inline uint32_t io_little_u32(const uint8_t *bytes) {
    return io_little_u16(bytes) | io_little_u16(bytes + 2) << 16;
}

#endif
