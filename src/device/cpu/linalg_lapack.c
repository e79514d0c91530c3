/* One matrix at a time through LAPACK, which stores matrices by columns: a row-major matrix is its
 * transpose there. Matrices are finite; `false` says that the built-in version has to serve. */
#include "device/cpu/linalg.h"
#include "device/cpu/number.h"

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
    bool narrow = k->part_bytes == 4;
    k->lapack = narrow ? &lapack->f32 : &lapack->f64;
    k->lapack_complex = narrow ? &lapack->c64 : &lapack->c128;
    k->wide = lapack->wide;
    return NULL;
}

/* What a function wrote to an integer. */
static int64_t answer(const cpu_linalg_kernel *k, int64_t written) {
    return k->wide ? written : (int32_t)written;
}

/* Part i of an array: complex numbers have two each. */
static double part(const cpu_linalg_kernel *k, const void *x, int64_t i) {
    return k->part_bytes == 4 ? ((const float *)x)[i] : ((const double *)x)[i];
}

static int64_t parts_of(const cpu_linalg_kernel *k) {
    return k->complex ? 2 : 1;
}

/* A size of work that was asked for: f32 may have rounded it down. */
static int64_t work_size(const cpu_linalg_kernel *k, const void *work) {
    return (int64_t)(part(k, work, 0) * (1 + 1e-6)) + 64;
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
TRANSPOSE(transpose_4, uint32_t)
TRANSPOSE(transpose_8, uint64_t)
TRANSPOSE(transpose_16, cpu_number)

/* y[j, i] = x[i, j]; x has rows of x_step elements, y of y_step. */
static void transpose(const cpu_linalg_kernel *k, const void *x, int64_t x_step, void *y,
                      int64_t y_step, int64_t rows, int64_t columns) {
    if (k->bytes == 4)
        transpose_4(x, x_step, y, y_step, rows, columns);
    else if (k->bytes == 8)
        transpose_8(x, x_step, y, y_step, rows, columns);
    else
        transpose_16(x, x_step, y, y_step, rows, columns);
}

/* ---- cholesky ---------------------------------------------------------------------------------*/

/* The lower triangle by rows is the upper one by columns; of a Hermitian matrix it is that of the
 * conjugate there, whose factor is the adjoint's conjugate: by rows, what is wanted. */
bool mica_cpu_lapack_cholesky(const cpu_linalg_kernel *k, const void *a, void *y) {
    int64_t n = k->rows, info = 0, row_bytes = n * k->bytes;
    for (int64_t i = 0; i < n; i++) {
        size_t inside = (size_t)((i + 1) * k->bytes);
        memcpy((char *)y + i * row_bytes, (const char *)a + i * row_bytes, inside);
        memset((char *)y + i * row_bytes + inside, 0, (size_t)row_bytes - inside);
    }
    (k->complex ? k->lapack_complex->potrf : k->lapack->potrf)("U", &n, y, &n, &info, 1);
    if (answer(k, info) < 0) return false;
    bool definite = answer(k, info) == 0;
    for (int64_t i = 0; definite && i < n; i++) {
        double diagonal = part(k, y, i * (n + 1) * parts_of(k));
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
    (k->complex ? k->lapack_complex->getrf : k->lapack->getrf)(&m, &n, columns, &m, places, &info);
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
static void factor(const cpu_linalg_kernel *k, void *a, void *tau, void *work, const int64_t *size,
                   int64_t *info) {
    (k->complex ? k->lapack_complex->geqrf : k->lapack->geqrf)(&k->rows, &k->columns, a, &k->rows,
                                                               tau, work, size, info);
}

static void make_q(const cpu_linalg_kernel *k, void *a, const void *tau, void *work,
                   const int64_t *size, int64_t *info) {
    int64_t count = cpu_min(k->rows, k->columns);
    (k->complex ? k->lapack_complex->ungqr : k->lapack->orgqr)(&k->rows, &k->inner, &count, a,
                                                               &k->rows, tau, work, size, info);
}

int64_t mica_cpu_lapack_qr_work(cpu_linalg_kernel *k) {
    int64_t m = k->rows, n = k->columns, info = 0, ask = -1;
    double nothing[2] = {0}, first[2] = {0}, second[2] = {0};
    factor(k, nothing, nothing, first, &ask, &info);
    make_q(k, nothing, nothing, second, &ask, &info);
    k->work = cpu_max(work_size(k, first), work_size(k, second));
    return (m * cpu_max(n, k->inner) + cpu_min(m, n) + k->work) * k->bytes;
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
    factor(k, work, tau, rest, &k->work, &info);
    if (answer(k, info)) return false;
    transpose(k, work, m, r, n, n, inner);
    zero_below(k, r);
    make_q(k, work, tau, rest, &k->work, &info);
    if (answer(k, info)) return false;
    transpose(k, work, m, q, inner, inner, m);
    return true;
}

/* ---- eigh -------------------------------------------------------------------------------------*/

static cpu_number number_at(const cpu_linalg_kernel *k, const void *x, int64_t i) {
    if (!k->complex) return (cpu_number){part(k, x, i), 0};
    return (cpu_number){part(k, x, 2 * i), part(k, x, 2 * i + 1)};
}

static void multiply_at(const cpu_linalg_kernel *k, void *x, int64_t i, cpu_number factor) {
    cpu_number product = times(factor, number_at(k, x, i));
    if (k->part_bytes == 4) {
        float *to = (float *)x + i * parts_of(k);
        to[0] = (float)product.re;
        if (k->complex) to[1] = (float)product.im;
    } else {
        double *to = (double *)x + i * parts_of(k);
        to[0] = product.re;
        if (k->complex) to[1] = product.im;
    }
}

static void multiply(const cpu_linalg_kernel *k, void *x, int64_t step, cpu_number factor,
                     int64_t n) {
    if (factor.re == 1 && factor.im == 0) return;
    for (int64_t i = 0; i < n; i++) multiply_at(k, x, i * step, factor);
}

static void make_real(const cpu_linalg_kernel *k, void *x, int64_t i) {
    if (!k->complex) return;
    if (k->part_bytes == 4)
        ((float *)x)[2 * i + 1] = 0;
    else
        ((double *)x)[2 * i + 1] = 0;
}

/* Makes the first element of at least 7/10 of the largest magnitude real and positive; what the
 * vector was multiplied with for it. */
static cpu_number fix_phase(const cpu_linalg_kernel *k, void *x, int64_t step, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, magnitude(number_at(k, x, i * step)));
    for (int64_t i = 0; largest > 0 && i < n; i++) {
        cpu_number first = number_at(k, x, i * step);
        double length = magnitude(first);
        if (length < 0.7 * largest) continue;
        cpu_number phase = {first.re / length, -first.im / length};
        multiply(k, x, step, phase, n);
        make_real(k, x, i * step);
        return phase;
    }
    return (cpu_number){1, 0};
}

static void *offset(const cpu_linalg_kernel *k, const void *x, int64_t i) {
    return (char *)(uintptr_t)x + i * k->bytes;
}

/* What LAPACK works with, for eigh and svd: numbers, real ones too when those are complex, and
 * integers. */
typedef struct work_space {
    void *numbers, *reals, *integers;
} work_space;

/* Where it lies: numbers behind `before` elements of ours. */
static int64_t reals_at(const cpu_linalg_kernel *k, int64_t before) {
    return (int64_t)cpu_align((size_t)((before + k->work) * k->bytes));
}

static int64_t integers_at(const cpu_linalg_kernel *k, int64_t before) {
    return reals_at(k, before) + (int64_t)cpu_align((size_t)(k->reals * k->part_bytes));
}

static work_space space_in(const cpu_linalg_kernel *k, void *work, int64_t before) {
    return (work_space){offset(k, work, before), (char *)work + reals_at(k, before),
                        (char *)work + integers_at(k, before)};
}

static void eigenvectors(const cpu_linalg_kernel *k, void *a, void *values, const work_space *w,
                         const int64_t *work, const int64_t *reals, const int64_t *integers,
                         int64_t *info) {
    const int64_t *n = &k->rows;
    if (k->complex)
        k->lapack_complex->heevd("V", "U", n, a, n, values, w->numbers, work, w->reals, reals,
                                 w->integers, integers, info, 1, 1);
    else
        k->lapack->syevd("V", "U", n, a, n, values, w->numbers, work, w->integers, integers, info,
                         1, 1);
}

int64_t mica_cpu_lapack_eigh_work(cpu_linalg_kernel *k) {
    int64_t n = k->rows, info = 0, ask = -1, integers = 0;
    double nothing[2] = {0}, size[2] = {0}, reals = 0;
    work_space asked = {size, &reals, &integers};
    eigenvectors(k, nothing, nothing, &asked, &ask, &ask, &ask, &info);
    k->work = cpu_max(work_size(k, size), 1 + 6 * n + 2 * n * n);
    k->reals = k->complex ? cpu_max(work_size(k, &reals), 1 + 5 * n + 2 * n * n) : 0;
    k->integers = cpu_max(answer(k, integers), 3 + 5 * n);
    return integers_at(k, n * n) + k->integers * 8;
}

static void conjugate(const cpu_linalg_kernel *k, void *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (k->part_bytes == 4)
            ((float *)x)[2 * i + 1] *= -1;
        else
            ((double *)x)[2 * i + 1] *= -1;
}

/* By columns a Hermitian matrix is its conjugate, which has the conjugates of its vectors. */
bool mica_cpu_lapack_eigh(const cpu_linalg_kernel *k, const void *a, void *values, void *vectors,
                          void *work) {
    int64_t n = k->rows, info = 0;
    work_space w = space_in(k, work, n * n);
    memcpy(work, a, (size_t)(n * n * k->bytes));
    eigenvectors(k, work, values, &w, &k->work, &k->reals, &k->integers, &info);
    if (answer(k, info)) return false;
    if (k->complex) conjugate(k, work, n * n);
    for (int64_t j = 0; j < n; j++) fix_phase(k, offset(k, work, j * n), 1, n);
    transpose(k, work, n, vectors, n, n, n);
    return true;
}

/* ---- svd --------------------------------------------------------------------------------------
 * x' = v s u': the right vectors by columns are vh by rows, and the left ones, transposed and by
 * columns, are u by rows; and so of complex matrices, whose transpose conj(v) s u' is. */

static void singular_vectors(const cpu_linalg_kernel *k, void *a, void *u, void *s, void *vh,
                             const work_space *w, const int64_t *work, int64_t *info) {
    const int64_t *m = &k->rows, *n = &k->columns;
    int64_t count = cpu_min(*m, *n);
    if (k->complex)
        k->lapack_complex->gesdd("S", n, m, a, n, s, vh, n, u, &count, w->numbers, work, w->reals,
                                 w->integers, info, 1);
    else
        k->lapack->gesdd("S", n, m, a, n, s, vh, n, u, &count, w->numbers, work, w->integers, info,
                         1);
}

int64_t mica_cpu_lapack_svd_work(cpu_linalg_kernel *k) {
    int64_t m = k->rows, n = k->columns, count = cpu_min(m, n), length = cpu_max(m, n);
    int64_t info = 0, ask = -1, integers = 0;
    double nothing[2] = {0}, size[2] = {0}, reals = 0;
    work_space asked = {size, &reals, &integers};
    singular_vectors(k, nothing, nothing, nothing, nothing, &asked, &ask, &info);
    k->work = cpu_max(work_size(k, size), count * (4 * count + 7) + length);
    k->reals = k->complex ? count * cpu_max(5 * count + 7, 2 * length + 2 * count + 1) : 0;
    return integers_at(k, m * n) + 8 * count * 8;
}

bool mica_cpu_lapack_svd(const cpu_linalg_kernel *k, const void *a, void *u, void *s, void *vh,
                         void *work) {
    int64_t m = k->rows, n = k->columns, count = cpu_min(m, n), info = 0;
    work_space w = space_in(k, work, m * n);
    memcpy(work, a, (size_t)(m * n * k->bytes));
    singular_vectors(k, work, u, s, vh, &w, &k->work, &info);
    if (answer(k, info)) return false;
    for (int64_t j = 0; j < count; j++) {
        cpu_number phase = fix_phase(k, offset(k, u, j), count, m);
        phase.im = -phase.im;
        multiply(k, offset(k, vh, j * n), 1, phase, n);
    }
    return true;
}

/* ---- eig --------------------------------------------------------------------------------------
 * Of real matrices the values come as real and imaginary parts, and pairs of conjugates share two
 * columns: the real and the imaginary part of the first one's vector. */

/* Values of a to w, vectors to v; LAPACK's answer. With a size of -1 only asks for the best one. */
static int64_t call_geev(const cpu_linalg_kernel *k, void *a, void *w, void *v, void *work,
                         const int64_t *size, void *reals) {
    int64_t n = k->rows, info = 0;
    if (k->complex)
        k->lapack_complex->geev("N", "V", &n, a, &n, w, v, &n, v, &n, work, size, reals, &info, 1,
                                1);
    else
        k->lapack->geev("N", "V", &n, a, &n, w, offset(k, w, n), v, &n, v, &n, work, size, &info, 1,
                        1);
    return info;
}

int64_t mica_cpu_lapack_eig_work(cpu_linalg_kernel *k) {
    int64_t n = k->rows, ask = -1;
    double nothing[2] = {0}, size[2] = {0};
    call_geev(k, nothing, nothing, nothing, size, &ask, nothing);
    k->work = cpu_max(work_size(k, size), 4 * n);
    return (2 * n * n + 2 * n + k->work) * k->bytes + 2 * n * k->part_bytes;
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
    int64_t n = k->rows;
    void *v = offset(k, work, n * n), *w = offset(k, v, n * n), *rest = offset(k, w, 2 * n);
    transpose(k, a, n, work, n, n, n);
    int64_t info = call_geev(k, work, w, v, rest, &k->work, offset(k, rest, k->work));
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
