/* Kernels of lu, qr, eigh and svd. */
#include "device/cpu/linalg.h"

static char *at(const void *data, int64_t matrix, int64_t elements, int64_t bytes) {
    return (char *)data + matrix * elements * bytes;
}

/* ---- lu ---------------------------------------------------------------------------------------*/

static void lu_range(void *context, int64_t begin, int64_t end) {
    const cpu_linalg_run *run = context;
    const cpu_linalg_kernel *k = run->kernel;
    int64_t m = k->rows, n = k->columns;
    for (int64_t i = begin; i < end; i++)
        k->loops->lu(at(run->operands[0], i, m * n, k->bytes),
                     at(run->results[0], i, m * n, k->bytes),
                     (int32_t *)run->results[1] + i * cpu_min(m, n),
                     (int32_t *)run->results[2] + i * m, m, n);
}

static void run_lu(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                   void *scratch) {
    cpu_linalg_run run = {(const cpu_linalg_kernel *)kernel, operands, results, scratch};
    mica_cpu_for_each_matrix(&run, lu_range);
}

mica_status mica_cpu_create_lu(const mica_node *node, cpu_kernel **out) {
    cpu_linalg_kernel *k;
    MICA_TRY(mica_cpu_linalg_create(node, run_lu, &k));
    *out = &k->base;
    return NULL;
}

/* ---- qr ---------------------------------------------------------------------------------------*/

static void qr_range(void *context, int64_t begin, int64_t end) {
    const cpu_linalg_run *run = context;
    const cpu_linalg_kernel *k = run->kernel;
    int64_t m = k->rows, n = k->columns, inner = k->inner;
    for (int64_t i = begin; i < end; i++) {
        const void *a = at(run->operands[0], i, m * n, k->bytes);
        void *q = at(run->results[0], i, m * inner, k->bytes);
        void *r = at(run->results[1], i, inner * n, k->bytes);
        if (k->loops->all_finite(a, m * n))
            k->loops->qr(a, q, r, (char *)run->scratch + i * k->scratch, m, n, inner);
        else {
            k->loops->fill_nan(q, m * inner);
            k->loops->fill_nan(r, inner * n);
        }
    }
}

static void run_qr(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                   void *scratch) {
    cpu_linalg_run run = {(const cpu_linalg_kernel *)kernel, operands, results, scratch};
    mica_cpu_for_each_matrix(&run, qr_range);
}

mica_status mica_cpu_create_qr(const mica_node *node, cpu_kernel **out) {
    cpu_linalg_kernel *k;
    MICA_TRY(mica_cpu_linalg_create(node, run_qr, &k));
    k->inner = node->results[0].dims[node->results[0].rank - 1];
    mica_cpu_linalg_scratch(k, (k->rows * k->columns + k->rows + k->columns) * k->bytes);
    *out = &k->base;
    return NULL;
}

/* ---- eigh -------------------------------------------------------------------------------------*/

static void eigh_range(void *context, int64_t begin, int64_t end) {
    const cpu_linalg_run *run = context;
    const cpu_linalg_kernel *k = run->kernel;
    int64_t n = k->rows;
    for (int64_t i = begin; i < end; i++) {
        double *a = (double *)((char *)run->scratch + i * k->scratch);
        double *values = a + n * n, *vectors = values + n, *work = vectors + n * n;
        bool finite = true;
        k->loops->widen(at(run->operands[0], i, n * n, k->bytes), a, n * n);
        for (int64_t row = 0; row < n; row++)
            finite &= mica_cpu_linalg_f64.all_finite(a + row * n, row + 1);
        if (finite)
            mica_cpu_eigh(a, values, vectors, work, n);
        else
            mica_cpu_linalg_f64.fill_nan(values, n + n * n);
        k->loops->narrow(values, at(run->results[0], i, n, k->bytes), n);
        k->loops->narrow(vectors, at(run->results[1], i, n * n, k->bytes), n * n);
    }
}

static void run_eigh(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                     void *scratch) {
    cpu_linalg_run run = {(const cpu_linalg_kernel *)kernel, operands, results, scratch};
    mica_cpu_for_each_matrix(&run, eigh_range);
}

mica_status mica_cpu_create_eigh(const mica_node *node, cpu_kernel **out) {
    cpu_linalg_kernel *k;
    MICA_TRY(mica_cpu_linalg_create(node, run_eigh, &k));
    int64_t n = k->rows;
    mica_cpu_linalg_scratch(k, (2 * n * n + n + mica_cpu_eigh_work(n)) * (int64_t)sizeof(double));
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

static void svd_range(void *context, int64_t begin, int64_t end) {
    const cpu_linalg_run *run = context;
    const cpu_linalg_kernel *k = run->kernel;
    int64_t m = k->rows, n = k->columns, count = cpu_min(m, n);
    int64_t u_size = m * (k->inner ? m : count), vh_size = (k->inner ? n : count) * n;
    for (int64_t i = begin; i < end; i++) {
        svd_work w;
        const void *a = at(run->operands[0], i, m * n, k->bytes);
        void *u = at(run->results[0], i, u_size, k->bytes);
        void *s = at(run->results[1], i, count, k->bytes);
        void *vh = at(run->results[2], i, vh_size, k->bytes);
        svd_layout(k, (double *)((char *)run->scratch + i * k->scratch), &w);
        if (k->loops->all_finite(a, m * n))
            decompose(k, &w, a, u, s, vh);
        else {
            k->loops->fill_nan(u, u_size);
            k->loops->fill_nan(s, count);
            k->loops->fill_nan(vh, vh_size);
        }
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
    MICA_TRY(mica_cpu_linalg_create(node, run_svd, &k));
    k->inner = mica_node_int(node, "full");
    mica_cpu_linalg_scratch(k, svd_layout(k, NULL, &w) * (int64_t)sizeof(double));
    *out = &k->base;
    return NULL;
}
