"""Sparse tensors: values, sizes, static shapes, gradients, mistakes."""

from __future__ import annotations

from corpus import case, f, f64, i32, lit, plain, raises

_HOST = "its result has as many elements as the data say"
_PLACES = [[0, 1], [0, 3], [1, 0], [2, 2], [2, 3]]
_SIZES = [3, 4]


def _parts(x):
    return [x.indices, x.values, x.dense_shape, x.shape]


def _of(tf, values, places=None, sizes=None):
    return tf.SparseTensor(places or _PLACES, values, sizes or _SIZES)


def _some(tf, dtype="float32"):
    return _of(tf, tf.cast([1, -2, 3, 4, -5], dtype))


def _deep(tf, dtype="float32"):
    places = [[0, 0, 1], [0, 2, 0], [1, 0, 0], [1, 0, 2], [1, 2, 2]]
    return _of(tf, tf.cast([1, 2, -3, 4, 5], dtype), places, [2, 3, 3])


# ---- functions of values -------------------------------------------------------------------------

_OTHER = [[0, 0], [0, 3], [1, 0], [2, 1]]


def _sum_of_two(tf, x, y):
    return _parts(tf.sparse.add(_of(tf, x), _of(tf, y, _OTHER)))[:3]


case("tf.sparse.add", "two", _sum_of_two, f(5), f(4), forward=_HOST)
case(
    "tf.sparse.add",
    "a threshold",
    lambda tf, x: _parts(tf.sparse.add(_of(tf, x), _of(tf, -0.9 * x), threshold=0.1))[:3],
    lit([1.0, 0.5, -2.0, 0.25, 3.0]),
    forward=_HOST,
)
for _kind in (f, f64):
    case(
        "tf.sparse.add",
        f"a dense one {_kind.__name__}",
        lambda tf, x, y: tf.sparse.add(_of(tf, x), y),
        _kind(5),
        _kind(3, 4),
    )
case(
    "tf.sparse.add",
    "integers",
    lambda tf, x: _parts(tf.sparse.add(_of(tf, x), _of(tf, x)))[:3],
    i32(5),
)
for _axes in (None, 0, 1, -1, [0, 1], [0]):
    for _keeps in (False, True):
        case(
            "tf.sparse.reduce_sum",
            f"{_axes} {_keeps}",
            lambda tf, x, axes=_axes, keeps=_keeps: tf.sparse.reduce_sum(_of(tf, x), axes, keeps),
            f(5),
        )
case(
    "tf.sparse.softmax",
    "values",
    lambda tf, x: tf.sparse.softmax(_of(tf, x)).values,
    f(5),
    rtol=1e-5,
)
for _left in (False, True):
    for _right in (False, True):

        def _product(tf, x, y, left=_left, right=_right):
            return tf.sparse.sparse_dense_matmul(_of(tf, x), y, left, right)

        case(
            "tf.sparse.sparse_dense_matmul",
            f"adjoint {_left} {_right}",
            _product,
            f(5),
            f(*[(4, 2), (2, 4), (3, 2), (2, 3)][2 * _left + _right]),
            rtol=1e-5,
        )
case(
    "tf.sparse.sparse_dense_matmul",
    "dense first",
    lambda tf, x, y: tf.sparse.sparse_dense_matmul(y, _of(tf, x)),
    f(5),
    f(2, 3),
    rtol=1e-5,
)
case(
    "tf.sparse.sparse_dense_matmul",
    "both turned, dense first",
    lambda tf, x, y: tf.sparse.sparse_dense_matmul(y, _of(tf, x), adjoint_a=True, adjoint_b=True),
    f(5),
    f(4, 2),
    rtol=1e-5,
)
case(
    "tf.sparse.to_dense",
    "values and a default",
    lambda tf, x, y: tf.sparse.to_dense(_of(tf, x), default_value=y),
    f(5),
    f(),
    forward=_HOST,
)
case(
    "tf.sparse.slice",
    "values",
    lambda tf, x: _parts(tf.sparse.slice(_of(tf, x), [0, 1], [2, 3]))[:3],
    f(5),
    forward=_HOST,
)
case(
    "tf.sparse.fill_empty_rows",
    "values and a default",
    lambda tf, x, y: _parts(tf.sparse.fill_empty_rows(_of(tf, x, None, [5, 4]), y)[0])[:3],
    f(5),
    f(),
    forward=_HOST,
)
case(
    "tf.sparse.reorder",
    "values",
    lambda tf, x: _parts(tf.sparse.reorder(_of(tf, x, _PLACES[::-1])))[:3],
    f(5),
)
case(
    "tf.sparse.transpose",
    "values",
    lambda tf, x: _parts(tf.sparse.transpose(_of(tf, x)))[:3],
    f(5),
)
case(
    "tf.sparse.reshape",
    "values",
    lambda tf, x: _parts(tf.sparse.reshape(_of(tf, x), [2, -1]))[:3],
    f(5),
)
case(
    "tf.sparse.retain",
    "values",
    lambda tf, x: _parts(tf.sparse.retain(_of(tf, x), [True, False, True, True, False]))[:3],
    f(5),
)
case(
    "tf.sparse.expand_dims",
    "values",
    lambda tf, x: _parts(tf.sparse.expand_dims(_of(tf, x), 1))[:3],
    f(5),
)
case(
    "tf.sparse.map_values",
    "values",
    lambda tf, x: _parts(tf.sparse.map_values(tf.multiply, _of(tf, x), x))[:3],
    f(5),
)
for _dense in ((3, 4), (4,), (1, 4), (3, 1)):
    case(
        "tf.SparseTensor",
        f"times {_dense}",
        lambda tf, x, y: (_of(tf, x) * y).values,
        f(5),
        f(*_dense),
    )
    case(
        "tf.SparseTensor",
        f"over {_dense}",
        lambda tf, x, y: (_of(tf, x) / y).values,
        f(5),
        f(*_dense, low=0.5),
        rtol=1e-5,
    )
for _name, _number in (("times", lambda x, y: x * y), ("over", lambda x, y: x / y)):
    case(
        "tf.SparseTensor",
        f"{_name} a scalar",
        lambda tf, x, y, number=_number: number(_of(tf, x), y).values,
        f(5),
        lit(1.5),
        grad="TensorFlow fails",
    )
for _name in ("sum", "mean", "sqrt_n"):
    for _count in (None, 5):

        def _segments(tf, x, name=_name, count=_count):
            function = getattr(tf.sparse, f"segment_{name}")
            return function(x, [0, 2, 1, 2], [0, 0, 1, 3], num_segments=count)

        case(
            f"tf.sparse.segment_{_name}",
            f"of {_count}",
            _segments,
            f(3, 2),
            forward=_HOST,
            rtol=1e-5,
        )
case(
    "tf.sparse.sampled_addmm",
    "matrices",
    lambda tf, x, y, z: tf.sparse.sampled_addmm([[0, 0], [1, 1]], x, [2, 2], y, z, 0.25, 0.75)[1],
    f(2),
    f(2, 3),
    f(3, 2),
    without=("unknown", "grad_unknown"),
    why="TensorFlow wants the sizes",
    rtol=1e-5,
)
_IDS = [[0, 0], [0, 1], [2, 0], [3, 0], [3, 2]]
for _combiner in ("sum", "mean", "sqrtn"):
    for _weighted in (False, True):

        def _lookup(tf, x, y, combiner=_combiner, weighted=_weighted):
            ids = _of(tf, tf.constant([1, 3, 0, 3, 3]), _IDS, [4, 3])
            weights = _of(tf, y, _IDS, [4, 3]) if weighted else None
            return tf.nn.embedding_lookup_sparse(x, ids, weights, combiner=combiner) + 0.0 * y[0]

        case(
            "tf.nn.embedding_lookup_sparse",
            f"{_combiner} {_weighted}",
            _lookup,
            f(4, 2),
            f(5, low=0.5),
            forward=None if _weighted else _HOST,
            rtol=1e-5,
        )

        def _safe(tf, x, y, combiner=_combiner, weighted=_weighted):
            ids = _of(tf, tf.constant([1, -3, 0, 3, 3], tf.int64), _IDS, [5, 3])
            weights = _of(tf, y, _IDS, [5, 3]) if weighted else None
            options = {"combiner": combiner, "default_id": 2 if weighted else None}
            return tf.nn.safe_embedding_lookup_sparse(x, ids, weights, **options) + 0.0 * y[0]

        case(
            "tf.nn.safe_embedding_lookup_sparse",
            f"{_combiner} {_weighted}",
            _safe,
            f(4, 2),
            f(5, low=0.5),
            forward=_HOST,
            rtol=1e-5,
        )

# ---- without gradients ---------------------------------------------------------------------------

for _dtype in ("float64", "float16", "int32", "int8", "complex64", "bool", "string"):

    @plain(("tf.sparse.to_dense", "tf.sparse.from_dense"), f"of {_dtype}")
    def _(tf, dtype=_dtype):
        x = tf.constant([[1, 0, 2], [0, 0, 3]])
        if dtype == "string":
            x = tf.where(x == 0, "", tf.strings.as_string(x))
        else:
            x = tf.cast(x, dtype)
        sparse = tf.sparse.from_dense(x)
        return [*_parts(sparse), tf.sparse.to_dense(sparse)]


for _dtype in ("float64", "int32", "complex64", "string"):

    @plain("tf.sparse.concat", f"of {_dtype}")
    def _(tf, dtype=_dtype):
        a = _some(tf, "int32" if dtype == "string" else dtype)
        if dtype == "string":
            a = a.with_values(tf.strings.as_string(a.values))
        b = tf.SparseTensor(a.indices[:2], a.values[1:3], [3, 4])
        return [_parts(tf.sparse.concat(axis, [a, b, a])) for axis in (0, 1, -1)]


@plain("tf.sparse.concat", "sizes that differ")
def _(tf):
    a, b = _some(tf), _of(tf, [7.0, 8.0], [[0, 0], [4, 1]], [5, 2])
    return [
        _parts(tf.sparse.concat(0, [a, b], expand_nonconcat_dims=True)),
        _parts(tf.sparse.concat(1, [a, b], expand_nonconcat_dims=True)),
        _parts(tf.sparse.concat(1, [a])),
    ]


@plain("tf.sparse.split", "parts")
def _(tf):
    return [
        [_parts(x)[:3] for x in tf.sparse.split(sp_input=_some(tf), num_split=n, axis=axis)]
        for n, axis in ((2, 1), (3, 0), (2, 0), (3, -1))
    ]


@plain("tf.sparse.slice", "parts")
def _(tf):
    return [
        _parts(tf.sparse.slice(_some(tf), start, size))[:3]
        for start, size in (
            ([0, 0], [3, 4]),
            ([1, 0], [1, 4]),
            ([1, 1], [9, 9]),
            ([5, 0], [1, 1]),
            ([0, 0], [0, 0]),
        )
    ]


@plain("tf.sparse.slice", "three axes")
def _(tf):
    return _parts(tf.sparse.slice(_deep(tf), [0, 1, 0], [2, 2, 2]))[:3]


for _axis in (None, 0, 1, 2, -1, [0, 1], [0, 2], [0, 1, 2]):

    @plain(("tf.sparse.reduce_max", "tf.sparse.reduce_sum"), f"over {_axis}")
    def _(tf, axis=_axis):
        found = []
        for function in (tf.sparse.reduce_max, tf.sparse.reduce_sum):
            for keeps in (False, True):
                found.append(function(_deep(tf), axis=axis, keepdims=keeps))
                sparse = function(_deep(tf), axis=axis, keepdims=keeps, output_is_sparse=True)
                found.append(_parts(sparse)[:3])
        return found


for _perm in (None, [0, 1, 2], [2, 0, 1], [1, 0, 2]):

    @plain("tf.sparse.transpose", f"by {_perm}")
    def _(tf, perm=_perm):
        return _parts(tf.sparse.transpose(_deep(tf), perm))


@plain("tf.sparse.transpose", "of an unknown shape")
def _(tf):
    spec = tf.SparseTensorSpec([None, None], tf.float32)
    return _parts(tf.function(tf.sparse.transpose, input_signature=[spec])(_some(tf)))[:3]


for _axis in (None, 0, 1, 2, -1, -3):

    @plain("tf.sparse.expand_dims", f"at {_axis}")
    def _(tf, axis=_axis):
        return _parts(tf.sparse.expand_dims(_some(tf), axis))


for _shape in ([12], [4, 3], [2, -1], [-1], [1, 3, 2, 2]):

    @plain("tf.sparse.reshape", f"to {_shape}")
    def _(tf, shape=_shape):
        inside = tf.function(lambda x: _parts(tf.sparse.reshape(x, shape))[:3])
        return [_parts(tf.sparse.reshape(_some(tf), shape)), inside(_some(tf))]


@plain("tf.sparse.reset_shape", "larger, smallest")
def _(tf):
    return [
        _parts(tf.sparse.reset_shape(_some(tf), [5, 9])),
        _parts(tf.sparse.reset_shape(_of(tf, [1.0], [[1, 2]], [9, 9]))),
    ]


@plain("tf.sparse.fill_empty_rows", "words")
def _(tf):
    x = _of(tf, ["a", "b"], [[1, 2], [3, 0]], [5, 4])
    filled, empty = tf.sparse.fill_empty_rows(x, "none")
    return [*_parts(filled), empty]


@plain("tf.sparse.eye", "squares and others")
def _(tf):
    return [
        _parts(tf.sparse.eye(3)),
        _parts(tf.sparse.eye(2, 4, tf.int32)),
        _parts(tf.sparse.eye(tf.constant(4), 2)),
    ]


@plain("tf.sparse.to_indicator", "of ids")
def _(tf):
    ids = _of(tf, tf.constant([1, 3, 0, 3, 2]), _PLACES, _SIZES)
    numbers = ids.with_values(tf.range(5))
    return [tf.sparse.to_indicator(ids, 5), tf.sparse.to_indicator(numbers, 6)]


@plain("tf.sparse.mask", "of slices")
def _(tf):
    slices = tf.IndexedSlices(tf.reshape(tf.range(8.0), [4, 2]), tf.constant([3, 0, 5, 2]), [9, 2])
    return tf.sparse.mask(slices, [0, 2])


for _dtype in ("float32", "int32", "float16"):

    @plain(("tf.sparse.maximum", "tf.sparse.minimum"), f"of {_dtype}")
    def _(tf, dtype=_dtype):
        a = _some(tf, dtype)
        b = _of(tf, tf.cast([-1, 5, 3, 2], dtype), _OTHER)
        return [_parts(tf.sparse.maximum(a, b)), _parts(tf.sparse.minimum(a, b))]


@plain("tf.sparse.add", "without elements")
def _(tf):
    empty = tf.SparseTensor(tf.zeros([0, 2], tf.int64), tf.zeros([0]), _SIZES)
    return [
        _parts(tf.sparse.add(empty, empty)),
        _parts(tf.sparse.add(empty, _some(tf))),
        _parts(tf.sparse.concat(0, [empty, empty])),
        _parts(tf.sparse.reorder(empty)),
        tf.sparse.to_dense(empty),
        tf.sparse.reduce_sum(empty, 0),
        tf.sparse.reduce_max(empty, 0),
        tf.sparse.sparse_dense_matmul(empty, tf.ones([4, 2])),
        _parts(tf.sparse.softmax(empty)),
        _parts(tf.sparse.transpose(empty)),
        _parts(tf.sparse.slice(empty, [0, 0], [1, 1])),
        _parts(empty * 2.0),
    ]


@plain("tf.sparse.softmax", "batches")
def _(tf):
    return _parts(tf.sparse.softmax(_deep(tf)))


for _dtype in ("float16", "float64", "int32", "complex64"):

    @plain("tf.sparse.sparse_dense_matmul", f"of {_dtype}")
    def _(tf, dtype=_dtype):
        b = tf.cast(tf.reshape(tf.range(8), [4, 2]), dtype)
        if dtype == "complex64":
            b = b * tf.constant(1 + 2j, tf.complex64)
        a = _some(tf, dtype)
        if dtype == "complex64":
            a = a.with_values(a.values * tf.constant(2 - 1j, tf.complex64))
        return [
            tf.sparse.sparse_dense_matmul(a, b),
            tf.sparse.sparse_dense_matmul(a, tf.transpose(b)[:, :3], True, True),
            tf.sparse.sparse_dense_matmul(tf.transpose(b)[:, :3], a),
        ]


# ---- crosses, counts, sets -----------------------------------------------------------------------


def _features(tf):
    places = [[0, 0], [0, 1], [2, 0]]
    return (
        tf.SparseTensor(places, ["a", "b", "c"], [3, 2]),
        tf.constant([["x", "y"], ["z", "w"], ["u", "v"]]),
        tf.SparseTensor(places, [4, 5, 6], [3, 2]),
        tf.constant([[1], [2], [3]]),
    )


for _chosen in ((0,), (1,), (0, 1), (0, 1, 2), (2, 3), (3, 3), (1, 0, 3)):

    @plain(("tf.sparse.cross", "tf.sparse.cross_hashed"), f"of {_chosen}")
    def _(tf, chosen=_chosen):
        inputs = [_features(tf)[i] for i in chosen]
        return [
            _parts(tf.sparse.cross(inputs))[:3],
            _parts(tf.sparse.cross(inputs, separator="--"))[:3],
            _parts(tf.sparse.cross_hashed(inputs))[:3],
            _parts(tf.sparse.cross_hashed(inputs, num_buckets=100))[:3],
            _parts(tf.sparse.cross_hashed(inputs, num_buckets=10, hash_key=42))[:3],
        ]


_COUNTS = ({}, {"minlength": 9}, {"maxlength": 3}, {"binary_output": True}, {"axis": -1})
for _options in (*_COUNTS, {"axis": -1, "maxlength": 4}, {"axis": -1, "binary_output": True}):

    @plain(("tf.sparse.bincount", "tf.math.bincount"), f"{_options}")
    def _(tf, options=_options):
        dense = tf.constant([[1, 5, 2], [2, 2, 0]])
        sparse = _of(tf, tf.constant([3, 3, 0, 7, 3]))
        return [
            _parts(tf.sparse.bincount(dense, **options))[:3],
            _parts(tf.sparse.bincount(sparse, **options))[:3],
            tf.math.bincount(sparse, **options),
        ]


for _axis in (0, -1):

    @plain(("tf.sparse.bincount", "tf.math.bincount"), f"weights along {_axis}")
    def _(tf, axis=_axis):
        dense, sparse = tf.constant([[1, 5], [2, 2]]), _of(tf, tf.constant([3, 3, 0, 7, 3]))
        weights = sparse.with_values(tf.constant([0.5, 1.0, 1.5, 2.0, 2.5]))
        return [
            _parts(tf.sparse.bincount(dense, tf.constant([[1.0, 2.0], [3.0, 4.0]]), axis))[:3],
            _parts(tf.sparse.bincount(sparse, weights, axis))[:3],
            tf.math.bincount(sparse, weights, axis=axis),
        ]


for _name in ("intersection", "union", "difference"):

    @plain(f"tf.sets.{_name}", "dense and sparse")
    def _(tf, name=_name):
        function = getattr(tf.sets, name)
        a, b = tf.constant([[1, 2, 2], [3, 4, 5]]), tf.constant([[2, 9], [4, 3]])
        x = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [9, 1, 3], [2, 2])
        y = tf.SparseTensor([[0, 0], [1, 1]], [1, 8], [2, 3])
        words = tf.constant([["b", "a"]]), tf.constant([["aa", "b"]])
        found = [function(*pair) for pair in ((a, b), (a, x), (x, y), words)]
        if name != "difference":
            found.append(function(x, a))
        else:
            found.append(function(a, b, aminusb=False))
        return [_parts(each)[:3] for each in found]


@plain("tf.sets.size", "of rows")
def _(tf):
    places = [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1]]
    return [
        tf.sets.size(_of(tf, [5, 5, 7, 7], places, [2, 2, 2])),
        tf.sets.size(_of(tf, ["a", "b", "b", "b", "b"])),
    ]


# ---- strings -------------------------------------------------------------------------------------


@plain(("tf.io.serialize_sparse", "tf.io.serialize_many_sparse"), "there and back")
def _(tf):
    x = _of(tf, ["a", "b", "c", "d", "e"])
    one, many = tf.io.serialize_sparse(x), tf.io.serialize_many_sparse(x)
    back = tf.io.deserialize_many_sparse(many, tf.string)
    batch = tf.io.deserialize_many_sparse(tf.stack([one, one]), tf.string, rank=3)
    return [one.shape, many.shape, _parts(back)[:3], _parts(batch)[:3], batch.shape]


# ---- the class -----------------------------------------------------------------------------------

_UNARY = "abs asin asinh atan atanh bessel_i0e bessel_i1e erf negative sign sin sqrt square tan"
for _name in (*_UNARY.split(), "tanh"):

    @plain(f"tf.math.{_name}", "of a sparse tensor", rtol=1e-5)
    def _(tf, name=_name):
        x = _of(tf, tf.constant([0.1, 0.2, 0.25, 0.5, 0.75]))
        return _parts(getattr(tf.math, name)(x))


@plain(("tf.cast", "tf.shape", "tf.size", "tf.rank", "tf.identity"), "of a sparse tensor")
def _(tf):
    x = _some(tf)
    return [
        _parts(tf.cast(x, tf.int32)),
        tf.shape(x),
        tf.shape(x, tf.int64),
        tf.size(x),
        tf.rank(x),
        _parts(tf.identity(x)),
        _parts(tf.stop_gradient(x)),
        _parts(tf.divide(x, 2.0)),
        _parts(tf.math.divide(x, tf.ones([4]) * 4.0)),
    ]


@plain("tf.SparseTensor", "operators")
def _(tf):
    x, whole = _some(tf), tf.reshape(tf.range(1.0, 13.0), [3, 4])
    return [
        *(_parts(y) for y in (x * whole, whole * x, x * 2.0, x / whole, x / 4.0)),
        _parts(_some(tf, "int32") / 2),
        _parts(_some(tf, "int8") / tf.constant(2, tf.int8)),
        _parts(x.with_values(x.values + 1.0)),
        x == x,
        x.get_shape(),
    ]


@plain("tf.SparseTensorSpec", "what it says")
def _(tf):
    spec = tf.SparseTensorSpec([None, 4], tf.float32)
    other = tf.SparseTensorSpec([3, 4], tf.float32)
    return [
        repr(spec),
        spec.shape,
        spec.dtype,
        spec.is_compatible_with(_some(tf)),
        other.is_subtype_of(spec),
        spec.is_subtype_of(other),
        repr(spec.most_specific_compatible_type(other)),
        repr(tf.type_spec_from_value(_some(tf))),
        tf.is_tensor(_some(tf)),
        len(tf.nest.flatten(_some(tf))),
        len(tf.nest.flatten(_some(tf), expand_composites=True)),
    ]


@plain("tf.function", "of sparse tensors")
def _(tf):
    spec = tf.SparseTensorSpec([None, None], tf.float32)
    kept = _some(tf)

    @tf.function(input_signature=[spec])
    def signed(x):
        return tf.sparse.add(x, kept), x.shape.rank

    @tf.function
    def loop(x, n):
        i = tf.constant(0)
        while i < n:
            x = tf.sparse.add(x, kept)
            i += 1
        return x

    @tf.function
    def branch(x, yes):
        return tf.cond(yes, lambda: x, lambda: tf.sparse.transpose(tf.sparse.transpose(x)) * 2.0)

    return [
        _parts(signed(_some(tf))[0]),
        _parts(loop(_some(tf), tf.constant(3)))[:3],
        _parts(branch(_some(tf), tf.constant(True)))[:3],
        _parts(branch(_some(tf), tf.constant(False)))[:3],
    ]


@plain("tf.map_fn", "over sparse tensors")
def _(tf):
    x, spec = _some(tf), tf.SparseTensorSpec([None], tf.float32)

    def doubled(row):
        return tf.sparse.add(row, row)

    @tf.function
    def inside(x):
        return tf.map_fn(doubled, x, fn_output_signature=spec)

    return [
        tf.map_fn(tf.sparse.reduce_sum, x, fn_output_signature=tf.float32),
        _parts(tf.map_fn(doubled, x, fn_output_signature=spec))[:3],
        _parts(inside(x))[:3],
        _parts(tf.map_fn(lambda row: row, x))[:3],
        tf.map_fn(
            lambda pair: tf.sparse.reduce_sum(pair[0]) + pair[1],
            (x, tf.constant([10.0, 20.0, 30.0])),
            fn_output_signature=tf.float32,
        ),
    ]


@plain("tf.data.Dataset.from_tensor_slices", "of sparse tensors")
def _(tf):
    data = tf.data.Dataset.from_tensor_slices((_some(tf), [1, 2, 3]))
    whole = tf.data.Dataset.from_tensors(_deep(tf))
    batches = data.batch(2)
    return [
        repr(data.element_spec),
        repr(batches.element_spec),
        [[*_parts(x)[:3], y] for x, y in data],
        [[*_parts(x)[:3], y] for x, y in batches],
        [[*_parts(x)[:3], y] for x, y in batches.unbatch()],
        [_parts(x)[:3] for x in data.map(lambda x, y: x * 2.0).batch(3)],
        [_parts(x)[:3] for x in data.filter(lambda x, y: y > 1).map(lambda x, y: x)],
        [_parts(x)[:3] for x in whole.unbatch()],
        [_parts(x)[:3] for x in whole.repeat(2).batch(2)],
        [x for x in tf.data.Dataset.from_tensors(_some(tf)).as_numpy_iterator()],
    ]


@plain("tf.GradientTape", "through sparse tensors")
def _(tf):
    w = tf.Variable(tf.ones([4, 2]))

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            y = tf.sparse.sparse_dense_matmul(x, w)
            z = tf.sparse.reduce_sum(tf.sparse.add(x, x) * tf.reduce_sum(w, 1))
            loss = tf.reduce_sum(y * y) + z
        return loss, tape.gradient(loss, w)

    with tf.GradientTape() as tape:
        ids = _of(tf, tf.constant([1, 3, 0, 3, 3]), _IDS, [4, 3])
        loss = tf.reduce_sum(tf.nn.embedding_lookup_sparse(w, ids, None, combiner="sum"))
    slices = tape.gradient(loss, w)
    return [*step(_some(tf)), tf.convert_to_tensor(slices), type(slices).__name__]


# ---- mistakes ------------------------------------------------------------------------------------


def _bad(tf, places, values=None, sizes=None):
    return tf.SparseTensor(places, values or [1.0] * len(places), sizes or _SIZES)


_MISTAKES = {
    "tf.SparseTensor": (
        ("more values", "1 2 compatible", lambda tf: tf.SparseTensor([[1]], [1.0, 2.0], [4])),
        ("longer places", "compatible", lambda tf: tf.SparseTensor([[1]], [1.0], [4, 5])),
        ("a vector of places", "rank 2", lambda tf: tf.SparseTensor([1], [1.0], [4])),
        ("a matrix of values", "rank 1", lambda tf: tf.SparseTensor([[1]], [[1.0]], [4])),
        ("a sum", "SparseTensor", lambda tf: _some(tf) + tf.ones([3, 4])),
        ("other dtypes", "dtype", lambda tf: _some(tf) / tf.ones([3, 4], tf.float64)),
        ("a wrong shape", "incompatible", lambda tf: _some(tf) * tf.ones([2, 4])),
        ("from a number", "neither", lambda tf: tf.SparseTensor.from_value(3)),
    ),
    "tf.sparse.to_dense": (
        ("beyond", "[0,9] bounds", lambda tf: tf.sparse.to_dense(_bad(tf, [[0, 9]]))),
        ("twice", "[0,1] repeated", lambda tf: tf.sparse.to_dense(_bad(tf, [[0, 1], [0, 1]]))),
        ("unordered", "[0,0] order", lambda tf: tf.sparse.to_dense(_bad(tf, [[0, 1], [0, 0]]))),
        ("a tensor", "SparseTensor", lambda tf: tf.sparse.to_dense(tf.ones([2]))),
    ),
    "tf.sparse.sparse_dense_matmul": (
        (
            "inner sizes",
            "4 3",
            lambda tf: tf.sparse.sparse_dense_matmul(_some(tf), tf.ones([3, 2])),
        ),
        (
            "beyond",
            "9 bounds",
            lambda tf: tf.sparse.sparse_dense_matmul(_bad(tf, [[0, 9]]), tf.ones([4, 2])),
        ),
        (
            "other dtypes",
            "double",
            lambda tf: tf.sparse.sparse_dense_matmul(_some(tf), tf.ones([4, 2], tf.float64)),
        ),
    ),
    "tf.sparse.add": (
        ("two dense", "SparseTensor", lambda tf: tf.sparse.add(tf.ones([2]), tf.ones([2]))),
        (
            "sizes",
            "match",
            lambda tf: tf.sparse.add(_some(tf), _bad(tf, [[0, 0]], [1.0], [3, 5])),
        ),
    ),
    "tf.sparse.concat": (
        ("a tensor", "list", lambda tf: tf.sparse.concat(0, _some(tf))),
        (
            "sizes",
            "match",
            lambda tf: tf.sparse.concat(0, [_some(tf), _bad(tf, [[0, 0]], [1.0], [3, 5])]),
        ),
        ("an axis", "range", lambda tf: tf.sparse.concat(5, [_deep(tf), _deep(tf)])),
    ),
    "tf.sparse.reduce_sum": (
        ("an axis", "dimension 5", lambda tf: tf.sparse.reduce_sum(_some(tf), 5)),
    ),
    "tf.sparse.reshape": (
        ("two unknown", "-1", lambda tf: tf.sparse.reshape(_some(tf), [-1, -1])),
        ("too many", "reshape", lambda tf: tf.sparse.reshape(_some(tf), [5, 5])),
    ),
    "tf.sparse.split": (
        ("too many", "9", lambda tf: tf.sparse.split(sp_input=_some(tf), num_split=9, axis=1)),
        ("no axis", "axis", lambda tf: tf.sparse.split(sp_input=_some(tf), num_split=2)),
    ),
    "tf.sparse.slice": (
        ("a negative size", "non-negative", lambda tf: tf.sparse.slice(_some(tf), [0, 0], [-1, 2])),
    ),
    "tf.sparse.fill_empty_rows": (
        ("beyond", "invalid", lambda tf: tf.sparse.fill_empty_rows(_bad(tf, [[9, 0]]), 0.0)),
    ),
    "tf.sparse.retain": (
        ("a longer mask", "compatible", lambda tf: tf.sparse.retain(_some(tf), [True] * 9)),
    ),
    "tf.sparse.map_values": (
        ("nothing sparse", "SparseTensor", lambda tf: tf.sparse.map_values(tf.add, 1, 2)),
    ),
    "tf.sparse.cross": (
        ("a number", "Tensor", lambda tf: tf.sparse.cross([_features(tf)[0], 3])),
        ("rows", "batch", lambda tf: tf.sparse.cross([_features(tf)[0], tf.constant([["a"]])])),
    ),
    "tf.sparse.bincount": (
        ("an axis", "axis", lambda tf: tf.sparse.bincount([1, 2], axis=1)),
        ("negative", "non-negative", lambda tf: tf.sparse.bincount([1, -2])),
        (
            "weights and truths",
            "exclusive",
            lambda tf: tf.sparse.bincount([1], weights=[1.0], binary_output=True),
        ),
    ),
    "tf.sparse.segment_sum": (
        ("beyond", "range", lambda tf: tf.sparse.segment_sum(tf.ones([3]), [0, 5], [0, 0])),
        ("unordered", "increasing", lambda tf: tf.sparse.segment_sum(tf.ones([3]), [0, 1], [1, 0])),
    ),
    "tf.sets.union": (
        ("dtypes", "match", lambda tf: tf.sets.union(tf.constant([[1]]), tf.constant([["a"]]))),
        ("floats", "dtype", lambda tf: tf.sets.union(tf.ones([1, 2]), tf.ones([1, 2]))),
        ("rows", "shapes", lambda tf: tf.sets.union(tf.constant([[1]]), tf.constant([[1], [2]]))),
    ),
    "tf.nn.embedding_lookup_sparse": (
        (
            "a combiner",
            "combiner",
            lambda tf: tf.nn.embedding_lookup_sparse(tf.ones([2, 2]), _some(tf), None, "max"),
        ),
        (
            "dense ids",
            "SparseTensor",
            lambda tf: tf.nn.embedding_lookup_sparse(tf.ones([2, 2]), tf.constant([[1]]), None),
        ),
    ),
}
for _symbol, _cases in _MISTAKES.items():
    for _what, _words, _function in _cases:
        raises(_symbol, f"mistake: {_what}", _words, _function)


# ---- rows by their names -------------------------------------------------------------------------


@plain("tf.raw_ops", "sparse and beside dense, counts of rows, strings")
def _(tf):
    x, raw = _some(tf), tf.raw_ops
    none = tf.constant([], tf.int64)
    return [
        raw.SparseDenseCwiseAdd(
            sp_indices=x.indices, sp_values=x.values, sp_shape=x.dense_shape, dense=tf.ones([4])
        ),
        raw.RaggedBincount(splits=[0, 2, 2, 3], values=[1, 1, 4], size=3, weights=none),
        raw.RaggedCountSparseOutput(
            splits=[0, 2, 2, 3], values=[1, 1, 4], weights=none, binary_output=False
        ),
        raw.SparseCrossHashed(
            indices=[],
            values=[],
            shapes=[],
            dense_inputs=[tf.constant([[1]], tf.int64), tf.constant([["b"]])],
            num_buckets=100,
            strong_hash=False,
            salt=[1, 2],
        ),
        raw.DeserializeSparse(serialized_sparse=tf.io.serialize_sparse(x), dtype=tf.float32),
    ]


@plain("tf.raw_ops", "the gradients of sparse rows")
def _(tf):
    x, raw = _some(tf), tf.raw_ops
    g = tf.constant([1.0, 2.0, 3.0])
    return [
        raw.SparseAddGrad(
            backprop_val_grad=g,
            a_indices=[[0, 1], [2, 2]],
            b_indices=[[1, 0]],
            sum_indices=[[0, 1], [1, 0], [2, 2]],
        ),
        raw.SparseSliceGrad(
            backprop_val_grad=g[:2],
            input_indices=x.indices,
            input_start=[1, 0],
            output_indices=[[0, 0], [1, 3]],
        ),
        raw.SparseFillEmptyRowsGrad(reverse_index_map=tf.constant([0, 2], tf.int64), grad_values=g),
        *(
            function(
                grad=tf.reshape(tf.range(6.0), [3, 2]),
                indices=[0, 2, 1],
                segment_ids=[0, 0, 2],
                output_dim0=4,
            )
            for function in (
                raw.SparseSegmentSumGrad,
                raw.SparseSegmentMeanGrad,
                raw.SparseSegmentSqrtNGrad,
            )
        ),
    ]


for _turned in (False, True):

    @plain("tf.raw_ops", f"products of sparse matrices {_turned}", rtol=1e-5)
    def _(tf, turned=_turned):
        raw = tf.raw_ops
        found = []
        for x in (_some(tf), _deep(tf), _some(tf, "complex64")):
            a = raw.SparseTensorToCSRSparseMatrix(
                indices=x.indices, values=x.values, dense_shape=x.dense_shape
            )
            c = raw.SparseMatrixSparseMatMul(
                a=a, b=a, type=x.dtype, adjoint_a=turned, transpose_b=not turned
            )
            found.append(raw.CSRSparseMatrixToSparseTensor(sparse_matrix=c, type=x.dtype))
        return found
