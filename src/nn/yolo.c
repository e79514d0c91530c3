/* The loss of YOLO version 2; the formula is in mica/nn.h. Values are (N, A, parts, H, W). */
#include "nn/compose.h"

typedef struct boxes {
    mica_value centre, size, confidence, classes; /* parts 2, 2, 1, C */
} boxes;

typedef struct grid {
    int64_t batch, anchors, classes, height, width;
} grid;

static const char where[] = "yolo_loss";

static boxes take_apart(mica_graph *g, mica_value x, const grid *d) {
    x = mica_reshape(g, x, MICA_INTS(d->batch, d->anchors, 5 + d->classes, d->height, d->width));
    return (boxes){.centre = mica_nn_part(g, x, 2, 0, 2),
                   .size = mica_nn_part(g, x, 2, 2, 4),
                   .confidence = mica_nn_part(g, x, 2, 4, 5),
                   .classes = mica_nn_part(g, x, 2, 5, 5 + d->classes)};
}

static mica_value first_part(mica_graph *g, mica_value x) {
    return mica_nn_part(g, x, 2, 0, 1);
}
static mica_value second_part(mica_graph *g, mica_value x) {
    return mica_nn_part(g, x, 2, 1, 2);
}

static mica_value area(mica_graph *g, mica_value size) {
    return mica_mul(g, first_part(g, size), second_part(g, size));
}

/* common / (a + b - common), 0 where both areas are */
static mica_value overlap(mica_graph *g, mica_value common, mica_value a, mica_value b) {
    mica_value together = mica_sub(g, mica_add(g, a, b), common);
    return mica_nn_arithmetic(g, MICA_NN_DIVIDE_NO_NAN, common, together);
}

/* Of boxes with one centre. */
static mica_value shape_overlap(mica_graph *g, mica_value a, mica_value b) {
    return overlap(g, area(g, mica_min(g, a, b)), area(g, a), area(g, b));
}

static mica_value box_overlap(mica_graph *g, mica_value centre_a, mica_value a, mica_value centre_b,
                              mica_value b) {
    mica_value half_a = mica_nn_scale(g, a, 0.5), half_b = mica_nn_scale(g, b, 0.5);
    mica_value high = mica_min(g, mica_add(g, centre_a, half_a), mica_add(g, centre_b, half_b));
    mica_value low = mica_max(g, mica_sub(g, centre_a, half_a), mica_sub(g, centre_b, half_b));
    mica_value common = mica_max(g, mica_sub(g, high, low), mica_nn_number(g, a, 0));
    return overlap(g, area(g, common), area(g, a), area(g, b));
}

static mica_value total(mica_graph *g, mica_value x) {
    return mica_reduce(g, x, "sum", MICA_INTS(0, 1, 2, 3, 4));
}

static mica_value as_number(mica_graph *g, mica_value truth, mica_value like) {
    return mica_convert(g, truth, mica_nn_type(like).dtype);
}

/* Which anchors answer for the object of their cell, and which should see nothing: 1 or 0. */
static void responsibilities(mica_graph *g, const boxes *truth, mica_value anchors,
                             const mica_nn_yolo_options *o, mica_value *out_present,
                             mica_value *out_absent) {
    mica_value fit = shape_overlap(g, mica_nn_stop_gradient(g, truth->size), anchors);
    mica_value best = mica_nn_reduce_keep(g, fit, "max", MICA_INTS(1));
    mica_value object = mica_nn_reduce_keep(g, truth->confidence, "max", MICA_INTS(1));
    mica_value chosen = mica_or(g, mica_compare(g, fit, best, "eq"),
                                mica_nn_test(g, fit, "gt", o->minimum_iou_for_presence));
    mica_value present = mica_and(g, chosen, mica_nn_test(g, object, "gt", 0.5));
    mica_value absent =
        mica_and(g, mica_nn_test(g, fit, "lt", o->maximum_iou_for_absence), mica_not(g, present));
    *out_present = as_number(g, present, fit);
    *out_absent = as_number(g, absent, fit);
}

/* A loss without reduction. */
static mica_value losses(mica_graph *g, mica_nn_loss_kind kind, mica_value x, mica_value t) {
    mica_nn_loss_options options = MICA_NN_LOSS_OPTIONS;
    options.kind = kind;
    options.reduction = MICA_NN_REDUCE_NONE;
    options.axis = 2;
    return mica_nn_loss(g, x, t, MICA_NULL_VALUE, &options);
}

static mica_value yolo_body(mica_graph *g, mica_value predictions, mica_value labels,
                            mica_value anchors, const grid *d, const mica_nn_yolo_options *o) {
    boxes guess = take_apart(g, predictions, d), truth = take_apart(g, labels, d);
    mica_value present, absent;
    responsibilities(g, &truth, anchors, o, &present, &absent);
    mica_value count = mica_add(g, total(g, present), mica_nn_number(g, present, 1e-4));

    mica_value centre = mica_logistic(g, guess.centre);
    mica_value away = losses(g, MICA_NN_MEAN_SQUARED_ERROR, centre, truth.centre);
    mica_value position = mica_div(g, total(g, mica_mul(g, away, present)), count);

    mica_value ratio = mica_div(g, truth.size, anchors);
    mica_value target = mica_log(g, mica_add(g, ratio, mica_nn_number(g, ratio, 1e-5)));
    mica_value size = losses(g, MICA_NN_HUBER, guess.size, target);
    size = mica_div(g, total(g, mica_mul(g, size, present)), mica_nn_scale(g, count, 2));

    mica_value goal = present;
    if (o->rescores) {
        mica_value box = mica_mul(g, mica_exp(g, guess.size), anchors);
        mica_value fit = box_overlap(g, centre, box, truth.centre, truth.size);
        goal = mica_mul(g, goal, mica_nn_stop_gradient(g, fit));
    }
    mica_value doubt = losses(g, MICA_NN_SIGMOID_CROSS_ENTROPY, guess.confidence, goal);
    mica_value weight = mica_add(g, mica_nn_scale(g, present, o->object_scale),
                                 mica_nn_scale(g, absent, o->no_object_scale));
    mica_value confidence = total(g, mica_mul(g, doubt, weight));

    mica_value sum = mica_nn_scale(g, position, o->position_scale);
    sum = mica_add(g, sum, mica_nn_scale(g, size, o->size_scale));
    double cells = (double)(d->batch * d->height * d->width);
    sum = mica_add(g, sum, mica_nn_scale(g, confidence, 1 / cells));
    if (d->classes == 0) return sum;
    mica_value kind = losses(g, MICA_NN_SOFTMAX_CROSS_ENTROPY, guess.classes, truth.classes);
    kind = mica_div(g, total(g, mica_mul(g, kind, present)), count);
    return mica_add(g, sum, mica_nn_scale(g, kind, o->class_scale));
}

/* Anchor boxes as (1, A, 2, 1, 1) */
static mica_value anchor_sizes(mica_graph *g, const mica_nn_yolo_options *o, mica_dtype dtype) {
    mica_type type = mica_type_make(MICA_DTYPE_f32, MICA_INTS(1, o->anchor_count, 2, 1, 1));
    mica_value anchors = mica_constant(g, (mica_data){&type, o->anchor_boxes});
    return dtype == MICA_DTYPE_f32 ? anchors : mica_convert(g, anchors, dtype);
}

mica_value mica_nn_yolo_loss(mica_graph *g, mica_value predictions, mica_value labels,
                             const mica_nn_yolo_options *options) {
    mica_composite c;
    mica_value out = MICA_NULL_VALUE, operands[] = {predictions, labels};
    if (!mica_nn_check_options(g, where, options, sizeof *options) ||
        !mica_nn_check(g, where, operands, 2, 0, true))
        return out;
    mica_type type = mica_nn_type(predictions), label_type = mica_nn_type(labels);
    int64_t n = options->anchor_count;
    if (n < 1 || !options->anchor_boxes || type.rank != 4 || type.dims[1] % n ||
        type.dims[1] / n < 5 || !mica_type_equal(&type, &label_type)) {
        MICA_NN_FAIL(g,
                     "[yolo_loss] predictions %s and labels %s must be (N, A (5 + classes), H, W) "
                     "with %lld anchor boxes",
                     mica_nn_type_text(&type).chars, mica_nn_type_text(&label_type).chars,
                     (long long)n);
        return out;
    }
    grid d = {type.dims[0], n, type.dims[1] / n - 5, type.dims[2], type.dims[3]};
    if (!mica_composite_begin(&c, g, "yolo_loss", operands, 2)) return out;
    mica_value anchors = anchor_sizes(c.body, options, type.dtype);
    mica_composite_result(&c, yolo_body(c.body, c.in[0], c.in[1], anchors, &d, options));
    mica_composite_end(&c, false, &out, "anchors=%lld", (long long)n);
    return out;
}
