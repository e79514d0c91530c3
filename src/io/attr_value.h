/* io/attr_value.h: values in messages: shapes, tensors, attributes of nodes. */
#ifndef MICA_IO_ATTR_VALUE_H
#define MICA_IO_ATTR_VALUE_H

#include "io/graph_def.h"

/* A tensor whose elements are all alike is written as one of them. This many bytes may be made from
 * what a file does not spell out, in all of it. */
#define IO_MOST_REPEATED (UINT64_C(1) << 30)

typedef struct io_values {
    mica_device *device; /* where tensors go */
    uint64_t repeated;   /* bytes so far, of at most IO_MOST_REPEATED */
} io_values;

/* TensorShapeProto. */
MICA_MUST_CHECK mica_status io_read_shape(io_range message, mica_tf_shape *out_shape);
typedef struct io_shape_chars {
    char chars[400];
} io_shape_chars;
io_shape_chars io_shape_text(const mica_tf_shape *shape); /* "[2,?]", "<unknown>" */
/* TensorProto; out_value is the caller's to release. */
MICA_MUST_CHECK mica_status io_read_tensor(io_values *values, io_range message,
                                           mica_tf_value *out_value);
/* AttrValue, as an attribute of a row, but no functions; lists are in the arena, a tensor is the
 * caller's to release. */
MICA_MUST_CHECK mica_status io_read_attr(io_values *values, mica_arena *arena, io_range message,
                                         mica_tf_attr_kind kind, mica_tf_attr *out_attr);

#endif
