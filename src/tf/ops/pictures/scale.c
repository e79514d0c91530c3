/* Lowerings of pictures that are scaled and moved, with a filter that TensorFlow's name says: each
 * axis is a product with a matrix of weights. The scale may be known at run time only, so that the
 * weights are computed by the graph. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "tf/lower_rules.h"

typedef struct axis {
    mica_graph *g;
    int64_t size, wanted;
    mica_value scale, translation; /* of shape (1,) */
} axis;

static mica_value number(const axis *a, double value) {
    return mica_scalar(a->g, MICA_DTYPE_f32, value);
}

/* ((c[0] x + c[1]) x + c[2]) x + c[3] */
static mica_value cubic(const axis *a, mica_value x, const double c[4]) {
    mica_value y = number(a, c[0]);
    for (int i = 1; i < 4; i++) y = mica_add(a->g, mica_mul(a->g, y, x), number(a, c[i]));
    return y;
}

/* One cubic below 1, another one below 2. */
static mica_value cubics(const axis *a, mica_value x, const double near[4], const double far[4]) {
    mica_value is_near = mica_compare(a->g, x, mica_full_like(a->g, x, 1), "lt");
    mica_value is_out = mica_compare(a->g, x, mica_full_like(a->g, x, 2), "ge");
    mica_value y = mica_select(a->g, is_near, cubic(a, x, near), cubic(a, x, far));
    return mica_select(a->g, is_out, mica_zeros_like(a->g, x), y);
}

static mica_value keys(const axis *a, mica_value x) {
    return cubics(a, x, (const double[]){1.5, -2.5, 0, 1}, (const double[]){-0.5, 2.5, -4, 2});
}

static mica_value mitchell(const axis *a, mica_value x) {
    return cubics(a, x, (const double[]){7.0 / 6, -2, 0, 8.0 / 9},
                  (const double[]){-7.0 / 18, 2, -10.0 / 3, 16.0 / 9});
}

static mica_value triangle(const axis *a, mica_value x) {
    return mica_max(a->g, mica_sub(a->g, number(a, 1), x), mica_zeros_like(a->g, x));
}

static mica_value box(const axis *a, mica_value x) {
    mica_graph *g = a->g;
    mica_value half = mica_full_like(g, x, 0.5), zero = mica_zeros_like(g, x);
    mica_value edge = mica_select(g, mica_compare(g, x, half, "eq"), half, zero);
    return mica_select(g, mica_compare(g, x, half, "lt"), mica_full_like(g, x, 1), edge);
}

static mica_value gaussian(const axis *a, mica_value x) {
    mica_graph *g = a->g;
    mica_value y = mica_exp(g, mica_mul(g, mica_mul(g, x, x), number(a, -2)));
    mica_value is_out = mica_compare(g, x, mica_full_like(g, x, 1.5), "ge");
    return mica_select(g, is_out, mica_zeros_like(g, x), y);
}

static mica_value lanczos(const axis *a, mica_value x, double radius) {
    mica_graph *g = a->g;
    const double pi = 3.14159265358979323846;
    mica_value one = mica_full_like(g, x, 1);
    mica_value is_middle = mica_compare(g, x, mica_full_like(g, x, 1e-3), "le");
    mica_value is_out = mica_compare(g, x, mica_full_like(g, x, radius), "gt");
    mica_value angle = mica_mul(g, mica_select(g, is_middle, one, x), number(a, pi));
    mica_value slow = mica_sin(g, mica_div(g, angle, number(a, radius)));
    mica_value y = mica_mul(g, mica_mul(g, mica_sin(g, angle), slow), number(a, radius));
    y = mica_select(g, is_middle, one, mica_div(g, y, mica_mul(g, angle, angle)));
    return mica_select(g, is_out, mica_zeros_like(g, x), y);
}

static mica_value lanczos1(const axis *a, mica_value x) {
    return lanczos(a, x, 1);
}

static mica_value lanczos3(const axis *a, mica_value x) {
    return lanczos(a, x, 3);
}

static mica_value lanczos5(const axis *a, mica_value x) {
    return lanczos(a, x, 5);
}

typedef struct filter {
    const char *name;
    float radius;
    mica_value (*at)(const axis *a, mica_value x); /* of a distance, at least 0 */
} filter;

static const filter filters[] = {
    {"lanczos1", 1, lanczos1}, {"lanczos3", 3, lanczos3},
    {"lanczos5", 5, lanczos5}, {"gaussian", 1.5, gaussian},
    {"box", 1, box},           {"triangle", 1, triangle},
    {"keyscubic", 2, keys},    {"mitchellcubic", 2, mitchell},
};

static mica_value rounded_within(const axis *a, mica_value x) {
    mica_value last = number(a, (double)(a->size - 1));
    return mica_min(a->g, mica_max(a->g, x, number(a, 0)), last);
}

/* The matrix (wanted, size). A pixel of the result whose middle is outside of the picture is 0; of
 * a scale that is not above 0 all are NaN. */
static mica_value weights_of(const axis *a, const filter *f, bool antialias) {
    mica_graph *g = a->g;
    mica_value one = number(a, 1), half = number(a, 0.5), zero = number(a, 0);
    mica_value row = mica_iota(g, MICA_INTS(a->wanted, 1), 0, MICA_DTYPE_f32);
    mica_value place = mica_iota(g, MICA_INTS(1, a->size), 1, MICA_DTYPE_f32);
    mica_value inverse = mica_div(g, one, a->scale);
    mica_value middle = mica_sub(g, mica_mul(g, mica_add(g, row, half), inverse),
                                 mica_mul(g, inverse, a->translation));
    mica_value stretch = antialias ? mica_max(g, inverse, one) : one;
    mica_value reach = mica_mul(g, stretch, number(a, f->radius));
    mica_value first = mica_ceil(g, mica_sub(g, mica_sub(g, middle, reach), half));
    mica_value last = mica_floor(g, mica_sub(g, mica_add(g, middle, reach), half));
    mica_value distance = mica_sub(g, mica_add(g, place, half), middle);
    mica_value weights = f->at(a, mica_abs(g, mica_div(g, distance, stretch)));
    const mica_type *type = mica_value_type(weights);
    if (!type) return MICA_NULL_VALUE;
    mica_value counts = mica_and(g, mica_compare(g, place, rounded_within(a, first), "ge"),
                                 mica_compare(g, place, rounded_within(a, last), "le"));
    mica_value size = number(a, (double)a->size);
    mica_value is_inside =
        mica_and(g, mica_compare(g, middle, zero, "ge"), mica_compare(g, middle, size, "le"));
    weights = mica_select(g, mica_and(g, counts, is_inside), weights, mica_zeros_like(g, weights));
    mica_value total = mica_reduce(g, weights, "sum", MICA_INTS(1));
    total = mica_reshape(g, total, MICA_INTS(a->wanted, 1));
    mica_value is_some = mica_compare(g, mica_abs(g, total), number(a, 1000.0 * FLT_MIN), "ge");
    weights = mica_div(g, weights, mica_select(g, is_some, total, mica_full_like(g, total, 1)));
    weights = mica_mul(g, weights, mica_convert(g, is_some, MICA_DTYPE_f32));
    mica_value is_scale = mica_compare(g, a->scale, mica_zeros_like(g, a->scale), "gt");
    mica_value nan = mica_full_like(g, weights, NAN);
    return mica_select(g, mica_broadcast_to(g, is_scale, MICA_INTS(a->wanted, a->size)), weights,
                       nan);
}

/* Weights of the height (k 0) or the width (1). Inputs 2 and 3 are scale and translation. */
static mica_value axis_weights(mica_tf_lowering *c, int64_t k, int64_t size, int64_t wanted) {
    const char *name = mica_tf_lowering_string(c, "kernel_type");
    const filter *f = NULL;
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (!strcmp(filters[i].name, name)) f = &filters[i];
    if (!f) {
        MICA_TF_FAIL(c, "[%s] Unrecognized kernel type: %s", c->info->name, name);
        return MICA_NULL_VALUE;
    }
    axis a = {.g = c->g, .size = size, .wanted = wanted};
    a.scale = mica_slice(c->g, c->inputs[2], MICA_INTS(k), MICA_INTS(k + 1), MICA_INTS(1));
    a.translation = mica_slice(c->g, c->inputs[3], MICA_INTS(k), MICA_INTS(k + 1), MICA_INTS(1));
    return weights_of(&a, f, mica_tf_lowering_int(c, "antialias") != 0);
}

/* The product of a matrix, along its axis `with`, and the height or the width of pictures. */
static mica_value along(mica_graph *g, mica_value weights, int64_t with, mica_value x, int64_t k) {
    static const int64_t height[] = {1, 0, 2, 3}, width[] = {1, 2, 0, 3};
    mica_value y =
        mica_dot(g, weights, x, MICA_INTS(with), MICA_INTS(k), MICA_NO_INTS, MICA_NO_INTS);
    return mica_transpose(g, y, (mica_ints){k == 1 ? height : width, 4});
}

void tf_lower_scale_and_translate(mica_tf_lowering *c) {
    mica_tf_shape shape;
    if (!mica_tf_result_dims(c, &shape)) return;
    const mica_type type = *mica_tf_type(c, 0);
    mica_value x = mica_convert(c->g, c->inputs[0], MICA_DTYPE_f32);
    x = along(c->g, axis_weights(c, 0, type.dims[1], shape.dims[1]), 1, x, 1);
    c->outputs[0] = along(c->g, axis_weights(c, 1, type.dims[2], shape.dims[2]), 1, x, 2);
}

/* Inputs: the gradients, the original picture, of which only the size counts. */
void tf_lower_scale_and_translate_grad(mica_tf_lowering *c) {
    const mica_type dy = *mica_tf_type(c, 0), x = *mica_tf_type(c, 1);
    mica_value y = along(c->g, axis_weights(c, 0, x.dims[1], dy.dims[1]), 0, c->inputs[0], 1);
    c->outputs[0] = along(c->g, axis_weights(c, 1, x.dims[2], dy.dims[2]), 0, y, 2);
}
