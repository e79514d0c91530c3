/* Shape functions of sparse tensors. */
#include "tf/ops/sparse/sparse.h"

#include "tf/shape_rules.h"

/* ---- operands ---------------------------------------------------------------------------------*/

static mica_status check_rank(const mica_tf_inference *c, int32_t i, int32_t rank) {
    if (c->inputs[i].rank < 0 || c->inputs[i].rank == rank) return NULL;
    return MICA_INVALID("[%s] Shape must be rank %d but is rank %d: input %d has shape %s",
                        c->info->name, rank, c->inputs[i].rank, i,
                        mica_tf_shape_text(&c->inputs[i]).chars);
}

static int64_t size_of(const mica_tf_inference *c, int32_t i, int32_t axis) {
    return c->inputs[i].rank > axis ? c->inputs[i].dims[axis] : -1;
}

/* What both say of a size. */
static mica_status same_size(const mica_tf_inference *c, int64_t a, int64_t b, const char *what,
                             int64_t *out) {
    *out = a < 0 ? b : a;
    if (a < 0 || b < 0 || a == b) return NULL;
    return MICA_INVALID("[%s] Dimensions must be equal, but are %lld and %lld: %s", c->info->name,
                        (long long)a, (long long)b, what);
}

typedef struct operand {
    int64_t n, rank; /* -1: unknown */
} operand;

/* A sparse operand: places, values (-1: none), sizes. */
static mica_status sparse_operand(const mica_tf_inference *c, int32_t indices, int32_t values,
                                  int32_t shape, operand *out) {
    MICA_TRY(check_rank(c, indices, 2));
    MICA_TRY(check_rank(c, shape, 1));
    out->n = size_of(c, indices, 0);
    if (values >= 0) {
        MICA_TRY(check_rank(c, values, 1));
        MICA_TRY(same_size(c, out->n, size_of(c, values, 0), "as many values as places", &out->n));
    }
    MICA_TRY(same_size(c, size_of(c, indices, 1), size_of(c, shape, 0),
                       "a place has a number for each size", &out->rank));
    if (out->rank > TF_SPARSE_MOST_AXES)
        return MICA_INVALID("[%s] a sparse tensor has at most %d axes, not %lld", c->info->name,
                            TF_SPARSE_MOST_AXES, (long long)out->rank);
    return NULL;
}

/* ---- results ----------------------------------------------------------------------------------*/

static void give_sparse(mica_tf_inference *c, int32_t first, int64_t n, int64_t rank) {
    c->outputs[first] = (mica_tf_shape){.rank = 2, .dims = {n, rank}};
    c->outputs[first + 1] = (mica_tf_shape){.rank = 1, .dims = {n}};
    if (first + 2 < c->n_outputs)
        c->outputs[first + 2] = (mica_tf_shape){.rank = 1, .dims = {rank}};
}

/* The shape that an operand of sizes says, as far as it is known. */
static mica_status shape_from(const mica_tf_inference *c, int32_t i, int64_t rank,
                              mica_tf_shape *out) {
    int64_t sizes[MICA_TF_MOST_KNOWN];
    int32_t n;
    if (rank > MICA_MAX_RANK)
        return MICA_INVALID("[%s] a dense tensor has at most %d axes, not %lld", c->info->name,
                            MICA_MAX_RANK, (long long)rank);
    *out = rank < 0 ? mica_tf_unknown() : mica_tf_unknown_of_rank((int32_t)rank);
    if (rank < 0 || !mica_tf_input_ints(c, i, sizes, &n) || n != rank) return NULL;
    for (int32_t k = 0; k < n; k++) {
        out->dims[k] = sizes[k] == MICA_TF_UNKNOWN_INT ? -1 : sizes[k];
        if (sizes[k] != MICA_TF_UNKNOWN_INT && sizes[k] < 0)
            return MICA_INVALID("[%s] size %d of the dense shape is %lld; it must be >= 0",
                                c->info->name, k, (long long)sizes[k]);
    }
    return NULL;
}

/* ---- ops --------------------------------------------------------------------------------------*/

mica_status tf_shape_sparse_reorder(mica_tf_inference *c) {
    operand x;
    MICA_TRY(sparse_operand(c, 0, 1, 2, &x));
    give_sparse(c, 0, x.n, x.rank);
    return NULL;
}

mica_status tf_shape_sparse_reshape(mica_tf_inference *c) {
    operand x;
    MICA_TRY(sparse_operand(c, 0, -1, 1, &x));
    MICA_TRY(check_rank(c, 2, 1));
    c->outputs[0] = (mica_tf_shape){.rank = 2, .dims = {x.n, size_of(c, 2, 0)}};
    c->outputs[1] = (mica_tf_shape){.rank = 1, .dims = {size_of(c, 2, 0)}};
    if (size_of(c, 2, 0) > TF_SPARSE_MOST_AXES)
        return MICA_INVALID("[SparseReshape] a sparse tensor has at most %d axes, not %lld",
                            TF_SPARSE_MOST_AXES, (long long)size_of(c, 2, 0));
    return NULL;
}

mica_status tf_shape_sparse_concat(mica_tf_inference *c) {
    int32_t n = c->n_inputs / 3;
    int64_t rank = -1, all = 0, axis = mica_tf_inference_int(c, "concat_dim");
    if (n < 2)
        return MICA_INVALID("[SparseConcat] N is %d; at least 2 sparse tensors are needed", n);
    for (int32_t i = 0; i < n; i++) {
        operand x;
        MICA_TRY(sparse_operand(c, i, n + i, 2 * n + i, &x));
        MICA_TRY(same_size(c, rank, x.rank, "Ranks of all input tensors must match", &rank));
        all = all < 0 || x.n < 0 ? -1 : mica_tf_plus(all, x.n);
    }
    if (rank >= 0 && (axis < -rank || axis >= rank))
        return MICA_INVALID("[SparseConcat] Concat dimension must be in range [%lld, %lld), got "
                            "%lld",
                            (long long)-rank, (long long)rank, (long long)axis);
    give_sparse(c, 0, all, rank);
    return NULL;
}

mica_status tf_shape_sparse_split(mica_tf_inference *c) {
    operand x;
    int32_t n = c->n_outputs / 3;
    MICA_TRY(check_rank(c, 0, 0));
    MICA_TRY(sparse_operand(c, 1, 2, 3, &x));
    if (n < 1) return MICA_INVALID("[SparseSplit] num_split must be at least 1");
    for (int32_t i = 0; i < n; i++) {
        c->outputs[i] = (mica_tf_shape){.rank = 2, .dims = {-1, x.rank}};
        c->outputs[n + i] = mica_tf_unknown_of_rank(1);
        c->outputs[2 * n + i] = (mica_tf_shape){.rank = 1, .dims = {x.rank}};
    }
    return NULL;
}

mica_status tf_shape_sparse_slice(mica_tf_inference *c) {
    operand x;
    MICA_TRY(sparse_operand(c, 0, 1, 2, &x));
    for (int32_t i = 3; i < 5; i++) {
        MICA_TRY(check_rank(c, i, 1));
        MICA_TRY(same_size(c, x.rank, size_of(c, i, 0),
                           "start and size have a number for each axis", &x.rank));
    }
    give_sparse(c, 0, -1, x.rank);
    return NULL;
}

mica_status tf_shape_sparse_slice_grad(mica_tf_inference *c) {
    int64_t rank, n;
    MICA_TRY(check_rank(c, 0, 1));
    MICA_TRY(check_rank(c, 1, 2));
    MICA_TRY(check_rank(c, 2, 1));
    MICA_TRY(check_rank(c, 3, 2));
    MICA_TRY(same_size(c, size_of(c, 1, 1), size_of(c, 2, 0), "a start for each axis", &rank));
    MICA_TRY(same_size(c, rank, size_of(c, 3, 1), "places of one rank", &rank));
    MICA_TRY(same_size(c, size_of(c, 0, 0), size_of(c, 3, 0), "a gradient for each place", &n));
    c->outputs[0] = (mica_tf_shape){.rank = 1, .dims = {size_of(c, 1, 0)}};
    return NULL;
}

static mica_status two_operands(const mica_tf_inference *c, int64_t *out_rank) {
    operand a, b;
    MICA_TRY(sparse_operand(c, 0, 1, 2, &a));
    MICA_TRY(sparse_operand(c, 3, 4, 5, &b));
    return same_size(c, a.rank, b.rank, "Operands do not have the same ranks", out_rank);
}

mica_status tf_shape_sparse_add(mica_tf_inference *c) {
    int64_t rank;
    MICA_TRY(two_operands(c, &rank));
    MICA_TRY(check_rank(c, 6, 0));
    give_sparse(c, 0, -1, rank);
    return NULL;
}

mica_status tf_shape_sparse_union(mica_tf_inference *c) {
    int64_t rank;
    MICA_TRY(two_operands(c, &rank));
    give_sparse(c, 0, -1, rank);
    return NULL;
}

mica_status tf_shape_sparse_add_grad(mica_tf_inference *c) {
    int64_t rank, n;
    MICA_TRY(check_rank(c, 0, 1));
    for (int32_t i = 1; i < 4; i++) MICA_TRY(check_rank(c, i, 2));
    MICA_TRY(same_size(c, size_of(c, 1, 1), size_of(c, 2, 1), "places of one rank", &rank));
    MICA_TRY(same_size(c, rank, size_of(c, 3, 1), "places of one rank", &rank));
    MICA_TRY(same_size(c, size_of(c, 0, 0), size_of(c, 3, 0),
                       "# elements in backprop_val_grad and "
                       "rows in sum_indices should match",
                       &n));
    c->outputs[0] = (mica_tf_shape){.rank = 1, .dims = {size_of(c, 1, 0)}};
    c->outputs[1] = (mica_tf_shape){.rank = 1, .dims = {size_of(c, 2, 0)}};
    return NULL;
}

mica_status tf_shape_sparse_fill(mica_tf_inference *c) {
    operand x;
    mica_tf_shape whole;
    MICA_TRY(sparse_operand(c, 0, 1, 2, &x));
    MICA_TRY(check_rank(c, 3, 0));
    if (x.rank == 0) return MICA_INVALID("[SparseFillEmptyRows] Dense shape cannot be empty");
    give_sparse(c, 0, -1, x.rank);
    c->outputs[2] = mica_tf_unknown_of_rank(1);
    if (x.rank > 0 && x.rank <= MICA_MAX_RANK) {
        MICA_TRY(shape_from(c, 2, x.rank, &whole));
        c->outputs[2].dims[0] = whole.dims[0];
    }
    c->outputs[3] = (mica_tf_shape){.rank = 1, .dims = {x.n}};
    return NULL;
}

mica_status tf_shape_sparse_fill_grad(mica_tf_inference *c) {
    MICA_TRY(check_rank(c, 0, 1));
    MICA_TRY(check_rank(c, 1, 1));
    c->outputs[0] = (mica_tf_shape){.rank = 1, .dims = {size_of(c, 0, 0)}};
    c->outputs[1] = (mica_tf_shape){.rank = 0};
    return NULL;
}

mica_status tf_shape_sparse_to_dense(mica_tf_inference *c) {
    int64_t rank = size_of(c, 1, 0), n;
    const mica_tf_shape *places = &c->inputs[0];
    MICA_TRY(check_rank(c, 1, 1));
    MICA_TRY(check_rank(c, 3, 0));
    if (places->rank > 2)
        return MICA_INVALID("[SparseToDense] sparse_indices should be a scalar, vector, or matrix, "
                            "got shape %s",
                            mica_tf_shape_text(places).chars);
    if (c->inputs[2].rank > 1)
        return MICA_INVALID("[SparseToDense] sparse_values has incorrect shape %s, should be [] or "
                            "[n]",
                            mica_tf_shape_text(&c->inputs[2]).chars);
    if (places->rank == 2)
        MICA_TRY(same_size(c, rank, places->dims[1],
                           "output_shape has a size for each number of a "
                           "place",
                           &rank));
    else if (places->rank >= 0)
        MICA_TRY(same_size(c, rank, 1, "output_shape has one size", &rank));
    if (places->rank >= 0 && c->inputs[2].rank == 1)
        MICA_TRY(same_size(c, places->rank ? places->dims[0] : 1, c->inputs[2].dims[0],
                           "as many values as places", &n));
    return shape_from(c, 1, rank, &c->outputs[0]);
}

/* The sizes that are left when axes are reduced. */
static void reduce_shape(mica_tf_shape *shape, const int64_t *axes, int32_t n, bool keeps) {
    bool gone[MICA_MAX_RANK] = {false};
    for (int32_t i = 0; i < n; i++) gone[axes[i] < 0 ? axes[i] + shape->rank : axes[i]] = true;
    int32_t left = 0;
    for (int32_t i = 0; i < shape->rank; i++) {
        if (gone[i] && !keeps) continue;
        shape->dims[left++] = gone[i] ? 1 : shape->dims[i];
    }
    shape->rank = left;
}

static mica_status known_axes(const mica_tf_inference *c, int64_t rank, int64_t *axes, int32_t *n,
                              bool *out_known) {
    *out_known = mica_tf_input_known(c, 3, axes, n);
    for (int32_t i = 0; *out_known && rank >= 0 && i < *n; i++)
        if (axes[i] < -rank || axes[i] >= rank)
            return MICA_INVALID("[%s] Invalid reduction dimension %lld, for input with %lld "
                                "dimensions.",
                                c->info->name, (long long)axes[i], (long long)rank);
    return NULL;
}

static mica_status check_axes(const mica_tf_inference *c) {
    if (c->inputs[3].rank <= 1) return NULL;
    return MICA_INVALID("[%s] Expected reduction axes to be a scalar or vector, not of shape %s",
                        c->info->name, mica_tf_shape_text(&c->inputs[3]).chars);
}

mica_status tf_shape_sparse_reduce(mica_tf_inference *c) {
    operand x;
    int64_t axes[MICA_TF_MOST_KNOWN];
    int32_t n;
    bool known;
    mica_tf_shape whole;
    MICA_TRY(sparse_operand(c, 0, 1, 2, &x));
    MICA_TRY(check_axes(c));
    MICA_TRY(shape_from(c, 2, x.rank, &whole));
    MICA_TRY(known_axes(c, x.rank, axes, &n, &known));
    bool keeps = mica_tf_inference_int(c, "keep_dims") != 0;
    if (!known || whole.rank < 0) {
        if (keeps && whole.rank >= 0) c->outputs[0] = mica_tf_unknown_of_rank(whole.rank);
        return NULL;
    }
    reduce_shape(&whole, axes, n, keeps);
    c->outputs[0] = whole;
    return NULL;
}

mica_status tf_shape_sparse_reduce_sparse(mica_tf_inference *c) {
    operand x;
    int64_t axes[MICA_TF_MOST_KNOWN];
    int32_t n;
    bool known;
    MICA_TRY(sparse_operand(c, 0, 1, 2, &x));
    MICA_TRY(check_axes(c));
    MICA_TRY(known_axes(c, x.rank, axes, &n, &known));
    give_sparse(c, 0, -1, mica_tf_inference_int(c, "keep_dims") ? x.rank : -1);
    return NULL;
}

mica_status tf_shape_sparse_softmax(mica_tf_inference *c) {
    operand x;
    MICA_TRY(sparse_operand(c, 0, 1, 2, &x));
    if (x.rank >= 0 && x.rank < 2)
        return MICA_INVALID("[SparseSoftmax] Input should have rank >= 2, but got: %lld",
                            (long long)x.rank);
    c->outputs[0] = (mica_tf_shape){.rank = 1, .dims = {x.n}};
    return NULL;
}

mica_status tf_shape_sparse_matmul(mica_tf_inference *c) {
    operand a;
    mica_tf_shape sizes;
    MICA_TRY(sparse_operand(c, 0, 1, 2, &a));
    if (a.rank >= 0 && a.rank != 2)
        return MICA_INVALID("[SparseTensorDenseMatMul] Tensor 'a_shape' must have 2 elements, not "
                            "%lld",
                            (long long)a.rank);
    if (c->inputs[3].rank >= 0 && c->inputs[3].rank != 2)
        return MICA_INVALID("[SparseTensorDenseMatMul] Tensor 'b' is not a matrix: it has shape %s",
                            mica_tf_shape_text(&c->inputs[3]).chars);
    MICA_TRY(shape_from(c, 2, 2, &sizes));
    bool adjoint_a = mica_tf_inference_int(c, "adjoint_a") != 0;
    bool adjoint_b = mica_tf_inference_int(c, "adjoint_b") != 0;
    int64_t outer = size_of(c, 3, !adjoint_b), inner = size_of(c, 3, adjoint_b);
    int64_t left = sizes.dims[!adjoint_a];
    if (left >= 0 && inner >= 0 && left != inner)
        return MICA_INVALID("[SparseTensorDenseMatMul] Cannot multiply A and B because inner "
                            "dimension does not match: %lld vs. %lld.  Did you forget a transpose?"
                            "  Dimensions of A: [%lld, %lld).  Dimensions of B: %s",
                            (long long)left, (long long)inner, (long long)sizes.dims[0],
                            (long long)sizes.dims[1], mica_tf_shape_text(&c->inputs[3]).chars);
    c->outputs[0] = (mica_tf_shape){.rank = 2, .dims = {sizes.dims[adjoint_a], outer}};
    return NULL;
}

mica_status tf_shape_sparse_dense_add(mica_tf_inference *c) {
    operand a;
    mica_tf_shape sizes;
    MICA_TRY(sparse_operand(c, 0, 1, 2, &a));
    if (a.rank >= 0 && c->inputs[3].rank >= 0 && a.rank != c->inputs[3].rank)
        return MICA_INVALID("[SparseTensorDenseAdd] Two operands have different ndims; received "
                            "sparse %lld and dense %d",
                            (long long)a.rank, c->inputs[3].rank);
    MICA_TRY(shape_from(c, 2, a.rank, &sizes));
    if (mica_tf_shape_merge(&sizes, &c->inputs[3], &c->outputs[0])) return NULL;
    return MICA_INVALID("[SparseTensorDenseAdd] Shapes of the operands do not match (no "
                        "broadcasting is supported): %s and %s",
                        mica_tf_shape_text(&sizes).chars, mica_tf_shape_text(&c->inputs[3]).chars);
}

mica_status tf_shape_sparse_cwise(mica_tf_inference *c) {
    operand x;
    mica_tf_shape sizes;
    MICA_TRY(sparse_operand(c, 0, 1, 2, &x));
    MICA_TRY(shape_from(c, 2, x.rank, &sizes));
    c->outputs[0] = (mica_tf_shape){.rank = 1, .dims = {x.n}};
    const mica_tf_shape *dense = &c->inputs[3];
    bool fits = sizes.rank < 0 || dense->rank <= sizes.rank;
    for (int32_t i = 1; fits && sizes.rank >= 0 && i <= dense->rank; i++) {
        int64_t whole = sizes.dims[sizes.rank - i], given = dense->dims[dense->rank - i];
        fits = whole < 0 || given < 0 || given == whole || given == 1;
    }
    if (fits) return NULL;
    return MICA_INVALID("[%s] SparseDenseBinaryOpShared broadcasts dense to sparse only; got "
                        "incompatible shapes: %s vs. %s",
                        c->info->name, mica_tf_shape_text(&sizes).chars,
                        mica_tf_shape_text(dense).chars);
}

/* ---- segments ---------------------------------------------------------------------------------*/

static mica_status segment_operands(const mica_tf_inference *c) {
    int64_t n;
    if (c->inputs[0].rank == 0)
        return MICA_INVALID("[%s] Shape must be at least rank 1 but is rank 0", c->info->name);
    MICA_TRY(check_rank(c, 1, 1));
    MICA_TRY(check_rank(c, 2, 1));
    return same_size(c, size_of(c, 1, 0), size_of(c, 2, 0),
                     "segment_ids and indices should have same size.", &n);
}

mica_status tf_shape_sparse_segment(mica_tf_inference *c) {
    int64_t n = -1;
    bool known = false;
    MICA_TRY(segment_operands(c));
    if (mica_tf_inference_int(c, "sparse_gradient"))
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[%s] sparse_gradient: gradients of segments are dense here; leave it "
                          "False",
                          c->info->name);
    if (c->n_inputs > 3) {
        MICA_TRY(check_rank(c, 3, 0));
        MICA_TRY(mica_tf_input_number(c, 3, &n, &known));
        if (known && n < 0)
            return MICA_INVALID("[%s] segment ids must be >= 0: num_segments is %lld",
                                c->info->name, (long long)n);
    }
    if (c->inputs[0].rank < 0) return NULL;
    c->outputs[0] = c->inputs[0];
    c->outputs[0].dims[0] = known ? n : -1;
    return NULL;
}

mica_status tf_shape_sparse_segment_grad(mica_tf_inference *c) {
    int64_t n = -1;
    bool known = false;
    MICA_TRY(segment_operands(c));
    MICA_TRY(check_rank(c, 3, 0));
    MICA_TRY(mica_tf_input_number(c, 3, &n, &known));
    if (known && n < 0)
        return MICA_INVALID("[%s] output_dim0 is %lld; it must be >= 0", c->info->name,
                            (long long)n);
    if (c->inputs[0].rank < 0) return NULL;
    c->outputs[0] = c->inputs[0];
    c->outputs[0].dims[0] = known ? n : -1;
    return NULL;
}

/* ---- counts, sets, crosses, messages ----------------------------------------------------------*/

/* Of a sparse tensor, or of rows of different lengths. */
mica_status tf_shape_row_counts(mica_tf_inference *c) {
    int32_t size = c->n_inputs - 2;
    int64_t n = -1, rows = -1, rank = 2;
    bool known = false;
    operand x;
    MICA_TRY(check_rank(c, size, 0));
    MICA_TRY(mica_tf_input_number(c, size, &n, &known));
    if (known && n < 0)
        return MICA_INVALID("[%s] size (%lld) must be non-negative", c->info->name, (long long)n);
    if (c->n_inputs == 5) {
        MICA_TRY(sparse_operand(c, 0, 1, 2, &x));
        rank = x.rank;
    } else {
        MICA_TRY(check_rank(c, 0, 1));
        MICA_TRY(check_rank(c, 1, 1));
        rows = size_of(c, 0, 0) > 0 ? size_of(c, 0, 0) - 1 : -1;
    }
    if (rank > 2)
        return MICA_INVALID("[%s] Shape must be at most rank 2 but is rank %lld", c->info->name,
                            (long long)rank);
    if (rank < 0) return NULL;
    c->outputs[0] = (mica_tf_shape){.rank = 1, .dims = {known ? n : -1}};
    if (rank == 2) c->outputs[0] = (mica_tf_shape){.rank = 2, .dims = {rows, known ? n : -1}};
    return NULL;
}

mica_status tf_shape_count(mica_tf_inference *c) {
    operand x;
    int64_t rank = -1;
    if (c->n_inputs == 4) {
        MICA_TRY(sparse_operand(c, 0, 1, 2, &x));
        rank = x.rank;
    } else if (c->n_inputs == 3) {
        MICA_TRY(check_rank(c, 0, 1));
        MICA_TRY(check_rank(c, 1, 1));
        rank = 2;
    } else {
        rank = c->inputs[0].rank;
    }
    if (rank == 0 || rank > 2)
        return MICA_INVALID("[%s] Input must be a 1 or 2-dimensional tensor. Got: %lld",
                            c->info->name, (long long)rank);
    give_sparse(c, 0, -1, rank);
    return NULL;
}

mica_status tf_shape_set_operation(mica_tf_inference *c) {
    operand a = {-1, c->inputs[0].rank}, b = {-1, -1};
    int64_t rank;
    if (c->n_inputs == 6)
        MICA_TRY(sparse_operand(c, 0, 1, 2, &a));
    else if (a.rank >= 0 && a.rank < 2)
        return MICA_INVALID("[%s] Input 0 must have at least 2 dimensions, not shape %s",
                            c->info->name, mica_tf_shape_text(&c->inputs[0]).chars);
    if (c->n_inputs == 2)
        b.rank = c->inputs[1].rank;
    else
        MICA_TRY(sparse_operand(c, c->n_inputs - 3, c->n_inputs - 2, c->n_inputs - 1, &b));
    MICA_TRY(same_size(c, a.rank, b.rank, "ranks of the sets", &rank));
    if (rank >= 0 && rank < 2)
        return MICA_INVALID("[%s] Input rank must be >= 2, but is %lld", c->info->name,
                            (long long)rank);
    give_sparse(c, 0, -1, rank);
    return NULL;
}

mica_status tf_shape_set_size(mica_tf_inference *c) {
    operand x;
    mica_tf_shape sizes;
    MICA_TRY(sparse_operand(c, 0, 1, 2, &x));
    if (x.rank == 0) return MICA_INVALID("[SetSize] the sets have no axis");
    MICA_TRY(shape_from(c, 2, x.rank, &sizes));
    if (sizes.rank > 0) sizes.rank--;
    c->outputs[0] = sizes;
    return NULL;
}

mica_status tf_shape_sparse_cross(mica_tf_inference *c) {
    give_sparse(c, 0, -1, 2);
    return NULL;
}

mica_status tf_shape_serialize_sparse(mica_tf_inference *c) {
    operand x;
    mica_tf_shape sizes;
    MICA_TRY(sparse_operand(c, 0, 1, 2, &x));
    if (c->info->name[9] != 'M') {
        c->outputs[0] = (mica_tf_shape){.rank = 1, .dims = {3}};
        return NULL;
    }
    if (x.rank >= 0 && x.rank < 2)
        return MICA_INVALID("[SerializeManySparse] Rank of input SparseTensor should be > 1, but "
                            "saw rank: %lld",
                            (long long)x.rank);
    c->outputs[0] = (mica_tf_shape){.rank = 2, .dims = {-1, 3}};
    if (x.rank < 0 || x.rank > MICA_MAX_RANK) return NULL;
    MICA_TRY(shape_from(c, 2, x.rank, &sizes));
    c->outputs[0].dims[0] = sizes.dims[0];
    return NULL;
}

mica_status tf_shape_deserialize_sparse(mica_tf_inference *c) {
    const mica_tf_shape *given = &c->inputs[0];
    bool many = c->info->name[11] == 'M';
    if (many) MICA_TRY(check_rank(c, 0, 2));
    if (given->rank == 0 ||
        (given->rank > 0 && given->dims[given->rank - 1] >= 0 && given->dims[given->rank - 1] != 3))
        return MICA_INVALID("[%s] Serialized sparse must have 3 as the last dimension, not shape "
                            "%s",
                            c->info->name, mica_tf_shape_text(given).chars);
    give_sparse(c, 0, -1, -1);
    return NULL;
}

mica_status tf_shape_csr_from(mica_tf_inference *c) {
    operand x;
    MICA_TRY(sparse_operand(c, 0, 1, 2, &x));
    if (x.rank >= 0 && x.rank != 2 && x.rank != 3)
        return MICA_INVALID("[SparseTensorToCSRSparseMatrix] SparseTensor must have rank 2 or 3; "
                            "but indices have rank %lld",
                            (long long)x.rank);
    c->outputs[0] = (mica_tf_shape){.rank = 0};
    return NULL;
}

mica_status tf_shape_csr_to(mica_tf_inference *c) {
    give_sparse(c, 0, -1, -1);
    return NULL;
}
