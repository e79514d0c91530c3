/* JPEG by libjpeg, which is found at run time: reading. */
#include "io/jpeg.h"

#include <string.h>

#include "io/shared_library.h"

/* ---- the library ------------------------------------------------------------------------------*/

static io_jpeg table;
static const jpeg_layout *layout;

static void leave(void *object) {
    jpeg_common *common = object;
    io_jpeg_errors *errors = (io_jpeg_errors *)common->errors;
    common->errors->format(object, errors->message);
    errors->message[sizeof errors->message - 1] = 0;
    longjmp(errors->place, 1);
}

static void emit(void *object, int level) {
    jpeg_common *common = object;
    if (level < 0) common->errors->n_warnings++;
}

static void say_nothing(void *object) {
    (void)object;
}

void io_jpeg_errors_init(const io_jpeg *jpeg, io_jpeg_errors *e) {
    memset(e, 0, sizeof *e);
    jpeg->std_error(&e->errors);
    e->errors.exit = leave;
    e->errors.emit = emit;
    e->errors.output = say_nothing;
}

/* What the library says to an object of a wrong version, or of a wrong size: its own number, the
 * first of the message. -1: it says nothing. */
static int ask(void (*create)(void *, int, size_t), int version) {
    io_jpeg_errors errors;
    jpeg_reader object;
    memset(&object, 0, sizeof object);
    io_jpeg_errors_init(&table, &errors);
    object.common.errors = &errors.errors;
    if (setjmp(errors.place)) return errors.errors.numbers[0];
    create(&object, version, 1);
    return -1;
}

static bool is_usable(void) {
    int version = ask(table.create_reader, -1);
    for (size_t i = 0; i < sizeof jpeg_layouts / sizeof *jpeg_layouts; i++)
        if (jpeg_layouts[i].version == version) layout = &jpeg_layouts[i];
    return sizeof(void *) == 8 && layout && layout->version == version &&
           (size_t)ask(table.create_reader, version) == layout->reader_size &&
           (size_t)ask(table.create_writer, version) == layout->writer_size;
}

static const char *const names[] = {"libjpeg.so.62",    "libjpeg.so.8",    "libjpeg.so",
                                    "libjpeg.62.dylib", "libjpeg.8.dylib", NULL};
static const char *const symbols[] = {"jpeg_std_error",
                                      "jpeg_CreateDecompress",
                                      "jpeg_destroy",
                                      "jpeg_read_header",
                                      "jpeg_calc_output_dimensions",
                                      "jpeg_start_decompress",
                                      "jpeg_crop_scanline",
                                      "jpeg_skip_scanlines",
                                      "jpeg_read_scanlines",
                                      "jpeg_finish_decompress",
                                      "jpeg_resync_to_restart",
                                      "jpeg_CreateCompress",
                                      "jpeg_set_defaults",
                                      "jpeg_set_quality",
                                      "jpeg_simple_progression",
                                      "jpeg_start_compress",
                                      "jpeg_write_marker",
                                      "jpeg_write_scanlines",
                                      "jpeg_finish_compress",
                                      NULL};
static io_shared_library library = {
    .name = "libjpeg",
    .variable = "MICA_LIBJPEG",
    .purpose = "JPEG pictures need libjpeg-turbo",
    .advice = "pip install pillow, or install libjpeg62-turbo (Debian), libjpeg-turbo8 (Ubuntu)",
    .names = names,
    .package_prefix = "libjpeg",
    .symbols = symbols,
    .is_usable = is_usable,
    .table = &table};

mica_status io_jpeg_find(const io_jpeg **out_jpeg, const jpeg_layout **out_layout) {
    _Static_assert(sizeof(io_jpeg) == sizeof symbols - sizeof(char *), "one pointer per name");
    MICA_TRY(io_shared_library_find(&library));
    *out_jpeg = &table;
    *out_layout = layout;
    return NULL;
}

enum { HEADER_OK = 1, MOST_ENDS = 100000 };

/* ---- bytes ------------------------------------------------------------------------------------*/

typedef struct reading {
    jpeg_reader object;
    jpeg_source source;
    io_jpeg_errors errors;
    const io_jpeg *jpeg;
    const jpeg_layout *layout;
    io_bytes file;
    const mica_picture_options *options;
    mica_picture *out;
    int n_ends;   /* how often an end was put behind a truncated file */
    uint8_t *row; /* four colours of a printer's, or what is above and beside a window */
    mica_status fault;
} reading;

static reading *reading_of(void *object) {
    return (reading *)object; /* its first member */
}

static void nothing(void *object) {
    (void)object;
}

/* A truncated file is followed by ends of pictures, or is read as far as it goes. */
static int fill(void *object) {
    static const uint8_t end[2] = {0xff, 0xd9};
    reading *r = reading_of(object);
    if (!r->options->recovers && r->file.size > 0) return 0;
    if (r->n_ends >= MOST_ENDS || r->file.size == 0) {
        strcpy(r->errors.message, "premature end of the data");
        longjmp(r->errors.place, 1);
    }
    r->n_ends++;
    r->source.next = end;
    r->source.left = sizeof end;
    r->errors.errors.n_warnings++;
    return 1;
}

static void skip(void *object, long n) {
    reading *r = reading_of(object);
    if (n <= 0) return;
    size_t passed = (size_t)n < r->source.left ? (size_t)n : r->source.left;
    r->source.next += passed;
    r->source.left -= passed;
}

/* ---- pixels -----------------------------------------------------------------------------------*/

static int field(const reading *r, size_t offset) {
    int value;
    memcpy(&value, (const uint8_t *)&r->object + offset, sizeof value);
    return value;
}

static mica_status choose(reading *r) {
    jpeg_reader *o = &r->object;
    int32_t channels = r->options->channels;
    if (channels == 0) channels = o->components < 3 ? o->components : 3;
    if (channels != 1 && channels != 3)
        return MICA_INVALID("[jpeg] %d channels are asked for, of a file with %d", channels,
                            o->components);
    bool is_printed = o->colours == JPEG_CMYK || o->colours == JPEG_YCCK;
    o->out_colours = channels == 1 ? JPEG_GRAY : is_printed ? JPEG_CMYK : JPEG_RGB;
    o->is_fancy = !r->options->is_plain;
    o->scale = 1;
    o->scale_divisor = r->options->ratio ? (unsigned)r->options->ratio : 1;
    o->transform = r->options->is_accurate ? JPEG_ACCURATE : JPEG_FAST;
    r->out->channels = channels;
    return NULL;
}

/* A whole file has a bit at least for each block of 64 pixels of its largest component, unless it
 * is coded arithmetically. */
static mica_status check_size(const reading *r) {
    uint64_t pixels = (uint64_t)r->object.width * r->object.height;
    uint64_t most = (uint64_t)r->file.size * 8 * 64;
    if (pixels <= most || r->options->recovers || field(r, r->layout->is_arithmetic)) return NULL;
    return MICA_INVALID("[jpeg] a file of %zu bytes has no picture of %u x %u", r->file.size,
                        r->object.width, r->object.height);
}

static mica_status set_sizes(reading *r, int64_t *window) {
    const jpeg_reader *o = &r->object;
    MICA_TRY(check_size(r));
    int64_t all[4] = {0, 0, o->out_height, o->out_width};
    memcpy(window, r->options->has_window ? r->options->window : all, sizeof all);
    mica_picture whole = *r->out;
    whole.height = o->out_height;
    whole.width = o->out_width;
    if (window[0] < 0 || window[1] < 0 || window[2] < 1 || window[3] < 1 ||
        window[0] > whole.height - window[2] || window[1] > whole.width - window[3])
        return MICA_INVALID(
            "[jpeg] jpeg::Uncompress failed. Invalid JPEG data or crop window: [%lld, %lld, %lld, "
            "%lld] is not within a picture of %u x %u",
            (long long)window[0], (long long)window[1], (long long)window[2], (long long)window[3],
            o->out_height, o->out_width);
    if (whole.height * whole.width * 4 >= IO_MOST_PICTURE_BYTES)
        return MICA_INVALID("[jpeg] a picture of %lld x %lld is too large", (long long)whole.height,
                            (long long)whole.width);
    r->out->height = window[2];
    r->out->width = window[3];
    MICA_TRY(io_picture_allocate(r->out, "jpeg"));
    r->row = mica_calloc((size_t)whole.width, 4);
    return r->row ? NULL : MICA_NO_MEMORY();
}

/* Cyan, magenta, yellow and black, which Adobe's programs store as what is missing of them. */
static void mix(const uint8_t *from, uint8_t *to, int64_t n, bool is_inverted) {
    for (int64_t i = 0; i < n; i++, from += 4, to += 3) {
        int black = is_inverted ? from[3] : 255 - from[3];
        for (int c = 0; c < 3; c++)
            to[c] = (uint8_t)(black * (is_inverted ? from[c] : 255 - from[c]) / 255);
    }
}

static mica_status refuse(const reading *r, const char *what) {
    return MICA_INVALID("[jpeg] jpeg::Uncompress failed. Invalid JPEG data or crop window. (%s; "
                        "size %zu)",
                        what, r->file.size);
}

/* The rows that are not there stay black. */
static mica_status end_early(const reading *r, int64_t rows) {
    float part = rows > 0 ? (float)rows / (float)r->out->height : 0;
    float needed = 1 - r->options->missing;
    return part < (needed < 1 ? needed : 1) ? refuse(r, "premature end of the data") : NULL;
}

static mica_status read_rows(reading *r, const int64_t *window, bool *out_whole) {
    jpeg_reader *o = &r->object;
    bool is_inverted = field(r, r->layout->has_adobe) != 0;
    size_t bytes = (size_t)(window[3] * r->out->channels);
    if (o->out_components != r->out->channels && o->out_colours != JPEG_CMYK)
        return MICA_INVALID("[jpeg] %d channels instead of %d", o->out_components,
                            r->out->channels);
    unsigned start = (unsigned)window[1], width = (unsigned)window[3];
    if (r->options->has_window) {
        r->jpeg->crop(o, &start, &width); /* to whole blocks: more than the window */
        if (r->jpeg->skip_rows(o, (unsigned)window[0]) != (unsigned)window[0])
            return refuse(r, "premature end of the data");
    }
    for (int64_t y = 0; y < window[2]; y++) {
        uint8_t *row = r->row, *to = (uint8_t *)r->out->pixels + (size_t)y * bytes;
        if (r->jpeg->read_rows(o, &row, 1) != 1) return end_early(r, y);
        const uint8_t *from = r->row + (size_t)(window[1] - start) * (size_t)o->out_components;
        if (o->out_colours == JPEG_CMYK)
            mix(from, to, window[3], is_inverted);
        else
            memcpy(to, from, bytes);
    }
    *out_whole = window[0] + window[2] == (int64_t)o->out_height;
    return NULL;
}

static mica_status read_picture(reading *r) {
    int64_t window[4];
    bool is_whole = false;
    MICA_TRY(choose(r));
    r->jpeg->calculate(&r->object);
    MICA_TRY(set_sizes(r, window));
    if (!r->jpeg->start_reader(&r->object)) return refuse(r, "premature end of the data");
    MICA_TRY(read_rows(r, window, &is_whole));
    if (is_whole) r->jpeg->finish_reader(&r->object);
    return NULL;
}

/* Runs `body` with a header that was read; what the library refuses comes back as a status. */
static mica_status read_with(reading *r, mica_status (*body)(reading *r)) {
    MICA_TRY(io_jpeg_find(&r->jpeg, &r->layout));
    io_jpeg_errors_init(r->jpeg, &r->errors);
    r->object.common.errors = &r->errors.errors;
    r->source =
        (jpeg_source){r->file.data, r->file.size, nothing, fill, skip, r->jpeg->resync, nothing};
    if (setjmp(r->errors.place)) {
        r->fault = refuse(r, r->errors.message);
    } else {
        r->jpeg->create_reader(&r->object, r->layout->version, r->layout->reader_size);
        r->object.common.errors = &r->errors.errors;
        r->object.source = &r->source;
        bool is_there = r->jpeg->read_header(&r->object, 1) == HEADER_OK;
        r->fault = is_there ? body(r) : refuse(r, "premature end of the data");
    }
    r->jpeg->destroy(&r->object);
    mica_free(r->row);
    return r->fault;
}

mica_status io_jpeg_read(io_bytes file, const mica_picture_options *options, mica_picture *out) {
    int32_t ratio = options->ratio;
    if (ratio != 0 && ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8)
        return MICA_INVALID("[jpeg] ratio must be 1, 2, 4, or 8, got %d", ratio);
    if (options->channels != 0 && options->channels != 1 && options->channels != 3)
        return MICA_INVALID("[jpeg] JPEG does not support %d channels", options->channels);
    reading *r = mica_calloc(1, sizeof *r);
    if (!r) return MICA_NO_MEMORY();
    r->file = file;
    r->options = options;
    r->out = out;
    mica_status status = read_with(r, read_picture);
    mica_free(r);
    return status;
}

static mica_status measure(reading *r) {
    r->out->height = r->object.height;
    r->out->width = r->object.width;
    r->out->channels = r->object.components;
    return NULL;
}

mica_status mica_picture_measure(const void *bytes, size_t size, mica_picture *out) {
    MICA_GIVEN(MICA_MANY(bytes, size), out);
    mica_picture_options options = {.size = sizeof options};
    *out = (mica_picture){.size = sizeof *out, .frames = 1, .dtype = MICA_DTYPE_u8};
    reading *r = mica_calloc(1, sizeof *r);
    if (!r) return MICA_NO_MEMORY();
    r->file = (io_bytes){bytes, size};
    r->options = &options;
    r->out = out;
    mica_status status = read_with(r, measure);
    mica_free(r);
    return status;
}
