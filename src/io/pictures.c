/* Pictures of any format, by their first bytes. */
#include "io/pictures.h"

#include <string.h>

typedef mica_status (*reader)(io_bytes, const mica_picture_options *, mica_picture *);

static const struct {
    const char *bytes;
    size_t size;
    mica_picture_format format;
    reader read;
} formats[] = {
    {"\xff\xd8\xff", 3, MICA_PICTURE_JPEG, io_jpeg_read},
    {"\x89PNG\r\n\x1a\n", 8, MICA_PICTURE_PNG, io_png_read},
    {"GIF8", 4, MICA_PICTURE_GIF, io_gif_read},
    {"BM", 2, MICA_PICTURE_BMP, io_bmp_read},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static int find(const void *bytes, size_t size) {
    for (int i = 0; i < FORMATS; i++)
        if (size >= formats[i].size && !memcmp(bytes, formats[i].bytes, formats[i].size)) return i;
    return FORMATS;
}

mica_picture_format mica_picture_format_of(const void *bytes, size_t size) {
    int i = bytes ? find(bytes, size) : FORMATS;
    return i < FORMATS ? formats[i].format : MICA_PICTURE_UNKNOWN;
}

mica_status io_picture_allocate(mica_picture *p, const char *what) {
    int64_t bytes = p->channels * (int64_t)mica_dtype_bytes(p->dtype);
    int64_t most = IO_MOST_PICTURE_BYTES;
    bool is_wrong = p->frames < 1 || p->height < 1 || p->width < 1 || bytes < 1;
    is_wrong = is_wrong || p->width >= most / bytes || p->height >= most / (bytes * p->width) ||
               p->frames >= most / (bytes * p->width * p->height);
    if (is_wrong)
        return MICA_INVALID(
            "[%s] a picture of %lld frames, height %lld, width %lld and %d channels "
            "is empty or too large",
            what, (long long)p->frames, (long long)p->height, (long long)p->width, p->channels);
    p->pixels = mica_calloc((size_t)(p->frames * p->height), (size_t)(p->width * bytes));
    return p->pixels ? NULL : MICA_NO_MEMORY();
}

static mica_status check_options(const mica_picture_options *o) {
    if (o->size < sizeof *o)
        return MICA_INVALID("[picture_read] the options' size is %zu bytes, not %zu", o->size,
                            sizeof *o);
    if (o->channels < 0 || o->channels > 4)
        return MICA_INVALID("[picture_read] channels are 0 to 4, not %d", o->channels);
    if (o->dtype != MICA_DTYPE_u8 && o->dtype != MICA_DTYPE_u16)
        return MICA_INVALID("[picture_read] pixels are u8 or u16");
    return NULL;
}

mica_status mica_picture_read(const void *bytes, size_t size, const mica_picture_options *options,
                              mica_picture *out) {
    MICA_GIVEN(MICA_MANY(bytes, size), out);
    mica_picture_options usual = {.size = sizeof usual, .dtype = MICA_DTYPE_u8};
    *out = (mica_picture){.size = sizeof *out, .frames = 1, .dtype = MICA_DTYPE_u8};
    if (!options) options = &usual;
    MICA_TRY(check_options(options));
    if (size == 0) return MICA_INVALID("[picture_read] Input is empty.");
    int i = find(bytes, size);
    if (i == FORMATS)
        return MICA_INVALID("[picture_read] Unknown image file format. One of JPEG, PNG, GIF, BMP "
                            "required.");
    mica_status status = formats[i].read((io_bytes){bytes, size}, options, out);
    if (!status) return NULL;
    mica_free(out->pixels);
    out->pixels = NULL;
    return status;
}
