/* device/cpu/kernel.h: what the files of this room share.
 *
 * A kernel is a struct that begins with cpu_kernel; the file that creates it defines the rest. Its
 * run function gets host addresses. Work is cut into pieces by shape alone (base/pool.h), and what
 * a piece computes does not depend on how it was cut. */
#ifndef MICA_DEVICE_CPU_KERNEL_H
#define MICA_DEVICE_CPU_KERNEL_H

#include "base/pool.h"
#include "device/cpu/isa.h"
#include "device/cpu/kernels.h"

/* Told of every line of a result when it is done: n elements from `position` on, each once. Called
 * by any thread of the pool. */
typedef struct cpu_finish {
    void (*line)(const void *context, int64_t position, int64_t n);
    const void *context;
    const void *result;
} cpu_finish;

typedef struct cpu_kernel cpu_kernel;
struct cpu_kernel {
    mica_kernel head;
    void (*run)(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                void *scratch);
    /* Or NULL: this kernel cannot tell. */
    void (*run_finished)(const cpu_kernel *kernel, const void *const *operands,
                         void *const *results, void *scratch, const cpu_finish *finish);
    /* What run does as C (codegen/prelude/host_*.h), in the same order of sums; NULL: no text. */
    mica_status (*write)(const cpu_kernel *kernel, const mica_node *node, mica_kernel_text *out);
    void (*destroy)(cpu_kernel *kernel); /* NULL: it is one block of memory */
    /* Its jobs may be left half way (base/interrupt.h): it takes no index from what they write. */
    bool may_be_left;
};

/* Zeroed memory of `bytes`, of which the first are a cpu_kernel. */
MICA_MUST_CHECK mica_status mica_cpu_kernel_new(size_t bytes,
                                                void (*run)(const cpu_kernel *, const void *const *,
                                                            void *const *, void *),
                                                void *out_kernel);
MICA_MUST_CHECK mica_status mica_cpu_unsupported(const mica_node *node, mica_dtype dtype);

/* One function per group of ops. */
MICA_MUST_CHECK mica_status mica_cpu_create_elementwise(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_shape(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_index(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_iota(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_reduce(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_argmax(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_argmin(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_cumulative(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_reduce_window(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_select_and_scatter(const mica_node *node,
                                                               cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_sort(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_top_k(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_rng_bits(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_dot(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_conv(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_contraction(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_triangular_solve(const mica_node *node,
                                                             cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_cholesky(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_lu(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_qr(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_eigh(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_svd(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_eig(const mica_node *node, cpu_kernel **out);
MICA_MUST_CHECK mica_status mica_cpu_create_fft(const mica_node *node, cpu_kernel **out);

/* Composites: what a claimed call (compile/passes.h) computes is known by its name. */
bool mica_cpu_fits_lstm_steps(const mica_node *node);
MICA_MUST_CHECK mica_status mica_cpu_create_lstm_steps(const mica_node *node, cpu_kernel **out);
bool mica_cpu_fits_lstm_steps_back(const mica_node *node);
MICA_MUST_CHECK mica_status mica_cpu_create_lstm_steps_back(const mica_node *node,
                                                            cpu_kernel **out);
bool mica_cpu_fits_gru_steps(const mica_node *node);
MICA_MUST_CHECK mica_status mica_cpu_create_gru_steps(const mica_node *node, cpu_kernel **out);
bool mica_cpu_fits_gru_steps_back(const mica_node *node);
MICA_MUST_CHECK mica_status mica_cpu_create_gru_steps_back(const mica_node *node, cpu_kernel **out);

/* An elementwise kernel on n elements at other addresses, on the calling thread; not of
 * reduce_precision. */
void mica_cpu_elementwise_range(const cpu_kernel *kernel, const void *const *operands, void *result,
                                int64_t n);

bool mica_cpu_fits_attention(const mica_node *node);
MICA_MUST_CHECK mica_status mica_cpu_create_attention(const mica_node *node, cpu_kernel **out);
bool mica_cpu_fits_attention_back(const mica_node *node);
MICA_MUST_CHECK mica_status mica_cpu_create_attention_back(const mica_node *node, cpu_kernel **out);

/* ---- index spaces ------------------------------------------------------------------------------
 * The positions that a list of axes visits in row-major order, in elements: position i is the sum
 * of strides times the digits of i. Stride 0 repeats, a negative one goes backwards. */
typedef struct cpu_space {
    int32_t rank;
    int64_t n;                                                    /* the product of sizes */
    int64_t sizes[MICA_MAX_RANK + 1], strides[MICA_MAX_RANK + 1]; /* one more for complex parts */
} cpu_space;

void mica_cpu_space_init(cpu_space *space);
/* Adds an axis inside those that are there; merges it with its neighbour when it can. */
void mica_cpu_space_add(cpu_space *space, int64_t size, int64_t stride);
/* out[i] = position of begin + i, for i < count. */
void mica_cpu_space_positions(const cpu_space *space, int64_t begin, int64_t count, int64_t *out);
int64_t mica_cpu_space_position(const cpu_space *space, int64_t i);
/* Strides of a row-major array. */
void mica_cpu_strides(const mica_type *type, int64_t strides[MICA_MAX_RANK]);

/* ---- copies ------------------------------------------------------------------------------------
 * y[y_offset + i . y_strides] = x[x_offset + i . x_strides] for all i within sizes. */
typedef struct cpu_copy {
    int32_t rank;
    int32_t bytes;  /* of an element: 1 2 4 8 16 */
    int32_t across; /* the axis that is contiguous in x when the last is not; -1 when none is */
    int64_t n;
    int64_t sizes[MICA_MAX_RANK], x_strides[MICA_MAX_RANK], y_strides[MICA_MAX_RANK];
} cpu_copy;

void mica_cpu_copy_init(cpu_copy *copy, size_t bytes, int32_t rank, const int64_t *sizes,
                        const int64_t *x_strides, const int64_t *y_strides);
void mica_cpu_copy_run(const cpu_copy *copy, const void *x, void *y);
/* y[i] = *value for i < n. */
void mica_cpu_fill(void *y, const void *value, size_t bytes, int64_t n);

static inline int64_t cpu_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t cpu_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static inline int64_t cpu_ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}
static inline size_t cpu_align(size_t bytes) {
    return (bytes + 63) & ~(size_t)63;
}

#endif
