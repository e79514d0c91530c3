/* Linear algebra of complex matrices, by the methods of linalg.c and linalg_factor.c: the adjoint
 * stands where the transpose does there, and phases where signs do. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "device/ref/linalg.h"

typedef double _Complex number;

/* Row-major; owned. */
typedef struct matrix {
    int64_t rows, columns;
    number *data;
} matrix;

static number number_of(double re, double im) {
    number out;
    memcpy(&out, (const double[2]){re, im}, sizeof out);
    return out;
}

static mica_status create(int64_t rows, int64_t columns, matrix *out) {
    int64_t n = rows * columns;
    *out = (matrix){rows, columns, mica_calloc((size_t)(n ? n : 1), sizeof(number))};
    return out->data ? NULL : MICA_NO_MEMORY();
}

static mica_status create_like(const ref_value *value, matrix *out) {
    const mica_type *type = &value->type;
    return create(type->dims[type->rank - 2], type->dims[type->rank - 1], out);
}

static void release(matrix *a) {
    mica_free(a->data);
    a->data = NULL;
}

static void load(matrix *a, const ref_value *value, int64_t b) {
    int64_t n = a->rows * a->columns;
    for (int64_t i = 0; i < n; i++) {
        ref_number element = ref_load(value->type.dtype, value->data, b * n + i);
        a->data[i] = number_of(element.real, element.imaginary);
    }
}

static void put(ref_value *value, int64_t i, number x) {
    ref_store(value->type.dtype, value->data, i,
              (ref_number){.real = creal(x), .imaginary = cimag(x)});
}

/* The first rows and columns of a matrix, as the value's type says. */
static void store(const matrix *a, ref_value *value, int64_t b) {
    const mica_type *type = &value->type;
    int64_t rows = type->dims[type->rank - 2], columns = type->dims[type->rank - 1];
    for (int64_t i = 0; i < rows * columns; i++)
        put(value, b * rows * columns + i, AT(*a, i / columns, i % columns));
}

static bool is_finite(number x) {
    return isfinite(creal(x)) && isfinite(cimag(x));
}

static bool all_finite(const matrix *a) {
    for (int64_t i = 0; i < a->rows * a->columns; i++)
        if (!is_finite(a->data[i])) return false;
    return true;
}

static void fill(matrix *a, number value) {
    for (int64_t i = 0; i < a->rows * a->columns; i++) a->data[i] = value;
}

static void fill_nan(matrix *a) {
    fill(a, number_of(NAN, NAN));
}

static void set_identity(matrix *a) {
    fill(a, 0);
    for (int64_t i = 0; i < a->rows && i < a->columns; i++) AT(*a, i, i) = 1;
}

static double square(number x) {
    return creal(x) * creal(x) + cimag(x) * cimag(x);
}

static double largest_part(number x) {
    return fmax(fabs(creal(x)), fabs(cimag(x)));
}

/* A power of two near 1 / largest: scaled by it, squares neither overflow nor vanish. */
static double scale_for(double largest) {
    return largest == 0 ? 1 : ldexp(1, ilogb(largest) < -1000 ? 1000 : -ilogb(largest));
}

/* ---- triangular_solve -------------------------------------------------------------------------*/

typedef struct solve_flags {
    bool left, lower, transpose, unit;
} solve_flags;

static number triangle_at(solve_flags flags, const matrix *a, int64_t i, int64_t j) {
    if (i == j && flags.unit) return 1;
    int64_t row = flags.transpose ? j : i, column = flags.transpose ? i : j;
    bool inside = flags.lower ? column <= row : column >= row;
    return inside ? AT(*a, row, column) : 0;
}

static void solve_system(solve_flags flags, const matrix *a, matrix *x, int64_t s) {
    bool first_to_last = (flags.lower != flags.transpose) == flags.left;
    int64_t n = a->rows, step = flags.left ? x->columns : 1;
    number *unknowns = x->data + (flags.left ? s : s * x->columns);
    for (int64_t done = 0; done < n; done++) {
        int64_t i = first_to_last ? done : n - 1 - done;
        number rest = unknowns[i * step];
        for (int64_t before = 0; before < done; before++) {
            int64_t k = first_to_last ? before : n - 1 - before;
            number factor = flags.left ? triangle_at(flags, a, i, k) : triangle_at(flags, a, k, i);
            rest -= factor * unknowns[k * step];
        }
        unknowns[i * step] = rest / triangle_at(flags, a, i, i);
    }
}

mica_status ref_triangular_solve_complex(const mica_node *n, ref_value *const *operands,
                                         ref_value **results) {
    solve_flags flags = {mica_node_int(n, "left") != 0, mica_node_int(n, "lower") != 0,
                         mica_node_int(n, "transpose") != 0, mica_node_int(n, "unit") != 0};
    matrix a = {0}, x = {0};
    mica_status status = create_like(operands[0], &a);
    if (!status) status = create_like(operands[1], &x);
    for (int64_t b = 0; !status && b < ref_matrix_count(&operands[0]->type); b++) {
        load(&a, operands[0], b);
        load(&x, operands[1], b);
        for (int64_t s = 0; s < (flags.left ? x.columns : x.rows); s++)
            solve_system(flags, &a, &x, s);
        store(&x, results[0], b);
    }
    release(&a);
    release(&x);
    return status;
}

/* ---- cholesky ---------------------------------------------------------------------------------*/

/* The diagonal's imaginary parts are not looked at. */
static bool factor_hermitian(matrix *a) {
    for (int64_t j = 0; j < a->rows; j++) {
        for (int64_t i = j; i < a->rows; i++) {
            number rest = AT(*a, i, j);
            for (int64_t k = 0; k < j; k++) rest -= AT(*a, i, k) * conj(AT(*a, j, k));
            if (i == j && !(creal(rest) > 0)) return false;
            AT(*a, i, j) = i == j ? sqrt(creal(rest)) : rest / creal(AT(*a, j, j));
        }
        for (int64_t i = 0; i < j; i++) AT(*a, i, j) = 0;
    }
    return true;
}

mica_status ref_cholesky_complex(const mica_node *n, ref_value *const *operands,
                                 ref_value **results) {
    (void)n;
    matrix a;
    MICA_TRY(create_like(operands[0], &a));
    for (int64_t b = 0; b < ref_matrix_count(&operands[0]->type); b++) {
        load(&a, operands[0], b);
        if (!factor_hermitian(&a)) fill_nan(&a);
        store(&a, results[0], b);
    }
    release(&a);
    return NULL;
}

/* ---- lu ---------------------------------------------------------------------------------------*/

static double size_of(number x) {
    return fabs(creal(x)) + fabs(cimag(x));
}

static void exchange(number *x, number *y, int64_t step, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        number kept = x[i * step];
        x[i * step] = y[i * step];
        y[i * step] = kept;
    }
}

static void factor_columns(matrix *a, int64_t *pivots) {
    for (int64_t j = 0; j < a->columns; j++) {
        for (int64_t i = 0; i < a->rows; i++)
            for (int64_t k = 0; k < i && k < j; k++) AT(*a, i, j) -= AT(*a, i, k) * AT(*a, k, j);
        if (j >= a->rows) continue;
        int64_t best = j;
        for (int64_t i = j + 1; i < a->rows; i++)
            if (size_of(AT(*a, i, j)) > size_of(AT(*a, best, j))) best = i;
        pivots[j] = best;
        exchange(&AT(*a, j, 0), &AT(*a, best, 0), 1, a->columns);
        for (int64_t i = j + 1; i < a->rows; i++)
            if (AT(*a, j, j) != 0) AT(*a, i, j) /= AT(*a, j, j);
    }
}

mica_status ref_lu_complex(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    matrix a;
    MICA_TRY(create_like(operands[0], &a));
    int64_t count = a.rows < a.columns ? a.rows : a.columns;
    int64_t *pivots = mica_calloc((size_t)(count + a.rows + 1), sizeof *pivots);
    if (!pivots) {
        release(&a);
        return MICA_NO_MEMORY();
    }
    for (int64_t b = 0; b < ref_matrix_count(&operands[0]->type); b++) {
        load(&a, operands[0], b);
        factor_columns(&a, pivots);
        store(&a, results[0], b);
        ref_store_permutation(results, b, pivots, pivots + count, a.rows, count);
    }
    mica_free(pivots);
    release(&a);
    return NULL;
}

/* ---- qr ---------------------------------------------------------------------------------------*/

/* Column x of a, from its diagonal on, goes to beta (1, 0, ...), beta real and of the sign opposite
 * to its first real part: by 1 - w w* / (w* x) with w = x - beta (1, 0, ...). A column that is
 * there already is left as it is. */
static void reflect(matrix *a, matrix *q, int64_t j, number *w) {
    double below = 0, length = 0;
    number x = AT(*a, j, j), factor = 0;
    for (int64_t i = j + 1; i < a->rows; i++) below = fmax(below, largest_part(AT(*a, i, j)));
    if (below == 0 && cimag(x) == 0) return;
    double unit = scale_for(fmax(below, largest_part(x)));
    for (int64_t i = j; i < a->rows; i++) {
        w[i] = unit * AT(*a, i, j);
        length += square(w[i]);
    }
    w[j] += copysign(sqrt(length), creal(x));
    for (int64_t i = j; i < a->rows; i++) factor += conj(w[i]) * (unit * AT(*a, i, j));
    for (int64_t c = 0; c < a->columns; c++) {
        number along = 0;
        for (int64_t i = j; i < a->rows; i++) along += conj(w[i]) * AT(*a, i, c);
        for (int64_t i = j; i < a->rows; i++) AT(*a, i, c) -= along / factor * w[i];
    }
    AT(*a, j, j) = creal(AT(*a, j, j));
    for (int64_t i = j + 1; i < a->rows; i++) AT(*a, i, j) = 0;
    for (int64_t r = 0; r < q->rows; r++) {
        number along = 0;
        for (int64_t i = j; i < a->rows; i++) along += AT(*q, r, i) * w[i];
        for (int64_t i = j; i < a->rows; i++) AT(*q, r, i) -= along / conj(factor) * conj(w[i]);
    }
}

/* a becomes r, and q (square) the product of the reflections. */
static mica_status reflect_all(matrix *a, matrix *q) {
    number *w = mica_calloc((size_t)(a->rows + 1), sizeof *w);
    if (!w) return MICA_NO_MEMORY();
    set_identity(q);
    for (int64_t j = 0; j < a->columns && j < a->rows; j++) reflect(a, q, j, w);
    mica_free(w);
    return NULL;
}

mica_status ref_qr_complex(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    matrix a = {0}, q = {0};
    mica_status status = create_like(operands[0], &a);
    if (!status) status = create(a.rows, a.rows, &q);
    for (int64_t b = 0; !status && b < ref_matrix_count(&operands[0]->type); b++) {
        load(&a, operands[0], b);
        if (all_finite(&a))
            status = reflect_all(&a, &q);
        else
            fill_nan(&a), fill_nan(&q);
        store(&q, results[0], b);
        store(&a, results[1], b);
    }
    release(&a);
    release(&q);
    return status;
}

/* ---- eigh -------------------------------------------------------------------------------------*/

/* Turns column j so that a(i, j) is real, then rotates as for a symmetric matrix. */
static void rotate(matrix *a, matrix *v, int64_t i, int64_t j) {
    double length = cabs(AT(*a, i, j));
    number phase = AT(*a, i, j) / length;
    double angle = 0.5 * atan(2 * length / creal(AT(*a, j, j) - AT(*a, i, i)));
    double c = cos(angle), s = sin(angle);
    for (int64_t k = 0; k < a->rows; k++) {
        number x = AT(*a, i, k), y = phase * AT(*a, j, k);
        AT(*a, i, k) = c * x - s * y;
        AT(*a, j, k) = s * x + c * y;
    }
    for (int64_t k = 0; k < a->rows; k++) {
        number x = AT(*a, k, i), y = conj(phase) * AT(*a, k, j);
        AT(*a, k, i) = c * x - s * y;
        AT(*a, k, j) = s * x + c * y;
        x = AT(*v, k, i), y = conj(phase) * AT(*v, k, j);
        AT(*v, k, i) = c * x - s * y;
        AT(*v, k, j) = s * x + c * y;
    }
    AT(*a, i, j) = AT(*a, j, i) = 0;
    AT(*a, i, i) = creal(AT(*a, i, i));
    AT(*a, j, j) = creal(AT(*a, j, j));
}

/* Sweeps until nothing off the diagonal counts; at most 100, where 10 are usual. */
static void diagonalize(matrix *a, matrix *v) {
    double total = 0, largest = 0;
    set_identity(v);
    for (int64_t i = 0; i < a->rows * a->rows; i++)
        largest = fmax(largest, largest_part(a->data[i]));
    double unit = scale_for(largest);
    for (int64_t i = 0; i < a->rows * a->rows; i++) {
        a->data[i] *= unit;
        total += square(a->data[i]);
    }
    for (int sweep = 0; sweep < 100; sweep++) {
        double off = 0;
        for (int64_t i = 0; i < a->rows; i++)
            for (int64_t j = i + 1; j < a->rows; j++) off += square(AT(*a, i, j));
        if (off <= 1e-34 * total) break;
        for (int64_t i = 0; i < a->rows; i++)
            for (int64_t j = i + 1; j < a->rows; j++)
                if (cabs(AT(*a, i, j)) > 0) rotate(a, v, i, j);
    }
    for (int64_t i = 0; i < a->rows; i++) AT(*a, i, i) /= unit;
}

/* What makes the first element of at least 7/10 of the column's largest magnitude, of its first
 * `rows`, real and positive. */
static number column_phase(const matrix *v, int64_t j, int64_t rows) {
    double largest = 0;
    for (int64_t i = 0; i < rows; i++) largest = fmax(largest, cabs(AT(*v, i, j)));
    for (int64_t i = 0; largest > 0 && i < rows; i++)
        if (cabs(AT(*v, i, j)) >= 0.7 * largest) return conj(AT(*v, i, j)) / cabs(AT(*v, i, j));
    return 1;
}

/* The diagonal of a ascending, the columns of v with it. */
static void sort_eigenvalues(matrix *a, matrix *v) {
    for (int64_t i = 0; i < a->rows; i++) {
        int64_t least = i;
        for (int64_t j = i + 1; j < a->rows; j++)
            if (creal(AT(*a, j, j)) < creal(AT(*a, least, least))) least = j;
        exchange(&AT(*a, i, i), &AT(*a, least, least), 1, 1);
        exchange(&AT(*v, 0, i), &AT(*v, 0, least), v->columns, v->rows);
    }
}

static bool lower_is_finite(const matrix *a) {
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j <= i; j++)
            if (!is_finite(AT(*a, i, j))) return false;
    return true;
}

static void eigenvectors(matrix *a, matrix *v) {
    for (int64_t i = 0; i < a->rows; i++) {
        AT(*a, i, i) = creal(AT(*a, i, i));
        for (int64_t j = i + 1; j < a->rows; j++) AT(*a, i, j) = conj(AT(*a, j, i));
    }
    diagonalize(a, v);
    sort_eigenvalues(a, v);
    for (int64_t j = 0; j < a->rows; j++) {
        number phase = column_phase(v, j, a->rows);
        for (int64_t i = 0; i < a->rows; i++) AT(*v, i, j) *= phase;
    }
}

mica_status ref_eigh_complex(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    matrix a = {0}, v = {0};
    mica_status status = create_like(operands[0], &a);
    if (!status) status = create(a.rows, a.rows, &v);
    for (int64_t b = 0; !status && b < ref_matrix_count(&operands[0]->type); b++) {
        load(&a, operands[0], b);
        if (lower_is_finite(&a))
            eigenvectors(&a, &v);
        else
            fill_nan(&a), fill_nan(&v);
        for (int64_t i = 0; i < a.rows; i++) put(results[0], b * a.rows + i, AT(a, i, i));
        store(&v, results[1], b);
    }
    release(&a);
    release(&v);
    return status;
}

/* ---- svd --------------------------------------------------------------------------------------*/

typedef struct singular_work {
    matrix x, block, vectors, u, v;
} singular_work;

static void work_free(singular_work *w) {
    release(&w->x);
    release(&w->block);
    release(&w->vectors);
    release(&w->u);
    release(&w->v);
}

static mica_status work_create(singular_work *w, const ref_value *x) {
    MICA_TRY(create_like(x, &w->x));
    int64_t size = w->x.rows + w->x.columns;
    MICA_TRY(create(size, size, &w->block));
    MICA_TRY(create(size, size, &w->vectors));
    MICA_TRY(create(w->x.rows, w->x.rows, &w->u));
    return create(w->x.columns, w->x.columns, &w->v);
}

/* Makes column j of a unit vector orthogonal to those before; one that vanishes is replaced by what
 * is left of a coordinate axis. */
static void orthonormalize(matrix *a, int64_t j) {
    for (int64_t axis = -1; axis < a->rows; axis++) {
        double length = 0;
        for (int64_t i = 0; axis >= 0 && i < a->rows; i++) AT(*a, i, j) = i == axis;
        for (int twice = 0; twice < 2; twice++)
            for (int64_t k = 0; k < j; k++) {
                number along = 0;
                for (int64_t i = 0; i < a->rows; i++) along += conj(AT(*a, i, k)) * AT(*a, i, j);
                for (int64_t i = 0; i < a->rows; i++) AT(*a, i, j) -= along * AT(*a, i, k);
            }
        for (int64_t i = 0; i < a->rows; i++) length += square(AT(*a, i, j));
        length = sqrt(length);
        if (length < 0.1) continue; /* of what was 1 / sqrt(2) or 1 long */
        for (int64_t i = 0; i < a->rows; i++) AT(*a, i, j) /= length;
        return;
    }
}

/* Columns from `count` on: as the reflections of qr continue the columns before. */
static mica_status complete(matrix *a, int64_t count) {
    matrix part = {0}, q = {0};
    mica_status status = create(a->rows, count, &part);
    if (!status) status = create(a->rows, a->rows, &q);
    if (!status) {
        for (int64_t i = 0; i < a->rows * count; i++) part.data[i] = AT(*a, i / count, i % count);
        status = reflect_all(&part, &q);
        for (int64_t i = 0; i < a->rows; i++)
            for (int64_t j = count; j < a->rows; j++) AT(*a, i, j) = AT(q, i, j);
    }
    release(&part);
    release(&q);
    return status;
}

/* [0 x; x* 0] has eigenvalues s and -s with vectors (u, v) and (u, -v) over sqrt(2). */
static mica_status decompose(singular_work *w, double *s) {
    int64_t rows = w->x.rows, columns = w->x.columns, size = rows + columns;
    int64_t count = rows < columns ? rows : columns;
    fill(&w->block, 0);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            AT(w->block, i, rows + j) = AT(w->x, i, j);
            AT(w->block, rows + j, i) = conj(AT(w->x, i, j));
        }
    diagonalize(&w->block, &w->vectors);
    sort_eigenvalues(&w->block, &w->vectors);
    for (int64_t j = 0; j < count; j++) {
        int64_t from = size - 1 - j;
        number phase = column_phase(&w->vectors, from, rows);
        s[j] = fmax(creal(AT(w->block, from, from)), 0);
        for (int64_t i = 0; i < rows; i++) AT(w->u, i, j) = phase * AT(w->vectors, i, from);
        for (int64_t i = 0; i < columns; i++)
            AT(w->v, i, j) = phase * AT(w->vectors, rows + i, from);
        orthonormalize(&w->u, j);
        orthonormalize(&w->v, j);
    }
    MICA_TRY(complete(&w->u, count));
    return complete(&w->v, count);
}

static void make_adjoint(matrix *a) {
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j <= i; j++) {
            number kept = conj(AT(*a, i, j));
            AT(*a, i, j) = conj(AT(*a, j, i));
            AT(*a, j, i) = kept;
        }
}

static mica_status run_svd(singular_work *w, double *s, ref_value *const *operands,
                           ref_value **results) {
    int64_t count = w->x.rows < w->x.columns ? w->x.rows : w->x.columns;
    for (int64_t b = 0; b < ref_matrix_count(&operands[0]->type); b++) {
        load(&w->x, operands[0], b);
        if (all_finite(&w->x))
            MICA_TRY(decompose(w, s));
        else {
            fill_nan(&w->u), fill_nan(&w->v);
            for (int64_t j = 0; j < count; j++) s[j] = NAN;
        }
        store(&w->u, results[0], b);
        for (int64_t j = 0; j < count; j++) put(results[1], b * count + j, s[j]);
        make_adjoint(&w->v);
        store(&w->v, results[2], b);
    }
    return NULL;
}

mica_status ref_svd_complex(const mica_node *n, ref_value *const *operands, ref_value **results) {
    (void)n;
    singular_work w = {0};
    mica_status status = work_create(&w, operands[0]);
    double *s = mica_calloc((size_t)(w.x.rows + 1), sizeof *s);
    if (!status) status = s ? run_svd(&w, s, operands, results) : MICA_NO_MEMORY();
    mica_free(s);
    work_free(&w);
    return status;
}
