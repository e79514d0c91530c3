/* Eigenvalues and right eigenvectors of a general matrix, in complex f64: balanced by powers of
 * two, brought to Hessenberg form by reflections, to triangular form by QR steps with one shift,
 * whose vectors follow by substitution. */
#include "device/cpu/linalg.h"
#include "device/cpu/number.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_STEPS = 60 }; /* for one eigenvalue; three are usual */

typedef struct general {
    int64_t n;
    cpu_number *h, *z; /* row-major */
    cpu_number *v;     /* a column's worth */
    double *balance;
} general;

#define H(i, j) (w->h[(i)*w->n + (j)])
#define Z(i, j) (w->z[(i)*w->n + (j)])

/* ---- balance ----------------------------------------------------------------------------------*/

/* Row and column i get sums of about the same size. */
static bool balance_one(general *w, int64_t i) {
    double row = 0, column = 0, factor = 1;
    for (int64_t j = 0; j < w->n; j++) {
        if (j == i) continue;
        row += size_of(H(i, j));
        column += size_of(H(j, i));
    }
    if (row == 0 || column == 0) return false;
    double before = row + column;
    for (; column < row / 2 && factor < 0x1p100; column *= 4) factor *= 2;
    for (; column > row * 2 && factor > 0x1p-100; column /= 4) factor /= 2;
    /* column is now factor^2 times what it was; both sums end near sqrt(row column) */
    if (factor == 1 || column / factor + row / factor >= 0.95 * before) return false;
    w->balance[i] *= factor;
    for (int64_t j = 0; j < w->n; j++) H(i, j) = scaled(H(i, j), 1 / factor);
    for (int64_t j = 0; j < w->n; j++) H(j, i) = scaled(H(j, i), factor);
    return true;
}

static void balance(general *w) {
    for (int64_t i = 0; i < w->n; i++) w->balance[i] = 1;
    bool again = true;
    for (int sweep = 0; again && sweep < 20; sweep++) {
        again = false;
        for (int64_t i = 0; i < w->n; i++) again |= balance_one(w, i);
    }
}

/* ---- Hessenberg form --------------------------------------------------------------------------*/

/* v such that (1 - factor v v*) sends column k, below row k, to its first element; 0: it is there.
 */
static double make_reflection(general *w, int64_t k) {
    double tail = 0;
    for (int64_t i = k + 2; i < w->n; i++) tail += square(H(i, k));
    if (tail == 0) return 0;
    cpu_number first = H(k + 1, k);
    double length = sqrt(square(first) + tail), head = magnitude(first);
    cpu_number phase = head > 0 ? scaled(first, 1 / head) : (cpu_number){1, 0};
    w->v[k + 1] = plus(first, scaled(phase, length));
    for (int64_t i = k + 2; i < w->n; i++) w->v[i] = H(i, k);
    H(k + 1, k) = scaled(phase, -length);
    for (int64_t i = k + 2; i < w->n; i++) H(i, k) = (cpu_number){0, 0};
    return 2 / (square(w->v[k + 1]) + tail);
}

/* a (1 - factor v v*), on rows begin .. n - 1 of a square matrix */
static void reflect_columns(const general *w, cpu_number *a, int64_t k, double factor) {
    int64_t n = w->n;
    for (int64_t i = 0; i < n; i++) {
        cpu_number along = {0, 0};
        for (int64_t j = k + 1; j < n; j++) along = plus(along, times(a[i * n + j], w->v[j]));
        along = scaled(along, factor);
        for (int64_t j = k + 1; j < n; j++)
            a[i * n + j] = minus(a[i * n + j], conj_times(w->v[j], along));
    }
}

static void reduce_to_hessenberg(general *w) {
    int64_t n = w->n;
    for (int64_t i = 0; i < n * n; i++) w->z[i] = (cpu_number){i % (n + 1) == 0, 0};
    for (int64_t k = 0; k + 2 < n; k++) {
        double factor = make_reflection(w, k);
        if (factor == 0) continue;
        for (int64_t j = k + 1; j < n; j++) {
            cpu_number along = {0, 0};
            for (int64_t i = k + 1; i < n; i++) along = plus(along, conj_times(w->v[i], H(i, j)));
            along = scaled(along, factor);
            for (int64_t i = k + 1; i < n; i++) H(i, j) = minus(H(i, j), times(w->v[i], along));
        }
        reflect_columns(w, w->h, k, factor);
        reflect_columns(w, w->z, k, factor);
    }
}

/* ---- triangular form --------------------------------------------------------------------------*/

/* The eigenvalue of the last two rows and columns up to `last` that is closer to the last element;
 * now and then something else, which breaks ties that never end. */
static cpu_number choose_shift(const general *w, int64_t last, int step) {
    cpu_number d = H(last, last);
    if (step % 10 == 9) return plus(d, (cpu_number){0.75 * size_of(H(last, last - 1)), 0});
    cpu_number half = scaled(minus(H(last - 1, last - 1), d), 0.5);
    cpu_number bc = times(H(last - 1, last), H(last, last - 1));
    cpu_number root = root_of(plus(times(half, half), bc));
    if (half.re * root.re + half.im * root.im < 0) root = scaled(root, -1);
    cpu_number sum = plus(half, root);
    return size_of(sum) == 0 ? d : minus(d, divided(bc, sum));
}

/* Rows i and i + 1 from column `from` on become c a + s b and -conj(s) a + c b; columns, down to
 * row `to`, their adjoint; z gathers it. */
static void rotate(general *w, int64_t i, double c, cpu_number s, int64_t from, int64_t to) {
    for (int64_t j = from; j < w->n; j++) {
        cpu_number a = H(i, j), b = H(i + 1, j);
        H(i, j) = plus(scaled(a, c), times(s, b));
        H(i + 1, j) = minus(scaled(b, c), conj_times(s, a));
    }
    for (int64_t j = 0; j <= to; j++) {
        cpu_number a = H(j, i), b = H(j, i + 1);
        H(j, i) = plus(scaled(a, c), conj_times(s, b));
        H(j, i + 1) = minus(scaled(b, c), times(s, a));
    }
    for (int64_t j = 0; j < w->n; j++) {
        cpu_number a = Z(j, i), b = Z(j, i + 1);
        Z(j, i) = plus(scaled(a, c), conj_times(s, b));
        Z(j, i + 1) = minus(scaled(b, c), times(s, a));
    }
}

static void qr_step(general *w, int64_t first, int64_t last, cpu_number shift) {
    cpu_number x = minus(H(first, first), shift), y = H(first + 1, first);
    for (int64_t i = first; i < last; i++) {
        double length = hypot(magnitude(x), magnitude(y)), head = magnitude(x);
        if (length > 0) {
            double c = head / length;
            cpu_number phase = head > 0 ? scaled(x, 1 / head) : (cpu_number){1, 0};
            cpu_number s = scaled(conj_times(y, phase), 1 / length); /* c x + s y = length phase */
            rotate(w, i, c, s, i > first ? i - 1 : i, i + 2 < last ? i + 2 : last);
        }
        if (i > first) H(i + 1, i - 1) = (cpu_number){0, 0};
        if (i + 1 < last) x = H(i + 1, i), y = H(i + 2, i);
    }
}

static bool negligible(const general *w, int64_t i) {
    double beside = size_of(H(i, i)) + size_of(H(i - 1, i - 1));
    return size_of(H(i, i - 1)) <= DBL_EPSILON * (beside > 0 ? beside : 1);
}

static void triangularize(general *w) {
    for (int64_t last = w->n - 1; last > 0; last--)
        for (int step = 0; step < MOST_STEPS; step++) {
            int64_t first = last;
            while (first > 0 && !negligible(w, first)) first--;
            if (first > 0) H(first, first - 1) = (cpu_number){0, 0};
            if (first == last) break;
            qr_step(w, first, last, choose_shift(w, last, step));
        }
}

/* ---- vectors ----------------------------------------------------------------------------------*/

/* v = the vector of the triangle that belongs to its diagonal element j. Equal elements are set
 * apart by rounding; the matrix is near 1. */
static void substitute(general *w, int64_t j) {
    const double large = 0x1p300;
    double smallest = DBL_EPSILON * fmax(size_of(H(j, j)), DBL_EPSILON);
    for (int64_t i = 0; i < w->n; i++) w->v[i] = (cpu_number){i == j, 0};
    for (int64_t i = j - 1; i >= 0; i--) {
        cpu_number sum = {0, 0}, gap = minus(H(j, j), H(i, i));
        for (int64_t k = i + 1; k <= j; k++) sum = plus(sum, times(H(i, k), w->v[k]));
        if (size_of(gap) < smallest) gap = (cpu_number){smallest, 0};
        w->v[i] = divided(sum, gap);
        if (size_of(w->v[i]) < large) continue;
        for (int64_t k = i; k <= j; k++) w->v[k] = scaled(w->v[k], 1 / large);
    }
}

/* Length 1, and the phase that makes the first element of at least 7/10 of the largest magnitude
 * positive. */
void mica_cpu_fix_phase(cpu_number *x, int64_t step, int64_t n) {
    double largest = 0, length = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, magnitude(x[i * step]));
    if (!(largest > 0) || !isfinite(largest)) return;
    double unit = mica_cpu_linalg_unit(largest);
    int64_t pivot = 0;
    while (magnitude(x[pivot * step]) < 0.7 * largest) pivot++;
    for (int64_t i = 0; i < n; i++) length += square(scaled(x[i * step], unit));
    length = sqrt(length);
    cpu_number first = scaled(x[pivot * step], unit);
    double head = magnitude(first);
    for (int64_t i = 0; i < n; i++) {
        cpu_number turned = conj_times(first, scaled(x[i * step], unit));
        x[i * step] = scaled(turned, 1 / (head * length));
    }
    x[pivot * step].im = 0;
}

int64_t mica_cpu_eig_work(int64_t n) {
    return (2 * n * n + n) * (int64_t)sizeof(cpu_number) + n * (int64_t)sizeof(double);
}

void mica_cpu_eig(const cpu_number *a, cpu_number *values, cpu_number *vectors, void *work,
                  int64_t n) {
    general whole = {.n = n, .h = work}, *w = &whole;
    whole.z = whole.h + n * n;
    whole.v = whole.z + n * n;
    whole.balance = (double *)(whole.v + n);
    double largest = 0;
    for (int64_t i = 0; i < n * n; i++) largest = fmax(largest, fmax(fabs(a[i].re), fabs(a[i].im)));
    double unit = mica_cpu_linalg_unit(largest);
    for (int64_t i = 0; i < n * n; i++) w->h[i] = scaled(a[i], unit);
    balance(w);
    reduce_to_hessenberg(w);
    triangularize(w);
    for (int64_t j = 0; j < n; j++) {
        values[j] = scaled(H(j, j), 1 / unit);
        substitute(w, j);
        for (int64_t i = 0; i < n; i++) {
            cpu_number sum = {0, 0};
            for (int64_t k = 0; k <= j; k++) sum = plus(sum, times(Z(i, k), w->v[k]));
            vectors[i * n + j] = scaled(sum, w->balance[i]);
        }
        mica_cpu_fix_phase(vectors + j, n, n);
    }
}

/* ---- order ------------------------------------------------------------------------------------*/

static double key_of(cpu_number value) {
    return value.re + value.im * 0.31830988618379067;
}

static void swap_numbers(cpu_number *a, cpu_number *b) {
    cpu_number kept = *a;
    *a = *b;
    *b = kept;
}

void mica_cpu_eig_sort(cpu_number *values, cpu_number *vectors, int64_t n) {
    for (int64_t j = 0; j < n; j++) {
        int64_t least = j;
        for (int64_t k = j + 1; k < n; k++)
            if (key_of(values[k]) < key_of(values[least])) least = k;
        if (least == j) continue;
        swap_numbers(&values[j], &values[least]);
        for (int64_t i = 0; i < n; i++) swap_numbers(&vectors[i * n + j], &vectors[i * n + least]);
    }
}

/* The partner of value j: the one not yet taken that is nearest to its conjugate, perhaps itself.
 */
static int64_t partner_of(const cpu_number *values, const bool *taken, int64_t n, int64_t j) {
    int64_t best = j;
    double distance = 2 * fabs(values[j].im);
    for (int64_t k = 0; k < n; k++) {
        double d = hypot(values[k].re - values[j].re, values[k].im + values[j].im);
        if (!taken[k] && k != j && d < distance) best = k, distance = d;
    }
    return best;
}

/* Of a real matrix the values are real or come in pairs of conjugates, and so do the vectors. */
void mica_cpu_eig_pair(cpu_number *values, cpu_number *vectors, bool *taken, int64_t n) {
    memset(taken, 0, (size_t)n * sizeof *taken);
    for (int64_t j = 0; j < n; j++) {
        if (taken[j]) continue;
        int64_t k = partner_of(values, taken, n, j);
        taken[j] = taken[k] = true;
        if (k == j) {
            values[j].im = 0;
            for (int64_t i = 0; i < n; i++) vectors[i * n + j].im = 0;
            mica_cpu_fix_phase(vectors + j, n, n);
            continue;
        }
        values[k] = (cpu_number){values[j].re, -values[j].im};
        for (int64_t i = 0; i < n; i++)
            vectors[i * n + k] = (cpu_number){vectors[i * n + j].re, -vectors[i * n + j].im};
    }
}
