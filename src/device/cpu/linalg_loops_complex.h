/* The loops of linear algebra for one complex dtype: the includer defines PART and NAME(x). They
 * follow linalg_loops.h; sums and quotients are made in f64. */
#include <math.h>
#include <string.h>

#include "device/cpu/number.h"

typedef struct NAME(complex) {
    PART re, im;
} NAME(complex);

static inline cpu_number NAME(wide)(NAME(complex) x) {
    return (cpu_number){x.re, x.im};
}

static inline NAME(complex) NAME(rounded)(cpu_number x) {
    return (NAME(complex)){(PART)x.re, (PART)x.im};
}

/* sum of x y, or of x conj(y) */
static cpu_number NAME(dot)(const NAME(complex) * x, const NAME(complex) * y, int64_t n,
                            bool conjugate) {
    cpu_number sum = {0, 0};
    double sign = conjugate ? -1 : 1;
    for (int64_t i = 0; i < n; i++) {
        double re = y[i].re, im = sign * y[i].im;
        sum.re += x[i].re * re - x[i].im * im;
        sum.im += x[i].re * im + x[i].im * re;
    }
    return sum;
}

/* y -= factor x */
static void NAME(subtract)(NAME(complex) *restrict y, const NAME(complex) *restrict x,
                           NAME(complex) factor, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        y[i].re -= factor.re * x[i].re - factor.im * x[i].im;
        y[i].im -= factor.re * x[i].im + factor.im * x[i].re;
    }
}

/* x / divisor for n of them */
static void NAME(divide)(NAME(complex) * x, int64_t step, NAME(complex) divisor, int64_t n) {
    double unit = mica_cpu_linalg_unit(fmax(fabs((double)divisor.re), fabs((double)divisor.im)));
    cpu_number by = scaled(NAME(wide)(divisor), unit);
    double length = square(by);
    for (int64_t i = 0; i < n; i++)
        x[i * step] = NAME(rounded)(
            scaled(conj_times(by, scaled(NAME(wide)(x[i * step]), unit)), 1 / length));
}

/* ---- triangular systems -----------------------------------------------------------------------*/

static void NAME(solve_left)(const cpu_triangle *t, const void *a_, const void *b_, void *x_,
                             int64_t systems, int64_t begin, int64_t end) {
    const NAME(complex) *a = a_, *b = b_;
    NAME(complex) *x = x_;
    int64_t n = t->n, width = end - begin;
    for (int64_t step = 0; step < n; step++) {
        int64_t i = t->lower ? step : n - 1 - step;
        NAME(complex) *row = x + i * systems + begin;
        memcpy(row, b + i * systems + begin, (size_t)width * sizeof *row);
        for (int64_t before = 0; before < step; before++) {
            int64_t k = t->lower ? before : n - 1 - before;
            NAME(subtract)(row, x + k * systems + begin, a[i * t->row + k * t->column], width);
        }
        if (!t->unit) NAME(divide)(row, 1, a[i * (t->row + t->column)], width);
    }
}

/* Unknown k of a row, once known, is taken out of the ones after it. */
static void NAME(solve_row)(const cpu_triangle *t, const NAME(complex) * a, NAME(complex) * row) {
    int64_t n = t->n;
    for (int64_t step = 0; step < n; step++) {
        int64_t k = t->lower ? n - 1 - step : step;
        if (t->column != 1) {
            int64_t first = t->lower ? k + 1 : 0;
            cpu_number known = NAME(dot)(row + first, a + k * t->column + first, step, false);
            row[k] = NAME(rounded)(minus(NAME(wide)(row[k]), known));
        }
        if (!t->unit) NAME(divide)(row + k, 1, a[k * (t->row + t->column)], 1);
        if (t->column == 1) {
            int64_t first = t->lower ? 0 : k + 1, count = n - 1 - step;
            NAME(subtract)(row + first, a + k * t->row + first, row[k], count);
        }
    }
}

static void NAME(solve_right)(const cpu_triangle *t, const void *a, const void *b_, int64_t b_step,
                              void *x_, int64_t x_step, int64_t begin, int64_t end) {
    const NAME(complex) *b = b_;
    NAME(complex) *x = x_;
    for (int64_t s = begin; s < end; s++) {
        memcpy(x + s * x_step, b + s * b_step, (size_t)t->n * sizeof *x);
        NAME(solve_row)(t, a, x + s * x_step);
    }
}

static void NAME(subtract_from)(const void *a_, void *b_, int64_t n) {
    const PART *a = a_;
    PART *b = b_;
    for (int64_t i = 0; i < 2 * n; i++) b[i] = a[i] - b[i];
}

/* ---- cholesky ---------------------------------------------------------------------------------*/

typedef struct NAME(cholesky_rows) {
    const NAME(complex) * a;
    NAME(complex) * y;
    int64_t n, first, last; /* columns of the block */
} NAME(cholesky_rows);

static cpu_number NAME(cholesky_rest)(const NAME(cholesky_rows) * rows, int64_t i, int64_t j) {
    const NAME(complex) *y = rows->y;
    int64_t n = rows->n;
    return minus(NAME(wide)(rows->a[i * n + j]), NAME(dot)(y + i * n, y + j * n, j, true));
}

static void NAME(cholesky_row)(const NAME(cholesky_rows) * rows, int64_t i, int64_t last) {
    int64_t n = rows->n;
    for (int64_t j = rows->first; j < last; j++)
        rows->y[i * n + j] = NAME(rounded)(
            scaled(NAME(cholesky_rest)(rows, i, j), 1 / (double)rows->y[j * n + j].re));
}

static void NAME(cholesky_below)(void *context, int64_t begin, int64_t end) {
    const NAME(cholesky_rows) *rows = context;
    for (int64_t i = rows->last + begin; i < rows->last + end; i++)
        NAME(cholesky_row)(rows, i, rows->last);
}

static bool NAME(cholesky_block)(const NAME(cholesky_rows) * rows) {
    for (int64_t i = rows->first; i < rows->last; i++) {
        NAME(cholesky_row)(rows, i, i);
        double rest = NAME(cholesky_rest)(rows, i, i).re;
        if (!(rest > 0)) return false;
        rows->y[i * (rows->n + 1)] = (NAME(complex)){(PART)sqrt(rest), 0};
    }
    return true;
}

static void NAME(fill_nan)(void *x, int64_t n) {
    for (int64_t i = 0; i < 2 * n; i++) ((PART *)x)[i] = (PART)NAN;
}

static void NAME(cholesky)(const void *a, void *y_, int64_t n) {
    enum { BLOCK = 32, ROWS = 16 };
    NAME(complex) *y = y_;
    for (int64_t first = 0; first < n; first += BLOCK) {
        NAME(cholesky_rows) rows = {a, y, n, first, cpu_min(n, first + BLOCK)};
        if (!NAME(cholesky_block)(&rows)) {
            NAME(fill_nan)(y, n * n);
            return;
        }
        mica_parallel_for(n - rows.last, ROWS, NAME(cholesky_below), &rows);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) y[i * n + j] = (NAME(complex)){0, 0};
}

/* ---- lu ---------------------------------------------------------------------------------------*/

typedef struct NAME(lu_step) {
    NAME(complex) * a;
    int64_t columns, j;
} NAME(lu_step);

static void NAME(lu_below)(void *context, int64_t begin, int64_t end) {
    const NAME(lu_step) *step = context;
    int64_t n = step->columns, j = step->j;
    const NAME(complex) *pivot = step->a + j * n;
    if (pivot[j].re != 0 || pivot[j].im != 0)
        NAME(divide)(step->a + (j + 1 + begin) * n + j, n, pivot[j], end - begin);
    for (int64_t i = j + 1 + begin; i < j + 1 + end; i++) {
        NAME(complex) *row = step->a + i * n;
        NAME(subtract)(row + j + 1, pivot + j + 1, row[j], n - j - 1);
    }
}

static void NAME(lu)(const void *x, void *y, int32_t *pivots, int32_t *order, int64_t m,
                     int64_t n) {
    NAME(complex) *a = y;
    if (m * n > 0) memcpy(a, x, (size_t)(m * n) * sizeof *a);
    for (int64_t i = 0; i < m; i++) order[i] = (int32_t)i;
    for (int64_t j = 0; j < m && j < n; j++) {
        int64_t best = j;
        for (int64_t i = j + 1; i < m; i++)
            if (size_of(NAME(wide)(a[i * n + j])) > size_of(NAME(wide)(a[best * n + j]))) best = i;
        pivots[j] = (int32_t)best;
        int32_t kept = order[j];
        order[j] = order[best];
        order[best] = kept;
        for (int64_t c = 0; best != j && c < n; c++) {
            NAME(complex) element = a[j * n + c];
            a[j * n + c] = a[best * n + c];
            a[best * n + c] = element;
        }
        NAME(lu_step) step = {a, n, j};
        mica_parallel_for(m - j - 1, cpu_max(1, 8192 / (n - j)), NAME(lu_below), &step);
    }
}

/* ---- qr ---------------------------------------------------------------------------------------
 * Reflections 1 - tau v v* with v = (1, tail), the tail kept below the diagonal. Their adjoints, on
 * the way to r, have the conjugate of tau. */

enum { NAME(TOGETHER) = 64 };

typedef struct NAME(reflection) {
    NAME(complex) * a; /* its row j begins here */
    const NAME(complex) * v;
    cpu_number tau;
    int64_t rows, stride, columns; /* to be reflected, from a on */
} NAME(reflection);

static void NAME(reflect_range)(void *context, int64_t begin, int64_t end) {
    const NAME(reflection) *r = context;
    NAME(complex) along[NAME(TOGETHER)];
    for (int64_t first = begin; first < end; first += NAME(TOGETHER)) {
        int64_t width = cpu_min(end - first, NAME(TOGETHER));
        memset(along, 0, sizeof along);
        for (int64_t i = 0; i < r->rows; i++) {
            NAME(complex) factor = {-r->v[i].re, r->v[i].im};
            NAME(subtract)(along, r->a + i * r->stride + first, factor, width);
        }
        for (int64_t i = 0; i < r->rows; i++) {
            NAME(complex) factor = NAME(rounded)(times(r->tau, NAME(wide)(r->v[i])));
            NAME(subtract)(r->a + i * r->stride + first, along, factor, width);
        }
    }
}

static void NAME(reflect)(const NAME(reflection) * r) {
    if (size_of(r->tau) != 0 && r->columns > 0)
        mica_parallel_for(r->columns, NAME(TOGETHER), NAME(reflect_range), (void *)r);
}

/* v and tau of column j, whose diagonal element becomes the result's, which is real; 0 when it is
 * and there is nothing below it. */
static cpu_number NAME(make_reflection)(NAME(complex) * a, int64_t m, int64_t n, int64_t j,
                                        NAME(complex) * v) {
    double tail = 0, below = 0;
    cpu_number alpha = NAME(wide)(a[j * n + j]);
    v[0] = (NAME(complex)){1, 0};
    for (int64_t i = j + 1; i < m; i++)
        below = fmax(below, fmax(fabs((double)a[i * n + j].re), fabs((double)a[i * n + j].im)));
    if (below == 0 && alpha.im == 0) return (cpu_number){0, 0};
    double unit = mica_cpu_linalg_unit(fmax(below, fmax(fabs(alpha.re), fabs(alpha.im))));
    for (int64_t i = j + 1; i < m; i++) tail += square(scaled(NAME(wide)(a[i * n + j]), unit));
    alpha = scaled(alpha, unit);
    double beta = -copysign(sqrt(square(alpha) + tail), alpha.re);
    cpu_number away = {alpha.re - beta, alpha.im};
    for (int64_t i = j + 1; i < m; i++) {
        v[i - j] = NAME(rounded)(divided(scaled(NAME(wide)(a[i * n + j]), unit), away));
        a[i * n + j] = v[i - j];
    }
    a[j * n + j] = (NAME(complex)){(PART)(beta / unit), 0};
    return (cpu_number){(beta - alpha.re) / beta, -alpha.im / beta};
}

/* work: m n + m + n elements */
static void NAME(qr)(const void *x, void *q_, void *r_, void *work, int64_t m, int64_t n,
                     int64_t inner) {
    const NAME(complex) zero = {0, 0};
    NAME(complex) *a = work, *v = a + m * n, *taus = v + m, *q = q_, *r = r_;
    int64_t count = cpu_min(m, n);
    if (m * n > 0) memcpy(a, x, (size_t)(m * n) * sizeof *a);
    for (int64_t j = 0; j < count; j++) {
        cpu_number tau = NAME(make_reflection)(a, m, n, j, v);
        taus[j] = NAME(rounded)(tau);
        tau.im = -tau.im;
        NAME(reflection) step = {a + j * n + j + 1, v, tau, m - j, n, n - j - 1};
        NAME(reflect)(&step);
    }
    for (int64_t i = 0; r && i < inner; i++)
        for (int64_t j = 0; j < n; j++) r[i * n + j] = j >= i ? a[i * n + j] : zero;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < inner; j++) q[i * inner + j] = (NAME(complex)){i == j, 0};
    for (int64_t j = count; j-- > 0;) {
        v[0] = (NAME(complex)){1, 0};
        for (int64_t i = j + 1; i < m; i++) v[i - j] = a[i * n + j];
        cpu_number tau = NAME(wide)(taus[j]);
        NAME(reflection) step = {q + j * inner + j, v, tau, m - j, inner, inner - j};
        NAME(reflect)(&step);
    }
}

static bool NAME(all_finite)(const void *x, int64_t n) {
    for (int64_t i = 0; i < 2 * n; i++)
        if (!isfinite(((const PART *)x)[i])) return false;
    return true;
}

static void NAME(widen)(const void *x, double *y, int64_t n) {
    for (int64_t i = 0; i < 2 * n; i++) y[i] = ((const PART *)x)[i];
}

static void NAME(narrow)(const double *x, void *y, int64_t n) {
    for (int64_t i = 0; i < 2 * n; i++) ((PART *)y)[i] = (PART)x[i];
}

const cpu_linalg NAME(mica_cpu_linalg) = {
    NAME(solve_left), NAME(solve_right), NAME(subtract_from), NAME(cholesky), NAME(lu),
    NAME(qr),         NAME(all_finite),  NAME(fill_nan),      NAME(widen),    NAME(narrow)};

#undef PART
#undef NAME
