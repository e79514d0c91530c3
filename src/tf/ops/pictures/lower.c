/* Lowering of projective maps. A place (x, y) of the result is the place
 *
 *   ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k),   k = c0 x + c1 y + 1
 *
 * of the picture, in f32. Where it is outside, the mode says which place stands for it, or that the
 * fill value does. The result is linear in the pictures: sums of gathered pixels. */
#include <string.h>

#include "tf/lower_rules.h"

typedef struct places {
    mica_graph *g;
    mica_tf_shape result;      /* n, height, width, depth */
    int64_t n, height, width;  /* of the pictures */
    mica_value y, x, is_known; /* f32 of shape (n, height, width) of the result; k is not 0 */
} places;

static mica_value number(const places *p, double value) {
    return mica_full_like(p->g, p->x, value);
}

static mica_value iota(const places *p, int64_t axis) {
    return mica_iota(p->g, (mica_ints){p->result.dims, 3}, axis, MICA_DTYPE_f32);
}

/* Coefficient k of each map, for every place. */
static mica_value coefficient(const places *p, mica_value maps, int64_t k) {
    if (mica_value_is_null(maps)) return MICA_NULL_VALUE;
    int64_t n = mica_value_type(maps)->dims[0];
    mica_value column =
        mica_slice(p->g, maps, MICA_INTS(0, k), MICA_INTS(n, k + 1), MICA_INTS(1, 1));
    return mica_broadcast_to(p->g, mica_reshape(p->g, column, MICA_INTS(n, 1, 1)),
                             (mica_ints){p->result.dims, 3});
}

static mica_value linear_form(const places *p, mica_value maps, int64_t k, mica_value rest) {
    mica_graph *g = p->g;
    mica_value sum = mica_add(g, mica_mul(g, coefficient(p, maps, k), iota(p, 2)),
                              mica_mul(g, coefficient(p, maps, k + 1), iota(p, 1)));
    return mica_add(g, sum, rest);
}

static void find_places(places *p, mica_value maps) {
    mica_graph *g = p->g;
    p->x = iota(p, 2);
    mica_value divisor = linear_form(p, maps, 6, number(p, 1.0)), zero = number(p, 0.0);
    p->is_known = mica_compare(g, divisor, zero, "ne");
    mica_value safe = mica_select(g, p->is_known, divisor, number(p, 1.0));
    mica_value x = linear_form(p, maps, 0, coefficient(p, maps, 2));
    mica_value y = linear_form(p, maps, 3, coefficient(p, maps, 5));
    p->x = mica_div(g, x, safe);
    p->y = mica_div(g, y, safe);
}

/* ---- places outside ---------------------------------------------------------------------------*/

static mica_value whole(mica_graph *g, mica_value x) { /* towards zero */
    return mica_mul(g, mica_sign(g, x), mica_floor(g, mica_abs(g, x)));
}

static mica_value when(const places *p, mica_value x, const char *direction, double limit,
                       mica_value then, mica_value otherwise) {
    return mica_select(p->g, mica_compare(p->g, x, number(p, limit), direction), then, otherwise);
}

static mica_value within(const places *p, mica_value x, double size) {
    return mica_min(p->g, mica_max(p->g, x, number(p, 0.0)), number(p, size - 1));
}

/* Mirrored at both borders, whose pixels come twice. */
static mica_value reflected(const places *p, mica_value x, double size) {
    mica_graph *g = p->g;
    mica_value period = number(p, 2 * size), turns = whole(g, mica_div(g, x, period));
    mica_value below = when(p, x, "lt", 2 * size, mica_sub(g, x, mica_mul(g, period, turns)), x);
    below = when(p, below, "lt", -size, mica_add(g, below, period),
                 mica_sub(g, mica_neg(g, below), number(p, 1.0)));
    mica_value above = mica_sub(g, x, mica_mul(g, period, turns));
    above =
        when(p, above, "ge", size, mica_sub(g, mica_sub(g, period, above), number(p, 1.0)), above);
    return when(p, x, "lt", 0, below, when(p, x, "gt", size - 1, above, x));
}

/* Repeated, with a distance of size - 1 deciding how often. */
static mica_value wrapped(const places *p, mica_value x, double size) {
    mica_graph *g = p->g;
    mica_value length = number(p, size), turns = whole(g, mica_div(g, x, number(p, size - 1)));
    mica_value ahead = mica_mul(g, length, mica_add(g, mica_neg(g, turns), number(p, 1.0)));
    mica_value above = mica_sub(g, x, mica_mul(g, length, turns));
    return when(p, x, "lt", 0, mica_add(g, x, ahead), when(p, x, "gt", size - 1, above, x));
}

static mica_value inside(const places *p, mica_value x, int64_t size, const char *mode) {
    if (!strcmp(mode, "CONSTANT")) return x;
    if (strcmp(mode, "NEAREST") && size <= 1)
        return mica_select(p->g, mica_compare(p->g, x, number(p, 0.0), "eq"), x, number(p, 0.0));
    if (!strcmp(mode, "REFLECT")) x = reflected(p, x, (double)size);
    if (!strcmp(mode, "WRAP")) x = wrapped(p, x, (double)size);
    return within(p, x, (double)size);
}

/* ---- pixels -----------------------------------------------------------------------------------*/

/* The pixels at whole places, or the fill value: (n, height, width, depth), of the pictures' dtype.
 */
static mica_value read_pixels(const places *p, mica_value pixels, mica_value y, mica_value x,
                              mica_value fill) {
    mica_graph *g = p->g;
    const mica_tf_shape *r = &p->result;
    mica_value zero = number(p, 0.0);
    mica_value is_in = mica_and(g, mica_compare(g, y, zero, "ge"), mica_compare(g, x, zero, "ge"));
    mica_value last_y = number(p, (double)p->height - 1), last_x = number(p, (double)p->width - 1);
    is_in = mica_and(g, is_in, mica_compare(g, y, last_y, "le"));
    is_in = mica_and(g, is_in, mica_compare(g, x, last_x, "le"));
    int64_t area = p->height * p->width, count = r->dims[0] * r->dims[1] * r->dims[2];
    mica_value row = mica_convert(g, mica_select(g, is_in, y, zero), MICA_DTYPE_i64);
    mica_value column = mica_convert(g, mica_select(g, is_in, x, zero), MICA_DTYPE_i64);
    mica_value which = mica_iota(g, (mica_ints){r->dims, 3}, 0, MICA_DTYPE_i64);
    mica_value at = mica_mul(g, which, mica_full_like(g, which, (double)area));
    at = mica_add(g, at, mica_mul(g, row, mica_full_like(g, row, (double)p->width)));
    at = mica_reshape(g, mica_add(g, at, column), MICA_INTS(count, 1));
    mica_value found = mica_gather(g, pixels, at, MICA_INTS(1), MICA_INTS(0), MICA_NO_INTS,
                                   MICA_NO_INTS, MICA_INTS(0), 1, MICA_INTS(1, r->dims[3]), "clip");
    found = mica_reshape(g, found, (mica_ints){r->dims, 4});
    is_in = mica_broadcast(g, is_in, (mica_ints){r->dims, 4}, MICA_INTS(0, 1, 2));
    return mica_select(g, is_in, found, fill);
}

/* To the nearest, halves away from zero. */
static mica_value rounded(const places *p, mica_value x) {
    mica_graph *g = p->g;
    mica_value low = mica_floor(g, x), part = mica_sub(g, x, low), half = number(p, 0.5);
    mica_value up =
        when(p, x, "ge", 0, mica_compare(g, part, half, "ge"), mica_compare(g, part, half, "gt"));
    return mica_select(g, up, mica_add(g, low, number(p, 1.0)), low);
}

/* low * (1 - part) + high * part, in the dtype of low; `part` is of every place. */
static mica_value between(const places *p, mica_value low, mica_value high, mica_value to_low,
                          mica_value to_high) {
    mica_graph *g = p->g;
    mica_value weights[2] = {to_low, to_high};
    if (mica_value_is_null(low)) return MICA_NULL_VALUE;
    for (int32_t i = 0; i < 2; i++) {
        weights[i] = mica_convert(g, weights[i], mica_value_type(low)->dtype);
        weights[i] =
            mica_broadcast(g, weights[i], (mica_ints){p->result.dims, 4}, MICA_INTS(0, 1, 2));
    }
    return mica_add(g, mica_mul(g, weights[0], low), mica_mul(g, weights[1], high));
}

static mica_value interpolated(const places *p, mica_value pixels, mica_value fill,
                               mica_dtype wide) {
    mica_graph *g = p->g;
    mica_value one = number(p, 1.0), top = mica_floor(g, p->y), left = mica_floor(g, p->x);
    mica_value rows[2] = {top, mica_add(g, top, one)}, lines[2];
    mica_value right = mica_add(g, left, one);
    for (int32_t i = 0; i < 2; i++) {
        mica_value low = mica_convert(g, read_pixels(p, pixels, rows[i], left, fill), wide);
        mica_value high = mica_convert(g, read_pixels(p, pixels, rows[i], right, fill), wide);
        if (mica_value_is_null(low) || mica_value_is_null(high)) return MICA_NULL_VALUE;
        lines[i] = between(p, low, high, mica_sub(g, right, p->x), mica_sub(g, p->x, left));
    }
    return between(p, lines[0], lines[1], mica_sub(g, rows[1], p->y), mica_sub(g, p->y, top));
}

void tf_lower_projective_transform(mica_tf_lowering *c) {
    mica_graph *g = c->g;
    mica_type type = *mica_tf_type(c, 0);
    places p = {.g = g, .n = type.dims[0], .height = type.dims[1], .width = type.dims[2]};
    if (!mica_tf_result_dims(c, &p.result)) return;
    mica_ints dims = {p.result.dims, 4};
    mica_value value = c->n_inputs > 3 ? c->inputs[3] : mica_scalar(g, MICA_DTYPE_f32, 0);
    mica_value fill = mica_broadcast(g, mica_convert(g, value, type.dtype), dims, MICA_NO_INTS);
    c->outputs[0] = fill;
    if (mica_type_elements(&type) == 0) return;
    const char *mode = mica_tf_lowering_string(c, "fill_mode");
    bool is_smooth = !strcmp(mica_tf_lowering_string(c, "interpolation"), "BILINEAR");
    mica_dtype wide = type.dtype == MICA_DTYPE_f64 ? type.dtype : MICA_DTYPE_f32;
    find_places(&p, c->inputs[1]);
    p.y = inside(&p, p.y, p.height, mode);
    p.x = inside(&p, p.x, p.width, mode);
    mica_value pixels =
        mica_reshape(g, c->inputs[0], MICA_INTS(p.n * p.height * p.width, type.dims[3]));
    mica_value found = is_smooth
                           ? mica_convert(g, interpolated(&p, pixels, fill, wide), type.dtype)
                           : read_pixels(&p, pixels, rounded(&p, p.y), rounded(&p, p.x), fill);
    mica_value is_known = mica_broadcast(g, p.is_known, dims, MICA_INTS(0, 1, 2));
    c->outputs[0] = mica_select(g, is_known, found, fill);
}
