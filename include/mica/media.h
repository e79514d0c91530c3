/* mica/media.h: files of pictures and of sound, from and to arrays in memory.
 *
 * JPEG and PNG are read and written by the libjpeg and libpng of this machine, which are found at
 * run time: among the system's libraries, or those that Pillow's wheel carries. MICA_LIBJPEG and
 * MICA_LIBPNG name others. Where there is none, the answer is UNSUPPORTED and names what to
 * install. GIF, BMP and WAV need no library.
 *
 * A reader takes its bytes for hostile: what is cut off or damaged is INVALID_ARGUMENT, and memory
 * is taken only for pictures of bounded size that so many bytes can hold.
 *
 * @example
 *     float values[4] = {0, 0.5, 0, -0.5};
 *     mica_sound sound = {sizeof sound, 4, 1, 8000, values}, copy = {sizeof copy, 0, 0, 0, NULL};
 *     uint8_t *bytes = NULL;
 *     size_t size = 0;
 *     mica_status status = mica_sound_write(&sound, &bytes, &size);
 *     if (!status) status = mica_sound_read(bytes, size, -1, -1, &copy);
 *     mica_bytes_free((uint8_t *)copy.values);
 *     mica_bytes_free(bytes);
 *     mica_status_release(status);
 * @end
 */
#ifndef MICA_MEDIA_H
#define MICA_MEDIA_H

#include "graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pictures ---------------------------------------------------------------------------------*/

typedef enum mica_picture_format {
    MICA_PICTURE_UNKNOWN,
    MICA_PICTURE_JPEG,
    MICA_PICTURE_PNG,
    MICA_PICTURE_GIF,
    MICA_PICTURE_BMP
} mica_picture_format;

/* By the first bytes. */
MICA_API mica_picture_format mica_picture_format_of(const void *bytes, size_t size);

/* Rows from the top, channels together: pixels[((frame * height + y) * width + x) * channels + c].
 */
typedef struct mica_picture {
    size_t size; /* sizeof(mica_picture) */
    int64_t frames, height, width;
    int32_t channels; /* gray; gray, alpha; red, green, blue; red, green, blue, alpha */
    mica_dtype dtype; /* u8, u16 */
    void *pixels;
} mica_picture;

typedef struct mica_picture_options {
    size_t size;       /* sizeof(mica_picture_options) */
    int32_t channels;  /* 0: those of the file; of a GIF 3 */
    mica_dtype dtype;  /* u16: PNG in 16 bits; everything else is read as u8 */
    bool only_first;   /* the first frame of a GIF */
    int32_t ratio;     /* JPEG: 1, 2, 4 or 8, by which it becomes smaller; 0 is 1 */
    bool is_plain;     /* JPEG: colours are not interpolated where there are fewer of them */
    bool is_accurate;  /* JPEG: the slower and more accurate transform */
    bool recovers;     /* JPEG: what a truncated file has is taken */
    float missing;     /* JPEG: the part of the rows that a file may lack; they are black */
    bool has_window;   /* JPEG: a part, whose */
    int64_t window[4]; /* are top, left, height and width */
} mica_picture_options;

/* Options may be NULL. The caller frees out_picture->pixels by mica_bytes_free. */
MICA_API MICA_MUST_CHECK mica_status mica_picture_read(const void *bytes, size_t size,
                                                       const mica_picture_options *options,
                                                       mica_picture *out_picture);
/* What a JPEG says of itself: height, width, channels; no pixels are read. */
MICA_API MICA_MUST_CHECK mica_status mica_picture_measure(const void *bytes, size_t size,
                                                          mica_picture *out_picture);

/* The file of one frame; compression is 0 to 9, or -1 for the library's choice. mica_bytes_free
 * frees what is written. */
MICA_API MICA_MUST_CHECK mica_status mica_picture_write_png(const mica_picture *picture,
                                                            int32_t compression,
                                                            uint8_t **out_bytes, size_t *out_size);

typedef struct mica_jpeg_options {
    size_t size;          /* sizeof(mica_jpeg_options) */
    int32_t quality;      /* 0 to 100 */
    bool is_progressive;  /* the whole picture first, details later */
    bool is_optimal;      /* takes longer to make it smaller */
    bool has_all_colours; /* as many colours as brightnesses: no sub-sampling */
    bool is_centimetre;   /* densities are per centimetre, not per inch */
    int32_t density_x, density_y;
    const char *metadata; /* of XMP, or NULL */
    size_t metadata_size;
} mica_jpeg_options;

/* The file of one frame of u8 with 1 or 3 channels. */
MICA_API MICA_MUST_CHECK mica_status mica_picture_write_jpeg(const mica_picture *picture,
                                                             const mica_jpeg_options *options,
                                                             uint8_t **out_bytes, size_t *out_size);

/* ---- sound ------------------------------------------------------------------------------------*/

/* Channels together: values[i * channels + c], from -1 to 1. */
typedef struct mica_sound {
    size_t size; /* sizeof(mica_sound) */
    int64_t samples;
    int32_t channels;
    int64_t rate; /* samples a second */
    float *values;
} mica_sound;

/* A WAV file of 16 bits. So many channels and samples are given: the last channel is repeated,
 * zeros follow the last sample; -1: those of the file. The caller frees out_sound->values by
 * mica_bytes_free. */
MICA_API MICA_MUST_CHECK mica_status mica_sound_read(const void *bytes, size_t size,
                                                     int64_t channels, int64_t samples,
                                                     mica_sound *out_sound);
/* As a WAV file of 16 bits; values beyond 1 are 1. */
MICA_API MICA_MUST_CHECK mica_status mica_sound_write(const mica_sound *sound, uint8_t **out_bytes,
                                                      size_t *out_size);

#ifdef __cplusplus
}
#endif
#endif
