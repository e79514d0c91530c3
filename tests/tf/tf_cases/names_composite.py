"""Ways of making ragged and sparse tensors that TensorFlow's guides use."""

from corpus import plain, raises

R = "tf.RaggedTensor"


def parts(ragged):
    return [
        ragged.to_list(),
        ragged.dtype.name,
        ragged.shape.as_list(),
        ragged.ragged_rank,
        ragged.row_splits,
        ragged.flat_values,
    ]


@plain(f"{R}.from_row_splits", "vectors and matrices")
def _(tf):
    make = tf.RaggedTensor.from_row_splits
    return [
        parts(make([3, 1, 4, 1, 5, 9, 2, 6], [0, 4, 4, 7, 8, 8])),
        parts(make([[1.0, 2.0], [3.0, 4.0]], tf.constant([0, 0, 2], tf.int32))),
        parts(make(make(["a", "b", "c"], [0, 2, 3]), [0, 1, 2], validate=False)),
    ]


@plain(f"{R}.from_value_rowids", "with and without the number of rows")
def _(tf):
    make = tf.RaggedTensor.from_value_rowids
    return [
        parts(make([3, 1, 4, 1, 5, 9, 2, 6], [0, 0, 0, 0, 2, 2, 2, 3])),
        parts(make(["a", "b"], [1, 1], nrows=4)),
    ]


@plain(f"{R}.from_row_lengths", "vectors")
def _(tf):
    make = tf.RaggedTensor.from_row_lengths
    return [parts(make([3, 1, 4, 1, 5], [2, 0, 3])), parts(make([1.5], tf.constant([1], tf.int32)))]


@plain(f"{R}.from_uniform_row_length", "rows of two")
def _(tf):
    make = tf.RaggedTensor.from_uniform_row_length
    inner = tf.ragged.constant([[1], [2, 3], [], [4]])
    empty = make(tf.zeros([0, 3]), 0, nrows=2)
    return [parts(make(inner, 2)), make(inner, 2).uniform_row_length, empty.shape.as_list()]


@plain(f"{R}.from_nested_row_splits", "three levels")
def _(tf):
    made = tf.RaggedTensor.from_nested_row_splits([1, 2, 3, 4, 5], ([0, 2, 3], [0, 1, 3, 5]))
    return [parts(made), list(made.nested_row_splits)]


@plain(f"{R}.from_tensor", "padding, lengths, ranks")
def _(tf):
    make = tf.RaggedTensor.from_tensor
    x = tf.constant([[5, 7, 0], [0, 3, 0], [6, 0, 0]])
    return [
        parts(make(x)),
        parts(make(x, lengths=[1, 0, 3])),
        parts(make(x, padding=0)),
        parts(make(x[None], ragged_rank=2, row_splits_dtype=tf.int32)),
    ]


@plain(f"{R}.from_sparse", "rows of a matrix")
def _(tf):
    sparse = tf.sparse.SparseTensor([[0, 0], [0, 1], [3, 0]], ["a", "b", "c"], [4, 2])
    return parts(tf.RaggedTensor.from_sparse(sparse))


raises(
    f"{R}.from_row_splits",
    "splits that fall",
    "",
    lambda tf: tf.RaggedTensor.from_row_splits([1, 2], [0, 3, 2]),
)
raises(
    f"{R}.from_row_splits",
    "no splits",
    "",
    lambda tf: tf.RaggedTensor.from_row_splits([1, 2], []),
)
raises(
    f"{R}.from_value_rowids",
    "rows that fall",
    "",
    lambda tf: tf.RaggedTensor.from_value_rowids([1, 2], [1, 0]),
)
raises(
    f"{R}.from_row_lengths",
    "too many",
    "",
    lambda tf: tf.RaggedTensor.from_row_lengths([1, 2], [2, 1]),
)
raises(
    f"{R}.from_uniform_row_length",
    "a row that is cut",
    "",
    lambda tf: tf.RaggedTensor.from_uniform_row_length([1, 2, 3], 2),
)
raises(
    f"{R}.from_nested_row_splits",
    "no list",
    "",
    lambda tf: tf.RaggedTensor.from_nested_row_splits([1], tf.constant([0, 1])),
)
raises(f"{R}.from_tensor", "a vector", "", lambda tf: tf.RaggedTensor.from_tensor([1, 2]))
raises(
    f"{R}.from_sparse",
    "no sparse tensor",
    "",
    lambda tf: tf.RaggedTensor.from_sparse(tf.constant([[1]])),
)


@plain("tf.experimental.RowPartition.from_row_lengths", "its parts")
def _(tf):
    made = tf.experimental.RowPartition.from_row_lengths([2, 0, 3])
    return [
        made.row_splits(),
        made.row_lengths(),
        made.value_rowids(),
        made.nrows(),
        made.nvals(),
        made.static_nrows,
        made.is_uniform(),
    ]


@plain("tf.experimental.DynamicRaggedShape.from_lengths", "ragged and uniform sizes")
def _(tf):
    make = tf.experimental.DynamicRaggedShape.from_lengths
    made = make([2, (2, 1), 3])
    return [
        made.rank,
        made.num_row_partitions,
        made.static_lengths(ragged_lengths=True),
        make([5, 4]).rank,
        make([5, 4], num_row_partitions=1).num_row_partitions,
        made.inner_shape,
        tf.ragged.constant([[1, 2], [3]]).to_list(),
    ]


@plain("tf.sparse.SparseTensor", "its parts, and what is done with it")
def _(tf):
    made = tf.sparse.SparseTensor(indices=[[0, 0], [1, 2]], values=[1, 2], dense_shape=[3, 4])
    fifth = tf.sparse.SparseTensor([[0, 3], [2, 4]], [10.0, 20.0], [3, 10])
    return [
        made.indices,
        made.values,
        made.dense_shape,
        made.shape.as_list(),
        made.dtype.name,
        tf.sparse.to_dense(made),
        tf.sparse.to_dense(tf.sparse.add(fifth, fifth)),
        tf.sparse.sparse_dense_matmul(fifth, tf.ones([10, 2])),
        str(made),
        isinstance(made, tf.SparseTensor),
    ]


raises(
    "tf.sparse.SparseTensor",
    "indices of another rank",
    "",
    lambda tf: tf.sparse.SparseTensor([[0]], [1], [3, 4]),
)
