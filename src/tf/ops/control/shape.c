/* Shape functions of variables, functions, branches, loops and derivatives. */
#include "tf/shape_rules.h"

mica_status tf_shape_read_variable(mica_tf_inference *c) {
    (void)c; /* a handle says nothing here: the front end adds what it knows */
    return NULL;
}

static void shape_from_outputs(mica_tf_inference *c, const mica_tf_graph *f) {
    for (int32_t i = 0; i < c->n_outputs && i < f->n_outputs; i++)
        mica_tf_graph_type(f, f->outputs[i], &c->outputs[i]);
}

static mica_status check_function(const mica_tf_inference *c, const mica_tf_graph *f, int32_t first,
                                  int32_t n_outputs) {
    if (f->n_parameters == c->n_inputs - first && f->n_outputs == n_outputs) return NULL;
    return MICA_INVALID("[%s] the function %s takes %d arguments and gives %d results, not %d and "
                        "%d",
                        c->info->name, f->name, f->n_parameters, f->n_outputs, c->n_inputs - first,
                        n_outputs);
}

mica_status tf_shape_call(mica_tf_inference *c) {
    const mica_tf_graph *f = mica_tf_attr_find(c->info, c->attrs, "f")->as.function;
    MICA_TRY(check_function(c, f, 0, c->n_outputs));
    shape_from_outputs(c, f);
    return NULL;
}

static mica_status join_branches(mica_tf_inference *c, mica_tf_graph *const *branches, int32_t n) {
    for (int32_t k = 0; k < n; k++) {
        MICA_TRY(check_function(c, branches[k], 1, c->n_outputs));
        for (int32_t i = 0; i < c->n_outputs; i++) {
            mica_tf_shape shape;
            mica_tf_graph_type(branches[k], branches[k]->outputs[i], &shape);
            c->outputs[i] = k ? mica_tf_shape_join(&c->outputs[i], &shape) : shape;
        }
    }
    return NULL;
}

mica_status tf_shape_if(mica_tf_inference *c) {
    mica_tf_graph *branches[2] = {mica_tf_attr_find(c->info, c->attrs, "then_branch")->as.function,
                                  mica_tf_attr_find(c->info, c->attrs, "else_branch")->as.function};
    return join_branches(c, branches, 2);
}

mica_status tf_shape_case(mica_tf_inference *c) {
    const mica_tf_attr *branches = mica_tf_attr_find(c->info, c->attrs, "branches");
    if (branches->n == 0) return MICA_INVALID("[Case] has no branches; at least one is needed");
    return join_branches(c, branches->as.functions, branches->n);
}

/* The carried shapes are what the body was made for, where it keeps them. */
mica_status tf_shape_while(mica_tf_inference *c) {
    const mica_tf_graph *body = mica_tf_attr_find(c->info, c->attrs, "body")->as.function;
    const mica_tf_graph *cond = mica_tf_attr_find(c->info, c->attrs, "cond")->as.function;
    const mica_tf_attr *given = mica_tf_attr_find(c->info, c->attrs, "output_shapes");
    MICA_TRY(check_function(c, body, 0, c->n_inputs));
    MICA_TRY(check_function(c, cond, 0, 1));
    for (int32_t i = 0; i < c->n_outputs; i++) {
        mica_tf_shape merged;
        if (i < given->n)
            c->outputs[i] = given->as.shapes[i];
        else
            mica_tf_graph_type(body, body->parameters[i], &c->outputs[i]);
        if (!mica_tf_shape_merge(&c->outputs[i], &c->inputs[i], &merged))
            return MICA_INVALID("[%s] output %d is said to be %s; it begins as %s", c->info->name,
                                i, mica_tf_shape_text(&c->outputs[i]).chars,
                                mica_tf_shape_text(&c->inputs[i]).chars);
    }
    return NULL;
}

/* Both derivatives: n inputs of the forward op, then a tensor for each output or input named. */
static mica_status check_derivative(const mica_tf_inference *c, const char *given) {
    const mica_tf_operation *forward = c->attrs[0].as.operation;
    mica_tf_dtype dtypes[MICA_TF_MAX_VALUES];
    int64_t n = mica_tf_inference_int(c, "n");
    int32_t n_outputs =
        mica_tf_output_dtypes(forward->info, forward->attrs, dtypes, MICA_TF_MAX_VALUES);
    const mica_tf_attr *outputs = mica_tf_attr_find(c->info, c->attrs, "outputs");
    const mica_tf_attr *inputs = mica_tf_attr_find(c->info, c->attrs, "inputs");
    bool fits = n >= 0 && n <= c->n_inputs &&
                c->n_inputs - n == mica_tf_attr_find(c->info, c->attrs, given)->n;
    for (int32_t i = 0; fits && i < outputs->n; i++)
        fits = outputs->as.ints[i] >= 0 && outputs->as.ints[i] < n_outputs;
    for (int32_t i = 0; fits && i < inputs->n; i++)
        fits = inputs->as.ints[i] >= 0 && inputs->as.ints[i] < n;
    fits = fits && c->n_outputs == (given[0] == 'o' ? inputs->n : outputs->n);
    if (fits) return NULL;
    return MICA_INVALID("[%s] of %s: %d tensors are not its inputs and a %s for each that is named",
                        c->info->name, forward->info->name, c->n_inputs,
                        given[0] == 'o' ? "cotangent" : "tangent");
}

mica_status tf_shape_vjp(mica_tf_inference *c) {
    const mica_tf_attr *inputs = mica_tf_attr_find(c->info, c->attrs, "inputs");
    MICA_TRY(check_derivative(c, "outputs"));
    for (int32_t i = 0; i < c->n_outputs; i++) c->outputs[i] = c->inputs[inputs->as.ints[i]];
    return NULL;
}

/* A tangent has the shape of its output, which the forward op's own function tells. */
mica_status tf_shape_jvp(mica_tf_inference *c) {
    const mica_tf_operation *forward = c->attrs[0].as.operation;
    mica_tf_dtype dtypes[MICA_TF_MAX_VALUES];
    int32_t n = mica_tf_output_dtypes(forward->info, forward->attrs, dtypes, MICA_TF_MAX_VALUES);
    const mica_tf_attr *outputs = mica_tf_attr_find(c->info, c->attrs, "outputs");
    MICA_TRY(check_derivative(c, "inputs"));
    if (n < 0) return MICA_INVALID("[Jvp] the forward op has too many outputs");
    mica_tf_shape *shapes = mica_calloc((size_t)n + 1, sizeof *shapes);
    if (!shapes) return MICA_NO_MEMORY();
    mica_tf_inference inner = *c;
    inner.info = forward->info;
    inner.attrs = forward->attrs;
    inner.n_inputs = (int32_t)mica_tf_inference_int(c, "n");
    inner.n_outputs = n;
    inner.outputs = shapes;
    mica_status status = mica_tf_infer(&inner, forward->op);
    for (int32_t i = 0; !status && i < c->n_outputs; i++)
        c->outputs[i] = shapes[outputs->as.ints[i]];
    mica_free(shapes);
    return status;
}

mica_status tf_shape_cross_replica_sum(mica_tf_inference *c) {
    const mica_tf_shape *groups = &c->inputs[1];
    if (groups->rank >= 0 && groups->rank != 2)
        return MICA_INVALID(
            "[CrossReplicaSum] group_assignment has the shape %s; it is a matrix, a "
            "row for each group",
            mica_tf_shape_text(groups).chars);
    if (groups->rank == 2 && groups->dims[0] > 1)
        return MICA_ERROR(
            MICA_UNSUPPORTED,
            "[CrossReplicaSum] group_assignment has %lld groups; all replicas are one",
            (long long)groups->dims[0]);
    c->outputs[0] = c->inputs[0];
    return NULL;
}

mica_status tf_shape_placeholder_with_default(mica_tf_inference *c) {
    const mica_tf_shape *shape = mica_tf_attr_find(c->info, c->attrs, "shape")->as.shapes;
    mica_tf_shape merged;
    if (!mica_tf_shape_merge(shape, &c->inputs[0], &merged))
        return MICA_INVALID("[PlaceholderWithDefault] the default has the shape %s, not %s",
                            mica_tf_shape_text(&c->inputs[0]).chars,
                            mica_tf_shape_text(shape).chars);
    c->outputs[0] = c->graph ? *shape : merged; /* as it runs, nothing else can be fed */
    return NULL;
}
