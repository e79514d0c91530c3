/* device/cpu/isa.h: the loops, compiled once per instruction set from device/cpu/isa/ (every file
 * there is compiled with MICA_ISA defined as the variant's name, see base/isa.h). No loop's result
 * depends on the variant: all arithmetic is IEEE, and fused multiply-adds are written out.
 *
 * Loops know nothing of threads and shapes: they get addresses and counts. Pointers may be equal
 * (in place) but do not overlap otherwise. */
#ifndef MICA_DEVICE_CPU_ISA_H
#define MICA_DEVICE_CPU_ISA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/isa.h"
#include "ir/scalar_reduce.h"
#include "mica/graph.h"

/* y[i] = f(x[0][i], x[1][i], x[2][i]) for i < n. */
typedef void (*mica_cpu_map)(const void *const *x, void *y, int64_t n);

/* A row's quicker loop for arguments that are all near 0, with the same bits. */
#define CPU_BOUNDED_COUNT 6
typedef struct mica_cpu_bounded {
    mica_op op;
    mica_dtype dtype;
    mica_cpu_map loop;
    int (*all_bounded)(const void *x, int64_t n);
} mica_cpu_bounded;

typedef enum mica_cpu_compare {
    CPU_EQ,
    CPU_NE,
    CPU_LT,
    CPU_LE,
    CPU_COMPARE_COUNT
} mica_cpu_compare;

/* A format with fewer bits than f64: of the mantissa `drop` bits go. */
typedef struct mica_cpu_precision {
    int32_t drop;
    double smallest;       /* that is normal */
    double denormal_shift; /* whose last place is that of the denormals */
    double largest;        /* that is finite */
} mica_cpu_precision;

typedef struct mica_cpu_elementwise {
    mica_cpu_map compare[CPU_COMPARE_COUNT][MICA_DTYPE_COUNT]; /* f16, bf16: NULL, use f32 */
    mica_cpu_map select[5];                                    /* by log2 of the element's bytes */
    mica_cpu_map is_finite[MICA_DTYPE_COUNT];                  /* floats */
    mica_cpu_map nextafter[MICA_DTYPE_COUNT];                  /* floats */
    mica_cpu_map convert[MICA_DTYPE_COUNT][MICA_DTYPE_COUNT];  /* [from][to] */
    /* The parts of a number, its conjugate, and a complex number from f32 or f64 parts; NULL where
     * the row does not take the dtype. */
    mica_cpu_map real[MICA_DTYPE_COUNT], imag[MICA_DTYPE_COUNT], conj[MICA_DTYPE_COUNT];
    mica_cpu_map join[MICA_DTYPE_COUNT]; /* by the dtype of the parts */
    /* y[i] = x[i] rounded, still as f64 */
    void (*reduce_precision)(const mica_cpu_precision *format, const double *x, double *y,
                             int64_t n);
} mica_cpu_elementwise;

typedef enum mica_cpu_reduction {
    CPU_SUM,
    CPU_PROD,
    CPU_MAX,
    CPU_MIN,
    CPU_AND,
    CPU_OR,
    CPU_REDUCTION_COUNT
} mica_cpu_reduction;

/* The order of a reduction is that of ir/scalar_reduce.h. Accumulators are of the compute type. */
#define CPU_REDUCE_LANES MICA_REDUCE_LANES
#define CPU_REDUCE_BLOCK MICA_REDUCE_BLOCK
#define CPU_REDUCE_ROWS MICA_REDUCE_ROWS
#define CPU_REDUCE_LONG 8192 /* CPU_REDUCE_BLOCK where no order changes the result */

typedef struct mica_cpu_reducer {
    /* acc[r] = the reduction of the n <= block elements at x + offsets[r]: lanes, then a tree over
     * the lanes that adds lane l + 8 to l, then l + 4, l + 2, l + 1; in any order where that
     * changes nothing, as for integers, max and min. */
    void (*rows)(const void *x, const int64_t *offsets, int64_t count, int64_t n, void *acc);
    /* acc[j] = x[offsets[0] + j], then one row after the other, for j < n. */
    void (*columns)(const void *x, const int64_t *offsets, int64_t count, int64_t n, void *acc);
    void (*combine)(void *into, const void *from, int64_t n); /* into[j] = into[j] op from[j] */
    void (*store)(const void *acc, void *y, int64_t n);
    void (*identity)(void *acc, int64_t n);
    int32_t bytes; /* of the compute type */
    int32_t block; /* CPU_REDUCE_BLOCK or CPU_REDUCE_LONG */
} mica_cpu_reducer;

/* Running reductions and reductions in windows. Accumulators are of the compute type. */
#define CPU_WINDOW_STRIP 256 /* results side by side */
typedef struct mica_cpu_windower {
    /* y[i step + j] = the reduction of x[j], x[step + j] ... x[i step + j], one after the other
     * from the identity, without the last when exclusive: for i < n, j < width <=
     * CPU_WINDOW_STRIP. */
    void (*scan)(const void *x, void *y, int64_t step, int64_t n, int64_t width, int exclusive);
    /* acc[i acc_step] = acc[i acc_step] op x[i x_step] for i < n. */
    void (*accumulate)(void *acc, int64_t acc_step, const void *x, int64_t x_step, int64_t n);
    void (*identity)(void *acc, int64_t n);
    void (*store)(const void *acc, void *y, int64_t n);
    /* For i < n: acc[places[i]] = acc[places[i]] op x[i] where low <= places[i] < high. */
    void (*scatter)(void *acc, const int64_t *places, const void *x, int64_t n, int64_t low,
                    int64_t high);
    /* max and min: where places[i step] < 0, or x[at + i x_step] is better than best[i step], both
     * become those of x; for i < n. The first of equals stays; NaN is better than what is none. */
    void (*choose)(void *best, int64_t *places, int64_t step, const void *x, int64_t at,
                   int64_t x_step, int64_t n);
    /* max and min of f32 and f64, for windows that share no element: y is 0 + source[i] at the
     * element that choose takes of x[offsets[0] + i], x[offsets[1] + i] ... (`count` of them), and
     * 0 at the others; for i < n <= CPU_WINDOW_STRIP. */
    void (*place)(const void *x, const void *source, void *y, const int64_t *offsets, int64_t count,
                  int64_t n);
    int32_t bytes; /* of the compute type */
} mica_cpu_windower;

/* The register tile of a contraction for one compute type. Panels are k-major: element (k, r) of a
 * panel of width w is panel[k * w + r]. */
#define CPU_TILE_K 256 /* contracted indices that one fused chain runs over */

/* Fills a panel of `width` from element (r, k) at x + offsets[r] + steps[k], converting to the
 * compute type; rows count..width-1 become zero.
 *
 * The pack of a complex array y makes a matrix of reals: (k, n) becomes the block ((a, b), (-b, a))
 * of y = a + i b. Both offsets[r] and steps[k] are twice the positions of complex elements, plus 1
 * for the second row or column of a block. */
typedef void (*mica_cpu_pack)(const void *x, const int64_t *offsets, int64_t count,
                              const int64_t *steps, int64_t k, int64_t width, void *panel);

/* Sums side by side: for every row i and lane l
 *     c[c_rows[i] + l] = sum over k of x[x_rows[i] + x_steps[k] + l] y[y_rows[i] + y_steps[k] + l]
 * or, when y is the same for all lanes, without l in y. Rows share y where it has lanes: y_rows[0].
 * Chains, `first` and k as in mica_cpu_gemm. */
typedef struct mica_cpu_lanes {
    const void *x, *y;
    void *c;
    const int64_t *x_rows, *y_rows, *c_rows, *x_steps, *y_steps;
    int64_t n_rows, n_lanes, n_k;
    bool y_has_lanes, first;
} mica_cpu_lanes;

#define CPU_TILE_HEIGHTS 6
typedef struct mica_cpu_gemm {
    int32_t rows, columns; /* the tile, rows x columns accumulators */
    int32_t bytes;         /* of the compute type */
    int32_t is_float;
    /* Result row i, at c + rows[i], is the sum over k of a[k, i] b[k, j], a fused chain in the
     * order of k: stored when `first`, else added to what is there. Meanwhile `next` is brought
     * into the cache, next_step bytes for each k. */
    void (*tile)(const void *a, const void *b, int64_t k, void *c, const int64_t *rows, int first,
                 const void *next, int64_t next_step);
    /* The same from anywhere in memory, for heights[0] = rows and lower tiles (NULL: there are
     * none): a[k, i] is at a + a_steps[k] + i a_stride, b[k, 0] at b + b_steps[k]. */
    int32_t heights[CPU_TILE_HEIGHTS];
    void (*tile_at[CPU_TILE_HEIGHTS])(const void *a, int64_t a_stride, const int64_t *a_steps,
                                      const void *b, const int64_t *b_steps, int64_t k, void *c,
                                      const int64_t *rows, int first);
    /* c[rows[i] + columns[j]] = tile[i * stride + j], or += when not first. */
    void (*scatter)(const void *tile, int64_t stride, void *c, const int64_t *rows, int64_t n_rows,
                    const int64_t *columns, int64_t n_columns, int first);
    void (*lanes)(const mica_cpu_lanes *lanes); /* floats */
    mica_cpu_pack pack;
} mica_cpu_gemm;

/* A matrix and a vector of one dtype; f32, f64, i32, i64, c64, c128, others are NULL. An element of
 * `rows` is the sum of as many lanes as fill 256 bytes (half of them for each part of a complex
 * number), index k going to lane k modulo their number, each a fused chain in the order of k; the
 * upper half of the lanes is added to the lower until one is left. `columns` is one fused chain in
 * the order of k, as a block of a contraction is. Where `rows` is complex, x is followed by a copy
 * of it with parts exchanged. */
#define CPU_GEMV_LANE_BYTES 256
#define CPU_GEMV_STRIP 1024
typedef struct mica_cpu_gemv {
    /* y[i] = sum over k of a[i stride + k] x[k] for i < m. */
    void (*rows)(const void *a, int64_t stride, const void *x, int64_t m, int64_t k, void *y);
    /* y[j] = sum over k of a[k stride + j] x[k] for j < n <= CPU_GEMV_STRIP. */
    void (*columns)(const void *a, int64_t stride, const void *x, int64_t n, int64_t k, void *y);
    void (*add)(void *into, const void *from, int64_t n); /* into[j] += from[j] */
} mica_cpu_gemv;

/* One Philox block per counter: out[4 i + w] is word w of block counter + i. */
typedef void (*mica_cpu_philox)(const uint32_t key[2], const uint32_t counter[4], int64_t first,
                                int64_t n, uint32_t *out);

/* How a dtype is read for sorting, and written back: as words, unsigned integers in the order of
 * the elements, where NaN is all ones and -0 comes just before +0. `bits` is the width of a word;
 * up to 32 they are uint32_t, else uint64_t. `flip` is exclusive-ored to words: all bits for
 * descending order, or 0. */
typedef struct mica_cpu_order {
    int32_t bits, bytes;
    int32_t is_float;
    /* out[i * out_step] = word of x[i * step]; true when there is a NaN or a -0. */
    int (*load)(const void *x, int64_t step, int64_t n, uint64_t flip, void *out, int64_t out_step);
    void (*store)(const void *words, int64_t word_step, int64_t n, uint64_t flip, void *y,
                  int64_t step);
    /* y holds the line x sorted: its zeros and NaN become those of x, in their order. */
    void (*restore)(const void *x, void *y, int64_t step, int64_t n);
} mica_cpu_order;

/* Sorting networks: lane l of the lines is words[i * lanes + l] for i < n, aligned to 64 bytes. */
#define CPU_NETWORK_U32 16 /* lanes */
#define CPU_NETWORK_U64 8
typedef struct mica_cpu_networks {
    /* Lanes from lines and back: line l is lines[l * step + i]. Steps and n are multiples of the
     * number of lanes. */
    void (*join_u32)(const uint32_t *lines, int64_t step, int64_t n, uint32_t *words);
    void (*join_u64)(const uint64_t *lines, int64_t step, int64_t n, uint64_t *words);
    void (*part_u32)(const uint32_t *words, int64_t n, uint32_t *lines, int64_t step);
    void (*part_u64)(const uint64_t *words, int64_t n, uint64_t *lines, int64_t step);
    void (*u32)(uint32_t *words, int64_t n);
    void (*u64)(uint64_t *words, int64_t n);
    /* By keys, then by places. */
    void (*pairs)(uint64_t *keys, uint64_t *places, int64_t n);
} mica_cpu_networks;
/* ---- Fourier transforms -----------------------------------------------------------------------
 * Numbers are complex, real and imaginary part one after the other; positions and steps count
 * numbers. */
#define CPU_FFT_RADIX 128 /* radices are below it */
#define CPU_FFT_PASSES 40

/* One step: 2, 3, 4, 5, 8 or an odd prime. twiddles: for p < n / radix, the powers p .. p (radix -
 * 1) of the root of what is left of n; roots: those of the radix. In the dtype. */
typedef struct mica_cpu_fft_pass {
    int64_t radix;
    const void *twiddles, *roots;
} mica_cpu_fft_pass;

typedef struct mica_cpu_fft_plan {
    int64_t n;
    int32_t n_passes;
    mica_cpu_fft_pass passes[CPU_FFT_PASSES];
} mica_cpu_fft_plan;

/* w = e^(-2 pi i / n): w^m is low[m mod 2^shift] high[m / 2^shift]. */
typedef struct mica_cpu_fft_roots {
    const double *low, *high;
    int32_t shift;
} mica_cpu_fft_roots;

/* Some lines, transformed at once: y = factor times the transform of x. `swap` exchanges real and
 * imaginary parts on the way in or out, which turns a transform into its inverse. */
typedef struct mica_cpu_fft_lines {
    const mica_cpu_fft_plan *plan;
    const void *x;
    void *y;
    int64_t x_step, y_step;           /* from one element of a line to the next */
    const int64_t *x_lines, *y_lines; /* where lines begin */
    int64_t count;                    /* of lines, at most `lanes` */
    const mica_cpu_fft_roots *roots; /* or NULL: element k of line l goes times w^((first + l) k) */
    int64_t first;
    bool swap_in, swap_out;
    double factor;
    void *work; /* 2 n lanes numbers, aligned to 64 bytes */
} mica_cpu_fft_lines;

typedef struct mica_cpu_fft {
    int64_t lanes;
    void (*lines)(const mica_cpu_fft_lines *lines);
    /* y[j] = factor x[j] w[j] */
    void (*multiply)(const void *x, int64_t x_step, const void *w, void *y, int64_t y_step,
                     int64_t n, int swap_in, int swap_out, double factor);
    /* The transform of 2 m real numbers from that of m complex ones, in place (of m + 1), and the
     * other way; elements k and m - k for begin <= k < end <= m / 2 + 1. w is the 2 m-th root. */
    void (*split_real)(void *z, const mica_cpu_fft_roots *roots, int64_t m, int64_t begin,
                       int64_t end);
    void (*join_real)(const void *x, void *z, const mica_cpu_fft_roots *roots, int64_t m,
                      int64_t begin, int64_t end);
} mica_cpu_fft;

/* ---- LSTM and GRU -----------------------------------------------------------------------------
 * Rows are of n elements, or of several n: the gates i f g o, or z r n, one after the other. */
typedef struct mica_cpu_lstm_back {
    const float *gates, *cell, *before; /* of the step, and the cell before it */
    const float *dh;                    /* what came back from the step after it */
    const float *dy, *dcell, *dgates;   /* of the step's results */
} mica_cpu_lstm_back;

typedef struct mica_cpu_gru_back {
    const float *gates, *before; /* z r n and the hidden part of n; the state before the step */
    const float *dh;             /* what came back through the weights from the step after it */
    const float *dy, *dgates;    /* of the step's results */
} mica_cpu_gru_back;

typedef struct mica_cpu_lstm {
    int64_t rows;    /* at most, of a product: a power of two */
    int64_t columns; /* of a panel */
    /* c[i c_step + j] = sum over k of a[k rows + i] b[k, j] for the columns j of all panels; rows
     * is 1, 2, 4 ... */
    void (*product)(const float *a, int64_t rows, const float *panels, int64_t n_k,
                    int64_t n_panels, float *c, int64_t c_step);
    /* Of the projected inputs x and the product z. */
    void (*forward)(const float *x, const float *z, const float *before, int64_t n, float *gates,
                    float *cell, float *y);
    /* dc: of the step's cell by what came after it; becomes that of the cell before. */
    void (*backward)(const mica_cpu_lstm_back *at, int64_t n, float *dc, float *dz);
    /* Of a GRU (nn/gru_steps.c). direct: what came back past the weights, becomes that of the step
     * before; dx and du: of the projected inputs and of the product. */
    void (*gru_forward)(const float *x, const float *u, const float *bias, const float *before,
                        int64_t n, float *gates, float *y);
    void (*gru_backward)(const mica_cpu_gru_back *at, int64_t n, float *direct, float *dx,
                         float *du);
} mica_cpu_lstm;

/* ---- attention --------------------------------------------------------------------------------
 * Rows of scores, f32. */
typedef struct mica_cpu_attention {
    float (*largest)(const float *x, int64_t n);     /* -inf of nothing; NaN do not count */
    float (*powers)(float *x, int64_t n, float top); /* x[j] = e^(x[j] - top); gives their sum */
    float (*inner)(const float *x, const float *y, int64_t n); /* sum of x[j] y[j] */
    /* x[j] = p = e^(x[j] - log_sum), d[j] = p (d[j] + more) scale */
    void (*back)(float *x, float *d, int64_t n, float log_sum, float more, float scale);
    void (*blend)(float *y, float factor, const float *x,
                  int64_t n); /* y[j] = y[j] factor + x[j] */
    float (*logarithm)(float x);
} mica_cpu_attention;

/* ---- Winograd's convolution -------------------------------------------------------------------
 * Of 3 x 3 taps, for 2 x 2 results from 4 x 4 places, all f32: n channels side by side, point i of
 * the 16 at step i. Both directions tell by 0 that something is not finite. */
typedef struct mica_cpu_winograd {
    void (*input)(const float *const at[16], int64_t n, float *points, int64_t step);
    int (*output)(const float *points, int64_t step, int64_t n, float *const at[4]); /* or NULL */
    void (*kernel)(const float *taps, int64_t tap_step, int64_t n, float *points, int64_t step);
    /* The gradient by the taps: from those of 2 x 2 results, and to the 3 x 3 taps. */
    void (*spread)(const float *const at[4], int64_t n, float *points, int64_t step);
    int (*taps)(const float *points, int64_t step, int64_t n, float *const at[9]);
    /* y[i] = fma(factor, x[i step], y[i]), for what is not finite */
    void (*add_scaled)(float *y, float factor, const float *x, int64_t step, int64_t n);
} mica_cpu_winograd;

/* ---- transposing -------------------------------------------------------------------------------
 * y[j y_step + i] = x[i x_step + j] for i < rows and j < columns, both multiples of the elements
 * that fill a line (MICA_STREAM_LINE), steps in bytes. Every y[j y_step] begins a line. What is
 * written goes past the caches: mica_stream_end is up to the caller. */
typedef void (*mica_cpu_transpose)(const void *x, int64_t x_step, void *y, int64_t y_step,
                                   int64_t rows, int64_t columns);

typedef struct mica_cpu_isa {
    const char *name;
    const mica_cpu_map *map_f32, *map_f64;            /* by op */
    const mica_cpu_map (*map_int)[MICA_OP_COUNT];     /* by dtype, op: bool and integers */
    const mica_cpu_map (*map_complex)[MICA_OP_COUNT]; /* by dtype - c64, op */
    const mica_cpu_bounded *bounded;                  /* CPU_BOUNDED_COUNT */
    const mica_cpu_elementwise *elementwise;
    const mica_cpu_reducer (*reduce_float)[CPU_REDUCTION_COUNT];   /* by dtype - f16 */
    const mica_cpu_reducer (*reduce_int)[CPU_REDUCTION_COUNT];     /* by dtype */
    const mica_cpu_reducer (*reduce_complex)[CPU_REDUCTION_COUNT]; /* by dtype - c64 */
    const mica_cpu_gemm (*gemm_float)[4]; /* [wide, narrow], by dtype - f16 */
    const mica_cpu_gemm *gemm_int;        /* by dtype - i8 */
    const mica_cpu_gemv *gemv;            /* by dtype */
    const mica_cpu_pack *pack_complex;    /* by dtype - c64 */
    mica_cpu_philox philox;
    const mica_cpu_windower (*window)[4]; /* by dtype, kind: sum prod max min */
    const mica_cpu_order *order;          /* by dtype; complex ones have no load */
    const mica_cpu_networks *networks;
    const mica_cpu_fft *fft; /* f32, f64 */
    const mica_cpu_lstm *lstm;
    const mica_cpu_attention *attention;
    const mica_cpu_winograd *winograd;
    const mica_cpu_transpose *transposes; /* by log2 of the element's bytes, up to 8 */
} mica_cpu_isa;

/* The variant in force; see mica_cpu_isa_force. */
const mica_cpu_isa *mica_cpu_isa_current(void);

#define CPU_ISA_DECLARE(isa)                                                                       \
    extern const mica_cpu_map mica_cpu_map_f32_##isa[MICA_OP_COUNT];                               \
    extern const mica_cpu_map mica_cpu_map_f64_##isa[MICA_OP_COUNT];                               \
    extern const mica_cpu_map mica_cpu_map_int_##isa[MICA_DTYPE_f16][MICA_OP_COUNT];               \
    extern const mica_cpu_map mica_cpu_map_complex_##isa[2][MICA_OP_COUNT];                        \
    extern const mica_cpu_bounded mica_cpu_bounded_##isa[CPU_BOUNDED_COUNT];                       \
    extern const mica_cpu_elementwise mica_cpu_elementwise_##isa;                                  \
    extern const mica_cpu_reducer mica_cpu_reduce_float_##isa[4][CPU_REDUCTION_COUNT];             \
    extern const mica_cpu_reducer mica_cpu_reduce_int_##isa[MICA_DTYPE_f16][CPU_REDUCTION_COUNT];  \
    extern const mica_cpu_reducer mica_cpu_reduce_complex_##isa[2][CPU_REDUCTION_COUNT];           \
    extern const mica_cpu_gemm mica_cpu_gemm_float_##isa[2][4];                                    \
    extern const mica_cpu_pack mica_cpu_pack_complex_##isa[2];                                     \
    extern const mica_cpu_gemm mica_cpu_gemm_int_##isa[8];                                         \
    extern const mica_cpu_gemv mica_cpu_gemv_##isa[MICA_DTYPE_COUNT];                              \
    void mica_cpu_philox_##isa(const uint32_t key[2], const uint32_t counter[4], int64_t first,    \
                               int64_t n, uint32_t *out);                                          \
    extern const mica_cpu_windower mica_cpu_window_##isa[MICA_DTYPE_COUNT][4];                     \
    extern const mica_cpu_order mica_cpu_order_##isa[MICA_DTYPE_COUNT];                            \
    extern const mica_cpu_networks mica_cpu_networks_##isa;                                        \
    extern const mica_cpu_fft mica_cpu_fft_##isa[2];                                               \
    extern const mica_cpu_lstm mica_cpu_lstm_##isa;                                                \
    extern const mica_cpu_attention mica_cpu_attention_##isa;                                      \
    extern const mica_cpu_winograd mica_cpu_winograd_##isa;                                        \
    extern const mica_cpu_transpose mica_cpu_transposes_##isa[4];
CPU_ISA_DECLARE(baseline)
CPU_ISA_DECLARE(avx2) /* of avx512, only what floats need exists */
CPU_ISA_DECLARE(avx512)

/* Before a loop whose iterations are independent even when pointers are equal. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* loops over libm stay scalar */
#define CPU_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define CPU_INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif
