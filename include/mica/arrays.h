/* mica/arrays.h: named arrays in one file: safetensors, numpy's .npy and .npz.
 *
 * Opening reads the whole file and tells its format by its first bytes. The arrays are in the order
 * of the file, row-major, in this machine's byte order; an .npy file has one, with the name "".
 * Readers take their file for hostile: what is cut off, overlaps or claims more than there is, is
 * MICA_DATA_LOSS with the path, and memory is bounded by the size of the file (compressed parts of
 * .npz: by 1,032 times that, which is what their format allows). What has a dtype that Mica lacks
 * is MICA_UNSUPPORTED. Saving takes the place of an old file in one step, once all is on the disk.
 *
 * @example
 *     float weights[2] = {1, 2};
 *     mica_array array = {"w", mica_type_make(MICA_DTYPE_f32, MICA_INTS(2)), weights};
 *     mica_arrays *arrays = NULL;
 *     mica_status status = mica_arrays_save("/tmp/model.safetensors", &array, 1);
 *     if (!status) status = mica_arrays_open("/tmp/model.safetensors", &arrays);
 *     if (!status) printf("%s\n", mica_arrays_at(arrays, 0)->name);
 *     mica_arrays_release(arrays);
 *     mica_status_release(status);
 * @end
 */
#ifndef MICA_ARRAYS_H
#define MICA_ARRAYS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mica_array {
    const char *name; /* UTF-8 */
    mica_type type;
    const void *data; /* mica_type_bytes(&type) bytes, perhaps not aligned to the element */
} mica_array;

typedef struct mica_arrays mica_arrays;

MICA_API MICA_MUST_CHECK mica_status mica_arrays_open(const char *path, mica_arrays **out_arrays);
MICA_API void mica_arrays_release(mica_arrays *arrays);
MICA_API int64_t mica_arrays_count(const mica_arrays *arrays);
/* NULL when there is no array i. It lives as long as the arrays. */
MICA_API const mica_array *mica_arrays_at(const mica_arrays *arrays, int64_t i);
/* The number of the array with this name, or -1. */
MICA_API int64_t mica_arrays_find(const mica_arrays *arrays, const char *name);

/* The path's ending tells the format: .safetensors, .npz (not compressed) or .npy, which holds one
 * array. Names differ from each other. numpy has no bf16, safetensors no c128. */
MICA_API MICA_MUST_CHECK mica_status mica_arrays_save(const char *path, const mica_array *arrays,
                                                      int64_t n);

#ifdef __cplusplus
}
#endif
#endif
