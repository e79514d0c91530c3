/* The discrete Fourier transform by its definition, in long double: a line whose length is a
 * product p m is taken apart into p lines of m elements, one of prime length is summed up. */
#include <math.h>
#include <string.h>

#include "device/ref/value.h"

typedef struct line_number {
    long double re, im;
} line_number;

/* e^(-2 pi i m / n) */
static line_number root(int64_t m, int64_t n) {
    long double angle = 2 * acosl(-1) * (long double)m / (long double)n;
    return (line_number){cosl(angle), -sinl(angle)};
}

static line_number plus_product(line_number sum, line_number a, line_number b) {
    return (line_number){sum.re + (a.re * b.re - a.im * b.im),
                         sum.im + (a.re * b.im + a.im * b.re)};
}

static int64_t smallest_prime(int64_t n) {
    for (int64_t p = 2; p * p <= n; p++)
        if (n % p == 0) return p;
    return n;
}

/* y = the transform of the n numbers x[0], x[step] ...; work has room for 2 n. roots are those of
 * the whole line, n root_step of them. */
static void transform(const line_number *x, int64_t step, line_number *y, line_number *work,
                      int64_t n, const line_number *roots, int64_t root_step) {
    int64_t p = smallest_prime(n), m = n / p;
    if (n == 1) {
        y[0] = x[0];
        return;
    }
    for (int64_t i = 0; i < p; i++) {
        if (m > 1)
            transform(x + i * step, step * p, work + i * m, y, m, roots, root_step * p);
        else
            work[i] = x[i * step];
    }
    for (int64_t k = 0; k < n; k++) {
        line_number sum = {0, 0};
        for (int64_t i = 0; i < p; i++)
            sum = plus_product(sum, work[i * m + k % m], roots[i * k % n * root_step]);
        y[k] = sum;
    }
}

/* A block of numbers that is transformed along one axis after the other. */
typedef struct block {
    int64_t count;
    line_number *numbers, *line, *result, *work, *roots;
} block;

static void run_axis(block *b, int64_t n, int64_t inner, bool inverse) {
    for (int64_t m = 0; m < n; m++) b->roots[m] = root(m, n);
    for (int64_t line = 0; line < b->count / n; line++) {
        line_number *at = b->numbers + line / inner * n * inner + line % inner;
        for (int64_t j = 0; j < n; j++) {
            b->line[j] = at[j * inner];
            if (inverse) b->line[j].im = -b->line[j].im;
        }
        transform(b->line, 1, b->result, b->work, n, b->roots, 1);
        long double factor = inverse ? 1 / (long double)n : 1;
        for (int64_t j = 0; j < n; j++)
            at[j * inner] = (line_number){b->result[j].re * factor,
                                          b->result[j].im * (inverse ? -factor : factor)};
    }
}

/* Element (i, j) of the block, j along the last axis: also of what irfft leaves out, the conjugate
 * of the element opposite along every axis. */
static line_number load(const ref_value *x, int64_t first, mica_ints lengths, int64_t at,
                        bool to_real) {
    int64_t last = lengths.data[lengths.n - 1], stored = to_real ? last / 2 + 1 : last;
    int64_t row = at / last, j = at % last, opposite = 0, rows = 1;
    bool mirrored = j >= stored;
    if (mirrored) {
        j = last - j;
        for (int32_t i = lengths.n - 2; i >= 0; i--, row /= lengths.data[i + 1]) {
            int64_t digit = row % lengths.data[i];
            opposite += (digit ? lengths.data[i] - digit : 0) * rows;
            rows *= lengths.data[i];
        }
        row = opposite;
    }
    ref_number number = ref_load(x->type.dtype, x->data, first + row * stored + j);
    bool real = mica_dtype_kind_of(x->type.dtype) == MICA_KIND_FLOAT;
    line_number out = {number.real, real ? 0 : number.imaginary};
    if (mirrored) out.im = -out.im;
    return out;
}

static void run_block(block *b, const mica_node *n, const ref_value *x, ref_value *y, int64_t i) {
    const char *kind = mica_node_string(n, "kind");
    mica_ints lengths = mica_node_ints(n, "lengths");
    bool inverse = kind[0] == 'i', to_real = !strcmp(kind, "irfft");
    int64_t last = lengths.data[lengths.n - 1], rows = b->count / last, inner = 1;
    int64_t x_last = to_real ? last / 2 + 1 : last;
    int64_t y_last = !strcmp(kind, "rfft") ? last / 2 + 1 : last;
    for (int64_t j = 0; j < b->count; j++)
        b->numbers[j] = load(x, i * rows * x_last, lengths, j, to_real);
    for (int32_t axis = lengths.n - 1; axis >= 0; axis--) {
        run_axis(b, lengths.data[axis], inner, inverse);
        inner *= lengths.data[axis];
    }
    for (int64_t j = 0; j < rows * y_last; j++) {
        line_number number = b->numbers[j / y_last * last + j % y_last];
        ref_store(y->type.dtype, y->data, i * rows * y_last + j,
                  (ref_number){.real = (double)number.re, .imaginary = (double)number.im});
    }
}

mica_status ref_fft(const mica_node *n, ref_value *const *operands, ref_value **results) {
    mica_ints lengths = mica_node_ints(n, "lengths");
    const mica_type *type = &operands[0]->type;
    int64_t longest = 0, blocks = 1;
    block b = {.count = 1};
    for (int32_t i = 0; i < lengths.n; i++) {
        b.count *= lengths.data[i];
        if (lengths.data[i] > longest) longest = lengths.data[i];
    }
    for (int32_t i = 0; i < type->rank - lengths.n; i++) blocks *= type->dims[i];
    b.numbers = mica_calloc((size_t)(b.count + 5 * longest), sizeof *b.numbers);
    if (!b.numbers) return MICA_NO_MEMORY();
    b.line = b.numbers + b.count;
    b.result = b.line + longest;
    b.work = b.result + longest;
    b.roots = b.work + 2 * longest;
    for (int64_t i = 0; i < blocks; i++) run_block(&b, n, operands[0], results[0], i);
    mica_free(b.numbers);
    return NULL;
}
