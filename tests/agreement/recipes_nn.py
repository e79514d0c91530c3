"""Recipes of tf.nn: convolutions, pools, normalizations, look-ups."""

from generator import EVERY, FLOATS, FULL_FLOATS, REALS, WIDE_INTS, recipe
from recipes_array import a_dtype

CONVOLVED = ("float32", "float32", "float32", "float64", "float16")
PADDINGS = ("SAME", "VALID")


def spatial(d, n, low=2, high=5):
    return [d.between(low, high) for _ in range(n)]


def convolution(name, rank, first="strides", many=True):
    @recipe(name)
    def _(d):
        channels, dtype = d.between(1, 3), d.dtype(CONVOLVED)
        filters = [*spatial(d, rank, 1, 3), channels, d.between(1, 3)]
        stride = d.between(1, 2)
        strides = [stride] * rank if many and d.flag() else stride
        if rank == 3:
            strides = [1, stride, stride, stride, 1]
        arguments = {
            "input": d.array(dtype, [d.between(1, 2), *spatial(d, rank), channels], "uniform"),
            "filters": d.array(dtype, filters, "uniform"),
            first: strides,
            "padding": d.pick(PADDINGS),
        }
        if stride == 1 and rank < 3 and d.chance(30):
            arguments["dilations="] = d.between(1, 2)
        return arguments


convolution("nn.conv1d", 1, "stride", False)
convolution("nn.conv2d", 2)
convolution("nn.conv3d", 3)


@recipe("nn.convolution")
def _(d):
    rank, channels, dtype = d.between(1, 3), d.between(1, 2), d.dtype(CONVOLVED)
    arguments = {
        "input": d.array(dtype, [d.between(1, 2), *spatial(d, rank), channels], "uniform"),
        "filters": d.array(dtype, [*spatial(d, rank, 1, 2), channels, 2], "uniform"),
    }
    d.some(arguments, 50, strides=d.between(1, 2))
    return d.keywords(arguments, 50, padding=d.pick(PADDINGS))


@recipe("nn.atrous_conv2d")
def _(d):
    channels, dtype = d.between(1, 2), d.dtype(CONVOLVED)
    return {
        "value": d.array(dtype, [1, *spatial(d, 2, 4, 6), channels], "uniform"),
        "filters": d.array(dtype, [2, d.between(1, 2), channels, 2], "uniform"),
        "rate": d.between(1, 2),
        "padding": d.pick(PADDINGS),
    }


def _transposed(d, rank):
    """Output and input lengths of a transposed convolution, its filter's and strides."""
    padding, strides = d.pick(PADDINGS), [d.between(1, 2) for _ in range(rank)]
    outputs, window = spatial(d, rank, 3, 5), spatial(d, rank, 1, 3)
    inputs = [
        -(-n // s) if padding == "SAME" else -(-(n - k + 1) // s)
        for n, k, s in zip(outputs, window, strides, strict=True)
    ]
    return padding, strides, outputs, window, inputs


def transposed_convolution(name, rank):
    @recipe(name)
    def _(d):
        padding, strides, outputs, window, inputs = _transposed(d, rank)
        deep, channels, dtype, batch = d.between(1, 2), d.between(1, 2), d.dtype(CONVOLVED), 2
        shape = [batch, *outputs, channels]
        return {
            "input": d.array(dtype, [batch, *inputs, deep], "uniform"),
            "filters": d.array(dtype, [*window, channels, deep], "uniform"),
            "output_shape": {"v": ["tensor", "int32", shape]} if d.chance(30) else shape,
            "strides": strides,
            "padding": padding,
        }


transposed_convolution("nn.conv1d_transpose", 1)
transposed_convolution("nn.conv2d_transpose", 2)
transposed_convolution("nn.conv3d_transpose", 3)
transposed_convolution("nn.conv_transpose", 2)


@recipe("nn.atrous_conv2d_transpose")
def _(d):
    rate, padding = d.between(1, 2), d.pick(PADDINGS)
    outputs, window = spatial(d, 2, 4, 6), spatial(d, 2, 1, 2)
    inputs = [
        n if padding == "SAME" else n - (k - 1) * rate for n, k in zip(outputs, window, strict=True)
    ]
    dtype = d.dtype(CONVOLVED)
    return {
        "value": d.array(dtype, [1, *inputs, 2], "uniform"),
        "filters": d.array(dtype, [*window, 1, 2], "uniform"),
        "output_shape": [1, *outputs, 1],
        "rate": rate,
        "padding": padding,
    }


@recipe("nn.depthwise_conv2d")
def _(d):
    channels, dtype, stride = d.between(1, 3), d.dtype(CONVOLVED), d.between(1, 2)
    return {
        "input": d.array(dtype, [d.between(1, 2), *spatial(d, 2), channels], "uniform"),
        "filter": d.array(dtype, [*spatial(d, 2, 1, 3), channels, d.between(1, 2)], "uniform"),
        "strides": [1, stride, stride, 1],
        "padding": d.pick(PADDINGS),
    }


@recipe("nn.depthwise_conv2d_backprop_input")
def _(d):
    dtype, channels, many = d.dtype(("float32", "float64")), d.between(1, 2), d.between(1, 2)
    height, width = spatial(d, 2, 3, 4)
    return {
        "input_sizes": [1, height, width, channels],
        "filter": d.array(dtype, [2, 2, channels, many], "uniform"),
        "out_backprop": d.array(dtype, [1, height, width, channels * many], "uniform"),
        "strides": [1, 1, 1, 1],
        "padding": "SAME",
    }


@recipe("nn.depthwise_conv2d_backprop_filter")
def _(d):
    dtype, channels, many = d.dtype(("float32", "float64")), d.between(1, 2), d.between(1, 2)
    height, width = spatial(d, 2, 3, 4)
    return {
        "input": d.array(dtype, [1, height, width, channels], "uniform"),
        "filter_sizes": [2, 2, channels, many],
        "out_backprop": d.array(dtype, [1, height, width, channels * many], "uniform"),
        "strides": [1, 1, 1, 1],
        "padding": "SAME",
    }


@recipe("nn.separable_conv2d")
def _(d):
    channels, many, dtype = d.between(1, 2), d.between(1, 2), d.dtype(CONVOLVED)
    stride = d.between(1, 2)
    return {
        "input": d.array(dtype, [1, *spatial(d, 2), channels], "uniform"),
        "depthwise_filter": d.array(dtype, [*spatial(d, 2, 1, 2), channels, many], "uniform"),
        "pointwise_filter": d.array(dtype, [1, 1, channels * many, 2], "uniform"),
        "strides": [1, stride, stride, 1],
        "padding": d.pick(PADDINGS),
    }


@recipe("nn.dilation2d")
def _(d):
    dtype, channels = d.dtype(("float32", "float64", "int32")), d.between(1, 2)
    return {
        "input": d.array(dtype, [1, *spatial(d, 2), channels]),
        "filters": d.array(dtype, [*spatial(d, 2, 1, 2), channels]),
        "strides": [1, 1, d.between(1, 2), 1],
        "padding": d.pick(PADDINGS),
        "data_format": "NHWC",
        "dilations": [1, 1, 1, 1],
    }


@recipe("nn.erosion2d")
def _(d):
    dtype, channels = d.dtype(("float32", "float64")), d.between(1, 2)
    return {
        "value": d.array(dtype, [1, *spatial(d, 2), channels], "uniform"),
        "filters": d.array(dtype, [*spatial(d, 2, 1, 2), channels], "uniform"),
        "strides": [1, 1, d.between(1, 2), 1],
        "padding": d.pick(PADDINGS),
        "data_format": "NHWC",
        "dilations": [1, 1, 1, 1],
    }


def pool(name, rank, dtypes=CONVOLVED):
    @recipe(name)
    def _(d):
        window, stride = d.between(1, 3), d.between(1, 2)
        sizes = [window] * rank if d.flag() else window
        return {
            "input": d.array(dtypes, [d.between(1, 2), *spatial(d, rank), 2], "uniform"),
            "ksize": sizes,
            "strides": [stride] * rank if d.flag() else stride,
            "padding": d.pick(PADDINGS),
        }


for rank, end in ((1, "1d"), (2, "2d"), (3, "3d"), (2, "")):
    pool(f"nn.avg_pool{end}", rank, ("float32", "float16") if rank == 3 else CONVOLVED)
    pool(f"nn.max_pool{end}", rank, ("float32", "float16") if rank == 3 else CONVOLVED)


@recipe("nn.max_pool_with_argmax", order=1)
def _(d):
    window, stride = d.between(1, 3), d.between(1, 2)
    arguments = {"input": d.array(("float32", "float64"), [2, *spatial(d, 2), 2], "uniform"),
                 "ksize": window, "strides": stride, "padding": d.pick(PADDINGS)}  # fmt: skip
    return d.keywords(arguments, 40, output_dtype=lambda: a_dtype(d, WIDE_INTS),
                      include_batch_in_index=d.flag())  # fmt: skip


@recipe("nn.pool")
def _(d):
    rank = d.between(1, 3)
    arguments = {
        "input": d.array(("float32", "float64"), [1, *spatial(d, rank), 2], "uniform"),
        "window_shape": spatial(d, rank, 1, 2),
        "pooling_type": d.pick(("MAX", "AVG")),
    }
    d.some(arguments, 50, strides=[d.between(1, 2)] * rank)
    return d.keywords(arguments, 50, padding=d.pick(PADDINGS))


@recipe("nn.fractional_max_pool", "nn.fractional_avg_pool", order=1)
def _(d):
    arguments = {
        "value": d.array(("float32", "float64"), [1, *spatial(d, 2, 4, 6), 2], "uniform"),
        "pooling_ratio": [1.0, d.pick((1.2, 1.44)), 1.5, 1.0],
    }
    d.keywords(arguments, 40, pseudo_random=d.flag(), overlapping=d.flag())
    return {**arguments, "seed=": d.between(1, 9)}


@recipe("extract_volume_patches")
def _(d):
    return {
        "input": d.array(("float32", "float64", "int32"), [1, *spatial(d, 3, 2, 3), 1]),
        "ksizes": [1, d.between(1, 2), 2, 1, 1],
        "strides": [1, 1, d.between(1, 2), 1, 1],
        "padding": d.pick(PADDINGS),
    }


@recipe("nn.bias_add")
def _(d):
    shape, dtype = d.shape(2, 4), d.dtype(REALS)
    which = d.chance(25)
    arguments = {"value": d.array(dtype, shape),
                 "bias": d.array(dtype, [shape[1 if which else -1]])}  # fmt: skip
    return {**arguments, "data_format=": "NCHW" if len(shape) == 4 else "NC.."} if which else (
        arguments
    )  # fmt: skip


@recipe("nn.depth_to_space")
def _(d):
    block = d.pick((2, 2, 3))
    shape = [d.between(1, 2), d.between(1, 2), d.between(1, 2), block * block * d.between(1, 2)]
    return {"input": d.array(EVERY, shape), "block_size": block}


@recipe("nn.space_to_depth")
def _(d):
    block = d.pick((2, 2, 3))
    shape = [d.between(1, 2), block * d.between(1, 2), block * d.between(1, 2), d.between(1, 2)]
    return {"input": d.array(EVERY, shape), "block_size": block}


@recipe("nn.batch_normalization")
def _(d):
    shape, dtype = d.shape(1, 4, empty=False), d.dtype(FLOATS)
    part = [shape[-1]]
    return {
        "x": d.array(dtype, shape, "uniform", "tensor"),
        "mean": d.array(dtype, part, "uniform", "tensor"),
        "variance": d.array(dtype, part, "positive", "tensor"),
        "offset": d.array(dtype, part, "uniform", "tensor") if d.flag() else None,
        "scale": d.array(dtype, part, "uniform", "tensor") if d.flag() else None,
        "variance_epsilon": 0.001,
    }


@recipe("nn.batch_norm_with_global_normalization")
def _(d):
    shape = d.shape(4, 4, empty=False)
    part = [shape[-1]]
    return {
        "input": d.array("float32", shape, "uniform"),
        "mean": d.array("float32", part, "uniform"),
        "variance": d.array("float32", part, "positive"),
        "beta": d.array("float32", part, "uniform"),
        "gamma": d.array("float32", part, "uniform"),
        "variance_epsilon": 0.001,
        "scale_after_normalization": d.flag(),
    }


@recipe("nn.moments")
def _(d):
    shape = d.shape(1, 3, empty=False)
    axes = d.axes(len(shape))
    arguments = {"x": d.array(FLOATS, shape, "uniform"), "axes": 0 if axes is None else axes}
    return d.keywords(arguments, 40, keepdims=d.flag())


@recipe("nn.weighted_moments")
def _(d):
    shape, dtype = d.shape(1, 3, empty=False), d.dtype(FLOATS)
    return d.keywords(
        {"x": d.array(dtype, shape, "uniform"), "axes": [d.axis(len(shape))],
         "frequency_weights": d.array(dtype, d.pick((shape, [])), "positive")},
        40, keepdims=d.flag())  # fmt: skip


@recipe("nn.sufficient_statistics")
def _(d):
    shape = d.shape(1, 3, empty=False)
    arguments = {"x": d.array(FLOATS, shape, "uniform"), "axes": [d.axis(len(shape))]}
    return d.keywords(arguments, 40, keepdims=d.flag(), shift=d.pick((None, 0.5)))


@recipe("nn.normalize_moments")
def _(d):
    dtype, shape = d.dtype(FULL_FLOATS), d.shape(0, 2)
    return {
        "counts": d.array(dtype, [], "positive"),
        "mean_ss": d.array(dtype, shape, "uniform"),
        "variance_ss": d.array(dtype, shape, "positive"),
        "shift": d.array(dtype, [], "uniform") if d.flag() else None,
    }


@recipe("nn.embedding_lookup")
def _(d):
    shape = d.shape(1, 3, empty=False)
    arguments = {"params": d.array(FLOATS, shape), "ids": d.ints(d.shape(0, 2), 0, shape[0])}
    return d.keywords(arguments, 25, max_norm=1.0)


@recipe("nn.embedding_lookup_sparse")
def _(d):
    rows, width = d.between(2, 5), d.between(1, 3)
    arguments = {
        "params": d.tensor(FULL_FLOATS, [rows, width], "uniform"),
        "sp_ids": {"sparse": ["int64", [3, 2], f"range 0 {rows}", d.below(999), True]},
        "sp_weights": None,
    }
    return d.keywords(arguments, 60, combiner=d.pick(("sum", "mean", "sqrtn")))


@recipe("nn.safe_embedding_lookup_sparse")
def _(d):
    rows, width = d.between(2, 5), d.between(1, 3)
    arguments = {
        "embedding_weights": d.tensor(FULL_FLOATS, [rows, width], "uniform"),
        "sparse_ids": {"sparse": ["int64", [3, 2], f"range -1 {rows}", d.below(999)]},
    }
    return d.keywords(arguments, 40, combiner=d.pick(("sum", "mean", "sqrtn")), default_id=0)


@recipe("nn.isotonic_regression")
def _(d):
    shape = d.shape(1, 2, empty=False)
    arguments = {"inputs": d.array(("float32", "float64", "int32"), shape, None)}
    return d.keywords(arguments, 40, decreasing=d.flag(), axis=d.axis(len(shape)))


@recipe("nn.collapse_repeated")
def _(d):
    batch, time = d.between(1, 3), d.between(1, 5)
    return {"labels": d.array("int32", [batch, time], "range 0 3", "tensor"),
            "seq_length": d.array("int32", [batch], f"range 0 {time + 1}", "tensor")}  # fmt: skip


@recipe("nn.dropout")
def _(d):
    arguments = {"x": d.array(FLOATS, d.shape()), "rate": d.pick((0.0, 0, 0.0, 1.0, -0.5))}
    return d.keywords(arguments, 20, seed=3)


@recipe("nn.experimental.stateless_dropout")
def _(d):
    return {"x": d.array(FLOATS, d.shape()), "rate": d.pick((0.0, 0.5, 0.3, 1.0)),
            "seed": [d.below(9), d.below(9)], "rng_alg": d.pick(("auto_select", "philox",
                                                                 "threefry", None))}  # fmt: skip
