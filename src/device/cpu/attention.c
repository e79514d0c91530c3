#include "device/cpu/attention.h"

#include <stdio.h>
#include <string.h>

/* ---- sizes ------------------------------------------------------------------------------------*/

static bool is_f32(const mica_type *type) {
    return type->kind == MICA_TENSOR && type->dtype == MICA_DTYPE_f32 &&
           mica_type_elements(type) > 0;
}

/* The same axes before the last `tail`. */
static bool same_batch(const mica_type *a, const mica_type *b, int32_t tail_a, int32_t tail_b) {
    if (a->rank - tail_a != b->rank - tail_b) return false;
    for (int32_t i = 0; i < a->rank - tail_a; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

/* Strides of a mask that is stretched to (batch..., queries, keys). */
static bool plan_mask(const mica_type *mask, const mica_type *q, attention_sizes *out) {
    int64_t strides[MICA_MAX_RANK], full[MICA_MAX_RANK];
    int32_t before = q->rank - mask->rank;
    if (mask->kind != MICA_TENSOR || before < 0) return false;
    out->mask = mask->dtype == MICA_DTYPE_bool ? MASK_BOOL : MASK_ADDED;
    if (out->mask == MASK_ADDED && mask->dtype != MICA_DTYPE_f32) return false;
    mica_cpu_strides(mask, strides);
    mica_cpu_space_init(&out->mask_batch);
    for (int32_t i = 0; i < q->rank; i++) {
        int64_t size = i == q->rank - 1 ? out->keys : q->dims[i];
        int64_t own = i < before ? 1 : mask->dims[i - before];
        if (own != 1 && own != size) return false;
        full[i] = own == 1 ? 0 : strides[i - before];
        if (i < q->rank - 2) mica_cpu_space_add(&out->mask_batch, size, full[i]);
    }
    out->mask_row = full[q->rank - 2];
    out->mask_key = full[q->rank - 1];
    return true;
}

static int64_t padded(int64_t n, int64_t to) {
    return cpu_ceil_div(n, to) * to;
}

static bool check_results(const mica_node *node, const mica_type *q, int32_t first) {
    const mica_type *y = mica_operand_type(node, first), *sum = mica_operand_type(node, first + 1);
    const mica_type *dy = mica_operand_type(node, first + 2);
    const mica_type *dsum = mica_operand_type(node, first + 3);
    return is_f32(y) && is_f32(sum) && mica_type_equal(y, dy) && mica_type_equal(sum, dsum) &&
           same_batch(q, y, 1, 1) && same_batch(q, sum, 1, 0);
}

bool mica_cpu_attention_sizes(const mica_node *node, bool is_back, attention_sizes *out) {
    int32_t plain = is_back ? 7 : 3, n = node->n_operands;
    if (n != plain && n != plain + 1) return false;
    const mica_type *q = mica_operand_type(node, 0), *k = mica_operand_type(node, 1);
    const mica_type *v = mica_operand_type(node, 2);
    if (!is_f32(q) || !is_f32(k) || !is_f32(v) || q->rank < 2) return false;
    if (!same_batch(q, k, 2, 2) || !same_batch(q, v, 2, 2)) return false;
    int32_t r = q->rank;
    double scale;
    int causal;
    float never = -__builtin_inff();
    int read = sscanf(mica_node_string(node, "config"), "scale=%lf causal=%d never=%f", &scale,
                      &causal, &never);
    if (read < 2) return false;
    *out = (attention_sizes){.loops = mica_cpu_isa_current()->lstm,
                             .rows = mica_cpu_isa_current()->attention,
                             .batch = 1,
                             .queries = q->dims[r - 2],
                             .keys = k->dims[r - 2],
                             .d = q->dims[r - 1],
                             .e = v->dims[r - 1],
                             .scale = (float)scale,
                             .never = never,
                             .keeps = read == 3,
                             .causal = causal};
    if (k->dims[r - 1] != out->d || v->dims[r - 2] != out->keys || out->d > ATTENTION_WIDEST ||
        out->e > ATTENTION_WIDEST)
        return false;
    if (is_back && !check_results(node, q, n - 4)) return false;
    for (int32_t i = 0; i < r - 2; i++) out->batch *= q->dims[i];
    if (n == plain + 1 && !plan_mask(mica_operand_type(node, 3), q, out)) return false;
    int64_t columns = out->loops->columns;
    out->keys_padded = padded(out->keys, columns);
    out->d_padded = padded(out->d, columns);
    out->e_padded = padded(out->e, columns);
    out->d_panels = out->d_padded / columns;
    out->e_panels = out->e_padded / columns;
    return true;
}

/* ---- shared parts -----------------------------------------------------------------------------*/

void mica_cpu_attention_pack(const attention_sizes *s, const float *x, int64_t step, int64_t n_k,
                             int64_t n, bool across, float *panels) {
    int64_t width = s->loops->columns;
    for (int64_t first = 0; first < n; first += width) {
        int64_t count = cpu_min(width, n - first);
        for (int64_t k = 0; k < n_k; k++, panels += width) {
            if (across)
                for (int64_t j = 0; j < count; j++) panels[j] = x[(first + j) * step + k];
            else
                memcpy(panels, x + k * step + first, (size_t)count * sizeof *panels);
            for (int64_t j = count; j < width; j++) panels[j] = 0;
        }
    }
}

int64_t mica_cpu_attention_mask(const attention_sizes *s, const void *mask, int64_t batch,
                                int64_t query, int64_t j, int64_t n, float *scores) {
    if (s->causal) n = cpu_max(0, cpu_min(n, query + 1 - j));
    if (s->mask == MASK_NONE) return n;
    int64_t at =
        mica_cpu_space_position(&s->mask_batch, batch) + query * s->mask_row + j * s->mask_key;
    const uint8_t *hidden = mask;
    const float *added = mask;
    for (int64_t i = 0; i < n; i++, at += s->mask_key) {
        if (s->mask == MASK_ADDED)
            scores[i] += added[at];
        else if (hidden[at])
            scores[i] = s->never;
    }
    return n;
}

/* ---- forward ----------------------------------------------------------------------------------*/

enum { MOST_CHUNKS = 8 };

typedef struct attention_kernel {
    cpu_kernel base;
    attention_sizes sizes;
    int64_t chunks, chunk_rows; /* that the queries of a batch are cut into */
    size_t packed, work;        /* floats in scratch: of a batch, of a chunk */
} attention_kernel;

typedef struct attention_run {
    const attention_kernel *kernel;
    const float *q, *k, *v;
    const void *mask;
    float *y, *log_sum, *scratch;
} attention_run;

/* Some rows on their way through the keys. */
typedef struct rows_state {
    int64_t batch, first, rows;
    float top[ATTENTION_GROUP], sum[ATTENTION_GROUP], factor[ATTENTION_GROUP];
    float *query, *scores, *left, *part, *out; /* in scratch */
} rows_state;

/* Keys and values of a block lie together: panels of k^T for its keys, then panels of v. */
static void pack_batch(void *context, int64_t begin, int64_t end) {
    const attention_run *run = context;
    const attention_kernel *a = run->kernel;
    const attention_sizes *s = &a->sizes;
    for (int64_t b = begin; b < end; b++) {
        float *keys = run->scratch + (size_t)b * a->packed;
        float *values = keys + s->keys_padded * s->d;
        const float *v = run->v + b * s->keys * s->e;
        mica_cpu_attention_pack(s, run->k + b * s->keys * s->d, s->d, s->d, s->keys, true, keys);
        for (int64_t j = 0; j < s->keys; j += ATTENTION_KEYS)
            mica_cpu_attention_pack(s, v + j * s->e, s->e, cpu_min(ATTENTION_KEYS, s->keys - j),
                                    s->e, false, values + j * s->e_padded);
    }
}

/* Scores of a block become powers, relative to the largest score so far. */
static void soften(const attention_run *run, rows_state *r, int64_t j, int64_t n) {
    const attention_sizes *s = &run->kernel->sizes;
    for (int64_t i = 0; i < r->rows; i++) {
        float *scores = r->scores + i * ATTENTION_KEYS;
        int64_t count = mica_cpu_attention_mask(s, run->mask, r->batch, r->first + i, j, n, scores);
        float top = s->rows->largest(scores, count), before = r->top[i];
        r->factor[i] = 1;
        /* Not `<`: with a NaN among them the sum becomes NaN. */
        if (count && !(top == -__builtin_inff() && before == top)) {
            if (!(top > before)) top = before;
            float start = before - top;
            r->factor[i] = 1;
            if (before == -__builtin_inff())
                r->factor[i] = 0;
            else if (start != 0)
                s->rows->powers(&start, 1, 0), r->factor[i] = start;
            r->sum[i] = r->sum[i] * r->factor[i] + s->rows->powers(scores, count, top);
            r->top[i] = top;
        } else {
            count = 0;
        }
        for (int64_t k = count; k < n; k++) scores[k] = 0;
    }
}

static void attend_rows(const attention_run *run, rows_state *r) {
    const attention_kernel *a = run->kernel;
    const attention_sizes *s = &a->sizes;
    int64_t row = r->batch * s->queries + r->first, columns = s->loops->columns;
    int64_t limit = s->causal ? cpu_min(s->keys, r->first + r->rows) : s->keys;
    const float *keys = run->scratch + (size_t)r->batch * a->packed;
    const float *values = keys + s->keys_padded * s->d;
    for (int64_t i = 0; i < r->rows; i++) r->top[i] = -__builtin_inff(), r->sum[i] = 0;
    memset(r->out, 0, (size_t)(r->rows * s->e_padded) * sizeof *r->out);
    attention_left(run->q + row * s->d, s->d, s->d, r->rows, s->scale, r->query);
    for (int64_t j = 0; j < limit; j += ATTENTION_KEYS) {
        int64_t whole = cpu_min(ATTENTION_KEYS, s->keys - j);
        s->loops->product(r->query, r->rows, keys + j * s->d, s->d, cpu_ceil_div(whole, columns),
                          r->scores, ATTENTION_KEYS);
        soften(run, r, j, whole);
        attention_left(r->scores, ATTENTION_KEYS, whole, r->rows, 1, r->left);
        s->loops->product(r->left, r->rows, values + j * s->e_padded, whole, s->e_panels, r->part,
                          s->e_padded);
        for (int64_t i = 0; i < r->rows; i++)
            s->rows->blend(r->out + i * s->e_padded, r->factor[i], r->part + i * s->e_padded, s->e);
    }
    for (int64_t i = 0; i < r->rows; i++) {
        float sum = r->sum[i], *y = run->y + (row + i) * s->e;
        bool idle = sum == 0;
        for (int64_t k = 0; k < s->e; k++) y[k] = idle ? 0 : r->out[i * s->e_padded + k] / sum;
        run->log_sum[row + i] = idle ? 0 : r->top[i] + s->rows->logarithm(sum);
        if (s->keeps && r->top[i] == s->never) run->log_sum[row + i] = __builtin_inff();
    }
}

static void attend_chunks(void *context, int64_t begin, int64_t end) {
    const attention_run *run = context;
    const attention_kernel *a = run->kernel;
    const attention_sizes *s = &a->sizes;
    for (int64_t i = begin; i < end; i++) {
        int64_t first = i % a->chunks * a->chunk_rows;
        int64_t last = cpu_min(first + a->chunk_rows, s->queries);
        rows_state r = {.batch = i / a->chunks};
        r.query = run->scratch + (size_t)s->batch * a->packed + (size_t)i * a->work;
        r.scores = r.query + ATTENTION_GROUP * s->d;
        r.left = r.scores + ATTENTION_GROUP * ATTENTION_KEYS;
        r.part = r.left + ATTENTION_GROUP * ATTENTION_KEYS;
        r.out = r.part + ATTENTION_GROUP * s->e_padded;
        for (r.first = first; r.first < last; r.first += r.rows) {
            r.rows = attention_group(s, last - r.first);
            attend_rows(run, &r);
        }
    }
}

static void run_attention(const cpu_kernel *kernel, const void *const *operands,
                          void *const *results, void *scratch) {
    const attention_kernel *a = (const attention_kernel *)kernel;
    attention_run run = {a,
                         operands[0],
                         operands[1],
                         operands[2],
                         a->sizes.mask == MASK_NONE ? NULL : operands[3],
                         results[0],
                         results[1],
                         scratch};
    mica_parallel_for(a->sizes.batch, 1, pack_batch, &run);
    mica_parallel_for(a->sizes.batch * a->chunks, 1, attend_chunks, &run);
}

bool mica_cpu_fits_attention(const mica_node *node) {
    attention_sizes sizes;
    return node->n_results == 2 && mica_cpu_attention_sizes(node, false, &sizes);
}

mica_status mica_cpu_create_attention(const mica_node *node, cpu_kernel **out) {
    attention_kernel *a;
    MICA_TRY(mica_cpu_kernel_new(sizeof *a, run_attention, &a));
    attention_sizes *s = &a->sizes;
    if (!mica_cpu_attention_sizes(node, false, s)) {
        mica_free(a);
        return mica_cpu_unsupported(node, MICA_DTYPE_f32);
    }
    a->chunks = cpu_min(MOST_CHUNKS, cpu_ceil_div(s->queries, ATTENTION_ROWS));
    a->chunk_rows = cpu_ceil_div(s->queries, a->chunks);
    a->chunks = cpu_ceil_div(s->queries, a->chunk_rows);
    a->packed = (size_t)(s->keys_padded * s->d + s->keys * s->e_padded + 15) / 16 * 16;
    a->work =
        (size_t)(ATTENTION_GROUP * (s->d + 2 * ATTENTION_KEYS + 2 * s->e_padded) + 15) / 16 * 16;
    a->base.head.scratch_bytes =
        ((size_t)s->batch * a->packed + (size_t)(s->batch * a->chunks) * a->work) * sizeof(float);
    *out = &a->base;
    return NULL;
}
