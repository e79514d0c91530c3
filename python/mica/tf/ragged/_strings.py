"""Strings in ragged tensors."""

from __future__ import annotations

import functools

from .._core import convert_to_tensor, ops
from ._concat import concat
from ._elementwise import together
from ._mask import boolean_mask
from ._reduce import reduce_join
from ._tensor import RaggedTensor


def join(inputs, separator="", name=None):
    """The strings of several tensors, joined element by element."""
    inputs = list(inputs)
    total = inputs[0]
    gap = convert_to_tensor(separator)
    for each in inputs[1:]:
        if not isinstance(total, RaggedTensor) and not isinstance(each, RaggedTensor):
            total = ops["StringJoin"]([total, each], separator=separator)
            continue
        a, b, rows = together(total, each)
        total = rows.with_flat_values(ops["StringJoin"]([a, gap, b]))
    return total


def of_values(function):
    """A function of strings that gives rows: the rows of each string within the string's row."""

    @functools.wraps(function)
    def call(input, *args, **kwargs):
        def within(x):
            if isinstance(x, RaggedTensor):
                inner = within(x.values)
                if isinstance(inner, tuple):
                    return tuple(x.with_values(part) for part in inner)
                return x.with_values(inner)
            return function(x, *args, **kwargs)

        return within(input)

    return call


def unicode_encode(
    input, output_encoding, errors="replace", replacement_char=65533, name=None
):
    """Strings of rows of code points."""
    if isinstance(input.values, RaggedTensor):
        return input.with_values(
            unicode_encode(input.values, output_encoding, errors, replacement_char)
        )
    if input.values.shape.rank != 1:
        dense = RaggedTensor.from_tensor(input.values)
        return input.with_values(unicode_encode(dense, output_encoding, errors, replacement_char))
    return ops["UnicodeEncode"](
        input.values,
        ops["Cast"](input.row_splits, DstT="int64"),
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
    )


def ngrams(function):
    """tf.strings.ngrams of rows."""

    @functools.wraps(function)
    def call(data, *args, **kwargs):
        return function(data, *args, **kwargs)

    return call


def text_of(x: RaggedTensor, summarize: int = -1, quote: bool = False):
    """A scalar string: the rows as tf.print and tf.strings.format write them."""
    flat = x.flat_values
    if flat.dtype.name == "string":
        words = flat
        if quote:
            words = ops["StringJoin"]([convert_to_tensor("'"), flat, convert_to_tensor("'")])
    else:
        words = ops["AsString"](flat)
    comma, left, right = convert_to_tensor(", "), convert_to_tensor("["), convert_to_tensor("]")
    while words.shape.rank > 1:
        joined = ops["ReduceJoin"](words, [words.shape.rank - 1], separator=", ")
        words = ops["StringJoin"]([left, joined, right])

    def joined_rows(value):
        if isinstance(value.values, RaggedTensor):
            value = value.with_values(joined_rows(value.values))
        if summarize >= 0:
            value = _summarized(value, summarize)
        rows = reduce_join(value, 1, separator=", ")
        return ops["StringJoin"]([left, rows, right])

    rows = joined_rows(x.with_flat_values(words))
    if summarize >= 0:
        rows = _summarized_vector(rows, summarize)
    whole = ops["ReduceJoin"](rows, [0], separator=", ")
    return ops["StringJoin"]([left, whole, right]) if comma is not None else whole


def _summarized(x: RaggedTensor, most: int) -> RaggedTensor:
    """Of longer rows the first and last entries alone, and dots between them."""
    lengths = x.row_lengths()
    is_long = ops["GatherV2"](lengths > 2 * most, x.value_rowids(), 0)
    place = x._row_partition.offsets_in_rows()
    behind = ops["GatherV2"](lengths, x.value_rowids(), 0) - place
    kept = ops["LogicalOr"](
        ops["LogicalNot"](is_long), ops["LogicalOr"](place < most, behind <= most)
    )
    dots = ops["LogicalAnd"](is_long, ops["Equal"](place, convert_to_tensor(most, place.dtype)))
    words = ops["SelectV2"](dots, convert_to_tensor("..."), x.values)
    found = boolean_mask(x.with_values(words), x.with_values(ops["LogicalOr"](kept, dots)))
    return concat([found], 0)


def _summarized_vector(words, most: int):
    x = RaggedTensor.from_row_lengths(
        words, ops["Shape"](words, out_type="int64"), validate=False
    )
    return _summarized(x, most).values
