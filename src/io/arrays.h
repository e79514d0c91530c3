/* io/arrays.h: what the formats of named arrays share. */
#ifndef MICA_IO_ARRAYS_H
#define MICA_IO_ARRAYS_H

#include "base/arena.h"
#include "base/platform.h"
#include "io/wire.h"
#include "mica/arrays.h"

struct mica_arrays {
    mica_arena arena; /* names, and data that the file does not have as it is needed */
    char *path;
    uint8_t *bytes; /* the file */
    size_t size;
    mica_array *items;
    int64_t n, capacity;
    int64_t *by_name; /* numbers of items in the order of their names */
};

/* DATA_LOSS, "[format] path: why". */
MICA_MUST_CHECK mica_status io_arrays_damaged(const mica_arrays *arrays, const char *format,
                                              const char *why);
/* One more array, whose name is copied and whose data stays where it is: it is in the file or in
 * the arena. */
MICA_MUST_CHECK mica_status io_arrays_add(mica_arrays *arrays, io_range name, const mica_type *type,
                                          const void *data);

MICA_MUST_CHECK mica_status io_safetensors_read(mica_arrays *arrays);
MICA_MUST_CHECK mica_status io_safetensors_write(mica_file *file, const mica_array *arrays,
                                                 int64_t n);
/* One .npy file that stands in `file`. */
MICA_MUST_CHECK mica_status io_npy_read(mica_arrays *arrays, io_range name, io_range file);
/* What stands before the data. */
MICA_MUST_CHECK mica_status io_npy_put_header(mica_text *to, const mica_array *array);
MICA_MUST_CHECK mica_status io_npz_read(mica_arrays *arrays);
MICA_MUST_CHECK mica_status io_npz_write(mica_file *file, const mica_array *arrays, int64_t n);

#endif
