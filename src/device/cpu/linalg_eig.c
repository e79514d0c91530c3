/* The kernel of eig: of f32 and c64 the built-in version computes in f64 as well; LAPACK computes
 * in the dtype. */
#include "device/cpu/linalg.h"

typedef struct eig_layout {
    cpu_number *a, *values, *vectors;
    bool *taken;
    void *work;
} eig_layout;

static int64_t layout_bytes(int64_t n) {
    return (2 * n * n + n) * (int64_t)sizeof(cpu_number) + mica_cpu_eig_work(n) + n;
}

static eig_layout layout_of(int64_t n, char *memory) {
    int64_t number = (int64_t)sizeof(cpu_number);
    eig_layout w = {.a = (cpu_number *)memory};
    w.values = (cpu_number *)(memory + n * n * number);
    w.vectors = w.values + n;
    w.work = w.vectors + n * n;
    w.taken = (bool *)((char *)w.work + mica_cpu_eig_work(n));
    return w;
}

static bool is_real(const cpu_linalg_kernel *k) {
    return !k->complex;
}

static cpu_number load(const cpu_linalg_kernel *k, const void *x, int64_t i) {
    const float *narrow = x;
    const double *wide = x;
    if (is_real(k)) return (cpu_number){k->bytes == 4 ? narrow[i] : wide[i], 0};
    return k->bytes == 8 ? (cpu_number){narrow[2 * i], narrow[2 * i + 1]}
                         : (cpu_number){wide[2 * i], wide[2 * i + 1]};
}

/* Into c64 or c128. */
static void store(const cpu_linalg_kernel *k, void *y, int64_t i, cpu_number number) {
    if (k->part_bytes == 4) {
        ((float *)y)[2 * i] = (float)number.re;
        ((float *)y)[2 * i + 1] = (float)number.im;
    } else {
        ((double *)y)[2 * i] = number.re;
        ((double *)y)[2 * i + 1] = number.im;
    }
}

static void eig_matrix(const cpu_linalg_kernel *k, const void *a, void *values, void *vectors,
                       char *memory) {
    int64_t n = k->rows;
    eig_layout w = layout_of(n, memory);
    bool done = false;
    if (k->lapack) {
        mica_cpu_lapack_enter();
        done = mica_cpu_lapack_eig(k, a, w.values, w.vectors, memory + k->after);
        mica_cpu_lapack_leave();
    }
    if (!done) {
        for (int64_t i = 0; i < n * n; i++) w.a[i] = load(k, a, i);
        mica_cpu_eig(w.a, w.values, w.vectors, w.work, n);
        if (is_real(k)) mica_cpu_eig_pair(w.values, w.vectors, w.taken, n);
    }
    mica_cpu_eig_sort(w.values, w.vectors, n);
    for (int64_t i = 0; i < n; i++) store(k, values, i, w.values[i]);
    for (int64_t i = 0; i < n * n; i++) store(k, vectors, i, w.vectors[i]);
}

static void eig_range(void *context, int64_t begin, int64_t end) {
    const cpu_linalg_run *run = context;
    const cpu_linalg_kernel *k = run->kernel;
    int64_t n = k->rows, parts = is_real(k) ? 1 : 2, number = k->bytes * 2 / parts;
    for (int64_t i = begin; i < end; i++) {
        const char *a = (const char *)run->operands[0] + i * n * n * k->bytes;
        char *values = (char *)run->results[0] + i * n * number;
        char *vectors = (char *)run->results[1] + i * n * n * number;
        if (n == 0) continue;
        if (k->loops->all_finite(a, n * n))
            eig_matrix(k, a, values, vectors, (char *)run->scratch + i * k->scratch);
        else {
            k->parts->fill_nan(values, 2 * n);
            k->parts->fill_nan(vectors, 2 * n * n);
        }
    }
}

static void run_eig(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                    void *scratch) {
    cpu_linalg_run run = {(const cpu_linalg_kernel *)kernel, operands, results, scratch};
    mica_cpu_for_each_matrix(&run, eig_range);
}

mica_status mica_cpu_create_eig(const mica_node *node, cpu_kernel **out) {
    cpu_linalg_kernel *k;
    MICA_TRY(mica_cpu_linalg_create(node, run_eig, EIG_SMALLEST, true, &k));
    k->after = (int64_t)cpu_align((size_t)layout_bytes(k->rows));
    mica_cpu_linalg_scratch(k, k->after + (k->lapack ? mica_cpu_lapack_eig_work(k) : 0));
    *out = &k->base;
    return NULL;
}
