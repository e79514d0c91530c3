"""Ragged tensors: making, parts, indexing, functions of them, graphs, gradients, pipelines."""

from corpus import plain, raises

RANK3 = [[[1, 2], [3]], [], [[4, 5, 6], [], [7]]]


def show(tf, x):
    """What there is to compare of a value, ragged or not."""
    if isinstance(x, (list, tuple)):
        return [show(tf, each) for each in x]
    if isinstance(x, tf.RaggedTensor):
        return [
            "ragged",
            x.dtype.name,
            str(x.shape),
            x.ragged_rank,
            x.flat_values,
            list(x.nested_row_splits),
            str(x.to_list()) if not x.dtype.is_floating else "",
        ]
    if isinstance(x, tf.sparse.SparseTensor):
        return ["sparse", x.indices, x.values, x.dense_shape]
    if isinstance(x, tf.Tensor):
        return ["dense", x.dtype.name, str(x.shape), x]
    return x


def in_function(tf, x):
    """What there is to compare of a result of a function: shapes are those of the run."""
    if isinstance(x, (list, tuple)):
        return [in_function(tf, each) for each in x]
    if isinstance(x, tf.RaggedTensor):
        return ["ragged", x.dtype.name, x.ragged_rank, x.flat_values, list(x.nested_row_splits)]
    return show(tf, x)


def both(of, what):
    """A case whose function runs eagerly, and inside tf.function with its inputs as constants."""

    def decorate(function):
        @plain(of, what)
        def _(tf):
            eager = show(tf, function(tf))
            return [eager, in_function(tf, tf.function(lambda: function(tf))())]

        return function

    return decorate


def values(of, cases):
    """Cases by their names."""
    for what, function in cases.items():
        both(of, what)(function)


def given(tf, x, dtype=None, **options):
    return tf.ragged.constant(x, dtype, **options)


# ---- making --------------------------------------------------------------------------------------

RT = "tf.RaggedTensor"

values(
    "tf.ragged.constant",
    {
        "integers": lambda tf: given(tf, [[1, 2], [], [3]]),
        "floats": lambda tf: given(tf, [[1.5, 2], [3]]),
        "strings": lambda tf: given(tf, [["a", "bc"], [], ["d"]]),
        "bools": lambda tf: given(tf, [[True], [False, True]]),
        "rank 3": lambda tf: given(tf, RANK3),
        "ragged rank 1 of rank 3": lambda tf: given(
            tf, [[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1
        ),
        "inner shape": lambda tf: given(tf, [[[1, 2]], [[3, 4], [5, 6]]], inner_shape=(2,)),
        "a scalar": lambda tf: given(tf, 3),
        "a vector": lambda tf: given(tf, [1, 2]),
        "nothing": lambda tf: given(tf, []),
        "empty rows": lambda tf: given(tf, [[], []]),
        "empty rows of a dtype": lambda tf: given(tf, [[], []], tf.int64),
        "deep empty rows": lambda tf: given(tf, [[[]], []]),
        "splits of int32": lambda tf: given(tf, [[1], [2, 3]], row_splits_dtype=tf.int32),
        "a dtype": lambda tf: given(tf, [[1], [2, 3]], tf.float64),
        "ragged rank beyond empty lists": lambda tf: given(tf, [[], []], ragged_rank=2),
        "even rows": lambda tf: given(tf, [[1, 2], [3, 4]]),
    },
)

for _what, _words, _function in (
    ("depths differ", "nesting depth", lambda tf: given(tf, [1, [2]])),
    ("depths differ behind", "nesting depth", lambda tf: given(tf, [[1], 2])),
    ("ragged rank too high", "ragged_rank", lambda tf: given(tf, [[1]], ragged_rank=3)),
    ("negative ragged rank", "nonnegative", lambda tf: given(tf, [[1]], ragged_rank=-1)),
    ("of a ragged tensor", "pylist", lambda tf: given(tf, given(tf, [[1]]))),
    (
        "inner shape too deep",
        "incompatible",
        lambda tf: given(tf, [[1]], ragged_rank=1, inner_shape=(2,)),
    ),
    ("mixed types", "", lambda tf: given(tf, [[1, "a"]])),
):
    raises("tf.ragged.constant", _what, _words, _function)

values(
    RT,
    {
        "from_row_splits": lambda tf: tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 2, 3]),
        "from_row_splits of int32": lambda tf: tf.RaggedTensor.from_row_splits(
            [1.0, 2], tf.constant([0, 1, 2])
        ),
        "from_row_lengths": lambda tf: tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 0, 1]),
        "from_value_rowids": lambda tf: tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2]),
        "from_value_rowids with nrows": lambda tf: tf.RaggedTensor.from_value_rowids(
            [1, 2, 3], [0, 0, 2], nrows=5
        ),
        "from_value_rowids of nothing": lambda tf: tf.RaggedTensor.from_value_rowids(
            tf.zeros([0]), tf.zeros([0], tf.int64)
        ),
        "from_row_starts": lambda tf: tf.RaggedTensor.from_row_starts([1, 2, 3], [0, 2, 2]),
        "from_row_limits": lambda tf: tf.RaggedTensor.from_row_limits([1, 2, 3], [2, 2, 3]),
        "from_uniform_row_length": lambda tf: tf.RaggedTensor.from_uniform_row_length(
            [1, 2, 3, 4], 2
        ),
        "from_uniform_row_length of ragged": lambda tf: tf.RaggedTensor.from_uniform_row_length(
            given(tf, [[1], [2, 3], [], [4]]), 2
        ),
        "from_uniform_row_length 0": lambda tf: tf.RaggedTensor.from_uniform_row_length(
            tf.zeros([0]), 0, nrows=3
        ),
        "from_nested_row_splits": lambda tf: tf.RaggedTensor.from_nested_row_splits(
            [1, 2, 3, 4], ([0, 2, 2, 3], [0, 1, 3, 4])
        ),
        "from_nested_row_lengths": lambda tf: tf.RaggedTensor.from_nested_row_lengths(
            [1, 2, 3, 4], ([2, 0, 1], [1, 2, 1])
        ),
        "from_nested_value_rowids": lambda tf: tf.RaggedTensor.from_nested_value_rowids(
            [1, 2, 3, 4], ([0, 0, 2], [0, 1, 1, 2]), [3, 3]
        ),
        "inner dimensions": lambda tf: tf.RaggedTensor.from_row_splits(
            tf.ones([3, 2, 4]), [0, 2, 3]
        ),
        "not validated": lambda tf: tf.RaggedTensor.from_row_splits(
            [1, 2, 3], [0, 2, 3], validate=False
        ),
        "from_tensor": lambda tf: tf.RaggedTensor.from_tensor([[1, 2, 3], [4, 5, 6]]),
        "from_tensor lengths": lambda tf: tf.RaggedTensor.from_tensor(
            [[1, 2, 3], [4, 5, 6]], lengths=[1, 3]
        ),
        "from_tensor lengths beyond": lambda tf: tf.RaggedTensor.from_tensor(
            [[1, 2, 3], [4, 5, 6]], lengths=[-1, 7]
        ),
        "from_tensor padding": lambda tf: tf.RaggedTensor.from_tensor(
            [[1, 0, 3, 0], [4, 0, 0, 0], [0, 0, 0, 0]], padding=0
        ),
        "from_tensor padding of vectors": lambda tf: tf.RaggedTensor.from_tensor(
            [[[1, 2], [0, 9], [0, 9]], [[0, 9], [0, 1], [0, 9]]], padding=[0, 9]
        ),
        "from_tensor ragged rank 2": lambda tf: tf.RaggedTensor.from_tensor(
            tf.reshape(tf.range(12), [2, 3, 2]), ragged_rank=2
        ),
        "from_tensor ragged rank 2 with padding": lambda tf: tf.RaggedTensor.from_tensor(
            [[[1, 0], [2, 3]], [[0, 0], [4, 0]]], padding=0, ragged_rank=2
        ),
        "from_tensor nested lengths": lambda tf: tf.RaggedTensor.from_tensor(
            tf.reshape(tf.range(8), [2, 2, 2]), lengths=([2, 1], [1, 2, 2])
        ),
        "from_tensor of no rows": lambda tf: tf.RaggedTensor.from_tensor(tf.zeros([0, 3])),
        "from_tensor splits of int32": lambda tf: tf.RaggedTensor.from_tensor(
            [[1, 2]], row_splits_dtype=tf.int32
        ),
        "from_sparse": lambda tf: tf.RaggedTensor.from_sparse(
            tf.sparse.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [4, 3])
        ),
    },
)

for _what, _words, _function in (
    ("splits end elsewhere", "", lambda tf: tf.RaggedTensor.from_row_splits([1, 2], [0, 3])),
    ("splits begin elsewhere", "", lambda tf: tf.RaggedTensor.from_row_splits([1, 2], [1, 2])),
    ("splits decrease", "", lambda tf: tf.RaggedTensor.from_row_splits([1, 2], [0, 2, 1, 2])),
    ("no splits", "empty", lambda tf: tf.RaggedTensor.from_row_splits([1, 2], [])),
    ("splits of floats", "", lambda tf: tf.RaggedTensor.from_row_splits([1, 2], [0.0, 2.0])),
    ("scalar values", "", lambda tf: tf.RaggedTensor.from_row_splits(1, [0, 1])),
    ("splits of rank 2", "", lambda tf: tf.RaggedTensor.from_row_splits([1], [[0, 1]])),
    ("negative lengths", "", lambda tf: tf.RaggedTensor.from_row_lengths([1, 2], [3, -1])),
    ("too few lengths", "", lambda tf: tf.RaggedTensor.from_row_lengths([1, 2], [1])),
    ("rowids decrease", "", lambda tf: tf.RaggedTensor.from_value_rowids([1, 2], [1, 0])),
    (
        "nrows too few",
        "nrows",
        lambda tf: tf.RaggedTensor.from_value_rowids([1, 2], [0, 3], nrows=2),
    ),
    (
        "negative nrows",
        "nrows",
        lambda tf: tf.RaggedTensor.from_value_rowids([1, 2], [0, 0], nrows=-2),
    ),
    ("uneven", "", lambda tf: tf.RaggedTensor.from_uniform_row_length([1, 2, 3], 2)),
    ("starts late", "", lambda tf: tf.RaggedTensor.from_row_starts([1, 2, 3], [1, 2])),
    ("limits too early", "", lambda tf: tf.RaggedTensor.from_row_limits([1, 2, 3], [1, 2])),
    ("private", "private", lambda tf: tf.RaggedTensor(1, 2)),
    ("validate", "bool", lambda tf: tf.RaggedTensor.from_row_splits([1], [0, 1], validate=1)),
    (
        "lengths and padding",
        "both",
        lambda tf: tf.RaggedTensor.from_tensor([[1]], lengths=[1], padding=0),
    ),
    ("from a vector", "", lambda tf: tf.RaggedTensor.from_tensor([1, 2])),
    (
        "from_tensor ragged rank 0",
        "greater",
        lambda tf: tf.RaggedTensor.from_tensor([[1, 2]], ragged_rank=0),
    ),
    (
        "gaps in a sparse matrix",
        "",
        lambda tf: tf.RaggedTensor.from_sparse(tf.sparse.SparseTensor([[0, 1]], [1], [1, 2])),
    ),
    (
        "sparse of rank 1",
        "",
        lambda tf: tf.RaggedTensor.from_sparse(tf.sparse.SparseTensor([[0]], [1], [1])),
    ),
    ("no tensor", "", lambda tf: tf.convert_to_tensor(given(tf, [[1], []]))),
    ("no truth", "", lambda tf: bool(given(tf, [[1], []]))),
    ("no hash", "", lambda tf: hash(given(tf, [[1], []]))),
    ("no length", "", lambda tf: len(given(tf, [[1], []]))),
):
    raises(RT, _what, _words, _function)


# ---- parts ---------------------------------------------------------------------------------------

values(
    RT,
    {
        "parts": lambda tf: [
            given(tf, RANK3).values,
            given(tf, RANK3).flat_values,
            list(given(tf, RANK3).nested_row_splits),
            given(tf, RANK3).row_lengths(),
            given(tf, RANK3).row_starts(),
            given(tf, RANK3).row_limits(),
            given(tf, RANK3).value_rowids(),
            list(given(tf, RANK3).nested_value_rowids()),
            list(given(tf, RANK3).nested_row_lengths()),
            given(tf, RANK3).nrows(),
            given(tf, RANK3).nrows(tf.int32),
        ],
        "row_lengths of axis 2": lambda tf: given(tf, RANK3).row_lengths(axis=2),
        "row_lengths of axis -1": lambda tf: given(tf, RANK3).row_lengths(axis=-1),
        "row_lengths of an inner axis": lambda tf: tf.RaggedTensor.from_row_splits(
            tf.ones([3, 2]), [0, 1, 3]
        ).row_lengths(axis=2),
        "bounding_shape": lambda tf: given(tf, RANK3).bounding_shape(),
        "bounding_shape of axes": lambda tf: [
            given(tf, RANK3).bounding_shape(axis=0),
            given(tf, RANK3).bounding_shape(axis=1),
            given(tf, RANK3).bounding_shape(axis=[2, 0]),
            given(tf, RANK3).bounding_shape(out_type=tf.int32),
        ],
        "bounding_shape of nothing": lambda tf: given(tf, [], ragged_rank=1).bounding_shape(),
        "uniform_row_length": lambda tf: (
            tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2).uniform_row_length
        ),
        "with_values": lambda tf: given(tf, [[1, 2], [3]]).with_values([4.0, 5, 6]),
        "with_flat_values": lambda tf: given(tf, RANK3).with_flat_values(tf.ones([7, 2])),
        "with_row_splits_dtype": lambda tf: given(tf, RANK3).with_row_splits_dtype(tf.int32),
        "merge_dims 0 1": lambda tf: given(tf, RANK3).merge_dims(0, 1),
        "merge_dims 1 2": lambda tf: given(tf, RANK3).merge_dims(1, 2),
        "merge_dims 0 2": lambda tf: given(tf, RANK3).merge_dims(0, 2),
        "merge_dims -2 -1": lambda tf: given(tf, RANK3).merge_dims(-2, -1),
        "merge_dims of inner dimensions": lambda tf: tf.RaggedTensor.from_row_splits(
            tf.reshape(tf.range(12), [3, 2, 2]), [0, 1, 3]
        ).merge_dims(1, 2),
        "merge_dims within values": lambda tf: tf.RaggedTensor.from_row_splits(
            tf.reshape(tf.range(12), [3, 2, 2]), [0, 1, 3]
        ).merge_dims(2, 3),
        "to_tensor": lambda tf: given(tf, [[1, 2], [], [3]]).to_tensor(),
        "to_tensor default": lambda tf: given(tf, [[1, 2], [], [3]]).to_tensor(-1),
        "to_tensor rank 3": lambda tf: given(tf, RANK3).to_tensor(),
        "to_tensor of floats": lambda tf: given(tf, [[1.5], [2, 3]]).to_tensor(9.0),
        "to_tensor of strings": lambda tf: given(tf, [["a"], ["b", "c"]]).to_tensor("x"),
        "to_tensor shape": lambda tf: given(tf, [[1, 2], [], [3]]).to_tensor(shape=[None, 4]),
        "to_tensor shape cuts": lambda tf: given(tf, [[1, 2], [], [3]]).to_tensor(shape=[2, 1]),
        "to_tensor shape of floats": lambda tf: given(tf, [[1.0, 2], [], [3]]).to_tensor(
            shape=[4, 1]
        ),
        "to_tensor shape rank 3": lambda tf: given(tf, RANK3).to_tensor(shape=[2, 3, 2]),
        "to_tensor of inner dimensions": lambda tf: tf.RaggedTensor.from_row_splits(
            tf.reshape(tf.range(6.0), [3, 2]), [0, 1, 3]
        ).to_tensor([7.0, 8]),
        "to_tensor of no rows": lambda tf: given(tf, [], ragged_rank=1).to_tensor(),
        "to_tensor of empty rows": lambda tf: given(tf, [[], []], tf.float32).to_tensor(),
        "to_sparse": lambda tf: given(tf, [[1, 2], [], [3]]).to_sparse(),
        "to_sparse rank 3": lambda tf: given(tf, RANK3).to_sparse(),
        "to_sparse of inner dimensions": lambda tf: tf.RaggedTensor.from_row_splits(
            [[1.0, 2], [3, 4], [5, 6]], [0, 1, 3]
        ).to_sparse(),
    },
)

raises(RT, "row_lengths axis", "", lambda tf: given(tf, [[1]]).row_lengths(axis=3))
raises(RT, "with_values of another size", "", lambda tf: given(tf, [[1, 2]]).with_values([1, 2, 3]))
raises(RT, "merge_dims order", "", lambda tf: given(tf, RANK3).merge_dims(2, 1))
raises(RT, "to_tensor rank", "", lambda tf: given(tf, [[1]]).to_tensor(shape=[1, 1, 1]))


@plain(RT, "texts")
def _(tf):
    made = [
        given(tf, [[1, 2], [], [3]]),
        given(tf, RANK3),
        given(tf, [["a", "b"], []]),
        given(tf, [[1.5], []]),
        given(tf, [[1, 2], [3, 4]]),
        given(tf, [[], []]),
        given(tf, [[True], [False, True]]),
    ]
    return [repr(x) for x in made] + [str(x) for x in made]


@plain(RT, "numpy and lists")
def _(tf):
    even = given(tf, [[1, 2], [3, 4]]).numpy()
    uneven = given(tf, [[1, 2], [3]]).numpy()
    return [
        even,
        str(uneven.dtype),
        list(uneven[0]),
        given(tf, RANK3).to_list(),
        str(given(tf, [["a"], []]).to_list()),
        [x for row in given(tf, [[1], [2, 3]]) for x in row],
    ]


@plain("tf.RaggedTensorSpec", "properties")
def _(tf):
    spec = tf.RaggedTensorSpec([2, None], tf.int32)
    deep = tf.RaggedTensorSpec([None, None, 3], tf.float32, 1, tf.int32)
    return [
        repr(spec),
        repr(deep),
        repr(tf.type_spec_from_value(given(tf, RANK3))),
        spec.ragged_rank,
        deep.ragged_rank,
        str(spec.shape),
        spec.dtype.name,
        deep.row_splits_dtype.name,
        spec == tf.RaggedTensorSpec([2, None], tf.int32),
        spec == deep,
        spec.is_compatible_with(given(tf, [[1], []])),
        spec.is_compatible_with(given(tf, [[1], [], []])),
        spec.value_type is tf.RaggedTensor,
        repr(tf.RaggedTensorSpec([None, None], tf.int32).most_specific_compatible_type(spec)),
        repr(tf.RaggedTensorSpec([2, 3], ragged_rank=0)),
        hash(spec) == hash(tf.RaggedTensorSpec([2, None], tf.int32)),
    ]


raises("tf.RaggedTensorSpec", "no rank", "rank", lambda tf: tf.RaggedTensorSpec())
raises(
    "tf.RaggedTensorSpec",
    "rank too high",
    "rank",
    lambda tf: tf.RaggedTensorSpec([None, None], ragged_rank=2),
)


# ---- indexing ------------------------------------------------------------------------------------

_INDEXED = {
    "row": lambda tf: given(tf, [[1, 2], [], [3]])[0],
    "last row": lambda tf: given(tf, [[1, 2], [], [3]])[-1],
    "row by a tensor": lambda tf: given(tf, [[1, 2], [], [3]])[tf.constant(2)],
    "element": lambda tf: given(tf, [[1, 2], [], [3]])[0, 1],
    "rows": lambda tf: given(tf, [[1, 2], [], [3]])[1:],
    "rows from the end": lambda tf: given(tf, [[1, 2], [], [3]])[-2:],
    "every other row": lambda tf: given(tf, [[1, 2], [], [3]])[::2],
    "rows in reverse": lambda tf: given(tf, [[1, 2], [], [3]])[::-1],
    "no rows": lambda tf: given(tf, [[1, 2], [], [3]])[2:1],
    "columns": lambda tf: given(tf, [[1, 2, 3], [], [4]])[:, 1:],
    "last column": lambda tf: given(tf, [[1, 2, 3], [], [4]])[:, -1:],
    "all but the last": lambda tf: given(tf, [[1, 2, 3], [], [4]])[:, :-1],
    "columns in reverse": lambda tf: given(tf, [[1, 2, 3], [], [4]])[:, ::-1],
    "every other column": lambda tf: given(tf, [[1, 2, 3], [], [4]])[:, ::2],
    "columns backwards in steps": lambda tf: given(tf, [[1, 2, 3, 4], [], [5]])[:, 2::-2],
    "rows and columns": lambda tf: given(tf, [[1, 2, 3], [], [4]])[1:, :1],
    "new first axis": lambda tf: given(tf, [[1, 2], [3]])[tf.newaxis],
    "new second axis": lambda tf: given(tf, [[1, 2], [3]])[:, tf.newaxis],
    "new last axis": lambda tf: given(tf, [[1, 2], [3]])[:, :, tf.newaxis],
    "ellipsis": lambda tf: given(tf, RANK3)[..., 1:],
    "ellipsis alone": lambda tf: given(tf, RANK3)[...],
    "rank 3 row": lambda tf: given(tf, RANK3)[2],
    "rank 3 row of a row": lambda tf: given(tf, RANK3)[2, 0],
    "rank 3 element": lambda tf: given(tf, RANK3)[2, 0, 1],
    "rank 3 columns": lambda tf: given(tf, RANK3)[:, 1:],
    "rank 3 inner columns": lambda tf: given(tf, RANK3)[:, :, :1],
    "rank 3 both": lambda tf: given(tf, RANK3)[::2, :1, 1:],
    "even columns": lambda tf: tf.RaggedTensor.from_uniform_row_length(
        given(tf, [[1], [2, 3], [], [4]]), 2
    )[:, 1:],
    "inner dimensions": lambda tf: tf.RaggedTensor.from_row_splits(
        tf.reshape(tf.range(6), [3, 2]), [0, 1, 3]
    )[:, :, 1],
    "bounds as tensors": lambda tf: given(tf, [[1, 2, 3], [], [4]])[
        tf.constant(0) : tf.constant(2), tf.constant(1) :
    ],
}
values(RT, {f"index {what}": function for what, function in _INDEXED.items()})


@plain(RT, "index even column")
def _(tf):
    return show(
        tf,
        tf.RaggedTensor.from_uniform_row_length(given(tf, [[1], [2, 3], [], [4]]), 2)[:, 1],
    )


for _what, _key in (
    ("beyond", 5),
    ("before", -5),
    ("column", (slice(None), 0)),
    ("beyond a row", (0, 5)),
    ("too many", (0, 0, 0)),
    ("text", "a"),
    ("float", 1.0),
    ("step 0", slice(None, None, 0)),
):
    raises(RT, f"index {_what}", "", lambda tf, key=_key: given(tf, [[1, 2], [], [3]])[key])


# ---- functions -----------------------------------------------------------------------------------


def x2(tf):
    return given(tf, [[1.0, -2.0], [], [3.5]])


values(
    "tf.ragged.range",
    {
        "limits": lambda tf: tf.ragged.range([3, 5, 2]),
        "starts and limits": lambda tf: tf.ragged.range([0, 5, 8], [3, 3, 12]),
        "deltas": lambda tf: tf.ragged.range([0, 5, 8], [3, 3, 12], [1, -1, 2]),
        "a scalar": lambda tf: tf.ragged.range(3),
        "floats": lambda tf: tf.ragged.range([0.0, 1.0], [1.0, 1.5], 0.25),
        "dtypes": lambda tf: tf.ragged.range([0, 1], [2.5, 3.0], dtype=tf.float64),
        "int32 splits": lambda tf: tf.ragged.range([2, 0], row_splits_dtype=tf.int32),
        "negative": lambda tf: tf.ragged.range([3, -2], [-3, -8], -2),
    },
)
raises("tf.ragged.range", "delta 0", "delta", lambda tf: tf.ragged.range([3], [5], 0))
raises("tf.ragged.range", "sizes", "", lambda tf: tf.ragged.range([3, 4], [5, 6, 7]))

values(
    "tf.ragged.stack",
    {
        "axis 0": lambda tf: tf.ragged.stack([given(tf, [[1, 2], []]), given(tf, [[3]])]),
        "axis 1": lambda tf: tf.ragged.stack([given(tf, [[1, 2], []]), given(tf, [[3], [4]])], 1),
        "axis 2": lambda tf: tf.ragged.stack([given(tf, [[1, 2], []]), given(tf, [[3, 4], []])], 2),
        "vectors": lambda tf: tf.ragged.stack([tf.constant([1, 2]), tf.constant([3])]),
        "matrices": lambda tf: tf.ragged.stack([tf.ones([1, 2]), tf.zeros([2, 3])]),
        "one": lambda tf: tf.ragged.stack([given(tf, [[1, 2], []])]),
    },
)
values(
    "tf.ragged.boolean_mask",
    {
        "ragged mask": lambda tf: tf.ragged.boolean_mask(
            given(tf, [[1, 2, 3], [4], [5, 6]]),
            given(tf, [[True, False, True], [False], [True, True]]),
        ),
        "rows": lambda tf: tf.ragged.boolean_mask(
            given(tf, [[1, 2, 3], [4], [5, 6]]), [True, False, True]
        ),
        "dense": lambda tf: tf.ragged.boolean_mask(
            [[1, 2, 3], [4, 5, 6]], [[True, False, True], [False, False, True]]
        ),
        "dense vector": lambda tf: tf.ragged.boolean_mask([1, 2, 3], [True, False, True]),
        "rank 3 by rank 2": lambda tf: tf.ragged.boolean_mask(
            given(tf, RANK3), given(tf, [[True, False], [], [False, True, True]])
        ),
        "rank 3": lambda tf: tf.ragged.boolean_mask(
            tf.reshape(tf.range(8), [2, 2, 2]),
            [[[True, False], [True, True]], [[False, False], [False, True]]],
        ),
    },
)
raises("tf.ragged.boolean_mask", "a scalar", "scalar", lambda tf: tf.ragged.boolean_mask([1], True))
values(
    "tf.ragged.map_flat_values",
    {
        "one": lambda tf: tf.ragged.map_flat_values(tf.abs, x2(tf)),
        "two": lambda tf: tf.ragged.map_flat_values(tf.add, x2(tf), x2(tf) * 2.0),
        "a number": lambda tf: tf.ragged.map_flat_values(tf.multiply, x2(tf), 3.0),
        "another shape": lambda tf: tf.ragged.map_flat_values(
            tf.one_hot, given(tf, RANK3), depth=3
        ),
    },
)
raises(
    "tf.ragged.map_flat_values",
    "rows differ",
    "",
    lambda tf: tf.ragged.map_flat_values(tf.add, given(tf, [[1], [2]]), given(tf, [[1, 2], []])),
)
values(
    "tf.ragged.row_splits_to_segment_ids",
    {
        "plainly": lambda tf: tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5, 6, 9]),
        "int32": lambda tf: tf.ragged.row_splits_to_segment_ids([0, 2, 2], out_type=tf.int32),
    },
)
values(
    "tf.ragged.segment_ids_to_row_splits",
    {
        "plainly": lambda tf: tf.ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2, 3, 4, 4, 4]),
        "with a number": lambda tf: tf.ragged.segment_ids_to_row_splits([0, 2], 5),
    },
)
values(
    "tf.ragged.stack_dynamic_partitions",
    {
        "plainly": lambda tf: tf.ragged.stack_dynamic_partitions(
            ["a", "b", "c", "d", "e"], [3, 0, 2, 2, 3], 5
        ),
        "ragged": lambda tf: tf.ragged.stack_dynamic_partitions(
            given(tf, [[1, 2], [3], [4, 5, 6]]), tf.constant([1, 0, 1], tf.int64), 2
        ),
    },
)

# Names of functions of one value.
for _name in (
    "abs math.ceil math.floor negative square math.tanh exp math.expm1 sigmoid nn.relu nn.relu6 "
    "nn.elu nn.selu nn.gelu nn.silu nn.leaky_relu math.softplus nn.softsign sin cos zeros_like "
    "ones_like math.is_nan math.sign round math.erf math.log_sigmoid identity stop_gradient "
    "math.rint math.is_finite"
).split():

    @both(f"tf.{_name}", "ragged")
    def _(tf, name=_name):
        function = tf
        for part in name.split("."):
            function = getattr(function, part)
        return function(x2(tf))


for _name in (
    "add subtract multiply maximum minimum divide math.squared_difference pow math.floordiv "
    "less equal not_equal greater_equal math.atan2 math.floormod"
).split():

    @both(f"tf.{_name}", "ragged")
    def _(tf, name=_name):
        function = tf
        for part in name.split("."):
            function = getattr(function, part)
        return [
            function(x2(tf), given(tf, [[2.0, 2.0], [], [3.5]])),
            function(x2(tf), 2.0),
            function(2.0, x2(tf)),
        ]


@both(RT, "operators")
def _(tf):
    x, y = given(tf, [[1, 2], [], [7]]), given(tf, [[3, 2], [], [5]])
    t, f = given(tf, [[True, False], []]), given(tf, [[True, True], []])
    return [
        x + y,
        x - 1,
        2 * x,
        x // 2,
        x % 3,
        x**2,
        -x,
        abs(-x),
        x / y,
        7 - x,
        x < y,
        x <= 2,
        x > y,
        x >= 2,
        x == y,
        x != y,
        t & f,
        t | f,
        t ^ f,
        ~t,
        tf.constant(3) + x,
        tf.constant(3) == x,
        2**x,
        10 // x,
        x2(tf) + 1,
    ]


@both(RT, "stretched")
def _(tf):
    x = given(tf, [[1, 2], [], [3]])
    deep = given(tf, RANK3)
    return [
        x + tf.constant([[10], [20], [30]]),
        x + tf.constant([[10]]),
        x + tf.constant([10]),
        tf.constant([[10], [20], [30]]) - x,
        given(tf, [[1], [2]])[:, :, tf.newaxis] * tf.constant([1, 10, 100]),
        deep + tf.reshape(tf.constant([10, 20, 30]), [3, 1, 1]),
        deep + tf.constant([[[100]]]),
        tf.RaggedTensor.from_row_splits([[1, 2], [3, 4]], [0, 2, 2]) + tf.constant([10, 20]),
        tf.expand_dims(given(tf, [[1, 2], [3]]), 2) + tf.constant([1, 2]),
    ]


raises(RT, "rows differ", "", lambda tf: given(tf, [[1], [2, 3]]) + given(tf, [[1, 2], [3]]))
raises(
    RT, "a dense one differs", "", lambda tf: given(tf, [[1], [2, 3]]) + tf.ones([2, 2], tf.int32)
)
raises(RT, "dtypes differ", "", lambda tf: given(tf, [[1]]) + given(tf, [[1.0]]))

# Reductions.
for _name in "sum mean max min prod".split():

    @both(f"tf.reduce_{_name}", "ragged")
    def _(tf, name=_name):
        function = getattr(tf, f"reduce_{name}")
        deep = given(tf, [[[1.0, 2.0], [3.0]], [[4.0], [5.0, 6.0, 7.0]]])
        flat = given(tf, [[3.0, 1.0, 4.0], [1.0, 5.0], [9.0]])
        return [
            function(flat),
            function(flat, axis=0),
            function(flat, axis=1),
            function(flat, axis=-1, keepdims=True),
            function(flat, axis=[0, 1]),
            function(deep, axis=0),
            function(deep, axis=1),
            function(deep, axis=2),
            function(deep, axis=[1, 2]),
            function(deep, axis=2, keepdims=True),
        ]


@both("tf.reduce_sum", "ragged integers with empty rows")
def _(tf):
    x = given(tf, [[1, 2], [], [3]])
    return [tf.reduce_sum(x, 1), tf.reduce_prod(x, 1), tf.reduce_max(x, 0), tf.reduce_sum(x)]


@both("tf.reduce_any", "ragged")
def _(tf):
    x = given(tf, [[True, False], [False], [True, True]])
    return [tf.reduce_any(x, 1), tf.reduce_all(x, 1), tf.reduce_any(x, 0), tf.reduce_all(x)]


@both("tf.math.reduce_variance", "ragged")
def _(tf):
    x = given(tf, [[3.0, 1.0, 4.0], [1.0, 5.0], [9.0]])
    return [tf.math.reduce_variance(x, 1), tf.math.reduce_std(x, 1), tf.math.reduce_std(x)]


values(
    "tf.concat",
    {
        "ragged axis 0": lambda tf: tf.concat([given(tf, [[1, 2], []]), given(tf, [[3]])], 0),
        "ragged axis 1": lambda tf: tf.concat([given(tf, [[1, 2], []]), given(tf, [[3], [4]])], 1),
        "ragged and dense": lambda tf: tf.concat([given(tf, [[1, 2], []]), [[3], [4]]], 1),
        "ragged rank 3": lambda tf: tf.concat([given(tf, RANK3), given(tf, RANK3)], 2),
        "ragged axis -1": lambda tf: tf.concat([given(tf, RANK3), given(tf, RANK3)], axis=-1),
    },
)
values(
    "tf.stack",
    {
        "ragged": lambda tf: tf.stack([given(tf, [[1, 2], []]), given(tf, [[3]])]),
        "ragged axis 1": lambda tf: tf.stack(
            [given(tf, [[1], [2, 3]]), given(tf, [[3], []])], axis=1
        ),
    },
)
values(
    "tf.expand_dims",
    {
        f"ragged {axis}": lambda tf, axis=axis: tf.expand_dims(given(tf, RANK3), axis)
        for axis in (0, 1, 2, 3, -1)
    },
)
values(
    "tf.squeeze",
    {
        "ragged": lambda tf: tf.squeeze(given(tf, [[[1], [2]], [], [[3]]]), axis=2),
        "ragged first": lambda tf: tf.squeeze(given(tf, [[[1, 2], [3]]]), axis=0),
        "ragged inner": lambda tf: tf.squeeze(
            tf.RaggedTensor.from_row_splits(tf.ones([3, 1, 2]), [0, 1, 3]), axis=2
        ),
    },
)
values(
    "tf.gather",
    {
        "ragged params": lambda tf: tf.gather(given(tf, [[1, 2], [], [3]]), [2, 0, 2]),
        "ragged indices": lambda tf: tf.gather([10, 20, 30], given(tf, [[2], [0, 1], []])),
        "both ragged": lambda tf: tf.gather(given(tf, [[1, 2], [], [3]]), given(tf, [[2, 0], [1]])),
        "one row": lambda tf: tf.gather(given(tf, [[1, 2], [], [3]]), 0),
        "rank 3": lambda tf: tf.gather(given(tf, RANK3), [2, 0]),
        "batches": lambda tf: tf.gather(
            given(tf, [[1, 2, 3], [4], [5, 6]]),
            given(tf, [[2, 0], [], [1]], tf.int64),
            batch_dims=1,
        ),
        "indices of rank 2": lambda tf: tf.gather(given(tf, [[1, 2], [], [3]]), [[2, 0], [1, 0]]),
    },
)
raises("tf.gather", "ragged beyond", "", lambda tf: tf.gather(given(tf, [[1, 2], [], [3]]), [3]))
values(
    "tf.gather_nd",
    {
        "ragged elements": lambda tf: tf.gather_nd(given(tf, RANK3), [[0, 1, 0], [2, 0, 2]]),
        "ragged rows": lambda tf: tf.gather_nd(given(tf, RANK3), [[0, 1], [2, 0]]),
        "ragged outer rows": lambda tf: tf.gather_nd(given(tf, RANK3), [[2], [0]]),
    },
)
values(
    "tf.tile",
    {
        "ragged": lambda tf: tf.tile(given(tf, [[1, 2], [3]]), [3, 2]),
        "ragged rank 3": lambda tf: tf.tile(given(tf, RANK3), [1, 2, 2]),
        "ragged none": lambda tf: tf.tile(given(tf, [[1, 2], [3]]), [0, 2]),
    },
)
values(
    "tf.where",
    {
        "ragged places": lambda tf: tf.where(given(tf, [[True, False], [True]])),
        "ragged": lambda tf: tf.where(
            given(tf, [[True, False], [True]]), given(tf, [[1, 2], [3]]), given(tf, [[4, 5], [6]])
        ),
        "ragged and a number": lambda tf: tf.where(
            given(tf, [[True, False], [True]]), given(tf, [[1, 2], [3]]), 0
        ),
    },
)
values(
    "tf.reverse",
    {
        "ragged": lambda tf: tf.reverse(given(tf, RANK3), axis=[0, 2]),
        "ragged 1": lambda tf: tf.reverse(given(tf, RANK3), axis=[1]),
    },
)
values("tf.cast", {"ragged": lambda tf: tf.cast(x2(tf), tf.int32)})
values("tf.one_hot", {"ragged": lambda tf: tf.one_hot(given(tf, [[0, 2], [1]]), 3)})
values("tf.size", {"ragged": lambda tf: tf.size(given(tf, RANK3))})
values("tf.rank", {"ragged": lambda tf: tf.rank(given(tf, RANK3))})
values("tf.clip_by_value", {"ragged": lambda tf: tf.clip_by_value(x2(tf), -1.0, 2.0)})
values(
    "tf.math.add_n",
    {
        "ragged": lambda tf: tf.math.add_n([x2(tf), x2(tf), x2(tf)]),
    },
)
values(
    "tf.math.unsorted_segment_sum",
    {
        "ragged": lambda tf: tf.math.unsorted_segment_sum(
            given(tf, [[1, 2], [3], [4, 5, 6]]), [1, 0, 1], 3
        ),
    },
)
values("tf.nn.softmax", {"ragged": lambda tf: tf.nn.softmax(given(tf, [[1.0, 2.0], [3.0]]))})
values(
    "tf.nn.embedding_lookup",
    {
        "ragged": lambda tf: tf.nn.embedding_lookup(
            tf.reshape(tf.range(8.0), [4, 2]), given(tf, [[0, 3], [], [1]])
        ),
    },
)
values("tf.split", {"ragged": lambda tf: tf.split(given(tf, [[1], [2, 3], [], [4]]), 2)})
values(
    "tf.math.bincount",
    {
        "ragged": lambda tf: tf.math.bincount(given(tf, [[1, 1, 2], [0], []]), axis=-1),
        "ragged all": lambda tf: tf.math.bincount(given(tf, [[1, 1, 2], [0], []])),
    },
)
values(
    "tf.strings.length", {"ragged": lambda tf: tf.strings.length(given(tf, [["ab"], ["", "c"]]))}
)
values("tf.strings.upper", {"ragged": lambda tf: tf.strings.upper(given(tf, [["ab"], ["", "c"]]))})
values(
    "tf.strings.split",
    {
        "ragged": lambda tf: tf.strings.split(given(tf, [["a b", "c"], ["d e f"]])),
        "matrix": lambda tf: tf.strings.split(tf.constant([["a b", "c"], ["d", "e f g"]])),
    },
)
values(
    "tf.strings.join",
    {
        "ragged": lambda tf: tf.strings.join([given(tf, [["a"], ["b", "c"]]), "x"], "-"),
    },
)
values(
    "tf.strings.reduce_join",
    {
        "ragged": lambda tf: tf.strings.reduce_join(
            given(tf, [["a", "b"], [], ["c"]]), axis=1, separator=","
        ),
    },
)
values(
    "tf.strings.regex_replace",
    {
        "ragged": lambda tf: tf.strings.regex_replace(given(tf, [["ab"], ["b", "c"]]), "b", "x"),
    },
)
values(
    "tf.strings.to_number",
    {
        "ragged": lambda tf: tf.strings.to_number(given(tf, [["1"], ["2", "3"]])),
    },
)
values(
    "tf.strings.unicode_decode",
    {
        "ragged": lambda tf: tf.strings.unicode_decode(given(tf, [["ab"], ["c", ""]]), "UTF-8"),
    },
)
values(
    "tf.strings.unicode_encode",
    {
        "ragged": lambda tf: tf.strings.unicode_encode(given(tf, [[97, 98], [], [99]]), "UTF-8"),
    },
)
values(
    "tf.strings.format",
    {
        "ragged": lambda tf: tf.strings.format("{} and {}", [given(tf, [[1, 2], []]), 3]),
    },
)


# ---- graphs, gradients ---------------------------------------------------------------------------


@plain(RT, "functions with signatures")
def _(tf):
    spec = tf.RaggedTensorSpec([None, None], tf.float32)
    traces = []

    @tf.function(input_signature=[spec])
    def total(x):
        traces.append(1)
        return tf.reduce_sum(x, axis=1), x * 2.0

    first = total(x2(tf))
    second = total(given(tf, [[1.0, 2.0, 3.0], [4.0]]))
    return [in_function(tf, first), in_function(tf, second), len(traces)]


@plain(RT, "captures")
def _(tf):
    x = x2(tf)

    @tf.function
    def scaled(factor):
        return x * factor

    return in_function(tf, scaled(tf.constant(2.0)))


@plain(RT, "cond")
def _(tf):
    @tf.function
    def chosen(which, x):
        return tf.cond(which, lambda: x + 1.0, lambda: x * 10.0)

    return [
        in_function(tf, chosen(tf.constant(True), x2(tf))),
        in_function(tf, chosen(tf.constant(False), x2(tf))),
    ]


@plain(RT, "while_loop")
def _(tf):
    @tf.function
    def grown(x):
        def body(i, x):
            return i + 1, tf.concat([x, x[:, :1]], axis=1)

        return tf.while_loop(
            lambda i, x: i < 2,
            body,
            [0, x],
            shape_invariants=[tf.TensorShape([]), tf.RaggedTensorSpec([None, None], tf.float32)],
        )[1]

    return in_function(tf, grown(x2(tf)))


@plain(RT, "gradients")
def _(tf):
    x = x2(tf)
    flat = tf.constant([1.0, -2.0, 3.5])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(flat)
        x = tf.RaggedTensor.from_row_splits(flat, [0, 2, 2, 3])
        dense = tf.reduce_sum(x.to_tensor(5.0) ** 2)
        rows = tf.reduce_sum(tf.gather(x, [2, 0, 0]) ** 3)
        means = tf.reduce_sum(tf.reduce_max(x, axis=1)[:1] ** 2)
        joined = tf.reduce_sum(tf.concat([x, 2.0 * x], 1) ** 2)
        sliced = tf.reduce_sum(x[:, :1] ** 2)
        soft = tf.reduce_sum(tf.nn.softmax(x) ** 2)
    losses = (dense, rows, means, joined, sliced, soft)
    return [tf.convert_to_tensor(tape.gradient(loss, flat)) for loss in losses]


@plain(RT, "gradients of ragged sources")
def _(tf):
    x = x2(tf)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * x)
    return in_function(tf, tape.gradient(y, x))


@plain(RT, "gradient of an embedding")
def _(tf):
    table = tf.Variable(tf.reshape(tf.range(8.0), [4, 2]))
    ids = given(tf, [[0, 3], [], [1, 0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.reduce_mean(tf.nn.embedding_lookup(table, ids)[:1], axis=1) ** 2)
    return tf.convert_to_tensor(tape.gradient(y, table))


@plain(RT, "nests")
def _(tf):
    x = x2(tf)
    return [
        len(tf.nest.flatten(x)),
        [p for p in tf.nest.flatten(x, expand_composites=True)],
        tf.is_tensor(x),
        in_function(tf, tf.nest.map_structure(lambda p: p, x, expand_composites=True)),
    ]


# ---- RowPartition, DynamicRaggedShape -----------------------------------------------------------


@plain("tf.experimental.RowPartition", "parts")
def _(tf):
    RowPartition = tf.experimental.RowPartition
    made = [
        RowPartition.from_row_lengths([2, 0, 1]),
        RowPartition.from_row_splits([0, 2, 2, 3]),
        RowPartition.from_value_rowids([0, 0, 2], nrows=4),
        RowPartition.from_uniform_row_length(2, nvals=6),
        RowPartition.from_row_starts([0, 2], nvals=3),
        RowPartition.from_row_limits([2, 2, 3]),
    ]
    return [
        [
            p.row_splits(),
            p.row_lengths(),
            p.value_rowids(),
            p.offsets_in_rows(),
            p.nrows(),
            p.nvals(),
            p.is_uniform(),
            p.static_nrows,
            None if p.static_uniform_row_length is None else int(p.static_uniform_row_length),
            repr(p),
        ]
        for p in made
    ]


@plain("tf.experimental.DynamicRaggedShape", "parts")
def _(tf):
    Shape = tf.experimental.DynamicRaggedShape
    made = [
        Shape.from_lengths([2, (1, 3)]),
        Shape.from_lengths([2, (1, 3), 4]),
        Shape.from_lengths([2, 3, (1, 0, 2, 1, 1, 1)]),
        Shape.from_tensor(given(tf, RANK3)),
        Shape.from_tensor(tf.ones([2, 3])),
        tf.shape(given(tf, RANK3)),
    ]
    return [
        [
            repr(s),
            s.rank,
            s.inner_rank,
            s.inner_shape,
            s.num_row_partitions,
            [s.is_uniform(k) for k in range(s.rank)],
            s[0],
        ]
        for s in made
    ]


@plain("tf.broadcast_to", "ragged")
def _(tf):
    Shape = tf.experimental.DynamicRaggedShape
    return [
        in_function(tf, tf.broadcast_to(tf.constant(3), Shape.from_lengths([2, (1, 3)]))),
        in_function(tf, tf.broadcast_to(tf.constant([[1], [2]]), Shape.from_lengths([2, (1, 3)]))),
        in_function(tf, tf.reshape(tf.constant([1, 2, 3, 4]), Shape.from_lengths([2, (1, 3)]))),
    ]


# ---- pipelines -----------------------------------------------------------------------------------


def listed(tf, dataset):
    return [in_function(tf, each) for each in dataset]


@plain("tf.data.Dataset", "slices of ragged tensors")
def _(tf):
    dataset = tf.data.Dataset.from_tensor_slices(given(tf, RANK3))
    return [repr(dataset.element_spec), listed(tf, dataset)]


@plain("tf.data.Dataset", "slices of ragged rows")
def _(tf):
    dataset = tf.data.Dataset.from_tensor_slices((given(tf, [[1, 2], [], [3]]), [1, 2, 3]))
    return [repr(dataset.element_spec), [in_function(tf, list(each)) for each in dataset]]


@plain("tf.data.Dataset", "batches of ragged tensors")
def _(tf):
    dataset = tf.data.Dataset.from_tensor_slices(given(tf, RANK3)).batch(2)
    again = dataset.unbatch()
    return [repr(dataset.element_spec), listed(tf, dataset), listed(tf, again)]


@plain("tf.data.Dataset", "map to ragged tensors")
def _(tf):
    dataset = tf.data.Dataset.range(1, 4).map(lambda n: tf.ragged.range(tf.range(n)))
    return [repr(dataset.element_spec), listed(tf, dataset)]


@plain("tf.data.Dataset", "ragged_batch")
def _(tf):
    dataset = tf.data.Dataset.range(1, 6).map(tf.range).ragged_batch(2)
    return [repr(dataset.element_spec), listed(tf, dataset)]


@plain("tf.data.Dataset", "from ragged tensors")
def _(tf):
    dataset = tf.data.Dataset.from_tensors(given(tf, RANK3))
    return [repr(dataset.element_spec), listed(tf, dataset)]


@plain(RT, "as variants")
def _(tf):
    x = given(tf, RANK3)
    rows, whole = x._to_variant(batched_input=True), x._to_variant()
    from_variant = tf.RaggedTensor._from_variant
    return [
        str(rows.shape),
        str(whole.shape),
        in_function(tf, from_variant(rows, tf.int32, output_ragged_rank=2)),
        in_function(tf, from_variant(whole, tf.int32, output_ragged_rank=2)),
    ]


values(
    "tf.map_fn",
    {
        "of ragged rows": lambda tf: tf.map_fn(
            tf.reduce_sum, given(tf, [[1, 2], [], [3]]), fn_output_signature=tf.int32
        ),
    },
)
values(
    "tf.concat",
    {
        "ragged without rows": lambda tf: tf.concat(
            [given(tf, [[1]]), given(tf, [], tf.int32, ragged_rank=1), given(tf, [[2], [3, 4]])], 0
        ),
    },
)


@plain("tf.map_fn", "to ragged rows")
def _(tf):
    row, rows = tf.RaggedTensorSpec([None], tf.int32), tf.RaggedTensorSpec([None, None], tf.int32)
    return [
        in_function(tf, tf.map_fn(tf.range, tf.constant([1, 3, 0]), fn_output_signature=row)),
        in_function(tf, tf.map_fn(lambda r: r + 1, given(tf, RANK3), fn_output_signature=rows)),
    ]
