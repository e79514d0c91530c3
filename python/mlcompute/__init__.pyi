"""The public names of mlcompute, for type checkers. Made by scripts/stubs.py; a test compares."""

import enum
from collections.abc import Sequence
from typing import Any

import mlcompute
from typing_extensions import Self

__all__: list[str]

class activation_type(enum.IntEnum):
    """MLCActivationType: NONE 0, RELU 1, LINEAR 2, SIGMOID 3, HARD_SIGMOID 4, TANH 5, ABSOLUTE 6,
    SOFT_PLUS 7, SOFT_SIGN 8, ELU 9, RELUN 10, LOG_SIGMOID 11, SELU 12, CELU 13, HARD_SHRINK 14,
    SOFT_SHRINK 15, TANH_SHRINK 16, THRESHOLD 17, GELU 18, HARD_SWISH 19, CLAMP 20
    """

    NONE = 0
    RELU = 1
    LINEAR = 2
    SIGMOID = 3
    HARD_SIGMOID = 4
    TANH = 5
    ABSOLUTE = 6
    SOFT_PLUS = 7
    SOFT_SIGN = 8
    ELU = 9
    RELUN = 10
    LOG_SIGMOID = 11
    SELU = 12
    CELU = 13
    HARD_SHRINK = 14
    SOFT_SHRINK = 15
    TANH_SHRINK = 16
    THRESHOLD = 17
    GELU = 18
    HARD_SWISH = 19
    CLAMP = 20
    def debug_description(self) -> str: ...

class arithmetic_operation(enum.IntEnum):
    """MLCArithmeticOperation: ADD 0, SUBTRACT 1, MULTIPLY 2, DIVIDE 3, FLOOR 4, ROUND 5, CEIL 6,
    SQRT 7, RSQRT 8, SIN 9, COS 10, TAN 11, ASIN 12, ACOS 13, ATAN 14, SINH 15, COSH 16, TANH
    17, ASINH 18, ACOSH 19, ATANH 20, POW 21, EXP 22, EXP2 23, LOG 24, LOG2 25, MULTIPLY_NO_NAN
    26, DIVIDE_NO_NAN 27, MIN 28, MAX 29
    """

    ADD = 0
    SUBTRACT = 1
    MULTIPLY = 2
    DIVIDE = 3
    FLOOR = 4
    ROUND = 5
    CEIL = 6
    SQRT = 7
    RSQRT = 8
    SIN = 9
    COS = 10
    TAN = 11
    ASIN = 12
    ACOS = 13
    ATAN = 14
    SINH = 15
    COSH = 16
    TANH = 17
    ASINH = 18
    ACOSH = 19
    ATANH = 20
    POW = 21
    EXP = 22
    EXP2 = 23
    LOG = 24
    LOG2 = 25
    MULTIPLY_NO_NAN = 26
    DIVIDE_NO_NAN = 27
    MIN = 28
    MAX = 29
    def debug_description(self) -> str: ...

class comparison_operation(enum.IntEnum):
    """MLCComparisonOperation: EQUAL 0, NOT_EQUAL 1, LESS 2, GREATER 3, LESS_OR_EQUAL 4,
    GREATER_OR_EQUAL 5, LOGICAL_AND 6, LOGICAL_OR 7, LOGICAL_NOT 8, LOGICAL_NAND 9, LOGICAL_NOR
    10, LOGICAL_XOR 11
    """

    EQUAL = 0
    NOT_EQUAL = 1
    LESS = 2
    GREATER = 3
    LESS_OR_EQUAL = 4
    GREATER_OR_EQUAL = 5
    LOGICAL_AND = 6
    LOGICAL_OR = 7
    LOGICAL_NOT = 8
    LOGICAL_NAND = 9
    LOGICAL_NOR = 10
    LOGICAL_XOR = 11
    def debug_description(self) -> str: ...

class convolution_type(enum.IntEnum):
    """MLCConvolutionType: STANDARD 0, TRANSPOSED 1, DEPTHWISE 2"""

    STANDARD = 0
    TRANSPOSED = 1
    DEPTHWISE = 2
    def debug_description(self) -> str: ...

class data_type(enum.IntEnum):
    """MLCDataType: INVALID 0, FLOAT32 1, FLOAT16 3, BOOLEAN 4, INT64 5, INT32 7, INT8 8, UINT8 9"""

    INVALID = 0
    FLOAT32 = 1
    FLOAT16 = 3
    BOOLEAN = 4
    INT64 = 5
    INT32 = 7
    INT8 = 8
    UINT8 = 9
    def debug_description(self) -> str: ...

class device_type(enum.IntEnum):
    """MLCDeviceType: CPU 0, GPU 1, ANY 2, ANE 3"""

    CPU = 0
    GPU = 1
    ANY = 2
    ANE = 3
    def debug_description(self) -> str: ...

class execution_options(enum.IntFlag):
    """MLCExecutionOptions: NONE 0, SKIP_WRITING_INPUT_DATA_TO_DEVICE 1, SYNCHRONOUS 2, PROFILING
    4, FORWARD_FOR_INFERENCE 8, PER_LAYER_PROFILING 16
    """

    NONE = 0
    SKIP_WRITING_INPUT_DATA_TO_DEVICE = 1
    SYNCHRONOUS = 2
    PROFILING = 4
    FORWARD_FOR_INFERENCE = 8
    PER_LAYER_PROFILING = 16
    def debug_description(self) -> str: ...

class gradient_clipping_type(enum.IntEnum):
    """MLCGradientClippingType: BY_VALUE 0, BY_NORM 1, BY_GLOBAL_NORM 2"""

    BY_VALUE = 0
    BY_NORM = 1
    BY_GLOBAL_NORM = 2
    def debug_description(self) -> str: ...

class graph_compilation_options(enum.IntFlag):
    """MLCGraphCompilationOptions: NONE 0, DEBUG_LAYERS 1, DISABLE_LAYER_FUSION 2, LINK_GRAPHS 4,
    COMPUTE_ALL_GRADIENTS 8
    """

    NONE = 0
    DEBUG_LAYERS = 1
    DISABLE_LAYER_FUSION = 2
    LINK_GRAPHS = 4
    COMPUTE_ALL_GRADIENTS = 8
    def debug_description(self) -> str: ...

def is_apple_mlc_enabled() -> bool:
    """Return whether graphs run on this engine: unless TF_DISABLE_MLC=1 is set."""

def is_tf_compiled_with_apple_mlc() -> bool:
    """Return whether this Mica has a TensorFlow that runs on the engine."""

class loss_type(enum.IntEnum):
    """MLCLossType: MEAN_ABSOLUTE_ERROR 0, MEAN_SQUARED_ERROR 1, SOFTMAX_CROSS_ENTROPY 2,
    SIGMOID_CROSS_ENTROPY 3, CATEGORICAL_CROSS_ENTROPY 4, HINGE 5, HUBER 6, COSINE_DISTANCE 7,
    LOG 8
    """

    MEAN_ABSOLUTE_ERROR = 0
    MEAN_SQUARED_ERROR = 1
    SOFTMAX_CROSS_ENTROPY = 2
    SIGMOID_CROSS_ENTROPY = 3
    CATEGORICAL_CROSS_ENTROPY = 4
    HINGE = 5
    HUBER = 6
    COSINE_DISTANCE = 7
    LOG = 8
    def debug_description(self) -> str: ...

class lstm_result_mode(enum.IntEnum):
    """MLCLSTMResultMode: OUTPUT 0, OUTPUT_AND_STATES 1"""

    OUTPUT = 0
    OUTPUT_AND_STATES = 1
    def debug_description(self) -> str: ...

def numpy_dtype(data_type: Any) -> Any:
    """Return numpy's dtype for a data type, its number or its name."""

class padding_policy(enum.IntEnum):
    """MLCPaddingPolicy: SAME 0, VALID 1, USE_PADDING_SIZE 2"""

    SAME = 0
    VALID = 1
    USE_PADDING_SIZE = 2
    def debug_description(self) -> str: ...

class padding_type(enum.IntEnum):
    """MLCPaddingType: ZERO 0, REFLECT 1, SYMMETRIC 2, CONSTANT 3"""

    ZERO = 0
    REFLECT = 1
    SYMMETRIC = 2
    CONSTANT = 3
    def debug_description(self) -> str: ...

class pooling_type(enum.IntEnum):
    """MLCPoolingType: MAX 1, AVERAGE 2, L2_NORM 3"""

    MAX = 1
    AVERAGE = 2
    L2_NORM = 3
    def debug_description(self) -> str: ...

class random_initializer_type(enum.IntEnum):
    """MLCRandomInitializerType: INVALID 0, UNIFORM 1, GLOROT_UNIFORM 2, XAVIER 3"""

    INVALID = 0
    UNIFORM = 1
    GLOROT_UNIFORM = 2
    XAVIER = 3
    def debug_description(self) -> str: ...

class reduction_type(enum.IntEnum):
    """MLCReductionType: NONE 0, SUM 1, MEAN 2, MAX 3, MIN 4, ARG_MAX 5, ARG_MIN 6, L1_NORM 7, ANY
    8, ALL 9
    """

    NONE = 0
    SUM = 1
    MEAN = 2
    MAX = 3
    MIN = 4
    ARG_MAX = 5
    ARG_MIN = 6
    L1_NORM = 7
    ANY = 8
    ALL = 9
    def debug_description(self) -> str: ...

class regularization_type(enum.IntEnum):
    """MLCRegularizationType: NONE 0, L1 1, L2 2"""

    NONE = 0
    L1 = 1
    L2 = 2
    def debug_description(self) -> str: ...

class sample_mode(enum.IntEnum):
    """MLCSampleMode: NEAREST 0, LINEAR 1"""

    NEAREST = 0
    LINEAR = 1
    def debug_description(self) -> str: ...

def set_mlc_device(device_name: Any = "any") -> None:
    """Choose the device for graphs that are compiled without one: 'cpu', 'gpu' or 'any'."""

class softmax_operation(enum.IntEnum):
    """MLCSoftmaxOperation: SOFTMAX 0, LOG_SOFTMAX 1"""

    SOFTMAX = 0
    LOG_SOFTMAX = 1
    def debug_description(self) -> str: ...

class platform:
    """What is global: the seed of random initializers."""
    @staticmethod
    def get_rng_seed() -> Any:
        """Return the seed that was set; None when it never was."""
    @staticmethod
    def set_rng_seed_to(seed: int) -> None:
        """Start the random initializers' sequence again, from a seed."""

class activation_descriptor:
    """A function of one number, with up to three constants (see `activation_type`).

    Those not given are 1, except: ReLU a = 0, Linear b = 0, HardSigmoid a = 0.2 b = 0.5,
    HardShrink and SoftShrink a = 0.5.
    """
    def __init__(
        self, type: Any, a: float | None = None, b: float | None = None, c: float | None = None
    ) -> None:
        """Make one: activation_descriptor(type, a=None, b=None, c=None)

        A function of one number, with up to three constants (see `activation_type`).

            Those not given are 1, except: ReLU a = 0, Linear b = 0, HardSigmoid a = 0.2 b =
            0.5,
            HardShrink and SoftShrink a = 0.5.


        a, b, c are 1, except: ReLU a = 0, Linear b = 0, HardSigmoid a = 0.2 b = 0.5, HardShrink
        and SoftShrink a = 0.5.

        mlc_activation_descriptor_make_a

        mlc_activation_descriptor_make_ab

        mlc_activation_descriptor_make_abc
        """
    @property
    def a(self) -> float:
        """The field a."""
    @a.setter
    def a(self, value: float) -> None: ...
    @property
    def activation_type(self) -> mlcompute.activation_type:
        """The field activation_type."""
    @activation_type.setter
    def activation_type(self, value: mlcompute.activation_type | str | int) -> None: ...
    @property
    def b(self) -> float:
        """The field b."""
    @b.setter
    def b(self, value: float) -> None: ...
    @property
    def c(self) -> float:
        """The field c."""
    @c.setter
    def c(self, value: float) -> None: ...
    def __copy__(self) -> Self: ...
    def __eq__(self, other: object) -> bool: ...
    def copy(self) -> Self:
        """Return another descriptor with the same values."""

class convolution_descriptor:
    """Sizes of a convolution or of a fully connected layer."""
    def __init__(
        self,
        type: Any = "Standard",
        kernel_sizes: Sequence[int] | int | None = None,
        input_feature_channel_count: Any = None,
        output_feature_channel_count: Any = None,
        group_count: Any = 1,
        strides: Sequence[int] | int | None = None,
        dilation_rates: Sequence[int] | int | None = None,
        padding_policy: mlcompute.padding_policy | int | str = "Same",
        padding_sizes: Sequence[int] | int | None = None,
    ) -> None:
        """Make one: convolution_descriptor(type='Standard', kernel_sizes=None,
        input_feature_channel_count=None, output_feature_channel_count=None, group_count=1,
        strides=None, dilation_rates=None, padding_policy='Same', padding_sizes=None)

        Sizes of a convolution or of a fully connected layer.

        Lists are [y, x]; of one entry: both. An empty list of strides or dilation rates is 1,
        of padding sizes 0.
        """
    @classmethod
    def convolution_transpose_descriptor(
        cls,
        kernel_width: int | None = None,
        kernel_height: int | None = None,
        input_feature_channel_count: Any = None,
        output_feature_channel_count: Any = None,
        *,
        kernel_sizes: Sequence[int] | int | None = None,
        group_count: Any = 1,
        strides: Sequence[int] | int | None = None,
        dilation_rates: Sequence[int] | int | None = None,
        padding_policy: mlcompute.padding_policy | int | str = "Same",
        padding_sizes: Sequence[int] | int | None = None,
    ) -> Self:
        """Return a transposed convolution, by kernel_width and kernel_height or kernel_sizes."""
    @property
    def convolution_type(self) -> mlcompute.convolution_type:
        """The field convolution_type."""
    @convolution_type.setter
    def convolution_type(self, value: mlcompute.convolution_type | str | int) -> None: ...
    @classmethod
    def depthwise_convolution_descriptor(
        cls,
        kernel_width: int | None = None,
        kernel_height: int | None = None,
        input_feature_channel_count: Any = None,
        channel_multiplier: Any = 1,
        *,
        kernel_sizes: Sequence[int] | int | None = None,
        strides: Sequence[int] | int | None = None,
        dilation_rates: Sequence[int] | int | None = None,
        padding_policy: mlcompute.padding_policy | int | str = "Same",
        padding_sizes: Sequence[int] | int | None = None,
    ) -> Self:
        """Return a depthwise convolution: in * channel_multiplier channels come out."""
    @classmethod
    def descriptor(
        cls,
        kernel_width: int | None = None,
        kernel_height: int | None = None,
        input_feature_channel_count: Any = None,
        output_feature_channel_count: Any = None,
        *,
        kernel_sizes: Sequence[int] | int | None = None,
        group_count: Any = 1,
        strides: Sequence[int] | int | None = None,
        dilation_rates: Sequence[int] | int | None = None,
        padding_policy: mlcompute.padding_policy | int | str = "Same",
        padding_sizes: Sequence[int] | int | None = None,
    ) -> Self:
        """Return a standard convolution, by kernel_width and kernel_height or kernel_sizes."""
    @property
    def dilation_rate_in_x(self) -> int:
        """The field dilation_rate_in_x."""
    @dilation_rate_in_x.setter
    def dilation_rate_in_x(self, value: int) -> None: ...
    @property
    def dilation_rate_in_y(self) -> int:
        """The field dilation_rate_in_y."""
    @dilation_rate_in_y.setter
    def dilation_rate_in_y(self, value: int) -> None: ...
    @property
    def group_count(self) -> int:
        """The field group_count."""
    @group_count.setter
    def group_count(self, value: int) -> None: ...
    @property
    def input_feature_channel_count(self) -> int:
        """The field input_feature_channel_count."""
    @input_feature_channel_count.setter
    def input_feature_channel_count(self, value: int) -> None: ...
    @property
    def is_convolution_transpose(self) -> bool:
        """mlc_convolution_descriptor_is_transpose"""
    @property
    def kernel_height(self) -> int:
        """The field kernel_height."""
    @kernel_height.setter
    def kernel_height(self, value: int) -> None: ...
    @property
    def kernel_width(self) -> int:
        """The field kernel_width."""
    @kernel_width.setter
    def kernel_width(self, value: int) -> None: ...
    @property
    def output_feature_channel_count(self) -> int:
        """The field output_feature_channel_count."""
    @output_feature_channel_count.setter
    def output_feature_channel_count(self, value: int) -> None: ...
    @property
    def padding_policy(self) -> mlcompute.padding_policy:
        """The field padding_policy."""
    @padding_policy.setter
    def padding_policy(self, value: mlcompute.padding_policy | str | int) -> None: ...
    @property
    def padding_size_in_x(self) -> int:
        """The field padding_size_in_x."""
    @padding_size_in_x.setter
    def padding_size_in_x(self, value: int) -> None: ...
    @property
    def padding_size_in_y(self) -> int:
        """The field padding_size_in_y."""
    @padding_size_in_y.setter
    def padding_size_in_y(self, value: int) -> None: ...
    @property
    def stride_in_x(self) -> int:
        """The field stride_in_x."""
    @stride_in_x.setter
    def stride_in_x(self, value: int) -> None: ...
    @property
    def stride_in_y(self) -> int:
        """The field stride_in_y."""
    @stride_in_y.setter
    def stride_in_y(self, value: int) -> None: ...
    @property
    def uses_depthwise_convolution(self) -> bool:
        """mlc_convolution_descriptor_is_depthwise"""
    def __copy__(self) -> Self: ...
    def __eq__(self, other: object) -> bool: ...
    def copy(self) -> Self:
        """Return another descriptor with the same values."""

class device:
    """Where graphs run: "cpu", "gpu", "any" or "ane".

    Where there is no such device, another is taken and a note says so on stderr, once. Without
    a
    name it is the one that `set_mlc_device` chose.
    """
    def __init__(self, type: Any = None, selects_multiple_compute_devices: Any = None) -> None:
        """Make one: device(type=None, selects_multiple_compute_devices=None)

        Where graphs run: "cpu", "gpu", "any" or "ane".

            Where there is no such device, another is taken and a note says so on stderr, once.
            Without a
            name it is the one that `set_mlc_device` chose.


        mlc_device_with_type

        With more than one compute device asked for, the first is taken.
        """
    @property
    def actual_device_type(self) -> device_type:
        """What it really is: never Any."""
    @classmethod
    def ane_device(cls) -> Self:
        """Return the best other device, with a note; for inference graphs only."""
    @classmethod
    def cpu_device(cls) -> Self:
        """Return the processor."""
    @classmethod
    def device_with_type(cls, type: Any, selects_multiple_compute_devices: Any = None) -> Self:
        """Return a device of a type; of several, the first is taken."""
    @classmethod
    def gpu_device(cls) -> Self:
        """Return a GPU; the processor, with a note, where there is none."""
    @classmethod
    def named(cls, name: str) -> Self:
        """Return a device by Mica's name: "cpu", "ref", "cuda:1"."""
    @property
    def type(self) -> device_type:
        """mlc_device_type_of"""

class embedding_descriptor:
    """Sizes of an embedding; which index is padding, and the largest norm of a row."""
    def __init__(
        self,
        embedding_count: int,
        embedding_dimension: int,
        padding_index: int | None = None,
        maximum_norm: float | None = None,
        p_norm: float | None = None,
        scales_gradient_by_frequency: bool | None = None,
    ) -> None:
        """Make one: embedding_descriptor(embedding_count, embedding_dimension, padding_index=None,
        maximum_norm=None, p_norm=None, scales_gradient_by_frequency=None)

        Sizes of an embedding; which index is padding, and the largest norm of a row.

        No padding index, no maximum norm, p = 2.

        mlc_embedding_descriptor_make_all
        """
    @property
    def embedding_count(self) -> int:
        """The field embedding_count."""
    @embedding_count.setter
    def embedding_count(self, value: int) -> None: ...
    @property
    def embedding_dimension(self) -> int:
        """The field embedding_dimension."""
    @embedding_dimension.setter
    def embedding_dimension(self, value: int) -> None: ...
    @property
    def maximum_norm(self) -> float:
        """Rows with a larger norm are scaled down to it; None without one."""
    @maximum_norm.setter
    def maximum_norm(self, value: float) -> None: ...
    @property
    def p_norm(self) -> float:
        """The field p_norm."""
    @p_norm.setter
    def p_norm(self, value: float) -> None: ...
    @property
    def padding_index(self) -> int:
        """The index whose row stays as it is; None without one."""
    @padding_index.setter
    def padding_index(self, value: int) -> None: ...
    @property
    def scales_gradient_by_frequency(self) -> bool:
        """The field scales_gradient_by_frequency."""
    @scales_gradient_by_frequency.setter
    def scales_gradient_by_frequency(self, value: bool) -> None: ...
    def __copy__(self) -> Self: ...
    def __eq__(self, other: object) -> bool: ...
    def copy(self) -> Self:
        """Return another descriptor with the same values."""

class graph:
    """Layers and the tensors between them."""
    def __init__(self) -> None:
        """Make one: graph()

        Layers and the tensors between them.

        mlc_graph_create
        """
    def add_layer(self, layer: layer, tensors: tensor | Sequence[tensor]) -> tensor:
        """Add a layer on its sources and return its first result."""
    def bind_and_write_data(
        self,
        data: Any,
        for_inputs: Any,
        to_device: Any,
        batch_size: int = 0,
        synchronous: bool = True,
    ) -> None:
        """Bind data to tensors by name and write it to a device."""
    def concatenate(self, sources: tensor | Sequence[tensor], dimension: int) -> tensor:
        """Return tensors one after another along a dimension."""
    @property
    def device(self) -> mlcompute.device:
        """NULL before it was compiled; borrowed."""
    def gather(self, dimension: int, source: tensor, indices: tensor) -> tensor:
        """Return elements at indices along a dimension."""
    def layer_seconds(self, layer: layer) -> float:
        """Return the seconds a layer took in the last execution with PER_LAYER_PROFILING."""
    @property
    def layers(self) -> list[layer]:
        """In the order they were added; of a wrapping graph: those of the graphs in it first."""
    def node(
        self,
        layer: layer,
        sources: tensor | Sequence[tensor] | None = None,
        disable_update: bool | None = None,
        loss_labels: Any = None,
    ) -> tensor:
        """Add a layer on its sources (a tensor or a list) and return its first result.

        With disable_update its parameters are not trained. A loss layer takes loss_labels.
        """
    def reshape(self, shape: Sequence[int] | int, source: tensor) -> tensor:
        """Return the same elements in another shape."""
    def result_tensors_for_layer(self, layer: layer) -> list[tensor]:
        """Return the results of a layer; none for one that is not in the graph."""
    def scatter(
        self,
        dimension: int,
        source: tensor,
        indices: tensor,
        copy_from: tensor,
        reduction_type: Any = "None",
    ) -> tensor:
        """Return a copy of copy_from with the source put or added at the indices."""
    def select(self, sources: tensor | Sequence[tensor], condition: tensor) -> tensor:
        """Return the first source where the condition is true, else the second."""
    def source_tensors_for_layer(self, layer: layer) -> list[tensor]:
        """Return the sources of a layer; none for one that is not in the graph."""
    def split(
        self,
        source: tensor,
        split_count: Any = None,
        dimension: int | None = None,
        *,
        split_section_lengths: Any = None,
    ) -> Any:
        """Return the parts of a tensor: so many, or of these lengths."""
    @property
    def summarized_dot_description(self) -> str:
        """In the DOT language, a box per layer; an edge whose gradient is stopped is dashed. Free
        with mica_string_free.
        """
    def transpose(self, dimensions: Sequence[int] | int, source: tensor) -> tensor:
        """Return a tensor with its dimensions in another order."""
    def wait(self) -> Any:
        """Wait for all executions; raise the first error of one, or of a completion handler."""

class layer:
    """The base of layers."""
    def __init__(self) -> None:
        """Make one: layer()

        The base of layers.
        """
    @property
    def device_type(self) -> mlcompute.device_type:
        """Where it runs; MLC_DEVICE_TYPE_ANY before its graph was compiled."""
    @property
    def is_debugging_enabled(self) -> bool:
        """See MLC_COMPILATION_DEBUG_LAYERS."""
    @is_debugging_enabled.setter
    def is_debugging_enabled(self, value: bool) -> None: ...
    @property
    def label(self) -> str:
        """ "Convolution3" (class and id) until set; messages name layers by it."""
    @label.setter
    def label(self, value: str) -> None: ...
    @property
    def layer_id(self) -> int:
        """mlc_layer_id"""
    @classmethod
    def supports_data_type(cls, data_type: Any, on_device: Any) -> Any:
        """Return whether layers of this class take sources of a type on a device."""

class loss_descriptor:
    """A loss: its type, how it is reduced (None, Sum, Mean), and its constants."""
    def __init__(
        self,
        type: Any,
        reduction_type: Any,
        weight: float | None = None,
        label_smoothing: float | None = None,
        class_count: int | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
    ) -> None:
        """Make one: loss_descriptor(type, reduction_type, weight=None, label_smoothing=None,
        class_count=None, epsilon=None, delta=None)

        A loss: its type, how it is reduced (None, Sum, Mean), and its constants.

        mlc_loss_descriptor_make_all

        mlc_loss_descriptor_make_classes

        mlc_loss_descriptor_make_weight

        weight 1, label smoothing 0, class count 1, epsilon 1e-7, delta 1.
        """
    @property
    def class_count(self) -> int:
        """The field class_count."""
    @class_count.setter
    def class_count(self, value: int) -> None: ...
    @property
    def delta(self) -> float:
        """The field delta."""
    @delta.setter
    def delta(self, value: float) -> None: ...
    @property
    def epsilon(self) -> float:
        """The field epsilon."""
    @epsilon.setter
    def epsilon(self, value: float) -> None: ...
    @property
    def label_smoothing(self) -> float:
        """The field label_smoothing."""
    @label_smoothing.setter
    def label_smoothing(self, value: float) -> None: ...
    @property
    def loss_type(self) -> mlcompute.loss_type:
        """The field loss_type."""
    @loss_type.setter
    def loss_type(self, value: mlcompute.loss_type | str | int) -> None: ...
    @property
    def reduction_type(self) -> mlcompute.reduction_type:
        """None, Sum or Mean."""
    @reduction_type.setter
    def reduction_type(self, value: mlcompute.reduction_type | str | int) -> None: ...
    @property
    def weight(self) -> float:
        """The field weight."""
    @weight.setter
    def weight(self, value: float) -> None: ...
    def __copy__(self) -> Self: ...
    def __eq__(self, other: object) -> bool: ...
    def copy(self) -> Self:
        """Return another descriptor with the same values."""

class lstm_descriptor:
    """Sizes and modes of an LSTM layer."""
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        layer_count: int = 1,
        uses_biases: bool | None = None,
        is_bidirectional: bool | None = None,
        dropout: float | None = None,
        batch_first: bool | None = None,
        returns_sequences: bool | None = None,
        result_mode: lstm_result_mode | int | str | None = None,
    ) -> None:
        """Make one: lstm_descriptor(input_size, hidden_size, layer_count=1, uses_biases=None,
        is_bidirectional=None, dropout=None, batch_first=None, returns_sequences=None,
        result_mode=None)

        Sizes and modes of an LSTM layer.

        Biases, batch first, one direction, sequences returned, no dropout, mode Output.

        The rest of the original's forms are fields.
        """
    @property
    def batch_first(self) -> bool:
        """must be true"""
    @batch_first.setter
    def batch_first(self, value: bool) -> None: ...
    @property
    def dropout(self) -> float:
        """between layers, in training"""
    @dropout.setter
    def dropout(self, value: float) -> None: ...
    @property
    def hidden_size(self) -> int:
        """The field hidden_size."""
    @hidden_size.setter
    def hidden_size(self, value: int) -> None: ...
    @property
    def input_size(self) -> int:
        """The field input_size."""
    @input_size.setter
    def input_size(self, value: int) -> None: ...
    @property
    def is_bidirectional(self) -> bool:
        """The field is_bidirectional."""
    @is_bidirectional.setter
    def is_bidirectional(self, value: bool) -> None: ...
    @property
    def layer_count(self) -> int:
        """The field layer_count."""
    @layer_count.setter
    def layer_count(self, value: int) -> None: ...
    @property
    def result_mode(self) -> lstm_result_mode:
        """The field result_mode."""
    @result_mode.setter
    def result_mode(self, value: lstm_result_mode | str | int) -> None: ...
    @property
    def returns_sequences(self) -> bool:
        """The field returns_sequences."""
    @returns_sequences.setter
    def returns_sequences(self, value: bool) -> None: ...
    @property
    def uses_biases(self) -> bool:
        """The field uses_biases."""
    @uses_biases.setter
    def uses_biases(self, value: bool) -> None: ...
    def __copy__(self) -> Self: ...
    def __eq__(self, other: object) -> bool: ...
    def copy(self) -> Self:
        """Return another descriptor with the same values."""

class matmul_descriptor:
    """alpha op(x) op(y): what is transposed, and the factor."""
    def __init__(
        self,
        alpha: float | None = None,
        transposes_x: bool | None = None,
        transposes_y: bool | None = None,
    ) -> None:
        """Make one: matmul_descriptor(alpha=None, transposes_x=None, transposes_y=None)

        alpha op(x) op(y): what is transposed, and the factor.

        alpha 1, nothing transposed.

        mlc_matmul_descriptor_make_all
        """
    @property
    def alpha(self) -> float:
        """The field alpha."""
    @alpha.setter
    def alpha(self, value: float) -> None: ...
    @property
    def transposes_x(self) -> bool:
        """The field transposes_x."""
    @transposes_x.setter
    def transposes_x(self, value: bool) -> None: ...
    @property
    def transposes_y(self) -> bool:
        """The field transposes_y."""
    @transposes_y.setter
    def transposes_y(self, value: bool) -> None: ...
    def __copy__(self) -> Self: ...
    def __eq__(self, other: object) -> bool: ...
    def copy(self) -> Self:
        """Return another descriptor with the same values."""

class multihead_attention_descriptor:
    """Sizes of multihead attention; key and value dimensions are the model's by default."""
    def __init__(
        self,
        model_dimension: int,
        head_count: int,
        key_dimension: int | None = None,
        value_dimension: int | None = None,
        dropout: float | None = None,
        has_biases: bool | None = None,
        has_attention_biases: bool | None = None,
        adds_zero_attention: bool | None = None,
    ) -> None:
        """Make one: multihead_attention_descriptor(model_dimension, head_count,
        key_dimension=None, value_dimension=None, dropout=None, has_biases=None,
        has_attention_biases=None, adds_zero_attention=None)

        Sizes of multihead attention; key and value dimensions are the model's by default.

        Key and value dimensions are the model's; biases, no attention biases, no dropout.

        mlc_multihead_attention_descriptor_make_all
        """
    @property
    def adds_zero_attention(self) -> bool:
        """The field adds_zero_attention."""
    @adds_zero_attention.setter
    def adds_zero_attention(self, value: bool) -> None: ...
    @property
    def dropout(self) -> float:
        """The field dropout."""
    @dropout.setter
    def dropout(self, value: float) -> None: ...
    @property
    def has_attention_biases(self) -> bool:
        """The field has_attention_biases."""
    @has_attention_biases.setter
    def has_attention_biases(self, value: bool) -> None: ...
    @property
    def has_biases(self) -> bool:
        """The field has_biases."""
    @has_biases.setter
    def has_biases(self, value: bool) -> None: ...
    @property
    def head_count(self) -> int:
        """The field head_count."""
    @head_count.setter
    def head_count(self, value: int) -> None: ...
    @property
    def key_dimension(self) -> int:
        """The field key_dimension."""
    @key_dimension.setter
    def key_dimension(self, value: int) -> None: ...
    @property
    def model_dimension(self) -> int:
        """The field model_dimension."""
    @model_dimension.setter
    def model_dimension(self, value: int) -> None: ...
    @property
    def value_dimension(self) -> int:
        """The field value_dimension."""
    @value_dimension.setter
    def value_dimension(self, value: int) -> None: ...
    def __copy__(self) -> Self: ...
    def __eq__(self, other: object) -> bool: ...
    def copy(self) -> Self:
        """Return another descriptor with the same values."""

class optimizer:
    """The base of optimizers; its learning rate and clipping may change between executions."""
    def __copy__(self) -> Any: ...
    def __init__(self) -> None:
        """Make one: optimizer()

        The base of optimizers; its learning rate and clipping may change between executions.
        """
    @property
    def applies_gradient_clipping(self) -> bool:
        """mlc_optimizer_applies_gradient_clipping"""
    @applies_gradient_clipping.setter
    def applies_gradient_clipping(self, value: bool) -> None: ...
    def copy(self) -> optimizer:
        """Return another optimizer with the same values."""
    @property
    def custom_global_norm(self) -> float:
        """mlc_optimizer_custom_global_norm"""
    @property
    def gradient_clip_max(self) -> float:
        """mlc_optimizer_gradient_clip_max"""
    @property
    def gradient_clip_min(self) -> float:
        """mlc_optimizer_gradient_clip_min"""
    @property
    def gradient_clipping_type(self) -> mlcompute.gradient_clipping_type:
        """mlc_optimizer_clipping"""
    @property
    def gradient_rescale(self) -> float:
        """mlc_optimizer_gradient_rescale"""
    @property
    def learning_rate(self) -> float:
        """The rate and whether gradients are clipped may change between executions; nothing is
        compiled again for the rate.
        """
    @learning_rate.setter
    def learning_rate(self, value: float) -> None: ...
    @property
    def maximum_clipping_norm(self) -> float:
        """mlc_optimizer_maximum_clipping_norm"""
    @property
    def regularization_scale(self) -> float:
        """mlc_optimizer_regularization_scale"""
    @property
    def regularization_type(self) -> mlcompute.regularization_type:
        """mlc_optimizer_regularization"""
    @property
    def state_count(self) -> Any:
        """The number of buffers it keeps for a parameter."""

class optimizer_descriptor:
    """What optimizers have in common: rate, clipping, rescaling, regularization, in this order."""
    def __init__(
        self,
        learning_rate: float,
        gradient_rescale: float = 1.0,
        regularization_type: Any = "None",
        regularization_scale: float = 0.0,
        *,
        applies_gradient_clipping: bool | None = None,
        gradient_clip_max: float = 1.0,
        gradient_clip_min: float = -1.0,
        gradient_clipping_type: Any = None,
        maximum_clipping_norm: float = 1.0,
        custom_global_norm: float = 0.0,
    ) -> None:
        """Make one: optimizer_descriptor(learning_rate, gradient_rescale=1.0,
        regularization_type='None', regularization_scale=0.0, *, applies_gradient_clipping=None,
        gradient_clip_max=1.0, gradient_clip_min=-1.0, gradient_clipping_type=None,
        maximum_clipping_norm=1.0, custom_global_norm=0.0)

        What optimizers have in common: rate, clipping, rescaling, regularization, in this
        order.

        mlc_optimizer_descriptor_make_all

        mlc_optimizer_descriptor_make_clipped

        No clipping; clip max and min 1 and -1, maximum norm 1, no custom norm.
        """
    @property
    def applies_gradient_clipping(self) -> bool:
        """The field applies_gradient_clipping."""
    @applies_gradient_clipping.setter
    def applies_gradient_clipping(self, value: bool) -> None: ...
    @property
    def custom_global_norm(self) -> float:
        """Used instead of the computed global norm when it is not 0."""
    @custom_global_norm.setter
    def custom_global_norm(self, value: float) -> None: ...
    @property
    def gradient_clip_max(self) -> float:
        """The field gradient_clip_max."""
    @gradient_clip_max.setter
    def gradient_clip_max(self, value: float) -> None: ...
    @property
    def gradient_clip_min(self) -> float:
        """The field gradient_clip_min."""
    @gradient_clip_min.setter
    def gradient_clip_min(self, value: float) -> None: ...
    @property
    def gradient_clipping_type(self) -> mlcompute.gradient_clipping_type:
        """The field gradient_clipping_type."""
    @gradient_clipping_type.setter
    def gradient_clipping_type(
        self, value: mlcompute.gradient_clipping_type | str | int
    ) -> None: ...
    @property
    def gradient_rescale(self) -> float:
        """The field gradient_rescale."""
    @gradient_rescale.setter
    def gradient_rescale(self, value: float) -> None: ...
    @property
    def learning_rate(self) -> float:
        """The field learning_rate."""
    @learning_rate.setter
    def learning_rate(self, value: float) -> None: ...
    @property
    def maximum_clipping_norm(self) -> float:
        """The field maximum_clipping_norm."""
    @maximum_clipping_norm.setter
    def maximum_clipping_norm(self, value: float) -> None: ...
    @property
    def regularization_scale(self) -> float:
        """The field regularization_scale."""
    @regularization_scale.setter
    def regularization_scale(self, value: float) -> None: ...
    @property
    def regularization_type(self) -> mlcompute.regularization_type:
        """The field regularization_type."""
    @regularization_type.setter
    def regularization_type(self, value: mlcompute.regularization_type | str | int) -> None: ...
    def __copy__(self) -> Self: ...
    def __eq__(self, other: object) -> bool: ...
    def copy(self) -> Self:
        """Return another descriptor with the same values."""

class pooling_descriptor:
    """Windows of a pooling layer."""
    def __init__(self, type: Any, kernel_size: int, stride: Sequence[int] | int) -> None:
        """Make one: pooling_descriptor(type, kernel_size, stride)

        Windows of a pooling layer.

        Square; padding Same.
        """
    @classmethod
    def average_pooling_descriptor(
        cls,
        kernel_sizes: Sequence[int] | int,
        strides: Sequence[int] | int | None = None,
        padding_policy: mlcompute.padding_policy | int | str = "Same",
        padding_sizes: Sequence[int] | int | None = None,
        count_includes_padding: bool = False,
        dilation_rates: Sequence[int] | int | None = None,
    ) -> Self:
        """Return windows whose mean is taken."""
    @property
    def count_includes_padding(self) -> bool:
        """An average counts padded places too."""
    @count_includes_padding.setter
    def count_includes_padding(self, value: bool) -> None: ...
    @property
    def dilation_rate_in_x(self) -> int:
        """The field dilation_rate_in_x."""
    @dilation_rate_in_x.setter
    def dilation_rate_in_x(self, value: int) -> None: ...
    @property
    def dilation_rate_in_y(self) -> int:
        """The field dilation_rate_in_y."""
    @dilation_rate_in_y.setter
    def dilation_rate_in_y(self, value: int) -> None: ...
    @property
    def kernel_height(self) -> int:
        """The field kernel_height."""
    @kernel_height.setter
    def kernel_height(self, value: int) -> None: ...
    @property
    def kernel_width(self) -> int:
        """The field kernel_width."""
    @kernel_width.setter
    def kernel_width(self, value: int) -> None: ...
    @classmethod
    def l2_norm_pooling_descriptor(
        cls,
        kernel_sizes: Sequence[int] | int,
        strides: Sequence[int] | int | None = None,
        padding_policy: mlcompute.padding_policy | int | str = "Same",
        padding_sizes: Sequence[int] | int | None = None,
        dilation_rates: Sequence[int] | int | None = None,
    ) -> Self:
        """Return windows of which the root of the sum of squares is taken."""
    @classmethod
    def max_pooling_descriptor(
        cls,
        kernel_sizes: Sequence[int] | int,
        strides: Sequence[int] | int | None = None,
        padding_policy: mlcompute.padding_policy | int | str = "Same",
        padding_sizes: Sequence[int] | int | None = None,
        dilation_rates: Sequence[int] | int | None = None,
    ) -> Self:
        """Return windows whose largest element is taken."""
    @property
    def padding_policy(self) -> mlcompute.padding_policy:
        """The field padding_policy."""
    @padding_policy.setter
    def padding_policy(self, value: mlcompute.padding_policy | str | int) -> None: ...
    @property
    def padding_size_in_x(self) -> int:
        """The field padding_size_in_x."""
    @padding_size_in_x.setter
    def padding_size_in_x(self, value: int) -> None: ...
    @property
    def padding_size_in_y(self) -> int:
        """The field padding_size_in_y."""
    @padding_size_in_y.setter
    def padding_size_in_y(self, value: int) -> None: ...
    @property
    def pooling_type(self) -> mlcompute.pooling_type:
        """The field pooling_type."""
    @pooling_type.setter
    def pooling_type(self, value: mlcompute.pooling_type | str | int) -> None: ...
    @property
    def stride_in_x(self) -> int:
        """The field stride_in_x."""
    @stride_in_x.setter
    def stride_in_x(self, value: int) -> None: ...
    @property
    def stride_in_y(self) -> int:
        """The field stride_in_y."""
    @stride_in_y.setter
    def stride_in_y(self, value: int) -> None: ...
    def __copy__(self) -> Self: ...
    def __eq__(self, other: object) -> bool: ...
    def copy(self) -> Self:
        """Return another descriptor with the same values."""

class tensor:
    """A node of graphs: a shape, a type and, once it has them, values.

    `tensor(shape, data_type)` has no data; `data`, `fill_with_data` or
    `random_initializer_type`
    give it some. A tensor_descriptor may stand in the place of the shape.
    """
    def __copy__(self) -> Any: ...
    def __init__(
        self,
        shape: int | Sequence[int] | tensor_descriptor,
        data_type: Any = "Float32",
        *,
        random_initializer_type: Any = None,
        fill_with_data: Any = None,
        data: Any = None,
    ) -> None:
        """Make one: tensor(shape, data_type='Float32', *, random_initializer_type=None,
        fill_with_data=None, data=None)

        A node of graphs: a shape, a type and, once it has them, values.

            `tensor(shape, data_type)` has no data; `data`, `fill_with_data` or
            `random_initializer_type`
            give it some. A tensor_descriptor may stand in the place of the shape.
        """
    def bind_and_write_data(self, data: Any, to_device: Any) -> None:
        """Bind data to the tensor and write it to a device."""
    def bind_optimizer_data(
        self,
        data: Any,
        device_data: tensor_optimizer_device_data
        | Sequence[tensor_optimizer_device_data]
        | None = None,
    ) -> None:
        """Bind the buffers in which an optimizer keeps its state for this tensor."""
    def copy(self) -> tensor:
        """Return another tensor with the same descriptor, label and data."""
    def copy_data_from_device_memory(
        self, to_bytes: Any, synchronize_with_device: Any = True
    ) -> None:
        """Copy the data to a writable buffer of the same length."""
    @property
    def data(self) -> Any:
        """The host's data: the bound memory, or the library's; None when there is none."""
    @property
    def descriptor(self) -> tensor_descriptor:
        """mlc_tensor_descriptor_of"""
    @property
    def device(self) -> mlcompute.device:
        """The device that holds its data; NULL before it was written to one."""
    @property
    def has_valid_numerics(self) -> bool:
        """false when an element is NaN or infinite; waits."""
    @property
    def label(self) -> str:
        """ "data<id>" until set."""
    @label.setter
    def label(self, value: str) -> None: ...
    def numpy(self) -> Any:
        """Return the values as an array without a copy, once what computes them has ended."""
    @property
    def optimizer_data(self) -> list[tensor_data]:
        """The optimizer's buffers for this tensor on the host, as bound or synchronised."""
    @property
    def optimizer_device_data(self) -> list[tensor_optimizer_device_data]:
        """mlc_tensor_optimizer_device_data"""
    def print(self) -> None:
        """Print the label and the values on one line."""
    @property
    def shape(self) -> Any:
        """The sizes of the descriptor."""
    def synchronize_data(self) -> None:
        """Wait for the device's data and copy it to the host's."""
    def synchronize_optimizer_data(self) -> None:
        """Wait for the optimizer's buffers of this tensor and copy them to the host's."""
    def tensor_by_dequantizing(
        self, to_type: Any, scale: tensor | float, bias: tensor | float, axis: int | None = None
    ) -> Any:
        """Return (q - bias) scale; scale and bias are tensors."""
    def tensor_by_quantizing(
        self, to_type: Any, scale: tensor | float, bias: tensor | float, axis: int | None = None
    ) -> Any:
        """Return clamp(round(x / scale) + bias) as Int8, UInt8 or Int32.

        With an axis, scale and bias are tensors with one element per place along it.
        """
    @property
    def tensor_id(self) -> int:
        """1, 2, ... in the order tensors are made."""
    @classmethod
    def tensor_with_descriptor(
        cls,
        descriptor: Any,
        *,
        random_initializer_type: Any = None,
        fill_with_data: Any = None,
        data: Any = None,
    ) -> Self:
        """Return a tensor of a descriptor; without data, or with one kind of it."""
    @classmethod
    def tensor_with_sequence_length(
        cls,
        sequence_length: Any,
        feature_channel_count: Any,
        batch_size: int,
        *,
        random_initializer_type: Any = None,
        data: Any = None,
    ) -> Self:
        """Return Float32 sequences of one length: (batch, length, channels)."""
    @classmethod
    def tensor_with_sequence_lengths(
        cls,
        sequence_lengths: Sequence[int] | int,
        sorted_sequences: Any,
        feature_channel_count: Any,
        batch_size: int,
        *,
        random_initializer_type: Any = None,
        data: Any = None,
    ) -> Self:
        """Return Float32 sequences of several lengths; as long as the longest."""
    @classmethod
    def tensor_with_shape(
        cls,
        shape: Sequence[int] | int,
        data_type: Any = "Float32",
        *,
        random_initializer_type: Any = None,
        fill_with_data: Any = None,
        data: Any = None,
    ) -> Self:
        """Return a tensor of a shape; without data, or with one kind of it."""
    @classmethod
    def tensor_with_width(
        cls,
        width: int,
        height: int,
        feature_channel_count: Any,
        batch_size: int,
        *,
        random_initializer_type: Any = None,
        fill_with_data: Any = None,
        data: Any = None,
        data_type: Any = "Float32",
    ) -> Self:
        """Return images: (batch, channels, height, width)."""

class tensor_data:
    """A view of an array's memory: bound, never copied.

    The array (any C-contiguous buffer) stays alive as long as the library uses its memory. A
    read-only array can be bound as immutable data only. `deallocator`, when given, is called
    with
    the array once nothing uses it any more.
    """
    def __init__(self, array: Any, immutable: Any = False, deallocator: Any = None) -> None:
        """Make one: tensor_data(array, immutable=False, deallocator=None)

        A view of an array's memory: bound, never copied.

            The array (any C-contiguous buffer) stays alive as long as the library uses its
            memory. A
            read-only array can be bound as immutable data only. `deallocator`, when given, is
            called with
            the array once nothing uses it any more.
        """
    def __len__(self) -> Any: ...
    @property
    def bytes(self) -> Any:
        """The memory, as a memoryview; None where there is none."""
    @property
    def length(self) -> int:
        """mlc_tensor_data_length"""
    def numpy(self, dtype: Any = None, shape: Sequence[int] | int = ...) -> Any:
        """Return the memory as an array, without a copy; of the bound array's dtype by default."""
    def print(self) -> None:
        """Print the elements on one line."""

class tensor_descriptor:
    """Shape and type of a tensor; lengths of its sequences."""
    def __init__(
        self,
        shape: Sequence[int] | int,
        data_type: Any = "Float32",
        sequence_lengths: Sequence[int] | int | None = None,
        sorted_sequences: Any = None,
    ) -> None:
        """Make one: tensor_descriptor(shape, data_type='Float32', sequence_lengths=None,
        sorted_sequences=None)

        Shape and type of a tensor; lengths of its sequences.

        Sizes must be at least 1; at most mlc_tensor_descriptor_max_dimensions() of them.

        shape is (batch, sequence, features); one length per example, at most the sequence's.
        When sorted, lengths must not increase.
        """
    @property
    def batch_size_per_sequence_step(self) -> int | Sequence[int]:
        """How many sequences are longer than step t, for t = 0, 1, ...: of sorted sequences; else
        empty.
        """
    @classmethod
    def convolution_biases_descriptor(
        cls, feature_channel_count: Any, data_type: Any = "Float32"
    ) -> Self:
        """Return (1, channels, 1, 1)."""
    @classmethod
    def convolution_weights_descriptor(
        cls,
        width: int | None = None,
        height: int | None = None,
        input_feature_channel_count: Any = 1,
        output_feature_channel_count: Any = 1,
        data_type: Any = "Float32",
    ) -> Self:
        """Return (1, out * in, height, width); without width and height a dense layer's."""
    @property
    def data_type(self) -> mlcompute.data_type:
        """mlc_tensor_descriptor_data_type"""
    @property
    def dimension_count(self) -> int:
        """mlc_tensor_descriptor_dimension_count"""
    @staticmethod
    def max_tensor_dimensions() -> int:
        """Return the most dimensions that a tensor may have."""
    @property
    def sequence_lengths(self) -> int | Sequence[int]:
        """Empty without sequences."""
    @property
    def shape(self) -> int | Sequence[int]:
        """mlc_tensor_descriptor_shape"""
    @property
    def sorted_sequences(self) -> bool:
        """mlc_tensor_descriptor_sorted_sequences"""
    @property
    def stride(self) -> int | Sequence[int]:
        """In bytes."""
    @property
    def tensor_allocation_size_in_bytes(self) -> int:
        """mlc_tensor_descriptor_bytes"""
    @classmethod
    def with_width(
        cls,
        width: int,
        height: int,
        feature_channel_count: Any,
        batch_size: int,
        data_type: Any = "Float32",
    ) -> Self:
        """Return the descriptor of images: (batch, channels, height, width)."""

class tensor_optimizer_device_data:
    """One buffer of an optimizer's state on a device."""
    def __init__(self) -> None:
        """Make one: tensor_optimizer_device_data()

        One buffer of an optimizer's state on a device.
        """
    @property
    def length(self) -> Any:
        """The buffer's bytes."""

class tensor_parameter:
    """An input tensor that the optimizer trains."""
    def __init__(self, tensor: mlcompute.tensor, optimizer_data: Any = None) -> None:
        """Make one: tensor_parameter(tensor, optimizer_data=None)

        An input tensor that the optimizer trains.

        mlc_tensor_parameter_create

        mlc_tensor_parameter_create_with_optimizer_data
        """
    @property
    def is_updatable(self) -> bool:
        """true at first; the optimizer leaves others alone. Looked at when a graph is compiled."""
    @is_updatable.setter
    def is_updatable(self, value: bool) -> None: ...
    @property
    def tensor(self) -> mlcompute.tensor:
        """mlc_tensor_parameter_tensor"""

class yolo_loss_descriptor:
    """Anchor boxes, a width and a height in cells each, and the scales of the parts of the loss."""
    def __init__(self, anchor_boxes: Any, anchor_box_count: int | None = None) -> None:
        """Make one: yolo_loss_descriptor(anchor_boxes, anchor_box_count=None)

        Anchor boxes, a width and a height in cells each, and the scales of the parts of the
        loss.

        rescores; scales 10, 10, 5, 100, 2; IOU 0.7 and 0.3.
        """
    @property
    def anchor_box_count(self) -> int:
        """The field anchor_box_count."""
    @anchor_box_count.setter
    def anchor_box_count(self, value: int) -> None: ...
    @property
    def anchor_boxes(self) -> Any:
        """The boxes, an array of (width, height)."""
    @anchor_boxes.setter
    def anchor_boxes(self, value: Any) -> None: ...
    @property
    def maximum_iou_for_object_absence(self) -> float:
        """The field maximum_iou_for_object_absence."""
    @maximum_iou_for_object_absence.setter
    def maximum_iou_for_object_absence(self, value: float) -> None: ...
    @property
    def minimum_iou_for_object_presence(self) -> float:
        """The field minimum_iou_for_object_presence."""
    @minimum_iou_for_object_presence.setter
    def minimum_iou_for_object_presence(self, value: float) -> None: ...
    @property
    def scale_class_loss(self) -> float:
        """The field scale_class_loss."""
    @scale_class_loss.setter
    def scale_class_loss(self, value: float) -> None: ...
    @property
    def scale_no_object_confidence_loss(self) -> float:
        """The field scale_no_object_confidence_loss."""
    @scale_no_object_confidence_loss.setter
    def scale_no_object_confidence_loss(self, value: float) -> None: ...
    @property
    def scale_object_confidence_loss(self) -> float:
        """The field scale_object_confidence_loss."""
    @scale_object_confidence_loss.setter
    def scale_object_confidence_loss(self, value: float) -> None: ...
    @property
    def scale_spatial_position_loss(self) -> float:
        """The field scale_spatial_position_loss."""
    @scale_spatial_position_loss.setter
    def scale_spatial_position_loss(self, value: float) -> None: ...
    @property
    def scale_spatial_size_loss(self) -> float:
        """The field scale_spatial_size_loss."""
    @scale_spatial_size_loss.setter
    def scale_spatial_size_loss(self, value: float) -> None: ...
    @property
    def should_rescore(self) -> bool:
        """The field should_rescore."""
    @should_rescore.setter
    def should_rescore(self, value: bool) -> None: ...
    def __copy__(self) -> Self: ...
    def __eq__(self, other: object) -> bool: ...
    def copy(self) -> Self:
        """Return another descriptor with the same values."""

class activation_layer(layer):
    """A function of each element: of a descriptor, or of an activation type with its defaults."""
    def __init__(self, descriptor: Any) -> None:
        """Make one: activation_layer(descriptor)

        A function of each element: of a descriptor, or of an activation type with its defaults.

        mlc_activation_layer_create
        """
    @classmethod
    def absolute_layer(cls) -> Self:
        """Return |x|."""
    @classmethod
    def celu_layer(cls, a: float | None = None) -> Self:
        """Return max(0, x) + min(0, a (e^(x / a) - 1)); a is 1 by default."""
    @classmethod
    def clamp_layer(cls, min_value: Any, max_value: Any) -> Self:
        """Return min(max(x, min_value), max_value)."""
    @property
    def descriptor(self) -> activation_descriptor:
        """mlc_layer_activation_descriptor"""
    @classmethod
    def elu_layer(cls, a: float | None = None) -> Self:
        """Return x where x >= 0, else a (e^x - 1); a is 1 by default."""
    @classmethod
    def gelu_layer(cls) -> Self:
        """Return x Phi(x), by the approximation with tanh."""
    @classmethod
    def hard_shrink_layer(cls, a: float | None = None) -> Self:
        """Return x where |x| > a, else 0; a is 0.5 by default."""
    @classmethod
    def hard_sigmoid_layer(cls) -> Self:
        """Return min(max(0.2 x + 0.5, 0), 1)."""
    @classmethod
    def hard_swish_layer(cls) -> Self:
        """Return 0 below -3, x above 3, else x (x + 3) / 6."""
    @classmethod
    def leaky_relu_layer(cls, negative_slope: float | None = None) -> Self:
        """Return x where x >= 0, else slope x; the slope is 0.01 by default."""
    @classmethod
    def linear_layer(cls, scale: tensor | float, bias: tensor | float) -> Self:
        """Return scale x + bias."""
    @classmethod
    def log_sigmoid_layer(cls) -> Self:
        """Return -log(1 + e^-x)."""
    @classmethod
    def relu6_layer(cls) -> Self:
        """Return min(max(x, 0), 6)."""
    @classmethod
    def relu_layer(cls) -> Self:
        """Return max(x, 0)."""
    @classmethod
    def relun_layer(cls, a: float, b: float) -> Self:
        """Return min(x where x >= 0 else a x, b)."""
    @classmethod
    def selu_layer(cls) -> Self:
        """Return s (x where x >= 0 else t (e^x - 1)) with the known constants s and t."""
    @classmethod
    def sigmoid_layer(cls) -> Self:
        """Return 1 / (1 + e^-x)."""
    @classmethod
    def soft_plus_layer(cls, beta: tensor | float | None = None) -> Self:
        """Return log(1 + e^(beta x)) / beta; beta is 1 by default."""
    @classmethod
    def soft_shrink_layer(cls, a: float | None = None) -> Self:
        """Return x - a above a, x + a below -a, else 0; a is 0.5 by default."""
    @classmethod
    def soft_sign_layer(cls) -> Self:
        """Return x / (1 + |x|)."""
    @classmethod
    def tanh_layer(cls) -> Self:
        """Return tanh x."""
    @classmethod
    def tanh_shrink_layer(cls) -> Self:
        """Return x - tanh x."""
    @classmethod
    def threshold_layer(cls, threshold: float, replacement: float) -> Self:
        """Return x where x > threshold, else the replacement."""

class adam_optimizer(optimizer):
    """Adam; regularization is added to the gradient."""
    def __init__(
        self,
        descriptor: Any,
        beta1: float | None = None,
        beta2: float | None = None,
        epsilon: float | None = None,
        time_step: int | None = None,
        uses_amsgrad: bool | None = None,
    ) -> None:
        """Make one: adam_optimizer(descriptor, beta1=None, beta2=None, epsilon=None,
        time_step=None, uses_amsgrad=None)

        Adam; regularization is added to the gradient.

        beta1 0.9, beta2 0.999, epsilon 1e-8, no AMSGrad, time step 1.

        mlc_adam_optimizer_create
        """
    @property
    def beta1(self) -> float:
        """mlc_optimizer_beta1"""
    @property
    def beta2(self) -> float:
        """mlc_optimizer_beta2"""
    @property
    def epsilon(self) -> float:
        """mlc_optimizer_epsilon"""
    @property
    def time_step(self) -> int:
        """The step that the next update will be: it counts up with every update."""
    @property
    def uses_amsgrad(self) -> bool:
        """mlc_optimizer_uses_amsgrad"""

class adamw_optimizer(optimizer):
    """Adam whose regularization takes scale * w off the weights directly."""
    def __init__(
        self,
        descriptor: Any,
        beta1: float | None = None,
        beta2: float | None = None,
        epsilon: float | None = None,
        uses_amsgrad: bool | None = None,
        time_step: int | None = None,
    ) -> None:
        """Make one: adamw_optimizer(descriptor, beta1=None, beta2=None, epsilon=None,
        uses_amsgrad=None, time_step=None)

        Adam whose regularization takes scale * w off the weights directly.

        mlc_adamw_optimizer_create_default

        mlc_adamw_optimizer_create
        """
    @property
    def beta1(self) -> float:
        """mlc_optimizer_beta1"""
    @property
    def beta2(self) -> float:
        """mlc_optimizer_beta2"""
    @property
    def epsilon(self) -> float:
        """mlc_optimizer_epsilon"""
    @property
    def time_step(self) -> int:
        """The step that the next update will be: it counts up with every update."""
    @property
    def uses_amsgrad(self) -> bool:
        """mlc_optimizer_uses_amsgrad"""

class arithmetic_layer(layer):
    """One operation on one or two sources, which broadcast."""
    def __init__(
        self, operation: arithmetic_operation | comparison_operation | softmax_operation | int | str
    ) -> None:
        """Make one: arithmetic_layer(operation)

        One operation on one or two sources, which broadcast.

        One source for unary operations, two for binary ones, which broadcast.
        """
    @property
    def operation(self) -> arithmetic_operation:
        """mlc_layer_arithmetic_operation"""

class batch_normalization_layer(layer):
    """(x - mean) / (variance + epsilon)^(1/2) gamma + beta per channel.

    In training with the batch's statistics; running ones become
    momentum * old + (1 - momentum) * new.
    """
    def __init__(
        self,
        feature_channel_count: Any,
        mean: tensor,
        variance: tensor,
        beta: tensor | float | None = None,
        gamma: tensor | None = None,
        variance_epsilon: Any = 1e-05,
        momentum: float = 0.99,
    ) -> None:
        """Make one: batch_normalization_layer(feature_channel_count, mean, variance, beta=None,
        gamma=None, variance_epsilon=1e-05, momentum=0.99)

        (x - mean) / (variance + epsilon)^(1/2) gamma + beta per channel.

            In training with the batch's statistics; running ones become
            momentum * old + (1 - momentum) * new.


        y = (x - mean) / (variance + epsilon)^(1/2) gamma + beta per channel; in training with
        the batch's statistics, running ones become momentum * old + (1 - momentum) * new. beta,
        gamma may be NULL.
        """
    @property
    def beta(self) -> tensor:
        """mlc_layer_beta"""
    @property
    def beta_parameter(self) -> tensor_parameter:
        """mlc_layer_beta_parameter"""
    @property
    def feature_channel_count(self) -> int:
        """mlc_layer_feature_channel_count"""
    @property
    def gamma(self) -> tensor:
        """mlc_layer_gamma"""
    @property
    def gamma_parameter(self) -> tensor_parameter:
        """mlc_layer_gamma_parameter"""
    @property
    def mean(self) -> tensor:
        """mlc_layer_mean"""
    @property
    def momentum(self) -> float:
        """mlc_layer_momentum"""
    @property
    def variance(self) -> tensor:
        """mlc_layer_variance"""
    @property
    def variance_epsilon(self) -> float:
        """mlc_layer_variance_epsilon"""

class comparison_layer(layer):
    """A comparison of two sources or an operation on Booleans; the result is Boolean."""
    def __init__(
        self, operation: arithmetic_operation | comparison_operation | softmax_operation | int | str
    ) -> None:
        """Make one: comparison_layer(operation)

        A comparison of two sources or an operation on Booleans; the result is Boolean.

        mlc_comparison_layer_create
        """
    @property
    def operation(self) -> comparison_operation:
        """mlc_layer_comparison_operation"""

class concatenation_layer(layer):
    """Sources one after another along a dimension; 1 by default."""
    def __init__(self, dimension: int | None = None) -> None:
        """Make one: concatenation_layer(dimension=None)

        Sources one after another along a dimension; 1 by default.

        mlc_concatenation_layer_create

        mlc_concatenation_layer_create_dimension
        """
    @property
    def dimension(self) -> int:
        """mlc_layer_dimension"""

class convolution_layer(layer):
    """A convolution of images (batch, channels, height, width)."""
    def __init__(
        self,
        weights: tensor | Sequence[tensor],
        biases: tensor | Sequence[tensor] | None = None,
        descriptor: Any = None,
    ) -> None:
        """Make one: convolution_layer(weights, biases=None, descriptor=None)

        A convolution of images (batch, channels, height, width).

        biases may be NULL.
        """
    @property
    def biases(self) -> tensor:
        """mlc_layer_biases"""
    @property
    def biases_parameter(self) -> tensor_parameter:
        """mlc_layer_biases_parameter"""
    @property
    def descriptor(self) -> convolution_descriptor:
        """mlc_layer_convolution_descriptor"""
    @property
    def weights(self) -> tensor:
        """mlc_layer_weights"""
    @property
    def weights_parameter(self) -> tensor_parameter:
        """mlc_layer_weights_parameter"""

class dropout_layer(layer):
    """Zeroes elements with probability `rate` in training, and scales the others."""
    def __init__(self, rate: float, seed: int = 0) -> None:
        """Make one: dropout_layer(rate, seed=0)

        Zeroes elements with probability `rate` in training, and scales the others.

        Zeroes elements with probability `rate`, in training only, and multiplies the others by
        1 / (1 - rate). Which ones depends on the seed, the layer's place and the step.
        """
    @property
    def rate(self) -> float:
        """mlc_layer_rate"""
    @property
    def seed(self) -> int:
        """mlc_layer_seed"""

class embedding_layer(layer):
    """Rows of the weights, by Int32 or Int64 indices."""
    def __init__(self, descriptor: Any, weights: tensor | Sequence[tensor]) -> None:
        """Make one: embedding_layer(descriptor, weights)

        Rows of the weights, by Int32 or Int64 indices.

        weights [count, dimension] (or [1, count * dimension, 1, 1]); Int32 or Int64 sources.
        """
    @property
    def descriptor(self) -> embedding_descriptor:
        """mlc_layer_embedding_descriptor"""
    @property
    def weights(self) -> tensor:
        """mlc_layer_weights"""
    @property
    def weights_parameter(self) -> tensor_parameter:
        """mlc_layer_weights_parameter"""

class fully_connected_layer(layer):
    """x W^T + b over the last dimension, or over the channels of (N, C, 1, 1)."""
    def __init__(
        self,
        weights: tensor | Sequence[tensor],
        biases: tensor | Sequence[tensor] | None = None,
        descriptor: Any = None,
    ) -> None:
        """Make one: fully_connected_layer(weights, biases=None, descriptor=None)

        x W^T + b over the last dimension, or over the channels of (N, C, 1, 1).

        (..., in) -> (..., out), or (N, in, 1, 1) -> (N, out, 1, 1); weights in the order out,
        in.
        """
    @property
    def biases(self) -> tensor:
        """mlc_layer_biases"""
    @property
    def biases_parameter(self) -> tensor_parameter:
        """mlc_layer_biases_parameter"""
    @property
    def descriptor(self) -> convolution_descriptor:
        """mlc_layer_convolution_descriptor"""
    @property
    def weights(self) -> tensor:
        """mlc_layer_weights"""
    @property
    def weights_parameter(self) -> tensor_parameter:
        """mlc_layer_weights_parameter"""

class gather_layer(layer):
    """Elements of the first source at the second's indices along a dimension."""
    def __init__(self, dimension: int) -> None:
        """Make one: gather_layer(dimension)

        Elements of the first source at the second's indices along a dimension.

        Sources: values, indices (Int32 or Int64) of one rank: y[i][j] = x[indices[i][j]][j] for
        dimension 0.
        """
    @property
    def dimension(self) -> int:
        """mlc_layer_dimension"""

class gram_matrix_layer(layer):
    """scale X X^T of every example, X being its channels' rows."""
    def __init__(self, scale: tensor | float = 1.0) -> None:
        """Make one: gram_matrix_layer(scale=1.0)

        scale X X^T of every example, X being its channels' rows.

        scale * X X^T of (N, C, H, W), X being C rows of H * W: (N, 1, C, C)
        """
    @property
    def scale(self) -> float:
        """mlc_layer_scale"""

class group_normalization_layer(layer):
    """Normalization of groups of channels of every example."""
    def __init__(
        self,
        feature_channel_count: Any,
        group_count: Any,
        beta: tensor | float | None = None,
        gamma: tensor | None = None,
        variance_epsilon: Any = 1e-05,
    ) -> None:
        """Make one: group_normalization_layer(feature_channel_count, group_count, beta=None,
        gamma=None, variance_epsilon=1e-05)

        Normalization of groups of channels of every example.

        mlc_group_normalization_layer_create
        """
    @property
    def beta(self) -> tensor:
        """mlc_layer_beta"""
    @property
    def beta_parameter(self) -> tensor_parameter:
        """mlc_layer_beta_parameter"""
    @property
    def feature_channel_count(self) -> int:
        """mlc_layer_feature_channel_count"""
    @property
    def gamma(self) -> tensor:
        """mlc_layer_gamma"""
    @property
    def gamma_parameter(self) -> tensor_parameter:
        """mlc_layer_gamma_parameter"""
    @property
    def group_count(self) -> int:
        """mlc_layer_group_count"""
    @property
    def variance_epsilon(self) -> float:
        """mlc_layer_variance_epsilon"""

class inference_graph(graph):
    """Graphs, wrapped for running forward."""
    def __init__(self, graph_objects: Any) -> None:
        """Make one: inference_graph(graph_objects)

        Graphs, wrapped for running forward.

        mlc_inference_graph_create
        """
    def add_inputs(
        self, inputs: Any, loss_labels: Any = None, loss_label_weights: Any = None
    ) -> Any:
        """Name the tensors that executions get data for."""
    def add_outputs(self, outputs: Any) -> Any:
        """Name the tensors whose data executions give."""
    def compile(
        self,
        device: device | None = None,
        options: int = 0,
        input_tensors: Any = None,
        input_tensors_data: Any = None,
    ) -> None:
        """Compile for a device; named tensors with data are constants from now on."""
    @property
    def device_memory_size(self) -> int:
        """Bytes of all intermediate values of what was compiled so far."""
    def execute(
        self,
        inputs_data: Any,
        batch_size: int = 0,
        options: int = 0,
        completion_handler: Any = None,
        *,
        outputs_data: Any = None,
        loss_labels_data: Any = None,
        loss_label_weights_data: Any = None,
    ) -> None:
        """Run forward with data by name: asynchronously, unless the options say SYNCHRONOUS.

        The completion handler gets the result (a tensor or None), the error (an exception or
        None) and the seconds it took. What it reads of the graph's results is this execution's,
        whatever others have computed by then. An input that is not given keeps the data it was
        given last.
        """
    def link(self, graphs: graph | Sequence[graph]) -> None:
        """Link with graphs: a result of one is an input of another without leaving the device."""

class instance_normalization_layer(layer):
    """Batch normalization of every example by itself; running statistics are optional."""
    def __init__(
        self,
        feature_channel_count: Any,
        beta: tensor | float | None = None,
        gamma: tensor | None = None,
        variance_epsilon: Any = 1e-05,
        momentum: float = 0.99,
        mean: tensor | None = None,
        variance: tensor | None = None,
    ) -> None:
        """Make one: instance_normalization_layer(feature_channel_count, beta=None, gamma=None,
        variance_epsilon=1e-05, momentum=0.99, mean=None, variance=None)

        Batch normalization of every example by itself; running statistics are optional.

        mean and variance may be NULL: no running statistics, the example's own are always used.
        """
    @property
    def beta(self) -> tensor:
        """mlc_layer_beta"""
    @property
    def beta_parameter(self) -> tensor_parameter:
        """mlc_layer_beta_parameter"""
    @property
    def feature_channel_count(self) -> int:
        """mlc_layer_feature_channel_count"""
    @property
    def gamma(self) -> tensor:
        """mlc_layer_gamma"""
    @property
    def gamma_parameter(self) -> tensor_parameter:
        """mlc_layer_gamma_parameter"""
    @property
    def mean(self) -> tensor:
        """mlc_layer_mean"""
    @property
    def momentum(self) -> float:
        """mlc_layer_momentum"""
    @property
    def variance(self) -> tensor:
        """mlc_layer_variance"""
    @property
    def variance_epsilon(self) -> float:
        """mlc_layer_variance_epsilon"""

class layer_normalization_layer(layer):
    """Normalization over the last dimensions, which must be normalized_shape."""
    def __init__(
        self,
        normalized_shape: Sequence[int] | int,
        beta: tensor | float | None = None,
        gamma: tensor | None = None,
        variance_epsilon: Any = 1e-05,
    ) -> None:
        """Make one: layer_normalization_layer(normalized_shape, beta=None, gamma=None,
        variance_epsilon=1e-05)

        Normalization over the last dimensions, which must be normalized_shape.

        Over the last dimensions, which must be normalized_shape.
        """
    @property
    def beta(self) -> tensor:
        """mlc_layer_beta"""
    @property
    def beta_parameter(self) -> tensor_parameter:
        """mlc_layer_beta_parameter"""
    @property
    def gamma(self) -> tensor:
        """mlc_layer_gamma"""
    @property
    def gamma_parameter(self) -> tensor_parameter:
        """mlc_layer_gamma_parameter"""
    @property
    def normalized_shape(self) -> int | Sequence[int]:
        """mlc_layer_normalized_shape"""
    @property
    def variance_epsilon(self) -> float:
        """mlc_layer_variance_epsilon"""

class loss_layer(layer):
    """A loss of scores and labels of one shape. `weights`, a tensor, multiplies losses."""
    def __init__(self, descriptor: Any, weights: tensor | Sequence[tensor] | None = None) -> None:
        """Make one: loss_layer(descriptor, weights=None)

        A loss of scores and labels of one shape. `weights`, a tensor, multiplies losses.

        Sources: scores; and labels, of the scores' shape, in a node with labels, or declared by
        mlc_training_graph_add_inputs. Label weights multiply the labels' losses. `weights`
        (NULL: use the descriptor's scalar) multiplies losses too.
        """
    @classmethod
    def categorical_cross_entropy_loss(
        cls,
        reduction_type: Any,
        label_smoothing: float = 0.0,
        class_count: int = 1,
        weight: float | None = None,
        weights: tensor | Sequence[tensor] | None = None,
    ) -> Self:
        """Return the cross entropy of labels and given probabilities."""
    @classmethod
    def cosine_distance_loss(
        cls,
        reduction_type: Any,
        weight: float | None = None,
        weights: tensor | Sequence[tensor] | None = None,
    ) -> Self:
        """Return 1 minus the inner product."""
    @property
    def descriptor(self) -> loss_descriptor:
        """mlc_layer_loss_descriptor"""
    @classmethod
    def hinge_loss(
        cls,
        reduction_type: Any,
        weight: float | None = None,
        weights: tensor | Sequence[tensor] | None = None,
    ) -> Self:
        """Return the hinge loss of scores and labels 0 or 1."""
    @classmethod
    def huber_loss(
        cls,
        reduction_type: Any,
        delta: float = 1.0,
        weight: float | None = None,
        weights: tensor | Sequence[tensor] | None = None,
    ) -> Self:
        """Return a square near 0 and a line beyond delta."""
    @classmethod
    def log_loss(
        cls,
        reduction_type: Any,
        epsilon: float = 1e-07,
        weight: float | None = None,
        weights: tensor | Sequence[tensor] | None = None,
    ) -> Self:
        """Return the cross entropy of labels and probabilities, epsilon inside the logarithms."""
    @classmethod
    def mean_absolute_error_loss(
        cls,
        reduction_type: Any,
        weight: float | None = None,
        weights: tensor | Sequence[tensor] | None = None,
    ) -> Self:
        """Return |x - y|."""
    @classmethod
    def mean_squared_error_loss(
        cls,
        reduction_type: Any,
        weight: float | None = None,
        weights: tensor | Sequence[tensor] | None = None,
    ) -> Self:
        """Return (x - y)^2."""
    @classmethod
    def sigmoid_cross_entropy_loss(
        cls,
        reduction_type: Any,
        label_smoothing: float = 0.0,
        weight: float | None = None,
        weights: tensor | Sequence[tensor] | None = None,
    ) -> Self:
        """Return the cross entropy of labels and sigmoid(scores)."""
    @classmethod
    def softmax_cross_entropy_loss(
        cls,
        reduction_type: Any,
        label_smoothing: float = 0.0,
        class_count: int = 1,
        weight: float | None = None,
        weights: tensor | Sequence[tensor] | None = None,
    ) -> Self:
        """Return the cross entropy of labels and softmax(scores)."""
    @property
    def weights(self) -> tensor:
        """mlc_layer_weights"""

class lstm_layer(layer):
    """LSTM of one or several layers, in one or both directions.

    Weights are lists of 4 tensors per layer and direction (input, forget, cell, output), all
    forward layers first.
    """
    def __init__(
        self,
        descriptor: Any,
        input_weights: tensor | Sequence[tensor],
        hidden_weights: tensor | Sequence[tensor],
        biases: tensor | Sequence[tensor] | None = None,
        peephole_weights: tensor | Sequence[tensor] | None = None,
        gate_activations: activation_descriptor | None = None,
        output_result_activation: Any = None,
    ) -> None:
        """Make one: lstm_layer(descriptor, input_weights, hidden_weights, biases=None,
        peephole_weights=None, gate_activations=None, output_result_activation=None)

        LSTM of one or several layers, in one or both directions.

            Weights are lists of 4 tensors per layer and direction (input, forget, cell,
            output), all
            forward layers first.


        4 tensors per layer and direction, gates in the order input, forget, cell, output; all
        forward layers, then all backward ones. Input weights [hidden, features] (features:
        input_size; after the first layer hidden, or twice that when bidirectional), hidden
        weights [hidden, hidden], biases [hidden], peepholes [hidden] or [hidden, hidden].
        Sources: x (N, T, F) [, hidden and cell states (layers, directions, N, H)] [, Int32
        lengths (N), not increasing]. Results: output (N, T, H * directions), or (N, H *
        directions) of the last step when sequences are not returned; with states: output,
        hidden, cell.

        gate_activations: NULL or 4 of input, forget, cell, output; output_activation: NULL is
        tanh.
        """
    @property
    def biases(self) -> list[tensor]:
        """mlc_layer_biases_list"""
    @property
    def biases_parameters(self) -> list[tensor_parameter]:
        """mlc_layer_biases_parameters"""
    @property
    def descriptor(self) -> lstm_descriptor:
        """mlc_layer_lstm_descriptor"""
    @property
    def gate_activations(self) -> Any:
        """The activations of the gates: input, forget, cell, output."""
    @property
    def hidden_weights(self) -> list[tensor]:
        """mlc_layer_hidden_weights"""
    @property
    def hidden_weights_parameters(self) -> list[tensor_parameter]:
        """mlc_layer_hidden_weights_parameters"""
    @property
    def input_weights(self) -> list[tensor]:
        """mlc_layer_input_weights"""
    @property
    def input_weights_parameters(self) -> list[tensor_parameter]:
        """mlc_layer_input_weights_parameters"""
    @property
    def output_result_activation(self) -> activation_descriptor:
        """mlc_layer_output_result_activation"""
    @property
    def peephole_weights(self) -> list[tensor]:
        """mlc_layer_peephole_weights"""
    @property
    def peephole_weights_parameters(self) -> list[tensor_parameter]:
        """mlc_layer_peephole_weights_parameters"""

class matmul_layer(layer):
    """alpha op(x) op(y) over leading dimensions, which broadcast."""
    def __init__(self, descriptor: Any = None) -> None:
        """Make one: matmul_layer(descriptor=None)

        alpha op(x) op(y) over leading dimensions, which broadcast.

        alpha op(x) op(y), over leading dimensions, which broadcast.
        """
    @property
    def descriptor(self) -> matmul_descriptor:
        """mlc_layer_matmul_descriptor"""

class multihead_attention_layer(layer):
    """Attention with several heads; weights are [Wq, Wk, Wv, Wo], each (out, in)."""
    def __init__(
        self,
        descriptor: Any,
        weights: tensor | Sequence[tensor],
        biases: tensor | Sequence[tensor] | None = None,
        attention_biases: tensor | Sequence[tensor] | None = None,
    ) -> None:
        """Make one: multihead_attention_layer(descriptor, weights, biases=None,
        attention_biases=None)

        Attention with several heads; weights are [Wq, Wk, Wv, Wo], each (out, in).

        Sources: query (N, L, E), key (N, S, K), value (N, S, V) [, key mask (N, S) Boolean] [,
        attention mask (1, L, S) or (N * heads, L, S), Float32 added or Boolean]. weights: [Wq,
        Wk, Wv, Wo], each (out, in); biases: one for each; attention biases: [bias_k, bias_v] of
        size E.
        """
    @property
    def attention_biases(self) -> list[tensor]:
        """mlc_layer_attention_biases"""
    @property
    def biases(self) -> list[tensor]:
        """mlc_layer_biases_list"""
    @property
    def biases_parameters(self) -> list[tensor_parameter]:
        """mlc_layer_biases_parameters"""
    @property
    def descriptor(self) -> multihead_attention_descriptor:
        """mlc_layer_multihead_attention_descriptor"""
    @property
    def weights(self) -> list[tensor]:
        """[Wq, Wk, Wv, Wo]"""
    @property
    def weights_parameters(self) -> list[tensor_parameter]:
        """mlc_layer_weights_parameters"""

class padding_layer(layer):
    """Padding of the last two dimensions.

    One number is for all sides; two are left, right; four are top, bottom, left, right.
    """
    def __init__(
        self, padding_type: Any, padding: Sequence[int] | int, constant_value: Any = None
    ) -> None:
        """Make one: padding_layer(padding_type, padding, constant_value=None)

        Padding of the last two dimensions.

            One number is for all sides; two are left, right; four are top, bottom, left, right.


        mlc_padding_layer_zero

        Padding of the last two dimensions: 1 entry for all sides; 2: left, right; 4: top,
        bottom, left, right.

        mlc_padding_layer_symmetric

        mlc_padding_layer_constant
        """
    @property
    def constant_value(self) -> float:
        """mlc_layer_constant_value"""
    @classmethod
    def layer_with_constant_padding(cls, padding: Sequence[int] | int, constant_value: Any) -> Self:
        """Return a layer that pads with a number."""
    @classmethod
    def layer_with_reflection_padding(cls, padding: Sequence[int] | int) -> Self:
        """Return a layer that pads with the image mirrored at its edge's middle."""
    @classmethod
    def layer_with_symmetric_padding(cls, padding: Sequence[int] | int) -> Self:
        """Return a layer that pads with the image mirrored, its edge included."""
    @classmethod
    def layer_with_zero_padding(cls, padding: Sequence[int] | int) -> Self:
        """Return a layer that pads with zeros."""
    @property
    def padding_bottom(self) -> int:
        """mlc_layer_padding_bottom"""
    @property
    def padding_left(self) -> int:
        """mlc_layer_padding_left"""
    @property
    def padding_right(self) -> int:
        """mlc_layer_padding_right"""
    @property
    def padding_top(self) -> int:
        """mlc_layer_padding_top"""
    @property
    def padding_type(self) -> mlcompute.padding_type:
        """mlc_layer_padding_type"""

class pooling_layer(layer):
    """Largest elements, means or norms of windows."""
    def __init__(self, descriptor: Any) -> None:
        """Make one: pooling_layer(descriptor)

        Largest elements, means or norms of windows.

        mlc_pooling_layer_create
        """
    @property
    def descriptor(self) -> pooling_descriptor:
        """mlc_layer_pooling_descriptor"""

class reduction_layer(layer):
    """A reduction over a dimension or several, which stay with size 1."""
    def __init__(
        self,
        reduction_type: Any,
        dimension: int | None = None,
        *,
        dimensions: Sequence[int] | int | None = None,
    ) -> None:
        """Make one: reduction_layer(reduction_type, dimension=None, *, dimensions=None)

        A reduction over a dimension or several, which stay with size 1.

        mlc_reduction_layer_create

        mlc_reduction_layer_create_dimensions
        """
    @property
    def dimension(self) -> int:
        """mlc_layer_dimension"""
    @property
    def dimensions(self) -> int | Sequence[int]:
        """mlc_layer_dimensions"""
    @property
    def reduction_type(self) -> mlcompute.reduction_type:
        """mlc_layer_reduction_type"""

class reshape_layer(layer):
    """The same elements in another shape; one size may be -1."""
    def __init__(self, shape: Sequence[int] | int) -> None:
        """Make one: reshape_layer(shape)

        The same elements in another shape; one size may be -1.

        One size may be -1: the rest.
        """
    @property
    def shape(self) -> int | Sequence[int]:
        """mlc_layer_shape"""

class rmsprop_optimizer(optimizer):
    """RMSProp: gradients are divided by the root of their mean square."""
    def __init__(
        self,
        descriptor: Any,
        momentum_scale: float | None = None,
        alpha: float | None = None,
        epsilon: float | None = None,
        is_centered: bool | None = None,
    ) -> None:
        """Make one: rmsprop_optimizer(descriptor, momentum_scale=None, alpha=None, epsilon=None,
        is_centered=None)

        RMSProp: gradients are divided by the root of their mean square.

        No momentum, alpha 0.99, epsilon 1e-8, not centered.

        mlc_rmsprop_optimizer_create
        """
    @property
    def alpha(self) -> float:
        """mlc_optimizer_alpha"""
    @property
    def epsilon(self) -> float:
        """mlc_optimizer_epsilon"""
    @property
    def is_centered(self) -> bool:
        """mlc_optimizer_is_centered"""
    @property
    def momentum_scale(self) -> float:
        """mlc_optimizer_momentum_scale"""

class scatter_layer(layer):
    """A copy of the third source with the first's values put or added at the second's indices."""
    def __init__(self, dimension: int, reduction_type: Any = "None") -> None:
        """Make one: scatter_layer(dimension, reduction_type='None')

        A copy of the third source with the first's values put or added at the second's indices.

        Sources: values, indices, copyFrom: a copy of copyFrom with values put (None) or added
        (Sum) where the indices say.
        """
    @property
    def dimension(self) -> int:
        """mlc_layer_dimension"""
    @property
    def reduction_type(self) -> mlcompute.reduction_type:
        """mlc_layer_reduction_type"""

class selection_layer(layer):
    """Sources: condition, x, y; x where the condition is true, else y."""
    def __init__(self) -> None:
        """Make one: selection_layer()

        Sources: condition, x, y; x where the condition is true, else y.

        Sources: condition (Boolean), x, y: x where true.
        """

class sgd_optimizer(optimizer):
    """v = momentum v + g; w -= rate v (Nesterov: w -= rate (g + momentum v))."""
    def __init__(
        self,
        descriptor: Any,
        momentum_scale: float | None = None,
        uses_nesterov_momentum: bool | None = None,
    ) -> None:
        """Make one: sgd_optimizer(descriptor, momentum_scale=None, uses_nesterov_momentum=None)

        v = momentum v + g; w -= rate v (Nesterov: w -= rate (g + momentum v)).

        mlc_sgd_optimizer_create
        """
    @property
    def momentum_scale(self) -> float:
        """mlc_optimizer_momentum_scale"""
    @property
    def uses_nesterov_momentum(self) -> bool:
        """mlc_optimizer_uses_nesterov_momentum"""

class slice_layer(layer):
    """From start to end in steps, one entry per dimension."""
    def __init__(
        self,
        start: Sequence[int] | int,
        end: Sequence[int] | int,
        stride: Sequence[int] | int | None = None,
    ) -> None:
        """Make one: slice_layer(start, end, stride=None)

        From start to end in steps, one entry per dimension.

        One entry per dimension; stride empty: 1.
        """
    @property
    def end(self) -> int | Sequence[int]:
        """mlc_layer_end"""
    @property
    def start(self) -> int | Sequence[int]:
        """mlc_layer_start"""
    @property
    def stride(self) -> int | Sequence[int]:
        """mlc_layer_stride"""

class softmax_layer(layer):
    """Softmax or its logarithm over a dimension; 1 by default."""
    def __init__(
        self,
        operation: arithmetic_operation
        | comparison_operation
        | softmax_operation
        | int
        | str = "Softmax",
        dimension: int | None = None,
    ) -> None:
        """Make one: softmax_layer(operation='Softmax', dimension=None)

        Softmax or its logarithm over a dimension; 1 by default.

        Over dimension 1.

        mlc_softmax_layer_create_dimension
        """
    @property
    def dimension(self) -> int:
        """mlc_layer_dimension"""
    @property
    def operation(self) -> softmax_operation:
        """mlc_layer_softmax_operation"""

class split_layer(layer):
    """Parts along a dimension: so many, or of these lengths."""
    def __init__(
        self,
        split_count: Any = None,
        dimension: int | None = None,
        *,
        split_section_lengths: Any = None,
    ) -> None:
        """Make one: split_layer(split_count=None, dimension=None, *, split_section_lengths=None)

        Parts along a dimension: so many, or of these lengths.

        Where the count does not divide the size, the first parts are one longer; at most `size`
        parts.

        mlc_split_layer_create_sections
        """
    @property
    def dimension(self) -> int:
        """mlc_layer_dimension"""
    @property
    def split_count(self) -> int:
        """mlc_layer_split_count"""
    @property
    def split_section_lengths(self) -> int | Sequence[int]:
        """mlc_layer_split_section_lengths"""

class training_graph(graph):
    """Graphs, wrapped for training: with a loss, and with an optimizer."""
    def __init__(
        self,
        graph_objects: Any,
        loss_layer: layer | None = None,
        optimizer: mlcompute.optimizer | None = None,
    ) -> None:
        """Make one: training_graph(graph_objects, loss_layer=None, optimizer=None)

        Graphs, wrapped for training: with a loss, and with an optimizer.

        loss_layer (may be NULL: a node is the loss, or gradients are given) takes the last
        result of the graphs and the declared labels; optimizer may be NULL:
        mlc_training_graph_compile_optimizer.
        """
    def add_inputs(
        self, inputs: Any, loss_labels: Any = None, loss_label_weights: Any = None
    ) -> Any:
        """Name the tensors that executions get data for."""
    def add_outputs(self, outputs: Any) -> Any:
        """Name the tensors whose data executions give."""
    def allocate_user_gradient_for_tensor(self, tensor: tensor) -> tensor:
        """Return a tensor whose bound data is added to a result's gradient in every pass."""
    def bind_optimizer_data(
        self,
        data: Any,
        device_data: tensor_optimizer_device_data
        | Sequence[tensor_optimizer_device_data]
        | None = None,
        with_tensor: Any = None,
    ) -> None:
        """Give a parameter's optimizer buffers, before the first update."""
    def compile(
        self,
        device: device | None = None,
        options: int = 0,
        input_tensors: Any = None,
        input_tensors_data: Any = None,
    ) -> None:
        """Compile for a device; named tensors with data are constants from now on."""
    def compile_optimizer(self, optimizer: mlcompute.optimizer) -> None:
        """Give the graph its optimizer, or another one."""
    @property
    def device_memory_size(self) -> int:
        """mlc_training_graph_device_memory_size"""
    def execute(
        self,
        inputs_data: Any,
        loss_labels_data: Any = None,
        loss_label_weights_data: Any = None,
        batch_size: int = 0,
        options: int = 0,
        completion_handler: Any = None,
        *,
        outputs_data: Any = None,
    ) -> None:
        """Run forward, gradient and update: asynchronously, unless the options say SYNCHRONOUS.

        The completion handler gets the result (a tensor or None), the error (an exception or
        None) and the seconds it took. What it reads of the graph's results is this execution's,
        whatever others have computed by then. An input that is not given keeps the data it was
        given last.
        """
    def execute_forward(
        self,
        batch_size: int = 0,
        options: int = 0,
        completion_handler: Any = None,
        *,
        outputs_data: Any = None,
    ) -> None:
        """Run the forward pass alone, on data that was bound before."""
    def execute_gradient(
        self,
        batch_size: int = 0,
        options: int = 0,
        completion_handler: Any = None,
        *,
        outputs_data: Any = None,
    ) -> None:
        """Run the gradient pass after a forward pass; gradients add up until the next update."""
    def execute_optimizer_update(self, options: int = 0, completion_handler: Any = None) -> None:
        """Update the parameters with the gradients that have been added up."""
    def gradient_data_for_parameter(
        self, parameter: tensor | tensor_parameter, layer: layer | None = None
    ) -> Any:
        """Return the gradient of a parameter from the last separate gradient pass, an array."""
    def gradient_tensor_for_input(self, input: tensor) -> tensor:
        """Return the gradient with respect to an input."""
    def link(self, graphs: graph | Sequence[graph]) -> None:
        """Link with graphs: results, and gradients of the backward pass, stay on the device."""
    @property
    def optimizer(self) -> mlcompute.optimizer:
        """Borrowed."""
    def result_gradient_tensors_for_layer(self, layer: layer) -> list[tensor]:
        """Return the gradients with respect to a layer's results."""
    def set_training_tensor_parameters(
        self, parameters: tensor_parameter | Sequence[tensor_parameter]
    ) -> None:
        """Train input tensors as well."""
    def source_gradient_tensors_for_layer(self, layer: layer) -> list[tensor]:
        """Return the gradients with respect to a layer's sources."""
    def stop_gradient_for_tensors(self, tensors: tensor | Sequence[tensor]) -> None:
        """Let no gradient flow back through tensors."""
    def synchronize_updates(self) -> None:
        """Wait, and copy all parameters and optimizer buffers with host data to the host."""

class transpose_layer(layer):
    """Dimension i of the result is dimension dimensions[i] of the source."""
    def __init__(self, dimensions: Sequence[int] | int) -> None:
        """Make one: transpose_layer(dimensions)

        Dimension i of the result is dimension dimensions[i] of the source.

        Dimension i of the result is dimension dimensions[i] of the source; the batch stays the
        first.
        """
    @property
    def dimensions(self) -> int | Sequence[int]:
        """mlc_layer_dimensions"""

class upsample_layer(layer):
    """Images of another height and width: shape is [height, width]."""
    def __init__(
        self,
        shape: Sequence[int] | int,
        sample_mode: Any = None,
        aligns_corners: bool | None = None,
    ) -> None:
        """Make one: upsample_layer(shape, sample_mode=None, aligns_corners=None)

        Images of another height and width: shape is [height, width].

        shape: [height, width] of the result; nearest, corners not aligned.

        mlc_upsample_layer_create_mode
        """
    @property
    def aligns_corners(self) -> bool:
        """mlc_layer_aligns_corners"""
    @property
    def sample_mode(self) -> mlcompute.sample_mode:
        """mlc_layer_sample_mode"""
    @property
    def shape(self) -> int | Sequence[int]:
        """mlc_layer_shape"""

class yolo_loss_layer(loss_layer):
    """The loss of object detection with anchor boxes."""
    def __init__(self, descriptor: Any) -> None:
        """Make one: yolo_loss_layer(descriptor)

        The loss of object detection with anchor boxes.

        Scores (N, anchors * (5 + classes), H, W); labels of the same shape: per anchor tx, ty,
        tw, th, objectness, classes.
        """
    @property
    def yolo_loss_descriptor(self) -> mlcompute.yolo_loss_descriptor:
        """mlc_layer_yolo_loss_descriptor"""
