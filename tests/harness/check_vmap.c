#include "harness.h"

#include <stdio.h>
#include <string.h>

/* A type with an axis put in at `axis`. */
static mica_type batched_type(const mica_type *type, int32_t axis, int64_t size) {
    mica_type out = *type;
    out.rank++;
    for (int32_t k = 0; k < out.rank; k++)
        out.dims[k] = k < axis ? type->dims[k] : k == axis ? size : type->dims[k - 1];
    return out;
}

/* One choice of mapped operands and axes. */
typedef struct mapping {
    int32_t in_axes[MOST_ARRAYS], out_axes[MOST_ARRAYS];
    int64_t size;
} mapping;

static mapping mapping_of(const mica_graph *f, uint32_t mapped, bool last, int64_t size) {
    mapping m = {.size = size};
    for (int32_t i = 0; i < f->n_parameters; i++) {
        int32_t rank = mica_value_type(f->parameters[i])->rank;
        m.in_axes[i] = !(mapped >> i & 1) ? MICA_UNMAPPED : last ? rank : 0;
    }
    for (int32_t i = 0; i < f->n_outputs; i++)
        m.out_axes[i] = last ? mica_value_type(f->outputs[i])->rank : 0;
    return m;
}

/* The mapped operands as stacks of what `draw` gives, the others once. */
typedef arrays (*draw_function)(const op_case *c, const mica_graph *f, random_state *r);

static arrays draw_batch(const op_case *c, const mica_graph *f, const mapping *m,
                         draw_function draw, random_state *r) {
    arrays out = draw(c, f, r);
    for (int32_t i = 0; i < f->n_parameters; i++) {
        if (m->in_axes[i] == MICA_UNMAPPED) continue;
        mica_type type = batched_type(mica_value_type(f->parameters[i]), m->in_axes[i], m->size);
        arrays single = {.n = 1, .items = {out.items[i]}};
        out.items[i] = array_create(&type);
        arrays_free(&single);
    }
    for (int64_t b = 0; b < m->size; b++) {
        arrays one = draw(c, f, r);
        for (int32_t i = 0; i < f->n_parameters; i++)
            if (m->in_axes[i] != MICA_UNMAPPED)
                array_put(&out.items[i], m->in_axes[i], b, &one.items[i]);
        arrays_free(&one);
    }
    return out;
}

/* f on every slice of the inputs, stacked. */
static arrays run_loop(const mica_graph *f, const arrays *inputs, const mapping *m,
                       const char *what) {
    arrays out = {.n = f->n_outputs};
    for (int32_t i = 0; i < f->n_outputs; i++) {
        mica_type type = batched_type(mica_value_type(f->outputs[i]), m->out_axes[i], m->size);
        out.items[i] = array_create(&type);
    }
    for (int64_t b = 0; b < m->size; b++) {
        arrays one = {.n = inputs->n};
        for (int32_t i = 0; i < inputs->n; i++) {
            const array *input = &inputs->items[i];
            if (m->in_axes[i] != MICA_UNMAPPED)
                one.items[i] = array_slice(input, m->in_axes[i], b);
            else {
                one.items[i] = array_create(&input->type);
                memcpy(one.items[i].data, input->data, mica_type_bytes(&input->type));
            }
        }
        arrays result = run_reference(f, &one, what);
        for (int32_t i = 0; i < result.n; i++)
            array_put(&out.items[i], m->out_axes[i], b, &result.items[i]);
        arrays_free(&result);
        arrays_free(&one);
    }
    return out;
}

static void check_mapping(const op_case *c, const mica_graph *f, mica_dtype dtype, const mapping *m,
                          draw_function draw, const char *title) {
    mica_graph *g = NULL;
    random_state r = case_random(c, "vmap");
    if (!harness_ok(mica_vmap(f, m->in_axes, m->out_axes, m->size, NULL, &g), title)) return;
    if (harness_ok(mica_graph_verify(g), title)) {
        arrays inputs = draw_batch(c, f, m, draw, &r);
        arrays want = run_loop(f, &inputs, m, title);
        arrays got = run_reference(g, &inputs, title);
        tolerance allowed = {.of_largest = 1e-12};
        if (arrays_agree(&got, &want, &allowed, title)) {
            tolerance on_device = {.of_largest = case_takes(c, MICA_DTYPE_f64) ? 1e-11 : 1e-5};
            check_on_devices(c, dtype, g, &inputs, &want, &on_device, title);
        }
        arrays_free(&inputs);
        arrays_free(&want);
        arrays_free(&got);
    }
    mica_graph_release(g);
}

static arrays draw_case(const op_case *c, const mica_graph *f, random_state *r) {
    mica_type types[MOST_OPERANDS];
    for (int32_t i = 0; i < c->n_operands; i++) types[i] = *mica_value_type(f->parameters[i]);
    return draw_operands(c, types, c->n_operands, r);
}

/* Operands of the case, then a direction for every further parameter. */
static arrays draw_gradient(const op_case *c, const mica_graph *f, random_state *r) {
    arrays out = draw_case(c, f, r);
    for (int32_t i = c->n_operands; i < f->n_parameters; i++)
        out.items[out.n++] = draw_direction(mica_value_type(f->parameters[i]), r);
    return out;
}

/* Every subset up to three operands; beyond that each alone and all together. */
static bool is_interesting(uint32_t mapped, int32_t n) {
    return n <= 3 || (mapped & (mapped - 1)) == 0 || mapped == (1u << n) - 1;
}

static bool has_gradient(const mica_graph *f) {
    bool in = false, out = false;
    for (int32_t i = 0; i < f->n_parameters; i++) in |= is_float(mica_value_type(f->parameters[i]));
    for (int32_t i = 0; i < f->n_outputs; i++) out |= is_float(mica_value_type(f->outputs[i]));
    return in && out;
}

static uint32_t all_of(const mica_graph *f) {
    return (1u << f->n_parameters) - 1;
}

/* The case's operands for a graph that is already mapped along first axes of three. */
static arrays draw_stacks(const op_case *c, const mica_graph *f, random_state *r) {
    arrays out = {.n = f->n_parameters}, one[3];
    for (int b = 0; b < 3; b++) {
        mica_type types[MOST_OPERANDS];
        for (int32_t i = 0; i < f->n_parameters; i++) {
            types[i] = *mica_value_type(f->parameters[i]);
            types[i].rank--;
            memmove(types[i].dims, types[i].dims + 1, (size_t)types[i].rank * sizeof(int64_t));
        }
        one[b] = draw_operands(c, types, c->n_operands, r);
    }
    for (int32_t i = 0; i < f->n_parameters; i++) {
        out.items[i] = array_create(mica_value_type(f->parameters[i]));
        for (int b = 0; b < 3; b++) array_put(&out.items[i], 0, b, &one[b].items[i]);
    }
    for (int b = 0; b < 3; b++) arrays_free(&one[b]);
    return out;
}

/* Maps over all operands, and then once more, along last axes of two; and the derivatives of the
 * mapped graph. */
static void check_mapped_again(const op_case *c, const mica_graph *f, mica_dtype dtype) {
    char title[200];
    mica_graph *mapped = NULL;
    mapping m = mapping_of(f, all_of(f), false, 3);
    random_state r = case_random(c, "vmap of gradient");
    snprintf(title, sizeof title, "vmap of %s", case_title(c));
    if (!harness_ok(mica_vmap(f, m.in_axes, m.out_axes, m.size, NULL, &mapped), title)) return;
    if (dtype == MICA_DTYPE_f64 && has_gradient(f) && !(c->flags & (OPAQUE | COARSE | SPRINKLED))) {
        arrays inputs = draw_batch(c, f, &m, draw_case, &r);
        check_graph_derivatives(c, mapped, &inputs, 1, &r, title);
        arrays_free(&inputs);
    }
    snprintf(title, sizeof title, "vmap of vmap of %s", case_title(c));
    mapping again = mapping_of(mapped, all_of(mapped), true, 2);
    check_mapping(c, mapped, dtype, &again, draw_stacks, title);
    mica_graph_release(mapped);
}

static void check_mapped_gradient(const op_case *c, const mica_graph *f, mica_dtype dtype) {
    char title[200];
    mica_graph *vjp = vjp_graph(f);
    snprintf(title, sizeof title, "vmap of vjp of %s", case_title(c));
    if (harness_ok(mica_graph_check(vjp), title)) {
        mapping m = mapping_of(vjp, all_of(vjp), false, 3);
        check_mapping(c, vjp, dtype, &m, draw_gradient, title);
    }
    mica_graph_release(vjp);
}

/* A collective inside a map over another axis, of two, which then lies behind that of the
 * participants. */
static void check_other_axis(const op_case *c, mica_dtype dtype) {
    char title[200];
    mica_type types[MOST_OPERANDS];
    case_types(c, dtype, types);
    mica_graph *one = participant_graph(c, dtype, types), *all = expected_graph(c, dtype, types);
    mica_graph *inner = NULL, *expected = NULL;
    int32_t first[MOST_ARRAYS] = {0}, second[MOST_ARRAYS];
    for (int32_t i = 0; i < MOST_ARRAYS; i++) second[i] = 1;
    snprintf(title, sizeof title, "%s inside another map", case_title(c));
    if (harness_ok(mica_vmap(one, first, first, 2, NULL, &inner), title) &&
        harness_ok(mica_vmap(all, second, second, 2, NULL, &expected), title)) {
        random_state r = case_random(c, "other axis");
        mica_graph *mapped = batched_graph(inner, title);
        inner = NULL;
        for (int32_t i = 0; i < c->n_operands; i++)
            types[i] = *mica_value_type(expected->parameters[i]);
        arrays inputs = draw_operands(c, types, c->n_operands, &r);
        arrays want = run_reference(expected, &inputs, title);
        arrays got = mapped ? run_reference(mapped, &inputs, title) : (arrays){0};
        tolerance allowed = {.of_largest = 1e-12};
        arrays_agree(&got, &want, &allowed, title);
        arrays_free(&inputs);
        arrays_free(&want);
        arrays_free(&got);
        mica_graph_release(mapped);
    }
    mica_graph_release(one);
    mica_graph_release(all);
    mica_graph_release(inner);
    mica_graph_release(expected);
}

static void check_mappings(const op_case *c, const mica_graph *f, mica_dtype dtype) {
    char title[200];
    int32_t n = f->n_parameters;
    for (uint32_t mapped = n ? 1 : 0; mapped < 1u << n; mapped++)
        for (int last = 0; last < 2; last++) {
            if (!is_interesting(mapped, n)) continue;
            mapping m = mapping_of(f, mapped, last, 3);
            snprintf(title, sizeof title, "vmap of %s, operands %#x, axis %s", case_title(c),
                     mapped, last ? "last" : "first");
            check_mapping(c, f, dtype, &m, draw_case, title);
        }
    for (int64_t size = 0; size < 2; size++) {
        mapping m = mapping_of(f, all_of(f), false, size);
        snprintf(title, sizeof title, "vmap of %s, %s", case_title(c), size ? "once" : "never");
        check_mapping(c, f, dtype, &m, draw_case, title);
    }
}

void check_vmap(const op_case *c) {
    mica_type types[MOST_OPERANDS];
    mica_dtype dtype = first_dtype(c);
    if (c->flags & LARGE) return;
    case_types(c, dtype, types);
    mica_graph *f = case_graph(c, dtype, types);
    if (f && harness_ok(mica_graph_check(f), case_title(c))) {
        check_mappings(c, f, dtype);
        check_mapped_again(c, f, dtype);
        if (c->flags & NAMED_AXIS) check_other_axis(c, dtype);
        if (dtype == MICA_DTYPE_f64 && has_gradient(f) &&
            !(c->flags & (OPAQUE | COARSE | SPRINKLED)))
            check_mapped_gradient(c, f, dtype);
    }
    mica_graph_release(f);
}
