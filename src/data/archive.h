/* data/archive.h: the state of iterators as bytes.
 *
 * One function of a class both saves and restores: it names its fields in order, and each is
 * written or read. What is read is hostile: a field is checked against what it may be, and no
 * length takes memory for bytes that are not there. After an error the iterator that is being
 * restored is only released. */
#ifndef MICA_DATA_ARCHIVE_H
#define MICA_DATA_ARCHIVE_H

#include "base/strings.h"
#include "data/data.h"

struct mica_archive {
    bool is_saving;
    int32_t depth;       /* of iterators and datasets inside each other */
    mica_text to;        /* saving */
    const uint8_t *from; /* restoring: n bytes are left */
    size_t n;
};

/* An integer between two others. */
MICA_MUST_CHECK mica_status mica_archive_int(mica_archive *a, int64_t *value, int64_t least,
                                             int64_t most);
MICA_MUST_CHECK mica_status mica_archive_bool(mica_archive *a, bool *value);
/* So many bytes. */
MICA_MUST_CHECK mica_status mica_archive_bytes(mica_archive *a, void *bytes, size_t n);
MICA_MUST_CHECK mica_status mica_archive_stream(mica_archive *a, mica_philox_stream *stream);
/* Values, each of which may be empty. Restoring, they are empty before. */
MICA_MUST_CHECK mica_status mica_archive_values(mica_archive *a, mica_device *device,
                                                mica_tf_value *values, int32_t n);
/* The same for all values or none: a component that is missing is refused. */
MICA_MUST_CHECK mica_status mica_archive_element(mica_archive *a, mica_device *device,
                                                 mica_tf_value *values, int32_t n);
MICA_MUST_CHECK mica_status mica_archive_rows(mica_archive *a, mica_device *device,
                                              mica_rows *rows);
MICA_MUST_CHECK mica_status mica_archive_status(mica_archive *a, mica_status *status);
/* An iterator that is open, with those of its inputs. */
MICA_MUST_CHECK mica_status mica_archive_iterator(mica_archive *a, mica_iterator *it);
/* Where the random ops of a function are in their streams. */
MICA_MUST_CHECK mica_status mica_archive_draws(mica_archive *a, const mica_iterator *it,
                                               const mica_data_call *call);

#endif
