/* mica/io.h: tensors in files, and files that are always whole.
 *
 * A bundle is TensorFlow's format of checkpoints: `<prefix>.index` says what there is, by name,
 * `<prefix>.data-00000-of-0000n` has the bytes, where the index says which n. A reader checks every
 * sum that the files carry: a file that is cut off or changed is MICA_DATA_LOSS, never a wrong
 * value, and what it takes of memory is bounded by the size of the file.
 *
 * What is written takes the place of what was there in one step, once it is on the disk: who opens
 * it finds the old one or the new one, whole, whenever the writer was killed, and one of them when
 * several wrote at once. A writer of a bundle writes the elements to a data file of a number n that
 * is not in use, then renames an index that names it, then removes the data files that no index
 * names. A full disk is MICA_RESOURCE_EXHAUSTED; the old one stays, and nothing of the new one.
 *
 * @example
 *     float weights[2] = {1, 2};
 *     mica_bundle_writer *writer = NULL;
 *     mica_status status = mica_bundle_writer_create("/tmp/weights", &writer);
 *     if (!status)
 *         status = mica_bundle_writer_add(writer, "w", MICA_TF_float32, MICA_INTS(2), weights,
 *                                         sizeof weights);
 *     if (!status) status = mica_bundle_writer_finish(writer);
 *     mica_bundle_writer_release(writer);
 *     mica_status_release(status);
 * @end
 */
#ifndef MICA_IO_H
#define MICA_IO_H

#include "tf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reading ----------------------------------------------------------------------------------*/

typedef struct mica_bundle mica_bundle;

typedef struct mica_bundle_entry {
    const char *key; /* ends with 0, but may have zeros inside */
    size_t key_length;
    mica_tf_dtype dtype; /* MICA_TF_no_dtype: one that Mica does not have */
    int32_t rank;
    int64_t dims[MICA_MAX_RANK];
    uint64_t size;  /* of its bytes in the file */
    bool is_sliced; /* it is stored in parts, which are other entries; it cannot be read */
} mica_bundle_entry;

MICA_API MICA_MUST_CHECK mica_status mica_bundle_open(const char *prefix, mica_bundle **out_bundle);
MICA_API void mica_bundle_release(mica_bundle *bundle);
/* Entries are in the order of their keys' bytes. */
MICA_API int64_t mica_bundle_count(const mica_bundle *bundle);
MICA_API const mica_bundle_entry *mica_bundle_entry_at(const mica_bundle *bundle, int64_t i);
/* The number of the entry with this key, or -1. */
MICA_API int64_t mica_bundle_find(const mica_bundle *bundle, const char *key, size_t length);
/* The elements of an entry of numbers: `size` bytes, in this machine's order. */
MICA_API MICA_MUST_CHECK mica_status mica_bundle_read(mica_bundle *bundle, int64_t i,
                                                      void *out_bytes);
/* The elements of an entry of strings. */
MICA_API MICA_MUST_CHECK mica_status mica_bundle_read_strings(mica_bundle *bundle, int64_t i,
                                                              mica_tf_value *out_strings);

/* ---- writing ----------------------------------------------------------------------------------*/

typedef struct mica_bundle_writer mica_bundle_writer;

MICA_API MICA_MUST_CHECK mica_status mica_bundle_writer_create(const char *prefix,
                                                               mica_bundle_writer **out_writer);
/* A tensor of numbers; a key can be given once. `size` is checked against dtype and dims. */
MICA_API MICA_MUST_CHECK mica_status mica_bundle_writer_add(mica_bundle_writer *writer,
                                                            const char *key, mica_tf_dtype dtype,
                                                            mica_ints dims, const void *data,
                                                            size_t size);
MICA_API MICA_MUST_CHECK mica_status mica_bundle_writer_add_strings(mica_bundle_writer *writer,
                                                                    const char *key,
                                                                    mica_tf_value strings);
/* The bundle is the new one from here on; nothing can be added afterwards. */
MICA_API MICA_MUST_CHECK mica_status mica_bundle_writer_finish(mica_bundle_writer *writer);
/* Removes what an unfinished writer has written. */
MICA_API void mica_bundle_writer_release(mica_bundle_writer *writer);
/* Removes a bundle, its index first; one that is not there is fine. */
MICA_API MICA_MUST_CHECK mica_status mica_bundle_remove(const char *prefix);

/* ---- whole files and folders ------------------------------------------------------------------*/

/* Writes a file in the place of what is there. */
MICA_API MICA_MUST_CHECK mica_status mica_file_replace(const char *path, const void *bytes,
                                                       size_t size);

/* A folder of files that belong together: they are written to the folder mica_folder_writer_path
 * and come to their place all at once. Entries of the old folder whose names are not among `names`
 * stay. UNSUPPORTED where a folder cannot be exchanged with another: its file system cannot, it is
 * where one begins, or it is where this process works. */
typedef struct mica_folder_writer mica_folder_writer;

MICA_API MICA_MUST_CHECK mica_status mica_folder_writer_create(const char *path,
                                                               const char *const *names, int32_t n,
                                                               mica_folder_writer **out_writer);
MICA_API const char *mica_folder_writer_path(const mica_folder_writer *writer);
MICA_API MICA_MUST_CHECK mica_status mica_folder_writer_finish(mica_folder_writer *writer);
/* Removes what an unfinished writer has written. */
MICA_API void mica_folder_writer_release(mica_folder_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
