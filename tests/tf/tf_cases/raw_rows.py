"""Ops that are reached by tf.raw_ops and by files: derivatives as TensorFlow writes them,
normalization, diagonals, blocks, sequences, counts, and what TensorFlow 1 wrote."""

from __future__ import annotations

from corpus import case, f, i32, lit, pos, raises

NO_GRADIENT = "TensorFlow has no gradient of it"


def raw(name, what, inputs, attributes=None, first=False, **options):
    """A case of a row: inputs by the names of its arguments; what is no draw is given as it is."""
    drawn = {key: value for key, value in inputs.items() if hasattr(value, "dtype")}
    given = {key: value for key, value in inputs.items() if key not in drawn}

    def call(tf, *tensors):
        named = dict(zip(drawn, tensors, strict=True))
        results = getattr(tf.raw_ops, name)(**named, **given, **(attributes or {}))
        return results[0] if first else results

    case(f"tf.raw_ops.{name}", what, call, *drawn.values(), **options)


# ---- derivatives ---------------------------------------------------------------------------------

for name in ("Relu", "Relu6", "LeakyRelu", "Softplus"):
    raw(f"{name}Grad", "a matrix", {"gradients": f(2, 3), "features": f(2, 3)}, second=True)
raw(
    "SoftsignGrad",
    "a matrix",
    {"gradients": f(2, 3), "features": f(2, 3)},
    grad=NO_GRADIENT,
)
for name in ("Elu", "Selu"):
    raw(f"{name}Grad", "a matrix", {"gradients": f(2, 3), "outputs": f(2, 3)})
for name in ("Sigmoid", "Tanh", "Sqrt", "Rsqrt", "Reciprocal", "Inv"):
    raw(f"{name}Grad", "a matrix", {"y": pos(2, 3), "dy": f(2, 3)}, rtol=1e-4)
raises(
    "tf.raw_ops.ReluGrad",
    "of two shapes",
    "must have the same size and shape",
    lambda tf: tf.raw_ops.ReluGrad(gradients=tf.ones([2]), features=tf.ones([3])),
)
raw("BiasAddV1", "a picture", {"value": f(2, 3, 4), "bias": f(4)})
raises(
    "tf.raw_ops.BiasAddV1",
    "other channels",
    "BiasAddV1 as many biases [4] [2,3]",
    lambda tf: tf.raw_ops.BiasAddV1(value=tf.ones([2, 3]), bias=tf.ones([4])),
)
raw("BiasAddGrad", "channels last", {"out_backprop": f(2, 3, 4)})
raw("BiasAddGrad", "channels first", {"out_backprop": f(2, 3, 4)}, {"data_format": "NCHW"})
case(
    "tf.raw_ops.BroadcastGradientArgs",
    "two shapes",
    lambda tf: tf.raw_ops.BroadcastGradientArgs(s0=[2, 1, 3], s1=[4, 3]),
)
raises(
    "tf.raw_ops.BroadcastGradientArgs",
    "that do not meet",
    "Incompatible shapes",
    lambda tf: tf.raw_ops.BroadcastGradientArgs(s0=[2], s1=[3]),
)
POOL = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 1, 1], "padding": "SAME"}
raw(
    "MaxPoolGrad",
    "images",
    {"orig_input": f(1, 5, 4, 2), "orig_output": f(1, 3, 4, 2), "grad": f(1, 3, 4, 2)},
    POOL,
    grad="the results are not those of the images, which TensorFlow's second derivative reads",
)
raw("AvgPoolGrad", "images", {"orig_input_shape": [1, 5, 4, 2], "grad": f(1, 3, 4, 2)}, POOL)
POOL = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "VALID"}
case(
    "tf.raw_ops.MaxPool3DGrad",
    "volumes",
    lambda tf, x, dy: tf.raw_ops.MaxPool3DGrad(
        orig_input=x, orig_output=tf.raw_ops.MaxPool3D(input=x, **POOL), grad=dy, **POOL
    ),
    f(1, 4, 4, 2, 1),
    f(1, 2, 2, 1, 1),
)
raw(
    "AvgPool3DGrad",
    "volumes",
    {"orig_input_shape": [1, 4, 4, 2, 1], "grad": f(1, 2, 2, 1, 1)},
    POOL,
)
CONV = {"strides": [1, 2, 2, 1], "padding": "SAME"}
raw(
    "Conv2DBackpropFilter",
    "images",
    {"input": f(2, 5, 4, 2), "filter_sizes": [3, 2, 2, 3], "out_backprop": f(2, 3, 2, 3)},
    CONV,
    rtol=1e-4,
)
raw(
    "DepthwiseConv2dNativeBackpropFilter",
    "images",
    {"input": f(2, 5, 4, 2), "filter_sizes": [3, 2, 2, 2], "out_backprop": f(2, 3, 2, 4)},
    CONV,
    rtol=1e-4,
)
raw(
    "DepthwiseConv2dNativeBackpropInput",
    "images",
    {"input_sizes": [2, 5, 4, 2], "filter": f(3, 2, 2, 2), "out_backprop": f(2, 3, 2, 4)},
    CONV,
    rtol=1e-4,
)
raw(
    "Conv3DBackpropFilterV2",
    "volumes",
    {"input": f(1, 3, 4, 3, 2), "filter_sizes": [2, 2, 2, 2, 3], "out_backprop": f(1, 2, 3, 2, 3)},
    {"strides": [1, 1, 1, 1, 1], "padding": "VALID"},
    rtol=1e-4,
)

# ---- normalization -------------------------------------------------------------------------------

MOMENTS = {"mean": f(3), "variance": pos(3)}
IMAGES = {"x": f(2, 4, 3, 3), "scale": f(3), "offset": f(3), **MOMENTS}
for version in ("", "V2", "V3"):
    for what, attributes in (
        ("in training", {}),
        ("in training with averages", {"exponential_avg_factor": 0.75}),
        ("in inference", {"is_training": False}),
    ):
        name = f"FusedBatchNorm{version}"
        raw(name, what, IMAGES, attributes, first=True, rtol=1e-4, atol=1e-4)
        case(
            f"tf.raw_ops.{name}",
            f"moments {what}",
            lambda tf, x, s, o, m, v, name=name, attributes=attributes: list(
                getattr(tf.raw_ops, name)(x=x, scale=s, offset=o, mean=m, variance=v, **attributes)
            )[1:3],
            *IMAGES.values(),
            grad="TensorFlow passes no gradient through averages",
            rtol=1e-4,
        )
    for what, is_training in (("in training", True), ("in inference", False)):
        case(
            f"tf.raw_ops.FusedBatchNormGrad{version}",
            what,
            lambda tf, dy, x, s, version=version, is_training=is_training: list(
                getattr(tf.raw_ops, f"FusedBatchNormGrad{version}")(
                    y_backprop=dy,
                    x=x,
                    scale=s,
                    reserve_space_1=tf.reduce_mean(x, [0, 1, 2]),
                    reserve_space_2=tf.math.reduce_variance(x, [0, 1, 2]),
                    is_training=is_training,
                    **({"reserve_space_3": tf.zeros([0])} if version == "V3" else {}),
                )
            )[:3],
            f(2, 4, 3, 3),
            f(2, 4, 3, 3),
            f(3),
            grad="TensorFlow's second derivative reads the moments",
            rtol=1e-4,
            atol=1e-4,
        )
LRN = {"depth_radius": 2, "bias": 1.5, "alpha": 0.3, "beta": 0.7}
raw("LRN", "images", {"input": f(1, 2, 3, 6)}, LRN, rtol=1e-4)
case(
    "tf.raw_ops.LRNGrad",
    "images",
    lambda tf, dy, x: tf.raw_ops.LRNGrad(
        input_grads=dy, input_image=x, output_image=tf.raw_ops.LRN(input=x, **LRN), **LRN
    ),
    f(1, 1, 2, 6),
    f(1, 1, 2, 6),
    grad=NO_GRADIENT,
    rtol=1e-4,
)

# ---- diagonals -----------------------------------------------------------------------------------

for align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
    attributes = {"align": align}
    unknown = {"why": "TensorFlow's shape function fails where a band has unknown sizes"}
    raw(
        "MatrixDiagPartV3",
        f"a band {align}",
        {"input": f(2, 3, 4), "k": [-1, 2], "padding_value": 9.0},
        attributes,
        without="grad_unknown",
        **unknown,
    )
    raw(
        "MatrixSetDiagV3",
        f"a band {align}",
        {"input": f(2, 3, 4), "diagonal": f(2, 3, 3), "k": [-1, 1]},
        attributes,
        without=("unknown", "grad_unknown"),
        **unknown,
    )
    raw(
        "MatrixDiagV3",
        f"a band {align}",
        {"diagonal": f(2, 3, 3), "k": [-1, 1], "num_rows": 3, "num_cols": 4, "padding_value": 7.0},
        attributes,
        without=("unknown", "grad_unknown"),
        **unknown,
    )
for k in (0, 2, -1):
    raw("MatrixDiagPartV2", f"diagonal {k}", {"input": f(3, 4), "k": k, "padding_value": 0.0})
    sizes = {"num_rows": -1, "num_cols": -1, "padding_value": 0.5}
    raw("MatrixDiagV2", f"diagonal {k}", {"diagonal": f(2, 3), "k": k, **sizes})
raw("MatrixSetDiagV2", "the main one", {"input": f(3, 4), "diagonal": f(3), "k": 0})
raw("MatrixDiag", "a batch", {"diagonal": f(2, 3)})
raw("MatrixDiagPart", "a batch", {"input": f(2, 3, 4)})
raw("MatrixSetDiag", "a batch", {"input": f(2, 3, 4), "diagonal": f(2, 3)})
raises(
    "tf.raw_ops.MatrixDiagPartV3",
    "outside",
    "lower_diag_index is out of bound",
    lambda tf: tf.raw_ops.MatrixDiagPartV3(input=tf.ones([3, 4]), k=5, padding_value=0.0),
)
raises(
    "tf.raw_ops.MatrixDiagV3",
    "too few rows",
    "number of rows is too small",
    lambda tf: tf.raw_ops.MatrixDiagV3(
        diagonal=tf.ones([2, 4]), k=[0, 1], num_rows=2, num_cols=-1, padding_value=0.0
    ),
)

# ---- blocks, sequences ---------------------------------------------------------------------------

raw(
    "SpaceToBatchND",
    "two axes",
    {"input": f(1, 3, 4, 2), "block_shape": [2, 3], "paddings": [[1, 0], [0, 2]]},
)
raw(
    "BatchToSpaceND",
    "two axes",
    {"input": f(6, 2, 2, 1), "block_shape": [2, 3], "crops": [[1, 0], [0, 2]]},
)
raw(
    "SpaceToBatch",
    "images",
    {"input": f(1, 3, 4, 2), "paddings": [[1, 0], [0, 0]]},
    {"block_size": 2},
)
raw(
    "BatchToSpace", "images", {"input": f(4, 2, 2, 1), "crops": [[1, 0], [0, 1]]}, {"block_size": 2}
)
for name in ("SpaceToDepth", "DepthToSpace"):
    raw(name, "channels last", {"input": f(1, 2, 4, 4)}, {"block_size": 2})
raises(
    "tf.raw_ops.SpaceToBatchND",
    "that do not divide",
    "is not divisible by block_shape",
    lambda tf: tf.raw_ops.SpaceToBatchND(
        input=tf.ones([1, 3, 4, 1]), block_shape=[2, 2], paddings=[[0, 0], [0, 0]]
    ),
)
for time, batch in ((1, 0), (2, 1), (0, 2)):
    raw(
        "ReverseSequence",
        f"axes {time} and {batch}",
        {"input": f(3, 3, 3, 2), "seq_lengths": lit([2, 0, 3], "int32")},
        {"seq_dim": time, "batch_dim": batch},
    )
raises(
    "tf.raw_ops.ReverseSequence",
    "longer than the axis",
    "seq_lens",
    lambda tf: tf.raw_ops.ReverseSequence(input=tf.ones([2, 3]), seq_lengths=[1, 4], seq_dim=1),
)

# ---- counts --------------------------------------------------------------------------------------

COUNTED = lit([[1, 2, 7, 0], [0, 0, 1, 2]], "int32")
raw(
    "Bincount", "without weights", {"arr": COUNTED, "size": 4, "weights": lit([])}, grad=NO_GRADIENT
)
raw("Bincount", "with weights", {"arr": COUNTED, "size": 3, "weights": f(2, 4)}, grad=NO_GRADIENT)
for binary in (False, True):
    raw(
        "DenseBincount",
        f"rows binary {binary}",
        {"input": COUNTED, "size": 4, "weights": f(2, 4)},
        {"binary_output": binary},
        grad=NO_GRADIENT,
    )
raises(
    "tf.raw_ops.DenseBincount",
    "negative",
    "must be non-negative",
    lambda tf: tf.raw_ops.DenseBincount(input=[1, -1], size=2, weights=tf.ones([0])),
)

# ---- of TensorFlow 1 -----------------------------------------------------------------------------

raw("Select", "rows", {"condition": lit([True, False], "bool"), "x": f(2, 3), "y": f(2, 3)})
raw("Select", "all", {"condition": True, "x": f(2, 3), "y": f(2, 3)})
raw("Div", "floats", {"x": f(2, 3), "y": pos(3)})
raw("Div", "integers", {"x": lit([7, -7], "int32"), "y": lit([2, 2], "int32")})
raw("ClipByValue", "between", {"t": f(2, 3), "clip_value_min": f(2, 3), "clip_value_max": 0.5})
raw("L2Loss", "a matrix", {"t": f(2, 3)})
raw("Cross", "vectors", {"a": f(2, 3), "b": f(2, 3)})
raw("LinSpace", "seven", {"start": -1.0, "stop": 2.0, "num": 7})
raw("BatchMatMul", "adjoint", {"x": f(2, 3, 4), "y": f(2, 5, 4)}, {"adj_y": True}, rtol=1e-4)
raw(
    "BatchMatMulV3",
    "bytes to int32",
    {"x": lit([[100, 100]], "int8"), "y": lit([[100], [100]], "int8"), "Tout": "int32"},
)
raw("Snapshot", "a vector", {"input": f(3)}, grad=NO_GRADIENT)
case(
    "tf.raw_ops.IdentityN",
    "two",
    lambda tf, x, y: tf.raw_ops.IdentityN(input=[x, y]),
    f(2),
    f(3, 1),
)
case(
    "tf.raw_ops.ShapeN", "two", lambda tf, x, y: tf.raw_ops.ShapeN(input=[x, y]), i32(2), i32(3, 1)
)
raw("InvertPermutation", "three", {"x": lit([2, 0, 1], "int32")})
case(
    "tf.raw_ops.BroadcastArgs",
    "two shapes",
    lambda tf: tf.raw_ops.BroadcastArgs(s0=[2, 1], s1=[4, 1, 3]),
)

# ---- pictures of another size --------------------------------------------------------------------

for name in ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor"):
    for what, attributes in (
        ("corners", {"align_corners": True}),
        ("centres", {"half_pixel_centers": True}),
        ("neither", {}),
    ):
        for size in ([3, 4], [7, 9]):
            raw(name, f"{what} {size[0]}", {"images": f(1, 5, 6, 2), "size": size}, attributes)
for size in ([3, 4], [7, 9]):
    raw("ResizeArea", f"{size[0]}", {"images": f(1, 5, 6, 2), "size": size}, grad=NO_GRADIENT)
for name in ("ResizeBilinearGrad", "ResizeBicubicGrad"):
    raw(
        name,
        "smaller",
        {"grads": f(1, 3, 4, 2), "original_image": f(1, 5, 6, 2)},
        {"half_pixel_centers": True},
        grad=NO_GRADIENT,
        rtol=1e-4,
    )
raw(
    "ResizeNearestNeighborGrad",
    "smaller",
    {"grads": f(1, 3, 4, 2), "size": [5, 6]},
    grad=NO_GRADIENT,
)
raises(
    "tf.raw_ops.ResizeBilinear",
    "to nothing",
    "output dimensions must be positive",
    lambda tf: tf.raw_ops.ResizeBilinear(images=tf.ones([1, 2, 2, 1]), size=[0, 3]),
)


# ---- checks of numbers ---------------------------------------------------------------------------

INFINITY, NAN = float("inf"), float("nan")

for version in ("", "V2"):
    raw(
        f"CheckNumerics{version}",
        "finite",
        {"tensor": f(2, 3)},
        {"message": "x"},
        forward="the op runs on the host, where derivatives are gradients",
    )
for version, numbers, kind, words in (
    ("", [1.0, NAN], "float32", "had NaN values"),
    ("", [-INFINITY, INFINITY], "float16", "had Inf values"),
    ("", [NAN, -INFINITY], "float64", "had Inf and NaN values"),
    ("V2", [1.0, NAN], "bfloat16", "had NaN values"),
    ("V2", [1.0, INFINITY], "float64", "had +Inf values"),
    ("V2", [NAN, -INFINITY], "float32", "had -Inf and NaN values"),
    ("V2", [INFINITY, NAN, -INFINITY], "float16", "had -Inf, +Inf, and NaN values"),
):
    raises(
        f"tf.raw_ops.CheckNumerics{version}",
        f"{numbers} of {kind}",
        f"theirs : Tensor {words}",
        lambda tf, version=version, numbers=numbers, kind=kind: getattr(
            tf.raw_ops, f"CheckNumerics{version}"
        )(tensor=tf.constant(numbers, kind), message="theirs"),
    )
    raises(
        f"tf.raw_ops.CheckNumerics{version}",
        f"{numbers} of {kind} in a function",
        f"theirs : Tensor {words}",
        lambda tf, version=version, numbers=numbers, kind=kind: tf.function(
            lambda x: getattr(tf.raw_ops, f"CheckNumerics{version}")(tensor=x, message="theirs")
        )(tf.constant(numbers, kind)),
    )


def _gradient(tf, version):
    x = tf.constant([0.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = getattr(tf.raw_ops, f"CheckNumerics{version}")(tensor=tf.sqrt(x), message="theirs")
        y = tf.math.log(y)
    return tape.gradient(y, x)


for version, words in (("", "had Inf"), ("V2", "had +Inf")):
    raises(
        f"tf.raw_ops.CheckNumerics{version}",
        "of a gradient",
        f"values detected in gradient. b'theirs' : Tensor {words} values",
        lambda tf, version=version: _gradient(tf, version),
    )
raises(
    "tf.raw_ops.CheckNumerics",
    "of integers",
    "int32 attr 'T' allowed values",
    lambda tf: tf.raw_ops.CheckNumerics(tensor=tf.constant([1]), message="theirs"),
)
