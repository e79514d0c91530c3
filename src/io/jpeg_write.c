/* JPEG by libjpeg: writing. */
#include <string.h>

#include "base/strings.h"
#include "io/jpeg.h"

enum { PIECE = 1 << 16, MOST_MARKER = 65533 };
static const char name_space[] = "http://ns.adobe.com/xap/1.0/"; /* ended with 0 in the file too */

typedef struct writing {
    jpeg_writer object;
    jpeg_target target;
    io_jpeg_errors errors;
    const io_jpeg *jpeg;
    const jpeg_layout *layout;
    const mica_picture *picture;
    const mica_jpeg_options *options;
    uint8_t *marker;
    mica_text bytes;
    uint8_t piece[PIECE];
    mica_status fault;
} writing;

static void begin(void *object) {
    writing *w = object;
    w->target.next = w->piece;
    w->target.left = PIECE;
}

static int empty(void *object) {
    writing *w = object;
    mica_text_append_bytes(&w->bytes, w->piece, PIECE);
    begin(object);
    return 1;
}

static void end(void *object) {
    writing *w = object;
    mica_text_append_bytes(&w->bytes, w->piece, PIECE - w->target.left);
}

static void set(writing *w, size_t offset, const void *value, size_t size) {
    memcpy((uint8_t *)&w->object + offset, value, size);
}

static void set_options(writing *w) {
    const mica_jpeg_options *o = w->options;
    uint8_t unit = o->is_centimetre ? 2 : 1;
    uint16_t density[2] = {(uint16_t)o->density_x, (uint16_t)o->density_y};
    w->jpeg->set_defaults(&w->object);
    if (o->is_optimal) set(w, w->layout->is_optimal, &(int){1}, sizeof(int));
    set(w, w->layout->unit, &unit, sizeof unit);
    set(w, w->layout->density_x, &density[0], sizeof *density);
    set(w, w->layout->density_y, &density[1], sizeof *density);
    w->jpeg->set_quality(&w->object, o->quality, 1);
    if (o->is_progressive) w->jpeg->set_progression(&w->object);
    if (o->has_all_colours) {
        jpeg_component *first;
        memcpy(&first, (uint8_t *)&w->object + w->layout->component, sizeof first);
        first->across = first->down = 1;
    }
}

static void write_rows(writing *w) {
    const mica_picture *p = w->picture;
    size_t bytes = (size_t)(p->width * p->channels);
    w->object.width = (unsigned)p->width;
    w->object.height = (unsigned)p->height;
    w->object.components = p->channels;
    w->object.colours = p->channels == 1 ? JPEG_GRAY : JPEG_RGB;
    set_options(w);
    w->jpeg->start_writer(&w->object, 1);
    if (w->marker)
        w->jpeg->write_marker(&w->object, 0xe1, w->marker,
                              (unsigned)(sizeof name_space + w->options->metadata_size));
    for (int64_t y = 0; y < p->height; y++) {
        uint8_t *row = (uint8_t *)p->pixels + (size_t)y * bytes;
        w->jpeg->write_rows(&w->object, &row, 1);
    }
    w->jpeg->finish_writer(&w->object);
}

static mica_status run(writing *w) {
    MICA_TRY(io_jpeg_find(&w->jpeg, &w->layout));
    io_jpeg_errors_init(w->jpeg, &w->errors);
    w->object.common.errors = &w->errors.errors;
    w->target = (jpeg_target){NULL, 0, begin, empty, end};
    if (setjmp(w->errors.place)) {
        w->fault = MICA_INVALID("[jpeg] the picture cannot be written: %s", w->errors.message);
    } else {
        w->jpeg->create_writer(&w->object, w->layout->version, w->layout->writer_size);
        w->object.common.errors = &w->errors.errors;
        w->object.target = &w->target;
        write_rows(w);
    }
    w->jpeg->destroy(&w->object);
    return w->fault;
}

static mica_status check(const mica_picture *p, const mica_jpeg_options *o) {
    if (p->size < sizeof *p || o->size < sizeof *o)
        return MICA_INVALID("[jpeg] the size of the picture or of the options is not set");
    if (p->dtype != MICA_DTYPE_u8 || (p->channels != 1 && p->channels != 3))
        return MICA_INVALID("[jpeg] pixels must be u8 with 1 or 3 channels, not %d", p->channels);
    if (!p->pixels || p->frames != 1 || p->height < 1 || p->width < 1 || p->height > 65500 ||
        p->width > 65500 || p->height * p->width >= IO_MOST_PICTURE_BYTES)
        return MICA_INVALID(
            "[jpeg] a JPEG file has one picture of 1 to 65500 rows and columns, not "
            "of %lld x %lld",
            (long long)p->height, (long long)p->width);
    if (o->quality < 0 || o->quality > 100)
        return MICA_INVALID("[jpeg] quality must be in [0,100], got %d", o->quality);
    if (o->density_x < 0 || o->density_x > 65535 || o->density_y < 0 || o->density_y > 65535)
        return MICA_INVALID("[jpeg] densities are 0 to 65535, not %d and %d", o->density_x,
                            o->density_y);
    if (o->metadata_size > MOST_MARKER - sizeof name_space || (o->metadata_size && !o->metadata))
        return MICA_INVALID("[jpeg] metadata of %zu bytes are not there, or too long",
                            o->metadata_size);
    return NULL;
}

mica_status mica_picture_write_jpeg(const mica_picture *picture, const mica_jpeg_options *options,
                                    uint8_t **out_bytes, size_t *out_size) {
    MICA_GIVEN(picture, options, out_bytes, out_size);
    *out_bytes = NULL;
    *out_size = 0;
    MICA_TRY(check(picture, options));
    writing *w = mica_calloc(1, sizeof *w);
    if (!w) return MICA_NO_MEMORY();
    w->picture = picture;
    w->options = options;
    mica_text_init(&w->bytes);
    mica_status status = NULL;
    if (options->metadata_size > 0) {
        w->marker = mica_alloc(sizeof name_space + options->metadata_size);
        if (!w->marker) status = MICA_NO_MEMORY();
        if (w->marker) {
            memcpy(w->marker, name_space, sizeof name_space);
            memcpy(w->marker + sizeof name_space, options->metadata, options->metadata_size);
        }
    }
    if (!status) status = run(w);
    size_t size = w->bytes.length;
    char *text = NULL;
    if (!status) status = mica_text_finish(&w->bytes, &text);
    mica_text_deinit(&w->bytes);
    if (!status) {
        *out_bytes = (uint8_t *)text;
        *out_size = size;
    }
    mica_free(w->marker);
    mica_free(w);
    return status;
}
