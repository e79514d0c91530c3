/* Derivatives: Vjp and Jvp lower their forward op (or find it lowered) and transform in place.
 *
 * The derivative is of the forward op alone: all its inputs are held fixed, also where one is
 * computed from another. Two inputs that are the same value are told apart by a reshape to the
 * same shape, which the compiler takes out again. */
#include "tf/lower_rules.h"

typedef struct forward_pass {
    mica_tf_operation *operation;
    mica_value *inputs, *outputs; /* outputs have n_outputs entries */
    mica_value *differentiable;   /* the inputs with role d and a float dtype, else null */
    int32_t n_inputs, n_outputs;
} forward_pass;

static bool is_float(mica_value value) {
    const mica_type *type = mica_value_type(value);
    if (!type) return false;
    mica_dtype_kind kind = mica_dtype_kind_of(type->dtype);
    return kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX;
}

static bool is_complex(mica_value value) {
    const mica_type *type = mica_value_type(value);
    return type && mica_dtype_kind_of(type->dtype) == MICA_KIND_COMPLEX;
}

static mica_value *values(mica_tf_lowering *c, int32_t n) {
    mica_value *room = mica_arena_alloc(&c->session->arena, ((size_t)n + 1) * sizeof *room);
    if (!room) mica_graph_fail(c->g, MICA_NO_MEMORY());
    return room;
}

static int32_t *places(mica_tf_lowering *c, int32_t n) {
    int32_t *room = mica_arena_alloc(&c->session->arena, ((size_t)n + 1) * sizeof *room);
    if (!room) mica_graph_fail(c->g, MICA_NO_MEMORY());
    return room;
}

/* true when it had to change an input. */
static bool tell_apart(mica_tf_lowering *c, forward_pass *f) {
    bool changed = false;
    for (int32_t i = 1; i < f->n_inputs; i++)
        for (int32_t k = 0; k < i; k++) {
            if (!f->inputs[i].node || !is_float(f->inputs[i]) ||
                f->inputs[i].node != f->inputs[k].node || f->inputs[i].index != f->inputs[k].index)
                continue;
            mica_type type = *mica_value_type(f->inputs[i]);
            f->inputs[i] = mica_reshape(c->g, f->inputs[i], (mica_ints){type.dims, type.rank});
            changed = true;
            break;
        }
    return changed;
}

static bool run_forward(mica_tf_lowering *c, forward_pass *f) {
    mica_tf_dtype dtypes[MICA_TF_MAX_VALUES];
    f->operation = c->attrs[0].as.operation;
    f->n_inputs = (int32_t)c->attrs[1].as.integer;
    f->n_outputs =
        mica_tf_output_dtypes(f->operation->info, f->operation->attrs, dtypes, MICA_TF_MAX_VALUES);
    f->inputs = values(c, f->n_inputs);
    f->outputs = values(c, f->n_outputs);
    f->differentiable = values(c, f->n_inputs);
    if (!f->inputs || !f->outputs || !f->differentiable) return false;
    for (int32_t i = 0; i < f->n_inputs; i++) f->inputs[i] = c->inputs[i];
    bool changed = tell_apart(c, f);
    const mica_value *known =
        changed ? NULL : mica_tf_recall(c->session, c->g, f->operation, f->inputs, f->n_inputs);
    if (known) {
        for (int32_t i = 0; i < f->n_outputs; i++) f->outputs[i] = known[i];
    } else {
        mica_tf_lowering forward = *c;
        forward.operation = f->operation;
        forward.info = f->operation->info;
        forward.attrs = f->operation->attrs;
        forward.n_inputs = f->n_inputs;
        forward.n_outputs = f->n_outputs;
        forward.inputs = f->inputs;
        forward.outputs = f->outputs;
        bool checks_bounds = c->session->checks_bounds;
        c->session->checks_bounds = false; /* the forward op itself does */
        mica_tf_lower(&forward);
        c->session->checks_bounds = checks_bounds;
    }
    for (int32_t i = 0; i < f->n_inputs; i++)
        if (mica_tf_operation_role(f->operation, i) == 'd' && is_float(f->inputs[i]))
            f->differentiable[i] = f->inputs[i];
    return true;
}

/* The differentiable inputs without gaps: as the transforms want them. */
static int32_t pack_inputs(const forward_pass *f, mica_value *packed, int32_t *place) {
    int32_t n = 0;
    for (int32_t i = 0; i < f->n_inputs; i++) {
        place[i] = f->differentiable[i].node ? n : -1;
        if (f->differentiable[i].node) packed[n++] = f->differentiable[i];
    }
    return n;
}

/* TensorFlow's gradients are the conjugates of ours (mica/transform.h). */
static mica_value conjugate(mica_graph *g, mica_value x) {
    return is_complex(x) ? mica_conj(g, x) : x;
}

void tf_lower_vjp(mica_tf_lowering *c) {
    forward_pass f;
    const mica_tf_attr *given = &c->attrs[2], *wanted = &c->attrs[3];
    if (!run_forward(c, &f)) return;
    mica_value *cotangents = values(c, f.n_outputs), *outputs = values(c, f.n_outputs);
    mica_value *packed = values(c, f.n_inputs), *results = values(c, f.n_inputs);
    int32_t *place = places(c, f.n_inputs);
    if (!cotangents || !outputs || !packed || !results || !place) return;
    int32_t n_given = 0;
    for (int32_t i = 0; i < given->n; i++) {
        mica_value output = f.outputs[given->as.ints[i]];
        if (!is_float(output)) continue;
        outputs[n_given] = output;
        cotangents[n_given++] = conjugate(c->g, c->inputs[f.n_inputs + i]);
    }
    int32_t n = pack_inputs(&f, packed, place);
    mica_vjp(c->g, outputs, cotangents, n_given, packed, n, results);
    for (int32_t i = 0; i < wanted->n; i++) {
        int64_t k = wanted->as.ints[i];
        mica_value result = place[k] < 0 ? MICA_NULL_VALUE : results[place[k]];
        c->outputs[i] = result.node ? conjugate(c->g, result) : mica_zeros_like(c->g, f.inputs[k]);
    }
}

void tf_lower_jvp(mica_tf_lowering *c) {
    forward_pass f;
    const mica_tf_attr *wanted = &c->attrs[2], *given = &c->attrs[3];
    if (!run_forward(c, &f)) return;
    mica_value *tangents = values(c, f.n_inputs), *packed = values(c, f.n_inputs);
    mica_value *outputs = values(c, f.n_outputs), *results = values(c, f.n_outputs);
    int32_t *place = places(c, f.n_inputs);
    if (!tangents || !packed || !outputs || !results || !place) return;
    int32_t n = pack_inputs(&f, packed, place);
    for (int32_t i = 0; i < given->n; i++)
        if (place[given->as.ints[i]] >= 0)
            tangents[place[given->as.ints[i]]] = c->inputs[f.n_inputs + i];
    for (int32_t i = 0; i < wanted->n; i++) outputs[i] = f.outputs[wanted->as.ints[i]];
    mica_jvp(c->g, outputs, wanted->n, packed, tangents, n, results);
    for (int32_t i = 0; i < wanted->n; i++)
        c->outputs[i] = results[i].node ? results[i] : mica_zeros_like(c->g, outputs[i]);
}
