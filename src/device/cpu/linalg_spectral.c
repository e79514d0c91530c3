/* Eigenvalues of symmetric matrices (reflections to a tridiagonal matrix, then QL steps with
 * implicit shifts) and singular values (rotations that make rows orthogonal), in f64. */
#include "device/cpu/linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_SWEEPS = 60 };

typedef double lanes __attribute__((vector_size(64)));
enum { LANES = 8 };

/* x . y, in 8 lanes on every instruction set */
static double dot(const double *x, const double *y, int64_t n) {
    lanes sum = {0}, a, b;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        memcpy(&a, x + i, sizeof a);
        memcpy(&b, y + i, sizeof b);
        sum += a * b;
    }
    for (int k = 0; i + k < n; k++) sum[k] += x[i + k] * y[i + k];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

void mica_cpu_rotate(double *x, double *y, double c, double s, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        lanes a, b;
        memcpy(&a, x + i, sizeof a);
        memcpy(&b, y + i, sizeof b);
        lanes first = c * a - s * b, second = s * a + c * b;
        memcpy(x + i, &first, sizeof first);
        memcpy(y + i, &second, sizeof second);
    }
    for (; i < n; i++) {
        double a = x[i], b = y[i];
        x[i] = c * a - s * b;
        y[i] = s * a + c * b;
    }
}

/* The sign that makes the first element of at least 7/10 of the largest magnitude positive. */
static double sign_of(const double *x, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(x[i]));
    for (int64_t i = 0; i < n; i++)
        if (fabs(x[i]) >= 0.7 * largest) return x[i] < 0 ? -1 : 1;
    return 1;
}

static void scale(double *x, double factor, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] *= factor;
}

double mica_cpu_linalg_unit(double largest) {
    if (largest == 0) return 1;
    int exponent = ilogb(largest);
    return ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

/* Brings x near 1; the factor. */
static double normalize(double *x, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(x[i]));
    double unit = mica_cpu_linalg_unit(largest);
    scale(x, unit, n);
    return unit;
}

static void swap(double *x, double *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double kept = x[i];
        x[i] = y[i];
        y[i] = kept;
    }
}

/* ---- symmetric eigenvalues --------------------------------------------------------------------*/

typedef struct symmetric {
    int64_t n, width; /* of a row of z */
    double *a;        /* symmetric; its rows below the diagonal are used up */
    double *z;        /* row j is vector j */
    double *d, *e;    /* the diagonal and what is beside it: e[i] between i and i + 1 */
    double *v, *p;
    int64_t first; /* of the part at hand */
    double factor;
} symmetric;

/* p = factor A v on the rows of the part */
static void multiply_rows(void *context, int64_t begin, int64_t end) {
    const symmetric *w = context;
    int64_t n = w->n, k = w->first;
    for (int64_t i = k + begin; i < k + end; i++)
        w->p[i] = w->factor * dot(w->a + i * n + k, w->v + k, n - k);
}

/* A = A - v p' - p v' */
static void update_rows(void *context, int64_t begin, int64_t end) {
    const symmetric *w = context;
    int64_t n = w->n, k = w->first;
    for (int64_t i = k + begin; i < k + end; i++)
        for (int64_t j = k; j < n; j++) w->a[i * n + j] -= w->v[i] * w->p[j] + w->p[i] * w->v[j];
}

/* Z = Z (I - factor v v') on the rows of the part */
static void gather_rows(void *context, int64_t begin, int64_t end) {
    const symmetric *w = context;
    int64_t n = w->n, k = w->first;
    for (int64_t i = k + begin; i < k + end; i++) {
        double along = w->factor * dot(w->z + i * n + k, w->v + k, n - k);
        for (int64_t j = k; j < n; j++) w->z[i * n + j] -= along * w->v[j];
    }
}

static void for_rows(symmetric *w, void (*body)(void *, int64_t, int64_t)) {
    int64_t rows = w->n - w->first;
    mica_parallel_for(rows, cpu_max(1, 16384 / cpu_max(1, rows)), body, w);
}

/* Row k of a, right of the diagonal, keeps the reflection that clears it, and p[k] its factor. */
static void tridiagonalize(symmetric *w) {
    int64_t n = w->n;
    double *factors = w->d; /* until the diagonal is read */
    for (int64_t k = 0; k + 2 < n; k++) {
        double *row = w->a + k * n, alpha = row[k + 1];
        double tail = dot(row + k + 2, row + k + 2, n - k - 2);
        factors[k] = 0;
        w->e[k] = alpha;
        if (tail == 0) continue;
        w->e[k] = -copysign(sqrt(alpha * alpha + tail), alpha);
        row[k + 1] = alpha - w->e[k];
        memcpy(w->v + k + 1, row + k + 1, (size_t)(n - k - 1) * sizeof *row);
        w->factor = factors[k] = 2 / (row[k + 1] * row[k + 1] + tail);
        w->first = k + 1;
        for_rows(w, multiply_rows);
        double half = 0.5 * w->factor * dot(w->p + k + 1, w->v + k + 1, n - k - 1);
        for (int64_t i = k + 1; i < n; i++) w->p[i] -= half * w->v[i];
        for_rows(w, update_rows);
    }
    if (n > 1) w->e[n - 2] = w->a[(n - 2) * n + n - 1];
    if (n > 0) memset(w->z, 0, (size_t)(n * n) * sizeof *w->z);
    for (int64_t i = 0; i < n; i++) w->z[i * n + i] = 1;
    for (int64_t k = n - 2; k-- > 0;) {
        w->factor = factors[k];
        w->first = k + 1;
        if (w->factor == 0) continue;
        memcpy(w->v + k + 1, w->a + k * n + k + 1, (size_t)(n - k - 1) * sizeof *w->v);
        for_rows(w, gather_rows);
    }
    for (int64_t i = 0; i < n; i++) w->d[i] = w->a[i * n + i];
    if (n > 0) w->e[n - 1] = 0;
}

/* One QL step on rows first .. last: a rotation chases the shift upwards from the last. */
static void ql_step(symmetric *w, int64_t first, int64_t last) {
    double *d = w->d, *e = w->e;
    double slope = (d[first + 1] - d[first]) / (2 * e[first]);
    double shift = d[first] - e[first] / (slope + copysign(hypot(slope, 1), slope));
    double s = 1, c = 1, moved = 0, bulge = d[last] - shift;
    for (int64_t i = last - 1; i >= first; i--) {
        double f = s * e[i], b = c * e[i], length = hypot(f, bulge);
        e[i + 1] = length;
        if (length == 0) { /* the matrix falls apart here */
            d[i + 1] -= moved;
            e[last] = 0;
            return;
        }
        s = f / length;
        c = bulge / length;
        bulge = d[i + 1] - moved;
        double r = (d[i] - bulge) * s + 2 * c * b;
        moved = s * r;
        d[i + 1] = bulge + moved;
        bulge = c * r - b;
        mica_cpu_rotate(w->z + i * w->width, w->z + (i + 1) * w->width, c, s, w->width);
    }
    d[first] -= moved;
    e[first] = bulge;
    e[last] = 0;
}

static void diagonalize(symmetric *w) {
    for (int64_t first = 0; first < w->n; first++)
        for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
            int64_t last = first;
            for (; last < w->n - 1; last++)
                if (fabs(w->e[last]) <=
                    0.5 * DBL_EPSILON * (fabs(w->d[last]) + fabs(w->d[last + 1])))
                    break;
            if (last == first) break;
            ql_step(w, first, last);
        }
}

void mica_cpu_ql(double *d, double *e, double *z, int64_t n, int64_t width) {
    symmetric w = {.n = n, .width = width, .z = z, .d = d, .e = e};
    diagonalize(&w);
}

int64_t mica_cpu_eigh_work(int64_t n) {
    return n * n + 3 * n;
}

void mica_cpu_eigh(double *a, double *values, double *vectors, double *work, int64_t n) {
    symmetric w = {.n = n, .width = n, .a = a, .z = work, .d = values};
    w.e = work + n * n;
    w.v = w.e + n;
    w.p = w.v + n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) a[i * n + j] = a[j * n + i];
    double unit = normalize(a, n * n);
    tridiagonalize(&w);
    diagonalize(&w);
    scale(values, 1 / unit, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t least = i;
        for (int64_t j = i + 1; j < n; j++)
            if (values[j] < values[least]) least = j;
        if (least != i) {
            swap(values + i, values + least, 1);
            swap(w.z + i * n, w.z + least * n, n);
        }
        scale(w.z + i * n, sign_of(w.z + i * n, n), n);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) vectors[i * n + j] = w.z[j * n + i];
}

/* ---- singular values --------------------------------------------------------------------------*/

/* Rotates rows i and j of x to be orthogonal; true when they were not. `squares` are the rows'
 * squared lengths, brought up to date by the rotation and afresh before every sweep. */
static bool make_orthogonal(double *x, double *y, double *squares, int64_t rows, int64_t columns,
                            int64_t i, int64_t j) {
    double *a = x + i * columns, *b = x + j * columns;
    double aa = squares[i], bb = squares[j], ab = dot(a, b, columns);
    /* Within the rounding of a sum of this many terms. */
    if (fabs(ab) <= sqrt(columns) * DBL_EPSILON * sqrt(aa) * sqrt(bb)) return false;
    double slope = (bb - aa) / (2 * ab);
    double t = copysign(1, slope) / (fabs(slope) + hypot(slope, 1)), c = 1 / hypot(t, 1);
    mica_cpu_rotate(a, b, c, c * t, columns);
    mica_cpu_rotate(y + i * rows, y + j * rows, c, c * t, rows);
    squares[i] = fmax(aa - t * ab, 0);
    squares[j] = fmax(bb + t * ab, 0);
    return true;
}

/* Row i of x, made orthogonal to the rows before and of length 1: for a row that vanished, what is
 * left of a coordinate axis. */
static void replace_row(double *x, int64_t columns, int64_t i) {
    double *row = x + i * columns;
    for (int64_t axis = 0; axis < columns; axis++) {
        for (int64_t j = 0; j < columns; j++) row[j] = j == axis;
        for (int twice = 0; twice < 2; twice++)
            for (int64_t k = 0; k < i; k++) {
                double along = dot(row, x + k * columns, columns);
                for (int64_t j = 0; j < columns; j++) row[j] -= along * x[k * columns + j];
            }
        double length = sqrt(dot(row, row, columns));
        if (length * length * (double)(columns + 1) < 0.5) continue;
        scale(row, 1 / length, columns);
        return;
    }
}

/* x: rows <= columns. It becomes the right vectors, y the left ones, both as rows. */
void mica_cpu_svd(double *x, double *y, double *s, int64_t rows, int64_t columns) {
    if (rows > 0) memset(y, 0, (size_t)(rows * rows) * sizeof *y);
    for (int64_t i = 0; i < rows; i++) y[i * rows + i] = 1;
    double unit = normalize(x, rows * columns);
    bool again = true;
    for (int sweep = 0; again && sweep < MOST_SWEEPS; sweep++) {
        again = false;
        for (int64_t i = 0; i < rows; i++) s[i] = dot(x + i * columns, x + i * columns, columns);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = i + 1; j < rows; j++)
                again |= make_orthogonal(x, y, s, rows, columns, i, j);
    }
    for (int64_t i = 0; i < rows; i++) s[i] = sqrt(dot(x + i * columns, x + i * columns, columns));
    for (int64_t i = 0; i < rows; i++) {
        int64_t most = i;
        for (int64_t j = i + 1; j < rows; j++)
            if (s[j] > s[most]) most = j;
        if (most != i) {
            swap(s + i, s + most, 1);
            swap(x + i * columns, x + most * columns, columns);
            swap(y + i * rows, y + most * rows, rows);
        }
        if (s[i] > DBL_MIN)
            for (int64_t j = 0; j < columns; j++) x[i * columns + j] /= s[i];
        else
            replace_row(x, columns, i);
    }
    scale(s, 1 / unit, rows);
}

void mica_cpu_fix_signs(double *a, double *b, int64_t count, int64_t a_length, int64_t b_length) {
    for (int64_t i = 0; i < count; i++) {
        double sign = sign_of(a + i * a_length, a_length);
        scale(a + i * a_length, sign, a_length);
        scale(b + i * b_length, sign, b_length);
    }
}
