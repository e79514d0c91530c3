#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static arrays copy_of(const arrays *list) {
    arrays copy = {.n = list->n};
    for (int32_t i = 0; i < list->n; i++) {
        copy.items[i] = array_create(&list->items[i].type);
        if (list->items[i].data)
            memcpy(copy.items[i].data, list->items[i].data, mica_type_bytes(&list->items[i].type));
    }
    return copy;
}

/* Moves everything from one list to the end of another. */
static void append(arrays *to, arrays *from) {
    for (int32_t i = 0; i < from->n; i++) to->items[to->n++] = from->items[i];
    from->n = 0;
}

/* One direction per float array of `like`. */
static arrays directions(const arrays *like, random_state *r) {
    arrays out = {0};
    for (int32_t i = 0; i < like->n; i++)
        if (is_float(&like->items[i].type))
            out.items[out.n++] = draw_direction(&like->items[i].type, r);
    return out;
}

static void keep_floats(arrays *list) {
    arrays floats = {0}, rest = {0};
    for (int32_t i = 0; i < list->n; i++) {
        arrays *to = is_float(&list->items[i].type) ? &floats : &rest;
        to->items[to->n++] = list->items[i];
    }
    arrays_free(&rest);
    *list = floats;
}

/* The float outputs of f at x + step * t. */
static arrays run_shifted(const mica_graph *f, const arrays *x, const arrays *t, double step,
                          const char *what) {
    arrays moved = copy_of(x);
    int32_t k = 0;
    for (int32_t i = 0; i < moved.n; i++) {
        if (!is_float(&moved.items[i].type)) continue;
        for (int64_t j = 0, j_end = mica_type_elements(&moved.items[i].type); j < j_end; j++)
            for (int32_t p = 0; p < array_parts(&moved.items[i]); p++)
                array_set_part(&moved.items[i], j, p,
                               array_get_part(&moved.items[i], j, p) +
                                   step * array_get_part(&t->items[k], j, p));
        k++;
    }
    arrays out = run_reference(f, &moved, what);
    arrays_free(&moved);
    keep_floats(&out);
    return out;
}

/* An infinity that stays does not change. */
static double change(const arrays *a, const arrays *b, int32_t i, int64_t j, int32_t part) {
    double to = array_get_part(&a->items[i], j, part);
    double from = array_get_part(&b->items[i], j, part);
    return to == from ? 0 : to - from;
}

/* Five points: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h. */
static arrays differences(const mica_graph *f, const arrays *x, const arrays *t, const char *what) {
    const double h = 1e-3;
    arrays a = run_shifted(f, x, t, h, what), b = run_shifted(f, x, t, -h, what);
    arrays c = run_shifted(f, x, t, 2 * h, what), d = run_shifted(f, x, t, -2 * h, what);
    for (int32_t i = 0; i < a.n; i++)
        for (int64_t j = 0, j_end = mica_type_elements(&a.items[i].type); j < j_end; j++)
            for (int32_t p = 0; p < array_parts(&a.items[i]); p++)
                array_set_part(&a.items[i], j, p,
                               (8 * change(&a, &b, i, j, p) - change(&c, &d, i, j, p)) / (12 * h));
    arrays_free(&b);
    arrays_free(&c);
    arrays_free(&d);
    return a;
}

/* Of complex numbers the real part of the product, without a conjugate. */
static double inner_product(const arrays *a, const arrays *b, double *magnitude) {
    double sum = 0;
    for (int32_t i = 0; i < a->n; i++)
        for (int64_t j = 0, j_end = mica_type_elements(&a->items[i].type); j < j_end; j++) {
            double term = array_get(&a->items[i], j) * array_get(&b->items[i], j) -
                          array_get_part(&a->items[i], j, 1) * array_get_part(&b->items[i], j, 1);
            sum += term;
            *magnitude += array_magnitude(&a->items[i], j) * array_magnitude(&b->items[i], j);
        }
    return sum;
}

static bool is_usable(mica_graph *g, const char *what) {
    mica_status status = mica_graph_check(g);
    if (!status) status = mica_graph_verify(g);
    return harness_ok(status, what);
}

static double largest_of(const arrays *list) {
    double largest = 1;
    for (int32_t i = 0; i < list->n; i++)
        for (int64_t j = 0, j_end = mica_type_elements(&list->items[i].type); j < j_end; j++)
            largest = fmax(largest, array_magnitude(&list->items[i], j));
    return largest;
}

/* x and what comes after it, as the inputs of a derived graph. */
static arrays with(const arrays *x, const arrays *more) {
    arrays out = copy_of(x), rest = copy_of(more);
    append(&out, &rest);
    return out;
}

static const tolerance device_tolerance = {.of_largest = 1e-11, .absolute = 1e-11};

void check_graph_derivatives(const op_case *c, const mica_graph *f, const arrays *inputs, int order,
                             random_state *r, const char *what) {
    char title[200];
    mica_graph *jvp = jvp_graph(f), *vjp = vjp_graph(f);
    arrays outputs = run_reference(f, inputs, what);
    keep_floats(&outputs);
    arrays t = directions(inputs, r), ct = directions(&outputs, r);
    arrays jvp_inputs = with(inputs, &t), vjp_inputs = with(inputs, &ct);
    snprintf(title, sizeof title, "jvp of %s", what);
    bool usable = is_usable(jvp, title);
    arrays pushed = {0}, pulled = {0};
    if (usable) {
        arrays want = differences(f, inputs, &t, title);
        pushed = run_reference(jvp, &jvp_inputs, title);
        tolerance allowed = {.absolute = (c->noise > 0 ? c->noise : 1e-7) * largest_of(&want)};
        arrays_agree(&pushed, &want, &allowed, title);
        check_on_devices(c, MICA_DTYPE_f64, jvp, &jvp_inputs, &pushed, &device_tolerance, title);
        arrays_free(&want);
        if (order > 1) check_graph_derivatives(c, jvp, &jvp_inputs, order - 1, r, title);
    }
    snprintf(title, sizeof title, "vjp of %s", what);
    if (usable && is_usable(vjp, title)) {
        pulled = run_reference(vjp, &vjp_inputs, title);
        double magnitude = 1, left = inner_product(&ct, &pushed, &magnitude);
        double right = inner_product(&pulled, &t, &magnitude);
        harness_count();
        if (!(fabs(left - right) <= (c->noise > 0 ? 1e-3 * c->noise : 1e-10) * magnitude))
            harness_fail("%s: <ct, J t> = %.15g, <J^T ct, t> = %.15g", title, left, right);
        check_on_devices(c, MICA_DTYPE_f64, vjp, &vjp_inputs, &pulled, &device_tolerance, title);
        if (order > 1) check_graph_derivatives(c, vjp, &vjp_inputs, order - 1, r, title);
    }
    mica_graph_release(jvp);
    mica_graph_release(vjp);
    arrays_free(&outputs);
    arrays_free(&t);
    arrays_free(&ct);
    arrays_free(&jvp_inputs);
    arrays_free(&vjp_inputs);
    arrays_free(&pushed);
    arrays_free(&pulled);
}

/* mica_gradient of the outputs, weighted by cotangents and summed, is their vjp. */
static void check_gradient(const mica_graph *f, const arrays *inputs, random_state *r,
                           const char *what) {
    mica_graph *gradient = gradient_graph(f), *vjp = vjp_graph(f);
    arrays outputs = run_reference(f, inputs, what);
    keep_floats(&outputs);
    arrays ct = directions(&outputs, r), both = with(inputs, &ct);
    if (is_usable(gradient, what) && is_usable(vjp, what)) {
        arrays got = run_reference(gradient, &both, what);
        arrays want = run_reference(vjp, &both, what);
        arrays_agree(&got, &want, &device_tolerance, what);
        arrays_free(&got);
        arrays_free(&want);
    }
    arrays_free(&outputs);
    arrays_free(&ct);
    arrays_free(&both);
    mica_graph_release(gradient);
    mica_graph_release(vjp);
}

static bool all_f64(const mica_value *values, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        if (is_float(mica_value_type(values[i])) &&
            mica_value_type(values[i])->dtype != MICA_DTYPE_f64)
            return false;
    return true;
}

/* The derivative graphs in f32 or c64, on the devices against the reference. */
static void check_single_precision(const op_case *c, mica_dtype dtype, random_state *r) {
    char title[200];
    mica_type types[MOST_OPERANDS];
    const tolerance allowed = {.of_largest = 2e-5, .absolute = 2e-5};
    case_types(c, dtype, types);
    mica_graph *f = case_graph(c, dtype, types);
    for (int32_t i = 0; f && i < c->n_operands; i++) types[i] = *mica_value_type(f->parameters[i]);
    for (int reverse = 0; f && reverse < 2; reverse++) {
        snprintf(title, sizeof title, "%s of %s %s", reverse ? "vjp" : "jvp", case_title(c),
                 mica_dtype_name(dtype));
        mica_graph *g = reverse ? vjp_graph(f) : jvp_graph(f);
        arrays inputs = draw_operands(c, types, c->n_operands, r);
        arrays outputs = run_reference(f, &inputs, title);
        arrays more = directions(reverse ? &outputs : &inputs, r);
        append(&inputs, &more);
        if (is_usable(g, title)) {
            arrays want = run_reference(g, &inputs, title);
            check_on_devices(c, dtype, g, &inputs, &want, &allowed, title);
            arrays_free(&want);
        }
        arrays_free(&outputs);
        arrays_free(&inputs);
        mica_graph_release(g);
    }
    mica_graph_release(f);
}

/* What all participants together have as derivatives, by the rules of collectives and then vmap,
 * against those of the same without any collective. */
static void check_participants(const op_case *c, random_state *r) {
    char title[200];
    mica_type types[MOST_OPERANDS];
    case_types(c, MICA_DTYPE_f64, types);
    mica_graph *one = participant_graph(c, MICA_DTYPE_f64, types);
    mica_graph *all = expected_graph(c, MICA_DTYPE_f64, types);
    for (int32_t i = 0; i < c->n_operands; i++) types[i] = *mica_value_type(all->parameters[i]);
    for (int reverse = 0; reverse < 2; reverse++) {
        snprintf(title, sizeof title, "vmap of %s of %s", reverse ? "vjp" : "jvp", case_title(c));
        mica_graph *got_by = reverse ? vjp_graph(one) : jvp_graph(one);
        mica_graph *want_by = reverse ? vjp_graph(all) : jvp_graph(all);
        if (is_usable(got_by, title)) got_by = batched_graph(got_by, title);
        arrays inputs = draw_operands(c, types, c->n_operands, r);
        arrays outputs = run_reference(all, &inputs, title);
        arrays more = directions(reverse ? &outputs : &inputs, r);
        append(&inputs, &more);
        if (got_by && is_usable(got_by, title) && is_usable(want_by, title)) {
            arrays want = run_reference(want_by, &inputs, title);
            arrays got = run_reference(got_by, &inputs, title);
            arrays_agree(&got, &want, &device_tolerance, title);
            check_on_devices(c, MICA_DTYPE_f64, got_by, &inputs, &want, &device_tolerance, title);
            arrays_free(&want);
            arrays_free(&got);
        }
        arrays_free(&outputs);
        arrays_free(&inputs);
        mica_graph_release(got_by);
        mica_graph_release(want_by);
    }
    mica_graph_release(one);
    mica_graph_release(all);
}

static bool has_float(const mica_value *values, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        if (is_float(mica_value_type(values[i]))) return true;
    return false;
}

/* Graphs from no floats, or to none, have no derivative to check. */
static void check_dtype(const op_case *c, mica_dtype dtype) {
    mica_type types[MOST_OPERANDS];
    random_state r = case_random(c, "derivatives");
    case_types(c, dtype, types);
    mica_graph *f = case_graph(c, dtype, types);
    if (!f) return;
    for (int32_t i = 0; i < c->n_operands; i++) types[i] = *mica_value_type(f->parameters[i]);
    arrays inputs = draw_operands(c, types, c->n_operands, &r);
    if (harness_ok(mica_graph_check(f), case_title(c)) &&
        has_float(f->parameters, f->n_parameters) && has_float(f->outputs, f->n_outputs)) {
        char title[200];
        snprintf(title, sizeof title, "%s%s", case_title(c), is_complex(dtype) ? " c128" : "");
        check_graph_derivatives(c, f, &inputs, harness_soak ? 3 : 2, &r, title);
        check_single_precision(c, is_complex(dtype) ? MICA_DTYPE_c64 : MICA_DTYPE_f32, &r);
        if (all_f64(f->outputs, f->n_outputs)) check_gradient(f, &inputs, &r, title);
    }
    arrays_free(&inputs);
    mica_graph_release(f);
}

void check_derivatives(const op_case *c) {
    if (c->flags & (OPAQUE | COARSE | SPRINKLED)) return;
    random_state r = case_random(c, "participants");
    if (case_takes(c, MICA_DTYPE_f64)) check_dtype(c, MICA_DTYPE_f64);
    if (case_takes(c, MICA_DTYPE_f64) && c->flags & NAMED_AXIS) check_participants(c, &r);
    if (case_takes(c, MICA_DTYPE_c128) && has_complex_oracle(c->op) && !(c->flags & LARGE))
        check_dtype(c, MICA_DTYPE_c128);
}
