/* io/jpeg_layout.h: libjpeg's objects in memory, as far as jpeg.c touches them, on machines of 64
 * bits. The interface has versions: 62, which libjpeg-turbo has at most places, and 80, which
 * Ubuntu builds it with. A library says which one it has, and how large its objects are, when it
 * is asked with wrong numbers (jpeg.c), so that no other is ever used. */
#ifndef MICA_IO_JPEG_LAYOUT_H
#define MICA_IO_JPEG_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

typedef struct jpeg_errors {
    void (*exit)(void *object);
    void (*emit)(void *object, int level);
    void (*output)(void *object);
    void (*format)(void *object, char *buffer); /* at most 200 bytes */
    void (*reset)(void *object);
    int code;
    int numbers[20]; /* of the message; a union with a string of 80 bytes */
    int trace_level;
    long n_warnings;
    const char *const *messages;
    int last_message;
    const char *const *more_messages;
    int first_more, last_more;
} jpeg_errors;

typedef struct jpeg_source {
    const uint8_t *next;
    size_t left;
    void (*begin)(void *object);
    int (*fill)(void *object);
    void (*skip)(void *object, long n);
    int (*resync)(void *object, int marker);
    void (*end)(void *object);
} jpeg_source;

typedef struct jpeg_target {
    uint8_t *next;
    size_t left;
    void (*begin)(void *object);
    int (*empty)(void *object);
    void (*end)(void *object);
} jpeg_target;

/* What both kinds of objects begin with. */
typedef struct jpeg_common {
    jpeg_errors *errors;
    void *memory, *progress, *client;
    int is_reader, state;
} jpeg_common;

typedef struct jpeg_reader {
    jpeg_common common;
    jpeg_source *source;
    unsigned width, height;
    int components;
    int colours, out_colours;
    unsigned scale, scale_divisor;
    double gamma;
    int is_buffered, is_raw;
    int transform;
    int is_fancy, is_smoothed, is_quantized;
    int dither, two_passes, wanted_colours, one_pass_next, other_next, two_passes_next;
    unsigned out_width, out_height;
    int out_colour_components, out_components, best_height;
    int n_colours;
    uint8_t **map;
    unsigned row;
    uint8_t rest[1200];
} jpeg_reader;

typedef struct jpeg_writer {
    jpeg_common common;
    jpeg_target *target;
    unsigned width, height;
    int components;
    int colours;
    double gamma;
    uint8_t rest[1200];
} jpeg_writer;

typedef struct jpeg_component {
    int number, place, across, down; /* the last two: sub-sampling */
} jpeg_component;

enum { JPEG_GRAY = 1, JPEG_RGB = 2, JPEG_CMYK = 4, JPEG_YCCK = 5 };
enum { JPEG_ACCURATE = 0, JPEG_FAST = 1 };

/* Where, in bytes, fields are that versions have at different places. */
typedef struct jpeg_layout {
    int version;
    size_t reader_size, writer_size;
    size_t is_arithmetic, has_adobe;                          /* of a reader: int */
    size_t component, is_optimal, unit, density_x, density_y; /* of a writer */
} jpeg_layout;

static const jpeg_layout jpeg_layouts[] = {
    {62, 632, 520, 316, 384, 88, 264, 294, 296, 298},
    {80, 656, 584, 320, 388, 104, 296, 330, 332, 334},
};

#endif
