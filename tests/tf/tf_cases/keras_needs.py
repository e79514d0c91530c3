"""What Keras' TensorFlow backend needs beside the functions that programs call."""

import importlib
import tempfile

import numpy as np
from corpus import case, f, i32, lit, plain, raises

NO_GRADIENT = "TensorFlow has none; here it is that of a move"


def _update(tf, x, update, start):
    xla = importlib.import_module(f"{tf.__name__}.compiler.tf2xla.python.xla")
    return xla.dynamic_update_slice(x, update, start)


XLA_UPDATE = "tf.tensor_scatter_nd_update"
for name, *inputs in (
    ("a part by XLA: inside", f(3, 4), f(2, 2), lit([1, 1], "int32")),
    ("a part by XLA: moved", f(3, 4), f(2, 2), lit([7, -3], "int64")),
    ("a part by XLA: int32", i32(5), i32(2), lit([4], "int32")),
):
    case(XLA_UPDATE, name, _update, *inputs, grad=NO_GRADIENT)
raises(
    XLA_UPDATE,
    "a part by XLA: larger",
    "Update dim size 4 greater than dynamic slice dimension 3",
    lambda tf: _update(tf, tf.zeros([3, 3]), tf.ones([4, 2]), [0, 0]),
)
raises(
    XLA_UPDATE,
    "a part by XLA: of another rank",
    "input and update must have the same rank [3,3] [2]",
    lambda tf: _update(tf, tf.zeros([3, 3]), tf.ones([2]), [0, 0]),
)
raises(
    XLA_UPDATE,
    "a part by XLA: an index for each dimension",
    "index must be a vector with length equal to the number of input dimensions",
    lambda tf: _update(tf, tf.zeros([3, 3]), tf.ones([2, 2]), [0]),
)


@plain("tf.scatter_nd", "of bool: any of the updates")
def _(tf):
    return [
        tf.scatter_nd([[0], [2], [0]], [True, True, False], [4]),
        tf.scatter_nd([[0], [2], [0]], [False, False, False], [4]),
    ]


@plain("tf.convert_to_tensor", "lists of tensors are cast to the dtype that is asked for")
def _(tf):
    one, half = tf.constant(1), tf.constant(1.5)
    return [
        tf.convert_to_tensor([one, 2.5], tf.float32),
        tf.convert_to_tensor([half, 2], tf.int32),
        tf.convert_to_tensor([half, 2], dtype_hint=tf.int32),
        tf.convert_to_tensor([[one, 2], [3, tf.constant(2.5)]], tf.float32),
        tf.convert_to_tensor([tf.Variable(1), 2], tf.float32),
        tf.convert_to_tensor([tf.constant(True), 2], tf.float32),
        tf.add(1.0, [one, tf.constant(2)]),
        tf.add(1, [half, half]),
        tf.concat([[half], [one]], 0),
    ]


@plain(("tf.reshape", "tf.zeros", "tf.tile", "tf.broadcast_to"), "sizes that are floating tensors")
def _(tf):
    two = tf.constant(2.0)
    traced = tf.function(lambda n: tf.reshape(tf.range(4), (n, n)), autograph=False)
    return [
        tf.reshape(tf.range(4), (two, 2)),
        tf.zeros([two, 3]),
        tf.tile([1], [two]),
        tf.broadcast_to(1, [two]),
        traced(two),
    ]


raises(
    "tf.reshape",
    "sizes that are floats of Python",
    "Value for attr 'Tshape' of float is not in the list of allowed values",
    lambda tf: tf.reshape(tf.ones([4]), (2.0, 2)),
)
for spatial in (1, 2, 3):
    raises(
        "tf.nn.convolution",
        f"strides and dilations, both above one, of rank {spatial}",
        "`strides > 1` not supported in conjunction with `dilation_rate > 1`",
        lambda tf, n=spatial: tf.nn.convolution(
            tf.zeros([1, *[16] * n, 1]), tf.zeros([*[3] * n, 1, 1]), strides=2, dilations=2
        ),
    )


@plain("tf.stack", "of more than 1,024 tensors")
def _(tf):
    return tf.reduce_sum(tf.stack([tf.constant(2)] * 2000))


@plain("tf.is_tensor", "of values that are made of tensors")
def _(tf):
    dataset = tf.data.Dataset.range(3)
    return [
        tf.is_tensor(value)
        for value in (
            dataset,
            iter(dataset),
            tf.experimental.Optional.from_value(1),
            tf.TensorArray(tf.float32, 1),
            tf.constant(1),
            tf.Variable(1),
            tf.IndexedSlices(tf.ones([1]), [0]),
            tf.sparse.from_dense([1, 0]),
            np.ones(2),
            [tf.constant(1)],
        )
    ]


@plain("tf.compat.v1.Dimension", "arithmetic")
def _(tf):
    three, unknown = tf.compat.v1.Dimension(3), tf.compat.v1.Dimension(None)
    made = [
        three + 1,
        1 + three,
        three + unknown,
        three * 2,
        unknown * 2,
        three // 2,
        7 // three,
        three % 2,
        tf.compat.v1.Dimension(three),
        tf.compat.v1.dimension_at_index(tf.TensorShape([3, 4]), 1),
    ]
    asked = [three == 3, three == unknown, unknown == unknown, three < 4, three >= unknown]
    return [repr(size) for size in made] + [repr(answer) for answer in asked] + [int(three)]


@plain("tf.experimental.numpy.select", "the first that is true")
def _(tf):
    select = tf.experimental.numpy.select
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    return [
        select([x < 2, x > 3], [x * 10, x * 100], -1),
        select([x < 2], [x], 0),
        select([tf.constant([True, False])], [tf.constant([1, 2])], tf.constant(2.5)),
        float(tf.experimental.numpy.finfo(tf.float32).eps),
        tf.experimental.numpy.iinfo("int8").max,
    ]


@plain("tf.function", "nested functions that make variables are traced at most twice")
def _(tf):
    traces = []

    class Model:
        v = None

        @tf.function
        def inner(self, x):
            traces.append("inner")
            if self.v is None:
                self.v = tf.Variable(2.0)
            return self.v * x

        @tf.function
        def outer(self, x):
            traces.append("outer")
            return self.inner(x) + 1

    model = Model()
    results = [model.outer(tf.constant(3.0)), model.outer(tf.constant(4.0))]
    return [*results, traces.count("inner") <= 2]


@plain("tf.saved_model.load", "functions by the names that they were saved under")
def _(tf):
    class Module(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def double(self, x):
            return x * 2

    module = Module()
    with tempfile.TemporaryDirectory() as folder:
        names = tf.saved_model.SaveOptions(function_aliases={"twice": module.double})
        tf.saved_model.save(module, folder, options=names)
        wanted = tf.saved_model.LoadOptions(experimental_load_function_aliases=True)
        loaded = tf.saved_model.load(folder, options=wanted)
        plain_one = tf.saved_model.load(folder)
        return [
            sorted(loaded.function_aliases),
            loaded.function_aliases["twice"](tf.constant([1.5])),
            hasattr(plain_one, "function_aliases"),
            isinstance(loaded.double, tf.types.experimental.GenericFunction),
            isinstance(module.double, tf.types.experimental.GenericFunction),
        ]


@plain("tf.__internal__.FuncGraph", "captures tensors of the graph that it is made in")
def _(tf):
    found = []

    @tf.function
    def outer(x):
        scratch = tf.__internal__.FuncGraph("scratch")
        with scratch.as_default():
            y = tf.matmul(x, tf.ones([3, 2]))
        found.append((y.shape, [t.shape for t in scratch.external_captures]))
        return x + 1

    return [outer(tf.zeros([4, 3])), found]


@plain("tf.saved_model.save", "the names of a signature's inputs, and which functions have one")
def _(tf):
    one = tf.TensorSpec([None], tf.float32)

    class Lists(tf.Module):
        @tf.function(input_signature=[[one, one]])
        def f(self, inputs):
            return inputs[0] - inputs[1]

    class Dicts(tf.Module):
        @tf.function(input_signature=[{"x": one, "y": one}])
        def f(self, inputs):
            return inputs["x"] - inputs["y"]

    class Free(tf.Module):
        @tf.function
        def f(self, x):
            return x + 1

    found = []
    for module in (Lists(), Dicts(), Free()):
        if isinstance(module, Free):
            module.f(tf.constant([1.0]))
        with tempfile.TemporaryDirectory() as folder:
            tf.saved_model.save(module, folder)
            signatures = tf.saved_model.load(folder).signatures
            found.append(sorted(signatures))
            for signature in signatures.values():
                a, b = tf.constant([3.0]), tf.constant([1.0])
                found.append(signature(inputs=a, inputs_1=b))
    return found


raises(
    "tf.saved_model.save",
    "a signature that is a function without one",
    "Expected a TensorFlow function for which to generate a signature",
    lambda tf: tf.saved_model.save(
        tf.Module(), tempfile.mkdtemp(), signatures=tf.function(lambda x: x, autograph=False)
    ),
)
for what, words, function, count in (
    ("too few", "input_signature missing type constraint for y", lambda x, y: x, 1),
    ("too many", "input_signature contains 1 extra type constraints", lambda x: x, 2),
    ("a keyword alone", "parameter `k` must have a default value", lambda x, *, k: x, 1),
):
    raises(
        "tf.function",
        f"an input_signature for other parameters: {what}",
        words,
        lambda tf, f=function, n=count: tf.function(
            f, input_signature=[tf.TensorSpec([], tf.float32)] * n, autograph=False
        ),
    )


@plain("tf.distribute.get_replica_context", "all_reduce of slices gives slices")
def _(tf):
    slices = tf.IndexedSlices(tf.ones([2, 3]), tf.constant([0, 2]), tf.constant([4, 3]))
    (found,) = tf.distribute.get_replica_context().all_reduce("SUM", [slices])
    return [isinstance(found, tf.IndexedSlices), found.values, found.indices, found.dense_shape]


def _ngrams(tf, x, *args, **options):
    return tf.strings.ngrams(x, *args, **options)


for _what, _args, _options in (
    ("pairs", (2,), {}),
    ("two widths", ([2, 3],), {"separator": "+"}),
    ("pads", (3,), {"pad_values": ("<", ">")}),
    ("one pad", ([1, 4],), {"pad_values": "_", "padding_width": 1}),
    ("short rows", ([3, 4],), {"preserve_short_sequences": True}),
    (
        "short rows with pads",
        (6,),
        {"preserve_short_sequences": True, "pad_values": "_", "padding_width": 1},
    ),
):

    @plain("tf.strings.ngrams", f"of ragged tensors: {_what}")
    def _(tf, args=_args, options=_options):
        rows = tf.ragged.constant([["a", "b", "c", "d"], [], ["e"], ["f", "g"]])
        deep = tf.ragged.constant([[["a", "b", "c"]], [], [["d"], ["e", "f"]]])
        found = [_ngrams(tf, x, *args, **options) for x in (rows, deep)]
        dense = tf.constant([["a", "b", "c"], ["d", "e", "f"]])
        parts = [[x.flat_values, list(x.nested_row_splits)] for x in found]
        return [*parts, _ngrams(tf, dense, *args, **options)]


for _what, _words, _given in (
    ("a width", "ngram_widths", lambda tf: _ngrams(tf, ["a"], 0)),
    ("pads", "pad_values", lambda tf: _ngrams(tf, ["a"], 2, padding_width=1)),
    ("a kind of pads", "pad_values", lambda tf: _ngrams(tf, ["a"], 2, pad_values=1)),
):
    raises("tf.strings.ngrams", _what, _words, _given)


def _grams(tf, splits, dtype):
    return tf.raw_ops.StringNGrams(
        data=["a", "b", "c"],
        data_splits=tf.constant(splits, dtype),
        separator="\0",
        ngram_widths=[2],
        left_pad="<<",
        right_pad=">",
        pad_width=-1,
        preserve_short_sequences=False,
    )


@plain("tf.raw_ops.StringNGrams", "splits of both dtypes")
def _(tf):
    return [list(_grams(tf, [0, 2, 2, 3], dtype)) for dtype in (tf.int32, tf.int64)]


for _splits, _words in (
    ([1, 3], "First split value must be 0"),
    ([0, 4], "Invalid split value 4"),
    ([0, 2, 1, 3], "Invalid split value 1"),
    ([0, 2], "Last split value must be data size"),
):
    raises(
        "tf.raw_ops.StringNGrams",
        f"splits {_splits}",
        _words,
        lambda tf, splits=_splits: _grams(tf, splits, tf.int64),
    )


def _counted(tf, **options):
    numbers = tf.ragged.constant([[1, 1, 3], [], [0, 5]], dtype=tf.int64)
    weights = options.pop("weights", None)
    if weights is not None:
        weights = tf.RaggedTensor.from_row_splits(weights, [0, 3, 3, 5])
    found = tf.sparse.bincount(numbers, weights, **options)
    return [found.indices, found.values, found.dense_shape]


@plain("tf.sparse.bincount", "of ragged tensors")
def _(tf):
    return [
        _counted(tf),
        _counted(tf, axis=-1),
        _counted(tf, axis=-1, minlength=8),
        _counted(tf, axis=-1, maxlength=4),
        _counted(tf, axis=-1, binary_output=True),
        _counted(tf, weights=[1.0, 2.0, 3.0, 4.0, 5.0]),
        _counted(tf, axis=-1, weights=[1.0, 2.0, 3.0, 4.0, 5.0]),
    ]


@plain("tf.gather", "ragged indices along an inner axis")
def _(tf):
    x = tf.reshape(tf.range(60), [3, 4, 5])
    rows = tf.ragged.constant([[2], [0, 3, 1], []])
    deep = tf.ragged.constant([[[2, 1]], [], [[0], [3, 3]]])
    blocks = tf.RaggedTensor.from_row_splits([[0, 1], [2, 3], [1, 1]], [0, 1, 3])
    ragged = tf.ragged.constant([[0, 1, 2, 3], [4, 5, 6, 7, 8]])
    found = [tf.gather(x, rows, axis=axis) for axis in (1, 2, -1)]
    found += [tf.gather(x, indices, axis=1) for indices in (deep, blocks)]
    found += [tf.gather(ragged, rows, axis=1)]
    return [[each.flat_values, each.bounding_shape(), each.to_list()] for each in found]


@plain(("tf.raw_ops.UniqueV2", "tf.raw_ops.UniqueWithCountsV2"), "slices along axes")
def _(tf):
    x = tf.constant([[1, 0, 1, 0], [2, 3, 2, 3], [1, 0, 1, 0]])
    texts = tf.constant([["a", "b"], ["a", "c"], ["a", "b"]])
    reals = tf.constant([[0.0, -0.0, 1.0], [2.0, 2.0, 2.0]])
    found = []
    for tensor in (x, texts, reals, tf.cast(x, tf.float64), tf.zeros([2, 0])):
        for axis in ([0], [1], [-1]):
            found.append(list(tf.raw_ops.UniqueV2(x=tensor, axis=axis)))
            found.append(list(tf.raw_ops.UniqueWithCountsV2(x=tensor, axis=axis)))
    none = tf.constant([], tf.int32)
    found.append(list(tf.raw_ops.UniqueV2(x=[3, 1, 3], axis=none, out_idx=tf.int64)))
    found.append(list(tf.raw_ops.UniqueWithCountsV2(x=[3, 1, 3], axis=none, out_idx=tf.int64)))
    found.append(list(tf.raw_ops.UniqueWithCounts(x=["b", "a", "b"])))
    traced = tf.function(lambda x: tf.raw_ops.UniqueV2(x=x, axis=[1]))
    return [*found, list(traced(x)), [y.shape.as_list() for y in traced(x)]]


for _what, _words, _given in (
    ("an axis beyond the end", "axis", lambda tf: tf.raw_ops.UniqueV2(x=[1], axis=[1])),
    ("two axes", "axis", lambda tf: tf.raw_ops.UniqueV2(x=[[1]], axis=[0, 1])),
    ("no axis", "1D vector", lambda tf: tf.raw_ops.UniqueV2(x=[[1]], axis=tf.zeros([0], tf.int32))),
):
    raises("tf.raw_ops.UniqueV2", _what, _words, _given)


def _beam(tf, shape, lengths, dtype="float32", **options):
    x = np.random.default_rng(shape[0] + shape[2]).standard_normal(shape) * 2
    found, scores = tf.nn.ctc_beam_search_decoder(tf.constant(x, dtype), lengths, **options)
    return [[[y.indices, y.values, y.dense_shape] for y in found], scores]


@plain("tf.nn.ctc_beam_search_decoder", "the likeliest sequences", rtol=1e-4)
def _(tf):
    return [
        _beam(tf, (7, 3, 5), [7, 4, 1]),
        _beam(tf, (7, 3, 5), [7, 4, 2], beam_width=8, top_paths=4),
        _beam(tf, (12, 2, 4), [12, 0], beam_width=3),
        _beam(tf, (20, 2, 9), [20, 20], beam_width=40, top_paths=3),
        _beam(tf, (4, 1, 2), [4], beam_width=2, top_paths=2),
    ]


@plain("tf.raw_ops.CTCBeamSearchDecoder", "neighbours that are equal, doubles", rtol=1e-4)
def _(tf):
    x = np.random.default_rng(5).standard_normal((9, 2, 3)) * 3
    options = {"inputs": tf.constant(x), "sequence_length": [9, 5], "beam_width": 6, "top_paths": 2}
    found = tf.raw_ops.CTCBeamSearchDecoder(**options, merge_repeated=True)
    return [list(part) for part in found[:3]] + [found[3]]


for _what, _words, _options in (
    ("more paths than the beam", "paths", {"beam_width": 1, "top_paths": 2}),
    ("fewer sequences than paths", "Less leaves", {"top_paths": 90}),
):
    raises(
        "tf.nn.ctc_beam_search_decoder",
        _what,
        _words,
        lambda tf, options=_options: _beam(tf, (1, 1, 3), [1], **options),
    )


@plain("tf.experimental.ExtensionType", "specs have names")
def _(tf):
    path = f"{tf.__name__}.python.framework.type_spec_registry"
    registry = importlib.import_module(path)

    class Pair(tf.experimental.ExtensionType):
        __name__ = "cases.Pair"
        first: tf.Tensor

    specs = (tf.TensorSpec, tf.RaggedTensorSpec, tf.SparseTensorSpec, tf.TensorArraySpec, Pair.Spec)
    names = [registry.get_name(spec) for spec in specs]
    return [*names, [registry.lookup(registry.get_name(spec)) is spec for spec in specs]]
