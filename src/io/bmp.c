/* BMP: pictures of 8, 24 or 32 bits a pixel, not compressed, from the bottom row or, where the
 * height is negative, from the top row on. Those of 8 bits are gray, whatever their palette is, as
 * TensorFlow takes them. */
#include "io/pictures.h"

enum { HEADER = 30 };

typedef struct bitmap {
    int64_t start, width, height, depth; /* depth: bytes a pixel in the file */
    bool is_from_top;
} bitmap;

static mica_status read_header(io_bytes file, bitmap *b) {
    if (file.size < HEADER)
        return MICA_INVALID("[bmp] Incomplete bmp content, requires at least %d bytes to find the "
                            "header size, width, height, and bpp, got %zu bytes",
                            HEADER, file.size);
    int32_t height = (int32_t)io_little_u32(file.data + 22);
    uint32_t bits = io_little_u16(file.data + 28);
    b->start = (int32_t)io_little_u32(file.data + 10);
    b->width = (int32_t)io_little_u32(file.data + 18);
    b->is_from_top = height < 0;
    b->height = height < 0 ? -(int64_t)height : height;
    b->depth = bits / 8;
    if (b->start < 0)
        return MICA_INVALID("[bmp] header size must be >= 0: %lld", (long long)b->start);
    if (b->width < 1 || b->height < 1)
        return MICA_INVALID("[bmp] width and height must not be 0 or less: %lld, %d",
                            (long long)b->width, height);
    if (bits % 8 || (b->depth != 1 && b->depth != 3 && b->depth != 4))
        return MICA_INVALID("[bmp] Number of channels inherent in the image must be 1, 3 or 4, was "
                            "%u bits a pixel",
                            bits);
    return NULL;
}

static void copy_pixel(const uint8_t *from, int64_t depth, uint8_t *to, int32_t channels) {
    if (depth == 1) {
        for (int32_t c = 0; c < channels && c < 3; c++) to[c] = from[0];
    } else {
        for (int32_t c = 0; c < 3; c++) to[c] = from[2 - c];
    }
    if (channels == 4) to[3] = depth == 4 ? from[3] : 255;
}

mica_status io_bmp_read(io_bytes file, const mica_picture_options *options, mica_picture *out) {
    bitmap b = {0};
    if (options->channels != 0 && options->channels != 3 && options->channels != 4)
        return MICA_INVALID("[bmp] `channels` must be 0, 3 or 4 for BMP, but got %d",
                            options->channels);
    MICA_TRY(read_header(file, &b));
    int64_t row = (b.depth * b.width + 3) / 4 * 4; /* at most 2^33 */
    int64_t size = (int64_t)file.size;
    if (b.start > size || (size - b.start) / row < b.height)
        return MICA_INVALID("[bmp] Input size should match (header_size + row_size * abs_height): "
                            "%lld bytes, not %lld + %lld * %lld",
                            (long long)size, (long long)b.start, (long long)row,
                            (long long)b.height);
    out->height = b.height;
    out->width = b.width;
    out->channels = options->channels ? options->channels : (int32_t)b.depth;
    MICA_TRY(io_picture_allocate(out, "bmp"));
    uint8_t *to = out->pixels;
    for (int64_t y = 0; y < b.height; y++) {
        const uint8_t *from = file.data + b.start + row * (b.is_from_top ? y : b.height - 1 - y);
        for (int64_t x = 0; x < b.width; x++, from += b.depth, to += out->channels)
            copy_pixel(from, b.depth, to, out->channels);
    }
    return NULL;
}
