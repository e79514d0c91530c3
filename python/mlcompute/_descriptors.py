"""Descriptors of layers, and optimizers.

Pairs such as kernel sizes, strides, dilation rates and padding sizes are [y, x]; one number is
both. Without strides or dilation rates they are 1, without padding sizes 0.
"""

import numpy as np

from . import _mlcompute as _c
from ._core import Base, Descriptor, public, struct


@struct("mlc_activation_descriptor")
class activation_descriptor(Descriptor):
    """A function of one number, with up to three constants (see `activation_type`).

    Those not given are 1, except: ReLU a = 0, Linear b = 0, HardSigmoid a = 0.2 b = 0.5,
    HardShrink and SoftShrink a = 0.5.
    """

    def __init__(self, type, a=None, b=None, c=None):
        given = [value for value in (a, b, c) if value is not None]
        if given != [a, b, c][: len(given)]:
            raise ValueError("[activation_descriptor] b needs a, and c needs a and b")
        make = (
            _c.mlc_activation_descriptor_make,
            _c.mlc_activation_descriptor_make_a,
            _c.mlc_activation_descriptor_make_ab,
            _c.mlc_activation_descriptor_make_abc,
        )[len(given)]
        self._fields = make(type, *given)


@struct("mlc_convolution_descriptor")
class convolution_descriptor(Descriptor):
    """Sizes of a convolution or of a fully connected layer."""

    def __init__(
        self,
        type="Standard",
        kernel_sizes=None,
        input_feature_channel_count=None,
        output_feature_channel_count=None,
        group_count=1,
        strides=None,
        dilation_rates=None,
        padding_policy="Same",
        padding_sizes=None,
    ):
        self._fields = _c.mlc_convolution_descriptor_make_type(
            type, kernel_sizes, input_feature_channel_count, output_feature_channel_count,
            group_count, strides, dilation_rates, padding_policy, padding_sizes,
        )  # fmt: skip

    @classmethod
    def descriptor(
        cls,
        kernel_width=None,
        kernel_height=None,
        input_feature_channel_count=None,
        output_feature_channel_count=None,
        *,
        kernel_sizes=None,
        group_count=1,
        strides=None,
        dilation_rates=None,
        padding_policy="Same",
        padding_sizes=None,
    ):
        """Return a standard convolution, by kernel_width and kernel_height or kernel_sizes."""
        channels = (input_feature_channel_count, output_feature_channel_count)
        if kernel_sizes is None:
            return cls._from(
                _c.mlc_convolution_descriptor_make(kernel_width, kernel_height, *channels)
            )
        return cls._from(
            _c.mlc_convolution_descriptor_make_sizes(
                kernel_sizes, *channels, group_count, strides, dilation_rates, padding_policy,
                padding_sizes,
            )
        )  # fmt: skip

    @classmethod
    def convolution_transpose_descriptor(
        cls,
        kernel_width=None,
        kernel_height=None,
        input_feature_channel_count=None,
        output_feature_channel_count=None,
        *,
        kernel_sizes=None,
        group_count=1,
        strides=None,
        dilation_rates=None,
        padding_policy="Same",
        padding_sizes=None,
    ):
        """Return a transposed convolution, by kernel_width and kernel_height or kernel_sizes."""
        channels = (input_feature_channel_count, output_feature_channel_count)
        if kernel_sizes is None:
            return cls._from(
                _c.mlc_convolution_descriptor_make_transpose(kernel_width, kernel_height, *channels)
            )
        return cls._from(
            _c.mlc_convolution_descriptor_make_transpose_sizes(
                kernel_sizes, *channels, group_count, strides, dilation_rates, padding_policy,
                padding_sizes,
            )
        )  # fmt: skip

    @classmethod
    def depthwise_convolution_descriptor(
        cls,
        kernel_width=None,
        kernel_height=None,
        input_feature_channel_count=None,
        channel_multiplier=1,
        *,
        kernel_sizes=None,
        strides=None,
        dilation_rates=None,
        padding_policy="Same",
        padding_sizes=None,
    ):
        """Return a depthwise convolution: in * channel_multiplier channels come out."""
        channels = (input_feature_channel_count, channel_multiplier)
        if kernel_sizes is None:
            return cls._from(
                _c.mlc_convolution_descriptor_make_depthwise(kernel_width, kernel_height, *channels)
            )
        return cls._from(
            _c.mlc_convolution_descriptor_make_depthwise_sizes(
                kernel_sizes, *channels, strides, dilation_rates, padding_policy, padding_sizes
            )
        )


@struct("mlc_pooling_descriptor")
class pooling_descriptor(Descriptor):
    """Windows of a pooling layer."""

    def __init__(self, type, kernel_size, stride):
        self._fields = _c.mlc_pooling_descriptor_make(type, kernel_size, stride)

    @classmethod
    def max_pooling_descriptor(
        cls,
        kernel_sizes,
        strides=None,
        padding_policy="Same",
        padding_sizes=None,
        dilation_rates=None,
    ):
        """Return windows whose largest element is taken."""
        return cls._from(
            _c.mlc_pooling_descriptor_make_max(
                kernel_sizes, strides, dilation_rates, padding_policy, padding_sizes
            )
        )

    @classmethod
    def average_pooling_descriptor(
        cls,
        kernel_sizes,
        strides=None,
        padding_policy="Same",
        padding_sizes=None,
        count_includes_padding=False,
        dilation_rates=None,
    ):
        """Return windows whose mean is taken."""
        return cls._from(
            _c.mlc_pooling_descriptor_make_average(
                kernel_sizes, strides, dilation_rates, padding_policy, padding_sizes,
                count_includes_padding,
            )
        )  # fmt: skip

    @classmethod
    def l2_norm_pooling_descriptor(
        cls,
        kernel_sizes,
        strides=None,
        padding_policy="Same",
        padding_sizes=None,
        dilation_rates=None,
    ):
        """Return windows of which the root of the sum of squares is taken."""
        return cls._from(
            _c.mlc_pooling_descriptor_make_l2_norm(
                kernel_sizes, strides, dilation_rates, padding_policy, padding_sizes
            )
        )


@struct("mlc_loss_descriptor")
class loss_descriptor(Descriptor):
    """A loss: its type, how it is reduced (None, Sum, Mean), and its constants."""

    def __init__(
        self,
        type,
        reduction_type,
        weight=None,
        label_smoothing=None,
        class_count=None,
        epsilon=None,
        delta=None,
    ):
        classes = (
            0.0 if label_smoothing is None else label_smoothing,
            1 if class_count is None else class_count,
        )
        if epsilon is not None or delta is not None:
            rest = (1e-7 if epsilon is None else epsilon, 1.0 if delta is None else delta)
            weight = 1.0 if weight is None else weight
            self._fields = _c.mlc_loss_descriptor_make_all(
                type, reduction_type, weight, *classes, *rest
            )
        elif label_smoothing is not None or class_count is not None:
            weight = 1.0 if weight is None else weight
            self._fields = _c.mlc_loss_descriptor_make_classes(
                type, reduction_type, weight, *classes
            )
        elif weight is not None:
            self._fields = _c.mlc_loss_descriptor_make_weight(type, reduction_type, weight)
        else:
            self._fields = _c.mlc_loss_descriptor_make(type, reduction_type)


@struct("mlc_yolo_loss_descriptor")
class yolo_loss_descriptor(Descriptor):
    """Anchor boxes, a width and a height in cells each, and the scales of the parts of the loss."""

    def __init__(self, anchor_boxes, anchor_box_count=None):
        boxes = self._bytes(anchor_boxes)
        count = len(boxes) // 8 if anchor_box_count is None else anchor_box_count
        self._fields = _c.mlc_yolo_loss_descriptor_make(boxes, count)

    @staticmethod
    def _bytes(boxes):
        if isinstance(boxes, bytes):
            return boxes
        return np.ascontiguousarray(boxes, np.float32).tobytes()

    @property
    def anchor_boxes(self):
        """The boxes, an array of (width, height)."""
        return np.frombuffer(self._fields["anchor_boxes"], np.float32).reshape(-1, 2)

    @anchor_boxes.setter
    def anchor_boxes(self, boxes):
        boxes = self._bytes(boxes)
        self._fields["anchor_boxes"] = boxes
        self._fields["anchor_box_count"] = len(boxes) // 8


yolo_loss_descriptor.anchor_boxes.fget.c_name = "mlc_yolo_loss_descriptor.anchor_boxes"


@struct("mlc_lstm_descriptor")
class lstm_descriptor(Descriptor):
    """Sizes and modes of an LSTM layer."""

    def __init__(
        self,
        input_size,
        hidden_size,
        layer_count=1,
        uses_biases=None,
        is_bidirectional=None,
        dropout=None,
        batch_first=None,
        returns_sequences=None,
        result_mode=None,
    ):
        given = (
            uses_biases, batch_first, is_bidirectional, returns_sequences, dropout, result_mode,
        )  # fmt: skip
        if all(value is None for value in given):
            self._fields = _c.mlc_lstm_descriptor_make(input_size, hidden_size, layer_count)
            return
        defaults = (True, True, False, True, 0.0, "Output")
        rest = [b if a is None else a for a, b in zip(given, defaults, strict=True)]
        self._fields = _c.mlc_lstm_descriptor_make_all(input_size, hidden_size, layer_count, *rest)


@struct("mlc_multihead_attention_descriptor")
class multihead_attention_descriptor(Descriptor):
    """Sizes of multihead attention; key and value dimensions are the model's by default."""

    def __init__(
        self,
        model_dimension,
        head_count,
        key_dimension=None,
        value_dimension=None,
        dropout=None,
        has_biases=None,
        has_attention_biases=None,
        adds_zero_attention=None,
    ):
        given = (
            key_dimension, value_dimension, dropout, has_biases, has_attention_biases,
            adds_zero_attention,
        )  # fmt: skip
        if all(value is None for value in given):
            self._fields = _c.mlc_multihead_attention_descriptor_make(model_dimension, head_count)
            return
        defaults = (model_dimension, model_dimension, 0.0, True, False, False)
        rest = [b if a is None else a for a, b in zip(given, defaults, strict=True)]
        self._fields = _c.mlc_multihead_attention_descriptor_make_all(
            model_dimension, rest[0], rest[1], head_count, *rest[2:]
        )


@struct("mlc_embedding_descriptor")
class embedding_descriptor(Descriptor):
    """Sizes of an embedding; which index is padding, and the largest norm of a row."""

    def __init__(
        self,
        embedding_count,
        embedding_dimension,
        padding_index=None,
        maximum_norm=None,
        p_norm=None,
        scales_gradient_by_frequency=None,
    ):
        given = (padding_index, maximum_norm, p_norm, scales_gradient_by_frequency)
        if all(value is None for value in given):
            self._fields = _c.mlc_embedding_descriptor_make(embedding_count, embedding_dimension)
            return
        rest = [b if a is None else a for a, b in zip(given, (-1, 0.0, 2.0, False), strict=True)]
        self._fields = _c.mlc_embedding_descriptor_make_all(
            embedding_count, embedding_dimension, *rest
        )

    @property
    def padding_index(self):
        """The index whose row stays as it is; None without one."""
        index = self._fields["padding_index"]
        return None if index < 0 else index

    @padding_index.setter
    def padding_index(self, index):
        self._fields["padding_index"] = -1 if index is None else index

    @property
    def maximum_norm(self):
        """Rows with a larger norm are scaled down to it; None without one."""
        return self._fields["maximum_norm"] or None

    @maximum_norm.setter
    def maximum_norm(self, norm):
        self._fields["maximum_norm"] = norm or 0.0


embedding_descriptor.padding_index.fget.c_name = "mlc_embedding_descriptor.padding_index"
embedding_descriptor.maximum_norm.fget.c_name = "mlc_embedding_descriptor.maximum_norm"


@struct("mlc_matmul_descriptor")
class matmul_descriptor(Descriptor):
    """alpha op(x) op(y): what is transposed, and the factor."""

    def __init__(self, alpha=None, transposes_x=None, transposes_y=None):
        given = (alpha, transposes_x, transposes_y)
        if all(value is None for value in given):
            self._fields = _c.mlc_matmul_descriptor_make()
            return
        rest = [b if a is None else a for a, b in zip(given, (1.0, False, False), strict=True)]
        self._fields = _c.mlc_matmul_descriptor_make_all(*rest)


@struct("mlc_optimizer_descriptor")
class optimizer_descriptor(Descriptor):
    """What optimizers have in common: rate, clipping, rescaling, regularization, in this order."""

    def __init__(
        self,
        learning_rate,
        gradient_rescale=1.0,
        regularization_type="None",
        regularization_scale=0.0,
        *,
        applies_gradient_clipping=None,
        gradient_clip_max=1.0,
        gradient_clip_min=-1.0,
        gradient_clipping_type=None,
        maximum_clipping_norm=1.0,
        custom_global_norm=0.0,
    ):
        regularization = (regularization_type, regularization_scale)
        if gradient_clipping_type is not None:
            self._fields = _c.mlc_optimizer_descriptor_make_all(
                learning_rate, gradient_rescale, bool(applies_gradient_clipping),
                gradient_clipping_type, gradient_clip_max, gradient_clip_min,
                maximum_clipping_norm, custom_global_norm, *regularization,
            )  # fmt: skip
        elif applies_gradient_clipping is not None:
            self._fields = _c.mlc_optimizer_descriptor_make_clipped(
                learning_rate, gradient_rescale, applies_gradient_clipping, gradient_clip_max,
                gradient_clip_min, *regularization,
            )  # fmt: skip
        else:
            self._fields = _c.mlc_optimizer_descriptor_make(
                learning_rate, gradient_rescale, *regularization
            )


# ---- optimizers ----------------------------------------------------------------------------------


@public
class optimizer(Base):
    """The base of optimizers; its learning rate and clipping may change between executions."""

    def __init__(self):
        raise TypeError("[optimizer] make one of its subclasses")

    def copy(self):
        """Return another optimizer with the same values."""
        return type(self)._of(_c.mlc_optimizer_copy(self))

    def __copy__(self):
        return self.copy()

    @property
    def state_count(self):
        """The number of buffers it keeps for a parameter."""
        return _c.mlc_optimizer_state_count(self)


@public
class sgd_optimizer(optimizer):
    """v = momentum v + g; w -= rate v (Nesterov: w -= rate (g + momentum v))."""

    def __init__(self, descriptor, momentum_scale=None, uses_nesterov_momentum=None):
        if momentum_scale is None and uses_nesterov_momentum is None:
            self._adopt(_c.mlc_sgd_optimizer_create_default(descriptor))
            return
        momentum_scale = 0.0 if momentum_scale is None else momentum_scale
        nesterov = bool(uses_nesterov_momentum)
        self._adopt(_c.mlc_sgd_optimizer_create(descriptor, momentum_scale, nesterov))


def _adam_arguments(beta1, beta2, epsilon, uses_amsgrad, time_step):
    given = (beta1, beta2, epsilon, uses_amsgrad, time_step)
    if all(value is None for value in given):
        return None
    defaults = (0.9, 0.999, 1e-8, False, 1)
    return [b if a is None else a for a, b in zip(given, defaults, strict=True)]


@public
class adam_optimizer(optimizer):
    """Adam; regularization is added to the gradient."""

    def __init__(
        self,
        descriptor,
        beta1=None,
        beta2=None,
        epsilon=None,
        time_step=None,
        uses_amsgrad=None,
    ):
        rest = _adam_arguments(beta1, beta2, epsilon, uses_amsgrad, time_step)
        if rest is None:
            self._adopt(_c.mlc_adam_optimizer_create_default(descriptor))
        else:
            self._adopt(_c.mlc_adam_optimizer_create(descriptor, *rest))


@public
class adamw_optimizer(optimizer):
    """Adam whose regularization takes scale * w off the weights directly."""

    def __init__(
        self,
        descriptor,
        beta1=None,
        beta2=None,
        epsilon=None,
        uses_amsgrad=None,
        time_step=None,
    ):
        rest = _adam_arguments(beta1, beta2, epsilon, uses_amsgrad, time_step)
        if rest is None:
            self._adopt(_c.mlc_adamw_optimizer_create_default(descriptor))
        else:
            self._adopt(_c.mlc_adamw_optimizer_create(descriptor, *rest))


@public
class rmsprop_optimizer(optimizer):
    """RMSProp: gradients are divided by the root of their mean square."""

    def __init__(self, descriptor, momentum_scale=None, alpha=None, epsilon=None, is_centered=None):
        given = (momentum_scale, alpha, epsilon, is_centered)
        if all(value is None for value in given):
            self._adopt(_c.mlc_rmsprop_optimizer_create_default(descriptor))
            return
        defaults = (0.0, 0.99, 1e-8, False)
        rest = [b if a is None else a for a, b in zip(given, defaults, strict=True)]
        self._adopt(_c.mlc_rmsprop_optimizer_create(descriptor, *rest))
