"""What functions of the package do with ragged tensors, by the functions' names."""

from __future__ import annotations

import functools

from .. import _array, _dispatch, _dtypes, math
from .._core import Tensor, convert_to_tensor, ops
from . import _concat, _gather, _mask, _reduce, _shape, _strings
from ._elementwise import binary, several, unary
from ._tensor import RaggedTensor


def _size(function):
    @functools.wraps(function)
    def call(input, out_type=_dtypes.int32, name=None):
        return ops["Size"](input.flat_values, out_type=_dtypes.as_dtype(out_type))

    return call


def _rank(function):
    @functools.wraps(function)
    def call(input, name=None):
        rank = input.shape.rank
        if rank is not None:
            return convert_to_tensor(rank, _dtypes.int32)
        return ops["Rank"](input.flat_values) + input.ragged_rank

    return call


def _shape_of(function):
    @functools.wraps(function)
    def call(input, out_type=_dtypes.int32, name=None):
        return _shape.DynamicRaggedShape.from_tensor(input, _dtypes.as_dtype(out_type))

    return call


def _one_hot(function):
    @functools.wraps(function)
    def call(
        indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None
    ):
        if isinstance(axis, int) and axis >= 0:
            if axis <= indices.ragged_rank:
                raise ValueError(
                    f"axis ({axis}) must be greater than indices.ragged_rank "
                    f"({indices.ragged_rank})."
                )
            axis -= indices.ragged_rank
        return indices.with_flat_values(
            function(indices.flat_values, depth, on_value, off_value, axis, dtype)
        )

    return call


def _embedding_lookup(function):
    @functools.wraps(function)
    def call(params, ids, max_norm=None, name=None):
        if isinstance(params, RaggedTensor):
            raise TypeError("params must not be ragged")
        return ids.with_flat_values(function(params, ids.flat_values, max_norm))

    return call


def _like(number: int):
    def make(function):
        @functools.wraps(function)
        def call(input, dtype=None, name=None, layout=None):
            if isinstance(input, _shape.DynamicRaggedShape):
                return NotImplemented
            return input.with_flat_values(function(input.flat_values, dtype))

        return call

    return make


def _print(function):
    @functools.wraps(function)
    def call(*inputs, **options):
        # Rows are summarized before they are given on as texts.
        most = options.get("summarize", 3)
        most = 3 if most is None else most
        texts = [
            _strings.text_of(x, most, True) if isinstance(x, RaggedTensor) else x for x in inputs
        ]
        return function(*texts, **options)

    return call


def _format(function):
    @functools.wraps(function)
    def call(template, inputs, placeholder="{}", summarize=3, name=None):
        given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        texts = []
        for each in given:
            if isinstance(each, RaggedTensor):
                texts.append(_strings.text_of(each, summarize))
            elif isinstance(each, Tensor) and each.dtype == _dtypes.string and not each.shape.rank:
                raise NotImplementedError(
                    "strings.format of ragged tensors beside scalar strings is not supported"
                )
            else:
                texts.append(function("{}", [each], summarize=summarize))
        pieces = template.split(placeholder)
        if len(pieces) != len(texts) + 1:
            raise ValueError(
                f"The template expects {len(pieces) - 1} tensors, but the inputs only has "
                f"{len(texts)}. Please ensure the number of placeholders in template matches "
                "inputs length."
            )
        parts = [convert_to_tensor(pieces[0])]
        for text, piece in zip(texts, pieces[1:], strict=True):
            parts += [text, convert_to_tensor(piece)]
        return ops["StringJoin"](parts)

    return call


def _reshape(function):
    @functools.wraps(function)
    def call(tensor, shape, name=None):
        if not isinstance(shape, _shape.DynamicRaggedShape):
            return NotImplemented
        return _shape.reshaped(tensor, shape)

    return call


def _filled(number):
    def make(function):
        @functools.wraps(function)
        def call(shape, dtype=_dtypes.float32, name=None, layout=None):
            if not isinstance(shape, _shape.DynamicRaggedShape):
                return NotImplemented
            value = _array.zeros if number == 0 else _array.ones
            return _shape.filled(shape, value([], dtype))

        return call

    return make


def _fill(function):
    @functools.wraps(function)
    def call(dims, value, name=None):
        if not isinstance(dims, _shape.DynamicRaggedShape):
            return NotImplemented
        return _shape.filled(dims, value)

    return call


def _given(replacement):
    """A function of ragged tensors in place of the function itself."""
    return lambda function: replacement


_MAKERS = {
    "boolean_mask": _given(_mask.boolean_mask),
    "broadcast_dynamic_shape": _given(_shape.broadcast_dynamic_shape),
    "broadcast_to": _given(_shape.broadcast_to),
    "concat": _given(_concat.concat),
    "count_nonzero": _given(_reduce.count_nonzero),
    "bincount": _given(_reduce.bincount),
    "embedding_lookup": _embedding_lookup,
    "expand_dims": _given(_concat.expand_dims),
    "fill": _fill,
    "gather": _given(_gather.gather),
    "gather_nd": _given(_gather.gather_nd),
    "one_hot": _one_hot,
    "ones": _filled(1),
    "print": _print,
    "rank": _rank,
    "reduce_all": _given(_reduce.reduce_all),
    "reduce_any": _given(_reduce.reduce_any),
    "reduce_max": _given(_reduce.reduce_max),
    "reduce_mean": _given(_reduce.reduce_mean),
    "reduce_min": _given(_reduce.reduce_min),
    "reduce_prod": _given(_reduce.reduce_prod),
    "reduce_std": _given(_reduce.reduce_std),
    "reduce_sum": _given(_reduce.reduce_sum),
    "reduce_variance": _given(_reduce.reduce_variance),
    "reshape": _reshape,
    "reverse": _given(_concat.reverse),
    "shape": _shape_of,
    "size": _size,
    "softmax": _given(_reduce.softmax),
    "split": _given(_concat.split),
    "squeeze": _given(_concat.squeeze),
    "stack": _given(_concat.stack),
    "strings.format": _format,
    "strings.join": _given(_strings.join),
    "strings.reduce_join": _given(_reduce.reduce_join),
    "strings.unicode_encode": _given(_strings.unicode_encode),
    "tile": _given(_concat.tile),
    "where": _given(_mask.where),
    "zeros": _filled(0),
}

@functools.cache
def _maker(key: str):
    if key in _MAKERS:
        return _MAKERS[key]
    if key in _dispatch.UNARY:
        return lambda function: unary(function, _dispatch.UNARY[key])
    if key in _dispatch.BINARY:
        return lambda function: binary(function, _dispatch.BINARY[key])
    if key in _dispatch.OF_ROWS:
        return _strings.of_values
    if key in _dispatch.SEGMENTS:
        return _reduce.segment
    if key in ("add_n", "accumulate_n"):
        return several
    return None


@functools.cache
def handler(key: str, function):
    """What stands in for a function of the package, for ragged tensors; None: nothing does."""
    make = _maker(key)
    return None if make is None else make(function)


@functools.cache
def operator(key: str):
    """The function of ragged tensors that an operator is."""
    function = getattr(math, key)
    return handler(key, getattr(function, "__wrapped__", function))
