/* mica/records.h: files that are read and written from front to back.
 *
 * A TFRecord file is a sequence of byte strings, each with checksums (CRC-32C) of its length and of
 * its bytes. An event file is a TFRecord file of what TensorBoard shows. A file may be compressed
 * as a whole: "GZIP" or "ZLIB", by the zlib of this machine, which is found at run time (MICA_ZLIB
 * names another one); UNSUPPORTED where there is none. NULL or "" is a file as it is.
 *
 * A reader takes its file for hostile: what is cut off or damaged is MICA_DATA_LOSS with the path
 * and the offset, and no memory is taken for bytes that are not there. A writer of records
 * takes the place of an old file when it is flushed or finished for the first time, in one step:
 * until then the old one stays. From the first flush on, what was flushed is in the file.
 *
 * @example
 *     mica_record_writer *writer = NULL;
 *     mica_status status = mica_record_writer_create("/tmp/words", NULL, &writer);
 *     if (!status) status = mica_record_writer_append(writer, "hello", 5);
 *     if (!status) status = mica_record_writer_finish(writer);
 *     mica_record_writer_release(writer);
 *     mica_status_release(status);
 * @end
 */
#ifndef MICA_RECORDS_H
#define MICA_RECORDS_H

#include "tf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- bytes ------------------------------------------------------------------------------------*/

typedef struct mica_file_reader mica_file_reader;

/* Reads about `buffer_size` bytes at a time; 0: 256 KiB. */
MICA_API MICA_MUST_CHECK mica_status mica_file_reader_open(const char *path,
                                                           const char *compression,
                                                           size_t buffer_size,
                                                           mica_file_reader **out_reader);
MICA_API void mica_file_reader_release(mica_file_reader *reader);
/* The next `size` bytes, fewer only where the file ends; they live until the next call. */
MICA_API MICA_MUST_CHECK mica_status mica_file_reader_take(mica_file_reader *reader, size_t size,
                                                           const uint8_t **out_bytes,
                                                           size_t *out_size);
/* The bytes up to the next line feed, without it and without carriage returns. */
MICA_API MICA_MUST_CHECK mica_status mica_file_reader_line(mica_file_reader *reader,
                                                           const uint8_t **out_bytes,
                                                           size_t *out_size, bool *out_end);
/* Passes over `size` bytes, or as many as there are. */
MICA_API MICA_MUST_CHECK mica_status mica_file_reader_skip(mica_file_reader *reader, uint64_t size);
/* How many bytes, unpacked, were taken. */
MICA_API uint64_t mica_file_reader_offset(const mica_file_reader *reader);

/* ---- records ----------------------------------------------------------------------------------*/

typedef struct mica_record_reader mica_record_reader;

MICA_API MICA_MUST_CHECK mica_status mica_record_reader_open(const char *path,
                                                             const char *compression,
                                                             size_t buffer_size,
                                                             mica_record_reader **out_reader);
MICA_API void mica_record_reader_release(mica_record_reader *reader);
/* The next record, which lives until the next call, or the end; a file that has grown since goes
 * on. After an error the reader stays where the record began. */
MICA_API MICA_MUST_CHECK mica_status mica_record_reader_next(mica_record_reader *reader,
                                                             const uint8_t **out_bytes,
                                                             size_t *out_size, bool *out_end);

/* How many bytes of the file, unpacked, lie before the next record. */
MICA_API uint64_t mica_record_reader_offset(const mica_record_reader *reader);
/* Passes over `size` bytes of the file, or as many as there are. */
MICA_API MICA_MUST_CHECK mica_status mica_record_reader_skip(mica_record_reader *reader,
                                                             uint64_t size);

typedef struct mica_record_options {
    size_t size;             /* sizeof(mica_record_options) */
    const char *compression; /* "GZIP", "ZLIB"; NULL, "": none */
    int32_t level;           /* 0 to 9; -1: zlib's own choice */
    int32_t window_bits;     /* 9 to 15; 0: 15 */
    int32_t memory_level;    /* 1 to 9; 0: 8 */
    int32_t strategy;        /* zlib's; 0: the default */
} mica_record_options;

typedef struct mica_record_writer mica_record_writer;

/* Options may be NULL: no compression. */
MICA_API MICA_MUST_CHECK mica_status mica_record_writer_create(const char *path,
                                                               const mica_record_options *options,
                                                               mica_record_writer **out_writer);
MICA_API MICA_MUST_CHECK mica_status mica_record_writer_append(mica_record_writer *writer,
                                                               const void *bytes, size_t size);
MICA_API MICA_MUST_CHECK mica_status mica_record_writer_flush(mica_record_writer *writer);
/* The file is whole and on the disk from here on; nothing can be appended afterwards. */
MICA_API MICA_MUST_CHECK mica_status mica_record_writer_finish(mica_record_writer *writer);
/* Of an unfinished writer: what was flushed stays, a file that was never flushed is removed. */
MICA_API void mica_record_writer_release(mica_record_writer *writer);

/* ---- CSV --------------------------------------------------------------------------------------*/

/* A field as a number of dtype float32, float64, int32 or int64; false when it is none. */
MICA_API bool mica_csv_number(const char *text, size_t n, mica_tf_dtype dtype, void *out);

/* ---- events -----------------------------------------------------------------------------------*/

/* Writes `events.out.tfevents.<seconds>.<host>.<process>.<number><suffix>` to a folder, which is
 * made when it is not there: TensorFlow's Event messages, which TensorBoard reads. Any thread may
 * use it. An event is in the file after a flush, or when `most_waiting` wait, or the first that
 * comes `milliseconds` after the last flush. */
typedef struct mica_event_writer mica_event_writer;

MICA_API MICA_MUST_CHECK mica_status mica_event_writer_create(const char *folder,
                                                              const char *suffix,
                                                              int32_t most_waiting,
                                                              int32_t milliseconds,
                                                              mica_event_writer **out_writer);
/* A summary of one value: a tensor of numbers or strings with its tag and a SummaryMetadata
 * message, which may be empty. */
MICA_API MICA_MUST_CHECK mica_status mica_event_writer_add_tensor(
    mica_event_writer *writer, int64_t step, const char *tag, size_t tag_length,
    mica_tf_value tensor, const void *metadata, size_t metadata_size);
/* Messages that are given as their bytes. */
typedef enum mica_event_part {
    MICA_EVENT_GRAPH = 4,     /* GraphDef */
    MICA_EVENT_SUMMARY = 5,   /* Summary */
    MICA_EVENT_META_GRAPH = 9 /* MetaGraphDef */
} mica_event_part;
MICA_API MICA_MUST_CHECK mica_status mica_event_writer_add_part(mica_event_writer *writer,
                                                                int64_t step, mica_event_part part,
                                                                const void *bytes, size_t size);
/* A whole Event message. */
MICA_API MICA_MUST_CHECK mica_status mica_event_writer_add_event(mica_event_writer *writer,
                                                                 const void *bytes, size_t size);
MICA_API MICA_MUST_CHECK mica_status mica_event_writer_flush(mica_event_writer *writer);
/* Nothing can be added afterwards. */
MICA_API MICA_MUST_CHECK mica_status mica_event_writer_finish(mica_event_writer *writer);
/* Writes what waits, as far as it can. */
MICA_API void mica_event_writer_release(mica_event_writer *writer);

/* ---- examples ---------------------------------------------------------------------------------*/

/* A feature of a tf.train.Example message; its pointers are into the message. */
typedef struct mica_feature {
    const char *key; /* not ended with 0 */
    size_t key_length;
    mica_tf_dtype dtype; /* float32, int64, string; MICA_TF_no_dtype: it has no list of values */
    int64_t count;       /* of values */
    const void *list;
    size_t size;
} mica_feature;

/* Calls `visit` with every feature, as they come; a key may come again, and the last one counts.
 * INVALID_ARGUMENT where the bytes are no Example message. */
MICA_API MICA_MUST_CHECK mica_status mica_example_visit(const void *bytes, size_t size,
                                                        void (*visit)(void *context,
                                                                      const mica_feature *feature),
                                                        void *context);
/* Calls `visit` with the Feature message of every step of a feature list of a
 * tf.train.SequenceExample, whose context mica_example_visit gives; *out_found: whether there is
 * such a list. INVALID_ARGUMENT where the bytes are no such message. */
MICA_API MICA_MUST_CHECK mica_status
mica_sequence_visit(const void *bytes, size_t size, const char *key, size_t key_length,
                    void (*visit)(void *context, const void *feature, size_t feature_size),
                    void *context, bool *out_found);
/* The `count` values of a feature of float32 or int64. */
MICA_API void mica_feature_numbers(const mica_feature *feature, void *out_values);
/* Those of a feature of strings, which stay where they are. */
MICA_API void mica_feature_strings(const mica_feature *feature, const char **out_texts,
                                   size_t *out_lengths);

/* ---- tensors ----------------------------------------------------------------------------------*/

/* A tensor of numbers or strings as a TensorProto message, and back; mica_bytes_free frees what is
 * written. */
MICA_API MICA_MUST_CHECK mica_status mica_tensor_proto_write(mica_tf_value tensor,
                                                             uint8_t **out_bytes, size_t *out_size);
MICA_API MICA_MUST_CHECK mica_status mica_tensor_proto_read(mica_device *device, const void *bytes,
                                                            size_t size, mica_tf_value *out_tensor);

#ifdef __cplusplus
}
#endif
#endif
