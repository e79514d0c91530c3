/* Shape functions of linear algebra and Fourier transforms. */
#include <string.h>

#include "tf/shape_rules.h"

static mica_status matrices(const mica_tf_inference *c, int32_t i, bool square) {
    const mica_tf_shape *x = &c->inputs[i];
    if (x->rank < 0) return NULL;
    if (x->rank < 2)
        return MICA_INVALID("[%s] Input tensor %d must have rank >= 2, got shape %s", c->info->name,
                            i, mica_tf_shape_text(x).chars);
    int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    if (square && rows >= 0 && columns >= 0 && rows != columns)
        return c->graph ? MICA_INVALID("[%s] Dimensions must be equal, but are %lld and %lld",
                                       c->info->name, (long long)rows, (long long)columns)
                        : MICA_INVALID("[%s] Input matrix must be square.", c->info->name);
    return NULL;
}

mica_status tf_shape_square_matrix(mica_tf_inference *c) {
    c->outputs[0] = c->inputs[0];
    return matrices(c, 0, true);
}

/* A shape twice. */
mica_status tf_shape_diag(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0];
    if (x->rank < 0) return NULL;
    if (x->rank == 0) return MICA_INVALID("[Diag] Input must be at least rank 1, got a scalar");
    if (2 * x->rank > MICA_MAX_RANK)
        return MICA_INVALID("[Diag] the result would have rank %d: at most %d is possible",
                            2 * x->rank, MICA_MAX_RANK);
    c->outputs[0] = (mica_tf_shape){.rank = 2 * x->rank};
    for (int32_t i = 0; i < 2 * x->rank; i++) c->outputs[0].dims[i] = x->dims[i % x->rank];
    return NULL;
}

mica_status tf_shape_diag_part(mica_tf_inference *c) {
    const mica_tf_shape *x = &c->inputs[0];
    if (x->rank < 0) return NULL;
    if (x->rank == 0 || x->rank % 2)
        return MICA_INVALID("[DiagPart] Input must have even and non-zero rank, not the shape %s",
                            mica_tf_shape_text(x).chars);
    mica_tf_shape half = *x, other = {.rank = x->rank / 2};
    half.rank /= 2;
    for (int32_t i = 0; i < half.rank; i++) other.dims[i] = x->dims[half.rank + i];
    if (mica_tf_shape_merge(&half, &other, &c->outputs[0])) return NULL;
    return MICA_INVALID("[DiagPart] Invalid shape %s: the second half of it must be as the first",
                        mica_tf_shape_text(x).chars);
}

mica_status tf_shape_determinant(mica_tf_inference *c) {
    MICA_TRY(matrices(c, 0, true));
    c->outputs[0] = c->inputs[0];
    if (c->outputs[0].rank >= 0) c->outputs[0].rank -= 2;
    return NULL;
}

mica_status tf_shape_log_determinant(mica_tf_inference *c) {
    MICA_TRY(tf_shape_determinant(c));
    c->outputs[1] = c->outputs[0];
    return NULL;
}

mica_status tf_shape_matrix_solve(mica_tf_inference *c) {
    const mica_tf_shape *a = &c->inputs[0], *y = &c->inputs[1];
    MICA_TRY(matrices(c, 0, true));
    MICA_TRY(matrices(c, 1, false));
    if (a->rank < 0 || y->rank < 0) return NULL;
    int64_t rows = a->dims[a->rank - 2], given = y->dims[y->rank - 2];
    if (rows >= 0 && given >= 0 && rows != given)
        return c->graph
                   ? MICA_INVALID("[%s] Dimensions must be equal, but are %lld and %lld",
                                  c->info->name, (long long)rows, (long long)given)
                   : MICA_INVALID("[%s] Input matrix and rhs are incompatible.", c->info->name);
    mica_tf_shape batch_a = *a, batch_y = *y, batch;
    batch_a.rank -= 2;
    batch_y.rank -= 2;
    bool broadcasts = strcmp(c->info->name, "MatrixSolve") != 0;
    if (broadcasts ? !mica_tf_shape_broadcast(&batch_a, &batch_y, &batch)
                   : !mica_tf_shape_merge(&batch_a, &batch_y, &batch))
        return MICA_INVALID("[%s] the batches of %s and %s are incompatible", c->info->name,
                            mica_tf_shape_text(a).chars, mica_tf_shape_text(y).chars);
    batch.dims[batch.rank] = rows >= 0 ? rows : given;
    batch.dims[batch.rank + 1] = y->dims[y->rank - 1];
    batch.rank += 2;
    c->outputs[0] = batch;
    return NULL;
}

/* The smaller of two sizes, -1 where one of them is unknown. */
static int64_t smaller(int64_t a, int64_t b) {
    if (a < 0 || b < 0) return -1;
    return a < b ? a : b;
}

mica_status tf_shape_qr(mica_tf_inference *c) {
    mica_tf_shape q = c->inputs[0], r = c->inputs[0];
    MICA_TRY(matrices(c, 0, false));
    if (q.rank < 0) return NULL;
    int64_t m = q.dims[q.rank - 2], n = q.dims[q.rank - 1];
    int64_t inner = mica_tf_inference_int(c, "full_matrices") ? m : smaller(m, n);
    q.dims[q.rank - 1] = inner;
    r.dims[r.rank - 2] = inner;
    c->outputs[0] = q;
    c->outputs[1] = r;
    return NULL;
}

mica_status tf_shape_svd(mica_tf_inference *c) {
    mica_tf_shape s = c->inputs[0], u = c->inputs[0], v = c->inputs[0];
    MICA_TRY(matrices(c, 0, false));
    if (s.rank < 0) return NULL;
    int64_t m = s.dims[s.rank - 2], n = s.dims[s.rank - 1], k = smaller(m, n);
    bool full = mica_tf_inference_int(c, "full_matrices") != 0;
    s.rank--;
    s.dims[s.rank - 1] = k;
    c->outputs[0] = s;
    if (!mica_tf_inference_int(c, "compute_uv")) {
        c->outputs[1] = c->outputs[2] = (mica_tf_shape){.rank = 1, .dims = {0}};
        return NULL;
    }
    u.dims[u.rank - 1] = full ? m : k;
    v.dims[v.rank - 2] = n;
    v.dims[v.rank - 1] = full ? n : k;
    c->outputs[1] = u;
    c->outputs[2] = v;
    return NULL;
}

mica_status tf_shape_eigh(mica_tf_inference *c) {
    mica_tf_shape x = c->inputs[0];
    MICA_TRY(matrices(c, 0, true));
    if (x.rank < 0) return NULL;
    c->outputs[1] = x;
    if (!mica_tf_inference_int(c, "compute_v"))
        c->outputs[1] = (mica_tf_shape){.rank = 1, .dims = {0}};
    x.rank--;
    c->outputs[0] = x;
    return NULL;
}

mica_status tf_shape_lu(mica_tf_inference *c) {
    mica_tf_shape x = c->inputs[0];
    MICA_TRY(matrices(c, 0, true));
    if (x.rank < 0) return NULL;
    c->outputs[0] = x;
    x.rank--;
    c->outputs[1] = x;
    return NULL;
}

/* ---- Fourier transforms -----------------------------------------------------------------------*/

static int32_t transformed_axes(const mica_tf_inference *c) {
    return strstr(c->info->name, "3D") ? 3 : strstr(c->info->name, "2D") ? 2 : 1;
}

static mica_status check_transformed(const mica_tf_inference *c) {
    const mica_tf_shape *shape = &c->inputs[0];
    int32_t n = transformed_axes(c);
    if (shape->rank < 0 || shape->rank >= n) return NULL;
    return MICA_INVALID("[%s] Input must have rank of at least %d but got: %s", c->info->name, n,
                        mica_tf_shape_text(shape).chars);
}

mica_status tf_shape_fft(mica_tf_inference *c) {
    c->outputs[0] = c->inputs[0];
    return check_transformed(c);
}

static mica_status real_transform(mica_tf_inference *c, bool inverse) {
    mica_tf_shape shape = c->inputs[0];
    int64_t lengths[MICA_MAX_RANK * 4];
    int32_t n = transformed_axes(c), given;
    MICA_TRY(check_transformed(c));
    if (shape.rank < 0) return NULL;
    bool known = mica_tf_input_ints(c, 1, lengths, &given);
    if (known && given != n)
        return MICA_INVALID("[%s] fft_length must have shape [%d]", c->info->name, n);
    for (int32_t i = 0; i < n; i++) {
        int64_t *size = &shape.dims[shape.rank - n + i];
        bool has = known && lengths[i] != MICA_TF_UNKNOWN_INT;
        /* Of nothing as much as there is: but one number cannot be made of none. */
        int64_t least = *size == 0 && (inverse || i + 1 < n) ? 0 : 1;
        if (has && lengths[i] < least)
            return MICA_INVALID("[%s] fft_length[%d] must be positive, not %lld", c->info->name, i,
                                (long long)lengths[i]);
        *size = !has ? -1 : i + 1 == n && !inverse ? lengths[i] / 2 + 1 : lengths[i];
    }
    c->outputs[0] = shape;
    return NULL;
}

mica_status tf_shape_rfft(mica_tf_inference *c) {
    return real_transform(c, false);
}

mica_status tf_shape_irfft(mica_tf_inference *c) {
    return real_transform(c, true);
}
