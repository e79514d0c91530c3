/* io/jpeg.h: libjpeg, as jpeg.c finds it. */
#ifndef MICA_IO_JPEG_H
#define MICA_IO_JPEG_H

#include <setjmp.h>

#include "io/jpeg_layout.h"
#include "io/pictures.h"

typedef struct io_jpeg {
    jpeg_errors *(*std_error)(jpeg_errors *errors);
    void (*create_reader)(void *object, int version, size_t size);
    void (*destroy)(void *object);
    int (*read_header)(void *object, int needs_picture);
    void (*calculate)(void *object);
    int (*start_reader)(void *object);
    void (*crop)(void *object, unsigned *left, unsigned *width);
    unsigned (*skip_rows)(void *object, unsigned n);
    unsigned (*read_rows)(void *object, uint8_t **rows, unsigned n);
    int (*finish_reader)(void *object);
    int (*resync)(void *object, int marker);
    void (*create_writer)(void *object, int version, size_t size);
    void (*set_defaults)(void *object);
    void (*set_quality)(void *object, int quality, int is_baseline);
    void (*set_progression)(void *object);
    void (*start_writer)(void *object, int has_tables);
    void (*write_marker)(void *object, int marker, const uint8_t *data, unsigned size);
    unsigned (*write_rows)(void *object, uint8_t **rows, unsigned n);
    void (*finish_writer)(void *object);
} io_jpeg;

/* Its functions and the layout of its objects. */
MICA_MUST_CHECK mica_status io_jpeg_find(const io_jpeg **out_jpeg, const jpeg_layout **out_layout);

/* Errors end in a jump to `place`, with the message written; warnings and traces are counted. */
typedef struct io_jpeg_errors {
    jpeg_errors errors; /* first: a pointer to it is one to all */
    jmp_buf place;
    char message[208];
} io_jpeg_errors;

void io_jpeg_errors_init(const io_jpeg *jpeg, io_jpeg_errors *errors);

#endif
