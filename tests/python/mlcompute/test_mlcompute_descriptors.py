"""Descriptors and optimizers of mlcompute: every field, every form, every default."""

import copy

import mlcompute as mlc
import numpy as np
import pytest


def values(descriptor, names: str) -> list:
    return [getattr(descriptor, name) for name in names.split()]


def test_an_activation_descriptor_has_its_defaults():
    d = mlc.activation_descriptor
    made = d("sigmoid")
    assert made.activation_type is mlc.activation_type.SIGMOID
    assert values(made, "a b c") == [1, 1, 1]
    assert d("relu").a == 0 and d("linear").b == 0
    assert values(d("HardSigmoid"), "a b") == pytest.approx([0.2, 0.5])
    assert d("HardShrink").a == d("SoftShrink").a == 0.5
    assert values(d("relu", 0.25), "a b c") == [0.25, 1, 1]
    assert values(d("linear", 2, 3), "a b c") == [2, 3, 1]
    assert values(d("linear", 2, 3, 4), "a b c") == [2, 3, 4]


CONVOLUTION = (
    "convolution_type kernel_height kernel_width input_feature_channel_count "
    "output_feature_channel_count group_count stride_in_y stride_in_x dilation_rate_in_y "
    "dilation_rate_in_x padding_policy padding_size_in_y padding_size_in_x"
)
STANDARD, TRANSPOSED, DEPTHWISE = mlc.convolution_type
SAME, VALID, SIZED = mlc.padding_policy


def test_a_convolution_descriptor_of_a_type_has_every_field():
    made = mlc.convolution_descriptor(
        "Standard", [3, 5], 4, 6, 2, [1, 2], [3, 4], "UsePaddingSize", [7, 8]
    )
    assert values(made, CONVOLUTION) == [STANDARD, 3, 5, 4, 6, 2, 1, 2, 3, 4, SIZED, 7, 8]
    assert made.is_convolution_transpose is False and made.uses_depthwise_convolution is False
    plain = mlc.convolution_descriptor("Transposed", 3, 4, 6)
    assert values(plain, CONVOLUTION) == [TRANSPOSED, 3, 3, 4, 6, 1, 1, 1, 1, 1, SAME, 0, 0]
    assert plain.is_convolution_transpose is True


def test_a_convolution_descriptor_has_its_other_forms():
    make = mlc.convolution_descriptor.descriptor
    short = make(5, 3, 4, 6)
    assert values(short, CONVOLUTION) == [STANDARD, 3, 5, 4, 6, 1, 1, 1, 1, 1, SAME, 0, 0]
    long = make(
        None, None, 4, 6, kernel_sizes=[3, 5], group_count=2, strides=[1, 2], dilation_rates=[3, 4],
        padding_policy="Valid", padding_sizes=[7, 8],
    )  # fmt: skip
    assert values(long, CONVOLUTION) == [STANDARD, 3, 5, 4, 6, 2, 1, 2, 3, 4, VALID, 7, 8]


def test_a_descriptor_of_a_transposed_convolution_has_both_forms():
    make = mlc.convolution_descriptor.convolution_transpose_descriptor
    short = make(5, 3, 4, 6)
    assert values(short, CONVOLUTION) == [TRANSPOSED, 3, 5, 4, 6, 1, 1, 1, 1, 1, SAME, 0, 0]
    assert short.is_convolution_transpose is True and short.uses_depthwise_convolution is False
    long = make(
        None, None, 4, 6, kernel_sizes=[3, 5], group_count=2, strides=[1, 2], dilation_rates=[3, 4],
        padding_policy="UsePaddingSize", padding_sizes=[1, 2],
    )  # fmt: skip
    assert values(long, CONVOLUTION) == [TRANSPOSED, 3, 5, 4, 6, 2, 1, 2, 3, 4, SIZED, 1, 2]


def test_a_descriptor_of_a_depthwise_convolution_has_both_forms():
    make = mlc.convolution_descriptor.depthwise_convolution_descriptor
    short = make(5, 3, 4, 2)
    assert values(short, CONVOLUTION)[:5] == [DEPTHWISE, 3, 5, 4, 8]
    assert short.uses_depthwise_convolution is True and short.is_convolution_transpose is False
    long = make(
        None, None, 4, 3, kernel_sizes=[3, 5], strides=[1, 2], dilation_rates=[3, 4],
        padding_policy="Valid", padding_sizes=[5, 6],
    )  # fmt: skip
    wanted = [DEPTHWISE, 3, 5, 4, 12, long.group_count, 1, 2, 3, 4, VALID, 5, 6]
    assert values(long, CONVOLUTION) == wanted


POOLING = (
    "pooling_type kernel_height kernel_width stride_in_y stride_in_x dilation_rate_in_y "
    "dilation_rate_in_x padding_policy padding_size_in_y padding_size_in_x count_includes_padding"
)


def test_a_pooling_descriptor_has_every_form():
    d, kinds = mlc.pooling_descriptor, mlc.pooling_type
    square = d("Average", 3, 2)
    assert values(square, POOLING) == [kinds.AVERAGE, 3, 3, 2, 2, 1, 1, SAME, 0, 0, False]
    rest = ([3, 5], [1, 2], "UsePaddingSize", [6, 7])
    made = d.max_pooling_descriptor(*rest, [3, 4])
    assert values(made, POOLING) == [kinds.MAX, 3, 5, 1, 2, 3, 4, SIZED, 6, 7, False]
    assert d.max_pooling_descriptor(*rest).dilation_rate_in_x == 1
    made = d.average_pooling_descriptor(*rest, True, [3, 4])
    assert values(made, POOLING) == [kinds.AVERAGE, 3, 5, 1, 2, 3, 4, SIZED, 6, 7, True]
    made = d.l2_norm_pooling_descriptor(*rest, [3, 4])
    assert values(made, POOLING) == [kinds.L2_NORM, 3, 5, 1, 2, 3, 4, SIZED, 6, 7, False]


LOSS = "loss_type reduction_type weight label_smoothing class_count epsilon delta"


def test_a_loss_descriptor_has_every_form():
    huber, mean = mlc.loss_type.HUBER, mlc.reduction_type.MEAN
    d = mlc.loss_descriptor
    small = pytest.approx(1e-7)
    assert values(d("Huber", "Mean"), LOSS) == [huber, mean, 1, 0, 1, small, 1]
    assert values(d("Huber", "Mean", 0.5), LOSS) == [huber, mean, 0.5, 0, 1, small, 1]
    wanted = [huber, mean, 0.5, 0.25, 7, small, 1]
    assert values(d("Huber", "Mean", 0.5, 0.25, 7), LOSS) == wanted
    wanted = [huber, mean, 0.5, 0.25, 7, 0.125, 2]
    assert values(d("Huber", "Mean", 0.5, 0.25, 7, 0.125, 2), LOSS) == wanted


def test_a_yolo_descriptor_has_its_defaults_and_takes_others():
    boxes = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    made = mlc.yolo_loss_descriptor(boxes)
    assert made.anchor_box_count == 3 and (made.anchor_boxes == boxes).all()
    names = (
        "should_rescore scale_spatial_position_loss scale_spatial_size_loss "
        "scale_no_object_confidence_loss scale_object_confidence_loss scale_class_loss "
        "minimum_iou_for_object_presence maximum_iou_for_object_absence"
    )
    assert values(made, names) == pytest.approx([True, 10, 10, 5, 100, 2, 0.7, 0.3])
    for i, name in enumerate(names.split()[1:]):
        setattr(made, name, i + 0.5)
    made.should_rescore = False
    assert values(made, names) == [False, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]
    assert values(copy.copy(made), names) == values(made, names)
    kept = mlc.yolo_loss_layer(made_valid(made)).yolo_loss_descriptor
    assert kept.scale_class_loss == 4.5 and (kept.anchor_boxes == boxes).all()


def made_valid(descriptor):
    descriptor.minimum_iou_for_object_presence = 0.7
    descriptor.maximum_iou_for_object_absence = 0.3
    return descriptor


LSTM = (
    "input_size hidden_size layer_count uses_biases batch_first is_bidirectional "
    "returns_sequences dropout result_mode"
)


def test_an_lstm_descriptor_has_every_form():
    d, (output, states) = mlc.lstm_descriptor, mlc.lstm_result_mode
    assert values(d(2, 3, 4), LSTM) == [2, 3, 4, True, True, False, True, 0, output]
    made = d(2, 3, 4, uses_biases=False, is_bidirectional=True, dropout=0.5)
    assert values(made, LSTM) == [2, 3, 4, False, True, True, True, 0.5, output]
    made = d(2, 3, 4, False, True, 0.5, False, False, "OutputAndStates")
    assert values(made, LSTM) == [2, 3, 4, False, False, True, False, 0.5, states]


ATTENTION = (
    "model_dimension key_dimension value_dimension head_count dropout has_biases "
    "has_attention_biases adds_zero_attention"
)


def test_an_attention_descriptor_has_both_forms():
    d = mlc.multihead_attention_descriptor
    assert values(d(6, 2), ATTENTION) == [6, 6, 6, 2, 0, True, False, False]
    made = d(6, 2, 3, 4, 0.5, False, True, True)
    assert values(made, ATTENTION) == [6, 3, 4, 2, 0.5, False, True, True]


EMBEDDING = (
    "embedding_count embedding_dimension padding_index maximum_norm p_norm "
    "scales_gradient_by_frequency"
)


def test_an_embedding_descriptor_has_both_forms():
    d = mlc.embedding_descriptor
    assert values(d(5, 3), EMBEDDING) == [5, 3, None, None, 2, False]
    assert values(d(5, 3, 1, 0.5, 1.5, True), EMBEDDING) == [5, 3, 1, 0.5, 1.5, True]


def test_a_matmul_descriptor_has_both_forms():
    d = mlc.matmul_descriptor
    assert values(d(), "alpha transposes_x transposes_y") == [1, False, False]
    made = copy.deepcopy(d(0.5, True, True))
    assert values(made, "alpha transposes_x transposes_y") == [0.5, True, True]
    assert made == d(0.5, True, True) and made != d()


OPTIMIZER = (
    "learning_rate gradient_rescale regularization_type regularization_scale "
    "applies_gradient_clipping gradient_clip_max gradient_clip_min gradient_clipping_type "
    "maximum_clipping_norm custom_global_norm"
)
BY_VALUE, BY_NORM, BY_GLOBAL_NORM = mlc.gradient_clipping_type
NONE, L1, L2 = mlc.regularization_type


def test_an_optimizer_descriptor_has_every_form():
    d = mlc.optimizer_descriptor
    made = d(0.5, 2.0, "L1", 0.25)
    assert values(made, OPTIMIZER) == [0.5, 2, L1, 0.25, False, 1, -1, BY_VALUE, 1, 0]
    clip = {"gradient_clip_max": 3, "gradient_clip_min": -4}
    made = d(0.5, 2.0, "L2", 0.25, applies_gradient_clipping=True, **clip)
    assert values(made, OPTIMIZER) == [0.5, 2, L2, 0.25, True, 3, -4, BY_VALUE, 1, 0]
    made = d(
        0.5, 2.0, "L2", 0.25, applies_gradient_clipping=True, **clip,
        gradient_clipping_type="ByGlobalNorm", maximum_clipping_norm=5, custom_global_norm=6,
    )  # fmt: skip
    assert values(made, OPTIMIZER) == [0.5, 2, L2, 0.25, True, 3, -4, BY_GLOBAL_NORM, 5, 6]


def every_field():
    return mlc.optimizer_descriptor(
        0.5, 2.0, "L2", 0.25, applies_gradient_clipping=True, gradient_clip_max=3,
        gradient_clip_min=-4, gradient_clipping_type="ByNorm", maximum_clipping_norm=5,
        custom_global_norm=6,
    )  # fmt: skip


def test_an_optimizer_keeps_its_descriptor():
    made = mlc.sgd_optimizer(every_field())
    assert values(made, OPTIMIZER) == [0.5, 2, L2, 0.25, True, 3, -4, BY_NORM, 5, 6]
    made.learning_rate = 0.125
    made.applies_gradient_clipping = False
    assert made.learning_rate == 0.125 and made.applies_gradient_clipping is False
    other = made.copy()
    assert type(other) is mlc.sgd_optimizer and other.learning_rate == 0.125
    other.learning_rate = 7
    assert made.learning_rate == 0.125


def test_sgd_has_momentum():
    d = mlc.optimizer_descriptor(0.5)
    plain = mlc.sgd_optimizer(d)
    assert values(plain, "momentum_scale uses_nesterov_momentum state_count") == [0, False, 0]
    made = mlc.sgd_optimizer(d, 0.5, True)
    assert values(made, "momentum_scale uses_nesterov_momentum state_count") == [0.5, True, 1]


@pytest.mark.parametrize("cls", [mlc.adam_optimizer, mlc.adamw_optimizer])
def test_adam_and_adamw_have_their_constants(cls):
    d, names = mlc.optimizer_descriptor(0.5), "beta1 beta2 epsilon uses_amsgrad time_step"
    assert values(cls(d), names) == pytest.approx([0.9, 0.999, 1e-8, False, 1])
    made = cls(d, beta1=0.5, beta2=0.75, epsilon=0.25, uses_amsgrad=True, time_step=9)
    assert values(made, names) == [0.5, 0.75, 0.25, True, 9]
    assert made.state_count == 3 and cls(d).state_count == 2
    assert cls(d, 0.5, 0.75, 0.25).time_step == 1


def test_rmsprop_has_its_constants():
    d, names = mlc.optimizer_descriptor(0.5), "momentum_scale alpha epsilon is_centered"
    assert values(mlc.rmsprop_optimizer(d), names) == pytest.approx([0, 0.99, 1e-8, False])
    made = mlc.rmsprop_optimizer(d, 0.5, 0.75, 0.25, True)
    assert values(made, names) == [0.5, 0.75, 0.25, True]
