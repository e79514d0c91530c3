"""`tf.compat.v1.summary`: writers of messages that are made by hand."""

from __future__ import annotations

import contextlib as _contextlib
from os import fspath as _fspath

import numpy as _np

from ... import _dtypes
from ..._context import building, graph_of_sessions, graph_of_variables
from ..._core import convert_to_tensor, ops
from ..._effects import numpy_function
from ..._event_messages import Event, HistogramProto, Summary, SummaryMetadata
from ..._graph_def import tensor_proto
from ..._missing import finder as _finder
from ..._names import name_scope, scoped
from ...summary._encoders import _png as png_of
from ...summary._writers import create_file_writer

__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "Summary",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "text",
]


# ---- summaries as tensors of strings -------------------------------------------------------------


def _added(name: str, family, collections, values: list, encode):
    """A tensor with the bytes of a Summary, in the lists of the graph that are asked for."""
    graph = graph_of_sessions()
    if graph is None:
        raise RuntimeError(
            "tf.compat.v1.summary gives tensors of a graph, and ops run at once here: use "
            "tf.summary with a writer"
        )
    for refuse in graph.__dict__.get("_refuses_summaries", ()):
        raise refuse(name)
    with name_scope(family or "/") if family else _contextlib.nullcontext():
        tag = scoped(name)
    tag = f"{family}/{tag}" if family else tag

    def summary(*arrays):
        return encode(tag, *arrays).SerializeToString()

    made = numpy_function(summary, values, _dtypes.string)
    made.set_shape([])
    for key in ["summaries"] if collections is None else collections:
        graph_of_variables().add_to_collection(key, made)
    return made


def _one(tag: str, **fields):
    return Summary(value=[Summary.Value(tag=tag, **fields)])


def scalar(name, tensor, collections=None, family=None):
    """The Summary of a number, as a tensor."""
    return _added(
        name,
        family,
        collections,
        [tensor],
        lambda tag, value: _one(tag, simple_value=float(value)),
    )


def _histogram_of(tag: str, values):
    values = _np.asarray(values, _np.float64).ravel()
    limits = [1e-12]
    while limits[-1] < 1e20:
        limits.append(limits[-1] * 1.1)
    edges = _np.array([-x for x in reversed(limits)] + [0.0] + limits + [_np.finfo("d").max])
    places = _np.searchsorted(edges, values, side="right")
    counts = _np.bincount(places, minlength=len(edges))
    first, last = (0, len(edges) - 1)
    used = _np.flatnonzero(counts)
    if used.size:
        first, last = used[0], used[-1]
    kept = slice(max(first - 1, 0), last + 1)
    return _one(
        tag,
        histo=HistogramProto(
            min=float(values.min()) if values.size else 0.0,
            max=float(values.max()) if values.size else 0.0,
            num=float(values.size),
            sum=float(values.sum()),
            sum_squares=float((values * values).sum()),
            bucket_limit=[float(x) for x in edges[kept]],
            bucket=[float(x) for x in counts[kept]],
        ),
    )


def histogram(name, values, collections=None, family=None):
    """The Summary of how values are spread, as a tensor."""
    return _added(name, family, collections, [values], _histogram_of)


def text(name, tensor, collections=None):
    """The Summary of strings, as a tensor."""
    plugin = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))

    def encode(tag: str, value):
        with building(None):
            content = tensor_proto(convert_to_tensor(_np.asarray(value, object)))
        return _one(tag, tensor=content, metadata=plugin)

    return _added(name, None, collections, [tensor], encode)


def image(name, tensor, max_outputs=3, collections=None, family=None):
    """The Summary of pictures as PNG files, as a tensor."""

    def encode(tag: str, pictures):
        shown = pictures[:max_outputs]
        one = max_outputs == 1
        values = [
            Summary.Value(tag=f"{tag}/image" if one else f"{tag}/image/{i}", image=_picture(p))
            for i, p in enumerate(shown)
        ]
        return Summary(value=values)

    return _added(name, family, collections, [tensor], encode)


def _picture(pixels):
    if pixels.dtype != _np.uint8:
        largest = max(float(pixels.max(initial=0.0)), -float(pixels.min(initial=0.0)))
        if pixels.min(initial=0.0) < 0:
            pixels = pixels * (127.0 / largest if largest else 0.0) + 128
        else:
            pixels = pixels * (255.0 / largest if largest else 0.0)
        pixels = pixels.clip(0, 255).astype(_np.uint8)
    height, width, channels = pixels.shape
    return Summary.Image(
        height=height,
        width=width,
        colorspace=channels,
        encoded_image_string=png_of(pixels),
    )


def merge(inputs, collections=None, name=None):
    """One Summary of several, as a tensor."""
    tensors = [convert_to_tensor(t) for t in inputs]
    with name_scope(name or "Merge"):
        made = ops["StringJoin"](tensors)
    for key in collections or ():
        graph_of_variables().add_to_collection(key, made)
    return made


def merge_all(key="summaries", scope=None, name=None):
    """One Summary of all that are in a list of the graph, or None."""
    graph = graph_of_variables()
    found = [] if graph is None else graph.get_collection(key, scope)
    return merge(found, name=name) if found else None


_writers: dict = {}  # by folder


class FileWriterCache:
    """Writers by folder."""

    @staticmethod
    def get(logdir):
        """Return the writer of a folder; make it when there is none."""
        key = _fspath(logdir)
        if key not in _writers:
            _writers[key] = FileWriter(key)
        return _writers[key]

    @staticmethod
    def clear() -> None:
        """Close all writers."""
        for writer in _writers.values():
            writer.close()
        _writers.clear()


class FileWriter:
    """Writes Summary and Event messages, and graphs, to an event file of a folder."""

    def __init__(
        self,
        logdir,
        graph=None,
        max_queue=10,
        flush_secs=120,
        graph_def=None,
        filename_suffix=None,
        session=None,
    ) -> None:
        if session is not None:
            raise NotImplementedError(
                "FileWriter: a writer of its own, whose events no session adds; leave `session` out"
            )
        self._folder = _fspath(logdir)
        self._options = (max_queue, int(flush_secs * 1000), filename_suffix or "")
        self._writer = None
        self.reopen()
        if graph is not None or graph_def is not None:
            self.add_graph(graph if graph is not None else graph_def)

    def _resource(self):
        if self._writer is None:
            raise RuntimeError("The FileWriter is closed; reopen() opens another file")
        return self._writer._resource

    def get_logdir(self) -> str:
        """Return the folder."""
        return self._folder

    def add_summary(self, summary, global_step=None) -> None:
        """Write a Summary message, or its bytes."""
        data = summary if isinstance(summary, bytes) else summary.SerializeToString()
        with building(None):
            step = convert_to_tensor(int(global_step or 0), dtype=_dtypes.int64)
            ops["WriteRawProtoSummary"](self._resource(), step, convert_to_tensor(data))

    def add_event(self, event) -> None:
        """Write an Event message."""
        with building(None):
            ops["ImportEvent"](self._resource(), convert_to_tensor(event.SerializeToString()))

    def add_graph(self, graph, global_step=None) -> None:
        """Write a graph, or a GraphDef."""
        message = graph.as_graph_def(add_shapes=True) if hasattr(graph, "as_graph_def") else graph
        with building(None):
            step = convert_to_tensor(int(global_step or 0), dtype=_dtypes.int64)
            data = convert_to_tensor(message.SerializeToString())
            ops["WriteGraphSummary"](self._resource(), step, data)

    def flush(self) -> None:
        """What was written is in the file."""
        if self._writer is not None:
            with building(None):
                self._writer.flush()

    def close(self) -> None:
        """Write what waits, and end the file."""
        if self._writer is not None:
            with building(None):
                self._writer.close()
            self._writer = None

    def reopen(self) -> None:
        """Go on in another file, when this one is closed."""
        if self._writer is None:
            waiting, milliseconds, suffix = self._options
            with building(None):
                self._writer = create_file_writer(self._folder, waiting, milliseconds, suffix)

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *exception) -> None:
        self.close()


__getattr__ = _finder(__name__)
