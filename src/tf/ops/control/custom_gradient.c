/* CustomGradient: results with a gradient of their own, and the barrier that keeps a recomputation
 * apart.
 *
 * The node's inputs are the arguments x, the results y as they were computed, and what the backward
 * function needs. The primitive it becomes has all of them as operands: y and what is needed get
 * no cotangent, so that nothing flows back through what computed them, and yet a second derivative
 * finds on what the first one depends.
 *
 * A place of -1 in `connected` says that there is no backward function: asking for the gradient is
 * an error whose text is the function's name. Inside of a loop that is one primitive it is NaN. */
#include <math.h>

#include "tf/host_rules.h"
#include "tf/lower_rules.h"
#include "tf/shape_rules.h"

mica_status tf_shape_custom_gradient(mica_tf_inference *c) {
    int64_t n = mica_tf_inference_int(c, "n");
    int32_t first = n >= 0 && n <= c->n_inputs - c->n_outputs ? (int32_t)n : -1;
    const mica_tf_graph *f = mica_tf_attr_find(c->info, c->attrs, "backward")->as.function;
    int32_t n_cotangents = f->n_parameters - (c->n_inputs - first - c->n_outputs);
    const mica_tf_attr *connected = mica_tf_attr_find(c->info, c->attrs, "connected");
    if (first < 0 || n_cotangents < 0 || n_cotangents > c->n_outputs ||
        connected->n != f->n_outputs)
        return MICA_INVALID("[CustomGradient] the function %s takes %d arguments and gives %d "
                            "results: not a gradient of %d results to %d arguments",
                            f->name, f->n_parameters, f->n_outputs, c->n_outputs, connected->n);
    for (int32_t i = 0; i < c->n_outputs; i++) c->outputs[i] = c->inputs[first + i];
    return NULL;
}

mica_status tf_shape_barrier(mica_tf_inference *c) {
    for (int32_t i = 0; i < c->n_outputs; i++) c->outputs[i] = c->inputs[i];
    return NULL;
}

static mica_status give_inputs(mica_tf_host *c, int32_t first) {
    for (int32_t i = 0; i < c->n_outputs; i++) {
        c->outputs[i] = c->inputs[first + i];
        mica_tf_value_retain(c->outputs[i]);
    }
    return NULL;
}

mica_status tf_host_custom_gradient(mica_tf_host *c) {
    return give_inputs(c, (int32_t)mica_tf_host_attr(c, "n")->as.integer);
}

mica_status tf_host_barrier(mica_tf_host *c) {
    return give_inputs(c, 0);
}

void tf_lower_barrier(mica_tf_lowering *c) {
    mica_barrier(c->g, c->inputs, c->n_inputs, c->outputs);
}

static bool is_differentiable(mica_value value) {
    const mica_type *type = mica_value_type(value);
    if (!type) return false;
    mica_dtype_kind kind = mica_dtype_kind_of(type->dtype);
    return kind == MICA_KIND_FLOAT || kind == MICA_KIND_COMPLEX;
}

/* TensorFlow's cotangents are the conjugates of the primitives'. */
static mica_value conjugate(mica_graph *g, mica_value x) {
    const mica_type *type = mica_value_type(x);
    return type && mica_dtype_kind_of(type->dtype) == MICA_KIND_COMPLEX ? mica_conj(g, x) : x;
}

typedef struct parts {
    mica_value *operands, *inside; /* the node's inputs that are tensors; their like in a region */
    int32_t *place;                /* by input: its place among the operands, or -1 */
    int32_t n, n_x;
} parts;

static bool gather(mica_tf_lowering *c, parts *p) {
    size_t n = (size_t)(c->n_inputs + 1);
    p->operands = mica_arena_alloc(&c->session->arena, n * sizeof *p->operands);
    p->inside = mica_arena_alloc(&c->session->arena, n * sizeof *p->inside);
    p->place = mica_arena_alloc(&c->session->arena, n * sizeof *p->place);
    if (!p->operands || !p->inside || !p->place) {
        mica_graph_fail(c->g, MICA_NO_MEMORY());
        return false;
    }
    p->n = 0;
    p->n_x = (int32_t)mica_tf_lowering_int(c, "n");
    for (int32_t i = 0; i < c->n_inputs; i++) {
        p->place[i] = c->inputs[i].node ? p->n : -1;
        if (c->inputs[i].node) p->operands[p->n++] = c->inputs[i];
    }
    return true;
}

static mica_graph *region_of(mica_tf_lowering *c, parts *p, const char *name) {
    mica_graph *region = NULL;
    mica_status status = mica_graph_create(name, &region);
    if (status) {
        mica_graph_fail(c->g, status);
        return NULL;
    }
    for (int32_t i = 0; i < p->n; i++)
        p->inside[i] = mica_parameter(region, mica_value_type(p->operands[i]));
    return region;
}

/* What the backward function gives, in the order of `connected`. */
static mica_value *lower_backward(mica_tf_lowering *c, mica_graph *region, const parts *p,
                                  mica_tf_graph *backward) {
    size_t n = (size_t)backward->n_parameters + (size_t)backward->n_outputs + 2;
    mica_value *arguments = mica_arena_alloc(&c->session->arena, n * sizeof *arguments);
    int32_t *variables = mica_arena_alloc(&c->session->arena, n * sizeof *variables);
    if (!arguments || !variables) {
        mica_graph_fail(region, MICA_NO_MEMORY());
        return NULL;
    }
    int32_t k = 0;
    for (int32_t i = 0; i < c->n_outputs; i++) /* the results once more: they are y */
        mica_parameter(region, mica_tf_type(c, p->n_x + i));
    for (int32_t i = 0; i < c->n_outputs; i++)
        if (is_differentiable(c->inputs[p->n_x + i]))
            arguments[k++] = conjugate(region, mica_parameter(region, mica_tf_type(c, p->n_x + i)));
    for (int32_t i = 0; i < k; i++) variables[i] = -1;
    for (int32_t i = p->n_x + c->n_outputs; i < c->n_inputs; i++, k++) {
        variables[k] = c->variables[i];
        if (p->place[i] >= 0) arguments[k] = p->inside[p->place[i]];
    }
    mica_value *results = arguments + backward->n_parameters + 1;
    mica_tf_lower_body(c, backward, arguments, variables, -1, region, results);
    mica_tf_take_checks(c->session, region);
    return results;
}

static mica_graph *vjp_region(mica_tf_lowering *c, parts *p) {
    mica_tf_graph *backward = mica_tf_attr_find(c->info, c->attrs, "backward")->as.function;
    const mica_tf_attr *connected = mica_tf_attr_find(c->info, c->attrs, "connected");
    mica_graph *region = region_of(c, p, "custom_gradient");
    mica_value *results = region ? lower_backward(c, region, p, backward) : NULL;
    for (int32_t i = 0; results && i < c->n_inputs; i++) {
        int32_t at = -1;
        if (!is_differentiable(c->inputs[i])) continue;
        bool is_missing = false;
        for (int32_t k = 0; k < connected->n; k++) {
            if (connected->as.ints[k] == i) at = k;
            is_missing |= connected->as.ints[k] < 0 && i < p->n_x;
        }
        mica_value x = p->inside[p->place[i]];
        mica_output(region, is_missing ? mica_full_like(region, x, NAN)
                            : at < 0   ? mica_zeros_like(region, x)
                                       : conjugate(region, results[at]));
    }
    mica_status status = results ? mica_graph_check(region) : NULL;
    if (results && !status) return region;
    if (status) mica_graph_fail(c->g, status);
    mica_graph_release(region);
    return NULL;
}

void tf_lower_custom_gradient(mica_tf_lowering *c) {
    parts p;
    if (!gather(c, &p)) return;
    for (int32_t i = 0; i < c->n_outputs; i++) c->outputs[i] = c->inputs[p.n_x + i];
    mica_graph *vjp = vjp_region(c, &p), *function = vjp ? region_of(c, &p, "custom") : NULL;
    for (int32_t i = 0; function && i < c->n_outputs; i++)
        mica_output(function, p.inside[p.place[p.n_x + i]]);
    if (function) mica_custom_gradient(c->g, function, vjp, p.operands, p.n, c->outputs);
    mica_graph_release(function);
    mica_graph_release(vjp);
}
