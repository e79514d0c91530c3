"""Arrays, linear algebra, sparse and ragged results: values in four modes, static shapes, refusals.

The values are TensorFlow's. Each case runs eagerly, and in functions whose arguments have known
shapes, unknown sizes and unknown rank.
"""

import numpy as np
import pytest

tf = pytest.importorskip("mica.tf")

ROW = np.arange(6, dtype=np.float32)
GRID = np.arange(12, dtype=np.float32).reshape(1, 3, 4)
LU = np.array([[4.0, 2.0], [0.5, 3.0]], np.float32)
BANDS = np.array([[2.0, 4.0, 5.0], [9.0, 1.0, 2.0]], np.float32)
THREE = np.array([[1.0, 2.0, 7.0], [4.0, 5.0, 6.0], [8.0, 3.0, 2.0]], np.float32)
WORDS = np.array([["a b", "c"], ["", "d e f"]], object)


def ragged(tf, x):
    return [x.flat_values, *x.nested_row_splits]


VALUES = {
    "space_to_batch": (
        lambda tf, x: tf.space_to_batch(x, [2, 2], [[1, 0], [0, 0]]),
        [GRID],
        [[[0, 0], [4, 6]], [[0, 0], [5, 7]], [[0, 2], [8, 10]], [[1, 3], [9, 11]]],
    ),
    "batch_to_space with int64 crops": (
        lambda tf, x, crops: tf.batch_to_space(x, [2], crops),
        [np.float32([[1, 2], [3, 4]]), np.int64([[1, 0]])],
        [[3, 2, 4]],
    ),
    "reverse_sequence": (
        lambda tf, x, n: tf.reverse_sequence(x, n, seq_axis=0, batch_axis=1),
        [np.float32([[1, 2], [3, 4], [5, 6]]), np.int32([3, 2])],
        [[5, 4], [3, 2], [1, 6]],
    ),
    "unravel_index": (
        lambda tf, i, dims: tf.unravel_index(i, dims),
        [np.int32([22, 41, 37]), np.int32([7, 6])],
        [[3, 6, 6], [4, 5, 1]],
    ),
    "dynamic_stitch": (
        lambda tf, a, b: tf.dynamic_stitch([[2, 0], 1], [a, b]),
        [np.float32([[1, 2], [3, 4]]), np.float32([5, 6])],
        [[3, 4], [5, 6], [1, 2]],
    ),
    "dynamic_stitch of strings": (
        lambda tf, a: tf.dynamic_stitch([[2, 0]], [a]),
        [np.array(["a", "b"], object)],
        [b"b", b"", b"a"],
    ),
    "dynamic_partition": (
        lambda tf, x, i: tf.dynamic_partition(x, i, 2)[1],
        [ROW, np.int32([0, 1, 1, 0, 1, 0])],
        [1, 2, 4],
    ),
    "histogram of integers": (
        lambda tf, x: tf.histogram_fixed_width(x, tf.constant([0, 5]), 5),
        [np.int32([-1, 0, 2, 7, 4])],
        [2, 0, 1, 0, 2],
    ),
    "searchsorted of what is not a number": (
        lambda tf, x: tf.searchsorted(tf.constant([1.0, 2.0, 3.0]), x, side="right"),
        [np.float32([2.0, np.nan])],
        [2, 3],
    ),
    "scatter_nd of booleans": (
        lambda tf, i, x: tf.scatter_nd(i, x, [3]),
        [np.int32([[0], [2], [0]]), np.array([True, False, True])],
        [True, False, False],
    ),
    "tensor_scatter_nd_min of what is not a number": (
        lambda tf, x, u: tf.tensor_scatter_nd_min(x, [[0], [1]], u),
        [np.float32([1, 2, 3]), np.float32([np.nan, 1])],
        [1, 1, 3],
    ),
    "tensor_diag": (lambda tf, x: tf.linalg.tensor_diag(x), [np.float32([1, 2])], [[1, 0], [0, 2]]),
    "tensor_diag_part": (
        lambda tf, x: tf.linalg.tensor_diag_part(x),
        [np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2)],
        [[0, 5], [10, 15]],
    ),
    "lu_solve": (
        lambda tf, x, p, y: tf.linalg.lu_solve(x, p, y),
        [LU, np.int32([1, 0]), np.float32([[2], [8]])],
        [[7 / 3], [-2 / 3]],
    ),
    "lu_reconstruct": (
        lambda tf, x, p: tf.linalg.lu_reconstruct(x, p),
        [LU, np.int32([1, 0])],
        [[2, 4], [4, 2]],
    ),
    "banded_triangular_solve": (
        lambda tf, b, y: tf.linalg.banded_triangular_solve(b, y),
        [BANDS, np.float32([[2], [5], [12]])],
        [[1], [1], [2]],
    ),
    "tridiagonal_matmul beside infinity": (
        lambda tf, d, y: tf.linalg.tridiagonal_matmul(d, y),
        [THREE, np.float32([[1], [1], [np.inf]])],
        [[5], [np.inf], [np.inf]],
    ),
    "tridiagonal_solve of one row": (
        lambda tf, d: tf.linalg.tridiagonal_solve(d, tf.constant([[6.0]])),
        [np.float32([[5], [2], [7]])],
        [[3]],
    ),
    "ngrams": (
        lambda tf, x: tf.strings.ngrams(x, 2, pad_values=("<", ">")),
        [np.array(["a", "b"], object)],
        [b"< a", b"a b", b"b >"],
    ),
    "ngrams of short rows": (
        lambda tf, x: tf.strings.ngrams(x, 3, preserve_short_sequences=True),
        [np.array([["a", "b"]], object)],
        [[b"a b"]],
    ),
    "a group that there is not": (
        lambda tf, x: tf.strings.regex_replace(x, "a", r"\1"),
        [np.array(["abc"], object)],
        [b"abc"],
    ),
    "a sign's place": (
        lambda tf, x: tf.strings.as_string(x, fill=" ", precision=1),
        [np.float32([1, -1])],
        [b" 1.0", b"-1.0"],
    ),
    "digits": (
        lambda tf, x: tf.strings.format("{}", [x]),
        [np.float64([6430, 0.1 + 0.2, -1e300])],
        b"[6430 0.30000000000000004 -1e+300]",
    ),
    "shapes behind a check": (
        lambda tf, x: checked_reshape(tf, x),
        [np.zeros([1, 3, 3], np.float32)],
        [[[0.0] * 3]] * 3,
    ),
}
NEED_RANK = {"ngrams", "ngrams of short rows"}


def checked_reshape(tf, x):
    """A shape that is made of sizes in front of and behind a check."""
    sizes = tf.shape(x)
    tf.debugging.Assert(sizes[1] % 3 == 0, ["sizes"])
    inner = tf.reduce_prod(sizes[2:])
    y = tf.reshape(x, tf.concat([sizes[:1], tf.stack([sizes[1] // 3, 3]), [inner]], 0))
    last = tf.concat([tf.stack([sizes[0] * 3, sizes[1] // 3]), sizes[2:]], 0)
    return tf.reshape(tf.transpose(y, [2, 0, 1, 3]), last)


def signature(x, mode):
    if mode == "rank":
        return tf.TensorSpec(None, x.dtype)
    return tf.TensorSpec([None] * x.shape.rank if mode == "dims" else x.shape, x.dtype)


@pytest.mark.parametrize("mode", ["eager", "known", "dims", "rank"])
@pytest.mark.parametrize("name", VALUES)
def test_values(name, mode):
    function, inputs, expected = VALUES[name]
    if mode == "rank" and name in NEED_RANK:
        with pytest.raises(ValueError, match="rank"):
            traced(function, inputs, mode)
        return
    found = np.asarray(traced(function, inputs, mode))
    if found.dtype == object or found.dtype.kind == "S":
        assert found.tolist() == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def traced(function, inputs, mode):
    tensors = [tf.constant(x) for x in inputs]
    if mode == "eager":
        return function(tf, *tensors).numpy()
    signatures = [signature(x, mode) for x in tensors]
    return tf.function(lambda *x: function(tf, *x), signatures, autograph=False)(*tensors).numpy()


STATIC = {
    "space_to_batch": (lambda x: tf.space_to_batch(x, [3], [[1, 2]]), (2, 6), (6, 3)),
    "space_to_batch of sizes": (
        lambda x: tf.space_to_batch(x, [3], [[1, 2]]),
        (2, None, 5),
        (6, None, 5),
    ),
    "batch_to_space": (lambda x: tf.batch_to_space(x, [2], [[0, 1]]), (4, 3, 1), (2, 5, 1)),
    "extract_volume_patches": (
        lambda x: tf.extract_volume_patches(x, [1, 2, 2, 1, 1], [1, 1, 2, 1, 1], "SAME"),
        (1, 3, 3, 3, 1),
        (1, 3, 2, 3, 4),
    ),
    "pad": (lambda x: tf.pad(x, [[1, 0], [0, 2]]), None, (None, None)),
    "tile by nothing": (lambda x: tf.tile(x, [2, 0]), (None, None), (None, 0)),
    "tile": (lambda x: tf.tile(x, [2, 1]), None, (None, None)),
    "broadcast_to": (
        lambda x: tf.broadcast_to(x, tf.cast(tf.random.uniform([3]) + 3, tf.int32)),
        (4, 1),
        (None, 4, None),
    ),
    "strided_slice": (lambda x: tf.strided_slice(x, [-1, -2], [0, 4]), (3, 3), (0, 2)),
    "einsum": (lambda x: tf.einsum("ij,kj->ik", x, x), None, (None, None)),
    "reduce_join": (lambda x: tf.strings.reduce_join(tf.strings.as_string(x)), (None, 3), ()),
    "tensor_diag_part": (lambda x: tf.linalg.tensor_diag_part(x), (3, None), (3,)),
    "unicode_encode": (
        lambda x: tf.strings.unicode_encode(tf.cast(x, tf.int32), "UTF-8"),
        (4, 5),
        (4,),
    ),
    "decode_raw": (
        lambda x: tf.io.decode_raw(tf.strings.as_string(x), tf.int16, fixed_length=6),
        (None,),
        (None, 3),
    ),
}


@pytest.mark.parametrize("name", STATIC)
def test_static_shapes(name):
    function, given, expected = STATIC[name]
    spec = tf.TensorSpec(given, tf.float32)
    traced = tf.function(function, [spec], autograph=False).get_concrete_function()
    shape = traced.structured_outputs.shape
    assert shape.rank is not None and tuple(shape.as_list()) == expected


# What an op refuses: eagerly and, of unknown sizes, when it runs.
REFUSED = {
    "a vector of places": lambda: tf.scatter_nd(
        tf.constant([0, 2]), tf.constant([1.0, 2.0]), tf.constant([4])
    ),
    "updates without a place": lambda: tf.tensor_scatter_nd_add(
        tf.zeros([4]), tf.constant([1]), tf.constant(5.0)
    ),
    "a band beyond the matrix": lambda: tf.linalg.band_part(tf.zeros([2, 2]), 3, 0),
    "places beyond the sizes": lambda: tf.unravel_index(tf.constant([9]), tf.constant([2, 3])),
    "a scalar without a place": lambda: tf.where(tf.constant(True)),
    "sequences beyond the end": lambda: tf.reverse_sequence(
        tf.zeros([2, 2]), tf.constant([3, 1]), 1, 0
    ),
    "sizes that blocks do not divide": lambda: tf.space_to_batch(tf.zeros([1, 5]), [2], [[0, 0]]),
    "a diagonal of a scalar": lambda: tf.linalg.tensor_diag(tf.constant(1.0)),
    "an odd rank": lambda: tf.linalg.tensor_diag_part(tf.zeros([2, 2, 2])),
    "diagonals beyond the matrix": lambda: tf.linalg.diag_part(tf.zeros([2, 2]), k=2),
    "diagonals of another length": lambda: tf.linalg.set_diag(tf.zeros([2, 2]), tf.zeros([3])),
    "vectors and a row of them": lambda: tf.linalg.cross(tf.zeros([3]), tf.zeros([2, 3])),
    "right sides of another rank": lambda: tf.linalg.solve(tf.zeros([2, 2, 2]), tf.zeros([2, 1])),
    "no buckets": lambda: tf.strings.to_hash_bucket_fast(["a"], 0),
    "numbers as strings": lambda: tf.strings.upper(tf.constant(1)),
    "sparse and dense of other shapes": lambda: tf.sparse.add(
        tf.sparse.from_dense([[1.0]]), tf.zeros([2, 1])
    ),
    "more crops than there is": lambda: tf.batch_to_space(tf.zeros([4, 3]), [2], [[2, 5]]),
    "numbers of no part": lambda: tf.dynamic_partition([1.0, 2.0], [0, 2], 2),
    "no tensors": lambda: tf.identity_n([]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    with pytest.raises(tf.errors.InvalidArgumentError):
        REFUSED[name]()
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError, TypeError)):
        tf.function(REFUSED[name], autograph=False)()


TYPE_ERRORS = {
    "a flag that is no bool": lambda: tf.linalg.solve(tf.eye(2), tf.eye(2), adjoint=1),
    "an axis with a fraction": lambda: tf.expand_dims(tf.zeros([2]), 0.5),
    "an encoding that is none": lambda: tf.strings.unicode_encode([65], None),
    "values of two dtypes": lambda: tf.one_hot([1], 2, on_value=1.0, off_value=0),
    "a rank of integers": lambda: tf.linalg.matrix_rank(tf.ones([2, 2], tf.int32)),
}


@pytest.mark.parametrize("name", TYPE_ERRORS)
def test_wrong_types_are_type_errors(name):
    with pytest.raises(TypeError):
        TYPE_ERRORS[name]()


def test_parallel_stack_is_for_graphs_of_known_shapes():
    with pytest.raises(RuntimeError, match="eager"):
        tf.parallel_stack([tf.zeros([2])])
    stacked = tf.function(lambda x: tf.parallel_stack([x, x]), autograph=False)
    assert stacked(tf.constant([1.0, 2.0])).numpy().tolist() == [[1, 2], [1, 2]]
    with pytest.raises(ValueError):
        tf.function(
            lambda x: tf.parallel_stack([x]), [tf.TensorSpec([None])], autograph=False
        ).get_concrete_function()


@pytest.mark.parametrize("traced", [False, True])
def test_strings_of_rank_2_are_split_into_nested_rows(traced):
    def split(x):
        return tf.strings.split(x)

    found = (tf.function(split, autograph=False) if traced else split)(tf.constant(WORDS))
    assert found.to_list() == [[[b"a", b"b"], [b"c"]], [[], [b"d", b"e", b"f"]]]
    assert found.ragged_rank == 2 and found.shape.as_list() == [2, 2, None]
    assert [s.numpy().tolist() for s in found.nested_row_splits] == [[0, 2, 4], [0, 2, 3, 3, 6]]
    assert found[1].to_list() == [[], [b"d", b"e", b"f"]]
    assert found[1:].to_list() == [[[], [b"d", b"e", b"f"]]]
    assert found.row_lengths(2).to_list() == [[2, 1], [0, 3]]
    dense = found.to_tensor("-").numpy().tolist()
    assert dense == [
        [[b"a", b"b", b"-"], [b"c", b"-", b"-"]],
        [[b"-", b"-", b"-"], [b"d", b"e", b"f"]],
    ]
    upper = tf.ragged.map_flat_values(tf.strings.upper, found)
    assert upper.to_list()[0] == [[b"A", b"B"], [b"C"]]


def test_bytes_of_strings_of_rank_3():
    found = tf.strings.bytes_split([[["ab", ""]], [["c", "d"]]])
    assert found.to_list() == [[[[b"a", b"b"], []]], [[[b"c"], [b"d"]]]]
    spec = tf.type_spec_from_value(found)
    assert spec.shape.as_list() == [2, 1, 2, None] and spec.ragged_rank == 3


def test_sums_with_the_gradient_of_a_diagonal():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.linalg.tensor_diag(tf.linalg.tensor_diag_part(x)) * [[2.0, 9], [9, 5]])
    assert tape.gradient(y, x).numpy().tolist() == [[2, 0], [0, 5]]
