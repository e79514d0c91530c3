"""`tf.strings`: texts as tensors. They are bytes, on the host, eagerly and in functions."""

from __future__ import annotations

import numpy as _np

from . import _dispatch, _dtypes, cumsum
from . import math as _math
from . import range as number
from ._core import Tensor, convert_to_tensor, ops
from ._effects import numpy_function
from ._missing import finder as _finder
from ._printing import check_template
from ._refusals import operand, refusal
from .ragged import RaggedTensor


def _text(value) -> Tensor:
    """A value as strings; tensors as they are, for ops to refuse those of other dtypes."""
    return value if isinstance(value, Tensor) else convert_to_tensor(value, _dtypes.string)


# ---- names that are ops ------------------------------------------------------------------------


def length(input, unit="BYTE", name=None) -> Tensor:
    """How many bytes (or characters, unit="UTF8_CHAR") each string has."""
    return ops["StringLength"](_text(input), unit=unit, name=name)


def substr(input, pos, len, unit="BYTE", name=None) -> Tensor:
    """Parts of strings: len bytes or characters from pos on."""
    pos = convert_to_tensor(pos)
    return ops["Substr"](_text(input), pos, convert_to_tensor(len, pos.dtype), unit=unit, name=name)


def _cased(op: str, change):
    def call(input, encoding="", name=None) -> Tensor:
        if not encoding:
            return ops[op](_text(input), name=name)
        text = operand(input, _dtypes.string, op, 0)
        return _mapped(lambda line: change(line.decode(encoding)).encode(encoding), text)

    return call


lower = _cased("StringLower", str.lower)
upper = _cased("StringUpper", str.upper)


def strip(input, name=None) -> Tensor:
    """Strings without white space at both ends."""
    return ops["StringStrip"](_text(input), name=name)


def join(inputs, separator="", name=None) -> Tensor:
    """The strings of several tensors, joined element by element."""
    return ops["StringJoin"]([_text(part) for part in inputs], separator=separator, name=name)


def reduce_join(inputs, axis=None, keepdims=False, separator="", name=None) -> Tensor:
    """The strings along axes, joined; along all, the last axis first, when axis is None."""
    inputs = _text(inputs)
    if axis is None:
        axis = ops["Range"](ops["Rank"](inputs) - 1, -1, -1)
    axes = convert_to_tensor([axis] if isinstance(axis, int) else axis, _dtypes.int32)
    return ops["ReduceJoin"](inputs, axes, keep_dims=keepdims, separator=separator, name=name)


def as_string(
    input, precision=-1, scientific=False, shortest=False, width=-1, fill="", name=None
) -> Tensor:
    """Numbers as texts."""
    return ops["AsString"](
        input,
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
        name=name,
    )


def to_number(input, out_type=_dtypes.float32, name=None) -> Tensor:
    """The numbers that strings name."""
    return ops["StringToNumber"](_text(input), out_type=_dtypes.as_dtype(out_type), name=name)


def _check_buckets(num_buckets) -> None:
    if num_buckets < 1:
        raise refusal(f"num_buckets must be positive: {num_buckets} is less than minimum 1")


def to_hash_bucket_fast(input, num_buckets, name=None) -> Tensor:
    """A number below num_buckets for each string, the same everywhere."""
    _check_buckets(num_buckets)
    return ops["StringToHashBucketFast"](_text(input), num_buckets=num_buckets, name=name)


def to_hash_bucket_strong(input, num_buckets, key, name=None) -> Tensor:
    """A number below num_buckets for each string, which depends on a key of two integers."""
    _check_buckets(num_buckets)
    return ops["StringToHashBucketStrong"](
        _text(input), num_buckets=num_buckets, key=list(key), name=name
    )


def format(template, inputs, placeholder="{}", summarize=3, name=None) -> Tensor:
    """A text with tensors in place of the placeholders."""
    values = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    check_template(template, len(values), placeholder)
    return ops["StringFormat"](
        [convert_to_tensor(value) for value in values],
        template=template,
        placeholder=placeholder,
        summarize=summarize,
        name=name,
    )


# ---- rows of different lengths -----------------------------------------------------------------


def _ragged(values, row_splits, source: Tensor):
    """Rows, one for each string: a dense vector for a scalar, else a ragged tensor."""
    rank = source.shape.rank
    if rank == 0:
        return values

    found = RaggedTensor.from_row_splits(values, row_splits, validate=False)
    if rank in (None, 1):
        return found
    sizes = ops["Shape"](source, out_type=_dtypes.int64)
    for axis in range(rank - 1, 0, -1):
        known, rows = source.shape[axis], source.shape[:axis].num_elements()
        found = RaggedTensor.from_uniform_row_length(
            found,
            sizes[axis] if known is None else known,
            ops["Prod"](sizes[:axis], 0) if rows is None else rows,
            validate=False,
        )
    return found


def _flat(input, known_rank: bool = True) -> tuple[Tensor, Tensor]:
    """The strings and, as a vector, the same; those of unknown rank are said to be a vector."""
    input = _text(input)
    if input.shape.rank is not None:
        return input, ops["Reshape"](input, [-1])
    if known_rank:
        raise ValueError("input must have a statically-known rank.")
    return input, input


def split(input, sep=None, maxsplit=-1, name=None):
    """The parts between separators (or words); ragged for a vector of strings."""
    source, flat = _flat(input, known_rank=False)
    indices, values, shape = ops["StringSplitV2"](
        flat, "" if sep is None else sep, maxsplit=maxsplit
    )
    if source.shape.rank == 0:
        return values

    counts = _math.bincount(
        ops["Cast"](indices[:, 0], DstT=_dtypes.int32),
        minlength=ops["Cast"](shape[0], DstT=_dtypes.int32),
        dtype=_dtypes.int64,
    )
    splits = ops["ConcatV2"]([convert_to_tensor([0], _dtypes.int64), cumsum(counts)], 0)
    return _ragged(values, splits, source)


def _decoded(input, op: str, **options):
    """What an op that decodes gives of each string, and a function that makes rows of it."""
    source, flat = _flat(input)
    splits, *found = ops[op](flat, **options)
    return found, lambda values: _ragged(values, splits, source)


def _characters(codes: Tensor, encoding: str, replacement: int) -> Tensor:
    """Each code point as a string of its own."""
    count = ops["Shape"](codes, out_type=_dtypes.int64)[0]
    return ops["UnicodeEncode"](
        codes, number(count + 1), output_encoding=encoding, replacement_char=replacement
    )


def unicode_decode(
    input,
    input_encoding,
    errors="replace",
    replacement_char=65533,
    replace_control_characters=False,
    name=None,
):
    """The code points of each string."""
    (codes,), rows = _decoded(
        input,
        "UnicodeDecode",
        input_encoding=input_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
    )
    return rows(codes)


def unicode_decode_with_offsets(
    input,
    input_encoding,
    errors="replace",
    replacement_char=65533,
    replace_control_characters=False,
    name=None,
):
    """The code points of each string, and the bytes at which they begin."""
    (codes, starts), rows = _decoded(
        input,
        "UnicodeDecodeWithOffsets",
        input_encoding=input_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
    )
    return rows(codes), rows(starts)


def unicode_split(input, input_encoding, errors="replace", replacement_char=65533, name=None):
    """Each string as its characters."""
    (codes,), rows = _decoded(
        input,
        "UnicodeDecode",
        input_encoding=input_encoding,
        errors=errors,
        replacement_char=replacement_char,
    )
    return rows(_characters(codes, input_encoding, replacement_char))


def unicode_split_with_offsets(
    input, input_encoding, errors="replace", replacement_char=65533, name=None
):
    """Each string as its characters, and the bytes at which they begin."""
    (codes, starts), rows = _decoded(
        input,
        "UnicodeDecodeWithOffsets",
        input_encoding=input_encoding,
        errors=errors,
        replacement_char=replacement_char,
    )
    return rows(_characters(codes, input_encoding, replacement_char)), rows(starts)


def unicode_encode(
    input, output_encoding, errors="replace", replacement_char=65533, name=None
) -> Tensor:
    """Strings of code points; each row is a string."""
    if output_encoding is None:
        raise TypeError("Expected string for argument 'output_encoding' not None.")
    how = {
        "output_encoding": output_encoding,
        "errors": errors,
        "replacement_char": replacement_char,
    }
    if isinstance(input, RaggedTensor) and isinstance(input.values, RaggedTensor):
        return input.with_values(unicode_encode(input.values, **how))
    if isinstance(input, RaggedTensor):
        return ops["UnicodeEncode"](input.values, input.row_splits, **how, name=name)
    codes = convert_to_tensor(input, _dtypes.int32)
    if codes.shape.rank is None:
        raise ValueError("Rank of input_tensor must be statically known.")
    if codes.shape.rank == 0:
        raise ValueError("input_tensor's rank must be at least 1.")
    if codes.shape.rank == 1:
        end = ops["Shape"](codes, out_type=_dtypes.int64)
        splits = ops["ConcatV2"]([convert_to_tensor([0], _dtypes.int64), end], 0)
        return ops["Reshape"](ops["UnicodeEncode"](codes, splits, **how), [], name=name)

    sizes = ops["Shape"](codes, out_type=_dtypes.int64)
    rows, columns = ops["Prod"](sizes[:-1], 0), sizes[-1]
    values, splits = ops["Reshape"](codes, [-1]), number(rows + 1) * columns
    made = ops["Reshape"](ops["UnicodeEncode"](values, splits, **how), sizes[:-1])
    return ops["EnsureShape"](made, shape=codes.shape[:-1], name=name)


def unicode_transcode(
    input,
    input_encoding,
    output_encoding,
    errors="replace",
    replacement_char=65533,
    replace_control_characters=False,
    name=None,
) -> Tensor:
    """Strings in another encoding."""
    if output_encoding is None:
        raise TypeError("Expected string for argument 'output_encoding' not None.")
    return ops["UnicodeTranscode"](
        _text(input),
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        name=name,
    )


def bytes_split(input, name=None):
    """Each string as its bytes."""
    input = convert_to_tensor(input, _dtypes.string)
    source, flat = _flat(input)
    lengths = ops["Cast"](ops["StringLength"](flat), DstT=_dtypes.int64)

    splits = ops["ConcatV2"]([convert_to_tensor([0], _dtypes.int64), cumsum(lengths)], 0)
    whole = ops["Reshape"](ops["ReduceJoin"](flat, [0]), [1])
    places = number(splits[-1])
    values = ops["Substr"](whole, places, ops["OnesLike"](places))
    return _ragged(values, splits, source)


# ---- functions of each string ------------------------------------------------------------------


def _mapped(change, input, dtype=_dtypes.string) -> Tensor:
    """A function of Python on each string; a node of its own in graphs."""
    def run(array):
        array = _np.asarray(array, dtype=object)
        flat = [change(text) for text in array.ravel().tolist()]
        made = _np.empty(len(flat), dtype=object if dtype == _dtypes.string else bool)
        made[:] = flat
        return made.reshape(array.shape)

    result = numpy_function(run, [input], dtype)
    result.set_shape(input.shape)
    return result


def regex_replace(input, pattern, rewrite, replace_global=True, name=None) -> Tensor:
    r"""Strings with what matches a pattern of RE2 replaced; \1 in rewrite is the first group."""
    if isinstance(pattern, str | bytes) and isinstance(rewrite, str | bytes):
        return ops["StaticRegexReplace"](
            _text(input),
            pattern=pattern,
            rewrite=rewrite,
            replace_global=replace_global,
            name=name,
        )
    return ops["RegexReplace"](
        _text(input), _text(pattern), _text(rewrite), replace_global=replace_global, name=name
    )


def regex_full_match(input, pattern, name=None) -> Tensor:
    """Whether a pattern of RE2 matches all of each string."""
    if isinstance(pattern, str | bytes):
        return ops["StaticRegexFullMatch"](_text(input), pattern=pattern, name=name)
    return ops["RegexFullMatch"](_text(input), _text(pattern), name=name)


def ngrams(
    data,
    ngram_width,
    separator=" ",
    pad_values=None,
    padding_width=None,
    preserve_short_sequences=False,
    name=None,
):
    """Runs of ngram_width strings along the last axis, joined; of several widths in turn.

    Rows of a dense tensor are filled up with empty strings.
    """
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    if any(width < 1 for width in widths):
        raise ValueError(f"All ngram_widths must be greater than 0. Received: {ngram_width}")
    if padding_width is not None and padding_width < 1:
        raise ValueError(f"padding_width must be greater than 0. Received: {padding_width}")
    if padding_width is not None and pad_values is None:
        raise ValueError(
            f"pad_values must be provided if padding_width is set. Received: {padding_width}"
        )
    pads = pad_values if isinstance(pad_values, list | tuple) else (pad_values, pad_values)
    if pad_values is None:
        pads, padding_width = ("", ""), 0
    if len(pads) != 2 or not all(isinstance(pad, str | bytes) for pad in pads):
        raise TypeError(
            "pad_values must be a string, tuple of strings, or None. "
            f"Received: {type(pad_values).__name__}"
        )
    options = {
        "separator": separator,
        "ngram_widths": widths,
        "left_pad": pads[0],
        "right_pad": pads[1],
        "pad_width": -1 if padding_width is None else padding_width,
        "preserve_short_sequences": preserve_short_sequences,
        "name": name,
    }
    is_ragged = isinstance(data, RaggedTensor)
    data = data if is_ragged else _text(data)
    rank = data.shape.rank
    if not rank:
        raise ValueError("tf.strings.ngrams needs data of a known rank of at least 1.")
    if rank == 1:
        ends = ops["Pack"]([0, ops["Size"](data)], axis=0)
        return ops["StringNGrams"](data, ends, **options)[0]
    if is_ragged:
        return _within_rows(data, options)
    if rank == 2:
        found = _within_rows(RaggedTensor.from_tensor(data), options).to_tensor("")
        # No rows at all have one column.
        columns = ops["SelectV2"](ops["Shape"](data)[0] > 0, ops["Shape"](found)[1], 1)
        found = ops["Reshape"](found, ops["Pack"]([ops["Shape"](found)[0], columns], axis=0))
        found.set_shape([data.shape[0], None])
        return found
    # The axes before the last two are those of the data, of which there may be none at all.
    sizes = ops["Shape"](data)
    rows = ops["Reshape"](data, ops["Pack"]([ops["Prod"](sizes[:-1], 0), sizes[-1]], axis=0))
    found = _within_rows(RaggedTensor.from_tensor(rows), options).to_tensor("")
    shape = ops["ConcatV2"]([sizes[:-1], ops["Shape"](found)[-1:]], 0)
    found = ops["Reshape"](found, shape)
    found.set_shape([*data.shape[:-1].as_list(), None])
    return found


def _within_rows(data, options: dict):
    """The n-grams of a ragged tensor, or of dense parts of one."""
    inner = data.values
    if not isinstance(inner, RaggedTensor) and inner.shape.rank != 1:
        inner = RaggedTensor.from_tensor(inner, ragged_rank=inner.shape.rank - 1)
    if isinstance(inner, RaggedTensor):
        return data.with_values(_within_rows(inner, options))
    found, splits = ops["StringNGrams"](inner, data.row_splits, **options)
    return RaggedTensor.from_row_splits(found, splits, validate=False)


__all__ = [
    "as_string",
    "bytes_split",
    "format",
    "join",
    "length",
    "lower",
    "ngrams",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
    "upper",
]

_dispatch.offer(globals(), "strings.")

__getattr__ = _finder(__name__)
