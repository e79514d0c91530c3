/* io/records.h: what readers and writers of records share. */
#ifndef MICA_IO_RECORDS_H
#define MICA_IO_RECORDS_H

#include "base/strings.h"
#include "mica/records.h"

/* The next bytes, which stay to be taken: `size` of them, fewer only where the file ends. */
MICA_MUST_CHECK mica_status io_file_reader_peek(mica_file_reader *reader, size_t size,
                                                const uint8_t **out_bytes, size_t *out_size);
/* Takes bytes that were looked at. */
void io_file_reader_pass(mica_file_reader *reader, size_t size);
const char *io_file_reader_path(const mica_file_reader *reader);
/* At least as many bytes as there still are: exactly, unless the file is compressed. */
MICA_MUST_CHECK mica_status io_file_reader_left(mica_file_reader *reader, uint64_t *out_bytes);

/* A writer of a file that does not exist yet and is there at once; FAILED_PRECONDITION where it
 * does. */
MICA_MUST_CHECK mica_status io_record_writer_create_new(const char *path,
                                                        mica_record_writer **out_writer);

/* TensorProto: the elements of a tensor of numbers or strings. */
MICA_MUST_CHECK mica_status io_put_tensor(mica_text *to, mica_tf_value value);

#endif
