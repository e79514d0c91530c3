"""Layers. One belongs to one graph, and stands there once."""

from . import _mlcompute as _c
from ._core import LAYER_KINDS, Base, public, wrap
from ._descriptors import activation_descriptor, matmul_descriptor


@public
class layer(Base):
    """The base of layers."""

    def __init__(self):
        raise TypeError("[layer] make one of its subclasses")

    @classmethod
    def supports_data_type(cls, data_type, on_device):
        """Return whether layers of this class take sources of a type on a device."""
        if cls is layer:
            return any(one.supports_data_type(data_type, on_device) for one in LAYER_CLASSES)
        return _c.mlc_layer_supports(LAYER_KINDS[cls.__name__], data_type, on_device)

    def __repr__(self):
        return f"<{type(self).__name__} {self.label}>"


@public
class activation_layer(layer):
    """A function of each element: of a descriptor, or of an activation type with its defaults."""

    def __init__(self, descriptor):
        if isinstance(descriptor, str | int):
            descriptor = activation_descriptor(descriptor)
        self._adopt(_c.mlc_activation_layer_create(descriptor))

    @classmethod
    def relu_layer(cls):
        """Return max(x, 0)."""
        return cls._of(_c.mlc_activation_layer_relu())

    @classmethod
    def relu6_layer(cls):
        """Return min(max(x, 0), 6)."""
        return cls._of(_c.mlc_activation_layer_relu6())

    @classmethod
    def leaky_relu_layer(cls, negative_slope=None):
        """Return x where x >= 0, else slope x; the slope is 0.01 by default."""
        if negative_slope is None:
            return cls._of(_c.mlc_activation_layer_leaky_relu())
        return cls._of(_c.mlc_activation_layer_leaky_relu_slope(negative_slope))

    @classmethod
    def linear_layer(cls, scale, bias):
        """Return scale x + bias."""
        return cls._of(_c.mlc_activation_layer_linear(scale, bias))

    @classmethod
    def sigmoid_layer(cls):
        """Return 1 / (1 + e^-x)."""
        return cls._of(_c.mlc_activation_layer_sigmoid())

    @classmethod
    def hard_sigmoid_layer(cls):
        """Return min(max(0.2 x + 0.5, 0), 1)."""
        return cls._of(_c.mlc_activation_layer_hard_sigmoid())

    @classmethod
    def tanh_layer(cls):
        """Return tanh x."""
        return cls._of(_c.mlc_activation_layer_tanh())

    @classmethod
    def absolute_layer(cls):
        """Return |x|."""
        return cls._of(_c.mlc_activation_layer_absolute())

    @classmethod
    def soft_plus_layer(cls, beta=None):
        """Return log(1 + e^(beta x)) / beta; beta is 1 by default."""
        if beta is None:
            return cls._of(_c.mlc_activation_layer_soft_plus())
        return cls._of(_c.mlc_activation_layer_soft_plus_beta(beta))

    @classmethod
    def soft_sign_layer(cls):
        """Return x / (1 + |x|)."""
        return cls._of(_c.mlc_activation_layer_soft_sign())

    @classmethod
    def elu_layer(cls, a=None):
        """Return x where x >= 0, else a (e^x - 1); a is 1 by default."""
        if a is None:
            return cls._of(_c.mlc_activation_layer_elu())
        return cls._of(_c.mlc_activation_layer_elu_a(a))

    @classmethod
    def relun_layer(cls, a, b):
        """Return min(x where x >= 0 else a x, b)."""
        return cls._of(_c.mlc_activation_layer_relun(a, b))

    @classmethod
    def log_sigmoid_layer(cls):
        """Return -log(1 + e^-x)."""
        return cls._of(_c.mlc_activation_layer_log_sigmoid())

    @classmethod
    def selu_layer(cls):
        """Return s (x where x >= 0 else t (e^x - 1)) with the known constants s and t."""
        return cls._of(_c.mlc_activation_layer_selu())

    @classmethod
    def celu_layer(cls, a=None):
        """Return max(0, x) + min(0, a (e^(x / a) - 1)); a is 1 by default."""
        if a is None:
            return cls._of(_c.mlc_activation_layer_celu())
        return cls._of(_c.mlc_activation_layer_celu_a(a))

    @classmethod
    def hard_shrink_layer(cls, a=None):
        """Return x where |x| > a, else 0; a is 0.5 by default."""
        if a is None:
            return cls._of(_c.mlc_activation_layer_hard_shrink())
        return cls._of(_c.mlc_activation_layer_hard_shrink_a(a))

    @classmethod
    def soft_shrink_layer(cls, a=None):
        """Return x - a above a, x + a below -a, else 0; a is 0.5 by default."""
        if a is None:
            return cls._of(_c.mlc_activation_layer_soft_shrink())
        return cls._of(_c.mlc_activation_layer_soft_shrink_a(a))

    @classmethod
    def tanh_shrink_layer(cls):
        """Return x - tanh x."""
        return cls._of(_c.mlc_activation_layer_tanh_shrink())

    @classmethod
    def threshold_layer(cls, threshold, replacement):
        """Return x where x > threshold, else the replacement."""
        return cls._of(_c.mlc_activation_layer_threshold(threshold, replacement))

    @classmethod
    def gelu_layer(cls):
        """Return x Phi(x), by the approximation with tanh."""
        return cls._of(_c.mlc_activation_layer_gelu())

    @classmethod
    def hard_swish_layer(cls):
        """Return 0 below -3, x above 3, else x (x + 3) / 6."""
        return cls._of(_c.mlc_activation_layer_hard_swish())

    @classmethod
    def clamp_layer(cls, min_value, max_value):
        """Return min(max(x, min_value), max_value)."""
        return cls._of(_c.mlc_activation_layer_clamp(min_value, max_value))


@public
class arithmetic_layer(layer):
    """One operation on one or two sources, which broadcast."""

    def __init__(self, operation):
        self._adopt(_c.mlc_arithmetic_layer_create(operation))


@public
class comparison_layer(layer):
    """A comparison of two sources or an operation on Booleans; the result is Boolean."""

    def __init__(self, operation):
        self._adopt(_c.mlc_comparison_layer_create(operation))


@public
class batch_normalization_layer(layer):
    """(x - mean) / (variance + epsilon)^(1/2) gamma + beta per channel.

    In training with the batch's statistics; running ones become
    momentum * old + (1 - momentum) * new.
    """

    def __init__(
        self,
        feature_channel_count,
        mean,
        variance,
        beta=None,
        gamma=None,
        variance_epsilon=1e-5,
        momentum=0.99,
    ):
        self._adopt(
            _c.mlc_batch_normalization_layer_create(
                feature_channel_count, mean, variance, beta, gamma, variance_epsilon, momentum
            )
        )


@public
class instance_normalization_layer(layer):
    """Batch normalization of every example by itself; running statistics are optional."""

    def __init__(
        self,
        feature_channel_count,
        beta=None,
        gamma=None,
        variance_epsilon=1e-5,
        momentum=0.99,
        mean=None,
        variance=None,
    ):
        self._adopt(
            _c.mlc_instance_normalization_layer_create(
                feature_channel_count, mean, variance, beta, gamma, variance_epsilon, momentum
            )
        )


@public
class group_normalization_layer(layer):
    """Normalization of groups of channels of every example."""

    def __init__(
        self, feature_channel_count, group_count, beta=None, gamma=None, variance_epsilon=1e-5
    ):
        self._adopt(
            _c.mlc_group_normalization_layer_create(
                feature_channel_count, group_count, beta, gamma, variance_epsilon
            )
        )


@public
class layer_normalization_layer(layer):
    """Normalization over the last dimensions, which must be normalized_shape."""

    def __init__(self, normalized_shape, beta=None, gamma=None, variance_epsilon=1e-5):
        self._adopt(
            _c.mlc_layer_normalization_layer_create(normalized_shape, beta, gamma, variance_epsilon)
        )


@public
class concatenation_layer(layer):
    """Sources one after another along a dimension; 1 by default."""

    def __init__(self, dimension=None):
        if dimension is None:
            self._adopt(_c.mlc_concatenation_layer_create())
        else:
            self._adopt(_c.mlc_concatenation_layer_create_dimension(dimension))


@public
class convolution_layer(layer):
    """A convolution of images (batch, channels, height, width)."""

    def __init__(self, weights, biases=None, descriptor=None):
        self._adopt(_c.mlc_convolution_layer_create(weights, biases, descriptor))


@public
class dropout_layer(layer):
    """Zeroes elements with probability `rate` in training, and scales the others."""

    def __init__(self, rate, seed=0):
        self._adopt(_c.mlc_dropout_layer_create(rate, seed))


@public
class embedding_layer(layer):
    """Rows of the weights, by Int32 or Int64 indices."""

    def __init__(self, descriptor, weights):
        self._adopt(_c.mlc_embedding_layer_create(descriptor, weights))


@public
class fully_connected_layer(layer):
    """x W^T + b over the last dimension, or over the channels of (N, C, 1, 1)."""

    def __init__(self, weights, biases=None, descriptor=None):
        self._adopt(_c.mlc_fully_connected_layer_create(weights, biases, descriptor))


@public
class gather_layer(layer):
    """Elements of the first source at the second's indices along a dimension."""

    def __init__(self, dimension):
        self._adopt(_c.mlc_gather_layer_create(dimension))


@public
class scatter_layer(layer):
    """A copy of the third source with the first's values put or added at the second's indices."""

    def __init__(self, dimension, reduction_type="None"):
        self._adopt(_c.mlc_scatter_layer_create(dimension, reduction_type))


@public
class gram_matrix_layer(layer):
    """scale X X^T of every example, X being its channels' rows."""

    def __init__(self, scale=1.0):
        self._adopt(_c.mlc_gram_matrix_layer_create(scale))


def _weight_and_weights(weight, weights):
    """A scalar weight, or a tensor of weights."""
    if weight is not None and weights is not None:
        raise ValueError("[loss_layer] weight and weights exclude each other")
    return 1.0 if weight is None else weight, weights


@public
class loss_layer(layer):
    """A loss of scores and labels of one shape. `weights`, a tensor, multiplies losses."""

    def __init__(self, descriptor, weights=None):
        self._adopt(_c.mlc_loss_layer_create(descriptor, weights))

    @classmethod
    def softmax_cross_entropy_loss(
        cls, reduction_type, label_smoothing=0.0, class_count=1, weight=None, weights=None
    ):
        """Return the cross entropy of labels and softmax(scores)."""
        both = _weight_and_weights(weight, weights)
        return cls._of(
            _c.mlc_loss_layer_softmax_cross_entropy(
                reduction_type, label_smoothing, class_count, *both
            )
        )

    @classmethod
    def categorical_cross_entropy_loss(
        cls, reduction_type, label_smoothing=0.0, class_count=1, weight=None, weights=None
    ):
        """Return the cross entropy of labels and given probabilities."""
        both = _weight_and_weights(weight, weights)
        return cls._of(
            _c.mlc_loss_layer_categorical_cross_entropy(
                reduction_type, label_smoothing, class_count, *both
            )
        )

    @classmethod
    def sigmoid_cross_entropy_loss(
        cls, reduction_type, label_smoothing=0.0, weight=None, weights=None
    ):
        """Return the cross entropy of labels and sigmoid(scores)."""
        both = _weight_and_weights(weight, weights)
        return cls._of(
            _c.mlc_loss_layer_sigmoid_cross_entropy(reduction_type, label_smoothing, *both)
        )

    @classmethod
    def log_loss(cls, reduction_type, epsilon=1e-7, weight=None, weights=None):
        """Return the cross entropy of labels and probabilities, epsilon inside the logarithms."""
        both = _weight_and_weights(weight, weights)
        return cls._of(_c.mlc_loss_layer_log(reduction_type, epsilon, *both))

    @classmethod
    def huber_loss(cls, reduction_type, delta=1.0, weight=None, weights=None):
        """Return a square near 0 and a line beyond delta."""
        both = _weight_and_weights(weight, weights)
        return cls._of(_c.mlc_loss_layer_huber(reduction_type, delta, *both))

    @classmethod
    def mean_absolute_error_loss(cls, reduction_type, weight=None, weights=None):
        """Return |x - y|."""
        both = _weight_and_weights(weight, weights)
        return cls._of(_c.mlc_loss_layer_mean_absolute_error(reduction_type, *both))

    @classmethod
    def mean_squared_error_loss(cls, reduction_type, weight=None, weights=None):
        """Return (x - y)^2."""
        both = _weight_and_weights(weight, weights)
        return cls._of(_c.mlc_loss_layer_mean_squared_error(reduction_type, *both))

    @classmethod
    def hinge_loss(cls, reduction_type, weight=None, weights=None):
        """Return the hinge loss of scores and labels 0 or 1."""
        both = _weight_and_weights(weight, weights)
        return cls._of(_c.mlc_loss_layer_hinge(reduction_type, *both))

    @classmethod
    def cosine_distance_loss(cls, reduction_type, weight=None, weights=None):
        """Return 1 minus the inner product."""
        both = _weight_and_weights(weight, weights)
        return cls._of(_c.mlc_loss_layer_cosine_distance(reduction_type, *both))


@public
class yolo_loss_layer(loss_layer):
    """The loss of object detection with anchor boxes."""

    def __init__(self, descriptor):
        self._adopt(_c.mlc_yolo_loss_layer_create(descriptor))


@public
class lstm_layer(layer):
    """LSTM of one or several layers, in one or both directions.

    Weights are lists of 4 tensors per layer and direction (input, forget, cell, output), all
    forward layers first.
    """

    def __init__(
        self,
        descriptor,
        input_weights,
        hidden_weights,
        biases=None,
        peephole_weights=None,
        gate_activations=None,
        output_result_activation=None,
    ):
        more = (peephole_weights, gate_activations, output_result_activation)
        if all(value is None for value in more):
            self._adopt(_c.mlc_lstm_layer_create(descriptor, input_weights, hidden_weights, biases))
            return
        self._adopt(
            _c.mlc_lstm_layer_create_all(
                descriptor, input_weights, hidden_weights, peephole_weights, biases,
                gate_activations, output_result_activation,
            )
        )  # fmt: skip

    @property
    def gate_activations(self):
        """The activations of the gates: input, forget, cell, output."""
        return [wrap(_c.mlc_layer_gate_activation(self, i)) for i in range(4)]


@public
class matmul_layer(layer):
    """alpha op(x) op(y) over leading dimensions, which broadcast."""

    def __init__(self, descriptor=None):
        self._adopt(_c.mlc_matmul_layer_create(descriptor or matmul_descriptor()))


@public
class multihead_attention_layer(layer):
    """Attention with several heads; weights are [Wq, Wk, Wv, Wo], each (out, in)."""

    def __init__(self, descriptor, weights, biases=None, attention_biases=None):
        self._adopt(
            _c.mlc_multihead_attention_layer_create(descriptor, weights, biases, attention_biases)
        )


@public
class padding_layer(layer):
    """Padding of the last two dimensions.

    One number is for all sides; two are left, right; four are top, bottom, left, right.
    """

    def __init__(self, padding_type, padding, constant_value=None):
        name = str(getattr(padding_type, "name", padding_type)).lower()
        if constant_value is not None and name != "constant":
            raise ValueError(f"[padding_layer] {name} padding takes no constant value")
        make = {
            "zero": _c.mlc_padding_layer_zero,
            "reflect": _c.mlc_padding_layer_reflect,
            "symmetric": _c.mlc_padding_layer_symmetric,
            "constant": _c.mlc_padding_layer_constant,
        }.get(name)
        if make is None:
            raise ValueError(
                f"[padding_layer] {padding_type!r} is no padding_type; there are ZERO, REFLECT, "
                "SYMMETRIC, CONSTANT"
            )
        rest = [constant_value or 0.0] if name == "constant" else []
        self._adopt(make(padding, *rest))

    @classmethod
    def layer_with_zero_padding(cls, padding):
        """Return a layer that pads with zeros."""
        return cls._of(_c.mlc_padding_layer_zero(padding))

    @classmethod
    def layer_with_reflection_padding(cls, padding):
        """Return a layer that pads with the image mirrored at its edge's middle."""
        return cls._of(_c.mlc_padding_layer_reflect(padding))

    @classmethod
    def layer_with_symmetric_padding(cls, padding):
        """Return a layer that pads with the image mirrored, its edge included."""
        return cls._of(_c.mlc_padding_layer_symmetric(padding))

    @classmethod
    def layer_with_constant_padding(cls, padding, constant_value):
        """Return a layer that pads with a number."""
        return cls._of(_c.mlc_padding_layer_constant(padding, constant_value))


@public
class pooling_layer(layer):
    """Largest elements, means or norms of windows."""

    def __init__(self, descriptor):
        self._adopt(_c.mlc_pooling_layer_create(descriptor))


@public
class reduction_layer(layer):
    """A reduction over a dimension or several, which stay with size 1."""

    def __init__(self, reduction_type, dimension=None, *, dimensions=None):
        if (dimension is None) == (dimensions is None):
            raise ValueError("[reduction_layer] give dimension or dimensions")
        if dimensions is None:
            self._adopt(_c.mlc_reduction_layer_create(reduction_type, dimension))
        else:
            self._adopt(_c.mlc_reduction_layer_create_dimensions(reduction_type, dimensions))


@public
class reshape_layer(layer):
    """The same elements in another shape; one size may be -1."""

    def __init__(self, shape):
        self._adopt(_c.mlc_reshape_layer_create(shape))


@public
class selection_layer(layer):
    """Sources: condition, x, y; x where the condition is true, else y."""

    def __init__(self):
        self._adopt(_c.mlc_selection_layer_create())


@public
class slice_layer(layer):
    """From start to end in steps, one entry per dimension."""

    def __init__(self, start, end, stride=None):
        self._adopt(_c.mlc_slice_layer_create(start, end, stride))


@public
class softmax_layer(layer):
    """Softmax or its logarithm over a dimension; 1 by default."""

    def __init__(self, operation="Softmax", dimension=None):
        if dimension is None:
            self._adopt(_c.mlc_softmax_layer_create(operation))
        else:
            self._adopt(_c.mlc_softmax_layer_create_dimension(operation, dimension))


@public
class split_layer(layer):
    """Parts along a dimension: so many, or of these lengths."""

    def __init__(self, split_count=None, dimension=None, *, split_section_lengths=None):
        if (split_count is None) == (split_section_lengths is None) or dimension is None:
            raise ValueError(
                "[split_layer] give split_count or split_section_lengths, and dimension"
            )
        if split_section_lengths is None:
            self._adopt(_c.mlc_split_layer_create(split_count, dimension))
        else:
            self._adopt(_c.mlc_split_layer_create_sections(split_section_lengths, dimension))


@public
class transpose_layer(layer):
    """Dimension i of the result is dimension dimensions[i] of the source."""

    def __init__(self, dimensions):
        self._adopt(_c.mlc_transpose_layer_create(dimensions))


@public
class upsample_layer(layer):
    """Images of another height and width: shape is [height, width]."""

    def __init__(self, shape, sample_mode=None, aligns_corners=None):
        if sample_mode is None and aligns_corners is None:
            self._adopt(_c.mlc_upsample_layer_create(shape))
            return
        mode = "Nearest" if sample_mode is None else sample_mode
        self._adopt(_c.mlc_upsample_layer_create_mode(shape, mode, bool(aligns_corners)))


LAYER_CLASSES = [cls for cls in layer.__subclasses__() if cls.__name__ in LAYER_KINDS]
LAYER_CLASSES.append(yolo_loss_layer)
