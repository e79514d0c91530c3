/* device/cpu/linalg.h: linear algebra on row-major matrices, one set of loops per dtype.
 *
 * The order in which an element is computed depends on the matrix's sizes alone. Loops that split
 * their work do so with mica_parallel_for, which runs inline inside a batch. */
#ifndef MICA_DEVICE_CPU_LINALG_H
#define MICA_DEVICE_CPU_LINALG_H

#include "device/cpu/kernel.h"
#include "device/cpu/lapack.h"

/* A triangle, as it acts: element (i, j) is a[i * row + j * column]. */
typedef struct cpu_triangle {
    int64_t n, row, column;
    bool lower, unit;
} cpu_triangle;

typedef struct cpu_linalg {
    /* Systems begin to end: columns of x = b, row stride `systems`, with a x = b. */
    void (*solve_left)(const cpu_triangle *t, const void *a, const void *b, void *x,
                       int64_t systems, int64_t begin, int64_t end);
    /* The same for rows of x, b_step and x_step elements apart, with x a = b. */
    void (*solve_right)(const cpu_triangle *t, const void *a, const void *b, int64_t b_step,
                        void *x, int64_t x_step, int64_t begin, int64_t end);
    void (*subtract_from)(const void *a, void *b, int64_t n); /* b = a - b */
    /* a's lower triangle to y, all of which is written. */
    void (*cholesky)(const void *a, void *y, int64_t n);
    void (*lu)(const void *x, void *y, int32_t *pivots, int32_t *order, int64_t m, int64_t n);
    /* q (m, inner), r (inner, n) unless NULL; work: m n + m + n elements. */
    void (*qr)(const void *x, void *q, void *r, void *work, int64_t m, int64_t n, int64_t inner);
    bool (*all_finite)(const void *x, int64_t n);
    void (*fill_nan)(void *x, int64_t n);
    void (*widen)(const void *x, double *y, int64_t n);
    void (*narrow)(const double *x, void *y, int64_t n);
} cpu_linalg;

extern const cpu_linalg mica_cpu_linalg_f32, mica_cpu_linalg_f64, mica_cpu_linalg_c64,
    mica_cpu_linalg_c128;

/* A power of two that brings numbers up to `largest` near 1, so that their squares stay in range.
 */
double mica_cpu_linalg_unit(double largest);
/* a, whose lower triangle is read, is used up; vectors are columns. */
void mica_cpu_eigh(double *a, double *values, double *vectors, double *work, int64_t n);
int64_t mica_cpu_eigh_work(int64_t n); /* in elements */
/* x (rows <= columns) becomes the right vectors, y (rows, rows) the left ones, both as rows. */
void mica_cpu_svd(double *x, double *y, double *s, int64_t rows, int64_t columns);
/* Rows of a and b together, so that those of a have the sign that eigh says. */
void mica_cpu_fix_signs(double *a, double *b, int64_t count, int64_t a_length, int64_t b_length);

/* (x, y) = (c x - s y, s x + c y) */
void mica_cpu_rotate(double *x, double *y, double c, double s, int64_t n);
/* The eigenvalues of the tridiagonal matrix with diagonal d, which becomes them, and e beside it,
 * e[n - 1] = 0. Rows of z, `width` long, are rotated along: where they were the rows of a matrix,
 * they become its products with the vectors. */
void mica_cpu_ql(double *d, double *e, double *z, int64_t n, int64_t width);

/* A complex number of f64. */
typedef struct cpu_number {
    double re, im;
} cpu_number;
/* Values in no order, and vectors as columns, in the phase that eig says. */
void mica_cpu_eig(const cpu_number *a, cpu_number *values, cpu_number *vectors, void *work,
                  int64_t n);
int64_t mica_cpu_eig_work(int64_t n); /* in bytes */
/* Makes what belongs to a real matrix exactly real, or exactly pairs of conjugates. taken: n. */
void mica_cpu_eig_pair(cpu_number *values, cpu_number *vectors, bool *taken, int64_t n);
/* In the order that eig says. */
void mica_cpu_eig_sort(cpu_number *values, cpu_number *vectors, int64_t n);
void mica_cpu_fix_phase(cpu_number *x, int64_t step, int64_t n);
/* a, whose lower triangle is read, is used up; vectors are columns. */
void mica_cpu_eigh_complex(cpu_number *a, double *values, cpu_number *vectors, double *work,
                           int64_t n);
int64_t mica_cpu_eigh_complex_work(int64_t n); /* in elements of f64 */
/* A vector gets the phase that eigh says; `right`, its partner in svd, what keeps their product. */
void mica_cpu_fix_phases(cpu_number *left, int64_t left_step, int64_t left_length,
                         cpu_number *right, int64_t right_length);

/* ---- kernels ----------------------------------------------------------------------------------*/

typedef struct cpu_linalg_kernel {
    cpu_kernel base;
    const cpu_linalg *loops;           /* of the dtype */
    const cpu_linalg *parts;           /* of the parts of its elements; the same unless complex */
    int64_t batch, rows, columns;      /* of operand 0 */
    int64_t bytes, part_bytes;         /* of an element, of one of its parts */
    bool complex;                      /* elements are */
    int64_t inner;                     /* of qr: columns of q; of svd: whether it is full */
    int64_t scratch;                   /* bytes for one matrix */
    const cpu_lapack_routines *lapack; /* NULL: the built-in version serves */
    const cpu_lapack_complex *lapack_complex;
    bool wide;              /* its integers have 64 bits */
    int64_t work, integers; /* elements of work it wants */
    int64_t reals;          /* the same, parts of complex numbers */
    int64_t after;          /* of svd, eig: bytes before what comes after */
} cpu_linalg_kernel;

typedef struct cpu_linalg_run {
    const cpu_linalg_kernel *kernel;
    const void *const *operands;
    void *const *results;
    void *scratch;
} cpu_linalg_run;

/* From these sizes on LAPACK is faster (bench/linalg.py). */
enum {
    CHOLESKY_SMALLEST = 24,
    LU_SMALLEST = 48,
    QR_SMALLEST = 32,
    EIGH_SMALLEST = 16,
    SVD_SMALLEST = 8,
    EIG_SMALLEST = 10
};

/* `bytes`, of which the first are a cpu_linalg_kernel; *out is a pointer to it. */
MICA_MUST_CHECK mica_status mica_cpu_linalg_new(const mica_node *node, size_t bytes,
                                                void (*run)(const cpu_kernel *, const void *const *,
                                                            void *const *, void *),
                                                void *out);
/* With LAPACK from size `smallest` on, with any or with a tuned one. */
MICA_MUST_CHECK mica_status
mica_cpu_linalg_create(const mica_node *node,
                       void (*run)(const cpu_kernel *, const void *const *, void *const *, void *),
                       int64_t smallest, bool any, cpu_linalg_kernel **out);
void mica_cpu_linalg_scratch(cpu_linalg_kernel *kernel, int64_t bytes_per_matrix);
/* body gets the run and a range of matrices. */
void mica_cpu_for_each_matrix(const cpu_linalg_run *run, void (*body)(void *, int64_t, int64_t));

/* a (rows, columns) is finite. memory: `_work` bytes. */
void mica_cpu_svd_complex(const cpu_linalg_kernel *k, const void *a, void *u, void *s, void *vh,
                          void *memory);
int64_t mica_cpu_svd_complex_work(int64_t rows, int64_t columns);

/* ---- one matrix through LAPACK ----------------------------------------------------------------
 * Called between mica_cpu_lapack_enter and _leave, on finite matrices; false when the built-in
 * version has to serve after all. `_work` says how many bytes of scratch a matrix needs. */

/* Sets kernel->lapack when there is one (`any`, or a tuned one) and both sizes are at least
 * `smallest`, from where on it is faster. */
MICA_MUST_CHECK mica_status mica_cpu_linalg_choose(cpu_linalg_kernel *kernel, int64_t smallest,
                                                   bool any);
bool mica_cpu_lapack_cholesky(const cpu_linalg_kernel *k, const void *a, void *y);
int64_t mica_cpu_lapack_lu_work(const cpu_linalg_kernel *k);
bool mica_cpu_lapack_lu(const cpu_linalg_kernel *k, const void *a, void *y, int32_t *pivots,
                        int32_t *order, void *work);
int64_t mica_cpu_lapack_qr_work(cpu_linalg_kernel *k);
bool mica_cpu_lapack_qr(const cpu_linalg_kernel *k, const void *a, void *q, void *r, void *work);
int64_t mica_cpu_lapack_eigh_work(cpu_linalg_kernel *k);
bool mica_cpu_lapack_eigh(const cpu_linalg_kernel *k, const void *a, void *values, void *vectors,
                          void *work);
/* Thin: u (m, count), vh (count, n). */
int64_t mica_cpu_lapack_svd_work(cpu_linalg_kernel *k);
bool mica_cpu_lapack_svd(const cpu_linalg_kernel *k, const void *a, void *u, void *s, void *vh,
                         void *work);
int64_t mica_cpu_lapack_eig_work(cpu_linalg_kernel *k);
bool mica_cpu_lapack_eig(const cpu_linalg_kernel *k, const void *a, cpu_number *values,
                         cpu_number *vectors, void *work);

#endif
