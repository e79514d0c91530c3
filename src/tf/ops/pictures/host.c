/* Host functions of files of pictures and of sound. */
#include <string.h>

#include "mica/media.h"
#include "tf/strings.h"

static const mica_tf_attr *attr_of(const mica_tf_host *c, const char *name) {
    for (int32_t i = 0; i < c->info->n_attrs; i++)
        if (!strcmp(c->info->attrs[i].name, name)) return &c->attrs[i];
    return NULL;
}

static int64_t int_or(const mica_tf_host *c, const char *name, int64_t otherwise) {
    const mica_tf_attr *attr = attr_of(c, name);
    return attr ? attr->as.integer : otherwise;
}

/* ---- pictures that are read -------------------------------------------------------------------*/

typedef struct decoding {
    mica_picture_format format;
    bool is_gif_op, is_bmp_op, is_image_op, has_window;
    int64_t channels;
} decoding;

static mica_status check_format(const mica_tf_host *c, const decoding *d) {
    static const char *const names[] = {"", "JPEG", "PNG", "GIF", "BMP"};
    static const char *const functions[] = {"", "decode_jpeg", "decode_png", "decode_gif",
                                            "decode_bmp"};
    const char *op = c->info->name, *name = names[d->format];
    if (d->format == MICA_PICTURE_JPEG && d->channels == 4)
        return MICA_INVALID("[%s] JPEG does not support 4 channels", op);
    if (d->format == MICA_PICTURE_GIF && d->channels != 0 && d->channels != 3)
        return MICA_INVALID("[%s] channels must be 0 or 3 for GIF, got %lld", op,
                            (long long)d->channels);
    if (d->format == MICA_PICTURE_BMP && d->channels == 1)
        return MICA_INVALID("[%s] `channels` must be 0, 3 or 4 for BMP, but got 1", op);
    if (d->is_bmp_op && d->format != MICA_PICTURE_BMP)
        return MICA_INVALID("[%s] Trying to decode %s format using DecodeBmp op. Use `%s` or "
                            "`decode_image` instead.",
                            op, name, functions[d->format]);
    if (d->has_window && d->format != MICA_PICTURE_JPEG)
        return MICA_INVALID("[%s] DecodeAndCropJpeg operation can run on JPEG only, but detected "
                            "%s.",
                            op, name);
    if (d->format == MICA_PICTURE_BMP && !d->is_bmp_op && !d->is_image_op)
        return MICA_INVALID("[%s] Trying to decode BMP format using a wrong op. Use `decode_bmp` "
                            "or `decode_image` instead. Op used: %s",
                            op, op);
    return NULL;
}

static mica_status read_jpeg_options(const mica_tf_host *c, mica_picture_options *o) {
    const mica_tf_attr *method = attr_of(c, "dct_method"),
                       *part = attr_of(c, "acceptable_fraction");
    const char *text = method && method->as.string ? method->as.string : "";
    if (strcmp(text, "") && strcmp(text, "INTEGER_FAST") && strcmp(text, "INTEGER_ACCURATE"))
        return MICA_INVALID("[%s] dct_method must be one of {'', 'INTEGER_FAST', "
                            "'INTEGER_ACCURATE'}",
                            c->info->name);
    int64_t ratio = int_or(c, "ratio", 1);
    if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8)
        return MICA_INVALID("[%s] ratio must be 1, 2, 4, or 8, got %lld", c->info->name,
                            (long long)ratio);
    o->ratio = (int32_t)ratio;
    o->is_accurate = !strcmp(text, "INTEGER_ACCURATE");
    o->is_plain = !int_or(c, "fancy_upscaling", 1);
    o->recovers = int_or(c, "try_recover_truncated", 0) != 0;
    o->missing = part ? (float)(1 - part->as.real) : 0;
    if (c->n_inputs < 2) return NULL;
    int32_t n;
    o->has_window = true;
    return mica_tf_tensor_ints(mica_tf_tensor(c->inputs[1]), o->window, 4, &n);
}

static mica_status read_options(const mica_tf_host *c, const char *bytes, size_t n, decoding *d,
                                mica_picture_options *o) {
    *d = (decoding){.format = mica_picture_format_of(bytes, n),
                    .is_gif_op = !strcmp(c->info->name, "DecodeGif"),
                    .is_bmp_op = !strcmp(c->info->name, "DecodeBmp"),
                    .is_image_op = !strcmp(c->info->name, "DecodeImage"),
                    .has_window = c->n_inputs > 1};
    d->channels = int_or(c, "channels", d->is_gif_op ? 3 : 0);
    if (d->channels != 0 && d->channels != 1 && d->channels != 3 && d->channels != 4)
        return MICA_INVALID("[%s] `channels` must be 0, 1, 3 or 4 but got %lld", c->info->name,
                            (long long)d->channels);
    *o = (mica_picture_options){.size = sizeof *o, .channels = (int32_t)d->channels};
    MICA_TRY(read_jpeg_options(c, o));
    if (d->format != MICA_PICTURE_UNKNOWN) MICA_TRY(check_format(c, d));
    bool is_wide = c->output_dtypes[0] != MICA_TF_uint8 && d->format == MICA_PICTURE_PNG;
    o->dtype = is_wide ? MICA_DTYPE_u16 : MICA_DTYPE_u8;
    o->only_first = d->is_image_op && !int_or(c, "expand_animations", 1);
    return NULL;
}

/* As TensorFlow converts: bytes become 16 bits by a factor of 256, floats are parts of the largest
 * number. */
static mica_status give_converted(mica_tf_host *c, const mica_picture *p, mica_ints dims) {
    mica_tf_dtype wanted = c->output_dtypes[0];
    int64_t n = p->frames * p->height * p->width * p->channels;
    if (mica_tf_dtype_core(wanted) == p->dtype)
        return mica_tf_give_numbers(c, 0, p->dtype, dims, p->pixels);
    const uint8_t *bytes = p->pixels;
    const uint16_t *pairs = p->pixels;
    bool is_float = wanted == MICA_TF_float32, is_wide = p->dtype == MICA_DTYPE_u16;
    void *room = mica_alloc((size_t)n * (is_float ? sizeof(float) : sizeof(uint16_t)) + 1);
    if (!room) return MICA_NO_MEMORY();
    float scale = 1.0f / (is_wide ? 65535.0f : 255.0f);
    for (int64_t i = 0; i < n; i++) {
        if (is_float)
            ((float *)room)[i] = (float)(is_wide ? pairs[i] : bytes[i]) * scale;
        else
            ((uint16_t *)room)[i] = (uint16_t)(bytes[i] * 256);
    }
    mica_status status = mica_tf_give_numbers(c, 0, mica_tf_dtype_core(wanted), dims, room);
    mica_free(room);
    return status;
}

static mica_status give_picture(mica_tf_host *c, const decoding *d, const mica_picture *p,
                                bool only_first) {
    bool has_frames = d->is_gif_op || (d->is_image_op && d->format == MICA_PICTURE_GIF);
    if (has_frames && !only_first)
        return give_converted(c, p, MICA_INTS(p->frames, p->height, p->width, p->channels));
    if (p->frames != 1)
        return MICA_INVALID("[%s] Got %lld frames, but animated gifs can only be decoded by "
                            "tf.io.decode_gif or tf.io.decode_image",
                            c->info->name, (long long)p->frames);
    return give_converted(c, p, MICA_INTS(p->height, p->width, p->channels));
}

mica_status tf_host_decode_picture(mica_tf_host *c) {
    const char *bytes;
    size_t n;
    decoding d;
    mica_picture_options options;
    mica_picture picture;
    MICA_TRY(mica_tf_text_input(c, 0, &bytes, &n));
    MICA_TRY(read_options(c, bytes, n, &d, &options));
    MICA_TRY(mica_picture_read(bytes, n, &options, &picture));
    mica_status status = give_picture(c, &d, &picture, options.only_first);
    mica_bytes_free(picture.pixels);
    return status;
}

mica_status tf_host_jpeg_shape(mica_tf_host *c) {
    const char *bytes;
    size_t n;
    mica_picture p;
    MICA_TRY(mica_tf_text_input(c, 0, &bytes, &n));
    if (mica_picture_format_of(bytes, n) != MICA_PICTURE_JPEG)
        return MICA_INVALID("[ExtractJpegShape] Invalid JPEG data, size %zu", n);
    MICA_TRY(mica_picture_measure(bytes, n, &p));
    int64_t wide[3] = {p.height, p.width, p.channels};
    int32_t narrow[3] = {(int32_t)p.height, (int32_t)p.width, p.channels};
    bool is_wide = c->output_dtypes[0] == MICA_TF_int64;
    return mica_tf_give_numbers(c, 0, is_wide ? MICA_DTYPE_i64 : MICA_DTYPE_i32, MICA_INTS(3),
                                is_wide ? (const void *)wide : (const void *)narrow);
}

/* ---- pictures that are written ----------------------------------------------------------------*/

static mica_status check_channels(const mica_tf_host *c, const mica_tf_shape *shape, bool is_png) {
    int64_t n = shape->dims[shape->rank - 1];
    if (is_png ? n >= 1 && n <= 4 : n == 1 || n == 3) return NULL;
    return MICA_INVALID("[%s] image must have %s channels, got %s", c->info->name,
                        is_png ? "1, 2, 3, or 4" : "1 or 3", mica_tf_shape_text(shape).chars);
}

/* One picture of a tensor: its last three axes. */
static mica_picture picture_of(const mica_tf_shape *shape, const void *data, mica_dtype dtype) {
    const int64_t *dims = &shape->dims[shape->rank - 3];
    return (mica_picture){.size = sizeof(mica_picture),
                          .frames = 1,
                          .height = dims[0],
                          .width = dims[1],
                          .channels = (int32_t)dims[2],
                          .dtype = dtype,
                          .pixels = (void *)(uintptr_t)data};
}

typedef struct files {
    int64_t n;
    uint8_t **bytes;
    size_t *sizes;
} files;

static void files_deinit(files *f) {
    for (int64_t i = 0; f->bytes && i < f->n; i++) mica_bytes_free(f->bytes[i]);
    mica_free(f->bytes);
    mica_free(f->sizes);
}

static mica_status write_pngs(const mica_tf_host *c, files *f, const mica_tf_shape *shape,
                              const uint8_t *data) {
    int64_t level = mica_tf_host_attr(c, "compression")->as.integer;
    if (level < -1 || level > 9)
        return MICA_INVALID("[EncodePng] compression should be in [-1,9], got %lld",
                            (long long)level);
    mica_picture p = picture_of(shape, data, mica_tf_dtype_core(c->inputs[0].dtype));
    size_t step = (size_t)(p.height * p.width * p.channels) * mica_dtype_bytes(p.dtype);
    for (int64_t i = 0; i < f->n; i++) {
        p.pixels = (void *)(uintptr_t)(data + (size_t)i * step);
        MICA_TRY(mica_picture_write_png(&p, (int32_t)level, &f->bytes[i], &f->sizes[i]));
    }
    return NULL;
}

mica_status tf_host_encode_png(mica_tf_host *c) {
    mica_tf_shape shape;
    mica_tf_value_shape(c->inputs[0], &shape);
    MICA_TRY(check_channels(c, &shape, true));
    files f = {.n = 1};
    for (int32_t i = 0; i < shape.rank - 3; i++) f.n *= shape.dims[i];
    f.bytes = mica_calloc((size_t)f.n + 1, sizeof *f.bytes);
    f.sizes = mica_calloc((size_t)f.n + 1, sizeof *f.sizes);
    const void *data;
    mica_status status = f.bytes && f.sizes ? NULL : MICA_NO_MEMORY();
    if (!status) status = mica_tf_open(c->inputs[0], &data);
    if (!status) {
        status = write_pngs(c, &f, &shape, data);
        mica_tf_close(c->inputs[0]);
    }
    if (!status)
        status = mica_tf_strings_create((mica_ints){shape.dims, shape.rank - 3},
                                        (const char *const *)f.bytes, f.sizes, &c->outputs[0]);
    files_deinit(&f);
    return status;
}

static mica_status read_quality(const mica_tf_host *c, mica_jpeg_options *o) {
    int64_t quality = int_or(c, "quality", 95);
    if (c->n_inputs > 1) MICA_TRY(mica_tf_int_input(c, 1, &quality));
    if (quality < 0 || quality > 100)
        return MICA_INVALID("[%s] quality must be in [0,100], got %lld", c->info->name,
                            (long long)quality);
    o->quality = (int32_t)quality;
    return NULL;
}

static mica_status read_jpeg_writing(const mica_tf_host *c, int64_t channels,
                                     mica_jpeg_options *o) {
    const mica_tf_attr *format = attr_of(c, "format"), *unit = attr_of(c, "density_unit");
    const mica_tf_attr *metadata = attr_of(c, "xmp_metadata");
    const char *text = format && format->as.string ? format->as.string : "";
    int64_t wanted = !strcmp(text, "grayscale") ? 1 : !strcmp(text, "rgb") ? 3 : channels;
    if (wanted != channels)
        return MICA_INVALID("[%s] format %s expects %lld channels, got %lld", c->info->name, text,
                            (long long)wanted, (long long)channels);
    o->is_progressive = int_or(c, "progressive", 0) != 0;
    o->is_optimal = int_or(c, "optimize_size", 0) != 0;
    o->has_all_colours = !int_or(c, "chroma_downsampling", 1);
    o->is_centimetre = unit && !strcmp(unit->as.string, "cm");
    o->density_x = (int32_t)(int_or(c, "x_density", 300) & 0xffff); /* as the file has room for */
    o->density_y = (int32_t)(int_or(c, "y_density", 300) & 0xffff);
    o->metadata = metadata ? metadata->as.string : NULL;
    o->metadata_size = o->metadata ? strlen(o->metadata) : 0;
    return read_quality(c, o);
}

static mica_status give_file(mica_tf_host *c, uint8_t *bytes, size_t n) {
    const char *text = (const char *)bytes;
    mica_status status = mica_tf_strings_create(MICA_NO_INTS, &text, &n, &c->outputs[0]);
    mica_bytes_free(bytes);
    return status;
}

mica_status tf_host_encode_jpeg(mica_tf_host *c) {
    mica_tf_shape shape;
    mica_jpeg_options options = {.size = sizeof options};
    const void *data;
    uint8_t *bytes;
    size_t n;
    mica_tf_value_shape(c->inputs[0], &shape);
    MICA_TRY(check_channels(c, &shape, false));
    MICA_TRY(read_jpeg_writing(c, shape.dims[2], &options));
    MICA_TRY(mica_tf_open(c->inputs[0], &data));
    mica_picture p = picture_of(&shape, data, MICA_DTYPE_u8);
    mica_status status = mica_picture_write_jpeg(&p, &options, &bytes, &n);
    mica_tf_close(c->inputs[0]);
    return status ? status : give_file(c, bytes, n);
}

/* ---- sound ------------------------------------------------------------------------------------*/

mica_status tf_host_decode_wav(mica_tf_host *c) {
    const char *bytes;
    size_t n;
    mica_sound sound;
    int64_t channels = mica_tf_host_attr(c, "desired_channels")->as.integer;
    int64_t samples = mica_tf_host_attr(c, "desired_samples")->as.integer;
    MICA_TRY(mica_tf_text_input(c, 0, &bytes, &n));
    MICA_TRY(mica_sound_read(bytes, n, channels, samples, &sound));
    int32_t rate = (int32_t)sound.rate;
    mica_status status = mica_tf_give_numbers(
        c, 0, MICA_DTYPE_f32, MICA_INTS(sound.samples, sound.channels), sound.values);
    if (!status) status = mica_tf_give_numbers(c, 1, MICA_DTYPE_i32, MICA_NO_INTS, &rate);
    mica_bytes_free((uint8_t *)sound.values);
    return status;
}

mica_status tf_host_encode_wav(mica_tf_host *c) {
    mica_tf_shape shape;
    int64_t rate;
    const void *data;
    uint8_t *bytes;
    size_t n;
    mica_tf_value_shape(c->inputs[0], &shape);
    MICA_TRY(mica_tf_int_input(c, 1, &rate));
    if (shape.dims[1] < 1 || shape.dims[1] > INT16_MAX)
        return MICA_INVALID("[EncodeWav] the number of channels must be from 1 to 32767, not %lld",
                            (long long)shape.dims[1]);
    if (rate < 1)
        return MICA_INVALID("[EncodeWav] sample_rate must be in (0, 2^32), got: %lld",
                            (long long)rate);
    MICA_TRY(mica_tf_open(c->inputs[0], &data));
    mica_sound sound = {.size = sizeof sound,
                        .samples = shape.dims[0],
                        .channels = (int32_t)shape.dims[1],
                        .rate = rate,
                        .values = (float *)(uintptr_t)data};
    mica_status status = mica_sound_write(&sound, &bytes, &n);
    mica_tf_close(c->inputs[0]);
    return status ? status : give_file(c, bytes, n);
}
