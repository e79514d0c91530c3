"""Recipes of tf.sets, tf.sparse and tf.ragged."""

from generator import FLOATS, FULL_FLOATS, NUMBERS, REALS, WIDE_INTS, recipe
from recipes_array import a_dtype

STORED = (*REALS, "string", "bool")


def sparse(d, dtypes, shape, kind=None, rows=False):
    dtype = dtypes if isinstance(dtypes, str) else d.pick(dtypes)
    return {"sparse": [dtype, list(shape), kind or d.kind(dtype), d.below(999), rows]}


def ragged(d, dtypes, inner=(), rows=None):
    dtype = d.pick(dtypes)
    lengths = [d.between(0, 3) for _ in range(d.between(0, 3) if rows is None else rows)]
    return {"ragged": [dtype, lengths, list(inner), d.kind(dtype), d.below(999)]}


@recipe("sets.union", "sets.intersection", "sets.difference")
def _(d):
    dtype = d.dtype(("int32", "int64", "int8", "string"))
    kind = "word" if dtype == "string" else "range 0 5"
    batch = d.shape(1, 1, empty=False)
    if d.chance(30):
        return {"a": sparse(d, dtype, [*batch, 3], kind), "b": sparse(d, dtype, [*batch, 3], kind)}
    return {"a": d.tensor(dtype, [*batch, d.between(0, 4)], kind),
            "b": d.tensor(dtype, [*batch, d.between(0, 4)], kind)}  # fmt: skip


@recipe("sets.size")
def _(d):
    return {"a": sparse(d, ("int32", "int64", "string"), d.shape(2, 3, empty=False), None)}


@recipe("sparse.from_dense")
def _(d):
    return {"tensor": d.array((*REALS, "string"), d.shape(1, 3))}


@recipe("sparse.to_dense")
def _(d):
    return {"sp_input": sparse(d, STORED, d.shape(1, 3))}


@recipe("sparse.reorder", "sparse.transpose", "sparse.reset_shape")
def _(d):
    return {"sp_input": sparse(d, STORED, d.shape(1, 3))}


@recipe("sparse.softmax")
def _(d):
    return {"sp_input": sparse(d, FULL_FLOATS, d.shape(2, 3))}


@recipe("sparse.reshape")
def _(d):
    shape = d.shape(1, 3, empty=False)
    n = 1
    for length in shape:
        n *= length
    return {"sp_input": sparse(d, STORED, shape), "shape": d.pick(([-1], [n], [1, -1], [n, 1]))}


@recipe("sparse.expand_dims")
def _(d):
    shape = d.shape(1, 3)
    return d.some({"sp_input": sparse(d, STORED, shape)}, 70, axis=d.axis(len(shape)))


@recipe("sparse.slice")
def _(d):
    shape = d.shape(1, 3, empty=False)
    return {"sp_input": sparse(d, STORED, shape), "start": [d.below(n) for n in shape],
            "size": [d.between(1, n) for n in shape]}  # fmt: skip


@recipe("sparse.concat")
def _(d):
    shape, dtype = d.shape(1, 3, empty=False), d.dtype(STORED)
    return {"axis": d.axis(len(shape)),
            "sp_inputs": [sparse(d, dtype, shape) for _ in range(d.between(1, 3))]}  # fmt: skip


@recipe("sparse.split")
def _(d):
    shape = d.shape(1, 3, empty=False)
    axis = d.below(len(shape))
    return {"sp_input": sparse(d, STORED, shape), "num_split": d.between(1, shape[axis]),
            "axis": axis}  # fmt: skip


@recipe("sparse.add")
def _(d):
    shape, dtype = d.shape(1, 3, empty=False), d.dtype(NUMBERS)
    if d.flag():
        return {"a": sparse(d, dtype, shape), "b": sparse(d, dtype, shape)}
    return {"a": sparse(d, dtype, shape), "b": d.tensor(dtype, shape)}


@recipe("sparse.maximum", "sparse.minimum")
def _(d):
    shape, dtype = d.shape(1, 3, empty=False), d.dtype(REALS)
    return {"sp_a": sparse(d, dtype, shape), "sp_b": sparse(d, dtype, shape)}


@recipe("sparse.reduce_sum", "sparse.reduce_max")
def _(d):
    shape = d.shape(1, 3, empty=False)
    arguments = {"sp_input": sparse(d, REALS, shape)}
    d.some(arguments, 60, axis=lambda: d.axes(len(shape)))
    return d.keywords(arguments, 30, keepdims=d.flag(), output_is_sparse=d.flag())


@recipe("sparse.sparse_dense_matmul")
def _(d):
    n, k, m = [d.between(1, 4) for _ in range(3)]
    dtype = d.dtype((*FULL_FLOATS, "int32", "complex64"))
    return {"sp_a": sparse(d, dtype, [n, k]), "b": d.tensor(dtype, [k, m])}


@recipe("sparse.fill_empty_rows")
def _(d):
    dtype = d.dtype(("float32", "int32", "string"))
    default = {"float32": 1.5, "int32": 7, "string": "x"}[dtype]
    return {"sp_input": sparse(d, dtype, d.shape(2, 2, empty=False)), "default_value": default}


@recipe("sparse.retain")
def _(d):
    return {"sp_input": {"sparse": ["float32", [4], "uniform", d.below(999), True]},
            "to_retain": d.array("bool", [4])}  # fmt: skip


@recipe("sparse.eye", order=0)
def _(d):
    arguments = d.some({"num_rows": d.between(0, 4)}, 50, num_columns=d.between(0, 4))
    return d.keywords(arguments, 40, dtype=lambda: a_dtype(d))


@recipe("sparse.to_indicator")
def _(d):
    kind = "range 0 5"
    return {"sp_input": sparse(d, WIDE_INTS, d.shape(1, 2, empty=False), kind), "vocab_size": 5}


@recipe("sparse.bincount")
def _(d):
    arguments = {"values": d.tensor(WIDE_INTS, d.shape(1, 2), "range 0 5")}
    return d.keywords(arguments, 40, axis=d.pick((0, -1)), minlength=d.between(0, 6),
                      maxlength=d.between(1, 6), binary_output=d.flag())  # fmt: skip


@recipe("sparse.cross", "sparse.cross_hashed")
def _(d):
    rows = d.between(1, 3)
    dtypes = ("int64", "string")
    parts = d.between(1, 2)
    return {"inputs": [d.tensor(dtypes, [rows, d.between(1, 2)]) for _ in range(parts)]}


@recipe("ragged.constant", order=0)
def _(d):
    rows = d.pick(([[1, 2], [], [3]], [[1.5], [2.5, 3.5]], [["a"], ["b", "c"]], [[[1], []], []],
                   [], [[]], [1, 2], [[1, 2], [3, 4]]))  # fmt: skip
    return d.keywords({"pylist": rows}, 30, dtype=lambda: a_dtype(d), ragged_rank=d.between(0, 2))


@recipe("ragged.range")
def _(d):
    n, dtype = d.between(1, 3), d.pick(("int32", "int64", "float32"))
    if d.flag():
        return {"starts": d.array(dtype, [n], "range 0 4", "tensor")}
    arguments = {"starts": d.array(dtype, [n], "range -2 2", "tensor"),
                 "limits": d.array(dtype, [n], "range 0 5", "tensor")}  # fmt: skip
    return d.some(arguments, 40, deltas=d.array(dtype, [n], "range 1 3", "tensor"))


@recipe("ragged.row_splits_to_segment_ids")
def _(d):
    splits = [0]
    for _ in range(d.between(0, 4)):
        splits.append(splits[-1] + d.between(0, 3))
    arguments = {"splits": {"v": ["tensor", d.pick(WIDE_INTS), splits]}}
    return d.keywords(arguments, 30, out_type=lambda: a_dtype(d, WIDE_INTS))


@recipe("ragged.segment_ids_to_row_splits")
def _(d):
    ids = {"t": ["tensor", d.pick(WIDE_INTS), [d.between(0, 5)], "segments", d.below(999)]}
    return d.keywords({"segment_ids": ids}, 30, out_type=lambda: a_dtype(d, WIDE_INTS))


@recipe("ragged.stack")
def _(d):
    dtype = (d.dtype(STORED),)
    rows = d.between(0, 3)
    arguments = {"values": [ragged(d, dtype, rows=rows) for _ in range(d.between(1, 2))]}
    return d.some(arguments, 40, axis=d.between(-1, 1))


@recipe("ragged.boolean_mask")
def _(d):
    shape = d.shape(2, 2)
    return {"data": d.tensor(STORED, shape), "mask": d.array("bool", shape)}


@recipe("ragged.stack_dynamic_partitions")
def _(d):
    n = d.between(0, 5)
    return {"data": d.tensor(STORED, [n, *d.shape(0, 1)]),
            "partitions": d.tensor(WIDE_INTS, [n], "range 0 3"), "num_partitions": 3}  # fmt: skip


@recipe("ragged.cross", "ragged.cross_hashed")
def _(d):
    rows = d.between(1, 3)
    return {"inputs": [ragged(d, ("int64", "string"), rows=rows) for _ in range(d.between(1, 2))]}


@recipe("edit_distance", order=0)
def _(d):
    dtype = d.dtype(("int32", "string", "int64"))
    kind = "word" if dtype == "string" else "range 0 3"
    arguments = {"hypothesis": {"sparse": [dtype, [2, 3], kind, d.below(999), True]},
                 "truth": {"sparse": [dtype, [2, 3], kind, d.below(999), True]}}  # fmt: skip
    return d.keywords(arguments, 40, normalize=d.flag())


@recipe("sparse.mask", order=0)
def _(d):
    slices = {"slices": [d.pick(FLOATS), 3, d.shape(0, 1), d.below(999)]}
    return {"a": slices, "mask_indices": [d.below(3)]}
