/* Kernels of lu, qr, eigh and svd. */
#include "device/cpu/linalg.h"

#include <string.h>

static char *at(const void *data, int64_t matrix, int64_t elements, int64_t bytes) {
    return (char *)data + matrix * elements * bytes;
}

/* ---- lu ---------------------------------------------------------------------------------------*/

static void lu_range(void *context, int64_t begin, int64_t end) {
    const cpu_linalg_run *run = context;
    const cpu_linalg_kernel *k = run->kernel;
    int64_t m = k->rows, n = k->columns;
    for (int64_t i = begin; i < end; i++) {
        const void *a = at(run->operands[0], i, m * n, k->bytes);
        void *y = at(run->results[0], i, m * n, k->bytes);
        int32_t *pivots = (int32_t *)run->results[1] + i * cpu_min(m, n);
        int32_t *order = (int32_t *)run->results[2] + i * m;
        bool done = k->lapack && k->loops->all_finite(a, m * n);
        if (done) {
            mica_cpu_lapack_enter();
            done =
                mica_cpu_lapack_lu(k, a, y, pivots, order, (char *)run->scratch + i * k->scratch);
            mica_cpu_lapack_leave();
        }
        if (!done) k->loops->lu(a, y, pivots, order, m, n);
    }
}

static void run_lu(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                   void *scratch) {
    cpu_linalg_run run = {(const cpu_linalg_kernel *)kernel, operands, results, scratch};
    mica_cpu_for_each_matrix(&run, lu_range);
}

mica_status mica_cpu_create_lu(const mica_node *node, cpu_kernel **out) {
    cpu_linalg_kernel *k;
    MICA_TRY(mica_cpu_linalg_create(node, run_lu, LU_SMALLEST, false, &k));
    if (k->lapack) mica_cpu_linalg_scratch(k, mica_cpu_lapack_lu_work(k));
    *out = &k->base;
    return NULL;
}

/* ---- qr ---------------------------------------------------------------------------------------*/

static bool qr_by_lapack(const cpu_linalg_kernel *k, const void *a, void *q, void *r, void *work) {
    mica_cpu_lapack_enter();
    bool done = mica_cpu_lapack_qr(k, a, q, r, work);
    mica_cpu_lapack_leave();
    return done;
}

static void qr_range(void *context, int64_t begin, int64_t end) {
    const cpu_linalg_run *run = context;
    const cpu_linalg_kernel *k = run->kernel;
    int64_t m = k->rows, n = k->columns, inner = k->inner;
    for (int64_t i = begin; i < end; i++) {
        const void *a = at(run->operands[0], i, m * n, k->bytes);
        void *q = at(run->results[0], i, m * inner, k->bytes);
        void *r = at(run->results[1], i, inner * n, k->bytes);
        void *work = (char *)run->scratch + i * k->scratch;
        if (!k->loops->all_finite(a, m * n)) {
            k->loops->fill_nan(q, m * inner);
            k->loops->fill_nan(r, inner * n);
        } else if (!k->lapack || !qr_by_lapack(k, a, q, r, work))
            k->loops->qr(a, q, r, work, m, n, inner);
    }
}

static void run_qr(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                   void *scratch) {
    cpu_linalg_run run = {(const cpu_linalg_kernel *)kernel, operands, results, scratch};
    mica_cpu_for_each_matrix(&run, qr_range);
}

mica_status mica_cpu_create_qr(const mica_node *node, cpu_kernel **out) {
    cpu_linalg_kernel *k;
    MICA_TRY(mica_cpu_linalg_create(node, run_qr, QR_SMALLEST, false, &k));
    k->inner = node->results[0].dims[node->results[0].rank - 1];
    int64_t work = (k->rows * k->columns + k->rows + k->columns) * k->bytes;
    mica_cpu_linalg_scratch(k, k->lapack ? cpu_max(work, mica_cpu_lapack_qr_work(k)) : work);
    *out = &k->base;
    return NULL;
}

/* ---- eigh -------------------------------------------------------------------------------------*/

static bool lower_is_finite(const cpu_linalg_kernel *k, const void *a) {
    bool finite = true;
    for (int64_t i = 0; finite && i < k->rows; i++)
        finite = k->loops->all_finite(at(a, i, k->rows, k->bytes), i + 1);
    return finite;
}

static bool eigh_by_lapack(const cpu_linalg_kernel *k, const void *a, void *values, void *vectors,
                           void *work) {
    mica_cpu_lapack_enter();
    bool done = mica_cpu_lapack_eigh(k, a, values, vectors, work);
    mica_cpu_lapack_leave();
    return done;
}

static void eigh_in_f64(const cpu_linalg_kernel *k, const void *a, void *values, void *vectors,
                        void *work) {
    int64_t n = k->rows, parts = k->complex ? 2 : 1;
    double *wide = work, *wide_values = wide + n * n * parts, *wide_vectors = wide_values + n;
    double *rest = wide_vectors + n * n * parts;
    k->loops->widen(a, wide, n * n);
    if (k->complex)
        mica_cpu_eigh_complex((cpu_number *)wide, wide_values, (cpu_number *)wide_vectors, rest, n);
    else
        mica_cpu_eigh(wide, wide_values, wide_vectors, rest, n);
    k->parts->narrow(wide_values, values, n);
    k->loops->narrow(wide_vectors, vectors, n * n);
}

static int64_t eigh_bytes(const cpu_linalg_kernel *k) {
    int64_t n = k->rows, parts = k->complex ? 2 : 1;
    int64_t work = k->complex ? mica_cpu_eigh_complex_work(n) : mica_cpu_eigh_work(n);
    return (2 * n * n * parts + n + work) * (int64_t)sizeof(double);
}

static void eigh_range(void *context, int64_t begin, int64_t end) {
    const cpu_linalg_run *run = context;
    const cpu_linalg_kernel *k = run->kernel;
    int64_t n = k->rows;
    for (int64_t i = begin; i < end; i++) {
        const void *a = at(run->operands[0], i, n * n, k->bytes);
        void *values = at(run->results[0], i, n, k->part_bytes);
        void *vectors = at(run->results[1], i, n * n, k->bytes);
        void *work = (char *)run->scratch + i * k->scratch;
        if (!lower_is_finite(k, a)) {
            k->parts->fill_nan(values, n);
            k->loops->fill_nan(vectors, n * n);
        } else if (!k->lapack || !eigh_by_lapack(k, a, values, vectors, work))
            eigh_in_f64(k, a, values, vectors, work);
    }
}

static void run_eigh(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                     void *scratch) {
    cpu_linalg_run run = {(const cpu_linalg_kernel *)kernel, operands, results, scratch};
    mica_cpu_for_each_matrix(&run, eigh_range);
}

mica_status mica_cpu_create_eigh(const mica_node *node, cpu_kernel **out) {
    cpu_linalg_kernel *k;
    MICA_TRY(mica_cpu_linalg_create(node, run_eigh, EIGH_SMALLEST, true, &k));
    int64_t work = eigh_bytes(k);
    mica_cpu_linalg_scratch(k, k->lapack ? cpu_max(work, mica_cpu_lapack_eigh_work(k)) : work);
    *out = &k->base;
    return NULL;
}

/* ---- svd --------------------------------------------------------------------------------------
 * The short side has `count` vectors of that length, the long side as many of length `length`; all
 * are rows here. */

typedef struct svd_work {
    int64_t count, length;
    double *long_side, *short_side, *s, *thin, *square, *work, *out;
} svd_work;

static int64_t svd_layout(const cpu_linalg_kernel *k, double *memory, svd_work *w) {
    int64_t count = cpu_min(k->rows, k->columns), length = cpu_max(k->rows, k->columns);
    int64_t sizes[] = {count * length, count * count,   count,
                       length * count, length * length, length * count + length + count,
                       length * length};
    double **const parts[] = {&w->long_side, &w->short_side, &w->s,  &w->thin,
                              &w->square,    &w->work,       &w->out};
    int64_t total = 0;
    w->count = count;
    w->length = length;
    for (int i = 0; i < 7; i++) {
        if (memory) *parts[i] = memory + total;
        total += sizes[i];
    }
    return total;
}

/* out[i, j] = element i of vector j; vectors beyond `count` continue them as qr does. */
static void write_columns(const svd_work *w, const double *vectors, int64_t length,
                          int64_t columns) {
    int64_t count = w->count;
    if (columns > count) {
        for (int64_t i = 0; i < length; i++)
            for (int64_t j = 0; j < count; j++) w->thin[i * count + j] = vectors[j * length + i];
        mica_cpu_linalg_f64.qr(w->thin, w->square, NULL, w->work, length, count, length);
    }
    for (int64_t i = 0; i < length; i++)
        for (int64_t j = 0; j < columns; j++)
            w->out[i * columns + j] =
                j < count ? vectors[j * length + i] : w->square[i * length + j];
}

static void transpose_square(double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) {
            double kept = x[i * n + j];
            x[i * n + j] = x[j * n + i];
            x[j * n + i] = kept;
        }
}

/* a (m, n) is finite. */
static void decompose(const cpu_linalg_kernel *k, const svd_work *w, const void *a, void *u,
                      void *s, void *vh) {
    int64_t m = k->rows, n = k->columns, count = w->count;
    bool tall = m > n, full = k->inner != 0;
    int64_t vectors = full ? n : count;
    k->loops->widen(a, w->out, m * n);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            w->long_side[tall ? j * m + i : i * n + j] = w->out[i * n + j];
    mica_cpu_svd(w->long_side, w->short_side, w->s, count, w->length);
    double *left = tall ? w->long_side : w->short_side;
    double *right = tall ? w->short_side : w->long_side;
    mica_cpu_fix_signs(left, right, count, m, n);
    write_columns(w, left, m, full ? m : count);
    k->loops->narrow(w->out, u, m * (full ? m : count));
    k->loops->narrow(w->s, s, count);
    if (vectors == count) {
        k->loops->narrow(right, vh, count * n);
        return;
    }
    write_columns(w, right, n, n);
    transpose_square(w->out, n);
    k->loops->narrow(w->out, vh, n * n);
}

/* ---- svd through LAPACK, in the dtype: thin, and continued by qr when it has to be full */

static int64_t svd_lapack_bytes(cpu_linalg_kernel *k) {
    int64_t count = cpu_min(k->rows, k->columns), length = cpu_max(k->rows, k->columns);
    int64_t more =
        k->inner && length > count ? 2 * length * count + length * length + length + count : 0;
    k->after = (int64_t)cpu_align((size_t)mica_cpu_lapack_svd_work(k));
    return k->after + more * k->bytes;
}

/* Element i of y becomes element j of x, or its conjugate. */
static void copy_element(const cpu_linalg_kernel *k, void *y, int64_t i, const void *x, int64_t j,
                         bool conjugate) {
    char *to = (char *)y + i * k->bytes;
    memcpy(to, (const char *)x + j * k->bytes, (size_t)k->bytes);
    if (conjugate && k->complex && k->part_bytes == 4)
        ((float *)to)[1] *= -1;
    else if (conjugate && k->complex)
        ((double *)to)[1] *= -1;
}

static bool svd_by_lapack(const cpu_linalg_kernel *k, const void *a, void *u, void *s, void *vh,
                          char *work) {
    int64_t m = k->rows, n = k->columns, count = cpu_min(m, n), length = cpu_max(m, n);
    bool more = k->inner && m != n;
    char *thin = work + k->after, *square = thin + length * count * k->bytes;
    mica_cpu_lapack_enter();
    bool done = mica_cpu_lapack_svd(k, a, more && m > n ? thin : u, s, vh, work);
    mica_cpu_lapack_leave();
    if (!done || !more) return done;
    for (int64_t i = 0; m < n && i < n * count; i++)
        copy_element(k, thin, i, vh, i % count * n + i / count, true);
    k->loops->qr(thin, square, NULL, square + length * length * k->bytes, length, count, length);
    for (int64_t i = 0; i < length; i++)
        for (int64_t j = 0; j < length; j++)
            if (m < n && j >= count)
                copy_element(k, vh, j * n + i, square, i * n + j, true);
            else if (m > n)
                copy_element(k, u, i * m + j, j < count ? thin : square,
                             i * (j < count ? count : m) + j, false);
    return true;
}

static void svd_in_f64(const cpu_linalg_kernel *k, const void *a, void *u, void *s, void *vh,
                       void *memory) {
    svd_work w;
    if (k->complex) {
        mica_cpu_svd_complex(k, a, u, s, vh, memory);
        return;
    }
    svd_layout(k, memory, &w);
    decompose(k, &w, a, u, s, vh);
}

static void svd_range(void *context, int64_t begin, int64_t end) {
    const cpu_linalg_run *run = context;
    const cpu_linalg_kernel *k = run->kernel;
    int64_t m = k->rows, n = k->columns, count = cpu_min(m, n);
    int64_t u_size = m * (k->inner ? m : count), vh_size = (k->inner ? n : count) * n;
    for (int64_t i = begin; i < end; i++) {
        const void *a = at(run->operands[0], i, m * n, k->bytes);
        void *u = at(run->results[0], i, u_size, k->bytes);
        void *s = at(run->results[1], i, count, k->part_bytes);
        void *vh = at(run->results[2], i, vh_size, k->bytes);
        char *work = (char *)run->scratch + i * k->scratch;
        if (!k->loops->all_finite(a, m * n)) {
            k->loops->fill_nan(u, u_size);
            k->parts->fill_nan(s, count);
            k->loops->fill_nan(vh, vh_size);
        } else if (!k->lapack || !svd_by_lapack(k, a, u, s, vh, work))
            svd_in_f64(k, a, u, s, vh, work);
    }
}

static void run_svd(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                    void *scratch) {
    cpu_linalg_run run = {(const cpu_linalg_kernel *)kernel, operands, results, scratch};
    mica_cpu_for_each_matrix(&run, svd_range);
}

mica_status mica_cpu_create_svd(const mica_node *node, cpu_kernel **out) {
    cpu_linalg_kernel *k;
    svd_work w;
    MICA_TRY(mica_cpu_linalg_create(node, run_svd, SVD_SMALLEST, true, &k));
    k->inner = mica_node_int(node, "full");
    int64_t work = k->complex ? mica_cpu_svd_complex_work(k->rows, k->columns)
                              : svd_layout(k, NULL, &w) * (int64_t)sizeof(double);
    mica_cpu_linalg_scratch(k, k->lapack ? cpu_max(work, svd_lapack_bytes(k)) : work);
    *out = &k->base;
    return NULL;
}
