/* tf/ops/sparse: tensors that are given by their elements that are there.
 *
 * A sparse tensor is three operands: places (a matrix of int64, a row each), values (a vector) and
 * the sizes of the whole (a vector of int64). Results whose sizes depend on data, and what strings
 * may be in, are made by host functions, whose derivatives are other rows (derive.c); what has
 * known sizes is lowered (lower.c).
 *
 * parts.c     operands and results of host functions: places, numbers of any dtype, columns
 * shape.c     shape functions
 * coo.c       joining, cutting, adding, filling, making dense
 * reduce.c    sums and maxima over axes
 * segments.c  sums of rows that are looked up
 * counts.c    how often numbers come
 * sets.c      unions, intersections and differences of rows
 * cross.c     crosses of features
 * messages.c  sparse tensors as strings
 * lower.c     lowerings
 * derive.c    derivatives of what stays on the host */
#ifndef MICA_TF_OPS_SPARSE_H
#define MICA_TF_OPS_SPARSE_H

#include "tf/strings.h"

/* What sizes beyond this would have no shape in any front end. */
enum { TF_SPARSE_MOST_AXES = 254 };

/* A vector, or any tensor read as one, of numbers or strings. */
typedef struct tf_column {
    mica_tf_value value;
    const char *data; /* of numbers, else NULL */
    size_t size;      /* of an element */
    mica_dtype dtype;
    int64_t n;
} tf_column;

MICA_MUST_CHECK mica_status tf_column_open(mica_tf_value value, tf_column *out);
void tf_column_close(tf_column *column);
static inline const void *tf_column_at(const tf_column *x, int64_t i, size_t *out_n) {
    if (!x->data) return mica_tf_strings_get(x->value, i, out_n);
    *out_n = x->size;
    return x->data + (size_t)i * x->size;
}
/* Of a column of integers or booleans. */
int64_t tf_column_int(const tf_column *column, int64_t i);

/* A sparse operand, opened; the values too where they are given. */
typedef struct tf_sparse {
    int64_t n;
    int32_t rank;
    const int64_t *indices, *shape;
    tf_column columns[3]; /* indices, shape, values */
} tf_sparse;

/* values: the number of that operand, or -1. After an error nothing is open. */
MICA_MUST_CHECK mica_status tf_sparse_open(const mica_tf_host *c, int32_t indices, int32_t values,
                                           int32_t shape, tf_sparse *out);
void tf_sparse_close(tf_sparse *x);
static inline const int64_t *tf_sparse_place(const tf_sparse *x, int64_t i) {
    return x->indices + i * x->rank;
}
static inline const tf_column *tf_sparse_values(const tf_sparse *x) {
    return &x->columns[2];
}
/* By their first n numbers: negative, 0 or positive. */
static inline int tf_place_compare(const int64_t *a, const int64_t *b, int32_t n) {
    for (int32_t k = 0; k < n; k++)
        if (a[k] != b[k]) return a[k] < b[k] ? -1 : 1;
    return 0;
}
/* Every place is within the sizes. */
MICA_MUST_CHECK mica_status tf_sparse_check(const mica_tf_host *c, const tf_sparse *x);
/* The numbers 0 to n - 1 in the order of the rows of `places`, `rank` wide: a stable sort. */
MICA_MUST_CHECK mica_status tf_places_order(const int64_t *places, int64_t n, int32_t rank,
                                            int64_t *out_order);
/* "[2,3]" of sizes. */
mica_tf_text tf_sizes_text(const int64_t *sizes, int32_t rank);

/* ---- results ----------------------------------------------------------------------------------*/

/* An element of one of several columns. */
typedef struct tf_pick {
    int32_t column;
    int64_t i;
} tf_pick;

/* Result `output` is the elements that are picked. */
MICA_MUST_CHECK mica_status tf_give_picks(mica_tf_host *c, int32_t output, const tf_column *columns,
                                          const tf_pick *picks, mica_ints dims);
/* A matrix of places, a vector of int64. */
MICA_MUST_CHECK mica_status tf_give_places(mica_tf_host *c, int32_t output, const int64_t *places,
                                           int64_t n, int32_t rank);
MICA_MUST_CHECK mica_status tf_give_vector(mica_tf_host *c, int32_t output, const int64_t *ints,
                                           int64_t n);

/* Whether this machine can hold so many elements. */
MICA_MUST_CHECK mica_status tf_sparse_fits(const mica_tf_host *c, int64_t count, size_t size);
/* Room for `count` elements, zeroed; an error where this machine cannot hold them. */
MICA_MUST_CHECK mica_status tf_sparse_room(const mica_tf_host *c, int64_t count, size_t size,
                                           void **out);

/* ---- numbers ----------------------------------------------------------------------------------*/

/* A number of any dtype: real and imaginary part, or the integer (of uint64 its bits). */
typedef struct tf_number {
    double re, im;
    int64_t i;
} tf_number;

tf_number tf_number_load(mica_dtype dtype, const void *at);
void tf_number_store(mica_dtype dtype, tf_number x, void *at);
tf_number tf_number_add(mica_dtype dtype, tf_number a, tf_number b);
/* Whether a < b, of a real dtype. */
bool tf_number_less(mica_dtype dtype, tf_number a, tf_number b);
static inline tf_number tf_number_at(const tf_column *x, int64_t i) {
    return tf_number_load(x->dtype, x->data + (size_t)i * x->size);
}

#endif
