/* device/cpu/fft.h: transforms of lines of complex numbers, of any length.
 *
 * A length is transformed in one of three ways, chosen by it and by how many lines there are:
 *   whole   the passes of device/cpu/isa/fft.c, several lines side by side
 *   split   n = a b, a line at a time: b transforms of a points, the twiddles, a transforms of b
 *           points, the short ones again side by side
 *   chirp   lengths with a large prime factor: a convolution with e^(i pi j^2 / n), by transforms
 *           of a length of small factors (Bluestein)
 * The choice never depends on threads or instruction sets. */
#ifndef MICA_DEVICE_CPU_FFT_H
#define MICA_DEVICE_CPU_FFT_H

#include "device/cpu/kernel.h"

typedef struct cpu_fft {
    const mica_cpu_fft *loops;
    int64_t n, lines;
    int64_t real_bytes; /* of a real number */
    bool split;
    mica_cpu_fft_plan first, second; /* of n, or of its two factors */
    mica_cpu_fft_roots roots;        /* of n, when split */
    /* Of a chirp: of another length, to which lines are continued by zeros. */
    const struct cpu_fft *longer;
    const void *chirp, *spectrum;
    int64_t together; /* lines that are convolved at a time */
} cpu_fft;

/* Where lines lie. Line (o, i) of outer x inner begins at o outer_step + i, and its elements are
 * `inner` apart. */
typedef struct cpu_fft_layout {
    int64_t outer, inner, x_outer_step, y_outer_step;
} cpu_fft_layout;

/* Memory for tables, handed out twice: first to count it (base NULL), then for good. */
typedef struct cpu_fft_memory {
    char *base;
    size_t used;
} cpu_fft_memory;

/* Fills a transform of n >= 1 points for so many lines; `apart` says that elements of a line are
 * not neighbours. With memory->base NULL only memory->used is right afterwards. */
void mica_cpu_fft_init(cpu_fft *fft, mica_dtype real, int64_t n, int64_t lines, bool apart,
                       cpu_fft_memory *memory);
/* What a chirp is convolved with; after all tables are filled. */
MICA_MUST_CHECK mica_status mica_cpu_fft_prepare(cpu_fft *fft);
size_t mica_cpu_fft_scratch(const cpu_fft *fft);
/* y = factor times the transform (or its inverse, without 1 / n) of x; y may be x when their
 * layouts agree. */
void mica_cpu_fft_run(const cpu_fft *fft, const cpu_fft_layout *layout, const void *x, void *y,
                      bool inverse, double factor, void *scratch);

/* e^(-2 pi i m / n), 0 <= m < n */
void mica_cpu_fft_root(int64_t m, int64_t n, double *re, double *im);
void mica_cpu_fft_roots_init(mica_cpu_fft_roots *roots, int64_t n, cpu_fft_memory *memory);

#endif
