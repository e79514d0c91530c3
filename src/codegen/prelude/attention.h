/* codegen/prelude/attention.h: softmax(scale q k^T) v and its derivative without the matrix of
 * scores (nn/attend.c), for elements T of 16 bits and sizes up to HEAD, a multiple of 16. MASKED:
 * a mask of bools hides keys. Scores, softmax and sums are in f32; what the softmax gives is
 * rounded to T before it is multiplied.
 *
 * attention_forward  y and ln sum e^score: blocks of queries go over the keys, with the softmax
 *                    relative to the largest score so far
 * attention_rows     of the derivative, what belongs to queries: dy y - dlogs, logs in base two
 * attention_keys     dk and dv: blocks of keys go over the queries
 * attention_queries  dq: blocks of queries go over the keys
 *
 * Every sum is made by one thread in a fixed order. attention_tensor.h has them for tensor
 * cores; here a thread makes a row. */
#include "codegen/prelude/space.h"

#include "codegen/prelude/attention_layout.h"

#define LOG2_E 1.4426950408889634f

MICA_SCALAR int is_hidden(const mica_attention_arguments *a, int64_t batch, int query, int key) {
    if (query >= (int)a->queries || key >= (int)a->keys || (a->causal && key > query)) return 1;
#if MASKED
    return ((const uint8_t *)a->mask)[mica_position(&a->mask_batch, batch) + query * a->mask_row +
                                      key * a->mask_key];
#else
    return 0;
#endif
}

#if MICA_HAS_TENSOR_CORES
#include "codegen/prelude/attention_tensor.h"
#else

#define POWER_OF_2(x) mica_exp_f32((x) / LOG2_E)

MICA_KERNEL(attention_rows, mica_attention_arguments) {
    MICA_EACH_THREAD MICA_EACH(i, a.batch * a.padded) {
        const int64_t batch = i / a.padded, query = i % a.padded;
        float *rows = (float *)a.rows + batch * 2 * a.padded + query;
        float product = 0, logs = MICA_INF_F32;
        if (query < a.queries) {
            const int64_t row = batch * a.queries + query;
            const T *y = (const T *)a.y + row * a.size, *dy = (const T *)a.dy + row * a.size;
            for (int64_t d = 0; d < a.size; d++)
                product = MICA_FMA_F32(LOAD(y[d]), LOAD(dy[d]), product);
            product -= ((const float *)a.dlogs)[row];
            logs = ((const float *)a.logs)[row] * LOG2_E;
        }
        rows[0] = logs;
        rows[a.padded] = product;
    }
}

/* Scaled by log2 e, so that powers of two make the softmax. */
MICA_SCALAR float score_of(const mica_attention_arguments *a, int64_t batch, int64_t query,
                           int64_t key) {
    const T *q = (const T *)a->q + (batch * a->queries + query) * a->size;
    const T *k = (const T *)a->k + (batch * a->keys + key) * a->size;
    float sum = 0;
    for (int64_t d = 0; d < a->size; d++) sum = MICA_FMA_F32(LOAD(q[d]), LOAD(k[d]), sum);
    return sum * (a->scale * LOG2_E);
}

MICA_KERNEL(attention_forward, mica_attention_arguments) {
    MICA_EACH_THREAD MICA_EACH(row, a.batch * a.queries) {
        const int64_t batch = row / a.queries, query = row % a.queries;
        float top = -MICA_INF_F32, sum = 0, y[HEAD];
        for (int64_t d = 0; d < HEAD; d++) y[d] = 0;
        for (int64_t key = 0; key < a.keys; key++) {
            if (is_hidden(&a, batch, (int)query, (int)key)) continue;
            const float score = score_of(&a, batch, query, key);
            const float base = score > top ? score : top;
            const float factor = top == base ? 1 : POWER_OF_2(top - base);
            const float power = score == base ? 1 : POWER_OF_2(score - base);
            const T *v = (const T *)a.v + (batch * a.keys + key) * a.size;
            for (int64_t d = 0; d < a.size; d++)
                y[d] = MICA_FMA_F32(LOAD(STORE(power)), LOAD(v[d]), y[d] * factor);
            sum = MICA_FMA_F32(sum, factor, power);
            top = base;
        }
        for (int64_t d = 0; d < a.size; d++)
            ((T *)a.y)[row * a.size + d] = STORE(sum == 0 ? 0 : y[d] / sum);
        ((float *)a.logs)[row] = sum == 0 ? 0 : top / LOG2_E + mica_log_f32(sum);
    }
}

/* The softmax and the derivative of the score. */
MICA_SCALAR void weight_of(const mica_attention_arguments *a, int64_t batch, int64_t query,
                           int64_t key, float *out_weight, float *out_ds) {
    const float *rows = (const float *)a->rows + batch * 2 * a->padded + query;
    const T *v = (const T *)a->v + (batch * a->keys + key) * a->size;
    const T *dy = (const T *)a->dy + (batch * a->queries + query) * a->size;
    const float weight = POWER_OF_2(score_of(a, batch, query, key) - rows[0]);
    float sum = 0;
    for (int64_t d = 0; d < a->size; d++) sum = MICA_FMA_F32(LOAD(dy[d]), LOAD(v[d]), sum);
    *out_weight = LOAD(STORE(weight));
    *out_ds = LOAD(STORE(weight * (sum - rows[a->padded])));
}

MICA_KERNEL(attention_keys, mica_attention_arguments) {
    MICA_EACH_THREAD MICA_EACH(row, a.batch * a.keys) {
        const int64_t batch = row / a.keys, key = row % a.keys;
        float dk[HEAD], dv[HEAD], weight, ds;
        for (int64_t d = 0; d < HEAD; d++) dk[d] = dv[d] = 0;
        for (int64_t query = 0; query < a.queries; query++) {
            if (is_hidden(&a, batch, (int)query, (int)key)) continue;
            const T *q = (const T *)a.q + (batch * a.queries + query) * a.size;
            const T *dy = (const T *)a.dy + (batch * a.queries + query) * a.size;
            weight_of(&a, batch, query, key, &weight, &ds);
            for (int64_t d = 0; d < a.size; d++) {
                dk[d] = MICA_FMA_F32(ds, LOAD(q[d]), dk[d]);
                dv[d] = MICA_FMA_F32(weight, LOAD(dy[d]), dv[d]);
            }
        }
        for (int64_t d = 0; d < a.size; d++) {
            ((T *)a.dk)[row * a.size + d] = STORE(dk[d] * a.scale);
            ((T *)a.dv)[row * a.size + d] = STORE(dv[d]);
        }
    }
}

MICA_KERNEL(attention_queries, mica_attention_arguments) {
    MICA_EACH_THREAD MICA_EACH(row, a.batch * a.queries) {
        const int64_t batch = row / a.queries, query = row % a.queries;
        float dq[HEAD], weight, ds;
        for (int64_t d = 0; d < HEAD; d++) dq[d] = 0;
        for (int64_t key = 0; key < a.keys; key++) {
            if (is_hidden(&a, batch, (int)query, (int)key)) continue;
            const T *k = (const T *)a.k + (batch * a.keys + key) * a.size;
            weight_of(&a, batch, query, key, &weight, &ds);
            for (int64_t d = 0; d < a.size; d++) dq[d] = MICA_FMA_F32(ds, LOAD(k[d]), dq[d]);
        }
        for (int64_t d = 0; d < a.size; d++) ((T *)a.dq)[row * a.size + d] = STORE(dq[d] * a.scale);
    }
}

#endif
