/* Derivatives of ops that stay on the host, made of other rows. What a derivative needs of the
 * results is computed again. */
#include "tf/derive_rules.h"

enum { MOST = 8 };

/* A derivative while it is made. Tensors are the walk's; those made here are released at its end.
 */
typedef struct maker {
    mica_tf_walk *w;
    const mica_tf_step *step;
    void *operands[MOST], *made[16];
    int32_t n_made;
} maker;

static mica_status begin(maker *m, mica_tf_walk *w, const mica_tf_step *step) {
    *m = (maker){.w = w, .step = step};
    for (int32_t i = 0; i < step->n_inputs && i < MOST; i++)
        MICA_TRY(w->kind->operand(w, step, i, &m->operands[i]));
    return NULL;
}

static mica_status end(maker *m, mica_status status) {
    for (int32_t i = 0; i < m->n_made && m->w->kind->release; i++) m->w->kind->release(m->made[i]);
    return status;
}

/* Runs a row; attributes that do not follow from the inputs are the defaults, or `given`. */
static mica_status run(maker *m, mica_tf_op op, const mica_tf_attr *given, void *const *inputs,
                       int32_t n, void **outputs) {
    const mica_tf_op_info *info = mica_tf_op_describe(op);
    mica_tf_attr attrs[MICA_TF_MAX_ATTRS];
    mica_tf_dtype dtypes[MOST];
    for (int32_t i = 0; i < info->n_attrs; i++) attrs[i] = given ? given[i] : info->attrs[i].value;
    for (int32_t i = 0; i < n; i++) dtypes[i] = m->w->kind->dtype(m->w, inputs[i]);
    if (!given) MICA_TRY(mica_tf_op_infer_types(op, dtypes, n, attrs));
    MICA_TRY(m->w->kind->run(m->w, op, attrs, inputs, n, outputs, info->n_outputs));
    for (int32_t i = 0; i < info->n_outputs; i++) m->made[m->n_made++] = outputs[i];
    return NULL;
}

static mica_status run_again(maker *m, void **outputs) {
    const mica_tf_operation *o = m->step->operation;
    return run(m, o->op, o->attrs, m->operands, m->step->n_inputs, outputs);
}

static mica_status dense(maker *m, void *cotangent, void **out) {
    *out = cotangent;
    if (!m->w->kind->dense) return NULL;
    MICA_TRY(m->w->kind->dense(m->w, cotangent, out));
    m->made[m->n_made++] = *out;
    return NULL;
}

/* Whether a gradient by input i is wanted. */
static bool wants(const maker *m, int32_t i) {
    return mica_tf_walk_carries(m->w, m->step, i) &&
           m->w->kind->has_derivative(m->w->kind->input_dtype(m->w, m->step, i));
}

static mica_status add(maker *m, int32_t i, void *gradient) {
    if (!wants(m, i)) return NULL;
    if (m->w->kind->retain) m->w->kind->retain(gradient);
    return mica_tf_walk_add(m->w, m->step->inputs[i], gradient);
}

/* ---- elements ---------------------------------------------------------------------------------*/

static mica_status derive_add(maker *m, void *cotangent) {
    void *sum[3], *gradients[2], *g;
    MICA_TRY(dense(m, cotangent, &g));
    MICA_TRY(run_again(m, sum));
    void *const inputs[4] = {g, m->operands[0], m->operands[3], sum[0]};
    MICA_TRY(run(m, MICA_TF_SparseAddGrad, NULL, inputs, 4, gradients));
    MICA_TRY(add(m, 1, gradients[0]));
    return add(m, 4, gradients[1]);
}

mica_status tf_derive_sparse_add(mica_tf_walk *w, const mica_tf_step *step, void *const *given) {
    maker m;
    if (!given[1]) return NULL;
    MICA_TRY(begin(&m, w, step));
    return end(&m, derive_add(&m, given[1]));
}

static mica_status derive_slice(maker *m, void *cotangent) {
    void *part[3], *gradient, *g;
    MICA_TRY(dense(m, cotangent, &g));
    MICA_TRY(run_again(m, part));
    void *const inputs[4] = {g, m->operands[0], m->operands[3], part[0]};
    MICA_TRY(run(m, MICA_TF_SparseSliceGrad, NULL, inputs, 4, &gradient));
    return add(m, 1, gradient);
}

mica_status tf_derive_sparse_slice(mica_tf_walk *w, const mica_tf_step *step, void *const *given) {
    maker m;
    if (!given[1]) return NULL;
    MICA_TRY(begin(&m, w, step));
    return end(&m, derive_slice(&m, given[1]));
}

static mica_status derive_fill(maker *m, void *cotangent) {
    void *filled[4], *gradients[2], *g;
    MICA_TRY(dense(m, cotangent, &g));
    MICA_TRY(run_again(m, filled));
    void *const inputs[2] = {filled[3], g};
    MICA_TRY(run(m, MICA_TF_SparseFillEmptyRowsGrad, NULL, inputs, 2, gradients));
    MICA_TRY(add(m, 1, gradients[0]));
    return add(m, 3, gradients[1]);
}

mica_status tf_derive_sparse_fill(mica_tf_walk *w, const mica_tf_step *step, void *const *given) {
    maker m;
    if (!given[1]) return NULL;
    MICA_TRY(begin(&m, w, step));
    return end(&m, derive_fill(&m, given[1]));
}

/* ---- dense ------------------------------------------------------------------------------------*/

/* The sum over all axes, which are counted: the rank may not be known yet. */
static mica_status sum_all(maker *m, void *x, void **out) {
    void *rank, *bounds[3], *axes;
    MICA_TRY(run(m, MICA_TF_Rank, NULL, &x, 1, &rank));
    MICA_TRY(run(m, MICA_TF_ZerosLike, NULL, &rank, 1, &bounds[0]));
    MICA_TRY(run(m, MICA_TF_OnesLike, NULL, &rank, 1, &bounds[2]));
    bounds[1] = rank;
    MICA_TRY(run(m, MICA_TF_Range, NULL, bounds, 3, &axes));
    void *const inputs[2] = {x, axes};
    return run(m, MICA_TF_Sum, NULL, inputs, 2, out);
}

static mica_status derive_to_dense(maker *m, void *cotangent) {
    void *taken, *shape, *gradient, *sums[2], *rest, *g;
    MICA_TRY(dense(m, cotangent, &g));
    void *const places[2] = {g, m->operands[0]};
    MICA_TRY(run(m, MICA_TF_GatherNd, NULL, places, 2, &taken));
    MICA_TRY(run(m, MICA_TF_Shape, NULL, &m->operands[2], 1, &shape));
    void *const shaped[2] = {taken, shape};
    MICA_TRY(run(m, MICA_TF_Reshape, NULL, shaped, 2, &gradient));
    MICA_TRY(add(m, 2, gradient));
    if (!wants(m, 3)) return NULL;
    MICA_TRY(sum_all(m, g, &sums[0]));
    MICA_TRY(sum_all(m, taken, &sums[1]));
    MICA_TRY(run(m, MICA_TF_Sub, NULL, sums, 2, &rest));
    return add(m, 3, rest);
}

mica_status tf_derive_sparse_to_dense(mica_tf_walk *w, const mica_tf_step *step,
                                      void *const *given) {
    maker m;
    if (!given[0]) return NULL;
    MICA_TRY(begin(&m, w, step));
    return end(&m, derive_to_dense(&m, given[0]));
}

/* ---- segments ---------------------------------------------------------------------------------*/

static mica_tf_op gradient_of(mica_tf_op op) {
    switch ((int)op) {
    case MICA_TF_SparseSegmentMean:
    case MICA_TF_SparseSegmentMeanWithNumSegments: return MICA_TF_SparseSegmentMeanGrad;
    case MICA_TF_SparseSegmentSqrtN:
    case MICA_TF_SparseSegmentSqrtNWithNumSegments: return MICA_TF_SparseSegmentSqrtNGrad;
    default: return MICA_TF_SparseSegmentSumGrad;
    }
}

static mica_status derive_segment(maker *m, void *cotangent) {
    void *shape, *rank, *zero, *rows, *gradient, *g;
    MICA_TRY(dense(m, cotangent, &g));
    MICA_TRY(run(m, MICA_TF_Shape, NULL, &m->operands[0], 1, &shape));
    MICA_TRY(run(m, MICA_TF_Rank, NULL, &m->operands[0], 1, &rank));
    MICA_TRY(run(m, MICA_TF_ZerosLike, NULL, &rank, 1, &zero));
    void *const first[3] = {shape, zero, zero};
    MICA_TRY(run(m, MICA_TF_GatherV2, NULL, first, 3, &rows));
    void *const inputs[4] = {g, m->operands[1], m->operands[2], rows};
    MICA_TRY(run(m, gradient_of(m->step->operation->op), NULL, inputs, 4, &gradient));
    return add(m, 0, gradient);
}

mica_status tf_derive_sparse_segment(mica_tf_walk *w, const mica_tf_step *step,
                                     void *const *given) {
    maker m;
    if (!given[0]) return NULL;
    MICA_TRY(begin(&m, w, step));
    return end(&m, derive_segment(&m, given[0]));
}
