/* Kernels of linear algebra: matrices are the last two axes, the axes before are a batch, whose
 * matrices are computed on their own. */
#include "device/cpu/linalg.h"

#include <string.h>

mica_status mica_cpu_linalg_new(const mica_node *node, size_t bytes,
                                void (*run)(const cpu_kernel *, const void *const *, void *const *,
                                            void *),
                                void *out) {
    const mica_type *x = mica_operand_type(node, 0);
    static const cpu_linalg *const loops[] = {&mica_cpu_linalg_f32, &mica_cpu_linalg_f64,
                                              &mica_cpu_linalg_c64, &mica_cpu_linalg_c128};
    static const mica_dtype dtypes[] = {MICA_DTYPE_f32, MICA_DTYPE_f64, MICA_DTYPE_c64,
                                        MICA_DTYPE_c128};
    int which = 0;
    while (dtypes[which] != x->dtype) which++;
    cpu_linalg_kernel *k;
    MICA_TRY(mica_cpu_kernel_new(bytes, run, &k));
    k->loops = loops[which];
    k->parts = loops[which % 2];
    k->batch = 1;
    for (int32_t i = 0; i < x->rank - 2; i++) k->batch *= x->dims[i];
    k->rows = x->dims[x->rank - 2];
    k->columns = x->dims[x->rank - 1];
    k->bytes = (int64_t)mica_dtype_bytes(x->dtype);
    k->complex = mica_dtype_kind_of(x->dtype) == MICA_KIND_COMPLEX;
    k->part_bytes = k->bytes / (k->complex ? 2 : 1);
    memcpy(out, &k, sizeof k);
    return NULL;
}

mica_status mica_cpu_linalg_create(const mica_node *node,
                                   void (*run)(const cpu_kernel *, const void *const *,
                                               void *const *, void *),
                                   int64_t smallest, bool any, cpu_linalg_kernel **out) {
    cpu_linalg_kernel *k;
    MICA_TRY(mica_cpu_linalg_new(node, sizeof *k, run, &k));
    mica_status status = mica_cpu_linalg_choose(k, smallest, any);
    if (status) {
        mica_free(k);
        return status;
    }
    *out = k;
    return NULL;
}

void mica_cpu_linalg_scratch(cpu_linalg_kernel *kernel, int64_t bytes_per_matrix) {
    kernel->scratch = (int64_t)cpu_align((size_t)bytes_per_matrix);
    kernel->base.head.scratch_bytes = (size_t)(kernel->scratch * kernel->batch);
}

/* A batch of one leaves the pool to the loops inside. */
void mica_cpu_for_each_matrix(const cpu_linalg_run *run, void (*body)(void *, int64_t, int64_t)) {
    int64_t batch = run->kernel->batch;
    if (batch == 1)
        body((void *)run, 0, 1);
    else
        mica_parallel_for(batch, 1, body, (void *)run);
}

/* ---- cholesky ---------------------------------------------------------------------------------*/

static bool try_lapack(const cpu_linalg_kernel *k, const void *a, void *y) {
    bool done = k->lapack != NULL;
    for (int64_t i = 0; done && i < k->rows; i++)
        done = k->loops->all_finite((const char *)a + i * k->rows * k->bytes, i + 1);
    if (!done) return false;
    mica_cpu_lapack_enter();
    done = mica_cpu_lapack_cholesky(k, a, y);
    mica_cpu_lapack_leave();
    return done;
}

static void cholesky_range(void *context, int64_t begin, int64_t end) {
    const cpu_linalg_run *run = context;
    int64_t n = run->kernel->rows, bytes = n * n * run->kernel->bytes;
    for (int64_t i = begin; i < end; i++) {
        const char *a = (const char *)run->operands[0] + i * bytes;
        char *y = (char *)run->results[0] + i * bytes;
        if (!try_lapack(run->kernel, a, y)) run->kernel->loops->cholesky(a, y, n);
    }
}

static void run_cholesky(const cpu_kernel *kernel, const void *const *operands,
                         void *const *results, void *scratch) {
    cpu_linalg_run run = {(const cpu_linalg_kernel *)kernel, operands, results, scratch};
    mica_cpu_for_each_matrix(&run, cholesky_range);
}

mica_status mica_cpu_create_cholesky(const mica_node *node, cpu_kernel **out) {
    cpu_linalg_kernel *k;
    MICA_TRY(mica_cpu_linalg_create(node, run_cholesky, CHOLESKY_SMALLEST, false, &k));
    *out = &k->base;
    return NULL;
}
