"""Summaries that TensorBoard shows: numbers, distributions, pictures, text and sound."""

from __future__ import annotations

from .. import _array, _dtypes, linspace, math, one_hot
from .. import image as images
from .._context import graph_of_sessions
from .._control import cond
from .._core import Tensor, convert_to_tensor, ops
from .._event_messages import SummaryMetadata
from ..strings import as_string
from . import _encoders
from ._writers import state, summary_scope, write


def _metadata(plugin: str, description, content: bytes = b"") -> SummaryMetadata:
    made = SummaryMetadata()
    made.plugin_data.plugin_name = plugin
    made.plugin_data.content = content
    if description is not None:
        made.summary_description = description
    return made


def _check_rank(what: str, data: Tensor, rank: int) -> None:
    if data.shape.rank not in (None, rank):
        raise ValueError(
            f"tf.summary.{what} takes a tensor of rank {rank}, not of shape {data.shape}"
        )


def _check_outputs(what: str, max_outputs) -> None:
    if not isinstance(max_outputs, Tensor) and max_outputs < 0:
        raise ValueError(f"tf.summary.{what}: max_outputs cannot be negative, as {max_outputs} is")


def _of_graph(kind: str):
    """The function that gives a summary as a tensor, where sessions run what is being built."""
    graph = graph_of_sessions()
    if graph is None:
        return None
    for refuse in graph.__dict__.get("_refuses_summaries", ()):
        raise refuse(kind)
    if state.writer is not None:
        return None
    from ..compat.v1 import summary

    return getattr(summary, kind)


def scalar(name, data, step=None, description=None) -> Tensor:
    """Write a number; whether it was written is the result."""
    older = _of_graph("scalar")
    if older is not None:
        return older(name, data)
    with summary_scope(name, "scalar_summary", values=[data, step]) as (tag, _):
        number = convert_to_tensor(data)
        _check_rank("scalar", number, 0)
        if number.dtype != _dtypes.float32:
            number = ops["Cast"](number, DstT=_dtypes.float32)
        return write(tag, number, step, _metadata("scalars", description))


def histogram(name, data, step=None, buckets=None, description=None) -> Tensor:
    """Write how the elements of a tensor are distributed over buckets, 30 by default."""
    older = _of_graph("histogram")
    if older is not None:
        return older(name, data)
    with summary_scope(name, "histogram_summary", values=[data, buckets, step]) as (tag, _):
        values = ops["StopGradient"](convert_to_tensor(data))
        count = 30 if buckets is None else buckets
        metadata = _metadata("histograms", description)
        return write(tag, lambda: _buckets(values, count), step, metadata)


def _buckets(data: Tensor, count) -> Tensor:
    """Rows of (left edge, right edge, how many): the last bucket has its right edge too."""
    data = _array.reshape(ops["Cast"](data, DstT=_dtypes.float64), [-1])
    count = math.maximum(convert_to_tensor(count, dtype=_dtypes.int32), 0)
    size = _array.size(data)

    def empty():
        return _array.zeros(_array.stack([count, 3]), dtype=_dtypes.float64)

    def spread(low, high):
        width = (high - low) / ops["Cast"](count, DstT=_dtypes.float64)
        places = ops["Cast"](math.floor((data - low) / width), DstT=_dtypes.int32)
        places = math.minimum(places, count - 1)
        counts = math.reduce_sum(one_hot(places, count, dtype=_dtypes.float64), axis=0)
        edges = linspace(low, high, count + 1)
        edges = _array.concat([edges[:-1], _array.reshape(high, [1])], 0)
        return _array.transpose(_array.stack([edges[:-1], edges[1:], counts]))

    def single(value):
        edges = _array.fill(_array.reshape(count, [1]), value)
        zeros = _array.zeros(_array.reshape(count - 1, [1]), dtype=_dtypes.float64)
        last = _array.reshape(ops["Cast"](size, DstT=_dtypes.float64), [1])
        return _array.transpose(_array.stack([edges, edges, _array.concat([zeros, last], 0)]))

    def filled():
        low, high = math.reduce_min(data), math.reduce_max(data)
        return cond(math.equal(low, high), lambda: single(high), lambda: spread(low, high))

    is_empty = math.logical_or(math.equal(size, 0), math.equal(count, 0))
    return cond(is_empty, empty, filled)


def image(name, data, step=None, max_outputs=3, description=None) -> Tensor:
    """Write pictures, [batch, height, width, channels], of which the first few are kept.

    Floating elements are between 0 and 1; 1 to 4 channels are grey, grey and alpha, RGB, RGBA.
    """
    older = _of_graph("image")
    if older is not None:
        return older(name, data, max_outputs)

    _check_outputs("image", max_outputs)
    with summary_scope(name, "image_summary", values=[data, max_outputs, step]) as (tag, _):
        pictures = convert_to_tensor(data)
        _check_rank("image", pictures, 4)

        def encoded():
            whole = images.convert_image_dtype(pictures, _dtypes.uint8, saturate=True)
            sizes = _array.shape(whole)
            texts = _encoders.encode_png(whole[:max_outputs])
            return _array.concat([as_string(_array.stack([sizes[2], sizes[1]])), texts], 0)

        return write(tag, encoded, step, _metadata("images", description))


def text(name, data, step=None, description=None) -> Tensor:
    """Write strings; Markdown is shown as such."""
    older = _of_graph("text")
    if older is not None:
        return older(name, data)
    with summary_scope(name, "text_summary", values=[data, step]) as (tag, _):
        strings = convert_to_tensor(data)
        if strings.dtype != _dtypes.string:
            raise TypeError(f"tf.summary.text takes strings, not {strings.dtype.name}")
        return write(tag, strings, step, _metadata("text", description))


def audio(
    name, data, sample_rate, step=None, max_outputs=3, encoding=None, description=None
) -> Tensor:
    """Write sound, [clips, frames, channels] with elements between -1 and 1, as WAV."""
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}")
    _check_outputs("audio", max_outputs)
    with summary_scope(name, "audio_summary", values=[data, sample_rate, step]) as (tag, _):
        clips = convert_to_tensor(data, dtype=_dtypes.float32)
        _check_rank("audio", clips, 3)

        def encoded():
            sounds = _encoders.encode_wav(clips[:max_outputs], sample_rate)
            labels = _array.fill(_array.shape(sounds), "")
            return _array.stack([sounds, labels], axis=1)

        return write(tag, encoded, step, _metadata("audio", description, b"\x10\x0b"))
