/* Vmap: the body is lowered for one slice, vectorised as a graph of primitives, and put in place.
 */
#include "tf/host_rules.h"
#include "tf/lower_rules.h"
#include "tf/ops/random/generators.h"
#include "tf/shape_rules.h"

#include <string.h>

mica_status tf_shape_vmap(mica_tf_inference *c) {
    const mica_tf_graph *f = mica_tf_attr_find(c->info, c->attrs, "f")->as.function;
    const mica_tf_attr *mapped = mica_tf_attr_find(c->info, c->attrs, "mapped");
    int64_t size = -1;
    if (mapped->n != c->n_inputs || f->n_parameters != c->n_inputs || f->n_outputs != c->n_outputs)
        return MICA_INVALID("[Vmap] the function %s takes %d arguments and gives %d results",
                            f->name, f->n_parameters, f->n_outputs);
    for (int32_t i = 0; i < c->n_inputs; i++) {
        if (!mapped->as.ints[i] || c->inputs[i].rank < 0) continue;
        if (c->inputs[i].rank == 0) return MICA_INVALID("[Vmap] a scalar cannot be mapped");
        int64_t own = c->inputs[i].dims[0];
        if (own >= 0 && size >= 0 && own != size)
            return MICA_INVALID("[Vmap] first axes of %lld and %lld elements do not go together",
                                (long long)size, (long long)own);
        if (own >= 0) size = own;
    }
    for (int32_t i = 0; i < c->n_outputs; i++) {
        mica_tf_shape shape, *out = &c->outputs[i];
        mica_tf_graph_type(f, f->outputs[i], &shape);
        if (shape.rank < 0) continue;
        if (shape.rank + 1 > MICA_MAX_RANK) return MICA_INVALID("[Vmap] the rank is too high");
        *out = (mica_tf_shape){.rank = shape.rank + 1, .dims = {size}};
        for (int32_t k = 0; k < shape.rank; k++) out->dims[k + 1] = shape.dims[k];
    }
    return NULL;
}

/* The axis that replicas are along. One Vmap of them inside another is refused below. */
#define REPLICAS "replicas"

static bool are_replicas(const mica_tf_op_info *info, const mica_tf_attr *attrs) {
    return mica_tf_attr_find(info, attrs, "replicas")->as.integer != 0;
}

/* The body on one slice of each mapped argument; what it draws are further parameters. */
static mica_graph *lower_slice(mica_tf_lowering *c, mica_tf_graph *body, const int32_t *axes,
                               mica_value *room, int64_t size, mica_tf_slice_draws *draws,
                               mica_tf_check **out_checks) {
    mica_graph *region = NULL;
    mica_status status = mica_graph_create("vmap", &region);
    if (status) {
        mica_graph_fail(c->g, status);
        return NULL;
    }
    for (int32_t i = 0; i < c->n_inputs; i++) {
        mica_type type = *mica_tf_type(c, i);
        if (axes[i] == 0) {
            type.rank--;
            for (int32_t k = 0; k < type.rank; k++) type.dims[k] = type.dims[k + 1];
            type.dims[type.rank] = 0;
        }
        room[i] = mica_parameter(region, &type);
    }
    int32_t outside = c->session->n_replicas;
    mica_tf_slice_draws *slice_outside = c->session->slice;
    if (c->session->n_replicas == 0 && are_replicas(c->info, c->attrs))
        c->session->n_replicas = (int32_t)size;
    draws->region = region;
    c->session->slice = draws;
    mica_tf_lower_body(c, body, room, c->variables, -1, region, room + c->n_inputs);
    c->session->n_replicas = outside;
    c->session->slice = slice_outside;
    *out_checks = mica_tf_take_checks(c->session, region);
    for (int32_t i = 0; i < c->n_outputs; i++) mica_output(region, room[c->n_inputs + i]);
    for (const mica_tf_check *check = *out_checks; check; check = check->next)
        mica_output(region, check->value);
    status = mica_graph_check(region);
    if (!status) return region;
    mica_graph_fail(c->g, status);
    mica_graph_release(region);
    return NULL;
}

/* The vectorised body in place; what it looks at has the slices along a first axis, and each slice
 * draws as a run of its own would. */
static void put_whole(mica_tf_lowering *c, mica_graph *slice, const int32_t *axes, int64_t size,
                      const mica_tf_slice_draws *draws, const mica_tf_check *checks) {
    mica_arena *arena = &c->session->arena;
    size_t n = (size_t)mica_graph_output_count(slice) + 1;
    size_t n_in = (size_t)(c->n_inputs + draws->n) + 1;
    int32_t *out_axes = mica_arena_alloc(arena, n * sizeof *out_axes);
    int32_t *in_axes = mica_arena_alloc(arena, n_in * sizeof *in_axes);
    mica_value *results = mica_arena_alloc(arena, n * sizeof *results);
    mica_value *inputs = mica_arena_alloc(arena, n_in * sizeof *inputs);
    mica_graph *whole = NULL;
    if (!out_axes || !in_axes || !results || !inputs) {
        mica_graph_fail(c->g, MICA_NO_MEMORY());
        return;
    }
    memcpy(in_axes, axes, (size_t)c->n_inputs * sizeof *axes); /* the others zero: the first axis */
    memcpy(inputs, c->inputs, (size_t)c->n_inputs * sizeof *inputs);
    int32_t n_inputs = c->n_inputs;
    for (const mica_tf_random_slot *slot = draws->first; slot; slot = slot->next)
        inputs[n_inputs++] =
            mica_tf_session_random(c->session, c->g, slot->operation, slot->elements, size);
    const char *axis = are_replicas(c->info, c->attrs) ? REPLICAS : NULL;
    mica_status status = mica_vmap(slice, in_axes, out_axes, size, axis, &whole);
    if (status) {
        mica_graph_fail(c->g, status);
        return;
    }
    mica_inline(c->g, whole, inputs, n_inputs, results);
    int32_t k = 0;
    for (; k < c->n_outputs; k++) c->outputs[k] = results[k];
    for (; checks; checks = checks->next) mica_tf_put_check(c->session, c->g, results[k++], checks);
    mica_graph_release(whole);
}

void tf_lower_vmap(mica_tf_lowering *c) {
    mica_tf_graph *body = mica_tf_attr_find(c->info, c->attrs, "f")->as.function;
    const mica_tf_attr *mapped = mica_tf_attr_find(c->info, c->attrs, "mapped");
    size_t n = (size_t)(c->n_inputs + c->n_outputs + 1);
    mica_value *room = mica_arena_alloc(&c->session->arena, n * sizeof *room);
    int32_t *axes = mica_arena_alloc(&c->session->arena, n * sizeof *axes);
    int64_t size = 0;
    mica_tf_check *checks = NULL;
    if (c->session->n_replicas && are_replicas(c->info, c->attrs)) {
        MICA_TF_FAIL(c, "[Vmap] a replica cannot run replicas of its own");
        return;
    }
    if (!room || !axes) {
        mica_graph_fail(c->g, MICA_NO_MEMORY());
        return;
    }
    for (int32_t i = 0; i < c->n_inputs; i++) {
        axes[i] = mapped->as.ints[i] ? 0 : MICA_UNMAPPED;
        if (!mica_tf_type(c, i)) {
            MICA_TF_FAIL(c, "[Vmap] argument %d is no tensor", i);
            return;
        }
        if (mapped->as.ints[i]) size = mica_tf_type(c, i)->dims[0];
    }
    mica_tf_slice_draws draws = {0};
    mica_graph *slice = lower_slice(c, body, axes, room, size, &draws, &checks);
    if (slice) put_whole(c, slice, axes, size, &draws, checks);
    mica_graph_release(slice);
}

void tf_lower_cross_replica_sum(mica_tf_lowering *c) {
    c->outputs[0] = c->session->n_replicas ? mica_all_reduce(c->g, c->inputs[0], "sum", REPLICAS)
                                           : c->inputs[0];
}

void tf_lower_no_op(mica_tf_lowering *c) {
    (void)c;
}

mica_status tf_host_no_op(mica_tf_host *c) {
    (void)c;
    return NULL;
}

/* ---- on the host: one slice after the other ---------------------------------------------------*/

typedef struct slices {
    mica_tf_host *c;
    const mica_tf_attr *mapped;
    int64_t size;
    mica_tf_value *parts;   /* by input, then by slice */
    mica_tf_value *results; /* by output, then by slice */
} slices;

static mica_status one_op(slices *s, mica_tf_op op, const mica_tf_attr *attrs,
                          const mica_tf_value *inputs, int64_t n, mica_tf_value *out,
                          int64_t capacity) {
    int32_t count;
    return mica_tf_eager(s->c->device, op, attrs, inputs, (int32_t)n, out, (int32_t)capacity,
                         &count, NULL);
}

static mica_status run_slices(slices *s) {
    mica_tf_host *c = s->c;
    mica_tf_graph *f = mica_tf_host_attr(c, "f")->as.function;
    mica_tf_value given[MICA_TF_MAX_ARGUMENTS * 4], made[MICA_TF_MAX_ARGUMENTS * 4];
    if (c->n_inputs > MICA_TF_MAX_ARGUMENTS * 4 || c->n_outputs > MICA_TF_MAX_ARGUMENTS * 4)
        return MICA_ERROR(MICA_UNSUPPORTED, "[Vmap] more than %d arguments or results",
                          MICA_TF_MAX_ARGUMENTS * 4);
    for (int32_t i = 0; i < c->n_inputs; i++) {
        mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{.as.integer = s->size},
                                                 {.as.integer = c->inputs[i].dtype}};
        if (s->mapped->as.ints[i])
            MICA_TRY(one_op(s, MICA_TF_Unpack, attrs, &c->inputs[i], 1, s->parts + i * s->size,
                            s->size));
    }
    for (int64_t k = 0; k < s->size; k++) {
        for (int32_t i = 0; i < c->n_inputs; i++)
            given[i] = s->mapped->as.ints[i] ? s->parts[i * s->size + k] : c->inputs[i];
        MICA_TRY(mica_tf_graph_run(f, c->device, given, c->n_inputs, made, c->n_outputs));
        for (int32_t i = 0; i < c->n_outputs; i++) s->results[i * s->size + k] = made[i];
    }
    for (int32_t i = 0; i < c->n_outputs; i++) {
        mica_tf_attr attrs[MICA_TF_MAX_ATTRS] = {{.as.integer = s->size},
                                                 {.as.integer = c->output_dtypes[i]}};
        MICA_TRY(
            one_op(s, MICA_TF_Pack, attrs, s->results + i * s->size, s->size, &c->outputs[i], 1));
    }
    return NULL;
}

mica_status tf_host_vmap(mica_tf_host *c) {
    slices s = {.c = c, .mapped = mica_tf_host_attr(c, "mapped")};
    for (int32_t i = 0; i < c->n_inputs; i++) {
        mica_tf_shape shape;
        mica_tf_value_shape(c->inputs[i], &shape);
        if (s.mapped->as.ints[i] && shape.rank > 0) s.size = shape.dims[0];
    }
    if (are_replicas(c->info, c->attrs))
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[Vmap] replicas cannot run ops of the host: %s has some",
                          mica_tf_host_attr(c, "f")->as.function->name);
    if (s.size < 1 || s.size > MICA_TF_MAX_VALUES)
        return MICA_ERROR(MICA_UNSUPPORTED,
                          "[Vmap] %lld slices: ops of the host run for 1 to %d of them",
                          (long long)s.size, MICA_TF_MAX_VALUES);
    size_t n = (size_t)s.size * (size_t)(c->n_inputs + c->n_outputs);
    s.parts = mica_calloc(n + 1, sizeof *s.parts);
    if (!s.parts) return MICA_NO_MEMORY();
    s.results = s.parts + s.size * c->n_inputs;
    mica_status status = run_slices(&s);
    for (size_t i = 0; i < n; i++) mica_tf_value_release(s.parts[i]);
    mica_free(s.parts);
    return status;
}
