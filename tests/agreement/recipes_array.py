"""Recipes of functions that make, shape, join, cut and index arrays."""

from generator import (
    ALL_DTYPES,
    EVERY,
    FLOATS,
    INTS,
    NUMBERS,
    REALS,
    WIDE_INTS,
    recipe,
)  # fmt: skip


def a_dtype(d, dtypes=("float32", "float64", "int32", "int64", "float16", "complex64", "bool")):
    return {"d": d.pick(dtypes)}


def numbers(d, values: list[int]):
    """Whole numbers as a list, a tuple, a numpy array's list or a constant shape."""
    which = d.below(6)
    if which == 0:
        return {"u": list(values)}
    if which == 1 and all(value >= 0 for value in values):
        return {"s": list(values)}
    return list(values)


@recipe("zeros", "ones")
def _(d):
    shape = d.shape(0, 3)
    return d.some({"shape": numbers(d, shape)}, dtype=lambda: a_dtype(d, ALL_DTYPES))


@recipe("fill")
def _(d):
    value = d.array(EVERY, []) if d.flag() else d.pick((1, 2.5, True, "text", -3))
    return {"dims": list(d.shape(0, 3)), "value": value}


@recipe("constant", order=0)
def _(d):
    shape = d.shape(0, 2, empty=False)
    if d.flag():
        value = d.pick((1, -2, 2.5, True, "text", [1, 2], [[1.5], [2]], [True, False], ["a", "b"]))
        arguments = {"value": value}
        d.some(arguments, 50, dtype=lambda: a_dtype(d))
        return d.keywords(arguments, 30, shape=lambda: list(d.shape(0, 2)))
    value = d.array(REALS, shape, how=d.pick(("numpy", "list")))
    arguments = d.some({"value": value}, 40, dtype=lambda: a_dtype(d))
    return d.keywords(arguments, 30, shape=lambda: list(reversed(shape)))


@recipe("convert_to_tensor")
def _(d):
    if d.flag():
        value = d.pick((1, -2, 2.5, True, "text", [1, 2], [[1.5], [2]], [True, False], ["a", "b"]))
    else:
        value = d.array(EVERY, d.shape(0, 2))
    arguments = d.some({"value": value}, 50, dtype=lambda: a_dtype(d))
    return d.keywords(arguments, 30, dtype_hint=lambda: a_dtype(d))


@recipe("eye", order=0)
def _(d):
    arguments = d.some({"num_rows": d.between(0, 4)}, 50, num_columns=d.between(0, 4))
    return d.keywords(arguments, 40, batch_shape=lambda: d.shape(0, 2), dtype=lambda: a_dtype(d))


@recipe("linspace")
def _(d):
    shape = d.shape(0, 2)
    dtype = d.dtype(("float32", "float64", "int32", "int64", "float16"))
    arguments = {
        "start": d.array(dtype, shape, "range -4 9" if dtype.startswith("i") else "uniform"),
        "stop": d.array(dtype, d.broadcast(shape), None if d.flag() else "range -4 9"),
        "num": d.pick((1, 2, 3, 5, 10)),
    }
    return d.keywords(arguments, 40, axis=lambda: d.axis(len(shape) + 1))


@recipe("range")
def _(d):
    if d.flag():
        arguments = {"start": d.between(-3, 9)}
        d.some(arguments, 60, limit=d.between(-3, 12))
        return d.keywords(arguments, 40, delta=d.pick((1, 2, -1, 3)), dtype=lambda: a_dtype(d))
    dtype = d.dtype(("float32", "float64", "int32", "int64", "float16", "bfloat16", "int16"))
    whole = dtype.startswith("i")
    arguments = {
        "start": d.tensor(dtype, [], "range -3 4" if whole else "uniform"),
        "limit": d.tensor(dtype, [], "range 0 12" if whole else "positive"),
    }
    return d.some(arguments, 50, delta=d.tensor(dtype, [], "range 1 4" if whole else "positive"))


@recipe("shape", "size")
def _(d):
    arguments = {"input": d.array(EVERY, d.shape(0, 4))}
    return d.some(arguments, 40, out_type=lambda: a_dtype(d, WIDE_INTS))


@recipe("shape_n")
def _(d):
    dtype = d.dtype(EVERY)
    arguments = {"input": [d.tensor(dtype, d.shape(0, 3)) for _ in range(d.between(1, 3))]}
    return d.some(arguments, 40, out_type=lambda: a_dtype(d, WIDE_INTS))


@recipe("identity_n")
def _(d):
    return {"input": [d.tensor(EVERY, d.shape(0, 3)) for _ in range(d.between(1, 3))]}


@recipe("guarantee_const")
def _(d):
    return {"input": d.array(EVERY, d.shape(0, 3))}


def _target(d, shape):
    """A shape with as many elements."""
    n = 1
    for length in shape:
        n *= length
    found = []
    for divisor in (2, 3, 2, 5):
        if n and n % divisor == 0 and d.chance(60):
            found.append(divisor)
            n //= divisor
    found.append(n)
    if n and d.chance(40):
        found[d.below(len(found))] = -1
    return found


def whole(d, value, percent=30):
    """A list of whole numbers, now and then as a tensor."""
    if not d.chance(percent):
        return value
    return {"v": ["tensor", d.pick(WIDE_INTS), value]}


@recipe("reshape")
def _(d):
    shape = d.shape(0, 4)
    return {"tensor": d.array(EVERY, shape), "shape": whole(d, _target(d, shape))}


@recipe("broadcast_to")
def _(d):
    shape = d.shape(0, 3)
    target = d.shape(0, 1) + [d.pick((2, 3)) if n == 1 else n for n in shape]
    return {"input": d.array(EVERY, shape), "shape": whole(d, target)}


@recipe("broadcast_dynamic_shape")
def _(d):
    shape = d.shape(0, 3)
    dtype = d.pick(WIDE_INTS)
    return {
        "shape_x": {"v": ["tensor", dtype, shape]},
        "shape_y": {"v": ["tensor", dtype, d.broadcast(shape)]},
    }


@recipe("broadcast_static_shape")
def _(d):
    shape = d.shape(0, 3)
    return {"shape_x": {"s": shape}, "shape_y": {"s": d.broadcast(shape)}}


@recipe("expand_dims")
def _(d):
    shape = d.shape(0, 3)
    return {"input": d.array(EVERY, shape), "axis": d.axis(len(shape) + 1)}


@recipe("squeeze")
def _(d):
    shape = [1 if d.chance(50) else n for n in d.shape(0, 4)]
    ones = [i for i, n in enumerate(shape) if n == 1]
    arguments = {"input": d.array(EVERY, shape)}
    if ones and d.flag():
        axis = d.pick(ones)
        arguments["axis"] = axis if d.flag() else [axis - len(shape)]
    return arguments


@recipe("transpose")
def _(d):
    shape = d.shape(0, 4)
    arguments = {"a": d.array(EVERY, shape)}
    if d.flag():
        arguments["perm"] = {"t": ["list", "int32", [len(shape)], "permutation", d.below(99)]}
    return d.keywords(arguments, 30, conjugate=d.flag())


@recipe("tile")
def _(d):
    shape = d.shape(0, 3)
    multiples = [d.pick((0, 1, 1, 2, 3)) for _ in shape]
    return {"input": d.array(EVERY, shape), "multiples": whole(d, multiples)}


@recipe("repeat")
def _(d):
    shape = d.shape(0, 3)
    arguments = {"input": d.array(EVERY, shape), "repeats": d.between(0, 3)}
    if d.flag() and shape:
        axis = d.axis(len(shape))
        arguments["axis"] = axis
        if d.flag():
            arguments["repeats"] = d.ints([d.pick((shape[axis], shape[axis], 1))], 0, 4)
    return arguments


@recipe("concat")
def _(d):
    shape, dtype = d.shape(1, 3), d.dtype(EVERY)
    axis = d.axis(len(shape))

    def part():
        other = list(shape)
        other[axis] = d.between(0, 3)
        return d.tensor(dtype, other)

    return {"values": [part() for _ in range(d.between(1, 3))], "axis": axis}


@recipe("stack", "parallel_stack")
def _(d):
    shape, dtype = d.shape(0, 3), d.dtype(EVERY)
    values = [d.tensor(dtype, shape) for _ in range(d.between(1, 3))]
    return {"values": values}


@recipe("unstack")
def _(d):
    shape = d.shape(1, 3)
    arguments = {"value": d.array(EVERY, shape)}
    axis = d.axis(len(shape))
    if d.chance(40):
        arguments["num"] = shape[axis]
    elif d.flag():
        return {**arguments, "axis=": axis}
    else:
        return arguments
    return {**arguments, "axis": axis}


@recipe("split")
def _(d):
    shape = d.shape(1, 3)
    axis = d.axis(len(shape))
    n = shape[axis]
    if d.flag():
        sizes = d.pick([k for k in range(1, 6) if n % k == 0])
    else:
        cut = d.between(0, n)
        sizes = [cut, n - cut]
        if d.chance(30):
            sizes[d.below(2)] = -1
        elif d.chance(20):
            sizes = {"v": ["tensor", d.pick(WIDE_INTS), sizes]}
    return {"value": d.array(EVERY, shape), "num_or_size_splits": sizes, "axis": axis}


@recipe("pad")
def _(d):
    shape = d.shape(0, 3)
    mode = d.pick(("CONSTANT", "CONSTANT", "REFLECT", "SYMMETRIC"))
    most = {"CONSTANT": 2, "REFLECT": 1, "SYMMETRIC": 2}[mode]
    paddings = [
        [min(d.between(0, most), max(n - (mode == "REFLECT"), 0)) for _ in range(2)] for n in shape
    ]
    dtype = d.dtype(NUMBERS)
    arguments = {"tensor": d.array(dtype, shape), "paddings": whole(d, paddings)}
    if mode != "CONSTANT" or d.chance(30):
        arguments["mode"] = mode
    if mode == "CONSTANT" and d.chance(40):
        arguments["constant_values="] = 7
    return arguments


@recipe("reverse")
def _(d):
    shape = d.shape(0, 3)
    chosen = [i - len(shape) if d.chance(30) else i for i in range(len(shape)) if d.chance(50)]
    return {"tensor": d.array(EVERY, shape), "axis": whole(d, chosen)}


@recipe("roll")
def _(d):
    shape = d.shape(1, 3)
    if d.flag():
        return {
            "input": d.array(EVERY, shape),
            "shift": d.between(-4, 4),
            "axis": d.axis(len(shape)),
        }
    n = d.between(1, 3)
    return {
        "input": d.array(EVERY, shape),
        "shift": [d.between(-4, 4) for _ in range(n)],
        "axis": [d.axis(len(shape)) for _ in range(n)],
    }


@recipe("reverse_sequence")
def _(d):
    shape = d.shape(2, 4, empty=False)
    batch, sequence = d.pick(((0, 1), (1, 0), (0, len(shape) - 1)))
    return {
        "input": d.array(EVERY, shape),
        "seq_lengths": d.ints([shape[batch]], 0, shape[sequence] + 1),
        "seq_axis": sequence,
        "batch_axis": batch,
    }


@recipe("slice")
def _(d):
    shape = d.shape(0, 4)
    begin = [d.between(0, n) for n in shape]
    size = [-1 if d.chance(30) else d.between(0, n - b) for n, b in zip(shape, begin, strict=True)]
    return {"input_": d.array(EVERY, shape), "begin": whole(d, begin), "size": whole(d, size)}


@recipe("strided_slice")
def _(d):
    shape = d.shape(1, 3)
    n = d.between(1, len(shape))
    begin = [d.between(-4, 4) for _ in range(n)]
    arguments = {"input_": d.array(EVERY, shape), "begin": begin,
                 "end": [d.between(-4, 6) for _ in range(n)]}  # fmt: skip
    d.some(arguments, 60, strides=[d.pick((1, 1, 2, -1, -2)) for _ in range(n)])
    return d.keywords(arguments, 25, begin_mask=d.below(8), end_mask=d.below(8),
                      ellipsis_mask=d.pick((1, 2, 4)), new_axis_mask=d.below(4),
                      shrink_axis_mask=d.below(4))  # fmt: skip


@recipe("gather")
def _(d):
    shape = d.shape(1, 4)
    batch = d.between(0, len(shape) - 1) if d.chance(35) else 0
    axis = d.between(batch, len(shape) - 1)
    indices = d.ints(shape[:batch] + d.shape(0, 2), 0, max(shape[axis], 1), ("int32", "int64"))
    arguments = {"params": d.array(EVERY, shape), "indices": indices}
    if axis != batch or d.chance(40):
        arguments["axis="] = axis - len(shape) if d.chance(30) else axis
    if batch or d.chance(10):
        arguments["batch_dims="] = batch
    return arguments


@recipe("gather_nd")
def _(d):
    shape = d.shape(1, 4, empty=False)
    batch = d.below(len(shape)) if d.chance(25) else 0
    depth = d.between(0 if not batch else 1, len(shape) - batch)
    limit = min(shape[batch : batch + depth], default=1)
    indices = d.ints(shape[:batch] + d.shape(0, 2) + [depth], 0, limit)
    arguments = {"params": d.array(EVERY, shape), "indices": indices}
    return {**arguments, "batch_dims": batch} if batch or d.chance(10) else arguments


def _scatter(d):
    shape = d.shape(1, 3, empty=False)
    depth = d.between(1, len(shape))
    outer = d.shape(0, 2)
    indices = d.ints([*outer, depth], 0, min(shape[:depth]))
    return shape, indices, outer + shape[depth:]


@recipe("scatter_nd")
def _(d):
    shape, indices, updates = _scatter(d)
    dtype = indices["t"][1]
    target = {"v": ["tensor", dtype, shape]} if dtype == "int64" or d.flag() else shape
    return {"indices": indices, "updates": d.array(NUMBERS, updates), "shape": target}


@recipe("tensor_scatter_nd_add", "tensor_scatter_nd_sub", "tensor_scatter_nd_max",
        "tensor_scatter_nd_min")  # fmt: skip
def _(d):
    shape, indices, updates = _scatter(d)
    dtype = d.dtype(REALS)
    return {"tensor": d.array(dtype, shape), "indices": indices,
            "updates": d.array(dtype, updates)}  # fmt: skip


@recipe("tensor_scatter_nd_update")
def _(d):
    shape = d.shape(1, 2, empty=False)
    n = d.between(0, shape[0])
    dtype = d.dtype(EVERY)
    indices = {"t": ["tensor", d.pick(WIDE_INTS), [n, 1], "permutation", d.below(99)]}
    return {"tensor": d.array(dtype, shape), "indices": indices,
            "updates": d.array(dtype, [n, *shape[1:]])}  # fmt: skip


@recipe("where")
def _(d):
    shape = d.shape(0, 3)
    if d.chance(30):
        return {"condition": d.array(("bool", "bool", "float32", "int32"), shape)}
    dtype = d.dtype(EVERY)
    return {
        "condition": d.array("bool", d.broadcast(shape)),
        "x": d.array(dtype, shape),
        "y": d.array(dtype, d.broadcast(shape)),
    }


@recipe("boolean_mask")
def _(d):
    shape = d.shape(1, 3)
    axis = d.below(len(shape)) if d.chance(40) else 0
    masked = d.between(1, len(shape) - axis)
    arguments = {
        "tensor": d.array(EVERY, shape),
        "mask": d.array("bool", shape[axis : axis + masked]),
    }
    return {**arguments, "axis": axis} if axis or d.chance(20) else arguments


@recipe("one_hot")
def _(d):
    arguments = {"indices": d.ints(d.shape(0, 2), -1, 5, ("int32", "int64", "uint8"))}
    arguments["depth"] = d.pick((0, 1, 3, 4))
    which = d.below(4)
    if which == 0:
        arguments.update({"on_value=": 5.0, "off_value=": -1.0})
    elif which == 1:
        arguments.update({"on_value=": 2, "dtype=": {"d": d.pick(("int32", "float32", "int64"))}})
    elif which == 2:
        arguments["dtype="] = a_dtype(d)
    return d.keywords(arguments, 40, axis=d.pick((-1, 0, 1)))


@recipe("sequence_mask")
def _(d):
    arguments = {"lengths": d.ints(d.shape(0, 2), 0, 6)}
    d.some(arguments, 60, maxlen=d.between(0, 7))
    return d.keywords(arguments, 40, dtype=lambda: a_dtype(d))


@recipe("searchsorted")
def _(d):
    batch = d.shape(0, 2, empty=False)
    dtype = d.dtype(("float32", "float64", "int32", "int64", "float16"))
    arguments = {
        "sorted_sequence": d.array(dtype, [*batch, d.between(0, 6)], "sorted"),
        "values": d.array(dtype, [*batch, d.between(0, 4)]),
    }
    return d.keywords(arguments, 40, side=d.pick(("left", "right")),
                      out_type=lambda: a_dtype(d, WIDE_INTS))  # fmt: skip


@recipe("sort")
def _(d):
    shape = d.shape(1, 3)
    arguments = {"values": d.array(REALS, shape)}
    d.some(arguments, 50, axis=d.axis(len(shape)))
    return d.keywords(arguments, 50, direction=d.pick(("ASCENDING", "DESCENDING")))


@recipe("argsort")
def _(d):
    shape = d.shape(1, 3)
    arguments = {"values": d.array(REALS, shape)}
    d.some(arguments, 50, axis=d.axis(len(shape)))
    return d.keywords(arguments, 50, direction=d.pick(("ASCENDING", "DESCENDING")), stable=True)


@recipe("unique", "unique_with_counts")
def _(d):
    dtype = d.dtype((*REALS, "string", "bool"))
    kind = None if dtype in ("string", "bool") else "range 0 4"
    arguments = {"x": d.array(dtype, [d.between(0, 7)], kind)}
    return d.some(arguments, 40, out_idx=lambda: a_dtype(d, WIDE_INTS))


@recipe("unravel_index")
def _(d):
    dims = [d.between(1, 4) for _ in range(d.between(1, 3))]
    n = 1
    for length in dims:
        n *= length
    dtype = d.pick(WIDE_INTS)
    return {
        "indices": d.array(dtype, d.shape(0, 1), f"range 0 {n}", "tensor"),
        "dims": {"v": ["tensor", dtype, dims]} if dtype == "int64" or d.flag() else dims,
    }


@recipe("meshgrid")
def _(d):
    dtype = d.dtype(EVERY)
    arguments = {"*": [d.tensor(dtype, d.shape(0, 1)) for _ in range(d.between(1, 3))]}
    return d.keywords(arguments, 40, indexing=d.pick(("xy", "ij")))


@recipe("dynamic_partition")
def _(d):
    shape = d.shape(1, 3)
    depth = d.between(1, len(shape))
    n = d.between(1, 4)
    return {
        "data": d.array(EVERY, shape),
        "partitions": d.array("int32", shape[:depth], f"range 0 {n}"),
        "num_partitions": n,
    }


@recipe("dynamic_stitch")
def _(d):
    inner, dtype = d.shape(0, 2), d.dtype(EVERY)
    indices, data = [], []
    for _ in range(d.between(1, 3)):
        outer = d.shape(0, 2)
        indices.append(d.tensor("int32", outer, "range 0 6"))
        data.append(d.tensor(dtype, outer + inner))
    return {"indices": indices, "data": data}


@recipe("space_to_batch_nd", "space_to_batch")
def _(d):
    blocks = [d.pick((1, 2, 3)) for _ in range(d.between(1, 2))]
    paddings, spatial = [], []
    for block in blocks:
        before, after = d.between(0, 2), d.between(0, 2)
        paddings.append([before, after])
        spatial.append(max(block * 3 - before - after, 0))
    return {"input": d.array(EVERY, [d.between(1, 2), *spatial, *d.shape(0, 1)]),
            "block_shape": whole(d, blocks), "paddings": whole(d, paddings)}  # fmt: skip


@recipe("batch_to_space")
def _(d):
    blocks = [d.pick((1, 2)) for _ in range(d.between(1, 2))]
    batch = d.between(1, 2)
    for block in blocks:
        batch *= block
    crops = [[d.between(0, 1), d.between(0, 1)] for _ in blocks]
    return {"input": d.array(EVERY, [batch, *[d.between(2, 3) for _ in blocks], *d.shape(0, 1)]),
            "block_shape": whole(d, blocks), "crops": whole(d, crops)}  # fmt: skip


@recipe("required_space_to_batch_paddings", order=0)
def _(d):
    n = d.between(1, 3)
    arguments = {"input_shape": [d.between(1, 9) for _ in range(n)],
                 "block_shape": [d.between(1, 4) for _ in range(n)]}  # fmt: skip
    return d.some(arguments, 50, base_paddings=[[d.below(3), d.below(3)] for _ in range(n)])


@recipe("bitcast")
def _(d):
    dtype = d.dtype((*NUMBERS, "bool"))
    shape = d.shape(0, 2)
    if d.flag():
        shape = [*shape, d.pick((1, 2, 4, 8))]
    return {"input": d.array(dtype, shape, None),
            "type": {"d": d.pick(("int32", "float32", "uint8", "int64", "float64", "int16",
                                  "uint32", "bfloat16", "complex64"))}}  # fmt: skip


@recipe("ensure_shape")
def _(d):
    shape = d.shape(0, 3)
    static = [None if d.chance(30) else n for n in shape]
    return {"x": d.array(EVERY, shape), "shape": static if d.flag() else {"s": static}}


@recipe("get_static_value")
def _(d):
    return {"tensor": d.tensor(EVERY, d.shape(0, 2))}


@recipe("is_tensor")
def _(d):
    return {"x": d.array(EVERY, d.shape(0, 2))}


@recipe("as_dtype", "dtypes.as_dtype")
def _(d):
    return {"type_value": d.pick(ALL_DTYPES) if d.flag() else a_dtype(d, ALL_DTYPES)}


@recipe("dtypes.complex", order=0)
def _(d):
    shape = d.shape(0, 2)
    dtype = d.dtype(("float32", "float64"))
    return {"real": d.array(dtype, shape), "imag": d.array(dtype, shape)}


@recipe("add_n", "math.accumulate_n")
def _(d):
    shape, dtype = d.shape(0, 3), d.dtype(NUMBERS)
    return {"inputs": [d.tensor(dtype, shape) for _ in range(d.between(1, 4))]}


@recipe("tuple")
def _(d):
    return {"tensors": [d.tensor(EVERY, d.shape(0, 2)) for _ in range(d.between(1, 3))]}


@recipe("assert_equal", "assert_less", "assert_greater", "debugging.assert_greater_equal",
        "debugging.assert_less_equal", "debugging.assert_none_equal")  # fmt: skip
def _(d):
    shape, dtype = d.shape(0, 2), d.dtype(REALS)
    x = d.array(dtype, shape, d.pick(("range 0 2", "range 0 2", "range -2 0")))
    return {"x": x, "y": x if d.flag() else d.array(dtype, d.broadcast(shape), "range 1 3")}


@recipe("debugging.assert_negative", "debugging.assert_non_negative", "debugging.assert_positive",
        "debugging.assert_non_positive", "debugging.assert_integer")  # fmt: skip
def _(d):
    dtypes = ("int32", "int64", "float32", "int8")
    return {"x": d.array(dtypes, d.shape(0, 2), d.pick(("range 0 3", "range 1 3", "range -3 0")))}


@recipe("debugging.assert_near")
def _(d):
    shape, dtype = d.shape(0, 2), d.dtype(FLOATS)
    x = d.array(dtype, shape, "uniform")
    arguments = {"x": x, "y": x if d.flag() else d.array(dtype, shape, "uniform")}
    return d.keywords(arguments, 40, rtol=d.pick((0.5, 0.1)), atol=d.pick((0.0, 2.0)))


@recipe("debugging.assert_rank", "debugging.assert_rank_at_least", "assert_rank")
def _(d):
    return {"x": d.array(EVERY, d.shape(0, 3)), "rank": d.between(0, 3)}


@recipe("debugging.assert_rank_in")
def _(d):
    return {"x": d.array(EVERY, d.shape(0, 3)), "ranks": [d.between(0, 2), d.between(1, 3)]}


@recipe("debugging.check_numerics")
def _(d):
    return {"tensor": d.array(FLOATS, d.shape()), "message": "text"}


@recipe("debugging.assert_all_finite")
def _(d):
    return {"x": d.array(FLOATS, d.shape()), "message": "text"}


@recipe("debugging.assert_type")
def _(d):
    return {"tensor": d.array(FLOATS, d.shape()), "tf_type": a_dtype(d, ("float32", "float64"))}


@recipe("debugging.is_numeric_tensor")
def _(d):
    return {"tensor": d.array(EVERY, d.shape(0, 2))}


@recipe("histogram_fixed_width", "histogram_fixed_width_bins")
def _(d):
    dtype = d.dtype(("float32", "float64", "int32", "int64"))
    span = {"v": ["tensor", dtype, [-1, d.pick((0, 2, 3))]]}
    arguments = {"values": d.array(dtype, d.shape(0, 2), None), "value_range": span}
    d.some(arguments, 60, nbins=d.between(1, 6))
    return d.keywords(arguments, 30, dtype=lambda: a_dtype(d, WIDE_INTS))


@recipe("fingerprint")
def _(d):
    return {"data": d.array((*INTS, "string", "float32"), [d.between(1, 4), *d.shape(0, 1)])}
