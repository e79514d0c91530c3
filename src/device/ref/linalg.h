/* device/ref/linalg.h: matrices of f64 as the interpreter's linear algebra holds them. */
#ifndef MICA_DEVICE_REF_LINALG_H
#define MICA_DEVICE_REF_LINALG_H

#include "device/ref/value.h"

/* Row-major; owned. */
typedef struct ref_matrix {
    int64_t rows, columns;
    double *data;
} ref_matrix;

#define AT(matrix, i, j) ((matrix).data[(i) * (matrix).columns + (j)])

/* Zeros; NULL data when there is no memory. */
MICA_MUST_CHECK mica_status ref_matrix_create(int64_t rows, int64_t columns, ref_matrix *out);
void ref_matrix_free(ref_matrix *matrix);
/* How many matrices the last two axes of a value hold. */
int64_t ref_matrix_count(const mica_type *type);
/* The b-th matrix of a value, whose type says its sizes, and its opposite. */
void ref_matrix_load(ref_matrix *matrix, const ref_value *value, int64_t b);
void ref_matrix_store(const ref_matrix *matrix, ref_value *value, int64_t b);
/* A matrix of the sizes of the value's last two axes. */
MICA_MUST_CHECK mica_status ref_matrix_like(const ref_value *value, ref_matrix *out);
/* pivots and permutation of lu, results 1 and 2; `order` is room for as many as there are rows. */
void ref_store_permutation(ref_value *const *results, int64_t b, const int64_t *pivots,
                           int64_t *order, int64_t rows, int64_t count);

/* ---- linalg_complex.c: the same of complex matrices */

bool ref_is_complex(const ref_value *value);
mica_status ref_triangular_solve_complex(const mica_node *n, ref_value *const *operands,
                                         ref_value **results);
mica_status ref_cholesky_complex(const mica_node *n, ref_value *const *operands,
                                 ref_value **results);
mica_status ref_lu_complex(const mica_node *n, ref_value *const *operands, ref_value **results);
mica_status ref_qr_complex(const mica_node *n, ref_value *const *operands, ref_value **results);
mica_status ref_eigh_complex(const mica_node *n, ref_value *const *operands, ref_value **results);
mica_status ref_svd_complex(const mica_node *n, ref_value *const *operands, ref_value **results);

#endif
