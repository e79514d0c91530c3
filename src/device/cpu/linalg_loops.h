/* The loops of linear algebra for one dtype: the includer defines REAL, NAME(x) and SQRT. */
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

static void NAME(solve_right)(const cpu_triangle *t, const void *a, const void *b_, void *x_,
                              int64_t begin, int64_t end) {
    const REAL *b = b_;
    REAL *x = x_;
    for (int64_t s = begin; s < end; s++) {
        memcpy(x + s * t->n, b + s * t->n, (size_t)t->n * sizeof *x);
        NAME(solve_row)(t, a, x + s * t->n);
    }
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

const cpu_linalg NAME(mica_cpu_linalg) = {NAME(solve_left), NAME(solve_right), NAME(cholesky)};

#undef REAL
#undef NAME
#undef SQRT
