/* Plans of Fourier transforms and how lines go through them. */
#include <math.h>
#include <string.h>

#include "device/cpu/fft.h"

enum {
    FEW_LINES = 8,    /* below, a line is split so that it fills the lanes by itself */
    SHORT_LINE = 64,  /* too short to be split for that */
    LONG_LINE = 1024, /* too long for the passes to stay in the cache */
    LONG_APART = 65536,
    MOST_PIECES = 32,
    CONVOLVED = 1 << 18, /* numbers that are convolved at a time */
};
#define WORK_BYTES ((int64_t)1 << 24) /* for all pieces together, about */

/* ---- tables -----------------------------------------------------------------------------------*/

static void *take(cpu_fft_memory *memory, int64_t bytes) {
    void *out = memory->base ? memory->base + memory->used : NULL;
    memory->used += cpu_align((size_t)bytes);
    return out;
}

/* The angle is brought into an eighth of the circle by whole numbers, so that it is small and
 * exact, and the root's symmetries are kept to the bit. */
void mica_cpu_fft_root(int64_t m, int64_t n, double *re, double *im) {
    const double pi = 3.14159265358979323846;
    int64_t eighth = 8 * m / n, rest = 8 * m - eighth * n; /* m / n = (eighth + rest / n) / 8 */
    if (eighth % 2) rest = n - rest;
    double angle = pi / 4 * ((double)rest / (double)n), c = cos(angle), s = sin(angle);
    static const struct {
        signed char exchange, re, im;
    } turns[8] = {{0, 1, -1}, {1, 1, -1}, {1, -1, -1}, {0, -1, -1},
                  {0, -1, 1}, {1, -1, 1}, {1, 1, 1},   {0, 1, 1}};
    *re = turns[eighth].re * (turns[eighth].exchange ? s : c);
    *im = turns[eighth].im * (turns[eighth].exchange ? c : s);
}

static void put(void *table, int64_t bytes, int64_t i, double re, double im) {
    if (bytes == 4)
        ((float *)table)[2 * i] = (float)re, ((float *)table)[2 * i + 1] = (float)im;
    else
        ((double *)table)[2 * i] = re, ((double *)table)[2 * i + 1] = im;
}

void mica_cpu_fft_roots_init(mica_cpu_fft_roots *roots, int64_t n, cpu_fft_memory *memory) {
    roots->shift = 0;
    while ((int64_t)1 << (2 * roots->shift) < n) roots->shift++;
    int64_t low = (int64_t)1 << roots->shift, high = (n >> roots->shift) + 1;
    double *tables[] = {take(memory, low * 16), take(memory, high * 16)};
    roots->low = tables[0];
    roots->high = tables[1];
    if (!memory->base) return;
    for (int64_t m = 0; m < low; m++)
        mica_cpu_fft_root(m % n, n, &tables[0][2 * m], &tables[0][2 * m + 1]);
    for (int64_t m = 0; m < high; m++)
        mica_cpu_fft_root(m * low % n, n, &tables[1][2 * m], &tables[1][2 * m + 1]);
}

static void add_pass(mica_cpu_fft_plan *plan, int64_t left, int64_t radix, int64_t bytes,
                     cpu_fft_memory *memory) {
    mica_cpu_fft_pass *pass = &plan->passes[plan->n_passes++];
    int64_t m = left / radix;
    void *twiddles = take(memory, m * (radix - 1) * 2 * bytes);
    void *roots = take(memory, radix * 2 * bytes);
    *pass = (mica_cpu_fft_pass){radix, twiddles, roots};
    double re, im;
    for (int64_t p = 0; memory->base && p < m; p++)
        for (int64_t j = 1; j < radix; j++) {
            mica_cpu_fft_root(p * j, left, &re, &im);
            put(twiddles, bytes, p * (radix - 1) + j - 1, re, im);
        }
    for (int64_t j = 0; memory->base && j < radix; j++) {
        mica_cpu_fft_root(j, radix, &re, &im);
        put(roots, bytes, j, re, im);
    }
}

/* n has no prime factor above CPU_FFT_RADIX. */
static void make_plan(mica_cpu_fft_plan *plan, int64_t n, int64_t bytes, cpu_fft_memory *memory) {
    *plan = (mica_cpu_fft_plan){.n = n};
    for (int64_t radix = 8; n > 1;) {
        if (n % radix == 0) {
            add_pass(plan, n, radix, bytes, memory);
            n /= radix;
        } else
            radix = radix == 8 ? 4 : radix == 4 ? 2 : radix == 2 ? 3 : radix + 2;
    }
}

static int64_t largest_prime(int64_t n) {
    int64_t largest = 1;
    for (int64_t p = 2; p * p <= n; p++)
        for (; n % p == 0; n /= p) largest = p;
    return n > 1 ? n : largest;
}

/* The factor of n that is nearest to its root, not above it. */
static int64_t near_root(int64_t n) {
    int64_t best = 1;
    for (int64_t a = 1; a * a <= n; a++)
        if (n % a == 0) best = a;
    return best;
}

/* The smallest number from n on of factors 2, 3 and 5 that has at least one 8. */
static int64_t next_smooth(int64_t n) {
    int64_t best = INT64_MAX;
    for (int64_t fives = 1; fives < 2 * n && fives <= 25; fives *= 5)
        for (int64_t threes = fives; threes < 2 * n && threes <= fives * 27; threes *= 3) {
            int64_t candidate = 8 * threes;
            while (candidate < n) candidate *= 2;
            if (candidate < best) best = candidate;
        }
    return best;
}

/* e^(-i pi j^2 / n) */
static void fill_chirp(void *table, int64_t n, int64_t bytes) {
    double re, im;
    int64_t square = 0; /* mod 2 n */
    for (int64_t j = 0; j < n; j++) {
        mica_cpu_fft_root(square, 2 * n, &re, &im);
        put(table, bytes, j, re, im);
        square = (square + 2 * j + 1) % (2 * n);
    }
}

static void init_chirp(cpu_fft *fft, mica_dtype real, cpu_fft_memory *memory) {
    int64_t n = fft->n, length = next_smooth(2 * n - 1), bytes = 2 * fft->real_bytes;
    cpu_fft counted, *longer = take(memory, sizeof *longer);
    fft->together = cpu_max(1, cpu_min(fft->lines, CONVOLVED / length));
    fft->longer = longer;
    mica_cpu_fft_init(longer ? longer : &counted, real, length, fft->together, false, memory);
    fft->chirp = take(memory, n * bytes);
    fft->spectrum = take(memory, length * bytes);
    if (memory->base) fill_chirp((void *)fft->chirp, n, fft->real_bytes);
}

void mica_cpu_fft_init(cpu_fft *fft, mica_dtype real, int64_t n, int64_t lines, bool apart,
                       cpu_fft_memory *memory) {
    const mica_cpu_fft *loops = mica_cpu_isa_current()->fft + (real == MICA_DTYPE_f64);
    *fft = (cpu_fft){.loops = loops, .n = n, .lines = lines};
    fft->real_bytes = (int64_t)mica_dtype_bytes(real);
    if (largest_prime(n) >= CPU_FFT_RADIX) {
        init_chirp(fft, real, memory);
        return;
    }
    int64_t factor = near_root(n);
    fft->split = lines < FEW_LINES ? n >= SHORT_LINE : n > (apart ? LONG_APART : LONG_LINE);
    fft->split = fft->split && factor > 1;
    make_plan(&fft->first, fft->split ? factor : n, fft->real_bytes, memory);
    if (!fft->split) return;
    make_plan(&fft->second, n / factor, fft->real_bytes, memory);
    mica_cpu_fft_roots_init(&fft->roots, n, memory);
}

/* ---- lines side by side -----------------------------------------------------------------------*/

static int64_t work_bytes(const cpu_fft *fft) {
    int64_t n = cpu_max(fft->first.n, fft->second.n);
    return (int64_t)cpu_align((size_t)(4 * n * fft->loops->lanes * fft->real_bytes));
}

static int64_t most_pieces(const cpu_fft *fft) {
    return cpu_max(2, cpu_min(MOST_PIECES, WORK_BYTES / work_bytes(fft)));
}

/* Lines that go through one plan; which line a number means is the job's own. */
typedef struct job {
    const cpu_fft *fft;
    mica_cpu_fft_lines lines; /* without what differs between groups */
    cpu_fft_layout layout;
    int64_t n_lines, n_pieces;
    int64_t x_base, y_base;   /* of a split line */
    int64_t x_apart, y_apart; /* from one of its short lines to the next; 0: use the layout */
    char *work;
} job;

static void run_group(const job *j, mica_cpu_fft_lines *lines, int64_t first) {
    int64_t x_lines[64], y_lines[64];
    const cpu_fft_layout *layout = &j->layout;
    lines->count = cpu_min(j->fft->loops->lanes, j->n_lines - first);
    for (int64_t l = 0; l < lines->count; l++) {
        int64_t line = first + l;
        if (j->x_apart) {
            x_lines[l] = j->x_base + line * j->x_apart;
            y_lines[l] = j->y_base + line * j->y_apart;
        } else {
            int64_t outer = line / layout->inner, inner = line % layout->inner;
            x_lines[l] = outer * layout->x_outer_step + inner;
            y_lines[l] = outer * layout->y_outer_step + inner;
        }
    }
    lines->x_lines = x_lines;
    lines->y_lines = y_lines;
    lines->first = first;
    j->fft->loops->lines(lines);
}

static void run_piece(void *context, int64_t begin, int64_t end) {
    const job *j = context;
    int64_t lanes = j->fft->loops->lanes, groups = cpu_ceil_div(j->n_lines, lanes);
    for (int64_t piece = begin; piece < end; piece++) {
        mica_cpu_fft_lines lines = j->lines;
        lines.work = j->work + piece * work_bytes(j->fft);
        int64_t last = groups * (piece + 1) / j->n_pieces;
        for (int64_t g = groups * piece / j->n_pieces; g < last; g++)
            run_group(j, &lines, g * lanes);
    }
}

/* Pieces have work of their own; too little to share is one piece. */
static void run_job(job *j, int64_t most) {
    int64_t groups = cpu_ceil_div(j->n_lines, j->fft->loops->lanes);
    bool small = j->n_lines * j->lines.plan->n < 8192;
    j->n_pieces = small ? 1 : cpu_max(1, cpu_min(groups, most));
    mica_parallel_for(j->n_pieces, 1, run_piece, j);
}

static void run_whole(const cpu_fft *fft, const cpu_fft_layout *layout, const void *x, void *y,
                      bool inverse, double factor, void *scratch) {
    job j = {.fft = fft, .layout = *layout, .n_lines = layout->outer * layout->inner};
    j.work = scratch;
    j.lines = (mica_cpu_fft_lines){.plan = &fft->first,
                                   .x = x,
                                   .y = y,
                                   .x_step = layout->inner,
                                   .y_step = layout->inner,
                                   .swap_in = inverse,
                                   .swap_out = inverse,
                                   .factor = factor};
    run_job(&j, most_pieces(fft));
}

/* x[r b + c] goes to t[k, c] by transforms along r, then to y[k + a l] by transforms along c. */
static void run_split_line(const cpu_fft *fft, int64_t x_base, const void *x, int64_t y_base,
                           void *y, int64_t step, bool inverse, double factor, char *scratch,
                           int64_t pieces) {
    int64_t a = fft->first.n, b = fft->second.n;
    char *between = scratch + pieces * work_bytes(fft);
    job down = {.fft = fft, .n_lines = b, .work = scratch};
    down.x_base = x_base, down.x_apart = step, down.y_apart = 1;
    down.lines = (mica_cpu_fft_lines){.plan = &fft->first,
                                      .x = x,
                                      .y = between,
                                      .x_step = b * step,
                                      .y_step = b,
                                      .roots = &fft->roots,
                                      .swap_in = inverse,
                                      .factor = 1};
    run_job(&down, pieces);
    job along = {.fft = fft, .n_lines = a, .work = scratch};
    along.y_base = y_base, along.x_apart = b, along.y_apart = step;
    along.lines = (mica_cpu_fft_lines){.plan = &fft->second,
                                       .x = between,
                                       .y = y,
                                       .x_step = 1,
                                       .y_step = a * step,
                                       .swap_out = inverse,
                                       .factor = factor};
    run_job(&along, pieces);
}

/* What one split line needs for itself. */
static int64_t split_bytes(const cpu_fft *fft) {
    return work_bytes(fft) + (int64_t)cpu_align((size_t)(fft->n * 2 * fft->real_bytes));
}

/* How many threads' worth of lines go at a time; 1: a line is shared by all threads. */
static int64_t line_pieces(const cpu_fft *fft) {
    if (fft->lines < FEW_LINES) return 1;
    return cpu_max(1, cpu_min(MOST_PIECES, WORK_BYTES / split_bytes(fft)));
}

static int64_t line_position(const cpu_fft_layout *layout, int64_t line, int64_t outer_step) {
    return line / layout->inner * outer_step + line % layout->inner;
}

/* Many lines: each is one thread's own, with work of its own. */
typedef struct split_lines {
    const cpu_fft *fft;
    cpu_fft_layout layout;
    const void *x;
    void *y;
    bool inverse;
    double factor;
    int64_t n_pieces;
    char *scratch;
} split_lines;

static void run_split_piece(void *context, int64_t begin, int64_t end) {
    const split_lines *s = context;
    const cpu_fft_layout *layout = &s->layout;
    int64_t total = layout->outer * layout->inner;
    for (int64_t piece = begin; piece < end; piece++) {
        char *scratch = s->scratch + piece * split_bytes(s->fft);
        int64_t last = total * (piece + 1) / s->n_pieces;
        for (int64_t line = total * piece / s->n_pieces; line < last; line++)
            run_split_line(s->fft, line_position(layout, line, layout->x_outer_step), s->x,
                           line_position(layout, line, layout->y_outer_step), s->y, layout->inner,
                           s->inverse, s->factor, scratch, 1);
    }
}

static void run_split(const cpu_fft *fft, const cpu_fft_layout *layout, const void *x, void *y,
                      bool inverse, double factor, void *scratch) {
    int64_t total = layout->outer * layout->inner, pieces = line_pieces(fft);
    if (pieces > 1) {
        split_lines s = {fft, *layout, x, y, inverse, factor, cpu_min(pieces, total), scratch};
        mica_parallel_for(s.n_pieces, 1, run_split_piece, &s);
        return;
    }
    for (int64_t line = 0; line < total; line++)
        run_split_line(fft, line_position(layout, line, layout->x_outer_step), x,
                       line_position(layout, line, layout->y_outer_step), y, layout->inner, inverse,
                       factor, scratch, most_pieces(fft));
}

/* ---- chirps -----------------------------------------------------------------------------------*/

typedef struct convolution {
    const cpu_fft *fft;
    cpu_fft_layout layout;
    const char *x;
    char *y, *lines; /* continued by zeros, one after the other */
    int64_t first;   /* of the lines at hand */
    bool inverse;
    double factor;
} convolution;

static void begin_lines(void *context, int64_t begin, int64_t end) {
    const convolution *c = context;
    int64_t bytes = 2 * c->fft->real_bytes, n = c->fft->n, length = c->fft->longer->n;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = line_position(&c->layout, c->first + i, c->layout.x_outer_step);
        char *line = c->lines + i * length * bytes;
        c->fft->loops->multiply(c->x + at * bytes, c->layout.inner, c->fft->chirp, line, 1, n,
                                c->inverse, 0, 1);
        memset(line + n * bytes, 0, (size_t)((length - n) * bytes));
    }
}

static void convolve_lines(void *context, int64_t begin, int64_t end) {
    const convolution *c = context;
    int64_t length = c->fft->longer->n, bytes = 2 * c->fft->real_bytes;
    for (int64_t i = begin; i < end; i++) {
        char *line = c->lines + i * length * bytes;
        c->fft->loops->multiply(line, 1, c->fft->spectrum, line, 1, length, 0, 0, 1);
    }
}

static void end_lines(void *context, int64_t begin, int64_t end) {
    const convolution *c = context;
    int64_t bytes = 2 * c->fft->real_bytes, length = c->fft->longer->n;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = line_position(&c->layout, c->first + i, c->layout.y_outer_step);
        c->fft->loops->multiply(c->lines + i * length * bytes, 1, c->fft->chirp, c->y + at * bytes,
                                c->layout.inner, c->fft->n, 0, c->inverse, c->factor);
    }
}

static void run_chirp(const cpu_fft *fft, const cpu_fft_layout *layout, const void *x, void *y,
                      bool inverse, double factor, char *scratch) {
    int64_t length = fft->longer->n, total = layout->outer * layout->inner;
    convolution c = {fft, *layout, x, y, scratch, 0, inverse, factor};
    void *rest = scratch + cpu_align((size_t)(fft->together * length * 2 * fft->real_bytes));
    for (; c.first < total; c.first += fft->together) {
        int64_t count = cpu_min(fft->together, total - c.first), grain = cpu_max(1, 16384 / length);
        cpu_fft_layout rows = {count, 1, length, length};
        mica_parallel_for(count, grain, begin_lines, &c);
        mica_cpu_fft_run(fft->longer, &rows, scratch, scratch, false, 1, rest);
        mica_parallel_for(count, grain, convolve_lines, &c);
        mica_cpu_fft_run(fft->longer, &rows, scratch, scratch, true, 1.0 / (double)length, rest);
        mica_parallel_for(count, grain, end_lines, &c);
    }
}

/* The transform of the conjugate chirp, which reaches from 1 - n to n - 1. */
mica_status mica_cpu_fft_prepare(cpu_fft *fft) {
    if (!fft->longer) return NULL;
    int64_t length = fft->longer->n, n = fft->n, bytes = fft->real_bytes;
    void *scratch = mica_alloc_aligned(mica_cpu_fft_scratch(fft->longer));
    if (!scratch) return MICA_NO_MEMORY();
    void *spectrum = (void *)fft->spectrum;
    memset(spectrum, 0, (size_t)(length * 2 * bytes));
    for (int64_t j = 0; j < n; j++) {
        double re =
            bytes == 4 ? ((const float *)fft->chirp)[2 * j] : ((const double *)fft->chirp)[2 * j];
        double im = bytes == 4 ? ((const float *)fft->chirp)[2 * j + 1]
                               : ((const double *)fft->chirp)[2 * j + 1];
        put(spectrum, bytes, j, re, -im);
        if (j > 0) put(spectrum, bytes, length - j, re, -im);
    }
    cpu_fft_layout row = {1, 1, length, length};
    mica_cpu_fft_run(fft->longer, &row, spectrum, spectrum, false, 1, scratch);
    mica_free_aligned(scratch);
    return NULL;
}

/* ---- all of them ------------------------------------------------------------------------------*/

size_t mica_cpu_fft_scratch(const cpu_fft *fft) {
    int64_t number = 2 * fft->real_bytes;
    if (fft->longer)
        return cpu_align((size_t)(fft->together * fft->longer->n * number)) +
               mica_cpu_fft_scratch(fft->longer);
    int64_t pieces = most_pieces(fft) * work_bytes(fft);
    if (!fft->split) return (size_t)pieces;
    return (size_t)cpu_max(pieces + fft->n * number, line_pieces(fft) * split_bytes(fft));
}

void mica_cpu_fft_run(const cpu_fft *fft, const cpu_fft_layout *layout, const void *x, void *y,
                      bool inverse, double factor, void *scratch) {
    if (layout->outer * layout->inner == 0) return;
    if (fft->longer)
        run_chirp(fft, layout, x, y, inverse, factor, scratch);
    else if (fft->split)
        run_split(fft, layout, x, y, inverse, factor, scratch);
    else
        run_whole(fft, layout, x, y, inverse, factor, scratch);
}
