/* Fourier transforms for one dtype: the includer defines REAL, NAME(x), LANES and MASK(f), the list
 * f(0), f(1) ... of that many. */

typedef REAL NAME(vector) __attribute__((vector_size(LANES * sizeof(REAL)), aligned(16)));

typedef struct NAME(number) {
    NAME(vector) re, im;
} NAME(number);

#define VECTOR NAME(vector)
#define NUMBER NAME(number)

static inline NUMBER NAME(plus)(NUMBER a, NUMBER b) {
    return (NUMBER){a.re + b.re, a.im + b.im};
}
static inline NUMBER NAME(minus)(NUMBER a, NUMBER b) {
    return (NUMBER){a.re - b.re, a.im - b.im};
}
/* a w, and a times -i */
static inline NUMBER NAME(times)(NUMBER a, REAL re, REAL im) {
    return (NUMBER){a.re * re - a.im * im, a.re * im + a.im * re};
}
static inline NUMBER NAME(turn)(NUMBER a) {
    return (NUMBER){a.im, -a.re};
}
#define PLUS NAME(plus)
#define MINUS NAME(minus)
#define TIMES NAME(times)
#define TURN NAME(turn)

/* ---- butterflies: a becomes its discrete Fourier transform ------------------------------------*/

static inline void NAME(butterfly_2)(NUMBER *a) {
    NUMBER b = MINUS(a[0], a[1]);
    a[0] = PLUS(a[0], a[1]);
    a[1] = b;
}

static inline void NAME(butterfly_3)(NUMBER *a) {
    const REAL half = (REAL)-0.5, sine = (REAL)0.86602540378443864676;
    NUMBER sum = PLUS(a[1], a[2]), gap = TURN(MINUS(a[1], a[2]));
    NUMBER even = {a[0].re + half * sum.re, a[0].im + half * sum.im};
    NUMBER odd = {sine * gap.re, sine * gap.im};
    a[0] = PLUS(a[0], sum);
    a[1] = PLUS(even, odd);
    a[2] = MINUS(even, odd);
}

static inline void NAME(butterfly_4)(NUMBER *a) {
    NUMBER even = PLUS(a[0], a[2]), even_gap = MINUS(a[0], a[2]);
    NUMBER odd = PLUS(a[1], a[3]), odd_gap = TURN(MINUS(a[1], a[3]));
    a[0] = PLUS(even, odd);
    a[1] = PLUS(even_gap, odd_gap);
    a[2] = MINUS(even, odd);
    a[3] = MINUS(even_gap, odd_gap);
}

static inline void NAME(butterfly_5)(NUMBER *a) {
    const REAL c1 = (REAL)0.30901699437494742410, c2 = (REAL)-0.80901699437494742410;
    const REAL s1 = (REAL)0.95105651629515357212, s2 = (REAL)0.58778525229247312917;
    NUMBER p = PLUS(a[1], a[4]), q = PLUS(a[2], a[3]);
    NUMBER u = TURN(MINUS(a[1], a[4])), v = TURN(MINUS(a[2], a[3]));
    NUMBER e1 = {a[0].re + (c1 * p.re + c2 * q.re), a[0].im + (c1 * p.im + c2 * q.im)};
    NUMBER e2 = {a[0].re + (c2 * p.re + c1 * q.re), a[0].im + (c2 * p.im + c1 * q.im)};
    NUMBER o1 = {s1 * u.re + s2 * v.re, s1 * u.im + s2 * v.im};
    NUMBER o2 = {s2 * u.re - s1 * v.re, s2 * u.im - s1 * v.im};
    a[0] = PLUS(a[0], PLUS(p, q));
    a[1] = PLUS(e1, o1);
    a[2] = PLUS(e2, o2);
    a[3] = MINUS(e2, o2);
    a[4] = MINUS(e1, o1);
}

static inline void NAME(butterfly_8)(NUMBER *a) {
    const REAL half = (REAL)0.70710678118654752440;
    NUMBER even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
    NAME(butterfly_4)(even);
    NAME(butterfly_4)(odd);
    odd[1] = (NUMBER){half * (odd[1].re + odd[1].im), half * (odd[1].im - odd[1].re)};
    odd[2] = TURN(odd[2]);
    odd[3] = (NUMBER){half * (odd[3].im - odd[3].re), -half * (odd[3].re + odd[3].im)};
    for (int i = 0; i < 4; i++) {
        a[i] = PLUS(even[i], odd[i]);
        a[i + 4] = MINUS(even[i], odd[i]);
    }
}

/* ---- passes -----------------------------------------------------------------------------------
 * One step of a transform of n = radix m points, s of them interleaved (Stockham's order):
 * y[q + s (radix p + j)] = w^(p j) DFT(x[q + s (p + m k)] over k)[j], w the n-th root. */

#define PASS(radix)                                                                                \
    static void NAME(pass_##radix)(const NUMBER *restrict x, NUMBER *restrict y, int64_t m,        \
                                   int64_t s, const REAL *restrict w) {                            \
        for (int64_t p = 0; p < m; p++, w += 2 * (radix - 1))                                      \
            for (int64_t q = 0; q < s; q++) {                                                      \
                NUMBER a[radix];                                                                   \
                for (int k = 0; k < radix; k++) a[k] = x[q + s * (p + m * k)];                     \
                NAME(butterfly_##radix)(a);                                                        \
                y[q + s * radix * p] = a[0];                                                       \
                if (p == 0)                                                                        \
                    for (int j = 1; j < radix; j++) y[q + s * j] = a[j];                           \
                else                                                                               \
                    for (int j = 1; j < radix; j++)                                                \
                        y[q + s * (radix * p + j)] = TIMES(a[j], w[2 * j - 2], w[2 * j - 1]);      \
            }                                                                                      \
    }
PASS(2)
PASS(3)
PASS(4)
PASS(5)
PASS(8)
#undef PASS

/* An odd radix: elements k and radix - k make one real and one imaginary sum. */
static void NAME(butterfly_odd)(NUMBER *a, int64_t radix, const REAL *roots) {
    NUMBER sums[CPU_FFT_RADIX / 2], gaps[CPU_FFT_RADIX / 2], total = a[0], first = a[0];
    int64_t half = radix / 2;
    for (int64_t k = 1; k <= half; k++) {
        sums[k - 1] = PLUS(a[k], a[radix - k]);
        gaps[k - 1] = TURN(MINUS(a[k], a[radix - k]));
        total = PLUS(total, sums[k - 1]);
    }
    for (int64_t j = 1; j <= half; j++) {
        NUMBER even = first, odd = {{0}, {0}};
        for (int64_t k = 1, at = j; k <= half; k++, at += j) {
            if (at >= radix) at -= radix;
            REAL c = roots[2 * at], s = -roots[2 * at + 1];
            even = (NUMBER){even.re + c * sums[k - 1].re, even.im + c * sums[k - 1].im};
            odd = (NUMBER){odd.re + s * gaps[k - 1].re, odd.im + s * gaps[k - 1].im};
        }
        a[j] = PLUS(even, odd);
        a[radix - j] = MINUS(even, odd);
    }
    a[0] = total;
}

static void NAME(pass_odd)(const NUMBER *restrict x, NUMBER *restrict y, int64_t radix, int64_t m,
                           int64_t s, const REAL *restrict w, const REAL *restrict roots) {
    NUMBER a[CPU_FFT_RADIX];
    for (int64_t p = 0; p < m; p++, w += 2 * (radix - 1))
        for (int64_t q = 0; q < s; q++) {
            for (int64_t k = 0; k < radix; k++) a[k] = x[q + s * (p + m * k)];
            NAME(butterfly_odd)(a, radix, roots);
            y[q + s * radix * p] = a[0];
            for (int64_t j = 1; j < radix; j++)
                y[q + s * (radix * p + j)] =
                    p == 0 ? a[j] : TIMES(a[j], w[2 * j - 2], w[2 * j - 1]);
        }
}

/* From x, through y, to the one that is answered. */
static NUMBER *NAME(transform)(const mica_cpu_fft_plan *plan, NUMBER *x, NUMBER *y) {
    int64_t n = plan->n, s = 1;
    for (int i = 0; i < plan->n_passes; i++) {
        const mica_cpu_fft_pass *pass = &plan->passes[i];
        int64_t m = n / pass->radix;
        switch (pass->radix) {
        case 2: NAME(pass_2)(x, y, m, s, pass->twiddles); break;
        case 3: NAME(pass_3)(x, y, m, s, pass->twiddles); break;
        case 4: NAME(pass_4)(x, y, m, s, pass->twiddles); break;
        case 5: NAME(pass_5)(x, y, m, s, pass->twiddles); break;
        case 8: NAME(pass_8)(x, y, m, s, pass->twiddles); break;
        default: NAME(pass_odd)(x, y, pass->radix, m, s, pass->twiddles, pass->roots); break;
        }
        NUMBER *kept = x;
        x = y;
        y = kept;
        n = m;
        s *= pass->radix;
    }
    return x;
}

/* ---- in and out -------------------------------------------------------------------------------*/

static int NAME(side_by_side)(const int64_t *lines, int64_t count) {
    if (count != LANES) return 0;
    for (int l = 1; l < LANES; l++)
        if (lines[l] != lines[0] + l) return 0;
    return 1;
}

#define LOW(i) ((i) / 2 + ((i) % 2) * LANES)
#define HIGH(i) ((i) / 2 + ((i) % 2) * LANES + LANES / 2)

/* Rows become columns: as many times as 2 goes into LANES, halves are interleaved. */
static inline void NAME(exchange)(VECTOR *a) {
    for (int width = 1; width < LANES; width *= 2) {
        VECTOR b[LANES];
        for (int i = 0; i < LANES / 2; i++) {
            b[2 * i] = __builtin_shufflevector(a[i], a[i + LANES / 2], MASK(LOW));
            b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + LANES / 2], MASK(HIGH));
        }
        memcpy(a, b, sizeof b);
    }
}

/* LANES elements of LANES lines, each line's in a row. */
static inline void NAME(load_block)(const REAL *x, const int64_t *lines, int64_t j, int swap,
                                    NUMBER *work) {
    VECTOR re[LANES], im[LANES];
    for (int l = 0; l < LANES; l++) {
        VECTOR a, b;
        memcpy(&a, x + 2 * (lines[l] + j), sizeof a);
        memcpy(&b, x + 2 * (lines[l] + j) + LANES, sizeof b);
        re[l] = __builtin_shufflevector(a, b, MASK(EVEN));
        im[l] = __builtin_shufflevector(a, b, MASK(ODD));
    }
    NAME(exchange)(re);
    NAME(exchange)(im);
    for (int i = 0; i < LANES; i++)
        work[j + i] = swap ? (NUMBER){im[i], re[i]} : (NUMBER){re[i], im[i]};
}

static inline void NAME(store_block)(REAL *y, const int64_t *lines, int64_t j, int swap,
                                     REAL factor, const NUMBER *work) {
    VECTOR re[LANES], im[LANES];
    for (int i = 0; i < LANES; i++) {
        re[i] = (swap ? work[j + i].im : work[j + i].re) * factor;
        im[i] = (swap ? work[j + i].re : work[j + i].im) * factor;
    }
    NAME(exchange)(re);
    NAME(exchange)(im);
    for (int l = 0; l < LANES; l++) {
        VECTOR a = __builtin_shufflevector(re[l], im[l], MASK(LOW));
        VECTOR b = __builtin_shufflevector(re[l], im[l], MASK(HIGH));
        memcpy(y + 2 * (lines[l] + j), &a, sizeof a);
        memcpy(y + 2 * (lines[l] + j) + LANES, &b, sizeof b);
    }
}

static void NAME(load)(const mica_cpu_fft_lines *t, NUMBER *work) {
    const REAL *x = t->x;
    int64_t n = t->plan->n, step = 2 * t->x_step;
    int first = t->swap_in ? 1 : 0;
    if (NAME(side_by_side)(t->x_lines, t->count)) {
        x += 2 * t->x_lines[0];
        for (int64_t j = 0; j < n; j++, x += step) {
            VECTOR a, b;
            memcpy(&a, x, sizeof a);
            memcpy(&b, x + LANES, sizeof b);
            VECTOR even = __builtin_shufflevector(a, b, MASK(EVEN));
            VECTOR odd = __builtin_shufflevector(a, b, MASK(ODD));
            work[j] = first ? (NUMBER){odd, even} : (NUMBER){even, odd};
        }
        return;
    }
    REAL *to = (REAL *)work;
    int64_t done = 0;
    if (t->count < LANES)
        memset(work, 0, (size_t)n * sizeof *work);
    else if (t->x_step == 1)
        for (; done + LANES <= n; done += LANES) NAME(load_block)(x, t->x_lines, done, first, work);
    for (int64_t l = 0; l < t->count; l++) {
        const REAL *line = x + 2 * t->x_lines[l];
        for (int64_t j = done; j < n; j++) {
            to[j * 2 * LANES + l] = line[j * step + first];
            to[j * 2 * LANES + LANES + l] = line[j * step + 1 - first];
        }
    }
}

static void NAME(store)(const mica_cpu_fft_lines *t, const NUMBER *work) {
    REAL *y = t->y;
    int64_t n = t->plan->n, step = 2 * t->y_step;
    int first = t->swap_out ? 1 : 0;
    REAL factor = (REAL)t->factor;
    if (NAME(side_by_side)(t->y_lines, t->count)) {
        y += 2 * t->y_lines[0];
        for (int64_t j = 0; j < n; j++, y += step) {
            VECTOR re = work[j].re * factor, im = work[j].im * factor;
            VECTOR even = first ? im : re, odd = first ? re : im;
            VECTOR a = __builtin_shufflevector(even, odd, MASK(LOW));
            VECTOR b = __builtin_shufflevector(even, odd, MASK(HIGH));
            memcpy(y, &a, sizeof a);
            memcpy(y + LANES, &b, sizeof b);
        }
        return;
    }
    const REAL *from = (const REAL *)work;
    int64_t done = 0;
    if (t->count == LANES && t->y_step == 1)
        for (; done + LANES <= n; done += LANES)
            NAME(store_block)(y, t->y_lines, done, first, factor, work);
    for (int64_t l = 0; l < t->count; l++) {
        REAL *line = y + 2 * t->y_lines[l];
        for (int64_t j = done; j < n; j++) {
            line[j * step + first] = from[j * 2 * LANES + l] * factor;
            line[j * step + 1 - first] = from[j * 2 * LANES + LANES + l] * factor;
        }
    }
}

#undef LOW
#undef HIGH

/* The m-th power of the root, 0 <= m < n: a product of two that are stored, in f64. */
static inline void NAME(power)(const mica_cpu_fft_roots *roots, int64_t m, double *re, double *im) {
    const double *low = roots->low + 2 * (m & ((1 << roots->shift) - 1));
    const double *high = roots->high + 2 * (m >> roots->shift);
    *re = low[0] * high[0] - low[1] * high[1];
    *im = low[0] * high[1] + low[1] * high[0];
}

/* w^(place k) for every lane, whose places follow each other from `first`. */
static inline NUMBER NAME(lane_powers)(const mica_cpu_fft_lines *t, int64_t k) {
    NUMBER out = {{0}, {0}};
    for (int64_t l = 0; l < t->count; l++) {
        double re, im;
        NAME(power)(t->roots, (t->first + l) * k, &re, &im);
        out.re[l] = (REAL)re;
        out.im[l] = (REAL)im;
    }
    return out;
}

static inline NUMBER NAME(product)(NUMBER a, NUMBER b) {
    return (NUMBER){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Element k of the line at place f goes times w^(f k), put together of two powers. */
static void NAME(twiddle)(const mica_cpu_fft_lines *t, NUMBER *work) {
    enum { NEAR = 32 };
    NUMBER near[NEAR];
    int64_t n = t->plan->n;
    for (int64_t k = 0; k < NEAR && k < n; k++) near[k] = NAME(lane_powers)(t, k);
    for (int64_t k = 0; k < n && k < NEAR; k++) work[k] = NAME(product)(work[k], near[k]);
    for (int64_t far = NEAR; far < n; far += NEAR) {
        NUMBER step = NAME(lane_powers)(t, far);
        for (int64_t k = far; k < n && k < far + NEAR; k++)
            work[k] = NAME(product)(work[k], NAME(product)(step, near[k - far]));
    }
}

static void NAME(lines)(const mica_cpu_fft_lines *t) {
    NUMBER *x = t->work, *y = x + t->plan->n;
    NAME(load)(t, x);
    x = NAME(transform)(t->plan, x, y);
    if (t->roots) NAME(twiddle)(t, x);
    NAME(store)(t, x);
}

/* ---- elementwise ------------------------------------------------------------------------------*/

static void NAME(multiply)(const void *from, int64_t step, const void *by, void *to,
                           int64_t to_step, int64_t n, int swap_in, int swap_out, double factor) {
    const REAL *x = from, *w = by;
    REAL *y = to, f = (REAL)factor;
    int in = swap_in ? 1 : 0, out = swap_out ? 1 : 0;
    CPU_INDEPENDENT
    for (int64_t j = 0; j < n; j++) {
        REAL re = x[2 * j * step + in], im = x[2 * j * step + 1 - in];
        REAL a = re * w[2 * j] - im * w[2 * j + 1], b = re * w[2 * j + 1] + im * w[2 * j];
        y[2 * j * to_step + out] = a * f;
        y[2 * j * to_step + 1 - out] = b * f;
    }
}

/* Powers `first` and the count - 1 that follow it; they lie between two that are stored high. */
static void NAME(powers)(const mica_cpu_fft_roots *roots, int64_t first, int64_t count,
                         REAL *restrict re, REAL *restrict im) {
    int64_t size = (int64_t)1 << roots->shift;
    for (int64_t i = 0; i < count;) {
        int64_t at = (first + i) & (size - 1), end = count - i < size - at ? count - i : size - at;
        const double *low = roots->low + 2 * at;
        double c = roots->high[2 * ((first + i) >> roots->shift)];
        double s = roots->high[2 * ((first + i) >> roots->shift) + 1];
        for (int64_t j = 0; j < end; j++) {
            re[i + j] = (REAL)(low[2 * j] * c - low[2 * j + 1] * s);
            im[i + j] = (REAL)(low[2 * j] * s + low[2 * j + 1] * c);
        }
        i += end;
    }
}

/* Elements k of a line and their opposites, apart: so that loops over them are plain. */
enum { NAME(PAIRS) = 64 };
typedef struct NAME(pairs) {
    REAL re[NAME(PAIRS)], im[NAME(PAIRS)]; /* of the root's powers */
    REAL a_re[NAME(PAIRS)], a_im[NAME(PAIRS)], b_re[NAME(PAIRS)], b_im[NAME(PAIRS)];
} NAME(pairs);

static void NAME(load_pairs)(NAME(pairs) * p, const REAL *x, int64_t k, int64_t m, int64_t count) {
    const REAL *a = x + 2 * k, *b = x + 2 * (m - k);
    for (int64_t i = 0; i < count; i++) p->a_re[i] = a[2 * i], p->a_im[i] = a[2 * i + 1];
    for (int64_t i = 0; i < count; i++) p->b_re[i] = b[-2 * i], p->b_im[i] = b[-2 * i + 1];
}

static void NAME(store_pairs)(const NAME(pairs) * p, REAL *x, int64_t k, int64_t m, int64_t count) {
    REAL *a = x + 2 * k, *b = x + 2 * (m - k);
    for (int64_t i = 0; i < count; i++) a[2 * i] = p->a_re[i], a[2 * i + 1] = p->a_im[i];
    for (int64_t i = 0; i < count; i++) b[-2 * i] = p->b_re[i], b[-2 * i + 1] = p->b_im[i];
}

/* z, the transform of m numbers x[2 j] + i x[2 j + 1], becomes elements 0 .. m of that of 2 m real
 * ones, two from both ends at a time: for begin <= k < end <= m / 2 + 1. */
static void NAME(split_real)(void *data, const mica_cpu_fft_roots *roots, int64_t m, int64_t begin,
                             int64_t end) {
    const REAL half = (REAL)0.5;
    REAL *z = data;
    NAME(pairs) p;
    if (begin == 0) {
        REAL re = z[0], im = z[1];
        z[0] = re + im;
        z[2 * m] = re - im;
        z[1] = z[2 * m + 1] = 0;
        begin = 1;
    }
    for (int64_t k = begin; k < end; k += NAME(PAIRS)) {
        int64_t count = end - k < NAME(PAIRS) ? end - k : NAME(PAIRS);
        NAME(powers)(roots, k, count, p.re, p.im);
        NAME(load_pairs)(&p, z, k, m, count);
        for (int64_t i = 0; i < count; i++) {
            REAL even_re = half * (p.a_re[i] + p.b_re[i]), even_im = half * (p.a_im[i] - p.b_im[i]);
            REAL odd_re = half * (p.a_im[i] + p.b_im[i]), odd_im = half * (p.b_re[i] - p.a_re[i]);
            REAL re = p.re[i] * odd_re - p.im[i] * odd_im, im = p.re[i] * odd_im + p.im[i] * odd_re;
            p.a_re[i] = even_re + re;
            p.a_im[i] = even_im + im;
            p.b_re[i] = even_re - re;
            p.b_im[i] = im - even_im;
        }
        NAME(store_pairs)(&p, z, k, m, count);
    }
}

/* The other way: from x, elements 0 .. m of a transform, to z. */
static void NAME(join_real)(const void *from, void *to, const mica_cpu_fft_roots *roots, int64_t m,
                            int64_t begin, int64_t end) {
    const REAL *x = from, half = (REAL)0.5;
    REAL *z = to;
    NAME(pairs) p;
    if (begin == 0) {
        z[0] = half * (x[0] + x[2 * m]);
        z[1] = half * (x[0] - x[2 * m]);
        begin = 1;
    }
    for (int64_t k = begin; k < end; k += NAME(PAIRS)) {
        int64_t count = end - k < NAME(PAIRS) ? end - k : NAME(PAIRS);
        NAME(powers)(roots, k, count, p.re, p.im);
        NAME(load_pairs)(&p, x, k, m, count);
        for (int64_t i = 0; i < count; i++) {
            REAL even_re = half * (p.a_re[i] + p.b_re[i]), even_im = half * (p.a_im[i] - p.b_im[i]);
            REAL gap_re = half * (p.a_re[i] - p.b_re[i]), gap_im = half * (p.a_im[i] + p.b_im[i]);
            REAL odd_re = p.re[i] * gap_re + p.im[i] * gap_im;
            REAL odd_im = p.re[i] * gap_im - p.im[i] * gap_re;
            p.a_re[i] = even_re - odd_im;
            p.a_im[i] = even_im + odd_re;
            p.b_re[i] = even_re + odd_im;
            p.b_im[i] = odd_re - even_im;
        }
        NAME(store_pairs)(&p, z, k, m, count);
    }
}

#undef VECTOR
#undef NUMBER
#undef PLUS
#undef MINUS
#undef TIMES
#undef TURN
#undef REAL
#undef NAME
#undef LANES
#undef MASK
