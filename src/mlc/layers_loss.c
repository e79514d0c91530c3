/* Loss layers. */
#include <string.h>

#include "mlc/objects.h"

mica_status mlc_loss_layer_create(const mlc_loss_descriptor *d, mlc_tensor *weights,
                                  mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    mlc_layer *layer = NULL;
    *out_layer = NULL;
    if (!d) return MICA_INVALID("[Loss] the descriptor is NULL");
    if (d->size != sizeof *d)
        return MICA_INVALID("[Loss] the descriptor's size is %zu, expected %zu", d->size,
                            sizeof *d);
    if (!mlc_loss_type_description(d->type))
        return MICA_INVALID("[Loss] %d is not a type of loss", (int)d->type);
    if (d->reduction != MLC_REDUCTION_NONE && d->reduction != MLC_REDUCTION_SUM &&
        d->reduction != MLC_REDUCTION_MEAN && d->reduction != MLC_REDUCTION_MAX &&
        d->reduction != MLC_REDUCTION_MIN)
        return MICA_INVALID("[Loss] the reduction is None, Sum, Mean, Max or Min, not %s",
                            mlc_reduction_type_description(d->reduction)
                                ? mlc_reduction_type_description(d->reduction)
                                : "an unknown one");
    if (!(d->label_smoothing >= 0 && d->label_smoothing <= 1) || d->class_count < 1 ||
        !(d->epsilon >= 0) || !(d->delta > 0) || d->weight != d->weight)
        return MICA_INVALID(
            "[Loss] weight %g, label smoothing %g, %lld classes, epsilon %g, delta "
            "%g: smoothing must be 0 to 1, classes at least 1, epsilon at least 0, delta above 0",
            (double)d->weight, (double)d->label_smoothing, (long long)d->class_count,
            (double)d->epsilon, (double)d->delta);
    if (weights && !mlc_data_type_is_float(weights->descriptor->data_type))
        return MICA_INVALID("[Loss] the weights are %s; they must be Float32 or Float16",
                            mlc_data_type_description(weights->descriptor->data_type));
    MICA_TRY(mlc_layer_make(MLC_LOSS_LAYER, &layer));
    layer->as.loss = *d;
    return mlc_layer_finish(layer, mlc_layer_hold_one(layer, MLC_ROLE_WEIGHTS, weights), out_layer);
}

mica_status mlc_loss_layer_softmax_cross_entropy(mlc_reduction_type reduction,
                                                 float label_smoothing, int64_t class_count,
                                                 float weight, mlc_tensor *weights,
                                                 mlc_layer **out_layer) {
    mlc_loss_descriptor d = mlc_loss_descriptor_make_classes(
        MLC_LOSS_SOFTMAX_CROSS_ENTROPY, reduction, weight, label_smoothing, class_count);
    return mlc_loss_layer_create(&d, weights, out_layer);
}

mica_status mlc_loss_layer_categorical_cross_entropy(mlc_reduction_type reduction,
                                                     float label_smoothing, int64_t class_count,
                                                     float weight, mlc_tensor *weights,
                                                     mlc_layer **out_layer) {
    mlc_loss_descriptor d = mlc_loss_descriptor_make_classes(
        MLC_LOSS_CATEGORICAL_CROSS_ENTROPY, reduction, weight, label_smoothing, class_count);
    return mlc_loss_layer_create(&d, weights, out_layer);
}

mica_status mlc_loss_layer_sigmoid_cross_entropy(mlc_reduction_type reduction,
                                                 float label_smoothing, float weight,
                                                 mlc_tensor *weights, mlc_layer **out_layer) {
    mlc_loss_descriptor d = mlc_loss_descriptor_make_classes(MLC_LOSS_SIGMOID_CROSS_ENTROPY,
                                                             reduction, weight, label_smoothing, 1);
    return mlc_loss_layer_create(&d, weights, out_layer);
}

mica_status mlc_loss_layer_log(mlc_reduction_type reduction, float epsilon, float weight,
                               mlc_tensor *weights, mlc_layer **out_layer) {
    mlc_loss_descriptor d = mlc_loss_descriptor_make_weight(MLC_LOSS_LOG, reduction, weight);
    d.epsilon = epsilon;
    return mlc_loss_layer_create(&d, weights, out_layer);
}

mica_status mlc_loss_layer_huber(mlc_reduction_type reduction, float delta, float weight,
                                 mlc_tensor *weights, mlc_layer **out_layer) {
    mlc_loss_descriptor d = mlc_loss_descriptor_make_weight(MLC_LOSS_HUBER, reduction, weight);
    d.delta = delta;
    return mlc_loss_layer_create(&d, weights, out_layer);
}

#define PLAIN(name, type)                                                                          \
    mica_status mlc_loss_layer_##name(mlc_reduction_type reduction, float weight,                  \
                                      mlc_tensor *weights, mlc_layer **out_layer) {                \
        mlc_loss_descriptor d = mlc_loss_descriptor_make_weight(type, reduction, weight);          \
        return mlc_loss_layer_create(&d, weights, out_layer);                                      \
    }
PLAIN(mean_absolute_error, MLC_LOSS_MEAN_ABSOLUTE_ERROR)
PLAIN(mean_squared_error, MLC_LOSS_MEAN_SQUARED_ERROR)
PLAIN(hinge, MLC_LOSS_HINGE)
PLAIN(cosine_distance, MLC_LOSS_COSINE_DISTANCE)

mica_status mlc_yolo_loss_layer_create(const mlc_yolo_loss_descriptor *d, mlc_layer **out_layer) {
    MICA_GIVEN(out_layer);
    mlc_layer *layer = NULL;
    *out_layer = NULL;
    if (!d) return MICA_INVALID("[YOLOLoss] the descriptor is NULL");
    if (d->size != sizeof *d)
        return MICA_INVALID("[YOLOLoss] the descriptor's size is %zu, expected %zu", d->size,
                            sizeof *d);
    if (!d->anchor_boxes || d->anchor_box_count < 1 || d->anchor_box_count > 4096)
        return MICA_INVALID("[YOLOLoss] %lld anchor boxes: 1 to 4096 are needed",
                            (long long)d->anchor_box_count);
    for (int64_t i = 0; i < 2 * d->anchor_box_count; i++)
        if (!(d->anchor_boxes[i] > 0))
            return MICA_INVALID("[YOLOLoss] anchor box %lld has the size %g: sizes must be above 0",
                                (long long)(i / 2), (double)d->anchor_boxes[i]);
    MICA_TRY(mlc_layer_make(MLC_YOLO_LOSS_LAYER, &layer));
    size_t bytes = (size_t)(2 * d->anchor_box_count) * sizeof *layer->anchor_boxes;
    layer->anchor_boxes = mica_alloc(bytes);
    layer->as.yolo = *d;
    layer->as.yolo.anchor_boxes = layer->anchor_boxes;
    if (!layer->anchor_boxes) return mlc_layer_finish(layer, MICA_NO_MEMORY(), out_layer);
    memcpy(layer->anchor_boxes, d->anchor_boxes, bytes);
    return mlc_layer_finish(layer, NULL, out_layer);
}
