"""Rows that make, move and select elements."""

from __future__ import annotations

import numpy as np

from .. import _dtypes
from .._core import convert_to_tensor, ops
from .._select import batch_to_space, space_to_batch
from .._windows import depth_to_space, space_to_depth
from ._einsum import write_einsum
from ._rows import ConverterError, ints, row, unary, writes
from ._rows_math import type_of
from ._schema import TYPE_NUMBERS

# ---- shapes --------------------------------------------------------------------------------------


def _reshape(x, o):
    if len(x) > 1 and x[1] is not None:
        return ops["Reshape"](x[0], x[1])
    if o.new_shape is None:
        raise ValueError("RESHAPE has no shape")
    return ops["Reshape"](x[0], [int(n) for n in o.new_shape])


row("RESHAPE", 22, "Reshape", "1.5.0", _reshape)
row(
    "TRANSPOSE",
    39,
    "Transpose",
    "1.6.0 1.14.0 1.15.0 2.3.0 2.4.0",
    lambda x, o: ops["Transpose"](*x),
)
row("EXPAND_DIMS", 70, "ExpandDims", "1.10.0", lambda x, o: ops["ExpandDims"](x[0], ints(x[1])[0]))
row("BROADCAST_TO", 130, "BroadcastTo", ". 2.5.0 2.5.0", lambda x, o: ops["BroadcastTo"](*x))
row("RANK", 110, "Rank", "1.14.0", unary("Rank"), "Rank")
row("ZEROS_LIKE", 93, "ZerosLike", "1.12.0", unary("ZerosLike"), "ZerosLike")
row("FILL", 94, "Fill", "1.13.0 2.3.0 2.5.0", lambda x, o: ops["Fill"](*x))
row("RANGE", 96, "Range", "1.13.0 2.14.0", lambda x, o: ops["Range"](*map(_scalar, x)), "Range")
row(
    "SQUEEZE",
    43,
    "Squeeze",
    "1.6.0 2.5.0",
    lambda x, o: ops["Squeeze"](x[0], squeeze_dims=_listed(o.squeeze_dims)),
)
row(
    "SHAPE",
    77,
    "Shape",
    "1.10.0",
    lambda x, o: ops["Shape"](x[0], out_type=_dtypes.as_dtype(type_of(o.out_type))),
)


def _listed(array) -> list[int]:
    return [] if array is None else [int(n) for n in array]


def _scalar(x):
    return ops["Reshape"](x, [])


def int32(node, make, i: int):
    """An operand as a constant or a tensor of int32."""
    value = node.inputs[i]
    if value.dtype == "int32":
        return value
    if value.data is not None:
        return make.constant(value.data, "int32")
    return _cast(make, value, "int32")


def _cast(make, value, dtype: str):
    types = {"in_data_type": TYPE_NUMBERS[value.dtype], "out_data_type": TYPE_NUMBERS[dtype]}
    return make.step("CAST", [value], dtype=dtype, **types)


def constant_shape(shape):
    """Sizes for RESHAPE, -1 for at most one that is not known; None when there are more."""
    if shape is None or sum(n is None for n in shape) > 1 or 0 in shape:
        return None if shape is None or None in shape else list(shape)
    return [-1 if n is None else n for n in shape]


@writes("Reshape")
def _(node, make):
    sizes = constant_shape(node.outputs[0].shape)
    shape = int32(node, make, 1) if sizes is None else make.constant(sizes, "int32")
    make("RESHAPE", [node.inputs[0], shape], new_shape=sizes)


@writes("ExpandDims")
def _(node, make):
    make("EXPAND_DIMS", [node.inputs[0], make.constant(node.ints(1)[0], "int32")])


@writes("Squeeze")
def _(node, make):
    dims = node.attributes["squeeze_dims"]
    if not dims:
        shape = node.inputs[0].shape
        if shape is None or None in shape:
            raise ConverterError(f"Squeeze ({node.name}) of unknown sizes needs its axes")
        dims = [i for i, n in enumerate(shape) if n == 1]
    make("SQUEEZE", node.inputs, squeeze_dims=dims)


@writes("Transpose")
def _(node, make):
    make("TRANSPOSE", [node.inputs[0], int32(node, make, 1)])


@writes("BroadcastTo")
def _(node, make):
    make("BROADCAST_TO", [node.inputs[0], int32(node, make, 1)])


@writes("Shape")
def _(node, make):
    make("SHAPE", node.inputs, out_type=TYPE_NUMBERS[node.outputs[0].dtype])


@writes("Size")
def _(node, make):
    dtype = node.outputs[0].dtype
    rank = node.inputs[0].rank
    sizes = make.step("SHAPE", node.inputs, [rank], dtype, out_type=TYPE_NUMBERS[dtype])
    make("REDUCE_PROD", [sizes, make.constant([0], "int32")], keep_dims=False)


@writes("Fill")
def _(node, make):
    make("FILL", [int32(node, make, 0), node.inputs[1]])


@writes("OnesLike")
def _(node, make):
    x = node.inputs[0]
    sizes = make.step("SHAPE", [x], [x.rank], "int32", out_type=TYPE_NUMBERS["int32"])
    make("FILL", [sizes, make.like(1)])


# ---- side by side --------------------------------------------------------------------------------


row(
    "CONCATENATION",
    2,
    "Concatenation",
    "1.5.0 1.14.0 2.3.0",
    lambda x, o: ops["ConcatV2"](x, o.axis),
)
row("PACK", 83, "Pack", "1.11.0 1.14.0 2.3.0", lambda x, o: ops["Pack"](x, axis=o.axis))
row(
    "UNPACK",
    88,
    "Unpack",
    "1.11.0 1.14.0 2.2.0 2.3.0",
    lambda x, o: ops["Unpack"](x[0], num=o.num, axis=o.axis),
)
row(
    "SPLIT",
    49,
    "Split",
    "1.5.0 1.14.0 1.14.0 2.3.0",
    lambda x, o: ops["Split"](ints(x[0])[0], x[1], num_split=o.num_splits),
)
row(
    "SPLIT_V",
    102,
    "SplitV",
    "1.13.1 2.3.0",
    lambda x, o: ops["SplitV"](x[0], x[1], ints(x[2])[0], num_split=o.num_splits),
)
row("TILE", 69, "Tile", "1.10.1 2.2.0 2.8.0", lambda x, o: ops["Tile"](*x), "Tile")


@writes("ConcatV2")
def _(node, make):
    values = [v for v in node.inputs[:-1] if v.data is None or v.data.size] or node.inputs[:1]
    make("CONCATENATION", values, axis=node.ints(len(node.inputs) - 1)[0])


@writes("Pack")
def _(node, make):
    make("PACK", node.inputs, values_count=len(node.inputs), axis=node.attributes["axis"])


@writes("Unpack")
def _(node, make):
    make("UNPACK", node.inputs, num=len(node.outputs), axis=node.attributes["axis"])


@writes("Split")
def _(node, make):
    axis = make.constant(node.ints(0)[0], "int32")
    make("SPLIT", [axis, node.inputs[1]], num_splits=len(node.outputs))


@writes("SplitV")
def _(node, make):
    sizes = make.constant(node.ints(1), "int32")
    axis = make.constant(node.ints(2)[0], "int32")
    make("SPLIT_V", [node.inputs[0], sizes, axis], num_splits=len(node.outputs))


# ---- around, within ------------------------------------------------------------------------------

row("PAD", 34, "Pad", "1.5.0 1.14.0 2.4.0 2.6.0", lambda x, o: ops["Pad"](*x), "Pad")
row(
    "PADV2",
    60,
    "PadV2",
    "1.9.0 1.14.0 2.4.0 2.6.0",
    lambda x, o: ops["PadV2"](x[0], x[1], _scalar(x[2])),
    "PadV2",
)
row(
    "MIRROR_PAD",
    100,
    "MirrorPad",
    "1.13.1 2.3.0",
    lambda x, o: ops["MirrorPad"](x[0], x[1], mode="SYMMETRIC" if o.mode else "REFLECT"),
)
row("SLICE", 65, "Slice", "1.14.0 1.14.0 1.14.0 2.4.0 2.5.0", lambda x, o: ops["Slice"](*x))
row(
    "REVERSE_V2",
    105,
    "ReverseV2",
    "1.14.0 2.2.0 2.5.0",
    lambda x, o: ops["ReverseV2"](x[0], ints(x[1])),
)
_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _strided_slice(x, o):
    if o.offset:
        raise ValueError("STRIDED_SLICE with ends that are lengths is not supported")
    return ops["StridedSlice"](*x, **{name: getattr(o, name) for name in _MASKS})


row(
    "STRIDED_SLICE",
    45,
    "StridedSlice",
    "1.6.0 1.14.0 2.1.0 2.2.0 2.5.0 2.6.0",
    _strided_slice,
)


@writes("MirrorPad")
def _(node, make):
    mode = node.attributes["mode"]
    make("MIRROR_PAD", node.inputs, mode=int(mode in (b"SYMMETRIC", "SYMMETRIC")))


@writes("Slice")
def _(node, make):
    make("SLICE", [node.inputs[0], int32(node, make, 1), int32(node, make, 2)])


@writes("StridedSlice")
def _(node, make):
    masks = {name: node.attributes[name] for name in _MASKS}
    make("STRIDED_SLICE", [node.inputs[0], *(int32(node, make, i) for i in (1, 2, 3))], **masks)


@writes("ReverseV2")
def _(node, make):
    axes, rank = node.ints(1), node.inputs[0].rank
    make("REVERSE_V2", [node.inputs[0], make.constant([a % rank for a in axes], "int32")])


@writes("Roll")
def _(node, make):
    x, (shift,), (axis,) = node.inputs[0], node.ints(1), node.ints(2)
    size = None if x.shape is None else x.shape[axis]
    if size is None:
        raise ConverterError(f"Roll ({node.name}) along an axis of unknown size")
    axis %= x.rank
    first = (size - shift) % size
    if first == 0:
        make("RESHAPE", [x, make.step("SHAPE", [x], [x.rank], "int32", out_type=2)])
        return

    def part(begin: int, count: int):
        starts, sizes = [0] * x.rank, [-1] * x.rank
        starts[axis], sizes[axis] = begin, count
        shape = [count if i == axis else n for i, n in enumerate(x.shape)]
        operands = [x, make.constant(starts, "int32"), make.constant(sizes, "int32")]
        return make.step("SLICE", operands, shape)

    make("CONCATENATION", [part(first, size - first), part(0, first)], axis=axis)


# ---- by index or condition -----------------------------------------------------------------------

row(
    "GATHER",
    36,
    "Gather",
    "1.6.0 1.14.0 1.15.0 2.4.0 2.5.0",
    lambda x, o: ops["GatherV2"](x[0], x[1], o.axis, batch_dims=o.batch_dims),
)
row(
    "GATHER_ND", 107, "GatherNd", "1.14.0 2.3.0 2.5.0", lambda x, o: ops["GatherNd"](*x), "GatherNd"
)
row(
    "EMBEDDING_LOOKUP", 7, None, "1.13.0 1.14.0 1.14.0", lambda x, o: ops["GatherV2"](x[1], x[0], 0)
)
row("SCATTER_ND", 122, "ScatterNd", "2.1.0", lambda x, o: ops["ScatterNd"](*x), "ScatterNd")
row("SELECT_V2", 123, "SelectV2", "2.2.0", lambda x, o: ops["SelectV2"](*x), "SelectV2")
row("WHERE", 109, "Where", "1.14.0 2.8.0", unary("Where"), "Where")
row(
    "ONE_HOT",
    85,
    "OneHot",
    "1.11.0",
    lambda x, o: ops["OneHot"](x[0], ints(x[1])[0], _scalar(x[2]), _scalar(x[3]), axis=o.axis),
)


def _select(x, o):
    condition = x[0]
    missing = (x[1].shape.rank or 0) - (condition.shape.rank or 0)
    if condition.shape.rank == 1 and missing > 0:  # a condition for each row
        condition = ops["Reshape"](condition, [-1] + [1] * missing)
    return ops["SelectV2"](condition, x[1], x[2])


row("SELECT", 64, "Select", "1.14.0 1.14.0", _select)


def _sparse_to_dense(x, o):
    indices, shape, values, default = x
    whole = ops["Fill"](shape, _scalar(default))
    if indices.shape.rank is not None and indices.shape.rank < 2:
        indices = ops["Reshape"](indices, [-1, 1])
    count = ops["Shape"](indices)[:1]
    return ops["TensorScatterUpdate"](whole, indices, ops["BroadcastTo"](values, count))


row("SPARSE_TO_DENSE", 68, "SparseToDense", "1.9.0 1.14.0 1.15.0", _sparse_to_dense)


@writes("GatherV2")
def _(node, make):
    params, indices = node.inputs[:2]
    options = {"axis": node.ints(2)[0], "batch_dims": node.attributes["batch_dims"]}
    make("GATHER", [params, indices], **options)


@writes("ReadElement")
def _(node, make):
    make("GATHER", node.inputs, axis=0, batch_dims=0)


def _updated(x, o):
    whole, part, starts = x[0], x[1], ints(x[2])
    sizes, own = whole.shape.as_list(), part.shape.as_list()
    if (
        len(sizes) != len(own)
        or len(starts) != len(sizes)
        or any(m > n for m, n in zip(own, sizes, strict=True))
    ):
        raise ValueError(f"DYNAMIC_UPDATE_SLICE: an update {own} at {starts} does not fit {sizes}")
    starts = [min(max(s, 0), n - m) for s, n, m in zip(starts, sizes, own, strict=True)]
    mask = np.zeros(sizes, bool)
    mask[tuple(slice(s, s + m) for s, m in zip(starts, own, strict=True))] = True
    pads = [[s, n - s - m] for s, n, m in zip(starts, sizes, own, strict=True)]
    return ops["SelectV2"](mask, ops["Pad"](part, pads), whole)


row("DYNAMIC_UPDATE_SLICE", 151, "DynamicUpdateSlice", "2.9.0", _updated)


@writes("WriteElement")
def _(node, make):
    whole, _, part = node.inputs
    shape = [1, *node.outputs[0].shape[1:]]
    part = make.step("EXPAND_DIMS", [part, make.constant(0, "int32")], shape)
    starts = make.constant([node.ints(1)[0]] + [0] * (len(shape) - 1), "int32")
    make("DYNAMIC_UPDATE_SLICE", [whole, part, starts])


@writes("OneHot")
def _(node, make):
    depth = make.constant(node.ints(1)[0], "int32")
    inputs = [node.inputs[0], depth, *node.inputs[2:]]
    make("ONE_HOT", inputs, axis=node.attributes["axis"])


writes("Einsum")(write_einsum)

# ---- blocks --------------------------------------------------------------------------------------

row(
    "DEPTH_TO_SPACE", 5, "DepthToSpace", "2.1.0 2.5.0", lambda x, o: depth_to_space(x[0], _block(o))
)
row(
    "SPACE_TO_DEPTH",
    26,
    "SpaceToDepth",
    "1.5.0 1.14.0",
    lambda x, o: space_to_depth(x[0], _block(o)),
)
row(
    "BATCH_TO_SPACE_ND",
    37,
    "BatchToSpaceND",
    "1.6.0 1.14.0 2.3.0",
    lambda x, o: batch_to_space(x[0], ints(x[1]), _pairs(x[2])),
)
row(
    "SPACE_TO_BATCH_ND",
    38,
    "SpaceToBatchND",
    "1.6.0 1.14.0 2.3.0",
    lambda x, o: space_to_batch(x[0], ints(x[1]), _pairs(x[2])),
)


def _block(o) -> int:
    if o.block_size < 1:
        raise ValueError(f"block_size must be at least 1, not {o.block_size}")
    return o.block_size


def _pairs(x) -> list:
    flat = ints(x)
    return [flat[i : i + 2] for i in range(0, len(flat), 2)]


# ---- pictures of another size --------------------------------------------------------------------


def _sources(size: int, new: int, o) -> np.ndarray:
    """Where the elements of a resized axis are on the old one."""
    places = np.arange(new, dtype=np.float32)
    aligned = o.align_corners and new > 1
    scale = np.float32((size - 1) / (new - 1) if aligned else size / new)
    if o.half_pixel_centers:
        return (places + np.float32(0.5)) * scale - np.float32(0.5)
    return places * scale


def _resize_bilinear(x, o):
    result = x[0]
    for axis, new in zip((1, 2), _new_sizes(x), strict=True):
        size = result.shape[axis]
        places = _sources(size, new, o)
        low = np.clip(np.floor(places), 0, size - 1).astype(np.int32)
        high = np.clip(np.ceil(places), 0, size - 1).astype(np.int32)
        part = (places - low).astype(np.float32).reshape([-1, 1] if axis == 2 else [-1, 1, 1])
        first = ops["GatherV2"](result, low, axis)
        second = ops["GatherV2"](result, high, axis)
        result = first + (second - first) * convert_to_tensor(part)
    return result


def _resize_nearest(x, o):
    result = x[0]
    for axis, new in zip((1, 2), _new_sizes(x), strict=True):
        size = result.shape[axis]
        places = np.arange(new, dtype=np.float32)
        aligned = o.align_corners and new > 1
        scale = np.float32((size - 1) / (new - 1) if aligned else size / new)
        places = (places + np.float32(0.5 if o.half_pixel_centers else 0.0)) * scale
        places = np.floor(places + np.float32(0.5)) if o.align_corners else np.floor(places)
        chosen = np.clip(places, 0, size - 1).astype(np.int32)
        result = ops["GatherV2"](result, chosen, axis)
    return result


def _new_sizes(x) -> list[int]:
    sizes = ints(x[1])
    if len(sizes) != 2 or x[0].shape.rank != 4 or not all(0 < n < 1 << 20 for n in sizes):
        raise ValueError(f"pictures of shape {x[0].shape} cannot be resized to {sizes}")
    return sizes


row("RESIZE_BILINEAR", 23, "ResizeBilinear", "1.7.0 1.14.0 2.2.0 2.5.0", _resize_bilinear)
row(
    "RESIZE_NEAREST_NEIGHBOR",
    97,
    "ResizeNearestNeighbor",
    "1.13.1 1.14.0 2.3.0 2.4.0",
    _resize_nearest,
)

_PLACES = ("align_corners", "half_pixel_centers")


@writes("ResizeBilinear")
def _(node, make):
    pictures = node.inputs[0]
    if pictures.dtype != "float32":  # TensorFlow's result is; the operator's is as its operand
        pictures = _cast(make, pictures, "float32")
    places = {name: node.attributes[name] for name in _PLACES}
    make("RESIZE_BILINEAR", [pictures, int32(node, make, 1)], **places)


@writes("ResizeNearestNeighbor")
def _(node, make):
    places = {name: node.attributes[name] for name in _PLACES}
    make("RESIZE_NEAREST_NEIGHBOR", [node.inputs[0], int32(node, make, 1)], **places)


# ---- what the whole plan decides -----------------------------------------------------------------

row("DEQUANTIZE", 6, "Dequantize", "1.13.1 1.14.0 1.15.0 2.2.0 2.7.0", None)
row("QUANTIZE", 114, "Quantize", "1.14.0 1.15.0 2.7.0", None)
row("IF", 118, "If", "1.15.0", None)
row("WHILE", 119, "While", "1.15.0", None)
