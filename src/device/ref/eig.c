/* Eigenvalues of a general matrix by QR steps on the whole of it, vectors by inverse iteration, in
 * long double. */
#include <float.h>
#include <math.h>

#include "device/ref/linalg.h"

typedef struct number {
    long double re, im;
} number;

static number plus(number a, number b) {
    return (number){a.re + b.re, a.im + b.im};
}
static number minus(number a, number b) {
    return (number){a.re - b.re, a.im - b.im};
}
static number times(number a, number b) {
    return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static number conjugate(number a) {
    return (number){a.re, -a.im};
}
static number scaled(number a, long double factor) {
    return (number){a.re * factor, a.im * factor};
}
static long double magnitude(number a) {
    return hypotl(a.re, a.im);
}
static number divided(number a, number b) {
    long double length = magnitude(b);
    return scaled(times(a, scaled(conjugate(b), 1 / length)), 1 / length);
}
static number square_root(number a) {
    long double length = sqrtl(magnitude(a)), angle = atan2l(a.im, a.re) / 2;
    return (number){length * cosl(angle), length * sinl(angle)};
}

/* Matrices of n columns; m holds what is left of a while its size goes down. */
typedef struct general_work {
    int64_t n;
    long double largest;
    number *a, *m, *values, *vectors, *x, *reflections;
} general_work;

#define M(i, j) (w->m[(i)*w->n + (j)])

static number shift_for(const general_work *w, int64_t size, int step) {
    number a = M(size - 2, size - 2), d = M(size - 1, size - 1);
    if (step % 11 == 10) return plus(d, (number){w->largest / (step + 1), w->largest / 7});
    number mean = scaled(plus(a, d), 0.5L), half = scaled(minus(a, d), 0.5L);
    number bc = times(M(size - 2, size - 1), M(size - 1, size - 2));
    number root = square_root(plus(times(half, half), bc));
    number one = plus(mean, root), other = minus(mean, root);
    return magnitude(minus(one, d)) < magnitude(minus(other, d)) ? one : other;
}

/* m - s = q r, m = r q + s, by reflections 1 - 2 v v*. */
static void qr_step(general_work *w, int64_t size, number shift) {
    for (int64_t i = 0; i < size; i++) M(i, i) = minus(M(i, i), shift);
    for (int64_t k = 0; k < size; k++) {
        number *v = w->reflections + k * w->n;
        long double length = 0;
        for (int64_t i = 0; i < size; i++) {
            v[i] = i < k ? (number){0, 0} : M(i, k);
            length = hypotl(length, magnitude(v[i]));
        }
        long double head = magnitude(v[k]);
        number phase = head > 0 ? scaled(v[k], 1 / head) : (number){1, 0};
        v[k] = plus(v[k], scaled(phase, length));
        length = 0;
        for (int64_t i = k; i < size; i++) length = hypotl(length, magnitude(v[i]));
        for (int64_t i = k; i < size && length > 0; i++) v[i] = scaled(v[i], 1 / length);
        for (int64_t j = k; j < size; j++) {
            number along = {0, 0};
            for (int64_t i = k; i < size; i++) along = plus(along, times(conjugate(v[i]), M(i, j)));
            for (int64_t i = k; i < size; i++)
                M(i, j) = minus(M(i, j), scaled(times(v[i], along), 2));
        }
    }
    for (int64_t k = 0; k < size; k++)
        for (int64_t i = 0; i < size; i++) {
            const number *v = w->reflections + k * w->n;
            number along = {0, 0};
            for (int64_t j = k; j < size; j++) along = plus(along, times(M(i, j), v[j]));
            for (int64_t j = k; j < size; j++)
                M(i, j) = minus(M(i, j), scaled(times(along, conjugate(v[j])), 2));
        }
    for (int64_t i = 0; i < size; i++) M(i, i) = plus(M(i, i), shift);
}

/* Once the last row is zero but for its last element, that is an eigenvalue. */
static void find_values(general_work *w) {
    for (int64_t size = w->n; size > 0; size--) {
        for (int step = 0; step < 300; step++) {
            long double off = 0;
            for (int64_t j = 0; j < size - 1; j++) off += magnitude(M(size - 1, j));
            if (off <= 2 * DBL_EPSILON * w->largest) break; /* far less, as a rule */
            qr_step(w, size, shift_for(w, size, step));
        }
        w->values[size - 1] = M(size - 1, size - 1);
    }
}

static void exchange_rows(general_work *w, int64_t i, int64_t j) {
    for (int64_t k = 0; k < w->n; k++) {
        number kept = M(i, k);
        M(i, k) = M(j, k);
        M(j, k) = kept;
    }
    number kept = w->x[i];
    w->x[i] = w->x[j];
    w->x[j] = kept;
}

/* x = (a - value)^-1 x; of what cannot be divided by, something small. */
static void solve_shifted(general_work *w, number value) {
    int64_t n = w->n;
    long double smallest = LDBL_EPSILON * w->largest;
    for (int64_t i = 0; i < n * n; i++) w->m[i] = w->a[i];
    for (int64_t i = 0; i < n; i++) M(i, i) = minus(M(i, i), value);
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < n; i++)
            if (magnitude(M(i, k)) > magnitude(M(best, k))) best = i;
        exchange_rows(w, k, best);
        if (magnitude(M(k, k)) < smallest) M(k, k) = (number){smallest, 0};
        for (int64_t i = k + 1; i < n; i++) {
            number factor = divided(M(i, k), M(k, k));
            for (int64_t j = k; j < n; j++) M(i, j) = minus(M(i, j), times(factor, M(k, j)));
            w->x[i] = minus(w->x[i], times(factor, w->x[k]));
        }
    }
    for (int64_t k = n; k-- > 0;) {
        for (int64_t j = k + 1; j < n; j++) w->x[k] = minus(w->x[k], times(M(k, j), w->x[j]));
        w->x[k] = divided(w->x[k], M(k, k));
    }
}

/* Length 1, and its first element of at least 7/10 of the largest magnitude real and positive. */
static void normalize(number *x, int64_t n) {
    long double length = 0, largest = 0;
    number phase = {1, 0};
    for (int64_t i = 0; i < n; i++) {
        length = hypotl(length, magnitude(x[i]));
        largest = fmaxl(largest, magnitude(x[i]));
    }
    for (int64_t i = n; i-- > 0;)
        if (magnitude(x[i]) >= 0.7L * largest) phase = scaled(conjugate(x[i]), 1 / magnitude(x[i]));
    for (int64_t i = 0; i < n; i++) x[i] = scaled(times(x[i], phase), 1 / length);
}

static void find_vector(general_work *w, int64_t j) {
    for (int64_t i = 0; i < w->n; i++)
        w->x[i] = (number){1 + cosl((long double)(i + 3 * j)), sinl((long double)(2 * i))};
    for (int pass = 0; pass < 3; pass++) {
        solve_shifted(w, w->values[j]);
        normalize(w->x, w->n);
    }
    for (int64_t i = 0; i < w->n; i++) w->vectors[i * w->n + j] = w->x[i];
}

static long double key_of(number value) {
    return value.re + value.im / acosl(-1);
}

static void decompose(general_work *w) {
    int64_t n = w->n;
    w->largest = LDBL_MIN;
    for (int64_t i = 0; i < n * n; i++) {
        w->largest = fmaxl(w->largest, magnitude(w->a[i]));
        w->m[i] = w->a[i];
    }
    find_values(w);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            if (key_of(w->values[j]) < key_of(w->values[i])) {
                number kept = w->values[i];
                w->values[i] = w->values[j];
                w->values[j] = kept;
            }
    for (int64_t j = 0; j < n; j++) find_vector(w, j);
}

static bool load_matrix(general_work *w, const ref_value *x, int64_t b) {
    bool finite = true, real = mica_dtype_kind_of(x->type.dtype) == MICA_KIND_FLOAT;
    for (int64_t i = 0; i < w->n * w->n; i++) {
        ref_number element = ref_load(x->type.dtype, x->data, b * w->n * w->n + i);
        double re = element.real, im = real ? 0 : element.imaginary;
        w->a[i] = (number){re, im};
        finite &= isfinite(re) && isfinite(im);
    }
    return finite;
}

static void store_numbers(const number *from, int64_t count, bool finite, ref_value *to,
                          int64_t b) {
    for (int64_t i = 0; i < count; i++)
        ref_store(to->type.dtype, to->data, b * count + i,
                  (ref_number){.real = finite ? (double)from[i].re : NAN,
                               .imaginary = finite ? (double)from[i].im : NAN});
}

mica_status ref_eig(const mica_node *node, ref_value *const *operands, ref_value **results) {
    (void)node;
    const mica_type *type = &operands[0]->type;
    general_work w = {.n = type->dims[type->rank - 1]};
    int64_t n = w.n;
    w.a = mica_calloc((size_t)(4 * n * n + 2 * n + 1), sizeof *w.a);
    if (!w.a) return MICA_NO_MEMORY();
    w.m = w.a + n * n;
    w.vectors = w.m + n * n;
    w.reflections = w.vectors + n * n;
    w.values = w.reflections + n * n;
    w.x = w.values + n;
    for (int64_t b = 0; b < ref_matrix_count(type); b++) {
        bool finite = load_matrix(&w, operands[0], b);
        if (finite) decompose(&w);
        store_numbers(w.values, n, finite, results[0], b);
        store_numbers(w.vectors, n * n, finite, results[1], b);
    }
    mica_free(w.a);
    return NULL;
}
