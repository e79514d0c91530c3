/* PNG by libpng, which is found at run time. libpng reports errors by a function that does not
 * return: it jumps back to the place where reading or writing began. */
#include <setjmp.h>
#include <string.h>

#include "base/strings.h"
#include "io/pictures.h"
#include "io/shared_library.h"

/* ---- the library ------------------------------------------------------------------------------*/

typedef void (*say)(void *png, const char *message);

typedef struct libpng {
    const char *(*version)(const void *png);
    void *(*create_reader)(const char *version, void *context, say error, say warning);
    void *(*create_writer)(const char *version, void *context, say error, say warning);
    void *(*create_info)(void *png);
    void (*destroy_reader)(void **png, void **info, void **end_info);
    void (*destroy_writer)(void **png, void **info);
    void *(*error_context)(const void *png);
    void *(*context)(const void *png);
    void (*set_source)(void *png, void *context, void (*read)(void *png, uint8_t *to, size_t n));
    void (*set_target)(void *png, void *context, void (*write)(void *png, uint8_t *from, size_t n),
                       void (*flush)(void *png));
    void (*read_info)(void *png, void *info);
    uint32_t (*header)(const void *png, const void *info, uint32_t *width, uint32_t *height,
                       int *depth, int *colours, int *interlaces, int *compression, int *filter);
    uint32_t (*has)(const void *png, const void *info, uint32_t flag);
    uint8_t (*channels)(const void *png, const void *info);
    void (*strip_alpha)(void *png);
    void (*transparency_to_alpha)(void *png);
    void (*add_alpha)(void *png, uint32_t filler, int after);
    void (*strip_16)(void *png);
    void (*swap)(void *png);
    void (*pack)(void *png);
    void (*palette_to_rgb)(void *png);
    void (*expand_gray)(void *png);
    void (*rgb_to_gray)(void *png, int on_error, int32_t red, int32_t green);
    void (*gray_to_rgb)(void *png);
    int (*interlace)(void *png);
    void (*update_info)(void *png, void *info);
    size_t (*row_bytes)(const void *png, const void *info);
    void (*read_row)(void *png, uint8_t *row, uint8_t *display);
    void (*read_end)(void *png, void *info);
    void (*set_header)(void *png, void *info, uint32_t width, uint32_t height, int depth,
                       int colours, int interlaces, int compression, int filter);
    void (*set_level)(void *png, int level);
    void (*write_info)(void *png, const void *info);
    void (*write_row)(void *png, const uint8_t *row);
    void (*write_end)(void *png, void *info);
} libpng;

static const char *const names[] = {"libpng16.so.16", "libpng16.so", "libpng16.16.dylib", NULL};
static const char *const symbols[] = {"png_get_libpng_ver",
                                      "png_create_read_struct",
                                      "png_create_write_struct",
                                      "png_create_info_struct",
                                      "png_destroy_read_struct",
                                      "png_destroy_write_struct",
                                      "png_get_error_ptr",
                                      "png_get_io_ptr",
                                      "png_set_read_fn",
                                      "png_set_write_fn",
                                      "png_read_info",
                                      "png_get_IHDR",
                                      "png_get_valid",
                                      "png_get_channels",
                                      "png_set_strip_alpha",
                                      "png_set_tRNS_to_alpha",
                                      "png_set_add_alpha",
                                      "png_set_strip_16",
                                      "png_set_swap",
                                      "png_set_packing",
                                      "png_set_palette_to_rgb",
                                      "png_set_expand_gray_1_2_4_to_8",
                                      "png_set_rgb_to_gray_fixed",
                                      "png_set_gray_to_rgb",
                                      "png_set_interlace_handling",
                                      "png_read_update_info",
                                      "png_get_rowbytes",
                                      "png_read_row",
                                      "png_read_end",
                                      "png_set_IHDR",
                                      "png_set_compression_level",
                                      "png_write_info",
                                      "png_write_row",
                                      "png_write_end",
                                      NULL};
_Static_assert(sizeof(libpng) == sizeof symbols - sizeof(char *), "one pointer per name");
static libpng table;
static io_shared_library library = {.name = "libpng",
                                    .variable = "MICA_LIBPNG",
                                    .purpose = "PNG pictures need libpng",
                                    .advice = "pip install pillow, or install libpng16-16 (Debian)",
                                    .names = names,
                                    .package_prefix = "libpng16",
                                    .symbols = symbols,
                                    .table = &table};

enum { PALETTE = 1, COLOURED = 2, ALPHA = 4, TRANSPARENCY = 0x10, AFTER = 1, SILENTLY = 1 };
/* Parts of 100,000 of red and of green in gray; the rest is blue. */
enum { RED = 29900, GREEN = 58700 };

typedef struct job {
    jmp_buf place;
    char message[200];
    void *png, *info;
    io_bytes file; /* read: what is left */
    const mica_picture_options *options;
    mica_picture *out;
    const mica_picture *picture; /* written */
    int32_t level;
    mica_text bytes;
    mica_status fault;
} job;

static void leave(void *png, const char *message) {
    job *j = table.error_context(png);
    size_t n = 0;
    while (message && message[n] && n < sizeof j->message - 1) n++;
    if (n > 0) memcpy(j->message, message, n);
    j->message[n] = 0;
    longjmp(j->place, 1);
}

static void ignore(void *png, const char *message) {
    (void)png;
    (void)message;
}

/* ---- reading ----------------------------------------------------------------------------------*/

static void take(void *png, uint8_t *to, size_t n) {
    job *j = table.context(png);
    if (n > j->file.size) leave(png, "the data end early");
    memcpy(to, j->file.data, n);
    j->file.data += n;
    j->file.size -= n;
}

typedef struct header {
    uint32_t width, height;
    int depth, colours, passes;
    bool is_wide; /* 16 bits are asked for */
} header;

/* zlib makes at most 1,032 bytes of one. */
static mica_status check_size(const job *j, const header *h) {
    uint64_t row = ((uint64_t)h->width * (uint64_t)h->depth + 7) / 8;
    if (row * h->height <= (uint64_t)j->file.size * 1032) return NULL;
    return MICA_INVALID("[png] Invalid PNG data: %zu bytes have no picture of %u x %u",
                        j->file.size, h->width, h->height);
}

/* The channels that are asked for, of what the file has. */
static void transform(job *j, header *h) {
    bool has_alpha = h->colours & ALPHA, is_gray = !(h->colours & COLOURED);
    bool has_transparency = table.has(j->png, j->info, TRANSPARENCY) != 0;
    bool is_palette = h->colours == (PALETTE | COLOURED);
    int32_t channels = j->options->channels;
    if (channels == 0)
        channels = is_palette ? 3 + has_transparency : table.channels(j->png, j->info);
    j->out->channels = channels;
    if (channels % 2 == 0) {
        if (has_transparency && !has_alpha)
            table.transparency_to_alpha(j->png);
        else if (!has_alpha)
            table.add_alpha(j->png, (UINT32_C(1) << h->depth) - 1, AFTER);
    } else if (has_alpha || has_transparency) {
        table.strip_alpha(j->png);
    }
    if (h->depth > 8 && !h->is_wide) table.strip_16(j->png);
    table.pack(j->png);
    h->passes = table.interlace(j->png);
    if (h->depth > 8 && h->is_wide && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) table.swap(j->png);
    if (is_palette) table.palette_to_rgb(j->png);
    if (is_gray && h->depth < 8) table.expand_gray(j->png);
    if (channels < 3 && !is_gray) table.rgb_to_gray(j->png, SILENTLY, RED, GREEN);
    if (channels >= 3 && is_gray) table.gray_to_rgb(j->png);
    table.update_info(j->png, j->info);
}

/* Bytes, which stand at the beginning of their row, as 16 bits each. */
static void widen(uint8_t *row, size_t n) {
    for (size_t i = n; i-- > 0;) row[2 * i] = row[2 * i + 1] = row[i];
}

static mica_status read_rows(job *j, const header *h) {
    size_t n = (size_t)j->out->width * (size_t)j->out->channels;
    size_t in_file = table.row_bytes(j->png, j->info),
           wanted = h->is_wide && h->depth > 8 ? 2 * n : n;
    if (in_file != wanted)
        return MICA_INVALID("[png] rows have %zu bytes instead of %zu", in_file, wanted);
    size_t step = h->is_wide ? 2 * n : n;
    for (int pass = 0; pass < h->passes; pass++)
        for (int64_t y = 0; y < j->out->height; y++)
            table.read_row(j->png, (uint8_t *)j->out->pixels + (size_t)y * step, NULL);
    for (int64_t y = 0; h->is_wide && h->depth <= 8 && y < j->out->height; y++)
        widen((uint8_t *)j->out->pixels + (size_t)y * step, n);
    table.read_end(j->png, j->info);
    return NULL;
}

static mica_status read_picture(job *j) {
    header h = {.is_wide = j->options->dtype == MICA_DTYPE_u16};
    table.set_source(j->png, j, take);
    size_t whole = j->file.size;
    table.read_info(j->png, j->info);
    table.header(j->png, j->info, &h.width, &h.height, &h.depth, &h.colours, NULL, NULL, NULL);
    io_bytes left = j->file;
    j->file.size = whole; /* of which the bound is taken: chunks with pixels may have begun */
    mica_status status = check_size(j, &h);
    j->file = left;
    if (status) return status;
    transform(j, &h);
    j->out->width = h.width;
    j->out->height = h.height;
    j->out->dtype = j->options->dtype;
    MICA_TRY(io_picture_allocate(j->out, "png"));
    return read_rows(j, &h);
}

/* Runs `body`; what libpng refuses comes back as a status. */
static mica_status guard(job *j, mica_status (*body)(job *j)) {
    if (setjmp(j->place))
        j->fault = MICA_INVALID("[png] Invalid PNG data: %s", j->message);
    else
        j->fault = body(j);
    return j->fault;
}

static mica_status make_reader(job *j) {
    j->png = table.create_reader(table.version(NULL), j, leave, ignore);
    if (j->png) j->info = table.create_info(j->png);
    return j->info ? NULL : MICA_NO_MEMORY();
}

mica_status io_png_read(io_bytes file, const mica_picture_options *options, mica_picture *out) {
    MICA_TRY(io_shared_library_find(&library));
    job *j = mica_calloc(1, sizeof *j);
    if (!j) return MICA_NO_MEMORY();
    j->file = file;
    j->options = options;
    j->out = out;
    mica_status status = guard(j, make_reader);
    if (!status) status = guard(j, read_picture);
    if (j->png) table.destroy_reader(&j->png, &j->info, NULL);
    mica_free(j);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------*/

static void give(void *png, uint8_t *from, size_t n) {
    job *j = table.context(png);
    mica_text_append_bytes(&j->bytes, from, n);
}

static void flush(void *png) {
    (void)png;
}

static mica_status write_picture(job *j) {
    static const int colours[] = {0, 0, ALPHA, COLOURED, COLOURED | ALPHA};
    const mica_picture *p = j->picture;
    int depth = (int)(8 * mica_dtype_bytes(p->dtype));
    size_t row = (size_t)(p->width * p->channels) * mica_dtype_bytes(p->dtype);
    table.set_target(j->png, j, give, flush);
    table.set_header(j->png, j->info, (uint32_t)p->width, (uint32_t)p->height, depth,
                     colours[p->channels], 0, 0, 0);
    table.set_level(j->png, j->level);
    table.write_info(j->png, j->info);
    if (depth > 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) table.swap(j->png);
    for (int64_t y = 0; y < p->height; y++)
        table.write_row(j->png, (const uint8_t *)p->pixels + (size_t)y * row);
    table.write_end(j->png, j->info);
    return NULL;
}

static mica_status make_writer(job *j) {
    j->png = table.create_writer(table.version(NULL), j, leave, ignore);
    if (j->png) j->info = table.create_info(j->png);
    return j->info ? NULL : MICA_NO_MEMORY();
}

static mica_status check(const mica_picture *p, int32_t compression) {
    int64_t most = IO_MOST_PICTURE_BYTES, side = 1000000;
    if (p->size < sizeof *p) return MICA_INVALID("[png] the size of the picture is not set");
    if (p->dtype != MICA_DTYPE_u8 && p->dtype != MICA_DTYPE_u16)
        return MICA_INVALID("[png] pixels must be u8 or u16");
    if (p->channels < 1 || p->channels > 4)
        return MICA_INVALID("[png] a PNG file has 1 to 4 channels, not %d", p->channels);
    if (!p->pixels || p->frames != 1 || p->height < 1 || p->width < 1 || p->height > side ||
        p->width > side || p->height * p->width >= most)
        return MICA_INVALID(
            "[png] a PNG file has one picture of 1 to 1000000 rows and columns, not "
            "of %lld x %lld",
            (long long)p->height, (long long)p->width);
    if (compression < -1 || compression > 9)
        return MICA_INVALID("[png] compression should be in [-1,9], got %d", compression);
    return NULL;
}

mica_status mica_picture_write_png(const mica_picture *picture, int32_t compression,
                                   uint8_t **out_bytes, size_t *out_size) {
    MICA_GIVEN(picture, out_bytes, out_size);
    *out_bytes = NULL;
    *out_size = 0;
    MICA_TRY(check(picture, compression));
    MICA_TRY(io_shared_library_find(&library));
    job *j = mica_calloc(1, sizeof *j);
    if (!j) return MICA_NO_MEMORY();
    j->picture = picture;
    j->level = compression;
    mica_text_init(&j->bytes);
    mica_status status = guard(j, make_writer);
    if (!status) status = guard(j, write_picture);
    if (j->png) table.destroy_writer(&j->png, &j->info);
    size_t size = j->bytes.length;
    char *text = NULL;
    if (!status) status = mica_text_finish(&j->bytes, &text);
    mica_text_deinit(&j->bytes);
    mica_free(j);
    *out_bytes = (uint8_t *)text;
    *out_size = text ? size : 0;
    return status;
}
