/* mica.attention.back: the softmax of a block of rows and keys is made again from the scores and
 * their sum; with it dq of the rows, and what the rows add to dk and dv. A batch is one piece of
 * work, its rows in order. */
#include <string.h>

#include "device/cpu/attention.h"

enum { R = ATTENTION_ROWS, G = ATTENTION_GROUP, KEYS = ATTENTION_KEYS };

typedef struct back_kernel {
    cpu_kernel base;
    attention_sizes sizes;
    size_t piece; /* floats in scratch of a batch */
} back_kernel;

typedef struct back_run {
    const back_kernel *kernel;
    const float *q, *k, *v, *y, *log_sum, *dy, *dlog_sum;
    const void *mask;
    float *dq, *dk, *dv, *scratch;
} back_run;

/* One batch, or a block of its rows. */
typedef struct block {
    const back_run *run;
    const attention_sizes *s;
    int64_t batch, first, rows;
    float *dk, *dv; /* of the batch */
    /* In scratch: panels of k^T, v^T and k, ... */
    float *keys_across, *values_across, *keys;
    /* ... of the rows q and dy as left sides and as panels, what goes with each row ... */
    float *query, *dout, *query_panels, *dout_panels, *more;
    /* ... scores and their derivatives, dq so far, a left side and a product. */
    float *scores, *slopes, *dq, *left, *part;
} block;

static size_t lay_out(const attention_sizes *s, block *b, float *memory) {
    float *at = memory;
    int64_t widest = cpu_max(cpu_max(s->d_padded, s->e_padded), KEYS);
    b->keys_across = at, at += s->keys_padded * s->d;
    b->values_across = at, at += s->keys_padded * s->e;
    b->keys = at, at += s->keys * s->d_padded;
    b->query = at, at += R * s->d;
    b->dout = at, at += R * s->e;
    b->query_panels = at, at += R * s->d_padded;
    b->dout_panels = at, at += R * s->e_padded;
    b->more = at, at += R;
    b->scores = at, at += R * KEYS;
    b->slopes = at, at += R * KEYS;
    b->dq = at, at += R * s->d_padded;
    b->left = at, at += G * KEYS;
    b->part = at, at += G * widest;
    return (size_t)(at - memory + 15) / 16 * 16;
}

static void add_rows(float *y, const float *x, int64_t step, int64_t rows, int64_t n) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) y[i * n + j] += x[i * step + j];
}

/* Some rows: softmax into scores, its derivative into slopes, dq. */
static void rows_back(block *b, int64_t i, int64_t group, int64_t j, int64_t n) {
    const attention_sizes *s = b->s;
    const mica_cpu_lstm *loops = s->loops;
    int64_t panels = cpu_ceil_div(n, loops->columns);
    float *scores = b->scores + i * KEYS, *slopes = b->slopes + i * KEYS;
    loops->product(b->query + i * s->d, group, b->keys_across + j * s->d, s->d, panels, scores,
                   KEYS);
    loops->product(b->dout + i * s->e, group, b->values_across + j * s->e, s->e, panels, slopes,
                   KEYS);
    for (int64_t r = 0; r < group; r++) {
        int64_t query = b->first + i + r;
        float *row = scores + r * KEYS, *slope = slopes + r * KEYS;
        int64_t count = mica_cpu_attention_mask(s, b->run->mask, b->batch, query, j, n, row);
        float log_sum = b->run->log_sum[b->batch * s->queries + query];
        if (s->keeps && log_sum == __builtin_inff()) {
            for (int64_t k = 0; k < n; k++) row[k] = 1 / (float)s->keys, slope[k] = 0;
            continue;
        }
        s->rows->back(row, slope, count, log_sum, b->more[i + r], s->scale);
        for (int64_t k = count; k < n; k++) row[k] = slope[k] = 0;
    }
    attention_left(slopes, KEYS, n, group, 1, b->left);
    loops->product(b->left, group, b->keys + j * s->d_padded, n, s->d_panels, b->part, s->d_padded);
    for (int64_t r = 0; r < group; r++)
        s->rows->blend(b->dq + (i + r) * s->d_padded, 1, b->part + r * s->d_padded, s->d);
}

/* What the rows add to some keys: columns of x times the rows' panels. */
static void add_to_keys(block *b, const float *x, int64_t group, const float *panels,
                        int64_t n_panels, int64_t n, float *sum) {
    for (int64_t k = 0; k < b->rows; k++)
        memcpy(b->left + k * group, x + k * KEYS, (size_t)group * sizeof *x);
    int64_t step = n_panels * b->s->loops->columns;
    b->s->loops->product(b->left, group, panels, b->rows, n_panels, b->part, step);
    add_rows(sum, b->part, step, group, n);
}

static void prepare_rows(block *b) {
    const attention_sizes *s = b->s;
    const back_run *run = b->run;
    int64_t row = b->batch * s->queries + b->first;
    const float *q = run->q + row * s->d, *dy = run->dy + row * s->e, *y = run->y + row * s->e;
    for (int64_t i = 0, group; i < b->rows; i += group) {
        group = attention_group(s, b->rows - i);
        attention_left(q + i * s->d, s->d, s->d, group, s->scale, b->query + i * s->d);
        attention_left(dy + i * s->e, s->e, s->e, group, 1, b->dout + i * s->e);
    }
    mica_cpu_attention_pack(s, q, s->d, b->rows, s->d, false, b->query_panels);
    mica_cpu_attention_pack(s, dy, s->e, b->rows, s->e, false, b->dout_panels);
    for (int64_t i = 0; i < b->rows; i++)
        b->more[i] = run->dlog_sum[row + i] - s->rows->inner(dy + i * s->e, y + i * s->e, s->e);
    memset(b->dq, 0, (size_t)(b->rows * s->d_padded) * sizeof *b->dq);
}

static void block_back(block *b) {
    const attention_sizes *s = b->s;
    prepare_rows(b);
    int64_t limit = s->causal ? cpu_min(s->keys, b->first + b->rows) : s->keys;
    for (int64_t j = 0; j < limit; j += KEYS) {
        int64_t n = cpu_min(KEYS, s->keys - j);
        for (int64_t i = 0, group; i < b->rows; i += group) {
            group = attention_group(s, b->rows - i);
            rows_back(b, i, group, j, n);
        }
        for (int64_t k = 0, group; k < n; k += group) {
            group = attention_group(s, n - k);
            add_to_keys(b, b->slopes + k, group, b->query_panels, s->d_panels, s->d,
                        b->dk + (j + k) * s->d);
            add_to_keys(b, b->scores + k, group, b->dout_panels, s->e_panels, s->e,
                        b->dv + (j + k) * s->e);
        }
    }
    float *dq = b->run->dq + (b->batch * s->queries + b->first) * s->d;
    for (int64_t i = 0; i < b->rows; i++)
        memcpy(dq + i * s->d, b->dq + i * s->d_padded, (size_t)s->d * sizeof *dq);
}

static void batch_back(void *context, int64_t begin, int64_t end) {
    const back_run *run = context;
    const attention_sizes *s = &run->kernel->sizes;
    for (int64_t i = begin; i < end; i++) {
        block b = {.run = run, .s = s, .batch = i};
        lay_out(s, &b, run->scratch + (size_t)i * run->kernel->piece);
        const float *k = run->k + i * s->keys * s->d, *v = run->v + i * s->keys * s->e;
        b.dk = run->dk + i * s->keys * s->d;
        b.dv = run->dv + i * s->keys * s->e;
        memset(b.dk, 0, (size_t)(s->keys * s->d) * sizeof *b.dk);
        memset(b.dv, 0, (size_t)(s->keys * s->e) * sizeof *b.dv);
        mica_cpu_attention_pack(s, k, s->d, s->d, s->keys, true, b.keys_across);
        mica_cpu_attention_pack(s, v, s->e, s->e, s->keys, true, b.values_across);
        for (int64_t j = 0; j < s->keys; j += KEYS)
            mica_cpu_attention_pack(s, k + j * s->d, s->d, cpu_min(KEYS, s->keys - j), s->d, false,
                                    b.keys + j * s->d_padded);
        for (b.first = 0; b.first < s->queries; b.first += R) {
            b.rows = cpu_min(R, s->queries - b.first);
            block_back(&b);
        }
    }
}

static void run_back(const cpu_kernel *kernel, const void *const *operands, void *const *results,
                     void *scratch) {
    const back_kernel *a = (const back_kernel *)kernel;
    int32_t at = a->sizes.mask == MASK_NONE ? 3 : 4;
    back_run run = {.kernel = a,
                    .q = operands[0],
                    .k = operands[1],
                    .v = operands[2],
                    .mask = at == 4 ? operands[3] : NULL,
                    .y = operands[at],
                    .log_sum = operands[at + 1],
                    .dy = operands[at + 2],
                    .dlog_sum = operands[at + 3],
                    .dq = results[0],
                    .dk = results[1],
                    .dv = results[2],
                    .scratch = scratch};
    mica_parallel_for(a->sizes.batch, 1, batch_back, &run);
}

bool mica_cpu_fits_attention_back(const mica_node *node) {
    attention_sizes sizes;
    return node->n_results == 3 && mica_cpu_attention_sizes(node, true, &sizes);
}

mica_status mica_cpu_create_attention_back(const mica_node *node, cpu_kernel **out) {
    back_kernel *a;
    block b;
    MICA_TRY(mica_cpu_kernel_new(sizeof *a, run_back, &a));
    if (!mica_cpu_attention_sizes(node, true, &a->sizes)) {
        mica_free(a);
        return mica_cpu_unsupported(node, MICA_DTYPE_f32);
    }
    a->piece = lay_out(&a->sizes, &b, NULL);
    a->base.head.scratch_bytes = (size_t)a->sizes.batch * a->piece * sizeof(float);
    *out = &a->base;
    return NULL;
}
