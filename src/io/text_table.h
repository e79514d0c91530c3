/* io/text_table.h: keys and values of a table, from the lines of a text. */
#ifndef MICA_IO_TEXT_TABLE_H
#define MICA_IO_TEXT_TABLE_H

#include "mica/tf.h"

/* What is taken of a line: a column, or: */
enum { IO_TEXT_LINE = -2, IO_TEXT_NUMBER = -1 }; /* all of it; its number, plus offset */

typedef struct io_text_table {
    int64_t key_column, value_column, offset;
    int64_t most; /* lines that are read; 0 or less: all */
    char delimiter;
    mica_tf_dtype dtypes[2];
} io_text_table;

/* Two vectors of one length, which the caller releases. DATA_LOSS where a line lacks a column, or a
 * column is no number of its dtype. */
MICA_MUST_CHECK mica_status io_read_text_table(mica_device *device, const char *path,
                                               const io_text_table *table, mica_tf_value *out_keys,
                                               mica_tf_value *out_values);

#endif
