/* The loops of linear algebra for one dtype: the includer defines REAL, NAME(x), SQRT and ABS. */
#include <math.h>
#include <string.h>

/* Sums have 16 lanes, added in a fixed tree, on every instruction set. */
enum { NAME(LANES) = 16 };
typedef REAL NAME(lanes) __attribute__((vector_size(NAME(LANES) * sizeof(REAL))));

static REAL NAME(dot)(const REAL *x, const REAL *y, int64_t n) {
    NAME(lanes) sum = {0}, a, b;
    int64_t i = 0;
    for (; i + NAME(LANES) <= n; i += NAME(LANES)) {
        memcpy(&a, x + i, sizeof a);
        memcpy(&b, y + i, sizeof b);
        sum += a * b;
    }
    for (int64_t k = 0; i + k < n; k++) sum[k] += x[i + k] * y[i + k];
    for (int width = NAME(LANES) / 2; width > 0; width /= 2)
        for (int k = 0; k < width; k++) sum[k] += sum[k + width];
    return sum[0];
}

/* y -= factor x */
static void NAME(subtract)(REAL *restrict y, const REAL *restrict x, REAL factor, int64_t n) {
    NAME(lanes) a, b;
    int64_t i = 0;
    for (; i + NAME(LANES) <= n; i += NAME(LANES)) {
        memcpy(&a, x + i, sizeof a);
        memcpy(&b, y + i, sizeof b);
        b -= factor * a;
        memcpy(y + i, &b, sizeof b);
    }
    for (; i < n; i++) y[i] -= factor * x[i];
}

/* ---- triangular systems -----------------------------------------------------------------------*/

static void NAME(solve_left)(const cpu_triangle *t, const void *a_, const void *b_, void *x_,
                             int64_t systems, int64_t begin, int64_t end) {
    const REAL *a = a_, *b = b_;
    REAL *x = x_;
    int64_t n = t->n, width = end - begin;
    for (int64_t step = 0; step < n; step++) {
        int64_t i = t->lower ? step : n - 1 - step;
        REAL *row = x + i * systems + begin;
        memcpy(row, b + i * systems + begin, (size_t)width * sizeof *row);
        for (int64_t before = 0; before < step; before++) {
            int64_t k = t->lower ? before : n - 1 - before;
            NAME(subtract)(row, x + k * systems + begin, a[i * t->row + k * t->column], width);
        }
        REAL diagonal = a[i * (t->row + t->column)];
        for (int64_t s = 0; !t->unit && s < width; s++) row[s] /= diagonal;
    }
}

/* Unknown k of a row, once known, is taken out of the ones after it. */
static void NAME(solve_row)(const cpu_triangle *t, const REAL *a, REAL *row) {
    int64_t n = t->n;
    for (int64_t step = 0; step < n; step++) {
        int64_t k = t->lower ? n - 1 - step : step;
        if (t->column != 1) {
            const REAL *line = a + k * t->column;
            int64_t first = t->lower ? k + 1 : 0, count = step;
            row[k] -= NAME(dot)(row + first, line + first, count);
        }
        if (!t->unit) row[k] /= a[k * (t->row + t->column)];
        if (t->column == 1) {
            int64_t first = t->lower ? 0 : k + 1, count = n - 1 - step;
            NAME(subtract)(row + first, a + k * t->row + first, row[k], count);
        }
    }
}

static void NAME(solve_right)(const cpu_triangle *t, const void *a, const void *b_, int64_t b_step,
                              void *x_, int64_t x_step, int64_t begin, int64_t end) {
    const REAL *b = b_;
    REAL *x = x_;
    for (int64_t s = begin; s < end; s++) {
        memcpy(x + s * x_step, b + s * b_step, (size_t)t->n * sizeof *x);
        NAME(solve_row)(t, a, x + s * x_step);
    }
}

static void NAME(subtract_from)(const void *a_, void *b_, int64_t n) {
    const REAL *a = a_;
    REAL *b = b_;
    for (int64_t i = 0; i < n; i++) b[i] = a[i] - b[i];
}

/* ---- cholesky ---------------------------------------------------------------------------------
 * Columns go in blocks: the rows of the block itself one after the other, then all rows below, each
 * on its own. */

typedef struct NAME(cholesky_rows) {
    const REAL *a;
    REAL *y;
    int64_t n, first, last; /* columns of the block */
} NAME(cholesky_rows);

static REAL NAME(cholesky_rest)(const NAME(cholesky_rows) * rows, int64_t i, int64_t j) {
    const REAL *y = rows->y;
    int64_t n = rows->n;
    return rows->a[i * n + j] - NAME(dot)(y + i * n, y + j * n, j);
}

static void NAME(cholesky_below)(void *context, int64_t begin, int64_t end) {
    const NAME(cholesky_rows) *rows = context;
    int64_t n = rows->n;
    for (int64_t i = rows->last + begin; i < rows->last + end; i++)
        for (int64_t j = rows->first; j < rows->last; j++)
            rows->y[i * n + j] = NAME(cholesky_rest)(rows, i, j) / rows->y[j * n + j];
}

static bool NAME(cholesky_block)(const NAME(cholesky_rows) * rows) {
    int64_t n = rows->n;
    for (int64_t i = rows->first; i < rows->last; i++) {
        for (int64_t j = rows->first; j < i; j++)
            rows->y[i * n + j] = NAME(cholesky_rest)(rows, i, j) / rows->y[j * n + j];
        REAL rest = NAME(cholesky_rest)(rows, i, i);
        if (!(rest > 0)) return false;
        rows->y[i * n + i] = SQRT(rest);
    }
    return true;
}

static void NAME(cholesky)(const void *a, void *y_, int64_t n) {
    enum { BLOCK = 32, ROWS = 16 };
    REAL *y = y_;
    for (int64_t first = 0; first < n; first += BLOCK) {
        NAME(cholesky_rows) rows = {a, y, n, first, cpu_min(n, first + BLOCK)};
        if (!NAME(cholesky_block)(&rows)) {
            for (int64_t i = 0; i < n * n; i++) y[i] = (REAL)NAN;
            return;
        }
        mica_parallel_for(n - rows.last, ROWS, NAME(cholesky_below), &rows);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) y[i * n + j] = 0;
}

/* ---- lu ---------------------------------------------------------------------------------------
 * Column by column: the pivot's row is taken out of every row below, each on its own. */

typedef struct NAME(lu_step) {
    REAL *a;
    int64_t columns, j;
} NAME(lu_step);

static void NAME(lu_below)(void *context, int64_t begin, int64_t end) {
    const NAME(lu_step) *step = context;
    int64_t n = step->columns, j = step->j;
    const REAL *pivot = step->a + j * n;
    for (int64_t i = j + 1 + begin; i < j + 1 + end; i++) {
        REAL *row = step->a + i * n;
        if (pivot[j] != 0) row[j] /= pivot[j];
        NAME(subtract)(row + j + 1, pivot + j + 1, row[j], n - j - 1);
    }
}

static void NAME(lu)(const void *x, void *y, int32_t *pivots, int32_t *order, int64_t m,
                     int64_t n) {
    REAL *a = y;
    if (m * n > 0) memcpy(a, x, (size_t)(m * n) * sizeof *a);
    for (int64_t i = 0; i < m; i++) order[i] = (int32_t)i;
    for (int64_t j = 0; j < m && j < n; j++) {
        int64_t best = j;
        for (int64_t i = j + 1; i < m; i++)
            if (ABS(a[i * n + j]) > ABS(a[best * n + j])) best = i;
        pivots[j] = (int32_t)best;
        int32_t kept = order[j];
        order[j] = order[best];
        order[best] = kept;
        for (int64_t c = 0; best != j && c < n; c++) {
            REAL element = a[j * n + c];
            a[j * n + c] = a[best * n + c];
            a[best * n + c] = element;
        }
        NAME(lu_step) step = {a, n, j};
        mica_parallel_for(m - j - 1, cpu_max(1, 16384 / (n - j)), NAME(lu_below), &step);
    }
}

/* ---- qr ---------------------------------------------------------------------------------------
 * Reflections I - tau v v' with v = (1, tail), the tail kept below the diagonal; columns are
 * reflected in groups, each on its own. */

enum { NAME(TOGETHER) = 64 };

typedef struct NAME(reflection) {
    REAL *a; /* its row j begins here */
    const REAL *v;
    REAL tau;
    int64_t rows, stride, columns; /* to be reflected, from a on */
} NAME(reflection);

static void NAME(reflect_range)(void *context, int64_t begin, int64_t end) {
    const NAME(reflection) *r = context;
    REAL along[NAME(TOGETHER)];
    for (int64_t first = begin; first < end; first += NAME(TOGETHER)) {
        int64_t width = cpu_min(end - first, NAME(TOGETHER));
        memset(along, 0, sizeof along);
        for (int64_t i = 0; i < r->rows; i++)
            NAME(subtract)(along, r->a + i * r->stride + first, -r->v[i], width);
        for (int64_t i = 0; i < r->rows; i++)
            NAME(subtract)(r->a + i * r->stride + first, along, r->tau * r->v[i], width);
    }
}

static void NAME(reflect)(const NAME(reflection) * r) {
    if (r->tau != 0 && r->columns > 0)
        mica_parallel_for(r->columns, NAME(TOGETHER), NAME(reflect_range), (void *)r);
}

/* v and tau of column j, whose diagonal element becomes the result's; 0 when there is nothing below
 * it. */
static REAL NAME(make_reflection)(REAL *a, int64_t m, int64_t n, int64_t j, REAL *v) {
    double tail = 0, largest = 0, alpha = a[j * n + j];
    for (int64_t i = j + 1; i < m; i++) largest = fmax(largest, fabs((double)a[i * n + j]));
    if (largest == 0) return 0;
    double unit = mica_cpu_linalg_unit(fmax(largest, fabs(alpha)));
    for (int64_t i = j + 1; i < m; i++) tail += a[i * n + j] * unit * (a[i * n + j] * unit);
    alpha *= unit;
    double beta = -copysign(sqrt(alpha * alpha + tail), alpha);
    v[0] = 1;
    for (int64_t i = j + 1; i < m; i++) {
        v[i - j] = (REAL)(a[i * n + j] * unit / (alpha - beta));
        a[i * n + j] = v[i - j];
    }
    a[j * n + j] = (REAL)(beta / unit);
    return (REAL)((beta - alpha) / beta);
}

/* work: m n + m + n elements */
static void NAME(qr)(const void *x, void *q_, void *r_, void *work, int64_t m, int64_t n,
                     int64_t inner) {
    REAL *a = work, *v = a + m * n, *taus = v + m, *q = q_, *r = r_;
    int64_t count = cpu_min(m, n);
    if (m * n > 0) memcpy(a, x, (size_t)(m * n) * sizeof *a);
    for (int64_t j = 0; j < count; j++) {
        taus[j] = NAME(make_reflection)(a, m, n, j, v);
        NAME(reflection) step = {a + j * n + j + 1, v, taus[j], m - j, n, n - j - 1};
        NAME(reflect)(&step);
    }
    for (int64_t i = 0; r && i < inner; i++)
        for (int64_t j = 0; j < n; j++) r[i * n + j] = j >= i ? a[i * n + j] : 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < inner; j++) q[i * inner + j] = i == j;
    for (int64_t j = count; j-- > 0;) {
        v[0] = 1;
        for (int64_t i = j + 1; i < m; i++) v[i - j] = a[i * n + j];
        NAME(reflection) step = {q + j * inner + j, v, taus[j], m - j, inner, inner - j};
        NAME(reflect)(&step);
    }
}

static bool NAME(all_finite)(const void *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(((const REAL *)x)[i])) return false;
    return true;
}

static void NAME(fill_nan)(void *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) ((REAL *)x)[i] = (REAL)NAN;
}

static void NAME(widen)(const void *x, double *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = ((const REAL *)x)[i];
}

static void NAME(narrow)(const double *x, void *y, int64_t n) {
    for (int64_t i = 0; i < n; i++) ((REAL *)y)[i] = (REAL)x[i];
}

const cpu_linalg NAME(mica_cpu_linalg) = {
    NAME(solve_left), NAME(solve_right), NAME(subtract_from), NAME(cholesky), NAME(lu),
    NAME(qr),         NAME(all_finite),  NAME(fill_nan),      NAME(widen),    NAME(narrow)};

#undef REAL
#undef NAME
#undef SQRT
#undef ABS
