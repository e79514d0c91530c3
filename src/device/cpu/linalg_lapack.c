/* One matrix at a time through LAPACK, which stores matrices by columns: a row-major matrix is its
 * transpose there. Matrices are finite; `false` says that the built-in version has to serve. */
#include "device/cpu/linalg.h"

#include <math.h>
#include <string.h>

/* ---- choice -----------------------------------------------------------------------------------*/

mica_status mica_cpu_linalg_choose(cpu_linalg_kernel *k, int64_t smallest, bool any) {
    const cpu_lapack *lapack;
    int64_t rows = k->rows, columns = k->columns;
    if (cpu_min(rows, columns) < smallest) return NULL;
    MICA_TRY(mica_cpu_lapack(&lapack));
    if (!lapack || (!any && !lapack->tuned)) return NULL;
    /* Integers of 32 bits hold the sizes, and those of the work. */
    if (!lapack->wide && (rows > 16384 || columns > 16384)) return NULL;
    bool narrow = k->loops == &mica_cpu_linalg_f32;
    k->lapack = narrow ? &lapack->f32 : &lapack->f64;
    k->lapack_complex = narrow ? &lapack->c64 : &lapack->c128;
    k->wide = lapack->wide;
    return NULL;
}

/* What a function wrote to an integer. */
static int64_t answer(const cpu_linalg_kernel *k, int64_t written) {
    return k->wide ? written : (int32_t)written;
}

static double element(const cpu_linalg_kernel *k, const void *x, int64_t i) {
    return k->bytes == 4 ? ((const float *)x)[i] : ((const double *)x)[i];
}

/* A size of work that was asked for: f32 may have rounded it down. */
static int64_t work_size(const cpu_linalg_kernel *k, const void *work) {
    return (int64_t)(element(k, work, 0) * (1 + 1e-6)) + 64;
}

/* ---- transposition ----------------------------------------------------------------------------*/

enum { BLOCK = 16 };

#define TRANSPOSE(name, type)                                                                      \
    static void name(const type *x, int64_t x_step, type *y, int64_t y_step, int64_t rows,         \
                     int64_t columns) {                                                            \
        for (int64_t i0 = 0; i0 < rows; i0 += BLOCK)                                               \
            for (int64_t j0 = 0; j0 < columns; j0 += BLOCK)                                        \
                for (int64_t i = i0; i < cpu_min(rows, i0 + BLOCK); i++)                           \
                    for (int64_t j = j0; j < cpu_min(columns, j0 + BLOCK); j++)                    \
                        y[j * y_step + i] = x[i * x_step + j];                                     \
    }
TRANSPOSE(transpose_f32, float)
TRANSPOSE(transpose_f64, double)

/* y[j, i] = x[i, j]; x has rows of x_step elements, y of y_step. */
static void transpose(const cpu_linalg_kernel *k, const void *x, int64_t x_step, void *y,
                      int64_t y_step, int64_t rows, int64_t columns) {
    if (k->bytes == 4)
        transpose_f32(x, x_step, y, y_step, rows, columns);
    else
        transpose_f64(x, x_step, y, y_step, rows, columns);
}

static void transpose_numbers(const cpu_linalg_kernel *k, const void *x, void *y, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            memcpy((char *)y + (j * n + i) * k->bytes, (const char *)x + (i * n + j) * k->bytes,
                   (size_t)k->bytes);
}

/* ---- cholesky ---------------------------------------------------------------------------------*/

/* The lower triangle by rows is the upper one by columns. */
bool mica_cpu_lapack_cholesky(const cpu_linalg_kernel *k, const void *a, void *y) {
    int64_t n = k->rows, info = 0, row_bytes = n * k->bytes;
    for (int64_t i = 0; i < n; i++) {
        size_t inside = (size_t)((i + 1) * k->bytes);
        memcpy((char *)y + i * row_bytes, (const char *)a + i * row_bytes, inside);
        memset((char *)y + i * row_bytes + inside, 0, (size_t)row_bytes - inside);
    }
    k->lapack->potrf("U", &n, y, &n, &info, 1);
    if (answer(k, info) < 0) return false;
    bool definite = answer(k, info) == 0;
    for (int64_t i = 0; definite && i < n; i++) {
        double diagonal = element(k, y, i * (n + 1));
        definite = diagonal > 0 && isfinite(diagonal);
    }
    if (!definite) k->loops->fill_nan(y, n * n);
    return true;
}

/* ---- lu ---------------------------------------------------------------------------------------*/

int64_t mica_cpu_lapack_lu_work(const cpu_linalg_kernel *k) {
    return k->rows * k->columns * k->bytes + cpu_min(k->rows, k->columns) * 8;
}

bool mica_cpu_lapack_lu(const cpu_linalg_kernel *k, const void *a, void *y, int32_t *pivots,
                        int32_t *order, void *work) {
    int64_t m = k->rows, n = k->columns, info = 0;
    int64_t *places = work; /* counted from 1 */
    void *columns = places + cpu_min(m, n);
    transpose(k, a, n, columns, m, m, n);
    k->lapack->getrf(&m, &n, columns, &m, places, &info);
    if (answer(k, info) < 0) return false;
    transpose(k, columns, m, y, n, n, m);
    for (int64_t i = 0; i < m; i++) order[i] = (int32_t)i;
    for (int64_t j = 0; j < cpu_min(m, n); j++) {
        int32_t place = k->wide ? (int32_t)places[j] : ((const int32_t *)places)[j],
                kept = order[j];
        pivots[j] = place - 1;
        order[j] = order[place - 1];
        order[place - 1] = kept;
    }
    return true;
}

/* ---- qr ---------------------------------------------------------------------------------------*/

/* Work: the matrix by columns, as wide as q too, the factors of the reflections, and LAPACK's. */
int64_t mica_cpu_lapack_qr_work(cpu_linalg_kernel *k) {
    int64_t m = k->rows, n = k->columns, count = cpu_min(m, n), info = 0, ask = -1;
    double nothing = 0, first = 0, second = 0;
    k->lapack->geqrf(&m, &n, &nothing, &m, &nothing, &first, &ask, &info);
    k->lapack->orgqr(&m, &k->inner, &count, &nothing, &m, &nothing, &second, &ask, &info);
    k->work = cpu_max(work_size(k, &first), work_size(k, &second));
    return (m * cpu_max(n, k->inner) + count + k->work) * k->bytes;
}

static void zero_below(const cpu_linalg_kernel *k, void *r) {
    for (int64_t i = 1; i < k->inner; i++)
        memset((char *)r + i * k->columns * k->bytes, 0,
               (size_t)(cpu_min(i, k->columns) * k->bytes));
}

bool mica_cpu_lapack_qr(const cpu_linalg_kernel *k, const void *a, void *q, void *r, void *work) {
    int64_t m = k->rows, n = k->columns, inner = k->inner, count = cpu_min(m, n), info = 0;
    char *tau = (char *)work + m * cpu_max(n, inner) * k->bytes, *rest = tau + count * k->bytes;
    transpose(k, a, n, work, m, m, n);
    k->lapack->geqrf(&m, &n, work, &m, tau, rest, &k->work, &info);
    if (answer(k, info)) return false;
    transpose(k, work, m, r, n, n, inner);
    zero_below(k, r);
    k->lapack->orgqr(&m, &inner, &count, work, &m, tau, rest, &k->work, &info);
    if (answer(k, info)) return false;
    transpose(k, work, m, q, inner, inner, m);
    return true;
}

/* ---- eigh -------------------------------------------------------------------------------------*/

/* The sign that makes the first element of at least 7/10 of the largest magnitude positive. */
static double sign_of(const cpu_linalg_kernel *k, const void *x, int64_t step, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(element(k, x, i * step)));
    for (int64_t i = 0; i < n; i++)
        if (fabs(element(k, x, i * step)) >= 0.7 * largest)
            return element(k, x, i * step) < 0 ? -1 : 1;
    return 1;
}

static void negate(const cpu_linalg_kernel *k, void *x, int64_t step, int64_t n) {
    if (k->bytes == 4)
        for (int64_t i = 0; i < n; i++) ((float *)x)[i * step] *= -1;
    else
        for (int64_t i = 0; i < n; i++) ((double *)x)[i * step] *= -1;
}

static void *offset(const cpu_linalg_kernel *k, const void *x, int64_t i) {
    return (char *)(uintptr_t)x + i * k->bytes;
}

int64_t mica_cpu_lapack_eigh_work(cpu_linalg_kernel *k) {
    int64_t n = k->rows, info = 0, ask = -1, integers = 0;
    double nothing = 0, size = 0;
    k->lapack->syevd("V", "U", &n, &nothing, &n, &nothing, &size, &ask, &integers, &ask, &info, 1,
                     1);
    k->work = cpu_max(work_size(k, &size), 1 + 6 * n + 2 * n * n);
    k->integers = cpu_max(answer(k, integers), 3 + 5 * n);
    return (int64_t)cpu_align((size_t)((n * n + k->work) * k->bytes)) + k->integers * 8;
}

bool mica_cpu_lapack_eigh(const cpu_linalg_kernel *k, const void *a, void *values, void *vectors,
                          void *work) {
    int64_t n = k->rows, info = 0;
    void *rest = offset(k, work, n * n);
    void *integers = (char *)work + cpu_align((size_t)((n * n + k->work) * k->bytes));
    memcpy(work, a, (size_t)(n * n * k->bytes));
    k->lapack->syevd("V", "U", &n, work, &n, values, rest, &k->work, integers, &k->integers, &info,
                     1, 1);
    if (answer(k, info)) return false;
    for (int64_t j = 0; j < n; j++)
        if (sign_of(k, offset(k, work, j * n), 1, n) < 0) negate(k, offset(k, work, j * n), 1, n);
    transpose(k, work, n, vectors, n, n, n);
    return true;
}

/* ---- svd --------------------------------------------------------------------------------------
 * x' = v s u': the right vectors by columns are vh by rows, and the left ones, transposed and by
 * columns, are u by rows. */

int64_t mica_cpu_lapack_svd_work(cpu_linalg_kernel *k) {
    int64_t m = k->rows, n = k->columns, count = cpu_min(m, n), info = 0, ask = -1, integers = 0;
    double nothing = 0, size = 0;
    k->lapack->gesdd("S", &n, &m, &nothing, &n, &nothing, &nothing, &n, &nothing, &count, &size,
                     &ask, &integers, &info, 1);
    k->work = cpu_max(work_size(k, &size), count * (4 * count + 7) + cpu_max(m, n));
    return (int64_t)cpu_align((size_t)((m * n + 2 * m * count + k->work) * k->bytes)) +
           8 * count * 8;
}

bool mica_cpu_lapack_svd(const cpu_linalg_kernel *k, const void *a, void *u, void *s, void *vh,
                         void *work) {
    int64_t m = k->rows, n = k->columns, count = cpu_min(m, n), info = 0;
    void *rest = offset(k, work, m * n);
    void *integers =
        (char *)work + cpu_align((size_t)((m * n + 2 * m * count + k->work) * k->bytes));
    memcpy(work, a, (size_t)(m * n * k->bytes));
    k->lapack->gesdd("S", &n, &m, work, &n, s, vh, &n, u, &count, rest, &k->work, integers, &info,
                     1);
    if (answer(k, info)) return false;
    for (int64_t j = 0; j < count; j++)
        if (sign_of(k, offset(k, u, j), count, m) < 0) {
            negate(k, offset(k, u, j), count, m);
            negate(k, offset(k, vh, j * n), 1, n);
        }
    return true;
}

/* ---- eig --------------------------------------------------------------------------------------
 * Of real matrices the values come as real and imaginary parts, and pairs of conjugates share two
 * columns: the real and the imaginary part of the first one's vector. */

static int64_t real_bytes(const cpu_linalg_kernel *k) {
    return k->loops == &mica_cpu_linalg_f32 ? 4 : 8;
}

static double part(const cpu_linalg_kernel *k, const void *x, int64_t i) {
    return real_bytes(k) == 4 ? ((const float *)x)[i] : ((const double *)x)[i];
}

int64_t mica_cpu_lapack_eig_work(cpu_linalg_kernel *k) {
    int64_t n = k->rows, info = 0, ask = -1;
    double nothing[2] = {0}, size[2] = {0};
    if (k->complex)
        k->lapack_complex->geev("N", "V", &n, nothing, &n, nothing, nothing, &n, nothing, &n, size,
                                &ask, nothing, &info, 1, 1);
    else
        k->lapack->geev("N", "V", &n, nothing, &n, nothing, nothing, nothing, &n, nothing, &n, size,
                        &ask, &info, 1, 1);
    k->work = cpu_max((int64_t)(part(k, size, 0) * (1 + 1e-6)) + 64, 4 * n);
    return (2 * n * n + 2 * n + k->work) * k->bytes + 2 * n * real_bytes(k);
}

static void unpack_real(const cpu_linalg_kernel *k, const void *re, const void *im, const void *v,
                        cpu_number *values, cpu_number *vectors) {
    int64_t n = k->rows;
    for (int64_t j = 0; j < n; j++) {
        double imaginary = part(k, im, j);
        /* 0: real; the first of a pair is above the real line */
        int64_t first = imaginary < 0 ? j - 1 : j;
        double sign = imaginary == 0 ? 0 : imaginary < 0 ? -1 : 1;
        values[j] = (cpu_number){part(k, re, j), imaginary};
        for (int64_t i = 0; i < n; i++)
            vectors[i * n + j] = (cpu_number){
                part(k, v, first * n + i), sign == 0 ? 0 : sign * part(k, v, (first + 1) * n + i)};
    }
}

bool mica_cpu_lapack_eig(const cpu_linalg_kernel *k, const void *a, cpu_number *values,
                         cpu_number *vectors, void *work) {
    int64_t n = k->rows, info = 0;
    void *v = offset(k, work, n * n), *w = offset(k, v, n * n), *rest = offset(k, w, 2 * n);
    void *reals = offset(k, rest, k->work);
    if (k->complex) {
        transpose_numbers(k, a, work, n);
        k->lapack_complex->geev("N", "V", &n, work, &n, w, v, &n, v, &n, rest, &k->work, reals,
                                &info, 1, 1);
    } else {
        transpose(k, a, n, work, n, n, n);
        k->lapack->geev("N", "V", &n, work, &n, w, offset(k, w, n), v, &n, v, &n, rest, &k->work,
                        &info, 1, 1);
    }
    if (answer(k, info)) return false;
    if (!k->complex)
        unpack_real(k, w, offset(k, w, n), v, values, vectors);
    else
        for (int64_t j = 0; j < n; j++) {
            values[j] = (cpu_number){part(k, w, 2 * j), part(k, w, 2 * j + 1)};
            for (int64_t i = 0; i < n; i++)
                vectors[i * n + j] =
                    (cpu_number){part(k, v, 2 * (j * n + i)), part(k, v, 2 * (j * n + i) + 1)};
        }
    for (int64_t j = 0; j < n; j++) mica_cpu_fix_phase(vectors + j, n, n);
    return true;
}
