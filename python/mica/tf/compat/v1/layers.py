"""`tf.compat.v1.layers`: layers as functions, whose variables are got by name."""

from __future__ import annotations

from ... import _dtypes
from ..._array import expand_dims, reshape, squeeze
from ..._array import shape as _shape
from ..._context import graph_of_variables
from ..._control import cond
from ..._core import convert_to_tensor, ops
from ..._missing import missing as _missing_name
from ..._reduce import reduce_prod
from ..._static import static_value
from ..._windows import avg_pool2d as _avg_pool2d
from ..._windows import conv2d as _conv2d
from ..._windows import conv2d_transpose as _conv2d_transpose
from ..._windows import conv3d as _conv3d
from ..._windows import max_pool2d as _max_pool2d
from ...initializers import Ones, Zeros
from ...linalg import tensordot
from ...nn import batch_normalization as _normalize
from ...nn import bias_add, moments
from ...nn import dropout as _dropout
from ._scopes import GraphKeys, get_variable, variable_scope

__all__ = [
    "average_pooling1d",
    "average_pooling2d",
    "batch_normalization",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "dense",
    "dropout",
    "flatten",
    "max_pooling1d",
    "max_pooling2d",
]


def _known(size, what: str):
    if size is None:
        raise ValueError(f"The {what} of the inputs should be defined. Found `None`.")
    return size


def _variable(name, shape, dtype, initializer, regularizer=None, constraint=None, trainable=True):
    return get_variable(
        name,
        shape,
        dtype,
        initializer=initializer,
        regularizer=regularizer,
        constraint=constraint,
        trainable=trainable,
    )


def _finished(result, activation, activity_regularizer):
    result = result if activation is None else activation(result)
    graph = graph_of_variables()
    if activity_regularizer is not None and graph is not None:
        loss = activity_regularizer(result)
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return result


def dense(
    inputs,
    units,
    activation=None,
    use_bias=True,
    kernel_initializer=None,
    bias_initializer=Zeros(),  # noqa: B008
    kernel_regularizer=None,
    bias_regularizer=None,
    activity_regularizer=None,
    kernel_constraint=None,
    bias_constraint=None,
    trainable=True,
    name=None,
    reuse=None,
):
    """Multiply the last axis by a matrix and add a vector."""
    x = convert_to_tensor(inputs)
    size = _known(x.shape[-1], "last dimension")
    with variable_scope(name, "dense", reuse=reuse):
        kernel = _variable(
            "kernel",
            [size, units],
            x.dtype,
            kernel_initializer,
            kernel_regularizer,
            kernel_constraint,
            trainable,
        )
        if x.shape.rank == 2:
            y = ops["MatMul"](x, kernel._read())
        else:
            y = tensordot(x, kernel._read(), [[x.shape.rank - 1], [0]])
        if use_bias:
            bias = _variable(
                "bias",
                [units],
                x.dtype,
                bias_initializer,
                bias_regularizer,
                bias_constraint,
                trainable,
            )
            y = bias_add(y, bias._read())
        return _finished(y, activation, activity_regularizer)


def _entries(value, n: int) -> list[int]:
    return [value] * n if isinstance(value, int) else list(value)


def _format(data_format: str, n: int) -> str:
    letters = "DHW"[3 - n :]
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(
            'The `data_format` argument must be one of "channels_first", "channels_last". '
            f"Received: {data_format}"
        )
    return f"N{letters}C" if data_format == "channels_last" else f"NC{letters}"


def _with_bias(y, filters, use_bias, data_format, dtype, initializer, options):
    if not use_bias:
        return y
    bias = _variable("bias", [filters], dtype, initializer, *options)
    value = bias._read()
    if data_format == "channels_first":
        value = reshape(value, [1, filters] + [1] * (y.shape.rank - 2))
        return y + value
    return bias_add(y, value)


def _convolution(n: int, default_name: str):
    def convolution(
        inputs,
        filters,
        kernel_size,
        strides=1,
        padding="valid",
        data_format="channels_last",
        dilation_rate=1,
        activation=None,
        use_bias=True,
        kernel_initializer=None,
        bias_initializer=Zeros(),  # noqa: B008
        kernel_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        trainable=True,
        name=None,
        reuse=None,
    ):
        x = convert_to_tensor(inputs)
        channels = _known(x.shape[-1 if data_format == "channels_last" else 1], "channel dimension")
        sizes = _entries(kernel_size, n)
        with variable_scope(name, default_name, reuse=reuse):
            kernel = _variable(
                "kernel",
                [*sizes, channels, filters],
                x.dtype,
                kernel_initializer,
                kernel_regularizer,
                kernel_constraint,
                trainable,
            )
            w, steps, rates = kernel._read(), _entries(strides, n), _entries(dilation_rate, n)
            letters = _format(data_format, n)
            if n == 1:
                axis = 1 if data_format == "channels_last" else 2
                y = _conv2d(
                    expand_dims(x, axis),
                    expand_dims(w, 0),
                    [1, *steps],
                    padding.upper(),
                    _format(data_format, 2),
                    [1, *rates],
                )
                y = squeeze(y, [axis])
            else:
                run = _conv2d if n == 2 else _conv3d
                if n == 3:
                    steps, rates = [1, *steps, 1], [1, *rates, 1]
                y = run(x, w, steps, padding.upper(), letters, rates)
            options = (bias_regularizer, bias_constraint, trainable)
            y = _with_bias(y, filters, use_bias, data_format, x.dtype, bias_initializer, options)
            return _finished(y, activation, activity_regularizer)

    convolution.__name__ = convolution.__qualname__ = default_name
    convolution.__doc__ = f"Convolve over {n} ax{'i' if n == 1 else 'e'}s and add a vector."
    return convolution


conv1d, conv2d, conv3d = (_convolution(n, f"conv{n}d") for n in (1, 2, 3))


def conv2d_transpose(
    inputs,
    filters,
    kernel_size,
    strides=(1, 1),
    padding="valid",
    data_format="channels_last",
    activation=None,
    use_bias=True,
    kernel_initializer=None,
    bias_initializer=Zeros(),  # noqa: B008
    kernel_regularizer=None,
    bias_regularizer=None,
    activity_regularizer=None,
    kernel_constraint=None,
    bias_constraint=None,
    trainable=True,
    name=None,
    reuse=None,
):
    """Convolve the other way, as the gradient of a convolution does."""
    if data_format != "channels_last":
        raise NotImplementedError(
            f"conv2d_transpose: data_format={data_format!r}: give channels_last"
        )
    x = convert_to_tensor(inputs)
    channels = _known(x.shape[-1], "channel dimension")
    sizes, steps = _entries(kernel_size, 2), _entries(strides, 2)
    with variable_scope(name, "conv2d_transpose", reuse=reuse):
        kernel = _variable(
            "kernel",
            [*sizes, filters, channels],
            x.dtype,
            kernel_initializer,
            kernel_regularizer,
            kernel_constraint,
            trainable,
        )
        given = _shape(x)
        lengths = []
        for axis, (size, step) in enumerate(zip(sizes, steps, strict=True), 1):
            length = x.shape[axis] if x.shape[axis] is not None else given[axis]
            more = max(size - step, 0) if padding.lower() == "valid" else 0
            lengths.append(length * step + more)
        count = x.shape[0] if x.shape[0] is not None else given[0]
        y = _conv2d_transpose(x, kernel._read(), [count, *lengths, filters], steps, padding.upper())
        options = (bias_regularizer, bias_constraint, trainable)
        y = _with_bias(y, filters, use_bias, data_format, x.dtype, bias_initializer, options)
        return _finished(y, activation, activity_regularizer)


def max_pooling2d(
    inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None
):
    """Return the largest of each window."""
    letters = _format(data_format, 2)
    return _max_pool2d(
        inputs, _entries(pool_size, 2), _entries(strides, 2), padding.upper(), letters
    )


def average_pooling2d(
    inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None
):
    """Return the mean of each window."""
    letters = _format(data_format, 2)
    return _avg_pool2d(
        inputs, _entries(pool_size, 2), _entries(strides, 2), padding.upper(), letters
    )


def _pool1d(pool, inputs, pool_size, strides, padding, data_format):
    axis = 1 if data_format == "channels_last" else 2
    sizes, steps = [1, *_entries(pool_size, 1)], [1, *_entries(strides, 1)]
    y = pool(
        expand_dims(convert_to_tensor(inputs), axis),
        sizes,
        steps,
        padding.upper(),
        _format(data_format, 2),
    )
    return squeeze(y, [axis])


def max_pooling1d(
    inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None
):
    """Return the largest of each window."""
    return _pool1d(_max_pool2d, inputs, pool_size, strides, padding, data_format)


def average_pooling1d(
    inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None
):
    """Return the mean of each window."""
    return _pool1d(_avg_pool2d, inputs, pool_size, strides, padding, data_format)


def flatten(inputs, name=None, data_format="channels_last"):
    """Make one axis of all but the first; with channels_first, the channels last."""
    x = convert_to_tensor(inputs)
    _format(data_format, 1)
    if data_format == "channels_first" and x.shape.rank and x.shape.rank > 2:
        x = ops["Transpose"](x, convert_to_tensor([0, *range(2, x.shape.rank), 1], _dtypes.int32))
    if x.shape.rank == 1:
        return expand_dims(x, -1)
    known = x.shape[1:].num_elements() if x.shape.rank else None
    if known is not None:
        rows = x.shape[0] if x.shape[0] is not None else -1
        return reshape(x, [rows, known])
    sizes = _shape(x)
    y = reshape(x, [sizes[0], reduce_prod(sizes[1:])])
    return y


def _truth(training):
    """True or False where it is known, else the tensor."""
    if hasattr(training, "dtype"):
        known = static_value(training)
        return training if known is None else bool(known)
    return bool(training)


def _chosen(training, then, otherwise):
    if isinstance(training, bool):
        return then() if training else otherwise()
    return cond(ops["Cast"](convert_to_tensor(training), DstT=_dtypes.bool), then, otherwise)


def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    """Set elements to zero at random while training, and scale the others up."""
    x = convert_to_tensor(inputs)
    return _chosen(
        _truth(training),
        lambda: _dropout(x, rate, noise_shape, seed),
        lambda: ops["Identity"](x),
    )


def batch_normalization(
    inputs,
    axis=-1,
    momentum=0.99,
    epsilon=1e-3,
    center=True,
    scale=True,
    beta_initializer=Zeros(),  # noqa: B008
    gamma_initializer=Ones(),  # noqa: B008
    moving_mean_initializer=Zeros(),  # noqa: B008
    moving_variance_initializer=Ones(),  # noqa: B008
    beta_regularizer=None,
    gamma_regularizer=None,
    beta_constraint=None,
    gamma_constraint=None,
    training=False,
    trainable=True,
    name=None,
    reuse=None,
    renorm=False,
    renorm_clipping=None,
    renorm_momentum=0.99,
    fused=None,
    virtual_batch_size=None,
    adjustment=None,
):
    """Normalise each channel over the batch, by moving averages when not training.

    The updates of these are in the collection UPDATE_OPS.
    """
    if renorm or virtual_batch_size is not None or adjustment is not None:
        raise NotImplementedError(
            f"batch_normalization: renorm={renorm} (clipping {renorm_clipping}, momentum "
            f"{renorm_momentum}), virtual_batch_size={virtual_batch_size} and "
            f"adjustment={adjustment} are not there; leave them out"
        )
    x = convert_to_tensor(inputs)
    axis = axis[0] if isinstance(axis, (list, tuple)) else axis
    axis = axis + x.shape.rank if axis < 0 else axis
    size = _known(x.shape[axis], "normalised axis")
    halves = (_dtypes.float16, _dtypes.bfloat16)
    dtype = _dtypes.float32 if x.dtype in halves else x.dtype
    if fused is None:
        fused = x.shape.rank == 4
    with variable_scope(name, "batch_normalization", reuse=reuse):
        gamma = beta = None
        if scale:
            gamma = _variable(
                "gamma",
                [size],
                dtype,
                gamma_initializer,
                gamma_regularizer,
                gamma_constraint,
                trainable,
            )
        if center:
            beta = _variable(
                "beta",
                [size],
                dtype,
                beta_initializer,
                beta_regularizer,
                beta_constraint,
                trainable,
            )
        mean = _variable("moving_mean", [size], dtype, moving_mean_initializer, trainable=False)
        variance = _variable(
            "moving_variance", [size], dtype, moving_variance_initializer, trainable=False
        )
        given = x if x.dtype == dtype else ops["Cast"](x, DstT=dtype)
        used = _moments(given, axis, _truth(training), mean, variance)
        _update(_truth(training), momentum, fused, given, axis, (mean, variance), used)
        sizes = [size if i == axis else 1 for i in range(x.shape.rank)]

        def spread(value):
            return None if value is None else reshape(convert_to_tensor(value), sizes)

        y = _normalize(given, *(spread(v) for v in (*used, beta, gamma)), epsilon)
        return y if y.dtype == x.dtype else ops["Cast"](y, DstT=x.dtype)


def _moments(x, axis: int, training, mean, variance) -> tuple:
    axes = [i for i in range(x.shape.rank) if i != axis]
    return tuple(
        _chosen(training, lambda: tuple(moments(x, axes)), lambda: (mean._read(), variance._read()))
    )


def _update(training, momentum, fused, x, axis, averages, used) -> None:
    """Add the updates of the moving averages to UPDATE_OPS."""
    if training is False:
        return
    mean, variance = used
    if fused:  # the fused op gives the unbiased variance
        count = x.shape.num_elements()
        if count is not None:
            count = count // x.shape[axis]
            variance = variance * (count / max(count - 1, 1))
        else:
            whole = ops["Cast"](reduce_prod(_shape(x)) // _shape(x)[axis], DstT=variance.dtype)
            variance = variance * (whole / ops["Maximum"](whole - 1, 1.0))
    graph = graph_of_variables()
    for average, value in zip(averages, (mean, variance), strict=True):
        step = (average._read() - value) * convert_to_tensor(1.0 - momentum, average.dtype)
        if not isinstance(training, bool):
            step = _chosen(training, lambda s=step: s, lambda s=step: ops["ZerosLike"](s))
        update = average.assign_sub(step, read_value=False)
        if graph is not None and update is not None:
            graph.add_to_collection(GraphKeys.UPDATE_OPS, update)


def __getattr__(name: str):
    if name[:1].isupper():
        from . import _layer_classes  # late: the classes are made of the functions above

        if name in _layer_classes.__all__:
            return getattr(_layer_classes, name)
    raise _missing_name(__name__, name)
