/* LU, QR, eigenvalues and singular values by plain methods, in f64: LU row by row of its
 * definition, QR by reflections written out as matrices, eigenvalues by Jacobi's rotations, and
 * singular values as the eigenvalues of [0 x; x' 0]. */
#include <math.h>

#include "device/ref/linalg.h"

static bool all_finite(const ref_matrix *a) {
    for (int64_t i = 0; i < a->rows * a->columns; i++)
        if (!isfinite(a->data[i])) return false;
    return true;
}

static void fill(ref_matrix *a, double value) {
    for (int64_t i = 0; i < a->rows * a->columns; i++) a->data[i] = value;
}

static void set_identity(ref_matrix *a) {
    fill(a, 0);
    for (int64_t i = 0; i < a->rows && i < a->columns; i++) AT(*a, i, i) = 1;
}

/* A power of two near 1 / largest: scaled by it, squares neither overflow nor vanish. */
static double scale_for(double largest) {
    return largest == 0 ? 1 : ldexp(1, ilogb(largest) < -1000 ? 1000 : -ilogb(largest));
}

/* ---- lu ---------------------------------------------------------------------------------------*/

static void swap_rows(ref_matrix *a, int64_t i, int64_t j) {
    for (int64_t c = 0; c < a->columns; c++) {
        double kept = AT(*a, i, c);
        AT(*a, i, c) = AT(*a, j, c);
        AT(*a, j, c) = kept;
    }
}

/* Column by column; what the columns before do to this one is a sum. */
static void factor_columns(ref_matrix *a, int64_t *pivots) {
    for (int64_t j = 0; j < a->columns; j++) {
        for (int64_t i = 0; i < a->rows; i++)
            for (int64_t k = 0; k < i && k < j; k++) AT(*a, i, j) -= AT(*a, i, k) * AT(*a, k, j);
        if (j >= a->rows) continue;
        int64_t best = j;
        for (int64_t i = j + 1; i < a->rows; i++)
            if (fabs(AT(*a, i, j)) > fabs(AT(*a, best, j))) best = i;
        pivots[j] = best;
        swap_rows(a, j, best);
        for (int64_t i = j + 1; i < a->rows; i++)
            if (AT(*a, j, j) != 0) AT(*a, i, j) /= AT(*a, j, j);
    }
}

void ref_store_permutation(ref_value *const *results, int64_t b, const int64_t *pivots,
                           int64_t *order, int64_t rows, int64_t count) {
    for (int64_t i = 0; i < rows; i++) order[i] = i;
    for (int64_t j = 0; j < count; j++) {
        int64_t kept = order[j];
        order[j] = order[pivots[j]];
        order[pivots[j]] = kept;
        ref_store(MICA_DTYPE_i32, results[1]->data, b * count + j,
                  ref_from_bits((uint64_t)pivots[j]));
    }
    for (int64_t i = 0; i < rows; i++)
        ref_store(MICA_DTYPE_i32, results[2]->data, b * rows + i,
                  ref_from_bits((uint64_t)order[i]));
}

mica_status ref_lu(const mica_node *n, ref_value *const *operands, ref_value **results) {
    if (ref_is_complex(operands[0])) return ref_lu_complex(n, operands, results);
    ref_matrix a;
    MICA_TRY(ref_matrix_like(operands[0], &a));
    int64_t count = a.rows < a.columns ? a.rows : a.columns;
    int64_t *pivots = mica_calloc((size_t)(count + a.rows + 1), sizeof *pivots);
    if (!pivots) {
        ref_matrix_free(&a);
        return MICA_NO_MEMORY();
    }
    for (int64_t b = 0; b < ref_matrix_count(&operands[0]->type); b++) {
        ref_matrix_load(&a, operands[0], b);
        factor_columns(&a, pivots);
        ref_matrix_store(&a, results[0], b);
        ref_store_permutation(results, b, pivots, pivots + count, a.rows, count);
    }
    mica_free(pivots);
    ref_matrix_free(&a);
    return NULL;
}

/* ---- qr ---------------------------------------------------------------------------------------*/

/* a = (I - 2 v v') a and q = q (I - 2 v v'), with v in the direction that sends column j of a, from
 * its diagonal on, to minus the sign of its first element. A column with nothing below its
 * diagonal is left as it is. */
static void reflect(ref_matrix *a, ref_matrix *q, int64_t j, double *v) {
    double tail = 0, length = 0, below = 0;
    for (int64_t i = j + 1; i < a->rows; i++) below = fmax(below, fabs(AT(*a, i, j)));
    if (below == 0) return;
    double factor = scale_for(fmax(below, fabs(AT(*a, j, j))));
    for (int64_t i = 0; i < a->rows; i++) v[i] = i < j ? 0 : factor * AT(*a, i, j);
    for (int64_t i = j + 1; i < a->rows; i++) tail += v[i] * v[i];
    v[j] += copysign(sqrt(v[j] * v[j] + tail), v[j]);
    for (int64_t i = j; i < a->rows; i++) length += v[i] * v[i];
    for (int64_t c = 0; c < a->columns; c++) {
        double along = 0;
        for (int64_t i = j; i < a->rows; i++) along += v[i] * AT(*a, i, c);
        for (int64_t i = j; i < a->rows; i++) AT(*a, i, c) -= 2 * along / length * v[i];
    }
    for (int64_t i = j + 1; i < a->rows; i++) AT(*a, i, j) = 0;
    for (int64_t r = 0; r < q->rows; r++) {
        double along = 0;
        for (int64_t i = j; i < a->rows; i++) along += v[i] * AT(*q, r, i);
        for (int64_t i = j; i < a->rows; i++) AT(*q, r, i) -= 2 * along / length * v[i];
    }
}

/* a becomes r, and q (square) the product of the reflections. */
static mica_status reflect_all(ref_matrix *a, ref_matrix *q) {
    double *v = mica_calloc((size_t)(a->rows + 1), sizeof *v);
    if (!v) return MICA_NO_MEMORY();
    set_identity(q);
    for (int64_t j = 0; j < a->columns && j < a->rows - 1; j++) reflect(a, q, j, v);
    mica_free(v);
    return NULL;
}

/* The first rows and columns of a matrix, as the value's type says. */
static void store_part(const ref_matrix *a, ref_value *value, int64_t b) {
    const mica_type *type = &value->type;
    int64_t rows = type->dims[type->rank - 2], columns = type->dims[type->rank - 1];
    for (int64_t i = 0; i < rows * columns; i++)
        ref_store(type->dtype, value->data, b * rows * columns + i,
                  ref_from_double(AT(*a, i / columns, i % columns)));
}

mica_status ref_qr(const mica_node *n, ref_value *const *operands, ref_value **results) {
    if (ref_is_complex(operands[0])) return ref_qr_complex(n, operands, results);
    ref_matrix a = {0}, q = {0};
    mica_status status = ref_matrix_like(operands[0], &a);
    if (!status) status = ref_matrix_create(a.rows, a.rows, &q);
    for (int64_t b = 0; !status && b < ref_matrix_count(&operands[0]->type); b++) {
        ref_matrix_load(&a, operands[0], b);
        if (all_finite(&a))
            status = reflect_all(&a, &q);
        else
            fill(&a, NAN), fill(&q, NAN);
        store_part(&q, results[0], b);
        store_part(&a, results[1], b);
    }
    ref_matrix_free(&a);
    ref_matrix_free(&q);
    return status;
}

/* ---- eigh -------------------------------------------------------------------------------------*/

/* Rotates rows and columns i, j of a so that a(i, j) becomes 0; v gathers the rotations. */
static void rotate(ref_matrix *a, ref_matrix *v, int64_t i, int64_t j) {
    double angle = 0.5 * atan(2 * AT(*a, i, j) / (AT(*a, j, j) - AT(*a, i, i)));
    double c = cos(angle), s = sin(angle);
    for (int64_t k = 0; k < a->rows; k++) {
        double x = AT(*a, i, k), y = AT(*a, j, k);
        AT(*a, i, k) = c * x - s * y;
        AT(*a, j, k) = s * x + c * y;
    }
    for (int64_t k = 0; k < a->rows; k++) {
        double x = AT(*a, k, i), y = AT(*a, k, j);
        AT(*a, k, i) = c * x - s * y;
        AT(*a, k, j) = s * x + c * y;
        x = AT(*v, k, i), y = AT(*v, k, j);
        AT(*v, k, i) = c * x - s * y;
        AT(*v, k, j) = s * x + c * y;
    }
    AT(*a, i, j) = AT(*a, j, i) = 0;
}

/* Sweeps until nothing off the diagonal counts; at most 100, where 10 are usual. */
static void diagonalize(ref_matrix *a, ref_matrix *v) {
    double total = 0, largest = 0;
    set_identity(v);
    for (int64_t i = 0; i < a->rows * a->rows; i++) largest = fmax(largest, fabs(a->data[i]));
    double factor = scale_for(largest);
    for (int64_t i = 0; i < a->rows * a->rows; i++) {
        a->data[i] *= factor;
        total += a->data[i] * a->data[i];
    }
    for (int sweep = 0; sweep < 100; sweep++) {
        double off = 0;
        for (int64_t i = 0; i < a->rows; i++)
            for (int64_t j = i + 1; j < a->rows; j++) off += AT(*a, i, j) * AT(*a, i, j);
        if (off <= 1e-34 * total) break;
        for (int64_t i = 0; i < a->rows; i++)
            for (int64_t j = i + 1; j < a->rows; j++)
                if (AT(*a, i, j) != 0) rotate(a, v, i, j);
    }
    for (int64_t i = 0; i < a->rows; i++) AT(*a, i, i) /= factor;
}

/* Column j has the sign that makes its first element of at least 7/10 of its largest magnitude
 * positive: -1 or 1. */
static double column_sign(const ref_matrix *v, int64_t j, int64_t rows) {
    double largest = 0;
    for (int64_t i = 0; i < rows; i++) largest = fmax(largest, fabs(AT(*v, i, j)));
    for (int64_t i = 0; i < rows; i++)
        if (fabs(AT(*v, i, j)) >= 0.7 * largest) return AT(*v, i, j) < 0 ? -1 : 1;
    return 1;
}

static void swap_columns(ref_matrix *v, int64_t i, int64_t j) {
    for (int64_t k = 0; k < v->rows; k++) {
        double kept = AT(*v, k, i);
        AT(*v, k, i) = AT(*v, k, j);
        AT(*v, k, j) = kept;
    }
}

/* The diagonal of a ascending, the columns of v with it. */
static void sort_eigenvalues(ref_matrix *a, ref_matrix *v) {
    for (int64_t i = 0; i < a->rows; i++) {
        int64_t least = i;
        for (int64_t j = i + 1; j < a->rows; j++)
            if (AT(*a, j, j) < AT(*a, least, least)) least = j;
        double kept = AT(*a, i, i);
        AT(*a, i, i) = AT(*a, least, least);
        AT(*a, least, least) = kept;
        swap_columns(v, i, least);
    }
}

mica_status ref_eigh(const mica_node *n, ref_value *const *operands, ref_value **results) {
    if (ref_is_complex(operands[0])) return ref_eigh_complex(n, operands, results);
    ref_matrix a = {0}, v = {0};
    mica_status status = ref_matrix_like(operands[0], &a);
    if (!status) status = ref_matrix_create(a.rows, a.rows, &v);
    for (int64_t b = 0; !status && b < ref_matrix_count(&operands[0]->type); b++) {
        ref_matrix_load(&a, operands[0], b);
        for (int64_t i = 0; i < a.rows; i++)
            for (int64_t j = i + 1; j < a.rows; j++) AT(a, i, j) = AT(a, j, i);
        if (all_finite(&a)) {
            diagonalize(&a, &v);
            sort_eigenvalues(&a, &v);
            for (int64_t j = 0; j < a.rows; j++) {
                double sign = column_sign(&v, j, a.rows);
                for (int64_t i = 0; i < a.rows; i++) AT(v, i, j) *= sign;
            }
        } else
            fill(&a, NAN), fill(&v, NAN);
        for (int64_t i = 0; i < a.rows; i++)
            ref_store(results[0]->type.dtype, results[0]->data, b * a.rows + i,
                      ref_from_double(AT(a, i, i)));
        ref_matrix_store(&v, results[1], b);
    }
    ref_matrix_free(&a);
    ref_matrix_free(&v);
    return status;
}

/* ---- svd --------------------------------------------------------------------------------------*/

/* What one decomposition works on: x (rows, columns), the block matrix and its vectors, and the
 * two factors as columns. */
typedef struct singular_work {
    ref_matrix x, block, vectors, u, v;
} singular_work;

static void work_free(singular_work *w) {
    ref_matrix_free(&w->x);
    ref_matrix_free(&w->block);
    ref_matrix_free(&w->vectors);
    ref_matrix_free(&w->u);
    ref_matrix_free(&w->v);
}

/* Makes column j of a unit vector orthogonal to those before; one that vanishes is replaced by what
 * is left of a coordinate axis. */
static void orthonormalize(ref_matrix *a, int64_t j) {
    for (int64_t axis = -1; axis < a->rows; axis++) {
        double length = 0;
        for (int64_t i = 0; axis >= 0 && i < a->rows; i++) AT(*a, i, j) = i == axis;
        for (int twice = 0; twice < 2; twice++)
            for (int64_t k = 0; k < j; k++) {
                double along = 0;
                for (int64_t i = 0; i < a->rows; i++) along += AT(*a, i, k) * AT(*a, i, j);
                for (int64_t i = 0; i < a->rows; i++) AT(*a, i, j) -= along * AT(*a, i, k);
            }
        for (int64_t i = 0; i < a->rows; i++) length += AT(*a, i, j) * AT(*a, i, j);
        length = sqrt(length);
        if (length < 0.1) continue; /* of what was 1 / sqrt(2) or 1 long */
        for (int64_t i = 0; i < a->rows; i++) AT(*a, i, j) /= length;
        return;
    }
}

/* Columns from `count` on: as the reflections of qr continue the columns before. */
static mica_status complete(ref_matrix *a, int64_t count) {
    ref_matrix part = {0}, q = {0};
    mica_status status = ref_matrix_create(a->rows, count, &part);
    if (!status) status = ref_matrix_create(a->rows, a->rows, &q);
    if (!status) {
        for (int64_t i = 0; i < a->rows * count; i++) part.data[i] = AT(*a, i / count, i % count);
        status = reflect_all(&part, &q);
        for (int64_t i = 0; i < a->rows; i++)
            for (int64_t j = count; j < a->rows; j++) AT(*a, i, j) = AT(q, i, j);
    }
    ref_matrix_free(&part);
    ref_matrix_free(&q);
    return status;
}

/* [0 x; x' 0] has eigenvalues s and -s with vectors (u, v) and (u, -v) over sqrt(2). */
static mica_status decompose(singular_work *w, double *s) {
    int64_t rows = w->x.rows, columns = w->x.columns, size = rows + columns;
    int64_t count = rows < columns ? rows : columns;
    fill(&w->block, 0);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            AT(w->block, i, rows + j) = AT(w->block, rows + j, i) = AT(w->x, i, j);
    diagonalize(&w->block, &w->vectors);
    sort_eigenvalues(&w->block, &w->vectors);
    for (int64_t j = 0; j < count; j++) {
        int64_t from = size - 1 - j;
        double sign = column_sign(&w->vectors, from, rows);
        s[j] = fmax(AT(w->block, from, from), 0);
        for (int64_t i = 0; i < rows; i++) AT(w->u, i, j) = sign * AT(w->vectors, i, from);
        for (int64_t i = 0; i < columns; i++)
            AT(w->v, i, j) = sign * AT(w->vectors, rows + i, from);
        orthonormalize(&w->u, j);
        orthonormalize(&w->v, j);
    }
    MICA_TRY(complete(&w->u, count));
    return complete(&w->v, count);
}

static mica_status work_create(singular_work *w, const ref_value *x) {
    MICA_TRY(ref_matrix_like(x, &w->x));
    int64_t size = w->x.rows + w->x.columns;
    MICA_TRY(ref_matrix_create(size, size, &w->block));
    MICA_TRY(ref_matrix_create(size, size, &w->vectors));
    MICA_TRY(ref_matrix_create(w->x.rows, w->x.rows, &w->u));
    return ref_matrix_create(w->x.columns, w->x.columns, &w->v);
}

static mica_status run_svd(singular_work *w, double *s, ref_value *const *operands,
                           ref_value **results) {
    int64_t count = w->x.rows < w->x.columns ? w->x.rows : w->x.columns;
    for (int64_t b = 0; b < ref_matrix_count(&operands[0]->type); b++) {
        ref_matrix_load(&w->x, operands[0], b);
        if (all_finite(&w->x))
            MICA_TRY(decompose(w, s));
        else {
            fill(&w->u, NAN), fill(&w->v, NAN);
            for (int64_t j = 0; j < count; j++) s[j] = NAN;
        }
        store_part(&w->u, results[0], b);
        for (int64_t j = 0; j < count; j++)
            ref_store(results[1]->type.dtype, results[1]->data, b * count + j,
                      ref_from_double(s[j]));
        for (int64_t i = 0; i < w->v.rows; i++)
            for (int64_t j = i + 1; j < w->v.rows; j++) {
                double kept = AT(w->v, i, j);
                AT(w->v, i, j) = AT(w->v, j, i);
                AT(w->v, j, i) = kept;
            }
        store_part(&w->v, results[2], b);
    }
    return NULL;
}

mica_status ref_svd(const mica_node *n, ref_value *const *operands, ref_value **results) {
    if (ref_is_complex(operands[0])) return ref_svd_complex(n, operands, results);
    singular_work w = {0};
    mica_status status = work_create(&w, operands[0]);
    double *s = mica_calloc((size_t)(w.x.rows + 1), sizeof *s);
    if (!status) status = s ? run_svd(&w, s, operands, results) : MICA_NO_MEMORY();
    mica_free(s);
    work_free(&w);
    return status;
}
