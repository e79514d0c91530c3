/* Eigenvalues of Hermitian matrices (reflections and a turn of phases to a real tridiagonal matrix,
 * then the QL steps of linalg_spectral.c) and singular values of complex ones (rows turned to have
 * real products, then rotated to have none), in f64. */
#include "device/cpu/linalg.h"
#include "device/cpu/number.h"

#include <float.h>
#include <string.h>

enum { MOST_SWEEPS = 60 };

static cpu_number conjugate(cpu_number a) {
    return (cpu_number){a.re, -a.im};
}

/* a / |a|; 1 of 0 */
static cpu_number phase_of(cpu_number a) {
    double length = magnitude(a);
    return length > 0 ? scaled(a, 1 / length) : (cpu_number){1, 0};
}

static void multiply(cpu_number *x, cpu_number factor, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = times(factor, x[i]);
}

/* Brings x near 1; the factor. */
static double normalize(cpu_number *x, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fmax(fabs(x[i].re), fabs(x[i].im)));
    double unit = mica_cpu_linalg_unit(largest);
    for (int64_t i = 0; i < n; i++) x[i] = scaled(x[i], unit);
    return unit;
}

static void swap(cpu_number *x, cpu_number *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        cpu_number kept = x[i];
        x[i] = y[i];
        y[i] = kept;
    }
}

static void swap_reals(double *x, double *y) {
    double kept = *x;
    *x = *y;
    *y = kept;
}

/* ---- Hermitian eigenvalues --------------------------------------------------------------------*/

typedef struct hermitian {
    int64_t n;
    cpu_number *a;      /* its columns below the diagonal come to hold the reflections */
    cpu_number *z;      /* row j is vector j */
    cpu_number *v, *p;  /* a column's worth each */
    cpu_number *beside; /* the tridiagonal matrix's elements below its diagonal */
    double *d, *e;      /* its diagonal, and the lengths of what is beside it */
} hermitian;

/* A = H A H on the rows and columns from k + 1 on, with H = 1 - factor v v*. */
static void reflect_both_sides(hermitian *w, int64_t k, double factor) {
    int64_t n = w->n;
    double half = 0;
    for (int64_t i = k + 1; i < n; i++) {
        cpu_number sum = {0, 0};
        for (int64_t j = k + 1; j < n; j++) sum = plus(sum, times(w->a[i * n + j], w->v[j]));
        w->p[i] = scaled(sum, factor);
        half += conj_times(w->v[i], w->p[i]).re;
    }
    half *= 0.5 * factor;
    for (int64_t i = k + 1; i < n; i++) w->p[i] = minus(w->p[i], scaled(w->v[i], half));
    for (int64_t i = k + 1; i < n; i++)
        for (int64_t j = k + 1; j < n; j++) {
            cpu_number change = plus(conj_times(w->p[j], w->v[i]), conj_times(w->v[j], w->p[i]));
            w->a[i * n + j] = minus(w->a[i * n + j], change);
        }
}

/* Column k of a, below the diagonal, keeps the reflection that clears it; factors[k]. */
static void tridiagonalize(hermitian *w, double *factors) {
    int64_t n = w->n;
    for (int64_t k = 0; k + 1 < n; k++) {
        cpu_number first = w->a[(k + 1) * n + k];
        double tail = 0;
        for (int64_t i = k + 2; i < n; i++) tail += square(w->a[i * n + k]);
        factors[k] = 0;
        w->beside[k] = first;
        if (tail == 0) continue;
        cpu_number towards = scaled(phase_of(first), sqrt(square(first) + tail));
        w->beside[k] = scaled(towards, -1);
        w->a[(k + 1) * n + k] = plus(first, towards);
        for (int64_t i = k + 1; i < n; i++) w->v[i] = w->a[i * n + k];
        factors[k] = 2 / (square(w->v[k + 1]) + tail);
        reflect_both_sides(w, k, factors[k]);
    }
}

/* The product of the reflections, transposed, with the phases that make what is beside the diagonal
 * real. */
static void gather(hermitian *w, const double *factors) {
    int64_t n = w->n;
    for (int64_t i = 0; i < n * n; i++) w->z[i] = (cpu_number){i % (n + 1) == 0, 0};
    for (int64_t k = n - 2; k-- > 0;) {
        if (factors[k] == 0) continue;
        for (int64_t i = k + 1; i < n; i++) w->v[i] = w->a[i * n + k];
        for (int64_t i = k + 1; i < n; i++) {
            cpu_number along = {0, 0}, *row = w->z + i * n;
            for (int64_t j = k + 1; j < n; j++) along = plus(along, conj_times(w->v[j], row[j]));
            along = scaled(along, factors[k]);
            for (int64_t j = k + 1; j < n; j++) row[j] = minus(row[j], times(along, w->v[j]));
        }
    }
    cpu_number phase = {1, 0};
    for (int64_t k = 0; k + 1 < n; k++) {
        phase = times(phase, phase_of(w->beside[k]));
        w->e[k] = magnitude(w->beside[k]);
        multiply(w->z + (k + 1) * n, phase, n);
    }
}

int64_t mica_cpu_eigh_complex_work(int64_t n) {
    return 2 * n * n + 7 * n;
}

void mica_cpu_eigh_complex(cpu_number *a, double *values, cpu_number *vectors, double *work,
                           int64_t n) {
    hermitian w = {.n = n, .a = a, .z = (cpu_number *)work, .d = values};
    w.v = w.z + n * n;
    w.p = w.v + n;
    w.beside = w.p + n;
    w.e = (double *)(w.beside + n);
    for (int64_t i = 0; i < n; i++) {
        a[i * n + i].im = 0;
        for (int64_t j = i + 1; j < n; j++) a[i * n + j] = conjugate(a[j * n + i]);
    }
    double unit = normalize(a, n * n);
    tridiagonalize(&w, values); /* the diagonal comes there when the factors are used up */
    gather(&w, values);
    for (int64_t i = 0; i < n; i++) values[i] = a[i * n + i].re;
    if (n > 0) w.e[n - 1] = 0;
    mica_cpu_ql(values, w.e, work, n, 2 * n);
    for (int64_t i = 0; i < n; i++) {
        int64_t least = i;
        for (int64_t j = i + 1; j < n; j++)
            if (values[j] < values[least]) least = j;
        if (least != i) {
            swap_reals(values + i, values + least);
            swap(w.z + i * n, w.z + least * n, n);
        }
        values[i] /= unit;
        mica_cpu_fix_phase(w.z + i * n, 1, n);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) vectors[i * n + j] = w.z[j * n + i];
}

/* ---- singular values --------------------------------------------------------------------------*/

/* conj(x) . y */
static cpu_number inner(const cpu_number *x, const cpu_number *y, int64_t n) {
    cpu_number sum = {0, 0};
    for (int64_t i = 0; i < n; i++) sum = plus(sum, conj_times(x[i], y[i]));
    return sum;
}

/* Turns row j of x so that its product with row i is real, then rotates both to have none; true
 * when they had one. Rows of y undergo the conjugate of it. */
static bool make_orthogonal(cpu_number *x, cpu_number *y, double *squares, int64_t rows,
                            int64_t columns, int64_t i, int64_t j) {
    cpu_number *a = x + i * columns, *b = x + j * columns, along = inner(a, b, columns);
    double aa = squares[i], bb = squares[j], ab = magnitude(along);
    if (ab <= sqrt(columns) * DBL_EPSILON * sqrt(aa) * sqrt(bb)) return false;
    cpu_number phase = phase_of(along);
    multiply(b, conjugate(phase), columns);
    multiply(y + j * rows, phase, rows);
    double slope = (bb - aa) / (2 * ab);
    double t = copysign(1, slope) / (fabs(slope) + hypot(slope, 1)), c = 1 / hypot(t, 1);
    mica_cpu_rotate(&a->re, &b->re, c, c * t, 2 * columns);
    mica_cpu_rotate(&y[i * rows].re, &y[j * rows].re, c, c * t, 2 * rows);
    squares[i] = fmax(aa - t * ab, 0);
    squares[j] = fmax(bb + t * ab, 0);
    return true;
}

/* Row i of x, made orthogonal to the rows before and of length 1: for a row that vanished, what is
 * left of a coordinate axis. */
static void replace_row(cpu_number *x, int64_t columns, int64_t i) {
    cpu_number *row = x + i * columns;
    for (int64_t axis = 0; axis < columns; axis++) {
        for (int64_t j = 0; j < columns; j++) row[j] = (cpu_number){j == axis, 0};
        for (int twice = 0; twice < 2; twice++)
            for (int64_t k = 0; k < i; k++) {
                cpu_number along = inner(x + k * columns, row, columns);
                for (int64_t j = 0; j < columns; j++)
                    row[j] = minus(row[j], times(along, x[k * columns + j]));
            }
        double length = sqrt(inner(row, row, columns).re);
        if (length * length * (double)(columns + 1) < 0.5) continue;
        multiply(row, (cpu_number){1 / length, 0}, columns);
        return;
    }
}

/* x: rows <= columns. It becomes the rows of vh, and y the columns of u, as rows. */
static void decompose(cpu_number *x, cpu_number *y, double *s, int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows * rows; i++) y[i] = (cpu_number){i % (rows + 1) == 0, 0};
    double unit = normalize(x, rows * columns);
    bool again = true;
    for (int sweep = 0; again && sweep < MOST_SWEEPS; sweep++) {
        again = false;
        for (int64_t i = 0; i < rows; i++)
            s[i] = inner(x + i * columns, x + i * columns, columns).re;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = i + 1; j < rows; j++)
                again |= make_orthogonal(x, y, s, rows, columns, i, j);
    }
    for (int64_t i = 0; i < rows; i++)
        s[i] = sqrt(inner(x + i * columns, x + i * columns, columns).re);
    for (int64_t i = 0; i < rows; i++) {
        int64_t most = i;
        for (int64_t j = i + 1; j < rows; j++)
            if (s[j] > s[most]) most = j;
        if (most != i) {
            swap_reals(s + i, s + most);
            swap(x + i * columns, x + most * columns, columns);
            swap(y + i * rows, y + most * rows, rows);
        }
        if (s[i] > DBL_MIN)
            multiply(x + i * columns, (cpu_number){1 / s[i], 0}, columns);
        else
            replace_row(x, columns, i);
        s[i] /= unit;
    }
}

/* Row i of left gets the phase that eigh says, and row i of right what keeps their product. */
void mica_cpu_fix_phases(cpu_number *left, int64_t left_step, int64_t left_length,
                         cpu_number *right, int64_t right_length) {
    int64_t place = leading_place(left, left_step, left_length);
    if (place < 0) return;
    cpu_number phase = phase_of(left[place * left_step]);
    for (int64_t i = 0; i < left_length; i++)
        left[i * left_step] = conj_times(phase, left[i * left_step]);
    left[place * left_step].im = 0;
    multiply(right, phase, right_length);
}

typedef struct svd_work {
    cpu_number *long_side, *short_side, *thin, *square, *work, *out;
    double *s;
} svd_work;

static int64_t svd_layout(int64_t rows, int64_t columns, cpu_number *memory, svd_work *w) {
    int64_t count = cpu_min(rows, columns), length = cpu_max(rows, columns), total = 0;
    int64_t sizes[] = {count * length,
                       count * count,
                       length * count,
                       length * length,
                       length * count + length + count,
                       length * length};
    cpu_number **const parts[] = {&w->long_side, &w->short_side, &w->thin,
                                  &w->square,    &w->work,       &w->out};
    for (int i = 0; i < 6; i++) {
        if (memory) *parts[i] = memory + total;
        total += sizes[i];
    }
    if (memory) w->s = (double *)(memory + total);
    return total + count;
}

int64_t mica_cpu_svd_complex_work(int64_t rows, int64_t columns) {
    svd_work w;
    return svd_layout(rows, columns, NULL, &w) * (int64_t)sizeof(cpu_number);
}

/* out[i, j] = element i of vector j, or its conjugate; vectors beyond `count` continue them as qr
 * does. */
static void write_columns(const svd_work *w, const cpu_number *vectors, bool conjugated,
                          int64_t count, int64_t length, int64_t columns) {
    for (int64_t i = 0; i < length; i++)
        for (int64_t j = 0; j < count; j++) {
            cpu_number x = vectors[j * length + i];
            w->thin[i * count + j] = conjugated ? conjugate(x) : x;
        }
    if (columns > count)
        mica_cpu_linalg_c128.qr(w->thin, w->square, NULL, w->work, length, count, length);
    for (int64_t i = 0; i < length; i++)
        for (int64_t j = 0; j < columns; j++)
            w->out[i * columns + j] =
                j < count ? w->thin[i * count + j] : w->square[i * length + j];
}

void mica_cpu_svd_complex(const cpu_linalg_kernel *k, const void *a, void *u, void *s, void *vh,
                          void *memory) {
    int64_t m = k->rows, n = k->columns, count = cpu_min(m, n);
    bool tall = m > n, full = k->inner != 0;
    svd_work w = {0};
    svd_layout(m, n, memory, &w);
    k->loops->widen(a, &w.out->re, m * n);
    for (int64_t i = 0; i < m * n; i++) w.long_side[tall ? i % n * m + i / n : i] = w.out[i];
    decompose(w.long_side, w.short_side, w.s, count, cpu_max(m, n));
    cpu_number *left = tall ? w.long_side : w.short_side;
    cpu_number *right = tall ? w.short_side : w.long_side;
    for (int64_t i = 0; i < count; i++) mica_cpu_fix_phases(left + i * m, 1, m, right + i * n, n);
    write_columns(&w, left, false, count, m, full ? m : count);
    k->loops->narrow(&w.out->re, u, m * (full ? m : count));
    k->parts->narrow(w.s, s, count);
    if (!full || n == count) {
        k->loops->narrow(&right->re, vh, count * n);
        return;
    }
    write_columns(&w, right, true, count, n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) w.square[i * n + j] = conjugate(w.out[j * n + i]);
    k->loops->narrow(&w.square->re, vh, n * n);
}
