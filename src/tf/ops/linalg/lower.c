/* Lowerings of linear algebra and Fourier transforms. */
#include <string.h>

#include "mica/nn.h"
#include "tf/lower_rules.h"

static mica_value transposed(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    int64_t axes[MICA_MAX_RANK];
    if (!type) return MICA_NULL_VALUE;
    for (int32_t i = 0; i < type->rank; i++) axes[i] = i;
    axes[type->rank - 1] = type->rank - 2;
    axes[type->rank - 2] = type->rank - 1;
    return mica_transpose(g, x, (mica_ints){axes, type->rank});
}

static bool is_complex(mica_dtype dtype) {
    return mica_dtype_kind_of(dtype) == MICA_KIND_COMPLEX;
}

static mica_value adjoint(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    mica_value turned = transposed(g, x);
    return type && is_complex(type->dtype) ? mica_conj(g, turned) : turned;
}

/* Real numbers of which TensorFlow says that they are of the operand's dtype. */
static mica_value as_dtype(mica_graph *g, mica_value x, mica_dtype dtype) {
    return is_complex(dtype) ? mica_convert(g, x, dtype) : x;
}

/* Row minus column of the matrices of a shape. */
static mica_value below_diagonal(mica_graph *g, const mica_type *type) {
    mica_ints dims = {type->dims, type->rank};
    return mica_sub(g, mica_iota(g, dims, type->rank - 2, MICA_DTYPE_i32),
                    mica_iota(g, dims, type->rank - 1, MICA_DTYPE_i32));
}

static mica_value identity_like(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    mica_value below = below_diagonal(g, type);
    return mica_select(g, mica_compare(g, below, mica_zeros_like(g, below), "eq"),
                       mica_full_like(g, x, 1.0), mica_zeros_like(g, x));
}

/* The diagonals of square matrices. */
static mica_value diagonal(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    if (!type) return MICA_NULL_VALUE;
    int32_t rank = type->rank;
    mica_value kept = mica_mul(g, x, identity_like(g, x));
    return mica_reduce(g, kept, "sum", MICA_INTS(rank - 1));
}

/* The lower triangle is read; the gradient is symmetric, as TensorFlow's is. */
void tf_lower_cholesky(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_value x = c->inputs[0], half = mica_full_like(g, x, 0.5);
    mica_value symmetric = mica_mul(g, mica_add(g, x, adjoint(g, x)), half);
    mica_value rest = mica_nn_stop_gradient(g, mica_sub(g, x, symmetric));
    c->outputs[0] = mica_cholesky(g, mica_add(g, symmetric, rest));
}

/* Solves with L U: rows exchanged, then two triangular systems. */
static mica_value solve(mica_graph *g, mica_value a, mica_value y) {
    mica_value parts[3];
    const mica_type *type = mica_value_type(a), *right = mica_value_type(y);
    if (!type || !right) return MICA_NULL_VALUE;
    int32_t rank = type->rank;
    mica_lu(g, a, parts);
    /* P as a matrix: row i has its 1 in column permutation[i]. */
    mica_type square = *type;
    int64_t axes[MICA_MAX_RANK];
    for (int32_t i = 0; i < rank - 1; i++) axes[i] = i;
    mica_ints dims = {square.dims, rank};
    mica_value order = mica_broadcast(g, parts[2], dims, (mica_ints){axes, rank - 1});
    mica_value places = mica_iota(g, dims, rank - 1, MICA_DTYPE_i32);
    mica_value permutation = mica_convert(g, mica_compare(g, order, places, "eq"), square.dtype);
    mica_value moved = mica_matmul(g, permutation, y);
    mica_value half = mica_triangular_solve(g, parts[0], moved, 1, 1, 0, 1);
    return mica_triangular_solve(g, parts[0], half, 1, 0, 0, 0);
}

/* Both operands with the batch of the result. */
static bool same_batches(mica_tf_lowering *c, mica_value out[2]) {
    mica_tf_shape shape;
    if (!mica_tf_result_dims(c, &shape)) return false;
    for (int32_t i = 0; i < 2; i++) {
        mica_type type = *mica_tf_type(c, i);
        mica_tf_shape wide = shape;
        wide.dims[shape.rank - 2] = type.dims[type.rank - 2];
        wide.dims[shape.rank - 1] = type.dims[type.rank - 1];
        out[i] = mica_broadcast_to(c->g, c->inputs[i], (mica_ints){wide.dims, wide.rank});
    }
    return true;
}

void tf_lower_matrix_solve(mica_tf_lowering *c) {
    mica_value v[2];
    if (!same_batches(c, v)) return;
    if (mica_tf_lowering_int(c, "adjoint")) v[0] = adjoint(c->g, v[0]);
    c->outputs[0] = solve(c->g, v[0], v[1]);
}

void tf_lower_triangular_solve(mica_tf_lowering *c) {
    mica_value v[2];
    bool turned = mica_tf_lowering_int(c, "adjoint") != 0;
    if (!same_batches(c, v)) return;
    if (turned && is_complex(mica_tf_type(c, 0)->dtype)) v[0] = mica_conj(c->g, v[0]);
    c->outputs[0] =
        mica_triangular_solve(c->g, v[0], v[1], 1, mica_tf_lowering_int(c, "lower"), turned, 0);
}

void tf_lower_matrix_inverse(mica_tf_lowering *c) {
    mica_value x = c->inputs[0];
    if (mica_tf_lowering_int(c, "adjoint")) x = adjoint(c->g, x);
    c->outputs[0] = solve(c->g, x, identity_like(c->g, x));
}

/* The sign of the rows' exchanges: -1 for each pivot that is not in its place. */
static mica_value sign_of_exchanges(mica_graph *g, mica_value pivots, mica_dtype dtype) {
    const mica_type *type = mica_value_type(pivots);
    if (!type) return MICA_NULL_VALUE;
    int32_t last = type->rank - 1;
    mica_value places = mica_iota(g, (mica_ints){type->dims, type->rank}, last, type->dtype);
    mica_value moved = mica_convert(g, mica_compare(g, pivots, places, "ne"), dtype);
    mica_value factor = mica_sub(g, mica_full_like(g, moved, 1.0), mica_add(g, moved, moved));
    return mica_reduce(g, factor, "prod", MICA_INTS(last));
}

void tf_lower_determinant(mica_tf_lowering *c) {
    mica_type type = *mica_tf_type(c, 0);
    mica_value parts[3];
    mica_lu(c->g, c->inputs[0], parts);
    mica_value product =
        mica_reduce(c->g, diagonal(c->g, parts[0]), "prod", MICA_INTS(type.rank - 2));
    c->outputs[0] = mica_mul(c->g, product, sign_of_exchanges(c->g, parts[1], type.dtype));
}

void tf_lower_log_determinant(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_type type = *mica_tf_type(c, 0);
    mica_value parts[3];
    mica_lu(g, c->inputs[0], parts);
    mica_value pivots = diagonal(g, parts[0]);
    mica_value sign = mica_reduce(g, mica_sign(g, pivots), "prod", MICA_INTS(type.rank - 2));
    c->outputs[0] = mica_mul(g, sign, sign_of_exchanges(g, parts[1], type.dtype));
    mica_value logs = mica_log(g, mica_abs(g, pivots));
    c->outputs[1] = as_dtype(g, mica_reduce(g, logs, "sum", MICA_INTS(type.rank - 2)), type.dtype);
}

void tf_lower_qr(mica_tf_lowering *c) {
    mica_qr(c->g, c->inputs[0], mica_tf_lowering_int(c, "full_matrices"), c->outputs);
}

static mica_value nothing(mica_graph *g, mica_dtype dtype) {
    mica_type type = mica_type_make(dtype, MICA_INTS(0));
    return mica_constant(g, (mica_data){&type, ""});
}

void tf_lower_svd(mica_tf_lowering *c) {
    mica_dtype dtype = mica_tf_type(c, 0)->dtype;
    mica_value parts[3];
    bool vectors = mica_tf_lowering_int(c, "compute_uv") != 0;
    mica_svd(c->g, c->inputs[0], vectors && mica_tf_lowering_int(c, "full_matrices"), parts);
    c->outputs[0] = as_dtype(c->g, parts[1], dtype);
    c->outputs[1] = vectors ? parts[0] : nothing(c->g, dtype);
    c->outputs[2] = vectors ? adjoint(c->g, parts[2]) : nothing(c->g, dtype);
}

void tf_lower_eigh(mica_tf_lowering *c) {
    mica_dtype dtype = mica_tf_type(c, 0)->dtype;
    mica_eigh(c->g, c->inputs[0], c->outputs);
    c->outputs[0] = as_dtype(c->g, c->outputs[0], dtype);
    if (!mica_tf_lowering_int(c, "compute_v")) c->outputs[1] = nothing(c->g, dtype);
}

void tf_lower_eig(mica_tf_lowering *c) {
    mica_eig(c->g, c->inputs[0], c->outputs);
    const mica_type *type = mica_value_type(c->outputs[0]);
    if (type && !mica_tf_lowering_int(c, "compute_v")) c->outputs[1] = nothing(c->g, type->dtype);
}

void tf_lower_lu(mica_tf_lowering *c) {
    mica_value parts[3];
    mica_lu(c->g, c->inputs[0], parts);
    c->outputs[0] = parts[0];
    mica_dtype dtype =
        mica_tf_dtype_core((mica_tf_dtype)mica_tf_lowering_int(c, "output_idx_type"));
    c->outputs[1] = dtype == MICA_DTYPE_i32 ? parts[2] : mica_convert(c->g, parts[2], dtype);
}

/* ---- Fourier transforms -----------------------------------------------------------------------*/

static bool is_empty(const mica_type *type) {
    for (int32_t i = 0; i < type->rank; i++)
        if (type->dims[i] == 0) return true;
    return false;
}

static void transform(mica_tf_lowering *c, const char *kind, int32_t n) {
    mica_type type = *mica_tf_type(c, 0);
    if (type.rank < n) {
        MICA_TF_FAIL(c, "[%s] Input must have rank of at least %d", c->info->name, n);
        return;
    }
    if (is_empty(&type)) { /* also where a length is 0 */
        c->outputs[0] = mica_zeros_like(c->g, c->inputs[0]);
        return;
    }
    c->outputs[0] = mica_fft(c->g, c->inputs[0], kind, (mica_ints){type.dims + type.rank - n, n});
}

void tf_lower_fft1(mica_tf_lowering *c) {
    transform(c, "fft", 1);
}

void tf_lower_ifft1(mica_tf_lowering *c) {
    transform(c, "ifft", 1);
}

void tf_lower_fft2(mica_tf_lowering *c) {
    transform(c, "fft", 2);
}

void tf_lower_ifft2(mica_tf_lowering *c) {
    transform(c, "ifft", 2);
}

void tf_lower_fft3(mica_tf_lowering *c) {
    transform(c, "fft", 3);
}

void tf_lower_ifft3(mica_tf_lowering *c) {
    transform(c, "ifft", 3);
}

/* x cut or filled up with zeros so that its last n axes have these sizes. */
static mica_value fit(mica_graph *g, mica_value x, const int64_t *sizes, int32_t n) {
    if (mica_value_is_null(x)) return MICA_NULL_VALUE;
    mica_type type = *mica_value_type(x);
    int64_t low[MICA_MAX_RANK] = {0}, high[MICA_MAX_RANK] = {0}, interior[MICA_MAX_RANK] = {0};
    for (int32_t i = 0; i < n; i++)
        high[type.rank - n + i] = sizes[i] - type.dims[type.rank - n + i];
    return mica_pad(g, x, mica_scalar(g, type.dtype, 0), (mica_ints){low, type.rank},
                    (mica_ints){high, type.rank}, (mica_ints){interior, type.rank});
}

/* Whether the result has no elements: then it is made here. */
static bool empty_result(mica_tf_lowering *c, const char *dtype) {
    mica_tf_shape shape;
    if (!mica_tf_result_dims(c, &shape)) return true;
    mica_ints dims = {shape.dims, shape.rank};
    mica_type type =
        mica_type_make(mica_tf_dtype_core((mica_tf_dtype)mica_tf_lowering_int(c, dtype)), dims);
    if (!is_empty(&type)) return false;
    mica_value zero = mica_scalar(c->g, type.dtype, 0);
    c->outputs[0] = mica_broadcast_to(c->g, zero, dims);
    return true;
}

void tf_lower_rfft(mica_tf_lowering *c) {
    int64_t lengths[MICA_MAX_RANK * 4];
    int32_t n;
    if (!mica_tf_constant_ints(c, 1, lengths, &n) || empty_result(c, "Tcomplex")) return;
    c->outputs[0] =
        mica_fft(c->g, fit(c->g, c->inputs[0], lengths, n), "rfft", (mica_ints){lengths, n});
}

void tf_lower_irfft(mica_tf_lowering *c) {
    int64_t lengths[MICA_MAX_RANK * 4], sizes[MICA_MAX_RANK * 4];
    int32_t n;
    if (!mica_tf_constant_ints(c, 1, lengths, &n) || empty_result(c, "Treal")) return;
    memcpy(sizes, lengths, sizeof *sizes * (size_t)n);
    sizes[n - 1] = lengths[n - 1] / 2 + 1;
    c->outputs[0] =
        mica_fft(c->g, fit(c->g, c->inputs[0], sizes, n), "irfft", (mica_ints){lengths, n});
}
